//! Coverage and error rates by simulation: what the intervals promise is what they keep.

use crate::{
    Estimate, Spread, batches, bend, change_points, holm, moderate, steady_from, transient, trend, variation,
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// Random numbers of the shapes that the simulations need.
struct Random(Xoshiro256PlusPlus);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// `length` values of an autoregressive series around 0 with standard deviation 1.
    fn series(&mut self, correlation: f64, length: usize) -> Vec<f64> {
        let mut state = self.normal();
        (0..length)
            .map(|_| {
                let fresh = self.normal() * (1.0 - correlation * correlation).sqrt();
                let next = state * correlation + fresh;
                std::mem::replace(&mut state, next)
            })
            .collect()
    }
}

fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.interval().is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// How the differences of one rung's repeats scatter.
#[derive(Debug, Clone, Copy)]
enum Noise {
    /// All rungs alike.
    Equal,
    /// The last of 8 rungs ten times noisier than the first.
    Rising,
    /// Each rung has its own, drawn again in each study.
    Wild,
    /// Equal, but with heavy tails (Student's t with 4 degrees of freedom).
    Heavy,
    /// Three of four rungs are quiet, the fourth five times as noisy.
    Two,
}

const NOISES: [Noise; 5] = [Noise::Equal, Noise::Rising, Noise::Wild, Noise::Heavy, Noise::Two];

/// Logarithms of ratios: `rungs` groups of `repeats`, the true ratio being 1.
fn ladder(noise: Noise, rungs: usize, repeats: usize, random: &mut Random) -> Vec<Vec<f64>> {
    (0..rungs)
        .map(|rung| {
            let deviation = match noise {
                Noise::Equal | Noise::Heavy => 0.03,
                Noise::Two if rung % 4 == 3 => 0.1,
                Noise::Two => 0.02,
                Noise::Rising => 0.01 * 10_f64.powf(rung as f64 / (rungs - 1) as f64),
                Noise::Wild => 0.03 * (0.7 * random.normal()).exp(),
            };
            let draw = |_| match noise {
                Noise::Heavy => {
                    let chi: f64 = (0..4).map(|_| random.normal().powi(2)).sum();
                    deviation * random.normal() / (chi / 4.0).sqrt()
                }
                _ => deviation * random.normal(),
            };
            (0..repeats).map(draw).collect()
        })
        .collect()
}

/// Shares of intervals that hold the truth, and of comparisons called different by Holm at 5 %.
fn rates(noise: Noise, repeats: usize, studies: usize) -> (f64, f64) {
    let mut random = Random::new(7 + repeats as u64);
    let (mut held, mut different, mut all) = (0, 0, 0);
    for _ in 0..studies {
        let groups = ladder(noise, 8, repeats, &mut random);
        let spreads: Vec<Spread> = moderate(&groups).into_iter().flatten().collect();
        let centres: Vec<f64> =
            groups.iter().map(|group| group.iter().sum::<f64>() / group.len() as f64).collect();
        let count = repeats as u32;
        let p_values: Vec<f64> =
            spreads.iter().zip(&centres).map(|(spread, &centre)| spread.p_value(centre, count)).collect();
        different += holm(&p_values).iter().filter(|p| **p < 0.05).count();
        held += spreads
            .iter()
            .zip(&centres)
            .filter(|(spread, centre)| covers(&spread.interval(**centre, count, 0.95), 0.0))
            .count();
        all += groups.len();
    }
    (held as f64 / all as f64, different as f64 / all as f64)
}

fn check_rates(studies: usize) {
    for noise in NOISES {
        for repeats in [2, 3, 5] {
            let (coverage, different) = rates(noise, repeats, studies);
            println!("{noise:?}, {repeats} repeats: coverage {coverage:.4}, different {different:.4}");
            assert!((0.92..=0.98).contains(&coverage), "{noise:?}, {repeats} repeats: coverage {coverage}");
            assert!(different <= 0.05, "{noise:?}, {repeats} repeats: {different} different");
        }
    }
}

