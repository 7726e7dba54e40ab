//! The coordinator's other half: merges the seconds of all workers, ends the load early where limits are
//! reached, and makes the outcome.

use crate::{
    clock::Moment,
    engine::{Control, Coordinator, Crew, LOOK_UP, Message, Progress, WarmUp},
    io,
    outage::outages,
    record::{Batch, ErrorBook, Seconds, StreamBatch},
    sample::{ClientUsage, Connects, End, Outcome, Phase, Sample, StreamOutcome},
    spec::Begin,
    worker::Report,
};
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

/// Merges what the workers send.
pub(crate) struct Gatherer<'a> {
    coordinator: &'a Coordinator<'a>,
    seconds: Seconds,
    start: Moment,
    workers: usize,
    /// Seconds that not all workers have delivered yet, with the number of those that have.
    partial: Vec<(usize, Box<Batch>)>,
    totals: Vec<StreamBatch>,
    /// How many workers have reached the limit of each stream, and when the last transaction of it ended.
    done: Vec<(usize, Moment)>,
    measured: Duration,
    /// Whether the warm-up was told to end.
    is_warm: bool,
    usage_at_start: io::Usage,
    usage_at_end: io::Usage,
}

impl<'a> Gatherer<'a> {
    pub(crate) fn new(
        coordinator: &'a Coordinator<'a>,
        seconds: Seconds,
        (start, workers): (Moment, usize),
    ) -> Self {
        Self {
            coordinator,
            seconds,
            start,
            workers,
            partial: Vec::new(),
            totals: coordinator.programs.iter().map(StreamBatch::new).collect(),
            done: vec![(0, Moment::ZERO); coordinator.programs.len()],
            measured: Duration::ZERO,
            is_warm: false,
            usage_at_start: io::process_usage(),
            usage_at_end: io::process_usage(),
        }
    }

