//! From records to findings: estimates with intervals for each treatment, comparisons between servers, and what follows
//! from them. Holds no text for people: a finding is a value that `report` puts into words, in any language.

use serde::{Deserialize, Serialize};
use stats::Estimate;
use std::collections::BTreeMap;

/// Everything that a report says, as values.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Findings {
    /// One for each treatment that has at least one trial, in the plan's order.
    pub points: Vec<Point>,
    /// Pairs of servers at otherwise equal levels.
    pub comparisons: Vec<Comparison>,
    /// What is worth saying, most important first.
    pub findings: Vec<Finding>,
}

/// One treatment, all its valid trials together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Point {
    /// Index in the plan's treatments.
    pub treatment: usize,
    /// Level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Name of the server.
    pub server: String,
    /// Connections of the measured stream.
    pub connections: u32,
    /// Trials used.
    pub trials: u32,
    /// Trials left out, with the reason of each.
    pub left_out: Vec<String>,
    /// Transactions per second.
    pub throughput: Estimate,
    /// Statements per second.
    pub statements_per_second: Estimate,
    /// Response time of a transaction, ms, by name: `mean`, `p50`, `p95`, `p99`, `p99.9`. From merged histograms.
    pub latency_ms: BTreeMap<String, Estimate>,
    /// Largest response time seen, ms.
    pub latency_max_ms: f64,
    /// Merged response-time histogram of the transaction.
    pub histogram: load::Histogram,
    /// Transactions per second of each trial used, in order of execution.
    pub throughput_by_trial: Vec<f64>,
    /// Errors by code, all trials together.
    pub errors: BTreeMap<u16, u64>,
    /// Errors per transaction tried, 0 to 1.
    pub error_share: f64,
    /// CPUs that the server kept busy; `None`: unknown.
    pub server_cpu: Option<f64>,
    /// CPUs that Prony itself kept busy.
    pub client_cpu: f64,
    /// Doubts of its trials, each once.
    pub doubts: Vec<String>,
}

/// One server against another where everything else is equal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Comparison {
    /// Levels that both share (all factors but the server).
    pub levels: BTreeMap<String, String>,
    /// Index in [`Findings::points`] of the one.
    pub point: usize,
    /// Index in [`Findings::points`] of the one it is held against (the study's first server).
    pub base: usize,
    /// `throughput`, `p95` or `p99`.
    pub metric: String,
    /// `point` divided by `base`.
    pub ratio: Estimate,
    /// What it means.
    pub verdict: Verdict,
}

/// What a comparison means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval of the ratio lies on the good side.
    Better,
    /// It lies on the bad side.
    Worse,
    /// It lies within the limit that counts as equal.
    Same,
    /// It says neither; more repeats are needed.
    Undecided,
}

/// One thing worth saying. `report` has a sentence for each in each language.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// Over a ladder of connections one server gains over another from a rung on.
    Advantage {
        /// Levels that stay the same over the ladder (workload).
        levels: BTreeMap<String, String>,
        /// The better server.
        server: String,
        /// The other one.
        base: String,
        /// `throughput`, `p95`, `p99`.
        metric: String,
        /// First and last rung of the stretch where it is better.
        connections: (u32, u32),
        /// Ratio at the rung where the difference is greatest.
        ratio: Estimate,
        /// That rung.
        at: u32,
    },
    /// Over the whole ladder no difference could be told.
    NoDifference {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// The servers.
        servers: (String, String),
        /// The metric.
        metric: String,
        /// Largest relative half-width of the intervals: a smaller difference would not have been seen.
        resolution: f64,
    },
    /// Throughput of a server stops growing at this rung.
    Peak {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// Which server.
        server: String,
        /// Rung of the highest throughput.
        connections: u32,
        /// That throughput.
        throughput: Estimate,
        /// Highest rung.
        connections_last: u32,
        /// Throughput there.
        throughput_last: Estimate,
    },
    /// The numbers of these points are in doubt.
    Doubtful {
        /// Indices in [`Findings::points`].
        points: Vec<usize>,
        /// Why, in words.
        reason: String,
    },
}
