//! The command lines of the published evaluations, as they stand there and typed into a shell: only sizes,
//! times and what leads to the server are other. And the tests of sysbench 0.4.

use super::*;
use std::{fs, os::unix::fs::symlink};

/// What is smaller here than there.
const SMALLER: [(&str, &str); 7] = [
    ("size=10000000", "size=1000"),
    ("size=2180000", "size=500"),
    ("count=20", "count=3"),
    ("count=10", "count=3"),
    ("threads=500", "threads=50"),
    ("max-time=600", "max-time=2"),
    ("max-time=360000", "max-time=2"),
];

/// A home with a directory in which the documents' programs are: Prony under their names.
struct Home {
    bench: Bench,
    directory: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let programs = directory.path().join("sysbench");
        fs::create_dir(&programs).expect("made");
        for name in ["sysbench", "sysbench_orig", "mysqlslap"] {
            symlink(env!("CARGO_BIN_EXE_prony"), programs.join(name)).expect("a link");
        }
        let bench = Bench::new();
        bench.query("CREATE DATABASE IF NOT EXISTS test; CREATE DATABASE caccts");
        Self { bench, directory }
    }

    /// What a shell in that directory makes of a line, which has to end well and to print `what`.
    fn typed(&self, line: &str, what: &str) -> String {
        let (target, (host, port)) = (self.bench.server.target(), self.bench.place());
        let mut line = line.to_owned();
        for (theirs, ours) in SMALLER {
            line = line.replace(theirs, ours);
        }
        let password = target.password.reveal();
        for (name, value) in
            [("HOST", &*host), ("3306", &port.to_string()), ("USER", &target.user), ("WORD", password)]
        {
            line = line.replace(name, value);
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("HOME", self.directory.path());
        let output = shell.current_dir(self.directory.path().join("sysbench")).output().expect("a shell");
        let all = text(&output);
        assert!(output.status.success() && all.contains(what), "{line}\n{all}");
        all
    }
}

fn figure(all: &str, name: &str) -> u64 {
    let line = all.lines().find(|line| line.trim().starts_with(name)).expect("a figure");
    line.split_whitespace().nth(1).expect("a figure").parse().expect("a number")
}

#[test]
fn command_lines_of_instance_sizes_end_as_there() {
    let home = Home::new();
    home.typed(
        "~//sysbench/sysbench --mysql-host=HOST --mysql-port=3306 --mysql-user=USER --mysql-password=WORD \
         --mysql-db=test --mysql-table-engine=innodb --test=tests/db/oltp.lua --oltp_tables_count=20 \
         --oltp-table-size=10000000 --rand-init=on prepare",
        "Creating secondary indexes on 'sbtest3'...",
    );
    let form = home.bench.query("SHOW CREATE TABLE test.sbtest1")[0][1].clone().unwrap_or_default();
    for part in [
        "`id` int(10) unsigned NOT NULL AUTO_INCREMENT",
        "`k` int(10) unsigned NOT NULL DEFAULT",
        "`c` char(120) NOT NULL",
        "`pad` char(60) NOT NULL",
        "PRIMARY KEY (`id`)",
        "KEY `k_1` (`k`)",
        "ENGINE=InnoDB",
    ] {
        assert!(form.contains(part), "{part}: {form}");
    }
    assert_eq!(home.bench.query("SELECT COUNT(*) FROM test.sbtest3")[0][0].as_deref(), Some("1000"));
    let all = home.typed(
        "~//sysbench/sysbench --mysql-host=HOST --mysql-port=3306 --mysql-user=USER --mysql-password=WORD \
         --mysql-db=test --test=~/sysbench_for_z3/sysbench/tests/db/oltp.lua --oltp_tables_count=20 \
         --oltp-table-size=10000000 --num-threads=128 --oltp-read-only=off --rand-type=special \
         --max-time=600 --max-requests=0 --percentile=99 --oltp-point-selects=4 run",
        "OLTP test statistics:",
    );
    assert!(all.contains("note:") && all.contains("approx.  99 percentile:"), "{all}");
    // what deadlocks broke off has been asked, too
    let (done, reads) = (figure(&all, "transactions:"), figure(&all, "read:"));
    assert!(done > 0 && reads >= 8 * done, "the full mix, four point SELECTs and four ranges: {all}");
}

#[test]
fn command_lines_of_strong_sync_end_as_there() {
    let home = Home::new();
    // options of a run with prepare
    home.typed(
        "./sysbench --num-threads=500 --test=./tests/db/oltp.lua.bak --oltp-table-size=2180000 \
         --oltp-tables-count=10 --oltp-point-selects=1 --oltp-simple-ranges=0 --oltp-sum-ranges=0 \
         --oltp-order-ranges=0 --oltp-index-updates=1 --oltp-non-index-updates=0 --report-interval=1 \
         --mysql-user=USER --mysql-password=WORD --mysql-host=HOST --mysql-db=caccts --mysql-port=3306 \
         --max-time=360000 --max-requests=2000000000 prepare",
        "Inserting 500 records into 'sbtest3'",
    );
    for test in ["update_non_index", "select"] {
        let all = home.typed(
            &format!(
                "./sysbench --num-threads=500 --test=./tests/db/{test}.lua --oltp-table-size=2180000 \
                 --oltp-tables-count=10 --percentile=99 --report-interval=1 --mysql-host=HOST \
                 --mysql-user=USER --mysql-password=WORD --mysql-db=caccts --max-time=360000 \
                 --max-requests=2000000000 --mysql-port=3306 run"
            ),
            "[   1s] threads: 50",
        );
        let (kind, other) = if test == "select" { ("read:", "write:") } else { ("write:", "read:") };
        assert!(figure(&all, kind) > 0 && figure(&all, other) == 0, "{test}: {all}");
    }
    // six statements: BEGIN, select, update, delete, insert, COMMIT
    let all = home.typed(
        "./sysbench_orig --num-threads=1 --test=./tests/db/oltp_new.lua --oltp-read-only=off \
         --oltp-table-size=2180000 --oltp-tables-count=10 --oltp-point-selects=1 --oltp-simple-ranges=0 \
         --oltp-sum-ranges=0 --oltp-order-ranges=0 --oltp-distinct-ranges=0 --oltp-index-updates=1 \
         --oltp-non-index-updates=0 --percentile=99 --report-interval=1 --mysql-host=HOST \
         --mysql-user=USER --mysql-password=WORD --mysql-db=caccts --max-time=360000 \
         --max-requests=30 --mysql-port=3306 run",
        "OLTP test statistics:",
    );
    let counted = ["read:", "other:", "transactions:"].map(|name| figure(&all, name));
    assert_eq!(counted, [30, 60, 30], "{all}");
}

