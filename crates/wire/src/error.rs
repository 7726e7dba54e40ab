//! What can go wrong, who is to blame, and what was seen.

use std::fmt;

/// An error of the protocol. After any of these the connection is of no use; errors of a statement are no
/// such error but part of its reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer's packet has the wrong number: bytes were lost, or two users share a connection.
    #[error("the peer sent packet number {seen} where {expected} was expected: bytes were lost or mixed up")]
    Sequence {
        /// Number that was due.
        expected: u8,
        /// Number that came.
        seen: u8,
    },
    /// A packet ends early or its contents make no sense.
    #[error("the peer sent a malformed packet: {what}")]
    Malformed {
        /// What was being read and what is wrong with it.
        what: &'static str,
    },
    /// A packet of another kind was due.
    #[error("the peer sent a packet that begins with {first:#04x} where {expected} was expected")]
    Unexpected {
        /// First byte of the packet.
        first: u8,
        /// What was due.
        expected: &'static str,
    },
    /// A packet or a count is larger than anything sensible.
    #[error("the peer announced {what} of {seen}, more than the {limit} that are accepted")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size as the peer said.
        seen: u64,
        /// The bound.
        limit: u64,
    },
    /// The server speaks a protocol other than 10 with 4.1's extensions.
    #[error("the server's protocol version {0} is too old: version 5.0 or later of the server is needed")]
    ProtocolVersion(u8),
    /// TLS was asked for and the server has none.
    #[error(
        "the server does not offer TLS: give it a certificate, or allow connections without TLS (mode \
         `preferred` or `disabled`)"
    )]
    TlsNotOffered,
    /// The server wants an authentication plug-in that does not exist here.
    #[error(
        "the account uses the authentication plug-in `{0}`, which is not supported: use \
         mysql_native_password, caching_sha2_password, sha256_password or client_ed25519"
    )]
    Plugin(String),
    /// The server wants the password as it is, and nobody has verified who the server is.
    #[error(
        "the server asks for the authentication plug-in `{0}`, which sends the password in clear text, but \
         the server's identity is not verified; nothing was sent. Verify it with TLS (ssl-mode=verify_ca and \
         ssl-ca), or allow it: --cleartext-password, or cleartext-password=1 in the URL"
    )]
    InsecurePassword(&'static str),
    /// The server wants the password as it is through TLS that verifies nothing.
    #[error(
        "the authentication plug-in `{0}` would send the password to the server, but TLS has not verified \
         the server's identity; nothing was sent. Verify it (ssl-mode=verify_ca and ssl-ca), or allow it: \
         --get-server-public-key, or get-server-public-key=1 in the URL"
    )]
    UnverifiedServer(&'static str),
    /// The password would be encrypted with a key of whoever answers.
    #[error(
        "the authentication plug-in `{0}` would encrypt the password with the server's RSA key, which is \
         unknown; nothing was sent. Use TLS (ssl-mode=verify_ca and ssl-ca) or the Unix socket, give the \
         key's file (--server-public-key-path), or accept the key that the server sends: \
         --get-server-public-key, or get-server-public-key=1 in the URL"
    )]
    UnknownKey(&'static str),
    /// The server's RSA key cannot be used.
    #[error("the server's RSA key for the password exchange is unusable: {0}")]
    RsaKey(&'static str),
    /// The server said no before the session began, or ended it.
    #[error("{message} (error {error})")]
    Server {
        /// Code and SQL state.
        error: ServerError,
        /// The server's own words.
        message: String,
    },
    /// The server asked for a file that was not offered.
    #[error("the server requested the local file `{asked}`, which was not offered to it; nothing was sent")]
    LocalFileRefused {
        /// What it asked for, shortened.
        asked: String,
    },
    /// The caller sent a command while a reply was due, or read without having sent one.
    #[error("the connection was used out of order: {0}")]
    OutOfTurn(&'static str),
}

/// Code and SQL state of an error that the server reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerError {
    /// The server's number, such as 1213 for a deadlock.
    pub code: u16,
    /// SQL state, ASCII; `HY000` where the server gave none.
    pub state: [u8; 5],
}

impl ServerError {
    /// The SQL state as text.
    #[must_use]
    pub fn state_text(&self) -> String {
        String::from_utf8_lossy(&self.state).into_owned()
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, state {}", self.code, String::from_utf8_lossy(&self.state))
    }
}

/// Short form of [`Error::Malformed`]. To be made only where it is needed: dropping one costs time on the way
/// of every reply.
#[cold]
pub(crate) fn malformed(what: &'static str) -> Error {
    Error::Malformed { what }
}
