//! What the columns of such tables hold.

use crate::layout::custom::Column;
use load::spec::{Distribution, Literal};
use serde::{Deserialize, Serialize};

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Values {
    /// The row's number, counted from `first`.
    Sequence {
        /// Of the first row.
        first: i64,
    },
    /// Whole numbers of a range.
    Random {
        /// Lowest.
        min: i64,
        /// Highest.
        max: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
    /// Normally distributed numbers, rounded.
    Normal {
        /// Their mean.
        mean: f64,
        /// Their standard deviation.
        deviation: f64,
        /// Digits behind the point.
        decimals: u32,
    },
    /// Numbers with digits behind the point, uniform.
    Decimal {
        /// Lowest, in units of the last digit.
        min: i64,
        /// Highest, likewise.
        max: i64,
        /// Digits behind the point.
        decimals: u32,
    },
    /// Numbers of several ranges, uniform within each.
    Histogram {
        /// Lowest and highest of each, in units of the last digit, and its weight.
        ranges: Vec<(i64, i64, f64)>,
        /// Digits behind the point.
        decimals: u32,
    },
    /// Letters and digits; the length is uniform.
    Text {
        /// Shortest.
        min: u32,
        /// Longest.
        max: u32,
    },
    /// Words with blanks between them, cut to a length that is uniform.
    Words {
        /// Shortest.
        min: u32,
        /// Longest.
        max: u32,
        /// The vocabulary.
        words: Vec<String>,
        /// How often each of them is drawn.
        distribution: Distribution,
    },
    /// `#` becomes a digit, `@` a letter.
    Pattern(String),
    /// A UUID of RFC 9562: version 4 is random, version 7 ascends with the rows.
    Uuid(u32),
    /// An object with these fields.
    Json(Vec<Column>),
    /// Days, as numbers of days since 1970-01-01.
    Date {
        /// Earliest.
        first: i64,
        /// Latest.
        last: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
    /// Times, as seconds since 1970-01-01 00:00:00.
    Time {
        /// Earliest.
        first: i64,
        /// Latest.
        last: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
    /// One of these, each with its weight, which is above 0.
    Choice(Vec<(Literal, f64)>),
    /// One of those that belong to what another column of the row holds.
    By {
        /// The other column, a [`Values::Choice`].
        column: String,
        /// For each of its values.
        cases: Vec<(String, Vec<(Literal, f64)>)>,
    },
    /// What another column of the row holds, times a factor, plus something, plus a normal deviation: a
    /// number, or of days a day.
    Follows {
        /// The other column.
        column: String,
        /// What it is multiplied with.
        factor: f64,
        /// What is added.
        plus: f64,
        /// Standard deviation of what is added further.
        deviation: f64,
        /// Digits behind the point; `None`: it is a day.
        decimals: Option<u32>,
    },
    /// A value of another table's sequence.
    References {
        /// The table.
        table: String,
        /// Its column.
        column: String,
        /// Lowest value there.
        min: i64,
        /// Highest.
        max: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
    /// The same, so that each row there has a number of rows here, one after the other.
    Children {
        /// The table.
        table: String,
        /// Its column.
        column: String,
        /// Lowest value there.
        first: i64,
        /// Rows there.
        parents: u64,
        /// Fewest rows here for one there.
        min: u32,
        /// Most of them; all numbers between are as likely.
        max: u32,
    },
}

/// Parents whose children are counted together.
const BLOCK: u64 = 256;

/// How many rows each parent has: a function of its number alone, whatever the seed, so that the number of
/// rows is known beforehand.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    key: u64,
    min: u32,
    max: u32,
    /// Children of all parents before each block, and of all.
    before: Vec<u64>,
}

impl Counts {
    /// Of this many parents.
    pub(super) fn new(name: &str, parents: u64, (min, max): (u32, u32)) -> Self {
        let mut counts = Self { key: super::hash(0, name), min, max, before: vec![0] };
        let mut all = 0;
        for first in (0..parents).step_by(BLOCK as usize) {
            all += (first..parents.min(first + BLOCK)).map(|parent| counts.of(parent)).sum::<u64>();
            counts.before.push(all);
        }
        counts
    }

    /// Children of all.
    pub(super) fn all(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// The parent, from 0, of a child, from 0.
    pub(super) fn parent(&self, child: u64) -> u64 {
        let block = self.before.partition_point(|before| *before <= child).saturating_sub(1);
        let mut before = self.before[block];
        let mut parent = block as u64 * BLOCK;
        loop {
            before += self.of(parent);
            // beyond the last there is nothing to be found
            if before > child || self.max == 0 {
                return parent;
            }
            parent += 1;
        }
    }

    fn of(&self, parent: u64) -> u64 {
        let span = u64::from(self.max - self.min) + 1;
        u64::from(self.min) + load::random::mix(self.key.wrapping_add(parent)) % span
    }
}

/// Rows of a table that has between `min` and `max` of them for each of `parents` rows of another.
#[must_use]
pub fn children(table: &str, column: &str, parents: u64, (min, max): (u32, u32)) -> u64 {
    Counts::new(&format!("{table}.{column}"), parents, (min, max)).all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_child_has_a_parent_and_every_parent_its_number_of_children() {
        let counts = Counts::new("line.order_id", 1_000, (0, 7));
        let mut found = vec![0u64; 1_000];
        let mut last = 0;
        for child in 0..counts.all() {
            let parent = counts.parent(child);
            assert!(parent >= last, "in order");
            last = parent;
            found[parent as usize] += 1;
        }
        assert!(found.iter().enumerate().all(|(parent, count)| *count == counts.of(parent as u64)));
        let mean = counts.all() as f64 / 1_000.0;
        assert!((3.2..3.8).contains(&mean) && found.contains(&0) && found.contains(&7), "{mean}");
        assert_eq!(children("line", "order_id", 1_000, (3, 3)), 3_000);
    }
}
