//! Advice: what to do, as far as a run's figures support it. Each piece follows from one of the listed rules
//! (`docs/advice.md`) and holds the numbers that it rests on. Where no difference is called, and none is
//! shown to be too small to matter, there is no advice.
//!
//! A rule names pairs of lines: points of two servers, or of two ways to use one, along the axis. Everything
//! that the rules ask about one metric and stream is one family, judged as whole ladders are
//! ([`stats::judge_ladders`]), so that among runs in which nothing differs, one in twenty gives any advice.
//! Whether a server is better than *all* others is decided by comparing the one with the best mean with each
//! of them. This preserves the risk although the server was chosen by its figures (J. C. Hsu, *Simultaneous
//! confidence intervals for all distances from the "best"*, Annals of Statistics 9, 1981).

mod rules;
mod servers;

use super::{Axis, AxisKind, Crashes, Measurement, Metric, Verdict, conclude::without};
use crate::{plan::CrashKind, run::Doubt, store::RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use servers::Traits;
use stats::{Estimate, Judged, JudgedLadder, Ladder};
use std::collections::{BTreeMap, BTreeSet};

/// A piece of advice with what it rests on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Advice {
    /// The rule that it follows from.
    pub rule: Rule,
    /// Levels that all of it shares.
    pub levels: BTreeMap<String, String>,
    /// What it is about: a server, or a compared level.
    pub one: String,
    /// What that is compared with.
    pub other: String,
    /// `throughput` or, where the load follows a schedule, `p95`.
    pub metric: Metric,
    /// First and last place on the axis for which it holds.
    pub stretch: (f64, f64),
    /// Whether it is about these places taken together, rather than about each of them.
    pub together: bool,
    /// The one divided by the other: over the stretch, or where it differs most in it.
    pub ratio: Estimate,
    /// The place of that greatest difference, if it is one of several.
    pub at: Option<f64>,
    /// What the ratio means.
    pub verdict: Verdict,
}

impl Advice {
    /// Whether it says the same about the same servers under another load.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        let rule = |advice: &Self| std::mem::discriminant(&advice.rule);
        let ends = |advice: &Self| match &advice.rule {
            Rule::Upgrade { also } => also.clone(),
            _ => Vec::new(),
        };
        self.levels != other.levels
            && (rule(self), &self.one, &self.other, self.metric, self.verdict, self.together)
                == (rule(other), &other.one, &other.other, other.metric, other.verdict, other.together)
            && ends(self) == ends(other)
    }
}

/// The rules.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// Among servers that keep commits equally safe within the same limits, one is better than all others:
    /// choose it. `other` is the next best.
    Choose {
        /// How many it is better than.
        servers: usize,
    },
    /// Two servers differ only in the thread pool: switch it on, leave it off, or it does not matter.
    Pool,
    /// Two servers differ in their version: the effect of the upgrade.
    Upgrade {
        /// Conditions that differ as well.
        also: Vec<String>,
    },
    /// One way to the server leads over a network, the other does not.
    Local {
        /// Round trip of the network, ms.
        latency_ms: f64,
    },
    /// One of two servers loses fewer commits than the other: what this safety costs.
    Safety {
        /// What was lost; null: no crash was tried on both.
        lost: Option<Lost>,
    },
}

/// What crashes cost the two servers of [`Rule::Safety`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "LostCommits")]
pub struct Lost {
    /// What happened to them.
    pub kind: CrashKind,
    /// Share of the acknowledged commits that the safer one lost.
    pub one: Estimate,
    /// Share that the other one lost.
    pub other: Estimate,
    /// Commits that were acknowledged by the safer one.
    pub acknowledged: u64,
    /// How often each was killed, in total.
    pub crashes: u32,
}

/// All advice that a run supports, in the order of the rules.
pub(super) fn advice(
    record: &RunRecord,
    axis: &Axis,
    measurement: &Measurement,
    crashes: &[Crashes],
) -> Vec<Advice> {
    let lines = lines(record, axis, measurement);
    let traits = Traits::of(record);
    let known = Known { record, axis, measurement, crashes, lines: &lines, traits: &traits };
    let answers = answers(&known, &rules::asked(&known));
    rules::advice(&known, &answers)
}

/// Points of one side along the axis.
#[derive(Debug)]
struct Line {
    /// Levels that stay the same.
    levels: BTreeMap<String, String>,
    stream: String,
    /// The server, or the levels that are compared.
    side: String,
    server: usize,
    /// Index in the plan's treatments, of the first point.
    treatment: usize,
    metric: Metric,
    /// Places with the indices of their points, ascending.
    rungs: Vec<(f64, usize)>,
}

