//! Reads `[[table]]`: the tables that a study writes, with their columns and how the values of each are
//! drawn.

use super::{
    forms,
    keys::{self, Elsewhere, Key, Put, Seen, key},
    kinds::{Count, Text, Words},
    mistake::{Collector, Place},
    tree::{Entry, Node, Table as Tree, Value},
};
use crate::{
    layout::custom::{Column, Data, Table, Values},
    workload::{self, is_name},
};
use load::spec::{Distribution, Literal};
use serde_json::json;

/// Highest number of rows: more than disks hold.
const ROWS_MAX: u64 = 1_000_000_000_000;

/// `[[table]]`
pub(super) const TABLE: &[Key<Written>] = &[
    key(
        "name",
        &Put(Text, |table: &mut Written, value| table.name = Some(value)),
        None,
        r#""customer""#,
        "Its name.",
    ),
    key(
        "rows",
        &Put(Count(1, ROWS_MAX), |table: &mut Written, value| table.rows = Some(value)),
        None,
        "100_000",
        "Its rows.",
    ),
    key(
        "size",
        &Put(forms::SIZE, |table: &mut Written, value| table.size = Some(value)),
        None,
        r#""10 GB""#,
        "What it takes on disk, in place of `rows`; with both, a column `{ text = \"fill\" }` makes the \
         rows so wide.",
    ),
    key(
        "indexes",
        &Elsewhere(lists),
        None,
        r#"["city", ["last", "first"]]"#,
        "Secondary indexes: each a column, or a list of columns.",
    ),
    key("columns", &Elsewhere(columns), None, "", "Its columns, each `NAME = { ... }`."),
];

/// A column of a `[[table]]`.
pub(super) const COLUMN: &[Key<WrittenColumn>] = &[
    key(
        "sequence",
        &Elsewhere(anything),
        None,
        "1",
        "Counts the rows from this number on; every table has one, its primary key.",
    ),
    key("random", &Elsewhere(lists), None, "[1, 999]", "Whole numbers from the first to the second."),
    key(
        "normal",
        &Elsewhere(lists),
        None,
        "[50, 10]",
        "A normal distribution: its mean and standard deviation.",
    ),
    key(
        "real",
        &Elsewhere(lists),
        None,
        "[0.5, 9.5]",
        "Numbers with `decimals`, evenly from first to second.",
    ),
    key(
        "text",
        &Elsewhere(anything),
        None,
        "[5, 20]",
        "Letters and digits, so many; or \"fill\": as many as `rows` and `size` of the table ask for.",
    ),
    key("pattern", &Elsewhere(anything), None, r###""##-@@@""###, "Text: `#` becomes a digit, `@` a letter."),
    key(
        "date",
        &Elsewhere(lists),
        None,
        r#"["2020-01-01", "2024-12-31"]"#,
        "Days from the first to the second.",
    ),
    key(
        "choice",
        &Elsewhere(anything),
        None,
        "{ open = 1, paid = 3 }",
        "One of these values: a list, or a table with their weights.",
    ),
    key(
        "references",
        &Elsewhere(anything),
        None,
        r#""customer.id""#,
        "A value of another table's sequence: a foreign key, which the server is not told of.",
    ),
    key(
        "distribution",
        &Put(
            Words(&[
                ("uniform", "uniform"),
                ("gaussian", "gaussian"),
                ("special", "special"),
                ("pareto", "pareto"),
                ("zipfian", "zipfian"),
            ]),
            |column: &mut WrittenColumn, word| column.distribution = workload::distribution(word),
        ),
        None,
        r#""zipfian""#,
        "How `random`, `date` and `references` are distributed over their values; evenly without it.",
    ),
    key(
        "decimals",
        &Put(Count(0, DECIMALS_MAX), |column: &mut WrittenColumn, value| column.decimals = Some(value)),
        None,
        "2",
        "Digits behind the point, of `real` (2) and `normal` (0).",
    ),
    key(
        "null",
        &Put(forms::SHARE, |column: &mut WrittenColumn, value| column.null = value),
        None,
        r#""5%""#,
        "Share of the rows without a value.",
    ),
    key(
        "type",
        &Put(Text, |column: &mut WrittenColumn, value| column.kind = Some(value.trim().to_ascii_uppercase())),
        None,
        r#""VARCHAR(40)""#,
        "Its SQL type, where the one that fits will not do.",
    ),
];

fn anything() -> serde_json::Value {
    json!({})
}

fn lists() -> serde_json::Value {
    json!({ "type": "array" })
}

fn columns() -> serde_json::Value {
    json!({ "type": "object", "additionalProperties": keys::object(&keys::described(COLUMN)) })
}

/// What a table says of itself.
#[derive(Default)]
pub(super) struct Written {
    name: Option<String>,
    rows: Option<u64>,
    size: Option<u64>,
}

/// What a column says beside its values.
#[derive(Default)]
pub(super) struct WrittenColumn {
    distribution: Option<Distribution>,
    decimals: Option<u32>,
    null: f64,
    kind: Option<String>,
}

/// Keys of a column of which it has exactly one.
const KINDS: [&str; 9] =
    ["sequence", "random", "normal", "real", "text", "pattern", "date", "choice", "references"];
/// Longest row that a page of the default engine takes.
const ROW_BYTES_MAX: u64 = 8_000;
/// Longest name in any server.
const NAME_MAX: usize = 60;
/// More digits behind the point than anybody counts.
const DECIMALS_MAX: u32 = 9;

/// The tables of a study; `None`: it writes none.
pub(super) fn tables(root: &Tree, engine: Option<String>, mistakes: &mut Collector) -> Option<Data> {
    let node = root.get("table")?;
    let Value::Array(nodes) = &node.value else {
        let title = format!("`table` is {}", node.value.kind());
        mistakes.at(&node.place, title, "tables are written as `[[table]]`, with two brackets");
        return None;
    };
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for node in nodes {
        let Some(draft) = draft(node, mistakes) else { continue };
        if drafts.iter().any(|other| other.table.name.eq_ignore_ascii_case(&draft.table.name)) {
            let title = format!("there are two tables named `{}`", draft.table.name);
            mistakes.at(&node.place, title, "give each table a `name` of its own");
        }
        drafts.push(draft);
    }
    drafts.iter_mut().for_each(|draft| draft.complete(mistakes));
    let known: Vec<Table> = drafts.iter().map(|draft| draft.table.clone()).collect();
    let tables = drafts.into_iter().map(|draft| draft.refer(&known, mistakes)).collect();
    Some(Data { tables, engine, seed: 0 })
}

/// A table as far as it is read by itself.
struct Draft<'a> {
    node: &'a Node,
    table: Table,
    rows: Option<u64>,
    size: Option<u64>,
    /// The column that makes rows as wide as they are to be.
    fill: Option<usize>,
    /// Where the columns stand that refer to others.
    references: Vec<Reference<'a>>,
}

