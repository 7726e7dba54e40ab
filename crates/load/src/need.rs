//! How many workers a load needs. One serves tens of thousands of statements a second, and on a machine that
//! client and server share each further one takes time from the server and makes the kernel switch more
//! often. So there is one more only where one is not enough: found out by offering the load for a moment,
//! before it is measured.

use crate::{
    error::Error,
    loader::Loader,
    sample::{End, Outcome},
    spec::{Begin, Spec, Stream},
    stop::Stop,
};
use std::time::Duration;

/// How long a number of workers is looked at, at most, after a quarter of that.
const LOOK: Duration = Duration::from_secs(1);
/// Share of a processor that the busiest worker may use: what it has to do comes in bunches, and a thread
/// that is busy for half of the time lets a reply wait for half of what it takes to handle one.
const BUSY_MAX: f64 = 0.6;
/// Above this a worker has most likely more to do than it can, and what it could do is not known.
const BUSY_FULL: f64 = 0.9;
/// Share of a processor that each worker should use when there are more of them.
const BUSY_WANTED: f64 = 0.45;

/// How many workers a load needs in each process of `loader`. Where it is not told ([`Spec::workers`]), it is
/// offered for at most a second with one, and as long as one of them is busy for most of the time with more,
/// up to one for each processor. Limits are not heeded in this, and values are drawn that the load itself
/// does not draw. A load that has no warm-up is to do nothing that does not count: it gets the most.
///
/// # Errors
/// Where the load cannot begin, or is stopped.
pub fn workers_needed(loader: &dyn Loader, spec: &Spec, stop: &Stop) -> Result<u32, Error> {
    let most = loader.workers_max(spec);
    if let Some(workers) = spec.workers {
        return Ok(workers);
    }
    if spec.warm_up.is_zero() {
        return Ok(most);
    }
    let at_once = |stream: &Stream| Stream { begin: Begin::Together, limit: None, ..stream.clone() };
    let look = LOOK.min(spec.warm_up);
    let mut trial = Spec {
        seed: !spec.seed,
        warm_up: look / 4,
        interval: look,
        streams: spec.streams.iter().map(at_once).collect(),
        ..spec.clone()
    };
    let mut workers = 1;
    while workers < most {
        trial.workers = Some(workers);
        let outcome = loader.run(&trial, stop, &mut |_| ())?;
        match outcome.end {
            End::Interrupted => return Err(Error::Interrupted),
            // the load itself will say why
            End::Failed(_) => return Ok(workers),
            End::Completed => {}
        }
        match more(workers, busiest(&outcome), most) {
            Some(enough) => workers = enough,
            None => return Ok(workers),
        }
    }
    Ok(most)
}

/// Share of a processor that the busiest worker used.
fn busiest(outcome: &Outcome) -> f64 {
    let most = outcome.client.workers.iter().max().copied().unwrap_or_default();
    most.as_secs_f64() / outcome.interval.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// How many to try where the busiest of `workers` was busy for this share of the time; `None`: they do.
fn more(workers: u32, busy: f64, most: u32) -> Option<u32> {
    if busy <= BUSY_MAX {
        return None;
    }
    let wanted = if busy > BUSY_FULL {
        workers.saturating_mul(4)
    } else {
        (f64::from(workers) * busy / BUSY_WANTED).ceil() as u32
    };
    Some(wanted.max(workers + 1).min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_more_only_where_one_is_busy_and_never_more_than_the_most() {
        assert_eq!(more(1, 0.1, 16), None);
        assert_eq!(more(1, 0.6, 16), None);
        assert_eq!(more(1, 0.7, 16), Some(2));
        assert_eq!(more(4, 0.8, 16), Some(8));
        // what a full one could do is not known: large steps, so that few are needed
        assert_eq!((more(1, 0.99, 16), more(4, 0.99, 16), more(4, 0.99, 6)), (Some(4), Some(16), Some(6)));
        assert_eq!(more(1, 1.0, 2), Some(2));
    }
}
