//! TPC-C-like data and transactions on real servers: rows as the specification says, conditions that hold
//! before and after, and that are noticed when they do not.

#![expect(clippy::unwrap_used, reason = "what the tests share is part of them")]

mod support {
    #[expect(dead_code, reason = "other tests look for processes")]
    pub(crate) mod server;
}

use load::{
    Stop,
    client::Connection,
    spec::{Protocol, Spec, Stream, Target},
};
use prony::{
    dataset::{self, broken},
    layout::DataSet,
    workload::{self, Options},
};
use serde_json::Value;
use std::{process::Command, time::Duration};
use support::server::started;

/// A deadlock, or a lock wait that was given up: the server's way to end a conflict.
const CONFLICTS: [u16; 2] = [1213, 1205];

fn data(warehouses: u32, procedures: bool) -> DataSet {
    let options = Options { warehouses, procedures, ..Options::default() };
    workload::data_set("tpcc", &options).unwrap().with_seed(42)
}

fn prepare(target: &Target, data: &DataSet) {
    dataset::prepare(target, data, 2, &mut |_| (), Stop::default().flag()).unwrap();
}

/// Names of the conditions that are broken.
fn names(target: &Target, data: &DataSet) -> Vec<String> {
    let broken = broken(target, data, Stop::default().flag()).unwrap();
    broken.into_iter().map(|one| one.condition.replace("consistency condition ", "")).collect()
}

fn query(target: &Target, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut connection = Connection::open(target, Duration::from_secs(5)).unwrap();
    connection.query(sql).expect(sql).rows().to_vec()
}

