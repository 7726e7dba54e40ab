//! How large a large run becomes, and how long its report takes: 1000 trials of a minute through the store's
//! own interface.
//!
//! Limits of time are those of a release build: `cargo test --release -p prony --test large -- --ignored
//! --nocapture`. What is not optimised takes many times as long, so that a debug build is held to the size
//! alone.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the right answer")]

#[path = "support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic;

use load::Sample;
use prony::{
    analyse::analyse,
    plan::{Plan, Trial},
    report::{Format, Options, render},
    run::{Event, TrialOutcome},
    store::Store,
    telemetry::Reading,
};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

const REPEATS: u32 = 50;
const WARM_UP_SECONDS: u32 = 10;
const MEASURE_SECONDS: u32 = 60;
/// Bytes that the store may have.
const BYTES_MAX: u64 = 100_000_000;
/// How long a report may take, all of it: reading, analysing, writing.
const TIME_MAX: Duration = Duration::from_secs(3);

/// Two servers, two workloads, five rungs, fifty repeats: 1000 trials of a minute.
fn plan() -> Plan {
    let mut plan = synthetic::plan();
    let count = plan.treatments.len() as u32;
    plan.repeats = REPEATS;
    plan.warm_up = Duration::from_secs(u64::from(WARM_UP_SECONDS));
    plan.interval = Duration::from_secs(u64::from(MEASURE_SECONDS));
    let trial = |number: u32| Trial {
        number,
        treatment: ((number * 7 + number / count * 3) % count) as usize,
        block: number / count,
        seed: u64::from(number) + 1,
        again_of: None,
    };
    plan.trials = (0..count * REPEATS).map(trial).collect();
    plan
}

/// 130 figures: what machine, client and server did, and what the server's counters do, each at a level of
/// its own, noisy.
fn reading(second: u32, dice: &mut synthetic::Dice) -> Reading {
    let mut reading = synthetic::reading(second, dice);
    for counter in 0..116 {
        let level = 40_000.0 / f64::from(counter + 1);
        let name = format!("node/server/status/counter_{counter}");
        reading.values.insert(name, level * (1.0 + 0.1 * dice.uniform()));
    }
    reading
}

/// A second of 600 transactions of seven kinds of statements; a few different ones serve all trials, each in
/// an order of its own, since drawing them takes longer than anything else here.
fn seconds() -> Vec<Sample> {
    let plan = synthetic::plan();
    let mut events = Vec::new();
    synthetic::trial_events(&plan, plan.trials[0], &mut events);
    let like = events.iter().find_map(|event| match event {
        Event::TrialSample { sample, .. } => Some(sample.clone()),
        _ => None,
    });
    let like = like.expect("a trial has seconds");
    (0..100).map(|second| synthetic::busy_second(&like, second)).collect()
}

fn write(path: &Path, plan: &Plan) -> i64 {
    let mut store = Store::open(path).unwrap();
    let id = store.begin(plan, &synthetic::machine()).unwrap();
    for server in 0..2 {
        let description = Box::new(synthetic::description(server));
        store.record(id, &Event::ServerReady { server, description }).unwrap();
    }
    let seconds = seconds();
    for trial in &plan.trials {
        let number = trial.number;
        store.record(id, &Event::TrialStarted { trial: number }).unwrap();
        let mut dice = synthetic::Dice(u64::from(number) + 1);
        let mut events = Vec::new();
        let of_model = Trial { number: 0, ..*trial };
        synthetic::trial_events(plan, of_model, &mut events);
        for second in 0..WARM_UP_SECONDS + MEASURE_SECONDS {
            let drawn = &seconds[((number * 31 + second * 7) % 100) as usize];
            let phase = if second < WARM_UP_SECONDS {
                load::sample::Phase::WarmUp
            } else {
                load::sample::Phase::Measure
            };
            let sample = Box::new(Sample { second, phase, ..drawn.clone() });
            store.record(id, &Event::TrialSample { trial: number, sample }).unwrap();
            let reading = Box::new(reading(second, &mut dice));
            store.record(id, &Event::TrialReading { trial: number, reading }).unwrap();
        }
        let Some(Event::TrialFinished { mut outcome, .. }) = events.pop() else { panic!("a trial ends") };
        if let TrialOutcome::Measured { outcome, .. } = &mut *outcome {
            outcome.interval = plan.interval;
            outcome.streams[0].transactions.count *= u64::from(MEASURE_SECONDS) / 8;
        }
        store.record(id, &Event::TrialFinished { trial: number, outcome }).unwrap();
    }
    store.record(id, &Event::RunFinished { complete: true }).unwrap();
    id
}

#[test]
#[ignore = "long: 1000 trials of a minute"]
fn a_thousand_trials_of_a_minute_are_small_and_their_report_is_quick() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prony.sqlite");
    let plan = plan();
    assert_eq!(plan.trials.len(), 1000);
    let begun = Instant::now();
    let id = write(&path, &plan);
    let bytes = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum::<u64>();
    println!("written in {:.1} s: {:.1} MB", begun.elapsed().as_secs_f64(), bytes as f64 / 1e6);
    assert!(bytes < BYTES_MAX, "the store takes {bytes} bytes");
    for (name, format) in [("terminal", Format::Terminal), ("html", Format::Html)] {
        let begun = Instant::now();
        let record = Store::open(&path).unwrap().run(id).unwrap();
        let read = begun.elapsed();
        let findings = analyse(&record);
        let analysed = begun.elapsed();
        let text = render(&record, &findings, format, &Options::default()).unwrap();
        let all = begun.elapsed();
        println!(
            "{name}: {:.2} s (read {:.2}, analysed {:.2}, written {:.2}), {:.1} MB",
            all.as_secs_f64(),
            read.as_secs_f64(),
            (analysed - read).as_secs_f64(),
            (all - analysed).as_secs_f64(),
            text.len() as f64 / 1e6
        );
        assert!(text.contains("threads"), "it is a report");
        assert!(cfg!(debug_assertions) || all < TIME_MAX, "the report as {name} took {all:?}");
    }
}
