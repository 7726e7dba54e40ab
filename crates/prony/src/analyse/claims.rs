//! What a run says about the claims of its study: supported, refuted or open.
//!
//! A claim is written before its run, so it is judged by itself, at a level of 95 %. A claim about several
//! points is supported only if the 95 % interval of each lies on its side (no correction is needed where all
//! must hold: R. L. Berger, *Multiparameter hypothesis testing and acceptance sampling*, Technometrics 24,
//! 1982), and refuted if that of any point lies on the other side after Bonferroni's correction for their
//! number. Everything else is open: an interval that contains the limit is evidence for neither side. Points
//! whose trials are all invalid neither support nor refute anything. Where other programs used the processors
//! during trials, intervals are widened by the share that they took, as if one side had lost all of it: what
//! only a quiet machine could decide stays open.

mod shape;

use super::{LEVEL, Measurement, Point, STREAM, crashes, figures, metric::is_of_work};
use crate::{
    plan::{Bound, Claim, CrashKind, Levels, Metric, Plan, Statement, is_measured},
    run::{Doubt, TrialOutcome},
    store::{RunRecord, TrialRecord},
    telemetry::Machine,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Difference, Estimate, Spread};
use std::collections::{BTreeMap, BTreeSet};

/// A claim with its verdict.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    /// The claim.
    pub claim: Claim,
    /// What the run says about it.
    pub verdict: ClaimVerdict,
    /// Why it is open; `None`: it is not.
    pub open: Option<Open>,
    /// All its parts, in the plan's order.
    pub parts: Vec<Part>,
    /// Index of the deciding part; `None`: there is none.
    pub decisive: Option<usize>,
}

/// What a run says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The intervals lie on its side.
    Supported,
    /// An interval lies on the other side.
    Refuted,
    /// Neither of the two.
    Open,
}

/// Why a claim is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Open {
    /// What it is about was not measured.
    NotMeasured,
    /// It is about levels that only another scale of the study has.
    OtherScale,
    /// There are too few trials for an interval.
    NoInterval,
    /// The interval includes the limit.
    Wide,
    /// The trials that it rests on are invalid.
    Invalid,
    /// Other programs used so much of the processors that this may explain the result.
    Disturbed,
}

/// One thing that a claim is about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ClaimPart")]
pub struct Part {
    /// Levels of its point, as far as they differ in the study, without those that are compared with others
    /// or that run along an axis.
    pub levels: BTreeMap<String, String>,
    /// What is compared with `other`; null: the number stands for itself.
    pub one: Option<String>,
    /// What it is compared with.
    pub other: Option<String>,
    /// A ratio, a slope, or the metric: transactions per second, ms, s for `active`, a share for `errors`.
    pub estimate: Estimate,
    /// What it says about the claim.
    pub verdict: ClaimVerdict,
    /// Whether the trials that it rests on are invalid.
    pub invalid: bool,
    /// Share of the processors' time that other programs and other virtual machines took in its trials.
    pub taken: f64,
    /// Whether it is open for that reason alone.
    pub disturbed: bool,
}

/// What speaks against the trials that a number rests on.
#[derive(Debug, Clone, Copy, Default)]
struct Rest {
    /// [`Part::invalid`].
    invalid: bool,
    /// [`Part::taken`].
    taken: f64,
}

impl Rest {
    /// An interval that also contains what the figure may be on a quiet machine. Idle time may be greater by
    /// what other programs took; for anything else, one side of a comparison may have lost all of it.
    fn widened(self, (low, high): (f64, f64), claim: &Claim) -> (f64, f64) {
        let taken = self.taken.min(TAKEN_MAX);
        match (claim.metric, &claim.statement) {
            (Metric::CpuIdle | Metric::CpuIdleAlone, Statement::Value(_)) => (low, high + taken),
            _ => (low - low.abs() * taken, high + high.abs() * taken / (1.0 - taken)),
        }
    }
}

/// A number that can give its interval at any level.
struct Number {
    levels: BTreeMap<String, String>,
    sides: Option<(String, String)>,
    interval: Box<dyn Fn(f64) -> Estimate>,
    bounds: Vec<Bound>,
    rest: Rest,
}

/// On a machine that only others use, nothing would be known.
const TAKEN_MAX: f64 = 0.99;

/// What is known of the metric of a claim.
struct Known<'a> {
    record: &'a RunRecord,
    plan: &'a Plan,
    measurement: &'a Measurement,
    points: Vec<&'a Point>,
    metric: Metric,
    /// For each point, figures as they are; empty where the metric is one of work.
    figures: Vec<Option<figures::Read>>,
}

