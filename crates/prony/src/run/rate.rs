//! Runs the loads that a search for the highest rate asks for, and observes them. It knows neither who runs a
//! load nor what becomes of the answer, so that `prony load` and the trials of a study search alike.

use super::{
    Doubt, Level, What,
    check::{STEAL, doubts},
};
use crate::{
    plan::{SEARCH_LONG, SEARCH_SHORT, SEARCH_SHORT_MIN, SEARCH_SHORT_SHARE, seed},
    search::{
        self, Bounds, Ending, Objective, Objectives, Observation, Offered, Outlook, Probe, Verdict, Why,
    },
    telemetry,
};
use load::{
    Outcome, Spec,
    sample::StreamOutcome,
    spec::{Arrival, Rate},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Lowest rate worth searching, starts in a second.
const LOWEST: f64 = 1.0;
/// Highest rate, starts per second: more than any server and any client can do. What a closed loop reached is
/// no bound: the server may have been cold, or do less the more is under way.
const HIGHEST: f64 = 1e7;
/// Multiple of what a closed loop reached where the search begins.
const FIRST: f64 = 0.7;
/// How long a load may be made so that it holds enough transactions: times the longer loads' interval, and so
/// long at least.
const LONGER: u32 = 10;
const LONGER_MIN: Duration = Duration::from_secs(120);
/// Standard deviations of a Poisson count that are added to the transactions that a load must hold.
const SPARE: f64 = 3.0;
/// What may be missing at the end of a load that is kept up with: standard deviations of a Poisson count, and
/// a share.
const SHORT_CHANCE: f64 = 3.0;
const SHORT_SHARE_MISSING: f64 = 0.02;
/// Share of the closed loop's rate above which more connections may sustain more: below it, not all were
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
    /// When it must be over; `None`: it takes as long as it takes.
    pub deadline: Option<Instant>,
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
    /// Whether the wait for a free connection broke it: then more connections may sustain more.
    pub connections_limited: bool,
    /// Rate that the server sustained after a gentle load although the result is clearly lower: it has two
    /// states, and the result is what it sustains after an overload.
    #[serde(default)]
    pub from_rest_per_second: Option<f64>,
    /// Processors that other virtual machines took in the worst load, where they disturbed most of those that
    /// broke the objective.
    #[serde(default)]
    pub steal_processors: Option<f64>,
    /// Every load after the closed loop, in order.
    pub probes: Vec<Probed>,
}

/// One load of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probed {
    /// What it is for.
    pub purpose: search::Purpose,
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
    /// Whether it held too few transactions to say so.
    #[serde(default)]
    pub cannot_tell: bool,
    /// Whether more was offered than could start.
    pub overloaded: bool,
    /// Whether the client was at its limit.
    pub client_limited: bool,
    /// Processors that other virtual machines on the host took from this one, on average; null: unknown.
    #[serde(default)]
    pub steal_processors: Option<f64>,
    /// Stable names of the reasons to doubt this load.
    pub doubts: Vec<String>,
}

impl Probed {
    /// Whether other virtual machines on the host disturbed it.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.steal_processors.is_some_and(|processors| processors > STEAL)
    }

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
            Ending::Unfinished { confirmed, .. } => confirmed,
            Ending::NothingKeeps { .. } | Ending::CannotTell { .. } => None,
        }
    }

    /// The rate above it that was not kept, starts in a second; `None`: none was tried, or it is not known.
    #[must_use]
    pub fn broken_at(&self) -> Option<f64> {
        match self.ending {
            Ending::Found { above, .. } => Some(above),
            Ending::NothingKeeps { lowest } => Some(lowest),
            Ending::NothingBreaks { .. }
            | Ending::Unsteady { .. }
            | Ending::CannotTell { .. }
            | Ending::Unfinished { .. } => None,
        }
    }
}

