//! How far this machine's load engine is from its limits. It is measured against the null server, which
//! answers at once and runs in a process of its own, so that what it uses is not counted as the engine's. It
//! knows no study and no real server.

mod server;

pub use server::NullProcess;

use crate::{arrival, run, telemetry::Machine, workload};
use load::{
    Histogram, Loader, Outcome, Spec, Stop,
    histogram::DIGITS,
    sample::{Broken, End},
    spec::{Address, Arrival, Gaps, Rate, Stream, Target, Tls},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

/// Version of the JSON form.
const FORMAT: u32 = 1;
/// Connections at which the engine is measured.
const CONNECTIONS: [u32; 5] = [1, 8, 64, 512, 2048];
/// Starts per second at which its timers are measured, and with how many connections.
const RATES: [f64; 3] = [100.0, 1_000.0, 10_000.0];
const CONNECTIONS_OF_RATES: u32 = 64;
/// Load before each measurement.
const WARM_UP: Duration = Duration::from_millis(300);
/// Share of the processors up to which the engine counts as far from its limit; above it queues grow.
const USABLE: f64 = 0.7;
/// Connections for each processor from which on the engine's threads find work whenever they look.
const BUSY_CONNECTIONS: u32 = 4;
/// The sleep whose overshoot is the kernel's scheduling delay, and how often.
const SLEEP: Duration = Duration::from_micros(100);
const SLEEPS: u32 = 2_000;
/// Files of this process beside the connections.
const OTHER_FILES: u64 = 64;

/// Why a calibration could not be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The null server's process.
    #[error("cannot start the null server in a separate process: {0}")]
    Server(#[from] std::io::Error),
    /// The engine.
    #[error("the load on the null server did not start: {0}")]
    Load(#[from] load::Error),
    /// The load ended early.
    #[error("the load on the null server failed: {0}")]
    Broken(Broken),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// What this machine's engine can do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Calibration {
    /// Version of this form.
    pub format: u32,
    /// Version of Prony.
    pub prony_version: String,
    /// Processor's name.
    pub cpu_model: String,
    /// Processors that Prony may use.
    pub cpus: u32,
    /// Kernel.
    pub kernel: String,
    /// Closed loops of point selects on the null server, which shares the processors.
    pub throughput: Vec<Throughput>,
    /// Numbers of connections that were left out for lack of open files.
    pub left_out: Vec<u32>,
    /// Statements per second that the engine could do with all processors to itself: up to here, it is not
    /// the limit.
    pub statements_per_second_max: f64,
    /// Processors that the engine needs for 100,000 statements in a second.
    pub processors_for_100k: f64,
    /// Open loops: how exactly it sends.
    pub send_delay: Vec<SendDelay>,
    /// How much longer than asked a sleep of 100 us takes: what the kernel's timers and scheduler add.
    pub scheduling_delay: Delay,
    /// What one reading of the clock costs, ns.
    pub clock_ns: u64,
    /// Largest relative error of a latency by the histogram's step.
    pub histogram_step: f64,
}

/// A closed loop of so many connections.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Throughput {
    /// Connections.
    pub connections: u32,
    /// Statements in a second, with the null server on the same processors.
    pub statements_per_second: f64,
    /// CPU time of Prony for each, us.
    pub cpu_us_per_statement: f64,
    /// Share of a processor that its busiest thread used.
    pub thread_busy_max: f64,
    /// Peak resident memory of Prony so far, bytes.
    pub memory_bytes_max: u64,
}

/// An open loop at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SendDelay {
    /// Starts offered in a second.
    pub offered_per_second: f64,
    /// Starts that happened in a second.
    pub started_per_second: f64,
    /// From when a transaction was due and had a connection to when it was sent.
    pub delay: Delay,
}

/// A distribution of delays, us.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Delay {
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Longest.
    pub max_us: f64,
}

impl Delay {
    fn of(histogram: &Histogram) -> Self {
        let quantile = |share| histogram.quantile_ns(share) as f64 / 1e3;
        Self { p50_us: quantile(0.5), p99_us: quantile(0.99), max_us: histogram.max_ns() as f64 / 1e3 }
    }
}

/// Measures `loader` for `each` at every point. `open_files` bounds the connections; `tell` gets what is
/// being measured and how much time is left.
///
/// # Errors
/// Where the engine cannot be measured, or `stop` was pulled.
pub fn calibrate(
    (server, loader): (&NullProcess, &dyn Loader),
    each: Duration,
    open_files: u64,
    stop: &Stop,
    tell: &mut dyn FnMut(&str, Duration),
) -> Result<Calibration, Error> {
    let machine = Machine::of_this_host();
    let fits = |connections: &u32| u64::from(*connections) + OTHER_FILES <= open_files;
    let (possible, left_out): (Vec<u32>, Vec<u32>) = CONNECTIONS.into_iter().partition(fits);
    let mut loads_left = (possible.len() + RATES.len()) as u32;
    let mut next = |what: &str| {
        tell(what, (each + WARM_UP) * loads_left);
        loads_left -= 1;
    };
    let offer = |connections, arrival| offer((server.address(), loader), connections, arrival, each, stop);
    let mut throughput = Vec::new();
    for connections in possible {
        next(&format!("closed loop of {connections} connections"));
        throughput.push(Throughput::of(connections, &offer(connections, Arrival::Closed)?));
    }
    let mut send_delay = Vec::new();
    for rate in RATES {
        next(&format!("open loop at {}", arrival::write_rate(&Rate::Constant(rate))));
        let arrival = Arrival::Open { rate: Rate::Constant(rate), gaps: Gaps::Constant, lateness_max: None };
        send_delay.push(SendDelay::of(rate, &offer(CONNECTIONS_OF_RATES, arrival)?));
    }
    let dearest = dearest(&throughput, machine.cpus);
    Ok(Calibration {
        format: FORMAT,
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        cpu_model: machine.cpu_model,
        cpus: machine.cpus,
        kernel: machine.kernel,
        throughput,
        left_out,
        statements_per_second_max: USABLE * f64::from(machine.cpus) * 1e6 / dearest.max(f64::MIN_POSITIVE),
        processors_for_100k: dearest / 10.0,
        send_delay,
        scheduling_delay: scheduling_delay(),
        clock_ns: run::clock_cost().as_nanos() as u64,
        histogram_step: 0.1_f64.powi(i32::from(DIGITS)),
    })
}

