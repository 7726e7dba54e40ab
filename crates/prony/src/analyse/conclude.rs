//! What is worth saying of a run, most important first. Nothing is said that the intervals do not carry.

use super::{
    EQUAL_WITHIN, Finding, LEVEL, Verdict,
    compare::Compared,
    doubt,
    point::{Measured, Metric},
};
use crate::store::RunRecord;
use stats::Spread;
use std::collections::BTreeMap;

/// Comparisons of two servers in one metric over a ladder of connections.
struct Ladder<'a> {
    /// Levels that stay the same.
    levels: BTreeMap<String, String>,
    server: &'a str,
    base: &'a str,
    metric: &'a str,
    /// Ascending.
    rungs: Vec<Rung<'a>>,
}

struct Rung<'a> {
    connections: u32,
    compared: &'a Compared,
}

/// Everything worth saying.
pub(super) fn findings(record: &RunRecord, measured: &[Measured], compared: &[Compared]) -> Vec<Finding> {
    let connections = connections_factor(record);
    let ladders = ladders(measured, compared, connections);
    let mut advantages: Vec<(f64, Finding)> = Vec::new();
    let mut equal: Vec<Finding> = Vec::new();
    for ladder in &ladders {
        let found = advantages_of(ladder);
        let of_throughput = ladder.metric == Metric::Throughput.name();
        let differs = |other: &&Ladder<'_>| {
            other.levels == ladder.levels && (other.server, other.base) == (ladder.server, ladder.base)
        };
        // Of the response times p95 speaks; p99 has a word where p95 has none.
        let said_by_p95 = ladder.metric == "p99"
            && ladders
                .iter()
                .filter(differs)
                .any(|other| other.metric == "p95" && !advantages_of(other).is_empty());
        let throughput_differs = ladders
            .iter()
            .filter(differs)
            .any(|other| other.metric == "throughput" && !advantages_of(other).is_empty());
        if found.is_empty() && (of_throughput || (ladder.metric == "p95" && throughput_differs)) {
            equal.push(no_difference(ladder));
        }
        if !said_by_p95 {
            advantages.extend(found);
        }
    }
    advantages.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut findings: Vec<Finding> = advantages.into_iter().map(|(_, finding)| finding).collect();
    findings.extend(equal);
    findings.extend(peaks(measured, connections));
    findings.extend(doubtful(measured));
    findings
}

/// Name of the factor that is the ladder: the one whose level is the measured stream's number of connections.
fn connections_factor(record: &RunRecord) -> Option<&str> {
    let names = || record.plan.factors.iter().map(|factor| factor.name.as_str());
    names().find(|name| *name == "connections").or_else(|| {
        let first = record.plan.treatments.first()?.streams.first()?.name.as_str();
        names().find(|name| *name == format!("stream.{first}.connections"))
    })
}

fn without(levels: &BTreeMap<String, String>, factors: &[Option<&str>]) -> BTreeMap<String, String> {
    let mut levels = levels.clone();
    levels.retain(|name, _| !factors.contains(&Some(name.as_str())));
    levels
}

fn ladders<'a>(
    measured: &'a [Measured],
    compared: &'a [Compared],
    connections: Option<&str>,
) -> Vec<Ladder<'a>> {
    let mut ladders: Vec<Ladder<'a>> = Vec::new();
    for one in compared {
        let comparison = &one.comparison;
        let (point, base) = (&measured[comparison.point].point, &measured[comparison.base].point);
        let levels = without(&comparison.levels, &[connections]);
        let alike = |ladder: &&mut Ladder<'a>| {
            ladder.levels == levels
                && (ladder.server, ladder.base, ladder.metric)
                    == (&*point.server, &*base.server, &*comparison.metric)
        };
        let rung = Rung { connections: point.connections, compared: one };
        match ladders.iter_mut().find(alike) {
            Some(ladder) => ladder.rungs.push(rung),
            None => ladders.push(Ladder {
                levels,
                server: &point.server,
                base: &base.server,
                metric: &comparison.metric,
                rungs: vec![rung],
            }),
        }
    }
    for ladder in &mut ladders {
        ladder.rungs.sort_by_key(|rung| rung.connections);
    }
    ladders
}

/// Unbroken stretches of rungs where one server is better, each with the size of the greatest difference.
fn advantages_of(ladder: &Ladder<'_>) -> Vec<(f64, Finding)> {
    let better = |verdict| [Verdict::Better, Verdict::Worse].contains(&verdict);
    ladder
        .rungs
        .chunk_by(|a, b| a.compared.comparison.verdict == b.compared.comparison.verdict)
        .filter(|stretch| better(stretch[0].compared.comparison.verdict))
        .filter_map(|stretch| advantage(ladder, stretch))
        .collect()
}

