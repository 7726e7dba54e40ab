//! Rows become columns.

use super::{DIGITS, Tag, power_of_ten};
use serde::Serialize;
use serde_json::{Number, Value};
use std::collections::HashMap;

/// Every row, by column.
pub(in crate::store) fn write(rows: &[impl Serialize]) -> Vec<u8> {
    let mut root = Node::default();
    for row in rows {
        let row = serde_json::to_value(row).expect("plain values with text keys become JSON");
        root.push(&row);
    }
    let mut bytes = Vec::new();
    put(&mut bytes, rows.len() as u64);
    root.finish(rows.len(), &mut bytes);
    bytes
}

/// What all rows have at one place.
#[derive(Default)]
struct Node {
    tags: Vec<Tag>,
    whole: Vec<u64>,
    fractions: Vec<Decimal>,
    texts: Texts,
    fields: Vec<(String, Node)>,
    items: Vec<Node>,
}

/// Texts as numbers of those that differ.
#[derive(Default)]
struct Texts {
    different: Vec<String>,
    number_of: HashMap<String, u64>,
    all: Vec<u64>,
}

/// `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i64,
    exponent: i32,
}

impl Node {
    fn push(&mut self, value: &Value) {
        let tag = match value {
            Value::Null => Tag::Null,
            Value::Bool(false) => Tag::False,
            Value::Bool(true) => Tag::True,
            Value::Number(number) => self.push_number(number),
            Value::String(text) => {
                self.texts.push(text);
                Tag::Text
            }
            Value::Array(values) => {
                self.items.resize_with(self.items.len().max(values.len()), Self::default);
                for (item, value) in self.items.iter_mut().zip(values) {
                    item.push_at(self.tags.len(), value);
                }
                Tag::List
            }
            Value::Object(values) => {
                let row = self.tags.len();
                for (place, (name, value)) in values.iter().enumerate() {
                    self.field(place, name).push_at(row, value);
                }
                Tag::Fields
            }
        };
        self.tags.push(tag);
    }

    /// Pushes the value of a row; rows between had none.
    fn push_at(&mut self, row: usize, value: &Value) {
        self.tags.resize(row, Tag::Absent);
        self.push(value);
    }

    /// The node of a field, which is `place` in most rows.
    fn field(&mut self, place: usize, name: &str) -> &mut Self {
        let is_there = self.fields.get(place).is_some_and(|(known, _)| known == name);
        let found =
            if is_there { Some(place) } else { self.fields.iter().position(|(known, _)| known == name) };
        let place = found.unwrap_or_else(|| {
            self.fields.push((name.to_owned(), Self::default()));
            self.fields.len() - 1
        });
        &mut self.fields[place].1
    }

    fn push_number(&mut self, number: &Number) -> Tag {
        if let Some(natural) = number.as_u64() {
            self.whole.push(natural);
            return Tag::Natural;
        }
        if let Some(negative) = number.as_i64() {
            self.whole.push(negative as u64);
            return Tag::Negative;
        }
        self.fractions.push(Decimal::of(number.as_f64().unwrap_or_default()));
        Tag::Fraction
    }

    fn finish(mut self, rows: usize, bytes: &mut Vec<u8>) {
        self.tags.resize(rows, Tag::Absent);
        put_tags(bytes, &self.tags);
        let mut last = 0_u64;
        for number in self.whole {
            put_signed(bytes, number.wrapping_sub(last) as i64);
            last = number;
        }
        put_fractions(bytes, &self.fractions);
        if !self.texts.all.is_empty() {
            put(bytes, self.texts.different.len() as u64);
            self.texts.different.iter().for_each(|text| put_text(bytes, text));
            self.texts.all.iter().for_each(|&number| put(bytes, number));
        }
        if self.tags.contains(&Tag::Fields) {
            put(bytes, self.fields.len() as u64);
            for (name, node) in self.fields {
                put_text(bytes, &name);
                node.finish(rows, bytes);
            }
        }
        if self.tags.contains(&Tag::List) {
            put(bytes, self.items.len() as u64);
            self.items.into_iter().for_each(|node| node.finish(rows, bytes));
        }
    }
}

impl Texts {
    fn push(&mut self, text: &str) {
        let number = self.number_of.get(text).copied().unwrap_or_else(|| {
            let number = self.different.len() as u64;
            self.different.push(text.to_owned());
            self.number_of.insert(text.to_owned(), number);
            number
        });
        self.all.push(number);
    }
}

impl Decimal {
    fn of(value: f64) -> Self {
        // rounded up, the largest of all would be none any more
        let value = value.clamp(-1e300, 1e300);
        // `d.dddde-7`: what the formatter rounds, it rounds correctly
        let text = format!("{value:.*e}", DIGITS - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut digits: i64 = mantissa.replace('.', "").parse().unwrap_or(0);
        let mut exponent = exponent.parse::<i32>().unwrap_or(0) - (DIGITS as i32 - 1);
        while digits != 0 && digits % 10 == 0 {
            (digits, exponent) = (digits / 10, exponent + 1);
        }
        Self { digits, exponent }
    }

    /// The same number in units of a smaller power of ten.
    fn in_units_of(self, exponent: i32) -> Option<i64> {
        let shift = u32::try_from(self.exponent - exponent).ok()?;
        10_i64.checked_pow(shift)?.checked_mul(self.digits)
    }
}

fn put_tags(bytes: &mut Vec<u8>, tags: &[Tag]) {
    let first = tags.first().copied().unwrap_or(Tag::Absent);
    if tags.iter().all(|tag| *tag == first) {
        bytes.push(first as u8);
    } else {
        bytes.push(Tag::ALL.len() as u8);
        bytes.extend(tags.iter().map(|tag| *tag as u8));
    }
}

/// In units of the smallest power of ten that occurs, where all fit; else each as it is in memory.
fn put_fractions(bytes: &mut Vec<u8>, fractions: &[Decimal]) {
    /// Up to here a whole number and a power of ten are exact as `f64`, and so is what comes of them, but for
    /// one rounding.
    const EXACT: u64 = 1 << 53;
    let not_zero = fractions.iter().filter(|decimal| decimal.digits != 0);
    let Some(unit) = not_zero.map(|decimal| decimal.exponent).min().or(fractions.first().map(|_| 0)) else {
        return;
    };
    let counts: Option<Vec<i64>> = fractions
        .iter()
        .map(|decimal| if decimal.digits == 0 { Some(0) } else { decimal.in_units_of(unit) })
        .map(|count| count.filter(|count| count.unsigned_abs() < EXACT && unit.abs() <= 22))
        .collect();
    let Some(counts) = counts else {
        bytes.push(0);
        for decimal in fractions {
            bytes.extend(value(decimal).to_le_bytes());
        }
        return;
    };
    bytes.push(1);
    put_signed(bytes, i64::from(unit));
    let mut last = 0;
    for count in counts {
        put_signed(bytes, count - last);
        last = count;
    }
}

fn value(decimal: &Decimal) -> f64 {
    let digits = decimal.digits as f64;
    let power = power_of_ten(decimal.exponent.unsigned_abs().min(22));
    match decimal.exponent {
        0..=22 => digits * power,
        -22..0 => digits / power,
        exponent => format!("{}e{exponent}", decimal.digits).parse().unwrap_or(digits),
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, ((number << 1) ^ (number >> 63)) as u64);
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
