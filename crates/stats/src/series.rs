//! What one trial says about itself. Its seconds depend on each other, so counting them would overstate what
//! is known.

use std::ops::Range;

/// Fewest batches that carry an interval, and fewest values in a batch.
const BATCHES_MIN: usize = 4;
const BATCH_MIN: usize = 2;

/// Cuts a series of `length` values into batches of neighbours whose means hardly depend on each other any
/// more: the square root of its length in number, about as many values in each. The batches' own statistics
/// (means, or quantiles of merged histograms) are then as good as independent, and [`crate::Spread::of`]
/// gives their interval. `None` for a series too short for it.
///
/// The interval covers what varies within the series, and nothing of what differs from trial to trial.
///
/// Sources: G. L. Jones, M. Haran, B. S. Caffo, R. Neath, *Fixed-width output analysis for Markov chain Monte
/// Carlo*, JASA 101, 2006 (batches of the square root); S. Asmussen, P. W. Glynn, *Stochastic Simulation*,
/// 2007, section III.5 (sectioning: the centre is the statistic of all data together, the width comes from
/// the batches).
#[must_use]
pub fn batches(length: usize) -> Option<Vec<Range<usize>>> {
    let count = length.isqrt().max(BATCHES_MIN);
    if length < count * BATCH_MIN {
        return None;
    }
    Some((0..count).map(|batch| batch * length / count..(batch + 1) * length / count).collect())
}
