//! Whether what the engine says is true: against a scripted server whose every delay is known, the outcome
//! must have the figures that theory gives. Bounds are those that cannot be otherwise, widened to the side to
//! which a busy machine can push.

mod agents;
mod counting;
mod members;
mod parts;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/agents.rs"]
mod threads;

use load::{
    Histogram, Outcome, Progress, Spec, Stop,
    null::{self, Answer, NullServer, Welcome},
    sample::{End, Schedule, StreamOutcome},
    spec::{Arrival, Begin, ConnectionMode, Expect, Gaps, Limit, Protocol, Rate, RateStep, Stream, Think},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use support::{at_once, ms, run, run_while, select, server, spec, statement, workload};

fn plain_server() -> NullServer {
    NullServer::start(0).expect("a port")
}

fn stream(name: &str, connections: u32, arrival: Arrival) -> Stream {
    Stream { arrival, ..Stream::new(name, select(), connections) }
}

fn open(rate: Rate, gaps: Gaps) -> Arrival {
    Arrival::Open { rate, gaps, lateness_max: None }
}

fn at_least(histogram: &Histogram, time: Duration) -> u64 {
    let buckets = histogram.buckets();
    buckets.filter(|(ns, _)| u128::from(*ns) >= time.as_nanos()).map(|(_, count)| count).sum()
}

/// The schedule of a stream, which must balance.
fn schedule(stream: &StreamOutcome) -> &Schedule {
    let schedule = stream.schedule.as_ref().expect("the arrival has a schedule");
    assert_eq!(
        schedule.backlog + schedule.offered,
        schedule.started + schedule.skipped + schedule.never_sent,
        "{schedule:?}"
    );
    assert_eq!(schedule.delay.count(), schedule.started);
    assert!(schedule.late <= schedule.started);
    // there was no warm-up, of which something could have been under way
    let transactions = &stream.transactions;
    let ended = transactions.count + transactions.errors;
    let in_flight = u64::from(stream.in_flight_at_end);
    // what is in flight may still wait for its connection, where each transaction opens one
    let least = if stream.reconnecting.opened > 0 { ended } else { ended + in_flight };
    assert!(
        schedule.started >= least && schedule.started <= ended + in_flight,
        "what was started has ended or is in flight: {schedule:?}, {ended} ended, {in_flight} in flight"
    );
    schedule
}

fn assert_near(value: f64, wanted: f64, share: f64, what: &str) {
    assert!((value / wanted - 1.0).abs() <= share, "{what}: {value}, not {wanted}");
}

/// How many starts of each stream became due in each second.
fn offered(spec: &Spec) -> Vec<Vec<u64>> {
    let mut offered = vec![Vec::new(); spec.streams.len()];
    let outcome = load::run(spec, &Stop::default(), &mut |event| {
        if let Progress::Sample(sample) = event {
            offered[usize::from(sample.stream)].push(sample.schedule.map_or(0, |schedule| schedule.offered));
        }
    })
    .expect("the load begins");
    for (stream, offered) in outcome.streams.iter().zip(&offered) {
        assert_eq!(schedule(stream).offered, offered.iter().sum::<u64>(), "seconds add up to the total");
    }
    offered
}

/// A server that answers at once stalls for a second while 1000 requests come in each second. A machine that
/// was so busy that many more than those were late is asked again: that adds late replies, but takes none
/// away.
fn stalled(connections: u32) -> Outcome {
    const ATTEMPTS: u32 = 4;
    for attempt in 1.. {
        let outcome = stalled_once(connections);
        let response = outcome.streams[0].transactions.response();
        let is_disturbed = at_least(response, ms(100)) > 1200;
        if !is_disturbed || attempt == ATTEMPTS {
            assert_late(response);
            return outcome;
        }
    }
    unreachable!("the last attempt is judged")
}

fn stalled_once(connections: u32) -> Outcome {
    let server = plain_server();
    let arrival = open(Rate::Constant(1000.0), Gaps::Constant);
    let mut spec = spec(server.address(), stream("main", connections, arrival), Duration::from_secs(4));
    spec.workers = Some(2);
    let outcome = run_while(&spec, |at| {
        at(1500);
        server.stall(Duration::from_secs(1));
    });
    let stream = &outcome.streams[0];
    let books = schedule(stream);
    assert!(books.offered.abs_diff(4000) <= 1, "{books:?}");
    assert!(stream.errors.is_empty() && stream.outages.is_empty(), "{:?}", stream.errors);
    outcome
}

fn assert_late(response: &Histogram) {
    // A request that came `u` after the stall began waited for the rest of it: uniform from 0 to 1 s.
    // A busy machine makes some others wait for some milliseconds, which is why only longer times have an
    // upper bound.
    for (limit, extra) in [(5, 3000), (100, 300), (300, 250), (500, 250), (900, 250)] {
        let late = at_least(response, ms(limit));
        let least = 1000 - limit - 10;
        assert!(late >= least && late <= least + extra, "{late} of {least} waited for {limit} ms and more");
    }
    // Of 4000, 1 per cent are 40: those that came in the first 40 ms of the stall.
    let p99_ms = response.quantile_ns(0.99) as f64 / 1e6;
    assert!((950.0..1250.0).contains(&p99_ms), "{p99_ms}");
    let p90_ms = response.quantile_ns(0.90) as f64 / 1e6;
    assert!((590.0..850.0).contains(&p90_ms), "{p90_ms}");
    assert!(response.quantile_ns(0.5) < 100_000_000, "half of them never saw the stall");
}

#[test]
fn a_stall_of_a_second_at_1000_in_a_second_is_1000_late_replies_over_few_connections() {
    let outcome = stalled(8);
    let stream = &outcome.streams[0];
    assert_eq!(at_least(&stream.transactions.service, ms(500)), 8, "each connection waited once");
    let books = schedule(stream);
    assert!(books.late >= 980, "what finds no free connection is late: {}", books.late);
    assert!(stream.transactions.service.mean_ns() < stream.transactions.response().mean_ns());
}

#[test]
fn a_stall_of_a_second_at_1000_in_a_second_is_1000_late_replies_over_many_connections() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    // client and server are in one process, and other tests run beside
    let connections = if limit >= 8_000 { 2000 } else { 1100.min(limit as u32 / 3) };
    let outcome = stalled(connections);
    let stream = &outcome.streams[0];
    let slow = at_least(&stream.transactions.service, ms(500));
    assert!((490..750).contains(&slow), "all of them were sent, and waited at the server: {slow}");
    assert!(stream.transactions_by_connection.iter().filter(|&&count| count > 0).count() >= 900);
}

