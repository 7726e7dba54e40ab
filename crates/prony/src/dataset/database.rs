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
    /// Prony made it, but the account cannot see all that may be in it: these rights are missing. It stays.
    Unseen(Vec<&'static str>),
    /// Prony made it, nothing else was in it, and it is gone.
    Dropped,
}

/// Rights of which each shows the routines of a database, as the server names them; those that do so only
/// where they hold for all databases come last.
const SHOW_ROUTINES: &str = "'CREATE ROUTINE', 'ALTER ROUTINE', 'EXECUTE'";
const SHOW_ALL_ROUTINES: &str = "'SELECT', 'SHOW_ROUTINE'";
/// The server's errors where an account lacks a right.
const DENIED: [u16; 3] = [1044, 1142, 1227];

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
    let unseen = unseen(session)?;
    if !unseen.is_empty() {
        return Ok(Database::Unseen(unseen));
    }
    session.drop_database()?;
    Ok(Database::Dropped)
}

/// Rights that the account lacks to see what is in the database: a server keeps silent about what it hides.
/// Tables and views are shown to whoever may drop them.
fn unseen(session: &mut Session) -> Result<Vec<&'static str>, Error> {
    let mut missing = Vec::new();
    match session.run("SHOW EVENTS", "the database", "SHOW EVENTS") {
        Err(Error::Statement { source, .. }) if source.code().is_some_and(|code| DENIED.contains(&code)) => {
            missing.push("EVENT");
        }
        answer => drop(answer?),
    }
    let host = "SUBSTRING_INDEX(CURRENT_USER(), '@', -1)";
    let user = format!("LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH({host}) - 1)");
    let own = format!("GRANTEE = CONCAT('''', {user}, '''@''', {host}, '''')");
    let here = format!(
        "SELECT PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE {own} AND PRIVILEGE_TYPE IN \
         ({SHOW_ROUTINES}) AND DATABASE() LIKE TABLE_SCHEMA"
    );
    let everywhere = format!(
        "SELECT PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES WHERE {own} AND PRIVILEGE_TYPE IN \
         ({SHOW_ROUTINES}, {SHOW_ALL_ROUTINES})"
    );
    let rights = format!("SELECT COUNT(*) FROM ({here} UNION ALL {everywhere}) AS rights");
    let answer = session.run("SELECT", "information_schema.USER_PRIVILEGES", &rights)?;
    if answer.first_value() == Some("0") {
        missing.push("CREATE ROUTINE");
    }
    Ok(missing)
}
