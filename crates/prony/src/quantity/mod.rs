//! Quantities as people write them: one grammar for a study, flags, settings, objectives and claims, and the
//! same words wherever one is refused. It knows neither who asks nor what is done with them.
//!
//! | quantity | written | what a bare number is |
//! |---|---|---|
//! | length of time | `500ms`, `1.5s`, `1m 30s`, `2h`; `us`, `ms`, `s`, `m` or `min`, `h` | refused |
//! | size | `512M`, `1.5G`, `2 GiB`, in steps of 1024 | refused; bytes where servers take them so |
//! | bandwidth | `100MB/s`, `100Mbit/s`, in steps of 1000, as disks and networks are sold | refused |
//! | amount of data | `4kB`, `1.5 MB`, in steps of 1000 | refused |
//! | share | `2%` | refused |
//! | price | `0.42 EUR/h` | refused |
//! | rate | `1000`, `1000/s` | in a second |
//! | count | `1_000_000`; `10K`, `1M` in steps of 1024, as sysbench has them | itself |
//!
//! `_` may stand between digits everywhere.

use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// A text that is not the quantity that belongs there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A number, which could be of any unit.
    #[error("`{text}` has no unit: write {}", wanted.examples())]
    NoUnit {
        /// What was written.
        text: String,
        /// What belongs there.
        wanted: Wanted,
    },
    /// Something else altogether.
    #[error("`{text}` is not {}: write {}", wanted.name(), wanted.examples())]
    Other {
        /// What was written.
        text: String,
        /// What belongs there.
        wanted: Wanted,
    },
}

/// What belongs in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// [`duration`].
    Duration,
    /// [`size`].
    Size,
    /// [`bandwidth`].
    Bandwidth,
    /// [`amount`].
    Amount,
    /// [`share`].
    Share,
    /// [`price`].
    Price,
    /// [`count`].
    Count,
}

impl Wanted {
    /// With its article.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Duration => "a length of time",
            Self::Size => "a size",
            Self::Bandwidth => "a number of bytes per second",
            Self::Amount => "an amount of data",
            Self::Share => "a share",
            Self::Price => "a price",
            Self::Count => "a whole number",
        }
    }

    /// How it is written.
    #[must_use]
    pub fn examples(self) -> &'static str {
        match self {
            Self::Duration => "10s, 500ms or 1m 30s",
            Self::Size => "512M or 1.5G (1G is 1024M)",
            Self::Bandwidth => "100MB/s or 100Mbit/s",
            Self::Amount => "4kB or 1.5MB (1MB is 1000kB)",
            Self::Share => "2% or 0.1%",
            Self::Price => "0.42 EUR/h",
            Self::Count => "1000, 1_000_000 or 1M (1M is 1024K)",
        }
    }

    fn error(self, text: &str) -> Error {
        let (text, wanted) = (text.trim().to_owned(), self);
        let is_number = number(&text).is_some();
        if is_number && self != Self::Count {
            Error::NoUnit { text, wanted }
        } else {
            Error::Other { text, wanted }
        }
    }
}

/// `10s`, `500ms`, `100us`, `1m 30s`; exact to the nanosecond. `0` needs no unit.
///
/// # Errors
/// Where the text is something else, has no unit, or is negative.
pub fn duration(text: &str) -> Result<Duration, Error> {
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    let read = without_separators(text).and_then(|text| text.parse::<jiff::SignedDuration>().ok());
    // `PT10S` is a duration of ISO 8601, which nobody means by it here
    let read = read.filter(|_| text.trim().starts_with(|first: char| first.is_ascii_digit() || first == '.'));
    read.and_then(|signed| Duration::try_from(signed).ok()).ok_or_else(|| Wanted::Duration.error(text))
}

/// Bytes of `512M`, `1.5G`, `64 MB`, `2GiB`, in steps of 1024 as in option files; 1 or more.
///
/// # Errors
/// Where the text is something else, or has no unit.
pub fn size(text: &str) -> Result<u64, Error> {
    let (_, unit) = split(text);
    let read = if unit.is_empty() { None } else { bytes(text, 1024).filter(|bytes| *bytes > 0) };
    read.ok_or_else(|| Wanted::Size.error(text))
}

/// As [`size`], but a bare number is bytes and nothing is a size too, as on servers.
///
/// # Errors
/// Where the text is something else.
pub fn size_or_bytes(text: &str) -> Result<u64, Error> {
    bytes(text, 1024).ok_or_else(|| Wanted::Size.error(text))
}

