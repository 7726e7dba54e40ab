//! Why a trial does not count ([`counting`] says which do). An invalid one (a doubt says that its figures are
//! not what they seem) counts only where its combination has no valid one, and then its point is marked.

use crate::{
    run::{Doubt, TrialOutcome, counting},
    store::{RunRecord, TrialRecord},
};

/// Why a trial that was measured does not count; `None`: it counts.
pub(super) fn reason_against(record: &RunRecord, trial: &TrialRecord) -> Option<String> {
    let TrialOutcome::Measured { doubts, .. } = &trial.outcome else { return None };
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
    let faults = doubts.iter().filter(|doubt| Doubt::spoils(doubt));
    let words: Vec<String> = faults.map(ToString::to_string).collect();
    let repeated = again.map_or_else(
        || "not repeated".to_owned(),
        |again| format!("repeated as trial {}", again.trial.number + 1),
    );
    Some(format!("invalid ({}), {repeated}", words.join("; ")))
}
