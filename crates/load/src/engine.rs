//! The coordinator: starts workers, waits until every connection is open, lets them start together, merges their seconds
//! and makes the outcome. It sleeps while they work.

use crate::{
    bench::{Login, Timeline},
    client,
    connection::Connection,
    io,
    program::{self, Program},
    record::{Batch, ErrorBook, Seconds, StreamBatch},
    sample::{ClientUsage, Connects, End, Outcome, Phase, Sample, StreamOutcome},
    spec::{Address, Spec, Target, TlsMode},
    tls::Connector,
    transport::Peer,
    worker::{Report, Worker},
};
use rustix::{
    event::{EventfdFlags, eventfd},
    fd::OwnedFd,
};
use std::{
    net::{TcpStream, ToSocketAddrs as _},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};
use thiserror::Error as ThisError;

/// How long connecting may go on without any connection being opened.
const OPENING_STALL_MAX: Duration = Duration::from_secs(30);
/// How long the server's address may take to answer at all.
const REACH_MAX: Duration = Duration::from_secs(10);
/// How far ahead the start is set, so that all workers have heard of it.
const START_AHEAD: Duration = Duration::from_millis(2);
/// How often the coordinator looks whether it is to stop.
const LOOK_UP: Duration = Duration::from_millis(50);
/// How long it may go on where attempts fail: the connections of an earlier load may still be on their way out.
const OPENING_FAILURE_MAX: Duration = Duration::from_secs(5);
/// "Too many connections": passes when others close theirs. Any other refusal of the server is final.
const TOO_MANY_CONNECTIONS: u16 = 1040;

