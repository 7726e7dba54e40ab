//! Tables that files make: a schema, a dump, rows as CSV or Parquet. What they are is read from the files, so
//! that statements can be checked and values drawn before any server is asked; what a server makes of them is
//! its own to say.
//!
//! That they are there, and from which files, is told by one small table of ours beside them.

mod columnar;
mod disguise;
mod dump;
mod packed;
mod parse;
mod rows;
mod statements;

pub use disguise::{Disguise, Disguises, Passed, Progress, Rules};
pub use dump::dump;
pub use parse::{Role, names_database, role};
pub use rows::{Encoded, Form, Inserts, OfRows, Reader, form, header};
pub use statements::{Statement, Statements};

use super::{Column as Loaded, Contents, Layout, Rows, Sent, Table as Whole, Undrawn};
use crate::{
    family::spoken,
    language::{Language, say},
    quantity::show_count,
};
use load::spec::{Distribution, Draw};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    io::{self, BufRead},
    path::{Path, PathBuf},
};

/// The table that tells of the others.
const TABLE: &str = "prony_files";
/// What a row takes on disk, as a multiple of its text.
const ON_DISK: f64 = 1.5;

/// A data set of files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The files, in the order in which they are executed.
    pub files: Vec<File>,
    /// The tables that they make.
    pub made: Vec<Table>,
    /// Settled with the plan; the contents do not depend on it.
    pub seed: u64,
    /// Columns whose values are replaced on the way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disguised: Rules,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// SHA-256 of its statements; of rows in another form, of the file.
    pub digest: String,
    /// Bytes of its statements, or of the file.
    pub bytes: u64,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Use::is_script")]
    pub use_as: Use,
    /// Rows in it, where it holds nothing else.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rows: u64,
}

/// What a file is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// Statements, each of which may need those before it.
    #[default]
    Script,
    /// The same of a dump's whole database: what makes and enters it is left to Prony.
    Frame,
    /// Statements that insert rows: a part of a dump, which needs the tables alone.
    Part,
    /// Statements for when all rows are there: views, triggers.
    Last,
    /// Rows in another form.
    Rows(OfRows),
}

impl Use {
    fn is_script(&self) -> bool {
        *self == Self::Script
    }

    /// Whether it may be loaded beside others of its kind.
    #[must_use]
    pub fn is_beside(&self) -> bool {
        matches!(self, Self::Part | Self::Rows(_))
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A table that they make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Rows that are inserted.
    pub rows: u64,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The file that makes it, by index, and the line there.
    #[serde(default)]
    pub place: (usize, u64),
    /// Bytes of the rows, as they stand in the files.
    #[serde(default)]
    pub bytes: u64,
    /// Conditions (CHECK) that it has in the file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checks: u64,
    /// Whether it has foreign keys.
    #[serde(default, skip_serializing_if = "is_false")]
    pub refers: bool,
    /// The first statement that inserts rows into it in a form that is not read here, by file and line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<(usize, u64)>,
    /// Whether its rows must be inserted in the order of the file: the server numbers them, they replace each
    /// other, or they refer to each other.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_ordered: bool,
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether it holds whole numbers.
    pub is_integer: bool,
    /// The lowest and the highest number that is inserted.
    pub range: Option<(i64, i64)>,
    /// The first word of its type, in capital letters.
    #[serde(default)]
    pub kind: String,
    /// The line of the file that it stands in.
    #[serde(default)]
    pub line: u64,
    /// Whether the server numbers rows by it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub counts: bool,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its tables would go elsewhere.
    #[error(
        "{}, line {line}: `{text}` names a database, but Prony makes one for each study; remove the \
         line, or dump with `mysqldump DATABASE`, without --databases",
        path.display()
    )]
    Database {
        /// The file.
        path: PathBuf,
        /// Its line.
        line: u64,
        /// The statement.
        text: String,
    },
    /// There is no table in them.
    #[error("no CREATE TABLE in {}", path.display())]
    NoTable {
        /// The first of the files.
        path: PathBuf,
    },
    /// A directory is no dump that can be loaded.
    #[error("{}: {what}", path.display())]
    Dump {
        /// The directory, or a file in it.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// Rows are for a table that nothing makes.
    #[error("{}: no file creates a table `{table}`; known: {known}", path.display())]
    Table {
        /// The file with the rows.
        path: PathBuf,
        /// The table.
        table: String,
        /// Those that there are.
        known: String,
    },
    /// Rows are for a column that the table does not have.
    #[error("{}: the table `{table}` has no column `{column}`; it has {known}", path.display())]
    Column {
        /// The file with the rows.
        path: PathBuf,
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Those that there are.
        known: String,
    },
    /// Rows are inserted in a form in which their values cannot be replaced.
    #[error(
        "{}, line {line}: values of `{table}` are to be anonymised, but this statement has no VALUES that \
         Prony can read",
        path.display()
    )]
    Undisguised {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// A table with rules.
        table: String,
    },
    /// A row cannot be read.
    #[error("{}, line {line}: {source}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line after which it stands.
        line: u64,
        /// Why.
        source: io::Error,
    },
}

