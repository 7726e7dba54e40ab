//! The engine against a scripted server: what it counts, what it measures, how it ends when things break.

use crate::support::{self, run, select, statement, workload};
use load::{
    Here, Loader as _, Progress, Spec, Stop, WarmUp,
    null::{self, Answer, Asked, NullServer, Then},
    sample::{End, Phase},
    spec::{
        Arrival, Draw, Expect, Limit, Operand, Piece, Protocol, Statement, Step, Stream, Think, Workload,
    },
};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// A closed loop of one stream.
fn spec(server: &NullServer, workload: Workload, connections: u32, interval: Duration) -> Spec {
    support::spec(server.address(), Stream::new("main", workload, connections), interval)
}

fn scripted(script: impl FnMut(u64, Asked<'_>) -> Answer + Send + 'static) -> NullServer {
    NullServer::with_script(0, Box::new(script)).expect("a port")
}

#[test]
fn every_statement_is_counted_and_littles_law_holds() {
    let server = NullServer::start(0).expect("a port");
    let connections = 32;
    let mut spec = spec(&server, select(), connections, Duration::from_secs(1));
    spec.warm_up = Duration::from_millis(300);
    let (mut warm_up, mut measured) = (0, 0);
    let outcome = load::run(&spec, &Stop::default(), &mut |event| {
        if let Progress::Sample(sample) = event {
            match sample.phase {
                Phase::WarmUp => warm_up += sample.transactions.count,
                Phase::Measure => measured += sample.transactions.count,
            }
        }
    })
    .expect("the load begins");
    let stream = &outcome.streams[0];
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(stream.transactions.count, measured, "seconds add up to the total");
    assert_eq!(stream.transactions.count, stream.statements[0].count);
    assert_eq!(stream.statements[0].rows, measured);
    assert_eq!(stream.transactions_by_connection.iter().sum::<u64>(), measured);
    assert_eq!(u64::from(connections), stream.connections_opened);
    // what the server answered is warm-up, measurement, and at most what was under way at the end
    let (seen, counted) = (server.statements(), warm_up + measured);
    assert!(
        seen >= counted && seen <= counted + u64::from(connections),
        "{seen} answered, {counted} counted"
    );
    let in_flight =
        measured as f64 / outcome.interval.as_secs_f64() * stream.transactions.service.mean_ns() / 1e9;
    assert!(
        (in_flight / f64::from(connections) - 1.0).abs() < 0.15,
        "{in_flight} in flight of {connections}"
    );
}

#[test]
fn a_stall_of_the_server_is_in_every_connections_latency() {
    let stall = Duration::from_millis(700);
    let mut begun: Option<Instant> = None;
    let mut stalled = false;
    let server = scripted(move |_, asked| {
        let begun = *begun.get_or_insert_with(Instant::now);
        if !stalled && begun.elapsed() > Duration::from_millis(300) {
            stalled = true;
            std::thread::sleep(stall);
        }
        null::plain(asked)
    });
    let outcome = run(&spec(&server, select(), 16, Duration::from_millis(1500)));
    let service = &outcome.streams[0].transactions.service;
    let slow: u64 = service
        .buckets()
        .filter(|(ns, _)| u128::from(*ns) >= stall.as_nanos() * 9 / 10)
        .map(|(_, count)| count)
        .sum();
    assert_eq!(slow, 16, "each of 16 connections waited once");
    assert!(u128::from(service.max_ns()) >= stall.as_nanos());
}

#[test]
fn a_deadlock_rolls_back_and_is_counted_apart() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&log);
    let mut updates = 0u64;
    let server = scripted(move |_, asked| {
        let Asked::Text(sql) = asked else { panic!("text was asked for") };
        let sql = String::from_utf8_lossy(sql).into_owned();
        let answer = match sql.as_str() {
            "UPDATE" => {
                updates += 1;
                if updates.is_multiple_of(10) {
                    Answer::Error(1213, *b"40001", "Deadlock found".to_owned())
                } else {
                    Answer::Done { affected: 1, in_transaction: true }
                }
            }
            "BEGIN" => Answer::Done { affected: 0, in_transaction: true },
            _ => Answer::Done { affected: 0, in_transaction: false },
        };
        writer.lock().expect("no panic").push(sql);
        answer
    });
    let steps = vec![
        statement("begin", "BEGIN", Expect::Anything),
        statement("update", "UPDATE", Expect::Change),
        statement("commit", "COMMIT", Expect::Anything),
    ];
    let mut spec = spec(&server, workload(steps), 1, Duration::from_millis(400));
    spec.streams[0].protocol = Protocol::Text;
    let outcome = run(&spec);
    let stream = &outcome.streams[0];
    let deadlocks = &stream.errors[0];
    assert_eq!(
        (deadlocks.code, deadlocks.state.as_str(), deadlocks.message.as_str()),
        (1213, "40001", "Deadlock found")
    );
    assert!(deadlocks.count > 0);
    assert_eq!(deadlocks.count, stream.transactions.errors);
    assert_eq!(deadlocks.count, stream.rolled_back);
    assert_eq!(stream.transactions.service.count(), stream.transactions.count, "failed ones have no latency");
    let log = log.lock().expect("no panic");
    let rolled_back = log.iter().filter(|sql| *sql == "ROLLBACK").count() as u64;
    assert!(rolled_back.abs_diff(deadlocks.count) <= 1);
    for (index, sql) in log.iter().enumerate().skip(1) {
        let before = log[index - 1].as_str();
        match sql.as_str() {
            "BEGIN" => assert!(before == "COMMIT" || before == "ROLLBACK"),
            "ROLLBACK" | "COMMIT" => assert_eq!(before, "UPDATE"),
            _ => assert_eq!(before, "BEGIN"),
        }
    }
}

