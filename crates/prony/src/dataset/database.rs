//! A database that Prony created, recognised by a table in it whose comment says so. The mark comes and goes
//! with the database, so one that somebody dropped and created again is never taken for Prony's.

use super::{Error, marks, session::Session};
use crate::{
    family::{self, Names},
    layout::has_mark,
};
use serde::Serialize;

/// Name of the table by which a database is known.
const MARK: &str = "prony_database";

/// What became of a database whose tables were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Database {
    /// Prony did not make it; it stays.
    Foreign,
    /// Prony created it, but these tables in it are somebody else's; it stays.
    InUse(Vec<String>),
    /// Prony created it, but the account cannot see everything that may be in it: these rights are missing.
    /// It stays.
    Unseen(Vec<&'static str>),
    /// Prony made it, nothing else was in it, and it is gone.
    Dropped,
}

/// Marks the session's database, which Prony has just created. If Prony is killed before, the unmarked
/// database stays.
pub(super) fn mark(session: &mut Session) -> Result<(), Error> {
    let comment = "prony 1 database: made by Prony, which drops it when nothing else is in it";
    let options = family::spoken().table_options(None, comment);
    let create = format!("CREATE TABLE {MARK} (nothing TINYINT NOT NULL PRIMARY KEY){options}");
    session.run("CREATE TABLE", MARK, &create).map(drop)
}

/// Drops the session's database if Prony created it and nobody has put anything into it.
pub(super) fn drop_if_own(session: &mut Session) -> Result<Database, Error> {
    let tables = marks::find(session, None, Names::Any)?;
    let (marks, others): (Vec<_>, Vec<_>) =
        tables.into_iter().partition(|found| found.name == MARK && has_mark(&found.comment));
    if marks.is_empty() {
        return Ok(Database::Foreign);
    }
    let mut others: Vec<String> = others.into_iter().map(|found| found.name).collect();
    others.extend(session.about("SELECT", "routines and events", |family, control| family.others(control))?);
    if !others.is_empty() {
        return Ok(Database::InUse(others));
    }
    let unseen = session.about("SELECT", "rights", |family, control| family.unseen(control))?;
    if !unseen.is_empty() {
        return Ok(Database::Unseen(unseen));
    }
    session.drop_database()?;
    Ok(Database::Dropped)
}
