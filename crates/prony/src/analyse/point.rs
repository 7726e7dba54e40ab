//! Turns the trials of one treatment into a point.

use super::{
    LEVEL, Limited, Point, STREAM, following,
    metric::{OF_POINTS, Work, share},
    mix::mix,
    steady::{self, Counted},
    tpcc::tpcc,
    tpch::tpch,
    validity::{LeftOut, Uncounted, reason_against},
};
use crate::{
    plan::{Metric, Plan},
    run::{Doubt, Evenness, Following, TrialFailure, TrialOutcome},
    store::{RunRecord, Second, TrialRecord},
};
use load::{
    Histogram, Outcome,
    sample::{Connects, End, Schedule, StreamOutcome, Tally},
    spec::{Arrival, Limit},
};
use stats::{Estimate, Spread};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// A point, with what comparisons need in addition to its estimates.
#[derive(Debug)]
pub(super) struct Measured {
    /// The point.
    pub(super) point: Point,
    /// What the counted trials did, block by block, ascending.
    pub(super) works: Vec<(Place, Work)>,
    /// The place of each counted trial, by [`crate::plan::Trial::number`].
    pub(super) places: BTreeMap<u32, Place>,
    /// The work of all of them together.
    pub(super) all: Work,
    /// For each metric that could be read for every trial: logarithm of the value of all trials together.
    pub(super) logs: BTreeMap<Metric, f64>,
    /// The same for each unit.
    pub(super) logs_by_block: BTreeMap<Metric, BTreeMap<u32, f64>>,
    /// How the logarithms differ between trials; missing where that is unknown.
    pub(super) spreads: BTreeMap<Metric, Spread>,
}

/// Where work belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The block or, where servers are started several times, the start: the independent unit.
    pub(super) unit: u32,
    /// The block, within which everything ran side by side.
    pub(super) block: u32,
}

impl Measured {
    /// The number of units that it has work of.
    pub(super) fn units(&self) -> u32 {
        let units: BTreeSet<u32> = self.works.iter().map(|(place, _)| place.unit).collect();
        u32::try_from(units.len()).unwrap_or(u32::MAX)
    }

    /// A spread between trials plus what rounding adds: trials that another tool rounded to the same figure
    /// are not equal.
    pub(super) fn with_rounding(&self, metric: Metric, spread: Spread) -> Spread {
        let rounding = self.all.rounding(metric) * f64::from(self.units());
        Spread { variance: spread.variance + rounding, ..spread }
    }
}

/// Trials of one stream of a treatment that count, and why the others do not.
struct Sorted<'a> {
    treatment: usize,
    /// Index in the treatment's streams.
    stream: usize,
    used: Vec<Used<'a>>,
    left_out: Vec<LeftOut>,
}

/// A trial that counts.
struct Used<'a> {
    trial: &'a TrialRecord,
    outcome: &'a Outcome,
    stream: &'a StreamOutcome,
    /// Its limit, if it was not reached.
    missed: Option<Limit>,
    doubts: Vec<&'a Doubt>,
    /// The stream's seconds that count, if those at the beginning do not; `None`: the whole interval counts.
    steady: Option<Vec<&'a Second>>,
}

impl<'a> Used<'a> {
    fn new(
        trial: &'a TrialRecord,
        outcome: &'a Outcome,
        (place, limit): (usize, Option<Limit>),
        doubts: Vec<&'a Doubt>,
    ) -> Self {
        let left_out = steady::left_out(doubts.iter().copied());
        let rest = || steady::seconds(trial, place).skip(left_out).collect::<Vec<_>>();
        let lasts = |rest: &Vec<&Second>| rest.iter().any(|second| !second.length.is_zero());
        let steady = (left_out > 0).then(rest).filter(lasts);
        let stream = &outcome.streams[place];
        let missed = limit.filter(|_| stream.limit_reached == Some(false));
        Self { trial, outcome, stream, missed, doubts, steady }
    }

    /// How long the stream was active.
    fn time(&self) -> Duration {
        self.stream.active_time(self.outcome.interval)
    }

