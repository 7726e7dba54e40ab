//! How databases are selected, created and examined.

use super::{MySql, ask, form};
use crate::family::{Aspect, Class, Dialect as _, Family as _, Found, Names, Schema, TableKind, TableSize};
use load::{
    client::{Connection, Error},
    lock::{Lock, NO_LOCKS},
};
use std::time::Duration;

/// How long a lock is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Names that one question is about.
const NAMES_MAX: usize = 500;
/// Rights of which each shows the routines of a database, as the server names them; those that do so only
/// where they hold for all databases come last.
const SHOW_ROUTINES: &str = "'CREATE ROUTINE', 'ALTER ROUTINE', 'EXECUTE'";
const SHOW_ALL_ROUTINES: &str = "'SELECT', 'SHOW_ROUTINE'";

impl Schema for MySql {
    fn any(&self) -> &'static str {
        "information_schema"
    }

    fn enter(&self, connection: &mut Connection, database: &str) -> Result<bool, Error> {
        unless(connection, &format!("USE {}", self.quoted(database)), Class::NoDatabase)
    }

    fn make(&self, connection: &mut Connection, database: &str) -> Result<bool, Error> {
        unless(connection, &format!("CREATE DATABASE {}", self.quoted(database)), Class::DatabaseExists)
    }

    fn remove(&self, connection: &mut Connection, database: &str) -> Result<(), Error> {
        connection.query(&format!("DROP DATABASE {}", self.quoted(database))).map(drop)
    }

    fn lock(&self, connection: &mut Connection, purpose: &str) -> Result<Lock, Error> {
        connection.take_lock(&lock_name(purpose), LOCK_WAIT)
    }

    fn are_free(&self, connection: &mut Connection, purposes: &[String]) -> Result<Lock, Error> {
        let free: Vec<String> =
            purposes.iter().map(|purpose| format!("IS_FREE_LOCK({})", lock_name(purpose))).collect();
        let answer = match connection.query(&format!("SELECT {}", free.join(" AND "))) {
            Err(Error::Server { code, .. }) if NO_LOCKS.contains(&code) => return Ok(Lock::Unknown),
            answer => answer?,
        };
        Ok(match answer.first_value() {
            Some("1") => Lock::Taken,
            Some("0") => Lock::Held,
            _ => Lock::Failed,
        })
    }

    fn tables(
        &self,
        connection: &mut Connection,
        database: Option<&str>,
        names: Names<'_>,
    ) -> Result<Vec<Found>, Error> {
        let database = database.map_or_else(|| "DATABASE()".to_owned(), |name| self.literal(name));
        let list = "SELECT TABLE_NAME, TABLE_TYPE, TABLE_COMMENT FROM information_schema.TABLES WHERE";
        let ask = |and: String| format!("{list} TABLE_SCHEMA = {database}{and}");
        let questions = match names {
            Names::Any => vec![ask(String::new())],
            Names::Of(names) => {
                let part = |part| ask(format!(" AND TABLE_NAME IN ({})", literals(part)));
                names.chunks(NAMES_MAX).map(part).collect()
            }
        };
        let mut all = Vec::new();
        for question in questions {
            all.extend(connection.query(&question)?.rows().iter().filter_map(|row| found(row)));
        }
        Ok(all)
    }

    fn functions(
        &self,
        connection: &mut Connection,
        database: &str,
        names: &[String],
    ) -> Result<Vec<String>, Error> {
        let mut all = Vec::new();
        for part in names.chunks(NAMES_MAX) {
            let stored = format!(
                "SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = \
                 'FUNCTION' AND ROUTINE_SCHEMA = {} AND ROUTINE_NAME IN ({})",
                self.literal(database),
                literals(part)
            );
            let answer = connection.query(&stored)?;
            all.extend(answer.rows().iter().filter_map(|row| match row.as_slice() {
                [Some(name), _] => Some(name.clone()),
                _ => None,
            }));
        }
        Ok(all)
    }

    fn procedures(&self, connection: &mut Connection) -> Result<Vec<(String, String)>, Error> {
        let asked = "SELECT ROUTINE_NAME, ROUTINE_COMMENT FROM information_schema.ROUTINES WHERE \
                     ROUTINE_SCHEMA = DATABASE() AND ROUTINE_TYPE = 'PROCEDURE'";
        let answer = connection.query(asked)?;
        let one = |row: &Vec<Option<String>>| Some((row.first()?.clone()?, row.get(1)?.clone()?));
        Ok(answer.rows().iter().filter_map(one).collect())
    }

    fn form(&self, connection: &mut Connection, table: &str) -> Result<Vec<(String, Aspect, String)>, Error> {
        form::form(connection, table)
    }

    fn columns(&self, connection: &mut Connection, table: &str) -> Result<Vec<(String, String)>, Error> {
        let asked = format!(
            "SELECT COLUMN_NAME, UPPER(DATA_TYPE) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = \
             DATABASE() AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
            self.literal(table)
        );
        let answer = connection.query(&asked)?;
        let column = |row: &Vec<Option<String>>| Some((row.first()?.clone()?, row.get(1)?.clone()?));
        Ok(answer.rows().iter().filter_map(column).collect())
    }

    fn warnings(&self, connection: &mut Connection) -> Result<Vec<String>, Error> {
        form::warnings(connection)
    }

    fn others(&self, connection: &mut Connection) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for (what, table) in [("ROUTINE", "ROUTINES"), ("EVENT", "EVENTS")] {
            let list = format!(
                "SELECT {what}_NAME FROM information_schema.{table} WHERE {what}_SCHEMA = DATABASE()"
            );
            let answer = connection.query(&list)?;
            names.extend(answer.rows().iter().map(|row| row.first().cloned().flatten().unwrap_or_default()));
        }
        Ok(names)
    }

    fn unseen(&self, connection: &mut Connection) -> Result<Vec<&'static str>, Error> {
        let mut missing = Vec::new();
        if !unless(connection, "SHOW EVENTS", Class::Denied)? {
            missing.push("EVENT");
        }
        let host = "SUBSTRING_INDEX(CURRENT_USER(), '@', -1)";
        let user = format!("LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH({host}) - 1)");
        let own = format!("GRANTEE = CONCAT('''', {user}, '''@''', {host}, '''')");
        let here = format!(
            "SELECT PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE {own} AND PRIVILEGE_TYPE \
             IN ({SHOW_ROUTINES}) AND DATABASE() LIKE TABLE_SCHEMA"
        );
        let everywhere = format!(
            "SELECT PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES WHERE {own} AND PRIVILEGE_TYPE IN \
             ({SHOW_ROUTINES}, {SHOW_ALL_ROUTINES})"
        );
        let rights = format!("SELECT COUNT(*) FROM ({here} UNION ALL {everywhere}) AS rights");
        if connection.query(&rights)?.first_value() == Some("0") {
            missing.push("CREATE ROUTINE");
        }
        Ok(missing)
    }

    fn ignores_case(&self, connection: &mut Connection) -> Result<bool, Error> {
        let lower = connection.query("SELECT @@lower_case_table_names")?;
        Ok(matches!(lower.first_value(), Some("1" | "2")))
    }

    fn sizes(&self, connection: &mut Connection, tables: &[String]) -> Result<Vec<TableSize>, Error> {
        // MySQL 8.0 and later tell what they knew a day ago; others do not have this variable.
        ask(connection, "SET SESSION information_schema_stats_expiry = 0")?;
        // Right after loading most have not counted yet.
        for table in tables {
            connection.query(&format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {}", self.quoted(table)))?;
        }
        let mut sizes = Vec::new();
        for part in tables.chunks(NAMES_MAX) {
            let select = format!(
                "SELECT ENGINE, ROW_FORMAT, CREATE_OPTIONS, DATA_LENGTH, INDEX_LENGTH FROM \
                 information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({})",
                literals(part)
            );
            sizes.extend(connection.query(&select)?.rows().iter().map(|row| size(row)));
        }
        Ok(sizes)
    }

    fn whole_reads(&self, connection: &mut Connection, table: &str) -> Result<Vec<String>, Error> {
        let asked = format!(
            "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
             AND TABLE_NAME = {} AND INDEX_TYPE = 'BTREE'",
            self.literal(table)
        );
        let answer = connection.query(&asked)?;
        let indexes: Vec<&str> = answer.rows().iter().filter_map(|row| row.first()?.as_deref()).collect();
        // rows without a primary key are in no index
        let rows = if indexes.contains(&"PRIMARY") { None } else { Some(" USE INDEX ()".to_owned()) };
        let by_index = indexes.iter().map(|index| self.by_index(Some(&self.quoted(index))));
        let ways = rows.into_iter().chain(by_index);
        Ok(ways.map(|way| format!("SELECT COUNT(*) FROM {}{way}", self.quoted(table))).collect())
    }

    fn begin_loading(&self, connection: &mut Connection) -> Result<Option<String>, Error> {
        // A conversion of digits would cost a fifth of the load.
        connection.query("SET NAMES binary")?;
        let mode = "CONCAT(@@SESSION.sql_mode, ',NO_ENGINE_SUBSTITUTION')";
        connection.query(&format!("SET SESSION sql_mode = {mode}"))?;
        Ok(connection.query("SELECT CONNECTION_ID()")?.first_value().map(str::to_owned))
    }

    fn end_statement(&self, connection: &mut Connection, number: &str) -> Result<(), Error> {
        connection.query(&format!("KILL QUERY {number}")).map(drop)
    }
}

