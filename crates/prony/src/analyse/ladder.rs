//! Compares points along the axis as a whole: which pairs make a ladder, where its knee is, and what
//! [`stats::judge_ladders`] says about it and about each pair.
//!
//! Pairs of which one side could not keep up with the offered load belong to no ladder.

use super::{Axis, AxisKind, Measurement, Verdict, point::is_closed};
use crate::plan::{Metric, Plan};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Estimate, Judged};
use std::collections::BTreeMap;

/// One server, or one compared level, against another along the axis, in one metric.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Effect {
    /// Levels that stay the same along the ladder.
    pub levels: BTreeMap<String, String>,
    /// The compared side: a server, or the compared levels.
    pub side: String,
    /// What it is compared with.
    pub base: String,
    /// `throughput`, `p95` or `p99`.
    pub metric: Metric,
    /// The mean over all places; null: no repeat has them all.
    pub whole: Option<MeanRatio>,
    /// The mean from the knee on, the first place with nine tenths of the highest throughput of both
    /// together; null: there is none, or it is the first place or the last.
    pub from_knee: Option<MeanRatio>,
    /// How the ratio changes along the ladder; null: unknown, or places are not numbers.
    pub change: Option<RatioChange>,
}

/// The geometric mean of ratios; its interval comes from how it differs from repeat to repeat.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MeanRatio {
    /// First place, on the axis.
    pub first: f64,
    /// Last place.
    pub last: f64,
    /// Number of places.
    pub rungs: usize,
    /// The one divided by the other.
    pub ratio: Estimate,
    /// What it means.
    pub verdict: Verdict,
    /// Probability of a difference at least this great if there were none, corrected for everything that is
    /// asked about the metric.
    pub p_value: f64,
    /// The smallest difference, as a share, that nine of ten such runs would have called; null: unknown.
    pub detectable: Option<f64>,
    /// Where it is undecided: the number of repeats after which it probably would not be.
    pub repeats_needed: Option<u32>,
}

impl MeanRatio {
    /// First and last place.
    #[must_use]
    pub fn stretch(&self) -> (f64, f64) {
        (self.first, self.last)
    }
}

/// How a ratio changes along a ladder.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct RatioChange {
    /// The factor by which the ratio changes with each doubling along the axis.
    pub doubling: Estimate,
    /// Probability of a change at least this great if there were none, corrected for everything that is asked
    /// about the metric.
    pub p_value: f64,
    /// Whether the change is significant and, over the whole ladder, greater than what matters.
    pub is_significant: bool,
}

/// A pair of points on a ladder.
#[derive(Debug, Clone)]
pub(super) struct Rung {
    /// Levels that both share, without those of the axis.
    pub(super) levels: BTreeMap<String, String>,
    /// Indices of the points, the one and its base.
    pub(super) pair: (usize, usize),
}

/// Judges pairs of one stream in one metric, which are one family: each pair, in the order given, `None`
/// where it cannot be read; and the ladders that they make.
pub(super) fn judge(
    plan: &Plan,
    axis: &Axis,
    measurement: &Measurement,
    metric: Metric,
    rungs: &[Rung],
) -> (Vec<Option<Judged>>, Vec<Effect>) {
    let read: Vec<Option<BTreeMap<u32, f64>>> =
        rungs.iter().map(|rung| measurement.pair(rung.pair.0, rung.pair.1, metric)).collect();
    let is_overloaded = |pair: (usize, usize)| {
        [pair.0, pair.1].iter().any(|&one| measurement.measured[one].point.overloaded > 0)
    };
    let compared: Vec<usize> =
        (0..rungs.len()).filter(|&rung| read[rung].is_some() && !is_overloaded(rungs[rung].pair)).collect();
    let ladders = ladders(axis, measurement, rungs, &compared);
    let asked: Vec<stats::Ladder> = ladders
        .iter()
        .map(|members| stats::Ladder {
            rungs: members.iter().filter_map(|&rung| read[rung].clone()).collect(),
            places: places(axis, measurement, rungs, members),
            knee: knee(plan, axis, measurement, rungs, members),
        })
        .collect();
    let mut judged: Vec<Option<Judged>> = vec![None; rungs.len()];
    let mut effects = Vec::new();
    for (members, told) in ladders.iter().zip(stats::judge_ladders(&asked, measurement.rule())) {
        effects.extend(effect(axis, measurement, metric, (rungs, members), &told));
        for (&rung, one) in members.iter().zip(told.rungs) {
            judged[rung] = Some(one);
        }
    }
    // where the load was too much for a side, the ratio is shown but not judged
    let bare = |logs: &BTreeMap<u32, f64>| {
        let logs: Vec<f64> = logs.values().copied().collect();
        stats::judge(&stats::paired(&[logs]), measurement.rule()).pop()
    };
    for (one, read) in judged.iter_mut().zip(&read).filter(|(one, _)| one.is_none()) {
        *one = read.as_ref().and_then(bare);
    }
    (judged, effects)
}

