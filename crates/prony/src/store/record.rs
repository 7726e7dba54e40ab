//! What is known of a run, read back from the store.

use super::{error::Error, owner::Holder};
use crate::{
    dataset::Size,
    network::Surroundings,
    plan::{Plan, Trial},
    provision::ServerDescription,
    run::{Began, Note, TrialOutcome},
    telemetry::{Machine, Series},
};
use load::{
    Histogram, Sample,
    sample::{Phase, Schedule, Tally},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

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
    /// Each time that it was resumed.
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

impl RunRecord {
    /// Trials that were not measured, and neither was any that repeated them; and how many trials there are,
    /// repeats of failed and invalid ones not counted.
    #[must_use]
    pub fn unmeasured(&self) -> (usize, usize) {
        let original = |trial: &TrialRecord| trial.trial.again_of.unwrap_or(trial.trial.number);
        let is_measured = |trial: &&TrialRecord| matches!(trial.outcome, TrialOutcome::Measured { .. });
        let all: BTreeSet<u32> = self.trials.iter().map(original).collect();
        let measured: BTreeSet<u32> = self.trials.iter().filter(is_measured).map(original).collect();
        (all.len() - measured.len(), all.len())
    }
}

/// A run was resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// When, UTC.
    pub at: jiff::Timestamp,
    /// Version of Prony that did.
    pub prony_version: String,
    /// What was not as it had been, and was accepted.
    pub differences: Vec<Difference>,
}

/// Something that was not as it had been when a run was resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredDifference")]
pub struct Difference {
    /// Whose it is.
    pub of: Of,
    /// What: a key of the study, a variable of the server, `cpu_model`, `cpus`, `kernel`, `cpu_limit` or
    /// `memory` of the machine.
    pub what: String,
    /// What it was; `None`: it was not there.
    pub was: Option<String>,
    /// What it is; `None`: it is not there.
    pub is: Option<String>,
}

/// Whose a [`Difference`] is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// The study's.
    Study,
    /// The machine's.
    Machine,
    /// That of the server of this name.
    Server(String),
    /// In words only, which are what it is: by an older version of Prony.
    Told,
}

/// What a stored difference may be.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredDifference {
    Words(String),
    Whole { of: Of, what: String, was: Option<String>, is: Option<String> },
}

impl From<StoredDifference> for Difference {
    fn from(stored: StoredDifference) -> Self {
        match stored {
            StoredDifference::Words(what) => Self { of: Of::Told, what, was: None, is: None },
            StoredDifference::Whole { of, what, was, is } => Self { of, what, was, is },
        }
    }
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
    /// Response times in ms that another tool told without their distribution, by name (`mean`, `p95`,
    /// `max`).
    #[serde(default)]
    pub told: BTreeMap<String, f64>,
    /// Seconds of its streams, warm-up included.
    pub seconds: Vec<Second>,
    /// Seconds of machine and server.
    pub readings: Series,
}

/// One second of one stream, as [`Sample`] but for the distributions of single statements and of delays: they
/// are most of what a trial has, few ask for them, and [`super::Store::samples`] reads them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Second {
    /// Index of the stream in its treatment.
    pub stream: u16,
    /// Number of the second since the load began, from 0.
    pub second: u32,
    /// Warm-up or measurement.
    pub phase: Phase,
    /// How long it really was.
    pub length: Duration,
    /// Errors, all codes together.
    pub errors: u64,
    /// Whole transactions.
    pub transactions: Tally,
    /// Statements of each kind.
    pub statements: Vec<Counts>,
    /// What became due; `None` where the arrival has no schedule.
    pub schedule: Option<Starts>,
}

/// A [`Tally`] without its histograms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Name of the statement kind.
    pub name: String,
    /// Ended well.
    pub count: u64,
    /// Ended with an error.
    pub errors: u64,
    /// Rows received.
    pub rows: u64,
    /// Rows affected.
    pub affected: u64,
    /// Replies without a row where one was expected.
    pub not_found: u64,
    /// Replies without an affected row where one was expected.
    pub unchanged: u64,
    /// Of `errors`: those that came after rows of the same result.
    #[serde(default)]
    pub cut_short: u64,
    /// Whether its response time is told apart from its service time.
    pub(super) response: bool,
}

/// A [`Schedule`] without the histogram of its delays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Starts {
    /// Due before, and not yet started when the second began.
    pub backlog: u64,
    /// Became due.
    pub offered: u64,
    /// Were started.
    pub started: u64,
    /// Of `started`: late.
    pub late: u64,
    /// Given up because they were too late.
    pub skipped: u64,
    /// Due, and still not started at the end.
    pub never_sent: u64,
    /// Only the first version had it in this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delay: Option<Histogram>,
}

impl From<Sample> for Second {
    fn from(sample: Sample) -> Self {
        let statements = sample.statements.iter().map(Counts::of).collect();
        let schedule = sample.schedule.as_ref().map(Starts::of);
        let Sample { stream, second, phase, length, errors, transactions, .. } = sample;
        Self { stream, second, phase, length, errors, transactions, statements, schedule }
    }
}

impl Counts {
    pub(super) fn of(tally: &Tally) -> Self {
        Self {
            name: tally.name.clone(),
            count: tally.count,
            errors: tally.errors,
            rows: tally.rows,
            affected: tally.affected,
            not_found: tally.not_found,
            unchanged: tally.unchanged,
            cut_short: tally.cut_short,
            response: tally.response.is_some(),
        }
    }

    pub(super) fn with(self, service: Histogram, response: Option<Histogram>) -> Tally {
        Tally {
            name: self.name,
            count: self.count,
            errors: self.errors,
            rows: self.rows,
            affected: self.affected,
            not_found: self.not_found,
            unchanged: self.unchanged,
            cut_short: self.cut_short,
            service,
            response,
        }
    }
}

impl Starts {
    pub(super) fn of(schedule: &Schedule) -> Self {
        let &Schedule { backlog, offered, started, late, skipped, never_sent, .. } = schedule;
        Self { backlog, offered, started, late, skipped, never_sent, delay: None }
    }

    pub(super) fn with(self, delay: Histogram) -> Schedule {
        let Self { backlog, offered, started, late, skipped, never_sent, .. } = self;
        Schedule { backlog, offered, started, late, skipped, never_sent, delay }
    }
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
    /// The file that this process keeps locked, where it is in another container or on another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<PathBuf>,
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

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Every trial of the plan has an outcome.
    Complete,
    /// A process carries it out now.
    Running,
    /// It was ended before that.
    Interrupted,
    /// Its process is gone and has not said why.
    Killed,
}

impl RunSummary {
    /// How far it has come.
    #[must_use]
    pub fn state(&self) -> RunState {
        match (self.process, self.is_complete(), self.finished) {
            (Some(_), ..) => RunState::Running,
            (None, true, _) => RunState::Complete,
            (None, false, Some(_)) => RunState::Interrupted,
            (None, false, None) => RunState::Killed,
        }
    }

    /// Who carries it out.
    pub(super) fn holder(&self) -> Option<Holder> {
        let pid = self.process?;
        Some(self.lease.clone().map_or(Holder::Here(pid), |lease| Holder::Elsewhere(pid, lease)))
    }

    /// Why it cannot be resumed now; `None`: nobody carries it out.
    #[must_use]
    pub fn alive(&self) -> Option<Error> {
        self.holder().map(|holder| Error::alive(self.id, holder))
    }

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