impl<'a> Known<'a> {
    fn new(record: &'a RunRecord, measurement: &'a Measurement, metric: Metric) -> Self {
        let points: Vec<&Point> = measurement.points().collect();
        let figures = if is_of_work(metric) {
            Vec::new()
        } else {
            (0..points.len()).map(|point| figures::read(record, measurement, point, metric)).collect()
        };
        Self { record, plan: &record.plan, measurement, points, metric, figures }
    }

    /// Logarithm of the value of all trials together, and of each unit's.
    fn read(&self, point: usize) -> Option<figures::Read> {
        if is_of_work(self.metric) {
            return self.measurement.read(point, self.metric);
        }
        figures::logs(self.figures[point].clone()?)
    }

    /// Logarithm of the ratio of two points in each unit, from the blocks that have both.
    fn pair(&self, one: usize, other: usize) -> Option<Vec<f64>> {
        let by_unit = if is_of_work(self.metric) {
            self.measurement.pair(one, other, self.metric)
        } else {
            self.measurement.paired(one, other, |point, blocks| {
                figures::read_log(self.record, self.measurement, point, self.metric, blocks)
            })
        };
        Some(by_unit?.into_values().collect())
    }

    /// How the logarithm varies from unit to unit.
    fn spread(&self, point: usize) -> Option<Spread> {
        if is_of_work(self.metric) {
            return self.measurement.spread(point, self.metric);
        }
        let stream = &self.points[point].stream;
        let alike: Vec<usize> =
            (0..self.points.len()).filter(|&other| self.points[other].stream == *stream).collect();
        let of = |&other: &usize| {
            self.read(other).map_or_else(Vec::new, |read| read.1.into_values().collect::<Vec<f64>>())
        };
        let place = alike.iter().position(|&other| other == point)?;
        stats::moderate(&alike.iter().map(of).collect::<Vec<_>>()).swap_remove(place)
    }

    fn value(&self, point: usize, bounds: &[Bound]) -> Option<Number> {
        let (centre, by_unit) = match self.read(point) {
            Some(read) => read,
            // a figure that is 0 in some trials has no logarithm
            None => return self.plain(point, bounds),
        };
        let count = u32::try_from(by_unit.len()).unwrap_or(u32::MAX);
        let spread = self.spread(point);
        let interval = move |level: f64| Estimate::around_exp(centre, spread, count.max(1), level);
        Some(self.number(point, bounds, Box::new(interval)))
    }

    fn plain(&self, point: usize, bounds: &[Bound]) -> Option<Number> {
        let (value, by_unit) = self.figures.get(point)?.clone()?;
        let values: Vec<f64> = by_unit.into_values().collect();
        let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let spread = Spread::of(&values);
        let interval = move |level: f64| Estimate::around(value, spread, count, level);
        Some(self.number(point, bounds, Box::new(interval)))
    }

    fn number(&self, point: usize, bounds: &[Bound], interval: Box<dyn Fn(f64) -> Estimate>) -> Number {
        let of = self.points[point];
        let levels = telling(of, self.plan, []);
        Number { levels, sides: None, interval, bounds: bounds.to_vec(), rest: self.rest(&[point]) }
    }

    /// What speaks against the trials of these points.
    fn rest(&self, points: &[usize]) -> Rest {
        let of = |&point: &usize| &self.measurement.measured[point];
        let counts = |trial: &&TrialRecord| {
            points.iter().any(|point| of(point).places.contains_key(&trial.trial.number))
        };
        let each = self.record.trials.iter().filter(counts).map(|trial| taken(trial, &self.record.machine));
        let each: Vec<f64> = each.collect();
        Rest {
            invalid: points.iter().any(|&point| is_invalid(self.points[point])),
            taken: each.iter().sum::<f64>() / each.len().max(1) as f64,
        }
    }
}

/// Judges every claim of a run's plan.
pub(super) fn judge(record: &RunRecord, measurement: &Measurement) -> Vec<Judgement> {
    record.plan.claims.iter().map(|claim| judge_one(claim, record, measurement)).collect()
}

fn judge_one(claim: &Claim, record: &RunRecord, measurement: &Measurement) -> Judgement {
    let numbers = numbers(claim, record, measurement);
    let count = numbers.len().max(1) as f64;
    let parts: Vec<Part> = numbers.iter().map(|number| part(number, claim, count)).collect();
    let verdicts = || parts.iter().map(|part| part.verdict);
    let verdict = if verdicts().any(|verdict| verdict == ClaimVerdict::Refuted) {
        ClaimVerdict::Refuted
    } else if !parts.is_empty() && verdicts().all(|verdict| verdict == ClaimVerdict::Supported) {
        ClaimVerdict::Supported
    } else {
        ClaimVerdict::Open
    };
    let decisive = (0..parts.len()).filter(|&each| parts[each].verdict == verdict).min_by(|&a, &b| {
        margin(&parts[a], &numbers[a].bounds).total_cmp(&margin(&parts[b], &numbers[b].bounds))
    });
    let open = (verdict == ClaimVerdict::Open).then(|| match decisive.map(|each| &parts[each]) {
        None if !is_measured(&record.plan, claim) => Open::OtherScale,
        None => Open::NotMeasured,
        Some(part) if part.invalid => Open::Invalid,
        Some(part) if part.disturbed => Open::Disturbed,
        Some(part) if part.estimate.low.is_none() => Open::NoInterval,
        Some(_) => Open::Wide,
    });
    Judgement { claim: claim.clone(), verdict, open, parts, decisive }
}

