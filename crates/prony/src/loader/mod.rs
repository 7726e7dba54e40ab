//! Where a load runs: in this process, in several on this machine, or at agents on others, whose parts of it
//! are merged exactly. The only module that makes a [`Loader`]; whoever starts a load knows that port and
//! nothing else.

mod agents;
mod certificates;
mod host;
mod pods;
mod ports;

pub use agents::{Agents, Error as AgentsError};
pub use certificates::{Error as CertificatesError, identity, init};
pub use host::LoadHost;
pub use pods::Error as PodsError;
pub use ports::{FewPorts, few_ports};

use crate::{
    provision::{
        death,
        trampoline::{self, Bond},
    },
    sysbench,
    telemetry::look,
};
use load::{Error, Here, Link, Loader, Parts, Pinned, Seen};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::{
    ffi::OsString,
    fs::File,
    io,
    os::fd::AsFd as _,
    path::Path,
    process::{Child, ExitCode, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The first argument that makes Prony run a part of a load.
pub const ARGUMENT: &str = "__load";
/// The second one where it does so for others: it then tells what it sees of this machine.
const ON_LOAD_HOST: &str = "on-load-host";

/// How long a load process with nothing left to do may take to end.
const END_MAX: Duration = Duration::from_secs(1);

/// What `main` calls when the first argument is [`ARGUMENT`]; behind it may stand `ON_LOAD_HOST`, and how
/// much memory it may use, bytes.
#[must_use]
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.peekable();
    let look = arguments.next_if(|first| first == ON_LOAD_HOST).map(|_| look as fn() -> Seen);
    let limit = arguments.next().and_then(|text| text.to_str()?.parse::<u64>().ok());
    if let Some(bytes) = limit {
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        if setrlimit(Resource::Data, limit).is_err() {
            return ExitCode::FAILURE;
        }
    }
    // the stream itself: what Rust puts around it waits for the ends of lines
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    match output.and_then(|output| load::part::serve(io::stdin(), output, Some(&sysbench::PLAYER), look)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// A loader with this many processes, on these processors (none: all) of this machine. One process is this
/// one. `launcher` is the `prony` program.
#[must_use]
pub fn in_processes(processes: u32, processors: &[u32], launcher: &Path) -> Box<dyn Loader> {
    let processors = processors.to_vec();
    if processes <= 1 {
        return Box::new(Here { processors, interpreter: Some(&sysbench::PLAYER) });
    }
    let launcher = launcher.to_owned();
    let start = move |of: u32| {
        let place =
            Place { launcher: &launcher, processors: &processors, memory_bytes: None, is_load_host: false };
        (1..=of).map(|number| start(format!("load process {number} of {of}"), &place)).collect()
    };
    Box::new(Parts::new(processes, start))
}

/// Where a process that carries out a part runs.
struct Place<'a> {
    launcher: &'a Path,
    processors: &'a [u32],
    /// `None`: any.
    memory_bytes: Option<u64>,
    /// Whether it does so for others.
    is_load_host: bool,
}

/// Starts a process that runs a part; it cannot outlive this one.
fn start(name: String, place: &Place<'_>) -> Result<Link, Error> {
    let Place { launcher, processors, memory_bytes, is_load_host } = *place;
    // whether it may run there is known before it is asked to
    drop(Pinned::to(processors)?);
    let mut command = trampoline::command(launcher, Bond::Owner, launcher, None);
    trampoline::limit(&mut command, &[], processors);
    command.arg(ARGUMENT).args(is_load_host.then_some(ON_LOAD_HOST));
    command.args(memory_bytes.map(|bytes| bytes.to_string()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let kills = death::memory_kills();
    let mut child = trampoline::spawn(command, Bond::Owner)?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("a load process has no pipes").into());
    };
    let process = Some(child.id());
    let child = Mutex::new(child);
    Ok(Link {
        name,
        process,
        from: Box::new(from),
        to: Box::new(to),
        end: Box::new(move || end(&mut child.lock().unwrap_or_else(PoisonError::into_inner), kills)),
        host: None,
    })
}

/// Waits for a process that has nothing left to do, ends it if that takes too long, and says how it ended.
fn end(child: &mut Child, kills_before: Option<u64>) -> String {
    let pid = child.id();
    let how = |status| death::how(status, pid, kills_before);
    let begun = Instant::now();
    while begun.elapsed() < END_MAX {
        match child.try_wait() {
            Ok(Some(status)) => return how(status),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(_) => break,
        }
    }
    // it may have ended by itself just now
    let _ = child.kill();
    child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
}
