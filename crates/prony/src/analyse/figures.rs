//! Figures of a trial that do not come from its transactions: the rate that was found for it, how far members
//! were behind, what a transaction cost. Claims can be about them, and the rate has a separate table. They
//! are read on demand, because they need the readings of all trials.

use super::{Measurement, following, resources, steady::Counted};
use crate::{
    plan::{Metric, Treatment},
    run::{Following, TrialOutcome},
    store::{RunRecord, TrialRecord},
    telemetry::Cost,
};
use load::Histogram;
use serde::Serialize;
use stats::{Estimate, Spread};
use std::collections::BTreeMap;

/// A figure of a point: for all its trials together, and for each unit.
pub(super) type Read = (f64, BTreeMap<u32, f64>);

/// Reads a figure of a point; `None` where it is unknown for some trial.
pub(super) fn read(
    record: &RunRecord,
    measurement: &Measurement,
    point: usize,
    figure: Metric,
) -> Option<Read> {
    let measured = &measurement.measured[point];
    let treatment = &record.plan.treatments[measured.point.treatment];
    let mut units: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in &record.trials {
        if let Some(place) = measured.places.get(&trial.trial.number) {
            units.entry(place.unit).or_default().push(trial);
        }
    }
    let all: Vec<&TrialRecord> = units.values().flatten().copied().collect();
    let stream = &measured.point.stream;
    let of = |trials: &[&TrialRecord]| value(record, (treatment, stream), trials, figure);
    let by_unit = units.iter().map(|(unit, trials)| Some((*unit, of(trials)?)));
    Some((of(&all)?, by_unit.collect::<Option<_>>()?))
}

/// Logarithm of a figure of a point over its trials of some blocks; `None` where it is unknown for one of
/// them, or is 0.
pub(super) fn read_log(
    record: &RunRecord,
    measurement: &Measurement,
    point: usize,
    figure: Metric,
    blocks: &[u32],
) -> Option<f64> {
    let measured = &measurement.measured[point];
    let is_one = |trial: &&TrialRecord| {
        measured.places.get(&trial.trial.number).is_some_and(|place| blocks.contains(&place.block))
    };
    let trials: Vec<&TrialRecord> = record.trials.iter().filter(is_one).collect();
    let treatment = &record.plan.treatments[measured.point.treatment];
    log(value(record, (treatment, &measured.point.stream), &trials, figure)?)
}

/// A figure of a stream over some trials together: lags and times to connect are merged, other figures are
/// averaged.
fn value(
    record: &RunRecord,
    (treatment, stream): (&Treatment, &str),
    trials: &[&TrialRecord],
    figure: Metric,
) -> Option<f64> {
    let mean = |of: &dyn Fn(&TrialRecord) -> Option<f64>| {
        let each: Vec<f64> = trials.iter().map(|trial| of(trial)).collect::<Option<_>>()?;
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    };
    match figure {
        Metric::Rate => treatment.goal.as_ref().and_then(|_| mean(&|trial| trial.outcome.sought()?.rate())),
        Metric::Lag | Metric::LagP99 => {
            let all = following::together(trials.iter().filter_map(|trial| followed(trial)))?;
            let lag = following::as_one(&all).lag;
            let ns = if figure == Metric::Lag { lag.mean_ns() } else { lag.quantile_ns(0.99) as f64 };
            (!lag.is_empty()).then_some(ns / 1e6)
        }
        Metric::Connect | Metric::ConnectP99 => {
            let times = connects(trials, stream);
            let ns = if figure == Metric::Connect { times.mean_ns() } else { times.quantile_ns(0.99) as f64 };
            (!times.is_empty()).then_some(ns / 1e6)
        }
        _ => mean(&|trial| cost(record, trial, figure).or_else(|| sampled(record, trial, figure))),
    }
}

/// How long the connections of a stream took to open: those opened in the measurement interval or, where
/// there were none, those opened before it.
fn connects(trials: &[&TrialRecord], stream: &str) -> Histogram {
    let streams = trials.iter().filter_map(|trial| match &trial.outcome {
        TrialOutcome::Measured { outcome, .. } => outcome.streams.iter().find(|one| one.name == stream),
        TrialOutcome::Failed(_) => None,
    });
    let (mut within, mut before) = (Histogram::new(), Histogram::new());
    for one in streams {
        within.merge(&one.reconnecting.total);
        before.merge(&one.opening.total);
    }
    if within.is_empty() { before } else { within }
}

