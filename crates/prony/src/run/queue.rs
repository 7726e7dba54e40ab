//! Which trial comes next: first the blocks of the plan, then retries of what was invalid in them, then,
//! where a study asks for a precision, more blocks until it is reached. Pure logic over the trials that have
//! ended, so that a resumed run makes the same decisions.
//!
//! Looking at results as they come, and stopping at will, finds differences that do not exist. Here only the
//! *width* of intervals is looked at, never which server leads; only after whole blocks, and never before all
//! blocks that the study asks for; and the spread behind the width is moderated by all treatments, so that no
//! treatment stops because its few trials agree by chance (stopping by width: Y. S. Chow and H. Robbins, *On
//! the asymptotic theory of fixed-width sequential confidence intervals*, Annals of Mathematical Statistics
//! 36, 1965). The simulation in the tests below has the coverage that remains: 95 % intervals contain the
//! truth in 94 % of the cases or more.

use super::{
    Because, Doubt, Steady, Stop, TrialOutcome, What, Why,
    counting::{by_unit, half_width, those_that_count},
};
use crate::plan::{Plan, Trial};
use load::{Outcome, spec::Arrival};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Trials that have ended, and what came of them.
pub type Earlier = [(Trial, TrialOutcome)];

/// The order of a run, and where it is.
pub(super) struct TrialQueue<'a> {
    plan: &'a Plan,
    /// All that there may be, in the order of execution.
    order: Vec<Trial>,
    ended: BTreeMap<u32, Ended>,
    block: u32,
    /// Treatments of the block, where it is an added one.
    wanted: BTreeSet<usize>,
    /// Treatments whose server is given up: none of their trials is repeated.
    given_up: BTreeSet<usize>,
    /// Trials without a measured attempt when the run was resumed: they get one more, whatever failed before.
    retried: BTreeSet<u32>,
    /// Why nothing more is added.
    over: Why,
    next_number: u32,
}

/// What is remembered of a trial.
struct Ended {
    trial: Trial,
    /// Ids of what makes it invalid; empty: it is valid.
    faults: BTreeSet<&'static str>,
    /// What its streams are judged by; `None` where there was nothing.
    did: Vec<Option<Did>>,
}

/// What a stream is judged by, so that several trials can be read as one: transactions in a time, or
/// response times of transactions.
#[derive(Debug, Clone, Copy, Default)]
struct Did {
    amount: f64,
    of: f64,
}

impl Did {
    fn and(self, other: Self) -> Self {
        Self { amount: self.amount + other.amount, of: self.of + other.of }
    }

    fn log(self) -> Option<f64> {
        let value = self.amount / self.of;
        (value > 0.0 && value.is_finite()).then(|| value.ln())
    }
}

impl<'a> TrialQueue<'a> {
    pub(super) fn new(plan: &'a Plan, earlier: &Earlier) -> Self {
        let order = plan.trials_at_most();
        let mut queue = Self {
            plan,
            next_number: u32::try_from(order.len()).expect("a study has a bounded number of trials"),
            order,
            ended: BTreeMap::new(),
            block: 0,
            wanted: BTreeSet::new(),
            given_up: BTreeSet::new(),
            retried: BTreeSet::new(),
            over: Why::Asked,
        };
        for (trial, outcome) in earlier {
            queue.ended(*trial, outcome);
        }
        let original = |trial: &Trial| trial.again_of.unwrap_or(trial.number);
        let is_failed = |outcome: &TrialOutcome| matches!(outcome, TrialOutcome::Failed(_));
        let of = |failed: bool| {
            let those = earlier.iter().filter(move |(_, outcome)| is_failed(outcome) == failed);
            those.map(|(trial, _)| original(trial)).collect::<BTreeSet<u32>>()
        };
        queue.retried = &of(true) - &of(false);
        queue
    }

    /// Nothing more can come of a treatment.
    pub(super) fn gives_up(&mut self, treatment: usize) {
        self.given_up.insert(treatment);
    }

    /// Takes note of a trial.
    pub(super) fn ended(&mut self, trial: Trial, outcome: &TrialOutcome) {
        let (faults, did) = match outcome {
            TrialOutcome::Failed(_) => (BTreeSet::from(["failed"]), Vec::new()),
            TrialOutcome::Measured { outcome, doubts, .. } => {
                (faults(doubts), did(self.plan, trial.treatment, outcome, doubts))
            }
        };
        self.next_number = self.next_number.max(trial.number + 1);
        self.ended.insert(trial.number, Ended { trial, faults, did });
    }

