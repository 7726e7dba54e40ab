//! Reasons to doubt a trial, found in its own figures. Each says what is wrong, by how much, and what to do.

use crate::telemetry::Reading;
use load::{Outcome, sample::StreamOutcome};

/// Share of one processor above which a worker of the engine is near its limit.
const WORKER_BUSY: f64 = 0.85;
/// Share of transactions that may fail before it is worth a word.
const ERROR_SHARE: f64 = 0.001;
/// Largest gap in Little's law: connections = throughput x time. A larger one means time that nobody accounts for.
const LITTLE_GAP: f64 = 0.05;
/// Transactions of each connection below which Little's law says nothing, because those under way at the ends weigh too much.
const LITTLE_TRANSACTIONS: f64 = 20.0;
/// Processors taken by a hypervisor, on average, above which neighbours disturb.
const STEAL: f64 = 0.1;

/// What makes the figures of a trial doubtful; empty: nothing.
#[must_use]
pub fn doubts(outcome: &Outcome, readings: &[Reading]) -> Vec<String> {
    let mut doubts = Vec::new();
    for stream in &outcome.streams {
        doubts.extend(of_stream(stream, outcome.interval.as_secs_f64()));
    }
    let interval = outcome.interval.as_secs_f64().max(f64::MIN_POSITIVE);
    let busiest = outcome.client.workers.iter().map(|time| time.as_secs_f64() / interval).fold(0.0, f64::max);
    if busiest > WORKER_BUSY {
        doubts.push(format!(
            "Prony itself is near its limit: its busiest thread used {:.0} % of a processor; run it on another machine or \
             give it more processors",
            busiest * 100.0
        ));
    }
    let steal = readings.iter().map(|reading| reading.cpu_steal).sum::<f64>() / readings.len().max(1) as f64;
    if steal > STEAL {
        doubts.push(format!(
            "neighbours on the physical machine took {steal:.2} processors away; repeat at a quieter time"
        ));
    }
    doubts
}

fn of_stream(stream: &StreamOutcome, interval: f64) -> Vec<String> {
    let mut doubts = Vec::new();
    let tally = &stream.transactions;
    if tally.count == 0 {
        doubts
            .push(format!("stream {} finished no transaction in the interval; make it longer", stream.name));
        return doubts;
    }
    let share = tally.errors as f64 / (tally.count + tally.errors) as f64;
    if share > ERROR_SHARE {
        let codes: Vec<String> = stream
            .errors
            .iter()
            .take(3)
            .map(|error| format!("{} x {}", error.count, error.message))
            .collect();
        doubts.push(format!("{:.1} % of transactions failed: {}", share * 100.0, codes.join("; ")));
    }
    let starved = stream.transactions_by_connection.iter().filter(|&&count| count == 0).count();
    if starved > 0 {
        doubts.push(format!(
            "{starved} of {} connections finished nothing in the interval: the server starves them, or the interval is \
             too short",
            stream.connections
        ));
    }
    let in_flight = tally.count as f64 / interval * tally.service.mean_ns() / 1e9;
    let gap = in_flight / f64::from(stream.connections) - 1.0;
    let enough = tally.count as f64 > LITTLE_TRANSACTIONS * f64::from(stream.connections);
    if enough && starved == 0 && share <= ERROR_SHARE && gap.abs() > LITTLE_GAP {
        doubts.push(format!(
            "Little's law is off by {:.0} %: throughput x response time gives {in_flight:.1} for {} connections; the client \
             itself takes the rest",
            gap * 100.0,
            stream.connections
        ));
    }
    doubts
}
