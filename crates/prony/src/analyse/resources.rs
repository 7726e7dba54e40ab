//! What a treatment used of the machine and the servers: what a transaction costs, where processors spent
//! their time, what limited it, and which waits grew with the load.
//!
//! Only samples from the part of the intervals that counts are used. A limit is named only where a figure
//! shows it.

use super::{
    Axis, AxisKind,
    steady::{self, Counted},
};
use crate::{
    run::{TrialOutcome, What},
    store::{RunRecord, TrialRecord},
    telemetry::{Cost, Reading, Series, of_relays, of_servers},
};
use load::{Outcome, sample::End, spec::Arrival};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// Share of the machine's processors above which they are the limit: queues for them are then ten times as
/// long as at rest (1 / (1 - 0.9)).
const PROCESSORS_BUSY: f64 = 0.9;
/// Share of the machine's processors that other virtual machines on the host may take before they are (part
/// of) the limit, where the remaining processors are busy.
const STOLEN: f64 = 0.05;
/// The same for a disk, which does several things at once, so that being busy alone means less.
const DISK_BUSY: f64 = 0.8;
/// Share of the time for which a cgroup may throttle a server before that is its limit.
const THROTTLED: f64 = 0.05;
/// Share of the connections' time that waiting for row locks may take.
const ROW_LOCKS: f64 = 0.2;
/// Share of table locks that may involve waiting.
const TABLE_LOCKS: f64 = 0.1;
/// Share of the connections that may be in one kind of waiting.
const STATE: f64 = 0.3;
/// Share of the time that a disk may spend on syncs, where servers sync their logs.
const SYNCING: f64 = 0.5;
/// Share of a processor that the busiest thread of the load engine may take.
const CLIENT_BUSY: f64 = 0.9;
/// Share of the processors that must be idle for the number of connections to be the limit: each connection
/// keeps either a server's thread or the client busy, so fewer connections than processors cannot use them
/// all.
const AT_REST: f64 = 0.3;
/// A wait has grown with the load when a transaction has this many times as much of it as at the first rung.
const GROWN: f64 = 1.5;
/// Waits per thousand transactions below which nobody cares.
const GROWN_MIN: f64 = 1.0;
/// The most waits that are named for one ladder.
const GROWN_NAMED: usize = 5;

/// Counters of waits, or of work that should not grow per transaction when the load grows.
const WAITS: &[&str] = &[
    "process/read_bytes",
    "process/switches_involuntary",
    "process/switches_voluntary",
    "status/buffer_pool_misses",
    "status/buffer_pool_waits",
    "status/cluster_aborts",
    "status/deadlocks",
    "status/flow_control_ns",
    "status/lock_timeouts",
    "status/lock_wait_ms",
    "status/lock_waits",
    "status/log_syncs",
    "status/log_waits",
    "status/query_cache_prunes",
    "status/semi_sync_wait_us",
    "status/sort_merge_passes",
    "status/table_cache_misses",
    "status/table_locks_waited",
    "status/tables_opened",
    "status/temporary_tables_on_disk",
    "status/threads_created",
];

/// What a treatment used, all its streams and valid trials together.
#[derive(Debug, Clone, Serialize)]
pub struct Resources {
    /// Index in the plan's treatments.
    pub treatment: usize,
    /// Trials used.
    pub trials: u32,
    /// Transactions per second of all streams together.
    pub transactions_per_second: f64,
    /// What one transaction costs.
    pub cost: Cost,
    /// Time of the processors of the servers' machine by kind, `user`, `system`, `iowait`, `steal`, `idle`,
    /// in processors; empty where it is unknown.
    pub processors: BTreeMap<String, f64>,
    /// Means over the intervals, by path.
    pub means: BTreeMap<String, f64>,
    /// What machine and servers did during that time.
    pub sampled: Sampled,
    /// The same for the time in which the background ran alone; `None`: the study has no such time.
    pub alone: Option<Sampled>,
    /// What limited it, the most certain first; empty: nothing that was sampled.
    pub limits: Vec<Limiting>,
}

