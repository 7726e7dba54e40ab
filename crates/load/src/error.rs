//! Why a load has no outcome.

use crate::{program, tls};
use thiserror::Error as ThisError;

/// Why a load could not begin, or has no outcome.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The workload cannot be run.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// What is asked for makes no sense; the text says what and why.
    #[error("{0}")]
    Spec(String),
    /// Nothing answers at the address.
    #[error("cannot reach {address}: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("TLS to {address}: {reason}")]
    Tls {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// A file that the login needs cannot be read.
    #[error(transparent)]
    File(#[from] tls::Error),
    /// Not all connections could be opened.
    #[error("only {opened} of {wanted} connections to {address} could be opened: {reason}")]
    Opening {
        /// Where.
        address: String,
        /// How many were.
        opened: u32,
        /// How many were asked for.
        wanted: u32,
        /// The last failure, in the server's words where it said something.
        reason: String,
        /// Its code.
        code: u16,
    },
    /// The caller stopped it before it began.
    #[error("interrupted before the load began")]
    Interrupted,
    /// The load cannot run on the processors that it was to run on.
    #[error("the load cannot run on processors {processors}: {source}")]
    Pin {
        /// Their numbers.
        processors: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// One of the processes that carry the load out cannot do its part, is gone, or hangs. Figures without
    /// its part would be those of another load, so there are none.
    #[error("{part}: {reason}")]
    Part {
        /// Which.
        part: String,
        /// What became of it.
        reason: String,
    },
    /// The operating system refused something.
    #[error("the operating system refused: {0}")]
    System(#[from] std::io::Error),
}
