//! Connections that execute statements beside each other: whoever reads files hands statements over, and
//! waits where something must not begin before all of them are done. What waits to be executed takes little
//! memory, however long the files are.

use super::{
    Error,
    form::{self, Warning},
    loader::{ATTEMPTS, is_conflict},
    session::Session,
};
use crate::layout::files;
use load::spec::Target;
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

/// Bytes of statements that wait, at most; one alone may be longer.
const WAITING_BYTES_MAX: usize = 32 << 20;
/// Warnings that are kept, of one statement and of all: more say the same.
const WARNINGS_OF_ONE: usize = 3;
const WARNINGS_MAX: usize = 30;

/// A statement for any of the connections.
pub(super) struct Job {
    pub(super) text: Vec<u8>,
    /// Where it stands.
    pub(super) file: PathBuf,
    pub(super) line: u64,
    /// Bytes of the files that are loaded with it.
    pub(super) bytes: u64,
    /// How many settings hold for it.
    pub(super) settings: usize,
}

/// See the module.
pub(super) struct Pool<'a> {
    target: &'a Target,
    stop: &'a AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
    done: AtomicU64,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    bytes: usize,
    running: usize,
    /// What each connection executes before the first statement that needs it.
    settings: Vec<Vec<u8>>,
    failure: Option<Error>,
    is_over: bool,
    warnings: Vec<Warning>,
}

impl<'a> Pool<'a> {
    pub(super) fn new(target: &'a Target, stop: &'a AtomicBool) -> Self {
        let (state, changed, done) = (Mutex::default(), Condvar::new(), AtomicU64::new(0));
        Self { target, stop, state, changed, done }
    }

    /// Bytes of the files that are loaded.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// More of the files needs no connection of the pool.
    pub(super) fn add_done(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
    }

    /// Statements that are handed over from now on need this setting.
    pub(super) fn set(&self, text: &[u8]) {
        self.lock().settings.push(text.to_vec());
    }

    /// How many settings there are.
    pub(super) fn settings(&self) -> usize {
        self.lock().settings.len()
    }

    /// Hands a statement over; waits while too many others wait.
    pub(super) fn push(&self, job: Job) -> Result<(), Error> {
        let bytes = job.text.len();
        let mut state =
            self.wait_while(|state| state.bytes > 0 && state.bytes + bytes > WAITING_BYTES_MAX)?;
        state.bytes += bytes;
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until all are done.
    pub(super) fn drain(&self) -> Result<(), Error> {
        self.wait_while(|state| !state.waiting.is_empty() || state.running > 0).map(drop)
    }

    /// There will be no more: the connections end.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// What servers said about statements that they took.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        std::mem::take(&mut self.lock().warnings)
    }

    /// Executes a statement of a file, and keeps what the server has to say about it.
    pub(super) fn execute_in(
        &self,
        session: &mut Session,
        text: &[u8],
        file: &Path,
        line: u64,
    ) -> Result<(), Error> {
        if execute(session, text, file, line)? == 0 || self.lock().warnings.len() >= WARNINGS_MAX {
            return Ok(());
        }
        let told = form::warnings(session)?;
        let warning = |message| Warning { file: file.to_owned(), line, message };
        // a statement of many rows has many of the same kind
        self.lock().warnings.extend(told.into_iter().take(WARNINGS_OF_ONE).map(warning));
        Ok(())
    }

    /// Why it broke off.
    pub(super) fn failure(&self) -> Option<Error> {
        self.lock().failure.take()
    }

    /// Executes what is handed over until the end; opens a connection once there is something.
    pub(super) fn work(&self) {
        let mut connection = None;
        while let Some(job) = self.take() {
            let bytes = job.bytes;
            let done = self.execute(&mut connection, job);
            let mut state = self.lock();
            state.running -= 1;
            match done {
                Ok(()) => self.add_done(bytes),
                Err(error) => {
                    state.failure.get_or_insert(error);
                    state.is_over = true;
                }
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    fn take(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.failure.is_some() || self.stop.load(Relaxed) {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                state.bytes -= job.text.len();
                state.running += 1;
                return Some(job);
            }
            if state.is_over {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn execute(&self, connection: &mut Option<(Session, usize)>, job: Job) -> Result<(), Error> {
        let (session, known) = match connection {
            Some(open) => open,
            none => none.insert((Session::open(self.target)?, 0)),
        };
        let missing: Vec<Vec<u8>> = match job.settings > *known {
            true => self.lock().settings[*known..job.settings].to_vec(),
            false => Vec::new(),
        };
        *known = (*known).max(job.settings);
        for setting in &missing {
            execute(session, setting, &job.file, job.line)?;
        }
        let mut attempt = 1;
        loop {
            match self.execute_in(session, &job.text, &job.file, job.line) {
                Err(Error::File { source, .. }) if is_conflict(&source) && attempt < ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    /// Waits as long as `condition` holds and nothing failed.
    fn wait_while(&self, condition: impl Fn(&State) -> bool) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = self.lock();
        loop {
            if self.stop.load(Relaxed) || state.failure.is_some() {
                // the failure itself is told by whoever ends the pool
                return Err(Error::Interrupted);
            }
            if !condition(&state) {
                return Ok(state);
            }
            let (next, _) =
                self.changed.wait_timeout(state, super::files::TICK).unwrap_or_else(PoisonError::into_inner);
            state = next;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Executes a statement of a file; returns how many warnings the server has.
fn execute(session: &mut Session, text: &[u8], file: &Path, line: u64) -> Result<u16, Error> {
    let sent = session.connection().run(|session, out| session.query(text, out), &mut ());
    sent.map(|reply| reply.warnings).map_err(|source| Error::File {
        server: session.server().to_owned(),
        file: file.to_owned(),
        line,
        text: files::excerpt(text),
        source: Box::new(source),
    })
}
