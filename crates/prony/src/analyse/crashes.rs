//! What audits found: of the commits that a server acknowledged before it was killed, those that were lost.

use super::LEVEL;
use crate::{audit::Crash, run::Note, store::RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Estimate, Spread};

/// The crashes of one server, all together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Crashes {
    /// Index in [`crate::plan::Plan::servers`].
    pub server: usize,
    /// How often it was killed.
    pub count: u32,
    /// How often it had lost something.
    pub losing: u32,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Of these, those that were lost.
    pub lost: u64,
    /// That share. Commits of one crash share its fate, so that the interval is made from crash to crash;
    /// where nothing was ever lost it is Wilson's, of commits as if each had its own.
    pub share: Estimate,
    /// From the kill until the data could be read again, s.
    pub recovery: Estimate,
    /// Why it was not killed as often as was asked for.
    pub stopped: Option<String>,
}

/// Of each server that was killed, or should have been.
#[must_use]
pub(super) fn crashes(record: &RunRecord) -> Vec<Crashes> {
    (0..record.plan.servers.len()).filter_map(|server| of_server(record, server)).collect()
}

fn of_server(record: &RunRecord, server: usize) -> Option<Crashes> {
    let mut all: Vec<&Crash> = Vec::new();
    let mut stopped = None;
    for note in &record.notes {
        match note {
            Note::Crashed { server: of, crash } if *of == server => all.push(crash),
            Note::NotCrashed { server: of, reason } if *of == server => stopped = Some(reason.clone()),
            _ => {}
        }
    }
    if all.is_empty() && stopped.is_none() {
        return None;
    }
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let sum = |of: fn(&Crash) -> u64| all.iter().map(|crash| of(crash)).sum::<u64>();
    let (acknowledged, lost) = (sum(|crash| crash.acknowledged), sum(|crash| crash.lost));
    Some(Crashes {
        server,
        count,
        losing: u32::try_from(all.iter().filter(|crash| crash.lost > 0).count()).unwrap_or(u32::MAX),
        acknowledged,
        lost,
        share: share(&all, acknowledged, lost, LEVEL),
        recovery: mean(&all.iter().map(|crash| crash.recovery).collect::<Vec<_>>(), count, LEVEL),
        stopped,
    })
}

/// The share of acknowledged commits that a server lost, at any level; `None`: it was not killed.
pub(super) fn lost(record: &RunRecord, server: usize) -> Option<impl Fn(f64) -> Estimate + use<>> {
    let of = |note: &Note| match note {
        Note::Crashed { server: of, crash } if *of == server => Some(crash.clone()),
        _ => None,
    };
    let all: Vec<Crash> = record.notes.iter().filter_map(of).collect();
    let known = !all.is_empty();
    let at_level = move |level: f64| {
        let all: Vec<&Crash> = all.iter().collect();
        let acknowledged = all.iter().map(|crash| crash.acknowledged).sum();
        share(&all, acknowledged, all.iter().map(|crash| crash.lost).sum(), level)
    };
    known.then_some(at_level)
}

fn share(crashes: &[&Crash], acknowledged: u64, lost: u64, level: f64) -> Estimate {
    let count = u32::try_from(crashes.len()).unwrap_or(u32::MAX);
    if lost == 0 {
        return stats::proportion(0.0, acknowledged, level, count);
    }
    let centre = lost as f64 / acknowledged.max(1) as f64;
    let of = |crash: &&Crash| crash.lost as f64 / crash.acknowledged.max(1) as f64;
    let shares: Vec<f64> = crashes.iter().map(of).collect();
    match Spread::of(&shares) {
        Some(spread) => {
            let estimate = spread.interval(centre, count, level);
            let (low, high) = estimate.interval().unwrap_or((centre, centre));
            Estimate::between(centre, low.max(0.0), high.min(1.0), level, count)
        }
        None => Estimate::bare(centre, level, count),
    }
}

fn mean(values: &[f64], count: u32, level: f64) -> Estimate {
    let centre = values.iter().sum::<f64>() / values.len().max(1) as f64;
    match Spread::of(values) {
        Some(spread) => spread.interval(centre, count, level),
        None => Estimate::bare(centre, level, count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crash(acknowledged: u64, lost: u64) -> Crash {
        Crash { acknowledged, lost, in_doubt: 0, unacknowledged: 0, recovery: 1.0 }
    }

    #[test]
    fn nothing_lost_has_a_limit_and_what_was_lost_an_interval_from_crash_to_crash() {
        let none = [crash(60_000, 0), crash(60_000, 0)];
        let share = share(&none.iter().collect::<Vec<_>>(), 120_000, 0, 0.95);
        let (low, high) = share.interval().expect("an interval");
        assert!(low == 0.0 && (high - 3.2e-5).abs() < 1e-6, "{high}");
        // half of the crashes lose a tenth: as if 40,000 commits had each its own fate would be too narrow
        let some = [crash(10_000, 1000), crash(10_000, 0), crash(10_000, 1000), crash(10_000, 0)];
        let share = super::share(&some.iter().collect::<Vec<_>>(), 40_000, 2000, 0.95);
        let (low, high) = share.interval().expect("an interval");
        assert!((share.value - 0.05).abs() < 1e-12 && low == 0.0 && high > 0.1, "{low} to {high}");
        let once = super::share(&[&crash(100, 7)], 100, 7, 0.95);
        assert!(once.interval().is_none(), "one crash says nothing of another");
    }
}