    /// The stream's seconds that count.
    fn seconds(&self, place: usize) -> Vec<&'a Second> {
        self.steady.clone().unwrap_or_else(|| steady::seconds(self.trial, place).collect())
    }

    /// What became of the starts that were due in the time that counts. How long starts waited is recorded
    /// only for the whole interval, so it is unknown for a part of it.
    fn schedule(&self) -> Option<Schedule> {
        let Some(seconds) = &self.steady else { return self.stream.schedule.clone() };
        let of_second = |second: &&Second| {
            let starts = second.schedule.as_ref()?;
            Some(Schedule {
                backlog: starts.backlog,
                offered: starts.offered,
                started: starts.started,
                late: starts.late,
                skipped: starts.skipped,
                never_sent: starts.never_sent,
                delay: Histogram::new(),
            })
        };
        seconds.iter().filter_map(of_second).reduce(|mut all, second| {
            all.merge_after(&second);
            all
        })
    }

    /// Errors by code in the time that counts.
    fn errors(&self) -> BTreeMap<u16, u64> {
        let Some(seconds) = &self.steady else {
            return self.stream.errors.iter().map(|error| (error.code, error.count)).collect();
        };
        let from = self.outcome.interval.saturating_sub(seconds.iter().map(|second| second.length).sum());
        let from = self.stream.active.0.max(self.outcome.warm_up.unwrap_or_default()) + from;
        steady::errors(&self.stream.errors, from, seconds.iter().map(|second| second.errors).sum())
    }

    /// CPUs that Prony kept busy.
    fn client_cpu(&self, record: &RunRecord) -> f64 {
        let client = &self.outcome.client;
        let whole = (client.cpu_user + client.cpu_system).as_secs_f64() / self.outcome.interval.as_secs_f64();
        let of_part = || {
            let counted = Counted::of(record, self.trial)?;
            let readings = &self.trial.readings;
            readings.mean(&counted.rows(readings), &readings.client_cpu()?)
        };
        self.steady.as_ref().and_then(|_| of_part()).unwrap_or(whole)
    }

    fn following(&self) -> Option<&Following> {
        match &self.trial.outcome {
            TrialOutcome::Measured { following, .. } => following.as_deref(),
            TrialOutcome::Failed(_) => None,
        }
    }

    fn is_overloaded(&self) -> bool {
        self.doubts.iter().any(|doubt| doubt.is_overload())
    }
}

/// Every stream of every treatment with at least one trial, in the plan's order.
pub(super) fn measure(record: &RunRecord) -> Vec<Measured> {
    let streams = |treatment: usize| record.plan.treatments[treatment].measured().map(|(stream, _)| stream);
    let sorted: Vec<Sorted<'_>> = (0..record.plan.treatments.len())
        .flat_map(|treatment| streams(treatment).map(move |stream| (treatment, stream)))
        .map(|(treatment, stream)| sort(record, treatment, stream))
        .filter(|sorted| !sorted.used.is_empty() || !sorted.left_out.is_empty())
        .collect();
    let works: Vec<Vec<(u32, Work)>> = sorted.iter().map(work_by_block).collect();
    let metrics = metrics(record);
    let mut measured: Vec<Measured> =
        sorted.iter().zip(works).map(|(sorted, works)| bare(record, sorted, works, &metrics)).collect();
    let mut names: Vec<String> = measured.iter().map(|one| one.point.stream.clone()).collect();
    names.sort_unstable();
    names.dedup();
    for (name, &metric) in names.iter().flat_map(|name| metrics.iter().map(move |metric| (name, metric))) {
        // how a paced background varies says nothing about how the task beside it varies
        let mut alike: Vec<&mut Measured> =
            measured.iter_mut().filter(|one| one.point.stream == *name).collect();
        let values = |measured: &&mut Measured| -> Vec<f64> {
            let logs = measured.logs_by_block.get(&metric);
            logs.map(|logs| logs.values().copied().collect()).unwrap_or_default()
        };
        let groups: Vec<Vec<f64>> = alike.iter().map(values).collect();
        for (measured, spread) in alike.iter_mut().zip(stats::moderate(&groups)) {
            let spread = spread.map(|spread| measured.with_rounding(metric, spread));
            measured.spreads.extend(spread.map(|spread| (metric, spread)));
        }
    }
    for (measured, sorted) in measured.iter_mut().zip(&sorted) {
        estimate(measured, sorted, &record.plan);
        let stated = sorted.used.iter().filter_map(|used| used.trial.told.get("max"));
        measured.point.latency_max_ms = stated.copied().fold(measured.point.latency_max_ms, f64::max);
    }
    measured
}

