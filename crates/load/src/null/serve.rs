//! The null server's thread: one epoll over its listener and its connections.

use super::{
    play::{Answer, Asked, Flood, Rest, Scenario, Then, Welcome, column, is_query, put},
    remote::{Command, Remote},
};
use crate::transport::{Received, Transport};
use rustix::{
    event::{PollFd, PollFlags, Timespec, epoll, poll},
    fd::{AsFd as _, OwnedFd},
    io::Errno,
    net::sockopt::set_socket_linger,
};
use std::{
    collections::BTreeMap,
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};
use wire::server::{Connection, Encoder, Finish, Greeting, Request};

const EVENTS_AT_ONCE: usize = 256;
const INPUT_BYTES: usize = 64 * 1024;
/// Of a large result, made at once.
const FLOOD_BYTES: usize = 256 * 1024;
/// How often it is tried to have the port again.
const RETURN_RETRY: Duration = Duration::from_millis(5);
const LISTENER: u64 = u64::MAX;
const WAKE: u64 = u64::MAX - 1;
/// A statement id says what the statement yields and how many parameters it has: lowest bit, and the bits
/// above it.
const YIELDS_ROWS: u32 = 1;

/// Everything that the thread owns.
pub(super) struct Loop {
    /// `None` while it is away.
    listener: Option<TcpListener>,
    address: SocketAddr,
    remote: Arc<Remote>,
    poll: OwnedFd,
    desk: Desk,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    out: Vec<u8>,
}

/// What gives the answers.
struct Desk {
    scenario: Box<dyn Scenario>,
    remote: Arc<Remote>,
    /// Answers that wait for their time, in its order; the second number keeps equal times apart.
    due: BTreeMap<(Instant, u64), Due>,
    deferred: u64,
}

struct Client {
    /// Its number in the order of acceptance.
    number: u64,
    transport: Transport,
    connection: Connection,
    pending: Vec<u8>,
    flood: Option<Flood>,
    /// Nothing that it says is answered any more.
    ignored: bool,
    /// What follows the answer to its login.
    surplus: Vec<u8>,
}

struct Due {
    index: usize,
    number: u64,
    binary: bool,
    answer: Answer,
}

impl Loop {
    pub(super) fn new(
        listener: TcpListener,
        remote: Arc<Remote>,
        scenario: Box<dyn Scenario>,
    ) -> io::Result<Self> {
        let mut server = Self {
            address: listener.local_addr()?,
            listener: None,
            remote: Arc::clone(&remote),
            poll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            desk: Desk { scenario, remote, due: BTreeMap::new(), deferred: 0 },
            clients: Vec::new(),
            free: Vec::new(),
            out: Vec::with_capacity(INPUT_BYTES),
        };
        let wake = epoll::EventData::new_u64(WAKE);
        epoll::add(&server.poll, &server.remote.wake, wake, epoll::EventFlags::IN)?;
        server.listen(listener)?;
        Ok(server)
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let token = epoll::EventData::new_u64(LISTENER);
        epoll::add(&self.poll, &listener, token, epoll::EventFlags::IN)?;
        self.listener = Some(listener);
        Ok(())
    }