/// Something that limited a treatment, with the figures that show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Limiting {
    /// A cgroup throttled the servers.
    Throttled {
        /// Share of the time, 0 to 1; above 1 where several threads waited at once.
        share: f64,
    },
    /// The processors of the servers' machine were busy.
    Processors {
        /// Share of them that was busy, 0 to 1, without steal.
        share: f64,
        /// Processors that the servers used.
        servers: f64,
        /// Processors that Prony used, if it ran on the same machine.
        client: Option<f64>,
        /// Processors that Prony's own relays used, if it has any.
        relay: Option<f64>,
    },
    /// The hypervisor gave processors of the servers' machine to other virtual machines, and the rest were
    /// busy.
    Stolen {
        /// Share of the processors that other virtual machines had, 0 to 1.
        share: f64,
        /// Share that was busy with the programs of this machine, 0 to 1.
        busy: f64,
    },
    /// A thread of Prony itself was busy.
    Client {
        /// Share of a processor that it used, 0 to 1.
        busy: f64,
    },
    /// Each connection has at most one transaction under way, and there were too few connections to keep the
    /// processors busy.
    Connections {
        /// Number of connections.
        connections: u32,
        /// Share of the processors that were idle, 0 to 1.
        share: f64,
    },
    /// A disk was busy with syncs that logs wait for.
    LogSyncs {
        /// Its name.
        name: String,
        /// Share of the time, 0 to 1; above 1 where several were under way at once.
        share: f64,
        /// Mean time of a sync, ms.
        wait_ms: f64,
        /// Syncs per second that the servers asked for.
        syncs: f64,
    },
    /// A disk was busy.
    Disk {
        /// Its name.
        name: String,
        /// Share of the time, 0 to 1.
        share: f64,
        /// Mean time of a read or write, ms.
        wait_ms: f64,
    },
    /// Transactions waited for each other's rows.
    RowLocks {
        /// Share of the connections' time, 0 to 1.
        share: f64,
    },
    /// Statements waited for whole tables.
    TableLocks {
        /// Share of the locks that had to be waited for, 0 to 1.
        share: f64,
    },
    /// Connections were in one kind of waiting whenever they were looked at.
    State {
        /// Its name in the server.
        state: String,
        /// Share of the connections, 0 to 1.
        share: f64,
    },
}

/// A wait that a transaction meets more often at the end of a ladder than at its beginning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grown {
    /// Indices in the plan's treatments of the first and the last rung.
    pub rungs: (usize, usize),
    /// Path of the counter without its server: `status/lock_waits`.
    pub counter: String,
    /// Waits per thousand transactions at the first rung.
    pub first: f64,
    /// Waits per thousand transactions at the last rung.
    pub last: f64,
}

/// The resources of every treatment with at least one valid trial that was sampled, in the plan's order.
#[must_use]
pub fn resources(record: &RunRecord) -> Vec<Resources> {
    (0..record.plan.treatments.len()).filter_map(|treatment| of_treatment(record, treatment)).collect()
}

fn of_treatment(record: &RunRecord, treatment: usize) -> Option<Resources> {
    let trials = || record.trials.iter().filter(|trial| trial.trial.treatment == treatment);
    let (means, rates) = means(record, trials())?;
    let rate = rates.iter().sum::<f64>() / rates.len() as f64;
    let second = Duration::from_secs(1);
    let typical = Reading { at: second, length: second, values: means.clone() };
    let view = View { means: &means };
    let streams = &record.plan.treatments[treatment].streams;
    let connections: u32 = streams.iter().map(|stream| stream.connections).sum();
    Some(Resources {
        treatment,
        trials: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        transactions_per_second: rate,
        cost: Cost::of(&Series::from(vec![typical]), (Duration::ZERO, second), rate),
        processors: view.processors(),
        sampled: view.sampled(),
        alone: alone(record, trials()),
        limits: {
            let mut limits = view.limits(f64::from(connections.max(1)));
            limits.extend(busy_client(trials()));
            let is_closed = streams.iter().all(|stream| stream.arrival == Arrival::Closed);
            limits.extend(view.few(connections).filter(|_| is_closed && limits.is_empty()));
            limits
        },
        means,
    })
}

/// Means by path over the time that counts, for the trials that were completed and sampled, and the
/// transaction rate of each; `None`: there are no such trials.
fn means<'a>(
    record: &RunRecord,
    trials: impl Iterator<Item = &'a TrialRecord>,
) -> Option<(BTreeMap<String, f64>, Vec<f64>)> {
    let (mut sums, mut rates) = (Sums::default(), Vec::new());
    for trial in trials.filter(|trial| is_complete(trial)) {
        let Some(counted) = Counted::of(record, trial) else { continue };
        if sums.add(&trial.readings, &counted.rows(&trial.readings)) {
            rates.push(counted.transactions_per_second);
        }
    }
    (!rates.is_empty()).then(|| (sums.means(), rates))
}

