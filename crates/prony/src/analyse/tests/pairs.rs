//! What is held against each other comes from the same blocks, and from nothing else.

use super::*;
use crate::run::{Level, What};

/// Throughput of one server by block, of the pool with 64 connections; all else stands still. `None`: the
/// trial failed.
fn record_of(plan: Plan, of: impl Fn(&str, u32) -> Option<f64>) -> RunRecord {
    let mut made = record(plan, |_, _| 1000.0);
    for trial in &mut made.trials {
        let treatment = &made.plan.treatments[trial.trial.treatment];
        match of(&treatment.levels["server"], trial.trial.block) {
            None => trial.outcome = TrialOutcome::Failed("the server went away".to_owned()),
            Some(rate) => {
                let TrialOutcome::Measured { outcome: told, .. } = &mut trial.outcome else { continue };
                **told = outcome(treatment.streams[0].connections, rate);
            }
        }
    }
    made
}

const CLAIM: &str = r#"
[[claim]]
says = "the pool gives more"
metric = "throughput"
of = { server = "pool" }
over = { server = "threads" }
ratio = "> 1"
"#;

#[test]
fn a_trial_that_only_one_side_has_makes_no_difference() {
    // the machine gets faster; the pool's first trial failed, and in the others both are the same
    let record = record_of(plan_with(CLAIM, &["repeats=3"]), |server, block| {
        (server != "pool" || block > 0).then(|| [10_000.0, 11_000.0, 12_000.0][block as usize])
    });
    let findings = analyse(&record);
    assert!(!findings.comparisons.is_empty());
    for comparison in &findings.comparisons {
        assert!((comparison.ratio.value - 1.0).abs() < 1e-9, "{comparison:?}");
        assert_eq!((comparison.verdict, comparison.ratio.observations), (Verdict::Same, 2), "{comparison:?}");
    }
    for part in &findings.claims[0].parts {
        assert!((part.estimate.value - 1.0).abs() < 1e-9, "{part:?}");
        assert_eq!(part.estimate.observations, 2);
    }
    assert_eq!(findings.claims[0].verdict, ClaimVerdict::Refuted, "more is claimed, and it is the same");
}

#[test]
fn sides_that_share_no_block_are_not_compared() {
    // the pool has the last repeat alone, and it is the faster one
    let record = record_of(plan_with(CLAIM, &["repeats=3"]), |server, block| {
        ((server == "pool") == (block == 2)).then(|| [10_000.0, 10_100.0, 20_000.0][block as usize])
    });
    let findings = analyse(&record);
    assert_eq!(findings.points.len(), 16);
    assert!(findings.comparisons.is_empty(), "{:?}", findings.comparisons);
    assert_eq!(findings.claims[0].open, Some(Open::NotMeasured));
}

#[test]
fn of_a_start_only_the_blocks_count_that_both_sides_have() {
    // two starts of two blocks each; in the first start the pool lacks the block in which all was slow
    let record = record_of(plan_with(CLAIM, &["repeats=4", "restarts=2"]), |server, block| {
        let rate = [5_000.0, 10_000.0, 10_100.0, 9_900.0][block as usize];
        (server != "pool" || block > 0).then_some(rate)
    });
    let findings = analyse(&record);
    for comparison in &findings.comparisons {
        assert!((comparison.ratio.value - 1.0).abs() < 1e-9, "{comparison:?}");
        assert_eq!(comparison.ratio.observations, 2, "starts are what is repeated");
    }
    assert!(findings.claims[0].parts.iter().all(|part| (part.estimate.value - 1.0).abs() < 1e-9));
}

/// All or some rungs of both servers were more than they could do.
fn overloaded(from: u32) -> RunRecord {
    let mut record = record(plan(&["repeats=3"]), |treatment, _| bent(treatment));
    let what = What::Overloaded { offered_per_second: 9.0, started_per_second: 1.0, backlog: 8, skipped: 0 };
    for trial in &mut record.trials {
        let treatment = &record.plan.treatments[trial.trial.treatment];
        let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome else { continue };
        if treatment.streams[0].connections >= from {
            doubts.push(Doubt::new(Level::Invalid, what.clone()));
        }
    }
    record
}

#[test]
fn where_all_is_overloaded_nothing_is_said_to_be_equal() {
    let findings = analyse(&overloaded(0));
    assert!(findings.comparisons.iter().all(|one| one.verdict == Verdict::Overloaded));
    let equal = |finding: &&Finding| matches!(finding, Finding::NoDifference { .. });
    assert_eq!(findings.findings.iter().find(equal).map(|_| ()), None, "{:?}", findings.findings);
    let not_compared: Vec<usize> = findings
        .findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::NotCompared { rungs, .. } => Some(*rungs),
            _ => None,
        })
        .collect();
    assert_eq!(not_compared, [4, 4], "one for each workload");
}

#[test]
fn no_difference_is_said_of_the_rungs_that_both_could_do() {
    // below 256 connections the two are the same
    let findings = analyse(&overloaded(256));
    let rungs: Vec<(usize, usize)> = findings
        .findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::NoDifference { rungs, .. } => Some(*rungs),
            _ => None,
        })
        .collect();
    assert_eq!(rungs, [(2, 4), (2, 4)], "{:?}", findings.findings);
}
