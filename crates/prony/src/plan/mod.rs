//! What will be done: every treatment and every trial in its order, decided before anything starts.
//!
//! A [`Plan`] is a plain value: it is stored with the run, and later stages know nothing else of the study.

mod claims;
mod estimate;
mod load;
mod names;
mod order;
pub mod seed;
mod state;
mod text;

pub use crate::study::{
    Act, Audit, Authentication, Beside, Bound, Buy, Claim, Client, CrashKind, DataSet as DataPlan, Factor,
    Fairness, Fresh, Goal, Kubernetes, Levels, Limits, Metric, Network, Relation, Repetition, Reuse,
    Server as ServerPlan, ServerSource, State, Statement, Telemetry, Transport, Unit, Warm,
};
pub use crate::study::{Name, Replication, Topology, WaitPoint, Writes, makes_tables, number_of, only_reads};
pub use claims::is_measured;
pub use estimate::{Estimate, TRIAL_OVERHEAD, estimate, estimate_at_most};
pub use names::{ServerNames, without_levels};
pub use text::{Time, common_settings, render, servers_elsewhere, time};

use crate::{
    layout::{Layout as _, neighbours},
    study::{RELEVANT, Study, line_of_statement},
};
use ::load::spec::{Stream, TlsMode};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// From this number of rows on, copying files and restarting the server, some two seconds, takes less time
/// than loading.
const SNAPSHOT_FROM_ROWS: u64 = 500_000;

/// Of a search for a rate: a short load takes this share of a trial's interval, and so long at least.
pub const SEARCH_SHORT_SHARE: f64 = 0.3;
/// See [`SEARCH_SHORT_SHARE`].
pub const SEARCH_SHORT_MIN: Duration = Duration::from_secs(2);
/// Short loads that most searches take, the closed loop included.
pub const SEARCH_SHORT: u32 = 10;
/// Loads as long as a trial that most searches take.
pub const SEARCH_LONG: u32 = 6;

/// Version of the stored form of [`Plan`].
pub const PLAN_FORMAT: u32 = 1;

/// One study, expanded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// Short name: the file's stem, or the built-in study's name.
    pub name: String,
    /// The study's title.
    pub title: String,
    /// The same in Chinese; empty: as in `title`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title_zh: String,
    /// The study's text, as read.
    pub study_text: String,
    /// Scale that was applied, if any.
    pub scale: Option<String>,
    /// `KEY=VALUE` of the command line that were laid over the text, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Seed; everything random in the run derives from it.
    pub seed: u64,
    /// What happens to differences between servers that the study does not ask for.
    #[serde(default)]
    pub fairness: Fairness,
    /// What makes networks with a latency.
    #[serde(default)]
    pub network: Network,
    /// Factors in the order of the study, with their levels as labels, in the study's order.
    pub factors: Vec<Factor>,
    /// Every different server, settings included.
    pub servers: Vec<ServerPlan>,
    /// Every different data set.
    pub data_sets: Vec<DataPlan>,
    /// Every combination of levels.
    pub treatments: Vec<Treatment>,
    /// In the order of execution.
    pub trials: Vec<Trial>,
    /// Warm-up of each trial; where [`Plan::warm_up_auto`] is set, the longest.
    pub warm_up: Duration,
    /// Whether it ends as soon as throughput is steady.
    #[serde(default)]
    pub warm_up_auto: bool,
    /// How long the background is alone after it, sampled and kept separately; zero: not at all.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub alone: Duration,
    /// Measurement interval of each trial.
    pub interval: Duration,
    /// Trials of each treatment; where a precision is asked for, the fewest.
    pub repeats: u32,
    /// How they are repeated beyond that.
    #[serde(default)]
    pub repetition: Repetition,
    /// What to sample during the load.
    #[serde(default)]
    pub telemetry: Telemetry,
    /// In which state trials begin.
    #[serde(default)]
    pub state: State,
    /// What the study says will come out.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// What is done to the servers after the trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// What a buyer asks of the servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buy: Option<Buy>,
    /// Differences up to this share (0.03: 3 %) do not matter.
    #[serde(default = "relevant")]
    pub relevant: f64,
}

/// Default of [`Plan::relevant`], also of plans that were made before there was a choice.
fn relevant() -> f64 {
    RELEVANT
}

