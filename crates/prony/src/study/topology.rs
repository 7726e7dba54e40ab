//! How many servers one server of a study is: one, a primary with its replicas, a cluster. What it means, and
//! how it is read.

use super::{
    DataSet, Server, ServerSource,
    keys::TOPOLOGY,
    mistake::Collector,
    read::{Values, check},
    tree::{Entry, Node, Table, Value, stream_name},
};
use crate::workload::{self, Effect};
use load::spec::{Destination, Stream};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which servers work together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// One server.
    #[default]
    Single,
    /// A primary, and replicas that carry out what it has committed.
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
pub(super) fn topology(
    (name, source): (&str, &ServerSource),
    common: Option<&Node>,
    own: Option<&Node>,
    mistakes: &mut Collector,
) -> Topology {
    if let ServerSource::Url(_) = source {
        if let Some(node) = own {
            let title = format!("server `{name}` is running already and has the topology that it has");
            mistakes.at(&node.place, title, "Prony never configures a server that it did not start");
        }
        return Topology::Single;
    }
    let mut merged = Table::default();
    for node in [common, own].into_iter().flatten() {
        let Some(table) = section(node, mistakes) else { continue };
        for Entry { key, .. } in &table.0 {
            merged.remove(key);
        }
        merged.0.extend(table.0.iter().cloned());
    }
    let values = check(&merged, TOPOLOGY, &[], mistakes);
    read((name, source), &values, mistakes)
}

/// Checks a `[topology]` by itself.
pub(super) fn check_section(node: &Node, mistakes: &mut Collector) {
    if let Some(table) = section(node, mistakes) {
        check(table, TOPOLOGY, &[], mistakes);
    }
}

fn section<'a>(node: &'a Node, mistakes: &mut Collector) -> Option<&'a Table> {
    if let Value::Table(table) = &node.value {
        return Some(table);
    }
    mistakes.at(&node.place, format!("`topology` is {}", node.value.kind()), "a table belongs here");
    None
}

/// Where a stream's connections go.
pub(super) fn destination(values: &Values<'_>) -> Destination {
    match values.text("to").as_deref() {
        Some("replicas") => Destination::Members,
        Some("all") => Destination::All,
        Some("local") => Destination::Local,
        _ => Destination::Primary,
    }
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
    if matches!(server.source, ServerSource::Url(_)) {
        for (stream, _) in streams.iter().filter(|(stream, _)| stream.to == Destination::Local) {
            let title =
                format!("stream `{}` goes to the socket of a server that is running already", stream.name);
            mistakes.at(
                place_of(stream),
                title,
                "only servers that Prony starts have another way; put `?socket=PATH` behind the `url`",
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
        let title = format!("stream `{}` goes to replicas and writes", stream.name);
        mistakes.at(
            place_of(stream),
            title,
            "what is written at a replica is nowhere else: `to = \"primary\"`, or a workload that only \
             reads, belongs here",
        );
    }
}

fn read((name, source): (&str, &ServerSource), values: &Values<'_>, mistakes: &mut Collector) -> Topology {
    let number = |key: &str| u32::try_from(values.count(key)).unwrap_or(u32::MAX);
    if let Some(place) = values.place("galera") {
        if let Some(replicas) = values.place("replicas").filter(|_| number("replicas") > 0) {
            let title = format!("server `{name}` is a Galera cluster and has replicas");
            mistakes.at(replicas, title, "one of `galera` and `replicas` is enough");
        }
        if matches!(source, ServerSource::Product { product, .. } if product != "mariadb") {
            let title = format!("server `{name}` cannot be a Galera cluster");
            mistakes.at(place, title, "of the products that Prony knows, MariaDB alone has Galera");
        }
        return Topology::Galera { nodes: number("galera").max(2) };
    }
    let (count, acknowledgements) = (number("replicas"), number("acknowledgements"));
    if count == 0 {
        return Topology::Single;
    }
    let wait_point = match values.text("replication").as_deref() {
        Some("semi-sync") => None,
        Some("after-sync") => Some(WaitPoint::AfterSync),
        Some("after-commit") => Some(WaitPoint::AfterCommit),
        _ => return Topology::Replicas { count, replication: Replication::Asynchronous },
    };
    if let Some(place) = values.place("acknowledgements").filter(|_| acknowledgements > count) {
        let title = format!("server `{name}` waits for {acknowledgements} replicas and has {count}");
        mistakes.at(place, title, format!("at most {count} belongs here"));
    }
    let timeout = values.duration("timeout");
    let replication = Replication::SemiSynchronous { wait_point, acknowledgements, timeout };
    Topology::Replicas { count, replication }
}
