//! A run as interval logs of HdrHistogram, one file for each trial: the distribution of response times of
//! each second of the measurement, tagged with its stream if there are several. HdrHistogram's own tools
//! read them (HistogramLogAnalyzer, HistogramLogProcessor, the libraries of other languages).

use super::{Error, Unfinished};
use crate::store::{RunRecord, TrialRecord};
use hdrhistogram::serialization::{
    Deserializer, V2DeflateSerializer,
    interval_log::{IntervalLogWriterBuilder, Tag},
};
use load::sample::Phase;
use std::{collections::BTreeMap, fs, io, path::Path, time::Duration};

/// Longest values are told in ms, as HdrHistogram's tools do; the histograms themselves are in ns.
const NS_PER_MS: f64 = 1e6;

/// Writes a log for each measured trial into a directory that does not exist or is empty. Returns the names
/// of the files, `trial-0001.hlog` and so on. Afterwards either all of them are there, or none.
///
/// # Errors
/// When something is in the directory, or a file cannot be written.
pub fn hlog(record: &RunRecord, directory: &Path) -> Result<Vec<String>, Error> {
    let unfinished = Unfinished::beside(directory)?;
    let mut names = Vec::new();
    for trial in record.trials.iter().filter(|trial| !trial.seconds.is_empty()) {
        let name = format!("trial-{:04}.hlog", trial.trial.number + 1);
        let path = unfinished.0.join(&name);
        let written = log(record, trial).and_then(|bytes| fs::write(&path, bytes));
        written.map_err(|source| Error::Write { path, source })?;
        names.push(name);
    }
    unfinished.take_name(directory)?;
    Ok(names)
}

/// One trial.
fn log(record: &RunRecord, trial: &TrialRecord) -> io::Result<Vec<u8>> {
    let treatment = &record.plan.treatments[trial.trial.treatment];
    let levels = treatment.levels.values().map(String::as_str).collect::<Vec<_>>().join(", ");
    let started = trial.started.into();
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!("[{}: {levels}; response times in ns]", record.plan.name))
        .with_start_time(started)
        .with_base_time(started)
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(&mut bytes, &mut serializer)?;
    let mut passed: BTreeMap<u16, Duration> = BTreeMap::new();
    for second in &trial.seconds {
        let begun = passed.entry(second.stream).or_default();
        let at = *begun;
        *begun += second.length;
        if second.phase != Phase::Measure {
            continue;
        }
        // a tag ends at a comma or blank; tools that are not told of one read what has none
        let streams = Some(&treatment.streams).filter(|streams| streams.len() > 1);
        let stream = streams.and_then(|streams| streams.get(usize::from(second.stream)));
        let tag = stream.map(|stream| stream.name.replace([',', ' ', '\r', '\n', '\t'], "_"));
        let response = second.transactions.response().to_raw_bytes();
        let histogram: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut response.as_slice()).map_err(io::Error::other)?;
        let tag = tag.as_deref().and_then(Tag::new);
        writer.write_histogram(&histogram, at, second.length, tag).map_err(io::Error::other)?;
    }
    drop(writer);
    Ok(bytes)
}
