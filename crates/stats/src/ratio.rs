//! Compares two things, many pairs at once: how much they differ, how surely, whether it matters, what
//! difference would have been detected, and how many more repeats an answer would take.
//!
//! Everything is computed on logarithms, as benchmarks differ by shares. A *call* needs both significance,
//! after [`crate::holm`]'s correction for the number of pairs, and an estimate beyond the difference that
//! matters ([`Rule::relevant`]). *Same* is a result too, not the absence of one: the whole interval lies
//! within the difference that matters (the two one-sided tests of D. J. Schuirmann, *Journal of
//! Pharmacokinetics and Biopharmaceutics* 15, 1987, at half the risk).

use crate::{Estimate, Spread, holm, moderate, spread::student_quantile};
use serde::{Deserialize, Serialize};

/// Most repeats that are proposed; beyond it the answer is that repeating does not help.
const REPEATS_MAX: u32 = 1000;

/// How sure a call must be, and what matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Confidence level, 0 to 1: 1 less the risk of calling a difference where there is none.
    pub level: f64,
    /// How surely the smallest difference that is called detectable is detected, 0 to 1.
    pub power: f64,
    /// Differences up to this share (0.03: 3 %) do not matter.
    pub relevant: f64,
}

impl Rule {
    /// The logarithm of a ratio that just matters.
    pub(crate) fn margin(&self) -> f64 {
        (1.0 + self.relevant).ln()
    }
}

/// The logarithm of a ratio, with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Logarithm of the ratio.
    pub log: f64,
    /// Of *one* repeat's logarithm of the ratio, so that the mean's variance is a `count`-th of it; `None`:
    /// nothing is known.
    pub spread: Option<Spread>,
    /// Repeats behind it, 1 or more.
    pub count: u32,
}

impl Difference {
    /// Of two sides that ran side by side in each block: `spread` is that of the blocks' differences.
    #[must_use]
    pub fn paired(log: f64, spread: Option<Spread>, count: u32) -> Self {
        Self { log, spread, count: count.max(1) }
    }

    /// Of two sides that have nothing in common: logarithm of the value, spread of one repeat, and number of
    /// repeats of each. Degrees of freedom by B. L. Welch, *The generalization of "Student's" problem
    /// when several different population variances are involved*, Biometrika 34, 1947.
    #[must_use]
    pub fn unpaired(one: (f64, Option<Spread>, u32), other: (f64, Option<Spread>, u32)) -> Self {
        let log = one.0 - other.0;
        let (first, second) = (f64::from(one.2.max(1)), f64::from(other.2.max(1)));
        let count = one.2.min(other.2).max(1);
        let spread = one.1.zip(other.1).map(|(a, b)| {
            let (a_error, b_error) = (a.variance / first, b.variance / second);
            let variance = a_error + b_error;
            let freedom = if variance > 0.0 {
                variance.powi(2) / (a_error.powi(2) / a.freedom + b_error.powi(2) / b.freedom)
            } else {
                a.freedom.min(b.freedom)
            };
            Spread { variance: variance * f64::from(count), freedom }
        });
        Self { log, spread, count }
    }
}

/// Of pairs of sides that ran side by side: for each pair the logarithms of its blocks' ratios. Centre,
/// spread and number of repeats come from the same blocks: the ratio is the geometric mean of the blocks'
/// ratios. The spread of each pair is moderated by all of them.
#[must_use]
pub fn paired(groups: &[Vec<f64>]) -> Vec<Difference> {
    let difference = |(logs, spread): (&Vec<f64>, Option<Spread>)| {
        let centre = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        Difference::paired(centre, spread, u32::try_from(logs.len()).unwrap_or(u32::MAX))
    };
    groups.iter().zip(moderate(groups)).map(difference).collect()
}

/// What a comparison of two things says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// The first is higher, significantly and by more than what matters.
    Higher,
    /// It is lower.
    Lower,
    /// They differ by no more than what matters.
    Same,
    /// It cannot be said yet.
    Undecided,
}

