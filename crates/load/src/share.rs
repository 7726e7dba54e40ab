//! One worker's share of a stream: when its connections may begin their next transaction, and what belongs to
//! the stream as a whole. Times are ns since the engine began.

use crate::{
    arrival::{Arrivals, Deal, exponential},
    outage::Watch,
    random::Random,
    record::ErrorBook,
    sample::{Connects, Schedule},
    spec::{Arrival, ConnectionMode, Gaps, Limit, Rate, Stream, Think},
};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

/// A worker takes this part of what is left of a limit at once, so that workers seldom meet and the last ones
/// are shared.
const LEASE_PART: i64 = 32;
/// Number under which the schedule's random numbers are drawn: no connection has it.
const SCHEDULE: u32 = u32::MAX;

/// What a connection that is free has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Begin a transaction that was due at this time.
    Go(u64),
    /// Ask again at this time.
    At(u64),
    /// Wait until it is called.
    Free,
    /// Nothing, ever or until the stream begins.
    Rest,
}

/// How a stream's starts lie in time.
#[derive(Debug)]
enum Pace {
    Closed,
    Think(Think),
    Paced { every_ns: u64, lateness_max_ns: u64, firsts_ns: Vec<u64> },
    Open { rate: Rate, gaps: Gaps, lateness_max_ns: u64, arrivals: Option<Box<Arrivals>> },
}

/// Transactions that had not ended when the interval was over.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InFlight {
    pub(crate) count: u32,
    pub(crate) age_max: Duration,
}

impl InFlight {
    /// Adds one that was to begin at `due_ns`.
    pub(crate) fn add(&mut self, due_ns: u64, now_ns: u64) {
        self.count += 1;
        self.age_max = self.age_max.max(Duration::from_nanos(now_ns.saturating_sub(due_ns)));
    }
}

/// One worker's share of a stream.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    pub(crate) mode: ConnectionMode,
    pub(crate) opening: Connects,
    pub(crate) reconnecting: Connects,
    /// Connections that logged in, ever.
    pub(crate) opened: u64,
    pub(crate) rolled_back: u64,
    pub(crate) errors: ErrorBook,
    pub(crate) watch: Watch,
    /// When it begins; far away: not known yet.
    pub(crate) begin_ns: u64,
    pub(crate) begun: bool,
    /// No further transaction begins: its limit is reached.
    pub(crate) over: bool,
    /// Transactions under way.
    pub(crate) busy: u32,
    /// What the end of the interval met under way.
    pub(crate) in_flight: InFlight,
    /// When the last transaction ended.
    pub(crate) ended_ns: u64,
    /// Connections of an open loop that wait to be called.
    free: VecDeque<u32>,
    pace: Pace,
    budget: Option<Budget<'a>>,
    deal: Deal,
    seed: (u64, u32),
    /// Started or skipped, ever.
    settled: u64,
    /// Due until the end of the last second.
    offered: u64,
    /// Of those, neither started nor skipped.
    unsent: u64,
}

/// What is left of a stream's limit; shared by all workers, and met seldom.
#[derive(Debug)]
struct Budget<'a> {
    left: &'a AtomicI64,
    limit: Limit,
    workers: i64,
    leased: i64,
}

impl Budget<'_> {
    /// Takes one transaction; false: there is none left.
    #[inline]
    fn take(&mut self) -> bool {
        if matches!(self.limit, Limit::Rows(_)) {
            return self.left.load(Ordering::Relaxed) > 0;
        }
        if self.leased == 0 {
            self.lease();
        }
        self.leased -= 1;
        self.leased >= 0
    }

    #[cold]
    fn lease(&mut self) {
        let part = (self.left.load(Ordering::Relaxed) / (self.workers * LEASE_PART)).max(1);
        let left = self.left.fetch_sub(part, Ordering::Relaxed);
        self.leased = part.min(left.max(0));
    }

    fn is_used_up(&self) -> bool {
        self.leased <= 0 && self.left.load(Ordering::Relaxed) <= 0
    }
}

/// What is left of a limit at the beginning.
pub(crate) fn budget_of(stream: &Stream) -> AtomicI64 {
    let count = match stream.limit {
        None => 0,
        Some(Limit::Transactions(count) | Limit::Rows(count)) => count,
    };
    AtomicI64::new(i64::try_from(count).unwrap_or(i64::MAX))
}

