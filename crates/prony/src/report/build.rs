//! Makes the [`Document`] from what the store holds and what the analysis found.

use super::{
    document::{
        Comparison, Difference, Document, Estimate, FORMAT, Factor, Finding, Group, Machine, Point, Run,
        Seconds, Series, Server, Trial,
    },
    number::round,
    words::{Words, subject},
};
use crate::{
    analyse::{self, Findings},
    run::TrialOutcome,
    store::{RunRecord, TrialRecord},
};
use load::{Histogram, sample::Phase};
use std::collections::{BTreeMap, BTreeSet};

/// Variables that name the process or the moment, not the configuration.
const NOT_SETTINGS: &[&str] = &[
    "basedir",
    "character_sets_dir",
    "datadir",
    "general_log_file",
    "gtid_binlog_pos",
    "gtid_current_pos",
    "gtid_executed",
    "gtid_purged",
    "hostname",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "last_insert_id",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "mysqlx_port",
    "mysqlx_socket",
    "pid_file",
    "plugin_dir",
    "port",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "relay_log_basename",
    "relay_log_index",
    "report_port",
    "secure_file_priv",
    "server_id",
    "server_uid",
    "server_uuid",
    "slave_load_tmpdir",
    "replica_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "timestamp",
    "tmpdir",
    "innodb_tmpdir",
    "innodb_temp_data_file_path",
    "innodb_buffer_pool_filename",
    "lc_messages_dir",
    "report_host",
    "aria_log_dir_path",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "auto_generate_certs",
];

/// Shares of transactions at which the distribution is written down.
const CURVE: &[f64] = &[
    0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.985,
    0.99, 0.9925, 0.995, 0.9965, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99995, 0.9999_9,
];

/// Everything that a report of this run says.
#[must_use]
pub fn build(record: &RunRecord, findings: &Findings, words: Words) -> Document {
    let points: Vec<Point> = findings.points.iter().map(point).collect();
    Document {
        format: FORMAT,
        prony_version: record.prony_version.clone(),
        language: words.code().to_owned(),
        run: run(record),
        machine: machine(record),
        servers: servers(record),
        settings_that_differ: differences(record),
        findings: sentences(record, findings, words),
        groups: groups(record, &points),
        comparisons: findings.comparisons.iter().map(comparison).collect(),
        trials: trials(record),
        points,
    }
}

impl From<&stats::Estimate> for Estimate {
    fn from(estimate: &stats::Estimate) -> Self {
        Self { value: round(estimate.value), low: estimate.low.map(round), high: estimate.high.map(round) }
    }
}

fn run(record: &RunRecord) -> Run {
    let plan = &record.plan;
    let measured =
        record.trials.iter().filter(|trial| matches!(trial.outcome, TrialOutcome::Measured { .. })).count();
    Run {
        id: record.id,
        name: plan.name.clone(),
        title: plan.title.clone(),
        scale: plan.scale.clone(),
        seed: plan.seed,
        started: second_of(record.started),
        finished: record.finished.map(second_of),
        complete: record.complete,
        warm_up_s: plan.warm_up.as_secs_f64(),
        interval_s: plan.interval.as_secs_f64(),
        repeats: plan.repeats,
        trials_planned: plan.trials.len() as u32,
        trials_measured: measured as u32,
        trials_failed: (record.trials.len() - measured) as u32,
        factors: plan
            .factors
            .iter()
            .map(|factor| Factor { name: factor.name.clone(), levels: factor.levels.clone() })
            .collect(),
        study_text: plan.study_text.clone(),
    }
}

