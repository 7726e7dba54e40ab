//! What a load did, in the form in which reports and the output of `prony load` show it.

use crate::run;
use load::{Histogram, sample};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What became of the starts of a schedule. backlog + offered = started + skipped + never_sent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Schedule {
    /// Starts that were due before the interval and had not happened when it began.
    pub backlog: u64,
    /// Starts that became due.
    pub offered: u64,
    /// The same, per second.
    pub offered_per_second: f64,
    /// Starts that happened.
    pub started: u64,
    /// The same, per second.
    pub started_per_second: f64,
    /// Of those that happened: starts more than 1 ms after they were due.
    pub late: u64,
    /// Starts that were given up because they were too late.
    pub skipped: u64,
    /// Starts that were due and had not happened at the end.
    pub never_sent: u64,
    /// Time from due to sent, of those that were started, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`, `max`.
    pub delay_ms: BTreeMap<String, f64>,
}

impl Schedule {
    /// The schedule of a stream that was active for `seconds`.
    pub(crate) fn of(schedule: &sample::Schedule, seconds: f64) -> Self {
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Self {
            backlog: schedule.backlog,
            offered: schedule.offered,
            offered_per_second: per_second(schedule.offered),
            started: schedule.started,
            started_per_second: per_second(schedule.started),
            late: schedule.late,
            skipped: schedule.skipped,
            never_sent: schedule.never_sent,
            delay_ms: latencies(&schedule.delay),
        }
    }
}

/// How connections were opened. Times are those of connections that logged in, ms: `mean`, `p50`, `p95`,
/// `p99`, `p99.9`, `max`; empty where none did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Connects {
    /// Connections that logged in.
    pub opened: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// From the beginning of the attempt to the end of the login.
    pub total_ms: BTreeMap<String, f64>,
    /// Of that, the time until TCP or the Unix socket was connected.
    pub tcp_ms: BTreeMap<String, f64>,
    /// Of that, the TLS handshake; empty without TLS.
    pub tls_ms: BTreeMap<String, f64>,
    /// Of that, greeting and authentication.
    pub login_ms: BTreeMap<String, f64>,
    /// From the first statement after the login to its reply.
    pub first_reply_ms: BTreeMap<String, f64>,
}

impl From<&sample::Connects> for Connects {
    fn from(connects: &sample::Connects) -> Self {
        Self {
            opened: connects.opened,
            failed: connects.failed,
            total_ms: latencies(&connects.total),
            tcp_ms: latencies(&connects.tcp),
            tls_ms: latencies(&connects.tls),
            login_ms: latencies(&connects.login),
            first_reply_ms: latencies(&connects.first_reply),
        }
    }
}

/// A period without any success.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Outage {
    /// Place of the trial in the order, from 0; missing: there was no trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// The first failure, s since the load began.
    pub from_s: f64,
    /// The first success after it, or the end.
    pub until_s: f64,
    /// Whether there was such a success.
    pub recovered: bool,
}

impl Outage {
    pub(crate) fn of(trial: Option<u32>, outage: &sample::Outage) -> Self {
        Self {
            trial,
            from_s: outage.from.as_secs_f64(),
            until_s: outage.until.as_secs_f64(),
            recovered: outage.recovered,
        }
    }
}

/// How transactions were spread over the connections; of several trials, the one where they differ most.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Evenness {
    /// Transactions of the slowest connection.
    pub min: u64,
    /// Transactions of the median connection.
    pub median: u64,
    /// Transactions of the fastest connection.
    pub max: u64,
    /// Standard deviation as a share of the mean.
    pub variation: f64,
    /// Connections that finished nothing; of several trials, the highest count.
    pub starved: u64,
}

impl Evenness {
    pub(crate) fn of(fairness: run::Evenness, starved: u64) -> Self {
        let run::Evenness { min, median, max, variation, .. } = fairness;
        Self { min, median, max, variation, starved }
    }
}

/// Mean and percentiles, ms; empty where nothing was recorded.
pub(in crate::report) fn latencies(histogram: &Histogram) -> BTreeMap<String, f64> {
    if histogram.is_empty() {
        return BTreeMap::new();
    }
    let quantile = |name: &str, share| (name.to_owned(), histogram.quantile_ns(share) as f64 / 1e6);
    [
        ("mean".to_owned(), histogram.mean_ns() / 1e6),
        quantile("p50", 0.5),
        quantile("p95", 0.95),
        quantile("p99", 0.99),
        quantile("p99.9", 0.999),
        ("max".to_owned(), histogram.max_ns() as f64 / 1e6),
    ]
    .into()
}