/// A column that refers to another.
struct Reference<'a> {
    column: usize,
    place: &'a Place,
    /// Whether its type is written.
    is_typed: bool,
}

fn draft<'a>(node: &'a Node, mistakes: &mut Collector) -> Option<Draft<'a>> {
    let Some(tree) = node.table() else {
        mistakes.at(&node.place, format!("a table is {}", node.value.kind()), "a table of keys belongs here");
        return None;
    };
    let (Written { name, rows, size }, seen) = keys::read(tree, TABLE, mistakes);
    let Some(name) = name else {
        mistakes.at(&node.place, "a table has no `name`", "`name = \"customer\"` belongs here");
        return None;
    };
    check_name(&name, seen.place("name").unwrap_or(&node.place), "table", mistakes);
    let table = Table { name, rows: rows.unwrap_or(0), columns: Vec::new(), indexes: Vec::new() };
    let mut draft = Draft { node, table, rows, size, fill: None, references: Vec::new() };
    match tree.get("columns").map(|node| (node, &node.value)) {
        Some((_, Value::Table(columns))) => {
            columns.0.iter().for_each(|entry| draft.column(entry, mistakes));
        }
        Some((node, other)) => {
            let title = format!("`columns` is {}", other.kind());
            mistakes.at(&node.place, title, "a table of columns, `[table.columns]`, belongs here");
        }
        None => {}
    }
    draft.indexes(tree.get("indexes"), mistakes);
    Some(draft)
}

fn check_name(name: &str, place: &Place, what: &str, mistakes: &mut Collector) {
    if !is_name(name) || name.len() > NAME_MAX {
        let title = format!("`{name}` cannot be the name of a {what}");
        mistakes.at(place, title, format!("letters, digits and `_`, at most {NAME_MAX}, make a name"));
        return;
    }
    let lower = name.to_ascii_lowercase();
    if what == "table" && (crate::layout::is_reserved(&lower) || lower.starts_with("prony_")) {
        let title = format!("`{name}` cannot be the name of a table");
        mistakes.at(place, title, "Prony's own tables are called so; choose another name");
    }
}

