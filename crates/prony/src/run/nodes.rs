//! Servers of a trial as telemetry takes them: which process, where the data, how to ask.

use crate::{
    family::{self, Whereabouts},
    plan::{ServerPlan, Topology},
    provision::Group,
    telemetry::{Node, ways},
};
use load::{client::Connection, spec::Target};
use std::time::Duration;

/// Name of the only server of a trial, and of the one that is written to.
const SERVER: &str = "server";
/// How long the questions may take that are asked before a trial.
const ASK_MAX: Duration = Duration::from_secs(20);

/// The servers that are sampled in a trial of `server`. Asked again for each trial: a server that was
/// restarted has other numbers.
pub(super) fn nodes(group: &Group, plan: &ServerPlan) -> Vec<Node> {
    let member = |number: usize| match plan.topology {
        Topology::Galera { .. } => format!("node-{}", number + 1),
        _ => format!("replica-{number}"),
    };
    let named = group.servers().enumerate().map(|(number, server)| {
        let name = if number == 0 { SERVER.to_owned() } else { member(number) };
        node(&name, server.target(), server.pid())
    });
    let mut nodes: Vec<Node> = named.collect();
    nodes[0].exporter.clone_from(&plan.node_exporter);
    nodes
}

/// A server as telemetry takes it. One that does not answer now is asked for its counters at each reading,
/// and where its data is stays unknown.
#[must_use]
pub fn node(name: &str, target: &Target, pid: Option<u32>) -> Node {
    let whereabouts = whereabouts(target);
    Node {
        name: name.to_owned(),
        pid,
        ways: ways(target, &whereabouts),
        data_directory: whereabouts.data_directory.filter(|_| pid.is_some()),
        exporter: None,
    }
}

fn whereabouts(target: &Target) -> Whereabouts {
    let Ok(mut connection) = Connection::open(target, ASK_MAX) else { return Whereabouts::default() };
    connection.set_timeout(Some(ASK_MAX));
    family::spoken().whereabouts(&mut connection).unwrap_or_default()
}
