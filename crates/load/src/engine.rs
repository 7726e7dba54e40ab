//! The workers of one process: what they share, who has which connection, and how they are started and ended.

use crate::{
    bench::{Bench, Timeline},
    check::{Mistake, check},
    conduct::{Team, conduct},
    connection::{Connection, Place},
    control::{Control, Message, Order},
    deal::{self, Deal, processors},
    error::Error,
    gather::PartReport,
    io,
    loader::{Loader, Progress, WarmUp},
    login::{Login, logins},
    orders::{Orders, Report},
    pin::Pinned,
    play::{Desk, Interpreter},
    program::Program,
    record::{Batch, Seconds},
    sample::Outcome,
    secrets::Secrets,
    share::{Share, budget_of},
    spec::{Arrival, Destination, Scheduling, Spec, Stream},
    stop::Stop,
    worker::{Terms, Worker},
};
use std::{
    sync::{
        atomic::AtomicI64,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

/// How far ahead a time is set, so that all workers hear of it in time.
const AHEAD: Duration = Duration::from_millis(2);
/// Up to this many connections per processor, a worker that does not preempt leaves the server with nothing
/// to do until the worker gets its turn: on 2 processors with MariaDB, SCHED_OTHER gave 1.2 times as much
/// with 4 connections, as much with 16, and 0.8 times as much with 128.
const YIELD_CONNECTIONS: u32 = 4;
/// Connections that each worker opens at the same time, and all parts of a load together where each has one:
/// below the default length of a server's queue (`back_log` 80), so that the kernel drops none and retries it
/// after a second.
const OPENING_AT_ONCE: [u32; 2] = [24, 72];

/// Carries loads out in this process.
#[derive(Debug, Clone, Default)]
pub struct Here {
    /// Numbers of the processors that they run on; empty: all.
    pub processors: Vec<u32>,
    /// The interpreter of scripts; `None`: there is none, and a load with a script is refused.
    pub interpreter: Option<&'static dyn Interpreter>,
}

impl Loader for Here {
    fn run_until_warm(
        &self,
        spec: &Spec,
        stop: &Stop,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> Result<Outcome, Error> {
        check(spec)?;
        let _pinned = Pinned::to(&self.processors)?;
        let secrets = secrets_of(spec)?;
        let control = Control::new(spec.streams.len())?;
        let ground = Ground::prepare(spec, &secrets, (&control, self.interpreter), stop)?;
        thread::scope(|scope| {
            let (messages, inbox) = mpsc::channel();
            let crew = ground.crew(scope, messages)?;
            conduct((spec, &ground.programs), crew, &inbox, stop, tell)
        })
    }

    fn workers_max(&self, spec: &Spec) -> u32 {
        deal::workers_max(spec, processors())
    }
}

/// Reads what the logins of a load need.
pub(crate) fn secrets_of(spec: &Spec) -> Result<Secrets, Error> {
    Secrets::of(spec).map_err(|source| Error::File { address: spec.target.address.to_string(), source })
}

/// What the workers of a process share; made before they are.
pub(crate) struct Ground<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) control: &'a Control,
    interpreter: Option<&'static dyn Interpreter>,
    pub(crate) programs: Vec<Program>,
    deals: Vec<Deal>,
    budgets: Vec<AtomicI64>,
    logins: Vec<Option<Login>>,
}

impl<'a> Ground<'a> {
    /// Resolves addresses and certificates, which may take a while.
    pub(crate) fn prepare(
        spec: &'a Spec,
        secrets: &Secrets,
        (control, interpreter): (&'a Control, Option<&'static dyn Interpreter>),
        stop: &Stop,
    ) -> Result<Self, Error> {
        let programs = programs(spec)?;
        if interpreter.is_none() && spec.streams.iter().any(|stream| stream.workload.script().is_some()) {
            return Err(Mistake::NoScripts.into());
        }
        let workers = deal::workers(spec);
        let deal = |(stream, first): (&Stream, u64)| {
            let (connections, part) = (stream.connections, spec.part);
            Deal { first, connections, part, workers, worker: 0 }
        };
        let deals: Vec<Deal> = spec.streams.iter().zip(deal::firsts(spec)).map(deal).collect();
        let budgets =
            spec.streams.iter().zip(&deals).map(|(stream, deal)| budget_of(stream, *deal)).collect();
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
        let logins = logins(spec, secrets, stop)?;
        Ok(Self { spec, control, interpreter, programs, deals, budgets, logins })
    }

    /// Starts the workers, which open their connections: this many for all streams of programs, and this many
    /// for each stream that plays a script.
    pub(crate) fn crew<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        messages: Sender<Message>,
    ) -> Result<Crew<'scope>, Error> {
        let mut crew = Crew { workers: Vec::new(), empties: Vec::new(), control: self.control };
        let count = deal::workers(self.spec);
        let are_programs = self.spec.streams.iter().any(|stream| stream.workload.script().is_none());
        for number in (0..count).filter(|_| are_programs) {
            let (timeline, empty) = self.timeline(crew.workers.len(), &messages);
            let connections = self.connections(number);
            let worker = Worker::new(
                connections,
                (&self.programs, self.shares(number, None), &self.logins),
                timeline,
                self.terms(number, count),
                (self.control, messages.clone()),
            );
            crew.hire(scope, empty, || worker.run())?;
        }
        for (stream, described) in self.spec.streams.iter().enumerate() {
            let Some((interpreter, script)) = self.interpreter.zip(described.workload.script()) else {
                continue;
            };
            for number in 0..count {
                let connections = self.seats(stream, number);
                if !connections.is_empty() {
                    let (timeline, empty) = self.timeline(crew.workers.len(), &messages);
                    let orders = (crew.workers.is_empty(), messages.clone());
                    let desk = self.desk((stream, number), connections, timeline, orders);
                    crew.hire(scope, empty, || Ok(desk.work(interpreter, script)))?;
                }
            }
        }
        Ok(crew)
    }

    /// Where a worker's connections of a stream play its script; `is_first`: of all workers.
    fn desk(
        &self,
        (stream, worker): (usize, usize),
        connections: Vec<(u32, usize)>,
        timeline: Timeline,
        (is_first, messages): (bool, Sender<Message>),
    ) -> Desk<'_> {
        let (workers, part) = (deal::workers(self.spec), self.spec.part);
        let shares = self.shares(worker, Some(stream));
        let bench = Bench::new((&self.programs, shares), &self.logins, timeline, connections.len());
        let orders = Orders::new((self.control, messages), self.spec.streams.len(), is_first);
        let (place, of) = (worker as u32 * part.of + part.number, workers as u32 * part.of);
        let is_batch = self.terms(worker, workers).is_batch;
        Desk::new((self.spec, stream), connections, (bench, orders), &self.logins, (place, of, is_batch))
    }

    /// Where a worker counts, and how it gets back what it has handed over.
    fn timeline(&self, place: usize, messages: &Sender<Message>) -> (Timeline, Sender<Box<Batch>>) {
        let (empty_sender, empty) = mpsc::channel();
        let batch = Box::new(Batch::new(place, &self.programs));
        let seconds = Seconds::new(self.spec.warm_up, self.spec.interval);
        (Timeline::new(batch, seconds, messages.clone(), empty), empty_sender)
    }

    /// The connections of one worker that run programs.
    fn connections(&self, worker: usize) -> Vec<Connection> {
        let mut connections = Vec::new();
        let streams = self.spec.streams.iter().enumerate();
        for (index, stream) in streams.filter(|(_, stream)| stream.workload.script().is_none()) {
            let deal = Deal { worker, ..self.deals[index] };
            for number in (0..stream.connections + stream.idle).filter(|&each| deal.owns_connection(each)) {
                let place = Place {
                    stream: index,
                    number,
                    server: stream.to.server_of(number, self.spec.members.len()),
                    works: number < stream.connections,
                    is_stranger: stream.to == Destination::Stranger,
                    index: connections.len() as u32,
                };
                connections.push(Connection::new(place, self.spec.seed, &self.programs[index]));
            }
        }
        connections
    }

    /// Number and server of each connection of one worker that plays the script of a stream.
    fn seats(&self, stream: usize, worker: usize) -> Vec<(u32, usize)> {
        let deal = Deal { worker, ..self.deals[stream] };
        let stream = &self.spec.streams[stream];
        let mine = (0..stream.connections).filter(|&number| deal.owns_connection(number));
        mine.map(|number| (number, stream.to.server_of(number, self.spec.members.len()))).collect()
    }

    /// One worker's share of each stream: of the one that plays a script, or of all that run programs. It has
    /// no share of the others, so nothing becomes due there.
    fn shares(&self, worker: usize, script: Option<usize>) -> Vec<Share<'_>> {
        let share = |(index, stream): (usize, &Stream)| {
            let deal = Deal { worker, ..self.deals[index] };
            let is_mine = script.map_or(stream.workload.script().is_none(), |mine| mine == index);
            let arrival = if is_mine { &stream.arrival } else { &Arrival::Closed };
            Share::new((stream, arrival), &self.budgets[index], deal, (self.spec.seed, index as u32))
        };
        self.spec.streams.iter().enumerate().map(share).collect()
    }

    fn terms(&self, worker: usize, workers: usize) -> Terms {
        let Spec { part, scheduling, open_rate, connect_timeout, reply_timeout, .. } = *self.spec;
        let [each, together] = OPENING_AT_ONCE;
        let of_all = workers as f64 * f64::from(part.of);
        Terms {
            is_batch: match scheduling {
                Scheduling::Auto => yields_to_servers(self.spec, processors()),
                Scheduling::Batch => true,
                Scheduling::Normal => false,
            },
            opening_at_once: each.min(together.div_ceil(part.of)) as usize,
            open_gap: open_rate
                .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(of_all / rate.max(1e-3))),
            connect_timeout,
            reply_timeout,
            is_first: worker == 0,
        }
    }
}

