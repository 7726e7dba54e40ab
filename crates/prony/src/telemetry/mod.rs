//! Samples the machine and the server's process while a load runs. Knows nothing else of Prony.

mod machine;
mod sampler;

pub use machine::ControlGroup;
pub use sampler::Sampler;

use serde::{Deserialize, Serialize};
use std::time::Duration;

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
    /// CPUs that the control group of this process may use; `None`: no limit.
    #[serde(default)]
    pub cpu_limit: Option<f64>,
    /// Memory that the control group of this process may use, bytes; `None`: no limit.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
}

/// One second of machine and server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Reading {
    /// Since the load began.
    pub at: Duration,
    /// Length of time that the differences below cover.
    pub length: Duration,
    /// Whole machine, in CPUs busy (2.0: two processors full).
    pub cpu_user: f64,
    /// As above, kernel.
    pub cpu_system: f64,
    /// As above, waiting for disks.
    pub cpu_iowait: f64,
    /// As above, taken by the hypervisor.
    pub cpu_steal: f64,
    /// The server's process, user and kernel together, in CPUs; `None` for a server elsewhere.
    pub server_cpu: Option<f64>,
    /// Resident memory of the server, bytes.
    pub server_memory_bytes: Option<u64>,
    /// Threads of the server.
    pub server_threads: Option<u32>,
    /// Bytes per second that the server had read from disks; `None` as above, or where this may not be known.
    #[serde(default)]
    pub server_read_bytes_per_second: Option<f64>,
    /// Bytes per second that the server had written to disks.
    #[serde(default)]
    pub server_written_bytes_per_second: Option<f64>,
    /// This process, in CPUs.
    pub client_cpu: f64,
    /// Context switches per second, whole machine.
    pub context_switches_per_second: f64,
}