/// Why a load could not begin.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The workload cannot be run.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A stream without connections, or a load without duration.
    #[error("{0}")]
    Spec(&'static str),
    /// Nothing answers at the address.
    #[error("cannot reach {address}: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("TLS to {address}: {reason}")]
    Tls {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// Not all connections could be opened.
    #[error("only {opened} of {wanted} connections to {address} could be opened: {reason} (error {code})")]
    Opening {
        /// Where.
        address: String,
        /// How many were.
        opened: u32,
        /// How many were asked for.
        wanted: u32,
        /// The last failure, in the server's words where it said something.
        reason: String,
        /// Its code.
        code: u16,
    },
    /// The caller stopped it before it began.
    #[error("interrupted before the load began")]
    Interrupted,
    /// The operating system refused something.
    #[error("the operating system refused: {0}")]
    System(#[from] std::io::Error),
}

/// What happens while a load runs.
#[derive(Debug)]
pub enum Progress {
    /// So many connections are open, of so many.
    Opening {
        /// Open.
        opened: u32,
        /// Asked for.
        wanted: u32,
    },
    /// All connections are open; the load begins now.
    Started,
    /// A second of one stream.
    Sample(Box<Sample>),
}

/// Stops a load from another thread.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Asks the load to end; it does within about two seconds.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for work that is not a load but shall end with it.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Whether it was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What coordinator and workers share: written twice in a load, never on the hot path.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stopped: AtomicBool,
    /// 0: not yet.
    start_ns: AtomicU64,
}

impl Control {
    pub(crate) fn start_ns(&self) -> Option<u64> {
        Some(self.start_ns.load(Ordering::Acquire)).filter(|&start| start != 0)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Takes the wake-up away from the descriptor.
    pub(crate) fn acknowledge(&self, wake: &OwnedFd) {
        // nothing to read means that somebody woke the worker twice
        let _ = rustix::io::read(wake, &mut [0u8; 8]);
    }

    fn wake(wakes: &[Arc<OwnedFd>]) {
        for wake in wakes {
            // the counter of an eventfd cannot be full after two writes
            let _ = rustix::io::write(&**wake, &1u64.to_ne_bytes());
        }
    }
}

/// What workers tell the coordinator.
#[derive(Debug)]
pub(crate) enum Message {
    Opened { version: String },
    NotOpened { loss: String, code: u16 },
    Hopeless(String),
}

/// Carries out a load and tells of it. Returns when it is over and every connection is closed.
///
/// # Errors
/// Where it could not begin. Everything that goes wrong once it has begun is in the [`Outcome`].
pub fn run(spec: &Spec, stop: &Stop, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, Error> {
    check(spec)?;
    let programs = spec
        .streams
        .iter()
        .map(|stream| Program::new(&stream.workload, stream.protocol, stream.connections))
        .collect::<Result<Vec<_>, _>>()?;
    let login = login(&spec.target)?;
    let seconds = Seconds::new(spec.warm_up, spec.interval);
    let epoch = Instant::now();
    let control = Control::default();
    let groups = deal(spec, &programs);
    thread::scope(|scope| {
        let (messages, inbox) = mpsc::channel();
        let (full, batches) = mpsc::channel();
        let mut crew = Crew { workers: Vec::new(), wakes: Vec::new(), empties: Vec::new() };
        for (index, connections) in groups.into_iter().enumerate() {
            let wake = Arc::new(
                eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(std::io::Error::from)?,
            );
            let (empty_sender, empty) = mpsc::channel();
            let batch = Box::new(Batch::new(index, &programs));
            let timeline = Timeline::new(batch, seconds.clone(), full.clone(), empty);
            let shared = (&programs[..], &login, epoch);
            let talk = (messages.clone(), Arc::clone(&wake));
            let worker = Worker::new(connections, shared, timeline, &control, talk);
            let name = format!("load-{index}");
            crew.workers.push(thread::Builder::new().name(name).spawn_scoped(scope, || worker.run())?);
            crew.wakes.push(wake);
            crew.empties.push(empty_sender);
        }
        drop((messages, full));
        let coordinator = Coordinator { spec, programs: &programs, seconds, epoch, control: &control, stop };
        coordinator.conduct(crew, &inbox, &batches, tell)
    })
}

fn check(spec: &Spec) -> Result<(), Error> {
    if spec.streams.is_empty() || spec.streams.iter().any(|stream| stream.connections == 0) {
        return Err(Error::Spec("a load needs at least one stream, and each stream at least one connection"));
    }
    if spec.interval.is_zero() {
        return Err(Error::Spec("the measurement interval must be longer than nothing"));
    }
    Ok(())
}

/// Gives the connections to the workers in turn, so that each has its share of every stream.
fn deal(spec: &Spec, programs: &[Program]) -> Vec<Vec<Connection>> {
    let total: usize = spec.streams.iter().map(|stream| stream.connections as usize).sum();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let workers = spec.workers.map_or(processors, |workers| workers as usize).clamp(1, total);
    let mut groups: Vec<Vec<Connection>> = (0..workers).map(|_| Vec::new()).collect();
    let mut next = 0;
    for (index, stream) in spec.streams.iter().enumerate() {
        for number in 0..stream.connections {
            groups[next % workers].push(Connection::new(index, number, spec.seed, &programs[index]));
            next += 1;
        }
    }
    groups
}

/// Resolves the address to one that answers, so that thousands of connections do not each try a dead one first.
fn login(target: &Target) -> Result<Login, Error> {
    let unreachable = |reason: String| Error::Unreachable { address: target.address.to_string(), reason };
    let peer = match &target.address {
        Address::Unix(path) => Peer::Unix(path.clone()),
        Address::Tcp { host, port } => {
            let mut reason = "the name has no address".to_owned();
            let mut found = None;
            for address in
                (host.as_str(), *port).to_socket_addrs().map_err(|error| unreachable(error.to_string()))?
            {
                match TcpStream::connect_timeout(&address, REACH_MAX) {
                    Ok(_) => {
                        found = Some(address);
                        break;
                    }
                    Err(error) => reason = error.to_string(),
                }
            }
            Peer::Tcp(found.ok_or_else(|| unreachable(reason))?)
        }
    };
    let failed = |reason: String| Error::Tls { address: target.address.to_string(), reason };
    let tls = Connector::new(target).map_err(|error| failed(error.to_string()))?;
    let mut options = client::options(target);
    // whether "preferred" comes to TLS depends on the server: asked once, so that all connections are of one kind
    if target.tls.mode == TlsMode::Preferred {
        let probe =
            client::Connection::open(target, REACH_MAX).map_err(|error| unreachable(error.to_string()))?;
        if !probe.is_encrypted() {
            options.tls = wire::client::TlsWish::Never;
        }
    }
    Ok(Login { peer, options: Arc::new(options), tls })
}

type Handle<'scope> = thread::ScopedJoinHandle<'scope, std::io::Result<Report>>;

/// The running workers and how to reach them.
struct Crew<'scope> {
    workers: Vec<Handle<'scope>>,
    wakes: Vec<Arc<OwnedFd>>,
    empties: Vec<Sender<Box<Batch>>>,
}

struct Coordinator<'a> {
    spec: &'a Spec,
    programs: &'a [Program],
    seconds: Seconds,
    epoch: Instant,
    control: &'a Control,
    stop: &'a Stop,
}

impl Coordinator<'_> {
    fn conduct(
        &self,
        crew: Crew<'_>,
        inbox: &Receiver<Message>,
        batches: &Receiver<Box<Batch>>,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, Error> {
        let opened = self.wait_until_open(inbox, tell);
        let version = match opened {
            Ok(version) => version,
            Err(error) => {
                self.end(&crew);
                for worker in crew.workers {
                    // the reason for giving up is the error that is returned
                    let _ = worker.join();
                }
                return Err(error);
            }
        };
        let start_ns = (self.epoch.elapsed() + START_AHEAD).as_nanos() as u64;
        self.control.start_ns.store(start_ns, Ordering::Release);
        Control::wake(&crew.wakes);
        tell(Progress::Started);
        let mut gatherer = Gatherer::new(self, crew.workers.len());
        let end = gatherer.gather(&crew, inbox, batches, tell);
        self.end(&crew);
        let mut reports = Vec::new();
        for worker in crew.workers {
            reports.push(worker.join().map_err(|_| std::io::Error::other("a worker thread panicked"))??);
        }
        Ok(gatherer.outcome(reports, end, version))
    }

    fn end(&self, crew: &Crew<'_>) {
        self.control.stopped.store(true, Ordering::Relaxed);
        Control::wake(&crew.wakes);
    }

    /// Returns the server's version once every connection is open.
    fn wait_until_open(
        &self,
        inbox: &Receiver<Message>,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<String, Error> {
        let wanted: u32 = self.spec.streams.iter().map(|stream| stream.connections).sum();
        let mut opened = 0;
        let mut patience = OPENING_STALL_MAX;
        let mut last_opened = Instant::now();
        let address = self.spec.target.address.to_string();
        let mut last_failure = (format!("no reply within {} s", OPENING_STALL_MAX.as_secs()), 2013);
        loop {
            match inbox.recv_timeout(LOOK_UP) {
                Ok(Message::Opened { version }) => {
                    let version = plain_version(version);
                    opened += 1;
                    last_opened = Instant::now();
                    tell(Progress::Opening { opened, wanted });
                    if opened == wanted {
                        return Ok(version);
                    }
                }
                Ok(Message::NotOpened { loss, code }) => {
                    let is_final = (1000..2000).contains(&code) && code != TOO_MANY_CONNECTIONS;
                    patience = if is_final { Duration::ZERO } else { patience.min(OPENING_FAILURE_MAX) };
                    last_failure = (loss, code);
                }
                Ok(Message::Hopeless(reason)) => last_failure = (reason, 2000),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => patience = Duration::ZERO,
            }
            if self.stop.is_stopped() {
                return Err(Error::Interrupted);
            }
            if last_opened.elapsed() >= patience {
                let (reason, code) = last_failure;
                return Err(Error::Opening { address, opened, wanted, reason, code });
            }
        }
    }
}

/// MariaDB's greeting has 5.5.5- before the version, for the sake of old replicas.
fn plain_version(greeted: String) -> String {
    match greeted.strip_prefix("5.5.5-") {
        Some(version) if version.contains("MariaDB") => version.to_owned(),
        _ => greeted,
    }
}

/// Merges what the workers send.
struct Gatherer<'a> {
    coordinator: &'a Coordinator<'a>,
    workers: usize,
    /// Seconds that not all workers have delivered yet, with the number of those that have.
    partial: Vec<(usize, Box<Batch>)>,
    totals: Vec<StreamBatch>,
    measured: Duration,
    usage_at_start: io::Usage,
    usage_at_end: io::Usage,
}

impl<'a> Gatherer<'a> {
    fn new(coordinator: &'a Coordinator<'a>, workers: usize) -> Self {
        Self {
            coordinator,
            workers,
            partial: Vec::new(),
            totals: coordinator.programs.iter().map(StreamBatch::new).collect(),
            measured: Duration::ZERO,
            usage_at_start: io::process_usage(),
            usage_at_end: io::process_usage(),
        }
    }

    fn gather(
        &mut self,
        crew: &Crew<'_>,
        inbox: &Receiver<Message>,
        batches: &Receiver<Box<Batch>>,
        tell: &mut dyn FnMut(Progress),
    ) -> End {
        let mut done = 0;
        while done < self.coordinator.seconds.count() {
            let received = batches.recv_timeout(LOOK_UP);
            while let Ok(message) = inbox.try_recv() {
                if let Message::Hopeless(reason) = message {
                    return End::Failed(reason);
                }
            }
            match received {
                Ok(batch) => done += u32::from(self.add(batch, crew, tell)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return End::Failed("a worker ended early".to_owned()),
            }
            if self.coordinator.stop.is_stopped() {
                return End::Interrupted;
            }
        }
        End::Completed
    }

    /// Adds one worker's second. Returns whether that second is complete.
    fn add(&mut self, mut batch: Box<Batch>, crew: &Crew<'_>, tell: &mut dyn FnMut(Progress)) -> bool {
        let (worker, second) = (batch.worker, batch.second);
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
        self.finish_second(&whole, tell);
        whole.clear();
        let _ = crew.empties[whole.worker].send(whole);
        true
    }

    fn finish_second(&mut self, whole: &Batch, tell: &mut dyn FnMut(Progress)) {
        let seconds = &self.coordinator.seconds;
        let phase = seconds.phase(whole.second);
        let last_of_warm_up = phase == Phase::WarmUp && seconds.phase(whole.second + 1) == Phase::Measure;
        if last_of_warm_up {
            self.usage_at_start = io::process_usage();
        }
        if phase == Phase::Measure {
            self.measured += seconds.length(whole.second);
            self.usage_at_end = io::process_usage();
        }
        for (index, stream) in whole.streams.iter().enumerate() {
            if phase == Phase::Measure {
                self.totals[index].merge(stream);
            }
            tell(Progress::Sample(Box::new(Sample {
                stream: index as u16,
                second: whole.second,
                phase,
                length: seconds.length(whole.second),
                transactions: stream.all_transactions(),
                statements: stream.statements.clone(),
                errors: stream.errors,
                schedule: None,
            })));
        }
    }

    fn outcome(self, reports: Vec<Report>, end: End, server_version: String) -> Outcome {
        let spec = self.coordinator.spec;
        let streams = self
            .totals
            .into_iter()
            .enumerate()
            .map(|(index, total)| stream_outcome(index, &spec.streams[index], total, &reports))
            .collect();
        let client = ClientUsage {
            cpu_user: self.usage_at_end.user.saturating_sub(self.usage_at_start.user),
            cpu_system: self.usage_at_end.system.saturating_sub(self.usage_at_start.system),
            workers: reports.iter().map(|report| report.usage.user + report.usage.system).collect(),
            memory_bytes_max: io::memory_bytes_max(),
            ..ClientUsage::default()
        };
        Outcome { streams, client, interval: self.measured, end, server_version }
    }
}

fn stream_outcome(
    index: usize,
    stream: &crate::spec::Stream,
    total: StreamBatch,
    reports: &[Report],
) -> StreamOutcome {
    let mut opening = Connects::default();
    let mut errors = ErrorBook::default();
    let mut transactions_by_connection = vec![0; stream.connections as usize];
    for report in reports {
        opening.total.merge(&report.connect[index]);
        errors.merge(&report.errors[index]);
        for (_, number, count) in report.finished.iter().filter(|(of, _, _)| *of == index) {
            transactions_by_connection[*number as usize] = *count;
        }
    }
    StreamOutcome {
        name: stream.name.clone(),
        connections: stream.connections,
        connections_opened: reports.iter().map(|report| report.opened[index]).sum(),
        opening,
        transactions: total.all_transactions(),
        by_transaction: total.transactions,
        statements: total.statements,
        rolled_back: reports.iter().map(|report| report.rolled_back[index]).sum(),
        errors: errors.into_counts(),
        transactions_by_connection,
        in_flight_at_end: reports.iter().map(|report| report.in_flight[index].count).sum(),
        in_flight_age_max: reports
            .iter()
            .map(|report| report.in_flight[index].age_max)
            .max()
            .unwrap_or_default(),
        ..StreamOutcome::default()
    }
}