impl<'a> Draft<'a> {
    fn column(&mut self, entry: &'a Entry, mistakes: &mut Collector) {
        check_name(&entry.key, &entry.key_place, "column", mistakes);
        let Some(tree) = entry.node.table() else {
            let title = format!("column `{}` is {}", entry.key, entry.node.value.kind());
            mistakes.at(&entry.node.place, title, "a table such as { random = [1, 999] } belongs here");
            return;
        };
        let (own, seen) = keys::read(tree, COLUMN, mistakes);
        let mut kinds = tree.0.iter().filter(|entry| KINDS.contains(&entry.key.as_str()));
        let (Some(kind), None) = (kinds.next(), kinds.next()) else {
            let label = format!("one of {} belongs here", KINDS.join(", "));
            return mistakes.at(&entry.node.place, "a column holds one kind of values", label);
        };
        let mut reader = Reader { own: &own, seen, mistakes };
        // One that is wrong is known all the same: what names it is not wrong too.
        let held = reader.held(kind).unwrap_or(Values::Random {
            min: 0,
            max: 0,
            distribution: Distribution::Uniform,
        });
        let place = self.table.columns.len();
        match &held {
            Values::Text { max: u32::MAX, .. } if self.fill.replace(place).is_some() => {
                let label = "one `text = \"fill\"` is enough";
                mistakes.at(&kind.node.place, "two columns fill the row", label);
            }
            Values::References { .. } => self.references.push(Reference {
                column: place,
                place: &kind.node.place,
                is_typed: own.kind.is_some(),
            }),
            _ => {}
        }
        let is_key = matches!(held, Values::Sequence { .. });
        if let Some(place) = seen.place("null").filter(|_| is_key) {
            mistakes.at(place, "a sequence is the primary key, which is never NULL", "leave it out");
        }
        let is_second = |column: &Column| matches!(column.values, Values::Sequence { .. });
        if is_key && self.table.columns.iter().any(is_second) {
            let label = "the first one is the primary key; `random` or `references` belongs here";
            mistakes.at(&kind.node.place, "a table has two sequences", label);
        }
        if let (Some(written), Some(place)) = (&own.kind, seen.place("type"))
            && let Err(wanted) = held.takes(written)
        {
            mistakes.at(place, format!("the column cannot be {written}"), wanted);
        }
        let kind = own.kind.unwrap_or_else(|| held.kind());
        self.table.columns.push(Column { name: entry.key.clone(), kind, values: held, null: own.null });
    }

