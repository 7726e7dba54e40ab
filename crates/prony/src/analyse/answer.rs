//! What a reader asks first: the answer in a few findings, and how far it can be trusted. It adds nothing to
//! the findings and doubts; it selects what comes first in a report.

use super::{Advice, ClaimVerdict, Finding, Findings, Judgement, Point};
use crate::{
    plan::Metric,
    run::{Doubt, Level, TrialOutcome},
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The most findings in an answer; whoever wants more reads on.
const FINDINGS_MAX: usize = 3;

/// The highest share of trials with doubts that leave them usable for which the whole is still called good.
const FEW: f64 = 0.1;

/// Doubts about what other programs do with the machine, not about the study.
const DISTURBANCES: [&str; 3] = ["other_load", "steal", "rate_of_neighbours"];

/// The share of disturbed trials from which on the disturbance explains why a run has no answer.
const RESTLESS: f64 = 0.25;

/// The share of disturbed trials above which an answer mentions the disturbance as well.
const MOST: f64 = 0.5;

/// The factor for repeats that makes intervals half as wide.
const REPEATS_FOR_HALF: u32 = 4;

/// What a run answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Answer {
    /// The study's claims, by what the run says about them.
    pub claims: ClaimTally,
    /// Indices in [`super::Findings::findings`], the most important first, each about something else.
    pub findings: Vec<usize>,
}

/// Claims, counted by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClaimTally {
    /// Claims whose intervals lie on their side.
    pub supported: usize,
    /// Claims for which an interval lies on the other side.
    pub refuted: usize,
    /// Claims that are neither.
    pub open: usize,
}

/// How far the figures of a run can be trusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Trust {
    /// All reasons together.
    pub level: Confidence,
    /// Trials that the figures rest on.
    pub trials: u32,
    /// What speaks against them, the worst and most frequent first.
    pub reasons: Vec<Reason>,
}

/// How far figures can be trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Nothing that matters speaks against them.
    #[default]
    Good,
    /// Something speaks against them.
    Limited,
    /// Most of them do not mean what they seem to mean, or there are none.
    Low,
}

/// Something that speaks against figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// Id of a doubt (`other_load`); `failed`, `incomplete`, `one_trial`; `unfair`: servers differ in what
    /// the study does not vary.
    pub id: String,
    /// Trials that it is about.
    pub trials: u32,
    /// Number of all trials.
    pub of: u32,
}

impl Trust {
    /// Adds a serious reason.
    pub fn limit(&mut self, id: &str, trials: u32, of: u32) {
        self.level = self.level.max(Confidence::Limited);
        self.reasons.push(Reason { id: id.to_owned(), trials, of });
    }
}

/// Other programs used the machine so much that the answer, if there is one, may be due to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Restless {
    /// What disturbed most trials.
    pub reason: Reason,
    /// Whether there is an answer nevertheless.
    pub answered: bool,
    /// Repeats of each combination that would make intervals half as wide.
    pub repeats: u32,
}

impl Findings {
    /// Whether the machine was disturbed in most trials, or in enough of them to explain why no difference or
    /// equality could be shown.
    #[must_use]
    pub fn restless(&self) -> Option<Restless> {
        let leading = || self.answer.findings.iter().map(|&index| &self.findings[index]);
        let is_open = |finding: &Finding| matches!(finding, Finding::NoDifference { same: None, .. });
        let is_unclear = leading().next().is_some() && leading().all(is_open);
        let is_disturbance = |reason: &&Reason| DISTURBANCES.contains(&reason.id.as_str());
        let reason = self.trust.reasons.iter().filter(is_disturbance).max_by_key(|reason| reason.trials)?;
        let share = f64::from(reason.trials) / f64::from(reason.of.max(1));
        if share <= MOST && !(is_unclear && share >= RESTLESS) {
            return None;
        }
        let claims = self.answer.claims;
        let answered = leading().any(|finding| !is_open(finding)) || claims.supported + claims.refuted > 0;
        let repeats = self.points.iter().map(|point| point.trials).max().unwrap_or(1);
        Some(Restless { reason: reason.clone(), answered, repeats: REPEATS_FOR_HALF * repeats })
    }
}