#[test]
fn an_error_that_will_not_pass_ends_the_load_with_the_servers_words() {
    let server =
        scripted(|_, _| Answer::Error(1146, *b"42S02", "Table 'test.sbtest1' doesn't exist".to_owned()));
    let begun = Instant::now();
    let outcome = run(&spec(&server, select(), 8, Duration::from_secs(60)));
    let End::Failed(broken) = &outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!(broken.to_string(), "Table 'test.sbtest1' doesn't exist (error 1146, state 42S02)");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn lost_connections_are_counted_and_come_back() {
    let server = scripted(|number, asked| if number % 50 == 49 { Answer::Close } else { null::plain(asked) });
    let outcome = run(&spec(&server, select(), 4, Duration::from_millis(800)));
    let stream = &outcome.streams[0];
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(stream.errors[0].code, 2013);
    assert_eq!(stream.errors[0].count, stream.transactions.errors);
    assert!(stream.connections_opened > 4, "{} opened", stream.connections_opened);
    assert!(stream.transactions.count > 100);
}

#[test]
fn a_connection_that_is_closed_with_its_reply_is_missed_at_once_and_not_at_the_next_statement() {
    let closing = |_, asked: Asked<'_>| match null::plain(asked) {
        Answer::Row => Answer::Torn(Box::new(Answer::Row), u64::MAX, Then::Close),
        other => other,
    };
    let server = scripted(closing);
    let mut spec = spec(&server, select(), 2, Duration::from_millis(1500));
    spec.streams[0].arrival = Arrival::Think(Think::Fixed(Duration::from_millis(200)));
    spec.streams[0].protocol = Protocol::Text;
    let outcome = run(&spec);
    let stream = &outcome.streams[0];
    assert!(stream.transactions.count >= 6, "{} transactions", stream.transactions.count);
    assert_eq!(stream.transactions.errors, 0, "each was opened again while its client thought");
    assert!(stream.reconnecting.opened >= 6, "{:?}", stream.reconnecting);
}

