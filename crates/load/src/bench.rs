//! What the connections of one worker share: buffers, the current second's counts, the clock. One worker, one
//! thread, no lock.

use crate::{
    clock::Moment,
    control::Message,
    histogram::Histogram,
    login::Login,
    program::{Drawn, Program},
    record::{Batch, Seconds},
    sample::{Broken, Phase},
    share::Share,
};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::mpsc::{Receiver, Sender},
    time::Duration,
};

/// Bytes read at once.
const INPUT_BYTES: usize = 64 * 1024;

/// The shared part of a worker.
pub(crate) struct Bench<'a> {
    pub(crate) programs: &'a [Program],
    /// By server; `None`: no connection goes there.
    logins: &'a [Option<Login>],
    pub(crate) input: Vec<u8>,
    pub(crate) out: Vec<u8>,
    pub(crate) text: Vec<u8>,
    pub(crate) arena: Vec<u8>,
    pub(crate) drawn: Vec<Drawn>,
    pub(crate) tally: Timeline,
    /// This worker's part of each stream.
    pub(crate) shares: Vec<Share<'a>>,
    /// When to look after which connection again; the connection knows whether it still wants that.
    pub(crate) timers: BinaryHeap<Reverse<(Moment, u32)>>,
    /// When the kernel last told of events.
    pub(crate) woken: Moment,
    /// See [`crate::sample::ClientUsage::queueing`].
    pub(crate) queueing: Histogram,
    /// See [`crate::sample::ClientUsage::send_delay`].
    pub(crate) send_delay: Histogram,
    /// An error after which going on is pointless.
    pub(crate) hopeless: Option<Broken>,
    /// No new transaction begins.
    pub(crate) stopping: bool,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        (programs, shares): (&'a [Program], Vec<Share<'a>>),
        logins: &'a [Option<Login>],
        tally: Timeline,
        connections: usize,
    ) -> Self {
        Self {
            programs,
            logins,
            input: vec![0; INPUT_BYTES],
            out: Vec::with_capacity(INPUT_BYTES),
            text: Vec::new(),
            arena: Vec::new(),
            drawn: Vec::new(),
            tally,
            shares,
            timers: BinaryHeap::with_capacity(connections * 2),
            woken: Moment::ZERO,
            queueing: Histogram::new(),
            send_delay: Histogram::new(),
            hopeless: None,
            stopping: false,
        }
    }

    /// How to log in to a server that connections go to.
    pub(crate) fn login(&self, server: usize) -> &'a Login {
        self.logins[server].as_ref().expect("every server that a connection goes to has one")
    }

    /// What time it is: the one clock of a load.
    #[inline]
    pub(crate) fn now(&self) -> Moment {
        Moment::now()
    }

    /// Whether no new transaction may begin.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.stopping || self.tally.over
    }

    /// Hands over finished seconds once `now` lies past their end. Everything counted next belongs to the
    /// second of `now`.
    #[inline]
    pub(crate) fn turn(&mut self, now: Moment) {
        while now >= self.tally.end() {
            self.next_second();
        }
    }

    #[cold]
    fn next_second(&mut self) {
        let end = self.tally.end();
        for (share, stream) in self.shares.iter_mut().zip(&mut self.tally.batch.streams) {
            share.close_second(end, &mut stream.schedule);
        }
        self.tally.next_second(self.programs);
    }

    /// The end of the load was moved to `end`.
    pub(crate) fn cut(&mut self, end: Moment) {
        let now = self.now();
        self.turn(now.min(end));
        self.tally.cut(end);
    }

    /// The measurement begins at `at_ns`, since the load began: earlier than first announced.
    pub(crate) fn measure_from(&mut self, at_ns: u64) {
        self.tally.measure_from(at_ns);
    }

    /// Looks after connection `index` again at that time.
    pub(crate) fn wake_at(&mut self, at: Moment, index: u32) {
        self.timers.push(Reverse((at, index)));
    }

    /// The first byte of a transaction that was due at `due` is sent at `now`, on a connection that was free
    /// since `ready`.
    #[inline]
    pub(crate) fn note_began(&mut self, stream: usize, (due, ready): (Moment, Moment), now: Moment) {
        let share = &mut self.shares[stream];
        if !share.waits_for_times() {
            return;
        }
        share.started(due, now, &mut self.tally.batch.streams[stream].schedule);
        if self.tally.is_measuring() {
            self.send_delay.record_ns(now.since(due.max(ready)));
        }
    }

    /// A transaction that was due and began at these times ended well at `now`. Returns whether it belongs to
    /// the measurement interval.
    #[inline]
    pub(crate) fn note_ended(
        &mut self,
        (stream, routine): (usize, usize),
        (due, began): (Moment, Moment),
        now: Moment,
    ) -> bool {
        self.note_if_too_late(stream, due, now);
        let tally = &mut self.tally.batch.streams[stream].transactions[routine];
        tally.count += 1;
        tally.service.record_ns(now.since(began));
        if let Some(response) = &mut tally.response {
            response.record_ns(now.since(due));
        }
        let share = &mut self.shares[stream];
        share.busy -= 1;
        share.ended = now;
        if !self.tally.over {
            share.watch.success(now);
        }
        self.tally.is_measuring()
    }

    /// A transaction that ends after the interval was in flight at its end, even if the worker, busy with
    /// other replies, has not yet looked for such.
    #[inline]
    pub(crate) fn note_if_too_late(&mut self, stream: usize, due: Moment, now: Moment) {
        if self.tally.over && !self.stopping {
            self.shares[stream].in_flight.add(due, now);
        }
    }

    /// Counts an error of the measurement interval, and of the current second.
    pub(crate) fn count_error(
        &mut self,
        stream: usize,
        code: u16,
        state: [u8; 5],
        message: &str,
        now: Moment,
    ) {
        self.turn(now);
        self.tally.batch.streams[stream].errors += 1;
        let share = &mut self.shares[stream];
        share.watch.failure(now);
        if self.tally.is_measuring() {
            let at = Duration::from_nanos(now.since(self.tally.start_at()));
            share.errors.add(code, state, message, at);
        }
    }
}

