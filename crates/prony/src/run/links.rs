//! The networks that a run puts in front of its servers. Each is created when it is first needed, measured
//! then and at the end, and checked after each trial: one that cannot keep up would be taken for a slow
//! server.

use super::{
    Error, Event, Run,
    doubt::{Doubt, Level, What},
    site::CATCH_UP_LIMIT,
    target_of,
};
use crate::{
    network::{
        self, Figures, Link, LinkRecord, Means, Node, Shape, Surroundings, WhyRelay, round_trip,
        round_trip_from,
    },
    plan::{Act, Client, Network, Plan, ServerPlan, Topology, Transport, Treatment},
    provision::{self, Namespace},
};
use load::spec::{Address, Target, is_used};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// Shares of a processor above which a relay's thread has queues of its own, and sets the throughput itself.
const BUSY: [f64; 2] = [0.85, 0.97];
/// Share of the delay by which data may be late on average: the promised precision of the delay.
const LATE_SHARE: f64 = 0.1;

/// All networks of a run.
pub(super) struct Links {
    launcher: PathBuf,
    /// What makes them; `None`: there are none in this run.
    means: Option<Result<(), WhyRelay>>,
    /// Keeps processors from sleeping in all trials of a run that has networks, so that those without one
    /// compare.
    awake: Option<File>,
    all: Vec<Held>,
    /// The namespaces of servers, by index in [`crate::plan::Plan::servers`].
    nodes: BTreeMap<usize, Vec<Node>>,
}

/// A network that is there.
struct Held {
    /// Index in [`crate::plan::Plan::servers`].
    server: usize,
    /// The server as it is reached without it; `None`: not yet known.
    direct: Option<Target>,
    processors: Vec<u32>,
    made: Made,
    /// Where the load, or another server, finds it.
    address: Address,
    record: LinkRecord,
}

/// What makes a network that is there.
enum Made {
    Relay(Link),
    /// A pair of devices, which begins at the machine, or at this one of the servers that work together.
    Pair(Option<usize>),
}

impl Made {
    /// What it did since it was last asked; a pair of devices does not say.
    fn figures(&mut self) -> Option<Figures> {
        match self {
            Self::Relay(link) => link.figures().ok(),
            Self::Pair(_) => None,
        }
    }
}

/// Whether the servers of a plan will have network namespaces, with netem between, or why a relay makes its
/// networks; `None`: it has none.
pub fn namespaces(plan: &Plan, launcher: &Path) -> Option<Result<(), WhyRelay>> {
    let of_server = |server: &ServerPlan| {
        server.latency.is_some_and(|latency| !latency.is_zero()) || !server.latency_between.is_zero()
    };
    let clients = || plan.treatments.iter().map(|treatment| &treatment.client);
    let of_client = |client: &Client| {
        client.latency.is_some_and(|latency| !latency.is_zero()) || client.bandwidth.is_some()
    };
    if !plan.servers.iter().any(of_server) && !clients().any(of_client) {
        return None;
    }
    let is_cluster = |server: &ServerPlan| matches!(server.topology, Topology::Galera { .. });
    Some(if plan.network == Network::Relay {
        Err(WhyRelay::Asked)
    } else if !plan.servers.iter().all(|server| server.may(Act::Namespace)) {
        Err(WhyRelay::Elsewhere)
    } else if plan.servers.iter().any(is_cluster) {
        Err(WhyRelay::Cluster)
    } else if clients().any(|client| !client.sources.is_empty()) {
        Err(WhyRelay::Sources)
    } else {
        network::possible(launcher)
    })
}

/// How a server is to be reached.
#[derive(Debug, Clone, Copy)]
struct Way<'a> {
    /// Index in [`crate::plan::Plan::servers`].
    server: usize,
    shape: Shape,
    /// Processors that the network may use; empty: all.
    processors: &'a [u32],
}

impl Links {
    /// None yet; says what will make those of `plan`.
    pub(super) fn new(plan: &Plan, launcher: &Path) -> Result<Self, Error> {
        let means = namespaces(plan, launcher);
        if let (Network::Netem, Some(Err(why))) = (plan.network, &means) {
            return Err(Error::NoNetem { why: why.clone() });
        }
        let awake = means.as_ref().and_then(|_| network::keep_awake());
        Ok(Self { launcher: launcher.to_owned(), means, awake, all: Vec::new(), nodes: BTreeMap::new() })
    }

