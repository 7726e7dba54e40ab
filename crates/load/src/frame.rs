//! What the conductor of a load and its parts elsewhere say to each other, as values over a stream of bytes.
//! Each value is its length (4 bytes, little-endian) followed by its bytes (postcard). Histograms in them are
//! sparse.

use crate::{
    clock::Moment,
    control::{Message, Order},
    error::PartFailure,
    gather::PartReport,
    host::Seen,
    secrets::Secrets,
    spec::Spec,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, Read, Write};

/// Longest value, bytes. A second of a load with a hundred kinds of statements has a few hundred kilobytes; a
/// report with ten thousand outages of each worker not much more.
const BYTES_MAX: u32 = 256 << 20;

/// The first value: who is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Its protocol version; first, so that another version can still read it.
    format: u32,
    version: String,
}

impl Hello {
    /// How this Prony introduces itself.
    pub(crate) fn ours() -> Self {
        Self { format: 4, version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// How another version would.
    #[cfg(test)]
    pub(crate) fn of_another() -> Self {
        Self { format: 1, version: "0.0.1".to_owned() }
    }

    /// Fails where the other end is another version.
    pub(crate) fn check(self) -> Result<(), PartFailure> {
        let ours = Self::ours();
        if self == ours {
            Ok(())
        } else {
            Err(PartFailure::Version { theirs: self.words(), ours: ours.words() })
        }
    }

    fn words(&self) -> String {
        format!("{}, protocol {}", self.version, self.format)
    }
}

/// What a part is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) spec: Spec,
    pub(crate) secrets: Secrets,
}

/// What a part is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    /// What time is it there? It is this here.
    Clock(Moment),
    /// What it is to do; once, before any order.
    Task(Box<Task>),
    /// An order.
    Order(Order),
}

/// What a part says after its hello.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It is there.
    Alive {
        /// Since then, by its clock.
        at: Moment,
        /// What it sees of its load host, where it is on one.
        seen: Option<Seen>,
    },
    /// What came of its workers.
    Of(Message),
    /// What time it is there, and what it was where that was asked.
    Clock {
        /// Here.
        asked: Moment,
        /// There.
        there: Moment,
    },
    /// It cannot do its part.
    Failed(PartFailure),
    /// It is over.
    Finished(Box<PartReport>),
}

/// Writes a value.
pub(crate) fn write(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_allocvec(value).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).ok().filter(|&length| length <= BYTES_MAX);
    let length = length.ok_or_else(|| too_long(bytes.len()))?;
    // at once: each piece may become a packet
    to.write_all(&[&length.to_le_bytes()[..], &bytes].concat())?;
    to.flush()
}

/// Reads a value; `None`: there are no more.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let Some(bytes) = read_bytes(from)? else { return Ok(None) };
    postcard::from_bytes(&bytes).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Hands a value on without looking at it. Whether there was one.
pub(crate) fn pass(from: &mut impl Read, to: &mut impl Write) -> io::Result<bool> {
    let Some(bytes) = read_bytes(from)? else { return Ok(false) };
    to.write_all(&[&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat())?;
    to.flush()?;
    Ok(true)
}

fn read_bytes(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length);
    if length > BYTES_MAX {
        return Err(too_long(length as usize));
    }
    // taken as it comes: a length that is none costs no memory
    let mut bytes = Vec::new();
    from.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

fn too_long(length: usize) -> io::Error {
    let text = format!("a value of {length} bytes, and {BYTES_MAX} are possible");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{
        Comparison, Condition, Draw, Expect, Literal, Operand, Piece, Statement, Step, Stream, Target,
        Transaction, Workload,
    };
    use std::time::Duration;

    /// Each kind of step, with and without what may be left out.
    fn steps() -> Vec<Step> {
        let statement = Statement {
            kind: "one".to_owned(),
            pieces: vec![Piece::Sql("SELECT ".to_owned()), Piece::Parameter(Operand::SlotPlus(0, 1))],
            text_only: false,
            keep: vec![1],
            expect: Expect::Anything,
        };
        let one = Operand::Draw(Draw::Literal(Literal::Integer(1)));
        let condition = Condition { left: one.clone(), is: Comparison::Less, right: Operand::Slot(0) };
        let draw = Step::Draw { slot: 0, draw: Draw::Table };
        let row = vec![Piece::Inline(one.clone())];
        let otherwise = Vec::new();
        vec![
            draw.clone(),
            Step::Statement(statement),
            Step::BulkRow { kind: "rows".to_owned(), head: row.clone(), row, limit_bytes: 1 },
            Step::Repeat { times: one.clone(), number: None, steps: vec![draw.clone()] },
            Step::Repeat { times: one, number: Some(2), steps: vec![draw.clone()] },
            Step::If { condition, then: vec![draw], otherwise },
        ]
    }

    #[test]
    fn a_task_comes_back_with_each_kind_of_step() {
        let target = Target::of_nobody();
        let workload =
            |steps| Workload::new("w", 1, vec![Transaction { name: "t".to_owned(), weight: 1.0, steps }]);
        for step in steps() {
            let streams = vec![Stream::new("main", workload(vec![step.clone()]), 1)];
            let spec = Spec::new(target.clone(), streams, Duration::ZERO, Duration::from_secs(1));
            let mut bytes = Vec::new();
            let task = Task { spec: spec.clone(), secrets: Secrets::of(&spec).expect("no files") };
            write(&mut bytes, &Told::Task(Box::new(task))).expect("memory");
            let Ok(Some(Told::Task(read))) = read::<Told>(&mut bytes.as_slice()) else {
                panic!("it cannot be read: {step:?}");
            };
            assert_eq!(read.spec.streams[0].workload.transactions()[0].steps, [step]);
        }
    }

    #[test]
    fn values_come_back_one_after_the_other_and_rubbish_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Hello::ours()).expect("memory");
        let refused = PartFailure::Refused { cause: "no".to_owned() };
        write(&mut bytes, &Said::Failed(refused.clone())).expect("memory");
        let mut from = bytes.as_slice();
        assert_eq!(read::<Hello>(&mut from).expect("a value"), Some(Hello::ours()));
        assert!(matches!(read::<Said>(&mut from), Ok(Some(Said::Failed(told))) if told == refused));
        assert!(read::<Said>(&mut from).expect("the end").is_none());
        let mut cut = &bytes[..bytes.len() - 1];
        assert_eq!(read::<Hello>(&mut cut).expect("a value"), Some(Hello::ours()));
        assert!(read::<Said>(&mut cut).is_err(), "it has no end");
        assert!(read::<Hello>(&mut &b"Usage: prony [OPTIONS]"[..]).is_err(), "a length that is none");
    }
}
