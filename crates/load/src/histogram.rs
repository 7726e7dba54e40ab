//! Latency histograms: full, mergeable, three significant digits (hdrhistogram).
//!
//! Percentiles are never averaged anywhere in Prony: histograms are merged, and the percentile is read from the merged one.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize, de, ser};

/// Lowest value told apart, in ns. A finer one would only store noise of the clock.
pub const LOWEST_NS: u64 = 64;
/// Highest value kept, in ns (1000 s); anything longer is recorded as this.
pub const HIGHEST_NS: u64 = 1_000_000_000_000;
/// Significant decimal digits.
pub const DIGITS: u8 = 3;

/// A histogram of durations in nanoseconds.
#[derive(Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} values, mean {:.0} ns)", self.count(), self.mean_ns())
    }
}

impl Histogram {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS);
        Self(inner.expect("constant bounds are valid"))
    }

    /// Adds one value; above [`HIGHEST_NS`] it is recorded as that.
    #[inline]
    pub fn record_ns(&mut self, value_ns: u64) {
        self.0.saturating_record(value_ns);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("same bounds");
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Arithmetic mean, ns; 0 when empty.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.0.mean() }
    }

    /// Standard deviation, ns; 0 when empty.
    #[must_use]
    pub fn deviation_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.0.stdev() }
    }

    /// Smallest value, ns; 0 when empty.
    #[must_use]
    pub fn min_ns(&self) -> u64 {
        if self.is_empty() { 0 } else { self.0.min() }
    }

    /// Largest value (upper end of its bucket), ns; 0 when empty.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// The value below or at which `quantile` (0 to 1) of all values lie, ns; 0 when empty.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if self.is_empty() { 0 } else { self.0.value_at_quantile(quantile) }
    }

    /// Buckets that hold something: upper end in ns and count, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// Compact bytes: HdrHistogram's own V2 format with deflate.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.0, &mut bytes).expect("writing to memory");
        bytes
    }

    /// HdrHistogram's V2 format without compression, for those who compress many at once.
    #[must_use]
    pub fn to_raw_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).expect("writing to memory");
        bytes
    }

    /// Reads either form back; `None` if it is damaged or has other bounds than ours.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).ok()?;
        let mut own = Self::new();
        own.0.add(&read).ok()?;
        Some(own)
    }
}

impl Serialize for Histogram {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(self.to_bytes()))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
        Self::from_bytes(&bytes)
            .ok_or_else(|| de::Error::custom("not a histogram in HdrHistogram's V2 format"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_is_the_same_as_recording_together() {
        let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for value in (100..100_000_000).step_by(99_991) {
            if value % 2 == 0 {
                a.record_ns(value)
            } else {
                b.record_ns(value)
            }
            both.record_ns(value);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }

    #[test]
    fn survives_storage_and_keeps_three_digits() {
        let mut histogram = Histogram::new();
        for value in [65_000, 1_234_567, 999_999_999_999, u64::MAX] {
            histogram.record_ns(value);
        }
        let read = Histogram::from_bytes(&histogram.to_bytes()).expect("own bytes");
        assert_eq!(read, histogram);
        assert_eq!(Histogram::from_bytes(&histogram.to_raw_bytes()).expect("own bytes"), histogram);
        let median = histogram.quantile_ns(0.5) as f64;
        assert!((median / 1_234_567.0 - 1.0).abs() < 1e-3, "{median}");
        assert!(Histogram::from_bytes(b"nonsense").is_none());
    }
}
