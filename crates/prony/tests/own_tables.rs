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
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
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
statements = [{ sql = "SELECT * FROM orders WHERE customer_id = {customer.id}", name = "by_customer" },
  { sql = """SELECT id FROM orders WHERE id = {orders.id where customer_id = customer.id}
    AND customer_id = {customer.id}""", name = "of_customer", expect = "row" }]
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
    // The mark is copied with the table, and the copy is the user's nevertheless.
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
                    // but for the few customers who have no order
                    assert!(one.not_found * 25 <= one.count, "{name}: {} of {}", one.not_found, one.count);
                    one.count
                };
                assert!(count("of_customer") > 0);
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

/// `prony run` of a study.
fn run_by_command(home: &Path, text: &str) -> Output {
    fs::write(home.join("shop.toml"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["run", "shop.toml", "--json"]).current_dir(home).env_remove("PRONY_STORE");
    command.env("XDG_DATA_HOME", home.join("data")).env("XDG_STATE_HOME", home.join("state"));
    command.output().unwrap()
}

#[test]
fn a_statement_that_a_server_refuses_ends_the_run_before_any_trial() {
    let home = tempfile::tempdir().unwrap();
    for (wrong, says) in [
        ("customer_id = {customer.id} LIMIT ALL", "You have an error in your SQL syntax"),
        ("nothing(customer_id) = {customer.id}", "FUNCTION prony.nothing does not exist"),
        ("customer_id = {customer.id} AND (pricee) > 5", "Unknown column 'pricee'"),
    ] {
        let text = STUDY.replace("customer_id = {customer.id}\"", &format!("{wrong}\""));
        let line = text[..text.find(wrong).unwrap()].matches('\n').count() + 1;
        let output = run_by_command(home.path(), &text);
        let told = String::from_utf8_lossy(&output.stderr);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "nothing has begun: {told}");
        let refused =
            format!("server a refuses the statement `by_customer` of workload `shop`, line {line} of");
        for part in [&*refused, says, "in: SELECT * FROM orders WHERE"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}

/// Two servers of which one may not merge a derived table into the statement around it.
#[test]
fn plans_that_differ_between_servers_are_told_with_the_work_that_they_make() {
    let home = tempfile::tempdir().unwrap();
    let text = STUDY
        .replace("rows = 25_000", "rows = 3_000")
        .replace(
            "[settings]",
            "[server.b]\nproduct = \"mariadb\"\nversion = \"10.11\"\nsettings = { optimizer_switch = \
             \"derived_merge=off,derived_with_keys=off,condition_pushdown_for_derived=off\" }\n[settings]",
        )
        .replace(
            "expect = \"row\" }]",
            "expect = \"row\" }, { name = \"derived\", sql = \
             \"SELECT * FROM (SELECT id, state FROM orders) AS d WHERE id = {orders.id}\" }]",
        )
        .replace("weight = 20", "weight = 1")
        .replace("[measure]", "[vary]\nserver = [\"a\", \"b\"]\n[telemetry]\nevery = \"500ms\"\n[measure]")
        .replace("interval = \"400ms\"\nrepeats = 2", "interval = \"2s\"\nrepeats = 1");
    let output = run_by_command(home.path(), &text);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |name: &str| -> &Vec<Value> {
        let all = report["plans"].as_array().unwrap();
        let one = all.iter().find(|one| one["statement"] == name);
        one.unwrap_or_else(|| panic!("{name}: {all:#?}"))["plans"].as_array().unwrap()
    };
    let [same] = &of("by_customer")[..] else { panic!("{:#?}", of("by_customer")) };
    assert_eq!(same["servers"].as_array().unwrap().len(), 2);
    let access = &same["accesses"][0];
    assert_eq!(
        (&access["table"], &access["kind"], &access["key"]),
        (&"orders".into(), &"ref".into(), &"customer_id".into())
    );
    assert!(same["text"].as_str().unwrap().contains("query_block"), "as JSON: {same:#}");
    let [merged, apart] = &of("derived")[..] else { panic!("{:#?}", of("derived")) };
    assert_eq!(
        (&merged["accesses"][0]["kind"], &merged["accesses"][0]["table"]),
        (&"const".into(), &"orders".into())
    );
    let tables: Vec<_> = apart["accesses"].as_array().unwrap().iter().map(|one| &one["table"]).collect();
    assert!(tables.iter().any(|table| table.as_str().unwrap().starts_with("<derived")), "{tables:?}");
    let findings = report["findings"].as_array().unwrap();
    let told = findings.iter().find(|finding| finding["kind"] == "plans").expect("a finding");
    assert!(told["text"].as_str().unwrap().contains("shop.derived"), "{told}");
    let cost = |server: &str, what: &str| {
        let all = report["resources"].as_array().unwrap();
        let one = all.iter().find(|one| one["server"] == server).unwrap();
        one["cost"][what].as_f64().unwrap_or_else(|| panic!("{what}: {:#}", one["cost"]))
    };
    let tables = |server| cost(server, "temporary_tables");
    assert!(tables("a") < 0.05 && (0.9..1.1).contains(&tables("b")), "{} {}", tables("a"), tables("b"));
    let rows = |server| cost(server, "rows_examined");
    assert!(rows("a") < 1_000.0 && rows("b") > 3_000.0, "{} {}", rows("a"), rows("b"));
}
/// Two tables with every kind of value that the others do not have.
const KINDS: &str = r#"
title = "Kinds"
[server.a]
product = "mariadb"
version = "10.11"

[[table]]
name = "customer"
rows = 1_000
[table.columns]
id = { sequence = 7 }
public_id = { uuid = 4 }
country = { choice = { DE = 3, FR = 1 } }
city = { by = "country", choice = { DE = ["Berlin", "Ulm"], FR = { Paris = 9, "Évry" = 1 } } }
name = { text = [5, 12], distinct = 40, distribution = "zipfian" }
profile = { json = { n = { random = [1, 9] }, tags = { text = 4, null = "50%" }, real = { real = [1, 2] } } }

[[table]]
name = "orders"
indexes = ["customer_id"]
[table.columns]
id = { sequence = 1 }
key = { uuid = 7 }
customer_id = { references = "customer.id", children = [0, 6] }
note = { text = [20, 60], words = 300, distribution = "zipfian" }
ordered = { date = ["2024-01-01", "2024-12-31"] }
shipped = { follows = "ordered", plus = 3, deviation = 0.5 }
seen = { time = ["2024-01-01 00:00:00", "2024-01-01 23:59:59"] }
price = { histogram = [[1, 10, 9], [100, 200, 1]], decimals = 2 }
gross = { follows = "price", factor = 1.19, decimals = 2 }

[workload.w]
[[workload.w.transaction]]
statements = ["SELECT * FROM orders WHERE customer_id = {customer.id}"]
[[stream]]
workload = "w"
connections = 1
"#;

#[test]
fn every_kind_of_value_is_as_it_is_written_and_the_same_by_any_number_of_connections() {
    let (_state, server) = mariadb(&[]);
    let data = parse(KINDS).data_sets.remove(0);
    let [one, four] =
        ["one", "four"].map(|name| Target { database: Some(name.to_owned()), ..server.target().clone() });
    let rows = prepare(&one, &data, 1).unwrap().rows;
    assert!((3_600..4_400).contains(&rows), "{rows}: a thousand with 0 to 6 each, and themselves");
    prepare(&four, &data, 4).unwrap();
    let sum = checksum(&one, &data);
    assert!(sum.is_right() && sum == checksum(&four, &data), "{sum:?}");
    let number = |sql: &str| value(&one, sql).parse::<f64>().unwrap_or_else(|_| panic!("{sql}"));
    assert_eq!(number("SELECT COUNT(DISTINCT public_id) FROM customer"), 1_000.0);
    let uuid = "'^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'";
    assert_eq!(number(&format!("SELECT COUNT(*) FROM customer WHERE public_id REGEXP {uuid}")), 1_000.0);
    let descends = "SELECT COUNT(*) FROM orders a JOIN orders b ON b.id = a.id + 1 WHERE b.`key` <= a.`key`";
    assert_eq!(number(descends), 0.0, "version 7 ascends");
    assert_eq!(
        number("SELECT COUNT(*) FROM customer WHERE (country = 'DE') <> (city IN ('Berlin', 'Ulm'))"),
        0.0
    );
    assert!((2.0..=40.0).contains(&number("SELECT COUNT(DISTINCT name) FROM customer")));
    let frequent = "SELECT MAX(k) FROM (SELECT COUNT(*) k FROM customer GROUP BY name) g";
    assert!(number(frequent) > 100.0, "Zipf over 40 values");
    assert_eq!(number("SELECT COUNT(*) FROM customer WHERE NOT JSON_VALID(profile)"), 0.0);
    assert_eq!(number("SELECT MAX(JSON_VALUE(profile, '$.n')) FROM customer"), 9.0);
    let strays = "SELECT COUNT(*) FROM orders LEFT JOIN customer c ON c.id = customer_id WHERE c.id IS NULL";
    assert_eq!(number(strays), 0.0);
    assert_eq!(number("SELECT MAX(k) FROM (SELECT COUNT(*) k FROM orders GROUP BY customer_id) g"), 6.0);
    let days = number("SELECT AVG(DATEDIFF(shipped, ordered)) FROM orders");
    assert!((2.9..3.1).contains(&days), "{days}");
    assert_eq!(number("SELECT MAX(ABS(gross - 1.19 * price)) < 0.006 FROM orders"), 1.0);
    let dear = number("SELECT AVG(price >= 100) FROM orders");
    assert!(
        (0.08..0.12).contains(&dear)
            && number("SELECT COUNT(*) FROM orders WHERE price BETWEEN 10.01 AND 99.99") == 0.0
    );
    assert_eq!(number("SELECT MIN(CHAR_LENGTH(note) BETWEEN 20 AND 60) FROM orders"), 1.0);
    assert_eq!(number("SELECT MIN(DATE(seen) = '2024-01-01') FROM orders"), 1.0);
}

#[test]
fn what_cannot_be_drawn_is_told_with_its_line_before_anything_starts() {
    let told = |from: &str, to: &str| {
        let text = KINDS.replace(from, to);
        assert_ne!(text, KINDS, "{from}");
        let study = study::parse("kinds", "kinds.toml", &text, &Adjustments::default());
        study.err().unwrap_or_else(|| panic!("{to}")).to_string()
    };
    for (from, to, part) in [
        ("\"customer.id\"", "\"custmer.id\"", "there is no table `custmer`"),
        ("\"customer.id\"", "\"customer.name\"", "`customer.name` is not a sequence"),
        ("\"customer.id\"", "\"orders.id\"", "its foreign key cannot be drawn"),
        ("name = \"orders\"", "name = \"orders\"\nrows = 5", "`rows` of `orders` contradicts `children`"),
        ("by = \"country\"", "by = \"name\"", "no column above this one named `name`"),
        ("FR = { Paris = 9, \"Évry\" = 1 } }", "}", "there is no choice for `FR`"),
        ("follows = \"price\"", "follows = \"note\"", "`note` holds neither numbers nor days"),
        ("uuid = 7", "uuid = 6", "its version, 4 or 7"),
        ("[[1, 10, 9], [100, 200, 1]]", "[[10, 1, 9]]", "ranges with weights"),
        ("words = 300", "words = []", "or their number"),
    ] {
        let text = told(from, to);
        assert!(text.contains(part) && text.contains("kinds.toml:"), "{part}: {text}");
    }
}
