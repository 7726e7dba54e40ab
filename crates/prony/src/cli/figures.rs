//! What `prony load` prints: as text for people, as one JSON object for programs.

use load::{
    Histogram, Outcome,
    sample::{End, Tally},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{fmt::Write as _, time::Duration};

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// The result of one load.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Figures {
    /// Version of this form.
    format: u32,
    /// Version of Prony.
    prony_version: String,
    /// Name of the workload.
    workload: String,
    /// Version of the server, as it introduces itself.
    server_version: String,
    /// Address of the server, without password.
    server: String,
    /// Connections asked for.
    connections: u32,
    /// `prepared` or `text`.
    protocol: String,
    /// Seed of everything random.
    seed: u64,
    /// `completed` or `interrupted`.
    end: String,
    /// Length of the measurement interval, seconds. All figures are about it.
    interval_s: f64,
    /// Transactions that ended well.
    transactions: u64,
    /// Transactions per second.
    transactions_per_second: f64,
    /// Transactions that ended with an error.
    transactions_failed: u64,
    /// Statements that ended well.
    statements: u64,
    /// Statements per second.
    statements_per_second: f64,
    /// Latency of whole transactions.
    latency: Latency,
    /// Each kind of statement.
    by_statement: Vec<Kind>,
    /// Each transaction of the mix.
    by_transaction: Vec<Kind>,
    /// Rows received.
    rows: u64,
    /// Rows affected.
    rows_affected: u64,
    /// Replies without a row where one was expected.
    not_found: u64,
    /// Replies without an affected row where one was expected.
    unchanged: u64,
    /// All errors.
    errors: u64,
    /// Errors by the server's code (2000 to 2999: on the client's side).
    errors_by_code: Vec<ErrorFigure>,
    /// Transactions that were rolled back after an error.
    rolled_back: u64,
    /// Connections that logged in, reconnects included.
    connections_opened: u64,
    /// Time to open one, TCP and login together.
    connect: LatencyFigures,
    /// Connections that finished no transaction.
    connections_idle: u64,
    /// Transactions of the least and the most busy connection.
    transactions_of_connection: Spread,
    /// Transactions under way when the interval was over.
    in_flight_at_end: u32,
    /// Age of the oldest of them, ms.
    in_flight_age_max_ms: f64,
    /// CPU time of Prony in the interval, seconds.
    client_cpu_s: f64,
    /// CPU time of Prony for each statement, us.
    client_cpu_us_per_statement: f64,
    /// Share of a processor that each of Prony's threads used, 0 to 1.
    client_threads_busy: Vec<f64>,
    /// Peak resident memory of Prony, bytes.
    client_memory_bytes_max: u64,
    /// Reasons to doubt these figures.
    doubts: Vec<String>,
}

/// Latency from two beginnings.
#[derive(Debug, Serialize, JsonSchema)]
struct Latency {
    /// From the intended start to the last byte of the reply.
    response: LatencyFigures,
    /// From the actual send to the last byte of the reply.
    service: LatencyFigures,
}

/// A distribution of durations, ms.
#[derive(Debug, Serialize, JsonSchema)]
struct LatencyFigures {
    mean_ms: f64,
    min_ms: f64,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    #[serde(rename = "p99.9_ms")]
    p99_9_ms: f64,
    max_ms: f64,
}

/// One kind of statement, or one transaction of the mix.
#[derive(Debug, Serialize, JsonSchema)]
struct Kind {
    name: String,
    count: u64,
    per_second: f64,
    errors: u64,
    rows: u64,
    rows_affected: u64,
    not_found: u64,
    unchanged: u64,
    latency: LatencyFigures,
}

/// How often an error came.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorFigure {
    code: u16,
    state: String,
    count: u64,
    /// The first such message.
    message: String,
    /// Time of the first one since the load began, seconds.
    first_s: f64,
    /// Time of the last one since the load began, seconds.
    last_s: f64,
}

/// Least and most.
#[derive(Debug, Serialize, JsonSchema)]
struct Spread {
    min: u64,
    max: u64,
}

/// Version, address and seed: what the outcome itself does not know.
pub(super) struct Circumstances<'a> {
    pub(super) server: String,
    pub(super) stream: &'a load::spec::Stream,
    pub(super) seed: u64,
    pub(super) doubts: Vec<crate::run::Doubt>,
}

