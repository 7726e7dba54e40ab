//! Searches on simulated servers whose limit is known.

use super::*;
use load::random::Random;
use std::{cell::Cell, convert::Infallible};

/// A queue with several servers and exponential service (M/M/c), simulated: the noise of its percentiles is
/// real.
struct Queue {
    servers: usize,
    /// Seconds.
    service: f64,
    random: Random,
}

impl Queue {
    fn new(servers: usize, service: f64, seed: u64) -> Self {
        Self { servers, service, random: Random::for_connection(seed, 0, 0) }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.random.unit()).ln()
    }

    /// 99th percentile of the response time of so many customers, and whether the queue grew.
    fn p99(&mut self, rate: f64, customers: usize) -> (f64, bool) {
        let service = self.service;
        self.p99_with(rate, customers, &|_| service)
    }

    /// The same of a server whose mean time of service follows from how many are under way.
    fn p99_with(&mut self, rate: f64, customers: usize, service: &dyn Fn(usize) -> f64) -> (f64, bool) {
        let mut free_at = vec![0.0_f64; self.servers];
        let mut now = 0.0;
        let mut times: Vec<f64> = (0..customers)
            .map(|_| {
                now += self.exponential(1.0 / rate);
                let under_way = free_at.iter().filter(|free| **free > now).count();
                let service = self.exponential(service(under_way + 1));
                let first = free_at.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("a server");
                *first = first.max(now) + service;
                *first - now
            })
            .collect();
        let late = free_at.iter().map(|free| (free - now).max(0.0)).sum::<f64>();
        let waiting = late / self.service;
        times.sort_by(f64::total_cmp);
        (times[customers * 99 / 100], waiting > 3.0 * (customers as f64).sqrt())
    }
}

fn observe((p99, overloaded): (f64, bool)) -> Result<Offered, Infallible> {
    Ok(Offered::Seen(seen(p99, overloaded)))
}

fn seen(p99: f64, overloaded: bool) -> Observation {
    let kept = !overloaded && p99 < 0.02;
    let verdict = if kept { Verdict::Kept } else { Verdict::Broken };
    let values = vec![p99];
    Observation { verdict, values, overloaded, client_limited: false, waited: false, disturbed: false }
}

fn objectives() -> Objectives {
    Objectives::parse("p99 < 20ms").expect("an objective")
}

/// Seconds of a short and a long load.
const LENGTHS: (f64, f64) = (2.0, 10.0);

fn find(queue: &mut Queue, first: f64) -> Report {
    let bounds = Bounds { first, lowest: 1.0, highest: 1e7 };
    let result = search(bounds, &objectives(), &mut |probe, _| {
        let seconds = if probe.purpose.is_long() { LENGTHS.1 } else { LENGTHS.0 };
        observe(queue.p99(probe.rate, (probe.rate * seconds) as usize + 100))
    });
    result.expect("infallible")
}

#[test]
fn the_limit_of_a_simulated_server_is_found_with_few_loads() {
    // The true limits come from the same queue with 400,000 customers. With 4 ms the 99th percentile of an
    // idle server is 18.4 ms already: it hardly depends on the rate, and noise decides.
    for (service, truth, tolerance) in [(0.002, 3735.0, 0.15), (0.004, 1544.0, 0.2)] {
        for seed in 0..2 {
            // a closed loop promises too much or too little
            for first in [0.3 * truth, 3.0 * truth] {
                let report = find(&mut Queue::new(8, service, seed), first);
                let (Ending::Found { rate, .. } | Ending::Unsteady { rate }) = report.ending else {
                    panic!("{:?}", report.ending)
                };
                assert!((rate / truth - 1.0).abs() < tolerance, "{rate} for {truth} (seed {seed})");
                assert!(report.tried.len() <= PROBES_MAX, "{} loads", report.tried.len());
            }
        }
    }
}

#[test]
fn what_is_found_was_kept_by_all_confirmations_and_broken_above() {
    let report = find(&mut Queue::new(16, 0.004, 3), 1000.0);
    let Ending::Found { rate, above } = report.ending else { panic!("{:?}", report.ending) };
    assert!(above / rate > 1.05 && above / rate < 1.12);
    let at = |wanted: f64, purpose| {
        let is_asked = move |probe: Probe| probe.rate == wanted && probe.purpose == purpose;
        let asked = report.tried.iter().filter(move |tried| is_asked(tried.probe));
        (asked.clone().count(), asked.filter(|tried| tried.kept()).count())
    };
    assert_eq!(at(rate, Purpose::Confirm), (3, 3));
    let (asked, kept) = at(above, Purpose::Above);
    assert!(asked >= 2 && kept * 2 < asked.max(3), "{kept} of {asked}");
}