/// Whether Prony's own threads were the busy ones, in most trials.
fn busy_client<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Option<Limiting> {
    let mut busiest: Vec<f64> = Vec::new();
    for trial in trials {
        let TrialOutcome::Measured { doubts, .. } = &trial.outcome else { continue };
        let busy = doubts.iter().filter_map(|doubt| match doubt.what {
            What::WorkerBusy { busy } => Some(busy),
            _ => None,
        });
        busiest.push(busy.fold(0.0, f64::max));
    }
    busiest.sort_by(f64::total_cmp);
    let busy = *busiest.get(busiest.len() / 2)?;
    (busy > CLIENT_BUSY).then_some(Limiting::Client { busy })
}

fn is_complete(trial: &TrialRecord) -> bool {
    matches!(&trial.outcome, TrialOutcome::Measured { outcome, .. } if outcome.end == End::Completed)
}

/// Sums over readings, by path: of value times length, and of lengths, s.
#[derive(Default)]
struct Sums<'a>(BTreeMap<&'a str, (f64, f64)>);

impl<'a> Sums<'a> {
    /// Adds some rows of readings. Returns whether there are any.
    fn add(&mut self, readings: &'a Series, rows: &[usize]) -> bool {
        if rows.is_empty() {
            return false;
        }
        for (path, column) in readings.columns() {
            let (more, seconds) = readings.sum(rows, column);
            let (sum, weight) = self.0.entry(path).or_default();
            (*sum, *weight) = (*sum + more, *weight + seconds);
        }
        true
    }

    fn means(self) -> BTreeMap<String, f64> {
        let known = self.0.into_iter().filter(|(_, (_, weight))| *weight > 0.0);
        known.map(|(path, (sum, weight))| (path.to_owned(), sum / weight)).collect()
    }
}

/// What machine and servers did in some trials, in the form that claims can be about; null: unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Sampled {
    /// Share of the processors of the servers' machines that were idle, 0 to 1.
    pub cpu_idle: Option<f64>,
    /// Rows read in full table scans, per second.
    pub rows_scanned: Option<f64>,
    /// Rows read, per second.
    pub rows_read: Option<f64>,
    /// Share of table locks that had to be waited for, 0 to 1.
    pub table_locks_waited: Option<f64>,
    /// Share of pages that were found in the buffer pool, 0 to 1.
    pub buffer_pool_hit: Option<f64>,
}

/// The samples of some trials together, all servers of each; unknown figures are absent.
pub(super) fn sampled<'a>(record: &RunRecord, trials: impl Iterator<Item = &'a TrialRecord>) -> Sampled {
    means(record, trials).map_or_else(Sampled::default, |(means, _)| View { means: &means }.sampled())
}

/// The same for the time in which the background ran alone; `None`: there was no such time.
pub(super) fn alone<'a>(
    record: &RunRecord,
    trials: impl Iterator<Item = &'a TrialRecord>,
) -> Option<Sampled> {
    let mut sums = Sums::default();
    let mut any = false;
    for trial in trials.filter(|trial| is_complete(trial)) {
        let Some(span) = steady::alone(record, trial) else { continue };
        any |= sums.add(&trial.readings, &steady::within(&trial.readings, span));
    }
    any.then(|| View { means: &sums.means() }.sampled())
}

/// The readings that fall into the measurement interval.
#[must_use]
pub fn in_interval(readings: &Series, record: &RunRecord, outcome: &Outcome) -> Vec<usize> {
    let from = outcome.warm_up.unwrap_or(record.plan.before_interval());
    steady::within(readings, (from, from + outcome.interval))
}

/// Means of a treatment, with what is read from them.
struct View<'a> {
    means: &'a BTreeMap<String, f64>,
}

