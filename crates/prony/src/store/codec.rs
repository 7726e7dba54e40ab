//! Bytes of the columns. Everything is zlib, whose checksum finds damage that SQLite does not look for.
//!
//! The seconds of a trial are most of a store, so they have a form of their own: the plain numbers of all seconds as
//! JSON, then all histograms in HdrHistogram's V2 format one after another, compressed together. The histograms of
//! single statements are rounded to 3 % there, or 1000 trials of a minute would not fit into 100 MB; those of
//! transactions, and the totals of everything in the outcome, are exact.

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use load::{
    Histogram,
    sample::{Phase, Sample, Schedule, Tally},
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
#[derive(Debug, Serialize, Deserialize)]
struct Second {
    stream: u16,
    second: u32,
    phase: Phase,
    length: Duration,
    errors: u64,
    transactions: Counts,
    statements: Vec<Counts>,
    /// With its histogram, rounded: most loads have none.
    #[serde(default)]
    schedule: Option<Schedule>,
}

/// One tally without its histograms.
#[derive(Debug, Serialize, Deserialize)]
struct Counts {
    name: String,
    count: u64,
    errors: u64,
    rows: u64,
    affected: u64,
    not_found: u64,
    unchanged: u64,
    #[serde(default)]
    cut_short: u64,
    /// Whether the response time has a histogram of its own.
    response: bool,
}

/// Seconds of a running trial. Packed as they come: histograms that count take a hundred times the memory.
#[derive(Debug, Default)]
pub(super) struct PackedSamples {
    seconds: Vec<Second>,
    /// First the first histogram of every second, then the second one: what is alike stands together.
    columns: Vec<Vec<u8>>,
}

impl PackedSamples {
    /// Adds one.
    pub(super) fn push(&mut self, sample: &Sample) {
        let second = Second::of(sample);
        self.columns.resize(self.columns.len().max(second.histograms()), Vec::new());
        self.seconds.push(second);
        let exact = histograms(&sample.transactions).map(Histogram::to_raw_bytes);
        let rounded = sample.statements.iter().flat_map(histograms).map(|one| one.coarse().to_raw_bytes());
        for (column, bytes) in self.columns.iter_mut().zip(exact.chain(rounded)) {
            put_block(column, &bytes);
        }
    }

    /// All of them, compressed.
    pub(super) fn finish(self) -> Vec<u8> {
        let numbers = serde_json::to_vec(&self.seconds).expect("plain values become JSON");
        let mut bytes = Vec::new();
        put_block(&mut bytes, &numbers);
        bytes.extend(self.columns.into_iter().flatten());
        deflate(&bytes)
    }
}

fn histograms(tally: &Tally) -> impl Iterator<Item = &Histogram> {
    std::iter::once(&tally.service).chain(&tally.response)
}

/// Reads [`PackedSamples`]'s bytes.
pub(super) fn unpack_samples(bytes: &[u8]) -> Result<Vec<Sample>, Damage> {
    let bytes = inflate(bytes)?;
    let mut rest = &bytes[..];
    let seconds: Vec<Second> =
        serde_json::from_slice(take_block(&mut rest)?).map_err(|error| error.to_string())?;
    let mut found: Vec<Vec<Histogram>> = vec![Vec::new(); seconds.len()];
    let columns = seconds.iter().map(Second::histograms).max().unwrap_or(0);
    for column in 0..columns {
        let having = seconds.iter().zip(&mut found).filter(|(second, _)| second.histograms() > column);
        for (_, found) in having {
            found.push(take_histogram(&mut rest)?);
        }
    }
    let with_own = seconds.into_iter().zip(found);
    with_own.map(|(second, own)| second.with_histograms(&mut own.into_iter())).collect()
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
            schedule: sample.schedule.as_ref().map(|of| Schedule { delay: of.delay.coarse(), ..of.clone() }),
        }
    }

    /// How many histograms belong to it.
    fn histograms(&self) -> usize {
        let tallies = std::iter::once(&self.transactions).chain(&self.statements);
        tallies.map(|counts| 1 + usize::from(counts.response)).sum()
    }

    fn with_histograms(self, own: &mut impl Iterator<Item = Histogram>) -> Result<Sample, Damage> {
        Ok(Sample {
            stream: self.stream,
            second: self.second,
            phase: self.phase,
            length: self.length,
            errors: self.errors,
            transactions: self.transactions.with_histograms(own)?,
            statements: self
                .statements
                .into_iter()
                .map(|counts| counts.with_histograms(own))
                .collect::<Result<_, _>>()?,
            schedule: self.schedule,
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
            cut_short: tally.cut_short,
            response: tally.response.is_some(),
        }
    }

    fn with_histograms(self, own: &mut impl Iterator<Item = Histogram>) -> Result<Tally, Damage> {
        let mut next = || own.next().ok_or_else(|| "a histogram is missing".to_owned());
        let service = next()?;
        let response = if self.response { Some(next()?) } else { None };
        Ok(Tally {
            name: self.name,
            count: self.count,
            errors: self.errors,
            rows: self.rows,
            affected: self.affected,
            not_found: self.not_found,
            unchanged: self.unchanged,
            cut_short: self.cut_short,
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
