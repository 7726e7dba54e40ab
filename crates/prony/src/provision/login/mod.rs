//! The way into a server: where it is, who logs in, what it says of itself, and whether it can bear a load.

pub(in crate::provision) mod client_options;
pub(in crate::provision) mod describe;
pub(in crate::provision) mod preflight;
pub mod target;
