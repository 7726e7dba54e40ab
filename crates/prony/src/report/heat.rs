//! Response times over time: for one trial of each treatment, how many transactions took how long in each
//! period (B. Gregg, *Visualizing System Latency*, ACM Queue 8, 2010). Rows are tenths of a power of ten.

use super::{
    course::middle,
    number::{round, round_to},
};
use crate::store::{RunRecord, Second, TrialRecord};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// Columns of all maps of a report together: at about fifteen rows each, a few hundred kB.
const COLUMNS_MAX: usize = 2500;
/// The fewest and the most columns of one map: a chart is not wider.
const COLUMNS: (usize, usize) = (8, 60);
/// Rows for each power of ten.
const ROWS_PER_DECADE: f64 = 10.0;
/// Lower edge of the first row, ns.
const FIRST_EDGE_NS: f64 = 1000.0;
/// Significant digits: more than a colour can show.
const DIGITS: i32 = 3;

/// One stream of a trial, warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Heat {
    /// Index in `trials`.
    pub trial: usize,
    /// Its stream.
    pub stream: String,
    /// Ends of the columns, s since the load began.
    pub until_s: Vec<f64>,
    /// Edges of the rows, ms, ascending: one more than there are rows.
    pub edges_ms: Vec<f64>,
    /// For each column, the first row in which a transaction ended.
    pub first_row: Vec<usize>,
    /// For each column, transactions per second in the rows from that one on.
    pub per_second: Vec<Vec<f64>>,
}

/// One map for each stream of the trial with the median throughput of each treatment, in the plan's order.
pub(super) fn heats(record: &RunRecord) -> Vec<Heat> {
    let treatments = 0..record.plan.treatments.len();
    let chosen: Vec<usize> = treatments.filter_map(|number| middle(record, number, |_| true)).collect();
    let streams = |&place: &usize| record.plan.treatments[record.trials[place].trial.treatment].streams.len();
    let all: usize = chosen.iter().map(streams).sum();
    let columns = (COLUMNS_MAX / all.max(1)).clamp(COLUMNS.0, COLUMNS.1);
    chosen.iter().flat_map(|&place| of_trial(record, place, columns)).collect()
}

fn of_trial(record: &RunRecord, place: usize, columns: usize) -> Vec<Heat> {
    let trial = &record.trials[place];
    let streams = &record.plan.treatments[trial.trial.treatment].streams;
    let heat = |(number, stream): (usize, &load::spec::Stream)| {
        of_stream(trial, number, columns).map(|heat| Heat {
            trial: place,
            stream: stream.name.clone(),
            ..heat
        })
    };
    streams.iter().enumerate().filter_map(heat).collect()
}

/// The map of one stream; `None`: nothing ended in it.
fn of_stream(trial: &TrialRecord, stream: usize, columns: usize) -> Option<Heat> {
    let seconds: Vec<&Second> =
        trial.seconds.iter().filter(|second| usize::from(second.stream) == stream).collect();
    let step = seconds.len().div_ceil(columns).max(1);
    let mut end = Duration::ZERO;
    let mut until_s = Vec::new();
    let mut counted: Vec<BTreeMap<usize, f64>> = Vec::new();
    for some in seconds.chunks(step) {
        let length: Duration = some.iter().map(|second| second.length).sum();
        end += length;
        until_s.push(round(end.as_secs_f64()));
        let mut rows = BTreeMap::new();
        let responses = some.iter().map(|second| second.transactions.response());
        for (ns, count) in responses.flat_map(|response| response.buckets()) {
            *rows.entry(row(ns)).or_default() += count as f64 / length.as_secs_f64().max(f64::MIN_POSITIVE);
        }
        counted.push(rows);
    }
    let used = || counted.iter().flat_map(BTreeMap::keys);
    let (low, high) = (*used().min()?, *used().max()?);
    let of_column = |rows: &BTreeMap<usize, f64>| {
        let ends = rows.keys().next().zip(rows.keys().next_back());
        ends.map_or((0, Vec::new()), |(&first, &last)| {
            let value = |row| round_to(rows.get(&row).copied().unwrap_or(0.0), DIGITS);
            (first - low, (first..=last).map(value).collect())
        })
    };
    let (first_row, per_second) = counted.iter().map(of_column).unzip();
    let edges_ms = (low..=high + 1).map(edge_ms).collect();
    Some(Heat { trial: 0, stream: String::new(), until_s, edges_ms, first_row, per_second })
}

/// The row of a response time.
fn row(ns: u64) -> usize {
    ((ns as f64 / FIRST_EDGE_NS).log10() * ROWS_PER_DECADE).floor().max(0.0) as usize
}

/// The lower edge of a row, ms.
fn edge_ms(row: usize) -> f64 {
    round_to(FIRST_EDGE_NS / 1e6 * 10_f64.powf(row as f64 / ROWS_PER_DECADE), DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_time_lies_between_the_edges_of_its_row() {
        for ns in [1_000, 1_300, 99_999, 1_000_000, 123_456_789] {
            let (ms, row) = (ns as f64 / 1e6, row(ns));
            assert!(edge_ms(row) <= ms * 1.005 && ms < edge_ms(row + 1) * 1.005, "{ms} in row {row}");
        }
        assert_eq!((row(1), edge_ms(0), edge_ms(30)), (0, 0.001, 1.0));
    }
}
