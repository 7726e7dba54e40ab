//! What a thread of connections counts, and the histogram of sysbench 1.0: 1024 bins on a logarithmic scale.

use load::Histogram;
use std::time::Duration;

/// Kinds of counts, in the order of [`Tally::counts`] and as scripts number them.
pub(crate) const OTHER: usize = 0;
pub(crate) const READ: usize = 1;
pub(crate) const WRITE: usize = 2;
pub(crate) const EVENT: usize = 3;
pub(crate) const ERROR: usize = 4;
pub(crate) const RECONNECT: usize = 5;

/// Bins between a lowest and a highest value, each a fixed factor above the one before.
#[derive(Debug, Clone)]
pub struct Bins {
    counts: Box<[u64]>,
    log_low: f64,
    log_step: f64,
}

impl Default for Bins {
    /// sysbench's own for times in milliseconds.
    fn default() -> Self {
        Self::new(1024, 0.001, 100_000.0)
    }
}

impl Bins {
    /// `size` bins from `low` to `high`.
    #[must_use]
    pub fn new(size: usize, low: f64, high: f64) -> Self {
        let size = size.max(2);
        let log_low = low.ln();
        let log_step = (high.ln() - log_low) / (size - 1) as f64;
        Self { counts: vec![0; size].into(), log_low, log_step }
    }

    /// Counts one value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let bin = ((value.max(f64::MIN_POSITIVE).ln() - self.log_low) / self.log_step + 0.5).floor();
        let bin = bin.clamp(0.0, (self.counts.len() - 1) as f64) as usize;
        self.counts[bin] += 1;
    }

    /// Adds the counts of another one of the same form.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Value at `percent`; 0 where nothing was counted.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        let total: u64 = self.counts.iter().sum();
        if total == 0 {
            return 0.0;
        }
        let wanted = (total as f64 * percent / 100.0 + 0.5).floor() as u64;
        let mut sum = 0;
        let bin = self.counts.iter().position(|count| {
            sum += count;
            sum >= wanted.max(1)
        });
        self.value(bin.unwrap_or(self.counts.len() - 1))
    }

    fn value(&self, bin: usize) -> f64 {
        (bin as f64 * self.log_step + self.log_low).exp()
    }

    /// Values and counts of bins that hold something.
    pub fn filled(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bin, count)| (self.value(bin), *count))
    }
}

/// What was counted in some time.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub(crate) counts: [u64; 6],
    /// Times of events, ms.
    pub bins: Bins,
    /// The same, exactly.
    pub exact: Histogram,
    /// Shortest time of an event; meaningless without events.
    pub min: Duration,
    /// Longest time of an event.
    pub max: Duration,
    /// Sum of the times.
    pub sum: Duration,
    /// Events and their time for each connection.
    pub threads: Vec<(u64, Duration)>,
}

impl Tally {
    pub(crate) fn of(threads: usize) -> Self {
        Self { threads: vec![(0, Duration::ZERO); threads], ..Self::default() }
    }

    #[inline]
    pub(crate) fn event(&mut self, thread: usize, time: Duration) {
        self.min = if self.counts[EVENT] == 0 { time } else { self.min.min(time) };
        self.max = self.max.max(time);
        self.sum += time;
        self.counts[EVENT] += 1;
        self.bins.add(time.as_secs_f64() * 1e3);
        self.exact.record_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let mine = &mut self.threads[thread];
        mine.0 += 1;
        mine.1 += time;
    }

    /// Adds what was counted by the same threads later, or by others, whose places begin at `place`.
    pub(crate) fn merge(&mut self, other: &Self, place: usize) {
        if other.counts[EVENT] > 0 {
            self.min = if self.counts[EVENT] == 0 { other.min } else { self.min.min(other.min) };
        }
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.bins.merge(&other.bins);
        self.exact.merge(&other.exact);
        if self.threads.len() < place + other.threads.len() {
            self.threads.resize(place + other.threads.len(), (0, Duration::ZERO));
        }
        for (mine, theirs) in self.threads[place..].iter_mut().zip(&other.threads) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
    }

    /// Events that ended.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.counts[EVENT]
    }

    /// Statements with a result set.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.counts[READ]
    }

    /// Statements that changed rows.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.counts[WRITE]
    }

    /// All other statements.
    #[must_use]
    pub fn other(&self) -> u64 {
        self.counts[OTHER]
    }

    /// All statements.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.reads() + self.writes() + self.other()
    }

    /// Errors that were ignored.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.counts[ERROR]
    }

    /// Connections that were opened again.
    #[must_use]
    pub fn reconnects(&self) -> u64 {
        self.counts[RECONNECT]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sysbench's grid: neighbouring values as its reports show them.
    #[test]
    fn percentiles_lie_on_the_grid_of_sysbench() {
        for shown in ["5.18", "5.09", "5.77", "9.56", "6.67", "3982.86", "909.80"] {
            let mut bins = Bins::default();
            bins.add(shown.parse().expect("a number"));
            assert_eq!(format!("{:.2}", bins.percentile(95.0)), shown);
        }
    }

    #[test]
    fn a_percentile_is_the_bin_that_reaches_the_share() {
        let mut bins = Bins::new(1000, 1.0, 1000.0);
        (0..99).for_each(|_| bins.add(1.0));
        bins.add(1000.0);
        assert!((bins.percentile(99.0) - 1.0).abs() < 1e-9);
        assert!((bins.percentile(100.0) - 1000.0).abs() < 1e-6);
        assert_eq!(Bins::default().percentile(95.0), 0.0);
    }

    #[test]
    fn tallies_of_threads_and_times_add_up() {
        let (ms, mut all) = (Duration::from_millis, Tally::default());
        let (mut first, mut second) = (Tally::of(1), Tally::of(2));
        first.event(0, ms(4));
        second.event(1, ms(2));
        second.event(1, ms(9));
        all.merge(&first, 0);
        all.merge(&second, 1);
        assert_eq!((all.min, all.max, all.sum, all.events()), (ms(2), ms(9), ms(15), 3));
        assert_eq!(all.threads, [(1, ms(4)), (0, ms(0)), (2, ms(11))]);
    }
}
