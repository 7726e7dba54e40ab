//! The networks that a run puts before its servers: each made when it is first needed, measured then and at the end, and
//! looked at after each trial, since one that cannot keep up would be taken for a slow server.

use super::{
    Error, Event, Run,
    doubt::{Doubt, Level, What},
    target_of,
};
use crate::{
    network::{Figures, Link, LinkRecord, Means, Surroundings, round_trip},
    plan::Client,
};
use load::spec::{Address, Target};
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
    /// The server as it is reached without it.
    direct: Target,
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
                && held.direct.address == direct.address
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
        let record = LinkRecord {
            between: None,
            stated: way.latency,
            means: Means::Relay,
            measured_before: Some(measured),
            measured_after: None,
            late: None,
            busy_max: 0.0,
        };
        let processors = way.processors.to_vec();
        self.all.push(Held { server: way.server, direct, processors, link, record });
        Ok((target, true))
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
            held.record.measured_after = round_trip(&held.direct, &through(&held.direct, &held.link)).ok();
        }
        let records = self.records(server);
        self.all.retain(|held| held.server != server);
        records
    }
}

impl Run<'_, '_> {
    /// How a load reaches a server and those that work together with it, through the network that the study wants between.
    pub(super) fn reach(&mut self, server: usize, client: &Client) -> Result<Vec<Target>, Error> {
        let plan = &self.plan.servers[server];
        let latency = plan.latency.or(client.latency).unwrap_or_default();
        let way = Way { server, latency, processors: &client.pin };
        let direct: Vec<Target> = self.up(server).group.servers().map(|one| target_of(one, client)).collect();
        let mut targets = Vec::with_capacity(direct.len());
        for direct in direct {
            let (target, is_new) = self.links.reach(way, direct, &|| plan.name.clone())?;
            targets.push(target);
            if is_new {
                let surroundings = Surroundings { links: self.links.records(server), usage: None };
                self.tell(&Event::Surroundings { server, surroundings: Box::new(surroundings) })?;
            }
        }
        Ok(targets)
    }
}

/// The same server through a network.
fn through(direct: &Target, link: &Link) -> Target {
    let address = Address::Tcp { host: link.address().ip().to_string(), port: link.address().port() };
    Target { address, ..direct.clone() }
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
