//! A network with a stated latency and bandwidth between Prony and a server on one machine, and between
//! servers: what was stated, what was used for it, and what was measured. It knows no study and no database,
//! only addresses.
//!
//! What makes it is netem, where servers can have network namespaces; elsewhere a relay ([`load::relay`]),
//! which needs neither rights nor a special kernel. The relay runs as a process of its own, which cannot
//! outlive this one, so that its CPU time can be told apart and its delay does not depend on what Prony does.
//! Both are measured, by the same statements.

mod namespace;
mod probe;
mod process;

pub use load::relay::{Figures, keep_awake};
pub use namespace::{Node, discipline, join, possible};
pub use probe::{bandwidth, round_trip, round_trip_from};
pub use process::{Link, serve};

use crate::provision::Usage;
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// What a network is to be like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shape {
    /// Added to a round trip.
    pub round_trip: Duration,
    /// Bytes per second in each direction; `None`: as many as there can be.
    pub bandwidth: Option<u64>,
}

impl Shape {
    /// Whether nothing needs to be made for it.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.round_trip.is_zero() && self.bandwidth.is_none()
    }
}

/// One that is slow and not narrow.
impl From<Duration> for Shape {
    fn from(round_trip: Duration) -> Self {
        Self { round_trip, bandwidth: None }
    }
}

/// A network as it was asked for and as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Between which of the servers that work together, by number, `0-1`; `None`: between client and server.
    pub between: Option<String>,
    /// What was stated: round trip, added to what there is.
    pub stated: Duration,
    /// Bytes per second in each direction, as stated; `None`: it has no such limit.
    #[serde(default)]
    pub bandwidth: Option<u64>,
    /// What made it.
    pub means: Means,
    /// Why a relay did; `None`: netem did, or nobody said.
    #[serde(default)]
    pub why: Option<WhyRelay>,
    /// Added to a round trip as measured when it was put there, before any load.
    pub measured_before: Option<Duration>,
    /// Bytes per second of one large reply over it, when it was put there; of a network with a limit.
    #[serde(default)]
    pub measured_bandwidth: Option<u64>,
    /// Added to a round trip as measured after the last trial.
    pub measured_after: Option<Duration>,
    /// How late data were passed on, the mean of the worst trial; `None`: it was never used.
    pub late: Option<Duration>,
    /// Share of a processor that the busiest thread of what made it used, in the busiest trial; 0 to 1.
    pub busy_max: f64,
    /// Whether idle processors were kept from sleeping, so that it could be punctual.
    #[serde(default)]
    pub awake: bool,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// A process of Prony's own that hands everything on later.
    Relay,
    /// A queueing discipline of the kernel's, as `tc` has it, on devices between network namespaces.
    #[serde(rename = "apart")]
    Netem(String),
}

/// Why servers do not get network namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyRelay {
    /// The study asks for the relay.
    Asked,
    /// A server runs elsewhere.
    Elsewhere,
    /// The nodes of a cluster find each other on one network.
    Cluster,
    /// The study says from which addresses the client connects.
    Sources,
    /// It needs root.
    NotRoot,
    /// This program is not there.
    NoProgram(String),
    /// The kernel, or the machine's administrator, does not allow a network namespace; the message.
    NoNamespace(String),
    /// The kernel does not have netem; what was said.
    NoDiscipline(String),
}

impl WhyRelay {
    /// Name of its sentence in tables of words, and what is filled into that.
    #[must_use]
    pub fn word(&self) -> (&'static str, &str) {
        match self {
            Self::Asked => ("relay_asked", ""),
            Self::Elsewhere => ("relay_elsewhere", ""),
            Self::Cluster => ("relay_cluster", ""),
            Self::Sources => ("relay_sources", ""),
            Self::NotRoot => ("relay_root", ""),
            Self::NoProgram(name) => ("relay_program", name),
            Self::NoNamespace(said) => ("relay_namespace", said),
            Self::NoDiscipline(said) => ("relay_discipline", said),
        }
    }
}

/// For the command line, which tells it without a report.
impl fmt::Display for WhyRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => write!(f, "the study asks for the relay"),
            Self::Elsewhere => write!(f, "a server runs elsewhere"),
            Self::Cluster => write!(f, "the nodes of a cluster find each other on one network"),
            Self::Sources => write!(f, "the study sets the client's source addresses"),
            Self::NotRoot => write!(f, "network namespaces need root"),
            Self::NoProgram(name) => write!(f, "the program {name} is not installed"),
            Self::NoNamespace(said) => write!(f, "a network namespace cannot be created here ({said})"),
            Self::NoDiscipline(said) => write!(f, "the kernel has no netem ({said})"),
        }
    }
}
