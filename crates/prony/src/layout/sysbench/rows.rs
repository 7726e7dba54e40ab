//! The contents: row `n` of table `t` is a pure function of the seed, `t` and `n`, whoever makes it and in
//! what order.
//!
//! As in sysbench 1.0.20, `c` is 10 and `pad` 5 groups of 11 random digits, joined by `-`, and `k` is drawn
//! from 1 to the number of rows. A row is made in about 0.1 microseconds: one 64-bit random number for each
//! group, by SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014) from a state that the row's number gives, and digits two at a time from a table.

use super::{Data, Generator};
use crate::layout::Rows;
use load::random::{Random, Sampler, mix};

/// Length of `c`: 10 groups of 11 digits and 9 dashes.
const C_LENGTH: usize = 119;
/// Length of `pad`: 5 groups of 11 digits and 4 dashes.
const PAD_LENGTH: usize = 59;

const GROUP: usize = 11;
/// 10^11, one more than a group can show.
const GROUP_VALUES: u64 = 100_000_000_000;
/// The odd number that SplitMix64 adds at each step.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The rows of one table.
#[derive(Debug)]
pub(super) struct Contents {
    key: u64,
    k: Sampler,
    has_text: bool,
}

impl Contents {
    /// The rows of table `table` (from 1) of a data set.
    pub(super) fn new(data: &Data, table: u32) -> Self {
        let key = mix(data.seed ^ mix(u64::from(table).wrapping_mul(GOLDEN)));
        let rows = i64::try_from(data.rows).unwrap_or(i64::MAX);
        let has_text = data.generator != Generator::BulkInsert;
        Self { key, k: Sampler::new(1, rows, data.k), has_text }
    }
}

impl crate::layout::Contents for Contents {
    fn write(&self, number: u64, rows: &mut Rows) {
        let start = mix(self.key.wrapping_add(number));
        let mut random = Random::for_connection(start, 0, 0);
        rows.integer(i64::try_from(number).unwrap_or(i64::MAX));
        rows.integer(self.k.draw(&mut random));
        if self.has_text {
            let mut state = start;
            rows.text(|out| write_groups(C_LENGTH, &mut state, out));
            rows.text(|out| write_groups(PAD_LENGTH, &mut state, out));
        }
    }
}

/// Groups of digits with dashes between them.
fn write_groups(length: usize, state: &mut u64, out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + length, b'-');
    for group in out[begin..].chunks_mut(GROUP + 1) {
        *state = state.wrapping_add(GOLDEN);
        write_group(mix(*state), group.first_chunk_mut().expect("a group has 11 digits"));
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
    use crate::layout::{Cell, Contents as _};
    use load::spec::Distribution;

    fn plan(rows: u64) -> Data {
        Data { rows, seed: 42, ..super::super::data("oltp_read_only", &Default::default()) }
    }

    fn contents(rows: u64) -> Contents {
        Contents::new(&plan(rows), 1)
    }

    fn row(contents: &Contents, number: u64) -> Rows {
        let mut rows = Rows::default();
        contents.write(number, &mut rows);
        rows
    }

    fn joined(contents: &Contents, number: u64) -> String {
        let mut text = Vec::new();
        row(contents, number).write_joined(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_row_has_the_form_of_sysbench_s() {
        let row = row(&contents(1000), 17);
        let form =
            |text: &[u8]| text.iter().map(|b| if b.is_ascii_digit() { '#' } else { *b as char }).collect();
        let cells: Vec<Cell<'_>> = row.cells().collect();
        let [Cell::Integer(17), Cell::Integer(k), Cell::Text(c), Cell::Text(pad)] = cells[..] else {
            panic!("{cells:?}")
        };
        let (c, pad): (String, String) = (form(c), form(pad));
        assert_eq!(c, ["###########"; 10].join("-"));
        assert_eq!(pad, ["###########"; 5].join("-"));
        assert!((1..=1000).contains(&k));
    }

    #[test]
    fn a_row_depends_on_seed_table_and_number_and_on_nothing_else() {
        let rows = contents(1000);
        assert_ne!(joined(&rows, 5)[5..], joined(&rows, 6)[5..]);
        assert_ne!(joined(&rows, 5), joined(&Contents::new(&plan(1000), 2), 5));
        assert_ne!(joined(&rows, 5), joined(&Contents::new(&Data { seed: 43, ..plan(1000) }, 1), 5));
        // Pinned: data sets of the same seed stay the same from one version of Prony to the next.
        let pinned = "5,37,44522336051-98401093663-32232846418-24506981950-76982946369-01719183591-\
                      27697057469-27186216884-99822924295-91347615063,83027833289-68071649729-71119431373-\
                      28931872951-31337088294";
        assert_eq!(joined(&rows, 5), pinned);
    }

    #[test]
    fn digits_are_uniform_at_every_place() {
        let rows = Contents::new(&plan(20_000), 3);
        let mut counts = [[0u32; 10]; C_LENGTH + PAD_LENGTH];
        for number in 1..=20_000 {
            let row = row(&rows, number);
            let texts = row.cells().filter_map(|cell| match cell {
                Cell::Text(text) => Some(text),
                _ => None,
            });
            for (at, byte) in texts.flatten().enumerate() {
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
        let share_below = |k: Distribution, limit: i64| {
            let rows = Contents::new(&Data { k, ..plan(10_000) }, 1);
            let value = |number| match row(&rows, number).cells().nth(1) {
                Some(Cell::Integer(k)) => k,
                other => panic!("{other:?}"),
            };
            let is_below = |number: &u64| value(*number) <= limit;
            (1..=10_000).filter(is_below).count()
        };
        assert!(share_below(Distribution::Uniform, 2_000).abs_diff(2_000) < 220);
        assert!(share_below(Distribution::Pareto { h: 0.2 }, 2_000).abs_diff(8_000) < 220);
    }
}
