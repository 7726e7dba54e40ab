//! Bytes of the columns. Everything is zlib, whose checksum finds damage that SQLite does not look for: plain
//! values are JSON, rows of one shape are kept by column ([`super::columns`]), the seconds of a trial have a
//! form of their own ([`super::seconds`]).

use super::{columns, damage::Damage};
use crate::telemetry::{Reading, Series};
use flate2::{Compression, bufread::ZlibDecoder, write::ZlibEncoder};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};

/// A value as compressed JSON, without passwords.
pub(super) fn pack(value: &impl Serialize) -> Vec<u8> {
    let mut value = serde_json::to_value(value).expect("plain values with text keys become JSON");
    super::secrets::remove(&mut value);
    deflate(&serde_json::to_vec(&value).expect("a JSON value becomes text"))
}

/// A value as JSON text.
pub(super) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values with text keys become JSON")
}

/// A text as it may be kept.
pub(super) fn without_passwords(text: &str) -> String {
    let mut value = serde_json::Value::from(text);
    super::secrets::remove(&mut value);
    value.as_str().unwrap_or_default().to_owned()
}

/// Reads [`pack`]'s bytes.
pub(super) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Damage> {
    Ok(serde_json::from_slice(&inflate(bytes)?)?)
}

/// First byte of what is kept by column; compressed JSON, as the first version of Prony kept everything,
/// begins with another one.
const COLUMNS: u8 = 1;

/// Rows of one shape, by column; numbers with a fraction are rounded to five digits.
pub(super) fn pack_rows<T: Serialize>(rows: &[T]) -> Vec<u8> {
    deflate_after(COLUMNS, &columns::write(rows))
}

/// Reads [`pack_rows`]'s bytes, and those of [`pack`] for a list.
pub(super) fn unpack_readings(bytes: &[u8]) -> Result<Series, Damage> {
    let rows: Vec<Reading> = match bytes.split_first() {
        Some((&COLUMNS, bytes)) => {
            let bytes = inflate(bytes)?;
            if let Some((spans, values)) = columns::read_beside(&bytes, "values")? {
                return Ok(Series::stored(spans, values));
            }
            columns::read(&bytes)?
        }
        _ => unpack(bytes)?,
    };
    Ok(rows.into_iter().collect())
}

pub(super) fn put_block(bytes: &mut Vec<u8>, block: &[u8]) {
    let length = u32::try_from(block.len()).expect("a block is far below 4 GB");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(block);
}

/// Reads [`put_block`]'s bytes.
pub(super) fn take_block(bytes: &mut impl Read) -> Result<Vec<u8>, Damage> {
    let mut length = [0; 4];
    bytes.read_exact(&mut length).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => Damage::Seconds,
        _ => error.into(),
    })?;
    let length = u32::from_le_bytes(length);
    let mut block = Vec::new();
    bytes.take(length.into()).read_to_end(&mut block)?;
    if block.len() < length as usize { Err(Damage::Seconds) } else { Ok(block) }
}

/// A byte that says what follows, then that, compressed.
pub(super) fn deflate_after(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(vec![kind], Compression::default());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, Damage> {
    let mut plain = Vec::new();
    Bounded::of(bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

/// Decompresses as far as it is read.
pub(super) fn inflated(bytes: &[u8]) -> impl BufRead {
    const AT_ONCE: usize = 1 << 15;
    BufReader::with_capacity(AT_ONCE, Bounded::of(bytes))
}

/// How many bytes a part has when it is read, without keeping any of them.
///
/// # Errors
/// Where it is damaged, or more than it may be.
pub(super) fn plain_bytes(bytes: &[u8]) -> Result<u64, Damage> {
    /// The first byte of zlib here; another byte before it says what follows.
    const ZLIB: u8 = 0x78;
    let packed = if bytes.first() == Some(&ZLIB) { bytes } else { bytes.get(1..).unwrap_or_default() };
    Ok(std::io::copy(&mut Bounded::of(packed), &mut std::io::sink())?)
}

/// Most bytes that this many packed ones may unpack to; `least` are always allowed. zlib packs zeros a
/// thousand to one, and runs, even idle ones, far below four hundred to one. Anything packed more tightly was
/// made to exhaust the reader's memory.
pub(super) fn plain_max(packed: usize, least: u64) -> u64 {
    const RATIO_MAX: u64 = 400;
    const PLAIN_MAX: u64 = 4 << 30;
    (packed as u64).saturating_mul(RATIO_MAX).saturating_add(least).min(PLAIN_MAX)
}

/// What is always allowed to one part.
const PART_LEAST: u64 = 128 << 20;

/// Decompresses, up to a limit.
struct Bounded<'a> {
    decoder: ZlibDecoder<&'a [u8]>,
    max: u64,
}

impl<'a> Bounded<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { decoder: ZlibDecoder::new(bytes), max: plain_max(bytes.len(), PART_LEAST) }
    }
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        if self.decoder.total_out() > self.max {
            let words =
                format!("it unpacks to more than {} MiB, more than any part of a run", self.max >> 20);
            return Err(std::io::Error::new(ErrorKind::InvalidData, words));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, time::Duration};

    /// By column, and as the first version packed them.
    #[test]
    fn readings_with_names_of_one_family_are_read_under_those_of_all() {
        let values = [
            ("machine/cpu_user", 1.0),
            ("node/a/log_syncs", 2.0),
            ("node/a/metric/trx_rseg_history_len", 3.0),
            ("node/a/status/Innodb_row_lock_waits", 4.0),
            ("node/b/status/Innodb_row_lock_waits", 5.0),
            ("node/b/status/Uptime", 6.0),
        ];
        let values = values.map(|(path, value)| (path.to_owned(), value)).into();
        let row = Reading { at: Duration::from_secs(1), length: Duration::from_secs(1), values };
        let expected = [
            ("machine/cpu_user", 1.0),
            ("node/a/status/history_length", 3.0),
            ("node/a/status/lock_waits", 4.0),
            ("node/a/status/log_syncs", 2.0),
            ("node/b/status/Uptime", 6.0),
            ("node/b/status/lock_waits", 5.0),
        ];
        let expected: BTreeMap<String, f64> = expected.map(|(path, value)| (path.to_owned(), value)).into();
        for packed in [pack_rows(std::slice::from_ref(&row)), pack(&[&row])] {
            let readings: Vec<Reading> = unpack_readings(&packed).expect("readings").into();
            assert_eq!(readings[0].values, expected);
            let again: Vec<Reading> = unpack_readings(&pack_rows(&readings)).expect("readings").into();
            assert_eq!(again, readings, "new names stay");
        }
    }

    #[test]
    fn what_is_packed_too_well_is_not_unpacked() {
        let bomb = deflate(&vec![b' '; 300 << 20]);
        assert!(bomb.len() < 1 << 20);
        let error = unpack::<String>(&bomb).expect_err("far too much");
        assert!(error.to_string().contains("unpacks to more than"), "{error}");
        assert!(plain_bytes(&bomb).is_err());
        let mut read = inflated(&bomb);
        let error = std::io::copy(&mut read, &mut std::io::sink()).expect_err("far too much");
        assert!(error.to_string().contains("unpacks to more than"), "{error}");
        // of what cannot be packed, as much as there is
        assert_eq!(plain_bytes(&pack(&"text")).expect("bytes"), 6);
        assert_eq!(unpack::<String>(&pack(&"text")).expect("a text"), "text");
    }
}
