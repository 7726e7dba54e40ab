//! Settings that a study sets on a server which Prony did not start, and what Prony therefore owes to it: the
//! values that were there.
//!
//! Before a variable is changed, its name, the value before and the value after are written to a file in the
//! state directory and synced. Whoever finds such a file that no living process holds locked puts the values
//! back: the same run at its end, the next run after a crash, or `prony server restore`. A variable that has
//! another value by then was changed by somebody else and stays.

use super::{
    Error, Places, describe,
    lock::Lock,
    log_in, not_taken, read_back, target,
    translate::{self, Build, flag, same, translate},
};
use crate::quantity::size_or_bytes;
use load::{client::Connection, spec::Target};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read, Seek, Write},
    path::Path,
};

/// Version of the file's form.
const FORMAT: u32 = 1;

/// What is owed to one server, as its file has it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Debt {
    format: u32,
    /// Its address without a password.
    server: String,
    changes: Vec<Change>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Change {
    variable: String,
    before: String,
    after: String,
}

/// Settings that are in force on a server that runs elsewhere; put back when dropped.
#[derive(Debug)]
pub struct Applied {
    target: Target,
    lock: Lock,
    debt: Debt,
    paid: bool,
}

/// A debt that was looked at.
#[derive(Debug)]
pub struct Paid {
    /// The server's address without a password.
    pub server: String,
    /// What was put back, as `max_connections = 151`; or why nothing could be.
    pub result: Result<Vec<String>, Error>,
}

impl Applied {
    /// Sets `settings` with SET GLOBAL, having written down what was there.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::NotTaken`], [`Error::SetGlobal`]; then everything is as it was before.
    /// [`Error::Owed`] where another process has settings of its own in force there.
    pub(super) fn apply(
        target: &Target,
        settings: &BTreeMap<String, String>,
        places: &Places,
    ) -> Result<Self, Error> {
        let server = target::shown(target);
        let mut connection = log_in(target)?;
        let directory = places.owed();
        fs::create_dir_all(&directory).map_err(Error::file("make the directory", &directory))?;
        let mut hasher = DefaultHasher::new();
        server.hash(&mut hasher);
        let lock = Lock::open(&directory.join(format!("{:016x}.json", hasher.finish())))?;
        if !lock.try_take()? {
            return Err(Error::Owed { server });
        }
        let earlier = read(&lock)?;
        pay(&mut connection, &earlier)?;
        let description = describe::describe(&mut connection, "").map_err(|error| lost(target, error))?;
        let build = Build { product: &description.product, version: &description.version };
        let refused = |refusals| Error::Refused { server: server.clone(), refusals };
        let told = translate(build, settings).map_err(refused)?;
        let debt = Debt { format: FORMAT, server: server.clone(), changes: Vec::new() };
        let mut applied = Self { target: target.clone(), lock, debt, paid: false };
        for (option, value) in told.options.iter().filter(|(option, _)| !translate::is_plugin(option)) {
            applied.set(&mut connection, &description.variables, option, value)?;
        }
        let variables = variables(&mut connection, target)?;
        let differences = not_taken(&told.expected, &variables);
        if differences.is_empty() {
            return Ok(applied);
        }
        Err(Error::NotTaken { server, differences, log: String::new() })
    }

