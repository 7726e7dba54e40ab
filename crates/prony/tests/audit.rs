//! Audits of commits on real servers: what is lost when one is killed, and what is not.

use prony::{
    audit::{self, Crash},
    plan::{Audit, Replication, ServerPlan, ServerSource, Topology, WaitPoint},
    provision::{Places, Provisioner, directly},
};
use std::{path::PathBuf, time::Duration};
use support::server::processes_of;

mod support {
    #[expect(dead_code, reason = "the server of other tests")]
    pub(crate) mod server;
}

/// Crashes of one server, all together.
fn crashes(product: &str, version: &str, settings: &[(&str, &str)], topology: Topology, count: u32) -> Crash {
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let source = ServerSource::Product { product: product.to_owned(), version: Some(version.to_owned()) };
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let plan = ServerPlan { settings, topology, ..ServerPlan::new("tested", source) };
    let provisioner = Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")));
    let wish = Audit { writers: 8, length: Duration::from_millis(700), crashes: count };
    let mut sum = Crash { acknowledged: 0, lost: 0, in_doubt: 0, unacknowledged: 0, recovery: 0.0 };
    for _ in 0..count {
        let stop = load::Stop::default();
        let crash = audit::crash(&provisioner, &plan, &wish, &mut directly, &stop, &mut |_| ());
        let crash = crash.unwrap_or_else(|error| panic!("{error}"));
        assert!(crash.acknowledged > 0 && crash.in_doubt <= 8 && crash.unacknowledged <= 8, "{crash:?}");
        assert!(crash.lost <= crash.acknowledged && crash.recovery > 0.0, "{crash:?}");
        sum.acknowledged += crash.acknowledged;
        sum.lost += crash.lost;
    }
    assert_eq!(processes_of(state.path()), Vec::<String>::new(), "a server lives");
    sum
}

fn replicas(replication: Replication) -> Topology {
    Topology::Replicas { count: 1, replication }
}

#[test]
fn commits_that_are_on_the_disk_survive_a_kill_and_those_in_memory_do_not() {
    let durable = crashes("mariadb", "10.11", &[("flush_at_commit", "1")], Topology::Single, 1);
    assert_eq!(durable.lost, 0, "{durable:?}");
    // the log is written once a second, which may by chance be just before a kill
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
