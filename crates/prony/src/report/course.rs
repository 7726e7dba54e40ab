//! Machine, client and servers second by second, for charts. Only the trial with the median throughput of
//! each treatment is shown, so that a report stays small. Long trials are shown in fewer, longer steps.

use super::{number::round_to, resources::label_of};
use crate::{
    analyse::Axis,
    plan::Treatment,
    run::TrialOutcome,
    store::{RunRecord, TrialRecord},
    telemetry::{Column, Series},
};
use load::{Outcome, sample::End};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

/// Steps of all courses of a report together: at about forty figures of five characters each, one megabyte.
const STEPS_MAX: usize = 6000;
/// The fewest and the most steps of one course: a chart is not wider.
const STEPS: (usize, usize) = (20, 240);
/// Significant digits: more than a chart can show.
const DIGITS: i32 = 4;

/// The servers' counters to show, unless they are zero: what the load asked for, what it had to wait for, and
/// what piles up.
const COUNTED: &[&str] = &[
    "binlog_commits",
    "buffer_pool_misses",
    "buffer_pool_pages_dirty",
    "buffer_pool_requests",
    "checkpoint_age_bytes",
    "checkpoint_age_flush_bytes",
    "cluster_receive_queue",
    "commits",
    "data_syncs",
    "deadlocks",
    "deletes",
    "flow_control_ns",
    "history_length",
    "inserts",
    "key_cache_misses",
    "lock_timeouts",
    "lock_waits",
    "lock_waits_now",
    "log_syncs",
    "log_waits",
    "pages_written",
    "pool_threads",
    "pool_threads_idle",
    "query_cache_hits",
    "rows_read",
    "rows_scanned",
    "selects",
    "semi_sync_acknowledged",
    "semi_sync_unacknowledged",
    "statements",
    "table_locks_immediate",
    "table_locks_waited",
    "temporary_tables_on_disk",
    "threads_created",
    "threads_running",
    "updates",
];

/// The seconds of one trial, warm-up included.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Course {
    /// Its subject, in words: server and levels.
    pub about: String,
    /// Index in `trials`.
    pub trial: usize,
    /// When the measurement interval began and ended, s since the load began.
    pub interval_s: (f64, f64),
    /// Ends of its steps, s since the load began.
    pub at_s: Vec<f64>,
    /// Figures by name, one value for each step, null where it is unknown: `cpu/user` (CPUs of the servers'
    /// machine by kind), `server/...`, `client/...` and `relay/...` (processes), `disk/...`, `network/...`
    /// (MB/s), `pressure/...` (share of the time), `status/NAME` (server counters, per second or as they
    /// are), `state/NAME` (connections).
    pub figures: BTreeMap<String, Vec<Option<f64>>>,
    /// How far each replica or further node was behind, ms, the longest lag in each second; empty: there is
    /// none.
    pub lag_ms: Vec<Vec<Option<f64>>>,
}

/// One course for each treatment that was sampled, in the plan's order.
pub(super) fn courses(record: &RunRecord, axis: &Axis) -> Vec<Course> {
    let chosen: Vec<(&Treatment, usize)> = record
        .plan
        .treatments
        .iter()
        .enumerate()
        .filter_map(|(number, treatment)| Some((treatment, middle(record, number, is_sampled)?)))
        .collect();
    let steps = (STEPS_MAX / chosen.len().max(1)).clamp(STEPS.0, STEPS.1);
    let of = |(treatment, trial)| course(record, axis, treatment, trial, steps);
    chosen.into_iter().filter_map(of).collect()
}

fn is_sampled(trial: &TrialRecord) -> bool {
    !trial.readings.is_empty()
}

