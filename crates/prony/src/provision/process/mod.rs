//! Processes that never outlive Prony, and how they ended.

pub mod death;
pub(in crate::provision) mod identity;
pub mod trampoline;
