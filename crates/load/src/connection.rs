//! One connection of a stream: logs in, runs transactions step by step, measures each reply, and comes back
//! when it is lost. A state machine without threads; whatever is large (buffers, histograms) belongs to the
//! worker's [`Bench`].

use crate::{
    bench::Bench,
    clock::{Moment, ns},
    compose::FirstRow,
    program::{Drawn, Program},
    random::Random,
    sample::Connects,
    transport::{Opening, Peer, Received, Transport},
};
use rustix::fd::OwnedFd;
use std::{io, sync::Arc, time::Duration};
use thiserror::Error;
use wire::client::{Handshake, Progress, Session, Statement, Step};

/// Why a connection was lost or could not be opened.
#[derive(Debug, Error)]
pub(crate) enum Loss {
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server refused the login or broke the protocol.
    #[error("{0}")]
    Wire(#[from] wire::Error),
    /// Bytes came that nobody had asked for.
    #[error("the server sent {0} bytes that nothing had asked for")]
    Unasked(usize),
    /// The connection could not be opened in time.
    #[error("{step} took longer than {} s", limit.as_secs_f64())]
    ConnectTimeout {
        /// What it was waiting for.
        step: &'static str,
        /// [`crate::Spec::connect_timeout`].
        limit: Duration,
    },
    /// A reply did not come in time.
    #[error("no reply within {} s", .0.as_secs_f64())]
    ReplyTimeout(Duration),
    /// TLS was to begin, but none is configured.
    #[error("the server asked for TLS, which is switched off")]
    TlsUnwanted,
}

impl Loss {
    /// The code under which it is counted: the server's own, or that of MySQL's client library.
    pub(crate) fn code(&self) -> (u16, [u8; 5]) {
        match self {
            Self::Wire(wire::Error::Server { error, .. }) => (error.code, error.state),
            Self::Wire(_) | Self::Unasked(_) => (2027, *b"HY000"), // CR_MALFORMED_PACKET
            Self::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => (2003, *b"HY000"),
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => (2002, *b"HY000"),
            // CR_IPSOCK_ERROR
            Self::Io(error) if error.kind() == io::ErrorKind::AddrNotAvailable => (2004, *b"HY000"),
            Self::ConnectTimeout { step: CONNECTING, .. } => (2003, *b"HY000"), // CR_CONN_HOST_ERROR
            Self::Io(_) | Self::Closed | Self::ConnectTimeout { .. } | Self::ReplyTimeout(_) => {
                (2013, *b"08S01") // CR_SERVER_LOST
            }
            Self::TlsUnwanted => (2026, *b"HY000"), // CR_SSL_CONNECTION_ERROR
        }
    }
}

/// Steps of opening a connection, in messages.
const CONNECTING: &str = "connecting";
const LOGGING_IN: &str = "the login";

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum Stage {
    /// No socket: not yet opened, or lost.
    Down,
    /// No socket, by its connection mode; free for the next transaction.
    Away,
    /// A transaction is under way and needs a socket: the worker opens one.
    Called,
    /// TCP is not yet established.
    Connecting,
    LoggingIn(Box<Handshake>),
    /// Logged in; nothing is under way.
    Idle,
    /// Waits for the reply to PREPARE.
    Preparing(usize),
    /// Waits for the reply to a statement.
    Executing(usize),
    /// Waits for the reply to a bulk INSERT; the number is its statement kind.
    Inserting(usize),
    /// Waits for the reply to ROLLBACK.
    RollingBack,
}

/// What a connection has of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Prepared {
    /// Not yet prepared.
    Not,
    /// This server does not prepare it: sent as text.
    AsText,
    Ready(Statement),
}