fn advantage(ladder: &Ladder<'_>, stretch: &[Rung<'_>]) -> Option<(f64, Finding)> {
    let size = |rung: &&Rung<'_>| rung.compared.comparison.ratio.value.ln().abs();
    let greatest = stretch.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let comparison = &greatest.compared.comparison;
    let (server, base, ratio) = match comparison.verdict {
        Verdict::Worse => (ladder.base, ladder.server, comparison.ratio.inverse()?),
        _ => (ladder.server, ladder.base, comparison.ratio),
    };
    let finding = Finding::Advantage {
        levels: ladder.levels.clone(),
        server: server.to_owned(),
        base: base.to_owned(),
        metric: ladder.metric.to_owned(),
        connections: (stretch[0].connections, stretch[stretch.len() - 1].connections),
        ratio,
        at: greatest.connections,
    };
    Some((size(&greatest), finding))
}

fn no_difference(ladder: &Ladder<'_>) -> Finding {
    let detectable: Option<Vec<f64>> = ladder.rungs.iter().map(|rung| rung.compared.detectable).collect();
    let resolution = detectable.map_or(1.0, |detectable| detectable.into_iter().fold(EQUAL_WITHIN, f64::max));
    Finding::NoDifference {
        levels: ladder.levels.clone(),
        servers: (ladder.server.to_owned(), ladder.base.to_owned()),
        metric: ladder.metric.to_owned(),
        resolution: resolution.min(1.0),
    }
}

/// Where each server's throughput bends, or that it does not.
fn peaks(measured: &[Measured], connections: Option<&str>) -> Vec<Finding> {
    let mut ladders: Vec<(BTreeMap<String, String>, Vec<&Measured>)> = Vec::new();
    for one in measured.iter().filter(|one| one.logs.contains_key(&Metric::Throughput)) {
        let levels = without(&one.point.levels, &[connections]);
        match ladders
            .iter_mut()
            .find(|(known, rungs)| *known == levels && rungs[0].point.server == one.point.server)
        {
            Some((_, rungs)) => rungs.push(one),
            None => ladders.push((levels, vec![one])),
        }
    }
    ladders.into_iter().filter_map(|(levels, rungs)| peak(levels, rungs)).collect()
}

fn peak(levels: BTreeMap<String, String>, mut rungs: Vec<&Measured>) -> Option<Finding> {
    rungs.sort_by_key(|one| one.point.connections);
    let log = |one: &Measured| one.logs[&Metric::Throughput];
    let last = *rungs.last()?;
    let top = *rungs.iter().max_by(|a, b| log(a).total_cmp(&log(b)))?;
    let lower = if std::ptr::eq(top, last) { *rungs.iter().rev().nth(1)? } else { last };
    // The top is the highest of several: without a correction chance alone would make one.
    let chances = rungs.len().saturating_sub(1).max(1) as f64;
    if log(top) - log(lower) < EQUAL_WITHIN || p_value(top, lower)? * chances >= 1.0 - LEVEL {
        return None;
    }
    Some(Finding::Peak {
        levels: without(&levels, &[Some("server")]),
        server: top.point.server.clone(),
        connections: top.point.connections,
        throughput: top.point.throughput,
        connections_last: last.point.connections,
        throughput_last: last.point.throughput,
    })
}

/// Whether the throughput of two rungs of one server differs; as Welch's test, with the fewer degrees of freedom of the two.
fn p_value(one: &Measured, other: &Measured) -> Option<f64> {
    let error = |measured: &Measured| {
        let spread = measured.spreads.get(&Metric::Throughput)?;
        Some(Spread { variance: spread.variance / f64::from(measured.point.trials), ..*spread })
    };
    let (first, second) = (error(one)?, error(other)?);
    let spread =
        Spread { variance: first.variance + second.variance, freedom: first.freedom.min(second.freedom) };
    Some(spread.p_value(one.logs[&Metric::Throughput] - other.logs[&Metric::Throughput], 1))
}

/// Points with the same doubt together, the numbers in it as ranges.
fn doubtful(measured: &[Measured]) -> Vec<Finding> {
    let told = measured
        .iter()
        .enumerate()
        .flat_map(|(index, one)| one.point.doubts.iter().map(move |doubt| (index, doubt.as_str())));
    let mut doubts = doubt::merge(told);
    doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.about.len()));
    doubts.into_iter().map(|doubt| Finding::Doubtful { points: doubt.about, reason: doubt.text }).collect()
}
