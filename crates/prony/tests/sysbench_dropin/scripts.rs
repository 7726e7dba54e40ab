//! Scripts of an installed sysbench and of users.

use super::*;
use crate::support::require::{Need, require};
use std::path::Path;

/// A directory with the scripts that stand for those of users.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in [
        ("store.lua", include_str!("../support/lua/store.lua")),
        ("store_common.lua", include_str!("../support/lua/store_common.lua")),
        ("store_deals.lua", include_str!("../support/lua/store_deals.lua")),
        ("old.lua", include_str!("../support/lua/old.lua")),
        ("old_common.lua", include_str!("../support/lua/old_common.lua")),
        ("loop.lua", include_str!("../support/lua/loop.lua")),
        ("refused.lua", include_str!("../support/lua/refused.lua")),
    ] {
        std::fs::write(directory.path().join(name), text).expect("written");
    }
    directory
}

/// One of the two programs, in the directory of the scripts, each with a database of its own.
struct Player<'a> {
    bench: &'a Bench,
    directory: &'a Path,
    is_ours: bool,
}

impl Player<'_> {
    fn database(&self) -> &'static str {
        if self.is_ours { "ours" } else { "theirs" }
    }

    fn call(&self, words: &[&str]) -> Output {
        let mut command = if self.is_ours { prony() } else { Command::new("sysbench") };
        if self.is_ours {
            command.arg("sysbench");
        }
        command.current_dir(self.directory).args(words).args(self.bench.there(self.database()));
        ran(&mut command)
    }

    /// Output of a command that must end well.
    fn well(&self, words: &[&str]) -> String {
        let output = self.call(words);
        let all = text(&output);
        assert!(output.status.success(), "{words:?}\n{all}");
        all.replace(self.database(), "DATABASE")
    }

    fn ask(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        self.bench.query(&sql.replace("DATABASE", self.database()))
    }
}

/// Lines without figures, and without those that name the program; what threads say is in no order.
fn sorted(all: &str) -> Vec<String> {
    let mut lines = shape(all);
    lines.retain(|line| !line.contains("sysbench") && !line.contains("LuaJIT"));
    lines.sort();
    lines
}

