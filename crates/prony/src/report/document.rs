//! What a report says, as one value: what `--format json` prints, what the HTML page and its charts are made from, and
//! what the other formats write out. Its JSON schema is generated from these types and committed.
//!
//! Times are in ms or s as the field's name says, rates per second, CPUs in processors kept busy.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of this form. A reader refuses a higher one.
pub(super) const FORMAT: u32 = 1;

/// A report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "Prony report")]
pub struct Document {
    /// Version of this form: 1.
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
    /// Settings whose values differ between servers.
    pub settings_that_differ: Vec<Difference>,
    /// What was found, in words, most important first.
    pub findings: Vec<Finding>,
    /// Points that belong in one table and one chart: everything but server and connections is equal.
    pub groups: Vec<Group>,
    /// One for each treatment with a result.
    pub points: Vec<Point>,
    /// Pairs of servers at otherwise equal levels.
    pub comparisons: Vec<Comparison>,
    /// Every trial in the order of execution.
    pub trials: Vec<Trial>,
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
    /// Warm-up of each trial, s.
    pub warm_up_s: f64,
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
    /// What varied.
    pub factors: Vec<Factor>,
    /// The study, as it was read.
    pub study_text: String,
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
    /// Name in the study.
    pub name: String,
    /// `mariadb`, `mysql`.
    pub product: String,
    /// As it says itself; empty: it never answered.
    pub version: String,
    /// Build and platform.
    pub build: String,
    /// Where it came from, in words.
    pub origin: String,
    /// Settings that the study asked for.
    pub settings: BTreeMap<String, String>,
    /// How long loading the data took, s, all data sets together.
    pub data_loaded_s: f64,
    /// All global variables.
    pub variables: BTreeMap<String, String>,
}

/// A setting that is not the same on all servers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Difference {
    /// Its name.
    pub variable: String,
    /// Value on each server, in the order of `servers`; null: the server does not have it.
    pub values: Vec<Option<String>>,
}

/// One thing that was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Finding {
    /// `advantage`, `no_difference`, `peak`, `doubtful`, `failed`, `incomplete`.
    pub kind: String,
    /// What it is about, in words; empty: the whole run.
    pub about: String,
    /// The sentence.
    pub text: String,
}

/// Points that are drawn together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Group {
    /// What its points have in common, in words: the workload.
    pub title: String,
    /// Numbers of connections, ascending.
    pub connections: Vec<u32>,
    /// One for each server.
    pub series: Vec<Series>,
}

/// The points of one server in a group.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Series {
    /// The server.
    pub server: String,
    /// Index in `points` for each of the group's connections; null: no valid trial.
    pub points: Vec<Option<usize>>,
}

/// A number with its uncertainty.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end of its confidence interval; null: one trial, nothing is known.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// One treatment, all its valid trials together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Point {
    /// Level of each factor.
    pub levels: BTreeMap<String, String>,
    /// The server.
    pub server: String,
    /// Connections.
    pub connections: u32,
    /// Trials used.
    pub trials: u32,
    /// Trials left out, with reasons.
    pub left_out: Vec<String>,
    /// Transactions per second.
    pub throughput: Estimate,
    /// Statements per second.
    pub statements_per_second: Estimate,
    /// Response time of a transaction, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`.
    pub latency_ms: BTreeMap<String, Estimate>,
    /// Longest response time, ms.
    pub latency_max_ms: f64,
    /// Distribution of response times: share of transactions (0 to 1) and the time, ms, that they stay below.
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
    /// Reasons to doubt the numbers.
    pub doubts: Vec<String>,
}

/// One server against another.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// Index in `points` of the one.
    pub point: usize,
    /// Index in `points` of the one it is held against.
    pub base: usize,
    /// `throughput`, `p95`, `p99`.
    pub metric: String,
    /// The one divided by the other.
    pub ratio: Estimate,
    /// `better`, `worse`, `same`, `undecided`.
    pub verdict: String,
}

/// One execution of a treatment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Trial {
    /// Place in the order, from 0.
    pub number: u32,
    /// Repeat it belongs to, from 0.
    pub block: u32,
    /// Level of each factor.
    pub levels: BTreeMap<String, String>,
    /// The server.
    pub server: String,
    /// Connections.
    pub connections: u32,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// Why it could not be measured; null: it was.
    pub failure: Option<String>,
    /// Reasons to doubt it.
    pub doubts: Vec<String>,
    /// Transactions per second.
    pub throughput: Option<f64>,
    /// Response time of a transaction, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`, `max`.
    pub latency_ms: BTreeMap<String, f64>,
    /// Errors by the server's code.
    pub errors: BTreeMap<String, u64>,
    /// CPUs that the server kept busy.
    pub server_cpu: Option<f64>,
    /// Its seconds.
    pub seconds: Seconds,
}

/// The seconds of a trial; all lists are equally long.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Seconds {
    /// Since the load began.
    pub second: Vec<u32>,
    /// How many of them, at the beginning, are warm-up.
    pub warm_up: usize,
    /// Transactions per second.
    pub throughput: Vec<f64>,
    /// 95th percentile of response time, ms; null: nothing ended.
    pub p95_ms: Vec<Option<f64>>,
    /// 99th percentile of response time, ms; null: nothing ended.
    pub p99_ms: Vec<Option<f64>>,
    /// Errors.
    pub errors: Vec<u64>,
}

/// The schema of the document, as committed in `schemas/report.json`.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Document);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}