    /// Makes the namespaces in which a server, and those that work together with it, will be; none where a
    /// relay is used.
    pub(super) fn namespaces(&mut self, server: usize, plan: &ServerPlan) -> Result<Vec<Namespace>, Error> {
        if self.means != Some(Ok(())) {
            return Ok(Vec::new());
        }
        let count = match plan.topology {
            Topology::Replicas { count, .. } => 1 + count,
            Topology::Single | Topology::Galera { .. } => 1,
        };
        let nodes: io::Result<Vec<Node>> = (0..count).map(|_| Node::start(&self.launcher)).collect();
        let nodes = nodes.map_err(|source| Error::Network { name: plan.name.clone(), source })?;
        let namespaces = nodes.iter().map(|node| node.namespace().clone()).collect();
        self.nodes.insert(server, nodes);
        Ok(namespaces)
    }

    /// Makes a network to a server at `host` and `port`, from the machine or from another one of those that
    /// work together.
    fn make(
        &self,
        (server, from, to): (usize, Option<usize>, usize),
        (host, port): (&str, u16),
        shape: Shape,
        processors: &[u32],
    ) -> io::Result<(Made, Address)> {
        let Some(nodes) = self.nodes.get(&server) else {
            let link = Link::start(&self.launcher, host, port, shape, processors)?;
            let address = Address::Tcp { host: link.address().ip().to_string(), port: link.address().port() };
            return Ok((Made::Relay(link), address));
        };
        let host = network::join(&self.launcher, from.map(|from| &nodes[from]), &nodes[to], shape)?;
        Ok((Made::Pair(from), Address::Tcp { host: host.to_string(), port }))
    }

    /// What is known of a network that is about to be made.
    fn record(&self, shape: Shape, between: Option<String>) -> LinkRecord {
        let (means, why) = match &self.means {
            Some(Ok(())) => (Means::Netem(network::discipline(shape)), None),
            Some(Err(why)) => (Means::Relay, Some(why.clone())),
            None => (Means::Relay, None),
        };
        LinkRecord {
            between,
            stated: shape.round_trip,
            bandwidth: shape.bandwidth,
            means,
            why,
            measured_before: None,
            measured_bandwidth: None,
            measured_after: None,
            late: None,
            busy_max: 0.0,
            awake: self.awake.is_some(),
        }
    }

    /// How `direct`, which has this number among those that work together, is reached on this way, and
    /// whether a network was made for it.
    fn reach(
        &mut self,
        way: Way<'_>,
        number: usize,
        direct: Target,
        name: &dyn Fn() -> String,
    ) -> Result<(Target, bool), Error> {
        let Address::Tcp { host, port } = &direct.address else { return Ok((direct, false)) };
        if way.shape.is_plain() {
            return Ok((direct, false));
        }
        let found = self.all.iter().find(|held| {
            held.server == way.server
                && held.record.between.is_none()
                && held.direct.as_ref().is_some_and(|known| known.address == direct.address)
                && (held.record.stated, held.record.bandwidth) == (way.shape.round_trip, way.shape.bandwidth)
                && held.processors == way.processors
        });
        if let Some(held) = found {
            return Ok((Target { address: held.address.clone(), ..direct }, false));
        }
        let failed = |source: io::Error| Error::Network { name: name(), source };
        let ends = (way.server, None, number);
        let (made, address) = self.make(ends, (host, *port), way.shape, way.processors).map_err(failed)?;
        let target = Target { address: address.clone(), ..direct.clone() };
        let measured = round_trip(&direct, &target)
            .map_err(|source| failed(io::Error::other(format!("measuring it: {source}"))))?;
        let width = way.shape.bandwidth.and_then(|stated| network::bandwidth(&direct, &target, stated));
        let record = self.record(way.shape, None);
        let record = LinkRecord { measured_before: Some(measured), measured_bandwidth: width, ..record };
        let processors = way.processors.to_vec();
        self.all.push(Held { server: way.server, direct: Some(direct), processors, made, address, record });
        Ok((target, true))
    }

