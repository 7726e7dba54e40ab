//! The tables of sysbench 1.0.20, and the workloads that run on them: `sbtest1`, `sbtest2` and so on, each
//! with `id`, `k`, `c` and `pad`. Only this folder knows these names.
//!
//! Schema and contents are sysbench's, except that contents depend on the seed alone.

mod options;
mod rows;
mod workloads;

pub use options::{OptionInfo, OptionKind, Options, Random};
pub use workloads::{BUILTINS, data, workload};

use super::{Column, Index, Layout, NUMBER, Scan, Sent, Table, Undrawn, engine_words};
use crate::{
    language::{Language, say},
    quantity::show_count,
};
use load::spec::{Distribution, Draw};
use rows::Contents;
use serde::{Deserialize, Serialize};

/// A workload on these tables as a study writes it, each line a comment.
pub const EXAMPLE: &str = r#"# {id} is the number of a row, {table} that of a table of the built-in workloads,
# {own_table} that of the connection's own table: they are dealt out in turn.
# [workload.shop.values]
# price = { random = [1, 999] }
# rare = { of = "sbtest1.id", distribution = "zipfian" }
# [[workload.shop.transaction]]
# name = "buy"
# weight = 1
# keying = "2s" # before it, always
# think = "12s" # after it, on average
# statements = [
#   "BEGIN",
#   { sql = "SELECT k FROM sbtest{table} WHERE id = {id} FOR UPDATE", keep = ["stock"] },
#   { if = "stock > 0", statements = [
#     "UPDATE sbtest{table} SET k = {stock - 1}, pad = {price} WHERE id = {id}",
#   ] },
#   { repeat = [1, 3], draw = ["rare"], statements = ["SELECT c FROM sbtest1 WHERE id = {rare}"] },
#   "COMMIT",
# ]

"#;

/// How tables are called; a number follows.
const PREFIX: &str = "sbtest";
/// Measured: what the default engine needs for a row, and for its entry in the index on `k`; bytes.
const ROW_BYTES: u64 = 225;
const ENTRY_BYTES: u64 = 15;
/// The column that numbers rows.
const NUMBER_COLUMN: &str = "id";

/// A data set of sysbench's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// Number of tables; 0: the study needs none.
    pub tables: u32,
    /// Rows in each.
    pub rows: u64,
    /// Storage engine; `None`: the server's default.
    pub engine: Option<String>,
    /// Whether the secondary index on `k` is made.
    pub create_secondary: bool,
    /// Whether `id` is a plain index instead of the primary key.
    pub secondary: bool,
    /// Whether `id` counts by itself.
    pub auto_inc: bool,
    /// Seed of the contents.
    pub seed: u64,
    /// Which of its layouts.
    pub generator: Generator,
    /// How the values of `k` are distributed over 1 to `rows`.
    #[serde(default)]
    pub k: Distribution,
}

/// Which tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    /// Four columns, with rows.
    Sysbench,
    /// Those of `bulk_insert`: two columns, never with rows.
    BulkInsert,
    /// Four columns, without rows.
    Empty,
}

/// Those that a study may name for the tables of the built-in workloads, as it writes them.
pub const GENERATORS: &[(&str, Generator)] =
    &[("sysbench", Generator::Sysbench), ("bulk_insert", Generator::BulkInsert)];

impl Generator {
    /// As it is written in a study and in the mark of tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::BulkInsert => "bulk_insert",
            Self::Empty => "empty",
        }
    }
}

impl Data {
    /// Rows that each table is loaded with.
    fn rows_loaded(&self) -> u64 {
        if self.generator == Generator::Sysbench { self.rows } else { 0 }
    }

    fn is_bulk(&self) -> bool {
        self.generator == Generator::BulkInsert
    }

    fn has_index(&self) -> bool {
        self.create_secondary && !self.is_bulk()
    }

