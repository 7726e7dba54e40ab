//! Random values: one generator for each connection, and the distributions of sysbench 1.0.20 (and its later
//! Zipfian).
//!
//! Equal distributions are promised, not equal sequences: sysbench itself seeds its threads in a racy order.
//! Formulas: sysbench's documented behaviour; Zipfian by rejection-inversion (W. Hörmann, G. Derflinger,
//! "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996).

use crate::spec::Distribution;
use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of one connection.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The generator of connection `connection` of stream `stream` under `seed`: the same on any thread and
    /// host.
    #[must_use]
    pub fn for_connection(seed: u64, stream: u32, connection: u32) -> Self {
        let place = (u64::from(stream) << 32) | u64::from(connection);
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ mix(place.wrapping_add(0x9E37_79B9_7F4A_7C15)))))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in 0 to 1, 1 excluded; 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// An integer in 0 to `count` - 1, all as likely (multiply-shift; the bias is below `count` / 2^64).
    #[inline]
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }
}

/// Stafford's finaliser "Mix13", as in SplitMix64: spreads nearby seeds over all 64 bits.
#[must_use]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The generator of one column in row `number` of a table: `key` is the column's own.
#[must_use]
pub fn of_row(key: u64, number: u64) -> Random {
    Random::for_connection(mix(key.wrapping_add(mix(number))), 0, 0)
}

/// A distribution over the integers from `min` to `max`, with what can be computed beforehand.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampler {
    min: i64,
    /// `max - min + 1`; above 0.
    count: u64,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Uniform,
    Gaussian { iterations: u32 },
    Special { iterations: u32, hot_share: f64, hot_draws: f64 },
    Pareto { power: f64 },
    Zipfian(Zipfian),
    Latest(Zipfian),
    NonUniform { a: u64, c: u64, min: u64 },
}

impl Sampler {
    /// A sampler for `min` to `max`, both included. `max` below `min` is taken as `min`.
    #[must_use]
    pub fn new(min: i64, max: i64, distribution: Distribution) -> Self {
        let count = (i128::from(max.max(min)) - i128::from(min) + 1).min(i128::from(u64::MAX)) as u64;
        let shape = match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { iterations } => Shape::Gaussian { iterations: iterations.max(1) },
            Distribution::Special { iterations, hot_set_percent, hot_draws_percent } => Shape::Special {
                iterations: iterations.max(1),
                hot_share: f64::from(hot_set_percent.min(100)) / 100.0,
                hot_draws: f64::from(hot_draws_percent.min(99)) / 100.0,
            },
            Distribution::Pareto { h } => Shape::Pareto { power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(count, exponent)),
            Distribution::Latest { exponent } => Shape::Latest(Zipfian::new(count, exponent)),
            Distribution::NonUniform { a, c } => {
                Shape::NonUniform { a: a.into(), c: c.into(), min: u64::try_from(min).unwrap_or(0) }
            }
        };
        Self { min, count, shape }
    }

    /// Draws one.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> i64 {
        let offset = match &self.shape {
            Shape::Uniform => random.below(self.count),
            Shape::Gaussian { iterations } => bell(random, *iterations, self.count as f64),
            Shape::Special { iterations, hot_share, hot_draws } => {
                self.special(random, *iterations, *hot_share, *hot_draws)
            }
            Shape::Pareto { power } => (self.count as f64 * random.unit().powf(*power)) as u64,
            Shape::Zipfian(zipfian) => zipfian.rank(random) - 1,
            Shape::Latest(zipfian) => self.count.saturating_sub(zipfian.rank(random)),
            Shape::NonUniform { a, c, min } => {
                let number = random.below(a + 1) | (min + random.below(self.count));
                (number + c) % self.count
            }
        };
        self.min.wrapping_add(offset.min(self.count - 1) as i64)
    }

    /// sysbench's `special`, its quirk included: the number that chose between the bell and the hot set also
    /// places the draw within the hot set, so that the first quarter of the hot set is hardly used.
    fn special(&self, random: &mut Random, iterations: u32, hot_share: f64, hot_draws: f64) -> u64 {
        let span = (self.count - 1) as f64;
        let range = span / (1.0 - hot_draws);
        let unit = random.unit();
        if unit * range < span {
            return bell(random, iterations, span);
        }
        let hot = (span * hot_share).floor();
        (unit * (hot + 1.0) + (span / 2.0).floor() - (span * hot_share / 2.0).floor()) as u64
    }
}