/// A difference, judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The ratio with its interval, uncorrected.
    pub ratio: Estimate,
    /// Probability of a difference as great if there were none, corrected for the number of pairs; 1:
    /// nothing is known.
    pub p_value: f64,
    /// What it says.
    pub call: Call,
    /// The smallest difference, as a share, that would have been called; `None`: nothing is known.
    pub detectable: Option<f64>,
    /// Where it is undecided: repeats of all, those there are included, after which it probably would be
    /// decided, if what was estimated is the truth; `None`: no number that is reasonable.
    pub repeats_needed: Option<u32>,
}

/// Judges pairs that belong together: the more there are, the more is asked of each.
#[must_use]
pub fn judge(differences: &[Difference], rule: Rule) -> Vec<Judged> {
    let p_value = |one: &Difference| one.spread.map_or(1.0, |spread| spread.p_value(one.log, one.count));
    let corrected = holm(&differences.iter().map(p_value).collect::<Vec<_>>());
    // what Holm asks of the smallest p-value
    let strict = 1.0 - (1.0 - rule.level) / differences.len().max(1) as f64;
    let judged = |(one, p_value): (&Difference, f64)| judge_one(one, p_value, strict, rule);
    differences.iter().zip(corrected).map(judged).collect()
}

/// Judges a pair by its corrected p-value; `strict` is the level at which it would be called at first.
pub(crate) fn judge_one(one: &Difference, p_value: f64, strict: f64, rule: Rule) -> Judged {
    let Some(spread) = one.spread else {
        let ratio = Estimate::bare(one.log.exp(), rule.level, one.count);
        return Judged { ratio, p_value: 1.0, call: Call::Undecided, detectable: None, repeats_needed: None };
    };
    let ratio = spread.interval_of_exp(one.log, one.count, rule.level);
    let call = call(one.log, &ratio, p_value, rule);
    Judged {
        ratio,
        p_value,
        call,
        detectable: Some(detectable(&spread, one.count, strict, rule).exp_m1()),
        repeats_needed: (call == Call::Undecided)
            .then(|| repeats_needed(one, &spread, strict, rule))
            .flatten(),
    }
}

fn call(log: f64, ratio: &Estimate, p_value: f64, rule: Rule) -> Call {
    let Some((low, high)) = ratio.interval() else { return Call::Undecided };
    let margin = rule.margin();
    if low.ln() >= -margin && high.ln() <= margin {
        return Call::Same;
    }
    let is_significant = p_value < 1.0 - rule.level && (low > 1.0 || high < 1.0);
    match (is_significant && log.abs() > margin, log > 0.0) {
        (false, _) => Call::Undecided,
        (true, true) => Call::Higher,
        (true, false) => Call::Lower,
    }
}

/// The logarithm of a ratio that is called in a share `power` of such runs: it must be significant, and its
/// estimate must come out beyond what matters.
fn detectable(spread: &Spread, count: u32, level: f64, rule: Rule) -> f64 {
    let beyond = student_quantile(spread.freedom, rule.power) * spread.error(count);
    spread.detectable(count, level, rule.power).max(rule.margin() + beyond)
}

fn repeats_needed(one: &Difference, spread: &Spread, strict: f64, rule: Rule) -> Option<u32> {
    let margin = rule.margin();
    let distance = one.log.abs();
    let is_decided = |repeats: u32| {
        // more repeats know the variance better as well
        let freedom = spread.freedom * f64::from(repeats) / f64::from(one.count);
        let spread = Spread { freedom, ..*spread };
        let half = |level: f64| student_quantile(freedom, 0.5 + level / 2.0) * spread.error(repeats);
        if distance > margin { half(strict) < distance } else { distance + half(rule.level) <= margin }
    };
    first(one.count + 1, is_decided)
}

/// Repeats after which the interval of a mean, whose single repeats have this spread of logarithms, is no
/// wider to either side than `precision` (0.02: 2 %) of its value; `count` repeats gave the spread. `None`:
/// no number that is reasonable.
#[must_use]
pub fn repeats_for(spread: &Spread, count: u32, precision: f64, level: f64) -> Option<u32> {
    let wanted = precision.ln_1p();
    let is_narrow = |repeats: u32| {
        let freedom = spread.freedom * f64::from(repeats) / f64::from(count.max(1));
        let spread = Spread { freedom, ..*spread };
        student_quantile(freedom, 0.5 + level / 2.0) * spread.error(repeats) <= wanted
    };
    first(1, is_narrow)
}