#[test]
fn every_request_that_the_server_saw_is_counted_or_in_flight() {
    for workers in [1, 2, 3] {
        let server = server(
            |_| Welcome::Greeting,
            |_, statement, asked| match statement % 50 {
                7 => Answer::Close,
                23 => Answer::Error(1213, *b"40001", "Deadlock found".to_owned()),
                41 => Answer::After(ms(30), Box::new(null::plain(asked))),
                _ => null::plain(asked),
            },
        );
        let mut spec = spec(server.address(), stream("main", 32, Arrival::Closed), ms(400));
        spec.streams[0].protocol = Protocol::Text;
        spec.workers = Some(workers);
        let outcome = run(&spec);
        let stream = &outcome.streams[0];
        let transactions = &stream.transactions;
        let accounted = transactions.count + transactions.errors + u64::from(stream.in_flight_at_end);
        assert_eq!(server.statements(), accounted, "{workers} workers: {transactions:?}");
    }
}

#[test]
fn starts_that_are_later_than_they_may_be_are_skipped_and_counted() {
    let server = plain_server();
    let arrival =
        Arrival::Open { rate: Rate::Constant(1000.0), gaps: Gaps::Constant, lateness_max: Some(ms(100)) };
    let spec = spec(server.address(), stream("main", 8, arrival), Duration::from_secs(3));
    let outcome = run_while(&spec, |at| {
        at(1000);
        server.stall(Duration::from_secs(1));
    });
    let stream = &outcome.streams[0];
    let books = schedule(stream);
    // 1000 come in the stall; 8 are sent, and those of the last 100 ms may still be when it ends
    assert!((880..1100).contains(&books.skipped), "{books:?}");
    assert!(books.offered.abs_diff(3000) <= 1 && books.never_sent <= 100, "{books:?}");
    assert!(books.delay.max_ns() <= 101_000_000, "{books:?}");
    assert_eq!(stream.transactions.count + u64::from(stream.in_flight_at_end), books.started);
}

