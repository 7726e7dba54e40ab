//! Gets a server of the catalogue into the user's cache: without root, once, whole or not at all.
//!
//! Everything goes through the registries' own clients, so that the user's mirror and proxy are used and the
//! registry's own tools check signatures. A server is unpacked beside its place and then renamed into it.

mod apt;
mod archive;
mod client;
mod galera;
mod image;
mod maven;
mod npm;
mod own;

use super::{
    Software,
    catalogue::{Entry, Source},
    find_program,
};
use crate::provision::{
    Error, Places, Step, Work,
    disk::{files::remove_if_there, lock::Lock},
};
use client::Job;
pub(in crate::provision) use galera::galera;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The server `entry` if it is on this machine already.
#[must_use]
pub fn cached(entry: &Entry, places: &Places) -> Option<Software> {
    Software::in_directory(&place(entry, places), &entry.origin()).ok()
}

/// The directory of `entry`, whether it is there or not.
#[must_use]
pub fn place(entry: &Entry, places: &Places) -> PathBuf {
    match &entry.source {
        Source::Directory(directory) => directory.clone(),
        _ => places.servers().join(&entry.name),
    }
}

/// The program that fetching `entry` needs, if this machine does not have it, and what to do about that.
#[must_use]
pub fn missing_client(entry: &Entry) -> Option<(&'static str, &'static str)> {
    let client = match &entry.source {
        Source::Apt(_) => apt::CLIENT,
        Source::Maven(_) => maven::CLIENT,
        Source::Npm(_) => npm::CLIENT,
        Source::Archive(source) if source.is_url() => own::CLIENT,
        Source::Image(source) => {
            let client = image::client(source);
            return client.find().is_none().then_some((client.name, client.remedy));
        }
        Source::Archive(_) | Source::Directory(_) => return None,
    };
    client.find().is_none().then_some((client.name, client.remedy))
}

/// The server `entry`, fetched into the cache unless it is there.
///
/// # Errors
/// [`Error::OtherArchitecture`], [`Error::ClientMissing`], [`Error::FetchFailed`], [`Error::NotVerified`],
/// [`Error::Interrupted`], and those of [`Software::in_directory`].
pub(in crate::provision) fn fetch(entry: &Entry, work: &mut Work<'_>) -> Result<Software, Error> {
    let places = work.places();
    let place = place(entry, places);
    if matches!(entry.source, Source::Directory(_)) {
        return verified(entry, &place);
    }
    let servers = places.servers();
    fs::create_dir_all(&servers).map_err(Error::file("make the directory", &servers))?;
    let lock = Lock::open(&servers.join(format!(".{}.lock", entry.name)))?;
    lock.take(work)?;
    let current = match &entry.source {
        Source::Image(source) => Some(image::id(source)),
        _ => None,
    };
    if let Some(software) = cached(entry, places) {
        // a name may come to mean another image, and an image may be removed
        let id = software.image.as_ref().map(|image| &image.id);
        if current.is_none_or(|current| current.is_some() && current.as_ref() == id) {
            return Ok(software);
        }
    }
    if let (false, Some(architecture)) = (entry.runs_here(), entry.architecture.clone()) {
        return Err(Error::OtherArchitecture { server: entry.name.clone(), architecture });
    }
    let all_mb = Some(u64::from(entry.download_mb)).filter(|megabytes| *megabytes > 0);
    work.say(Step::Fetching { name: entry.name.clone(), done_mb: None, all_mb });
    let unfinished = servers.join(format!(".{}.unfinished", entry.name));
    remove_if_there(&unfinished)?;
    fs::create_dir(&unfinished).map_err(Error::file("make the directory", &unfinished))?;
    let mut job =
        Job { server: &entry.name, download_mb: entry.download_mb, directory: &unfinished, fetched: 0, work };
    let fetched = fill(entry, &mut job);
    if fetched.is_err() {
        remove_if_there(&unfinished)?;
    }
    fetched?;
    remove_if_there(&place)?;
    fs::rename(&unfinished, &place).map_err(Error::file("move into place", &place))?;
    Software::in_directory(&place, &entry.origin())
}

fn fill(entry: &Entry, job: &mut Job<'_, '_>) -> Result<(), Error> {
    let mut of_debian = None;
    match &entry.source {
        Source::Apt(source) => {
            of_debian = Some(source);
            apt::fetch(job, source)?;
        }
        Source::Maven(source) => maven::fetch(job, source)?,
        Source::Npm(source) => npm::fetch(job, source)?,
        Source::Archive(source) => own::fetch(job, source)?,
        Source::Image(source) => image::fetch(job, source)?,
        Source::Directory(_) => {}
    }
    if !matches!(entry.source, Source::Image(_)) {
        make_executable(job.directory)?;
        apt::add_libraries(job, of_debian)?;
    }
    job.work.say(Step::Checking { name: entry.name.clone() });
    verified(entry, job.directory).map(drop)
}

/// The server in `directory`, if it is what the entry says.
fn verified(entry: &Entry, directory: &Path) -> Result<Software, Error> {
    let software = Software::in_directory(directory, &entry.origin())?;
    // of an image that a study names nothing is said beforehand
    if entry.product.is_empty() || software.fits(&entry.product, Some(&entry.version)) {
        return Ok(software);
    }
    let what = format!("it reports itself as {} {}", software.product, software.version);
    Err(Error::NotVerified { server: entry.name.clone(), what })
}

/// Archives made on other systems than Unix lose the mark that a file is a program.
fn make_executable(directory: &Path) -> Result<(), Error> {
    let Some(program) = find_program(directory) else {
        return Err(Error::NoProgram { directory: directory.to_owned() });
    };
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .map_err(Error::file("change the mode of", &program))
}
