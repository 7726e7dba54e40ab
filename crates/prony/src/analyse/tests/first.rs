//! What comes first: which findings answer, and what speaks against the figures in how many trials.

use super::*;
use crate::{
    analyse::{Confidence, Finding, Reason, Why, alike},
    run::{Doubt, Level, What},
};

fn busy(level: Level) -> Doubt {
    Doubt { level, stream: None, what: What::OtherLoad { processors: 0.7 } }
}

/// A run in which the pool is twice as fast, with a doubt in this many of its trials.
fn doubted(trials: usize, level: Level) -> RunRecord {
    let mut noise = noise(7);
    let is_pool = |treatment: &Treatment| treatment.levels["server"] == "pool";
    let mut record = record(plan(&[]), |treatment, _| {
        (if is_pool(treatment) { 20_000.0 } else { 10_000.0 }) * (1.0 + 0.01 * noise.normal())
    });
    for trial in record.trials.iter_mut().take(trials) {
        let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome else { panic!("measured") };
        // several doubts of one kind count as one trial
        *doubts = vec![busy(level), busy(level)];
    }
    record
}

#[test]
fn trials_are_counted_by_what_speaks_against_them() {
    let all = doubted(0, Level::Fine).trials.len();
    let good = analyse(&doubted(0, Level::Fine)).trust;
    assert_eq!((good.level, good.trials as usize, good.reasons.len()), (Confidence::Good, all, 0));
    let few = analyse(&doubted(1, Level::Suspicious)).trust;
    assert_eq!((few.level, few.reasons.len()), (Confidence::Good, 1), "one of {all} is no more than told");
    let half = analyse(&doubted(all / 2, Level::Suspicious)).trust;
    let reason = Reason { id: "other_load".to_owned(), trials: (all / 2) as u32, of: all as u32 };
    assert_eq!((half.level, &half.reasons[..]), (Confidence::Limited, &[reason][..]));
    assert_eq!(analyse(&doubted(all, Level::Invalid)).trust.level, Confidence::Low);
    let mut broken_off = doubted(0, Level::Fine);
    broken_off.complete = false;
    broken_off.trials.truncate(all - 2);
    let trust = analyse(&broken_off).trust;
    let told: Vec<&str> = trust.reasons.iter().map(|reason| reason.id.as_str()).collect();
    assert_eq!((trust.level, &told[..]), (Confidence::Limited, &["incomplete"][..]));
}

#[test]
fn of_a_pair_the_answer_is_one_finding_and_it_is_the_first() {
    let findings = analyse(&doubted(0, Level::Fine));
    let first = *findings.answer.findings.first().expect("the pool is twice as fast");
    assert_eq!(first, 0);
    let pairs: Vec<_> = findings.answer.findings.iter().map(|&index| &findings.findings[index]).collect();
    let of_pair = |finding: &&&Finding| matches!(finding, Finding::Effect { .. } | Finding::Advantage { .. });
    let tables = findings.points.iter().map(|point| point.levels.get("workload")).collect::<Vec<_>>();
    let tables = tables.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(pairs.iter().filter(of_pair).count(), tables, "{pairs:?}");
}

/// A run in which both servers are equal within noise of this size, and other programs kept the machine busy
/// in this many of its trials.
fn equal(size: f64, disturbed: usize) -> Findings {
    let mut noise = noise(3);
    let mut record = record(plan(&[]), |_, _| 10_000.0 * (size * noise.normal()).exp());
    for trial in record.trials.iter_mut().take(disturbed) {
        let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome else { panic!("measured") };
        *doubts = vec![busy(Level::Suspicious)];
    }
    analyse(&record)
}

#[test]
fn a_restless_machine_is_why_there_is_no_answer_and_only_then() {
    let restless = equal(0.3, 30).restless().expect("nothing can be told");
    assert_eq!((restless.reason.id.as_str(), restless.reason.trials), ("other_load", 30));
    assert!(!restless.answered, "{restless:?}");
    assert_eq!(restless.repeats, 12, "four times three");
    assert_eq!(equal(0.3, 3).restless(), None, "noisy, but nobody disturbed it");
    assert_eq!(equal(0.001, 20).restless(), None, "they are shown to be the same");
    assert_eq!(analyse(&doubted(20, Level::Suspicious)).restless(), None, "the difference is plain");
    for findings in [equal(0.001, 40), analyse(&doubted(40, Level::Suspicious))] {
        let restless = findings.restless().expect("most trials were disturbed");
        assert!(restless.answered && restless.reason.trials == 40, "{restless:?}");
    }
}

#[test]
fn what_stays_open_is_the_next_run_of_the_study() {
    let mut noise = noise(11);
    let is_pool = |treatment: &Treatment| treatment.levels["server"] == "pool";
    // a tenth more, with much noise
    let open = record(plan(&["repeats=3"]), |treatment, _| {
        (if is_pool(treatment) { 11_000.0 } else { 10_000.0 }) * (1.0 + 0.05 * noise.normal())
    });
    let next = analyse(&open).next.expect("too few repeats");
    let Why::Unclear { now: 3, repeats, comparisons, all } = next.reasons[0] else { panic!("{next:?}") };
    assert!((4..=30).contains(&repeats) && comparisons <= all && all == 8, "{next:?}");
    assert_eq!(next.set, [format!("measure.repeats={repeats}")]);

    let decided = record(plan(&["repeats=3"]), |treatment, block| {
        (if is_pool(treatment) { 20_000.0 } else { 10_000.0 }) * [1.0, 1.001, 0.999][block as usize]
    });
    assert_eq!(analyse(&decided).next, None, "all is decided, and throughput does not rise");

    let mut disturbed = decided.clone();
    for trial in disturbed.trials.iter_mut().step_by(2) {
        let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome else { panic!("measured") };
        *doubts = vec![busy(Level::Suspicious)];
    }
    let next = analyse(&disturbed).next.expect("half of the trials were disturbed");
    let seconds = disturbed.plan.interval.as_secs_f64();
    let Why::Disturbed { interval_s, .. } = next.reasons[0] else { panic!("{next:?}") };
    assert!(interval_s > seconds && interval_s <= 60.0, "{next:?}");

    let rising = record(plan(&["repeats=3"]), |treatment, block| {
        let connections: f64 = treatment.levels["connections"].parse().expect("a number");
        let factor = if is_pool(treatment) { 2.0 } else { 1.0 };
        factor * connections * 100.0 * [1.0, 1.001, 0.999][block as usize]
    });
    let next = analyse(&rising).next.expect("throughput rises to the end");
    let Why::Rising { servers, from, to, .. } = &next.reasons[0] else { panic!("{next:?}") };
    assert_eq!((servers.len(), *to), (2, 2.0 * from));
    assert!(
        next.set[0].starts_with("connections=[") && next.set[0].ends_with(&format!(", {to}]")),
        "{next:?}"
    );
}

#[test]
fn what_holds_for_two_loads_is_said_together_and_what_differs_apart() {
    let findings = analyse(&doubted(0, Level::Fine));
    let all: Vec<&Finding> = findings.findings.iter().collect();
    let groups = alike(&all, Finding::is_alike);
    assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), all.len());
    let pairs = groups.iter().filter(|group| matches!(group[0], Finding::Effect { .. }));
    for group in pairs {
        assert_eq!(group.len(), 2, "both workloads: {group:?}");
        assert!(!group[0].is_alike(group[0]), "the same load is told once");
    }
}
