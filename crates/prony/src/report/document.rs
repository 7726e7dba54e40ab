//! What a report says, as one value: what `--format json` prints, what the HTML page and its charts are made
//! from, and what the other formats write out. Its JSON schema is generated from these types and committed.
//!
//! Times are in ms or s as the field's name says, rates per second, CPUs in processors kept busy.

mod measured;
mod trial;

pub(super) use super::group::Group;
pub(super) use measured::latencies;
pub use measured::{Connects, Fairness, Outage, Schedule};
pub(super) use trial::{Seconds, Trial, TrialStream};

use super::{
    course::Course,
    fact::{Fact, Told},
    json::schema_of,
    resources::{Grown, Profiled, Resources},
};
pub(super) use crate::analyse::{Comparison, MixPart};
pub(super) use stats::Estimate;

use crate::{
    analyse::{AxisKind, ClaimVerdict, Crashes, Effect, Excluded, Fitted, Limited, Part, Published},
    fairness,
    run::Level,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of this form. A reader refuses a higher one.
pub(super) const FORMAT: u32 = 2;

/// A report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "Prony report")]
pub struct Document {
    /// Version of this form: 2.
    pub format: u32,
    /// Version of Prony that made the run.
    pub prony_version: String,
    /// Language of the sentences: `en`.
    pub language: String,
    /// The run.
    pub run: Run,
    /// What it ran on.
    pub machine: Machine,
    /// The servers, in the study's order.
    pub servers: Vec<Server>,
    /// Factors whose levels are what servers are called, where they are variants of one; `server` before them
    /// where there are variants of several; empty: servers are called by their own names.
    pub servers_by: Vec<String>,
    /// What each server ran with, as far as it decides what a comparison is worth.
    pub conditions: Vec<Condition>,
    /// Settings whose values differ between servers.
    pub settings_that_differ: Vec<Difference>,
    /// What the study claimed, and what the run says of it.
    pub claims: Vec<Claim>,
    /// How the run went, in sentences: what of the machine disturbed it, which trials were repeated or left
    /// out, why repeating ended.
    pub conduct: Vec<String>,
    /// What was found, in words, most important first.
    pub findings: Vec<Finding>,
    /// What points are drawn along.
    pub axis: Axis,
    /// Points that belong in one table and one chart: everything but the axis and what the series are is
    /// equal.
    pub groups: Vec<Group>,
    /// One for each stream of each treatment with a result.
    pub points: Vec<Point>,
    /// Pairs of servers, or of levels that are compared, at otherwise equal levels.
    pub comparisons: Vec<Comparison>,
    /// What whole ladders say: the same pairs, all places on the axis together.
    pub effects: Vec<Effect>,
    /// How throughput grows along a ladder of connections, by the universal scalability law.
    pub scalings: Vec<Scaling>,
    /// Ladders of connections that have no such law, and why; `conduct` says it in words.
    pub unscaled: Vec<Unscaled>,
    /// The highest rates that were searched, in the order of the points.
    pub rates: Vec<FoundRate>,
    /// What crashes cost, of each server that was killed.
    pub crashes: Vec<Crashes>,
    /// What was published of this study beside what came out here; null: nothing was.
    pub published: Option<Published>,
    /// Every trial in the order of execution.
    pub trials: Vec<Trial>,
    /// Machine, client and servers second by second, of one trial of each treatment.
    pub courses: Vec<Course>,
    /// What each treatment took of machine and servers.
    pub resources: Vec<Resources>,
    /// Waits that grew with the load, of each ladder.
    pub waits_that_grew: Vec<Grown>,
    /// Where servers spent their processor time, if the study asks for it.
    pub profiles: Vec<Profiled>,
}

/// One execution of a study.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Run {
    /// Number in the store.
    pub id: i64,
    /// Short name of the study.
    pub name: String,
    /// Title of the study.
    pub title: String,
    /// Scale that was applied.
    pub scale: Option<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// When it ended; null: it was killed, or is still running.
    pub finished: Option<String>,
    /// Whether every trial of the plan has an outcome.
    pub complete: bool,
    /// Warm-up of each trial, s; the longest, where `warm_up_auto` is true.
    pub warm_up_s: f64,
    /// Whether it ended as soon as throughput was steady.
    pub warm_up_auto: bool,
    /// Differences up to this share do not matter: 0.03 is 3 %.
    pub relevant: f64,
    /// Measurement interval of each trial, s.
    pub interval_s: f64,
    /// Trials of each treatment.
    pub repeats: u32,
    /// Trials of the plan.
    pub trials_planned: u32,
    /// Trials that ran.
    pub trials_measured: u32,
    /// Trials that could not be run.
    pub trials_failed: u32,
    /// Names that people gave the run.
    pub labels: Vec<String>,
    /// What people wrote down about it.
    pub note: String,
    /// What varied.
    pub factors: Vec<Factor>,
    /// The study, as it was read.
    pub study_text: String,
}