/// One combination of levels: what a trial of it consists of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Treatment {
    /// Level of each factor, by the factor's name.
    pub levels: BTreeMap<String, String>,
    /// Index in [`Plan::servers`].
    pub server: usize,
    /// Index in [`Plan::data_sets`].
    pub data: usize,
    /// Streams that run together.
    pub streams: Vec<Stream>,
    /// How their connections are made.
    #[serde(default)]
    pub client: Client,
    /// What the highest rate of a stream is searched for; `None`: rates are as they are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
}

impl Treatment {
    /// Whether it changes data, so that the next trial finds others.
    #[must_use]
    pub fn writes(&self) -> bool {
        crate::study::writes(&self.streams)
    }

    /// What it writes into.
    #[must_use]
    pub fn written(&self) -> Writes {
        crate::study::written(&self.streams)
    }

    /// Whether nothing but the server may be different.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.data == other.data
            && self.streams == other.streams
            && self.client == other.client
            && self.goal == other.goal
    }

    /// The streams that are measured, with their indices: all but the neighbours.
    pub fn measured(&self) -> impl Iterator<Item = (usize, &Stream)> {
        self.streams.iter().enumerate().filter(|(_, stream)| !neighbours::is_one(stream))
    }

    /// Index of the stream whose rate is searched.
    #[must_use]
    pub fn searched(&self) -> Option<usize> {
        let goal = self.goal.as_ref()?;
        self.streams.iter().position(|stream| stream.name == goal.stream)
    }
}

/// One execution of a treatment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Place in the order, from 0.
    pub number: u32,
    /// Index in [`Plan::treatments`].
    pub treatment: usize,
    /// Block (repeat) it belongs to, from 0.
    pub block: u32,
    /// Seed of its load.
    pub seed: u64,
    /// Number of the trial that it repeats because that one failed or is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_of: Option<u32>,
}