/// Bytes in a second of `100MB/s` and `800Mbit/s`, in steps of 1000; 1 or more.
///
/// # Errors
/// Where the text is something else, or has no unit.
pub fn bandwidth(text: &str) -> Result<u64, Error> {
    let read = text.trim().strip_suffix("/s").and_then(|text| match text.trim_end().strip_suffix("bit") {
        Some(text) => bytes(&format!("{text}B"), 1000).map(|bits| bits / 8),
        None => bytes(text, 1000),
    });
    read.filter(|bytes| *bytes > 0).ok_or_else(|| Wanted::Bandwidth.error(text))
}

/// Bytes of `4kB`, `1.5 MB`, in steps of 1000, as far as they were moved and are not kept.
///
/// # Errors
/// Where the text is something else, or has no unit.
pub fn amount(text: &str) -> Result<u64, Error> {
    let (_, unit) = split(text);
    let read = if unit.is_empty() { None } else { bytes(text, 1000) };
    read.ok_or_else(|| Wanted::Amount.error(text))
}

/// 0.02 of `2%`; 0 or more, at most 1.
///
/// # Errors
/// Where the text is something else, or has no unit.
pub fn share(text: &str) -> Result<f64, Error> {
    let percent = text.trim().strip_suffix('%').and_then(number);
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| Wanted::Share.error(text))
}

/// Per second: `1000`, `12.5/s`; 0 or more. `None`: the text is something else. [`crate::arrival`] says which
/// forms a rate can have.
#[must_use]
pub fn rate(text: &str) -> Option<f64> {
    let text = text.trim();
    number(text.strip_suffix("/s").unwrap_or(text))
}

/// A whole number: `1_000_000`, or `1M` in steps of 1024, as sysbench has them.
///
/// # Errors
/// Where the text is something else.
pub fn count(text: &str) -> Result<u64, Error> {
    let (digits, unit) = split(text);
    let read = || {
        let factor = match unit {
            "" => 1,
            "k" | "K" => 1 << 10,
            "m" | "M" => 1 << 20,
            "g" | "G" => 1 << 30,
            _ => return None,
        };
        without_separators(digits)?.parse::<u64>().ok()?.checked_mul(factor)
    };
    read().ok_or_else(|| Wanted::Count.error(text))
}

/// What something costs in an hour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// In the currency.
    pub per_hour: f64,
    /// As it was written: `EUR`.
    pub currency: String,
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/h", self.per_hour, self.currency)
    }
}

/// `0.42 EUR/h`; 0 or more.
///
/// # Errors
/// Where the text is something else, or does not say which currency, or for how long.
pub fn price(text: &str) -> Result<Price, Error> {
    let read = || {
        let (digits, currency) = split(text.trim().strip_suffix('h')?.trim_end().strip_suffix('/')?);
        (!currency.is_empty()).then_some(())?;
        Some(Price { per_hour: number(digits)?, currency: currency.to_owned() })
    };
    read().ok_or_else(|| Wanted::Price.error(text))
}

/// A number, 0 or more, without a unit.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    let digits = without_separators(text)?;
    let plain = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    plain.then(|| digits.parse::<f64>().ok()).flatten().filter(|number| number.is_finite())
}

/// Without the `_` between digits; `None` where one stands elsewhere.
fn without_separators(text: &str) -> Option<String> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let right = |(at, _): (usize, &str)| at > 0 && is_digit(at - 1) && is_digit(at + 1);
    text.match_indices('_').all(right).then(|| text.replace('_', ""))
}

/// The number and the unit behind it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    (digits.trim_end(), &text[digits.len()..])
}

/// Whole numbers stay exact. There is no fraction of a byte: `0.5` is not a size.
fn bytes(text: &str, step: u64) -> Option<u64> {
    let (digits, unit) = split(text);
    let unit = unit.to_ascii_uppercase();
    let letter = unit.strip_suffix("IB").or(unit.strip_suffix('B')).unwrap_or(&unit);
    let power = ["", "K", "M", "G", "T", "P", "E"].iter().position(|known| *known == letter)?;
    let step = if unit.ends_with("IB") { 1024 } else { step };
    let factor = step.checked_pow(u32::try_from(power).ok()?)?;
    let digits = without_separators(digits)?;
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    if power == 0 {
        return None;
    }
    let bytes = (number(&digits)? * factor as f64).round();
    (bytes < 1e18).then_some(bytes as u64)
}

