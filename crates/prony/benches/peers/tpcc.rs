//! Loads like TPC-C's without waits: by Prony and by go-tpc, which does not send the same statements (it
//! reads and writes all lines of an order at once, Prony one after the other), and by Prony and sysbench,
//! which do.

use crate::{
    entrant::{Job, Said, Tool},
    process::measured,
};
use std::{process::Command, time::Duration};

/// The workload of Prony.
pub(crate) const WORKLOAD: &str = "tpcc-nowait";
/// Connections that are compared.
pub(crate) const CONNECTIONS: u32 = 8;
/// Warehouses that are loaded, and the rows of them: 100,000 items, and what each warehouse has.
const WAREHOUSES: u32 = 2;
pub(crate) const ROWS: f64 = 100_000.0 + WAREHOUSES as f64 * 499_011.0;
/// Connections that load.
const LOADERS: u32 = 2;
/// Load of Prony that is not counted, s: each connection prepares its statements.
const WARM_UP_S: u32 = 2;
/// How long removing tables may take.
const CLEANUP_MAX: Duration = Duration::from_secs(60);

/// What loads, after the tables of the round before are gone.
pub(crate) fn load(tool: Tool, job: &Job) -> Command {
    let by = |verb: &str| match tool {
        Tool::GoTpcLoad => go_tpc(verb, job, LOADERS),
        _ => prony(verb, job, LOADERS),
    };
    // in the first round there is nothing to remove
    let _ = measured(&mut by("cleanup"), CLEANUP_MAX);
    by("prepare")
}

pub(crate) fn prony(verb: &str, job: &Job, connections: u32) -> Command {
    let site = &job.site;
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg(verb).env("PRONY_PASSWORD", &site.password);
    command.args(["--url", &format!("mysql://{}@{}/prony_tpcc", site.user, site.address)]);
    if verb != "cleanup" {
        command.args([WORKLOAD, "--warehouses", &WAREHOUSES.to_string()]);
    }
    if verb == "load" {
        command.args(["--json", "--connections", &connections.to_string()]);
        command.args(["--warm-up", &format!("{WARM_UP_S}s"), "--duration", &format!("{}s", job.seconds)]);
    }
    command
}

/// Prony without prepared statements.
pub(crate) fn prony_text(job: &Job, connections: u32) -> Command {
    let mut command = prony("load", job, connections);
    command.args(["--protocol", "text"]);
    command
}

/// sysbench with the same statements, on Prony's tables.
pub(crate) fn script(job: &Job, connections: u32) -> Command {
    let site = &job.site;
    let mut command = Command::new("sysbench");
    command.args([
        concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/tpcc.lua"),
        &format!("--mysql-host={}", site.address.ip()),
        &format!("--mysql-port={}", site.address.port()),
        &format!("--mysql-user={}", site.user),
        &format!("--mysql-password={}", site.password),
        "--mysql-db=prony_tpcc",
        &format!("--threads={connections}"),
        &format!("--time={}", job.seconds),
        &format!("--warehouses={WAREHOUSES}"),
        "run",
    ]);
    command
}

pub(crate) fn go_tpc(verb: &str, job: &Job, connections: u32) -> Command {
    let site = &job.site;
    let mut command = Command::new("go-tpc");
    command.args(["tpcc", verb, "--db", "go_tpcc", "--user", &site.user, "--password", &site.password]);
    command.args(["--host", &site.address.ip().to_string(), "--port", &site.address.port().to_string()]);
    command.args(["--warehouses", &WAREHOUSES.to_string(), "--threads", &connections.to_string()]);
    command.args(match verb {
        "prepare" => vec!["--no-check".to_owned()],
        "run" => vec!["--time".to_owned(), format!("{}s", job.seconds)],
        _ => Vec::new(),
    });
    command
}

/// New-Order transactions of Prony.
pub(crate) fn new_orders(text: &str) -> Option<Said> {
    let figures: serde_json::Value = serde_json::from_str(text).ok()?;
    let all = figures["streams"][0]["by_transaction"].as_array()?;
    let count = all.iter().find(|one| one["name"] == "new_order")?["count"].as_f64()?;
    Some(Said::plain(count, figures["interval_s"].as_f64()?))
}

/// `tpmC: 8044.9, tpmTotal: 17897.5, efficiency: ...`
pub(crate) fn new_orders_of_go_tpc(text: &str, seconds: f64) -> Option<Said> {
    let line = text.lines().rfind(|line| line.starts_with("tpmC:"))?;
    let per_minute: f64 = line.strip_prefix("tpmC:")?.split(',').next()?.trim().parse().ok()?;
    Some(Said::plain(per_minute / 60.0 * seconds, seconds))
}
