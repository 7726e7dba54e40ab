//! Where a history changed: nightly runs, one version after another.
//!
//! E-divisive means: the place where the values before and after it differ most, by the energy statistic, is
//! a change if shuffled histories hardly ever have one that is as large; then each part is examined in the
//! same way. Nothing is assumed about how values scatter. Values must be nearly independent, as a shuffle
//! ignores their order: those of nightly runs nearly are, those of seconds are not.
//!
//! Sources: D. S. Matteson, N. A. James, *A nonparametric approach for multiple change point analysis of
//! multivariate data*, JASA 109, 2014; its use for benchmarks: D. Daly et al., *The use of change point
//! detection to identify software performance regressions in a continuous integration system*, ICPE 2020;
//! stopping the shuffles as soon as the outcome is clear: J. Besag, P. Clifford, *Sequential Monte Carlo
//! p-values*, Biometrika 78, 1991.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// Fewest values on each side of a change: the energy of fewer says nothing.
const SIDE_MIN: usize = 3;
/// Shuffled histories that a change is compared with.
const SHUFFLES: u32 = 999;
/// Most changes that are looked for: a history of which more is true has no level at all.
const CHANGES_MAX: usize = 50;

/// A place where a history changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub index: usize,
    /// Probability of a change as clear as this in a history without any.
    pub p_value: f64,
    /// Mean from the last change (or the beginning) to this one.
    pub before: f64,
    /// Mean from this one to the next (or the end).
    pub after: f64,
}

impl ChangePoint {
    /// The new level less the old one, as a share of the old one.
    #[must_use]
    pub fn change(&self) -> f64 {
        self.after / self.before - 1.0
    }
}

/// The changes of a history in its order. `significance`: the risk of calling one where there is none (0.01
/// is usual). The same seed gives the same answer. Fewer than six values have none.
#[must_use]
pub fn change_points(values: &[f64], significance: f64, seed: u64) -> Vec<ChangePoint> {
    if values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut cuts: Vec<(usize, f64)> = Vec::new();
    while cuts.len() < CHANGES_MAX {
        let parts = parts(values.len(), &cuts);
        let mut clearest: Option<(usize, f64)> = None;
        for part in &parts {
            let split = split(&values[part.clone()]).map(|(at, energy)| (part.start + at, energy));
            clearest = [clearest, split].into_iter().flatten().max_by(|one, other| one.1.total_cmp(&other.1));
        }
        let Some((at, energy)) = clearest.filter(|(_, energy)| *energy > 0.0) else { break };
        let Some(p_value) = p_value(values, &parts, energy, significance, &mut random) else { break };
        cuts.push((at, p_value));
        cuts.sort_by_key(|(at, _)| *at);
    }
    let parts = parts(values.len(), &cuts);
    let mean =
        |part: &std::ops::Range<usize>| values[part.clone()].iter().sum::<f64>() / part.len().max(1) as f64;
    cuts.iter()
        .zip(parts.windows(2))
        .map(|(&(index, p_value), parts)| ChangePoint {
            index,
            p_value,
            before: mean(&parts[0]),
            after: mean(&parts[1]),
        })
        .collect()
}

fn parts(length: usize, cuts: &[(usize, f64)]) -> Vec<std::ops::Range<usize>> {
    let begins = std::iter::once(0).chain(cuts.iter().map(|(at, _)| *at));
    let ends = cuts.iter().map(|(at, _)| *at).chain(std::iter::once(length));
    begins.zip(ends).map(|(begin, end)| begin..end).collect()
}

/// Share of shuffled histories in which some part has as clear a split; `None` as soon as it is more than
/// `significance`.
fn p_value(
    values: &[f64],
    parts: &[std::ops::Range<usize>],
    energy: f64,
    significance: f64,
    random: &mut Xoshiro256PlusPlus,
) -> Option<f64> {
    let mut shuffled = values.to_vec();
    let mut as_clear = 1_u32;
    for _ in 0..SHUFFLES {
        let is_as_clear = parts.iter().any(|part| {
            let part = &mut shuffled[part.clone()];
            shuffle(part, random);
            split(part).is_some_and(|(_, other)| other >= energy)
        });
        as_clear += u32::from(is_as_clear);
        if f64::from(as_clear) > significance * f64::from(SHUFFLES + 1) {
            return None;
        }
    }
    Some(f64::from(as_clear) / f64::from(SHUFFLES + 1))
}

