//! From records to findings: estimates with intervals for each treatment, comparisons between servers, and
//! what follows from them. This module contains no text for people: a finding is a value that `report` puts
//! into words, in any language.
//!
//! The unit of observation is the trial, because the seconds of one trial depend on each other. A metric is
//! judged on its logarithm, because trials differ by a share. Every value is read from all trials together
//! (sum of transactions over sum of time; quantile of the merged histogram), and its interval comes from how
//! much the trials' own values differ (*sectioning*: Asmussen and Glynn, Stochastic Simulation, 2007, III.5).
//! With the two or three repeats that there is time for, that difference is itself poorly known, so it is
//! moderated by all treatments of the run ([`stats::moderate`]). Servers are compared within blocks, where
//! they ran side by side (centre, spread and count are those of the blocks' own ratios). A difference is
//! called only if it survives the correction for all comparisons of its stream and metric, whole ladders
//! first ([`stats::judge_ladders`]). With a single trial, the interval covers what varied within it, and no
//! difference is called.

mod advice;
mod answer;
mod axis;
mod buy;
mod claims;
mod compare;
mod conclude;
mod crashes;
mod differ;
mod figures;
mod files;
mod following;
mod history;
mod ladder;
mod measurement;
mod metric;
mod mix;
mod neighbours;
mod next;
mod plans;
mod point;
mod published;
mod resources;
mod runs;
mod scale;
mod steady;
mod tpcc;
mod tpch;
mod validity;

pub use advice::{Advice, Lost, Rule};
pub use answer::{Answer, ClaimTally, Confidence, Reason, Restless, Trust, alike};
pub use axis::{Axis, AxisKind};
pub use buy::{Buying, Enough, Offer};
pub use claims::{ClaimVerdict, Judgement, Open, Part};
pub use crashes::Crashes;
pub use differ::{RunDifference, differences, is_known};
pub use figures::FoundRate;
pub use files::{FromFile, files};
pub use following::as_one;
pub use history::{Between, Change, Followed, History, Place, Series, Value};
pub use ladder::{Effect, MeanRatio, RatioChange};
pub use measurement::Measurement;
pub use mix::MixPart;
pub use neighbours::Neighbour;
pub use next::{Next, Why};
pub use plans::{ServersPlan, StatementPlans, plans};
pub use published::{Pair, Published, Shape};
pub use resources::{Grown, Limiting, Resources, Sampled, grown, in_interval, resources};
pub use runs::{Confirmed, Repeated, RunComparison, Runs, compare_runs, repeated};
pub use scale::{Excluded, Fitted, Scaling, Unfit, Unscaled};
pub use tpcc::{Bound, Tpcc};
pub use tpch::{Query, Tpch};
pub use validity::{LeftOut, Uncounted};

use crate::{
    plan::Metric,
    run::{Doubt, Evenness, Following, counting::LEVEL},
    store::RunRecord,
};
use load::sample::{Connects, Schedule};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Estimate;
use std::collections::BTreeMap;

/// The probability with which the smallest difference that is called detectable is detected.
const POWER: f64 = 0.9;

/// Draws all conclusions that a record supports.
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
    let buying = buy::buying(record, &axis, &measurement, &rates);
    let crashes = crashes::crashes(record);
    let neighbours = neighbours::neighbours(record);
    let advice = advice::advice(record, &axis, &measurement, &crashes);
    let published = published::published(record, &measurement);
    let points: Vec<Point> = measurement.measured.into_iter().map(|measured| measured.point).collect();
    let trust = answer::trust(record, &points);
    let next = next::next(record, &axis, &points, (&comparisons, &findings, &claims), &trust);
    Findings {
        answer: answer::answer(&findings, &claims),
        trust,
        next,
        axis,
        points,
        comparisons,
        effects,
        scalings,
        unscaled,
        rates,
        buying,
        crashes,
        neighbours,
        advice,
        published,
        claims,
        findings,
    }
}

