//! How many servers one server of a study is: one, a primary with its replicas, a cluster. What it means, and
//! how it is read.

use super::{
    Act, DataSet, Server, ServerSource,
    keys::{self, Key, Put, key, lay_upon, section},
    kinds::{Count, DAY_US, LATENCY_MAX_US, Time, Words},
    mistake::{Collector, Place},
    tree::{Node, Table, Value, stream_name},
};
use crate::workload::{self, Effect};
use load::spec::{Destination, Stream};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Most servers that work together on one machine: with more, the machine is what is measured.
const SERVERS_MAX: u32 = 9;

/// `[topology]`
pub(super) const TOPOLOGY: &[Key<Written>] = &[
    key(
        "replicas",
        &Put(Count(0, SERVERS_MAX), |of: &mut Written, value| of.replicas = value),
        Some("0"),
        "",
        "Number of replicas of the server, which is their primary; each has its own data directory and the \
         primary's settings.",
    ),
    key(
        "replication",
        &Put(Words(REPLICATION), |of: &mut Written, value| of.wait = value),
        Some(r#""async""#),
        "",
        "What a commit waits for: nothing (\"async\"), or for replicas to receive it: \"after-sync\": before \
         the engine commits it and others see it; \"after-commit\": after that; \"semi-sync\": at the \
         server's default point.",
    ),
    key(
        "acknowledgements",
        &Put(Count(1, SERVERS_MAX), |of: &mut Written, value| of.acknowledgements = value),
        Some("1"),
        "",
        "Number of replicas that must receive a commit.",
    ),
    key(
        "timeout",
        &Put(Time(1_000, DAY_US), |of: &mut Written, value| of.timeout = value),
        Some(r#""10s""#),
        "",
        "Time after which a commit no longer waits for them, and replication is asynchronous until they have \
         caught up.",
    ),
    key(
        "latency",
        &Put(Time(0, LATENCY_MAX_US), |of: &mut Written, value| of.latency = Some(value)),
        None,
        r#""0.8ms""#,
        "Round-trip latency to add between the primary and each replica.",
    ),
    key(
        "galera",
        &Put(Count(2, SERVERS_MAX), |of: &mut Written, value| of.galera = Some(value)),
        None,
        "2",
        "Number of nodes of a MariaDB Galera cluster, instead of `replicas`.",
    ),
];

/// The words of `replication`.
const REPLICATION: &[(&str, Wait)] = &[
    ("async", Wait::Nobody),
    ("semi-sync", Wait::Received(None)),
    ("after-sync", Wait::Received(Some(WaitPoint::AfterSync))),
    ("after-commit", Wait::Received(Some(WaitPoint::AfterCommit))),
];

/// The keys of `[topology]`.
#[derive(Default)]
pub(super) struct Written {
    replicas: u32,
    wait: Wait,
    acknowledgements: u32,
    timeout: Duration,
    latency: Option<Duration>,
    galera: Option<u32>,
}

/// What a commit waits for.
#[derive(Clone, Copy, Default)]
enum Wait {
    #[default]
    Nobody,
    /// Replicas have received it, where in the commit it waits for that.
    Received(Option<WaitPoint>),
}

/// Which servers work together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// One server.
    #[default]
    Single,
    /// A primary and replicas that apply its commits.
    Replicas {
        /// Number of replicas, 1 or more.
        count: u32,
        /// What a commit at the primary waits for.
        replication: Replication,
    },
    /// A Galera cluster.
    Galera {
        /// Number of nodes, 2 or more.
        nodes: u32,
    },
}

/// What a commit at a primary waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replication {
    /// For no replica.
    Asynchronous,
    /// Until replicas have received it.
    SemiSynchronous {
        /// Where in the commit it waits; `None`: where the server does by default.
        wait_point: Option<WaitPoint>,
        /// Replicas that must have received it.
        acknowledgements: u32,
        /// After this it goes on without, and replication is asynchronous until the replicas have caught up.
        timeout: Duration,
    },
}

/// Where in a commit the primary waits for replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitPoint {
    /// Between the write to the binary log and the commit in the engine: nobody sees what a replica does not
    /// have.
    AfterSync,
    /// After the commit in the engine, before the client hears of it.
    AfterCommit,
}

impl Topology {
    /// Servers in all.
    #[must_use]
    pub fn servers(&self) -> u32 {
        match self {
            Self::Single => 1,
            Self::Replicas { count, .. } => count + 1,
            Self::Galera { nodes } => *nodes,
        }
    }
}

