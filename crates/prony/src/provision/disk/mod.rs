//! Files as provisioning needs them: where they lie, private to the user, locked between processes, and
//! whether there is room for them.

pub(in crate::provision) mod files;
pub(in crate::provision) mod lock;
pub(in crate::provision) mod places;
pub(in crate::provision) mod space;