/// Selects the findings that come first: the most important one of each pair in each table; where nothing is
/// compared, the peaks.
pub(super) fn answer(findings: &[Finding], claims: &[Judgement]) -> Answer {
    let mut leading = first_of_each(findings, compared);
    if leading.is_empty() {
        leading = first_of_each(findings, peak);
    }
    let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let claims = ClaimTally {
        supported: count(ClaimVerdict::Supported),
        refuted: count(ClaimVerdict::Refuted),
        open: count(ClaimVerdict::Open),
    };
    Answer { claims, findings: leading }
}

/// Groups of findings that one sentence can express, in the order of their first members.
#[must_use]
pub fn alike<'a, T>(all: &[&'a T], is_alike: impl Fn(&T, &T) -> bool) -> Vec<Vec<&'a T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for &one in all {
        match groups.iter_mut().find(|group| group.iter().all(|known| is_alike(known, one))) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

impl Finding {
    /// Whether two findings say the same about the same servers and differ only in the load.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Effect { levels, server, base, metric, .. },
                Self::Effect { levels: load, server: one, base: two, metric: of, .. },
            )
            | (
                Self::Advantage { levels, server, base, metric, .. },
                Self::Advantage { levels: load, server: one, base: two, metric: of, .. },
            ) => levels != load && (server, base, metric) == (one, two, of),
            (
                Self::Peak { levels, server, at, last, .. },
                Self::Peak { levels: load, server: one, at: top, last: end, .. },
            ) => levels != load && server == one && (at == last) == (top == end),
            (
                Self::NoDifference { levels, servers, metric, resolution, same, rungs, .. },
                Self::NoDifference {
                    levels: load,
                    servers: pair,
                    metric: of,
                    resolution: seen,
                    same: alike,
                    rungs: all,
                    ..
                },
            ) => {
                levels != load
                    && (servers, metric, same) == (pair, of, alike)
                    && (*resolution < 1.0) == (*seen < 1.0)
                    && (rungs.0 == rungs.1, all.0 == all.1) == (true, true)
            }
            _ => false,
        }
    }

    /// The load that it is about; `None`: several, or none.
    #[must_use]
    pub fn levels(&self) -> Option<&BTreeMap<String, String>> {
        compared(self).or_else(|| peak(self)).map(|(levels, _)| levels)
    }

    /// Whether it is about the servers and the load of a piece of advice.
    #[must_use]
    pub fn is_about(&self, advice: &Advice) -> bool {
        let servers = BTreeSet::from([advice.one.as_str(), advice.other.as_str()]);
        // advice keeps the stream separately
        let is_load = |levels: &BTreeMap<String, String>| {
            advice.levels.iter().all(|(name, level)| levels.get(name) == Some(level))
        };
        compared(self).is_some_and(|(levels, sides)| sides == servers && is_load(levels))
    }

    /// The metric by which it tells servers apart; `None`: none.
    #[must_use]
    pub fn metric(&self) -> Option<Metric> {
        match self {
            Self::Effect { metric, .. }
            | Self::Advantage { metric, .. }
            | Self::NoDifference { metric, .. } => Some(*metric),
            Self::Peak { .. } => Some(Metric::Throughput),
            Self::NotCompared { .. } | Self::Overloaded { .. } | Self::Doubtful { .. } => None,
        }
    }
}

/// What a finding is about: its levels, and the servers in the order of their names.
type About<'a> = (&'a BTreeMap<String, String>, BTreeSet<&'a str>);

