//! The rows that a warehouse begins with (TPC-C, specification 5.11, 4.3.3.1): row `n` of a table is a
//! function of the seed, the table and `n` alone.

use super::{CUSTOMERS, DISTRICTS, ITEMS, LINES, UNDELIVERED};
use crate::layout::Rows;
use load::{
    random::{self, Random, Sampler, mix},
    spec::Distribution,
};

/// When everything was entered, as if all had been loaded at once.
const LOADED: &str = "2024-01-01 00:00:00";
/// The constant of NURand by which last names are given (2.1.6.1).
const C_LOAD: u32 = 157;
/// Orders up to this are delivered.
const DELIVERED: u64 = CUSTOMERS - UNDELIVERED;
/// Lines of two orders that follow each other: each has 5 to 15.
const PAIR: u64 = 20;
/// What one item or kind of stock in ten is.
const ORIGINAL: &[u8] = b"ORIGINAL";

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Warehouse,
    District,
    Customer,
    History,
    Order,
    NewOrder,
    OrderLine,
    Item,
    Stock,
}

/// The rows of one table.
#[derive(Debug)]
pub(super) struct Contents {
    seed: u64,
    kind: Kind,
    names: Sampler,
}

/// Where a row belongs: all numbers from 1.
struct Place {
    warehouse: u64,
    district: u64,
    /// Its number there.
    number: u64,
}

impl Contents {
    /// Those of a table in a data set with this seed.
    pub(super) fn new(seed: u64, kind: Kind) -> Self {
        let names = Sampler::new(0, 999, Distribution::NonUniform { a: 255, c: C_LOAD });
        Self { seed, kind, names }
    }

    /// Random numbers that a row, or what else has a number, has for itself.
    fn random(&self, kind: Kind, number: u64) -> Random {
        let key = mix(self.seed ^ mix(kind as u64 + 1));
        Random::for_connection(mix(key.wrapping_add(mix(number))), 0, 0)
    }

    /// Lines of the first of the two orders that are pair `pair` (from 0) of all.
    fn lines_of_first(&self, pair: u64) -> u64 {
        5 + self.random(Kind::OrderLine, u64::MAX - pair).below(11)
    }

    fn lines_of(&self, order: u64) -> u64 {
        let first = self.lines_of_first((order - 1) / 2);
        if order % 2 == 1 { first } else { PAIR - first }
    }
}

impl crate::layout::Contents for Contents {
    fn write(&self, number: u64, rows: &mut Rows) {
        let random = &mut self.random(self.kind, number);
        match self.kind {
            Kind::Warehouse => {
                integer(rows, number);
                address(rows, random);
                decimal(rows, random.below(2_001), 4);
                fixed(rows, "300000.00");
            }
            Kind::District => {
                let (warehouse, district) = split(number, DISTRICTS);
                integer(rows, warehouse);
                integer(rows, district);
                address(rows, random);
                decimal(rows, random.below(2_001), 4);
                fixed(rows, "30000.00");
                integer(rows, CUSTOMERS + 1);
            }
            Kind::Customer => self.customer(&place(number, CUSTOMERS), rows, random),
            Kind::History => {
                let Place { warehouse, district, number } = place(number, CUSTOMERS);
                for value in [number, district, warehouse, district, warehouse] {
                    integer(rows, value);
                }
                fixed(rows, LOADED);
                fixed(rows, "10.00");
                text(rows, (12, 24), random);
            }
            Kind::Order => self.order(number, rows, random),
            Kind::NewOrder => {
                let Place { warehouse, district, number } = place(number, UNDELIVERED);
                for value in [warehouse, district, DELIVERED + number] {
                    integer(rows, value);
                }
            }
            Kind::OrderLine => self.line(&place(number, LINES), rows, random),
            Kind::Item => {
                integer(rows, number);
                integer(rows, 1 + random.below(10_000));
                text(rows, (14, 24), random);
                decimal(rows, 100 + random.below(9_901), 2);
                data(rows, random);
            }
            Kind::Stock => {
                let (warehouse, item) = split(number, ITEMS);
                integer(rows, warehouse);
                integer(rows, item);
                integer(rows, 10 + random.below(91));
                (0..DISTRICTS).for_each(|_| text(rows, (24, 24), random));
                fixed(rows, "0");
                integer(rows, 0);
                integer(rows, 0);
                data(rows, random);
            }
        }
    }
}

impl Contents {
    fn customer(&self, at: &Place, rows: &mut Rows, random: &mut Random) {
        for value in [at.warehouse, at.district, at.number] {
            integer(rows, value);
        }
        text(rows, (8, 16), random);
        fixed(rows, "OE");
        // the first thousand have one name each
        let name = match at.number {
            first @ 1..=1_000 => first as i64 - 1,
            _ => self.names.draw(random),
        };
        rows.text(|out| random::write_last_name(name, out));
        streets(rows, random);
        rows.text(|out| random::write_pattern(b"################", random, out));
        fixed(rows, LOADED);
        fixed(rows, if random.below(10) == 0 { "BC" } else { "GC" });
        fixed(rows, "50000.00");
        decimal(rows, random.below(5_001), 4);
        fixed(rows, "-10.00");
        fixed(rows, "10.00");
        integer(rows, 1);
        integer(rows, 0);
        text(rows, (300, 500), random);
    }

