//! Tables that a study writes, on a real server: the same whoever loads them, known again, put back after
//! trials that write, and never at the cost of a user's own tables of the same name.

#![expect(clippy::unwrap_used, reason = "what the tests share is part of them")]

mod support {
    #[expect(dead_code, reason = "other tests look for processes")]
    pub(crate) mod server;
}

use load::{Stop, client::Connection, spec::Target};
use prony::{
    dataset::{self, Checksum, Error, Report},
    layout::{DataSet, Layout as _},
    plan::Plan,
    provision::{Places, Provisioner},
    run::{self, Event, Origin, TrialOutcome},
    study::{self, Adjustments},
    telemetry::Machine,
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use support::server::{mariadb, started};

/// Two tables; 80 % selects by customer, 20 % inserts.
const STUDY: &str = r#"
title = "Shop"
[server.a]
product = "mariadb"
version = "10.11"
[settings]
innodb_flush_log_at_trx_commit = 0

[[table]]
name = "customer"
rows = 2_000
[table.columns]
id = { sequence = 1 }
name = { text = [5, 20] }
born = { date = ["1950-01-01", "2005-12-31"] }

[[table]]
name = "orders"
rows = 25_000
indexes = ["customer_id", ["state", "price"]]
[table.columns]
id = { sequence = 1 }
customer_id = { references = "customer.id", distribution = "zipfian" }
state = { choice = { open = 1, "déjà payé" = 3 } }
price = { normal = [50, 10], decimals = 2, null = "10%" }
quantity = { random = [1, 99], type = "TINYINT UNSIGNED" }

[workload.shop]
[[workload.shop.transaction]]
name = "read"
weight = 80
statements = [{ sql = "SELECT * FROM orders WHERE customer_id = {customer.id}", name = "by_customer" }]
[[workload.shop.transaction]]
name = "write"
weight = 20
statements = [{ sql = """INSERT INTO orders (customer_id, state, quantity)
  VALUES ({customer.id}, {orders.state}, {orders.quantity})""", name = "insert", expect = "change" }]

[[stream]]
workload = "shop"
connections = 4

[measure]
warm_up = "0s"
interval = "400ms"
repeats = 2
repeat_invalid = 0
"#;

fn parse(text: &str) -> Plan {
    let study = study::parse("shop", "shop.toml", text, &Adjustments::default());
    Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")))
}

fn prepare(target: &Target, data: &DataSet, connections: u32) -> Result<Report, Error> {
    dataset::prepare(target, data, connections, &mut |_| (), Stop::default().flag())
}

fn checksum(target: &Target, data: &DataSet) -> Checksum {
    dataset::checksum(target, data, 2, Stop::default().flag()).expect("a checksum")
}

fn query(target: &Target, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut connection = Connection::open(target, Duration::from_secs(5)).expect("a connection");
    connection.query(sql).expect("good SQL").rows().to_vec()
}

fn value(target: &Target, sql: &str) -> String {
    query(target, sql)[0][0].clone().unwrap_or_default()
}

#[test]
fn tables_of_a_study_are_the_same_whoever_loads_them_and_hold_what_it_says() {
    let (_state, server) = mariadb(&[]);
    let data = parse(STUDY).data_sets.remove(0);
    let [one, four] =
        ["one", "four"].map(|name| Target { database: Some(name.to_owned()), ..server.target().clone() });
    let report = prepare(&one, &data, 1).unwrap();
    assert_eq!((report.tables, report.rows_loaded, report.tables_kept), (2, 27_000, 0));
    prepare(&four, &data, 4).unwrap();
    let (sum, other) = (checksum(&one, &data), checksum(&four, &data));
    assert!(sum.is_right() && sum.found != 0, "{sum:?}");
    assert_eq!(sum, other);
    assert!(!checksum(&one, &data.clone().with_seed(77)).is_right());

    let strays = "SELECT COUNT(*) FROM orders LEFT JOIN customer c ON c.id = customer_id WHERE c.id IS NULL";
    assert_eq!(value(&one, strays), "0", "every order has a customer");
    let nulls: u32 = value(&one, "SELECT COUNT(*) FROM orders WHERE price IS NULL").parse().unwrap();
    assert!(nulls.abs_diff(2_500) < 300, "{nulls}");
    let paid: u32 = value(&one, "SELECT COUNT(*) FROM orders WHERE state = 'déjà payé'").parse().unwrap();
    assert!(paid.abs_diff(18_750) < 400, "{paid}");
    let first: u32 = value(&one, "SELECT COUNT(*) FROM orders WHERE customer_id = 1").parse().unwrap();
    assert!(first > 500, "Zipf: {first} of 25,000 for the first of 2,000");
    let keys = query(&one, "SHOW INDEX FROM orders");
    let names: Vec<&str> = keys.iter().filter_map(|row| row[2].as_deref()).collect();
    assert_eq!(names, ["PRIMARY", "customer_id", "state_price", "state_price"]);
    dataset::warm(&one, &data, &mut |_| (), Stop::default().flag()).unwrap();
    let size = dataset::size(&one, &data).unwrap();
    let (found, expected) = (size.data_bytes + size.index_bytes, data.size_bytes());
    assert!(found > expected / 2 && found < expected * 3, "{found} bytes; {expected} were expected");

    // Known again; a half-loaded one is completed, a changed one found out.
    assert_eq!(prepare(&one, &data, 2).unwrap().tables_kept, 2);
    query(&one, "DELETE FROM orders WHERE id BETWEEN 5000 AND 15000");
    let comment = value(
        &one,
        "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'one' AND TABLE_NAME = \
         'orders'",
    );
    query(&one, &format!("ALTER TABLE orders COMMENT = '{}'", comment.replace("complete", "loading")));
    let again = prepare(&one, &data, 2).unwrap();
    assert_eq!((again.rows_loaded, again.tables_kept), (20_000, 1), "two units of three");
    assert!(checksum(&one, &data).is_right());
    query(&one, "UPDATE customer SET name = 'changed' WHERE id = 7");
    assert_eq!(checksum(&one, &data).different, ["customer"]);
}

#[test]
#[ignore = "long: fetches several servers once"]
fn tables_of_a_study_are_the_same_on_every_server() {
    let data = parse(STUDY).data_sets.remove(0);
    let mut sums = Vec::new();
    for (product, version) in
        [("mysql", "5.6"), ("mysql", "5.7"), ("mysql", "8.0"), ("mariadb", "10.1"), ("mariadb", "11.4")]
    {
        let (_state, server) = started(product, version, &[]);
        let target = server.target();
        assert_eq!(prepare(target, &data, 3).unwrap().rows_loaded, 27_000, "{product} {version}");
        assert_eq!(prepare(target, &data, 3).unwrap().tables_kept, 2, "{product} {version}");
        let sum = checksum(target, &data);
        assert!(sum.is_right(), "{product} {version}: {sum:?}");
        sums.push(sum.found);
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

#[test]
fn a_user_s_own_table_of_that_name_is_never_touched() {
    let (_state, server) = mariadb(&[]);
    let data = parse(STUDY).data_sets.remove(0);
    let target = Target { database: Some("theirs".to_owned()), ..server.target().clone() };
    query(&Target { database: None, ..target.clone() }, "CREATE DATABASE theirs");
    query(&target, "CREATE TABLE orders (mine INT)");
    let error = prepare(&target, &data, 2).unwrap_err();
    assert!(matches!(&error, Error::Foreign { table, .. } if table == "orders"), "{error}");
    assert_eq!(query(&target, "SHOW TABLES").len(), 1, "nothing was made before");
    let error = dataset::refuse_foreign(&target, &data).unwrap_err();
    assert!(matches!(&error, Error::Foreign { .. }), "{error}");
    query(&target, "DROP TABLE orders");

    prepare(&target, &data, 2).unwrap();
    // The mark is copied with the table, and the copy is the user's all the same.
    query(&target, "CREATE TABLE best LIKE customer");
    query(&target, "CREATE TABLE notes (a INT)");
    let mut cleaned = dataset::cleanup(&target, &|_| true).unwrap();
    cleaned.dropped.sort();
    assert_eq!((cleaned.dropped, cleaned.foreign), (vec!["customer".into(), "orders".into()], vec![]));
    let left: Vec<_> = query(&target, "SHOW TABLES").into_iter().flatten().flatten().collect();
    assert_eq!(left, ["best", "notes"]);
}

/// What a run told: what the data of each trial were, and statements by name.
fn carried_out(home: &Path, plan: &Plan) -> (Vec<Origin>, Vec<(u64, u64)>) {
    let home = home.join("state");
    let places = Places { state: home, ..Places::of_user().unwrap() };
    let provisioner = Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")));
    let (mut origins, mut counts) = (Vec::new(), Vec::new());
    let machine = Machine::of_this_host();
    run::carry_out(plan, &machine, run::Done::default(), &provisioner, &Stop::default(), &mut |event| {
        match event {
            Event::TrialPrepared { began, .. } => origins.push(began.data),
            Event::TrialFinished { outcome, .. } => {
                let TrialOutcome::Measured { outcome, .. } = &**outcome else { panic!("{outcome:?}") };
                let told = &outcome.streams[0];
                assert_eq!((told.transactions.errors, &told.errors[..]), (0, &[][..]));
                let count = |name: &str| {
                    let one = told.statements.iter().find(|tally| tally.name == name).expect(name);
                    assert_eq!((one.errors, one.unchanged), (0, 0), "{name}");
                    one.count
                };
                counts.push((count("by_customer"), count("insert")));
            }
            _ => {}
        }
        Ok(())
    })
    .unwrap();
    (origins, counts)
}

#[test]
fn a_study_with_two_tables_of_its_own_runs_and_its_data_are_put_back() {
    let home = tempfile::tempdir().unwrap();
    let plan = parse(STUDY);
    assert!(plan.treatments[0].writes() && plan.foreign_written(&plan.treatments[0]).is_empty());
    let (origins, counts) = carried_out(home.path(), &plan);
    assert_eq!(origins[0], Origin::Loaded);
    assert!(matches!(origins[1], Origin::Loaded | Origin::Snapshot), "put back: {origins:?}");
    for (selects, inserts) in counts {
        let all = (selects + inserts) as f64;
        let chance = 5.0 * (0.8 * 0.2 * all).sqrt();
        assert!(all > 100.0 && (selects as f64 - 0.8 * all).abs() < chance + 4.0, "{selects} and {inserts}");
    }
}
