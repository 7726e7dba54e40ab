//! Connecting again for each transaction over a Unix socket whose backlog is full most of the time, on a real
//! server: the engine's response times are distributed as those of a client that has a blocking thread for
//! each connection.
#![expect(clippy::print_stdout, reason = "the figures are worth reading")]

use load::{
    Histogram, Spec, Stop, client,
    spec::{ConnectionMode, Expect, Piece, Protocol, Statement, Step, Stream, Target, Transaction, Workload},
};
use prony::{
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner},
};
use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

/// Far more than the backlog has room for.
const CONNECTIONS: u32 = 512;
const BACK_LOG: &str = "80";
const WARM_UP: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_secs(4);
const SQL: &str = "SELECT 1";

fn workload() -> Workload {
    let statement = Statement {
        kind: "select".to_owned(),
        pieces: vec![Piece::Sql(SQL.to_owned())],
        text_only: true,
        keep: Vec::new(),
        expect: Expect::Row,
    };
    let transaction =
        Transaction { name: "one".to_owned(), weight: 1.0, steps: vec![Step::Statement(statement)] };
    Workload::new("one", 1, vec![transaction])
}

/// Connect, one query, goodbye: by the engine.
fn by_engine(target: &Target) -> Histogram {
    let mut stream = Stream::new("main", workload(), CONNECTIONS);
    (stream.connect, stream.protocol) = (ConnectionMode::Transactions(1), Protocol::Text);
    let spec = Spec::new(target.clone(), vec![stream], WARM_UP, INTERVAL);
    let outcome = load::run(&spec, &Stop::default(), &mut |_| ()).expect("the load begins");
    let stream = &outcome.streams[0];
    assert!(stream.errors.is_empty(), "{:?}", stream.errors);
    assert_eq!(stream.reconnecting.failed, 0);
    stream.transactions.response().clone()
}

/// The same by threads that block.
fn by_threads(target: &Target) -> Histogram {
    let begun = Instant::now();
    let ask = || {
        let mut times = Histogram::new();
        while begun.elapsed() < WARM_UP + INTERVAL {
            let at = Instant::now();
            let mut connection =
                client::Connection::open(target, Duration::from_secs(30)).expect("a connection");
            connection.query(SQL).expect("an answer");
            drop(connection);
            if begun.elapsed() >= WARM_UP {
                times.record_ns(at.elapsed().as_nanos() as u64);
            }
        }
        times
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(ask)).collect();
        let mut all = Histogram::new();
        for thread in threads {
            all.merge(&thread.join().expect("no panic"));
        }
        all
    })
}

fn shown(name: &str, times: &Histogram) {
    let quantiles = [0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999];
    let ms = quantiles.map(|quantile| format!("{:.1}", times.quantile_ns(quantile) as f64 / 1e6));
    println!("{name}: {} transactions, ms at {quantiles:?}: {}", times.count(), ms.join(", "));
}

#[test]
#[ignore = "long: ten seconds of load on a real server"]
fn reconnecting_over_a_socket_with_a_full_backlog_takes_as_long_as_for_threads_that_block() {
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let settings = [("back_log", BACK_LOG), ("max_connections", "1000"), ("thread_cache_size", "600")];
    let plan = ServerPlan {
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..ServerPlan::new(
            "tested",
            ServerSource::Product { product: "mariadb".to_owned(), version: Some("10.11".to_owned()) },
        )
    };
    let launcher = PathBuf::from(env!("CARGO_BIN_EXE_prony"));
    let server = Provisioner::with(places, launcher).bring_up(&plan, 0, &mut |_| ()).expect("a server");
    let target = server.target_by_socket();
    // one or the other may be held up by a neighbour: two rounds, and the better of each
    let rounds: Vec<_> = (0..2).map(|_| (by_threads(&target), by_engine(&target))).collect();
    for (threads, engine) in &rounds {
        shown("threads", threads);
        shown("engine ", engine);
    }
    let least = |quantile: f64, of: fn(&(Histogram, Histogram)) -> &Histogram| {
        rounds.iter().map(|round| of(round).quantile_ns(quantile)).min().expect("rounds") as f64 / 1e6
    };
    // pauses of 20 to 1000 ms made the 99th percentile ten times as long as the median
    for quantile in [0.5, 0.95, 0.99] {
        let (threads, engine) = (least(quantile, |round| &round.0), least(quantile, |round| &round.1));
        assert!(engine <= 1.5 * threads + 20.0, "quantile {quantile}: {engine} ms, threads {threads} ms");
    }
}
