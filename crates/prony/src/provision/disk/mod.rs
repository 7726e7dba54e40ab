//! Files as provisioning needs them: private to the user, locked between processes, and only where there is
//! room.

pub(in crate::provision) mod files;
pub(in crate::provision) mod lock;
pub(in crate::provision) mod space;
