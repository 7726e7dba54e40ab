//! Times without success. Each worker notes its own. A stream has an outage where all of its workers have one
//! at the same time, from the first failure on; without a failure, it stands still.

use crate::{
    clock::Moment,
    sample::{Outage, Standstill},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A silence is noted from this length on, even where nothing failed in it: another worker of the stream may
/// have had the failure. Shorter ones count as errors and slow replies; a busy client alone can cause some of
/// 10 ms.
const SILENCE_MIN_NS: u64 = 100_000_000;
/// Most silences that a worker keeps of one stream: the longest ones are kept.
const KEPT_MAX: usize = 512;

/// A time without success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Silence {
    from: Moment,
    until: Moment,
    /// The first failure in it.
    failed: Option<Moment>,
    /// Whether a success ended it.
    recovered: bool,
}

/// Notes the silences of one worker's share of a stream.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    success_at: Moment,
    failed: Option<Moment>,
    kept: Vec<Silence>,
}

impl Watch {
    /// The stream begins.
    pub(crate) fn begin(&mut self, now: Moment) {
        self.success_at = now;
    }

    #[inline]
    pub(crate) fn success(&mut self, now: Moment) {
        if self.failed.is_some() || now.since(self.success_at) >= SILENCE_MIN_NS {
            self.note(now, true);
        }
        self.success_at = now;
    }

    pub(crate) fn failure(&mut self, now: Moment) {
        self.failed.get_or_insert(now);
    }

    /// The stream's end: the silence that lasts until then.
    pub(crate) fn finish(mut self, end: Moment) -> Vec<Silence> {
        if end > self.success_at {
            self.note(end, false);
        }
        self.kept.sort_by_key(|silence| silence.from);
        self.kept
    }

    #[cold]
    fn note(&mut self, until: Moment, recovered: bool) {
        let silence = Silence { from: self.success_at, until, failed: self.failed.take(), recovered };
        if silence.length() < SILENCE_MIN_NS {
            return;
        }
        if self.kept.len() < KEPT_MAX {
            self.kept.push(silence);
        } else if let Some(shortest) = self.kept.iter_mut().min_by_key(|silence| silence.length())
            && shortest.length() < silence.length()
        {
            *shortest = silence;
        }
    }
}

impl Silence {
    /// The same on a clock that is so far ahead.
    pub(crate) fn moved(self, ns: i64) -> Self {
        let failed = self.failed.map(|at| at.moved(ns));
        Self { from: self.from.moved(ns), until: self.until.moved(ns), failed, ..self }
    }

    fn length(&self) -> u64 {
        self.until.since(self.from)
    }

    /// The time that both are silent.
    fn common(&self, other: &Self) -> Option<Self> {
        let from = self.from.max(other.from);
        let until = self.until.min(other.until);
        let failed = [self.failed, other.failed].into_iter().flatten().min();
        let ends = if self.until <= other.until { self } else { other };
        (from < until).then_some(Self { from, until, failed, recovered: ends.recovered })
    }
}

/// The times in which all workers of a stream were silent.
pub(crate) fn common(mut of_workers: Vec<Vec<Silence>>) -> Vec<Silence> {
    let Some(first) = of_workers.pop() else { return Vec::new() };
    let mut common = of_workers.into_iter().fold(first, |ours, theirs| {
        ours.iter().flat_map(|one| theirs.iter().filter_map(|other| one.common(other))).collect()
    });
    common.retain(|silence| silence.length() >= SILENCE_MIN_NS);
    common
}

/// The common silences in which nothing failed; `start` is when the load began.
pub(crate) fn standstills(common: &[Silence], start: Moment) -> Vec<Standstill> {
    let since_start = |at: Moment| Duration::from_nanos(at.since(start));
    let whole = common.iter().filter(|silence| silence.failed.is_none());
    whole.map(|it| Standstill { from: since_start(it.from), until: since_start(it.until) }).collect()
}

/// The outages among the common silences; `start` is when the load began.
pub(crate) fn outages(common: &[Silence], start: Moment) -> Vec<Outage> {
    let since_start = |at: Moment| Duration::from_nanos(at.since(start));
    common
        .iter()
        .filter_map(|silence| {
            let from = silence.failed?.max(silence.from);
            let outage = Outage {
                from: since_start(from),
                until: since_start(silence.until),
                recovered: silence.recovered,
            };
            (silence.until.since(from) >= SILENCE_MIN_NS).then_some(outage)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn watched(successes: impl IntoIterator<Item = u64>, failures: &[u64], end: u64) -> Vec<Silence> {
        let mut events: Vec<(u64, bool)> = successes.into_iter().map(|at| (at * MS, true)).collect();
        events.extend(failures.iter().map(|at| (at * MS, false)));
        events.sort_unstable();
        let mut watch = Watch::default();
        watch.begin(Moment::ZERO);
        for (at, success) in events {
            let at = Moment::of_ns(at);
            if success { watch.success(at) } else { watch.failure(at) }
        }
        watch.finish(Moment::of_ns(end * MS))
    }

    #[test]
    fn an_outage_lasts_from_the_first_failure_to_the_first_success_of_any_worker() {
        // both fail when the server dies at 500; the first comes back at 1700, the second at 2000
        let one = watched((0..500).chain(1700..3000), &[501, 600, 900], 3000);
        let two = watched((0..499).chain(2000..3000), &[503, 1000], 3000);
        let found = outages(&common(vec![one, two]), Moment::ZERO);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].from, Duration::from_millis(501));
        assert_eq!(found[0].until, Duration::from_millis(1700));
        assert!(found[0].recovered);
    }

    #[test]
    fn a_failure_beside_successes_is_no_outage() {
        let one = watched(0..3000, &[100, 700], 3000);
        let two = watched(0..3000, &[], 3000);
        assert_eq!(outages(&common(vec![one.clone(), two]), Moment::ZERO), []);
        // nor is a worker that is out while another one is not
        let out = watched(0..500, &[501], 3000);
        assert_eq!(outages(&common(vec![one, out]), Moment::ZERO), []);
    }

    #[test]
    fn what_does_not_come_back_lasts_to_the_end() {
        let found = outages(&common(vec![watched(0..500, &[600], 3000)]), Moment::of_ns(100 * MS));
        let lasting =
            Outage { from: Duration::from_millis(500), until: Duration::from_millis(2900), recovered: false };
        assert_eq!(found, [lasting]);
    }

    #[test]
    fn silence_without_failure_is_no_outage_but_a_standstill_where_all_workers_are_silent() {
        let one = watched((0..500).chain(2000..2500), &[], 3000);
        let two = watched((0..700).chain(1900..2450), &[], 3000);
        let both = common(vec![one, two]);
        assert_eq!(outages(&both, Moment::ZERO), []);
        let found: Vec<_> = standstills(&both, Moment::ZERO)
            .iter()
            .map(|still| (still.from.as_millis(), still.until.as_millis()))
            .collect();
        assert_eq!(found, [(699, 1900), (2499, 3000)]);
        // a failure makes an outage of it
        let failed = common(vec![watched(0..500, &[600], 3000)]);
        assert_eq!(standstills(&failed, Moment::ZERO), []);
    }
}
