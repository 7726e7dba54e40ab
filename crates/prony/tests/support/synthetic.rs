//! A run that never was, made up from a queueing model: two servers, two workloads, five rungs, three
//! repeats, one failed trial, errors at one rung, one doubt. For tests of store and report, and for the
//! sample report.

use jiff::Timestamp;
use load::{
    Histogram,
    sample::{ClientUsage, Connects, End, ErrorCount, Outcome, Phase, Sample, StreamOutcome, Tally},
    spec::{Statement, Step, Stream, Transaction, Workload},
};
use prony::{
    layout::sysbench,
    plan::{Factor, PLAN_FORMAT, Plan, ServerPlan, ServerSource, Treatment, Trial},
    provision::{self, ServerDescription},
    run::{Doubt, Event, TrialFailure, TrialOutcome},
    telemetry::{Machine, Reading},
};
use std::{collections::BTreeMap, time::Duration};

/// Rungs of the ladder.
pub const RUNGS: [u32; 5] = [4, 16, 64, 256, 1024];
/// Servers by name.
pub const SERVERS: [&str; 2] = ["threads", "pool"];
/// Workloads by name.
pub const WORKLOADS: [&str; 2] = ["oltp_read_only", "oltp_update_non_index"];
const REPEATS: u32 = 3;
const WARM_UP_SECONDS: u32 = 2;
const MEASURE_SECONDS: u32 = 8;
/// The trial that could not be run.
pub const FAILED_TRIAL: u32 = 37;

/// Numbers that are the same every time: no test may depend on luck.
pub struct Dice(pub u64);

impl Dice {
    /// Between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// What the study of the made-up run says.
const STUDY_TEXT: &str = "title = \"Thread pool under many connections\"\nseed = \
                          42\n\n[server.threads]\nproduct = \"mariadb\"\n\n[server.pool]\nproduct = \
                          \"mariadb\"\nsettings = { thread_handling = \"pool-of-threads\" } # \
                          </script><b>&amp;\n";

/// The plan of the made-up run.
pub fn plan() -> Plan {
    let mut treatments = Vec::new();
    for workload in WORKLOADS {
        for connections in RUNGS {
            for (server, name) in SERVERS.iter().enumerate() {
                let levels = [
                    ("server", (*name).to_owned()),
                    ("workload", workload.to_owned()),
                    ("connections", connections.to_string()),
                ];
                treatments.push(Treatment {
                    levels: levels.map(|(factor, level)| (factor.to_owned(), level)).into(),
                    server,
                    data: 0,
                    streams: vec![stream(workload, connections)],
                    client: prony::plan::Client::default(),
                    goal: None,
                });
            }
        }
    }
    let count = treatments.len() as u32;
    let trials = (0..count * REPEATS).map(|number| Trial {
        number,
        // 7 and the 20 treatments have no common divisor, so every block holds each treatment once.
        treatment: ((number * 7 + number / count * 3) % count) as usize,
        block: number / count,
        seed: u64::from(number) + 1,
        again_of: None,
    });
    Plan {
        network: prony::plan::Network::Auto,
        format: PLAN_FORMAT,
        name: "quickstart".to_owned(),
        title: "Thread pool under many connections".to_owned(),
        title_zh: "大量连接下的线程池".to_owned(),
        study_text: STUDY_TEXT.to_owned(),
        scale: Some("quick".to_owned()),
        set: Vec::new(),
        seed: 42,
        fairness: prony::plan::Fairness::Report,
        factors: vec![
            factor("server", &SERVERS, false),
            factor("workload", &WORKLOADS, false),
            factor("connections", &RUNGS.map(|rung| rung.to_string()), true),
        ],
        servers: vec![
            server_plan("threads", "one-thread-per-connection"),
            server_plan("pool", "pool-of-threads"),
        ],
        data_sets: vec![data().into()],
        trials: trials.collect(),
        treatments,
        warm_up_auto: false,
        alone: Duration::ZERO,
        audit: None,
        buy: None,
        relevant: 0.03,
        warm_up: Duration::from_secs(u64::from(WARM_UP_SECONDS)),
        interval: Duration::from_secs(u64::from(MEASURE_SECONDS)),
        repeats: REPEATS,
        repetition: prony::plan::Repetition::default(),
        telemetry: prony::plan::Telemetry::default(),
        state: prony::plan::State::default(),
        claims: Vec::new(),
    }
}

fn data() -> sysbench::Data {
    sysbench::Data {
        tables: 1,
        rows: 100_000,
        engine: Some("InnoDB".to_owned()),
        create_secondary: true,
        secondary: false,
        auto_inc: true,
        seed: 42,
        generator: sysbench::Generator::Sysbench,
        k: load::spec::Distribution::Uniform,
    }
}

fn factor(name: &str, levels: &[impl ToString], numeric: bool) -> Factor {
    Factor { name: name.to_owned(), levels: levels.iter().map(ToString::to_string).collect(), numeric }
}

fn server_plan(name: &str, handling: &str) -> ServerPlan {
    let settings =
        [("innodb_buffer_pool_size", "256M"), ("max_connections", "1100"), ("thread_handling", handling)];
    ServerPlan {
        settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        ..ServerPlan::new(
            name,
            ServerSource::Product { product: "mariadb".to_owned(), version: Some("10.11".to_owned()) },
        )
    }
}

fn stream(workload: &str, connections: u32) -> Stream {
    let statement = |kind: &str| {
        Step::Statement(Statement {
            kind: kind.to_owned(),
            pieces: Vec::new(),
            text_only: false,
            keep: Vec::new(),
            expect: load::spec::Expect::Anything,
        })
    };
    let transaction = Transaction {
        name: workload.to_owned(),
        weight: 1.0,
        steps: kinds(workload).iter().map(|kind| statement(kind)).collect(),
    };
    let workload = Workload::new(workload, 1, vec![transaction]);
    Stream::new("main", workload, connections)
}

fn kinds(workload: &str) -> &'static [&'static str] {
    if workload == "oltp_read_only" {
        &["begin", "point_selects", "simple_ranges", "commit"]
    } else {
        &["non_index_updates"]
    }
}