#[test]
fn a_server_that_falls_silent_cannot_keep_the_engine() {
    let server = scripted(|number, asked| if number > 20 { Answer::Silence } else { null::plain(asked) });
    let begun = Instant::now();
    let outcome = run(&spec(&server, select(), 4, Duration::from_millis(500)));
    assert!(begun.elapsed() < Duration::from_secs(20));
    let stream = &outcome.streams[0];
    assert_eq!(stream.in_flight_at_end, 4, "slow requests are accounted for, not dropped");
    assert!(stream.in_flight_age_max > Duration::from_millis(300));
}

#[test]
fn nonsense_is_an_error_not_a_result() {
    let server = scripted(
        |number, asked| {
            if number == 30 { Answer::Raw(vec![0x55; 700]) } else { null::plain(asked) }
        },
    );
    let outcome = run(&spec(&server, select(), 2, Duration::from_millis(500)));
    let stream = &outcome.streams[0];
    assert_eq!(stream.errors.iter().map(|error| error.count).sum::<u64>(), 1, "{:?}", stream.errors);
    assert_eq!(stream.errors[0].code, 2027);
    assert_eq!(stream.statements[0].rows, stream.statements[0].count);
}

#[test]
fn replies_that_are_not_what_was_expected_are_counted() {
    let server = scripted(|number, asked| match (number % 4, null::plain(asked)) {
        (0, Answer::Row) => Answer::NoRow,
        (1, Answer::Done { .. }) => Answer::Done { affected: 0, in_transaction: false },
        (_, answer) => answer,
    });
    let steps = vec![
        statement("select", "SELECT c FROM t", Expect::Row),
        statement("update", "UPDATE t SET k=1", Expect::Change),
    ];
    let outcome = run(&spec(&server, workload(steps), 1, Duration::from_millis(300)));
    let [select, update] = &outcome.streams[0].statements[..] else { panic!("two kinds") };
    let half = |part: u64, whole: u64| part.abs_diff(whole / 2) <= 1;
    assert!(half(select.not_found, select.count), "{} of {}", select.not_found, select.count);
    assert!(half(update.unchanged, update.count), "{} of {}", update.unchanged, update.count);
}

#[test]
fn one_seed_gives_the_same_statements_each_time_and_rows_are_kept_for_later_ones() {
    let statements = |seed| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let writer = Arc::clone(&log);
        let server = scripted(move |_, asked| {
            if let Asked::Text(sql) = asked {
                writer.lock().expect("no panic").push(String::from_utf8_lossy(sql).into_owned());
            }
            null::plain(asked)
        });
        let id = Draw::Integer { min: 1, max: 1_000_000, distribution: load::spec::Distribution::Uniform };
        let read =
            vec![Piece::Sql("SELECT c FROM t WHERE id=".to_owned()), Piece::Parameter(Operand::Slot(0))];
        let write = vec![
            Piece::Sql("UPDATE t SET c=".to_owned()),
            Piece::Parameter(Operand::Slot(1)),
            Piece::Sql(" WHERE id=".to_owned()),
            Piece::Parameter(Operand::SlotPlus(0, 1)),
        ];
        let step = |kind: &str, pieces, keep| {
            let kind = kind.to_owned();
            Step::Statement(Statement { kind, pieces, text_only: false, keep, expect: Expect::Anything })
        };
        let steps =
            vec![Step::Draw { slot: 0, draw: id }, step("read", read, vec![1]), step("write", write, vec![])];
        let mut spec = spec(&server, workload(steps), 1, Duration::from_millis(200));
        spec.streams[0].protocol = Protocol::Text;
        spec.seed = seed;
        run(&spec);
        let log = log.lock().expect("no panic");
        log.iter().take(100).cloned().collect::<Vec<_>>()
    };
    let first = statements(7);
    assert_eq!(first, statements(7));
    assert_ne!(first, statements(8));
    for pair in first.chunks(2) {
        let id: u64 = pair[0].rsplit('=').next().and_then(|id| id.parse().ok()).expect("an id");
        assert_eq!(pair[1], format!("UPDATE t SET c='{}' WHERE id={}", null::ROW, id + 1));
    }
}