impl View<'_> {
    fn value(&self, path: &str) -> Option<f64> {
        self.means.get(path).copied()
    }

    /// Sum over all servers.
    fn of_servers(&self, what: &str) -> Option<f64> {
        of_servers(self.means, what)
    }

    /// Path prefixes of the machines that servers run on: those reported by exporters, and this machine if a
    /// server process runs here.
    fn machines(&self) -> Vec<String> {
        let mut machines: Vec<String> = self
            .means
            .keys()
            .filter_map(|path| path.strip_suffix("/machine/cpu_idle"))
            .map(|node| format!("{node}/machine"))
            .collect();
        if self.is_local() {
            machines.push("machine".to_owned());
        }
        machines
    }

    fn is_local(&self) -> bool {
        self.of_servers("process/cpu_user").is_some()
    }

    fn processors(&self) -> BTreeMap<String, f64> {
        let machines = self.machines();
        let of = |kind: &str| {
            let each = machines.iter().filter_map(|machine| self.value(&format!("{machine}/cpu_{kind}")));
            each.reduce(|sum, one| sum + one)
        };
        ["user", "system", "iowait", "steal", "idle"]
            .into_iter()
            .filter_map(|kind| Some((kind.to_owned(), of(kind)?)))
            .collect()
    }

    fn sampled(&self) -> Sampled {
        let processors = self.processors();
        let all: f64 = processors.values().sum();
        let found = |(asked, missed): (f64, f64)| (asked > 0.0).then(|| (1.0 - missed / asked).max(0.0));
        let pages =
            self.of_servers("status/buffer_pool_requests").zip(self.of_servers("status/buffer_pool_misses"));
        Sampled {
            cpu_idle: processors.get("idle").map(|idle| idle / all).filter(|share| share.is_finite()),
            rows_scanned: self.of_servers("status/rows_scanned"),
            rows_read: self.of_servers("status/rows_read"),
            table_locks_waited: self.table_locks_waited(),
            buffer_pool_hit: pages.and_then(found),
        }
    }

    /// Share of table locks that had to be waited for; `None`: there were none.
    fn table_locks_waited(&self) -> Option<f64> {
        let waited = self.of_servers("status/table_locks_waited")?;
        let all = waited + self.of_servers("status/table_locks_immediate")?;
        (all > 0.0).then(|| waited / all)
    }

    /// What limited the treatment; `connections` is the number of those of all streams.
    fn limits(&self, connections: f64) -> Vec<Limiting> {
        let mut limits = Vec::new();
        if let Some(share) = self.of_servers("group/throttled").filter(|share| *share > THROTTLED) {
            limits.push(Limiting::Throttled { share });
        }
        limits.extend(self.busy_processors());
        limits.extend(self.syncing_disks());
        limits.extend(self.busy_disks());
        let row_locks = self.of_servers("status/lock_wait_ms").map(|ms| ms / 1e3 / connections);
        if let Some(share) = row_locks.filter(|share| *share > ROW_LOCKS) {
            limits.push(Limiting::RowLocks { share });
        }
        if let Some(share) = self.table_locks_waited().filter(|share| *share > TABLE_LOCKS) {
            limits.push(Limiting::TableLocks { share });
        }
        limits.extend(self.standing(connections));
        limits
    }

    /// Processors that were busy, and those that other virtual machines took: more processors help against
    /// the former, not against the latter.
    fn busy_processors(&self) -> Vec<Limiting> {
        let processors = self.processors();
        let of = |kind: &str| processors.get(kind).copied().unwrap_or(0.0);
        let all: f64 = processors.values().sum();
        if !processors.contains_key("idle") || all <= 0.0 {
            return Vec::new();
        }
        let (stolen, busy) = (of("steal") / all, (of("user") + of("system")) / all);
        let is_busy = busy + stolen > PROCESSORS_BUSY;
        let is_stolen = is_busy && stolen > STOLEN;
        let mut limits = Vec::new();
        if busy > PROCESSORS_BUSY || (is_busy && !is_stolen) {
            let cpu_of = |what: &str| {
                let system = self.of_servers(&format!("{what}/cpu_system"));
                self.of_servers(&format!("{what}/cpu_user")).map(|user| user + system.unwrap_or(0.0))
            };
            let client = self
                .value("client/cpu_user")
                .map(|user| user + self.value("client/cpu_system").unwrap_or(0.0));
            let relay = of_relays(self.means, "cpu_user")
                .map(|user| user + of_relays(self.means, "cpu_system").unwrap_or(0.0));
            limits.push(Limiting::Processors {
                share: busy,
                servers: cpu_of("process").unwrap_or(0.0),
                client: client.filter(|_| self.is_local()),
                relay: relay.filter(|_| self.is_local()),
            });
        }
        limits.extend(is_stolen.then_some(Limiting::Stolen { share: stolen, busy }));
        limits
    }

    /// Too few connections for the processors, which were idle.
    fn few(&self, connections: u32) -> Option<Limiting> {
        let processors = self.processors();
        let all: f64 = processors.values().sum();
        let share = processors.get("idle")? / all;
        (share > AT_REST && f64::from(connections) < all.round() * 2.0)
            .then_some(Limiting::Connections { connections, share })
    }

    fn syncing_disks(&self) -> Vec<Limiting> {
        let machines = self.machines();
        let syncs = self.of_servers("status/log_syncs").unwrap_or(0.0);
        let disk = |(path, share): (&String, &f64)| {
            let whole = path.strip_suffix("/flush_seconds")?;
            let (machine, name) = whole.split_once("/disk/")?;
            let flushes = self.value(&format!("{whole}/flushes")).filter(|flushes| *flushes > 0.0)?;
            let is_own = machines.iter().any(|known| known == machine);
            (*share > SYNCING && syncs > 0.0 && is_own).then(|| Limiting::LogSyncs {
                name: name.to_owned(),
                share: *share,
                wait_ms: share / flushes * 1e3,
                syncs,
            })
        };
        self.means.iter().filter_map(disk).collect()
    }

    fn busy_disks(&self) -> Vec<Limiting> {
        let machines = self.machines();
        let disk =
            |(path, share): (&String, &f64)| {
                let whole = path.strip_suffix("/busy")?;
                let (machine, name) = whole.split_once("/disk/")?;
                let of = |what: &str| self.value(&format!("{whole}/{what}")).unwrap_or(0.0);
                let requests = of("reads") + of("writes");
                let wait_ms =
                    (of("read_seconds") + of("write_seconds")) / requests.max(f64::MIN_POSITIVE) * 1e3;
                (*share > DISK_BUSY && machines.iter().any(|known| known == machine))
                    .then(|| Limiting::Disk { name: name.to_owned(), share: *share, wait_ms })
            };
        self.means.iter().filter_map(disk).collect()
    }

    /// What most connections wait for; where other figures show a lock, that lock.
    fn standing(&self, connections: f64) -> Option<Limiting> {
        let mut states: BTreeMap<&str, f64> = BTreeMap::new();
        for (path, count) in self.means {
            if let Some((_, state)) = path.strip_prefix("node/").and_then(|rest| rest.split_once("/state/")) {
                *states.entry(state).or_default() += count;
            }
        }
        let waits = |state: &str| {
            let lower = state.to_lowercase();
            ["wait", "lock", "commit", "flush"].iter().any(|word| lower.contains(word)) && lower != "unlocked"
        };
        let (state, count) = states
            .into_iter()
            .filter(|(state, _)| waits(state))
            .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let share = (count / connections).min(1.0);
        (share > STATE).then(|| Limiting::State { state: state.to_owned(), share })
    }
}

