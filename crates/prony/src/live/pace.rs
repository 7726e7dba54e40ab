//! How far a run has come, and how long the rest will take.

use crate::{plan::Plan, run::Event};
use std::time::{Duration, Instant};

/// Counts the trials of a run.
#[derive(Debug)]
pub struct Pace {
    done: u32,
    total: u32,
    /// The length of a trial by the plan; `None`: the run has not reported it yet.
    planned: Option<Duration>,
    /// When the first trial began.
    begun: Option<Instant>,
}

impl Pace {
    /// Of a run that will do so many trials.
    #[must_use]
    pub fn new(total: u32) -> Self {
        Self { done: 0, total, planned: None, begun: None }
    }

    /// Takes note of an event.
    pub fn heed(&mut self, event: &Event) {
        match event {
            Event::RunStarted { plan, .. } => self.planned = Some(mean_time(plan)),
            Event::TrialAdded { .. } => self.total += 1,
            Event::TrialStarted { .. } => {
                self.begun.get_or_insert_with(Instant::now);
            }
            Event::TrialFinished { .. } => self.done += 1,
            _ => {}
        }
    }

    /// Trials that have ended.
    #[must_use]
    pub fn done(&self) -> u32 {
        self.done
    }

    /// Trials that there will be.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Time left, when a trial begins or ends; `None`: nothing is planned yet.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        // what loads data or restarts servers between trials is only in what those before took
        let each = match (self.begun, self.done) {
            (Some(begun), done @ 1..) => begun.elapsed() / done,
            _ => self.planned?,
        };
        Some(each * self.total.saturating_sub(self.done))
    }
}

/// What a trial takes by the plan, on average.
fn mean_time(plan: &Plan) -> Duration {
    let count = u32::try_from(plan.treatments.len()).unwrap_or(u32::MAX).max(1);
    (0..plan.treatments.len()).map(|each| plan.trial_time(each)).sum::<Duration>() / count
}