    fn column_names(&self) -> &'static [&'static str] {
        if self.is_bulk() { &["id", "k"] } else { &["id", "k", "c", "pad"] }
    }

    /// Everything that a table's contents and form depend on.
    fn identity(&self) -> String {
        let k = match self.k {
            Distribution::Uniform => "uniform".to_owned(),
            Distribution::Gaussian { iterations } => format!("gaussian({iterations})"),
            Distribution::Special { iterations, hot_set_percent, hot_draws_percent } => {
                format!("special({iterations},{hot_set_percent},{hot_draws_percent})")
            }
            Distribution::Pareto { h } => format!("pareto({h})"),
            Distribution::Zipfian { exponent } => format!("zipfian({exponent})"),
            Distribution::Latest { exponent } => format!("latest({exponent})"),
            Distribution::NonUniform { a, c } => format!("non_uniform({a},{c})"),
        };
        let Self { rows, seed, generator, auto_inc, secondary, create_secondary, engine, .. } = self;
        let engine = engine.as_deref().unwrap_or("default").to_ascii_lowercase();
        format!(
            "{} rows={rows} seed={seed} k={k} engine={engine} auto_inc={auto_inc} secondary={secondary} \
             create_secondary={create_secondary}",
            generator.name()
        )
    }

    fn definition(&self) -> String {
        let count = if self.auto_inc { " AUTO_INCREMENT" } else { "" };
        let key = if self.secondary { "KEY xid" } else { "PRIMARY KEY" };
        let text = if self.is_bulk() {
            ""
        } else {
            "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, "
        };
        format!("id INTEGER NOT NULL{count}, k INTEGER DEFAULT '0' NOT NULL, {text}{key} (id)")
    }

    /// The key of `id`, then the index on `k`, whose values lie between 0 and the number of rows too;
    /// workloads may have moved some.
    fn scans(&self, number: u32) -> Vec<Scan> {
        if self.is_bulk() {
            return Vec::new();
        }
        let last = i64::try_from(self.rows_loaded()).unwrap_or(i64::MAX);
        let scan = |index: Option<String>, column: &str, condition: &str| Scan {
            index,
            by: Some((column.to_owned(), 0, last)),
            condition: condition.to_owned(),
        };
        let key = self.secondary.then(|| "xid".to_owned());
        let mut scans = vec![scan(key, NUMBER_COLUMN, "pad = ''")];
        if self.has_index() {
            scans.push(scan(Some(index_name(number)), "k", ""));
        }
        scans
    }

    fn table(&self, number: u32) -> Table {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            sent: if ["id", "k"].contains(name) { Sent::Int } else { Sent::Text },
        };
        let index = || Index { name: index_name(number), columns: vec!["k".to_owned()] };
        Table {
            name: format!("{PREFIX}{number}"),
            rows: self.rows_loaded(),
            columns: self.column_names().iter().map(column).collect(),
            definition: self.definition(),
            engine: self.engine.clone(),
            number: NUMBER_COLUMN.to_owned(),
            indexes: self.has_index().then(index).into_iter().collect(),
            has_statistics: false,
            scans: self.scans(number),
            identity: self.identity(),
            charset: "latin1",
            row_bytes: ROW_BYTES + if self.create_secondary { ENTRY_BYTES } else { 0 },
            contents: Box::new(Contents::new(self, number)),
        }
    }
}

impl Layout for Data {
    fn tables(&self) -> Vec<Table> {
        (1..=self.tables).map(|number| self.table(number)).collect()
    }

    fn about(&self, language: Language) -> String {
        let engine = engine_words(self.engine.as_deref(), language);
        let tables = match (self.tables, language) {
            (1, Language::English) => "1 table".to_owned(),
            (count, Language::English) => format!("{count} tables"),
            (count, Language::Chinese) => format!("{count} 个表"),
        };
        let rows = show_count(self.rows);
        match self.generator {
            Generator::Sysbench => say!(
                language,
                "{tables} of {rows} rows as sysbench makes them, {engine}",
                "{tables}，每个 {rows} 行，与 sysbench 所建的相同，{engine}",
            ),
            other => say!(language, "{tables}, {}, {engine}", "{tables}，{}，{engine}", other.name()),
        }
    }

    fn engine(&self) -> Option<&str> {
        self.engine.as_deref()
    }

