//! Connections that a script plays. The script's interpreter gets a [`Desk`], asks it when an event begins,
//! and notes there what was sent and what came back. So a script's events are due, measured and counted like
//! the transactions of any other stream. This module knows no language; the crate `script` is the
//! interpreter.

mod verb;

pub use crate::clock::Moment;
pub use verb::Verb;

use crate::{
    bench::Bench,
    clock::ns,
    connection::connects,
    control::Message,
    hub::{Hub, Way},
    login::Login,
    orders::{DRAIN_MAX, Orders, Report, prepare_thread},
    random::Random,
    sample::Broken,
    share::Turn,
    spec::{Protocol, Script, Spec},
};
use rustix::fd::AsFd as _;
use std::{cmp::Reverse, fmt, thread, time::Duration};

/// How often it is looked whether there are orders.
const LOOK_UP: Duration = Duration::from_millis(50);
/// Where pauses begin to draw, beside what scripts draw.
const PAUSES: u32 = 1 << 16;

/// Runs scripts.
pub trait Interpreter: fmt::Debug + Send + Sync {
    /// Plays the connections of `desk`, on the calling thread, until [`Desk::is_closed`] or nothing is left
    /// to be done.
    ///
    /// # Errors
    /// If the script failed.
    fn play(&self, script: &Script, desk: &mut Desk<'_>) -> Result<(), Failure>;
}

/// A script failed: where and why, in its interpreter's own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

/// What a connection has done.
#[derive(Debug)]
pub enum Fact {
    /// A connection was opened, in so long.
    Opened(Duration),
    /// None could be: the server's code, or that of MySQL's client library, and its words.
    NotOpened(u16, String),
    /// An event has begun.
    Begun(Moment),
    /// A statement was sent.
    Sent(Moment),
    /// A statement was answered.
    Replied {
        /// What it did.
        verb: Verb,
        /// When.
        at: Moment,
        /// Rows received.
        rows: u64,
        /// Rows affected.
        affected: u64,
    },
    /// A statement failed, or its connection was lost.
    Refused {
        /// What it was to do.
        verb: Verb,
        /// When.
        at: Moment,
        /// The error's number.
        code: u16,
        /// Its SQL state.
        state: [u8; 5],
        /// Its words.
        message: String,
    },
    /// The event has ended well.
    Ended(Moment),
}

/// What a connection has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Begin an event.
    Go,
    /// Wait until [`Desk::due`] names it.
    Wait,
    /// Nothing any more.
    End,
}

/// What the connections of a desk have in common.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Connections of the whole stream.
    pub connections: u32,
    /// Whether statements are prepared on the server.
    pub prepares: bool,
    /// How long the measurement interval is.
    pub interval: Duration,
    /// Where random sequences begin.
    pub seed: u64,
    /// The first of the numbers that count over all connections, and how far it is to the next of this desk.
    pub counting: (u32, u32),
    /// Whether what is done once for the whole stream is done here.
    pub is_first: bool,
    /// Servers.
    pub ways: Vec<Way>,
}

/// A connection of a desk.
#[derive(Debug)]
struct Seat {
    number: u32,
    way: usize,
    finished: u64,
    random: Random,
    /// When its next event is due, where each connection has times of its own.
    next_due: Moment,
    wake: Moment,
    is_under_way: bool,
    due: Moment,
    /// When the event was begun by the script, and when its first byte was sent.
    begun: Moment,
    began: Option<Moment>,
    sent: Moment,
    ready: Moment,
}

/// Where the connections of one worker that play a script are told what to do, and tell what they did.
pub struct Desk<'a> {
    bench: Bench<'a>,
    orders: Orders<'a>,
    stream: usize,
    seats: Vec<Seat>,
    terms: Terms,
    is_batch: bool,
    has_begun: bool,
    /// Why the connection that was tried last could not be opened.
    loss: Option<(u16, String)>,
    closes: Moment,
}

