//! A server that runs already: it is never started or stopped, and reconfigured only where the study says so.

mod identity;
pub(in crate::provision) mod in_use;
pub(in crate::provision) mod owner;
pub(in crate::provision) mod restore;

use crate::provision::{Applied, Error, NoProcess, Places, login::target};
use in_use::InUse;
use load::{
    client::{self, Connection},
    spec::Target,
};
use std::{collections::BTreeMap, time::Duration};

/// How long a server may take to take a login.
const LOGIN_LIMIT: Duration = Duration::from_secs(20);

/// A server that runs already and that can be logged in to.
#[derive(Debug)]
pub struct Running {
    target: Target,
    pid: Option<u32>,
    /// Settings that are put back when it is given up.
    applied: Option<Applied>,
    /// That it is in use, where nothing is set.
    place: Option<InUse>,
    remarks: Vec<String>,
}

impl Running {
    /// Logs in once to see that it can be done.
    ///
    /// # Errors
    /// [`Error::Login`] with the server's own words.
    pub fn attach(target: Target) -> Result<Self, Error> {
        let mut connection = log_in(&target)?;
        let process = owner::process_of(&mut connection, &target);
        let remarks = process.err().and_then(no_process).into_iter().collect();
        Ok(Self { target, pid: process.ok(), applied: None, place: None, remarks })
    }

    /// Lets other runs know that it is in use, and hears of theirs.
    pub(in crate::provision) fn stay(&mut self) -> Result<(), Error> {
        let (place, told) = InUse::side_by_side(&self.target)?;
        self.place = Some(place);
        self.remarks.extend(told);
        Ok(())
    }

    /// Sees to it that other runs still know that it is in use.
    pub(in crate::provision) fn keep_place(&mut self) -> Result<(), Error> {
        let of_settings = self.applied.as_mut().map(|applied| &mut applied.place);
        match of_settings.or(self.place.as_mut()) {
            Some(place) => place.keep(&self.target),
            None => Ok(()),
        }
    }

    /// What is to be said about it.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Sets what the study asks for, until it is given up.
    pub(in crate::provision) fn apply(
        &mut self,
        settings: &BTreeMap<String, String>,
        places: &Places,
    ) -> Result<(), Error> {
        self.applied = Some(Applied::apply(&self.target, settings, places)?);
        Ok(())
    }

    /// Puts back what was there before.
    pub(in crate::provision) fn restore(&mut self) -> Result<(), Error> {
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

/// What is missing where the process of a server is not known, in words; `None`: that goes without saying.
#[must_use]
pub fn no_process(why: NoProcess) -> Option<String> {
    let told = || format!("what this server costs in processor time and memory is not known: {why}");
    (why != NoProcess::Elsewhere).then(told)
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
            client::Error::Connect { .. } | client::Error::Tls(_) => String::new(),
            client::Error::Address { .. } => "; check the host's name".to_owned(),
            _ => "; check that a server of MySQL's protocol listens there".to_owned(),
        },
    }
}
