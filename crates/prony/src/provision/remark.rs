//! What is worth saying of a server before a load. Values only: a report's words make sentences of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something about a server that does not stop a load but may disturb it, with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    /// Its thread pool may run out of threads.
    ThreadPool {
        /// Most that it has.
        threads: u64,
        /// Connections of the load.
        connections: u32,
    },
    /// Which process it is, and so what it costs, is unknown.
    Process(NoProcess),
    /// Another run has settings of its own in force.
    Settings(Holder),
    /// The same, while trials run there.
    SettingsMeanwhile(Holder),
    /// The data that it started on were not written out: their server had not stopped in order.
    Recovered,
    /// Its data are those of an older server, upgraded in its copy.
    Upgraded {
        /// Version of the copy.
        from: String,
        /// Its own.
        to: String,
    },
    /// The same, but its system tables are as they were.
    NotUpgraded {
        /// Version of the copy.
        from: String,
        /// Its own.
        to: String,
    },
}

/// Another run, by its connection to a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// The server's number of the connection.
    pub connection: u64,
    /// Its account, where the server says it.
    pub account: Option<String>,
}

/// As errors name it.
impl std::fmt::Display for Holder {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "another run (connection {}", self.connection)?;
        self.account.iter().try_for_each(|account| write!(to, " of {account}"))?;
        to.write_str(")")
    }
}

/// Why the process of a server is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoProcess {
    /// Its address is not of this machine.
    Elsewhere,
    /// What answers here is no server.
    Behind,
    /// Files of other users' processes cannot be read.
    Hidden,
}

impl NoProcess {
    /// What to say about it; `None`: on another machine, it goes without saying.
    #[must_use]
    pub fn remark(self) -> Option<Remark> {
        (self != Self::Elsewhere).then_some(Remark::Process(self))
    }
}
