//! Files that hold the rows of one table: CSV, Parquet, and the tab-separated chunks of a `mysqlsh` dump.
//! Each is read row by row, and becomes INSERT statements that any server takes.

use super::{Column, packed};
use crate::{
    family::spoken,
    layout::{Cell, Rows, quoted},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use parquet::{
    basic::{Compression, LogicalType, TimeUnit},
    file::{
        reader::{FileReader as _, SerializedFileReader},
        serialized_reader::ReadOptionsBuilder,
    },
    record::{Field, reader::RowIter},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, Read},
    path::Path,
};

/// Text of one INSERT, about: below any server's `max_allowed_packet`, which was 1 MB once.
const STATEMENT_BYTES: usize = 500 << 10;
/// A moment as a server reads it.
const TO_MICROSECONDS: &str = "%Y-%m-%d %H:%M:%S%.6f";
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

/// What the values of a Parquet column are where the library that reads them does not say.
#[derive(Clone, Copy)]
enum Meaning {
    /// It says.
    Told,
    /// Nanoseconds since 1970, which pandas writes.
    Moment,
    /// Nanoseconds since midnight.
    Clock,
    /// A UUID as 16 bytes.
    Uuid,
}

enum Source {
    Csv { reader: Box<csv::Reader<Box<dyn BufRead + Send>>>, record: csv::ByteRecord },
    Tab { input: Box<dyn BufRead + Send>, row: Vec<u8> },
    Parquet { rows: Box<RowIter<'static>>, meanings: Vec<Meaning> },
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
        Form::Parquet => {
            let reader = open_parquet(path)?;
            let schema = reader.metadata().file_metadata().schema();
            for field in schema.get_fields() {
                if field.is_group() {
                    let told = format!(
                        "the column `{}` is nested, which no table has: write it as JSON text",
                        field.name()
                    );
                    return Err(io::Error::new(io::ErrorKind::Unsupported, told));
                }
            }
            Ok(Some(schema.get_fields().iter().map(|field| field.name().to_owned()).collect()))
        }
    }
}

fn open_parquet(path: &Path) -> io::Result<SerializedFileReader<File>> {
    let options = ReadOptionsBuilder::new().build();
    let reader = SerializedFileReader::new_with_options(File::open(path)?, options).map_err(of_parquet)?;
    for group in reader.metadata().row_groups() {
        for column in group.columns() {
            let packed = column.compression();
            if !matches!(packed, Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_)) {
                let told = format!(
                    "it is compressed by {packed}, which Prony cannot read inside Parquet: write it with \
                     snappy, gzip or without compression"
                );
                return Err(io::Error::new(io::ErrorKind::Unsupported, told));
            }
        }
    }
    Ok(reader)
}

