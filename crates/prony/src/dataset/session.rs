//! A connection whose errors say on which server, in which statement and for which table something failed.

use super::{Error, database};
use crate::family::{self, Family};
use load::{
    client::{self, Answer, Connection},
    lock::Lock,
    spec::Target,
};
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// How long connecting and logging in may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Most connections that load one data set: each holds a lock of its own, and more would not load faster.
pub(super) const LOADERS_MAX: u32 = 64;
/// How long connections of an interrupted load may take to end: what they have inserted must be rolled back.
const LOADERS_END: Duration = Duration::from_secs(300);
/// Between two looks at them.
const LOOK: Duration = Duration::from_millis(50);

/// A control connection in the data set's schema.
pub(super) struct Session {
    server: String,
    database: String,
    connection: Connection,
}

impl Session {
    /// Connects; makes the schema if it is not there and the account may.
    pub(super) fn open(target: &Target) -> Result<Self, Error> {
        let mut session = Self::connect(target)?;
        if session.enter()? {
            return Ok(session);
        }
        let database = session.database.clone();
        let is_made =
            session.about("CREATE DATABASE", &database, |family, control| family.make(control, &database))?;
        session.enter()?;
        // Where somebody else was faster it is theirs.
        if is_made {
            database::mark(&mut session)?;
        }
        Ok(session)
    }

    /// Connects to a schema that is there; `None`: it is not.
    pub(super) fn open_existing(target: &Target) -> Result<Option<Self>, Error> {
        let mut session = Self::connect(target)?;
        Ok(session.enter()?.then_some(session))
    }

    fn connect(target: &Target) -> Result<Self, Error> {
        let database = target.database.clone().ok_or(Error::NoDatabase)?;
        let server = target.address.to_string();
        let anywhere = Target { database: None, ..target.clone() };
        let mut connection = Connection::open(&anywhere, CONNECT)
            .map_err(|source| Error::Connect { server: server.clone(), source: Box::new(source) })?;
        // loading, indexes and checksums take as long as they take
        connection.set_timeout(None);
        Ok(Self { server, database, connection })
    }

    /// Whether the schema is there.
    fn enter(&mut self) -> Result<bool, Error> {
        let database = self.database.clone();
        self.about("USE", &database, |family, control| family.enter(control, &database))
    }

    /// Removes the schema with everything in it.
    pub(super) fn drop_database(&mut self) -> Result<(), Error> {
        let database = self.database.clone();
        self.about("DROP DATABASE", &database, |family, control| family.remove(control, &database))
    }

    /// Keeps other Pronys out of the schema as long as the session lives.
    pub(super) fn lock(&mut self) -> Result<(), Error> {
        self.take_lock("data")
    }

    /// Tells later loads that this connection, number `loader` of its load, may still have something to
    /// insert, even when its Prony is gone: the server executes what it had received, in its own time.
    pub(super) fn say_loading(&mut self, loader: u32) -> Result<(), Error> {
        self.take_lock(&format!("load {loader}"))
    }

    fn take_lock(&mut self, purpose: &str) -> Result<(), Error> {
        let is_ours = self.ask_lock("SELECT GET_LOCK", |family, control| family.lock(control, purpose))?;
        if is_ours { Ok(()) } else { Err(self.busy()) }
    }

    /// Waits until no connection of an earlier load is left, so that the tables do not change any more.
    pub(super) fn wait_for_loaders(&mut self, stop: &AtomicBool) -> Result<(), Error> {
        let loaders: Vec<String> = (0..LOADERS_MAX).map(|loader| format!("load {loader}")).collect();
        let started = Instant::now();
        while !self.ask_lock("SELECT IS_FREE_LOCK", |family, control| family.are_free(control, &loaders))? {
            if stop.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            if started.elapsed() > LOADERS_END {
                return Err(self.busy());
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// A server without such locks is used by one Prony at a time, or its tables say so.
    fn ask_lock(
        &mut self,
        statement: &'static str,
        ask: impl FnOnce(&dyn Family, &mut Connection) -> Result<Lock, client::Error>,
    ) -> Result<bool, Error> {
        let database = self.database.clone();
        match self.about(statement, &database, ask)? {
            Lock::Taken | Lock::Unknown => Ok(true),
            Lock::Held => Ok(false),
            // out of memory, or the thread was killed; nobody knows who has the lock
            Lock::Failed => Err(Error::LockUnknown { server: self.server.clone(), database, statement }),
        }
    }

    fn busy(&self) -> Error {
        Error::Busy { server: self.server.clone(), database: self.database.clone() }
    }

    /// Executes one statement about `table`.
    pub(super) fn run(&mut self, statement: &'static str, table: &str, sql: &str) -> Result<Answer, Error> {
        let answer = self.connection.query(sql);
        answer.map_err(|source| self.failed(statement, table, source))
    }

    /// Does what a family does in its own way; where it fails, `statement` about `table` has.
    pub(super) fn about<T>(
        &mut self,
        statement: &'static str,
        table: &str,
        job: impl FnOnce(&dyn Family, &mut Connection) -> Result<T, client::Error>,
    ) -> Result<T, Error> {
        let done = job(family::spoken(), &mut self.connection);
        done.map_err(|source| self.failed(statement, table, source))
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
