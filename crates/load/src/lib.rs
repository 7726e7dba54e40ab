//! The load engine: offers a load to a server and measures every reply.
//!
//! A [`Spec`] goes in, [`Sample`]s come out once a second, an [`Outcome`] at the end. All are plain serde
//! values; a [`Loader`] carries the load out: [`Here`], in this process, or [`Parts`], in several others,
//! on this machine or at an [`agent`], whose seconds are merged exactly.
//!
//! This is the only crate with sockets, threads and (in [`io`]) unsafe code. It does not know who asked: no
//! study, no store, no printing; the only files that it reads are those that a target names.

pub mod agent;
mod arrival;
mod bench;
mod channel;
mod check;
pub mod client;
mod clock;
mod clocks;
mod compose;
mod conduct;
mod connection;
mod control;
mod deal;
mod engine;
mod error;
mod example;
mod execute;
mod frame;
mod gather;
pub mod histogram;
mod host;
pub mod https;
pub mod hub;
pub mod io;
mod line;
mod loader;
pub mod lock;
mod login;
mod loss;
mod need;
pub mod null;
mod opening;
mod orders;
mod outage;
mod packed;
pub mod part;
mod parts;
mod pin;
pub mod play;
mod program;
pub mod random;
mod record;
pub mod relay;
mod rows;
pub mod sample;
pub mod secrets;
mod share;
mod socket;
pub mod spec;
mod stop;
pub mod tls;
mod transport;
mod watch;
mod worker;

pub use check::Mistake;
pub use clocks::Offset;
pub use engine::Here;
pub use error::{Error, Forbidden, PartFailure};
pub use example::{Example, examples};
pub use histogram::Histogram;
pub use host::Seen;
pub use loader::{Loader, PartNow, Progress, WarmUp};
pub use need::workers_needed;
pub use parts::{Link, Parts};
pub use pin::Pinned;
pub use program::{Error as ProgramError, statements_prepared};
pub use sample::{Outcome, Sample};
pub use spec::Spec;
pub use stop::Stop;

/// Carries a load out in this process; see [`Loader::run`].
///
/// # Errors
/// As [`Loader::run`].
pub fn run(spec: &Spec, stop: &Stop, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, Error> {
    Here::default().run(spec, stop, tell)
}