/// A length of time in its largest unit that keeps it whole, as [`duration`] reads it: `90s`, `2min`, `1h`.
#[must_use]
pub fn show_duration(time: Duration) -> String {
    const SECOND: u128 = 1_000_000_000;
    let ns = time.as_nanos();
    let units = [(3600 * SECOND, "h"), (60 * SECOND, "min"), (SECOND, "s"), (1_000_000, "ms"), (1_000, "us")];
    let fits = |(size, unit): &(u128, &str)| {
        // one minute is more often thought of as 60 s
        let least = if *unit == "min" { 2 } else { 1 };
        ns.is_multiple_of(*size) && ns >= least * size
    };
    match units.into_iter().find(fits) {
        Some((size, unit)) => format!("{}{unit}", ns / size),
        None if ns == 0 => "0s".to_owned(),
        None => format!("{ns}ns"),
    }
}

/// As it stands in a sentence: `10 ms`.
#[must_use]
pub fn say_duration(time: Duration) -> String {
    let us = time.as_micros();
    if us >= 100 && !us.is_multiple_of(1000) && time.subsec_nanos().is_multiple_of(1000) {
        return format!("{} ms", us as f64 / 1e3);
    }
    let text = show_duration(time);
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..at], &text[at..])
}

/// Bytes in a second as networks state them, in bits: `100 Mbit/s`, `1.5 Gbit/s`.
#[must_use]
pub fn say_bits(bytes_per_second: u64) -> String {
    let bits = bytes_per_second as f64 * 8.0;
    let (unit, size) = match bits {
        1e9.. => ("Gbit/s", 1e9),
        1e6.. => ("Mbit/s", 1e6),
        _ => ("kbit/s", 1e3),
    };
    format!("{} {unit}", (bits / size * 10.0).round() / 10.0)
}

/// Bytes in the largest unit of which there are some, exact or not: `1.7 GiB`, `96 MiB`.
#[must_use]
pub fn show_size_about(bytes: u64) -> String {
    let gibibytes = bytes as f64 / f64::from(1 << 30);
    match gibibytes {
        0.0..1.0 => format!("{} MiB", bytes >> 20),
        1.0..10.0 => format!("{gibibytes:.1} GiB"),
        _ => format!("{gibibytes:.0} GiB"),
    }
}

/// Bytes in the largest unit that leaves no or little behind: `96M`, `1G`.
#[must_use]
pub fn show_size_rounded(bytes: u64) -> String {
    const UNITS: [(u32, char); 3] = [(30, 'G'), (20, 'M'), (10, 'K')];
    // From ten units on a rounded figure says enough.
    let fits = |&&(shift, _): &&(u32, char)| {
        bytes >= 10 << shift || (bytes >= 1 << shift && bytes.trailing_zeros() >= shift)
    };
    UNITS.iter().find(fits).map_or_else(
        || bytes.to_string(),
        |(shift, letter)| format!("{}{letter}", (bytes + (1 << (shift - 1))) >> shift),
    )
}

/// `512M`; `None` where it is no whole number of any unit.
#[must_use]
pub fn whole_unit(bytes: u64) -> Option<String> {
    const UNITS: [(u32, char); 3] = [(30, 'G'), (20, 'M'), (10, 'K')];
    let whole = |&&(shift, _): &&(u32, char)| bytes >= 1 << shift && bytes.trailing_zeros() >= shift;
    UNITS.iter().find(whole).map(|(shift, letter)| format!("{}{letter}", bytes >> shift))
}

/// A whole number, thousands apart: `1,234,567`.
#[must_use]
pub fn show_count(number: u64) -> String {
    grouped(&number.to_string())
}

