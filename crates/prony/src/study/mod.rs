//! The study: one TOML file that says what to compare and under which load.
//!
//! Reading is parsing, not validating: a [`Study`] cannot exist in a wrong state. Everything that is wrong
//! with a file is found before anything is said, and shown in its own text with the nearest right name
//! ([`Mistakes`]). Whatever has a good default need not be written. Knows nothing of servers, plans or
//! results.

mod act;
mod assemble;
mod audit;
mod bound;
mod builtin;
mod claim;
mod client;
mod data;
mod expand;
mod forms;
mod goal;
mod keys;
mod kinds;
mod measure;
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

pub use crate::{
    layout::DataSet,
    workload::{Name, Writes, written_by as written},
};
pub use act::Act;
pub use audit::Audit;
pub use bound::{Bound, Relation, Unit};
pub use builtin::{Builtin, Error, builtin, open};
pub use claim::{Claim, Levels, Statement};
pub use client::{Client, Transport, client_words};
pub use goal::Goal;
pub use measure::{Fresh, Repetition, Reuse, State, Telemetry, Warm, foreign_written, writes};
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
    /// What is evaluated, as a headline.
    pub title: String,
    /// The file's text, passwords masked.
    pub text: String,
    /// Scale that was applied, if any.
    pub scale: Option<String>,
    /// Seed; everything random in a run derives from it.
    pub seed: u64,
    /// What varies, in the order of the file.
    pub factors: Vec<Factor>,
    /// Every combination of levels, the last factor changing fastest. Not empty.
    pub treatments: Vec<Treatment>,
    /// What becomes of differences between servers that the study does not make itself.
    pub fairness: Fairness,
    /// What makes networks with a latency.
    pub network: Network,
    /// Load before each measurement, not counted; where [`Study::warm_up_auto`] is set, the longest.
    pub warm_up: Duration,
    /// Whether it ends as soon as throughput is steady.
    pub warm_up_auto: bool,
    /// Length of each measurement, 100 ms or more.
    pub interval: Duration,
    /// Trials of each treatment, 1 or more.
    pub repeats: u32,
    /// How they are repeated beyond that.
    pub repetition: Repetition,
    /// What is sampled beside the load.
    pub telemetry: Telemetry,
    /// In which state they begin.
    pub state: State,
    /// Differences up to this share (0.03: 3 %) do not matter.
    pub relevant: f64,
    /// What is done to the servers after the trials; `None`: nothing.
    pub audit: Option<Audit>,
    /// What it says will come out.
    pub claims: Vec<Claim>,
}

/// Differences up to this share do not matter where a study says nothing of it: restarting a server alone
/// moves its throughput as much (Percona 2014).
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
    /// What the highest rate is searched for; `None`: rates are as they are written.
    pub goal: Option<Goal>,
}

/// What makes networks with a latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// netem where that is possible, else the relay.
    #[default]
    Auto,
    /// netem, or there is no run.
    Netem,
    /// The relay.
    Relay,
}

/// What becomes of differences between servers that the study does not make itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fairness {
    /// They are told.
    #[default]
    Report,
    /// There is no run with them.
    Strict,
    /// Nobody looks.
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
    let mut mistakes = Collector::default();
    let study = tree::parse(&sources[0].text, 0, &mut mistakes)
        .and_then(|file| assemble::study(name, &sources, file, adjustments, &mut mistakes));
    let text = sources[0].text.clone();
    mistakes.finish(sources)?;
    let study = study.expect("without a mistake there is a study");
    Ok(Study { text, ..study })
}
