//! The workers of one process: what they share, who has which connection, and how they are started and ended.

use crate::{
    bench::Timeline,
    check::check,
    conduct::{Team, conduct},
    connection::{Connection, Place},
    control::{Control, Message, Order},
    deal::{self, Deal, processors},
    error::Error,
    gather::PartReport,
    io,
    loader::{Loader, Progress, WarmUp},
    login::{Login, logins},
    pin::Pinned,
    program::Program,
    record::{Batch, Seconds},
    sample::Outcome,
    secrets::Secrets,
    share::{Share, budget_of},
    spec::{Arrival, Scheduling, Spec},
    stop::Stop,
    worker::{Report, Terms, Worker},
};
use std::{
    sync::{
        atomic::AtomicI64,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

/// How far ahead a time is set of which all workers are to hear before.
const AHEAD: Duration = Duration::from_millis(2);
/// Up to so many connections for each processor a worker that does not preempt leaves the server with nothing
/// to do until it gets its turn: on 2 processors with MariaDB, SCHED_OTHER gave 1.2 times as much with 4
/// connections, as much with 16, and 0.8 times as much with 128.
const YIELD_CONNECTIONS: u32 = 4;
/// Connections that are being opened at the same time by each worker, and by all parts of a load together
/// where each has one: below the default length of a server's queue (`back_log` 80), so that none is dropped
/// and retried by the kernel after a second.
const OPENING_AT_ONCE: [u32; 2] = [24, 72];

/// Carries loads out in this process.
#[derive(Debug, Clone, Default)]
pub struct Here {
    /// Numbers of the processors that they run on; empty: all.
    pub processors: Vec<u32>,
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
        let ground = Ground::prepare(spec, &secrets, &control, stop)?;
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
    Secrets::of(spec)
        .map_err(|error| Error::Tls { address: spec.target.address.to_string(), reason: error.to_string() })
}

/// What the workers of a process share; made before they are.
pub(crate) struct Ground<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) control: &'a Control,
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
        control: &'a Control,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let programs = programs(spec)?;
        let workers = deal::workers(spec);
        let deal = |(stream, first): (&crate::spec::Stream, u64)| {
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
        Ok(Self { spec, control, programs, deals, budgets, logins })
    }

    /// Starts the workers, which open their connections.
    pub(crate) fn crew<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        messages: Sender<Message>,
    ) -> Result<Crew<'scope>, Error> {
        let mut crew = Crew { workers: Vec::new(), empties: Vec::new(), control: self.control };
        let count = deal::workers(self.spec);
        for number in 0..count {
            let (empty_sender, empty) = mpsc::channel();
            let batch = Box::new(Batch::new(number, &self.programs));
            let seconds = Seconds::new(self.spec.warm_up, self.spec.interval);
            let timeline = Timeline::new(batch, seconds, messages.clone(), empty);
            let (connections, shares) = (self.connections(number), self.shares(number));
            let worker = Worker::new(
                connections,
                (&self.programs, shares, &self.logins),
                timeline,
                self.terms(number, count),
                (self.control, messages.clone()),
            );
            let thread = thread::Builder::new().name(format!("load-{number}"));
            match thread.spawn_scoped(scope, || worker.run()) {
                Ok(handle) => crew.workers.push(handle),
                Err(error) => {
                    // those that run already would go on for ever
                    self.control.order(Order::Stop);
                    return Err(error.into());
                }
            }
            crew.empties.push(empty_sender);
        }
        Ok(crew)
    }

    /// The connections of one worker.
    fn connections(&self, worker: usize) -> Vec<Connection> {
        let mut connections = Vec::new();
        for (index, stream) in self.spec.streams.iter().enumerate() {
            let deal = Deal { worker, ..self.deals[index] };
            for number in (0..stream.connections + stream.idle).filter(|&each| deal.owns_connection(each)) {
                let place = Place {
                    stream: index,
                    number,
                    server: stream.to.server_of(number, self.spec.members.len()),
                    works: number < stream.connections,
                    index: connections.len() as u32,
                };
                connections.push(Connection::new(place, self.spec.seed, &self.programs[index]));
            }
        }
        connections
    }

    /// What one worker has of each stream.
    fn shares(&self, worker: usize) -> Vec<Share<'_>> {
        let share = |(index, stream)| {
            let deal = Deal { worker, ..self.deals[index] };
            Share::new(stream, &self.budgets[index], deal, (self.spec.seed, index as u32))
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

/// Whether workers do better not to preempt a server on the same machine: where nothing has a time to keep,
/// and so many connections wait for the server that it always has something else to do.
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
        Ok(vec![(String::new(), PartReport { workers, memory_bytes_max: io::memory_bytes_max() })])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Address, Stream, Target, Think, Workload};

    #[test]
    fn workers_yield_only_where_nothing_waits_for_a_time_and_the_server_has_always_work() {
        let target = Target {
            address: Address::Unix("socket".into()),
            user: String::new(),
            password: crate::spec::Secret::default(),
            database: None,
            tls: crate::spec::Tls::default(),
            trust: crate::spec::Trust::default(),
            compress: false,
        };
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