impl Plan {
    /// Whether any load goes to its server by TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.treatments.iter().any(|one| one.client.tls.is_some_and(|mode| mode != TlsMode::Disabled))
    }

    /// Whether a factor has several levels, so that points differ in it.
    #[must_use]
    pub fn varies(&self, factor: &str) -> bool {
        self.factors.iter().any(|known| known.name == factor && known.levels.len() > 1)
    }

    /// What a treatment writes to that Prony did not create, and so never restores.
    #[must_use]
    pub fn foreign_written(&self, treatment: &Treatment) -> BTreeSet<String> {
        crate::study::foreign_written(&treatment.streams, &self.data_sets[treatment.data])
    }

    /// Server and data set of every snapshot that the run takes: data that a trial changes, or that make room
    /// for others, and that another trial is to find as they were loaded.
    #[must_use]
    pub fn snapshots(&self) -> BTreeSet<(usize, usize)> {
        if matches!(self.state.fresh, Fresh::Reload | Fresh::Never) {
            return BTreeSet::new();
        }
        let all = self.trials_at_most();
        let trials = |server: usize, data: usize| {
            let of = |trial: &&Trial| {
                let treatment = &self.treatments[trial.treatment];
                (treatment.server, treatment.data) == (server, data)
            };
            all.iter().filter(of).take(2).count()
        };
        let has_others = |one: &Treatment| {
            self.treatments.iter().any(|other| {
                let is_other = other.server == one.server && other.data != one.data;
                is_other && !self.data_sets[other.data].is_empty()
            })
        };
        let changes = |treatment: &&Treatment| {
            self.state.fresh == Fresh::Always || treatment.writes() || has_others(treatment)
        };
        let own = |treatment: &&Treatment| self.servers[treatment.server].may(Act::PutBack);
        let is_faster = |treatment: &&Treatment| {
            let data = &self.data_sets[treatment.data];
            self.state.fresh != Fresh::Auto || data.rows() >= SNAPSHOT_FROM_ROWS || data.copy().is_some()
        };
        self.treatments
            .iter()
            .filter(own)
            .filter(is_faster)
            .filter(|treatment| !self.data_sets[treatment.data].is_empty())
            .filter(changes)
            .map(|treatment| (treatment.server, treatment.data))
            .filter(|&(server, data)| trials(server, data) > 1)
            .collect()
    }

    /// Expands a study: every different server and data set once, and all trials in their order.
    #[must_use]
    pub fn from_study(study: &Study) -> Self {
        let mut servers: Vec<ServerPlan> = Vec::new();
        let mut data_sets: Vec<DataPlan> = Vec::new();
        let treatments: Vec<Treatment> = study
            .treatments
            .iter()
            .map(|treatment| Treatment {
                levels: treatment.levels.clone(),
                server: index_of(&mut servers, &treatment.server),
                data: index_of(&mut data_sets, &treatment.data),
                streams: treatment.streams.clone(),
                client: treatment.client.clone(),
                goal: treatment.goal.clone(),
            })
            .collect();
        let trials = order::trials(&treatments, study.repeats, study.seed);
        Self {
            format: PLAN_FORMAT,
            name: study.name.clone(),
            title: study.title.clone(),
            title_zh: study.title_zh.clone(),
            study_text: study.text.clone(),
            scale: study.scale.clone(),
            set: study.set.clone(),
            seed: study.seed,
            fairness: study.fairness,
            network: study.network,
            factors: study.factors.clone(),
            servers,
            data_sets,
            treatments,
            trials,
            warm_up: study.warm_up,
            warm_up_auto: study.warm_up_auto,
            alone: study.alone,
            interval: study.interval,
            repeats: study.repeats,
            repetition: study.repetition,
            telemetry: study.telemetry,
            state: study.state,
            audit: study.audit.clone(),
            buy: study.buy.clone(),
            relevant: study.relevant,
            claims: study.claims.clone(),
        }
    }

    /// The line of the study's text on which a statement of a workload stands, by its place among them all;
    /// `None`: not in the study.
    #[must_use]
    pub fn line_of_statement(&self, workload: &str, place: usize) -> Option<usize> {
        line_of_statement(&self.study_text, workload, place)
    }

    /// Rows of a data set, all tables together.
    #[must_use]
    pub fn rows(&self, data: usize) -> u64 {
        self.data_sets[data].rows()
    }

    /// What `prony run` takes beside the study to do the same again.
    #[must_use]
    pub fn repeat_options(&self) -> Vec<String> {
        let scale = self.scale.iter().flat_map(|scale| ["--scale".to_owned(), scale.clone()]);
        let seed = std::iter::once(format!("seed={}", self.seed));
        let set = seed.chain(self.set.iter().cloned()).flat_map(|one| ["--set".to_owned(), one]);
        scale.chain(set).collect()
    }

    /// Load before the interval of each trial; where [`Plan::warm_up_auto`] is set, the longest.
    #[must_use]
    pub fn before_interval(&self) -> Duration {
        self.warm_up + self.alone
    }

    /// How long a trial of a treatment takes, connections not counted; of one that searches a rate, about.
    #[must_use]
    pub fn trial_time(&self, treatment: usize) -> Duration {
        let one = self.before_interval() + self.interval;
        let searched = self.treatments[treatment].searched().map_or(Duration::ZERO, |_| {
            let short = SEARCH_SHORT_MIN.max(self.interval.mul_f64(SEARCH_SHORT_SHARE)).min(self.interval);
            (self.warm_up + short) * SEARCH_SHORT + one * SEARCH_LONG
        });
        one + searched + TRIAL_OVERHEAD
    }

    /// The most trials of each treatment, repeats of invalid ones not counted.
    #[must_use]
    pub fn repeats_at_most(&self) -> u32 {
        match self.repetition.precision {
            Some(_) => self.repetition.repeats_max.max(self.repeats),
            None => self.repeats,
        }
    }

    /// All trials that there may be, in their order, repeats of invalid ones left out. Those of
    /// [`Plan::trials`] come first.
    #[must_use]
    pub fn trials_at_most(&self) -> Vec<Trial> {
        if self.repeats_at_most() == self.repeats {
            return self.trials.clone();
        }
        order::trials(&self.treatments, self.repeats_at_most(), self.seed)
    }

    /// Which start of its server, from 0, a block belongs to.
    #[must_use]
    pub fn start_of(&self, block: u32) -> u32 {
        block / self.repeats.div_ceil(self.repetition.restarts.clamp(1, self.repeats.max(1))).max(1)
    }

    /// The unit that a block belongs to: what is independent of each other. Where servers are started
    /// several times that is the start, for all blocks of one share what it made of the server. The rule that
    /// ends repeating and every report count by it.
    #[must_use]
    pub fn unit_of(&self, block: u32) -> u32 {
        if self.repetition.restarts > 1 { self.start_of(block) } else { block }
    }
}

/// Where `item` stands in `items`; it is added where it is not there yet.
fn index_of<T: Clone + PartialEq>(items: &mut Vec<T>, item: &T) -> usize {
    items.iter().position(|other| other == item).unwrap_or_else(|| {
        items.push(item.clone());
        items.len() - 1
    })
}

#[cfg(test)]
mod tests;
