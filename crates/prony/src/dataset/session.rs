//! A connection that says, when something fails, on which server, in which statement and about which table.

use super::Error;
use load::{
    client::{self, Answer, Connection},
    spec::Target,
};
use std::time::Duration;

/// How long connecting and logging in may take.
const CONNECT: Duration = Duration::from_secs(10);
/// Server's error: there is no such schema.
const UNKNOWN_DATABASE: u16 = 1049;

/// A control connection in the data set's schema.
pub(super) struct Session {
    server: String,
    connection: Connection,
}

impl Session {
    /// Connects; makes the schema if it is not there and the account may.
    pub(super) fn open(target: &Target) -> Result<Self, Error> {
        let database = target.database.as_deref().ok_or(Error::NoDatabase)?;
        let server = target.address.to_string();
        let anywhere = Target { database: None, ..target.clone() };
        let connection = Connection::open(&anywhere, CONNECT)
            .map_err(|source| Error::Connect { server: server.clone(), source: Box::new(source) })?;
        let mut session = Self { server, connection };
        let quoted = format!("`{}`", database.replace('`', "``"));
        let enter = format!("USE {quoted}");
        match session.run("USE", database, &enter) {
            Err(Error::Statement { source, .. }) if source.code() == Some(UNKNOWN_DATABASE) => {
                session.run(
                    "CREATE DATABASE",
                    database,
                    &format!("CREATE DATABASE IF NOT EXISTS {quoted}"),
                )?;
                session.run("USE", database, &enter)?;
            }
            other => {
                other?;
            }
        }
        Ok(session)
    }

    /// Executes one statement about `table`.
    pub(super) fn run(&mut self, statement: &'static str, table: &str, sql: &str) -> Result<Answer, Error> {
        let answer = self.connection.query(sql);
        answer.map_err(|source| self.failed(statement, table, source))
    }

    /// The error of a statement about `table`.
    pub(super) fn failed(&self, statement: &'static str, table: &str, source: client::Error) -> Error {
        let (server, table) = (self.server.clone(), table.to_owned());
        Error::Statement { server, statement, table, source: Box::new(source) }
    }

    /// The connection, for what is not SQL text.
    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Where the server is.
    pub(super) fn server(&self) -> &str {
        &self.server
    }
}
