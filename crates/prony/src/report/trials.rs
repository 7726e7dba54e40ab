//! The trials of a report: every execution with its streams and their seconds.

use super::{
    build::{milliseconds, second_of},
    document::{Seconds, Trial, TrialStream, latencies},
    words::Words,
};
use crate::{
    analyse,
    plan::Treatment,
    run::{TrialOutcome, verdict},
    store::{RunRecord, TrialRecord},
};
use load::{
    Outcome,
    sample::{Phase, StreamOutcome},
    spec::Stream,
};
use std::{collections::BTreeMap, panic::resume_unwind, thread};

/// Every trial in the order of execution. The work is spread over all processors, because a large run has a
/// hundred thousand seconds, each with a histogram.
pub(super) fn trials(record: &RunRecord, words: Words) -> Vec<Trial> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = record.trials.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let work = |part: &[TrialRecord]| -> Vec<Trial> {
            part.iter().map(|trial| self::trial(record, trial, words)).collect()
        };
        let threads: Vec<_> =
            record.trials.chunks(share).map(|part| scope.spawn(move || work(part))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.flat_map(|trials| trials.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

fn trial(record: &RunRecord, trial: &TrialRecord, words: Words) -> Trial {
    let treatment = &record.plan.treatments[trial.trial.treatment];
    let (failure, doubts, outcome) = match &trial.outcome {
        TrialOutcome::Failed(failure) => (Some(words.failure(failure)), &[][..], None),
        TrialOutcome::Measured { outcome, doubts, .. } => (None, doubts.as_slice(), Some(&**outcome)),
    };
    Trial {
        number: trial.trial.number,
        block: trial.trial.block,
        levels: treatment.levels.clone(),
        server: record.plan.servers[treatment.server].name.clone(),
        started: second_of(trial.started),
        failure,
        verdict: verdict(doubts),
        doubts: doubts.iter().map(|doubt| words.doubt(doubt)).collect(),
        server_cpu: server_cpu(record, trial),
        streams: streams(treatment, trial, outcome),
    }
}

fn streams(treatment: &Treatment, trial: &TrialRecord, outcome: Option<&Outcome>) -> Vec<TrialStream> {
    let told = |index: usize| Some((outcome?.streams.get(index)?, outcome?));
    let streams = treatment.streams.iter().enumerate();
    streams.map(|(index, stream)| self::stream(stream, index, trial, told(index))).collect()
}

fn stream(
    stream: &Stream,
    index: usize,
    trial: &TrialRecord,
    told: Option<(&StreamOutcome, &Outcome)>,
) -> TrialStream {
    let mut shown = TrialStream {
        name: stream.name.clone(),
        connections: stream.connections,
        throughput: None,
        offered: None,
        active_s: None,
        latency_ms: BTreeMap::new(),
        errors: BTreeMap::new(),
        seconds: seconds(trial, index),
    };
    let Some((told, outcome)) = told else { return shown };
    let seconds = told.active_time(outcome.interval).as_secs_f64();
    let per_second = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
    shown.throughput = per_second(told.transactions.count);
    shown.offered = told.schedule.as_ref().and_then(|schedule| per_second(schedule.offered));
    shown.active_s = Some(seconds);
    shown.latency_ms = latencies(told.transactions.response());
    shown.errors = told.errors.iter().map(|error| (error.code.to_string(), error.count)).collect();
    shown
}

/// Mean over the measurement interval.
fn server_cpu(record: &RunRecord, trial: &TrialRecord) -> Option<f64> {
    let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { return None };
    let inside = analyse::in_interval(&trial.readings, record, outcome);
    let cpu = trial.readings.server_cpu()?;
    trial.readings.mean(&inside, &cpu)
}

fn seconds(trial: &TrialRecord, stream: usize) -> Seconds {
    let mut seconds = Seconds::default();
    let (mut end, mut next) = (0.0, 0);
    for sample in trial.seconds.iter().filter(|sample| usize::from(sample.stream) == stream) {
        let response = sample.transactions.response();
        let percentiles = response.quantiles_ns([0.95, 0.99]);
        let [p95, p99] = percentiles.map(|ns| (!response.is_empty()).then(|| milliseconds(ns)));
        seconds.second.push(sample.second);
        seconds.warm_up += usize::from(sample.phase == Phase::WarmUp);
        let length = sample.length.as_secs_f64();
        end += f64::from(sample.second.saturating_sub(next)) + length;
        next = sample.second + 1;
        seconds.end_s.push(end);
        let rate = |count: u64| if length > 0.0 { count as f64 / length } else { 0.0 };
        seconds.throughput.push(rate(sample.transactions.count));
        seconds.offered.extend(sample.schedule.as_ref().map(|schedule| rate(schedule.offered)));
        seconds.p95_ms.push(p95);
        seconds.p99_ms.push(p99);
        seconds.errors.push(sample.errors);
    }
    seconds
}