/// Executes a statement; false: the server refused with an error of this class.
fn unless(connection: &mut Connection, sql: &str, refusal: Class) -> Result<bool, Error> {
    match connection.query(sql) {
        Err(Error::Server { code, .. }) if MySql.class(code) == Some(refusal) => Ok(false),
        answer => answer.map(|_| true),
    }
}

fn found(row: &[Option<String>]) -> Option<Found> {
    // A server that knows nothing but the protocol answers anything.
    let [name, kind, comment] = row else { return None };
    let kind = match kind.as_deref() {
        Some("VIEW" | "SYSTEM VIEW") => TableKind::View,
        Some("SEQUENCE") => TableKind::Sequence,
        Some("BASE TABLE") => TableKind::Table,
        _ => TableKind::Special,
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Some(Found { name: text(name), kind, comment: text(comment) })
}

fn size(row: &[Option<String>]) -> TableSize {
    let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
    let form = [text(0), text(1), text(2)].into_iter().filter(|part| !part.is_empty());
    TableSize {
        data_bytes: text(3).parse().unwrap_or(0),
        index_bytes: text(4).parse().unwrap_or(0),
        form: form.collect::<Vec<_>>().join(", "),
    }
}

fn literals(names: &[String]) -> String {
    names.iter().map(|name| MySql.literal(name)).collect::<Vec<_>>().join(", ")
}

/// SQL for the name of a lock on the database: 64 characters is the longest that MySQL takes.
fn lock_name(purpose: &str) -> String {
    format!("CONCAT('prony {purpose} ', LEFT(DATABASE(), 48))")
}
