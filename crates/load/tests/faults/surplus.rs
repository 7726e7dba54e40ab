//! A server that sends a packet too many: an error of the protocol that is counted and costs the connection,
//! wherever it comes, and never a reply to something that was sent later, nor a time before it began.

use crate::ledger::{completed, load_of, only_code};
use crate::support::{ms, run, select, server, spec, statement, workload};
use load::{
    Spec,
    null::{self, Answer, NullServer, Welcome},
    sample::StreamOutcome,
    spec::{Arrival, Expect, Limit, Protocol, Stream, Think, TlsMode},
};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
    time::Duration,
};
use wire::{
    constants::capability,
    server::{CAPABILITIES, Connection, Finish, Greeting, Request},
};

/// CR_MALFORMED_PACKET.
const MALFORMED: u16 = 2027;
/// An OK with the number that the first packet of a reply has.
const OK: [u8; 11] = [7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];

fn surplus(answer: Answer, after: Duration) -> Answer {
    Answer::Surplus(Box::new(answer), after, OK.to_vec())
}

/// Transactions of BEGIN, UPDATE, COMMIT; every 50th statement is answered as `fault` says.
fn with_transactions(fault: impl Fn(Answer) -> Answer + Send + 'static) -> (NullServer, Spec) {
    let server = server(
        |_| Welcome::Greeting,
        move |_, statement, asked| match statement % 50 {
            49 => fault(null::plain(asked)),
            _ => null::plain(asked),
        },
    );
    let steps = ["BEGIN", "UPDATE", "COMMIT"].map(|sql| statement(sql, sql, Expect::Anything));
    let mut spec =
        spec(server.address(), Stream::new("main", workload(steps.into()), 4), Duration::from_secs(60));
    spec.streams[0].protocol = Protocol::Text;
    spec.streams[0].limit = Some(Limit::Transactions(1000));
    (server, spec)
}

/// No time of the load is longer than the load, or none at all.
fn assert_sane_times(stream: &StreamOutcome) {
    let most = 30_000_000_000;
    for tally in stream.statements.iter().chain(&stream.by_transaction) {
        assert!(tally.service.max_ns() < most, "{}: {} ns", tally.name, tally.service.max_ns());
        assert!(tally.response().max_ns() < most, "{}: {} ns", tally.name, tally.response().max_ns());
    }
    for connects in [&stream.opening, &stream.reconnecting] {
        assert!(connects.first_reply.max_ns() < most, "{} ns", connects.first_reply.max_ns());
    }
}

#[test]
fn between_two_statements_of_a_transaction() {
    let (server, spec) = with_transactions(|answer| surplus(answer, Duration::ZERO));
    let outcome = run(&spec);
    let stream = completed_all(&outcome);
    let error = only_code(stream, MALFORMED);
    // each was met at once: with it the connection ended, and nothing more was sent on it
    assert_eq!(error.count, server.statements() / 50, "{error:?}");
    assert_eq!(stream.transactions.errors, error.count);
    assert!(error.message.contains("11 bytes"), "{error:?}");
    assert_sane_times(stream);
}

/// The only stream of a load that went on to its end.
fn completed_all(outcome: &load::Outcome) -> &StreamOutcome {
    assert_eq!(outcome.end, load::sample::End::Completed);
    &outcome.streams[0]
}

#[test]
fn behind_a_row() {
    let server = server(
        |_| Welcome::Greeting,
        |_, statement, asked| match statement % 100 {
            99 => surplus(null::plain(asked), Duration::ZERO),
            _ => null::plain(asked),
        },
    );
    let mut spec = load_of(&server, 8, Duration::from_secs(60));
    spec.streams[0].limit = Some(Limit::Transactions(1000));
    let outcome = run(&spec);
    let stream = completed(&outcome);
    assert_eq!((stream.transactions.count, stream.transactions.errors), (990, 10));
    assert_eq!((only_code(stream, MALFORMED).count, server.statements()), (10, 1000));
    assert_sane_times(stream);
}

#[test]
fn before_anything_was_asked() {
    let welcome =
        |connection| if connection == 2 { Welcome::Surplus(OK.to_vec()) } else { Welcome::Greeting };
    let server = server(welcome, |_, _, asked| null::plain(asked));
    let outcome = run(&load_of(&server, 4, ms(500)));
    let stream = completed(&outcome);
    assert!(stream.errors.is_empty(), "{:?}", stream.errors);
    // one logged in, was given up and logged in again before the load began
    assert_eq!((stream.opening.opened, stream.reconnecting.opened), (5, 0));
    assert_eq!(server.connections(), 6);
    assert_sane_times(stream);
}

