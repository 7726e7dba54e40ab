//! Compares the monotonic clock of another machine with this one's. Each round trip shows that the other
//! clock was read between two times of this one; the shortest round trip says it most exactly (Cristian,
//! Probabilistic clock synchronization, Distributed Computing 3, 1989).

use crate::clock::Moment;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How many of the last round trips count: older ones miss the drift since then.
const KEPT: usize = 16;

/// How far another clock is ahead of this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// By so much, ns; negative: it is behind.
    pub ahead_ns: i64,
    /// Its uncertainty, ns: half a round trip.
    pub uncertainty_ns: u64,
}

impl Offset {
    /// From one round trip: `there` was read on the other clock between `asked` and `heard` on this one.
    fn of(asked: Moment, there: Moment, heard: Moment) -> Self {
        let half = heard.since(asked) / 2;
        let here = i128::from(asked.after(half).as_ns());
        let ahead = i128::from(there.as_ns()) - here;
        Self { ahead_ns: i64::try_from(ahead).unwrap_or(i64::MAX), uncertainty_ns: half }
    }
}

/// The last round trips to another clock.
#[derive(Debug, Default)]
pub(crate) struct Rounds(VecDeque<Offset>);

impl Rounds {
    /// Adds a round trip.
    pub(crate) fn add(&mut self, asked: Moment, there: Moment, heard: Moment) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Offset::of(asked, there, heard));
    }

    /// What the shortest round trip says; `None`: there was none yet.
    pub(crate) fn best(&self) -> Option<Offset> {
        self.0.iter().min_by_key(|offset| offset.uncertainty_ns).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_tells_how_far_a_clock_is_off_and_how_well_that_is_known() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.best(), None);
        // the other clock is 5 s behind; the ways there and back take 1 and 9, 2 and 2, 30 and 0 us
        const BEHIND: u64 = 5_000_000_000;
        for (at, there, back) in [(7_000, 1, 9), (7_100, 2, 2), (7_200, 30, 0)] {
            let asked = Moment::of_ns(at * 1_000_000);
            let arrived = asked.after(there * 1_000);
            rounds.add(asked, arrived.before(BEHIND), arrived.after(back * 1_000));
        }
        let best = Offset { ahead_ns: -5_000_000_000, uncertainty_ns: 2_000 };
        assert_eq!(rounds.best(), Some(best));
        // each estimate is as near to the truth as it says
        for offset in &rounds.0 {
            assert!(offset.ahead_ns.abs_diff(-5_000_000_000) <= offset.uncertainty_ns, "{offset:?}");
        }
        // a way that has become longer counts as soon as the shorter ones are old
        for _ in 0..KEPT {
            rounds.add(Moment::of_ns(100), Moment::of_ns(1_150), Moment::of_ns(200));
        }
        assert_eq!(rounds.best(), Some(Offset { ahead_ns: 1_000, uncertainty_ns: 50 }));
    }

    #[test]
    fn a_time_is_the_same_there_and_back_and_never_stays_never() {
        let at = Moment::of_ns(10_000_000_000);
        for ahead in [-9_000_000_000, 0, 3_000_000_000] {
            assert_eq!(at.moved(ahead).moved(-ahead), at);
        }
        assert_eq!((Moment::NEVER.moved(-5), Moment::ZERO.moved(5)), (Moment::NEVER, Moment::ZERO));
    }
}
