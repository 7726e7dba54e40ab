//! From records to findings: estimates with intervals for each treatment, comparisons between servers, and
//! what follows from them. Holds no text for people: a finding is a value that `report` puts into words, in
//! any language.
//!
//! The unit of observation is the trial, for seconds of one trial depend on each other. A metric is judged on
//! its logarithm: what differs between trials differs by a share. Every value is read from all trials
//! together (sum of transactions over sum of time; quantile of the merged histogram), its interval from how
//! much the trials' own values differ (*sectioning*: Asmussen and Glynn, Stochastic Simulation, 2007, III.5).
//! With the two or three repeats that there is time for, that difference is itself badly known, so it is
//! moderated by all treatments of the run ([`stats::moderate`]). Servers are compared within blocks, where
//! they ran side by side (centre, spread and count are those of the blocks' own ratios), and a difference is
//! called one only if it survives the correction for all that is asked of its stream and metric, whole
//! ladders first ([`stats::judge_ladders`]). With a single trial the interval covers what varied within it,
//! and no difference is called.

mod axis;
mod claims;
mod compare;
mod conclude;
mod crashes;
mod differ;
mod figures;
mod following;
mod history;
mod ladder;
mod measurement;
mod metric;
mod mix;
mod point;
mod published;
mod resources;
mod runs;
mod scale;
mod steady;
mod validity;

pub use axis::{Axis, AxisKind};
pub use claims::{ClaimVerdict, Judgement, Open, Part};
pub use crashes::Crashes;
pub use differ::{RunDifference, differences, is_known};
pub use figures::FoundRate;
pub use following::as_one;
pub use history::{Between, Change, History, Place, Series, Value};
pub use ladder::{Effect, MeanRatio, RatioChange};
pub use measurement::Measurement;
pub use metric::{Metric, UnknownMetric};
pub use mix::MixPart;
pub use published::{Pair, Published, Shape};
pub use resources::{Grown, Limiting, Resources, Sampled, grown, in_interval, resources};
pub use runs::{RunComparison, Runs, compare_runs};
pub use scale::{Excluded, Fitted, Scaling, Unfit, Unscaled};
pub use validity::{LeftOut, Uncounted};

use crate::{
    run::{Doubt, Fairness, Following, counting::LEVEL},
    store::RunRecord,
};
use load::sample::{Connects, Schedule};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Estimate;
use std::collections::BTreeMap;

/// How surely the smallest difference that is called detectable is detected.
const POWER: f64 = 0.9;

/// Draws everything from a record that it carries.
#[must_use]
pub fn analyse(record: &RunRecord) -> Findings {
    let mut measurement = Measurement::of(record);
    let axis = Axis::of(&record.plan);
    scale::utilise(&axis, &mut measurement.measured);
    let (comparisons, effects) = compare::compare(record, &axis, &measurement);
    let findings = conclude::findings(&axis, &measurement, &comparisons, &effects);
    let (scalings, unscaled) = scale::scalings(&record.plan, &axis, &measurement.measured);
    let claims = claims::judge(record, &measurement);
    let rates = figures::rates(record, &measurement);
    let crashes = crashes::crashes(record);
    let published = published::published(record, &measurement);
    let points = measurement.measured.into_iter().map(|measured| measured.point).collect();
    Findings {
        axis,
        points,
        comparisons,
        effects,
        scalings,
        unscaled,
        rates,
        crashes,
        published,
        claims,
        findings,
    }
}

/// Everything that a report says, as values.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    /// What the points are drawn along.
    pub axis: Axis,
    /// One for each stream of each treatment that has at least one trial, in the plan's order.
    pub points: Vec<Point>,
    /// Pairs of servers at otherwise equal levels.
    pub comparisons: Vec<Comparison>,
    /// What whole ladders say, in the order of the comparisons.
    pub effects: Vec<Effect>,
    /// How throughput grows along a ladder of connections, where it is long enough to tell.
    pub scalings: Vec<Scaling>,
    /// Ladders that have no such law: too few points count, or they do not follow it.
    pub unscaled: Vec<Unscaled>,
    /// The highest rates that were searched, in the order of the points.
    pub rates: Vec<FoundRate>,
    /// What crashes cost, of each server that was killed.
    pub crashes: Vec<Crashes>,
    /// What was published of this study beside what came out here; `None`: nothing was.
    pub published: Option<Published>,
    /// What is to be said of the study's claims, in its order.
    pub claims: Vec<Judgement>,
    /// What is worth saying, most important first.
    pub findings: Vec<Finding>,
}

