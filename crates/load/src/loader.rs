//! The port through which a load is started, wherever it is carried out: in this process ([`crate::Here`]),
//! in others beside it ([`crate::Parts`]), or, as another implementation, on other machines. Who starts a
//! load knows this and no more.

use crate::{Outcome, Sample, Spec, error::Error, stop::Stop};

/// What happens while a load runs.
#[derive(Debug)]
pub enum Progress {
    /// These processes, and not this one, carry it out.
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
}

/// What whoever is told of a load answers: whether the warm-up, whose length is then the longest, may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// It goes on.
    Goes,
    /// It has done its work: the measurement begins with one of the next seconds, of all workers at the same
    /// time. What is answered later is of no matter.
    Done,
}

/// Carries loads out.
pub trait Loader {
    /// Carries a load out and tells of it, with a warm-up that ends as soon as `tell` says so. Returns when
    /// the load is over, every connection is closed and nothing of it runs any more.
    ///
    /// # Errors
    /// Where it could not begin, or where it is not known what a part of it did. What goes wrong at the
    /// server once it has begun is in the [`Outcome`].
    fn run_until_warm(
        &self,
        spec: &Spec,
        stop: &Stop,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> Result<Outcome, Error>;

    /// Most worker threads in each process ([`Spec::workers`]) that may be of use to a load.
    fn workers_max(&self, spec: &Spec) -> u32;

    /// Carries a load out with its whole warm-up.
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
