//! The engine's clock, and the only place that reckons with its times. A time is a [`Moment`]; a length is a
//! number of nanoseconds. Two moments have no difference but [`Moment::since`], which is 0 where the first is
//! the earlier one, and nothing added to a moment goes beyond [`Moment::NEVER`]: whatever a server sends in
//! whatever order, a time may come out as 0, but never as centuries.

use std::time::{Duration, Instant};

/// A point in time, as nanoseconds since the engine began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// When the engine began.
    pub(crate) const ZERO: Self = Self(0);
    /// Far away: not yet known, or never.
    pub(crate) const NEVER: Self = Self(u64::MAX);

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

    /// So many nanoseconds earlier, but not before the engine began.
    #[inline]
    pub(crate) const fn before(self, ns: u64) -> Self {
        Self(self.0.saturating_sub(ns))
    }
}

/// A length in nanoseconds; what does not fit (584 years) is as long as can be.
#[inline]
pub(crate) fn ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// The one clock of a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    /// The engine begins now.
    pub(crate) fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// What time it is.
    #[inline]
    pub(crate) fn now(&self) -> Moment {
        let since = self.epoch.elapsed();
        // exact for 584 years, and cheaper than a division of 128 bits
        Moment(since.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(since.subsec_nanos())))
    }
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
        let clock = Clock { epoch: Instant::now() - Duration::from_millis(2_500) };
        let first = clock.now();
        assert!(first >= Moment::of_ns(2_500_000_000) && first < Moment::of_ns(60_000_000_000), "{first:?}");
        assert!(clock.now() >= first);
    }
}
