//! Named locks of a server (`GET_LOCK`). They hold across processes and hosts, and end with the connection
//! that took them.

use crate::client::{Connection, Error};
use std::time::Duration;

/// Server's errors: there is no such function, it is not supported (clusters refuse it, the second by an
/// error without a number of its own), the account may not use functions.
pub const NO_LOCKS: [u16; 5] = [1105, 1128, 1235, 1305, 1370];

/// What became of the wish for a named lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// This connection holds it, until it ends.
    Taken,
    /// Another connection holds it.
    Held,
    /// The server answered NULL: it failed, or somebody ended the statement. Nobody was given the lock.
    Failed,
    /// The server has no such locks.
    Unknown,
}

impl Connection {
    /// Takes a lock, and waits for it for at most `wait`, whole seconds. `name` is SQL that yields its name:
    /// 64 characters is the longest that MySQL takes.
    ///
    /// Before MySQL 5.7 and MariaDB 10.0.2, a server releases the lock that this connection held before.
    ///
    /// # Errors
    /// Where the connection breaks.
    pub fn take_lock(&mut self, name: &str, wait: Duration) -> Result<Lock, Error> {
        let answer = match self.query(&format!("SELECT GET_LOCK({name}, {})", wait.as_secs())) {
            Err(Error::Server { code, .. }) if NO_LOCKS.contains(&code) => return Ok(Lock::Unknown),
            answer => answer?,
        };
        Ok(match answer.rows().first().and_then(|row| row.first()) {
            Some(Some(told)) if told == "1" => Lock::Taken,
            Some(Some(told)) if told == "0" => Lock::Held,
            Some(None) => Lock::Failed,
            // One that does not evaluate what it is asked.
            _ => Lock::Unknown,
        })
    }

    /// The server's number of the connection that holds a lock; `None`: nobody does, or it does not say.
    ///
    /// # Errors
    /// Where the connection breaks.
    pub fn lock_holder(&mut self, name: &str) -> Result<Option<u64>, Error> {
        match self.query(&format!("SELECT IS_USED_LOCK({name})")) {
            Err(Error::Server { .. }) => Ok(None),
            answer => Ok(answer?.first_value().and_then(|number| number.parse().ok())),
        }
    }
}
