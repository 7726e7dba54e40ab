//! The columns of each file. Times of transactions are in µs, everything else is in seconds since the load of
//! its trial began.

use super::{
    Error, Run,
    file::{Cell, Kind, Table},
};
use crate::{
    run::{TrialOutcome, verdict},
    store::{Second, TrialRecord},
};
use load::{
    Histogram,
    histogram::LOWEST_NS,
    sample::{Phase, StreamOutcome, Tally},
    spec::Stream,
};
use std::path::Path;

const NS_PER_US: f64 = 1000.0;

/// Of each power of two, how many buckets a histogram of three digits has.
const BUCKETS_PER_POWER_LOG2: u32 = 10;

const TRIALS: &[(&str, Kind)] = &[
    ("trial", Kind::Whole),
    ("block", Kind::Whole),
    ("again_of", Kind::Whole),
    ("treatment", Kind::Whole),
    ("study", Kind::Text),
    ("server", Kind::Text),
    ("server_version", Kind::Text),
    ("started", Kind::Moment),
    ("outcome", Kind::Text),
    ("failure", Kind::Text),
    ("verdict", Kind::Text),
    ("doubts", Kind::Text),
    ("warm_up_s", Kind::Number),
    ("interval_s", Kind::Number),
];

const SECONDS: &[(&str, Kind)] = &[
    ("trial", Kind::Whole),
    ("stream", Kind::Text),
    ("connections", Kind::Whole),
    ("second", Kind::Whole),
    ("phase", Kind::Text),
    ("length_s", Kind::Number),
    ("transactions", Kind::Whole),
    ("errors", Kind::Whole),
    ("rows", Kind::Whole),
    ("affected", Kind::Whole),
    ("offered", Kind::Whole),
    ("started", Kind::Whole),
    ("late", Kind::Whole),
    ("skipped", Kind::Whole),
    ("mean_us", Kind::Number),
    ("p50_us", Kind::Number),
    ("p95_us", Kind::Number),
    ("p99_us", Kind::Number),
    ("max_us", Kind::Number),
];

const STATEMENTS: &[(&str, Kind)] = &[
    ("trial", Kind::Whole),
    ("stream", Kind::Text),
    ("connections", Kind::Whole),
    ("second", Kind::Whole),
    ("phase", Kind::Text),
    ("length_s", Kind::Number),
    ("statement", Kind::Text),
    ("count", Kind::Whole),
    ("errors", Kind::Whole),
    ("rows", Kind::Whole),
    ("affected", Kind::Whole),
    ("mean_us", Kind::Number),
    ("p50_us", Kind::Number),
    ("p95_us", Kind::Number),
    ("p99_us", Kind::Number),
    ("max_us", Kind::Number),
];

const READINGS: &[(&str, Kind)] =
    &[("trial", Kind::Whole), ("at_s", Kind::Number), ("path", Kind::Text), ("value", Kind::Number)];

const HISTOGRAMS: &[(&str, Kind)] = &[
    ("trial", Kind::Whole),
    ("stream", Kind::Text),
    ("connections", Kind::Whole),
    ("kind", Kind::Text),
    ("name", Kind::Text),
    ("time", Kind::Text),
    ("low_us", Kind::Number),
    ("high_us", Kind::Number),
    ("count", Kind::Whole),
];