    fn indexes(&mut self, node: Option<&Node>, mistakes: &mut Collector) {
        let Some(node) = node else { return };
        let wanted = "columns belong here: [\"city\", [\"last\", \"first\"]]";
        let Value::Array(nodes) = &node.value else {
            return mistakes.at(&node.place, format!("`indexes` is {}", node.value.kind()), wanted);
        };
        for node in nodes {
            let names = match &node.value {
                Value::Text(_) => std::slice::from_ref(node),
                Value::Array(nodes) if !nodes.is_empty() => nodes,
                _ => {
                    mistakes.at(&node.place, format!("an index is {}", node.value.kind()), wanted);
                    continue;
                }
            };
            let mut columns = Vec::new();
            for name in names {
                let text = name.text().unwrap_or_default();
                let known = self.table.columns.iter().map(|column| column.name.as_str());
                match self.table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(text)) {
                    Some(column) => columns.push(column.name.clone()),
                    None => mistakes.unknown(&name.place, "column", text, known),
                }
            }
            if columns.len() == names.len() {
                self.table.indexes.push(columns);
            }
        }
    }

    /// Rows from a size, or the width of rows from both.
    fn complete(&mut self, mistakes: &mut Collector) {
        let name = self.table.name.clone();
        let at = &self.node.place;
        if !self.table.columns.iter().any(|column| matches!(column.values, Values::Sequence { .. })) {
            let label = "every table has one such as `id = { sequence = 1 }` in its columns";
            mistakes.at(at, format!("the table `{name}` has no column that counts its rows"), label);
        }
        if let Some(column) = self.fill.and_then(|place| self.table.columns.get_mut(place)) {
            column.values = Values::Text { min: 0, max: 0 };
        }
        let row = self.table.row_bytes();
        match (self.rows, self.size, self.fill) {
            (None, None, _) => {
                let label = "`rows = 100_000`, or `size = \"10 GB\"`, belongs here";
                mistakes.at(at, format!("the table `{name}` has neither `rows` nor `size`"), label);
            }
            (Some(_), None, None) => {}
            (None, Some(size), None) => self.table.rows = (size / row).max(1),
            (Some(rows), Some(size), Some(place)) => {
                let wide = size / rows.max(1);
                if wide <= row || wide > ROW_BYTES_MAX {
                    let title = format!("a row of `{name}` would be {wide} bytes wide");
                    let label = format!("with these columns and indexes it has {row} to {ROW_BYTES_MAX}");
                    mistakes.at(at, title, label);
                }
                let width = self.table.columns.get(place).map_or(0, |_| wide.saturating_sub(row) * 15 / 16);
                let width = u32::try_from(width).unwrap_or(0).max(1);
                if let Some(column) = self.table.columns.get_mut(place) {
                    column.values = Values::Text { min: width, max: width };
                    column.kind = column.values.kind();
                }
            }
            (Some(_), Some(_), None) => {
                let label = "a column `{ text = \"fill\" }` makes rows as wide as both ask; or leave one out";
                mistakes.at(at, format!("the table `{name}` has both `rows` and `size`"), label);
            }
            (_, _, Some(_)) => {
                let label = "`text = \"fill\"` makes rows so wide that `rows` of them are of this `size`";
                mistakes.at(at, format!("the table `{name}` needs both `rows` and `size`"), label);
            }
        }
    }

    /// Gives columns that refer to others the values that are there.
    fn refer(mut self, known: &[Table], mistakes: &mut Collector) -> Table {
        for Reference { column, place, is_typed } in std::mem::take(&mut self.references) {
            let Values::References { table, column: name, min, max, .. } =
                &mut self.table.columns[column].values
            else {
                continue;
            };
            let Some(other) = known.iter().find(|other| other.name.eq_ignore_ascii_case(table)) else {
                mistakes.unknown(place, "table", table, known.iter().map(|table| table.name.as_str()));
                continue;
            };
            let Some(found) = other.columns.iter().find(|one| one.name.eq_ignore_ascii_case(name)) else {
                mistakes.unknown(place, "column", name, other.columns.iter().map(|one| one.name.as_str()));
                continue;
            };
            let Values::Sequence { first } = found.values else {
                let title = format!("`{table}.{name}` is no sequence");
                mistakes.at(place, title, "the column that counts the rows of a table belongs here");
                continue;
            };
            (*min, *max) = (first, first.saturating_add(other.rows.max(1) as i64 - 1));
            let column = &mut self.table.columns[column];
            match column.values.takes(&column.kind) {
                _ if !is_typed => column.kind = column.values.kind(),
                Err(wanted) => mistakes.at(place, format!("the column cannot be {}", column.kind), wanted),
                Ok(()) => {}
            }
        }
        self.table
    }
}

/// Reads what a column holds.
struct Reader<'a> {
    own: &'a WrittenColumn,
    seen: Seen<'a>,
    mistakes: &'a mut Collector,
}