#[test]
fn a_server_that_never_or_always_keeps_it_is_told_apart() {
    let bounds = Bounds { first: 500.0, lowest: 10.0, highest: 4000.0 };
    let constant = |value: f64| {
        search(bounds, &objectives(), &mut |_, _| observe((value, false))).expect("infallible").ending
    };
    assert_eq!(constant(0.5), Ending::NothingKeeps { lowest: 10.0 });
    assert_eq!(constant(0.001), Ending::NothingBreaks { highest: 4000.0 });
    let overloaded = search(bounds, &objectives(), &mut |_, _| observe((0.001, true))).expect("infallible");
    assert_eq!(overloaded.ending, Ending::NothingKeeps { lowest: 10.0 });
}

#[test]
fn an_unsure_result_is_asked_again_and_the_majority_counts() {
    // at the limit every second load breaks it by a little; below it none does
    let count = Cell::new(0);
    let report =
        search(Bounds { first: 100.0, lowest: 1.0, highest: 1e6 }, &objectives(), &mut |probe: Probe, _| {
            count.set(count.get() + 1);
            let noise = if count.get() % 2 == 0 { 1.1 } else { 0.9 };
            observe((0.02 * (probe.rate / 1000.0).powi(4) * noise, false))
        })
        .expect("infallible");
    let (Ending::Found { rate, .. } | Ending::Unsteady { rate }) = report.ending else { panic!("not found") };
    assert!((900.0..=1050.0).contains(&rate), "{rate}");
    let mut at: Vec<f64> = report.tried.iter().map(|tried| tried.probe.rate).collect();
    at.dedup();
    assert!(at.len() < report.tried.len(), "something was asked twice");
}

#[test]
fn errors_of_a_load_end_the_search_and_the_outlook_shrinks() {
    let bounds = Bounds { first: 100.0, lowest: 1.0, highest: 1e6 };
    let failed = search(bounds, &objectives(), &mut |_, _| Err::<Offered, _>("gone"));
    assert_eq!(failed, Err("gone"));
    let mut outlooks = Vec::new();
    let report = search(bounds, &objectives(), &mut |probe: Probe, outlook| {
        outlooks.push(outlook);
        observe((0.02 * (probe.rate / 1000.0).powi(8), false))
    });
    assert!(matches!(report.expect("infallible").ending, Ending::Found { .. }));
    let (first, last) = (outlooks.first().expect("one"), outlooks.last().expect("one"));
    assert!(first.short_left > 4 && first.long_left == 5);
    assert_eq!((last.short_left, last.long_left), (1, 0));
}

#[test]
fn a_client_at_its_limit_and_a_lack_of_connections_are_told() {
    let report = |client_limited, waited| {
        let bounds = Bounds { first: 100.0, lowest: 1.0, highest: 1e6 };
        search(bounds, &objectives(), &mut |probe: Probe, _| {
            let seen = seen(0.02 * (probe.rate / 1000.0).powi(8), false);
            let broken = seen.verdict == Verdict::Broken;
            let (client_limited, waited) = (client_limited && broken, waited && broken);
            Ok::<_, Infallible>(Offered::Seen(Observation { client_limited, waited, ..seen }))
        })
        .expect("infallible")
    };
    assert!(report(true, false).client_limited() && !report(false, true).client_limited());
    assert!(report(false, true).waited() && !report(true, false).waited());
}

/// Simulated servers of several shapes: what one does under a load at a rate, and the rate that is true.
trait Server {
    /// 99th percentile, s, and whether it is overloaded.
    fn offered(&mut self, probe: Probe) -> (f64, bool);
}

/// Searches from what a closed loop reached, as loads do.
fn search_on(server: &mut dyn Server, closed_loop: f64) -> Report {
    let bounds = Bounds { first: 0.7 * closed_loop, lowest: 1.0, highest: 1e7 };
    search(bounds, &objectives(), &mut |probe, _| observe(server.offered(probe))).expect("infallible")
}

fn close_to(report: &Report, truth: f64, tolerance: f64) {
    let Ending::Found { rate, above } = report.ending else { panic!("{:?}", report.ending) };
    assert!((rate / truth - 1.0).abs() < tolerance, "{rate} for {truth}");
    assert!(above > rate && report.tried.len() <= PROBES_MAX, "{} loads", report.tried.len());
}

fn customers(probe: Probe) -> usize {
    // shorter than loads are, since these servers are simulated customer by customer
    (probe.rate * if probe.purpose.is_long() { 2.5 } else { 0.5 }) as usize + 100
}

/// Each connection has a processor of its own: throughput grows with them to the end.
struct Linear(Queue);

impl Server for Linear {
    fn offered(&mut self, probe: Probe) -> (f64, bool) {
        self.0.p99(probe.rate, customers(probe))
    }
}