/// Writes all files of a run into a directory that is there, and returns their names.
pub(super) fn write(run: &Run<'_>, directory: &Path) -> Result<Vec<&'static str>, Error> {
    type Columns = Vec<(String, Kind)>;
    type Rows = fn(&Run<'_>, &mut Table) -> Result<(), Error>;
    let record = run.record;
    let mut of_trials = named(TRIALS);
    of_trials.extend(
        record.plan.factors.iter().map(|factor| (format!("level_{}", factor.name), kind(&factor.levels))),
    );
    let files: [(&str, Columns, Rows); 5] = [
        ("trials.parquet", of_trials, trials),
        ("seconds.parquet", named(SECONDS), seconds),
        ("statements.parquet", named(STATEMENTS), statements),
        ("readings.parquet", named(READINGS), readings),
        ("histograms.parquet", named(HISTOGRAMS), histograms),
    ];
    let about = [
        ("study", record.plan.name.as_str()),
        ("run", &record.uid),
        ("prony_version", &record.prony_version),
    ];
    let mut names = Vec::new();
    for (name, columns, rows) in files {
        let mut table = Table::begin(&directory.join(name), &record.uid, &columns, &about)?;
        rows(run, &mut table)?;
        table.finish()?;
        names.push(name);
    }
    Ok(names)
}

fn named(columns: &[(&str, Kind)]) -> Vec<(String, Kind)> {
    columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect()
}

/// A factor whose levels are all numbers has a column of numbers.
fn kind(levels: &[String]) -> Kind {
    let is_number = |level: &String| level.parse::<f64>().is_ok();
    if levels.iter().all(is_number) { Kind::Number } else { Kind::Text }
}

/// One row for each trial; the level of each factor is a column.
fn trials(&Run { record, said, .. }: &Run<'_>, table: &mut Table) -> Result<(), Error> {
    let plan = &record.plan;
    for TrialRecord { trial, started, outcome, .. } in &record.trials {
        let treatment = &plan.treatments[trial.treatment];
        let version = record.servers.get(&treatment.server).map(|server| &server.description.version);
        let mut row = vec![
            Cell::Whole(trial.number.into()),
            Cell::Whole(trial.block.into()),
            trial.again_of.map_or(Cell::Empty, |number| Cell::Whole(number.into())),
            Cell::Whole(trial.treatment as u64),
            Cell::Text(&plan.name),
            Cell::Text(&plan.servers[treatment.server].name),
            version.map_or(Cell::Empty, |version| Cell::Text(version)),
            Cell::Moment(*started),
        ];
        let words = said(outcome);
        match outcome {
            TrialOutcome::Failed(_) => {
                row.extend([Cell::Text("failed"), Cell::Text(&words)]);
                row.extend([Cell::Empty; 4]);
            }
            TrialOutcome::Measured { outcome, doubts, .. } => {
                let warm_up = outcome.warm_up.unwrap_or(plan.before_interval());
                row.extend([
                    Cell::Text("measured"),
                    Cell::Empty,
                    Cell::Text(verdict(doubts).name()),
                    Cell::Text(&words),
                    Cell::Number(warm_up.as_secs_f64()),
                    Cell::Number(outcome.interval.as_secs_f64()),
                ]);
            }
        }
        row.extend(plan.factors.iter().map(|factor| {
            match (treatment.levels.get(&factor.name), kind(&factor.levels)) {
                (None, _) => Cell::Empty,
                (Some(level), Kind::Number) => level.parse().map_or(Cell::Empty, Cell::Number),
                (Some(level), _) => Cell::Text(level),
            }
        }));
        table.row(&row)?;
    }
    Ok(())
}

/// One row for each second of each stream, warm-up included.
fn seconds(&Run { record, .. }: &Run<'_>, table: &mut Table) -> Result<(), Error> {
    for trial in &record.trials {
        let streams = &record.plan.treatments[trial.trial.treatment].streams;
        for sample in &trial.seconds {
            let stream = of_stream(streams.get(usize::from(sample.stream)));
            table.row(&second(trial.trial.number, stream, sample))?;
        }
    }
    Ok(())
}

/// Name and connections of a stream: the same columns whether these are varied or not.
fn of_stream(stream: Option<&Stream>) -> [Cell<'_>; 2] {
    stream.map_or([Cell::Text(""), Cell::Empty], |stream| {
        [Cell::Text(&stream.name), Cell::Whole(stream.connections.into())]
    })
}

fn second<'a>(
    trial: u32,
    [stream, connections]: [Cell<'a>; 2],
    sample: &Second,
) -> [Cell<'a>; SECONDS.len()] {
    let done = &sample.transactions;
    let [mean, p50, p95, p99, max] = times(done.response());
    let schedule = sample.schedule.as_ref();
    let count = |count: Option<u64>| count.map_or(Cell::Empty, Cell::Whole);
    [
        Cell::Whole(trial.into()),
        stream,
        connections,
        Cell::Whole(sample.second.into()),
        Cell::Text(phase(sample.phase)),
        Cell::Number(sample.length.as_secs_f64()),
        Cell::Whole(done.count),
        Cell::Whole(sample.errors),
        Cell::Whole(done.rows),
        Cell::Whole(done.affected),
        count(schedule.map(|schedule| schedule.offered)),
        count(schedule.map(|schedule| schedule.started)),
        count(schedule.map(|schedule| schedule.late)),
        count(schedule.map(|schedule| schedule.skipped)),
        mean,
        p50,
        p95,
        p99,
        max,
    ]
}

/// One row for each kind of statement of each second of each stream, warm-up included.
fn statements(&Run { record, store, .. }: &Run<'_>, table: &mut Table) -> Result<(), Error> {
    for trial in &record.trials {
        let number = trial.trial.number;
        let streams = &record.plan.treatments[trial.trial.treatment].streams;
        for sample in store.samples(record.id, number)? {
            let [stream, connections] = of_stream(streams.get(usize::from(sample.stream)));
            for tally in &sample.statements {
                let [mean, p50, p95, p99, max] = times(tally.response());
                table.row(&[
                    Cell::Whole(number.into()),
                    stream,
                    connections,
                    Cell::Whole(sample.second.into()),
                    Cell::Text(phase(sample.phase)),
                    Cell::Number(sample.length.as_secs_f64()),
                    Cell::Text(&tally.name),
                    Cell::Whole(tally.count),
                    Cell::Whole(tally.errors),
                    Cell::Whole(tally.rows),
                    Cell::Whole(tally.affected),
                    mean,
                    p50,
                    p95,
                    p99,
                    max,
                ])?;
            }
        }
    }
    Ok(())
}

/// Mean, three percentiles and the longest, empty where nothing was timed.
fn times<'a>(times: &Histogram) -> [Cell<'a>; 5] {
    let percentile = |quantile| times.quantile_ns(quantile) as f64;
    [times.mean_ns(), percentile(0.5), percentile(0.95), percentile(0.99), times.max_ns() as f64]
        .map(|ns| if times.is_empty() { Cell::Empty } else { Cell::Number(ns / NS_PER_US) })
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::WarmUp => "warm_up",
        Phase::Measure => "measure",
    }
}