/// Fisher and Yates's shuffle. The bias of the remainder is far below what [`SHUFFLES`] can see.
fn shuffle(values: &mut [f64], random: &mut Xoshiro256PlusPlus) {
    for last in (1..values.len()).rev() {
        let other = (random.next_u64() % (last as u64 + 1)) as usize;
        values.swap(last, other);
    }
}

/// Where a series is best cut in two, and the energy between both sides (Matteson and James, equation 7, with
/// exponent 1).
fn split(values: &[f64]) -> Option<(usize, f64)> {
    let count = values.len();
    if count < 2 * SIDE_MIN {
        return None;
    }
    let distances = |to: f64, of: &[f64]| of.iter().map(|value| (value - to).abs()).sum::<f64>();
    let mut left = 0.0;
    let mut between = 0.0;
    let mut right: f64 =
        values.iter().enumerate().map(|(place, &value)| distances(value, &values[place + 1..])).sum();
    let mut best: Option<(usize, f64)> = None;
    for at in 1..=count - SIDE_MIN {
        // the value before `at` goes from the right side to the left one
        let moved = values[at - 1];
        let (to_left, to_right) = (distances(moved, &values[..at - 1]), distances(moved, &values[at..]));
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if at < SIDE_MIN {
            continue;
        }
        let (one, other) = (at as f64, (count - at) as f64);
        let pairs = |of: f64| of * (of - 1.0) / 2.0;
        let difference = 2.0 * between / (one * other) - left / pairs(one) - right / pairs(other);
        let energy = one * other / (one + other) * difference;
        if best.is_none_or(|(_, most)| energy > most) {
            best = Some((at, energy));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAIRS: [f64; 24] = [
        101.2, 99.8, 100.4, 98.9, 101.7, 100.1, 99.2, 100.9, 110.3, 111.8, 109.4, 110.9, 112.1, 110.2, 109.9,
        111.0, 104.8, 105.9, 104.1, 105.2, 106.3, 104.4, 105.0, 105.7,
    ];

    /// signal-processing-algorithms 2.1.6 (MongoDB): `e_divisive(numpy.array(STAIRS), pvalue=0.01,
    /// permutations=999)` is `[8, 16]`. The energy, in numpy: `X, Y = a[:8], a[8:]; m, n = len(X),
    /// len(Y); m*n/(m+n) * (abs(X[:,None]-Y).mean()*2 - abs(X[:,None]-X).sum()/(m*(m-1)) -
    /// abs(Y[:,None]-Y).sum()/(n*(n-1)))`.
    #[test]
    fn stairs_are_found_where_mongodbs_program_finds_them() {
        let (at, energy) = split(&STAIRS).unwrap();
        assert_eq!(at, 8);
        assert!((energy - 57.151_746_031_746_01).abs() < 1e-9, "{energy}");
        let found = change_points(&STAIRS, 0.01, 1);
        assert_eq!(found.iter().map(|change| change.index).collect::<Vec<_>>(), [8, 16]);
        assert_eq!(found, change_points(&STAIRS, 0.01, 1), "the same seed gives the same");
        assert!((found[0].change() - 0.104).abs() < 0.001, "{found:?}");
        assert!(found.iter().all(|change| change.p_value <= 0.01));
    }

    #[test]
    fn too_little_or_nothing_has_no_change() {
        assert!(change_points(&[], 0.05, 1).is_empty());
        assert!(change_points(&[1.0, 1.0, 1.0, 9.0, 9.0], 0.05, 1).is_empty());
        assert!(change_points(&[5.0; 40], 0.05, 1).is_empty());
        assert!(change_points(&[1.0, f64::NAN, 1.0, 9.0, 9.0, 9.0, 9.0], 0.05, 1).is_empty());
        // six values have 20 arrangements: the clearest has a probability of 2/20
        assert!(change_points(&[1.0, 1.1, 0.9, 9.0, 9.1, 8.9], 0.05, 1).is_empty());
    }
}
