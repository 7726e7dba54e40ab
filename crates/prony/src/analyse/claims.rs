//! What a run says of the claims of its study: supported, refuted or open.
//!
//! A claim was written before its run, so it is judged by itself, at a level of 95 %. Where it is about
//! several points it is supported only if the 95 % interval of each lies on its side (no correction is needed
//! where all must hold: R. L. Berger, *Multiparameter hypothesis testing and acceptance sampling*,
//! Technometrics 24, 1982), and refuted if that of any lies on the other side after Bonferroni's correction
//! for their number. Everything else is open: that an interval reaches over the limit is no evidence for
//! either. Nothing is supported or refuted by points whose every trial is invalid.

use super::{
    LEVEL, Measurement, Metric, Point, STREAM, crashes,
    figures::{self, Figure},
};
use crate::{
    plan::{Bound, Claim, Levels, Plan, Relation, Statement, is_measured},
    run::Doubt,
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Estimate, Spread};
use std::collections::{BTreeMap, BTreeSet};

/// A claim, judged.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    /// The claim.
    pub claim: Claim,
    /// What the run says of it.
    pub verdict: ClaimVerdict,
    /// Why it is open; `None`: it is not.
    pub open: Option<Open>,
    /// Everything that it is about, in the plan's order.
    pub parts: Vec<Part>,
    /// Index of the part that decides; `None`: there is none.
    pub decisive: Option<usize>,
}

/// What a run says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The intervals lie on its side.
    Supported,
    /// An interval lies on the other side.
    Refuted,
    /// Neither.
    Open,
}

/// Why a claim is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Open {
    /// What it is about was not measured.
    NotMeasured,
    /// It is about levels that another scale of the study has, and this one has not.
    OtherScale,
    /// There are too few trials for an interval.
    NoInterval,
    /// The interval reaches over the limit.
    Wide,
    /// What it rests on is invalid.
    Invalid,
}

/// One thing that a claim is about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ClaimPart")]
pub struct Part {
    /// Levels of its point, as far as they differ in the study; those that are held against others or run
    /// along an axis not included.
    pub levels: BTreeMap<String, String>,
    /// What is held against `other`; null: the number stands for itself.
    pub one: Option<String>,
    /// What it is held against.
    pub other: Option<String>,
    /// A ratio, a slope, or the metric: transactions per second, ms, s for `active`, a share for `errors`.
    pub estimate: Estimate,
    /// What it says of the claim.
    pub verdict: ClaimVerdict,
    /// Whether what it rests on is invalid.
    pub invalid: bool,
}

/// A number that can say its interval at any level.
struct Number {
    levels: BTreeMap<String, String>,
    sides: Option<(String, String)>,
    interval: Box<dyn Fn(f64) -> Estimate>,
    bounds: Vec<Bound>,
    invalid: bool,
}

/// What a claim is about, of any point of a run.
#[derive(Clone, Copy)]
enum Subject {
    Metric(Metric),
    Figure(Figure),
}

impl Subject {
    fn of(claim: &Claim) -> Option<Self> {
        let figure = claim.metric.parse().ok().map(Self::Figure);
        figure.or_else(|| claim.metric.parse().ok().map(Self::Metric))
    }

    fn more_is_better(self) -> bool {
        match self {
            Self::Metric(metric) => metric.more_is_better(),
            Self::Figure(figure) => figure.more_is_better(),
        }
    }
}

/// What is known of the subject of a claim.
struct Known<'a> {
    record: &'a RunRecord,
    plan: &'a Plan,
    measurement: &'a Measurement,
    points: Vec<&'a Point>,
    subject: Subject,
    /// Of each point, figures as they are; empty where the subject is a metric.
    figures: Vec<Option<figures::Read>>,
}

impl<'a> Known<'a> {
    fn new(record: &'a RunRecord, measurement: &'a Measurement, subject: Subject) -> Self {
        let points: Vec<&Point> = measurement.points().collect();
        let figures = match subject {
            Subject::Metric(_) => Vec::new(),
            Subject::Figure(figure) => {
                (0..points.len()).map(|point| figures::read(record, measurement, point, figure)).collect()
            }
        };
        Self { record, plan: &record.plan, measurement, points, subject, figures }
    }

