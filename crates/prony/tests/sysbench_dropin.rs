//! `prony sysbench` beside sysbench itself, on one server: what is asked of the server, what is printed, how
//! it ends. And the command lines of the published evaluations, as they stand there, with smaller sizes.

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod server;
}

use load::{client::Connection, spec::Address};
use prony::{
    foreign::{self, Known, Tool},
    provision::Server,
};
use std::{
    path::Path,
    process::{Command, Output},
    time::Duration,
};
use support::require::{Need, program, require};

struct Bench {
    _state: tempfile::TempDir,
    server: Server,
}

impl Bench {
    fn new() -> Self {
        let settings = [("log_output", "TABLE"), ("innodb_flush_log_at_trx_commit", "0")];
        let (state, server) = support::server::mariadb(&settings);
        let bench = Self { _state: state, server };
        bench.query("CREATE DATABASE theirs; CREATE DATABASE ours");
        bench
    }

    fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let mut connection =
            Connection::open(self.server.target(), Duration::from_secs(5)).expect("a connection");
        connection.query(sql).expect("good SQL").rows().to_vec()
    }

    /// Options that lead to the server, as both programs take them.
    fn there(&self, database: &str) -> Vec<String> {
        let target = self.server.target();
        let Address::Tcp { host, port } = &target.address else { panic!("it listens on TCP") };
        vec![
            format!("--mysql-host={host}"),
            format!("--mysql-port={port}"),
            format!("--mysql-user={}", target.user),
            format!("--mysql-password={}", target.password.reveal()),
            format!("--mysql-db={database}"),
        ]
    }

    fn ours(&self, database: &str, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.arg("sysbench").args(self.there(database)).args(words).output().expect("prony runs")
    }

    /// Runs ours, which has to end well and to print `what`.
    fn well(&self, words: &[&str], what: &str) -> String {
        let output = self.ours("ours", words);
        let all = text(&output);
        assert!(output.status.success() && all.contains(what), "{words:?}\n{all}");
        all
    }

    fn theirs(&self, database: &str, words: &[&str]) -> Output {
        Command::new("sysbench").args(self.there(database)).args(words).output().expect("sysbench runs")
    }

    /// What is asked of the server meanwhile, values left out.
    fn asked(&self, work: impl FnOnce() -> Output) -> Vec<String> {
        self.query("TRUNCATE mysql.general_log; SET GLOBAL general_log = ON");
        let output = work();
        self.query("SET GLOBAL general_log = OFF");
        assert!(output.status.success(), "{}", text(&output));
        let asked = self.query(
            "SELECT argument FROM mysql.general_log WHERE command_type IN ('Execute', 'Query') AND argument \
             NOT LIKE 'SET GLOBAL%'",
        );
        asked.into_iter().map(|row| digest(&row[0].clone().unwrap_or_default())).collect()
    }
}

/// A statement without its values and table numbers.
fn digest(sql: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for letter in sql.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        match letter {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '0'..='9' => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            '-' if out.ends_with(['(', '=', ' ']) => {}
            letter => out.push(letter.to_ascii_lowercase()),
        }
    }
    out
}

/// Printed lines without their figures.
fn shape(text: &str) -> Vec<String> {
    let squeezed = |line: &str| {
        let mut out = String::new();
        for word in line.split_whitespace() {
            let is_figure = word.contains(|letter: char| letter.is_ascii_digit());
            let plain: String =
                word.chars().filter(|letter| !(letter.is_ascii_digit() || *letter == '.')).collect();
            out.push_str(if is_figure { "# " } else { "" });
            out.push_str(&plain);
            out.push(' ');
        }
        out
    };
    text.lines().map(squeezed).collect()
}

fn text(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{err}")
}

fn sysbench() -> Result<(), String> {
    program(Command::new("sysbench").arg("--version"))
}

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