/// Share of ladders of 8 rungs in which the difference that is called detectable was detected at one rung.
#[test]
fn what_is_called_detectable_is_detected() {
    let mut random = Random::new(23);
    let (studies, repeats, rungs) = (600, 3, 8);
    let mut found = 0;
    for _ in 0..studies {
        let mut groups = ladder(Noise::Equal, rungs, repeats, &mut random);
        let spread = Spread { variance: 0.03_f64.powi(2), freedom: 6.0 };
        let truth = spread.detectable(repeats as u32, 1.0 - 0.05 / rungs as f64, 0.9);
        groups[0].iter_mut().for_each(|value| *value += truth);
        let p_values: Vec<f64> = moderate(&groups)
            .into_iter()
            .flatten()
            .zip(&groups)
            .map(|(spread, group)| spread.p_value(group.iter().sum::<f64>() / repeats as f64, repeats as u32))
            .collect();
        found += usize::from(holm(&p_values)[0] < 0.05);
    }
    let power = found as f64 / f64::from(studies);
    println!("power {power:.3}");
    assert!(power > 0.8, "{power}");
}

#[test]
fn few_repeats_keep_their_promise() {
    check_rates(800);
}

#[test]
#[ignore = "long: fifty times as many studies"]
fn few_repeats_keep_their_promise_long() {
    check_rates(40_000);
}

/// Share of intervals by batches that hold the truth, for the mean of series with this correlation of
/// neighbours.
fn coverage_of_batches(correlation: f64, length: usize, studies: usize) -> f64 {
    let mut random = Random::new(3);
    let cuts = batches(length).expect("long enough");
    let mut held = 0;
    for _ in 0..studies {
        let series = random.series(correlation, length);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let means: Vec<f64> = cuts.iter().map(|cut| mean(&series[cut.clone()])).collect();
        let spread = Spread::of(&means).expect("several");
        held += usize::from(covers(&spread.interval(mean(&series), cuts.len() as u32, 0.95), 0.0));
    }
    held as f64 / studies as f64
}

#[test]
fn batches_bear_autocorrelation() {
    for (correlation, length, least) in [(0.0, 10, 0.92), (0.0, 60, 0.92), (0.3, 60, 0.92), (0.6, 120, 0.90)]
    {
        let coverage = coverage_of_batches(correlation, length, 3000);
        println!("correlation {correlation}, {length} seconds: coverage {coverage:.3}");
        assert!((least..=0.98).contains(&coverage), "correlation {correlation}: coverage {coverage}");
    }
}

#[test]
fn a_quantile_of_all_with_the_spread_of_its_sections_covers_the_truth() {
    let mut random = Random::new(5);
    // Three trials of 300 exponential response times whose level differs by 5 %, in each of 8 treatments.
    let quantile = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[(values.len() as f64 * 0.95) as usize].ln()
    };
    let truth = 20.0_f64.ln().ln();
    let (mut held, mut all) = (0, 0);
    for _ in 0..250 {
        let treatments: Vec<Vec<Vec<f64>>> = (0..8)
            .map(|_| {
                (0..3)
                    .map(|_| {
                        let level = (0.05 * random.normal()).exp();
                        (0..300).map(|_| level * random.exponential()).collect()
                    })
                    .collect()
            })
            .collect();
        let sections: Vec<Vec<f64>> = treatments
            .iter()
            .map(|trials| trials.iter().map(|trial| quantile(&mut trial.clone())).collect())
            .collect();
        for (spread, trials) in moderate(&sections).into_iter().flatten().zip(&treatments) {
            held += usize::from(covers(&spread.interval(quantile(&mut trials.concat()), 3, 0.95), truth));
            all += 1;
        }
    }
    let coverage = held as f64 / f64::from(all);
    println!("coverage {coverage:.3}");
    assert!((0.92..=0.98).contains(&coverage), "{coverage}");
}

/// Shares of histories without a change in which one is called, and of those with a step of `step` deviations
/// in the middle in which it is found within three places.
fn rates_of_changes(histories: u64, length: usize, step: f64) -> (f64, f64) {
    let mut random = Random::new(31);
    let (mut false_alarms, mut found) = (0, 0);
    for history in 0..histories {
        // heavy tails: now and then a night is spoilt
        let night = |random: &mut Random| {
            let chi: f64 = (0..5).map(|_| random.normal().powi(2)).sum();
            100.0 + random.normal() / (chi / 5.0).sqrt()
        };
        let mut values: Vec<f64> = (0..length).map(|_| night(&mut random)).collect();
        false_alarms += u64::from(!change_points(&values, 0.01, history).is_empty());
        values[length / 2..].iter_mut().for_each(|value| *value += step);
        let near =
            change_points(&values, 0.01, history).iter().any(|change| change.index.abs_diff(length / 2) <= 3);
        found += u64::from(near);
    }
    (false_alarms as f64 / histories as f64, found as f64 / histories as f64)
}

