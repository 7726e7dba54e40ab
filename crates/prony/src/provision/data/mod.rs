//! What a server's data come from: templates with nothing but the system tables, snapshots to put back, and
//! the cache of loaded data directories.

pub(in crate::provision) mod cache;
pub(in crate::provision) mod snapshot;
pub(in crate::provision) mod templates;
