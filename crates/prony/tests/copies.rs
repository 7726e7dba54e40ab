//! Physical copies as data of a study, on real servers: data directories of stopped servers and backups, read
//! by servers of the same and of newer versions, put back after trials that write; and what is refused.

#![expect(clippy::unwrap_used, reason = "what the tests share is part of them")]

mod support {
    #[expect(dead_code, reason = "other tests need other things")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "other tests look for processes")]
    pub(crate) mod server;
}

use load::client::Connection;
use prony::provision::Server;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};
use support::{
    require::{Need, program, require},
    server::started,
};

const WAIT: Duration = Duration::from_secs(20);

/// A server with a database of somebody's, and accounts of theirs: one has the name of Prony's.
fn shop(product: &str, version: &str) -> (tempfile::TempDir, Server) {
    let (state, server) = started(product, version, &[]);
    let mut connection = Connection::open(server.target(), WAIT).unwrap();
    let customers: Vec<String> = (1..=300).map(|id| format!("({id}, 'Customer {id}')")).collect();
    let orders: Vec<String> = (1..=2_000).map(|id| format!("({id}, {}, 9.5)", id % 300 + 1)).collect();
    for sql in [
        "CREATE DATABASE `my-shop`",
        "USE `my-shop`",
        "CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(40)) ENGINE=InnoDB",
        "CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer_id INT NOT NULL, price \
         DECIMAL(10,2), KEY (customer_id)) ENGINE=InnoDB",
        "CREATE VIEW large AS SELECT * FROM orders WHERE price > 5",
        "CREATE USER 'owner'@'%' IDENTIFIED BY 'Theirs-1'",
        &format!("INSERT INTO customer VALUES {}", customers.join(",")),
        &format!("INSERT INTO orders VALUES {}", orders.join(",")),
    ] {
        connection.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    (state, server)
}

fn data_directory(server: &Server) -> PathBuf {
    let Server::Own(instance) = server else { panic!("it is Prony's own") };
    instance.data_directory()
}

/// Copies a directory as a user would.
fn copied(from: &Path, to: &Path) -> PathBuf {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
    to.to_owned()
}

/// What a server leaves that stops in order.
fn stopped(server: &Server, to: &Path) -> PathBuf {
    let pid = server.pid().unwrap();
    let mut connection = Connection::open(server.target(), WAIT).unwrap();
    connection.query("SHUTDOWN").unwrap();
    let begun = Instant::now();
    let is_running =
        || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while is_running() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not stop");
        thread::sleep(Duration::from_millis(50));
    }
    copied(&data_directory(server), to)
}

/// Sizes and times of all files.
fn state_of(directory: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, i64)> {
    let mut all = BTreeMap::new();
    let mut below = vec![directory.to_owned()];
    while let Some(place) = below.pop() {
        for entry in fs::read_dir(&place).unwrap().flatten() {
            let known = entry.metadata().unwrap();
            let state = (known.size(), known.mtime(), known.mtime_nsec(), known.ctime_nsec());
            all.insert(entry.path(), state);
            if known.is_dir() {
                below.push(entry.path());
            }
        }
    }
    all
}

/// Servers, the copy, and a load that reads and writes.
fn study(servers: &[(&str, &str)], copy: &Path) -> String {
    let section = |(number, (product, version)): (usize, &(&str, &str))| {
        format!("[server.s{number}]\nproduct = \"{product}\"\nversion = \"{version}\"\n")
    };
    let sections: String = servers.iter().enumerate().map(section).collect();
    let names: Vec<String> = (0..servers.len()).map(|number| format!("\"s{number}\"")).collect();
    format!(
        r#"
title = "From a copy"
{sections}
[data]
copy = "{}"
[workload.shop.values]
customer = {{ random = [1, 300] }}
[[workload.shop.transaction]]
name = "read"
weight = 80
statements = [{{ sql = "SELECT * FROM orders WHERE customer_id = {{customer}}", expect = "row" }}]
[[workload.shop.transaction]]
name = "write"
weight = 20
statements = [
  {{ sql = "INSERT INTO orders (customer_id, price) VALUES ({{customer}}, 1)", expect = "change" }}
]
[[stream]]
workload = "shop"
connections = 2
[vary]
server = [{}]
[measure]
warm_up = "0s"
interval = "300ms"
repeats = 2
repeat_invalid = 0
"#,
        copy.display(),
        names.join(", ")
    )
}

