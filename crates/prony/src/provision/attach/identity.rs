//! Which server answers, however it is reached. The identity is the same for every spelling of its address
//! and every database in it, and a different one where another server has taken its place.

use crate::provision::login::describe::pairs;
use load::{
    client::{Connection, Error},
    spec::Target,
};
use serde::{Deserialize, Serialize};

/// What identifies a server, by its own words. Some of it, taken alone, is the same in a copy of a data
/// directory, or in two containers of one image.
const TELLING: [&str; 5] = ["server_uuid", "server_uid", "hostname", "port", "datadir"];
/// Two questions cannot be asked in the same moment, and both answers are whole seconds.
const START_TOLERANCE_S: u64 = 2;

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::provision) struct Identity {
    /// Different for different servers.
    pub(in crate::provision) key: String,
    /// When it was started, seconds since 1970 by its own clock; settings made at run time are lost at a
    /// restart. `None`: it does not say.
    pub(in crate::provision) started_s: Option<u64>,
}

impl Identity {
    /// Of the server at the other end of `connection`, which leads to `target`.
    pub(in crate::provision) fn of(connection: &mut Connection, target: &Target) -> Result<Self, Error> {
        let names = TELLING.map(|name| format!("'{name}'")).join(", ");
        let show = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})");
        let told = pairs(connection, &show)?;
        let parts: Vec<_> = TELLING
            .iter()
            .filter_map(|name| told.get(*name).filter(|value| !value.is_empty()))
            .map(String::as_str)
            .collect();
        let key = if parts.is_empty() { target.address.to_string() } else { parts.join(" ") };
        Ok(Self { key, started_s: started(connection)? })
    }

    /// Whether the server was restarted since this was seen.
    pub(in crate::provision) fn is_restarted(&self, now: &Self) -> bool {
        let pair = self.started_s.zip(now.started_s);
        pair.is_some_and(|(then, now)| then.abs_diff(now) > START_TOLERANCE_S)
    }
}

fn started(connection: &mut Connection) -> Result<Option<u64>, Error> {
    let status = pairs(connection, "SHOW GLOBAL STATUS LIKE 'Uptime'")?;
    let now = match connection.query("SELECT UNIX_TIMESTAMP()") {
        Err(Error::Server { .. }) => None,
        answer => answer?.first_value().and_then(|text| text.parse::<u64>().ok()),
    };
    let uptime = status.get("Uptime").and_then(|text| text.parse().ok());
    Ok(now.zip(uptime).and_then(|(now, uptime): (u64, u64)| now.checked_sub(uptime)))
}
