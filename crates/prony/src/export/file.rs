//! One Parquet file, row by row. Knows nothing of what the rows mean.

use super::{EXPORT_FORMAT, Error};
use parquet::{
    basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Rows that are collected before they are written: some 10 MB.
const ROWS_PER_GROUP: usize = 100_000;

/// What a column holds; any of its cells may be empty.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Whole,
    Number,
    Text,
    /// A moment, UTC.
    Moment,
}

/// One value of a row, of its column's kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    Whole(u64),
    Number(f64),
    Text(&'a str),
    Moment(jiff::Timestamp),
    Empty,
}

/// A file that is being written.
pub(super) struct Table {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    /// What stands in the first column of every row.
    run: String,
    columns: Vec<Column>,
    rows: usize,
}

/// The rows of a column that are not written yet.
struct Column {
    values: Values,
    /// For each row 1 where it has a value, 0 where it has none.
    present: Vec<i16>,
}

enum Values {
    Whole(Vec<i64>),
    Number(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl Table {
    /// Begins a file with these columns after that of the run, which lets files of several runs be put
    /// together, and says in it what it is about.
    pub(super) fn begin(
        path: &Path,
        run: &str,
        columns: &[(String, Kind)],
        about: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let contents = |source| Error::Contents { path: path.to_owned(), source };
        let file = File::create(path).map_err(|source| Error::Write { path: path.to_owned(), source })?;
        let mut facts = vec![KeyValue::new("prony_export_format".to_owned(), EXPORT_FORMAT.to_string())];
        facts.extend(about.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(facts))
            .build();
        let run_and_columns: Vec<(String, Kind)> =
            std::iter::once(("run".to_owned(), Kind::Text)).chain(columns.iter().cloned()).collect();
        let schema = schema(&run_and_columns).map_err(contents)?;
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(contents)?;
        let columns = run_and_columns.iter().map(|(_, kind)| Column::new(*kind)).collect();
        Ok(Self { path: path.to_owned(), writer, run: run.to_owned(), columns, rows: 0 })
    }

    /// Adds a row: one cell for each column after that of the run.
    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        assert_eq!(cells.len() + 1, self.columns.len(), "a row has a cell for each column");
        let run = std::iter::once(Cell::Text(&self.run));
        for (column, cell) in self.columns.iter_mut().zip(run.chain(cells.iter().copied())) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP { self.flush() } else { Ok(()) }
    }

    /// Writes what is left, and the file's end.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        let Self { path, writer, .. } = self;
        writer.close().map(drop).map_err(|source| Error::Contents { path, source })
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        write_group(&mut self.writer, &mut self.columns)
            .map_err(|source| Error::Contents { path: self.path.clone(), source })
    }
}

fn schema(columns: &[(String, Kind)]) -> Result<Arc<Type>, ParquetError> {
    let field = |(name, kind): &(String, Kind)| {
        let (physical, logical) = match kind {
            Kind::Whole => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Moment => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("run").with_fields(fields).build().map(Arc::new)
}

fn write_group(writer: &mut SerializedFileWriter<File>, columns: &mut [Column]) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let mut target = group.next_column()?.expect("the file has these columns");
        let present = Some(column.present.as_slice());
        match &mut column.values {
            Values::Whole(values) => {
                target.typed::<Int64Type>().write_batch(values, present, None)?;
                values.clear();
            }
            Values::Number(values) => {
                target.typed::<DoubleType>().write_batch(values, present, None)?;
                values.clear();
            }
            Values::Text(values) => {
                target.typed::<ByteArrayType>().write_batch(values, present, None)?;
                values.clear();
            }
        }
        column.present.clear();
        target.close()?;
    }
    group.close().map(drop)
}

impl Column {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Whole | Kind::Moment => Values::Whole(Vec::new()),
            Kind::Number => Values::Number(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        };
        Self { values, present: Vec::new() }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (&mut self.values, cell) {
            (_, Cell::Empty) => {}
            (Values::Whole(values), Cell::Whole(value)) => {
                values.push(i64::try_from(value).unwrap_or(i64::MAX));
            }
            (Values::Whole(values), Cell::Moment(moment)) => values.push(moment.as_microsecond()),
            (Values::Number(values), Cell::Number(value)) => values.push(value),
            (Values::Text(values), Cell::Text(value)) => values.push(ByteArray::from(value)),
            _ => unreachable!("a cell is of its column's kind"),
        }
        self.present.push(i16::from(!matches!(cell, Cell::Empty)));
    }
}
