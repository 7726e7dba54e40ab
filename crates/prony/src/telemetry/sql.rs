//! What a server counts. It is asked over a connection that is opened before the load, so that neither full
//! connections nor a stuck thread pool stop it.

use super::counts::{Counts, Source};
use crate::family::{self, Status, Whereabouts};
use load::{
    client::Connection,
    spec::{Address, Target},
};
use std::time::Duration;

/// How long an answer may take; a server that takes longer is asked again over a new connection.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long opening the connection may take.
const LOGIN_MAX: Duration = Duration::from_secs(10);

/// A server's own counters.
pub(super) struct Sql {
    prefix: String,
    /// Ways to the server, the best first.
    targets: Vec<Target>,
    all: bool,
    open: Option<(Connection, Box<dyn Status>)>,
    /// A server that was restarted lives another life.
    life: u64,
    uptime: f64,
}

impl Sql {
    /// Opens the connection, by the first of `targets` that lets it in; if none does now, it is tried at each
    /// reading.
    pub(super) fn open(prefix: String, targets: Vec<Target>, all: bool) -> Self {
        let mut sql = Self { prefix, targets, all, open: None, life: 0, uptime: 0.0 };
        sql.connect();
        sql
    }

    fn connect(&mut self) {
        let opened = self.targets.iter().find_map(|target| Connection::open(target, LOGIN_MAX).ok());
        self.open = opened.map(|mut connection| {
            connection.set_timeout(Some(ANSWER_MAX));
            (connection, family::spoken().status(self.all))
        });
    }
}

impl Source for Sql {
    fn read(&mut self) -> Option<Counts> {
        if self.open.is_none() {
            self.connect();
        }
        let (connection, status) = self.open.as_mut()?;
        let told = match status.read(connection) {
            Ok(told) => told,
            Err(error) => {
                // one that refuses lives on
                self.open.take_if(|_| error.code().is_none());
                return None;
            }
        };
        if told.uptime < self.uptime {
            self.life += 1;
        }
        self.uptime = told.uptime;
        let mut counts = Counts::new(self.life);
        let path = |name: String| format!("{}/{name}", self.prefix);
        told.counts.into_iter().for_each(|(name, value)| counts.count(path(name), value));
        told.levels.into_iter().for_each(|(name, value)| counts.level(path(name), value));
        Some(counts)
    }
}

/// The ways to a server for its telemetry, the best first: the port that is kept free for administrators,
/// where the server has one, then `target` itself.
#[must_use]
pub fn ways(target: &Target, whereabouts: &Whereabouts) -> Vec<Target> {
    let reserved = whereabouts.reserved.as_ref().map(|(address, port)| {
        let host = match (address, &target.address) {
            (Some(address), _) => address.clone(),
            (None, Address::Tcp { host, .. }) => host.clone(),
            (None, Address::Unix(_)) => "127.0.0.1".to_owned(),
        };
        Target { address: Address::Tcp { host, port: *port }, ..target.clone() }
    });
    // nothing of what is measured: neither its database nor its compression
    let own = |target: Target| Target { database: None, compress: false, ..target };
    reserved.into_iter().chain([target.clone()]).map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::spec::{Secret, Tls};

    #[test]
    fn a_port_of_its_own_is_taken_where_the_server_has_one() {
        let target = Target {
            address: Address::Tcp { host: "db".to_owned(), port: 3306 },
            user: "u".to_owned(),
            password: Secret::new(String::new()),
            database: Some("d".to_owned()),
            tls: Tls::default(),
            trust: Default::default(),
            compress: true,
        };
        let addresses = |reserved: Option<(Option<&str>, u16)>| -> Vec<String> {
            let reserved = reserved.map(|(address, port)| (address.map(str::to_owned), port));
            let ways = ways(&target, &Whereabouts { data_directory: None, reserved });
            assert!(ways.iter().all(|way| way.database.is_none() && !way.compress));
            ways.into_iter().map(|target| target.address.to_string()).collect()
        };
        assert_eq!(addresses(None), ["db:3306"]);
        assert_eq!(addresses(Some((None, 3307))), ["db:3307", "db:3306"]);
        assert_eq!(addresses(Some((Some("10.0.0.1"), 33062))), ["10.0.0.1:33062", "db:3306"]);
    }
}
