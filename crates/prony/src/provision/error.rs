//! What can go wrong while servers are had, started and stopped: each says what happened, where, and what to
//! do next.

use std::{io, path::PathBuf, time::Duration};

/// An error of provisioning.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error("interrupted")]
    Interrupted,
    #[error("{file}: {reason}", file = file.display())]
    Catalogue { file: PathBuf, reason: String },
    #[error("neither {variable} nor HOME is set: set one of them to the directory that Prony may write to")]
    NoHome { variable: String },
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
    #[error("{program} is no usable server: {reason}", program = program.display())]
    Unusable { program: PathBuf, reason: String },
    #[error(
        "{program} needs shared libraries that this machine does not have: {}; install them",
        libraries.join(", "), program = program.display()
    )]
    LibrariesMissing { program: PathBuf, libraries: Vec<String> },
    #[error(
        "no server {wanted} is installed or can be fetched on this machine; known are: {known}. Give path = \
         \"/directory/of/an/unpacked/server\" or url = \"mysql://...\" instead"
    )]
    UnknownServer { wanted: String, known: String },
    #[error(
        "{server} is built for {architecture} processors alone: choose one of Debian's builds, or one of \
         your own"
    )]
    OtherArchitecture { server: String, architecture: String },
    #[error("fetching {server} needs the program {program}, which is not on this machine: {remedy}")]
    ClientMissing { server: String, program: &'static str, remedy: &'static str },
    #[error(
        "cannot fetch {server}: {command} failed ({reason}); is there a network? Without one, give path = \
         \"/directory/of/an/unpacked/server\"\n{output}"
    )]
    FetchFailed { server: String, command: String, reason: String, output: String },
    #[error(
        "what arrived for {server} is not what is expected: {what}; nothing of it was kept. Try again, and \
         report it if it stays so"
    )]
    NotVerified { server: String, what: String },
    #[error(
        "the setting {name} is Prony's own, since it keeps this server apart from others: remove it from \
         the study"
    )]
    ReservedSetting { name: String },
    #[error("the value of the setting {name} has a line break in it, which an option file cannot hold")]
    UnwritableSetting { name: String },
    #[error("a server cannot use {path:?}: the path has a line break in it; name another directory")]
    LineBreak { path: PathBuf },
    #[error(
        "{server} cannot have what is asked for:{}\nremove it for this server, or compare others",
        lines(refusals)
    )]
    Refused { server: String, refusals: Vec<super::settings::translate::Refusal> },
    #[error(
        "{server} runs, but not with the settings that were asked for:{}\nask for what it can have, or \
         remove the setting; its log may say why:\n{log}",
        lines(differences)
    )]
    NotTaken { server: String, differences: Vec<super::settings::read_back::NotTaken>, log: String },
    #[error(
        "not enough space for the data in {directory}: {needed_mb} MB are needed, {available_mb} MB are \
         free. Free some, use a smaller data set, or set XDG_STATE_HOME to a directory on a larger disk",
        directory = directory.display()
    )]
    NoSpace { directory: PathBuf, needed_mb: u64, available_mb: u64 },
    #[error(
        "cannot limit the server's {what}: {reason}. Nothing is measured without the limit. As root it \
         works; as a user: `systemd-run --user --scope -p Delegate=yes prony ...`, or leave the limit out \
         of the study"
    )]
    CannotLimit { what: String, reason: String },
    #[error(
        "the kernel killed {server}, which had used up its limit of {} MiB of memory: raise `memory` in the \
         study, or lower innodb_buffer_pool_size (the server needs a few hundred MiB beside it)",
        limit_bytes >> 20
    )]
    OutOfMemory { server: String, limit_bytes: u64 },
    #[error(
        "not enough space for the servers with their data and a snapshot of these in {directory}: \
         {needed_mb} MB are needed, {snapshots_mb} MB of them for snapshots, {available_mb} MB are free. \
         Free some, use a smaller data set, put fresh = \"reload\" into [measure] to load data anew in \
         place of snapshots, or set XDG_STATE_HOME to a directory on a larger disk",
        directory = directory.display()
    )]
    NoSpaceForSnapshots { directory: PathBuf, needed_mb: u64, snapshots_mb: u64, available_mb: u64 },
    #[error("{variable} is {value}: a size belongs there, such as 50G")]
    DataLimit { variable: &'static str, value: String },
    #[error("the data cache has no entry {name}; `prony server data` lists its entries")]
    NotCached { name: String },
    #[error(
        "{path} leads out of the data directory, so that a snapshot would not have all data: put fresh = \
         \"reload\" into [measure]",
        path = path.display()
    )]
    Elsewhere { path: PathBuf },
    #[error(
        "{server} has not shut down in order within {} s, as it must before its data are copied; its last \
         words:\n{log}",
        after.as_secs()
    )]
    NotStopped { server: String, after: Duration, log: String },
    #[error("cannot start {program}: {source}", program = program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error("{server} cannot make its system tables ({reason}); its last words:\n{log}")]
    Initialise { server: String, reason: String, log: String },
    #[error(
        "{server} does not know the setting {setting}: correct it in the study{suggestion}. Its last \
         words:\n{log}"
    )]
    UnknownSetting { server: String, setting: String, suggestion: Box<str>, log: String },
    #[error("{server} ended while it was starting ({status}); its last words:\n{log}")]
    Died { server: String, status: String, log: String },
    #[error("{server} ended after it had run for {} s ({status}); its last words:\n{log}", after.as_secs())]
    Ended { server: String, after: Duration, status: String, log: String },
    #[error("{server} does not answer after {} s; its last words:\n{log}", after.as_secs())]
    NoAnswer { server: String, after: Duration, log: String },
    #[error("no free port on 127.0.0.1: {source}")]
    NoPort { source: io::Error },
    #[error(
        "no server is named: give --url mysql://user@127.0.0.1:3306/database, set PRONY_URL, or put host \
         and user into the group [client] of ~/.my.cnf"
    )]
    NoAddress,
    #[error("{what} is not a server address: {reason}. One looks like mysql://user@127.0.0.1:3306/database")]
    Address { what: String, reason: String },
    #[error(
        "there is a server named {name} already ({state}): `prony server stop {name}` ends it and removes \
         its data unless that is kept, --name gives the new one another name"
    )]
    StandsAlready { name: String, state: &'static str },
    #[error(
        "no server named {name} was started with `prony server start`; `prony server status` lists those \
         that were"
    )]
    StandsNot { name: String },
    #[error("`{name}` is no name for a server: letters, digits, `-`, `_` and `.` make one")]
    ServerName { name: String },
    #[error(
        "{directory} is not empty, and nothing that Prony made: give a directory that does not exist yet, \
         or is empty",
        directory = directory.display()
    )]
    ForeignDirectory { directory: PathBuf },
    #[error("{} is in use by {by}: stop that first, or give another directory", directory.display())]
    DirectoryInUse { directory: PathBuf, by: Box<str> },
    #[error(
        "{directory} holds data of {holds}, which is not for {wanted}: start {holds} on it, or give another \
         directory",
        directory = directory.display()
    )]
    OtherData { directory: PathBuf, holds: Box<str>, wanted: Box<str> },
    #[error(
        "{file} is not what this version of Prony writes ({reason}): remove it if no server of that name \
         runs",
        file = file.display()
    )]
    Record { file: PathBuf, reason: String },
    #[error("cannot log in to {server}: {source}{remedy}")]
    Login { server: String, remedy: String, source: Box<load::client::Error> },
    #[error(
        "the server {server} runs already and is not reconfigured by Prony: remove its settings from the \
         study, or let Prony start a server of its own"
    )]
    SettingsElsewhere { server: String },
    #[error("{server} cannot work together with others as asked: {reason}")]
    Topology { server: String, reason: String },
    #[error("no way from one server to another: {source}")]
    Between { source: io::Error },
    #[error("{server}: {source}")]
    Statement { server: String, source: Box<load::client::Error> },
    #[error("replica {replica} has stopped replicating: {reason}")]
    ReplicationStopped { replica: u32, reason: String },
    #[error(
        "the servers are not equal after {} s: {state}; offer less load, or give the replicas more time or \
         threads",
        after.as_secs()
    )]
    NotCaughtUp { state: String, after: Duration },
    #[error("{server} is in use by {by}, {doing}: wait until that is done, or name another server")]
    InUse { server: String, by: String, doing: &'static str },
    #[error(
        "{server} could not say whether another run is at work there (GET_LOCK answered NULL): look into \
         the server's log, then try again"
    )]
    NoLock { server: String },
    #[error(
        "another server answers at {server} now than the one whose settings were changed: start that one \
         again at its place, or let it be, since what was set while it ran ended with it"
    )]
    OtherServer { server: String },
    #[error(
        "{server}: settings could not be put back:{}{}",
        lines(left),
        if said.is_empty() { String::new() } else { format!("\nthe server says: {said}") }
    )]
    NotPutBack { server: String, left: Vec<super::settings::globals::Moved>, said: String },
    #[error(
        "{server}: SET GLOBAL {variable}: {source}; a variable that cannot be changed while the server runs \
         has no place in the settings of a server that Prony did not start"
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
