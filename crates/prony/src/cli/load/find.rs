//! `prony load --find-rate`: offers loads at the rates that the search asks for, and says what it found.

use super::{LoadOptions, live::Live, offer};
use crate::{
    cli::failure::Failure,
    provision::target,
    report::number,
    run,
    search::{self, Bounds, Ending, Objective, Objectives, Observation, Outlook, Probe, Purpose, Report},
};
use load::{
    Outcome, Spec, Stop,
    sample::{End, StreamOutcome},
    spec::{Arrival, Rate},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// Version of the JSON form.
const FORMAT: u32 = 1;
/// Lowest rate worth searching, starts in a second.
const LOWEST: f64 = 1.0;
/// Multiple of what a closed loop reached where the search begins, and where it gives up: an open loop with the same
/// connections cannot do more.
const FIRST: f64 = 0.7;
const HIGHEST: f64 = 1.5;
/// The closed loop before the search, and each short load: this share of a long one, and so long at least.
const SHORT_SHARE: f64 = 0.3;
const SHORT_MIN: Duration = Duration::from_secs(2);
/// What may be missing at the end of a load that is kept up with: standard deviations of a Poisson count, and a share.
const SHORT_CHANCE: f64 = 3.0;
const SHORT_SHARE_MISSING: f64 = 0.02;
/// Share of the closed loop's rate above which more connections may bear more: below it they were not all needed.
const CONNECTIONS_BOUND: f64 = 0.8;

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    /// Version of this form.
    format: u32,
    /// Version of Prony.
    prony_version: String,
    /// Version of the server, as it introduces itself.
    server_version: String,
    /// Address of the server, without password.
    server: String,
    /// Name of the workload.
    workload: String,
    /// Connections that shared the starts.
    connections: u32,
    /// What was to be kept.
    objective: String,
    /// `found`, `nothing_keeps` (even the lowest rate breaks it), `nothing_breaks` (not even the highest rate that the
    /// connections can offer), `unsteady` (noise), `interrupted`.
    ending: String,
    /// The highest rate that kept the objective in every confirming load, transactions per second.
    rate_per_second: Option<f64>,
    /// The rate just above that broke it, transactions per second.
    broken_at_per_second: Option<f64>,
    /// What a closed loop of the same connections reached, transactions per second.
    closed_loop_per_second: f64,
    /// Whether the client was at its limit where the objective broke: then this is not the server's limit.
    client_limited: bool,
    /// Whether the wait for a free connection broke it: then more connections may bear more.
    connections_limited: bool,
    /// Every load, in order.
    probes: Vec<ProbeFigure>,
}

/// One load of a search.
#[derive(Debug, Serialize, JsonSchema)]
struct ProbeFigure {
    /// `bracket`, `narrow`, `confirm` or `above`.
    purpose: String,
    /// Starts offered in a second.
    offered_per_second: f64,
    /// Transactions that ended well in a second.
    achieved_per_second: f64,
    /// Length of the measurement, seconds.
    interval_s: f64,
    /// What each objective compares, in ms or, for errors, as a share of 1.
    values: Vec<f64>,
    /// Whether all were kept.
    kept: bool,
    /// Whether more was offered than could start.
    overloaded: bool,
    /// Whether the client was at its limit.
    client_limited: bool,
    /// Stable names of the reasons to doubt this load.
    doubts: Vec<String>,
}

#[expect(clippy::print_stdout, reason = "the command's result")]
pub(super) fn find(options: &LoadOptions, spec: &Spec, stop: &Stop) -> Result<(), Failure> {
    let objectives = Objectives::join(&options.find.objective);
    let mut finder = Finder {
        options,
        stop,
        objectives: &objectives,
        spec,
        clock: run::clock_cost(),
        probes: Vec::new(),
        version: String::new(),
    };
    let closed_loop = finder.closed_loop()?;
    let bounds =
        Bounds { first: FIRST * closed_loop, lowest: LOWEST, highest: (HIGHEST * closed_loop).max(LOWEST) };
    let report = search::search(bounds, &objectives, &mut |probe, outlook| finder.probe(probe, outlook))?;
    let found = finder.found(&report, closed_loop);
    if options.json {
        println!("{}", serde_json::to_string_pretty(&found).expect("figures are JSON"));
    } else {
        print!("{}", text(&found, &report, &objectives));
    }
    match report.ending {
        Ending::Found { .. } | Ending::NothingBreaks { .. } => Ok(()),
        Ending::NothingKeeps { .. } | Ending::Unsteady { .. } => {
            Err(Failure::failed(format!("no rate was found that keeps {objectives}")))
        }
    }
}

/// Carries out the loads of a search.
struct Finder<'a> {
    options: &'a LoadOptions,
    stop: &'a Stop,
    objectives: &'a Objectives,
    spec: &'a Spec,
    clock: Duration,
    probes: Vec<ProbeFigure>,
    version: String,
}

