//! What a worker keeps while it runs. Everything is allocated before the load begins; filled batches go to
//! the coordinator once a second and come back empty.

use crate::{
    clock::ns,
    histogram::Histogram,
    program::Program,
    sample::{ErrorCount, Phase, Schedule, Tally},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Most error codes that are counted separately; any further one is counted under [`OTHER_ERRORS`].
const CODES_MAX: usize = 64;
/// Code of all errors for which there was no more room. No server uses it.
pub(crate) const OTHER_ERRORS: u16 = 65_535;

/// One second of all streams of one worker, or of one part.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Batch {
    /// Whose: a worker's number, or that of a part.
    pub(crate) of: usize,
    pub(crate) second: u32,
    pub(crate) streams: Vec<StreamBatch>,
}

/// One second of one stream of one worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StreamBatch {
    pub(crate) transactions: Vec<Tally>,
    pub(crate) statements: Vec<Tally>,
    pub(crate) errors: u64,
    /// `None` where the arrival has no schedule.
    pub(crate) schedule: Option<Schedule>,
}

impl Batch {
    pub(crate) fn new(worker: usize, programs: &[Program]) -> Self {
        let streams = programs.iter().map(StreamBatch::new).collect();
        Self { of: worker, second: 0, streams }
    }

    pub(crate) fn clear(&mut self) {
        for stream in &mut self.streams {
            stream.errors = 0;
            if let Some(schedule) = &mut stream.schedule {
                schedule.clear();
            }
            for tally in stream.transactions.iter_mut().chain(&mut stream.statements) {
                clear(tally);
            }
        }
    }

    /// Adds another worker's batch of the same second.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.streams.iter_mut().zip(&other.streams) {
            ours.merge(theirs);
            if let (Some(ours), Some(theirs)) = (&mut ours.schedule, &theirs.schedule) {
                ours.merge_beside(theirs);
            }
        }
    }
}

impl StreamBatch {
    pub(crate) fn new(program: &Program) -> Self {
        let transaction =
            |name: &str| Tally { response: program.responds_apart.then(Histogram::new), ..Tally::new(name) };
        Self {
            transactions: program.transactions.iter().map(|each| transaction(&each.name)).collect(),
            statements: program.kinds.iter().map(|kind| Tally::new(kind)).collect(),
            errors: 0,
            schedule: program.is_scheduled.then(Schedule::default),
        }
    }

    /// Adds a second that follows.
    pub(crate) fn add(&mut self, second: &Self, is_first: bool) {
        self.merge(second);
        if let (Some(ours), Some(theirs)) = (&mut self.schedule, &second.schedule) {
            if is_first {
                ours.backlog = theirs.backlog;
            }
            ours.merge_after(theirs);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.transactions.iter_mut().zip(&other.transactions) {
            ours.merge(theirs);
        }
        for (ours, theirs) in self.statements.iter_mut().zip(&other.statements) {
            ours.merge(theirs);
        }
        self.errors += other.errors;
    }

    /// All transactions of the mix together.
    pub(crate) fn all_transactions(&self) -> Tally {
        let mut all = Tally::new("transactions");
        for tally in &self.transactions {
            all.merge(tally);
        }
        all
    }
}

fn clear(tally: &mut Tally) {
    let Tally { name: _, count, errors, rows, affected, not_found, unchanged, cut_short, service, response } =
        tally;
    if *count != 0 {
        service.clear();
    }
    (*count, *errors, *rows, *affected, *not_found, *unchanged) = (0, 0, 0, 0, 0, 0);
    *cut_short = 0;
    if let Some(response) = response {
        response.clear();
    }
}

/// Errors of the measurement interval by code, bounded.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct ErrorBook(Vec<ErrorCount>);

impl ErrorBook {
    /// Counts one; only the first message of a code is kept.
    pub(crate) fn add(&mut self, code: u16, state: [u8; 5], message: &str, at: Duration) {
        let known = self.0.iter().position(|entry| entry.code == code);
        let place = known.unwrap_or_else(|| {
            let full = self.0.len() >= CODES_MAX;
            if full && let Some(other) = self.0.iter().position(|entry| entry.code == OTHER_ERRORS) {
                return other;
            }
            self.0.push(ErrorCount {
                code: if full { OTHER_ERRORS } else { code },
                state: String::from_utf8_lossy(&state).into_owned(),
                count: 0,
                message: message.to_owned(),
                first: at,
                last: at,
            });
            self.0.len() - 1
        });
        self.0[place].count += 1;
        self.0[place].last = at;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for theirs in &other.0 {
            let Some(ours) = self.0.iter_mut().find(|entry| entry.code == theirs.code) else {
                self.0.push(theirs.clone());
                continue;
            };
            ours.count += theirs.count;
            if theirs.first < ours.first {
                ours.first = theirs.first;
                ours.message.clone_from(&theirs.message);
            }
            ours.last = ours.last.max(theirs.last);
        }
    }

    /// Most frequent first.
    pub(crate) fn into_counts(mut self) -> Vec<ErrorCount> {
        self.0.sort_by_key(|entry| std::cmp::Reverse(entry.count));
        self.0
    }
}

/// The ends of the seconds of a load, and which phase each belongs to: the warm-up is cut into seconds, then
/// the interval, so that no second lies in both.
#[derive(Debug, Clone)]
pub(crate) struct Seconds {
    warm_up_ns: u64,
    end_ns: u64,
}

impl Seconds {
    pub(crate) fn new(warm_up: Duration, interval: Duration) -> Self {
        Self { warm_up_ns: ns(warm_up), end_ns: ns(warm_up.saturating_add(interval)) }
    }

