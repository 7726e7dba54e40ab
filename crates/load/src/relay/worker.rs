//! A thread of the relay: one epoll over its connections, and one queue of what is due.

use super::{
    inbox::{Inbox, Message, Tally},
    line::Used,
    pair::{Pair, Side},
};
use crate::io::{Events, Usage, be_a_prompt_thread, note_arrivals, thread_usage};
use rustix::{
    event::epoll,
    fd::{AsFd as _, OwnedFd},
    net::sockopt::set_tcp_nodelay,
};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

const LISTENER: u64 = u64::MAX;
const WAKE: u64 = u64::MAX - 1;
const EVENTS_AT_ONCE: usize = 256;
/// Bytes that are read at once.
const READ: usize = 64 << 10;
/// Sockets that are read before it is looked what has become due meanwhile.
const READS_AT_ONCE: usize = 4;
/// Bytes that the connections of a thread may hold together; beyond it each may hold [`CROWDED`] only.
const HELD_MAX: usize = 256 << 20;
const CROWDED: usize = 16 << 10;
/// How long nothing is accepted when there are no more open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);
/// One-way times after which the server's side is connected: over a network the handshake has three packets.
const HANDSHAKE: u32 = 3;

/// Everything that a thread owns.
pub(super) struct Worker {
    to: SocketAddr,
    line: Arc<Used>,
    window: usize,
    inboxes: Vec<Arc<Inbox>>,
    own: usize,
    /// The first worker accepts for all, in turn.
    listener: Option<TcpListener>,
    accepted: usize,
    /// Since when it is that no files were left, and until when nothing is accepted.
    accept_again: Option<Instant>,
    poll: OwnedFd,
    pairs: Vec<Option<Pair>>,
    free: Vec<usize>,
    numbers: u64,
    held: usize,
    /// What is on its way, in the order of its time.
    due: VecDeque<Due>,
    /// Connections that are to be made, in the order of their time.
    dials: VecDeque<Due>,
    /// How long it takes to hand a piece on, and to wake up.
    sending: Usual,
    waking: Usual,
    /// When epoll was asked the last time but one, and the last time.
    looked: [Instant; 2],
    buffer: Vec<u8>,
    tally: Tally,
    asked: Instant,
    used: Usage,
}

/// Something that arrives at a time.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: Instant,
    index: usize,
    number: u64,
    side: Side,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Connect,
    Bytes(usize),
    End,
    Reset,
}

/// How long something usually takes: a moving mean, so that it can be begun earlier by that.
#[derive(Debug, Clone, Copy, Default)]
struct Usual(Duration);

impl Usual {
    /// What takes longer was interrupted, and says nothing of what is usual; nor would so long a time be
    /// spent waiting without sleeping.
    const LONGEST: Duration = Duration::from_micros(60);
    const WEIGHT: u32 = 16;

    fn learn(&mut self, taken: Duration) {
        self.0 = (self.0 * (Self::WEIGHT - 1) + taken.min(Self::LONGEST)) / Self::WEIGHT;
    }
}

impl Worker {
    pub(super) fn new(
        to: SocketAddr,
        line: Arc<Used>,
        inboxes: Vec<Arc<Inbox>>,
        own: usize,
        listener: Option<TcpListener>,
    ) -> io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, &inboxes[own].wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        if let Some(listener) = &listener {
            listener.set_nonblocking(true)?;
            epoll::add(&poll, listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        }
        Ok(Self {
            to,
            window: window(line.one_way()),
            line,
            inboxes,
            own,
            listener,
            accepted: 0,
            accept_again: None,
            poll,
            pairs: Vec::new(),
            free: Vec::new(),
            numbers: 0,
            held: 0,
            due: VecDeque::new(),
            dials: VecDeque::new(),
            sending: Usual::default(),
            waking: Usual::default(),
            looked: [Instant::now(); 2],
            buffer: vec![0; READ],
            tally: Tally::default(),
            asked: Instant::now(),
            used: Usage::default(),
        })
    }

    pub(super) fn run(&mut self) -> io::Result<()> {
        be_a_prompt_thread();
        // by default the kernel may wake a thread 50 us late, to save power; where it refuses, that is how
        // late it is
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        self.used = thread_usage();
        loop {
            let limit = self.hand_on();
            self.looked = [self.looked[1], Instant::now()];
            events.wait(self.poll.as_fd(), limit)?;
            let now = Instant::now();
            if let Some(limit) = limit.filter(|limit| !limit.is_zero() && events.count() == 0) {
                self.waking.learn(now.saturating_duration_since(self.looked[1] + limit));
            }
            for index in 0..events.count() {
                if index % READS_AT_ONCE == READS_AT_ONCE - 1 {
                    self.hand_on();
                }
                match events.at(index) {
                    (WAKE, _) => {
                        if !self.obey() {
                            return Ok(());
                        }
                    }
                    (LISTENER, _) => self.accept(now)?,
                    (token, flags) => self.serve(token, flags, now),
                }
            }
        }
    }

