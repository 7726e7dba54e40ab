//! What the neighbours of the load did.

use crate::{
    analyse::Neighbour,
    report::{
        block::{Block, Cell, Reach, Section, Table},
        document::Document,
        number,
        words::Words,
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    if document.neighbours.is_empty() {
        return Vec::new();
    }
    let mut section = Section::new("neighbours", words.get("text", "neighbours"));
    let heads = ["neighbour", "server", "did", "errors", "counted"];
    let heads = heads.map(|head| words.get("head", head).to_owned()).into();
    let rows = document.neighbours.iter().map(|one| row(document, one, words)).collect();
    section.add(Reach::Everywhere, Table::new("", heads, rows));
    section.add(Reach::Everywhere, Block::Text(words.get("text", "neighbours_note").to_owned()));
    vec![section]
}

fn row(document: &Document, one: &Neighbour, words: Words) -> Vec<Cell> {
    vec![
        Cell::name(&one.name),
        Cell::name(&beside(document, one)),
        Cell::name(&did(one, words)),
        Cell::number(number::count(one.errors)),
        Cell::name(&counted(one, words)),
    ]
}

/// What it ran beside: the server, with the levels that name neither the server nor the neighbour itself.
fn beside(document: &Document, one: &Neighbour) -> String {
    let is_told = |(factor, level): &(&String, &String)| *factor != "server" && **level != one.name;
    let levels = one.levels.iter().filter(is_told).map(|(_, level)| level);
    let server = &document.servers[one.server].shown;
    [server].into_iter().chain(levels).cloned().collect::<Vec<_>>().join(", ")
}

/// `14.2 deadlocks per second`.
fn did(one: &Neighbour, words: Words) -> String {
    let seconds = |time: Option<f64>| time.map_or_else(|| "–".to_owned(), number::rate);
    words.fill(
        "neighbour",
        &one.name,
        &[
            ("count", &number::count(one.count)),
            ("rate", &number::rate(one.per_second())),
            ("rows", &number::count(one.rows)),
            ("mean", &seconds(one.mean_s)),
            ("max", &seconds(one.max_s)),
        ],
    )
}

/// What the server reports about it.
fn counted(one: &Neighbour, words: Words) -> String {
    let Some(counted) = one.counted else { return words.get("text", "not_counted").to_owned() };
    let key = if one.counter == "history_length" { "counted_highest" } else { "counted_rate" };
    words.fill("text", key, &[("counter", &*one.counter), ("value", &number::rate(counted))])
}
