//! Why a connection was lost or could not be opened, and under which code that is counted.

use std::{io, time::Duration};
use thiserror::Error;

/// Steps of opening a connection, in messages.
pub(crate) const CONNECTING: &str = "connecting";
pub(crate) const LOGGING_IN: &str = "the login";

/// Why a connection was lost or could not be opened.
#[derive(Debug, Error)]
pub(crate) enum Loss {
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server refused the login or broke the protocol.
    #[error("{0}")]
    Wire(#[from] wire::Error),
    /// Bytes came that nobody had asked for.
    #[error("the server sent {0} bytes that nothing had asked for")]
    Unasked(usize),
    /// The connection could not be opened in time.
    #[error("{step} took longer than {} s", limit.as_secs_f64())]
    ConnectTimeout {
        /// What it was waiting for.
        step: &'static str,
        /// [`crate::Spec::connect_timeout`].
        limit: Duration,
    },
    /// A reply did not come in time.
    #[error("no reply within {} s", .0.as_secs_f64())]
    ReplyTimeout(Duration),
    /// TLS was to begin, but none is configured.
    #[error("the server asked for TLS, which is switched off")]
    TlsUnwanted,
}

impl Loss {
    /// The code under which it is counted: the server's own, or that of MySQL's client library.
    pub(crate) fn code(&self) -> (u16, [u8; 5]) {
        match self {
            Self::Wire(wire::Error::Server { error, .. }) => (error.code, error.state),
            Self::Wire(_) | Self::Unasked(_) => (2027, *b"HY000"), // CR_MALFORMED_PACKET
            Self::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => (2003, *b"HY000"),
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => (2002, *b"HY000"),
            // CR_IPSOCK_ERROR
            Self::Io(error) if error.kind() == io::ErrorKind::AddrNotAvailable => (2004, *b"HY000"),
            Self::ConnectTimeout { step: CONNECTING, .. } => (2003, *b"HY000"), // CR_CONN_HOST_ERROR
            Self::Io(_) | Self::Closed | Self::ConnectTimeout { .. } | Self::ReplyTimeout(_) => {
                (2013, *b"08S01") // CR_SERVER_LOST
            }
            Self::TlsUnwanted => (2026, *b"HY000"), // CR_SSL_CONNECTION_ERROR
        }
    }
}
