//! How long and how often to measure, in which state a trial finds its server, and what is sampled during it:
//! `[measure]` and `[telemetry]`.

use super::{
    Study, forms,
    keys::{Key, Put, key, read_into, section},
    kinds::{Count, DAY_US, Flag, Time, Words},
    mistake::{Collector, Place},
    tree::{Node, Table, Value},
};
use crate::{
    layout::DataSet,
    workload::{self, Effect},
};
use load::spec::Stream;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, time::Duration};

/// `[measure]`
pub(super) const MEASURE: &[Key<Study>] = &[
    key(
        "warm_up",
        &Put(forms::WARM_UP, |study: &mut Study, time| {
            study.warm_up_auto = time.is_none();
            study.warm_up = time.unwrap_or_default();
        }),
        Some(r#""5s""#),
        "",
        "Load before each measurement, not counted: a time, or \"auto\": until throughput is steady.",
    ),
    key(
        "warm_up_max",
        &Put(Time(1_000_000, DAY_US), |study: &mut Study, time| {
            if study.warm_up_auto {
                study.warm_up = time;
            }
        }),
        Some(r#""60s""#),
        "",
        "Time limit for a warm-up \"auto\".",
    ),
    key(
        "alone",
        &Put(Time(0, DAY_US), |study: &mut Study, value| study.alone = value),
        Some(r#""0s""#),
        "",
        "After the warm-up, load of only the background, sampled and reported separately: streams with a \
         `limit` start when it is over.",
    ),
    key(
        "interval",
        &Put(Time(100_000, DAY_US), |study: &mut Study, value| study.interval = value),
        Some(r#""30s""#),
        "",
        "Length of each measurement.",
    ),
    key(
        "repeats",
        &Put(Count(1, 1000), |study: &mut Study, value| study.repeats = value),
        Some("3"),
        "",
        "Trials of each combination, in randomised blocks with the servers interleaved; with a `precision`, \
         the minimum.",
    ),
    key(
        "precision",
        &Put(forms::SHARE, |study: &mut Study, value| study.repetition.precision = Some(value)),
        None,
        r#""2%""#,
        "Keep repeating, block by block, until the interval of each combination's throughput (or of its mean \
         response time where a schedule sets the throughput) is within this margin to either side.",
    ),
    key(
        "repeats_max",
        &Put(Count(2, 1000), |study: &mut Study, value| study.repetition.repeats_max = value),
        Some("30"),
        "",
        "The maximum number of repeats for a `precision`.",
    ),
    key(
        "budget",
        &Put(Time(1_000_000, 30 * DAY_US), |study: &mut Study, value| study.repetition.budget = Some(value)),
        None,
        r#""2h""#,
        "Time after which a `precision` starts no more repeats; the first `repeats` are always made.",
    ),
    key(
        "restarts",
        &Put(Count(1, 1000), |study: &mut Study, value| study.repetition.restarts = value),
        Some("1"),
        "",
        "How often each server is started. Repeats are spread evenly over the starts, so that the interval \
         includes what varies from start to start; at most once per repeat.",
    ),
    key(
        "repeat_invalid",
        &Put(Count(0, 10), |study: &mut Study, value| study.repetition.repeat_invalid = value),
        Some("1"),
        "",
        "How often a failed or invalid trial is repeated, at the end of its block, unless every trial of its \
         combination has the same problem.",
    ),
    key(
        "fresh",
        &Put(Words(FRESH), |study: &mut Study, value| study.state.fresh = value),
        Some(r#""auto""#),
        "",
        "When data is restored to its loaded state: \"snapshot\": after each trial that wrote, from a copy \
         of the data directory, with a restart, if Prony started the server; \"reload\": after each trial \
         that wrote, by reloading it; \"auto\": the faster of these two; \"always\": before each trial, from \
         a copy; or \"never\".",
    ),
    key(
        "reuse",
        &Put(Words(REUSE), |study: &mut Study, value| study.state.reuse = value),
        Some(r#""auto""#),
        "",
        "Whether loaded data is cached for later runs: \"auto\": if it takes long to load; `prony server \
         data` lists and removes it.",
    ),
    key(
        "settle",
        &Put(Time(0, DAY_US), |study: &mut Study, value| study.state.settle = value),
        Some(r#""60s""#),
        "",
        "Time limit before each trial for a server to write its dirty pages and purge old row versions; \
         \"0s\" does not wait.",
    ),
    key(
        "warm",
        &Put(Words(WARM), |study: &mut Study, value| study.state.warm = value),
        Some(r#""tables""#),
        "",
        "What to read into the buffer pool after a start or a change of data: \"tables\": all tables and \
         indexes, once from end to end; \"pages\": the pages that were there before the server stopped; or \
         \"none\".",
    ),
    key(
        "relevant",
        &Put(forms::SHARE, |study: &mut Study, value| study.relevant = value),
        Some(r#""3%""#),
        "",
        "Differences up to this do not matter: they are never reported as better or worse.",
    ),
];

/// The words of `fresh`.
const FRESH: &[(&str, Fresh)] = &[
    ("auto", Fresh::Auto),
    ("snapshot", Fresh::Snapshot),
    ("always", Fresh::Always),
    ("reload", Fresh::Reload),
    ("never", Fresh::Never),
];
/// The words of `reuse`.
const REUSE: &[(&str, Reuse)] = &[("auto", Reuse::Auto), ("always", Reuse::Always), ("never", Reuse::Never)];
/// The words of `warm`.
const WARM: &[(&str, Warm)] = &[("tables", Warm::Tables), ("pages", Warm::Pages), ("none", Warm::None)];

/// `[telemetry]`
pub(super) const TELEMETRY: &[Key<Study>] = &[
    key(
        "every",
        &Put(Time(100_000, DAY_US), |study: &mut Study, value| study.telemetry.every = value),
        Some(r#""1s""#),
        "",
        "Time between two readings of machine, client and servers.",
    ),
    key(
        "status",
        &Put(Words(&[("chosen", false), ("all", true)]), |study: &mut Study, value| {
            study.telemetry.all = value
        }),
        Some(r#""chosen""#),
        "",
        "Which of the servers' counters to record.",
    ),
    key(
        "profile",
        &Put(Flag, |study: &mut Study, value| study.telemetry.profile = value),
        Some("false"),
        "",
        "Profile the server with perf where its throughput is highest, in an extra trial that is not \
         counted.",
    ),
];

/// When trials are repeated more often than `repeats` says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// How often each server is started, the repeats spread over its starts; 1 or more.
    pub restarts: u32,
    /// Repeat until half the interval's width is this share of the value; `None`: only as often as `repeats`
    /// says.
    pub precision: Option<f64>,
    /// Most repeats to reach the precision.
    pub repeats_max: u32,
    /// Begin no repeat that would end later than this; `None`: no limit.
    pub budget: Option<Duration>,
    /// How often a trial that failed or is invalid is repeated.
    pub repeat_invalid: u32,
}

impl Default for Repetition {
    fn default() -> Self {
        Self { restarts: 1, precision: None, repeats_max: 30, budget: None, repeat_invalid: 1 }
    }
}

/// What to sample during the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Time between readings.
    pub every: Duration,
    /// Sample everything that the servers count, instead of a selection.
    pub all: bool,
    /// Whether to profile each server where its throughput is highest.
    pub profile: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { every: Duration::from_secs(1), all: false, profile: false }
    }
}

/// The state in which trials begin, as `[measure]` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// When data are restored as they were loaded.
    pub fresh: Fresh,
    /// Whether loaded data are kept for later runs.
    pub reuse: Reuse,
    /// Time limit for a server to write dirty pages and to purge before each trial; zero: do not wait.
    pub settle: Duration,
    /// What is in the buffer pool after a start or a change of data.
    pub warm: Warm,
}

/// When data are restored as they were loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fresh {
    /// After each trial that wrote: from a snapshot where Prony started the server and there are so many rows
    /// that this is faster, else by reloading.
    Auto,
    /// After each trial that wrote, from a snapshot where Prony started the server.
    Snapshot,
    /// Before each trial, from a snapshot where Prony started the server.
    Always,
    /// After each trial that wrote, by reloading: needs no room for a snapshot.
    Reload,
    /// Never: a trial begins with what earlier ones left.
    Never,
}

/// Whether loaded data are kept for later runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// If loading takes longer than restoring; data in the cache is always used.
    Auto,
    /// Always.
    Always,
    /// Never; data in the cache is not used either.
    Never,
}

/// What is in the buffer pool after a start or a change of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warm {
    /// What starting or loading left there.
    None,
    /// All tables and their indexes, as far as they fit: each is read once from end to end.
    Tables,
    /// The pages that were there before the server was stopped.
    Pages,
}

impl Default for State {
    fn default() -> Self {
        Self { fresh: Fresh::Auto, reuse: Reuse::Auto, settle: Duration::from_secs(60), warm: Warm::Tables }
    }
}

/// Whether these streams change data that later trials find.
#[must_use]
pub fn writes(streams: &[Stream]) -> bool {
    streams.iter().any(|stream| stream.connections > 0 && workload::effect(&stream.workload) != Effect::Reads)
}

/// What these streams write to outside the tables of `data`.
#[must_use]
pub fn foreign_written(streams: &[Stream], data: &DataSet) -> BTreeSet<String> {
    let working = streams.iter().filter(|stream| stream.connections > 0);
    working.flat_map(|stream| workload::foreign_written(&stream.workload, data)).collect()
}

/// Reads both sections.
pub(super) fn read(root: &Table, study: &mut Study, mistakes: &mut Collector) {
    let empty = Table::default();
    let table = section(root.get("telemetry"), "telemetry", mistakes).unwrap_or(&empty);
    read_into(table, TELEMETRY, &[], study, mistakes);
    let table = section(root.get("measure"), "measure", mistakes).unwrap_or(&empty);
    let measure = read_into(table, MEASURE, &[], study, mistakes);
    if let (Some(place), None) = (measure.place("budget"), measure.place("precision")) {
        let label = "it limits the repeats of a precision: add `precision = \"2%\"`";
        mistakes.at(place, "there is `budget` without `precision`", label);
    }
    if let Some(place) = measure.place("alone").filter(|_| !study.alone.is_zero()) {
        check_alone(study, (root, place), mistakes);
    }
}

/// Whether another stream begins after the background ran alone, at a known time.
fn check_alone(study: &Study, (root, place): (&Table, &Place), mistakes: &mut Collector) {
    let streams = match root.get("stream").map(|node| &node.value) {
        Some(Value::Array(streams)) => streams.as_slice(),
        _ => &[],
    };
    let has_limit = |stream: &Node| stream.table().is_some_and(|table| table.get("limit").is_some());
    if !streams.iter().any(has_limit) {
        let label = "a stream with a `limit` begins after it: give one to the stream that is judged";
        mistakes.at(place, "no stream begins after the background was `alone`", label);
    }
    if study.warm_up_auto {
        let label = "give `warm_up` a time, or leave `alone` out";
        mistakes.at(place, "`alone` follows a warm-up of a known length, not \"auto\"", label);
    }
}
