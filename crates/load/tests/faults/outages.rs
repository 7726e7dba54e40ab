//! What happens to a load when the server or the network goes away: at the begin it is said, later it is an
//! outage of measured length; connections come back by themselves with bounded back-off, and the engine stops
//! at its time.

use crate::ledger::{LOST, SLACK, completed, load_of, only_code, with_code};
use crate::relay::Relay;
use crate::support::{at_once, ms, run_while, select, server, spec};
use load::{
    Stop,
    null::{self, NullServer, Then, Welcome},
    sample::{Outage, StreamOutcome},
    spec::Stream,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Longest pause between two attempts to connect: the engine's own limit.
const BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// CR_CONN_HOST_ERROR: nobody listens.
const REFUSED: u16 = 2003;
/// CR_MALFORMED_PACKET.
const MALFORMED: u16 = 2027;

/// How much before [`crate::support::run_while`] says so a time may be reached: the load's clock begins a
/// little later.
const EARLY: Duration = ms(50);

/// The engine tries to open its connections against such a server: the load must not begin, and say so soon.
fn cannot_open(welcome: Welcome, code: u16) {
    let server = server(move |_| welcome.clone(), |_, _, asked| null::plain(asked));
    let begun = Instant::now();
    let result = load::run(&load_of(&server, 4, ms(500)), &Stop::default(), &mut |_| ());
    let Err(load::Error::Opening { opened, wanted, code: seen, .. }) = result else { panic!("{result:?}") };
    assert_eq!((opened, wanted, seen), (0, 4, code));
    assert!(begun.elapsed() < Duration::from_secs(45));
}

#[test]
fn a_server_that_does_not_greet_or_answer_the_login_ends_in_an_error() {
    let nonsense = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let cases = [
        (Welcome::Raw(Vec::new(), Then::Silence), LOST),
        (Welcome::Torn(20, Then::Silence), LOST),
        (Welcome::NoLogin, LOST),
        (Welcome::Torn(20, Then::Close), LOST),
        (Welcome::Raw(Vec::new(), Then::Reset), LOST),
        (Welcome::Raw(nonsense, Then::Close), MALFORMED),
        (Welcome::Raw(vec![4, 0, 0, 0, 9, 1, 2, 3], Then::Silence), MALFORMED),
    ];
    at_once(cases, |(welcome, code)| cannot_open(welcome, code));
}

#[test]
fn a_server_that_refuses_every_login_is_quoted() {
    let mut refusal = vec![0, 0, 0, 0, 0xff];
    refusal.extend_from_slice(&1130_u16.to_le_bytes());
    refusal.extend_from_slice(b"Host is not allowed");
    refusal[0] = refusal.len() as u8 - 4;
    let server =
        server(move |_| Welcome::Raw(refusal.clone(), Then::Close), |_, _, asked| null::plain(asked));
    let result = load::run(&load_of(&server, 4, ms(500)), &Stop::default(), &mut |_| ());
    let Err(load::Error::Opening { code, reason, .. }) = result else { panic!("{result:?}") };
    assert_eq!(code, 1130);
    assert!(reason.contains("Host is not allowed"), "{reason}");
}

#[test]
fn a_queue_that_nobody_takes_connections_from_ends_in_an_error() {
    let server = NullServer::start(0).expect("a port");
    server.accept(false);
    let begun = Instant::now();
    let result = load::run(&load_of(&server, 4, ms(500)), &Stop::default(), &mut |_| ());
    // the server may have taken some before it heard that it is not to
    let Err(load::Error::Opening { opened: 0..4, code: LOST | REFUSED, .. }) = result else {
        panic!("{result:?}")
    };
    assert!(begun.elapsed() < Duration::from_secs(45));
}

/// Connections are lost after 300 ms, and until 1000 ms new ones are met as `welcome` says.
fn comes_back_after(welcome: Welcome, codes: &[u16]) {
    let is_ill = Arc::new(AtomicBool::new(false));
    let for_server = Arc::clone(&is_ill);
    let server = server(
        move |_| if for_server.load(Ordering::SeqCst) { welcome.clone() } else { Welcome::Greeting },
        |_, _, asked| null::plain(asked),
    );
    let outcome = run_while(&load_of(&server, 8, ms(3500)), |at| {
        at(300);
        is_ill.store(true, Ordering::SeqCst);
        server.cut();
        at(1000);
        is_ill.store(false, Ordering::SeqCst);
    });
    let stream = completed(&outcome);
    assert!(stream.errors.iter().all(|error| codes.contains(&error.code)), "{:?}", stream.errors);
    assert_outage(stream, ms(300), ms(1000), 8);
}

/// There was one outage, it began and ended about then, and all connections came back after it without
/// storming.
fn assert_outage(stream: &StreamOutcome, from: Duration, until: Duration, connections: u64) {
    let [outage] = &stream.outages[..] else { panic!("one outage: {:?}", stream.outages) };
    let Outage { from: began, until: ended, recovered } = *outage;
    assert!(recovered, "{outage:?}");
    assert!(began + EARLY >= from && began < until, "{outage:?} since {from:?}");
    assert!(ended + EARLY >= until && ended <= until + BACK_OFF_MAX + SLACK, "{outage:?} until {until:?}");
    let first = stream.errors.iter().map(|error| error.first).min().expect("errors");
    assert!(
        first.abs_diff(began) < ms(100),
        "the outage begins with the first failure: {outage:?} {first:?}"
    );
    assert!(stream.reconnecting.opened >= connections.min(1), "{}", stream.reconnecting.opened);
    assert_eq!(stream.connections_opened, stream.opening.opened + stream.reconnecting.opened);
    // from the first pause of 20 ms, doubled up to a second: about 6 attempts in the first second, then one
    // or two in each
    let seconds = (ended - began).as_secs_f64();
    let attempts = connections as f64 * (10.0 + 2.0 * seconds);
    assert!((stream.reconnecting.failed as f64) < attempts, "{} failed", stream.reconnecting.failed);
}

#[test]
fn connections_come_back_to_a_server_that_refused_to_speak_for_a_while() {
    let cases = [
        (Welcome::Raw(Vec::new(), Then::Silence), &[LOST, REFUSED][..]),
        (Welcome::NoLogin, &[LOST, REFUSED]),
        (Welcome::Raw(Vec::new(), Then::Reset), &[LOST, REFUSED]),
        (Welcome::Raw(vec![0x55; 100], Then::Silence), &[LOST, MALFORMED]),
    ];
    at_once(cases, |(welcome, codes)| comes_back_after(welcome, codes));
}

#[test]
fn a_server_that_goes_away_and_comes_back_is_an_outage_of_that_length() {
    let server = NullServer::start(0).expect("a port");
    let outcome = run_while(&load_of(&server, 16, ms(3500)), |at| {
        at(400);
        server.leave(ms(800));
    });
    let stream = completed(&outcome);
    assert_outage(stream, ms(400), ms(1200), 16);
    let lost = with_code(stream, LOST).expect("connections that broke");
    assert_eq!(lost.count, 16, "each broke once: {lost:?}");
    let refused = with_code(stream, REFUSED).expect("attempts that were refused");
    assert!(refused.first + EARLY >= ms(400) && refused.last <= ms(1200) + SLACK, "{refused:?}");
    assert!(stream.transactions_by_connection.iter().all(|&count| count > 0));
}

#[test]
fn a_server_that_stays_away_is_an_outage_to_the_end() {
    let server = NullServer::start(0).expect("a port");
    let outcome = run_while(&load_of(&server, 16, ms(1500)), |at| {
        at(400);
        server.leave(Duration::from_secs(60));
    });
    let stream = completed(&outcome);
    let [outage] = &stream.outages[..] else { panic!("one outage: {:?}", stream.outages) };
    assert!(!outage.recovered && outage.from + EARLY >= ms(400) && outage.from < ms(1500), "{outage:?}");
    assert_eq!(outage.until, ms(1500), "the end of the load");
    assert_eq!(with_code(stream, LOST).map(|error| error.count), Some(16));
    assert_eq!(stream.reconnecting.opened, 0);
}

#[test]
fn a_network_that_holds_everything_back_for_a_while_delays_and_breaks_nothing() {
    let server = NullServer::start(0).expect("a port");
    let relay = Relay::to(server.address());
    let spec = spec(relay.address(), Stream::new("main", select(), 4), ms(1600));
    let outcome = run_while(&spec, |at| {
        at(300);
        relay.hold();
        at(1000);
        relay.heal();
    });
    let stream = completed(&outcome);
    assert!(stream.errors.is_empty() && stream.outages.is_empty(), "{:?}", stream.errors);
    assert_eq!(stream.connections_opened, 4);
    let slow = above(stream, ms(600));
    assert_eq!(slow, 4, "each connection waited once");
}

fn above(stream: &StreamOutcome, time: Duration) -> u64 {
    let buckets = stream.transactions.service.buckets();
    buckets.filter(|(ns, _)| u128::from(*ns) >= time.as_nanos()).map(|(_, count)| count).sum()
}

#[test]
fn a_network_that_loses_everything_is_left_for_a_new_connection() {
    let server = NullServer::start(0).expect("a port");
    let relay = Relay::to(server.address());
    let mut spec = spec(relay.address(), Stream::new("main", select(), 4), ms(4000));
    spec.connect_timeout = ms(300);
    spec.reply_timeout = Some(ms(200));
    let outcome = run_while(&spec, |at| {
        at(300);
        relay.lose();
        at(1100);
        relay.heal();
    });
    let stream = completed(&outcome);
    assert!(
        stream.errors.iter().all(|error| error.code == LOST || error.code == REFUSED),
        "{:?}",
        stream.errors
    );
    // the first failure is known when the first reply is late
    assert_outage(stream, ms(500), ms(1100), 4);
    assert!(stream.transactions_by_connection.iter().all(|&count| count > 0));
}

#[test]
fn a_network_that_loses_everything_cannot_keep_the_engine() {
    let server = NullServer::start(0).expect("a port");
    let relay = Relay::to(server.address());
    let spec = spec(relay.address(), Stream::new("main", select(), 4), ms(900));
    let outcome = run_while(&spec, |at| {
        at(300);
        relay.lose();
        at(500);
        relay.heal();
    });
    let stream = completed(&outcome);
    assert!(stream.errors.is_empty(), "nothing has said that anything is wrong: {:?}", stream.errors);
    assert_eq!(stream.in_flight_at_end, 4);
    assert!(stream.in_flight_age_max >= ms(400), "{:?}", stream.in_flight_age_max);
}

#[test]
fn a_network_that_resets_everything_for_a_while_is_an_outage() {
    let server = NullServer::start(0).expect("a port");
    let relay = Relay::to(server.address());
    let mut spec = spec(relay.address(), Stream::new("main", select(), 4), ms(3500));
    spec.connect_timeout = ms(300);
    let outcome = run_while(&spec, |at| {
        at(300);
        relay.reset();
        at(1000);
        relay.heal();
    });
    let stream = completed(&outcome);
    only_code(stream, LOST);
    assert_outage(stream, ms(300), ms(1000), 4);
}
