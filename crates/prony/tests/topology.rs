//! Servers that work together, real ones: a primary with replicas, a cluster.

mod support {
    #[expect(dead_code, reason = "a server of its own is for other tests")]
    pub(crate) mod server;
}

use load::{Stop, client::Connection};
use prony::{
    plan::{Replication, ServerPlan, ServerSource, Topology, WaitPoint},
    provision::{Error, Group, Places, Provisioner, catalogue, directly, fetch},
};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use support::server::processes_of;

const WAIT: Duration = Duration::from_secs(60);

fn provisioner(state: &Path) -> Provisioner {
    let places = Places { state: state.to_owned(), ..Places::of_user().expect("a home") };
    Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony"))).encrypted(false)
}

fn bring_up(state: &Path, product: &str, version: &str, topology: Topology) -> Result<Group, Error> {
    let source = ServerSource::Product { product: product.to_owned(), version: Some(version.to_owned()) };
    let plan = ServerPlan { topology, ..ServerPlan::new("tested", source) };
    provisioner(state).bring_up_group(&plan, 0, &mut directly, &mut |_| ())
}

fn replicas(count: u32, wait_point: Option<Option<WaitPoint>>) -> Topology {
    let replication = wait_point.map_or(Replication::Asynchronous, |wait_point| {
        let timeout = Duration::from_millis(500);
        Replication::SemiSynchronous { wait_point, acknowledgements: 1, timeout }
    });
    Topology::Replicas { count, replication }
}

fn value(connection: &mut Connection, statement: &str) -> String {
    let answer = connection.query(statement).expect(statement);
    let row = answer.results[0].rows.first().cloned().unwrap_or_default();
    row.last().cloned().flatten().unwrap_or_default()
}

fn open(server: &prony::provision::Server) -> Connection {
    Connection::open(server.target(), WAIT).expect("a connection")
}

/// What is written at the first server is found at all others, each of which has an identity of its own; then
/// all are gone.
fn try_group(state: &Path, group: Group) {
    let mut primary = open(group.primary());
    primary.query("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB").expect("a table");
    for number in 0..50 {
        primary.query(&format!("INSERT INTO t VALUES ({number})")).expect("a row");
    }
    group.wait_until_equal(WAIT, &Stop::default()).expect("equal");
    let mut ids = Vec::new();
    for server in group.servers() {
        let mut connection = open(server);
        assert_eq!(value(&mut connection, "SELECT COUNT(*) FROM t"), "50");
        ids.push(value(&mut connection, "SELECT @@server_id"));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), group.servers().count(), "{ids:?}");
    let health = group.watch().health().expect("an answer").expect("several servers");
    assert_eq!(health.faults, []);
    drop(primary);
    group.stop().expect("stopped");
    assert_eq!(processes_of(state), [""; 0]);
}

#[test]
fn a_replica_has_what_its_primary_has_committed_and_a_fall_back_is_seen() {
    let state = tempfile::tempdir().expect("a directory");
    let topology = replicas(1, Some(Some(WaitPoint::AfterSync)));
    let group = bring_up(state.path(), "mariadb", "10.11", topology).expect("a group");
    let semi_sync =
        || group.watch().health().expect("an answer").expect("two servers").semi_sync.expect("counters");
    let mut primary = open(group.primary());
    assert_eq!(value(&mut primary, "SELECT @@rpl_semi_sync_master_wait_point"), "AFTER_SYNC");
    primary.query("CREATE TABLE s (a INT)").expect("a table");
    let before = semi_sync();
    assert!(before.is_on && before.acknowledged > 0 && before.unacknowledged == 0, "{before:?}");
    let mut replica = open(&group.members()[0]);
    replica.query("STOP SLAVE").expect("stopped");
    primary.query("INSERT INTO s VALUES (1)").expect("a row, late");
    let after = semi_sync();
    assert!(!after.is_on && after.unacknowledged > 0, "{after:?}");
    let faults = group.watch().health().expect("an answer").expect("two servers").faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    replica.query("START SLAVE").expect("started");
    group.wait_until_equal(WAIT, &Stop::default()).expect("equal again");
    assert!(semi_sync().is_on);
    drop((primary, replica));
    try_group(state.path(), group);
}