    /// Logarithm of the value of all trials together, and of each unit's.
    fn read(&self, point: usize) -> Option<figures::Read> {
        match self.subject {
            Subject::Metric(metric) => self.measurement.read(point, metric),
            Subject::Figure(_) => figures::logs(self.figures[point].clone()?),
        }
    }

    /// Logarithm of the ratio of two points in each unit, from the blocks that have both.
    fn pair(&self, one: usize, other: usize) -> Option<Vec<f64>> {
        let by_unit = match self.subject {
            Subject::Metric(metric) => self.measurement.pair(one, other, metric),
            Subject::Figure(figure) => self.measurement.paired(one, other, |point, blocks| {
                figures::read_log(self.record, self.measurement, point, figure, blocks)
            }),
        };
        Some(by_unit?.into_values().collect())
    }

    /// How the logarithm differs from unit to unit.
    fn spread(&self, point: usize) -> Option<Spread> {
        let Subject::Metric(metric) = self.subject else {
            let stream = &self.points[point].stream;
            let alike: Vec<usize> =
                (0..self.points.len()).filter(|&other| self.points[other].stream == *stream).collect();
            let of = |&other: &usize| {
                self.read(other).map_or_else(Vec::new, |read| read.1.into_values().collect::<Vec<f64>>())
            };
            let place = alike.iter().position(|&other| other == point)?;
            return stats::moderate(&alike.iter().map(of).collect::<Vec<_>>()).swap_remove(place);
        };
        self.measurement.spread(point, metric)
    }

    fn value(&self, point: usize, bound: Bound) -> Option<Number> {
        let (centre, by_unit) = match self.read(point) {
            Some(read) => read,
            // what some trials have none of has no logarithm
            None => return self.plain(point, bound),
        };
        let count = u32::try_from(by_unit.len()).unwrap_or(u32::MAX);
        Some(self.number(point, bound, interval_of_exp(centre, self.spread(point), count)))
    }

    fn plain(&self, point: usize, bound: Bound) -> Option<Number> {
        let (value, by_unit) = self.figures.get(point)?.clone()?;
        let values: Vec<f64> = by_unit.into_values().collect();
        let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let spread = Spread::of(&values);
        let interval = move |level: f64| match spread {
            Some(spread) => spread.interval(value, count, level),
            None => Estimate::bare(value, level, count),
        };
        Some(self.number(point, bound, Box::new(interval)))
    }

    fn number(&self, point: usize, bound: Bound, interval: Box<dyn Fn(f64) -> Estimate>) -> Number {
        let of = self.points[point];
        let levels = telling(of, self.plan, []);
        Number { levels, sides: None, interval, bounds: vec![bound], invalid: is_invalid(of) }
    }
}

/// Judges every claim of a run's plan.
pub(super) fn judge(record: &RunRecord, measurement: &Measurement) -> Vec<Judgement> {
    record.plan.claims.iter().map(|claim| judge_one(claim, record, measurement)).collect()
}

fn judge_one(claim: &Claim, record: &RunRecord, measurement: &Measurement) -> Judgement {
    let numbers = numbers(claim, record, measurement);
    let count = numbers.len().max(1) as f64;
    let parts: Vec<Part> = numbers.iter().map(|number| part(number, count)).collect();
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
        Some(part) if part.estimate.low.is_none() => Open::NoInterval,
        Some(_) => Open::Wide,
    });
    Judgement { claim: claim.clone(), verdict, open, parts, decisive }
}