/// Mean of `iterations` uniform numbers below `span`, rounded down (Irwin–Hall).
fn bell(random: &mut Random, iterations: u32, span: f64) -> u64 {
    let sum: f64 = (0..iterations).map(|_| random.unit() * span).sum();
    (sum / f64::from(iterations)) as u64
}

/// Ranks from 1 to `count`; rank r comes with a frequency proportional to r^-exponent.
#[derive(Debug, Clone, PartialEq)]
struct Zipfian {
    exponent: f64,
    count: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipfian {
    fn new(count: u64, exponent: f64) -> Self {
        let mut zipfian =
            Self { exponent, count: count as f64, integral_first: 0.0, integral_last: 0.0, shortcut: 0.0 };
        zipfian.integral_first = zipfian.integral(1.5) - 1.0;
        zipfian.integral_last = zipfian.integral(zipfian.count + 0.5);
        zipfian.shortcut = 2.0 - zipfian.inverse(zipfian.integral(2.5) - zipfian.density(2.0));
        zipfian
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Integral of the density; (x^(1-e) - 1) / (1-e), and ln x where e = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.exponent) * log;
        if power.abs() < 1e-8 { log * (1.0 + power / 2.0) } else { log * power.exp_m1() / power }
    }

    fn inverse(&self, y: f64) -> f64 {
        let power = (y * (1.0 - self.exponent)).max(-1.0);
        if power.abs() < 1e-8 { (y * (1.0 - power / 2.0)).exp() } else { (y * power.ln_1p() / power).exp() }
    }

    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let point = self.integral_last + random.unit() * (self.integral_first - self.integral_last);
            let x = self.inverse(point);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.shortcut || point >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }
}

/// The largest prime below 2^32; it is 3 modulo 4, which makes quadratic residues a permutation.
const PRIME: u64 = 4_294_967_291;

/// Number `index` of a sequence that visits every 32-bit number once in an order that looks random (J.
/// Preshing, "How to generate a sequence of unique random integers", 2012; what sysbench's `unique` does).
#[must_use]
pub fn unique(index: u32) -> u32 {
    let start = permute(permute(UNIQUE_SEED).wrapping_add(0x682F_0161));
    let offset = permute(permute(UNIQUE_SEED + 1).wrapping_add(0x4679_0905));
    permute(permute(index.wrapping_add(start)).wrapping_add(offset) ^ 0x5BF0_3635)
}

const UNIQUE_SEED: u32 = 0;

fn permute(x: u32) -> u32 {
    let wide = u64::from(x);
    if wide >= PRIME {
        return x; // the five numbers above the prime map to themselves
    }
    let residue = wide * wide % PRIME;
    (if wide <= PRIME / 2 { residue } else { PRIME - residue }) as u32
}

/// `#` to a random digit, `@` to a random letter from a to z, anything else as it is.
pub fn write_pattern(pattern: &[u8], random: &mut Random, out: &mut Vec<u8>) {
    let mut bits = 0u64;
    let mut left = 0;
    out.extend(pattern.iter().map(|&byte| {
        if byte != b'#' && byte != b'@' {
            return byte;
        }
        if left == 0 {
            bits = random.bits();
            left = DRAWS_PER_WORD;
        }
        left -= 1;
        let (count, first) = if byte == b'#' { (10, b'0') } else { (26, b'a') };
        let wide = u128::from(bits) * count;
        bits = wide as u64;
        first + (wide >> 64) as u8
    }));
}

/// Characters taken from one 64-bit word: each uses up at most 4.7 bits, so 36 random bits are left for the
/// last one and its bias stays below 1e-9.
const DRAWS_PER_WORD: u32 = 6;

