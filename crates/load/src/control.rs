//! What the conductor of a load and its workers say to each other. Orders are given a few times per load; the
//! hot path only looks whether there are any.

use crate::{clock::Moment, error::PartFailure, host::Seen, record::Batch, sample::Broken};
use rustix::{
    event::{EventfdFlags, eventfd},
    fd::OwnedFd,
};
use serde::{Deserialize, Serialize};
use std::{
    io,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

/// What workers are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The load begins then.
    Start(Moment),
    /// A stream begins then.
    Begin { stream: u16, at: Moment },
    /// The measurement begins before the warm-up is over, so long after the load began.
    MeasureFrom { at_ns: u64 },
    /// The load ends then, before its interval is over.
    End(Moment),
    /// Everything is over: what is open is closed.
    Stop,
}

impl Order {
    /// The same for whoever's clock is so far ahead.
    pub(crate) fn moved(self, ns: i64) -> Self {
        match self {
            Self::Start(at) => Self::Start(at.moved(ns)),
            Self::Begin { stream, at } => Self::Begin { stream, at: at.moved(ns) },
            Self::End(at) => Self::End(at.moved(ns)),
            Self::MeasureFrom { .. } | Self::Stop => self,
        }
    }
}

/// The orders so far, as the workers of a process see them.
#[derive(Debug)]
pub(crate) struct Control {
    stopped: AtomicBool,
    /// 0: not yet.
    start_ns: AtomicU64,
    /// 0: not yet.
    end_ns: AtomicU64,
    /// 0: not yet.
    measure_ns: AtomicU64,
    /// Far away: not yet known.
    begins_ns: Vec<AtomicU64>,
    /// Wakes all workers. Each watches it for edges, and nobody reads it.
    wake: OwnedFd,
}

impl Control {
    /// No orders yet, for a load of so many streams.
    pub(crate) fn new(streams: usize) -> io::Result<Self> {
        Ok(Self {
            stopped: AtomicBool::new(false),
            start_ns: AtomicU64::new(0),
            end_ns: AtomicU64::new(0),
            measure_ns: AtomicU64::new(0),
            begins_ns: (0..streams).map(|_| AtomicU64::new(u64::MAX)).collect(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Gives an order to all workers.
    pub(crate) fn order(&self, order: Order) {
        match order {
            Order::Start(at) => self.start_ns.store(at.as_ns(), Ordering::Release),
            Order::Begin { stream, at } => {
                // one of another load is nobody's
                if let Some(begin) = self.begins_ns.get(usize::from(stream)) {
                    begin.store(at.as_ns(), Ordering::Release);
                }
            }
            Order::MeasureFrom { at_ns } => self.measure_ns.store(at_ns, Ordering::Release),
            Order::End(at) => self.end_ns.store(at.as_ns(), Ordering::Release),
            Order::Stop => self.stopped.store(true, Ordering::Release),
        }
        // the counter of an eventfd cannot be full after so few writes
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// What tells of new orders.
    pub(crate) fn wake(&self) -> &OwnedFd {
        &self.wake
    }

    pub(crate) fn start(&self) -> Option<Moment> {
        Some(self.start_ns.load(Ordering::Acquire)).filter(|&start| start != 0).map(Moment::of_ns)
    }

    pub(crate) fn begin(&self, stream: usize) -> Moment {
        Moment::of_ns(self.begins_ns[stream].load(Ordering::Acquire))
    }

    pub(crate) fn measure_ns(&self) -> Option<u64> {
        Some(self.measure_ns.load(Ordering::Acquire)).filter(|&at| at != 0)
    }

    pub(crate) fn end(&self) -> Option<Moment> {
        Some(self.end_ns.load(Ordering::Acquire)).filter(|&end| end != 0).map(Moment::of_ns)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl Message {
    /// The same from whoever's clock is so far behind.
    pub(crate) fn moved(self, ns: i64) -> Self {
        match self {
            Self::Done { stream, at } => Self::Done { stream, at: at.moved(ns) },
            other => other,
        }
    }
}

/// What workers tell, and what a part tells of all of its workers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    Opened {
        version: String,
    },
    NotOpened {
        loss: String,
        code: u16,
        /// Whether it had been told as opened before: it is not any more.
        was_open: bool,
    },
    /// An error that makes going on pointless.
    Hopeless(Broken),
    /// A second of one worker, or of one part.
    Second(Box<Batch>),
    /// The share that one worker, or one part, has of a stream has reached its limit, or has no time left;
    /// its last transaction ended then.
    Done {
        stream: usize,
        at: Moment,
    },
    /// A part tells what it sees of its load host.
    Seen {
        part: String,
        connections: u32,
        at: Moment,
        behind: Duration,
        seen: Seen,
    },
    /// A part of the load will not be done.
    Lost {
        part: String,
        failure: PartFailure,
    },
}