    /// Each customer of a district has one order there.
    fn order(&self, row: u64, rows: &mut Rows, random: &mut Random) {
        let Place { warehouse, district, number } = place(row, CUSTOMERS);
        let of_district = (row - 1) / CUSTOMERS;
        let customer = permuted(number - 1, CUSTOMERS, mix(self.seed ^ mix(of_district))) + 1;
        for value in [warehouse, district, number, customer] {
            integer(rows, value);
        }
        fixed(rows, LOADED);
        if number <= DELIVERED {
            integer(rows, 1 + random.below(10));
        } else {
            rows.null();
        }
        integer(rows, self.lines_of(row));
        integer(rows, 1);
    }

    /// Lines of the second order of a pair are counted from behind, so that a line's number and its order's
    /// are enough to know which row it is.
    fn line(&self, at: &Place, rows: &mut Rows, random: &mut Random) {
        let (pair, within) = split(at.number, PAIR);
        let districts = (at.warehouse - 1) * DISTRICTS + at.district - 1;
        let first = self.lines_of_first(districts * (CUSTOMERS / 2) + pair - 1);
        let (order, line) =
            if within <= first { (2 * pair - 1, within) } else { (2 * pair, PAIR + 1 - within) };
        for value in [at.warehouse, at.district, order, line, 1 + random.below(ITEMS), at.warehouse] {
            integer(rows, value);
        }
        if order <= DELIVERED {
            fixed(rows, LOADED);
        } else {
            rows.null();
        }
        integer(rows, 5);
        if order <= DELIVERED {
            fixed(rows, "0.00");
        } else {
            decimal(rows, 1 + random.below(999_999), 2);
        }
        text(rows, (24, 24), random);
    }
}

/// Which group of `size` a number from 1 belongs to, and its number there, both from 1.
fn split(number: u64, size: u64) -> (u64, u64) {
    ((number - 1) / size + 1, (number - 1) % size + 1)
}

/// The place of a row of which each district has so many.
fn place(row: u64, of_district: u64) -> Place {
    let (district, number) = split(row, of_district);
    let (warehouse, district) = split(district, DISTRICTS);
    Place { warehouse, district, number }
}

fn integer(rows: &mut Rows, value: u64) {
    rows.integer(i64::try_from(value).unwrap_or(i64::MAX));
}

fn fixed(rows: &mut Rows, value: &str) {
    rows.text(|out| out.extend_from_slice(value.as_bytes()));
}

fn text(rows: &mut Rows, (min, max): (u32, u32), random: &mut Random) {
    rows.text(|out| random::write_text(min, max, random, out));
}

/// A number of units of its last digit.
fn decimal(rows: &mut Rows, units: u64, decimals: u32) {
    let one = 10u64.pow(decimals);
    let (whole, rest) = (units / one, units % one);
    fixed(rows, &format!("{whole}.{rest:0width$}", width = decimals as usize));
}

/// Name, then what [`streets`] writes.
fn address(rows: &mut Rows, random: &mut Random) {
    text(rows, (6, 10), random);
    streets(rows, random);
}

/// Two streets, city, state, zip.
fn streets(rows: &mut Rows, random: &mut Random) {
    (0..3).for_each(|_| text(rows, (10, 20), random));
    text(rows, (2, 2), random);
    rows.text(|out| random::write_pattern(b"####11111", random, out));
}

/// 26 to 50 characters, of which one in ten holds the word that marks an original.
fn data(rows: &mut Rows, random: &mut Random) {
    rows.text(|out| {
        let start = out.len();
        random::write_text(26, 50, random, out);
        if random.below(10) == 0 {
            let room = (out.len() - start - ORIGINAL.len()) as u64 + 1;
            let at = start + random.below(room) as usize;
            out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
    });
}

/// Where `index` goes in a permutation of 0 to `count` - 1, which is at most 4,096: four rounds of a Feistel
/// network over 12 bits, walked on until the number is in the range.
fn permuted(index: u64, count: u64, key: u64) -> u64 {
    const HALF: u32 = 6;
    const MASK: u64 = (1 << HALF) - 1;
    debug_assert!(index < count && count <= 1 << (2 * HALF));
    let round = |value: u64| {
        (0..4).fold(value, |value, round: u64| {
            let (left, right) = (value >> HALF, value & MASK);
            let mixed = left ^ (mix(key ^ mix((round << HALF) | right)) & MASK);
            (right << HALF) | mixed
        })
    };
    let mut value = round(index);
    while value >= count {
        value = round(value);
    }
    value
}
