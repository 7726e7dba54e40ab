//! A load in parts is the load that one process would have offered: the same statements, the same schedule,
//! the same figures. Here the parts are threads at the other end of a pair of sockets, or at agents; in
//! `crates/prony/tests/load_processes.rs` they are processes, in `agents.rs` agents that are.

use crate::{
    support::{self, ms, select, spec, workload},
    threads,
};
use load::{
    Error, Here, Histogram, Link, Loader, Outcome, Parts, Progress, Sample, Spec, Stop, WarmUp,
    null::{Answer, Asked, NullServer},
    sample::{End, Phase},
    spec::{
        Arrival, Begin, Draw, Expect, Gaps, Limit, Operand, Part, Piece, Protocol, Rate, Statement, Step,
        Stream,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// What leads to whatever `play` does at the other end.
fn link(part: Part, play: impl FnOnce(UnixStream) + Send + 'static) -> Result<Link, Error> {
    let (here, there) = UnixStream::pair()?;
    thread::spawn(move || play(there));
    let (from, to) = (here.try_clone()?, here.try_clone()?);
    Ok(Link {
        name: format!("part {} of {}", part.number + 1, part.of),
        process: None,
        from: Box::new(from),
        to: Box::new(to),
        end: Box::new(move || {
            // it is closed already where the other end is gone
            let _ = here.shutdown(Shutdown::Both);
            "closed".to_owned()
        }),
        host: None,
    })
}

/// One link for each of so many parts.
fn links(of: u32, link: impl Fn(Part) -> Result<Link, Error>) -> Result<Vec<Link>, Error> {
    (0..of).map(|number| link(Part { number, of })).collect()
}

fn serve(there: UnixStream) {
    let from = there.try_clone().expect("a socket");
    load::part::serve(from, there, None, None).expect("a task");
}

fn parts(count: u32) -> Parts {
    Parts::new(count, |of| links(of, |part| link(part, serve)))
}

/// A load by each of these numbers of parts; 0: in this process without any. The last ones are agents.
fn loaders() -> [(u32, Box<dyn Loader>); 4] {
    let agents = Box::new(threads::agents(2));
    [(0, Box::new(Here::default())), (2, Box::new(parts(2))), (4, Box::new(parts(4))), (2, agents)]
}

fn run(loader: &dyn Loader, spec: &Spec) -> (Outcome, Vec<Sample>) {
    let mut samples = Vec::new();
    let outcome = loader.run(spec, &Stop::default(), &mut |progress| {
        if let Progress::Sample(sample) = progress {
            samples.push(*sample);
        }
    });
    let outcome = outcome.expect("the load begins");
    assert_eq!(outcome.end, End::Completed);
    (outcome, samples)
}

/// A statement that says which connection sends it, what that drew, and what was drawn over all connections.
fn telling() -> Stream {
    let inline = |draw| Piece::Inline(Operand::Draw(draw));
    let (min, max, distribution) = (1, 1_000_000, load::spec::Distribution::Uniform);
    let pieces = vec![
        Piece::Sql("SELECT ".to_owned()),
        inline(Draw::Connection),
        Piece::Sql(" ".to_owned()),
        inline(Draw::Integer { min, max, distribution }),
        Piece::Sql(" ".to_owned()),
        inline(Draw::IntegerOfConnection { min, max, distribution }),
        Piece::Sql(" ".to_owned()),
        inline(Draw::Sequence { first: 0 }),
        Piece::Sql(" ".to_owned()),
        inline(Draw::Unique { offset: 0 }),
    ];
    let statement = Statement {
        kind: "telling".to_owned(),
        pieces,
        text_only: false,
        keep: Vec::new(),
        expect: Expect::Row,
    };
    let workload = workload(vec![Step::Statement(statement)]);
    Stream { protocol: Protocol::Text, ..Stream::new("main", workload, 8) }
}

/// What a server was asked: by connection what it drew itself, in order, and all numbers of each kind that
/// were drawn over all connections.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Told {
    by_connection: BTreeMap<u64, Vec<(u64, u64)>>,
    sequence: BTreeSet<u64>,
    unique: BTreeSet<u64>,
}

fn recorder() -> (NullServer, Arc<Mutex<Told>>) {
    let told = Arc::new(Mutex::new(Told::default()));
    let record = Arc::clone(&told);
    let script = move |_, asked: Asked<'_>| {
        let Asked::Text(text) = asked else { return Answer::Row };
        let text = std::str::from_utf8(text).expect("text");
        let numbers: Vec<u64> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [connection, own, of_share, sequence, unique] = numbers[..] else { return Answer::Row };
        let mut told = record.lock().expect("no panic");
        told.by_connection.entry(connection).or_default().push((own, of_share));
        assert!(told.sequence.insert(sequence), "{sequence} comes once");
        assert!(told.unique.insert(unique), "{unique} comes once");
        Answer::Row
    };
    (NullServer::with_script(0, Box::new(script)).expect("a port"), told)
}