/// Which connection of a load it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Index of its stream.
    pub(crate) stream: usize,
    /// Its number in the stream.
    pub(crate) number: u32,
    /// The server that it goes to; see [`crate::spec::Destination::server_of`].
    pub(crate) server: usize,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Index of its stream.
    pub(crate) stream: usize,
    /// Its number in the stream.
    pub(crate) number: u32,
    /// The server that it goes to.
    pub(crate) server: usize,
    pub(crate) stage: Stage,
    pub(crate) transport: Option<Transport>,
    pub(crate) session: Option<Box<Session>>,
    /// Beginning of a packet whose rest has not come yet.
    pending: Vec<u8>,
    pub(crate) random: Random,
    pub(crate) slots: Box<[Drawn]>,
    /// Whether the statement under way has had its first row.
    pub(crate) kept: bool,
    /// Texts of `slots`.
    pub(crate) arena: Vec<u8>,
    /// Rows that wait to be sent by [`crate::program::Action::BulkRow`].
    pub(crate) bulk: Vec<u8>,
    /// Statement ids, by statement and table.
    pub(crate) prepared: Box<[Prepared]>,
    pub(crate) routine: usize,
    pub(crate) step: usize,
    /// Whether a transaction has begun and not ended.
    pub(crate) under_way: bool,
    /// When the transaction was to begin.
    pub(crate) due: Moment,
    /// When its first byte was sent.
    pub(crate) began: Option<Moment>,
    pub(crate) sent: Moment,
    /// When the connection became free, or was opened.
    pub(crate) ready: Moment,
    /// When its next transaction is due, where each connection has times of its own.
    pub(crate) next_due: Moment,
    /// When the worker is to look after it again; other times that it once asked for are out of date.
    pub(crate) wake: Moment,
    /// Whether it takes transactions; otherwise it is only open.
    pub(crate) works: bool,
    /// Its place in the worker.
    pub(crate) index: u32,
    /// Whether it stands in the queue of free connections of an open loop.
    pub(crate) is_in_queue: bool,
    /// Whether it counts among those that the worker opens at the same time.
    pub(crate) has_opening_place: bool,
    /// Whether the coordinator was told, before the load began, that it is open.
    pub(crate) is_told_open: bool,
    /// Transactions since it was opened.
    pub(crate) uses: u32,
    /// Status flags of the last reply without error.
    pub(crate) status: u16,
    times: OpeningTimes,
    /// Number of the attempt to open it, as a line knows it.
    pub(crate) attempt: u32,
    /// Whether the first reply after the login is still to come.
    pub(crate) is_fresh: bool,
    failures: u32,
    /// Transactions that ended well in the measurement interval.
    pub(crate) finished: u64,
    /// Whether epoll was asked to tell when the socket takes bytes again.
    pub(crate) wants_write: bool,
}

/// When the steps of opening a connection were reached.
#[derive(Debug, Clone, Copy, Default)]
struct OpeningTimes {
    began: Moment,
    connected: Moment,
    tls_began: Option<Moment>,
    tls_ended: Option<Moment>,
}

/// What the worker must do after a connection was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum After {
    /// Nothing.
    Carry,
    /// It has just logged in.
    LoggedIn,
}

impl Connection {
    pub(crate) fn new(place: Place, works: bool, seed: u64, program: &Program) -> Self {
        let Place { stream, number, server } = place;
        let statements = if !works {
            0
        } else if program.statements.iter().any(|each| each.prepared) {
            program.statements.len() * program.tables as usize
        } else {
            0
        };
        Self {
            stream,
            number,
            server,
            stage: Stage::Down,
            transport: None,
            session: None,
            pending: Vec::new(),
            random: Random::for_connection(seed, stream as u32, number),
            slots: vec![Drawn::Null; program.slots].into(),
            kept: false,
            arena: Vec::new(),
            bulk: Vec::new(),
            prepared: vec![Prepared::Not; statements].into(),
            routine: 0,
            step: 0,
            under_way: false,
            due: Moment::ZERO,
            began: None,
            sent: Moment::ZERO,
            ready: Moment::ZERO,
            next_due: Moment::ZERO,
            wake: Moment::NEVER,
            works,
            index: 0,
            is_in_queue: false,
            has_opening_place: false,
            is_told_open: false,
            uses: 0,
            status: 0,
            times: OpeningTimes::default(),
            attempt: 0,
            is_fresh: false,
            failures: 0,
            finished: 0,
            wants_write: false,
        }
    }

    pub(crate) fn transport(&self) -> Option<&Transport> {
        self.transport.as_ref()
    }