/// What the streams do, ready to run.
pub(crate) fn programs(spec: &Spec) -> Result<Vec<Program>, Error> {
    Ok(spec.streams.iter().map(|stream| Program::of(stream, spec.part)).collect::<Result<_, _>>()?)
}

/// Whether workers should not preempt a server on the same machine: where nothing has a time to keep, and so
/// many connections wait for the server that it always has something else to do.
fn yields_to_servers(spec: &Spec, processors: u32) -> bool {
    let connections: u32 = spec.streams.iter().map(|stream| stream.connections).sum();
    let is_closed = spec.streams.iter().all(|stream| stream.arrival == Arrival::Closed);
    is_closed && connections > processors.saturating_mul(YIELD_CONNECTIONS)
}

/// The running workers of this process.
pub(crate) struct Crew<'scope> {
    workers: Vec<thread::ScopedJoinHandle<'scope, std::io::Result<Report>>>,
    empties: Vec<Sender<Box<Batch>>>,
    control: &'scope Control,
}

impl<'scope> Crew<'scope> {
    /// Starts a worker; if that fails, those that already run end.
    fn hire(
        &mut self,
        scope: &'scope thread::Scope<'scope, '_>,
        empty: Sender<Box<Batch>>,
        work: impl FnOnce() -> std::io::Result<Report> + Send + 'scope,
    ) -> Result<(), Error> {
        let thread = thread::Builder::new().name(format!("load-{}", self.workers.len()));
        match thread.spawn_scoped(scope, work) {
            Ok(handle) => self.workers.push(handle),
            Err(error) => {
                self.control.order(Order::Stop);
                return Err(error.into());
            }
        }
        self.empties.push(empty);
        Ok(())
    }
}

