//! A run that never was, of every kind of load: orders at a rate that one of two servers cannot keep up with,
//! readers at a pace who reconnect after 100 transactions, and an export of so many rows. For tests of store
//! and report, and for the sample report of the browser test.

use load::{
    Histogram,
    sample::{ClientUsage, Connects, End, Outage, Outcome, Phase, Sample, Schedule, StreamOutcome, Tally},
    spec::{Arrival, Rate, Stream},
};
use prony::{
    plan::{Plan, Treatment, Trial},
    run::{Doubt, Event, Level, TrialOutcome, What},
    study::{self, Adjustments},
    telemetry::Machine,
};
use std::time::Duration;

const STUDY: &str = r#"
title = "Orders at a rate, while others read"
seed = 7
[server.threads]
product = "mariadb"
[server.pool]
product = "mariadb"
settings = { thread_handling = "pool-of-threads" }
[[stream]]
name = "orders"
workload = "oltp_read_write"
connections = 64
rate = 500
[[stream]]
name = "readers"
workload = "oltp_point_select"
connections = 50
pace = "10ms"
reconnect = 100
[[stream]]
name = "export"
workload = "oltp_point_select"
connections = 1
limit = "20000 rows"
[vary]
"orders.rate" = [500, 1000, 2000, 4000]
[measure]
warm_up = "2s"
interval = "8s"
"#;
const WARM_UP: u32 = 2;
const SECONDS: u32 = 8;

/// The plan of the made-up run.
pub fn plan() -> Plan {
    let study = study::parse("orders", "orders.toml", STUDY, &Adjustments::default());
    Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")))
}

/// So many values around a mean: most below it, some far above.
fn times(mean_ms: f64, count: u64) -> Histogram {
    let mut histogram = Histogram::new();
    for number in 0..count {
        let share = (number as f64 + 0.5) / count as f64;
        histogram.record_ns((mean_ms * 1e6 * -(1.0 - share).ln()) as u64);
    }
    histogram
}

/// What one stream does in one second of a trial.
struct Course {
    per_second: f64,
    offered: Option<f64>,
    service_ms: f64,
    /// Waiting at the end of each second, per second of load.
    wait_ms: f64,
}

fn course(stream: &Stream, treatment: &Treatment, block: u32) -> Course {
    // repeats differ a little, each server in its own way
    let noise = 1.0 + 0.01 * (f64::from((block * 7 + treatment.server as u32 * 3) % 5) - 2.0);
    let capacity = [1500.0, 2600.0][treatment.server] * noise;
    match &stream.arrival {
        Arrival::Open { rate: Rate::Constant(rate), .. } => Course {
            per_second: rate.min(capacity),
            offered: Some(*rate),
            service_ms: 4.0 * noise / (1.0 - 0.9 * (rate / capacity).min(0.95)),
            wait_ms: if *rate > capacity { 1000.0 * (1.0 - capacity / rate) } else { 0.0 },
        },
        Arrival::Paced { .. } => {
            Course { per_second: 5000.0, offered: Some(5000.0), service_ms: 0.3 * noise, wait_ms: 0.0 }
        }
        _ => Course { per_second: 4000.0 * noise, offered: None, service_ms: 0.25 / noise, wait_ms: 0.0 },
    }
}

fn tally(name: &str, course: &Course, seconds: f64, age: f64) -> Tally {
    let count = (course.per_second * seconds) as u64;
    let service = times(course.service_ms, count.min(2000));
    let response =
        course.offered.map(|_| times(course.service_ms + 0.05 + course.wait_ms * age, count.min(2000)));
    Tally { count, rows: count, service, response, ..Tally::new(name) }
}

fn schedule(course: &Course, seconds: f64) -> Option<Schedule> {
    let offered = (course.offered? * seconds) as u64;
    let started = (course.per_second * seconds) as u64;
    let late = if course.wait_ms > 0.0 { started } else { started / 50 };
    Some(Schedule {
        backlog: 0,
        offered,
        started,
        late,
        skipped: 0,
        never_sent: offered - started,
        delay: times(0.05 + course.wait_ms, 100),
    })
}

fn connects(opened: u64) -> Connects {
    Connects {
        opened,
        failed: 0,
        total: times(0.9, opened),
        tcp: times(0.08, opened),
        tls: Histogram::new(),
        login: times(0.8, opened),
        first_reply: times(0.5, opened),
    }
}

