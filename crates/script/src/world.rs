//! What all threads of a run share: settings, limits, the signal to stop.

use crate::tally::Tally;
use load::{hub::Way, spec::Distribution};
use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// A value of an option, as scripts see it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing was given, and there is no default.
    Nil,
    /// On or off.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// Text.
    Text(String),
    /// Texts.
    List(Vec<String>),
}

/// Errors of the server that are no reason to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ignored {
    /// All.
    All,
    /// Those with these numbers.
    Codes(Vec<u16>),
}

impl Ignored {
    pub(crate) fn has(&self, code: u16) -> bool {
        match self {
            Self::All => true,
            Self::Codes(codes) => codes.contains(&code),
        }
    }
}

/// How ids are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Random {
    /// What `sysbench.rand.default` is.
    pub default: Distribution,
    /// Uniform numbers that make one of `gaussian` and `special`.
    pub iterations: u32,
    /// Size of `special`'s hot set, per cent.
    pub hot_percent: u32,
    /// Share of the draws that hit it, per cent.
    pub hot_draws: u32,
    /// Of `pareto`.
    pub h: f64,
    /// Of `zipfian`.
    pub exponent: f64,
    /// Where sequences begin.
    pub seed: u64,
}

/// What a script learns of the command line.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Options by name, for `sysbench.opt`.
    pub named: Vec<(String, Value)>,
    /// Options that become global variables, for scripts that declare none.
    pub globals: Vec<(String, String)>,
}

/// How a script's world is.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Connections, each with a state of its own.
    pub threads: u32,
    /// Servers, in the order in which new connections take them.
    pub ways: Vec<Way>,
    /// Words for each of `ways` in the message that nobody answers there.
    pub places: Vec<String>,
    /// Name of the database driver that scripts get.
    pub driver: String,
    /// Whether statements are prepared by the server.
    pub prepares: bool,
    /// Nothing is sent.
    pub dry_run: bool,
    /// Errors after which an event begins anew.
    pub ignored: Ignored,
    /// Random numbers.
    pub random: Random,
    /// Events in all; 0: without limit.
    pub events: u64,
    /// When no further event begins, after the warm-up; zero: never.
    pub time: Duration,
    /// Events that run before anything is counted.
    pub warm_up: Duration,
    /// After the end of `time`, how long events that run are waited for.
    pub forced_shutdown: Option<Duration>,
    /// Events in a second, in an open loop; 0: one after another.
    pub rate: f64,
    /// Threads of the machine that share the connections; `None`: as many as fit.
    pub workers: Option<u32>,
    /// The command line.
    pub arguments: Vec<String>,
    /// Its command.
    pub command: Option<String>,
    /// Directories that scripts are looked for in.
    pub search_path: Vec<String>,
}

/// How loud a message is, as sysbench numbers it: 0 fatal, 1 alert, 2 warning, 3 notice, 4 info, 5 debug.
pub type Level = u8;

/// Takes what scripts print and what is to be said of a run.
pub trait Listener: Send + Sync {
    /// Text as it is.
    fn out(&self, text: &str);
    /// A message.
    fn log(&self, level: Level, text: &str);
}

/// Shared by all states of a run.
pub(crate) struct World {
    pub(crate) settings: Settings,
    pub(crate) options: Mutex<Options>,
    pub(crate) listener: Box<dyn Listener>,
    next_way: AtomicUsize,
    pub(crate) unique: AtomicU32,
    /// Set when all connections may begin.
    pub(crate) start: OnceLock<Instant>,
    pub(crate) events_left: AtomicI64,
    stopped: AtomicBool,
    pub(crate) failed: AtomicBool,
    /// Connections whose `thread_run` goes on.
    pub(crate) running: AtomicU32,
    /// Connections that are in an event.
    pub(crate) busy: AtomicU32,
    /// Events of an open loop that wait for a connection.
    pub(crate) queued: AtomicU32,
    /// Events of an open loop that found the queue full.
    pub(crate) dropped: AtomicU32,
    at_end: Mutex<String>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl World {
    pub(crate) fn new(settings: Settings, listener: Box<dyn Listener>) -> Self {
        let events = if settings.events == 0 { i64::MAX } else { settings.events as i64 };
        Self {
            settings,
            options: Mutex::default(),
            listener,
            next_way: AtomicUsize::new(0),
            unique: AtomicU32::new(0),
            start: OnceLock::new(),
            events_left: AtomicI64::new(events),
            stopped: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            running: AtomicU32::new(0),
            busy: AtomicU32::new(0),
            queued: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
            at_end: Mutex::default(),
        }
    }

    /// The server that the next connection goes to.
    pub(crate) fn next_way(&self) -> usize {
        self.next_way.fetch_add(1, Ordering::Relaxed) % self.settings.ways.len().max(1)
    }

    /// Whether everything is to end at once.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends everything at once.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// A script failed: says why, and ends everything.
    pub(crate) fn fail(&self, function: &str, message: &str) {
        // what fails because everything ends is not said
        if !self.is_stopped() {
            self.listener.log(0, &format!("`{function}' function failed: {message}"));
        }
        self.failed.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Whether no further event begins.
    pub(crate) fn is_over(&self) -> bool {
        let time = self.settings.time;
        self.is_stopped()
            || !time.is_zero()
                && self.start.get().is_some_and(|start| start.elapsed() >= time + self.settings.warm_up)
    }

    /// Takes one event off the limit; whether there was one left.
    pub(crate) fn take_event(&self) -> bool {
        self.settings.events == 0 || self.events_left.fetch_sub(1, Ordering::Relaxed) > 0
    }

    /// Text that is printed when the run has ended.
    pub(crate) fn set_at_end(&self, text: &str) {
        lock(&self.at_end).push_str(text);
    }

    pub(crate) fn take_at_end(&self) -> String {
        std::mem::take(&mut lock(&self.at_end))
    }
}

/// Locks; a thread that died with the lock has been told already.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one thread of connections has counted since it was asked last.
pub(crate) type Counted = Mutex<Tally>;