impl<'a> Share<'a> {
    pub(crate) fn new(stream: &Stream, left: &'a AtomicI64, deal: Deal, seed: (u64, u32)) -> Self {
        let ns = |limit: Option<Duration>| limit.map_or(u64::MAX, |limit| limit.as_nanos() as u64);
        let pace = match &stream.arrival {
            Arrival::Closed => Pace::Closed,
            Arrival::Think(think) => Pace::Think(*think),
            Arrival::Paced { every, lateness_max } => Pace::Paced {
                every_ns: every.as_nanos() as u64,
                lateness_max_ns: ns(*lateness_max),
                firsts_ns: Vec::new(),
            },
            Arrival::Open { rate, gaps, lateness_max } => Pace::Open {
                rate: rate.clone(),
                gaps: *gaps,
                lateness_max_ns: ns(*lateness_max),
                arrivals: None,
            },
        };
        let workers = deal.workers as i64;
        Self {
            mode: stream.connect,
            opening: Connects::default(),
            reconnecting: Connects::default(),
            opened: 0,
            rolled_back: 0,
            errors: ErrorBook::default(),
            watch: Watch::default(),
            begin_ns: u64::MAX,
            begun: false,
            over: false,
            busy: 0,
            in_flight: InFlight::default(),
            ended_ns: 0,
            free: VecDeque::with_capacity(stream.connections as usize / deal.workers + 1),
            pace,
            budget: stream.limit.map(|limit| Budget { left, limit, workers, leased: 0 }),
            deal,
            seed,
            settled: 0,
            offered: 0,
            unsent: 0,
        }
    }

    /// The stream begins now, at [`Share::begin_ns`].
    pub(crate) fn begin(&mut self) {
        self.begun = true;
        self.ended_ns = self.begin_ns;
        self.watch.begin(self.begin_ns);
        if let Pace::Open { rate, gaps, arrivals, .. } = &mut self.pace {
            let random = Random::for_connection(self.seed.0, self.seed.1, SCHEDULE);
            *arrivals = Some(Box::new(Arrivals::new((rate, *gaps), random, self.deal, self.begin_ns)));
        }
    }

    /// When connection `number`, which is this worker's, is due for the first time.
    pub(crate) fn first_due_ns(&mut self, number: u32) -> u64 {
        // with pauses, too: otherwise all connections would go on coming at the same moment
        let period_ns = match &self.pace {
            Pace::Paced { every_ns, .. } => *every_ns,
            Pace::Think(Think::Fixed(pause) | Think::Exponential(pause)) => pause.as_nanos() as u64,
            Pace::Closed | Pace::Open { .. } => return self.begin_ns,
        };
        let phase = u128::from(period_ns) * u128::from(number) / u128::from(self.deal.connections.max(1));
        let first = self.begin_ns + phase as u64;
        if let Pace::Paced { firsts_ns, .. } = &mut self.pace {
            firsts_ns.push(first);
        }
        first
    }

    /// Whether starts wait for a time, so that the engine may be late for them.
    pub(crate) fn waits_for_times(&self) -> bool {
        !matches!(self.pace, Pace::Closed)
    }