fn part(number: &Number, claim: &Claim, count: f64) -> Part {
    let estimate = (number.interval)(LEVEL);
    let strict = (number.interval)(1.0 - (1.0 - LEVEL) / count);
    let holds = |interval: (f64, f64)| number.bounds.iter().all(|bound| bound.holds_throughout(interval));
    let fails = |interval: (f64, f64)| number.bounds.iter().any(|bound| bound.fails_throughout(interval));
    let judged = |rest: Rest| {
        let within = |estimate: &Estimate| estimate.interval().map(|interval| rest.widened(interval, claim));
        if rest.invalid {
            ClaimVerdict::Open
        } else if within(&estimate).is_some_and(holds) {
            ClaimVerdict::Supported
        } else if within(&strict).is_some_and(fails) {
            ClaimVerdict::Refuted
        } else {
            ClaimVerdict::Open
        }
    };
    let Rest { invalid, taken } = number.rest;
    let (verdict, undisturbed) = (judged(number.rest), judged(Rest { taken: 0.0, ..number.rest }));
    let (one, other) = number.sides.clone().unzip();
    let levels = number.levels.clone();
    Part { levels, one, other, estimate, verdict, invalid, taken, disturbed: verdict != undisturbed }
}

/// The share of the processors' time that other programs took during a trial; a share too small for a doubt
/// counts as zero.
fn taken(trial: &TrialRecord, machine: &Machine) -> f64 {
    let TrialOutcome::Measured { doubts, .. } = &trial.outcome else { return 0.0 };
    let processors: f64 = doubts.iter().map(Doubt::taken).sum();
    processors / f64::from(machine.cpus.max(1))
}

/// How far the number is on the right side of its nearest limit; the part with the smallest margin decides.
fn margin(part: &Part, bounds: &[Bound]) -> f64 {
    let margin = |bound: &Bound| {
        let distance = part.estimate.value - bound.value;
        if bound.relation.is_lower_limit() { distance } else { -distance }
    };
    bounds.iter().map(margin).fold(f64::INFINITY, f64::min)
}

fn numbers(claim: &Claim, record: &RunRecord, measurement: &Measurement) -> Vec<Number> {
    let points: Vec<&Point> = measurement.points().collect();
    let selected = || (0..points.len()).filter(|&each| is_selected(points[each], &claim.of));
    let bounds = claim.statement.bounds(claim.metric);
    // a value that may be 0 has no ratio
    let is_value = matches!(claim.statement, Statement::Value(_));
    match claim.metric {
        Metric::Errors if !is_value => return Vec::new(),
        Metric::Errors => {
            return selected().map(|each| errors(points[each], &bounds, &record.plan)).collect();
        }
        Metric::Lost(_) if !is_value => return Vec::new(),
        Metric::Lost(kind) => {
            return lost((record, kind), selected().map(|each| points[each]), &bounds);
        }
        _ => {}
    }
    let known = Known::new(record, measurement, claim.metric);
    match &claim.statement {
        Statement::Value(_) => selected().filter_map(|each| known.value(each, &bounds)).collect(),
        Statement::Ratio { over, .. } | Statement::Within { over, .. } => {
            pairs(&claim.of, &known, over, &bounds)
        }
        Statement::Order { by, levels } => {
            let pair = |pair: &[String]| {
                let mut of = claim.of.clone();
                of.insert(by.clone(), vec![pair[0].clone()]);
                let over = Levels::from([(by.clone(), vec![pair[1].clone()])]);
                pairs(&of, &known, &over, &bounds)
            };
            levels.windows(2).flat_map(pair).collect()
        }
        Statement::Slope { along, numbers, .. } => {
            shape::fits(&claim.of, &known, (along, numbers), shape::slope, &bounds)
        }
        Statement::Linear { along, numbers, .. } => {
            shape::fits(&claim.of, &known, (along, numbers), shape::bend, &bounds)
        }
        Statement::Variation { along, by, .. } => {
            shape::variations(&claim.of, &known, along, by.as_ref(), &bounds)
        }
    }
}

