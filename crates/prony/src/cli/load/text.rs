//! The figures of a load as text for people.

use super::figures::{Ended, Figures, Kind, LatencyFigures, ProcessFigures, StreamFigures};
use crate::{layout::neighbours, report::Connects};
use std::{
    collections::BTreeMap,
    fmt::{Result, Write},
};

/// The whole text.
pub(super) fn text(figures: &Figures) -> String {
    let mut out = String::new();
    write(figures, &mut out).expect("writing to memory");
    out
}

fn write(figures: &Figures, out: &mut String) -> Result {
    let interrupted = if figures.end == Ended::Completed { "" } else { " (interrupted)" };
    writeln!(
        out,
        "{} ({}), measured for {:.1} s{interrupted}, seed {}",
        figures.server, figures.server_version, figures.interval_s, figures.seed
    )?;
    for stream in &figures.streams {
        writeln!(out)?;
        if figures.streams.len() > 1 {
            writeln!(out, "stream {}", stream.name)?;
        }
        write_stream(stream, out)?;
    }
    write_client(figures, out)?;
    write_cost(figures, out)?;
    writeln!(out, "verdict       {}", figures.verdict.name())?;
    for doubt in &figures.doubts {
        writeln!(out, "  {:12}{}", doubt.level.name(), doubt.text)?;
    }
    Ok(())
}

fn write_stream(stream: &StreamFigures, out: &mut String) -> Result {
    let idle = if stream.idle > 0 { format!(" and {} idle", stream.idle) } else { String::new() };
    let reconnect = match stream.reconnect.as_str() {
        "never" => String::new(),
        "transaction" | "statement" => format!(", a new connection for each {}", stream.reconnect),
        count => format!(", a new connection after {count} transactions"),
    };
    writeln!(
        out,
        "{}, {} connections{idle}, {}, {}{reconnect}",
        stream.workload, stream.connections, stream.arrival, stream.protocol
    )?;
    writeln!(
        out,
        "\nthroughput    {:>12.1} transactions/s   {:.1} statements/s",
        stream.transactions_per_second, stream.statements_per_second
    )?;
    if let Some(count) = stream.neighbour {
        writeln!(out, "neighbour     {count} {}", neighbours::counted(&stream.workload))?;
    }
    if let Some(reached) = stream.limit_reached {
        let what = if reached { "reached" } else { "NOT reached" };
        writeln!(
            out,
            "limit         {what} after {:.3} s: {} transactions",
            stream.active_s, stream.transactions
        )?;
    }
    if let Some(schedule) = &stream.schedule {
        writeln!(
            out,
            "offered       {:>12.1} starts/s, started {:.1}; {} late, {} skipped, {} not sent at the end; \
             delay p50 {:.3} ms, p99 {:.3}",
            schedule.offered_per_second,
            schedule.started_per_second,
            schedule.late,
            schedule.skipped,
            schedule.never_sent,
            figure(&schedule.delay_ms, "p50"),
            figure(&schedule.delay_ms, "p99")
        )?;
    }
    let latency = &stream.latency;
    if latency.service == latency.response {
        write_latency("latency", &latency.response, out)?;
    } else {
        write_latency("response time", &latency.response, out)?;
        write_latency("service time", &latency.service, out)?;
    }
    write_kinds("statement", &stream.by_statement, out)?;
    if stream.by_transaction.len() > 1 {
        write_kinds("transaction", &stream.by_transaction, out)?;
    }
    write_replies(stream, out)?;
    write_connections(stream, out)
}

fn write_latency(name: &str, latency: &LatencyFigures, out: &mut String) -> Result {
    writeln!(
        out,
        "{name:13} mean {:.3} ms   p50 {:.3}   p95 {:.3}   p99 {:.3}   p99.9 {:.3}   max {:.3}",
        latency.mean_ms, latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.p99_9_ms, latency.max_ms
    )
}

