//! One thread with its connections: an event loop over epoll. Connections are owned by workers and nothing is
//! shared between two of them, so that throughput grows with processors.

use crate::{
    bench::{Bench, Timeline},
    clock::{Moment, ns},
    connection::{self, After, Connection},
    control::{Control, Message},
    histogram::Histogram,
    io::{self, Events, Usage},
    line::{Lines, Ticket, Waiting},
    login::Login,
    loss::Loss,
    outage::Silence,
    program::Program,
    record::ErrorBook,
    sample::Connects,
    share::{InFlight, Share},
    transport::Peer,
};
use rustix::{
    event::epoll,
    fd::{AsFd as _, OwnedFd},
    thread::set_current_timer_slack,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Reverse,
    collections::VecDeque,
    num::NonZeroU64,
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

/// Events taken from the kernel at once. Small, so that the last of them has not waited long.
const EVENTS_AT_ONCE: usize = 128;
/// First pause before a lost connection is opened again; doubled up to [`BACK_OFF_MAX`].
const BACK_OFF: Duration = Duration::from_millis(20);
/// Longest such pause.
const BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// How long replies are waited for after the end of the load, before connections are cut.
const DRAIN_MAX: Duration = Duration::from_secs(2);
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

/// What a worker has to tell in the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) streams: Vec<StreamReport>,
    /// Stream, number and transactions of each connection that works.
    pub(crate) finished: Vec<(usize, u32, u64)>,
    pub(crate) usage: Usage,
    /// What its whole process used meanwhile, of the first worker only.
    pub(crate) of_process: Usage,
    /// How long after its time the first stream began.
    pub(crate) start_delay: Duration,
    pub(crate) send_delay: Histogram,
    pub(crate) queueing: Histogram,
}

