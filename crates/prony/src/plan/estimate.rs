//! What a plan will cost, before anything starts: time, disk, memory. Rough on purpose; each constant says
//! where it comes from.

use super::{
    Act, Audit, Plan, Trial,
    state::{self, PutBack},
};
use crate::{family, layout::Layout as _, quantity};
use std::{collections::BTreeSet, time::Duration};

/// What a plan will cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// From start to report, without fetching servers.
    pub time: Duration,
    /// Of that: the trials.
    pub trials: Duration,
    /// On disk, all servers that Prony starts together, bytes.
    pub disk_bytes: u64,
    /// In memory at the highest number of connections, all servers that Prony starts together, bytes.
    pub memory_bytes: u64,
}

/// Around a trial: closing the last load's connections, reading the server's status.
pub const TRIAL_OVERHEAD: Duration = Duration::from_millis(300);
/// To open one connection.
const CONNECT: Duration = Duration::from_micros(300);
/// To initialise and start a server, and to stop it.
const SERVER_START: Duration = Duration::from_secs(5);
/// Bytes of rows and indexes per second that loading reaches on two processors: 200,000 rows of sysbench's.
const LOAD_BYTES_PER_SECOND: u64 = 48_000_000;
/// A fresh data directory: system tables, undo and redo.
const SERVER_DISK_BYTES: u64 = 200 << 20;
/// A server without its buffer pool and connections.
const SERVER_MEMORY_BYTES: u64 = 150 << 20;
/// One connection of a server, its thread included.
const CONNECTION_MEMORY_BYTES: u64 = 400 << 10;
/// A buffer pool whose size a study does not set.
const BUFFER_POOL_BYTES: u64 = 128 << 20;

/// Estimates the cost of a plan, without what may be added to it.
#[must_use]
pub fn estimate(plan: &Plan) -> Estimate {
    of_trials(plan, &plan.trials)
}

/// Estimates the cost of a plan with everything added that a precision may ask for.
#[must_use]
pub fn estimate_at_most(plan: &Plan) -> Estimate {
    let most = of_trials(plan, &plan.trials_at_most());
    let least = estimate(plan);
    let time = plan.repetition.budget.map_or(most.time, |budget| most.time.min(budget.max(least.time)));
    Estimate { time, ..most }
}

fn of_trials(plan: &Plan, trials: &[Trial]) -> Estimate {
    let connections = |treatment: usize| -> u32 {
        plan.treatments[treatment].streams.iter().map(|stream| stream.connections + stream.idle).sum()
    };
    let restarts: u32 = {
        let starts: BTreeSet<(u32, usize)> = trials
            .iter()
            .map(|trial| (plan.start_of(trial.block), plan.treatments[trial.treatment].server))
            .collect();
        let servers: BTreeSet<usize> = starts.iter().map(|(_, server)| *server).collect();
        u32::try_from(starts.len() - servers.len()).unwrap_or(u32::MAX)
    };
    let trials_time: Duration = trials
        .iter()
        .map(|trial| plan.trial_time(trial.treatment) + CONNECT * connections(trial.treatment))
        .sum();
    let own = |server: &usize| plan.servers[*server].may(Act::Start);
    let mut pairs: Vec<(usize, usize)> =
        plan.treatments.iter().map(|treatment| (treatment.server, treatment.data)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let nodes = |server: usize| u64::from(plan.servers[server].topology.servers());
    let bytes_of = |&(server, data): &(usize, usize)| plan.data_sets[data].size_bytes() * nodes(server);
    let bytes: u64 = pairs.iter().map(bytes_of).sum();
    let own_bytes: u64 = pairs.iter().filter(|(server, _)| own(server)).map(bytes_of).sum();
    let servers: Vec<usize> = (0..plan.servers.len()).filter(|server| own(server)).collect();
    let count: u32 = servers.iter().map(|&server| plan.servers[server].topology.servers()).sum();
    let connections_max = (0..plan.treatments.len()).map(connections).max().unwrap_or(0);
    let pools: u64 =
        servers.iter().map(|&server| buffer_pool_bytes(&plan.servers[server].settings) * nodes(server)).sum();
    let put_back = put_back(plan, trials);
    Estimate {
        time: trials_time
            + SERVER_START * (count + restarts)
            + Duration::from_secs(bytes / LOAD_BYTES_PER_SECOND)
            + put_back.time
            + audit_time(plan, count),
        trials: trials_time,
        disk_bytes: own_bytes + SERVER_DISK_BYTES * u64::from(count) + put_back.disk_bytes,
        memory_bytes: pools
            + SERVER_MEMORY_BYTES * u64::from(count)
            + CONNECTION_MEMORY_BYTES * u64::from(connections_max),
    }
}

/// Crashes after the trials: each has servers of its own, which are `count` in all, and the killed one or its
/// successor comes up once more.
fn audit_time(plan: &Plan, count: u32) -> Duration {
    let one = |audit: &Audit| {
        let killed = u32::try_from(plan.servers.len()).unwrap_or(u32::MAX);
        (SERVER_START * count + (audit.length + SERVER_START) * killed) * audit.crashes
    };
    plan.audit.as_ref().map_or(Duration::ZERO, one)
}

/// How often data are restored, and what that takes.
pub(super) fn put_back(plan: &Plan, trials: &[Trial]) -> PutBack {
    state::put_back(plan, trials, SERVER_DISK_BYTES, LOAD_BYTES_PER_SECOND)
}

fn buffer_pool_bytes(settings: &std::collections::BTreeMap<String, String>) -> u64 {
    let size = settings.get(family::spoken().buffer_pool_setting()).or_else(|| settings.get("buffer_pool"));
    size.and_then(|text| quantity::size_or_bytes(text).ok()).unwrap_or(BUFFER_POOL_BYTES)
}