fn part(number: &Number, count: f64) -> Part {
    let estimate = (number.interval)(LEVEL);
    let strict = (number.interval)(1.0 - (1.0 - LEVEL) / count);
    let holds = |(low, high): (f64, f64)| number.bounds.iter().all(|bound| holds(*bound, low, high));
    let fails = |(low, high): (f64, f64)| number.bounds.iter().any(|bound| fails(*bound, low, high));
    let verdict = if number.invalid {
        ClaimVerdict::Open
    } else if estimate.interval().is_some_and(holds) {
        ClaimVerdict::Supported
    } else if strict.interval().is_some_and(fails) {
        ClaimVerdict::Refuted
    } else {
        ClaimVerdict::Open
    };
    let (one, other) = number.sides.clone().unzip();
    Part { levels: number.levels.clone(), one, other, estimate, verdict, invalid: number.invalid }
}

fn holds(bound: Bound, low: f64, high: f64) -> bool {
    match bound.relation {
        Relation::Above => low > bound.value,
        Relation::AtLeast => low >= bound.value,
        Relation::Below => high < bound.value,
        Relation::AtMost => high <= bound.value,
    }
}

fn fails(bound: Bound, low: f64, high: f64) -> bool {
    match bound.relation {
        Relation::Above => high <= bound.value,
        Relation::AtLeast => high < bound.value,
        Relation::Below => low >= bound.value,
        Relation::AtMost => low > bound.value,
    }
}

/// How far the number is on the good side of its nearest limit; the smallest decides.
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
    if claim.metric == "errors" {
        let Statement::Value(bound) = claim.statement else { return Vec::new() };
        return selected().map(|each| errors(points[each], bound, &record.plan)).collect();
    }
    if claim.metric == "lost" {
        let Statement::Value(bound) = claim.statement else { return Vec::new() };
        return lost(record, selected().map(|each| points[each]), bound);
    }
    let Some(subject) = Subject::of(claim) else { return Vec::new() };
    let known = Known::new(record, measurement, subject);
    match &claim.statement {
        Statement::Value(bound) => selected().filter_map(|each| known.value(each, *bound)).collect(),
        Statement::Ratio { over, bound } => pairs(claim, &known, over, &[*bound]),
        Statement::Within { over, share } => {
            let bounds = [
                Bound { relation: Relation::AtLeast, value: 1.0 / (1.0 + share) },
                Bound { relation: Relation::AtMost, value: 1.0 + share },
            ];
            pairs(claim, &known, over, &bounds)
        }
        Statement::Order { by, levels } => {
            let relation = if subject.more_is_better() { Relation::Above } else { Relation::Below };
            let pair = |pair: &[String]| {
                let mut claim = claim.clone();
                claim.of.insert(by.clone(), vec![pair[0].clone()]);
                let over = Levels::from([(by.clone(), vec![pair[1].clone()])]);
                pairs(&claim, &known, &over, &[Bound { relation, value: 1.0 }])
            };
            levels.windows(2).flat_map(pair).collect()
        }
        Statement::Slope { along, bound } => slopes(claim, &known, along, *bound),
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

/// Levels of a point that tell it apart from others of the study, without those of `except`.
fn telling<'a>(
    point: &Point,
    plan: &Plan,
    except: impl IntoIterator<Item = &'a String> + Clone,
) -> BTreeMap<String, String> {
    let varies = |name: &String| {
        name == STREAM || plan.factors.iter().any(|factor| factor.name == *name && factor.levels.len() > 1)
    };
    let mut levels = point.levels.clone();
    levels.retain(|name, _| varies(name) && !except.clone().into_iter().any(|other| other == name));
    levels
}

fn interval_of_exp(log: f64, spread: Option<Spread>, count: u32) -> Box<dyn Fn(f64) -> Estimate> {
    Box::new(move |level| match spread {
        Some(spread) => spread.interval_of_exp(log, count.max(1), level),
        None => Estimate::bare(log.exp(), level, count),
    })
}

/// The share of transactions that failed.
fn errors(point: &Point, bound: Bound, plan: &Plan) -> Number {
    let share = point.error_share;
    let failed: u64 = point.errors.values().sum();
    let tried = point.histogram.count() + failed;
    let trials = point.trials;
    let interval = move |level: f64| stats::proportion(share, tried, level, trials);
    Number {
        levels: telling(point, plan, []),
        sides: None,
        interval: Box::new(interval),
        bounds: vec![bound],
        // that much failed is what such a claim is about
        invalid: false,
    }
}

