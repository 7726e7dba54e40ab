//! How throughput grows with concurrency: the universal scalability law.
//!
//! `X(N) = g N / (1 + a (N - 1) + b N (N - 1))`: g is the throughput of one, a the share that queues for
//! something serial (contention), b what each pays for every other one (coherency). N. J. Gunther, *Guerrilla
//! Capacity Planning*, 2007, chapter 4; three coefficients as in N. J. Gunther, P. Puglia, K. Tomasette,
//! *Hadoop superlinear scalability*, ACM Queue 13(5), 2015.

use crate::Estimate;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewest different concurrencies for a fit: three coefficients and one to contradict them.
const LEVELS_MIN: usize = 4;
/// Steps of the refinement; it settles in fewer than ten.
const STEPS_MAX: usize = 100;
/// Relative change below which it has settled.
const SETTLED: f64 = 1e-12;

/// A fitted law.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalability {
    /// Throughput of one: g.
    pub single: Estimate,
    /// Contention: a, 0 or more.
    pub contention: Estimate,
    /// Coherency: b, 0 or more.
    pub coherency: Estimate,
    /// Concurrency of the highest throughput, `sqrt((1 - a) / b)`; `None` where the law has no top.
    pub peak: Option<Estimate>,
    /// Observed over fitted throughput less one, in the order of the observations: how far off the law is at
    /// each.
    pub residuals: Vec<f64>,
}

impl Scalability {
    /// Fits the law to observations of concurrency (1 or more) and throughput (above 0) by least squares of
    /// the logarithm of throughput, that is of relative errors. Intervals are those of non-linear regression
    /// (Student's t with n less the number of coefficients as degrees of freedom); that of the peak is by the
    /// delta method on its logarithm. A coefficient at its bound of 0 is no part of the law: it has no
    /// interval, and the others have those of the law without it. `None` where there are fewer than four
    /// different concurrencies, or values that are not positive.
    ///
    /// The law holds for closed loops without errors, below the client's own limit: leave other points out
    /// beforehand.
    #[must_use]
    pub fn fit(observations: &[(f64, f64)], level: f64) -> Option<Self> {
        let good = |&(n, x): &(f64, f64)| n.is_finite() && x.is_finite() && n >= 1.0 && x > 0.0;
        if !observations.iter().all(good) || levels(observations) < LEVELS_MIN {
            return None;
        }
        // a coefficient at its bound of 0 is left out, and the others fitted without it
        let (free, law) = [[true, true], [true, false], [false, true], [false, false]]
            .into_iter()
            .filter_map(|free| Some((free, refine(observations, start(observations, free)?, free)?)))
            .filter(|(_, law)| law.contention >= 0.0 && law.coherency >= 0.0 && law.contention <= 1.0)
            .min_by(|(_, one), (_, other)| one.loss(observations).total_cmp(&other.loss(observations)))?;
        Some(law.with_intervals(observations, free, level))
    }

    /// Throughput that the law expects at concurrency `n`.
    #[must_use]
    pub fn at(&self, n: f64) -> f64 {
        let law = Law {
            single: self.single.value,
            contention: self.contention.value,
            coherency: self.coherency.value,
        };
        law.at(n)
    }
}

fn levels(observations: &[(f64, f64)]) -> usize {
    let mut levels: Vec<f64> = observations.iter().map(|(n, _)| *n).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels.len()
}

#[derive(Debug, Clone, Copy)]
struct Law {
    single: f64,
    contention: f64,
    coherency: f64,
}

impl Law {
    fn divisor(&self, n: f64) -> f64 {
        1.0 + self.contention * (n - 1.0) + self.coherency * n * (n - 1.0)
    }

    fn at(&self, n: f64) -> f64 {
        self.single * n / self.divisor(n)
    }

    /// Sum of squared logarithms of observed over expected.
    fn loss(&self, observations: &[(f64, f64)]) -> f64 {
        observations.iter().map(|(n, x)| (x / self.at(*n)).ln().powi(2)).sum()
    }

    /// Derivatives of `ln X` by ln g, a and b.
    fn gradient(&self, n: f64) -> [f64; 3] {
        let divisor = self.divisor(n);
        [1.0, -(n - 1.0) / divisor, -n * (n - 1.0) / divisor]
    }

