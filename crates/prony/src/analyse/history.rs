//! Runs of one study over time: one series for each point and metric, and where it changed.
//!
//! Changes are searched for in logarithms, because nights and versions differ by a share. Each series is
//! judged by itself ([`stats::change_points`], E-divisive). A run that says nothing about a point is left out
//! of its series.

use super::{Findings, RunDifference, analyse, differences, is_known};
use crate::{
    plan::Metric,
    store::{self, RunRecord, RunSummary, Store},
};
use serde::Serialize;
use stats::{Estimate, change_points};
use std::{cmp::Ordering, collections::BTreeMap};

/// Risk of reporting a change in a series that has none.
const SIGNIFICANCE: f64 = 0.01;
/// Shuffles are drawn from this seed, so that the same history always has the same changes.
const SEED: u64 = 42;

/// Runs of one study, the oldest first.
#[derive(Debug, Clone, Serialize)]
pub struct History {
    /// Version of this format: 1.
    pub format: u32,
    /// Name of the study.
    pub study: String,
    /// The runs in the order of their beginning.
    pub runs: Vec<Place>,
    /// How many runs of the study are left out, by the scale at which they ran; empty key: no scale.
    pub other_scales: BTreeMap<String, u32>,
    /// One for each point and metric.
    pub series: Vec<Series>,
    /// What else differs between the runs before and after each change.
    pub between: Vec<Between>,
}

/// Two runs between which something changed.
#[derive(Debug, Clone, Serialize)]
pub struct Between {
    /// Index in [`History::runs`] of the last run before.
    pub after: usize,
    /// The same for the first run since.
    pub place: usize,
    /// Whether machine and servers are known; for results of other tools they are not.
    pub is_known: bool,
    /// Differences in study, machine, Prony, servers and their settings.
    pub differences: Vec<RunDifference>,
}

/// One run of a history.
#[derive(Debug, Clone, Serialize)]
pub struct Place {
    /// Number in the store.
    pub run: i64,
    /// When it began, UTC.
    pub started: jiff::Timestamp,
    /// Scale of the study that was applied.
    pub scale: Option<String>,
    /// Labels that people gave it.
    pub labels: Vec<String>,
    /// Note that people wrote about it.
    pub note: String,
    /// Version of each server, by name.
    pub versions: BTreeMap<String, String>,
}

/// One metric of one point over all runs that have it.
#[derive(Debug, Clone, Serialize)]
pub struct Series {
    /// Name of the server.
    pub server: String,
    /// Levels of the point.
    pub levels: BTreeMap<String, String>,
    /// `throughput` (transactions per second), or `p50`, `p95`, `p99` (response time, ms).
    pub metric: Metric,
    /// The measured values, in the order of the runs.
    pub values: Vec<Value>,
    /// Where it changed.
    pub changes: Vec<Change>,
}

/// The value that one run measured.
#[derive(Debug, Clone, Serialize)]
pub struct Value {
    /// Index in [`History::runs`].
    pub place: usize,
    /// The figure.
    pub estimate: Estimate,
    /// Whether the report of that run doubts it.
    pub doubtful: bool,
}

/// A change from one level to the next.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// Index in [`History::runs`] of the first run of the new level.
    pub place: usize,
    /// The same for the last run of the old level: the cause lies between the two.
    pub after: usize,
    /// Middle of the old level's values.
    pub before_value: f64,
    /// Middle of the new level's values.
    pub after_value: f64,
    /// Probability of a change as clear in a history without any.
    pub p_value: f64,
}

impl Change {
    /// The new level minus the old one, as a share of the old one.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.after_value / self.before_value - 1.0
    }
}

/// Which runs of a study are followed.
#[derive(Debug, Clone, Copy)]
pub struct Followed<'a> {
    /// Name of the study.
    pub study: &'a str,
    /// Only runs with this label.
    pub label: Option<&'a str>,
    /// Only runs at this scale; inner `None`: runs without a scale; outer `None`: the scale of the latest
    /// run.
    pub scale: Option<Option<&'a str>>,
    /// Only the last runs, this many.
    pub last: usize,
    /// The metrics that are followed.
    pub metrics: &'a [Metric],
}

