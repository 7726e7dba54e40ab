//! What the connections of one worker share: buffers, the current second's counts, the clock. One worker, one thread, no
//! lock.

use crate::{
    histogram::Histogram,
    program::{Drawn, Program},
    record::{Batch, ErrorBook, Seconds},
    sample::Phase,
    tls::Connector,
    transport::Peer,
};
use std::{
    sync::{
        Arc,
        mpsc::{Receiver, Sender},
    },
    time::{Duration, Instant},
};

/// Bytes read at once.
const INPUT_BYTES: usize = 64 * 1024;

/// How connections of this load log in.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub(crate) peer: Peer,
    pub(crate) options: Arc<wire::client::Options>,
    pub(crate) tls: Option<Connector>,
}

/// The shared part of a worker.
pub(crate) struct Bench<'a> {
    pub(crate) programs: &'a [Program],
    pub(crate) login: &'a Login,
    pub(crate) input: Vec<u8>,
    pub(crate) out: Vec<u8>,
    pub(crate) text: Vec<u8>,
    pub(crate) arena: Vec<u8>,
    pub(crate) drawn: Vec<Drawn>,
    pub(crate) tally: Timeline,
    /// Time to open a connection, by stream.
    pub(crate) connect: Vec<Histogram>,
    pub(crate) opened: Vec<u64>,
    pub(crate) rolled_back: Vec<u64>,
    pub(crate) errors: Vec<ErrorBook>,
    /// An error after which going on is pointless.
    pub(crate) hopeless: Option<String>,
    /// No new transaction begins.
    pub(crate) stopping: bool,
    epoch: Instant,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(programs: &'a [Program], login: &'a Login, tally: Timeline, epoch: Instant) -> Self {
        Self {
            programs,
            login,
            input: vec![0; INPUT_BYTES],
            out: Vec::with_capacity(INPUT_BYTES),
            text: Vec::new(),
            arena: Vec::new(),
            drawn: Vec::new(),
            tally,
            connect: programs.iter().map(|_| Histogram::new()).collect(),
            opened: vec![0; programs.len()],
            rolled_back: vec![0; programs.len()],
            errors: programs.iter().map(|_| ErrorBook::default()).collect(),
            hopeless: None,
            stopping: false,
            epoch,
        }
    }

    /// Nanoseconds since the engine began: the one clock of a load.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Whether no new transaction may begin.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.stopping || self.tally.over
    }

    /// Counts an error of the measurement interval, and of the current second.
    pub(crate) fn count_error(
        &mut self,
        stream: usize,
        code: u16,
        state: [u8; 5],
        message: &str,
        now_ns: u64,
    ) {
        self.tally.batch.streams[stream].errors += 1;
        if self.tally.is_measuring() {
            let at = Duration::from_nanos(now_ns.saturating_sub(self.tally.start_ns()));
            self.errors[stream].add(code, state, message, at);
        }
    }
}

/// The running second of a worker: where counts go, until when.
pub(crate) struct Timeline {
    pub(crate) batch: Box<Batch>,
    pub(crate) phase: Phase,
    seconds: Seconds,
    start_ns: Option<u64>,
    /// End of the current second, since the engine began.
    end_ns: u64,
    /// The last second is over.
    pub(crate) over: bool,
    full: Sender<Box<Batch>>,
    empty: Receiver<Box<Batch>>,
}

impl Timeline {
    pub(crate) fn new(
        batch: Box<Batch>,
        seconds: Seconds,
        full: Sender<Box<Batch>>,
        empty: Receiver<Box<Batch>>,
    ) -> Self {
        let phase = seconds.phase(0);
        Self { batch, phase, seconds, start_ns: None, end_ns: u64::MAX, over: false, full, empty }
    }

    /// The load began at this time.
    pub(crate) fn start(&mut self, start_ns: u64) {
        self.start_ns = Some(start_ns);
        self.end_ns = start_ns + self.seconds.end_ns(0);
    }

    /// Whether what is counted now belongs to the measurement interval: neither to the warm-up nor to what is waited for
    /// after the end.
    #[inline]
    pub(crate) fn is_measuring(&self) -> bool {
        self.started() && self.phase == Phase::Measure && !self.over
    }

    pub(crate) fn started(&self) -> bool {
        self.start_ns.is_some()
    }

    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns.unwrap_or(0)
    }

    /// End of the current second, since the engine began; far away before the start and after the end.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Hands finished seconds over where `now_ns` lies past their end. Whatever is counted next belongs to the second
    /// of `now_ns`.
    #[inline]
    pub(crate) fn turn(&mut self, now_ns: u64, programs: &[Program]) {
        while now_ns >= self.end_ns {
            self.next_second(programs);
        }
    }

    #[cold]
    fn next_second(&mut self, programs: &[Program]) {
        let second = self.batch.second;
        // the coordinator returns batches; a new one is made only while it lags behind
        let mut empty =
            self.empty.try_recv().unwrap_or_else(|_| Box::new(Batch::new(self.batch.worker, programs)));
        empty.second = second + 1;
        // a coordinator that is gone means that the load is being given up
        let _ = self.full.send(std::mem::replace(&mut self.batch, empty));
        if second + 1 < self.seconds.count() {
            self.phase = self.seconds.phase(second + 1);
            self.end_ns = self.start_ns() + self.seconds.end_ns(second + 1);
        } else {
            self.over = true;
            self.end_ns = u64::MAX;
        }
    }
}
