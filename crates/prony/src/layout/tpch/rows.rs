//! The rows, which the crate `tpchgen` makes: byte for byte those of the TPC's own generator, dbgen. Each row
//! is made by itself (part `n` of as many parts as there are rows), so any connection can load any of them.

use super::ORDERS;
use crate::layout::Rows;
use std::{
    collections::HashMap,
    fmt::{Display, Write as _},
    ops::RangeInclusive,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};
use tpchgen::{
    distribution::Distributions,
    generators::{
        CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
        PartSuppGenerator, RegionGenerator, SupplierGenerator,
    },
    random::RandomBoundedInt,
    text::TextPool,
};

/// The text that comments are taken from, bytes: as much as dbgen has.
const TEXT_BYTES: i32 = 300 << 20;
/// Suppliers of a part.
const SUPPLIERS_OF_PART: u64 = 4;

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    PartSupplier,
    Order,
    Line,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A whole number.
    Number,
    /// A number with two digits behind the point.
    Money,
    /// Text, or a date.
    Text,
}

/// The rows of one table. Those of a part's suppliers have the part's number, and the lines of an order that
/// of the order.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) kind: Kind,
    pub(super) scale_factor: f64,
    /// The highest number.
    pub(super) last: u64,
    /// What the columns hold.
    pub(super) columns: Vec<Holds>,
    pub(super) text: Text,
}

impl Contents {
    /// Adds rows of which each is printed with a bar behind each value; no value has one in it.
    fn add(&self, made: impl Iterator<Item = impl Display>, rows: &mut Rows) {
        let mut line = String::new();
        for row in made {
            line.clear();
            write!(line, "{row}").expect("a String takes everything");
            for (value, holds) in line.split('|').zip(&self.columns) {
                match (holds, value.parse()) {
                    (Holds::Number, Ok(number)) => rows.integer(number),
                    // dbgen prints a quantity without them
                    (Holds::Money, Ok(_)) => rows.text(|out| out.extend([value, ".00"].concat().bytes())),
                    _ => rows.text(|out| out.extend_from_slice(value.as_bytes())),
                }
            }
        }
    }
}

impl crate::layout::Contents for Contents {
    fn write(&self, number: u64, rows: &mut Rows) {
        let part = i32::try_from(number).expect("there are at most 1.5 billion");
        let parts = i32::try_from(self.last).expect("there are at most 1.5 billion");
        let (scale, words, text) = (self.scale_factor, Distributions::static_default(), self.text.get());
        match self.kind {
            Kind::Region => {
                let one = RegionGenerator::new_with_distributions_and_text_pool(words, text);
                self.add(one.iter().skip(part as usize - 1).take(1), rows);
            }
            Kind::Nation => {
                let one = NationGenerator::new_with_distributions_and_text_pool(words, text);
                self.add(one.iter().skip(part as usize - 1).take(1), rows);
            }
            Kind::Supplier => {
                type Made<'a> = SupplierGenerator<'a>;
                let one = Made::new_with_distributions_and_text_pool(scale, part, parts, words, text);
                self.add(one.iter(), rows);
            }
            Kind::Customer => {
                type Made<'a> = CustomerGenerator<'a>;
                let one = Made::new_with_distributions_and_text_pool(scale, part, parts, words, text);
                self.add(one.iter(), rows);
            }
            Kind::Part => {
                type Made<'a> = PartGenerator<'a>;
                let one = Made::new_with_distributions_and_text_pool(scale, part, parts, words, text);
                self.add(one.iter(), rows);
            }
            Kind::PartSupplier => {
                let one = PartSuppGenerator::new_with_text_pool(scale, part, parts, text);
                self.add(one.iter(), rows);
            }
            Kind::Order => {
                type Made<'a> = OrderGenerator<'a>;
                let one = Made::new_with_distributions_and_text_pool(scale, part, parts, words, text);
                self.add(one.iter(), rows);
            }
            Kind::Line => {
                type Made<'a> = LineItemGenerator<'a>;
                let one = Made::new_with_distributions_and_text_pool(scale, part, parts, words, text);
                self.add(one.iter(), rows);
            }
        }
    }

    fn last(&self, _rows: u64) -> u64 {
        self.last
    }

    fn count(&self, numbers: &RangeInclusive<u64>) -> u64 {
        let each = (numbers.end() + 1).saturating_sub(*numbers.start());
        match self.kind {
            Kind::PartSupplier => each * SUPPLIERS_OF_PART,
            Kind::Line => lines_of(numbers),
            _ => each,
        }
    }
}

/// Rows of a table that has so many numbers.
pub(super) fn rows(kind: Kind, last: u64) -> u64 {
    match kind {
        Kind::PartSupplier => last * SUPPLIERS_OF_PART,
        Kind::Line => lines(last),
        _ => last,
    }
}

/// Lines of the orders with these numbers.
fn lines_of(orders: &RangeInclusive<u64>) -> u64 {
    let mut random: RandomBoundedInt = OrderGenerator::create_line_count_random();
    random.advance_rows(*orders.start() as i64 - 1);
    let mut next = |_| {
        let lines = random.next_value();
        random.row_finished();
        lines as u64
    };
    orders.clone().map(&mut next).sum()
}

/// Lines of the first so many orders. They are counted once: that takes a hundredth of a second for a scale
/// factor of 1.
fn lines(orders: u64) -> u64 {
    /// Lines at the scale factors of the specification (4.2.5.1), per million and a half orders.
    const KNOWN: [(u64, u64); 6] = [
        (1, 6_001_215),
        (10, 59_986_052),
        (30, 179_998_372),
        (100, 600_037_902),
        (300, 1_799_989_091),
        (1_000, 5_999_989_709),
    ];
    static COUNTED: Mutex<Option<HashMap<u64, u64>>> = Mutex::new(None);
    if let Some((_, lines)) = KNOWN.iter().find(|(scale, _)| scale * ORDERS == orders) {
        return *lines;
    }
    let mut counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    *counted.get_or_insert_default().entry(orders).or_insert_with(|| lines_of(&(1..=orders)))
}

/// The text that comments are taken from. It is made when the first row is, and forgotten with the last of
/// the tables that hold it: it takes 300 MB.
#[derive(Default)]
pub(super) struct Text(OnceLock<Arc<TextPool>>);

impl Text {
    fn get(&self) -> &TextPool {
        static SHARED: Mutex<Weak<TextPool>> = Mutex::new(Weak::new());
        self.0.get_or_init(|| {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            shared.upgrade().unwrap_or_else(|| {
                let made = Arc::new(TextPool::new(TEXT_BYTES, Distributions::static_default()));
                *shared = Arc::downgrade(&made);
                made
            })
        })
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").field("is_made", &self.0.get().is_some()).finish()
    }
}
