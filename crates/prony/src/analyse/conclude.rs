//! What is worth saying about a run, most important first. Nothing is said that the intervals do not support.

use super::{
    Axis, AxisKind, Comparison, Effect, Finding, LEVEL, MeanRatio, Measurement, Verdict, point::Measured,
};
use crate::{
    plan::Metric,
    run::{Doubt, What},
};
use stats::Spread;
use std::collections::BTreeMap;

const P95: Metric = Metric::Quantile(95_000);

/// Comparisons of two servers in one metric along the axis.
struct Ladder<'a> {
    /// Levels that stay the same.
    levels: BTreeMap<String, String>,
    server: String,
    base: String,
    metric: Metric,
    /// The rungs, ascending.
    rungs: Vec<Rung<'a>>,
    /// What the ladder says as a whole.
    effect: Option<&'a Effect>,
}

struct Rung<'a> {
    at: f64,
    comparison: &'a Comparison,
}

/// Everything worth saying.
pub(super) fn findings(
    axis: &Axis,
    measurement: &Measurement,
    compared: &[Comparison],
    effects: &[Effect],
) -> Vec<Finding> {
    let measured = &measurement.measured;
    let relevant = measurement.rule().relevant;
    let ladders = ladders(measured, compared, effects, axis);
    let mut advantages: Vec<(f64, Finding)> = Vec::new();
    let mut equal: Vec<Finding> = Vec::new();
    for ladder in &ladders {
        let found = advantages_of(ladder);
        // with a schedule, throughput is what was offered, so the response time tells servers apart
        let first = ladder.rungs.first().map(|rung| &measured[rung.comparison.point].point);
        let is_scheduled = first.is_some_and(|point| point.schedule.is_some());
        let telling = if is_scheduled { P95 } else { Metric::Throughput };
        let is_telling = ladder.metric == telling;
        let differs = |other: &&Ladder<'_>| {
            other.levels == ladder.levels && (&other.server, &other.base) == (&ladder.server, &ladder.base)
        };
        // p95 speaks for the response times; p99 is mentioned only where p95 shows nothing
        let said_by_p95 = ladder.metric == Metric::Quantile(99_000)
            && ladders
                .iter()
                .filter(differs)
                .any(|other| other.metric == P95 && !advantages_of(other).is_empty());
        let throughput_differs = ladders
            .iter()
            .filter(differs)
            .any(|other| other.metric == Metric::Throughput && !advantages_of(other).is_empty());
        if found.is_empty() && (is_telling || (ladder.metric == P95 && throughput_differs)) {
            equal
                .extend(no_difference(ladder, relevant).or_else(|| is_telling.then(|| not_compared(ladder))));
        }
        if !said_by_p95 {
            advantages.extend(found);
        }
    }
    advantages.sort_by(|a, b| b.0.total_cmp(&a.0));
    if axis.kind == AxisKind::Names && !axis.compared.is_empty() {
        // where there are many modes, each is in the table; only the greatest difference of each table is
        // mentioned
        equal.clear();
        let mut said: Vec<BTreeMap<String, String>> = Vec::new();
        advantages.retain(|(_, finding)| match finding {
            Finding::Advantage { levels, metric, .. } | Finding::Effect { levels, metric, .. } => {
                let first = *metric == Metric::Throughput && !said.contains(levels);
                said.extend(first.then(|| levels.clone()));
                first
            }
            _ => true,
        });
    }
    let mut findings: Vec<Finding> = advantages.into_iter().map(|(_, finding)| finding).collect();
    findings.extend(
        along(axis, measured).into_iter().filter_map(|(levels, rungs)| overloaded(axis, levels, &rungs)),
    );
    findings.extend(equal);
    findings.extend(
        along(axis, measured).into_iter().filter_map(|(levels, rungs)| peak(axis, relevant, levels, rungs)),
    );
    findings.extend(doubtful(measured));
    findings
}

/// Levels that stay the same along the axis, without those that name servers. A level that is not a number
/// stands for itself.
pub(super) fn without(levels: &BTreeMap<String, String>, axis: &Axis) -> BTreeMap<String, String> {
    let mut levels = levels.clone();
    let is_on_axis = |name: &str| axis.kind != AxisKind::Names && axis.has(name);
    levels.retain(|name, _| !is_on_axis(name) && !axis.servers.factors.contains(name));
    levels
}

