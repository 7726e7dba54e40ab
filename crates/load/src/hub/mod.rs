//! Many connections on one thread, for programs that decide themselves what to ask next: scripts. Each
//! connection asks one thing at a time, and a [`Done`] says what came of it; nothing here waits for a single
//! connection. It measures nothing and draws nothing: that is for the load engine's own connections.

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
    secrets::{self, Credentials},
    spec::{Address, Target},
    tls::{self, Connector},
    transport::Peer,
    watch::{ENDS, WATCHED, tick},
};
use link::{Link, Loss};
use rustix::{
    event::{EventfdFlags, epoll, eventfd},
    fd::{AsFd as _, BorrowedFd, OwnedFd},
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
/// No wait is longer.
const LOOK_UP: Duration = Duration::from_millis(50);
/// Token of the descriptor by which other threads wake the hub.
const WAKE: u64 = u64::MAX;
/// Token under which sockets come back that had to wait for a full backlog.
const THROUGH: u64 = u64::MAX - 1;
/// Token of a descriptor that others read, see [`Hub::heed`].
const HEEDED: u64 = u64::MAX - 2;
/// Token of the timer that ends each wait.
const TICK: u64 = u64::MAX - 3;

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
        let failed = |reason: NoWay| Error { address: target.address.to_string(), reason };
        let peer = match &target.address {
            Address::Unix(path) => Peer::Unix(path.clone()),
            Address::Tcp { host, port } => Peer::Tcp(address_of(host, *port).map_err(&failed)?),
        };
        let credentials = Credentials::of(target).map_err(|error| failed(NoWay::File(error)))?;
        let tls = Connector::new(target, &credentials).map_err(|error| failed(NoWay::Tls(error)))?;
        let options = Arc::new(client::options(target, &credentials));
        Ok(Self::of(&Login { peer, options, tls, sources: Vec::new() }))
    }

    /// Whether the server runs on this machine, as far as its address says so.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match &self.login.peer {
            Peer::Tcp(address) => address.ip().is_loopback(),
            Peer::Unix(_) => true,
        }
    }

    /// The way that a load's own connections take, for scripts: they may send several statements at once.
    pub(crate) fn of(login: &Login) -> Self {
        let options = wire::client::Options { multi_statements: true, ..(*login.options).clone() };
        let shown = match &login.peer {
            Peer::Tcp(address) => address.to_string(),
            Peer::Unix(path) => path.display().to_string(),
        };
        Self { login: Arc::new(Login { options: Arc::new(options), ..login.clone() }), shown }
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
fn address_of(host: &str, port: u16) -> Result<SocketAddr, NoWay> {
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(NoWay::Name)?.collect();
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, OPENING_MAX).is_ok();
    let found = if addresses.len() > 1 { addresses.iter().find(answers) } else { None };
    found.or(addresses.first()).copied().ok_or(NoWay::NoAddress)
}

/// Why there is no way to a server.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {reason}")]
pub struct Error {
    /// Where to.
    pub address: String,
    /// Why not.
    pub reason: NoWay,
}