#[test]
fn what_is_due_and_cannot_be_sent_before_the_end_is_counted() {
    let server = plain_server();
    let arrival = open(Rate::Constant(500.0), Gaps::Constant);
    let spec = spec(server.address(), stream("main", 8, arrival), Duration::from_secs(2));
    let outcome = run_while(&spec, |at| {
        at(1000);
        server.stall(Duration::from_secs(60));
    });
    let stream = &outcome.streams[0];
    let books = schedule(stream);
    assert!((480..=510).contains(&(books.never_sent + 8)), "{books:?}");
    assert_eq!(stream.in_flight_at_end, 8);
    assert!(stream.in_flight_age_max >= ms(900), "from the intended start: {:?}", stream.in_flight_age_max);
    assert_eq!(stream.transactions.count + 8, books.started);
}

#[test]
fn rates_that_change_offer_their_integral_in_every_second() {
    let server = plain_server();
    let step = |rate, lasts| RateStep { rate, lasts };
    let rates = [
        Rate::Steps(vec![
            step(50.0, ms(500)),
            step(200.0, ms(1500)),
            step(0.0, ms(1000)),
            step(100.0, ms(10)),
        ]),
        Rate::Ramp { from: 0.0, to: 400.0, over: Duration::from_secs(4) },
        Rate::Sine { mean: 100.0, amplitude: 100.0, period: Duration::from_secs(4) },
        Rate::Burst { base: 20.0, peak: 220.0, length: ms(500), every: Duration::from_secs(2) },
    ];
    let upper = 100.0 + 200.0 / std::f64::consts::PI;
    let lower = 200.0 - upper;
    let wanted: [[f64; 4]; 4] = [
        [125.0, 200.0, 0.0, 100.0],
        [50.0, 150.0, 250.0, 350.0],
        [upper, upper, lower, lower],
        [120.0, 20.0, 120.0, 20.0],
    ];
    let mut spec = spec(server.address(), stream("0", 4, Arrival::Closed), Duration::from_secs(4));
    spec.streams = (0..)
        .zip(&rates)
        .map(|(index, rate)| stream(&format!("{index}"), 4, open(rate.clone(), Gaps::Constant)))
        .collect();
    for (offered, wanted) in offered(&spec).iter().zip(wanted) {
        assert_eq!(offered.len(), wanted.len());
        for (second, (count, wanted)) in offered.iter().zip(wanted).enumerate() {
            assert!(
                (*count as f64 - wanted).abs() <= 1.5,
                "second {second}: {count}, not {wanted}: {offered:?}"
            );
        }
    }
}

#[test]
fn a_poisson_process_offers_counts_with_the_variance_of_one_and_each_stream_its_own() {
    const STREAMS: usize = 50;
    let server = plain_server();
    let mut spec = spec(server.address(), stream("0", 2, Arrival::Closed), Duration::from_secs(3));
    let poisson = |index| stream(&format!("{index}"), 2, open(Rate::Constant(100.0), Gaps::Poisson));
    spec.streams = (0..STREAMS).map(poisson).collect();
    let counts: Vec<f64> = offered(&spec).concat().into_iter().map(|count| count as f64).collect();
    assert_eq!(counts.len(), STREAMS * 3);
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (counts.len() - 1) as f64;
    // of 150 counts with mean 100: the mean has a standard error of 0.8, the ratio one of 0.12; the seed is
    // fixed
    assert!((mean - 100.0).abs() < 4.0, "{mean}");
    assert!((variance / mean - 1.0).abs() < 0.5, "{}", variance / mean);
}

