//! Checks contents: the server's checksum of all rows against that of the rows as they are to be.
//!
//! The sum of CRC-32 of `id,k,c,pad` over all rows of a table does not depend on their order, the engine or
//! the product: a data set of the same seed has the same everywhere, until a workload changes it.

use super::{
    Error,
    rows::{Row, Rows},
    session::Session,
    table, validate,
};
use crate::{family, plan::DataPlan};
use load::spec::Target;
use serde::Serialize;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{AcqRel, Relaxed},
        },
    },
    thread,
};

/// Rows that one query sums up.
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
    plan: &DataPlan,
    connections: u32,
    stop: &AtomicBool,
) -> Result<Checksum, Error> {
    validate(plan)?;
    let rows = table::rows(plan);
    let ranges = rows.div_ceil(RANGE);
    let next = AtomicU64::new(0);
    let result = Mutex::new(Checksum { expected: 0, found: 0, different: Vec::new() });
    let work = || -> Result<(), Error> {
        let mut session = Session::open(target)?;
        loop {
            let place = next.fetch_add(1, AcqRel);
            if place >= ranges * u64::from(plan.tables) {
                return Ok(());
            }
            if stop.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            let number = (place / ranges) as u32 + 1;
            let first = place % ranges * RANGE + 1;
            let last = (first + RANGE - 1).min(rows);
            let (wanted, seen) =
                (expected(plan, number, first, last), found(&mut session, number, first, last)?);
            let mut sum = result.lock().unwrap_or_else(PoisonError::into_inner);
            sum.expected = sum.expected.wrapping_add(wanted);
            sum.found = sum.found.wrapping_add(seen);
            let name = table::name(number);
            if wanted != seen && !sum.different.contains(&name) {
                sum.different.push(name);
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..connections.max(1)).map(|_| scope.spawn(work)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("the checksum does not panic"));
        ends.collect::<Result<Vec<()>, Error>>()
    })?;
    let mut sum = result.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.different.sort_by_key(|name| table::number(name));
    Ok(sum)
}

fn expected(plan: &DataPlan, number: u32, first: u64, last: u64) -> u64 {
    let (rows, mut row, mut text) = (Rows::new(plan, number), Row::new(), Vec::new());
    (first..=last).fold(0, |sum: u64, id| {
        rows.fill(i32::try_from(id).expect("rows are checked to be an INTEGER"), &mut row);
        text.clear();
        row.write_joined(&mut text);
        let mut crc = flate2::Crc::new();
        crc.update(&text);
        sum.wrapping_add(u64::from(crc.sum()))
    })
}

fn found(session: &mut Session, number: u32, first: u64, last: u64) -> Result<u64, Error> {
    let name = table::name(number);
    let sum = family::spoken().checksum(&["id", "k", "c", "pad"]);
    let sum = format!("SELECT {sum} FROM {name} WHERE id BETWEEN {first} AND {last}");
    let answer = session.run("SELECT", &name, &sum)?;
    Ok(answer.first_value().and_then(|sum| sum.parse().ok()).unwrap_or(0))
}