/// Reasons for that.
#[derive(Debug, thiserror::Error)]
pub enum NoWay {
    /// The host's name cannot be resolved; what the resolver says.
    #[error("{0}")]
    Name(std::io::Error),
    /// The host's name has no address.
    #[error("the name has no address")]
    NoAddress,
    /// A file with certificates or keys cannot be read.
    #[error("{0}")]
    File(secrets::Error),
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(tls::Error),
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
    /// Events that have been looked at.
    served: usize,
    wake: Arc<OwnedFd>,
    tick: OwnedFd,
    links: Vec<Option<Link>>,
    free: Vec<u32>,
    /// Numbers that events not yet looked at may still mean.
    freed: Vec<u32>,
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
        let tick = tick(&poll, TICK, LOOK_UP)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS_AT_ONCE),
            served: 0,
            wake,
            tick,
            links: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
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

    /// Lets each write to a descriptor that nobody reads end a wait.
    ///
    /// # Errors
    /// If the system refuses to watch it.
    pub(crate) fn heed(&mut self, orders: BorrowedFd<'_>) -> io::Result<()> {
        let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
        Ok(epoll::add(&self.poll, orders, epoll::EventData::new_u64(HEEDED), edges)?)
    }

    /// How long it took to open a connection that has just been opened.
    #[must_use]
    pub fn opening_took(&self, number: u32) -> Duration {
        self.link(number).map_or(Duration::ZERO, |link| link.began.elapsed())
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

    /// Opens a connection again, on the same way.
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
        self.freed.push(number);
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

    /// What has happened. Sockets are read one after another, each when it is asked for: so its owner can
    /// send the next statement before the next reply is read, and the server has something to do meanwhile.
    #[inline]
    pub fn take_done(&mut self) -> Option<Done> {
        loop {
            let done = self.done.pop_front();
            if done.is_some() || self.served == self.events.count() {
                return done;
            }
            let event = self.events.at(self.served);
            self.served += 1;
            match event {
                // nothing to read means that it was read already
                (WAKE, _) => drop(rustix::io::read(&*self.wake, &mut [0u8; 8])),
                (TICK, _) => drop(rustix::io::read(&self.tick, &mut [0u8; 8])),
                (THROUGH, _) => self.let_in(),
                (HEEDED, _) => {}
                (token, flags) => self.serve(token as u32, flags),
            }
        }
    }

    /// Waits until something happens that [`Hub::take_done`] may tell of, at most so long and never longer
    /// than 50 ms.
    ///
    /// # Errors
    /// If the system refuses to wait, which it does not.
    pub fn wait(&mut self, limit: Duration) -> io::Result<()> {
        if !self.done.is_empty() || self.served < self.events.count() {
            return Ok(());
        }
        self.free.append(&mut self.freed);
        let mut patience = limit;
        if let Some(Reverse((until, _))) = self.sleeps.peek() {
            patience = patience.min(until.saturating_duration_since(Instant::now()));
        }
        self.served = 0;
        // the tick ends it: to arm a timer for each wait is a good part of what a short one costs
        let result = self.events.wait(self.poll.as_fd(), Some(patience).filter(|&wait| wait < LOOK_UP));
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
        let token = epoll::EventData::new_u64(number.into());
        epoll::add(&self.poll, transport.as_fd(), token, WATCHED | epoll::EventFlags::OUT)
            .map_err(io::Error::from)?;
        Ok(())
    }

    /// Asks the kernel to tell when the socket takes bytes again, where some wait for that, and to tell once
    /// more of what may be left to read.
    #[inline]
    fn watch_writing(&mut self, number: u32) {
        let Some(link) = self.links[number as usize].as_mut() else { return };
        let blocked = link.is_blocked();
        if (blocked != link.wants_write || link.is_to_be_rearmed)
            && let Some(transport) = &link.transport
        {
            let mut flags = WATCHED;
            flags.set(epoll::EventFlags::OUT, blocked);
            let token = epoll::EventData::new_u64(number.into());
            // this can only fail for a descriptor that is not ours
            let _ = epoll::modify(&self.poll, transport.as_fd(), token, flags);
            link.wants_write = blocked;
            link.is_to_be_rearmed = false;
        }
    }

    fn serve(&mut self, number: u32, flags: epoll::EventFlags) {
        let Some(link) = self.links.get_mut(number as usize).and_then(Option::as_mut) else { return };
        let mut result = Ok(());
        if flags.contains(epoll::EventFlags::OUT) {
            result = link.on_writable();
        }
        // the end of a socket comes after its last bytes, and is told once
        link.is_to_be_rearmed = flags.intersects(ENDS);
        let mut told = None;
        if result.is_ok() && flags.intersects(ENDS | epoll::EventFlags::IN) {
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
