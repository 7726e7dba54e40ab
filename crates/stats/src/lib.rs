//! From numbers to estimates: pure functions without I/O, clock or project types.
//!
//! What a benchmark needs and little else: variances of many small groups that lend each other strength ([`moderate`]) with
//! their intervals and p-values ([`Spread`]), the correction for many comparisons ([`holm`]), independent batches of one
//! autocorrelated series ([`batches`]), how throughput grows with
//! concurrency ([`Scalability`]), and Little's law ([`in_flight`]). Golden values in the tests come from SciPy and
//! statsmodels, coverage and error rates from simulation.

mod estimate;
mod multiple;
mod queue;
mod scalability;
mod series;
mod spread;
#[cfg(test)]
mod tests;

pub use estimate::Estimate;
pub use multiple::holm;
pub use queue::in_flight;
pub use scalability::Scalability;
pub use series::batches;
pub use spread::{Spread, moderate};