/// The first findings that are about different things.
fn first_of_each(findings: &[Finding], about: fn(&Finding) -> Option<About<'_>>) -> Vec<usize> {
    let mut told: Vec<About<'_>> = Vec::new();
    let mut first = Vec::new();
    for (index, finding) in findings.iter().enumerate() {
        let Some(about) = about(finding).filter(|about| !told.contains(about)) else { continue };
        told.push(about);
        first.push(index);
    }
    // findings that differ only in their load make one sentence
    let told: Vec<&Finding> = first.iter().map(|&index| &findings[index]).collect();
    let most = alike(&told, Finding::is_alike).into_iter().take(FINDINGS_MAX).flatten();
    let most: Vec<*const Finding> = most.map(std::ptr::from_ref).collect();
    first.retain(|&index| most.contains(&std::ptr::from_ref(&findings[index])));
    first
}

/// What a finding about several servers is about.
fn compared(finding: &Finding) -> Option<About<'_>> {
    match finding {
        Finding::Effect { levels, server, base, .. } | Finding::Advantage { levels, server, base, .. } => {
            Some((levels, BTreeSet::from([server.as_str(), base.as_str()])))
        }
        Finding::NoDifference { levels, servers: (one, other), .. }
        | Finding::NotCompared { levels, servers: (one, other), .. } => {
            Some((levels, BTreeSet::from([one.as_str(), other.as_str()])))
        }
        Finding::Overloaded { levels, server, .. } => Some((levels, BTreeSet::from([server.as_str()]))),
        Finding::Peak { .. } | Finding::Doubtful { .. } => None,
    }
}

/// What a peak is about.
fn peak(finding: &Finding) -> Option<About<'_>> {
    let Finding::Peak { levels, server, .. } = finding else { return None };
    Some((levels, BTreeSet::from([server.as_str()])))
}

/// How far these points can be trusted. A trial that does not count is no evidence against those that do;
/// that a server was offered too much is a finding, not a doubt.
pub(super) fn trust(record: &RunRecord, points: &[Point]) -> Trust {
    let left_out: BTreeSet<u32> =
        points.iter().flat_map(|point| &point.left_out).map(|one| one.trial).collect();
    let counted = record.trials.iter().filter(|trial| !left_out.contains(&trial.trial.number));
    let doubts = counted.filter_map(|trial| match &trial.outcome {
        TrialOutcome::Measured { doubts, .. } => Some(doubts),
        TrialOutcome::Failed(_) => None,
    });
    let (mut trials, mut found) = (0, BTreeMap::<&str, (Level, u32)>::new());
    for doubts in doubts {
        trials += 1;
        let told = doubts.iter().filter(|doubt| doubt.level > Level::Fine && !doubt.is_overload());
        let ids: BTreeMap<&str, Level> = told.map(|doubt| (doubt.id(), doubt.level)).collect();
        for (id, level) in ids {
            let known = found.entry(id).or_default();
            *known = (known.0.max(level), known.1 + 1);
        }
    }
    let mut found: Vec<(&str, (Level, u32))> = found.into_iter().collect();
    found.sort_by_key(|(_, worst)| std::cmp::Reverse(*worst));
    let is_bad = |(_, (level, count)): &(&str, (Level, u32))| {
        *level == Level::Invalid || f64::from(*count) > FEW * f64::from(trials)
    };
    let level = if found.iter().any(is_bad) { Confidence::Limited } else { Confidence::Good };
    let reason =
        |(id, (_, count)): (&str, (Level, u32))| Reason { id: id.to_owned(), trials: count, of: trials };
    let mut trust = Trust { level, trials, reasons: found.into_iter().map(reason).collect() };
    let (unmeasured, all) = record.unmeasured();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    if unmeasured > 0 {
        trust.limit("failed", count(unmeasured), count(all));
    }
    if !record.complete {
        trust.limit("incomplete", count(record.trials.len()), count(record.plan.trials.len()));
    }
    if trials > 0 && points.iter().all(|point| point.trials <= 1) {
        trust.limit("one_trial", trials, trials);
    }
    let spoilt = points.iter().filter(|point| point.doubts.iter().any(Doubt::spoils)).count();
    if trials == 0 || 2 * spoilt > points.len() {
        trust.level = Confidence::Low;
    }
    trust
}