#[test]
fn one_seed_is_one_schedule_for_any_number_of_workers() {
    let server = plain_server();
    let counts = |workers, seed| {
        let rate = Rate::Ramp { from: 100.0, to: 900.0, over: Duration::from_secs(2) };
        let mut spec =
            spec(server.address(), stream("main", 7, open(rate, Gaps::Poisson)), Duration::from_secs(2));
        spec.workers = Some(workers);
        spec.seed = seed;
        offered(&spec)
    };
    let all = Mutex::new(HashMap::new());
    at_once([(1, 5), (2, 5), (3, 5), (2, 6)], |(workers, seed)| {
        let counts = counts(workers, seed);
        all.lock().expect("no panic").insert((workers, seed), counts);
    });
    let all = all.into_inner().expect("no panic");
    assert_eq!(all[&(1, 5)], all[&(2, 5)]);
    assert_eq!(all[&(1, 5)], all[&(3, 5)]);
    assert_ne!(all[&(2, 5)], all[&(2, 6)]);
}

/// When which connection of the server was asked.
type Log = Arc<Mutex<Vec<(u64, Instant)>>>;

fn logging_server() -> (NullServer, Log) {
    let log = Log::default();
    let writer = Arc::clone(&log);
    let server = server(
        |_| Welcome::Greeting,
        move |connection, _, asked| {
            writer.lock().expect("no panic").push((connection, Instant::now()));
            null::plain(asked)
        },
    );
    (server, log)
}

#[test]
fn a_poisson_process_arrives_at_the_server_as_one() {
    let (server, log) = logging_server();
    let arrival = open(Rate::Constant(1000.0), Gaps::Poisson);
    run(&spec(server.address(), stream("main", 64, arrival), Duration::from_secs(3)));
    let log = log.lock().expect("no panic");
    let first = log.first().expect("arrivals").1;
    let mut windows = vec![0f64; 57];
    for (_, at) in &*log {
        if let Some(window) = windows.get_mut((at.duration_since(first).as_millis() / 50) as usize) {
            *window += 1.0;
        }
    }
    let mean = windows.iter().sum::<f64>() / windows.len() as f64;
    let variance =
        windows.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (windows.len() - 1) as f64;
    assert_near(mean, 50.0, 0.1, "arrivals in 50 ms");
    // even gaps would give 0; a busy machine moves arrivals from one window to the next, which only adds
    assert!(variance / mean > 0.45, "{}", variance / mean);
}

#[test]
fn a_paced_connection_starts_every_period_and_the_phases_are_spread() {
    let (server, log) = logging_server();
    let arrival = Arrival::Paced { every: ms(100), lateness_max: None };
    let outcome = run(&spec(server.address(), stream("main", 10, arrival), Duration::from_secs(2)));
    let stream = &outcome.streams[0];
    assert_eq!(schedule(stream).offered, 200);
    assert!(stream.transactions_by_connection.iter().all(|count| (19..=20).contains(count)), "{stream:?}");
    let log = log.lock().expect("no panic");
    let mut by_connection: HashMap<u64, Vec<Instant>> = HashMap::new();
    for (connection, at) in &*log {
        by_connection.entry(*connection).or_default().push(*at);
    }
    assert_eq!(by_connection.len(), 10);
    let first = log.first().expect("arrivals").1;
    let mut phases_ms = Vec::new();
    for times in by_connection.values() {
        let mut gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let median = gaps[gaps.len() / 2];
        assert!(median.abs_diff(ms(100)) < ms(15), "{median:?}");
        let mut phases: Vec<u128> =
            times.iter().map(|at| at.duration_since(first).as_millis() % 100).collect();
        phases.sort_unstable();
        phases_ms.push(phases[phases.len() / 2]);
    }
    phases_ms.sort_unstable();
    let widest = phases_ms.windows(2).map(|pair| pair[1] - pair[0]).max().expect("phases");
    assert!(widest < 40, "10 ms from one connection's phase to the next: {phases_ms:?}");
}

