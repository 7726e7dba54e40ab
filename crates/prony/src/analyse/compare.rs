//! Servers compared with the study's first one, where everything else is equal; with one server, levels
//! compared with the first ones.

use super::{
    Axis, Comparison, Effect, Measurement, STREAM, Verdict,
    conclude::without,
    ladder::{self, Rung},
    measurement::METRICS,
    point::Measured,
};
use crate::{plan::Metric, store::RunRecord};
use stats::{Call, Difference, Judged};
use std::collections::BTreeMap;

/// Every server compared with the first, metric by metric, and the effects over whole ladders. All
/// comparisons of one metric and stream are one family.
pub(super) fn compare(
    record: &RunRecord,
    axis: &Axis,
    measurement: &Measurement,
) -> (Vec<Comparison>, Vec<Effect>) {
    let measured = &measurement.measured;
    let pairs = pairs(record, axis, measured);
    let name = |pair: &(usize, usize)| measured[pair.0].point.stream.as_str();
    let mut streams: Vec<&str> = pairs.iter().map(name).collect();
    streams.sort_unstable();
    streams.dedup();
    let rung = |pair: &(usize, usize)| Rung {
        levels: without(&shared(&measured[pair.0], &measured[pair.1], axis, record), axis),
        pair: *pair,
    };
    let (mut compared, mut effects) = (Vec::new(), Vec::new());
    for (metric, stream) in METRICS.iter().flat_map(|metric| streams.iter().map(move |one| (*metric, *one))) {
        let rungs: Vec<Rung> = pairs.iter().filter(|pair| name(pair) == stream).map(rung).collect();
        let is_stated = rungs.iter().any(|rung| measurement.is_stated(rung.pair.0, metric));
        let (judged, told) = if is_stated {
            (judge_stated(measurement, metric, &rungs), Vec::new())
        } else {
            ladder::judge(&record.plan, axis, measurement, metric, &rungs)
        };
        for (rung, judged) in rungs.iter().zip(judged) {
            compared
                .extend(judged.map(|judged| comparison(record, axis, measured, rung.pair, metric, judged)));
        }
        effects.extend(told);
    }
    (compared, effects)
}

/// For results that another tool stated: its trials ran in no blocks, and rounded figures have no spread
/// within them.
fn judge_stated(measurement: &Measurement, metric: Metric, rungs: &[Rung]) -> Vec<Option<Judged>> {
    let difference = |rung: &Rung| measurement.unpaired(rung.pair.0, (measurement, rung.pair.1), metric);
    let differences: Vec<Option<Difference>> = rungs.iter().map(difference).collect();
    let known: Vec<Difference> = differences.iter().flatten().copied().collect();
    let mut judged = stats::judge(&known, measurement.rule()).into_iter();
    differences.iter().map(|one| one.and_then(|_| judged.next())).collect()
}

fn comparison(
    record: &RunRecord,
    axis: &Axis,
    measured: &[Measured],
    (point, base): (usize, usize),
    metric: Metric,
    judged: Judged,
) -> Comparison {
    let overloaded = [point, base].iter().any(|&one| measured[one].point.overloaded > 0);
    Comparison {
        levels: shared(&measured[point], &measured[base], axis, record),
        point,
        base,
        metric,
        ratio: judged.ratio,
        verdict: if overloaded { Verdict::Overloaded } else { Verdict::of(judged.call, metric) },
        p_value: judged.p_value,
        detectable: judged.detectable,
        repeats_needed: judged.repeats_needed.filter(|_| !overloaded),
    }
}

impl Verdict {
    /// What a higher or lower value of a metric means.
    #[must_use]
    pub fn of(call: Call, metric: Metric) -> Self {
        match (call, metric.more_is_better()) {
            (Call::Higher, true) | (Call::Lower, false) => Self::Better,
            (Call::Higher, false) | (Call::Lower, true) => Self::Worse,
            (Call::Same, _) => Self::Same,
            (Call::Undecided, _) => Self::Undecided,
        }
    }
}

/// Points of one stream that differ only in what is compared: each with the first one.
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

/// Levels that both points have, in factors that do not distinguish what is compared.
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
