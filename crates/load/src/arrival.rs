//! The starts of an open loop, fixed before it runs: item `n` of a stream is due at the same time on any
//! number of workers, whatever the server does.
//!
//! A changing rate is dealt with by time change: with `L(t)` the number of starts expected until `t`, item
//! `n` is due at `L^-1(n)` for even gaps, and at `L^-1` of a sum of `n` unit-exponential gaps for a Poisson
//! process (E. Çinlar, "Introduction to Stochastic Processes", 1975, section 4.7). Time is in seconds since
//! the stream's begin.

use crate::{
    clock::Moment,
    deal::Deal,
    random::Random,
    spec::{Gaps, Rate, RateStep},
};

/// Bisections of a period of a sine; leaves an error below a nanosecond in a day.
const BISECTIONS: u32 = 60;
const NS: f64 = 1e9;

/// A rate that changes with time, ready to be inverted.
#[derive(Debug, Clone)]
enum Profile {
    /// Pieces one after another; the last rate then lasts for ever.
    Pieces {
        pieces: Vec<Piece>,
        last_rate: f64,
    },
    /// The pieces again and again.
    Cycle {
        pieces: Vec<Piece>,
        expected: f64,
        seconds: f64,
    },
    Sine {
        mean: f64,
        amplitude: f64,
        period: f64,
    },
}

/// A time in which the rate changes evenly.
#[derive(Debug, Clone, Copy)]
struct Piece {
    seconds: f64,
    from: f64,
    to: f64,
}

impl Piece {
    fn even(rate: f64, seconds: f64) -> Self {
        Self { seconds, from: rate, to: rate }
    }

    /// Starts expected in all of it.
    fn expected(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.seconds
    }

    /// When, since its begin, `wanted` starts are expected; `wanted` lies within.
    fn invert(&self, wanted: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        // from * t + slope / 2 * t^2 = wanted, in the form that is stable where the slope vanishes
        let root = (self.from * self.from + 2.0 * slope * wanted).max(0.0).sqrt();
        if self.from + root > 0.0 { 2.0 * wanted / (self.from + root) } else { 0.0 }
    }
}

impl Profile {
    fn new(rate: &Rate) -> Self {
        match rate {
            Rate::Constant(rate) => Self::Pieces { pieces: Vec::new(), last_rate: *rate },
            Rate::Steps(steps) => Self::Pieces {
                pieces: steps
                    .iter()
                    .map(|RateStep { rate, lasts }| Piece::even(*rate, lasts.as_secs_f64()))
                    .collect(),
                last_rate: steps.last().map_or(0.0, |step| step.rate),
            },
            Rate::Ramp { from, to, over } => {
                let ramp = Piece { seconds: over.as_secs_f64(), from: *from, to: *to };
                Self::Pieces { pieces: vec![ramp], last_rate: *to }
            }
            Rate::Sine { mean, amplitude, period } => {
                Self::Sine { mean: *mean, amplitude: *amplitude, period: period.as_secs_f64() }
            }
            Rate::Burst { base, peak, length, every } => {
                let (length, every) = (length.as_secs_f64(), every.as_secs_f64());
                let pieces = vec![Piece::even(*peak, length), Piece::even(*base, every - length)];
                let expected = pieces.iter().map(Piece::expected).sum();
                Self::Cycle { pieces, expected, seconds: every }
            }
        }
    }

    /// When `wanted` starts are expected; infinite: never.
    fn invert(&self, wanted: f64) -> f64 {
        match self {
            Self::Pieces { pieces, last_rate } => match within(pieces, wanted) {
                Ok(seconds) => seconds,
                Err((before, rest)) if *last_rate > 0.0 => before + rest / last_rate,
                Err(_) => f64::INFINITY,
            },
            Self::Cycle { pieces, expected, seconds } => {
                if *expected <= 0.0 {
                    return f64::INFINITY;
                }
                let cycles = (wanted / expected).floor();
                let rest = wanted - cycles * expected;
                cycles * seconds + within(pieces, rest).unwrap_or(*seconds)
            }
            Self::Sine { mean, amplitude, period } => {
                if *mean <= 0.0 {
                    return f64::INFINITY;
                }
                let turn = std::f64::consts::TAU / period;
                let expected = |t: f64| mean * t + amplitude / turn * (1.0 - (turn * t).cos());
                // a whole period has mean * period starts, so the one that is meant is known
                let begin = (wanted / (mean * period)).floor() * period;
                let (mut low, mut high) = (begin, begin + period);
                for _ in 0..BISECTIONS {
                    let middle = f64::midpoint(low, high);
                    if expected(middle) < wanted { low = middle } else { high = middle }
                }
                high
            }
        }
    }
}

