//! Tables as a study writes them: each with its rows, columns and indexes, and how the values of each column
//! are drawn.
//!
//! Row `n` of a table depends on the seed, the table's name, the columns' names and `n` alone: another column
//! or table beside it changes nothing, and any number of connections can load it.

mod rows;
mod types;
mod values;

pub use types::Unfit;
pub use values::{Values, children};

use super::{Index, Layout, Scan, Sent, Table as Whole, Undrawn, engine_words, quoted};
use crate::{
    family::{Definition, spoken},
    language::{Language, say},
    quantity::show_count,
};
use load::{
    random::mix,
    spec::{Distribution, Draw, Literal, RowsWith},
};
use rows::Contents;
use serde::{Deserialize, Serialize};

/// A data set of such tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The tables.
    pub tables: Vec<Table>,
    /// Storage engine of all of them; `None`: the server's default.
    pub engine: Option<String>,
    /// Seed of the contents.
    pub seed: u64,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its columns; exactly one is a [`Values::Sequence`], which is the primary key.
    pub columns: Vec<Column>,
    /// The columns of each index.
    pub indexes: Vec<Vec<String>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Its type as SQL.
    pub kind: String,
    /// What it holds.
    pub values: Values,
    /// Share of the rows in which it is NULL; 0: it cannot be.
    pub null: f64,
    /// How many different values it has at most, and how they are distributed; `None`: as many as it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<(u64, Distribution)>,
}

/// What the default engine needs for a row beside its values: header, transaction, rollback pointer.
const ROW_OVERHEAD_BYTES: u64 = 26;
/// What an index entry needs beside its values.
const ENTRY_OVERHEAD_BYTES: u64 = 8;
/// Most rows of a table that are drawn by a condition: 240 MB for each load process.
const ROWS_WITH_MAX: u32 = 20_000_000;
/// How full pages are that were filled in the order of the key: 15 sixteenths.
const FILL: f64 = 15.0 / 16.0;

impl Data {
    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    fn whole(&self, table: &Table) -> Whole {
        let charset = table.charset();
        let definitions = table.columns.iter().map(|column| {
            let is_text = column.sent().sent == Sent::Text && column.values.is_text();
            spoken().column(&Definition {
                name: &column.name,
                kind: &column.kind,
                charset: is_text.then_some(charset),
                is_nullable: column.null > 0.0,
                counts: matches!(column.values, Values::Sequence { .. }),
            })
        });
        let key = format!("PRIMARY KEY ({})", quoted(table.key()));
        let definition = definitions.chain([key]).collect::<Vec<_>>().join(", ");
        Whole {
            name: table.name.clone(),
            rows: table.rows,
            columns: table.columns.iter().map(Column::sent).collect(),
            engine: self.engine.clone(),
            number: match table.first() {
                1 => quoted(table.key()),
                first => format!("({} - ({}))", quoted(table.key()), first - 1),
            },
            indexes: table.index_list(),
            has_statistics: false,
            scans: table.scans(),
            identity: format!("custom table={} of={:016x}", table.name, self.fingerprint(table, &definition)),
            definition,
            charset,
            row_bytes: table.row_bytes(),
            contents: Box::new(Contents::new(self.seed, table)),
        }
    }

    /// Of everything that a table's form and contents depend on.
    fn fingerprint(&self, table: &Table, definition: &str) -> u64 {
        let engine = self.engine.as_deref().unwrap_or("default").to_ascii_lowercase();
        let all = serde_json::to_string(&(self.seed, engine, table, definition));
        hash(0, &all.expect("plain values are JSON"))
    }
}

impl Table {
    /// Rows that its column with [`Values::Children`] makes; `None`: it has none.
    #[must_use]
    pub fn rows_of_children(&self) -> Option<u64> {
        self.columns.iter().find_map(|column| match column.values {
            Values::Children { parents, min, max, .. } => {
                Some(children(&self.name, &column.name, parents, (min, max)))
            }
            _ => None,
        })
    }

    /// The column that counts rows.
    fn key(&self) -> &str {
        let key = self.columns.iter().find(|column| matches!(column.values, Values::Sequence { .. }));
        key.map_or("", |column| &column.name)
    }

    /// Its first value.
    fn first(&self) -> i64 {
        let first = self.columns.iter().find_map(|column| match column.values {
            Values::Sequence { first } => Some(first),
            _ => None,
        });
        first.unwrap_or(1)
    }

