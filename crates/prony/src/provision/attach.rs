//! A server that runs already: it is never started or stopped, and reconfigured only where the study says so.

use super::{Applied, Error, Places, describe::pairs, target};
use load::{
    client::{self, Connection},
    spec::{Address, Target},
};
use std::{collections::BTreeMap, fs, net::IpAddr, path::Path, time::Duration};

/// How long a server may take to take a login.
const LOGIN_LIMIT: Duration = Duration::from_secs(20);
/// Words of a command line among which the server's program is: behind a loader, its option and that option's
/// value.
const PROGRAM_WORDS: usize = 4;

/// A server that runs already and that can be logged in to.
#[derive(Debug)]
pub struct Running {
    target: Target,
    pid: Option<u32>,
    /// Settings that are put back when it is given up.
    applied: Option<Applied>,
}

impl Running {
    /// Logs in once to see that it can be done.
    ///
    /// # Errors
    /// [`Error::Login`] with the server's own words.
    pub fn attach(target: Target) -> Result<Self, Error> {
        let mut connection = log_in(&target)?;
        let pid = process_of(&mut connection, &target);
        Ok(Self { target, pid, applied: None })
    }

    /// Sets what the study asks for, until it is given up.
    pub(super) fn apply(
        &mut self,
        settings: &BTreeMap<String, String>,
        places: &Places,
    ) -> Result<(), Error> {
        self.applied = Some(Applied::apply(&self.target, settings, places)?);
        Ok(())
    }

    /// Puts back what was there before.
    pub(super) fn restore(&mut self) -> Result<(), Error> {
        self.applied.as_mut().map_or(Ok(()), Applied::restore)
    }

    /// How to log in.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Its process, where it runs on this machine and can be found.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }
}

/// Logs in to `target`, and on failure says why, where, and what to do.
///
/// # Errors
/// [`Error::Login`].
pub fn log_in(target: &Target) -> Result<Connection, Error> {
    Connection::open(target, LOGIN_LIMIT).map_err(|source| Error::Login {
        server: target::shown(target),
        remedy: remedy(&source, target),
        source: Box::new(source),
    })
}

/// What to do about a login that failed, as the end of a sentence; empty where the error says it itself.
fn remedy(error: &client::Error, target: &Target) -> String {
    const ACCESS_DENIED: u16 = 1045;
    const NO_ACCESS_TO_DATABASE: u16 = 1044;
    const UNKNOWN_DATABASE: u16 = 1049;
    const TOO_MANY_CONNECTIONS: u16 = 1040;
    let database = target.database.as_deref().unwrap_or_default();
    match error.code() {
        Some(ACCESS_DENIED) if target.password.reveal().is_empty() => {
            "; no password was given: put it into PRONY_PASSWORD or into the group [client] of ~/.my.cnf"
                .to_owned()
        }
        Some(ACCESS_DENIED) => {
            "; check user and password (of the URL, of PRONY_PASSWORD, of ~/.my.cnf)".to_owned()
        }
        Some(NO_ACCESS_TO_DATABASE) => {
            format!("; grant the user the rights on `{database}`, or name another database")
        }
        Some(UNKNOWN_DATABASE) => {
            format!("; make it with CREATE DATABASE `{database}`, or name another one in the URL")
        }
        Some(TOO_MANY_CONNECTIONS) => "; raise max_connections, or close other connections".to_owned(),
        Some(_) => String::new(),
        None => match error {
            client::Error::Connect { .. } => String::new(),
            client::Error::Address { .. } => "; check the host's name".to_owned(),
            client::Error::Tls(_) => "; check ssl-mode and ssl-ca".to_owned(),
            _ => "; check that a server of MySQL's protocol listens there".to_owned(),
        },
    }
}

fn is_local(address: &Address) -> bool {
    match address {
        Address::Unix(_) => true,
        Address::Tcp { host, .. } => {
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

/// Process of the server at the other end of `connection` to `target`, where it runs on this machine and can
/// be found.
#[must_use]
pub fn process_of(connection: &mut Connection, target: &Target) -> Option<u32> {
    is_local(&target.address).then(|| server_pid(connection)).flatten()
}

/// From the file in which the server itself wrote it, if that process is a server: in a container the number
/// is another.
fn server_pid(connection: &mut Connection) -> Option<u32> {
    let variables = pairs(connection, "SHOW GLOBAL VARIABLES LIKE 'pid_file'").ok()?;
    let pid: u32 = fs::read_to_string(Path::new(variables.get("pid_file")?)).ok()?.trim().parse().ok()?;
    let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    // The first word is the loader's name where a server runs through one of its own.
    let mut names = words.split('\0').take(PROGRAM_WORDS).filter_map(|word| Path::new(word).file_name());
    names.any(|name| name == "mysqld" || name == "mariadbd").then_some(pid)
}
