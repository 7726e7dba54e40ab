//! What can go wrong with the store, and what to do next.

use super::{damage::Damage, owner::Holder};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Why the store could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No directory for the user's data can be found.
    #[error(
        "no place for the store: neither XDG_DATA_HOME nor HOME is set; set one of them or choose a file \
         with --store"
    )]
    NoHome,
    /// The directory of the store cannot be made.
    #[error(
        "cannot create the directory {}: {cause}; create it, or choose another file with --store",
        path.display()
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The file cannot be opened or created.
    #[error(
        "cannot open the store {}: {reason}; check its permissions, or choose another file with --store",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file does not belong to Prony: it is no SQLite file, or one of another application.
    #[error(
        "{} is not a Prony store, or its beginning is damaged; choose another file with --store",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer Prony has written the file.
    #[error(
        "the store {} has format {found}, but this Prony knows formats up to {known}; use the Prony that \
         wrote it or a newer one, or choose another file with --store",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "the store {} is damaged ({what}); intact runs can still be read: save each with `prony export`. \
         `sqlite3 {} .recover` prints what else can be saved. Move the file away to start a new one",
        path.display(), path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: Damage,
    },
    /// No room for more.
    #[error(
        "no space left for the store {}; everything finished so far is safe in it; free space, then run \
         again",
        path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the file for too long.
    #[error(
        "another process has been using the store {} for {seconds} s; wait for it, or choose another file \
         with --store",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long was waited, s.
        seconds: u64,
    },
    /// There is no such run.
    #[error(
        "there is no run {id} in the store {}; `prony list runs` lists the runs",
        path.display()
    )]
    NoSuchRun {
        /// The number asked for.
        id: i64,
        /// The file.
        path: PathBuf,
    },
    /// There is no run of that name.
    #[error(
        "there is no run `{name}` in the store {}: name a run by its number, `last`, a label, or its study's \
         name; `prony list runs` lists the runs",
        path.display()
    )]
    NoRunNamed {
        /// What was asked for.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// Another process carries the run out.
    #[error("process {pid} is executing run {id}; wait until it has ended, or stop it with `kill {pid}`")]
    Alive {
        /// The run.
        id: i64,
        /// The process.
        pid: i32,
    },
    /// A process that cannot be seen from here carries the run out.
    #[error(
        "process {pid} is executing run {id} in another container or on another machine; wait until it has \
         ended. If you know that it has, remove {} and try again",
        lease.display()
    )]
    AliveElsewhere {
        /// The run.
        id: i64,
        /// The process, as it is numbered there.
        pid: i32,
        /// The file that it keeps locked.
        lease: PathBuf,
    },
    /// A label that would be mistaken for something else.
    #[error(
        "`{label}` cannot be a label: use up to 40 letters, digits and - _ . : / +; a number and `last` are \
         not allowed"
    )]
    Label {
        /// As it was given.
        label: String,
    },
    /// A file that would be written over.
    #[error("{} already exists; choose another file, or remove it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Anything else that SQLite says.
    #[error("the store {} cannot be used: {cause}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's own words.
        cause: rusqlite::Error,
    },
}

impl Error {
    /// Somebody carries the run out.
    pub(super) fn alive(id: i64, holder: Holder) -> Self {
        match holder {
            Holder::Here(pid) => Self::Alive { id, pid },
            Holder::Elsewhere(pid, lease) => Self::AliveElsewhere { id, pid, lease },
        }
    }

    /// The same with how long was waited for another process.
    pub(super) fn after(self, waited: Duration) -> Self {
        match self {
            Self::Busy { path, .. } => Self::Busy { path, seconds: waited.as_secs() },
            other => other,
        }
    }

    /// Gives an error of SQLite its meaning for the user.
    pub(super) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::{Error as Sqlite, ErrorCode};
        let path = path.to_owned();
        if matches!(
            source,
            Sqlite::InvalidColumnType(..)
                | Sqlite::FromSqlConversionFailure(..)
                | Sqlite::IntegralValueOutOfRange(..)
                | Sqlite::Utf8Error(..)
        ) {
            return Self::Damaged { path, what: source.into() };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            // Unknown is SQLite's own word for a statement that does not fit the tables: our statements do.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::TypeMismatch | ErrorCode::Unknown) => {
                Self::Damaged { path, what: source.into() }
            }
            Some(ErrorCode::NotADatabase) => Self::Foreign { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { path, seconds: super::schema::BUSY_TIMEOUT.as_secs() }
            }
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Open { path, reason: source.to_string() }
            }
            _ => Self::Sqlite { path, cause: source },
        }
    }
}