    /// What a free connection has to do at `now_ns`; `next_due_ns` is its own next time. What is later than
    /// it may be is skipped and counted in `schedule`.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now_ns: u64,
        next_due_ns: &mut u64,
        schedule: &mut Option<Schedule>,
    ) -> Turn {
        if self.over || !self.begun {
            return Turn::Rest;
        }
        let due_ns = match &mut self.pace {
            Pace::Closed => now_ns,
            Pace::Think(_) => *next_due_ns,
            Pace::Paced { every_ns, lateness_max_ns, .. } => {
                let latest = next_due_ns.saturating_add(*lateness_max_ns);
                if now_ns > latest {
                    let skipped = (now_ns - latest).div_ceil(*every_ns);
                    *next_due_ns += skipped * *every_ns;
                    self.settled += skipped;
                    count_skipped(schedule, skipped);
                }
                *next_due_ns
            }
            Pace::Open { lateness_max_ns, arrivals: Some(arrivals), .. } => {
                while now_ns > arrivals.due_ns().saturating_add(*lateness_max_ns) {
                    arrivals.take();
                    self.settled += 1;
                    count_skipped(schedule, 1);
                }
                if arrivals.due_ns() > now_ns {
                    return Turn::Free;
                }
                arrivals.due_ns()
            }
            Pace::Open { .. } => return Turn::Rest,
        };
        if due_ns > now_ns {
            return Turn::At(due_ns);
        }
        if self.budget.as_mut().is_some_and(|budget| !budget.take()) {
            self.over = true;
            return Turn::Rest;
        }
        match &mut self.pace {
            Pace::Paced { every_ns, .. } => *next_due_ns += *every_ns,
            Pace::Open { arrivals: Some(arrivals), .. } => arrivals.take(),
            _ => {}
        }
        self.busy += 1;
        Turn::Go(due_ns)
    }

    /// How long a connection pauses after a transaction; `None`: its times do not depend on that.
    #[inline]
    pub(crate) fn pause_ns(&self, random: &mut Random) -> Option<u64> {
        match &self.pace {
            Pace::Think(Think::Fixed(pause)) => Some(pause.as_nanos() as u64),
            Pace::Think(Think::Exponential(mean)) => {
                Some((mean.as_nanos() as f64 * exponential(random)) as u64)
            }
            _ => None,
        }
    }

    /// A transaction that was due at `due_ns` sends its first byte.
    #[inline]
    pub(crate) fn started(&mut self, due_ns: u64, sent_ns: u64, schedule: &mut Option<Schedule>) {
        let Some(schedule) = schedule else { return };
        let delay_ns = sent_ns.saturating_sub(due_ns);
        self.settled += 1;
        schedule.started += 1;
        schedule.late += u64::from(delay_ns > crate::sample::LATE.as_nanos() as u64);
        schedule.delay.record_ns(delay_ns);
    }

    /// A second that ended at `end_ns` is complete: how much became due in it, and what is still not sent.
    pub(crate) fn close_second(&mut self, end_ns: u64, schedule: &mut Option<Schedule>) {
        let Some(schedule) = schedule else { return };
        // what becomes due after the limit was reached was not asked for
        let until_ns = if self.over { end_ns.min(self.ended_ns) } else { end_ns };
        let offered = match &mut self.pace {
            _ if !self.begun => 0,
            Pace::Paced { every_ns, firsts_ns, .. } => {
                firsts_ns.iter().map(|first| until_ns.saturating_sub(*first).div_ceil(*every_ns)).sum()
            }
            Pace::Open { arrivals: Some(arrivals), .. } => arrivals.offered_before(until_ns),
            _ => 0,
        };
        schedule.backlog = self.unsent;
        schedule.offered = offered.saturating_sub(self.offered);
        self.offered = self.offered.max(offered);
        self.unsent = self.offered.saturating_sub(self.settled);
        schedule.never_sent = self.unsent;
    }

    /// Rows came or were changed.
    #[inline]
    pub(crate) fn add_rows(&self, rows: u64) {
        if let Some(Budget { left, limit: Limit::Rows(_), .. }) = &self.budget {
            left.fetch_sub(i64::try_from(rows).unwrap_or(i64::MAX), Ordering::Relaxed);
        }
    }

    /// Whether the stream has a limit, has reached it, and nothing of it is under way here any more.
    pub(crate) fn is_done(&mut self) -> bool {
        let Some(budget) = &self.budget else { return false };
        self.over |= self.begun && budget.is_used_up();
        self.over && self.busy == 0
    }

    /// Adds a connection that waits to be called.
    pub(crate) fn set_free(&mut self, index: u32) {
        self.free.push_back(index);
    }

    /// A connection to call, if something is due at `now_ns`; whoever has waited longest.
    pub(crate) fn call(&mut self, now_ns: u64) -> Option<u32> {
        match &self.pace {
            Pace::Open { arrivals: Some(arrivals), .. } if !self.over && arrivals.due_ns() <= now_ns => {
                self.free.pop_front()
            }
            _ => None,
        }
    }

    /// When a connection is to be called next; far away: when one is free, or never.
    pub(crate) fn call_ns(&self) -> u64 {
        match &self.pace {
            Pace::Open { arrivals: Some(arrivals), .. } if !self.over && !self.free.is_empty() => {
                arrivals.due_ns()
            }
            _ => u64::MAX,
        }
    }
}

fn count_skipped(schedule: &mut Option<Schedule>, count: u64) {
    if let Some(schedule) = schedule {
        schedule.skipped += count;
    }
}
