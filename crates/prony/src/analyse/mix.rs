//! What each transaction of a mix did, where a stream's workload has several.
//!
//! The whole measurement interval counts. Transactions of a mix have no separate seconds, so these figures
//! include the seconds at the beginning of a trial that other figures leave out.

use load::{
    Histogram,
    sample::{StreamOutcome, Tally},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// One transaction of a mix, all trials together, including seconds at the beginning of a trial that other
/// figures leave out.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MixPart {
    /// Its name in the workload.
    pub name: String,
    /// Transactions that succeeded.
    pub count: u64,
    /// The same as a share of all transactions that succeeded, 0 to 1.
    pub share: f64,
    /// The same as transactions per second.
    pub throughput: f64,
    /// Response time, ms, by name: `mean`, `p50`, `p90`, `p95`, `p99`, from merged histograms; empty where
    /// none succeeded.
    pub latency_ms: BTreeMap<String, f64>,
    /// Longest response time, ms.
    pub latency_max_ms: f64,
    /// Transactions that ended with an error.
    pub errors: u64,
}

/// The transactions of a stream's mix in the workload's order, over trials with the time that each was
/// active; empty where there is only one.
pub(super) fn mix<'a>(trials: impl Iterator<Item = (&'a StreamOutcome, Duration)>) -> Vec<MixPart> {
    let mut parts: Vec<Tally> = Vec::new();
    let mut seconds = 0.0;
    for (stream, time) in trials {
        seconds += time.as_secs_f64();
        for tally in &stream.by_transaction {
            match parts.iter_mut().find(|known| known.name == tally.name) {
                Some(known) => known.merge(tally),
                None => parts.push(tally.clone()),
            }
        }
    }
    let all: u64 = parts.iter().map(|tally| tally.count).sum();
    if parts.len() < 2 || seconds <= 0.0 {
        return Vec::new();
    }
    parts.into_iter().map(|tally| part(tally, all, seconds)).collect()
}

fn part(tally: Tally, all: u64, seconds: f64) -> MixPart {
    MixPart {
        count: tally.count,
        share: tally.count as f64 / all.max(1) as f64,
        throughput: tally.count as f64 / seconds,
        latency_ms: latencies(tally.response()),
        latency_max_ms: tally.response().max_ns() as f64 / 1e6,
        errors: tally.errors,
        name: tally.name,
    }
}

fn latencies(histogram: &Histogram) -> BTreeMap<String, f64> {
    if histogram.is_empty() {
        return BTreeMap::new();
    }
    let quantile = |name: &str, share: f64| (name.to_owned(), histogram.quantile_ns(share) as f64 / 1e6);
    let mean = ("mean".to_owned(), histogram.mean_ns() / 1e6);
    [mean, quantile("p50", 0.5), quantile("p90", 0.9), quantile("p95", 0.95), quantile("p99", 0.99)].into()
}
