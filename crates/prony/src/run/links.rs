//! The networks that a run puts before its servers: each made when it is first needed, measured then and at the end, and
//! looked at after each trial, since one that cannot keep up would be taken for a slow server.

use super::{
    Error, Event, Run,
    doubt::{Doubt, Level, What},
    target_of,
};
use crate::{
    network::{Figures, Link, LinkRecord, Means, Surroundings, round_trip},
    plan::{Client, Treatment},
};
use load::spec::{Address, Target, is_used};
use std::{io, path::PathBuf, time::Duration};

/// Shares of a processor above which a relay's thread has queues of its own, and sets the throughput itself.
const BUSY: [f64; 2] = [0.85, 0.97];
/// Share of the delay by which what is handed on may be late on average: what is promised of the delay.
const LATE_SHARE: f64 = 0.1;

/// All networks of a run.
pub(super) struct Links {
    launcher: PathBuf,
    all: Vec<Held>,
}

/// A network that is there.
struct Held {
    /// Index in [`crate::plan::Plan::servers`].
    server: usize,
    /// The server as it is reached without it; `None`: not yet known.
    direct: Option<Target>,
    processors: Vec<u32>,
    link: Link,
    record: LinkRecord,
}

/// How a server is to be reached.
#[derive(Debug, Clone, Copy)]
struct Way<'a> {
    /// Index in [`crate::plan::Plan::servers`].
    server: usize,
    /// Round trip; zero: directly.
    latency: Duration,
    /// Processors that the network may use; empty: all.
    processors: &'a [u32],
}

impl Links {
    pub(super) fn new(launcher: PathBuf) -> Self {
        Self { launcher, all: Vec::new() }
    }

    /// How `direct` is reached on this way, and whether a network was made for it.
    fn reach(
        &mut self,
        way: Way<'_>,
        direct: Target,
        name: &dyn Fn() -> String,
    ) -> Result<(Target, bool), Error> {
        let Address::Tcp { host, port } = &direct.address else { return Ok((direct, false)) };
        if way.latency.is_zero() {
            return Ok((direct, false));
        }
        let found = self.all.iter().find(|held| {
            held.server == way.server
                && held.record.between.is_none()
                && held.direct.as_ref().is_some_and(|known| known.address == direct.address)
                && held.link.round_trip() == way.latency
                && held.processors == way.processors
        });
        if let Some(held) = found {
            return Ok((through(&direct, &held.link), false));
        }
        let failed = |source: io::Error| Error::Network { name: name(), source };
        let link = Link::start(&self.launcher, host, *port, way.latency, way.processors).map_err(failed)?;
        let target = through(&direct, &link);
        let measured = round_trip(&direct, &target)
            .map_err(|source| failed(io::Error::other(format!("measuring it: {source}"))))?;
        let record = LinkRecord { measured_before: Some(measured), ..record(way.latency, None) };
        let processors = way.processors.to_vec();
        self.all.push(Held { server: way.server, direct: Some(direct), processors, link, record });
        Ok((target, true))
    }

    /// Puts a network between server `from` and server `to` of those that work together, and says where `from` finds `to`.
    pub(super) fn between(
        &mut self,
        server: usize,
        (from, to): (usize, usize),
        address: &Address,
        latency: Duration,
    ) -> io::Result<Address> {
        let Address::Tcp { host, port } = address else { return Ok(address.clone()) };
        if latency.is_zero() {
            return Ok(address.clone());
        }
        let link = Link::start(&self.launcher, host, *port, latency, &[])?;
        let record = record(latency, Some(format!("{to}-{from}")));
        let address = address_of(&link);
        self.all.push(Held { server, direct: None, processors: Vec::new(), link, record });
        Ok(address)
    }

    /// Measures the networks between servers that work together; `primary` is where they lead.
    pub(super) fn measure_between(&mut self, server: usize, primary: &Target) {
        for held in self.all.iter_mut().filter(|held| held.server == server && held.direct.is_none()) {
            held.record.measured_before = round_trip(primary, &through(primary, &held.link)).ok();
            held.direct = Some(primary.clone());
        }
    }

    /// Forgets what networks did before a trial.
    pub(super) fn begin(&mut self) {
        for held in &mut self.all {
            // one that has ended is found out by the load
            let _ = held.link.figures();
        }
    }

    /// What the networks' part in a trial that has just ended makes of it.
    pub(super) fn doubts(&mut self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        for held in &mut self.all {
            let Ok(figures) = held.link.figures() else { continue };
            if figures.pieces > 0 {
                held.record.busy_max = held.record.busy_max.max(figures.busy_max);
                let late = Duration::from_nanos(figures.late_ns_mean as u64);
                held.record.late = held.record.late.max(Some(late));
                doubts.extend(doubt(&figures, held.link.round_trip()));
            }
        }
        doubts
    }

