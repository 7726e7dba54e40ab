//! Which trials of a point do not count, and why ([`counting`] says which do). An invalid trial (one whose
//! figures, according to a doubt, are not what they seem) counts only where its combination has no valid one,
//! and then its point is marked.

use crate::{
    run::{Doubt, TrialFailure, TrialOutcome, counting},
    store::{RunRecord, TrialRecord},
};
use serde::Serialize;

/// A trial that does not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// [`crate::plan::Trial::number`].
    pub trial: u32,
    /// Why.
    pub why: Uncounted,
}

/// Why a trial does not count. The name of a variant in snake_case is its stable id.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncounted {
    /// It could not be measured.
    Failed(TrialFailure),
    /// It was interrupted.
    Interrupted,
    /// The stream was not active at any time of the interval.
    NothingMeasured,
    /// Its figures are not what they seem.
    Invalid {
        /// The doubts that say so.
        doubts: Vec<Doubt>,
        /// [`crate::plan::Trial::number`] of the trial that repeats it; `None`: none does.
        repeated_as: Option<u32>,
    },
}

/// Why a trial that was measured does not count; `None`: it counts.
pub(super) fn reason_against(record: &RunRecord, trial: &TrialRecord) -> Option<Uncounted> {
    let TrialOutcome::Measured { doubts, .. } = &trial.outcome else { return None };
    if trial.outcome.is_valid() {
        return None;
    }
    let is_measured = |other: &&TrialRecord| matches!(other.outcome, TrialOutcome::Measured { .. });
    let alike = || record.trials.iter().filter(|other| other.trial.treatment == trial.trial.treatment);
    let count = counting::those_that_count(alike().filter(is_measured).collect(), |other: &&TrialRecord| {
        other.outcome.is_valid()
    });
    if count.iter().any(|other| other.trial.number == trial.trial.number) {
        return None;
    }
    let original = trial.trial.again_of.unwrap_or(trial.trial.number);
    let again = alike()
        .find(|other| other.trial.again_of == Some(original) && other.trial.number > trial.trial.number);
    Some(Uncounted::Invalid {
        doubts: doubts.iter().filter(|doubt| doubt.spoils()).cloned().collect(),
        repeated_as: again.map(|again| again.trial.number),
    })
}
