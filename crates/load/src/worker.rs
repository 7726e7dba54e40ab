//! One thread with its connections: an event loop over epoll. Connections are owned by workers and nothing is shared
//! between two of them, so that throughput grows with processors.

use crate::{
    bench::{Bench, Login, Timeline},
    connection::{After, Connection, Loss},
    engine::{Control, Message},
    histogram::Histogram,
    io::{self, Usage},
    program::Program,
    record::ErrorBook,
};
use rustix::{
    event::{Timespec, epoll},
    fd::{AsFd as _, OwnedFd},
};
use std::{
    collections::VecDeque,
    sync::{Arc, mpsc::Sender},
    time::{Duration, Instant},
};

/// Events taken from the kernel at once. Small, so that the last of them has not waited long.
const EVENTS_AT_ONCE: usize = 128;
/// Connections of one worker that are being opened at the same time: below the default length of a server's queue
/// (`back_log` 80), so that none is dropped and retried by the kernel after a second.
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

/// What a worker has to tell in the end.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) connect: Vec<Histogram>,
    pub(crate) opened: Vec<u64>,
    pub(crate) rolled_back: Vec<u64>,
    pub(crate) errors: Vec<ErrorBook>,
    /// Stream, number and transactions of each connection.
    pub(crate) finished: Vec<(usize, u32, u64)>,
    pub(crate) in_flight: Vec<InFlight>,
    pub(crate) usage: Usage,
}

/// Transactions that had not ended when the interval was over.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InFlight {
    pub(crate) count: u32,
    pub(crate) age_max: Duration,
}

