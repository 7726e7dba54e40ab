//! Where a server's data come from: templates with nothing but the system tables, copies of somebody's
//! data, snapshots to restore from, and the data cache.

pub(in crate::provision) mod cache;
pub(in crate::provision) mod copies;
pub(in crate::provision) mod snapshot;
pub(in crate::provision) mod templates;
