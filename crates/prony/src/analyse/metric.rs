//! What can be read from completed work: a rate, a mean, any percentile. It is read only from sums and merged
//! histograms, so that the work of several trials is read like that of one. Percentiles that another tool
//! stated without a distribution cannot be merged; their geometric mean over several trials is used instead.

use crate::plan::Metric;
use load::{sample::Tally, spec::Limit};
use std::{collections::BTreeMap, time::Duration};

/// All metrics that a point has.
pub(super) const OF_POINTS: [Metric; 8] = [
    Metric::Throughput,
    Metric::Statements,
    Metric::Mean,
    Metric::Quantile(50_000),
    Metric::Quantile(95_000),
    Metric::Quantile(99_000),
    Metric::Quantile(99_900),
    Metric::Active,
];

/// Whether a metric is read from work alone; others are read elsewhere ([`super::figures`]).
pub(super) fn is_of_work(metric: Metric) -> bool {
    use Metric::{Active, Mean, Quantile, Statements, Throughput};
    matches!(metric, Throughput | Statements | Mean | Quantile(_) | Active)
}

/// The share of transactions that stay below a quantile.
pub(super) fn share(parts: u32) -> f64 {
    f64::from(parts) / 100_000.0
}

/// Work done in some time.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    pub(super) transactions: Tally,
    pub(super) statements: u64,
    /// Rows received and affected.
    pub(super) rows: u64,
    pub(super) time: Duration,
    /// How long the rest of limits that were not reached would have taken, s, at the rate achieved.
    pub(super) seconds_left: f64,
    pub(super) trials: u32,
    /// What another tool stated for each of its trials: the transactions, and times in ms by the names of
    /// metrics.
    pub(super) stated: Vec<(u64, BTreeMap<String, f64>)>,
    /// Whether for some trial that is all that is known about response times.
    pub(super) is_stated: bool,
}

/// Half the step in which sysbench counts response times, as a logarithm: it has 1024 steps between 1 µs and
/// 100 s, so that a true time is up to 0.9 % from what it prints.
const STEP_HALF: f64 = 0.009;

/// Half of the last digit that sysbench prints, ms.
const DIGIT_HALF_MS: f64 = 0.005;

impl Work {
    /// All works merged; `None`: there are none. A single one stays as it is, because a histogram that counts
    /// takes a thousand times the memory of one at rest.
    pub(super) fn all(mut works: impl Iterator<Item = Self>) -> Option<Self> {
        let mut all = works.next()?;
        for work in works {
            all.transactions.merge(&work.transactions);
            all.statements += work.statements;
            all.rows += work.rows;
            all.time += work.time;
            all.seconds_left += work.seconds_left;
            all.trials += work.trials;
            all.stated.extend(work.stated);
            all.is_stated |= work.is_stated;
        }
        Some(all)
    }

    /// Reads a metric; `None` where there is nothing to read, or it is 0 and has no logarithm.
    pub(super) fn read(&self, metric: Metric) -> Option<f64> {
        let seconds = self.time.as_secs_f64();
        let value = match metric {
            Metric::Throughput => self.transactions.count as f64 / seconds,
            Metric::Statements => self.statements as f64 / seconds,
            Metric::Mean | Metric::Quantile(_) if self.is_stated => self.stated(metric)?,
            Metric::Mean => self.transactions.response().mean_ns() / 1e6,
            Metric::Quantile(parts) => self.transactions.response().quantile_ns(share(parts)) as f64 / 1e6,
            // all trials together get their mean
            Metric::Active => (seconds + self.seconds_left) / f64::from(self.trials.max(1)),
            _ => return None,
        };
        (value > 0.0 && value.is_finite()).then_some(value)
    }

    /// How much of a limit was done.
    pub(super) fn done(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Transactions(_) => self.transactions.count + self.transactions.errors,
            Limit::Rows(_) => self.rows,
        }
    }

    /// Adds how long the rest of a limit that was not reached would have taken; infinitely long where nothing
    /// was done.
    pub(super) fn extrapolated(self, limit: Limit) -> Self {
        let (Limit::Transactions(all) | Limit::Rows(all)) = limit;
        let done = self.done(limit) as f64;
        let seconds_left = self.time.as_secs_f64() * ((all as f64 / done) - 1.0).max(0.0);
        Self { seconds_left, ..self }
    }

    /// What was stated for all trials together, ms: means are averaged, percentiles get their geometric mean.
    /// `None` unless it was stated for every trial.
    fn stated(&self, metric: Metric) -> Option<f64> {
        let name = metric.to_string();
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

    /// Variance of a stated figure's logarithm due to rounding, which no number of repeats reduces; 0 for
    /// what is read from a distribution.
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
