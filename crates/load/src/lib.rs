//! The load engine: offers a load to a server and measures every reply.
//!
//! A [`Spec`] goes in, [`Sample`]s come out once a second, an [`Outcome`] at the end. All are plain serde values, so
//! that an engine on another host can be given the same [`Spec`] and its samples merged exactly.
//!
//! This is the only crate with sockets, threads and (in [`io`]) unsafe code. It does not know who asked: no study, no
//! store, no files, no printing.

pub mod client;
pub mod histogram;
pub mod random;
pub mod sample;
pub mod spec;
pub mod tls;

pub use histogram::Histogram;
pub use sample::{Outcome, Sample};
pub use spec::Spec;
