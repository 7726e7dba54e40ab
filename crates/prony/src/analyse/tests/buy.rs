//! What a buyer is told.

use super::*;

/// Quickstart with a buyer's question: at 8 and 64 connections, with this many transactions per second of
/// each server at 64; any greater load breaks the objective.
fn bought(set: &[&str], threads: f64, pool: f64) -> (RunRecord, Findings) {
    let mut noise = noise(5);
    let workload = "workload=[\"oltp_read_only\"]";
    let set: Vec<&str> =
        ["buy.objective=p99 < 20ms", workload, "repeats=4"].iter().chain(set).copied().collect();
    let record = record(plan(&set), |treatment, _| {
        let top = if treatment.levels["server"] == "pool" { pool } else { threads };
        let rate = if treatment.streams[0].connections == 8 { top / 2.0 } else { top };
        rate * (0.01 * noise.normal()).exp()
    });
    let findings = analyse(&record);
    (record, findings)
}

fn offer<'a>(buying: &'a Buying, server: &str) -> &'a Offer {
    buying.offers.iter().find(|offer| offer.server == server).expect("an offer")
}

#[test]
fn the_most_that_keeps_the_objective_is_told_with_its_price() {
    // 64 connections at 20,000/s take 3.2 ms on average, and 19 ms at the 99th percentile
    let set = ["server.threads.price=0.36 EUR/h", "server.pool.price=0.72 EUR/h", "buy.rate=15000"];
    let (_, findings) = bought(&set, 16_500.0, 20_000.0);
    let buying = findings.buying.as_ref().expect("a buyer asks");
    let (threads, pool) = (offer(buying, "threads"), offer(buying, "pool"));
    let rate = pool.rate_per_second.expect("kept");
    let (low, high) = rate.interval().expect("four trials");
    assert!(low < 20_000.0 && 20_000.0 < high && !pool.searched, "{rate:?}");
    assert_eq!((pool.trials, pool.kept, findings.points[pool.point].connections), (4, 4, 64));
    // 0.72 EUR pay for 3600 s at 20,000 transactions per second
    let cost = pool.cost_per_million.expect("price and rate");
    assert!((cost.value - 0.01).abs() < 2e-4 && cost.interval().is_some(), "{cost:?}");
    assert!(threads.cost_per_million.expect("both").value < cost.value);
    let [enough] = &buying.enough[..] else { panic!("{:?}", buying.enough) };
    let threads = buying.offers.iter().position(|offer| offer.server == "threads");
    assert_eq!((enough.first, enough.cheapest, &*enough.open), (threads, threads, &[][..]));
}

#[test]
fn who_is_too_small_is_passed_over_and_what_is_open_is_named() {
    let (mut record, findings) = bought(&["buy.rate=12000"], 12_000.0, 20_000.0);
    let of_threads = offer(findings.buying.as_ref().expect("a buyer asks"), "threads").rate_per_second;
    let buy = record.plan.buy.as_mut().expect("a question");
    buy.rates_per_second = vec![of_threads.expect("kept").value, 19_000.0, 50_000.0];
    let buying = analyse(&record).buying.expect("a buyer asks");
    let place = |server: &str| buying.offers.iter().position(|offer| offer.server == server).expect("one");
    let [near, above, none] = &buying.enough[..] else { panic!("{:?}", buying.enough) };
    // the interval of `threads` includes the first rate; it is too small for 19,000
    assert_eq!((near.first, &*near.open), (Some(place("pool")), &[place("threads")][..]));
    assert_eq!((above.first, &*above.open), (Some(place("pool")), &[][..]));
    assert_eq!((none.first, none.most, &*none.open), (None, Some(place("pool")), &[][..]));
    assert_eq!(near.cheapest, None, "nothing has a price");
}

#[test]
fn a_broken_objective_gives_no_rate_and_an_invalid_trial_no_answer() {
    // 8 connections at 500/s take 16 ms on average: p99 is far above 20 ms
    let (record, findings) = bought(&["buy.rate=100"], 1000.0, 20_000.0);
    let buying = findings.buying.expect("a buyer asks");
    let threads = offer(&buying, "threads");
    assert!(threads.rate_per_second.is_none() && !threads.doubtful, "{threads:?}");
    assert_eq!((threads.kept, threads.broken, threads.trials), (0, 4, 4));
    assert_eq!(buying.enough[0].first, buying.offers.iter().position(|offer| offer.server == "pool"));
    assert!(buying.enough[0].open.is_empty(), "what was broken is not open");
    let mut spoilt = record;
    for trial in &mut spoilt.trials {
        if let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome {
            doubts.push(Doubt::new(Level::Invalid, What::NothingFinished));
        }
    }
    let buying = analyse(&spoilt).buying.expect("a buyer asks");
    assert!(buying.offers.iter().all(|offer| offer.doubtful && offer.rate_per_second.is_none()));
    assert_eq!((buying.enough[0].first, buying.enough[0].open.len()), (None, 2));
}

#[test]
fn too_few_transactions_leave_it_open_and_without_a_question_nothing_is_said() {
    // a 99th percentile would need 2000
    let (_, findings) = bought(&["buy.rate=100", "buy.objective=p99 < 1s"], 1500.0, 1900.0);
    let buying = findings.buying.expect("a buyer asks");
    let pool = offer(&buying, "pool");
    assert!(pool.rate_per_second.is_none() && pool.kept == 0 && pool.broken < pool.trials, "{pool:?}");
    assert_eq!(buying.enough[0].open.len(), 2);
    assert!(analyse(&super::record(plan(&[]), |treatment, _| bent(treatment))).buying.is_none());
}
