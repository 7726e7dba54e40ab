//! Servers held against the study's first one, where everything else is equal.

use super::{
    Comparison, EQUAL_WITHIN, LEVEL, STREAM, Verdict,
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
pub(super) fn compare(record: &RunRecord, measured: &[Measured]) -> Vec<Compared> {
    let pairs = pairs(record, measured);
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
            compared.extend(judge(record, metric, measured, &pairs));
        }
    }
    compared
}

/// Points of one stream that differ in the server alone: each with the first server's.
fn pairs(record: &RunRecord, measured: &[Measured]) -> Vec<(usize, usize)> {
    let treatments = &record.plan.treatments;
    let treatment = |index: usize| &treatments[measured[index].point.treatment];
    let mut pairs = Vec::new();
    for index in 0..measured.len() {
        let alike = |other: &usize| treatment(index).is_like(treatment(*other));
        let base = (0..measured.len()).filter(alike).min_by_key(|&other| treatment(other).server);
        pairs.extend(
            base.filter(|&base| treatment(base).server != treatment(index).server).map(|base| (index, base)),
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
fn judge(record: &RunRecord, metric: Metric, measured: &[Measured], pairs: &[Pair]) -> Vec<Compared> {
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
                levels: shared(&measured[pair.point], &measured[pair.base], record),
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

/// Levels that both points have, in factors that do not tell the servers apart.
fn shared(point: &Measured, base: &Measured, record: &RunRecord) -> BTreeMap<String, String> {
    let factors = record.plan.factors.iter().map(|factor| factor.name.as_str());
    factors
        .filter(|name| *name != "server")
        .chain([STREAM])
        .filter_map(|name| {
            let level = point.point.levels.get(name)?;
            (base.point.levels.get(name) == Some(level)).then(|| (name.to_owned(), level.clone()))
        })
        .collect()
}