/// A worker before its thread runs.
pub(crate) struct Worker<'a> {
    pub(crate) connections: Vec<Connection>,
    pub(crate) bench: Bench<'a>,
    pub(crate) control: &'a Control,
    pub(crate) messages: Sender<Message>,
    pub(crate) wake: Arc<OwnedFd>,
    to_open: VecDeque<usize>,
    opening: usize,
    /// Lost connections and when to open them again, ns since the engine began.
    down: Vec<(u64, usize)>,
    usage_at_start: Option<Usage>,
    in_flight: Vec<InFlight>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        connections: Vec<Connection>,
        (programs, login, epoch): (&'a [Program], &'a Login, Instant),
        timeline: Timeline,
        control: &'a Control,
        (messages, wake): (Sender<Message>, Arc<OwnedFd>),
    ) -> Self {
        Self {
            to_open: (0..connections.len()).collect(),
            connections,
            bench: Bench::new(programs, login, timeline, epoch),
            control,
            messages,
            wake,
            opening: 0,
            down: Vec::new(),
            usage_at_start: None,
            in_flight: vec![InFlight::default(); programs.len()],
        }
    }

    /// Runs to the end of the load.
    pub(crate) fn run(mut self) -> std::io::Result<Report> {
        io::be_a_batch_thread();
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, &*self.wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        let mut drained_ns = u64::MAX;
        loop {
            self.open_waiting(&poll);
            let now_ns = self.bench.now_ns();
            self.bench.tally.turn(now_ns, self.bench.programs);
            if !self.bench.stopping {
                self.look_up(&poll, now_ns);
                if self.bench.stopping {
                    drained_ns = now_ns + DRAIN_MAX.as_nanos() as u64;
                }
            }
            if self.bench.stopping && (now_ns >= drained_ns || self.is_quiet()) {
                break;
            }
            events.clear();
            let wait = self.wait(now_ns, drained_ns);
            match epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.serve(&poll, *event);
            }
        }
        Ok(self.finish())
    }

    /// What the coordinator wants: start, or stop; and whether the time is over.
    fn look_up(&mut self, poll: &OwnedFd, now_ns: u64) {
        if let Some(start_ns) = self.control.start_ns()
            && !self.bench.tally.started()
        {
            self.start(poll, start_ns);
        }
        if self.bench.tally.is_measuring() && self.usage_at_start.is_none() {
            self.usage_at_start = Some(io::thread_usage());
        }
        if let Some(message) = self.bench.hopeless.take() {
            // the coordinator may be gone already: then the load is being given up anyway
            let _ = self.messages.send(Message::Hopeless(message));
            self.bench.stopping = true;
        }
        if self.control.is_stopped() || self.bench.tally.over {
            self.note_in_flight(now_ns);
            self.bench.stopping = true;
        }
    }

    fn start(&mut self, poll: &OwnedFd, start_ns: u64) {
        self.bench.tally.start(start_ns);
        for index in 0..self.connections.len() {
            if self.connections[index].is_idle() {
                let result = self.connections[index].begin(&mut self.bench);
                self.settle(poll, index, result.map(|()| After::Carry));
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.connections.iter().all(|connection| connection.busy_since_ns().is_none())
    }

    fn note_in_flight(&mut self, now_ns: u64) {
        for connection in &self.connections {
            if let Some(began_ns) = connection.busy_since_ns() {
                let entry = &mut self.in_flight[connection.stream];
                entry.count += 1;
                entry.age_max = entry.age_max.max(Duration::from_nanos(now_ns.saturating_sub(began_ns)));
            }
        }
    }

    fn wait(&self, now_ns: u64, drained_ns: u64) -> Timespec {
        let retry_ns = self.down.iter().map(|(at, _)| *at).min().unwrap_or(u64::MAX);
        let until = self.bench.tally.end_ns().min(drained_ns).min(retry_ns);
        let wait = Duration::from_nanos(until.saturating_sub(now_ns)).min(LOOK_UP);
        Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
    }

    /// Opens connections that are due, as many as may be on their way at once.
    fn open_waiting(&mut self, poll: &OwnedFd) {
        if !self.down.is_empty() {
            let now_ns = self.bench.now_ns();
            let Self { down, to_open, .. } = self;
            down.retain(|(at, index)| {
                let due = *at <= now_ns;
                if due {
                    to_open.push_back(*index);
                }
                !due
            });
        }
        while self.opening < OPENING_AT_ONCE && !self.bench.stopping {
            let Some(index) = self.to_open.pop_front() else { return };
            self.opening += 1;
            let result = self.connections[index].open(&self.bench).and_then(|()| self.watch(poll, index));
            self.settle(poll, index, result.map(|()| After::Carry));
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

    fn serve(&mut self, poll: &OwnedFd, event: epoll::Event) {
        let (token, flags) = (event.data.u64(), event.flags); // copied: the kernel's struct is packed
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
        self.opening -= 1;
        let version = self.connections[index].server_version().unwrap_or_default().to_owned();
        let _ = self.messages.send(Message::Opened { version });
        let mut result = Ok(());
        if self.bench.tally.started() && !self.bench.stopping {
            result = self.connections[index].begin(&mut self.bench);
        }
        self.settle(poll, index, result.map(|()| After::Carry));
    }

    /// A connection is gone, or could not be opened.
    fn lost(&mut self, index: usize, loss: &Loss) {
        let now_ns = self.bench.now_ns();
        let connection = &mut self.connections[index];
        let was_opening = connection.is_opening();
        if was_opening {
            self.opening -= 1;
        }
        // a full queue of a Unix socket is no failure: the server is just slow to accept
        let busy = matches!(loss, Loss::Io(error) if error.kind() == std::io::ErrorKind::WouldBlock);
        if self.bench.tally.started() && !busy {
            connection.fail_transaction(&mut self.bench, now_ns);
            let (code, state) = loss.code();
            self.bench.count_error(connection.stream, code, state, &loss.to_string(), now_ns);
        } else if !busy {
            let _ = self.messages.send(Message::NotOpened { loss: loss.to_string(), code: loss.code().0 });
        }
        let doublings = connection.failures().min(8);
        connection.close();
        if !self.bench.stopping {
            let pause = (BACK_OFF * 2u32.pow(doublings)).min(BACK_OFF_MAX);
            self.down.push((now_ns + pause.as_nanos() as u64, index));
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
            finished.push((connection.stream, connection.number, connection.finished));
            connection.quit(&mut self.bench);
        }
        let Bench { connect, opened, rolled_back, errors, .. } = self.bench;
        Report { connect, opened, rolled_back, errors, finished, in_flight: self.in_flight, usage }
    }
}
