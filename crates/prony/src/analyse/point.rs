//! Trials of one treatment become a point.

use super::{LEVEL, Point, doubt};
use crate::{
    plan::Treatment,
    run::{Doubt, TrialOutcome},
    store::{RunRecord, TrialRecord},
};
use load::{
    Outcome,
    sample::{End, Phase, StreamOutcome, Tally},
};
use stats::{Estimate, Spread};
use std::{collections::BTreeMap, time::Duration};

/// What is estimated of each treatment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    /// Transactions per second.
    Throughput,
    /// Statements per second.
    Statements,
    /// Mean response time.
    Mean,
    /// A quantile of response time, in thousandths.
    Quantile(u16),
}

impl Metric {
    /// Everything that a point has.
    pub(super) const ALL: [Self; 7] = [
        Self::Throughput,
        Self::Statements,
        Self::Mean,
        Self::Quantile(500),
        Self::Quantile(950),
        Self::Quantile(990),
        Self::Quantile(999),
    ];

    /// As it is called in findings.
    pub(super) fn name(self) -> String {
        match self {
            Self::Throughput => "throughput".to_owned(),
            Self::Statements => "statements".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Quantile(thousandths) if thousandths.is_multiple_of(10) => format!("p{}", thousandths / 10),
            Self::Quantile(thousandths) => format!("p{}", f64::from(thousandths) / 10.0),
        }
    }

    /// Reads it from tallies over a time; `None` where there is nothing to read, or it is 0 and has no logarithm.
    fn read(self, work: &Work) -> Option<f64> {
        let seconds = work.time.as_secs_f64();
        let value = match self {
            Self::Throughput => work.transactions.count as f64 / seconds,
            Self::Statements => work.statements as f64 / seconds,
            Self::Mean => work.transactions.response().mean_ns() / 1e6,
            Self::Quantile(thousandths) => {
                work.transactions.response().quantile_ns(f64::from(thousandths) / 1000.0) as f64 / 1e6
            }
        };
        (value > 0.0 && value.is_finite()).then_some(value)
    }
}

/// Work done in some time.
#[derive(Debug, Clone, Default)]
struct Work {
    transactions: Tally,
    statements: u64,
    time: Duration,
}

impl Work {
    fn add(&mut self, transactions: &Tally, statements: &[Tally], time: Duration) {
        self.transactions.merge(transactions);
        self.statements += statements.iter().map(|tally| tally.count).sum::<u64>();
        self.time += time;
    }
}

/// A point, with what comparisons need beside its estimates.
#[derive(Debug)]
pub(super) struct Measured {
    /// The point.
    pub(super) point: Point,
    /// For each metric that could be read of every trial: logarithm of the value of all trials together.
    pub(super) logs: BTreeMap<Metric, f64>,
    /// The same for each trial, by block.
    pub(super) logs_by_block: BTreeMap<Metric, BTreeMap<u32, f64>>,
    /// How the logarithms differ between trials; missing where nothing is known.
    pub(super) spreads: BTreeMap<Metric, Spread>,
}

/// Trials of a treatment that count, and why the others do not.
struct Sorted<'a> {
    treatment: usize,
    used: Vec<(&'a TrialRecord, &'a Outcome, &'a [Doubt])>,
    left_out: Vec<String>,
}

/// Every treatment with at least one trial, in the plan's order.
pub(super) fn measure(record: &RunRecord) -> Vec<Measured> {
    let sorted: Vec<Sorted<'_>> = (0..record.plan.treatments.len())
        .map(|treatment| sort(record, treatment))
        .filter(|sorted| !sorted.used.is_empty() || !sorted.left_out.is_empty())
        .collect();
    let works: Vec<Vec<(u32, Work)>> = sorted.iter().map(|sorted| work_by_block(sorted)).collect();
    let mut measured: Vec<Measured> =
        sorted.iter().zip(&works).map(|(sorted, works)| bare(record, sorted, works)).collect();
    for metric in Metric::ALL {
        let values = |measured: &Measured| -> Vec<f64> {
            measured
                .logs_by_block
                .get(&metric)
                .map(|logs| logs.values().copied().collect())
                .unwrap_or_default()
        };
        let groups: Vec<Vec<f64>> = measured.iter().map(values).collect();
        for (measured, spread) in measured.iter_mut().zip(stats::moderate(&groups)) {
            measured.spreads.extend(spread.map(|spread| (metric, spread)));
        }
    }
    for (measured, sorted) in measured.iter_mut().zip(&sorted) {
        estimate(measured, sorted);
    }
    measured
}

