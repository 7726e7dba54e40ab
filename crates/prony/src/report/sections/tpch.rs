//! What TPC-H-like query streams reached: each query's time on each server.

use crate::{
    analyse::{Query, STREAM, Tpch},
    report::{
        block::{Block, Cell, List, Marks, Reach, Section, Table, Tone},
        document::{Document, Point},
        number,
        words::Words,
    },
};

/// The most servers beside each other in a table.
const BESIDE_MAX: usize = 6;

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let told: Vec<(&Point, &Tpch)> =
        document.points.iter().filter_map(|point| Some((point, point.tpch.as_ref()?))).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let mut section = Section::new("tpch", words.get("text", "tpch"));
    let sentences = told.iter().map(|(point, tpch)| sentence(point, tpch, words));
    section.add(Reach::Everywhere, List::of(Marks::Points, sentences.collect::<Vec<_>>()));
    let together = runs(&told).into_iter().filter_map(|points| at_once(&points, words));
    let together: Vec<String> = together.collect();
    if !together.is_empty() {
        section.add(Reach::Everywhere, List::of(Marks::Points, together));
    }
    for (title, points) in groups(&told) {
        for points in points.chunks(BESIDE_MAX) {
            section.add(Reach::Everywhere, table(&title, points, words));
        }
    }
    section.add(Reach::Everywhere, Block::Text(words.get("text", "tpch_note").to_owned()));
    vec![section]
}

/// Levels that do not name the server.
fn levels(point: &Point) -> Vec<String> {
    let others = point.levels.iter().filter(|(factor, level)| *factor != "server" && **level != point.side);
    others.map(|(_, level)| level.clone()).collect()
}

fn label(point: &Point) -> String {
    let mut all = vec![point.side.clone()];
    all.extend(levels(point));
    all.dedup();
    all.join(", ")
}

fn sentence(point: &Point, tpch: &Tpch, words: Words) -> String {
    let label = label(point);
    let missed: Vec<String> = tpch.unanswered().iter().map(|number| format!("q{number}")).collect();
    let slowest = tpch.slowest();
    let (Some(mean), Some(all), Some(slowest)) = (tpch.geometric_mean_s, tpch.all_s, slowest) else {
        return words.fill("text", "tpch_missed", &[("label", &label), ("missed", &words.listed(&missed))]);
    };
    let key = if missed.is_empty() { "tpch_told" } else { "tpch_sometimes" };
    words.fill(
        "text",
        key,
        &[
            ("label", &label),
            ("mean", &number::milliseconds(mean * 1e3)),
            ("all", &number::rate(all)),
            ("slowest", &format!("q{}", slowest.number)),
            ("longest", &number::milliseconds(slowest.mean_s.unwrap_or(0.0) * 1e3)),
            ("missed", &words.listed(&missed)),
        ],
    )
}

/// Points that ran together.
fn runs<'a>(told: &[(&'a Point, &'a Tpch)]) -> Vec<Vec<(&'a Point, &'a Tpch)>> {
    let key = |point: &Point| {
        let mut levels = point.levels.clone();
        levels.remove(STREAM);
        levels
    };
    let mut all: Vec<Vec<(&Point, &Tpch)>> = Vec::new();
    for one in told {
        match all.iter_mut().find(|points| key(points[0].0) == key(one.0)) {
            Some(points) => points.push(*one),
            None => all.push(vec![*one]),
        }
    }
    all
}

/// How many queries per hour several streams together have answered: by the time until the last of them was
/// through.
fn at_once(points: &[(&Point, &Tpch)], words: Words) -> Option<String> {
    if points.len() < 2 {
        return None;
    }
    let seconds = |(point, _): &(&Point, &Tpch)| Some(point.limit.as_ref()?.seconds.as_ref()?.value);
    let seconds: Vec<f64> = points.iter().map(seconds).collect::<Option<_>>()?;
    let longest = seconds.into_iter().fold(0.0, f64::max);
    let queries: usize = points.iter().map(|(_, tpch)| tpch.queries.len()).sum();
    let (first, _) = points[0];
    let levels = first
        .levels
        .iter()
        .filter(|(factor, level)| !["server", STREAM].contains(&factor.as_str()) && **level != first.side);
    let label: Vec<String> =
        [first.side.clone()].into_iter().chain(levels.map(|(_, level)| level.clone())).collect();
    Some(words.fill(
        "text",
        "tpch_together",
        &[
            ("label", &label.join(", ")),
            ("streams", &points.len().to_string()),
            ("queries", &queries.to_string()),
            ("seconds", &number::rate(longest)),
            ("per_hour", &number::rate(queries as f64 / longest * 3_600.0)),
        ],
    ))
    .filter(|_| longest > 0.0)
}

/// Points that differ in nothing but the server, under what they have in common.
fn groups<'a>(told: &[(&'a Point, &'a Tpch)]) -> Vec<(String, Vec<(&'a Point, &'a Tpch)>)> {
    let mut all: Vec<(String, Vec<(&Point, &Tpch)>)> = Vec::new();
    for one in told {
        let mut title = levels(one.0);
        title.dedup();
        let title = title.join(", ");
        match all.iter_mut().find(|(known, _)| *known == title) {
            Some((_, points)) => points.push(*one),
            None => all.push((title, vec![*one])),
        }
    }
    all
}

fn table(title: &str, points: &[(&Point, &Tpch)], words: Words) -> Table {
    let mut heads = vec![words.get("head", "query_ms").to_owned()];
    heads.extend(points.iter().map(|(point, _)| point.side.clone()));
    let row = |number: u32| {
        let cells = points.iter().map(|(_, tpch)| cell(tpch, number));
        [Cell::name(&format!("q{number}"))].into_iter().chain(cells).collect()
    };
    let of_all = |head: &str, value: fn(&Tpch) -> Option<f64>| {
        let cells = points.iter().map(|(_, tpch)| number_of(value(tpch), Tone::Plain));
        [Cell::name(words.get("head", head))].into_iter().chain(cells).collect()
    };
    let rows = (1..=22)
        .map(row)
        .chain([of_all("query_mean", |tpch| tpch.geometric_mean_s), of_all("query_all", |tpch| tpch.all_s)]);
    Table::new(title, heads, rows.collect())
}

fn cell(tpch: &Tpch, number: u32) -> Cell {
    let query: Option<&Query> = tpch.queries.iter().find(|query| query.number == number);
    let tone = if query.is_some_and(|query| query.failed > 0) { Tone::Bad } else { Tone::Plain };
    number_of(query.and_then(|query| query.mean_s), tone)
}

fn number_of(seconds: Option<f64>, tone: Tone) -> Cell {
    seconds.map_or_else(Cell::empty, |seconds| Cell::toned(number::milliseconds(seconds * 1e3), tone))
}
