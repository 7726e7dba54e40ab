//! Files that hold the rows of one table: CSV, Parquet, and the tab-separated chunks of a `mysqlsh` dump.
//! Each is read row by row, and becomes INSERT statements that any server takes.

use super::{Column, columnar, packed};
use crate::{
    family::spoken,
    layout::{Cell, Rows, quoted},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, Read},
    path::Path,
};

/// Text of one INSERT, about: below any server's `max_allowed_packet`, which was 1 MB once.
const STATEMENT_BYTES: usize = 500 << 10;
/// What NULL is in text.
const NULL: &[u8] = b"\\N";

/// How rows are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Comma-separated values, the columns' names in the first line.
    Csv,
    /// Parquet.
    Parquet,
    /// Tabs between values, as LOAD DATA reads them.
    Tab,
}

/// How a column's values are encoded in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoded {
    /// Two hexadecimal digits for each byte.
    Hex,
    /// Base 64.
    Base64,
}

/// What a file of rows is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfRows {
    /// The table that they go into.
    pub table: String,
    /// How they are written.
    pub form: Form,
    /// The columns, in the order of the file.
    pub columns: Vec<String>,
    /// Those of them that are encoded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub encoded: BTreeMap<String, Encoded>,
}

/// Reads rows.
pub struct Reader {
    source: Source,
    columns: Vec<Place>,
    line: u64,
}

/// What is known of a column of the file.
struct Place {
    is_text: bool,
    is_bytes: bool,
    encoded: Option<Encoded>,
}

enum Source {
    Csv { reader: Box<csv::Reader<Box<dyn BufRead + Send>>>, record: csv::ByteRecord },
    Tab { input: Box<dyn BufRead + Send>, row: Vec<u8> },
    Parquet(Box<columnar::Reader>),
}

/// The form of a file, by its name; `None`: its rows are not known to be written in any.
#[must_use]
pub fn form(path: &Path) -> Option<Form> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "csv" => Some(Form::Csv),
        "parquet" => Some(Form::Parquet),
        "tsv" | "tab" => Some(Form::Tab),
        _ => None,
    }
}

/// The columns that a file names; `None`: it names none.
///
/// # Errors
/// It cannot be read.
pub fn header(path: &Path, form: Form) -> io::Result<Option<Vec<String>>> {
    match form {
        Form::Tab => Ok(None),
        Form::Csv => {
            let mut reader = csv::Reader::from_reader(packed::open(path)?);
            let names = reader.byte_headers().map_err(of_csv)?;
            Ok(Some(names.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect()))
        }
        Form::Parquet => columnar::names(path).map(Some),
    }
}

impl Reader {
    /// The rows of a file, which go into a table with these columns.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path, of: &OfRows, columns: &[Column]) -> io::Result<Self> {
        let source = match of.form {
            Form::Csv => {
                let reader = csv::Reader::from_reader(packed::open(path)?);
                Source::Csv { reader: Box::new(reader), record: csv::ByteRecord::new() }
            }
            Form::Tab => Source::Tab { input: packed::open(path)?, row: Vec::new() },
            Form::Parquet => Source::Parquet(Box::new(columnar::Reader::open(path)?)),
        };
        let place = |name: &String| {
            let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
            Place {
                is_text: column.is_some_and(|column| is_text(&column.kind)),
                is_bytes: column.is_some_and(|column| spoken().is_bytes(&column.kind)),
                encoded: of.encoded.get(name).copied(),
            }
        };
        Ok(Self { source, columns: of.columns.iter().map(place).collect(), line: 0 })
    }

    /// The line of the row that was read last, or its number where a file has no lines.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Adds the next row to `rows`; false: there is none.
    ///
    /// # Errors
    /// It cannot be read, or is no row of these columns.
    pub fn read(&mut self, rows: &mut Rows) -> io::Result<bool> {
        match &mut self.source {
            Source::Csv { reader, record } => {
                if !reader.read_byte_record(record).map_err(of_csv)? {
                    return Ok(false);
                }
                self.line = record.position().map_or(0, csv::Position::line);
                for (value, place) in record.iter().zip(&self.columns) {
                    match value {
                        NULL => rows.null(),
                        b"" if !place.is_text => rows.null(),
                        value => rows.text(|out| out.extend_from_slice(value)),
                    }
                }
            }
            Source::Tab { input, row } => {
                row.clear();
                loop {
                    let read = input.read_until(b'\n', row)?;
                    let is_whole = !row.ends_with(b"\n") || !ends_escaped(&row[..row.len() - 1]);
                    if is_whole || read == 0 {
                        break;
                    }
                }
                if row.is_empty() {
                    return Ok(false);
                }
                self.line += 1;
                let row = row.strip_suffix(b"\n").unwrap_or(row);
                tab_values(row, &self.columns, rows)?;
            }
            Source::Parquet(reader) => {
                let is_bytes = |place: usize| self.columns.get(place).is_some_and(|place| place.is_bytes);
                if !reader.read(rows, is_bytes)? {
                    return Ok(false);
                }
                self.line += 1;
            }
        }
        Ok(true)
    }
}