#[test]
fn one_process_with_eight_connections_and_four_parts_with_two_each_draw_the_same_statements() {
    const TRANSACTIONS: u64 = 4_000;
    let told = loaders().map(|(count, loader)| {
        let (server, told) = recorder();
        let stream = Stream { limit: Some(Limit::Transactions(TRANSACTIONS)), ..telling() };
        let spec = Spec { workers: Some(1), ..spec(server.address(), stream, Duration::from_secs(30)) };
        let (outcome, _) = run(&*loader, &spec);
        let main = &outcome.streams[0];
        assert_eq!(
            (main.transactions.count, main.limit_reached),
            (TRANSACTIONS, Some(true)),
            "{count} parts"
        );
        assert_eq!(outcome.client.parts.len() as u32, count);
        let told = told.lock().expect("no panic").clone();
        let of_connections: Vec<u64> = told.by_connection.values().map(|each| each.len() as u64).collect();
        assert_eq!(main.transactions_by_connection, of_connections, "each under its own number");
        told
    });
    for other in &told[1..] {
        assert_eq!(told[0].sequence, other.sequence);
        assert_eq!(told[0].unique, other.unique);
        assert_eq!(other.sequence, (0..TRANSACTIONS).collect());
        for (connection, drawn) in &other.by_connection {
            // how many are its share depends on time, and nothing else does
            let first = &told[0].by_connection[connection];
            let both = first.len().min(drawn.len());
            assert!(both > 50, "connection {connection}: {both}");
            assert_eq!(first[..both], drawn[..both], "connection {connection}");
        }
    }
}

#[test]
fn schedules_are_shared_out_to_the_last_start() {
    let arrivals = [
        Arrival::Open { rate: Rate::Constant(997.0), gaps: Gaps::Poisson, lateness_max: None },
        Arrival::Open {
            rate: Rate::Ramp { from: 100.0, to: 1500.0, over: Duration::from_secs(2) },
            gaps: Gaps::Constant,
            lateness_max: None,
        },
        Arrival::Paced { every: ms(7), lateness_max: None },
    ];
    let server = NullServer::start(0).expect("a port");
    support::at_once(arrivals, |arrival| {
        let stream = Stream { arrival, idle: 3, ..Stream::new("main", select(), 7) };
        let mut spec = spec(server.address(), stream, ms(1_500));
        spec.warm_up = ms(500);
        let offered = loaders().map(|(_, loader)| {
            let (outcome, samples) = run(&*loader, &spec);
            let schedule = outcome.streams[0].schedule.clone().expect("a schedule");
            assert_eq!(
                schedule.backlog + schedule.offered,
                schedule.started + schedule.skipped + schedule.never_sent
            );
            samples.iter().map(|second| second.schedule.as_ref().map(|all| all.offered)).collect::<Vec<_>>()
        });
        assert_eq!(offered[0].len(), 3);
        assert!(offered[0].iter().flatten().sum::<u64>() > 1_000, "{offered:?}");
        assert!(offered.iter().all(|other| *other == offered[0]), "{offered:?}");
    });
}