/// The machine of the made-up run.
pub fn machine() -> Machine {
    Machine {
        cpu_model: "Example CPU @ 2.50GHz".to_owned(),
        cpus: 2,
        memory_bytes: 4 << 30,
        kernel: "6.1.0-example".to_owned(),
        distribution: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        virtualisation: "kvm".to_owned(),
        open_files_max: 65_536,
        ..Machine::default()
    }
}

/// The server at an index of the plan, as it would describe itself.
pub fn description(server: usize) -> ServerDescription {
    let mut variables: BTreeMap<String, String> =
        (0..400).map(|n| (format!("variable_{n:03}"), format!("{}", n * 7))).collect();
    for (key, value) in &plan().servers[server].settings {
        variables.insert(key.clone(), value.clone());
    }
    variables.insert("thread_pool_size".to_owned(), ["1", "2"][server].to_owned());
    variables.insert("report_password".to_owned(), "hunter2".to_owned());
    ServerDescription {
        name: SERVERS[server].to_owned(),
        product: "mariadb".to_owned(),
        version: "10.11.6-MariaDB-0+deb12u1".to_owned(),
        build: "Debian 12, x86_64, debian-linux-gnu".to_owned(),
        origin: "installed".to_owned(),
        program: Some("/usr/sbin/mariadbd".to_owned()),
        pid: Some(4711),
        limits: None,
        variables,
        status_before: [("Questions".to_owned(), "3".to_owned())].into(),
    }
}

/// Transactions per second that the model gives a server.
fn capacity(server: usize, workload: &str, connections: u32) -> f64 {
    let (top, contention, coherence) = match (server, workload) {
        (0, "oltp_read_only") => (640.0, 0.55, 0.000_35),
        (_, "oltp_read_only") => (610.0, 0.55, 0.000_002),
        (0, _) => (2100.0, 0.22, 0.000_06),
        _ => (2000.0, 0.22, 0.000_01),
    };
    let n = f64::from(connections);
    top * n / (1.0 + contention * (n - 1.0) + coherence * n * (n - 1.0))
}

/// Everything that happens in the run, in order.
pub fn events() -> Vec<Event> {
    let plan = plan();
    let mut events = vec![Event::RunStarted { plan: Box::new(plan.clone()), machine: Box::new(machine()) }];
    for server in 0..2 {
        events.push(Event::ServerStarting {
            server,
            step: provision::Step::Starting { of: "mariadb 10.11".to_owned() },
        });
        events.push(Event::ServerReady { server, description: Box::new(description(server)) });
        events.push(Event::DataReady {
            server,
            data: 0,
            took: Duration::from_millis(812),
            origin: prony::run::Origin::Loaded,
            size: None,
        });
    }
    for trial in &plan.trials {
        trial_events(&plan, *trial, &mut events);
    }
    for server in 0..2 {
        let status_after = [("Questions".to_owned(), "1234567".to_owned())].into();
        events.push(Event::ServerStopped { server, status_after });
    }
    events.push(Event::RunFinished { complete: true });
    events
}