impl fmt::Debug for Desk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl<'a> Desk<'a> {
    /// A desk for these connections, number and server each, of a stream. `place`: which of how many desks.
    pub(crate) fn new(
        (spec, stream): (&Spec, usize),
        connections: Vec<(u32, usize)>,
        (bench, orders): (Bench<'a>, Orders<'a>),
        logins: &[Option<Login>],
        (place, of, is_batch): (u32, u32, bool),
    ) -> Self {
        let streamed = &spec.streams[stream];
        let seat = |(number, way)| Seat {
            number,
            way,
            finished: 0,
            random: Random::for_connection(spec.seed, PAUSES + stream as u32, number),
            next_due: Moment::ZERO,
            wake: Moment::NEVER,
            is_under_way: false,
            due: Moment::ZERO,
            begun: Moment::ZERO,
            began: None,
            sent: Moment::ZERO,
            ready: Moment::ZERO,
        };
        let nowhere = |way: &Option<Login>| way.as_ref().map(Way::of);
        let any = logins.iter().find_map(nowhere);
        let terms = Terms {
            connections: streamed.connections,
            prepares: streamed.protocol == Protocol::Prepared,
            interval: spec.interval,
            seed: spec.seed ^ (stream as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            counting: (place, of),
            is_first: place == 0,
            // a server that no connection goes to is never asked for
            ways: logins.iter().filter_map(|login| nowhere(login).or_else(|| any.clone())).collect(),
        };
        let seats = connections.into_iter().map(seat).collect();
        let (has_begun, loss, closes) = (false, None, Moment::NEVER);
        Self { bench, orders, stream, seats, terms, is_batch, has_begun, loss, closes }
    }

    /// What its connections have in common.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The numbers of its connections in the stream, and the server of each as a place in [`Terms::ways`].
    #[must_use]
    pub fn connections(&self) -> Vec<(u32, usize)> {
        self.seats.iter().map(|seat| (seat.number, seat.way)).collect()
    }

    /// Connections that hear of orders, too.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn hub(&self) -> std::io::Result<Hub> {
        let mut hub = Hub::new()?;
        hub.heed(self.orders.control.wake().as_fd())?;
        Ok(hub)
    }

    /// The connection is ready for the load to begin.
    pub fn ready(&mut self, version: &str) {
        self.orders.tell(Message::Opened { version: version.to_owned() });
    }

    /// Looks for orders. Returns whether the stream begins now.
    pub fn look_up(&mut self) -> bool {
        let now = self.bench.now();
        self.bench.turn(now);
        if self.orders.look_up(&mut self.bench, now) && !self.bench.stopping {
            self.bench.stopping = true;
            for seat in self.seats.iter().filter(|seat| seat.is_under_way) {
                self.bench.shares[self.stream].in_flight.add(seat.due, now);
            }
        }
        if self.bench.stopping && self.closes == Moment::NEVER {
            self.closes = now.after(ns(DRAIN_MAX));
        }
        let mut begins = false;
        for stream in 0..self.bench.shares.len() {
            begins |= self.orders.begin(&mut self.bench, stream, now) && stream == self.stream;
        }
        if begins {
            self.has_begun = true;
            for seat in &mut self.seats {
                (seat.next_due, seat.ready) = (self.bench.shares[self.stream].first_due(seat.number), now);
            }
        }
        begins
    }

