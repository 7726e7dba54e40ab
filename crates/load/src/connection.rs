//! One connection of a stream: how it is opened, logs in, and comes back after a loss. A state machine
//! without threads; everything large (buffers, histograms) belongs to the worker's [`Bench`]. What it does
//! while it is open is in [`crate::execute`].

use crate::{
    bench::Bench,
    channel::Channel,
    clock::{Moment, ns},
    compose::Values,
    loss::{CONNECTING, LOGGING_IN, Loss},
    opening::Opening,
    program::Program,
    sample::Connects,
    transport::{Opening as Begun, Peer, Transport},
};
use rustix::fd::OwnedFd;
use std::{io, sync::Arc, time::Duration};
use wire::client::{Handshake, Statement, Step};

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
    /// Whether it takes transactions; otherwise it is only open.
    pub(crate) works: bool,
    /// Whether its logins are to be refused: [`crate::spec::Destination::Stranger`].
    pub(crate) is_stranger: bool,
    /// Its place in the worker.
    pub(crate) index: u32,
}

/// The transaction that is under way, or was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Course {
    /// Whether it has begun and not ended.
    pub(crate) under_way: bool,
    /// Which one of the mix.
    pub(crate) routine: usize,
    /// The one after it, where that is known before it is due.
    pub(crate) next: Option<usize>,
    /// Where the connection is in a series of transactions.
    pub(crate) turn: usize,
    /// The next of its steps.
    pub(crate) step: usize,
    /// When it was to begin.
    pub(crate) due: Moment,
    /// When its first byte was sent.
    pub(crate) began: Option<Moment>,
    /// When its latest statement was sent.
    pub(crate) sent: Moment,
}