#[test]
fn the_limit_of_a_linear_server_is_found() {
    // 24 connections of 2 ms: 12,000/s at most. Of 40 loads 37 kept it at 11,800/s, 25 at 11,900/s
    for seed in 0..3 {
        let report = search_on(&mut Linear(Queue::new(24, 0.002, seed)), 12_000.0);
        close_to(&report, 11_800.0, 0.1);
        assert_eq!(report.from_rest, None);
    }
}

/// More than `PEAK` at once get in each other's way: throughput falls to a ninth at all connections, so that
/// a closed loop sees a fraction of what an open one can do.
struct Retrograde(Queue);

impl Retrograde {
    const CONNECTIONS: usize = 96;
    const PEAK: f64 = 16.0;
    /// Throughput of so many under way, a second: n / (2 ms) up to the peak, then falling.
    fn throughput(under_way: f64) -> f64 {
        let free = under_way.min(Self::PEAK) / 0.002;
        free / (1.0 + (under_way - Self::PEAK).max(0.0) / 10.0)
    }
}

impl Server for Retrograde {
    fn offered(&mut self, probe: Probe) -> (f64, bool) {
        let service = |under_way: usize| under_way as f64 / Self::throughput(under_way as f64);
        self.0.p99_with(probe.rate, customers(probe), &service)
    }
}

#[test]
fn the_limit_of_a_retrograde_server_is_found_beyond_its_closed_loop() {
    let closed_loop = Retrograde::throughput(Retrograde::CONNECTIONS as f64);
    assert!((800.0..900.0).contains(&closed_loop), "{closed_loop}");
    for seed in 0..3 {
        let mut server = Retrograde(Queue::new(Retrograde::CONNECTIONS, 0.002, seed));
        // of 40 loads 37 kept it at 4500/s, 26 at 4750/s, 7 at 5000/s
        close_to(&search_on(&mut server, closed_loop), 4500.0, 0.1);
    }
}

/// A server with two states. More than `high` in a second puts it into the worse one, where it does no more
/// than `low`, until it is offered less than `heals`.
struct Bistable {
    is_bad: bool,
    high: f64,
    low: f64,
    heals: f64,
}

impl Server for Bistable {
    fn offered(&mut self, probe: Probe) -> (f64, bool) {
        if probe.rate < self.heals {
            self.is_bad = false;
        } else if probe.rate > self.high {
            self.is_bad = true;
        }
        let limit = if self.is_bad { self.low } else { self.high };
        (0.02 * (probe.rate / limit).powi(3), probe.rate > 1.2 * limit)
    }
}

#[test]
fn of_a_server_with_two_states_both_are_told() {
    // a closed loop puts it into the worse state, where the search begins
    for (is_bad, closed_loop) in [(true, 1500.0), (true, 600.0), (false, 3000.0)] {
        let mut server = Bistable { is_bad, high: 4000.0, low: 1500.0, heals: 300.0 };
        let report = search_on(&mut server, closed_loop);
        close_to(&report, 1500.0, 0.06);
        let from_rest = report.from_rest.expect("it bears more from rest");
        assert!((2000.0..=4000.0).contains(&from_rest), "{from_rest}");
    }
    // one that no load heals is as it is
    let mut server = Bistable { is_bad: true, high: 4000.0, low: 1500.0, heals: 0.0 };
    let report = search_on(&mut server, 1500.0);
    close_to(&report, 1500.0, 0.06);
    assert_eq!(report.from_rest, None);
}

/// A server that is cold: what it bears grows for a minute from a tenth to the whole.
struct Cold {
    seconds: f64,
    limit: f64,
}

impl Server for Cold {
    fn offered(&mut self, probe: Probe) -> (f64, bool) {
        // with 3 s of warm-up
        self.seconds += 3.0 + if probe.purpose.is_long() { LENGTHS.1 } else { LENGTHS.0 };
        let limit = self.limit * (0.1 + 0.9 * (self.seconds / 60.0).min(1.0));
        (0.02 * (probe.rate / limit).powi(4), probe.rate > 1.5 * limit)
    }
}

#[test]
fn a_cold_first_minute_does_not_decide() {
    for (closed_loop, seconds) in [(400.0, 0.0), (1500.0, 0.0), (4000.0, 0.0), (9000.0, -50.0), (40.0, 20.0)]
    {
        let mut server = Cold { seconds, limit: 4000.0 };
        let report = search_on(&mut server, closed_loop);
        close_to(&report, 4000.0, 0.06);
        assert_eq!(report.from_rest, None);
    }
}

#[test]
fn a_server_too_cold_for_the_lowest_rate_is_asked_again() {
    let asked = Cell::new(0);
    let bounds = Bounds { first: 1000.0, lowest: 20.0, highest: 1e7 };
    let report = search(bounds, &objectives(), &mut |probe: Probe, _| {
        asked.set(asked.get() + 1);
        let stalls = asked.get() < 8;
        observe((if stalls { 0.5 } else { 0.02 * (probe.rate / 1300.0).powi(4) }, false))
    });
    close_to(&report.expect("infallible"), 1300.0, 0.06);
}

