//! The contents: row `n` of table `t` is a pure function of the seed, `t` and `n`, whoever makes it and in
//! what order.
//!
//! As in sysbench 1.0.20, `c` is 10 and `pad` 5 groups of 11 random digits, joined by `-`, and `k` is drawn
//! from 1 to the number of rows. A row is made in about 0.1 microseconds: one 64-bit random number for each
//! group, by SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014) from a state that the row's number gives, and digits two at a time from a table.

use crate::plan::DataPlan;
use load::random::{Random, Sampler, mix};

/// Length of `c`: 10 groups of 11 digits and 9 dashes.
pub(super) const C_LENGTH: usize = 119;
/// Length of `pad`: 5 groups of 11 digits and 4 dashes.
pub(super) const PAD_LENGTH: usize = 59;

const GROUP: usize = 11;
/// 10^11, one more than a group can show.
const GROUP_VALUES: u64 = 100_000_000_000;
/// The odd number that SplitMix64 adds at each step.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: i32,
    pub(super) k: i32,
    pub(super) c: [u8; C_LENGTH],
    pub(super) pad: [u8; PAD_LENGTH],
}

impl Row {
    /// A row to be filled by [`Rows::fill`].
    pub(super) fn new() -> Self {
        Self { id: 0, k: 0, c: [b'-'; C_LENGTH], pad: [b'-'; PAD_LENGTH] }
    }

    /// The row as `CONCAT_WS(',', id, k, c, pad)` has it.
    pub(super) fn write_joined(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{},{},", self.id, self.k).as_bytes());
        out.extend_from_slice(&self.c);
        out.push(b',');
        out.extend_from_slice(&self.pad);
    }
}

/// The rows of one table.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    key: u64,
    k: Sampler,
}

impl Rows {
    /// The rows of table `table` (from 1) of a data set.
    pub(super) fn new(plan: &DataPlan, table: u32) -> Self {
        let key = mix(plan.seed ^ mix(u64::from(table).wrapping_mul(GOLDEN)));
        let rows = i64::try_from(plan.rows).unwrap_or(i64::MAX);
        Self { key, k: Sampler::new(1, rows, plan.k) }
    }

    /// Makes row `id`, 1 or more, of `row`. Only digits are written; the dashes stay.
    pub(super) fn fill(&self, id: i32, row: &mut Row) {
        let start = mix(self.key.wrapping_add(u64::from(id.unsigned_abs())));
        let mut random = Random::for_connection(start, 0, 0);
        row.id = id;
        row.k = i32::try_from(self.k.draw(&mut random)).unwrap_or(i32::MAX);
        let mut state = start;
        let groups = row.c.chunks_mut(GROUP + 1).chain(row.pad.chunks_mut(GROUP + 1));
        for group in groups {
            state = state.wrapping_add(GOLDEN);
            let digits = group.first_chunk_mut().expect("a group has 11 digits");
            write_group(mix(state), digits);
        }
    }
}

/// All pairs of digits, `00` to `99`.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// A number from 0 to 10^11 - 1 out of 64 random bits (multiply-shift; the bias is below 10^-8), as 11
/// digits.
fn write_group(bits: u64, out: &mut [u8; GROUP]) {
    let value = ((u128::from(bits) * u128::from(GROUP_VALUES)) >> 64) as u64;
    let (high, low) = ((value / 100_000_000) as u32, (value % 100_000_000) as u32);
    let (middle, last) = (low / 10_000, low % 10_000);
    out[0] = b'0' + (high / 100) as u8;
    for (at, pair) in
        [(1, high % 100), (3, middle / 100), (5, middle % 100), (7, last / 100), (9, last % 100)]
    {
        out[at..at + 2].copy_from_slice(&PAIRS[pair as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::spec::Distribution;

    fn plan(rows: u64) -> DataPlan {
        DataPlan { rows, seed: 42, ..crate::workload::data("oltp_read_only", &Default::default()).unwrap() }
    }

    fn row(rows: &Rows, id: i32) -> Row {
        let mut row = Row::new();
        rows.fill(id, &mut row);
        row
    }

    #[test]
    fn a_row_has_the_form_of_sysbench_s() {
        let row = row(&Rows::new(&plan(1000), 1), 17);
        let form =
            |text: &[u8]| text.iter().map(|b| if b.is_ascii_digit() { '#' } else { *b as char }).collect();
        let (c, pad): (String, String) = (form(&row.c), form(&row.pad));
        assert_eq!(c, ["###########"; 10].join("-"));
        assert_eq!(pad, ["###########"; 5].join("-"));
        assert!(row.id == 17 && (1..=1000).contains(&row.k));
    }

    #[test]
    fn a_row_depends_on_seed_table_and_number_and_on_nothing_else() {
        let rows = Rows::new(&plan(1000), 1);
        let mut used = row(&rows, 5);
        rows.fill(6, &mut used);
        assert_eq!(used, row(&rows, 6), "what was in the buffer does not matter");
        assert_ne!(row(&rows, 5).c, row(&rows, 6).c);
        assert_ne!(row(&rows, 5).c, row(&Rows::new(&plan(1000), 2), 5).c);
        assert_ne!(row(&rows, 5).c, row(&Rows::new(&DataPlan { seed: 43, ..plan(1000) }, 1), 5).c);
        // Pinned: data sets of the same seed stay the same from one version of Prony to the next.
        let mut text = Vec::new();
        row(&rows, 5).write_joined(&mut text);
        let pinned = "5,37,44522336051-98401093663-32232846418-24506981950-76982946369-01719183591-\
                      27697057469-27186216884-99822924295-91347615063,83027833289-68071649729-71119431373-\
                      28931872951-31337088294";
        assert_eq!(String::from_utf8(text).unwrap(), pinned);
    }

    #[test]
    fn digits_are_uniform_at_every_place() {
        let rows = Rows::new(&plan(20_000), 3);
        let mut counts = [[0u32; 10]; C_LENGTH + PAD_LENGTH];
        for id in 1..=20_000 {
            let row = row(&rows, id);
            for (at, byte) in row.c.iter().chain(&row.pad).enumerate() {
                if byte.is_ascii_digit() {
                    counts[at][usize::from(byte - b'0')] += 1;
                }
            }
        }
        // 2000 expected at each place; the limit is 5.5 standard deviations, over 1650 counts.
        for (at, count) in counts.iter().enumerate().filter(|(_, count)| count[0] > 0) {
            assert!(count.iter().all(|n| n.abs_diff(2_000) < 235), "place {at}: {count:?}");
        }
    }

    #[test]
    fn k_is_uniform_or_as_the_study_says() {
        let share_below = |k: Distribution, limit: i32| {
            let rows = Rows::new(&DataPlan { k, ..plan(10_000) }, 1);
            (1..=10_000).filter(|id| row(&rows, *id).k <= limit).count()
        };
        assert!(share_below(Distribution::Uniform, 2_000).abs_diff(2_000) < 220);
        assert!(share_below(Distribution::Pareto { h: 0.2 }, 2_000).abs_diff(8_000) < 220);
    }
}
