//! The coordinator: starts workers, waits until every connection is open and lets them start together. It
//! sleeps while they work; [`crate::gather`] merges what they send.

use crate::{
    arrival::Deal,
    bench::{Login, Timeline},
    check::check,
    client,
    clock::{Clock, Moment, ns},
    connection::{Connection, Place},
    gather::Gatherer,
    need::{processors, workers_max},
    program::{self, Program},
    record::{Batch, Seconds},
    sample::{Outcome, Sample},
    share::{Share, budget_of},
    spec::{Address, Arrival, Begin, Scheduling, Spec, Stream, Target, TlsMode, is_used},
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
pub(crate) const LOOK_UP: Duration = Duration::from_millis(50);
/// How long it may go on where attempts fail: the connections of an earlier load may still be on their way
/// out.
const OPENING_FAILURE_MAX: Duration = Duration::from_secs(5);
/// Up to so many connections for each processor a worker that does not preempt leaves the server with nothing
/// to do until it gets its turn: on 2 processors with MariaDB, SCHED_OTHER gave 1.2 times as much with 4
/// connections, as much with 16, and 0.8 times as much with 128.
const YIELD_CONNECTIONS: u32 = 4;
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
    #[error("only {opened} of {wanted} connections to {address} could be opened: {reason}")]
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
    /// Where the measurement begins before the warm-up is over, since the load began; 0: not yet.
    measure_ns: AtomicU64,
    /// When each stream begins; far away: not yet known.
    begins_ns: Vec<AtomicU64>,
}

impl Control {
    fn new(streams: usize) -> Self {
        Self {
            stopped: AtomicBool::new(false),
            start_ns: AtomicU64::new(0),
            end_ns: AtomicU64::new(0),
            measure_ns: AtomicU64::new(0),
            begins_ns: (0..streams).map(|_| AtomicU64::new(u64::MAX)).collect(),
        }
    }

    pub(crate) fn end(&self) -> Option<Moment> {
        Some(self.end_ns.load(Ordering::Acquire)).filter(|&end| end != 0).map(Moment::of_ns)
    }

    pub(crate) fn set_end(&self, end: Moment) {
        self.end_ns.store(end.as_ns(), Ordering::Release);
    }

    pub(crate) fn measure_ns(&self) -> Option<u64> {
        Some(self.measure_ns.load(Ordering::Acquire)).filter(|&at| at != 0)
    }

    pub(crate) fn set_measure_ns(&self, at_ns: u64) {
        self.measure_ns.store(at_ns, Ordering::Release);
    }

    pub(crate) fn begin(&self, stream: usize) -> Moment {
        Moment::of_ns(self.begins_ns[stream].load(Ordering::Acquire))
    }

    pub(crate) fn set_begin(&self, stream: usize, begin: Moment) {
        self.begins_ns[stream].store(begin.as_ns(), Ordering::Release);
    }

    pub(crate) fn start(&self) -> Option<Moment> {
        Some(self.start_ns.load(Ordering::Acquire)).filter(|&start| start != 0).map(Moment::of_ns)
    }

