//! `[audit]`: what a crash costs, measured after the trials.

use super::{
    Study, Topology,
    keys::{Key, Kind, Misfit, Put, key, read_into, section},
    kinds::{Count, DAY_US, Time, Words},
    mistake::Collector,
    tree::{Node, Table, Value},
    wrong::Wrong,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// Servers crash while connections write to them; then every acknowledged commit is looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Connections that write. Each inserts one row after another, every row in its own commit.
    pub writers: u32,
    /// How long they write before the server is killed.
    pub length: Duration,
    /// How often each server is killed, in each way.
    pub crashes: u32,
    /// In which ways.
    #[serde(default = "kill_alone")]
    pub kinds: Vec<CrashKind>,
}

/// What happens to a primary.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CrashKind {
    /// Its process is killed, as by `kill -9`.
    #[default]
    Kill,
    /// Its network is cut: nothing reaches it, and it reaches nothing.
    Network,
    /// The power is lost, and with it what was not synced.
    Power,
}

impl CrashKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Kill, Self::Network, Self::Power];

    /// Whether the crash tells anything about a server: cutting the network of a single server loses nothing,
    /// and among several servers the successor keeps its power.
    #[must_use]
    pub fn is_of(self, topology: Topology) -> bool {
        match self {
            Self::Kill => true,
            Self::Network => topology.servers() > 1,
            Self::Power => topology.servers() == 1,
        }
    }
}

fn kill_alone() -> Vec<CrashKind> {
    vec![CrashKind::Kill]
}

/// One word or a list of them.
struct Kinds;

/// As they are written.
const KINDS: Words<CrashKind> =
    Words(&[("kill", CrashKind::Kill), ("network", CrashKind::Network), ("power", CrashKind::Power)]);

impl Kind for Kinds {
    type Value = Vec<CrashKind>;

    fn read(&self, node: &Node) -> Result<Vec<CrashKind>, Misfit> {
        let Value::Array(nodes) = &node.value else { return KINDS.read(node).map(|kind| vec![kind]) };
        let wanted = || Wrong::Expected("\"kill\", \"network\" and \"power\", each once");
        let mut kinds: Vec<CrashKind> = nodes
            .iter()
            .map(|node| KINDS.read(node).map_err(|_| Misfit::List(wanted())))
            .collect::<Result<_, _>>()?;
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() || kinds.len() < nodes.len() { Err(Misfit::List(wanted())) } else { Ok(kinds) }
    }

    fn schema(&self) -> serde_json::Value {
        let kind = KINDS.schema();
        json!({ "anyOf": [kind, { "type": "array", "items": kind, "minItems": 1, "uniqueItems": true }] })
    }
}

impl Default for Audit {
    fn default() -> Self {
        Self { writers: 16, length: Duration::from_secs(2), crashes: 10, kinds: kill_alone() }
    }
}

/// `[audit]`
pub(super) const AUDIT: &[Key<Audit>] = &[
    key(
        "writers",
        &Put(Count(1, 1000), |audit: &mut Audit, value| audit.writers = value),
        Some("16"),
        "",
        "Connections that write. Each inserts one row after another, every row in its own commit.",
    ),
    key(
        "length",
        &Put(Time(100_000, DAY_US), |audit: &mut Audit, value| audit.length = value),
        Some(r#""2s""#),
        "",
        "How long they write before the server is killed.",
    ),
    key(
        "crashes",
        &Put(Count(1, 10_000), |audit: &mut Audit, value| audit.crashes = value),
        Some("10"),
        "",
        "How often each server is killed, in each way.",
    ),
    key(
        "kinds",
        &Put(Kinds, |audit: &mut Audit, kinds| audit.kinds = kinds),
        Some(r#"["kill"]"#),
        "",
        "In which ways: \"kill\" (the process, as by kill -9), \"network\" (of servers with replicas or \
         further nodes: nothing reaches the primary any more), \"power\" (of a server that is alone: what \
         was not synced is gone; root and loop devices).",
    ),
];

/// Reads the section; without it there is no audit.
pub(super) fn read(root: &Table, study: &mut Study, mistakes: &mut Collector) {
    let Some(table) = section(root.get("audit"), "audit", mistakes) else { return };
    let mut audit = Audit::default();
    read_into(table, AUDIT, &[], &mut audit, mistakes);
    study.audit = Some(audit);
}