impl Team for Crew<'_> {
    fn members(&self) -> usize {
        self.workers.len()
    }

    fn ahead(&self) -> Duration {
        AHEAD
    }

    fn order(&mut self, order: Order) {
        self.control.order(order);
    }

    fn give_back(&mut self, mut batch: Box<Batch>) {
        batch.clear();
        // the worker may have ended already
        let _ = self.empties[batch.of].send(batch);
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn finish(self) -> Result<Vec<(String, PartReport)>, Error> {
        let mut workers = Vec::new();
        for worker in self.workers {
            workers.push(worker.join().map_err(|_| std::io::Error::other("a worker thread panicked"))??);
        }
        Ok(vec![(
            String::new(),
            PartReport { workers, memory_bytes_max: io::memory_bytes_max(), clock: None, host: None },
        )])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Target, Think, Workload};

    #[test]
    fn workers_yield_only_where_nothing_waits_for_a_time_and_the_server_has_always_work() {
        let target = Target::of_nobody();
        let workload = Workload::new("", 1, Vec::new());
        let spec = |connections, arrival| {
            let stream = Stream { arrival, ..Stream::new("main", workload.clone(), connections) };
            Spec::new(target.clone(), vec![stream], Duration::ZERO, Duration::from_secs(1))
        };
        assert!(!yields_to_servers(&spec(8, Arrival::Closed), 2));
        assert!(yields_to_servers(&spec(9, Arrival::Closed), 2));
        assert!(!yields_to_servers(&spec(64, Arrival::Closed), 16));
        let pause = Arrival::Think(Think::Fixed(Duration::from_millis(1)));
        assert!(!yields_to_servers(&spec(512, pause), 2));
    }
}