impl Finder<'_> {
    fn short(&self) -> Duration {
        self.spec.interval.mul_f64(SHORT_SHARE).max(SHORT_MIN).min(self.spec.interval)
    }

    /// Transactions per second of a closed loop: what the search begins from.
    fn closed_loop(&mut self) -> Result<f64, Failure> {
        let mut spec = Spec { interval: self.short(), ..self.spec.clone() };
        spec.streams[0].arrival = Arrival::Closed;
        let outcome = self.offer(&spec, "closed loop: ".to_owned())?;
        let rate = outcome.streams[0].transactions.count as f64 / outcome.interval.as_secs_f64();
        self.version = outcome.server_version;
        if rate <= 0.0 {
            return Err(Failure::failed(
                "the server finished nothing in a closed loop: there is no rate to search",
            ));
        }
        Ok(rate)
    }

    fn offer(&self, spec: &Spec, title: String) -> Result<Outcome, Failure> {
        let names = [spec.streams[0].name.clone()];
        let mut live = Live::new(Some(spec.warm_up + spec.interval), &names).titled(title);
        let outcome = offer(self.options, spec, self.stop, &mut live, &mut || ())?;
        if outcome.end == End::Interrupted {
            return Err(Failure::interrupted("interrupted: the search was not finished"));
        }
        Ok(outcome)
    }

    /// One load at a rate, long enough for the rarest quantile where that is possible.
    fn probe(&mut self, probe: Probe, outlook: Outlook) -> Result<Observation, Failure> {
        let long = matches!(probe.purpose, Purpose::Confirm | Purpose::Above);
        let (short, whole) = (self.short(), self.spec.interval);
        let needed = self.objectives.transactions_needed() / probe.rate;
        let enough = Duration::try_from_secs_f64(needed).unwrap_or(whole).clamp(short, whole);
        let interval = if long { whole } else { enough };
        let mut spec = Spec { interval, ..self.spec.clone() };
        if let Arrival::Open { rate, .. } = &mut spec.streams[0].arrival {
            *rate = Rate::Constant(probe.rate);
        }
        let warm_up = self.spec.warm_up;
        let left =
            (enough + warm_up) * outlook.short_left as u32 + (whole + warm_up) * outlook.long_left as u32;
        let outcome = self.offer(&spec, title(probe, outlook, left))?;
        let (observation, figure) = self.observe(probe, &spec, &outcome);
        self.tell(&figure, &observation);
        self.probes.push(figure);
        Ok(observation)
    }

    fn observe(&self, probe: Probe, spec: &Spec, outcome: &Outcome) -> (Observation, ProbeFigure) {
        let told = &outcome.streams[0];
        let doubts = run::doubts(spec, outcome, &[], self.clock);
        let ids: Vec<&str> = doubts.iter().map(run::Doubt::id).collect();
        let values: Vec<f64> = self.objectives.iter().map(|objective| objective.measure(told)).collect();
        let overloaded = ids.contains(&"overloaded") || falls_short(told);
        let client_limited = doubts.iter().any(is_client_limit);
        let breaks = |objective: &Objective| objective.measure(told) >= objective.limit();
        let kept = !overloaded && !self.objectives.iter().any(breaks);
        // every latency that is broken would be kept if it did not count from when the transaction was due
        let waited = !kept
            && self
                .objectives
                .iter()
                .filter(|objective| breaks(objective))
                .all(|objective| objective.of_service().is_some_and(|service| !breaks(&service)));
        let figure = ProbeFigure {
            purpose: format!("{:?}", probe.purpose).to_lowercase(),
            offered_per_second: probe.rate,
            achieved_per_second: told.transactions.count as f64 / outcome.interval.as_secs_f64(),
            interval_s: outcome.interval.as_secs_f64(),
            values: self
                .objectives
                .iter()
                .zip(&values)
                .map(|(objective, value)| if objective.is_time() { value * 1e3 } else { *value })
                .collect(),
            kept,
            overloaded,
            client_limited,
            doubts: ids.iter().map(|id| (*id).to_owned()).collect(),
        };
        (Observation { values, overloaded, client_limited, waited }, figure)
    }

    /// A line for each load that is over: a search takes minutes, and what it does should be seen.
    #[expect(clippy::print_stderr, reason = "progress is printed here")]
    fn tell(&self, figure: &ProbeFigure, observation: &Observation) {
        let values = self.objectives.iter().zip(&observation.values);
        let values: Vec<String> = values
            .map(|(objective, value)| format!("{} {}", objective.name(), objective.show(*value)))
            .collect();
        let result = match (figure.kept, figure.overloaded) {
            (true, _) => "kept",
            (_, true) => "BROKEN (overloaded)",
            _ => "BROKEN",
        };
        eprintln!(
            "{:8} {:>9}/s for {:>4.1} s   {}   {result}{}",
            figure.purpose,
            number::count(figure.offered_per_second.round() as u64),
            figure.interval_s,
            values.join(", "),
            if figure.client_limited { ", Prony itself was near its limit" } else { "" }
        );
    }

    fn found(&mut self, report: &Report, closed_loop_per_second: f64) -> Found {
        let (ending, rate_per_second, broken_at_per_second) = match report.ending {
            Ending::Found { rate, above } => ("found", Some(rate), Some(above)),
            Ending::NothingKeeps { lowest } => ("nothing_keeps", None, Some(lowest)),
            Ending::NothingBreaks { highest } => ("nothing_breaks", Some(highest), None),
            Ending::Unsteady { rate } => ("unsteady", Some(rate), None),
        };
        let stream = &self.spec.streams[0];
        Found {
            format: FORMAT,
            prony_version: env!("CARGO_PKG_VERSION").to_owned(),
            server_version: self.version.clone(),
            server: target::shown(&self.spec.target),
            workload: stream.workload.name.clone(),
            connections: stream.connections,
            objective: self.objectives.to_string(),
            ending: ending.to_owned(),
            rate_per_second,
            broken_at_per_second,
            closed_loop_per_second,
            client_limited: report.client_limited(),
            connections_limited: report.waited()
                && rate_per_second.is_some_and(|rate| rate > CONNECTIONS_BOUND * closed_loop_per_second),
            probes: std::mem::take(&mut self.probes),
        }
    }
}