fn meanings(reader: &SerializedFileReader<File>) -> Vec<Meaning> {
    let fields = reader.metadata().file_metadata().schema().get_fields();
    let meaning = |logical: Option<&LogicalType>| match logical {
        Some(LogicalType::Timestamp(of)) if of.unit == TimeUnit::NANOS => Meaning::Moment,
        Some(LogicalType::Time(of)) if of.unit == TimeUnit::NANOS => Meaning::Clock,
        Some(LogicalType::Uuid) => Meaning::Uuid,
        _ => Meaning::Told,
    };
    fields.iter().map(|field| meaning(field.get_basic_info().logical_type_ref())).collect()
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
            Form::Parquet => {
                let reader = open_parquet(path)?;
                let meanings = meanings(&reader);
                Source::Parquet { rows: Box::new(RowIter::from_file_into(Box::new(reader))), meanings }
            }
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
            Source::Parquet { rows: iterator, meanings } => {
                let Some(row) = iterator.next() else { return Ok(false) };
                self.line += 1;
                let row = row.map_err(of_parquet)?;
                for (place, (_, field)) in row.get_column_iter().enumerate() {
                    let meaning = meanings.get(place).copied().unwrap_or(Meaning::Told);
                    let is_bytes = self.columns.get(place).is_some_and(|place| place.is_bytes);
                    match spelt(field, meaning, is_bytes)? {
                        Some(text) => rows.text(|out| out.extend_from_slice(text.as_bytes())),
                        None => write_field(field, rows)?,
                    }
                }
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

fn of_parquet(error: parquet::errors::ParquetError) -> io::Error {
    wrong(&error.to_string())
}

fn wrong(what: &str) -> io::Error {
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

/// A value of Parquet that says less than its column; `None`: it is written as it is.
fn spelt(field: &Field, meaning: Meaning, is_bytes: bool) -> io::Result<Option<String>> {
    Ok(match (field, meaning) {
        // no column of a server has more than microseconds
        (Field::Long(ns), Meaning::Moment) => Some(format_time(ns.div_euclid(1_000), TO_MICROSECONDS)?),
        (Field::Long(ns), Meaning::Clock) => Some(clock(ns / 1_000)),
        (Field::Bytes(bytes), Meaning::Uuid) if !is_bytes => {
            let digits: String = bytes.data().iter().map(|byte| format!("{byte:02x}")).collect();
            let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part));
            let parts: Option<Vec<&str>> = parts.into_iter().collect();
            Some(parts.ok_or_else(|| wrong("a UUID that has not 16 bytes"))?.join("-"))
        }
        _ => None,
    })
}

/// A value of Parquet as a server writes it.
fn write_field(field: &Field, rows: &mut Rows) -> io::Result<()> {
    let day = |days: i64| format_time(days.saturating_mul(86_400_000_000), "%Y-%m-%d");
    let time = |us: i64| format_time(us, TO_MICROSECONDS);
    let integer = match field {
        Field::Bool(value) => Some(i64::from(*value)),
        Field::Byte(value) => Some(i64::from(*value)),
        Field::Short(value) => Some(i64::from(*value)),
        Field::Int(value) => Some(i64::from(*value)),
        Field::Long(value) => Some(*value),
        Field::UByte(value) => Some(i64::from(*value)),
        Field::UShort(value) => Some(i64::from(*value)),
        Field::UInt(value) => Some(i64::from(*value)),
        _ => None,
    };
    if let Some(integer) = integer {
        rows.integer(integer);
        return Ok(());
    }
    let text = match field {
        Field::Null => {
            rows.null();
            return Ok(());
        }
        Field::Bytes(bytes) => {
            rows.text(|out| out.extend_from_slice(bytes.data()));
            return Ok(());
        }
        Field::ULong(value) => value.to_string(),
        Field::Float(value) => format!("{value:?}"),
        // 1e300 rather than all its digits
        Field::Double(value) => format!("{value:?}"),
        Field::Str(text) => text.clone(),
        Field::Decimal(value) => decimal(value.data(), value.scale()),
        Field::Date(days) => day(i64::from(*days))?,
        Field::TimeMillis(ms) => clock(i64::from(*ms) * 1000),
        Field::TimeMicros(us) => clock(*us),
        Field::TimestampMillis(ms) => time(ms.saturating_mul(1000))?,
        Field::TimestampMicros(us) => time(*us)?,
        other => return Err(wrong(&format!("a value that no column has: {other}"))),
    };
    rows.text(|out| out.extend_from_slice(text.as_bytes()));
    Ok(())
}

fn format_time(us: i64, how: &str) -> io::Result<String> {
    let time = jiff::Timestamp::from_microsecond(us).map_err(|error| wrong(&error.to_string()))?;
    Ok(time.strftime(how).to_string())
}

fn clock(us: i64) -> String {
    let (seconds, rest) = (us / 1_000_000, us % 1_000_000);
    format!("{:02}:{:02}:{:02}.{rest:06}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A number as two's complement, the highest byte first, with its digits behind the point.
fn decimal(bytes: &[u8], scale: i32) -> String {
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let start = if is_negative { -1i128 } else { 0 };
    let value = bytes.iter().fold(start, |value, byte| (value << 8) | i128::from(*byte));
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale.max(0) as usize + 1);
    let (whole, rest) = digits.split_at(digits.len() - scale.max(0) as usize);
    let (sign, point) = (if is_negative { "-" } else { "" }, if rest.is_empty() { "" } else { "." });
    format!("{sign}{whole}{point}{rest}")
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
mod tests {
    use super::*;

    fn column(name: &str, kind: &str) -> Column {
        Column { name: name.to_owned(), kind: kind.to_owned(), ..Column::default() }
    }

    fn of(form: Form, columns: &[&str]) -> OfRows {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        OfRows { table: "t".to_owned(), form, columns, encoded: BTreeMap::new() }
    }

    fn inserted(path: &Path, of: &OfRows, columns: &[Column]) -> String {
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

    /// Two rows of each type that matters.
    fn write_parquet(path: &Path, packed: Compression) {
        use parquet::{
            data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
            file::{properties::WriterProperties, writer::SerializedFileWriter},
            schema::parser::parse_message_type,
        };
        let schema = "message t { REQUIRED INT64 id; OPTIONAL BYTE_ARRAY name (UTF8); REQUIRED INT32 price \
                      (DECIMAL(9,2)); REQUIRED INT32 day (DATE); REQUIRED INT64 at (TIMESTAMP(MICROS,true)); \
                      REQUIRED BOOLEAN flag; REQUIRED DOUBLE d; REQUIRED BYTE_ARRAY data; }";
        let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
        let properties = WriterProperties::builder().set_compression(packed).build();
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, properties.into()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        macro_rules! column {
            ($kind:ty, $values:expr, $levels:expr) => {{
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<$kind>().write_batch(&$values, $levels, None).unwrap();
                column.close().unwrap();
            }};
        }
        column!(Int64Type, [7, -8], None);
        column!(ByteArrayType, [ByteArray::from("d\u{e9}j\u{e0} 'vu'")], Some(&[1, 0]));
        column!(Int32Type, [1234, -5], None);
        column!(Int32Type, [19_000, -1], None);
        column!(Int64Type, [1_700_000_000_123_456, 0], None);
        column!(BoolType, [true, false], None);
        column!(DoubleType, [1.5, -2e100], None);
        column!(ByteArrayType, [ByteArray::from(vec![0, 255]), ByteArray::from(vec![])], None);
        group.close().unwrap();
        writer.close().unwrap();
    }

    #[test]
    fn values_of_parquet_are_written_as_a_server_reads_them() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.parquet");
        let names = ["id", "name", "price", "day", "at", "flag", "d", "data"];
        let columns = [column("name", "VARCHAR"), column("data", "BLOB")];
        for packed in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP(Default::default())]
        {
            write_parquet(&path, packed);
            assert_eq!(header(&path, Form::Parquet).unwrap().unwrap(), names);
            let text = inserted(&path, &of(Form::Parquet, &names), &columns);
            let (_, rows) = text.split_once("VALUES ").unwrap();
            assert_eq!(
                rows,
                "(7,'d\u{e9}j\u{e0} ''vu''','12.34','2022-01-08','2023-11-14 22:13:20.123456',1,'1.5',\
                 x'00ff'),\
                 (-8,NULL,'-0.05','1969-12-31','1970-01-01 00:00:00.000000',0,'-2e100','')"
            );
        }
        std::fs::write(&path, b"PAR1 and nothing else").unwrap();
        assert!(header(&path, Form::Parquet).is_err());
    }

    #[test]
    fn nanoseconds_and_uuids_of_parquet_are_written_as_what_they_mean() {
        use parquet::{
            data_type::{ByteArray, FixedLenByteArray, FixedLenByteArrayType, Int64Type},
            file::writer::SerializedFileWriter,
            schema::parser::parse_message_type,
        };
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.parquet");
        let schema = "message t { REQUIRED INT64 at (TIMESTAMP(NANOS,false)); REQUIRED INT64 clock \
                      (TIME(NANOS,true)); REQUIRED FIXED_LEN_BYTE_ARRAY (16) u (UUID); REQUIRED \
                      FIXED_LEN_BYTE_ARRAY (16) b (UUID); REQUIRED INT64 local (TIMESTAMP(MICROS,false)); }";
        let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
        let mut writer =
            SerializedFileWriter::new(File::create(&path).unwrap(), schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let uuid = || FixedLenByteArray::from(ByteArray::from((0..16).collect::<Vec<u8>>()));
        let numbers = [[1_700_000_000_123_456_789, -1], [3_661_000_005_999, 0]];
        for values in numbers {
            let mut place = group.next_column().unwrap().unwrap();
            place.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
            place.close().unwrap();
        }
        for _ in 0..2 {
            let mut place = group.next_column().unwrap().unwrap();
            place.typed::<FixedLenByteArrayType>().write_batch(&[uuid(), uuid()], None, None).unwrap();
            place.close().unwrap();
        }
        let mut place = group.next_column().unwrap().unwrap();
        place.typed::<Int64Type>().write_batch(&[0, 1], None, None).unwrap();
        place.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let kinds = [("u", "CHAR"), ("b", "BINARY")].map(|(name, kind)| column(name, kind));
        let text = inserted(&path, &of(Form::Parquet, &["at", "clock", "u", "b", "local"]), &kinds);
        let uuids = "'00010203-0405-0607-0809-0a0b0c0d0e0f',x'000102030405060708090a0b0c0d0e0f'";
        let (_, rows) = text.split_once("VALUES ").unwrap();
        assert_eq!(
            rows,
            format!(
                "('2023-11-14 22:13:20.123456','01:01:01.000005',{uuids},'1970-01-01 00:00:00.000000'),\
                 ('1969-12-31 23:59:59.999999','00:00:00.000000',{uuids},'1970-01-01 00:00:00.000001')"
            )
        );
    }

    #[test]
    fn decimals_of_parquet_keep_their_point() {
        assert_eq!(decimal(&[0x04, 0xD2], 2), "12.34");
        assert_eq!(decimal(&[0xFF, 0xFF], 2), "-0.01");
        assert_eq!(decimal(&[5], 0), "5");
        assert_eq!(clock(3_661_000_005), "01:01:01.000005");
    }
}
