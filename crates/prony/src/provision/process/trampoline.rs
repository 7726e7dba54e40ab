//! Starts a program so that it cannot outlive Prony: not an interrupt, not a panic, not `kill -9`.
//!
//! Prony starts itself with the hidden first argument [`ARGUMENT`]. That short-lived second Prony asks the
//! kernel to be killed when its parent ends (`PR_SET_PDEATHSIG`, which survives `execve`), raises its own
//! limit of open files, and becomes the wanted program. The request could be made in the child after `fork`
//! as well, but only with unsafe code.
//!
//! The kernel sends that signal when the *thread* that forked ends, not the process. So all such programs are
//! started by one thread, which ends only with the process ([`spawn`]).
//!
//! A server that the user wants to stay ([`Bond::None`]) starts in the same way, but without that request and
//! in a session of its own.

use rustix::{
    process::{Pid, Resource, Rlimit, Signal},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write},
    os::{
        fd::AsFd as _,
        unix::{fs::PermissionsExt as _, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::{Mutex, OnceLock, mpsc},
    thread,
};

/// The first argument that makes Prony act as the trampoline.
pub const ARGUMENT: &str = "__server";

/// Environment variable whose value becomes the program's `LD_LIBRARY_PATH`. Under that name it would already
/// apply to the trampoline, which would be loaded with the server's libraries.
const LIBRARY_PATH: &str = "PRONY_SERVER_LIBRARY_PATH";

/// Environment variable with the cgroups that the program is to be in, as paths with `:` between them.
const GROUPS: &str = "PRONY_SERVER_GROUPS";
/// Environment variable with the network namespace that it is to be in, as a file of the kernel's.
const NAMESPACE: &str = "PRONY_SERVER_NAMESPACE";
/// Environment variable with the numbers of the processors that it may run on, with `,` between them.
const PROCESSORS: &str = "PRONY_SERVER_PROCESSORS";

/// Variables that are about the start alone.
const VARIABLES_OF_PRONY: [&str; 4] = [LIBRARY_PATH, GROUPS, NAMESPACE, PROCESSORS];
/// Variables that the servers' programs would read, or that concern only Prony.
const VARIABLES_OF_USER: [&str; 7] = [
    "MYSQL_HOME",
    "MARIADB_HOME",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
    "MYSQL_PWD",
    "PRONY_PASSWORD",
    "PRONY_URL",
];

/// Exit code where the program could not be started, as shells have it.
const EXIT_NOT_STARTED: u8 = 127;

/// Whether a program ends with Prony.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bond {
    /// It cannot outlive this process.
    Owner,
    /// It stays, whatever becomes of this process and its terminal.
    None,
}

/// What replaces the parent's number for [`Bond::None`].
const NO_PARENT: &str = "-";

/// What `main` calls when the first argument is [`ARGUMENT`]; `arguments` are those behind it: the process
/// number of the parent, the program, its arguments. Returns only if the program could not be started.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Err(error) = become_program(arguments);
    // The caller has redirected this into the server's error log, whose end it shows. Nothing can be done if
    // it fails.
    let _ = writeln!(io::stderr(), "prony: cannot start it: {error}");
    ExitCode::from(EXIT_NOT_STARTED)
}

fn become_program(mut arguments: impl Iterator<Item = OsString>) -> io::Result<Infallible> {
    let (Some(parent), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("usage: prony {ARGUMENT} PARENT PROGRAM ARGUMENTS..."),
        ));
    };
    if parent == NO_PARENT {
        rustix::process::setsid()?;
    } else {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        let parent = parent.to_str().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
        if parent.is_none() || rustix::process::getppid() != parent {
            // It died before the request was made; the signal will never come.
            return Err(io::Error::other("the process that requested it is gone"));
        }
    }
    raise_open_files();
    if let Some(file) = std::env::var_os(NAMESPACE) {
        File::open(&file)
            .and_then(|file| move_into(&file))
            .map_err(|error| named(error, &file.display().to_string()))?;
    }
    enter_cgroups()?;
    let mut command = Command::new(&program);
    command.args(arguments);
    if let Some(path) = std::env::var_os(LIBRARY_PATH) {
        command.env("LD_LIBRARY_PATH", path);
    }
    for variable in VARIABLES_OF_PRONY {
        command.env_remove(variable);
    }
    keep_secrets(&mut command);
    Err(command.exec())
}

/// Removes the user's secrets, and variables that lead a client elsewhere, from a program's environment:
/// anyone who may look at its process could read them there.
pub fn keep_secrets(command: &mut Command) {
    for variable in VARIABLES_OF_USER {
        command.env_remove(variable);
    }
}

