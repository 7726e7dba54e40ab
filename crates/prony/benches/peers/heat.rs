//! A heat: several programs under the same load, in interleaved rounds, and the ratios between two of them. A
//! ratio is made within each round, so that what changes on the machine from round to round does not get into
//! it.

use crate::entrant::{Entrant, Figures, Job};
use serde::Serialize;

/// What all participants did.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Heat {
    /// What is varied from heat to heat: connections.
    pub(crate) at: u32,
    pub(crate) results: Vec<Results>,
}

/// What one participant did.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Results {
    pub(crate) label: String,
    /// By round; shorter than that where it failed.
    pub(crate) rounds: Vec<Figures>,
    /// Its words when it failed; it was not asked again.
    pub(crate) failure: Option<String>,
}

impl Results {
    /// How many threads Prony's engine had: `1`, or `1 to 2` where rounds differ; empty: another program.
    pub(crate) fn workers(&self) -> String {
        let counts = || self.rounds.iter().filter_map(|figures| figures.workers);
        match (counts().min(), counts().max()) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
            (Some(least), _) => least.to_string(),
            _ => String::new(),
        }
    }
}

/// A figure of [`Figures`].
pub(crate) type Measure = fn(&Figures) -> f64;

/// Median and ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None`: there is nothing.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Self { median, min, max })
    }
}

impl Heat {
    /// Runs `rounds` rounds; who begins changes from round to round.
    pub(crate) fn run(at: u32, entrants: &[Entrant], job: &Job, rounds: u32) -> Self {
        let mut job = job.at(at);
        let empty =
            |entrant: &Entrant| Results { label: entrant.label.clone(), rounds: Vec::new(), failure: None };
        let mut results: Vec<Results> = entrants.iter().map(empty).collect();
        for round in 0..rounds as usize {
            for turn in 0..entrants.len() {
                let index = (round + turn) % entrants.len();
                let result = &mut results[index];
                if result.failure.is_some() {
                    continue;
                }
                match entrants[index].run(&job) {
                    Ok(figures) => {
                        job.expected_per_second = figures.queries_per_second;
                        job.workers = figures.workers.or(job.workers);
                        result.rounds.push(figures);
                    }
                    Err(words) => result.failure = Some(words),
                }
            }
        }
        Self { at, results }
    }

    /// Median and ends of one participant's figure.
    pub(crate) fn spread(&self, index: usize, measure: Measure) -> Option<Spread> {
        Spread::of(self.results[index].rounds.iter().map(measure).collect())
    }

    /// `ours` divided by `theirs`, round by round.
    pub(crate) fn ratio(&self, ours: usize, theirs: usize, measure: Measure) -> Option<Spread> {
        let pairs = self.results[ours].rounds.iter().zip(&self.results[theirs].rounds);
        Spread::of(pairs.map(|(ours, theirs)| measure(ours) / measure(theirs)).collect())
    }
}
