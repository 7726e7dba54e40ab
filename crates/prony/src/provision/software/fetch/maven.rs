//! Servers that Maven repositories carry, for tests of Java programs.

use super::{
    Error,
    archive::{only_file, scratch, untar, unzip, verify},
    client::{Client, Job},
};
use crate::provision::{
    disk::{files::remove_if_there, lock::Lock},
    software::catalogue::MavenSource,
};
use std::{ffi::OsString, fs, path::Path};

pub(super) const CLIENT: Client =
    Client { name: "mvn", remedy: "install Maven (the package is called maven nearly everywhere)" };
/// Pinned, so that what it does is known.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";

pub(super) fn fetch(job: &mut Job<'_, '_>, source: &MavenSource) -> Result<(), Error> {
    let archives = scratch(job.directory)?;
    download(job, source, &archives)?;
    let file = only_file(job, &archives)?;
    verify(job, &file, &source.sha256)?;
    match &source.inner {
        Some(inner) => {
            unzip(job, &file, Some(inner), &archives)?;
            untar(job, &archives.join(inner), job.directory)?;
        }
        None => unzip(job, &file, None, job.directory)?,
    }
    remove_if_there(&archives)
}

/// Copies the artifact into `archives`. Maven gets a local repository in Prony's cache, so that copied files
/// can be removed again, unlike in the user's own repository. An interrupted download stays there as well:
/// Maven resumes it from 3.9 on, earlier versions begin again.
fn download(job: &mut Job<'_, '_>, source: &MavenSource, archives: &Path) -> Result<(), Error> {
    let repository = job.cache().join("maven");
    fs::create_dir_all(&repository).map_err(Error::file("make the directory", &repository))?;
    let lock = Lock::open(&repository.join(".lock"))?;
    lock.take(job.work)?;
    let option = |name: &str, path: &Path| {
        let mut option = OsString::from(name);
        option.push(path);
        option
    };
    job.run(&CLIENT, Some(&repository), |command| {
        command
            .args(["-q", "-B", "--strict-checksums", PLUGIN, "-Dmdep.useBaseVersion=true"])
            .arg(format!("-Dartifact={}", source.artifact))
            .arg(option("-Dmaven.repo.local=", &repository))
            .arg(option("-DoutputDirectory=", archives))
            // Not where a project of the user's lies, which it would read.
            .current_dir(archives);
    })?;
    let mut parts = source.artifact.split(':');
    let mut part = || parts.next().unwrap_or_default();
    let group = part().replace('.', "/");
    remove_if_there(&repository.join(group).join(part()).join(part()))
}
