//! TPC-H-like data and queries on real servers: rows as dbgen makes them, and the answers that other programs
//! found.
//!
//! `support/tpch-0.01.txt` holds what DuckDB 1.5.5 answers at scale factor 0.01: to the 22 queries of its
//! `tpch_queries()`, of which query 11 with a share of 0.01, as the specification has it for this scale
//! factor, over the rows that `tpchgen` prints as `.tbl` files. (The rows of DuckDB's own `dbgen` have the
//! same numbers and other texts.) The answers at scale factor 1 are the specification's own.

#![expect(clippy::unwrap_used, reason = "what the tests share is part of them")]

mod support {
    #[expect(dead_code, reason = "other tests look for processes")]
    pub(crate) mod server;
}

use load::{
    Stop,
    client::Connection,
    spec::{Piece, Step, Target},
};
use prony::{
    dataset,
    layout::DataSet,
    workload::{self, Options},
};
use std::{collections::BTreeMap, time::Duration};
use support::server::started;

/// Rows of a query's answer, each with its values.
type Answer = Vec<Vec<String>>;

fn options(scale_factor: f64) -> Options {
    Options { scale_factor, ..Options::default() }
}

/// The texts of the queries by name, as a load sends them.
fn queries(scale_factor: f64) -> Vec<(String, String)> {
    let made = workload::builtin("tpch", &options(scale_factor)).unwrap();
    let text = |step: &Step| match step {
        Step::Statement(statement) => match statement.pieces.as_slice() {
            [Piece::Sql(text)] => text.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    made.transactions().iter().map(|one| (one.name.clone(), text(&one.steps[0]))).collect()
}

fn expected_at_a_hundredth() -> BTreeMap<String, Answer> {
    let mut all: BTreeMap<String, Answer> = BTreeMap::new();
    let mut name = "";
    for line in include_str!("support/tpch-0.01.txt").lines() {
        if line.starts_with('q') && !line.contains('|') && line[1..].parse::<u8>().is_ok() {
            name = line;
            all.insert(line.to_owned(), Vec::new());
        } else {
            all.get_mut(name).unwrap().push(line.split('|').map(str::to_owned).collect());
        }
    }
    all
}

/// The specification's answers, whose numbers have two digits behind the point.
fn expected_at_one() -> BTreeMap<String, Answer> {
    let of = |number: i32| {
        let answer = tpchgen::q_and_a::QueryAndAnswer::new(number, 1.0).unwrap();
        let lines = answer.answer().lines().filter(|line| !line.trim().is_empty()).skip(1);
        let rows = lines.map(|line| line.split('|').map(|value| value.trim().to_owned()).collect());
        (format!("q{number}"), rows.collect())
    };
    (1..=22).map(of).collect()
}

/// Whether two values are the same: numbers up to a difference, as servers give averages and shares different
/// numbers of digits.
fn is_same(value: &str, other: &str, difference: f64) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    match (number(value), number(other)) {
        (Some(value), Some(other)) => (value - other).abs() <= difference,
        _ => value == other,
    }
}

fn answers(target: &Target, sql: &str) -> Answer {
    let mut connection = Connection::open(target, Duration::from_secs(5)).unwrap();
    let answer = connection.query(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    let value = |value: &Option<String>| value.as_deref().unwrap_or("NULL").trim().to_owned();
    answer.rows().iter().map(|row| row.iter().map(value).collect()).collect()
}

fn answers_as(expected: &BTreeMap<String, Answer>, target: &Target, scale_factor: f64, difference: f64) {
    for (name, sql) in queries(scale_factor) {
        let (found, expected) = (answers(target, &sql), &expected[&name]);
        assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
        for (row, expected) in found.iter().zip(expected) {
            let is_right = row.len() == expected.len()
                && row.iter().zip(expected).all(|(value, other)| is_same(value, other, difference));
            assert!(is_right, "{name}: {row:?} instead of {expected:?}");
        }
    }
}

fn loaded(target: &Target, scale_factor: f64) -> DataSet {
    let data = workload::data_set("tpch", &options(scale_factor)).unwrap();
    dataset::prepare(target, &data, 4, &mut |_| (), Stop::default().flag()).unwrap();
    data
}

#[test]
fn a_hundredth_has_the_answers_that_duckdb_finds() {
    let (_state, server) = started("mariadb", "10.11", &[("innodb_flush_log_at_trx_commit", "0")]);
    let data = loaded(server.target(), 0.01);
    let sum = dataset::checksum(server.target(), &data, 2, Stop::default().flag()).unwrap();
    assert!(sum.is_right(), "{sum:?}");
    answers_as(&expected_at_a_hundredth(), server.target(), 0.01, 1e-6);
    // it is known again, and a load that broke off in the middle is finished
    let again = dataset::prepare(server.target(), &data, 4, &mut |_| (), Stop::default().flag()).unwrap();
    assert_eq!((again.tables_kept, again.rows_loaded), (8, 0));
}

#[test]
#[ignore = "long: fetches several servers once"]
fn other_servers_give_the_same_answers() {
    for (product, version) in [("mysql", "5.7"), ("mysql", "8.0"), ("mariadb", "11.4")] {
        let (_state, server) = started(product, version, &[("innodb_flush_log_at_trx_commit", "0")]);
        loaded(server.target(), 0.01);
        answers_as(&expected_at_a_hundredth(), server.target(), 0.01, 1e-6);
    }
}

#[test]
#[ignore = "long: loads 8.7 million rows, 2 GB"]
fn scale_factor_one_has_the_answers_of_the_specification() {
    let settings = [
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_buffer_pool_size", "3G"),
        ("innodb_log_file_size", "1G"),
    ];
    let (_state, server) = started("mariadb", "10.11", &settings);
    loaded(server.target(), 1.0);
    answers_as(&expected_at_one(), server.target(), 1.0, 0.0051);
}