/// The transactions without waits for a while; what they did by name.
fn offer(target: &Target, procedures: bool, protocol: Protocol, seconds: u64) -> Vec<(String, u64)> {
    let options = Options { warehouses: 1, procedures, ..Options::default() };
    let workload = workload::builtin("tpcc-nowait", &options).unwrap();
    let stream = Stream { protocol, ..Stream::new("main", workload, 6) };
    let spec = Spec::new(target.clone(), vec![stream], Duration::ZERO, Duration::from_secs(seconds));
    let outcome = load::run(&spec, &Stop::default(), &mut |_| ()).unwrap();
    let told = &outcome.streams[0];
    let wrong: Vec<_> = told.errors.iter().filter(|error| !CONFLICTS.contains(&error.code)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    for tally in &told.statements {
        assert_eq!((tally.not_found, tally.unchanged), (0, 0), "{}", tally.name);
        assert!(tally.count > 0 || tally.name == "rollback", "{} was never sent", tally.name);
    }
    told.by_transaction.iter().map(|tally| (tally.name.clone(), tally.count)).collect()
}

/// One statement for each condition that it must break.
const DAMAGE: [(&str, &str, &str); 8] = [
    ("1 8", "UPDATE warehouse SET w_ytd = w_ytd + 1", "UPDATE warehouse SET w_ytd = w_ytd - 1"),
    (
        "2",
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
        "UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 3",
    ),
    (
        "3 5 11",
        "DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 2900",
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (1, 4, 2900)",
    ),
    (
        "4 6",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 5 AND o_id = 77",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 1 AND o_d_id = 5 AND o_id = 77",
    ),
    (
        "7 10 12",
        "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = 1 AND ol_d_id = 6 AND ol_o_id = 2999",
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 6 AND ol_o_id = 2999",
    ),
    (
        "9",
        "UPDATE district SET d_ytd = d_ytd + 5 - 10 * (d_id = 2) WHERE d_w_id = 1 AND d_id <= 2",
        "UPDATE district SET d_ytd = d_ytd - 5 + 10 * (d_id = 2) WHERE d_w_id = 1 AND d_id <= 2",
    ),
    (
        "10 12",
        "UPDATE customer SET c_balance = c_balance + 0.01 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 9",
        "UPDATE customer SET c_balance = c_balance - 0.01 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 9",
    ),
    (
        "11",
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id \
         = 9",
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt - 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id \
         = 9",
    ),
];

fn passes(product: &str, version: &str) {
    let (_state, server) = started(product, version, &[("innodb_flush_log_at_trx_commit", "0")]);
    let (target, data, of) = (server.target(), data(1, false), format!("{product} {version}"));
    prepare(target, &data);
    let sum = dataset::checksum(target, &data, 2, Stop::default().flag()).unwrap();
    assert!(sum.is_right(), "{of}: {sum:?}");
    assert_eq!(names(target, &data), [""; 0], "{of}: as loaded");
    for (conditions, breaks, mends) in DAMAGE {
        query(target, breaks);
        let expected: Vec<&str> = conditions.split(' ').collect();
        assert_eq!(names(target, &data), expected, "{of}: {breaks}");
        query(target, mends);
    }
    for (protocol, seconds) in [(Protocol::Prepared, 6), (Protocol::Text, 3)] {
        let told = offer(target, false, protocol, seconds);
        let all: u64 = told.iter().map(|(_, count)| count).sum();
        assert!(all > 150, "{of}: {told:?}");
        for (name, share) in [("new_order", 0.45), ("payment", 0.43), ("stock_level", 0.04)] {
            let count = told.iter().find(|(known, _)| known == name).unwrap().1 as f64;
            let chance = 5.0 * (share * all as f64).sqrt() + 0.1 * all as f64;
            assert!((count - share * all as f64).abs() < chance, "{of}: {told:?}");
        }
        assert_eq!(names(target, &data), [""; 0], "{of}: after a load");
    }
    let added = query(target, "SELECT SUM(d_next_o_id - 3001), COUNT(*) FROM district")[0].clone();
    assert!(added[0].as_ref().unwrap().parse::<u64>().unwrap() > 50, "{of}: {added:?}");
}

/// The same in stored procedures, which are made with the tables, known again and removed with them.
fn procedures_pass(product: &str, version: &str, seconds: u64) {
    let (_state, server) = started(product, version, &[("innodb_flush_log_at_trx_commit", "0")]);
    let (target, data, of) = (server.target(), data(1, true), format!("{product} {version}"));
    query(target, "CREATE PROCEDURE prony_tpcc_payment() SELECT 1");
    let refused = dataset::refuse_foreign(target, &data).unwrap_err().to_string();
    assert!(refused.contains("stored procedure `prony_tpcc_payment`"), "{of}: {refused}");
    query(target, "DROP PROCEDURE prony_tpcc_payment");
    prepare(target, &data);
    let list =
        "SELECT ROUTINE_NAME, CREATED FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()";
    let made = query(target, list);
    assert_eq!(made.len(), 5, "{of}: {made:?}");
    prepare(target, &data);
    assert_eq!(query(target, list), made, "{of}: they are known again");
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let told = offer(target, true, protocol, seconds);
        let all: u64 = told.iter().map(|(_, count)| count).sum();
        assert!(all > 50 && told.iter().all(|(_, count)| *count > 0), "{of}: {told:?}");
        assert_eq!(names(target, &data), [""; 0], "{of}: after a load");
    }
    // an order whose last item does not exist leaves nothing behind, and any other one does
    let next = "SELECT SUM(d_next_o_id), (SELECT COUNT(*) FROM order_line) FROM district";
    let before = query(target, next);
    let lines = |number: &str| vec![number; 15].join(", ");
    let order = |rollback: u32| {
        let sql = format!(
            "CALL prony_tpcc_new_order(1, 3, 7, 5, {rollback}, {}, {}, {})",
            lines("11"),
            lines("1"),
            lines("2")
        );
        query(target, &sql)[0][1].clone()
    };
    assert_eq!((order(1), query(target, next)), (Some("1".to_owned()), before.clone()), "{of}");
    assert_eq!(order(0), Some("0".to_owned()), "{of}");
    let added = |place: usize| -> u64 {
        let number = |rows: &[Vec<Option<String>>]| rows[0][place].as_ref().unwrap().parse::<u64>().unwrap();
        number(&query(target, next)) - number(&before)
    };
    assert_eq!((added(0), added(1)), (1, 5), "{of}");
    assert_eq!(names(target, &data), [""; 0], "{of}: at the end");
    dataset::cleanup(target, &|_| true).unwrap();
    assert_eq!(query(target, list), Vec::<Vec<_>>::new(), "{of}: they go with their tables");
}

#[test]
fn stored_procedures_keep_the_conditions_on_mariadb_10_11() {
    procedures_pass("mariadb", "10.11", 2);
}

#[test]
#[ignore = "long: loads a warehouse on two generations of MySQL"]
fn stored_procedures_keep_the_conditions_on_mysql() {
    for version in ["8.0", "5.7"] {
        procedures_pass("mysql", version, 5);
    }
}

#[test]
#[ignore = "long: loads a warehouse"]
fn transactions_keep_the_conditions_on_mariadb_10_11() {
    passes("mariadb", "10.11");
}