    pub(crate) fn gather(
        &mut self,
        crew: &Crew<'_>,
        inbox: &Receiver<Message>,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> End {
        let mut complete = 0;
        while complete < self.seconds.count() {
            match inbox.recv_timeout(LOOK_UP) {
                Ok(Message::Second(batch)) => complete += u32::from(self.add(batch, crew, tell)),
                Ok(Message::Done { stream, at }) => self.note_done(stream, at, crew),
                Ok(Message::Hopeless(reason)) => return End::Failed(reason),
                Ok(Message::Opened { .. } | Message::NotOpened { .. }) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return End::Failed("a worker ended early".to_owned()),
            }
            if self.coordinator.stop.is_stopped() {
                return End::Interrupted;
            }
        }
        End::Completed
    }

    /// A worker has reached the limit of a stream. When all have, those that waited for it begin; when all
    /// streams with a limit have reached theirs, the load ends.
    fn note_done(&mut self, stream: usize, at: Moment, crew: &Crew<'_>) {
        let (count, last) = &mut self.done[stream];
        *count += 1;
        *last = at.max(*last);
        if *count < self.workers {
            return;
        }
        let Coordinator { spec, control, .. } = self.coordinator;
        let soon = self.coordinator.soon();
        for (index, other) in spec.streams.iter().enumerate() {
            if matches!(&other.begin, Begin::WhenDone(first) if *first == spec.streams[stream].name) {
                control.set_begin(index, soon);
            }
        }
        let limited = spec.streams.iter().zip(&self.done).filter(|(stream, _)| stream.limit.is_some());
        if limited.into_iter().all(|(_, (count, _))| *count == self.workers) {
            self.seconds.cut(soon.since(self.start));
            control.set_end(soon);
        }
        Control::wake(&crew.wakes);
    }

    /// Adds one worker's second. Returns whether that second is complete.
    fn add(
        &mut self,
        mut batch: Box<Batch>,
        crew: &Crew<'_>,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> bool {
        let (worker, second) = (batch.worker, batch.second);
        if second >= self.seconds.count() {
            return false; // begun after the end had been moved
        }
        let place = self.partial.iter().position(|(_, other)| other.second == second);
        let place = if let Some(place) = place {
            let (count, sum) = &mut self.partial[place];
            *count += 1;
            sum.merge(&batch);
            batch.clear();
            // the worker may have ended already
            let _ = crew.empties[worker].send(batch);
            place
        } else {
            self.partial.push((1, batch));
            self.partial.len() - 1
        };
        if self.partial[place].0 < self.workers {
            return false;
        }
        let (_, mut whole) = self.partial.swap_remove(place);
        let is_warm = self.finish_second(&whole, tell);
        if is_warm && !self.is_warm {
            self.end_warm_up(crew);
        }
        whole.clear();
        let _ = crew.empties[whole.worker].send(whole);
        true
    }

    /// Lets the measurement begin with the next second that all workers can hear of before it comes.
    fn end_warm_up(&mut self, crew: &Crew<'_>) {
        self.is_warm = true;
        let Coordinator { control, clock, .. } = self.coordinator;
        let Some(at_ns) = self.seconds.measure_soon(clock.now().since(self.start)) else { return };
        self.seconds.measure_from(at_ns);
        self.coordinator.set_begins(self.start, self.seconds.warm_up());
        control.set_measure_ns(at_ns);
        Control::wake(&crew.wakes);
    }

    /// Whether the warm-up may end.
    fn finish_second(&mut self, whole: &Batch, tell: &mut dyn FnMut(Progress) -> WarmUp) -> bool {
        let mut is_warm = false;
        let seconds = &self.seconds;
        let phase = seconds.phase(whole.second);
        let last_of_warm_up = phase == Phase::WarmUp && seconds.phase(whole.second + 1) == Phase::Measure;
        if last_of_warm_up {
            self.usage_at_start = io::process_usage();
        }
        let is_first = self.measured.is_zero();
        if phase == Phase::Measure {
            self.measured += seconds.length(whole.second);
            self.usage_at_end = io::process_usage();
        }
        for (index, stream) in whole.streams.iter().enumerate() {
            if phase == Phase::Measure {
                self.totals[index].add(stream, is_first);
            }
            let answer = tell(Progress::Sample(Box::new(Sample {
                stream: index as u16,
                second: whole.second,
                phase,
                length: seconds.length(whole.second),
                transactions: stream.all_transactions(),
                statements: stream.statements.clone(),
                errors: stream.errors,
                schedule: stream.schedule.clone(),
            })));
            is_warm |= phase == Phase::WarmUp && answer == WarmUp::Done;
        }
        is_warm
    }

    pub(crate) fn outcome(mut self, reports: Vec<Report>, end: End, server_version: String) -> Outcome {
        let totals = std::mem::take(&mut self.totals);
        let streams = totals
            .into_iter()
            .enumerate()
            .map(|(index, total)| self.stream(index, total, &reports))
            .collect();
        let mut client = ClientUsage {
            cpu_user: self.usage_at_end.user.saturating_sub(self.usage_at_start.user),
            cpu_system: self.usage_at_end.system.saturating_sub(self.usage_at_start.system),
            workers: reports.iter().map(|report| report.usage.user + report.usage.system).collect(),
            workers_asked: self.coordinator.spec.workers.unwrap_or(0),
            memory_bytes_max: io::memory_bytes_max(),
            ..ClientUsage::default()
        };
        for report in &reports {
            client.send_delay.merge(&report.send_delay);
            client.queueing.merge(&report.queueing);
        }
        let warm_up = Some(self.seconds.warm_up());
        Outcome { streams, client, warm_up, interval: self.measured, end, server_version }
    }

    fn stream(&self, index: usize, total: StreamBatch, reports: &[Report]) -> StreamOutcome {
        let stream = &self.coordinator.spec.streams[index];
        let (mut opening, mut reconnecting) = (Connects::default(), Connects::default());
        let mut errors = ErrorBook::default();
        let mut transactions_by_connection = vec![0; stream.connections as usize];
        let (mut connections_opened, mut rolled_back, mut in_flight_at_end) = (0, 0, 0);
        let mut in_flight_age_max = Duration::ZERO;
        let mut silences = Vec::new();
        for report in reports {
            let of = &report.streams[index];
            opening.merge(&of.opening);
            reconnecting.merge(&of.reconnecting);
            errors.merge(&of.errors);
            connections_opened += of.opened;
            rolled_back += of.rolled_back;
            in_flight_at_end += of.in_flight.count;
            in_flight_age_max = in_flight_age_max.max(of.in_flight.age_max);
            silences.push(of.silences.clone());
            for (_, number, count) in report.finished.iter().filter(|(of, _, _)| *of == index) {
                transactions_by_connection[*number as usize] = *count;
            }
        }
        StreamOutcome {
            name: stream.name.clone(),
            connections: stream.connections,
            idle: stream.idle,
            connections_opened,
            opening,
            reconnecting,
            active: self.active(index, reports),
            limit_reached: stream.limit.map(|_| self.done[index].0 == self.workers),
            outages: outages(silences, self.start),
            transactions: total.all_transactions(),
            by_transaction: total.transactions,
            statements: total.statements,
            schedule: total.schedule,
            rolled_back,
            errors: errors.into_counts(),
            transactions_by_connection,
            in_flight_at_end,
            in_flight_age_max,
        }
    }

    /// When a stream was active within the interval, since the load began.
    fn active(&self, index: usize, reports: &[Report]) -> (Duration, Duration) {
        let warm_up = self.seconds.warm_up();
        let end = warm_up + self.measured;
        let since_start = |at: Moment| Duration::from_nanos(at.since(self.start));
        let begins = reports.iter().map(|report| report.streams[index].begins).min().unwrap_or_default();
        let from = since_start(begins).clamp(warm_up, end);
        let (count, done) = self.done[index];
        let until = if count == self.workers { since_start(done).clamp(from, end) } else { end };
        (from, until)
    }
}
