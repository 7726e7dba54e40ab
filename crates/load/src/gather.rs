//! Merges what several members deliver: the seconds of all workers of a process, or of all parts of a load.
//! The conductor turns them into the outcome.

use crate::{
    clock::Moment,
    host::Host,
    orders::Report,
    outage,
    program::Program,
    record::{Batch, ErrorBook, Seconds, StreamBatch},
    sample::{ClientUsage, Connects, End, Outcome, PartClock, PartUsage, Phase, Sample, StreamOutcome},
    spec::Spec,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What one process has to tell in the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PartReport {
    pub(crate) workers: Vec<Report>,
    /// Peak resident memory, bytes.
    pub(crate) memory_bytes_max: u64,
    /// How its clock stood to this one's, where it has its own.
    #[serde(skip)]
    pub(crate) clock: Option<PartClock>,
    /// The load host that it was on.
    #[serde(skip)]
    pub(crate) host: Option<Host>,
}

impl PartReport {
    /// The same on a clock that is so far ahead.
    pub(crate) fn moved(mut self, ns: i64) -> Self {
        for stream in self.workers.iter_mut().flat_map(|worker| &mut worker.streams) {
            stream.begins = stream.begins.moved(ns);
            stream.silences = stream.silences.iter().map(|silence| silence.moved(ns)).collect();
        }
        self
    }
}

/// Puts together what so many members deliver.
#[derive(Debug)]
pub(crate) struct Merger {
    members: usize,
    /// Seconds that not all have delivered yet, with the number of those that have.
    partial: Vec<(usize, Box<Batch>)>,
    /// How many are done with each stream that has a limit, and when the last transaction of it ended.
    done: Vec<(usize, Moment)>,
}

impl Merger {
    pub(crate) fn new(members: usize, streams: usize) -> Self {
        Self { members, partial: Vec::new(), done: vec![(0, Moment::ZERO); streams] }
    }

    /// Adds one member's second. Returns it where it is whole with that, and calls `give_back` with what is
    /// merged and not needed any more.
    pub(crate) fn add(
        &mut self,
        batch: Box<Batch>,
        give_back: impl FnOnce(Box<Batch>),
    ) -> Option<Box<Batch>> {
        let place = match self.partial.iter().position(|(_, other)| other.second == batch.second) {
            Some(place) => {
                let (count, sum) = &mut self.partial[place];
                *count += 1;
                sum.merge(&batch);
                give_back(batch);
                place
            }
            None => {
                self.partial.push((1, batch));
                self.partial.len() - 1
            }
        };
        (self.partial[place].0 == self.members).then(|| self.partial.swap_remove(place).1)
    }

    /// One member is done with a stream. Returns when the last of all was, once they are.
    pub(crate) fn add_done(&mut self, stream: usize, at: Moment) -> Option<Moment> {
        let (count, last) = self.done.get_mut(stream)?;
        *count += 1;
        *last = at.max(*last);
        self.done_at(stream)
    }

    /// When the last transaction of a stream ended that all members are done with.
    pub(crate) fn done_at(&self, stream: usize) -> Option<Moment> {
        let (count, last) = self.done[stream];
        (count == self.members).then_some(last)
    }
}

/// What has come of a load so far.
pub(crate) struct Results<'a> {
    spec: &'a Spec,
    totals: Vec<StreamBatch>,
    /// How long the measurement has lasted.
    measured: Duration,
}

impl<'a> Results<'a> {
    pub(crate) fn new(spec: &'a Spec, programs: &[Program]) -> Self {
        let totals = programs.iter().map(StreamBatch::new).collect();
        Self { spec, totals, measured: Duration::ZERO }
    }