#[test]
#[ignore = "long: fetches several servers once"]
fn transactions_keep_the_conditions_on_other_generations() {
    for (product, version) in [("mysql", "5.7"), ("mysql", "8.0"), ("mariadb", "11.4")] {
        passes(product, version);
    }
}

#[test]
#[ignore = "long: two warehouses under a load with waits"]
fn terminals_key_in_and_think_and_the_report_says_what_they_reached() {
    let home = tempfile::tempdir().unwrap();
    let report = |set: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["run", "tpcc", "--scale", "quick", "--json", "--set", "server=mariadb-1011"]);
        command.args(set.iter().flat_map(|set| ["--set", set])).current_dir(home.path());
        command.env("XDG_DATA_HOME", home.path().join("data")).env_remove("PRONY_STORE");
        let output = command.env("XDG_STATE_HOME", home.path().join("state")).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{told}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let short = ["measure.warm_up=2s", "measure.interval=20s", "data.warehouses=2"];
    let document = report(&short);
    let point = &document["points"][0];
    assert_eq!((point["connections"].as_u64(), point["trials"].as_u64()), (Some(20), Some(1)), "{point:#}");
    let tpcc = &point["tpcc"];
    assert_eq!((tpcc["has_terminals"].as_bool(), tpcc["warehouses"].as_u64()), (Some(true), Some(2)));
    let (reached, most) =
        (tpcc["new_orders_per_minute"].as_f64().unwrap(), tpcc["tpmc_max"].as_f64().unwrap());
    // 20 s of 20 terminals are about nine orders
    assert!((most - 25.72).abs() < 1e-9 && reached > 3.0 && reached < 3.0 * most, "{tpcc:#}");
    let without =
        ["measure.warm_up=1s", "measure.interval=3s", "stream.workload=tpcc-nowait", "stream.connections=4"];
    let document = report(&without);
    let tpcc = &document["points"][0]["tpcc"];
    assert_eq!(tpcc["has_terminals"].as_bool(), Some(false));
    assert_eq!(tpcc["procedures"].as_bool(), Some(false));
    assert!(tpcc["new_orders_per_minute"].as_f64().unwrap() > 2.0 * tpcc["tpmc_max"].as_f64().unwrap());
}

#[test]
#[ignore = "long: terminals with waits on three generations of each product"]
fn terminals_with_waits_keep_the_conditions_on_three_generations() {
    let home = tempfile::tempdir().unwrap();
    for (mariadb, mysql, procedures) in
        [("10.11", "5.7", false), ("11.4", "8.0.33", true), ("11.8", "9.7", false)]
    {
        let study = format!(
            "title = \"With waits\"\n[server.a]\nproduct = \"mariadb\"\nversion = \"{mariadb}\"\n[server.b]\n\
             product = \"mysql\"\nversion = \"{mysql}\"\n[data]\nprocedures = {procedures}\n[[stream]]\n\
             workload = \"tpcc\"\n[vary]\nserver = [\"a\", \"b\"]\n[measure]\nwarm_up = \"1s\"\n\
             interval = \"25s\"\nrepeats = 1\nrepeat_invalid = 0\n"
        );
        std::fs::write(home.path().join("waits.toml"), study).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["run", "waits.toml", "--json"]).current_dir(home.path()).env_remove("PRONY_STORE");
        command.env("XDG_DATA_HOME", home.path().join("data"));
        let output = command.env("XDG_STATE_HOME", home.path().join("state")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let points = report["points"].as_array().unwrap();
        assert_eq!(points.len(), 2);
        for point in points {
            let tpcc = &point["tpcc"];
            assert_eq!(tpcc["has_terminals"].as_bool(), Some(true), "{point:#}");
            assert_eq!(tpcc["procedures"].as_bool(), Some(procedures), "{point:#}");
            // whether the terminals had work to do at all, and whether the data are still consistent
            let per_minute: f64 = tpcc["transactions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|each| each["per_minute"].as_f64().unwrap())
                .sum();
            assert!(per_minute > 5.0, "{mariadb} {mysql}: {tpcc:#}");
            assert_eq!(point["trials"].as_u64(), Some(1), "{point:#}");
            let doubts = point["doubts"].as_array().unwrap();
            let broken = |doubt: &&Value| {
                let id = doubt["id"].as_str().unwrap();
                ["inconsistent", "inconsistent_before", "not_checked", "errors"].contains(&id)
            };
            assert_eq!(doubts.iter().find(broken), None, "{mariadb} {mysql}");
        }
    }
}
