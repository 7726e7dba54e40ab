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
        let mut free_at = vec![0.0_f64; self.servers];
        let mut now = 0.0;
        let mut times: Vec<f64> = (0..customers)
            .map(|_| {
                now += self.exponential(1.0 / rate);
                let service = self.exponential(self.service);
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

fn observe((p99, overloaded): (f64, bool)) -> Result<Observation, Infallible> {
    Ok(Observation { values: vec![p99], overloaded, client_limited: false, waited: false })
}

fn objectives() -> Objectives {
    Objectives::parse("p99 < 20ms").expect("an objective")
}

/// Seconds of a short and a long load.
const LENGTHS: (f64, f64) = (2.0, 10.0);

fn find(queue: &mut Queue, first: f64) -> Report {
    let bounds = Bounds { first, lowest: 1.0, highest: 1e7 };
    let result = search(bounds, &objectives(), &mut |probe, _| {
        let long = matches!(probe.purpose, Purpose::Confirm | Purpose::Above);
        let seconds = if long { LENGTHS.1 } else { LENGTHS.0 };
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
        let asked = report.tried.iter().filter(move |tried| tried.probe == Probe { rate: wanted, purpose });
        (asked.clone().count(), asked.filter(|tried| tried.kept).count())
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
    let failed = search(bounds, &objectives(), &mut |_, _| Err::<Observation, _>("gone"));
    assert_eq!(failed, Err("gone"));
    let mut outlooks = Vec::new();
    let report = search(bounds, &objectives(), &mut |probe: Probe, outlook| {
        outlooks.push(outlook);
        observe((0.02 * (probe.rate / 1000.0).powi(8), false))
    });
    assert!(matches!(report.expect("infallible").ending, Ending::Found { .. }));
    let (first, last) = (outlooks.first().expect("one"), outlooks.last().expect("one"));
    assert!(first.short_left > 2 && first.long_left == 5);
    assert_eq!((last.short_left, last.long_left), (0, 1));
}

#[test]
fn a_client_at_its_limit_and_a_lack_of_connections_are_told() {
    let report = |client_limited, waited| {
        let bounds = Bounds { first: 100.0, lowest: 1.0, highest: 1e6 };
        search(bounds, &objectives(), &mut |probe: Probe, _| {
            let values = vec![0.02 * (probe.rate / 1000.0).powi(8)];
            let broken = values[0] > 0.02;
            let (client_limited, waited) = (client_limited && broken, waited && broken);
            Ok::<_, Infallible>(Observation { values, overloaded: false, client_limited, waited })
        })
        .expect("infallible")
    };
    assert!(report(true, false).client_limited() && !report(false, true).client_limited());
    assert!(report(false, true).waited() && !report(true, false).waited());
}
