//! The highest rates that a run found, for the document.

use super::document::FoundRate;
use crate::{analyse::Findings, store::RunRecord};

/// The results of all searches, in the order of the points.
pub(super) fn rates(record: &RunRecord, findings: &Findings) -> Vec<FoundRate> {
    let searches = |point: usize| {
        let treatment = findings.points[point].treatment;
        let of_treatment = record.trials.iter().filter(move |trial| trial.trial.treatment == treatment);
        of_treatment.filter_map(|trial| {
            let sought = trial.outcome.sought()?;
            let loads = sought.probes.clone();
            Some(super::document::Search { trial: trial.trial.number, rate_per_second: sought.rate(), loads })
        })
    };
    let one = |found: &crate::analyse::FoundRate| FoundRate {
        point: found.point,
        objective: found.objective.clone(),
        rate_per_second: found.rate,
        broken_at_per_second: found.broken_at,
        closed_loop_per_second: found.closed_loop,
        loads: found.loads,
        searches: searches(found.point).collect(),
    };
    findings.rates.iter().map(one).collect()
}
