//! A server without a database: it speaks the protocol and answers at once. What an engine reaches against it is the
//! engine's own limit. In tests it plays whatever a real server cannot be made to do: fail, stall, vanish, talk nonsense.

use crate::transport::{Received, Transport};
use rustix::{
    event::{EventfdFlags, epoll, eventfd},
    fd::{AsFd as _, OwnedFd},
};
use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};
use wire::{
    ColumnKind, Value,
    constants::{column_type, status},
    server::{ColumnDefinition, Connection, Encoder, Finish, Greeting, Request},
};

/// The row that every SELECT yields: as long as the column `c` of sysbench's tables.
pub const ROW: &str = "00000000000-11111111111-22222222222-33333333333-44444444444-55555555555-66666666666-77777777777-88888888888-99999999999";
const COLUMN: &str = "c";
const EVENTS_AT_ONCE: usize = 256;
const INPUT_BYTES: usize = 64 * 1024;
const LISTENER: u64 = u64::MAX;
const WAKE: u64 = u64::MAX - 1;
/// Statement ids tell what the statement yields and how many parameters it has: lowest bit, and the bits above it.
const YIELDS_ROWS: u32 = 1;

/// What a server answers to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// One row with one column.
    Row,
    /// No rows.
    Done {
        /// Affected rows.
        affected: u64,
        /// Whether a transaction is open afterwards.
        in_transaction: bool,
    },
    /// An empty result with one column.
    NoRow,
    /// An error.
    Error(u16, [u8; 5], String),
    /// Nothing at all, ever.
    Silence,
    /// The connection is closed.
    Close,
    /// These bytes, whatever they mean.
    Raw(Vec<u8>),
}

/// What is asked for a statement that is executed: its text where it came as text, its id where it was prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// A text query.
    Text(&'a [u8]),
    /// A prepared statement; whether its text begins with SELECT.
    Prepared {
        /// Whether rows are expected.
        yields_rows: bool,
    },
}

/// Decides what is answered to the `n`-th statement (from 0) that the server sees.
pub type Script = dyn FnMut(u64, Asked<'_>) -> Answer + Send;

/// A running null server; ends when dropped.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    wake: Arc<OwnedFd>,
    statements: Arc<AtomicU64>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl NullServer {
    /// Answers every SELECT (and SHOW) with one row and everything else with OK, on this port of 127.0.0.1; 0: a free one.
    ///
    /// # Errors
    /// If the port cannot be had or the thread not started.
    pub fn start(port: u16) -> io::Result<Self> {
        Self::with_script(port, Box::new(|_, asked| plain(asked)))
    }

    /// Answers as the script says.
    ///
    /// # Errors
    /// If the port cannot be had or the thread not started.
    pub fn with_script(port: u16, script: Box<Script>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let statements = Arc::new(AtomicU64::new(0));
        let mut server = Loop {
            listener,
            wake: Arc::clone(&wake),
            poll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            script,
            statements: Arc::clone(&statements),
            clients: Vec::new(),
            free: Vec::new(),
            out: Vec::with_capacity(INPUT_BYTES),
        };
        let thread = thread::Builder::new().name("null-server".to_owned()).spawn(move || server.run())?;
        Ok(Self { address, wake, statements, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Statements that it has answered so far.
    #[must_use]
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    /// What ended it.
    pub fn join(mut self) -> io::Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the null server's thread panicked")),
            None => Ok(()),
        }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // the counter of an eventfd that is written once cannot be full
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // a script that panics has failed its test already
            let _ = thread.join();
        }
    }
}

/// What a plain null server answers.
#[must_use]
pub fn plain(asked: Asked<'_>) -> Answer {
    let yields_rows = match asked {
        Asked::Text(sql) => is_query(sql),
        Asked::Prepared { yields_rows } => yields_rows,
    };
    if yields_rows { Answer::Row } else { Answer::Done { affected: 1, in_transaction: false } }
}

fn is_query(sql: &[u8]) -> bool {
    let sql = sql.trim_ascii_start();
    [&b"SELECT"[..], b"SHOW"]
        .iter()
        .any(|word| sql.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word)))
}

struct Client {
    transport: Transport,
    connection: Connection,
    pending: Vec<u8>,
}

struct Loop {
    listener: TcpListener,
    wake: Arc<OwnedFd>,
    poll: OwnedFd,
    script: Box<Script>,
    statements: Arc<AtomicU64>,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    out: Vec<u8>,
}

impl Loop {
    fn run(&mut self) -> io::Result<()> {
        epoll::add(&self.poll, &self.listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        epoll::add(&self.poll, &*self.wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        let mut input = vec![0; INPUT_BYTES];
        loop {
            events.clear();
            match epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    WAKE => return Ok(()),
                    LISTENER => self.accept(),
                    index => {
                        let index = index as usize;
                        if !self.serve(index, &mut input) {
                            self.clients[index] = None;
                            self.free.push(index);
                        }
                    }
                }
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
                continue;
            }
            let index = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            let mut transport = Transport::of(stream.into());
            self.out.clear();
            let greeting =
                Greeting { thread: index as u32 + 1, version: "8.0.0-null", ..Greeting::default() };
            let connection = Connection::new(&greeting, &mut self.out);
            let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
            let token = epoll::EventData::new_u64(index as u64);
            let watched = epoll::add(&self.poll, transport.as_fd(), token, flags);
            if watched.is_ok() && transport.send(&self.out).is_ok() {
                self.clients[index] = Some(Client { transport, connection, pending: Vec::new() });
            } else {
                self.free.push(index);
            }
        }
    }