    /// What is known of the networks before a server.
    fn records(&self, server: usize) -> Vec<LinkRecord> {
        self.all.iter().filter(|held| held.server == server).map(|held| held.record.clone()).collect()
    }

    /// Takes down the networks before a server; what is known of them, measured once more.
    pub(super) fn end(&mut self, server: usize) -> Vec<LinkRecord> {
        for held in self.all.iter_mut().filter(|held| held.server == server) {
            // a server that died cannot be asked
            let measured =
                held.direct.as_ref().map(|direct| round_trip(direct, &through(direct, &held.link)));
            held.record.measured_after = measured.and_then(Result::ok);
        }
        let records = self.records(server);
        self.all.retain(|held| held.server != server);
        records
    }
}

impl Run<'_, '_> {
    /// How a load reaches a server and those that work together with it, through the network that the study wants between. One
    /// that none of its streams goes to needs no network.
    pub(super) fn reach(&mut self, server: usize, treatment: &Treatment) -> Result<Vec<Target>, Error> {
        let Treatment { client, streams, .. } = treatment;
        let plan = &self.plan.servers[server];
        let latency = self.latency(server, client);
        let way = Way { server, latency, processors: &client.pin };
        let direct: Vec<Target> = self.up(server).group.servers().map(|one| target_of(one, client)).collect();
        let mut targets = Vec::with_capacity(direct.len());
        let members = direct.len() - 1;
        for (number, direct) in direct.into_iter().enumerate() {
            if !is_used(streams, number, members) {
                targets.push(direct);
                continue;
            }
            let (target, is_new) = self.links.reach(way, direct, &|| plan.name.clone())?;
            targets.push(target);
            if is_new {
                self.tell_links(server)?;
            }
        }
        Ok(targets)
    }

    /// Whether a load from `client` goes through a network that Prony makes.
    pub(super) fn is_relayed(&self, server: usize, client: &Client) -> bool {
        !self.latency(server, client).is_zero()
    }

    fn latency(&self, server: usize, client: &Client) -> Duration {
        self.plan.servers[server].latency.or(client.latency).unwrap_or_default()
    }

    /// Tells which networks there are around a server, if there are any.
    pub(super) fn tell_links(&mut self, server: usize) -> Result<(), Error> {
        let surroundings = Surroundings { links: self.links.records(server), usage: None };
        if surroundings.links.is_empty() {
            return Ok(());
        }
        self.tell(&Event::Surroundings { server, surroundings: Box::new(surroundings) })
    }
}

/// What is known of a network that is about to be made.
fn record(stated: Duration, between: Option<String>) -> LinkRecord {
    LinkRecord {
        between,
        stated,
        means: Means::Relay,
        measured_before: None,
        measured_after: None,
        late: None,
        busy_max: 0.0,
    }
}

fn address_of(link: &Link) -> Address {
    Address::Tcp { host: link.address().ip().to_string(), port: link.address().port() }
}

/// The same server through a network.
fn through(direct: &Target, link: &Link) -> Target {
    Target { address: address_of(link), ..direct.clone() }
}

fn doubt(figures: &Figures, round_trip: Duration) -> Option<Doubt> {
    let late_share = figures.late_ns_mean / (round_trip.as_nanos() as f64 / 2.0);
    let level = match figures.busy_max {
        busy if busy > BUSY[1] => Level::Invalid,
        busy if busy > BUSY[0] || late_share > LATE_SHARE => Level::Suspicious,
        _ => return None,
    };
    let what = What::Network {
        busy: figures.busy_max,
        late_mean_us: figures.late_ns_mean / 1e3,
        late_p99_us: figures.late_ns_p99 as f64 / 1e3,
    };
    Some(Doubt::new(level, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_cannot_keep_up_is_doubted() {
        let of = |busy_max, late_us: f64| {
            let figures = Figures { busy_max, late_ns_mean: late_us * 1e3, ..Figures::default() };
            doubt(&figures, Duration::from_micros(800)).map(|doubt| doubt.level)
        };
        assert_eq!(of(0.3, 20.0), None);
        assert_eq!(of(0.3, 60.0), Some(Level::Suspicious), "a seventh of the way");
        assert_eq!(of(0.9, 20.0), Some(Level::Suspicious));
        assert_eq!(of(0.99, 400.0), Some(Level::Invalid));
    }
}
