//! What is known of a run, read back from the store.

use crate::{
    dataset::Size,
    network::Surroundings,
    plan::{Plan, Trial},
    provision::ServerDescription,
    run::{Began, Note, TrialOutcome},
    telemetry::{Machine, Reading},
};
use load::Sample;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// Everything that is known of one run, read back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunRecord {
    /// Number in this store, from 1.
    pub id: i64,
    /// Its name in every store: 32 hexadecimal digits.
    #[serde(default)]
    pub uid: String,
    /// Which program measured: `prony`, or one whose output was read.
    #[serde(default)]
    pub origin: String,
    /// Names that people gave it, sorted.
    #[serde(default)]
    pub labels: Vec<String>,
    /// What people wrote down about it.
    #[serde(default)]
    pub note: String,
    /// When it began, UTC.
    pub started: jiff::Timestamp,
    /// When it ended; `None`: it was killed, or is still running.
    pub finished: Option<jiff::Timestamp>,
    /// Each time that it was gone on with.
    #[serde(default)]
    pub resumed: Vec<Resumed>,
    /// Whether every trial of the plan has an outcome.
    pub complete: bool,
    /// Version of Prony that made it.
    pub prony_version: String,
    /// What was planned.
    pub plan: Plan,
    /// What it ran on.
    pub machine: Machine,
    /// By index of [`Plan::servers`].
    pub servers: BTreeMap<usize, ServerRecord>,
    /// What was noted, in that order.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// In which state trials found their servers, by [`Trial::number`].
    #[serde(default)]
    pub began: BTreeMap<u32, Began>,
    /// Trials that have an outcome, in the order of execution.
    pub trials: Vec<TrialRecord>,
}

/// A run was gone on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// When, UTC.
    pub at: jiff::Timestamp,
    /// Version of Prony that did.
    pub prony_version: String,
    /// What was not as it had been, and was accepted; for people.
    pub differences: Vec<String>,
}

/// What is known of one server of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ServerRecord {
    /// What it was.
    pub description: ServerDescription,
    /// `SHOW GLOBAL STATUS` at the end.
    pub status_after: BTreeMap<String, String>,
    /// What of it was used, and the networks before it.
    #[serde(default)]
    pub surroundings: Surroundings,
    /// How long loading each data set took, by index of [`Plan::data_sets`].
    pub data_took: BTreeMap<usize, Duration>,
    /// How large it said that each is, by index of [`Plan::data_sets`].
    #[serde(default)]
    pub data_sizes: BTreeMap<usize, Size>,
}

/// One trial with its result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Which.
    pub trial: Trial,
    /// When it began, UTC.
    pub started: jiff::Timestamp,
    /// What came of it.
    pub outcome: TrialOutcome,
    /// Response times in ms that another tool told without their distribution, by name (`mean`, `p95`, `max`).
    #[serde(default)]
    pub told: BTreeMap<String, f64>,
    /// Seconds of its streams, warm-up included.
    pub samples: Vec<Sample>,
    /// Seconds of machine and server.
    pub readings: Vec<Reading>,
}

/// Which trial began when, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Begun {
    pub(super) trial: Trial,
    pub(super) started: jiff::Timestamp,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) told: BTreeMap<String, f64>,
}

/// How long loading data took and how large it is, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Took {
    pub(super) took_ns: u64,
    #[serde(default)]
    pub(super) size: Option<Size>,
}

/// One run in a list of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Number in this store, from 1.
    pub id: i64,
    /// Its name in every store: 32 hexadecimal digits.
    pub uid: String,
    /// Which program measured: `prony`, or one whose output was read.
    pub origin: String,
    /// Version of Prony that made it.
    pub prony_version: String,
    /// Names that people gave it, sorted.
    pub labels: Vec<String>,
    /// What people wrote down about it.
    pub note: String,
    /// Process that carries it out now; `None`: none does.
    pub process: Option<i32>,
    /// Name of the study.
    pub name: String,
    /// Title of the study.
    pub title: String,
    /// When it began, UTC.
    pub started: jiff::Timestamp,
    /// When it ended; `None`: it was killed, or is still running.
    pub finished: Option<jiff::Timestamp>,
    /// Trials that ran.
    pub trials_measured: u32,
    /// Trials that could not be run.
    pub trials_failed: u32,
    /// Trials of the plan.
    pub trials_planned: u32,
}

impl RunSummary {
    /// Trials that have an outcome.
    #[must_use]
    pub fn trials_done(&self) -> u32 {
        self.trials_measured + self.trials_failed
    }

    /// Whether every trial of the plan has an outcome.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.trials_done() >= self.trials_planned
    }
}