    /// Of any number: a statement for more tables than there are is about none of anybody else's.
    fn has_table(&self, name: &str) -> bool {
        let Some((start, number)) = name.split_at_checked(PREFIX.len()) else { return false };
        let is_number =
            !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit() || letter == NUMBER);
        start.eq_ignore_ascii_case(PREFIX) && is_number
    }

    fn table_names(&self) -> Vec<String> {
        (1..=self.tables).map(|number| format!("{PREFIX}{number}")).collect()
    }

    fn columns(&self, table: &str) -> Option<Vec<String>> {
        let is_there = |name: &str| {
            name.contains(NUMBER)
                || number(&name.to_ascii_lowercase()).is_some_and(|number| number <= self.tables)
        };
        let names = || self.column_names().iter().map(|name| (*name).to_owned()).collect();
        (self.has_table(table) && is_there(table)).then(names)
    }

    fn named(&self, distribution: Distribution) -> Vec<(&'static str, Draw)> {
        let max = i64::try_from(self.rows.max(1)).unwrap_or(i64::MAX);
        let id = Draw::Integer { min: 1, max, distribution };
        vec![(NUMBER_COLUMN, id), ("table", Draw::Table), ("own_table", Draw::TableOfConnection)]
    }

    fn numbered(&self) -> u32 {
        self.tables
    }

    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        let columns = self.columns(table).ok_or(Undrawn::NoTable)?;
        let max = i64::try_from(self.rows.max(1)).unwrap_or(i64::MAX);
        match column.to_ascii_lowercase().as_str() {
            "id" | "k" => Ok(Draw::Integer { min: 1, max, distribution }),
            column if columns.iter().any(|name| name == column) => Err(Undrawn::Contents),
            _ => Err(Undrawn::NoColumn(columns)),
        }
    }

    fn size_bytes(&self) -> u64 {
        let row = ROW_BYTES + if self.create_secondary { ENTRY_BYTES } else { 0 };
        self.rows() * row
    }

    fn rows(&self) -> u64 {
        u64::from(self.tables) * self.rows_loaded()
    }
}

/// Number of the table called `name`, if it is called as sysbench's are.
#[must_use]
pub fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(PREFIX)?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Name of the index on `k`.
fn index_name(number: u32) -> String {
    format!("k_{number}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Kinship, State};

    fn plan() -> Data {
        Data { seed: 42, ..data("oltp_read_only", &Options::default()) }
    }

    #[test]
    fn a_table_is_known_by_everything_that_its_contents_depend_on() {
        let comment = |data: &Data, state| data.table(1).comment(state);
        let kinship = |comment: &str, data: &Data| data.table(1).kinship(comment);
        let same = comment(&plan(), State::Complete);
        assert_eq!(kinship(&same, &plan()), Kinship::Same(State::Complete));
        assert_eq!(kinship(&comment(&plan(), State::Loading), &plan()), Kinship::Same(State::Loading));
        for other in [
            Data { seed: 43, ..plan() },
            Data { rows: 9_999, ..plan() },
            Data { engine: Some("MyISAM".to_owned()), ..plan() },
            Data { create_secondary: false, ..plan() },
            Data { auto_inc: false, ..plan() },
            Data { secondary: true, ..plan() },
            Data { k: Distribution::Pareto { h: 0.2 }, ..plan() },
        ] {
            assert_eq!(kinship(&same, &other), Kinship::Other, "{other:?}");
        }
        assert_eq!(kinship("", &plan()), Kinship::Foreign);
        assert_eq!(kinship("pronyx", &plan()), Kinship::Foreign);
        assert_eq!(kinship("VIEW", &plan()), Kinship::Foreign);
        assert_eq!(kinship("prony 9 complete of a later version", &plan()), Kinship::Other);
        assert!(same.len() < 1024, "what a table's comment can be in every server");
        let pinned = "prony 1 complete sysbench rows=10000 seed=42 k=uniform engine=innodb auto_inc=true \
                      secondary=false create_secondary=true";
        assert_eq!(same, pinned, "tables that an earlier version made are known again");
    }

    #[test]
    fn only_names_that_a_data_set_can_have_are_its_own() {
        assert_eq!(number("sbtest12"), Some(12));
        for not_ours in ["sbtest", "sbtest0", "sbtest01", "sbtest1x", "xsbtest1", "sbtest99999999999"] {
            assert_eq!(number(not_ours), None, "{not_ours}");
        }
        let data = plan();
        for (name, is_ours) in [("sbtest12", true), ("SBTEST\u{e001}", true), ("sbtest_mine", false)] {
            assert_eq!(data.has_table(name), is_ours, "{name}");
        }
        assert_eq!(data.columns("sbtest2"), None, "there is one table");
        assert_eq!(data.draw("sbtest1", "pad", Distribution::Uniform), Err(Undrawn::Contents));
    }

    #[test]
    fn a_stored_data_set_is_what_it_was() {
        let stored = r#"{"tables":4,"rows":1000,"engine":"innodb","create_secondary":true,"secondary":false,
                         "auto_inc":true,"seed":7,"generator":"sysbench"}"#;
        let read: crate::layout::DataSet = serde_json::from_str(stored).unwrap();
        let expected = Data { tables: 4, rows: 1000, seed: 7, ..plan() };
        assert_eq!(read, expected.into());
    }
}
