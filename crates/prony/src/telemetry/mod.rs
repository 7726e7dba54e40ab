//! Samples machine, client, load hosts and servers while a load runs, each second or as asked. Of the rest of
//! Prony it knows only the load engine's control connection, and what families of servers call things.
//!
//! Every value of a [`Reading`] has a path, whose beginning says whose it is:
//!
//! * `machine/...`: this machine: `cpu_user`, `cpu_system`, `cpu_iowait`, `cpu_steal`, `cpu_idle` in CPUs;
//!   `run_queue`, `blocked` (processes); `context_switches`, `interrupts`; `disk/NAME/...`,
//!   `network/NAME/...`, `pressure/...`
//! * `client/...`: this process and those that carry the load out with it, as one: as a server's `process`;
//!   `telemetry_cpu`: what sampling itself takes, CPUs
//! * `load_host/ADDRESS/...`: a load host, as it sees itself: `machine/...`, `client/...` (its load process,
//!   with `waiting`: how long its threads were ready to run and waited for a processor), `network/...` (all
//!   interfaces together: `received_bytes`, `sent_bytes`, TCP `segments` sent and of these `retransmits`)
//! * `relay/NUMBER/...`: a process that makes one of Prony's own networks: as a server's `process`
//! * `node/NAME/process/...`: a server's process on this machine: `cpu_user`, `cpu_system`, `memory_bytes`,
//!   `threads`, `switches_voluntary`, `switches_involuntary`, `threads_looked_at` (where these are those of
//!   some threads, counted for all), `read_bytes`, `written_bytes`
//! * `node/NAME/group/...`: its cgroup: `throttled` (share of the time that it was held back), `memory_bytes`
//! * `node/NAME/status/...`: what it counts itself, by the names of [`crate::family::COUNTERS`]; where all
//!   was asked for, the rest by its own names, also as `metric/...`
//! * `node/NAME/state/...`: how many of its connections are doing what
//! * `node/NAME/machine/...`: the machine of a server elsewhere, from a node_exporter
//!
//! Counters are reported per second (time in seconds per second: a share), levels as they are.

mod beside;
mod cost;
mod counts;
mod exporter;
mod host;
mod load_host;
mod machine;
mod process;
mod profile;
mod sampler;
mod series;
mod sql;
mod stored;

pub use beside::Beside;
pub use cost::{Cost, mean};
pub use host::stolen;
pub use load_host::{LoadHostNow, look};
pub use machine::ControlGroup;
pub use profile::Profile;
pub use sampler::{Running, Sampler};
pub use series::{Column, Series, Span};
pub use sql::ways;

use load::spec::Target;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// What the measurement ran on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Processor's name.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cpus: u32,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// Kernel, as `uname` says.
    pub kernel: String,
    /// Distribution, from `/etc/os-release`.
    pub distribution: String,
    /// Virtualisation, container, or empty.
    pub virtualisation: String,
    /// Limit of open files of this process.
    pub open_files_max: u64,
    /// CPUs that the cgroup of this process may use; `None`: no limit.
    #[serde(default)]
    pub cpu_limit: Option<f64>,
    /// Memory that the cgroup of this process may use, bytes; `None`: no limit.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
}

/// A server to be sampled.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// Its name among the servers of the trial: `server`, `replica-1`.
    pub name: String,
    /// Its process, where it runs on this machine.
    pub pid: Option<u32>,
    /// Where its data is, on this machine: tells which disks matter.
    pub data_directory: Option<PathBuf>,
    /// How to log in, the best way first ([`ways`]); empty: it is not asked.
    pub ways: Vec<Target>,
    /// Address of a node_exporter on its machine, if that is another one.
    pub exporter: Option<String>,
}

/// How to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Time between readings.
    pub every: Duration,
    /// An instant at which one is due, since the load began: that the interval begins with a reading.
    pub meet: Duration,
    /// Everything that the servers count, instead of what is chosen.
    pub all: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { every: Duration::from_secs(1), meet: Duration::ZERO, all: false }
    }
}

/// What machine, client and servers did in a second, or as long as asked. Unknown values are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "stored::Stored")]
pub struct Reading {
    /// Its end, since the load began.
    pub at: Duration,
    /// Length of time that the rates cover.
    pub length: Duration,
    /// By path: see the module.
    pub values: BTreeMap<String, f64>,
}

impl Reading {
    /// The value of this path.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<f64> {
        self.values.get(path).copied()
    }

    /// Sum of a value of all servers, as `process/cpu_user`; `None`: none of them has it.
    #[must_use]
    pub fn of_servers(&self, what: &str) -> Option<f64> {
        of_servers(&self.values, what)
    }

    /// CPUs that the servers' processes kept busy.
    #[must_use]
    pub fn server_cpu(&self) -> Option<f64> {
        Some(self.of_servers("process/cpu_user")? + self.of_servers("process/cpu_system")?)
    }

    /// Whether all but a tenth of it lies within an interval; both count from the beginning of the load.
    #[must_use]
    pub fn is_within(&self, from: Duration, until: Duration) -> bool {
        share_within((self.at, self.length), (from, until)) >= WITHIN
    }
}

/// Share of a reading that must lie within an interval for it to be of that interval.
pub const WITHIN: f64 = 0.9;

/// Sum of a value of all servers, as `process/cpu_user`; `None`: none of them has it.
#[must_use]
pub fn of_servers(values: &BTreeMap<String, f64>, what: &str) -> Option<f64> {
    let of_servers = values.iter().filter(|(path, _)| is_of_server(path, what));
    of_servers.map(|(_, value)| *value).reduce(|sum, one| sum + one)
}

/// Sum of a value of all of Prony's relays, as `cpu_user`; `None`: there is none.
#[must_use]
pub fn of_relays(values: &BTreeMap<String, f64>, what: &str) -> Option<f64> {
    let of_relays = values.iter().filter(|(path, _)| is_of_relay(path, what));
    of_relays.map(|(_, value)| *value).reduce(|sum, one| sum + one)
}

/// The path of a value of a load host, as `client/cpu_user`.
#[must_use]
pub fn of_load_host(address: &str, what: &str) -> String {
    format!("{}{address}/{what}", load_host::PREFIX)
}

/// Whether a path is that of a value of any relay, as `cpu_user`.
fn is_of_relay(path: &str, what: &str) -> bool {
    let rest = path.strip_prefix("relay/").and_then(|rest| rest.split_once('/'));
    rest.is_some_and(|(_, rest)| rest == what)
}

/// Whether a path is that of a value of any server, as `process/cpu_user`.
fn is_of_server(path: &str, what: &str) -> bool {
    let rest = path.strip_prefix("node/").and_then(|rest| rest.split_once('/'));
    rest.is_some_and(|(_, rest)| rest == what)
}

/// Which share of a time, told by end and length, lies within an interval, 0 to 1.
fn share_within((at, length): (Duration, Duration), (from, until): (Duration, Duration)) -> f64 {
    let begin = at.saturating_sub(length);
    let inside = at.min(until).saturating_sub(begin.max(from));
    if length.is_zero() { 0.0 } else { inside.as_secs_f64() / length.as_secs_f64() }
}
