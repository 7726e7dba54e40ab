//! `prony mysqlslap` beside mysqlslap.

use super::*;
use crate::support::require::{Need, require};
use prony::foreign::{self, Known, Tool};

/// What arrives at the server from mysqlslap and from the real program: the same statements, each as often,
/// but for the row that it leaves out and the schema that it drops.
#[test]
fn statements_and_output_are_those_of_mysqlslap() {
    let Some(()) = require(Need::Sysbench, program(Command::new("mariadb-slap").arg("--version"))) else {
        return;
    };
    let bench = Bench::new();
    let (target, (host, port)) = (bench.server.target(), bench.place());
    let run = |mut command: Command, words: &[&str]| {
        command.arg("--protocol=tcp").arg(format!("--host={host}")).arg(format!("--port={port}"));
        command.arg(format!("-u{}", target.user)).env("MYSQL_PWD", target.password.reveal());
        command.args(words).output().expect("it runs")
    };
    let ours = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["mysqlslap", "--defaults-file=/dev/null"]);
        command
    };
    let theirs = || {
        let mut command = Command::new("mariadb-slap");
        command.arg("--no-defaults");
        command
    };
    let plain = "--query=SELECT a FROM t;SELECT 1";
    for words in [
        &["-a", "-c2", "--number-of-queries=20", "--auto-generate-sql-load-type=read"][..],
        &["-a", "-c2,4", "-i2", "--number-of-queries=40", "--auto-generate-sql-load-type=key", "--csv"],
        &["-a", "-c2", "--number-of-queries=20", "--auto-generate-sql-load-type=update"],
        &["-a", "-c2", "--number-of-queries=20", "--auto-generate-sql-load-type=write", "-x2", "-y1"],
        &["--create=CREATE TABLE t(a INT);INSERT INTO t VALUES(3)", plain, "--delimiter=;", "-c3", "-i2"],
    ] {
        let key = ["--auto-generate-sql-add-autoincrement"];
        let needs_key = words.iter().any(|word| word.ends_with("=key") || word.ends_with("=update"));
        let words = [words, if needs_key { &key[..] } else { &[] }].concat();
        let mut both = [theirs(), ours()].into_iter().map(|command| {
            let mut output = None;
            let asked = bench.asked(|| output.insert(run(command, &words)).clone());
            (asked, output.expect("it ran"))
        });
        let ((theirs, printed), (ours, mine)) = (both.next().expect("one"), both.next().expect("another"));
        let counted = |asked: &[String]| {
            let mut counts = std::collections::BTreeMap::new();
            for sql in asked {
                let sql = sql.trim_matches('\0').trim().to_owned();
                if !["schema", "schemata", "use `", "commit"].iter().any(|word| sql.contains(word)) {
                    *counts.entry(sql).or_insert(0_i64) += 1;
                }
            }
            counts
        };
        let (theirs, ours) = (counted(&theirs), counted(&ours));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{words:?}");
        for (sql, count) in &ours {
            let less = if sql.starts_with("insert into t#") { 4 } else { 0 };
            assert!((0..=less).contains(&(count - theirs[sql])), "{words:?}: {sql} {count} {}", theirs[sql]);
        }
        assert_eq!(shape(&text(&mine)), shape(&text(&printed)), "{words:?}");
    }
    let (theirs, ours) = (run(theirs(), &["--no-such-option"]), run(ours(), &["--no-such-option"]));
    assert!(!theirs.status.success() && !ours.status.success(), "{}", text(&ours));
}

/// mysqlslap's loads, and its two dangers.
#[test]
fn loads_of_mysqlslap_run_and_its_dangers_are_mended() {
    let bench = Bench::new();
    let (target, (host, port)) = (bench.server.target(), bench.place());
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

/// What is done around each run: statements, commands, what each connection begins with, a file of results.
#[test]
fn what_surrounds_a_run_is_done_as_often_as_by_mysqlslap() {
    let bench = Bench::new();
    bench.query("CREATE TABLE ours.did (what VARCHAR(10))");
    let (target, (host, port)) = (bench.server.target(), bench.place());
    let directory = tempfile::tempdir().expect("a directory");
    let play = |program: &mut Command| {
        let file = |name: &str| directory.path().join(name).display().to_string();
        let csv = file("slap.csv");
        let statements = file("statements.sql");
        std::fs::write(&statements, "INSERT INTO t VALUES (@mark); SELECT a FROM t").expect("written");
        program.arg("--protocol=tcp").arg(format!("--host={host}")).arg(format!("--port={port}"));
        program.arg(format!("-u{}", target.user)).env("MYSQL_PWD", target.password.reveal());
        program.args(["--create=CREATE TABLE t(a INT)", "--delimiter=;", "-c1,2", "-i2"]);
        program.arg(format!("--query={statements}")).arg("--create-schema=slapped");
        program.args(["--init-command=SET @mark = 7", "--pre-query=INSERT INTO ours.did VALUES ('before')"]);
        program
            .arg("--post-query=INSERT INTO ours.did VALUES ('after');INSERT INTO ours.did SELECT a FROM t");
        program.arg(format!("--pre-system=echo before >> {}", file("commands")));
        program.arg(format!("--post-system=echo after >> {}", file("commands")));
        let output = ran(program.arg(format!("--csv={csv}")));
        assert!(output.status.success(), "{}", text(&output));
        let did = bench.query("SELECT what, COUNT(*) FROM ours.did GROUP BY what ORDER BY what");
        bench.query("DELETE FROM ours.did");
        assert!(bench.query("SHOW DATABASES LIKE 'slapped'").is_empty(), "what was made is gone");
        let read = |name: &str| std::fs::read_to_string(file(name)).expect("it is there");
        let lines = shape(&read("slap.csv"));
        let commands = read("commands");
        for name in ["slap.csv", "commands"] {
            std::fs::remove_file(file(name)).expect("it was there");
        }
        (text(&output), did, lines, commands)
    };
    let ours = play(prony().args(["mysqlslap", "--no-defaults"]));
    // one row of one client and two of two, each twice
    let did = [("7", "6"), ("after", "4"), ("before", "4")];
    assert_eq!(ours.1, did.map(|(what, count)| [Some(what.to_owned()), Some(count.to_owned())]));
    assert_eq!((ours.2.len(), &*ours.3), (2, "before\nafter\n".repeat(4).as_str()));
    let Some(()) = require(Need::Sysbench, program(Command::new("mariadb-slap").arg("--version"))) else {
        return;
    };
    assert_eq!(ours, play(Command::new("mariadb-slap").arg("--no-defaults")));
}
