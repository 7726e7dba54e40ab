//! Archives that a user's own entry names, by path or by URL.

use super::{
    Error,
    archive::{untar, unzip, verify},
    client::{Client, Job},
};
use crate::provision::software::catalogue::ArchiveSource;
use std::{
    fs,
    path::{Path, PathBuf},
};

pub(super) const CLIENT: Client = Client { name: "curl", remedy: "install curl" };

pub(super) fn fetch(job: &mut Job<'_, '_>, source: &ArchiveSource) -> Result<(), Error> {
    let file = if source.is_url() { download(job, source)? } else { PathBuf::from(&source.at) };
    verify(job, &file, &source.sha256)?;
    if Path::new(&source.at).extension().is_some_and(|end| end == "zip" || end == "jar") {
        unzip(job, &file, None, job.directory)?;
    } else {
        untar(job, &file, job.directory)?;
    }
    if source.is_url() { remove(&file) } else { Ok(()) }
}

/// Downloads the archive into the cache, resuming an interrupted attempt. A damaged download is removed.
fn download(job: &mut Job<'_, '_>, source: &ArchiveSource) -> Result<PathBuf, Error> {
    let directory = job.cache().join("archives");
    fs::create_dir_all(&directory).map_err(Error::file("make the directory", &directory))?;
    let file = directory.join(job.server);
    if file.is_file() && verify(job, &file, &source.sha256).is_ok() {
        return Ok(file);
    }
    match curl(job, &source.at, &file) {
        Err(Error::FetchFailed { output, .. }) if output.contains(CANNOT_RESUME) => {
            remove(&file)?;
            curl(job, &source.at, &file)?;
        }
        result => result?,
    }
    let verified = verify(job, &file, &source.sha256);
    if matches!(verified, Err(Error::NotVerified { .. })) {
        remove(&file)?;
    }
    verified.map(|()| file)
}

/// How curl's message begins where the server sends files only as a whole.
const CANNOT_RESUME: &str = "curl: (33)";

fn curl(job: &mut Job<'_, '_>, url: &str, file: &Path) -> Result<(), Error> {
    let directory = file.parent().unwrap_or(Path::new("/")).to_owned();
    let done = job.run(&CLIENT, Some(&directory), |command| {
        command.args(["--fail", "--location", "--silent", "--show-error", "--continue-at", "-", "--output"]);
        command.arg(file).arg("--").arg(url);
    });
    done.map(drop)
}

fn remove(file: &Path) -> Result<(), Error> {
    fs::remove_file(file).map_err(Error::file("remove", file))
}