fn ladders<'a>(
    measured: &'a [Measured],
    compared: &'a [Comparison],
    effects: &'a [Effect],
    axis: &Axis,
) -> Vec<Ladder<'a>> {
    let mut ladders: Vec<Ladder<'a>> = Vec::new();
    for comparison in compared {
        let (point, base) = (&measured[comparison.point].point, &measured[comparison.base].point);
        let levels = without(&comparison.levels, axis);
        let (server, of_base) = (axis.side(point), axis.side(base));
        let alike = |ladder: &&mut Ladder<'a>| {
            ladder.levels == levels
                && (&ladder.server, &ladder.base, ladder.metric) == (&server, &of_base, comparison.metric)
        };
        let rung = Rung { at: axis.value(point), comparison };
        match ladders.iter_mut().find(alike) {
            Some(ladder) => ladder.rungs.push(rung),
            None => {
                let is_own = |effect: &&Effect| {
                    effect.levels == levels
                        && (&effect.side, &effect.base) == (&server, &of_base)
                        && effect.metric == comparison.metric
                };
                let effect = effects.iter().find(is_own);
                let (metric, rungs) = (comparison.metric, vec![rung]);
                ladders.push(Ladder { levels, server, base: of_base, metric, rungs, effect });
            }
        }
    }
    for ladder in &mut ladders {
        ladder.rungs.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    ladders
}

/// What a ladder says as a whole, then unbroken stretches of rungs where one server is better by itself, as
/// far as the whole does not include them; each with the size of the (greatest) difference.
fn advantages_of(ladder: &Ladder<'_>) -> Vec<(f64, Finding)> {
    let better = |verdict| [Verdict::Better, Verdict::Worse].contains(&verdict);
    let main = ladder.effect.and_then(main_of);
    let is_part = |stretch: &[Rung<'_>]| {
        main.is_some_and(|mean| stretch[0].comparison.verdict == mean.verdict && stretch[0].at >= mean.first)
    };
    let alone = ladder
        .rungs
        .chunk_by(|a, b| a.comparison.verdict == b.comparison.verdict)
        .filter(|stretch| better(stretch[0].comparison.verdict) && !is_part(stretch))
        .filter_map(|stretch| advantage(ladder, stretch));
    main.and_then(|mean| main_effect(ladder, mean)).into_iter().chain(alone).collect()
}

/// The mean that is reported: that of the whole ladder, or the one from the knee on where the ratio changes,
/// or where the whole says nothing or the opposite.
fn main_of(effect: &Effect) -> Option<&MeanRatio> {
    let called = |mean: &&MeanRatio| [Verdict::Better, Verdict::Worse].contains(&mean.verdict);
    let whole = effect.whole.as_ref().filter(called);
    let from_knee = effect.from_knee.as_ref().filter(called);
    let changes = effect.change.is_some_and(|change| change.is_significant);
    match (whole, from_knee) {
        (Some(whole), Some(knee)) if !changes && whole.verdict == knee.verdict => Some(whole),
        (whole, knee) => knee.or(whole),
    }
}

fn main_effect(ladder: &Ladder<'_>, mean: &MeanRatio) -> Option<(f64, Finding)> {
    let effect = ladder.effect?;
    let is_worse = mean.verdict == Verdict::Worse;
    let oriented = |estimate: stats::Estimate| if is_worse { estimate.inverse() } else { Some(estimate) };
    let (server, base) =
        if is_worse { (&ladder.base, &ladder.server) } else { (&ladder.server, &ladder.base) };
    let within = |rung: &&Rung<'_>| {
        rung.comparison.verdict == mean.verdict && (mean.first..=mean.last).contains(&rung.at)
    };
    let size = |rung: &&Rung<'_>| rung.comparison.ratio.value.ln().abs();
    let greatest = ladder.rungs.iter().filter(within).max_by(|a, b| size(a).total_cmp(&size(b)));
    let finding = Finding::Effect {
        levels: ladder.levels.clone(),
        server: server.clone(),
        base: base.clone(),
        metric: ladder.metric,
        stretch: mean.stretch(),
        whole: effect.whole.as_ref().is_none_or(|whole| whole.stretch() == mean.stretch()),
        ratio: oriented(mean.ratio)?,
        doubling: effect
            .change
            .filter(|change| change.is_significant)
            .and_then(|change| oriented(change.doubling)),
        greatest: greatest.and_then(|rung| Some((rung.at, oriented(rung.comparison.ratio)?))),
    };
    let greatest = greatest.map_or(0.0, |rung| size(&rung));
    Some((greatest.max(mean.ratio.value.ln().abs()), finding))
}

