//! Tables as a study writes them: each with its rows, columns and indexes, and how the values of each column
//! are drawn.
//!
//! Row `n` of a table depends on the seed, the table's name, the columns' names and `n` alone: another column
//! or table beside it changes nothing, and any number of connections can load it.

mod rows;
mod types;

use super::{Index, Layout, Scan, Sent, Table as Whole, Undrawn, quoted};
use crate::quantity::show_count;
use load::{
    random::mix,
    spec::{Distribution, Draw, Literal},
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
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Values {
    /// The row's number, counted from `first`.
    Sequence {
        /// Of the first row.
        first: i64,
    },
    /// Whole numbers of a range.
    Random {
        /// Lowest.
        min: i64,
        /// Highest.
        max: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
    /// Normally distributed numbers, rounded.
    Normal {
        /// Their mean.
        mean: f64,
        /// Their standard deviation.
        deviation: f64,
        /// Digits behind the point.
        decimals: u32,
    },
    /// Numbers with digits behind the point, uniform.
    Decimal {
        /// Lowest, in units of the last digit.
        min: i64,
        /// Highest, likewise.
        max: i64,
        /// Digits behind the point.
        decimals: u32,
    },
    /// Letters and digits; the length is uniform.
    Text {
        /// Shortest.
        min: u32,
        /// Longest.
        max: u32,
    },
    /// `#` becomes a digit, `@` a letter.
    Pattern(String),
    /// Days, as numbers of days since 1970-01-01.
    Date {
        /// Earliest.
        first: i64,
        /// Latest.
        last: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
    /// One of these, each with its weight, which is above 0.
    Choice(Vec<(Literal, f64)>),
    /// A value of another table's sequence.
    References {
        /// The table.
        table: String,
        /// Its column.
        column: String,
        /// Lowest value there.
        min: i64,
        /// Highest.
        max: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
}

/// What the default engine needs for a row beside its values: header, transaction, rollback pointer.
const ROW_OVERHEAD_BYTES: u64 = 26;
/// What an index entry needs beside its values.
const ENTRY_OVERHEAD_BYTES: u64 = 8;
/// How full pages are that were filled in the order of the key: 15 sixteenths.
const FILL: f64 = 15.0 / 16.0;

impl Data {
    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    fn whole(&self, table: &Table) -> Whole {
        let charset = table.charset();
        let definitions = table.columns.iter().map(|column| {
            let null = if column.null > 0.0 { "" } else { " NOT NULL" };
            let counts = matches!(column.values, Values::Sequence { .. });
            let counts = if counts { " AUTO_INCREMENT" } else { "" };
            let is_text = column.sent().sent == Sent::Text && column.values.is_text();
            let charset = if is_text { format!(" CHARACTER SET {charset}") } else { String::new() };
            format!("{} {}{charset}{null}{counts}", quoted(&column.name), column.kind)
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
            Values::Sequence { .. } | Values::Random { .. } | Values::References { .. } => Sent::BigInt,
            Values::Choice(ref choice) if choice.iter().all(|(value, _)| is_integer(value)) => Sent::BigInt,
            _ => Sent::Text,
        };
        super::Column { name: self.name.clone(), sent }
    }

    /// What a value takes, on average.
    fn bytes(&self) -> u64 {
        let bytes = match &self.values {
            Values::Sequence { .. } | Values::Random { .. } | Values::References { .. } => {
                integer_bytes(&self.kind)
            }
            Values::Normal { .. } | Values::Decimal { .. } => 8,
            Values::Text { min, max } => u64::from(*min).midpoint(u64::from(*max)) + 1,
            Values::Pattern(pattern) => pattern.len() as u64 + 1,
            Values::Date { .. } => 3,
            Values::Choice(_) if self.sent().sent == Sent::BigInt => integer_bytes(&self.kind),
            Values::Choice(choice) => {
                let weights: f64 = choice.iter().map(|(_, weight)| weight).sum();
                let all: f64 = choice.iter().map(|(value, weight)| shown(value).len() as f64 * weight).sum();
                (all / weights).ceil() as u64 + 1
            }
        };
        (bytes as f64 * (1.0 - self.null)).ceil() as u64
    }
}

impl Values {
    /// The whole numbers between which all values lie.
    fn range(&self) -> Option<(i64, i64)> {
        match *self {
            Self::Random { min, max, .. } | Self::References { min, max, .. } => Some((min, max)),
            _ => None,
        }
    }
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

    fn about(&self) -> String {
        let engine = self.engine.as_deref().unwrap_or("the server's default engine");
        let tables =
            self.tables.iter().map(|table| format!("{} ({} rows)", table.name, show_count(table.rows)));
        format!("the study's own tables {}, {engine}", tables.collect::<Vec<_>>().join(", "))
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

    fn named(&self, _: Distribution) -> Vec<(&'static str, Draw)> {
        Vec::new()
    }

    fn numbered(&self) -> u32 {
        1
    }

    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        let table = self.table(table).ok_or(Undrawn::NoTable)?;
        let Some(column) = table.column(column) else {
            return Err(Undrawn::NoColumn(table.columns.iter().map(|column| column.name.clone()).collect()));
        };
        let integers = |min, max| Ok(Draw::Integer { min, max, distribution });
        match &column.values {
            Values::Sequence { first } => integers(
                *first,
                first.saturating_add(i64::try_from(table.rows.max(1)).unwrap_or(i64::MAX) - 1),
            ),
            Values::Random { min, max, .. } | Values::References { min, max, .. } => integers(*min, *max),
            Values::Date { first, last, .. } => Ok(Draw::Date { first: *first, last: *last, distribution }),
            Values::Choice(choice) => Ok(Draw::Weighted(choice.clone())),
            Values::Normal { .. } | Values::Decimal { .. } | Values::Text { .. } | Values::Pattern(_) => {
                Err(Undrawn::Contents)
            }
        }
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