/// The events of one trial of the plan.
pub fn trial_events(plan: &Plan, trial: Trial, events: &mut Vec<Event>) {
    let number = trial.number;
    events.push(Event::TrialStarted { trial: number });
    if number == FAILED_TRIAL {
        let reason = "the server closed the connection while 1024 connections were being opened: Too many \
                      connections (1040)";
        let outcome = Box::new(TrialOutcome::Failed(TrialFailure::told(reason)));
        events.push(Event::TrialFinished { trial: number, outcome });
        return;
    }
    let treatment = &plan.treatments[trial.treatment];
    let stream = &treatment.streams[0];
    let mut dice = Dice(trial.seed.wrapping_mul(1_000_003));
    let capacity =
        capacity(treatment.server, &stream.workload.name, stream.connections) * (1.0 + 0.02 * dice.normal());
    let mut outcome = empty_outcome(stream);
    for second in 0..WARM_UP_SECONDS + MEASURE_SECONDS {
        let warm = if second == 0 { 0.6 } else { 1.0 };
        let sample = sample(stream, second, capacity * warm * (1.0 + 0.02 * dice.normal()), &mut dice);
        if sample.phase == Phase::Measure {
            let main = &mut outcome.streams[0];
            main.transactions.merge(&sample.transactions);
            main.by_transaction[0].merge(&sample.transactions);
            for (total, tally) in main.statements.iter_mut().zip(&sample.statements) {
                total.merge(tally);
            }
        }
        events.push(Event::TrialSample { trial: number, sample: Box::new(sample) });
        events.push(Event::TrialReading { trial: number, reading: Box::new(reading(second, &mut dice)) });
    }
    finish(&mut outcome, stream.connections);
    let client_is_busy = stream.connections == 4 && trial.block == 1 && treatment.server == 1;
    let doubts = if client_is_busy {
        vec![Doubt::told(
            "the load engine used 0.96 of its 1 CPU: what was measured may be its limit; give it more \
             workers",
        )]
    } else {
        Vec::new()
    };
    let outcome = Box::new(TrialOutcome::Measured {
        outcome: Box::new(outcome),
        doubts,
        following: None,
        sought: None,
    });
    events.push(Event::TrialFinished { trial: number, outcome });
}

fn sample(stream: &Stream, second: u32, rate: f64, dice: &mut Dice) -> Sample {
    let kinds = kinds(&stream.workload.name);
    let mean_ns = f64::from(stream.connections) / rate * 1e9;
    let mut transactions = Tally::new("transactions");
    let mut statements: Vec<Tally> = kinds.iter().map(|kind| Tally::new(kind)).collect();
    // Fewer values than a real second would have, to keep tests quick; the counts are those of the model.
    for _ in 0..200 {
        let shape = (0.45 * dice.normal() - 0.1).exp();
        transactions.service.record_ns((mean_ns * shape) as u64);
        for (tally, share) in statements.iter_mut().zip([0.1, 0.5, 0.3, 0.1]) {
            tally.service.record_ns((mean_ns * shape * share * (0.5 + dice.uniform())) as u64);
        }
    }
    let has_errors = stream.connections == 1024 && stream.workload.name == "oltp_update_non_index";
    transactions.count = rate.round() as u64;
    transactions.errors = if has_errors { 2 } else { 0 };
    transactions.rows = transactions.count * 10;
    for tally in &mut statements {
        tally.count = transactions.count;
    }
    Sample {
        stream: 0,
        second,
        phase: if second < WARM_UP_SECONDS { Phase::WarmUp } else { Phase::Measure },
        length: Duration::from_nanos(1_000_000_000 + u64::from(second) * 1017),
        errors: transactions.errors,
        transactions,
        statements,
        schedule: None,
    }
}

/// A second with as many values as a busy server gives: 600 transactions of 16 statements of 7 kinds.
pub fn busy_second(like: &Sample, second: u32) -> Sample {
    let mut dice = Dice(u64::from(second) * 7919);
    let mut tally = |name: &str, mean_ns: f64, count: u64| {
        let mut tally = Tally::new(name);
        tally.count = count;
        for _ in 0..count {
            tally.service.record_ns((mean_ns * (0.45 * dice.normal()).exp()) as u64);
        }
        tally
    };
    Sample {
        second,
        transactions: tally("transactions", 5e6, 600),
        statements: vec![
            tally("begin", 8e4, 600),
            tally("point_selects", 2e5, 6000),
            tally("simple_ranges", 4e5, 600),
            tally("sum_ranges", 3e5, 600),
            tally("order_ranges", 6e5, 600),
            tally("distinct_ranges", 7e5, 600),
            tally("commit", 9e4, 600),
        ],
        ..like.clone()
    }
}

