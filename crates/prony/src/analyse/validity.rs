//! Which trials count. An invalid one (a doubt says that its figures are not what they seem) counts only
//! where its combination has no valid one, and then its point is marked; that a server was offered more than
//! it can take does not make its trial invalid in this sense, for every repeat of it would be. Whatever does
//! not count is named with its reason.

use crate::{
    run::{Doubt, Level, TrialOutcome, What},
    store::{RunRecord, TrialRecord},
};

/// Why a trial that was measured does not count; `None`: it counts.
pub(super) fn reason_against(record: &RunRecord, trial: &TrialRecord) -> Option<String> {
    let faults = faults(trial)?;
    let alike = || record.trials.iter().filter(|other| other.trial.treatment == trial.trial.treatment);
    let is_valid = |other: &TrialRecord| {
        matches!(other.outcome, TrialOutcome::Measured { .. }) && self::faults(other).is_none()
    };
    if !alike().any(is_valid) {
        return None;
    }
    let original = trial.trial.again_of.unwrap_or(trial.trial.number);
    let again = alike()
        .find(|other| other.trial.again_of == Some(original) && other.trial.number > trial.trial.number);
    let words: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let repeated = again.map_or_else(
        || "not repeated".to_owned(),
        |again| format!("repeated as trial {}", again.trial.number + 1),
    );
    Some(format!("invalid ({}), {repeated}", words.join("; ")))
}

/// What makes a trial invalid.
fn faults(trial: &TrialRecord) -> Option<Vec<&Doubt>> {
    let TrialOutcome::Measured { doubts, .. } = &trial.outcome else { return None };
    let grave =
        |doubt: &&Doubt| doubt.level == Level::Invalid && !matches!(doubt.what, What::Overloaded { .. });
    let faults: Vec<&Doubt> = doubts.iter().filter(grave).collect();
    (!faults.is_empty()).then_some(faults)
}
