//! The engine's clock (the kernel's monotonic one), and the only place that does arithmetic with its times. A
//! time is a [`Moment`], which means the same in all processes of a machine (and on another one as far as
//! [`crate::clocks`] knows); a length is a number of nanoseconds. Moments are subtracted only by
//! [`Moment::since`], which is 0 where the first is the earlier one, and no sum goes beyond
//! [`Moment::NEVER`]. So whatever a server sends, in whatever order, a time may come out as 0, but never as
//! centuries.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A point in time, as nanoseconds of the monotonic clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(u64);

impl Moment {
    /// Long ago: before any load.
    pub(crate) const ZERO: Self = Self(0);
    /// Far away: not yet known, or never.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// What time it is.
    #[inline]
    #[must_use]
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        Self((now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64))
    }

    /// As [`Moment::as_ns`] gave it.
    #[inline]
    pub(crate) const fn of_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// For an atomic cell.
    #[inline]
    pub(crate) const fn as_ns(self) -> u64 {
        self.0
    }

    /// How long it is after `earlier`, ns; 0 where it is not.
    #[inline]
    pub(crate) const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// So many nanoseconds later.
    #[inline]
    pub(crate) const fn after(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// The same point in time on a clock that is `ns` ahead of this one's, or behind where that is negative.
    /// Long ago and never are the same on every clock.
    pub(crate) const fn moved(self, ns: i64) -> Self {
        if self.0 == Self::ZERO.0 || self.0 == Self::NEVER.0 {
            return self;
        }
        Self(self.0.saturating_add_signed(ns))
    }

    /// So many nanoseconds earlier, but not before the clock began.
    #[inline]
    pub(crate) const fn before(self, ns: u64) -> Self {
        Self(self.0.saturating_sub(ns))
    }
}

/// A length in nanoseconds; one that does not fit (584 years) is as long as possible.
#[inline]
pub(crate) fn ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reckoning_with_times_wraps_around() {
        let (early, late) = (Moment::of_ns(5), Moment::of_ns(1_000));
        assert_eq!((late.since(early), early.since(late)), (995, 0));
        assert_eq!(early.before(6), Moment::ZERO);
        assert_eq!((late.after(u64::MAX), Moment::NEVER.after(1)), (Moment::NEVER, Moment::NEVER));
        assert_eq!(Moment::NEVER.since(Moment::ZERO), u64::MAX);
        assert_eq!((ns(Duration::MAX), ns(Duration::from_micros(3))), (u64::MAX, 3_000));
    }

    #[test]
    fn the_clock_counts_nanoseconds() {
        let (first, begun) = (Moment::now(), std::time::Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let passed = Moment::now().since(first);
        assert!(passed >= 20_000_000 && passed <= ns(begun.elapsed()) + 10_000_000, "{passed}");
        assert!(Moment::ZERO < first && first < Moment::NEVER);
    }
}
