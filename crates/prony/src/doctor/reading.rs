//! What was read of a machine, as values.

use super::Busy;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// What was read. The name of a variant in kebab-case is the stable id of its check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Reading {
    /// How processors choose their frequency.
    Governor {
        /// Processors whose frequency the system manages.
        of: usize,
        /// Of these, those that do not run at full speed all the time.
        slow: usize,
        /// Governors of the slow ones, with their driver: `powersave (intel_pstate, balance_power)`.
        names: String,
    },
    /// Whether processors may clock higher while few of them are busy.
    Turbo {
        /// `None`: the system does not manage it.
        on: Option<bool>,
        /// The file of the kernel that has it.
        file: String,
        /// What the file says when it is off.
        off: u32,
    },
    /// What other programs take of the processors now.
    OtherLoad {
        /// Share of all processors.
        share: f64,
        /// Those that take most.
        busiest: Vec<Busy>,
    },
    /// What the hypervisor gives of the processors to others.
    Steal {
        /// Share of the time that was watched.
        now: f64,
        /// Share since the machine started.
        ever: f64,
    },
    /// Processors of the machine.
    Processors {
        /// How many.
        count: usize,
    },
    /// Limits of Prony's cgroup.
    Limits {
        /// Processors.
        cpus: Option<f64>,
        /// Memory, MB.
        memory_mb: Option<u64>,
    },
    /// What the time is read from.
    ClockSource {
        /// The source in use.
        current: String,
        /// Every source that the kernel has.
        available: String,
        /// Whether the processors' counter is one of them.
        tsc: bool,
    },
    /// Whether this is a physical machine.
    Virtualisation {
        /// Whether it is a virtual machine.
        virtual_machine: bool,
        /// Its make; empty: not stated.
        product: String,
        /// Whether Prony is in a container.
        container: bool,
    },
    /// Transparent huge pages.
    HugePages {
        /// `always`, `madvise` or `never`.
        chosen: String,
    },
    /// Swap space, and how readily the kernel uses it.
    Swap {
        /// In use, MB.
        used_mb: u64,
        /// All of it, MB.
        total_mb: u64,
        /// `vm.swappiness`.
        swappiness: u64,
    },
    /// Memory that is nearer to some processors than to others.
    Numa {
        /// NUMA nodes.
        nodes: u64,
        /// Whether the kernel moves pages between them.
        balancing: bool,
    },
    /// Files that a process may open, and so connections.
    OpenFiles {
        /// The hard limit; `None`: there is none.
        limit: Option<u64>,
    },
    /// Ports for outgoing connections.
    Ports {
        /// How many there are.
        ports: u64,
        /// Of these, those of closed connections, which wait for a minute.
        waiting: u64,
    },
    /// Connections that may wait to be accepted.
    Backlog {
        /// `net.core.somaxconn`.
        limit: u64,
    },
    /// Room on the servers' disk.
    DiskSpace {
        /// Free, GB.
        available_gb: f64,
        /// All of it, GB.
        total_gb: f64,
        /// A directory on it.
        directory: String,
    },
    /// The servers' file system.
    FileSystem {
        /// Its type: `ext4`.
        name: String,
        /// What kind of file system that is.
        nature: FileSystem,
        /// A directory on it.
        directory: String,
    },
    /// How fast the servers' disk confirms writes.
    SyncSpeed {
        /// Writes per second, one after another.
        per_second: f64,
        /// Whether that is faster than any medium without a protected cache.
        too_fast: bool,
    },
    /// The build of Prony.
    Build {
        /// Whether it is a debug build.
        debug: bool,
    },
    /// Known in words only: by an older version of Prony.
    Told {
        /// The check.
        id: String,
        /// What was read.
        read: String,
        /// What it does to a measurement.
        effect: String,
        /// How to fix it.
        remedy: String,
    },
}

/// Kinds of file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileSystem {
    /// It writes pages over the old ones, on a local disk.
    Local,
    /// It is in memory.
    Memory,
    /// It crosses a network or another process.
    Network,
    /// It writes changed pages to new places.
    Copying,
}

impl Reading {
    /// Stable name of its check.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Governor { .. } => "governor",
            Self::Turbo { .. } => "turbo",
            Self::OtherLoad { .. } => "other-load",
            Self::Steal { .. } => "steal",
            Self::Processors { .. } => "processors",
            Self::Limits { .. } => "limits",
            Self::ClockSource { .. } => "clock-source",
            Self::Virtualisation { .. } => "virtualisation",
            Self::HugePages { .. } => "huge-pages",
            Self::Swap { .. } => "swap",
            Self::Numa { .. } => "numa",
            Self::OpenFiles { .. } => "open-files",
            Self::Ports { .. } => "ports",
            Self::Backlog { .. } => "backlog",
            Self::DiskSpace { .. } => "disk-space",
            Self::FileSystem { .. } => "file-system",
            Self::SyncSpeed { .. } => "sync-speed",
            Self::Build { .. } => "build",
            Self::Told { id, .. } => id,
        }
    }

    /// As a store has it: records of older versions have words only.
    pub(crate) fn from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Whole(Reading),
            Words { id: String, read: String, effect: String, remedy: String },
        }
        Ok(match Stored::deserialize(stored)? {
            Stored::Whole(reading) => reading,
            Stored::Words { id, read, effect, remedy } => Self::Told { id, read, effect, remedy },
        })
    }
}