/// When within the pieces `wanted` starts have come; otherwise how long the pieces are and what is still
/// wanted.
fn within(pieces: &[Piece], wanted: f64) -> Result<f64, (f64, f64)> {
    let (mut before, mut rest) = (0.0, wanted);
    for piece in pieces {
        let expected = piece.expected();
        if rest < expected {
            return Ok(before + piece.invert(rest));
        }
        before += piece.seconds;
        rest -= expected;
    }
    Err((before, rest))
}

/// The due times of a whole stream, one after another.
#[derive(Debug, Clone)]
struct Items {
    profile: Profile,
    gaps: Gaps,
    random: Random,
    number: u64,
    /// Sum of the unit gaps so far.
    sum: f64,
}

impl Items {
    /// Number of the item, and when it is due, ns since the stream's begin.
    fn next(&mut self) -> (u64, u64) {
        let wanted = match self.gaps {
            Gaps::Constant => self.number as f64,
            Gaps::Poisson => {
                self.sum += exponential(&mut self.random);
                self.sum
            }
        };
        let number = self.number;
        self.number += 1;
        let seconds = self.profile.invert(wanted);
        (number, if seconds.is_finite() { (seconds * NS) as u64 } else { u64::MAX })
    }
}

/// A gap of a Poisson process of rate 1.
pub(crate) fn exponential(random: &mut Random) -> f64 {
    -(1.0 - random.unit()).ln()
}

/// One worker's items: the next to be started, and how many have become due. Nothing is kept of those in
/// between, so a backlog takes no memory however long it grows.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    deal: Deal,
    begin: Moment,
    taking: Items,
    /// When the next item to be started is due.
    due: Moment,
    /// Runs ahead of `taking` to count what has become due.
    counting: Items,
    counting_due: Moment,
    offered: u64,
}

impl Arrivals {
    /// Those of a stream that begins then.
    pub(crate) fn new((rate, gaps): (&Rate, Gaps), random: Random, deal: Deal, begin: Moment) -> Self {
        let items = Items { profile: Profile::new(rate), gaps, random, number: 0, sum: 0.0 };
        let mut arrivals = Self {
            deal,
            begin,
            taking: items.clone(),
            due: Moment::NEVER,
            counting: items,
            counting_due: Moment::NEVER,
            offered: 0,
        };
        if deal.owns_any() {
            arrivals.due = next_own(&mut arrivals.taking, deal, begin);
            arrivals.counting_due = next_own(&mut arrivals.counting, deal, begin);
        }
        arrivals
    }

    /// When the next item that has not been started is due.
    #[inline]
    pub(crate) fn due(&self) -> Moment {
        self.due
    }

    /// That item is being started, or skipped.
    pub(crate) fn take(&mut self) {
        self.due = next_own(&mut self.taking, self.deal, self.begin);
    }

    /// How many have become due before `until`, which never goes back.
    pub(crate) fn offered_before(&mut self, until: Moment) -> u64 {
        while self.counting_due < until {
            self.offered += 1;
            self.counting_due = next_own(&mut self.counting, self.deal, self.begin);
        }
        self.offered
    }
}

