//! What a treatment took of machine and servers: what a transaction costs, where processors spent their time,
//! what held it back, and which waits grew with the load.
//!
//! Only what was sampled in the part of the intervals that counts is taken. A limit is named where a figure
//! shows it; where none does, none is named.

use super::{
    Axis, AxisKind,
    steady::{self, Counted},
};
use crate::{
    run::TrialOutcome,
    store::{RunRecord, TrialRecord},
    telemetry::{Cost, Reading, Series, of_relays, of_servers},
};
use load::{Outcome, sample::End};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// Share of the machine's processors above which they are the limit: queues for them are then ten times as
/// long as at rest (1 / (1 - 0.9)).
const PROCESSORS_BUSY: f64 = 0.9;
/// Share of the machine's processors that neighbours on the physical machine may take before they are (part
/// of) the limit, where the processors that are left are busy.
const STOLEN: f64 = 0.05;
/// The same for a disk, which does several things at once, so that being busy alone says less.
const DISK_BUSY: f64 = 0.8;
/// Share of the time that a control group may hold a server back before that is its limit.
const THROTTLED: f64 = 0.05;
/// Share of the connections' time that waiting for row locks may take.
const ROW_LOCKS: f64 = 0.2;
/// Share of table locks that may have to be waited for.
const TABLE_LOCKS: f64 = 0.1;
/// Share of the connections that may stand in one kind of waiting.
const STATE: f64 = 0.3;
/// A wait has grown with the load when a transaction has so many times as much of it as at the first rung.
const GROWN: f64 = 1.5;
/// Waits of a thousand transactions below which nobody cares.
const GROWN_MIN: f64 = 1.0;
/// Waits that are named for one ladder.
const GROWN_NAMED: usize = 5;

/// Counters that tell of waiting, or of work that more load should not make more of for a transaction.
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

/// What a treatment took, all its streams and valid trials together.
#[derive(Debug, Clone, Serialize)]
pub struct Resources {
    /// Index in the plan's treatments.
    pub treatment: usize,
    /// Trials used.
    pub trials: u32,
    /// Transactions per second of all streams together.
    pub transactions_per_second: f64,
    /// What one of them costs.
    pub cost: Cost,
    /// Time of the processors of the servers' machine by kind, `user`, `system`, `iowait`, `steal`, `idle`,
    /// in processors; empty where it is not known.
    pub processors: BTreeMap<String, f64>,
    /// Means over the intervals by path.
    pub means: BTreeMap<String, f64>,
    /// What machine and servers did meanwhile.
    pub sampled: Sampled,
    /// What held it back, the surest first; empty: nothing that was sampled.
    pub limits: Vec<Limiting>,
}

/// Something that held a treatment back, with the figures that show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Limiting {
    /// A control group held the servers back.
    Throttled {
        /// Share of the time, 0 to 1; above 1 where several threads waited at once.
        share: f64,
    },
    /// The processors of the servers' machine were busy.
    Processors {
        /// Share of them that was busy, 0 to 1; what neighbours took is not in it.
        share: f64,
        /// Processors that the servers took.
        servers: f64,
        /// Processors that Prony took, if it ran on the same machine.
        client: Option<f64>,
        /// Processors that Prony's own relays took, if it has any.
        relay: Option<f64>,
    },
    /// A hypervisor gave the processors of the servers' machine to its neighbours, and what was left was
    /// busy.
    Stolen {
        /// Share of the processors that neighbours had, 0 to 1.
        share: f64,
        /// Share that was busy for the programs of this machine, 0 to 1.
        busy: f64,
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
    /// Connections stood in one kind of waiting, whenever they were looked at.
    State {
        /// As the server calls it.
        state: String,
        /// Share of the connections, 0 to 1.
        share: f64,
    },
}

/// A wait of which a transaction has more at the end of a ladder than at its beginning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grown {
    /// Indices in the plan's treatments of the first and the last rung.
    pub rungs: (usize, usize),
    /// Path of the counter without its server: `status/lock_waits`.
    pub counter: String,
    /// Of a thousand transactions at the first rung.
    pub first: f64,
    /// Of a thousand transactions at the last one.
    pub last: f64,
}

