//! What a data set consists of: tables, columns, keys, indexes, rows as a function of their number, and the
//! mark by which Prony recognises its own. Values only: [`crate::dataset`] creates them on a server, and a
//! [`crate::workload`] draws from them.
//!
//! A layout is a folder below this one: it describes itself as [`Table`]s, and nothing else in the program
//! knows the names of its tables and columns. To add one, write the folder and its arm in [`DataSet`].

mod builtin;
pub mod copies;
pub mod custom;
pub mod files;
pub mod neighbours;
mod routine;
pub mod scripted;
pub mod sysbench;
pub mod tpcc;
pub mod tpch;
mod values;

pub(crate) use builtin::nearest;
pub use builtin::{Builtin, Effect, Error, Wanted};
pub use routine::Routine;
pub use sysbench::{GENERATORS, Generator};
pub use values::{Cell, Rows};

use crate::{family, language::Language};
use load::spec::{Distribution, Draw, RowsWith};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::RangeInclusive};

/// First word of the comment of every table that Prony made.
const MARK: &str = "prony";
/// Version of the comment's form and of the contents behind it.
const FORMAT: u32 = 1;

/// A data set of one of the layouts. It is stored in plans; sysbench's looks as it always has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DataSet {
    /// As sysbench makes them.
    Sysbench(sysbench::Data),
    /// As a study writes them.
    Custom(custom::Data),
    /// As a Lua script makes them.
    Scripted(Box<scripted::Data>),
    /// Like those of TPC-C.
    Tpcc(tpcc::Data),
    /// Like those of TPC-H.
    Tpch(tpch::Data),
    /// As files of SQL make them.
    Files(files::Data),
    /// As they are in a copy of a server's files.
    Copy(copies::Data),
    /// The neighbours' own table alone.
    Neighbours(neighbours::Data),
    /// Any of the others with that table beside it.
    Beside(neighbours::Beside),
}

/// A storage engine in words.
fn engine_words(engine: Option<&str>, language: Language) -> &str {
    engine.unwrap_or(language.either("the server's default engine", "服务器的默认引擎"))
}

/// What every layout says of its data.
pub trait Layout: fmt::Debug {
    /// The tables, complete, in a fixed order.
    fn tables(&self) -> Vec<Table>;

    /// How a reader of the plan knows it: `2 tables of 10,000 rows as sysbench makes them, MyISAM`.
    fn about(&self, language: Language) -> String;

    /// Storage engine of all tables; `None`: the server's default.
    fn engine(&self) -> Option<&str> {
        None
    }

    /// Whether a table is called so, upper and lower case being the same; `NUMBER` stands for any number.
    fn has_table(&self, name: &str) -> bool;

    /// Names of the tables.
    fn table_names(&self) -> Vec<String>;

    /// Columns of the table that is called so; `None`: there is none.
    fn columns(&self, table: &str) -> Option<Vec<String>>;

    /// Values that a statement can name without table and column, and what draws them: `{id}`.
    /// Most layouts have none.
    fn named(&self, _distribution: Distribution) -> Vec<(&'static str, Draw)> {
        Vec::new()
    }

    /// Tables that are told apart by a number alone, from 1 to this.
    /// Most layouts tell tables apart by their names.
    fn numbered(&self) -> u32 {
        1
    }

    /// What draws a value that is in the column, or why none can be drawn.
    ///
    /// # Errors
    /// What is wrong with the name.
    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn>;

    /// The rows of a table, to be drawn as values of `column`, by what `condition` holds in them.
    /// Most layouts do not know which rows hold what.
    ///
    /// # Errors
    /// The column that is wrong, and why.
    fn rows_with(&self, table: &str, column: &str, condition: &str) -> Result<RowsWith, (String, Undrawn)> {
        self.draw(table, column, Distribution::Uniform).map_err(|why| (column.to_owned(), why))?;
        Err((condition.to_owned(), Undrawn::Rows))
    }

