//! The points as comma-separated values (RFC 4180): one line each, with an interval for every estimate.
//!
//! Columns: the factors of the study; `server`, `stream`, `connections`, `idle`, `trials`, `trials_left_out`;
//! then for `throughput`, `statements_per_second` and the latencies in ms (`mean`, `p50`, `p95`, `p99`,
//! `p99.9`) the value and the ends of its 95 % interval, empty where nothing is known; `latency_max_ms`,
//! `errors`, `error_share`, `server_cpu`, `client_cpu`, `offered`, `late`, `skipped`, `never_sent` (empty
//! without a schedule), `overloaded` (trials), `service_p99_ms`, `limit_seconds`, `limit_extrapolated`
//! (trials), `connect_p50_ms`; of a transaction of all streams together: `server_cpu_us`, `client_cpu_us`,
//! `context_switches`, `reads`, `written_kb`, `log_syncs`; of its servers `cpu_idle`, `cpu_idle_alone`
//! (shares), `rows_scanned`, `rows_read` (per second), `table_locks_waited`, `buffer_pool_hit` (shares);
//! `limited_by` (joined by `; `), `verdict`, `doubts` (joined by `; `).

use super::{
    document::{Document, Estimate, Point, Schedule},
    number::round,
    resources::Resources,
};
use crate::{analyse::Sampled, escape, telemetry::Cost};

const LATENCIES: [&str; 5] = ["mean", "p50", "p95", "p99", "p99.9"];

const OTHERS: [&str; 29] = [
    "latency_max_ms",
    "errors",
    "error_share",
    "server_cpu",
    "client_cpu",
    "offered",
    "late",
    "skipped",
    "never_sent",
    "overloaded",
    "service_p99_ms",
    "limit_seconds",
    "limit_extrapolated",
    "connect_p50_ms",
    "server_cpu_us",
    "client_cpu_us",
    "context_switches",
    "reads",
    "written_kb",
    "log_syncs",
    "cpu_idle",
    "cpu_idle_alone",
    "rows_scanned",
    "rows_read",
    "table_locks_waited",
    "buffer_pool_hit",
    "limited_by",
    "verdict",
    "doubts",
];

/// The table.
pub(super) fn render(document: &Document) -> String {
    let factors = document.run.factors.iter().map(|factor| factor.name.as_str());
    let factors: Vec<&str> = factors.filter(|name| !matches!(*name, "server" | "connections")).collect();
    let mut text = line(heads(&factors));
    for point in &document.points {
        text.push_str(&line(values(point, resources(document, point), &factors)));
    }
    text
}

fn heads(factors: &[&str]) -> Vec<String> {
    let mut heads: Vec<String> = factors.iter().map(|&name| name.to_owned()).collect();
    heads.extend(["server", "stream", "connections", "idle", "trials", "trials_left_out"].map(str::to_owned));
    let latencies = LATENCIES.map(|name| format!("latency_{name}_ms"));
    for name in ["throughput".to_owned(), "statements_per_second".to_owned()].into_iter().chain(latencies) {
        heads.extend([name.clone(), format!("{name}_low"), format!("{name}_high")]);
    }
    heads.extend(OTHERS.map(str::to_owned));
    heads
}

fn values(point: &Point, resources: Option<&Resources>, factors: &[&str]) -> Vec<String> {
    let mut values: Vec<String> =
        factors.iter().map(|&factor| point.levels.get(factor).cloned().unwrap_or_default()).collect();
    values.extend([
        point.server.clone(),
        point.stream.clone(),
        point.connections.to_string(),
        point.idle.to_string(),
        point.trials.to_string(),
        point.left_out.len().to_string(),
    ]);
    let latencies = LATENCIES.map(|name| point.latency_ms.get(name));
    // a point without a successful trial has no value, which is not zero
    let rates =
        [&point.throughput, &point.statements_per_second].map(|rate| (point.trials > 0).then_some(rate));
    for estimate in rates.into_iter().chain(latencies) {
        values.extend(ends(estimate));
    }
    let schedule = point.schedule.as_ref();
    let count = |value: fn(&Schedule) -> u64| {
        schedule.map(|schedule| value(schedule).to_string()).unwrap_or_default()
    };
    let limit = point.limit.as_ref();
    let doubts: Vec<&str> = point.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
    values.extend([
        number(Some(point.latency_max_ms)),
        point.errors.values().sum::<u64>().to_string(),
        number(Some(point.error_share)),
        number(point.server_cpu),
        number(Some(point.client_cpu)),
        number(schedule.map(|schedule| schedule.offered_per_second)),
        count(|schedule| schedule.late),
        count(|schedule| schedule.skipped),
        count(|schedule| schedule.never_sent),
        point.overloaded.to_string(),
        number(point.service_ms.get("p99").copied()),
        number(limit.and_then(|limit| limit.seconds).map(|seconds| seconds.value)),
        limit.map_or_else(String::new, |limit| limit.extrapolated.to_string()),
        number(point.reconnecting.total_ms.get("p50").copied()),
    ]);
    let cost =
        |value: fn(&Cost) -> Option<f64>| number(resources.and_then(|resources| value(&resources.cost)));
    let sampled = |value: fn(&Sampled) -> Option<f64>| {
        number(resources.and_then(|resources| value(&resources.sampled)))
    };
    let limits = resources.map(|resources| resources.limited_by.as_slice()).unwrap_or_default();
    values.extend([
        cost(|cost| cost.server_cpu_us),
        cost(|cost| cost.client_cpu_us),
        cost(|cost| cost.context_switches),
        cost(|cost| cost.reads),
        cost(|cost| cost.written_kb),
        cost(|cost| cost.log_syncs),
        sampled(|sampled| sampled.cpu_idle),
        number(resources.and_then(|resources| resources.alone?.cpu_idle)),
        sampled(|sampled| sampled.rows_scanned),
        sampled(|sampled| sampled.rows_read),
        sampled(|sampled| sampled.table_locks_waited),
        sampled(|sampled| sampled.buffer_pool_hit),
        limits.iter().map(|limit| limit.name.as_str()).collect::<Vec<_>>().join("; "),
        point.verdict.name().to_owned(),
        doubts.join("; "),
    ]);
    values
}

/// The resources of a point's treatment.
fn resources<'a>(document: &'a Document, point: &Point) -> Option<&'a Resources> {
    let is_own = |one: &&Resources| {
        one.server == point.server
            && one.levels.iter().all(|(factor, level)| point.levels.get(factor) == Some(level))
    };
    document.resources.iter().find(is_own)
}

fn ends(estimate: Option<&Estimate>) -> [String; 3] {
    [
        number(estimate.map(|estimate| estimate.value)),
        number(estimate.and_then(|estimate| estimate.low)),
        number(estimate.and_then(|estimate| estimate.high)),
    ]
}

/// A number with as many digits as in other files; empty: unknown.
fn number(value: Option<f64>) -> String {
    value.map(|value| round(value).to_string()).unwrap_or_default()
}

fn line(fields: Vec<String>) -> String {
    let quoted = fields.into_iter().map(|field| {
        let field = escape::plain(&field);
        let needs_quotes = field.contains([',', '"', '\n', '\r']);
        if needs_quotes { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
    });
    quoted.collect::<Vec<_>>().join(",") + "\r\n"
}
