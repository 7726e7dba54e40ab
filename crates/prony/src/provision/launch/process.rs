//! A server's process, whatever has started it: a child of this process, or one in a container.

use crate::provision::{
    containers::{self, Container},
    process::{
        identity::ProcessIdentity,
        trampoline::{self, Bond},
    },
    software::Software,
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    ffi::OsString,
    io,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a container may take to vanish once its server was killed.
const KILL_LIMIT: Duration = Duration::from_secs(30);

/// A server that is about to be started.
pub(in crate::provision) struct Start {
    /// What starts it; more may be said.
    pub(in crate::provision) command: Command,
    /// The container that it will be in.
    pub(in crate::provision) container: Option<Container>,
    /// Whether it ends with this process.
    pub(in crate::provision) bond: Bond,
}

impl Start {
    /// A server with the option file `options` and no other, through the trampoline `launcher`, or in a
    /// container with `flags`.
    pub(in crate::provision) fn of(
        software: &Software,
        launcher: &Path,
        bond: Bond,
        options: &Path,
        flags: &[String],
    ) -> Self {
        let (mut command, container) = match &software.image {
            Some(image) => {
                let directory = options.parent().unwrap_or(Path::new("/"));
                let (command, container) = image.command(launcher, bond, &software.program, directory, flags);
                (command, Some(container))
            }
            None => {
                let (words, library_path) = software.libraries.start(&software.program);
                let mut command = trampoline::command(launcher, bond, &words[0], library_path);
                command.args(&words[1..]);
                (command, None)
            }
        };
        let mut first = OsString::from("--defaults-file=");
        first.push(options);
        command.arg(first).stdin(Stdio::null());
        Self { command, container, bond }
    }

    /// Starts it.
    ///
    /// # Errors
    /// As [`trampoline::spawn`].
    pub(in crate::provision) fn spawn(self) -> io::Result<Process> {
        let child = trampoline::spawn(self.command, self.bond)?;
        Ok(Process { child, container: self.container, inner: None })
    }
}

/// A server's process.
#[derive(Debug)]
pub(in crate::provision) struct Process {
    /// The server; for one in a container what has started that.
    child: Child,
    container: Option<Container>,
    /// The server in the container, once it is known.
    inner: Option<ProcessIdentity>,
}

impl Process {
    /// Process number of the server; before [`Process::find`], that of the process that starts its container.
    pub(in crate::provision) fn pid(&self) -> u32 {
        self.inner.and_then(|inner| u32::try_from(inner.pid).ok()).unwrap_or_else(|| self.child.id())
    }

    /// The container that it is in.
    pub(in crate::provision) fn container(&self) -> Option<&Container> {
        self.container.as_ref()
    }

    /// Looks for the process of a server that runs in a container, and answers by now.
    pub(in crate::provision) fn find(&mut self) {
        let Some(container) = &self.container else { return };
        let began = Instant::now();
        while self.inner.is_none() && began.elapsed() < KILL_LIMIT {
            self.inner = container.process();
            if self.inner.is_none() {
                thread::sleep(containers::POLL);
            }
        }
    }

    /// How it has ended, if it has.
    pub(in crate::provision) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks it to shut down. Whether it was there to be asked.
    pub(in crate::provision) fn terminate(&mut self) -> bool {
        // As long as it has not been waited for, the number is its own.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return false;
        }
        match (self.inner, &self.container) {
            (Some(inner), _) => {
                inner.signal(Signal::TERM);
                true
            }
            (None, Some(_)) => false,
            (None, None) => {
                let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
                pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
            }
        }
    }

    /// Ends it at once, and waits until it has.
    pub(in crate::provision) fn kill(&mut self) {
        if let Some(container) = &self.container {
            if let Some(inner) = self.inner {
                inner.signal(Signal::KILL);
            }
            let began = Instant::now();
            while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < KILL_LIMIT {
                container.remove();
                thread::sleep(containers::POLL);
            }
        }
        // It may have ended by itself; waiting for it is what counts.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
