//! What a report says, as one value. `--format json` prints it, the HTML page and its charts are made from
//! it, and the other formats write it out. Its JSON schema is generated from these types and committed.
//!
//! Times are in ms or s, as the field's name says; rates are per second; CPU figures count busy processors.

mod measured;
mod trial;

pub(super) use super::group::Group;
pub(super) use measured::latencies;
pub use measured::{Connects, Evenness, Outage, Schedule};
pub(super) use trial::{Seconds, Trial, TrialStream};

use super::{
    answer::{Answer, Trust},
    course::Course,
    fact::{Fact, Told},
    heat::Heat,
    json::schema_of,
    next::Next,
    resources::{Grown, Profiled, Resources},
};
pub(super) use crate::analyse::{Comparison, MixPart, Neighbour};
pub(super) use stats::Estimate;

use crate::{
    analyse::{
        Advice, AxisKind, Buying, ClaimVerdict, Crashes, Effect, Excluded, Fitted, FromFile, Limited, Part,
        Published, StatementPlans, Tpcc, Tpch,
    },
    fairness,
    plan::Metric,
    run::Level,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of this format. A reader refuses a higher one.
pub(super) const FORMAT: u32 = 3;

/// A report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "Prony report")]
pub struct Document {
    /// Version of this format: 3.
    pub format: u32,
    /// Version of Prony that carried out the run.
    pub prony_version: String,
    /// Language of the sentences: `en`.
    pub language: String,
    /// The run.
    pub run: Run,
    /// The answer in a few sentences; it stands first.
    pub answer: Answer,
    /// How far the figures can be trusted, and why.
    pub trust: Trust,
    /// The machine that it ran on.
    pub machine: Machine,
    /// The servers, in the study's order.
    pub servers: Vec<Server>,
    /// Factors whose levels name the servers, where these are variants of one server; `server` comes first
    /// where there are variants of several; empty: servers go by their own names.
    pub servers_by: Vec<String>,
    /// The conditions that each server ran with, as far as they affect what a comparison is worth.
    pub conditions: Vec<Condition>,
    /// Settings whose values differ between servers.
    pub settings_that_differ: Vec<Difference>,
    /// What the study claimed, and what the run says about it.
    pub claims: Vec<Claim>,
    /// How the run went, in sentences: what disturbed it on the machine, which trials were repeated or left
    /// out, and why repeating ended.
    pub conduct: Vec<String>,
    /// What was found, in words, most important first.
    pub findings: Vec<Finding>,
    /// What to do, as far as the figures support it.
    pub advice: Vec<Advised>,
    /// What to measure next; null: repeating this study would settle nothing else.
    pub next: Option<Next>,
    /// The axis that points are drawn along.
    pub axis: Axis,
    /// Points that belong in one table and one chart: they are equal in everything but the axis and the
    /// series.
    pub groups: Vec<Group>,
    /// One for each stream of each treatment that has a result.
    pub points: Vec<Point>,
    /// Pairs of servers, or of compared levels, with all other levels equal.
    pub comparisons: Vec<Comparison>,
    /// The same pairs over whole ladders: all places on the axis together.
    pub effects: Vec<Effect>,
    /// How throughput grows along a ladder of connections, by the universal scalability law.
    pub scalings: Vec<Scaling>,
    /// Ladders of connections to which no such law could be fitted, and why; `conduct` says it in words.
    pub unscaled: Vec<Unscaled>,
    /// The results of all searches for a highest rate, in the order of the points.
    pub rates: Vec<FoundRate>,
    /// What each server sustains while it keeps an objective, and which server is enough for a given rate;
    /// null: the study does not ask for this.
    pub buying: Option<Buying>,
    /// What crashes cost, for each server that was killed.
    pub crashes: Vec<Crashes>,
    /// What the neighbours of the load did; missing: it had none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
    /// Published results of this study beside those of this run; null: nothing was published.
    pub published: Option<Published>,
    /// How servers execute the statements of the loads; a statement with several plans is executed in
    /// different ways.
    pub plans: Vec<StatementPlans>,
    /// What servers changed when they loaded their data files, and what they warned of.
    pub files: Vec<FromFile>,
    /// Every trial in the order of execution.
    pub trials: Vec<Trial>,
    /// Machine, client and servers second by second, for one trial of each treatment.
    pub courses: Vec<Course>,
    /// Response times over time, for one trial of each treatment.
    pub heats: Vec<Heat>,
    /// What each treatment used of the machine and the servers.
    pub resources: Vec<Resources>,
    /// Waits that grew with the load, for each ladder.
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
    /// The options that `prony run` needs beside the study to repeat this run.
    pub repeat_options: Vec<String>,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// When it ended; null: it was killed, or is still running.
    pub finished: Option<String>,
    /// Whether every trial of the plan has an outcome.
    pub complete: bool,
    /// Warm-up of each trial, s; the longest one where `warm_up_auto` is true.
    pub warm_up_s: f64,
    /// Whether the warm-up ended as soon as throughput was steady.
    pub warm_up_auto: bool,
    /// How long the background ran alone after the warm-up, s; 0: not at all.
    pub alone_s: f64,
    /// Differences up to this share do not matter: 0.03 is 3 %.
    pub relevant: f64,
    /// Measurement interval of each trial, s.
    pub interval_s: f64,
    /// Trials of each treatment.
    pub repeats: u32,
    /// Trials that were planned.
    pub trials_planned: u32,
    /// Trials that ran.
    pub trials_measured: u32,
    /// Trials that could not be run.
    pub trials_failed: u32,
    /// Labels that people gave the run.
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
    /// The objective that is kept: `p99 < 20ms`.
    pub objective: String,
    /// That rate, per second: the mean over all trials, each of which has its own search; the interval is the
    /// one between trials.
    pub rate_per_second: Estimate,
    /// The lowest rate above it that was shown to break the objective; null: no trial showed one.
    pub broken_at_per_second: Option<f64>,
    /// Throughput of a closed loop with the same connections, transactions per second.
    pub closed_loop_per_second: f64,
    /// Number of loads in all searches together.
    pub loads: u32,
    /// The searches, one for each trial.
    pub searches: Vec<Search>,
}

/// One search for a rate.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Search {
    /// Number of the trial.
    pub trial: u32,
    /// The rate that it found, starts per second; null: it found none.
    pub rate_per_second: Option<f64>,
    /// Its loads, in order, without the closed loop that it started from.
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

/// The machine that a run was made on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Machine {
    /// Name of the processor.
    pub cpu_model: String,
    /// Number of processors.
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
    /// Name in the study, with the levels that make it a variant; the rest of the report refers to it by this
    /// name.
    pub name: String,
    /// The name that is shown: its own, or the levels in which it differs from the other servers.
    pub shown: String,
    /// `mariadb`, `mysql`.
    pub product: String,
    /// Version that the server reports; empty: it never answered.
    pub version: String,
    /// Build and platform.
    pub build: String,
    /// Where it came from, in words.
    pub origin: String,
    /// The servers that act together as this one, in words; null: it is a single server.
    pub topology: Option<String>,
    /// Its resource limits and how much of them it used, in words.
    pub limits: Vec<String>,
    /// How clients reached it, with the fastest connect time, in words; empty: they never reached it.
    pub reached: Vec<String>,
    /// Networks in front of it and between it and its replicas, as stated and as measured, in words.
    pub networks: Vec<String>,
    /// Settings that the study asked for.
    pub settings: BTreeMap<String, String>,
    /// How long loading the data took, s, all data sets together.
    pub data_loaded_s: f64,
    /// All global variables.
    pub variables: BTreeMap<String, String>,
}

