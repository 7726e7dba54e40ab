//! In which state trials find their servers: data as they were loaded, kept for later runs, whatever kills
//! Prony in between.

#![expect(clippy::unwrap_used, reason = "what the tests share is part of them")]

mod support {
    #[expect(dead_code, reason = "nobody looks into it")]
    pub(crate) mod disk;
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "the server of other tests")]
    pub(crate) mod server;
}

use load::{Stop, client::Connection, spec::Target};
use prony::{
    dataset::{self, Checksum},
    layout::{Layout as _, sysbench::Data as DataPlan},
    plan::{Plan, ServerPlan},
    provision::{Places, Provisioner, Server, cached_data},
    report::Words,
    run::{self, Began, Event, Origin},
    study::{self, Adjustments},
    telemetry::Machine,
    workload::{self, Options},
};
use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};
use support::{disk::Disk, server::processes_of};

static GO_ON: AtomicBool = AtomicBool::new(false);
const WAIT: Duration = Duration::from_secs(120);

/// Directories of a test's own, but for the programs, which are fetched once.
fn places(home: &Path) -> Places {
    let users = Places::of_user().expect("a home");
    let cache = home.join("cache/prony");
    fs::create_dir_all(&cache).expect("a directory");
    for directory in [users.servers(), users.templates()] {
        fs::create_dir_all(&directory).expect("a directory");
        let link = cache.join(directory.file_name().expect("a name"));
        if !link.exists() {
            symlink(&directory, link).expect("a link");
        }
    }
    Places { cache, state: home.join("state/prony"), config: home.join("config/prony") }
}

fn provisioner(home: &Path) -> Provisioner {
    Provisioner::with(places(home), PathBuf::from(env!("CARGO_BIN_EXE_prony")))
}

fn server(product: &str, version: &str) -> ServerPlan {
    let study = text(1, "")
        .replace("\"mariadb\"\nversion = \"10.11\"", &format!("\"{product}\"\nversion = \"{version}\""));
    parse(&study).servers[0].clone()
}

fn data(tables: u32, rows: u64, engine: &str) -> DataPlan {
    let options = Options { tables, table_size: rows, engine: engine.to_owned(), ..Options::default() };
    DataPlan { seed: 42, ..workload::data("oltp_read_write", &options).expect("good options") }
}

fn load(target: &Target, plan: &DataPlan) -> dataset::Report {
    dataset::prepare(target, plan, 2, &mut |_| (), &GO_ON).expect("data")
}

fn checksum(target: &Target, plan: &DataPlan) -> Checksum {
    dataset::checksum(target, plan, 2, &GO_ON).expect("a checksum")
}

fn run_sql(server: &Server, sql: &str) {
    Connection::open(server.target(), WAIT).expect("a login").query(sql).expect("good SQL");
}

/// What a trial may leave: other values, rows gone, rows added, a table more, a table gone.
fn spoil(server: &Server) {
    run_sql(server, "UPDATE sbtest1 SET k = k + 1, c = 'changed' WHERE id < 1000");
    run_sql(server, "DELETE FROM sbtest1 WHERE id % 3 = 0");
    run_sql(server, "INSERT INTO sbtest1 (k, c, pad) VALUES (1, 'new', 'row')");
    run_sql(server, "CREATE TABLE left_over (a INT) ENGINE=InnoDB");
    run_sql(server, "DROP TABLE sbtest2");
}

fn brought_back(product: &str, version: &str, engine: &str, times: u32) {
    let home = tempfile::tempdir().unwrap();
    let (provisioner, plan) = (provisioner(home.path()), data(2, 2_000, engine));
    let mut up = provisioner.bring_up(&server(product, version), 0, &mut |_| ()).unwrap();
    let target = up.target().clone();
    load(&target, &plan);
    let loaded = checksum(&target, &plan);
    let mut snapshot = provisioner.snapshot(&mut up, None, true, &mut |_| ()).unwrap().expect("one");
    for _ in 0..times {
        spoil(&up);
        let pid = up.pid();
        provisioner.put_back(&mut up, &mut snapshot, &mut |_| ()).unwrap();
        assert_eq!(
            (up.target(), checksum(&target, &plan)),
            (&target, loaded.clone()),
            "{product} {version} {engine}"
        );
        assert!(loaded.is_right() && up.pid() != pid);
        assert_eq!(load(&target, &plan).tables_kept, 2, "nothing is missing");
        let mut connection = Connection::open(&target, WAIT).unwrap();
        assert!(connection.query("SELECT * FROM left_over").is_err());
    }
    up.stop().unwrap();
    assert_eq!(home.path().join("state/prony/instances").read_dir().unwrap().count(), 0);
}

