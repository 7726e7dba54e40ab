//! What can go wrong with a data set, and what to do about it.

use crate::family::{self, Class};
use load::client;

/// Why a data set could not be made, checked or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The target names no schema.
    #[error("no database is named: add one to the server's address, as in mysql://user@host:3306/test")]
    NoDatabase,
    /// No connection, or the login was refused.
    #[error("{server}: {source}")]
    Connect {
        /// Address.
        server: String,
        /// What happened.
        source: Box<client::Error>,
    },
    /// A table of that name exists and Prony did not make it.
    #[error(
        "{server}: the table `{table}` in `{database}` was not made by Prony, and is not touched; drop it \
         yourself if nobody needs it, or name another database"
    )]
    Foreign {
        /// Address.
        server: String,
        /// Schema.
        database: String,
        /// The table.
        table: String,
    },
    /// A workload writes into something that Prony did not make.
    #[error(
        "{server}: the workload writes into the {kind} `{table}` in `{database}`, which Prony did not make \
         (nor do tables that sysbench made have its mark). `prony prepare` makes tables of its own in \
         another database; if it may be changed, say so: --write-to-my-tables, or in a study \
         `write_to_my_tables = true` in the section of the server"
    )]
    NotOurs {
        /// Address.
        server: String,
        /// Schema.
        database: String,
        /// Its name.
        table: String,
        /// `table`, `view` or `sequence`.
        kind: &'static str,
    },
    /// It cannot be told whether a workload writes into something that Prony did not make.
    #[error(
        "{server}: it cannot be told which tables are changed by: {what}. If any of yours may be, say so: \
         --write-to-my-tables, or in a study `write_to_my_tables = true` in the section of the server"
    )]
    Untold {
        /// Address.
        server: String,
        /// The statement or function.
        what: String,
    },
    /// Another Prony is at work on the same tables.
    #[error("{server}: another Prony is making or removing data in `{database}`; wait until it is done")]
    Busy {
        /// Address.
        server: String,
        /// Schema.
        database: String,
    },
    /// The server does not say who has the lock.
    #[error(
        "{server}: {statement} answers NULL, so it is not known whether another Prony makes or removes data \
         in `{database}`; the server is out of memory, or ended the statement: try again"
    )]
    LockUnknown {
        /// Address.
        server: String,
        /// Schema.
        database: String,
        /// What was asked.
        statement: &'static str,
    },
    /// The server refused a statement, or the connection broke in it.
    #[error("{server}: {statement} {table}: {source}{}", advice(.source))]
    Statement {
        /// Address.
        server: String,
        /// Kind of the statement, such as `CREATE INDEX`.
        statement: &'static str,
        /// What it was about: a table or a schema.
        table: String,
        /// What happened.
        source: Box<client::Error>,
    },
    /// The contents are not what was loaded.
    #[error(
        "{server}: `{table}` has {found} rows with numbers up to {last} after loading, {expected} are \
         expected"
    )]
    Incomplete {
        /// Address.
        server: String,
        /// The table.
        table: String,
        /// Rows counted.
        found: u64,
        /// Highest number.
        last: u64,
        /// Rows wanted.
        expected: u64,
    },
    /// The caller asked to stop. What is loaded so far stays, and the next call goes on from there.
    #[error("interrupted; what is loaded stays, and the next attempt goes on from there")]
    Interrupted,
}

/// What to do about a server's refusal, where its own words do not say it.
fn advice(error: &client::Error) -> &'static str {
    match error.code().and_then(|code| family::spoken().class(code)) {
        Some(Class::Full) => {
            "; the server's disk, or the size that it allows a table, is full: make room or ask for fewer \
             rows"
        }
        Some(Class::Denied) => {
            "; the account needs the privileges CREATE, DROP, ALTER, INDEX, INSERT, SELECT and DELETE on the \
             database"
        }
        Some(Class::TooLarge) => "; raise the server's max_allowed_packet to 1M or more",
        Some(Class::NoEngine) => "; SHOW ENGINES lists what the server has",
        Some(Class::ReadOnly) => "; the server is read-only: is it a replica?",
        Some(Class::TooManyPrepared) => "; raise the server's max_prepared_stmt_count",
        _ => "",
    }
}
