//! How each server's throughput grows with connections: the universal scalability law, fitted to the trials
//! of a ladder, and where it predicts that more connections stop helping. It uses only points whose
//! throughput is the server's own: closed loops without a limit, and without a doubt to the contrary. A law
//! that the points do not follow, or do not determine, is not reported.

use super::{
    Axis, AxisKind, LEVEL,
    conclude::along,
    point::{Measured, is_closed},
};
use crate::{
    plan::Plan,
    run::{Doubt, Level, What},
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Estimate, Scalability};
use std::collections::BTreeMap;

/// Share of the law's highest throughput within the ladder beyond which more connections are not worth it.
const ENOUGH: f64 = 0.95;
/// Different numbers of connections that the law needs: one more than it has coefficients.
const RUNGS_MIN: usize = 4;
/// Share by which a point may deviate from the law before the points are said not to follow it: less than the
/// differences that matter.
const RESIDUAL_MAX: f64 = 0.25;
/// Ratio of the ends of the peak's interval from which on the points leave open where the peak is: more than
/// one and a half rungs of a ladder that doubles.
const PEAK_RATIO_MAX: f64 = 3.0;
/// The law of one server along a ladder of connections.
#[derive(Debug, Clone, Serialize)]
pub struct Scaling {
    /// Levels that stay the same along the ladder.
    pub levels: BTreeMap<String, String>,
    /// The server or level that the ladder belongs to ([`Axis::side`]).
    pub side: String,
    /// Throughput of one connection.
    pub single: Estimate,
    /// Share of the work that queues for something serial, 0 or more.
    pub contention: Estimate,
    /// What each connection costs every other one.
    pub coherency: Estimate,
    /// Connections at which throughput is highest; `None`: the law has no peak, or one so far beyond the
    /// ladder that the points leave open where.
    pub peak: Option<Estimate>,
    /// The fewest connections that reach 95 % of the law's highest throughput within the ladder: more hardly
    /// help.
    pub enough: u32,
    /// Points of the ladder that the law was fitted to.
    pub points: Vec<Fitted>,
    /// Points that were left out because their throughput is not the server's own.
    pub left_out: Vec<Excluded>,
}

/// A point and what the law expects there.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "FittedPoint")]
pub struct Fitted {
    /// Index in `points`.
    pub point: usize,
    /// Connections.
    pub connections: u32,
    /// What the law expects, transactions per second.
    pub expected: f64,
    /// Measured throughput divided by the expected one, minus 1.
    pub residual: f64,
}

/// A point that the law was not fitted to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "LeftOut")]
pub struct Excluded {
    /// Index in `points`.
    pub point: usize,
    /// Id of the doubt that excludes it.
    pub doubt: String,
}

/// A ladder that is long enough for the law but does not get one.
#[derive(Debug, Clone, Serialize)]
pub struct Unscaled {
    /// Levels that stay the same along the ladder.
    pub levels: BTreeMap<String, String>,
    /// The server or level that the ladder belongs to ([`Axis::side`]).
    pub side: String,
    /// Its points.
    pub rungs: usize,
    /// How many of these were left out.
    pub left_out: usize,
    /// Why.
    pub why: Unfit,
}

/// Why there is no law.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    /// Too few of its points count.
    #[default]
    TooFew,
    /// The points do not follow it.
    Residual {
        /// Connections of the point that deviates most.
        connections: u32,
        /// Measured throughput divided by the expected one, minus 1.
        residual: f64,
    },
    /// The points leave open where the peak is, although it is among them.
    Peak {
        /// The fewest connections that it may be at; `None`: any.
        low: Option<f64>,
        /// The most connections that it may be at; `None`: any.
        high: Option<f64>,
    },
}

/// The law of every ladder that has enough valid rungs and follows it, and the ladders that get none.
pub(super) fn scalings(plan: &Plan, axis: &Axis, measured: &[Measured]) -> (Vec<Scaling>, Vec<Unscaled>) {
    let (mut scalings, mut unscaled) = (Vec::new(), Vec::new());
    if axis.kind != AxisKind::Connections {
        return (scalings, unscaled);
    }
    for (levels, rungs) in ladders(axis, measured) {
        let closed: Vec<&Measured> = rungs.into_iter().filter(|one| is_closed(plan, &one.point)).collect();
        let left_out = closed.iter().filter(|one| excluded(one).is_some()).count();
        let Some(side) = closed.first().map(|first| axis.side(&first.point)) else { continue };
        let without =
            |levels, why| Unscaled { levels, side: side.clone(), rungs: closed.len(), left_out, why };
        match scaling(axis, measured, &levels, &closed) {
            Some(Ok(scaling)) => scalings.push(scaling),
            Some(Err(why)) => unscaled.push(without(levels, why)),
            None if closed.len() >= RUNGS_MIN && closed.len() - left_out < RUNGS_MIN => {
                unscaled.push(without(levels, Unfit::TooFew));
            }
            None => {}
        }
    }
    (scalings, unscaled)
}

/// The points of each server along the connections; with several streams, those of the stream whose
/// connections grow.
fn ladders<'a>(
    axis: &'a Axis,
    measured: &'a [Measured],
) -> impl Iterator<Item = (BTreeMap<String, String>, Vec<&'a Measured>)> {
    let is_of_axis = |rungs: &[&Measured]| {
        axis.stream().is_none_or(|stream| rungs.iter().all(|one| one.point.stream == stream))
    };
    along(axis, measured).into_iter().filter(move |(_, rungs)| is_of_axis(rungs))
}