/// Whether a type holds text, so that an empty value is one.
pub(super) fn is_text(kind: &str) -> bool {
    ["CHAR", "TEXT", "BLOB", "BINARY", "CLOB"].iter().any(|part| kind.contains(part))
}

fn of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.map_or(0, |place| place.line());
            wrong(&format!("line {line}: {len} values, but the first line names {expected_len} columns"))
        }
        other => wrong(&format!("{other:?}")),
    }
}

pub(super) fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Whether what follows is escaped: an odd number of backslashes.
fn ends_escaped(text: &[u8]) -> bool {
    text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The values of a line as LOAD DATA reads it by default.
fn tab_values(row: &[u8], columns: &[Place], rows: &mut Rows) -> io::Result<()> {
    let mut count = 0;
    let mut rest = Some(row);
    while let Some(text) = rest {
        let mut end = text.iter().position(|byte| *byte == b'\t').unwrap_or(text.len());
        while end < text.len() && ends_escaped(&text[..end]) {
            let next = text[end + 1..].iter().position(|byte| *byte == b'\t');
            end = next.map_or(text.len(), |next| end + 1 + next);
        }
        let value = &text[..end];
        rest = text.get(end + 1..);
        let place = columns.get(count);
        count += 1;
        if value == NULL {
            rows.null();
            continue;
        }
        let plain = unescaped(value);
        let decoded = match place.and_then(|place| place.encoded) {
            None => plain,
            Some(Encoded::Base64) => {
                STANDARD.decode(&plain).map_err(|error| wrong(&format!("not base 64: {error}")))?
            }
            Some(Encoded::Hex) => from_hex(&plain).ok_or_else(|| wrong("not hexadecimal"))?,
        };
        rows.text(|out| out.extend_from_slice(&decoded));
    }
    if count != columns.len() {
        return Err(wrong(&format!("{count} values for {} columns", columns.len())));
    }
    Ok(())
}

fn unescaped(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(&byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'0') => 0,
                Some(b'b') => 8,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'Z') => 26,
                Some(&other) => other,
                None => b'\\',
            },
            byte => byte,
        });
    }
    out
}

fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let byte = |two: &[u8]| match two {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    text.chunks(2).map(byte).collect()
}

/// Writes INSERT statements of rows.
pub struct Inserts {
    head: Vec<u8>,
    is_binary: Vec<bool>,
    text: Vec<u8>,
    rows: u64,
}

impl Inserts {
    /// Into these columns of a table, which has more.
    #[must_use]
    pub fn new(of: &OfRows, columns: &[Column]) -> Self {
        let names: Vec<String> = of.columns.iter().map(|name| quoted(name)).collect();
        let is_binary = |name: &String| {
            let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
            column.is_some_and(|column| spoken().is_bytes(&column.kind))
        };
        Self {
            head: format!("INSERT INTO {} ({}) VALUES ", quoted(&of.table), names.join(",")).into_bytes(),
            is_binary: of.columns.iter().map(is_binary).collect(),
            text: Vec::new(),
            rows: 0,
        }
    }

