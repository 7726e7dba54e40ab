//! What is being done to a server, told while it goes on. Values only: a report's words make sentences of
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step of work that takes a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Software is downloaded.
    Fetching {
        /// Its name in the catalogue.
        name: String,
        /// How much is there; `None`: it begins.
        done_mb: Option<u64>,
        /// How much there will be; `None`: unknown.
        all_mb: Option<u64>,
    },
    /// What was downloaded is compared with the catalogue.
    Checking {
        /// Its name in the catalogue.
        name: String,
    },
    /// An empty data directory is made.
    SystemTables {
        /// The server's product and version.
        of: String,
    },
    /// A process is started.
    Starting {
        /// The server's product and version.
        of: String,
    },
    /// A server that was to stay is stopped.
    Stopping {
        /// Its name.
        name: String,
    },
    /// The server is stopped and started.
    Restarting,
    /// It has died and is started.
    Reviving,
    /// All servers that belong together are stopped and started.
    RestartingAll,
    /// The server that a crash has hit is started.
    RestartingKilled,
    /// It is stopped so that its files can be copied.
    ShuttingDown,
    /// Cached data are compared with their sums.
    CheckingData,
    /// A data directory is copied.
    Copying {
        /// How much is copied; `None`: it begins.
        done_mb: Option<u64>,
        /// How much there is.
        all_mb: u64,
    },
    /// A backup is prepared, in its copy.
    Preparing,
    /// System tables of a copy become those of the server.
    Upgrading,
    /// Data are restored.
    Restoring {
        /// How much is restored; `None`: it begins.
        done_mb: Option<u64>,
        /// How much there is.
        all_mb: u64,
    },
    /// Another Prony process does the same, which must not be done twice at a time.
    Waiting,
    /// Settings of a server that Prony did not start are recorded and changed.
    ApplyingSettings,
    /// Replicas are told whom to follow.
    ConnectingReplicas,
    /// A replica applies what it received before the crash.
    Applying,
    /// Nodes go on without one of them.
    Regrouping,
    /// Tables and indexes are read into memory.
    Reading {
        /// How much of them, per cent.
        percent: u64,
    },
    /// Pages that were in memory before are read.
    ReadingPages,
    /// Which pages are in memory is recorded.
    NotingPages,
    /// The server finishes what it has put off.
    Settling {
        /// Pages that are still to be written.
        dirty_pages: u64,
        /// Transactions whose old versions of rows are still to be purged.
        transactions: u64,
    },
    /// Clients of an audit write.
    Writing,
    /// The servers of an audit are stopped.
    Ending,
    /// A step of a replica.
    Replica {
        /// Which, from 1.
        number: u32,
        /// Of how many.
        of: u32,
        /// What is being done.
        then: Box<Self>,
    },
    /// A step of a node of a cluster.
    Node {
        /// Which, from 1.
        number: u32,
        /// Of how many.
        of: u32,
        /// What is being done.
        then: Box<Self>,
    },
    /// A step of an audit.
    Crash {
        /// Which crash, from 1.
        number: u32,
        /// Of how many.
        of: u32,
        /// What is being done.
        then: Box<Self>,
    },
}