/// The trial of a treatment with the median throughput, among those that satisfy `has_data`.
pub(super) fn middle(
    record: &RunRecord,
    treatment: usize,
    has_data: fn(&TrialRecord) -> bool,
) -> Option<usize> {
    let throughput = |trial: &TrialRecord| {
        let outcome = completed(trial)?;
        let measured = record.plan.treatments[treatment].measured();
        let told = measured.filter_map(|(stream, _)| outcome.streams.get(stream));
        let transactions: u64 = told.map(|stream| stream.transactions.count).sum();
        let seconds = outcome.interval.as_secs_f64();
        (seconds > 0.0 && has_data(trial)).then(|| transactions as f64 / seconds)
    };
    let of_treatment = record.trials.iter().enumerate().filter(|(_, one)| one.trial.treatment == treatment);
    let mut found: Vec<(f64, usize)> =
        of_treatment.filter_map(|(place, trial)| Some((throughput(trial)?, place))).collect();
    found.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    found.get(found.len().checked_sub(1)? / 2).map(|(_, place)| *place)
}

fn completed(trial: &TrialRecord) -> Option<&Outcome> {
    match &trial.outcome {
        TrialOutcome::Measured { outcome, .. } if outcome.end == End::Completed => Some(outcome),
        _ => None,
    }
}

fn course(
    record: &RunRecord,
    axis: &Axis,
    treatment: &Treatment,
    place: usize,
    steps: usize,
) -> Option<Course> {
    let trial = &record.trials[place];
    let outcome = completed(trial)?;
    let from = outcome.warm_up.unwrap_or(record.plan.before_interval());
    let together = trial.readings.len().div_ceil(steps);
    let rows: Vec<usize> = (0..trial.readings.len()).collect();
    let groups: Vec<&[usize]> = rows.chunks(together).collect();
    let mean = |column: &Column, group: &[usize]| {
        trial.readings.mean(group, column).map(|value| round_to(value, DIGITS))
    };
    let values =
        |column: &Column| -> Vec<Option<f64>> { groups.iter().map(|group| mean(column, group)).collect() };
    let end_of = |group: &&[usize]| {
        let last = group.last().map_or(Duration::ZERO, |&row| trial.readings.spans()[row].at);
        round_to(last.as_secs_f64(), DIGITS + 2)
    };
    let is_something = |values: &Vec<Option<f64>>| values.iter().flatten().any(|value| *value != 0.0);
    let following = match &trial.outcome {
        TrialOutcome::Measured { following, .. } => following.as_deref(),
        TrialOutcome::Failed(_) => None,
    };
    let lag_ms = following.into_iter().flat_map(|following| &following.members).map(|member| {
        let longest = |seconds: &[Option<f64>]| {
            seconds.iter().flatten().copied().reduce(f64::max).map(|ms| round_to(ms, DIGITS))
        };
        member.lag_by_second_ms.chunks(member.lag_by_second_ms.len().div_ceil(steps)).map(longest).collect()
    });
    Some(Course {
        about: label_of(record, axis, treatment),
        trial: place,
        interval_s: (from.as_secs_f64(), (from + outcome.interval).as_secs_f64()),
        at_s: groups.iter().map(end_of).collect(),
        figures: figures(&trial.readings)
            .into_iter()
            .map(|(name, column)| (name, values(&column)))
            .filter(|(_, values)| is_something(values))
            .collect(),
        lag_ms: lag_ms.filter(|seconds: &Vec<_>| !seconds.is_empty()).collect(),
    })
}

/// The figures that a chart shows, with servers, disks and networks combined.
fn figures(readings: &Series) -> BTreeMap<String, Column> {
    let is_elsewhere = readings.columns().any(|(path, _)| path.ends_with("/machine/cpu_idle"));
    let mut told: BTreeMap<String, Column> = BTreeMap::new();
    for (path, column) in readings.columns() {
        if let Some((name, unit)) = name_of(path, is_elsewhere) {
            let column = column.map(|value| value * unit);
            match told.entry(name) {
                Entry::Vacant(entry) => drop(entry.insert(column)),
                // the busiest of several disks, the sum of everything else
                Entry::Occupied(mut entry) if path.ends_with("/busy") => {
                    entry.get_mut().merge(&column, f64::max);
                }
                Entry::Occupied(mut entry) => entry.get_mut().merge(&column, |one, other| one + other),
            }
        }
    }
    told
}

