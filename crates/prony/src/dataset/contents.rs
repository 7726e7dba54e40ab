//! What the tables hold that files have made or that came with a copy, as two figures that are the same
//! wherever the values are.

use super::{Error, marks, session::Session};
use crate::{
    family::{self, TableKind},
    layout::files::{Column, Table},
};
use load::spec::Target;
use serde_json::Value as Json;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use wire::{
    Value,
    client::{Column as Described, Reply, Row, Sink},
};

/// What a table holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The table.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Sum of the CRC-32 of its rows.
    pub sum: String,
}

/// What these tables hold on a server.
///
/// # Errors
/// No connection, a table is missing, or `stop` became true.
pub fn contents(target: &Target, tables: &[Table], stop: &AtomicBool) -> Result<Vec<Contents>, Error> {
    let mut session = Session::open(target)?;
    session.run("SET", "session variables", family::spoken().plain_session())?;
    let mut all = Vec::new();
    for table in tables {
        if stop.load(Relaxed) {
            return Err(Error::Interrupted);
        }
        all.push(of_table(&mut session, table)?);
    }
    Ok(all)
}

/// The tables of the target's database that Prony did not make, with the names and types of their columns.
///
/// # Errors
/// No connection, or a right is missing.
pub fn found(target: &Target) -> Result<Vec<Table>, Error> {
    let mut session = Session::open(target)?;
    let found = marks::find(&mut session, None, family::Names::Any)?;
    let holds_rows = [TableKind::Table, TableKind::Special];
    let others = found.into_iter().filter(|found| holds_rows.contains(&found.kind) && !marks::is_own(found));
    let mut tables = Vec::new();
    for name in others.map(|found| found.name) {
        let told = session.about("SELECT", &name, |family, control| family.columns(control, &name))?;
        let column = |(name, kind)| Column { name, kind, ..Column::default() };
        tables.push(Table { columns: told.into_iter().map(column).collect(), name, ..Table::default() });
    }
    tables.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tables)
}

fn of_table(session: &mut Session, table: &Table) -> Result<Contents, Error> {
    let family = family::spoken();
    let (json, plain): (Vec<&Column>, Vec<&Column>) =
        table.columns.iter().partition(|column| column.kind == "JSON");
    let plain: Vec<(String, &str)> =
        plain.iter().map(|column| (family.quoted(&column.name), column.kind.as_str())).collect();
    let (row, from) = (family.row_checksum(&plain), family.quoted(&table.name));
    let mut sums = Sums::default();
    if json.is_empty() {
        let asked = format!("SELECT COUNT(*), COALESCE(SUM({row}), 0) FROM {from}");
        let answer = session.run("SELECT", &table.name, &asked)?;
        let value =
            |place: usize| -> Option<u128> { answer.rows().first()?.get(place)?.as_deref()?.parse().ok() };
        sums = Sums { rows: value(0).unwrap_or(0) as u64, sum: value(1).unwrap_or(0) };
    } else {
        // servers write JSON in different ways, so it is read here
        let columns: Vec<String> = json.iter().map(|column| family.quoted(&column.name)).collect();
        let asked = format!("SELECT {row}, {} FROM {from}", columns.join(", "));
        let done = session.connection().run(|session, out| session.query(asked.as_bytes(), out), &mut sums);
        done.map_err(|source| session.failed("SELECT", &table.name, source))?;
    }
    Ok(Contents { table: table.name.clone(), rows: sums.rows, sum: sums.sum.to_string() })
}

/// Sums rows up whose first value is the checksum of what is not JSON.
#[derive(Debug, Default)]
struct Sums {
    rows: u64,
    sum: u128,
}

impl Sink for Sums {
    fn wants_columns(&self) -> bool {
        false
    }

    fn wants_rows(&self) -> bool {
        true
    }

    fn column(&mut self, _: &Described<'_>) {}

    fn row(&mut self, row: &Row<'_>) -> Result<(), wire::Error> {
        let mut crc = flate2::Crc::new();
        for (place, value) in row.values().enumerate() {
            match value? {
                Value::Null => crc.update(b"\0"),
                Value::Bytes(text) if place > 0 => crc.update(&same_json(text)),
                value => crc.update(value.to_string().as_bytes()),
            }
            crc.update(b"\x1f");
        }
        self.rows += 1;
        self.sum += u128::from(crc.sum());
        Ok(())
    }

    fn end(&mut self, _: &Reply) {}
}

/// JSON without blanks and with its keys in order; what is none stays as it is.
fn same_json(text: &[u8]) -> Vec<u8> {
    let read: Result<Json, _> = serde_json::from_slice(text);
    read.ok().and_then(|json| serde_json::to_vec(&json).ok()).unwrap_or_else(|| text.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_same_however_it_is_written() {
        assert_eq!(same_json(br#"{"b":  [1,2.50], "a": null}"#), br#"{"a":null,"b":[1,2.5]}"#);
        assert_eq!(same_json(b"{no json"), b"{no json");
    }
}
