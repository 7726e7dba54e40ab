//! What the engine measured: one [`Sample`] for each stream and second while it runs, one [`Outcome`] at the
//! end.

use crate::{clocks::Offset, histogram::Histogram, host::Host};
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

/// Whether a second belongs to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the measurement interval; shown, not counted.
    WarmUp,
    /// The measurement interval.
    Measure,
}

/// One second of one stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sample {
    /// Index of the stream in [`crate::Spec::streams`].
    pub stream: u16,
    /// Number of the second since the load began, from 0.
    pub second: u32,
    /// Warm-up or measurement.
    pub phase: Phase,
    /// How long it really was.
    pub length: Duration,
    /// Whole transactions.
    pub transactions: Tally,
    /// Statements, one entry for each kind in the order of [`StreamOutcome::statements`].
    pub statements: Vec<Tally>,
    /// Errors of this second, all codes together.
    pub errors: u64,
    /// What became due; `None` where the arrival has no schedule.
    #[serde(default)]
    pub schedule: Option<Schedule>,
}

/// What became of the starts of a schedule ([`crate::spec::Arrival::Paced`] and
/// [`crate::spec::Arrival::Open`]).
///
/// Over a whole interval, `backlog + offered = started + skipped + never_sent`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Due before, and not yet started when the second (or interval) began.
    pub backlog: u64,
    /// Became due.
    pub offered: u64,
    /// Were started.
    pub started: u64,
    /// Of `started`: more than [`LATE`] after they were due.
    pub late: u64,
    /// Given up because they were later than the arrival's `lateness_max`.
    pub skipped: u64,
    /// Due, and still not started at the end.
    pub never_sent: u64,
    /// Of `started`: from due to the first byte sent.
    pub delay: Histogram,
}

/// A start is late when it comes more than this after it was due: well above what a timer and a busy
/// processor cost.
pub const LATE: Duration = Duration::from_millis(1);

impl Schedule {
    /// Adds the same time of another worker.
    pub fn merge_beside(&mut self, other: &Self) {
        self.backlog += other.backlog;
        self.never_sent += other.never_sent;
        self.merge_counts(other);
    }

    /// Adds the time that follows.
    pub fn merge_after(&mut self, other: &Self) {
        self.never_sent = other.never_sent;
        self.merge_counts(other);
    }

    /// Forgets everything; keeps the memory.
    pub(crate) fn clear(&mut self) {
        let Self { backlog, offered, started, late, skipped, never_sent, delay } = self;
        (*backlog, *offered, *late, *skipped, *never_sent) = (0, 0, 0, 0, 0);
        if *started != 0 {
            delay.clear();
        }
        *started = 0;
    }

    fn merge_counts(&mut self, other: &Self) {
        self.offered += other.offered;
        self.started += other.started;
        self.late += other.late;
        self.skipped += other.skipped;
        self.delay.merge(&other.delay);
    }
}

/// Counts and latency of one kind of work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Name of the statement kind, or of the transaction, or `transactions` for all together.
    pub name: String,
    /// Ended well. The histograms hold these and no others.
    pub count: u64,
    /// Ended with an error.
    pub errors: u64,
    /// Rows received.
    pub rows: u64,
    /// Rows affected.
    pub affected: u64,
    /// Replies without a row where [`crate::spec::Expect::Row`] was expected.
    pub not_found: u64,
    /// Replies without an affected row where [`crate::spec::Expect::Change`] was expected.
    pub unchanged: u64,
    /// Of `errors`: those that came after rows of the same result.
    #[serde(default)]
    pub cut_short: u64,
    /// From the actual send of the first byte to the last byte of the reply.
    pub service: Histogram,
    /// From the intended start to the last byte of the reply; `None` where the arrival makes it the same as
    /// `service`.
    pub response: Option<Histogram>,
}

impl Tally {
    /// An empty one.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Response time: from the intended start.
    #[must_use]
    pub fn response(&self) -> &Histogram {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Adds another tally of the same kind.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.errors += other.errors;
        self.rows += other.rows;
        self.affected += other.affected;
        self.not_found += other.not_found;
        self.unchanged += other.unchanged;
        self.cut_short += other.cut_short;
        if let Some(theirs) = &other.response {
            let service = &self.service;
            self.response.get_or_insert_with(|| service.clone()).merge(theirs);
        } else if let Some(ours) = &mut self.response {
            ours.merge(&other.service);
        }
        self.service.merge(&other.service);
    }
}

/// The end of a load. Everything in it is about the measurement interval unless it says otherwise.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// One for each stream of the [`crate::Spec`].
    pub streams: Vec<StreamOutcome>,
    /// What the engine itself used.
    pub client: ClientUsage,
    /// How long the warm-up really was; `None` in records of the first versions: as long as requested.
    #[serde(default)]
    pub warm_up: Option<Duration>,
    /// How long the interval really was.
    pub interval: Duration,
    /// Why it ended.
    pub end: End,
    /// The server's version as it introduced itself at login.
    pub server_version: String,
}

