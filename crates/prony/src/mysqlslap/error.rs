//! What ends `prony mysqlslap` early. Scripts look for some of these words, which are mysqlslap's.

use std::{io, process::ExitStatus};

/// Why a command line was not carried out to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("unknown option '{0}'")]
    Unknown(String),
    #[error("option '{0}' requires an argument")]
    NoValue(String),
    #[error("the option '{option}' takes {takes}, not '{given}'")]
    Value { option: String, takes: &'static str, given: String },
    #[error(
        "the load types key and update need a key: use --auto-generate-sql-add-autoincrement or \
         --auto-generate-sql-guid-primary"
    )]
    NeedsKey,
    #[error("nothing to do: use --auto-generate-sql or --query")]
    NothingToDo,
    #[error("there is no port {0}")]
    Port(u64),
    #[error("cannot read {0}: {1}")]
    Read(String, io::Error),
    #[error("cannot write {0}: {1}")]
    Write(String, io::Error),
    #[error("cannot watch the connections: {0}")]
    Watch(#[from] io::Error),
    #[error("{0}")]
    Way(#[from] load::hub::Error),
    #[error("Error when connecting to server: {0}")]
    Login(load::client::Error),
    #[error("Error when connecting to server: {code} {message}")]
    Refused { code: u16, message: String },
    #[error("Cannot run query {sql} ERROR : {error}")]
    Control { sql: String, error: load::client::Error },
    #[error("Cannot run query {sql} ERROR : {message}")]
    Statement { sql: String, message: String },
    #[error("Cannot run query {sql} ERROR : {code} {message}")]
    Lost { sql: String, code: u16, message: String },
    #[error(
        "the schema `{0}` exists, and the run would drop it; choose another one with --create-schema, or \
         drop it yourself"
    )]
    SchemaExists(String),
    #[error("the table t1 has no keys")]
    NoKeys,
    #[error("--{option}: `{command}` failed: {status}")]
    Command { option: &'static str, command: String, status: ExitStatus },
    #[error("--{option}: `{command}`: {error}")]
    Shell { option: &'static str, command: String, error: io::Error },
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// A value that an option cannot have.
    pub(super) fn value(option: &str, takes: &'static str, given: &str) -> Self {
        Self::Value { option: option.to_owned(), takes, given: given.to_owned() }
    }
}