    /// The next trial, and why it was not planned from the beginning; `None`: all is done. `spent` is the
    /// time that the run has taken so far.
    pub(super) fn next(&mut self, spent: Duration) -> Option<(Trial, Option<Because>)> {
        loop {
            let added = self.block >= self.plan.repeats;
            let planned = self.of_block(self.block).find(|trial| !self.ended.contains_key(&trial.number));
            if let Some(trial) = planned {
                return Some((trial, added.then_some(Because::Precision)));
            }
            if let Some(again) = self.again() {
                return Some((again, Some(Because::Invalid)));
            }
            self.block += 1;
            if self.block >= self.plan.repeats && !self.goes_on(spent) {
                return None;
            }
        }
    }

    fn of_block(&self, block: u32) -> impl Iterator<Item = Trial> {
        let added = block >= self.plan.repeats;
        let of_block = self.order.iter().filter(move |trial| trial.block == block);
        of_block.filter(move |trial| !added || self.wanted.contains(&trial.treatment)).copied()
    }

    /// A trial of the block that is to be repeated: it is invalid, may be repeated, and what spoilt it is not
    /// what spoils every trial of its treatment.
    fn again(&mut self) -> Option<Trial> {
        let may_be = |trial: &Trial| !self.given_up.contains(&trial.treatment);
        let retried = self.of_block(self.block).find(|trial| self.retried.contains(&trial.number));
        if let Some(trial) = retried {
            self.retried.remove(&trial.number);
            return Some(self.repeat_of(trial));
        }
        let original = self.of_block(self.block).filter(may_be).find(|trial| {
            let attempts: Vec<&Ended> = self
                .ended
                .values()
                .filter(|ended| {
                    ended.trial.number == trial.number || ended.trial.again_of == Some(trial.number)
                })
                .collect();
            let Some(last) = attempts.last() else { return false };
            let room = attempts.len() <= self.plan.repetition.repeat_invalid as usize;
            room && !last.faults.is_empty() && !self.is_lasting(trial.treatment, &last.faults)
        })?;
        Some(self.repeat_of(original))
    }

    fn repeat_of(&mut self, original: Trial) -> Trial {
        self.next_number += 1;
        Trial { number: self.next_number - 1, again_of: Some(original.number), ..original }
    }

    /// Whether a fault was in all trials of a treatment, of which there are at least two: then it is no
    /// accident.
    fn is_lasting(&self, treatment: usize, faults: &BTreeSet<&'static str>) -> bool {
        let so_far = || self.ended.values().filter(|ended| ended.trial.block <= self.block);
        let alike = || so_far().filter(|ended| ended.trial.treatment == treatment);
        alike().count() > 1 && faults.iter().any(|fault| alike().all(|ended| ended.faults.contains(fault)))
    }

    /// Whether another block is needed and possible; says which treatments take part in it.
    fn goes_on(&mut self, spent: Duration) -> bool {
        let repetition = &self.plan.repetition;
        let Some(precision) = repetition.precision else { return false };
        let widths = self.half_widths();
        let missing: Vec<usize> = (0..widths.len())
            .filter(|each| !self.given_up.contains(each))
            .filter(|&each| widths[each].is_none_or(|width| width > precision))
            .collect();
        self.over = Why::Precise;
        if missing.is_empty() {
            return false;
        }
        self.over = Why::RepeatsMax;
        if self.block >= self.plan.repeats_at_most() {
            return false;
        }
        // What is compared with each other runs side by side, also where one of them is known well enough.
        let treatments = &self.plan.treatments;
        let side_by_side =
            |each: &usize| missing.iter().any(|&one| treatments[one].is_like(&treatments[*each]));
        let can_be = |each: &usize| !self.given_up.contains(each);
        self.wanted = (0..treatments.len()).filter(can_be).filter(side_by_side).collect();
        let begun = self.of_block(self.block).any(|trial| self.ended.contains_key(&trial.number));
        let cost = self.wanted.iter().map(|&treatment| self.plan.trial_time(treatment)).sum::<Duration>();
        self.over = Why::Budget;
        begun || repetition.budget.is_none_or(|budget| spent + cost <= budget)
    }

