//! What many load hosts cost whoever conducts them: simulated ones, which say what real ones would say, at
//! the times at which those would, to the code that conducts a load. Nothing of them is simulated on this
//! side of a [`Link`]; TLS and sockets are missing. `docs/load-hosts.md` has the figures:
//!
//! ```text
//! cargo test --release -p load --lib crowd -- --ignored --nocapture --test-threads 1
//! ```

use super::*;
use crate::{
    gather::PartReport,
    histogram::Histogram,
    host::Seen,
    io,
    orders::{Report, StreamReport},
    program::Program,
    random::Random,
    record::ErrorBook,
    sample::Connects,
    share::InFlight,
    spec::{Expect, Piece, Statement, Step, Stream, Target, Transaction, Workload},
};
use std::{
    collections::VecDeque,
    sync::{Condvar, MutexGuard},
};

/// Kinds of statements of a transaction.
const KINDS: [&str; 5] = ["one", "two", "three", "four", "five"];
/// Numbers that a load host sees of itself: see `prony::telemetry`.
const SEEN: usize = 14;

/// So many load hosts, each with so many connections that do one transaction per second.
#[derive(Debug, Clone, Copy)]
struct Crowd {
    hosts: u32,
    connections: u32,
    seconds: u32,
}

/// What all of them say, made beforehand, and how much was said.
struct Lines {
    crowd: Crowd,
    /// That each of its connections is open.
    opened: Vec<u8>,
    /// Each second.
    seconds: Vec<Vec<u8>>,
    alive: Vec<u8>,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

fn bytes(said: &Said) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, said).expect("memory");
    bytes
}

impl Lines {
    fn new(crowd: Crowd, spec: &Spec) -> Self {
        let program = Program::of(&spec.streams[0], Part::default()).expect("a program");
        let mut random = Random::for_connection(1, 0, 0);
        let mut second = |number| {
            let mut batch = Batch::new(0, std::slice::from_ref(&program));
            batch.second = number;
            let stream = &mut batch.streams[0];
            for tally in stream.transactions.iter_mut().chain(&mut stream.statements) {
                for _ in 0..crowd.connections {
                    tally.count += 1;
                    // between 0.1 and 100 ms
                    tally.service.record_ns((1e5 * 1e3_f64.powf(random.unit())) as u64);
                }
            }
            bytes(&Said::Of(Message::Second(Box::new(batch))))
        };
        let seen = Some(Seen(vec![Some(1234.5); SEEN]));
        Self {
            crowd,
            opened: bytes(&Said::Of(Message::Opened { version: "11.4.2-MariaDB".to_owned() })),
            seconds: (0..crowd.seconds).map(&mut second).collect(),
            alive: bytes(&Said::Alive { at: Moment::now(), seen }),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
        }
    }
}

/// One load host.
struct Simulated {
    number: u32,
    lines: Arc<Lines>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// What has been said and not heard yet.
    says: VecDeque<u8>,
    /// Connections that are still to be told as open.
    to_open: u32,
    start: Option<Moment>,
    /// Seconds that have been told.
    told: usize,
    alive: Moment,
    is_over: bool,
}

