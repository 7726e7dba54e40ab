//! One thread with its connections: an event loop over epoll. Each connection belongs to one worker and no
//! two workers share anything, so throughput grows with the number of processors.

use crate::{
    bench::{Bench, Timeline},
    clock::{Moment, ns},
    connection::{self, After, Connection, Stage},
    control::{Control, Message},
    io::Events,
    line::{Lines, Ticket, Waiting},
    login::Login,
    loss::Loss,
    orders::{DRAIN_MAX, Orders, Report, prepare_thread},
    program::Program,
    share::Share,
    transport::Peer,
    watch::{ENDS, WATCHED, tick},
};
use rustix::{
    event::epoll,
    fd::{AsFd as _, OwnedFd},
};
use std::{
    cmp::Reverse,
    collections::VecDeque,
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

/// Events taken from the kernel at once. Small, so that the last of them has not waited long.
const EVENTS_AT_ONCE: usize = 128;
/// First pause before a lost connection is opened again; doubled up to [`BACK_OFF_MAX`].
const BACK_OFF: Duration = Duration::from_millis(20);
/// Shortest pause between two logins of a stranger.
const TURNED_AWAY: Duration = Duration::from_millis(1);
/// Longest such pause.
const BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// How often the worker looks whether it is to stop, when nothing else happens.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Token of the descriptor that tells of orders.
const WAKE: u64 = u64::MAX;
/// Token of the timer that wakes it regularly.
const TICK: u64 = u64::MAX - 1;
/// Token under which sockets come back that had to wait for a full backlog.
const THROUGH: u64 = u64::MAX - 2;

/// Transactions of an open loop that are begun before replies are looked at again.
const CALLS_AT_ONCE: usize = 64;
/// How often connections are looked through for those that take longer than they may.
const SWEEP_NS: u64 = 50_000_000;

/// What a worker needs to know of the load beside its connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) is_batch: bool,
    /// Connections that are being opened at the same time.
    pub(crate) opening_at_once: usize,
    /// Pause between two connections that this worker opens before the load begins.
    pub(crate) open_gap: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) reply_timeout: Option<Duration>,
    /// Whether it says what its process used.
    pub(crate) is_first: bool,
}

