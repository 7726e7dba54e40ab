//! Latency histograms: full, mergeable, three significant digits (hdrhistogram).
//!
//! Percentiles are never averaged anywhere in Prony: histograms are merged, and the percentile is read from
//! the merged one.

use crate::packed::Packed;
pub use crate::packed::{DIGITS, HIGHEST_NS, LOWEST_NS};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize, de, de::Visitor as _, ser};

/// A histogram of durations in nanoseconds.
///
/// One that was read from bytes stays packed (a few hundred bytes) until something is added to it. Only then,
/// and in a new one, does it take the memory to count (about 200 kB, of which the system provides only pages
/// that are used).
#[derive(Clone)]
pub struct Histogram(Form);

#[derive(Clone)]
enum Form {
    Counting(hdrhistogram::Histogram<u64>),
    Packed(Packed),
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.count() == other.count() && self.buckets().eq(other.buckets())
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} values, mean {:.0} ns)", self.count(), self.mean_ns())
    }
}

fn counting() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS)
        .expect("constant bounds are valid")
}

impl Histogram {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self(Form::Counting(counting()))
    }

    /// Adds one value; a value above [`HIGHEST_NS`] is recorded as that.
    #[inline]
    pub fn record_ns(&mut self, value_ns: u64) {
        self.unpack().saturating_record(value_ns);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        let inner = self.unpack();
        match &other.0 {
            Form::Counting(other) => inner.add(other).expect("same bounds"),
            Form::Packed(other) => {
                for bucket in other.buckets() {
                    inner.saturating_record_n(bucket.lowest_ns, bucket.count);
                }
            }
        }
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.unpack().reset();
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.0 {
            Form::Counting(inner) => inner.len(),
            Form::Packed(packed) => packed.count(),
        }
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Arithmetic mean, ns; 0 when empty.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        match &self.0 {
            _ if self.is_empty() => 0.0,
            Form::Counting(inner) => inner.mean(),
            Form::Packed(packed) => packed.mean_ns(),
        }
    }

    /// Standard deviation, ns; 0 when empty.
    #[must_use]
    pub fn deviation_ns(&self) -> f64 {
        match &self.0 {
            _ if self.is_empty() => 0.0,
            Form::Counting(inner) => inner.stdev(),
            Form::Packed(packed) => packed.deviation_ns(),
        }
    }

    /// Smallest value (lower end of its bucket), ns; 0 when empty.
    #[must_use]
    pub fn min_ns(&self) -> u64 {
        match &self.0 {
            _ if self.is_empty() => 0,
            Form::Counting(inner) => inner.min(),
            Form::Packed(packed) => packed.buckets().next().map_or(0, |bucket| bucket.lowest_ns),
        }
    }

    /// Largest value (upper end of its bucket), ns; 0 when empty.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        match &self.0 {
            Form::Counting(inner) => inner.max(),
            Form::Packed(packed) => packed.buckets().last().map_or(0, |bucket| bucket.highest_ns),
        }
    }

    /// The value below or at which `quantile` (0 to 1) of all values lie, ns; 0 when empty.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        match &self.0 {
            _ if self.is_empty() => 0,
            Form::Counting(inner) => inner.value_at_quantile(quantile),
            Form::Packed(packed) => packed.quantiles_ns([quantile])[0],
        }
    }

    /// Several quantiles, which must ascend: for a stored histogram, that is faster than asking one by one.
    #[must_use]
    pub fn quantiles_ns<const N: usize>(&self, quantiles: [f64; N]) -> [u64; N] {
        match &self.0 {
            Form::Packed(packed) => packed.quantiles_ns(quantiles),
            Form::Counting(_) => quantiles.map(|quantile| self.quantile_ns(quantile)),
        }
    }

    /// Buckets that hold something: upper end in ns and count, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (counting, packed) = match &self.0 {
            Form::Counting(inner) => (Some(inner.iter_recorded()), None),
            Form::Packed(packed) => (None, Some(packed.buckets())),
        };
        let counting = counting.into_iter().flatten();
        let packed = packed.into_iter().flatten();
        counting
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .chain(packed.map(|bucket| (bucket.highest_ns, bucket.count)))
    }

    /// The same values with less resolution, to save room: each is off by at most 3.2 %.
    #[must_use]
    pub fn coarse(&self) -> Self {
        let mut inner = counting();
        for (value, count) in self.buckets() {
            // 16 steps for each power of two; the middle of a step stands for all in it.
            let step = (1_u64 << (u64::BITS - 1 - value.leading_zeros().min(u64::BITS - 1))) / 16;
            let middle = if step > LOWEST_NS { value / step * step + step / 2 } else { value };
            inner.saturating_record_n(middle, count);
        }
        Self(Form::Counting(inner))
    }

    /// Compact bytes: HdrHistogram's own V2 format with deflate.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let written = match &self.0 {
            Form::Counting(inner) => serializer.serialize(inner, &mut bytes),
            Form::Packed(_) => serializer.serialize(self.clone().unpack(), &mut bytes),
        };
        written.expect("writing to memory");
        bytes
    }

    /// HdrHistogram's V2 format without compression, for callers that compress many at once.
    #[must_use]
    pub fn to_raw_bytes(&self) -> Vec<u8> {
        match &self.0 {
            Form::Counting(inner) => {
                let mut bytes = Vec::new();
                V2Serializer::new().serialize(inner, &mut bytes).expect("writing to memory");
                bytes
            }
            Form::Packed(packed) => packed.bytes().to_vec(),
        }
    }

    /// Reads either form back; `None` if it is damaged or has other bounds than Prony's.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Packed::read(bytes).map(|packed| Self(Form::Packed(packed)))
    }

    /// The form that can count.
    #[inline]
    fn unpack(&mut self) -> &mut hdrhistogram::Histogram<u64> {
        if let Form::Packed(packed) = &self.0 {
            let mut inner = counting();
            for bucket in packed.buckets() {
                inner.saturating_record_n(bucket.lowest_ns, bucket.count);
            }
            self.0 = Form::Counting(inner);
        }
        match &mut self.0 {
            Form::Counting(inner) => inner,
            Form::Packed(_) => unreachable!("it was unpacked just now"),
        }
    }
}

