//! What `prony load` prints as JSON, for programs; [`super::text`] makes the text for people from it.

use crate::{
    arrival,
    layout::neighbours,
    report::{self, Words},
    run::{self, Doubt, Evenness, Level},
    telemetry::{self, Cost, Reading},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use load::{
    Histogram, Outcome, Spec,
    agent::Host,
    histogram::{DIGITS, LOWEST_NS},
    sample::{End, ErrorCount, PartClock, PartUsage, StreamOutcome, Tally},
    spec::{Protocol, Stream},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Version of the JSON form.
const FORMAT: u32 = 3;

/// The result of one load.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Figures {
    /// Version of this form.
    pub(super) format: u32,
    /// Version of Prony.
    pub(super) prony_version: String,
    /// Version of the server, as it introduces itself.
    pub(super) server_version: String,
    /// Address of the server, without password.
    pub(super) server: String,
    /// Seed of everything random.
    pub(super) seed: u64,
    /// Why it ended.
    pub(super) end: Ended,
    /// Length of the measurement interval, seconds. All figures are about it.
    pub(super) interval_s: f64,
    /// The level of the worst doubt. Where it is `invalid`, the exit code is 1.
    pub(super) verdict: Level,
    /// Reasons to doubt these figures.
    pub(super) doubts: Vec<report::Doubt>,
    /// Transactions that ended well, all streams together; here and below, but for the neighbours.
    pub(super) transactions: u64,
    /// Transactions per second.
    pub(super) transactions_per_second: f64,
    /// Statements that ended well.
    pub(super) statements: u64,
    /// Statements per second.
    pub(super) statements_per_second: f64,
    /// All errors.
    pub(super) errors: u64,
    /// Each stream.
    pub(super) streams: Vec<StreamFigures>,
    /// CPU time of Prony in the interval, seconds.
    pub(super) client_cpu_s: f64,
    /// CPU time of Prony for each statement, us.
    pub(super) client_cpu_us_per_statement: f64,
    /// What one transaction costs; null: the server's process is not on this machine.
    pub(super) cost: Option<Cost>,
    /// Share of a processor that each of Prony's threads used, 0 to 1.
    pub(super) client_threads_busy: Vec<f64>,
    /// Peak resident memory of Prony, bytes.
    pub(super) client_memory_bytes_max: u64,
    /// Each process, where several carried the load out (`--processes`, `--agents`, `--kubernetes`).
    pub(super) client_processes: Vec<ProcessFigures>,
    /// How far the begins of these processes lie apart, ms.
    pub(super) start_skew_ms: Option<f64>,
    /// How exactly the clocks of load hosts were known, in the worst case, ms.
    pub(super) clocks_within_ms: Option<f64>,
    /// By how much they drifted meanwhile, in the worst case, ms.
    pub(super) clock_drift_ms: Option<f64>,
    /// How exact the times are.
    pub(super) timing: Timing,
}

/// Why a load with figures ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    /// Its time was over, or its limits were reached.
    Completed,
    /// The user asked for it.
    Interrupted,
}

/// One of several processes, or load hosts, that carried the load out.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProcessFigures {
    /// Which.
    pub(super) name: String,
    /// CPU time in the interval, seconds.
    pub(super) cpu_s: f64,
    /// Threads that offered the load.
    pub(super) threads: u32,
    /// Peak resident memory, bytes.
    pub(super) memory_bytes_max: u64,
    /// How long after the common start its load began, ms.
    pub(super) start_delay_ms: f64,
    /// The load host; null: it is this machine.
    pub(super) host: Option<HostFigures>,
    /// The clock of a load host; null: it is this machine's.
    pub(super) clock: Option<ClockFigures>,
}

/// What a load host is.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HostFigures {
    /// Its name, as it calls itself.
    pub(super) name: String,
    /// Processors that it may use.
    pub(super) processors: u32,
    /// Name and release of its kernel.
    pub(super) kernel: String,
    /// Where its kernel has the time from.
    pub(super) clock_source: String,
    /// What it saw of itself, means over the interval by path; rates per second: `client/cpu_user`,
    /// `machine/cpu_system`, `network/sent_bytes` and others.
    pub(super) saw: BTreeMap<String, f64>,
}