/// What rules look at.
struct Known<'a> {
    record: &'a RunRecord,
    axis: &'a Axis,
    measurement: &'a Measurement,
    crashes: &'a [Crashes],
    lines: &'a [Line],
    traits: &'a Traits,
}

/// Indices of two lines, the one and what it is compared with.
type Pair = (usize, usize);

/// What the figures say about a pair.
#[derive(Debug)]
struct Answer {
    places: Vec<f64>,
    judged: JudgedLadder,
}

impl Answer {
    /// Of all places together, or of the only one.
    fn whole(&self) -> Option<&Judged> {
        match self.judged.rungs.as_slice() {
            [only] => Some(only),
            _ => self.judged.whole.as_ref(),
        }
    }

    fn stretch(&self) -> Option<(f64, f64)> {
        Some((*self.places.first()?, *self.places.last()?))
    }
}

/// Points that count, by what stays the same along the axis.
fn lines(record: &RunRecord, axis: &Axis, measurement: &Measurement) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, point) in measurement.points().enumerate() {
        let is_sound = point.overloaded == 0 && !point.doubts.iter().any(Doubt::spoils);
        if !is_sound || !measurement.measured[index].logs.contains_key(&Metric::Throughput) {
            continue;
        }
        let mut levels = without(&point.levels, axis);
        levels.retain(|factor, _| !axis.compares(factor));
        let server = record.plan.treatments[point.treatment].server;
        let side = axis.side(point);
        let rung = (axis.value(point), index);
        let is_own = |line: &&mut Line| {
            (&line.levels, &line.stream, &line.side, line.server) == (&levels, &point.stream, &side, server)
        };
        match lines.iter_mut().find(is_own) {
            Some(line) => line.rungs.push(rung),
            None => lines.push(Line {
                levels,
                stream: point.stream.clone(),
                side,
                server,
                treatment: point.treatment,
                metric: if point.schedule.is_some() { Metric::Quantile(95_000) } else { Metric::Throughput },
                rungs: vec![rung],
            }),
        }
    }
    for line in &mut lines {
        line.rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
        // where several loads share one place, nothing says which of them corresponds to which of another
        // line
        line.rungs.dedup_by(|later, first| later.0.total_cmp(&first.0).is_eq());
    }
    lines
}

impl Known<'_> {
    /// Whether two lines have the same load.
    fn is_beside(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.lines[one], &self.lines[other]);
        one.levels == other.levels && one.stream == other.stream && one.metric == other.metric
    }

    /// Points of two lines at the same places.
    fn shared(&self, (one, other): Pair) -> Vec<(f64, usize, usize)> {
        let of = |at: f64| self.lines[other].rungs.iter().find(|rung| rung.0.total_cmp(&at).is_eq());
        let rungs = self.lines[one].rungs.iter();
        rungs.filter_map(|&(at, point)| Some((at, point, of(at)?.1))).collect()
    }

    fn ladder(&self, pair: Pair) -> Option<(Vec<f64>, Ladder)> {
        let metric = self.lines[pair.0].metric;
        let shared = self.shared(pair).into_iter();
        let read = |(at, one, other)| Some((at, self.measurement.pair(one, other, metric)?));
        let (places, rungs): (Vec<f64>, Vec<_>) = shared.filter_map(read).unzip();
        let doublings = |at: &f64| (*at > 0.0).then(|| at.log2());
        let numeric = self.axis.kind != AxisKind::Names;
        let along = places.iter().map(doublings).collect::<Option<Vec<f64>>>().filter(|_| numeric);
        (!rungs.is_empty()).then_some((places, Ladder { rungs, places: along, knee: None }))
    }
}

/// Judges all pairs; those of one metric and stream are one family.
fn answers(known: &Known<'_>, asked: &BTreeSet<Pair>) -> BTreeMap<Pair, Answer> {
    let family = |pair: &Pair| (known.lines[pair.0].metric, known.lines[pair.0].stream.clone());
    let families: BTreeSet<_> = asked.iter().map(family).collect();
    let mut answers = BTreeMap::new();
    for one in families {
        let of_family = asked.iter().filter(|pair| family(pair) == one);
        let ladders = of_family.filter_map(|&pair| Some((pair, known.ladder(pair)?)));
        let (pairs, ladders): (Vec<Pair>, Vec<(Vec<f64>, Ladder)>) = ladders.unzip();
        let (places, ladders): (Vec<Vec<f64>>, Vec<Ladder>) = ladders.into_iter().unzip();
        let judged = stats::judge_ladders(&ladders, known.measurement.rule());
        let answer = |(places, judged)| Answer { places, judged };
        answers.extend(pairs.into_iter().zip(places.into_iter().zip(judged).map(answer)));
    }
    answers
}