fn sort(record: &RunRecord, treatment: usize) -> Sorted<'_> {
    let mut sorted = Sorted { treatment, used: Vec::new(), left_out: Vec::new() };
    for trial in record.trials.iter().filter(|trial| trial.trial.treatment == treatment) {
        let reason = match &trial.outcome {
            TrialOutcome::Failed(reason) => reason.clone(),
            TrialOutcome::Measured { outcome, doubts } => match &outcome.end {
                End::Completed if !outcome.streams.is_empty() && !outcome.interval.is_zero() => {
                    sorted.used.push((trial, outcome, doubts));
                    continue;
                }
                End::Completed => "it measured nothing".to_owned(),
                End::Interrupted => "it was interrupted".to_owned(),
                End::Failed(reason) => reason.clone(),
            },
        };
        sorted.left_out.push(format!("trial {}: {reason}", trial.trial.number + 1));
    }
    sorted
}

fn work_by_block(sorted: &Sorted<'_>) -> Vec<(u32, Work)> {
    let work = |outcome: &Outcome| {
        let stream = measured_stream(outcome);
        let mut work = Work::default();
        work.add(&stream.transactions, &stream.statements, outcome.interval);
        work
    };
    sorted.used.iter().map(|(trial, outcome, _)| (trial.trial.block, work(outcome))).collect()
}

/// The stream that is judged: the study's first; others are its background.
fn measured_stream(outcome: &Outcome) -> &StreamOutcome {
    &outcome.streams[0]
}

/// The point without intervals.
fn bare(record: &RunRecord, sorted: &Sorted<'_>, works: &[(u32, Work)]) -> Measured {
    let treatment = &record.plan.treatments[sorted.treatment];
    let mut all = Work::default();
    for (_, work) in works {
        all.transactions.merge(&work.transactions);
        all.statements += work.statements;
        all.time += work.time;
    }
    let mut logs = BTreeMap::new();
    let mut logs_by_block = BTreeMap::new();
    for metric in Metric::ALL {
        let readable = works.iter().filter(|(_, work)| metric.read(work).is_some()).count();
        let Some(value) = metric.read(&all).filter(|_| readable == works.len()) else { continue };
        logs.insert(metric, value.ln());
        let by_block = works.iter().filter_map(|(block, work)| Some((*block, metric.read(work)?.ln())));
        logs_by_block.insert(metric, by_block.collect());
    }
    let trials = u32::try_from(works.len()).unwrap_or(u32::MAX);
    let histogram = all.transactions.response().clone();
    let errors = errors(sorted);
    let failed: u64 = errors.values().sum();
    let seconds = all.time.as_secs_f64();
    let throughput = if seconds > 0.0 { all.transactions.count as f64 / seconds } else { 0.0 };
    let point = Point {
        treatment: sorted.treatment,
        levels: treatment.levels.clone(),
        server: record.plan.servers[treatment.server].name.clone(),
        connections: treatment.streams.first().map_or(0, |stream| stream.connections),
        trials,
        left_out: sorted.left_out.clone(),
        throughput: Estimate::bare(throughput, LEVEL, trials),
        statements_per_second: Estimate::bare(
            if seconds > 0.0 { all.statements as f64 / seconds } else { 0.0 },
            LEVEL,
            trials,
        ),
        latency_ms: BTreeMap::new(),
        latency_max_ms: histogram.max_ns() as f64 / 1e6,
        throughput_by_trial: works
            .iter()
            .map(|(_, work)| work.transactions.count as f64 / work.time.as_secs_f64())
            .collect(),
        error_share: failed as f64 / (failed + all.transactions.count).max(1) as f64,
        errors,
        server_cpu: mean(sorted.used.iter().flat_map(|(trial, _, _)| server_cpu(record, trial))),
        client_cpu: mean(sorted.used.iter().map(|(_, outcome, _)| client_cpu(outcome))).unwrap_or(0.0),
        doubts: doubts(treatment, sorted),
        histogram,
    };
    Measured { point, logs, logs_by_block, spreads: BTreeMap::new() }
}