/// No document has a command line of mysqlslap, only what was done with it: SELECT and UPDATE of values that
/// `rand()` draws, on tables that were there, several times at each number of clients.
#[test]
fn the_course_of_scan_and_index_runs_by_mysqlslap() {
    let home = Home::new();
    home.bench.query(
        "CREATE TABLE test.t1 (id INT PRIMARY KEY, a INT, b INT, KEY(a)) SELECT seq AS id, seq AS a, seq AS \
         b FROM test.seq_0_to_999",
    );
    for (asked, kind) in [
        ("SELECT * FROM t1 WHERE b = FLOOR(RAND() * 1000)", "without index"),
        ("SELECT * FROM t1 WHERE a = FLOOR(RAND() * 1000)", "by index"),
        ("UPDATE t1 SET b = b + 1 WHERE id = FLOOR(RAND() * 1000)", "update"),
    ] {
        let line = format!(
            "./mysqlslap --no-defaults -hHOST -P3306 -uUSER -pWORD --create-schema=test \
             --concurrency=20,50 --iterations=3 --number-of-queries=200 --engine=innodb --query='{asked}'"
        );
        let all = home.typed(&line, "Number of clients running queries: 50");
        assert_eq!(all.matches("Average number of seconds to run all queries:").count(), 2, "{kind}: {all}");
    }
    assert_eq!(home.bench.query("SELECT COUNT(*) FROM test.t1")[0][0].as_deref(), Some("1000"));
}

/// What the server is asked in each mode, and how often a connection is opened for it.
#[test]
fn tests_of_sysbench_0_4_run_in_every_mode() {
    let bench = Bench::new();
    let played = |words: &[&str]| -> (Vec<String>, u64) {
        let words = [&["--test=oltp", "--oltp-table-size=500", "--max-requests=20"][..], words].concat();
        let asked = bench.asked(|| bench.ours("ours", &words));
        let opened = bench.query(
            "SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Connect' AND argument LIKE '% on \
             ours %'",
        );
        (asked, opened[0][0].as_deref().expect("a count").parse().expect("a number"))
    };
    let (made, _) = played(&["prepare"]);
    assert!(made.iter().any(|sql| sql.starts_with("create table sbtest")), "{made:?}");
    let transaction = [
        ["begin"].to_vec(),
        ["select c from sbtest where id=#"].repeat(10),
        ["select c from sbtest where id between # and #"].to_vec(),
        ["select sum(k) from sbtest where id between # and #"].to_vec(),
        ["select c from sbtest where id between # and # order by c"].to_vec(),
        ["select distinct c from sbtest where id between # and # order by c"].to_vec(),
        ["update sbtest set k=k+# where id=#"].to_vec(),
        ["update sbtest set c= where id=#"].to_vec(),
        ["delete from sbtest where id=#"].to_vec(),
        ["insert into sbtest values(#,#,,)"].to_vec(),
        ["commit"].to_vec(),
    ]
    .concat();
    for (mode, connections) in [("session", 1), ("transaction", 1 + 20), ("query", 1 + 18 * 20)] {
        let (asked, opened) = played(&[&format!("--oltp-reconnect-mode={mode}"), "run"]);
        // without a connection to stay on there is no transaction
        let of_one = if mode == "query" { &transaction[1..transaction.len() - 1] } else { &transaction[..] };
        assert_eq!(asked, of_one.repeat(20), "{mode}");
        assert_eq!(opened, connections, "{mode}");
    }
    let (_, opened) = played(&["--oltp-reconnect-mode=random", "run"]);
    assert!((10..100).contains(&opened), "one statement of ten on average: {opened}");
    for (mode, statement) in [
        ("select", "select pad from sbtest where id=#"),
        ("update_key", "update sbtest set k=k+# where id=#"),
        ("update_nokey", "update sbtest set k=k+# where id=#"),
        ("insert", "insert into sbtest(k, c, pad) values(#,,)"),
        ("delete", "delete from sbtest where id=#"),
    ] {
        let nontrx = format!("--oltp-nontrx-mode={mode}");
        let words = ["--oltp-test-mode=nontrx", &nontrx, "--oltp-user-delay-max=500", "run"];
        assert_eq!(played(&words).0, [statement].repeat(20), "{mode}");
    }
    let (asked, _) = played(&["--oltp-test-mode=simple", "--oltp-dist-type=uniform", "run"]);
    assert_eq!(asked, ["select c from sbtest where id=#"].repeat(20));
    played(&["cleanup"]);
    assert!(bench.query("SHOW TABLES FROM ours").is_empty());
}
