//! Why a load has no outcome.

use crate::{check::Mistake, program, secrets, tls};
use serde::{Deserialize, Serialize};
use thiserror::Error as ThisError;

/// Why a load could not begin, or has no outcome.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The workload cannot be run.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// What is asked for makes no sense.
    #[error(transparent)]
    Spec(#[from] Mistake),
    /// Nothing answers at the address.
    #[error("cannot reach {address}: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("TLS to {address}: {source}")]
    Tls {
        /// Where.
        address: String,
        /// Why.
        source: tls::Error,
    },
    /// A file that the login needs cannot be read.
    #[error("login at {address}: {source}")]
    File {
        /// Where.
        address: String,
        /// Which, and why.
        source: secrets::Error,
    },
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
    /// A script failed before the load began; the text says where and why.
    #[error("the script failed: {0}")]
    Script(String),
    /// The caller stopped it before it began.
    #[error("interrupted before the load started")]
    Interrupted,
    /// The load cannot run on the processors that it was to run on.
    #[error("the load cannot run on processors {processors}: {source}")]
    Pin {
        /// Their numbers.
        processors: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// One of the processes that run the load cannot do its part, is gone, or hangs. Figures without its part
    /// would be those of another load, so there are none.
    #[error("{part}: {failure}")]
    Part {
        /// Which.
        part: String,
        /// What became of it.
        failure: PartFailure,
    },
    /// The operating system refused something.
    #[error("the operating system refused: {0}")]
    System(#[from] std::io::Error),
}

/// What became of a process that does not do its part of a load. `end` says how it ended, as far as known to
/// the code that started it.
#[derive(Debug, Clone, PartialEq, Eq, ThisError, Serialize, Deserialize)]
pub enum PartFailure {
    /// It ended at once.
    #[error("it {} before it reported anything{}", left(end), aside(&[end]))]
    Mute {
        /// How it ended; empty: its connection was closed, more is not known.
        end: String,
    },
    /// It speaks otherwise.
    #[error("it is another version of Prony ({theirs}; this one is {ours}): use the same version everywhere")]
    Version {
        /// What it is.
        theirs: String,
        /// What this one is.
        ours: String,
    },
    /// Nothing answers at its address.
    #[error("cannot reach it: {cause}. Is `prony agent` running there, and is its port open?")]
    Unreachable {
        /// What the system says.
        cause: String,
    },
    /// One of the two does not accept the other's certificate.
    #[error(
        "the TLS handshake failed: {cause}. Both sides need certificates of one `prony agent init`, and the \
         agent's must list the host by which it is called here"
    )]
    Untrusted {
        /// What TLS says.
        cause: String,
    },
    /// It works for somebody else.
    #[error("it is busy with {run}: wait until that is over, or stop it")]
    Busy {
        /// For whom.
        run: String,
    },
    /// Its start does not allow this load.
    #[error("it does not allow {0}")]
    Forbidden(Forbidden),
    /// It is none of ours.
    #[error("its messages cannot be understood: {cause}")]
    Strange {
        /// What is wrong with it.
        cause: String,
    },
    /// It cannot be told or heard any more.
    #[error("it is gone{}", aside(&[end, cause]))]
    Cut {
        /// How it ended; empty: not known.
        end: String,
        /// What the system says.
        cause: String,
    },
    /// It has ended.
    #[error("it is gone{}", aside(&[end]))]
    Gone {
        /// How it ended; empty: not known.
        end: String,
    },
    /// It cannot do what it was given to do.
    #[error("{cause}")]
    Refused {
        /// Why, in its own words.
        cause: String,
    },
    /// It lives and does not keep up.
    #[error("it is too slow: its results are {seconds} s late. Give it fewer connections, or a faster host")]
    Slow {
        /// How late, s.
        seconds: u64,
    },
    /// It lives and says nothing.
    #[error("it has not reported for {seconds} s: it hangs")]
    Silent {
        /// For how long, s.
        seconds: u64,
    },
    /// It goes on when the load is over.
    #[error("it does not end")]
    Endless,
    /// It ended without saying what it did.
    #[error("it ended without a report")]
    NoReport,
    /// It accepted a connection and then said nothing.
    #[error("it did not answer within {seconds} s")]
    Unanswered {
        /// How long it was waited for, s.
        seconds: u64,
    },
}

/// What is known of the end of something that only its connection tells of.
fn left(end: &str) -> &'static str {
    if end.is_empty() { "closed the connection" } else { "ended" }
}

/// In brackets what is known.
fn aside(all: &[&String]) -> String {
    let known: Vec<&str> = all.iter().map(|one| one.as_str()).filter(|one| !one.is_empty()).collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join("; ")) }
}

/// What an agent's start does not allow.
#[derive(Debug, Clone, PartialEq, Eq, ThisError, Serialize, Deserialize)]
pub enum Forbidden {
    /// A target.
    #[error("the target {target}, only {allowed}: start it with `--allow {target}`")]
    Target {
        /// Which.
        target: String,
        /// What it allows.
        allowed: String,
    },
    /// So many connections.
    #[error(
        "{asked} connections, at most {most}: use more agents, or start it with a higher `--connections-max`"
    )]
    Connections {
        /// Its part of them.
        asked: u32,
        /// What it allows.
        most: u32,
    },
    /// Such a rate.
    #[error(
        "{asked} starts per second, at most {most}: use more agents, or start it with a higher `--rate-max`"
    )]
    Rate {
        /// Its part of it.
        asked: u64,
        /// What it allows.
        most: u64,
    },
    /// A load whose rate nothing limits.
    #[error(
        "a load without a rate, since its rate may not exceed {most} per second: use `rate`, or start it \
         without `--rate-max`"
    )]
    Unlimited {
        /// What it allows, starts per second.
        most: u64,
    },
    /// So long a load.
    #[error("a load of {asked} s, at most {most} s: start it with a higher `--time-max`")]
    Time {
        /// Warm-up and measurement, s.
        asked: u64,
        /// What it allows, s.
        most: u64,
    },
    /// A script, which could do anything.
    #[error("Lua scripts: start it with `--allow-scripts` if you trust whoever may use it")]
    Script,
}
