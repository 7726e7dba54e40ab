//! The seconds of a trial, most of a store: the plain numbers of all seconds by column, then all histograms
//! one after another, compressed together.
//!
//! The histograms of single statements, and of delays, are rounded to 3 % there, or 1000 trials of a minute
//! would not fit into 100 MB; those of transactions, and the totals of everything in the outcome, are exact.

use super::{
    codec::{deflate_after, inflated, put_block, take_block},
    columns,
    damage::Damage,
    record::{Counts, Second, Starts},
};
use load::{
    Histogram,
    sample::{Phase, Sample, Tally},
};
use serde::{Deserialize, Serialize};
use std::{io::BufRead, time::Duration};

/// First byte of this form; the first version of Prony had the numbers as JSON, and no such byte.
const BY_COLUMN: u8 = 2;

/// The numbers of one second.
#[derive(Debug, Serialize, Deserialize)]
struct Numbers {
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

/// Seconds of a running trial. Packed as they come: histograms that count take a hundred times the memory.
#[derive(Debug, Default)]
pub(super) struct PackedSamples {
    seconds: Vec<Numbers>,
    /// First the first histogram of every second, then the second one: what is alike stands together.
    columns: Vec<Vec<u8>>,
}

impl PackedSamples {
    /// Adds one.
    pub(super) fn push(&mut self, sample: &Sample) {
        let numbers = Numbers::of(sample);
        self.columns.resize(self.columns.len().max(numbers.histograms()), Vec::new());
        self.seconds.push(numbers);
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

/// Reads [`PackedSamples`]'s bytes as far as the histograms of transactions go, which stand first.
pub(super) fn unpack_seconds(bytes: &[u8]) -> Result<Vec<Second>, Damage> {
    let (numbers, mut rest) = unpack_numbers(bytes)?;
    let columns = numbers.iter().map(|one| 1 + usize::from(one.transactions.response)).max();
    let own = take_columns(&numbers, columns.unwrap_or(0), &mut rest)?;
    let second = |(numbers, own): (Numbers, Vec<Histogram>)| {
        let mut own = own.into_iter();
        let Numbers { stream, second, phase, length, errors, transactions, statements, schedule } = numbers;
        let transactions = with_histograms(transactions, &mut own)?;
        let schedule = schedule.map(|starts| Starts { delay: None, ..starts });
        Ok(Second { stream, second, phase, length, errors, transactions, statements, schedule })
    };
    numbers.into_iter().zip(own).map(second).collect()
}

/// Reads [`PackedSamples`]'s bytes.
pub(super) fn unpack_samples(bytes: &[u8]) -> Result<Vec<Sample>, Damage> {
    let (numbers, mut rest) = unpack_numbers(bytes)?;
    let columns = numbers.iter().map(Numbers::histograms).max();
    let own = take_columns(&numbers, columns.unwrap_or(0), &mut rest)?;
    let sample = |(numbers, own): (Numbers, Vec<Histogram>)| numbers.with_histograms(&mut own.into_iter());
    numbers.into_iter().zip(own).map(sample).collect()
}

/// The numbers, and what follows them.
fn unpack_numbers(bytes: &[u8]) -> Result<(Vec<Numbers>, impl BufRead), Damage> {
    let (is_json, packed) = match bytes.split_first() {
        Some((&BY_COLUMN, packed)) => (false, packed),
        _ => (true, bytes),
    };
    let mut rest = inflated(packed);
    let numbers = take_block(&mut rest)?;
    let numbers = if is_json { serde_json::from_slice(&numbers)? } else { columns::read(&numbers)? };
    Ok((numbers, rest))
}

/// The first so many columns of histograms, as those of each second.
fn take_columns(
    numbers: &[Numbers],
    columns: usize,
    rest: &mut impl BufRead,
) -> Result<Vec<Vec<Histogram>>, Damage> {
    let mut found: Vec<Vec<Histogram>> = vec![Vec::new(); numbers.len()];
    for column in 0..columns {
        let having = numbers.iter().zip(&mut found).filter(|(one, _)| one.histograms() > column);
        for (_, found) in having {
            found.push(take_histogram(rest)?);
        }
    }
    Ok(found)
}

fn take_histogram(bytes: &mut impl BufRead) -> Result<Histogram, Damage> {
    Histogram::from_bytes(&take_block(bytes)?).ok_or(Damage::Histogram)
}

fn next(own: &mut impl Iterator<Item = Histogram>) -> Result<Histogram, Damage> {
    own.next().ok_or(Damage::NoHistogram)
}

fn with_histograms(counts: Counts, own: &mut impl Iterator<Item = Histogram>) -> Result<Tally, Damage> {
    let service = next(own)?;
    let response = if counts.response { Some(next(own)?) } else { None };
    Ok(counts.with(service, response))
}

impl Numbers {
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
        let Self { stream, second, phase, length, errors, transactions, statements, schedule } = self;
        let transactions = with_histograms(transactions, own)?;
        let statements = statements.into_iter().map(|counts| with_histograms(counts, own));
        let statements = statements.collect::<Result<_, _>>()?;
        let schedule = schedule.map(|mut starts| {
            let delay = starts.delay.take().map_or_else(|| next(own), Ok)?;
            Ok::<_, Damage>(starts.with(delay))
        });
        let schedule = schedule.transpose()?;
        Ok(Sample { stream, second, phase, length, errors, transactions, statements, schedule })
    }
}