/// A draw, a loop as long as what was drawn says, with a draw of its own and a branch in each round.
#[test]
fn loops_and_branches_do_what_values_say() {
    use load::spec::{Comparison, Condition, Literal};
    let log = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&log);
    let server = scripted(move |_, asked| {
        if let Asked::Text(sql) = asked {
            writer.lock().expect("no panic").push(String::from_utf8_lossy(sql).into_owned());
        }
        null::plain(asked)
    });
    let integer = |min, max| Draw::Integer { min, max, distribution: load::spec::Distribution::Uniform };
    let said = |text: &str, slots: &[u16]| {
        let mut pieces = vec![Piece::Sql(text.to_owned())];
        for &slot in slots {
            pieces.extend([Piece::Parameter(Operand::Slot(slot)), Piece::Sql(" ".to_owned())]);
        }
        let kind = text.trim().to_owned();
        Step::Statement(Statement { kind, pieces, text_only: false, keep: vec![], expect: Expect::Anything })
    };
    let five = Operand::Draw(Draw::Literal(Literal::Integer(5)));
    let is_high = Condition { left: Operand::Slot(1), is: Comparison::Greater, right: five };
    let branch =
        Step::If { condition: is_high, then: vec![said("high ", &[1])], otherwise: vec![said("low ", &[1])] };
    let only_high = Condition {
        left: Operand::Slot(1),
        is: Comparison::GreaterOrEqual,
        right: Operand::Draw(Draw::Literal(Literal::Integer(10))),
    };
    let top = Step::If { condition: only_high, then: vec![said("top", &[])], otherwise: vec![] };
    let round = vec![Step::Draw { slot: 1, draw: integer(1, 10) }, branch, top];
    let steps = vec![
        Step::Draw { slot: 0, draw: integer(2, 4) },
        said("begin ", &[0]),
        Step::Repeat { times: Operand::Draw(integer(1, 1)), number: None, steps: vec![said("once", &[])] },
        Step::Repeat { times: Operand::Slot(0), number: None, steps: round },
    ];
    let mut spec = spec(&server, workload(steps), 1, Duration::from_millis(200));
    spec.streams[0].protocol = Protocol::Text;
    let outcome = run(&spec);
    let log = log.lock().expect("no panic");
    let (mut rounds_left, mut value, mut seen) = (0, 0, std::collections::BTreeSet::new());
    for line in log.iter() {
        let (word, number) = line.split_once(' ').unwrap_or((line, ""));
        let number: u32 = number.trim().parse().unwrap_or(0);
        match word {
            "begin" => {
                assert_eq!(rounds_left, 0, "the loop before was as long as it should be");
                rounds_left = number;
            }
            "high" | "low" => {
                assert_eq!(number > 5, word == "high", "{line}");
                (rounds_left, value) = (rounds_left - 1, number);
            }
            "top" => assert_eq!(value, 10),
            other => assert_eq!(other, "once"),
        }
        seen.insert(word);
    }
    assert!(log.len() > 200 && seen.len() == 5, "{} statements of {seen:?}", log.len());
    let count = |kind: &str| log.iter().filter(|line| line.starts_with(kind)).count() as u64;
    for tally in &outcome.streams[0].statements {
        // the rest of the transaction under way at the end is sent and not counted: four rounds at most
        assert!(tally.count.abs_diff(count(&tally.name)) <= 4, "{}: {}", tally.name, tally.count);
    }
}

#[test]
fn a_loop_that_may_send_nothing_is_refused() {
    let server = NullServer::start(0).expect("a port");
    let nothing = Step::Draw { slot: 0, draw: Draw::Connection };
    let spin = Step::Repeat { times: Operand::Slot(0), number: None, steps: vec![nothing.clone()] };
    let steps = vec![nothing, statement("select", "SELECT 1", Expect::Row), spin];
    let spec = spec(&server, workload(steps), 1, Duration::from_secs(1));
    let error = load::run(&spec, &Stop::default(), &mut |_| {}).expect_err("it would spin").to_string();
    assert!(error.contains("each round of a loop must send"), "{error}");
}

