//! Arranges points into tables and charts, and into lines within them.

use super::{number, words::Words};
use crate::{
    analyse::{Axis, AxisKind, Findings, Point, STREAM},
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Points that are drawn together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Group {
    /// What its points have in common, in words: the stream, the workload.
    pub title: String,
    /// The same as a name for links, equal in every language: `oltp-read-only`.
    pub slug: String,
    /// The stream.
    pub stream: String,
    /// Places on the axis, ascending or in the order of the study.
    pub rungs: Vec<Rung>,
    /// What distinguishes the series: `server`, or a factor where there is only one server.
    pub series_by: String,
    /// One for each server or level.
    pub series: Vec<Series>,
}

/// A place on the axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Rung {
    /// The place as it is written.
    pub label: String,
    /// The place as a number; null: it is not a number.
    pub value: Option<f64>,
}

/// Points that are joined by one line.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Series {
    /// Its name: the server, or the level of the factor.
    pub name: String,
    /// Index in `points` for each of the group's rungs; null: no valid trial.
    pub points: Vec<Option<usize>>,
}

/// Points in groups of one table each: those of the first stream first, then in the plan's order. A series is
/// a server or, where there is only one, a level of the first factor that is not numeric.
pub(super) fn groups(record: &RunRecord, findings: &Findings, words: Words) -> Vec<Group> {
    let (axis, points) = (&findings.axis, &findings.points);
    let follows_server = levels_that_follow_the_server(points);
    let series_by = axis.compared.first().map(String::as_str).filter(|factor| !axis.has(factor));
    let common = |point: &Point| -> BTreeMap<String, String> {
        let mut levels = point.levels.clone();
        let is_own = |factor: &str| factor == "server" || axis.has(factor) || follows_server.contains(factor);
        levels.retain(|factor, _| !is_own(factor) && Some(factor.as_str()) != series_by);
        levels
    };
    let mut streams: Vec<&str> = Vec::new();
    for stream in record.plan.treatments.iter().flat_map(|treatment| &treatment.streams) {
        if !streams.contains(&stream.name.as_str()) {
            streams.push(&stream.name);
        }
    }
    let mut order: Vec<(BTreeMap<String, String>, Vec<usize>)> = Vec::new();
    for name in streams {
        for (index, point) in points.iter().enumerate().filter(|(_, point)| point.stream == name) {
            let levels = common(point);
            match order
                .iter_mut()
                .find(|(known, members)| *known == levels && points[members[0]].stream == name)
            {
                Some((_, members)) => members.push(index),
                None => order.push((levels, vec![index])),
            }
        }
    }
    let names = series_names(record, series_by);
    let group = |(levels, members): (BTreeMap<String, String>, Vec<usize>)| {
        let rungs = rungs(axis, points, &members);
        let name_of = |point: &Point| series_by.map_or(&point.server, |factor| &point.levels[factor]).clone();
        let series = names.iter().filter_map(|name| {
            let at = |rung: &Rung| {
                let stands = |member: &usize| {
                    name_of(&points[*member]) == *name && self::rung(axis, &points[*member]) == *rung
                };
                members.iter().copied().find(stands)
            };
            let points: Vec<Option<usize>> = rungs.iter().map(at).collect();
            let name = if series_by.is_none() { axis.servers.shown(name) } else { name };
            points.iter().any(Option::is_some).then(|| Series { name: name.to_owned(), points })
        });
        let series: Vec<Series> = series.collect();
        let caption = series_by
            .is_none()
            .then(|| words.caption(&axis.servers.heads(), series.iter().map(|series| series.name.as_str())));
        let title = [words.subject(&levels), caption.flatten().unwrap_or_default()];
        let english = Words::default().subject(&levels);
        Group {
            slug: slug(&english),
            title: title.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; "),
            stream: points[members[0]].stream.clone(),
            series,
            series_by: series_by.unwrap_or("server").to_owned(),
            rungs,
        }
    };
    order.into_iter().map(group).collect()
}

/// A title as a name for links: `oltp-read-only`.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// The places of these points, each once.
fn rungs(axis: &Axis, points: &[Point], members: &[usize]) -> Vec<Rung> {
    let mut rungs: Vec<Rung> = Vec::new();
    for &member in members {
        let rung = rung(axis, &points[member]);
        if !rungs.contains(&rung) {
            rungs.push(rung);
        }
    }
    if axis.kind != AxisKind::Names {
        let value = |rung: &Rung| rung.value.unwrap_or(f64::NAN);
        rungs.sort_by(|a, b| value(a).total_cmp(&value(b)));
    }
    rungs
}

/// The place of a point on the axis.
fn rung(axis: &Axis, point: &Point) -> Rung {
    if let Some(label) = axis.label(point) {
        return Rung { label, value: None };
    }
    let value = axis.value(point);
    Rung { label: number::level(value), value: Some(value) }
}

fn series_names(record: &RunRecord, series_by: Option<&str>) -> Vec<String> {
    match record.plan.factors.iter().find(|factor| Some(factor.name.as_str()) == series_by) {
        Some(factor) => factor.levels.clone(),
        None => record.plan.servers.iter().map(|server| server.name.clone()).collect(),
    }
}

/// Factors that only distinguish servers (a varied server setting is part of the server's name). The workload
/// is never one of them.
fn levels_that_follow_the_server(points: &[Point]) -> BTreeSet<String> {
    let factors: BTreeSet<&String> = points.iter().flat_map(|point| point.levels.keys()).collect();
    let servers: BTreeSet<&String> = points.iter().map(|point| &point.server).collect();
    let follows = |factor: &&String| {
        let pairs: BTreeSet<_> =
            points.iter().map(|point| (&point.server, point.levels.get(*factor))).collect();
        let levels: BTreeSet<_> = points.iter().map(|point| point.levels.get(*factor)).collect();
        pairs.len() == servers.len() && levels.len() > 1 && *factor != "workload" && *factor != STREAM
    };
    factors.into_iter().filter(follows).cloned().collect()
}
