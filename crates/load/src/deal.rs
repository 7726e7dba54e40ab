//! Which connections and which starts of a schedule belong to whom. Connections are numbered over all
//! streams: number `n` belongs to part `n` modulo the number of parts, and within that part to worker `n /
//! parts` modulo the number of its workers. So each part and each worker has its share of every stream, and
//! what a connection does depends on neither.

use crate::spec::{Part, Spec, Stream};
use std::thread;

/// Which connections of one stream are one worker's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deal {
    /// Number of the stream's first connection, those of all streams before it counted.
    pub(crate) first: u64,
    /// Connections of the stream that work.
    pub(crate) connections: u32,
    pub(crate) part: Part,
    /// Workers of the part.
    pub(crate) workers: usize,
    pub(crate) worker: usize,
}

impl Deal {
    /// Whether connection `number` of the stream, idle ones behind those that work, is this worker's.
    pub(crate) fn owns_connection(&self, number: u32) -> bool {
        let place = self.first + u64::from(number);
        let of = u64::from(self.part.of);
        place % of == u64::from(self.part.number) && place / of % self.workers as u64 == self.worker as u64
    }

    /// Whether any connection that works is.
    pub(crate) fn owns_any(&self) -> bool {
        (0..self.connections).any(|number| self.owns_connection(number))
    }

    /// Whether start `number` of the stream's schedule belongs to it: a start belongs to connection `number`
    /// modulo `connections`.
    pub(crate) fn owns_start(&self, number: u64) -> bool {
        self.owns_connection((number % u64::from(self.connections)) as u32)
    }

    /// This part's share of what the whole stream may do, in proportion to its connections; the shares of all
    /// parts add up to `count`.
    pub(crate) fn share_of(&self, count: u64) -> u64 {
        let until = |parts: u32| {
            let owned = u128::from(self.owned_by_first(parts));
            (u128::from(count) * owned / u128::from(self.connections.max(1))) as u64
        };
        until(self.part.number + 1) - until(self.part.number)
    }

    /// How many of the connections that work belong to one of the first `parts` parts.
    fn owned_by_first(&self, parts: u32) -> u32 {
        let of = self.part.of;
        let rest = (0..self.connections % of).map(|number| (self.first + u64::from(number)) % u64::from(of));
        self.connections / of * parts + rest.filter(|&part| part < u64::from(parts)).count() as u32
    }
}

/// Number of each stream's first connection, numbered over all streams.
pub(crate) fn firsts(spec: &Spec) -> Vec<u64> {
    let count = |stream: &Stream| u64::from(stream.connections) + u64::from(stream.idle);
    let first = |index| spec.streams[..index].iter().map(count).sum();
    (0..spec.streams.len()).map(first).collect()
}

/// How many worker threads this part of a load has.
pub(crate) fn workers(spec: &Spec) -> usize {
    let wanted = spec.workers.unwrap_or_else(|| workers_max(spec, processors()));
    (wanted as usize).clamp(1, of_part(spec))
}

/// Most workers that a part can use: one for each connection that works, and one for each processor.
pub(crate) fn workers_max(spec: &Spec, processors: u32) -> u32 {
    u32::try_from(of_part(spec)).unwrap_or(u32::MAX).clamp(1, processors.max(1))
}

/// How many connections the part of this spec has, in all streams, idle ones counted.
pub(crate) fn connections_of(spec: &Spec) -> u32 {
    let Part { number, of } = spec.part;
    let all: u32 = spec.streams.iter().map(|stream| stream.connections + stream.idle).sum();
    all / of + u32::from(number < all % of)
}

/// About how many connections that work the part has; 1 or more.
fn of_part(spec: &Spec) -> usize {
    let total: usize = spec.streams.iter().map(|stream| stream.connections as usize).sum();
    total.div_ceil(spec.part.of as usize).max(1)
}

/// Processors that this process may run on.
pub(crate) fn processors() -> u32 {
    let count = thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn deals(first: u64, connections: u32, of: u32, workers: usize) -> Vec<Deal> {
        let part = move |number| Part { number, of };
        (0..of)
            .flat_map(|number| {
                (0..workers).map(move |worker| Deal {
                    first,
                    connections,
                    part: part(number),
                    workers,
                    worker,
                })
            })
            .collect()
    }

    #[test]
    fn each_connection_is_exactly_one_workers_of_exactly_one_part() {
        for (first, connections, of, workers) in [(0, 8, 1, 3), (5, 8, 4, 2), (3, 1, 4, 1), (2, 100, 7, 3)] {
            let deals = deals(first, connections, of, workers);
            for number in 0..connections {
                let owners = deals.iter().filter(|deal| deal.owns_connection(number)).count();
                assert_eq!(owners, 1, "{number} of {connections}, {of} parts with {workers} workers");
            }
        }
    }

    #[test]
    fn connections_of_all_parts_are_those_that_are_theirs() {
        for (first, second, idle, of) in [(8, 0, 3, 4), (5, 10, 0, 4), (1, 3, 1, 7)] {
            let part = |number| Part { number, of };
            let stream = |connections, idle| {
                let workload = crate::spec::Workload::new("none", 1, Vec::new());
                Stream { idle, ..Stream::new("main", workload, connections) }
            };
            let streams = vec![stream(first, idle), stream(second, 0)];
            let whole = Spec::new(crate::spec::Target::of_nobody(), streams, Duration::ZERO, Duration::ZERO);
            for number in 0..of {
                let spec = Spec { part: part(number), ..whole.clone() };
                let own = |(connections, first)| {
                    let deal = Deal { first, connections, part: part(number), workers: 1, worker: 0 };
                    (0..connections).filter(|&each| deal.owns_connection(each)).count() as u32
                };
                let counts = [first + idle, second].into_iter().zip(firsts(&spec));
                assert_eq!(connections_of(&spec), counts.map(own).sum::<u32>(), "part {number} of {of}");
            }
        }
    }

    #[test]
    fn shares_of_a_limit_add_up_to_it_and_follow_the_connections() {
        for (first, connections, of) in [(0, 8, 4), (5, 10, 4), (1, 3, 8), (0, 1, 1)] {
            for count in [0, 1, 7, 100_001, u64::MAX] {
                let shares: Vec<u64> =
                    deals(first, connections, of, 1).iter().map(|deal| deal.share_of(count)).collect();
                assert_eq!(shares.iter().map(|&share| u128::from(share)).sum::<u128>(), u128::from(count));
                let owned = |deal: &Deal| (0..connections).filter(|&each| deal.owns_connection(each)).count();
                for (deal, share) in deals(first, connections, of, 1).iter().zip(&shares) {
                    let fair = count as f64 * owned(deal) as f64 / f64::from(connections);
                    assert!((*share as f64 - fair).abs() <= 1.0 + fair * 1e-9, "{share} for {fair}");
                }
            }
        }
    }
}
