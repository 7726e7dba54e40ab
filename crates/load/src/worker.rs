//! One thread with its connections: an event loop over epoll. Connections are owned by workers and nothing is
//! shared between two of them, so that throughput grows with processors.

use crate::{
    bench::{Bench, Login, Timeline},
    connection::{self, After, Connection, Loss},
    engine::{Control, Message},
    histogram::Histogram,
    io::{self, Events, Usage},
    outage::Silence,
    program::Program,
    record::ErrorBook,
    sample::Connects,
    share::{InFlight, Share},
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
use std::{
    cmp::Reverse,
    collections::VecDeque,
    num::NonZeroU64,
    sync::{Arc, mpsc::Sender},
    time::{Duration, Instant},
};

/// Events taken from the kernel at once. Small, so that the last of them has not waited long.
const EVENTS_AT_ONCE: usize = 128;
/// Connections of one worker that are being opened at the same time: below the default length of a server's
/// queue (`back_log` 80), so that none is dropped and retried by the kernel after a second.
const OPENING_AT_ONCE: usize = 24;
/// First pause before a lost connection is opened again; doubled up to [`BACK_OFF_MAX`].
const BACK_OFF: Duration = Duration::from_millis(20);
/// Longest such pause.
const BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// How long replies are waited for after the end of the load, before connections are cut.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// How often the worker looks whether it is to stop, when nothing else happens.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Token of the descriptor that wakes the worker.
const WAKE: u64 = u64::MAX;
/// Token of the timer that wakes it regularly.
const TICK: u64 = u64::MAX - 1;

/// Transactions of an open loop that are begun before replies are looked at again.
const CALLS_AT_ONCE: usize = 64;
/// How often connections are looked through for those that take longer than they may.
const SWEEP_NS: u64 = 50_000_000;

/// What a worker has to tell in the end.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) streams: Vec<StreamReport>,
    /// Stream, number and transactions of each connection that works.
    pub(crate) finished: Vec<(usize, u32, u64)>,
    pub(crate) usage: Usage,
    pub(crate) send_delay: Histogram,
    pub(crate) queueing: Histogram,
}

/// What it has to tell of a stream.
#[derive(Debug)]
pub(crate) struct StreamReport {
    pub(crate) opening: Connects,
    pub(crate) reconnecting: Connects,
    pub(crate) opened: u64,
    pub(crate) rolled_back: u64,
    pub(crate) errors: ErrorBook,
    pub(crate) silences: Vec<Silence>,
    pub(crate) begin_ns: u64,
    pub(crate) in_flight: InFlight,
}

/// What a worker needs to know of the load beside its connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) is_batch: bool,
    /// Pause between two connections that this worker opens before the load begins.
    pub(crate) open_gap: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) reply_timeout: Option<Duration>,
    pub(crate) epoch: Instant,
}