/// Everything that a report says, as values.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    /// The answer, which stands first.
    pub answer: Answer,
    /// How far all of it can be trusted.
    pub trust: Trust,
    /// The axis that the points are drawn along.
    pub axis: Axis,
    /// One for each stream of each treatment that has at least one trial, in the plan's order.
    pub points: Vec<Point>,
    /// Pairs of servers with all other levels equal.
    pub comparisons: Vec<Comparison>,
    /// What whole ladders say, in the order of the comparisons.
    pub effects: Vec<Effect>,
    /// How throughput grows along a ladder of connections, where it is long enough to tell.
    pub scalings: Vec<Scaling>,
    /// Ladders to which no such law could be fitted: too few points count, or the points do not follow it.
    pub unscaled: Vec<Unscaled>,
    /// The results of all searches for a highest rate, in the order of the points.
    pub rates: Vec<FoundRate>,
    /// What each server sustains, and which server is enough; `None`: the study does not ask for this.
    pub buying: Option<Buying>,
    /// What crashes cost, for each server that was killed.
    pub crashes: Vec<Crashes>,
    /// What the neighbours of the load did, in the plan's order.
    pub neighbours: Vec<Neighbour>,
    /// What to do, as far as the figures support it.
    pub advice: Vec<Advice>,
    /// What to measure next; `None`: repeating this study would settle nothing else.
    pub next: Option<Next>,
    /// What was published about this study, beside the results here; `None`: nothing was.
    pub published: Option<Published>,
    /// What can be said about the study's claims, in the study's order.
    pub claims: Vec<Judgement>,
    /// What is worth saying, most important first.
    pub findings: Vec<Finding>,
}

/// Name under which a point's levels contain the stream, where several run together.
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
    /// Connections of the stream that are open but idle.
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
    /// Its results as a TPC-C-like load; `None`: the load is of another kind.
    pub tpcc: Option<Tpcc>,
    /// Its results as a TPC-H-like query stream; `None`: the load is of another kind.
    pub tpch: Option<Tpch>,
    /// What became of the starts that were due, all trials together; `None`: the arrival has no schedule.
    pub schedule: Option<Schedule>,
    /// How long it was active in the intervals of all trials, s.
    pub active_s: f64,
    /// Offered load as a share of the server's capacity, 0 or more; `None`: there is no schedule, or no rung
    /// was too much.
    pub utilisation: Option<f64>,
    /// Trials that could not keep up with their schedule: their response times depend on how long the load
    /// lasted.
    pub overloaded: u32,
    /// What became of its limit; `None`: it has none.
    pub limit: Option<Limited>,
    /// Rows received and affected per second.
    pub rows_per_second: f64,
    /// How connections were opened before the load began, all trials together.
    pub opening: Connects,
    /// How connections were opened during the measurement, all trials together.
    pub reconnecting: Connects,
    /// Periods without success, with the number of the trial.
    pub outages: Vec<(u32, load::sample::Outage)>,
    /// How evenly its connections were served, in the trial where they were served least evenly; `None`:
    /// unknown, or only one connection.
    pub fairness: Option<Evenness>,
    /// Connections that finished nothing, the highest count of all trials.
    pub starved: u64,
    /// How members kept up, all trials together; `None`: it is a single server.
    pub following: Option<Following>,
    /// Errors by code, all trials together.
    pub errors: BTreeMap<u16, u64>,
    /// Errors per attempted transaction, 0 to 1.
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
    /// Trials in which the interval ended before that: the time for the whole is extrapolated from what was
    /// done.
    pub extrapolated: u32,
    /// How long it takes to reach it, s; null: in some trial nothing was done.
    pub seconds: Option<Estimate>,
}