    /// The server's version as its greeting has it.
    pub(crate) fn server_version(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.server_version())
    }

    /// Whether it may begin a transaction.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self.stage, Stage::Idle | Stage::Away) && !self.under_way && self.works
    }

    /// Whether it needs a socket to go on.
    #[inline]
    pub(crate) fn is_called(&self) -> bool {
        matches!(self.stage, Stage::Called)
    }

    /// Whether a reply is waited for.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(
            self.stage,
            Stage::Preparing(_) | Stage::Executing(_) | Stage::Inserting(_) | Stage::RollingBack
        )
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.stage, Stage::Down)
    }

    /// Whether a login is on its way.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.stage, Stage::Connecting | Stage::LoggingIn(_))
    }

    /// Since when the transaction that is under way has been waited for; `None`: none is.
    pub(crate) fn busy_since(&self) -> Option<Moment> {
        self.under_way.then_some(self.due)
    }

    /// Whether it takes longer than it may.
    pub(crate) fn overdue(
        &self,
        now: Moment,
        connect_limit: Duration,
        reply_limit: Option<Duration>,
    ) -> Option<Loss> {
        let over = |since: Moment, limit: Duration| now.since(since) > ns(limit);
        if self.is_opening() && over(self.times.began, connect_limit) {
            let step = if matches!(self.stage, Stage::Connecting) { CONNECTING } else { LOGGING_IN };
            return Some(Loss::ConnectTimeout { step, limit: connect_limit });
        }
        let limit = reply_limit.filter(|&limit| self.is_waiting() && over(self.sent, limit))?;
        Some(Loss::ReplyTimeout(limit))
    }

    /// Failed attempts to connect since the last login.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Begins to connect; `waits`: others wait for the same server's queue already. What is returned has to
    /// wait, too, until it is given to [`Connection::go_on_with`].
    pub(crate) fn open(&mut self, bench: &Bench<'_>, waits: bool) -> Result<Option<OwnedFd>, Loss> {
        self.times = OpeningTimes { began: bench.now(), ..OpeningTimes::default() };
        self.stage = Stage::Connecting;
        self.wants_write = true;
        let login = bench.login(self.server);
        let sources = &login.sources;
        let source = sources.get(self.number as usize % sources.len().max(1)).copied();
        self.attempt = self.attempt.wrapping_add(1);
        match Transport::open(&login.peer, source, waits)? {
            Opening::Begun(transport) => self.transport = Some(transport),
            Opening::Full(socket) => return Ok(Some(socket)),
        }
        Ok(None)
    }

    /// Whether it waits in a line for what comes of this attempt.
    pub(crate) fn is_in_line(&self, attempt: u32) -> bool {
        matches!(self.stage, Stage::Connecting) && self.transport.is_none() && self.attempt == attempt
    }

    /// The socket that waited is connected.
    pub(crate) fn go_on_with(&mut self, socket: OwnedFd) {
        self.transport = Some(Transport::of(socket));
    }

    /// Forgets the socket and everything that was bound to it, as it was lost.
    pub(crate) fn close(&mut self) {
        self.forget();
        self.stage = Stage::Down;
        self.failures = self.failures.saturating_add(1);
    }

    /// Says goodbye, so that the server does not count an aborted client.
    pub(crate) fn quit(&mut self, bench: &mut Bench<'_>) {
        bench.out.clear();
        if let (Stage::Idle, Some(session), Some(transport)) =
            (&self.stage, &mut self.session, &mut self.transport)
            && session.quit(&mut bench.out).is_ok()
        {
            // a server that is gone need not be told
            let _ = transport.send(&bench.out);
        }
        self.forget();
        self.stage = Stage::Down;
    }

    /// Closes the connection because its mode says so; the next statement opens a new one.
    pub(crate) fn hang_up(&mut self, bench: &mut Bench<'_>) {
        let bulk = std::mem::take(&mut self.bulk);
        self.stage = Stage::Idle;
        self.quit(bench);
        self.bulk = bulk;
        self.stage = Stage::Away;
    }

    fn forget(&mut self) {
        self.transport = None;
        self.session = None;
        self.pending = Vec::new();
        self.prepared.fill(Prepared::Not);
        self.bulk.clear();
        self.uses = 0;
        self.status = 0;
        self.wants_write = false;
        self.is_fresh = false;
    }

    /// The socket takes bytes again.
    pub(crate) fn on_writable(&mut self, bench: &Bench<'_>) -> Result<(), Loss> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        if matches!(self.stage, Stage::Connecting) {
            transport.finish_connecting()?;
            self.times.connected = bench.now();
            let login = bench.login(self.server);
            let kind = match login.peer {
                Peer::Tcp(_) => wire::client::Transport::Tcp,
                Peer::Unix(_) => wire::client::Transport::Unix,
            };
            self.stage = Stage::LoggingIn(Box::new(Handshake::new(Arc::clone(&login.options), kind)));
            return Ok(());
        }
        Ok(transport.flush()?)
    }

    /// Whether bytes wait for the socket to take them, so that the worker must watch for that.
    pub(crate) fn is_blocked(&self) -> bool {
        matches!(self.stage, Stage::Connecting) || self.transport.as_ref().is_some_and(Transport::is_blocked)
    }

    /// The socket has something. Reads it, and goes on with whatever that allows.
    pub(crate) fn on_readable(&mut self, bench: &mut Bench<'_>) -> Result<After, Loss> {
        // the buffer is taken out for the time, so that what is read can be looked at while `bench` is in use
        let mut input = std::mem::take(&mut bench.input);
        let result = self.receive(&mut input, bench);
        bench.input = input;
        result
    }

    fn receive(&mut self, input: &mut [u8], bench: &mut Bench<'_>) -> Result<After, Loss> {
        let mut after = After::Carry;
        loop {
            let Some(transport) = &mut self.transport else { return Ok(after) };
            let count = match transport.receive(input)? {
                Received::Bytes(count) => count,
                Received::Later => return Ok(after),
                Received::Closed => return Err(Loss::Closed),
            };
            let now = bench.now();
            if bench.tally.is_measuring() {
                bench.queueing.record_ns(now.since(bench.woken));
            }
            if self.pending.is_empty() {
                let (used, done) = self.consume(&input[..count], now, bench)?;
                self.pending.extend_from_slice(&input[used..count]);
                after = done.max(after);
            } else {
                let mut bytes = std::mem::take(&mut self.pending);
                bytes.extend_from_slice(&input[..count]);
                let (used, done) = self.consume(&bytes, now, bench)?;
                bytes.drain(..used);
                self.pending = bytes;
                after = done.max(after);
            }
            // without TLS the kernel tells when there is more; a TLS session may hold more than it gave
            if self.transport.as_ref().is_none_or(|transport| !transport.is_tls()) {
                return Ok(after);
            }
        }
    }

    /// Takes whole packets. Returns how many bytes are done with.
    fn consume(&mut self, bytes: &[u8], now: Moment, bench: &mut Bench<'_>) -> Result<(usize, After), Loss> {
        let mut at = 0;
        let mut after = After::Carry;
        loop {
            match &mut self.stage {
                Stage::LoggingIn(_) => {
                    let (used, logged_in) = self.log_in(&bytes[at..], now, bench)?;
                    at += used;
                    if !logged_in {
                        return Ok((at, after));
                    }
                    after = After::LoggedIn;
                }
                Stage::Idle | Stage::Down | Stage::Away | Stage::Called | Stage::Connecting => {
                    return if at == bytes.len() {
                        Ok((at, after))
                    } else {
                        Err(Loss::Unasked(bytes.len() - at))
                    };
                }
                _ => {
                    let (used, progress) = self.read_reply(&bytes[at..], bench)?;
                    at += used;
                    if progress != Progress::NeedMore {
                        self.refuse_surplus(bytes.len() - at)?;
                    }
                    match progress {
                        Progress::NeedMore => return Ok((at, after)),
                        Progress::Done(reply) => self.on_reply(&reply, now, bench)?,
                        Progress::LocalInfile { .. } => self.refuse_local_file(bench)?,
                    }
                }
            }
        }
    }

    fn log_in(&mut self, bytes: &[u8], now: Moment, bench: &mut Bench<'_>) -> Result<(usize, bool), Loss> {
        let (Stage::LoggingIn(handshake), Some(transport)) = (&mut self.stage, &mut self.transport) else {
            return Ok((0, false));
        };
        if self.times.tls_began.is_some() && self.times.tls_ended.is_none() && !transport.is_handshaking() {
            self.times.tls_ended = Some(now);
        }
        bench.out.clear();
        let (used, step) = handshake.advance(bytes, &mut bench.out)?;
        transport.send(&bench.out)?;
        match step {
            Step::NeedMore => Ok((used, false)),
            Step::StartTls => {
                self.times.tls_began = Some(now);
                let connector = bench.login(self.server).tls.as_ref().ok_or(Loss::TlsUnwanted)?;
                transport.start_tls(connector.connect().map_err(io::Error::other)?)?;
                bench.out.clear();
                handshake.advance(&[], &mut bench.out)?;
                transport.send(&bench.out)?;
                Ok((used, false))
            }
            Step::Ready(session) => {
                self.session = Some(session);
                self.stage = Stage::Idle;
                self.failures = 0;
                self.is_fresh = true;
                self.ready = now;
                bench.shares[self.stream].opened += 1;
                if let Some(connects) = connects(bench, self.stream) {
                    self.times.record(now, connects);
                }
                Ok((used, true))
            }
        }
    }

    /// The first reply after a login came.
    pub(crate) fn note_first_reply(&mut self, now: Moment, bench: &mut Bench<'_>) {
        self.is_fresh = false;
        let was_opened_before = self.ready < bench.tally.start_at();
        if was_opened_before {
            bench.shares[self.stream].opening.first_reply.record_ns(now.since(self.sent));
        } else if let Some(connects) = connects(bench, self.stream) {
            connects.first_reply.record_ns(now.since(self.sent));
        }
    }

    /// What came behind a reply and before the next request is the reply to nothing: which of the two was
    /// the reply, nobody can tell, so neither is counted. `rest` is what was read and not yet looked at.
    #[inline]
    fn refuse_surplus(&mut self, rest: usize) -> Result<(), Loss> {
        let unpacked = self.session.as_ref().map_or(0, |session| session.unread());
        let deciphered = self.transport.as_mut().map_or(Ok(0), Transport::unread)?;
        match rest + unpacked + deciphered {
            0 => Ok(()),
            surplus => Err(Loss::Unasked(surplus)),
        }
    }

    #[inline]
    fn read_reply(&mut self, bytes: &[u8], bench: &Bench<'_>) -> Result<(usize, Progress), Loss> {
        let session = self.session.as_mut().ok_or(Loss::Closed)?;
        if let Stage::Executing(statement) = self.stage {
            let keep = &bench.programs[self.stream].statements[statement].keep;
            if !keep.is_empty() {
                let mut sink =
                    FirstRow { keep, slots: &mut self.slots, arena: &mut self.arena, seen: &mut self.kept };
                return Ok(session.receive_with(bytes, &mut sink)?);
            }
        }
        Ok(session.receive(bytes)?)
    }

    /// No workload of the engine sends files: whoever asks gets an empty one, and an error is counted.
    fn refuse_local_file(&mut self, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.out.clear();
        let session = self.session.as_mut().ok_or(Loss::Closed)?;
        session.local_end(&mut bench.out)?;
        let transport = self.transport.as_mut().ok_or(Loss::Closed)?;
        Ok(transport.send(&bench.out)?)
    }
}

impl OpeningTimes {
    /// The login ended at `now`.
    fn record(&self, now: Moment, connects: &mut Connects) {
        let total = now.since(self.began);
        let tcp = self.connected.since(self.began);
        let tls = match (self.tls_began, self.tls_ended) {
            (Some(began), Some(ended)) => Some(ended.since(began)),
            _ => None,
        };
        connects.opened += 1;
        connects.total.record_ns(total);
        connects.tcp.record_ns(tcp);
        if let Some(tls) = tls {
            connects.tls.record_ns(tls);
        }
        connects.login.record_ns(total.saturating_sub(tcp.saturating_add(tls.unwrap_or(0))));
    }
}

/// Where connections that are opened now are counted; `None`: in the warm-up and after the end they are not.
pub(crate) fn connects<'a>(bench: &'a mut Bench<'_>, stream: usize) -> Option<&'a mut Connects> {
    let measuring = bench.tally.is_measuring();
    let started = bench.tally.started();
    let share = &mut bench.shares[stream];
    if !started {
        Some(&mut share.opening)
    } else if measuring {
        Some(&mut share.reconnecting)
    } else {
        None
    }
}