impl HostFigures {
    fn of(host: &Host, saw: BTreeMap<String, f64>) -> Self {
        let Host { name, processors, kernel, clock_source, .. } = host.clone();
        Self { name, processors, kernel, clock_source, saw }
    }
}

/// How the clock of a load host stood to this machine's.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ClockFigures {
    /// How far it was ahead when the load began, ms.
    pub(super) ahead_ms: f64,
    /// How exactly that is known, ms.
    pub(super) uncertainty_ms: f64,
    /// How far it was ahead at the end, ms.
    pub(super) ahead_at_end_ms: f64,
    /// How exactly that is known, ms.
    pub(super) uncertainty_at_end_ms: f64,
}

impl ClockFigures {
    fn of(clock: PartClock) -> Self {
        Self {
            ahead_ms: clock.before.ahead_ns as f64 / 1e6,
            uncertainty_ms: clock.before.uncertainty_ns as f64 / 1e6,
            ahead_at_end_ms: clock.after.ahead_ns as f64 / 1e6,
            uncertainty_at_end_ms: clock.after.uncertainty_ns as f64 / 1e6,
        }
    }
}

impl ProcessFigures {
    fn of(part: &PartUsage, saw: BTreeMap<String, f64>) -> Self {
        Self {
            name: part.name.clone(),
            cpu_s: (part.cpu_user + part.cpu_system).as_secs_f64(),
            threads: part.workers,
            memory_bytes_max: part.memory_bytes_max,
            start_delay_ms: part.start_delay.as_secs_f64() * 1e3,
            host: part.host.as_ref().map(|host| HostFigures::of(host, saw)),
            clock: part.clock.map(ClockFigures::of),
        }
    }
}

/// What a load host saw of itself in the interval.
fn saw(part: &PartUsage, about: &Circumstances<'_>, outcome: &Outcome) -> BTreeMap<String, f64> {
    let from = outcome.warm_up.unwrap_or(about.spec.warm_up);
    let address = part.name.strip_prefix("agent ").unwrap_or(&part.name);
    let begin = telemetry::of_load_host(address, "");
    let paths = about.readings.iter().flat_map(|reading| reading.values.keys());
    let paths: BTreeSet<&str> = paths.filter_map(|path| path.strip_prefix(&*begin)).collect();
    let mean = |what: &str| {
        let value = |reading: &Reading| reading.value(&format!("{begin}{what}"));
        telemetry::mean(about.readings, (from, from + outcome.interval), value)
    };
    paths.into_iter().filter_map(|what| Some((what.to_owned(), mean(what)?))).collect()
}

/// What one transaction costs, all streams together.
fn cost(about: &Circumstances<'_>, outcome: &Outcome, transactions_per_second: f64) -> Option<Cost> {
    let from = about.spec.warm_up;
    let span = (from, from + outcome.interval);
    let cost = Cost::of(&about.readings.iter().cloned().collect(), span, transactions_per_second);
    (cost != Cost::default()).then_some(cost)
}

/// How exact the times are, and what of them is the client's own.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Timing {
    /// Largest relative error of a latency by the histogram's step.
    pub(super) histogram_step: f64,
    /// Shortest time told apart, ns.
    histogram_lowest_ns: u64,
    /// What one reading of the clock costs, ns; each latency takes two.
    pub(super) clock_ns: u64,
    /// How long replies waited for their turn inside Prony; null: not measured.
    pub(super) queueing: Option<LatencyFigures>,
    /// How much later than intended Prony itself sent; null where nothing has a time to keep.
    pub(super) send_delay: Option<LatencyFigures>,
}