/// The statements of a file, which may be compressed by gzip or zstd.
///
/// # Errors
/// It cannot be read.
pub fn open(path: &Path) -> io::Result<Statements<Box<dyn BufRead + Send>>> {
    packed::open(path).map(Statements::new)
}

impl Data {
    /// What these files make, in this order.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn read(files: Vec<(PathBuf, Use)>) -> Result<Self, Error> {
        let mut data = Self::default();
        let first = files.first().map(|(path, _)| path.clone());
        for (path, use_as) in files {
            let file = match use_as {
                Use::Rows(of) => data.add_rows(path, of)?,
                use_as => data.add(path, use_as)?,
            };
            data.files.push(file);
        }
        match (data.made.is_empty(), first) {
            (true, Some(path)) => Err(Error::NoTable { path }),
            _ => Ok(data),
        }
    }

    /// The same with values replaced by these rules.
    ///
    /// # Errors
    /// There is no such table or column, or rows stand in a form in which they cannot be replaced.
    pub fn disguised_by(mut self, rules: Rules) -> Result<Self, Error> {
        let path = self.files.first().map(|file| file.path.clone()).unwrap_or_default();
        let known = self.table_names().join(", ");
        for (name, columns) in rules {
            let Some(table) = self.made.iter_mut().find(|table| table.name.eq_ignore_ascii_case(&name))
            else {
                return Err(Error::Table { path, table: name, known });
            };
            let own: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
            let mut rules = BTreeMap::new();
            for (name, rule) in columns {
                let found = table.columns.iter_mut().find(|column| column.name.eq_ignore_ascii_case(&name));
                let Some(column) = found else {
                    let (table, known) = (table.name.clone(), own.join(", "));
                    return Err(Error::Column { path, table, column: name, known });
                };
                if rule != Disguise::Shuffle {
                    column.range = None;
                }
                rules.insert(column.name.clone(), rule);
            }
            if let Some((file, line)) =
                table.unread.and_then(|(file, line)| self.files.get(file).zip(Some(line)))
            {
                let (path, table) = (file.path.clone(), table.name.clone());
                return Err(Error::Undisguised { path, line, table });
            }
            self.disguised.insert(table.name.clone(), rules);
        }
        Ok(self)
    }

    /// What files of SQL make.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn of_sql(paths: &[PathBuf]) -> Result<Self, Error> {
        Self::read(paths.iter().map(|path| (path.clone(), Use::Script)).collect())
    }

    fn add(&mut self, path: PathBuf, use_as: Use) -> Result<File, Error> {
        let failed = |source| Error::Read { path: path.clone(), source };
        let mut statements = open(&path).map_err(failed)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        while let Some(Statement { line, text }) = statements.read().map_err(failed)? {
            hash.update(&text);
            hash.update(b";");
            bytes += text.len() as u64;
            if parse::names_database(&text) && use_as != Use::Frame {
                let text = excerpt(&text);
                return Err(Error::Database { path: path.clone(), line, text });
            }
            if let Some(created) = parse::created(&text) {
                self.create(&created, &text, line);
            } else if let Some((name, columns, rows)) = parse::inserted(&text) {
                self.fill(&name, &columns, rows, parse::is_plain_insert(&text));
            } else if let Some(name) = parse::fills(&text) {
                let at = (self.files.len(), line);
                let table = self.made.iter_mut().find(|table| table.name.eq_ignore_ascii_case(&name));
                table.into_iter().for_each(|table| table.unread = table.unread.or(Some(at)));
            }
        }
        Ok(File { path: path.clone(), digest: hex(hash), bytes, use_as, rows: 0 })
    }

    /// A table is made.
    fn create(&mut self, created: &parse::Created, text: &[u8], line: u64) {
        let column = |column: &parse::CreatedColumn| Column {
            name: column.name.clone(),
            is_integer: column.is_integer(),
            range: None,
            kind: column.kind.clone(),
            line: line + text[..column.at].iter().filter(|byte| **byte == b'\n').count() as u64,
            counts: column.counts,
        };
        self.made.retain(|table| table.name != created.name);
        self.made.push(Table {
            name: created.name.clone(),
            columns: created.columns.iter().map(column).collect(),
            place: (self.files.len(), line),
            checks: u64::from(created.checks),
            refers: created.refers,
            is_ordered: created.refers_to_itself,
            ..Table::default()
        });
    }

    /// Rows go into a table.
    fn fill(&mut self, name: &str, columns: &[String], rows: &[u8], is_plain: bool) {
        let Some(table) = self.made.iter_mut().find(|table| table.name == name) else { return };
        let places: Vec<Option<usize>> = match columns {
            [] => (0..table.columns.len()).map(Some).collect(),
            named => {
                let place = |name: &String| table.columns.iter().position(|column| column.name == *name);
                named.iter().map(place).collect()
            }
        };
        let own = &mut table.columns;
        let counting = own.iter().position(|column| column.counts);
        let mut numbered = 0;
        let count = parse::integers(rows, &mut |place, number| {
            let place = places.get(place).copied().flatten();
            numbered += u64::from(place.is_some() && place == counting && number != 0);
            if let Some(column) = place.map(|place| &mut own[place]).filter(|column| column.is_integer) {
                column.see(number);
            }
        });
        table.rows += count;
        table.bytes += rows.len() as u64;
        table.is_ordered |= !is_plain || counting.is_some() && numbered < count;
    }

    /// Rows of a file go into a table.
    fn add_rows(&mut self, path: PathBuf, mut of: OfRows) -> Result<File, Error> {
        let failed = |source| Error::Read { path: path.clone(), source };
        let known = || self.table_names().join(", ");
        let found = self.made.iter().position(|table| table.name.eq_ignore_ascii_case(&of.table));
        let Some(found) = found else {
            return Err(Error::Table { path, table: of.table, known: known() });
        };
        if let Some(named) = rows::header(&path, of.form).map_err(failed)? {
            of.columns = named;
        }
        let table = &mut self.made[found];
        of.table.clone_from(&table.name);
        let mut places = Vec::new();
        for name in &of.columns {
            match table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)) {
                Some(place) => places.push(place),
                None => {
                    let known: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
                    let (table, known) = (of.table, known.join(", "));
                    return Err(Error::Column { path, table, column: name.clone(), known });
                }
            }
        }
        let mut reader = Reader::open(&path, &of, &table.columns).map_err(failed)?;
        let (mut cells, mut count, mut numbered) = (Rows::default(), 0, 0);
        loop {
            let line = reader.line();
            let more = reader.read(&mut cells);
            if !more.map_err(|source| Error::Row { path: path.clone(), line, source })? {
                break;
            }
            count += 1;
            for (cell, place) in cells.cells().zip(&places) {
                let column = &mut table.columns[*place];
                numbered += u64::from(column.counts && cell != super::Cell::Null);
                if let Some(number) = whole(cell).filter(|_| column.is_integer) {
                    column.see(number);
                }
            }
            cells.clear();
        }
        let mut hash = Sha256::new();
        let bytes = rows::bytes_of(&path, |part| hash.update(part)).map_err(failed)?;
        table.rows += count;
        table.bytes += bytes;
        table.is_ordered |= table.columns.iter().any(|column| column.counts) && numbered < count;
        Ok(File { path, digest: hex(hash), bytes, use_as: Use::Rows(of), rows: count })
    }

    /// The table that a statement inserts rows into.
    #[must_use]
    pub fn filled(&self, text: &[u8]) -> Option<&Table> {
        let (name, ..) = parse::inserted(text)?;
        self.made.iter().find(|table| table.name == name)
    }

    fn table(&self, name: &str) -> Option<&Table> {
        self.made.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }
}