#[test]
fn a_trial_that_follows_one_that_wrote_finds_the_data_as_they_were_loaded() {
    brought_back("mariadb", "10.11", "InnoDB", 1);
}

fn parse(text: &str) -> Plan {
    Plan::from_study(
        &study::parse("tested", "tested.toml", text, &Adjustments::default()).expect("a good study"),
    )
}

fn text(rows: u64, measure: &str) -> String {
    format!(
        "title = \"State\"\n[server.mariadb]\nproduct = \"mariadb\"\nversion = \
         \"10.11\"\n[settings]\ninnodb_flush_log_at_trx_commit = 0\n[data]\nrows = \
         {rows}\n[[stream]]\nconnections = 2\n[vary]\n\"stream.workload\" = [\"oltp_delete\", \
         \"oltp_point_select\"]\n[measure]\nwarm_up = \"0s\"\ninterval = \"100ms\"\nrepeats = \
         2\nrepeat_invalid = 0\n{measure}\n"
    )
}

/// How the trials of a study began, with the names of their workloads, and all remarks.
fn carried_out(home: &Path, plan: &Plan) -> (Vec<(String, Began)>, Vec<String>) {
    let (mut began, mut remarks) = (Vec::new(), Vec::new());
    let (machine, done, stop) = (Machine::of_this_host(), run::Done::default(), Stop::default());
    run::carry_out(plan, &machine, done, &provisioner(home), &stop, &mut |event| {
        match event {
            Event::TrialPrepared { trial, began: how } => {
                // Nothing is repeated: a trial of 100 ms may well be doubtful.
                let treatment = &plan.treatments[plan.trials[*trial as usize].treatment];
                began.push((treatment.streams[0].workload.name.clone(), **how));
            }
            Event::Remark { what, .. } => remarks.push(Words::default().remark(what)),
            Event::TrialFinished { outcome, .. } => {
                assert!(matches!(**outcome, run::TrialOutcome::Measured { .. }), "{outcome:?}");
            }
            _ => {}
        }
        Ok(())
    })
    .unwrap();
    (began, remarks)
}

#[test]
fn a_run_puts_data_back_after_each_trial_that_wrote_and_only_then() {
    let home = tempfile::tempdir().unwrap();
    let (began, remarks) = carried_out(home.path(), &parse(&text(1_000, "fresh = \"snapshot\"")));
    assert_eq!((began.len(), remarks.len()), (4, 0), "{remarks:?}");
    for (place, (_, how)) in began.iter().enumerate() {
        let follows_a_write = place > 0 && began[place - 1].0 == "oltp_delete";
        assert_eq!(how.put_back.is_some(), follows_a_write, "{began:#?}");
        assert_eq!(how.restarted, follows_a_write || place == 0, "{began:#?}");
        assert_eq!(how.warmed.is_some(), follows_a_write || place == 0, "{began:#?}");
        let settled = how.settled.expect("InnoDB says");
        assert!(!settled.limit_reached, "{settled:?}");
        assert!([Origin::Loaded, Origin::Snapshot].contains(&how.data), "{how:?}");
    }
    assert!(began.iter().any(|(_, how)| how.data == Origin::Snapshot));
}

#[test]
fn a_study_can_have_data_loaded_anew() {
    let home = tempfile::tempdir().unwrap();
    let (reloaded, _) = carried_out(
        home.path(),
        &parse(&text(1_000, "fresh = \"reload\"\nwarm = \"none\"\nsettle = \"0s\"")),
    );
    assert!(reloaded.iter().all(|(_, how)| how.data == Origin::Loaded && !how.restarted), "{reloaded:#?}");
    assert!(reloaded.iter().all(|(_, how)| how.warmed.is_none() && how.settled.is_none()), "{reloaded:#?}");
}