    /// Puts a network between server `from` and server `to` of those that work together, and says where
    /// `from` finds `to`.
    pub(super) fn between(
        &mut self,
        server: usize,
        (from, to): (usize, usize),
        address: &Address,
        latency: Duration,
    ) -> io::Result<Address> {
        let Address::Tcp { host, port } = address else { return Ok(address.clone()) };
        // servers in namespaces do not reach each other otherwise
        if latency.is_zero() && !self.nodes.contains_key(&server) {
            return Ok(address.clone());
        }
        let (made, address) = self.make((server, Some(from), to), (host, *port), latency.into(), &[])?;
        if !latency.is_zero() {
            let record = self.record(latency.into(), Some(format!("{to}-{from}")));
            let (processors, address) = (Vec::new(), address.clone());
            self.all.push(Held { server, direct: None, processors, made, address, record });
        }
        Ok(address)
    }

    /// Measures the networks between servers that work together; `primary` is where they lead.
    pub(super) fn measure_between(&mut self, server: usize, primary: &Target) {
        for held in self.all.iter_mut().filter(|held| held.server == server && held.direct.is_none()) {
            held.direct = Some(primary.clone());
            held.record.measured_before = held.measure(self.nodes.get(&server));
        }
    }

    /// Forgets what networks did before a trial.
    pub(super) fn begin(&mut self) {
        for held in &mut self.all {
            // one that has ended is found out by the load
            let _ = held.made.figures();
        }
    }

    /// The processes of those that relays make.
    pub(super) fn relays(&self) -> Vec<u32> {
        let of = |held: &Held| match &held.made {
            Made::Relay(link) => Some(link.pid()),
            Made::Pair(_) => None,
        };
        self.all.iter().filter_map(of).collect()
    }

    /// What the networks contributed to a trial that has just ended.
    pub(super) fn doubts(&mut self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        for held in &mut self.all {
            let Some(figures) = held.made.figures() else { continue };
            if figures.pieces > 0 {
                held.record.busy_max = held.record.busy_max.max(figures.busy_max);
                held.record.late = held.record.late.max(Some(figures.late_mean));
                doubts.extend(doubt(&figures, held.record.stated));
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
            held.record.measured_after = held.measure(self.nodes.get(&server));
        }
        let records = self.records(server);
        self.all.retain(|held| held.server != server);
        // the server in it still has its namespace
        self.nodes.remove(&server);
        records
    }
}

impl Held {
    /// What it adds to a round trip; `None`: a server does not answer.
    fn measure(&self, nodes: Option<&Vec<Node>>) -> Option<Duration> {
        let direct = self.direct.as_ref()?;
        let through = Target { address: self.address.clone(), ..direct.clone() };
        match (&self.made, nodes) {
            (Made::Pair(Some(from)), Some(nodes)) => round_trip_from(&nodes[*from], direct, &through).ok(),
            _ => round_trip(direct, &through).ok(),
        }
    }
}

/// How a load reaches a server.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    /// Those that work together, the primary first.
    pub(super) targets: Vec<Target>,
    /// The primary by its Unix socket, where a stream goes there.
    pub(super) local: Option<Target>,
    /// Threads that the run has chosen for the load engine.
    pub(super) threads: Option<u32>,
}

impl Run<'_, '_> {
    /// How a load reaches a server and those that work together with it, through the network that the study
    /// wants between. One that none of its streams goes to needs no network.
    pub(super) fn reach(&mut self, server: usize, treatment: &Treatment) -> Result<Reached, Error> {
        let Treatment { client, streams, .. } = treatment;
        let plan = &self.plan.servers[server];
        let way = Way { server, shape: self.shape(server, client), processors: &client.pin };
        let by_socket = Client { transport: Some(Transport::Socket), ..client.clone() };
        let group = &self.up(server).group;
        let mut direct: Vec<Target> = group.servers().map(|one| target_of(one, client)).collect();
        let mut socket = target_of(group.primary(), &by_socket);
        if let Some(user) = self.account(server, client)? {
            for target in direct.iter_mut().chain([&mut socket]) {
                target.user.clone_from(&user);
            }
        }
        let mut targets = Vec::with_capacity(direct.len());
        let members = direct.len() - 1;
        for (number, direct) in direct.into_iter().enumerate() {
            if !is_used(streams, number, members) {
                targets.push(direct);
                continue;
            }
            let (target, is_new) = self.links.reach(way, number, direct, &|| plan.name.clone())?;
            targets.push(target);
            if is_new {
                self.tell_links(server)?;
            }
        }
        let local = is_used(streams, members + 1, members).then_some(socket);
        Ok(Reached { targets, local, threads: self.threads })
    }