    /// Adds a second of all members, and tells of it.
    pub(crate) fn add(&mut self, whole: &Batch, seconds: &Seconds, tell: &mut dyn FnMut(Sample)) {
        let is_first = self.measured.is_zero();
        let (phase, length) = (seconds.phase(whole.second), seconds.length(whole.second));
        if phase == Phase::Measure {
            self.measured += length;
        }
        for (index, stream) in whole.streams.iter().enumerate() {
            if phase == Phase::Measure {
                self.totals[index].add(stream, is_first);
            }
            tell(Sample {
                stream: index as u16,
                second: whole.second,
                phase,
                length,
                transactions: stream.all_transactions(),
                statements: stream.statements.clone(),
                errors: stream.errors,
                schedule: stream.schedule.clone(),
            });
        }
    }

    /// The outcome, where `parts` have reported in the end.
    pub(crate) fn outcome(
        mut self,
        parts: &[(String, PartReport)],
        course: &Course<'_>,
        end: End,
    ) -> Outcome {
        let reports: Vec<&Report> = parts.iter().flat_map(|(_, part)| &part.workers).collect();
        let totals = std::mem::take(&mut self.totals);
        let totals = totals.into_iter().enumerate();
        let streams = totals.map(|(index, total)| self.stream(index, total, &reports, course)).collect();
        Outcome {
            streams,
            client: client(parts, self.spec),
            warm_up: Some(course.seconds.warm_up()),
            interval: self.measured,
            end,
            server_version: course.version.to_owned(),
        }
    }