fn next_own(items: &mut Items, deal: Deal, begin: Moment) -> Moment {
    loop {
        let (number, due_ns) = items.next();
        if due_ns == u64::MAX || deal.owns_start(number) {
            return begin.after(due_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Part;
    use std::time::Duration;

    const ALONE: Deal =
        Deal { first: 0, connections: 1, part: Part { number: 0, of: 1 }, workers: 1, worker: 0 };

    fn random() -> Random {
        Random::for_connection(7, 0, u32::MAX)
    }

    fn due(rate: &Rate, gaps: Gaps, deal: Deal, until: Duration) -> Vec<u64> {
        let mut arrivals = Arrivals::new((rate, gaps), random(), deal, Moment::ZERO);
        let mut all = Vec::new();
        let until = Moment::ZERO.after(until.as_nanos() as u64);
        while arrivals.due() < until {
            all.push(arrivals.due().as_ns());
            arrivals.take();
        }
        assert_eq!(arrivals.offered_before(until), all.len() as u64);
        all
    }

    fn per_second(rate: &Rate, seconds: u64) -> Vec<usize> {
        let all = due(rate, Gaps::Constant, ALONE, Duration::from_secs(seconds));
        (0..seconds).map(|second| all.iter().filter(|&&ns| ns / 1_000_000_000 == second).count()).collect()
    }

    #[test]
    fn a_constant_rate_is_kept_to_the_nanosecond() {
        let all = due(&Rate::Constant(1000.0), Gaps::Constant, ALONE, Duration::from_secs(100));
        assert_eq!(all.len(), 100_000);
        for (number, ns) in all.iter().enumerate() {
            assert!(ns.abs_diff(number as u64 * 1_000_000) <= 1, "{number}: {ns}");
        }
    }

    #[test]
    fn profiles_offer_the_integral_of_their_rate() {
        let step = |rate, seconds| RateStep { rate, lasts: Duration::from_secs(seconds) };
        assert_eq!(
            per_second(&Rate::Steps(vec![step(10.0, 1), step(0.0, 1), step(30.0, 1)]), 4),
            [10, 0, 30, 30]
        );
        let ramp = Rate::Ramp { from: 0.0, to: 100.0, over: Duration::from_secs(2) };
        let counts = per_second(&ramp, 4); // integrals: 25, 75, 100, 100
        for (count, wanted) in counts.iter().zip([25, 75, 100, 100]) {
            assert!(count.abs_diff(wanted) <= 1, "{counts:?}");
        }
        let sine = Rate::Sine { mean: 100.0, amplitude: 100.0, period: Duration::from_secs(4) };
        let counts = per_second(&sine, 8); // 100 + 100 * 2 / pi = 163.7 in the upper half, 36.3 in the lower
        for (count, wanted) in counts.iter().zip([164, 164, 36, 36, 164, 164, 36, 36]) {
            assert!(count.abs_diff(wanted) <= 1, "{counts:?}");
        }
        let burst = Rate::Burst {
            base: 0.0,
            peak: 50.0,
            length: Duration::from_secs(1),
            every: Duration::from_secs(3),
        };
        assert_eq!(per_second(&burst, 7), [50, 0, 0, 50, 0, 0, 50]);
    }

    #[test]
    fn a_rate_of_nothing_never_comes() {
        let none = Rate::Steps(vec![
            RateStep { rate: 5.0, lasts: Duration::from_secs(1) },
            RateStep { rate: 0.0, lasts: Duration::from_secs(1) },
        ]);
        assert_eq!(
            due(&none, Gaps::Poisson, ALONE, Duration::from_secs(1_000_000))
                .last()
                .map(|ns| ns / 1_000_000_000),
            Some(0)
        );
    }

    #[test]
    fn a_poisson_process_has_exponential_gaps() {
        let all = due(&Rate::Constant(1000.0), Gaps::Poisson, ALONE, Duration::from_secs(100));
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // 100,000 gaps: the mean of 1 has a standard error of 0.0032, the variance of 1 one of 0.009
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        // in 100,000 windows of 1 ms: counts are Poisson distributed with mean 1
        let mut windows = vec![0u32; 100_000];
        all.iter().for_each(|ns| windows[(ns / 1_000_000) as usize] += 1);
        let empty = windows.iter().filter(|&&count| count == 0).count() as f64 / 1e5;
        assert!((empty - (-1f64).exp()).abs() < 0.01, "{empty}");
    }

    #[test]
    fn parts_and_workers_share_the_same_starts_and_leave_none() {
        let rate = Rate::Ramp { from: 100.0, to: 5000.0, over: Duration::from_secs(3) };
        for gaps in [Gaps::Constant, Gaps::Poisson] {
            let alone = due(&rate, gaps, ALONE, Duration::from_secs(4));
            for (of, workers) in [(1, 3), (2, 2), (3, 1)] {
                let deal = |part, worker| {
                    let part = Part { number: part, of };
                    Deal { first: 2, connections: 7, part, workers, worker }
                };
                let all = (0..of).flat_map(|part| (0..workers).map(move |worker| deal(part, worker)));
                let mut together: Vec<u64> =
                    all.flat_map(|deal| due(&rate, gaps, deal, Duration::from_secs(4))).collect();
                together.sort_unstable();
                assert_eq!(alone, together, "{of} parts with {workers} workers");
            }
        }
    }

    #[test]
    fn a_worker_without_a_connection_of_the_stream_has_none_of_its_starts() {
        let deal = Deal { workers: 2, worker: 1, ..ALONE };
        assert!(due(&Rate::Constant(1000.0), Gaps::Poisson, deal, Duration::from_secs(2)).is_empty());
    }
}
