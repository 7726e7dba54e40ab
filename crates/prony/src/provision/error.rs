//! What can go wrong while servers are fetched, started and stopped. Each error says what happened, where,
//! and what to do next.

use std::{io, net::IpAddr, path::PathBuf, time::Duration};

/// An error of provisioning.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error("interrupted")]
    Interrupted,
    #[error("{file}: {reason}", file = file.display())]
    Catalogue { file: PathBuf, reason: super::software::catalogue::Wrong },
    #[error("neither {variable} nor HOME is set: set one of them to a directory that Prony may write to")]
    NoHome { variable: String },
    #[error(transparent)]
    Copy { source: Box<crate::family::CopyError> },
    #[error(
        "{copy} is a backup that is not prepared, and there is no program of version {version} that can \
         do it: run `{command}`",
        copy = copy.display()
    )]
    NotPrepared { copy: PathBuf, command: String, version: String },
    #[error(
        "{copy} holds data of MySQL {holds}, whose system tables {server} does not upgrade by itself: start \
         {server} on a copy, run mysql_upgrade, and name that copy after the server has stopped",
        copy = copy.display()
    )]
    NotUpgradable { copy: PathBuf, holds: String, server: String },
    #[error("{program} failed on the copy of the data: {said}", program = program.display())]
    CopyProgram { program: PathBuf, said: String },
    #[error("cannot {action} {path}: {source}", path = path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "no server program (mariadbd or mysqld) in {directory}: give the directory of an unpacked server",
        directory = directory.display()
    )]
    NoProgram { directory: PathBuf },
    #[error(
        "the image {image} has no server program (mariadbd or mysqld in a directory bin, sbin or libexec): \
         name another image"
    )]
    NoServerInImage { image: String },
    #[error("{program} is not a usable server: {reason}", program = program.display())]
    Unusable { program: PathBuf, reason: String },
    #[error(
        "{program} needs shared libraries that are missing on this machine: {}; install them",
        libraries.join(", "), program = program.display()
    )]
    LibrariesMissing { program: PathBuf, libraries: Vec<String> },
    #[error(
        "no server {wanted} is installed or can be downloaded on this machine; known servers: {known}. \
         Otherwise set path = \"/directory/of/an/unpacked/server\" or url = \"mysql://...\""
    )]
    UnknownServer { wanted: String, known: String },
    #[error("{server} is built only for {architecture} processors: choose a Debian build, or your own build")]
    OtherArchitecture { server: String, architecture: String },
    #[error("fetching {server} needs the program {program}, which is not installed: {remedy}")]
    ClientMissing { server: String, program: &'static str, remedy: &'static str },
    #[error(
        "cannot fetch {server}: {command} failed ({reason}). Check the network; without one, name a \
         server that `prony server list` shows as `here`, or set path = \
         \"/directory/of/an/unpacked/server\"\n{output}"
    )]
    FetchFailed { server: String, command: String, reason: String, output: String },
    #[error(
        "the download of {server} is not what was expected: {what}; it was discarded. Try again, and report \
         it if the problem persists"
    )]
    NotVerified { server: String, what: String },
    #[error(
        "the setting {name} is reserved: Prony uses it to isolate this server from others. Remove it from \
         the study"
    )]
    ReservedSetting { name: String },
    #[error("the value of the setting {name} contains a line break, which an option file cannot hold")]
    UnwritableSetting { name: String },
    #[error("a server cannot use {path:?}: the path contains a line break; choose another directory")]
    LineBreak { path: PathBuf },
    #[error(
        "{server} does not support these settings:{}\nremove them for this server, or compare other servers",
        lines(refusals)
    )]
    Refused { server: String, refusals: Vec<super::settings::translate::Refusal> },
    #[error(
        "{server} runs, but not with the requested settings:{}\nrequest values that it supports, or remove \
         the setting; its log may say why:\n{log}",
        lines(differences)
    )]
    NotTaken { server: String, differences: Vec<super::settings::read_back::NotTaken>, log: String },
    #[error(
        "not enough space for the data in {directory}: {needed_mb} MB needed, {available_mb} MB free. Free \
         some space, use a smaller data set, or set XDG_STATE_HOME to a directory on a larger disk",
        directory = directory.display()
    )]
    NoSpace { directory: PathBuf, needed_mb: u64, available_mb: u64 },
    #[error(
        "cannot limit the server's {what}: {reason}. Nothing is measured without the limit. Run as root, or \
         run `systemd-run --user --scope -p Delegate=yes prony ...`, or remove the limit from the study"
    )]
    CannotLimit { what: String, reason: String },
    #[error(
        "the kernel killed {server}, which had reached its limit of {} MiB of memory: raise `memory` in the \
         study, or lower innodb_buffer_pool_size (the server needs a few hundred MiB in addition)",
        limit_bytes >> 20
    )]
    OutOfMemory { server: String, limit_bytes: u64 },
    #[error(
        "not enough space for the servers, their data and snapshots in {directory}: {needed_mb} MB needed \
         ({snapshots_mb} MB of them for snapshots), {available_mb} MB free. Free some space, use a smaller \
         data set, set fresh = \"reload\" in [measure] to reload data instead of using snapshots, or set \
         XDG_STATE_HOME to a directory on a larger disk",
        directory = directory.display()
    )]
    NoSpaceForSnapshots { directory: PathBuf, needed_mb: u64, snapshots_mb: u64, available_mb: u64 },
    #[error("{variable} is {value}, which is not a size; write one such as 50G")]
    DataLimit { variable: &'static str, value: String },
    #[error("the data cache has no entry {name}; `prony server data` lists its entries")]
    NotCached { name: String },
    #[error(
        "{path} leads out of the data directory, so a snapshot would be incomplete: set fresh = \"reload\" \
         in [measure]",
        path = path.display()
    )]
    Elsewhere { path: PathBuf },
    #[error(
        "{server} did not shut down cleanly within {} s, which it must do before its data is copied; end of \
         its log:\n{log}",
        after.as_secs()
    )]
    NotStopped { server: String, after: Duration, log: String },
    #[error("cannot start {program}: {source}", program = program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error("{server} cannot create its system tables ({reason}); end of its log:\n{log}")]
    Initialise { server: String, reason: String, log: String },
    #[error(
        "{server} does not know the setting {setting}: correct it in the study{suggestion}. End of its \
         log:\n{log}"
    )]
    UnknownSetting { server: String, setting: String, suggestion: Box<str>, log: String },
    #[error("{server} exited while it was starting ({status}); end of its log:\n{log}")]
    Died { server: String, status: String, log: String },
    #[error("{server} exited after {} s ({status}); end of its log:\n{log}", after.as_secs())]
    Ended { server: String, after: Duration, status: String, log: String },
    #[error("{server} does not respond after {} s; end of its log:\n{log}", after.as_secs())]
    NoAnswer { server: String, after: Duration, log: String },
    #[error("no free port on {address}: {source}")]
    NoPort { address: IpAddr, source: io::Error },
    #[error(
        "this machine does not have the address {address}, at which the study wants a server to `listen`; \
         `ip address` lists those that it has"
    )]
    NoSuchAddress { address: IpAddr },
    #[error(
        "no server given: use --url mysql://user@127.0.0.1:3306/database, set PRONY_URL, or put host and \
         user into the group [client] of ~/.my.cnf"
    )]
    NoAddress,
    #[error(
        "{what} is not a server address: {reason}. Write mysql://user@127.0.0.1:3306/database, for \
             instance"
    )]
    Address { what: String, reason: super::login::target::Wrong },
    #[error(
        "there is already a server named {name} ({state}): stop it with `prony server stop {name}`, which \
         removes its data unless --data was used, or choose another name with --name"
    )]
    StandsAlready { name: String, state: &'static str },
    #[error(
        "no server named {name} was started with `prony server start`; `prony server status` lists those \
         that were"
    )]
    StandsNot { name: String },
    #[error("`{name}` is not a valid name for a server: use letters, digits, `-`, `_` and `.`")]
    ServerName { name: String },
    #[error(
        "{directory} is not empty and was not created by Prony: choose a directory that is empty or does not \
         exist",
        directory = directory.display()
    )]
    ForeignDirectory { directory: PathBuf },
    #[error("{} is in use by {by}: stop that first, or choose another directory", directory.display())]
    DirectoryInUse { directory: PathBuf, by: Box<str> },
    #[error(
        "{directory} holds data of {holds}, which {wanted} cannot use: start {holds} on it, or choose \
         another directory",
        directory = directory.display()
    )]
    OtherData { directory: PathBuf, holds: Box<str>, wanted: Box<str> },
    #[error(
        "{file} was not written by this version of Prony ({reason}): remove it if no server of that name \
         runs",
        file = file.display()
    )]
    Record { file: PathBuf, reason: String },
    #[error("cannot log in to {server}: {source}{remedy}")]
    Login { server: String, remedy: String, source: Box<load::client::Error> },
    #[error(
        "Prony does not reconfigure the running server {server}: remove its settings from the study, set \
         `apply_settings = true`, or let Prony start a server"
    )]
    SettingsElsewhere { server: String },
    #[error("{server} does not support the requested topology: {reason}")]
    Topology { server: String, reason: String },
    #[error("one server cannot reach another: {source}")]
    Between { source: io::Error },
    #[error("{server}: {source}")]
    Statement { server: String, source: Box<load::client::Error> },
    #[error("replica {replica} has stopped replicating: {reason}")]
    ReplicationStopped { replica: u32, reason: String },
    #[error(
        "the servers are not in sync after {} s: {lag}; offer less load, or give the replicas more time or \
         threads",
        after.as_secs()
    )]
    NotCaughtUp { lag: super::Lag, after: Duration },
    #[error("{server} is in use by {by}, {doing}: wait until that is finished, or use another server")]
    InUse { server: String, by: String, doing: &'static str },
    #[error(
        "cannot tell whether another run is using {server} (GET_LOCK returned NULL): check the server's log, \
         then try again"
    )]
    NoLock { server: String },
    #[error(
        "the server at {server} is not the one whose settings were changed: start that one there again, or \
         do nothing, because settings changed at run time end with the server"
    )]
    OtherServer { server: String },
    #[error(
        "{server}: settings could not be restored:{}{}",
        lines(left),
        if said.is_empty() { String::new() } else { format!("\nthe server says: {said}") }
    )]
    NotPutBack { server: String, left: Vec<super::settings::globals::Moved>, said: String },
    #[error(
        "{server}: SET GLOBAL {variable}: {source}; the settings of a server that Prony did not start can \
         only contain variables that can be changed at run time"
    )]
    SetGlobal { server: String, variable: String, source: Box<load::client::Error> },
    #[error("{file}, line {line}: {reason}", file = file.display())]
    OptionFile { file: PathBuf, line: usize, reason: String },
}

/// Each on a line of its own.
fn lines(list: &[impl std::fmt::Display]) -> String {
    list.iter().map(|one| format!("\n  {one}")).collect()
}

impl Error {
    /// For `map_err` on file operations: what was being done, and on which path.
    pub(in crate::provision) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}
