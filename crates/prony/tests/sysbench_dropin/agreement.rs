//! What is asked of the server, what is printed and how it ends, beside sysbench itself.

use super::*;
use crate::support::require::{Need, require};

#[test]
fn statements_are_those_of_sysbench() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    let size = ["--tables=2", "--table-size=1000"];
    for (how, database) in [("theirs", "theirs"), ("ours", "ours")] {
        let words = [&["oltp_read_write"][..], &size, &["prepare"]].concat();
        let output =
            if how == "ours" { bench.ours(database, &words) } else { bench.theirs(database, &words) };
        assert!(output.status.success(), "{}", text(&output));
    }
    // the same form and the same kind of rows
    let form = |database: &str| bench.query(&format!("SHOW CREATE TABLE {database}.sbtest2"))[0][1].clone();
    assert_eq!(form("ours"), form("theirs"));
    let rows = |database: &str| {
        bench.query(&format!(
            "SELECT COUNT(*), MIN(id), MAX(id), SUM(c RLIKE '^([0-9]{{11}}-){{9}}[0-9]{{11}}$'), SUM(pad \
             RLIKE '^([0-9]{{11}}-){{4}}[0-9]{{11}}$'), MIN(k) > 0, MAX(k) <= 1000 FROM {database}.sbtest1"
        ))
    };
    assert_eq!(rows("ours"), rows("theirs"));
    for options in [
        &["oltp_read_write"][..],
        &["oltp_read_only", "--range-selects=off", "--point-selects=3"],
        &["oltp_read_only", "--skip-trx=on", "--simple-ranges=2", "--db-ps-mode=disable"],
        &["oltp_write_only", "--delete-inserts=2", "--index-updates=0"],
        &["oltp_point_select"],
        &["oltp_update_index", "--index-updates=2"],
        &["oltp_update_non_index"],
        &["oltp_delete"],
        &["oltp_insert"],
        &["select_random_points", "--tables=1", "--random-points=4"],
        &["select_random_ranges", "--tables=1", "--number-of-ranges=3"],
    ] {
        let limits = ["--events=20", "--time=0", "--table-size=1000", "run"];
        let tables = if options.contains(&"--tables=1") { &[][..] } else { &["--tables=2"] };
        let words = [options, tables, &limits].concat();
        let theirs = bench.asked(|| bench.theirs("theirs", &words));
        let ours = bench.asked(|| bench.ours("ours", &words));
        assert!(theirs.len() >= 20, "{options:?}: {} statements", theirs.len());
        assert_eq!(ours, theirs, "{options:?}");
    }
}

#[test]
fn what_is_printed_and_how_it_ends_are_as_in_sysbench() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    for words in [
        &["oltp_read_only", "--tables=2", "--table-size=100", "prepare"][..],
        &["oltp_read_only", "--tables=2", "--table-size=100", "prepare"],
        &[
            "oltp_read_only",
            "--tables=2",
            "--table-size=100",
            "--threads=2",
            "--events=60",
            "--time=0",
            "run",
        ],
        &["oltp_read_only", "--tables=2", "--table-size=100", "--events=9", "--percentile=0", "run"],
        &["oltp_read_only", "--table-size=100", "--events=9", "--rand-seed=4", "--max-time=7", "run"],
        &["oltp_read_only", "--table-size=100", "--events=9", "--verbosity=0", "run"],
        &["oltp_read_only", "--table-size=100", "--events=9", "--rate=2000", "run"],
        &["oltp_read_only", "--table-size=100", "--events=9", "--mysql-dry-run", "run"],
        &["oltp_read_only", "--tables=3", "run"],
        &["oltp_read_only", "--threads=0", "run"],
        &["oltp_read_only", "--threads=abc", "run"],
        &["oltp_read_only", "--percentile=101", "run"],
        &["oltp_read_only", "--rand-type=foo", "run"],
        &["oltp_read_only", "--foo=3", "run"],
        &["oltp_read_only", "--range-selects=maybe", "run"],
        &["oltp_read_only", "--db-driver=foo", "run"],
        &["oltp_read_only", "--mysql-user=nobody", "--mysql-password=wrong", "run"],
        &["oltp_read_only", "nonsense"],
        &["nonsense", "run"],
        &["oltp_read_only", "run", "prepare"],
        &["oltp_read_only", "--tables=2", "cleanup"],
    ] {
        let (theirs, ours) = (bench.theirs("theirs", words), bench.ours("ours", words));
        assert_eq!(ours.status.code(), theirs.status.code(), "{words:?}\n{}", text(&ours));
        let lines = |output: &Output| -> Vec<String> {
            let known = |line: &String| {
                // names of programs and files, and what is said once where sysbench says it for each thread
                !["sysbench", "function failed:", "ERROR", "note:"].iter().any(|word| line.contains(word))
            };
            let all = text(output).replace("theirs.", "ours.").replace("'theirs'", "'ours'");
            shape(&all).into_iter().filter(known).collect()
        };
        assert_eq!(lines(&ours), lines(&theirs), "{words:?}");
    }
}

