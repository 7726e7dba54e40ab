//! What TPC-C-like loads reached, compared with the specification's limits.

use crate::{
    analyse::Tpcc,
    report::{
        block::{Block, Cell, List, Marks, Reach, Section, Table, Tone},
        document::{Document, Point},
        number,
        words::Words,
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let told: Vec<(String, &Tpcc)> =
        document.points.iter().filter_map(|point| Some((label(point), point.tpcc.as_ref()?))).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let mut section = Section::new("tpcc", words.get("text", "tpcc"));
    let sentences = told.iter().map(|(label, tpcc)| sentence(label, tpcc, words));
    section.add(Reach::Everywhere, List::of(Marks::Points, sentences));
    let heads = ["server", "transaction", "per_minute", "p90_s", "p90_max_s"];
    let heads = heads.map(|head| words.get("head", head).to_owned()).into();
    let rows = told.iter().flat_map(|(label, tpcc)| rows(label, tpcc)).collect();
    section.add(Reach::Everywhere, Table::new("", heads, rows));
    section.add(Reach::Everywhere, Block::Text(words.get("text", "tpcc_note").to_owned()));
    vec![section]
}

/// The server or what else is compared, with the levels beside it.
fn label(point: &Point) -> String {
    let levels = point.levels.iter().filter(|(factor, level)| *factor != "server" && **level != point.side);
    let levels = levels.map(|(_, level)| level.clone());
    [point.side.clone()].into_iter().chain(levels).collect::<Vec<_>>().join(", ")
}

fn sentence(label: &str, tpcc: &Tpcc, words: Words) -> String {
    let slow: Vec<String> =
        tpcc.transactions.iter().filter(|bound| !bound.is_kept).map(|bound| bound.name.clone()).collect();
    let share = tpcc.new_orders_per_minute / tpcc.tpmc_max;
    let key = match (tpcc.has_terminals, tpcc.is_kept()) {
        (false, _) => "tpcc_nowait",
        (true, true) => "tpcc_kept",
        (true, false) => "tpcc_slow",
    };
    let form = if tpcc.procedures { "tpcc_procedures" } else { "tpcc_statements" };
    let told = words.fill(
        "text",
        key,
        &[
            ("label", label),
            ("per_minute", &number::rate(tpcc.new_orders_per_minute)),
            ("max", &number::rate(tpcc.tpmc_max)),
            ("share", &number::percent(share * 100.0)),
            ("slow", &words.listed(&slow)),
        ],
    );
    told + words.get("text", form)
}

fn rows(label: &str, tpcc: &Tpcc) -> Vec<Vec<Cell>> {
    let row = |(place, bound): (usize, &crate::analyse::Bound)| {
        let tone = if bound.is_kept { Tone::Plain } else { Tone::Bad };
        vec![
            Cell::name(if place == 0 { label } else { "" }),
            Cell::name(&bound.name),
            Cell::number(number::rate(bound.per_minute)),
            bound.p90_s.map_or_else(Cell::empty, |p90| Cell::toned(number::ratio(p90), tone)),
            Cell::number(number::rate(bound.p90_max_s)),
        ]
    };
    tpcc.transactions.iter().enumerate().map(row).collect()
}
