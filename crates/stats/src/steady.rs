//! When a series becomes steady: how much of its beginning is warm-up, and whether the rest still drifts.
//!
//! Sources: K. P. White, *An effective truncation heuristic for bias reduction in simulation output*,
//! Simulation 69, 1997, and K. Hoad, S. Robinson, R. Davies, *Automated selection of the number of
//! replications / AutoSimOA*, Winter Simulation Conference 2008 (MSER-5: drop what makes the standard error
//! of the rest smallest; where that is half of it or more, the series is not steady). The trend is that of
//! batches' means, which hardly depend on each other ([`crate::batches`]), so that autocorrelation is not
//! taken for drift.

use crate::{Estimate, Spread, batches};
use std::ops::Range;

/// Values that MSER takes together in a long series.
const MSER_BATCH: usize = 5;
/// Batches from which on it is a long one.
const MSER_BATCHES_MIN: usize = 10;
/// Fewest values that can be called steady.
const LENGTH_MIN: usize = 10;
/// How far a beginning's mean lies from the rest's to be told from chance, in standard errors of independent
/// values. Many, for MSER has chosen the beginning, and seconds are not independent.
const APART: f64 = 6.0;
/// Level of the trend's interval.
const LEVEL: f64 = 0.95;

/// How a series drifts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// From the beginning to the end along a straight line, as a share of the mean, with a 95 % interval.
    pub change: Estimate,
    /// Probability of a slope as steep if there were none.
    pub p_value: f64,
}

/// The straight line through the means of a series' batches; `None` where it is too short (fewer than eight
/// values) or its mean is not above 0.
#[must_use]
pub fn trend(series: &[f64]) -> Option<Trend> {
    let mean = mean(series);
    let cuts = batches(series.len()).filter(|_| mean > 0.0)?;
    let count = cuts.len() as f64;
    let middle = |cut: &Range<usize>| (cut.start + cut.end - 1) as f64 / 2.0;
    let points: Vec<(f64, f64)> =
        cuts.iter().map(|cut| (middle(cut), self::mean(&series[cut.clone()]))).collect();
    let centre =
        points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let width: f64 = points.iter().map(|(x, _)| (x - centre.0).powi(2)).sum();
    let slope = points.iter().map(|(x, y)| (x - centre.0) * (y - centre.1)).sum::<f64>() / width;
    let off = |(x, y): &(f64, f64)| (y - centre.1 - slope * (x - centre.0)).powi(2);
    let variance = points.iter().map(off).sum::<f64>() / (count - 2.0) / width;
    let whole = series.len() as f64 / mean;
    let spread = Spread { variance: variance * whole * whole, freedom: count - 2.0 };
    let change = slope * whole;
    let interval = spread.interval(change, 1, LEVEL);
    Some(Trend {
        change: Estimate { observations: cuts.len() as u32, ..interval },
        p_value: spread.p_value(change, 1),
    })
}

/// Index from which on a series is steady: MSER drops less than half of it, and the rest, ten values or more,
/// changes along its trend by no more than `tolerance` (0.05: 5 %). `None`: it is not steady, or too short to
/// tell.
#[must_use]
pub fn steady_from(series: &[f64], tolerance: f64) -> Option<usize> {
    let from = truncation(series)?;
    let rest = Some(&series[from..]).filter(|rest| rest.len() >= LENGTH_MIN)?;
    // significance is not asked for: a trend that cannot be told from noise yet may be one
    (trend(rest)?.change.value.abs() <= tolerance).then_some(from)
}

/// The beginning that spoils a series of which the rest is steady: how many values, and the change from their
/// mean to that of the rest, as a share. `None` where there is none, or leaving it in would move the mean by
/// no more than a fifth of `tolerance`.
#[must_use]
pub fn transient(series: &[f64], tolerance: f64) -> Option<(usize, f64)> {
    let from = steady_from(series, tolerance).filter(|from| *from > 0)?;
    let (head, rest) = series.split_at(from);
    let (cold, level) = (mean(head), mean(rest));
    let deviation = Spread::of(rest)?.variance.sqrt();
    let is_apart = (level - cold).abs() > APART * deviation / (from as f64).sqrt();
    let spoils = (mean(series) / level - 1.0).abs() > tolerance / 5.0;
    (is_apart && spoils && cold > 0.0).then(|| (from, level / cold - 1.0))
}

/// What MSER drops; `None` where it is half of the series.
fn truncation(series: &[f64]) -> Option<usize> {
    let is_long = series.len() >= MSER_BATCH * MSER_BATCHES_MIN;
    let size = if is_long { MSER_BATCH } else { 1 };
    let means: Vec<f64> = series.chunks_exact(size).map(mean).collect();
    let error = |from: usize| {
        let rest = &means[from..];
        let centre = mean(rest);
        rest.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    let half = means.len() / 2;
    let best = (0..=half).map(|from| (from, error(from))).min_by(|one, other| one.1.total_cmp(&other.1));
    best.map(|(from, _)| from).filter(|&from| from < half).map(|from| from * size)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `linregress(t, m)` with the means `m` of 4 batches of 5 and their middles `t = [2, 7,
    /// 12, 17]`; the change is `slope * 20 / mean(x)`, half its interval `t.ppf(.975, 2) * stderr * 20 /
    /// mean(x)`.
    #[test]
    fn a_trend_is_scipys_regression_of_the_batches() {
        let rising = [
            100, 104, 103, 107, 109, 108, 112, 115, 113, 118, 117, 121, 119, 124, 125, 123, 128, 130, 129,
            133,
        ];
        let level =
            [100, 104, 103, 99, 101, 108, 102, 95, 93, 98, 107, 101, 109, 104, 105, 103, 98, 100, 109, 103];
        for (series, change, half, p_value) in [
            (rising, 0.273_738_237_810_094_1, 0.027_933_993_375_704_29, 0.000_562_025_835_133_761_5),
            (level, 0.037_610_186_092_066_47, 0.200_530_046_473_990_97, 0.504_390_276_661_361),
        ] {
            let found = trend(&series.map(f64::from)).expect("long enough");
            assert!((found.change.value - change).abs() < 1e-9, "{found:?}");
            assert!((found.change.high.expect("high") - change - half).abs() < 1e-7, "{found:?}");
            assert!((found.p_value - p_value).abs() < 1e-7, "{found:?}");
        }
    }

    #[test]
    fn a_beginning_that_is_not_like_the_rest_is_dropped() {
        let cold = |length: usize| {
            let noise = |at: usize| ((at * 7) % 5) as f64 * 10.0;
            (0..length).map(|at| 1000.0 - 700.0 * (-(at as f64) / 2.0).exp() + noise(at)).collect::<Vec<_>>()
        };
        let from = steady_from(&cold(30), 0.05).expect("steady");
        assert!((4..=14).contains(&from), "{from}");
        assert_eq!(steady_from(&cold(9), 0.05), None, "too short to tell");
        let rising: Vec<f64> = (0..40).map(|at| 100.0 + f64::from(at)).collect();
        assert_eq!(steady_from(&rising, 0.05), None, "it rises to the end");
        let (spoilt, change) = transient(&cold(30), 0.05).expect("it spoils the mean");
        assert!(spoilt == from && change > 0.2, "{spoilt} {change}");
        assert_eq!(transient(&[5.0; 20], 0.05), None);
        assert_eq!(steady_from(&[5.0; 20], 0.05), Some(0));
        assert_eq!(steady_from(&[0.0; 20], 0.05), None, "nothing happens");
    }
}
