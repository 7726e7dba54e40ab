//! A Galera cluster of MariaDB: every node takes writes, and all certify each commit.
//!
//! Nodes that join get the first one's files. MariaDB has scripts for that, but they need rsync, socat or
//! mariabackup, and the one with rsync does not work for root. Prony's needs only a shell and cp, since all
//! nodes are on one machine.

use super::{Between, Cluster, Group, Lag, Wanted, connect, replication::query, wait_until};
use crate::provision::{
    Error, Places, Site, Step,
    disk::files,
    instance::Part,
    launch::free_port,
    login::target::shown,
    provisioner::Provisioner,
    software::{Software, fetch, version::Version},
};
use load::{
    Stop,
    client::{self, Connection},
    spec::Address,
};
use std::{
    collections::BTreeMap,
    fs,
    net::Ipv4Addr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Instant,
};

/// The script by which a node gets the files of another one, `wsrep_sst_METHOD` in the server's words.
const SCRIPT: &str = include_str!("wsrep_sst_prony.sh");
const METHOD: &str = "prony";

/// Where a node listens for the others, beside its own port.
struct Ports {
    group: u16,
    transfer: u16,
}

pub(super) fn bring_up(
    wanted: &Wanted<'_>,
    nodes: u32,
    between: &mut Between<'_>,
    progress: &mut dyn FnMut(Step),
) -> Result<Group, Error> {
    let software = wanted.software(progress)?;
    if software.image.is_some() {
        let reason = "Galera's library and its copy script are outside its container; let Prony fetch the \
                      server";
        return Err(Error::Topology { server: software.to_string(), reason: reason.to_owned() });
    }
    let own_provider = wanted.plan.settings.get("wsrep_provider").map(PathBuf::from);
    let provider = match own_provider {
        Some(provider) => provider,
        None => provider(wanted.provisioner, &software, progress)?,
    };
    let programs = programs(wanted.provisioner.places())?;
    let mut part = Part { programs: Some(programs), ..Part::default() };
    let mut servers = Vec::new();
    let mut first_group = None;
    for number in 0..nodes {
        let here = Site::default();
        let ports = Ports { group: free_port(&here)?, transfer: free_port(&here)? };
        let seed = match first_group {
            None => String::new(),
            Some(port) => {
                let host = Ipv4Addr::LOCALHOST.to_string();
                let address = between(number as usize, 0, &Address::Tcp { host, port })
                    .map_err(|source| Error::Between { source })?;
                address.to_string()
            }
        };
        first_group = first_group.or(Some(ports.group));
        part.settings = settings(&provider, number, &ports, &seed);
        let told = &mut |step: Step| {
            progress(Step::Node { number: number + 1, of: nodes, then: Box::new(step) });
        };
        let server = wanted.node(&part, told)?;
        // the accounts come with the first node's files
        part.password.get_or_insert_with(|| server.target().password.clone());
        servers.push(server);
    }
    let primary = servers.remove(0);
    Ok(wanted.group(primary, servers))
}

fn settings(provider: &Path, number: u32, ports: &Ports, seed: &str) -> BTreeMap<String, String> {
    let host = Ipv4Addr::LOCALHOST;
    let Ports { group, transfer } = ports;
    let options = format!("gmcast.listen_addr=tcp://{host}:{group};ist.recv_addr={host}:{transfer}");
    let settings = [
        ("wsrep_on", "ON".to_owned()),
        ("wsrep_provider", provider.display().to_string()),
        ("wsrep_provider_options", options),
        ("wsrep_cluster_name", "prony".to_owned()),
        ("wsrep_cluster_address", format!("gcomm://{seed}")),
        ("wsrep_node_name", format!("node{}", number + 1)),
        ("wsrep_node_address", host.to_string()),
        ("wsrep_sst_method", METHOD.to_owned()),
        ("binlog_format", "ROW".to_owned()),
        ("innodb_autoinc_lock_mode", "2".to_owned()),
        ("server_id", (number + 1).to_string()),
    ];
    settings.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Galera's library for this server: fetched as other software is.
fn provider(
    provisioner: &Provisioner,
    software: &Software,
    progress: &mut dyn FnMut(Step),
) -> Result<PathBuf, Error> {
    if !software.is_mariadb() || software.numbers() < Version::new(10, 1, 0) {
        return Err(Error::Topology {
            server: software.to_string(),
            reason: "it has no Galera; MariaDB has it since 10.1".to_owned(),
        });
    }
    let series = if software.numbers() >= Version::new(10, 4, 0) { "4" } else { "3" };
    fetch::galera(series, software, &mut provisioner.work(progress))
}

/// The directory with Prony's script; a server gets it in its PATH.
fn programs(places: &Places) -> Result<PathBuf, Error> {
    let directory = places.cache.join("programs");
    fs::create_dir_all(&directory).map_err(Error::file("make the directory", &directory))?;
    let script = directory.join(format!("wsrep_sst_{METHOD}"));
    let unfinished = directory.join(format!(".{}.unfinished", std::process::id()));
    files::write_private(&unfinished, SCRIPT)?;
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o700))
        .map_err(Error::file("change the mode of", &unfinished))?;
    fs::rename(&unfinished, &script).map_err(Error::file("move into place", &script))?;
    Ok(directory)
}

pub(super) fn wait_until_equal(
    group: &Group,
    nodes: u32,
    deadline: Instant,
    stop: &Stop,
) -> Result<(), Error> {
    for (node, server) in (1..).zip(group.servers()) {
        let target = server.target();
        let mut connection = connect(target)?;
        wait_until(deadline, stop, &mut || {
            let state = status(&mut connection)
                .map_err(|source| Error::Statement { server: shown(target), source: Box::new(source) })?;
            let is_ready = state.nodes == nodes && state.is_synced;
            Ok((!is_ready).then_some(Lag::Incomplete { node, seen: state.nodes, nodes }))
        })?;
        // a statement that waits until all that was committed anywhere is here, too
        query(&mut connection, target, "SET SESSION wsrep_sync_wait = 1")?;
        query(&mut connection, target, "SELECT COUNT(*) FROM information_schema.SCHEMATA")?;
    }
    Ok(())
}

/// What a node says of its cluster.
pub(super) fn status(connection: &mut Connection) -> Result<Cluster, client::Error> {
    let answer = connection.query("SHOW GLOBAL STATUS LIKE 'wsrep\\_%'")?;
    let rows = answer.results.into_iter().flat_map(|result| result.rows);
    let values: BTreeMap<String, String> = rows
        .filter_map(|row| Some((row.first()?.clone()?.to_ascii_lowercase(), row.get(1)?.clone()?)))
        .collect();
    let value = |name: &str| values.get(name).map_or("", String::as_str);
    Ok(Cluster {
        nodes: value("wsrep_cluster_size").parse().unwrap_or(0),
        is_synced: value("wsrep_local_state_comment") == "Synced"
            && value("wsrep_cluster_status") == "Primary",
        paused_ns: value("wsrep_flow_control_paused_ns").parse().unwrap_or(0),
    })
}