/// One condition on every server, identified by its meaning.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Condition {
    /// Its key: `redo_capacity`.
    pub key: String,
    /// In words.
    pub title: String,
    /// Value on each server, in the order of `servers`; null: unknown, or meaningless on that server.
    pub values: Vec<Option<String>>,
    /// How the values compare.
    pub verdict: fairness::Verdict,
    /// The word of `[settings]` that makes it equal on all servers.
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
    /// The claim as the study words it.
    pub says: String,
    /// What the run says about it.
    pub verdict: ClaimVerdict,
    /// The same in the report's language.
    pub verdict_words: String,
    /// The deciding numbers, in words; for an open claim, why it is open.
    pub text: String,
    /// `throughput`, `p99`, `errors` ...
    pub metric: Metric,
    /// What was claimed: `>= 2`.
    pub claimed: String,
    /// Everything that it is about.
    pub parts: Vec<Part>,
}

/// A piece of advice.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Advised {
    /// What it is about, in words; empty: the whole run.
    pub about: String,
    /// The sentence.
    pub text: String,
    /// What it rests on, load by load.
    pub grounds: Vec<Advice>,
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
    /// No comparison is possible, because one side could not keep up with the offered load.
    NotCompared,
    /// Where throughput is highest.
    Peak,
    /// More was offered than a server could do.
    Overloaded,
    /// Results that should not be relied on, or only with care.
    Doubtful,
    /// Servers execute statements in different ways.
    Plans,
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

