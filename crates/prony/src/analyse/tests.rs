//! Records made by hand, with a known truth.

mod advice;
mod buy;
mod disturbed;
mod first;
mod limits;
mod mix;
mod names;
mod pairs;
mod stated;
mod width;

use super::*;
use crate::{
    plan::{Plan, Treatment},
    run::{Doubt, Level, TrialFailure, TrialOutcome, What},
    store::TrialRecord,
    study::{self, Adjustments},
    telemetry::{Machine, Reading},
};
use load::{
    Histogram, Outcome, Sample,
    sample::{ClientUsage, End, ErrorCount, Phase, Schedule, StreamOutcome, Tally},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use std::time::Duration;

/// Two servers, two workloads, and a claim.
const TWO_SERVERS: &str = include_str!("tests/two_servers.toml");

/// The same study, with another ladder.
pub(super) fn plan(set: &[&str]) -> Plan {
    let set = ["connections=[8, 64, 256, 1024]"].iter().chain(set).map(|text| (*text).to_owned()).collect();
    let study =
        study::parse("quickstart", "two_servers.toml", TWO_SERVERS, &Adjustments { set, scale: None });
    Plan::from_study(&study.unwrap_or_else(|error| panic!("{error}")))
}

/// 200 response times (ms) with this mean: most are short, some long.
fn response_times(mean_ms: f64) -> Histogram {
    let mut histogram = Histogram::new();
    for number in 0..200 {
        let exponential = -(1.0 - (f64::from(number) + 0.5) / 200.0).ln();
        histogram.record_ns((mean_ms * 1e6 * exponential) as u64);
    }
    histogram
}

fn tally(name: &str, count: f64, mean_ms: f64) -> Tally {
    Tally { count: count as u64, service: response_times(mean_ms), ..Tally::new(name) }
}

fn outcome(connections: u32, per_second: f64) -> Outcome {
    let mean_ms = f64::from(connections) / per_second * 1000.0;
    let stream = StreamOutcome {
        name: "main".to_owned(),
        connections,
        connections_opened: u64::from(connections),
        transactions: tally("transactions", per_second, mean_ms),
        by_transaction: Vec::new(),
        statements: vec![tally("point_selects", per_second * 10.0, mean_ms / 10.0)],
        rolled_back: 0,
        errors: Vec::new(),
        transactions_by_connection: Vec::new(),
        in_flight_at_end: connections,
        in_flight_age_max: Duration::ZERO,
        ..StreamOutcome::default()
    };
    Outcome {
        streams: vec![stream],
        client: ClientUsage { cpu_user: Duration::from_millis(300), ..ClientUsage::default() },
        warm_up: None,
        interval: Duration::from_secs(1),
        end: End::Completed,
        server_version: "10.11".to_owned(),
    }
}

/// A run of `plan` in which a trial has the throughput that `truth` says, transactions per second.
pub(super) fn record(plan: Plan, mut truth: impl FnMut(&Treatment, u32) -> f64) -> RunRecord {
    let trials = plan
        .trials
        .iter()
        .map(|trial| {
            let treatment = &plan.treatments[trial.treatment];
            let connections = treatment.streams[0].connections;
            let outcome = outcome(connections, truth(treatment, trial.block));
            TrialRecord {
                trial: *trial,
                started: jiff::Timestamp::UNIX_EPOCH,
                told: BTreeMap::new(),
                outcome: TrialOutcome::Measured {
                    outcome: Box::new(outcome),
                    doubts: Vec::new(),
                    following: None,
                    sought: None,
                },
                seconds: Vec::new(),
                readings: vec![Reading {
                    at: plan.warm_up + Duration::from_secs(1),
                    length: Duration::from_secs(1),
                    values: [("user", 1.0), ("system", 0.5)]
                        .map(|(kind, cpu)| (format!("node/server/process/cpu_{kind}"), cpu))
                        .into(),
                }]
                .into(),
            }
        })
        .collect();
    RunRecord {
        notes: Vec::new(),
        id: 1,
        uid: String::new(),
        origin: "prony".to_owned(),
        labels: Vec::new(),
        note: String::new(),
        started: jiff::Timestamp::UNIX_EPOCH,
        finished: None,
        resumed: Vec::new(),
        complete: true,
        prony_version: "0".to_owned(),
        plan,
        machine: Machine::default(),
        servers: BTreeMap::new(),
        began: BTreeMap::new(),
        trials,
    }
}

struct Noise(Xoshiro256PlusPlus);

impl Noise {
    fn normal(&mut self) -> f64 {
        let mut uniform = || (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * uniform()).cos()
    }
}

fn noise(seed: u64) -> Noise {
    Noise(Xoshiro256PlusPlus::seed_from_u64(seed))
}

/// Throughput that rises up to 64 connections and halves at 1024; with the pool it stays level.
fn bent(treatment: &Treatment) -> f64 {
    let pool = treatment.levels["server"] == "pool";
    match treatment.streams[0].connections {
        8 => 10_000.0,
        64 => 20_000.0,
        256 if pool => 20_000.0,
        256 => 16_000.0,
        _ if pool => 19_500.0,
        _ => 10_000.0,
    }
}

#[test]
fn what_is_there_is_found_and_nothing_else() {
    let mut noise = noise(4);
    let record = record(plan(&[]), |treatment, block| {
        // the machine slows down from block to block, equally for both servers
        bent(treatment) * (1.0 - 0.05 * f64::from(block)) * (0.01 * noise.normal()).exp()
    });
    let findings = analyse(&record);
    assert_eq!(findings.points.len(), 16);
    assert_eq!(findings.comparisons.len(), 8 * 3);
    for comparison in findings.comparisons.iter().filter(|comparison| comparison.metric == Metric::Throughput)
    {
        let (point, base) = (&findings.points[comparison.point], &findings.points[comparison.base]);
        assert_eq!((&*point.server, &*base.server), ("pool", "threads"));
        let truth =
            bent(&record.plan.treatments[point.treatment]) / bent(&record.plan.treatments[base.treatment]);
        let expected =
            if truth > 1.0 { &[Verdict::Better][..] } else { &[Verdict::Same, Verdict::Undecided] };
        assert!(expected.contains(&comparison.verdict), "{comparison:?}");
        assert!((comparison.ratio.value / truth - 1.0).abs() < 0.04, "{comparison:?}");
    }
    let Finding::Effect { server, base, metric, stretch, whole, doubling, greatest, .. } =
        &findings.findings[0]
    else {
        panic!("{:?}", findings.findings);
    };
    assert_eq!((&**server, &**base, *stretch, *whole), ("pool", "threads", (64.0, 1024.0), false));
    assert!([Metric::Throughput, Metric::Quantile(95_000)].contains(metric));
    let (at, ratio) = greatest.expect("the last rungs differ by themselves");
    assert_eq!(at, 1024.0);
    let is_rate = *metric == Metric::Throughput;
    let oriented = |estimate: Estimate| if is_rate { estimate } else { estimate.inverse().expect("not 0") };
    let (low, high) = oriented(ratio).interval().unwrap();
    assert!(low < 1.95 && 1.95 < high && high - low < 0.3, "{ratio:?}");
    assert!(oriented(doubling.expect("the gap widens")).value > 1.05, "{doubling:?}");
    let peak_of_threads = findings.findings.iter().any(|finding| {
        matches!(finding, Finding::Peak { server, at: 64.0, last: 1024.0, .. } if server == "threads")
    });
    assert!(peak_of_threads, "{:?}", findings.findings);
}

#[test]
fn a_server_against_itself_is_not_found_different() {
    let mut noise = noise(11);
    let (mut different, mut compared, mut runs_with_advantage) = (0, 0, 0);
    let runs = 60;
    let plan = plan(&[]);
    for _ in 0..runs {
        let mut drift = 0.0;
        let record = record(plan.clone(), |treatment, _| {
            // Noise grows with the connections, and the machine wanders.
            drift += 0.01 * noise.normal();
            let deviation = if treatment.streams[0].connections > 100 { 0.08 } else { 0.02 };
            let same = if treatment.streams[0].connections == 8 { 10_000.0 } else { 20_000.0 };
            same * (drift + deviation * noise.normal()).exp()
        });
        let findings = analyse(&record);
        let differs =
            |comparison: &&Comparison| [Verdict::Better, Verdict::Worse].contains(&comparison.verdict);
        compared += findings.comparisons.len();
        different += findings.comparisons.iter().filter(differs).count();
        let advantage =
            |finding: &Finding| matches!(finding, Finding::Advantage { .. } | Finding::Effect { .. });
        runs_with_advantage += usize::from(findings.findings.iter().any(advantage));
    }
    println!("{different} of {compared} comparisons, {runs_with_advantage} of {runs} runs");
    assert!(different * 20 <= compared, "{different} of {compared}");
    assert!(runs_with_advantage * 8 <= runs, "{runs_with_advantage} of {runs} runs claim an advantage");
}

#[test]
fn one_trial_gets_an_interval_from_within_and_no_verdict() {
    let mut record = record(plan(&["repeats=1"]), |treatment, _| bent(treatment));
    let mut noise = noise(2);
    for trial in &mut record.trials {
        let connections = record.plan.treatments[trial.trial.treatment].streams[0].connections;
        trial.seconds = (0..20)
            .map(|second| {
                let outcome = outcome(connections, 10_000.0 * (0.05 * noise.normal()).exp());
                let stream = outcome.streams.into_iter().next().expect("one");
                Sample {
                    stream: 0,
                    second,
                    phase: if second == 0 { Phase::WarmUp } else { Phase::Measure },
                    length: Duration::from_secs(1),
                    transactions: stream.transactions,
                    statements: stream.statements,
                    errors: 0,
                    schedule: None,
                }
                .into()
            })
            .collect();
    }
    let findings = analyse(&record);
    for point in &findings.points {
        let (low, high) = point.throughput.interval().expect("from within");
        assert!(low < point.throughput.value && point.throughput.value < high);
        assert_eq!(point.throughput.observations, 1);
        assert!(point.latency_ms["p95"].interval().is_some());
    }
    assert!(findings.comparisons.iter().all(|comparison| comparison.verdict == Verdict::Undecided));
    assert!(findings.findings.iter().all(|finding| matches!(finding, Finding::NoDifference { .. })));
}

/// A second of an open loop: 1000 starts are due, some of which succeed and some fail; the rest are skipped.
fn second_of_open_loop(second: u32, phase: Phase, well: u64, failed: u64) -> Sample {
    let transactions = Tally { errors: failed, ..tally("transactions", well as f64, 5.0) };
    let skipped = 1000 - well - failed;
    let schedule = Schedule {
        offered: 1000,
        started: well + failed,
        late: skipped,
        skipped,
        delay: response_times(1.0),
        ..Schedule::default()
    };
    Sample {
        stream: 0,
        second,
        phase,
        length: Duration::from_secs(1),
        transactions,
        statements: Vec::new(),
        errors: failed,
        schedule: Some(schedule),
    }
}

/// A trial with 2 s of warm-up and 30 s of interval. The first 10 s of the interval do half of what the
/// others do, fail ten times as often and cost three times the CPU.
fn spoil_the_beginning(trial: &mut TrialRecord, left_out_s: u32) {
    let TrialOutcome::Measured { outcome, doubts, .. } = &mut trial.outcome else { return };
    let stream = &mut outcome.streams[0];
    let (mut all, mut starts) = (Tally::new("transactions"), Schedule::default());
    trial.seconds.clear();
    for second in 0..32 {
        let phase = if second < 2 { Phase::WarmUp } else { Phase::Measure };
        let (well, failed) = if second < 12 { (480, 100) } else { (990, 10) };
        let sample = second_of_open_loop(second, phase, well, failed);
        if phase == Phase::Measure {
            all.merge(&sample.transactions);
            starts.merge_after(sample.schedule.as_ref().expect("an open loop"));
        }
        trial.seconds.push(sample.into());
    }
    let seconds = Duration::from_secs;
    let (state, message) = ("HY000".to_owned(), "Lock wait timeout".to_owned());
    let count = all.errors;
    stream.errors =
        vec![ErrorCount { code: 1205, state, count, message, first: seconds(2), last: seconds(32) }];
    (stream.transactions, stream.schedule) = (all, Some(starts));
    outcome.interval = seconds(30);
    outcome.warm_up = Some(seconds(2));
    outcome.client.cpu_user = Duration::from_millis(300) * (10 * 3 + 20);
    doubts.push(Doubt::new(Level::Suspicious, What::Drift { change: 1.0, left_out_s, steady: None }));
    let reading = |at: u64| {
        let times = if at <= 12 { 3.0 } else { 1.0 };
        let values = [
            ("client/cpu_user", 0.3),
            ("client/cpu_system", 0.0),
            ("node/server/process/cpu_user", 0.5),
            ("node/server/process/cpu_system", 0.0),
        ];
        let values = values.map(|(path, value)| (path.to_owned(), value * times)).into();
        Reading { at: seconds(at), length: seconds(1), values }
    };
    trial.readings = (1..=32).map(reading).collect::<Vec<_>>().into();
}

#[test]
fn seconds_that_are_left_out_leave_every_figure() {
    let mut record = record(plan(&["repeats=1"]), |treatment, _| bent(treatment));
    let treatment = record.trials[0].trial.treatment;
    spoil_the_beginning(&mut record.trials[0], 10);
    let findings = analyse(&record);
    let point = findings.points.iter().find(|point| point.treatment == treatment).expect("a point");
    let schedule = point.schedule.as_ref().expect("an open loop");
    assert_eq!(point.active_s, 20.0);
    assert_eq!(point.throughput.value.round(), 990.0);
    assert_eq!((schedule.offered, schedule.started, schedule.late), (20_000, 20_000, 0));
    assert_eq!((schedule.skipped, schedule.never_sent), (0, 0));
    assert!(schedule.delay.is_empty(), "how long starts waited is known of the whole interval alone");
    assert_eq!(point.errors, [(1205, 200)].into());
    assert!((point.error_share - 0.01).abs() < 1e-9, "{}", point.error_share);
    assert!((point.client_cpu - 0.3).abs() < 1e-9, "{}", point.client_cpu);
    assert!((point.server_cpu.expect("sampled") - 0.5).abs() < 1e-9);
    // everything that counts is equal from second to second, and the interval shows it
    let (low, high) = point.throughput.interval().expect("from within");
    assert!(high / low < 1.0001, "{low} to {high}");
    let taken = resources(&record).into_iter().find(|one| one.treatment == treatment).expect("sampled");
    assert_eq!(taken.transactions_per_second, 990.0);
    assert!((taken.cost.server_cpu_us.expect("sampled") - 0.5e6 / 990.0).abs() < 1e-6);
    assert!((taken.cost.client_cpu_us.expect("sampled") - 0.3e6 / 990.0).abs() < 1e-6);
}

#[test]
fn of_an_interval_that_only_drifts_all_seconds_count() {
    let mut record = record(plan(&["repeats=1"]), |treatment, _| bent(treatment));
    let treatment = record.trials[0].trial.treatment;
    spoil_the_beginning(&mut record.trials[0], 0);
    let findings = analyse(&record);
    let point = findings.points.iter().find(|point| point.treatment == treatment).expect("a point");
    let schedule = point.schedule.as_ref().expect("an open loop");
    assert_eq!((point.active_s, schedule.offered, schedule.skipped), (30.0, 30_000, 4200));
    assert_eq!(point.errors, [(1205, 1200)].into());
    assert_eq!(schedule.delay.count(), 6000);
    assert!((point.client_cpu - 0.5).abs() < 1e-9, "{}", point.client_cpu);
}

/// What limited a server whose machine's two processors did this: kinds of limits, and shares in per cent.
fn limits(user: f64, system: f64, steal: f64) -> Vec<(&'static str, u32)> {
    let mut record = record(plan(&["repeats=1"]), |treatment, _| bent(treatment));
    let values = [
        ("machine/cpu_user", user),
        ("machine/cpu_system", system),
        ("machine/cpu_iowait", 0.0),
        ("machine/cpu_steal", steal),
        ("machine/cpu_idle", 2.0 - user - system - steal),
        ("client/cpu_user", 0.3),
        ("client/cpu_system", 0.1),
        ("node/server/process/cpu_user", 0.5),
        ("node/server/process/cpu_system", 0.1),
    ];
    let second = Duration::from_secs(1);
    let values = values.map(|(path, value)| (path.to_owned(), value)).into();
    let at = record.plan.warm_up + second;
    record.trials[0].readings = vec![Reading { at, length: second, values }].into();
    let treatment = record.trials[0].trial.treatment;
    let taken = resources(&record).into_iter().find(|one| one.treatment == treatment);
    let percent = |share: f64| (share * 100.0).round() as u32;
    let of = |limit: &Limiting| match limit {
        Limiting::Processors { share, servers, client, relay } => {
            assert_eq!((*servers, *client, *relay), (0.6, Some(0.4), None));
            ("processors", percent(*share))
        }
        Limiting::Stolen { share, .. } => ("stolen", percent(*share)),
        other => panic!("{other:?}"),
    };
    taken.expect("sampled").limits.iter().map(of).collect()
}

#[test]
fn processors_that_neighbours_took_are_no_busy_processors() {
    assert_eq!(limits(1.6, 0.3, 0.0), [("processors", 95)]);
    assert_eq!(limits(1.0, 0.2, 0.0), []);
    // its neighbours had a third of the machine: more processors would not have helped
    assert_eq!(limits(1.0, 0.25, 0.66), [("stolen", 33)]);
    // where processors are left idle, they are no limit, whoever had the rest
    assert_eq!(limits(1.0, 0.25, 0.25), []);
    assert_eq!(limits(1.56, 0.3, 0.12), [("processors", 93), ("stolen", 6)]);
    // the neighbours took next to nothing
    assert_eq!(limits(1.4, 0.38, 0.04), [("processors", 89)]);
}

#[test]
fn failed_trials_are_left_out_with_their_reason_and_errors_are_counted() {
    let mut record = record(plan(&[]), |treatment, _| bent(treatment));
    let point_of_first = record.trials[0].trial.treatment;
    let failure = TrialFailure::told("the server went away");
    record.trials[0].outcome = TrialOutcome::Failed(failure.clone());
    let treatment = record.trials[1].trial.treatment;
    if let TrialOutcome::Measured { outcome, doubts, .. } = &mut record.trials[1].outcome {
        let stream = &mut outcome.streams[0];
        let count = stream.transactions.count;
        stream.errors.push(ErrorCount {
            code: 1213,
            state: "40001".to_owned(),
            count,
            message: "Deadlock found".to_owned(),
            first: Duration::ZERO,
            last: Duration::ZERO,
        });
        doubts.push(Doubt::told("the client was busy"));
    }
    let findings = analyse(&record);
    let point = |treatment: usize| findings.points.iter().find(|point| point.treatment == treatment).unwrap();
    let first = point(point_of_first);
    assert_eq!(first.trials, 2);
    assert_eq!(first.left_out, [LeftOut { trial: 0, why: Uncounted::Failed(failure) }]);
    assert!(first.throughput.interval().is_some());
    let second = point(treatment);
    assert_eq!(second.trials, 3);
    assert!((second.error_share - 0.25).abs() < 0.01, "{}", second.error_share);
    assert_eq!(second.doubts, [Doubt::told("the client was busy")]);
    assert!((second.server_cpu.unwrap() - 1.5).abs() < 1e-9);
    assert!((second.client_cpu - 0.3).abs() < 1e-9);
    let last = findings.findings.last().unwrap();
    assert!(matches!(last, Finding::Doubtful { points, .. } if points.len() == 1), "{last:?}");
}

#[test]
fn a_run_that_measured_nothing_says_nothing() {
    let mut record = record(plan(&[]), |treatment, _| bent(treatment));
    for trial in &mut record.trials {
        trial.outcome = TrialOutcome::Failed(TrialFailure::told("no"));
    }
    let findings = analyse(&record);
    assert_eq!(findings.points.len(), 16);
    assert!(findings.comparisons.is_empty() && findings.findings.is_empty());
    record.trials.clear();
    assert!(analyse(&record).points.is_empty());
}

/// Throughput by the universal scalability law, with its peak near 100 connections.
fn by_the_law(treatment: &Treatment) -> f64 {
    let connections = f64::from(treatment.streams[0].connections);
    1000.0 * connections / (1.0 + 0.02 * (connections - 1.0) + 0.0001 * connections * (connections - 1.0))
}

#[test]
fn a_ladder_has_its_law_from_valid_points_alone() {
    let ladder = ["connections=[1, 4, 16, 64, 256, 1024]"];
    let mut noise = noise(6);
    let mut record =
        record(plan(&ladder), |treatment, _| by_the_law(treatment) * (0.01 * noise.normal()).exp());
    // the client was the limit at the last rung of one server, so the figures there are not the server's
    for trial in &mut record.trials {
        let treatment = &record.plan.treatments[trial.trial.treatment];
        if treatment.levels["server"] == "pool" && treatment.streams[0].connections == 1024 {
            let TrialOutcome::Measured { doubts, outcome, .. } = &mut trial.outcome else {
                panic!("measured")
            };
            outcome.streams[0].transactions.count /= 2;
            doubts
                .push(Doubt::new(crate::run::Level::Suspicious, crate::run::What::WorkerBusy { busy: 0.99 }));
        }
    }
    let findings = analyse(&record);
    assert_eq!(findings.scalings.len(), 4, "two servers, two workloads");
    for scaling in &findings.scalings {
        let is_pool = scaling.side == "pool";
        assert_eq!((scaling.points.len(), scaling.left_out.len()), if is_pool { (5, 1) } else { (6, 0) });
        let peak = scaling.peak.expect("it falls");
        let (low, high) = peak.interval().expect("known");
        // one interval in twenty misses the truth: the simulations of `stats` count how many do
        assert!((peak.value - 98.99).abs() < 5.0 && high / low < 1.5, "{peak:?}");
        assert!((50..76).contains(&scaling.enough), "{}", scaling.enough);
        assert!(scaling.points.iter().all(|point| point.residual.abs() < 0.05), "{:?}", scaling.points);
    }
    assert!(findings.unscaled.is_empty());
    // where too many rungs say nothing about the server, there is no law, and the report says so
    for trial in &mut record.trials {
        let treatment = &record.plan.treatments[trial.trial.treatment];
        let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome else { panic!("measured") };
        if treatment.levels["server"] == "pool" && treatment.streams[0].connections >= 16 {
            doubts
                .push(Doubt::new(crate::run::Level::Suspicious, crate::run::What::WorkerBusy { busy: 0.99 }));
        }
    }
    let findings = analyse(&record);
    assert!(findings.scalings.iter().all(|scaling| scaling.side == "threads"));
    assert_eq!(findings.unscaled.len(), 2, "one for each workload");
    assert!(
        findings
            .unscaled
            .iter()
            .all(|ladder| ladder.side == "pool" && ladder.rungs == 6 && ladder.left_out >= 3)
    );
    // too few rungs, no law
    assert!(
        analyse(&self::record(plan(&["connections=[1, 4, 16]"]), |of, _| by_the_law(of))).scalings.is_empty()
    );
}

#[test]
fn points_that_follow_no_law_have_none_and_it_is_said_why() {
    let ladder = ["connections=[1, 4, 16, 64, 256, 1024]"];
    // the pool collapses beyond 16 connections, and rises again
    let mut noise = noise(9);
    let record = record(plan(&ladder), |treatment, _| {
        let connections = treatment.streams[0].connections;
        let collapses = treatment.levels["server"] == "pool" && [64, 256].contains(&connections);
        let scatter = (0.01 * noise.normal()).exp();
        if collapses { 300.0 * scatter } else { by_the_law(treatment) * scatter }
    });
    let findings = analyse(&record);
    assert!(findings.scalings.iter().all(|scaling| scaling.side == "threads"), "{:?}", findings.scalings);
    assert_eq!(findings.unscaled.len(), 2, "one for each workload");
    for ladder in &findings.unscaled {
        let Unfit::Residual { residual, .. } = ladder.why else { panic!("{ladder:?}") };
        assert!(residual.abs() > 0.25, "{residual}");
    }
}

#[test]
fn a_law_whose_top_is_anywhere_is_none() {
    // flat from 4 connections on, with a scatter that hides whether it falls
    let ladder = ["connections=[4, 16, 64, 256]", "repeats=2"];
    let mut noise = noise(12);
    let record = record(plan(&ladder), |_, _| 10_000.0 * (0.08 * noise.normal()).exp());
    let findings = analyse(&record);
    let is_open = |ladder: &&Unscaled| matches!(ladder.why, Unfit::Peak { .. });
    assert!(findings.unscaled.iter().any(|ladder| is_open(&ladder)), "{:?}", findings.unscaled);
    for scaling in &findings.scalings {
        let Some(peak) = scaling.peak else { continue };
        let (low, high) = peak.interval().expect("known");
        assert!(high / low <= 3.0, "{peak:?}");
    }
}

#[test]
fn runs_are_compared_by_treatment_and_what_one_lacks_is_named() {
    let mut noise = noise(8);
    let mut made = |set: &[&str], gain: f64| {
        let mut first = true;
        record(plan(set), |treatment, _| {
            let gain = if treatment.levels["server"] == "pool" { gain } else { 1.0 };
            // one outlier, which must be given no weight
            let apart = if std::mem::take(&mut first) { 0.995 } else { 1.0 };
            bent(treatment) * gain * apart * (0.005 * noise.normal()).exp()
        })
    };
    let base = made(&[], 1.0);
    let runs = compare_runs(&base, &made(&["connections=[8, 64, 256, 1024, 2048]"], 1.2));
    // two workloads, two servers, four rungs, three metrics
    assert_eq!(runs.comparisons.len(), 2 * 2 * 4 * 3);
    assert!(runs.only_base.is_empty());
    assert_eq!(runs.only_second.len(), 4, "{:?}", runs.only_second);
    for one in runs.comparisons.iter().filter(|one| one.metric == Metric::Throughput) {
        assert_eq!(one.base_server, one.server);
        let wanted = if one.server == "pool" { Verdict::Better } else { Verdict::Same };
        assert_eq!(one.verdict, wanted, "{one:?}");
    }
    let itself = compare_runs(&base, &base);
    assert!(itself.comparisons.iter().all(|one| one.ratio.value == 1.0 && one.verdict != Verdict::Worse));
}

#[test]
fn starts_of_a_server_are_what_is_independent_where_it_is_started_several_times() {
    // trials of one start hardly differ, but starts do: six trials are three observations
    let truth = |_: &Treatment, block: u32| 10_000.0 * (1.0 + 0.02 * f64::from(block / 2));
    let mut plan = plan(&["repeats=6"]);
    let by_trial = analyse(&record(plan.clone(), truth));
    plan.repetition.restarts = 3;
    let by_start = analyse(&record(plan, truth));
    let width = |findings: &Findings| findings.points[0].throughput.relative_half_width().expect("known");
    assert_eq!(by_start.points[0].throughput.observations, 3);
    assert_eq!(by_start.points[0].trials, 6);
    assert!(width(&by_start) > 1.3 * width(&by_trial), "{} {}", width(&by_start), width(&by_trial));
}

/// The study of two servers with these claims, to be judged on a run whose truth is [`bent`].
fn plan_with(claims: &str, set: &[&str]) -> Plan {
    plan_changed(claims, set, str::to_owned)
}

/// The same, its text changed.
fn plan_changed(claims: &str, set: &[&str], change: impl Fn(&str) -> String) -> Plan {
    let (before, rest) = TWO_SERVERS.split_once("[[claim]]").unwrap();
    let (_, scales) = rest.split_once("[scale.quick]").unwrap();
    let text = change(&format!("{before}{claims}\n[scale.quick]{scales}"));
    let set = ["connections=[8, 64, 256, 1024]"].iter().chain(set).map(|text| (*text).to_owned()).collect();
    let study = study::parse("quickstart", "test.toml", &text, &Adjustments { set, scale: None });
    Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")))
}

fn judged(claims: &str, trials_noise: f64) -> Vec<Judgement> {
    let mut noise = noise(11);
    analyse(&record(plan_with(claims, &[]), |treatment, _| {
        bent(treatment) * (1.0 + trials_noise * noise.normal())
    }))
    .claims
}

fn verdicts(judgements: &[Judgement]) -> Vec<ClaimVerdict> {
    judgements.iter().map(|judgement| judgement.verdict).collect()
}

const CLAIMS: &str = r#"
[[claim]]
says = "nearly twice at the end"
of = { server = "pool", connections = 1024 }
over = { server = "threads" }
ratio = ">= 1.5"
[[claim]]
says = "four times at the end"
of = { server = "pool", connections = 1024 }
over = { server = "threads" }
ratio = ">= 4"
[[claim]]
says = "the same below"
of = { server = "pool", connections = [8, 64] }
over = { server = "threads" }
within = "5%"
[[claim]]
says = "the same everywhere"
of = { server = "pool" }
over = { server = "threads" }
within = "5%"
[[claim]]
says = "threads fall"
of = { server = "threads", connections = ">= 64" }
slope = "< 0"
[[claim]]
says = "the pool is first at the end"
of = { connections = 1024 }
order = ["pool", "threads"]
[[claim]]
says = "enough"
metric = "throughput"
of = { connections = 8 }
value = "> 9000/s"
[[claim]]
says = "sooner"
metric = "p95"
of = { server = "pool", connections = 1024 }
over = { server = "threads" }
ratio = "< 0.7"
[[claim]]
says = "another scale"
of = { connections = 128 }
value = "> 1/s"
[[claim]]
says = "nothing fails"
metric = "errors"
value = "<= 2%"
"#;

#[test]
fn claims_are_supported_or_refuted_by_what_is_there() {
    use ClaimVerdict::{Open, Refuted, Supported};
    let judgements = judged(CLAIMS, 0.01);
    let wanted =
        [Supported, Refuted, Supported, Refuted, Supported, Supported, Supported, Supported, Open, Supported];
    assert_eq!(verdicts(&judgements), wanted, "{judgements:#?}");
    assert_eq!(judgements[3].parts.len(), 8, "a pair for each rung of each workload");
    let decisive = &judgements[3].parts[judgements[3].decisive.unwrap()];
    assert_eq!(decisive.levels["connections"], "1024", "where it fails most");
    assert_eq!(judgements[8].open, Some(super::Open::OtherScale));
}

/// Throughput along 8, 64, 256 and 1024 connections: of the pool nearly on a line over these numbers, of
/// threads up and down.
fn shaped(treatment: &Treatment) -> f64 {
    let pool = treatment.levels["server"] == "pool";
    let connections = treatment.streams[0].connections;
    match (pool, connections) {
        (true, _) => 20_000.0 - 8.0 * f64::from(connections),
        (false, 8 | 256) => 8000.0,
        (false, _) => 20_000.0,
    }
}

#[test]
fn claims_can_be_about_the_shape_of_a_curve() {
    use ClaimVerdict::{Open, Refuted, Supported};
    let claim = |server: &str, statement: &str| {
        format!("[[claim]]\nsays = \"it\"\nof = {{ server = \"{server}\" }}\n{statement}\n")
    };
    let claims = [
        claim("pool", "linear = \"10%\""),
        claim("threads", "linear = \"10%\""),
        claim("pool", "variation = \"< 0.3\""),
        claim("threads", "variation = \"< 0.3\""),
        claim("pool", "variation = \"< 0.8\"\nover = { server = \"threads\" }"),
        claim("threads", "variation = \"< 0.8\"\nover = { server = \"pool\" }"),
        claim("threads", "variation = \"> 2\"\nthan = \"workload\""),
        claim("pool", "variation = \"< 1\"\nalong = \"workload\"\nthan = \"connections\""),
        claim(
            "pool",
            "linear = \"10%\"\nalong = \"workload\"\nnumbers = { oltp_read_only = 1, \
                       oltp_update_non_index = 2 }",
        ),
        // as a line along these numbers the pool's is none
        claim("pool", "linear = \"3%\"\nnumbers = { 8 = 1, 64 = 2, 256 = 3, 1024 = 4 }"),
    ];
    let mut noise = noise(12);
    let plan = plan_with(&claims.concat(), &[]);
    let judgements =
        analyse(&record(plan, |treatment, _| shaped(treatment) * (1.0 + 0.01 * noise.normal()))).claims;
    let wanted =
        [Supported, Refuted, Supported, Refuted, Supported, Refuted, Supported, Supported, Open, Refuted];
    assert_eq!(verdicts(&judgements), wanted, "{judgements:#?}");
    assert_eq!(judgements[8].open, Some(super::Open::NotMeasured), "two places make no curve");
    // 8000, 20000, 8000, 20000: a standard deviation of 6928 by a mean of 14000
    let of_threads = &judgements[3].parts[0];
    assert!((of_threads.estimate.value - 0.495).abs() < 0.02, "{of_threads:?}");
    assert_eq!(judgements[4].parts[0].one.as_deref(), Some("pool"));
    assert_eq!(judgements[6].parts[0].other.as_deref(), Some("workload"));
}

#[test]
fn claims_can_be_about_costs_and_what_is_not_known_is_open() {
    use ClaimVerdict::{Open, Refuted, Supported};
    // 1.5 processors at some ten thousand a second: 0.15 ms each
    let judgements = judged(
        r#"
[[claim]]
says = "a transaction costs little"
metric = "cpu"
of = { server = "pool", connections = 8 }
value = "< 0.5 ms"
[[claim]]
says = "next to nothing"
metric = "cpu"
of = { server = "pool", connections = 8 }
value = "< 1 us"
[[claim]]
says = "where throughput falls, each costs more"
metric = "cpu"
of = { connections = 1024 }
order = ["pool", "threads"]
[[claim]]
says = "nobody counted reads"
metric = "reads"
value = "< 1"
"#,
        0.01,
    );
    assert_eq!(verdicts(&judgements), [Supported, Refuted, Supported, Open], "{judgements:#?}");
    assert_eq!(judgements[3].open, Some(super::Open::NotMeasured));
}

#[test]
fn claims_can_be_about_what_servers_did_meanwhile() {
    use ClaimVerdict::{Open, Supported};
    let claim = |metric: &str, value: &str| {
        format!("[[claim]]\nsays = \"it\"\nmetric = \"{metric}\"\nof.connections = 8\nvalue = \"{value}\"\n")
    };
    let claims = [
        claim("cpu_idle", "> 20%"),
        claim("rows_scanned", "> 89_000/s"),
        claim("rows_scanned", "< 91_000/s"),
        claim("table_locks_waited", "< 0.1%"),
        claim("buffer_pool_hit", "> 98%"),
        claim("connect", "< 1 ms"),
        claim("connect_p99", "> 0.7 ms"),
        claim("rows_read", "> 1/s"),
    ];
    let mut noise = noise(11);
    let mut record = record(plan_with(&claims.concat(), &[]), |treatment, _| bent(treatment));
    for trial in &mut record.trials {
        let scanned = 90_000.0 * (1.0 + 1e-3 * noise.normal());
        let at = record.plan.warm_up + Duration::from_secs(1);
        let values = [
            ("machine/cpu_idle", 0.5 * (1.0 + 0.01 * noise.normal())),
            ("machine/cpu_user", 1.5),
            ("node/server/process/cpu_user", 1.0),
            ("node/server/status/buffer_pool_misses", 10.0 * (1.0 + 0.01 * noise.normal())),
            ("node/server/status/buffer_pool_requests", 1000.0),
            ("node/server/status/rows_scanned", scanned),
            ("node/server/status/table_locks_immediate", 500.0),
            ("node/server/status/table_locks_waited", 0.0),
        ];
        let values = values.map(|(path, value)| (path.to_owned(), value)).into();
        trial.readings = vec![Reading { at, length: Duration::from_secs(1), values }].into();
        let TrialOutcome::Measured { outcome, .. } = &mut trial.outcome else { unreachable!() };
        outcome.streams[0].opening.total.record_ns(5_000_000_000);
        for _ in 0..100 {
            outcome.streams[0].reconnecting.total.record_ns((8e5 * (1.0 + 0.02 * noise.normal())) as u64);
        }
    }
    let judgements = analyse(&record).claims;
    let mut wanted = [Supported; 8];
    wanted[7] = Open;
    assert_eq!(verdicts(&judgements), wanted, "{judgements:#?}");
    assert_eq!(judgements[7].open, Some(super::Open::NotMeasured), "nobody counted rows read");
    let shares = judgements[3].parts.iter().map(|part| part.estimate.value);
    assert!(shares.clone().count() > 0 && shares.into_iter().all(|share| share == 0.0), "none waited");
}

#[test]
fn what_was_sampled_while_the_background_was_alone_is_kept_apart() {
    use ClaimVerdict::Supported;
    let claim = |metric: &str, value: &str| {
        format!("[[claim]]\nsays = \"it\"\nmetric = \"{metric}\"\nof.connections = 8\nvalue = \"{value}\"\n")
    };
    let claims =
        [claim("cpu_idle_alone", "> 70%"), claim("cpu_idle_alone", "< 80%"), claim("cpu_idle", "< 30%")];
    let seconds = Duration::from_secs;
    let change = |text: &str| {
        let text = text.replace("[measure]", "[measure]\nalone = \"2s\"");
        text.replace("[[stream]]", "[[stream]]\nlimit = \"1000 transactions\"")
    };
    let mut noise = noise(12);
    let plan = plan_changed(&claims.concat(), &[], change);
    let mut record = record(plan, |treatment, _| bent(treatment));
    let before = record.plan.before_interval();
    assert_eq!(before, record.plan.warm_up + seconds(2));
    for trial in &mut record.trials {
        let mut reading = |at: Duration, idle: f64| {
            let idle = idle * (1.0 + 0.01 * noise.normal());
            let values = [
                ("machine/cpu_idle", idle),
                ("machine/cpu_user", 2.0 - idle),
                ("node/server/process/cpu_user", 0.1),
            ];
            let values = values.map(|(path, value)| (path.to_owned(), value)).into();
            Reading { at, length: seconds(1), values }
        };
        // idle in the warm-up, three quarters idle with the background alone, busy with the task
        let readings = [
            reading(before - seconds(2), 2.0),
            reading(before - seconds(1), 1.5),
            reading(before, 1.5),
            reading(before + seconds(1), 0.5),
        ];
        trial.readings = readings.to_vec().into();
    }
    let judgements = analyse(&record).claims;
    assert_eq!(verdicts(&judgements), [Supported; 3], "{judgements:#?}");
    let of_first = &resources(&record)[0];
    let idle = |sampled: &Sampled| sampled.cpu_idle.expect("sampled");
    let alone = of_first.alone.as_ref().expect("a time of its own");
    assert!((idle(alone) - 0.75).abs() < 0.02 && (idle(&of_first.sampled) - 0.25).abs() < 0.02);
}

#[test]
fn what_a_limit_would_take_is_extrapolated_from_what_was_done() {
    let change = |text: &str| text.replace("[[stream]]", "[[stream]]\nlimit = \"4000 transactions\"");
    // each trial does 1000 transactions in its second, give or take a hundredth
    let missed = |plan: Plan| {
        let mut noise = noise(13);
        let mut record = record(plan, |_, _| 1000.0 * (1.0 + 0.01 * noise.normal()));
        for trial in &mut record.trials {
            let TrialOutcome::Measured { outcome, .. } = &mut trial.outcome else { unreachable!() };
            outcome.streams[0].limit_reached = Some(false);
        }
        record
    };
    let claim = "[[claim]]\nsays = \"it\"\nmetric = \"active\"\nof.connections = 8\nvalue = \"> 3.8 s\"\n";
    let several = analyse(&missed(plan_changed(claim, &[], change)));
    assert_eq!(verdicts(&several.claims), [ClaimVerdict::Supported]);
    let limit = several.points[0].limit.as_ref().expect("a limit");
    let seconds = limit.seconds.expect("extrapolated");
    assert_eq!((limit.reached, limit.extrapolated), (0, several.points[0].trials));
    assert!(seconds.low < Some(4.0) && seconds.high > Some(4.0), "{seconds:?}");

    // of one trial alone the interval is that of its rate, as far as the rest of the time goes
    let one = plan_changed("", &["measure.repeats=1"], change);
    let mut record = missed(one);
    let mut noise = noise(14);
    for trial in &mut record.trials {
        let TrialOutcome::Measured { outcome, .. } = &mut trial.outcome else { unreachable!() };
        outcome.interval = Duration::from_secs(40);
        outcome.streams[0].transactions.count = 1000;
        trial.seconds = (0..40)
            .map(|second| {
                let (stream, phase, length) = (0, Phase::Measure, Duration::from_secs(1));
                let count = (25.0 * (1.0 + 0.05 * noise.normal())) as u64;
                let transactions = Tally { count, ..Tally::new("transactions") };
                let (statements, errors, schedule) = (Vec::new(), 0, None);
                Sample { stream, second, phase, length, transactions, statements, errors, schedule }.into()
            })
            .collect();
    }
    let limit = analyse(&record).points[0].limit.clone().expect("a limit");
    let seconds = limit.seconds.expect("extrapolated");
    let half = (seconds.high.expect("known") - seconds.low.expect("known")) / 2.0 / seconds.value;
    assert!((seconds.value - 160.0).abs() < 1e-6 && (0.002..0.05).contains(&half), "{seconds:?}");

    // a limit of rows goes by those that statements received and affected
    let of_rows = |text: &str| text.replace("[[stream]]", "[[stream]]\nlimit = \"40000 rows\"");
    let mut by_rows = missed(plan_changed("", &[], of_rows));
    for trial in &mut by_rows.trials {
        let TrialOutcome::Measured { outcome, .. } = &mut trial.outcome else { unreachable!() };
        (outcome.streams[0].statements[0].rows, outcome.streams[0].statements[0].affected) = (9_000, 1_000);
    }
    let point = &analyse(&by_rows).points[0];
    let seconds = point.limit.as_ref().and_then(|limit| limit.seconds).expect("extrapolated");
    assert!((seconds.value - 4.0).abs() < 1e-6 && (point.rows_per_second - 1e4).abs() < 1e-6, "{seconds:?}");

    // what did nothing says nothing of the whole
    for trial in &mut record.trials {
        let TrialOutcome::Measured { outcome, .. } = &mut trial.outcome else { unreachable!() };
        outcome.streams[0].transactions.count = 0;
    }
    assert_eq!(analyse(&record).points[0].limit.as_ref().expect("a limit").seconds, None);
}

#[test]
fn searched_rates_have_an_interval_between_their_trials() {
    let mut plan = plan(&["repeats=3"]);
    for treatment in &mut plan.treatments {
        let stream = treatment.streams[0].name.clone();
        treatment.goal = Some(crate::plan::Goal { stream, objective: "p99 < 20ms".to_owned() });
    }
    let mut record = record(plan, |treatment, _| bent(treatment));
    for trial in &mut record.trials {
        let rate = 1000.0 + 10.0 * f64::from(trial.trial.block);
        let TrialOutcome::Measured { sought, .. } = &mut trial.outcome else { panic!("measured") };
        *sought = Some(Box::new(crate::run::Sought {
            objective: "p99 < 20ms".to_owned(),
            ending: crate::search::Ending::Found { rate, above: rate * 1.1 },
            closed_loop_per_second: 2000.0,
            client_limited: false,
            connections_limited: false,
            from_rest_per_second: None,
            steal_processors: None,
            probes: Vec::new(),
        }));
    }
    let of = crate::plan::Levels::new();
    let bound = crate::plan::Bound { relation: crate::plan::Relation::AtLeast, value: 900.0 };
    let statement = crate::plan::Statement::Value(bound);
    record.plan.claims = vec![crate::plan::Claim {
        says: "enough".to_owned(),
        says_zh: String::new(),
        conclusion: None,
        metric: Metric::Rate,
        of,
        statement,
    }];
    let findings = analyse(&record);
    assert_eq!(findings.rates.len(), findings.points.len());
    for rate in &findings.rates {
        let (low, high) = rate.rate.interval().expect("three trials");
        assert!((rate.rate.value - 1010.0).abs() < 0.1 && low < 1005.0 && high > 1015.0, "{rate:?}");
        assert_eq!((rate.broken_at, rate.closed_loop), (Some(1100.0), 2000.0));
    }
    assert_eq!(verdicts(&findings.claims), [ClaimVerdict::Supported]);
}

#[test]
fn what_noise_hides_is_open_and_so_is_what_one_trial_says() {
    let loud = judged(CLAIMS, 0.5);
    assert!(verdicts(&loud)[..2].contains(&ClaimVerdict::Open), "{loud:?}");
    assert_eq!(verdicts(&loud)[2], ClaimVerdict::Open);
    assert_eq!(loud[2].open, Some(super::Open::Wide));
}

#[test]
fn few_claims_are_refuted_that_are_true() {
    let (mut refuted, mut supported, runs) = (0, 0, 60);
    for seed in 0..runs {
        let mut plan = plan(&["repeats=4"]);
        let of = crate::plan::Levels::from([("server".to_owned(), vec!["pool".to_owned()])]);
        let over = crate::plan::Levels::from([("server".to_owned(), vec!["threads".to_owned()])]);
        plan.claims = vec![crate::plan::Claim {
            says: "the same".to_owned(),
            says_zh: String::new(),
            conclusion: None,
            metric: Metric::Throughput,
            of,
            statement: crate::plan::Statement::Within { over, share: 0.0001 },
        }];
        let mut noise = noise(1000 + seed);
        let judgement = analyse(&record(plan, |_, _| 10_000.0 * (1.0 + 0.03 * noise.normal()))).claims;
        refuted += usize::from(judgement[0].verdict == ClaimVerdict::Refuted);
        supported += usize::from(judgement[0].verdict == ClaimVerdict::Supported);
    }
    assert!(refuted <= 8, "{refuted} of {runs} refuted although they are the same");
    assert_eq!(supported, 0, "so little is never shown");
}