#[test]
fn a_paced_connection_that_was_held_up_catches_up_or_skips() {
    at_once([None, Some(ms(100))], |lateness_max| {
        let server = plain_server();
        let arrival = Arrival::Paced { every: ms(10), lateness_max };
        let spec = spec(server.address(), stream("main", 4, arrival), Duration::from_secs(4));
        let outcome = run_while(&spec, |at| {
            at(1000);
            server.stall(Duration::from_secs(1));
        });
        let stream = &outcome.streams[0];
        let books = schedule(stream);
        assert_eq!(books.offered, 1600);
        let late = at_least(stream.transactions.response(), ms(20));
        match lateness_max {
            // on each of 4 connections 98 of the second are later than 20 ms; then there are 2 s to catch up
            None => {
                assert_eq!(books.skipped, 0);
                assert!((4 * 96..4 * 200).contains(&late), "{late}");
                assert!(books.started >= 1500, "{books:?}");
            }
            // and 89 later than they may be
            Some(_) => assert!((4 * 87..4 * 140).contains(&books.skipped), "{books:?}"),
        }
    });
}

/// `connections = throughput * (response time + pause)`: a law of every closed loop.
fn assert_littles_law(outcome: &Outcome, pause: Duration, connecting: Duration) {
    let stream = &outcome.streams[0];
    let transactions = &stream.transactions;
    let cycle = transactions.response().mean_ns() / 1e9 + pause.as_secs_f64() + connecting.as_secs_f64();
    let in_system = transactions.count as f64 / outcome.interval.as_secs_f64() * cycle;
    assert_near(in_system, f64::from(stream.connections), 0.1, "Little's law");
}

/// Answers each statement after this time.
fn slow_server(time: Duration) -> NullServer {
    server(|_| Welcome::Greeting, move |_, _, asked| Answer::After(time, Box::new(null::plain(asked))))
}

#[test]
fn littles_law_holds_where_service_takes_time_and_with_think_time() {
    let cases = [
        (Arrival::Closed, ms(0)),
        (Arrival::Think(Think::Fixed(ms(30))), ms(30)),
        (Arrival::Think(Think::Exponential(ms(20))), ms(20)),
    ];
    at_once(cases, |(arrival, pause)| {
        let server = slow_server(ms(20));
        let outcome = run(&spec(server.address(), stream("main", 16, arrival), Duration::from_secs(2)));
        let stream = &outcome.streams[0];
        assert!(stream.transactions.service.min_ns() >= 19_900_000, "{:?}", stream.transactions);
        assert_littles_law(&outcome, pause, ms(0));
    });
}

#[test]
fn a_new_connection_for_every_so_many_transactions_is_opened_and_timed_apart() {
    let server = slow_server(ms(2));
    let mut main = stream("main", 4, Arrival::Closed);
    main.connect = ConnectionMode::Transactions(5);
    let outcome = run(&spec(server.address(), main, Duration::from_secs(2)));
    let stream = &outcome.streams[0];
    let (opened, count) = (stream.reconnecting.opened, stream.transactions.count);
    assert!(opened.abs_diff(count / 5) <= 4, "{opened} connections for {count} transactions");
    assert_eq!(stream.connections_opened, stream.opening.opened + opened);
    assert!(stream.errors.is_empty(), "{:?}", stream.errors);
    let times = &stream.reconnecting;
    assert_eq!((times.total.count(), times.tcp.count(), times.login.count()), (opened, opened, opened));
    assert!(times.tls.is_empty() && times.failed == 0);
    assert!(times.first_reply.count().abs_diff(opened) <= 4 && times.first_reply.min_ns() > 0);
    let parts = times.tcp.mean_ns() + times.login.mean_ns();
    assert_near(parts, times.total.mean_ns(), 0.02, "TCP and login together");
    // in a closed loop the next transaction is there at once, and waits for its connection
    let connecting = Duration::from_nanos((times.total.mean_ns() / 5.0) as u64);
    assert_littles_law(&outcome, ms(0), connecting);
}

