//! MySQL and MariaDB, with all that is built from them.

mod settle;

use super::{Family, Keeps, Pages, Unfinished};
use load::client::{Connection, Error};
use std::{collections::BTreeMap, time::Duration};

/// The family.
pub(super) struct MySql;

impl Family for MySql {
    fn unfinished(&self, connection: &mut Connection) -> Result<Option<Unfinished>, Error> {
        settle::unfinished(connection)
    }

    fn hurry(&self, connection: &mut Connection, variables: &BTreeMap<String, String>) -> Result<(), Error> {
        settle::hurry(connection, variables)
    }

    fn pages(&self, connection: &mut Connection, what: Pages, limit: Duration) -> Result<bool, Error> {
        settle::pages(connection, what, limit)
    }

    fn keeps_rows(&self, engine: Option<&str>) -> Keeps {
        match engine.unwrap_or("InnoDB").to_ascii_lowercase().as_str() {
            "innodb" | "" => Keeps::Crash,
            "memory" | "heap" => Keeps::Nothing,
            _ => Keeps::Restart,
        }
    }
}

/// The rows that a server answers; `None`: it refuses.
fn ask(connection: &mut Connection, sql: &str) -> Result<Option<Vec<Vec<Option<String>>>>, Error> {
    match connection.query(sql) {
        Err(Error::Server { .. }) => Ok(None),
        answer => Ok(Some(answer?.rows().to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keep_their_rows_as_their_engine_does() {
        let keeps = |engine| MySql.keeps_rows(engine);
        assert_eq!([None, Some(""), Some("innodb"), Some("InnoDB")].map(keeps), [Keeps::Crash; 4]);
        assert_eq!(["MyISAM", "Aria", "ARCHIVE"].map(Some).map(keeps), [Keeps::Restart; 3]);
        assert_eq!(["MEMORY", "heap"].map(Some).map(keeps), [Keeps::Nothing; 2]);
    }
}
