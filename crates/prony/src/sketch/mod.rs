//! First sections of a study from what exists: a workload from a slow log or from a server's statement
//! digests, tables from a database's statistics. Whoever asked looks through them and changes what does not
//! fit.
//!
//! A server is only read. Of its rows nothing leaves it but counts, shares and the ends of ranges of
//! numbers and dates; texts are described by their lengths.

mod database;
mod seen;
mod slow_log;
mod toml;

pub use database::{describe, digests};
pub use seen::{Seen, normalised};
pub use slow_log::slow_log;
pub use toml::{tables, workload};

use load::client;
use std::{io, path::PathBuf};

/// Why nothing could be drawn up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A log cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no statement in it.
    #[error("{0} contains no statement that a workload can send (SELECT, INSERT, UPDATE, DELETE, REPLACE)")]
    Nothing(String),
    /// The server refused, or the connection broke.
    #[error("{what}: {source}{}", hint(what))]
    Server {
        /// What was asked for.
        what: &'static str,
        /// What happened.
        source: client::Error,
    },
    /// The server's address names no database.
    #[error("no database given: add one to the server's address, as in mysql://user@host:3306/shop")]
    NoDatabase,
}

/// What statement digests need.
const DIGESTS: &str = "reading statement digests";

fn hint(what: &str) -> &'static str {
    if what == DIGESTS {
        "; they need performance_schema = on, and the privilege SELECT on performance_schema"
    } else {
        ""
    }
}
