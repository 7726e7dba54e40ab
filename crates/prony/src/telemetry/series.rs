//! Readings of a trial by path: reports ask for one path through all seconds, and a run of an evening has ten
//! million values, whose names in each reading would take longer to read back than everything else of the
//! run.

use super::{Reading, is_of_relay, is_of_server, share_within, stored};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// Readings in the order of time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Reading>", into = "Vec<Reading>")]
pub struct Series {
    spans: Vec<Span>,
    columns: BTreeMap<String, Column>,
}

/// The time that a reading covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Span {
    /// Its end, since the load began.
    pub at: Duration,
    /// Length of time that the rates cover.
    pub length: Duration,
}

/// Values of one path, one for each reading.
#[derive(Debug, Clone)]
pub struct Column(
    /// NaN where a reading has none.
    Vec<f64>,
);

impl Column {
    /// The value of a reading; `None`: it has none.
    #[must_use]
    pub fn at(&self, row: usize) -> Option<f64> {
        self.0.get(row).copied().filter(|value| !value.is_nan())
    }

    /// Other values instead of those that it has.
    #[must_use]
    pub fn map(&self, other: impl Fn(f64) -> f64) -> Self {
        Self(self.0.iter().map(|&value| other(value)).collect())
    }

    /// Takes another column in: readings that have only one of the two values keep that.
    pub fn merge(&mut self, other: &Self, together: impl Fn(f64, f64) -> f64) {
        for (own, &other) in self.0.iter_mut().zip(&other.0) {
            *own = match (own.is_nan(), other.is_nan()) {
                (true, _) => other,
                (_, true) => *own,
                _ => together(*own, other),
            };
        }
    }
}

impl Series {
    /// From what is stored: times, and as many values of each path; NaN: a reading has none.
    #[must_use]
    pub fn stored(spans: Vec<Span>, columns: BTreeMap<String, Vec<f64>>) -> Self {
        let columns = stored::renamed(columns).into_iter();
        Self { spans, columns: columns.map(|(path, values)| (path, Column(values))).collect() }
    }

    /// Number of readings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is no reading.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The times of the readings.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// All paths with their values, by name.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(path, column)| (path.as_str(), column))
    }

    /// The readings one by one.
    pub fn readings(&self) -> impl Iterator<Item = Reading> {
        self.spans.iter().enumerate().map(|(row, &Span { at, length })| {
            let values = self.columns.iter();
            let values = values.filter_map(|(path, column)| Some((path.clone(), column.at(row)?)));
            Reading { at, length, values: values.collect() }
        })
    }

    /// Numbers of the readings of which at least this share lies within an interval; both count from the
    /// beginning of the load.
    #[must_use]
    pub fn within(&self, (from, until): (Duration, Duration), share: f64) -> Vec<usize> {
        let is_within = |span: &Span| share_within((span.at, span.length), (from, until)) >= share;
        (0..self.len()).filter(|&row| is_within(&self.spans[row])).collect()
    }

    /// Sum of a value of all servers, as `process/cpu_user`; `None`: none of them ever has it.
    #[must_use]
    pub fn of_servers(&self, what: &str) -> Option<Column> {
        let columns = self.columns.iter().filter(|(path, _)| is_of_server(path, what));
        let mut columns = columns.map(|(_, column)| column);
        let mut all = columns.next()?.clone();
        columns.for_each(|column| all.merge(column, |one, other| one + other));
        Some(all)
    }

    /// CPUs that the servers' processes kept busy; `None`: it is never known.
    #[must_use]
    pub fn server_cpu(&self) -> Option<Column> {
        Some(both(&self.of_servers("process/cpu_user")?, &self.of_servers("process/cpu_system")?))
    }

    /// CPUs that this process kept busy; `None`: it is never known.
    #[must_use]
    pub fn client_cpu(&self) -> Option<Column> {
        Some(both(self.columns.get("client/cpu_user")?, self.columns.get("client/cpu_system")?))
    }

    /// Context switches of this process; `None`: they are never known.
    #[must_use]
    pub fn client_switches(&self) -> Option<Column> {
        let of = |what: &str| self.columns.get(&format!("client/{what}"));
        Some(both(of("switches_voluntary")?, of("switches_involuntary")?))
    }

    /// CPUs that Prony's relays kept busy; `None`: there are none.
    #[must_use]
    pub fn relay_cpu(&self) -> Option<Column> {
        Some(both(&self.of_relays("cpu_user")?, &self.of_relays("cpu_system")?))
    }

    /// Context switches of Prony's relays; `None`: there are none.
    #[must_use]
    pub fn relay_switches(&self) -> Option<Column> {
        Some(both(&self.of_relays("switches_voluntary")?, &self.of_relays("switches_involuntary")?))
    }

    fn of_relays(&self, what: &str) -> Option<Column> {
        let columns = self.columns.iter().filter(|(path, _)| is_of_relay(path, what));
        columns.map(|(_, column)| column.clone()).reduce(|mut all, one| {
            all.merge(&one, |one, other| one + other);
            all
        })
    }

    /// The values of a path; `None`: no reading has it.
    #[must_use]
    pub fn of(&self, path: &str) -> Option<Column> {
        self.columns.get(path).cloned()
    }

    /// Mean of a value over some readings, each weighing as long as it is; those without it do not count.
    /// `None`: no reading has it.
    #[must_use]
    pub fn mean(&self, rows: &[usize], column: &Column) -> Option<f64> {
        let (sum, weight) = self.sum(rows, column);
        (weight > 0.0).then(|| sum / weight)
    }

    /// Over some readings that have a value: sum of value times length, and of lengths, s.
    #[must_use]
    pub fn sum(&self, rows: &[usize], column: &Column) -> (f64, f64) {
        let (mut sum, mut weight) = (0.0, 0.0);
        for &row in rows {
            if let Some(value) = column.at(row) {
                let seconds = self.spans[row].length.as_secs_f64();
                sum += value * seconds;
                weight += seconds;
            }
        }
        (sum, weight)
    }
}