fn advantage(ladder: &Ladder<'_>, stretch: &[Rung<'_>]) -> Option<(f64, Finding)> {
    let size = |rung: &&Rung<'_>| rung.comparison.ratio.value.ln().abs();
    let greatest = stretch.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let comparison = greatest.comparison;
    let (server, base, ratio) = match comparison.verdict {
        Verdict::Worse => (&ladder.base, &ladder.server, comparison.ratio.inverse()?),
        _ => (&ladder.server, &ladder.base, comparison.ratio),
    };
    let finding = Finding::Advantage {
        levels: ladder.levels.clone(),
        server: server.clone(),
        base: base.clone(),
        metric: ladder.metric,
        stretch: (stretch[0].at, stretch[stretch.len() - 1].at),
        ratio,
        at: greatest.at,
    };
    Some((size(&greatest), finding))
}

/// The finding that there is no difference; `None`: there is no rung at which both kept up.
fn no_difference(ladder: &Ladder<'_>, relevant: f64) -> Option<Finding> {
    let compared: Vec<&Comparison> = ladder
        .rungs
        .iter()
        .map(|rung| rung.comparison)
        .filter(|comparison| comparison.verdict != Verdict::Overloaded)
        .collect();
    // for the ladder as a whole, unless single rungs would have shown smaller differences
    let at_any: Option<Vec<f64>> = compared.iter().map(|comparison| comparison.detectable).collect();
    let at_any = at_any.map(|detectable| detectable.into_iter().fold(relevant, f64::max));
    let mean = ladder.effect.and_then(|effect| effect.from_knee.as_ref().or(effect.whole.as_ref()));
    let of_mean = mean.and_then(|mean| Some((mean, mean.detectable?.max(relevant))));
    let told = of_mean.filter(|(_, of_mean)| at_any.is_none_or(|at_any| *of_mean < at_any));
    let resolution = told.map(|(_, of_mean)| of_mean).or(at_any).unwrap_or(1.0);
    let whole = ladder.effect.and_then(|effect| effect.whole.as_ref());
    let changes = ladder.effect.and_then(|effect| effect.change).is_some_and(|change| change.is_significant);
    let same = [whole, mean].into_iter().flatten().find(|mean| mean.verdict == Verdict::Same && !changes);
    (!compared.is_empty()).then(|| Finding::NoDifference {
        levels: ladder.levels.clone(),
        servers: (ladder.server.clone(), ladder.base.clone()),
        metric: ladder.metric,
        resolution: resolution.min(1.0),
        stretch: same.or(told.map(|(mean, _)| mean)).map(MeanRatio::stretch),
        same: same.map(|_| relevant),
        rungs: (compared.len(), ladder.rungs.len()),
    })
}

fn not_compared(ladder: &Ladder<'_>) -> Finding {
    Finding::NotCompared {
        levels: ladder.levels.clone(),
        servers: (ladder.server.clone(), ladder.base.clone()),
        rungs: ladder.rungs.len(),
    }
}

/// The points of each server and stream along the axis.
pub(super) fn along<'a>(
    axis: &Axis,
    measured: &'a [Measured],
) -> Vec<(BTreeMap<String, String>, Vec<&'a Measured>)> {
    let mut ladders: Vec<(BTreeMap<String, String>, Vec<&Measured>)> = Vec::new();
    for one in measured.iter().filter(|one| one.logs.contains_key(&Metric::Throughput)) {
        let levels = without(&one.point.levels, axis);
        match ladders
            .iter_mut()
            .find(|(known, rungs)| *known == levels && rungs[0].point.server == one.point.server)
        {
            Some((_, rungs)) => rungs.push(one),
            None => ladders.push((levels, vec![one])),
        }
    }
    for (levels, rungs) in &mut ladders {
        levels.remove("server");
        rungs.sort_by(|a, b| axis.value(&a.point).total_cmp(&axis.value(&b.point)));
    }
    ladders
}