    fn set_start(&self, start: Moment) {
        self.start_ns.store(start.as_ns(), Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Takes the wake-up away from the descriptor.
    pub(crate) fn acknowledge(&self, wake: &OwnedFd) {
        // nothing to read means that somebody woke the worker twice
        let _ = rustix::io::read(wake, &mut [0u8; 8]);
    }

    pub(crate) fn wake(wakes: &[Arc<OwnedFd>]) {
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
        /// Whether it had been told as opened before: it is not any more.
        was_open: bool,
    },
    Hopeless(String),
    /// A second of one worker.
    Second(Box<Batch>),
    /// One worker's share of a stream has reached its limit; its last transaction ended then.
    Done {
        stream: usize,
        at: Moment,
    },
}

/// Carries out a load and tells of it. Returns when it is over and every connection is closed.
///
/// # Errors
/// Where it could not begin. Everything that goes wrong once it has begun is in the [`Outcome`].
pub fn run(spec: &Spec, stop: &Stop, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, Error> {
    run_until_warm(spec, stop, &mut |progress| {
        tell(progress);
        WarmUp::Goes
    })
}

/// What whoever is told of a load answers: whether the warm-up, whose length is then the longest, may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// It goes on.
    Goes,
    /// It has done its work: the measurement begins with one of the next seconds, of all workers at the same
    /// time. What is answered later is of no matter.
    Done,
}

/// As [`run`], with a warm-up that ends as soon as `tell` says so.
///
/// # Errors
/// As [`run`].
pub fn run_until_warm(
    spec: &Spec,
    stop: &Stop,
    tell: &mut dyn FnMut(Progress) -> WarmUp,
) -> Result<Outcome, Error> {
    check(spec)?;
    let programs = spec.streams.iter().map(Program::of).collect::<Result<Vec<_>, _>>()?;
    let logins = logins(spec)?;
    let budgets: Vec<AtomicI64> = spec.streams.iter().map(budget_of).collect();
    let seconds = Seconds::new(spec.warm_up, spec.interval);
    let clock = Clock::start();
    let control = Control::new(spec.streams.len());
    let groups = deal(spec, &programs);
    let terms = terms(spec, groups.len(), clock);
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
            let worker_of = Worker::new(connections, (&programs, shares, &logins), timeline, terms, talk);
            let name = format!("load-{worker}");
            crew.workers.push(thread::Builder::new().name(name).spawn_scoped(scope, || worker_of.run())?);
            crew.wakes.push(wake);
            crew.empties.push(empty_sender);
        }
        drop(messages);
        let coordinator = Coordinator { spec, programs: &programs, clock, control: &control, stop };
        coordinator.conduct(crew, seconds, &inbox, tell)
    })
}

fn terms(spec: &Spec, workers: usize, clock: Clock) -> Terms {
    Terms {
        is_batch: match spec.scheduling {
            Scheduling::Auto => yields_to_servers(spec, processors()),
            Scheduling::Batch => true,
            Scheduling::Normal => false,
        },
        open_gap: spec
            .open_rate
            .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(workers as f64 / rate.max(1e-3))),
        connect_timeout: spec.connect_timeout,
        reply_timeout: spec.reply_timeout,
        clock,
    }
}

/// Whether workers do better not to preempt a server on the same machine: where nothing has a time to keep,
/// and so many connections wait for the server that it always has something else to do.
fn yields_to_servers(spec: &Spec, processors: u32) -> bool {
    let connections: u32 = spec.streams.iter().map(|stream| stream.connections).sum();
    let is_closed = spec.streams.iter().all(|stream| stream.arrival == Arrival::Closed);
    is_closed && connections > processors.saturating_mul(YIELD_CONNECTIONS)
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
    let workers = (spec.workers.unwrap_or_else(|| workers_max(spec)) as usize).clamp(1, total);
    let mut groups: Vec<Vec<Connection>> = (0..workers).map(|_| Vec::new()).collect();
    let mut next = 0;
    for (index, stream) in spec.streams.iter().enumerate() {
        for number in 0..stream.connections + stream.idle {
            let works = number < stream.connections;
            let server = stream.to.server_of(number, spec.members.len());
            let place = Place { stream: index, number, server };
            let connection = Connection::new(place, works, spec.seed, &programs[index]);
            groups[next % workers].push(connection);
            next += 1;
        }
    }
    groups
}

/// How to log in to each server; one that no stream goes to is not asked.
fn logins(spec: &Spec) -> Result<Vec<Option<Login>>, Error> {
    let servers = spec.ways().enumerate();
    let is_wanted = |server| is_used(&spec.streams, server, spec.members.len());
    servers.map(|(number, target)| is_wanted(number).then(|| login(target, spec)).transpose()).collect()
}

/// Resolves the address to one that answers, so that thousands of connections do not each try a dead one
/// first.
fn login(target: &Target, spec: &Spec) -> Result<Login, Error> {
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
    let mut options = client::options(target).map_err(|error| unreachable(error.to_string()))?;
    // whether "preferred" comes to TLS depends on the server: asked once, so that all connections are of one
    // kind
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
pub(crate) struct Crew<'scope> {
    workers: Vec<Handle<'scope>>,
    pub(crate) wakes: Vec<Arc<OwnedFd>>,
    pub(crate) empties: Vec<Sender<Box<Batch>>>,
}