/// Why a load ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The interval was over.
    Completed,
    /// The caller asked for it.
    Interrupted,
    /// Going on was pointless.
    Failed(#[serde(deserialize_with = "Broken::from_store")] Broken),
}

/// What made going on with a load pointless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Broken {
    /// A statement failed in a way that will not pass, such as a table that is not there.
    #[error("{message} (error {code}, state {state})")]
    Statement {
        /// The server's number of it.
        code: u16,
        /// SQL state.
        state: String,
        /// The server's words.
        message: String,
    },
    /// A script cannot go on.
    #[error("{message}")]
    Script {
        /// Where and why, in its interpreter's words.
        message: String,
    },
    /// A thread of the engine ended early.
    #[error("a worker ended early")]
    WorkerGone,
    /// Known in words only: by an older version of Prony.
    #[error("{0}")]
    Told(String),
}

impl Broken {
    /// As a record has it: records of older versions have words only.
    fn from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Words(String),
            Whole(Broken),
        }
        // the one that is a word itself
        const WORKER_GONE: &str = "worker_gone";
        Ok(match Stored::deserialize(stored)? {
            Stored::Words(word) if word == WORKER_GONE => Self::WorkerGone,
            Stored::Words(words) => Self::Told(words),
            Stored::Whole(broken) => broken,
        })
    }
}

/// What one stream did.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StreamOutcome {
    /// [`crate::spec::Stream::name`].
    pub name: String,
    /// Connections asked for that work.
    pub connections: u32,
    /// Connections asked for that only stay open.
    #[serde(default)]
    pub idle: u32,
    /// Connections that logged in, since the beginning; reconnects count again.
    pub connections_opened: u64,
    /// How they were opened before the load began.
    #[serde(default)]
    pub opening: Connects,
    /// How they were opened in the measurement interval: by the connection mode, or because they were lost.
    #[serde(default)]
    pub reconnecting: Connects,
    /// When it was active within the interval, since the load began (warm-up included): from, until. Rates
    /// of the stream are over this time.
    #[serde(default)]
    pub active: (Duration, Duration),
    /// Whether it reached its [`crate::spec::Stream::limit`]; `None`: it has none.
    #[serde(default)]
    pub limit_reached: Option<bool>,
    /// What became of the schedule; `None` where the arrival has none.
    #[serde(default)]
    pub schedule: Option<Schedule>,
    /// Times without success after something had failed, in order.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// Times in which nothing ended and nothing failed, in order.
    #[serde(default)]
    pub standstills: Vec<Standstill>,
    /// All transactions together, named `transactions`.
    pub transactions: Tally,
    /// The same, one entry for each transaction of the mix.
    pub by_transaction: Vec<Tally>,
    /// Statements by kind, in order of appearance in the workload.
    pub statements: Vec<Tally>,
    /// Transactions that ended with an error and were rolled back.
    pub rolled_back: u64,
    /// Errors by code, most frequent first.
    pub errors: Vec<ErrorCount>,
    /// Transactions ended well by each connection of the stream: shows starvation.
    pub transactions_by_connection: Vec<u64>,
    /// Transactions that had begun and not ended when the interval was over.
    pub in_flight_at_end: u32,
    /// Age of the oldest of them, from its start.
    pub in_flight_age_max: Duration,
}

impl StreamOutcome {
    /// How long the stream was active within the interval; `interval` is [`Outcome::interval`].
    #[must_use]
    pub fn active_time(&self, interval: Duration) -> Duration {
        let (from, until) = self.active;
        // records of the first version have no such times: their streams were active all the time
        if until.is_zero() { interval } else { until.saturating_sub(from) }
    }
}

/// How connections were opened. All times are of connections that logged in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Connects {
    /// Logged in.
    pub opened: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// From the beginning to the end of the login.
    pub total: Histogram,
    /// Of that, until TCP (or the Unix socket) was connected.
    pub tcp: Histogram,
    /// Of that, the TLS handshake; empty without TLS.
    pub tls: Histogram,
    /// Of that, the rest: greeting and authentication.
    pub login: Histogram,
    /// From the first statement sent after the login to its reply.
    pub first_reply: Histogram,
}

impl Connects {
    /// Adds those of another worker or time.
    pub fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.failed += other.failed;
        self.total.merge(&other.total);
        self.tcp.merge(&other.tcp);
        self.tls.merge(&other.tls);
        self.login.merge(&other.login);
        self.first_reply.merge(&other.first_reply);
    }
}