    /// Rows of all tables.
    fn rows(&self) -> u64;

    /// About how much disk its rows and their entries in indexes take, bytes.
    fn size_bytes(&self) -> u64;

    /// Whether all other tables of the database belong to it, too: those that a script has made.
    fn has_unnamed(&self) -> bool {
        false
    }

    /// Stored procedures that are made when all rows are in.
    fn routines(&self) -> Vec<Routine> {
        Vec::new()
    }

    /// What the data keep, whatever the workloads that come with them do.
    fn conditions(&self) -> Vec<Condition> {
        Vec::new()
    }
}

/// Something that is always true of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// A SELECT of how often it is broken: one number.
    pub violations: String,
}

/// Placeholder in a table's name for the number that a statement inserts.
pub const NUMBER: char = '\u{e001}';

/// Why no value of a column can be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undrawn {
    /// There is no such table.
    NoTable,
    /// The table has no such column; these it has.
    NoColumn(Vec<String>),
    /// Which values it holds is known only from its rows.
    Contents,
    /// They are in a copy of a server's files, which nobody has read yet.
    Copied,
    /// Which rows hold a value is not known.
    Rows,
}

impl DataSet {
    /// Whether there is nothing to be made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Sysbench(data) => data.tables == 0,
            Self::Custom(data) => data.tables.is_empty(),
            Self::Scripted(_) => false,
            Self::Tpcc(data) => data.warehouses == 0,
            Self::Tpch(data) => data.scale_factor == 0.0,
            Self::Files(data) => data.files.is_empty(),
            Self::Copy(data) => data.copy.as_os_str().is_empty(),
            Self::Neighbours(data) => data.neighbour_rows == 0,
            Self::Beside(_) => false,
        }
    }

    /// The script whose `prepare` command makes its tables, with the seed, where one does.
    #[must_use]
    pub fn script(&self) -> Option<(&load::spec::Script, u64)> {
        match self {
            Self::Sysbench(_)
            | Self::Custom(_)
            | Self::Tpcc(_)
            | Self::Tpch(_)
            | Self::Files(_)
            | Self::Copy(_)
            | Self::Neighbours(_) => None,
            Self::Scripted(data) => Some((&data.script, data.seed)),
            Self::Beside(data) => data.others.script(),
        }
    }

    /// The files of SQL that make its tables, where they do.
    #[must_use]
    pub fn files(&self) -> Option<&files::Data> {
        match self {
            Self::Files(data) => Some(data),
            Self::Beside(data) => data.others.files(),
            Self::Sysbench(_)
            | Self::Custom(_)
            | Self::Tpcc(_)
            | Self::Tpch(_)
            | Self::Scripted(_)
            | Self::Copy(_)
            | Self::Neighbours(_) => None,
        }
    }

    /// The copy of a server's files that its tables are in, where they are and something uses them.
    #[must_use]
    pub fn copy(&self) -> Option<&copies::Data> {
        match self {
            Self::Copy(data) => Some(data).filter(|_| !self.is_empty()),
            Self::Beside(data) => data.others.copy(),
            Self::Sysbench(_)
            | Self::Custom(_)
            | Self::Tpcc(_)
            | Self::Tpch(_)
            | Self::Scripted(_)
            | Self::Files(_)
            | Self::Neighbours(_) => None,
        }
    }

    /// The same data set without tables: no statement uses them.
    #[must_use]
    pub fn without_tables(mut self) -> Self {
        match &mut self {
            Self::Sysbench(data) => data.tables = 0,
            Self::Custom(data) => data.tables.clear(),
            Self::Scripted(_) => {}
            Self::Tpcc(data) => data.warehouses = 0,
            Self::Tpch(data) => data.scale_factor = 0.0,
            Self::Files(data) => data.files.clear(),
            Self::Copy(data) => data.copy.clear(),
            Self::Neighbours(data) => data.neighbour_rows = 0,
            Self::Beside(data) => return data.others.clone().without_tables(),
        }
        self
    }

    /// The same data set with the neighbours' table beside it.
    #[must_use]
    pub fn with_neighbours(self) -> Self {
        match self {
            Self::Neighbours(_) | Self::Beside(_) => self,
            others => Self::Beside(neighbours::Beside {
                others: Box::new(others),
                neighbours: neighbours::Data::default(),
            }),
        }
    }

    /// What the streams that are no neighbours work on.
    #[must_use]
    pub fn others(&self) -> &Self {
        if let Self::Beside(data) = self { data.others.others() } else { self }
    }

    /// The workload options of which `prony prepare` makes it; none: no option does.
    #[must_use]
    pub fn options(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Sysbench(data) => {
                vec![("tables", data.tables.to_string()), ("table_size", data.rows.to_string())]
            }
            Self::Tpcc(data) => {
                let procedures = data.procedures.then(|| ("procedures", "true".to_owned()));
                [("warehouses", data.warehouses.to_string())].into_iter().chain(procedures).collect()
            }
            Self::Tpch(data) => vec![("scale_factor", data.scale_factor.to_string())],
            Self::Beside(data) => data.others.options(),
            Self::Custom(_) | Self::Scripted(_) | Self::Files(_) | Self::Copy(_) | Self::Neighbours(_) => {
                Vec::new()
            }
        }
    }

    /// The same data set as a generator makes it, if its layout has generators.
    #[must_use]
    pub fn made_by(mut self, generator: Generator) -> Self {
        if let Self::Sysbench(data) = &mut self {
            data.generator = generator;
        }
        self
    }

    /// The same data set with the contents of another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        match &mut self {
            Self::Sysbench(data) => data.seed = seed,
            Self::Custom(data) => data.seed = seed,
            Self::Scripted(data) => data.seed = seed,
            Self::Tpcc(data) => data.seed = seed,
            // its contents are those that dbgen makes, whatever the seed
            Self::Tpch(_) => {}
            Self::Files(data) => data.seed = seed,
            // its rows are there
            Self::Copy(_) => {}
            Self::Neighbours(data) => data.seed = seed,
            Self::Beside(data) => {
                data.neighbours.seed = seed;
                *data.others = data.others.clone().with_seed(seed);
            }
        }
        self
    }

    fn layout(&self) -> &dyn Layout {
        match self {
            Self::Sysbench(data) => data,
            Self::Custom(data) => data,
            Self::Scripted(data) => &**data,
            Self::Tpcc(data) => data,
            Self::Tpch(data) => data,
            Self::Files(data) => data,
            Self::Copy(data) => data,
            Self::Neighbours(data) => data,
            Self::Beside(data) => data,
        }
    }
}

