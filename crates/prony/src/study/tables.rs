//! Reads `[[table]]`: the tables that a study writes, with their columns and how the values of each are
//! drawn.

use super::{
    columns::{self, COLUMN, Read, lists},
    forms,
    keys::{self, Elsewhere, Key, Put, key},
    kinds::{Count, Text},
    mistake::{Collector, Place},
    tree::{Entry, Node, Table as Tree, Value},
};
use crate::{
    layout::custom::{Column, Data, Table, Values},
    workload::is_name,
};
use serde_json::json;

/// Highest number of rows: more than disks hold.
pub(super) const ROWS_MAX: u64 = 1_000_000_000_000;

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
        "Its size on disk, instead of `rows`; with both, a column `{ text = \"fill\" }` makes the rows wide \
         enough.",
    ),
    key(
        "indexes",
        &Elsewhere(lists),
        None,
        r#"["city", ["last", "first"]]"#,
        "Secondary indexes: each a column, or a list of columns.",
    ),
    key("columns", &Elsewhere(described), None, "", "Its columns, each `NAME = { ... }`."),
];

fn described() -> serde_json::Value {
    json!({ "type": "object", "additionalProperties": keys::object(&keys::described(COLUMN)) })
}

/// The keys of a table itself.
#[derive(Default)]
pub(super) struct Written {
    name: Option<String>,
    rows: Option<u64>,
    size: Option<u64>,
}

/// Longest row that a page of the default engine takes.
const ROW_BYTES_MAX: u64 = 8_000;
/// Longest name in any server.
const NAME_MAX: usize = 60;
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
            mistakes.at(&node.place, title, "give each table a different `name`");
        }
        drafts.push(draft);
    }
    drafts.iter_mut().for_each(|draft| draft.complete(mistakes));
    count_children(&mut drafts, mistakes);
    let known: Vec<Table> = drafts.iter().map(|draft| draft.table.clone()).collect();
    let tables = drafts.into_iter().map(|draft| draft.refer(&known, mistakes)).collect();
    Some(Data { tables, engine, seed: 0 })
}

/// Whether a column says how many rows belong to each row of another table.
fn is_children(column: &Column) -> bool {
    matches!(column.values, Values::Children { .. })
}

/// Rows of the tables of which each row of another has a number, those of that other first.
fn count_children(drafts: &mut [Draft<'_>], mistakes: &mut Collector) {
    for _ in 0..drafts.len() {
        let known: Vec<(String, u64)> =
            drafts.iter().map(|draft| (draft.table.name.to_lowercase(), draft.table.rows)).collect();
        for draft in drafts.iter_mut() {
            let own = &mut draft.table;
            let Some(column) = own.columns.iter_mut().find(|column| is_children(column)) else { continue };
            if let Values::Children { table, parents, .. } = &mut column.values {
                let rows = known.iter().find(|(name, _)| *name == table.to_lowercase());
                *parents = rows.map_or(1, |(_, rows)| *rows);
            }
            let rows = own.rows_of_children().unwrap_or(0);
            if draft.rows.is_none() {
                own.rows = rows;
            }
        }
    }
    for draft in drafts.iter() {
        let Some(rows) = draft.table.rows_of_children() else { continue };
        let (place, name) = (&draft.node.place, &draft.table.name);
        if rows == 0 || rows > ROWS_MAX {
            let label = "its foreign key cannot be drawn: check `children`, and that no tables refer to each \
                         other in a circle";
            mistakes.at(place, format!("the table `{name}` would have {rows} rows"), label);
        } else if draft.rows.is_some_and(|written| written != rows) {
            let label = format!("remove `rows`: by `children` it has {rows}");
            mistakes.at(place, format!("`rows` of `{name}` contradicts `children`"), label);
        }
    }
}

/// A table, read without regard to the others.
struct Draft<'a> {
    node: &'a Node,
    table: Table,
    rows: Option<u64>,
    size: Option<u64>,
    /// The column that pads rows to their width.
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
        mistakes.at(&node.place, format!("a table is {}", node.value.kind()), "expected a table of keys");
        return None;
    };
    let (Written { name, rows, size }, seen) = keys::read(tree, TABLE, mistakes);
    let Some(name) = name else {
        mistakes.at(&node.place, "a table has no `name`", "add `name = \"customer\"`");
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
            mistakes.at(&node.place, title, "expected a table of columns, `[table.columns]`");
        }
        None => {}
    }
    draft.indexes(tree.get("indexes"), mistakes);
    Some(draft)
}

fn check_name(name: &str, place: &Place, what: &str, mistakes: &mut Collector) {
    if !is_name(name) || name.len() > NAME_MAX {
        let title = format!("`{name}` cannot be the name of a {what}");
        mistakes.at(place, title, format!("use letters, digits and `_`, at most {NAME_MAX} characters"));
        return;
    }
    let lower = name.to_ascii_lowercase();
    if what == "table" && (crate::layout::is_reserved(&lower) || lower.starts_with("prony_")) {
        let title = format!("`{name}` cannot be the name of a table");
        mistakes.at(place, title, "this name is reserved for Prony's own tables; choose another one");
    }
}

