//! The file: where it is, how it is opened, which format it has. A migration is one entry in [`MIGRATIONS`];
//! SQLite's `user_version` says how many of them a file has seen.

use super::{error::Error, migrate};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::{Access, access};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};
use url::Url;

/// Marks an SQLite file as Prony's: `PRNY`.
const APPLICATION_ID: i64 = 0x5052_4e59;

/// How long a process waits for another one that writes. A write takes milliseconds, but for an import of
/// many runs.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// The same of a process that carries a run out: it has more to lose.
pub(super) const BUSY_TIMEOUT_OF_RUN: Duration = Duration::from_secs(300);

/// What brings a file from one format to the next.
type Migration = fn(&Transaction<'_>) -> rusqlite::Result<()>;

/// From format n to n + 1. Never change an entry that was released; add one.
const MIGRATIONS: &[Migration] = &[migrate::first, migrate::parts];

/// The user's own store: `$XDG_DATA_HOME/prony/prony.sqlite`, else `~/.local/share/prony/prony.sqlite`.
///
/// # Errors
/// [`Error::NoHome`] where neither is known.
pub fn default_path() -> Result<PathBuf, Error> {
    // The XDG specification says that a relative path there is to be ignored.
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let data = data.or_else(|| Some(home()?.join(".local/share"))).ok_or(Error::NoHome)?;
    Ok(data.join("prony").join("prony.sqlite"))
}

/// Opens a file, or makes it, and brings it to the newest format. One that may not be written can still be
/// asked.
pub(super) fn open(path: &Path) -> Result<Connection, Error> {
    if path.exists() && access(path, Access::WRITE_OK).is_err() {
        let connection = open_to_read(path)?;
        let reason = "it has an older format and is not writable; `prony import` copies its runs into \
                      another store";
        return match check(&connection, path)? {
            version if version == MIGRATIONS.len() as i64 => Ok(connection),
            _ => Err(Error::Open { path: path.to_owned(), reason: reason.to_owned() }),
        };
    }
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs::create_dir_all(directory)
            .map_err(|cause| Error::Directory { path: directory.to_owned(), cause })?;
    }
    let fault = |source| Error::from_sqlite(path, source);
    let mut connection = Connection::open(path).map_err(fault)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(fault)?;
    // Looked at before anything is written: a file of someone else is left as it is.
    if check(&connection, path)? == 0 {
        // Only a file without tables takes it; another one would be locked for nothing, against its readers
        // too.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(fault)?;
    }
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA foreign_keys = OFF;",
        )
        .map_err(fault)?;
    migrate(&mut connection, path)?;
    // Only now: a migration may replace tables that others refer to.
    connection.pragma_update(None, "foreign_keys", true).map_err(fault)?;
    Ok(connection)
}

/// Opens a file that must be there, of any format, and leaves it as it is.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fault = |source| Error::from_sqlite(path, source);
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
        Ok(connection)
    };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match open() {
        // SQLite makes files beside one that others may write, and cannot where the directory is not ours.
        // While there is no log beside it, nobody writes.
        Err(_) if access(path, Access::READ_OK).is_ok() && !Path::new(&log).exists() => {
            let whole = fs::canonicalize(path).ok().and_then(|whole| Url::from_file_path(whole).ok());
            let url = whole
                .map(|url| format!("{url}?immutable=1"))
                .ok_or_else(|| Error::Open { path: path.to_owned(), reason: "it has no path".to_owned() })?;
            Connection::open_with_flags(url, flags | OpenFlags::SQLITE_OPEN_URI).map_err(fault)
        }
        opened => opened.map_err(fault),
    }
}

fn pragma(connection: &Connection, path: &Path, name: &str) -> Result<i64, Error> {
    connection
        .pragma_query_value(None, name, |row| row.get(0))
        .map_err(|source| Error::from_sqlite(path, source))
}

/// Refuses what is not ours or newer than we are.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let version = pragma(connection, path, "user_version")?;
    let application = pragma(connection, path, "application_id")?;
    let is_new = pragma(connection, path, "schema_version")? == 0 && application == 0;
    if application != APPLICATION_ID && !is_new {
        return Err(Error::Foreign { path: path.to_owned() });
    }
    let known = MIGRATIONS.len() as i64;
    if version > known {
        return Err(Error::Newer { path: path.to_owned(), found: version, known });
    }
    Ok(version)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let fault = |source| Error::from_sqlite(path, source);
    if check(connection, path)? == MIGRATIONS.len() as i64 {
        return Ok(());
    }
    // The version is read again under the lock: two processes may have found the same new file.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    let version = check(&transaction, path)?;
    for step in MIGRATIONS.iter().skip(version.max(0) as usize) {
        step(&transaction).map_err(fault)?;
    }
    if version != MIGRATIONS.len() as i64 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(fault)?;
        transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64).map_err(fault)?;
    }
    transaction.commit().map_err(fault)
}
