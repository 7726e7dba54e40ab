//! Answers for a buyer: how much each server sustained while it kept the objective, which is the smallest
//! that is enough for a rate, and what a million transactions cost.
//!
//! Where a rate was searched, the search gives the answer. For other loads, the highest throughput counts
//! among the loads that kept the objective in every trial, by the rule by which a search judges its loads
//! ([`Objectives::judge`]). That is a lower bound, because nobody searched for the highest rate.

use super::{Axis, AxisKind, FoundRate, Measurement, Point, STREAM};
use crate::{
    plan::Plan,
    run::{Doubt, TrialOutcome},
    search::{Objectives, Verdict},
    store::{RunRecord, TrialRecord},
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Estimate;
use std::collections::BTreeMap;

/// The number of transactions whose price is given, and the seconds of an hour.
const MILLION: f64 = 1e6;
const HOUR_S: f64 = 3600.0;

/// What a run tells a buyer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Buying {
    /// The objective to keep: `p99 < 20ms`.
    pub objective: String,
    /// What each server sustained, by load, in the study's order.
    pub offers: Vec<Offer>,
    /// For each load and each rate that is wanted, which server is enough.
    pub enough: Vec<Enough>,
}

/// What a server sustained.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Offer {
    /// Its name.
    pub server: String,
    /// Levels of the load, without those that say how much is offered.
    pub levels: BTreeMap<String, String>,
    /// Index in `points`: where it sustained most or, where it never kept the objective, its lightest load.
    pub point: usize,
    /// Transactions per second that it sustained there; null: it kept the objective nowhere.
    pub rate_per_second: Option<Estimate>,
    /// Whether that rate was searched; if not, more may be possible.
    pub searched: bool,
    /// Trials there.
    pub trials: u32,
    /// Of these, those that kept the objective.
    pub kept: u32,
    /// Of these, those that broke it; the others had too few transactions to say.
    pub broken: u32,
    /// Whether all its results are in doubt, so that nothing is said about it.
    pub doubtful: bool,
    /// What it costs per hour, in `currency`; null: the study does not say.
    pub price_per_hour: Option<f64>,
    /// The currency as the study writes it: `EUR`.
    pub currency: Option<String>,
    /// What a million transactions cost at that rate; null: price or rate is not known.
    pub cost_per_million: Option<Estimate>,
}

/// Which server is enough for a rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Enough {
    /// Levels of the load.
    pub levels: BTreeMap<String, String>,
    /// The wanted rate, transactions per second.
    pub wanted_per_second: f64,
    /// Index in `offers` of the first server, in the study's order, whose whole interval lies at that rate or
    /// above; null: none does.
    pub first: Option<usize>,
    /// The servers before it, or all where there is none, that this run leaves open.
    pub open: Vec<usize>,
    /// The cheapest of all that are enough; null: there are no two prices to compare.
    pub cheapest: Option<usize>,
    /// The server that sustained most; null: none kept the objective.
    pub most: Option<usize>,
}

/// What a run tells a buyer; `None`: its study does not ask.
pub(super) fn buying(
    record: &RunRecord,
    axis: &Axis,
    measurement: &Measurement,
    rates: &[FoundRate],
) -> Option<Buying> {
    let buy = record.plan.buy.as_ref()?;
    let objectives = buy.objectives()?;
    let stream = stream_of(&record.plan)?;
    let mut groups: Vec<(BTreeMap<String, String>, usize, Vec<usize>)> = Vec::new();
    for (index, point) in measurement.points().enumerate().filter(|(_, point)| point.stream == stream) {
        let levels = load_of(point, axis, &record.plan);
        let server = record.plan.treatments[point.treatment].server;
        match groups.iter_mut().find(|(known, of, _)| *known == levels && *of == server) {
            Some((_, _, points)) => points.push(index),
            None => groups.push((levels, server, vec![index])),
        }
    }
    groups.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let known = Known { record, measurement, objectives: &objectives, rates };
    let offers: Vec<Offer> = groups
        .into_iter()
        .filter_map(|(levels, server, points)| known.offer(levels, server, &points))
        .collect();
    let mut loads: Vec<&BTreeMap<String, String>> = offers.iter().map(|offer| &offer.levels).collect();
    loads.dedup();
    let of_load = |levels: &&BTreeMap<String, String>| {
        buy.rates_per_second.iter().map(|&wanted| enough(&offers, levels, wanted)).collect::<Vec<_>>()
    };
    let enough = loads.iter().flat_map(of_load).collect();
    Some(Buying { objective: buy.objective.clone(), offers, enough })
}

/// The stream that matters to the buyer: the one whose rate is searched, else the first.
fn stream_of(plan: &Plan) -> Option<&str> {
    let searched = plan.treatments.iter().find_map(|treatment| treatment.goal.as_ref());
    let first = || Some(plan.treatments.first()?.streams.first()?.name.as_str());
    searched.map(|goal| goal.stream.as_str()).or_else(first)
}

/// Levels of a point without those that identify the server or say how much it is offered.
fn load_of(point: &Point, axis: &Axis, plan: &Plan) -> BTreeMap<String, String> {
    let is_amount =
        |name: &str| matches!(axis.kind, AxisKind::Connections | AxisKind::Rate) && axis.has(name);
    let mut levels = point.levels.clone();
    levels.retain(|name, _| {
        name != STREAM
            && name != "server"
            && plan.varies(name)
            && !is_amount(name)
            && !axis.servers.factors.contains(name)
    });
    levels
}

