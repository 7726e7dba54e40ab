//! What the server's side encodes the client's side reads, however the stream is torn; what the client's side
//! encodes the server's side reads.

use proptest::prelude::*;
use std::sync::Arc;
use wire::{
    ColumnKind, Date, DateTime, Error, Time, Value,
    client::{
        Column, Handshake, Options, Prepared, Progress, Reply, Row, Session, Sink, Statement, Step,
        Transport, Trust,
    },
    constants::{capability, column_type, status},
    server::{CAPABILITIES, ColumnDefinition, Connection, Finish, Greeting, Request},
};

/// What `mysql_native_password` makes of the password `secret` and [`Greeting::default`]'s nonce, by Python's
/// hashlib: `sha1(password) ^ sha1(nonce + sha1(sha1(password)))`.
const NATIVE_OF_SECRET: [u8; 20] = [
    0x7a, 0xbe, 0x1a, 0x87, 0x76, 0xb5, 0x9e, 0x93, 0x10, 0x59, 0x45, 0x1f, 0x81, 0xe5, 0x96, 0xa6, 0x0d,
    0xbb, 0xf7, 0xa8,
];

/// A value that owns its bytes.
#[derive(Debug, Clone, PartialEq)]
enum Owned {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    Date(Date),
    DateTime(DateTime),
    Time(Time),
}

impl Owned {
    fn borrow(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(value) => Value::Int(*value),
            Self::UInt(value) => Value::UInt(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Double(value) => Value::Double(*value),
            Self::Bytes(value) => Value::Bytes(value),
            Self::Date(value) => Value::Date(*value),
            Self::DateTime(value) => Value::DateTime(*value),
            Self::Time(value) => Value::Time(*value),
        }
    }

    fn kind(&self) -> ColumnKind {
        let code = match self {
            Self::Null => column_type::VAR_STRING,
            Self::Int(_) | Self::UInt(_) => column_type::LONGLONG,
            Self::Float(_) => column_type::FLOAT,
            Self::Double(_) => column_type::DOUBLE,
            Self::Bytes(_) => column_type::VAR_STRING,
            Self::Date(_) => column_type::DATE,
            Self::DateTime(_) => column_type::DATETIME,
            Self::Time(_) => column_type::TIME,
        };
        ColumnKind { code, unsigned: matches!(self, Self::UInt(_)) }
    }

    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(value) => Self::Int(value),
            Value::UInt(value) => Self::UInt(value),
            Value::Float(value) => Self::Float(value),
            Value::Double(value) => Self::Double(value),
            Value::Bytes(value) => Self::Bytes(value.into()),
            Value::Date(value) => Self::Date(value),
            Value::DateTime(value) => Self::DateTime(value),
            Value::Time(value) => Self::Time(value),
        }
    }
}

fn date() -> impl Strategy<Value = Date> {
    (0..10_000_u16, 0..13_u8, 0..32_u8).prop_map(|(year, month, day)| Date { year, month, day })
}

fn moment() -> impl Strategy<Value = DateTime> {
    let clock = prop_oneof![
        Just((0, 0, 0, 0)),
        (0..24_u8, 0..60_u8, 0..60_u8, prop_oneof![Just(0), 0..1_000_000_u32])
    ];
    (date(), clock).prop_map(|(date, (hour, minute, second, microsecond))| DateTime {
        date,
        hour,
        minute,
        second,
        microsecond,
    })
}

fn time() -> impl Strategy<Value = Time> {
    let parts =
        (any::<bool>(), 0..35_u32, 0..24_u8, 0..60_u8, 0..60_u8, prop_oneof![Just(0), 0..1_000_000_u32]);
    parts.prop_map(|(negative, days, hours, minutes, seconds, microseconds)| {
        // A zero has no sign on the wire.
        let zero = (days, hours, minutes, seconds, microseconds) == (0, 0, 0, 0, 0);
        Time { negative: negative && !zero, days, hours, minutes, seconds, microseconds }
    })
}