    /// One that every server has, where no text needs more.
    fn charset(&self) -> &'static str {
        let is_ascii = self.columns.iter().all(|column| match &column.values {
            Values::Words { words, .. } => words.iter().all(|word| word.is_ascii()),
            Values::Json(_) => false,
            Values::By { cases, .. } => {
                cases.iter().flat_map(|(_, choice)| choice).all(|(value, _)| shown(value).is_ascii())
            }
            Values::Choice(choice) => choice.iter().all(|(value, _)| shown(value).is_ascii()),
            _ => true,
        });
        if is_ascii { "latin1" } else { "utf8mb4" }
    }

    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    fn index_list(&self) -> Vec<Index> {
        let index = |columns: &Vec<String>| Index { name: columns.join("_"), columns: columns.clone() };
        self.indexes.iter().map(index).collect()
    }

    /// The rows in the order of the key, then each index by itself: in parts where its first column holds
    /// numbers of a range.
    fn scans(&self) -> Vec<Scan> {
        let (key, first) = (self.key(), self.first());
        let last = first.saturating_add(i64::try_from(self.rows).unwrap_or(i64::MAX) - 1);
        let beside = self.columns.iter().find(|column| column.name != key);
        // a condition on a column that no key holds
        let condition = beside.map_or_else(String::new, |column| format!("{} IS NULL", quoted(&column.name)));
        let rows =
            Scan { index: Some("PRIMARY".to_owned()), by: Some((quoted(key), first, last)), condition };
        let of_index = |index: Index| {
            let column = self.column(&index.columns[0]);
            let range = column.filter(|column| column.null == 0.0).and_then(|column| column.values.range());
            let by = range.map(|(min, max)| (quoted(&index.columns[0]), min, max));
            Scan { index: Some(index.name), by, condition: String::new() }
        };
        [rows].into_iter().chain(self.index_list().into_iter().map(of_index)).collect()
    }

    /// What a row and its index entries take on disk, about.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        let key = 8;
        let of_index = |columns: &Vec<String>| -> u64 {
            let columns = columns.iter().filter_map(|name| self.column(name));
            ENTRY_OVERHEAD_BYTES + key + columns.map(Column::bytes).sum::<u64>()
        };
        let row = ROW_OVERHEAD_BYTES + self.columns.iter().map(Column::bytes).sum::<u64>();
        let all = row + self.indexes.iter().map(of_index).sum::<u64>();
        (all as f64 / FILL).ceil() as u64
    }
}

impl Column {
    fn sent(&self) -> super::Column {
        let sent = match self.values {
            Values::Sequence { .. }
            | Values::Random { .. }
            | Values::References { .. }
            | Values::Children { .. }
            | Values::Histogram { decimals: 0, .. } => Sent::BigInt,
            Values::Choice(ref choice) if choice.iter().all(|(value, _)| is_integer(value)) => Sent::BigInt,
            _ => Sent::Text,
        };
        super::Column { name: self.name.clone(), sent }
    }

    /// What a value takes, on average.
    fn bytes(&self) -> u64 {
        let longest = |choice: &[(Literal, f64)]| {
            let weights: f64 = choice.iter().map(|(_, weight)| weight).sum();
            let all: f64 = choice.iter().map(|(value, weight)| shown(value).len() as f64 * weight).sum();
            (all / weights).ceil() as u64 + 1
        };
        let bytes = match &self.values {
            _ if self.sent().sent == Sent::BigInt => integer_bytes(&self.kind),
            Values::Text { min, max } | Values::Words { min, max, .. } => {
                u64::from(*min).midpoint(u64::from(*max)) + 1
            }
            Values::Pattern(pattern) => pattern.len() as u64 + 1,
            Values::Uuid(_) => 37,
            Values::Json(fields) => {
                let field = |field: &Column| field.name.len() as u64 + 6 + field.bytes();
                fields.iter().map(field).sum::<u64>() + 4
            }
            Values::Date { .. } | Values::Follows { decimals: None, .. } => 3,
            Values::Choice(choice) => longest(choice),
            Values::By { cases, .. } => cases.iter().map(|(_, choice)| longest(choice)).max().unwrap_or(1),
            _ => 8,
        };
        (bytes as f64 * (1.0 - self.null)).ceil() as u64
    }
}

impl Values {
    /// Whether all of them are numbers.
    #[must_use]
    pub fn is_number(&self) -> bool {
        let decimals = matches!(
            self,
            Self::Normal { .. }
                | Self::Decimal { .. }
                | Self::Histogram { .. }
                | Self::Sequence { .. }
                | Self::Follows { decimals: Some(_), .. }
        );
        decimals || self.range().is_some()
    }