/// The highest rate at which a treatment keeps an objective.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FoundRate {
    /// Index in `points`.
    pub point: usize,
    /// What is kept: `p99 < 20ms`.
    pub objective: String,
    /// That rate, in a second: the mean of all trials, each with a search of its own, its interval between
    /// them.
    pub rate_per_second: Estimate,
    /// The lowest rate above that was shown to break the objective; null: in no trial.
    pub broken_at_per_second: Option<f64>,
    /// What a closed loop of the same connections reached, transactions per second.
    pub closed_loop_per_second: f64,
    /// Loads of all searches together.
    pub loads: u32,
    /// The searches, one for each trial.
    pub searches: Vec<Search>,
}

/// One search for a rate.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Search {
    /// Number of the trial.
    pub trial: u32,
    /// What it found, starts in a second; null: nothing.
    pub rate_per_second: Option<f64>,
    /// Its loads, in order, without the closed loop that it began from.
    pub loads: Vec<crate::run::Probed>,
}

/// Something that varied.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels.
    pub levels: Vec<String>,
}

/// What the run was made on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Machine {
    /// Processor's name.
    pub cpu_model: String,
    /// Processors.
    pub cpus: u32,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// Kernel.
    pub kernel: String,
    /// Distribution.
    pub distribution: String,
    /// Virtualisation or container; empty: none.
    pub virtualisation: String,
}

/// A server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Server {
    /// Name in the study, with the levels that make it a variant; all other parts of a report refer to it.
    pub name: String,
    /// What it is called: its own name, or the levels in which it differs from the others.
    pub shown: String,
    /// `mariadb`, `mysql`.
    pub product: String,
    /// As it says itself; empty: it never answered.
    pub version: String,
    /// Build and platform.
    pub build: String,
    /// Where it came from, in words.
    pub origin: String,
    /// The servers that work together as this one, in words; null: it is alone.
    pub topology: Option<String>,
    /// Limits that held for it, with what it used of them, in words.
    pub limits: Vec<String>,
    /// How clients reached it, with the fastest connect of all, in words; empty: they never did.
    pub reached: Vec<String>,
    /// Networks before it and between it and its replicas, as stated and as measured, in words.
    pub networks: Vec<String>,
    /// Settings that the study asked for.
    pub settings: BTreeMap<String, String>,
    /// How long loading the data took, s, all data sets together.
    pub data_loaded_s: f64,
    /// All global variables.
    pub variables: BTreeMap<String, String>,
}

/// One condition, by meaning, on every server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Condition {
    /// Its key: `redo_capacity`.
    pub key: String,
    /// In words.
    pub title: String,
    /// Value on each server, in the order of `servers`; null: not known, or without a meaning there.
    pub values: Vec<Option<String>>,
    /// How they compare.
    pub verdict: fairness::Verdict,
    /// The word of `[settings]` that makes it the same.
    pub remedy: Option<String>,
}

/// A setting that is not the same on all servers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Difference {
    /// Its name.
    pub variable: String,
    /// Value on each server, in the order of `servers`; null: the server does not have it.
    pub values: Vec<Option<String>>,
}

