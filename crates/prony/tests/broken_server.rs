//! The load engine and a real MariaDB that is stopped by a signal for a second, and one that is killed and
//! comes back.

mod support {
    pub(crate) mod server;
}

use load::{
    Histogram, Outcome, Progress, Spec, Stop,
    client::Connection,
    sample::End,
    spec::{
        Arrival, Distribution, Draw, Expect, Gaps, Operand, Piece, Rate, Statement, Step, Stream, Target,
        Transaction, Workload,
    },
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use support::server::{mariadb, processes_of};

const ROWS: i64 = 1000;
const WAIT: Duration = Duration::from_secs(20);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A table to look rows up in; the target uses its schema.
fn with_table(target: &Target) -> Target {
    let mut connection = Connection::open(target, WAIT).expect("the server runs");
    for sql in [
        "CREATE DATABASE broken",
        "CREATE TABLE broken.t (id INT PRIMARY KEY, c CHAR(120)) ENGINE=InnoDB",
        "INSERT INTO broken.t SELECT seq, REPEAT('x', 100) FROM seq_1_to_1000",
    ] {
        connection.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    Target { database: Some("broken".to_owned()), ..target.clone() }
}

fn point_select() -> Workload {
    let id = Draw::Integer { min: 1, max: ROWS, distribution: Distribution::Uniform };
    let pieces =
        vec![Piece::Sql("SELECT c FROM t WHERE id=".to_owned()), Piece::Parameter(Operand::Draw(id))];
    let kind = "point_select".to_owned();
    let statement = Statement { kind, pieces, text_only: false, keep: Vec::new(), expect: Expect::Row };
    let steps = vec![Step::Statement(statement)];
    let transactions = vec![Transaction { name: "point_select".to_owned(), weight: 1.0, steps }];
    Workload::new("point_select", 1, transactions)
}

/// A load, and what is done while it runs: `play` gets a function that waits until so long after the start.
fn run_while(spec: &Spec, play: impl FnOnce(&dyn Fn(Duration)) + Send) -> Outcome {
    let (started, signal) = mpsc::channel::<Instant>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let Ok(started) = signal.recv() else { return };
            play(&|after| thread::sleep((started + after).saturating_duration_since(Instant::now())));
        });
        let outcome = load::run(spec, &Stop::default(), &mut |event| {
            if matches!(event, Progress::Started) {
                started.send(Instant::now()).expect("somebody listens");
            }
        });
        drop(started);
        outcome.expect("the load begins")
    })
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id")).expect("a process id");
    kill_process(pid, signal).expect("the server runs");
}

fn at_least(histogram: &Histogram, time: Duration) -> u64 {
    let buckets = histogram.buckets();
    buckets.filter(|(ns, _)| u128::from(*ns) >= time.as_nanos()).map(|(_, count)| count).sum()
}

#[test]
fn a_server_that_stands_still_for_a_second_at_500_in_a_second_gives_500_late_replies() {
    let (_state, server) = mariadb(&[]);
    let target = with_table(server.target());
    let pid = server.pid().expect("a server of our own");
    let mut stream = Stream::new("main", point_select(), 8);
    let rate = Rate::Constant(500.0);
    stream.arrival = Arrival::Open { rate, gaps: Gaps::Constant, lateness_max: None };
    let spec = Spec { seed: 1, ..Spec::new(target, vec![stream], ms(500), Duration::from_secs(4)) };
    let outcome = run_while(&spec, |at| {
        at(ms(2000));
        signal(pid, Signal::STOP);
        at(ms(3000));
        signal(pid, Signal::CONT);
    });
    let stream = &outcome.streams[0];
    assert_eq!(outcome.end, End::Completed);
    assert!(stream.errors.is_empty(), "{:?}", stream.errors);
    let books = stream.schedule.as_ref().expect("an open loop has a schedule");
    assert_eq!(books.backlog + books.offered, books.started + books.skipped + books.never_sent);
    assert!(books.offered.abs_diff(2000) <= 1, "{books:?}");
    let response = stream.transactions.response();
    // Whoever came `u` after the stop waited for the rest of the second: uniform from 0 to 1 s.
    for (limit_ms, extra) in [(10, 1500), (100, 200), (500, 150), (900, 150)] {
        let late = at_least(response, ms(limit_ms));
        let least = 500 - limit_ms / 2 - 10;
        assert!(
            late >= least && late <= least + extra,
            "{late} of {least} waited for {limit_ms} ms and more"
        );
    }
    // Of 2000, 1 per cent are 20: those of the first 40 ms.
    let p99_ms = response.quantile_ns(0.99) as f64 / 1e6;
    assert!((940.0..1250.0).contains(&p99_ms), "{p99_ms}");
    assert_eq!(at_least(&stream.transactions.service, ms(500)), 8, "each connection waited once");
    server.stop().expect("it goes on and stops");
}

