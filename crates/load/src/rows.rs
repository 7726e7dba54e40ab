//! Rows of a table that is a function of the rows' numbers, found by what a column of theirs holds: made once
//! for each process, so that a draw under a condition asks no server.

use crate::{
    random::{Random, Sampler, of_row},
    spec::RowsWith,
};
use std::sync::OnceLock;

/// Rows by the value of a column.
#[derive(Debug)]
pub(crate) struct Found {
    of: RowsWith,
    sorted: OnceLock<Sorted>,
}

/// The values in their order, each with the number of its row, from 0.
#[derive(Debug)]
struct Sorted {
    values: Vec<i64>,
    rows: Vec<u32>,
}

impl Found {
    pub(crate) fn new(of: &RowsWith) -> Self {
        Self { of: of.clone(), sorted: OnceLock::new() }
    }

    /// Looks at every row now, before a load begins.
    pub(crate) fn make_ready(&self) {
        self.sorted();
    }

    /// One of the rows whose column holds `value`, each as likely as the others; `None`: there is none.
    pub(crate) fn draw(&self, value: i64, random: &mut Random) -> Option<i64> {
        let Sorted { values, rows } = self.sorted();
        let from = values.partition_point(|&other| other < value);
        let count = values[from..].partition_point(|&other| other == value);
        let chosen = from + random.below((count as u64).max(1)) as usize;
        (count > 0).then(|| self.of.first.wrapping_add(i64::from(rows[chosen])))
    }

    fn sorted(&self) -> &Sorted {
        self.sorted.get_or_init(|| {
            let RowsWith { key, count, null, min, max, distribution, .. } = self.of;
            let sampler = Sampler::new(min, max, distribution);
            let value = |row: u32| {
                let mut random = of_row(key, u64::from(row) + 1);
                let is_null = null > 0.0 && random.unit() < null;
                (!is_null).then(|| (sampler.draw(&mut random), row))
            };
            let mut found: Vec<(i64, u32)> = (0..count).filter_map(value).collect();
            found.sort_unstable();
            let (values, rows) = found.into_iter().unzip();
            Sorted { values, rows }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Distribution;
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_those_with_the_value_and_all_of_them_come() {
        let of = RowsWith {
            key: 7,
            count: 2_000,
            first: 100,
            null: 0.1,
            min: 1,
            max: 50,
            distribution: Distribution::Zipfian { exponent: 0.8 },
        };
        let found = Found::new(&of);
        let sampler = Sampler::new(of.min, of.max, of.distribution);
        let value = |row: i64| {
            let mut random = of_row(of.key, (row - of.first) as u64 + 1);
            (random.unit() >= of.null).then(|| sampler.draw(&mut random))
        };
        let mut random = Random::for_connection(1, 0, 0);
        for wanted in [1, 7, 50] {
            let all: BTreeSet<i64> = (100..2_100).filter(|&row| value(row) == Some(wanted)).collect();
            let drawn: BTreeSet<i64> = (0..20_000).filter_map(|_| found.draw(wanted, &mut random)).collect();
            assert_eq!(drawn, all, "{wanted}");
            assert!(!all.is_empty());
        }
        assert_eq!(found.draw(51, &mut random), None);
    }
}
