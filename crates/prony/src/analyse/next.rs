//! What to measure next: what this run leaves open and the same study could settle with a few changes
//! (`docs/advice.md` lists the rules).

use super::{Axis, AxisKind, Comparison, Finding, Judgement, Open, Point, Trust, Verdict};
use crate::{plan::Metric, store::RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// Repeats are raised at most by this factor: whatever needs more calls for a quieter machine.
const REPEATS_FACTOR_MAX: u32 = 10;
/// Doubts that longer trials reduce, and the share of trials with such doubts from which on longer ones are
/// advised.
const DISTURBED: [&str; 3] = ["other_load", "steal", "drift"];
const DISTURBED_SHARE: f64 = 0.25;
/// By how much trials get longer, and how long at most.
const LONGER: u32 = 3;
const INTERVAL_MAX: Duration = Duration::from_secs(60);

/// Another run of the study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "NextRun")]
pub struct Next {
    /// Why, the most telling reason first.
    pub reasons: Vec<Why>,
    /// What changes: `KEY=VALUE` for `--set`.
    pub set: Vec<String>,
    /// About how long it takes on the same machine, s; null: unknown.
    pub seconds: Option<f64>,
}

/// A reason to measure something.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Why {
    /// Comparisons are unclear, and more repeats would probably decide them.
    Unclear {
        /// Number of unclear comparisons.
        comparisons: usize,
        /// Number of all comparisons.
        all: usize,
        /// Repeats that each has now.
        now: u32,
        /// Repeats that are needed.
        repeats: u32,
    },
    /// Throughput still rises at the highest level.
    Rising {
        /// The servers for which that is so.
        servers: Vec<String>,
        /// The factor.
        factor: String,
        /// The highest level of this run.
        from: f64,
        /// The highest level of the next run.
        to: f64,
    },
    /// Claims stay open because intervals are wide.
    OpenClaims {
        /// Number of these claims.
        claims: usize,
        /// Repeats that each has now.
        now: u32,
        /// Twice as many.
        repeats: u32,
    },
    /// Trials were disturbed or not steady; longer trials suffer less from that.
    Disturbed {
        /// The doubt.
        id: String,
        /// Trials with it.
        trials: u32,
        /// Number of all trials.
        of: u32,
        /// Length of their intervals now, s.
        now_s: f64,
        /// The length that is advised, s.
        interval_s: f64,
    },
}

/// What the run leaves open; `None`: repeating this study would settle nothing else.
pub(super) fn next(
    record: &RunRecord,
    axis: &Axis,
    points: &[Point],
    (comparisons, findings, claims): (&[Comparison], &[Finding], &[Judgement]),
    trust: &Trust,
) -> Option<Next> {
    let plan = &record.plan;
    if plan.study_text.is_empty() || record.trials.is_empty() {
        return None;
    }
    let (mut next, mut factor) = (Next::default(), 1.0);
    let repeats = unclear(plan.repeats, points, comparisons).or_else(|| open_claims(plan.repeats, claims));
    if let Some(why) = repeats {
        let (Why::Unclear { repeats, .. } | Why::OpenClaims { repeats, .. }) = why else { return None };
        next.set.push(format!("measure.repeats={repeats}"));
        factor *= f64::from(repeats) / f64::from(plan.repeats.max(1));
        next.reasons.push(why);
    }
    if let Some((why, levels)) = rising(record, axis, findings) {
        let Why::Rising { factor: name, .. } = &why else { return None };
        let texts: Vec<String> = levels.iter().map(f64::to_string).collect();
        next.set.push(format!("{name}=[{}]", texts.join(", ")));
        factor *= levels.len() as f64 / (levels.len() - 1).max(1) as f64;
        next.reasons.push(why);
    }
    if let Some(why) = disturbed(plan.interval, trust) {
        let Why::Disturbed { now_s, interval_s, .. } = why else { return None };
        next.set.push(format!("measure.interval={interval_s}s"));
        // servers start and data are loaded as before
        let trial = (plan.before_interval() + plan.alone).as_secs_f64();
        factor *= (trial + interval_s) / (trial + now_s).max(f64::MIN_POSITIVE);
        next.reasons.push(why);
    }
    let took = record.finished.filter(|_| record.resumed.is_empty());
    let took = took.map(|end| end.duration_since(record.started).as_secs_f64() * factor);
    (!next.reasons.is_empty()).then_some(Next { seconds: took, ..next })
}