/// The same program with the same arguments, as the kernel has them.
fn again(pid: u32) -> Command {
    let parts = |what: &str| -> Vec<String> {
        let bytes = fs::read(format!("/proc/{pid}/{what}")).expect("the server runs");
        let text = String::from_utf8(bytes).expect("text");
        text.split_terminator('\0').map(str::to_owned).collect()
    };
    let arguments = parts("cmdline");
    let program = fs::read_link(format!("/proc/{pid}/exe")).expect("the server runs");
    let mut command = Command::new(program);
    command.args(&arguments[1..]).env_clear();
    command.envs(
        parts("environ")
            .iter()
            .filter_map(|pair| pair.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()))),
    );
    // its first statements, which made the account, have been removed; the option file beside them still
    // names them
    let options = arguments.iter().find_map(|argument| argument.strip_prefix("--defaults-file="));
    let options = Path::new(options.expect("an option file"));
    fs::write(options.with_file_name("init.sql"), "").expect("a file");
    command.current_dir(fs::read_link(format!("/proc/{pid}/cwd")).expect("the server runs"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_that_is_killed_and_started_again_is_an_outage_and_every_connection_comes_back() {
    const CONNECTIONS: u32 = 16;
    let (state, server) = mariadb(&[]);
    let target = with_table(server.target());
    let pid = server.pid().expect("a server of our own");
    let mut command = again(pid);
    let stream = Stream::new("main", point_select(), CONNECTIONS);
    let spec =
        Spec { seed: 1, ..Spec::new(target.clone(), vec![stream], Duration::ZERO, Duration::from_secs(8)) };
    let mut second = None;
    let mut ready = Duration::ZERO;
    let begun = Instant::now();
    let outcome = run_while(&spec, |at| {
        at(ms(1500));
        let start = Instant::now();
        signal(pid, Signal::KILL);
        at(ms(2500));
        second = Some(Running(command.spawn().expect("the same program again")));
        while start.elapsed() < Duration::from_secs(6) && Connection::open(&target, ms(500)).is_err() {
            thread::sleep(ms(20));
        }
        ready = start.elapsed();
    });
    assert!(begun.elapsed() < Duration::from_secs(40), "the load ends at its time");
    assert_eq!(outcome.end, End::Completed);
    let stream = &outcome.streams[0];
    let lost = stream.errors.iter().find(|error| error.code == 2013).expect("connections that broke");
    assert!(lost.count >= u64::from(CONNECTIONS) && lost.first >= ms(1450), "{lost:?}");
    let [outage] = &stream.outages[..] else { panic!("one outage: {:?}", stream.outages) };
    assert!(outage.recovered && outage.from >= ms(1450) && outage.from < ms(4500), "{outage:?}");
    let length = outage.until - outage.from;
    // It cannot be over before the new server is started, and is so at the latest a pause between two
    // attempts after it took logins. `ready` counts from the kill as the outage does.
    assert!(length >= ms(900) && length <= ready + Duration::from_secs(3), "{length:?} {ready:?}");
    assert_eq!(stream.transactions.count, stream.statements[0].rows, "one row for each success");
    assert!(stream.reconnecting.opened >= u64::from(CONNECTIONS), "{}", stream.reconnecting.opened);
    let attempts = stream.reconnecting.failed as f64;
    let most = f64::from(CONNECTIONS) * (10.0 + 2.0 * length.as_secs_f64());
    assert!(attempts <= most, "{attempts} attempts to connect failed");
    drop(second);
    assert!(processes_of(state.path()).is_empty(), "nothing is left running");
}
