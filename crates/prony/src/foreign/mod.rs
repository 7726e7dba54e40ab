//! What other tools printed becomes a run, so that it can be drawn and compared with Prony's own: sysbench
//! 0.4 to 1.1, mysqlslap.
//!
//! Nothing is made up: what a file does not say stays unknown. A percentile that a tool states has no
//! interval; seconds that it prints are a series. It knows no files: it gets texts.

mod slap;
mod sysbench;

use crate::{
    plan::{Factor, Plan, ServerSource, Trial},
    run::TrialOutcome,
    store::ForeignTrial,
    study::{self, Adjustments},
};
use load::{
    Histogram,
    sample::{ClientUsage, End, Outcome, Phase, Sample, StreamOutcome, Tally},
    spec::Workload,
};
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

/// What stands where a file says nothing.
const UNKNOWN: &str = "unknown";

/// Whose output it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// sysbench's report, with or without lines for every second, with or without its histogram.
    Sysbench,
    /// mysqlslap's or mariadb-slap's report or CSV.
    Mysqlslap,
}

impl Tool {
    /// Every tool by its name.
    pub const ALL: [(&str, Self); 2] = [("sysbench", Self::Sysbench), ("mysqlslap", Self::Mysqlslap)];

    /// As it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::Mysqlslap => "mysqlslap",
        }
    }
}

/// What a file does not say, from who knows it.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Name of the server.
    pub server: Option<String>,
    /// What was run.
    pub workload: Option<String>,
    /// Connections, where the file has none.
    pub connections: Option<u32>,
}

/// Why a text is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It has none of the lines that a result has.
    #[error("it contains no result of {tool}: {missing}")]
    NoResult {
        /// Whose it should be.
        tool: &'static str,
        /// What is not there.
        missing: &'static str,
    },
    /// The tool broke off.
    #[error("{tool} stopped early: {words}")]
    Failed {
        /// Whose it is.
        tool: &'static str,
        /// What it said.
        words: String,
    },
    /// The number of connections stands nowhere.
    #[error("it does not state the number of connections; set it with --connections N")]
    Connections,
}

/// One result in a text.
#[derive(Debug, Default)]
struct Entry {
    version: String,
    /// `engine`, `workload` and what else tells results apart.
    levels: BTreeMap<String, String>,
    connections: Option<u32>,
    seconds: f64,
    transactions: u64,
    statements: u64,
    errors: u64,
    /// Response time of transactions in ms: `mean`, `max`, `p95`.
    told: BTreeMap<String, f64>,
    histogram: Histogram,
    series: Vec<Second>,
}

/// A time of a series, usually a second.
#[derive(Debug)]
struct Second {
    until_s: f64,
    transactions_per_second: f64,
    errors_per_second: f64,
}

/// Results of one or several texts, as what a store keeps.
#[derive(Debug)]
pub struct Results {
    /// A plan that says which trial is what; nothing of it was planned by Prony.
    pub plan: Plan,
    /// The trials.
    pub trials: Vec<ForeignTrial>,
}

/// Reads texts, each with what is known beside it. `name` is the run's, as a study's would be.
///
/// # Errors
/// The number of the text that is no result, and why.
pub fn read(tool: Tool, name: &str, texts: &[(String, Known)]) -> Result<Results, (usize, Error)> {
    let mut entries = Vec::new();
    for (number, (text, known)) in texts.iter().enumerate() {
        let found = match tool {
            Tool::Sysbench => sysbench::read(text),
            Tool::Mysqlslap => slap::read(text),
        };
        for mut entry in found.map_err(|error| (number, error))? {
            entry.connections = entry.connections.or(known.connections);
            if entry.connections.is_none() {
                return Err((number, Error::Connections));
            }
            let server = known.server.clone().unwrap_or_else(|| UNKNOWN.to_owned());
            entry.levels.insert("server".to_owned(), server);
            let workload = entry.levels.entry("workload".to_owned()).or_insert_with(|| UNKNOWN.to_owned());
            if let Some(known) = &known.workload {
                workload.clone_from(known);
            }
            let connections = entry.connections.unwrap_or_default().to_string();
            entry.levels.insert("connections".to_owned(), connections);
            entries.push(entry);
        }
    }
    Ok(results(tool, name, entries))
}