    /// Adds a row; true: the statement is long enough to be taken.
    pub fn add<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) -> bool {
        if self.rows == 0 {
            self.text.extend_from_slice(&self.head);
        } else {
            self.text.push(b',');
        }
        self.rows += 1;
        for (place, cell) in cells.enumerate() {
            self.text.push(if place == 0 { b'(' } else { b',' });
            match cell {
                Cell::Null => self.text.extend_from_slice(b"NULL"),
                Cell::Integer(number) => self.text.extend_from_slice(number.to_string().as_bytes()),
                Cell::Text(bytes) if self.is_binary.get(place) == Some(&true) && !bytes.is_empty() => {
                    self.text.extend_from_slice(b"x'");
                    bytes.iter().for_each(|byte| self.text.extend(format!("{byte:02x}").into_bytes()));
                    self.text.push(b'\'');
                }
                Cell::Text(bytes) => write_quoted(bytes, &mut self.text),
            }
        }
        self.text.push(b')');
        self.text.len() >= STATEMENT_BYTES
    }

    /// The statement so far, and its rows; `None`: there are none.
    pub fn take(&mut self) -> Option<(Vec<u8>, u64)> {
        let rows = std::mem::take(&mut self.rows);
        (rows > 0).then(|| (std::mem::take(&mut self.text), rows))
    }
}

/// A text in quotes.
pub(super) fn write_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        if byte == b'\'' || byte == b'\\' {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

/// Reads a file to its end.
pub(super) fn bytes_of(path: &Path, mut told: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(bytes);
        }
        told(&buffer[..read]);
        bytes += read as u64;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn column(name: &str, kind: &str) -> Column {
        Column { name: name.to_owned(), kind: kind.to_owned(), ..Column::default() }
    }

    pub(in super::super) fn of(form: Form, columns: &[&str]) -> OfRows {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        OfRows { table: "t".to_owned(), form, columns, encoded: BTreeMap::new() }
    }

    pub(in super::super) fn inserted(path: &Path, of: &OfRows, columns: &[Column]) -> String {
        let mut reader = Reader::open(path, of, columns).unwrap();
        let (mut rows, mut inserts) = (Rows::default(), Inserts::new(of, columns));
        while reader.read(&mut rows).unwrap() {
            inserts.add(rows.cells());
            rows.clear();
        }
        String::from_utf8(inserts.take().unwrap().0).unwrap()
    }

    #[test]
    fn values_of_csv_are_null_where_no_value_can_be_empty() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.csv");
        std::fs::write(&path, "b, id\n\"it's \\ \n1\",7\n\\N,\n,8\n").unwrap();
        assert_eq!(header(&path, Form::Csv).unwrap().unwrap(), ["b", "id"]);
        let columns = [column("id", "INT"), column("b", "VARCHAR")];
        let text = inserted(&path, &of(Form::Csv, &["b", "id"]), &columns);
        assert_eq!(text, "INSERT INTO `t` (`b`,`id`) VALUES ('it''s \\\\ \n1','7'),(NULL,NULL),('','8')");
        std::fs::write(&path, "a,b\n1,2\n3\n").unwrap();
        let mut reader = Reader::open(&path, &of(Form::Csv, &["a", "b"]), &[]).unwrap();
        let mut rows = Rows::default();
        assert!(reader.read(&mut rows).unwrap());
        assert!(reader.read(&mut rows).unwrap_err().to_string().contains("line 3: 1 values"));
    }

    #[test]
    fn lines_with_tabs_are_read_as_load_data_does() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.tsv");
        std::fs::write(&path, b"1\ta\\tb\\\\\tAQI=\n2\tx\\\ny\t\\N\n").unwrap();
        let mut of = of(Form::Tab, &["id", "c", "d"]);
        of.encoded.insert("d".to_owned(), Encoded::Base64);
        let columns = [column("id", "INT"), column("c", "TEXT"), column("d", "BLOB")];
        let text = inserted(&path, &of, &columns);
        assert!(text.ends_with("('1','a\tb\\\\',x'0102'),('2','x\ny',NULL)"), "{text}");
    }
}
