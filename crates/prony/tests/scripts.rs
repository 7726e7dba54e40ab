//! Lua scripts as workloads: of a study, whose tables the script makes itself, and of `prony load`, on a real
//! server.

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod server;
}

use load::{client::Connection, spec::script::Value};
use prony::{
    provision::{Server, target},
    run::TrialOutcome,
    store::Store,
};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

/// A bank: its tables are its own, a second file holds what they have in common.
const BANK: &str = r#"
require("bank_common")
sysbench.cmdline.options = { branches = { "Number of branches", 1 }, ratio = { "Share of reads", 0.5 } }

function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)")
  con:bulk_insert_init("INSERT INTO account VALUES")
  for id = 1, accounts() do con:bulk_insert_next("(" .. id .. ", 100)") end
  con:bulk_insert_done()
end

function cleanup()
  sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS account")
end

function thread_init()
  con = sysbench.sql.driver():connect()
  move = con:prepare("UPDATE account SET balance = balance + ? WHERE id = ?")
  by, id = move:bind_create(sysbench.sql.type.INT), move:bind_create(sysbench.sql.type.INT)
  move:bind_param(by, id)
end

function event()
  con:query("BEGIN")
  local from, to = sysbench.rand.uniform(1, accounts()), sysbench.rand.uniform(1, accounts())
  assert(con:query_row("SELECT balance FROM account WHERE id = " .. from))
  by:set(-1); id:set(math.min(from, to)); move:execute()
  by:set(1); id:set(math.max(from, to)); move:execute()
  con:query("COMMIT")
end
"#;
const COMMON: &str = "function accounts() return 50 * sysbench.opt.branches end\n";

fn prony(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).env("XDG_DATA_HOME", directory).args(words);
    command.output().expect("prony runs")
}

fn text(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{err}")
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("bank.lua"), BANK).expect("written");
    fs::write(directory.path().join("bank_common.lua"), COMMON).expect("written");
    directory
}

fn query(server: &Server, sql: &str) -> String {
    let mut connection = Connection::open(server.target(), Duration::from_secs(5)).expect("a connection");
    let answer = connection.query(sql).expect("good SQL");
    answer.rows()[0][0].clone().unwrap_or_default()
}

#[test]
fn a_study_measures_a_script_on_tables_that_it_made_and_can_be_repeated_without_its_files() {
    let directory = directory();
    let study = r#"
title = "A bank"
[server.one]
product = "mariadb"
version = "10.11"
[workload.bank]
lua = "bank.lua"
prepare = true
branches = 2
[[stream]]
workload = "bank"
[vary]
"stream.connections" = [2, 4]
[measure]
warm_up = "1s"
interval = "2s"
repeats = 1
"#;
    fs::write(directory.path().join("bank.toml"), study).expect("written");
    let planned = prony(directory.path(), &["plan", "bank.toml"]);
    assert!(planned.status.success(), "{}", text(&planned));
    assert!(text(&planned).contains("what `prepare` of bank.lua makes"), "{}", text(&planned));
    let output = prony(directory.path(), &["run", "bank.toml", "--store", "s.sqlite"]);
    assert!(output.status.success(), "{}", text(&output));
    // the files are gone, and everything is there
    fs::remove_file(directory.path().join("bank.lua")).expect("it was there");
    fs::remove_file(directory.path().join("bank_common.lua")).expect("it was there");
    let store = Store::open(&directory.path().join("s.sqlite")).expect("a store");
    let record = store.run(store.latest().expect("a run").expect("one")).expect("read");
    assert_eq!(record.trials.len(), 2);
    let script = record.plan.treatments[0].streams[0].workload.script().expect("a script");
    assert_eq!((script.file.as_str(), script.text.as_str()), ("bank.lua", BANK));
    assert_eq!(script.others, [("bank_common".to_owned(), COMMON.to_owned())]);
    assert_eq!(script.option("branches"), Some(&Value::Number(2.0)));
    let size = &record.servers[&0].data_sizes[&0];
    assert!(size.data_bytes >= 16 << 10 && size.form.starts_with("InnoDB"), "the script's own: {size:?}");
    for trial in &record.trials {
        let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { panic!("{:?}", trial.outcome) };
        let stream = &outcome.streams[0];
        assert!(stream.transactions.count > 10 && stream.errors.is_empty(), "{stream:?}");
    }
    let report = prony(directory.path(), &["report", "--store", "s.sqlite"]);
    assert!(report.status.success() && text(&report).contains("bank"), "{}", text(&report));
}