#[test]
#[ignore = "long: restarts a server before each trial"]
fn a_study_can_have_data_put_back_before_every_trial_or_left() {
    let home = tempfile::tempdir().unwrap();
    let (left, _) = carried_out(home.path(), &parse(&text(1_000, "fresh = \"never\"")));
    assert_eq!(left.iter().filter(|(_, how)| how.put_back.is_some()).count(), 0, "{left:#?}");
    assert_eq!(left.last().unwrap().1.data, Origin::Left, "{left:#?}");
    let (always, _) = carried_out(home.path(), &parse(&text(2_000, "fresh = \"always\"\nwarm = \"pages\"")));
    assert!(always[1..].iter().all(|(_, how)| how.data == Origin::Snapshot && how.restarted), "{always:#?}");
    assert!(always.iter().all(|(_, how)| how.warmed.is_some()), "{always:#?}");
}

/// Prony with all its directories in `home`, in a process group of its own.
fn prony(home: &Path, arguments: &[&str]) -> Command {
    places(home);
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments).current_dir(home).process_group(0);
    for (variable, directory) in
        [("CACHE", "cache"), ("STATE", "state"), ("CONFIG", "config"), ("DATA", "data")]
    {
        command.env(format!("XDG_{variable}_HOME"), home.join(directory));
    }
    for variable in ["PRONY_URL", "PRONY_PASSWORD", "PRONY_STORE", "PRONY_DATA_LIMIT"] {
        command.env_remove(variable);
    }
    command
}

fn finished(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn write_study(home: &Path, measure: &str) {
    fs::write(home.join("tested.toml"), text(2_000, measure)).unwrap();
}

/// A study of one trial, which only reads.
fn write_short_study(home: &Path, measure: &str) {
    let text = text(2_000, measure)
        .replace("[\"oltp_delete\", \"oltp_point_select\"]", "[\"oltp_point_select\"]")
        .replace("repeats = 2", "repeats = 1");
    fs::write(home.join("tested.toml"), text).unwrap();
}

#[test]
fn two_runs_at_once_and_one_after_them_use_what_one_of_them_loaded() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    write_short_study(home, "reuse = \"always\"");
    let start = |store: &str| -> Child {
        let mut command = prony(home, &["run", "tested.toml"]);
        command.env("PRONY_STORE", home.join(store));
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start("one.sqlite"), start("two.sqlite")];
    let both = both.map(|child| finished(&child.wait_with_output().unwrap()));
    assert!(both.iter().any(|said| said.contains("data loaded and verified")), "{both:?}");
    let [kept] = <[_; 1]>::try_from(cached_data(&places(home)).unwrap()).unwrap();
    assert!(!kept.in_use && kept.data.rows() == 2_000 && kept.product == "mariadb", "{kept:?}");

    let said = finished(&prony(home, &["run", "tested.toml"]).output().unwrap());
    assert!(said.contains("data of an earlier run restored and verified"), "{said}");
    assert!(!said.contains("data loaded"), "{said}");
    let list = prony(home, &["server", "data"]).output().unwrap();
    assert!(String::from_utf8_lossy(&list.stdout).contains(&kept.name), "{list:?}");
    let removed = prony(home, &["server", "data", "--remove", &kept.name]).output().unwrap();
    assert!(removed.status.success() && cached_data(&places(home)).unwrap().is_empty(), "{removed:?}");
}

#[test]
#[ignore = "long: starts a server several times"]
fn a_run_that_is_killed_while_files_are_copied_leaves_nothing_and_the_next_one_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    write_short_study(home, "reuse = \"always\"");
    let (data, instances) = (places(home).data(), places(home).instances());
    let has = |directory: &Path, wanted: &dyn Fn(&str) -> bool| {
        let mut entries = directory.read_dir().into_iter().flatten().flatten();
        entries.any(|entry| wanted(&entry.file_name().to_string_lossy()))
    };
    let unfinished = || has(&data, &|name| name.ends_with(".unfinished"));
    // While the entry of the cache is written; and while a server starts on it.
    let moments: [&dyn Fn() -> bool; 2] =
        [&unfinished, &|| has(&data, &|name| !name.starts_with('.')) && has(&instances, &|_| true)];
    for moment in moments {
        let mut run =
            prony(home, &["run", "tested.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while !moment() && run.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(120), "it never came to that");
            thread::sleep(Duration::from_millis(1));
        }
        run.kill().unwrap();
        run.wait().unwrap();
        let begun = Instant::now();
        while !processes_of(&instances).is_empty() {
            assert!(begun.elapsed() < WAIT, "a server outlives Prony");
            thread::sleep(Duration::from_millis(10));
        }
    }
    finished(&prony(home, &["run", "tested.toml"]).output().unwrap());
    assert!(!unfinished() && !has(&instances, &|_| true), "it is swept");
    assert_eq!(cached_data(&places(home)).unwrap().len(), 1);
}

