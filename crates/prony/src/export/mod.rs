//! A run as Parquet files, for pandas, DuckDB and whatever else reads them: trials, seconds, statements,
//! readings, histograms, one file each.
//!
//! Everything that was measured, and nothing that was concluded from it: that is in a report. Knows the
//! store's records; the layout of each file is in `tables`, how a file is written in `file`.

mod file;
mod tables;

use crate::{
    run::TrialOutcome,
    store::{self, RunRecord, Store},
};
use ::parquet::errors::ParquetError;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Version of the layout: stands in each file as `prony_export_format`.
pub const EXPORT_FORMAT: u32 = 2;

/// Why a run could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something is there already.
    #[error(
        "{} is there already and is not an empty directory; name another one with --write",
        path.display()
    )]
    Exists {
        /// The directory asked for.
        path: PathBuf,
    },
    /// A file or directory could not be made.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The contents of a file could not be written.
    #[error("cannot write {}", path.display())]
    Contents {
        /// Which.
        path: PathBuf,
        /// What the writer says.
        source: ParquetError,
    },
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Writes a run into a directory that is not there yet, or is empty, and returns the names of the files. All
/// of them are there afterwards, or none. `said` puts into words why a trial failed, or what speaks against
/// it.
///
/// # Errors
/// When there is no such run, something is in the directory, or a file cannot be written.
pub fn parquet(
    store: &Store,
    id: i64,
    said: &dyn Fn(&TrialOutcome) -> String,
    directory: &Path,
) -> Result<Vec<&'static str>, Error> {
    let is_free = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if !is_free {
        return Err(Error::Exists { path: directory.to_owned() });
    }
    let unfinished = Unfinished::beside(directory)?;
    let files = tables::write(&Run { store, said, record: &store.run(id)? }, &unfinished.0)?;
    let failed = |source| Error::Write { path: directory.to_owned(), source };
    // the system puts a directory in the place of an empty one, and of no other
    fs::rename(&unfinished.0, directory).map_err(failed)?;
    Ok(files)
}

/// What is written.
struct Run<'a> {
    record: &'a RunRecord,
    /// Has what the record leaves out.
    store: &'a Store,
    /// Puts what came of a trial into words.
    said: &'a dyn Fn(&TrialOutcome) -> String,
}

/// A directory that goes away, unless it was given its name.
struct Unfinished(PathBuf);

impl Unfinished {
    fn beside(directory: &Path) -> Result<Self, Error> {
        let mut name = directory.file_name().unwrap_or_default().to_owned();
        name.push(format!(".part-{}", std::process::id()));
        let path = directory.with_file_name(name);
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(Error::Write { path, source }),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // what has its name is not there any more
        let _ = fs::remove_dir_all(&self.0);
    }
}
