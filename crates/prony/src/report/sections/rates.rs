//! The highest rates that a run found.

use super::ladder::estimate;
use crate::report::{
    block::{Block, Cell, Reach, Section, Table},
    document::{Document, FoundRate, Point},
    number,
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let Some(table) = table(document, words) else { return Vec::new() };
    let mut section = Section::new("rates", words.get("text", "rates"));
    section.add(Reach::Everywhere, table);
    section.add(Reach::Everywhere, Block::Text(words.get("text", "rates_note").to_owned()));
    vec![section]
}

/// The table; `None`: no rate was searched.
fn table(document: &Document, words: Words) -> Option<Table> {
    if document.rates.is_empty() {
        return None;
    }
    let varied: Vec<&str> = document
        .run
        .factors
        .iter()
        .filter(|factor| factor.name != "server" && factor.levels.len() > 1)
        .map(|factor| factor.name.as_str())
        .collect();
    let head = |key: &str| words.get("head", key).to_owned();
    let told = |point: &Point| match document.servers.len() {
        1 => Some(point.server.clone()),
        _ => document.beside_levels(&point.server, &point.levels).map(str::to_owned),
    };
    let is_told = document.points.iter().any(|point| told(point).is_some());
    let mut heads: Vec<String> = is_told.then(|| head("server")).into_iter().collect();
    heads.extend(varied.iter().map(|factor| words.factor(factor)));
    heads.extend(["objective", "highest_rate", "broken_at", "closed_loop", "loads"].map(head));
    let row = |found: &FoundRate| {
        let point = &document.points[found.point];
        let mut cells: Vec<Cell> = told(point).map(|server| Cell::name(&server)).into_iter().collect();
        let levels = varied.iter().map(|factor| point.levels.get(*factor));
        cells.extend(levels.map(|level| level.map_or_else(Cell::empty, |level| Cell::name(level))));
        let broken =
            found.broken_at_per_second.map_or_else(Cell::empty, |rate| Cell::number(number::rate(rate)));
        cells.extend([
            Cell::name(&found.objective),
            Cell::number(estimate(&found.rate_per_second)),
            broken,
            Cell::number(number::rate(found.closed_loop_per_second)),
            Cell::number(number::count(u64::from(found.loads))),
        ]);
        cells
    };
    let rows = document.rates.iter().map(row).collect();
    Some(Table::new("", heads, rows))
}