#[test]
fn a_disk_that_is_too_small_for_snapshots_is_told_before_anything_starts_with_a_way_out() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let Some(_disk) = Disk::mounted(home.join("state"), "550m") else { return };
    write_study(home, "fresh = \"snapshot\"");
    let refused = prony(home, &["run", "tested.toml"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for words in ["MB of them for snapshots", "fresh = \"reload\"", "XDG_STATE_HOME"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!said.contains("starting"), "{said}");
}

#[test]
#[ignore = "long: a whole run"]
fn a_disk_that_is_too_small_for_snapshots_has_room_for_a_run_without_them() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let Some(_disk) = Disk::mounted(home.join("state"), "550m") else { return };
    write_study(home, "fresh = \"reload\"");
    finished(&prony(home, &["run", "tested.toml"]).output().unwrap());
}

#[test]
#[ignore = "long: every generation of servers, and a million rows"]
fn every_generation_of_servers_is_brought_back() {
    for (product, version) in
        [("mysql", "5.5"), ("mysql", "5.7"), ("mysql", "8.0"), ("mariadb", "10.1"), ("mariadb", "11.8")]
    {
        for engine in ["InnoDB", "MyISAM"] {
            brought_back(product, version, engine, 2);
        }
        for measure in ["fresh = \"snapshot\"", "fresh = \"always\"\nwarm = \"pages\""] {
            let home = tempfile::tempdir().unwrap();
            let study = text(20_000, measure)
                .replace(
                    "\"mariadb\"\nversion = \"10.11\"",
                    &format!("\"{product}\"\nversion = \"{version}\""),
                )
                .replace("oltp_point_select", "oltp_update_index");
            let (began, remarks) = carried_out(home.path(), &parse(&study));
            for (_, how) in &began {
                eprintln!("{product} {version}: {how:?}");
                assert!(
                    !how.settled.unwrap().limit_reached && how.data != Origin::Left,
                    "{began:#?} {remarks:?}"
                );
            }
        }
    }
}

#[test]
#[ignore = "long: loads a million rows again and again"]
fn putting_a_million_rows_back_is_faster_than_loading_them() {
    for (product, version) in [("mariadb", "10.11"), ("mysql", "8.0")] {
        let home = tempfile::tempdir().unwrap();
        let (provisioner, plan) = (provisioner(home.path()), data(1, 1_000_000, "InnoDB"));
        let mut up = provisioner.bring_up(&server(product, version), 0, &mut |_| ()).unwrap();
        let target = up.target().clone();
        let mut loads = Vec::new();
        for _ in 0..3 {
            dataset::cleanup(&target, &|_| true).unwrap();
            let begun = Instant::now();
            load(&target, &plan);
            loads.push(begun.elapsed());
        }
        let begun = Instant::now();
        let mut snapshot = provisioner.snapshot(&mut up, None, true, &mut |_| ()).unwrap().unwrap();
        let taking = begun.elapsed();
        let mut restores = Vec::new();
        for _ in 0..3 {
            run_sql(&up, "UPDATE sbtest1 SET k = k + 1 WHERE id % 100 = 0");
            let begun = Instant::now();
            provisioner.put_back(&mut up, &mut snapshot, &mut |_| ()).unwrap();
            restores.push(begun.elapsed());
        }
        let begun = Instant::now();
        dataset::warm(&target, &plan, &mut |_| (), &GO_ON).unwrap();
        let (warming, bytes) = (begun.elapsed(), snapshot.bytes());
        loads.sort();
        restores.sort();
        eprintln!(
            "{product} {version}: load {loads:?}, snapshot of {bytes} bytes {taking:?}, back {restores:?}, \
             warm {warming:?}"
        );
        assert!(restores[1] < loads[1], "{restores:?} {loads:?}");
    }
}
