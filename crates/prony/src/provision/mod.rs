//! Brings servers up as a plan asks, says what they really are, and takes them down without a trace.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a server really is, as it said itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ServerDescription {
    /// Name in the plan.
    pub name: String,
    /// `mariadb`, `mysql`, or what `version_comment` suggests.
    pub product: String,
    /// `SELECT VERSION()`.
    pub version: String,
    /// `@@version_comment`, `@@version_compile_machine`, `@@version_compile_os`.
    pub build: String,
    /// How it was obtained: installed, fetched, path or address, in words.
    pub origin: String,
    /// Path of the server program, where Prony started it.
    pub program: Option<String>,
    /// Process number, where Prony started it.
    pub pid: Option<u32>,
    /// `SHOW GLOBAL VARIABLES`, all of them.
    pub variables: BTreeMap<String, String>,
    /// `SHOW GLOBAL STATUS` when it was ready.
    pub status_before: BTreeMap<String, String>,
}