/// Fills the estimates in: between trials, or, where there is only one in the whole run, within it.
fn estimate(measured: &mut Measured, sorted: &Sorted<'_>) {
    let trials = measured.point.trials;
    for (&metric, &log) in &measured.logs {
        let estimate = match measured.spreads.get(&metric) {
            Some(spread) => spread.interval_of_exp(log, trials, LEVEL),
            None => within(metric, log, sorted),
        };
        match metric {
            Metric::Throughput => measured.point.throughput = estimate,
            Metric::Statements => measured.point.statements_per_second = estimate,
            Metric::Quantile(999) if measured.point.histogram.count() < 10_000 => {}
            Metric::Mean | Metric::Quantile(_) => {
                measured.point.latency_ms.insert(metric.name(), estimate);
            }
        }
    }
}

/// The interval of a lone trial, from batches of its seconds.
fn within(metric: Metric, log: f64, sorted: &Sorted<'_>) -> Estimate {
    let bare = Estimate::bare(log.exp(), LEVEL, 1);
    let [(trial, _, _)] = sorted.used.as_slice() else { return bare };
    let seconds: Vec<_> =
        trial.samples.iter().filter(|sample| sample.stream == 0 && sample.phase == Phase::Measure).collect();
    let Some(batches) = stats::batches(seconds.len()) else { return bare };
    let count = u32::try_from(batches.len()).unwrap_or(u32::MAX);
    let logs: Option<Vec<f64>> = batches
        .into_iter()
        .map(|batch| {
            let mut work = Work::default();
            for sample in &seconds[batch] {
                work.add(&sample.transactions, &sample.statements, sample.length);
            }
            metric.read(&work).map(f64::ln)
        })
        .collect();
    match logs.and_then(|logs| Spread::of(&logs)) {
        Some(spread) => Estimate { observations: 1, ..spread.interval_of_exp(log, count, LEVEL) },
        None => bare,
    }
}

fn errors(sorted: &Sorted<'_>) -> BTreeMap<u16, u64> {
    let mut errors = BTreeMap::new();
    for (_, outcome, _) in &sorted.used {
        for error in &measured_stream(outcome).errors {
            *errors.entry(error.code).or_default() += error.count;
        }
    }
    errors
}

fn server_cpu(record: &RunRecord, trial: &TrialRecord) -> Vec<f64> {
    let measured = trial.readings.iter().filter(|reading| reading.at > record.plan.warm_up);
    measured.filter_map(|reading| reading.server_cpu).collect()
}

fn client_cpu(outcome: &Outcome) -> f64 {
    (outcome.client.cpu_user + outcome.client.cpu_system).as_secs_f64() / outcome.interval.as_secs_f64()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// What the trials themselves said, and what their numbers say together; each once.
fn doubts(treatment: &Treatment, sorted: &Sorted<'_>) -> Vec<String> {
    let told = sorted.used.iter().flat_map(|(_, _, doubts)| doubts.iter().map(ToString::to_string));
    let checked = sorted.used.iter().filter_map(|(_, outcome, _)| littles_law(treatment, outcome));
    let all: Vec<String> = told.chain(checked).collect();
    doubt::merge(all.iter().map(|text| ((), text.as_str()))).into_iter().map(|doubt| doubt.text).collect()
}

/// Share of the connections' time that may be missing before it is remarked.
const UNACCOUNTED_MAX: f64 = 0.1;
/// Transactions per connection below which the ones cut by the interval's ends outweigh the law.
const TRANSACTIONS_PER_CONNECTION_MIN: u64 = 10;

/// In a closed loop throughput times response time is the number of connections (Little's law).
fn littles_law(treatment: &Treatment, outcome: &Outcome) -> Option<String> {
    let connections = treatment.streams.first()?.connections;
    let transactions = &measured_stream(outcome).transactions;
    let enough = transactions.count >= TRANSACTIONS_PER_CONNECTION_MIN * u64::from(connections);
    if !enough || transactions.errors > transactions.count / 100 {
        return None;
    }
    let per_second = transactions.count as f64 / outcome.interval.as_secs_f64();
    let busy = stats::in_flight(per_second, transactions.response().mean_ns() / 1e9);
    let gap = busy / f64::from(connections) - 1.0;
    (gap.abs() > UNACCOUNTED_MAX).then(|| {
        let what = if gap < 0.0 { "too little" } else { "too much" };
        format!(
            "throughput times response time is {what} for the number of connections (Little's law): time was spent in the \
             client, or some connections stood still; use fewer connections, or a longer interval"
        )
    })
}