/// Comparisons, in the metric that tells servers apart, that more repeats would decide.
fn unclear(now: u32, points: &[Point], comparisons: &[Comparison]) -> Option<Why> {
    let is_telling = |one: &&Comparison| {
        let is_scheduled = points[one.point].schedule.is_some();
        one.metric == if is_scheduled { Metric::Quantile(95_000) } else { Metric::Throughput }
    };
    let telling: Vec<&Comparison> = comparisons.iter().filter(is_telling).collect();
    let open = telling.iter().filter(|one| one.verdict == Verdict::Undecided);
    let needed = open.filter_map(|one| one.repeats_needed);
    let needed: Vec<u32> = needed.filter(|&n| n > now && n <= now * REPEATS_FACTOR_MAX).collect();
    let repeats = *needed.iter().max()?;
    Some(Why::Unclear { comparisons: needed.len(), all: telling.len(), now, repeats })
}

fn open_claims(now: u32, claims: &[Judgement]) -> Option<Why> {
    let open = claims.iter().filter(|claim| matches!(claim.open, Some(Open::Wide | Open::NoInterval)));
    let claims = open.count();
    (claims > 0).then(|| Why::OpenClaims { claims, now, repeats: 2 * now.max(1) })
}

/// Servers whose throughput is highest at the highest number of connections, with the levels that show
/// whether it rises further.
fn rising(record: &RunRecord, axis: &Axis, findings: &[Finding]) -> Option<(Why, Vec<f64>)> {
    let [name] = axis.factors.as_slice() else { return None };
    let factor = record.plan.factors.iter().find(|factor| factor.name == *name)?;
    if axis.kind != AxisKind::Connections {
        return None;
    }
    let mut servers: Vec<String> = Vec::new();
    for finding in findings {
        let Finding::Peak { server, at, last, .. } = finding else { continue };
        if at.total_cmp(last).is_eq() && !servers.contains(server) {
            servers.push(server.clone());
        }
    }
    let mut levels: Vec<f64> = factor.levels.iter().filter_map(|level| level.parse().ok()).collect();
    let from = levels.iter().copied().max_by(f64::total_cmp)?;
    let to = 2.0 * from;
    // a server that refuses the connections says nothing about its capacity
    let allows = |server: &crate::store::ServerRecord| {
        let most = server.description.variables.get("max_connections")?.parse::<f64>().ok()?;
        Some(most > to)
    };
    let is_allowed = record.servers.values().all(|server| allows(server).unwrap_or(true));
    levels.push(to);
    let why = Why::Rising { servers, factor: name.clone(), from, to };
    let has_servers = matches!(&why, Why::Rising { servers, .. } if !servers.is_empty());
    (has_servers && is_allowed).then_some((why, levels))
}

fn disturbed(interval: Duration, trust: &Trust) -> Option<Why> {
    let is_told = |share: f64| share > DISTURBED_SHARE;
    let reason = trust.reasons.iter().find(|reason| {
        DISTURBED.contains(&reason.id.as_str())
            && is_told(f64::from(reason.trials) / f64::from(reason.of.max(1)))
    })?;
    let longer = (interval * LONGER).min(INTERVAL_MAX);
    (longer > interval).then(|| Why::Disturbed {
        id: reason.id.clone(),
        trials: reason.trials,
        of: reason.of,
        now_s: interval.as_secs_f64(),
        interval_s: longer.as_secs_f64(),
    })
}
