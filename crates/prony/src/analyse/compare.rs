//! Servers held against the study's first one, where everything else is equal; with one server, levels held against the
//! first ones.

use super::{
    Axis, Comparison, EQUAL_WITHIN, LEVEL, STREAM, Verdict,
    point::{Measured, Metric},
};
use crate::store::RunRecord;
use stats::{Estimate, Spread};
use std::collections::BTreeMap;

/// What servers are compared by.
const METRICS: [Metric; 3] = [Metric::Throughput, Metric::Quantile(950), Metric::Quantile(990)];
/// How surely the smallest difference that is called detectable is detected.
const POWER: f64 = 0.9;

/// A comparison, with what findings need beside it.
#[derive(Debug)]
pub(super) struct Compared {
    /// The comparison.
    pub(super) comparison: Comparison,
    /// Smallest difference, as a share, that would have been called one in nine of ten runs; `None`: unknown.
    pub(super) detectable: Option<f64>,
}

/// A pair of points of one metric before its verdict.
struct Pair {
    point: usize,
    base: usize,
    /// Logarithm of the ratio.
    log: f64,
    /// The same in each block that has both.
    by_block: Vec<f64>,
}

/// Every server against the first, metric by metric.
pub(super) fn compare(record: &RunRecord, axis: &Axis, measured: &[Measured]) -> Vec<Compared> {
    let pairs = pairs(record, axis, measured);
    let mut compared = Vec::new();
    for metric in METRICS {
        let name = |pair: &(usize, usize)| measured[pair.0].point.stream.as_str();
        let mut streams: Vec<&str> = pairs.iter().map(name).collect();
        streams.sort_unstable();
        streams.dedup();
        for stream in streams {
            let pairs = pairs.iter().filter(|pair| name(pair) == stream);
            let pairs: Vec<Pair> =
                pairs.filter_map(|&(point, base)| pair(metric, measured, point, base)).collect();
            compared.extend(judge(record, axis, metric, measured, &pairs));
        }
    }
    compared
}

/// Points of one stream that differ in what is compared alone: each with the first one's.
fn pairs(record: &RunRecord, axis: &Axis, measured: &[Measured]) -> Vec<(usize, usize)> {
    let treatments = &record.plan.treatments;
    let point = |index: usize| &measured[index].point;
    let alike = |one: usize, other: usize| {
        let (one, other) = (point(one), point(other));
        let same = if axis.compared.is_empty() {
            treatments[one.treatment].is_like(&treatments[other.treatment])
        } else {
            let mut levels = one.levels.iter().filter(|(factor, _)| !axis.compares(factor));
            levels.all(|(factor, level)| other.levels.get(factor) == Some(level))
        };
        one.stream == other.stream && same
    };
    let mut pairs = Vec::new();
    for index in 0..measured.len() {
        let others = (0..measured.len()).filter(|&other| alike(index, other));
        let base = others.min_by_key(|&other| (treatments[point(other).treatment].server, other));
        pairs.extend(
            base.filter(|&base| axis.side(point(base)) != axis.side(point(index))).map(|base| (index, base)),
        );
    }
    pairs
}

fn pair(metric: Metric, measured: &[Measured], point: usize, base: usize) -> Option<Pair> {
    let log = measured[point].logs.get(&metric)? - measured[base].logs.get(&metric)?;
    let of_base = measured[base].logs_by_block.get(&metric)?;
    let of_point = measured[point].logs_by_block.get(&metric)?;
    let by_block = of_point.iter().filter_map(|(block, log)| Some(log - of_base.get(block)?)).collect();
    Some(Pair { point, base, log, by_block })
}

/// Verdicts on all comparisons of one metric, corrected for being many.
fn judge(
    record: &RunRecord,
    axis: &Axis,
    metric: Metric,
    measured: &[Measured],
    pairs: &[Pair],
) -> Vec<Compared> {
    let groups: Vec<Vec<f64>> = pairs.iter().map(|pair| pair.by_block.clone()).collect();
    let spreads = stats::moderate(&groups);
    let blocks = |pair: &Pair| u32::try_from(pair.by_block.len()).unwrap_or(u32::MAX).max(1);
    let p_values: Vec<f64> = pairs
        .iter()
        .zip(&spreads)
        .map(|(pair, spread)| spread.map_or(1.0, |spread: Spread| spread.p_value(pair.log, blocks(pair))))
        .collect();
    let corrected = stats::holm(&p_values);
    let many = pairs.len().max(1) as f64;
    pairs
        .iter()
        .zip(spreads)
        .zip(corrected)
        .map(|((pair, spread), p_value)| {
            let ratio = match spread {
                Some(spread) => spread.interval_of_exp(pair.log, blocks(pair), LEVEL),
                None => Estimate::bare(pair.log.exp(), LEVEL, blocks(pair)),
            };
            let overloaded = [pair.point, pair.base].iter().any(|&one| measured[one].point.overloaded > 0);
            let verdict = if overloaded { Verdict::Overloaded } else { verdict(metric, &ratio, p_value) };
            let comparison = Comparison {
                levels: shared(&measured[pair.point], &measured[pair.base], axis, record),
                point: pair.point,
                base: pair.base,
                metric: metric.name(),
                ratio,
                verdict,
            };
            let level = 1.0 - (1.0 - LEVEL) / many;
            let detectable = spread.map(|spread| spread.detectable(blocks(pair), level, POWER).exp() - 1.0);
            Compared { comparison, detectable }
        })
        .collect()
}

fn verdict(metric: Metric, ratio: &Estimate, p_value: f64) -> Verdict {
    let Some((low, high)) = ratio.interval() else { return Verdict::Undecided };
    if low >= 1.0 - EQUAL_WITHIN && high <= 1.0 + EQUAL_WITHIN {
        return Verdict::Same;
    }
    let different = p_value < 1.0 - LEVEL && (low > 1.0 || high < 1.0);
    let more_is_better = metric == Metric::Throughput;
    match (different, (ratio.value > 1.0) == more_is_better) {
        (false, _) => Verdict::Undecided,
        (true, true) => Verdict::Better,
        (true, false) => Verdict::Worse,
    }
}

/// Levels that both points have, in factors that do not tell apart what is compared.
fn shared(point: &Measured, base: &Measured, axis: &Axis, record: &RunRecord) -> BTreeMap<String, String> {
    let factors = record.plan.factors.iter().map(|factor| factor.name.as_str());
    factors
        .filter(|name| !axis.compares(name))
        .chain([STREAM])
        .filter_map(|name| {
            let level = point.point.levels.get(name)?;
            (base.point.levels.get(name) == Some(level)).then(|| (name.to_owned(), level.clone()))
        })
        .collect()
}
