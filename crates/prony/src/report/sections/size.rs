//! Throughput against the size of the data, where a factor makes the data larger: each line joins points that
//! are equal in everything else.

use super::curves::look;
use crate::report::{
    block::{Block, Reach, Section},
    chart::{Axis, Chart, Choice, Drawing, Line, Lines, Numbers, Panel, Scale, Tick},
    document::{Document, Point},
    number,
    words::Words,
};
use std::collections::BTreeMap;

const BYTES_PER_MB: f64 = 1e6;

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let Some(factor) = factor(document) else { return Vec::new() };
    let title = words.get("html", "chart_size");
    let mut section = Section::new("size", title);
    let chart = Chart {
        id: "size".to_owned(),
        title: title.to_owned(),
        about: words.factor(factor),
        drawing: Drawing::Lines(lines(document, factor, words)),
        numbers: Numbers::In(words.get("html", "results").to_owned()),
    };
    section.add(Reach::Paper, Block::Charts(vec![chart]));
    vec![section]
}

/// The levels of a point, without that of a factor.
fn without<'a>(point: &'a Point, factor: &str) -> BTreeMap<&'a String, &'a String> {
    point.levels.iter().filter(|(name, _)| *name != factor).collect()
}

/// The factor whose levels differ in the number of rows and in nothing else of the data; `None`: there is
/// none.
fn factor(document: &Document) -> Option<&str> {
    let is_of_size = |factor: &&str| {
        let points = || document.points.iter().filter(|point| point.data_bytes.is_some());
        let pairs = points().flat_map(|one| points().map(move |other| (one, other)));
        let mut alike = pairs
            .filter(|(one, other)| one.levels.get(*factor) < other.levels.get(*factor))
            .filter(|(one, other)| {
                one.server == other.server && without(one, factor) == without(other, factor)
            })
            .peekable();
        alike.peek().is_some() && alike.all(|(one, other)| one.rows != other.rows)
    };
    document.run.factors.iter().map(|factor| factor.name.as_str()).find(is_of_size)
}

/// What the reader can choose from: points that differ only in the factor and the server, with what they have
/// in common, in words.
fn loads<'a>(document: &'a Document, factor: &str, words: Words) -> Vec<(String, Vec<&'a Point>)> {
    let mut loads: Vec<(BTreeMap<String, String>, Vec<&Point>)> = Vec::new();
    for point in document.points.iter().filter(|point| point.trials > 0 && point.data_bytes.is_some()) {
        let mut levels = point.levels.clone();
        levels.retain(|name, _| name != factor && name != "server" && !document.servers_by.contains(name));
        match loads.iter_mut().find(|(known, points)| *known == levels && points[0].stream == point.stream) {
            Some((_, points)) => points.push(point),
            None => loads.push((levels, vec![point])),
        }
    }
    loads.into_iter().map(|(levels, points)| (words.subject(&levels), points)).collect()
}

fn lines(document: &Document, factor: &str, words: Words) -> Lines {
    let megabytes = |point: &Point| point.data_bytes.unwrap_or(0) as f64 / BYTES_PER_MB;
    let loads = loads(document, factor, words);
    let (mut places, mut panels) = (Vec::new(), Vec::new());
    for (place, (_, points)) in loads.iter().enumerate() {
        let mut servers: Vec<(&str, Vec<&Point>)> = Vec::new();
        for &point in points {
            match servers.iter_mut().find(|(server, _)| *server == point.server) {
                Some((_, points)) => points.push(point),
                None => servers.push((&point.server, vec![point])),
            }
        }
        let line = |(server, mut points): (&str, Vec<&Point>)| {
            points.sort_by_key(|point| point.data_bytes);
            places.push(points.iter().map(|point| megabytes(point)).collect());
            let name = document.shown(server).to_owned();
            Line {
                look: Some(look(document, &name)),
                name,
                has_points: true,
                at: places.len() - 1,
                values: points.iter().map(|point| Some(point.throughput.value)).collect(),
                low: points.iter().map(|point| point.throughput.low).collect(),
                high: points.iter().map(|point| point.throughput.high).collect(),
                labels: points.iter().filter_map(|point| point.levels.get(factor)).cloned().collect(),
                ..Line::default()
            }
        };
        let lines = servers.into_iter().map(line).collect();
        let title = words.get("text", "unit_throughput").to_owned();
        let y = Axis { title, unit: "/s".to_owned(), scale: Scale::Logarithmic, ..Axis::default() };
        panels.push(Panel { y, lines, when: vec![(0, place)], ..Panel::default() });
    }
    let mut sizes: Vec<f64> = places.iter().flatten().copied().collect();
    sizes.sort_by(f64::total_cmp);
    // the sizes at one level differ a little from server to server
    sizes.dedup_by(|later, first| *later < *first * 1.25);
    let tick = |&at: &f64| Tick { at, label: number::rate(at) };
    let title = words.get("head", "combination").to_owned();
    let options = loads.into_iter().map(|(about, _)| about).collect();
    Lines {
        choices: vec![Choice { title, options, first: 0 }],
        x: Axis {
            title: words.get("html", "data_size").to_owned(),
            unit: "MB".to_owned(),
            scale: Scale::Doubling,
            ticks: sizes.iter().map(tick).collect(),
        },
        places,
        panels,
        ..Lines::default()
    }
}