impl Simulated {
    fn link(number: u32, lines: &Arc<Lines>) -> Link {
        let mut says = VecDeque::new();
        let mut hello = Vec::new();
        frame::write(&mut hello, &Hello::ours()).expect("memory");
        says.extend(hello);
        let alive = Moment::now();
        let state = State { says, to_open: 0, start: None, told: 0, alive, is_over: false };
        let lines = Arc::clone(lines);
        let one = Arc::new(Self { number, lines, state: Mutex::new(state), changed: Condvar::new() });
        let ended = Arc::clone(&one);
        Link {
            name: format!("agent {number}"),
            process: None,
            from: Box::new(Mouth(Arc::clone(&one))),
            to: Box::new(Ears(one)),
            end: Box::new(move || {
                ended.state().is_over = true;
                ended.changed.notify_all();
                String::new()
            }),
            host: Some(Host::default()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    /// What it says by itself, if it is time; else how long to wait.
    fn goes_on(&self, state: &mut State) -> Option<Duration> {
        let now = Moment::now();
        if state.to_open > 0 {
            state.to_open -= 1;
            state.says.extend(&self.lines.opened);
            return None;
        }
        let mut due = state.alive.after(1_000_000_000);
        if due <= now {
            state.alive = now;
            state.says.extend(&self.lines.alive);
            return None;
        }
        if let Some((start, second)) = state.start.zip(self.lines.seconds.get(state.told)) {
            let end = start.after(1_000_000_000 * (state.told as u64 + 1));
            if end <= now {
                state.told += 1;
                state.says.extend(second);
                return None;
            }
            due = due.min(end);
        }
        Some(Duration::from_nanos(due.since(now)))
    }

    fn heeds(&self, told: Told) {
        let mut state = self.state();
        match told {
            Told::Clock(asked) => state.says.extend(bytes(&Said::Clock { asked, there: Moment::now() })),
            Told::Task(_) => state.to_open = self.lines.crowd.connections,
            Told::Order(Order::Start(at)) => state.start = Some(at),
            Told::Order(Order::Stop) => {
                let begins = state.start.unwrap_or_default();
                state.says.extend(bytes(&Said::Finished(Box::new(self.report(begins)))));
                state.is_over = true;
            }
            Told::Order(_) => {}
        }
        self.changed.notify_all();
    }

    fn report(&self, begins: Moment) -> PartReport {
        let Crowd { hosts, connections, seconds } = self.lines.crowd;
        let stream = StreamReport {
            opening: Connects { opened: connections.into(), ..Connects::default() },
            reconnecting: Connects::default(),
            opened: connections.into(),
            rolled_back: 0,
            errors: ErrorBook::default(),
            silences: Vec::new(),
            begins,
            in_flight: InFlight { count: 0, age_max: Duration::ZERO },
            is_limit_reached: false,
        };
        let own = (0..connections).map(|each| (0, each * hosts + self.number, seconds.into()));
        let report = Report {
            streams: vec![stream],
            finished: own.collect(),
            usage: io::Usage::default(),
            of_process: io::Usage::default(),
            start_delay: Duration::ZERO,
            send_delay: Histogram::new(),
            queueing: Histogram::new(),
        };
        PartReport { workers: vec![report], memory_bytes_max: 0, clock: None, host: None }
    }
}

/// What it says.
struct Mouth(Arc<Simulated>);

impl Read for Mouth {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut state = self.0.state();
        while state.says.is_empty() {
            if state.is_over {
                return Ok(0);
            }
            if let Some(wait) = self.0.goes_on(&mut state) {
                state = self.0.changed.wait_timeout(state, wait).expect("no panic").0;
            }
        }
        let count = state.says.read(buffer)?;
        self.0.lines.bytes_in.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// What it hears: values come whole, as [`frame::write`] writes them.
struct Ears(Arc<Simulated>);

impl Write for Ears {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lines.bytes_out.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some(told) = frame::read::<Told>(&mut &*bytes)? {
            self.0.heeds(told);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn spec(crowd: Crowd) -> Spec {
    let target = Target::of_nobody();
    let statement = |kind: &str| {
        let (pieces, keep) = (vec![Piece::Sql("SELECT 1".to_owned())], Vec::new());
        let kind = kind.to_owned();
        Step::Statement(Statement { kind, pieces, text_only: false, keep, expect: Expect::Row })
    };
    let steps = KINDS.map(statement).to_vec();
    let transactions = vec![Transaction { name: "only".to_owned(), weight: 1.0, steps }];
    let connections = crowd.hosts * crowd.connections;
    let streams = vec![Stream::new("main", Workload::new("test", 1, transactions), connections)];
    Spec::new(target, streams, Duration::ZERO, Duration::from_secs(crowd.seconds.into()))
}

/// What a load of theirs cost this process, in which they are as well.
struct Cost {
    /// Until all connections were open, s: CPU of all processors together.
    opening_cpu: f64,
    /// For each load host and second, ms.
    cpu_ms: f64,
    /// For each load host and second.
    bytes_in: f64,
    /// For each load host and second.
    bytes_out: f64,
    /// At the end, s.
    ending_cpu: f64,
    /// For each load host, at most, and with its part of what the crowd itself takes.
    memory_kb: f64,
}

/// Has so many load hosts carry out a load, and checks that nothing of it is lost.
fn conducted(crowd: Crowd) -> Cost {
    let spec = spec(crowd);
    let lines = Arc::new(Lines::new(crowd, &spec));
    let said = Arc::clone(&lines);
    let parts =
        Parts::new(crowd.hosts, move |of| Ok((0..of).map(|one| Simulated::link(one, &said)).collect()));
    let now = || {
        let usage = io::process_usage();
        let bytes = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        [(usage.user + usage.system).as_secs_f64(), bytes(&lines.bytes_in), bytes(&lines.bytes_out)]
    };
    let (memory, before) = (io::memory_bytes_max(), now());
    let (mut started, mut last, mut seen) = (before, before, 0_u64);
    let outcome = parts.run(&spec, &Stop::default(), &mut |progress| match progress {
        Progress::Started => started = now(),
        Progress::Sample(_) => last = now(),
        Progress::Seen(_) => seen += 1,
        _ => {}
    });
    let outcome = outcome.expect("the load begins");
    let end = now();
    let main = &outcome.streams[0];
    let all = u64::from(crowd.hosts * crowd.connections) * u64::from(crowd.seconds);
    assert_eq!((main.transactions.count, main.transactions.service.count()), (all, all));
    assert!(main.transactions_by_connection.iter().all(|&count| count == u64::from(crowd.seconds)));
    assert_eq!(outcome.client.parts.len() as u32, crowd.hosts);
    assert!(seen >= u64::from(crowd.hosts), "each sees itself: {seen}");
    let each = f64::from(crowd.hosts) * f64::from(crowd.seconds);
    let kilobytes = (io::memory_bytes_max() - memory) as f64 / 1e3;
    Cost {
        opening_cpu: started[0] - before[0],
        cpu_ms: (last[0] - started[0]) / each * 1e3,
        bytes_in: (last[1] - started[1]) / each,
        bytes_out: (last[2] - started[2]) / each,
        ending_cpu: end[0] - last[0],
        memory_kb: kilobytes / f64::from(crowd.hosts),
    }
}

#[test]
fn two_hundred_load_hosts_are_one_load() {
    conducted(Crowd { hosts: 200, connections: 10, seconds: 2 });
}

/// Measures one crowd, of which a processor must do so much in a second.
fn measured(crowd: Crowd, cpu_max: f64) {
    let Cost { opening_cpu, cpu_ms, bytes_in, bytes_out, ending_cpu, memory_kb } = conducted(crowd);
    let cpu = cpu_ms / 1e3 * f64::from(crowd.hosts);
    eprintln!(
        "{crowd:?}: {cpu_ms:.3} ms of CPU, {bytes_in:.0} bytes in and {bytes_out:.0} out for each load host \
         and second ({cpu:.2} processors for all); opening {opening_cpu:.1} s, ending {ending_cpu:.1} s; \
         {memory_kb:.0} kB for each load host"
    );
    assert!(cpu < cpu_max, "{cpu} processors");
}

#[test]
#[ignore = "long: a thousand simulated load hosts"]
fn a_thousand_load_hosts_with_10_000_connections_each_take_less_than_two_processors() {
    // by the figures at hand one; a build that is not a release, and a busy machine, take more
    measured(Crowd { hosts: 1_000, connections: 10_000, seconds: 10 }, 2.0);
}

#[test]
#[ignore = "long: ten thousand simulated load hosts"]
fn ten_thousand_load_hosts_with_100_connections_each_take_less_than_two_processors() {
    measured(Crowd { hosts: 10_000, connections: 100, seconds: 10 }, 2.0);
}
