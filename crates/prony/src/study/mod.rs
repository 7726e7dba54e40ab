//! The study: one TOML file that says what to compare and under which load.
//!
//! Reading is parsing, not validating: a [`Study`] cannot exist in a wrong state. All mistakes in a file are
//! collected before any is shown, each in its own text with the nearest right name ([`Mistakes`]). Whatever
//! has a good default need not be written. Knows nothing about servers, plans or results.

mod act;
mod assemble;
mod audit;
mod bound;
mod builtin;
mod buy;
mod claim;
mod client;
mod columns;
mod data;
mod expand;
mod forms;
mod goal;
mod keys;
mod kinds;
mod kubernetes;
mod measure;
mod metric;
mod mistake;
mod order;
mod paths;
mod phrase;
mod point;
mod root;
mod schema;
mod select;
mod server;
mod shapes;
mod streams;
mod tables;
#[cfg(test)]
mod tests;
mod topology;
mod tree;
mod vary;
mod written;
mod wrong;

pub use crate::{
    layout::DataSet,
    workload::{Name, Writes, makes_tables, only_reads, written_by as written},
};
pub use act::Act;
pub use audit::{Audit, CrashKind};
pub use bound::{Bound, Relation, Unit};
pub use builtin::{Builtin, Error, builtin, open};
pub use buy::Buy;
pub use claim::{Beside, Claim, Levels, Statement, number_of};
pub use client::{Authentication, Client, Transport, client_words};
pub use goal::Goal;
pub use kubernetes::{Kubernetes, Resources, pods};
pub use measure::{Fresh, Repetition, Reuse, State, Telemetry, Warm, foreign_written, writes};
pub use metric::{Metric, UnknownMetric};
pub use mistake::Mistakes;
pub use phrase::Phrase;
pub use point::{Refused, settings_refused};
pub use schema::{reference, schema};
pub use server::{Limits, Server, ServerSource, server_words};
pub use topology::{Replication, Topology, WaitPoint};

use crate::escape::without_passwords;
use load::spec::Stream;
use mistake::{Collector, Source};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// One study, read and complete: every combination of levels with all that it consists of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Study {
    /// Short name: the file's stem, or the built-in study's name.
    pub name: String,
    /// Title of the study.
    pub title: String,
    /// The same in Chinese; empty: as in `title`.
    pub title_zh: String,
    /// The file's text, passwords masked.
    pub text: String,
    /// Scale that was applied, if any.
    pub scale: Option<String>,
    /// `KEY=VALUE` from the command line that override the text, passwords masked.
    pub set: Vec<String>,
    /// Seed; everything random in a run derives from it.
    pub seed: u64,
    /// What varies, in the order of the file.
    pub factors: Vec<Factor>,
    /// Every combination of levels, the last factor changing fastest. Not empty.
    pub treatments: Vec<Treatment>,
    /// How to treat differences between servers that the study does not vary.
    pub fairness: Fairness,
    /// What provides network latency.
    pub network: Network,
    /// Load before each measurement, not counted; where [`Study::warm_up_auto`] is set, the longest.
    pub warm_up: Duration,
    /// Whether it ends as soon as throughput is steady.
    pub warm_up_auto: bool,
    /// How long the background load runs alone after the warm-up, sampled separately; zero: not at all.
    pub alone: Duration,
    /// Length of each measurement, 100 ms or more.
    pub interval: Duration,
    /// Trials of each treatment, 1 or more.
    pub repeats: u32,
    /// When to repeat more often.
    pub repetition: Repetition,
    /// What to sample during the load.
    pub telemetry: Telemetry,
    /// The state in which trials begin.
    pub state: State,
    /// Differences up to this share (0.03: 3 %) are irrelevant.
    pub relevant: f64,
    /// The audit of commits after the trials; `None`: none.
    pub audit: Option<Audit>,
    /// What a buyer asks of the servers; `None`: nothing.
    pub buy: Option<Buy>,
    /// Its claims.
    pub claims: Vec<Claim>,
}

/// The default of [`Study::relevant`]: restarting a server alone changes its throughput by as much (Percona
/// 2014).
pub(crate) const RELEVANT: f64 = 0.03;

/// Something that varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Short name: `server`, `workload`, `connections`.
    pub name: String,
    /// Its levels as they are shown.
    pub levels: Vec<String>,
    /// Whether the levels are numbers, so that a chart can have them on its axis.
    pub numeric: bool,
}

/// One combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Treatment {
    /// Level of each factor, by the factor's name.
    pub levels: BTreeMap<String, String>,
    /// The server with its settings.
    pub server: Server,
    /// The data in it.
    pub data: DataSet,
    /// Streams that run together; not empty.
    pub streams: Vec<Stream>,
    /// How their connections are made.
    pub client: Client,
    /// The goal of the search for the highest rate; `None`: rates are as written.
    pub goal: Option<Goal>,
}

/// What makes networks with a latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// netem if possible, otherwise the relay.
    #[default]
    Auto,
    /// netem; without it, the run is refused.
    Netem,
    /// The relay.
    Relay,
}

/// What becomes of differences between servers that the study does not make itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fairness {
    /// Report them.
    #[default]
    Report,
    /// Refuse to run.
    Strict,
    /// Do not check.
    Off,
}

/// What the command line adds to a study's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adjustments {
    /// Name of the scale to apply.
    pub scale: Option<String>,
    /// `KEY=VALUE`, each laid over file and scale, in this order.
    pub set: Vec<String>,
}

/// The line of a study's text on which a statement of a workload stands, by its place among all statements of
/// the workload, from 0; `None`: the text writes no such statement.
#[must_use]
pub fn line_of_statement(text: &str, workload: &str, place: usize) -> Option<usize> {
    let file = tree::parse(text, 0, &mut Collector::of_file(""))?;
    let place = written::statement(&file, workload, place)?;
    Some(text[..place.span.start].matches('\n').count() + 1)
}

/// Reads a study.
///
/// `name` is its short name, `path` how its file is called in messages.
///
/// # Errors
/// Everything that is wrong with it, at once.
pub fn parse(name: &str, path: &str, text: &str, adjustments: &Adjustments) -> Result<Study, Mistakes> {
    let mut sources = vec![Source { name: path.to_owned(), text: without_passwords(text) }];
    sources.extend(
        adjustments.set.iter().map(|text| Source { name: "--set".to_owned(), text: without_passwords(text) }),
    );
    let mut mistakes = Collector::of_file(path);
    let study = tree::parse(&sources[0].text, 0, &mut mistakes)
        .and_then(|file| assemble::study(name, &sources, file, adjustments, &mut mistakes));
    let text = sources[0].text.clone();
    mistakes.finish(sources)?;
    let study = study.expect("without a mistake there is a study");
    Ok(Study { text, ..study })
}
