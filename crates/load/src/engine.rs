//! The coordinator: starts workers, waits until every connection is open, lets them start together, merges their seconds
//! and makes the outcome. It sleeps while they work.

use crate::{
    arrival::Deal,
    bench::{Login, Timeline},
    client,
    connection::Connection,
    io,
    outage::outages,
    program::{self, Program},
    record::{Batch, ErrorBook, Seconds, StreamBatch},
    sample::{ClientUsage, Connects, End, Outcome, Phase, Sample, StreamOutcome},
    share::{Share, budget_of},
    spec::{Address, Arrival, Begin, ConnectionMode, Rate, Scheduling, Spec, Stream, TlsMode},
    tls::Connector,
    transport::Peer,
    worker::{Report, Terms, Worker},
};
use rustix::{
    event::{EventfdFlags, eventfd},
    fd::OwnedFd,
};
use std::{
    net::{TcpStream, ToSocketAddrs as _},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
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
    /// What is asked for makes no sense; the text says what and why.
    #[error("{0}")]
    Spec(String),
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

/// What coordinator and workers share: written a few times in a load, only read on the hot path.
#[derive(Debug)]
pub(crate) struct Control {
    stopped: AtomicBool,
    /// 0: not yet.
    start_ns: AtomicU64,
    /// Where the load ends before its interval is over; 0: not yet.
    end_ns: AtomicU64,
    /// When each stream begins; far away: not yet known.
    begins_ns: Vec<AtomicU64>,
}

impl Control {
    fn new(streams: usize) -> Self {
        Self {
            stopped: AtomicBool::new(false),
            start_ns: AtomicU64::new(0),
            end_ns: AtomicU64::new(0),
            begins_ns: (0..streams).map(|_| AtomicU64::new(u64::MAX)).collect(),
        }
    }

    pub(crate) fn end_ns(&self) -> Option<u64> {
        Some(self.end_ns.load(Ordering::Acquire)).filter(|&end| end != 0)
    }

    pub(crate) fn begin_ns(&self, stream: usize) -> u64 {
        self.begins_ns[stream].load(Ordering::Acquire)
    }

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
    Opened {
        version: String,
    },
    NotOpened {
        loss: String,
        code: u16,
    },
    Hopeless(String),
    /// A second of one worker.
    Second(Box<Batch>),
    /// One worker's share of a stream has reached its limit; its last transaction ended then.
    Done {
        stream: usize,
        at_ns: u64,
    },
}

/// Carries out a load and tells of it. Returns when it is over and every connection is closed.
///
/// # Errors
/// Where it could not begin. Everything that goes wrong once it has begun is in the [`Outcome`].
pub fn run(spec: &Spec, stop: &Stop, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, Error> {
    check(spec)?;
    let programs = spec.streams.iter().map(Program::of).collect::<Result<Vec<_>, _>>()?;
    let login = login(spec)?;
    let budgets: Vec<AtomicI64> = spec.streams.iter().map(budget_of).collect();
    let seconds = Seconds::new(spec.warm_up, spec.interval);
    let epoch = Instant::now();
    let control = Control::new(spec.streams.len());
    let groups = deal(spec, &programs);
    let terms = terms(spec, groups.len(), epoch);
    thread::scope(|scope| {
        let (messages, inbox) = mpsc::channel();
        let mut crew = Crew { workers: Vec::new(), wakes: Vec::new(), empties: Vec::new() };
        let workers = groups.len();
        for (worker, connections) in groups.into_iter().enumerate() {
            let wake = Arc::new(
                eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(std::io::Error::from)?,
            );
            let (empty_sender, empty) = mpsc::channel();
            let batch = Box::new(Batch::new(worker, &programs));
            let timeline = Timeline::new(batch, seconds.clone(), messages.clone(), empty);
            let shares = shares(spec, &budgets, (worker, workers));
            let talk = (&control, messages.clone(), Arc::clone(&wake));
            let worker_of = Worker::new(connections, (&programs, shares, &login), timeline, terms, talk);
            let name = format!("load-{worker}");
            crew.workers.push(thread::Builder::new().name(name).spawn_scoped(scope, || worker_of.run())?);
            crew.wakes.push(wake);
            crew.empties.push(empty_sender);
        }
        drop(messages);
        let coordinator = Coordinator { spec, programs: &programs, epoch, control: &control, stop };
        coordinator.conduct(crew, seconds, &inbox, tell)
    })
}

/// What is asked for must make sense as a whole.
fn check(spec: &Spec) -> Result<(), Error> {
    let refuse = |text: String| Err(Error::Spec(text));
    if spec.streams.is_empty() || spec.streams.iter().any(|stream| stream.connections == 0) {
        return refuse(
            "a load needs at least one stream, and each stream at least one connection".to_owned(),
        );
    }
    if spec.interval.is_zero() {
        return refuse("the measurement interval must be longer than nothing".to_owned());
    }
    if spec.open_rate.is_some_and(|rate| rate.is_nan() || rate <= 0.0) {
        return refuse("connections opened in a second must be more than 0".to_owned());
    }
    for (index, stream) in spec.streams.iter().enumerate() {
        let name = &stream.name;
        if spec.streams[..index].iter().any(|other| other.name == *name) {
            return refuse(format!("two streams are named `{name}`"));
        }
        check_arrival(stream)?;
        if stream.connect == ConnectionMode::Transactions(0) {
            return refuse(format!("stream `{name}`: a connection must last for at least 1 transaction"));
        }
        if let Begin::WhenDone(first) = &stream.begin {
            let before = spec.streams.iter().find(|other| other.name == *first);
            if before.is_none_or(|before| before.limit.is_none()) || stream.limit.is_none() {
                return refuse(format!(
                    "stream `{name}` begins when `{first}` is done: both must be there and have a limit"
                ));
            }
        }
    }
    match circle(&spec.streams) {
        Some(name) => refuse(format!("stream `{name}` waits for its own end")),
        None => Ok(()),
    }
}

fn check_arrival(stream: &Stream) -> Result<(), Error> {
    let good = |rate: f64| rate.is_finite() && rate >= 0.0;
    let lasts = |time: Duration| !time.is_zero();
    let is_good = match &stream.arrival {
        Arrival::Closed | Arrival::Think(_) => true,
        Arrival::Paced { every, .. } => lasts(*every),
        Arrival::Open { rate, .. } => match rate {
            Rate::Constant(rate) => good(*rate) && *rate > 0.0,
            Rate::Steps(steps) => {
                !steps.is_empty() && steps.iter().all(|step| good(step.rate) && lasts(step.lasts))
            }
            Rate::Ramp { from, to, over } => good(*from) && good(*to) && lasts(*over),
            Rate::Sine { mean, amplitude, period } => {
                good(*mean) && good(*amplitude) && amplitude <= mean && lasts(*period)
            }
            Rate::Burst { base, peak, length, every } => {
                good(*base) && good(*peak) && lasts(*length) && length <= every
            }
        },
    };
    if is_good {
        return Ok(());
    }
    Err(Error::Spec(format!(
        "stream `{}`: rates must be 0 or more (a constant one more), times longer than nothing, an amplitude not above the \
         mean, a burst not longer than its period",
        stream.name
    )))
}

/// A stream that, by way of others or directly, begins when it has ended itself.
fn circle(streams: &[Stream]) -> Option<&str> {
    let before = |stream: &Stream| match &stream.begin {
        Begin::WhenDone(first) => streams.iter().find(|other| other.name == *first),
        _ => None,
    };
    streams.iter().map(|stream| (stream, stream)).find_map(|(first, mut at)| {
        for _ in 0..streams.len() {
            at = before(at)?;
            if at.name == first.name {
                return Some(first.name.as_str());
            }
        }
        None
    })
}

fn terms(spec: &Spec, workers: usize, epoch: Instant) -> Terms {
    let is_closed = spec.streams.iter().all(|stream| stream.arrival == Arrival::Closed);
    Terms {
        is_batch: match spec.scheduling {
            Scheduling::Auto => is_closed,
            Scheduling::Batch => true,
            Scheduling::Normal => false,
        },
        open_gap: spec
            .open_rate
            .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(workers as f64 / rate.max(1e-3))),
        connect_timeout: spec.connect_timeout,
        reply_timeout: spec.reply_timeout,
        epoch,
    }
}

/// What one worker has of each stream.
fn shares<'a>(spec: &Spec, budgets: &'a [AtomicI64], (worker, workers): (usize, usize)) -> Vec<Share<'a>> {
    let mut dealt = 0;
    let share = |(index, stream): (usize, &Stream)| {
        let deal = Deal { connections: stream.connections, first_worker: dealt % workers, workers, worker };
        dealt += (stream.connections + stream.idle) as usize;
        Share::new(stream, &budgets[index], deal, (spec.seed, index as u32))
    };
    spec.streams.iter().enumerate().map(share).collect()
}