fn is_selected(point: &Point, of: &Levels) -> bool {
    let level = |factor: &str| match factor {
        STREAM => point.levels.get(factor).or(Some(&point.stream)),
        factor => point.levels.get(factor),
    };
    of.iter().all(|(factor, wanted)| level(factor).is_some_and(|level| wanted.contains(level)))
}

/// Whether all trials that a point rests on are invalid, or some that could not be left out.
fn is_invalid(point: &Point) -> bool {
    point.doubts.iter().any(Doubt::spoils)
}

/// Levels of a point that distinguish it from other points of the study, without those of `except`.
fn telling<'a>(
    point: &Point,
    plan: &Plan,
    except: impl IntoIterator<Item = &'a String> + Clone,
) -> BTreeMap<String, String> {
    let mut levels = point.levels.clone();
    levels.retain(|name, _| {
        (name == STREAM || plan.varies(name)) && !except.clone().into_iter().any(|other| other == name)
    });
    levels
}

/// The share of transactions that failed.
fn errors(point: &Point, bounds: &[Bound], plan: &Plan) -> Number {
    let share = point.error_share;
    let failed: u64 = point.errors.values().sum();
    let tried = point.histogram.count() + failed;
    let trials = point.trials;
    let interval = move |level: f64| stats::proportion(share, tried, level, trials);
    Number {
        levels: telling(point, plan, []),
        sides: None,
        interval: Box::new(interval),
        bounds: bounds.to_vec(),
        // such a claim is about failures, so failures do not speak against it
        rest: Rest::default(),
    }
}

/// The share of acknowledged commits that were lost, for each server of the points.
fn lost<'a>(
    (record, kind): (&RunRecord, CrashKind),
    points: impl Iterator<Item = &'a Point>,
    bounds: &[Bound],
) -> Vec<Number> {
    let servers: BTreeSet<usize> =
        points.map(|point| record.plan.treatments[point.treatment].server).collect();
    let number = |server: usize| {
        let interval = Box::new(crashes::lost(record, server, kind)?);
        let levels = BTreeMap::from([("server".to_owned(), record.plan.servers[server].name.clone())]);
        Some(Number { levels, sides: None, interval, bounds: bounds.to_vec(), rest: Rest::default() })
    };
    servers.into_iter().filter_map(number).collect()
}

/// Each point of a claim, with the point that differs from it only in the levels of `over`. How such pairs
/// differ from block to block is estimated from all such pairs of the study, because a claim may be about a
/// single one.
fn pairs(of: &Levels, known: &Known<'_>, over: &Levels, bounds: &[Bound]) -> Vec<Number> {
    let points = &known.points;
    let mut alike = of.clone();
    alike.retain(|factor, _| over.contains_key(factor) || factor == STREAM);
    let is_other = |one: &Point, other: &Point| {
        let same = |(factor, level): (&String, &String)| {
            over.contains_key(factor) || other.levels.get(factor).is_none_or(|own| own == level)
        };
        is_selected(other, over)
            && one.stream == other.stream
            && one.treatment != other.treatment
            && one.levels.iter().all(same)
    };
    let all: Vec<(usize, usize, Vec<f64>)> = (0..points.len())
        .filter(|&one| is_selected(points[one], &alike))
        .flat_map(|one| (0..points.len()).map(move |other| (one, other)))
        .filter(|&(one, other)| is_other(points[one], points[other]))
        .filter_map(|(one, other)| Some((one, other, known.pair(one, other)?)))
        .collect();
    let groups: Vec<Vec<f64>> = all.iter().map(|pair| pair.2.clone()).collect();
    all.into_iter()
        .zip(stats::paired(&groups))
        .filter(|((one, ..), _)| is_selected(points[*one], of))
        .map(|((one, other, _), difference)| Number {
            levels: telling(points[one], known.plan, over.keys()),
            sides: Some((side(points[one], over), side(points[other], over))),
            interval: interval_of(difference),
            bounds: bounds.to_vec(),
            rest: known.rest(&[one, other]),
        })
        .collect()
}

/// The interval of a ratio, at any level.
fn interval_of(difference: Difference) -> Box<dyn Fn(f64) -> Estimate> {
    Box::new(move |level: f64| {
        Estimate::around_exp(difference.log, difference.spread, difference.count.max(1), level)
    })
}

/// The name of a point in the factors by which it is compared with another.
fn side(point: &Point, over: &Levels) -> String {
    let levels: Vec<&str> =
        over.keys().filter_map(|factor| point.levels.get(factor)).map(String::as_str).collect();
    if levels.is_empty() { point.server.clone() } else { levels.join(", ") }
}
