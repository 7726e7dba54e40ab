//! How long and how often is measured, in which state a trial finds its server, and what is sampled
//! meanwhile: `[measure]` and `[telemetry]`.

use super::{
    Study, forms,
    keys::{Key, Put, key, read_into, section},
    kinds::{Count, DAY_US, Flag, Time, Words},
    mistake::Collector,
    tree::Table,
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
        "Load before each measurement, not counted: a time, or \"auto\", until throughput is steady.",
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
        "The longest that a warm-up \"auto\" takes.",
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
         the fewest.",
    ),
    key(
        "precision",
        &Put(forms::SHARE, |study: &mut Study, value| study.repetition.precision = Some(value)),
        None,
        r#""2%""#,
        "Repeat on, block by block, until the interval of each combination's throughput (of its mean \
         response time where a schedule says the throughput) reaches no further than this to either side.",
    ),
    key(
        "repeats_max",
        &Put(Count(2, 1000), |study: &mut Study, value| study.repetition.repeats_max = value),
        Some("30"),
        "",
        "The most repeats that a `precision` may ask for.",
    ),
    key(
        "budget",
        &Put(Time(1_000_000, 30 * DAY_US), |study: &mut Study, value| study.repetition.budget = Some(value)),
        None,
        r#""2h""#,
        "Time after which no repeat is begun for a `precision`; the first `repeats` are always made.",
    ),
    key(
        "restarts",
        &Put(Count(1, 1000), |study: &mut Study, value| study.repetition.restarts = value),
        Some("1"),
        "",
        "How often each server is started, its repeats spread evenly over the starts, so that what a start \
         leaves to chance is part of the interval; at most once for each repeat.",
    ),
    key(
        "repeat_invalid",
        &Put(Count(0, 10), |study: &mut Study, value| study.repetition.repeat_invalid = value),
        Some("1"),
        "",
        "How often a trial that failed or is invalid is repeated, at the end of its block, unless what is \
         wrong is wrong in every trial of its combination.",
    ),
    key(
        "fresh",
        &Put(Words(FRESH), |study: &mut Study, value| study.state.fresh = value),
        Some(r#""auto""#),
        "",
        "When data are put back as they were loaded: \"snapshot\", after each trial that wrote, from a copy \
         of the data directory, with a restart, where Prony started the server; \"reload\", after each \
         trial that wrote, by loading anew; \"auto\", the faster of these; \"always\", before each trial, \
         from a copy; or \"never\".",
    ),
    key(
        "reuse",
        &Put(Words(REUSE), |study: &mut Study, value| study.state.reuse = value),
        Some(r#""auto""#),
        "",
        "Whether loaded data are kept in the user's cache for later runs: \"auto\", what takes long to \
         load; `prony server data` lists and removes them.",
    ),
    key(
        "settle",
        &Put(Time(0, DAY_US), |study: &mut Study, value| study.state.settle = value),
        Some(r#""60s""#),
        "",
        "How long a server may take before each trial to write its dirty pages and to purge old versions of \
         rows; \"0s\" does not wait for that.",
    ),
    key(
        "warm",
        &Put(Words(WARM), |study: &mut Study, value| study.state.warm = value),
        Some(r#""tables""#),
        "",
        "What is in the buffer pool after a start or a change of data: \"tables\", all tables and indexes, \
         read once from end to end; \"pages\", those that were there before the server was stopped; or \
         \"none\".",
    ),
    key(
        "relevant",
        &Put(forms::SHARE, |study: &mut Study, value| study.relevant = value),
        Some(r#""3%""#),
        "",
        "Differences up to this do not matter: they are never called better or worse.",
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
        "Which of the servers' counters are kept.",
    ),
    key(
        "profile",
        &Put(Flag, |study: &mut Study, value| study.telemetry.profile = value),
        Some("false"),
        "",
        "Show with perf what the server works at where its throughput is highest, in a trial of its own \
         that counts for nothing else.",
    ),
];

/// How trials are repeated beyond the number that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// How often each server is started, the repeats spread over its starts; 1 or more.
    pub restarts: u32,
    /// Half of the interval's width, as a share of the value, that is narrow enough; `None`: no more than
    /// the repeats.
    pub precision: Option<f64>,
    /// The most repeats where a precision is asked for.
    pub repeats_max: u32,
    /// No further repeats are begun that would not be over by then; `None`: as long as it takes.
    pub budget: Option<Duration>,
    /// How often a trial that failed or is invalid is repeated.
    pub repeat_invalid: u32,
}

impl Default for Repetition {
    fn default() -> Self {
        Self { restarts: 1, precision: None, repeats_max: 30, budget: None, repeat_invalid: 1 }
    }
}

/// What is sampled beside the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Time between readings.
    pub every: Duration,
    /// Everything that the servers count, instead of what is chosen.
    pub all: bool,
    /// Whether the server is profiled where it is at its limit.
    pub profile: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { every: Duration::from_secs(1), all: false, profile: false }
    }
}

/// In which state trials begin, as `[measure]` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// When data are put back as they were loaded.
    pub fresh: Fresh,
    /// Whether loaded data are kept for later runs.
    pub reuse: Reuse,
    /// How long a server may take before each trial to write dirty pages and to purge; zero: that is not
    /// waited for.
    pub settle: Duration,
    /// What is in the buffer pool after a start or a change of data.
    pub warm: Warm,
}

/// When data are put back as they were loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fresh {
    /// After each trial that wrote: from a snapshot where Prony started the server and there are so many rows
    /// that this is faster, else by loading anew.
    Auto,
    /// After each trial that wrote, from a snapshot where Prony started the server.
    Snapshot,
    /// Before each trial, from a snapshot where Prony started the server.
    Always,
    /// After each trial that wrote, by loading anew: needs no room for a snapshot.
    Reload,
    /// Trials find what those before them left.
    Never,
}

/// Whether loaded data are kept for later runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Where loading takes longer than putting back; kept ones are used in any case.
    Auto,
    /// Always.
    Always,
    /// Never; kept ones are not used either.
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

/// Whether these streams change data, so that whoever comes after them finds others.
#[must_use]
pub fn writes(streams: &[Stream]) -> bool {
    streams.iter().any(|stream| stream.connections > 0 && workload::effect(&stream.workload) != Effect::Reads)
}

/// What these streams write to that is none of the tables of `data`.
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
        let label = "it bounds the repeats that a precision asks for: `precision = \"2%\"`";
        mistakes.at(place, "there is `budget` without `precision`", label);
    }
}