/// The first number that will do; what will do for one number does for all higher ones.
fn first(from: u32, is_enough: impl Fn(u32) -> bool) -> Option<u32> {
    if !is_enough(REPEATS_MAX) {
        return None;
    }
    let (mut low, mut high) = (from.min(REPEATS_MAX), REPEATS_MAX);
    while low < high {
        let middle = low.midpoint(high);
        if is_enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { level: 0.95, power: 0.9, relevant: 0.03 };

    fn spread(deviation: f64, freedom: f64) -> Option<Spread> {
        Some(Spread { variance: deviation * deviation, freedom })
    }

    /// scipy 1.17.1: `ttest_ind(a, b, equal_var=False)` and its `confidence_interval(.95)` for `a =
    /// log([105.1, 104.2, 106.3])` and `b = log([99.8, 101.2, 100.4, 98.7])`.
    #[test]
    fn sides_with_nothing_in_common_are_welchs() {
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        let (a, b) = (logs(&[105.1, 104.2, 106.3]), logs(&[99.8, 101.2, 100.4, 98.7]));
        let side = |logs: &[f64]| {
            (logs.iter().sum::<f64>() / logs.len() as f64, Spread::of(logs), logs.len() as u32)
        };
        let difference = Difference::unpaired(side(&a), side(&b));
        let judged = judge(&[difference], RULE)[0];
        assert!((judged.p_value - 0.001_822_468_563_416_452_9).abs() < 1e-8, "{judged:?}");
        let (low, high) = judged.ratio.interval().unwrap();
        assert!(
            (low.ln() - 0.029_799_606_962_622_963).abs() < 1e-8
                && (high.ln() - 0.071_103_141_136_836_36).abs() < 1e-8,
            "{judged:?}"
        );
        assert_eq!(judged.call, Call::Higher);
    }

    #[test]
    fn a_difference_that_does_not_matter_is_not_called_however_sure_it_is() {
        let small = Difference::paired(0.01, spread(0.001, 50.0), 10);
        let judged = judge(&[small], RULE)[0];
        assert!(judged.p_value < 1e-6);
        assert_eq!(judged.call, Call::Same);
        // and where it matters, it is
        let strict = Rule { relevant: 0.005, ..RULE };
        assert_eq!(judge(&[small], strict)[0].call, Call::Higher);
    }

    #[test]
    fn nothing_known_is_undecided() {
        let judged = judge(&[Difference::paired(0.5, None, 1)], RULE)[0];
        assert_eq!((judged.call, judged.detectable, judged.repeats_needed), (Call::Undecided, None, None));
        assert_eq!(judged.ratio.interval(), None);
    }

    #[test]
    fn as_many_repeats_as_needed_decide() {
        for log in [0.05, -0.04, 0.0, 0.02] {
            let few = Difference::paired(log, spread(0.04, 4.0), 2);
            let judged = judge(&[few], RULE)[0];
            assert_eq!(judged.call, Call::Undecided, "{log}");
            let needed = judged.repeats_needed.expect("a number");
            assert!((3..200).contains(&needed), "{log}: {needed}");
            let freedom = 4.0 * f64::from(needed) / 2.0;
            let enough = Difference::paired(log, spread(0.04, freedom), needed);
            assert_ne!(judge(&[enough], RULE)[0].call, Call::Undecided, "{log}: {needed}");
        }
        // at the very border no number of repeats decides
        let border = Difference::paired(RULE.margin(), spread(0.04, 4.0), 2);
        assert_eq!(judge(&[border], RULE)[0].repeats_needed, None);
    }

    #[test]
    fn precision_takes_the_repeats_that_it_takes() {
        let known = spread(0.03, 4.0).unwrap();
        let needed = repeats_for(&known, 3, 0.02, 0.95).unwrap();
        let half = |repeats: u32| {
            let freedom = 4.0 * f64::from(repeats) / 3.0;
            let spread = Spread { freedom, ..known };
            spread.interval_of_exp(0.0, repeats, 0.95).high.unwrap() - 1.0
        };
        assert!(half(needed) <= 0.02 && half(needed - 1) > 0.02, "{needed}");
        assert_eq!(repeats_for(&known, 3, 1e-5, 0.95), None);
    }
}
