//! The port through which a load is started, wherever it runs: in this process ([`crate::Here`]), in other
//! processes beside it ([`crate::Parts`]), or, with another implementation, on other machines. Whoever starts
//! a load knows this port and nothing else.

use crate::{Outcome, Sample, Spec, error::Error, host::Seen, stop::Stop};
use std::time::Duration;

/// What happens while a load runs.
#[derive(Debug)]
pub enum Progress {
    /// These processes run it, not this one.
    Processes(Vec<u32>),
    /// So many connections are open, of so many.
    Opening {
        /// Open.
        opened: u32,
        /// Asked for.
        wanted: u32,
    },
    /// All connections are open; the load begins now.
    Started,
    /// A second of one stream.
    Sample(Box<Sample>),
    /// What one of several load hosts sees of itself, about once a second from before the load until its end.
    Seen(PartNow),
}

/// What is known of one of several load hosts, when it has just told what it sees of itself.
#[derive(Debug, Clone)]
pub struct PartNow {
    /// The part of the load that it carries out: `agent a:7433`.
    pub part: String,
    /// Connections that are its own.
    pub connections: u32,
    /// How long ago it looked.
    pub ago: Duration,
    /// How long ago its last second of results came, or the load began; 0 before that. A second and a little
    /// is as it should be.
    pub behind: Duration,
    /// What it sees.
    pub seen: Seen,
}

/// The answer to each report of a load: whether the warm-up, whose length is then the longest possible, may
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// It goes on.
    Goes,
    /// It may end: the measurement begins with one of the next seconds, for all workers at the same time.
    /// Later answers do not matter.
    Done,
}

/// Carries loads out.
pub trait Loader {
    /// Runs a load and reports on it, with a warm-up that ends as soon as `tell` says so. Returns when the
    /// load is over, every connection is closed and nothing of it runs any more.
    ///
    /// # Errors
    /// Where it could not begin, or where it is unknown what one of its parts did. What goes wrong at the
    /// server after the beginning is in the [`Outcome`].
    fn run_until_warm(
        &self,
        spec: &Spec,
        stop: &Stop,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> Result<Outcome, Error>;

    /// Most worker threads in each process ([`Spec::workers`]) that a load can use.
    fn workers_max(&self, spec: &Spec) -> u32;

    /// Runs a load with its whole warm-up.
    ///
    /// # Errors
    /// As [`Loader::run_until_warm`].
    fn run(&self, spec: &Spec, stop: &Stop, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, Error> {
        self.run_until_warm(spec, stop, &mut |progress| {
            tell(progress);
            WarmUp::Goes
        })
    }
}
