//! One worker's share of a stream: when its connections may begin their next transaction, and what belongs to
//! the stream as a whole.

use crate::{
    arrival::{Arrivals, exponential},
    clock::{Moment, ns},
    deal::Deal,
    outage::Watch,
    random::Random,
    record::ErrorBook,
    sample::{Connects, Schedule},
    spec::{Arrival, ConnectionMode, Gaps, Limit, Rate, Stream, Think, Waits},
};
use serde::{Deserialize, Serialize};
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
/// Longest think time around a transaction, as a multiple of its mean (TPC-C, specification 5.11, 5.2.5.4).
const THINK_MAX: f64 = 10.0;

/// What a connection that is free has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Begin a transaction that was due at this time.
    Go(Moment),
    /// Ask again at this time.
    At(Moment),
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
    /// By transaction, and how long all of it takes on average.
    Waits {
        waits: Vec<Waits>,
        cycle_ns: u64,
    },
    Paced {
        every_ns: u64,
        lateness_max_ns: u64,
        firsts: Vec<Moment>,
    },
    Open {
        rate: Rate,
        gaps: Gaps,
        lateness_max_ns: u64,
        arrivals: Option<Box<Arrivals>>,
    },
}

/// Transactions that had not ended when the interval was over.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct InFlight {
    pub(crate) count: u32,
    pub(crate) age_max: Duration,
}