fn write_kinds(name: &str, kinds: &[Kind], out: &mut String) -> Result {
    writeln!(
        out,
        "\n{name:24} {:>12} {:>10} {:>10} {:>10} {:>10}",
        "per second", "mean ms", "p95 ms", "p99 ms", "errors"
    )?;
    for kind in kinds {
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
    Ok(())
}

fn write_replies(stream: &StreamFigures, out: &mut String) -> Result {
    writeln!(
        out,
        "\nrows          {} received, {} affected, {} not found, {} unchanged, {} results cut short",
        stream.rows, stream.rows_affected, stream.not_found, stream.unchanged, stream.cut_short
    )?;
    if stream.errors == 0 {
        writeln!(out, "errors        none")?;
    }
    for error in &stream.errors_by_code {
        writeln!(
            out,
            "error {}    {} times, {:.1} s to {:.1} s: {}",
            error.code, error.count, error.first_s, error.last_s, error.message
        )?;
    }
    if stream.rolled_back > 0 {
        writeln!(out, "rolled back   {} transactions", stream.rolled_back)?;
    }
    for outage in &stream.outages {
        let length = outage.until_s - outage.from_s;
        let end = if outage.recovered { "then it came back" } else { "to the end" };
        writeln!(out, "outage        no success for {length:.3} s from {:.1} s on, {end}", outage.from_s)?;
    }
    writeln!(
        out,
        "in flight     {} transactions at the end, the oldest for {:.1} ms",
        stream.in_flight_at_end, stream.in_flight_age_max_ms
    )
}

fn write_connections(stream: &StreamFigures, out: &mut String) -> Result {
    write_connects("opening", &stream.opening, out)?;
    if stream.reconnecting.opened + stream.reconnecting.failed > 0 {
        write_connects("reconnecting", &stream.reconnecting, out)?;
    }
    let spread = &stream.transactions_of_connection;
    if stream.connections > 1 {
        writeln!(
            out,
            "fairness      {} to {} transactions a connection, median {}, variation {:.1} %, {} starved",
            spread.min,
            spread.max,
            spread.median,
            spread.variation * 100.0,
            spread.starved
        )?;
    }
    Ok(())
}

/// One value of a distribution; 0 if it is empty.
fn figure(latencies: &BTreeMap<String, f64>, name: &str) -> f64 {
    latencies.get(name).copied().unwrap_or_default()
}

fn write_connects(name: &str, connects: &Connects, out: &mut String) -> Result {
    write!(out, "{name:13} {} connections", connects.opened)?;
    if connects.failed > 0 {
        write!(out, ", {} attempts failed", connects.failed)?;
    }
    let total = &connects.total_ms;
    if total.is_empty() {
        return writeln!(out);
    }
    write!(out, ", {:.3} ms each (p99 {:.3})", figure(total, "mean"), figure(total, "p99"))?;
    let parts = [
        ("TCP", &connects.tcp_ms),
        ("TLS", &connects.tls_ms),
        ("login", &connects.login_ms),
        ("then first reply", &connects.first_reply_ms),
    ];
    let parts: Vec<String> =
        parts.iter().filter_map(|(name, part)| Some(format!("{name} {:.3}", part.get("mean")?))).collect();
    if parts.is_empty() { writeln!(out) } else { writeln!(out, ": {}", parts.join(", ")) }
}

fn write_cost(figures: &Figures, out: &mut String) -> Result {
    let Some(cost) = &figures.cost else { return Ok(()) };
    let switches =
        if cost.context_switches_at_most { "context switches at most" } else { "context switches" };
    let parts = [
        ("us of CPU of the server", cost.server_cpu_us, 1),
        ("us of Prony's", cost.client_cpu_us, 1),
        (switches, cost.context_switches, 2),
        ("disk reads", cost.reads, 3),
        ("kB written", cost.written_kb, 2),
        ("log syncs", cost.log_syncs, 3),
    ];
    let known: Vec<String> = parts
        .iter()
        .filter_map(|(unit, value, digits)| Some(format!("{:.*} {unit}", *digits, (*value)?)))
        .collect();
    writeln!(out, "a transaction {}", known.join(", "))
}

/// What a load host saw of itself, if it is one.
fn write_load_host(part: &ProcessFigures, out: &mut String) -> Result {
    let Some(host) = &part.host else { return Ok(()) };
    let saw = |what: &str| host.saw.get(what).copied();
    let cpu = |whose: &str| Some(saw(&format!("{whose}/cpu_user"))? + saw(&format!("{whose}/cpu_system"))?);
    let again = saw("network/retransmits").zip(saw("network/segments"));
    let parts = [
        (cpu("machine"), 2, format!("of {} CPUs busy", host.processors)),
        (cpu("client"), 2, "of these for the load".to_owned()),
        (saw("client/waiting").map(|share| share * 1e3), 0, "ms/s waiting for a CPU".to_owned()),
        (saw("network/received_bytes").map(|bytes| bytes / 1e6), 1, "MB/s received".to_owned()),
        (saw("network/sent_bytes").map(|bytes| bytes / 1e6), 1, "MB/s sent".to_owned()),
        (again.map(|(again, all)| again / all.max(1.0) * 100.0), 2, "% sent again".to_owned()),
        (saw("machine/memory_available_bytes").map(|bytes| bytes / 1e9), 1, "GB of memory left".to_owned()),
    ];
    let known = parts.into_iter().filter_map(|(value, digits, unit)| {
        let value = value?;
        Some(format!("{value:.digits$} {unit}"))
    });
    let known: Vec<String> = known.collect();
    if known.is_empty() { Ok(()) } else { writeln!(out, "              {}: {}", part.name, known.join(", ")) }
}

fn write_client(figures: &Figures, out: &mut String) -> Result {
    let busiest = figures.client_threads_busy.iter().copied().fold(0.0, f64::max);
    writeln!(
        out,
        "\nclient        {:.2} us of CPU a statement, {}, {:.1} MB",
        figures.client_cpu_us_per_statement,
        match figures.client_threads_busy.len() {
            1 => format!("1 thread, {:.0} % busy", busiest * 100.0),
            count => format!("{count} threads, the busiest {:.0} %", busiest * 100.0),
        },
        figures.client_memory_bytes_max as f64 / 1e6
    )?;
    if let Some(skew) = figures.start_skew_ms {
        let what = if figures.clocks_within_ms.is_some() { "on {} load hosts" } else { "in {} processes" };
        let what = what.replace("{}", &figures.client_processes.len().to_string());
        writeln!(out, "              {what}, which began within {skew:.2} ms of each other")?;
    }
    if let Some((within, drift)) = figures.clocks_within_ms.zip(figures.clock_drift_ms) {
        writeln!(
            out,
            "              their clocks are known to within {within:.2} ms; they drifted by {drift:.2} ms"
        )?;
    }
    for part in &figures.client_processes {
        write_load_host(part, out)?;
    }
    let timing = &figures.timing;
    write!(
        out,
        "timing        histogram step {:.1} %, clock {} ns",
        timing.histogram_step * 100.0,
        timing.clock_ns
    )?;
    for (name, delay) in [("queueing", &timing.queueing), ("send delay", &timing.send_delay)] {
        if let Some(delay) = delay {
            write!(out, ", {name} {:.3} ms (p99 {:.3})", delay.mean_ms, delay.p99_ms)?;
        }
    }
    writeln!(out)
}
