//! What rules must know about servers: whether two are the same but for one thing. Conditions are compared by
//! their meaning, from what the servers ran with.

use crate::{
    fairness::{self, Known},
    plan::{Limits, Replication, ServerPlan, Topology},
    provision,
    store::RunRecord,
};
use std::collections::{BTreeMap, BTreeSet};

/// Conditions that determine what a crash loses.
const OF_SAFETY: [&str; 2] = ["flush_at_commit", "sync_binlog"];
const THREAD_POOL: &str = "thread_pool";
/// Conditions that are not settings.
const NO_SETTINGS: [&str; 5] = ["build", "data_form", "data_size", "index_size", "version_age"];

/// What is known of each server, in the plan's order.
pub(super) struct Traits(Vec<Trait>);

/// What is known of a server.
struct Trait {
    product: String,
    /// `10.11.6-MariaDB`; empty: unknown.
    version: String,
    conditions: BTreeMap<String, String>,
    /// Settings of the study that are not conditions.
    others: BTreeMap<String, String>,
    topology: Topology,
    limits: Limits,
}

impl Traits {
    pub(super) fn of(record: &RunRecord) -> Self {
        let servers = &record.plan.servers;
        let known: Vec<Known<'_>> = (0..servers.len())
            .map(|number| {
                let description = record.servers.get(&number).map(|server| &server.description);
                Known { description, ..Known::default() }
            })
            .collect();
        let conditions = fairness::conditions(servers, &known);
        let of_server = |(number, server): (usize, &ServerPlan)| {
            let is_setting = |one: &&fairness::Condition| !NO_SETTINGS.contains(&one.key.as_str());
            let value = |one: &fairness::Condition| Some((one.key.clone(), one.values[number].clone()?));
            let description = known[number].description;
            let is_other = |name: &str| !provision::conditions().iter().any(|one| one.is_set_by(name));
            let others = server.settings.iter().filter(|(name, _)| is_other(name));
            Trait {
                product: description.map(|one| one.product.clone()).unwrap_or_default(),
                version: description.map(|one| one.version.clone()).unwrap_or_default(),
                conditions: conditions.iter().filter(is_setting).filter_map(value).collect(),
                others: others.map(|(name, value)| (name.clone(), value.clone())).collect(),
                topology: server.topology,
                limits: server.limits.clone(),
            }
        };
        Self(servers.iter().enumerate().map(of_server).collect())
    }

    /// Conditions and settings in which two servers differ, as far as both are known.
    pub(super) fn differences(&self, one: usize, other: usize) -> BTreeSet<String> {
        let (one, other) = (&self.0[one], &self.0[other]);
        let differs = |(key, value): &(&String, &String)| {
            other.conditions.get(*key).is_some_and(|of_other| of_other != *value)
        };
        let conditions = one.conditions.iter().filter(differs).map(|(key, _)| key.clone());
        let names = one.others.keys().chain(other.others.keys());
        let settings = names.filter(|name| one.others.get(*name) != other.others.get(*name)).cloned();
        conditions.chain(settings).collect()
    }

    /// Whether two servers are of one product, and known.
    pub(super) fn is_same_product(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.0[one], &self.0[other]);
        !one.version.is_empty() && !other.version.is_empty() && one.product == other.product
    }

    pub(super) fn is_same_version(&self, one: usize, other: usize) -> bool {
        self.is_same_product(one, other) && self.version(one) == self.version(other)
    }

    /// The numbers of its version, for sorting; empty: unknown.
    pub(super) fn version(&self, server: usize) -> Vec<u32> {
        let numbers = self.0[server].version.split(['.', '-', '+', '~']);
        numbers.map_while(|part| part.parse().ok()).collect()
    }

    /// Whether both are known to keep commits equally safe: the same number of servers, the same replication,
    /// the same syncs.
    pub(super) fn is_as_safe(&self, one: usize, other: usize) -> bool {
        let differences = self.differences(one, other);
        let is_known = |server: usize| self.0[server].conditions.contains_key(OF_SAFETY[0]);
        is_known(one)
            && is_known(other)
            && self.0[one].topology == self.0[other].topology
            && !OF_SAFETY.iter().any(|key| differences.contains(*key))
    }

    pub(super) fn has_same_limits(&self, one: usize, other: usize) -> bool {
        self.0[one].limits == self.0[other].limits
    }

    /// Whether two differ in the thread pool, which the first one has, and in nothing else.
    pub(super) fn differ_in_pool(&self, one: usize, other: usize) -> bool {
        let pool = |server: usize| self.0[server].conditions.get(THREAD_POOL).map(String::as_str);
        let is_of_pool = |name: &String| name.starts_with(THREAD_POOL);
        (pool(one), pool(other)) == (Some("on"), Some("off"))
            && self.is_same_version(one, other)
            && self.is_as_safe(one, other)
            && self.has_same_limits(one, other)
            && self.differences(one, other).iter().all(is_of_pool)
    }

    pub(super) fn has_same_pool(&self, one: usize, other: usize) -> bool {
        !self.differences(one, other).contains(THREAD_POOL)
    }

    /// Whether the first is safer because of what it waits for: for the disk, or for a replica, where the
    /// other does not, with everything else equal.
    pub(super) fn waits_for_more(&self, one: usize, other: usize) -> bool {
        let differences = self.differences(one, other);
        let is_of_safety = |name: &String| OF_SAFETY.contains(&name.as_str());
        if !self.is_same_version(one, other) || !self.has_same_limits(one, other) {
            return false;
        }
        let (safe, fast) = (&self.0[one], &self.0[other]);
        match (safe.topology, fast.topology) {
            (Topology::Single, Topology::Single) => {
                let flush = |one: &Trait| one.conditions.get(OF_SAFETY[0]).cloned();
                let is_safer = flush(safe).as_deref() == Some("1") && flush(fast).is_some_and(|at| at != "1");
                is_safer && differences.iter().all(is_of_safety)
            }
            (
                Topology::Replicas { count, replication: Replication::SemiSynchronous { .. } },
                Topology::Replicas { count: of_other, replication: Replication::Asynchronous },
            ) => count == of_other && differences.is_empty(),
            _ => false,
        }
    }

    /// Whether the crash losses of the two can be compared: both are the same program, alone or in a group.
    pub(super) fn can_crash_alike(&self, one: usize, other: usize) -> bool {
        let is_group = |server: usize| self.0[server].topology.servers() > 1;
        self.is_same_version(one, other)
            && self.has_same_limits(one, other)
            && self.has_same_pool(one, other)
            && is_group(one) == is_group(other)
    }
}
