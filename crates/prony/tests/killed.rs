//! A run that is killed, resumed, refused, or runs out of disk: what had finished is there, byte for byte.

mod support {
    pub(crate) mod disk;
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "this program starts no server of its own")]
    pub(crate) mod server;
}

use prony::store::{RunSummary, Store};
use rusqlite::Connection;
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{disk::Disk, server::processes_of};

/// Nothing here takes nearly as long, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

const STUDY: &str = r#"
title = "Killed"
[server.a]
product = "mariadb"
version = "10.11"
[data]
rows = 500
[[stream]]
workload = "oltp_point_select"
[vary]
"stream.connections" = [1, 2, 3, 4]
[measure]
warm_up = "100ms"
interval = "300ms"
repeats = 2
"#;

/// A home of its own with a study and a store.
struct Home {
    directory: tempfile::TempDir,
    store: PathBuf,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("killed.toml"), STUDY).expect("a study");
        let store = directory.path().join("prony.sqlite");
        Self { directory, store }
    }

    fn prony(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .args(["run", "killed.toml", "--write", "report.html", "--store"])
            .arg(&self.store)
            .args(flags)
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            .env_remove("PRONY_STORE")
            .stdin(Stdio::null())
            .current_dir(self.directory.path());
        command
    }

    fn start(&self, flags: &[&str]) -> Child {
        self.prony(flags).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("prony starts")
    }

    fn output(&self, flags: &[&str]) -> Output {
        self.prony(flags).output().expect("prony starts")
    }

    fn runs(&self) -> Vec<RunSummary> {
        Store::open(&self.store).and_then(|store| store.list()).expect("a store that can be read")
    }

    /// Bytes of everything that trials have left, by run, kind and number.
    fn kept(&self) -> BTreeMap<(i64, String, i64), Vec<u8>> {
        drop(self.runs());
        let connection = Connection::open(&self.store).expect("the store");
        let sql = "SELECT run, kind, number, bytes FROM part WHERE kind IN ('trial', 'outcome', 'samples', \
                   'readings')";
        let mut statement = connection.prepare(sql).expect("a statement");
        let part = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get(3)?));
        statement.query_map([], part).expect("parts").collect::<Result<_, _>>().expect("parts")
    }

    /// Runs until so many trials of the newest run are kept, then kills.
    fn kill_after(&self, trials: u32) {
        let mut child = self.start(&[]);
        let begun = Instant::now();
        while self.runs().first().is_none_or(|run| run.trials_done() < trials) {
            assert!(begun.elapsed() < PATIENCE, "no trial ends");
            thread::sleep(Duration::from_millis(20));
        }
        child.kill().expect("a child");
        child.wait().expect("a child");
    }

    fn assert_nothing_runs(&self) {
        let begun = Instant::now();
        loop {
            let left = processes_of(self.directory.path());
            if left.is_empty() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{left:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Kills Prony so many times, each at a moment within `span` that the seed says, and lets it end in the end.
/// On a machine so slow that no kill falls after a trial the span is doubled: nothing had been kept that
/// could have been lost.
fn killed_at_random(kills: u32, mut span: Duration) {
    while !kept_what_had_finished(kills, span) {
        assert!(span < PATIENCE, "no kill fell after a finished trial, within {span:?}");
        span *= 2;
    }
}

/// Whether a kill fell after a trial that had finished since the kill before.
#[expect(clippy::print_stdout, reason = "how much this run of the test has tried")]
fn kept_what_had_finished(kills: u32, span: Duration) -> bool {
    let home = Home::new();
    let mut kept = BTreeMap::new();
    let mut random = 20_260_412_u64;
    let (mut before, mut after_trials) = (0, 0);
    for kill in 0..kills {
        let is_open = home.runs().first().is_some_and(|run| !run.is_complete());
        let mut child = home.start(if is_open { &["--resume"] } else { &[] });
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        thread::sleep(span.mul_f64((random >> 33) as f64 / f64::from(1_u32 << 31)));
        child.kill().expect("a child");
        child.wait().expect("a child");
        let now = home.kept();
        for (part, bytes) in &kept {
            assert!(now.get(part) == Some(bytes), "kill {kill}: {part:?} is not as it was");
        }
        let finished: u32 = home.runs().iter().map(RunSummary::trials_done).sum();
        after_trials += u32::from(finished > before);
        before = finished;
        kept = now;
        let store = Store::open(&home.store).expect("a store");
        for run in home.runs() {
            store.run(run.id).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        }
    }
    let is_open = home.runs().first().is_some_and(|run| !run.is_complete());
    let output = home.output(if is_open { &["--resume"] } else { &[] });
    assert!(output.status.success(), "{}", text(&output.stderr));
    let now = home.kept();
    assert!(kept.iter().all(|(part, bytes)| now.get(part) == Some(bytes)));
    let store = Store::open(&home.store).expect("a store");
    let record = store.run(store.latest().expect("a store").expect("a run")).expect("a run");
    assert!(record.complete);
    let numbers: Vec<u32> = record.trials.iter().map(|trial| trial.trial.number).collect();
    assert!((0..8).all(|number| numbers.contains(&number)), "{numbers:?}");
    home.assert_nothing_runs();
    println!("{after_trials} of {kills} kills fell after a trial that had finished since the one before");
    after_trials > 0
}

#[test]
fn killed_three_times_it_keeps_what_had_finished() {
    killed_at_random(3, Duration::from_secs(5));
}

#[test]
#[ignore = "long: 20 kills"]
fn killed_twenty_times_it_keeps_what_had_finished() {
    killed_at_random(20, Duration::from_secs(8));
}

#[test]
fn a_run_is_not_gone_on_with_when_the_study_changed_unless_that_is_wanted() {
    let home = Home::new();
    home.kill_after(1);
    let study = home.directory.path().join("killed.toml");
    let done = home.runs()[0].trials_done();

    fs::write(&study, STUDY.replace("300ms", "250ms")).expect("a study");
    let refused = home.output(&["--resume"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains(r#"measure.interval was "300ms", is "250ms""#), "{message}");
    assert!(message.contains("--anyway"), "{message}");
    assert_eq!(home.runs()[0].trials_done(), done, "nothing was done");

    fs::write(&study, STUDY.replace("[1, 2, 3, 4]", "[1, 2]")).expect("a study");
    let refused = home.output(&["--resume", "--anyway"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("other trials"), "{}", text(&refused.stderr));

    // a comment is no difference; what is accepted is kept
    fs::write(&study, format!("# a comment\n{}", STUDY.replace("300ms", "250ms"))).expect("a study");
    let resumed = home.output(&["--resume", "--anyway"]);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    assert!(text(&resumed.stderr).contains("not repeated"), "{}", text(&resumed.stderr));
    let store = Store::open(&home.store).expect("a store");
    let record = store.run(1).expect("a run");
    assert!(record.complete);
    assert!(record.resumed[0].differences[0].what == "measure.interval", "{:?}", record.resumed);
    home.assert_nothing_runs();
}

#[test]
fn a_full_disk_ends_a_run_with_what_had_finished() {
    let mut home = Home::new();
    let Some(disk) = Disk::mounted(home.directory.path().join("disk"), "8m") else { return };
    home.store = disk.path().join("prony.sqlite");
    let child = home.prony(&[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("prony starts");
    let begun = Instant::now();
    while home.runs().first().is_none_or(|run| run.trials_done() < 1) && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(20));
    }
    // until not even a byte more fits
    let filler = disk.path().join("filler");
    let _ = fs::write(&filler, vec![1_u8; 16 << 20]);
    let output = child.wait_with_output().expect("prony ends");
    let message = text(&output.stderr);
    let done = {
        fs::remove_file(&filler).expect("the filler");
        home.runs()[0].trials_done()
    };
    let resumed = home.output(&["--resume"]);
    let complete = home.runs()[0].is_complete();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("no space left for the store") && message.contains("--resume"), "{message}");
    assert!((1..8).contains(&done), "{done} trials");
    assert!(resumed.status.success() && complete, "{}", text(&resumed.stderr));
    home.assert_nothing_runs();
}

#[test]
fn a_second_process_may_not_go_on_with_a_run_that_is_alive() {
    let home = Home::new();
    let mut child = home.start(&[]);
    let begun = Instant::now();
    while home.runs().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "no run begins");
        thread::sleep(Duration::from_millis(10));
    }
    let second = home.output(&["--resume"]);
    let is_alive = child.try_wait().expect("a child").is_none();
    child.kill().expect("a child");
    child.wait().expect("a child");
    let message = text(&second.stderr);
    assert!(is_alive, "it ended before it could be asked for");
    assert_eq!(second.status.code(), Some(2), "{message}");
    assert!(message.contains(&format!("process {}", child.id())), "{message}");
    home.assert_nothing_runs();
}