/// What it has to tell of a stream.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StreamReport {
    pub(crate) opening: Connects,
    pub(crate) reconnecting: Connects,
    pub(crate) opened: u64,
    pub(crate) rolled_back: u64,
    pub(crate) errors: ErrorBook,
    pub(crate) silences: Vec<Silence>,
    pub(crate) begins: Moment,
    pub(crate) in_flight: InFlight,
}

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
    pub(crate) control: &'a Control,
    pub(crate) messages: Sender<Message>,
    terms: Terms,
    to_open: VecDeque<u32>,
    /// When the next connection may be opened before the load begins.
    open_at: Moment,
    opening: usize,
    lines: Lines,
    swept: Moment,
    /// Streams of which the coordinator knows that they have reached their limit.
    told_done: Vec<bool>,
    /// Whether the end was moved to an earlier time.
    is_cut: bool,
    /// Whether the end of the warm-up was.
    is_warm: bool,
    /// Whether something other than a reply is waited for.
    keeps_times: bool,
    /// CPU time of the thread and of the process: when the measurement began, and when it ended.
    used: [Option<(Usage, Usage)>; 2],
    start_delay: Option<Duration>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        mut connections: Vec<Connection>,
        (programs, shares, logins): (&'a [Program], Vec<Share<'a>>, &'a [Option<Login>]),
        timeline: Timeline,
        terms: Terms,
        (control, messages): (&'a Control, Sender<Message>),
    ) -> Self {
        for (index, connection) in connections.iter_mut().enumerate() {
            connection.place.index = index as u32;
        }
        Self {
            to_open: (0..connections.len() as u32).collect(),
            bench: Bench::new((programs, shares), logins, timeline, connections.len()),
            connections,
            control,
            messages,
            terms,
            open_at: Moment::now(),
            opening: 0,
            lines: Lines::default(),
            swept: Moment::ZERO,
            told_done: vec![false; programs.len()],
            is_cut: false,
            is_warm: false,
            keeps_times: true,
            used: [None; 2],
            start_delay: None,
        }
    }

    /// Runs to the end of the load.
    pub(crate) fn run(mut self) -> std::io::Result<Report> {
        if self.terms.is_batch {
            io::be_a_batch_thread();
        }
        // timers that fire when they are due; where the kernel refuses, starts are later and the result says
        // so
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // all workers watch the one descriptor, and none reads it
        let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poll, self.control.wake(), epoll::EventData::new_u64(WAKE), edges)?;
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        let tick = self.tick(&poll)?;
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

    /// What the coordinator wants: start, begin of a stream, end; and whether the time is over.
    fn look_up(&mut self, now: Moment) {
        if let Some(start) = self.control.start()
            && !self.bench.tally.started()
        {
            self.bench.tally.start(start);
        }
        if let Some(at_ns) = self.control.measure_ns()
            && !self.is_warm
        {
            self.is_warm = true;
            self.bench.measure_from(at_ns);
        }
        for (index, share) in self.bench.shares.iter_mut().enumerate() {
            if !share.begun {
                share.begins = self.control.begin(index);
            }
            if !self.told_done[index] && share.is_done() {
                self.told_done[index] = true;
                let done = Message::Done { stream: index, at: share.ended };
                // the coordinator may be gone already: then the load is being given up anyway
                let _ = self.messages.send(done);
            }
        }
        if let Some(end) = self.control.end()
            && !self.is_cut
        {
            self.is_cut = true;
            self.bench.cut(end);
        }
        if self.bench.tally.is_measuring() && self.used[0].is_none() {
            self.note_usage(0);
        }
        if let Some(message) = self.bench.hopeless.take() {
            let _ = self.messages.send(Message::Hopeless(message));
            self.bench.stopping = true;
        }
        if self.control.is_stopped() || self.bench.tally.over {
            self.note_in_flight(now);
            self.note_usage(1);
            self.bench.stopping = true;
        }
    }

    /// Notes what thread and process have used so far.
    fn note_usage(&mut self, place: usize) {
        let of_process = if self.terms.is_first { io::process_usage() } else { Usage::default() };
        self.used[place] = Some((io::thread_usage(), of_process));
    }

    /// Begins the streams whose time has come.
    fn begin_streams(&mut self, poll: &OwnedFd, now: Moment) {
        for stream in 0..self.bench.shares.len() {
            let share = &mut self.bench.shares[stream];
            if share.begun || now < share.begins || !self.bench.tally.started() {
                continue;
            }
            share.begin();
            let begins = share.begins;
            self.start_delay.get_or_insert_with(|| Duration::from_nanos(now.since(begins)));
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

    /// A timer that wakes the worker every [`LOOK_UP`], so that a wait need not arm one of its own: between
    /// two replies of a closed loop that would be a good part of the work.
    fn tick(&self, poll: &OwnedFd) -> std::io::Result<OwnedFd> {
        let tick = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let every = Timespec { tv_sec: 0, tv_nsec: LOOK_UP.subsec_nanos().into() };
        let setting = Itimerspec { it_interval: every, it_value: every };
        timerfd_settime(&tick, TimerfdTimerFlags::empty(), &setting)?;
        epoll::add(poll, &tick, epoll::EventData::new_u64(TICK), epoll::EventFlags::IN)?;
        Ok(tick)
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
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT;
        let token = epoll::EventData::new_u64(index as u64);
        epoll::add(poll, socket, token, flags).map_err(std::io::Error::from)?;
        Ok(())
    }

    fn serve(&mut self, poll: &OwnedFd, (token, flags): (u64, epoll::EventFlags)) {
        let index = token as usize;
        let connection = &mut self.connections[index];
        let mut result = Ok(After::Carry);
        if flags.contains(epoll::EventFlags::OUT) {
            result = connection.on_writable(&self.bench).map(|()| After::Carry);
        }
        let readable = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        if result.is_ok() && flags.intersects(readable) && !connection.is_down() {
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
        if blocked != connection.channel.wants_write
            && let Some(socket) = connection.channel.socket()
        {
            let mut flags = epoll::EventFlags::IN;
            flags.set(epoll::EventFlags::OUT, blocked);
            let token = epoll::EventData::new_u64(index as u64);
            // this can only fail for a descriptor that is not ours
            let _ = epoll::modify(poll, socket, token, flags);
            connection.channel.wants_write = blocked;
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
            let _ = self.messages.send(Message::Opened { version });
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
            let _ = self.messages.send(Message::NotOpened { loss: text, code, was_open });
        }
        let doublings = connection.opening.failures.min(8);
        connection.close();
        if !self.bench.stopping {
            let pause = (BACK_OFF * 2u32.pow(doublings)).min(BACK_OFF_MAX);
            connection.agenda.wake = now.after(ns(pause));
            self.bench.wake_at(connection.agenda.wake, index as u32);
        }
    }

    fn finish(mut self) -> Report {
        if self.used[1].is_none() {
            self.note_usage(1);
        }
        let end = self.used[1].unwrap_or_default();
        let start = self.used[0].unwrap_or(end);
        let (usage, of_process) = (end.0.since(start.0), end.1.since(start.1));
        let mut finished = Vec::with_capacity(self.connections.len());
        for connection in &mut self.connections {
            if connection.place.works {
                finished.push((connection.place.stream, connection.place.number, connection.finished));
            }
            connection.quit(&mut self.bench);
        }
        let end = self.bench.tally.load_end();
        let Bench { shares, send_delay, queueing, .. } = self.bench;
        let report = |share: Share<'_>| StreamReport {
            silences: share.watch.finish(if share.over { share.ended } else { end }),
            opening: share.opening,
            reconnecting: share.reconnecting,
            opened: share.opened,
            rolled_back: share.rolled_back,
            errors: share.errors,
            begins: share.begins,
            in_flight: share.in_flight,
        };
        let streams = shares.into_iter().map(report).collect();
        let start_delay = self.start_delay.unwrap_or_default();
        Report { streams, finished, usage, of_process, start_delay, send_delay, queueing }
    }
}