    /// Sees to it that a server, and those that work together with it, have the account that the load is to
    /// log in with; its name, where it is not the usual one.
    fn account(&mut self, server: usize, client: &Client) -> Result<Option<String>, Error> {
        let Some(plugin) = client.authentication else { return Ok(None) };
        let (stop, name) = (self.stop, || self.plan.servers[server].name.clone());
        let group = &self.servers[server].as_ref().expect("every server that is needed is up").group;
        let (own, is_new) = provision::log_in_by(plugin, group.primary().target())
            .map_err(|source| Error::Account { name: name(), plugin: plugin.name(), source })?;
        if is_new {
            let equal = group.wait_until_equal(CATCH_UP_LIMIT, stop);
            equal.map_err(|source| Error::Provision { name: name(), source })?;
        }
        Ok(Some(own.user))
    }

    /// Whether a load from `client` goes through a network that Prony makes.
    pub(super) fn is_relayed(&self, server: usize, client: &Client) -> bool {
        !self.shape(server, client).is_plain()
    }

    fn shape(&self, server: usize, client: &Client) -> Shape {
        let round_trip = self.plan.servers[server].latency.or(client.latency).unwrap_or_default();
        Shape { round_trip, bandwidth: client.bandwidth }
    }

    /// Reports the networks around a server, if there are any.
    pub(super) fn tell_links(&mut self, server: usize) -> Result<(), Error> {
        let surroundings = Surroundings { links: self.links.records(server), usage: None };
        if surroundings.links.is_empty() {
            return Ok(());
        }
        self.tell(&Event::Surroundings { server, surroundings: Box::new(surroundings) })
    }
}

fn doubt(figures: &Figures, round_trip: Duration) -> Option<Doubt> {
    let late_share = match round_trip {
        Duration::ZERO => 0.0, // no delay that could be longer than stated
        round_trip => figures.late_mean.as_secs_f64() / (round_trip / 2).as_secs_f64(),
    };
    let level = match figures.busy_max {
        busy if busy > BUSY[1] => Level::Invalid,
        busy if busy > BUSY[0] || late_share > LATE_SHARE => Level::Suspicious,
        _ => return None,
    };
    let what = What::Network {
        busy: figures.busy_max,
        late_mean_us: figures.late_mean.as_secs_f64() * 1e6,
        late_p99_us: figures.late_p99.as_secs_f64() * 1e6,
    };
    Some(Doubt::new(level, what))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A relay at its limit.
    pub(in crate::run) fn produced() -> Vec<Doubt> {
        let figures = Figures { busy_max: 0.99, late_mean: Duration::from_micros(400), ..Figures::default() };
        doubt(&figures, Duration::from_micros(800)).into_iter().collect()
    }

    #[test]
    fn a_network_that_cannot_keep_up_is_doubted() {
        let of = |busy_max, late_us| {
            let figures =
                Figures { busy_max, late_mean: Duration::from_micros(late_us), ..Figures::default() };
            doubt(&figures, Duration::from_micros(800)).map(|doubt| doubt.level)
        };
        assert_eq!(of(0.3, 20), None);
        assert_eq!(of(0.3, 60), Some(Level::Suspicious), "a seventh of the way");
        assert_eq!(of(0.9, 20), Some(Level::Suspicious));
        assert_eq!(of(0.99, 400), Some(Level::Invalid));
        let narrow = Figures { busy_max: 0.3, late_mean: Duration::from_micros(400), ..Figures::default() };
        assert_eq!(doubt(&narrow, Duration::ZERO), None, "it only has a limit");
    }
}