#[test]
fn a_start_whose_connection_cannot_be_opened_has_failed_and_is_not_still_to_come() {
    let server = plain_server();
    let mut main = stream("main", 4, open(Rate::Constant(200.0), Gaps::Constant));
    main.connect = ConnectionMode::Transactions(1);
    let outcome = run_while(&spec(server.address(), main, ms(4000)), |at| {
        at(500);
        server.leave(ms(400));
    });
    let stream = &outcome.streams[0];
    let books = schedule(stream);
    assert!(stream.transactions.errors > 0 && stream.reconnecting.failed > 0, "{:?}", stream.errors);
    assert!(books.offered.abs_diff(800) <= 1 && books.never_sent <= 200, "{books:?}");
    assert_eq!(stream.outages.len(), 1, "{:?}", stream.outages);
}

#[test]
fn a_new_connection_for_every_statement_is_one_for_each() {
    let (server, log) = logging_server();
    let mut main = stream("main", 4, Arrival::Closed);
    main.workload = workload(vec![
        statement("first", "SELECT 1", Expect::Row),
        statement("second", "SELECT 2", Expect::Row),
    ]);
    main.connect = ConnectionMode::Statement;
    main.protocol = Protocol::Text;
    main.limit = Some(Limit::Transactions(100));
    let outcome = run(&spec(server.address(), main, Duration::from_secs(20)));
    let stream = &outcome.streams[0];
    assert_eq!((stream.transactions.count, stream.limit_reached), (100, Some(true)));
    let log = log.lock().expect("no panic");
    assert_eq!(log.len(), 200);
    let mut asked: Vec<u64> = log.iter().map(|(connection, _)| *connection).collect();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), 200, "no connection was asked twice");
}

#[test]
fn a_limit_of_transactions_is_kept_exactly_by_any_number_of_workers() {
    for workers in [1, 2, 3] {
        for limit in [1, 10, 1003] {
            let server = plain_server();
            let mut main = stream("main", 7, Arrival::Closed);
            main.limit = Some(Limit::Transactions(limit));
            main.protocol = Protocol::Text;
            let mut spec = spec(server.address(), main, Duration::from_secs(60));
            spec.workers = Some(workers);
            let begun = Instant::now();
            let outcome = run(&spec);
            assert!(begun.elapsed() < Duration::from_secs(30), "the load ends with its streams");
            let stream = &outcome.streams[0];
            assert_eq!(outcome.end, End::Completed);
            assert_eq!((stream.transactions.count, stream.limit_reached), (limit, Some(true)));
            assert_eq!(server.statements(), limit);
            assert!(stream.active_time(outcome.interval) <= outcome.interval);
        }
    }
}

#[test]
fn a_limit_counts_what_was_started_also_where_it_failed_and_may_be_missed() {
    let server = server(
        |_| Welcome::Greeting,
        |_, statement, asked| match statement % 10 {
            3 => Answer::Close,
            7 => Answer::Error(1213, *b"40001", "Deadlock found".to_owned()),
            _ => null::plain(asked),
        },
    );
    let mut main = stream("main", 4, Arrival::Closed);
    main.limit = Some(Limit::Transactions(500));
    main.protocol = Protocol::Text;
    let mut spec = spec(server.address(), main, Duration::from_secs(60));
    let outcome = run(&spec);
    let transactions = &outcome.streams[0].transactions;
    assert_eq!(transactions.count + transactions.errors, 500);
    assert_eq!(server.statements(), 500);

    spec.streams[0].limit = Some(Limit::Transactions(1_000_000_000));
    spec.interval = ms(300);
    assert_eq!(run(&spec).streams[0].limit_reached, Some(false));
}

#[test]
fn a_limit_of_rows_is_reached_and_hardly_passed() {
    let server = server(|_| Welcome::Greeting, |_, _, _| Answer::Rows { rows: 7, bytes: 10 });
    let mut main = stream("main", 4, Arrival::Closed);
    main.limit = Some(Limit::Rows(5000));
    let outcome = run(&spec(server.address(), main, Duration::from_secs(60)));
    let stream = &outcome.streams[0];
    let rows = stream.statements[0].rows;
    // each connection may have one reply of 7 rows under way when the limit is reached
    assert!((5000..5000 + 4 * 7).contains(&rows), "{rows}");
    assert_eq!(stream.limit_reached, Some(true));
}

