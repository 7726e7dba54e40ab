//! Makes the tables that workloads run on, recognises them later, and removes them.
//!
//! A [`Layout`] says what they consist of. Contents depend on the seed alone (row `n` of table `t` is the
//! same however many connections load it). An interrupted load resumes where it stopped, existing tables are
//! recognised and only counted, and nothing that Prony did not create is ever touched.
//!
//! It works through [`load::client`] alone, and knows neither which study nor which command asked.

mod check;
mod conditions;
mod contents;
mod database;
mod error;
mod files;
mod form;
mod insert;
mod loader;
mod marks;
mod pool;
mod routines;
mod session;
mod size;
mod warm;
mod work;

pub use check::{Checksum, checksum};
pub use conditions::{Broken, broken};
pub use contents::{Contents, contents, found};
pub use database::Database;
pub use error::Error;
pub use files::{execute, remove};
pub use form::{Difference, Form, Warning, form};
pub use size::{Size, size};
pub use warm::warm;

use crate::{
    family::{self, Names},
    layout::{Kinship, Layout, State, Table, is_reserved},
    plan::Writes,
};
use load::spec::Target;
use serde::Serialize;
use session::Session;
use std::{cmp::Ordering, sync::atomic::AtomicBool, time::Duration};

/// How far making a data set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Rows that are in, those found already included.
    pub rows: u64,
    /// Rows of all tables.
    pub rows_total: u64,
    /// Rows that this call loaded, from which to compute a rate.
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
    /// Tables that have names of a layout's tables, but are not Prony's and were left alone.
    pub foreign: Vec<String>,
}

/// Creates the data set in the target's schema, which is created too if it does not exist and the account
/// may.
///
/// Complete tables of the same data set are counted and kept; half-loaded ones are completed; tables that
/// Prony created for another data set are created again. At most `connections` (1 or more) work at once.
/// `progress` is called about ten times per second, on the caller's thread. When `stop` becomes true, the
/// call ends with [`Error::Interrupted`].
///
/// # Errors
/// See [`Error`]. A table that Prony did not make is an error, found before anything is changed.
pub fn prepare(
    target: &Target,
    layout: &dyn Layout,
    connections: u32,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let report = loader::load(target, &layout.tables(), connections.max(1), progress, stop)?;
    routines::make(target, &layout.routines())?;
    Ok(report)
}

/// Drops the tables of the target's schema that Prony created and whose names `wanted` takes, and nothing
/// else.
///
/// # Errors
/// No connection, no privilege, or another Prony at work.
pub fn cleanup(target: &Target, wanted: &dyn Fn(&str) -> bool) -> Result<Cleaned, Error> {
    let mut session = Session::open(target)?;
    session.lock()?;
    let mut cleaned = Cleaned::default();
    for found in marks::find(&mut session, None, Names::Any)? {
        let (own, name) = (marks::is_own(&found), found.name);
        if !wanted(&name) {
            continue;
        }
        if own {
            session.run("DROP TABLE", &name, &format!("DROP TABLE {}", family::spoken().quoted(&name)))?;
            cleaned.dropped.push(name);
        } else if is_reserved(&name) {
            cleaned.foreign.push(name);
        }
    }
    routines::remove(&mut session, wanted)?;
    cleaned.dropped.sort_by(by_number);
    cleaned.foreign.sort_by(by_number);
    Ok(cleaned)
}

/// Drops the target's database if Prony created it and it holds nothing but its mark: to be called after
/// [`cleanup`].
///
/// # Errors
/// No connection, no privilege, or another Prony at work.
pub fn drop_database(target: &Target) -> Result<Database, Error> {
    let Some(mut session) = Session::open_existing(target)? else { return Ok(Database::Foreign) };
    session.lock()?;
    database::drop_if_own(&mut session)
}

/// Checks, without changing anything, whether the plan's tables can be created: none may exist that Prony did
/// not create.
///
/// # Errors
/// [`Error::Foreign`]; no connection.
pub fn refuse_foreign(target: &Target, layout: &dyn Layout) -> Result<(), Error> {
    let Some(mut session) = Session::open_existing(target)? else { return Ok(()) };
    loader::survey(&mut session, target, &layout.tables())?;
    routines::refuse(&mut session, target, &layout.routines())
}

/// Whether the whole data set is there. A target without a database gets one, where the account may.
///
/// # Errors
/// [`Error::Foreign`]; no connection.
pub fn is_complete(target: &Target, layout: &dyn Layout) -> Result<bool, Error> {
    let mut session = Session::open(target)?;
    let tables = layout.tables();
    let found = loader::survey(&mut session, target, &tables)?;
    let is_whole = |(table, comment): (&Table, &Option<String>)| {
        comment.as_ref().is_some_and(|comment| table.kinship(comment) == Kinship::Same(State::Complete))
    };
    Ok(tables.iter().zip(&found).all(is_whole))
}

/// Checks, without changing anything, that everything a load writes into is Prony's own. A table that does
/// not exist belongs to nobody.
///
/// # Errors
/// [`Error::NotOurs`]; [`Error::Untold`] where it cannot be told; no connection.
pub fn refuse_writes(target: &Target, writes: &Writes) -> Result<(), Error> {
    marks::refuse(target, writes)
}

/// About how much disk a data set takes, bytes: its rows, a tenth more, and each table's empty file.
#[must_use]
pub fn size_bytes(layout: &dyn Layout) -> u64 {
    /// An empty table's file.
    const EMPTY: u64 = 128 << 10;
    let tables = layout.tables();
    tables.len() as u64 * EMPTY
        + tables.iter().map(|table| table.rows * table.row_bytes * 11 / 10).sum::<u64>()
        + if layout.has_unnamed() { layout.size_bytes() } else { 0 }
}

/// Names in the order of the numbers that they end in.
fn by_number(one: &String, other: &String) -> Ordering {
    let parts = |name: &String| {
        let start = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        (name[..start].to_owned(), name[start..].parse::<u64>().unwrap_or(0), name.clone())
    };
    parts(one).cmp(&parts(other))
}