impl InFlight {
    /// Adds one that was to begin at `due`.
    pub(crate) fn add(&mut self, due: Moment, now: Moment) {
        self.count += 1;
        self.age_max = self.age_max.max(Duration::from_nanos(now.since(due)));
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
    pub(crate) begins: Moment,
    pub(crate) begun: bool,
    /// No further transaction begins: its limit is reached, or its time is over.
    pub(crate) over: bool,
    /// Transactions under way.
    pub(crate) busy: u32,
    /// What the end of the interval met under way.
    pub(crate) in_flight: InFlight,
    /// When the last transaction ended.
    pub(crate) ended: Moment,
    /// Connections of an open loop that wait to be called.
    free: VecDeque<u32>,
    pace: Pace,
    budget: Option<Budget<'a>>,
    time_limit_ns: u64,
    /// When its time is over; far away: not before the interval is, or it has not begun.
    closes: Moment,
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

/// What a part of a load may do of a stream's limit.
pub(crate) fn budget_of(stream: &Stream, deal: Deal) -> AtomicI64 {
    let count = match stream.limit {
        None => 0,
        Some(Limit::Transactions(count) | Limit::Rows(count)) => deal.share_of(count),
    };
    AtomicI64::new(i64::try_from(count).unwrap_or(i64::MAX))
}

impl<'a> Share<'a> {
    /// `arrival` is the stream's, or another one where nothing of it becomes due here.
    pub(crate) fn new(
        (stream, arrival): (&Stream, &Arrival),
        left: &'a AtomicI64,
        deal: Deal,
        seed: (u64, u32),
    ) -> Self {
        let at_most = |limit: Option<Duration>| limit.map_or(u64::MAX, ns);
        let pace = match arrival {
            Arrival::Closed => Pace::Closed,
            Arrival::Think(think) => Pace::Think(*think),
            Arrival::Waits(waits) => {
                let cycle = stream.arrival.wait_mean(&stream.workload);
                Pace::Waits { waits: waits.clone(), cycle_ns: ns(cycle) }
            }
            Arrival::Paced { every, lateness_max } => Pace::Paced {
                every_ns: ns(*every),
                lateness_max_ns: at_most(*lateness_max),
                firsts: Vec::new(),
            },
            Arrival::Open { rate, gaps, lateness_max } => Pace::Open {
                rate: rate.clone(),
                gaps: *gaps,
                lateness_max_ns: at_most(*lateness_max),
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
            begins: Moment::NEVER,
            begun: false,
            over: false,
            busy: 0,
            in_flight: InFlight::default(),
            ended: Moment::ZERO,
            free: VecDeque::with_capacity(stream.connections as usize / deal.workers + 1),
            pace,
            budget: stream.limit.map(|limit| Budget { left, limit, workers, leased: 0 }),
            time_limit_ns: at_most(stream.time_limit),
            closes: Moment::NEVER,
            deal,
            seed,
            settled: 0,
            offered: 0,
            unsent: 0,
        }
    }

    /// The stream begins now, at [`Share::begins`].
    pub(crate) fn begin(&mut self) {
        self.begun = true;
        self.ended = self.begins;
        self.closes = self.begins.after(self.time_limit_ns);
        self.watch.begin(self.begins);
        if let Pace::Open { rate, gaps, arrivals, .. } = &mut self.pace {
            let random = Random::for_connection(self.seed.0, self.seed.1, SCHEDULE);
            *arrivals = Some(Box::new(Arrivals::new((rate, *gaps), random, self.deal, self.begins)));
        }
    }

    /// When connection `number`, which is this worker's, is due for the first time.
    pub(crate) fn first_due(&mut self, number: u32) -> Moment {
        // with pauses, too: otherwise all connections would go on coming at the same moment
        let period_ns = match &self.pace {
            Pace::Paced { every_ns, .. } => *every_ns,
            Pace::Think(Think::Fixed(pause) | Think::Exponential(pause)) => ns(*pause),
            Pace::Waits { cycle_ns, .. } => *cycle_ns,
            Pace::Closed | Pace::Open { .. } => return self.begins,
        };
        let phase = u128::from(period_ns) * u128::from(number) / u128::from(self.deal.connections.max(1));
        let first = self.begins.after(phase as u64);
        if let Pace::Paced { firsts, .. } = &mut self.pace {
            firsts.push(first);
        }
        first
    }

    /// Whether starts wait for a time, so that the engine may be late for them.
    pub(crate) fn waits_for_times(&self) -> bool {
        !matches!(self.pace, Pace::Closed)
    }

    /// What a free connection has to do at `now`; `next_due` is its own next time. What is later than
    /// it may be is skipped and counted in `schedule`.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now: Moment,
        next_due: &mut Moment,
        schedule: &mut Option<Schedule>,
    ) -> Turn {
        self.over |= now >= self.closes;
        if self.over || !self.begun {
            return Turn::Rest;
        }
        let due = match &mut self.pace {
            Pace::Closed => now,
            Pace::Think(_) | Pace::Waits { .. } => *next_due,
            Pace::Paced { every_ns, lateness_max_ns, .. } => {
                let latest = next_due.after(*lateness_max_ns);
                if now > latest {
                    let skipped = now.since(latest).div_ceil(*every_ns);
                    *next_due = next_due.after(skipped.saturating_mul(*every_ns));
                    self.settled += skipped;
                    count_skipped(schedule, skipped);
                }
                *next_due
            }
            Pace::Open { lateness_max_ns, arrivals: Some(arrivals), .. } => {
                while now > arrivals.due().after(*lateness_max_ns) {
                    arrivals.take();
                    self.settled += 1;
                    count_skipped(schedule, 1);
                }
                if arrivals.due() > now {
                    return Turn::Free;
                }
                arrivals.due()
            }
            Pace::Open { .. } => return Turn::Rest,
        };
        if due > now {
            return Turn::At(due);
        }
        if self.budget.as_mut().is_some_and(|budget| !budget.take()) {
            self.over = true;
            return Turn::Rest;
        }
        match &mut self.pace {
            Pace::Paced { every_ns, .. } => *next_due = next_due.after(*every_ns),
            Pace::Open { arrivals: Some(arrivals), .. } => arrivals.take(),
            _ => {}
        }
        self.busy += 1;
        Turn::Go(due)
    }

    /// Whether the pause before a transaction depends on which one it is.
    #[inline]
    pub(crate) fn has_keying(&self) -> bool {
        matches!(self.pace, Pace::Waits { .. })
    }

    /// How long a connection pauses between two transactions of these numbers; `None`: its times do not
    /// depend on that.
    #[inline]
    pub(crate) fn pause_ns(&self, (ended, next): (usize, usize), random: &mut Random) -> Option<u64> {
        match &self.pace {
            Pace::Waits { waits, .. } => {
                let think = exponential(random).min(THINK_MAX) * waits[ended].think.as_nanos() as f64;
                Some(ns(waits[next].keying).saturating_add(think as u64))
            }
            Pace::Think(Think::Fixed(pause)) => Some(ns(*pause)),
            Pace::Think(Think::Exponential(mean)) => {
                Some((mean.as_nanos() as f64 * exponential(random)) as u64)
            }
            _ => None,
        }
    }

    /// A transaction that was due at `due` sends its first byte.
    #[inline]
    pub(crate) fn started(&mut self, due: Moment, sent: Moment, schedule: &mut Option<Schedule>) {
        let Some(schedule) = schedule else { return };
        let delay_ns = sent.since(due);
        self.settled += 1;
        schedule.started += 1;
        schedule.late += u64::from(delay_ns > crate::sample::LATE.as_nanos() as u64);
        schedule.delay.record_ns(delay_ns);
    }

    /// A second that ended then is complete: how much became due in it, and what is still not sent.
    pub(crate) fn close_second(&mut self, end: Moment, schedule: &mut Option<Schedule>) {
        let Some(schedule) = schedule else { return };
        // what becomes due after the limit was reached was not asked for
        let until = if self.over { end.min(self.ended) } else { end };
        let offered = match &mut self.pace {
            _ if !self.begun => 0,
            Pace::Paced { every_ns, firsts, .. } => {
                firsts.iter().map(|first| until.since(*first).div_ceil(*every_ns)).sum()
            }
            Pace::Open { arrivals: Some(arrivals), .. } => arrivals.offered_before(until),
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

    /// Whether the stream has a limit, has reached it or has no time left at `now`, and nothing of it is
    /// under way here any more.
    pub(crate) fn is_done(&mut self, now: Moment) -> bool {
        let Some(budget) = &self.budget else { return false };
        let is_late = now >= self.closes;
        self.over |= self.begun && (budget.is_used_up() || is_late);
        let is_done = self.over && self.busy == 0;
        if is_done && is_late && !budget.is_used_up() {
            // pauses at its end are part of the time that it took for what it did
            self.ended = self.ended.max(self.closes);
        }
        is_done
    }

    /// Whether its limit is reached, as far as it concerns this share.
    pub(crate) fn is_limit_reached(&self) -> bool {
        self.budget.as_ref().is_some_and(Budget::is_used_up)
    }

    /// Adds a connection that waits to be called.
    pub(crate) fn set_free(&mut self, index: u32) {
        self.free.push_back(index);
    }

    /// A connection to call, if something is due at `now`; whoever has waited longest.
    pub(crate) fn call(&mut self, now: Moment) -> Option<u32> {
        match &self.pace {
            Pace::Open { arrivals: Some(arrivals), .. } if !self.over && arrivals.due() <= now => {
                self.free.pop_front()
            }
            _ => None,
        }
    }

    /// When a connection is to be called next; far away: when one is free, or never.
    pub(crate) fn call_at(&self) -> Moment {
        match &self.pace {
            Pace::Open { arrivals: Some(arrivals), .. } if !self.over && !self.free.is_empty() => {
                arrivals.due()
            }
            _ => Moment::NEVER,
        }
    }
}

fn count_skipped(schedule: &mut Option<Schedule>, count: u64) {
    if let Some(schedule) = schedule {
        schedule.skipped += count;
    }
}