    fn set(
        &mut self,
        connection: &mut Connection,
        variables: &BTreeMap<String, String>,
        option: &str,
        value: &str,
    ) -> Result<(), Error> {
        let option = super::settings::plain_name(option);
        let Some(variable) = same(&option).into_iter().find(|name| variables.contains_key(name)) else {
            let reason = "it has no variable of that name, so it cannot be set while it runs".to_owned();
            let refusal = super::Refusal { asked: format!("{option} = {value}"), reason };
            return Err(Error::Refused { server: self.debt.server.clone(), refusals: vec![refusal] });
        };
        let before = variables[&variable].clone();
        if read_back::alike(value, &before) {
            return Ok(());
        }
        let change = Change { variable, before, after: value.to_owned() };
        self.debt.changes.push(change.clone());
        write(&self.lock, &self.debt)?;
        set_global(connection, &self.debt.server, &change.variable, value)
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// [`Error::Login`], [`Error::SetGlobal`]: then the debt stays written down.
    pub(super) fn restore(&mut self) -> Result<(), Error> {
        if self.paid {
            return Ok(());
        }
        if !self.debt.changes.is_empty() {
            pay(&mut log_in(&self.target)?, &self.debt)?;
        }
        self.paid = true;
        remove(&self.lock)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        // Nobody is there to hear of it; the debt stays written down, and the next run tries again.
        let _ = self.restore();
    }
}

/// Pays what killed runs owe. Debts of living processes are left alone.
///
/// # Errors
/// [`Error::File`]; what goes wrong with one server is told in its [`Paid`].
pub(super) fn pay_all(places: &Places) -> Result<Vec<Paid>, Error> {
    let directory = places.owed();
    let entries = match directory.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::file("read", &directory))?,
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| pay_one(path).transpose()).collect()
}

fn pay_one(path: &Path) -> Result<Option<Paid>, Error> {
    let lock = Lock::open(path)?;
    if !lock.try_take()? || !lock.is_in_place().map_err(Error::file("read", path))? {
        return Ok(None);
    }
    let debt = read(&lock)?;
    if debt.changes.is_empty() {
        remove(&lock)?;
        return Ok(None);
    }
    let paid = target::resolve(Some(&debt.server), None)
        .and_then(|target| log_in(&target))
        .and_then(|mut connection| pay(&mut connection, &debt))
        .and_then(|told| remove(&lock).map(|()| told));
    Ok(Some(Paid { server: debt.server, result: paid }))
}

/// Puts back what is still as Prony set it, the last change first.
fn pay(connection: &mut Connection, debt: &Debt) -> Result<Vec<String>, Error> {
    let mut told = Vec::new();
    for Change { variable, before, after } in debt.changes.iter().rev() {
        let show = format!("SHOW GLOBAL VARIABLES LIKE '{variable}'");
        let now = describe::pairs(connection, &show).map_err(|source| Error::SetGlobal {
            server: debt.server.clone(),
            variable: variable.clone(),
            source: Box::new(source),
        })?;
        if now.get(variable).is_some_and(|now| read_back::alike(after, now)) {
            set_global(connection, &debt.server, variable, before)?;
            told.push(format!("{variable} = {before}"));
        }
    }
    Ok(told)
}

fn set_global(connection: &mut Connection, server: &str, variable: &str, value: &str) -> Result<(), Error> {
    let literal = match size_or_bytes(value) {
        Ok(number) => number.to_string(),
        Err(_) if value.parse::<f64>().is_ok() => value.to_owned(),
        Err(_) if flag(value) == Some(true) => "ON".to_owned(),
        Err(_) if flag(value) == Some(false) => "OFF".to_owned(),
        Err(_) => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    };
    let failed = |source| Error::SetGlobal {
        server: server.to_owned(),
        variable: variable.to_owned(),
        source: Box::new(source),
    };
    connection.query(&format!("SET GLOBAL {variable} = {literal}")).map(drop).map_err(failed)
}

fn variables(connection: &mut Connection, target: &Target) -> Result<BTreeMap<String, String>, Error> {
    describe::pairs(connection, "SHOW GLOBAL VARIABLES").map_err(|error| lost(target, error))
}

fn lost(target: &Target, source: load::client::Error) -> Error {
    Error::Login { server: target::shown(target), remedy: String::new(), source: Box::new(source) }
}

fn read(lock: &Lock) -> Result<Debt, Error> {
    let mut text = String::new();
    lock.file().read_to_string(&mut text).map_err(Error::file("read", lock.path()))?;
    if text.is_empty() {
        // Made by a process that changed nothing.
        return Ok(Debt::default());
    }
    let wrong = |reason: String| Error::Record { file: lock.path().to_owned(), reason };
    let debt: Debt = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if debt.format == FORMAT { Ok(debt) } else { Err(wrong(format!("format {}", debt.format))) }
}

/// On the disk before the server is told.
fn write(lock: &Lock, debt: &Debt) -> Result<(), Error> {
    let text = serde_json::to_string(debt).expect("plain values become JSON");
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