/// Reads what `[topology]` and the server's own `topology` say together; the server's wins key by key.
pub(super) fn read(server: &mut Server, common: Option<&Node>, own: Option<&Node>, mistakes: &mut Collector) {
    if !server.may(Act::Start) {
        if let Some(node) = own {
            let title = format!("server `{}` is already running and keeps its topology", server.name);
            mistakes.at(&node.place, title, "Prony never configures a server that it did not start");
        }
        return;
    }
    let empty = Table::default();
    let common = section(common, "topology", mistakes).unwrap_or(&empty);
    let (mut written, common): (Written, _) = keys::read(common, TOPOLOGY, mistakes);
    let own = section(own, "topology", mistakes).unwrap_or(&empty);
    let own = lay_upon(own, TOPOLOGY, &mut written, mistakes);
    let place = |key: &str| own.place(key).or_else(|| common.place(key));
    server.topology = topology(server, &written, &place, mistakes);
    server.latency_between = written.latency.unwrap_or_default();
    let is_apart = !server.latency_between.is_zero();
    if let (Some(address), true, Some(place)) = (server.listen, is_apart, place("latency")) {
        let title = format!("server `{}` and its replicas listen at {address}", server.name);
        mistakes.at(
            place,
            title,
            "the network between them would be on this machine alone: remove one of the two",
        );
    }
    if let (Topology::Galera { .. }, true, Some(place)) = (server.topology, is_apart, place("latency")) {
        mistakes.at(
            place,
            format!("server `{}` is a cluster whose nodes Prony cannot separate", server.name),
            "Galera nodes exchange their addresses and then connect directly, bypassing any network that \
             Prony sets up",
        );
    }
}

fn topology<'a>(
    Server { name, source, .. }: &Server,
    written: &Written,
    place: &dyn Fn(&str) -> Option<&'a Place>,
    mistakes: &mut Collector,
) -> Topology {
    let Written { replicas, wait, acknowledgements, timeout, galera, .. } = *written;
    if let Some(nodes) = galera {
        if let (Some(place), true) = (place("replicas"), replicas > 0) {
            let title = format!("server `{name}` has both `galera` and `replicas`");
            mistakes.at(place, title, "keep one of `galera` and `replicas`");
        }
        if let (Some(place), ServerSource::Product { product, .. }) = (place("galera"), source)
            && product != "mariadb"
        {
            let title = format!("server `{name}` cannot be a Galera cluster");
            mistakes.at(place, title, "of the products that Prony knows, only MariaDB has Galera");
        }
        return Topology::Galera { nodes };
    }
    if replicas == 0 {
        return Topology::Single;
    }
    let Wait::Received(wait_point) = wait else {
        return Topology::Replicas { count: replicas, replication: Replication::Asynchronous };
    };
    if let Some(place) = place("acknowledgements").filter(|_| acknowledgements > replicas) {
        let title = format!("server `{name}` waits for {acknowledgements} replicas but has {replicas}");
        mistakes.at(place, title, format!("expected at most {replicas}"));
    }
    let replication = Replication::SemiSynchronous { wait_point, acknowledgements, timeout };
    Topology::Replicas { count: replicas, replication }
}

/// A server that runs elsewhere has one way to it. What is written at a replica is not at the primary, and
/// stops replication sooner or later.
pub(super) fn check_streams(
    root: &Table,
    server: &Server,
    streams: &[(Stream, DataSet)],
    mistakes: &mut Collector,
) {
    let Some(Value::Array(nodes)) = root.get("stream").map(|node| &node.value) else { return };
    let node_of = |stream: &Stream| nodes.iter().find(|node| stream_name(node) == stream.name);
    let place_of = |stream: &Stream| {
        let node = node_of(stream).expect("every stream that was read stands in the study");
        node.table().and_then(|table| table.get("to")).map_or(&node.place, |node| &node.place)
    };
    if !server.may(Act::Start) {
        for (stream, _) in streams.iter().filter(|(stream, _)| stream.to == Destination::Local) {
            let title =
                format!("stream `{}` uses the socket of a server that is already running", stream.name);
            mistakes.at(
                place_of(stream),
                title,
                "only servers that Prony starts offer this; append `?socket=PATH` to the `url`",
            );
        }
    }
    if !matches!(server.topology, Topology::Replicas { .. }) {
        return;
    }
    let reaches_replicas =
        |stream: &&(Stream, DataSet)| matches!(stream.0.to, Destination::Members | Destination::All);
    let writes = |stream: &Stream| workload::effect(&stream.workload) != Effect::Reads;
    for (stream, _) in streams.iter().filter(reaches_replicas).filter(|(stream, _)| writes(stream)) {
        let title = format!("stream `{}` writes, but goes to replicas", stream.name);
        mistakes.at(
            place_of(stream),
            title,
            "rows written on a replica exist only there: use `to = \"primary\"`, or a workload that only \
             reads",
        );
    }
}
