//! Audits of commits on real servers: what is lost when one is killed, and what is not.

use prony::{
    audit::{self, Crash},
    plan::{Audit, CrashKind, Replication, ServerPlan, ServerSource, Topology, WaitPoint},
    provision::{ImageDisk, Places, Provisioner, directly},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{
    require::{Need, require},
    server::processes_of,
};

mod support {
    #[expect(dead_code, reason = "needs of other tests")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "the server of other tests")]
    pub(crate) mod server;
}

/// Kills of one server, all together.
fn crashes(product: &str, version: &str, settings: &[(&str, &str)], topology: Topology, count: u32) -> Crash {
    let told = struck((product, version), settings, (topology, Duration::ZERO), (CrashKind::Kill, count));
    told.unwrap_or_else(|error| panic!("{error}"))
}

/// What is left of servers and their file systems.
fn instances(state: &Path) -> Vec<PathBuf> {
    let left = fs::read_dir(state.join("instances")).into_iter().flatten().flatten();
    left.map(|one| one.path()).collect()
}

/// Crashes of one kind of one server, with a network of this latency between it and its replicas, all
/// together.
fn struck(
    (product, version): (&str, &str),
    settings: &[(&str, &str)],
    (topology, latency_between): (Topology, Duration),
    (kind, count): (CrashKind, u32),
) -> Result<Crash, audit::Error> {
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let source = ServerSource::Product { product: product.to_owned(), version: Some(version.to_owned()) };
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let plan = ServerPlan { settings, topology, latency_between, ..ServerPlan::new("tested", source) };
    let provisioner = Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")));
    let wish = Audit { writers: 8, length: Duration::from_millis(700), crashes: count, kinds: vec![kind] };
    let mut sum = Crash { kind, acknowledged: 0, lost: 0, in_doubt: 0, unacknowledged: 0, recovery: 0.0 };
    for _ in 0..count {
        let stop = load::Stop::default();
        let crash = audit::crash(&provisioner, &plan, (&wish, kind), &mut directly, &stop, &mut |_| ())?;
        assert!(crash.acknowledged > 0 && crash.in_doubt <= 8 && crash.unacknowledged <= 8, "{crash:?}");
        assert!(crash.lost <= crash.acknowledged && crash.recovery > 0.0, "{crash:?}");
        sum.acknowledged += crash.acknowledged;
        sum.lost += crash.lost;
    }
    assert_eq!(instances(state.path()), Vec::<PathBuf>::new(), "all is removed");
    assert_eq!(processes_of(state.path()), Vec::<String>::new(), "a server lives");
    Ok(sum)
}

fn replicas(replication: Replication) -> Topology {
    Topology::Replicas { count: 1, replication }
}

#[test]
fn commits_that_are_on_the_disk_survive_a_kill_and_those_in_memory_do_not() {
    let durable = crashes("mariadb", "10.11", &[("flush_at_commit", "1")], Topology::Single, 1);
    assert_eq!(durable.lost, 0, "{durable:?}");
    // the log is written once per second, which may by chance be just before a kill
    let memory = crashes("mariadb", "10.11", &[("flush_at_commit", "0")], Topology::Single, 3);
    assert!(memory.lost > 0, "{memory:?}");
}

#[test]
fn a_commit_that_waited_for_its_replica_is_there() {
    let wait = Replication::SemiSynchronous {
        wait_point: Some(WaitPoint::AfterSync),
        acknowledgements: 1,
        timeout: Duration::from_secs(10),
    };
    let waited = crashes("mariadb", "10.11", &[], replicas(wait), 1);
    assert_eq!(waited.lost, 0, "{waited:?}");
}

#[test]
#[ignore = "long: servers of both products are killed in every mode of replication"]
fn every_mode_is_audited_on_both_products() {
    let wait = |wait_point| Replication::SemiSynchronous {
        wait_point: Some(wait_point),
        acknowledgements: 1,
        timeout: Duration::from_secs(10),
    };
    for (product, version) in [("mariadb", "10.11"), ("mysql", "8.0.33")] {
        for wait_point in [WaitPoint::AfterSync, WaitPoint::AfterCommit] {
            let waited = crashes(product, version, &[], replicas(wait(wait_point)), 3);
            assert_eq!(waited.lost, 0, "{product} {version}, {wait_point:?}: {waited:?}");
        }
        let asynchronous = crashes(product, version, &[], replicas(Replication::Asynchronous), 3);
        println!("{product} {version}, asynchronous: {asynchronous:?}");
        let flushed = crashes(product, version, &[("flush_at_commit", "2")], Topology::Single, 2);
        assert_eq!(flushed.lost, 0, "the operating system has them: {flushed:?}");
    }
    let cluster = crashes("mariadb", "10.11", &[], Topology::Galera { nodes: 2 }, 2);
    println!("Galera: {cluster:?}");
}

/// What was sent and is still on its way when the network is cut is lost, unless the commit waited for it.
#[test]
#[ignore = "long: networks of three groups of servers are cut"]
fn a_cut_network_loses_what_no_commit_waited_for() {
    let cut = |topology, latency_ms, count| {
        let topology = (topology, Duration::from_millis(latency_ms));
        struck(("mariadb", "10.11"), &[], topology, (CrashKind::Network, count))
            .unwrap_or_else(|error| panic!("{error}"))
    };
    // 20 ms from the primary to its replica hold the commits of these 20 ms
    let asynchronous = cut(replicas(Replication::Asynchronous), 40, 2);
    assert!(asynchronous.lost > 0, "{asynchronous:?}");
    let wait = Replication::SemiSynchronous {
        wait_point: Some(WaitPoint::AfterSync),
        acknowledgements: 1,
        timeout: Duration::from_secs(60),
    };
    let waited = cut(replicas(wait), 40, 2);
    assert_eq!(waited.lost, 0, "{waited:?}");
    let cluster = cut(Topology::Galera { nodes: 2 }, 0, 1);
    assert_eq!(cluster.lost, 0, "{cluster:?}");
    println!("asynchronous: {asynchronous:?}\nafter-sync: {waited:?}\nGalera: {cluster:?}");
}

/// A kill leaves what the operating system has; a loss of power only what was synced.
#[test]
#[ignore = "long: a server loses its power five times"]
fn a_loss_of_power_takes_what_was_not_synced() {
    let lose = |flush: &str, count| {
        let alone = (Topology::Single, Duration::ZERO);
        struck(("mariadb", "10.11"), &[("flush_at_commit", flush)], alone, (CrashKind::Power, count))
    };
    let synced = match lose("1", 2) {
        Err(error @ audit::Error::Power(_)) => Err(error.to_string()),
        told => Ok(told.unwrap_or_else(|error| panic!("{error}"))),
    };
    let Some(synced) = require(Need::LoopDevice, synced) else { return };
    assert_eq!(synced.lost, 0, "{synced:?}");
    // the log is synced once a second, which may by chance be just before
    let unsynced = lose("2", 3).unwrap_or_else(|error| panic!("{error}"));
    assert!(unsynced.lost > 0, "{unsynced:?}");
    println!("synced: {synced:?}\nnot synced: {unsynced:?}");
}

/// Mounts below a directory.
fn mounts(directory: &Path) -> usize {
    let all = fs::read_to_string("/proc/self/mounts").expect("a list");
    all.lines().filter(|line| line.contains(&format!(" {}/", directory.display()))).count()
}

const LOSING: &str = r#"
[server.a]
product = "mariadb"
version = "10.11"
[settings]
buffer_pool = "32M"
[data]
rows = 100
[[stream]]
workload = "oltp_point_select"
connections = 1
[measure]
warm_up = "0s"
interval = "100ms"
repeats = 1
[audit]
length = "60s"
kinds = "power"
"#;

#[test]
#[ignore = "long: a server is brought up for trials, and one for an audit"]
fn a_killed_audit_leaves_nothing_mounted_after_the_next_sweep() {
    let home = tempfile::tempdir().expect("a directory");
    let state = home.path().join("prony");
    let launcher = Path::new(env!("CARGO_BIN_EXE_prony"));
    let possible = ImageDisk::possible(&state.join("instances"), launcher).map_err(|error| error.to_string());
    let Some(()) = require(Need::LoopDevice, possible) else { return };
    assert_eq!((mounts(&state), instances(&state)), (0, Vec::new()), "what was only tried is gone");
    fs::write(home.path().join("study.toml"), LOSING).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["run", "study.toml"]).current_dir(home.path()).env("XDG_STATE_HOME", home.path());
    command.env("XDG_DATA_HOME", home.path().join("data")).env_remove("PRONY_STORE").stderr(Stdio::null());
    let mut prony = command.spawn().expect("prony starts");
    let (begun, is_written) = (Instant::now(), |path: &PathBuf| path.join("disk/instances").exists());
    while !instances(&state).iter().any(is_written) {
        assert!(begun.elapsed() < Duration::from_secs(120), "the audit does not begin");
        assert_eq!(prony.try_wait().expect("a child").map(|status| status.code()), None, "it goes on");
        thread::sleep(Duration::from_millis(20));
    }
    prony.kill().expect("a child");
    prony.wait().expect("a child");
    assert_eq!(mounts(&state), 1, "nobody was there to unmount it");
    let places = Places { state: state.clone(), ..Places::of_user().expect("a home") };
    let provisioner = Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")));
    provisioner.sweep().expect("swept");
    assert_eq!((mounts(&state), instances(&state)), (0, Vec::new()));
    assert_eq!(processes_of(&state), Vec::<String>::new(), "a server lives");
}
