//! Settings that a study sets on a server which Prony did not start, and how the values that were there are
//! restored.
//!
//! Before a variable is changed, its name and its values before and after are written to a file in the state
//! directory and synced; what moved along with it is added. The file is named after the server itself
//! ([`Identity`]), however it is addressed. Whoever finds such a file without a living process that locks it
//! restores the values: the same run at its end, the next run after a crash, or `prony server restore`. A
//! variable that has another value by then was changed by somebody else and stays. A server that was
//! restarted has lost what was set while it ran.

use super::{identity::Identity, in_use::InUse};
use crate::provision::{
    Error, Places,
    disk::lock::Lock,
    login::{describe, log_in, target},
    settings::{
        globals::{self, Globals, Left, Moved, literal},
        plain_name,
        read_back::{self, not_taken},
        translate::{Refusal, translate},
        words::{self, same},
    },
    software::version::Build,
};
use load::{
    client::{self, Connection},
    spec::{Address, Target, TlsMode},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

/// Version of the file's form. The first one had neither [`Saved::target`] nor [`Saved::identity`].
const FORMAT: u32 = 2;

/// The settings of one server that are to be restored, as its file has them.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Saved {
    format: u32,
    /// Its address without a password, for people.
    server: String,
    /// How to log in, but for the password.
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    identity: Option<Identity>,
    changes: Vec<Moved>,
}

/// Settings that are in force on a server that Prony did not start; restored when dropped.
#[derive(Debug)]
pub(in crate::provision) struct Applied {
    target: Target,
    /// Keeps other runs out.
    pub(in crate::provision) place: InUse,
    lock: Lock,
    saved: Saved,
    /// All variables as they are now.
    globals: Globals,
    is_restored: bool,
}

/// A server whose settings a killed run had changed.
#[derive(Debug)]
pub struct Restored {
    /// The server's address without a password.
    pub server: String,
    /// What became of it; or why nothing could be restored.
    pub result: Result<Restoration, Error>,
}

/// What became of its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restoration {
    /// These were restored, as `max_connections = 151`; all others have other values by now.
    PutBack(Vec<String>),
    /// The server was restarted: nothing is left of what was set while it ran.
    Restarted,
}

impl Applied {
    /// Sets `settings` with SET GLOBAL, after recording what was there.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::NotTaken`], [`Error::SetGlobal`]; then everything is as it was before.
    /// [`Error::InUse`] where another run is at work there.
    pub(in crate::provision) fn apply(
        target: &Target,
        settings: &BTreeMap<String, String>,
        places: &Places,
    ) -> Result<Self, Error> {
        let server = target::shown(target);
        let place = InUse::alone(target)?;
        let mut connection = log_in(target)?;
        let lost = |error| lost(target, error);
        let identity = Identity::of(&mut connection, target).map_err(lost)?;
        let lock = lock_of(&identity, &server, places)?;
        restore(&mut connection, &read(&lock)?, &identity)?;
        let description = describe::describe(&mut connection, "").map_err(lost)?;
        let build = Build { product: &description.product, version: &description.version };
        let refused = |refusals| Error::Refused { server: server.clone(), refusals };
        let told = translate(build, settings).map_err(refused)?;
        let stored = storable(&mut connection, target).map_err(lost)?;
        let saved = Saved {
            format: FORMAT,
            server: server.clone(),
            target: Some(stored),
            identity: Some(identity),
            changes: Vec::new(),
        };
        let globals = description.variables;
        let mut applied = Self { target: target.clone(), place, lock, saved, globals, is_restored: false };
        for (option, value) in told.options.iter().filter(|(option, _)| !words::is_plugin(option)) {
            applied.set(&mut connection, option, value)?;
        }
        let differences = not_taken(&told.expected, &applied.globals);
        if differences.is_empty() {
            return Ok(applied);
        }
        Err(Error::NotTaken { server, differences, log: String::new() })
    }