/// Digits with an optional sign before them, thousands apart.
#[must_use]
pub fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut text = String::from(sign);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_quantity_is_read() {
        for (text, ns) in [
            ("500ms", 500_000_000_u64),
            ("500_000us", 500_000_000),
            ("100\u{b5}s", 100_000),
            ("3s", 3_000_000_000),
            (" 1.5 s ", 1_500_000_000),
            ("2min", 120_000_000_000),
            ("2m", 120_000_000_000),
            ("1m 30s", 90_000_000_000),
            ("1h", 3_600_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
        assert_eq!([size("512M"), size("1.5G"), size("2 GiB")], [Ok(512 << 20), Ok(3 << 29), Ok(2 << 30)]);
        assert_eq!([size("64mb"), size("7b")], [Ok(64 << 20), Ok(7)]);
        assert_eq!([size_or_bytes("4096"), size_or_bytes("0")], [Ok(4096), Ok(0)]);
        assert!(size_or_bytes("0.5").is_err() && size("1.5B").is_err());
        assert_eq!(bandwidth("100MB/s"), Ok(100_000_000));
        assert_eq!(bandwidth("1MiB/s"), Ok(1 << 20));
        let bits = [bandwidth("100Mbit/s"), bandwidth("1.5 Gbit/s"), bandwidth("64 kbit/s")];
        assert_eq!(bits, [Ok(12_500_000), Ok(187_500_000), Ok(8_000)]);
        assert_eq!([share("2%"), share("0.5 %"), share("0%")], [Ok(0.02), Ok(0.005), Ok(0.0)]);
        assert_eq!([rate("1_000"), rate(" 12.5/s "), rate("-5")], [Some(1000.0), Some(12.5), None]);
        assert_eq!([count("1_000_000"), count("1M"), count("2k")], [Ok(1_000_000), Ok(1 << 20), Ok(2048)]);
    }

    #[test]
    fn a_bare_number_is_refused_everywhere_with_the_same_words() {
        let refusals = [
            duration("10").expect_err("no unit"),
            size("10").expect_err("no unit"),
            bandwidth("10").expect_err("no unit"),
            share("10").expect_err("no unit"),
        ];
        for refusal in refusals {
            let told = refusal.to_string();
            assert!(told.starts_with("`10` has no unit: write "), "{told}");
        }
    }

    #[test]
    fn what_is_something_else_is_refused_with_what_belongs_there() {
        for text in ["s", "", "3 weeks", "-3s", "1.2.3s", "1e400s", "PT10S", "1s 2", "_1s", "1_s"] {
            let told = duration(text).expect_err(text).to_string();
            assert!(told.contains("is not a length of time: write 10s"), "{text}: {told}");
        }
        for text in ["big", "-1G", "1X", "G", "1e30G", "99999999999T", "0M"] {
            assert!(size(text).is_err(), "{text}");
        }
        for text in ["100MB", "fast", "0B/s", "7bit/s", "100Mbits/s", "100Mbit"] {
            assert!(bandwidth(text).is_err(), "{text}");
        }
        for text in ["3", "101%", "-1%", "%", "nan%"] {
            assert!(share(text).is_err(), "{text}");
        }
        for text in ["1.5M", "-1", "99999999999999999999", "1T", "many"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(count("1.5").expect_err("no whole number").to_string().matches("whole number").count(), 1);
    }

    #[test]
    fn quantities_are_shown_short() {
        let shown = [0_u64, 90, 60, 120, 3600, 7200].map(|s| show_duration(Duration::from_secs(s)));
        assert_eq!(shown, ["0s", "90s", "60s", "2min", "1h", "2h"]);
        let whole = [512 << 20, 1000, 1536 << 20].map(whole_unit);
        assert_eq!(whole, [Some("512M".to_owned()), None, Some("1536M".to_owned())]);
        assert_eq!([96 << 20, 1800 << 20, 12 << 30].map(show_size_about), ["96 MiB", "1.8 GiB", "12 GiB"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(show_count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(grouped("-1234"), "-1,234");
        let bits = [12_500_000, 187_500_000, 8_000, 12_345_678].map(say_bits);
        assert_eq!(bits, ["100 Mbit/s", "1.5 Gbit/s", "64 kbit/s", "98.8 Mbit/s"]);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_as_the_same(
            ns in 0..10_u64.pow(15),
            bytes in 1..1_u64 << 50,
            shift in 0..40_u32,
        ) {
            let time = Duration::from_nanos(ns);
            prop_assert_eq!(duration(&show_duration(time)), Ok(time));
            let bytes = (bytes >> shift << shift).max(1);
            let shown = whole_unit(bytes).unwrap_or_else(|| bytes.to_string());
            prop_assert_eq!(size_or_bytes(&shown), Ok(bytes));
        }

        #[test]
        fn no_text_is_too_broken(text in "[0-9a-zµ_.%/ -]{0,12}") {
            let _ = (duration(&text), size(&text), bandwidth(&text), share(&text), rate(&text), count(&text));
        }
    }
}
