//! The rule that ends repeating and the report agree on how wide an interval is.

use super::*;
use crate::run::{Level, Steady, What, stops};

/// A trial whose first seven seconds were slow and are left out.
fn drifts(trial: &mut TrialRecord, connections: u32, per_second: f64) {
    let second = |second: u32| {
        let share = if second < 7 { 0.4 } else { 1.0 };
        let stream = outcome(connections, per_second * share).streams.remove(0);
        Sample {
            stream: 0,
            second,
            phase: Phase::Measure,
            length: Duration::from_secs(1),
            transactions: stream.transactions,
            statements: stream.statements,
            errors: 0,
            schedule: None,
        }
    };
    trial.seconds = (0..20).map(|number| second(number).into()).collect();
    let mut steady = Steady::default();
    for second in trial.seconds.iter().skip(7) {
        steady.add(&second.transactions, second.length);
    }
    if let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome {
        let what = What::Drift { change: 0.6, left_out_s: 7, steady: Some(steady) };
        doubts.push(Doubt::new(Level::Suspicious, what));
    }
}

/// For random trials, some invalid, some drifting, with and without several starts of the servers.
#[test]
fn the_width_in_the_report_is_the_one_that_ended_repeating() {
    for seed in 0..20 {
        let mut noise = noise(500 + seed);
        let (repeats, restarts) = [(3, 1), (4, 2), (5, 3), (6, 2), (2, 1)][seed as usize % 5];
        let measure = [
            format!("repeats={repeats}"),
            format!("restarts={restarts}"),
            "precision=\"0.1%\"".to_owned(),
            format!("repeats_max={repeats}"),
            "repeat_invalid=0".to_owned(),
        ];
        let plan = plan(&measure.each_ref().map(String::as_str));
        let mut record = record(plan, |treatment, _| bent(treatment) * (0.2 * noise.normal()).exp());
        for trial in &mut record.trials {
            let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome else { continue };
            if noise.normal() > 1.3 {
                doubts.push(Doubt::new(Level::Invalid, What::WorkerBusy { busy: 0.99 }));
            }
            if noise.normal() > 0.8 {
                let connections = record.plan.treatments[trial.trial.treatment].streams[0].connections;
                drifts(trial, connections, 10_000.0 * (0.2 * noise.normal()).exp());
            }
        }
        let earlier: Vec<_> = record.trials.iter().map(|one| (one.trial, one.outcome.clone())).collect();
        let findings = analyse(&record);
        let stops = stops(&record.plan, &earlier);
        assert_eq!(stops.len(), findings.points.len());
        for point in &findings.points {
            let stop = stops[point.treatment];
            let told = point.throughput.relative_half_width().filter(|_| point.throughput.observations > 1);
            let is_same = match (told, stop.half_width) {
                (Some(told), Some(ended)) => (told / ended - 1.0).abs() < 1e-9,
                (told, ended) => told == ended,
            };
            assert!(is_same, "{told:?} in the report, {stop:?} ({repeats} repeats, {restarts} starts)");
        }
    }
}