/// The axis that points are drawn along.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Axis {
    /// The kind of axis.
    pub kind: AxisKind,
    /// The factors that it shows; empty: connections that do not vary.
    pub factors: Vec<String>,
    /// The factors whose levels are compared; empty: servers are.
    pub compared: Vec<String>,
    /// The stream that it is about; null: all, or the study has only one.
    pub stream: Option<String>,
    /// The title of the axis.
    pub title: String,
}

/// One stream of a treatment, all valid trials together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Point {
    /// Level of each factor, and the `stream` where several run together.
    pub levels: BTreeMap<String, String>,
    /// The server.
    pub server: String,
    /// Its name in comparisons: the server, or the compared levels.
    pub side: String,
    /// The stream.
    pub stream: String,
    /// Active connections.
    pub connections: u32,
    /// Connections that are open but idle.
    pub idle: u32,
    /// Rows of its data set.
    pub rows: u64,
    /// Size of the data set with its indexes, as the server reports it; null: it reports none.
    pub data_bytes: Option<u64>,
    /// Trials used.
    pub trials: u32,
    /// Trials left out, with reasons.
    pub left_out: Vec<Told>,
    /// Transactions per second; meaningless where no trial is used.
    pub throughput: Estimate,
    /// Statements per second.
    pub statements_per_second: Estimate,
    /// Rows received and affected per second.
    pub rows_per_second: f64,
    /// What each transaction of the workload did over the whole interval; missing: the workload has only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixPart>,
    /// Results of a TPC-C-like load; missing: the load is of another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<Tpcc>,
    /// Results of a TPC-H-like query stream; missing: the load is of another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpch: Option<Tpch>,
    /// What became of the starts that were due; null: the arrival has no schedule.
    pub schedule: Option<Schedule>,
    /// Offered load as a share of the server's capacity, which is the most that it completed at any rung;
    /// null: there is no schedule, or no rung overloaded the server.
    pub utilisation: Option<f64>,
    /// Trials that could not keep up with the offered load: their response times show only how long the load
    /// lasted.
    pub overloaded: u32,
    /// What became of the stream's limit; null: it has none.
    pub limit: Option<Limited>,
    /// Response time of a transaction, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`.
    pub latency_ms: BTreeMap<String, Estimate>,
    /// Service time of a transaction, from when it was actually sent, ms, with the same keys; empty: it
    /// equals the response time.
    pub service_ms: BTreeMap<String, f64>,
    /// Longest response time, ms.
    pub latency_max_ms: f64,
    /// Distribution of response times: share of transactions (0 to 1) and the time, ms, below which they
    /// stay.
    pub latency_curve: Vec<(f64, f64)>,
    /// The full distribution: HdrHistogram V2, compressed, base64, in ns.
    pub histogram: String,
    /// Transactions per second of each trial used.
    pub throughput_by_trial: Vec<f64>,
    /// Errors by the server's code.
    pub errors: BTreeMap<String, u64>,
    /// Errors per attempted transaction, 0 to 1.
    pub error_share: f64,
    /// CPUs that the server kept busy.
    pub server_cpu: Option<f64>,
    /// CPUs that Prony kept busy.
    pub client_cpu: f64,
    /// How connections were opened before the load began.
    pub opening: Connects,
    /// How replicas or further nodes kept up; missing: it is a single server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub following: Option<Following>,
    /// How connections were opened during the measurement: by the connection mode, or because they were lost.
    pub reconnecting: Connects,
    /// Times without any success.
    pub outages: Vec<Outage>,
    /// How evenly connections were served; null: unknown, or only one connection.
    pub fairness: Option<Evenness>,
    /// The level of the worst doubt.
    pub verdict: Level,
    /// Reasons to doubt the numbers.
    pub doubts: Vec<Doubt>,
}

