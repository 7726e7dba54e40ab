//! Gets a server of the catalogue into the user's cache: without root, once, whole or not at all.
//!
//! Everything goes through the registries' own clients, so that the user's mirror and proxy hold and signatures are
//! checked by those who made them. A server is unpacked beside its place and then renamed into it.

mod apt;
mod archive;
mod maven;
mod npm;

use super::{
    Error, Places,
    catalogue::{Entry, Source},
    files::remove_if_there,
    lock::Lock,
    software::{Software, find_program},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

/// Lines of a failed client that are shown.
const OUTPUT_LINES_SHOWN: usize = 8;

/// The server `entry` if it is in the cache already.
#[must_use]
pub fn cached(entry: &Entry, places: &Places) -> Option<Software> {
    Software::in_directory(&places.servers().join(&entry.name), &entry.origin()).ok()
}

/// The server `entry`, fetched into the cache unless it is there; `progress` is told each step in words.
///
/// # Errors
/// [`Error::ClientMissing`], [`Error::FetchFailed`], [`Error::NotVerified`], and those of [`Software::in_directory`].
pub fn fetch(entry: &Entry, places: &Places, progress: &mut dyn FnMut(&str)) -> Result<Software, Error> {
    let servers = places.servers();
    fs::create_dir_all(&servers).map_err(Error::file("make the directory", &servers))?;
    let lock = Lock::open(&servers.join(format!(".{}.lock", entry.name)))?;
    if !lock.try_take()? {
        progress(&format!("waiting for another Prony that fetches {}", entry.name));
        lock.take()?;
    }
    if let Some(software) = cached(entry, places) {
        return Ok(software);
    }
    progress(&format!("fetching {} ({} MB)", entry.name, entry.download_mb));
    let unfinished = servers.join(format!(".{}.unfinished", entry.name));
    remove_if_there(&unfinished)?;
    fs::create_dir(&unfinished).map_err(Error::file("make the directory", &unfinished))?;
    let fetched = fill(entry, places, &unfinished, progress);
    if fetched.is_err() {
        remove_if_there(&unfinished)?;
    }
    fetched?;
    let place = servers.join(&entry.name);
    remove_if_there(&place)?;
    fs::rename(&unfinished, &place).map_err(Error::file("move into place", &place))?;
    Software::in_directory(&place, &entry.origin())
}

fn fill(
    entry: &Entry,
    places: &Places,
    directory: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    match &entry.source {
        Source::Apt(source) => apt::fetch(entry, source, places, directory)?,
        Source::Maven(source) => maven::fetch(entry, source, directory)?,
        Source::Npm(source) => npm::fetch(entry, source, directory)?,
    }
    make_executable(directory)?;
    apt::add_libraries(entry, places, directory)?;
    progress(&format!("checking {}", entry.name));
    let software = Software::in_directory(directory, &entry.origin())?;
    if software.fits(&entry.product, Some(&entry.version)) {
        return Ok(());
    }
    let what = format!("it says that it is {} {}", software.product, software.version);
    Err(Error::NotVerified { server: entry.name.clone(), what })
}

/// Archives of other worlds than Unix forget that a file is a program.
fn make_executable(directory: &Path) -> Result<(), Error> {
    let Some(program) = find_program(directory) else {
        return Err(Error::NoProgram { directory: directory.to_owned() });
    };
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .map_err(Error::file("change the mode of", &program))
}

/// Runs a registry's client and returns what it printed.
fn run(
    command: &mut Command,
    server: &str,
    remedy: &'static str,
    program: &'static str,
) -> Result<String, Error> {
    let shown = format!("{:?}", command.get_program()).replace('"', "");
    let output = command.stdin(Stdio::null()).env("LC_ALL", "C").output().map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            Error::ClientMissing { server: server.to_owned(), program, remedy }
        } else {
            failed(server, &shown, error.to_string(), "")
        }
    })?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let said = printed + &String::from_utf8_lossy(&output.stderr);
    Err(failed(server, &shown, output.status.to_string(), &said))
}

fn failed(server: &str, command: &str, reason: String, output: &str) -> Error {
    let lines: Vec<_> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let output = lines[lines.len().saturating_sub(OUTPUT_LINES_SHOWN)..].join("\n");
    Error::FetchFailed { server: server.to_owned(), command: command.to_owned(), reason, output }
}