/// Gives the connections to the workers in turn, so that each has its share of every stream.
fn deal(spec: &Spec, programs: &[Program]) -> Vec<Vec<Connection>> {
    let total: usize = spec.streams.iter().map(|stream| stream.connections as usize).sum();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let workers = spec.workers.map_or(processors, |workers| workers as usize).clamp(1, total);
    let mut groups: Vec<Vec<Connection>> = (0..workers).map(|_| Vec::new()).collect();
    let mut next = 0;
    for (index, stream) in spec.streams.iter().enumerate() {
        for number in 0..stream.connections + stream.idle {
            let works = number < stream.connections;
            let connection = Connection::new((index, number), works, spec.seed, &programs[index]);
            groups[next % workers].push(connection);
            next += 1;
        }
    }
    groups
}

/// Resolves the address to one that answers, so that thousands of connections do not each try a dead one first.
fn login(spec: &Spec) -> Result<Login, Error> {
    let target = &spec.target;
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
    Ok(Login { peer, options: Arc::new(options), tls, sources: spec.sources.clone() })
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
    epoch: Instant,
    control: &'a Control,
    stop: &'a Stop,
}

impl Coordinator<'_> {
    fn conduct(
        &self,
        crew: Crew<'_>,
        seconds: Seconds,
        inbox: &Receiver<Message>,
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
        self.set_begins(start_ns);
        self.control.start_ns.store(start_ns, Ordering::Release);
        Control::wake(&crew.wakes);
        tell(Progress::Started);
        let mut gatherer = Gatherer::new(self, seconds, (start_ns, crew.workers.len()));
        let end = gatherer.gather(&crew, inbox, tell);
        self.end(&crew);
        let mut reports = Vec::new();
        for worker in crew.workers {
            reports.push(worker.join().map_err(|_| std::io::Error::other("a worker thread panicked"))??);
        }
        Ok(gatherer.outcome(reports, end, version))
    }

    /// Says when the streams begin, as far as that is known before they run.
    fn set_begins(&self, start_ns: u64) {
        let measured_ns = start_ns + self.spec.warm_up.as_nanos() as u64;
        for (stream, begin) in self.spec.streams.iter().zip(&self.control.begins_ns) {
            let begin_ns = match &stream.begin {
                Begin::Together if stream.limit.is_none() => start_ns,
                Begin::Together => measured_ns,
                Begin::After(wait) => measured_ns + wait.as_nanos() as u64,
                Begin::WhenDone(_) => u64::MAX,
            };
            begin.store(begin_ns, Ordering::Release);
        }
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
        let wanted: u32 = self.spec.streams.iter().map(|stream| stream.connections + stream.idle).sum();
        let mut opened = 0;
        let gap = self.spec.open_rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(2.0 / rate));
        let mut patience = OPENING_STALL_MAX.max(self.spec.connect_timeout * 2) + gap;
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
                    patience =
                        if is_final { Duration::ZERO } else { patience.min(OPENING_FAILURE_MAX + gap) };
                    last_failure = (loss, code);
                }
                Ok(Message::Hopeless(reason)) => last_failure = (reason, 2000),
                Ok(Message::Second(_) | Message::Done { .. }) => {}
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
    seconds: Seconds,
    start_ns: u64,
    workers: usize,
    /// Seconds that not all workers have delivered yet, with the number of those that have.
    partial: Vec<(usize, Box<Batch>)>,
    totals: Vec<StreamBatch>,
    /// How many workers have reached the limit of each stream, and when the last transaction of it ended.
    done: Vec<(usize, u64)>,
    measured: Duration,
    usage_at_start: io::Usage,
    usage_at_end: io::Usage,
}