/// Ids of point selects by distribution, in 20 classes of equal weight: the statistic of chi-square for two
/// samples stays below what equal distributions exceed once in 100,000 cases.
#[test]
fn ids_are_drawn_as_sysbench_draws_them() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    let prepared = bench.ours("ours", &["oltp_point_select", "--table-size=10000", "prepare"]);
    assert!(prepared.status.success(), "{}", text(&prepared));
    for random in ["uniform", "gaussian", "special", "pareto"] {
        let kind = format!("--rand-type={random}");
        let words = ["oltp_point_select", "--table-size=10000", &kind, "--events=3000", "--time=0", "run"];
        let ids = |work: &dyn Fn() -> Output| -> Vec<u32> {
            bench.query("TRUNCATE mysql.general_log; SET GLOBAL general_log = ON");
            assert!(work().status.success());
            bench.query("SET GLOBAL general_log = OFF");
            let rows = bench.query(
                "SELECT SUBSTRING_INDEX(argument, 'id=', -1) FROM mysql.general_log WHERE command_type = \
                 'Execute'",
            );
            let mut ids: Vec<u32> = rows.iter().filter_map(|row| row[0].as_deref()?.parse().ok()).collect();
            ids.sort_unstable();
            ids
        };
        let theirs = ids(&|| bench.theirs("ours", &words));
        let ours = ids(&|| bench.ours("ours", &words));
        assert_eq!((theirs.len(), ours.len()), (3000, 3000), "{random}");
        let mut all = [theirs.clone(), ours.clone()].concat();
        all.sort_unstable();
        let mut bounds: Vec<u32> = (1..20).map(|class| all[class * all.len() / 20]).collect();
        bounds.dedup();
        let classes = |ids: &[u32]| -> Vec<f64> {
            let ends: Vec<usize> = bounds.iter().map(|bound| ids.partition_point(|id| id < bound)).collect();
            let starts = std::iter::once(0).chain(ends.iter().copied());
            starts.zip(ends.iter().copied().chain([ids.len()])).map(|(a, b)| (b - a) as f64).collect()
        };
        let chi: f64 = classes(&theirs)
            .iter()
            .zip(classes(&ours))
            .map(|(a, b)| if a + b > 0.0 { (a - b).powi(2) / (a + b) } else { 0.0 })
            .sum();
        // qchisq(1 - 1e-5, 19) in R
        assert!(chi < 56.1, "{random}: chi-square {chi:.1} with {} classes", bounds.len() + 1);
    }
}

/// What the server itself counts, by digest.
#[test]
fn the_server_counts_as_many_statements_of_each_form_as_under_sysbench() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    for database in ["theirs", "ours"] {
        let prepared = bench.ours(database, &["oltp_read_write", "--table-size=1000", "prepare"]);
        assert!(prepared.status.success(), "{}", text(&prepared));
    }
    let words =
        ["oltp_read_write", "--table-size=1000", "--events=50", "--time=0", "--db-ps-mode=disable", "run"];
    bench.query("TRUNCATE performance_schema.events_statements_summary_by_digest");
    for output in [bench.theirs("theirs", &words), bench.ours("ours", &words)] {
        assert!(output.status.success(), "{}", text(&output));
    }
    let counted = |database: &str| {
        bench.query(&format!(
            "SELECT DIGEST_TEXT, COUNT_STAR, SUM_ROWS_SENT FROM \
             performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME = '{database}' AND \
             DIGEST_TEXT LIKE '%sbtest%' OR SCHEMA_NAME = '{database}' AND DIGEST_TEXT IN ('BEGIN', \
             'COMMIT') ORDER BY DIGEST_TEXT"
        ))
    };
    let (theirs, ours) = (counted("theirs"), counted("ours"));
    let counts = |rows: &[Vec<Option<String>>]| -> Vec<(String, String)> {
        let of = |row: &Vec<Option<String>>| {
            (row[0].clone().unwrap_or_default(), row[1].clone().unwrap_or_default())
        };
        rows.iter().map(of).collect()
    };
    assert_eq!(counts(&ours), counts(&theirs));
    assert_eq!(ours.len(), 11, "BEGIN, five SELECTs, two UPDATEs, DELETE, INSERT, COMMIT: {ours:?}");
}

/// In an open loop both have the same to do: throughput and percentile must agree within noise.
#[test]
fn throughput_and_percentile_agree_with_sysbench() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    let prepared = bench.ours("ours", &["oltp_point_select", "--table-size=1000", "prepare"]);
    assert!(prepared.status.success(), "{}", text(&prepared));
    // an event takes 20 ms or a little more, whatever else the machine does
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("slow.lua");
    let body = "function thread_init() con = sysbench.sql.driver():connect() end\nfunction event()\n  \
                con:query('SELECT SLEEP(0.02)')\nend\n";
    std::fs::write(&script, body).expect("written");
    let script = script.to_str().expect("a path");
    let figures = |output: Output| -> (f64, f64) {
        let all = text(&output);
        assert!(output.status.success(), "{all}");
        let number = |start: &str, place: usize| -> f64 {
            let line = all.lines().find(|line| line.trim().starts_with(start)).expect("a line");
            let word = line.split_whitespace().nth(place).expect("a figure");
            word.trim_start_matches('(').parse().expect("a number")
        };
        (number("transactions:", 2), number("95th percentile:", 2))
    };
    for limits in [&["--threads=16", "--time=3"][..], &["--threads=64", "--time=3", "--rate=200"]] {
        let words = [&[script][..], limits, &["run"]].concat();
        let theirs = figures(bench.theirs("ours", &words));
        let ours = figures(bench.ours("ours", &words));
        let (rate, p95) = (ours.0 / theirs.0, ours.1 / theirs.1);
        assert!((0.8..1.25).contains(&rate), "{limits:?}: {ours:?} against {theirs:?} events per second");
        assert!((0.5..2.0).contains(&p95), "{limits:?}: {ours:?} against {theirs:?} ms");
    }
}