/// Searches the highest rate. `offer` runs a load, or returns `None` when the user wants to stop; `told` gets
/// each load that is over, and how long the rest will take. `None`: a closed loop completed nothing, so there
/// is no rate to search.
///
/// # Errors
/// Those of `offer` and `told`, as they are.
pub fn seek<E>(
    search: Search<'_>,
    mut offer: impl FnMut(&Spec, Step) -> Result<Option<Outcome>, E>,
    mut told: impl FnMut(&Probed, Duration) -> Result<(), E>,
) -> Result<Option<Sought>, E> {
    let spec = search.spec;
    let short = short(spec);
    // each load writes values of its own, since nobody restores what the one before has written
    let mut loads = 0;
    let mut offer = |mut spec: Spec, step: Step| {
        loads += 1;
        spec.seed = seed::derive(search.spec.seed, loads, 0);
        let outcome = offer(&spec, step)?;
        Ok((spec, outcome))
    };
    let mut closed = Spec { interval: short, ..spec.clone() };
    closed.streams[search.stream].arrival = Arrival::Closed;
    let left = (short + spec.warm_up) * SEARCH_SHORT + (spec.interval + spec.warm_up) * SEARCH_LONG;
    let (_, Some(outcome)) = offer(closed, Step { probe: None, left })? else {
        return Ok(Some(search.nothing_yet()));
    };
    let ended = outcome.streams[search.stream].transactions.count;
    let closed_loop = ended as f64 / outcome.interval.as_secs_f64();
    if closed_loop <= 0.0 {
        return Ok(None);
    }
    let lowest = (search.needed() / search.longest().as_secs_f64()).max(LOWEST);
    let bounds = Bounds { first: FIRST * closed_loop, lowest, highest: HIGHEST };
    let mut probes = Vec::new();
    let report = search::search(bounds, search.objectives, &mut |probe, outlook| {
        let (spec, left) = search.load(probe, outlook);
        if let Some(answer) = search.late(&spec, probe, outlook) {
            return Ok(answer);
        }
        let (began, stolen) = (Instant::now(), telemetry::stolen());
        let (spec, Some(outcome)) = offer(spec, Step { probe: Some((probe, outlook)), left })? else {
            return Ok(Offered::Ended(Why::Interrupted));
        };
        let steal = stolen.zip(telemetry::stolen()).map(|(before, after)| after.saturating_sub(before));
        let steal = steal.map(|steal| steal.as_secs_f64() / began.elapsed().as_secs_f64());
        let (observation, probed) = search.observe(probe, &spec, &outcome, steal);
        told(&probed, left.saturating_sub(spec.warm_up + spec.interval))?;
        probes.push(probed);
        Ok(Offered::Seen(observation))
    })?;
    let steal = probes.iter().filter(|probed| !probed.kept).filter_map(|probed| probed.steal_processors);
    let mut sought = Sought {
        objective: search.objectives.to_string(),
        ending: report.ending,
        closed_loop_per_second: closed_loop,
        client_limited: report.client_limited(),
        connections_limited: false,
        from_rest_per_second: report.from_rest,
        steal_processors: steal.max_by(f64::total_cmp).filter(|_| report.disturbed()),
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
    /// Interrupted before there was anything to say.
    fn nothing_yet(&self) -> Sought {
        Sought {
            objective: self.objectives.to_string(),
            ending: Ending::Unfinished { why: Why::Interrupted, confirmed: None },
            closed_loop_per_second: 0.0,
            client_limited: false,
            connections_limited: false,
            from_rest_per_second: None,
            steal_processors: None,
            probes: Vec::new(),
        }
    }

    /// The longest that a load may be.
    fn longest(&self) -> Duration {
        (self.spec.interval * LONGER).max(LONGER_MIN)
    }

    /// Transactions that a load should hold so that chance leaves it enough of them.
    fn needed(&self) -> f64 {
        let needed = self.objectives.transactions_needed();
        needed + SPARE * needed.sqrt()
    }

    /// One load at a rate, long enough to tell where that is possible; and how long all that comes will take.
    fn load(&self, probe: Probe, outlook: Outlook) -> (Spec, Duration) {
        let (short, whole, longest) = (short(self.spec), self.spec.interval, self.longest());
        // a rate that is the lowest by rounding must not lack a transaction
        let needed = (self.needed() / probe.rate).ceil();
        let enough = Duration::try_from_secs_f64(needed).unwrap_or(longest).min(longest);
        let (brief, long) = (enough.max(short), enough.max(whole));
        let mut spec = self.spec.clone();
        spec.interval = match (probe.purpose.is_long(), probe.patient) {
            (true, _) => long,
            (false, true) => brief,
            (false, false) => short,
        };
        if let Arrival::Open { rate, .. } = &mut spec.streams[self.stream].arrival {
            *rate = Rate::Constant(probe.rate);
        }
        let times = |load: Duration, count: usize| (load + self.spec.warm_up) * count as u32;
        (spec, times(brief, outlook.short_left) + times(long, outlook.long_left))
    }

    /// The answer where time is short: what can be skipped is skipped, so that there is time to confirm.
    fn late(&self, spec: &Spec, probe: Probe, outlook: Outlook) -> Option<Offered> {
        let left = self.deadline?.saturating_duration_since(Instant::now());
        let own = spec.interval + self.spec.warm_up;
        if own > left {
            let is_needed = !probe.purpose.can_be_skipped();
            return Some(if is_needed { Offered::Ended(Why::OutOfTime) } else { Offered::Skipped });
        }
        let whole = self.spec.interval.max(spec.interval) + self.spec.warm_up;
        let is_narrow = probe.purpose == search::Purpose::Narrow;
        (is_narrow && own + whole * outlook.long_left as u32 > left).then_some(Offered::Skipped)
    }

    /// `steal`: processors that neighbours took meanwhile, where that is known.
    fn observe(
        &self,
        probe: Probe,
        spec: &Spec,
        outcome: &Outcome,
        steal: Option<f64>,
    ) -> (Observation, Probed) {
        let told = &outcome.streams[self.stream];
        let mut doubts = doubts(spec, outcome, &[], self.clock);
        let stolen = steal.filter(|processors| *processors > STEAL);
        let disturbed = stolen.is_some();
        doubts.extend(stolen.map(|processors| Doubt::new(Level::Suspicious, What::Steal { processors })));
        let values: Vec<f64> = self.objectives.iter().map(|objective| objective.measure(told)).collect();
        let overloaded = doubts.iter().any(Doubt::is_overload) || falls_short(told);
        let client_limited = doubts.iter().any(is_client_limit);
        let breaks = |objective: &Objective| objective.measure(told) >= objective.limit();
        let verdict = if overloaded { Verdict::Broken } else { self.objectives.judge(told) };
        // every latency that is broken would be kept if it did not count from when the transaction was due
        let waited = verdict == Verdict::Broken
            && self
                .objectives
                .iter()
                .filter(|objective| breaks(objective))
                .all(|objective| objective.of_service().is_some_and(|service| !breaks(&service)));
        let probed = Probed {
            purpose: probe.purpose,
            offered_per_second: probe.rate,
            achieved_per_second: told.transactions.count as f64 / outcome.interval.as_secs_f64(),
            interval_s: outcome.interval.as_secs_f64(),
            values: self
                .objectives
                .iter()
                .zip(&values)
                .map(|(objective, value)| if objective.is_time() { value * 1e3 } else { *value })
                .collect(),
            kept: verdict == Verdict::Kept,
            // of the gentle load nothing is asked
            cannot_tell: verdict == Verdict::CannotTell && probe.purpose != search::Purpose::Rest,
            overloaded,
            client_limited,
            steal_processors: steal,
            doubts: doubts.iter().map(|doubt| doubt.id().to_owned()).collect(),
        };
        (Observation { verdict, values, overloaded, client_limited, waited, disturbed }, probed)
    }
}

/// Whether fewer ended than were offered, by more than chance explains. In a short load, a growing queue has
/// not yet reached a generous limit, but would in a longer one.
fn falls_short(told: &StreamOutcome) -> bool {
    let Some(schedule) = &told.schedule else { return false };
    let offered = schedule.offered as f64;
    let missing = offered - (told.transactions.count + told.transactions.errors) as f64;
    missing > (SHORT_CHANCE * offered.sqrt()).max(SHORT_SHARE_MISSING * offered)
}

/// Whether a doubt means that the client is the limit: a thread that is nearly always busy, or latency that
/// is mostly the client's own.
fn is_client_limit(doubt: &Doubt) -> bool {
    match doubt.what {
        What::WorkerBusy { .. } => true,
        What::SendDelay { .. }
        | What::Queueing { .. }
        | What::LoadHostBusy { .. }
        | What::LoadHostProcessors { .. } => doubt.level == Level::Invalid,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::{
        sample::{ClientUsage, End, Tally},
        spec::{Address, Gaps, Stream, Target, Tls, Workload},
    };
    use std::{collections::BTreeSet, convert::Infallible};

    /// An open loop whose longer loads take 10 s.
    fn spec() -> Spec {
        let address = Address::Unix("/tmp/none".into());
        let (user, password, tls) = ("user".to_owned(), Default::default(), Tls::default());
        let trust = Default::default();
        let target = Target { address, user, password, database: None, tls, trust, compress: false };
        let workload = Workload::new("none", 1, Vec::new());
        let arrival = Arrival::Open { rate: Rate::Constant(1.0), gaps: Gaps::default(), lateness_max: None };
        let stream = Stream { arrival, ..Stream::new("main", workload, 4) };
        Spec::new(target, vec![stream], Duration::from_secs(1), Duration::from_secs(10))
    }

    /// A server that answers each transaction after 2 ms at rest, slower with the rate, up to `limit` a
    /// second.
    fn outcome(spec: &Spec, limit: f64) -> Outcome {
        let offered = match &spec.streams[0].arrival {
            Arrival::Open { rate: Rate::Constant(rate), .. } => *rate,
            _ => f64::INFINITY,
        };
        let count = (offered.min(limit) * spec.interval.as_secs_f64()).round() as u64;
        let mut transactions = Tally { count, ..Tally::new("transactions") };
        let each = 2e6 * (1.0 + 10.0 * (offered.min(1e9) / limit).powi(8));
        (0..count).for_each(|_| transactions.service.record_ns(each as u64));
        let stream = StreamOutcome {
            name: "main".to_owned(),
            connections: 4,
            statements: vec![Tally { name: "select".to_owned(), ..transactions.clone() }],
            transactions,
            ..StreamOutcome::default()
        };
        Outcome {
            streams: vec![stream],
            client: ClientUsage::default(),
            warm_up: None,
            interval: spec.interval,
            end: End::Completed,
            server_version: String::new(),
        }
    }

    /// The search on a server that does `limit` a second, and the loads that were offered.
    fn sought(objective: &str, limit: f64, deadline: Option<Instant>) -> (Sought, Vec<Spec>) {
        let (spec, objectives) = (spec(), Objectives::parse(objective).expect("an objective"));
        let search =
            Search { spec: &spec, stream: 0, objectives: &objectives, clock: Duration::ZERO, deadline };
        let mut offered = Vec::new();
        let sought = seek(
            search,
            |spec: &Spec, _| {
                offered.push(spec.clone());
                Ok::<_, Infallible>(Some(outcome(spec, limit)))
            },
            |_: &Probed, _| Ok(()),
        );
        (sought.expect("infallible").expect("a rate"), offered)
    }

    /// Data stay as they are between the loads of a search: the same values again would be no work.
    #[test]
    fn no_load_of_a_search_has_the_seed_of_another_or_of_the_trial_after_it() {
        let (_, offered) = sought("p99 < 20ms", 2600.0, None);
        let seeds = offered.iter().map(|one| one.seed).chain([spec().seed]).collect::<BTreeSet<_>>();
        assert_eq!(seeds.len(), offered.len() + 1, "{seeds:?}");
    }

    #[test]
    fn loads_are_made_long_enough_for_their_percentile() {
        // 26 a second: ten seconds hold 260 transactions, a 99th percentile needs 2000
        let (sought, offered) = sought("p99 < 20ms", 26.0, None);
        let Ending::Found { rate, .. } = sought.ending else { panic!("{:?}", sought.ending) };
        assert!((rate / 26.0 - 1.0).abs() < 0.1, "{rate}");
        let long_enough = |probed: &&Probed| probed.interval_s * probed.offered_per_second >= 2000.0;
        assert!(sought.probes.iter().filter(|probed| probed.kept).all(|one| long_enough(&one)), "{sought:?}");
        // what ten seconds cannot tell is asked again for longer
        let too_few = sought.probes.iter().position(|probed| probed.cannot_tell).expect("a short one");
        let (one, next) = (&sought.probes[too_few], &sought.probes[too_few + 1]);
        assert!(one.interval_s < 10.0 && next.offered_per_second == one.offered_per_second, "{sought:?}");
        assert!(long_enough(&next) && !next.cannot_tell, "{next:?}");
        assert!(offered.iter().all(|spec| spec.interval <= LONGER_MIN));
        // a fast server has enough in the short loads
        let (fast, offered) = self::sought("p99 < 20ms", 2600.0, None);
        assert!(matches!(fast.ending, Ending::Found { .. }), "{:?}", fast.ending);
        assert!(offered.iter().all(|spec| spec.interval <= Duration::from_secs(10)));
    }

    /// A server that was cold in the closed loop, or does less the more is under way.
    #[test]
    fn what_a_closed_loop_reached_is_no_bound() {
        let (spec, objectives) = (spec(), Objectives::parse("p99 < 20ms").expect("an objective"));
        let (clock, deadline) = (Duration::ZERO, None);
        let search = Search { spec: &spec, stream: 0, objectives: &objectives, clock, deadline };
        let offer = |spec: &Spec, step: Step| {
            let limit = if step.probe.is_none() { 200.0 } else { 2600.0 };
            Ok::<_, Infallible>(Some(outcome(spec, limit)))
        };
        let sought = seek(search, offer, |_: &Probed, _| Ok(())).expect("infallible").expect("a rate");
        let Ending::Found { rate, .. } = sought.ending else { panic!("{:?}", sought.ending) };
        assert!((rate / 2600.0 - 1.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn a_rate_below_what_a_load_can_tell_is_not_judged() {
        // 3 a second: 120 s hold 360 transactions; the lowest rate that says something is 17.8
        let (sought, _) = sought("p99 < 20ms", 3.0, None);
        let Ending::NothingKeeps { lowest } = sought.ending else { panic!("{:?}", sought.ending) };
        assert!((17.0..19.0).contains(&lowest), "{lowest}");
        assert!(sought.probes.iter().all(|probed| probed.values[0] > 20.0), "{sought:?}");
    }

    #[test]
    fn a_search_whose_time_is_over_tells_what_it_has() {
        let (late, offered) = sought("p99 < 20ms", 2600.0, Some(Instant::now()));
        let why = Why::OutOfTime;
        assert_eq!(late.ending, Ending::Unfinished { why, confirmed: None });
        assert_eq!((late.rate(), offered.len()), (None, 1), "the closed loop alone");
        // 50 s on the clock, of which these loads take none: the bracket's lower end is confirmed
        let soon = Instant::now() + Duration::from_secs(50);
        let (hurried, _) = sought("p99 < 20ms", 2600.0, Some(soon));
        let Ending::Found { rate, .. } = hurried.ending else { panic!("{:?}", hurried.ending) };
        assert!((1500.0..2600.0).contains(&rate), "{rate}");
        assert!(hurried.probes.iter().all(|probed| probed.purpose != search::Purpose::Narrow), "{hurried:?}");
    }

    #[test]
    fn an_interrupted_search_tells_the_best_that_was_confirmed() {
        let (spec, objectives) = (spec(), Objectives::parse("p99 < 20ms").expect("an objective"));
        let (clock, deadline) = (Duration::ZERO, None);
        let search = Search { spec: &spec, stream: 0, objectives: &objectives, clock, deadline };
        let until = |purpose: search::Purpose| {
            let is_over = std::cell::Cell::new(false);
            let sought = seek(
                search,
                |spec: &Spec, _| Ok::<_, Infallible>((!is_over.get()).then(|| outcome(spec, 2600.0))),
                |probed: &Probed, _| {
                    is_over.set(probed.purpose == purpose);
                    Ok(())
                },
            );
            sought.expect("infallible").expect("a rate")
        };
        let early = until(search::Purpose::Bracket);
        assert_eq!((early.rate(), early.probes.len()), (None, 1));
        let late = until(search::Purpose::Above);
        assert!(late.rate().is_some_and(|rate| (2200.0..2600.0).contains(&rate)), "{late:?}");
        assert_eq!(late.ending, Ending::Unfinished { why: Why::Interrupted, confirmed: late.rate() });
    }
}
