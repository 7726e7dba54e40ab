//! Checks contents: compares the server's checksum of all rows with that of the rows as they should be.
//!
//! The checksum is the sum, over all rows of a table, of the CRC-32 of a row's values with commas between
//! them. It does not depend on the order of rows, the engine or the product: a data set with the same seed
//! has the same checksum everywhere, until a workload changes it.

use super::{Error, session::Session};
use crate::{
    family,
    layout::{Layout, Rows, Table},
};
use load::spec::Target;
use serde::Serialize;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{AcqRel, Relaxed},
        },
    },
    thread,
};

/// Numbers of rows that one query sums up.
const RANGE: u64 = 100_000;

/// Result of [`checksum`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checksum {
    /// Sum over all tables as the data set is to be; modulo 2^64.
    pub expected: u64,
    /// Sum over all tables as the server has them.
    pub found: u64,
    /// Tables that differ.
    pub different: Vec<String>,
}

impl Checksum {
    /// Whether the contents are those of the plan.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.different.is_empty()
    }
}

/// Compares the contents of every table with the plan's, over at most `connections` connections.
///
/// # Errors
/// No connection, a table is missing, or `stop` became true.
pub fn checksum(
    target: &Target,
    layout: &dyn Layout,
    connections: u32,
    stop: &AtomicBool,
) -> Result<Checksum, Error> {
    let tables = layout.tables();
    let ranges: Vec<(usize, u64)> = tables
        .iter()
        .enumerate()
        .flat_map(|(table, one)| (1..=one.last()).step_by(RANGE as usize).map(move |first| (table, first)))
        .collect();
    let next = AtomicUsize::new(0);
    let result = Mutex::new(Checksum { expected: 0, found: 0, different: Vec::new() });
    let work = || -> Result<(), Error> {
        let mut session = Session::open(target)?;
        loop {
            let Some(&(at, first)) = ranges.get(next.fetch_add(1, AcqRel)) else { return Ok(()) };
            if stop.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            let table = &tables[at];
            let last = (first + RANGE - 1).min(table.last());
            let (wanted, seen) = (expected(table, first, last), found(&mut session, table, first, last)?);
            let mut sum = result.lock().unwrap_or_else(PoisonError::into_inner);
            sum.expected = sum.expected.wrapping_add(wanted);
            sum.found = sum.found.wrapping_add(seen);
            if wanted != seen && !sum.different.contains(&table.name) {
                sum.different.push(table.name.clone());
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..connections.max(1)).map(|_| scope.spawn(work)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("the checksum does not panic"));
        ends.collect::<Result<Vec<()>, Error>>()
    })?;
    let mut sum = result.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.different.sort_by_key(|name| tables.iter().position(|table| table.name == *name));
    Ok(sum)
}

fn expected(table: &Table, first: u64, last: u64) -> u64 {
    let (mut rows, mut text) = (Rows::default(), Vec::new());
    (first..=last).fold(0, |sum: u64, number| {
        rows.clear();
        table.contents.write(number, &mut rows);
        let values = table.columns.len().max(1);
        (0..rows.len()).step_by(values).fold(sum, |sum: u64, row| {
            text.clear();
            rows.write_joined_row(row, values, &mut text);
            let mut crc = flate2::Crc::new();
            crc.update(&text);
            sum.wrapping_add(u64::from(crc.sum()))
        })
    })
}

fn found(session: &mut Session, table: &Table, first: u64, last: u64) -> Result<u64, Error> {
    let Table { name, number, charset, columns, .. } = table;
    let family = family::spoken();
    let columns: Vec<String> = columns.iter().map(|column| family.quoted(&column.name)).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let sum = format!(
        "SELECT {} FROM {} WHERE {number} BETWEEN {first} AND {last}",
        family.checksum(&columns, charset),
        family.quoted(name)
    );
    let answer = session.run("SELECT", name, &sum)?;
    Ok(answer.first_value().and_then(|sum| sum.parse().ok()).unwrap_or(0))
}
