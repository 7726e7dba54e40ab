//! Packets and the pieces they are made of: headers, length-encoded integers, strings.
//!
//! A packet is 3 bytes of length, 1 byte of sequence number, and the payload. A payload of 16 MiB - 1 bytes
//! or more goes in several packets; the last one is shorter than that, and may be empty.

use crate::error::{Error, malformed};

/// Bytes before the payload.
pub const HEADER: usize = 4;
/// Payload of a packet that is continued by the next one.
pub const PAYLOAD_MAX: usize = 0xff_ff_ff;

/// Length and sequence number, where all 4 bytes are there.
#[inline]
#[must_use]
pub fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    let &[a, b, c, sequence, ..] = bytes else { return None };
    Some((usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16, sequence))
}

/// Leaves room for a header; [`end`] fills it in.
#[inline]
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    start
}

/// Fills in the header at `start` for everything after it, in several packets where one is not enough.
/// Returns the next sequence number.
#[inline]
pub fn end(out: &mut Vec<u8>, start: usize, sequence: u8) -> u8 {
    let length = out.len() - start - HEADER;
    if length < PAYLOAD_MAX {
        write_header(&mut out[start..start + HEADER], length, sequence);
        return sequence.wrapping_add(1);
    }
    split(out, start, sequence)
}

#[cold]
fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let payload = out.split_off(start + HEADER);
    out.truncate(start);
    let whole = payload.len() / PAYLOAD_MAX;
    out.reserve(payload.len() + (whole + 1) * HEADER);
    for index in 0..=whole {
        let part = &payload[index * PAYLOAD_MAX..payload.len().min((index + 1) * PAYLOAD_MAX)];
        let at = begin(out);
        write_header(&mut out[at..], part.len(), sequence);
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

#[inline]
fn write_header(place: &mut [u8], length: usize, sequence: u8) {
    let bytes = (length as u32).to_le_bytes();
    place[..3].copy_from_slice(&bytes[..3]);
    place[3] = sequence;
}

/// Appends a length-encoded integer.
#[inline]
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=250 => out.push(value as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a string with its length before it.
#[inline]
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a string up to its first NUL, and a NUL.
pub fn put_nul_text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().take_while(|&byte| byte != 0));
    out.push(0);
}

/// Reads a payload from front to back. Every read says what it was for, so that an error can.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(|| malformed(what))?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The next `N` bytes, as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(|| malformed(what))?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        Ok(self.array::<1>(what)?[0])
    }

    /// Two bytes, little-endian.
    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// Four bytes, little-endian.
    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// A length-encoded integer.
    #[inline]
    pub fn lenenc(&mut self, what: &'static str) -> Result<u64, Error> {
        Ok(match self.u8(what)? {
            small @ 0..=250 => u64::from(small),
            0xfc => u64::from(self.u16(what)?),
            0xfd => {
                let [a, b, c] = self.array(what)?;
                u64::from(u32::from_le_bytes([a, b, c, 0]))
            }
            0xfe => u64::from_le_bytes(self.array(what)?),
            _ => return Err(malformed(what)),
        })
    }

    /// A string with its length before it.
    #[inline]
    pub fn lenenc_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let length = self.lenenc(what)?;
        self.bytes(usize::try_from(length).map_err(|_| malformed(what))?, what)
    }

    /// A string that ends with NUL.
    pub fn nul_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let length = self.0.iter().position(|&byte| byte == 0).ok_or_else(|| malformed(what))?;
        let bytes = self.bytes(length, what)?;
        self.0 = &self.0[1..];
        Ok(bytes)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Whether nothing is left.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