/// When each text was asked, in order.
type Texts = Arc<Mutex<Vec<(String, Instant)>>>;

/// First and last time that a stream of this name asked, and how often.
fn times(log: &Texts, name: &str) -> (Instant, Instant, usize) {
    let sql = format!("SELECT '{name}'");
    let log = log.lock().expect("no panic");
    let times: Vec<Instant> = log.iter().filter(|(text, _)| *text == sql).map(|(_, at)| *at).collect();
    (*times.first().expect("it ran"), *times.last().expect("it ran"), times.len())
}

/// A stream whose statements have its name.
fn named(name: &str, limit: Option<u64>, begin: Begin) -> Stream {
    let mut stream = stream(name, 3, Arrival::Closed);
    stream.workload = workload(vec![statement("select", &format!("SELECT '{name}'"), Expect::Row)]);
    stream.protocol = Protocol::Text;
    stream.limit = limit.map(Limit::Transactions);
    stream.begin = begin;
    stream
}

fn text_server() -> (NullServer, Texts) {
    let log = Texts::default();
    let writer = Arc::clone(&log);
    let server = server(
        |_| Welcome::Greeting,
        move |_, _, asked| {
            if let null::Asked::Text(sql) = asked {
                let sql = String::from_utf8_lossy(sql).into_owned();
                writer.lock().expect("no panic").push((sql, Instant::now()));
            }
            Answer::After(ms(1), Box::new(null::plain(asked)))
        },
    );
    (server, log)
}

#[test]
fn streams_with_limits_run_one_after_the_other_and_the_load_ends_with_the_last() {
    let (server, log) = text_server();
    let mut spec =
        spec(server.address(), named("first", Some(200), Begin::Together), Duration::from_secs(60));
    spec.warm_up = ms(500);
    spec.streams.push(named("second", Some(100), Begin::WhenDone("first".to_owned())));
    spec.streams.push(named("always", None, Begin::Together));
    let outcome = run(&spec);
    let (first, second, always) = (times(&log, "first"), times(&log, "second"), times(&log, "always"));
    assert_eq!((first.2, second.2), (200, 100));
    assert!(first.1 < second.0, "the second begins when the first is done");
    assert!(first.0 >= always.0 + ms(450), "a stream with a limit begins when the warm-up is over");
    assert!(always.1 > first.1, "what has no limit goes on until the others are done");
    let [one, two, three] = &outcome.streams[..] else { panic!("three streams") };
    assert!(one.active.0 >= ms(500) && one.active.1 <= two.active.0, "{:?} {:?}", one.active, two.active);
    assert!(two.active.1 <= three.active.1, "{:?} {:?}", two.active, three.active);
    assert_eq!((one.limit_reached, two.limit_reached, three.limit_reached), (Some(true), Some(true), None));
    assert!(
        outcome.end == End::Completed && outcome.interval < Duration::from_secs(30),
        "{:?}",
        outcome.interval
    );
}

#[test]
fn a_stream_that_takes_too_long_is_stopped_and_the_next_one_begins() {
    for workers in [1, 2] {
        let (server, log) = text_server();
        let limited = |name: &str, count, begin| {
            let time_limit = Some(ms(400));
            Stream { time_limit, ..named(name, Some(count), begin) }
        };
        let first = limited("first", 1_000_000, Begin::Together);
        let mut spec = spec(server.address(), first, Duration::from_secs(60));
        spec.workers = Some(workers);
        spec.streams.push(limited("second", 20, Begin::WhenDone("first".to_owned())));
        // pauses much longer than its time: it is stopped in one of them
        let third = limited("third", 1_000_000, Begin::WhenDone("second".to_owned()));
        spec.streams.push(Stream { arrival: Arrival::Think(Think::Fixed(Duration::from_secs(9))), ..third });
        let begun = Instant::now();
        let outcome = run(&spec);
        assert!(begun.elapsed() < Duration::from_secs(20), "{workers} workers");
        let (first, second) = (times(&log, "first"), times(&log, "second"));
        assert!(first.1 < second.0 && second.2 == 20, "{workers} workers: {first:?} {second:?}");
        let [one, two, three] = &outcome.streams[..] else { panic!("three streams") };
        let reached = [one, two, three].map(|stream| stream.limit_reached);
        assert_eq!(reached, [Some(false), Some(true), Some(false)], "{workers} workers");
        for stopped in [one, three] {
            let took = stopped.active.1 - stopped.active.0;
            assert!((ms(400)..ms(4000)).contains(&took), "{workers} workers: {took:?}");
        }
        assert_eq!(one.transactions.count, first.2 as u64, "what was under way is counted");
        assert_eq!(outcome.end, End::Completed);
    }
}