/// A time of 0.1 s or longer in which a stream had no success, from its first failure on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// The first failure, since the load began.
    pub from: Duration,
    /// The first success after it, or the end of the load.
    pub until: Duration,
    /// Whether there was a success after it.
    pub recovered: bool,
}

/// A time of 0.1 s or longer in which no transaction of a stream ended and none failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standstill {
    /// The last success before it, since the load began.
    pub from: Duration,
    /// The first success after it, or the end of the load.
    pub until: Duration,
}

/// How often an error came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The server's error code, or 2000 to 2999 for errors on the client's side (2013: connection lost).
    pub code: u16,
    /// SQL state.
    pub state: String,
    /// How often.
    pub count: u64,
    /// The first such message, as the server sent it.
    pub message: String,
    /// First time, since the load began.
    pub first: Duration,
    /// Last time, since the load began.
    pub last: Duration,
}

/// What one of the processes that ran the load together used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PartUsage {
    /// Which: `load process 2 of 4`.
    pub name: String,
    /// CPU time in user mode in the measurement interval.
    pub cpu_user: Duration,
    /// CPU time in the kernel in the measurement interval.
    pub cpu_system: Duration,
    /// How long its cgroup was held back in the measurement interval, since it had used up its CPU time.
    #[serde(default)]
    pub throttled: Duration,
    /// Worker threads.
    pub workers: u32,
    /// Peak resident memory, bytes.
    pub memory_bytes_max: u64,
    /// How long after the time that was set for all processes its first stream began.
    pub start_delay: Duration,
    /// CPU time of its busiest worker thread.
    #[serde(default)]
    pub worker_max: Duration,
    /// Its part of [`ClientUsage::send_delay`].
    #[serde(default)]
    pub send_delay: Histogram,
    /// Its part of [`ClientUsage::queueing`].
    #[serde(default)]
    pub queueing: Histogram,
    /// How its clock stood to the one of whoever conducted the load; `None`: it was the same.
    #[serde(default)]
    pub clock: Option<PartClock>,
    /// The load host that it was on; `None`: the machine of whoever conducted the load.
    #[serde(default)]
    pub host: Option<Host>,
}

/// How the clock of a part on another machine stood to the one of whoever conducted the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartClock {
    /// Before the load began; by this one all times of the part are reckoned.
    pub before: Offset,
    /// At its end.
    pub after: Offset,
}

impl PartClock {
    /// How far the clocks have moved apart meanwhile, as far as that is more than what is not known.
    #[must_use]
    pub fn drift(&self) -> Duration {
        let apart = self.after.ahead_ns.abs_diff(self.before.ahead_ns);
        let unknown = self.after.uncertainty_ns.saturating_add(self.before.uncertainty_ns);
        Duration::from_nanos(apart.saturating_sub(unknown))
    }
}

/// What the engine itself used during the measurement interval: this process, or all that ran parts of the
/// load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClientUsage {
    /// CPU time in user mode.
    pub cpu_user: Duration,
    /// CPU time in the kernel.
    pub cpu_system: Duration,
    /// CPU time of each worker thread.
    pub workers: Vec<Duration>,
    /// Worker threads requested in each process ([`crate::Spec::workers`]), of which no more run than there
    /// are connections; 0: none were requested.
    #[serde(default)]
    pub workers_asked: u32,
    /// Peak resident memory, bytes.
    pub memory_bytes_max: u64,
    /// The engine's own part of a start's delay: from when a transaction was due and had a connection to when
    /// it was sent. Only for arrivals that wait for a time: think time, paced, open loop.
    #[serde(default)]
    pub send_delay: Histogram,
    /// How long a socket that the kernel had reported as readable waited for its turn.
    #[serde(default)]
    pub queueing: Histogram,
    /// Each process, if the load did not run in Prony's own.
    #[serde(default)]
    pub parts: Vec<PartUsage>,
}

impl ClientUsage {
    /// How exactly the clocks of parts on other machines were known, and by how much they drifted, in the
    /// worst case; `None`: there are none.
    #[must_use]
    pub fn clocks(&self) -> Option<(Duration, Duration)> {
        let known = |clock: PartClock| {
            Duration::from_nanos(clock.before.uncertainty_ns.max(clock.after.uncertainty_ns))
        };
        let clocks = || self.parts.iter().filter_map(|part| part.clock);
        Some((clocks().map(known).max()?, clocks().map(|clock| clock.drift()).max()?))
    }

    /// How far the starts of the processes are apart, each by its own clock as far as that is known; zero:
    /// one process ran the load.
    #[must_use]
    pub fn start_skew(&self) -> Duration {
        let delays = || self.parts.iter().map(|part| part.start_delay);
        delays().max().unwrap_or_default() - delays().min().unwrap_or_default()
    }
}