/// A claim of the study.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Claim {
    /// As the study says it.
    pub says: String,
    /// What the run says of it.
    pub verdict: ClaimVerdict,
    /// The same in the report's language.
    pub verdict_words: String,
    /// The numbers that decide, in words; where it is open, why.
    pub text: String,
    /// `throughput`, `p99`, `errors` ...
    pub metric: String,
    /// What was claimed: `>= 2`.
    pub claimed: String,
    /// Everything that it is about.
    pub parts: Vec<Part>,
}

/// One thing that was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// What it is about, in words; empty: the whole run.
    pub about: String,
    /// The sentence.
    pub text: String,
}

/// What a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Over a whole ladder, or from its knee on, one side is better.
    Effect,
    /// One side is better at some places of a ladder.
    Advantage,
    /// No difference was found.
    NoDifference,
    /// Nothing can be said, for one could not keep up with what was offered.
    NotCompared,
    /// Where throughput is highest.
    Peak,
    /// More was offered than a server could do.
    Overloaded,
    /// Results that are not to be relied on, or only with care.
    Doubtful,
    /// The servers differed in what the study does not vary.
    Unfair,
    /// A server died between trials.
    Died,
    /// Trials could not be measured.
    Failed,
    /// The run was not finished.
    Incomplete,
    /// Nothing stands out.
    Nothing,
}

/// What points are drawn along.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Axis {
    /// What they are.
    pub kind: AxisKind,
    /// The factors that it shows; empty: connections that do not vary.
    pub factors: Vec<String>,
    /// The factors whose levels are compared; empty: servers are.
    pub compared: Vec<String>,
    /// The stream that it is about; null: all, or the study has only one.
    pub stream: Option<String>,
    /// What to write beside it.
    pub title: String,
}

/// One stream of a treatment, all valid trials together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Point {
    /// Level of each factor, and the `stream` where several run together.
    pub levels: BTreeMap<String, String>,
    /// The server.
    pub server: String,
    /// What it is called where it is held against others: the server, or the levels that are compared.
    pub side: String,
    /// The stream.
    pub stream: String,
    /// Connections that work.
    pub connections: u32,
    /// Connections that are only open.
    pub idle: u32,
    /// Trials used.
    pub trials: u32,
    /// Trials left out, with reasons.
    pub left_out: Vec<Told>,
    /// Transactions per second; says nothing where no trial is used.
    pub throughput: Estimate,
    /// Statements per second.
    pub statements_per_second: Estimate,
    /// Rows received and affected per second.
    pub rows_per_second: f64,
    /// What each transaction of the workload did over the whole interval; missing: it has only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixPart>,
    /// What became of the starts that were due; null: the arrival has no schedule.
    pub schedule: Option<Schedule>,
    /// What was offered as a share of what the server can do, the most that it completed at any rung; null:
    /// no schedule, or no rung was too much for it.
    pub utilisation: Option<f64>,
    /// Trials that could not keep up with what was offered: their response times tell how long the load
    /// lasted.
    pub overloaded: u32,
    /// What became of the stream's limit; null: it has none.
    pub limit: Option<Limited>,
    /// Response time of a transaction, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`.
    pub latency_ms: BTreeMap<String, Estimate>,
    /// Service time of a transaction, from the actual send, ms, by the same names; empty: it is the response
    /// time.
    pub service_ms: BTreeMap<String, f64>,
    /// Longest response time, ms.
    pub latency_max_ms: f64,
    /// Distribution of response times: share of transactions (0 to 1) and the time, ms, that they stay
    /// below.
    pub latency_curve: Vec<(f64, f64)>,
    /// The same in full: HdrHistogram V2, compressed, base64, in ns.
    pub histogram: String,
    /// Transactions per second of each trial used.
    pub throughput_by_trial: Vec<f64>,
    /// Errors by the server's code.
    pub errors: BTreeMap<String, u64>,
    /// Errors per transaction tried, 0 to 1.
    pub error_share: f64,
    /// CPUs that the server kept busy.
    pub server_cpu: Option<f64>,
    /// CPUs that Prony kept busy.
    pub client_cpu: f64,
    /// How connections were opened before the load began.
    pub opening: Connects,
    /// How replicas or further nodes followed; missing: one server alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub following: Option<Following>,
    /// How they were opened while it was measured: by the connection mode, or because they were lost.
    pub reconnecting: Connects,
    /// Times without any success.
    pub outages: Vec<Outage>,
    /// How equally connections were served; null: unknown, or only one connection.
    pub fairness: Option<Fairness>,
    /// The level of the worst doubt.
    pub verdict: Level,
    /// Reasons to doubt the numbers.
    pub doubts: Vec<Doubt>,
}

