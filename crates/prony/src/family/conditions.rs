//! The conditions under which servers run, as far as they affect a comparison: how each is read from a
//! server's variables. Which conditions there are is part of the words of settings.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A server's variables by name.
pub type Variables = BTreeMap<String, String>;

/// How a condition is read from a server's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// As the server says it.
    Text,
    /// On or off.
    Switch,
    /// On or off; off where a server does not have it.
    SwitchOrOff,
    /// Bytes.
    Size,
    /// Size of a page, where a server that does not say it has no other.
    PageSize,
    /// As the server says it, where it writes a binary log.
    WithBinlog,
    /// Whether there is a binary log, which servers also name by its file.
    Binlog,
    /// One variable in new servers, files and their number in old ones.
    RedoCapacity,
    /// How data files are written; old servers say nothing of their default.
    FlushMethod,
    /// Its size, unless it is off.
    QueryCache,
    /// Whether threads are shared.
    ThreadPool,
}

/// The series of a product.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Which product.
    pub product: String,
    /// The year in which each series was first fit for production.
    pub years: BTreeMap<String, u32>,
}
