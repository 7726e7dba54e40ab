//! Rows of Parquet files. The library reads row by row, and tells less of some columns than a file has.

use super::rows::wrong;
use crate::layout::Rows;
use parquet::{
    basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical},
    column::reader::ColumnReader,
    file::{
        reader::{FileReader as _, SerializedFileReader},
        serialized_reader::ReadOptionsBuilder,
    },
    record::{Field, reader::RowIter},
    schema::types::Type,
};
use std::{fs::File, io, path::Path, vec};

/// A moment as a server reads it.
const TO_MICROSECONDS: &str = "%Y-%m-%d %H:%M:%S%.6f";

/// Reads rows.
pub(super) struct Reader {
    rows: RowIter<'static>,
    meanings: Vec<Meaning>,
    /// One for each column of [`Meaning::Old`], in their order.
    old: Vec<OldMoments>,
}

/// What the values of a Parquet column are where the library that reads them does not say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// It says.
    Told,
    /// Nanoseconds since 1970, which pandas writes.
    Moment,
    /// Nanoseconds since midnight.
    Clock,
    /// A UUID as 16 bytes.
    Uuid,
    /// Twelve bytes of a day and nanoseconds, which Spark writes, and the library tells in milliseconds.
    Old,
}

/// The columns of a file.
///
/// # Errors
/// It cannot be read, or holds what no table can.
pub(super) fn names(path: &Path) -> io::Result<Vec<String>> {
    let reader = open(path)?;
    let fields = reader.metadata().file_metadata().schema().get_fields();
    if let Some(field) = fields.iter().find(|field| field.is_group()) {
        let told =
            format!("the column `{}` is nested, which no table has: write it as JSON text", field.name());
        return Err(io::Error::new(io::ErrorKind::Unsupported, told));
    }
    Ok(fields.iter().map(|field| field.name().to_owned()).collect())
}

impl Reader {
    /// The rows of a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let reader = open(path)?;
        let meanings = meanings(&reader);
        let mut old = Vec::new();
        for (place, _) in meanings.iter().enumerate().filter(|(_, meaning)| **meaning == Meaning::Old) {
            old.push(OldMoments::of(open(path)?, place));
        }
        Ok(Self { rows: RowIter::from_file_into(Box::new(reader)), meanings, old })
    }

    /// Adds the next row; `is_bytes` says whether the column at a place holds bytes. False: there is none.
    ///
    /// # Errors
    /// It cannot be read, or has a value that no column of a table has.
    pub(super) fn read(&mut self, rows: &mut Rows, is_bytes: impl Fn(usize) -> bool) -> io::Result<bool> {
        let Some(row) = self.rows.next() else { return Ok(false) };
        let row = row.map_err(of_parquet)?;
        let mut old = self.old.iter_mut();
        for (place, (_, field)) in row.get_column_iter().enumerate() {
            let meaning = self.meanings.get(place).copied().unwrap_or(Meaning::Told);
            let text = match meaning {
                Meaning::Old => {
                    let us = old.next().map(OldMoments::next).transpose()?.flatten();
                    us.map(|us| format_time(us, TO_MICROSECONDS)).transpose()?
                }
                meaning => spelt(field, meaning, is_bytes(place))?,
            };
            match text {
                Some(text) => rows.text(|out| out.extend_from_slice(text.as_bytes())),
                None => write_field(field, rows)?,
            }
        }
        Ok(true)
    }
}

/// Whether a column holds moments of twelve bytes.
fn is_old(field: &Type) -> bool {
    let is_single = field.get_basic_info().repetition() != Repetition::REPEATED;
    field.is_primitive() && is_single && field.get_physical_type() == Physical::INT96
}

/// Reads the moments of one column, a group of rows at a time.
struct OldMoments {
    reader: SerializedFileReader<File>,
    column: usize,
    /// The group that comes next.
    group: usize,
    /// What is left of the one before, in microseconds since 1970.
    values: vec::IntoIter<Option<i64>>,
}

impl OldMoments {
    fn of(reader: SerializedFileReader<File>, column: usize) -> Self {
        Self { reader, column, group: 0, values: Vec::new().into_iter() }
    }

