//! The rows of such a table: the value of a column in row `n` comes from its own generator, whose seed is
//! derived from the seed of the data set, the names of table and column, and `n`.

use super::{Column, Table, Values, hash, shown, values::Counts};
use crate::layout::{self, Cell, Rows};
use load::{
    random::{self, Random, Sampler},
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
    /// Draws which of a fixed number of values it is.
    distinct: Option<Sampler>,
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
    Words {
        min: u32,
        max: u32,
        words: Vec<String>,
        sampler: Sampler,
    },
    Pattern(Vec<u8>),
    Uuid(u32),
    Json(Vec<(String, Source)>),
    Date(Sampler),
    Time(Sampler),
    Choice(Shares),
    /// The column on which it depends, and the choice for each of its values.
    By(Box<Source>, Vec<(String, Shares)>),
    Follows {
        source: Box<Source>,
        factor: f64,
        plus: f64,
        deviation: f64,
        decimals: Option<u32>,
    },
    Histogram {
        /// Upper ends of the ranges' shares, ascending to 1.
        ranges: Vec<(f64, Sampler)>,
        decimals: u32,
    },
    Children {
        first: i64,
        counts: Counts,
    },
}

/// Upper ends of the values' shares, ascending to 1, and whether all values are numbers.
#[derive(Debug)]
struct Shares(Vec<(f64, Literal)>, bool);

impl Shares {
    fn new(choice: &[(Literal, f64)]) -> Self {
        let ends = shares(choice.iter().map(|(_, weight)| *weight));
        let values = ends.into_iter().zip(choice).map(|(end, (value, _))| (end, value.clone()));
        Self(values.collect(), choice.iter().all(|(value, _)| super::is_integer(value)))
    }

    fn draw(&self, random: &mut Random) -> Option<&Literal> {
        let point = random.unit();
        self.0.iter().find(|(end, _)| point < *end).or(self.0.last()).map(|(_, value)| value)
    }

    fn write(&self, random: &mut Random, rows: &mut Rows) {
        match self.draw(random) {
            Some(Literal::Integer(number)) if self.1 => rows.integer(*number),
            Some(value) => rows.text(|out| out.extend_from_slice(shown(value).as_bytes())),
            None => rows.null(),
        }
    }
}

/// Upper ends of shares with these weights.
fn shares(weights: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let total: f64 = weights.clone().sum();
    let mut sum = 0.0;
    weights
        .map(|weight| {
            sum += weight / total;
            sum
        })
        .collect()
}

/// Milliseconds since 1970 of the row before the first, in UUIDs of version 7: 2024-01-01.
const UUID_BEGIN_MS: u64 = 1_704_067_200_000;

impl Contents {
    /// The rows of `table` in a data set with this seed.
    pub(super) fn new(seed: u64, table: &Table) -> Self {
        Self { columns: table.columns.iter().map(|column| source(seed, table, column)).collect() }
    }
}

/// Of the generators of a column.
pub(super) fn key(seed: u64, table: &Table, column: &Column) -> u64 {
    hash(seed, &format!("{}.{}", table.name, column.name))
}

fn source(seed: u64, table: &Table, column: &Column) -> Source {
    let key = key(seed, table, column);
    let distinct = column.distinct.map(|(count, distribution)| {
        Sampler::new(1, i64::try_from(count.max(1)).unwrap_or(i64::MAX), distribution)
    });
    Source { key, null: column.null, distinct, draw: ready(seed, table, column) }
}

/// The column of the same row that another depends on: one that stands before it.
fn other(seed: u64, table: &Table, name: &str) -> Box<Source> {
    let column = table.column(name).unwrap_or(&table.columns[0]);
    Box::new(source(seed, table, column))
}