    /// Does what is asked of it; false: to end.
    fn obey(&mut self) -> bool {
        for message in self.inboxes[self.own].take() {
            match message {
                Message::Serve(socket, from, at) => self.begin(socket, from, at),
                Message::Tell(whom) => {
                    let used = thread_usage();
                    let mut tally = std::mem::take(&mut self.tally);
                    tally.used = used.since(self.used);
                    tally.interval = self.asked.elapsed();
                    tally.connections = (self.pairs.len() - self.free.len()) as u64;
                    (self.used, self.asked) = (used, Instant::now());
                    // who asked may have given up
                    let _ = whom.send(tally);
                }
                Message::End => return false,
            }
        }
        true
    }

    /// Accepts for all workers in turn.
    fn accept(&mut self, now: Instant) -> io::Result<()> {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok((socket, from)) => {
                    let turn = self.accepted % self.inboxes.len();
                    self.accepted += 1;
                    if turn == self.own {
                        self.begin(socket, from, now);
                    } else {
                        self.inboxes[turn].put(Message::Serve(socket, from, now));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error)
                    if [ErrorKind::Interrupted, ErrorKind::ConnectionAborted].contains(&error.kind()) => {}
                Err(_) => {
                    // no more open files, or memory: the kernel lets them wait
                    epoll::delete(&self.poll, listener)?;
                    self.accept_again = Some(now + ACCEPT_AGAIN);
                    self.tally.refused += 1;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, socket: TcpStream, from: SocketAddr, at: Instant) {
        let ready = socket.set_nonblocking(true).and_then(|()| Ok(set_tcp_nodelay(&socket, true)?));
        // as with the server's side
        let _ = note_arrivals(socket.as_fd());
        if ready.is_err() {
            self.tally.refused += 1;
            return;
        }
        self.numbers += 1;
        let number = self.numbers;
        let index = self.free.pop().unwrap_or_else(|| {
            self.pairs.push(None);
            self.pairs.len() - 1
        });
        self.pairs[index] = Some(Pair::new(number, socket, from));
        let at = at + self.line.one_way() * HANDSHAKE;
        self.dials.push_back(Due { at, index, number, side: Side::Server, what: What::Connect });
        self.watch(index, Side::Client);
    }

    /// Does everything that is due; how long until the next.
    fn hand_on(&mut self) -> Option<Duration> {
        loop {
            let now = Instant::now();
            if self.accept_again.is_some_and(|at| at <= now)
                && let Some(listener) = &self.listener
            {
                self.accept_again = None;
                // it was taken out a moment ago
                let token = epoll::EventData::new_u64(LISTENER);
                let _ = epoll::add(&self.poll, listener, token, epoll::EventFlags::IN);
            }
            // what is sent takes its time to arrive, which is part of the delay
            let ready = now + self.sending.0;
            let is_due = |due: &&Due| due.at <= ready;
            let next = if self.dials.front().filter(is_due).is_some() {
                self.dials.pop_front()
            } else if self.due.front().filter(is_due).is_some() {
                self.due.pop_front()
            } else {
                let soonest = [self.due.front(), self.dials.front()].into_iter().flatten().map(|due| due.at);
                let soonest = soonest.chain(self.accept_again).min();
                // the last moments are not slept: with nothing to wait for epoll is asked again and again
                return soonest.map(|at| at.saturating_duration_since(ready + self.waking.0));
            };
            if let Some(due) = next {
                self.arrive(due, now);
            }
        }
    }

    fn arrive(&mut self, due: Due, now: Instant) {
        let Due { at, index, number, side, what } = due;
        let to = self.to;
        let Some(pair) = self.pairs[index].as_mut().filter(|pair| pair.number == number) else { return };
        let (held, from) = (pair.held(), pair.from);
        let end = pair.end(side);
        let done = match what {
            What::Connect => end.connect(to, from).is_ok(),
            What::Bytes(count) => {
                end.release(count);
                let is_sent = end.send().is_ok();
                let sent = Instant::now();
                self.sending.learn(sent.saturating_duration_since(now));
                self.tally.pieces += 1;
                self.tally.bytes += count as u64;
                self.tally.late.record_ns(sent.saturating_duration_since(at).as_nanos() as u64);
                is_sent
            }
            What::End => {
                end.release_end();
                end.send().is_ok()
            }
            What::Reset => return self.cut(index),
        };
        self.held -= held - pair.held();
        match (done, what) {
            (true, _) if pair.is_done() => self.drop_pair(index),
            (true, _) => {
                self.watch(index, side);
                self.watch(index, side.other());
            }
            (false, What::Connect) => {
                self.tally.refused += 1;
                self.cut(index);
            }
            (false, _) => self.broke(index, side, now),
        }
    }

    fn serve(&mut self, token: u64, flags: epoll::EventFlags, now: Instant) {
        let (index, side) =
            (token as u32 as usize / 2, if token.is_multiple_of(2) { Side::Client } else { Side::Server });
        let Some(pair) = self.pairs.get_mut(index).and_then(Option::as_mut) else { return };
        if token != token_of(index, pair.number, side) {
            // of a connection that ended a moment ago
            return;
        }
        let held = pair.held();
        let mut arrived = None;
        if pair.end(side).connecting && pair.end(side).connected().is_err() {
            self.tally.refused += 1;
            return self.cut(index);
        }
        if flags.contains(epoll::EventFlags::OUT) && pair.end(side).send().is_err() {
            return self.broke(index, side, now);
        }
        self.held -= held - pair.held();
        let readable = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        if flags.intersects(readable) && !pair.end(side).read_over {
            let number = pair.number;
            let Ok(read) = pair.end(side).read(&mut self.buffer) else {
                return self.broke(index, side, now);
            };
            if let Some((count, age)) = read {
                // what had come before epoll was asked the last time but one was read then: a clock that is
                // set does no harm
                let came =
                    age.and_then(|age| Instant::now().checked_sub(age)).unwrap_or(now).max(self.looked[0]);
                let at = self.line.arrival(side.other(), count, came);
                let at = pair.end(side.other()).hold(&self.buffer[..count], at);
                self.held += count;
                let what = if count > 0 { What::Bytes(count) } else { What::End };
                arrived = Some(Due { at, index, number, side: side.other(), what });
            }
        }
        let is_done = pair.is_done();
        arrived.into_iter().for_each(|due| self.put(due));
        if is_done {
            return self.drop_pair(index);
        }
        self.watch(index, side);
        self.watch(index, side.other());
    }

    fn watch(&mut self, index: usize, side: Side) {
        let limit = if self.held > HELD_MAX { CROWDED } else { self.window };
        let Some(pair) = self.pairs[index].as_mut() else { return };
        let token = token_of(index, pair.number, side);
        if pair.watch(&self.poll, side, token, limit).is_err() {
            self.cut(index);
        }
    }

    /// One side failed: the other one learns it when news can have travelled there.
    fn broke(&mut self, index: usize, side: Side, now: Instant) {
        let Some(pair) = self.pairs[index].as_mut() else { return };
        let held = pair.held();
        pair.end(side).lose();
        self.held -= held - pair.held();
        let (number, at) = (pair.number, now + self.line.one_way());
        self.put(Due { at, index, number, side: side.other(), what: What::Reset });
    }

    /// Into its place in the queue, which is at its end or close to it.
    fn put(&mut self, due: Due) {
        let place = self.due.iter().rposition(|other| other.at <= due.at).map_or(0, |place| place + 1);
        self.due.insert(place, due);
    }

    fn cut(&mut self, index: usize) {
        if let Some(pair) = &self.pairs[index] {
            pair.reset();
        }
        self.drop_pair(index);
    }

    fn drop_pair(&mut self, index: usize) {
        if let Some(pair) = self.pairs[index].take() {
            self.held -= pair.held();
            self.free.push(index);
        }
    }
}

/// Where a connection stands, which one it is, and which side of it; unlike [`LISTENER`] and [`WAKE`].
fn token_of(index: usize, number: u64, side: Side) -> u64 {
    (number << 33 >> 1) | (index as u64 * 2 + u64::from(side == Side::Server))
}

/// Bytes that may be on their way in one direction of a connection: what 10 Gbit/s hold, within bounds, as
/// with the windows of TCP.
#[must_use]
pub fn window(one_way: Duration) -> usize {
    const BYTES_PER_SECOND: f64 = 1.25e9;
    const BYTES_MIN: usize = 256 << 10;
    /// The kernel's own windows end at about 6 MB.
    const BYTES_MAX: usize = 4 << 20;
    ((one_way.as_secs_f64() * BYTES_PER_SECOND) as usize).clamp(BYTES_MIN, BYTES_MAX)
}