/// One server, or one compared level, against another where everything else is equal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// Levels that both share (all factors except the compared one).
    pub levels: BTreeMap<String, String>,
    /// Index in `points` of the one that is compared.
    pub point: usize,
    /// Index in `points` of the one that it is compared with (the study's first server or level).
    pub base: usize,
    /// `throughput`, `p95` or `p99`.
    pub metric: Metric,
    /// The compared one divided by its base.
    pub ratio: Estimate,
    /// What it means.
    pub verdict: Verdict,
    /// Probability of a difference at least this great if there were none, corrected for the number of
    /// comparisons.
    pub p_value: f64,
    /// The smallest difference, as a share, that nine of ten such runs would have detected: by the run's own
    /// variance, and no smaller than what matters; null: unknown.
    pub detectable: Option<f64>,
    /// Where it is undecided: the number of repeats after which it probably would not be; null: no reasonable
    /// number.
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
    /// It says none of these; more repeats are needed.
    Undecided,
    /// One of the two could not keep up with its schedule, so the figures are about different loads.
    Overloaded,
}

impl Verdict {
    /// Which side it is on.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same | Self::Undecided | Self::Overloaded => "same",
        }
    }
}

/// One thing worth saying. `report` has a sentence for each in every language.
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
        metric: Metric,
        /// First and last rung, on [`Findings::axis`].
        stretch: (f64, f64),
        /// Whether that is the whole ladder.
        whole: bool,
        /// The better one divided by the other, the geometric mean of the rungs: above 1 for throughput,
        /// below 1 for a response time.
        ratio: Estimate,
        /// What that ratio is multiplied by with each doubling along the axis, where it changes
        /// significantly.
        doubling: Option<Estimate>,
        /// The rung of the stretch with the greatest difference that is significant by itself, and the ratio
        /// there.
        greatest: Option<(f64, Estimate)>,
    },
    /// On some rungs, one server is better than another at each rung by itself.
    Advantage {
        /// Levels that stay the same over the ladder (workload).
        levels: BTreeMap<String, String>,
        /// The better server or level ([`Axis::side`]).
        server: String,
        /// The other one.
        base: String,
        /// `throughput`, `p95`, `p99`.
        metric: Metric,
        /// First and last rung of the stretch where it is better, on [`Findings::axis`].
        stretch: (f64, f64),
        /// The better one divided by the other at the rung with the greatest difference: above 1 for
        /// throughput, below 1 for a response time.
        ratio: Estimate,
        /// That rung.
        at: f64,
    },
    /// Over the whole ladder no difference was found, or all differences were too small to matter.
    NoDifference {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// The servers.
        servers: (String, String),
        /// The metric.
        metric: Metric,
        /// The difference, as a share (0.1: 10 %), that would have been found in nine of ten such runs; 1
        /// where nothing can be said.
        resolution: f64,
        /// First and last of the rungs over which a difference was looked for as a whole; `None`: at each
        /// rung.
        stretch: Option<(f64, f64)>,
        /// Whether the run shows that they differ by no more than what matters, as a share.
        same: Option<f64>,
        /// Number of rungs at which both kept up with the offered load, and number of all rungs.
        rungs: (usize, usize),
    },
    /// Nothing can be said about the two: at every rung, one of them could not keep up with the offered load.
    NotCompared {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// The servers.
        servers: (String, String),
        /// Number of rungs.
        rungs: usize,
    },
    /// Throughput of a server is highest at this rung and significantly lower at the highest one; or, where
    /// both are the same rung, significantly lower at the one before it, so it still grows.
    Peak {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// The server.
        server: String,
        /// Rung of the highest throughput.
        at: f64,
        /// That throughput.
        throughput: Estimate,
        /// Highest rung.
        last: f64,
        /// Throughput there.
        throughput_last: Estimate,
        /// The lowest rung with almost (`conclude::ENOUGH`) as much as the highest one.
        enough: f64,
    },
    /// From this rung on, or at all rungs, a server cannot keep up with the offered load.
    Overloaded {
        /// Levels that stay the same.
        levels: BTreeMap<String, String>,
        /// The server.
        server: String,
        /// The lowest rung at which it could not.
        at: f64,
        /// Starts per second that were due there.
        offered: f64,
        /// Transactions per second that it reached there.
        throughput: Estimate,
        /// The number of trials in which it could not, and the number of all.
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
