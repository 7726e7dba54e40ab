//! Physical copies of a server's data: a backup, or the data directory of a server that was stopped. What is
//! known of one beforehand is read from its files, which are of one family.

use super::spoken;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// A copy, as its files tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copied {
    /// The directory; empty: no statement uses it.
    pub copy: PathBuf,
    /// The database in it that statements work in.
    pub database: String,
    /// `mariadb` or `mysql`.
    pub product: String,
    /// Version of the server that wrote it last.
    pub version: String,
    /// What it is.
    pub kind: CopyKind,
    /// Bytes of its files.
    pub bytes: u64,
    /// By which it is known to be unchanged: names, sizes and times of its files, as one number.
    pub stamp: String,
    /// Settings that its files demand of a server.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Tables of the database that have files of their own.
    pub tables: Vec<String>,
    /// Whether that is all tables and views.
    pub has_all: bool,
}

/// What a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyKind {
    /// The data directory of a server that was stopped.
    Stopped,
    /// A backup that is prepared.
    Prepared,
    /// A backup that is still to be prepared.
    Unprepared,
}

/// Why a directory cannot be used as a copy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// What cannot be read.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is nothing that a server could start on.
    #[error(
        "{} is neither a data directory nor a backup: it has no ibdata1; name the directory that a server \
         used as `datadir`, or the target directory of mariadb-backup or xtrabackup",
        path.display()
    )]
    NoData {
        /// The directory.
        path: PathBuf,
    },
    /// A server is running on it.
    #[error("{} is in use by {by}: stop that server, or make a backup and name that", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// By whom.
        by: String,
    },
    /// It is a part of a backup.
    #[error(
        "{} is an incremental backup: apply it to its full backup (`{tool} --prepare --target-dir=FULL \
         --incremental-dir={}`), and name that one",
        path.display(), path.display()
    )]
    Incremental {
        /// The directory.
        path: PathBuf,
        /// The program.
        tool: &'static str,
    },
    /// It is compressed or encrypted.
    #[error(
        "{} is compressed or encrypted ({example}): unpack the backup first (`xtrabackup --decompress \
         --target-dir={}`)",
        path.display(), path.display()
    )]
    Packed {
        /// The directory.
        path: PathBuf,
        /// One of its files.
        example: String,
    },
    /// Which server wrote it cannot be told.
    #[error(
        "{}: cannot tell which server wrote it: it has no xtrabackup_info, no mysql_upgrade_info, no \
         mysql.ibd and no mysql/*.frm",
        path.display()
    )]
    NoVersion {
        /// The directory.
        path: PathBuf,
    },
    /// Some of its data is elsewhere.
    #[error(
        "{} refers to a file outside of the copy ({elsewhere}), to which a server would write: copies must \
         hold all their files",
        path.display()
    )]
    Outside {
        /// The file that says so.
        path: PathBuf,
        /// What it refers to.
        elsewhere: String,
    },
    /// It has no such database, or several.
    #[error(
        "{}: {}; set `database` to one of: {known}",
        path.display(),
        wanted.as_ref().map_or_else(
            || "it has more than one database".to_owned(),
            |wanted| format!("it has no database `{wanted}`"),
        )
    )]
    Database {
        /// The directory.
        path: PathBuf,
        /// The one that was asked for.
        wanted: Option<String>,
        /// Those that it has.
        known: String,
    },
    /// It has nothing but system tables.
    #[error("{} has no database but those of the server itself", path.display())]
    NoDatabase {
        /// The directory.
        path: PathBuf,
    },
    /// It is not what it was when the study was read.
    #[error("{} has changed since the study was read: begin again when nobody writes to it", path.display())]
    Changed {
        /// The directory.
        path: PathBuf,
    },
    /// A server cannot read it.
    #[error("{} holds data of {holds}, which {server} cannot read: {why}", path.display())]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// Product and version of the copy.
        holds: String,
        /// Product and version of the server.
        server: String,
        /// Why, and what to do.
        why: String,
    },
}

/// How system tables become those of a newer server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upgrade {
    /// They need not.
    None,
    /// It does that when it starts.
    ByServer,
    /// A program that comes with it does: mariadb-upgrade, mysql_upgrade.
    ByProgram,
}

/// How a family's servers keep their data, as far as a copy of it needs that.
pub trait Copies {
    /// What is in a directory; statements work in `database`, which need not be named where there is one.
    ///
    /// # Errors
    /// See [`CopyError`].
    fn read_copy(&self, copy: &Path, database: Option<&str>) -> Result<Copied, CopyError>;

    /// Who has the files of a directory open; `None`: no server, as far as that can be seen.
    fn copy_in_use(&self, copy: &Path) -> Option<String>;

    /// By which a directory is known to be unchanged: names, sizes and times of its files, as one number.
    ///
    /// # Errors
    /// [`CopyError::Read`], [`CopyError::Outside`].
    fn copy_stamp(&self, copy: &Path) -> Result<String, CopyError>;

    /// Whether a file, by its path in the directory, belongs to the server that ran on it and not to its
    /// data: its identity, its persisted settings, its log.
    fn copy_leaves_out(&self, file: &Path) -> bool;

    /// Why a server of this product and version cannot read it; `None`: it can.
    fn copy_unreadable(&self, copied: &Copied, product: &str, version: &str) -> Option<String>;

    /// What a server of this version needs done to the system tables.
    fn copy_upgrade(&self, copied: &Copied, version: &str) -> Upgrade;
}

impl Copied {
    /// Whether the directory is as it was, and no server runs on it.
    ///
    /// # Errors
    /// [`CopyError::InUse`], [`CopyError::Changed`], [`CopyError::Read`].
    pub fn check_unchanged(&self) -> Result<(), CopyError> {
        if let Some(by) = spoken().copy_in_use(&self.copy) {
            return Err(CopyError::InUse { path: self.copy.clone(), by });
        }
        match spoken().copy_stamp(&self.copy)? == self.stamp {
            true => Ok(()),
            false => Err(CopyError::Changed { path: self.copy.clone() }),
        }
    }

    /// Whether a server of this product and version can read it.
    ///
    /// # Errors
    /// [`CopyError::Unreadable`].
    pub fn check_server(&self, product: &str, version: &str) -> Result<(), CopyError> {
        match spoken().copy_unreadable(self, product, version) {
            None => Ok(()),
            Some(why) => {
                let (path, holds) = (self.copy.clone(), format!("{} {}", self.product, self.version));
                Err(CopyError::Unreadable { path, holds, server: format!("{product} {version}"), why })
            }
        }
    }

    /// What a server of this version needs done to the system tables.
    #[must_use]
    pub fn upgrade(&self, version: &str) -> Upgrade {
        spoken().copy_upgrade(self, version)
    }
}