/// The sum where both are known.
fn both(one: &Column, other: &Column) -> Column {
    Column(one.0.iter().zip(&other.0).map(|(one, other)| one + other).collect())
}

impl FromIterator<Reading> for Series {
    fn from_iter<I: IntoIterator<Item = Reading>>(readings: I) -> Self {
        let mut series = Self::default();
        for (row, Reading { at, length, values }) in readings.into_iter().enumerate() {
            series.spans.push(Span { at, length });
            for (path, value) in values {
                let column = series.columns.entry(path).or_insert_with(|| Column(Vec::new()));
                column.0.resize(row, f64::NAN);
                column.0.push(value);
            }
        }
        let rows = series.len();
        series.columns.values_mut().for_each(|column| column.0.resize(rows, f64::NAN));
        series
    }
}

impl From<Vec<Reading>> for Series {
    fn from(readings: Vec<Reading>) -> Self {
        readings.into_iter().collect()
    }
}

impl From<Series> for Vec<Reading> {
    fn from(series: Series) -> Self {
        series.readings().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: u64, values: &[(&str, f64)]) -> Reading {
        let values = values.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect();
        Reading { at: Duration::from_secs(at), length: Duration::from_secs(1), values }
    }

    #[test]
    fn readings_with_different_paths_come_back() {
        let readings = vec![
            reading(1, &[("machine/cpu_user", 1.0), ("node/a/process/threads", 4.0)]),
            reading(2, &[]),
            reading(3, &[("machine/cpu_user", 3.0), ("node/b/process/threads", 5.0)]),
        ];
        let series = Series::from(readings.clone());
        assert_eq!(series.readings().collect::<Vec<_>>(), readings);
        let again: Series = serde_json::from_str(&serde_json::to_string(&series).unwrap()).unwrap();
        assert_eq!(Vec::<Reading>::from(again), readings);
    }

    #[test]
    fn servers_are_summed_second_by_second_and_what_is_unknown_does_not_count() {
        let series = Series::from(vec![
            reading(1, &[("node/a/process/cpu_user", 1.0), ("node/b/process/cpu_user", 2.0)]),
            reading(2, &[("node/a/process/cpu_user", 4.0), ("machine/cpu_user", 9.0)]),
            reading(3, &[("machine/cpu_user", 9.0)]),
        ]);
        let user = series.of_servers("process/cpu_user").unwrap();
        assert_eq!([0, 1, 2].map(|row| user.at(row)), [Some(3.0), Some(4.0), None]);
        let rows = series.within((Duration::ZERO, Duration::from_secs(3)), 0.9);
        assert_eq!(series.mean(&rows, &user), Some(3.5));
        assert!(series.of_servers("process/cpu").is_none() && series.server_cpu().is_none());
    }
}
