//! How many workers a load needs. One serves tens of thousands of statements per second. On a machine that
//! client and server share, each further worker takes time from the server and makes the kernel switch more
//! often. So there is another worker only where one is not enough and more do not make the server answer
//! less. That is found out by running the load for a moment before it is measured.

use crate::{
    error::Error,
    loader::Loader,
    sample::{End, Outcome},
    spec::{Begin, Spec, Stream},
    stop::Stop,
};
use std::time::Duration;

/// How long each number of workers is tried, at most, after a quarter of that time.
const LOOK: Duration = Duration::from_secs(1);
/// Share of a processor that the busiest worker may use: its work comes in bunches, and a thread that is busy
/// half of the time makes a reply wait for half of the time that it takes to handle one.
const BUSY_MAX: f64 = 0.6;
/// Above this share, a worker most likely has more to do than it can, and how much it could do is unknown.
const BUSY_FULL: f64 = 0.9;
/// Share of a processor that each worker should use when there are more of them.
const BUSY_WANTED: f64 = 0.45;
/// More workers must complete at least this share of what fewer did. Less means that they take time from the
/// server; a little less is within the noise of two tries.
const AS_MUCH: f64 = 0.97;

/// How many workers a load needs in each process of `loader`. Where the spec does not say
/// ([`Spec::workers`]), the load runs for at most a second with one worker and, as long as one of them is
/// busy most of the time, with more, up to one per processor; a larger number that completes less is not
/// taken. This ignores limits, and draws values that the load itself does not draw. A load without a warm-up
/// must do nothing that does not count: it gets the most workers.
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
    choose(most, &mut |workers| {
        trial.workers = Some(workers);
        let outcome = loader.run(&trial, stop, &mut |_| ())?;
        match outcome.end {
            End::Interrupted => Err(Error::Interrupted),
            // the load itself will say why
            End::Failed(_) => Ok(None),
            End::Completed => Ok(Some(Look { answered: answered(&outcome), busy: busiest(&outcome) })),
        }
    })
}

/// What a number of workers did.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Replies per second.
    answered: f64,
    /// Share of a processor that the busiest of them used.
    busy: f64,
}

/// How many workers, at most `most`, judging by what `look` sees of a number of them; it sees nothing where
/// the load fails.
fn choose(mut most: u32, look: &mut dyn FnMut(u32) -> Result<Option<Look>, Error>) -> Result<u32, Error> {
    let (mut workers, mut answered_by_fewer) = (1_u32, 0.0);
    let mut wanted = Some(1).filter(|_| most > 1);
    while let Some(count) = wanted {
        let Some(seen) = look(count)? else { break };
        if seen.answered < answered_by_fewer * AS_MUCH {
            most = workers.midpoint(count); // less than `count`, so that this ends
            wanted = Some(most).filter(|&most| most > workers);
        } else {
            (workers, answered_by_fewer) = (count, seen.answered);
            wanted = more(workers, seen.busy, most);
        }
    }
    Ok(workers)
}

/// Replies per second of all streams.
fn answered(outcome: &Outcome) -> f64 {
    let replies = outcome.streams.iter().flat_map(|stream| &stream.statements).map(|tally| tally.count);
    replies.sum::<u64>() as f64 / outcome.interval.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Share of a processor that the busiest worker used.
fn busiest(outcome: &Outcome) -> f64 {
    let most = outcome.client.workers.iter().max().copied().unwrap_or_default();
    most.as_secs_f64() / outcome.interval.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// How many to try where the busiest of `workers` was busy for this share of the time; `None`: they suffice.
fn more(workers: u32, busy: f64, most: u32) -> Option<u32> {
    if busy <= BUSY_MAX || workers >= most {
        return None;
    }
    let wanted = if busy > BUSY_FULL {
        workers.saturating_mul(2)
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
        // what a full one could do is not known
        assert_eq!((more(1, 0.99, 16), more(4, 0.99, 16), more(4, 0.99, 6)), (Some(2), Some(8), Some(6)));
        assert_eq!((more(1, 1.0, 2), more(2, 1.0, 2)), (Some(2), None));
    }

    /// What is chosen, and the looks that it took, where so many workers answer so much and are so busy.
    fn needed(most: u32, does: fn(u32) -> (u64, f64)) -> (u32, Vec<u32>) {
        let mut looks = Vec::new();
        let chosen = choose(most, &mut |workers| {
            looks.push(workers);
            let (answered, busy) = does(workers);
            Ok(Some(Look { answered: answered as f64, busy }))
        });
        (chosen.expect("no look fails"), looks)
    }

    #[test]
    fn workers_that_take_time_from_the_server_are_not_taken() {
        // two processors: a second worker halves what the server does
        assert_eq!(needed(2, |n| (200_000 / u64::from(n), 0.9)), (1, vec![1, 2]));
        // a little less is no less: two looks are never quite the same
        assert_eq!(needed(2, |n| (100_000 - 1_000 * u64::from(n), 0.9)), (2, vec![1, 2]));
        // a client of its own: each adds until the server is the limit
        let own = |n: u32| (u64::from(n.min(8)) * 100_000, if n < 8 { 0.99 } else { 0.5 });
        assert_eq!(needed(16, own), (8, vec![1, 2, 4, 8]));
        // eight processors of which the server wants six
        let shared = |n: u32| (u64::from(n.min(2)) * 100_000 - u64::from(n) * 20_000, 0.95);
        assert_eq!(needed(8, shared), (2, vec![1, 2, 4, 3]));
        assert_eq!(needed(1, |_| (100_000, 1.0)), (1, Vec::new()), "there is no choice to make");
    }
}
