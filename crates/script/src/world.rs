//! What all threads of a run share: settings, limits, the signal to stop.

use crate::tally::Tally;
use load::{
    hub::Way,
    spec::{Distribution, Distributions, script::Value},
};
use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// Errors of the server that are no reason to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ignored {
    /// All.
    All,
    /// Those with these numbers.
    Codes(Vec<u16>),
}

impl Ignored {
    /// What `mysql_ignore_errors` says.
    #[must_use]
    pub fn of(options: &[(String, Value)]) -> Self {
        let list = match options.iter().find(|(name, _)| name == "mysql_ignore_errors") {
            Some((_, Value::List(list))) => list.as_slice(),
            _ => &[],
        };
        match list.first().map(String::as_str) {
            Some("all") => Self::All,
            _ => Self::Codes(list.iter().filter_map(|code| code.parse().ok()).collect()),
        }
    }

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
    /// What the other distributions are made of.
    pub distributions: Distributions,
    /// Where sequences begin.
    pub seed: u64,
}

impl Random {
    /// What sysbench's options for random numbers say. An option that is missing has its default.
    #[must_use]
    pub fn of(options: &[(String, Value)], seed: u64) -> Self {
        let find = |name: &str| options.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let real = |name: &str, default: f64| match find(name) {
            Some(Value::Number(number)) => *number,
            _ => default,
        };
        let whole = |name: &str, default: u32| real(name, default.into()) as u32;
        let usual = Distributions::SYSBENCH;
        let distributions = Distributions {
            iterations: whole("rand_spec_iter", usual.iterations),
            hot_set_percent: whole("rand_spec_pct", usual.hot_set_percent),
            hot_draws_percent: whole("rand_spec_res", usual.hot_draws_percent),
            h: real("rand_pareto_h", usual.h),
            exponent: real("rand_zipfian_exp", usual.exponent),
        };
        let named = match find("rand_type") {
            Some(Value::Text(name)) => distributions.named(name),
            _ => None,
        };
        let default = named.or_else(|| distributions.named("special")).unwrap_or_default();
        Self { default, distributions, seed }
    }
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
    /// Errors after which an event begins again.
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
    /// The first of the numbers that `sysbench.rand.unique` is made of, and how far it is to the next.
    pub counting: (u32, u32),
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
    failure: Mutex<Option<String>>,
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
        let counting = settings.counting.0;
        let events = if settings.events == 0 { i64::MAX } else { settings.events as i64 };
        Self {
            settings,
            options: Mutex::default(),
            listener,
            next_way: AtomicUsize::new(0),
            unique: AtomicU32::new(counting),
            start: OnceLock::new(),
            events_left: AtomicI64::new(events),
            stopped: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            failure: Mutex::default(),
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

    /// Lets what is done once at the end be done, after all connections have ended.
    pub(crate) fn go_on(&self) {
        self.stopped.store(false, Ordering::Relaxed);
    }

    /// A connection's script failed: says why, and ends everything. `function` is what was called; none where
    /// the script was only read.
    pub(crate) fn fail(&self, function: Option<&str>, message: &str, thread: u32) {
        // what fails because everything ends is not said
        if !self.is_stopped() {
            match function {
                Some(function) => self.say(function, message, thread),
                None => self.listener.log(0, message),
            }
            *lock(&self.failure) = Some(format!("{message} (connection {thread})"));
        }
        self.failed.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Says that a function of a connection's script failed.
    pub(crate) fn say(&self, function: &str, message: &str, thread: u32) {
        self.listener.log(0, &format!("`{function}' function failed: {message} (thread #{thread})"));
    }

    /// Where and why the script failed first.
    pub(crate) fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
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