#[test]
fn seconds_and_histograms_of_parts_add_up_to_what_the_server_saw() {
    for (count, loader) in loaders() {
        let server = NullServer::start(0).expect("a port");
        let stream = Stream { protocol: Protocol::Text, ..Stream::new("main", select(), 6) };
        let spec = Spec { workers: Some(2), ..spec(server.address(), stream, ms(2_300)) };
        let (outcome, samples) = run(&*loader, &spec);
        let main = &outcome.streams[0];
        let mut merged = Histogram::new();
        samples.iter().for_each(|second| merged.merge(&second.statements[0].service));
        assert_eq!(merged, main.statements[0].service, "{count} parts");
        let numbers: Vec<u32> = samples.iter().map(|second| second.second).collect();
        assert_eq!(numbers, [0, 1, 2], "each second once, in order");
        assert_eq!(
            main.transactions.count,
            samples.iter().map(|second| second.transactions.count).sum::<u64>()
        );
        assert_eq!(main.transactions.count, main.transactions_by_connection.iter().sum::<u64>());
        // what was under way at the end was answered, and does not count
        let beside = server.statements() - main.statements[0].count;
        assert!(beside <= 6, "{beside} of {} are not counted", server.statements());
        assert_eq!((main.connections_opened, main.opening.opened), (6, 6));
        assert_eq!(outcome.client.workers.len() as u32, 2 * count.max(1));
        assert!(outcome.client.parts.iter().all(|part| part.workers == 2), "{:?}", outcome.client.parts);
    }
}

#[test]
fn a_stream_that_waits_for_another_begins_when_all_parts_of_that_are_done() {
    for (count, loader) in loaders() {
        let server = NullServer::start(0).expect("a port");
        let limited = |name: &str, begin, transactions| Stream {
            begin,
            limit: Some(Limit::Transactions(transactions)),
            ..Stream::new(name, select(), 5)
        };
        let first = limited("first", Begin::Together, 1_003);
        let mut spec = spec(server.address(), first, Duration::from_secs(20));
        spec.streams.push(limited("second", Begin::WhenDone("first".to_owned()), 501));
        let begun = Instant::now();
        let (outcome, _) = run(&*loader, &spec);
        assert!(begun.elapsed() < Duration::from_secs(15), "the load ends with its limits");
        let counts: Vec<u64> = outcome.streams.iter().map(|stream| stream.transactions.count).collect();
        assert_eq!(counts, [1_003, 501], "{count} parts");
        let [first, second] = [&outcome.streams[0], &outcome.streams[1]];
        assert!(first.active.1 <= second.active.0, "{:?} {:?}", first.active, second.active);
    }
}

#[test]
fn a_warm_up_that_is_told_to_end_ends_at_the_same_time_in_all_parts() {
    let server = NullServer::start(0).expect("a port");
    let stream = Stream::new("main", select(), 4);
    let mut spec = spec(server.address(), stream, Duration::from_secs(1));
    spec.warm_up = Duration::from_secs(20);
    let mut phases = Vec::new();
    let outcome = parts(2).run_until_warm(&spec, &Stop::default(), &mut |progress| match progress {
        Progress::Sample(sample) => {
            phases.push(sample.phase);
            WarmUp::Done
        }
        _ => WarmUp::Goes,
    });
    let outcome = outcome.expect("the load begins");
    let warm_up = outcome.warm_up.expect("it is told").as_secs();
    assert!((2..=6).contains(&warm_up), "{warm_up} s");
    let warm = vec![Phase::WarmUp; warm_up as usize];
    assert_eq!(phases, [warm, vec![Phase::Measure]].concat());
    assert_eq!(outcome.interval, Duration::from_secs(1));
}

#[test]
fn a_part_without_connections_is_none_and_one_without_any_of_a_stream_does_its_share_of_others() {
    let server = NullServer::start(0).expect("a port");
    let mut spec = spec(server.address(), Stream::new("three", select(), 3), ms(400));
    let (outcome, _) = run(&parts(8), &spec);
    assert_eq!(outcome.client.parts.len(), 3);
    spec.streams.push(Stream::new("one", select(), 1));
    let (outcome, _) = run(&parts(4), &spec);
    assert_eq!(outcome.client.parts.len(), 4);
    assert!(outcome.streams.iter().all(|stream| stream.transactions.count > 0 && stream.outages.is_empty()));
}