/// Nobody reads the nanoseconds of a date.
fn second_of(time: jiff::Timestamp) -> String {
    jiff::Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

fn machine(record: &RunRecord) -> Machine {
    let machine = record.machine.clone();
    Machine {
        cpu_model: machine.cpu_model,
        cpus: machine.cpus,
        memory_bytes: machine.memory_bytes,
        kernel: machine.kernel,
        distribution: machine.distribution,
        virtualisation: machine.virtualisation,
    }
}

fn servers(record: &RunRecord) -> Vec<Server> {
    let server = |(number, planned): (usize, &crate::plan::ServerPlan)| {
        let known = record.servers.get(&number).cloned().unwrap_or_default();
        Server {
            name: planned.name.clone(),
            product: known.description.product,
            version: known.description.version,
            build: known.description.build,
            origin: known.description.origin,
            settings: planned.settings.clone(),
            data_loaded_s: round(known.data_took.values().map(std::time::Duration::as_secs_f64).sum()),
            variables: known.description.variables,
        }
    };
    record.plan.servers.iter().enumerate().map(server).collect()
}

fn differences(record: &RunRecord) -> Vec<Difference> {
    let known: Vec<_> = (0..record.plan.servers.len())
        .map(|number| record.servers.get(&number).map(|server| &server.description.variables))
        .collect();
    // A server that never answered has no settings to compare.
    if known.iter().flatten().count() < 2 {
        return Vec::new();
    }
    let names: BTreeSet<&String> = known.iter().flatten().flat_map(|variables| variables.keys()).collect();
    let value = |name: &String| -> Vec<Option<String>> {
        known.iter().map(|variables| variables.and_then(|variables| variables.get(name)).cloned()).collect()
    };
    let is_setting = |name: &&String| !NOT_SETTINGS.contains(&name.as_str());
    let differs = |values: &[Option<String>]| values.iter().any(|value| *value != values[0]);
    names
        .into_iter()
        .filter(is_setting)
        .map(|name| Difference { variable: name.clone(), values: value(name) })
        .filter(|difference| differs(&difference.values))
        .collect()
}

fn sentences(record: &RunRecord, findings: &Findings, words: Words) -> Vec<Finding> {
    let kind = |finding: &analyse::Finding| {
        let json = serde_json::to_value(finding).ok();
        json.and_then(|json| Some(json.get("kind")?.as_str()?.to_owned())).unwrap_or_default()
    };
    let mut found: Vec<Finding> = findings
        .findings
        .iter()
        .map(|finding| {
            let sentence = words.finding(finding, findings);
            Finding { kind: kind(finding), about: sentence.about, text: sentence.text }
        })
        .collect();
    if found.is_empty() && !findings.points.is_empty() {
        let text = words.get("sentence", "nothing").to_owned();
        found.push(Finding { kind: "nothing".to_owned(), about: String::new(), text });
    }
    let run = run(record);
    let planned = run.trials_planned.to_string();
    if run.trials_failed > 0 {
        let key = if run.trials_failed == 1 { "failed_one" } else { "failed_many" };
        let places = [("failed", &*run.trials_failed.to_string()), ("planned", &*planned)];
        let text = words.fill("sentence", key, &places);
        found.push(Finding { kind: "failed".to_owned(), about: String::new(), text });
    }
    if !record.complete {
        let places = [("done", &*record.trials.len().to_string()), ("planned", &*planned)];
        let text = words.fill("sentence", "incomplete", &places);
        found.push(Finding { kind: "incomplete".to_owned(), about: String::new(), text });
    }
    found
}

fn point(point: &analyse::Point) -> Point {
    let histogram = serde_json::to_value(&point.histogram).ok();
    Point {
        levels: point.levels.clone(),
        server: point.server.clone(),
        connections: point.connections,
        trials: point.trials,
        left_out: point.left_out.clone(),
        throughput: (&point.throughput).into(),
        statements_per_second: (&point.statements_per_second).into(),
        latency_ms: point.latency_ms.iter().map(|(name, latency)| (name.clone(), latency.into())).collect(),
        latency_max_ms: round(point.latency_max_ms),
        latency_curve: curve(&point.histogram),
        histogram: histogram.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default(),
        throughput_by_trial: point.throughput_by_trial.iter().copied().map(round).collect(),
        errors: point.errors.iter().map(|(code, count)| (code.to_string(), *count)).collect(),
        error_share: round(point.error_share),
        server_cpu: point.server_cpu.map(round),
        client_cpu: round(point.client_cpu),
        doubts: point.doubts.clone(),
    }
}

/// No share is told that fewer than one transaction stands behind.
fn curve(histogram: &Histogram) -> Vec<(f64, f64)> {
    let count = histogram.count() as f64;
    let mut curve: Vec<(f64, f64)> = CURVE
        .iter()
        .filter(|&&share| (1.0 - share) * count >= 1.0)
        .map(|&share| (share, milliseconds(histogram.quantile_ns(share))))
        .collect();
    if !histogram.is_empty() {
        curve.push((1.0, milliseconds(histogram.max_ns())));
    }
    curve
}

fn milliseconds(ns: u64) -> f64 {
    round(ns as f64 / 1e6)
}

fn comparison(comparison: &analyse::Comparison) -> Comparison {
    let verdict = serde_json::to_value(comparison.verdict).ok();
    Comparison {
        point: comparison.point,
        base: comparison.base,
        metric: comparison.metric.clone(),
        ratio: (&comparison.ratio).into(),
        verdict: verdict.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default(),
    }
}

/// Points in groups of one table each, in the plan's order; servers in the study's order.
fn groups(record: &RunRecord, points: &[Point]) -> Vec<Group> {
    let follows_server = levels_that_follow_the_server(points);
    // Whatever its name in the study, a factor that is the number of connections of every point is the ladder.
    let is_ladder = |factor: &str| {
        points.iter().all(|point| point.levels.get(factor) == Some(&point.connections.to_string()))
    };
    let common = |point: &Point| -> BTreeMap<String, String> {
        let mut levels = point.levels.clone();
        levels
            .retain(|factor, _| factor != "server" && !is_ladder(factor) && !follows_server.contains(factor));
        levels
    };
    let mut order: Vec<(BTreeMap<String, String>, Vec<usize>)> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let levels = common(point);
        match order.iter_mut().find(|(known, _)| *known == levels) {
            Some((_, members)) => members.push(index),
            None => order.push((levels, vec![index])),
        }
    }
    let group = |(levels, members): (BTreeMap<String, String>, Vec<usize>)| {
        let rungs: BTreeSet<u32> = members.iter().map(|&member| points[member].connections).collect();
        let names = record.plan.servers.iter().map(|server| &server.name);
        let series = names.filter_map(|name| {
            let place = |rung: &u32| {
                members
                    .iter()
                    .copied()
                    .find(|&member| points[member].server == *name && points[member].connections == *rung)
            };
            let points: Vec<Option<usize>> = rungs.iter().map(place).collect();
            points.iter().any(Option::is_some).then(|| Series { server: name.clone(), points })
        });
        Group {
            title: subject(&levels),
            series: series.collect(),
            connections: rungs.iter().copied().collect(),
        }
    };
    order.into_iter().map(group).collect()
}