/// Of every treatment with at least one valid trial that was sampled, in the plan's order.
#[must_use]
pub fn resources(record: &RunRecord) -> Vec<Resources> {
    (0..record.plan.treatments.len()).filter_map(|treatment| of_treatment(record, treatment)).collect()
}

fn of_treatment(record: &RunRecord, treatment: usize) -> Option<Resources> {
    let of_treatment = record.trials.iter().filter(|trial| trial.trial.treatment == treatment);
    let (means, rates) = means(record, of_treatment)?;
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
        limits: view.limits(f64::from(connections.max(1))),
        means,
    })
}

/// Means by path over the time that counts of those trials that were completed and sampled, and the rate of
/// transactions of each; `None`: there is none.
fn means<'a>(
    record: &RunRecord,
    trials: impl Iterator<Item = &'a TrialRecord>,
) -> Option<(BTreeMap<String, f64>, Vec<f64>)> {
    // by path: sum of value times length, and of lengths, s
    let (mut sums, mut rates) = (BTreeMap::<&str, (f64, f64)>::new(), Vec::new());
    for trial in trials {
        let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { continue };
        let counted = Counted::of(record, trial).filter(|_| outcome.end == End::Completed);
        let Some(counted) = counted else { continue };
        let inside = counted.rows(&trial.readings);
        if !inside.is_empty() {
            for (path, column) in trial.readings.columns() {
                let (more, seconds) = trial.readings.sum(&inside, column);
                let (sum, weight) = sums.entry(path).or_default();
                (*sum, *weight) = (*sum + more, *weight + seconds);
            }
            rates.push(counted.transactions_per_second);
        }
    }
    let known = sums.into_iter().filter(|(_, (_, weight))| *weight > 0.0);
    let means = known.map(|(path, (sum, weight))| (path.to_owned(), sum / weight)).collect();
    (!rates.is_empty()).then_some((means, rates))
}

/// What machine and servers did in some trials, as a claim can be about it; null: unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Sampled {
    /// Share of the processors of the servers' machines that had nothing to do, 0 to 1.
    pub cpu_idle: Option<f64>,
    /// Rows read in full table scans, in a second.
    pub rows_scanned: Option<f64>,
    /// Rows read, in a second.
    pub rows_read: Option<f64>,
    /// Share of table locks that had to be waited for, 0 to 1.
    pub table_locks_waited: Option<f64>,
    /// Share of pages that were found in the buffer pool, 0 to 1.
    pub buffer_pool_hit: Option<f64>,
}

/// Of some trials together, all servers of each; what is not known is absent.
pub(super) fn sampled<'a>(record: &RunRecord, trials: impl Iterator<Item = &'a TrialRecord>) -> Sampled {
    means(record, trials).map_or_else(Sampled::default, |(means, _)| View { means: &means }.sampled())
}

/// Which readings are of the measurement interval.
#[must_use]
pub fn in_interval(readings: &Series, record: &RunRecord, outcome: &Outcome) -> Vec<usize> {
    let from = outcome.warm_up.unwrap_or(record.plan.warm_up);
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

    /// Beginnings of the paths of the machines that servers run on: those that exporters told of, and this
    /// one if the process of one is here.
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

    /// `connections`: those of all streams.
    fn limits(&self, connections: f64) -> Vec<Limiting> {
        let mut limits = Vec::new();
        if let Some(share) = self.of_servers("group/throttled").filter(|share| *share > THROTTLED) {
            limits.push(Limiting::Throttled { share });
        }
        limits.extend(self.busy_processors());
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

    /// Processors that were busy, and those that neighbours took: who reads of the first buys more of them,
    /// who reads of the second does not.
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

    /// What most connections wait for; where it is a lock that other figures tell of, it says which.
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
    // what came from nothing grew most; beyond a thousandfold it does not matter how much
    let growth = |grown: &Grown| grown.last / grown.first.max(grown.last / 1e3);
    grown.sort_by(|one, other| growth(other).total_cmp(&growth(one)));
    grown.truncate(GROWN_NAMED);
    grown
}
