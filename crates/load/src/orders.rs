//! What every worker does on orders, whatever its connections do: it begins, starts measuring at the given
//! time, ends, and finally reports what it counted and used.

use crate::{
    bench::Bench,
    clock::Moment,
    control::{Control, Message},
    histogram::Histogram,
    io::{self, Usage},
    outage::Silence,
    record::ErrorBook,
    sample::Connects,
    share::{InFlight, Share},
};
use rustix::thread::set_current_timer_slack;
use serde::{Deserialize, Serialize};
use std::{num::NonZeroU64, sync::mpsc::Sender, time::Duration};

/// How long replies are waited for after the end of the load, before connections are cut.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Makes the calling thread one of a worker.
pub(crate) fn prepare_thread(is_batch: bool) {
    if is_batch {
        io::be_a_batch_thread();
    }
    // timers that fire when they are due; where the kernel refuses, starts are later and the result says so
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// What a worker has to tell in the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) streams: Vec<StreamReport>,
    /// Stream, number and transactions of each connection that works.
    pub(crate) finished: Vec<(usize, u32, u64)>,
    pub(crate) usage: Usage,
    /// What its whole process used meanwhile, of the first worker only.
    pub(crate) of_process: Usage,
    /// How long after its time the first stream began.
    pub(crate) start_delay: Duration,
    pub(crate) send_delay: Histogram,
    pub(crate) queueing: Histogram,
}

/// What it has to tell of a stream.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StreamReport {
    pub(crate) opening: Connects,
    pub(crate) reconnecting: Connects,
    pub(crate) opened: u64,
    pub(crate) rolled_back: u64,
    pub(crate) errors: ErrorBook,
    pub(crate) silences: Vec<Silence>,
    pub(crate) begins: Moment,
    pub(crate) in_flight: InFlight,
    pub(crate) is_limit_reached: bool,
}

/// What a worker is told and tells.
pub(crate) struct Orders<'a> {
    pub(crate) control: &'a Control,
    pub(crate) messages: Sender<Message>,
    /// Streams of which the coordinator knows that they are done.
    told_done: Vec<bool>,
    /// Whether the end was moved to an earlier time.
    is_cut: bool,
    /// Whether the end of the warm-up was.
    is_warm: bool,
    /// Whether it says what its process used.
    is_first: bool,
    /// CPU time of the thread and of the process: when the measurement began, and when it ended.
    used: [Option<(Usage, Usage)>; 2],
    start_delay: Option<Duration>,
}

impl<'a> Orders<'a> {
    pub(crate) fn new(
        (control, messages): (&'a Control, Sender<Message>),
        streams: usize,
        is_first: bool,
    ) -> Self {
        Self {
            control,
            messages,
            told_done: vec![false; streams],
            is_cut: false,
            is_warm: false,
            is_first,
            used: [None; 2],
            start_delay: None,
        }
    }

    /// Tells the coordinator, who may be gone already: then the load is being given up anyway.
    pub(crate) fn tell(&self, message: Message) {
        let _ = self.messages.send(message);
    }

    /// What the coordinator wants: start, begin of a stream, end; and whether the time is over at `now`.
    /// Returns whether the load ends now, because of that.
    pub(crate) fn look_up(&mut self, bench: &mut Bench<'_>, now: Moment) -> bool {
        if let Some(start) = self.control.start()
            && !bench.tally.started()
        {
            bench.tally.start(start);
        }
        if let Some(at_ns) = self.control.measure_ns()
            && !self.is_warm
        {
            self.is_warm = true;
            bench.measure_from(at_ns);
        }
        for (index, share) in bench.shares.iter_mut().enumerate() {
            if !share.begun {
                share.begins = self.control.begin(index);
            }
            if !self.told_done[index] && share.is_done(now) {
                self.told_done[index] = true;
                self.tell(Message::Done { stream: index, at: share.ended });
            }
        }
        if let Some(end) = self.control.end()
            && !self.is_cut
        {
            self.is_cut = true;
            bench.cut(end);
        }
        if bench.tally.is_measuring() && self.used[0].is_none() {
            self.note_usage(0);
        }
        if let Some(broken) = bench.hopeless.take() {
            self.tell(Message::Hopeless(broken));
            bench.stopping = true;
        }
        let ends = self.control.is_stopped() || bench.tally.over;
        if ends {
            self.note_usage(1);
        }
        ends
    }

    /// Notes what thread and process have used so far.
    fn note_usage(&mut self, place: usize) {
        let of_process = if self.is_first { io::process_usage() } else { Usage::default() };
        self.used[place] = Some((io::thread_usage(), of_process));
    }

    /// Begins a stream if its time has come. Returns whether it did.
    pub(crate) fn begin(&mut self, bench: &mut Bench<'_>, stream: usize, now: Moment) -> bool {
        let share = &mut bench.shares[stream];
        if share.begun || now < share.begins || !bench.tally.started() {
            return false;
        }
        share.begin();
        let begins = share.begins;
        self.start_delay.get_or_insert_with(|| Duration::from_nanos(now.since(begins)));
        true
    }

    /// What the worker has to tell in the end; `finished`: transactions of each of its connections.
    pub(crate) fn report(mut self, bench: Bench<'_>, finished: Vec<(usize, u32, u64)>) -> Report {
        if self.used[1].is_none() {
            self.note_usage(1);
        }
        let end = self.used[1].unwrap_or_default();
        let start = self.used[0].unwrap_or(end);
        let (usage, of_process) = (end.0.since(start.0), end.1.since(start.1));
        let end = bench.tally.load_end();
        let Bench { shares, send_delay, queueing, .. } = bench;
        let report = |share: Share<'_>| StreamReport {
            is_limit_reached: share.is_limit_reached(),
            silences: share.watch.finish(if share.over { share.ended } else { end }),
            opening: share.opening,
            reconnecting: share.reconnecting,
            opened: share.opened,
            rolled_back: share.rolled_back,
            errors: share.errors,
            begins: share.begins,
            in_flight: share.in_flight,
        };
        let streams = shares.into_iter().map(report).collect();
        let start_delay = self.start_delay.unwrap_or_default();
        Report { streams, finished, usage, of_process, start_delay, send_delay, queueing }
    }
}