fn value() -> impl Strategy<Value = Owned> {
    prop_oneof![
        Just(Owned::Null),
        any::<i64>().prop_map(Owned::Int),
        any::<u64>().prop_map(Owned::UInt),
        any::<f32>().prop_filter("comparable", |value| !value.is_nan()).prop_map(Owned::Float),
        any::<f64>().prop_filter("comparable", |value| !value.is_nan()).prop_map(Owned::Double),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Owned::Bytes),
        date().prop_map(Owned::Date),
        moment().prop_map(Owned::DateTime),
        time().prop_map(Owned::Time),
    ]
}

/// One result of a reply.
#[derive(Debug, Clone)]
enum Part {
    Ok(u64, u64, u16),
    Rows(Vec<Vec<Owned>>),
    Failed(u16),
}

fn part() -> impl Strategy<Value = Part> {
    let rows = (1..6_usize).prop_flat_map(|width| {
        prop::collection::vec(value(), width).prop_flat_map(|first| {
            // Every row has the kinds of the first.
            let cells: Vec<_> = first.iter().map(|model| cell(model.clone())).collect();
            prop::collection::vec(cells, 0..6)
        })
    });
    prop_oneof![
        (any::<u64>().prop_map(|n| n >> 8), any::<u32>(), any::<u16>()).prop_map(|(a, b, c)| Part::Ok(
            a,
            b.into(),
            c
        )),
        rows.prop_map(Part::Rows),
    ]
}

fn cell(model: Owned) -> BoxedStrategy<Owned> {
    let kind = model.kind();
    let same = value().prop_filter("the column's kind", move |value| value.kind() == kind);
    prop_oneof![1 => Just(Owned::Null), 3 => Just(model), 1 => same].boxed()
}

fn log_in(capabilities: u64, compress: bool) -> (Box<Session>, Connection) {
    let mut from_server = Vec::new();
    let mut from_client = Vec::new();
    let mut server = Connection::new(&Greeting { capabilities, ..Greeting::default() }, &mut from_server);
    let options = Options {
        user: "somebody".into(),
        password: "secret".into(),
        database: Some("schema".into()),
        attributes: vec![("program_name".into(), "test".into())],
        compress,
        local_infile: true,
        multi_statements: true,
        ..Options::default()
    };
    let mut handshake = Handshake::new(Arc::new(options), Transport::Tcp);
    for end in 0..from_server.len() {
        assert!(matches!(handshake.advance(&from_server[..end], &mut from_client), Ok((0, Step::NeedMore))));
    }
    assert_eq!(handshake.advance(&from_server, &mut from_client).expect("greeting").0, from_server.len());
    let (used, request) = server.next(&from_client).expect("login");
    assert_eq!(used, from_client.len());
    let Some(Request::Login(login)) = request else { panic!("{request:?}") };
    assert_eq!((login.user, login.database), (&b"somebody"[..], Some(&b"schema"[..])));
    assert_eq!(login.attributes().collect::<Vec<_>>(), [(&b"program_name"[..], &b"test"[..])]);
    assert_eq!(login.response, NATIVE_OF_SECRET);
    from_server.clear();
    server.reply().ok(&mut from_server, &Finish::default());
    match handshake.advance(&from_server, &mut from_client) {
        Ok((_, Step::Ready(session))) => (session, server),
        other => panic!("{other:?}"),
    }
}

/// Keeps everything.
#[derive(Debug, Default, PartialEq)]
struct Everything {
    columns: Vec<String>,
    rows: Vec<Vec<Owned>>,
    ends: u32,
}

impl Sink for Everything {
    fn wants_columns(&self) -> bool {
        true
    }
    fn wants_rows(&self) -> bool {
        true
    }
    fn column(&mut self, column: &Column<'_>) {
        self.columns.push(String::from_utf8_lossy(column.name).into_owned());
    }
    fn row(&mut self, row: &Row<'_>) -> Result<(), Error> {
        self.rows.push(row.values().map(|value| value.map(Owned::from)).collect::<Result<_, _>>()?);
        Ok(())
    }
    fn end(&mut self, _: &Reply) {
        self.ends += 1;
    }
}

