//! From numbers to estimates: pure functions without I/O, clock or project types.
//!
//! What a benchmark needs and little else: variances of many small groups that lend each other strength
//! ([`moderate`]) with their intervals and p-values ([`Spread`]), the comparison of two sides ([`judge`])
//! with the correction for many comparisons ([`holm`]), the same along a ladder of loads, the whole ladder
//! before its rungs ([`judge_ladders`]), independent batches of one autocorrelated series ([`batches`]), when
//! it becomes steady ([`steady_from`]), where a history changed ([`change_points`]), how throughput grows
//! with concurrency ([`Scalability`]), and Little's law ([`in_flight`]). Golden values in the tests come from
//! SciPy and statsmodels, coverage and error rates from simulation.

mod change;
mod estimate;
mod graph;
mod ladder;
mod multiple;
mod proportion;
mod queue;
mod ratio;
mod scalability;
mod series;
mod slope;
mod spread;
mod steady;
#[cfg(test)]
mod tests;

pub use change::{ChangePoint, change_points};
pub use estimate::Estimate;
pub use ladder::{Change, JudgedLadder, Ladder, judge_ladders, knee};
pub use multiple::holm;
pub use proportion::proportion;
pub use queue::in_flight;
pub use ratio::{Call, Difference, Judged, Rule, judge, paired, repeats_for};
pub use scalability::Scalability;
pub use series::batches;
pub use slope::{bend, slope, variation};
pub use spread::{Spread, moderate};
pub use steady::{Trend, steady_from, transient, trend};
