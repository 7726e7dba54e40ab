//! `[audit]`: what a crash costs, found out after the trials.

use super::{
    Study,
    keys::{Key, Put, key, read_into, section},
    kinds::{Count, DAY_US, Time},
    mistake::Collector,
    tree::Table,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Servers are killed under writers, and commits that were acknowledged are looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Connections that write, each one row after the other, each its own commit.
    pub writers: u32,
    /// How long they write before the server is killed.
    pub length: Duration,
    /// How often each server is killed.
    pub crashes: u32,
}

impl Default for Audit {
    fn default() -> Self {
        Self { writers: 16, length: Duration::from_secs(2), crashes: 10 }
    }
}

/// `[audit]`
pub(super) const AUDIT: &[Key<Audit>] = &[
    key(
        "writers",
        &Put(Count(1, 1000), |audit: &mut Audit, value| audit.writers = value),
        Some("16"),
        "",
        "Connections that write, each one row after the other, each its own commit.",
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
        "How often each server is killed.",
    ),
];

/// Reads the section; without it there is no audit.
pub(super) fn read(root: &Table, study: &mut Study, mistakes: &mut Collector) {
    let Some(table) = section(root.get("audit"), "audit", mistakes) else { return };
    let mut audit = Audit::default();
    read_into(table, AUDIT, &[], &mut audit, mistakes);
    study.audit = Some(audit);
}