#[test]
fn its_output_is_imported_as_that_of_sysbench() {
    let bench = Bench::new();
    let prepared = bench.ours("ours", &["oltp_point_select", "--table-size=100", "prepare"]);
    assert!(prepared.status.success(), "{}", text(&prepared));
    let words =
        ["oltp_point_select", "--table-size=100", "--threads=4", "--time=2", "--report-interval=1", "run"];
    let output = bench.ours("ours", &words);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let results = foreign::read(Tool::Sysbench, "dropin", &[(printed, Known::default())]);
    let results = results.expect("a result of sysbench");
    assert_eq!(results.trials.len(), 1);
    assert!(!results.trials[0].samples.is_empty(), "its intervals are read");
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

/// The command lines of the published evaluations: sizes and times are smaller, all else is as it stands
/// there.
#[test]
fn command_lines_of_instance_sizes_end_well() {
    let bench = Bench::new();
    let run = |words: &[&str], what: &str| bench.well(words, what);
    let made = "--mysql-table-engine=innodb";
    let tests = "--test=tests/db/oltp.lua";
    run(
        &[made, tests, "--oltp_tables_count=2", "--oltp-table-size=1000", "--rand-init=on", "prepare"],
        "Creating secondary indexes on 'sbtest2'...",
    );
    let all = run(
        &[
            "--test=~/sysbench_for_z3/sysbench/tests/db/oltp.lua",
            "--oltp_tables_count=2",
            "--oltp-table-size=1000",
            "--num-threads=8",
            "--oltp-read-only=off",
            "--rand-type=special",
            "--max-time=2",
            "--max-requests=0",
            "--percentile=99",
            "--oltp-point-selects=4",
            "run",
        ],
        "OLTP test statistics:",
    );
    assert!(all.contains("note:") && all.contains("approx.  99 percentile:"), "{all}");
    run(&[tests, "--oltp_tables_count=2", "cleanup"], "Dropping table 'sbtest2'...");
}

#[test]
fn command_lines_of_strong_sync_end_well() {
    let bench = Bench::new();
    let run = |words: &[&str], what: &str| bench.well(words, what);
    // options of a run with prepare
    run(
        &[
            "--num-threads=50",
            "--test=./tests/db/oltp.lua.bak",
            "--oltp-table-size=500",
            "--oltp-tables-count=3",
            "--oltp-point-selects=1",
            "--oltp-simple-ranges=0",
            "--oltp-sum-ranges=0",
            "--oltp-order-ranges=0",
            "--oltp-distinct-ranges=0",
            "--percentile=99",
            "--report-interval=1",
            "--max-time=360000",
            "prepare",
        ],
        "Inserting 500 records into 'sbtest3'",
    );
    for test in ["update_non_index.lua", "select.lua"] {
        let test = format!("--test=./tests/db/{test}");
        run(
            &[
                &test,
                "--oltp-table-size=500",
                "--oltp-tables-count=3",
                "--num-threads=20",
                "--percentile=99",
                "--report-interval=1",
                "--max-time=2",
                "--max-requests=2000000000",
                "run",
            ],
            "[   1s] threads: 20",
        );
    }
    // six statements: BEGIN, select, update, delete, insert, COMMIT
    let all = run(
        &[
            "--test=./tests/db/oltp_new.lua",
            "--oltp-table-size=500",
            "--oltp-tables-count=3",
            "--oltp-read-only=off",
            "--oltp-point-selects=1",
            "--oltp-simple-ranges=0",
            "--oltp-sum-ranges=0",
            "--oltp-order-ranges=0",
            "--oltp-distinct-ranges=0",
            "--oltp-index-updates=1",
            "--oltp-non-index-updates=0",
            "--max-requests=30",
            "--num-threads=1",
            "run",
        ],
        "OLTP test statistics:",
    );
    let figure = |name: &str| -> u64 {
        let line = all.lines().find(|line| line.trim().starts_with(name)).expect("a figure");
        line.split_whitespace().nth(1).expect("a figure").parse().expect("a number")
    };
    assert_eq!((figure("read:"), figure("other:"), figure("transactions:")), (30, 60, 30), "{all}");
}

/// mysqlslap's loads, and its two dangers.
#[test]
fn loads_of_mysqlslap_run_and_its_dangers_are_mended() {
    let bench = Bench::new();
    let target = bench.server.target();
    let Address::Tcp { host, port } = &target.address else { panic!("it listens on TCP") };
    let slap = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["mysqlslap", "--defaults-file=/dev/null", "--protocol=tcp"]);
        command.arg(format!("--host={host}")).arg(format!("--port={port}")).arg(format!("-u{}", target.user));
        command.env("MYSQL_PWD", target.password.reveal()).args(words).output().expect("prony runs")
    };
    for kind in ["mixed", "update", "write", "key", "read"] {
        let load = format!("--auto-generate-sql-load-type={kind}");
        let words = ["-a", "--auto-generate-sql-add-autoincrement", &load, "-c", "4,8", "-i2", "--csv"];
        let output =
            slap(&[&words[..], &["--number-of-queries=80", "-einnodb", "--detach=3", "--commit=4"]].concat());
        let all = text(&output);
        assert!(output.status.success(), "{all}");
        let lines: Vec<&str> = all.lines().collect();
        assert_eq!(lines.len(), 2, "{all}");
        assert!(lines[0].starts_with(&format!("innodb,{kind},")) && lines[0].ends_with(",4,20"), "{all}");
        let results = foreign::read(Tool::Mysqlslap, "slap", &[(all.clone(), Known::default())]);
        assert_eq!(results.expect("results").trials.len(), 2);
    }
    let failed = slap(&["--query=SELECT nope", "--create=CREATE TABLE t(a int)"]);
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed));
    assert!(text(&failed).contains("Unknown column 'nope'"), "{}", text(&failed));
    bench.query("CREATE TABLE ours.mine(a int)");
    let refused = slap(&["-a", "--create-schema=ours"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused));
    assert_eq!(bench.query("SHOW TABLES FROM ours").len(), 1, "it is still there");
    let left = bench.query("SHOW DATABASES LIKE 'mysqlslap'");
    assert!(left.is_empty(), "what was made is gone");
}

