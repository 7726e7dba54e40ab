//! Findings for the made-up run: what an analysis could say of it. Plain means and a fixed factor for the
//! interval; the real estimates are tested where they are made.

use load::{Histogram, sample::Connects};
use prony::{
    analyse::{Answer, Axis, Comparison, Finding, Findings, LeftOut, Point, Trust, Uncounted, Verdict},
    plan::Metric,
    run::{Doubt, TrialOutcome},
    store::RunRecord,
};
use stats::Estimate;
use std::collections::BTreeMap;

/// The findings.
pub fn findings(record: &RunRecord) -> Findings {
    let points: Vec<Point> =
        (0..record.plan.treatments.len()).filter_map(|treatment| point(record, treatment)).collect();
    let mut comparisons = Vec::new();
    for (index, one) in points.iter().enumerate() {
        let base = points.iter().position(|other| {
            other.server == "threads"
                && one.server != "threads"
                && other.connections == one.connections
                && other.levels["workload"] == one.levels["workload"]
        });
        let Some(base) = base else { continue };
        let mut levels = one.levels.clone();
        levels.remove("server");
        for metric in [Metric::Throughput, Metric::Quantile(95_000), Metric::Quantile(99_000)] {
            comparisons.push(comparison(&points, &levels, index, base, metric));
        }
    }
    let findings = sentences(&points);
    Findings {
        neighbours: Vec::new(),
        answer: Answer { findings: (0..findings.len().min(2)).collect(), ..Answer::default() },
        trust: Trust { trials: record.trials.len() as u32, ..Trust::default() },
        axis: Axis::of(&record.plan),
        points,
        comparisons,
        effects: Vec::new(),
        rates: Vec::new(),
        buying: None,
        advice: Vec::new(),
        next: None,
        crashes: Vec::new(),
        published: None,
        unscaled: Vec::new(),
        scalings: Vec::new(),
        claims: Vec::new(),
        findings,
    }
}

fn comparison(
    points: &[Point],
    levels: &BTreeMap<String, String>,
    point: usize,
    base: usize,
    metric: Metric,
) -> Comparison {
    let value = |index: usize| match metric {
        Metric::Throughput => points[index].throughput,
        _ => points[index].latency_ms[&metric.to_string()],
    };
    let (one, other) = (value(point), value(base));
    let ratio = estimate(one.value / other.value, 0.03, 3);
    let better = if metric.more_is_better() { ratio.value > 1.0 } else { ratio.value < 1.0 };
    let verdict = match (ratio.value - 1.0).abs() {
        change if change < 0.01 => Verdict::Same,
        change if change < 0.05 => Verdict::Undecided,
        _ if better => Verdict::Better,
        _ => Verdict::Worse,
    };
    let repeats_needed = (verdict == Verdict::Undecided).then_some(7);
    let (p_value, detectable) = (0.01, Some(0.05));
    Comparison {
        levels: levels.clone(),
        point,
        base,
        metric,
        ratio,
        verdict,
        p_value,
        detectable,
        repeats_needed,
    }
}

fn estimate(value: f64, relative: f64, observations: u32) -> Estimate {
    let half = (observations > 1).then_some(value * relative);
    Estimate {
        value,
        low: half.map(|half| value - half),
        high: half.map(|half| value + half * 1.1),
        level: 0.95,
        observations,
    }
}