/// Name under which a point's levels say which stream it is, where several run together.
pub const STREAM: &str = "stream";

/// One stream of a treatment, all valid trials together.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// Index in the plan's treatments.
    pub treatment: usize,
    /// Level of each factor; where a treatment has several streams, the stream's name as [`STREAM`].
    pub levels: BTreeMap<String, String>,
    /// Name of the server.
    pub server: String,
    /// Name of the stream.
    pub stream: String,
    /// Connections of the stream that work.
    pub connections: u32,
    /// Connections of the stream that are only open.
    pub idle: u32,
    /// Trials used.
    pub trials: u32,
    /// Trials left out.
    pub left_out: Vec<LeftOut>,
    /// Transactions per second.
    pub throughput: Estimate,
    /// Statements per second.
    pub statements_per_second: Estimate,
    /// Response time of a transaction, ms, by name: `mean`, `p50`, `p95`, `p99`, and `p99.9` where ten
    /// transactions or more lie above it. From merged histograms; empty where no transaction ended well.
    pub latency_ms: BTreeMap<String, Estimate>,
    /// Largest response time seen, ms.
    pub latency_max_ms: f64,
    /// Merged response-time histogram of the transaction.
    pub histogram: load::Histogram,
    /// Transactions per second of each trial used, in order of execution.
    pub throughput_by_trial: Vec<f64>,
    /// Service time of a transaction, ms, by the same names, where it is not the response time: from merged
    /// histograms.
    pub service_ms: BTreeMap<String, f64>,
    /// What each transaction of its workload did; empty where there is only one.
    pub mix: Vec<MixPart>,
    /// What became of the starts that were due, all trials together; `None`: the arrival has no schedule.
    pub schedule: Option<Schedule>,
    /// How long it was active in the intervals of all trials, s.
    pub active_s: f64,
    /// What was offered as a share of what the server can do, 0 and more; `None`: no schedule, or no rung
    /// was too much.
    pub utilisation: Option<f64>,
    /// Trials that could not keep up with their schedule: their response times tell how long the load
    /// lasted.
    pub overloaded: u32,
    /// What became of its limit; `None`: it has none.
    pub limit: Option<Limited>,
    /// Rows received and affected per second.
    pub rows_per_second: f64,
    /// How connections were opened before the load began, all trials together.
    pub opening: Connects,
    /// How they were opened in the measurement, all trials together.
    pub reconnecting: Connects,
    /// Times without success, with the number of the trial.
    pub outages: Vec<(u32, load::sample::Outage)>,
    /// How equally its connections were served, in the trial where it was worst; `None`: unknown, or only
    /// one connection.
    pub fairness: Option<Fairness>,
    /// Connections that finished nothing, in the trial where they were most.
    pub starved: u64,
    /// How members followed, all trials together; `None`: one server alone.
    pub following: Option<Following>,
    /// Errors by code, all trials together.
    pub errors: BTreeMap<u16, u64>,
    /// Errors per transaction tried, 0 to 1.
    pub error_share: f64,
    /// CPUs that the server kept busy; `None`: unknown.
    pub server_cpu: Option<f64>,
    /// CPUs that Prony itself kept busy.
    pub client_cpu: f64,
    /// Doubts of its trials.
    pub doubts: Vec<Doubt>,
}

/// What became of a stream's limit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Limit")]
pub struct Limited {
    /// Trials in which it was reached.
    pub reached: u32,
    /// How long that took, s; where it was not reached in all trials, no more than a bound from below.
    pub seconds: Estimate,
}

/// One server, or one level of what is compared, against another where everything else is equal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// Levels that both share (all factors but what is compared).
    pub levels: BTreeMap<String, String>,
    /// Index in `points` of the one.
    pub point: usize,
    /// Index in `points` of the one it is held against (the study's first server or level).
    pub base: usize,
    /// `throughput`, `p95` or `p99`.
    pub metric: String,
    /// The one divided by the other.
    pub ratio: Estimate,
    /// What it means.
    pub verdict: Verdict,
    /// Probability of a difference as great if there were none, corrected for the number of comparisons.
    pub p_value: f64,
    /// The smallest difference, as a share, that would have been called one in nine of ten such runs: by the
    /// run's own variance, and no smaller than what matters; null: unknown.
    pub detectable: Option<f64>,
    /// Where it is undecided: repeats of all after which it probably would not be; null: no number that is
    /// reasonable.
    pub repeats_needed: Option<u32>,
}