impl Column {
    /// A number is inserted into it.
    fn see(&mut self, number: i64) {
        let (min, max) = self.range.unwrap_or((number, number));
        self.range = Some((min.min(number), max.max(number)));
    }
}

/// A cell as a whole number, where it is one.
fn whole(cell: super::Cell<'_>) -> Option<i64> {
    match cell {
        super::Cell::Integer(number) => Some(number),
        super::Cell::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        super::Cell::Null => None,
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a setting lets the server take rows whose foreign keys lead nowhere.
#[must_use]
pub fn ignores_references(text: &[u8]) -> bool {
    let text: Vec<u8> = text.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
    String::from_utf8_lossy(&text).to_ascii_uppercase().contains("FOREIGN_KEY_CHECKS=0")
}

/// CREATE TABLE without the indexes that are made faster when the rows are in, and the statement that makes
/// them then; `None`: it has none.
#[must_use]
pub fn put_off_indexes(text: &[u8]) -> Option<(Vec<u8>, String)> {
    let created = parse::created(text).filter(|created| !created.indexes.is_empty())?;
    let engine = &text[created.body.end..];
    let is_default = |name: &[u8]| name.eq_ignore_ascii_case(spoken().crash_safe_engine().as_bytes());
    let mut words = engine.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let named = words.by_ref().skip_while(|word| !word.eq_ignore_ascii_case(b"ENGINE")).nth(1);
    if named.is_some_and(|name| !is_default(name)) {
        return None;
    }
    let whole = |range: &std::ops::Range<usize>| {
        // a comment that begins in one definition and ends in another cannot be taken apart
        let count = |sign: &[u8]| text[range.clone()].windows(2).filter(|two| *two == sign).count();
        count(b"/*") == count(b"*/")
    };
    let ranges: Vec<_> = created.indexes.iter().filter(|range| whole(range)).collect();
    let (mut kept, mut from) = (Vec::new(), 0);
    for range in &ranges {
        // with the comma before it: a column always comes first
        kept.extend_from_slice(&text[from..range.start - 1]);
        from = range.end;
    }
    kept.extend_from_slice(&text[from..]);
    let added: Vec<String> = ranges
        .iter()
        .map(|range| format!("ADD {}", String::from_utf8_lossy(text[(*range).clone()].trim_ascii())))
        .collect();
    let later = format!("ALTER TABLE {} {}", super::quoted(&created.name), added.join(", "));
    (!ranges.is_empty()).then_some((kept, later))
}

/// The begin of a statement in one line, for messages.
#[must_use]
pub fn excerpt(text: &[u8]) -> String {
    const LETTERS: usize = 100;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * LETTERS)]).into_owned();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let begin: String = text.chars().take(LETTERS).collect();
    if begin.len() < text.len() { format!("{begin}...") } else { begin }
}

