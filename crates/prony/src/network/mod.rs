//! A network with a stated latency between Prony and a server on one machine, and between servers: what was stated, what was
//! used for it, and what was measured. It knows no study and no database, only addresses.
//!
//! What makes it is a relay ([`load::relay`]), which needs neither rights nor a special kernel. It runs as a process of its own,
//! which cannot outlive this one, so that its CPU time can be told apart and its delay does not depend on what Prony does.

mod probe;
mod process;

pub use load::relay::Figures;
pub use probe::round_trip;
pub use process::{Link, serve};

use crate::provision::Usage;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A network as it was asked for and as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Between which of the servers that work together, by number, `0-1`; `None`: between client and server.
    pub between: Option<String>,
    /// What was stated: round trip, added to what there is.
    pub stated: Duration,
    /// What made it.
    pub means: Means,
    /// Added to a round trip as measured when it was put there, before any load.
    pub measured_before: Option<Duration>,
    /// The same after the last trial.
    pub measured_after: Option<Duration>,
    /// How much later than due pieces were handed on, the mean of the worst trial; `None`: it was never used.
    pub late: Option<Duration>,
    /// Share of a processor that the busiest thread of what made it used, in the busiest trial; 0 to 1.
    pub busy_max: f64,
}

/// What is around a server: what of it was used, and the networks before it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The networks before it, in the order in which they were made.
    pub links: Vec<LinkRecord>,
    /// What it used of its limits; `None`: it has none.
    pub usage: Option<Usage>,
}

/// What makes a network slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// A process of Prony's own that hands everything on later.
    Relay,
}
