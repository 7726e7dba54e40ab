//! What counts in a run, defined once for the rule that ends repeats and for every figure of a report: which
//! doubts spoil a trial, which trials of a treatment count, which of them are one unit, and how wide the
//! interval of such units is. Pure functions; they know neither schedules nor records.

use super::{Doubt, Level, TrialOutcome};
use crate::plan::Plan;
use stats::Spread;
use std::collections::BTreeMap;

/// Confidence level of all intervals.
pub const LEVEL: f64 = 0.95;

impl Doubt {
    /// Whether a trial with this doubt does not count. Offering a server more than it can take is no accident
    /// of one trial: every repeat would be spoilt.
    #[must_use]
    pub fn spoils(&self) -> bool {
        self.level == Level::Invalid && !self.is_overload()
    }
}

impl TrialOutcome {
    /// Whether it was measured, and nothing spoils it.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        matches!(self, Self::Measured { doubts, .. } if !doubts.iter().any(Doubt::spoils))
    }
}

/// The trials of one treatment that count: the valid ones, or all where none is valid.
#[must_use]
pub fn those_that_count<T>(trials: Vec<T>, is_valid: impl Fn(&T) -> bool) -> Vec<T> {
    if trials.iter().any(&is_valid) { trials.into_iter().filter(is_valid).collect() } else { trials }
}

/// What was done in each block, combined by unit, ascending: the block itself or, where servers are started
/// several times, the start, since results of one start are not independent.
pub fn by_unit<T>(plan: &Plan, works: impl IntoIterator<Item = (u32, T)>) -> BTreeMap<u32, Vec<T>> {
    let mut units: BTreeMap<u32, Vec<T>> = BTreeMap::new();
    for (block, work) in works {
        units.entry(plan.unit_of(block)).or_default().push(work);
    }
    units
}

/// Half of the width of the interval of a value from this many units, as a share of the value; `None`: one
/// unit says nothing about how units differ. `spread` is that of the units' logarithms. The width does not
/// depend on the value.
#[must_use]
pub fn half_width(spread: Option<Spread>, units: u32) -> Option<f64> {
    let spread = spread.filter(|_| units > 1)?;
    spread.interval_of_exp(0.0, units, LEVEL).relative_half_width()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::What;

    #[test]
    fn valid_trials_count_and_where_there_is_none_all_do() {
        assert_eq!(those_that_count(vec![1, 2, 3], |&trial| trial != 2), [1, 3]);
        assert_eq!(those_that_count(vec![1, 2, 3], |_| false), [1, 2, 3]);
    }

    #[test]
    fn overload_spoils_no_trial_and_what_is_only_suspicious_neither() {
        let overloaded =
            What::Overloaded { offered_per_second: 9.0, started_per_second: 1.0, backlog: 8, skipped: 0 };
        let doubt = |level, what| Doubt { level, stream: None, what };
        assert!(!doubt(Level::Invalid, overloaded).spoils());
        assert!(!doubt(Level::Suspicious, What::NotWarm { seconds: 1.0 }).spoils());
        assert!(doubt(Level::Invalid, What::NotWarm { seconds: 1.0 }).spoils());
    }

    #[test]
    fn the_width_is_the_same_for_every_value() {
        let spread = stats::moderate(&[vec![0.1, 0.2, 0.15]]).remove(0);
        let of_large = spread.map(|spread| spread.interval_of_exp(9.0, 3, LEVEL));
        let wide = of_large.and_then(|interval| interval.relative_half_width()).expect("an interval");
        assert!((half_width(spread, 3).expect("a width") - wide).abs() < 1e-12);
        assert_eq!((half_width(spread, 1), half_width(None, 3)), (None, None));
    }
}