/// One row for each figure of each reading.
fn readings(&Run { record, .. }: &Run<'_>, table: &mut Table) -> Result<(), Error> {
    for trial in &record.trials {
        for (row, span) in trial.readings.spans().iter().enumerate() {
            let (number, at) = (trial.trial.number.into(), span.at.as_secs_f64());
            for (path, column) in trial.readings.columns() {
                if let Some(value) = column.at(row) {
                    let (at, value) = (Cell::Number(at), Cell::Number(value));
                    table.row(&[Cell::Whole(number), at, Cell::Text(path), value])?;
                }
            }
        }
    }
    Ok(())
}

/// One row for each bucket of each histogram of the measurement: of all transactions, each transaction, and
/// each statement.
fn histograms(&Run { record, .. }: &Run<'_>, table: &mut Table) -> Result<(), Error> {
    for trial in &record.trials {
        let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { continue };
        let asked = &record.plan.treatments[trial.trial.treatment].streams;
        for (place, stream) in outcome.streams.iter().enumerate() {
            let named = of_stream(asked.get(place));
            for (kind, tally) in tallies(stream) {
                let service = tally.response.as_ref().map(|_| ("service", &tally.service));
                for (time, histogram) in std::iter::once(("response", tally.response())).chain(service) {
                    buckets(trial.trial.number, named, (kind, &tally.name, time), histogram, table)?;
                }
            }
        }
    }
    Ok(())
}

fn tallies(stream: &StreamOutcome) -> impl Iterator<Item = (&'static str, &Tally)> {
    let all = std::iter::once(("all", &stream.transactions));
    let each = stream.by_transaction.iter().map(|tally| ("transaction", tally));
    all.chain(each).chain(stream.statements.iter().map(|tally| ("statement", tally)))
}

fn buckets(
    trial: u32,
    [stream, connections]: [Cell<'_>; 2],
    (kind, name, time): (&str, &str, &str),
    histogram: &Histogram,
    table: &mut Table,
) -> Result<(), Error> {
    for (highest_ns, count) in histogram.buckets() {
        table.row(&[
            Cell::Whole(trial.into()),
            stream,
            connections,
            Cell::Text(kind),
            Cell::Text(name),
            Cell::Text(time),
            Cell::Number(lowest_ns(highest_ns) as f64 / NS_PER_US),
            Cell::Number(highest_ns as f64 / NS_PER_US),
            Cell::Whole(count),
        ])?;
    }
    Ok(())
}

/// Lower end of the bucket with this upper end.
fn lowest_ns(highest_ns: u64) -> u64 {
    let power = highest_ns.max(1).ilog2();
    let width = LOWEST_NS.max(1 << power.saturating_sub(BUCKETS_PER_POWER_LOG2));
    (highest_ns + 1).saturating_sub(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_no_bucket_is_wider_than_it_must_be() {
        for value in (4..40).flat_map(|power| [-1, 0, 1, 77].map(|more| ((1_i64 << power) + more) as u64)) {
            let mut histogram = Histogram::new();
            histogram.record_ns(value);
            let (highest, count) = histogram.buckets().next().unwrap();
            let lowest = lowest_ns(highest);
            assert!(count == 1 && lowest <= value && value <= highest, "{lowest} {value} {highest}");
            // what lies just below is in another one
            if let Some(below) = lowest.checked_sub(1) {
                histogram.record_ns(below);
                histogram.record_ns(lowest);
                let found: Vec<_> = histogram.buckets().collect();
                assert_eq!(found, [(below, 1), (highest, 2)]);
            }
        }
    }
}
