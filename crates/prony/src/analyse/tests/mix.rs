//! Transactions of a mix.

use super::*;

/// A transaction of which this many succeeded, all with the same time.
fn of(name: &str, count: u64, time_ms: u64, errors: u64) -> Tally {
    let mut service = Histogram::new();
    (0..count).for_each(|_| service.record_ns(time_ms * 1_000_000));
    Tally { count, errors, service, ..Tally::new(name) }
}

/// Each trial of a point has the tallies of its number.
fn record_of(trials: &[&[Tally]]) -> RunRecord {
    let repeats = format!("repeats={}", trials.len());
    let mut record = record(plan(&["connections=[8]", &repeats]), |_, _| 1000.0);
    for trial in &mut record.trials {
        let TrialOutcome::Measured { outcome, .. } = &mut trial.outcome else { continue };
        outcome.streams[0].by_transaction = trials[trial.trial.block as usize].to_vec();
    }
    record
}

#[test]
fn parts_of_a_mix_are_merged_over_trials_and_their_percentiles_are_not_averaged() {
    // 1000 at 1 ms in one trial, 200 at 9 ms in the other: the overall p50 is 1 ms, the mean of both would be
    // 5
    let record = record_of(&[
        &[of("buy", 1000, 1, 2), of("look", 3000, 4, 0)],
        &[of("buy", 200, 9, 3), of("look", 3000, 4, 0)],
    ]);
    let point = &analyse(&record).points[0];
    let [buy, look] = &point.mix[..] else { panic!("{:?}", point.mix) };
    assert_eq!((&*buy.name, buy.count, buy.errors), ("buy", 1200, 5));
    assert_eq!((&*look.name, look.count, look.errors), ("look", 6000, 0));
    assert!((buy.share - 1.0 / 6.0).abs() < 1e-9 && (buy.share + look.share - 1.0).abs() < 1e-9);
    // each trial took a second
    assert!((buy.throughput - 600.0).abs() < 1e-9 && (look.throughput - 3000.0).abs() < 1e-9);
    let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.01;
    assert!(near(buy.latency_ms["p50"], 1.0) && near(buy.latency_ms["p95"], 9.0), "{buy:?}");
    assert!(near(buy.latency_max_ms, 9.0) && near(look.latency_ms["p99"], 4.0));
    assert!(near(buy.latency_ms["mean"], (1000.0 + 200.0 * 9.0) / 1200.0), "{buy:?}");
}

#[test]
fn a_part_that_never_ended_well_has_its_errors_and_no_times() {
    let record = record_of(&[&[of("buy", 0, 1, 7), of("look", 10, 4, 0)]]);
    let buy = &analyse(&record).points[0].mix[0];
    assert_eq!((buy.count, buy.errors, buy.share, buy.latency_ms.len()), (0, 7, 0.0, 0));
}

#[test]
fn one_transaction_is_no_mix() {
    let record = record_of(&[&[of("buy", 100, 1, 0)]]);
    assert!(analyse(&record).points.iter().all(|point| point.mix.is_empty()));
}
