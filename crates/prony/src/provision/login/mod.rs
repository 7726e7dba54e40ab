//! The way into a server: where it is, who logs in, what it says about itself, and whether it can sustain a
//! load.

pub(in crate::provision) mod client_options;
pub(in crate::provision) mod describe;
pub(in crate::provision) mod preflight;
pub mod target;

use crate::provision::Error;
use load::{
    client::{self, Connection},
    spec::Target,
};
use std::time::Duration;

/// How long a server may take to take a login.
const LOGIN_LIMIT: Duration = Duration::from_secs(20);

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
            "; check user and password (in the URL, in PRONY_PASSWORD, in ~/.my.cnf)".to_owned()
        }
        Some(NO_ACCESS_TO_DATABASE) => {
            format!("; grant the user privileges on `{database}`, or choose another database")
        }
        Some(UNKNOWN_DATABASE) => {
            format!("; create it with CREATE DATABASE `{database}`, or choose another one in the URL")
        }
        Some(TOO_MANY_CONNECTIONS) => "; raise max_connections, or close other connections".to_owned(),
        Some(_) => String::new(),
        None => match error {
            client::Error::Connect { .. } | client::Error::Tls(_) => String::new(),
            client::Error::Address { .. } => "; check the host's name".to_owned(),
            _ => "; check that a server that speaks MySQL's protocol listens there".to_owned(),
        },
    }
}
