//! What a TPC-C-like load reached, and whether it met the requirements of the specification (5.11): response
//! times below their limits (5.2.5.3), and terminals that key in and think, without which there is no tpmC
//! (5.2.5.7).

use super::MixPart;
use crate::{
    layout::{DataSet, tpcc},
    plan::{Plan, Treatment},
};
use load::spec::{Arrival, Stream};
use schemars::JsonSchema;
use serde::Serialize;

/// A stream with the transactions of TPC-C. It is not an audited result, nor comparable with one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tpcc {
    /// Warehouses of the data.
    pub warehouses: u32,
    /// New-Order transactions per minute, including those rolled back by a user's mistake.
    pub new_orders_per_minute: f64,
    /// The most that ten terminals for each warehouse can reach with keying and think times: 12.86 for each
    /// warehouse.
    pub tpmc_max: f64,
    /// Whether it is a tpmC at all: ten connections for each warehouse, with keying and think times.
    pub has_terminals: bool,
    /// Whether the transactions are stored procedures; otherwise single statements.
    pub procedures: bool,
    /// Its transactions, in the workload's order.
    pub transactions: Vec<Bound>,
}

/// A transaction and its limit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bound {
    /// Its name.
    pub name: String,
    /// Transactions per minute that succeeded.
    pub per_minute: f64,
    /// 90th percentile of its response time, s; null: none succeeded.
    pub p90_s: Option<f64>,
    /// The limit of that percentile, s.
    pub p90_max_s: f64,
    /// Whether the percentile is below the limit.
    pub is_kept: bool,
}

impl Tpcc {
    /// Whether all response times are below their limits.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.transactions.iter().all(|bound| bound.is_kept)
    }
}

/// What a stream of a treatment reached; `None`: it is no such stream, or did nothing.
pub(super) fn tpcc(plan: &Plan, treatment: &Treatment, stream: &Stream, mix: &[MixPart]) -> Option<Tpcc> {
    let DataSet::Tpcc(data) = plan.data_sets[treatment.data].others() else { return None };
    let is_one = tpcc::BUILTINS.iter().any(|builtin| builtin.name == stream.workload.name);
    if !is_one || mix.is_empty() {
        return None;
    }
    let part = |name: &str| mix.iter().find(|part| part.name == name);
    let bound = |limits: &tpcc::Limits| {
        let part = part(limits.transaction);
        let p90_s = part.and_then(|part| part.latency_ms.get("p90")).map(|ms| ms / 1e3);
        let p90_max_s = limits.p90_max.as_secs_f64();
        Bound {
            name: limits.transaction.to_owned(),
            per_minute: part.map_or(0.0, |part| part.throughput * 60.0),
            p90_s,
            p90_max_s,
            is_kept: p90_s.is_none_or(|p90| p90 < p90_max_s),
        }
    };
    let transactions: Vec<Bound> = tpcc::LIMITS.iter().map(bound).collect();
    let terminals = u64::from(data.warehouses) * tpcc::DISTRICTS;
    Some(Tpcc {
        warehouses: data.warehouses,
        new_orders_per_minute: transactions[0].per_minute,
        tpmc_max: f64::from(data.warehouses) * tpcc::TPMC_MAX,
        has_terminals: matches!(stream.arrival, Arrival::Waits(_))
            && u64::from(stream.connections) == terminals,
        procedures: data.procedures,
        transactions,
    })
}
