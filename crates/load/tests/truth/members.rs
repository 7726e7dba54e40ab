//! Several servers behind one load: which stream reaches which of them, over how many connections.

use crate::support::{ms, run, run_while, server, spec, statement, workload};
use load::{
    Spec,
    null::{self, Asked, NullServer, Then, Welcome},
    sample::End,
    spec::{Address, Arrival, ConnectionMode, Destination, Expect, Protocol, Stream, Target, Think},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::TcpListener,
    sync::{Arc, Mutex},
};

/// The connections of a server that each text was asked over.
type Asking = Arc<Mutex<BTreeMap<String, BTreeSet<u64>>>>;

fn noting_server() -> (NullServer, Asking) {
    let asking = Asking::default();
    let writer = Arc::clone(&asking);
    let server = server(
        |_| Welcome::Greeting,
        move |connection, _, asked| {
            if let Asked::Text(sql) = asked {
                let sql = String::from_utf8_lossy(sql).into_owned();
                writer.lock().expect("no panic").entry(sql).or_default().insert(connection);
            }
            null::plain(asked)
        },
    );
    (server, asking)
}

/// Over how many connections each text was asked.
fn counts(asking: &Asking) -> Vec<(String, usize)> {
    let asking = asking.lock().expect("no panic");
    asking.iter().map(|(text, connections)| (text.clone(), connections.len())).collect()
}

/// A stream whose statements have its name.
fn stream(name: &str, connections: u32, to: Destination) -> Stream {
    let steps = vec![statement("select", &format!("SELECT {name}"), Expect::Row)];
    Stream { protocol: Protocol::Text, to, ..Stream::new(name, workload(steps), connections) }
}

fn at(spec: &Spec, port: u16) -> Target {
    let host = "127.0.0.1".to_owned();
    Target { address: Address::Tcp { host, port }, ..spec.target.clone() }
}

#[test]
fn connections_are_dealt_over_the_servers_that_their_stream_goes_to() {
    let [(primary, of_primary), (first, of_first), (second, of_second)] =
        [noting_server(), noting_server(), noting_server()];
    let mut spec = spec(primary.address(), stream("writes", 2, Destination::Primary), ms(400));
    spec.members = vec![at(&spec, first.address().port()), at(&spec, second.address().port())];
    spec.streams.push(stream("members", 5, Destination::Members));
    spec.streams.push(stream("all", 7, Destination::All));
    let outcome = run(&spec);
    let said = |all: &[(&str, usize)]| -> Vec<_> {
        all.iter().map(|(name, count)| (format!("SELECT {name}"), *count)).collect()
    };
    assert_eq!(counts(&of_primary), said(&[("all", 3), ("writes", 2)]));
    assert_eq!(counts(&of_first), said(&[("all", 2), ("members", 3)]));
    assert_eq!(counts(&of_second), said(&[("all", 2), ("members", 2)]));
    let asked = primary.statements() + first.statements() + second.statements();
    let counted: u64 = outcome.streams.iter().map(|stream| stream.transactions.count).sum();
    assert!((counted..=counted + 14).contains(&asked), "{asked} asked, {counted} counted");
    for stream in &outcome.streams {
        assert_eq!(stream.connections_opened, u64::from(stream.connections));
        assert!(stream.errors.is_empty(), "{:?}", stream.errors);
    }
}

#[test]
fn a_connection_that_is_lost_comes_back_to_the_same_server_and_others_do_not_notice() {
    let [(primary, _), (first, _), (second, of_second)] = [noting_server(), noting_server(), noting_server()];
    let mut spec = spec(primary.address(), stream("all", 6, Destination::All), ms(1500));
    spec.members = vec![at(&spec, first.address().port()), at(&spec, second.address().port())];
    let outcome = run_while(&spec, |at| {
        at(300);
        second.cut();
    });
    let stream = &outcome.streams[0];
    let lost: u64 = stream.errors.iter().map(|error| error.count).sum();
    assert!((1..=2).contains(&lost), "{:?}", stream.errors);
    let asking = of_second.lock().expect("no panic");
    assert_eq!(asking["SELECT all"].len(), 4, "two connections, and two in their place");
    // each is looked at once before, and nobody moved to the others
    assert_eq!((primary.connections(), first.connections()), (3, 3));
}

#[test]
fn a_server_that_no_stream_goes_to_need_not_be_there() {
    let (there, _) = noting_server();
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let mut spec = spec(there.address(), stream("writes", 2, Destination::Primary), ms(200));
    spec.members = vec![at(&spec, nobody)];
    assert_eq!(run(&spec).end, End::Completed);
    // and the other way round: the members alone
    spec.members = vec![spec.target.clone()];
    spec.target = at(&spec, nobody);
    spec.streams[0].to = Destination::Members;
    assert_eq!(run(&spec).end, End::Completed);
}

#[test]
fn a_stream_can_take_another_way_to_the_first_server() {
    let [(primary, of_primary), (near, of_near)] = [noting_server(), noting_server()];
    let mut spec = spec(primary.address(), stream("remote", 2, Destination::Primary), ms(300));
    spec.streams.push(stream("local", 3, Destination::Local));
    spec.local = Some(at(&spec, near.address().port()));
    run(&spec);
    assert_eq!(counts(&of_primary), [("SELECT remote".to_owned(), 2)]);
    assert_eq!(counts(&of_near), [("SELECT local".to_owned(), 3)]);
    // where there is no other way, it takes the same one
    spec.local = None;
    assert_eq!(run(&spec).end, End::Completed);
    assert_eq!(counts(&of_primary).len(), 2);
}

#[test]
fn strangers_are_refused_as_often_as_they_try_and_nobody_waits_for_them() {
    let words = b"\x15\x04#28000who are you".as_slice();
    let packet = [&[1 + words.len() as u8, 0, 0, 0, 0xFF], words].concat();
    let server = server(move |_| Welcome::Raw(packet.clone(), Then::Close), |_, _, asked| null::plain(asked));
    let mut refused = stream("refused", 3, Destination::Stranger);
    refused.connect = ConnectionMode::Transactions(1);
    refused.arrival = Arrival::Think(Think::Fixed(ms(50)));
    let outcome = run(&spec(server.address(), refused, ms(1000)));
    assert_eq!(outcome.end, End::Completed);
    let told = &outcome.streams[0];
    let failed = told.reconnecting.failed;
    assert!((20..=66).contains(&failed), "three connections, every 50 ms: {failed}");
    assert_eq!((told.transactions.count, told.transactions.errors), (0, failed));
    assert_eq!((told.errors[0].code, told.errors[0].count), (1045, failed), "{:?}", told.errors);
}