    pub(super) fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        let mut input = vec![0; INPUT_BYTES];
        loop {
            events.clear();
            let wait = self.answer_due();
            match epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), wait.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    WAKE => {
                        if !self.obey()? {
                            return Ok(());
                        }
                    }
                    LISTENER => self.accept(),
                    index => {
                        let index = index as usize;
                        if let Err(then) = self.serve(index, &mut input) {
                            self.end(index, then);
                        }
                    }
                }
            }
        }
    }

    /// Does what it was told; false: to end.
    fn obey(&mut self) -> io::Result<bool> {
        self.acknowledge();
        while let Some(command) = self.remote.next() {
            let goes_on = match command {
                Command::End => false,
                Command::Stall(time) => self.pause(time)?,
                Command::Cut => {
                    self.reset_all();
                    true
                }
                Command::Leave(time) => {
                    self.listener = None;
                    self.reset_all();
                    self.pause(time)? && self.come_back()?
                }
                Command::Accept(on) => {
                    if let Some(listener) = &self.listener {
                        let flags = if on { epoll::EventFlags::IN } else { epoll::EventFlags::empty() };
                        epoll::modify(&self.poll, listener, epoll::EventData::new_u64(LISTENER), flags)?;
                    }
                    true
                }
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn acknowledge(&self) {
        // nothing to read means that it was read for an earlier command
        let _ = rustix::io::read(&self.remote.wake, &mut [0u8; 8]);
    }

    /// Does nothing for a time; false: to end.
    fn pause(&self, time: Duration) -> io::Result<bool> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(true);
            }
            let mut watched = [PollFd::new(&self.remote.wake, PollFlags::IN)];
            match poll(&mut watched, Some(&timespec(left))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.acknowledge();
            if self.remote.is_to_end() {
                return Ok(false);
            }
        }
    }

    /// Listens again on the port that it had; false: to end.
    fn come_back(&mut self) -> io::Result<bool> {
        loop {
            // a client that tries to connect may hold the port itself for a moment
            match TcpListener::bind(self.address) {
                Ok(listener) => {
                    self.listen(listener)?;
                    return Ok(true);
                }
                Err(_) if self.remote.is_to_end() => return Ok(false),
                Err(_) => thread::sleep(RETURN_RETRY),
            }
        }
    }

    fn reset_all(&mut self) {
        for index in 0..self.clients.len() {
            if self.clients[index].is_some() {
                self.end(index, Then::Reset);
            }
        }
        self.desk.due.clear();
    }

    fn end(&mut self, index: usize, then: Then) {
        let Some(client) = &mut self.clients[index] else { return };
        match then {
            Then::Silence => {
                client.ignored = true;
                return;
            }
            Then::Close => {}
            Then::Reset => {
                // a socket that is closed with this does not say goodbye; one that is gone already need not
                let _ = set_socket_linger(client.transport.as_fd(), Some(Duration::ZERO));
            }
        }
        self.clients[index] = None;
        self.free.push(index);
    }

    fn accept(&mut self) {
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) {
            let number = self.remote.connections.fetch_add(1, Ordering::Relaxed);
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
                continue;
            }
            let index = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            let transport = Transport::of(stream.into());
            self.out.clear();
            let greeting =
                Greeting { thread: index as u32 + 1, version: "8.0.0-null", ..Greeting::default() };
            let connection = Connection::new(&greeting, &mut self.out);
            let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
            let token = epoll::EventData::new_u64(index as u64);
            let watched = epoll::add(&self.poll, transport.as_fd(), token, flags);
            let (pending, surplus) = (Vec::new(), Vec::new());
            let client =
                Client { number, transport, connection, pending, flood: None, ignored: false, surplus };
            let client = self.clients[index].insert(client);
            let mut then = None;
            match self.desk.scenario.welcome(number) {
                Welcome::Greeting => {}
                Welcome::NoLogin => client.ignored = true,
                Welcome::Surplus(bytes) => client.surplus = bytes,
                Welcome::Torn(bytes, next) => {
                    self.out.truncate(bytes);
                    then = Some(next);
                }
                Welcome::Raw(bytes, next) => {
                    self.out = bytes;
                    then = Some(next);
                }
            }
            if watched.is_err() || client.transport.send(&self.out).is_err() {
                then = Some(Then::Close);
            }
            if let Some(then) = then {
                self.end(index, then);
            }
        }
    }

    /// Reads and answers all that there is. The error says how the connection ends.
    fn serve(&mut self, index: usize, input: &mut [u8]) -> Result<(), Then> {
        let Some(client) = &mut self.clients[index] else { return Ok(()) };
        if client.transport.is_blocked() {
            client.transport.flush().map_err(|_| Then::Close)?;
        }
        if client.flood.is_some() {
            pour(client, &mut self.out)?;
        }
        loop {
            let count = match client.transport.receive(input) {
                Ok(Received::Bytes(count)) => count,
                Ok(Received::Later) => return Ok(()),
                Ok(Received::Closed) | Err(_) => return Err(Then::Close),
            };
            if client.ignored {
                continue;
            }
            self.out.clear();
            client.pending.extend_from_slice(&input[..count]);
            let rest = self.desk.take(index, client, &mut self.out)?;
            deliver(client, rest, &mut self.out)?;
            if count < input.len() {
                return Ok(()); // edge-triggered: a short read means that nothing is left
            }
        }
    }

    /// Gives the answers whose time has come; how long until the next one.
    #[inline]
    fn answer_due(&mut self) -> Option<Timespec> {
        loop {
            let (at, _) = self.desk.due.first_key_value()?.0;
            let left = at.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                return Some(timespec(left));
            }
            let (_, due) = self.desk.due.pop_first()?;
            let Some(client) = &mut self.clients[due.index] else { continue };
            if client.number != due.number {
                continue;
            }
            self.out.clear();
            let capabilities = client.connection.capabilities();
            let rest = put(due.answer, due.binary, capabilities, client.connection.reply(), &mut self.out);
            if let Err(then) = deliver(client, rest, &mut self.out) {
                self.end(due.index, then);
            }
        }
    }
}

