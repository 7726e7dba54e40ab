//! Harmful neighbours beside a load on real servers: each has its effect, as the server itself counts it, and
//! the load goes on.

#![expect(clippy::unwrap_used, reason = "what the tests share is part of them")]

mod support {
    #[expect(dead_code, reason = "other tests look for processes")]
    pub(crate) mod server;
}

use load::{
    Outcome, Stop,
    client::Connection,
    spec::{Spec, Stream, Target},
};
use prony::{
    dataset, family,
    layout::{
        DataSet,
        neighbours::{self, Neighbour},
    },
    workload::{self, Options},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    process::Command,
    time::{Duration, Instant},
};
use support::server::started;

/// What a load may meet beside a neighbour: deadlocks, lock waits, a table that was defined anew.
const CONFLICTS: [u16; 3] = [1213, 1205, 1412];
const ROWS: u32 = 20_000;

fn number(target: &Target, sql: &str) -> u64 {
    let mut connection = Connection::open(target, Duration::from_secs(5)).unwrap();
    let answer = connection.query(sql).expect(sql);
    let value = answer.rows().first().and_then(|row| row.last().cloned().flatten());
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

fn status(target: &Target, name: &str) -> u64 {
    number(target, &format!("SHOW GLOBAL STATUS LIKE '{name}'"))
}

fn history(target: &Target) -> u64 {
    let table = "information_schema.INNODB_METRICS";
    number(target, &format!("SELECT COUNT FROM {table} WHERE NAME = 'trx_rseg_history_len'"))
}

/// What the server counts of a neighbour.
fn counted(target: &Target, neighbour: &str) -> u64 {
    match neighbour {
        "deadlocks" => {
            let table = "information_schema.INNODB_METRICS";
            number(target, &format!("SELECT COUNT FROM {table} WHERE NAME = 'lock_deadlocks'"))
        }
        "disk_tables" => status(target, "Created_tmp_disk_tables"),
        "killed_sessions" => status(target, "Com_kill"),
        "failed_logins" => status(target, "Aborted_connects"),
        "alter_online" | "alter_copy" => status(target, "Com_alter_table"),
        "logical_backup" => status(target, "Bytes_sent"),
        "bulk_delete" => status(target, "Handler_delete"),
        _ => history(target),
    }
}

/// Whether Prony tells the server's counter of deadlocks.
fn counts_deadlocks(target: &Target) -> bool {
    let mut connection = Connection::open(target, Duration::from_secs(5)).unwrap();
    let told = family::spoken().status(false).read(&mut connection).unwrap();
    told.counts.iter().any(|(name, _)| name == "status/deadlocks")
}

/// The load with the neighbour beside it, and how far the server's counter went meanwhile.
fn beside(target: &Target, data: &DataSet, neighbour: &Neighbour) -> (Outcome, u64) {
    let name = neighbour.builtin.name;
    let workload = workload::builtin("oltp_read_write", &options()).unwrap();
    let streams = vec![Stream::new("shop", workload, 2), neighbour.stream(data.others())];
    let spec = Spec::new(target.clone(), streams, Duration::ZERO, Duration::from_secs(2));
    // what an earlier neighbour held back is purged first
    let until = Instant::now() + Duration::from_secs(20);
    let mut writer = Connection::open(target, Duration::from_secs(5)).unwrap();
    while neighbour.counts_a_level() && history(target) > 20 {
        assert!(Instant::now() < until, "{name}: {} are not purged", history(target));
        // the purge of some servers sleeps until somebody writes
        writer.query("UPDATE sbtest1 SET k = k + 1 WHERE id = 1").unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(writer);
    let before = counted(target, name);
    let mut after = 0;
    let outcome = std::thread::scope(|scope| {
        let load = scope.spawn(|| load::run(&spec, &Stop::default(), &mut |_| ()).unwrap());
        while !load.is_finished() {
            // what goes up and down is back when the load has ended
            after = after.max(counted(target, name));
            std::thread::sleep(Duration::from_millis(50));
        }
        load.join().unwrap()
    });
    let after = after.max(counted(target, name));
    (outcome, after.saturating_sub(before))
}

fn options() -> Options {
    Options { table_size: ROWS.into(), ..Options::default() }
}

fn each_has_its_effect(product: &str, version: &str) {
    let (_state, server) = started(product, version, &[("innodb_flush_log_at_trx_commit", "0")]);
    let target = server.target();
    let data = workload::data_set("oltp_read_write", &options()).unwrap().with_neighbours().with_seed(42);
    dataset::prepare(target, &data, 2, &mut |_| (), Stop::default().flag()).unwrap();
    let sum = dataset::checksum(target, &data, 2, Stop::default().flag()).unwrap();
    assert!(sum.is_right(), "{product} {version}: {sum:?}");
    let mut all = BTreeMap::new();
    for neighbour in &neighbours::ALL {
        let (outcome, server) = beside(target, &data, neighbour);
        let (shop, told) = (&outcome.streams[0], &outcome.streams[1]);
        let did = neighbour.count(told);
        let name = neighbour.builtin.name;
        let of = format!("{product} {version}, {name}: did {did}, the server counts {server}; {told:?}");
        let wrong: Vec<_> = shop.errors.iter().filter(|error| !CONFLICTS.contains(&error.code)).collect();
        assert!(shop.transactions.count > 0 && wrong.is_empty(), "{of}; {wrong:?}");
        assert!(did > 0, "{of}");
        match name {
            // each transaction that changed rows leaves at least one entry, none of which may be purged
            "idle_transactions" | "long_read" => {
                assert!(
                    server as f64 > 0.7 * shop.transactions.count as f64,
                    "{of}; {:?}",
                    shop.transactions
                );
            }
            "logical_backup" => assert!(server > did * u64::from(ROWS) * 180, "{of}"),
            // MySQL 5.7 has a metric that stays at 0, which Prony leaves out
            "deadlocks" if !counts_deadlocks(target) => assert_eq!((server, version), (0, "5.7"), "{of}"),
            _ => assert!(server >= did, "{of}"),
        }
        all.insert(name, (did, server));
    }
    // a table that was rebuilt is known again, and the load left the neighbours' one as it was
    assert!(dataset::is_complete(target, &data).unwrap(), "{all:?}");
    let kept = number(target, "SELECT COUNT(*) FROM prony_neighbour WHERE id <= 50000");
    assert_eq!(kept, 50_000, "{all:?}");
}

#[test]
fn each_neighbour_has_its_effect_on_mariadb() {
    each_has_its_effect("mariadb", "10.11");
}

#[test]
#[ignore = "long: fetches several servers once"]
fn each_neighbour_has_its_effect_on_other_generations() {
    for (product, version) in [("mysql", "9.7"), ("mysql", "8.0"), ("mysql", "5.7"), ("mariadb", "11.4")] {
        each_has_its_effect(product, version);
    }
}

#[test]
fn the_report_says_what_neighbours_did_and_leaves_them_out_of_the_load() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments).current_dir(home.path());
        command.env("XDG_DATA_HOME", home.path().join("data")).env_remove("PRONY_STORE");
        let output = command.env("XDG_STATE_HOME", home.path().join("state")).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{told}");
        String::from_utf8(output.stdout).unwrap()
    };
    let study = "[server.a]\nproduct = \"mariadb\"\nversion = \"10.11\"\n[data]\nrows = 1000\n[[stream]]\n\
                 name = \"shop\"\nworkload = \"oltp_read_write\"\nconnections = 2\n[[stream]]\n\
                 name = \"bad\"\n\
                 workload = \"deadlocks\"\n[factor.beside]\nnothing = { bad.connections = 0 }\nlogins = { \
                 bad.workload = \"failed_logins\" }\ndeadlocks = { bad.workload = \"deadlocks\" \
                 }\n[measure]\nwarm_up = \"200ms\"\ninterval = \"2s\"\nrepeats = 1\n";
    std::fs::write(home.path().join("bad.toml"), study).unwrap();
    let document: Value = serde_json::from_str(&run(&["run", "bad.toml", "--json"])).unwrap();
    let points = document["points"].as_array().unwrap();
    assert!(points.len() == 3 && points.iter().all(|point| point["stream"] == "shop"), "{points:#?}");
    let told = document["neighbours"].as_array().unwrap();
    let names: Vec<&str> = told.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["failed_logins", "deadlocks"]);
    for one in told {
        let (count, seconds) = (one["count"].as_f64().unwrap(), one["seconds"].as_f64().unwrap());
        let counted = one["counted"].as_f64().unwrap();
        assert!(count > 0.0 && seconds > 1.5, "{one:#}");
        assert!((counted / (count / seconds) - 1.0).abs() < 0.6, "the server counts about the same: {one:#}");
    }
    let english = run(&["report", "--format", "markdown"]);
    assert!(english.contains("logins refused") && english.contains("deadlocks, "), "{english}");
    assert!(run(&["report", "--format", "markdown", "--language", "zh"]).contains("次登录被拒绝"));
}