fn check_changes(histories: u64) {
    let (false_alarms, found) = rates_of_changes(histories, 30, 4.0);
    println!("changes: false alarms {false_alarms:.4}, found {found:.4}");
    assert!(false_alarms <= 0.03, "{false_alarms}");
    assert!(found >= 0.95, "{found}");
}

#[test]
fn changes_are_found_and_none_where_there_is_none() {
    check_changes(150);
}

#[test]
#[ignore = "long: ten times as many histories"]
fn changes_are_found_and_none_where_there_is_none_long() {
    check_changes(1500);
}

#[test]
fn drift_is_told_from_autocorrelation() {
    let mut random = Random::new(41);
    let studies = 1000;
    for (correlation, length) in [(0.0, 10), (0.0, 30), (0.3, 30), (0.6, 60), (0.6, 120)] {
        let (mut false_alarms, mut found) = (0, 0);
        for _ in 0..studies {
            let series: Vec<f64> =
                random.series(correlation, length).iter().map(|noise| 100.0 + 5.0 * noise).collect();
            let drifts = |series: &[f64]| {
                transient(series, 0.05).is_some()
                    || trend(series)
                        .is_some_and(|trend| trend.p_value < 0.01 && trend.change.value.abs() > 0.05)
            };
            false_alarms += usize::from(drifts(&series));
            let sloped: Vec<f64> = series
                .iter()
                .enumerate()
                .map(|(at, value)| value * (1.0 + 0.5 * at as f64 / length as f64))
                .collect();
            found += usize::from(drifts(&sloped));
        }
        let (false_alarms, found) =
            (false_alarms as f64 / f64::from(studies), found as f64 / f64::from(studies));
        println!(
            "drift, correlation {correlation}, {length} s: false alarms {false_alarms:.3}, found {found:.3}"
        );
        assert!(false_alarms <= 0.05, "correlation {correlation}, {length}: {false_alarms}");
        assert!(length < 30 || found > 0.8, "correlation {correlation}, {length}: {found}");
    }
}

#[test]
fn a_warm_up_ends_when_the_rest_is_level() {
    let mut random = Random::new(43);
    // from 40 % of its level up, with this time constant; the warm-up ends at the first second that may be
    // the last
    for time_constant in [0.1_f64, 3.0, 8.0, 20.0] {
        let (mut lasted, mut off, mut ended) = (0.0, 0.0_f64, 0);
        for _ in 0..200 {
            let series: Vec<f64> = random
                .series(0.3, 300)
                .iter()
                .enumerate()
                .map(|(at, noise)| 100.0 * (1.0 - 0.6 * (-(at as f64) / time_constant).exp()) + 3.0 * noise)
                .collect();
            let Some(end) = (1..=300).find(|&end| steady_from(&series[..end], 0.05).is_some()) else {
                continue;
            };
            ended += 1;
            lasted += end as f64;
            // how much too low the level is in the 30 s that follow
            let level = |at: usize| 1.0 - 0.6 * (-(at as f64) / time_constant).exp();
            off += (end..end + 30).map(|at| 1.0 - level(at)).sum::<f64>() / 30.0;
        }
        let (lasted, off) = (lasted / f64::from(ended), off / f64::from(ended));
        println!(
            "time constant {time_constant}: ended {ended} of 200, after {lasted:.1} s, level off by {off:.4}"
        );
        assert!(ended >= 195, "{ended}");
        assert!(off < 0.03, "{off}");
    }
}

/// Python 3: `statistics.linear_regression` and `statistics.stdev(v) / statistics.mean(v)`.
#[test]
fn a_bend_is_the_greatest_distance_from_the_line_and_variation_is_relative() {
    let falling = [(0.0, 3597.12), (10.0, 3067.48), (50.0, 1577.29), (100.0, 1121.08)];
    assert!((bend(&falling).expect("four places") - 0.1436942788998223).abs() < 1e-9);
    let straight = [(1.0, 5.0), (2.0, 7.0), (9.0, 21.0)];
    assert!(bend(&straight).expect("three places") < 1e-12);
    assert_eq!((bend(&straight[..2]), bend(&[(1.0, 2.0), (1.0, 3.0), (2.0, 4.0)])), (None, None));
    assert!((variation(&[10.0, 12.0, 9.0, 14.0]).expect("four") - 0.197_098_291_788_404_5).abs() < 1e-12);
    assert_eq!((variation(&[3.0]), variation(&[0.0, 0.0])), (None, None));
}