/// Gives `bytes` in the stated pieces, keeping what is left like a caller's buffer.
fn receive<S: Sink>(session: &mut Session, bytes: &[u8], cuts: &[usize], sink: &mut S) -> Reply {
    let (mut start, mut end) = (0, 0_usize);
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        end = cut.clamp(end, bytes.len());
        let (used, progress) = session.receive_with(&bytes[start..end], sink).expect("a sound reply");
        start += used;
        match progress {
            Progress::NeedMore => assert!(end < bytes.len(), "the reply ends with its last byte"),
            Progress::Done(reply) => {
                assert_eq!((start, end), (bytes.len(), bytes.len()), "the reply ended early");
                return reply;
            }
            Progress::LocalInfile { .. } => panic!("nobody asked for a file"),
        }
    }
    panic!("the reply did not end")
}

fn encode(server: &mut Connection, parts: &[Part], binary: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let more = if index + 1 < parts.len() { status::MORE_RESULTS } else { 0 };
        let finish = Finish { status: more | status::AUTOCOMMIT, ..Finish::default() };
        let reply = server.reply();
        match part {
            Part::Failed(code) => reply.error(&mut out, *code, b"42S02", "words"),
            Part::Ok(affected, last_insert_id, warnings) => {
                let (affected, last_insert_id, warnings) = (*affected, *last_insert_id, *warnings);
                reply.ok(&mut out, &Finish { affected, last_insert_id, warnings, ..finish });
            }
            Part::Rows(rows) => {
                let width = rows.first().map_or(1, Vec::len);
                let kind = |column: usize| {
                    let cells = rows.iter().map(|row| &row[column]);
                    cells.filter(|cell| **cell != Owned::Null).map(Owned::kind).next()
                };
                let text = ColumnKind { code: column_type::VAR_STRING, unsigned: false };
                let columns: Vec<_> = (0..width)
                    .map(|column| ColumnDefinition { name: "c", kind: kind(column).unwrap_or(text) })
                    .collect();
                reply.columns(&mut out, &columns);
                for row in rows {
                    if binary {
                        reply.binary_row(&mut out, &row.iter().map(Owned::borrow).collect::<Vec<_>>());
                    } else {
                        let cells: Vec<_> = row.iter().map(text_of).collect();
                        reply.text_row(&mut out, &cells.iter().map(Option::as_deref).collect::<Vec<_>>());
                    }
                }
                reply.end_rows(&mut out, &finish);
            }
        }
    }
    out
}

fn text_of(value: &Owned) -> Option<Vec<u8>> {
    match value {
        Owned::Null => None,
        Owned::Bytes(bytes) => Some(bytes.clone()),
        other => Some(other.borrow().to_string().into_bytes()),
    }
}

fn capabilities(deprecate_eof: bool, cached: bool) -> u64 {
    let mut flags = CAPABILITIES;
    if !deprecate_eof {
        flags &= !capability::DEPRECATE_EOF;
    }
    if cached {
        // MariaDB announces its own flags by leaving this one out.
        flags = flags & !capability::LONG_PASSWORD | capability::MARIADB_CACHE_METADATA;
    }
    flags
}