/// All metrics of points, and the percentiles that other tools stated.
fn metrics(record: &RunRecord) -> Vec<Metric> {
    let stated: BTreeSet<&String> = record.trials.iter().flat_map(|trial| trial.told.keys()).collect();
    let stated = stated.into_iter().filter_map(|name| name.parse().ok());
    let stated = stated.filter(|metric| !OF_POINTS.contains(metric));
    OF_POINTS.into_iter().chain(stated).collect()
}

fn sort(record: &RunRecord, treatment: usize, stream: usize) -> Sorted<'_> {
    let mut sorted = Sorted { treatment, stream, used: Vec::new(), left_out: Vec::new() };
    let load::spec::Stream { name, limit, .. } = &record.plan.treatments[treatment].streams[stream];
    for trial in record.trials.iter().filter(|trial| trial.trial.treatment == treatment) {
        let why = match &trial.outcome {
            TrialOutcome::Failed(failure) => Uncounted::Failed(failure.clone()),
            TrialOutcome::Measured { outcome, doubts, .. } => match &outcome.end {
                End::Completed => match outcome.streams.get(stream) {
                    Some(told) if !told.active_time(outcome.interval).is_zero() => {
                        if let Some(why) = reason_against(record, trial) {
                            sorted.left_out.push(LeftOut { trial: trial.trial.number, why });
                            continue;
                        }
                        let own = |doubt: &&Doubt| doubt.stream.as_ref().is_none_or(|about| about == name);
                        let doubts = doubts.iter().filter(own).collect();
                        sorted.used.push(Used::new(trial, outcome, (stream, *limit), doubts));
                        continue;
                    }
                    _ => Uncounted::NothingMeasured,
                },
                End::Interrupted => Uncounted::Interrupted,
                End::Failed(broken) => Uncounted::Failed(TrialFailure::Load { cause: broken.clone().into() }),
            },
        };
        sorted.left_out.push(LeftOut { trial: trial.trial.number, why });
    }
    sorted
}

fn work_by_block(sorted: &Sorted<'_>) -> Vec<(u32, Work)> {
    sorted.used.iter().map(|used| (used.trial.trial.block, work(used))).collect()
}

/// What a trial did; if it was not steady at first, only what it did afterwards. The rest of a limit that it
/// did not reach is extrapolated.
fn work(used: &Used<'_>) -> Work {
    let work = done(used);
    match used.missed {
        Some(limit) => work.extrapolated(limit),
        None => work,
    }
}

fn done(used: &Used<'_>) -> Work {
    let steady = used.steady.as_ref().and_then(|seconds| Work::all(seconds.iter().map(|one| of_second(one))));
    match steady {
        Some(work) => Work { trials: 1, ..work },
        None => {
            let transactions = used.stream.transactions.clone();
            let told = &used.trial.told;
            Work {
                statements: used.stream.statements.iter().map(|tally| tally.count).sum(),
                rows: used.stream.statements.iter().map(|tally| tally.rows + tally.affected).sum(),
                time: used.time(),
                seconds_left: 0.0,
                trials: 1,
                is_stated: !told.is_empty() && transactions.response().is_empty(),
                stated: (!told.is_empty()).then(|| (transactions.count, told.clone())).into_iter().collect(),
                transactions,
            }
        }
    }
}

