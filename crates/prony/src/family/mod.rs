//! What belongs to one family of database servers: how its servers settle and warm up, what they count and
//! what they call it, their errors, their SQL. The rest of Prony knows all this in words of no family.
//!
//! MySQL and MariaDB are two members of one family, `mysql`. Another family is a folder beside that one with
//! its own [`Family`], and a wire protocol behind [`load::client::Connection`].

mod conditions;
mod copies;
mod counters;
mod dialect;
mod explained;
mod mysql;
mod schema;

pub use conditions::{Reader, Series, Variables};
pub use copies::{Copied, Copies, CopyError, CopyKind, Upgrade};
pub use counters::{COUNTERS, Counter, Kind, OwnNames, counter, rename};
pub use dialect::{Definition, Dialect, Domain};
pub use explained::{Access, Explained};
pub use schema::{Aspect, Found, Names, Schema, TableKind, TableSize};

use load::client::{Connection, Error};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// The family of the servers that [`load::client`] can speak to. There is one; once there are more, this
/// takes the server in question as an argument, and the compiler finds every caller that must supply it.
#[must_use]
pub fn spoken() -> &'static dyn Family {
    &mysql::MySql
}

/// What Prony needs to know of a family, and its servers to do.
pub trait Family: Copies + Dialect + Schema + Sync {
    /// What a server still has to do for loads that are over; `None`: it does not say.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn unfinished(&self, connection: &mut Connection) -> Result<Option<Unfinished>, Error>;

    /// Makes a server write its dirty pages now and fast, by its global variables, which have these values;
    /// the caller restores them. A server that refuses is only slower.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn hurry(&self, connection: &mut Connection, variables: &Variables) -> Result<(), Error>;

    /// How a server would execute a statement; `None`: it does not say, or there is nothing to say of it.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn explain(&self, connection: &mut Connection, sql: &str) -> Result<Option<Explained>, Error>;

    /// Makes a server note which pages its buffer pool has, or read those that it noted. False: it cannot, or
    /// not within `limit`.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn pages(&self, connection: &mut Connection, what: Pages, limit: Duration) -> Result<bool, Error>;

    /// Whether tables of a storage engine (`None`: the default one) keep their rows through a restart, and
    /// through a crash.
    fn keeps_rows(&self, engine: Option<&str>) -> Keeps;

    /// What repeatedly asks one server for its counters, over one connection: those that have a name in every
    /// family, or `all` of them.
    fn status(&self, all: bool) -> Box<dyn Status>;

    /// What the servers call what they count.
    fn own_names(&self) -> OwnNames;

    /// Where a server keeps its data, and how administrators come in.
    ///
    /// # Errors
    /// Where it does not say.
    fn whereabouts(&self, connection: &mut Connection) -> Result<Whereabouts, Error>;

    /// What an error of a server is about, by its number; `None`: nothing that Prony handles.
    fn class(&self, code: u16) -> Option<Class>;

    /// The value of a condition of a comparison on a server with these variables, some of whose `names` tell
    /// it; `None`: not known, or without a meaning there.
    fn condition(&self, reader: Reader, names: &[String], variables: &Variables) -> Option<String>;

    /// When the series of versions were first fit for production.
    fn series(&self) -> &'static [Series];

    /// A server's variables, with what `status` says of those that change while it runs.
    fn now(&self, variables: &Variables, status: &BTreeMap<String, String>) -> Variables;

    /// Who built a server with these variables: a distribution compiles with other options than the vendor.
    fn builder(&self, variables: &Variables) -> Option<String>;

    /// The setting that says how large the buffer pool is.
    fn buffer_pool_setting(&self) -> &'static str;
}

/// What an error of a server is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The transaction was rolled back to let others go on: the same again may succeed.
    Conflict,
    /// It took longer than the limit that it was given.
    GivenUp,
    /// There is no such database.
    NoDatabase,
    /// A database of that name is there already.
    DatabaseExists,
    /// The account lacks a right.
    Denied,
    /// No room on disk, or in a table.
    Full,
    /// A statement is larger than the server takes.
    TooLarge,
    /// There is no such storage engine.
    NoEngine,
    /// The server does not prepare such statements; they can be sent as text.
    NotPrepared,
    /// The server takes no writes.
    ReadOnly,
    /// Too many prepared statements.
    TooManyPrepared,
}

/// Asks one server what it counts.
pub trait Status: Send {
    /// What it has counted by now. Missing counters are absent, and a statement that it refuses is not sent
    /// again.
    ///
    /// # Errors
    /// Where it does not answer.
    fn read(&mut self, connection: &mut Connection) -> Result<Told, Error>;
}

/// What a server has counted, by paths below its own: `status/NAME` under the names of [`COUNTERS`], or under
/// its own name where it has no other; `state/NAME`, how many connections are doing what.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// How long it has been running, s.
    pub uptime: f64,
    /// What only grows.
    pub counts: Vec<(String, f64)>,
    /// What goes up and down.
    pub levels: Vec<(String, f64)>,
}

/// Where a server keeps its data, and how administrators come in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// Its data directory, on its own machine.
    pub data_directory: Option<PathBuf>,
    /// The port that is kept free for administrators, with its address if that is another one.
    pub reserved: Option<(Option<String>, u16)>,
}

/// What a server still has to do for loads that are over.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fmt::Write as _, fs, path::Path};

    /// `docs/counters.md`
    fn page() -> String {
        let mut page =
            "# What servers count\n\nThe names under which Prony shows and stores the counters of \
                        servers, what they are, and what MySQL and MariaDB call\nthem: status variables, or \
                        metrics of INNODB_METRICS; of several, the first that a server has. Whatever counts \
                        is shown per second.\nWith `status = \"all\"` in `[telemetry]` all others are kept \
                        too, under their own names.\n\n| name | what it is | MySQL and MariaDB |\n\
                        |---|---|---|\n"
                .to_owned();
        for (Counter { name, what, .. }, (_, own)) in COUNTERS.iter().zip(spoken().own_names()) {
            let own = own.iter().filter_map(|own| Some(format!("`{}`", own.split_once('/')?.1)));
            let _ = writeln!(page, "| `{name}` | {what} | {} |", own.collect::<Vec<_>>().join(", "));
        }
        page
    }

    #[test]
    fn counters_are_documented_as_schemas_are() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/counters.md");
        if std::env::var_os("PRONY_UPDATE").is_some() {
            fs::write(&path, page()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), page(), "`make schemas` writes the page anew");
    }
}
