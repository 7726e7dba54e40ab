//! The state in which trials begin, in words and figures: how often data are restored, and how long that
//! takes.

use super::{Act, Fresh, Plan, Reuse, Treatment, Trial, Warm};
use crate::{layout::Layout as _, quantity::show_size_about};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The time to stop a server, copy what a trial changed in its own files, and start it again: without its
/// data.
const PUT_BACK: Duration = Duration::from_millis(2000);
/// Bytes that are copied and written to the disk per second.
const COPY_BYTES_PER_SECOND: u64 = 300_000_000;
/// Bytes that are read into a buffer pool per second.
const READ_BYTES_PER_SECOND: u64 = 300_000_000;

/// How often data are restored in the course of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PutBack {
    /// From a snapshot, with a restart of the server.
    pub(super) restored: u32,
    /// By reloading.
    pub(super) reloaded: u32,
    /// What both take.
    pub(super) time: Duration,
    /// Snapshots that are taken.
    pub(super) snapshots: u32,
    /// What these take on the disk.
    pub(super) disk_bytes: u64,
}

/// Goes through the trials in their order.
pub(super) fn put_back(plan: &Plan, trials: &[Trial], server_bytes: u64, bytes_per_second: u64) -> PutBack {
    let snapshots = plan.snapshots();
    let bytes = |data: usize| plan.data_sets[data].size_bytes();
    let mut sum = PutBack {
        snapshots: u32::try_from(snapshots.len()).unwrap_or(u32::MAX),
        disk_bytes: snapshots.iter().map(|&(_, data)| bytes(data) + server_bytes).sum(),
        ..PutBack::default()
    };
    let copy = |bytes: u64| Duration::from_secs(bytes / COPY_BYTES_PER_SECOND);
    sum.time +=
        snapshots.iter().map(|&(_, data)| PUT_BACK + copy(bytes(data) + server_bytes)).sum::<Duration>();
    // Data set that each server holds, and whether the next trial is to find another state of it.
    let mut held: BTreeMap<usize, (usize, bool)> = BTreeMap::new();
    for trial in trials {
        let treatment = &plan.treatments[trial.treatment];
        let (server, data) = (treatment.server, treatment.data);
        let &mut (holds, stale) = held.entry(server).or_insert((data, false));
        if (holds != data || stale) && !plan.data_sets[data].is_empty() {
            let warm = if plan.state.warm == Warm::None { 0 } else { bytes(data) / READ_BYTES_PER_SECOND };
            sum.time += Duration::from_secs(warm);
            if snapshots.contains(&(server, data)) {
                sum.restored += 1;
                sum.time += PUT_BACK + copy(bytes(data));
            } else {
                sum.reloaded += 1;
                sum.time += Duration::from_secs(bytes(data) / bytes_per_second);
            }
        }
        let stale = match plan.state.fresh {
            Fresh::Never => false,
            Fresh::Always => true,
            Fresh::Auto | Fresh::Snapshot | Fresh::Reload => treatment.writes(),
        };
        held.insert(server, (data, stale));
    }
    sum
}

/// Sentences for a reader of the plan.
pub(super) fn lines(plan: &Plan, put_back: &PutBack) -> Vec<String> {
    let mut lines = Vec::new();
    let writes = plan.treatments.iter().any(Treatment::writes);
    let elsewhere = plan.servers.iter().any(|server| !server.may(Act::Restart));
    let times = |count: u32| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    if put_back.restored > 0 {
        lines.push(format!(
            "data is restored to its loaded state {}, each time with a restart of the server: from {}, {} on \
             disk",
            times(put_back.restored),
            if put_back.snapshots == 1 {
                "a snapshot".to_owned()
            } else {
                format!("{} snapshots", put_back.snapshots)
            },
            show_size_about(put_back.disk_bytes)
        ));
    }
    if put_back.reloaded > 0 {
        let here = if elsewhere { "; a server that runs elsewhere is not stopped" } else { "" };
        let after =
            if plan.state.fresh == Fresh::Always { "" } else { " if an earlier trial has changed it" };
        lines.push(format!("data is reloaded{after}, {}{here}", times(put_back.reloaded)));
    }
    if plan.state.fresh == Fresh::Never && writes {
        lines.push("data stays as earlier trials left it".to_owned());
    }
    let foreign: BTreeSet<String> =
        plan.treatments.iter().flat_map(|treatment| plan.foreign_written(treatment)).collect();
    if !foreign.is_empty() {
        let tables = foreign.into_iter().collect::<Vec<_>>().join(", ");
        lines.push(format!(
            "not restored: {tables}, which trials write to and Prony did not create; each trial finds them \
             as earlier ones left them"
        ));
    }
    if !plan.state.settle.is_zero() {
        lines.push(format!(
            "dirty pages are written and old row versions purged, for at most {} s{}",
            plan.state.settle.as_secs_f64(),
            if elsewhere {
                "; on a server that Prony did not start, it only waits for the purge"
            } else {
                ""
            }
        ));
    }
    lines.extend(match plan.state.warm {
        Warm::None => None,
        Warm::Tables => {
            Some("after a start or a change of data, tables and indexes are read into memory once".to_owned())
        }
        Warm::Pages => Some("after a start, the pages that were in memory before are read back".to_owned()),
    });
    lines.extend(match plan.state.reuse {
        Reuse::Never => None,
        Reuse::Auto => Some(
            "data that takes long to load is cached for later runs (`prony server data` lists it)".to_owned(),
        ),
        Reuse::Always => {
            Some("loaded data is cached for later runs (`prony server data` lists it)".to_owned())
        }
    });
    lines
}
