//! Which part of a trial counts: its interval, without the seconds at the beginning that a doubt leaves out.
//! Whatever is divided by a time, or by the transactions of a time, takes both from here.

use crate::{
    run::{Doubt, TrialOutcome, What},
    store::{RunRecord, Second, TrialRecord},
    telemetry::{Series, WITHIN},
};
use load::sample::{ErrorCount, Phase};
use std::{collections::BTreeMap, time::Duration};

/// Seconds at the beginning of the interval that these doubts leave out.
pub(super) fn left_out<'a>(doubts: impl Iterator<Item = &'a Doubt>) -> usize {
    let of_doubt = |doubt: &Doubt| match doubt.what {
        What::Drift { left_out_s, .. } => left_out_s as usize,
        _ => 0,
    };
    doubts.map(of_doubt).max().unwrap_or(0)
}

/// The measured seconds of a stream of a trial.
pub(super) fn seconds(trial: &TrialRecord, stream: usize) -> impl Iterator<Item = &Second> {
    let is_own =
        move |second: &&Second| usize::from(second.stream) == stream && second.phase == Phase::Measure;
    trial.seconds.iter().filter(is_own)
}

/// Errors by code from a time on, of which there were `all` after it. Codes that occurred only before or only
/// after that time are known by their first and last occurrence; the rest is shared among the other codes in
/// proportion to their totals.
pub(super) fn errors(errors: &[ErrorCount], from: Duration, all: u64) -> BTreeMap<u16, u64> {
    let after = |error: &&ErrorCount| error.first >= from;
    let around = |error: &&ErrorCount| error.first < from && error.last >= from;
    let mut found: BTreeMap<u16, u64> =
        errors.iter().filter(after).map(|error| (error.code, error.count)).collect();
    let mut left = all.saturating_sub(found.values().sum());
    let mut of: u64 = errors.iter().filter(around).map(|error| error.count).sum();
    for error in errors.iter().filter(around) {
        let share = (left as f64 * error.count as f64 / of.max(1) as f64).round() as u64;
        let share = share.min(left).min(error.count);
        (left, of) = (left - share, of - error.count);
        if share > 0 {
            found.insert(error.code, share);
        }
    }
    found
}

/// The time of a trial that counts for all of its streams, and what was done in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// Beginning and end, since the load began.
    pub(super) span: (Duration, Duration),
    /// Transactions per second, for all measured streams together.
    pub(super) transactions_per_second: f64,
}

impl Counted {
    /// The time that counts; `None`: nothing was measured.
    pub(super) fn of(record: &RunRecord, trial: &TrialRecord) -> Option<Self> {
        let TrialOutcome::Measured { outcome, doubts, .. } = &trial.outcome else { return None };
        if outcome.interval.is_zero() {
            return None;
        }
        let warm_up = outcome.warm_up.unwrap_or(record.plan.before_interval());
        let until = warm_up + outcome.interval;
        let per_second = |count: u64, time: Duration| count as f64 / time.as_secs_f64();
        let treatment = &record.plan.treatments[trial.trial.treatment];
        let measured = || treatment.measured().map(|(stream, _)| stream);
        let left_out = left_out(doubts.iter());
        let skipped: Duration = seconds(trial, 0).take(left_out).map(|second| second.length).sum();
        let rest: Duration = seconds(trial, 0).skip(left_out).map(|second| second.length).sum();
        if left_out > 0 && !rest.is_zero() {
            let of_stream = |stream: usize| seconds(trial, stream).skip(left_out);
            let counts = measured().flat_map(of_stream);
            let count = counts.map(|second| second.transactions.count).sum();
            let transactions_per_second = per_second(count, rest);
            return Some(Self { span: (warm_up + skipped, until), transactions_per_second });
        }
        let told = measured().filter_map(|stream| outcome.streams.get(stream));
        let count = told.map(|stream| stream.transactions.count).sum();
        let transactions_per_second = per_second(count, outcome.interval);
        Some(Self { span: (warm_up, until), transactions_per_second })
    }

    /// The readings that fall into that time.
    pub(super) fn rows(&self, readings: &Series) -> Vec<usize> {
        within(readings, self.span)
    }
}

/// When the background of a trial ran alone, since the load began; `None`: it never did.
pub(super) fn alone(record: &RunRecord, trial: &TrialRecord) -> Option<(Duration, Duration)> {
    let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { return None };
    let (plan, length) = (&record.plan, record.plan.alone);
    let until = outcome.warm_up.unwrap_or(plan.before_interval());
    (!length.is_zero()).then(|| (until.saturating_sub(length), until))
}

/// The readings of a time since the load began. Where that time is shorter than a reading, or the machine was
/// so busy that readings came late, those that lie mostly within it: better than nothing.
pub(super) fn within(readings: &Series, span: (Duration, Duration)) -> Vec<usize> {
    let whole = readings.within(span, WITHIN);
    if whole.is_empty() { readings.within(span, 0.5) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u16, count: u64, first: u64, last: u64) -> ErrorCount {
        let (first, last) = (Duration::from_secs(first), Duration::from_secs(last));
        ErrorCount { code, state: String::new(), count, message: String::new(), first, last }
    }

    #[test]
    fn errors_after_a_time_keep_their_sum_and_what_their_times_say() {
        let all = [error(1, 90, 0, 20), error(2, 5, 12, 19), error(3, 7, 0, 9), error(4, 30, 1, 15)];
        let found = errors(&all, Duration::from_secs(10), 45);
        assert_eq!(found, [(1, 30), (2, 5), (4, 10)].into());
        assert_eq!(errors(&all[2..3], Duration::from_secs(10), 0), BTreeMap::new());
        assert_eq!(errors(&all[..1], Duration::from_secs(10), 11), [(1, 11)].into());
    }
}