impl Layout for DataSet {
    fn tables(&self) -> Vec<Table> {
        self.layout().tables()
    }

    fn about(&self, language: Language) -> String {
        self.layout().about(language)
    }

    fn engine(&self) -> Option<&str> {
        self.layout().engine()
    }

    fn has_table(&self, name: &str) -> bool {
        self.layout().has_table(name)
    }

    fn table_names(&self) -> Vec<String> {
        self.layout().table_names()
    }

    fn columns(&self, table: &str) -> Option<Vec<String>> {
        self.layout().columns(table)
    }

    fn named(&self, distribution: Distribution) -> Vec<(&'static str, Draw)> {
        self.layout().named(distribution)
    }

    fn numbered(&self) -> u32 {
        self.layout().numbered()
    }

    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        self.layout().draw(table, column, distribution)
    }

    fn rows_with(&self, table: &str, column: &str, condition: &str) -> Result<RowsWith, (String, Undrawn)> {
        self.layout().rows_with(table, column, condition)
    }

    fn rows(&self) -> u64 {
        self.layout().rows()
    }

    fn size_bytes(&self) -> u64 {
        self.layout().size_bytes()
    }

    fn conditions(&self) -> Vec<Condition> {
        self.layout().conditions()
    }

    fn routines(&self) -> Vec<Routine> {
        self.layout().routines()
    }

    fn has_unnamed(&self) -> bool {
        self.layout().has_unnamed()
    }
}