/// Plays both, where sysbench is there, and compares what each call gives.
fn both<T: PartialEq + std::fmt::Debug>(bench: &Bench, play: impl Fn(&Player<'_>) -> T) {
    let directory = directory();
    let player = |is_ours| Player { bench, directory: directory.path(), is_ours };
    let ours = play(&player(true));
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    assert_eq!(ours, play(&player(false)));
}

/// What users' large scripts do: several files, parallel commands and others with options of their own,
/// foreign functions, bulk inserts, prepared statements, result sets, transactions that are given up or
/// begin again, errors that their hooks let pass, reports of their own. Both leave the same behind.
#[test]
fn a_large_script_of_a_user_does_the_same_under_both_programs() {
    let bench = Bench::new();
    both(&bench, |player| {
        let sizes = ["store.lua", "--sets=2", "--depots=3", "--threads=3"];
        let store = |words: &[&str]| player.well(&[&sizes[..], words].concat());
        let made = store(&["prepare"]);
        let tables = player.ask("SHOW TABLES FROM DATABASE");
        let names = tables.iter().flatten().flatten();
        let forms: Vec<_> = names
            .map(|name| {
                let form = player.ask(&format!("SHOW CREATE TABLE DATABASE.{name}"))[0][1].clone();
                (form, player.ask(&format!("SELECT COUNT(*) FROM DATABASE.{name}")))
            })
            .collect();
        assert_eq!(forms.len(), 17, "{tables:?}");
        let ran = store(&["--events=300", "--time=0", "--think=100", "run"]);
        assert!(ran.contains("made in the end: 300"), "each event deals once: {ran}");
        assert!(ran.contains("error 1062"), "an error of which its hook says that it may be: {ran}");
        // how often each thread began anew is left to the scheduler, which may give one of them few events
        let again = ran.lines().filter_map(|line| line.split_once(": begun again ")?.1.parse::<u32>().ok());
        assert!(again.sum::<u32>() > 0, "events begin anew: {ran}");
        let checked = store(&["check"]);
        assert!(checked.contains("everything adds up after 300 deals"), "{checked}");
        // each kind is drawn as often as the others: within 5 standard deviations
        for row in
            player.ask("SELECT kind, number FROM DATABASE.made WHERE kind <> 'order' AND kind <> 'back'")
        {
            let number: f64 = row[1].as_deref().expect("a number").parse().expect("a number");
            assert!((number - 60.0).abs() < 35.0, "{row:?}");
        }
        let intervals = store(&["--time=2", "--report-interval=1", "--isolation=RC", "run"]);
        let is_mine = |line: &&str| line.starts_with("mine,") && line.split(',').count() == 11;
        assert!(intervals.lines().filter(is_mine).count() >= 1, "{intervals}");
        let json = store(&["--time=2", "--report-interval=1", "--reporter=json", "--mine=off", "run"]);
        assert!(json.contains("\"tps\""), "{json}");
        store(&["check"]);
        let gone = store(&["cleanup"]);
        assert!(player.ask("SHOW TABLES FROM DATABASE").is_empty());
        let ran = ran.lines().filter(|line| !line.contains("error 1062")).collect::<Vec<_>>().join("\n");
        (forms, [made, ran, checked, gone].map(|all| sorted(&all)))
    });
}

/// A script for 0.5, with global functions and variables.
#[test]
fn a_script_of_0_5_does_the_same_under_both_programs() {
    let bench = Bench::new();
    both(&bench, |player| {
        let sizes = ["old.lua", "--old-table-size=300", "--threads=2"];
        let old = |words: &[&str]| sorted(&player.well(&[&sizes[..], words].concat()));
        let made = old(&["prepare"]);
        let rows = player.ask("SELECT COUNT(*), MIN(id), MAX(id), SUM(balance) FROM DATABASE.old1");
        let ran = old(&["--events=100", "--time=0", "run"]);
        let left = player.ask(
            "SELECT COUNT(*), COUNT(DISTINCT thread), SUM(change_) = (SELECT SUM(balance) FROM \
             DATABASE.old1), SUM(note RLIKE '^[a-z]{3}-[0-9]{3}$') FROM DATABASE.old2",
        );
        assert_eq!(left[0][2].as_deref(), Some("1"), "each event is whole: {left:?}");
        (made, rows, ran, left, old(&["cleanup"]))
    });
}

/// Exit code and lines, counts included, without times and what is said of a thread.
fn counted(output: &Output) -> (Option<i32>, Vec<String>) {
    let is_time = |line: &&str| {
        let words =
            ["(ms)", "min:", "avg:", "max:", "sum:", "percentile", "time", "stddev", "sysbench", "repeated"];
        !line.trim().is_empty() && !words.iter().any(|word| line.contains(word))
    };
    let plain = |line: &str| match line.split_once(" (") {
        Some((words, rest)) if rest.contains("per sec") || rest.starts_with("thread #") => {
            words.trim().to_owned()
        }
        _ => line.trim().to_owned(),
    };
    (output.status.code(), text(output).lines().filter(is_time).map(plain).collect())
}

/// Errors in every place, and what the option for errors and the script's hooks make of them.
#[test]
fn errors_end_or_begin_an_event_anew_as_under_sysbench() {
    let bench = Bench::new();
    both(&bench, |player| {
        let all = "--mysql-ignore-errors=all";
        let mut seen = Vec::new();
        for words in [
            &["--how=query"][..],
            &["--how=row"],
            &["--how=prepared"],
            &["--how=prepare"],
            &["--how=bulk"],
            &["--how=bulk", all],
            &["--how=lock"],
            &["--how=own"],
            &["--how=text"],
            &["--says=false"],
            &["--says=nil"],
            &["--says=zero"],
            &["--says=text"],
            &["--says=error"],
            &["--says=false", all],
            &["--mysql-ignore-errors=1062,1213"],
            &["--where=thread_init", "--says=false"],
            &["--where=thread_done", "--says=false"],
            &["--where=done"],
        ] {
            player.well(&["refused.lua", "prepare"]);
            let run = ["refused.lua", "--events=4", "--time=0", "run"];
            seen.push((words.to_vec(), counted(&player.call(&[&run[..], words].concat()))));
        }
        let failed = player.call(&["refused.lua", "--where=prepare", "--says=false", "prepare"]);
        seen.push((Vec::new(), counted(&failed)));
        assert!(seen[0].1.1.contains(&"ignored errors:                      2".to_owned()), "{seen:?}");
        assert_eq!(seen[0].1.0, Some(0), "{seen:?}");
        seen
    });
}

/// A loop of the script's own, and everything that it can draw.
#[test]
fn a_loop_of_the_scripts_own_does_the_same_under_both_programs() {
    let bench = Bench::new();
    both(&bench, |player| {
        let all = player.well(&["loop.lua", "--events=200", "--time=0", "--threads=2", "--width=500", "run"]);
        assert!(all.contains("|*") || all.contains(" |"), "a histogram: {all}");
        let lines = all.lines().filter(|line| !line.contains('|'));
        sorted(&lines.collect::<Vec<_>>().join("\n"))
    });
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
                // these two are for one table
                let tables = if script.contains("select_random") { "--tables=1" } else { "--tables=4" };
                let sizes: &[&str] = if is_bulk { &[] } else { &[tables, "--table-size=2000"] };
                let words = [&[script, threads, "--time=1"][..], sizes, &[command]].concat();
                let output = bench.ours("ours", &words);
                assert!(output.status.success(), "{words:?}\n{}", text(&output));
            }
        }
    }
}