impl Desk {
    /// Answers the requests that are whole, one after the other.
    #[inline]
    fn take(&mut self, index: usize, client: &mut Client, out: &mut Vec<u8>) -> Result<Rest, Then> {
        let mut at = 0;
        let mut rest = Rest::Nothing;
        while matches!(rest, Rest::Nothing) {
            let (used, request) = client.connection.next(&client.pending[at..]).map_err(|_| Then::Close)?;
            at += used;
            let Some(request) = request else { break };
            let turn = Turn::of(&request);
            let capabilities = client.connection.capabilities();
            let encoder = client.connection.reply();
            rest = match turn {
                Turn::Quit => return Err(Then::Close),
                Turn::Statement { binary, yields_rows, text } => {
                    let statement = self.remote.statements.fetch_add(1, Ordering::Relaxed);
                    let asked = if binary { Asked::Prepared { yields_rows } } else { Asked::Text(&text) };
                    let answer = self.scenario.answer(client.number, statement, asked);
                    match put(answer, binary, capabilities, encoder, out) {
                        Rest::Later(time, answer) => {
                            let due = Due { index, number: client.number, binary, answer };
                            self.deferred += 1;
                            self.due.insert((Instant::now() + time, self.deferred), due);
                            Rest::Nothing
                        }
                        rest => rest,
                    }
                }
                turn => turn.answer(encoder, out),
            };
            // the first answer is that to the login
            out.append(&mut client.surplus);
        }
        client.pending.drain(..at);
        Ok(rest)
    }
}

/// Sends what was encoded, and does the rest of the answer.
#[inline]
fn deliver(client: &mut Client, rest: Rest, out: &mut Vec<u8>) -> Result<(), Then> {
    if !out.is_empty() {
        client.transport.send(out).map_err(|_| Then::Close)?;
    }
    match rest {
        Rest::Nothing | Rest::Later(..) => Ok(()),
        Rest::End(Then::Silence) => {
            client.ignored = true;
            Ok(())
        }
        Rest::End(then) => Err(then),
        Rest::Flood(flood) => {
            client.flood = Some(flood);
            pour(client, out)
        }
    }
}

/// Sends as much of a large result as the client takes.
fn pour(client: &mut Client, out: &mut Vec<u8>) -> Result<(), Then> {
    while let Some(flood) = &mut client.flood {
        if client.transport.is_blocked() {
            return Ok(());
        }
        out.clear();
        flood.fill(out, FLOOD_BYTES);
        let ending = flood.ending();
        client.transport.send(out).map_err(|_| Then::Close)?;
        if let Some(rest) = ending {
            client.flood = None;
            out.clear();
            return deliver(client, rest, out);
        }
    }
    Ok(())
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// What a request needs, free of the connection that it borrows from.
enum Turn {
    Ok,
    NoReply,
    Prepare { id: u32 },
    Statement { binary: bool, yields_rows: bool, text: Vec<u8> },
    SetOption,
    Unknown,
    Quit,
}

impl Turn {
    fn of(request: &Request<'_>) -> Self {
        match request {
            Request::Query(sql) => {
                Self::Statement { binary: false, yields_rows: is_query(sql), text: sql.to_vec() }
            }
            Request::Execute(execute) => {
                let yields_rows = execute.statement & YIELDS_ROWS != 0;
                Self::Statement { binary: true, yields_rows, text: Vec::new() }
            }
            Request::Prepare(sql) => {
                let parameters = sql.iter().filter(|&&byte| byte == b'?').count() as u32;
                Self::Prepare { id: parameters << 1 | u32::from(is_query(sql)) }
            }
            Request::LongData { .. } | Request::Close(_) => Self::NoReply,
            Request::Quit => Self::Quit,
            Request::SetOption(_) => Self::SetOption,
            Request::Statistics | Request::Other(_) => Self::Unknown,
            _ => Self::Ok,
        }
    }

    /// Encodes the answer to what is no statement.
    fn answer(self, encoder: &mut Encoder, out: &mut Vec<u8>) -> Rest {
        match self {
            Self::NoReply | Self::Quit | Self::Statement { .. } => {}
            Self::Ok => encoder.ok(out, &Finish::default()),
            Self::SetOption => encoder.eof(out, &Finish::default()),
            Self::Unknown => encoder.error(out, 1047, b"08S01", "Unknown command"),
            Self::Prepare { id } => {
                let parameters = vec![column(); (id >> 1) as usize];
                let columns = if id & YIELDS_ROWS != 0 { vec![column()] } else { Vec::new() };
                encoder.prepared(out, id, &parameters, &columns);
            }
        }
        Rest::Nothing
    }
}