    /// The whole numbers between which all values lie.
    fn range(&self) -> Option<(i64, i64)> {
        match *self {
            Self::Random { min, max, .. } | Self::References { min, max, .. } => Some((min, max)),
            Self::Children { first, parents, .. } => Some((first, last(first, parents))),
            Self::Histogram { ref ranges, decimals: 0 } => {
                let min = ranges.iter().map(|(min, ..)| *min).min()?;
                Some((min, ranges.iter().map(|(_, max, _)| *max).max()?))
            }
            _ => None,
        }
    }
}

/// The last value of a sequence.
fn last(first: i64, rows: u64) -> i64 {
    first.saturating_add(i64::try_from(rows.max(1)).unwrap_or(i64::MAX) - 1)
}

/// 64 bits of a text, the same on any machine and for ever.
fn hash(seed: u64, text: &str) -> u64 {
    text.bytes().fold(mix(seed ^ text.len() as u64), |state, byte| mix(state ^ u64::from(byte)))
}

fn is_integer(value: &Literal) -> bool {
    matches!(value, Literal::Integer(_))
}

/// Bytes of a whole number of this type.
fn integer_bytes(kind: &str) -> u64 {
    let sizes = [("TINYINT", 1), ("SMALLINT", 2), ("MEDIUMINT", 3), ("INT", 4)];
    sizes.into_iter().find(|(name, _)| kind.starts_with(name)).map_or(8, |(_, bytes)| bytes)
}

/// A fixed value as text.
fn shown(value: &Literal) -> String {
    match value {
        Literal::Null => String::new(),
        Literal::Integer(number) => number.to_string(),
        Literal::Real(number) => number.to_string(),
        Literal::Text(text) => text.clone(),
    }
}

impl Layout for Data {
    fn tables(&self) -> Vec<Whole> {
        self.tables.iter().map(|table| self.whole(table)).collect()
    }

    fn about(&self, language: Language) -> String {
        let engine = engine_words(self.engine.as_deref(), language);
        let table = |table: &Table| {
            let (name, rows) = (&table.name, show_count(table.rows));
            say!(language, "{name} ({rows} rows)", "{name}（{rows} 行）")
        };
        let tables: Vec<String> = self.tables.iter().map(table).collect();
        let tables = tables.join(language.either(", ", "、"));
        say!(language, "the study's own tables {tables}, {engine}", "研究自己的表 {tables}，{engine}")
    }

    fn engine(&self) -> Option<&str> {
        self.engine.as_deref()
    }

    fn has_table(&self, name: &str) -> bool {
        self.table(name).is_some()
    }

    fn table_names(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }

    fn columns(&self, table: &str) -> Option<Vec<String>> {
        self.table(table).map(|table| table.columns.iter().map(|column| column.name.clone()).collect())
    }

    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        let table = self.table(table).ok_or(Undrawn::NoTable)?;
        let Some(column) = table.column(column) else {
            return Err(Undrawn::NoColumn(table.columns.iter().map(|column| column.name.clone()).collect()));
        };
        let integers = |min, max| Ok(Draw::Integer { min, max, distribution });
        match &column.values {
            Values::Sequence { first } => integers(*first, last(*first, table.rows)),
            Values::Date { first, last, .. } => Ok(Draw::Date { first: *first, last: *last, distribution }),
            Values::Choice(choice) => Ok(Draw::Weighted(choice.clone())),
            values => match values.range() {
                Some((min, max)) => integers(min, max),
                None => Err(Undrawn::Contents),
            },
        }
    }

    fn rows_with(&self, table: &str, column: &str, condition: &str) -> Result<RowsWith, (String, Undrawn)> {
        let of = |why| (column.to_owned(), why);
        let table = self.table(table).ok_or_else(|| of(Undrawn::NoTable))?;
        let find = |name: &str| {
            let known = || table.columns.iter().map(|column| column.name.clone()).collect();
            table.column(name).ok_or_else(|| (name.to_owned(), Undrawn::NoColumn(known())))
        };
        let (column, by) = (find(column)?, find(condition)?);
        let rows = || (by.name.clone(), Undrawn::Rows);
        let Values::Sequence { first } = column.values else {
            return Err((column.name.clone(), Undrawn::Rows));
        };
        let (Values::Random { min, max, distribution } | Values::References { min, max, distribution, .. }) =
            by.values
        else {
            return Err(rows());
        };
        if by.distinct.is_some() {
            return Err(rows());
        }
        let count = u32::try_from(table.rows).ok().filter(|rows| *rows <= ROWS_WITH_MAX).ok_or_else(rows)?;
        let key = rows::key(self.seed, table, by);
        Ok(RowsWith { key, count, first, null: by.null, min, max, distribution })
    }

    fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    fn size_bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.rows * table.row_bytes()).sum()
    }
}

#[cfg(test)]
mod tests;