impl<'a> Draft<'a> {
    fn column(&mut self, entry: &'a Entry, mistakes: &mut Collector) {
        check_name(&entry.key, &entry.key_place, "column", mistakes);
        let Some(Read { own, seen, kind, values: held, distinct }) =
            columns::read(entry, &self.table.columns, mistakes)
        else {
            return;
        };
        let place = self.table.columns.len();
        match &held {
            Values::Text { max: u32::MAX, .. } if self.fill.replace(place).is_some() => {
                let label = "keep one `text = \"fill\"`";
                mistakes.at(&kind.node.place, "two columns fill the row", label);
            }
            Values::References { .. } | Values::Children { .. } => self.references.push(Reference {
                column: place,
                place: &kind.node.place,
                is_typed: own.kind.is_some(),
            }),
            _ => {}
        }
        let is_key = matches!(held, Values::Sequence { .. });
        if let Some(place) = seen.place("null").filter(|_| is_key) {
            mistakes.at(place, "a sequence is the primary key, which is never NULL", "remove it");
        }
        let is_second = |column: &Column| matches!(column.values, Values::Sequence { .. });
        if is_key && self.table.columns.iter().any(is_second) {
            let label = "the first one is the primary key; use `random` or `references` for this one";
            mistakes.at(&kind.node.place, "a table has two sequences", label);
        }
        if let (Some(written), Some(place)) = (&own.kind, seen.place("type"))
            && let Err(wanted) = held.takes(written)
        {
            mistakes.at(place, format!("the column cannot be {written}"), wanted.to_string());
        }
        let kind = own.kind.unwrap_or_else(|| held.kind());
        let (name, null) = (entry.key.clone(), own.null);
        if matches!(held, Values::Children { .. }) && self.table.columns.iter().any(is_children) {
            let label = "keep one `children`: it says how many rows the table has";
            mistakes.at(&entry.node.place, "two columns say how many rows belong to a row", label);
        }
        self.table.columns.push(Column { name, kind, values: held, null, distinct });
    }

    fn indexes(&mut self, node: Option<&Node>, mistakes: &mut Collector) {
        let Some(node) = node else { return };
        let wanted = "expected columns: [\"city\", [\"last\", \"first\"]]";
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
            let label = "add one to its columns, such as `id = { sequence = 1 }`";
            mistakes.at(at, format!("the table `{name}` has no column that numbers its rows"), label);
        }
        if let Some(column) = self.fill.and_then(|place| self.table.columns.get_mut(place)) {
            column.values = Values::Text { min: 0, max: 0 };
        }
        let row = self.table.row_bytes();
        match (self.rows, self.size, self.fill) {
            // known with the rows of the other table
            (None, None, None) if self.table.columns.iter().any(is_children) => {}
            (None, None, _) => {
                let label = "add `rows = 100_000` or `size = \"10 GB\"`";
                mistakes.at(at, format!("the table `{name}` has neither `rows` nor `size`"), label);
            }
            (Some(_), None, None) => {}
            (None, Some(size), None) => self.table.rows = (size / row).max(1),
            (Some(rows), Some(size), Some(place)) => {
                let wide = size / rows.max(1);
                if wide <= row || wide > ROW_BYTES_MAX {
                    let title = format!("a row of `{name}` would be {wide} bytes wide");
                    let label = format!(
                        "with these columns and indexes, it can have {row} to \
                                         {ROW_BYTES_MAX}"
                    );
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
                let label = "add a column `{ text = \"fill\" }`, which fills rows to the size; or remove one \
                             of them";
                mistakes.at(at, format!("the table `{name}` has both `rows` and `size`"), label);
            }
            (_, _, Some(_)) => {
                let label = "`text = \"fill\"` fills rows so that `rows` of them have this `size`";
                mistakes.at(at, format!("the table `{name}` needs both `rows` and `size`"), label);
            }
        }
    }

    /// Gives columns with `references` the range of the values that they refer to.
    fn refer(mut self, known: &[Table], mistakes: &mut Collector) -> Table {
        for Reference { column, place, is_typed } in std::mem::take(&mut self.references) {
            let (table, name) = match &self.table.columns[column].values {
                Values::References { table, column, .. } | Values::Children { table, column, .. } => {
                    (table.clone(), column.clone())
                }
                _ => continue,
            };
            let (table, name) = (&table, &name);
            let Some(other) = known.iter().find(|other| other.name.eq_ignore_ascii_case(table)) else {
                mistakes.unknown(place, "table", table, known.iter().map(|table| table.name.as_str()));
                continue;
            };
            let Some(found) = other.columns.iter().find(|one| one.name.eq_ignore_ascii_case(name)) else {
                mistakes.unknown(place, "column", name, other.columns.iter().map(|one| one.name.as_str()));
                continue;
            };
            let Values::Sequence { first } = found.values else {
                let title = format!("`{table}.{name}` is not a sequence");
                mistakes.at(place, title, "expected the column that numbers the rows of a table");
                continue;
            };
            match &mut self.table.columns[column].values {
                Values::References { min, max, .. } => {
                    (*min, *max) = (first, first.saturating_add(other.rows.max(1) as i64 - 1));
                }
                Values::Children { first: lowest, .. } => *lowest = first,
                _ => {}
            }
            let column = &mut self.table.columns[column];
            match column.values.takes(&column.kind) {
                _ if !is_typed => column.kind = column.values.kind(),
                Err(wanted) => {
                    mistakes.at(place, format!("the column cannot be {}", column.kind), wanted.to_string());
                }
                Ok(()) => {}
            }
        }
        self.table
    }
}