proptest! {
    #[test]
    fn a_client_reads_what_a_server_says(
        parts in prop::collection::vec(part(), 1..4),
        failed in prop::option::of(any::<u16>()),
        deprecate_eof: bool,
        cached: bool,
        binary: bool,
        mut cuts in prop::collection::vec(0..3000_usize, 0..12),
    ) {
        let mut parts = parts;
        parts.extend(failed.map(Part::Failed));
        cuts.sort_unstable();
        let (mut session, mut server) = log_in(capabilities(deprecate_eof, cached), false);
        let mut ask = |server: &mut Connection| {
            let mut out = Vec::new();
            if binary {
                let mut statement = Statement::new(Prepared { id: 7, parameters: 0, columns: 1 });
                session.execute(&mut statement, &[], &mut out).expect("idle");
            } else {
                session.query(b"SELECT", &mut out).expect("idle");
            }
            server.next(&out).expect("request").1.expect("complete");
        };
        ask(&mut server);
        let bytes = encode(&mut server, &parts, binary);
        let mut seen = Everything::default();
        let reply = receive(&mut session, &bytes, &cuts, &mut seen);

        let rows: Vec<_> = parts.iter().flat_map(|part| match part {
            Part::Rows(rows) => rows.clone(),
            _ => vec![],
        }).collect();
        prop_assert_eq!(reply.rows, rows.len() as u64);
        prop_assert_eq!(reply.results, seen.ends);
        prop_assert_eq!(reply.error.map(|error| error.code), failed);
        let affected_of = |part: &Part| if let Part::Ok(affected, ..) = part { *affected } else { 0 };
        let affected: u64 = parts.iter().map(affected_of).sum();
        prop_assert_eq!(reply.affected, affected);
        if failed.is_some() {
            prop_assert_eq!(session.message(), "words");
        }
        let expected: Vec<Vec<Owned>> = if binary { rows } else {
            let as_text = |value: &Owned| text_of(value).map_or(Owned::Null, Owned::Bytes);
            rows.iter().map(|row| row.iter().map(as_text).collect()).collect()
        };
        prop_assert_eq!(&seen.rows, &expected);

        // The same without looking at values, torn at every single place.
        for cut in 0..bytes.len() {
            let mut out = Vec::new();
            session.query(b"SELECT", &mut out).expect("idle");
            prop_assert_eq!(receive(&mut session, &bytes, &[cut], &mut ()), reply);
        }
    }

    #[test]
    fn a_server_reads_the_parameters_of_a_client(
        first in prop::collection::vec(value(), 0..20),
        second in prop::collection::vec(value(), 0..20),
    ) {
        let (mut session, mut server) = log_in(CAPABILITIES, false);
        let count = first.len().min(second.len());
        let mut statement = Statement::new(Prepared { id: 9, parameters: count as u16, columns: 0 });
        let mut kinds = Vec::new();
        // Twice the first: then the types are not told again; then others; then the first again.
        for values in [&first, &first, &second, &first] {
            let mut out = Vec::new();
            let parameters: Vec<_> = values[..count].iter().map(Owned::borrow).collect();
            session.execute(&mut statement, &parameters, &mut out).expect("idle");
            let (used, request) = server.next(&out).expect("request");
            prop_assert_eq!(used, out.len());
            let Some(Request::Execute(execute)) = request else { panic!("{request:?}") };
            prop_assert_eq!(execute.statement, 9);
            prop_assert_eq!(execute.parameters(count as u16, &mut kinds).expect("parameters"), parameters);
            out.clear();
            server.reply().ok(&mut out, &Finish::default());
            receive(&mut session, &out, &[], &mut ());
        }
    }

    #[test]
    fn a_greeting_of_any_bytes_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        wire::fuzz::client_reads(&bytes);
        wire::fuzz::server_reads(&bytes);
    }
}