/// What a statement costs where the engine is busy, us of CPU: the highest of the rungs with several
/// connections per worker. With fewer, a worker goes to sleep before each reply and pays for waking up; at
/// its limit it never sleeps.
fn dearest(throughput: &[Throughput], cpus: u32) -> f64 {
    let is_busy = |point: &&Throughput| point.connections >= BUSY_CONNECTIONS * cpus;
    let cost = |point: &Throughput| point.cpu_us_per_statement;
    let busy = throughput.iter().filter(is_busy).map(cost).fold(0.0, f64::max);
    if busy > 0.0 { busy } else { throughput.iter().map(cost).fold(0.0, f64::max) }
}

fn offer(
    (address, loader): (SocketAddr, &dyn Loader),
    connections: u32,
    arrival: Arrival,
    each: Duration,
    stop: &Stop,
) -> Result<Outcome, Error> {
    let target = Target {
        address: Address::Tcp { host: address.ip().to_string(), port: address.port() },
        user: "calibrate".to_owned(),
        password: Default::default(),
        database: None,
        tls: Tls::default(),
        trust: Default::default(),
        compress: false,
    };
    let workload = workload::builtin("oltp_point_select", &workload::Options::default())
        .expect("a built-in workload with its defaults");
    let stream = Stream { arrival, ..Stream::new("main", workload, connections) };
    let outcome = loader.run(&Spec::new(target, vec![stream], WARM_UP, each), stop, &mut |_| ());
    match outcome {
        Err(load::Error::Interrupted) => Err(Error::Interrupted),
        Err(error) => Err(error.into()),
        Ok(outcome) => match &outcome.end {
            End::Completed => Ok(outcome),
            End::Interrupted => Err(Error::Interrupted),
            End::Failed(broken) => Err(Error::Broken(broken.clone())),
        },
    }
}

impl Throughput {
    fn of(connections: u32, outcome: &Outcome) -> Self {
        let seconds = outcome.interval.as_secs_f64();
        let statements = outcome.streams[0].statements.iter().map(|tally| tally.count).sum::<u64>() as f64;
        let cpu = (outcome.client.cpu_user + outcome.client.cpu_system).as_secs_f64();
        let busiest = outcome.client.workers.iter().max().copied().unwrap_or_default();
        Self {
            connections,
            statements_per_second: statements / seconds,
            cpu_us_per_statement: cpu * 1e6 / statements.max(1.0),
            thread_busy_max: busiest.as_secs_f64() / seconds,
            memory_bytes_max: outcome.client.memory_bytes_max,
        }
    }
}

impl SendDelay {
    fn of(offered_per_second: f64, outcome: &Outcome) -> Self {
        let started = outcome.streams[0].schedule.as_ref().map_or(0, |schedule| schedule.started);
        Self {
            offered_per_second,
            started_per_second: started as f64 / outcome.interval.as_secs_f64(),
            delay: Delay::of(&outcome.client.send_delay),
        }
    }
}

fn scheduling_delay() -> Delay {
    let mut histogram = Histogram::new();
    for _ in 0..SLEEPS {
        let begun = Instant::now();
        thread::sleep(SLEEP);
        histogram.record_ns(begun.elapsed().saturating_sub(SLEEP).as_nanos() as u64);
    }
    Delay::of(&histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_that_of_the_result() {
        let schema =
            serde_json::to_string_pretty(&schemars::schema_for!(Calibration)).expect("a schema") + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/calibrate.json");
        if std::env::var_os("PRONY_UPDATE").is_some() {
            std::fs::write(path, &schema).expect("writable");
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == schema, "schemas/calibrate.json is out of date: run `make schemas`");
    }

    #[test]
    fn what_waking_costs_is_not_taken_for_what_a_statement_costs() {
        let point = |connections, cpu_us_per_statement| Throughput {
            connections,
            statements_per_second: 1e5,
            cpu_us_per_statement,
            thread_busy_max: 0.5,
            memory_bytes_max: 0,
        };
        let measured = [point(1, 146.0), point(8, 10.8), point(64, 9.9), point(512, 13.2)];
        assert!((dearest(&measured, 2) - 13.2).abs() < 1e-9);
        // where there are too few open files for more, the little that is known must do
        assert!((dearest(&measured[..2], 64) - 146.0).abs() < 1e-9);
    }

    #[test]
    fn a_sleep_takes_longer_than_asked() {
        let delay = scheduling_delay();
        assert!(delay.p50_us > 0.0 && delay.p50_us <= delay.p99_us && delay.p99_us <= delay.max_us);
    }
}
