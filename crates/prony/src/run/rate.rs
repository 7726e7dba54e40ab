//! Carries out the loads that a search for the highest rate asks for, and observes them. It knows neither who
//! offers a load nor what becomes of the answer, so that `prony load` and the trials of a study search alike.

use super::{Doubt, Level, check::doubts};
use crate::{
    plan::{SEARCH_SHORT_MIN, SEARCH_SHORT_SHARE, seed},
    search::{self, Bounds, Ending, Objective, Objectives, Observation, Outlook, Probe, Purpose},
};
use load::{
    Outcome, Spec,
    sample::StreamOutcome,
    spec::{Arrival, Rate},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Lowest rate worth searching, starts in a second.
const LOWEST: f64 = 1.0;
/// Multiple of what a closed loop reached where the search begins, and where it gives up: an open loop with
/// the same connections cannot do more.
const FIRST: f64 = 0.7;
const HIGHEST: f64 = 1.5;
/// What may be missing at the end of a load that is kept up with: standard deviations of a Poisson count, and
/// a share.
const SHORT_CHANCE: f64 = 3.0;
const SHORT_SHARE_MISSING: f64 = 0.02;
/// Share of the closed loop's rate above which more connections may bear more: below it they were not all
/// needed.
const CONNECTIONS_BOUND: f64 = 0.8;

/// What is searched.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// A load at any rate: its interval is that of the longer loads.
    pub spec: &'a Spec,
    /// Index of the stream whose rate is searched; its arrival is an open loop.
    pub stream: usize,
    /// What is to be kept.
    pub objectives: &'a Objectives,
    /// What reading the clock costs.
    pub clock: Duration,
}

/// Where a search is, told before each load.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// What is offered, and how far the search is; `None`: the closed loop that it begins from.
    pub probe: Option<(Probe, Outlook)>,
    /// How long all of it will take from here, probably.
    pub left: Duration,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sought {
    /// What was to be kept.
    pub objective: String,
    /// How it ended.
    pub ending: Ending,
    /// What a closed loop of the same connections reached, transactions per second.
    pub closed_loop_per_second: f64,
    /// Whether the client was at its limit where the objective broke: then this is not the server's limit.
    pub client_limited: bool,
    /// Whether the wait for a free connection broke it: then more connections may bear more.
    pub connections_limited: bool,
    /// Every load after the closed loop, in order.
    pub probes: Vec<Probed>,
}

/// One load of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probed {
    /// `bracket`, `narrow`, `confirm` or `above`.
    pub purpose: String,
    /// Starts offered in a second.
    pub offered_per_second: f64,
    /// Transactions that ended well in a second.
    pub achieved_per_second: f64,
    /// Length of the measurement, seconds.
    pub interval_s: f64,
    /// What each objective compares, in ms or, for errors, as a share of 1.
    pub values: Vec<f64>,
    /// Whether all were kept.
    pub kept: bool,
    /// Whether more was offered than could start.
    pub overloaded: bool,
    /// Whether the client was at its limit.
    pub client_limited: bool,
    /// Stable names of the reasons to doubt this load.
    pub doubts: Vec<String>,
}

impl Probed {
    /// What its objectives compare, in words: `p99 12.300 ms, errors 0.00 %`.
    #[must_use]
    pub fn shown(&self, objectives: &Objectives) -> String {
        let one = |(objective, value): (&Objective, &f64)| {
            let value = if objective.is_time() { value / 1e3 } else { *value };
            format!("{} {}", objective.name(), objective.show(value))
        };
        let values: Vec<String> = objectives.iter().zip(&self.values).map(one).collect();
        values.join(", ")
    }
}

impl Sought {
    /// The highest rate that was kept, or seemed to be, starts in a second; `None`: none was.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self.ending {
            Ending::Found { rate, .. } | Ending::Unsteady { rate } => Some(rate),
            Ending::NothingBreaks { highest } => Some(highest),
            Ending::NothingKeeps { .. } => None,
        }
    }

    /// The rate above it that was not kept, starts in a second; `None`: none was tried, or it is not known.
    #[must_use]
    pub fn broken_at(&self) -> Option<f64> {
        match self.ending {
            Ending::Found { above, .. } => Some(above),
            Ending::NothingKeeps { lowest } => Some(lowest),
            Ending::NothingBreaks { .. } | Ending::Unsteady { .. } => None,
        }
    }
}