/// The running second of a worker: where counts go, until when.
pub(crate) struct Timeline {
    pub(crate) batch: Box<Batch>,
    pub(crate) phase: Phase,
    seconds: Seconds,
    start: Option<Moment>,
    /// End of the current second.
    end: Moment,
    /// The last second is over.
    pub(crate) over: bool,
    full: Sender<Message>,
    empty: Receiver<Box<Batch>>,
}

impl Timeline {
    pub(crate) fn new(
        batch: Box<Batch>,
        seconds: Seconds,
        full: Sender<Message>,
        empty: Receiver<Box<Batch>>,
    ) -> Self {
        let phase = seconds.phase(0);
        Self { batch, phase, seconds, start: None, end: Moment::NEVER, over: false, full, empty }
    }

    /// The load began at this time.
    pub(crate) fn start(&mut self, start: Moment) {
        self.start = Some(start);
        self.end = start.after(self.seconds.end_ns(0));
    }

    /// Whether what is counted now belongs to the measurement interval: neither to the warm-up nor to the
    /// time in which last replies are awaited.
    #[inline]
    pub(crate) fn is_measuring(&self) -> bool {
        self.started() && self.phase == Phase::Measure && !self.over
    }

    pub(crate) fn started(&self) -> bool {
        self.start.is_some()
    }

    /// When the load began; before that, when the engine did.
    pub(crate) fn start_at(&self) -> Moment {
        self.start.unwrap_or_default()
    }

    /// End of the current second; far away before the start and after the end.
    pub(crate) fn end(&self) -> Moment {
        self.end
    }

    /// End of the load.
    pub(crate) fn load_end(&self) -> Moment {
        self.end_of(self.seconds.count().saturating_sub(1))
    }

    fn end_of(&self, second: u32) -> Moment {
        self.start_at().after(self.seconds.end_ns(second))
    }

    /// Ends the warm-up at `at_ns`, since the load began. The running second ends at its own end: both fall
    /// on whole seconds.
    fn measure_from(&mut self, at_ns: u64) {
        self.seconds.measure_from(at_ns);
        self.phase = self.seconds.phase(self.batch.second);
        self.end = self.end_of(self.batch.second);
    }

    /// Ends the load at `end`; a second that has begun later is the last one and
    /// is not counted.
    fn cut(&mut self, end: Moment) {
        self.seconds.cut(end.since(self.start_at()));
        if self.batch.second < self.seconds.count() {
            self.end = self.end_of(self.batch.second);
        } else {
            self.over = true;
            self.end = Moment::NEVER;
        }
    }

    /// Hands the second over.
    fn next_second(&mut self, programs: &[Program]) {
        let second = self.batch.second;
        // the coordinator returns batches; a new one is made only while it lags behind
        let mut empty =
            self.empty.try_recv().unwrap_or_else(|_| Box::new(Batch::new(self.batch.of, programs)));
        empty.second = second + 1;
        // a coordinator that is gone means that the load is being given up
        let _ = self.full.send(Message::Second(std::mem::replace(&mut self.batch, empty)));
        if second + 1 < self.seconds.count() {
            self.phase = self.seconds.phase(second + 1);
            self.end = self.end_of(second + 1);
        } else {
            self.over = true;
            self.end = Moment::NEVER;
        }
    }
}
