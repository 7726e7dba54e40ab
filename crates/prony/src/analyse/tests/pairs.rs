//! Compared figures come from the same blocks, and from nothing else.

use super::*;
use crate::run::{Level, What};

/// Throughput of one server by block, and of the pool with 64 connections; everything else is constant.
/// `None`: the trial failed.
fn record_of(plan: Plan, of: impl Fn(&str, u32) -> Option<f64>) -> RunRecord {
    let mut made = record(plan, |_, _| 1000.0);
    for trial in &mut made.trials {
        let treatment = &made.plan.treatments[trial.trial.treatment];
        match of(&treatment.levels["server"], trial.trial.block) {
            None => trial.outcome = TrialOutcome::Failed(TrialFailure::told("the server went away")),
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
    // the machine gets faster; the pool's first trial failed, and in the others both are equal
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
    // only the pool has the last repeat, which is the faster one
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
    // two starts of two blocks each; in the first start, the pool lacks the block in which everything was
    // slow
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

/// All or some rungs of both servers were more than they could handle.
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
    // below 256 connections the two are equal
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

/// Nine pairs from three repeats: 1.35, 1.24 and 1.30 times the throughput at three rungs, with so much noise
/// that no rung is certain by itself; no difference at the lowest rung and in the other workload.
fn nine_pairs() -> RunRecord {
    let noise = [[0.14, -0.18, 0.04], [0.21, -0.19, -0.02], [-0.16, 0.0, 0.16], [0.13, -0.05, -0.08]];
    let ratios = [1.0, 1.35, 1.24, 1.30];
    let levels = [4_000.0, 10_000.0, 10_400.0, 9_800.0];
    record(plan(&["repeats=3"]), |treatment, block| {
        let rung = match treatment.streams[0].connections {
            8 => 0,
            64 => 1,
            256 => 2,
            _ => 3,
        };
        if treatment.levels["server"] != "pool" {
            return levels[rung];
        }
        let is_read = treatment.levels["workload"] == "oltp_read_only";
        let (ratio, block) =
            if is_read { (ratios[rung], block as usize) } else { (1.0, (block as usize + 1) % 3) };
        levels[rung] * ratio * f64::exp(noise[rung][block])
    })
}

#[test]
fn pairs_that_leave_no_doubt_together_are_told_together() {
    let findings = analyse(&nine_pairs());
    let throughput = |one: &&Comparison| one.metric == Metric::Throughput;
    let differs = |one: &Comparison| [Verdict::Better, Verdict::Worse].contains(&one.verdict);
    assert!(!findings.comparisons.iter().filter(throughput).any(differs), "no rung is sure by itself");
    let told: Vec<_> = findings
        .findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::Effect { levels, server, metric, stretch, whole, ratio, .. }
                if *metric == Metric::Throughput =>
            {
                Some((&*levels["workload"], &**server, *stretch, *whole, *ratio))
            }
            _ => None,
        })
        .collect();
    let [(workload, server, stretch, whole, ratio)] = told[..] else { panic!("{:?}", findings.findings) };
    assert_eq!((workload, server), ("oltp_read_only", "pool"));
    assert!(stretch == (64.0, 1024.0) && !whole || stretch == (8.0, 1024.0) && whole, "{stretch:?}");
    let (low, high) = ratio.interval().expect("three blocks");
    assert!(low > 1.0 && high < 1.6 && (1.15..1.35).contains(&ratio.value), "{ratio:?}");
    let knee = findings
        .effects
        .iter()
        .find(|effect| effect.metric == Metric::Throughput && effect.levels["workload"] == "oltp_read_only");
    let knee = knee.and_then(|effect| effect.from_knee.as_ref()).expect("it rises up to 64 connections");
    assert!((knee.ratio.value - 1.296).abs() < 0.01 && knee.verdict == Verdict::Better, "{knee:?}");
    let equal = findings.findings.iter().find_map(|finding| match finding {
        Finding::NoDifference { levels, stretch, .. } => Some((&*levels["workload"], *stretch)),
        _ => None,
    });
    assert_eq!(equal, Some(("oltp_update_non_index", Some((64.0, 1024.0)))), "{:?}", findings.findings);
}

#[test]
fn what_a_run_found_is_asked_of_another_run() {
    let made = |pool: f64, spread: f64| {
        record_of(plan_with(CLAIM, &["repeats=3"]), |server, block| {
            let rate = if server == "pool" { pool } else { 10_000.0 };
            Some(rate * if (block == 1) == (server == "pool") { 1.0 + spread } else { 1.0 })
        })
    };
    let base = made(20_000.0, 0.001);
    let found = repeated(&base, &base);
    assert!(found.differences.again > 0 && found.claims.again == 1, "{found:?}");
    assert_eq!(found.differences.again, found.differences.count());
    // a machine half as fast gives the same result
    let faster = record_of(plan_with(CLAIM, &["repeats=3"]), |server, block| {
        Some(if server == "pool" { 10_000.0 } else { 5_000.0 } * [1.0, 1.001, 0.999][block as usize])
    });
    assert_eq!(repeated(&base, &faster), found);
    let other = repeated(&base, &made(5_000.0, 0.001));
    assert_eq!(other.claims.contradicted, ["the pool gives more"]);
    let rates =
        other.differences.contradicted.iter().filter(|one| one.starts_with("throughput pool / threads, "));
    assert_eq!(rates.count(), 8, "{other:?}");
    let open = repeated(&base, &made(10_000.0, 0.9));
    assert_eq!((open.differences.open, open.claims.open), (found.differences.count(), 1), "{open:?}");
}