fn results(tool: Tool, name: &str, entries: Vec<Entry>) -> Results {
    let mut plan = empty_plan(tool, name);
    let like = plan.treatments.remove(0);
    let server = plan.servers.remove(0);
    let mut repeats: HashMap<usize, u32> = HashMap::new();
    let mut trials = Vec::new();
    plan.trials.clear();
    for (number, entry) in (0..).zip(entries) {
        let server_name = &entry.levels["server"];
        let place = plan.servers.iter().position(|known| known.name == *server_name).unwrap_or_else(|| {
            let source = ServerSource::Url(UNKNOWN.to_owned());
            plan.servers.push(study::Server { name: server_name.clone(), source, ..server.clone() });
            plan.servers.len() - 1
        });
        let treatment =
            plan.treatments.iter().position(|known| known.levels == entry.levels).unwrap_or_else(|| {
                let mut treatment = like.clone();
                treatment.levels = entry.levels.clone();
                treatment.server = place;
                let stream = &mut treatment.streams[0];
                stream.connections = entry.connections.unwrap_or_default();
                stream.workload =
                    Workload::new(&entry.levels["workload"], stream.workload.tables, Vec::new());
                plan.treatments.push(treatment);
                plan.treatments.len() - 1
            });
        let block = repeats.entry(treatment).or_default();
        let trial = Trial { number, treatment, block: *block, seed: 0, again_of: None };
        *block += 1;
        plan.trials.push(trial);
        plan.repeats = plan.repeats.max(*block);
        plan.interval = plan.interval.max(Duration::from_secs_f64(entry.seconds));
        trials.push(record(trial, entry));
    }
    plan.factors = factors(&plan);
    Results { plan, trials }
}

/// A plan without anything in it. Made from a study, so that whatever a plan has has its default.
fn empty_plan(tool: Tool, name: &str) -> Plan {
    const STUDY: &str = "title = \"Results\"\n[server.unknown]\nproduct = \"mariadb\"\n[[stream]]\nworkload \
                         = \"oltp_point_select\"\nconnections = 1\n";
    let study = study::parse(name, name, STUDY, &Adjustments::default());
    let study = study.unwrap_or_else(|mistakes| unreachable!("a constant study: {mistakes}"));
    let mut plan = Plan::from_study(&study);
    plan.title = format!("Results of {}", tool.name());
    plan.title_zh = format!("{} 的结果", tool.name());
    plan.study_text.clear();
    plan.data_sets.iter_mut().for_each(|data| *data = data.clone().without_tables());
    plan.warm_up = Duration::ZERO;
    plan.interval = Duration::ZERO;
    plan.repeats = 1;
    plan
}

/// What differs between results, and the connections in any case.
fn factors(plan: &Plan) -> Vec<Factor> {
    let names: Vec<String> =
        plan.treatments.first().map(|one| one.levels.keys().cloned().collect()).unwrap_or_default();
    let factor = |name: String| {
        let mut levels: Vec<String> = Vec::new();
        for treatment in &plan.treatments {
            let level = treatment.levels.get(&name).cloned().unwrap_or_default();
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        let numeric = name == "connections";
        if numeric {
            levels.sort_by_key(|level| level.parse::<u32>().unwrap_or_default());
        }
        Factor { name, levels, numeric }
    };
    names.into_iter().map(factor).filter(|factor| factor.levels.len() > 1 || factor.numeric).collect()
}

fn record(trial: Trial, entry: Entry) -> ForeignTrial {
    let transactions = Tally {
        count: entry.transactions,
        errors: entry.errors,
        service: entry.histogram,
        ..Tally::new("transactions")
    };
    let statements = Tally { count: entry.statements, ..Tally::new("statements") };
    let interval = Duration::from_secs_f64(entry.seconds);
    let outcome = Outcome {
        streams: vec![StreamOutcome {
            name: "main".to_owned(),
            connections: entry.connections.unwrap_or_default(),
            active: (Duration::ZERO, interval),
            transactions,
            statements: vec![statements],
            ..StreamOutcome::default()
        }],
        client: ClientUsage::default(),
        interval,
        warm_up: None,
        end: End::Completed,
        server_version: String::new(),
    };
    let mut from = 0.0;
    let mut samples = Vec::new();
    for (second, line) in (0..).zip(entry.series) {
        let length = line.until_s - from;
        from = line.until_s;
        if length <= 0.0 {
            continue;
        }
        let errors = (line.errors_per_second * length).round() as u64;
        let count = (line.transactions_per_second * length).round() as u64;
        samples.push(Sample {
            stream: 0,
            second,
            phase: Phase::Measure,
            length: Duration::from_secs_f64(length),
            transactions: Tally { count, errors, ..Tally::new("transactions") },
            statements: Vec::new(),
            errors,
            schedule: None,
        });
    }
    ForeignTrial {
        trial,
        started: jiff::Timestamp::UNIX_EPOCH,
        outcome: TrialOutcome::Measured {
            outcome: Box::new(outcome),
            doubts: Vec::new(),
            following: None,
            sought: None,
        },
        told: entry.told,
        samples,
    }
}

/// The first number in a text, after anything that is none.
fn number(text: &str) -> Option<f64> {
    let start = text.find(|letter: char| letter.is_ascii_digit())?;
    let rest = &text[start..];
    let end = rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests;
