//! Runs the programs that fetch and unpack: found beforehand, watched while they work, ended with Prony or
//! when the user asks.

use super::Error;
use crate::provision::{
    Step, Work,
    process::trampoline::{self, Bond},
};
use anstream::adapter::strip_str;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Lines of a failed program that are shown.
const OUTPUT_LINES_SHOWN: usize = 8;
/// How often a program that works is looked at.
const POLL: Duration = Duration::from_millis(20);
/// How often progress is told.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// How long a program may take to end cleanly; a partial result stays for the next attempt.
const END_LIMIT: Duration = Duration::from_secs(5);

/// A program that is not part of Prony.
pub(super) struct Client {
    /// As `PATH` has it.
    pub(super) name: &'static str,
    /// What to do where it is missing.
    pub(super) remedy: &'static str,
}

impl Client {
    /// Where it is.
    pub(super) fn find(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_program = |file: &PathBuf| {
            file.metadata().is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
        };
        std::env::split_paths(&path).map(|directory| directory.join(self.name)).find(is_program)
    }
}

/// The fetching of one server.
pub(super) struct Job<'a, 'w> {
    /// Its name, for messages.
    pub(super) server: &'a str,
    /// What comes over the network, MB.
    pub(super) download_mb: u32,
    /// The directory that becomes the server.
    pub(super) directory: &'a Path,
    /// Bytes that have come over the network.
    pub(super) fetched: u64,
    /// Whom to tell, and who may end it.
    pub(super) work: &'a mut Work<'w>,
}

impl Job<'_, '_> {
    /// Prony's cache.
    pub(super) fn cache(&self) -> &Path {
        &self.work.places().cache
    }

    /// Runs `client` with what `arrange` adds, and returns its output. What grows below `watched` in the
    /// meantime is reported as progress.
    pub(super) fn run(
        &mut self,
        client: &Client,
        watched: Option<&Path>,
        arrange: impl FnOnce(&mut Command),
    ) -> Result<String, Error> {
        let missing = || Error::ClientMissing {
            server: self.server.to_owned(),
            program: client.name,
            remedy: client.remedy,
        };
        let program = client.find().ok_or_else(missing)?;
        let [said, complained] = [".said", ".complained"].map(|name| self.directory.join(name));
        let create = |path: &Path| File::create(path).map_err(Error::file("write", path));
        let mut command = trampoline::command(self.work.launcher(), Bond::Owner, program, None);
        command.stdin(Stdio::null()).stdout(create(&said)?).stderr(create(&complained)?).env("LC_ALL", "C");
        arrange(&mut command);
        let child = trampoline::spawn(command, Bond::Owner)
            .map_err(|error| self.failed(client.name, error.to_string(), ""))?;
        let status = self.attend(child, watched);
        let read = |path| {
            fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
        };
        let texts = [&said, &complained].map(read);
        for path in [&said, &complained] {
            fs::remove_file(path).map_err(Error::file("remove", path))?;
        }
        let [printed, complaint] = texts;
        match status? {
            Ok(status) if status.success() => Ok(printed),
            Ok(status) => Err(self.failed(client.name, status.to_string(), &(printed + &complaint))),
            Err(error) => Err(self.failed(client.name, error.to_string(), "")),
        }
    }

    /// Waits for the end of `child`.
    fn attend(
        &mut self,
        mut child: Child,
        watched: Option<&Path>,
    ) -> Result<std::io::Result<ExitStatus>, Error> {
        let size = || watched.map_or(0, bytes_below);
        let before = size();
        let grown = || size().saturating_sub(before);
        let mut told = Instant::now();
        loop {
            match child.try_wait() {
                Ok(None) => {}
                ended => {
                    self.fetched += grown();
                    return Ok(ended.transpose().expect("it has ended"));
                }
            }
            if let Err(interrupted) = self.work.heed() {
                end(&mut child);
                return Err(interrupted);
            }
            if watched.is_some() && told.elapsed() >= TOLD_EVERY {
                told = Instant::now();
                let megabytes = (self.fetched + grown()) / 1_000_000;
                let all_mb = Some(u64::from(self.download_mb)).filter(|all| *all > 0);
                // What is resumed, and what comes beside the server, may make it more than the catalogue
                // says.
                let done_mb = Some(megabytes.min(all_mb.unwrap_or(u64::MAX)));
                self.work.say(Step::Fetching { name: self.server.to_owned(), done_mb, all_mb });
            }
            thread::sleep(POLL);
        }
    }

    pub(super) fn failed(&self, command: &str, reason: String, output: &str) -> Error {
        // some clients colour what they say even into a pipe
        let output = strip_str(output).to_string();
        let lines: Vec<_> = output.lines().filter(|line| !line.trim().is_empty()).collect();
        let output = lines[lines.len().saturating_sub(OUTPUT_LINES_SHOWN)..].join("\n");
        Error::FetchFailed { server: self.server.to_owned(), command: command.to_owned(), reason, output }
    }
}

/// Ends `child` and what it has started: it leads a process group of its own.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let send = |signal| group.map(|group| kill_process_group(group, signal));
    // Errors mean that nothing of it is there any more.
    let _ = send(Signal::TERM);
    let began = Instant::now();
    while began.elapsed() < END_LIMIT && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(POLL);
    }
    let _ = send(Signal::KILL);
    let _ = child.wait();
}

/// Bytes in files below `directory`; what vanishes meanwhile counts nothing.
fn bytes_below(directory: &Path) -> u64 {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(known) if known.is_dir() => bytes_below(&entry.path()),
        Ok(known) => known.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
