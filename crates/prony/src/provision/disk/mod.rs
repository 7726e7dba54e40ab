//! Files as provisioning needs them: private to the user, locked between processes, and whether there is room
//! for them.

pub(in crate::provision) mod files;
pub(in crate::provision) mod lock;
pub(in crate::provision) mod space;