#[test]
fn packets_over_16_mib_are_split_and_joined_both_ways() {
    const WHOLE: usize = wire::packet::PAYLOAD_MAX;
    let (mut session, mut server) = log_in(CAPABILITIES, false);
    // A query's payload has one byte before the text: one length below, at and above each border.
    for length in [WHOLE - 2, WHOLE - 1, WHOLE, 2 * WHOLE - 1, 2 * WHOLE + 5] {
        let text = vec![b'x'; length];
        let mut out = Vec::new();
        session.query(&text, &mut out).expect("idle");
        let (used, request) = server.next(&out).expect("request");
        assert_eq!(used, out.len());
        assert_eq!(request, Some(Request::Query(&text)));

        out.clear();
        let kind = ColumnKind { code: column_type::BLOB, unsigned: false };
        server.reply().columns(&mut out, &[ColumnDefinition { name: "c", kind }]);
        server.reply().text_row(&mut out, &[Some(&text)]);
        server.reply().text_row(&mut out, &[None]);
        server.reply().end_rows(&mut out, &Finish::default());
        // Nobody looks: a caller with a small buffer gets by.
        let mut start = 0;
        let reply = loop {
            let end = out.len().min(start + wire::client::BUFFER_MIN);
            let (used, progress) = session.receive(&out[start..end]).expect("sound");
            start += used;
            assert!(used > 0, "a full buffer always goes on");
            if let Progress::Done(reply) = progress {
                break reply;
            }
        };
        assert_eq!((start, reply.rows), (out.len(), 2));
        // Somebody looks.
        let mut sent = Vec::new();
        session.query(&text, &mut sent).expect("idle");
        let mut seen = Everything::default();
        receive(&mut session, &out, &[1000, WHOLE, WHOLE + 100], &mut seen);
        assert!(seen.rows == [vec![Owned::Bytes(text)], vec![Owned::Null]]);
    }
}

/// Wants the first row, if it is short.
#[derive(Default)]
struct FirstIfShort(u32);

