//! How numbers are distributed over a range.

use serde::{Deserialize, Serialize};

/// How the integers of a range are distributed. The first four distributions are those of sysbench 1.0.20,
/// the fifth is that of its later sources, the sixth is YCSB's, the last is TPC-C's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// All are equally likely.
    #[default]
    Uniform,
    /// Mean of `iterations` uniform numbers: a bell in the middle of the range.
    Gaussian {
        /// How many are averaged.
        iterations: u32,
    },
    /// Most draws hit a small set in the middle of the range.
    Special {
        /// Of the bell outside the hot set.
        iterations: u32,
        /// Size of the hot set, per cent of the range.
        hot_set_percent: u32,
        /// Share of the draws that hit it, per cent.
        hot_draws_percent: u32,
    },
    /// Low numbers more often: a share `1 - h` of the draws hits the first `h` of the range.
    Pareto {
        /// From 0 to 1.
        h: f64,
    },
    /// The number of rank r is drawn with a frequency that falls as r to the power of minus `exponent`.
    Zipfian {
        /// Above 0.
        exponent: f64,
    },
    /// The highest number is drawn most often, as [`Distribution::Zipfian`] draws the lowest: where rows are
    /// numbered as they are added, the newest.
    Latest {
        /// Above 0.
        exponent: f64,
    },
    /// TPC-C's NURand (specification 5.11, 2.1.6): `((random(0, a) | random(min, max)) + c) modulo` the
    /// number of values, plus `min`.
    NonUniform {
        /// `A`, a power of two less one.
        a: u32,
        /// The run-time constant `C`, 0 to `a`.
        c: u32,
    },
}

/// The distributions by name, with what each is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distributions {
    /// Of `gaussian` and `special`.
    pub iterations: u32,
    /// Of `special`.
    pub hot_set_percent: u32,
    /// Of `special`.
    pub hot_draws_percent: u32,
    /// Of `pareto`.
    pub h: f64,
    /// Of `zipfian` and `latest`.
    pub exponent: f64,
}

impl Distributions {
    /// Their names, those that sysbench has first.
    pub const NAMES: [&str; 6] = ["uniform", "gaussian", "special", "pareto", "zipfian", "latest"];
    /// As sysbench has them where its options say nothing.
    pub const SYSBENCH: Self =
        Self { iterations: 12, hot_set_percent: 1, hot_draws_percent: 75, h: 0.2, exponent: 0.8 };

    /// The one with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Distribution> {
        let Self { iterations, hot_set_percent, hot_draws_percent, h, exponent } = *self;
        Some(match name {
            "uniform" => Distribution::Uniform,
            "gaussian" => Distribution::Gaussian { iterations },
            "special" => Distribution::Special { iterations, hot_set_percent, hot_draws_percent },
            "pareto" => Distribution::Pareto { h },
            "zipfian" => Distribution::Zipfian { exponent },
            "latest" => Distribution::Latest { exponent },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_distribution_of_its_own() {
        let all = Distributions::NAMES.map(|name| Distributions::SYSBENCH.named(name).expect("known"));
        for (place, one) in all.iter().enumerate() {
            assert!(!all[..place].contains(one), "{one:?}");
            let name = format!("{one:?}").to_lowercase();
            assert!(name.starts_with(Distributions::NAMES[place]), "{name}");
        }
        assert_eq!(Distributions::SYSBENCH.named("normal"), None);
    }
}