impl History {
    /// The last runs of a study, all at one scale, because what is measured at another scale is not the same.
    /// Changes are included; the history is empty where there is no such run.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of(store: &Store, followed: Followed<'_>) -> Result<Self, store::Error> {
        let mut runs = store.list()?;
        let is_labelled = |run: &RunSummary| {
            followed.label.is_none_or(|label| run.labels.iter().any(|known| known == label))
        };
        runs.retain(|run| run.name == followed.study && run.trials_measured > 0 && is_labelled(run));
        runs.sort_by_key(|run| run.started);
        let mut history = Self::new(followed.study);
        let mut scale = followed.scale.map(|scale| scale.map(str::to_owned));
        let mut wanted = Vec::new();
        for run in runs.iter().rev() {
            let of_run = store.plan(run.id)?.scale;
            if *scale.get_or_insert_with(|| of_run.clone()) == of_run {
                wanted.push(run.id);
            } else {
                *history.other_scales.entry(of_run.unwrap_or_default()).or_default() += 1;
            }
        }
        wanted.truncate(followed.last.max(1));
        for id in wanted.into_iter().rev() {
            history.push(&store.run(id)?, followed.metrics);
        }
        history.find_changes();
        history.explain(|id| store.run(id))?;
        Ok(history)
    }

    /// An empty history.
    #[must_use]
    pub fn new(study: &str) -> Self {
        Self {
            format: 1,
            study: study.to_owned(),
            runs: Vec::new(),
            other_scales: BTreeMap::new(),
            series: Vec::new(),
            between: Vec::new(),
        }
    }

    /// Adds a run that began after those already included, with the requested metrics only.
    pub fn push(&mut self, record: &RunRecord, metrics: &[Metric]) {
        let place = self.runs.len();
        let versions = record.servers.iter().filter_map(|(number, server)| {
            Some((record.plan.servers.get(*number)?.name.clone(), server.description.version.clone()))
        });
        self.runs.push(Place {
            run: record.id,
            started: record.started,
            scale: record.plan.scale.clone(),
            labels: record.labels.clone(),
            note: record.note.clone(),
            versions: versions.collect(),
        });
        let Findings { points, .. } = analyse(record);
        for point in points {
            let found = metrics.iter().filter_map(|metric| {
                let estimate = match metric {
                    Metric::Throughput => point.throughput,
                    metric => *point.latency_ms.get(&metric.to_string())?,
                };
                (estimate.value > 0.0 && estimate.value.is_finite()).then_some((*metric, estimate))
            });
            for (metric, estimate) in found {
                let is_same = |series: &&mut Series| {
                    series.metric == metric && series.server == point.server && series.levels == point.levels
                };
                let value = Value { place, estimate, doubtful: !point.doubts.is_empty() };
                match self.series.iter_mut().find(is_same) {
                    Some(series) => series.values.push(value),
                    None => self.series.push(Series {
                        server: point.server.clone(),
                        levels: point.levels.clone(),
                        metric,
                        values: vec![value],
                        changes: Vec::new(),
                    }),
                }
            }
        }
    }

    /// Looks for changes in all series, and puts the series in the order that people expect: servers in order
    /// of appearance, levels by size.
    pub fn find_changes(&mut self) {
        let mut servers: Vec<String> = Vec::new();
        for series in &mut self.series {
            let logs: Vec<f64> = series.values.iter().map(|value| value.estimate.value.ln()).collect();
            let place = |index: usize| series.values[index].place;
            series.changes = change_points(&logs, SIGNIFICANCE, SEED)
                .into_iter()
                .map(|change| Change {
                    place: place(change.index),
                    after: place(change.index - 1),
                    before_value: change.before.exp(),
                    after_value: change.after.exp(),
                    p_value: change.p_value,
                })
                .collect();
            if !servers.contains(&series.server) {
                servers.push(series.server.clone());
            }
        }
        let server = |series: &Series| servers.iter().position(|name| *name == series.server);
        self.series.sort_by(|one, other| {
            server(one).cmp(&server(other)).then_with(|| by_size(&one.levels, &other.levels))
        });
    }

    /// Looks for other differences where something changed. `read` gives a run by its number.
    ///
    /// # Errors
    /// Errors of `read`.
    pub fn explain<E>(&mut self, read: impl Fn(i64) -> Result<RunRecord, E>) -> Result<(), E> {
        let changes = self.series.iter().flat_map(|series| &series.changes);
        let mut places: Vec<(usize, usize)> = changes.map(|change| (change.place, change.after)).collect();
        places.sort_unstable();
        places.dedup();
        for (place, after) in places {
            let (base, run) = (read(self.runs[after].run)?, read(self.runs[place].run)?);
            let is_known = is_known(&base) && is_known(&run);
            self.between.push(Between { after, place, is_known, differences: differences(&base, &run) });
        }
        Ok(())
    }
}

/// Compares levels factor by factor: numbers by size, others as texts.
fn by_size(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Ordering {
    let level = |(one, other): (&String, &String)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => one.total_cmp(&other),
        _ => one.cmp(other),
    };
    let levels = one.values().zip(other.values());
    levels.map(level).find(|order| order.is_ne()).unwrap_or_else(|| one.len().cmp(&other.len()))
}
