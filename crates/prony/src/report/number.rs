//! Numbers as people read them: only significant digits, thousands grouped.

use crate::quantity::{grouped, show_count};

/// `1 trial`, `12 trials`: a count with its noun, regular plurals only.
pub(crate) fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A whole number: `1,234`.
pub(crate) fn count(value: u64) -> String {
    show_count(value)
}

/// Events per second as progress shows them: whole numbers, and a decimal below ten, where whole ones would
/// make nothing of a slow load: `1,234`, `12`, `3.4`, `0.4`, `0.04`.
pub(crate) fn per_second(value: f64) -> String {
    let places = match value.abs() {
        size if size == 0.0 || size >= 9.95 => 0,
        size if size < 0.1 => 2,
        _ => 1,
    };
    let text = decimals(value, places);
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// A rate or another quantity of any size, three digits or more: `1,234`, `123`, `12.3`, `1.23`, `0.012`.
pub(super) fn rate(value: f64) -> String {
    decimals(value, places(value))
}

/// As [`rate`], for milliseconds: `0.123`, `12.3`, `1,234`.
pub(super) fn milliseconds(value: f64) -> String {
    rate(value)
}

/// A level of a factor: all its digits, thousands grouped: `1,024`, `0.5`.
pub(super) fn level(value: f64) -> String {
    let text = value.to_string();
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => grouped(&text),
    }
}

/// A ratio: `2.31`, `0.98`, `12.4`.
pub(super) fn ratio(value: f64) -> String {
    decimals(value, if value.abs() >= 10.0 { 1 } else { 2 })
}

/// Per cent without the sign: `4.2`, `23`.
pub(super) fn percent(value: f64) -> String {
    decimals(value, usize::from(value.abs() < 10.0))
}

/// A value and its half-width with the same number of decimals: `1,234` and `21`.
pub(super) fn with_error(value: f64, half_width: Option<f64>) -> (String, Option<String>) {
    let places = places(value);
    (decimals(value, places), half_width.map(|half_width| decimals(half_width, places)))
}

/// The largest factor between the ends of an interval that still says something: an order of magnitude to
/// either side.
const APART_MAX: f64 = 100.0;

/// The factor to either side within which an interval says something.
pub(super) const TELLING: f64 = 2.0;

/// Whether the interval of a positive quantity is too wide for its digits to mean anything.
pub(super) fn tells_nothing(low: f64, high: f64) -> bool {
    low <= 0.0 || high / low > APART_MAX
}

/// The larger half of an interval; `None`: nothing is known.
pub(super) fn half_width(estimate: &stats::Estimate) -> Option<f64> {
    let (low, high) = (estimate.low?, estimate.high?);
    Some((estimate.value - low).max(high - estimate.value))
}

/// `value ± half`, or the value alone: where next to nothing is known, the digits of the half would only
/// distract.
pub(super) fn estimate(estimate: &stats::Estimate) -> String {
    let half_width = half_width(estimate);
    if half_width.is_some_and(|half| half > estimate.value.abs()) {
        return format!("{} ± >100 %", decimals(estimate.value, places(estimate.value)));
    }
    match with_error(estimate.value, half_width) {
        (value, Some(half)) => format!("{value} ± {half}"),
        (value, None) => value,
    }
}

/// Rounds to six significant digits, which is what a file needs.
pub(super) fn round(value: f64) -> f64 {
    round_to(value, 6)
}

/// Rounds to this many significant digits.
pub(super) fn round_to(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    if scale.is_finite() && scale > 0.0 { (value * scale).round() / scale } else { value }
}

/// The number of decimals that leaves about three significant digits.
fn places(value: f64) -> usize {
    match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    }
}

fn decimals(value: f64, places: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{value:.places$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => grouped(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(123), "123");
        assert_eq!(
            [1234.4, 123.4, 12.34, 1.234, 0.01234, -1234.0].map(rate),
            ["1,234", "123", "12.3", "1.23", "0.012", "-1,234"]
        );
        assert_eq!(rate(f64::NAN), "–");
        assert_eq!(
            [0.0, 0.042, 0.4, 1.0, 3.44, 9.96, 12.7, 1234.4].map(per_second),
            ["0", "0.04", "0.4", "1", "3.4", "10", "13", "1,234"]
        );
        assert_eq!([0.983, 2.314, 12.44].map(ratio), ["0.98", "2.31", "12.4"]);
        assert_eq!(with_error(1234.0, Some(20.6)), ("1,234".to_owned(), Some("21".to_owned())));
        assert_eq!([123_456_789.0, 0.001_234_567_8, 0.0].map(round), [123_457_000.0, 0.001_234_57, 0.0]);
    }
}