    fn stream(
        &self,
        index: usize,
        total: StreamBatch,
        reports: &[&Report],
        course: &Course<'_>,
    ) -> StreamOutcome {
        let stream = &self.spec.streams[index];
        let (mut opening, mut reconnecting) = (Connects::default(), Connects::default());
        let mut errors = ErrorBook::default();
        let mut transactions_by_connection = vec![0; stream.connections as usize];
        let (mut connections_opened, mut rolled_back, mut in_flight_at_end) = (0, 0, 0);
        let mut in_flight_age_max = Duration::ZERO;
        let mut silences = Vec::new();
        let mut is_limit_reached = true;
        for report in reports {
            let of = &report.streams[index];
            opening.merge(&of.opening);
            reconnecting.merge(&of.reconnecting);
            errors.merge(&of.errors);
            connections_opened += of.opened;
            rolled_back += of.rolled_back;
            in_flight_at_end += of.in_flight.count;
            in_flight_age_max = in_flight_age_max.max(of.in_flight.age_max);
            is_limit_reached &= of.is_limit_reached;
            silences.push(of.silences.clone());
            for (_, number, count) in report.finished.iter().filter(|(of, _, _)| *of == index) {
                transactions_by_connection[*number as usize] = *count;
            }
        }
        let silences = outage::common(silences);
        StreamOutcome {
            name: stream.name.clone(),
            connections: stream.connections,
            idle: stream.idle,
            connections_opened,
            opening,
            reconnecting,
            active: self.active(index, reports, course),
            limit_reached: stream.limit.map(|_| is_limit_reached && course.merger.done_at(index).is_some()),
            outages: outage::outages(&silences, course.start),
            standstills: outage::standstills(&silences, course.start),
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
    fn active(&self, index: usize, reports: &[&Report], course: &Course<'_>) -> (Duration, Duration) {
        let warm_up = course.seconds.warm_up();
        let end = warm_up + self.measured;
        let since_start = |at: Moment| Duration::from_nanos(at.since(course.start));
        let begins = reports.iter().map(|report| report.streams[index].begins).min().unwrap_or_default();
        let from = since_start(begins).clamp(warm_up, end);
        let done = course.merger.done_at(index);
        (from, done.map_or(end, |done| since_start(done).clamp(from, end)))
    }
}

/// When a load was what.
pub(crate) struct Course<'a> {
    pub(crate) start: Moment,
    pub(crate) seconds: &'a Seconds,
    pub(crate) merger: &'a Merger,
    /// The server's, as it introduced itself.
    pub(crate) version: &'a str,
}

/// What the processes that carried a load out used.
fn client(parts: &[(String, PartReport)], spec: &Spec) -> ClientUsage {
    let mut client = ClientUsage { workers_asked: spec.workers.unwrap_or(0), ..ClientUsage::default() };
    for (name, part) in parts {
        let mut of_part = PartUsage { name: name.clone(), ..PartUsage::default() };
        for report in &part.workers {
            of_part.cpu_user += report.of_process.user;
            of_part.cpu_system += report.of_process.system;
            of_part.throttled += report.of_process.throttled;
            of_part.start_delay = of_part.start_delay.max(report.start_delay);
            let used = report.usage.user + report.usage.system;
            client.workers.push(used);
            of_part.worker_max = of_part.worker_max.max(used);
            of_part.send_delay.merge(&report.send_delay);
            of_part.queueing.merge(&report.queueing);
        }
        client.send_delay.merge(&of_part.send_delay);
        client.queueing.merge(&of_part.queueing);
        of_part.clock = part.clock;
        of_part.host.clone_from(&part.host);
        of_part.workers = part.workers.len() as u32;
        of_part.memory_bytes_max = part.memory_bytes_max;
        client.cpu_user += of_part.cpu_user;
        client.cpu_system += of_part.cpu_system;
        client.memory_bytes_max += of_part.memory_bytes_max;
        if !name.is_empty() {
            client.parts.push(of_part);
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        frame,
        random::Random,
        spec::{Expect, Part, Piece, Statement, Step, Stream, Transaction, Workload},
    };

    /// A second of one of a thousand agents: 10,000 connections, each with a transaction of five kinds of
    /// statements, whose times lie between 0.1 and 100 ms.
    fn second(programs: &[Program], random: &mut Random) -> Vec<u8> {
        let mut batch = Batch::new(0, programs);
        let stream = &mut batch.streams[0];
        for tally in stream.transactions.iter_mut().chain(&mut stream.statements) {
            for _ in 0..10_000 {
                tally.count += 1;
                tally.service.record_ns((1e5 * 1e3_f64.powf(random.unit())) as u64);
            }
        }
        let mut bytes = Vec::new();
        frame::write(&mut bytes, &batch).expect("memory");
        bytes
    }

    #[test]
    fn a_thousand_agents_with_10_000_connections_each_are_merged_by_less_than_a_processor() {
        const AGENTS: u32 = 1_000;
        const KINDS: [&str; 5] = ["one", "two", "three", "four", "five"];
        let statement = |kind: &str| {
            let (pieces, keep) = (vec![Piece::Sql("SELECT 1".to_owned())], Vec::new());
            Step::Statement(Statement {
                kind: kind.to_owned(),
                pieces,
                text_only: false,
                keep,
                expect: Expect::Row,
            })
        };
        let steps = KINDS.map(statement).to_vec();
        let transactions = vec![Transaction { name: "only".to_owned(), weight: 1.0, steps }];
        let stream = Stream::new("main", Workload::new("test", 1, transactions), 10_000_000);
        let programs = [Program::of(&stream, Part::default()).expect("a program")];
        let mut random = Random::for_connection(1, 0, 0);
        let seconds: Vec<Vec<u8>> = (0..20).map(|_| second(&programs, &mut random)).collect();
        let bytes = seconds.iter().map(Vec::len).sum::<usize>() / seconds.len();
        let mut merger = Merger::new(AGENTS as usize, 1);
        let begun = crate::io::thread_usage();
        let mut whole = None;
        for agent in 0..AGENTS as usize {
            let mut from = &*seconds[agent % seconds.len()];
            let batch = frame::read(&mut from).expect("own bytes").expect("a second");
            whole = merger.add(batch, drop);
        }
        let used = crate::io::thread_usage();
        let cpu = (used.user + used.system).saturating_sub(begun.user + begun.system);
        let whole = whole.expect("all have delivered it");
        assert_eq!(whole.streams[0].statements[4].service.count(), u64::from(AGENTS) * 10_000);
        // on the machine at hand 0.6 ms for each; one that is busy takes longer
        assert!(bytes < 64_000 && cpu < Duration::from_secs(4), "{bytes} bytes, {cpu:?}");
    }
}
