//! What can go wrong with a data set, and what to do about it.

use crate::{
    family::{self, Class},
    layout::files,
};
use load::client;
use std::path::PathBuf;

/// Why a data set could not be made, checked or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The target names no schema.
    #[error("no database given: add one to the server's address, as in mysql://user@host:3306/test")]
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
        "{server}: Prony did not create the table `{table}` in `{database}` and does not touch it; drop it \
         yourself if nobody needs it, or choose another database"
    )]
    Foreign {
        /// Address.
        server: String,
        /// Schema.
        database: String,
        /// The table.
        table: String,
    },
    /// There is a stored procedure of that name that Prony did not make.
    #[error(
        "{server}: there is already a stored procedure `{procedure}` in `{database}` that Prony did not \
         create; use another database"
    )]
    ForeignProcedure {
        /// Address.
        server: String,
        /// Schema.
        database: String,
        /// The procedure.
        procedure: String,
    },
    /// A workload writes into something that Prony did not make.
    #[error(
        "{server}: the workload writes to the {kind} `{table}` in `{database}`, which Prony did not create \
         (tables created by sysbench do not have its mark either). `prony prepare` creates tables in another \
         database; if this one may be changed, use --write-to-my-tables, or in a study `write_to_my_tables = \
         true` in the server's section"
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
    /// It is unknown whether a workload writes into something that Prony did not create.
    #[error(
        "{server}: cannot tell which tables are changed by: {what}. If it may change your tables, use \
         --write-to-my-tables, or in a study `write_to_my_tables = true` in the server's section"
    )]
    Untold {
        /// Address.
        server: String,
        /// The statement or function.
        what: String,
    },
    /// Another Prony is at work on the same tables.
    #[error(
        "{server}: another Prony process is creating or removing data in `{database}`; wait until it has \
             finished"
    )]
    Busy {
        /// Address.
        server: String,
        /// Schema.
        database: String,
    },
    /// The server does not say who has the lock.
    #[error(
        "{server}: {statement} returned NULL, so it is unknown whether another Prony process is creating or \
         removing data in `{database}`; the server is out of memory or killed the statement: try again"
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
    /// The server refused a statement of a file.
    #[error("{server}: {}, line {line}: {source}{}; in: {text}", file.display(), advice(.source))]
    File {
        /// Address.
        server: String,
        /// The file.
        file: PathBuf,
        /// The line where the statement begins.
        line: u64,
        /// The begin of the statement.
        text: String,
        /// What happened.
        source: Box<client::Error>,
    },
    /// A file cannot be read any more.
    #[error(transparent)]
    Unreadable(#[from] files::Error),
    /// Two servers hold something else after loading the same files.
    #[error(
        "the same files gave other contents than on server {other}: {differences}. Results on different data \
         cannot be compared: look for a character set, collation, default or SQL mode that the files leave \
         to the server, and add it to them"
    )]
    Different {
        /// The server that was loaded before.
        other: String,
        /// Tables with their rows here and there.
        differences: String,
    },
    /// The contents are not what was loaded.
    #[error(
        "{server}: `{table}` has {found} rows with numbers up to {last} after loading; {expected} were \
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
    /// The caller asked to stop. What is loaded so far stays, and the next call resumes from there.
    #[error("interrupted; loaded rows are kept, and the next attempt continues from there")]
    Interrupted,
}

/// What to do about a server's refusal, where its own words do not say it.
fn advice(error: &client::Error) -> &'static str {
    match error.code().and_then(|code| family::spoken().class(code)) {
        Some(Class::Full) => {
            "; the server's disk is full, or the table has reached its maximum size: free space or load \
             fewer rows"
        }
        Some(Class::Denied) => {
            "; grant the account the privileges CREATE, DROP, ALTER, INDEX, INSERT, SELECT and DELETE on the \
             database"
        }
        Some(Class::TooLarge) => "; raise the server's max_allowed_packet to 1M or more",
        Some(Class::NoEngine) => "; SHOW ENGINES lists the server's engines",
        Some(Class::ReadOnly) => "; the server is read-only: is it a replica?",
        Some(Class::TooManyPrepared) => "; raise the server's max_prepared_stmt_count",
        _ => "",
    }
}