    /// Length of the warm-up.
    pub(crate) fn warm_up(&self) -> Duration {
        Duration::from_nanos(self.warm_up_ns)
    }

    /// Whole seconds after which the measurement begins, ns since the load began, if it is announced at
    /// `now_ns`: the first that is far enough away for all workers to hear of it in time. `None` where the
    /// warm-up is over by then.
    pub(crate) fn measure_soon(&self, now_ns: u64) -> Option<u64> {
        let at_ns = now_ns.saturating_add(TOLD_AHEAD_NS).div_ceil(SECOND_NS).saturating_mul(SECOND_NS);
        (at_ns < self.warm_up_ns).then_some(at_ns)
    }

    /// Ends the warm-up at `at_ns` since the load began, a whole second before its own end; the interval
    /// keeps its length.
    pub(crate) fn measure_from(&mut self, at_ns: u64) {
        let earlier_ns = self.warm_up_ns.saturating_sub(at_ns);
        self.warm_up_ns = self.warm_up_ns.saturating_sub(earlier_ns);
        self.end_ns = self.end_ns.saturating_sub(earlier_ns);
    }

    fn warm_up_seconds(&self) -> u32 {
        self.warm_up_ns.div_ceil(SECOND_NS) as u32
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.warm_up_seconds() + self.end_ns.saturating_sub(self.warm_up_ns).div_ceil(SECOND_NS) as u32
    }

    pub(crate) fn phase(&self, second: u32) -> Phase {
        if second < self.warm_up_seconds() { Phase::WarmUp } else { Phase::Measure }
    }

    /// Begin of a second, ns since the load began.
    pub(crate) fn begin_ns(&self, second: u32) -> u64 {
        match second.checked_sub(self.warm_up_seconds()) {
            None => u64::from(second).saturating_mul(SECOND_NS),
            Some(measured) => self.warm_up_ns.saturating_add(u64::from(measured).saturating_mul(SECOND_NS)),
        }
    }

    /// End of a second, ns since the load began.
    pub(crate) fn end_ns(&self, second: u32) -> u64 {
        let limit = if self.phase(second) == Phase::WarmUp { self.warm_up_ns } else { self.end_ns };
        self.begin_ns(second).saturating_add(SECOND_NS).min(limit)
    }

    /// Moves the end to `end_ns` since the load began, if that is earlier and leaves something of the
    /// interval.
    pub(crate) fn cut(&mut self, end_ns: u64) {
        self.end_ns = self.end_ns.min(end_ns.max(self.warm_up_ns.saturating_add(1)));
    }

    pub(crate) fn length(&self, second: u32) -> Duration {
        Duration::from_nanos(self.end_ns(second).saturating_sub(self.begin_ns(second)))
    }
}

const SECOND_NS: u64 = 1_000_000_000;
/// How long before the end of a warm-up workers must be told of it: they look up every tenth of a second.
const TOLD_AHEAD_NS: u64 = 250_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_cover_the_load_without_gap_and_never_span_two_phases() {
        for (warm_up_ms, interval_ms) in [(0, 1_000), (500, 1_500), (1_000, 2_000), (2_300, 700), (0, 1)] {
            let seconds = Seconds::new(Duration::from_millis(warm_up_ms), Duration::from_millis(interval_ms));
            let mut end = 0;
            let mut measured = Duration::ZERO;
            for second in 0..seconds.count() {
                assert_eq!(seconds.begin_ns(second), end);
                end = seconds.end_ns(second);
                assert!(
                    seconds.length(second) <= Duration::from_secs(1) && !seconds.length(second).is_zero()
                );
                if seconds.phase(second) == Phase::Measure {
                    measured += seconds.length(second);
                }
            }
            assert_eq!(end, (warm_up_ms + interval_ms) * 1_000_000);
            assert_eq!(measured, Duration::from_millis(interval_ms));
        }
    }

    #[test]
    fn a_warm_up_that_ends_earlier_leaves_the_interval_as_long_and_no_second_in_both() {
        let mut seconds = Seconds::new(Duration::from_millis(20_500), Duration::from_millis(3_500));
        let at_ns = seconds.measure_soon(4_800_000_000).unwrap();
        assert_eq!(at_ns, 6_000_000_000, "5 s is too near");
        seconds.measure_from(at_ns);
        assert_eq!(seconds.warm_up(), Duration::from_secs(6));
        assert_eq!((seconds.phase(5), seconds.phase(6)), (Phase::WarmUp, Phase::Measure));
        assert_eq!((seconds.begin_ns(6), seconds.end_ns(9)), (6_000_000_000, 9_500_000_000));
        assert_eq!(seconds.count(), 10);
        assert_eq!(seconds.measure_soon(5_900_000_000), None, "it is over by then");
    }

    #[test]
    fn errors_are_bounded_and_keep_their_first_message() {
        let mut book = ErrorBook::default();
        for code in 1000..1200 {
            book.add(code, *b"HY000", "first", Duration::from_secs(1));
            book.add(code, *b"HY000", "second", Duration::from_secs(2));
        }
        let counts = book.into_counts();
        assert_eq!(counts.len(), CODES_MAX + 1);
        assert_eq!(counts.iter().map(|entry| entry.count).sum::<u64>(), 400);
        assert_eq!((counts[0].code, counts[0].message.as_str()), (OTHER_ERRORS, "first"));
    }
}
