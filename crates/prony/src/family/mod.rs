//! What is a family of database servers' own: how its servers settle and warm up, what they count and call
//! things, their errors, their SQL. All else of Prony knows what is said here in words of no family.
//!
//! MySQL and MariaDB are two members of one family: `mysql`. Another family is a folder beside that one with
//! its own [`Family`], and a wire protocol behind [`load::client::Connection`].

mod mysql;

use load::client::{Connection, Error};
use std::{collections::BTreeMap, time::Duration};

/// The family of the servers that [`load::client`] can speak to. There is one; where there are more, this
/// asks which server is meant, and the compiler finds all who have to say.
#[must_use]
pub fn spoken() -> &'static dyn Family {
    &mysql::MySql
}

/// What Prony needs to know of a family, and its servers to do.
pub trait Family: Sync {
    /// What a server has still to do for loads that are over; `None`: it does not say.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn unfinished(&self, connection: &mut Connection) -> Result<Option<Unfinished>, Error>;

    /// Makes a server write its dirty pages now and fast, by its global variables, which have these values;
    /// the caller puts them back. A server that refuses is slower.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn hurry(&self, connection: &mut Connection, variables: &BTreeMap<String, String>) -> Result<(), Error>;

    /// Lets a server note which pages its buffer pool has, or read those that it noted. False: it cannot, or
    /// not within `limit`.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn pages(&self, connection: &mut Connection, what: Pages, limit: Duration) -> Result<bool, Error>;

    /// Whether tables of a storage engine, the default one if none is named, have their rows after a restart,
    /// and after a crash.
    fn keeps_rows(&self, engine: Option<&str>) -> Keeps;
}

/// What a server has still to do for loads that are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished {
    /// Pages that are not written.
    pub dirty_pages: u64,
    /// Pages of the buffer pool.
    pub pages: u64,
    /// Transactions whose old versions are not purged.
    pub history: u64,
}

/// What a server does with the list of pages of its buffer pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Notes it.
    Note,
    /// Reads what is on it.
    Read,
}

/// What tables keep their rows through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keeps {
    /// Neither: they live in memory.
    Nothing,
    /// A shutdown in order, but not a crash.
    Restart,
    /// A crash as well.
    Crash,
}