/// The name under which a chart shows a path, and the factor for its values; `None`: it is not shown.
fn name_of(path: &str, is_elsewhere: bool) -> Option<(String, f64)> {
    const MEGABYTE: f64 = 1e-6;
    let parts: Vec<&str> = path.split('/').collect();
    let named = |name: String, unit: f64| Some((name, unit));
    match parts.as_slice() {
        ["machine", rest @ ..] if !is_elsewhere => of_machine(rest),
        ["node", _, "machine", rest @ ..] => of_machine(rest),
        ["client", what] | ["relay", _, what] | ["node", _, "process", what] => {
            let whose = if parts[0] == "node" { "server" } else { parts[0] };
            let unit = match *what {
                "cpu_user" | "cpu_system" | "switches_voluntary" | "switches_involuntary" => 1.0,
                "memory_bytes" | "read_bytes" | "written_bytes" => MEGABYTE,
                _ => return None,
            };
            named(format!("{whose}/{}", what.replace("_bytes", "_mb")), unit)
        }
        ["node", _, "status", name] if COUNTED.contains(name) => named(format!("status/{name}"), 1.0),
        ["node", _, kind @ ("metric" | "state"), name] => named(format!("{kind}/{name}"), 1.0),
        _ => None,
    }
}

fn of_machine(path: &[&str]) -> Option<(String, f64)> {
    match path {
        [one] if *one != "cpu_idle" && one.starts_with("cpu_") => Some((one.replace("cpu_", "cpu/"), 1.0)),
        ["context_switches"] => Some(("machine/switches".to_owned(), 1.0)),
        ["run_queue"] => Some(("machine/run_queue".to_owned(), 1.0)),
        ["disk", _, what @ ("read_bytes" | "written_bytes")] => {
            Some((format!("disk/{}", what.replace("_bytes", "_mb")), 1e-6))
        }
        ["disk", _, what @ ("reads" | "writes" | "busy")] => Some((format!("disk/{what}"), 1.0)),
        ["network", _, what @ ("received_bytes" | "sent_bytes")] => {
            Some((format!("network/{}", what.replace("_bytes", "_mb")), 1e-6))
        }
        ["pressure", what] => Some((format!("pressure/{what}"), 1.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Reading;
    use std::time::Duration;

    fn reading(seconds: u64, values: &[(&str, f64)]) -> Reading {
        let values = values.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect();
        Reading { at: Duration::from_secs(seconds), length: Duration::from_secs(seconds), values }
    }

    fn means(readings: Vec<Reading>) -> BTreeMap<String, f64> {
        let (rows, readings) = ((0..readings.len()).collect::<Vec<_>>(), Series::from(readings));
        let mean = |(name, column)| (name, readings.mean(&rows, &column).expect("a value"));
        figures(&readings).into_iter().map(mean).collect()
    }

    #[test]
    fn servers_disks_and_seconds_are_taken_together() {
        let first = reading(
            1,
            &[
                ("machine/cpu_user", 1.0),
                ("machine/cpu_idle", 1.0),
                ("machine/disk/a/busy", 0.5),
                ("machine/disk/b/busy", 0.7),
                ("node/one/process/memory_bytes", 3e6),
                ("node/two/process/memory_bytes", 1e6),
                ("relay/1/cpu_user", 0.25),
                ("relay/2/cpu_user", 0.5),
                ("node/one/status/statements", 100.0),
                ("node/one/status/Uptime", 7.0),
            ],
        );
        let second = reading(3, &[("machine/cpu_user", 2.0)]);
        let told = means(vec![first, second]);
        assert_eq!(told["cpu/user"], 1.75, "it lasted three times as long");
        assert_eq!(told["disk/busy"], 0.7);
        assert_eq!(told["server/memory_mb"], 4.0);
        assert_eq!(told["relay/cpu_user"], 0.75);
        assert_eq!(told["status/statements"], 100.0);
        assert!(!told.keys().any(|name| name.contains("idle") || name.contains("Uptime")), "{told:?}");
    }

    #[test]
    fn of_a_server_elsewhere_its_own_machine_counts() {
        let told = means(vec![reading(
            1,
            &[
                ("machine/cpu_user", 0.5),
                ("node/far/machine/cpu_user", 4.0),
                ("node/far/machine/cpu_idle", 4.0),
            ],
        )]);
        assert_eq!(told["cpu/user"], 4.0);
    }
}