/// How each server of the catalogue can replicate: `None`, where its package lacks the plug-ins,
/// asynchronously.
const WAYS: [(&str, Option<WaitPoint>); 18] = [
    ("mysql-5.5.34", Some(WaitPoint::AfterCommit)),
    ("mysql-5.6.14", Some(WaitPoint::AfterCommit)),
    ("mysql-5.6.24", None),
    ("mysql-5.7.19", None),
    ("mysql-5.7.22", None),
    ("mysql-8.0.12", None),
    ("mysql-8.0.15", None),
    ("mysql-8.0.33", Some(WaitPoint::AfterSync)),
    ("mysql-9.7-debian", Some(WaitPoint::AfterSync)),
    ("mariadb-10.1.13", None),
    ("mariadb-10.1.23", None),
    ("mariadb-10.2.11", None),
    ("mariadb-10.5-debian", Some(WaitPoint::AfterSync)),
    ("mariadb-10.11.5", Some(WaitPoint::AfterSync)),
    ("mariadb-10.11-debian", Some(WaitPoint::AfterSync)),
    ("mariadb-11.4.5", Some(WaitPoint::AfterSync)),
    ("mariadb-11.8-debian", Some(WaitPoint::AfterSync)),
    ("mariadb-11.8-sid", Some(WaitPoint::AfterSync)),
];

#[test]
#[ignore = "long: fetches every server of the catalogue, starts two of each"]
fn every_version_replicates_as_it_can() {
    let places = Places::of_user().expect("a home");
    for entry in catalogue::entries().iter().filter(|entry| entry.runs_here()) {
        let way = WAYS.iter().find(|(name, _)| *name == entry.name);
        let (name, wait_point) = *way.unwrap_or_else(|| panic!("how does {} replicate?", entry.name));
        let state = tempfile::tempdir().expect("a directory");
        let began = std::time::Instant::now();
        provisioner(state.path()).fetch(entry, &mut |_| ()).expect("a server");
        let bring_up = |topology| {
            let source = ServerSource::Path(fetch::place(entry, &places));
            let plan = ServerPlan { topology, ..ServerPlan::new("tested", source) };
            provisioner(state.path()).bring_up_group(&plan, 0, &mut directly, &mut |_| ())
        };
        if wait_point.is_none() {
            let error = bring_up(replicas(1, Some(None))).unwrap_err().to_string();
            assert!(error.contains("its package lacks"), "{name}: {error}");
        }
        let group = bring_up(replicas(1, wait_point.map(Some)));
        try_group(state.path(), group.unwrap_or_else(|error| panic!("{name}: {error}")));
        println!("{name}: {:.1} s", began.elapsed().as_secs_f64());
    }
}

/// With two replicas, of which one is held back: what waits for one goes on, what waits for both is given up,
/// and says so.
#[test]
#[ignore = "long: fetches MySQL 8.0 and 9.7, starts three of each twice"]
fn a_commit_waits_for_as_many_replicas_as_it_was_told_to() {
    for (product, version) in [("mysql", "8.0"), ("mysql", "9.7")] {
        for acknowledgements in [1, 2] {
            let state = tempfile::tempdir().expect("a directory");
            let group = bring_up(state.path(), product, version, two_replicas(acknowledgements));
            let group = group.unwrap_or_else(|error| panic!("{product} {version}: {error}"));
            let semi_sync =
                || group.watch().health().expect("an answer").expect("servers").semi_sync.expect("counters");
            let mut primary = open(group.primary());
            primary.query("CREATE TABLE s (a INT)").expect("a table");
            let before = semi_sync();
            assert!(before.is_on && before.acknowledged > 0 && before.unacknowledged == 0, "{before:?}");
            let mut held_back = open(&group.members()[1]);
            held_back.query("STOP REPLICA").expect("stopped");
            primary.query("INSERT INTO s VALUES (1)").expect("a row");
            let after = semi_sync();
            println!("{product} {version}, {acknowledgements} of 2: {before:?}, then {after:?}");
            if acknowledgements == 1 {
                assert!(after.is_on && after.unacknowledged == 0, "{after:?}");
                assert!(after.acknowledged > before.acknowledged, "{after:?}");
            } else {
                assert!(!after.is_on && after.unacknowledged == 1 && after.given_up == 1, "{after:?}");
            }
            let faults = group.watch().health().expect("an answer").expect("servers").faults;
            assert_eq!(faults.iter().map(|fault| fault.server).collect::<Vec<_>>(), [2], "{faults:?}");
            held_back.query("START REPLICA").expect("started");
            group.wait_until_equal(WAIT, &Stop::default()).expect("equal again");
            assert!(semi_sync().is_on);
            drop((primary, held_back));
            try_group(state.path(), group);
        }
    }
}

fn two_replicas(acknowledgements: u32) -> Topology {
    let (wait_point, timeout) = (Some(WaitPoint::AfterSync), Duration::from_millis(500));
    let replication = Replication::SemiSynchronous { wait_point, acknowledgements, timeout };
    Topology::Replicas { count: 2, replication }
}