/// The lowest rung at which more was offered than completed.
fn overloaded(axis: &Axis, levels: BTreeMap<String, String>, rungs: &[&Measured]) -> Option<Finding> {
    let first = rungs.iter().find(|one| one.point.overloaded > 0)?;
    let schedule = first.point.schedule.as_ref()?;
    Some(Finding::Overloaded {
        levels,
        server: axis.servers.shown(&first.point.server).to_owned(),
        at: axis.value(&first.point),
        offered: schedule.offered as f64 / first.point.active_s,
        throughput: first.point.throughput,
        trials: (first.point.overloaded, first.point.trials),
    })
}

/// The share of the highest throughput that is almost as much: the knee is where a ladder reaches it.
pub(super) const ENOUGH: f64 = 0.95;

/// Where a server's throughput levels off, or that it does not. A stream that follows a schedule delivers
/// what was offered, so it has no peak.
fn peak(
    axis: &Axis,
    relevant: f64,
    levels: BTreeMap<String, String>,
    rungs: Vec<&Measured>,
) -> Option<Finding> {
    if rungs.iter().any(|one| one.point.schedule.is_some()) {
        return None;
    }
    let log = |one: &Measured| one.logs[&Metric::Throughput];
    let last = *rungs.last()?;
    let top = *rungs.iter().max_by(|a, b| log(a).total_cmp(&log(b)))?;
    let lower = if std::ptr::eq(top, last) { *rungs.iter().rev().nth(1)? } else { last };
    // the peak is the highest of several rungs: without a correction, chance alone would make one
    let chances = rungs.len().saturating_sub(1).max(1) as f64;
    if log(top) - log(lower) < relevant || p_value(top, lower)? * chances >= 1.0 - LEVEL {
        return None;
    }
    let enough = rungs.iter().find(|one| log(one) >= log(top) + ENOUGH.ln()).unwrap_or(&top);
    Some(Finding::Peak {
        levels,
        server: axis.servers.shown(&top.point.server).to_owned(),
        at: axis.value(&top.point),
        throughput: top.point.throughput,
        last: axis.value(&last.point),
        throughput_last: last.point.throughput,
        enough: axis.value(&enough.point),
    })
}

/// Whether the throughput of two rungs of one server differs, by Welch's test with the smaller of the two
/// degrees of freedom.
fn p_value(one: &Measured, other: &Measured) -> Option<f64> {
    let error = |measured: &Measured| {
        let spread = measured.spreads.get(&Metric::Throughput)?;
        Some(Spread { variance: spread.variance / f64::from(measured.units().max(1)), ..*spread })
    };
    let (first, second) = (error(one)?, error(other)?);
    let spread =
        Spread { variance: first.variance + second.variance, freedom: first.freedom.min(second.freedom) };
    Some(spread.p_value(one.logs[&Metric::Throughput] - other.logs[&Metric::Throughput], 1))
}

/// Points grouped by the kind of doubt, the worst first. Overload is reported with its rung.
fn doubtful(measured: &[Measured]) -> Vec<Finding> {
    let mut kinds: Vec<(Vec<usize>, Vec<Doubt>)> = Vec::new();
    for (index, one) in measured.iter().enumerate() {
        for doubt in one.point.doubts.iter().filter(|doubt| !doubt.is_overload()) {
            match kinds.iter_mut().find(|(_, known)| is_alike(&known[0], doubt)) {
                Some((points, doubts)) => {
                    doubts.push(doubt.clone());
                    if points.last() != Some(&index) {
                        points.push(index);
                    }
                }
                None => kinds.push((vec![index], vec![doubt.clone()])),
            }
        }
    }
    let worst = |doubts: &[Doubt]| doubts.iter().map(|doubt| doubt.level).max();
    kinds.sort_by_key(|(points, doubts)| std::cmp::Reverse((worst(doubts), points.len())));
    kinds.into_iter().map(|(points, doubts)| Finding::Doubtful { points, doubts }).collect()
}

/// Whether two doubts differ only in their figures.
fn is_alike(one: &Doubt, other: &Doubt) -> bool {
    match (&one.what, &other.what) {
        (What::Told(one), What::Told(other)) => one == other,
        _ => std::mem::discriminant(&one.what) == std::mem::discriminant(&other.what),
    }
}