/// One stream.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StreamFigures {
    /// Its name.
    pub(super) name: String,
    /// Name of its workload.
    pub(super) workload: String,
    /// How often it did what it is there for; null: it is no neighbour.
    pub(super) neighbour: Option<u64>,
    /// Connections asked for that work.
    pub(super) connections: u32,
    /// Connections asked for that only stay open.
    pub(super) idle: u32,
    /// When transactions start, in words.
    pub(super) arrival: String,
    /// When connections are closed and reopened: `never`, `transaction`, `statement`, or after how many
    /// transactions.
    pub(super) reconnect: String,
    /// `prepared` or `text`.
    pub(super) protocol: String,
    /// How long it was active within the interval, seconds. Its rates are over this time.
    pub(super) active_s: f64,
    /// Whether it reached its limit of transactions or rows; null: it has none.
    pub(super) limit_reached: Option<bool>,
    /// Transactions that ended well.
    pub(super) transactions: u64,
    /// Transactions per second.
    pub(super) transactions_per_second: f64,
    /// Transactions that ended with an error.
    transactions_failed: u64,
    /// Statements that ended well.
    statements: u64,
    /// Statements per second.
    pub(super) statements_per_second: f64,
    /// What became of the schedule; null: the arrival has none.
    pub(super) schedule: Option<report::Schedule>,
    /// Latency of whole transactions.
    pub(super) latency: Latency,
    /// Each kind of statement.
    pub(super) by_statement: Vec<Kind>,
    /// Each transaction of the mix.
    pub(super) by_transaction: Vec<Kind>,
    /// Rows received.
    pub(super) rows: u64,
    /// Rows affected.
    pub(super) rows_affected: u64,
    /// Replies without a row where one was expected.
    pub(super) not_found: u64,
    /// Replies without an affected row where one was expected.
    pub(super) unchanged: u64,
    /// Errors that came after rows of the same result.
    pub(super) cut_short: u64,
    /// All errors.
    pub(super) errors: u64,
    /// Errors by the server's code (2000 to 2999: on the client's side).
    pub(super) errors_by_code: Vec<ErrorFigure>,
    /// Transactions that were rolled back after an error.
    pub(super) rolled_back: u64,
    /// Times without success after something had failed.
    pub(super) outages: Vec<report::Outage>,
    /// Connections that logged in, reconnects included.
    connections_opened: u64,
    /// How connections were opened before the load.
    pub(super) opening: report::Connects,
    /// How they were opened in the interval: by `reconnect`, or because they were lost.
    pub(super) reconnecting: report::Connects,
    /// How the transactions were spread over the connections.
    pub(super) transactions_of_connection: report::Evenness,
    /// Transactions under way when the interval was over.
    pub(super) in_flight_at_end: u32,
    /// Age of the oldest of them, ms.
    pub(super) in_flight_age_max_ms: f64,
}

/// Latency from two beginnings.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Latency {
    /// From the intended start to the last byte of the reply.
    pub(super) response: LatencyFigures,
    /// From the actual send to the last byte of the reply.
    pub(super) service: LatencyFigures,
    /// All response times: HdrHistogram's V2 format with deflate, base64, ns.
    response_histogram: String,
}

/// A distribution of durations, ms.
#[derive(Debug, Serialize, JsonSchema, PartialEq)]
pub(super) struct LatencyFigures {
    pub(super) count: u64,
    pub(super) mean_ms: f64,
    min_ms: f64,
    pub(super) p50_ms: f64,
    p90_ms: f64,
    pub(super) p95_ms: f64,
    pub(super) p99_ms: f64,
    #[serde(rename = "p99.9_ms")]
    pub(super) p99_9_ms: f64,
    pub(super) max_ms: f64,
}

/// One kind of statement, or one transaction of the mix.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) per_second: f64,
    pub(super) errors: u64,
    rows: u64,
    rows_affected: u64,
    not_found: u64,
    unchanged: u64,
    /// Errors that came after rows of the same result.
    cut_short: u64,
    /// From the actual send.
    pub(super) latency: LatencyFigures,
}

