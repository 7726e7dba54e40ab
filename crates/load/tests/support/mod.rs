//! Loads against the scripted server: what several tests need.

use load::{
    Outcome, Progress, Spec, Stop,
    null::{Answer, Asked, NullServer, Scenario, Welcome},
    spec::{Address, Expect, Piece, Secret, Statement, Step, Stream, Target, Tls, Transaction, Workload},
};
use std::{
    net::SocketAddr,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// How much later than its time a load may end on a busy machine; the engine's own limit is 2 s.
const LATE_MAX: Duration = Duration::from_secs(15);

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A statement of its own kind that is text up to its end.
pub(crate) fn statement(kind: &str, sql: &str, expect: Expect) -> Step {
    let pieces = vec![Piece::Sql(sql.to_owned())];
    Step::Statement(Statement { kind: kind.to_owned(), pieces, text_only: false, keep: Vec::new(), expect })
}

/// A workload of one transaction.
pub(crate) fn workload(steps: Vec<Step>) -> Workload {
    let transactions = vec![Transaction { name: "only".to_owned(), weight: 1.0, steps }];
    Workload::new("test", 1, transactions)
}

/// One SELECT that should find a row.
pub(crate) fn select() -> Workload {
    workload(vec![statement("select", "SELECT c FROM t", Expect::Row)])
}

/// A load of one stream without warm-up.
pub(crate) fn spec(address: SocketAddr, stream: Stream, interval: Duration) -> Spec {
    let target = Target {
        address: Address::Tcp { host: address.ip().to_string(), port: address.port() },
        user: "test".to_owned(),
        password: Secret::default(),
        database: None,
        tls: Tls::default(),
        trust: load::spec::Trust::default(),
        compress: false,
    };
    Spec { seed: 1, ..Spec::new(target, vec![stream], Duration::ZERO, interval) }
}

/// A load, and what happens while it runs: `play` gets a function that waits until so many milliseconds after
/// the start. Whatever happens, the load must end, and in time.
pub(crate) fn run_while(spec: &Spec, play: impl FnOnce(&dyn Fn(u64)) + Send) -> Outcome {
    let begun = Instant::now();
    let (started, signal) = mpsc::channel::<Instant>();
    let outcome = thread::scope(|scope| {
        scope.spawn(move || {
            let Ok(started) = signal.recv() else { return };
            play(&|after| thread::sleep((started + ms(after)).saturating_duration_since(Instant::now())));
        });
        let outcome = load::run(spec, &Stop::default(), &mut |event| {
            if matches!(event, Progress::Started) {
                // the listener waits for nothing else
                let _ = started.send(Instant::now());
            }
        });
        drop(started);
        outcome.expect("the load begins")
    });
    let most = spec.warm_up + spec.interval + LATE_MAX;
    assert!(begun.elapsed() < most, "the load ended after {:?}", begun.elapsed());
    outcome
}

/// A load to which nothing is done.
pub(crate) fn run(spec: &Spec) -> Outcome {
    run_while(spec, |_| ())
}

/// Checks that mostly wait, side by side.
pub(crate) fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| check(case));
        }
    });
}

/// A server that meets connections and answers statements as two functions say; both get the connection's
/// number.
pub(crate) fn server(
    welcome: impl FnMut(u64) -> Welcome + Send + 'static,
    answer: impl FnMut(u64, u64, Asked<'_>) -> Answer + Send + 'static,
) -> NullServer {
    NullServer::with_scenario(0, Box::new(Play(welcome, answer))).expect("a port")
}

struct Play<W, A>(W, A);

impl<W, A> Scenario for Play<W, A>
where
    W: FnMut(u64) -> Welcome + Send,
    A: FnMut(u64, u64, Asked<'_>) -> Answer + Send,
{
    fn welcome(&mut self, connection: u64) -> Welcome {
        (self.0)(connection)
    }

    fn answer(&mut self, connection: u64, statement: u64, asked: Asked<'_>) -> Answer {
        (self.1)(connection, statement, asked)
    }
}