#[test]
fn while_a_connection_pauses() {
    let server = server(
        |_| Welcome::Greeting,
        |connection, _, asked| match connection {
            1 => surplus(null::plain(asked), ms(30)),
            _ => null::plain(asked),
        },
    );
    let mut spec = load_of(&server, 4, ms(500));
    spec.streams[0].arrival = Arrival::Think(Think::Fixed(ms(100)));
    let outcome = run(&spec);
    let stream = completed(&outcome);
    assert_eq!(only_code(stream, MALFORMED).count, 1);
    assert_eq!(stream.transactions.errors, 0, "nothing was under way");
    assert_eq!(stream.reconnecting.opened, 1);
    assert_sane_times(stream);
}

#[test]
fn behind_the_last_reply() {
    for after in [Duration::ZERO, ms(5)] {
        let server = server(
            |_| Welcome::Greeting,
            move |_, statement, asked| match statement {
                99 => surplus(null::plain(asked), after),
                _ => null::plain(asked),
            },
        );
        let mut spec = load_of(&server, 1, Duration::from_secs(60));
        spec.streams[0].limit = Some(Limit::Transactions(100));
        let outcome = run(&spec);
        let stream = completed(&outcome);
        let errors = u64::from(after.is_zero());
        assert_eq!((stream.transactions.count, stream.transactions.errors), (100 - errors, errors));
        assert_sane_times(stream);
    }
}

/// Serves one connection: lets everybody in, and answers each query with a row's worth of nothing and, at
/// every 20th, a packet too many. `packed`: in packets of the compressed protocol, of which each holds the
/// whole answer.
fn serve(mut stream: impl Read + Write, mut server: Connection, packed: bool) -> io::Result<()> {
    let (mut input, mut out, mut queries) = (Vec::new(), Vec::new(), 0);
    let mut buffer = [0; 4096];
    let mut is_in = false;
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        // requests are short, so that they go in one piece and are not worth compressing
        let head = if packed && is_in { 7 } else { 0 };
        input.extend_from_slice(&buffer[head..count]);
        let (used, request) = server.next(&input).map_err(io::Error::other)?;
        let Some(request) = request else { continue };
        out.clear();
        if matches!(request, Request::Quit) {
            return Ok(());
        }
        queries += u32::from(matches!(request, Request::Query(_)));
        input.drain(..used);
        server.reply().ok(&mut out, &Finish { affected: 1, ..Finish::default() });
        if queries > 0 && queries % 20 == 0 {
            out.extend_from_slice(&OK);
        }
        if packed && is_in {
            let length = out.len() as u8;
            out.splice(0..0, [length, 0, 0, 1, 0, 0, 0]);
        }
        is_in = true;
        stream.write_all(&out)?;
    }
}

/// Listens, and serves each connection in a thread of its own, with TLS where there is a `config`.
fn listen(config: Option<Arc<ServerConfig>>, packed: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let config = config.clone();
            thread::spawn(move || {
                let more = if packed { capability::COMPRESS } else { capability::SSL };
                let greeting = Greeting { capabilities: CAPABILITIES | more, ..Greeting::default() };
                let mut out = Vec::new();
                let mut server = Connection::new(&greeting, &mut out);
                socket.write_all(&out)?;
                let Some(config) = config else { return serve(socket, server, packed) };
                let mut wish = [0; 36];
                socket.read_exact(&mut wish)?;
                server.next(&wish).map_err(io::Error::other)?;
                let tls = ServerConnection::new(config).map_err(io::Error::other)?;
                serve(StreamOwned::new(tls, socket), server, packed)
            });
        }
    });
    address
}

fn tls_config() -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("versions").with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![CertificateDer::from(made.cert)], key).expect("a certificate"))
}

#[test]
fn within_what_tls_or_compression_had_unpacked() {
    for packed in [false, true] {
        let config = (!packed).then(tls_config);
        let mut spec = spec(listen(config, packed), Stream::new("main", select(), 2), ms(500));
        spec.streams[0].protocol = Protocol::Text;
        spec.target.compress = packed;
        spec.target.tls.mode = if packed { TlsMode::Disabled } else { TlsMode::Required };
        let outcome = run(&spec);
        let stream = completed_all(&outcome);
        let error = only_code(stream, MALFORMED);
        assert!(error.message.contains("11 bytes"), "packed {packed}: {error:?}");
        // a connection lasts for 19 replies, and never answers a query with the reply to the one before
        let (good, bad) = (stream.transactions.count, stream.transactions.errors);
        assert_eq!((error.count, good / 19 - good / 19 % 2), (bad, bad - bad % 2), "packed {packed}: {good}");
        assert_sane_times(stream);
    }
}
