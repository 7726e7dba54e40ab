//! Many connections on one thread for programs that decide themselves what they ask next: scripts. Each asks
//! one thing at a time and hears of it by a [`Done`]; nothing here waits for a single connection. It measures
//! nothing and draws nothing: the load engine's own connections do that.

mod link;
mod rows;
mod told;

pub use rows::Rows;
pub use told::{Done, What};

use crate::{
    client,
    io::Events,
    line::{Lines, Ticket, Waiting},
    login::Login,
    secrets::Credentials,
    spec::{Address, Target},
    tls::Connector,
    transport::Peer,
};
use link::{Link, Loss};
use rustix::{
    event::{EventfdFlags, epoll, eventfd},
    fd::{AsFd as _, OwnedFd},
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    io,
    net::{SocketAddr, TcpStream, ToSocketAddrs as _},
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};
use wire::Value;

/// Events taken from the kernel at once.
const EVENTS_AT_ONCE: usize = 128;
/// Bytes read at once.
const INPUT_BYTES: usize = 64 * 1024;
/// Connections that are being opened at the same time: below the default length of a server's queue.
const OPENING_AT_ONCE: usize = 24;
/// How long opening a connection may take.
const OPENING_MAX: Duration = Duration::from_secs(30);
/// How often what is being opened is looked through.
const SWEEP: Duration = Duration::from_millis(200);
/// Token of the descriptor by which other threads wake the hub.
const WAKE: u64 = u64::MAX;
/// Token under which sockets come back that had to wait for a full backlog.
const THROUGH: u64 = u64::MAX - 1;

/// A server and how to log in there; made once, shared by connections.
#[derive(Debug, Clone)]
pub struct Way {
    login: Arc<Login>,
    /// As messages name it.
    shown: String,
}

impl Way {
    /// Resolves the address, and reads what TLS needs. The server need not be there.
    ///
    /// # Errors
    /// An address without a server, or unreadable certificates.
    pub fn to(target: &Target) -> Result<Self, Error> {
        let failed = |reason: String| Error { address: target.address.to_string(), reason };
        let peer = match &target.address {
            Address::Unix(path) => Peer::Unix(path.clone()),
            Address::Tcp { host, port } => Peer::Tcp(address_of(host, *port).map_err(&failed)?),
        };
        let credentials = Credentials::of(target).map_err(|error| failed(error.to_string()))?;
        let tls = Connector::new(target, &credentials).map_err(|error| failed(error.to_string()))?;
        let options = client::options(target, &credentials);
        let options = Arc::new(wire::client::Options { multi_statements: true, ..options });
        let login = Arc::new(Login { peer, options, tls, sources: Vec::new() });
        Ok(Self { login, shown: target.address.to_string() })
    }
}

/// Lets this process open as many files as it may: shells often allow 1024, a connection is one.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // what it may not raise stays, and opening says so
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

/// The first address of a host that answers; where none does, the first, so that connecting there says why.
fn address_of(host: &str, port: u16) -> Result<SocketAddr, String> {
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(|error| error.to_string())?.collect();
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, OPENING_MAX).is_ok();
    let found = if addresses.len() > 1 { addresses.iter().find(answers) } else { None };
    found.or(addresses.first()).copied().ok_or_else(|| "the name has no address".to_owned())
}

/// Why there is no way to a server.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {reason}")]
pub struct Error {
    /// Where to.
    pub address: String,
    /// Why not.
    pub reason: String,
}