    /// Of each treatment, half of the interval's width as a share of the value, of the stream where it is
    /// widest.
    fn half_widths(&self) -> Vec<Option<f64>> {
        let streams = self.plan.treatments.iter().map(|treatment| treatment.streams.len()).max().unwrap_or(0);
        let mut widest: Vec<Option<f64>> = vec![Some(0.0); self.plan.treatments.len()];
        for stream in 0..streams {
            let groups: Vec<Vec<f64>> =
                (0..widest.len()).map(|treatment| self.values(treatment, stream)).collect();
            for (treatment, width) in half_widths(&groups).into_iter().enumerate() {
                if self.plan.treatments[treatment].measured().any(|(place, _)| place == stream) {
                    widest[treatment] = widest[treatment].zip(width).map(|(one, other)| one.max(other));
                }
            }
        }
        widest
    }

    /// The values of a treatment's valid trials for a stream, one logarithm for each unit.
    fn values(&self, treatment: usize, stream: usize) -> Vec<f64> {
        let units = by_unit(self.plan, self.counted(treatment, stream)).into_values();
        units.filter_map(|unit| unit.into_iter().fold(Did::default(), Did::and).log()).collect()
    }

    /// What the trials of a treatment that count did in each block.
    fn counted(&self, treatment: usize, stream: usize) -> Vec<(u32, Did)> {
        // a run that is resumed within a block must decide as it did before the block
        let before = self.ended.values().filter(|ended| ended.trial.block < self.block);
        let alike = before.filter(|ended| ended.trial.treatment == treatment);
        let did = alike.filter_map(|ended| Some((ended, (*ended.did.get(stream)?)?))).collect();
        let used = those_that_count(did, |(ended, _): &(&Ended, Did)| ended.faults.is_empty());
        used.into_iter().map(|(ended, did)| (ended.trial.block, did)).collect()
    }

    /// How it ended for each treatment; empty where the study asks for no precision.
    pub(super) fn stops(&self) -> Vec<Stop> {
        let Some(precision) = self.plan.repetition.precision else { return Vec::new() };
        let stop = |(treatment, half_width): (usize, Option<f64>)| {
            let precise = half_width.is_some_and(|width| width <= precision);
            let repeats = self.counted(treatment, 0).len() as u32;
            Stop { treatment, why: if precise { Why::Precise } else { self.over }, half_width, repeats }
        };
        self.half_widths().into_iter().enumerate().map(stop).collect()
    }
}

/// Half of the interval's width of each group of logarithms, as a share.
fn half_widths(groups: &[Vec<f64>]) -> Vec<Option<f64>> {
    let units = groups.iter().map(|group| u32::try_from(group.len()).unwrap_or(u32::MAX));
    units.zip(stats::moderate(groups)).map(|(units, spread)| half_width(spread, units)).collect()
}

/// What spoils a trial.
fn faults(doubts: &[Doubt]) -> BTreeSet<&'static str> {
    doubts.iter().filter(|doubt| doubt.spoils()).map(Doubt::id).collect()
}

/// Of each stream its throughput; its mean response time, where a schedule that was written says the
/// throughput.
fn did(plan: &Plan, treatment: usize, outcome: &Outcome, doubts: &[Doubt]) -> Vec<Option<Did>> {
    let treatment = &plan.treatments[treatment];
    let streams = treatment.streams.iter().zip(&outcome.streams).enumerate();
    streams
        .map(|(number, (stream, told))| {
            let own = |doubt: &&Doubt| doubt.stream.as_ref().is_none_or(|about| *about == stream.name);
            let steady = doubts.iter().filter(own).find_map(|doubt| match doubt.what {
                What::Drift { steady, .. } => steady,
                _ => None,
            });
            let whole = || {
                let mut all = Steady::default();
                all.add(&told.transactions, told.active_time(outcome.interval));
                all
            };
            let did = steady.filter(|did| did.seconds > 0.0).unwrap_or_else(whole);
            let count = did.transactions as f64;
            let by_time = Did { amount: count, of: did.seconds };
            let did = match stream.arrival {
                Arrival::Open { .. } if treatment.searched() == Some(number) => by_time,
                Arrival::Closed | Arrival::Think(_) | Arrival::Waits(_) => by_time,
                Arrival::Paced { .. } | Arrival::Open { .. } => Did { amount: did.response_ns, of: count },
            };
            did.log().map(|_| did)
        })
        .collect()
}

#[cfg(test)]
mod tests;