impl<'a> Gatherer<'a> {
    fn new(coordinator: &'a Coordinator<'a>, seconds: Seconds, (start_ns, workers): (u64, usize)) -> Self {
        Self {
            coordinator,
            seconds,
            start_ns,
            workers,
            partial: Vec::new(),
            totals: coordinator.programs.iter().map(StreamBatch::new).collect(),
            done: vec![(0, 0); coordinator.programs.len()],
            measured: Duration::ZERO,
            usage_at_start: io::process_usage(),
            usage_at_end: io::process_usage(),
        }
    }

    fn gather(&mut self, crew: &Crew<'_>, inbox: &Receiver<Message>, tell: &mut dyn FnMut(Progress)) -> End {
        let mut complete = 0;
        while complete < self.seconds.count() {
            match inbox.recv_timeout(LOOK_UP) {
                Ok(Message::Second(batch)) => complete += u32::from(self.add(batch, crew, tell)),
                Ok(Message::Done { stream, at_ns }) => self.note_done(stream, at_ns, crew),
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

    /// A worker has reached the limit of a stream. When all have, those that waited for it begin; when all streams with
    /// a limit have reached theirs, the load ends.
    fn note_done(&mut self, stream: usize, at_ns: u64, crew: &Crew<'_>) {
        let (count, last_ns) = &mut self.done[stream];
        *count += 1;
        *last_ns = at_ns.max(*last_ns);
        if *count < self.workers {
            return;
        }
        let Coordinator { spec, control, epoch, .. } = self.coordinator;
        // all workers are to hear of it before the time has come
        let soon_ns = (epoch.elapsed() + START_AHEAD).as_nanos() as u64;
        for (other, begin) in spec.streams.iter().zip(&control.begins_ns) {
            if other.begin == Begin::WhenDone(spec.streams[stream].name.clone()) {
                begin.store(soon_ns, Ordering::Release);
            }
        }
        let limited = spec.streams.iter().zip(&self.done).filter(|(stream, _)| stream.limit.is_some());
        if limited.into_iter().all(|(_, (count, _))| *count == self.workers) {
            self.seconds.cut(soon_ns - self.start_ns);
            control.end_ns.store(soon_ns, Ordering::Release);
        }
        Control::wake(&crew.wakes);
    }

    /// Adds one worker's second. Returns whether that second is complete.
    fn add(&mut self, mut batch: Box<Batch>, crew: &Crew<'_>, tell: &mut dyn FnMut(Progress)) -> bool {
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
        self.finish_second(&whole, tell);
        whole.clear();
        let _ = crew.empties[whole.worker].send(whole);
        true
    }

    fn finish_second(&mut self, whole: &Batch, tell: &mut dyn FnMut(Progress)) {
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
            tell(Progress::Sample(Box::new(Sample {
                stream: index as u16,
                second: whole.second,
                phase,
                length: seconds.length(whole.second),
                transactions: stream.all_transactions(),
                statements: stream.statements.clone(),
                errors: stream.errors,
                schedule: stream.schedule.clone(),
            })));
        }
    }

    fn outcome(mut self, reports: Vec<Report>, end: End, server_version: String) -> Outcome {
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
            memory_bytes_max: io::memory_bytes_max(),
            ..ClientUsage::default()
        };
        for report in &reports {
            client.send_delay.merge(&report.send_delay);
            client.queueing.merge(&report.queueing);
        }
        Outcome { streams, client, interval: self.measured, end, server_version }
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
            outages: outages(silences, self.start_ns),
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
        let warm_up = self.coordinator.spec.warm_up;
        let end = warm_up + self.measured;
        let since_start = |ns: u64| Duration::from_nanos(ns.saturating_sub(self.start_ns));
        let begin_ns = reports.iter().map(|report| report.streams[index].begin_ns).min().unwrap_or(0);
        let from = since_start(begin_ns).clamp(warm_up, end);
        let (count, done_ns) = self.done[index];
        let until = if count == self.workers { since_start(done_ns).clamp(from, end) } else { end };
        (from, until)
    }
}
