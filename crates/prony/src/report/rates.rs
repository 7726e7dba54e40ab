//! The highest rates that a run found: as values of the document, and as a table of every format.

use super::{
    document::{Document, FoundRate, Point},
    number,
    table::{Cell, Table, estimate},
    words::{Words, spoken},
};
use crate::{analyse::Findings, store::RunRecord};

/// Every rate that was searched, in the order of the points.
pub(super) fn rates(record: &RunRecord, findings: &Findings) -> Vec<FoundRate> {
    let searches = |point: usize| {
        let treatment = findings.points[point].treatment;
        let of_treatment = record.trials.iter().filter(move |trial| trial.trial.treatment == treatment);
        of_treatment.filter_map(|trial| {
            let sought = trial.outcome.sought()?;
            let loads = sought.probes.clone();
            Some(super::document::Search { trial: trial.trial.number, rate_per_second: sought.rate(), loads })
        })
    };
    let one = |found: &crate::analyse::FoundRate| FoundRate {
        point: found.point,
        objective: found.objective.clone(),
        rate_per_second: found.rate,
        broken_at_per_second: found.broken_at,
        closed_loop_per_second: found.closed_loop,
        loads: found.loads,
        searches: searches(found.point).collect(),
    };
    findings.rates.iter().map(one).collect()
}

/// The table; `None`: no rate was searched.
pub(super) fn table(document: &Document, words: Words) -> Option<Table> {
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
    heads.extend(varied.iter().map(|factor| spoken(factor)));
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
    Some(Table { title: words.get("text", "rates").to_owned(), heads, rows })
}