    fn with_intervals(self, observations: &[(f64, f64)], free: [bool; 2], level: f64) -> Scalability {
        let active = [true, free[0], free[1]];
        let count = observations.len() as u32;
        let coefficients = active.into_iter().filter(|is_active| *is_active).count();
        let freedom = observations.len() as f64 - coefficients as f64;
        let gradients: Vec<[f64; 3]> = observations.iter().map(|(n, _)| self.gradient(*n)).collect();
        let spread = self.loss(observations) / freedom.max(1.0);
        let inverse = (freedom >= 1.0).then(|| invert(normal_matrix(&gradients, active))).flatten();
        let quantile = StudentsT::new(0.0, 1.0, freedom.max(1.0))
            .map_or(f64::NAN, |student| student.inverse_cdf(f64::midpoint(level, 1.0)));
        let half = |place: usize| {
            inverse
                .filter(|_| active[place])
                .map_or(f64::NAN, |of| quantile * (spread * of[place][place]).sqrt())
        };
        let above_zero = |value: f64, half: f64| {
            if half.is_nan() {
                return Estimate::bare(value, level, count);
            }
            Estimate::between(value, (value - half).max(0.0), value + half, level, count)
        };
        let Self { single, contention, coherency } = self;
        let peak = (coherency > 0.0 && contention < 1.0).then(|| {
            let value = ((1.0 - contention) / coherency).sqrt().max(1.0);
            // ln N* = (ln(1 - a) - ln b) / 2
            let of_contention = if active[1] { -0.5 / (1.0 - contention) } else { 0.0 };
            let slope = [of_contention, -0.5 / coherency];
            let half = inverse.map_or(f64::NAN, |of| {
                let variance = slope[0] * slope[0] * of[1][1]
                    + slope[1] * slope[1] * of[2][2]
                    + 2.0 * slope[0] * slope[1] * of[1][2];
                quantile * (spread * variance).sqrt()
            });
            Estimate::between(value, value * (-half).exp(), value * half.exp(), level, count)
        });
        let log_half = half(0);
        Scalability {
            single: Estimate::between(
                single,
                single * (-log_half).exp(),
                single * log_half.exp(),
                level,
                count,
            ),
            contention: above_zero(contention, half(1)),
            coherency: above_zero(coherency, half(2)),
            peak,
            residuals: observations.iter().map(|(n, x)| x / self.at(*n) - 1.0).collect(),
        }
    }
}

/// A beginning for the refinement: `N / X` is linear in `1/g`, `a/g` and `b/g`, so relative errors of it have
/// an exact answer.
fn start(observations: &[(f64, f64)], free: [bool; 2]) -> Option<Law> {
    let active = [true, free[0], free[1]];
    let rows: Vec<[f64; 3]> =
        observations.iter().map(|(n, x)| [1.0, n - 1.0, n * (n - 1.0)].map(|term| term / (n / x))).collect();
    let mut right = [0.0; 3];
    for row in &rows {
        right.iter_mut().zip(row).for_each(|(sum, term)| *sum += term);
    }
    let solution = solve(normal_matrix(&rows, active), right, active)?;
    (solution[0] > 0.0).then(|| Law {
        single: 1.0 / solution[0],
        contention: solution[1] / solution[0],
        coherency: solution[2] / solution[0],
    })
}

/// Gauss and Newton's steps on the logarithms, halved until they help.
fn refine(observations: &[(f64, f64)], mut law: Law, free: [bool; 2]) -> Option<Law> {
    let active = [true, free[0], free[1]];
    for _ in 0..STEPS_MAX {
        let gradients: Vec<[f64; 3]> = observations.iter().map(|(n, _)| law.gradient(*n)).collect();
        let mut right = [0.0; 3];
        for (gradient, (n, x)) in gradients.iter().zip(observations) {
            let residual = (x / law.at(*n)).ln();
            right.iter_mut().zip(gradient).for_each(|(sum, term)| *sum += term * residual);
        }
        let step = solve(normal_matrix(&gradients, active), right, active)?;
        let loss = law.loss(observations);
        let shortened = (0..30).map(|halvings| 0.5_f64.powi(halvings)).find_map(|share| {
            let next = Law {
                single: law.single * (share * step[0]).exp(),
                contention: law.contention + share * step[1],
                coherency: law.coherency + share * step[2],
            };
            let is_law = observations.iter().all(|(n, _)| next.divisor(*n) > 0.0);
            (is_law && next.loss(observations) <= loss).then_some(next)
        });
        let Some(next) = shortened else { break };
        law = next;
        if loss - law.loss(observations) <= SETTLED * loss {
            break;
        }
    }
    Some(law)
}

