//! The rows of such a table: the value of a column in row `n` comes from a generator of its own, whose seed
//! is made of the data set's, the names of table and column, and `n`.

use super::{Column, Table, Values, hash, shown};
use crate::layout::{self, Rows};
use load::{
    random::{self, Random, Sampler, mix},
    spec::Literal,
};
use std::f64::consts::TAU;

/// The rows of one table.
#[derive(Debug)]
pub(super) struct Contents {
    columns: Vec<Source>,
}

/// A column made ready to be drawn.
#[derive(Debug)]
struct Source {
    key: u64,
    null: f64,
    draw: Ready,
}

#[derive(Debug)]
enum Ready {
    Sequence {
        first: i64,
    },
    Integer(Sampler),
    Normal {
        mean: f64,
        deviation: f64,
        decimals: u32,
    },
    Decimal {
        sampler: Sampler,
        decimals: u32,
    },
    Text {
        min: u32,
        max: u32,
    },
    Pattern(Vec<u8>),
    Date(Sampler),
    /// Upper ends of the values' shares, ascending to 1, and whether they are numbers.
    Choice(Vec<(f64, Literal)>, bool),
}

impl Contents {
    /// The rows of `table` in a data set with this seed.
    pub(super) fn new(seed: u64, table: &Table) -> Self {
        let source = |column: &Column| {
            let key = hash(seed, &format!("{}.{}", table.name, column.name));
            Source { key, null: column.null, draw: ready(&column.values) }
        };
        Self { columns: table.columns.iter().map(source).collect() }
    }
}

fn ready(values: &Values) -> Ready {
    match values {
        Values::Sequence { first } => Ready::Sequence { first: *first },
        Values::Random { min, max, distribution } | Values::References { min, max, distribution, .. } => {
            Ready::Integer(Sampler::new(*min, *max, *distribution))
        }
        Values::Normal { mean, deviation, decimals } => {
            Ready::Normal { mean: *mean, deviation: *deviation, decimals: *decimals }
        }
        Values::Decimal { min, max, decimals } => {
            Ready::Decimal { sampler: Sampler::new(*min, *max, Default::default()), decimals: *decimals }
        }
        Values::Text { min, max } => Ready::Text { min: *min, max: *max },
        Values::Pattern(pattern) => Ready::Pattern(pattern.clone().into_bytes()),
        Values::Date { first, last, distribution } => Ready::Date(Sampler::new(*first, *last, *distribution)),
        Values::Choice(choice) => {
            let total: f64 = choice.iter().map(|(_, weight)| weight).sum();
            let mut sum = 0.0;
            let shares = choice.iter().map(|(value, weight)| {
                sum += weight / total;
                (sum, value.clone())
            });
            Ready::Choice(shares.collect(), choice.iter().all(|(value, _)| super::is_integer(value)))
        }
    }
}

impl layout::Contents for Contents {
    fn write(&self, number: u64, rows: &mut Rows) {
        for column in &self.columns {
            let seed = mix(column.key.wrapping_add(mix(number)));
            let mut random = Random::for_connection(seed, 0, 0);
            if column.null > 0.0 && random.unit() < column.null {
                rows.null();
            } else {
                column.draw.write(number, &mut random, rows);
            }
        }
    }
}

impl Ready {
    fn write(&self, number: u64, random: &mut Random, rows: &mut Rows) {
        match self {
            Self::Sequence { first } => {
                rows.integer(first.wrapping_add(i64::try_from(number).unwrap_or(i64::MAX) - 1));
            }
            Self::Integer(sampler) => rows.integer(sampler.draw(random)),
            Self::Normal { mean, deviation, decimals } => {
                // G. Box, M. Muller, "A note on the generation of random normal deviates", 1958
                let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
                let value = mean + deviation * radius * (TAU * random.unit()).cos();
                let unit = 10f64.powi(*decimals as i32);
                rows.text(|out| write_decimal((value * unit).round() as i64, *decimals, out));
            }
            Self::Decimal { sampler, decimals } => {
                let value = sampler.draw(random);
                rows.text(|out| write_decimal(value, *decimals, out));
            }
            Self::Text { min, max } => rows.text(|out| random::write_text(*min, *max, random, out)),
            Self::Pattern(pattern) => rows.text(|out| random::write_pattern(pattern, random, out)),
            Self::Date(sampler) => {
                let day = sampler.draw(random);
                rows.text(|out| random::write_date(day, out));
            }
            Self::Choice(shares, is_integer) => {
                let point = random.unit();
                let found = shares.iter().find(|(end, _)| point < *end).or(shares.last());
                match found.map(|(_, value)| value) {
                    Some(Literal::Integer(number)) if *is_integer => rows.integer(*number),
                    Some(value) => rows.text(|out| out.extend_from_slice(shown(value).as_bytes())),
                    None => rows.null(),
                }
            }
        }
    }
}

/// A number of so many units of its last digit, as a server shows a DECIMAL.
fn write_decimal(value: i64, decimals: u32, out: &mut Vec<u8>) {
    let unit = 10u64.pow(decimals);
    let (whole, rest) = (value.unsigned_abs() / unit, value.unsigned_abs() % unit);
    let sign = if value < 0 { "-" } else { "" };
    let text = match decimals {
        0 => format!("{sign}{whole}"),
        decimals => format!("{sign}{whole}.{rest:0width$}", width = decimals as usize),
    };
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_as_a_server_shows_them() {
        for (value, decimals, text) in [
            (0, 2, "0.00"),
            (7, 2, "0.07"),
            (-7, 2, "-0.07"),
            (12_345, 2, "123.45"),
            (-12_345, 0, "-12345"),
            (1_000_001, 6, "1.000001"),
        ] {
            let mut out = Vec::new();
            write_decimal(value, decimals, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