/// The waits that grew most along each ladder of the run's axis.
#[must_use]
pub fn grown(record: &RunRecord, axis: &Axis, resources: &[Resources]) -> Vec<Grown> {
    let Some(factor) = axis.factors.first().filter(|_| axis.kind != AxisKind::Names) else {
        return Vec::new();
    };
    // in the plan's order
    let (mut names, mut ladders) = (Vec::new(), Vec::<Vec<(f64, &Resources)>>::new());
    for one in resources {
        let mut levels = record.plan.treatments[one.treatment].levels.clone();
        let Some(rung) = levels.remove(factor).and_then(|level| level.parse::<f64>().ok()) else { continue };
        match names.iter().position(|known| *known == levels) {
            Some(place) => ladders[place].push((rung, one)),
            None => {
                names.push(levels);
                ladders.push(vec![(rung, one)]);
            }
        }
    }
    ladders.iter_mut().flat_map(|rungs| along(rungs)).collect()
}

fn along(rungs: &mut [(f64, &Resources)]) -> Vec<Grown> {
    rungs.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let [(_, first), .., (_, last)] = rungs else { return Vec::new() };
    let of = |resources: &Resources, what: &str| {
        let value = of_servers(&resources.means, what)? * 1e3 / resources.transactions_per_second;
        value.is_finite().then_some(value)
    };
    let mut grown: Vec<Grown> = WAITS
        .iter()
        .filter_map(|&counter| {
            let (at_first, at_last) = (of(first, counter)?, of(last, counter)?);
            let has_grown = at_last >= GROWN_MIN && at_last >= GROWN * at_first;
            let rungs = (first.treatment, last.treatment);
            has_grown.then(|| Grown { rungs, counter: counter.to_owned(), first: at_first, last: at_last })
        })
        .collect();
    // what grew from zero grew most; beyond a thousandfold, the exact factor does not matter
    let growth = |grown: &Grown| grown.last / grown.first.max(grown.last / 1e3);
    grown.sort_by(|one, other| growth(other).total_cmp(&growth(one)));
    grown.truncate(GROWN_NAMED);
    grown
}