impl From<sysbench::Data> for DataSet {
    fn from(data: sysbench::Data) -> Self {
        Self::Sysbench(data)
    }
}

impl From<tpcc::Data> for DataSet {
    fn from(data: tpcc::Data) -> Self {
        Self::Tpcc(data)
    }
}

impl From<tpch::Data> for DataSet {
    fn from(data: tpch::Data) -> Self {
        Self::Tpch(data)
    }
}

impl From<custom::Data> for DataSet {
    fn from(data: custom::Data) -> Self {
        Self::Custom(data)
    }
}

/// One table, as a server is told to make it and fill it.
#[derive(Debug)]
pub struct Table {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Rows that it is loaded with. They are numbered from 1 to this.
    pub rows: u64,
    /// The columns that rows are inserted into, in the order of [`Contents::write`].
    pub columns: Vec<Column>,
    /// The text in the parentheses of CREATE TABLE: columns, and the keys with which rows are loaded.
    pub definition: String,
    /// Its storage engine; `None`: the server's default.
    pub engine: Option<String>,
    /// The number of a row as SQL of its columns: `id`. A key on it makes what asks for a range of rows fast.
    pub number: String,
    /// What is made when all rows are in.
    pub indexes: Vec<Index>,
    /// Whether the server counts anew what its plans depend on when all rows are in. Otherwise it does so
    /// when it likes, and plans may change while a load runs.
    pub has_statistics: bool,
    /// What is read to have the whole table in memory.
    pub scans: Vec<Scan>,
    /// Everything that form and contents depend on. A layout whose names any table could have includes
    /// `table=NAME`, so that a copy (`CREATE TABLE ... LIKE`) is not taken for the table.
    pub identity: String,
    /// Character set in which the contents are compared.
    pub charset: &'static str,
    /// What a row and its entries in indexes take on disk, bytes, about.
    pub row_bytes: u64,
    /// The rows.
    pub contents: Box<dyn Contents>,
}

/// A column that is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// How its values are sent.
    pub sent: Sent,
}

/// How values are sent to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// 32 bits.
    Int,
    /// 64 bits.
    BigInt,
    /// Text, also of dates and decimal numbers.
    Text,
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
}

/// One way through a table, in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The index that is read; `None`: the primary key, and so the rows.
    pub index: Option<String>,
    /// An expression whose values lie between these numbers, each part of which is read by itself; `None`:
    /// all at once.
    pub by: Option<(String, i64, i64)>,
    /// A condition that needs the row itself, or nothing.
    pub condition: String,
}

/// The rows of a table: row `number` is a pure function of it, whoever asks and in what order.
pub trait Contents: Send + Sync + fmt::Debug {
    /// Adds the values of a row, which is 1 or more, in the order of the columns. Where several rows have one
    /// number (the lines of an order), it adds all of them.
    fn write(&self, number: u64, rows: &mut Rows);

    /// The highest number in a table of so many rows.
    /// In most tables each row has a number of its own.
    fn last(&self, rows: u64) -> u64 {
        rows
    }

    /// How many rows have these numbers.
    fn count(&self, numbers: &RangeInclusive<u64>) -> u64 {
        (numbers.end() + 1).saturating_sub(*numbers.start())
    }
}

/// How far a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Rows are being loaded, or were when it broke off.
    Loading,
    /// All rows and indexes are there.
    Complete,
}

/// What a table of a schema is to the table of a data set that has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinship {
    /// Prony did not make it.
    Foreign,
    /// Prony made it, for another data set.
    Other,
    /// It is the table of this data set.
    Same(State),
}