#[test]
fn a_server_that_waits_for_one_replica_alone_is_not_asked_for_two() {
    let state = tempfile::tempdir().expect("a directory");
    let error = bring_up(state.path(), "mariadb", "10.11", two_replicas(2)).unwrap_err().to_string();
    assert!(error.contains("can only wait for one replica, not for 2"), "{error}");
    assert_eq!(processes_of(state.path()), [""; 0]);
}

/// A replica that stands still in the middle of a load: commits went on without it, which no figure shows;
/// the run notices.
#[test]
#[ignore = "long: a run whose replica stands still for seconds"]
fn a_run_in_which_a_replica_stands_still_leaves_that_trial_out() {
    let home = tempfile::tempdir().expect("a directory");
    let instances = home.path().join("state/prony/instances");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let report = std::thread::scope(|scope| {
        scope.spawn(|| hold_back(&instances, &is_over));
        let report = run(home.path(), FALLING_BACK);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        report
    });
    // with the reason, and another one stands in its place
    assert!(report.to_string().contains("fell back to asynchronous"), "{report}");
    assert_eq!(processes_of(home.path()), [""; 0]);
}

const FALLING_BACK: &str = r#"
[server.a]
product = "mariadb"
version = "10.11"
topology = { replicas = 2, replication = "after-commit", timeout = "500ms" }
[data]
rows = 100
[client]
workers = 1 # not found out by a load of its own, in which the replicas would stand still
[[stream]]
workload = "oltp_update_non_index"
connections = 4
[measure]
warm_up = "500ms"
interval = "8s"
repeats = 1
"#;

/// Stops the replicas' processes once the load writes, and lets them go on two seconds later.
fn hold_back(instances: &Path, is_over: &std::sync::atomic::AtomicBool) {
    use rustix::process::{Pid, Signal, kill_process};
    /// The data are far less, heartbeats take a minute for it.
    const LOAD_BYTES: u64 = 300_000;
    let is_over = || is_over.load(std::sync::atomic::Ordering::Relaxed);
    let files = |directory: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let written = |server: &PathBuf| -> u64 {
        let logs = files(&server.join("data")).into_iter().filter(|file| name(file).starts_with("binlog.0"));
        logs.filter_map(|log| Some(log.metadata().ok()?.len())).sum()
    };
    let is_replica =
        |server: &PathBuf| files(&server.join("data")).iter().any(|file| name(file).starts_with("relay"));
    while !is_over() && files(instances).iter().map(written).max() < Some(LOAD_BYTES) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let replicas = files(instances).into_iter().filter(is_replica);
    let pids: Vec<_> = replicas
        .filter_map(|server| std::fs::read_to_string(server.join("pid")).ok()?.trim().parse().ok())
        .filter_map(Pid::from_raw)
        .collect();
    let all = |signal| pids.iter().for_each(|pid| kill_process(*pid, signal).unwrap_or(()));
    all(Signal::STOP);
    std::thread::sleep(Duration::from_secs(2));
    all(Signal::CONT);
}

#[test]
#[ignore = "long: fetches every MariaDB of the catalogue and Galera, starts clusters"]
fn every_mariadb_is_a_cluster_that_takes_writes_and_can_be_restarted() {
    for version in ["10.1", "10.2", "10.5", "10.11", "11.4", "11.8"] {
        let state = tempfile::tempdir().expect("a directory");
        let began = std::time::Instant::now();
        let group = bring_up(state.path(), "mariadb", version, Topology::Galera { nodes: 2 });
        let mut group = group.unwrap_or_else(|error| panic!("{version}: {error}"));
        assert!(provisioner(state.path()).restart_group(&mut group, &mut |_| ()).expect("restarted"));
        try_group(state.path(), group);
        println!("{version}: {:.1} s", began.elapsed().as_secs_f64());
    }
}

