//! Who is working on a server that Prony did not start. Named locks on the server itself say so; they hold
//! across processes and hosts and end with their holder.
//!
//! A run that changes settings is there alone. Runs that change nothing may work side by side, since each
//! sees afterwards whether the settings have stayed. A server without such locks is guarded only by files on
//! this machine.

use crate::provision::{
    Error, Holder, Remark,
    login::{log_in, target},
};
use load::{
    client::{self, Connection},
    lock::Lock,
    spec::Target,
};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Lock of whoever changes settings.
const SETTINGS: &str = "'prony settings'";
/// Runs side by side that are known of each other.
const RUNS_MAX: u32 = 16;
/// A connection that has just ended may hold its lock for a moment longer.
const WAIT: Duration = Duration::from_secs(2);
/// Between two looks.
const POLL: Duration = Duration::from_millis(50);
/// How long a server waits for a silent connection before it closes it: the longest time that it accepts.
const PATIENCE: &str = "SET SESSION wait_timeout = 31536000";

/// A run's place at a server, held by a connection.
#[derive(Debug)]
pub(in crate::provision) struct InUse {
    connection: Connection,
    lock: String,
}

impl InUse {
    /// For a run that changes settings.
    ///
    /// # Errors
    /// [`Error::InUse`] with who else is at work there.
    pub(in crate::provision) fn alone(target: &Target) -> Result<Self, Error> {
        let mut place = Self::connect(target)?;
        if place.take(target, SETTINGS)? == Lock::Held {
            return Err(place.held(target, SETTINGS, "with its own settings applied"));
        }
        let begun = Instant::now();
        while let Some(run) = place.run_at_work(target)? {
            if begun.elapsed() > WAIT {
                return Err(place.held(target, &run, "which measures with the current settings"));
            }
            thread::sleep(POLL);
        }
        Ok(place)
    }

    /// The lock of a run that measures there.
    fn run_at_work(&mut self, target: &Target) -> Result<Option<String>, Error> {
        for number in 0..RUNS_MAX {
            let run = lock_of(number);
            if self.connection.lock_holder(&run).map_err(lost(target))?.is_some() {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// For a run that changes nothing. The remark tells of one that has settings of its own in force.
    ///
    /// # Errors
    /// [`Error::Login`], [`Error::NoLock`].
    pub(in crate::provision) fn side_by_side(target: &Target) -> Result<(Self, Option<Remark>), Error> {
        let mut place = Self::connect(target)?;
        for number in 0..RUNS_MAX {
            if place.take(target, &lock_of(number))? != Lock::Held {
                break;
            }
        }
        let told = holder_of(&mut place.connection, SETTINGS).map(Remark::SettingsMeanwhile);
        Ok((place, told))
    }

    /// Makes sure that the lock is still held; the server may have closed a silent connection.
    ///
    /// # Errors
    /// [`Error::InUse`] where somebody else has it by now.
    pub(in crate::provision) fn keep(&mut self, target: &Target) -> Result<(), Error> {
        if self.lock.is_empty() {
            return Ok(());
        }
        let own = u64::from(self.connection.connection_id());
        if matches!(self.connection.lock_holder(&self.lock), Ok(Some(holder)) if holder == own) {
            return Ok(());
        }
        let (lock, mut anew) = (self.lock.clone(), Self::connect(target)?);
        if anew.take(target, &lock)? == Lock::Held {
            return Err(anew.held(target, &lock, "which took its place when the connection was lost"));
        }
        *self = anew;
        Ok(())
    }

    fn connect(target: &Target) -> Result<Self, Error> {
        // In no database: one that is to be dropped may be the target's.
        let anywhere = Target { database: None, ..target.clone() };
        let mut connection = log_in(&anywhere)?;
        match connection.query(PATIENCE) {
            Ok(_) | Err(client::Error::Server { .. }) => {}
            Err(error) => return Err(lost(target)(error)),
        }
        Ok(Self { connection, lock: String::new() })
    }

    fn take(&mut self, target: &Target, lock: &str) -> Result<Lock, Error> {
        let wait = if lock == SETTINGS { WAIT } else { Duration::ZERO };
        let taken = self.connection.take_lock(lock, wait).map_err(lost(target))?;
        match taken {
            Lock::Taken => lock.clone_into(&mut self.lock),
            Lock::Failed => return Err(Error::NoLock { server: target::shown(target) }),
            Lock::Held | Lock::Unknown => {}
        }
        Ok(taken)
    }

    fn held(&mut self, target: &Target, lock: &str, doing: &'static str) -> Error {
        let by = holder_of(&mut self.connection, lock)
            .map_or_else(|| "another Prony".to_owned(), |holder| holder.to_string());
        Error::InUse { server: target::shown(target), by, doing }
    }
}

/// The run that has settings of its own in force on the server at the other end of `connection`.
pub fn changer(connection: &mut Connection) -> Option<Remark> {
    holder_of(connection, SETTINGS).map(Remark::Settings)
}

/// Who holds a lock.
fn holder_of(connection: &mut Connection, lock: &str) -> Option<Holder> {
    let number = connection.lock_holder(lock).ok().flatten()?;
    let ask =
        format!("SELECT CONCAT(USER, '@', HOST) FROM information_schema.PROCESSLIST WHERE ID = {number}");
    let answer = connection.query(&ask).ok();
    let account = answer.as_ref().and_then(client::Answer::first_value).map(str::to_owned);
    Some(Holder { connection: number, account })
}

fn lock_of(run: u32) -> String {
    format!("'prony run {run}'")
}

fn lost(target: &Target) -> impl FnOnce(client::Error) -> Error {
    let server = target::shown(target);
    move |source| Error::Login { server, remedy: String::new(), source: Box::new(source) }
}