    fn set(&mut self, connection: &mut Connection, option: &str, value: &str) -> Result<(), Error> {
        let option = plain_name(option);
        let Some(variable) = same(&option).into_iter().find(|name| self.globals.contains_key(name)) else {
            let refusal =
                Refusal { asked: format!("{option} = {value}"), reason: words::Unfit::NotAtRunTime };
            return Err(Error::Refused { server: self.saved.server.clone(), refusals: vec![refusal] });
        };
        let before = self.globals[&variable].clone();
        if read_back::alike(value, &before) {
            return Ok(());
        }
        let asked = Moved { variable: variable.clone(), before, after: value.to_owned() };
        self.saved.changes.push(asked.clone());
        write(&self.lock, &self.saved)?;
        set_global(connection, &self.saved.server, &variable, value)?;
        self.see_what_moved(connection, asked)
    }

    /// Records what the server made of `asked`, and what else has moved with it.
    fn see_what_moved(&mut self, connection: &mut Connection, asked: Moved) -> Result<(), Error> {
        let now = globals::globals(connection).map_err(|error| lost(&self.target, error))?;
        let others = globals::moved(&self.globals, &now);
        let after = now.get(&asked.variable).cloned().unwrap_or_else(|| asked.after.clone());
        self.saved.changes.pop();
        self.saved.changes.extend(others.into_iter().filter(|other| other.variable != asked.variable));
        self.saved.changes.push(Moved { after, ..asked });
        self.globals = now;
        write(&self.lock, &self.saved)
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// [`Error::Login`], [`Error::NotPutBack`]: then it stays written down.
    pub(in crate::provision) fn restore(&mut self) -> Result<(), Error> {
        if self.is_restored {
            return Ok(());
        }
        if !self.saved.changes.is_empty() {
            let mut connection = log_in(&self.target)?;
            let now =
                Identity::of(&mut connection, &self.target).map_err(|error| lost(&self.target, error))?;
            restore(&mut connection, &self.saved, &now)?;
        }
        self.is_restored = true;
        remove(&self.lock)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        // Nobody is there to hear of it; it stays written down, and the next run tries again.
        let _ = self.restore();
    }
}

/// The file of a server, locked.
fn lock_of(identity: &Identity, server: &str, places: &Places) -> Result<Lock, Error> {
    let directory = places.saved_settings();
    fs::create_dir_all(&directory).map_err(Error::file("make the directory", &directory))?;
    let mut hasher = DefaultHasher::new();
    identity.key.hash(&mut hasher);
    let path = directory.join(format!("{:016x}.json", hasher.finish()));
    let lock = Lock::open(&path)?;
    if !lock.try_take()? || !lock.is_in_place().map_err(Error::file("read", &path))? {
        let (by, doing) = ("another run on this machine".to_owned(), "with its own settings applied");
        return Err(Error::InUse { server: server.to_owned(), by, doing });
    }
    Ok(lock)
}

/// A target as it is recorded: paths that hold from any directory, and TLS where it was used.
fn storable(connection: &mut Connection, target: &Target) -> Result<Target, client::Error> {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let mut stored = target.clone();
    if stored.tls.mode == TlsMode::Preferred {
        let cipher = describe::pairs(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")?;
        if cipher.values().any(|cipher| !cipher.is_empty()) {
            stored.tls.mode = TlsMode::Required;
        }
    }
    let tls = &mut stored.tls;
    for path in [&mut tls.ca, &mut tls.certificate, &mut tls.key] {
        *path = path.take().map(absolute);
    }
    if let Address::Unix(path) = stored.address {
        stored.address = Address::Unix(absolute(path));
    }
    Ok(stored)
}

/// Restores the settings that killed runs had changed. What living processes have changed is left alone.
///
/// # Errors
/// [`Error::File`]; what goes wrong with one server is told in its [`Restored`].
pub(in crate::provision) fn restore_all(places: &Places) -> Result<Vec<Restored>, Error> {
    let directory = places.saved_settings();
    let entries = match directory.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::file("read", &directory))?,
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| restore_one(path).transpose()).collect()
}

