//! Where a load is carried out: in this process, or in several on this machine whose parts of it are merged
//! exactly. The only module that makes a [`Loader`]; whoever starts a load knows that port and no more.

mod ports;

pub use ports::remark;

use crate::provision::trampoline::{self, Bond};
use load::{Error, Here, Link, Loader, Parts, Pinned, spec::Part};
use std::{
    fs::File,
    io,
    os::fd::AsFd as _,
    path::Path,
    process::{Child, ExitCode, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The first argument that makes Prony carry out a part of a load.
pub const ARGUMENT: &str = "__load";

/// How long a load process that has nothing left to do may take to end.
const END_MAX: Duration = Duration::from_secs(1);

/// What `main` calls when the first argument is [`ARGUMENT`].
#[must_use]
pub fn main() -> ExitCode {
    // the stream itself: what Rust puts around it waits for the ends of lines
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    match output.and_then(|output| load::part::serve(io::stdin(), output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// What carries loads out in so many processes, on these processors (none: all) of this machine. One process
/// is this one. `launcher` is the `prony` program.
#[must_use]
pub fn in_processes(processes: u32, processors: &[u32], launcher: &Path) -> Box<dyn Loader> {
    let processors = processors.to_vec();
    if processes <= 1 {
        return Box::new(Here { processors });
    }
    let launcher = launcher.to_owned();
    Box::new(Parts::new(processes, move |part| start(&launcher, part, &processors)))
}

/// Starts a process that carries out a part; it cannot outlive this one.
fn start(launcher: &Path, part: Part, processors: &[u32]) -> Result<Link, Error> {
    // whether it may run there is known before it is asked to
    drop(Pinned::to(processors)?);
    let mut command = trampoline::command(launcher, Bond::Owner, launcher, None);
    trampoline::limit(&mut command, &[], processors);
    command.arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = trampoline::spawn(command, Bond::Owner)?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("a load process has no pipes").into());
    };
    let process = Some(child.id());
    let child = Mutex::new(child);
    Ok(Link {
        name: format!("load process {} of {}", part.number + 1, part.of),
        process,
        from: Box::new(from),
        to: Box::new(to),
        end: Box::new(move || end(&mut child.lock().unwrap_or_else(PoisonError::into_inner))),
    })
}

/// Waits for a process that has nothing left to do, ends it where that takes too long, and says how it ended.
fn end(child: &mut Child) -> String {
    let begun = Instant::now();
    while begun.elapsed() < END_MAX {
        match child.try_wait() {
            Ok(Some(status)) => return status.to_string(),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(_) => break,
        }
    }
    // it may have ended by itself just now
    let _ = child.kill();
    child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
}