/// What is known of the servers.
struct Known<'a> {
    record: &'a RunRecord,
    measurement: &'a Measurement,
    objectives: &'a Objectives,
    rates: &'a [FoundRate],
}

/// How the trials of a point kept the objective.
#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    trials: u32,
    kept: u32,
    broken: u32,
}

impl Known<'_> {
    fn offer(&self, levels: BTreeMap<String, String>, server: usize, points: &[usize]) -> Option<Offer> {
        let price = self.record.plan.servers[server].price.as_ref();
        let point = |index: usize| &self.measurement.measured[index].point;
        let found = |index: usize| self.rates.iter().find(|found| found.point == index);
        let is_sound = |index: &usize| !point(*index).doubts.iter().any(Doubt::spoils);
        let sound: Vec<usize> = points.iter().copied().filter(is_sound).collect();
        let reached = |index: usize| -> Option<Estimate> {
            let kept = self.kept(index);
            match found(index) {
                Some(found) => Some(found.rate),
                None => (kept.trials > 0 && kept.kept == kept.trials).then_some(point(index).throughput),
            }
        };
        let best = sound
            .iter()
            .filter_map(|&index| Some((index, reached(index)?)))
            .max_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let gentlest = || {
            let all = if sound.is_empty() { points } else { &sound };
            let by =
                |a: &&usize, b: &&usize| point(**a).throughput.value.total_cmp(&point(**b).throughput.value);
            all.iter().min_by(by).copied()
        };
        let index = best.map(|(index, _)| index).or_else(gentlest)?;
        let rate = best.map(|(_, rate)| rate);
        let Kept { trials, kept, broken } = self.kept(index);
        Some(Offer {
            server: point(index).server.clone(),
            levels,
            point: index,
            rate_per_second: rate,
            searched: best.is_some() && found(index).is_some(),
            trials,
            kept,
            broken,
            doubtful: sound.is_empty(),
            price_per_hour: price.map(|price| price.per_hour),
            currency: price.map(|price| price.currency.clone()),
            cost_per_million: price.zip(rate).and_then(|(price, rate)| cost(price.per_hour, &rate)),
        })
    }

    /// What the counted trials of a point say about the objective.
    fn kept(&self, point: usize) -> Kept {
        let measured = &self.measurement.measured[point];
        let stream = &measured.point.stream;
        let counts = |trial: &&TrialRecord| measured.places.contains_key(&trial.trial.number);
        let mut all = Kept::default();
        for trial in self.record.trials.iter().filter(counts) {
            let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { continue };
            let Some(told) = outcome.streams.iter().find(|one| one.name == *stream) else { continue };
            all.trials += 1;
            match self.objectives.judge(told) {
                Verdict::Kept => all.kept += 1,
                Verdict::Broken => all.broken += 1,
                Verdict::CannotTell => {}
            }
        }
        all
    }
}

/// What a million transactions cost at a rate.
fn cost(per_hour: f64, rate: &Estimate) -> Option<Estimate> {
    let scale = per_hour / HOUR_S * MILLION;
    let inverse = rate.inverse()?;
    let ends = inverse.interval().map(|(low, high)| (low * scale, high * scale));
    let (low, high) = ends.unzip();
    Some(Estimate { value: inverse.value * scale, low, high, ..inverse })
}

fn enough(offers: &[Offer], levels: &BTreeMap<String, String>, wanted: f64) -> Enough {
    let own: Vec<usize> = (0..offers.len()).filter(|&each| offers[each].levels == *levels).collect();
    let is_enough =
        |offer: &Offer| offer.rate_per_second.and_then(|rate| rate.low).is_some_and(|low| low >= wanted);
    let is_open = |offer: &Offer| match offer.rate_per_second {
        Some(rate) => rate.high.unwrap_or(rate.value) >= wanted,
        // a load that could not decide, or that is in doubt, leaves open whether a server is enough
        None => offer.doubtful || offer.broken < offer.trials,
    };
    let first = own.iter().copied().find(|&each| is_enough(&offers[each]));
    let before = own.iter().copied().take_while(|each| Some(*each) != first);
    let open = before.filter(|&each| is_open(&offers[each])).collect();
    let rate = |each: usize| offers[each].rate_per_second.map(|rate| rate.value);
    let with_rate = own.iter().copied().filter(|&each| rate(each).is_some());
    let most = with_rate.max_by(|&a, &b| rate(a).partial_cmp(&rate(b)).unwrap_or(std::cmp::Ordering::Equal));
    let all_enough: Vec<usize> = own.iter().copied().filter(|&each| is_enough(&offers[each])).collect();
    Enough {
        levels: levels.clone(),
        wanted_per_second: wanted,
        first,
        open,
        cheapest: cheapest(offers, &all_enough),
        most,
    }
}

/// The lowest price of several in one currency.
fn cheapest(offers: &[Offer], candidates: &[usize]) -> Option<usize> {
    let priced: Option<Vec<(usize, f64, &str)>> = candidates
        .iter()
        .map(|&each| Some((each, offers[each].price_per_hour?, offers[each].currency.as_deref()?)))
        .collect();
    let priced = priced.filter(|priced| priced.len() > 1 && priced.iter().all(|one| one.2 == priced[0].2))?;
    priced.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|one| one.0)
}
