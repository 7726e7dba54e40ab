//! Servers of a trial as telemetry takes them: which process, where the data, how to ask.

use crate::{
    plan::ServerPlan,
    provision::{self, Server},
    telemetry::{Node, ways},
};
use load::{client::Connection, spec::Target};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// Name of the server of a trial that has only one.
const SERVER: &str = "server";
/// How long the questions may take that are asked before a trial.
const ASK_MAX: Duration = Duration::from_secs(20);
/// What telemetry wants to know beforehand.
const VARIABLES: &str =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('admin_address', 'admin_port', 'datadir', 'extra_port')";

/// The servers that are sampled in a trial of `server`. Asked anew for each trial: a server that was restarted has other
/// numbers.
pub(super) fn nodes(server: &Server, plan: &ServerPlan) -> Vec<Node> {
    vec![Node { exporter: plan.node_exporter.clone(), ..node(SERVER, server.target(), server.pid()) }]
}

/// A server as telemetry takes it. One that does not answer now is asked for its counters at each reading, and where its
/// data is stays unknown.
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