impl Reader<'_> {
    fn held(&mut self, kind: &Entry) -> Option<Values> {
        let node = &kind.node;
        let decimals = self.decimals(&kind.key);
        let distribution = self.distribution(&kind.key);
        match kind.key.as_str() {
            "sequence" => match node.value {
                Value::Integer(first) if first >= 1 => Some(Values::Sequence { first }),
                _ => self.wrong(node, "a sequence", "its first number, 1 or more,"),
            },
            "random" => {
                let (min, max) = self.integers(node)?;
                Some(Values::Random { min, max, distribution })
            }
            "normal" => match self.numbers(node)? {
                (mean, deviation) if deviation > 0.0 && (mean.abs() + deviation) < 1e15 => {
                    Some(Values::Normal { mean, deviation, decimals: decimals.unwrap_or(0) })
                }
                _ => self.wrong(node, "a normal distribution", "its mean, and a deviation above 0,"),
            },
            "real" => {
                let decimals = decimals.unwrap_or(2);
                let unit = 10f64.powi(decimals as i32);
                let (min, max) = self.numbers(node)?;
                if min > max || min.abs().max(max.abs()) * unit > 9e15 {
                    return self.wrong(node, "a range", "two numbers, the lower first, as in [0.5, 9.5],");
                }
                let [min, max] = [min, max].map(|end| (end * unit).round() as i64);
                Some(Values::Decimal { min, max, decimals })
            }
            "text" if node.text() == Some("fill") => Some(Values::Text { min: 0, max: u32::MAX }),
            "text" => match self.lengths(node)? {
                (min, max) if (0..=8_000).contains(&min) && max <= 8_000 => {
                    Some(Values::Text { min: min as u32, max: max as u32 })
                }
                _ => self.wrong(node, "a length", "up to 8000 letters, or \"fill\","),
            },
            "pattern" => match node.text() {
                Some(text) if !text.is_empty() && text.is_ascii() => Some(Values::Pattern(text.to_owned())),
                _ => self.wrong(node, "a pattern", "text such as \"##-@@@\""),
            },
            "date" => {
                let (first, last) = self.days(node)?;
                Some(Values::Date { first, last, distribution })
            }
            "choice" => self.choice(node),
            _ => match node.text().and_then(|text| text.split_once('.')) {
                Some((table, column)) => Some(Values::References {
                    table: table.trim().to_owned(),
                    column: column.trim().to_owned(),
                    min: 1,
                    max: 1,
                    distribution,
                }),
                None => self.wrong(node, "a reference", "table and column, as in \"customer.id\","),
            },
        }
    }

    fn decimals(&mut self, kind: &str) -> Option<u32> {
        let place = self.seen.place("decimals")?;
        if !["real", "normal"].contains(&kind) {
            self.mistakes.at(place, "only `real` and `normal` have decimals", "leave it out");
        }
        self.own.decimals
    }

    fn distribution(&mut self, kind: &str) -> Distribution {
        let Some(place) = self.seen.place("distribution") else { return Distribution::Uniform };
        if !["random", "date", "references"].contains(&kind) {
            self.mistakes.at(place, format!("`{kind}` has no distribution"), "leave it out");
        }
        self.own.distribution.unwrap_or_default()
    }

    fn integers(&mut self, node: &Node) -> Option<(i64, i64)> {
        match pair(node).map(|(min, max)| (&min.value, &max.value)) {
            Some((Value::Integer(min), Value::Integer(max))) if min <= max => Some((*min, *max)),
            _ => self.wrong(node, "a range", "two whole numbers, the lower first, as in [1, 100],"),
        }
    }

    fn lengths(&mut self, node: &Node) -> Option<(i64, i64)> {
        match node.value {
            Value::Integer(length) => Some((length, length)),
            _ => self.integers(node),
        }
    }

    fn numbers(&mut self, node: &Node) -> Option<(f64, f64)> {
        let number = |node: &Node| match node.value {
            Value::Integer(number) => Some(number as f64),
            Value::Real(number) if number.is_finite() => Some(number),
            _ => None,
        };
        match pair(node).map(|(one, other)| (number(one), number(other))) {
            Some((Some(one), Some(other))) => Some((one, other)),
            _ => self.wrong(node, "this", "two numbers, as in [50, 10],"),
        }
    }

    fn days(&mut self, node: &Node) -> Option<(i64, i64)> {
        let day = |node: &Node| {
            let date: jiff::civil::Date = node.text()?.trim().parse().ok()?;
            jiff::civil::date(1970, 1, 1).until(date).ok().map(|span| i64::from(span.get_days()))
        };
        match pair(node).map(|(first, last)| (day(first), day(last))) {
            Some((Some(first), Some(last))) if first <= last => Some((first, last)),
            _ => self.wrong(node, "a range", "two dates in quotes, as in [\"2020-01-01\", \"2024-12-31\"],"),
        }
    }

    fn choice(&mut self, node: &Node) -> Option<Values> {
        let wanted = "values, as in [\"open\", \"paid\"], or with their weights { open = 1, paid = 3 },";
        let literal = |node: &Node| match &node.value {
            Value::Text(text) => Some(Literal::Text(text.clone())),
            Value::Integer(number) => Some(Literal::Integer(*number)),
            _ => None,
        };
        let weight = |node: &Node| match node.value {
            Value::Integer(weight) if weight > 0 => Some(weight as f64),
            Value::Real(weight) if weight > 0.0 && weight.is_finite() => Some(weight),
            _ => None,
        };
        let choice: Option<Vec<(Literal, f64)>> = match &node.value {
            Value::Array(nodes) => nodes.iter().map(|node| Some((literal(node)?, 1.0))).collect(),
            Value::Table(tree) => {
                let one = |entry: &Entry| Some((Literal::Text(entry.key.clone()), weight(&entry.node)?));
                tree.0.iter().map(one).collect()
            }
            _ => None,
        };
        match choice {
            Some(choice) if !choice.is_empty() => Some(Values::Choice(choice)),
            _ => self.wrong(node, "a choice", wanted),
        }
    }

    fn wrong<T>(&mut self, node: &Node, what: &str, wanted: &str) -> Option<T> {
        self.mistakes.at(&node.place, format!("{what} cannot be this"), format!("{wanted} belongs here"));
        None
    }
}

/// The two items of a list of two.
fn pair(node: &Node) -> Option<(&Node, &Node)> {
    match &node.value {
        Value::Array(nodes) => match &nodes[..] {
            [one, other] => Some((one, other)),
            _ => None,
        },
        _ => None,
    }
}
