//! What servers say of their working together: whether commits still wait for replicas, whether all are still there.

use super::{Group, galera, replication};
use crate::plan::{Replication, Topology};
use load::client::{self, Connection};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters since the servers were started, and what is wrong now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Of the primary, where replication is semi-synchronous.
    pub semi_sync: Option<SemiSync>,
    /// Of the first node of a cluster.
    pub cluster: Option<Cluster>,
    /// Members that do not do their work.
    pub faults: Vec<Fault>,
}

/// Semi-synchronous replication as the primary counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SemiSync {
    /// Whether commits wait for replicas now.
    pub is_on: bool,
    /// Commits that replicas acknowledged in time.
    pub acknowledged: u64,
    /// Commits that went on without: they may be on no replica.
    pub unacknowledged: u64,
    /// Times that it was given up because no replica answered in time.
    pub given_up: u64,
    /// Commits that waited.
    pub waits: u64,
    /// How long they waited together, us.
    pub wait_us: u64,
}

/// A Galera cluster as its first node sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Nodes in it now.
    pub nodes: u32,
    /// Whether the node takes writes: it is synced, in the primary component.
    pub is_synced: bool,
    /// Time that writes waited because a node could not follow (flow control), ns.
    pub paused_ns: u64,
}

/// A member that does not do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Which, as in [`Group::servers`].
    pub server: u32,
    /// What is wrong, in its own words.
    pub reason: String,
}

pub(super) fn health(group: &Group) -> Result<Option<Health>, client::Error> {
    let open = |target| Connection::open(target, super::LOGIN_LIMIT);
    match group.topology() {
        Topology::Single => Ok(None),
        Topology::Replicas { replication, .. } => {
            let semi_sync = match replication {
                Replication::Asynchronous => None,
                Replication::SemiSynchronous { .. } => {
                    let prefix = replication::words_of(group.primary()).semi_sync_primary();
                    let mut primary = open(group.primary().target())?;
                    Some(SemiSync::of(&replication::semi_sync_status(&mut primary, prefix)?))
                }
            };
            let faults = (1..).zip(group.members()).filter_map(|(server, member)| {
                let reason = match open(member.target()) {
                    Err(error) => Some(error.to_string()),
                    Ok(mut connection) => {
                        let words = replication::words_of(member);
                        match replication::State::of(&mut connection, member.target(), words) {
                            Ok(state) => state.failure(),
                            Err(error) => Some(error.to_string()),
                        }
                    }
                };
                reason.map(|reason| Fault { server, reason })
            });
            Ok(Some(Health { semi_sync, cluster: None, faults: faults.collect() }))
        }
        Topology::Galera { .. } => {
            let mut first = open(group.primary().target())?;
            let cluster = Some(galera::status(&mut first)?);
            let faults = (1..).zip(group.members()).filter_map(|(server, member)| {
                let state = open(member.target()).and_then(|mut connection| galera::status(&mut connection));
                let reason = match state {
                    Err(error) => Some(error.to_string()),
                    Ok(state) => (!state.is_synced).then(|| "it is not synced".to_owned()),
                };
                reason.map(|reason| Fault { server, reason })
            });
            Ok(Some(Health { semi_sync: None, cluster, faults: faults.collect() }))
        }
    }
}

impl SemiSync {
    fn of(status: &BTreeMap<String, String>) -> Self {
        let count = |name: &str| status.get(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        Self {
            is_on: status.get("status").is_some_and(|word| word == "ON"),
            acknowledged: count("yes_tx"),
            unacknowledged: count("no_tx"),
            given_up: count("no_times"),
            waits: count("tx_waits"),
            wait_us: count("tx_wait_time"),
        }
    }
}