/// Factors that only tell servers apart (a varied server setting is part of the server's name). The workload never is.
fn levels_that_follow_the_server(points: &[Point]) -> BTreeSet<String> {
    let factors: BTreeSet<&String> = points.iter().flat_map(|point| point.levels.keys()).collect();
    let servers: BTreeSet<&String> = points.iter().map(|point| &point.server).collect();
    let follows = |factor: &&String| {
        let pairs: BTreeSet<_> =
            points.iter().map(|point| (&point.server, point.levels.get(*factor))).collect();
        let levels: BTreeSet<_> = points.iter().map(|point| point.levels.get(*factor)).collect();
        pairs.len() == servers.len() && levels.len() > 1 && *factor != "workload"
    };
    factors.into_iter().filter(follows).cloned().collect()
}

fn trials(record: &RunRecord) -> Vec<Trial> {
    record.trials.iter().map(|trial| self::trial(record, trial)).collect()
}

fn trial(record: &RunRecord, trial: &TrialRecord) -> Trial {
    let treatment = &record.plan.treatments[trial.trial.treatment];
    let mut told = Trial {
        number: trial.trial.number,
        block: trial.trial.block,
        levels: treatment.levels.clone(),
        server: record.plan.servers[treatment.server].name.clone(),
        connections: treatment.streams.first().map_or(0, |stream| stream.connections),
        started: second_of(trial.started),
        failure: None,
        doubts: Vec::new(),
        throughput: None,
        latency_ms: BTreeMap::new(),
        errors: BTreeMap::new(),
        server_cpu: server_cpu(record, trial),
        seconds: seconds(trial),
    };
    match &trial.outcome {
        TrialOutcome::Failed(reason) => told.failure = Some(reason.clone()),
        TrialOutcome::Measured { outcome, doubts } => {
            told.doubts = doubts.iter().map(ToString::to_string).collect();
            if let Some(stream) = outcome.streams.first() {
                let seconds = outcome.interval.as_secs_f64();
                told.throughput = Some(round(stream.transactions.count as f64 / seconds));
                told.latency_ms = latencies(stream.transactions.response());
                let errors = stream.errors.iter();
                told.errors = errors.map(|error| (error.code.to_string(), error.count)).collect();
            }
        }
    }
    told
}

fn latencies(histogram: &Histogram) -> BTreeMap<String, f64> {
    if histogram.is_empty() {
        return BTreeMap::new();
    }
    let quantile = |name: &str, quantile| (name.to_owned(), milliseconds(histogram.quantile_ns(quantile)));
    [
        ("mean".to_owned(), round(histogram.mean_ns() / 1e6)),
        quantile("p50", 0.5),
        quantile("p95", 0.95),
        quantile("p99", 0.99),
        quantile("p99.9", 0.999),
        ("max".to_owned(), milliseconds(histogram.max_ns())),
    ]
    .into()
}

/// Mean over the measurement interval.
fn server_cpu(record: &RunRecord, trial: &TrialRecord) -> Option<f64> {
    let used: Vec<f64> = trial
        .readings
        .iter()
        .filter(|reading| reading.at > record.plan.warm_up)
        .filter_map(|reading| reading.server_cpu)
        .collect();
    (!used.is_empty()).then(|| round(used.iter().sum::<f64>() / used.len() as f64))
}

fn seconds(trial: &TrialRecord) -> Seconds {
    let mut seconds = Seconds::default();
    for sample in trial.samples.iter().filter(|sample| sample.stream == 0) {
        let response = sample.transactions.response();
        let percentile =
            |quantile| (!response.is_empty()).then(|| milliseconds(response.quantile_ns(quantile)));
        seconds.second.push(sample.second);
        seconds.warm_up += usize::from(sample.phase == Phase::WarmUp);
        let length = sample.length.as_secs_f64();
        let rate = if length > 0.0 { sample.transactions.count as f64 / length } else { 0.0 };
        seconds.throughput.push(round(rate));
        seconds.p95_ms.push(percentile(0.95));
        seconds.p99_ms.push(percentile(0.99));
        seconds.errors.push(sample.errors);
    }
    seconds
}