/// What a run tells of its trials, with the study's own words.
fn run(home: &Path, study: &str) -> serde_json::Value {
    let file = home.join("study.toml");
    std::fs::write(&file, study).expect("written");
    let prony = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments).current_dir(home).env("XDG_STATE_HOME", home.join("state"));
        command.env("XDG_DATA_HOME", home.join("data")).output().expect("prony starts")
    };
    let output = prony(&["run", "study.toml"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = prony(&["report", "--format", "json"]);
    serde_json::from_slice(&report.stdout).expect("a report in JSON")
}

/// A stream to the primary and one to all; how far the replica is behind is measured with them.
#[test]
fn a_study_says_how_far_a_replica_is_behind() {
    let home = tempfile::tempdir().expect("a directory");
    let report = run(
        home.path(),
        r#"
[server.a]
product = "mariadb"
version = "10.11"
topology = { replicas = 1, replication = "after-commit" }
[data]
rows = 500
[[stream]]
name = "writes"
workload = "oltp_update_non_index"
connections = 2
[[stream]]
name = "reads"
workload = "oltp_point_select"
connections = 4
to = "all"
[measure]
warm_up = "200ms"
interval = "1500ms"
repeats = 1
"#,
    );
    let point = &report["points"][0];
    let following = &point["following"];
    let lag = following["members"][0]["lag_ms"]["p50"].as_f64().expect("a lag");
    assert!(lag > 0.0, "{following}");
    assert!(following["members"][0]["drain_s"].as_f64().is_some(), "{following}");
    assert!(following["semi_sync"]["acknowledged"].as_u64() > Some(0), "{following}");
    assert_eq!(point["errors"], serde_json::json!({}), "{point}");
    assert_eq!(report["points"][1]["errors"], serde_json::json!({}));
    assert_eq!(processes_of(home.path()), [""; 0]);
}

/// Ways of waiting for a replica that is a network away, each with a client that is one away, too.
const OVER_A_NETWORK: &str = r#"
[server.mysql]
product = "mysql"
version = "8.0"
[server.mariadb]
product = "mariadb"
version = "10.11"
[topology]
replicas = 1
latency = "800us"
[client]
latency = "800us"
[data]
rows = 500
[[stream]]
workload = "oltp_update_non_index"
connections = 4
[vary]
"topology.replication" = ["after-sync", "after-commit"]
[measure]
warm_up = "300ms"
interval = "1500ms"
repeats = 1
"#;

/// A commit takes the client's round trip, and waits for the replica's.
#[test]
#[ignore = "long: fetches MySQL 8.0, starts eight servers"]
fn semi_synchronous_replication_waits_for_the_network_between_the_servers() {
    let home = tempfile::tempdir().expect("a directory");
    let report = run(home.path(), OVER_A_NETWORK);
    let points = report["points"].as_array().expect("points");
    assert_eq!(points.len(), 4, "{points:?}");
    for point in points {
        let semi_sync = &point["following"]["semi_sync"];
        let waited = semi_sync["wait_mean_ms"].as_f64().expect("a wait");
        println!("{}: waited {waited} ms, {}", point["server"], point["following"]["members"][0]["lag_ms"]);
        // what comes to the replica together is acknowledged together, so a few wait for a part of the way
        // only
        assert!(waited > 0.4, "{point}");
        assert!(semi_sync["acknowledged"].as_u64() > Some(0), "{point}");
        assert_eq!(semi_sync["unacknowledged"], 0, "{point}");
        assert_eq!(point["errors"], serde_json::json!({}), "{point}");
    }
    assert_eq!(processes_of(home.path()), [""; 0]);
}

#[test]
#[ignore = "long: fetches galera-4; a run with a replica and a cluster is killed and goes on"]
fn a_killed_run_leaves_no_server_of_any_topology_and_goes_on() {
    kill_and_resume(CLUSTER_AND_REPLICA, "1/6", 4);
}

#[test]
#[ignore = "long: fetches MySQL 8.0; a run with replicas over a network is killed and goes on"]
fn a_killed_run_leaves_no_network_between_servers_and_goes_on() {
    kill_and_resume(OVER_A_NETWORK, "2/4", 8);
}

const CLUSTER_AND_REPLICA: &str = r#"
[server.replica]
product = "mariadb"
version = "10.11"
topology = { replicas = 1, replication = "after-sync" }
[server.cluster]
product = "mariadb"
version = "10.11"
topology = { galera = 2 }
[data]
rows = 500
[[stream]]
workload = "oltp_update_non_index"
connections = 2
[measure]
warm_up = "100ms"
interval = "1s"
repeats = 3
"#;

/// Kills a run behind the trial whose line has `trial`, while at least so many servers run, and lets it go
/// on.
fn kill_and_resume(study: &str, trial: &str, servers: usize) {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("study.toml"), study).expect("written");
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments).current_dir(home.path()).env("XDG_STATE_HOME", home.path().join("state"));
        command.env("XDG_DATA_HOME", home.path().join("data"));
        command
    };
    let mut child =
        command(&["run", "study.toml"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with(trial)), "a trial ends");
    let running = processes_of(home.path()).len();
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(running >= servers, "{running} servers");
    let begun = std::time::Instant::now();
    while !processes_of(home.path()).is_empty() {
        assert!(begun.elapsed() < WAIT, "{:?}", processes_of(home.path()));
        std::thread::sleep(Duration::from_millis(50));
    }
    let resumed = command(&["run", "study.toml", "--resume"]).output().expect("starts");
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let instances = home.path().join("state/prony/instances");
    assert_eq!(std::fs::read_dir(instances).into_iter().flatten().count(), 0, "swept");
    assert_eq!(processes_of(home.path()), [""; 0]);
}