fn of_second(second: &Second) -> Work {
    let statements = second.statements.iter().map(|counts| counts.count).sum();
    let rows = second.statements.iter().map(|counts| counts.rows + counts.affected).sum();
    let transactions = second.transactions.clone();
    Work { transactions, statements, rows, time: second.length, trials: 1, ..Work::default() }
}

/// The point without intervals.
fn bare(record: &RunRecord, sorted: &Sorted<'_>, trials: Vec<(u32, Work)>, metrics: &[Metric]) -> Measured {
    let place = |block: u32| Place { unit: record.plan.unit_of(block), block };
    let works = by_block(&trials).map(|(block, work)| (place(block), work)).collect::<Vec<_>>();
    let numbers = sorted.used.iter().map(|used| used.trial.trial);
    let places = numbers.map(|trial| (trial.number, place(trial.block))).collect();
    let all = Work::all(works.iter().map(|(_, work)| work.clone())).unwrap_or_default();
    let mut logs = BTreeMap::new();
    let mut logs_by_block = BTreeMap::new();
    for &metric in metrics {
        if let Some((log, by_block)) = read(metric, &works, &all) {
            logs.insert(metric, log);
            logs_by_block.insert(metric, by_block);
        }
    }
    let point = point(record, sorted, &trials, &all);
    Measured { point, works, places, all, logs, logs_by_block, spreads: BTreeMap::new() }
}

/// Trials of one block together: more than one only where none of them is valid.
fn by_block(trials: &[(u32, Work)]) -> impl Iterator<Item = (u32, Work)> {
    let mut blocks: BTreeMap<u32, Vec<Work>> = BTreeMap::new();
    for (block, work) in trials {
        blocks.entry(*block).or_default().push(work.clone());
    }
    blocks.into_iter().filter_map(|(block, works)| Some((block, Work::all(works.into_iter())?)))
}

/// Logarithm of a metric over all trials together, and in each unit; `None` where it cannot be read for every
/// trial.
pub(super) fn read(metric: Metric, works: &[(Place, Work)], all: &Work) -> Option<(f64, BTreeMap<u32, f64>)> {
    let value = all.read(metric)?;
    let of_unit = |unit: &[(Place, Work)]| Some((unit[0].0.unit, read_log(metric, unit.iter())?));
    let by_unit = works.chunk_by(|one, other| one.0.unit == other.0.unit).map(of_unit);
    Some((value.ln(), by_unit.collect::<Option<_>>()?))
}

/// Logarithm of a metric over some works together.
pub(super) fn read_log<'a>(
    metric: Metric,
    mut works: impl Iterator<Item = &'a (Place, Work)>,
) -> Option<f64> {
    let (_, first) = works.next()?;
    let value = match works.next() {
        None => first.read(metric)?,
        Some(second) => {
            let others = std::iter::once(second).chain(works).map(|(_, work)| work.clone());
            Work::all(std::iter::once(first.clone()).chain(others))?.read(metric)?
        }
    };
    Some(value.ln())
}