#[test]
fn a_server_that_is_not_there_is_said_once_and_soon() {
    let server = NullServer::start(0).expect("a port");
    let spec = spec(&server, select(), 64, Duration::from_secs(5));
    drop(server);
    let begun = Instant::now();
    let error = load::run(&spec, &Stop::default(), &mut |_| {}).expect_err("nothing listens");
    assert!(matches!(error, load::Error::Unreachable { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn thousands_of_connections_fit_into_little_memory() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let connections = if limit >= 5_000 { 2_000 } else { 300 };
    let server = NullServer::start(0).expect("a port");
    let before = load::io::memory_bytes_max();
    let outcome = run(&spec(&server, select(), connections, Duration::from_secs(1)));
    let used = outcome.client.memory_bytes_max - before;
    assert_eq!(outcome.streams[0].connections_opened, u64::from(connections));
    // client and server together, tests in parallel: generous, yet far from a thread's stack for each
    assert!(used < 100 << 20, "{} MB", used >> 20);
}

#[test]
fn a_warm_up_that_is_told_to_end_gives_way_to_a_whole_interval_on_all_workers_at_once() {
    let server = NullServer::start(0).expect("a port");
    let mut spec = spec(&server, select(), 8, Duration::from_millis(1500));
    spec.warm_up = Duration::from_secs(30);
    spec.workers = Some(2);
    let (mut seconds, mut measured) = (Vec::new(), 0);
    let outcome = Here::default()
        .run_until_warm(&spec, &Stop::default(), &mut |progress| {
            if let Progress::Sample(sample) = progress {
                seconds.push((sample.second, sample.phase, sample.length));
                if sample.phase == Phase::Measure {
                    measured += sample.transactions.count;
                }
            }
            WarmUp::Done
        })
        .expect("a load");
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(outcome.interval, spec.interval);
    let warm_up = outcome.warm_up.expect("known");
    assert!(warm_up < spec.warm_up && warm_up.subsec_nanos() == 0, "{warm_up:?}");
    let (warm, whole) = (warm_up.as_secs() as usize, Duration::from_secs(1));
    assert_eq!(seconds.len(), warm + 2);
    for (number, (second, phase, length)) in seconds.iter().enumerate() {
        assert_eq!(*second as usize, number);
        assert_eq!(*phase == Phase::Measure, number >= warm, "second {number}");
        assert_eq!(*length, if number == warm + 1 { whole / 2 } else { whole });
    }
    assert_eq!(outcome.streams[0].transactions.count, measured);
    assert_eq!(outcome.streams[0].active, (warm_up, warm_up + spec.interval));
}

#[test]
fn a_load_gets_the_workers_that_it_needs_and_is_not_begun_for_it() {
    let slow = scripted(|_, asked| Answer::After(Duration::from_millis(20), Box::new(null::plain(asked))));
    let mut spec = spec(&slow, select(), 8, Duration::from_millis(300));
    spec.streams[0].limit = Some(Limit::Transactions(100));
    let most = std::thread::available_parallelism().map_or(1, usize::from).min(8) as u32;
    let needed = |spec: &Spec| {
        load::workers_needed(&Here::default(), spec, &Stop::default()).expect("the load begins")
    };
    assert_eq!(needed(&spec), most, "without a warm-up nothing may be done that does not count");
    assert_eq!(slow.statements(), 0);
    spec.warm_up = Duration::from_millis(300);
    assert_eq!(needed(&spec), 1, "a worker that waits is enough");
    assert!(most == 1 || slow.statements() > 0, "it was offered to find that out");
    spec.workers = Some(3);
    let (before, outcome) = (slow.statements(), run(&spec));
    assert_eq!((needed(&spec), outcome.client.workers_asked), (3, 3), "what is said holds");
    assert_eq!(slow.statements() - before, 100, "the limit is the load's own");
    let stop = Stop::default();
    stop.stop();
    spec.workers = None;
    let stopped = load::workers_needed(&Here::default(), &spec, &stop);
    assert!(most == 1 || matches!(stopped, Err(load::Error::Interrupted)), "{stopped:?}");
}