fn restore_one(path: &Path) -> Result<Option<Restored>, Error> {
    let lock = Lock::open(path)?;
    if !lock.try_take()? || !lock.is_in_place().map_err(Error::file("read", path))? {
        return Ok(None);
    }
    let saved = read(&lock)?;
    if saved.changes.is_empty() {
        remove(&lock)?;
        return Ok(None);
    }
    let result = restore_alone(&saved).and_then(|told| remove(&lock).map(|()| told));
    Ok(Some(Restored { server: saved.server, result }))
}

/// Restores while nobody else works there: otherwise trials of others would see two servers.
fn restore_alone(saved: &Saved) -> Result<Restoration, Error> {
    let target = match &saved.target {
        Some(target) => target::with_password(target.clone())?,
        None => target::resolve(Some(&saved.server), None)?,
    };
    let _place = InUse::alone(&target)?;
    let mut connection = log_in(&target)?;
    let now = Identity::of(&mut connection, &target).map_err(|error| lost(&target, error))?;
    restore(&mut connection, saved, &now)
}

/// Restores what is still as Prony set it, the last change first.
fn restore(connection: &mut Connection, saved: &Saved, server: &Identity) -> Result<Restoration, Error> {
    if let Some(then) = &saved.identity {
        if then.key != server.key {
            return Err(Error::OtherServer { server: saved.server.clone() });
        }
        if then.is_restarted(server) {
            return Ok(Restoration::Restarted);
        }
    }
    let failed = |source| Error::Statement { server: saved.server.clone(), source: Box::new(source) };
    let mut wanted = globals::globals(connection).map_err(failed)?;
    let mut told = Vec::new();
    for Moved { variable, before, after } in saved.changes.iter().rev() {
        if wanted.get(variable).is_some_and(|now| read_back::alike(after, now)) {
            wanted.insert(variable.clone(), before.clone());
            told.push(format!("{variable} = {before}"));
        }
    }
    let names: Vec<&str> = saved.changes.iter().map(|change| change.variable.as_str()).collect();
    let Left { moved, said } = globals::put_back(connection, &wanted, &names).map_err(failed)?;
    if moved.is_empty() {
        return Ok(Restoration::PutBack(told));
    }
    Err(Error::NotPutBack { server: saved.server.clone(), left: moved, said })
}

fn set_global(connection: &mut Connection, server: &str, variable: &str, value: &str) -> Result<(), Error> {
    let failed = |source| Error::SetGlobal {
        server: server.to_owned(),
        variable: variable.to_owned(),
        source: Box::new(source),
    };
    connection.query(&format!("SET GLOBAL {variable} = {}", literal(value))).map(drop).map_err(failed)
}

fn lost(target: &Target, source: client::Error) -> Error {
    Error::Login { server: target::shown(target), remedy: String::new(), source: Box::new(source) }
}

fn read(lock: &Lock) -> Result<Saved, Error> {
    let mut text = String::new();
    lock.file().read_to_string(&mut text).map_err(Error::file("read", lock.path()))?;
    if text.is_empty() {
        // Made by a process that changed nothing.
        return Ok(Saved::default());
    }
    let wrong = |reason: String| Error::Record { file: lock.path().to_owned(), reason };
    let saved: Saved = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if (1..=FORMAT).contains(&saved.format) {
        Ok(saved)
    } else {
        Err(wrong(format!("format {}", saved.format)))
    }
}

/// On the disk before the server is told.
fn write(lock: &Lock, saved: &Saved) -> Result<(), Error> {
    let text = serde_json::to_string(saved).expect("plain values become JSON");
    let mut file = lock.file();
    file.rewind()
        .and_then(|()| file.set_len(0))
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all())
        .map_err(Error::file("write", lock.path()))
}

fn remove(lock: &Lock) -> Result<(), Error> {
    fs::remove_file(lock.path()).map_err(Error::file("remove", lock.path()))
}