/// What was sampled in the time of a trial that counts, or before that time.
fn sampled(record: &RunRecord, trial: &TrialRecord, figure: Metric) -> Option<f64> {
    let trial = std::iter::once(trial);
    if figure == Metric::CpuIdleAlone {
        return resources::alone(record, trial)?.cpu_idle;
    }
    let sampled = resources::sampled(record, trial);
    match figure {
        Metric::CpuIdle => sampled.cpu_idle,
        Metric::RowsScanned => sampled.rows_scanned,
        Metric::RowsRead => sampled.rows_read,
        Metric::TableLocksWaited => sampled.table_locks_waited,
        Metric::BufferPoolHit => sampled.buffer_pool_hit,
        _ => None,
    }
}

fn followed(trial: &TrialRecord) -> Option<&Following> {
    match &trial.outcome {
        TrialOutcome::Measured { following, .. } => following.as_deref(),
        TrialOutcome::Failed(_) => None,
    }
}

/// The cost of a transaction of any stream in the time of a trial that counts.
fn cost(record: &RunRecord, trial: &TrialRecord, figure: Metric) -> Option<f64> {
    let Counted { span, transactions_per_second } = Counted::of(record, trial)?;
    let cost = Cost::of(&trial.readings, span, transactions_per_second);
    match figure {
        Metric::ServerCpu => cost.server_cpu_us.map(|us| us / 1e3),
        Metric::ClientCpu => cost.client_cpu_us.map(|us| us / 1e3),
        Metric::Switches => cost.context_switches,
        Metric::Reads => cost.reads,
        Metric::Written => cost.written_kb,
        Metric::LogSyncs => cost.log_syncs,
        _ => None,
    }
}

/// The same as logarithms; `None` also where the figure is 0 in some unit.
pub(super) fn logs((value, by_unit): Read) -> Option<Read> {
    let by_unit = by_unit.into_iter().map(|(unit, value)| Some((unit, log(value)?)));
    Some((log(value)?, by_unit.collect::<Option<_>>()?))
}

fn log(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then(|| value.ln())
}

/// The highest rate of a treatment for which it is searched.
#[derive(Debug, Clone, Serialize)]
pub struct FoundRate {
    /// Index in [`super::Findings::points`].
    pub point: usize,
    /// The objective that is kept.
    pub objective: String,
    /// The highest rate that keeps it, per second: the mean over all trials, with the interval between
    /// trials.
    pub rate: Estimate,
    /// The lowest rate above it that was shown to break it in a trial, per second; `None`: in no trial.
    pub broken_at: Option<f64>,
    /// Throughput of a closed loop with the same connections, transactions per second, on average.
    pub closed_loop: f64,
    /// Number of loads in all searches together.
    pub loads: u32,
}

/// The highest rates that a run found, in the order of its points.
pub(super) fn rates(record: &RunRecord, measurement: &Measurement) -> Vec<FoundRate> {
    let searches = |point: &usize| {
        let point = &measurement.measured[*point].point;
        let goal = record.plan.treatments[point.treatment].goal.as_ref();
        goal.is_some_and(|goal| goal.stream == point.stream)
    };
    let points: Vec<usize> = (0..measurement.measured.len()).filter(searches).collect();
    let read: Vec<Option<Read>> =
        points.iter().map(|&point| logs(read(record, measurement, point, Metric::Rate)?)).collect();
    let groups: Vec<Vec<f64>> = read
        .iter()
        .map(|read| read.as_ref().map_or_else(Vec::new, |read| read.1.values().copied().collect()))
        .collect();
    let spreads = stats::moderate(&groups);
    let found = |((point, read), spread): ((&usize, &Option<Read>), Option<Spread>)| {
        let (log, by_unit) = read.as_ref()?;
        let measured = &measurement.measured[*point];
        let searches: Vec<_> = record
            .trials
            .iter()
            .filter(|trial| measured.places.contains_key(&trial.trial.number))
            .filter_map(|trial| trial.outcome.sought())
            .collect();
        let units = u32::try_from(by_unit.len()).unwrap_or(u32::MAX);
        let closed_loops = searches.iter().map(|one| one.closed_loop_per_second).sum::<f64>();
        Some(FoundRate {
            point: *point,
            objective: searches.first()?.objective.clone(),
            rate: Estimate::around_exp(*log, spread, units, super::LEVEL),
            broken_at: searches.iter().filter_map(|one| one.broken_at()).min_by(f64::total_cmp),
            closed_loop: closed_loops / searches.len() as f64,
            loads: searches.iter().map(|one| one.probes.len() as u32 + 1).sum(),
        })
    };
    points.iter().zip(&read).zip(spreads).filter_map(found).collect()
}
