//! What a relay imitates: how long everything is on its way, and how much goes through in a second.

use super::pair::Side;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Bytes of TCP's payload in a packet on an Ethernet, with time stamps.
const PAYLOAD: u64 = 1448;
/// Bytes of its headers (Ethernet, IPv4, TCP), which netem's `rate` counts, too.
const HEADERS: u64 = 66;

/// A line between two machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    /// How long everything is on its way, each way.
    pub one_way: Duration,
    /// How much goes through in a second, each way and of all connections together; `None`: anything.
    pub bytes_per_second: Option<u64>,
}

/// One without a limit.
impl From<Duration> for Line {
    fn from(one_way: Duration) -> Self {
        Self { one_way, bytes_per_second: None }
    }
}

/// A line in use, by all threads of a relay.
#[derive(Debug)]
pub(super) struct Used {
    line: Line,
    begun: Instant,
    /// When the last packet to client and server will have been sent, ns after it was begun.
    free_ns: [AtomicU64; 2],
}

impl Used {
    pub(super) fn new(line: Line) -> Self {
        Self { line, begun: Instant::now(), free_ns: [const { AtomicU64::new(0) }; 2] }
    }

    /// How long everything is on its way.
    pub(super) fn one_way(&self) -> Duration {
        self.line.one_way
    }

    /// When bytes that came at this time have all arrived at that side: each packet waits for those before.
    pub(super) fn arrival(&self, to: Side, bytes: usize, came: Instant) -> Instant {
        let Some(rate) = self.line.bytes_per_second else { return came + self.line.one_way };
        let bytes = bytes as u64;
        let bytes = bytes + bytes.div_ceil(PAYLOAD).max(1) * HEADERS;
        let takes_ns = (u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1))) as u64;
        let came_ns = came.saturating_duration_since(self.begun).as_nanos() as u64;
        let free_ns = &self.free_ns[usize::from(to == Side::Server)];
        let sent = |free_ns: u64| free_ns.max(came_ns) + takes_ns;
        let before =
            free_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free_ns| Some(sent(free_ns)));
        // it never refuses
        let sent_ns = before.map_or(came_ns, sent);
        self.begun + Duration::from_nanos(sent_ns) + self.line.one_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_wait_for_those_before_them_and_each_way_for_itself() {
        let one_way = Duration::from_millis(1);
        let used = Used::new(Line { one_way, bytes_per_second: Some(12_500_000) });
        let came = used.begun + Duration::from_millis(5);
        // ten packets of 1514 bytes at 100 Mbit/s
        let ten = Duration::from_nanos(15_140 * 80);
        assert_eq!(used.arrival(Side::Client, 14_480, came), came + ten + one_way);
        assert_eq!(used.arrival(Side::Client, 14_480, came), came + 2 * ten + one_way, "one after the other");
        assert_eq!(used.arrival(Side::Server, 14_480, came), came + ten + one_way, "the other way is free");
        let later = came + Duration::from_secs(1);
        assert_eq!(used.arrival(Side::Client, 14_480, later), later + ten + one_way, "it is free again");
        assert_eq!(Used::new(one_way.into()).arrival(Side::Client, 1 << 30, came), came + one_way);
    }
}