/// What machine, client and server did in a second.
pub fn reading(second: u32, dice: &mut Dice) -> Reading {
    let mut about = |value: f64, spread: f64| ((value + spread * dice.uniform()) * 1e3).round() / 1e3;
    let values = [
        ("machine/cpu_user", about(1.4, 0.1)),
        ("machine/cpu_system", 0.4),
        ("machine/cpu_iowait", 0.02),
        ("machine/cpu_steal", 0.0),
        ("machine/cpu_idle", 0.12),
        ("node/server/process/cpu_user", about(1.0, 0.1)),
        ("node/server/process/cpu_system", 0.3),
        ("node/server/process/memory_bytes", 432_000_000.0),
        ("node/server/process/threads", 24.0),
        ("node/server/status/log_syncs", 610.0),
        ("node/server/status/lock_waits", 3.0),
        ("client/cpu_user", about(0.3, 0.05)),
        ("client/cpu_system", 0.1),
        ("machine/context_switches", 41_000.0),
    ];
    Reading {
        at: Duration::from_secs(u64::from(second) + 1),
        length: Duration::from_secs(1),
        values: values.map(|(path, value)| (path.to_owned(), value)).into(),
    }
}

fn empty_outcome(stream: &Stream) -> Outcome {
    let mut connect = Histogram::new();
    connect.record_ns(812_000);
    Outcome {
        streams: vec![StreamOutcome {
            name: "main".to_owned(),
            connections: stream.connections,
            connections_opened: u64::from(stream.connections),
            opening: Connects {
                opened: u64::from(stream.connections),
                total: connect,
                ..Connects::default()
            },
            transactions: Tally::new("transactions"),
            by_transaction: vec![Tally::new(&stream.workload.name)],
            statements: kinds(&stream.workload.name).iter().map(|kind| Tally::new(kind)).collect(),
            rolled_back: 0,
            errors: Vec::new(),
            transactions_by_connection: Vec::new(),
            in_flight_at_end: stream.connections,
            in_flight_age_max: Duration::from_millis(3),
            ..StreamOutcome::default()
        }],
        client: ClientUsage {
            cpu_user: Duration::from_millis(1800),
            cpu_system: Duration::from_millis(1400),
            workers: vec![Duration::from_millis(3150)],
            memory_bytes_max: 48 << 20,
            ..ClientUsage::default()
        },
        warm_up: None,
        interval: Duration::from_secs(u64::from(MEASURE_SECONDS)),
        end: End::Completed,
        server_version: "10.11.6-MariaDB-0+deb12u1".to_owned(),
    }
}

fn finish(outcome: &mut Outcome, connections: u32) {
    let main = &mut outcome.streams[0];
    let each = main.transactions.count / u64::from(connections);
    main.transactions_by_connection = vec![each; connections as usize];
    if main.transactions.errors > 0 {
        main.rolled_back = main.transactions.errors;
        main.errors.push(ErrorCount {
            code: 1205,
            state: "HY000".to_owned(),
            count: main.transactions.errors,
            message: "Lock wait timeout exceeded; try restarting transaction".to_owned(),
            first: Duration::from_millis(2300),
            last: Duration::from_millis(9100),
        });
    }
}

/// When the made-up run began.
pub fn started() -> Timestamp {
    Timestamp::from_second(1_760_000_000).expect("a time that exists")
}

/// The run as the store gives it back, with a date that never changes.
pub fn record() -> prony::store::RunRecord {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut store = prony::store::Store::open(&directory.path().join("prony.sqlite")).expect("a new store");
    let id = store.begin(&plan(), &machine()).expect("room for a run");
    for event in events() {
        store.record(id, &event).expect("room for an event");
    }
    let mut record = store.run(id).expect("what was written");
    record.started = started();
    record.finished = Some(started() + Duration::from_secs(660));
    record.prony_version = "0.1.0".to_owned();
    for trial in &mut record.trials {
        trial.started = started() + Duration::from_secs(u64::from(trial.trial.number) * 11);
    }
    record
}