fn ready(seed: u64, table: &Table, column: &Column) -> Ready {
    match &column.values {
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
        Values::Histogram { ranges, decimals } => {
            let ends = shares(ranges.iter().map(|(_, _, weight)| *weight));
            let sampler = |(min, max, _): &(i64, i64, f64)| Sampler::new(*min, *max, Default::default());
            let ranges = ends.into_iter().zip(ranges.iter().map(sampler)).collect();
            Ready::Histogram { ranges, decimals: *decimals }
        }
        Values::Text { min, max } => Ready::Text { min: *min, max: *max },
        Values::Words { min, max, words, distribution } => {
            let sampler = Sampler::new(1, words.len().max(1) as i64, *distribution);
            Ready::Words { min: *min, max: *max, words: words.clone(), sampler }
        }
        Values::Pattern(pattern) => Ready::Pattern(pattern.clone().into_bytes()),
        Values::Uuid(version) => Ready::Uuid(*version),
        Values::Json(fields) => {
            let field = |field: &Column| {
                let named = Column { name: format!("{}.{}", column.name, field.name), ..field.clone() };
                (field.name.clone(), source(seed, table, &named))
            };
            Ready::Json(fields.iter().map(field).collect())
        }
        Values::Date { first, last, distribution } => Ready::Date(Sampler::new(*first, *last, *distribution)),
        Values::Time { first, last, distribution } => Ready::Time(Sampler::new(*first, *last, *distribution)),
        Values::Choice(choice) => Ready::Choice(Shares::new(choice)),
        Values::By { column, cases } => {
            let cases = cases.iter().map(|(value, choice)| (value.clone(), Shares::new(choice)));
            Ready::By(other(seed, table, column), cases.collect())
        }
        Values::Follows { column, factor, plus, deviation, decimals } => Ready::Follows {
            source: other(seed, table, column),
            factor: *factor,
            plus: *plus,
            deviation: *deviation,
            decimals: *decimals,
        },
        Values::Children { first, parents, min, max, .. } => {
            let name = format!("{}.{}", table.name, column.name);
            Ready::Children { first: *first, counts: Counts::new(&name, *parents, (*min, *max)) }
        }
    }
}

impl Source {
    /// The generator of its value in a row, and whether it is NULL there.
    fn random(&self, number: u64) -> (Random, bool) {
        let mut random = random::of_row(self.key, number);
        let is_null = self.null > 0.0 && random.unit() < self.null;
        match &self.distinct {
            None => (random, is_null),
            Some(sampler) => {
                let which = sampler.draw(&mut random) as u64;
                (random::of_row(!self.key, which), is_null)
            }
        }
    }

    fn write(&self, number: u64, rows: &mut Rows) {
        let (mut random, is_null) = self.random(number);
        if is_null {
            rows.null();
        } else {
            self.draw.write(number, &mut random, rows);
        }
    }

    /// Its value in a row as a number, even where it is NULL: what depends on it has a value.
    fn number(&self, number: u64) -> f64 {
        let (mut random, _) = self.random(number);
        self.draw.number(number, &mut random)
    }

    /// Its value in a row, where it is one of a choice.
    fn chosen(&self, number: u64) -> String {
        let (mut random, _) = self.random(number);
        match &self.draw {
            Ready::Choice(choice) => choice.draw(&mut random).map(shown).unwrap_or_default(),
            _ => String::new(),
        }
    }
}

impl layout::Contents for Contents {
    fn write(&self, number: u64, rows: &mut Rows) {
        self.columns.iter().for_each(|column| column.write(number, rows));
    }
}