    /// Whether no further event begins.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.bench.is_over() || self.has_begun && self.bench.shares[self.stream].over
    }

    /// Whether what is still under way is given up.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.orders.control.is_stopped() && self.bench.now() >= self.closes
    }

    /// Whether a connection may begin an event.
    pub fn next(&mut self, place: u32) -> Next {
        let now = self.bench.now();
        self.bench.turn(now);
        let seat = &mut self.seats[place as usize];
        if self.bench.is_over() {
            return Next::End;
        }
        let share = &mut self.bench.shares[self.stream];
        let schedule = &mut self.bench.tally.batch.streams[self.stream].schedule;
        match share.next(now, &mut seat.next_due, schedule) {
            Turn::Go(due) => {
                (seat.is_under_way, seat.due, seat.begun, seat.began) = (true, due, now, None);
                Next::Go
            }
            Turn::At(at) => {
                seat.wake = at;
                self.bench.wake_at(at, place);
                Next::Wait
            }
            Turn::Free => {
                share.set_free(place);
                Next::Wait
            }
            Turn::Rest => Next::End,
        }
    }

    /// A connection that waits and is to ask again.
    pub fn due(&mut self) -> Option<u32> {
        let now = self.bench.now();
        while let Some(Reverse((at, place))) = self.bench.timers.peek().copied()
            && at <= now
        {
            self.bench.timers.pop();
            let seat = &mut self.seats[place as usize];
            if seat.wake == at {
                seat.wake = Moment::NEVER;
                return Some(place);
            }
        }
        self.bench.shares[self.stream].call(now)
    }

    /// How long replies may be waited for until something else is to be done.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let share = &self.bench.shares[self.stream];
        let timer = self.bench.timers.peek().map_or(Moment::NEVER, |Reverse((at, _))| *at);
        let begins = if share.begun || !self.bench.tally.started() { Moment::NEVER } else { share.begins };
        let until = timer.min(share.call_at()).min(begins);
        LOOK_UP.min(Duration::from_nanos(until.since(self.bench.now())))
    }

    /// Notes what a connection has done. Facts come in the order of their times.
    pub fn note(&mut self, place: u32, fact: Fact) {
        match fact {
            Fact::Opened(took) => {
                self.bench.shares[self.stream].opened += 1;
                if let Some(connects) = connects(&mut self.bench, self.stream) {
                    connects.opened += 1;
                    connects.total.record_ns(ns(took));
                }
            }
            Fact::NotOpened(code, text) => {
                if let Some(connects) = connects(&mut self.bench, self.stream) {
                    connects.failed += 1;
                }
                self.loss = Some((code, text));
            }
            Fact::Begun(at) => self.seats[place as usize].begun = at,
            Fact::Sent(at) => self.sent(place as usize, at),
            Fact::Replied { verb, at, rows, affected } => {
                self.bench.turn(at);
                let sent = self.seats[place as usize].sent;
                let tally = &mut self.bench.tally.batch.streams[self.stream].statements[verb as usize];
                tally.count += 1;
                tally.rows += rows;
                tally.affected += affected;
                tally.service.record_ns(at.since(sent));
                self.bench.shares[self.stream].add_rows(rows + affected);
            }
            Fact::Refused { verb, at, code, state, message } => self.refused(verb, at, code, state, &message),
            Fact::Ended(at) => self.ended(place as usize, at),
        }
    }

    /// Of what is sent before the load begins, and by whoever has no event under way, only the time counts.
    fn sent(&mut self, place: usize, at: Moment) {
        let seat = &mut self.seats[place];
        seat.sent = at;
        if seat.is_under_way && seat.began.is_none() {
            self.began(place, at);
        }
    }

    fn began(&mut self, place: usize, at: Moment) {
        self.bench.turn(at);
        let seat = &mut self.seats[place];
        seat.began = Some(at);
        self.bench.note_began(self.stream, (seat.due, seat.ready), at);
    }

    fn refused(&mut self, verb: Verb, at: Moment, code: u16, state: [u8; 5], message: &str) {
        if !self.bench.tally.started() {
            self.loss = Some((code, message.to_owned()));
            return;
        }
        self.bench.turn(at);
        let batch = &mut self.bench.tally.batch.streams[self.stream];
        batch.statements[verb as usize].errors += 1;
        batch.transactions[0].errors += 1;
        self.bench.count_error(self.stream, code, state, message, at);
    }

    fn ended(&mut self, place: usize, at: Moment) {
        self.bench.turn(at);
        if !std::mem::take(&mut self.seats[place].is_under_way) {
            return;
        }
        if self.seats[place].began.is_none() {
            self.began(place, self.seats[place].begun);
        }
        let seat = &mut self.seats[place];
        let began = seat.began.take().unwrap_or(at);
        let is_measured = self.bench.note_ended((self.stream, 0), (seat.due, began), at);
        seat.finished += u64::from(is_measured);
        seat.ready = at;
        if let Some(pause_ns) = self.bench.shares[self.stream].pause_ns((0, 0), &mut seat.random) {
            seat.next_due = at.after(pause_ns);
        }
    }

    /// The script cannot go on, and with it the load.
    pub fn fail(&mut self, failure: Failure) {
        if self.bench.stopping {
            return; // what fails because everything ends is not said
        }
        self.bench.stopping = true;
        match self.loss.take() {
            Some((code, loss)) if !self.bench.tally.started() => {
                let loss = format!("{loss} (error {code})");
                self.orders.tell(Message::NotOpened { loss, code, was_open: false });
            }
            _ => self.orders.tell(Message::Hopeless(Broken::Script { message: failure.0 })),
        }
    }

    /// Plays, hands over seconds until the load has ended, and reports.
    pub(crate) fn work(mut self, interpreter: &dyn Interpreter, script: &Script) -> Report {
        prepare_thread(self.is_batch);
        if let Err(failure) = interpreter.play(script, &mut self) {
            self.fail(failure);
        }
        while !self.orders.control.is_stopped() {
            self.look_up();
            thread::sleep(LOOK_UP / 10);
        }
        let finished = self.seats.iter().map(|seat| (self.stream, seat.number, seat.finished)).collect();
        self.orders.report(self.bench, finished)
    }
}