/// The one row of our own table: 1.
#[derive(Debug)]
struct One;

impl Contents for One {
    fn write(&self, _: u64, rows: &mut Rows) {
        rows.integer(1);
    }
}

impl Layout for Data {
    fn tables(&self) -> Vec<Whole> {
        let mut hash = Sha256::new();
        self.files.iter().for_each(|file| hash.update(&file.digest));
        if !self.disguised.is_empty() {
            hash.update(serde_json::to_string(&self.disguised).expect("plain values are JSON"));
        }
        let digest: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        vec![Whole {
            name: TABLE.to_owned(),
            rows: 1,
            columns: vec![Loaded { name: "id".to_owned(), sent: Sent::Int }],
            definition: "id INT NOT NULL, PRIMARY KEY (id)".to_owned(),
            engine: None,
            number: "id".to_owned(),
            indexes: Vec::new(),
            has_statistics: false,
            scans: Vec::new(),
            identity: format!("files table={TABLE} of={digest}"),
            charset: "utf8",
            row_bytes: 32,
            contents: Box::new(One),
        }]
    }

    fn about(&self, language: Language) -> String {
        let name = |file: &File| file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files: Vec<String> = self.files.iter().map(name).collect();
        let table = |table: &Table| {
            let (name, rows) = (&table.name, show_count(table.rows));
            say!(language, "{name} ({rows} rows)", "{name}（{rows} 行）")
        };
        let tables: Vec<String> = self.made.iter().map(table).collect();
        let comma = language.either(", ", "、");
        let (files, tables) = (files.join(comma), tables.join(comma));
        say!(language, "what {files} makes: {tables}", "{files} 所建的数据：{tables}")
    }

