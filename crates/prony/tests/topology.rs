//! Servers that work together, real ones: a primary with replicas, a cluster.

mod support {
    #[expect(dead_code, reason = "a server of its own is for other tests")]
    pub(crate) mod server;
}

use load::{Stop, client::Connection};
use prony::{
    plan::{Replication, ServerPlan, ServerSource, Topology, WaitPoint},
    provision::{Error, Group, Places, Provisioner, directly},
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use support::server::processes_of;

const WAIT: Duration = Duration::from_secs(60);

fn bring_up(state: &Path, product: &str, version: &str, topology: Topology) -> Result<Group, Error> {
    let places = Places { state: state.to_owned(), ..Places::of_user().expect("a home") };
    let provisioner = Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")));
    let source = ServerSource::Product { product: product.to_owned(), version: Some(version.to_owned()) };
    let plan = ServerPlan { topology, ..ServerPlan::new("tested", source) };
    provisioner.bring_up_group(&plan, 0, &mut directly, &mut |_| ())
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

/// What is written at the first server is found at all others, each of which has an identity of its own; then all are gone.
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
    let health = group.health().expect("an answer").expect("several servers");
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
    let semi_sync = || group.health().expect("an answer").expect("two servers").semi_sync.expect("counters");
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
    let faults = group.health().expect("an answer").expect("two servers").faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    replica.query("START SLAVE").expect("started");
    group.wait_until_equal(WAIT, &Stop::default()).expect("equal again");
    assert!(semi_sync().is_on);
    drop((primary, replica));
    try_group(state.path(), group);
}

#[test]
#[ignore = "long: fetches galera-4, starts a cluster"]
fn a_galera_cluster_takes_writes_at_each_node() {
    for version in ["10.11", "10.5", "11.4", "11.8", "10.2", "10.1"] {
        let state = tempfile::tempdir().expect("a directory");
        let began = std::time::Instant::now();
        match bring_up(state.path(), "mariadb", version, Topology::Galera { nodes: 2 }) {
            Ok(group) => {
                println!("{version}: {:?}", began.elapsed());
                try_group(state.path(), group);
            }
            Err(error) => println!("{version}: {error}"),
        }
    }
}
