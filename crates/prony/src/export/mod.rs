//! A run as files for other programs: Parquet for pandas, DuckDB and whatever else reads it (trials, seconds,
//! statements, readings, histograms, one file each), interval logs of HdrHistogram, and one archive
//! with all that it takes to repeat it.
//!
//! It holds everything that was measured and nothing that was concluded from it: that is in a report. It
//! knows the store's records; `tables` has the layout of each file, `file` says how a file is written.

mod file;
mod hlog;
mod package;
mod tables;

pub use hlog::hlog;
pub use package::package;

use crate::{
    run::TrialOutcome,
    store::{self, RunRecord, Store},
};
use ::parquet::errors::ParquetError;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Version of the layout: each file has it as `prony_export_format`.
pub const EXPORT_FORMAT: u32 = 2;

/// Why a run could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something is there already.
    #[error(
        "{} already exists; choose another name with --write",
        path.display()
    )]
    Exists {
        /// The directory asked for.
        path: PathBuf,
    },
    /// Another tool measured it.
    #[error("run {id} was read from the output of {origin}: there is no study to repeat it with")]
    NoStudy {
        /// The run.
        id: i64,
        /// The tool.
        origin: String,
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

/// Writes a run into a directory that does not exist or is empty, and returns the names of the files.
/// Afterwards either all of them are there, or none. `said` puts into words why a trial failed, or what
/// speaks against it.
///
/// # Errors
/// When there is no such run, something is in the directory, or a file cannot be written.
pub fn parquet(
    store: &Store,
    id: i64,
    said: &dyn Fn(&TrialOutcome) -> String,
    directory: &Path,
) -> Result<Vec<&'static str>, Error> {
    let unfinished = Unfinished::beside(directory)?;
    let files = tables::write(&Run { store, said, record: &store.run(id)? }, &unfinished.0)?;
    unfinished.take_name(directory)?;
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
    /// For what will be in `directory`, which is not there yet, or is empty.
    fn beside(directory: &Path) -> Result<Self, Error> {
        let is_free = match fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if !is_free {
            return Err(Error::Exists { path: directory.to_owned() });
        }
        let mut name = directory.file_name().unwrap_or_default().to_owned();
        name.push(format!(".part-{}", std::process::id()));
        let path = directory.with_file_name(name);
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    /// It is whole.
    fn take_name(self, directory: &Path) -> Result<(), Error> {
        // the system puts a directory in the place of an empty one, and of no other
        fs::rename(&self.0, directory).map_err(|source| Error::Write { path: directory.to_owned(), source })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // what has its name is not there any more
        let _ = fs::remove_dir_all(&self.0);
    }
}
