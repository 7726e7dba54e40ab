//! Galera's library, which a cluster of MariaDB loads: a package of Debian beside those of the servers.

use super::{Job, apt};
use crate::provision::{
    Error, Step, Work,
    disk::{files::remove_if_there, lock::Lock},
    software::{
        Software,
        catalogue::{self, AptSource},
    },
};
use std::{fs, path::PathBuf};

/// Where the packages have the library.
const LIBRARY: &str = "usr/lib/galera/libgalera_smm.so";

/// The library of series `3` or `4` that `software` can load, fetched into the cache unless it is there.
///
/// # Errors
/// [`Error::ClientMissing`], [`Error::FetchFailed`], [`Error::Interrupted`].
pub(in crate::provision) fn galera(
    series: &str,
    software: &Software,
    work: &mut Work<'_>,
) -> Result<PathBuf, Error> {
    let known = catalogue::galera();
    let mut library = PathBuf::new();
    for suite in &known.suites {
        library = of_suite(suite, known.package(series), known.download_mb, work)?;
        // what lacks a library altogether lacks it in every suite, and the server says so
        if !software.libraries.lacks(&library).is_ok_and(|lacks| lacks.newer) {
            break;
        }
    }
    Ok(library)
}

fn of_suite(suite: &str, package: &str, download_mb: u32, work: &mut Work<'_>) -> Result<PathBuf, Error> {
    let name = format!("{package}-{suite}");
    let servers = work.places().servers();
    fs::create_dir_all(&servers).map_err(Error::file("make the directory", &servers))?;
    let place = servers.join(&name);
    let lock = Lock::open(&servers.join(format!(".{name}.lock")))?;
    lock.take(work)?;
    if place.join(LIBRARY).is_file() {
        return Ok(place.join(LIBRARY));
    }
    work.say(Step::Fetching { name: name.clone(), done_mb: None, all_mb: Some(download_mb.into()) });
    let unfinished = servers.join(format!(".{name}.unfinished"));
    remove_if_there(&unfinished)?;
    fs::create_dir(&unfinished).map_err(Error::file("make the directory", &unfinished))?;
    let mut job = Job { server: &name, download_mb, directory: &unfinished, fetched: 0, work };
    let source = AptSource { suite: suite.to_owned(), packages: vec![package.to_owned()] };
    let fetched = apt::fetch(&mut job, &source);
    if fetched.is_err() {
        remove_if_there(&unfinished)?;
    }
    fetched?;
    remove_if_there(&place)?;
    fs::rename(&unfinished, &place).map_err(Error::file("move into place", &place))?;
    Ok(place.join(LIBRARY))
}
