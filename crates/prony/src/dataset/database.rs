//! A database that Prony made, known again by a table in it whose comment says so: the mark comes and goes
//! with the database, so that one which somebody dropped and made anew can never be taken for Prony's.

use super::{Error, session::Session, table};
use serde::Serialize;

/// Name of the table by which a database is known.
const MARK: &str = "prony_database";
/// Where the server tells what is in a database besides tables.
const OTHERS: [(&str, &str); 2] = [
    (
        "information_schema.ROUTINES",
        "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()",
    ),
    (
        "information_schema.EVENTS",
        "SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()",
    ),
];

/// What became of a database whose tables were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Database {
    /// Prony did not make it; it stays.
    Foreign,
    /// Prony made it, but these in it are somebody else's; it stays.
    InUse(Vec<String>),
    /// Prony made it, nothing else was in it, and it is gone.
    Dropped,
}

/// Marks the session's database, which Prony has made this moment. One that is not marked, since Prony was
/// killed just then, stays.
pub(super) fn mark(session: &mut Session) -> Result<(), Error> {
    let comment = "prony 1 database: made by Prony, which drops it when nothing else is in it";
    let create = format!("CREATE TABLE {MARK} (nothing TINYINT NOT NULL PRIMARY KEY) COMMENT = '{comment}'");
    session.run("CREATE TABLE", MARK, &create).map(drop)
}

/// Drops the session's database if Prony made it and nobody has put anything into it.
pub(super) fn drop_if_own(session: &mut Session) -> Result<Database, Error> {
    let list =
        "SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
    let answer = session.run("SELECT", "information_schema.TABLES", list)?;
    let text = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let tables = answer.rows().iter().map(|row| (text(row, 0), text(row, 1)));
    let (marks, others): (Vec<_>, Vec<_>) =
        tables.partition(|(name, comment)| name == MARK && table::is_own(comment));
    if marks.is_empty() {
        return Ok(Database::Foreign);
    }
    let mut others: Vec<String> = others.into_iter().map(|(name, _)| name).collect();
    for (table, list) in OTHERS {
        let answer = session.run("SELECT", table, list)?;
        others.extend(answer.rows().iter().map(|row| text(row, 0)));
    }
    if !others.is_empty() {
        return Ok(Database::InUse(others));
    }
    session.drop_database()?;
    Ok(Database::Dropped)
}