/// Enters the groups and goes to the processors that the environment names.
fn enter_cgroups() -> io::Result<()> {
    for group in std::env::var_os(GROUPS).iter().flat_map(std::env::split_paths) {
        let file = group.join("cgroup.procs");
        // 0 is whoever writes
        std::fs::write(&file, "0").map_err(|error| named(error, &file.display().to_string()))?;
    }
    let Ok(text) = std::env::var(PROCESSORS) else { return Ok(()) };
    pin(text.split(',').filter_map(|number| number.parse().ok()))
        .map_err(|error| named(error, &format!("processors {text}")))
}

fn named(error: io::Error, what: &str) -> io::Error {
    io::Error::other(format!("{what}: {error}"))
}

/// Moves the calling thread into the network namespace of this file.
///
/// # Errors
/// Without the right to it.
pub fn move_into(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Lets the program of `command` enter a network namespace before it begins.
pub fn enter(command: &mut Command, namespace: &Path) {
    command.env(NAMESPACE, namespace);
}

/// Whether `PATH` has a program of this name.
#[must_use]
pub fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| {
        let known = directory.join(name).metadata();
        known.is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
    })
}

/// Binds the calling thread, and those that it will start, to these processors.
///
/// # Errors
/// If none of them exists or may be used.
pub fn pin(processors: impl Iterator<Item = usize>) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for number in processors.filter(|number| *number < rustix::thread::CpuSet::MAX_CPU) {
        set.set(number);
    }
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Lets the program of `command` enter cgroups and run on some processors only, before it begins.
pub fn limit(command: &mut Command, groups: &[PathBuf], processors: &[u32]) {
    if !groups.is_empty() {
        let paths = std::env::join_paths(groups).expect("Prony's names of groups have no colon");
        command.env(GROUPS, paths);
    }
    if !processors.is_empty() {
        let numbers: Vec<String> = processors.iter().map(u32::to_string).collect();
        command.env(PROCESSORS, numbers.join(","));
    }
}

/// Raises this process's soft limit of open files to the hard one. Returns the limit that now holds;
/// `u64::MAX`: none.
pub fn raise_open_files() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match rustix::process::setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum.unwrap_or(u64::MAX),
        Err(_) => limit.current.unwrap_or(u64::MAX),
    }
}

/// A command that runs `program` through the trampoline `launcher` (the `prony` program itself), with
/// `library_path` as its `LD_LIBRARY_PATH`.
#[must_use]
pub fn command(
    launcher: &Path,
    bond: Bond,
    program: impl AsRef<OsStr>,
    library_path: Option<OsString>,
) -> Command {
    let parent = match bond {
        Bond::Owner => std::process::id().to_string(),
        Bond::None => NO_PARENT.to_owned(),
    };
    let mut command = Command::new(launcher);
    command.arg(ARGUMENT).arg(parent).arg(program);
    keep_secrets(&mut command);
    if let Some(path) = library_path {
        command.env(LIBRARY_PATH, path);
    }
    command
}

/// Runs a program of the system to its end, in a network namespace if one is given. Ctrl-C does not reach it.
///
/// # Errors
/// What it said, or why it could not be started.
pub fn run<W: AsRef<OsStr>>(
    launcher: &Path,
    namespace: Option<&Path>,
    program: &str,
    words: impl IntoIterator<Item = W>,
) -> io::Result<()> {
    let mut command = command(launcher, Bond::Owner, program, None);
    command.args(words);
    if let Some(namespace) = namespace {
        enter(&mut command, namespace);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = spawn(command, Bond::Owner)?.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(io::Error::other(if lines.is_empty() { output.status.to_string() } else { lines.join("; ") }))
}

struct Request {
    command: Command,
    reply: mpsc::SyncSender<io::Result<Child>>,
}

/// Starts `command` from the thread that lives as long as this process, in its own process group, so that
/// Ctrl-C on the terminal reaches Prony alone, which then stops it cleanly. A program that stays gets its own
/// session instead, which the leader of a group could not create.
///
/// # Errors
/// As [`Command::spawn`].
pub fn spawn(mut command: Command, bond: Bond) -> io::Result<Child> {
    if bond == Bond::None {
        return command.spawn();
    }
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<Request>>> = OnceLock::new();
    command.process_group(0);
    let (reply, answer) = mpsc::sync_channel(1);
    let spawner = SPAWNER.get_or_init(|| Mutex::new(start_spawner()));
    let sent = match spawner.lock() {
        Ok(requests) => requests.send(Request { command, reply }),
        Err(poisoned) => poisoned.into_inner().send(Request { command, reply }),
    };
    sent.map_err(|_| io::Error::other("the thread that starts servers is gone"))?;
    answer.recv().map_err(|_| io::Error::other("the thread that starts servers is gone"))?
}

fn start_spawner() -> mpsc::Sender<Request> {
    let (sender, requests) = mpsc::channel::<Request>();
    thread::spawn(move || {
        for mut request in requests {
            // Nobody waits for the answer only if the asking thread has panicked; then the child is dropped,
            // and dies with this process.
            let _ = request.reply.send(request.command.spawn());
        }
    });
    sender
}