#[test]
fn nothing_breaks_is_never_said_where_a_load_was_broken() {
    let bounds = Bounds { first: 500.0, lowest: 10.0, highest: 4000.0 };
    let asked = Cell::new(0);
    let report = search(bounds, &objectives(), &mut |_, _| {
        asked.set(asked.get() + 1);
        observe((if asked.get() == 2 { 0.5 } else { 0.001 }, false))
    });
    let report = report.expect("infallible");
    assert!(!matches!(report.ending, Ending::NothingBreaks { .. }), "{:?}", report.ending);
}

#[test]
fn loads_with_too_few_transactions_are_offered_again_and_say_so_in_the_end() {
    let bounds = Bounds { first: 100.0, lowest: 20.0, highest: 1e7 };
    let few = |answer: Observation| Observation { verdict: Verdict::CannotTell, ..answer };
    let never =
        search(bounds, &objectives(), &mut |_, _| Ok::<_, Infallible>(Offered::Seen(few(seen(0.3, false)))));
    assert_eq!(never.expect("infallible").ending, Ending::CannotTell { rate: 100.0 });
    let asked = Cell::new(0);
    let sometimes = search(bounds, &objectives(), &mut |probe: Probe, _| {
        asked.set(asked.get() + 1);
        let seen = seen(0.02 * (probe.rate / 1000.0).powi(8), false);
        Ok::<_, Infallible>(Offered::Seen(if asked.get() % 3 == 0 { few(seen) } else { seen }))
    });
    close_to(&sometimes.expect("infallible"), 1000.0, 0.06);
}

#[test]
fn what_neighbours_broke_is_asked_again_and_named_where_it_decided() {
    let bounds = Bounds { first: 100.0, lowest: 1.0, highest: 1e7 };
    let asked = Cell::new(0);
    // every fourth short load is spoilt by neighbours
    let report = search(bounds, &objectives(), &mut |probe: Probe, _| {
        asked.set(asked.get() + 1);
        let is_spoilt = !probe.purpose.is_long() && asked.get() % 4 == 1;
        let seen = seen(if is_spoilt { 0.5 } else { 0.02 * (probe.rate / 1000.0).powi(8) }, false);
        Ok::<_, Infallible>(Offered::Seen(Observation { disturbed: is_spoilt, ..seen }))
    });
    let report = report.expect("infallible");
    close_to(&report, 1000.0, 0.06);
    assert!(!report.disturbed());
    let always = search(bounds, &objectives(), &mut |_, _| {
        Ok::<_, Infallible>(Offered::Seen(Observation { disturbed: true, ..seen(0.5, false) }))
    });
    assert!(always.expect("infallible").disturbed());
}

#[test]
fn a_search_that_is_ended_tells_the_best_that_was_confirmed() {
    let bounds = Bounds { first: 100.0, lowest: 1.0, highest: 1e7 };
    let after = |loads: usize, why: Why| {
        let asked = Cell::new(0);
        let report = search(bounds, &objectives(), &mut |probe: Probe, _| {
            asked.set(asked.get() + 1);
            if asked.get() > loads {
                return Ok::<_, Infallible>(Offered::Ended(why));
            }
            observe((0.02 * (probe.rate / 1000.0).powi(8), false))
        });
        report.expect("infallible")
    };
    let whole = after(100, Why::Interrupted);
    let Ending::Found { rate, .. } = whole.ending else { panic!("{:?}", whole.ending) };
    let first = whole.tried.iter().position(|tried| tried.probe.purpose == Purpose::Confirm).expect("one");
    let why = Why::Interrupted;
    assert_eq!(after(0, why).ending, Ending::Unfinished { why, confirmed: None });
    assert_eq!(after(first + 2, why).ending, Ending::Unfinished { why, confirmed: None });
    assert_eq!(after(first + 3, why).ending, Ending::Unfinished { why, confirmed: Some(rate) });
    // what comes after the answer takes nothing away from it
    let ended = after(whole.tried.len() - 1, Why::OutOfTime);
    assert_eq!(ended.ending, whole.ending);
    // without time to narrow the lower end of the bracket is confirmed
    let hurried = search(bounds, &objectives(), &mut |probe: Probe, _| {
        if probe.purpose.can_be_skipped() {
            return Ok::<_, Infallible>(Offered::Skipped);
        }
        observe((0.02 * (probe.rate / 1000.0).powi(8), false))
    });
    let Ending::Found { rate, .. } = hurried.expect("infallible").ending else { panic!("not found") };
    assert!((650.0..=1000.0).contains(&rate), "{rate}");
}
