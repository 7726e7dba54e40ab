//! What the fuzzers in `fuzz/` call. Each function attacks one side with bytes that a hostile peer might
//! send, and asserts what must hold for any of them: no panic, no more consumed than given, and the same
//! outcome however the stream is torn.

use crate::{
    ColumnKind, Error, Value,
    client::{Column, Prepared},
    client::{Handshake, Options, Progress, Reply, Row, Session, Sink, Statement, Step, Transport, Trust},
    constants::capability,
    server::{Connection, Greeting, Request},
};
use std::sync::Arc;

/// A server's bytes against a client: the first byte says what the client does, the rest is what it reads.
pub fn client_reads(data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    if choice & 1 == 0 {
        let whole = log_in(choice, bytes, usize::MAX);
        assert_eq!(whole, log_in(choice, bytes, 1), "a torn login");
    } else {
        let whole = read_reply(choice, bytes, usize::MAX);
        for step in [1, 3, 7] {
            let torn = read_reply(choice, bytes, step);
            assert_eq!(whole.0, torn.0, "a torn reply");
            assert_eq!(whole.1.rows, torn.1.rows, "rows of a torn reply");
            assert_eq!(whole.1.values, torn.1.values, "values of a torn reply");
        }
    }
}

/// A client's bytes against a server.
pub fn server_reads(data: &[u8]) {
    let whole = read_requests(data, usize::MAX);
    for step in [1, 5] {
        assert_eq!(whole, read_requests(data, step), "torn requests");
    }
}

/// Gives `bytes` to `take` in pieces of `step` bytes, keeping what it leaves. Ends at an error or when `take`
/// says so.
fn feed<T>(
    bytes: &[u8],
    step: usize,
    mut take: impl FnMut(&[u8]) -> Result<(usize, Option<T>), Error>,
) -> Option<Result<T, Error>> {
    let (mut start, mut end) = (0, 0_usize);
    loop {
        end = end.saturating_add(step).min(bytes.len());
        match take(&bytes[start..end]) {
            Err(error) => return Some(Err(error)),
            Ok((used, outcome)) => {
                assert!(used <= end - start, "more consumed than given");
                start += used;
                if let Some(outcome) = outcome {
                    return Some(Ok(outcome));
                }
            }
        }
        if end == bytes.len() {
            return None;
        }
    }
}

fn log_in(choice: u8, bytes: &[u8], step: usize) -> Option<Result<bool, Error>> {
    let options = Options {
        user: "fuzz".into(),
        password: if choice & 2 == 0 { "secret".into() } else { String::new() },
        database: Some("fuzz".into()),
        compress: choice & 4 != 0,
        trust: Trust { ask_key: choice & 16 != 0, cleartext: choice & 32 != 0, ..Trust::default() },
        ..Options::default()
    };
    let transport = if choice & 8 == 0 { Transport::Tcp } else { Transport::Unix };
    let mut handshake = Handshake::new(Arc::new(options), transport);
    let mut output = Vec::new();
    feed(bytes, step, |input| {
        let (used, step) = handshake.advance(input, &mut output)?;
        Ok((used, matches!(step, Step::Ready(_)).then_some(true)))
    })
}

/// Counts rows and keeps the text of their values.
#[derive(Default)]
struct Reader {
    wants: bool,
    rows: u64,
    values: Vec<String>,
}

impl Sink for Reader {
    fn wants_columns(&self) -> bool {
        self.wants
    }
    fn wants_rows(&self) -> bool {
        self.wants
    }
    fn column(&mut self, column: &Column<'_>) {
        self.values.push(String::from_utf8_lossy(column.name).into_owned());
    }
    fn row(&mut self, row: &Row<'_>) -> Result<(), Error> {
        self.rows += 1;
        for value in row.values() {
            self.values.push(format!("{value:?}"));
        }
        Ok(())
    }
    fn end(&mut self, _: &Reply) {}
}

fn read_reply(choice: u8, bytes: &[u8], step: usize) -> (Option<Result<Progress, Error>>, Reader) {
    let mut capabilities = crate::server::CAPABILITIES;
    if choice & 2 != 0 {
        capabilities &= !capability::DEPRECATE_EOF;
    }
    if choice & 4 != 0 {
        capabilities |= capability::COMPRESS;
    }
    if choice & 8 != 0 {
        capabilities |= capability::MARIADB_CACHE_METADATA;
    }
    let mut session = session(capabilities);
    let mut output = Vec::new();
    let sent = match choice >> 4 & 3 {
        0 => session.query(b"x", &mut output),
        1 => session.prepare(b"x", &mut output),
        2 => session.ping(&mut output),
        _ => {
            let mut statement = Statement::new(Prepared { id: 1, parameters: 0, columns: 1 });
            session.execute(&mut statement, &[], &mut output)
        }
    };
    sent.expect("a fresh session is idle");
    let mut reader = Reader { wants: choice & 0x40 != 0, ..Reader::default() };
    let outcome = feed(bytes, step, |input| {
        let (used, progress) = session.receive_with(input, &mut reader)?;
        Ok((used, (progress != Progress::NeedMore).then_some(progress)))
    });
    if let Some(Ok(Progress::Done(reply))) = &outcome {
        assert!(session.is_idle(), "a complete reply leaves the session idle");
        assert!(!reader.wants || reader.rows == reply.rows, "every row was handed out");
    }
    (outcome, reader)
}

/// A session as a login under these capabilities leaves it.
fn session(capabilities: u64) -> Session {
    let greeting =
        Greeting { capabilities: capabilities & !capability::LONG_PASSWORD, ..Greeting::default() };
    let (mut from_server, mut from_client) = (Vec::new(), Vec::new());
    let mut connection = Connection::new(&greeting, &mut from_server);
    let options =
        Options { compress: true, local_infile: true, multi_statements: true, ..Options::default() };
    let mut handshake = Handshake::new(Arc::new(options), Transport::Tcp);
    handshake.advance(&from_server, &mut from_client).expect("our own greeting");
    connection.next(&from_client).expect("our own login");
    from_server.clear();
    connection.reply().ok(&mut from_server, &Default::default());
    match handshake.advance(&from_server, &mut from_client) {
        Ok((_, Step::Ready(session))) => *session,
        other => unreachable!("our own OK ends a login, not {other:?}"),
    }
}

fn read_requests(bytes: &[u8], step: usize) -> (Vec<String>, Option<Result<(), Error>>) {
    let mut output = Vec::new();
    let mut connection = Connection::new(&Greeting::default(), &mut output);
    let mut seen = Vec::new();
    let mut kinds: Vec<ColumnKind> = Vec::new();
    let end = feed(bytes, step, |input| {
        let mut at = 0;
        // A piece may hold several requests.
        loop {
            let (used, request) = connection.next(&input[at..])?;
            at += used;
            let Some(request) = request else { return Ok((at, None)) };
            if let Request::Execute(execute) = request {
                let parameters: Result<Vec<Value<'_>>, _> = execute.parameters(3, &mut kinds);
                seen.push(format!("{parameters:?}"));
            }
            seen.push(format!("{request:?}"));
        }
    });
    (seen, end)
}
