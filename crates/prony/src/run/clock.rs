//! What reading the clock costs. Every latency is the difference of two readings.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Readings in one round: enough to be timed by the same clock, few enough to fit between two interrupts.
const READINGS: u32 = 200;
/// Rounds, of which the quickest counts: the others were interrupted.
const ROUNDS: u32 = 50;

/// What one reading of the monotonic clock takes on this machine; measured within about a millisecond.
#[must_use]
pub fn clock_cost() -> Duration {
    let round = || {
        let begun = Instant::now();
        for _ in 0..READINGS {
            black_box(Instant::now());
        }
        begun.elapsed() / READINGS
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_takes_some_time_and_not_long() {
        let cost = clock_cost();
        assert!(cost > Duration::ZERO && cost < Duration::from_millis(1), "{cost:?}");
    }
}