/// When a connection has something to do again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agenda {
    /// When it became free, or was opened.
    pub(crate) ready: Moment,
    /// When its next transaction is due, where each connection has times of its own.
    pub(crate) next_due: Moment,
    /// When the worker is to look after it again; other times that it once asked for are out of date.
    pub(crate) wake: Moment,
    /// Whether it stands in its share's queue.
    pub(crate) is_in_queue: bool,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) place: Place,
    pub(crate) stage: Stage,
    pub(crate) channel: Channel,
    pub(crate) opening: Opening,
    pub(crate) values: Values,
    pub(crate) course: Course,
    pub(crate) agenda: Agenda,
    /// Statement ids, by statement and table.
    pub(crate) prepared: Box<[Prepared]>,
    /// Rows that wait to be sent by [`crate::program::Action::BulkRow`].
    pub(crate) bulk: Vec<u8>,
    /// Transactions that ended well in the measurement interval.
    pub(crate) finished: u64,
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
    pub(crate) fn new(place: Place, seed: u64, program: &Program) -> Self {
        let prepares = place.works && program.statements.iter().any(|each| each.prepared);
        let statements = if prepares { program.statements.len() * program.tables as usize } else { 0 };
        Self {
            place,
            stage: if place.is_stranger { Stage::Away } else { Stage::Down },
            channel: Channel::default(),
            opening: Opening::default(),
            values: Values::new(seed, (place.stream, place.number), program.slots),
            course: Course::default(),
            agenda: Agenda {
                ready: Moment::ZERO,
                next_due: Moment::ZERO,
                wake: Moment::NEVER,
                is_in_queue: false,
            },
            prepared: vec![Prepared::Not; statements].into(),
            bulk: Vec::new(),
            finished: 0,
        }
    }

    /// Whether it may begin a transaction.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self.stage, Stage::Idle | Stage::Away) && !self.course.under_way && self.place.works
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
        self.course.under_way.then_some(self.course.due)
    }

    /// Whether it takes longer than it may.
    pub(crate) fn overdue(
        &self,
        now: Moment,
        connect_limit: Duration,
        reply_limit: Option<Duration>,
    ) -> Option<Loss> {
        let over = |since: Moment, limit: Duration| now.since(since) > ns(limit);
        if self.is_opening() && over(self.opening.began, connect_limit) {
            let step = if matches!(self.stage, Stage::Connecting) { CONNECTING } else { LOGGING_IN };
            return Some(Loss::ConnectTimeout { step, limit: connect_limit });
        }
        let limit = reply_limit.filter(|&limit| self.is_waiting() && over(self.course.sent, limit))?;
        Some(Loss::ReplyTimeout(limit))
    }

    /// Begins to connect; `waits`: others wait for the same server's queue already. What is returned has to
    /// wait, too, until it is given to [`Connection::go_on_with`].
    pub(crate) fn open(&mut self, bench: &Bench<'_>, waits: bool) -> Result<Option<OwnedFd>, Loss> {
        self.opening.begin(bench.now());
        self.stage = Stage::Connecting;
        self.channel.wants_write = true;
        let login = bench.login(self.place.server);
        let sources = &login.sources;
        let source = sources.get(self.place.number as usize % sources.len().max(1)).copied();
        match Transport::open(&login.peer, source, waits)? {
            Begun::Begun(transport) => self.channel.begin(transport),
            Begun::Full(socket) => return Ok(Some(socket)),
        }
        Ok(None)
    }

    /// Whether it waits in a line for what comes of this attempt.
    pub(crate) fn is_in_line(&self, attempt: u32) -> bool {
        matches!(self.stage, Stage::Connecting) && !self.channel.is_open() && self.opening.attempt == attempt
    }

    /// The socket that waited is connected.
    pub(crate) fn go_on_with(&mut self, socket: OwnedFd) {
        self.channel.begin_with(socket);
    }

    /// Forgets the socket and everything that was bound to it, as it was lost.
    pub(crate) fn close(&mut self) {
        self.forget();
        self.stage = Stage::Down;
        self.opening.failures = self.opening.failures.saturating_add(1);
    }

    /// Says goodbye, so that the server does not count an aborted client.
    pub(crate) fn quit(&mut self, bench: &mut Bench<'_>) {
        if matches!(self.stage, Stage::Idle) {
            self.channel.quit(&mut bench.out);
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
        self.channel = Channel::default();
        self.prepared.fill(Prepared::Not);
        self.bulk.clear();
        self.opening.is_fresh = false;
    }

    /// The socket takes bytes again.
    pub(crate) fn on_writable(&mut self, bench: &Bench<'_>) -> Result<(), Loss> {
        if !self.channel.is_open() {
            return Ok(());
        }
        let transport = self.channel.transport()?;
        if matches!(self.stage, Stage::Connecting) {
            transport.finish_connecting()?;
            self.opening.connected = bench.now();
            let login = bench.login(self.place.server);
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
    #[inline]
    pub(crate) fn is_blocked(&self) -> bool {
        matches!(self.stage, Stage::Connecting) || self.channel.is_blocked()
    }

    /// Resumes the login. Returns how many bytes are done with, and whether it has ended.
    pub(crate) fn log_in(
        &mut self,
        bytes: &[u8],
        now: Moment,
        bench: &mut Bench<'_>,
    ) -> Result<(usize, bool), Loss> {
        let Stage::LoggingIn(handshake) = &mut self.stage else { return Ok((0, false)) };
        let transport = self.channel.transport()?;
        if !transport.is_handshaking() {
            self.opening.tls_is_over(now);
        }
        bench.out.clear();
        let (used, step) = handshake.advance(bytes, &mut bench.out)?;
        transport.send(&bench.out)?;
        match step {
            Step::NeedMore => Ok((used, false)),
            Step::StartTls => {
                self.opening.tls_begins(now);
                let connector = bench.login(self.place.server).tls.as_ref().ok_or(Loss::TlsUnwanted)?;
                transport.start_tls(connector.connect().map_err(io::Error::other)?)?;
                bench.out.clear();
                handshake.advance(&[], &mut bench.out)?;
                transport.send(&bench.out)?;
                Ok((used, false))
            }
            Step::Ready(session) => {
                self.channel.logged_in(session);
                self.stage = Stage::Idle;
                self.opening.failures = 0;
                self.opening.is_fresh = true;
                self.agenda.ready = now;
                bench.shares[self.place.stream].opened += 1;
                if let Some(connects) = connects(bench, self.place.stream) {
                    self.opening.record(now, connects);
                }
                Ok((used, true))
            }
        }
    }

    /// The first reply after a login came.
    #[cold]
    pub(crate) fn note_first_reply(&mut self, now: Moment, bench: &mut Bench<'_>) {
        self.opening.is_fresh = false;
        let was_opened_before = self.agenda.ready < bench.tally.start_at();
        let took_ns = now.since(self.course.sent);
        if was_opened_before {
            bench.shares[self.place.stream].opening.first_reply.record_ns(took_ns);
        } else if let Some(connects) = connects(bench, self.place.stream) {
            connects.first_reply.record_ns(took_ns);
        }
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