impl Serialize for Histogram {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&STANDARD.encode(self.to_bytes()))
        } else {
            serializer.serialize_bytes(&self.to_raw_bytes())
        }
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return deserializer.deserialize_bytes(Bytes);
        }
        let text = String::deserialize(deserializer)?;
        Bytes.visit_bytes(&STANDARD.decode(text).map_err(de::Error::custom)?)
    }
}

/// Reads a histogram from the bytes of either form.
struct Bytes;

impl de::Visitor<'_> for Bytes {
    type Value = Histogram;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a histogram in HdrHistogram's V2 format")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Histogram, E> {
        Histogram::from_bytes(bytes).ok_or_else(|| E::custom("not a histogram in HdrHistogram's V2 format"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

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

    fn same(histogram: &Histogram) -> Result<(), TestCaseError> {
        let packed = Histogram::from_bytes(&histogram.to_raw_bytes()).expect("own bytes");
        prop_assert!(matches!(packed.0, Form::Packed(_)));
        prop_assert_eq!(&packed, histogram);
        let numbers = |h: &Histogram| (h.count(), h.min_ns(), h.max_ns());
        prop_assert_eq!(numbers(&packed), numbers(histogram));
        let quantiles = [0.0, 0.01, 0.5, 0.95, 0.999, 1.0];
        for quantile in quantiles {
            prop_assert_eq!(packed.quantile_ns(quantile), histogram.quantile_ns(quantile));
        }
        prop_assert_eq!(packed.quantiles_ns(quantiles), histogram.quantiles_ns(quantiles));
        prop_assert_eq!(&Histogram::from_bytes(&histogram.to_bytes()).expect("own bytes"), histogram);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        prop_assert!(close(packed.mean_ns(), histogram.mean_ns()));
        prop_assert!(close(packed.deviation_ns(), histogram.deviation_ns()));
        prop_assert_eq!(packed.to_raw_bytes(), histogram.to_raw_bytes());
        let (mut one, mut other) = (histogram.clone(), packed.clone());
        one.merge(&packed);
        other.merge(histogram);
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.count(), 2 * histogram.count());
        let coarse = histogram.coarse();
        prop_assert_eq!(coarse.count(), histogram.count());
        prop_assert_eq!(&coarse.coarse(), &coarse);
        for quantile in [0.01, 0.5, 0.999] {
            let (exact, rounded) =
                (histogram.quantile_ns(quantile) as f64, coarse.quantile_ns(quantile) as f64);
            prop_assert!((rounded - exact).abs() <= 0.033 * exact.max(1.0), "{} {}", exact, rounded);
        }
        Ok(())
    }

    proptest! {
        // A histogram that counts is 200 kB: a case takes milliseconds.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_packed_one_says_the_same(
            values in vec(prop_oneof![0..300_u64, 0..10_000_000_u64, 0..2_000_000_000_000_u64], 0..200)
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record_ns(value));
            same(&histogram)?;
        }

        #[test]
        fn damaged_bytes_are_refused_or_read_as_something_else(
            place in 0..200_usize,
            byte: u8,
            cut in 0..200_usize,
        ) {
            let mut histogram = Histogram::new();
            (0..500).for_each(|n| histogram.record_ns(n * n * 977));
            let mut bytes = histogram.to_raw_bytes();
            if let Some(target) = bytes.get_mut(place) {
                *target = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            if let Some(read) = Histogram::from_bytes(&bytes) {
                prop_assert_eq!(read.buckets().map(|(_, count)| count).sum::<u64>(), read.count());
            }
        }
    }
}
