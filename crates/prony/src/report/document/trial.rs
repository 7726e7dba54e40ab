//! One trial as the document holds it: its streams and their seconds.

use super::Doubt;
use crate::run::Level;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One execution of a treatment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Trial {
    /// Place in the order, from 0.
    pub number: u32,
    /// The repeat that it belongs to, from 0.
    pub block: u32,
    /// Level of each factor.
    pub levels: BTreeMap<String, String>,
    /// The server.
    pub server: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// Why it could not be measured; null: it was measured.
    pub failure: Option<String>,
    /// The level of the worst doubt.
    pub verdict: Level,
    /// Reasons to doubt it.
    pub doubts: Vec<Doubt>,
    /// CPUs that the server kept busy.
    pub server_cpu: Option<f64>,
    /// Its streams, in the study's order.
    pub streams: Vec<TrialStream>,
}

/// One stream of a trial.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrialStream {
    /// Its name.
    pub name: String,
    /// Active connections.
    pub connections: u32,
    /// Transactions per second.
    pub throughput: Option<f64>,
    /// Starts that became due per second; null: the arrival has no schedule.
    pub offered: Option<f64>,
    /// How long it was active within the interval, s.
    pub active_s: Option<f64>,
    /// Response time of a transaction, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`, `max`.
    pub latency_ms: BTreeMap<String, f64>,
    /// Errors by the server's code.
    pub errors: BTreeMap<String, u64>,
    /// The stream second by second.
    pub seconds: Seconds,
}

/// The seconds of a stream in a trial; all lists but `offered` are equally long.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Seconds {
    /// Number of each second since the load began.
    pub second: Vec<u32>,
    /// When each second ended, s since the load began; the last one of the warm-up may be shorter than
    /// others.
    pub end_s: Vec<f64>,
    /// How many seconds, at the beginning, are warm-up.
    pub warm_up: usize,
    /// Transactions per second.
    pub throughput: Vec<f64>,
    /// Starts that became due per second; empty: the arrival has no schedule.
    pub offered: Vec<f64>,
    /// 95th percentile of response time, ms; null: nothing ended.
    pub p95_ms: Vec<Option<f64>>,
    /// 99th percentile of response time, ms; null: nothing ended.
    pub p99_ms: Vec<Option<f64>>,
    /// Errors.
    pub errors: Vec<u64>,
}