/// What a comparison means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is better: significantly, and by more than what matters.
    Better,
    /// It is worse.
    Worse,
    /// It lies within the limit that counts as equal.
    Same,
    /// It says neither; more repeats are needed.
    Undecided,
    /// One of the two could not keep up with what was offered, so that the figures are not about the same.
    Overloaded,
}

/// One thing worth saying. `report` has a sentence for each in each language.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// One server is better over a whole ladder, or from its knee on.
    Effect {
        /// Levels that stay the same over the ladder (workload).
        levels: BTreeMap<String, String>,
        /// The better server or level ([`Axis::side`]).
        server: String,
        /// The other one.
        base: String,
        /// `throughput`, `p95`, `p99`.
        metric: String,
        /// First and last rung, on [`Findings::axis`].
        stretch: (f64, f64),
        /// Whether that is the whole ladder.
        whole: bool,
        /// The better one by the other, the geometric mean of the rungs: above 1 for throughput, below 1
        /// for a response time.
        ratio: Estimate,
        /// What that ratio is multiplied by with each doubling along the axis, where it changes
        /// significantly.
        doubling: Option<Estimate>,
        /// The rung of the stretch with the greatest difference that is significant by itself, and the ratio
        /// there.
        greatest: Option<(f64, Estimate)>,
    },
    /// On some rungs one server is better than another by themselves.
    Advantage {
        /// Levels that stay the same over the ladder (workload).
        levels: BTreeMap<String, String>,
        /// The better server or level ([`Axis::side`]).
        server: String,
        /// The other one.
        base: String,
        /// `throughput`, `p95`, `p99`.
        metric: String,
        /// First and last rung of the stretch where it is better, on [`Findings::axis`].
        stretch: (f64, f64),
        /// The better one by the other at the rung where the difference is greatest: above 1 for throughput,
        /// below 1 for a response time.
        ratio: Estimate,
        /// That rung.
        at: f64,
    },
    /// Over the whole ladder no difference could be told, or all were too small to matter.
    NoDifference {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// The servers.
        servers: (String, String),
        /// The metric.
        metric: String,
        /// The difference, as a share (0.1: 10 %), that would have been found in nine of ten such runs; 1
        /// where nothing can be said.
        resolution: f64,
        /// First and last of the rungs over which it was looked for as a whole; `None`: at each rung.
        stretch: Option<(f64, f64)>,
        /// Whether it is shown there that they differ by no more than what matters, as a share.
        same: Option<f64>,
        /// Rungs at which both kept up with what was offered, and all.
        rungs: (usize, usize),
    },
    /// Nothing can be said of the two: at every rung one of them could not keep up with what was offered.
    NotCompared {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// The servers.
        servers: (String, String),
        /// Rungs.
        rungs: usize,
    },
    /// Throughput of a server is highest at this rung, and significantly lower at the highest one; or, where
    /// both are the same rung, significantly lower at the one before it: it still grows.
    Peak {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// Which server.
        server: String,
        /// Rung of the highest throughput.
        at: f64,
        /// That throughput.
        throughput: Estimate,
        /// Highest rung.
        last: f64,
        /// Throughput there.
        throughput_last: Estimate,
    },
    /// From this rung on, or at all, a server cannot keep up with what is offered.
    Overloaded {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// Which server.
        server: String,
        /// The lowest rung at which it could not.
        at: f64,
        /// Starts that were due there in a second.
        offered: f64,
        /// Transactions per second that it reached there.
        throughput: Estimate,
        /// In how many trials of how many.
        trials: (u32, u32),
    },
    /// The numbers of these points are in doubt, for one kind of reason.
    Doubtful {
        /// Indices in [`Findings::points`].
        points: Vec<usize>,
        /// Why, once for each trial.
        doubts: Vec<Doubt>,
    },
}

#[cfg(test)]
mod tests;