/// The law of closed loops; the error says why there is none.
fn scaling(
    axis: &Axis,
    measured: &[Measured],
    levels: &BTreeMap<String, String>,
    rungs: &[&Measured],
) -> Option<Result<Scaling, Unfit>> {
    let index = |one: &Measured| measured.iter().position(|other| std::ptr::eq(other, one));
    let (mut used, mut left_out, mut trials) = (Vec::new(), Vec::new(), Vec::new());
    for one in rungs {
        let place = index(one)?;
        if let Some(doubt) = excluded(one) {
            left_out.push(Excluded { point: place, doubt });
            continue;
        }
        let connections = one.point.connections;
        // each trial is an observation, so the intervals include what differs between trials
        trials.extend(one.point.throughput_by_trial.iter().map(|rate| (f64::from(connections), *rate)));
        used.push((place, connections, one.point.throughput.value));
    }
    let law = Scalability::fit(&trials, LEVEL)?;
    let last = used.iter().map(|(_, connections, _)| *connections).max()?;
    let fitted = |&(point, connections, throughput): &(usize, u32, f64)| {
        let expected = law.at(f64::from(connections));
        Fitted { point, connections, expected, residual: throughput / expected - 1.0 }
    };
    let points: Vec<Fitted> = used.iter().map(fitted).collect();
    if let Some(unfit) = unfit(&law, &points, last) {
        return Some(Err(unfit));
    }
    Some(Ok(Scaling {
        levels: levels.clone(),
        side: axis.side(&rungs.first()?.point),
        enough: enough(&law, last),
        points,
        single: law.single,
        contention: law.contention,
        coherency: law.coherency,
        peak: law.peak.filter(is_known),
        left_out,
    }))
}

/// Whether a fitted law says nothing: the points do not follow it, or leave its peak open.
fn unfit(law: &Scalability, points: &[Fitted], last: u32) -> Option<Unfit> {
    let worst = points.iter().max_by(|one, other| one.residual.abs().total_cmp(&other.residual.abs()))?;
    if worst.residual.abs() > RESIDUAL_MAX {
        return Some(Unfit::Residual { connections: worst.connections, residual: worst.residual });
    }
    let peak = law.peak.filter(|peak| peak.value <= f64::from(last) && !is_known(peak))?;
    Some(Unfit::Peak { low: peak.low, high: peak.high })
}

/// Whether the points say where the peak is.
fn is_known(peak: &Estimate) -> bool {
    peak.interval().is_some_and(|(low, high)| high <= PEAK_RATIO_MAX * low)
}

/// The law rises up to its peak: the fewest connections with enough of what it reaches within the ladder.
fn enough(law: &Scalability, last: u32) -> u32 {
    let top = law.peak.map_or(last, |peak| last.min(peak.value.round().max(1.0) as u32));
    let wanted = ENOUGH * law.at(f64::from(top));
    let (mut low, mut high) = (1, top);
    while low < high {
        let middle = low.midpoint(high);
        if law.at(f64::from(middle)) >= wanted { high = middle } else { low = middle + 1 }
    }
    high
}

/// Why a point does not count, as the doubt's id.
fn excluded(one: &Measured) -> Option<String> {
    let excludes = |doubt: &&Doubt| doubt.level == Level::Invalid || is_excluding(&doubt.what);
    one.point.doubts.iter().find(excludes).map(|doubt| doubt.id().to_owned())
}

/// Whether a doubt says that throughput was not only the server's, or not that of the requested work.
fn is_excluding(what: &What) -> bool {
    matches!(
        what,
        What::NothingFinished
            | What::Errors { .. }
            | What::Outage { .. }
            | What::RowsMissing { .. }
            | What::NothingChanged { .. }
            | What::LittlesLaw { .. }
            | What::WorkerBusy { .. }
            | What::Queueing { .. }
            | What::LoadHostBusy { .. }
            | What::LoadHostThrottled { .. }
            | What::LoadHostProcessors { .. }
            | What::Overloaded { .. }
    )
}

/// The share of a server's capacity that each rung of a rate offers, from 0. It is set only where some rung
/// was too much for the server, because only then is its capacity known: the most that it completed.
pub(super) fn utilise(axis: &Axis, measured: &mut [Measured]) {
    if axis.kind != AxisKind::Rate {
        return;
    }
    let index =
        |measured: &[Measured], one: &Measured| measured.iter().position(|other| std::ptr::eq(other, one));
    let mut found: Vec<(usize, f64)> = Vec::new();
    for (_, rungs) in along(axis, measured) {
        if rungs.iter().all(|one| one.point.overloaded == 0) {
            continue;
        }
        let capacity = rungs.iter().map(|one| one.point.throughput.value).fold(0.0, f64::max);
        for one in rungs {
            let offered =
                one.point.schedule.as_ref().map(|schedule| schedule.offered as f64 / one.point.active_s);
            if let (Some(offered), Some(place)) = (offered, index(measured, one)) {
                found.push((place, offered / capacity));
            }
        }
    }
    for (place, share) in found.into_iter().filter(|(_, share)| share.is_finite()) {
        measured[place].point.utilisation = Some(share);
    }
}