/// Searches the highest rate. `offer` carries a load out, `told` is told of each that is over. `None`: a
/// closed loop finished nothing, so that there is no rate to search.
///
/// # Errors
/// Those of `offer` and `told`, as they are.
pub fn seek<E>(
    search: Search<'_>,
    offer: &mut dyn FnMut(&Spec, Step) -> Result<Outcome, E>,
    told: &mut dyn FnMut(&Probed) -> Result<(), E>,
) -> Result<Option<Sought>, E> {
    let (spec, stream) = (search.spec, search.stream);
    let short = short(spec);
    // each load writes values of its own, since nobody puts back what the one before has written
    let mut loads = 0;
    let mut offer = |mut spec: Spec, step: Step| {
        loads += 1;
        spec.seed = seed::derive(search.spec.seed, loads, 0);
        let outcome = offer(&spec, step)?;
        Ok((spec, outcome))
    };
    let mut closed = Spec { interval: short, ..spec.clone() };
    closed.streams[stream].arrival = Arrival::Closed;
    let (_, outcome) = offer(closed, Step { probe: None, left: Duration::ZERO })?;
    let closed_loop = outcome.streams[stream].transactions.count as f64 / outcome.interval.as_secs_f64();
    if closed_loop <= 0.0 {
        return Ok(None);
    }
    let bounds =
        Bounds { first: FIRST * closed_loop, lowest: LOWEST, highest: (HIGHEST * closed_loop).max(LOWEST) };
    let mut probes = Vec::new();
    let report = search::search(bounds, search.objectives, &mut |probe, outlook| {
        let (spec, left) = search.load(probe, outlook);
        let (spec, outcome) = offer(spec, Step { probe: Some((probe, outlook)), left })?;
        let (observation, probed) = search.observe(probe, &spec, &outcome);
        told(&probed)?;
        probes.push(probed);
        Ok(observation)
    })?;
    let mut sought = Sought {
        objective: search.objectives.to_string(),
        ending: report.ending,
        closed_loop_per_second: closed_loop,
        client_limited: report.client_limited(),
        connections_limited: false,
        probes,
    };
    let is_near_most = sought.rate().is_some_and(|rate| rate > CONNECTIONS_BOUND * closed_loop);
    sought.connections_limited = report.waited() && is_near_most;
    Ok(Some(sought))
}

/// How long short loads are.
fn short(spec: &Spec) -> Duration {
    spec.interval.mul_f64(SEARCH_SHORT_SHARE).max(SEARCH_SHORT_MIN).min(spec.interval)
}