    /// The value of the next row; `None`: NULL.
    fn next(&mut self) -> io::Result<Option<i64>> {
        loop {
            if let Some(value) = self.values.next() {
                return Ok(value);
            }
            if self.group == self.reader.num_row_groups() {
                return Err(wrong("a column has fewer values than the file has rows"));
            }
            self.values = self.read_group().map_err(of_parquet)?.into_iter();
            self.group += 1;
        }
    }

    fn read_group(&self) -> parquet::errors::Result<Vec<Option<i64>>> {
        let group = self.reader.get_row_group(self.group)?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let can_be_null = group.metadata().column(self.column).column_descr().max_def_level() > 0;
        let ColumnReader::Int96ColumnReader(mut reader) = group.get_column_reader(self.column)? else {
            return Ok(Vec::new());
        };
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (mut read, mut more) = (0, true);
        while read < count && more {
            let (records, ..) = reader.read_records(count - read, Some(&mut levels), None, &mut values)?;
            read += records;
            more = records > 0;
        }
        let mut values = values.into_iter().map(|value| value.to_micros());
        Ok(match can_be_null {
            true => levels.into_iter().map(|level| (level > 0).then(|| values.next()).flatten()).collect(),
            false => values.map(Some).collect(),
        })
    }
}

fn open(path: &Path) -> io::Result<SerializedFileReader<File>> {
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
    let meaning = |field: &Type| match field.get_basic_info().logical_type_ref() {
        Some(LogicalType::Timestamp(of)) if of.unit == TimeUnit::NANOS => Meaning::Moment,
        Some(LogicalType::Time(of)) if of.unit == TimeUnit::NANOS => Meaning::Clock,
        Some(LogicalType::Uuid) => Meaning::Uuid,
        _ if is_old(field) => Meaning::Old,
        _ => Meaning::Told,
    };
    fields.iter().map(|field| meaning(field)).collect()
}

fn of_parquet(error: parquet::errors::ParquetError) -> io::Error {
    wrong(&error.to_string())
}

/// A value that says less than its column; `None`: it is written as it is.
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

/// A value as a server writes it.
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

#[cfg(test)]
mod tests {
    use super::{
        super::rows::{
            Form, header,
            tests::{column, inserted, of},
        },
        *,
    };

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
    fn moments_of_twelve_bytes_keep_their_microseconds() {
        use parquet::{
            data_type::{Int32Type, Int96, Int96Type},
            file::writer::SerializedFileWriter,
            schema::parser::parse_message_type,
        };
        /// Of 1970-01-01 in days of the Julian period.
        const FIRST_DAY: u32 = 2_440_588;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.parquet");
        let schema = "message t { OPTIONAL INT96 at; REQUIRED INT32 id; REQUIRED INT96 other; }";
        let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
        let mut writer =
            SerializedFileWriter::new(File::create(&path).unwrap(), schema, Default::default()).unwrap();
        let moment = |days: i32, ns: u64| {
            let mut moment = Int96::new();
            moment.set_data(ns as u32, (ns >> 32) as u32, FIRST_DAY.wrapping_add_signed(days));
            moment
        };
        let last = 86_399_999_999_999;
        for (id, values, levels) in
            [(1, vec![moment(1, 123_456_789)], [1, 0]), (3, vec![moment(-1, last), moment(0, 0)], [1, 1])]
        {
            let mut group = writer.next_row_group().unwrap();
            let mut place = group.next_column().unwrap().unwrap();
            place.typed::<Int96Type>().write_batch(&values, Some(&levels), None).unwrap();
            place.close().unwrap();
            let mut place = group.next_column().unwrap().unwrap();
            place.typed::<Int32Type>().write_batch(&[id, id + 1], None, None).unwrap();
            place.close().unwrap();
            let mut place = group.next_column().unwrap().unwrap();
            place.typed::<Int96Type>().write_batch(&[moment(id, 1_000), moment(0, 0)], None, None).unwrap();
            place.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
        let text = inserted(&path, &of(Form::Parquet, &["at", "id", "other"]), &[]);
        let (_, rows) = text.split_once("VALUES ").unwrap();
        assert_eq!(
            rows,
            "('1970-01-02 00:00:00.123456',1,'1970-01-02 00:00:00.000001'),\
             (NULL,2,'1970-01-01 00:00:00.000000'),\
             ('1969-12-31 23:59:59.999999',3,'1970-01-04 00:00:00.000001'),\
             ('1970-01-01 00:00:00.000000',4,'1970-01-01 00:00:00.000000')"
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
