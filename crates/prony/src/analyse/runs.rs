//! One run compared with another, point by point, for the treatments that both have.
//!
//! Two runs share no blocks: they ran at different times, so that nothing cancels between them, and each side
//! brings its own variance (Welch). What differs from one start of a server to the next is in neither; the
//! difference that matters ([`crate::plan::Plan::relevant`], the larger of the two) is the allowance for it.

use super::{ClaimVerdict, Comparison, Findings, Measurement, Point, Verdict, measurement::METRICS};
use crate::{
    plan::{Metric, without_levels},
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Difference, Estimate, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// One metric of one treatment in both runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ComparedPoint")]
pub struct RunComparison {
    /// Level of each factor, without the server; the `stream` where several run together.
    pub levels: BTreeMap<String, String>,
    /// The server in the base.
    pub base_server: String,
    /// The server in the run.
    pub server: String,
    /// The stream.
    pub stream: String,
    /// `throughput` (transactions per second), `p95`, `p99` (ms), and any other percentile that another tool
    /// stated.
    pub metric: Metric,
    /// Whether a side is what another tool stated, without a distribution: of several trials the geometric
    /// mean, with an interval that allows for the tool's rounding.
    pub is_stated: bool,
    /// The figure in the base.
    pub base: Estimate,
    /// The figure in the run.
    pub value: Estimate,
    /// The run divided by the base; without an interval where either has one trial of each combination.
    pub ratio: Estimate,
    /// What it means for the run.
    pub verdict: Verdict,
    /// Probability of a difference at least this great if there were none, corrected for the number of
    /// comparisons of the metric.
    pub p_value: f64,
    /// The smallest difference, as a share, that nine of ten such pairs would have called; null: unknown.
    pub detectable: Option<f64>,
    /// Where it is undecided: repeats in each run after which it probably would not be; null: no reasonable
    /// number.
    pub repeats_needed: Option<u32>,
}

/// What one run found and another run of the same study confirms. The speed of the machine plays no part in
/// it: it is about who was better, and which claims hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Repeated {
    /// Differences between servers, or between levels, that the base reports, by metric and place.
    pub differences: Confirmed,
    /// Claims that the base decides.
    pub claims: Confirmed,
}

/// Findings of the base, by what the run says about them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Confirmed {
    /// Findings that the run confirms.
    pub again: usize,
    /// Findings that the run leaves open.
    pub open: usize,
    /// The subjects of findings for which the run finds the opposite.
    pub contradicted: Vec<String>,
}

impl Confirmed {
    /// The number of all findings.
    #[must_use]
    pub fn count(&self) -> usize {
        self.again + self.open + self.contradicted.len()
    }

    /// Adds one finding: whether the run agrees; `None`: it leaves the finding open.
    fn take(&mut self, agrees: Option<bool>, about: impl FnOnce() -> String) {
        match agrees {
            Some(true) => self.again += 1,
            Some(false) => self.contradicted.push(about()),
            None => self.open += 1,
        }
    }
}

/// Checks everything that the first run found against the second run.
#[must_use]
pub fn repeated(base: &RunRecord, second: &RunRecord) -> Repeated {
    let (of_base, of_second) = (super::analyse(base), super::analyse(second));
    let mut repeated = Repeated::default();
    let is_called = |one: &&Comparison| matches!(one.verdict, Verdict::Better | Verdict::Worse);
    let found: Vec<_> = of_second
        .comparisons
        .iter()
        .filter(is_called)
        .map(|one| (key(&of_second, one), one.verdict))
        .collect();
    for one in of_base.comparisons.iter().filter(is_called) {
        let own = key(&of_base, one);
        let agrees = found.iter().find(|(key, _)| *key == own).map(|(_, verdict)| *verdict == one.verdict);
        repeated.differences.take(agrees, || {
            let levels: Vec<String> =
                one.levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
            let (point, base) = (&of_base.points[one.point], &of_base.points[one.base]);
            let pair = [of_base.axis.side(point), of_base.axis.side(base)].join(" / ");
            let parts = [vec![format!("{} {pair}", one.metric)], levels].concat();
            parts.join(", ")
        });
    }
    let decided = |verdict: ClaimVerdict| match verdict {
        ClaimVerdict::Supported => Some(true),
        ClaimVerdict::Refuted => Some(false),
        ClaimVerdict::Open => None,
    };
    for (claim, judged) in base.plan.claims.iter().zip(&of_base.claims) {
        let Some(verdict) = decided(judged.verdict) else { continue };
        let same = second.plan.claims.iter().position(|other| other.says == claim.says);
        let other = same.and_then(|place| decided(of_second.claims.get(place)?.verdict));
        repeated.claims.take(other.map(|other| other == verdict), || claim.says.clone());
    }
    repeated
}

/// What identifies a comparison in any run.
type Key = (BTreeMap<String, String>, String, String, String, Metric);

fn key(of: &Findings, one: &Comparison) -> Key {
    let (point, base) = (&of.points[one.point], &of.points[one.base]);
    (one.levels.clone(), point.stream.clone(), of.axis.side(point), of.axis.side(base), one.metric)
}

/// Two runs compared with each other.
#[derive(Debug, Clone)]
pub struct Runs {
    /// Metric by metric, in the order of the first run.
    pub comparisons: Vec<RunComparison>,
    /// What only the first run has, in words: levels, server and stream.
    pub only_base: Vec<String>,
    /// What only the second run has.
    pub only_second: Vec<String>,
}

/// Compares the second run with the first.
#[must_use]
pub fn compare_runs(base: &RunRecord, second: &RunRecord) -> Runs {
    let (of_base, of_second) = (Measurement::of(base), Measurement::of(second));
    let rule = Rule { relevant: of_base.rule().relevant.max(of_second.rule().relevant), ..of_base.rule() };
    // where each run has only one server, its name does not matter
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

/// The metrics by which runs are compared: also any percentile that the user chose, where another tool stated
/// no other.
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
            base_server: one.server.clone(),
            server: other.server.clone(),
            stream: one.stream.clone(),
            metric,
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
