//! What a TPC-H-like query stream reached: the time of each query, of all together, and their geometric mean,
//! in which a query that takes a hundredth of a second counts as much as one that takes ten.

use super::MixPart;
use crate::{
    layout::{DataSet, tpch},
    plan::{Plan, Treatment},
};
use load::spec::Stream;
use schemars::JsonSchema;
use serde::Serialize;

/// A stream with the queries of TPC-H. It is no audited result, nor comparable with one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tpch {
    /// Scale factor of the data.
    pub scale_factor: f64,
    /// Its queries by number, from 1 to 22.
    pub queries: Vec<Query>,
    /// Sum of the queries' mean times, s; null: a query was never answered.
    pub all_s: Option<f64>,
    /// Geometric mean of the queries' mean times, s; null: a query was never answered.
    pub geometric_mean_s: Option<f64>,
}

/// A query and its times, all trials together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Query {
    /// Its number in the specification.
    pub number: u32,
    /// How often it was answered.
    pub answered: u64,
    /// How often it ended with an error, which one that takes longer than its limit does, too.
    pub failed: u64,
    /// Mean time until its answer was complete, s; null: it was never answered.
    pub mean_s: Option<f64>,
    /// Longest such time, s; null: it was never answered.
    pub max_s: Option<f64>,
}

impl Tpch {
    /// Numbers of the queries that were not answered each time.
    #[must_use]
    pub fn unanswered(&self) -> Vec<u32> {
        let is_missed = |query: &&Query| query.failed > 0 || query.answered == 0;
        self.queries.iter().filter(is_missed).map(|query| query.number).collect()
    }

    /// The query that took longest.
    #[must_use]
    pub fn slowest(&self) -> Option<&Query> {
        let seconds = |query: &&Query| query.mean_s.unwrap_or(0.0);
        self.queries.iter().max_by(|one, other| seconds(one).total_cmp(&seconds(other)))
    }
}

/// What a stream of a treatment reached; `None`: it is no such stream, or did nothing.
pub(super) fn tpch(plan: &Plan, treatment: &Treatment, stream: &Stream, mix: &[MixPart]) -> Option<Tpch> {
    let DataSet::Tpch(data) = plan.data_sets[treatment.data].others() else { return None };
    if stream.workload.name != tpch::NAME || mix.is_empty() {
        return None;
    }
    let mut queries: Vec<Query> = mix.iter().filter_map(query).collect();
    queries.sort_by_key(|query| query.number);
    let times: Option<Vec<f64>> = queries.iter().map(|query| query.mean_s).collect();
    Some(Tpch {
        scale_factor: data.scale_factor,
        all_s: times.as_ref().map(|times| times.iter().sum()),
        geometric_mean_s: times.and_then(|times| geometric_mean(&times)),
        queries,
    })
}

fn query(part: &MixPart) -> Option<Query> {
    let mean_s = part.latency_ms.get("mean").map(|ms| ms / 1e3);
    Some(Query {
        number: part.name.strip_prefix('q')?.parse().ok()?,
        answered: part.count,
        failed: part.errors,
        max_s: mean_s.map(|_| part.latency_max_ms / 1e3),
        mean_s,
    })
}

fn geometric_mean(times: &[f64]) -> Option<f64> {
    let logarithms: f64 = times.iter().map(|time| time.ln()).sum();
    Some((logarithms / times.len() as f64).exp()).filter(|mean| mean.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn part(name: &str, mean_ms: Option<f64>, errors: u64) -> MixPart {
        MixPart {
            name: name.to_owned(),
            count: u64::from(mean_ms.is_some()),
            share: 0.5,
            throughput: 1.0,
            latency_ms: mean_ms.map(|mean| BTreeMap::from([("mean".to_owned(), mean)])).unwrap_or_default(),
            latency_max_ms: mean_ms.unwrap_or(0.0),
            errors,
        }
    }

    #[test]
    fn the_geometric_mean_weighs_short_queries_like_long_ones() {
        assert!((geometric_mean(&[0.01, 1.0, 100.0]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn a_query_that_was_given_up_is_told() {
        let queries: Vec<Query> =
            [part("q10", Some(20.0), 0), part("q9", None, 2)].iter().filter_map(query).collect();
        let told = Tpch { scale_factor: 1.0, queries, all_s: None, geometric_mean_s: None };
        assert_eq!(told.unanswered(), [9]);
        assert_eq!(told.slowest().unwrap().number, 10);
        assert_eq!((told.queries[0].mean_s, told.queries[1].max_s), (Some(0.02), None));
    }
}