/// How often an error came.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorFigure {
    pub(super) code: u16,
    state: String,
    pub(super) count: u64,
    /// The first such message.
    pub(super) message: String,
    /// Time of the first one since the load began, seconds.
    pub(super) first_s: f64,
    /// Time of the last one since the load began, seconds.
    pub(super) last_s: f64,
}

/// What the outcome itself does not know.
pub(super) struct Circumstances<'a> {
    pub(super) server: String,
    pub(super) spec: &'a Spec,
    pub(super) clock: Duration,
    pub(super) doubts: Vec<Doubt>,
    /// What was sampled beside it.
    pub(super) readings: &'a [Reading],
}

impl Figures {
    /// From the engine's outcome.
    pub(super) fn new(outcome: &Outcome, about: &Circumstances<'_>) -> Self {
        let pairs = about.spec.streams.iter().zip(&outcome.streams);
        let streams: Vec<StreamFigures> =
            pairs.map(|(asked, told)| StreamFigures::new(asked, told, outcome.interval)).collect();
        let seconds = outcome.interval.as_secs_f64();
        let measured = || streams.iter().filter(|stream| stream.neighbour.is_none());
        let transactions: u64 = measured().map(|stream| stream.transactions).sum();
        let statements: u64 = measured().map(|stream| stream.statements).sum();
        let client = &outcome.client;
        let cpu = (client.cpu_user + client.cpu_system).as_secs_f64();
        Self {
            format: FORMAT,
            prony_version: env!("CARGO_PKG_VERSION").to_owned(),
            server_version: outcome.server_version.clone(),
            server: about.server.clone(),
            seed: about.spec.seed,
            end: if outcome.end == End::Interrupted { Ended::Interrupted } else { Ended::Completed },
            interval_s: seconds,
            verdict: run::verdict(&about.doubts),
            doubts: about.doubts.iter().map(|doubt| Words::default().doubt(doubt)).collect(),
            transactions,
            transactions_per_second: share(transactions as f64, seconds),
            statements,
            statements_per_second: share(statements as f64, seconds),
            errors: measured().map(|stream| stream.errors).sum(),
            streams,
            client_cpu_s: cpu,
            client_cpu_us_per_statement: share(cpu * 1e6, statements as f64),
            cost: cost(about, outcome, share(transactions as f64, seconds)),
            client_threads_busy: client
                .workers
                .iter()
                .map(|time| share(time.as_secs_f64(), seconds))
                .collect(),
            client_memory_bytes_max: client.memory_bytes_max,
            client_processes: (client.parts.iter())
                .map(|part| ProcessFigures::of(part, saw(part, about, outcome)))
                .collect(),
            start_skew_ms: (!client.parts.is_empty()).then(|| client.start_skew().as_secs_f64() * 1e3),
            clocks_within_ms: client.clocks().map(|(within, _)| within.as_secs_f64() * 1e3),
            clock_drift_ms: client.clocks().map(|(_, drift)| drift.as_secs_f64() * 1e3),
            timing: Timing {
                histogram_step: 0.1_f64.powi(i32::from(DIGITS)),
                histogram_lowest_ns: LOWEST_NS,
                clock_ns: about.clock.as_nanos() as u64,
                queueing: LatencyFigures::of_some(&client.queueing),
                send_delay: LatencyFigures::of_some(&client.send_delay),
            },
        }
    }
}

/// All zeros if nothing ended.
fn spread(transactions: &[u64]) -> report::Evenness {
    let starved = transactions.iter().filter(|&&count| count == 0).count() as u64;
    report::Evenness::of(Evenness::of(transactions).unwrap_or_default(), starved)
}

