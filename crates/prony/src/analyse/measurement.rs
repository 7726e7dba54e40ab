//! The numbers of a run, and how they compare: any metric of any point, with its interval. Reports, claims
//! and the decision on further repeats are all based on it.

use super::{
    LEVEL, POWER, Point,
    point::{self, Measured, Place},
};
use crate::{plan::Metric, store::RunRecord};
use stats::{Difference, Estimate, Judged, Rule, Spread};
use std::collections::{BTreeMap, BTreeSet};

/// The metrics by which servers, and runs, are compared.
pub(super) const METRICS: [Metric; 3] =
    [Metric::Throughput, Metric::Quantile(95_000), Metric::Quantile(99_000)];

/// The points of a run, ready for queries.
#[derive(Debug)]
pub struct Measurement {
    pub(super) measured: Vec<Measured>,
    rule: Rule,
}

impl Measurement {
    /// The measurement of all trials that a record has so far.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        let rule = Rule { level: LEVEL, power: POWER, relevant: record.plan.relevant };
        Self { measured: point::measure(record), rule }
    }

    /// One point for each stream of each treatment that has at least one trial, in the plan's order. Their
    /// indices are those that the other functions take.
    pub fn points(&self) -> impl ExactSizeIterator<Item = &Point> {
        self.measured.iter().map(|measured| &measured.point)
    }

    /// How certain a difference must be to be called, and what matters, in this run.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// A metric of a point with its interval between trials; `None` where there is nothing to read.
    #[must_use]
    pub fn estimate(&self, point: usize, metric: Metric) -> Option<Estimate> {
        let (log, by_block) = self.read(point, metric)?;
        let count = u32::try_from(by_block.len()).unwrap_or(u32::MAX);
        Some(Estimate::around_exp(log, self.spread(point, metric), count, LEVEL))
    }

    /// How the logarithm of a metric varies between the trials of a point; `None` where that is unknown.
    #[must_use]
    pub fn spread(&self, point: usize, metric: Metric) -> Option<Spread> {
        if let Some(spread) = self.measured[point].spreads.get(&metric) {
            return Some(*spread);
        }
        let stream = &self.measured[point].point.stream;
        let alike: Vec<usize> =
            (0..self.measured.len()).filter(|&other| self.measured[other].point.stream == *stream).collect();
        let groups: Vec<Vec<f64>> = alike
            .iter()
            .map(|&other| {
                self.read(other, metric).map_or_else(Vec::new, |read| read.1.into_values().collect())
            })
            .collect();
        let place = alike.iter().position(|&other| other == point)?;
        let spread = stats::moderate(&groups).swap_remove(place)?;
        Some(self.measured[point].with_rounding(metric, spread))
    }

    /// Two points compared with each other, first divided by second, as a separate comparison: within blocks,
    /// where they ran side by side. `None` where there is nothing to read, or no block has both.
    #[must_use]
    pub fn ratio(&self, one: usize, other: usize, metric: Metric) -> Option<Judged> {
        let logs: Vec<f64> = self.pair(one, other, metric)?.into_values().collect();
        stats::judge(&stats::paired(&[logs]), self.rule).pop()
    }

    /// Two points, of one run or of two, that have no blocks in common, first divided by second; `None` where
    /// there is nothing to read.
    pub(super) fn unpaired(
        &self,
        one: usize,
        (other, base): (&Self, usize),
        metric: Metric,
    ) -> Option<Difference> {
        let side = |measurement: &Self, point: usize| {
            let (log, by_block) = measurement.read(point, metric)?;
            Some((log, measurement.spread(point, metric), u32::try_from(by_block.len()).ok()?))
        };
        Some(Difference::unpaired(side(self, one)?, side(other, base)?))
    }

    /// Whether a response time of a point was stated by another tool, without a distribution.
    pub(super) fn is_stated(&self, point: usize, metric: Metric) -> bool {
        matches!(metric, Metric::Mean | Metric::Quantile(_)) && self.measured[point].all.is_stated
    }

    /// Logarithm of the value of all trials together, and of each block's; `None` where it cannot be read for
    /// every trial.
    #[must_use]
    pub fn read(&self, point: usize, metric: Metric) -> Option<(f64, BTreeMap<u32, f64>)> {
        let measured = &self.measured[point];
        point::read(metric, &measured.works, &measured.all)
    }

    /// Logarithm of the ratio of two points in each unit that both are in, from the blocks that have both.
    pub(super) fn pair(&self, one: usize, other: usize, metric: Metric) -> Option<BTreeMap<u32, f64>> {
        self.paired(one, other, |point, blocks| {
            let works = self.measured[point].works.iter();
            point::read_log(metric, works.filter(|(place, _)| blocks.contains(&place.block)))
        })
    }

    /// The same for anything whose logarithm `read` gives for a point and some blocks. Blocks that only one
    /// side has are left out, because whatever else changed in them would count as a difference. `None` where
    /// the sides share no block, or where one of the shared blocks cannot be read.
    pub(super) fn paired(
        &self,
        one: usize,
        other: usize,
        read: impl Fn(usize, &[u32]) -> Option<f64>,
    ) -> Option<BTreeMap<u32, f64>> {
        let others: BTreeSet<Place> = self.measured[other].works.iter().map(|(place, _)| *place).collect();
        let mut shared: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (place, _) in self.measured[one].works.iter().filter(|(place, _)| others.contains(place)) {
            shared.entry(place.unit).or_default().push(place.block);
        }
        let of_unit =
            |(unit, blocks): (u32, Vec<u32>)| Some((unit, read(one, &blocks)? - read(other, &blocks)?));
        let pairs: Option<BTreeMap<u32, f64>> = shared.into_iter().map(of_unit).collect();
        pairs.filter(|pairs| !pairs.is_empty())
    }
}
