//! What a load's conductor and its parts elsewhere say to each other, as values over a stream of bytes: each
//! value's length, 4 bytes, little-endian, and then its bytes (postcard). Histograms in them are sparse.

use crate::{control::Message, gather::PartReport, secrets::Secrets, spec::Spec};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, Read, Write};

/// Longest value, bytes. A second of a load with a hundred kinds of statements has a few hundred kilobytes; a
/// report with ten thousand outages of each worker not much more.
const BYTES_MAX: u32 = 256 << 20;

/// The first value: who is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// What it speaks; first, so that another version can still read it.
    format: u32,
    version: String,
}

impl Hello {
    /// How this Prony introduces itself.
    pub(crate) fn ours() -> Self {
        Self { format: 1, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// What a part is to do; the first value that it is sent. Orders follow.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) spec: Spec,
    pub(crate) secrets: Secrets,
}

/// What a part says after its hello.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It is there.
    Alive,
    /// What came of its workers.
    Of(Message),
    /// It cannot do its part.
    Refused(String),
    /// It is over.
    Finished(Box<PartReport>),
}

/// Writes a value.
pub(crate) fn write(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_allocvec(value).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).ok().filter(|&length| length <= BYTES_MAX);
    let length = length.ok_or_else(|| too_long(bytes.len()))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads a value; `None`: there are no more.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
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
    postcard::from_bytes(&bytes).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn too_long(length: usize) -> io::Error {
    let text = format!("a value of {length} bytes, and {BYTES_MAX} are possible");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_one_after_the_other_and_rubbish_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Hello::ours()).expect("memory");
        write(&mut bytes, &Said::Refused("no".to_owned())).expect("memory");
        let mut from = bytes.as_slice();
        assert_eq!(read::<Hello>(&mut from).expect("a value"), Some(Hello::ours()));
        assert!(matches!(read::<Said>(&mut from), Ok(Some(Said::Refused(text))) if text == "no"));
        assert!(read::<Said>(&mut from).expect("the end").is_none());
        assert!(read::<Said>(&mut &bytes[..bytes.len() - 1][..]).is_err(), "another value");
        assert!(read::<Hello>(&mut &b"Usage: prony [OPTIONS]"[..]).is_err(), "a length that is none");
    }
}