    fn has_table(&self, name: &str) -> bool {
        self.table(name).is_some() || name.eq_ignore_ascii_case(TABLE)
    }

    fn table_names(&self) -> Vec<String> {
        self.made.iter().map(|table| table.name.clone()).collect()
    }

    fn columns(&self, table: &str) -> Option<Vec<String>> {
        self.table(table).map(|table| table.columns.iter().map(|column| column.name.clone()).collect())
    }

    /// Whole numbers between the lowest and the highest that is there; there may be gaps.
    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        let columns = self.columns(table).ok_or(Undrawn::NoTable)?;
        let found = self
            .table(table)
            .and_then(|table| table.columns.iter().find(|known| known.name.eq_ignore_ascii_case(column)));
        let Some(found) = found else { return Err(Undrawn::NoColumn(columns)) };
        let (min, max) = found.range.ok_or(Undrawn::Contents)?;
        Ok(Draw::Integer { min, max, distribution })
    }

    fn rows(&self) -> u64 {
        self.made.iter().map(|table| table.rows).sum()
    }

    fn size_bytes(&self) -> u64 {
        let bytes: u64 = self.files.iter().map(|file| file.bytes).sum();
        (bytes as f64 * ON_DISK) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const DUMP: &str = "-- MySQL dump\nCREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(20));\n\
                        INSERT INTO customer VALUES (3,'a'),(9,'b, (c)');\nINSERT INTO customer (name, id) \
                        VALUES ('x', 12);\nCREATE TABLE empty (a BIGINT);\n";

    #[test]
    fn tables_and_what_can_be_drawn_are_read_from_plain_and_compressed_files() {
        let home = tempfile::tempdir().unwrap();
        let (plain, packed) = (home.path().join("a.sql"), home.path().join("a.sql.gz"));
        std::fs::write(&plain, DUMP).unwrap();
        let file = std::fs::File::create(&packed).unwrap();
        let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        gz.write_all(DUMP.as_bytes()).unwrap();
        gz.finish().unwrap();
        let data = Data::of_sql(std::slice::from_ref(&plain)).unwrap();
        let frame =
            ruzstd::encoding::compress_to_vec(DUMP.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
        let zst = home.path().join("a.sql.zst");
        std::fs::write(&zst, frame).unwrap();
        for other in [packed, zst] {
            assert_eq!(Data::of_sql(&[other]).unwrap().tables()[0].identity, data.tables()[0].identity);
        }
        assert_eq!((data.rows(), data.table_names()), (3, vec!["customer".to_owned(), "empty".to_owned()]));
        let draw = |table: &str, column: &str| data.draw(table, column, Distribution::Uniform);
        let expected = Draw::Integer { min: 3, max: 12, distribution: Distribution::Uniform };
        assert_eq!(draw("Customer", "ID"), Ok(expected));
        assert_eq!(draw("customer", "name"), Err(Undrawn::Contents));
        assert_eq!(draw("empty", "a"), Err(Undrawn::Contents));
        assert_eq!(draw("costumer", "id"), Err(Undrawn::NoTable));
        assert!(matches!(draw("customer", "idd"), Err(Undrawn::NoColumn(_))));
    }

    #[test]
    fn indexes_are_put_off_and_the_rest_of_a_table_stays_as_it_is() {
        let text = "CREATE TABLE `t` (\n  `a` int NOT NULL,\n  b int,\n  PRIMARY KEY (`a`),\n  KEY `b` \
                    (`b`) USING BTREE,\n  KEY c (b, a)\n) DEFAULT CHARSET=utf8mb4";
        let (kept, later) = put_off_indexes(text.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8(kept).unwrap(),
            "CREATE TABLE `t` (\n  `a` int NOT NULL,\n  b int,\n  PRIMARY KEY (`a`)) DEFAULT \
             CHARSET=utf8mb4"
        );
        assert_eq!(later, "ALTER TABLE `t` ADD KEY `b` (`b`) USING BTREE, ADD KEY c (b, a)");
        let engine = |name: &str| text.replace("DEFAULT", &format!("ENGINE={name} DEFAULT"));
        assert_eq!(put_off_indexes(engine("MyISAM").as_bytes()), None);
        assert!(put_off_indexes(engine(spoken().crash_safe_engine()).as_bytes()).is_some());
        assert_eq!(put_off_indexes(b"CREATE TABLE t (a INT, UNIQUE KEY (a))"), None);
    }

    #[test]
    fn rows_keep_their_order_where_it_matters() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.sql");
        let ordered = |text: &str| {
            let table = "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, b INT)";
            std::fs::write(&path, format!("{table};\n{text};\n")).unwrap();
            Data::of_sql(std::slice::from_ref(&path)).unwrap().made[0].is_ordered
        };
        assert!(!ordered("INSERT INTO a VALUES (1,NULL),(2,5)"));
        assert!(ordered("INSERT INTO a VALUES (1,NULL),(NULL,5)"));
        assert!(ordered("INSERT INTO a (b) VALUES (1)") && ordered("REPLACE INTO a VALUES (1,1)"));
    }

    #[test]
    fn rows_of_other_files_are_checked_against_their_tables() {
        let home = tempfile::tempdir().unwrap();
        let (sql, csv) = (home.path().join("a.sql"), home.path().join("customer.csv"));
        std::fs::write(&sql, "CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(20));").unwrap();
        std::fs::write(&csv, "NAME,id\nx,5\ny,11\n").unwrap();
        let read = |table: &str| {
            let of = OfRows {
                table: table.to_owned(),
                form: Form::Csv,
                columns: Vec::new(),
                encoded: BTreeMap::new(),
            };
            Data::read(vec![(sql.clone(), Use::Script), (csv.clone(), Use::Rows(of))])
        };
        let data = read("customer").unwrap();
        assert_eq!((data.made[0].rows, data.made[0].columns[0].range), (2, Some((5, 11))));
        assert!(read("orders").unwrap_err().to_string().contains("no file creates a table `orders`"));
        std::fs::write(&csv, "id,nmae\n5,x\n").unwrap();
        let told = read("customer").unwrap_err().to_string();
        assert!(told.contains("no column `nmae`") && told.contains("id, name"), "{told}");
        std::fs::write(&csv, "id,name\n5,x\n6\n").unwrap();
        assert!(read("customer").unwrap_err().to_string().contains("line 3"));
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_line() {
        let home = tempfile::tempdir().unwrap();
        let told = |text: &[u8]| {
            let path = home.path().join("b.sql");
            std::fs::write(&path, text).unwrap();
            Data::of_sql(&[path]).unwrap_err().to_string()
        };
        let other = told(b"CREATE TABLE a (b INT);\n\nUSE `shop`;\n");
        assert!(other.contains("b.sql, line 3: `USE `shop``"), "{other}");
        assert!(told(b"/*!40000 CREATE DATABASE shop */;").contains("line 1"), "also where it is hidden");
        assert!(told(b"SELECT 1;").contains("no CREATE TABLE"));
        assert!(told(&[0x28, 0xB5, 0x2F, 0xFD, 1]).contains("zstd"), "damaged");
        let missing = Data::of_sql(&[home.path().join("none.sql")]).unwrap_err().to_string();
        assert!(missing.contains("none.sql"), "{missing}");
    }
}
