//! Servers that npm's registry carries, for tests of JavaScript programs.

use super::{
    Error,
    archive::{only_file, scratch, untar, verify},
    client::{Client, Job},
};
use crate::provision::{disk::files::remove_if_there, software::catalogue::NpmSource};

pub(super) const CLIENT: Client = Client { name: "npm", remedy: "install npm (it comes with Node.js)" };

pub(super) fn fetch(job: &mut Job<'_, '_>, source: &NpmSource) -> Result<(), Error> {
    let archives = scratch(job.directory)?;
    // What npm keeps would never be read again; it lies elsewhere so that the package is the only file.
    let cache = job.directory.join(".npm");
    job.run(&CLIENT, Some(&cache), |command| {
        command.args(["pack", "--silent", "--ignore-scripts", &source.package]);
        command.env("npm_config_cache", &cache).current_dir(&archives);
    })?;
    remove_if_there(&cache)?;
    let file = only_file(job, &archives)?;
    verify(job, &file, &source.sha256)?;
    untar(job, &file, job.directory)?;
    remove_if_there(&archives)
}
