//! What audits found: how many of the commits that a server acknowledged before it was killed were lost.

use super::LEVEL;
use crate::{
    audit::Crash,
    plan::CrashKind,
    run::{Audited, NoCrash},
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Estimate, Spread};

/// All crashes of one kind of one server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Crashes {
    /// Index in [`crate::plan::Plan::servers`].
    pub server: usize,
    /// What happened to it.
    pub kind: CrashKind,
    /// How often it happened.
    pub count: u32,
    /// In how many of these crashes something was lost.
    pub losing: u32,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Of these, those that were lost.
    pub lost: u64,
    /// Rows that exist although their commit was never acknowledged.
    pub unacknowledged: u64,
    /// The share that was lost. Commits of one crash share its fate, so the interval is computed from crash
    /// to crash. Where nothing was ever lost, it is Wilson's, as if every commit were independent.
    pub share: Estimate,
    /// Time from the kill until the data could be read again, s.
    pub recovery: Estimate,
    /// Why it was not killed as often as requested.
    pub stopped: Option<NoCrash>,
}

/// The crashes of each server that was killed, or should have been.
#[must_use]
pub(super) fn crashes(record: &RunRecord) -> Vec<Crashes> {
    let servers = 0..record.plan.servers.len();
    let all = servers.flat_map(|server| CrashKind::ALL.map(|kind| of_server(record, server, kind)));
    all.flatten().collect()
}

fn of_server(record: &RunRecord, server: usize, kind: CrashKind) -> Option<Crashes> {
    let Audited { crashes, stopped } = Audited::of(&record.notes, server, kind);
    if crashes.is_empty() && stopped.is_none() {
        return None;
    }
    let count = u32::try_from(crashes.len()).unwrap_or(u32::MAX);
    let recovery: Vec<f64> = crashes.iter().map(|crash| crash.recovery).collect();
    let mean = recovery.iter().sum::<f64>() / f64::from(count.max(1));
    Some(Crashes {
        server,
        kind,
        count,
        losing: u32::try_from(crashes.iter().filter(|crash| crash.lost > 0).count()).unwrap_or(u32::MAX),
        acknowledged: crashes.iter().map(|crash| crash.acknowledged).sum(),
        lost: crashes.iter().map(|crash| crash.lost).sum(),
        unacknowledged: crashes.iter().map(|crash| crash.unacknowledged).sum(),
        share: share(&crashes, LEVEL),
        recovery: Estimate::around(mean, Spread::of(&recovery), count, LEVEL),
        stopped,
    })
}

/// The share of acknowledged commits that a server lost, at any level; `None`: it was not killed.
pub(super) fn lost(
    record: &RunRecord,
    server: usize,
    kind: CrashKind,
) -> Option<impl Fn(f64) -> Estimate + use<>> {
    let crashes = Audited::of(&record.notes, server, kind).crashes;
    (!crashes.is_empty()).then_some(move |level: f64| share(&crashes, level))
}

fn share(crashes: &[Crash], level: f64) -> Estimate {
    let count = u32::try_from(crashes.len()).unwrap_or(u32::MAX);
    let acknowledged: u64 = crashes.iter().map(|crash| crash.acknowledged).sum();
    let lost: u64 = crashes.iter().map(|crash| crash.lost).sum();
    if lost == 0 {
        return stats::proportion(0.0, acknowledged, level, count);
    }
    let centre = lost as f64 / acknowledged.max(1) as f64;
    let of = |crash: &Crash| crash.lost as f64 / crash.acknowledged.max(1) as f64;
    let shares: Vec<f64> = crashes.iter().map(of).collect();
    let Estimate { low, high, .. } = Estimate::around(centre, Spread::of(&shares), count, level);
    let bare = Estimate::bare(centre, level, count);
    Estimate { low: low.map(|low| low.max(0.0)), high: high.map(|high| high.min(1.0)), ..bare }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Note;

    fn crash(acknowledged: u64, lost: u64) -> Crash {
        Crash { kind: CrashKind::Kill, acknowledged, lost, in_doubt: 0, unacknowledged: 0, recovery: 1.0 }
    }

    #[test]
    fn each_kind_of_crash_is_counted_for_itself() {
        let mut record = crate::analyse::tests::record(crate::analyse::tests::plan(&[]), |_, _| 1000.0);
        for (kind, lost) in [(CrashKind::Kill, 0), (CrashKind::Power, 500), (CrashKind::Kill, 0)] {
            let crash = Crash { kind, unacknowledged: 2, ..crash(10_000, lost) };
            record.notes.push(Note::Crashed { server: 1, crash });
        }
        let reason = NoCrash::NoPower { cause: "no loop device".to_owned() };
        record.notes.push(Note::NotCrashed { server: 0, kind: CrashKind::Power, reason });
        let told: Vec<_> = super::crashes(&record)
            .into_iter()
            .map(|one| (one.server, one.kind, one.count, one.lost, one.unacknowledged, one.stopped.is_some()))
            .collect();
        let wanted = [
            (0, CrashKind::Power, 0, 0, 0, true),
            (1, CrashKind::Kill, 2, 0, 4, false),
            (1, CrashKind::Power, 1, 500, 2, false),
        ];
        assert_eq!(told, wanted);
        let killed = lost(&record, 1, CrashKind::Kill).expect("killed")(0.95);
        assert!(killed.value == 0.0 && killed.high.expect("a limit") < 5e-4, "{killed:?}");
        assert!(lost(&record, 1, CrashKind::Network).is_none());
    }

    #[test]
    fn nothing_lost_has_a_limit_and_what_was_lost_an_interval_from_crash_to_crash() {
        let none = [crash(60_000, 0), crash(60_000, 0)];
        let share = share(&none, 0.95);
        let (low, high) = share.interval().expect("an interval");
        assert!(low == 0.0 && (high - 3.2e-5).abs() < 1e-6, "{high}");
        // half of the crashes lose a tenth: an interval that treats 40,000 commits as independent would be
        // too narrow
        let some = [crash(10_000, 1000), crash(10_000, 0), crash(10_000, 1000), crash(10_000, 0)];
        let share = super::share(&some, 0.95);
        let (low, high) = share.interval().expect("an interval");
        assert!((share.value - 0.05).abs() < 1e-12 && low == 0.0 && high > 0.1, "{low} to {high}");
        let once = super::share(&[crash(100, 7)], 0.95);
        assert!(once.interval().is_none(), "one crash says nothing of another");
    }
}