/// The share of acknowledged commits that were lost, of each server that the points are of.
fn lost<'a>(record: &RunRecord, points: impl Iterator<Item = &'a Point>, bound: Bound) -> Vec<Number> {
    let servers: BTreeSet<usize> =
        points.map(|point| record.plan.treatments[point.treatment].server).collect();
    let number = |server: usize| {
        let interval = Box::new(crashes::lost(record, server)?);
        let levels = BTreeMap::from([("server".to_owned(), record.plan.servers[server].name.clone())]);
        Some(Number { levels, sides: None, interval, bounds: vec![bound], invalid: false })
    };
    servers.into_iter().filter_map(number).collect()
}

/// Each point that is claimed something of, with the one that differs from it in the levels of `over` alone.
/// How such pairs differ from block to block is judged from all of the study that are alike, for a claim may
/// be about one pair only.
fn pairs(claim: &Claim, known: &Known<'_>, over: &Levels, bounds: &[Bound]) -> Vec<Number> {
    let points = &known.points;
    let mut alike = claim.of.clone();
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
        .filter(|((one, ..), _)| is_selected(points[*one], &claim.of))
        .map(|((one, other, _), difference)| Number {
            levels: telling(points[one], known.plan, over.keys()),
            sides: Some((side(points[one], over), side(points[other], over))),
            interval: interval_of_exp(difference.log, difference.spread, difference.count),
            bounds: bounds.to_vec(),
            invalid: is_invalid(points[one]) || is_invalid(points[other]),
        })
        .collect()
}

/// What a point is called in the factors that it is held against another in.
fn side(point: &Point, over: &Levels) -> String {
    let levels: Vec<&str> =
        over.keys().filter_map(|factor| point.levels.get(factor)).map(String::as_str).collect();
    if levels.is_empty() { point.server.clone() } else { levels.join(", ") }
}

/// Growth along a factor, one slope for each set of points that differ in it alone: by least squares in each
/// block.
fn slopes(claim: &Claim, known: &Known<'_>, along: &str, bound: Bound) -> Vec<Number> {
    let points = &known.points;
    let along = along.to_owned();
    let mut lines: Vec<(BTreeMap<String, String>, Vec<usize>)> = Vec::new();
    for each in (0..points.len()).filter(|&each| is_selected(points[each], &claim.of)) {
        let levels = telling(points[each], known.plan, [&along]);
        match lines.iter_mut().find(|(other, _)| *other == levels) {
            Some((_, line)) => line.push(each),
            None => lines.push((levels, vec![each])),
        }
    }
    let by_block = |line: &[usize]| -> BTreeMap<u32, Vec<(f64, f64)>> {
        let mut blocks = BTreeMap::<u32, Vec<(f64, f64)>>::new();
        for &each in line {
            let at = points[each].levels.get(&along).and_then(|level| level.parse::<f64>().ok());
            let Some((at, (_, logs))) = at.filter(|at| *at > 0.0).zip(known.read(each)) else {
                continue;
            };
            for (block, log) in logs {
                blocks.entry(block).or_default().push((at.ln(), log));
            }
        }
        blocks
    };
    let slopes: Vec<Vec<f64>> = lines
        .iter()
        .map(|(_, line)| by_block(line).values().filter_map(|block| stats::slope(block)).collect())
        .collect();
    lines
        .into_iter()
        .zip(slopes.iter().zip(stats::moderate(&slopes)))
        .filter(|(_, (slopes, _))| !slopes.is_empty())
        .map(|((levels, line), (slopes, spread))| {
            let count = u32::try_from(slopes.len()).unwrap_or(u32::MAX);
            let centre = slopes.iter().sum::<f64>() / f64::from(count);
            let interval = move |level: f64| match spread {
                Some(spread) => spread.interval(centre, count, level),
                None => Estimate::bare(centre, level, count),
            };
            let invalid = line.iter().any(|&each| is_invalid(points[each]));
            Number { levels, sides: None, interval: Box::new(interval), bounds: vec![bound], invalid }
        })
        .collect()
}