/// A worker before its thread runs.
pub(crate) struct Worker<'a> {
    pub(crate) connections: Vec<Connection>,
    pub(crate) bench: Bench<'a>,
    orders: Orders<'a>,
    terms: Terms,
    to_open: VecDeque<u32>,
    /// When the next connection may be opened before the load begins.
    open_at: Moment,
    opening: usize,
    lines: Lines,
    swept: Moment,
    /// Whether something other than a reply is waited for.
    keeps_times: bool,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        mut connections: Vec<Connection>,
        (programs, shares, logins): (&'a [Program], Vec<Share<'a>>, &'a [Option<Login>]),
        timeline: Timeline,
        terms: Terms,
        channels: (&'a Control, Sender<Message>),
    ) -> Self {
        for (index, connection) in connections.iter_mut().enumerate() {
            connection.place.index = index as u32;
        }
        let lasting = connections.iter().filter(|connection| !connection.place.is_stranger);
        Self {
            to_open: lasting.map(|connection| connection.place.index).collect(),
            bench: Bench::new((programs, shares), logins, timeline, connections.len()),
            connections,
            orders: Orders::new(channels, programs.len(), terms.is_first),
            terms,
            open_at: Moment::now(),
            opening: 0,
            lines: Lines::default(),
            swept: Moment::ZERO,
            keeps_times: true,
        }
    }

    /// Runs to the end of the load.
    pub(crate) fn run(mut self) -> std::io::Result<Report> {
        prepare_thread(self.terms.is_batch);
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // all workers watch the one descriptor, and none reads it
        let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poll, self.orders.control.wake(), epoll::EventData::new_u64(WAKE), edges)?;
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        let tick = tick(&poll, TICK, LOOK_UP)?;
        let mut drained = Moment::NEVER;
        loop {
            // where nothing has a time to keep, that of the last wake-up is near enough: every reply reads
            // the clock itself
            let now = if self.keeps_times { self.bench.now() } else { self.bench.woken };
            self.bench.turn(now);
            if !self.bench.stopping {
                self.look_up(now);
                self.begin_streams(&poll, now);
                self.look_after(&poll, now);
                self.call_free(&poll);
                if self.bench.stopping {
                    drained = now.after(ns(DRAIN_MAX));
                }
            }
            self.open_waiting(&poll, now);
            if self.bench.stopping && (now >= drained || self.is_quiet()) {
                break;
            }
            let patience = self.patience(drained);
            events.wait(poll.as_fd(), patience)?;
            self.bench.woken = self.bench.now();
            for index in 0..events.count() {
                match events.at(index) {
                    (WAKE, _) => {}
                    (TICK, _) => {
                        // nothing to read means that it was read already
                        let _ = rustix::io::read(&tick, &mut [0u8; 8]);
                    }
                    (THROUGH, _) => self.let_in(&poll),
                    event => self.serve(&poll, event),
                }
            }
        }
        Ok(self.finish())
    }

    /// What the coordinator wants, and whether the time is over.
    fn look_up(&mut self, now: Moment) {
        if self.orders.look_up(&mut self.bench, now) {
            self.note_in_flight(now);
            self.bench.stopping = true;
        }
    }

    /// Begins the streams whose time has come.
    fn begin_streams(&mut self, poll: &OwnedFd, now: Moment) {
        for stream in 0..self.bench.shares.len() {
            if !self.orders.begin(&mut self.bench, stream, now) {
                continue;
            }
            for index in 0..self.connections.len() {
                let connection = &mut self.connections[index];
                if connection.place.stream != stream || !connection.place.works {
                    continue;
                }
                connection.agenda.next_due = self.bench.shares[stream].first_due(connection.place.number);
                if connection.is_free() {
                    let now = self.bench.now();
                    let result = connection.take_up(now, &mut self.bench);
                    self.settle(poll, index, result.map(|()| After::Carry));
                }
            }
        }
    }

    /// Looks after the connections that have asked for it: those that have a transaction due, and those that
    /// are to be opened again. Then after those that take longer than they may.
    fn look_after(&mut self, poll: &OwnedFd, now: Moment) {
        while let Some(Reverse((at, _))) = self.bench.timers.peek()
            && *at <= now
        {
            let Some(Reverse((at, index))) = self.bench.timers.pop() else { break };
            let connection = &mut self.connections[index as usize];
            if connection.agenda.wake != at {
                continue; // it has asked for another time since
            }
            connection.agenda.wake = Moment::NEVER;
            if connection.is_down() {
                self.to_open.push_back(index);
            } else if connection.is_free() {
                let now = self.bench.now();
                let result = connection.take_up(now, &mut self.bench);
                self.settle(poll, index as usize, result.map(|()| After::Carry));
            }
        }
        if now >= self.swept.after(SWEEP_NS) {
            self.swept = now;
            self.sweep(now);
        }
    }

    fn sweep(&mut self, now: Moment) {
        let Terms { connect_timeout, reply_timeout, .. } = self.terms;
        for index in 0..self.connections.len() {
            if let Some(loss) = self.connections[index].overdue(now, connect_timeout, reply_timeout) {
                self.lost(index, &loss);
            }
        }
    }

    /// Lets free connections of open loops begin what is due.
    fn call_free(&mut self, poll: &OwnedFd) {
        for stream in 0..self.bench.shares.len() {
            for _ in 0..CALLS_AT_ONCE {
                if self.bench.shares[stream].call_at() == Moment::NEVER {
                    break; // no open loop, or nobody to call: not worth a look at the clock
                }
                let now = self.bench.now();
                let Some(index) = self.bench.shares[stream].call(now) else { break };
                let connection = &mut self.connections[index as usize];
                connection.agenda.is_in_queue = false;
                if connection.is_free() {
                    let result = connection.take_up(now, &mut self.bench);
                    self.settle(poll, index as usize, result.map(|()| After::Carry));
                }
            }
        }
    }

    fn is_quiet(&self) -> bool {
        !self.connections.iter().any(Connection::is_waiting)
    }

    fn note_in_flight(&mut self, now: Moment) {
        for connection in &self.connections {
            if let Some(began) = connection.busy_since() {
                self.bench.shares[connection.place.stream].in_flight.add(began, now);
            }
        }
    }

    /// How long events may be waited for until something else is to be done; `None`: until the next tick.
    fn patience(&mut self, drained: Moment) -> Option<Duration> {
        let mut until = drained;
        if !self.bench.stopping {
            let timer = self.bench.timers.peek().map_or(Moment::NEVER, |Reverse((at, _))| *at);
            until = until.min(timer).min(self.next_opening());
            if self.bench.tally.started() {
                for share in &self.bench.shares {
                    until = until.min(if share.begun { share.call_at() } else { share.begins });
                }
            }
        }
        self.keeps_times = until != Moment::NEVER;
        let wait_ns = self.keeps_times.then(|| until.since(self.bench.now()))?;
        Some(Duration::from_nanos(wait_ns)).filter(|&wait| wait < LOOK_UP)
    }

    /// When the next connection may be opened, where one waits only for that.
    fn next_opening(&self) -> Moment {
        let waits = !self.to_open.is_empty() && self.opening < self.terms.opening_at_once;
        if waits { self.open_at } else { Moment::NEVER }
    }

    /// Opens connections that are due, as many as may be on their way at once.
    fn open_waiting(&mut self, poll: &OwnedFd, now: Moment) {
        while self.opening < self.terms.opening_at_once && !self.bench.stopping {
            if !self.bench.tally.started() && !self.terms.open_gap.is_zero() {
                if now < self.open_at {
                    return;
                }
                self.open_at = self.open_at.max(now.before(SWEEP_NS)).after(ns(self.terms.open_gap));
            }
            let Some(index) = self.to_open.pop_front() else { return };
            self.opening += 1;
            self.connections[index as usize].opening.has_place = true;
            self.open(poll, index as usize);
        }
    }

    fn open(&mut self, poll: &OwnedFd, index: usize) {
        let connection = &mut self.connections[index];
        let waits = self.lines.waits(connection.place.server);
        let result = match connection.open(&self.bench, waits) {
            Ok(None) => self.watch(poll, index),
            Ok(Some(socket)) => self.queue(poll, index, socket),
            Err(loss) => Err(loss),
        };
        if let Err(loss) = result {
            self.lost(index, &loss);
        }
    }

    /// The backlog of the server's Unix socket is full: the socket waits its turn.
    fn queue(&mut self, poll: &OwnedFd, index: usize, socket: OwnedFd) -> Result<(), Loss> {
        let connection = &self.connections[index];
        let Peer::Unix(path) = &self.bench.login(connection.place.server).peer else {
            return Err(Loss::Closed);
        };
        // the worker itself gives up what takes too long, and is to be the first who does
        let until = Instant::now() + self.terms.connect_timeout + LOOK_UP;
        let ticket = Ticket { connection: index as u32, attempt: connection.opening.attempt };
        let waiting = Waiting { ticket, socket, until };
        Ok(self.lines.join((poll, THROUGH), (connection.place.server, path), waiting)?)
    }

    /// Sockets have got through a full backlog.
    fn let_in(&mut self, poll: &OwnedFd) {
        while let Some((ticket, result)) = self.lines.through() {
            let index = ticket.connection as usize;
            let connection = &mut self.connections[index];
            if !connection.is_in_line(ticket.attempt) {
                continue; // it was given up meanwhile
            }
            let result = match result {
                Ok(socket) => {
                    connection.go_on_with(socket);
                    self.watch(poll, index)
                }
                Err(error) => Err(Loss::Io(error)),
            };
            if let Err(loss) = result {
                self.lost(index, &loss);
            }
        }
    }

    fn watch(&mut self, poll: &OwnedFd, index: usize) -> Result<(), Loss> {
        let connection = &self.connections[index];
        let socket = connection.channel.socket().ok_or(Loss::Closed)?;
        let token = epoll::EventData::new_u64(index as u64);
        epoll::add(poll, socket, token, WATCHED | epoll::EventFlags::OUT).map_err(std::io::Error::from)?;
        Ok(())
    }

    fn serve(&mut self, poll: &OwnedFd, (token, flags): (u64, epoll::EventFlags)) {
        let index = token as usize;
        let connection = &mut self.connections[index];
        let mut result = Ok(After::Carry);
        if flags.contains(epoll::EventFlags::OUT) {
            result = connection.on_writable(&self.bench).map(|()| After::Carry);
        }
        // the end of a socket comes after its last bytes, and is told once
        connection.channel.is_to_be_rearmed = flags.intersects(ENDS);
        if result.is_ok() && flags.intersects(ENDS | epoll::EventFlags::IN) && !connection.is_down() {
            result = connection.on_readable(&mut self.bench);
        }
        self.settle(poll, index, result);
    }

    /// After a connection was served: watch for what it needs next, or take its loss.
    #[inline]
    fn settle(&mut self, poll: &OwnedFd, index: usize, result: Result<After, Loss>) {
        let connection = &mut self.connections[index];
        match result {
            Ok(After::Carry) if connection.is_called() => return self.open(poll, index),
            Ok(After::Carry) => {}
            Ok(After::LoggedIn) => return self.logged_in(poll, index),
            Err(loss) => return self.lost(index, &loss),
        }
        let blocked = connection.is_blocked();
        if (blocked != connection.channel.wants_write || connection.channel.is_to_be_rearmed)
            && let Some(socket) = connection.channel.socket()
        {
            let mut flags = WATCHED;
            flags.set(epoll::EventFlags::OUT, blocked);
            let token = epoll::EventData::new_u64(index as u64);
            // this can only fail for a descriptor that is not ours
            let _ = epoll::modify(poll, socket, token, flags);
            connection.channel.wants_write = blocked;
            connection.channel.is_to_be_rearmed = false;
        }
    }

    fn logged_in(&mut self, poll: &OwnedFd, index: usize) {
        let connection = &mut self.connections[index];
        if std::mem::take(&mut connection.opening.has_place) {
            self.opening -= 1;
        }
        if !self.bench.tally.started() {
            let version = connection.channel.server_version().unwrap_or_default().to_owned();
            connection.opening.is_told = true;
            self.orders.tell(Message::Opened { version });
        }
        let mut result = Ok(());
        if self.bench.tally.started() && !self.bench.stopping {
            let now = self.bench.now();
            result = connection.resume(now, &mut self.bench);
        }
        self.settle(poll, index, result.map(|()| After::Carry));
    }

    /// A connection is gone, or could not be opened.
    fn lost(&mut self, index: usize, loss: &Loss) {
        let now = self.bench.now();
        let connection = &mut self.connections[index];
        if std::mem::take(&mut connection.opening.has_place) {
            self.opening -= 1;
        }
        if connection.is_opening()
            && let Some(connects) = connection::connects(&mut self.bench, connection.place.stream)
        {
            connects.failed += 1;
        }
        if self.bench.tally.started() {
            connection.fail_transaction(&mut self.bench, now);
            let (code, state) = loss.code();
            self.bench.count_error(connection.place.stream, code, state, &loss.to_string(), now);
        } else {
            let code = loss.code().0;
            // a server's refusal names its code itself
            let says_code = matches!(loss, Loss::Wire(wire::Error::Server { .. }));
            let text = if says_code { loss.to_string() } else { format!("{loss} (error {code})") };
            let was_open = std::mem::take(&mut connection.opening.is_told);
            self.orders.tell(Message::NotOpened { loss: text, code, was_open });
        }
        let doublings = connection.opening.failures.min(8);
        connection.close();
        if connection.place.is_stranger {
            return self.turned_away(index, now);
        }
        if !self.bench.stopping {
            let pause = (BACK_OFF * 2u32.pow(doublings)).min(BACK_OFF_MAX);
            connection.agenda.wake = now.after(ns(pause));
            self.bench.wake_at(connection.agenda.wake, index as u32);
        }
    }

    /// A login was refused, as it was to be: the next one is the next transaction's.
    fn turned_away(&mut self, index: usize, now: Moment) {
        let connection = &mut self.connections[index];
        connection.stage = Stage::Away;
        connection.be_ready(now, &mut self.bench);
        // never at once: whoever cannot connect at all would try in a circle
        connection.agenda.wake = connection.agenda.next_due.max(now.after(ns(TURNED_AWAY)));
        self.bench.wake_at(connection.agenda.wake, index as u32);
    }

    fn finish(mut self) -> Report {
        let mut finished = Vec::with_capacity(self.connections.len());
        for connection in &mut self.connections {
            if connection.place.works {
                finished.push((connection.place.stream, connection.place.number, connection.finished));
            }
            connection.quit(&mut self.bench);
        }
        self.orders.report(self.bench, finished)
    }
}
