//! One run held against another, point by point: what is the same treatment in both.
//!
//! Two runs share no blocks: they ran at different times, so that nothing cancels between them, and each side
//! brings its own variance (Welch). What differs from one start of a server to the next is in neither; the
//! difference that matters ([`crate::plan::Plan::relevant`], the larger of the two) is the allowance for it.

use super::{Measurement, Metric, Point, Verdict, measurement::METRICS};
use crate::{plan::without_levels, store::RunRecord};
use stats::{Difference, Estimate, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// One metric of one treatment's stream in both runs.
#[derive(Debug, Clone)]
pub struct RunComparison {
    /// Its levels in the first run, without the server.
    pub levels: BTreeMap<String, String>,
    /// Its server in the first run and in the second.
    pub servers: (String, String),
    /// The stream.
    pub stream: String,
    /// `throughput`, `p95`, `p99`, and whichever percentile another tool stated.
    pub metric: String,
    /// Whether a side is what another tool stated, without a distribution.
    pub is_stated: bool,
    /// In the first run, the base.
    pub base: Estimate,
    /// In the second.
    pub value: Estimate,
    /// The second by the first.
    pub ratio: Estimate,
    /// What it means for the second.
    pub verdict: Verdict,
    /// Probability of a difference as great if there were none, corrected for the number of comparisons of
    /// the metric.
    pub p_value: f64,
    /// The smallest difference, as a share, that would have been called one in nine of ten such pairs of
    /// runs.
    pub detectable: Option<f64>,
    /// Where it is undecided: repeats in each run after which it probably would not be.
    pub repeats_needed: Option<u32>,
}

/// Two runs held against each other.
#[derive(Debug, Clone)]
pub struct Runs {
    /// Metric by metric, in the order of the first run.
    pub comparisons: Vec<RunComparison>,
    /// What only the first run has, in words: levels, server and stream.
    pub only_base: Vec<String>,
    /// What only the second one has.
    pub only_second: Vec<String>,
}

/// Holds the second run against the first.
#[must_use]
pub fn compare_runs(base: &RunRecord, second: &RunRecord) -> Runs {
    let (of_base, of_second) = (Measurement::of(base), Measurement::of(second));
    let rule = Rule { relevant: of_base.rule().relevant.max(of_second.rule().relevant), ..of_base.rule() };
    // where each run has one server, its name is of no matter
    let by_server = base.plan.servers.len() > 1 || second.plan.servers.len() > 1;
    let shared = |factor: &str| {
        let has = |record: &RunRecord| record.plan.factors.iter().any(|own| own.name == factor);
        factor == super::STREAM || (has(base) && has(second) && factor != "server")
    };
    let key = |point: &Point| {
        let mut levels = point.levels.clone();
        levels.retain(|factor, _| shared(factor));
        (levels, point.stream.clone(), by_server.then(|| point.server.clone()))
    };
    let second_keys: Vec<_> = of_second.points().map(key).collect();
    let pairs: Vec<(usize, usize)> = of_base
        .points()
        .enumerate()
        .filter_map(|(place, point)| Some((place, second_keys.iter().position(|one| *one == key(point))?)))
        .collect();
    let alone = |measurement: &Measurement, is_there: &dyn Fn(usize) -> bool| {
        measurement
            .points()
            .enumerate()
            .filter(|(place, _)| !is_there(*place))
            .map(|(_, one)| name(one))
            .collect()
    };
    Runs {
        comparisons: metrics(base, second)
            .into_iter()
            .flat_map(|metric| compare_metric((&of_base, &of_second), &pairs, metric, rule))
            .collect(),
        only_base: alone(&of_base, &|place| pairs.iter().any(|pair| pair.0 == place)),
        only_second: alone(&of_second, &|place| pairs.iter().any(|pair| pair.1 == place)),
    }
}

/// What runs are compared by: a percentile of one's own choice, too, where another tool stated no other.
fn metrics(base: &RunRecord, second: &RunRecord) -> BTreeSet<Metric> {
    let trials = base.trials.iter().chain(&second.trials);
    let stated = trials.flat_map(|trial| trial.told.keys()).filter_map(|name| name.parse().ok());
    let stated = stated.filter(|metric| matches!(metric, Metric::Quantile(_)));
    METRICS.into_iter().chain(stated).collect()
}

fn compare_metric(
    (of_base, of_second): (&Measurement, &Measurement),
    pairs: &[(usize, usize)],
    metric: Metric,
    rule: Rule,
) -> Vec<RunComparison> {
    let read: Vec<((usize, usize), Difference)> = pairs
        .iter()
        .filter_map(|&(base, second)| {
            let difference = of_second.unpaired(second, (of_base, base), metric)?;
            Some(((base, second), difference))
        })
        .collect();
    let differences: Vec<Difference> = read.iter().map(|(_, difference)| *difference).collect();
    let judged = stats::judge(&differences, rule);
    let compared = |(&((base, second), _), judged): (&((usize, usize), Difference), stats::Judged)| {
        let (one, other) = (&of_base.measured[base].point, &of_second.measured[second].point);
        let overloaded = one.overloaded + other.overloaded > 0;
        let mut levels = one.levels.clone();
        levels.remove("server");
        Some(RunComparison {
            levels,
            servers: (one.server.clone(), other.server.clone()),
            stream: one.stream.clone(),
            metric: metric.name(),
            is_stated: of_base.is_stated(base, metric) || of_second.is_stated(second, metric),
            base: of_base.estimate(base, metric)?,
            value: of_second.estimate(second, metric)?,
            ratio: judged.ratio,
            verdict: if overloaded { Verdict::Overloaded } else { Verdict::of(judged.call, metric) },
            p_value: judged.p_value,
            detectable: judged.detectable,
            repeats_needed: judged.repeats_needed.filter(|_| !overloaded),
        })
    };
    read.iter().zip(judged).filter_map(compared).collect()
}

/// `threads: connections 8, workload oltp_read_only`.
fn name(point: &Point) -> String {
    let levels = point.levels.iter().filter(|(factor, _)| *factor != "server");
    let levels: Vec<String> = levels.map(|(factor, level)| format!("{factor} {level}")).collect();
    let parts = [without_levels(&point.server, &point.levels).to_owned(), levels.join(", ")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}