impl Search<'_> {
    /// One load at a rate, long enough for the rarest quantile where that is possible; and how long all that
    /// comes will take.
    fn load(&self, probe: Probe, outlook: Outlook) -> (Spec, Duration) {
        let is_long = matches!(probe.purpose, Purpose::Confirm | Purpose::Above);
        let (short, whole) = (short(self.spec), self.spec.interval);
        let needed = self.objectives.transactions_needed() / probe.rate;
        let enough = Duration::try_from_secs_f64(needed).unwrap_or(whole).clamp(short, whole);
        let mut spec = self.spec.clone();
        spec.interval = if is_long { whole } else { enough };
        if let Arrival::Open { rate, .. } = &mut spec.streams[self.stream].arrival {
            *rate = Rate::Constant(probe.rate);
        }
        let warm_up = self.spec.warm_up;
        let left =
            (enough + warm_up) * outlook.short_left as u32 + (whole + warm_up) * outlook.long_left as u32;
        (spec, left)
    }

    fn observe(&self, probe: Probe, spec: &Spec, outcome: &Outcome) -> (Observation, Probed) {
        let told = &outcome.streams[self.stream];
        let doubts = doubts(spec, outcome, &[], self.clock);
        let ids: Vec<&str> = doubts.iter().map(Doubt::id).collect();
        let values: Vec<f64> = self.objectives.iter().map(|objective| objective.measure(told)).collect();
        let overloaded = ids.contains(&"overloaded") || falls_short(told);
        let client_limited = doubts.iter().any(is_client_limit);
        let breaks = |objective: &Objective| objective.measure(told) >= objective.limit();
        let kept = !overloaded && !self.objectives.iter().any(breaks);
        // every latency that is broken would be kept if it did not count from when the transaction was due
        let waited = !kept
            && self
                .objectives
                .iter()
                .filter(|objective| breaks(objective))
                .all(|objective| objective.of_service().is_some_and(|service| !breaks(&service)));
        let probed = Probed {
            purpose: format!("{:?}", probe.purpose).to_lowercase(),
            offered_per_second: probe.rate,
            achieved_per_second: told.transactions.count as f64 / outcome.interval.as_secs_f64(),
            interval_s: outcome.interval.as_secs_f64(),
            values: self
                .objectives
                .iter()
                .zip(&values)
                .map(|(objective, value)| if objective.is_time() { value * 1e3 } else { *value })
                .collect(),
            kept,
            overloaded,
            client_limited,
            doubts: ids.iter().map(|id| (*id).to_owned()).collect(),
        };
        (Observation { values, overloaded, client_limited, waited }, probed)
    }
}

/// Whether fewer ended than were offered, by more than chance explains. In a short load a queue that grows
/// has not reached a generous limit yet, and would in a longer one.
fn falls_short(told: &StreamOutcome) -> bool {
    let Some(schedule) = &told.schedule else { return false };
    let offered = schedule.offered as f64;
    let missing = offered - (told.transactions.count + told.transactions.errors) as f64;
    missing > (SHORT_CHANCE * offered.sqrt()).max(SHORT_SHARE_MISSING * offered)
}

/// Whether a doubt means that the client is the limit: a thread that is nearly always busy, or latency that
/// is mostly the client's own.
fn is_client_limit(doubt: &Doubt) -> bool {
    match doubt.id() {
        "worker_busy" => true,
        "send_delay" | "queueing" => doubt.level == Level::Invalid,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::{
        sample::Tally,
        spec::{Address, Stream, Target, Tls, Workload},
    };
    use std::collections::BTreeSet;

    /// Data stay as they are between the loads of a search: the same values again would be no work.
    #[test]
    fn no_load_of_a_search_has_the_seed_of_another_or_of_the_trial_after_it() {
        let address = Address::Unix("/tmp/none".into());
        let (user, password, tls) = ("user".to_owned(), Default::default(), Tls::default());
        let target = Target { address, user, password, database: None, tls, compress: false };
        let workload = Workload { name: "none".to_owned(), tables: 1, transactions: Vec::new() };
        let second = Duration::from_secs(1);
        let spec =
            Spec { seed: 7, ..Spec::new(target, vec![Stream::new("main", workload, 2)], second, second) };
        let objectives = Objectives::parse("p99 < 1ms").expect("an objective");
        let mut seeds = vec![spec.seed];
        let search = Search { spec: &spec, stream: 0, objectives: &objectives, clock: Duration::ZERO };
        let mut offer = |spec: &Spec, _: Step| {
            seeds.push(spec.seed);
            let transactions = Tally { count: 100, ..Tally::new("transactions") };
            let stream = StreamOutcome { transactions, ..StreamOutcome::default() };
            let outcome = Outcome {
                streams: vec![stream],
                client: Default::default(),
                warm_up: None,
                interval: spec.interval,
                end: load::sample::End::Completed,
                server_version: String::new(),
            };
            if seeds.len() < 4 { Ok(outcome) } else { Err(()) }
        };
        assert_eq!(seek(search, &mut offer, &mut |_| Ok(())), Err(()));
        assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), 4, "{seeds:?}");
    }
}