/// 0 if there is nothing to divide by.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl StreamFigures {
    fn new(asked: &Stream, told: &StreamOutcome, interval: Duration) -> Self {
        let active = told.active_time(interval).as_secs_f64();
        let per_second = |count: u64| share(count as f64, active);
        // only what a script sent tells its verbs
        let is_sent = |tally: &&Tally| asked.workload.script().is_none() || tally.count + tally.errors > 0;
        let kinds = |tallies: &[Tally]| {
            let sent = tallies.iter().filter(is_sent);
            sent.map(|tally| Kind::new(tally, per_second(tally.count))).collect::<Vec<_>>()
        };
        let total = |of: fn(&Tally) -> u64| told.statements.iter().map(of).sum::<u64>();
        let statements = total(|tally| tally.count);
        Self {
            name: told.name.clone(),
            workload: asked.workload.name.clone(),
            neighbour: neighbours::find(&asked.workload.name).map(|neighbour| neighbour.count(told)),
            connections: told.connections,
            idle: told.idle,
            arrival: arrival::describe(&asked.arrival),
            reconnect: arrival::write_connection_mode(asked.connect),
            protocol: if asked.protocol == Protocol::Text { "text" } else { "prepared" }.to_owned(),
            active_s: active,
            limit_reached: told.limit_reached,
            transactions: told.transactions.count,
            transactions_per_second: per_second(told.transactions.count),
            transactions_failed: told.transactions.errors,
            statements,
            statements_per_second: per_second(statements),
            schedule: told.schedule.as_ref().map(|schedule| report::Schedule::of(schedule, active)),
            latency: Latency::new(&told.transactions),
            by_statement: kinds(&told.statements),
            by_transaction: kinds(&told.by_transaction),
            rows: total(|tally| tally.rows),
            rows_affected: total(|tally| tally.affected),
            not_found: total(|tally| tally.not_found),
            unchanged: total(|tally| tally.unchanged),
            cut_short: total(|tally| tally.cut_short),
            errors: told.errors.iter().map(|error| error.count).sum(),
            errors_by_code: told.errors.iter().map(ErrorFigure::new).collect(),
            rolled_back: told.rolled_back,
            outages: told.outages.iter().map(|outage| report::Outage::of(None, outage)).collect(),
            connections_opened: told.connections_opened,
            opening: (&told.opening).into(),
            reconnecting: (&told.reconnecting).into(),
            transactions_of_connection: spread(&told.transactions_by_connection),
            in_flight_at_end: told.in_flight_at_end,
            in_flight_age_max_ms: told.in_flight_age_max.as_secs_f64() * 1e3,
        }
    }
}

impl Latency {
    fn new(tally: &Tally) -> Self {
        Self {
            response: LatencyFigures::of(tally.response()),
            service: LatencyFigures::of(&tally.service),
            response_histogram: STANDARD.encode(tally.response().to_bytes()),
        }
    }
}

impl LatencyFigures {
    fn of(histogram: &Histogram) -> Self {
        let quantile = |share| histogram.quantile_ns(share) as f64 / 1e6;
        Self {
            count: histogram.count(),
            mean_ms: histogram.mean_ns() / 1e6,
            min_ms: histogram.min_ns() as f64 / 1e6,
            p50_ms: quantile(0.5),
            p90_ms: quantile(0.9),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            p99_9_ms: quantile(0.999),
            max_ms: histogram.max_ns() as f64 / 1e6,
        }
    }

    /// `None` for an empty one.
    fn of_some(histogram: &Histogram) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self::of(histogram))
    }
}

impl Kind {
    fn new(tally: &Tally, per_second: f64) -> Self {
        Self {
            name: tally.name.clone(),
            count: tally.count,
            per_second,
            errors: tally.errors,
            rows: tally.rows,
            rows_affected: tally.affected,
            not_found: tally.not_found,
            unchanged: tally.unchanged,
            cut_short: tally.cut_short,
            latency: LatencyFigures::of(&tally.service),
        }
    }
}

impl ErrorFigure {
    fn new(error: &ErrorCount) -> Self {
        Self {
            code: error.code,
            state: error.state.clone(),
            count: error.count,
            message: error.message.clone(),
            first_s: error.first.as_secs_f64(),
            last_s: error.last.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_that_of_the_figures() {
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(Figures)).expect("a schema") + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/load.json");
        if std::env::var_os("PRONY_UPDATE").is_some() {
            std::fs::write(path, &schema).expect("writable");
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == schema, "schemas/load.json is out of date: run `make schemas`");
    }
}