impl Ready {
    fn write(&self, number: u64, random: &mut Random, rows: &mut Rows) {
        match self {
            Self::Sequence { first } => {
                rows.integer(first.wrapping_add(i64::try_from(number).unwrap_or(i64::MAX) - 1));
            }
            Self::Integer(sampler) => rows.integer(sampler.draw(random)),
            Self::Children { first, counts } => {
                rows.integer(first.wrapping_add(counts.parent(number.saturating_sub(1)) as i64));
            }
            Self::Histogram { decimals: 0, .. } => rows.integer(self.number(number, random) as i64),
            Self::Normal { decimals, .. } => self.write_number((number, *decimals), random, rows),
            Self::Histogram { decimals, .. } => self.write_number((number, *decimals), random, rows),
            Self::Follows { decimals: Some(decimals), .. } => {
                self.write_number((number, *decimals), random, rows);
            }
            Self::Follows { decimals: None, .. } => {
                let day = self.number(number, random).round() as i64;
                rows.text(|out| random::write_date(day, out));
            }
            Self::Decimal { sampler, decimals } => {
                let value = sampler.draw(random);
                rows.text(|out| write_decimal(value, *decimals, out));
            }
            Self::Text { min, max } => rows.text(|out| random::write_text(*min, *max, random, out)),
            Self::Words { min, max, words, sampler } => {
                let text = sentence((*min, *max), words, sampler, random);
                rows.text(|out| out.extend_from_slice(text.as_bytes()));
            }
            Self::Pattern(pattern) => rows.text(|out| random::write_pattern(pattern, random, out)),
            Self::Uuid(version) => {
                rows.text(|out| out.extend_from_slice(uuid(*version, number, random).as_bytes()));
            }
            Self::Json(fields) => {
                let text = object(fields, number);
                rows.text(|out| out.extend_from_slice(text.as_bytes()));
            }
            Self::Date(sampler) => {
                let day = sampler.draw(random);
                rows.text(|out| random::write_date(day, out));
            }
            Self::Time(sampler) => {
                let second = sampler.draw(random);
                let (day, rest) = (second.div_euclid(86_400), second.rem_euclid(86_400));
                rows.text(|out| {
                    random::write_date(day, out);
                    let clock = format!(" {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
                    out.extend_from_slice(clock.as_bytes());
                });
            }
            Self::Choice(choice) => choice.write(random, rows),
            Self::By(source, cases) => {
                let value = source.chosen(number);
                match cases.iter().find(|(case, _)| *case == value) {
                    Some((_, choice)) => choice.write(random, rows),
                    None => rows.null(),
                }
            }
        }
    }

    /// The value as a number; of a text, 0.
    fn number(&self, number: u64, random: &mut Random) -> f64 {
        let scaled = |value: i64, decimals: u32| value as f64 / 10f64.powi(decimals as i32);
        match self {
            Self::Sequence { first } => *first as f64 + number as f64 - 1.0,
            Self::Integer(sampler) | Self::Date(sampler) | Self::Time(sampler) => sampler.draw(random) as f64,
            Self::Children { first, counts } => {
                *first as f64 + counts.parent(number.saturating_sub(1)) as f64
            }
            Self::Normal { mean, deviation, .. } => mean + deviation * normal(random),
            Self::Decimal { sampler, decimals } => scaled(sampler.draw(random), *decimals),
            Self::Histogram { ranges, decimals } => {
                let point = random.unit();
                let range = ranges.iter().find(|(end, _)| point < *end).or(ranges.last());
                range.map_or(0.0, |(_, sampler)| scaled(sampler.draw(random), *decimals))
            }
            Self::Follows { source, factor, plus, deviation, .. } => {
                let noise = if *deviation > 0.0 { deviation * normal(random) } else { 0.0 };
                source.number(number) * factor + plus + noise
            }
            _ => 0.0,
        }
    }

    fn write_number(&self, (number, decimals): (u64, u32), random: &mut Random, rows: &mut Rows) {
        let value = self.number(number, random) * 10f64.powi(decimals as i32);
        rows.text(|out| write_decimal(value.round() as i64, decimals, out));
    }
}

/// A normally distributed number with the mean 0 and the standard deviation 1.
fn normal(random: &mut Random) -> f64 {
    // G. Box, M. Muller, "A note on the generation of random normal deviates", 1958
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (TAU * random.unit()).cos()
}

/// Words up to a length, in letters.
fn sentence((min, max): (u32, u32), words: &[String], sampler: &Sampler, random: &mut Random) -> String {
    let length = u64::from(min) + random.below(u64::from(max - min) + 1);
    let (mut text, mut letters) = (String::new(), 0);
    while letters < length {
        let word = words.get(sampler.draw(random) as usize - 1).map_or("", String::as_str);
        let blank = if text.is_empty() { "" } else { " " };
        for letter in blank.chars().chain(word.chars()).take((length - letters) as usize) {
            text.push(letter);
            letters += 1;
        }
    }
    // a server may cut a blank at the end off
    if text.ends_with(' ') {
        text.pop();
        text.push('s');
    }
    text
}

/// A UUID as text (RFC 9562, 5.4 and 5.7).
fn uuid(version: u32, number: u64, random: &mut Random) -> String {
    let (mut high, mut low) = (random.bits(), random.bits());
    if version == 7 {
        high = (UUID_BEGIN_MS + number) << 16 | high & 0xFFFF;
    }
    high = high & !0xF000 | u64::from(version) << 12;
    low = low & (u64::MAX >> 2) | 1 << 63;
    let (a, b, c) = (high >> 32, high >> 16 & 0xFFFF, high & 0xFFFF);
    format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xFFFF_FFFF_FFFF)
}

/// An object as MySQL shows it: keys are in its order already.
fn object(fields: &[(String, Source)], number: u64) -> String {
    let mut rows = Rows::default();
    fields.iter().for_each(|(_, field)| field.write(number, &mut rows));
    let value = |(cell, (_, field)): (Cell<'_>, &(String, Source))| match cell {
        Cell::Null => "null".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Text(text) => {
            let text = String::from_utf8_lossy(text);
            match field.draw.decimals() {
                Some(0) => text.into_owned(),
                // as a server shows it that reads it as a floating-point number
                Some(_) => {
                    let short = text.trim_end_matches('0');
                    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
                }
                None if matches!(field.draw, Ready::Json(_)) => text.into_owned(),
                None => serde_json::Value::from(text.as_ref()).to_string(),
            }
        }
    };
    let pairs = rows.cells().zip(fields).map(|pair| {
        let name = serde_json::Value::from(pair.1.0.as_str());
        format!("{name}: {}", value(pair))
    });
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
}

impl Ready {
    /// Digits behind the point, where its values are numbers that are sent as text.
    fn decimals(&self) -> Option<u32> {
        match self {
            Self::Normal { decimals, .. }
            | Self::Decimal { decimals, .. }
            | Self::Histogram { decimals, .. } => Some(*decimals),
            Self::Follows { decimals, .. } => *decimals,
            _ => None,
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
