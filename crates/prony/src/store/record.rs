//! What is known of a run, read back from the store.

use crate::{
    plan::{Plan, Trial},
    provision::ServerDescription,
    run::{Note, TrialOutcome},
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
    /// When it began, UTC.
    pub started: jiff::Timestamp,
    /// When it ended; `None`: it was killed, or is still running.
    pub finished: Option<jiff::Timestamp>,
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
    /// Trials that have an outcome, in the order of execution.
    pub trials: Vec<TrialRecord>,
}

/// What is known of one server of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ServerRecord {
    /// What it was.
    pub description: ServerDescription,
    /// `SHOW GLOBAL STATUS` at the end.
    pub status_after: BTreeMap<String, String>,
    /// How long loading each data set took, by index of [`Plan::data_sets`].
    pub data_took: BTreeMap<usize, Duration>,
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
    /// Seconds of its streams, warm-up included.
    pub samples: Vec<Sample>,
    /// Seconds of machine and server.
    pub readings: Vec<Reading>,
}

/// One run in a list of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Number in this store, from 1.
    pub id: i64,
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
