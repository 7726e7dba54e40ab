//! Where a server's data come from: templates with nothing but the system tables, snapshots to restore from,
//! and the data cache.

pub(in crate::provision) mod cache;
pub(in crate::provision) mod snapshot;
pub(in crate::provision) mod templates;
