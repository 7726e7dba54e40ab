//! The outcome of a reply, and the packets that end one.

use super::{Prepared, handshake::read_error};
use crate::{Error, ServerError, error::malformed, packet::Reader};

/// The whole reply to one command, all its results together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reply {
    /// Rows of all results.
    pub rows: u64,
    /// Affected rows of all results.
    pub affected: u64,
    /// Last one that was not 0.
    pub last_insert_id: u64,
    /// Warnings of the last result.
    pub warnings: u16,
    /// Status flags of the last result, see [`crate::constants::status`].
    pub status: u16,
    /// Number of results that ended well, with or without rows.
    pub results: u32,
    /// The error that ended the reply; its text is [`super::Session::message`].
    pub error: Option<ServerError>,
    /// Answer to prepare.
    pub prepared: Option<Prepared>,
}

/// How far a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Bytes are missing.
    NeedMore,
    /// The server asks for a local file. Send it by [`super::Session::local_data`] if it was announced, and
    /// in any case [`super::Session::local_end`]; then receive on.
    LocalInfile {
        /// Whether it is the file that was announced. Otherwise nothing will be sent, and the reply ends
        /// with [`Error::LocalFileRefused`].
        announced: bool,
    },
    /// The reply is complete.
    Done(Reply),
}

/// OK, also in the form that ends rows.
#[inline]
pub(super) fn read_ok(payload: &[u8]) -> Result<Reply, Error> {
    const WHAT: &str = "an OK packet";
    let mut reader = Reader(&payload[1..]);
    Ok(Reply {
        affected: reader.lenenc(WHAT)?,
        last_insert_id: reader.lenenc(WHAT)?,
        status: reader.u16(WHAT)?,
        warnings: reader.u16(WHAT)?,
        ..Reply::default()
    })
}

pub(super) fn read_eof(payload: &[u8]) -> Result<Reply, Error> {
    const WHAT: &str = "an EOF packet";
    let mut reader = Reader(&payload[1..]);
    Ok(Reply { warnings: reader.u16(WHAT)?, status: reader.u16(WHAT)?, ..Reply::default() })
}

#[cold]
pub(super) fn unexpected(payload: &[u8], expected: &'static str) -> Error {
    payload.first().map_or(malformed("a packet is empty"), |&first| Error::Unexpected { first, expected })
}

/// Something came though nothing was asked: the server ends the connection (idle for too long, shutdown), or
/// nonsense.
#[cold]
pub(super) fn unasked(payload: Option<&[u8]>) -> Error {
    match payload {
        Some(payload @ [0xff, ..]) => read_error(payload),
        _ => Error::OutOfTurn("the server sent something that was not asked for"),
    }
}
