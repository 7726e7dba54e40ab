//! Makes the tables that workloads run on, knows them again, and removes them.
//!
//! Schema and contents are those of sysbench 1.0.20. Unlike there, contents depend on the seed alone (row `n`
//! of table `t` is the same however many connections load it), a broken-off load goes on where it was, tables
//! that are there already are recognised and only counted, and nothing that Prony did not make is ever
//! touched.
//!
//! It works through [`load::client`] only, and does not know which study or command asked.

mod check;
mod database;
mod error;
mod insert;
mod loader;
mod marks;
mod rows;
mod session;
mod size;
mod table;
mod warm;
mod work;

pub use check::{Checksum, checksum};
pub use database::Database;
pub use error::Error;
pub use size::{Size, size};
pub use warm::warm;

use crate::plan::{DataPlan, Writes};
use load::spec::Target;
use serde::Serialize;
use session::Session;
use std::{sync::atomic::AtomicBool, time::Duration};

/// How far making a data set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Rows that are in, those found already included.
    pub rows: u64,
    /// Rows of all tables.
    pub rows_total: u64,
    /// Rows that this call loaded: what a rate is to be computed from.
    pub rows_loaded: u64,
    /// Tables that are complete, index and count included.
    pub tables: u32,
    /// All tables.
    pub tables_total: u32,
    /// Since the call began.
    pub elapsed: Duration,
}

/// How rows were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// MariaDB's bulk execution of a prepared INSERT.
    Bulk,
    /// A prepared INSERT of many rows.
    ManyRows,
}

/// What [`prepare`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Tables of the data set, all complete.
    pub tables: u32,
    /// Tables that were complete already.
    pub tables_kept: u32,
    /// Rows of all tables.
    pub rows: u64,
    /// Rows that this call loaded.
    pub rows_loaded: u64,
    /// How they were sent; `None`: there were none to load.
    pub method: Option<Method>,
    /// How long it took, index and count included.
    pub took: Duration,
}

/// What [`cleanup`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// Tables that were dropped.
    pub dropped: Vec<String>,
    /// Tables called `sbtest1`, `sbtest2`, ... that are not Prony's and were left alone.
    pub foreign: Vec<String>,
}

/// Makes the data set in the target's schema, which is made too if it is missing and the account may.
///
/// Tables of the same data set that are complete are counted and kept; half-loaded ones are completed; tables
/// that Prony made for another data set are made anew. At most `connections` (1 or more) work at once.
/// `progress` is called about ten times a second, on the caller's thread. When `stop` becomes true the call
/// ends with [`Error::Interrupted`].
///
/// # Errors
/// See [`Error`]. A table that Prony did not make is an error, found before anything is changed.
pub fn prepare(
    target: &Target,
    plan: &DataPlan,
    connections: u32,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Report, Error> {
    validate(plan)?;
    loader::load(target, plan, connections.max(1), progress, stop)
}

/// Drops every table of the target's schema that Prony made, and nothing else.
///
/// # Errors
/// No connection, no privilege, or another Prony at work.
pub fn cleanup(target: &Target, tables: Option<u32>) -> Result<Cleaned, Error> {
    let mut session = Session::open(target)?;
    session.lock()?;
    let mut cleaned = Cleaned::default();
    for found in loader::tables(&mut session)? {
        let (own, name) = (marks::is_own(&found), found.name);
        if tables.is_some_and(|last| table::number(&name).is_none_or(|number| number > last)) {
            continue;
        }
        if own {
            session.run("DROP TABLE", &name, &format!("DROP TABLE {name}"))?;
            cleaned.dropped.push(name);
        } else {
            cleaned.foreign.push(name);
        }
    }
    Ok(cleaned)
}

/// Drops the target's database if Prony made it and, but for its mark, nothing is in it: to be called after
/// [`cleanup`].
///
/// # Errors
/// No connection, no privilege, or another Prony at work.
pub fn drop_database(target: &Target) -> Result<Database, Error> {
    let Some(mut session) = Session::open_existing(target)? else { return Ok(Database::Foreign) };
    session.lock()?;
    database::drop_if_own(&mut session)
}

/// Sees, without changing anything, whether the plan's tables can be made: none is there already that Prony
/// did not make.
///
/// # Errors
/// [`Error::Foreign`]; no connection.
pub fn refuse_foreign(target: &Target, plan: &DataPlan) -> Result<(), Error> {
    let Some(mut session) = Session::open_existing(target)? else { return Ok(()) };
    loader::survey(&mut session, target, plan).map(drop)
}

/// Sees, without changing anything, that what a load writes into is Prony's own. A table that is not there is
/// nobody's.
///
/// # Errors
/// [`Error::NotOurs`]; [`Error::Untold`] where it cannot be told; no connection.
pub fn refuse_writes(target: &Target, writes: &Writes) -> Result<(), Error> {
    marks::refuse(target, writes)
}

/// About how much disk a data set takes, bytes: what the default engine was seen to need (225 for a row, 16
/// for its entry in the index on `k`) and a tenth more.
#[must_use]
pub fn size_bytes(plan: &DataPlan) -> u64 {
    const ROW: u64 = 225;
    const ENTRY: u64 = 16;
    /// An empty table's file.
    const EMPTY: u64 = 128 << 10;
    let row = ROW + if plan.create_secondary { ENTRY } else { 0 };
    u64::from(plan.tables) * (EMPTY + table::rows(plan) * row * 11 / 10)
}

fn validate(plan: &DataPlan) -> Result<(), Error> {
    if !matches!(plan.generator.as_str(), "sysbench" | "bulk_insert" | "empty") {
        return Err(Error::Generator(plan.generator.clone()));
    }
    if i32::try_from(plan.rows).is_err() {
        return Err(Error::TooManyRows(plan.rows));
    }
    Ok(())
}