impl Table {
    /// The highest number of its rows.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.contents.last(self.rows)
    }

    /// The comment by which it is known again: `prony 1 complete sysbench rows=10000 seed=42 ...`.
    #[must_use]
    pub fn comment(&self, state: State) -> String {
        let state = match state {
            State::Loading => "loading",
            State::Complete => "complete",
        };
        format!("{MARK} {FORMAT} {state} {}", self.identity)
    }

    /// What the table of its name with this comment is to it.
    #[must_use]
    pub fn kinship(&self, comment: &str) -> Kinship {
        if !is_own(&self.name, comment) {
            return Kinship::Foreign;
        }
        let states = [State::Complete, State::Loading];
        let same = states.into_iter().find(|state| comment == self.comment(*state));
        same.map_or(Kinship::Other, Kinship::Same)
    }

    /// Makes it, empty, marked as being loaded.
    #[must_use]
    pub fn create(&self) -> String {
        let options = family::spoken().table_options(self.engine.as_deref(), &self.comment(State::Loading));
        format!("CREATE TABLE {}({}){options}", quoted(&self.name), self.definition)
    }

    /// Marks it as complete.
    #[must_use]
    pub fn mark_complete(&self) -> String {
        family::spoken().set_comment(&quoted(&self.name), &self.comment(State::Complete))
    }

    /// The columns as SQL, with commas between them.
    #[must_use]
    pub fn column_list(&self) -> String {
        self.columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
    }
}

/// A name as SQL: it may be a word that SQL has a use for.
#[must_use]
pub fn quoted(name: &str) -> String {
    family::spoken().quoted(name)
}

impl Index {
    /// Makes it.
    #[must_use]
    pub fn create(&self, table: &str) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| quoted(column)).collect();
        format!("CREATE INDEX {} ON {}({})", quoted(&self.name), quoted(table), columns.join(", "))
    }
}

/// Whether Prony created the table with this name and comment. The mark is the table's comment: it comes and
/// goes with the table, so one that somebody dropped and created again is never taken for Prony's, nor is a
/// copy.
#[must_use]
pub fn is_own(name: &str, comment: &str) -> bool {
    let says_its_name = || {
        let named = comment.split(' ').find_map(|word| word.strip_prefix("table="));
        named.is_some_and(|named| named.eq_ignore_ascii_case(name))
    };
    has_mark(comment) && (is_reserved(name) || says_its_name())
}

/// Whether a comment begins with Prony's mark.
#[must_use]
pub fn has_mark(comment: &str) -> bool {
    comment.split(' ').next() == Some(MARK)
}

/// Whether a layout has tables of this name by itself, whoever made the one in question.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    sysbench::number(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_table_with_the_mark_and_its_own_name_is_prony_s() {
        assert!(is_own("customer", "prony 1 complete custom table=customer of=ab"));
        assert!(
            is_own("Customer", "prony 1 loading custom table=customer of=ab"),
            "servers that ignore case"
        );
        for (name, comment) in [
            ("copy", "prony 1 complete custom table=customer of=ab"),
            ("customer", ""),
            ("customer", "my customers"),
            ("customer", "pronyx 1 complete custom table=customer of=ab"),
            ("prony_database", "prony 1 database: made by Prony"),
        ] {
            assert!(!is_own(name, comment), "{name}: {comment}");
        }
    }

    #[test]
    fn what_is_left_of_rows_keeps_its_values() {
        let mut rows = Rows::default();
        for number in 0..4_u8 {
            rows.text(|out| out.extend_from_slice(&[b'a' + number; 3]));
            rows.null();
            rows.integer(number.into());
        }
        rows.forget(6);
        let joined = |first: usize| {
            let mut text = Vec::new();
            rows.write_joined_row(first, 3, &mut text);
            String::from_utf8(text).unwrap()
        };
        assert_eq!((rows.len(), joined(0), joined(3)), (6, "ccc,2".to_owned(), "ddd,3".to_owned()));
        rows.forget(6);
        assert!(rows.is_empty());
        rows.text(|out| out.push(b'z'));
        assert_eq!(rows.cells().next(), Some(Cell::Text(b"z")));
    }
}
