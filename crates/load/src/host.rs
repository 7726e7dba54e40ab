//! What a load host says about itself, and what it sees of itself while it carries out a load.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What an agent is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name, as it calls itself.
    pub name: String,
    /// Processors that it may use.
    pub processors: u32,
    /// Name and release of its kernel.
    pub kernel: String,
    /// Where its kernel has the time from.
    pub clock_source: String,
    /// Its version of Prony.
    pub version: String,
    /// Tells machines apart: the number that its kernel drew when it started.
    #[serde(default)]
    pub machine: String,
    /// Tells network namespaces of a machine apart.
    #[serde(default)]
    pub network: String,
    /// Whether it is the machine of whoever conducts the load, who finds that out.
    #[serde(default)]
    pub is_here: bool,
    /// Its limits.
    pub limits: Limits,
}

/// An agent's limits. Each applies to its own part of a load; `None`: no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Targets that it may offer load to: `HOST:PORT`, `HOST:*`, or the path of a socket.
    pub targets: Vec<String>,
    /// Connections.
    pub connections: Option<u32>,
    /// Starts per second.
    pub rate: Option<u64>,
    /// Warm-up and measurement.
    pub time: Option<Duration>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Whether it runs Lua scripts, which can do anything.
    pub scripts: bool,
}

/// What a load host sees of itself at one time: numbers whose meaning and order are between whoever looks
/// there and whoever listens here, both of one version of Prony; `None`: its kernel does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen(pub Vec<Option<f64>>);