#[test]
fn a_script_that_is_wrong_is_told_at_its_place_in_the_study() {
    let directory = directory();
    let study = |keys: &str| {
        let text = format!(
            "[server.one]\nproduct = \"mariadb\"\n[workload.bank]\n{keys}\n[[stream]]\nworkload = \
             \"bank\"\nconnections = 2\n"
        );
        fs::write(directory.path().join("wrong.toml"), text).expect("written");
        text_of_mistake(&prony(directory.path(), &["plan", "wrong.toml"]))
    };
    fs::write(directory.path().join("broken.lua"), "function event()\n  return ((\nend").expect("written");
    fs::write(directory.path().join("empty.lua"), "x = 1").expect("written");
    for (keys, words) in [
        ("lua = \"bank.lua\"\nbranchs = 2", "the script has no option `branchs`; it has branches, ratio"),
        ("lua = \"nowhere.lua\"", "the script cannot be read: No such file"),
        ("lua = \"broken.lua\"", "the script failed: broken.lua:3:"),
        ("lua = \"empty.lua\"", "the script has no function `event`"),
        ("lua = 5", "`lua` is a whole number"),
        ("lua = \"bank.lua\"\nprepare = \"yes\"", "`prepare` is"),
        ("lua = \"bank.lua\"\nrand_type = \"odd\"", "Invalid random numbers distribution: odd"),
    ] {
        let said = study(keys);
        assert!(said.contains(words), "{keys}:\n{said}");
    }
}

fn text_of_mistake(output: &Output) -> String {
    assert!(!output.status.success(), "{}", text(output));
    text(output)
}

#[test]
fn prony_load_runs_a_script_in_one_process_and_in_two_and_asks_before_it_writes() {
    let directory = directory();
    let (_state, server) = support::server::mariadb(&[]);
    let address = target::shown(server.target());
    let password = server.target().password.reveal().to_owned();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.current_dir(directory.path()).env("PRONY_PASSWORD", &password);
        command.args(words).args(["--url", &address]).output().expect("prony runs")
    };
    query(&server, "CREATE DATABASE IF NOT EXISTS test; SELECT 1");
    let there = |command: &str| {
        let load::spec::Address::Tcp { host, port } = &server.target().address else { panic!("TCP") };
        let mut sysbench = Command::new(env!("CARGO_BIN_EXE_prony"));
        sysbench.current_dir(directory.path()).args(["sysbench", "bank.lua"]);
        sysbench.arg(format!("--mysql-host={host}")).arg(format!("--mysql-port={port}"));
        sysbench.arg(format!("--mysql-user={}", server.target().user));
        sysbench.arg(format!("--mysql-password={password}"));
        sysbench.arg(format!("--mysql-db={}", server.target().database.as_deref().unwrap_or("test")));
        sysbench.arg(command).output().expect("prony runs")
    };
    let prepared = there("prepare");
    assert!(prepared.status.success(), "{}", text(&prepared));
    let load = ["load", "bank.lua", "-c", "4", "--duration", "1s", "--warm-up", "0s", "--json"];
    let refused = run(&load);
    assert!(!refused.status.success(), "{}", text(&refused));
    assert!(text(&refused).contains("what the script bank.lua sends"), "{}", text(&refused));
    assert!(text(&refused).contains("--write-to-my-tables"), "{}", text(&refused));
    for processes in ["1", "2"] {
        let mine = [&load[..], &["--write-to-my-tables", "--processes", processes]].concat();
        let output = run(&mine);
        assert!(output.status.success(), "{}", text(&output));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let stream = &json["streams"][0];
        let events = stream["transactions"].as_u64().expect("a count");
        assert!(events > 10, "{json}");
        let kinds = stream["by_statement"].as_array().expect("statements");
        let count = |name: &str| {
            let kind = kinds.iter().find(|kind| kind["name"] == name);
            kind.map_or(0, |kind| kind["count"].as_u64().expect("a count"))
        };
        // what was under way at the end is in some of the statements only
        for (kind, each) in [("begin", 1), ("select", 1), ("update", 2), ("commit", 1)] {
            assert!(count(kind).abs_diff(each * events) <= 2 * 4, "{kind} of {events}: {json}");
        }
        assert!(kinds.iter().all(|kind| kind["count"] != 0), "kinds that it does not send are left out");
    }
    let sum = query(&server, "SELECT SUM(balance) FROM account");
    assert_eq!(sum, "5000", "each transaction is whole");
    let unknown = run(&[&load[..], &["--write-to-my-tables", "--script-option", "brnches=2"]].concat());
    assert!(text(&unknown).contains("has no option `brnches`"), "{}", text(&unknown));
}