#[test]
fn a_time_limit_without_a_limit_is_refused() {
    let (server, _) = text_server();
    let endless = Stream { time_limit: Some(ms(400)), ..named("main", None, Begin::Together) };
    let error = load::run(&spec(server.address(), endless, ms(100)), &Stop::default(), &mut |_| ());
    assert!(error.expect_err("nothing to miss").to_string().contains("time limit"));
}

#[test]
fn a_stream_may_begin_after_the_others() {
    let (server, log) = text_server();
    let mut spec = spec(server.address(), named("always", None, Begin::Together), ms(1500));
    spec.warm_up = ms(500);
    spec.streams.push(named("after", None, Begin::After(ms(700))));
    let outcome = run(&spec);
    let (always, after) = (times(&log, "always"), times(&log, "after"));
    assert!(after.0 >= always.0 + ms(1150), "500 ms of warm-up, and 700");
    let [one, two] = &outcome.streams[..] else { panic!("two streams") };
    assert_eq!((one.active, two.active.1), ((ms(500), ms(2000)), ms(2000)));
    assert!(two.active.0 >= ms(1200) && two.active.0 < ms(1900), "{:?}", two.active);
}

#[test]
fn idle_connections_are_open_and_say_nothing() {
    let (server, log) = logging_server();
    let mut main = stream("main", 3, Arrival::Closed);
    main.idle = 40;
    let outcome = run(&spec(server.address(), main, ms(500)));
    let stream = &outcome.streams[0];
    assert_eq!((stream.connections, stream.idle, stream.connections_opened), (3, 40, 43));
    assert_eq!(server.connections(), 44, "and one that looked whether anybody is there");
    let mut asked: Vec<u64> =
        log.lock().expect("no panic").iter().map(|(connection, _)| *connection).collect();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), 3);
    assert!(stream.transactions_by_connection.iter().filter(|&&count| count > 0).count() == 3);
}

#[test]
fn connections_that_a_server_starves_are_seen() {
    let server = server(
        |_| Welcome::Greeting,
        |connection, _, asked| match connection % 2 {
            0 => Answer::After(Duration::from_secs(30), Box::new(null::plain(asked))),
            _ => null::plain(asked),
        },
    );
    let outcome = run(&spec(server.address(), stream("main", 20, Arrival::Closed), ms(800)));
    let stream = &outcome.streams[0];
    assert_eq!(stream.transactions_by_connection.len(), 20);
    let starved = stream.transactions_by_connection.iter().filter(|&&count| count == 0).count();
    assert_eq!(starved, 10, "{:?}", stream.transactions_by_connection);
    assert_eq!(stream.in_flight_at_end, 20, "every connection of a closed loop has one");
    assert!(stream.in_flight_age_max >= ms(700));
}

#[test]
fn connections_are_opened_no_faster_than_asked_for() {
    let server = plain_server();
    let mut spec = spec(server.address(), stream("main", 40, Arrival::Closed), ms(200));
    spec.open_rate = Some(100.0);
    let begun = Instant::now();
    let mut opened_after = Duration::ZERO;
    let outcome = load::run(&spec, &Stop::default(), &mut |event| {
        if matches!(event, Progress::Started) {
            opened_after = begun.elapsed();
        }
    })
    .expect("the load begins");
    assert_eq!(outcome.streams[0].opening.opened, 40);
    assert!(opened_after >= ms(350), "{opened_after:?}");
}