    /// Reads and answers all that there is; false: the connection is over.
    fn serve(&mut self, index: usize, input: &mut [u8]) -> bool {
        let Some(client) = &mut self.clients[index] else { return true };
        if client.transport.is_blocked() && client.transport.flush().is_err() {
            return false;
        }
        loop {
            let count = match client.transport.receive(input) {
                Ok(Received::Bytes(count)) => count,
                Ok(Received::Later) => return true,
                Ok(Received::Closed) | Err(_) => return false,
            };
            self.out.clear();
            client.pending.extend_from_slice(&input[..count]);
            let mut at = 0;
            loop {
                let Ok((used, request)) = client.connection.next(&client.pending[at..]) else { return false };
                at += used;
                let Some(request) = request else { break };
                if matches!(request, Request::Quit) {
                    return false;
                }
                let turn = Turn::of(&request);
                if !turn.answer(client.connection.reply(), &mut self.script, &self.statements, &mut self.out)
                {
                    return false;
                }
            }
            client.pending.drain(..at);
            if !self.out.is_empty() && client.transport.send(&self.out).is_err() {
                return false;
            }
            if count < input.len() {
                return true; // edge-triggered: a short read means that nothing is left
            }
        }
    }
}

/// What a request needs, free of the connection that it borrows from.
enum Turn {
    Ok,
    NoReply,
    Prepare { id: u32 },
    Statement { answer_binary: bool, yields_rows: bool, text: Vec<u8> },
    SetOption,
    Unknown,
}

impl Turn {
    fn of(request: &Request<'_>) -> Self {
        match request {
            Request::Query(sql) => {
                Self::Statement { answer_binary: false, yields_rows: is_query(sql), text: sql.to_vec() }
            }
            Request::Execute(execute) => {
                let yields_rows = execute.statement & YIELDS_ROWS != 0;
                Self::Statement { answer_binary: true, yields_rows, text: Vec::new() }
            }
            Request::Prepare(sql) => {
                let parameters = sql.iter().filter(|&&byte| byte == b'?').count() as u32;
                Self::Prepare { id: parameters << 1 | u32::from(is_query(sql)) }
            }
            Request::LongData { .. } | Request::Close(_) | Request::Quit => Self::NoReply,
            Request::SetOption(_) => Self::SetOption,
            Request::Statistics | Request::Other(_) => Self::Unknown,
            _ => Self::Ok,
        }
    }

    /// Encodes the answer; false: the connection is to be closed.
    fn answer(
        self,
        encoder: &mut Encoder,
        script: &mut Script,
        statements: &AtomicU64,
        out: &mut Vec<u8>,
    ) -> bool {
        match self {
            Self::NoReply => {}
            Self::Ok => encoder.ok(out, &Finish::default()),
            Self::SetOption => encoder.eof(out, &Finish::default()),
            Self::Unknown => encoder.error(out, 1047, b"08S01", "Unknown command"),
            Self::Prepare { id } => {
                let parameters = vec![column(); (id >> 1) as usize];
                let columns = if id & YIELDS_ROWS != 0 { vec![column()] } else { Vec::new() };
                encoder.prepared(out, id, &parameters, &columns);
            }
            Self::Statement { answer_binary, yields_rows, text } => {
                let number = statements.fetch_add(1, Ordering::Relaxed);
                let asked = if answer_binary { Asked::Prepared { yields_rows } } else { Asked::Text(&text) };
                return put(script(number, asked), answer_binary, encoder, out);
            }
        }
        true
    }
}

fn put(answer: Answer, binary: bool, encoder: &mut Encoder, out: &mut Vec<u8>) -> bool {
    match answer {
        Answer::Row => {
            encoder.columns(out, &[column()]);
            if binary {
                encoder.binary_row(out, &[Value::Bytes(ROW.as_bytes())]);
            } else {
                encoder.text_row(out, &[Some(ROW.as_bytes())]);
            }
            encoder.end_rows(out, &Finish::default());
        }
        Answer::NoRow => {
            encoder.columns(out, &[column()]);
            encoder.end_rows(out, &Finish::default());
        }
        Answer::Done { affected, in_transaction } => {
            let open = if in_transaction { status::IN_TRANSACTION } else { 0 };
            encoder.ok(out, &Finish { affected, status: status::AUTOCOMMIT | open, ..Finish::default() });
        }
        Answer::Error(code, state, message) => encoder.error(out, code, &state, &message),
        Answer::Silence => {}
        Answer::Close => return false,
        Answer::Raw(bytes) => out.extend_from_slice(&bytes),
    }
    true
}

fn column() -> ColumnDefinition<'static> {
    ColumnDefinition { name: COLUMN, kind: ColumnKind { code: column_type::VAR_STRING, unsigned: false } }
}