/// A day of the years 0 to 9999, counted from 1970-01-01, as `2024-02-29`.
pub fn write_date(day: i64, out: &mut Vec<u8>) {
    // H. Hinnant, "chrono-compatible low-level date algorithms", 2013: years begin in March, eras have 400
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let text = format!("{:04}-{month:02}-{day_of_month:02}", era * 400 + year + later);
    out.extend_from_slice(text.as_bytes());
}

/// The syllables of TPC-C's last names, by digit.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The last name with this number, 0 to 999 (TPC-C, specification 5.11, 4.3.2.3): a syllable for each digit.
pub fn write_last_name(number: i64, out: &mut Vec<u8>) {
    for digit in [number / 100, number / 10, number] {
        out.extend_from_slice(SYLLABLES[digit.rem_euclid(10) as usize].as_bytes());
    }
}

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Letters and digits, between `min` and `max` of them.
pub fn write_text(min: u32, max: u32, random: &mut Random, out: &mut Vec<u8>) {
    let length = min + random.below(u64::from(max.saturating_sub(min)) + 1) as u32;
    out.extend((0..length).map(|_| LETTERS[random.below(LETTERS.len() as u64) as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(distribution: Distribution, count: usize) -> Vec<i64> {
        let sampler = Sampler::new(1, 10_000, distribution);
        let mut random = Random::for_connection(7, 0, 0);
        (0..count).map(|_| sampler.draw(&mut random)).collect()
    }

    fn share(values: &[i64], wanted: impl Fn(i64) -> bool) -> f64 {
        values.iter().filter(|&&value| wanted(value)).count() as f64 / values.len() as f64
    }

    #[test]
    fn every_distribution_stays_in_its_range() {
        for distribution in [
            Distribution::Uniform,
            Distribution::Gaussian { iterations: 12 },
            Distribution::Special { iterations: 12, hot_set_percent: 1, hot_draws_percent: 75 },
            Distribution::Pareto { h: 0.2 },
            Distribution::Zipfian { exponent: 0.8 },
            Distribution::Zipfian { exponent: 1.0 },
            Distribution::Latest { exponent: 0.8 },
            Distribution::NonUniform { a: 255, c: 3 },
        ] {
            for (min, max) in [(1, 1), (1, 2), (-5, 5), (1, 10_000), (i64::MAX - 3, i64::MAX)] {
                let sampler = Sampler::new(min, max, distribution);
                let mut random = Random::for_connection(1, 2, 3);
                for _ in 0..2_000 {
                    let value = sampler.draw(&mut random);
                    assert!((min..=max).contains(&value), "{distribution:?} {min}..={max}: {value}");
                }
            }
        }
    }

    #[test]
    fn special_has_the_hot_set_of_sysbench() {
        let values = draws(
            Distribution::Special { iterations: 12, hot_set_percent: 1, hot_draws_percent: 75 },
            400_000,
        );
        let hot = share(&values, |value| (4975..=5051).contains(&value));
        assert!((hot - 0.759).abs() < 0.004, "{hot}");
    }

    #[test]
    fn pareto_and_gaussian_have_the_documented_shape() {
        let pareto = draws(Distribution::Pareto { h: 0.2 }, 200_000);
        assert!((share(&pareto, |value| value <= 2_000) - 0.8).abs() < 0.005);
        assert!((share(&pareto, |value| value <= 100) - 0.53).abs() < 0.006);
        let bell = draws(Distribution::Gaussian { iterations: 12 }, 200_000);
        let mean = bell.iter().sum::<i64>() as f64 / bell.len() as f64;
        let variance =
            bell.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / bell.len() as f64;
        assert!((mean - 5_000.0).abs() < 10.0, "{mean}");
        assert!((variance.sqrt() - 10_000.0 / 12.0).abs() < 8.0, "{}", variance.sqrt());
    }

    #[test]
    fn zipfian_ranks_fall_by_their_power() {
        let values = draws(Distribution::Zipfian { exponent: 0.8 }, 400_000);
        let norm: f64 = (1..=10_000).map(|rank| f64::from(rank).powf(-0.8)).sum();
        for rank in [1, 2, 10] {
            let expected = (rank as f64).powf(-0.8) / norm;
            let seen = share(&values, |value| value == rank);
            assert!((seen / expected - 1.0).abs() < 0.05, "rank {rank}: {seen} for {expected}");
        }
    }

    #[test]
    fn the_latest_are_drawn_as_often_as_the_first_of_zipf() {
        let latest = draws(Distribution::Latest { exponent: 0.8 }, 100_000);
        let first = draws(Distribution::Zipfian { exponent: 0.8 }, 100_000);
        assert!(latest.iter().zip(&first).all(|(latest, first)| latest + first == 10_001));
    }

    /// The four draws that TPC-C makes, against the exact distribution: every pair of the two uniform numbers
    /// counted.
    #[test]
    fn non_uniform_numbers_are_those_of_tpc_c() {
        for (a, c, min, max) in [(255, 173, 0, 999), (1023, 259, 1, 3000)] {
            let count = (max - min + 1) as usize;
            let mut exact = vec![0u32; count];
            for one in 0..=a {
                for other in min..=max {
                    exact[((one | other) + c) as usize % count] += 1;
                }
            }
            let pairs = f64::from(exact.iter().sum::<u32>());
            let distribution = Distribution::NonUniform { a: a as u32, c: c as u32 };
            let sampler = Sampler::new(min, max, distribution);
            let mut random = Random::for_connection(5, 0, 0);
            let draws = 400_000;
            let mut seen = vec![0u32; count];
            for _ in 0..draws {
                seen[(sampler.draw(&mut random) - min) as usize] += 1;
            }
            let chi: f64 = exact
                .iter()
                .zip(&seen)
                .filter(|(exact, _)| **exact > 0)
                .map(|(exact, seen)| {
                    let expected = f64::from(*exact) / pairs * f64::from(draws);
                    (f64::from(*seen) - expected).powi(2) / expected
                })
                .sum();
            let cells = exact.iter().filter(|exact| **exact > 0).count() as f64;
            assert!(chi < cells + 5.0 * (2.0 * cells).sqrt(), "{a}: {chi} for {cells} numbers");
            let never = exact.iter().zip(&seen).filter(|(exact, seen)| **exact == 0 && **seen > 0);
            assert_eq!(never.count(), 0);
        }
    }

    #[test]
    fn last_names_are_made_of_syllables() {
        for (number, name) in [(0, "BARBARBAR"), (371, "PRICALLYOUGHT"), (999, "EINGEINGEING")] {
            let mut text = Vec::new();
            write_last_name(number, &mut text);
            assert_eq!(String::from_utf8(text).expect("letters"), name);
        }
    }

    #[test]
    fn days_are_dates() {
        for (day, date) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_782, "2024-02-29"),
            (20_088, "2024-12-31"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            let mut text = Vec::new();
            write_date(day, &mut text);
            assert_eq!(String::from_utf8(text).expect("digits"), date);
        }
    }

    #[test]
    fn unique_numbers_do_not_repeat() {
        let mut seen = std::collections::HashSet::new();
        for index in 0..300_000 {
            assert!(seen.insert(unique(index)), "index {index} repeats");
        }
    }

    #[test]
    fn patterns_keep_their_form_and_their_digits_are_uniform() {
        let mut random = Random::for_connection(3, 0, 0);
        let mut digits = [0u32; 10];
        for _ in 0..5_000 {
            let mut text = Vec::new();
            write_pattern(b"##-@#", &mut random, &mut text);
            assert!(text[2] == b'-' && text[3].is_ascii_lowercase() && text[0].is_ascii_digit());
            for digit in [text[0], text[1], text[4]] {
                digits[usize::from(digit - b'0')] += 1;
            }
        }
        assert!(digits.iter().all(|&count| (1_350..1_650).contains(&count)), "{digits:?}");
    }

    #[test]
    fn connections_draw_their_own_numbers_and_the_same_each_time() {
        let first = |stream, connection| Random::for_connection(42, stream, connection).bits();
        assert_eq!(first(0, 1), first(0, 1));
        assert_ne!(first(0, 1), first(0, 2));
        assert_ne!(first(0, 1), first(1, 1));
    }
}
