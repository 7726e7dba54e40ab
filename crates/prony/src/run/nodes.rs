//! Servers of a trial as telemetry takes them: which process, where the data, how to ask.

use crate::{
    plan::{ServerPlan, Topology},
    provision::{self, Group},
    telemetry::{Node, ways},
};
use load::{client::Connection, spec::Target};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// Name of the only server of a trial, and of the one that is written to.
const SERVER: &str = "server";
/// How long the questions may take that are asked before a trial.
const ASK_MAX: Duration = Duration::from_secs(20);
/// What telemetry wants to know beforehand.
const VARIABLES: &str =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('admin_address', 'admin_port', 'datadir', 'extra_port')";

/// The servers that are sampled in a trial of `server`. Asked anew for each trial: a server that was
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
    let variables = variables(target);
    let variable = |name: &str| variables.get(name).map(String::as_str);
    Node {
        name: name.to_owned(),
        pid,
        data_directory: pid.and_then(|_| variable("datadir")).map(PathBuf::from),
        ways: ways(target, variable),
        exporter: None,
    }
}

fn variables(target: &Target) -> BTreeMap<String, String> {
    let Ok(mut connection) = Connection::open(target, ASK_MAX) else { return BTreeMap::new() };
    connection.set_timeout(Some(ASK_MAX));
    provision::pairs(&mut connection, VARIABLES).unwrap_or_default()
}
