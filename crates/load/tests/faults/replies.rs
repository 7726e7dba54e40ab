//! Replies that break: torn, closed, reset, garbage, errors in the middle, and replies of 100 MB.

use crate::ledger::{LOST, completed, load_of, only_code, with_code};
use crate::support::{ms, run, run_while, select, server};
use load::{
    Outcome, Spec,
    null::{self, Answer, NullServer, Then, Welcome},
    sample::StreamOutcome,
    spec::{Limit, Protocol, Stream},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// CR_MALFORMED_PACKET.
const MALFORMED: u16 = 2027;

/// Statements of a load in which every hundredth meets a fault; the others must not notice.
const STATEMENTS: u64 = 1000;
const FAULTS: u64 = STATEMENTS / 100;

/// A server that plays `fault` at every hundredth statement, and a load of [`STATEMENTS`] on 8 connections.
fn now_and_then(fault: impl Fn() -> Answer + Send + 'static) -> (NullServer, Spec) {
    let server = server(
        |_| Welcome::Greeting,
        move |_, statement, asked| match (statement + 1).is_multiple_of(100) {
            true => fault(),
            false => null::plain(asked),
        },
    );
    let mut spec = load_of(&server, 8, Duration::from_secs(60));
    spec.streams[0].limit = Some(Limit::Transactions(STATEMENTS));
    (server, spec)
}

/// The only stream of a load that met [`FAULTS`], all of one code, and was right beside.
fn with_faults(server: &NullServer, outcome: &Outcome, code: u16) -> StreamOutcome {
    let stream = completed(outcome);
    let error = only_code(stream, code);
    assert_eq!(server.statements(), STATEMENTS);
    assert_eq!((error.count, stream.transactions.errors), (FAULTS, FAULTS), "{error:?}");
    assert_eq!(stream.transactions.count, STATEMENTS - FAULTS);
    assert_eq!(stream.transactions_by_connection.len(), 8);
    stream.clone()
}

/// Plays `fault`; each must be counted under `code` and cost its connection, which comes back.
fn each_costs_a_connection(code: u16, fault: impl Fn() -> Answer + Send + 'static) {
    let (server, spec) = now_and_then(fault);
    let stream = with_faults(&server, &run(&spec), code);
    assert_eq!(stream.statements[0].rows, STATEMENTS - FAULTS);
    let opened = stream.reconnecting.opened;
    // the last ones may not be back when the load ends
    assert!(opened <= FAULTS && opened + 8 >= FAULTS, "{opened}");
}

#[test]
fn a_connection_that_is_closed_or_reset_is_a_lost_one() {
    each_costs_a_connection(LOST, || Answer::Close);
    each_costs_a_connection(LOST, || Answer::Reset);
}

#[test]
fn half_a_reply_and_then_the_end_is_a_lost_connection() {
    // within a header, within the columns, within the row, within the last packet
    for bytes in [3, 20, 100, 160] {
        each_costs_a_connection(LOST, move || Answer::Torn(Box::new(Answer::Row), bytes, Then::Close));
    }
    each_costs_a_connection(LOST, || Answer::Torn(Box::new(Answer::Row), 50, Then::Reset));
}

#[test]
fn garbage_in_place_of_a_reply_is_malformed() {
    each_costs_a_connection(MALFORMED, || Answer::Raw(vec![0x55; 700]));
    // a header that says 16 MiB of nonsense, and a reply that is empty
    each_costs_a_connection(MALFORMED, || Answer::Raw(vec![0xff, 0xff, 0xff, 9, 1, 2, 3]));
    each_costs_a_connection(MALFORMED, || Answer::Raw(vec![0, 0, 0, 1]));
}

#[test]
fn a_wrong_packet_number_is_malformed() {
    each_costs_a_connection(MALFORMED, || Answer::Misnumbered);
}

#[test]
fn an_error_in_the_middle_of_a_result_is_counted_apart_and_keeps_the_connection() {
    let cut = || Answer::CutShort(3, 1317, *b"70100", "Query execution was interrupted".to_owned());
    let (server, spec) = now_and_then(cut);
    let stream = with_faults(&server, &run(&spec), 1317);
    let error = &stream.errors[0];
    assert_eq!((error.state.as_str(), error.message.as_str()), ("70100", "Query execution was interrupted"));
    assert_eq!((stream.statements[0].cut_short, stream.statements[0].errors), (FAULTS, FAULTS));
    assert_eq!((stream.connections_opened, stream.reconnecting.opened), (8, 0));
}

#[test]
fn half_a_reply_and_then_silence_is_given_up_after_the_reply_timeout() {
    let (server, mut spec) = now_and_then(|| Answer::Torn(Box::new(Answer::Row), 100, Then::Silence));
    spec.reply_timeout = Some(Duration::from_secs(1));
    let stream = with_faults(&server, &run(&spec), LOST);
    assert!(stream.errors[0].first >= ms(950), "{:?}", stream.errors);
    assert!(stream.errors[0].message.contains("1 s"), "{:?}", stream.errors);
}

#[test]
fn half_a_reply_and_then_silence_is_in_flight_where_any_time_is_allowed() {
    let server = server(
        |_| Welcome::Greeting,
        |connection, _, asked| match connection % 2 {
            0 => Answer::Torn(Box::new(null::plain(asked)), 100, Then::Silence),
            _ => null::plain(asked),
        },
    );
    let outcome = run(&load_of(&server, 8, ms(600)));
    let stream = completed(&outcome);
    assert!(stream.errors.is_empty(), "{:?}", stream.errors);
    assert!(stream.in_flight_at_end >= 4, "{}", stream.in_flight_at_end);
    assert!(stream.in_flight_age_max >= ms(400), "{:?}", stream.in_flight_age_max);
    let finished = stream.transactions_by_connection.iter().filter(|&&count| count > 0).count();
    assert_eq!(finished, 4, "the others go on: {:?}", stream.transactions_by_connection);
}

/// Eight connections that get one reply of 100 MB each at the same time, beside others that get plain ones:
/// how much memory that takes at most.
fn memory_for_replies_of(rows: u64, bytes: u64) -> u64 {
    const LARGE: u64 = 8;
    let server = server(
        |_| Welcome::Greeting,
        move |_, _, asked| match asked {
            null::Asked::Text(_) => Answer::Rows { rows, bytes },
            null::Asked::Prepared { .. } => null::plain(asked),
        },
    );
    let before = load::io::memory_bytes_max();
    let mut spec = load_of(&server, LARGE as u32, Duration::from_secs(60));
    spec.connect_timeout = Duration::from_secs(10);
    spec.streams[0].protocol = Protocol::Text;
    spec.streams[0].limit = Some(Limit::Transactions(LARGE));
    spec.streams.push(Stream::new("small", select(), 8));
    let outcome = run(&spec);
    let used = outcome.client.memory_bytes_max - before;
    let stream = completed(&outcome);
    assert!(stream.errors.is_empty(), "{:?}", stream.errors);
    assert_eq!((stream.transactions.count, stream.statements[0].rows), (LARGE, LARGE * rows));
    let others = &outcome.streams[1].transactions_by_connection;
    assert!(others.iter().all(|&count| count > 0), "the others go on: {others:?}");
    used
}

#[test]
fn replies_of_100_mb_take_no_memory_whether_many_rows_or_one() {
    for (rows, bytes) in [(1_000_000, 100), (1, 100 << 20), (6, 17 << 20)] {
        let used = memory_for_replies_of(rows, bytes);
        // 8 of 100 MB at a time; the scripted server itself makes them in pieces
        assert!(used < 48 << 20, "{} MB for {rows} rows of {bytes}", used >> 20);
    }
}

#[test]
fn a_reply_of_100_mb_that_breaks_off_is_no_success() {
    for then in [Then::Close, Then::Reset] {
        let large = || Box::new(Answer::Rows { rows: 3, bytes: 40 << 20 });
        let server = server(|_| Welcome::Greeting, move |_, _, _| Answer::Torn(large(), 90 << 20, then));
        let mut spec = load_of(&server, 2, Duration::from_secs(60));
        spec.streams[0].limit = Some(Limit::Transactions(4));
        let outcome = run(&spec);
        let stream = completed(&outcome);
        assert_eq!((stream.transactions.count, stream.transactions.errors), (0, 4));
        assert_eq!(only_code(stream, LOST).count, 4);
    }
}

/// Whatever comes in whatever order: the load ends at its time, and no reply counts that was not right.
#[test]
fn no_mixture_of_faults_keeps_the_engine_or_makes_it_count_what_was_not() {
    let right = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&right);
    let mut draw = 88_172_645_463_325_252_u64;
    let mut next = move |below: u64| {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        draw % below
    };
    let mut for_welcome = next;
    let welcome = move |connection: u64| match for_welcome(12) {
        _ if connection <= 16 => Welcome::Greeting,
        0 => Welcome::Torn(for_welcome(80) as usize, Then::Close),
        1 => Welcome::Raw(vec![for_welcome(256) as u8; 200], Then::Silence),
        2 => Welcome::Raw(Vec::new(), Then::Reset),
        3 => Welcome::NoLogin,
        _ => Welcome::Greeting,
    };
    let answer = move |_, _, asked: null::Asked<'_>| match next(200) {
        0 => Answer::Close,
        1 => Answer::Reset,
        2 => Answer::Torn(Box::new(Answer::Row), next(160), Then::Close),
        3 => Answer::Torn(Box::new(Answer::Row), next(160), Then::Silence),
        4 => Answer::Raw(vec![next(255) as u8 + 1; 300]),
        5 => Answer::Misnumbered,
        6 => Answer::CutShort(next(5), 1205, *b"HY000", "Lock wait timeout exceeded".to_owned()),
        7 => Answer::Error(1213, *b"40001", "Deadlock found".to_owned()),
        8 => Answer::Torn(Box::new(Answer::Rows { rows: 20_000, bytes: 100 }), next(2 << 20), Then::Reset),
        9 => Answer::Silence,
        choice => {
            counter.fetch_add(1, Ordering::Relaxed);
            match choice {
                10..20 => Answer::After(ms(next(20)), Box::new(Answer::Row)),
                _ => null::plain(asked),
            }
        }
    };
    let server = server(welcome, answer);
    let mut spec = load_of(&server, 16, Duration::from_secs(60));
    spec.reply_timeout = Some(ms(150));
    spec.streams[0].limit = Some(Limit::Transactions(5000));
    let outcome = run_while(&spec, |at| {
        at(100);
        server.stall(ms(200));
        at(400);
        server.leave(ms(200));
    });
    let stream = completed(&outcome);
    let right = right.load(Ordering::Relaxed);
    let counted = stream.transactions.count;
    assert!(counted > 1000 && counted <= right, "{counted} counted, {right} right");
    assert_eq!(counted + stream.transactions.errors, 5000);
    let failed: u64 = stream.errors.iter().map(|error| error.count).sum();
    assert!(failed >= stream.transactions.errors, "{failed} {}", stream.transactions.errors);
    for code in [LOST, MALFORMED, 1205, 1213] {
        assert!(with_code(stream, code).is_some(), "{code}: {:?}", stream.errors);
    }
}
