//! Loads like TPC-C's without waits: by Prony and by go-tpc, which does not send the same statements (it
//! reads and writes all lines of an order at once, Prony one after the other), by Prony and sysbench, which
//! do, and by Prony and sysbench-tpcc, whose statements and mix differ a little.

use crate::{
    entrant::{Job, Said, Tool},
    goals::{self, Goals},
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

/// What is compared.
pub(crate) struct Part {
    pub(crate) what: &'static str,
    /// Prony first.
    pub(crate) tools: &'static [Tool],
    pub(crate) remark: &'static str,
    pub(crate) goals: fn(u32) -> Goals,
}

/// All comparisons; the tables that the first one loads are those of the others.
pub(crate) const PARTS: [Part; 4] = [
    Part {
        what: "loading",
        tools: &[Tool::TpccLoad, Tool::GoTpcLoad, Tool::SysbenchTpccLoad],
        remark: "What is counted as a query is a row. Each program has its own tables; sysbench-tpcc loads \
                 its without foreign keys, which Prony's do not have.",
        goals: goals::loading,
    },
    Part {
        what: "no waits, go-tpc",
        tools: &[Tool::Tpcc, Tool::GoTpc],
        remark: "What is counted as a query is a New-Order transaction. go-tpc reads and writes all lines of \
                 an order at once, Prony one by one, as the specification's example does.",
        goals: goals::none,
    },
    Part {
        what: "no waits, sysbench",
        tools: &[Tool::TpccText, Tool::TpccScript],
        remark: "What is counted as a query is a statement. Both programs send the same ones to the same \
                 tables, sysbench by a script.",
        goals: goals::real_server,
    },
    Part {
        what: "no waits, sysbench-tpcc",
        tools: &[Tool::TpccAll, Tool::SysbenchTpcc],
        remark: "What is counted as a query is a transaction of any kind. sysbench-tpcc has its own tables \
                 and its own statements, most of which are the same. Of its transactions, each of the three \
                 rare kinds is one in 23, of Prony's one in 25.",
        goals: goals::none,
    },
];

/// The database that sysbench-tpcc's tables are in.
pub(crate) const SYSBENCH_TPCC: &str = "sysbench_tpcc";

/// What loads, after the tables of the round before are gone.
pub(crate) fn load(tool: Tool, job: &Job) -> Command {
    let by = |verb: &str| match tool {
        Tool::GoTpcLoad => go_tpc(verb, job, LOADERS),
        Tool::SysbenchTpccLoad => sysbench_tpcc(verb, job, LOADERS),
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
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/tpcc.lua");
    let mut command = sysbench(path, "prony_tpcc", job, connections);
    command.args([&format!("--warehouses={WAREHOUSES}"), "run"]);
    command
}

/// sysbench-tpcc, on its own tables.
pub(crate) fn sysbench_tpcc(verb: &str, job: &Job, connections: u32) -> Command {
    let mut command = sysbench("tpcc.lua", SYSBENCH_TPCC, job, connections);
    // its script looks for its other files there
    command.current_dir(&job.sysbench_tpcc);
    command.args([&format!("--scale={WAREHOUSES}"), "--tables=1", "--use_fk=0", verb]);
    command
}

fn sysbench(script: &str, database: &str, job: &Job, connections: u32) -> Command {
    let site = &job.site;
    let mut command = Command::new("sysbench");
    command.args([
        script,
        &format!("--mysql-host={}", site.address.ip()),
        &format!("--mysql-port={}", site.address.port()),
        &format!("--mysql-user={}", site.user),
        &format!("--mysql-password={}", site.password),
        &format!("--mysql-db={database}"),
        &format!("--threads={connections}"),
        &format!("--time={}", job.seconds),
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

/// Transactions of Prony.
pub(crate) fn transactions(text: &str) -> Option<Said> {
    let figures: serde_json::Value = serde_json::from_str(text).ok()?;
    let count = figures["streams"][0]["transactions"].as_f64()?;
    Some(Said::plain(count, figures["interval_s"].as_f64()?))
}

/// `transactions:    8044   (804.31 per sec.)` and `total time:    10.0013s`
pub(crate) fn transactions_of_sysbench(text: &str) -> Option<Said> {
    let number = |label: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(label))?;
        line.trim_start().split([' ', 's']).next()?.parse::<f64>().ok()
    };
    Some(Said::plain(number("transactions:")?, number("total time:")?))
}

/// `tpmC: 8044.9, tpmTotal: 17897.5, efficiency: ...`
pub(crate) fn new_orders_of_go_tpc(text: &str, seconds: f64) -> Option<Said> {
    let line = text.lines().rfind(|line| line.starts_with("tpmC:"))?;
    let per_minute: f64 = line.strip_prefix("tpmC:")?.split(',').next()?.trim().parse().ok()?;
    Some(Said::plain(per_minute / 60.0 * seconds, seconds))
}