/// How replicas, or further nodes of a cluster, followed the server that was written to, all trials together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Following {
    /// In the order of the group.
    pub members: Vec<Member>,
    /// All members together.
    pub all: Member,
    /// Commits of these trials, where they waited for replicas.
    pub semi_sync: Option<SemiSync>,
    /// Share of the time for which a cluster held writes back because a node could not follow, 0 to 1.
    pub paused_share: Option<f64>,
}

/// How one member followed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Member {
    /// From when a row was to be written at the primary until it was seen here, ms: `p50`, `p95`, `p99` and
    /// so on.
    pub lag_ms: BTreeMap<String, f64>,
    /// The longest of them, ms.
    pub lag_max_ms: f64,
    /// From the end of the load until it had all of it, the longest of all trials, s; missing: it never had.
    pub drain_s: Option<f64>,
}

/// Commits that waited for replicas.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SemiSync {
    /// A replica acknowledged them.
    pub acknowledged: u64,
    /// They went on without.
    pub unacknowledged: u64,
    /// Times that waiting was given up.
    pub given_up: u64,
    /// Mean wait of one, ms, as the primary counts it.
    pub wait_mean_ms: Option<f64>,
}

/// A reason to doubt a number.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Doubt {
    /// How bad it is.
    pub level: Level,
    /// What it is, for programs: `worker_busy`.
    pub id: String,
    /// The stream that it is about; null: all, or what it stands at is one stream.
    pub stream: Option<String>,
    /// In words, with what to do.
    pub text: String,
    /// What it rests on; names end with units.
    pub figures: Fact,
}

/// The universal scalability law, `X(N) = single N / (1 + contention (N - 1) + coherency N (N - 1))`, fitted
/// to the closed loops of one server on N connections.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Scaling {
    /// Index in `groups` of the one that its points belong to.
    pub group: usize,
    /// Name of the series there.
    pub series: String,
    /// Throughput of one connection, transactions per second.
    pub single: Estimate,
    /// Share that queues for something serial.
    pub contention: Estimate,
    /// What each connection costs each other.
    pub coherency: Estimate,
    /// Connections of the highest throughput; null: it rises without end, or the points leave open how far
    /// beyond the ladder it is.
    pub peak: Option<Estimate>,
    /// Fewest connections with 95 % of the law's highest throughput within the ladder.
    pub enough: u32,
    /// Points that it was fitted to.
    pub points: Vec<Fitted>,
    /// Points that were left out since their throughput is not the server's own.
    pub left_out: Vec<Excluded>,
}

/// A ladder of connections that is long enough for the universal scalability law and has none.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Unscaled {
    /// Levels that stay the same along the ladder.
    pub levels: BTreeMap<String, String>,
    /// The server or level that it is of.
    pub side: String,
    /// Why.
    pub reason: NoLaw,
    /// Connections of the point that is off by most, where that is the reason.
    pub connections: Option<u32>,
    /// Measured by expected less 1 there.
    pub residual: Option<f64>,
    /// Connections that the top may be at, lower end, where that is the reason.
    pub peak_low: Option<f64>,
    /// The same, upper end.
    pub peak_high: Option<f64>,
}

/// Why a ladder has no law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoLaw {
    /// Too few of its points count.
    TooFewPoints,
    /// A point is off by more than 25 %.
    Residual,
    /// The ends of the interval of its top differ by more than a factor of 3.
    Peak,
}

/// The schema of the document, as committed in `schemas/report.json`.
#[must_use]
pub fn schema() -> String {
    schema_of::<Document>()
}
