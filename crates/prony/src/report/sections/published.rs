//! What an evaluation published beside what was measured here, as ratios.

use crate::{
    analyse::{Pair, Published, Shape},
    published::{Law, Remark},
    report::{
        block::{Block, Cell, List, Marks, Reach, Section, Table, Tone},
        document::Document,
        number,
        words::{Words, spoken},
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let Some(published) = &document.published else { return Vec::new() };
    let mut section = Section::new("published", words.get("text", "published"));
    section.add(Reach::Everywhere, Block::Text(summary(published, words)));
    if !published.pairs.is_empty() {
        section.add(Reach::Everywhere, table(published, words));
    }
    let mut origin: Vec<String> = vec![words.fill("text", "published_by", &[("source", &published.source)])];
    origin.extend(published.conditions.iter().cloned());
    origin.extend(
        published
            .stands_for
            .iter()
            .map(|(level, other)| words.fill("text", "stands_for", &[("level", level), ("other", other)])),
    );
    origin.extend(published.remarks.iter().map(|one| remark(one, words)));
    section.add(Reach::Paper, List::of(Marks::Points, origin));
    vec![section]
}

/// How many ratios have the published shape.
fn summary(published: &Published, words: Words) -> String {
    let count = |shape: Shape| published.pairs.iter().filter(|pair| pair.shape == shape).count().to_string();
    let all = published.pairs.len().to_string();
    let places = [
        ("all", &*all),
        ("agree", &count(Shape::Agrees)),
        ("contradict", &count(Shape::Contradicts)),
        ("open", &count(Shape::Open)),
    ];
    let mut text = if published.pairs.is_empty() {
        words.get("text", "published_none").to_owned()
    } else {
        words.fill("text", "published_shape", &places)
    };
    if published.missing > 0 {
        text += &words.fill("text", "published_missing", &[("count", &published.missing.to_string())]);
    }
    text
}

fn table(published: &Published, words: Words) -> Table {
    let (factor, base) = &published.compared;
    let mut varied: Vec<&str> = Vec::new();
    for name in published.pairs.iter().flat_map(|pair| pair.levels.keys()) {
        if !varied.contains(&name.as_str()) {
            varied.push(name);
        }
    }
    // what is the same everywhere tells no row from another
    varied.retain(|name| {
        let first = published.pairs.first().and_then(|pair| pair.levels.get(*name));
        published.pairs.iter().any(|pair| pair.levels.get(*name) != first)
    });
    let mut heads = vec![words.fill("head", "divided_by", &[("factor", &spoken(factor)), ("base", base)])];
    heads.extend(varied.iter().map(|name| spoken(name)));
    heads.extend(["metric", "published", "measured", "shape"].map(|key| words.get("head", key).to_owned()));
    let row = |pair: &Pair| {
        let mut cells = vec![Cell::name(&pair.one)];
        let levels = varied.iter().map(|name| pair.levels.get(*name));
        cells.extend(levels.map(|level| level.map_or_else(Cell::empty, |level| Cell::name(level))));
        let metric = words.get("metric", &pair.metric);
        let (key, tone) = match pair.shape {
            Shape::Agrees => ("agrees", Tone::Plain),
            Shape::Contradicts => ("contradicts", Tone::Bad),
            Shape::Open => ("open", Tone::Faint),
        };
        cells.extend([
            Cell::name(if metric.is_empty() { &pair.metric } else { metric }),
            Cell::number(number::ratio(pair.published)),
            Cell::number(number::estimate(&pair.measured)),
            Cell { tone, ..Cell::name(words.get("shape", key)) },
        ]);
        cells
    };
    Table::new("", heads, published.pairs.iter().map(row).collect())
}

fn remark(remark: &Remark, words: Words) -> String {
    let law = match remark.law {
        Law::RateTimesTime => "rate_times_time",
        Law::Little => "little",
        Law::Product => "product",
    };
    let line = remark.at.line.to_string();
    let (published, computed) = (number::level(remark.published), number::level(remark.computed));
    let places = [
        ("file", remark.at.file.as_str()),
        ("line", &line),
        ("column", &remark.at.column),
        ("published", &published),
        ("computed", &computed),
        ("law", words.get("law", law)),
    ];
    let mut text = words.fill("text", "published_breaks", &places);
    if let Some(other) = remark.exchanged_with {
        text += &words.fill("text", "published_exchanged", &[("line", &other.to_string())]);
    }
    text
}
