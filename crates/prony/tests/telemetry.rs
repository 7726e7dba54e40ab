//! Telemetry beside real loads on a real MariaDB: what it tells agrees with what the engine counted and with
//! the kernel's own books, and nothing that a load does to the server stops it.
#![expect(clippy::print_stdout, reason = "figures for who looks at the test's output")]

mod support {
    #[expect(dead_code, reason = "what a server leaves behind is for other tests")]
    pub(crate) mod server;
}

use load::{Outcome, Spec, Stop, client::Connection, spec::Stream};
use prony::{
    dataset,
    provision::Server,
    run,
    telemetry::{Beside, Cost, Options, Reading, mean},
    workload,
};
use std::{
    fs,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use support::server::mariadb;

const ALL: (Duration, Duration) = (Duration::ZERO, Duration::MAX);
/// A machine that is busy with something else may stop this process at a bad moment, but not so often.
const ATTEMPTS: u32 = 4;

/// A load without warm-up, so that all that it does counts, and what was sampled beside it.
fn offer(server: &Server, name: &str, connections: u32, seconds: u64) -> (Outcome, Vec<Reading>) {
    let workload = workload::builtin(name, &workload::Options::default()).expect("a workload");
    let streams = vec![Stream::new("main", workload, connections)];
    let spec = Spec::new(server.target().clone(), streams, Duration::ZERO, Duration::from_secs(seconds));
    let options = Options { every: Duration::from_millis(250), ..Options::default() };
    let mut beside = Beside::prepare(&[run::node("server", server.target(), server.pid())], options);
    let outcome = load::run(&spec, &Stop::default(), &mut |event| {
        if matches!(event, load::Progress::Started) {
            beside.begin_in(&[]);
        }
    });
    (outcome.expect("a load"), beside.end())
}

fn rate(outcome: &Outcome) -> f64 {
    outcome.streams[0].transactions.count as f64 / outcome.interval.as_secs_f64()
}

fn mean_of(readings: &[Reading], what: &str) -> f64 {
    mean(readings, ALL, |reading| reading.of_servers(what)).unwrap_or_else(|| panic!("{what}: {readings:?}"))
}

/// Processor time of a process in the kernel's books, seconds.
fn processor_time(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the server runs");
    let fields: Vec<&str> = text.rsplit(')').next().expect("fields").split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("ticks")).sum::<f64>() / 100.0
}

/// Tries until what is looked at agrees.
fn agrees(what: &str, mut ratio: impl FnMut() -> f64, within: f64) {
    let tried: Vec<f64> = (0..ATTEMPTS)
        .map_while(|attempt| {
            let ratio = ratio();
            println!("{what}: {ratio:.3} in attempt {attempt}");
            ((ratio - 1.0).abs() > within).then_some(ratio)
        })
        .collect();
    assert!(tried.len() < ATTEMPTS as usize, "{what} should be 1 within {within}: {tried:?}");
}

#[test]
fn what_is_told_agrees_with_the_engine_and_with_the_kernel() {
    let (_state, server) = mariadb(&[("innodb_flush_log_at_trx_commit", "1")]);
    let data = workload::data("oltp_point_select", &workload::Options::default()).expect("a data set");
    dataset::prepare(server.target(), &data, 2, &mut |_| (), &AtomicBool::new(false)).expect("data");
    let pid = server.pid().expect("it runs here");

    let selects = || {
        let (outcome, readings) = offer(&server, "oltp_point_select", 2, 2);
        mean_of(&readings, "status/selects") / rate(&outcome)
    };
    agrees("selects told by the server, of those of the engine", selects, 0.06);

    let scans = || {
        let options = Options { every: Duration::from_millis(250), ..Options::default() };
        let mut beside = Beside::prepare(&[run::node("server", server.target(), server.pid())], options);
        let mut connection = Connection::open(server.target(), Duration::from_secs(20)).expect("a login");
        beside.begin_in(&[]);
        let (began, mut scans) = (Instant::now(), 0.0);
        while began.elapsed() < Duration::from_secs(2) {
            connection.query("SELECT COUNT(*) FROM sbtest1 WHERE pad = 'none'").expect("a scan");
            scans += 1.0;
        }
        let rows_per_second = scans * data.rows as f64 / began.elapsed().as_secs_f64();
        mean_of(&beside.end(), "status/rows_scanned") / rows_per_second
    };
    agrees("rows scanned told by the server, of those that were", scans, 0.06);

    let processors = || {
        let before = processor_time(pid);
        let (outcome, readings) = offer(&server, "oltp_point_select", 2, 2);
        let cost = Cost::of(&readings.iter().cloned().collect(), ALL, rate(&outcome));
        let told = cost.server_cpu_us.expect("known") * outcome.streams[0].transactions.count as f64 / 1e6;
        assert!(
            cost.client_cpu_us.expect("known") > 0.0 && cost.context_switches.expect("known") > 0.0,
            "{cost:?}"
        );
        told / (processor_time(pid) - before)
    };
    agrees("processor time told, of that in the kernel's books", processors, 0.12);

    let syncs = || {
        let (outcome, readings) = offer(&server, "oltp_update_non_index", 1, 2);
        let cost = Cost::of(&readings.iter().cloned().collect(), ALL, rate(&outcome));
        assert!(cost.written_kb.expect("known") > 0.0, "{cost:?}");
        let own = mean(&readings, ALL, |reading| reading.value("client/telemetry_cpu")).expect("measured");
        // four times as often as usual; this is no optimised build either
        println!("telemetry takes {:.2} % of a processor at a reading per second", own / 4.0 * 100.0);
        assert!(own / 4.0 < 0.01, "{own} of a processor at four readings per second");
        cost.log_syncs.expect("known")
    };
    agrees("syncs of the log for a commit", syncs, 0.15);
}

#[test]
fn neither_full_connections_nor_a_stuck_pool_stop_it() {
    let settings = [
        ("thread_handling", "pool-of-threads"),
        ("thread_pool_size", "1"),
        ("thread_pool_max_threads", "2"),
        ("max_connections", "12"),
    ];
    let (_state, server) = mariadb(&settings);
    let target = server.target();
    let node = run::node("server", target, server.pid());
    assert_eq!(node.ways.len(), 2, "a port of its own, then the usual one");
    assert_ne!(node.ways[0].address, target.address);
    let every = Duration::from_millis(100);
    let mut beside = Beside::prepare(&[node], Options { every, all: true, ..Options::default() });
    let mut open: Vec<Connection> = Vec::new();
    while let Ok(connection) = Connection::open(target, Duration::from_secs(20)) {
        open.push(connection);
        assert!(open.len() < 20, "max_connections holds");
    }
    beside.begin_in(&[]);
    let sleeping: Vec<_> = open
        .drain(..4)
        .map(|mut connection| std::thread::spawn(move || drop(connection.query("SELECT SLEEP(2)"))))
        .collect();
    sleeping.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let readings = beside.end();
    let told =
        readings.iter().filter(|reading| reading.of_servers("status/connections_open").is_some()).count();
    assert!(told >= 5, "{told} of {} readings have the server's counters", readings.len());
    let most = readings.iter().filter_map(|reading| reading.of_servers("status/connections_open"));
    assert!(most.fold(0.0, f64::max) >= 8.0, "the connections are seen");
    assert!(
        readings.iter().any(|reading| reading.of_servers("state/User sleep").is_some()),
        "{:?}",
        readings.last()
    );
    let names = |reading: &Reading| reading.values.keys().filter(|path| path.contains("/status/")).count();
    assert!(readings.iter().map(names).max() > Some(200), "everything was asked for");
}