/// Whether fewer ended than were offered, by more than chance explains. In a short load a queue that grows has not reached
/// a generous limit yet, and would in a longer one.
fn falls_short(told: &StreamOutcome) -> bool {
    let Some(schedule) = &told.schedule else { return false };
    let offered = schedule.offered as f64;
    let missing = offered - (told.transactions.count + told.transactions.errors) as f64;
    missing > (SHORT_CHANCE * offered.sqrt()).max(SHORT_SHARE_MISSING * offered)
}

/// Whether a doubt means that the client is the limit: a thread that is nearly always busy, or latency that is mostly the
/// client's own.
fn is_client_limit(doubt: &run::Doubt) -> bool {
    match doubt.id() {
        "worker_busy" => true,
        "send_delay" | "queueing" => doubt.level == run::Level::Invalid,
        _ => false,
    }
}

/// What is tried, between what, and how long all of it will take.
fn title(probe: Probe, outlook: Outlook, left: Duration) -> String {
    let between = match outlook.between {
        (Some(low), Some(high)) => format!(" between {low:.0} and {high:.0}/s"),
        (Some(low), None) => format!(" above {low:.0}/s"),
        (None, Some(high)) => format!(" below {high:.0}/s"),
        (None, None) => String::new(),
    };
    let purpose = match probe.purpose {
        Purpose::Bracket | Purpose::Narrow => "searching",
        Purpose::Confirm => "confirming",
        Purpose::Above => "trying more than was found,",
    };
    format!("{purpose}{between}, about {} s left in all; now {:.0}/s: ", left.as_secs(), probe.rate)
}

fn text(found: &Found, report: &Report, objectives: &Objectives) -> String {
    let mut lines = vec![
        format!("{} on {} ({})", found.workload, found.server, found.server_version),
        format!(
            "{} connections, {} loads; a closed loop reached {:.0} transactions/s\n",
            found.connections,
            found.probes.len(),
            found.closed_loop_per_second
        ),
    ];
    lines.push(match report.ending {
        Ending::Found { rate, above } => format!(
            "highest rate  {rate:.0} transactions/s keep {objectives}: confirmed by 3 of 3 loads; {above:.0}/s ({:.0} % more) \
             did not",
            (above / rate - 1.0) * 100.0
        ),
        Ending::NothingKeeps { lowest } => format!(
            "highest rate  none: even {lowest:.0} transactions/s do not keep {objectives}; the objective is below what \
             the server needs for one transaction at rest"
        ),
        Ending::NothingBreaks { highest } => format!(
            "highest rate  at least {highest:.0} transactions/s, the most that {} connections can offer, and {objectives} is \
             still kept: search with more connections",
            found.connections
        ),
        Ending::Unsteady { rate } => format!(
            "highest rate  not found: near {rate:.0} transactions/s the same load keeps {objectives} at one time and breaks it at \
             another; make --duration longer, or look for what disturbs the server"
        ),
    });
    if found.client_limited {
        lines.push(
            "but           Prony itself was near its limit where the objective broke: this may not be the server's limit. Run \
             it on another machine or give it more processors (`prony calibrate` says what it can do)"
                .to_owned(),
        );
    }
    if found.connections_limited {
        lines.push(
            "but           what broke the objective was the wait for a free connection, while the server's own time kept it, and a \
             closed loop did hardly more: with more connections it may bear more"
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_that_of_the_result() {
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(Found)).expect("a schema") + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/find-rate.json");
        if std::env::var_os("PRONY_UPDATE").is_some() {
            std::fs::write(path, &schema).expect("writable");
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == schema, "schemas/find-rate.json is out of date: run `make schemas`");
    }
}