/// How replicas, or further nodes of a cluster, kept up with the server that was written to, all trials
/// together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Following {
    /// The members, in the order of the group.
    pub members: Vec<Member>,
    /// All members together.
    pub all: Member,
    /// Commits of these trials, where they waited for replicas.
    pub semi_sync: Option<SemiSync>,
    /// Share of the time, 0 to 1, for which a cluster held back writes because a node could not keep up.
    pub paused_share: Option<f64>,
}

/// How one member kept up.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Member {
    /// Time from when a row was due to be written at the primary until it was seen here, ms: `p50`, `p95`,
    /// `p99` and so on.
    pub lag_ms: BTreeMap<String, f64>,
    /// The longest of these times, ms.
    pub lag_max_ms: f64,
    /// Time from the end of the load until the member had everything, the longest of all trials, s; missing:
    /// it never had everything.
    pub drain_s: Option<f64>,
}

/// Commits that waited for replicas.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SemiSync {
    /// Commits that a replica acknowledged.
    pub acknowledged: u64,
    /// Commits that completed without an acknowledgement.
    pub unacknowledged: u64,
    /// How often waiting was given up.
    pub given_up: u64,
    /// Mean wait of a commit, ms, as the primary counts it.
    pub wait_mean_ms: Option<f64>,
}

/// A reason to doubt a number.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Doubt {
    /// How serious it is.
    pub level: Level,
    /// Its identifier, for programs: `worker_busy`.
    pub id: String,
    /// The stream that it is about; null: all streams, or it stands at a single stream anyway.
    pub stream: Option<String>,
    /// The doubt in words, with what to do about it.
    pub text: String,
    /// The figures that it rests on; their names end with units.
    pub figures: Fact,
}

/// The universal scalability law, `X(N) = single N / (1 + contention (N - 1) + coherency N (N - 1))`, fitted
/// to the closed loops of one server on N connections.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Scaling {
    /// Index in `groups` of the group that its points belong to.
    pub group: usize,
    /// Name of the series in that group.
    pub series: String,
    /// Throughput of one connection, transactions per second.
    pub single: Estimate,
    /// Share of the work that queues for something serial.
    pub contention: Estimate,
    /// What each connection costs every other one.
    pub coherency: Estimate,
    /// Connections at which throughput is highest; null: it rises without end, or the points leave open how
    /// far beyond the ladder the peak lies.
    pub peak: Option<Estimate>,
    /// The fewest connections that reach 95 % of the law's highest throughput within the ladder.
    pub enough: u32,
    /// Points that the law was fitted to.
    pub points: Vec<Fitted>,
    /// Points that were left out because their throughput is not the server's own.
    pub left_out: Vec<Excluded>,
}

/// A ladder of connections that is long enough for the universal scalability law but does not get one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Unscaled {
    /// Levels that stay the same along the ladder.
    pub levels: BTreeMap<String, String>,
    /// The server or level that the ladder belongs to.
    pub side: String,
    /// Why it gets none.
    pub reason: NoLaw,
    /// Connections of the point that deviates most, where that is the reason.
    pub connections: Option<u32>,
    /// Measured throughput divided by the expected one, minus 1, at that point.
    pub residual: Option<f64>,
    /// Lower end of the interval of the peak, in connections, where that is the reason.
    pub peak_low: Option<f64>,
    /// Upper end of that interval.
    pub peak_high: Option<f64>,
}

/// Why a ladder has no law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoLaw {
    /// Too few of its points count.
    TooFewPoints,
    /// A point deviates by more than 25 %.
    Residual,
    /// The ends of the interval of its peak differ by more than a factor of 3.
    Peak,
}

/// The schema of the document, as committed in `schemas/report.json`.
#[must_use]
pub fn schema() -> String {
    schema_of::<Document>()
}
