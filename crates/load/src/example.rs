//! The statements of a workload with their values, one after the other and without a load: for whoever wants
//! to know beforehand what a server makes of them.

use crate::{
    client::{Connection, Error},
    compose::Values,
    program::{Action, Drawn, Program},
    spec::{Protocol, SlotIndex, Workload},
};

/// A statement of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Name of its transaction.
    pub transaction: String,
    /// Its name in results.
    pub kind: String,
    /// Its place among all statements of the workload, from 0, as [`Workload::steps`] has them.
    pub place: usize,
    /// As a load prepares it, with a `?` for each value; `None`: a load sends it as text.
    pub prepared: Option<String>,
    /// With values.
    pub text: String,
}

/// Shows each statement of a workload to `see`, those of loops and branches once, with values as a load draws
/// them. What statements take from an earlier one's result is there if `see` says that this one may be
/// executed, and is the number 1 otherwise. A script has no statements that are known beforehand.
///
/// # Errors
/// What `see` returns, or where the connection breaks.
pub fn examples(
    (workload, protocol): (&Workload, Protocol),
    seed: u64,
    connection: &mut Connection,
    see: &mut dyn FnMut(&mut Connection, &Example) -> Result<bool, Error>,
) -> Result<(), Error> {
    // one that cannot be run is refused where it is to be run
    let Ok(program) = Program::new(workload, protocol, 1) else { return Ok(()) };
    let mut place = 0;
    for routine in &program.transactions {
        let mut values = Values::new(seed, (0, 0), program.slots);
        for action in &routine.steps {
            match action {
                Action::Draw { slot, source } => values.draw(*slot, &program, source),
                Action::Loop { number: Some(slot), .. } => set(&mut values, *slot),
                Action::Send(index) => {
                    let sentence = &program.statements[*index];
                    let (mut text, mut prepared) = (Vec::new(), Vec::new());
                    values.write_sentence(&program, sentence, true, (&mut text, &mut Vec::new()));
                    values.write_prepared(sentence, &mut prepared);
                    let example = Example {
                        transaction: routine.name.clone(),
                        kind: program.kinds[sentence.kind].clone(),
                        place,
                        prepared: sentence.prepared.then(|| lossy(&prepared)),
                        text: lossy(&text),
                    };
                    place += 1;
                    let executes = see(connection, &example)? && !sentence.keep.is_empty();
                    if executes {
                        keep(connection, &text, &mut values, &sentence.keep)?;
                    }
                    for slot in &sentence.keep {
                        if !executes || values.slots[usize::from(*slot)] == Drawn::Null {
                            set(&mut values, *slot);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Executes a statement and keeps of its first row what later ones need.
fn keep(
    connection: &mut Connection,
    text: &[u8],
    values: &mut Values,
    slots: &[SlotIndex],
) -> Result<(), Error> {
    values.kept = false;
    let done = connection.run(|session, out| session.query(text, out), &mut values.first_row(slots));
    match done {
        Ok(_) | Err(Error::Server { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn set(values: &mut Values, slot: SlotIndex) {
    values.slots[usize::from(slot)] = Drawn::Integer(1);
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
