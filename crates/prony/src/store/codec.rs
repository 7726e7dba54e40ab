//! Bytes of the columns. Everything is zlib, whose checksum finds damage that SQLite does not look for.
//!
//! The seconds of a trial are most of a store, so they have a form of their own: the plain numbers of all seconds as
//! JSON, then all histograms in HdrHistogram's V2 format one after another, compressed together.

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use load::{
    Histogram,
    sample::{Phase, Sample, Tally},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{Read, Write},
    time::Duration,
};

/// Why bytes could not be read back; the text says what was wrong.
pub(super) type Damage = String;

/// A value as compressed JSON, without passwords.
pub(super) fn pack(value: &impl Serialize) -> Vec<u8> {
    let mut value = serde_json::to_value(value).expect("plain values with text keys become JSON");
    super::secrets::remove(&mut value);
    deflate(&serde_json::to_vec(&value).expect("a JSON value becomes text"))
}

/// A text as it may be kept.
pub(super) fn without_passwords(text: &str) -> String {
    let mut value = serde_json::Value::from(text);
    super::secrets::remove(&mut value);
    value.as_str().unwrap_or_default().to_owned()
}

/// Reads [`pack`]'s bytes.
pub(super) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Damage> {
    serde_json::from_slice(&inflate(bytes)?).map_err(|error| error.to_string())
}

/// One second without its histograms.
#[derive(Serialize, Deserialize)]
struct Second {
    stream: u16,
    second: u32,
    phase: Phase,
    length: Duration,
    errors: u64,
    transactions: Counts,
    statements: Vec<Counts>,
}

/// One tally without its histograms.
#[derive(Serialize, Deserialize)]
struct Counts {
    name: String,
    count: u64,
    errors: u64,
    rows: u64,
    affected: u64,
    not_found: u64,
    unchanged: u64,
    /// Whether the response time has a histogram of its own.
    response: bool,
}

/// The seconds of a trial, as bytes.
pub(super) fn pack_samples(samples: &[Sample]) -> Vec<u8> {
    let seconds: Vec<Second> = samples.iter().map(Second::of).collect();
    let numbers = serde_json::to_vec(&seconds).expect("plain values become JSON");
    let mut bytes = Vec::new();
    put_block(&mut bytes, &numbers);
    for sample in samples {
        for tally in std::iter::once(&sample.transactions).chain(&sample.statements) {
            put_block(&mut bytes, &tally.service.to_raw_bytes());
            if let Some(response) = &tally.response {
                put_block(&mut bytes, &response.to_raw_bytes());
            }
        }
    }
    deflate(&bytes)
}

/// Reads [`pack_samples`]'s bytes.
pub(super) fn unpack_samples(bytes: &[u8]) -> Result<Vec<Sample>, Damage> {
    let bytes = inflate(bytes)?;
    let mut rest = &bytes[..];
    let seconds: Vec<Second> =
        serde_json::from_slice(take_block(&mut rest)?).map_err(|error| error.to_string())?;
    seconds.into_iter().map(|second| second.with_histograms(&mut rest)).collect()
}

impl Second {
    fn of(sample: &Sample) -> Self {
        Self {
            stream: sample.stream,
            second: sample.second,
            phase: sample.phase,
            length: sample.length,
            errors: sample.errors,
            transactions: Counts::of(&sample.transactions),
            statements: sample.statements.iter().map(Counts::of).collect(),
        }
    }

    fn with_histograms(self, bytes: &mut &[u8]) -> Result<Sample, Damage> {
        Ok(Sample {
            stream: self.stream,
            second: self.second,
            phase: self.phase,
            length: self.length,
            errors: self.errors,
            transactions: self.transactions.with_histograms(bytes)?,
            statements: self
                .statements
                .into_iter()
                .map(|counts| counts.with_histograms(bytes))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Counts {
    fn of(tally: &Tally) -> Self {
        Self {
            name: tally.name.clone(),
            count: tally.count,
            errors: tally.errors,
            rows: tally.rows,
            affected: tally.affected,
            not_found: tally.not_found,
            unchanged: tally.unchanged,
            response: tally.response.is_some(),
        }
    }

    fn with_histograms(self, bytes: &mut &[u8]) -> Result<Tally, Damage> {
        let service = take_histogram(bytes)?;
        let response = if self.response { Some(take_histogram(bytes)?) } else { None };
        Ok(Tally {
            name: self.name,
            count: self.count,
            errors: self.errors,
            rows: self.rows,
            affected: self.affected,
            not_found: self.not_found,
            unchanged: self.unchanged,
            service,
            response,
        })
    }
}

fn put_block(bytes: &mut Vec<u8>, block: &[u8]) {
    let length = u32::try_from(block.len()).expect("a block is far below 4 GB");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(block);
}

fn take_block<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], Damage> {
    let cut = || "the seconds of a trial are cut short".to_owned();
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let (block, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
    *bytes = rest;
    Ok(block)
}

fn take_histogram(bytes: &mut &[u8]) -> Result<Histogram, Damage> {
    Histogram::from_bytes(take_block(bytes)?).ok_or_else(|| "a histogram cannot be read".to_owned())
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, Damage> {
    let mut plain = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut plain).map_err(|error| error.to_string())?;
    Ok(plain)
}