/// Products of all columns; a column that is not active is that of the unit matrix.
fn normal_matrix(rows: &[[f64; 3]], active: [bool; 3]) -> [[f64; 3]; 3] {
    let mut matrix = [[0.0; 3]; 3];
    for (i, line) in matrix.iter_mut().enumerate() {
        for (j, cell) in line.iter_mut().enumerate() {
            *cell = if active[i] && active[j] {
                rows.iter().map(|row| row[i] * row[j]).sum()
            } else {
                f64::from(u8::from(i == j))
            };
        }
    }
    matrix
}

fn solve(matrix: [[f64; 3]; 3], right: [f64; 3], active: [bool; 3]) -> Option<[f64; 3]> {
    let inverse = invert(matrix)?;
    let right = [0, 1, 2].map(|place| if active[place] { right[place] } else { 0.0 });
    Some(inverse.map(|line| line.iter().zip(right).map(|(cell, value)| cell * value).sum()))
}

/// Inverse by cofactors, of the matrix scaled to a unit diagonal: the columns differ by the square of the
/// concurrency.
fn invert(matrix: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let scale = [0, 1, 2].map(|place: usize| matrix[place][place].sqrt());
    if scale.iter().any(|&scale| scale.is_nan() || scale <= 0.0) {
        return None;
    }
    let unit = |i: usize, j: usize| matrix[i][j] / (scale[i] * scale[j]);
    let cofactor = |i: usize, j: usize| {
        let (a, b) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((j + 1) % 3, (j + 2) % 3);
        unit(a, c) * unit(b, d) - unit(a, d) * unit(b, c)
    };
    let determinant: f64 = (0..3).map(|j| unit(0, j) * cofactor(0, j)).sum();
    if determinant.abs() < f64::EPSILON {
        return None;
    }
    Some([0, 1, 2].map(|i| [0, 1, 2].map(|j| cofactor(j, i) / determinant / (scale[i] * scale[j]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    fn close(value: f64, wanted: f64, tolerance: f64) {
        assert!((value / wanted - 1.0).abs() < tolerance, "{value}, wanted {wanted}");
    }

    #[test]
    fn a_perfect_law_is_found_again() {
        let law = Law { single: 1000.0, contention: 0.03, coherency: 0.0004 };
        let observations = LADDER.map(|n| (n, law.at(n)));
        let fitted = Scalability::fit(&observations, 0.95).expect("a fit");
        close(fitted.single.value, 1000.0, 1e-6);
        close(fitted.contention.value, 0.03, 1e-6);
        close(fitted.coherency.value, 0.0004, 1e-6);
        close(fitted.peak.expect("a top").value, (0.97_f64 / 0.0004).sqrt(), 1e-6);
        assert!(fitted.residuals.iter().all(|residual| residual.abs() < 1e-6));
    }

    /// scipy 1.17.1: `curve_fit(lambda n, lg, a, b: lg + log(n) - log(1 + a*(n-1) + b*n*(n-1)), N, log(X),
    /// p0=(log(1000), .05, .001))`; intervals: `popt +- t.ppf(.975, 5) * sqrt(diag(pcov))`.
    #[test]
    fn a_noisy_law_has_scipys_coefficients_and_intervals() {
        let throughput = [995.0, 1912.0, 3580.0, 6010.0, 9350.0, 11_900.0, 12_400.0, 10_100.0];
        let observations: Vec<_> = LADDER.into_iter().zip(throughput).collect();
        let fitted = Scalability::fit(&observations, 0.95).expect("a fit");
        close(fitted.single.value, 997.426079, 1e-5);
        close(fitted.single.low.expect("low"), 982.958576, 1e-4);
        close(fitted.contention.value, 0.04134554, 1e-5);
        close(fitted.contention.high.expect("high"), 0.04389755, 1e-4);
        close(fitted.coherency.value, 0.0003909911, 1e-5);
        close(fitted.coherency.low.expect("low"), 0.0003647449, 1e-4);
        let peak = fitted.peak.expect("a top");
        close(peak.value, 49.516236, 1e-5);
        close(peak.high.expect("high"), 51.159232, 1e-4);
    }

    #[test]
    fn what_does_not_fall_has_no_top_and_bounds_hold() {
        let observations = LADDER.map(|n| (n, 1000.0 * n / (1.0 + 0.1 * (n - 1.0))));
        let fitted = Scalability::fit(&observations, 0.95).expect("a fit");
        assert!(fitted.coherency.value < 1e-9, "{:?}", fitted.coherency);
        // faster than linear: no contention below 0 is reported
        let observations = LADDER.map(|n| (n, 1000.0 * n.powf(1.05)));
        let fitted = Scalability::fit(&observations, 0.95).expect("a fit");
        assert_eq!((fitted.contention.value, fitted.coherency.value), (0.0, 0.0));
        assert_eq!(fitted.peak, None);
    }

    /// scipy 1.17.1, of the law without the coefficient that is at its bound: `curve_fit(lambda n, lg, a:
    /// lg + log(n) - log(1 + a*(n-1)), N, log(X), p0=(log(1000), .1))`, the same with `b*n*(n-1)`, and
    /// without either; intervals: `popt +- t.ppf(.975, 8 - len(popt)) * sqrt(diag(pcov))`; the peak is
    /// `1 / sqrt(b)`, its interval by the delta method on its logarithm.
    #[test]
    fn a_coefficient_at_its_bound_leaves_the_interval_of_the_law_without_it() {
        let fit = |throughput: [f64; 8]| {
            let observations: Vec<_> = LADDER.into_iter().zip(throughput).collect();
            Scalability::fit(&observations, 0.95).expect("a fit")
        };
        let ends = |estimate: Estimate, low: f64, high: f64| {
            let interval = estimate.interval().expect("an interval");
            close(interval.0, low, 1e-5);
            close(interval.1, high, 1e-5);
        };
        let serial = fit([985.0, 1840.0, 3050.0, 4790.0, 6300.0, 7950.0, 8660.0, 9640.0]);
        assert_eq!((serial.coherency.value, serial.coherency.interval(), serial.peak), (0.0, None, None));
        close(serial.single.value, 994.724_130_9, 1e-6);
        ends(serial.single, 966.754_784_4, 1_023.502_663_3);
        close(serial.contention.value, 0.098_214_124_4, 1e-6);
        ends(serial.contention, 0.093_432_515_06, 0.102_995_733_74);
        let coherent = fit([990.0, 2030.0, 4150.0, 8200.0, 15_800.0, 29_000.0, 40_500.0, 39_500.0]);
        assert_eq!((coherent.contention.value, coherent.contention.interval()), (0.0, None));
        ends(coherent.single, 1_000.342_890_9, 1_040.246_153_8);
        close(coherent.coherency.value, 0.000_143_488_111_5, 1e-6);
        ends(coherent.coherency, 0.000_133_573_759_2, 0.000_153_402_463_7);
        let peak = coherent.peak.expect("a top");
        close(peak.value, 83.481_845_29, 1e-6);
        ends(peak, 80.646_994_91, 86.416_344_48);
        let free =
            fit([1010.0, 2049.825, 4308.529, 8832.173, 18_562.965, 37_674.081, 78_793.242, 163_143.76]);
        close(free.single.value, 1_128.932_651_7, 1e-6);
        ends(free.single, 1_052.530_799, 1_210.880_416_2);
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(Scalability::fit(&[(1.0, 10.0), (2.0, 19.0), (4.0, 35.0), (4.0, 36.0)], 0.95), None);
        assert_eq!(Scalability::fit(&LADDER.map(|n| (n, 0.0)), 0.95), None);
    }
}