/// A worker before its thread runs.
pub(crate) struct Worker<'a> {
    pub(crate) connections: Vec<Connection>,
    pub(crate) bench: Bench<'a>,
    pub(crate) control: &'a Control,
    pub(crate) messages: Sender<Message>,
    pub(crate) wake: Arc<OwnedFd>,
    terms: Terms,
    to_open: VecDeque<u32>,
    /// When the next connection may be opened before the load begins.
    open_ns: u64,
    opening: usize,
    swept_ns: u64,
    /// Streams of which the coordinator knows that they have reached their limit.
    told_done: Vec<bool>,
    /// Whether the end was moved to an earlier time.
    is_cut: bool,
    /// Whether the end of the warm-up was.
    is_warm: bool,
    /// Whether something other than a reply is waited for.
    keeps_times: bool,
    usage_at_start: Option<Usage>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        mut connections: Vec<Connection>,
        (programs, shares, logins): (&'a [Program], Vec<Share<'a>>, &'a [Option<Login>]),
        timeline: Timeline,
        terms: Terms,
        (control, messages, wake): (&'a Control, Sender<Message>, Arc<OwnedFd>),
    ) -> Self {
        for (index, connection) in connections.iter_mut().enumerate() {
            connection.index = index as u32;
        }
        Self {
            to_open: (0..connections.len() as u32).collect(),
            bench: Bench::new((programs, shares), logins, timeline, (terms.epoch, connections.len())),
            connections,
            control,
            messages,
            wake,
            terms,
            open_ns: 0,
            opening: 0,
            swept_ns: 0,
            told_done: vec![false; programs.len()],
            is_cut: false,
            is_warm: false,
            keeps_times: true,
            usage_at_start: None,
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
        epoll::add(&poll, &*self.wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        let tick = self.tick(&poll)?;
        let mut drained_ns = u64::MAX;
        loop {
            // where nothing has a time to keep, that of the last wake-up is near enough: every reply reads
            // the clock itself
            let now_ns = if self.keeps_times { self.bench.now_ns() } else { self.bench.woken_ns };
            self.bench.turn(now_ns);
            if !self.bench.stopping {
                self.look_up(now_ns);
                self.begin_streams(&poll, now_ns);
                self.look_after(&poll, now_ns);
                self.call_free(&poll);
                if self.bench.stopping {
                    drained_ns = now_ns + DRAIN_MAX.as_nanos() as u64;
                }
            }
            self.open_waiting(&poll, now_ns);
            if self.bench.stopping && (now_ns >= drained_ns || self.is_quiet()) {
                break;
            }
            let patience = self.patience(drained_ns);
            events.wait(poll.as_fd(), patience)?;
            self.bench.woken_ns = self.bench.now_ns();
            for index in 0..events.count() {
                match events.at(index) {
                    (TICK, _) => self.control.acknowledge(&tick),
                    event => self.serve(&poll, event),
                }
            }
        }
        Ok(self.finish())
    }

    /// What the coordinator wants: start, begin of a stream, end; and whether the time is over.
    fn look_up(&mut self, now_ns: u64) {
        if let Some(start_ns) = self.control.start_ns()
            && !self.bench.tally.started()
        {
            self.bench.tally.start(start_ns);
        }
        if let Some(at_ns) = self.control.measure_ns()
            && !self.is_warm
        {
            self.is_warm = true;
            self.bench.measure_from(at_ns);
        }
        for (index, share) in self.bench.shares.iter_mut().enumerate() {
            if !share.begun {
                share.begin_ns = self.control.begin_ns(index);
            }
            if !self.told_done[index] && share.is_done() {
                self.told_done[index] = true;
                let done = Message::Done { stream: index, at_ns: share.ended_ns };
                // the coordinator may be gone already: then the load is being given up anyway
                let _ = self.messages.send(done);
            }
        }
        if let Some(end_ns) = self.control.end_ns()
            && !self.is_cut
        {
            self.is_cut = true;
            self.bench.cut(end_ns);
        }
        if self.bench.tally.is_measuring() && self.usage_at_start.is_none() {
            self.usage_at_start = Some(io::thread_usage());
        }
        if let Some(message) = self.bench.hopeless.take() {
            let _ = self.messages.send(Message::Hopeless(message));
            self.bench.stopping = true;
        }
        if self.control.is_stopped() || self.bench.tally.over {
            self.note_in_flight(now_ns);
            self.bench.stopping = true;
        }
    }

    /// Begins the streams whose time has come.
    fn begin_streams(&mut self, poll: &OwnedFd, now_ns: u64) {
        for stream in 0..self.bench.shares.len() {
            let share = &mut self.bench.shares[stream];
            if share.begun || now_ns < share.begin_ns || !self.bench.tally.started() {
                continue;
            }
            share.begin();
            for index in 0..self.connections.len() {
                let connection = &mut self.connections[index];
                if connection.stream != stream || !connection.works {
                    continue;
                }
                connection.next_due_ns = self.bench.shares[stream].first_due_ns(connection.number);
                if connection.is_free() {
                    let now_ns = self.bench.now_ns();
                    let result = connection.take_up(now_ns, &mut self.bench);
                    self.settle(poll, index, result.map(|()| After::Carry));
                }
            }
        }
    }

    /// Looks after the connections that have asked for it: those that have a transaction due, and those that
    /// are to be opened again. Then after those that take longer than they may.
    fn look_after(&mut self, poll: &OwnedFd, now_ns: u64) {
        while let Some(Reverse((at_ns, _))) = self.bench.timers.peek()
            && *at_ns <= now_ns
        {
            let Some(Reverse((at_ns, index))) = self.bench.timers.pop() else { break };
            let connection = &mut self.connections[index as usize];
            if connection.wake_ns != at_ns {
                continue; // it has asked for another time since
            }
            connection.wake_ns = u64::MAX;
            if connection.is_down() {
                self.to_open.push_back(index);
            } else if connection.is_free() {
                let now_ns = self.bench.now_ns();
                let result = connection.take_up(now_ns, &mut self.bench);
                self.settle(poll, index as usize, result.map(|()| After::Carry));
            }
        }
        if now_ns >= self.swept_ns + SWEEP_NS {
            self.swept_ns = now_ns;
            self.sweep(now_ns);
        }
    }

    fn sweep(&mut self, now_ns: u64) {
        let Terms { connect_timeout, reply_timeout, .. } = self.terms;
        for index in 0..self.connections.len() {
            if let Some(loss) = self.connections[index].overdue(now_ns, connect_timeout, reply_timeout) {
                self.lost(index, &loss);
            }
        }
    }

    /// Lets free connections of open loops begin what is due.
    fn call_free(&mut self, poll: &OwnedFd) {
        for stream in 0..self.bench.shares.len() {
            for _ in 0..CALLS_AT_ONCE {
                if self.bench.shares[stream].call_ns() == u64::MAX {
                    break; // no open loop, or nobody to call: not worth a look at the clock
                }
                let now_ns = self.bench.now_ns();
                let Some(index) = self.bench.shares[stream].call(now_ns) else { break };
                let connection = &mut self.connections[index as usize];
                connection.is_in_queue = false;
                if connection.is_free() {
                    let result = connection.take_up(now_ns, &mut self.bench);
                    self.settle(poll, index as usize, result.map(|()| After::Carry));
                }
            }
        }
    }

    fn is_quiet(&self) -> bool {
        !self.connections.iter().any(Connection::is_waiting)
    }

    fn note_in_flight(&mut self, now_ns: u64) {
        for connection in &self.connections {
            if let Some(began_ns) = connection.busy_since_ns() {
                self.bench.shares[connection.stream].in_flight.add(began_ns, now_ns);
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
    fn patience(&mut self, drained_ns: u64) -> Option<Duration> {
        let mut until_ns = drained_ns;
        if !self.bench.stopping {
            let timer_ns = self.bench.timers.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
            until_ns = until_ns.min(timer_ns).min(self.open_ns_waited_for());
            if self.bench.tally.started() {
                for share in &self.bench.shares {
                    until_ns = until_ns.min(if share.begun { share.call_ns() } else { share.begin_ns });
                }
            }
        }
        self.keeps_times = until_ns != u64::MAX;
        let wait_ns = self.keeps_times.then(|| until_ns.saturating_sub(self.bench.now_ns()))?;
        Some(Duration::from_nanos(wait_ns)).filter(|&wait| wait < LOOK_UP)
    }

    /// When the next connection may be opened, where one waits only for that.
    fn open_ns_waited_for(&self) -> u64 {
        let waits = !self.to_open.is_empty() && self.opening < OPENING_AT_ONCE;
        if waits { self.open_ns } else { u64::MAX }
    }

    /// Opens connections that are due, as many as may be on their way at once.
    fn open_waiting(&mut self, poll: &OwnedFd, now_ns: u64) {
        while self.opening < OPENING_AT_ONCE && !self.bench.stopping {
            if !self.bench.tally.started() && !self.terms.open_gap.is_zero() {
                if now_ns < self.open_ns {
                    return;
                }
                self.open_ns =
                    self.open_ns.max(now_ns.saturating_sub(SWEEP_NS)) + self.terms.open_gap.as_nanos() as u64;
            }
            let Some(index) = self.to_open.pop_front() else { return };
            self.opening += 1;
            self.connections[index as usize].has_opening_place = true;
            self.open(poll, index as usize);
        }
    }

    fn open(&mut self, poll: &OwnedFd, index: usize) {
        if let Err(loss) = self.connections[index].open(&self.bench).and_then(|()| self.watch(poll, index)) {
            self.lost(index, &loss);
        }
    }

    fn watch(&mut self, poll: &OwnedFd, index: usize) -> Result<(), Loss> {
        let connection = &self.connections[index];
        let transport = connection.transport().ok_or(Loss::Closed)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT;
        let token = epoll::EventData::new_u64(index as u64);
        epoll::add(poll, transport.as_fd(), token, flags).map_err(std::io::Error::from)?;
        Ok(())
    }

    fn serve(&mut self, poll: &OwnedFd, (token, flags): (u64, epoll::EventFlags)) {
        if token == WAKE {
            self.control.acknowledge(&self.wake);
            return;
        }
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
        if blocked != connection.wants_write
            && let Some(transport) = connection.transport()
        {
            let mut flags = epoll::EventFlags::IN;
            flags.set(epoll::EventFlags::OUT, blocked);
            let token = epoll::EventData::new_u64(index as u64);
            // this can only fail for a descriptor that is not ours
            let _ = epoll::modify(poll, transport.as_fd(), token, flags);
            connection.wants_write = blocked;
        }
    }

    fn logged_in(&mut self, poll: &OwnedFd, index: usize) {
        let connection = &mut self.connections[index];
        if std::mem::take(&mut connection.has_opening_place) {
            self.opening -= 1;
        }
        if !self.bench.tally.started() {
            let version = connection.server_version().unwrap_or_default().to_owned();
            let _ = self.messages.send(Message::Opened { version });
        }
        let mut result = Ok(());
        if self.bench.tally.started() && !self.bench.stopping {
            let now_ns = self.bench.now_ns();
            result = connection.resume(now_ns, &mut self.bench);
        }
        self.settle(poll, index, result.map(|()| After::Carry));
    }

    /// A connection is gone, or could not be opened.
    fn lost(&mut self, index: usize, loss: &Loss) {
        let now_ns = self.bench.now_ns();
        let connection = &mut self.connections[index];
        if std::mem::take(&mut connection.has_opening_place) {
            self.opening -= 1;
        }
        // a full queue of a Unix socket is no failure: the server is just slow to accept
        let is_busy = matches!(loss, Loss::Io(error) if error.kind() == std::io::ErrorKind::WouldBlock);
        if !is_busy {
            if connection.is_opening()
                && let Some(connects) = connection::connects(&mut self.bench, connection.stream)
            {
                connects.failed += 1;
            }
            if self.bench.tally.started() {
                connection.fail_transaction(&mut self.bench, now_ns);
                let (code, state) = loss.code();
                self.bench.count_error(connection.stream, code, state, &loss.to_string(), now_ns);
            } else {
                let code = loss.code().0;
                // a server's refusal names its code itself
                let says_code = matches!(loss, Loss::Wire(wire::Error::Server { .. }));
                let text = if says_code { loss.to_string() } else { format!("{loss} (error {code})") };
                let _ = self.messages.send(Message::NotOpened { loss: text, code });
            }
        }
        let doublings = connection.failures().min(8);
        connection.close();
        if !self.bench.stopping {
            let pause = (BACK_OFF * 2u32.pow(doublings)).min(BACK_OFF_MAX);
            connection.wake_ns = now_ns + pause.as_nanos() as u64;
            self.bench.wake_at(connection.wake_ns, index as u32);
        }
    }

    fn finish(mut self) -> Report {
        let end = io::thread_usage();
        let start = self.usage_at_start.unwrap_or(end);
        let usage = Usage {
            user: end.user.saturating_sub(start.user),
            system: end.system.saturating_sub(start.system),
        };
        let mut finished = Vec::with_capacity(self.connections.len());
        for connection in &mut self.connections {
            if connection.works {
                finished.push((connection.stream, connection.number, connection.finished));
            }
            connection.quit(&mut self.bench);
        }
        let end_ns = self.bench.tally.load_end_ns();
        let Bench { shares, send_delay, queueing, .. } = self.bench;
        let report = |share: Share<'_>| StreamReport {
            silences: share.watch.finish(if share.over { share.ended_ns } else { end_ns }),
            opening: share.opening,
            reconnecting: share.reconnecting,
            opened: share.opened,
            rolled_back: share.rolled_back,
            errors: share.errors,
            begin_ns: share.begin_ns,
            in_flight: share.in_flight,
        };
        let streams = shares.into_iter().map(report).collect();
        Report { streams, finished, usage, send_delay, queueing }
    }
}
