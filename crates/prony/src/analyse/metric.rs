//! What can be read of some work: a rate, a mean, any percentile. Read from sums and merged histograms alone,
//! so that work of several trials is read as that of one. Percentiles that another tool stated without a
//! distribution cannot be merged: of several trials their geometric mean stands for them.

use load::sample::Tally;
use std::{collections::BTreeMap, str::FromStr, time::Duration};

/// What is estimated of each treatment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Transactions per second.
    Throughput,
    /// Statements per second.
    Statements,
    /// Mean response time.
    Mean,
    /// A quantile of response time, in hundred-thousandths: 99 900 is p99.9.
    Quantile(u32),
    /// How long the stream was active: what a limit took.
    Active,
}

impl Metric {
    /// Everything that a point has.
    pub(super) const ALL: [Self; 8] = [
        Self::Throughput,
        Self::Statements,
        Self::Mean,
        Self::Quantile(50_000),
        Self::Quantile(95_000),
        Self::Quantile(99_000),
        Self::Quantile(99_900),
        Self::Active,
    ];

    /// As it is called in findings.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Throughput => "throughput".to_owned(),
            Self::Statements => "statements".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Active => "active".to_owned(),
            Self::Quantile(parts) => format!("p{}", f64::from(parts) / 1000.0),
        }
    }

    /// Whether more of it is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Throughput | Self::Statements)
    }

    /// The share of transactions that stay below a quantile.
    pub(super) fn share(parts: u32) -> f64 {
        f64::from(parts) / 100_000.0
    }

    /// Reads it from tallies over a time; `None` where there is nothing to read, or it is 0 and has no
    /// logarithm.
    pub(super) fn read(self, work: &Work) -> Option<f64> {
        let seconds = work.time.as_secs_f64();
        let value = match self {
            Self::Throughput => work.transactions.count as f64 / seconds,
            Self::Statements => work.statements as f64 / seconds,
            Self::Mean | Self::Quantile(_) if work.is_stated => work.stated(self)?,
            Self::Mean => work.transactions.response().mean_ns() / 1e6,
            Self::Quantile(parts) => {
                work.transactions.response().quantile_ns(Self::share(parts)) as f64 / 1e6
            }
            // all trials together take the mean of them
            Self::Active => seconds / f64::from(work.trials.max(1)),
        };
        (value > 0.0 && value.is_finite()).then_some(value)
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    /// `throughput`, `statements`, `mean`, `active` or a percentile: `p95`, `p99.99`.
    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        let unknown = || UnknownMetric(name.to_owned());
        match name {
            "throughput" => Ok(Self::Throughput),
            "statements" => Ok(Self::Statements),
            "mean" => Ok(Self::Mean),
            "active" => Ok(Self::Active),
            _ => {
                let percent = name.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok());
                let parts = (percent.ok_or_else(unknown)? * 1000.0).round();
                let is_percentile = (1.0..100_000.0).contains(&parts);
                if is_percentile { Ok(Self::Quantile(parts as u32)) } else { Err(unknown()) }
            }
        }
    }
}

/// There is no metric of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no metric '{0}'; there are throughput, statements, mean, active and percentiles such as p95 \
     and p99.9"
)]
pub struct UnknownMetric(String);

/// Work done in some time.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    pub(super) transactions: Tally,
    pub(super) statements: u64,
    pub(super) time: Duration,
    pub(super) trials: u32,
    /// What another tool stated of each of its trials: its transactions, and times in ms by the names of
    /// metrics.
    pub(super) stated: Vec<(u64, BTreeMap<String, f64>)>,
    /// Whether of a trial nothing but that is known of response times.
    pub(super) is_stated: bool,
}

/// Half the distance of the steps in which sysbench counts response times, as a logarithm: it has 1024
/// between 1 µs and 100 s, so that a true time is up to 0.9 % from what it prints.
const STEP_HALF: f64 = 0.009;

/// Half of the last digit that sysbench prints, ms.
const DIGIT_HALF_MS: f64 = 0.005;

impl Work {
    /// All together; `None`: there is none. What is alone stays as it is: a histogram that counts takes a
    /// thousand times the memory of one that rests.
    pub(super) fn all(mut works: impl Iterator<Item = Self>) -> Option<Self> {
        let mut all = works.next()?;
        for work in works {
            all.transactions.merge(&work.transactions);
            all.statements += work.statements;
            all.time += work.time;
            all.trials += work.trials;
            all.stated.extend(work.stated);
            all.is_stated |= work.is_stated;
        }
        Some(all)
    }

    /// What was stated of all trials together, ms: means make one mean, percentiles their geometric mean.
    /// `None` unless it was stated of every trial.
    fn stated(&self, metric: Metric) -> Option<f64> {
        let name = metric.name();
        let of_trial =
            |(count, times): &(u64, BTreeMap<String, f64>)| Some((*count as f64, *times.get(&name)?));
        let all: Option<Vec<(f64, f64)>> = self.stated.iter().map(of_trial).collect();
        let all = all.filter(|all| all.len() == self.trials as usize)?;
        if metric == Metric::Mean {
            let sum: f64 = all.iter().map(|(count, mean)| count * mean).sum();
            return Some(sum / all.iter().map(|(count, _)| count).sum::<f64>());
        }
        Some((all.iter().map(|(_, value)| value.ln()).sum::<f64>() / all.len() as f64).exp())
    }

    /// Variance of a stated figure's logarithm since it is rounded, which no number of repeats makes smaller;
    /// 0 of what is read from a distribution.
    pub(super) fn rounding(&self, metric: Metric) -> f64 {
        let step = match metric {
            Metric::Quantile(_) => STEP_HALF,
            Metric::Mean => 0.0,
            _ => return 0.0,
        };
        let value = self.is_stated.then(|| self.stated(metric)).flatten();
        // every place within a step is as likely as any other
        value.map_or(0.0, |value| (step + DIGIT_HALF_MS / value).powi(2) / 3.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_percentile_has_a_name_that_is_read_again() {
        for name in ["throughput", "statements", "mean", "active", "p50", "p99.9", "p99.99", "p0.5"] {
            assert_eq!(name.parse::<Metric>().unwrap().name(), name);
        }
        for name in ["", "p", "p100", "p0", "p-1", "pnan", "qps"] {
            let error = name.parse::<Metric>().unwrap_err();
            assert!(error.to_string().contains("p99.9"), "{error}");
        }
    }
}
