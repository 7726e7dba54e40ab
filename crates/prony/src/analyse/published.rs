//! Published results beside measured ones: ratios to a common base, because absolute figures of two machines
//! cannot be compared.

use super::{Measurement, Point, metric::is_of_work};
use crate::{
    plan::Metric,
    published::{self, Figure, Remark},
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Estimate;
use std::collections::BTreeMap;

/// Ratios up to this far from 1 count as equal.
const ALIKE: f64 = 0.05;

/// The published evaluation of a run's study beside the run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Published {
    /// Whose evaluation it was.
    pub source: String,
    /// Machine, servers, data and load, one sentence each.
    pub conditions: Vec<String>,
    /// Levels of the study that stand for different ones in the publication: which ones.
    pub stands_for: BTreeMap<String, String>,
    /// Published figures that contradict each other.
    pub remarks: Vec<Remark>,
    /// The factor whose levels are compared with each other, and the level that others are divided by.
    pub compared: (String, String),
    /// Ratios that both have.
    pub pairs: Vec<Pair>,
    /// Published ratios for which this run has no counterpart.
    pub missing: usize,
}

/// A ratio that was published and measured.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Pair {
    /// What it is about: `throughput`, `p95` ...
    pub metric: Metric,
    /// Levels of both sides, without the compared factor.
    pub levels: BTreeMap<String, String>,
    /// The level that is divided by the base.
    pub one: String,
    /// The ratio that was published.
    pub published: f64,
    /// The ratio in this run.
    pub measured: Estimate,
    /// Whether they point the same way.
    pub shape: Shape,
}

/// Whether a measured ratio has the shape of the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// On the same side of 1, or both about 1.
    Agrees,
    /// On the other side of 1.
    Contradicts,
    /// The interval of the measured ratio includes 1, or there is none.
    Open,
}

/// What was published about the study of a run; `None`: nothing was.
#[must_use]
pub(super) fn published(record: &RunRecord, measurement: &Measurement) -> Option<Published> {
    let known = published::of_plan(&record.plan)?;
    let points: Vec<&Point> = measurement.points().collect();
    let (factor, base) = &known.compared;
    let (mut pairs, mut missing) = (Vec::new(), 0);
    for one in &known.figures {
        let (metric, Some(level)) = (one.metric, one.levels.get(factor)) else { continue };
        if level == base || !is_of_work(metric) || metric == Metric::Active {
            continue;
        }
        let Some(other) = known.figures.iter().find(|other| is_base(one, other, factor, base)) else {
            continue;
        };
        match measured(measurement, &points, (one, other), metric) {
            Some(measured) => pairs.push(pair(metric, (one, other), factor, measured)),
            None => missing += 1,
        }
    }
    let published::Published { source, conditions, stands_for, remarks, compared, .. } = known;
    Some(Published { source, conditions, stands_for, remarks, compared, pairs, missing })
}

/// Whether a figure differs from `one` only in the compared factor, where its level is the base.
fn is_base(one: &Figure, other: &Figure, factor: &str, base: &str) -> bool {
    let same = |(name, level): (&String, &String)| name == factor || other.levels.get(name) == Some(level);
    other.metric == one.metric
        && other.levels.get(factor).is_some_and(|level| level == base)
        && one.levels.iter().all(same)
}

/// The ratio of the points that two figures stand for; other factors of the study have the levels of its
/// first points.
fn measured(
    measurement: &Measurement,
    points: &[&Point],
    (one, other): (&Figure, &Figure),
    metric: Metric,
) -> Option<Estimate> {
    let is_of = |point: &Point, figure: &Figure| {
        figure.levels.iter().all(|(factor, level)| match factor.as_str() {
            "server" => point.server == *level,
            "stream" => point.levels.get(factor).is_none_or(|own| own == level) && point.stream == *level,
            _ => point.levels.get(factor).is_none_or(|own| own == level),
        })
    };
    let alike = |first: &Point, second: &Point| {
        first.stream == second.stream
            && first.levels.iter().all(|(factor, level)| {
                other.levels.contains_key(factor) || second.levels.get(factor) == Some(level)
            })
    };
    let of = |figure: &'_ Figure| -> Vec<usize> {
        (0..points.len()).filter(|&each| is_of(points[each], figure)).collect()
    };
    let (ones, others) = (of(one), of(other));
    let pairs = ones.iter().flat_map(|one| others.iter().map(move |other| (*one, *other)));
    let (one, other) =
        pairs.into_iter().find(|&(one, other)| one != other && alike(points[one], points[other]))?;
    Some(measurement.ratio(one, other, metric)?.ratio)
}

fn pair(metric: Metric, (one, other): (&Figure, &Figure), factor: &str, measured: Estimate) -> Pair {
    let mut levels = one.levels.clone();
    let level = levels.remove(factor).unwrap_or_default();
    let published = one.value / other.value;
    let shape = shape(published, &measured);
    Pair { metric, levels, one: level, published, measured, shape }
}

fn shape(published: f64, measured: &Estimate) -> Shape {
    let Some((low, high)) = measured.interval() else { return Shape::Open };
    let about_one = |ratio: f64| (1.0 / (1.0 + ALIKE)..=1.0 + ALIKE).contains(&ratio);
    if about_one(published) {
        // a ratio of 1 is not contradicted by a small difference
        return if about_one(measured.value) { Shape::Agrees } else { differs(low, high) };
    }
    match (published > 1.0, low > 1.0, high < 1.0) {
        (true, true, _) | (false, _, true) => Shape::Agrees,
        (true, _, true) | (false, true, _) => Shape::Contradicts,
        _ => Shape::Open,
    }
}

fn differs(low: f64, high: f64) -> Shape {
    if low > 1.0 + ALIKE || high < 1.0 / (1.0 + ALIKE) { Shape::Contradicts } else { Shape::Open }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_agrees_on_the_same_side_of_one_and_is_open_where_the_interval_reaches_over_it() {
        let between = |value, low, high| Estimate::between(value, low, high, 0.95, 5);
        assert_eq!(shape(5.8, &between(1.4, 1.2, 1.7)), Shape::Agrees);
        assert_eq!(shape(5.8, &between(0.7, 0.6, 0.8)), Shape::Contradicts);
        assert_eq!(shape(0.43, &between(0.9, 0.7, 1.1)), Shape::Open);
        assert_eq!(shape(1.0, &between(1.02, 0.9, 1.15)), Shape::Agrees);
        assert_eq!(shape(1.0, &between(1.5, 1.3, 1.7)), Shape::Contradicts);
        assert_eq!(shape(2.0, &Estimate::bare(2.0, 0.95, 1)), Shape::Open);
    }
}