impl Sink for FirstIfShort {
    fn wants_columns(&self) -> bool {
        false
    }
    fn wants_rows(&self) -> bool {
        self.0 == 0
    }
    fn row_bytes_max(&self) -> usize {
        1000
    }
    fn column(&mut self, _: &Column<'_>) {}
    fn row(&mut self, row: &Row<'_>) -> Result<(), Error> {
        self.0 += 1;
        row.values().try_for_each(|value| value.map(drop))
    }
    fn end(&mut self, _: &Reply) {}
}

#[test]
fn a_row_that_is_longer_than_wanted_is_refused_however_it_comes_but_may_go_by() {
    let kind = ColumnKind { code: column_type::BLOB, unsigned: false };
    let reply = |lengths: [usize; 2]| {
        let (mut session, mut server) = log_in(CAPABILITIES, false);
        let mut out = Vec::new();
        session.query(b"x", &mut out).expect("idle");
        server.next(&out).expect("request");
        out.clear();
        server.reply().columns(&mut out, &[ColumnDefinition { name: "c", kind }]);
        for length in lengths {
            server.reply().text_row(&mut out, &[Some(&vec![b'x'; length])]);
        }
        server.reply().end_rows(&mut out, &Finish::default());
        (session, out)
    };
    for step in [usize::MAX, 5000, 100] {
        let (mut session, out) = reply([900, 100_000]);
        let mut sink = FirstIfShort::default();
        let cuts: Vec<usize> = (step..out.len()).step_by(step).collect();
        assert_eq!(receive(&mut session, &out, &cuts, &mut sink).rows, 2);
        assert_eq!(sink.0, 1);

        let (mut session, out) = reply([5000, 1]);
        let (mut start, mut end) = (0, 0_usize);
        let error = loop {
            assert!(end < out.len(), "the reply was taken");
            end = end.saturating_add(step).min(out.len());
            match session.receive_with(&out[start..end], &mut FirstIfShort::default()) {
                Ok((used, _)) => start += used,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::TooLarge { limit: 1000, .. }), "{error}");
    }
}

#[test]
fn a_wrong_packet_number_is_an_error() {
    let (mut session, mut server) = log_in(CAPABILITIES, false);
    let mut out = Vec::new();
    session.ping(&mut out).expect("idle");
    assert!(session.ping(&mut out).is_err(), "a second command before the reply");
    server.next(&out).expect("ping").1.expect("complete");
    out.clear();
    server.reply().ok(&mut out, &Finish::default());
    out[3] = 2;
    assert_eq!(session.receive(&out), Err(Error::Sequence { expected: 1, seen: 2 }));
}

#[test]
fn only_the_announced_file_is_sent() {
    let (mut session, mut server) = log_in(CAPABILITIES, false);
    for (announced, asked) in [(Some("mine"), "mine"), (Some("mine"), "/etc/shadow"), (None, "mine")] {
        let (mut out, mut back) = (Vec::new(), Vec::new());
        match announced {
            Some(name) => session.query_with_local_file(b"LOAD", name, &mut out),
            None => session.query(b"SELECT 1", &mut out),
        }
        .expect("idle");
        server.next(&out).expect("query").1.expect("complete");
        server.reply().local_file(&mut back, asked);
        let allowed = announced == Some(asked);
        let (_, progress) = session.receive(&back).expect("request for a file");
        assert_eq!(progress, Progress::LocalInfile { announced: allowed });
        out.clear();
        assert_eq!(session.local_data(b"1,2\n", &mut out).is_ok(), allowed);
        session.local_end(&mut out).expect("always allowed");
        let mut taken = Vec::new();
        let mut at = 0;
        loop {
            let (used, data) = server.next_data(&out[at..]).expect("data");
            at += used;
            match data.expect("complete") {
                [] => break,
                data => taken.extend_from_slice(data),
            }
        }
        assert_eq!(taken, if allowed { &b"1,2\n"[..] } else { b"" });
        back.clear();
        server.reply().ok(&mut back, &Finish { affected: 1, ..Finish::default() });
        match session.receive(&back) {
            Ok((_, Progress::Done(reply))) => assert!(allowed && reply.affected == 1),
            Err(Error::LocalFileRefused { asked: seen }) => assert!(!allowed && seen == asked),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn known_columns_are_not_sent_again_and_rows_still_read() {
    let (mut session, mut server) = log_in(capabilities(true, true), false);
    let column =
        ColumnDefinition { name: "c", kind: ColumnKind { code: column_type::LONGLONG, unsigned: false } };
    let (mut out, mut back) = (Vec::new(), Vec::new());
    session.prepare(b"SELECT ?", &mut out).expect("idle");
    server.next(&out).expect("prepare").1.expect("complete");
    server.reply().prepared(&mut back, 3, &[column], &[column]);
    let prepared = receive(&mut session, &back, &[30], &mut ()).prepared.expect("prepared");
    assert_eq!(prepared, Prepared { id: 3, parameters: 1, columns: 1 });
    let mut statement = Statement::new(prepared);
    for number in [5, -6] {
        out.clear();
        back.clear();
        session.execute(&mut statement, &[Value::Int(number)], &mut out).expect("idle");
        server.next(&out).expect("execute").1.expect("complete");
        // one column, and no definitions of it
        server.reply().packet(&mut back, |out| out.extend_from_slice(&[1, 0]));
        server.reply().binary_row(&mut back, &[Value::Int(number)]);
        server.reply().end_rows(&mut back, &Finish::default());
        let mut seen = Everything::default();
        receive(&mut session, &back, &[], &mut seen);
        assert_eq!(seen.rows, [[Owned::Int(number)]]);
    }
}

#[test]
fn a_session_is_small() {
    // 10,000 of them, with what a statement's columns need, must leave most of 80 MB to buffers.
    let size = std::mem::size_of::<Session>();
    assert!(size <= 512, "{size} bytes");
}

#[test]
fn the_execute_encoder_does_not_grow_a_buffer_with_room() {
    let (mut session, mut server) = log_in(CAPABILITIES, false);
    let mut statement = Statement::new(Prepared { id: 1, parameters: 2, columns: 1 });
    let mut out = Vec::with_capacity(256);
    let place = out.as_ptr();
    for number in 0..10 {
        out.clear();
        session
            .execute(&mut statement, &[Value::Int(number), Value::Bytes(b"text")], &mut out)
            .expect("idle");
        let mut back = Vec::new();
        server.next(&out).expect("execute").1.expect("complete");
        server.reply().ok(&mut back, &Finish::default());
        receive(&mut session, &back, &[], &mut ());
    }
    assert_eq!(out.as_ptr(), place);
}

/// A client up to its first answer to a server with this plug-in, and what the server then says to it.
fn challenge(plugin: &str, transport: Transport, payload: &[u8]) -> Result<Vec<u8>, Error> {
    challenge_of(plugin, transport, Trust::default(), payload)
}

fn challenge_of(plugin: &str, transport: Transport, trust: Trust, payload: &[u8]) -> Result<Vec<u8>, Error> {
    let (mut from_server, mut from_client) = (Vec::new(), Vec::new());
    let mut server = Connection::new(&Greeting { plugin, ..Greeting::default() }, &mut from_server);
    let options = Options { user: "somebody".into(), password: "secret".into(), trust, ..Options::default() };
    let mut handshake = Handshake::new(Arc::new(options), transport);
    handshake.advance(&from_server, &mut from_client)?;
    server.next(&from_client)?.1.expect("a login");
    from_server.clear();
    from_client.clear();
    server.reply().packet(&mut from_server, |out| out.extend_from_slice(payload));
    assert!(matches!(handshake.advance(&from_server, &mut from_client)?, (_, Step::NeedMore)));
    Ok(server.next_data(&from_client)?.1.expect("an answer").to_vec())
}

#[test]
fn a_switch_of_the_plug_in_is_followed() {
    let switch = b"\xfemysql_native_password\0ABCDEFGHIJKLMNOPQRST\0";
    for first in ["caching_sha2_password", "sha256_password", "unheard_of", "mysql_clear_password"] {
        let answer = challenge(first, Transport::Tcp, switch).expect("an answer");
        // SHA1(secret) xor SHA1(challenge, SHA1(SHA1(secret))), computed with Python's hashlib.
        let expected = [
            0x28, 0x44, 0x15, 0x90, 0x67, 0x42, 0x85, 0xe7, 0xd0, 0x3c, 0xae, 0x7a, 0xf2, 0x37, 0x50, 0x47,
            0x97, 0xf7, 0x0e, 0x91,
        ];
        assert_eq!(answer, expected, "{first}");
    }
}

#[test]
fn a_switch_to_a_plug_in_that_tells_the_password_is_refused() {
    const CLEAR: &[u8] = b"\xfemysql_clear_password\0";
    const SHA256: &[u8] = b"\xfesha256_password\0ABCDEFGHIJKLMNOPQRST\0";
    for first in ["mysql_native_password", "sha256_password", "mysql_clear_password"] {
        for transport in [Transport::Tcp, Transport::Unix] {
            let refused = challenge(first, transport, CLEAR);
            assert_eq!(refused, Err(Error::InsecurePassword("mysql_clear_password")));
        }
        assert_eq!(challenge(first, Transport::Tcp, SHA256), Err(Error::UnknownKey("sha256_password")));
    }
}

#[test]
fn full_caching_sha2_asks_for_the_key_on_tcp_if_it_may_and_sends_the_password_on_a_socket() {
    let full = b"\x01\x04";
    let refused = challenge("caching_sha2_password", Transport::Tcp, full);
    assert_eq!(refused, Err(Error::UnknownKey("caching_sha2_password")));
    let trust = Trust { ask_key: true, ..Trust::default() };
    let asked = challenge_of("caching_sha2_password", Transport::Tcp, trust, full);
    assert_eq!(asked.expect("an answer"), [2]);
    assert_eq!(challenge("caching_sha2_password", Transport::Unix, full).expect("an answer"), b"secret\0");
}

#[test]
fn passwords_of_before_4_1_and_unknown_plug_ins_are_refused_by_name() {
    for (payload, name) in
        [(&b"\xfe"[..], "mysql_old_password"), (b"\xfeauth_gssapi_client\0x", "auth_gssapi_client")]
    {
        let refused = challenge("mysql_native_password", Transport::Tcp, payload);
        assert_eq!(refused, Err(Error::Plugin(name.into())));
        assert!(refused.unwrap_err().to_string().contains(name));
    }
}
