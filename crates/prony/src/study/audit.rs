//! `[audit]`: what a crash costs, found out after the trials.

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