/// Wakes a hub from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// The hub's wait ends at once.
    pub fn wake(&self) {
        // the counter of an eventfd cannot be full after so few writes
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

/// The connections of one thread.
#[derive(Debug)]
pub struct Hub {
    poll: OwnedFd,
    events: Events,
    wake: Arc<OwnedFd>,
    links: Vec<Option<Link>>,
    free: Vec<u32>,
    input: Vec<u8>,
    out: Vec<u8>,
    done: VecDeque<Done>,
    sleeps: BinaryHeap<Reverse<(Instant, u32)>>,
    to_open: VecDeque<u32>,
    opening: usize,
    lines: Lines,
    swept: Instant,
    attempts: u32,
    /// Servers that connections go to, by their place in `lines`.
    ways: Vec<Rc<str>>,
}

impl Hub {
    /// A hub without connections.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn new() -> io::Result<Self> {
        allow_many_files();
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        epoll::add(&poll, &*wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS_AT_ONCE),
            wake,
            links: Vec::new(),
            free: Vec::new(),
            input: vec![0; INPUT_BYTES],
            out: Vec::with_capacity(INPUT_BYTES),
            done: VecDeque::new(),
            sleeps: BinaryHeap::new(),
            to_open: VecDeque::new(),
            opening: 0,
            lines: Lines::default(),
            swept: Instant::now(),
            attempts: 0,
            ways: Vec::new(),
        })
    }

    /// What other threads wake it by.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wake))
    }

    /// Begins to connect. The number is the connection's until [`Hub::close`].
    pub fn open(&mut self, owner: u32, way: &Way) -> u32 {
        let link = Link::new(owner, Arc::clone(&way.login), self.place_of(&way.shown));
        let number = match self.free.pop() {
            Some(number) => {
                self.links[number as usize] = Some(link);
                number
            }
            None => {
                self.links.push(Some(link));
                self.links.len() as u32 - 1
            }
        };
        self.to_open.push_back(number);
        self.open_waiting();
        number
    }

    /// Opens a connection anew, on the same way.
    pub fn reopen(&mut self, number: u32) {
        let Some(link) = self.links[number as usize].as_mut() else { return };
        link.forget();
        self.to_open.push_back(number);
        self.open_waiting();
    }

    /// The server's version as its greeting has it.
    #[must_use]
    pub fn version(&self, number: u32) -> &str {
        self.link(number).and_then(Link::version).unwrap_or_default()
    }

    /// The place in `lines` of a server.
    fn place_of(&mut self, shown: &str) -> usize {
        if let Some(place) = self.ways.iter().position(|known| **known == *shown) {
            return place;
        }
        self.ways.push(shown.into());
        self.ways.len() - 1
    }

    /// Says good-bye and forgets the connection.
    pub fn close(&mut self, number: u32) {
        let Some(mut link) = self.links[number as usize].take() else { return };
        self.opening -= usize::from(link.has_place);
        self.to_open.retain(|waiting| *waiting != number);
        link.quit(&mut self.out);
        self.free.push(number);
    }

    /// Sends SQL text.
    pub fn query(&mut self, number: u32, sql: &[u8]) {
        self.ask(number, |link, out| link.query(sql, out));
    }

    /// Sends a statement to prepare.
    pub fn prepare(&mut self, number: u32, sql: &[u8]) {
        self.ask(number, |link, out| link.prepare(sql, out));
    }

    /// Number of the statement that was prepared last on a connection.
    #[must_use]
    pub fn prepared(&self, number: u32) -> Option<(u32, u16)> {
        self.link(number)?.last_prepared()
    }

    /// Executes a prepared statement.
    pub fn execute(&mut self, number: u32, statement: u32, values: &[Value<'_>]) {
        self.ask(number, |link, out| link.execute(statement, values, out));
    }

    /// Forgets a prepared statement.
    pub fn close_statement(&mut self, number: u32, statement: u32) {
        self.out.clear();
        let Some(link) = self.links[number as usize].as_mut() else { return };
        if let Err(loss) = link.close_statement(statement, &mut self.out) {
            // whoever asks next hears of it
            link.broken = Some(loss);
        }
    }

    /// The rows of the last reply on a connection.
    pub fn rows(&mut self, number: u32) -> Option<&mut Rows> {
        self.links.get_mut(number as usize)?.as_mut().map(|link| &mut link.rows)
    }

    /// The server's words to the error of the last reply.
    #[must_use]
    pub fn message(&self, number: u32) -> &str {
        self.link(number).map_or("", Link::message)
    }

    /// Tells an owner something as if a server had.
    pub fn tell(&mut self, owner: u32, what: What) {
        self.done.push_back(Done { owner, what });
    }

    /// Tells the owner that the time has come.
    pub fn sleep(&mut self, owner: u32, until: Instant) {
        self.sleeps.push(Reverse((until, owner)));
    }

    /// What has happened, oldest first.
    #[inline]
    pub fn take_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// Waits until something happens, at most so long.
    ///
    /// # Errors
    /// If the system refuses to wait, which it does not.
    pub fn wait(&mut self, limit: Duration) -> io::Result<()> {
        if !self.done.is_empty() {
            return Ok(());
        }
        let mut patience = limit;
        if let Some(Reverse((until, _))) = self.sleeps.peek() {
            patience = patience.min(until.saturating_duration_since(Instant::now()));
        }
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        let result = events.wait(self.poll.as_fd(), Some(patience));
        for index in 0..events.count() {
            match events.at(index) {
                (WAKE, _) => drop(rustix::io::read(&*self.wake, &mut [0u8; 8])),
                (THROUGH, _) => self.let_in(),
                (token, flags) => self.serve(token as u32, flags),
            }
        }
        self.events = events;
        if !self.sleeps.is_empty() || self.opening > 0 {
            self.look_at_times();
        }
        result
    }

    fn link(&self, number: u32) -> Option<&Link> {
        self.links.get(number as usize)?.as_ref()
    }

    /// Sends a command; its owner hears of the reply, or that the connection is gone.
    #[inline]
    fn ask(&mut self, number: u32, command: impl FnOnce(&mut Link, &mut Vec<u8>) -> Result<(), Loss>) {
        self.out.clear();
        let Some(link) = self.links[number as usize].as_mut() else { return };
        match command(link, &mut self.out) {
            Ok(()) => self.watch_writing(number),
            Err(loss) => self.lost(number, loss),
        }
    }

    fn look_at_times(&mut self) {
        let now = Instant::now();
        while let Some(Reverse((until, owner))) = self.sleeps.peek().copied()
            && until <= now
        {
            self.sleeps.pop();
            self.done.push_back(Done { owner, what: What::Woken });
        }
        if now.duration_since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        for number in 0..self.links.len() as u32 {
            let Some(link) = self.link(number) else { continue };
            if link.has_place && now.duration_since(link.began) > OPENING_MAX {
                self.lost(number, Loss::OpeningTimeout);
            }
        }
    }

    fn open_waiting(&mut self) {
        while self.opening < OPENING_AT_ONCE {
            let Some(number) = self.to_open.pop_front() else { return };
            let waits = self.link(number).is_some_and(|link| self.lines.waits(link.server));
            let Some(link) = self.links[number as usize].as_mut() else { continue };
            self.attempts = self.attempts.wrapping_add(1);
            self.opening += 1;
            link.has_place = true;
            let result = match link.open(self.attempts, waits) {
                Ok(None) => self.watch(number),
                Ok(Some(socket)) => self.queue(number, socket),
                Err(loss) => Err(loss),
            };
            if let Err(loss) = result {
                self.lost(number, loss);
            }
        }
    }

    /// The backlog of the server's Unix socket is full: the socket waits its turn.
    fn queue(&mut self, number: u32, socket: OwnedFd) -> Result<(), Loss> {
        let Some(Some(link)) = self.links.get(number as usize) else { return Ok(()) };
        let Peer::Unix(path) = &link.login.peer else { return Err(Loss::Closed) };
        let ticket = Ticket { connection: number, attempt: link.attempt };
        let waiting = Waiting { ticket, socket, until: Instant::now() + OPENING_MAX };
        Ok(self.lines.join((&self.poll, THROUGH), (link.server, path), waiting)?)
    }

    /// Sockets have got through a full backlog.
    fn let_in(&mut self) {
        while let Some((ticket, result)) = self.lines.through() {
            let number = ticket.connection;
            let Some(link) = self.links[number as usize].as_mut() else { continue };
            if !link.is_in_line(ticket.attempt) {
                continue;
            }
            let result = match result {
                Ok(socket) => {
                    link.go_on_with(socket);
                    self.watch(number)
                }
                Err(error) => Err(Loss::Io(error)),
            };
            if let Err(loss) = result {
                self.lost(number, loss);
            }
        }
    }

    fn watch(&mut self, number: u32) -> Result<(), Loss> {
        let Some(link) = self.links[number as usize].as_mut() else { return Ok(()) };
        let transport = link.transport.as_ref().ok_or(Loss::Closed)?;
        link.wants_write = true;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT;
        epoll::add(&self.poll, transport.as_fd(), epoll::EventData::new_u64(number.into()), flags)
            .map_err(io::Error::from)?;
        Ok(())
    }

    /// Asks the kernel to tell when the socket takes bytes again, where some wait for that.
    #[inline]
    fn watch_writing(&mut self, number: u32) {
        let Some(link) = self.links[number as usize].as_mut() else { return };
        let blocked = link.is_blocked();
        if blocked != link.wants_write
            && let Some(transport) = &link.transport
        {
            let mut flags = epoll::EventFlags::IN;
            flags.set(epoll::EventFlags::OUT, blocked);
            let token = epoll::EventData::new_u64(number.into());
            // this can only fail for a descriptor that is not ours
            let _ = epoll::modify(&self.poll, transport.as_fd(), token, flags);
            link.wants_write = blocked;
        }
    }

    fn serve(&mut self, number: u32, flags: epoll::EventFlags) {
        let Some(link) = self.links.get_mut(number as usize).and_then(Option::as_mut) else { return };
        let mut result = Ok(());
        if flags.contains(epoll::EventFlags::OUT) {
            result = link.on_writable();
        }
        let readable = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        let mut told = None;
        if result.is_ok() && flags.intersects(readable) {
            match link.on_readable(&mut self.input, &mut self.out) {
                Ok(what) => told = what,
                Err(loss) => result = Err(loss),
            }
        }
        let owner = link.owner;
        if let Err(loss) = result {
            return self.lost(number, loss);
        }
        if matches!(told, Some(What::Opened)) {
            link.has_place = false;
            self.opening -= 1;
            self.open_waiting();
        }
        self.done.extend(told.map(|what| Done { owner, what }));
        self.watch_writing(number);
    }

    /// A connection is gone: its owner hears of it if he waits for something, otherwise when he asks next.
    fn lost(&mut self, number: u32, loss: Loss) {
        let Some(link) = self.links[number as usize].as_mut() else { return };
        let was_waiting = link.is_waiting();
        let had_place = std::mem::take(&mut link.has_place);
        link.forget();
        if was_waiting {
            let ((code, state), text) = (loss.code(), loss.text());
            self.done.push_back(Done { owner: link.owner, what: What::Lost(code, state, text) });
        } else {
            link.broken = Some(loss);
        }
        if had_place {
            self.opening -= 1;
            self.open_waiting();
        }
    }
}