fn point(record: &RunRecord, sorted: &Sorted<'_>, works: &[(u32, Work)], all: &Work) -> Point {
    let treatment = &record.plan.treatments[sorted.treatment];
    let stream = &treatment.streams[sorted.stream];
    let mut levels = treatment.levels.clone();
    if record.plan.treatments.iter().any(|treatment| treatment.streams.len() > 1) {
        levels.insert(STREAM.to_owned(), stream.name.clone());
    }
    let used = &sorted.used;
    let trials = u32::try_from(works.len()).unwrap_or(u32::MAX);
    let seconds = all.time.as_secs_f64();
    let limit_seconds = (seconds + all.seconds_left) / f64::from(trials.max(1));
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let histogram = all.transactions.response().clone();
    let errors = errors(used);
    let mix = mix(used.iter().map(|used| (used.stream, used.time())));
    let failed: u64 = errors.values().sum();
    Point {
        treatment: sorted.treatment,
        levels,
        server: record.plan.servers[treatment.server].name.clone(),
        stream: stream.name.clone(),
        connections: stream.connections,
        idle: stream.idle,
        trials,
        left_out: sorted.left_out.clone(),
        throughput: Estimate::bare(per_second(all.transactions.count), LEVEL, trials),
        statements_per_second: Estimate::bare(per_second(all.statements), LEVEL, trials),
        latency_ms: BTreeMap::new(),
        latency_max_ms: histogram.max_ns() as f64 / 1e6,
        throughput_by_trial: works
            .iter()
            .map(|(_, work)| work.transactions.count as f64 / work.time.as_secs_f64())
            .collect(),
        service_ms: all
            .transactions
            .response
            .as_ref()
            .map(|_| service(&all.transactions))
            .unwrap_or_default(),
        tpcc: tpcc(&record.plan, treatment, stream, &mix),
        tpch: tpch(&record.plan, treatment, stream, &mix),
        mix,
        schedule: schedule(used),
        active_s: seconds,
        utilisation: None,
        overloaded: used.iter().filter(|used| used.is_overloaded()).count() as u32,
        limit: stream.limit.map(|_| Limited {
            reached: used.iter().filter(|used| used.stream.limit_reached == Some(true)).count() as u32,
            extrapolated: used.iter().filter(|used| used.missed.is_some()).count() as u32,
            seconds: Some(Estimate::bare(limit_seconds, LEVEL, trials))
                .filter(|estimate| estimate.value.is_finite()),
        }),
        rows_per_second: per_second(all.rows),
        opening: connects(used.iter().map(|used| &used.stream.opening)),
        reconnecting: connects(used.iter().map(|used| &used.stream.reconnecting)),
        outages: outages(used),
        fairness: fairness(used),
        following: following::together(used.iter().filter_map(|used| used.following())),
        starved: used.iter().map(|used| starved(used.stream)).max().unwrap_or(0),
        error_share: failed as f64 / (failed + all.transactions.count).max(1) as f64,
        errors,
        server_cpu: mean(used.iter().flat_map(|used| server_cpu(record, used))),
        client_cpu: mean(used.iter().map(|used| used.client_cpu(record))).unwrap_or(0.0),
        doubts: used.iter().flat_map(|used| used.doubts.iter().copied().cloned()).collect(),
        histogram,
    }
}

/// Whether the point's stream is a closed loop without pauses and without a limit.
pub(super) fn is_closed(plan: &Plan, point: &Point) -> bool {
    let streams = &plan.treatments[point.treatment].streams;
    let stream = streams.iter().find(|stream| stream.name == point.stream);
    stream.is_some_and(|stream| stream.arrival == Arrival::Closed && stream.limit.is_none())
}

/// Quantiles of service time by the names of [`Metric`].
fn service(transactions: &Tally) -> BTreeMap<String, f64> {
    let histogram: &Histogram = &transactions.service;
    if histogram.is_empty() {
        return BTreeMap::new();
    }
    let quantiles = OF_POINTS.into_iter().filter_map(|metric| match metric {
        Metric::Mean => Some((metric.to_string(), histogram.mean_ns() / 1e6)),
        Metric::Quantile(99_900) if histogram.count() < TAIL_MIN => None,
        Metric::Quantile(parts) => {
            Some((metric.to_string(), histogram.quantile_ns(share(parts)) as f64 / 1e6))
        }
        _ => None,
    });
    quantiles.collect()
}

fn schedule(used: &[Used<'_>]) -> Option<Schedule> {
    used.iter().filter_map(Used::schedule).reduce(|mut all, one| {
        all.merge_beside(&one);
        all
    })
}

fn connects<'a>(all: impl Iterator<Item = &'a Connects>) -> Connects {
    let mut together = Connects::default();
    all.for_each(|one| together.merge(one));
    together
}

fn outages(used: &[Used<'_>]) -> Vec<(u32, load::sample::Outage)> {
    let of = |used: &Used<'_>| {
        let number = used.trial.trial.number;
        used.stream.outages.iter().map(move |outage| (number, *outage)).collect::<Vec<_>>()
    };
    used.iter().flat_map(of).collect()
}

fn starved(stream: &StreamOutcome) -> u64 {
    stream.transactions_by_connection.iter().filter(|&&count| count == 0).count() as u64
}