fn outcome_of(stream: &Stream, course: &Course, trial: &Trial) -> StreamOutcome {
    let has_limit = stream.limit.is_some();
    let seconds = if has_limit { 20_000.0 / course.per_second } else { f64::from(SECONDS) };
    let transactions = tally("transactions", course, seconds, f64::from(SECONDS) / 2.0);
    let begin = Duration::from_secs(u64::from(WARM_UP));
    let each = transactions.count / u64::from(stream.connections);
    let anew = if stream.name == "readers" { 400 } else { 0 };
    let outage =
        Outage { from: Duration::from_millis(4200), until: Duration::from_millis(5700), recovered: true };
    StreamOutcome {
        name: stream.name.clone(),
        connections: stream.connections,
        idle: stream.idle,
        connections_opened: u64::from(stream.connections) + anew,
        opening: connects(u64::from(stream.connections)),
        reconnecting: connects(anew),
        active: (begin, begin + Duration::from_secs_f64(seconds)),
        limit_reached: has_limit.then_some(true),
        schedule: schedule(course, seconds),
        outages: if trial.number == 5 && stream.name == "readers" { vec![outage] } else { Vec::new() },
        by_transaction: vec![Tally { name: stream.workload.name.clone(), ..transactions.clone() }],
        statements: vec![Tally { name: "statements".to_owned(), ..transactions.clone() }],
        transactions_by_connection: (0..stream.connections)
            .map(|number| each + u64::from(number % 3))
            .collect(),
        transactions,
        ..StreamOutcome::default()
    }
}

fn doubts(outcome: &StreamOutcome) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(schedule) = outcome.schedule.as_ref().filter(|schedule| schedule.never_sent > 100) {
        let what = What::Overloaded {
            offered_per_second: schedule.offered as f64 / f64::from(SECONDS),
            started_per_second: schedule.started as f64 / f64::from(SECONDS),
            backlog: schedule.never_sent,
            skipped: schedule.skipped,
        };
        doubts.push(Doubt::new(Level::Invalid, what).of_stream(&outcome.name));
    }
    if !outcome.outages.is_empty() {
        let what = What::Outage { seconds: 1.5, count: 1, recovered: true };
        doubts.push(Doubt::new(Level::Suspicious, what).of_stream(&outcome.name));
    }
    doubts
}

/// The events of one trial.
fn trial_events(plan: &Plan, trial: &Trial, events: &mut Vec<Event>) {
    let treatment = &plan.treatments[trial.treatment];
    let number = trial.number;
    events.push(Event::TrialStarted { trial: number });
    let courses: Vec<Course> =
        treatment.streams.iter().map(|stream| course(stream, treatment, trial.block)).collect();
    for second in 0..WARM_UP + SECONDS {
        for (index, (stream, course)) in treatment.streams.iter().zip(&courses).enumerate() {
            // a stream with a limit begins with the measurement
            let done = second < WARM_UP || f64::from(second - WARM_UP) * course.per_second >= 20_000.0;
            if stream.limit.is_some() && done {
                continue;
            }
            let transactions = tally("transactions", course, 1.0, f64::from(second));
            let sample = Sample {
                stream: index as u16,
                second,
                phase: if second < WARM_UP { Phase::WarmUp } else { Phase::Measure },
                length: Duration::from_secs(1),
                statements: vec![Tally { name: "statements".to_owned(), ..transactions.clone() }],
                transactions,
                errors: 0,
                schedule: schedule(course, 1.0),
            };
            events.push(Event::TrialSample { trial: number, sample: Box::new(sample) });
        }
    }
    let streams: Vec<StreamOutcome> = treatment
        .streams
        .iter()
        .zip(&courses)
        .map(|(stream, course)| outcome_of(stream, course, trial))
        .collect();
    let doubts = streams.iter().flat_map(doubts).collect();
    let outcome = Outcome {
        streams,
        client: ClientUsage { cpu_user: Duration::from_secs(2), ..ClientUsage::default() },
        warm_up: None,
        interval: Duration::from_secs(u64::from(SECONDS)),
        end: End::Completed,
        server_version: "10.11.6-MariaDB".to_owned(),
    };
    let outcome = Box::new(TrialOutcome::Measured {
        outcome: Box::new(outcome),
        doubts,
        following: None,
        sought: None,
    });
    events.push(Event::TrialFinished { trial: number, outcome });
}

/// Everything that happens in the run, in order.
pub fn events() -> Vec<Event> {
    let plan = plan();
    let machine =
        Machine { cpu_model: "Example CPU".to_owned(), cpus: 2, memory_bytes: 4 << 30, ..Machine::default() };
    let mut events = vec![Event::RunStarted { plan: Box::new(plan.clone()), machine: Box::new(machine) }];
    for trial in &plan.trials {
        trial_events(&plan, trial, &mut events);
    }
    events.push(Event::RunFinished { complete: true });
    events
}

/// The run as the store gives it back, with a date that never changes.
pub fn record() -> prony::store::RunRecord {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut store = prony::store::Store::open(&directory.path().join("prony.sqlite")).expect("a new store");
    let events = events();
    let Event::RunStarted { plan, machine } = &events[0] else { unreachable!("a run starts first") };
    let id = store.begin(plan, machine).expect("room for a run");
    for event in &events {
        store.record(id, event).expect("room for an event");
    }
    let mut record = store.run(id).expect("what was written");
    let started = jiff::Timestamp::from_second(1_760_000_000).expect("a time that exists");
    (record.started, record.finished) = (started, Some(started));
    record.prony_version = "0.1.0".to_owned();
    for trial in &mut record.trials {
        trial.started = started;
    }
    record
}