fn run(home: &Path, verb: &str, text: &str) -> Output {
    run_with(home, verb, text, None)
}

fn run_with(home: &Path, verb: &str, text: &str, path: Option<&str>) -> Output {
    fs::write(home.join("shop.toml"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args([verb, "shop.toml"]).current_dir(home).env_remove("PRONY_STORE");
    command.args(if verb == "run" { &["--json"][..] } else { &[] });
    command.env("XDG_DATA_HOME", home.join("data")).env("XDG_STATE_HOME", home.join("state"));
    path.map(|path| command.env("PATH", path));
    command.output().unwrap()
}

/// What is told, in one line: messages are wrapped.
fn told(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A run whose trials all had their rows; returns what it told.
fn run_well(home: &Path, text: &str, servers: usize) -> String {
    let output = run(home, "run", text);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), servers, "{said}");
    for point in points {
        let seen = (point["trials"].as_u64(), point["error_share"].as_f64());
        assert_eq!(seen, (Some(2), Some(0.0)), "{point:#}");
        let doubts = point["doubts"].to_string();
        assert!(!doubts.contains("rows_missing") && !doubts.contains("nothing_changed"), "{doubts}");
    }
    said
}

#[test]
fn a_stopped_data_directory_is_loaded_on_every_server_and_stays_as_it_is() {
    let (_state, server) = shop("mariadb", "10.11");
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join("copy");
    let text = study(&[("mariadb", "10.11"), ("mariadb", "10.11")], &copy);
    // while its server runs, it is refused
    let at_once = study(&[("mariadb", "10.11")], &data_directory(&server));
    let refused = told(&run(home.path(), "plan", &at_once));
    assert!(refused.contains("is in use by process") && refused.contains("stop that server"), "{refused}");
    stopped(&server, &copy);
    let before = state_of(&copy);
    let plan = told(&run(home.path(), "plan", &text));
    for part in ["a copy of", "stopped server, mariadb 10.11.", "database my-shop"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let said = run_well(home.path(), &text, 2);
    assert!(!said.contains("had not stopped cleanly"), "{said}");
    assert_eq!(state_of(&copy), before, "it is only read");
}

#[test]
fn what_no_server_can_start_on_is_told_before_anything_starts() {
    let (_state, server) = shop("mariadb", "10.11");
    let home = tempfile::tempdir().unwrap();
    // as the power leaves it
    let copy = home.path().join("copy");
    let pid = server.pid().unwrap().to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    thread::sleep(Duration::from_millis(500));
    copied(&data_directory(&server), &copy);
    let good = study(&[("mariadb", "10.11")], &copy);
    assert_eq!(run(home.path(), "plan", &good).status.code(), Some(0));
    for (wrong, parts) in [
        (good.replace("version = \"10.11\"", "version = \"10.1\""), ["cannot read", "10.11.1"]),
        (
            good.replace(
                "product = \"mariadb\"\nversion = \"10.11\"",
                "product = \"mysql\"\nversion = \"8.0\"",
            ),
            ["files of one product", "load a dump (`sql`)"],
        ),
        (good.replace("{customer}", "{customer.id}"), ["cannot be drawn", "random = [1, 1000]"]),
        (good.replace("FROM orders", "FROM order"), ["there is no table `order`", "did you mean `orders`?"]),
        (
            good.replace("[workload.shop.values]", "database = \"shop\"\n[workload.shop.values]"),
            ["no database `shop`", "my-shop"],
        ),
        (
            good.replace("[workload.shop.values]", "rows = 5\n[workload.shop.values]"),
            ["`rows` does not apply", "`copy`"],
        ),
        (
            good.replace("[[stream]]", "[topology]\nreplicas = 1\n[[stream]]"),
            ["replicas", "would not have the copy"],
        ),
        (
            good.replace("[server.s0]", "[server.far]\nurl = \"mysql://u@127.0.0.1:1/x\"\n[server.s0]"),
            ["`copy` would write to `far`", "remove `copy`"],
        ),
        (
            good.replace("workload = \"shop\"", "workload = \"oltp_read_only\""),
            ["built-in", "those of `copy`"],
        ),
    ] {
        let output = run(home.path(), "plan", &wrong);
        let text = told(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
    }
    fs::write(copy.join("xtrabackup_checkpoints"), "backup_type = full-backuped\n").unwrap();
    let output = run_with(home.path(), "run", &good, Some("/nowhere"));
    let text = told(&output);
    assert_ne!(output.status.code(), Some(0), "{text}");
    // a program of the series may lie beside the server, and then says that this is no backup
    let is_missing = text.contains("not prepared") && text.contains("mariadb-backup --prepare --target-dir=");
    let is_named = text.contains("failed on the copy of the data: exit status") && text.contains("backup");
    assert!(is_missing || is_named, "{text}");
    fs::remove_file(copy.join("xtrabackup_checkpoints")).unwrap();
    let said = run_well(home.path(), &good, 1);
    assert!(said.contains("had not stopped cleanly"), "{said}");
}

#[test]
fn a_backup_is_prepared_in_its_copy() {
    let found = program(Command::new("mariadb-backup").arg("--version"));
    let Some(()) = require(Need::MariadbBackup, found) else { return };
    let (_state, server) = shop("mariadb", "10.11");
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join("backup");
    let target = server.target_by_socket();
    let load::spec::Address::Unix(socket) = &target.address else { panic!("a socket") };
    let done = Command::new("mariadb-backup")
        .args(["--no-defaults", "--backup", "--user=prony"])
        .arg(format!("--password={}", target.password.reveal()))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--datadir={}", data_directory(&server).display()))
        .arg(format!("--target-dir={}", copy.display()))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", told(&done));
    let before = state_of(&copy);
    let text = study(&[("mariadb", "10.11")], &copy);
    let plan = told(&run(home.path(), "plan", &text));
    assert!(plan.contains("a backup that Prony prepares on its copy"), "{plan}");
    run_well(home.path(), &text, 1);
    assert_eq!(state_of(&copy), before, "it is only read");
    let done = Command::new("mariadb-backup")
        .args(["--no-defaults", "--prepare"])
        .arg(format!("--target-dir={}", copy.display()))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", told(&done));
    let plan = told(&run(home.path(), "plan", &text));
    assert!(plan.contains("a prepared backup"), "{plan}");
    run_well(home.path(), &text, 1);
}

#[test]
#[ignore = "long: starts servers of two products and four generations"]
fn newer_servers_read_the_copies_of_older_ones_and_upgrade_them() {
    for (product, of, servers, parts) in [
        ("mariadb", "10.11", vec!["10.11", "11.4"], ["this server is 11.4", "no mariadb-upgrade"]),
        ("mariadb", "10.1", vec!["10.11"], ["copied data are of version 10.1.", ""]),
        ("mysql", "5.7", vec!["5.7", "8.0.33"], ["copied data are of version 5.7.", "upgraded to 8.0.33"]),
        ("mysql", "8.0.33", vec!["8.0.33"], ["", ""]),
    ] {
        let (_state, server) = shop(product, of);
        let home = tempfile::tempdir().unwrap();
        let copy = stopped(&server, &home.path().join("copy"));
        let before = state_of(&copy);
        let servers: Vec<(&str, &str)> = servers.into_iter().map(|version| (product, version)).collect();
        let said = run_well(home.path(), &study(&servers, &copy), servers.len());
        assert!(parts.iter().all(|part| said.contains(part)), "{product} {of}: {parts:?}: {said}");
        // by the server's own program, where that is installed
        let is_told = said.contains("upgraded to 10.11") || said.contains("no mariadb-upgrade");
        assert!(of != "10.1" || is_told, "{said}");
        assert_eq!(state_of(&copy), before, "it is only read");
    }
}