#[test]
fn tests_of_sysbench_0_4_run_in_every_mode() {
    let bench = Bench::new();
    let run = |words: &[&str]| {
        let output = bench.ours("ours", &[&["--test=oltp", "--oltp-table-size=500"][..], words].concat());
        assert!(output.status.success(), "{words:?}\n{}", text(&output));
    };
    run(&["prepare"]);
    for mode in ["session", "transaction", "query", "random"] {
        run(&[&format!("--oltp-reconnect-mode={mode}"), "--max-requests=20", "run"]);
    }
    for mode in ["select", "update_key", "update_nokey", "insert", "delete"] {
        let nontrx = format!("--oltp-nontrx-mode={mode}");
        run(&["--oltp-test-mode=nontrx", &nontrx, "--oltp-user-delay-max=500", "--max-requests=20", "run"]);
    }
    run(&["--oltp-test-mode=simple", "--oltp-dist-type=uniform", "--max-requests=20", "run"]);
    run(&["cleanup"]);
}

/// Scripts as an installed sysbench has them.
#[test]
#[ignore = "long: every script of sysbench, by 1 and by 256 connections"]
fn scripts_of_an_installed_sysbench_run_unchanged() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    let directory = Path::new("/usr/share/sysbench");
    let mut scripts: Vec<_> = std::fs::read_dir(directory)
        .expect("the scripts of sysbench")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "lua") && !path.ends_with("oltp_common.lua"))
        .collect();
    scripts.sort();
    assert!(scripts.len() >= 10, "{scripts:?}");
    for script in &scripts {
        let script = script.to_str().expect("a path");
        for threads in ["--threads=1", "--threads=256"] {
            for command in ["prepare", "prewarm", "run", "cleanup"] {
                let is_bulk = script.ends_with("bulk_insert.lua");
                if is_bulk && command == "prewarm" {
                    continue;
                }
                let sizes: &[&str] = if is_bulk { &[] } else { &["--tables=4", "--table-size=2000"] };
                let words = [&[script, threads, "--time=1"][..], sizes, &[command]].concat();
                let output = bench.ours("ours", &words);
                assert!(output.status.success(), "{words:?}\n{}", text(&output));
            }
        }
    }
}
