//! What the neighbours of a load did, and what the server itself counted of it. Figures of the load never
//! include theirs.

use super::steady::Counted;
use crate::{
    layout::neighbours::{self, Deed},
    plan::Treatment,
    run::TrialOutcome,
    store::{RunRecord, TrialRecord},
    telemetry::Series,
};
use load::{
    Histogram,
    sample::{End, StreamOutcome},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One neighbour of a treatment, all trials together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Neighbour {
    /// Index in [`crate::plan::Plan::servers`].
    pub server: usize,
    /// Level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Name of its stream.
    pub stream: String,
    /// Its workload: `deadlocks`.
    pub name: String,
    /// Its connections.
    pub connections: u32,
    /// Trials that it ran in.
    pub trials: u32,
    /// Duration of all these trials, s.
    pub seconds: f64,
    /// How often it did what it is there for; for open transactions, how many there were at a time.
    pub count: u64,
    /// Rows that it read or changed.
    pub rows: u64,
    /// Mean time of its statement, s; null: no statement is timed, or none ended.
    pub mean_s: Option<f64>,
    /// The longest time of its statement, s.
    pub max_s: Option<f64>,
    /// Transactions that failed, including those that were meant to.
    pub errors: u64,
    /// The server's counter of what it does: `deadlocks`.
    pub counter: String,
    /// What the server counted, for all of its connections together: times per second or, for a level, its
    /// highest value; null: the server does not count that, or was not sampled.
    pub counted: Option<f64>,
}

impl Neighbour {
    /// How often it did that, per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.count as f64 / self.seconds } else { 0.0 }
    }
}

/// Every neighbour, once for each treatment that it ran in, in the plan's order.
pub(super) fn neighbours(record: &RunRecord) -> Vec<Neighbour> {
    let treatments = record.plan.treatments.iter().enumerate();
    let streams = treatments.flat_map(|(number, treatment)| {
        let streams = treatment.streams.iter().enumerate();
        streams.map(move |(place, stream)| (number, place, stream))
    });
    streams.filter_map(|(number, place, stream)| of_stream(record, (number, place), stream)).collect()
}

fn of_stream(
    record: &RunRecord,
    (treatment, place): (usize, usize),
    stream: &load::spec::Stream,
) -> Option<Neighbour> {
    let entry = neighbours::find(&stream.workload.name)?;
    let mut all = Together::default();
    for trial in record.trials.iter().filter(|trial| trial.trial.treatment == treatment) {
        let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { continue };
        let Some(told) = outcome.streams.get(place).filter(|_| outcome.end == End::Completed) else {
            continue;
        };
        all.add(entry, told, outcome.interval.as_secs_f64());
        all.counted.extend(counted(record, trial, entry));
    }
    (all.trials > 0).then(|| all.into_neighbour(entry, &record.plan.treatments[treatment], stream))
}

#[derive(Default)]
struct Together {
    trials: u32,
    seconds: f64,
    count: u64,
    rows: u64,
    errors: u64,
    time: Histogram,
    counted: Vec<f64>,
}

impl Together {
    fn add(&mut self, entry: &neighbours::Neighbour, told: &StreamOutcome, seconds: f64) {
        self.trials += 1;
        self.seconds += seconds;
        let count = entry.count(told);
        self.count = if entry.deed == Deed::Held { count } else { self.count + count };
        self.rows += told.statements.iter().map(|tally| tally.rows + tally.affected).sum::<u64>();
        self.errors += told.transactions.errors;
        if let Some(tally) = entry.timed(told) {
            self.time.merge(&tally.service);
        }
    }

    fn into_neighbour(
        self,
        entry: &neighbours::Neighbour,
        treatment: &Treatment,
        stream: &load::spec::Stream,
    ) -> Neighbour {
        let is_timed = !self.time.is_empty();
        let trials = self.counted.len() as f64;
        let mean = || self.counted.iter().sum::<f64>() / trials;
        let highest = || self.counted.iter().copied().fold(0.0, f64::max);
        Neighbour {
            server: treatment.server,
            levels: treatment.levels.clone(),
            stream: stream.name.clone(),
            name: entry.builtin.name.to_owned(),
            connections: stream.connections,
            trials: self.trials,
            seconds: self.seconds,
            count: self.count,
            rows: self.rows,
            mean_s: is_timed.then(|| self.time.mean_ns() / 1e9),
            max_s: is_timed.then(|| self.time.max_ns() as f64 / 1e9),
            errors: self.errors,
            counter: entry.counter.to_owned(),
            counted: (trials > 0.0).then(|| if entry.counts_a_level() { highest() } else { mean() }),
        }
    }
}

/// What the servers counted in a trial: times per second or, for a level, its highest value.
fn counted(record: &RunRecord, trial: &TrialRecord, entry: &neighbours::Neighbour) -> Option<f64> {
    let rows = Counted::of(record, trial)?.rows(&trial.readings);
    let readings: &Series = &trial.readings;
    let column = readings.of_servers(&format!("status/{}", entry.counter))?;
    match entry.counts_a_level() {
        true => rows.iter().filter_map(|&row| column.at(row)).reduce(f64::max),
        false => readings.mean(&rows, &column),
    }
}
