//! Percentiles that another tool stated without a distribution.

use super::*;

/// A run at 8 connections, for which a tool stated throughput and this percentile in each trial.
fn stated(percentile: &str, trials: &[(f64, f64)]) -> RunRecord {
    let repeats = format!("repeats={}", trials.len());
    let plan = plan(&["connections=[8]", &repeats]);
    let mut record = record(plan, |_, block| trials[block as usize].0);
    for trial in &mut record.trials {
        let TrialOutcome::Measured { outcome, .. } = &mut trial.outcome else { continue };
        outcome.streams[0].transactions.service = Histogram::new();
        trial.told = [(percentile.to_owned(), trials[trial.trial.block as usize].1)].into();
    }
    record
}

fn compared(base: &RunRecord, run: &RunRecord, metric: &str) -> RunComparison {
    let runs = compare_runs(base, run);
    let of_metric = |one: &RunComparison| one.metric.to_string() == metric;
    runs.comparisons.into_iter().find(of_metric).unwrap_or_else(|| panic!("no comparison of {metric}"))
}

#[test]
fn one_trial_on_each_side_gives_a_ratio_and_no_judgement() {
    let (base, run) = (stated("p95", &[(1000.0, 10.0)]), stated("p95", &[(1000.0, 40.0)]));
    let p95 = compared(&base, &run, "p95");
    assert!((p95.ratio.value - 4.0).abs() < 1e-9, "{p95:?}");
    assert_eq!((p95.ratio.interval(), p95.verdict, p95.is_stated), (None, Verdict::Undecided, true));
    assert_eq!((p95.detectable, p95.repeats_needed), (None, None));
    assert!(!compared(&base, &run, "throughput").is_stated);
    assert!(
        compare_runs(&base, &run).comparisons.iter().all(|one| one.metric != Metric::Quantile(99_000)),
        "nobody stated it"
    );
}

#[test]
fn repeats_on_one_side_alone_give_no_interval() {
    let base = stated("p95", &[(1000.0, 10.0), (1000.0, 10.5), (1000.0, 9.5)]);
    let p95 = compared(&base, &stated("p95", &[(1000.0, 40.0)]), "p95");
    assert_eq!((p95.ratio.interval(), p95.verdict), (None, Verdict::Undecided));
}

#[test]
fn repeats_of_both_give_an_interval_about_the_geometric_mean() {
    let base = stated("p95", &[(1000.0, 10.0), (1000.0, 10.4), (1000.0, 9.7), (1000.0, 10.1)]);
    let run = stated("p95", &[(1000.0, 40.0), (1000.0, 41.0), (1000.0, 39.0), (1000.0, 40.5)]);
    let p95 = compared(&base, &run, "p95");
    let mean = |values: [f64; 4]| (values.iter().map(|value| value.ln()).sum::<f64>() / 4.0).exp();
    let expected = mean([40.0, 41.0, 39.0, 40.5]) / mean([10.0, 10.4, 9.7, 10.1]);
    assert!((p95.ratio.value / expected - 1.0).abs() < 1e-9, "{p95:?}");
    assert_eq!(p95.verdict, Verdict::Worse);
    let (low, high) = p95.ratio.interval().expect("an interval");
    assert!(low < expected && expected < high && high / low < 1.3, "{low} {high}");
    // the report and the history of a run have it too
    let points = analyse(&base).points;
    let estimate = points[0].latency_ms["p95"];
    assert!((estimate.value - mean([10.0, 10.4, 9.7, 10.1])).abs() < 1e-9, "{estimate:?}");
    assert!(estimate.interval().is_some());
}

#[test]
fn trials_that_were_rounded_to_one_figure_are_not_the_same() {
    // 0.10 and 0.11 ms may be 0.1045 and 0.1055
    let base = stated("p95", &[(1000.0, 0.10); 3]);
    let run = stated("p95", &[(1000.0, 0.11); 3]);
    let p95 = compared(&base, &run, "p95");
    let (low, high) = p95.ratio.interval().expect("an interval");
    assert!(low < 1.0 && high > 1.2, "{low} {high}");
    assert_eq!(p95.verdict, Verdict::Undecided);
    let (low, high) = analyse(&base).points[0].latency_ms["p95"].interval().expect("an interval");
    assert!(low < 0.095 && high > 0.105, "{low} {high}");
    // for long times, only the steps of sysbench's distribution remain
    let same = compared(&stated("p95", &[(1000.0, 500.0); 3]), &stated("p95", &[(1000.0, 500.0); 3]), "p95");
    let (low, high) = same.ratio.interval().expect("an interval");
    assert!(low < 0.991 && high > 1.009 && high < 1.05, "{low} {high}");
}

#[test]
fn the_percentile_that_was_stated_is_held_against_the_same_of_a_distribution() {
    let own = record(plan(&["connections=[8]", "repeats=3"]), |_, block| 1000.0 + f64::from(block));
    let p90_ms = own.trials[0].outcome.clone();
    let TrialOutcome::Measured { outcome, .. } = p90_ms else { panic!("measured") };
    let p90_ms = outcome.streams[0].transactions.service.quantile_ns(0.9) as f64 / 1e6;
    let other = stated("p90", &[(1000.0, p90_ms * 2.0), (1000.0, p90_ms * 2.05), (1000.0, p90_ms * 1.95)]);
    let p90 = compared(&own, &other, "p90");
    assert!((p90.ratio.value / 2.0 - 1.0).abs() < 0.01, "{p90:?}");
    assert_eq!((p90.verdict, p90.is_stated), (Verdict::Worse, true));
    assert!(compare_runs(&own, &other).comparisons.iter().all(|one| one.metric != Metric::Quantile(95_000)));
    // different percentiles have nothing in common
    let p95 = stated("p95", &[(1000.0, 10.0); 3]);
    assert!(compare_runs(&p95, &other).comparisons.iter().all(|one| one.metric == Metric::Throughput));
}

#[test]
fn servers_of_one_import_are_compared_without_a_judgement_from_blocks() {
    // there are two servers; what was stated for them differs fourfold, and within each by no more than
    // rounding
    let mut record = stated("p95", &[(1000.0, 10.0), (1000.0, 10.0), (1000.0, 10.0)]);
    for trial in &mut record.trials {
        if record.plan.treatments[trial.trial.treatment].levels["server"] == "pool" {
            trial.told = [("p95".to_owned(), 40.0)].into();
        }
    }
    let findings = analyse(&record);
    let p95: Vec<_> =
        findings.comparisons.iter().filter(|one| one.metric == Metric::Quantile(95_000)).collect();
    assert!(!p95.is_empty());
    for one in p95 {
        let (low, high) = one.ratio.interval().expect("an interval");
        assert!(low < 3.95 && high > 4.05 && one.verdict == Verdict::Worse, "{one:?}");
    }
    record.trials.retain(|trial| trial.trial.block == 0);
    let findings = analyse(&record);
    let mut p95 = findings.comparisons.iter().filter(|one| one.metric == Metric::Quantile(95_000));
    assert!(p95.all(|one| one.ratio.interval().is_none() && one.verdict == Verdict::Undecided));
}

#[test]
fn a_mean_of_trials_counts_their_transactions() {
    let mut record = stated("mean", &[(1000.0, 2.0), (3000.0, 6.0)]);
    record.plan.treatments.truncate(1);
    record.trials.retain(|trial| trial.trial.treatment == 0);
    let mean = analyse(&record).points[0].latency_ms["mean"];
    assert!((mean.value - 5.0).abs() < 1e-9, "{mean:?}");
}
