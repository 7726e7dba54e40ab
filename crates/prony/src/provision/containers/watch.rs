//! The process between Prony and a container's client: it ends with the container, and ends the container
//! with Prony.
//!
//! The kernel kills a child with its parent (see [`super::trampoline`]), but a container is nobody's child
//! here. This process survives Prony for the moment that it takes to remove the container. It checks whether
//! its parent lives, which needs no privilege and no special kernel.

use super::remove;
use crate::provision::process::trampoline::keep_secrets;
use rustix::process::{Pid, getppid};
use std::{
    ffi::OsString,
    io::{self, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, Command, ExitCode, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// The first argument that makes Prony act as this process.
pub const ARGUMENT: &str = "__container";

/// How often parent and client are looked at.
const POLL: Duration = Duration::from_millis(50);
/// How long to wait, after Prony's end, for a client that was about to create its container.
const REMOVE_LIMIT: Duration = Duration::from_secs(30);
/// Between two attempts.
const REMOVE_PAUSE: Duration = Duration::from_millis(200);
/// What is added to the number of the signal that ended a program, as shells have it.
const SIGNAL_BASE: i32 = 128;

/// A command that runs `client`, which makes the container `name`, with the arguments that are added.
pub(super) fn command(launcher: &Path, client: &str, name: &str) -> Command {
    let mut command = Command::new(launcher);
    keep_secrets(&mut command);
    command.arg(ARGUMENT).arg(std::process::id().to_string()).arg(name).arg(client);
    command
}

/// What `main` calls when the first argument is [`ARGUMENT`]. `arguments` are the following ones: the
/// parent's process number, the container, the client, its arguments. Ends as the client does.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut word = || arguments.next().and_then(|word| word.into_string().ok()).unwrap_or_default();
    let (parent, name, client) = (word(), word(), word());
    match attend(&parent, &name, &client, arguments) {
        Ok(status) => {
            let code = status.code().or_else(|| Some(SIGNAL_BASE + status.signal()?)).unwrap_or(1);
            ExitCode::from(u8::try_from(code).unwrap_or(1))
        }
        Err(error) => {
            // Redirected into the server's error log, whose end is shown.
            let _ = writeln!(io::stderr(), "prony: cannot start {client}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn attend(
    parent: &str,
    name: &str,
    client: &str,
    arguments: impl Iterator<Item = OsString>,
) -> io::Result<ExitStatus> {
    let parent = parent.parse().ok().and_then(Pid::from_raw);
    let mut child = Command::new(client).args(arguments).spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if getppid() != parent {
            end(&mut child, client, name);
            return child.wait();
        }
        thread::sleep(POLL);
    }
}

/// Removes the container, which may not be there yet.
fn end(child: &mut Child, client: &str, name: &str) {
    let began = Instant::now();
    while began.elapsed() < REMOVE_LIMIT {
        remove(client, name);
        if !matches!(child.try_wait(), Ok(None)) {
            break;
        }
        thread::sleep(REMOVE_PAUSE);
    }
    // it may have ended by itself
    let _ = child.kill();
    remove(client, name);
}
