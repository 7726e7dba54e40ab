//! What an evaluation published beside what was measured here, as ratios.

mod chart;

use crate::{
    analyse::{Pair, Published, Shape},
    published::{Law, Remark},
    report::{
        block::{Block, Cell, List, Marks, Reach, Section, Table, Tone},
        document::Document,
        number,
        words::Words,
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let Some(published) = &document.published else { return Vec::new() };
    let mut section = Section::new("published", words.get("text", "published"));
    section.add(Reach::Everywhere, Block::Text(summary(published, words)));
    if !published.pairs.is_empty() {
        section.extend(
            Reach::Paper,
            chart::chart(published, document, words).map(|one| Block::Charts(vec![one])),
        );
        let items = chart::sentences(published, words);
        section.add(Reach::Paper, List { marks: Marks::Points, items });
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
    section.add(Reach::Paper, List::of(Marks::Points, origin));
    let remarks: Vec<String> = published.remarks.iter().map(|one| remark(one, words)).collect();
    if !remarks.is_empty() {
        let line = words.fill("text", "published_remarks", &[("count", &remarks.len().to_string())]);
        section.add(Reach::Paper, Block::Folded(line, vec![List::of(Marks::Points, remarks).into()]));
    }
    vec![section]
}

/// How many ratios have the same shape as the published ones.
fn summary(published: &Published, words: Words) -> String {
    let count = |shape: Shape| published.pairs.iter().filter(|pair| pair.shape == shape).count().to_string();
    let all = published.pairs.len().to_string();
    let places = [
        ("all", &*all),
        ("agree", &count(Shape::Agrees)),
        ("contradict", &count(Shape::Contradicts)),
        ("open", &count(Shape::Open)),
    ];
    let missing = published.missing.to_string();
    let mut text = if published.pairs.is_empty() && published.missing > 0 {
        return words.fill("text", "published_none_of", &[("count", &missing)]);
    } else if published.pairs.is_empty() {
        words.get("text", "published_none").to_owned()
    } else {
        words.fill("text", "published_shape", &places)
    };
    if published.missing > 0 {
        text += &words.fill("text", "published_missing", &[("count", &missing)]);
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
    // what is the same everywhere distinguishes no rows
    varied.retain(|name| {
        let first = published.pairs.first().and_then(|pair| pair.levels.get(*name));
        published.pairs.iter().any(|pair| pair.levels.get(*name) != first)
    });
    let mut heads =
        vec![words.fill("head", "divided_by", &[("factor", &words.factor(factor)), ("base", base)])];
    heads.extend(varied.iter().map(|name| words.factor(name)));
    heads.extend(["metric", "published", "measured", "shape"].map(|key| words.get("head", key).to_owned()));
    let row = |pair: &Pair| {
        let mut cells = vec![Cell::name(&pair.one)];
        let levels = varied.iter().map(|name| pair.levels.get(*name));
        cells.extend(levels.map(|level| level.map_or_else(Cell::empty, |level| Cell::name(level))));
        let (key, tone) = match pair.shape {
            Shape::Agrees => ("agrees", Tone::Plain),
            Shape::Contradicts => ("contradicts", Tone::Bad),
            Shape::Open => ("open", Tone::Faint),
        };
        cells.extend([
            Cell::name(&words.metric(pair.metric)),
            Cell::number(number::ratio(pair.published)),
            Cell::number(number::estimate(&pair.measured)),
            Cell { tone, ..Cell::name(words.get("shape", key)) },
        ]);
        cells
    };
    // the metric first, then what the chart shows anyway
    let spare = std::iter::once(1 + varied.len()).chain(1..=varied.len().saturating_sub(1)).collect();
    Table { spare, ..Table::new("", heads, published.pairs.iter().map(row).collect()) }
}

fn remark(remark: &Remark, words: Words) -> String {
    let law = match remark.law {
        Law::RateTimesTime => "rate_times_time",
        Law::Little => "little",
        Law::Product => "product",
    };
    let line = remark.at.line.to_string();
    let (published, computed) = (number::level(remark.published), number::rate(remark.computed));
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
