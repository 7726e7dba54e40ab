//! The seconds of a trial, most of a store: the plain numbers of all seconds by column, then all histograms one after another,
//! compressed together.
//!
//! The histograms of single statements, and of delays, are rounded to 3 % there, or 1000 trials of a minute would not fit into
//! 100 MB; those of transactions, and the totals of everything in the outcome, are exact.

use super::{
    codec::{Damage, deflate_after, inflate, put_block, take_block},
    columns,
};
use load::{
    Histogram,
    sample::{Phase, Sample, Schedule, Tally},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// First byte of this form; the first version of Prony had the numbers as JSON, and no such byte.
const BY_COLUMN: u8 = 2;

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
    /// Most loads have none.
    #[serde(default)]
    schedule: Option<Starts>,
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

/// A schedule without its histogram, which the first version had in place.
#[derive(Debug, Serialize, Deserialize)]
struct Starts {
    backlog: u64,
    offered: u64,
    started: u64,
    late: u64,
    skipped: u64,
    never_sent: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay: Option<Histogram>,
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
        let delay = sample.schedule.iter().map(|schedule| &schedule.delay);
        let rounded = sample.statements.iter().flat_map(histograms).chain(delay);
        let rounded = rounded.map(|one| one.coarse().to_raw_bytes());
        for (column, bytes) in self.columns.iter_mut().zip(exact.chain(rounded)) {
            put_block(column, &bytes);
        }
    }

    /// All of them, compressed.
    pub(super) fn finish(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_block(&mut bytes, &columns::write(&self.seconds));
        bytes.extend(self.columns.into_iter().flatten());
        deflate_after(BY_COLUMN, &bytes)
    }
}

fn histograms(tally: &Tally) -> impl Iterator<Item = &Histogram> {
    std::iter::once(&tally.service).chain(&tally.response)
}

/// Reads [`PackedSamples`]'s bytes.
pub(super) fn unpack_samples(bytes: &[u8]) -> Result<Vec<Sample>, Damage> {
    let (is_json, packed) = match bytes.split_first() {
        Some((&BY_COLUMN, packed)) => (false, packed),
        _ => (true, bytes),
    };
    let bytes = inflate(packed)?;
    let mut rest = &bytes[..];
    let numbers = take_block(&mut rest)?;
    let seconds: Vec<Second> = if is_json {
        serde_json::from_slice(numbers).map_err(|error| error.to_string())?
    } else {
        columns::read(numbers)?
    };
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

fn take_histogram(bytes: &mut &[u8]) -> Result<Histogram, Damage> {
    Histogram::from_bytes(take_block(bytes)?).ok_or_else(|| "a histogram cannot be read".to_owned())
}

fn next(own: &mut impl Iterator<Item = Histogram>) -> Result<Histogram, Damage> {
    own.next().ok_or_else(|| "a histogram is missing".to_owned())
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
            schedule: sample.schedule.as_ref().map(Starts::of),
        }
    }

    /// How many histograms stand behind the numbers for it.
    fn histograms(&self) -> usize {
        let tallies = std::iter::once(&self.transactions).chain(&self.statements);
        let of_tallies: usize = tallies.map(|counts| 1 + usize::from(counts.response)).sum();
        of_tallies + usize::from(self.schedule.as_ref().is_some_and(|starts| starts.delay.is_none()))
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
            schedule: self.schedule.map(|starts| starts.with_histogram(own)).transpose()?,
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
        let service = next(own)?;
        let response = if self.response { Some(next(own)?) } else { None };
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

impl Starts {
    fn of(schedule: &Schedule) -> Self {
        let &Schedule { backlog, offered, started, late, skipped, never_sent, .. } = schedule;
        Self { backlog, offered, started, late, skipped, never_sent, delay: None }
    }

    fn with_histogram(self, own: &mut impl Iterator<Item = Histogram>) -> Result<Schedule, Damage> {
        let Self { backlog, offered, started, late, skipped, never_sent, delay } = self;
        let delay = delay.map_or_else(|| next(own), Ok)?;
        Ok(Schedule { backlog, offered, started, late, skipped, never_sent, delay })
    }
}