pub(crate) struct Coordinator<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) programs: &'a [Program],
    pub(crate) clock: Clock,
    pub(crate) control: &'a Control,
    pub(crate) stop: &'a Stop,
}

impl Coordinator<'_> {
    fn conduct(
        &self,
        crew: Crew<'_>,
        seconds: Seconds,
        inbox: &Receiver<Message>,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
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
        let start = self.soon();
        self.set_begins(start, self.spec.warm_up);
        self.control.set_start(start);
        Control::wake(&crew.wakes);
        tell(Progress::Started);
        let mut gatherer = Gatherer::new(self, seconds, (start, crew.workers.len()));
        let end = gatherer.gather(&crew, inbox, tell);
        self.end(&crew);
        let mut reports = Vec::new();
        for worker in crew.workers {
            reports.push(worker.join().map_err(|_| std::io::Error::other("a worker thread panicked"))??);
        }
        Ok(gatherer.outcome(reports, end, version))
    }

    /// Says when the streams begin, as far as that is known before they run; again when the warm-up ends
    /// earlier.
    pub(crate) fn set_begins(&self, start: Moment, warm_up: Duration) {
        let measured = start.after(ns(warm_up));
        for (index, stream) in self.spec.streams.iter().enumerate() {
            let begin = match &stream.begin {
                Begin::Together if stream.limit.is_none() => start,
                Begin::Together => measured,
                Begin::After(wait) => measured.after(ns(*wait)),
                Begin::WhenDone(_) => Moment::NEVER,
            };
            self.control.set_begin(index, begin);
        }
    }

    /// The next time of which all workers have heard before it comes.
    pub(crate) fn soon(&self) -> Moment {
        self.clock.now().after(ns(START_AHEAD))
    }

    fn end(&self, crew: &Crew<'_>) {
        self.control.stopped.store(true, Ordering::Relaxed);
        Control::wake(&crew.wakes);
    }

    /// Returns the server's version once every connection is open: what was lost again is not.
    fn wait_until_open(
        &self,
        inbox: &Receiver<Message>,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> Result<String, Error> {
        let wanted: u32 = self.spec.streams.iter().map(|stream| stream.connections + stream.idle).sum();
        let (mut opened, mut lost) = (0_u32, 0_u32);
        let gap = self.spec.open_rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(2.0 / rate));
        let mut patience = OPENING_STALL_MAX.max(self.spec.connect_timeout * 2) + gap;
        let mut last_opened = Instant::now();
        let members = self.spec.members.len();
        let used =
            self.spec.ways().enumerate().filter(|(number, _)| is_used(&self.spec.streams, *number, members));
        let address = used.map(|(_, target)| target.address.to_string()).collect::<Vec<_>>().join(", ");
        let mut last_failure = (format!("no reply within {} s", OPENING_STALL_MAX.as_secs()), 2013);
        let mut version = String::new();
        loop {
            // where all are open, only what has been said already is heard: one of them may be lost again
            let wait = if opened == wanted { Duration::ZERO } else { LOOK_UP };
            match inbox.recv_timeout(wait) {
                Ok(Message::Opened { version: greeted }) => {
                    version = plain_version(greeted);
                    opened += 1;
                    // a server that lets everybody in and none stay makes no progress
                    if lost <= wanted {
                        last_opened = Instant::now();
                    }
                    tell(Progress::Opening { opened, wanted });
                }
                Ok(Message::NotOpened { loss, code, was_open }) => {
                    opened -= u32::from(was_open);
                    lost = lost.saturating_add(u32::from(was_open));
                    let is_final = !was_open && (1000..2000).contains(&code) && code != TOO_MANY_CONNECTIONS;
                    patience =
                        if is_final { Duration::ZERO } else { patience.min(OPENING_FAILURE_MAX + gap) };
                    last_failure = (loss, code);
                }
                Ok(Message::Hopeless(reason)) => last_failure = (reason, 2000),
                Ok(Message::Second(_) | Message::Done { .. }) => {}
                Err(RecvTimeoutError::Timeout) if opened == wanted => return Ok(version),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Think, Workload};

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
