//! What limited a load, by figures that show it, and nothing where none does.

use super::*;
use crate::{
    analyse::Limiting,
    run::{Doubt, Level, What},
    telemetry::Reading,
};

/// Limits of the first trial's treatment, on two processors of which `idle` were idle, with further readings
/// and doubts.
fn limits(idle: f64, more: &[(&str, f64)], doubts: &[Doubt], connections: u32) -> Vec<Limiting> {
    let mut record = record(plan(&["repeats=1"]), |treatment, _| bent(treatment));
    let values = [
        ("machine/cpu_user", 2.0 - idle),
        ("machine/cpu_system", 0.0),
        ("machine/cpu_idle", idle),
        ("node/server/process/cpu_user", 0.5),
    ];
    let values = values.iter().chain(more).map(|(path, value)| ((*path).to_owned(), *value)).collect();
    let second = Duration::from_secs(1);
    let at = record.plan.warm_up + second;
    record.trials[0].readings = vec![Reading { at, length: second, values }].into();
    let TrialOutcome::Measured { doubts: told, .. } = &mut record.trials[0].outcome else {
        panic!("measured");
    };
    *told = doubts.to_vec();
    let treatment = record.trials[0].trial.treatment;
    record.plan.treatments[treatment].streams[0].connections = connections;
    resources(&record).into_iter().find(|one| one.treatment == treatment).expect("sampled").limits
}

#[test]
fn syncs_of_the_log_are_a_limit_where_the_disk_does_little_else() {
    let disk = |share| [("machine/disk/sda/flush_seconds", share), ("machine/disk/sda/flushes", 250.0)];
    let syncs = [("node/server/status/log_syncs", 240.0)];
    let found = limits(1.0, &[&disk(0.75)[..], &syncs].concat(), &[], 64);
    let name = "sda".to_owned();
    assert_eq!(found, [Limiting::LogSyncs { name, share: 0.75, wait_ms: 3.0, syncs: 240.0 }]);
    assert_eq!(limits(1.0, &[&disk(0.4)[..], &syncs].concat(), &[], 64), []);
    assert_eq!(limits(1.0, &disk(0.75), &[], 64), [], "nobody synced a log");
}

#[test]
fn few_connections_are_a_limit_where_processors_are_at_rest_and_nothing_else_is() {
    assert_eq!(limits(1.2, &[], &[], 2), [Limiting::Connections { connections: 2, share: 0.6 }]);
    assert_eq!(limits(1.2, &[], &[], 64), [], "they could use the processors, and do not");
    assert_eq!(limits(0.5, &[], &[], 2), []);
}

#[test]
fn a_busy_thread_of_the_client_is_a_limit_of_its_own() {
    let busy = |busy| [Doubt { level: Level::Suspicious, stream: None, what: What::WorkerBusy { busy } }];
    assert_eq!(limits(1.2, &[], &busy(0.96), 2), [Limiting::Client { busy: 0.96 }]);
    assert_eq!(limits(1.2, &[], &busy(0.82), 64), []);
}