impl Figures {
    /// From the engine's outcome of a load with one stream.
    pub(super) fn new(outcome: &Outcome, about: Circumstances<'_>) -> Self {
        let stream = &outcome.streams[0];
        let seconds = outcome.interval.as_secs_f64();
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let total = |of: fn(&Tally) -> u64| stream.statements.iter().map(of).sum::<u64>();
        let statements = total(|tally| tally.count);
        let cpu = (outcome.client.cpu_user + outcome.client.cpu_system).as_secs_f64();
        let busy = |time: &Duration| if seconds > 0.0 { time.as_secs_f64() / seconds } else { 0.0 };
        let of_connection = &stream.transactions_by_connection;
        Self {
            format: FORMAT,
            prony_version: env!("CARGO_PKG_VERSION").to_owned(),
            workload: about.stream.workload.name.clone(),
            server_version: outcome.server_version.clone(),
            server: about.server,
            connections: stream.connections,
            protocol: format!("{:?}", about.stream.protocol).to_lowercase(),
            seed: about.seed,
            end: if outcome.end == End::Completed { "completed" } else { "interrupted" }.to_owned(),
            interval_s: seconds,
            transactions: stream.transactions.count,
            transactions_per_second: rate(stream.transactions.count),
            transactions_failed: stream.transactions.errors,
            statements,
            statements_per_second: rate(statements),
            latency: Latency {
                response: LatencyFigures::of(stream.transactions.response()),
                service: LatencyFigures::of(&stream.transactions.service),
            },
            by_statement: stream.statements.iter().map(|tally| Kind::new(tally, rate(tally.count))).collect(),
            by_transaction: stream
                .by_transaction
                .iter()
                .map(|tally| Kind::new(tally, rate(tally.count)))
                .collect(),
            rows: total(|tally| tally.rows),
            rows_affected: total(|tally| tally.affected),
            not_found: total(|tally| tally.not_found),
            unchanged: total(|tally| tally.unchanged),
            errors: stream.errors.iter().map(|error| error.count).sum(),
            errors_by_code: stream.errors.iter().map(ErrorFigure::new).collect(),
            rolled_back: stream.rolled_back,
            connections_opened: stream.connections_opened,
            connect: LatencyFigures::of(&stream.opening.total),
            connections_idle: of_connection.iter().filter(|&&count| count == 0).count() as u64,
            transactions_of_connection: Spread {
                min: of_connection.iter().copied().min().unwrap_or(0),
                max: of_connection.iter().copied().max().unwrap_or(0),
            },
            in_flight_at_end: stream.in_flight_at_end,
            in_flight_age_max_ms: stream.in_flight_age_max.as_secs_f64() * 1e3,
            client_cpu_s: cpu,
            client_cpu_us_per_statement: if statements > 0 { cpu * 1e6 / statements as f64 } else { 0.0 },
            client_threads_busy: outcome.client.workers.iter().map(busy).collect(),
            client_memory_bytes_max: outcome.client.memory_bytes_max,
            doubts: about.doubts.iter().map(ToString::to_string).collect(),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("writing to memory");
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{} on {} ({})", self.workload, self.server, self.server_version)?;
        writeln!(
            out,
            "{} connections, {}, measured for {:.1} s{}\n",
            self.connections,
            self.protocol,
            self.interval_s,
            if self.end == "completed" { "" } else { " (interrupted)" }
        )?;
        writeln!(
            out,
            "throughput    {:>12.1} transactions/s   {:.1} statements/s",
            self.transactions_per_second, self.statements_per_second
        )?;
        let latency = &self.latency.response;
        writeln!(
            out,
            "latency       mean {:.3} ms   p50 {:.3}   p95 {:.3}   p99 {:.3}   p99.9 {:.3}   max {:.3}",
            latency.mean_ms, latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.p99_9_ms, latency.max_ms
        )?;
        writeln!(
            out,
            "\n{:24} {:>12} {:>10} {:>10} {:>10} {:>10}",
            "statement", "per second", "mean ms", "p95 ms", "p99 ms", "errors"
        )?;
        for kind in &self.by_statement {
            writeln!(
                out,
                "{:24} {:>12.1} {:>10.3} {:>10.3} {:>10.3} {:>10}",
                kind.name,
                kind.per_second,
                kind.latency.mean_ms,
                kind.latency.p95_ms,
                kind.latency.p99_ms,
                kind.errors
            )?;
        }
        writeln!(
            out,
            "\nrows          {} received, {} affected, {} not found, {} unchanged",
            self.rows, self.rows_affected, self.not_found, self.unchanged
        )?;
        if self.errors == 0 {
            writeln!(out, "errors        none")?;
        }
        for error in &self.errors_by_code {
            writeln!(
                out,
                "error {}    {} times, {:.1} s to {:.1} s: {}",
                error.code, error.count, error.first_s, error.last_s, error.message
            )?;
        }
        if self.rolled_back > 0 {
            writeln!(out, "rolled back   {} transactions", self.rolled_back)?;
        }
        writeln!(
            out,
            "connections   {} opened, {:.2} ms each (p99 {:.2})",
            self.connections_opened, self.connect.mean_ms, self.connect.p99_ms
        )?;
        writeln!(
            out,
            "client        {:.2} us of CPU a statement, {:.1} MB",
            self.client_cpu_us_per_statement,
            self.client_memory_bytes_max as f64 / 1e6
        )?;
        for doubt in &self.doubts {
            writeln!(out, "doubtful:     {doubt}")?;
        }
        Ok(())
    }
}

impl LatencyFigures {
    fn of(histogram: &Histogram) -> Self {
        let quantile = |share| histogram.quantile_ns(share) as f64 / 1e6;
        Self {
            mean_ms: histogram.mean_ns() / 1e6,
            min_ms: histogram.min_ns() as f64 / 1e6,
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            p99_9_ms: quantile(0.999),
            max_ms: histogram.max_ns() as f64 / 1e6,
        }
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
            latency: LatencyFigures::of(&tally.service),
        }
    }
}

impl ErrorFigure {
    fn new(error: &load::sample::ErrorCount) -> Self {
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
