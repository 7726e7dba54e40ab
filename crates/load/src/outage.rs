//! Times without success. Each worker notes its own; a stream is out where all of its workers are at the same
//! time, from the first failure on.

use crate::sample::Outage;
use std::time::Duration;

/// A silence is noted from this length on, also where nothing failed in it: another worker of the stream may
/// have had the failure. Shorter ones are errors and slow replies, and counted as that; a busy client alone
/// can make some of 10 ms.
const SILENCE_MIN_NS: u64 = 100_000_000;
/// Most silences that a worker keeps of one stream: the longest ones.
const KEPT_MAX: usize = 512;

/// A time without success, ns since the engine began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silence {
    from_ns: u64,
    until_ns: u64,
    /// The first failure in it.
    failed_ns: Option<u64>,
    /// Whether a success ended it.
    recovered: bool,
}

/// Notes the silences of one worker's share of a stream.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    success_ns: u64,
    failed_ns: Option<u64>,
    kept: Vec<Silence>,
}

impl Watch {
    /// The stream begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.success_ns = now_ns;
    }

    #[inline]
    pub(crate) fn success(&mut self, now_ns: u64) {
        if self.failed_ns.is_some() || now_ns.saturating_sub(self.success_ns) >= SILENCE_MIN_NS {
            self.note(now_ns, true);
        }
        self.success_ns = now_ns;
    }

    pub(crate) fn failure(&mut self, now_ns: u64) {
        self.failed_ns.get_or_insert(now_ns);
    }

    /// The stream's end: the silence that lasts until then.
    pub(crate) fn finish(mut self, end_ns: u64) -> Vec<Silence> {
        if end_ns > self.success_ns {
            self.note(end_ns, false);
        }
        self.kept.sort_by_key(|silence| silence.from_ns);
        self.kept
    }

    #[cold]
    fn note(&mut self, until_ns: u64, recovered: bool) {
        let silence =
            Silence { from_ns: self.success_ns, until_ns, failed_ns: self.failed_ns.take(), recovered };
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
    fn length(&self) -> u64 {
        self.until_ns.saturating_sub(self.from_ns)
    }

    /// The time that both are silent.
    fn common(&self, other: &Self) -> Option<Self> {
        let from_ns = self.from_ns.max(other.from_ns);
        let until_ns = self.until_ns.min(other.until_ns);
        let failed_ns = [self.failed_ns, other.failed_ns].into_iter().flatten().min();
        let ends = if self.until_ns <= other.until_ns { self } else { other };
        (from_ns < until_ns).then_some(Self { from_ns, until_ns, failed_ns, recovered: ends.recovered })
    }
}

/// The outages of a stream from what its workers noted; `start_ns` is when the load began.
pub(crate) fn outages(mut of_workers: Vec<Vec<Silence>>, start_ns: u64) -> Vec<Outage> {
    let Some(first) = of_workers.pop() else { return Vec::new() };
    let common = of_workers.into_iter().fold(first, |ours, theirs| {
        ours.iter().flat_map(|one| theirs.iter().filter_map(|other| one.common(other))).collect()
    });
    let since_start = |ns: u64| Duration::from_nanos(ns.saturating_sub(start_ns));
    common
        .iter()
        .filter_map(|silence| {
            let from_ns = silence.failed_ns?.max(silence.from_ns);
            let outage = Outage {
                from: since_start(from_ns),
                until: since_start(silence.until_ns),
                recovered: silence.recovered,
            };
            (silence.until_ns.saturating_sub(from_ns) >= SILENCE_MIN_NS).then_some(outage)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn watched(successes: impl IntoIterator<Item = u64>, failures: &[u64], end_ns: u64) -> Vec<Silence> {
        let mut events: Vec<(u64, bool)> = successes.into_iter().map(|at| (at * MS, true)).collect();
        events.extend(failures.iter().map(|at| (at * MS, false)));
        events.sort_unstable();
        let mut watch = Watch::default();
        watch.begin(0);
        for (at, success) in events {
            if success { watch.success(at) } else { watch.failure(at) }
        }
        watch.finish(end_ns * MS)
    }

    #[test]
    fn an_outage_lasts_from_the_first_failure_to_the_first_success_of_any_worker() {
        // both fail when the server dies at 500; the first comes back at 1700, the second at 2000
        let one = watched((0..500).chain(1700..3000), &[501, 600, 900], 3000);
        let two = watched((0..499).chain(2000..3000), &[503, 1000], 3000);
        let found = outages(vec![one, two], 0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].from, Duration::from_millis(501));
        assert_eq!(found[0].until, Duration::from_millis(1700));
        assert!(found[0].recovered);
    }

    #[test]
    fn a_failure_beside_successes_is_no_outage() {
        let one = watched(0..3000, &[100, 700], 3000);
        let two = watched(0..3000, &[], 3000);
        assert_eq!(outages(vec![one.clone(), two], 0), []);
        // nor is a worker that is out while another one is not
        let out = watched(0..500, &[501], 3000);
        assert_eq!(outages(vec![one, out], 0), []);
    }

    #[test]
    fn what_does_not_come_back_lasts_to_the_end() {
        let found = outages(vec![watched(0..500, &[600], 3000)], 100 * MS);
        let lasting =
            Outage { from: Duration::from_millis(500), until: Duration::from_millis(2900), recovered: false };
        assert_eq!(found, [lasting]);
    }

    #[test]
    fn a_slow_answer_without_failure_is_no_outage() {
        assert_eq!(outages(vec![watched([0, 900, 2000], &[], 3000)], 0), []);
    }
}
