//! The load engine: offers a load to a server and measures every reply.
//!
//! A [`Spec`] goes in, [`Sample`]s come out once a second, an [`Outcome`] at the end. All are plain serde
//! values, so that an engine on another host can be given the same [`Spec`] and its samples merged exactly.
//!
//! This is the only crate with sockets, threads and (in [`io`]) unsafe code. It does not know who asked: no
//! study, no store, no files, no printing.

mod arrival;
mod bench;
mod check;
pub mod client;
mod clock;
mod compose;
mod connection;
mod engine;
mod execute;
mod gather;
pub mod histogram;
pub mod io;
mod line;
pub mod lock;
mod need;
pub mod null;
mod outage;
mod packed;
mod program;
pub mod random;
mod record;
pub mod relay;
pub mod sample;
mod share;
mod socket;
pub mod spec;
pub mod tls;
mod transport;
mod worker;

pub use engine::{Error, Progress, Stop, WarmUp, run, run_until_warm};
pub use histogram::Histogram;
pub use need::workers_needed;
pub use program::{Error as ProgramError, statements_prepared};
pub use sample::{Outcome, Sample};
pub use spec::Spec;
