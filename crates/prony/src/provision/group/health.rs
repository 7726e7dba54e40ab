//! What servers say about their replication: whether commits still wait for replicas, and whether all members
//! are still there.

use super::{Group, galera, replication, words::Words};
use crate::{
    plan::{Replication, Topology},
    provision::server::Server,
};
use load::{
    client::{self, Connection},
    spec::Target,
};
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

/// Asks the servers of a group, without holding them.
#[derive(Debug, Clone)]
pub struct Watch {
    topology: Topology,
    /// Of each server; the words of those that replicate are known.
    servers: Vec<(Target, Option<Words>)>,
}

impl Watch {
    pub(super) fn of(group: &Group) -> Self {
        let server = |server: &Server| (server.target().clone(), server.software().map(Words::of));
        Self { topology: group.topology(), servers: group.servers().map(server).collect() }
    }

    /// What the servers say about their replication since each was started. `None` for a single server.
    ///
    /// # Errors
    /// Where the primary does not answer; a member that does not is a [`Fault`].
    pub fn health(&self) -> Result<Option<Health>, client::Error> {
        let (Some((primary, words)), members) = (self.servers.first(), &self.servers[1..]) else {
            return Ok(None);
        };
        match self.topology {
            Topology::Single => Ok(None),
            Topology::Replicas { replication, .. } => {
                let semi_sync = match (replication, words) {
                    (Replication::SemiSynchronous { .. }, Some(words)) => {
                        let status =
                            replication::semi_sync_status(&mut open(primary)?, words.semi_sync_primary())?;
                        Some(SemiSync::of(&status))
                    }
                    _ => None,
                };
                Ok(Some(Health { semi_sync, cluster: None, faults: faults(members, of_replica) }))
            }
            Topology::Galera { .. } => {
                let cluster = Some(galera::status(&mut open(primary)?)?);
                Ok(Some(Health { semi_sync: None, cluster, faults: faults(members, of_node) }))
            }
        }
    }
}

fn open(target: &Target) -> Result<Connection, client::Error> {
    let mut connection = Connection::open(target, super::LOGIN_LIMIT)?;
    connection.set_timeout(Some(super::LOGIN_LIMIT));
    Ok(connection)
}

/// What is wrong with each member, as `find` finds it.
fn faults(
    members: &[(Target, Option<Words>)],
    find: fn(&mut Connection, &Target, Option<Words>) -> Option<String>,
) -> Vec<Fault> {
    let reason = |(target, words): &(Target, Option<Words>)| match open(target) {
        Err(error) => Some(error.to_string()),
        Ok(mut connection) => find(&mut connection, target, *words),
    };
    let reasons = (1..).zip(members.iter().map(reason));
    reasons.filter_map(|(server, reason)| reason.map(|reason| Fault { server, reason })).collect()
}

fn of_replica(connection: &mut Connection, target: &Target, words: Option<Words>) -> Option<String> {
    match replication::State::of(connection, target, words?) {
        Ok(state) => state.failure(),
        Err(error) => Some(error.to_string()),
    }
}

fn of_node(connection: &mut Connection, _: &Target, _: Option<Words>) -> Option<String> {
    match galera::status(connection) {
        Err(error) => Some(error.to_string()),
        Ok(state) => (!state.is_synced).then(|| "it is not synced".to_owned()),
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