/// How evenly connections were served in the trial where they differ most.
fn fairness(used: &[Used<'_>]) -> Option<Evenness> {
    let each = used.iter().map(|used| &used.stream.transactions_by_connection);
    let each = each.filter(|counts| counts.len() > 1).filter_map(|counts| Evenness::of(counts));
    each.max_by(|one, other| one.variation.total_cmp(&other.variation))
}

/// Transactions below which the 99.9th percentile says nothing: fewer than ten would lie above it.
const TAIL_MIN: u64 = 10_000;

/// Fills in the estimates: between trials or, where there is only one in the whole run, within it.
fn estimate(measured: &mut Measured, sorted: &Sorted<'_>, plan: &Plan) {
    let is_searched = plan.treatments[sorted.treatment].searched() == Some(sorted.stream);
    let units = measured.units();
    for (&metric, &log) in &measured.logs {
        let estimate = match measured.spreads.get(&metric) {
            Some(spread) => spread.interval_of_exp(log, units, LEVEL),
            // how a searched rate varies cannot be seen within a trial
            None if is_searched && metric == Metric::Throughput => Estimate::bare(log.exp(), LEVEL, units),
            None => within(metric, log, sorted),
        };
        match metric {
            Metric::Throughput => measured.point.throughput = estimate,
            Metric::Statements => measured.point.statements_per_second = estimate,
            Metric::Quantile(99_900)
                if measured.point.histogram.count() < TAIL_MIN && !measured.all.is_stated => {}
            Metric::Mean | Metric::Quantile(_) => {
                measured.point.latency_ms.insert(metric.to_string(), estimate);
            }
            Metric::Active => {
                if let Some(limit) = &mut measured.point.limit {
                    limit.seconds = Some(estimate);
                }
            }
            _ => {}
        }
    }
}

/// The interval of a lone trial, from batches of its seconds.
fn within(metric: Metric, log: f64, sorted: &Sorted<'_>) -> Estimate {
    let bare = Estimate::bare(log.exp(), LEVEL, 1);
    let [used] = sorted.used.as_slice() else { return bare };
    // the time that a limit really took is known; an extrapolated time is as certain as the rate behind it
    let read = |work: &Work| match (metric, used.missed) {
        (Metric::Active, None) => None,
        (Metric::Active, Some(limit)) => {
            Some(work.done(limit) as f64 / work.time.as_secs_f64()).filter(|rate| *rate > 0.0)
        }
        _ => work.read(metric),
    };
    let seconds = used.seconds(sorted.stream);
    let Some(batches) = stats::batches(seconds.len()) else { return bare };
    let count = u32::try_from(batches.len()).unwrap_or(u32::MAX);
    let logs: Option<Vec<f64>> = batches
        .into_iter()
        .map(|batch| {
            let work = Work::all(seconds[batch].iter().map(|second| of_second(second)))?;
            read(&work).map(f64::ln)
        })
        .collect();
    let Some(spread) = logs.and_then(|logs| Spread::of(&logs)) else { return bare };
    // only the share of the time that is left varies with the rate
    let all = work(used);
    let share = if metric == Metric::Active { all.seconds_left / log.exp() } else { 1.0 };
    let spread = Spread { variance: spread.variance * share.powi(2), ..spread };
    Estimate { observations: 1, ..spread.interval_of_exp(log, count, LEVEL) }
}

fn errors(used: &[Used<'_>]) -> BTreeMap<u16, u64> {
    let mut errors = BTreeMap::new();
    for (code, count) in used.iter().flat_map(Used::errors) {
        *errors.entry(code).or_default() += count;
    }
    errors
}

fn server_cpu(record: &RunRecord, used: &Used<'_>) -> Vec<f64> {
    let readings = &used.trial.readings;
    let inside = Counted::of(record, used.trial).map(|counted| counted.rows(readings)).unwrap_or_default();
    readings.server_cpu().map_or_else(Vec::new, |cpu| inside.iter().filter_map(|&row| cpu.at(row)).collect())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