/// Says what a part says first, then `then`, and nothing more until it is closed.
fn impostor(part: Part, of: u32, then: &'static [u8]) -> Result<Link, Error> {
    link(part, move |there| {
        if part.number != of {
            return serve(there);
        }
        let (mut to, mut from) = (there.try_clone().expect("a socket"), there);
        if then.is_empty() {
            return; // it is gone at once
        }
        let _ = to.write_all(then);
        let _ = from.read_to_end(&mut Vec::new());
    })
}

#[test]
fn a_part_that_is_gone_or_another_program_is_an_error_that_names_it() {
    let server = NullServer::start(0).expect("a port");
    let spec = spec(server.address(), Stream::new("main", select(), 4), Duration::from_secs(5));
    let cases: [(&'static [u8], &str); 2] = [
        (b"", "part 2 of 3: it ended before it reported anything (closed)"),
        (b"Usage: prony [OPTIONS] <COMMAND>", "part 2 of 3: its messages cannot be understood"),
    ];
    for (says, expected) in cases {
        let loader = Parts::new(3, move |of| links(of, |part| impostor(part, 1, says)));
        let error = loader.run(&spec, &Stop::default(), &mut |_| ()).expect_err("no load without it");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn a_part_that_cannot_log_in_says_why() {
    let server = NullServer::start(0).expect("a port");
    let mut spec = spec(server.address(), Stream::new("main", select(), 4), ms(300));
    spec.sources = vec!["192.0.2.1".parse().expect("an address")];
    spec.connect_timeout = ms(500);
    let error = parts(2).run(&spec, &Stop::default(), &mut |_| ()).expect_err("not an address of ours");
    assert!(matches!(error, Error::Opening { opened: 0, wanted: 4, .. }), "{error}");
    drop(server);
    spec.sources.clear();
    let error = parts(2).run(&spec, &Stop::default(), &mut |_| ()).expect_err("nobody listens");
    let text = error.to_string();
    assert!(text.starts_with("part ") && text.contains("of 2: cannot reach 127.0.0.1:"), "{text}");
}

#[test]
fn a_load_in_parts_that_is_stopped_has_the_figures_until_then() {
    let server = NullServer::start(0).expect("a port");
    let spec = spec(server.address(), Stream::new("main", select(), 4), Duration::from_secs(60));
    let stop = Stop::default();
    let outcome = parts(2).run(&spec, &stop, &mut |progress| {
        if matches!(progress, Progress::Sample(_)) {
            stop.stop();
        }
    });
    let outcome = outcome.expect("it had begun");
    assert_eq!((outcome.end, outcome.interval), (End::Interrupted, Duration::from_secs(1)));
    assert!(outcome.streams[0].transactions.count > 0);
}

/// A port at which the kernel lets nobody in any more: whoever connects waits.
fn full_port() -> (rustix::fd::OwnedFd, std::net::SocketAddr, Vec<TcpStream>) {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&listener, &std::net::SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    listen(&listener, 0).expect("a listener");
    let address = getsockname(&listener).expect("an address").try_into().expect("an IP address");
    let mut held = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, ms(300)) {
        held.push(stream);
        assert!(held.len() < 10, "its queue is full");
    }
    (listener, address, held)
}

#[test]
fn a_stop_ends_the_wait_for_a_server_that_answers_nothing() {
    let (_listener, address, _held) = full_port();
    let spec = spec(address, Stream::new("main", select(), 4), Duration::from_secs(1));
    type Asked<'a> = Box<dyn Fn(&Stop) -> Option<Error> + Send + 'a>;
    let asked: [(&str, Asked<'_>); 3] = [
        ("here", Box::new(|stop| load::run(&spec, stop, &mut |_| ()).err())),
        ("parts", Box::new(|stop| parts(2).run(&spec, stop, &mut |_| ()).err())),
        (
            "how many workers",
            Box::new(|stop| {
                let spec = Spec { warm_up: ms(500), ..spec.clone() };
                load::workers_needed(&Here::default(), &spec, stop).err()
            }),
        ),
    ];
    support::at_once(asked, |(what, ask)| {
        let stop = Stop::default();
        let pulled = stop.clone();
        thread::spawn(move || {
            thread::sleep(ms(300));
            pulled.stop();
        });
        let begun = Instant::now();
        let error = ask(&stop);
        assert!(matches!(error, Some(Error::Interrupted)), "{what}: {error:?}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{what}: {:?}", begun.elapsed());
    });
}
