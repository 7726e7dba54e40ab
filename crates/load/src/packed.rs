//! A histogram at rest: HdrHistogram's V2 encoding, kept as it was read. It takes a few hundred bytes, where
//! a histogram that counts takes 200 kB. A stored run has tens of thousands of them, one for each second and
//! kind of statement.
//!
//! Layout of the encoding: HdrHistogram, "V2 encoding format", `HistogramLogProcessor` of the Java
//! implementation.

use flate2::bufread::ZlibDecoder;
use std::io::Read;

/// Lowest distinct value, in ns. A finer one would only store noise of the clock.
pub const LOWEST_NS: u64 = 64;
/// Highest value kept, in ns (1000 s); anything longer is recorded as this.
pub const HIGHEST_NS: u64 = 1_000_000_000_000;
/// Significant decimal digits.
pub const DIGITS: u8 = 3;

/// First four bytes of the V2 encoding.
const COOKIE: u32 = 0x1c84_9313;
/// The same where it is compressed: these, the number of bytes that follow, and those, as zlib's.
const COOKIE_COMPRESSED: u32 = 0x1c84_9314;
/// Bytes before the counts.
const HEADER: usize = 40;
/// Buckets of one power of two, as [`DIGITS`] asks for.
const HALF: u64 = 1024;
/// Binary logarithm of [`LOWEST_NS`].
const UNIT: u32 = LOWEST_NS.trailing_zeros();

/// One bucket that holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Lowest value in it, ns.
    pub(crate) lowest_ns: u64,
    /// Highest value in it, ns.
    pub(crate) highest_ns: u64,
    /// Values in it.
    pub(crate) count: u64,
}

impl Bucket {
    fn at(index: u64, count: u64) -> Self {
        // The first bucket of powers has twice as many entries as the others.
        let (power, place) = match index / HALF {
            0 => (0, index),
            power => (power as u32 - 1, index % HALF + HALF),
        };
        let lowest_ns = place << (power + UNIT);
        Self { lowest_ns, highest_ns: lowest_ns + (1 << (power + UNIT)) - 1, count }
    }

    /// The value that stands for all in the bucket, ns.
    fn middle_ns(self) -> f64 {
        (self.lowest_ns + (self.highest_ns - self.lowest_ns).div_ceil(2)) as f64
    }
}

/// The bytes, checked when they were read.
#[derive(Clone)]
pub(crate) struct Packed {
    bytes: Box<[u8]>,
    count: u64,
}

impl Packed {
    /// Takes bytes with Prony's own bounds, compressed or not; `None`: they are something else.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let Some(packed) = bytes.strip_prefix(&COOKIE_COMPRESSED.to_be_bytes()) else {
            return Self::read_plain(bytes);
        };
        let (_length, packed) = packed.split_first_chunk::<4>()?;
        let mut plain = Vec::new();
        ZlibDecoder::new(packed).take(BYTES_MAX).read_to_end(&mut plain).ok()?;
        Self::read_plain(&plain)
    }

    fn read_plain(bytes: &[u8]) -> Option<Self> {
        let (header, payload) = bytes.split_at_checked(HEADER)?;
        let word = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_be_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let is_ours = word(0)? == COOKIE
            && word(4)? as usize == payload.len()
            && word(8)? == 0
            && word(12)? == u32::from(DIGITS)
            && long(16)? == LOWEST_NS
            && long(24)? == HIGHEST_NS
            && long(32)? == 1.0_f64.to_bits();
        if !is_ours {
            return None;
        }
        let mut count = 0_u64;
        let mut buckets = Buckets { payload, index: 0, damaged: false };
        for bucket in &mut buckets {
            count = count.checked_add(bucket.count)?;
        }
        (!buckets.damaged).then(|| Self { bytes: bytes.into(), count })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn buckets(&self) -> Buckets<'_> {
        Buckets { payload: &self.bytes[HEADER..], index: 0, damaged: false }
    }

    /// As `hdrhistogram::Histogram::mean`.
    pub(crate) fn mean_ns(&self) -> f64 {
        let sum: f64 = self.buckets().map(|bucket| bucket.middle_ns() * bucket.count as f64).sum();
        sum / self.count as f64
    }

    /// As `hdrhistogram::Histogram::stdev`.
    pub(crate) fn deviation_ns(&self) -> f64 {
        let mean = self.mean_ns();
        let square = |bucket: Bucket| (bucket.middle_ns() - mean).powi(2) * bucket.count as f64;
        (self.buckets().map(square).sum::<f64>() / self.count as f64).sqrt()
    }

    /// As `hdrhistogram::Histogram::value_at_quantile`, for several in ascending order.
    pub(crate) fn quantiles_ns<const N: usize>(&self, quantiles: [f64; N]) -> [u64; N] {
        let mut buckets = self.buckets();
        let (mut seen, mut last) = (0, None);
        quantiles.map(|quantile| {
            let wanted = ((quantile.min(1.0) * self.count as f64).ceil() as u64).max(1);
            while seen < wanted {
                let Some(bucket) = buckets.next() else { break };
                seen += bucket.count;
                last = Some(bucket);
            }
            last.map_or(0, |bucket| if quantile == 0.0 { bucket.lowest_ns } else { bucket.highest_ns })
        })
    }
}

/// Buckets that hold something, ascending.
pub(crate) struct Buckets<'a> {
    payload: &'a [u8],
    index: u64,
    /// Whether the bytes turned out to be something else.
    damaged: bool,
}

impl Iterator for Buckets<'_> {
    type Item = Bucket;

    fn next(&mut self) -> Option<Bucket> {
        while !self.payload.is_empty() && !self.damaged {
            let Some(number) = self.number() else {
                self.damaged = true;
                break;
            };
            // A negative number skips that many empty buckets.
            let (index, count) = (self.index, u64::try_from(number).unwrap_or(0));
            self.index = index.saturating_add(if number < 0 { number.unsigned_abs() } else { 1 });
            if count == 0 {
                continue;
            }
            let bucket = (index < LENGTH).then(|| Bucket::at(index, count));
            self.damaged = bucket.is_none();
            return bucket;
        }
        None
    }
}

/// Number of buckets between the bounds: one power of two more for each bit above the first 2048 units.
const LENGTH: u64 = {
    let mut powers = 1;
    while (2 * HALF) << (UNIT + powers - 1) <= HIGHEST_NS {
        powers += 1;
    }
    (powers as u64 + 1) * HALF
};

/// More than any of Prony's histograms takes: damaged data must not ask for all memory.
const BYTES_MAX: u64 = HEADER as u64 + 9 * LENGTH;

impl Buckets<'_> {
    /// A number in zig-zag LEB128 of at most 9 bytes, whose ninth byte has 8 bits.
    #[inline]
    fn number(&mut self) -> Option<i64> {
        let (&first, rest) = self.payload.split_first()?;
        let value = if first < 0x80 {
            // nearly all of them: a store has a hundred million
            self.payload = rest;
            u64::from(first)
        } else {
            self.long_number()?
        };
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn long_number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for place in 0..9 {
            let (&byte, rest) = self.payload.split_first()?;
            self.payload = rest;
            if place == 8 {
                value |= u64::from(byte) << 56;
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(value)
    }
}