/// Pairs of the same two sides whose levels differ only on the axis, lowest first.
fn ladders(axis: &Axis, measurement: &Measurement, rungs: &[Rung], compared: &[usize]) -> Vec<Vec<usize>> {
    let point = |index: usize| &measurement.measured[index].point;
    let sides = |rung: &Rung| (axis.side(point(rung.pair.0)), axis.side(point(rung.pair.1)));
    let is_alike = |one: &Rung, other: &Rung| one.levels == other.levels && sides(one) == sides(other);
    let mut ladders: Vec<Vec<usize>> = Vec::new();
    for &rung in compared {
        match ladders.iter_mut().find(|members| is_alike(&rungs[members[0]], &rungs[rung])) {
            Some(members) => members.push(rung),
            None => ladders.push(vec![rung]),
        }
    }
    let place = |rung: &usize| axis.value(point(rungs[*rung].pair.0));
    for members in &mut ladders {
        members.sort_by(|a, b| place(a).total_cmp(&place(b)));
    }
    ladders
}

/// Places of the rungs, in doublings; `None` where they are not numbers above 0.
fn places(axis: &Axis, measurement: &Measurement, rungs: &[Rung], members: &[usize]) -> Option<Vec<f64>> {
    let place = |&rung: &usize| axis.value(&measurement.measured[rungs[rung].pair.0].point);
    let doublings = |place: f64| (place > 0.0 && place.is_finite()).then(|| place.log2());
    if axis.kind == AxisKind::Names {
        return None;
    }
    members.iter().map(place).map(doublings).collect()
}

/// The knee of both sides together; only closed loops on a growing number of connections have one.
fn knee(
    plan: &Plan,
    axis: &Axis,
    measurement: &Measurement,
    rungs: &[Rung],
    members: &[usize],
) -> Option<usize> {
    let log = |point: usize| {
        let measured = &measurement.measured[point];
        let log = measured.logs.get(&Metric::Throughput)?;
        is_closed(plan, &measured.point).then_some(*log)
    };
    let of_both = |&rung: &usize| Some(f64::midpoint(log(rungs[rung].pair.0)?, log(rungs[rung].pair.1)?));
    let throughput: Option<Vec<f64>> = members.iter().map(of_both).collect();
    stats::knee(&throughput.filter(|_| axis.kind == AxisKind::Connections)?)
}

/// The effect over a ladder; `None`: it has only one rung.
fn effect(
    axis: &Axis,
    measurement: &Measurement,
    metric: Metric,
    (rungs, members): (&[Rung], &[usize]),
    told: &stats::JudgedLadder,
) -> Option<Effect> {
    let first = rungs.get(*members.first()?)?;
    let point = |index: usize| &measurement.measured[index].point;
    let place = |member: usize| axis.value(point(rungs[members[member]].pair.0));
    let last = members.len() - 1;
    let mean = |judged: &Judged, from: usize| MeanRatio {
        first: place(from),
        last: place(last),
        rungs: last + 1 - from,
        ratio: judged.ratio,
        verdict: Verdict::of(judged.call, metric),
        p_value: judged.p_value,
        detectable: judged.detectable,
        repeats_needed: judged.repeats_needed,
    };
    (last > 0).then(|| Effect {
        levels: first.levels.clone(),
        side: axis.side(point(first.pair.0)),
        base: axis.side(point(first.pair.1)),
        metric,
        whole: told.whole.as_ref().map(|judged| mean(judged, 0)),
        from_knee: told.beyond.as_ref().map(|(knee, judged)| mean(judged, *knee)),
        change: told.change.map(|change| RatioChange {
            doubling: change.factor,
            p_value: change.p_value,
            is_significant: change.is_called,
        }),
    })
}