fn point(record: &RunRecord, treatment: usize) -> Option<Point> {
    let planned = &record.plan.treatments[treatment];
    let trials = record.trials.iter().filter(|trial| trial.trial.treatment == treatment);
    let mut histogram = Histogram::new();
    let (mut rates, mut left_out, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
    let mut errors = BTreeMap::new();
    for trial in trials {
        match &trial.outcome {
            TrialOutcome::Failed(failure) => {
                left_out.push(LeftOut { trial: trial.trial.number, why: Uncounted::Failed(failure.clone()) })
            }
            TrialOutcome::Measured { outcome, doubts: own, .. } => {
                let main = &outcome.streams[0];
                histogram.merge(main.transactions.response());
                rates.push(main.transactions.count as f64 / outcome.interval.as_secs_f64());
                doubts.extend(own.iter().cloned());
                for error in &main.errors {
                    *errors.entry(error.code).or_insert(0) += error.count;
                }
            }
        }
    }
    if rates.is_empty() {
        return None;
    }
    let trials = rates.len() as u32;
    let throughput = estimate(rates.iter().sum::<f64>() / f64::from(trials), 0.018, trials);
    let latency_ms = latencies(&histogram, trials);
    Some(Point {
        treatment,
        levels: planned.levels.clone(),
        server: planned.levels["server"].clone(),
        stream: planned.streams[0].name.clone(),
        connections: planned.streams[0].connections,
        idle: 0,
        trials,
        left_out,
        statements_per_second: estimate(throughput.value * 4.0, 0.018, trials),
        throughput,
        latency_ms,
        latency_max_ms: histogram.max_ns() as f64 / 1e6,
        histogram,
        service_ms: BTreeMap::new(),
        mix: Vec::new(),
        tpcc: None,
        tpch: None,
        schedule: None,
        active_s: f64::from(trials) * 8.0,
        utilisation: None,
        overloaded: 0,
        limit: None,
        rows_per_second: throughput.value * 10.0,
        opening: Connects::default(),
        reconnecting: Connects::default(),
        outages: Vec::new(),
        fairness: None,
        starved: 0,
        following: None,
        throughput_by_trial: rates,
        error_share: if errors.is_empty() { 0.0 } else { 0.001 },
        errors,
        server_cpu: Some(1.35),
        client_cpu: 0.4,
        doubts,
    })
}

fn latencies(histogram: &Histogram, trials: u32) -> BTreeMap<String, Estimate> {
    let quantiles = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];
    let quantiles = quantiles.into_iter().map(|(name, quantile)| {
        let value = histogram.quantile_ns(quantile) as f64 / 1e6;
        (name.to_owned(), estimate(value, 0.02 + quantile * 0.06, trials))
    });
    let mean = ("mean".to_owned(), estimate(histogram.mean_ns() / 1e6, 0.02, trials));
    quantiles.chain([mean]).collect()
}

fn sentences(points: &[Point]) -> Vec<Finding> {
    let levels = |workload: &str| BTreeMap::from([("workload".to_owned(), workload.to_owned())]);
    let find = |server: &str, connections: u32, workload: &str| {
        points
            .iter()
            .position(|point| {
                point.server == server
                    && point.connections == connections
                    && point.levels["workload"] == workload
            })
            .expect("a point of the made-up run")
    };
    let throughput =
        |server: &str, connections: u32| points[find(server, connections, "oltp_read_only")].throughput;
    let advantage = |metric: Metric, first: u32, value: f64| Finding::Advantage {
        levels: levels("oltp_read_only"),
        server: "pool".to_owned(),
        base: "threads".to_owned(),
        metric,
        stretch: (f64::from(first), 1024.0),
        ratio: estimate(value, 0.03, 3),
        at: 1024.0,
    };
    vec![
        Finding::Effect {
            levels: levels("oltp_read_only"),
            server: "pool".to_owned(),
            base: "threads".to_owned(),
            metric: Metric::Throughput,
            stretch: (256.0, 1024.0),
            whole: false,
            ratio: estimate(1.36, 0.04, 3),
            doubling: Some(estimate(1.12, 0.02, 3)),
            greatest: Some((
                1024.0,
                estimate(throughput("pool", 1024).value / throughput("threads", 1024).value, 0.03, 3),
            )),
        },
        advantage(Metric::Quantile(99_000), 1024, 0.62),
        Finding::NoDifference {
            levels: levels("oltp_update_non_index"),
            servers: ("pool".to_owned(), "threads".to_owned()),
            metric: Metric::Quantile(95_000),
            resolution: 0.081,
            rungs: (4, 4),
            stretch: Some((4.0, 1024.0)),
            same: None,
        },
        Finding::Peak {
            levels: levels("oltp_read_only"),
            server: "threads".to_owned(),
            at: 64.0,
            throughput: throughput("threads", 64),
            last: 1024.0,
            throughput_last: throughput("threads", 1024),
            enough: 16.0,
        },
        Finding::Doubtful {
            points: vec![find("pool", 4, "oltp_read_only"), find("pool", 4, "oltp_update_non_index")],
            doubts: vec![Doubt::told(
                "the load engine was close to its own limit there; give it more workers",
            )],
        },
    ]
}
