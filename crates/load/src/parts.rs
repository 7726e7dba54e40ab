//! A load whose parts run elsewhere, each at the other end of a [`Link`]. It conducts them as it would its
//! own workers, and merges what they deliver. It does not know what the links are.
//!
//! All parts begin at the same time of the monotonic clock, which is set once each has said that its
//! connections are open. A part with its own clock is asked for the time until then; from the start on, its
//! times are converted with what was known then, so that all times are on one clock. A part that is gone, is
//! silent for [`SILENCE_MAX`] or does not keep up ends the load with an error that names it: what it did is
//! unknown, and figures without it would be those of another load.

use crate::{
    Outcome, Spec,
    check::check,
    clock::{Moment, ns},
    clocks::{Offset, Rounds},
    conduct::{Team, conduct},
    control::{Message, Order},
    deal,
    engine::{programs, secrets_of},
    error::{Error, PartFailure},
    frame::{self, Hello, Said, Task, Told},
    gather::PartReport,
    host::Host,
    loader::{Loader, Progress, WarmUp},
    record::Batch,
    sample::PartClock,
    spec::Part,
    stop::Stop,
};
use std::{
    cell::Cell,
    io::{self, Read, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How far ahead a time is set, so that all parts hear of it in time; for those with their own clock, two
/// round trips more.
const AHEAD: Duration = Duration::from_millis(50);
/// How often another clock is asked before its part gets its task, and how often from then on.
const ROUNDS: u32 = 8;
const ROUND_EVERY: Duration = Duration::from_millis(500);
/// How often it is looked whether all parts are there: not for each thing that one of many says.
const CHECK_EVERY: Duration = Duration::from_millis(50);
/// How late the seconds of a part that lives may be.
const SLOW_MAX: Duration = Duration::from_secs(8);
/// One that has been heard within this time lives.
const LIVES: Duration = Duration::from_secs(3);
/// A part that has been silent for this long hangs: it speaks every second.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How long a part may take to end: it waits two seconds for its last replies.
const FINISH_MAX: Duration = Duration::from_secs(12);

/// The way to a process that has been started to call [`crate::part::serve`].
pub struct Link {
    /// Its name in messages: `load process 2 of 4`.
    pub name: String,
    /// Its process number, if it runs on this machine.
    pub process: Option<u32>,
    /// What it says.
    pub from: Box<dyn Read + Send>,
    /// What it hears.
    pub to: Box<dyn Write + Send>,
    /// Ends it if it is still running, and says how it ended.
    pub end: Box<dyn Fn() -> String + Send + Sync>,
    /// The load host that it is on; `None`: it is on this machine, and has its clock.
    pub host: Option<Host>,
}

/// Starts this many parts.
type Start = dyn Fn(u32) -> Result<Vec<Link>, Error> + Send + Sync;

/// Runs loads in several parts.
pub struct Parts {
    count: u32,
    processors: Option<u32>,
    start: Box<Start>,
}

impl Parts {
    /// In at most `count` parts on this machine; `start` starts as many as a load needs.
    pub fn new(count: u32, start: impl Fn(u32) -> Result<Vec<Link>, Error> + Send + Sync + 'static) -> Self {
        Self { count: count.max(1), processors: None, start: Box::new(start) }
    }

    /// Each has so many processors, on a machine of its own.
    #[must_use]
    pub fn on_machines_of(self, processors: u32) -> Self {
        Self { processors: Some(processors), ..self }
    }

    /// How many parts a load has: each has at least one connection.
    fn count_of(&self, spec: &Spec) -> u32 {
        let connections: u32 = spec.streams.iter().map(|stream| stream.connections).sum();
        self.count.min(connections.max(1))
    }
}

impl Loader for Parts {
    fn run_until_warm(
        &self,
        spec: &Spec,
        stop: &Stop,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> Result<Outcome, Error> {
        check(spec)?;
        let programs = programs(spec)?;
        let secrets = secrets_of(spec)?;
        let of = self.count_of(spec);
        let (messages, inbox) = mpsc::channel();
        let mut fellows = Vec::new();
        for (link, number) in (self.start)(of)?.into_iter().zip(0..) {
            let part = Part { number, of };
            let task = Task { spec: Spec { part, ..spec.clone() }, secrets: secrets.clone() };
            fellows.push(Fellow::new(link, task, messages.clone())?);
        }
        drop(messages);
        tell(Progress::Processes(fellows.iter().filter_map(|fellow| fellow.process).collect()));
        let (asked, checked) = (Cell::new(Moment::now()), Cell::new(Moment::ZERO));
        let team = Fellows { all: fellows, asked, checked };
        conduct((spec, &programs), team, &inbox, stop, tell)
    }

    fn workers_max(&self, spec: &Spec) -> u32 {
        let of = self.count_of(spec);
        let part = Part { number: 0, of };
        let processors = self.processors.unwrap_or_else(|| deal::processors().div_ceil(of));
        deal::workers_max(&Spec { part, ..spec.clone() }, processors)
    }
}

/// A part that has been started. It ends when this is dropped.
struct Fellow {
    name: String,
    process: Option<u32>,
    voice: Arc<Voice>,
    known: Arc<Known>,
    host: Option<Host>,
    finished: Receiver<PartReport>,
    end: Arc<dyn Fn() -> String + Send + Sync>,
    listener: Option<JoinHandle<()>>,
}

/// What is known of a part.
struct Known {
    /// When it spoke last, ns of the monotonic clock.
    heard_ns: AtomicU64,
    /// When its last second came, or the load began.
    second_ns: AtomicU64,
    /// Its clock, where that is its own.
    clock: Option<Mutex<Clock>>,
}

/// The clock of a part.
#[derive(Default)]
struct Clock {
    rounds: Rounds,
    /// By what the load reckons, once it has begun.
    settled: Option<Offset>,
}

impl Known {
    fn new(own_clock: bool) -> Self {
        Self {
            heard_ns: AtomicU64::new(Moment::now().as_ns()),
            second_ns: AtomicU64::new(Moment::NEVER.as_ns()),
            clock: own_clock.then(Mutex::default),
        }
    }

    /// What is done with its clock, if it has one.
    fn with_clock<T>(&self, act: impl FnOnce(&mut Clock) -> T) -> Option<T> {
        let clock = self.clock.as_ref()?;
        Some(act(&mut clock.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// How far its clock is ahead, by which the load reckons from now on.
    fn settle(&self) -> i64 {
        let settle = |clock: &mut Clock| {
            let best = clock.rounds.best().unwrap_or_default();
            clock.settled.get_or_insert(best).ahead_ns
        };
        self.with_clock(settle).unwrap_or(0)
    }

    /// How far its clock is ahead by what the load reckons with; 0 before it has begun.
    fn ahead_ns(&self) -> i64 {
        self.with_clock(|clock| clock.settled).flatten().unwrap_or_default().ahead_ns
    }

    /// The same as far as it is known by now.
    fn ahead_by_now_ns(&self) -> i64 {
        self.with_clock(|clock| clock.settled.or(clock.rounds.best())).flatten().unwrap_or_default().ahead_ns
    }

    /// Half of the shortest round trip to it.
    fn way_ns(&self) -> u64 {
        self.with_clock(|clock| clock.rounds.best()).flatten().unwrap_or_default().uncertainty_ns
    }

    fn compared(&self) -> Option<PartClock> {
        self.with_clock(|clock| {
            let after = clock.rounds.best().unwrap_or_default();
            PartClock { before: clock.settled.unwrap_or(after), after }
        })
    }

    fn heard(&self) {
        self.heard_ns.store(Moment::now().as_ns(), Ordering::Relaxed);
    }

    /// It has done its part, so its silence no longer matters.
    fn is_through(&self) {
        self.heard_ns.store(Moment::NEVER.as_ns(), Ordering::Relaxed);
        self.second_ns.store(Moment::NEVER.as_ns(), Ordering::Relaxed);
    }

    fn silence_ns(&self, now: Moment) -> u64 {
        now.since(Moment::of_ns(self.heard_ns.load(Ordering::Relaxed)))
    }

    /// How long ago its last second came, where the load runs.
    fn behind_ns(&self, now: Moment) -> u64 {
        now.since(Moment::of_ns(self.second_ns.load(Ordering::Relaxed)))
    }
}

impl Fellow {
    fn new(link: Link, task: Task, messages: Sender<Message>) -> io::Result<Self> {
        let Link { name, process, from, to, end, host } = link;
        let end: Arc<dyn Fn() -> String + Send + Sync> = end.into();
        let (finished_sender, finished) = mpsc::channel();
        let mut fellow = Self {
            name: name.clone(),
            process,
            voice: Arc::default(),
            known: Arc::new(Known::new(host.is_some())),
            host,
            finished,
            end: Arc::clone(&end),
            listener: None,
        };
        let (voice, known) = (Arc::clone(&fellow.voice), Arc::clone(&fellow.known));
        let listener = move || {
            let connections = deal::connections_of(&task.spec);
            let mut ear = Ear { name, connections, from, known, messages };
            if let Err(failure) = ear.listen((to, &voice), task, &finished_sender, &*end) {
                let _ = ear.messages.send(Message::Lost { part: ear.name, failure });
            }
        };
        let thread = thread::Builder::new().name("load-part".to_owned());
        fellow.listener = Some(thread.spawn(listener)?);
        Ok(fellow)
    }
}

impl Drop for Fellow {
    fn drop(&mut self) {
        // it ends by itself when nobody can tell it anything any more
        self.voice.end();
        (self.end)();
        if let Some(listener) = self.listener.take() {
            // what it says ends with it; a panic of the listener has been told already
            let _ = listener.join();
        }
    }
}

/// Orders to a part. A part that is still getting its task gets no orders; dropping this ends it.
#[derive(Default)]
struct Voice(Mutex<Option<Box<dyn Write + Send>>>);

impl Voice {
    /// The part has its task.
    fn begin(&self, to: Box<dyn Write + Send>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
    }

    fn say(&self, told: &Told) {
        if let Some(to) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // where it is gone, its listener says so
            let _ = frame::write(to, told);
        }
    }

    /// It is told nothing more.
    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Hears what a part says.
struct Ear {
    name: String,
    /// Connections of the part.
    connections: u32,
    from: Box<dyn Read + Send>,
    known: Arc<Known>,
    messages: Sender<Message>,
}

impl Ear {
    /// Gives the part its task, and passes on what it says until it has ended. The error says why it did not
    /// do its part.
    fn listen(
        &mut self,
        (mut to, voice): (Box<dyn Write + Send>, &Voice),
        task: Task,
        finished: &Sender<PartReport>,
        end: &(dyn Fn() -> String + Send + Sync),
    ) -> Result<(), PartFailure> {
        match frame::read::<Hello>(&mut self.from) {
            Ok(Some(hello)) => hello.check()?,
            Ok(None) => return Err(PartFailure::Mute { end: end() }),
            Err(error) => return Err(PartFailure::Strange { cause: error.to_string() }),
        }
        let gone = |error: io::Error| PartFailure::Cut { end: end(), cause: error.to_string() };
        for _ in 0..if self.known.clock.is_some() { ROUNDS } else { 0 } {
            frame::write(&mut to, &Told::Clock(Moment::now())).map_err(gone)?;
            self.hear(finished, end)?;
        }
        frame::write(&mut to, &Told::Task(Box::new(task))).map_err(gone)?;
        voice.begin(to);
        while !self.hear(finished, end)? {}
        Ok(())
    }

    /// Hears one thing. Whether it was the last.
    fn hear(
        &mut self,
        finished: &Sender<PartReport>,
        end: &(dyn Fn() -> String + Send + Sync),
    ) -> Result<bool, PartFailure> {
        let gone = |error: io::Error| PartFailure::Cut { end: end(), cause: error.to_string() };
        let said = frame::read::<Said>(&mut self.from).map_err(gone)?;
        self.known.heard();
        match said {
            Some(Said::Alive { at, seen: Some(seen) }) => {
                let (part, connections) = (self.name.clone(), self.connections);
                let at = at.moved(-self.known.ahead_by_now_ns());
                let behind = Duration::from_nanos(self.known.behind_ns(Moment::now()));
                // nobody listens any more where the load has been given up
                drop(self.messages.send(Message::Seen { part, connections, at, behind, seen }));
            }
            Some(Said::Alive { seen: None, .. }) => {}
            Some(Said::Clock { asked, there }) => {
                let heard = Moment::now();
                self.known.with_clock(|clock| clock.rounds.add(asked, there, heard));
            }
            Some(Said::Of(message)) => {
                if matches!(message, Message::Second(_)) {
                    self.known.second_ns.store(Moment::now().as_ns(), Ordering::Relaxed);
                }
                let ahead_ns = self.known.ahead_ns();
                // nobody listens any more where the load has been given up
                drop(self.messages.send(message.moved(-ahead_ns)));
            }
            Some(Said::Failed(failure)) => return Err(failure),
            Some(Said::Finished(report)) => {
                self.known.is_through();
                let ahead_ns = self.known.ahead_ns();
                let _ = finished.send(report.moved(-ahead_ns));
                return Ok(true);
            }
            None => return Err(PartFailure::Gone { end: end() }),
        }
        Ok(false)
    }
}

/// All parts of a load.
struct Fellows {
    all: Vec<Fellow>,
    /// When their clocks were asked last.
    asked: Cell<Moment>,
    /// When it was looked last whether they are there.
    checked: Cell<Moment>,
}

impl Fellows {
    /// Asks the clocks again, if it is time.
    fn ask_clocks(&self, now: Moment) {
        if now.since(self.asked.get()) < ns(ROUND_EVERY) {
            return;
        }
        self.asked.set(now);
        for fellow in self.all.iter().filter(|fellow| fellow.known.clock.is_some()) {
            fellow.voice.say(&Told::Clock(Moment::now()));
        }
    }
}

impl Team for Fellows {
    fn members(&self) -> usize {
        self.all.len()
    }

    fn ahead(&self) -> Duration {
        let way_ns = self.all.iter().map(|fellow| fellow.known.way_ns()).max().unwrap_or(0);
        AHEAD + 4 * Duration::from_nanos(way_ns)
    }

    fn order(&mut self, order: Order) {
        for fellow in &self.all {
            let ahead_ns = if order == Order::Stop { 0 } else { fellow.known.settle() };
            if let Order::Start(at) = order {
                fellow.known.second_ns.store(at.as_ns(), Ordering::Relaxed);
            }
            fellow.voice.say(&Told::Order(order.moved(ahead_ns)));
        }
    }

    fn give_back(&mut self, _: Box<Batch>) {
        // it came as bytes
    }

    fn check(&self) -> Result<(), Error> {
        let now = Moment::now();
        if now.since(self.checked.get()) < ns(CHECK_EVERY) {
            return Ok(());
        }
        self.checked.set(now);
        self.ask_clocks(now);
        let failed = |fellow: &Fellow, failure| Err(Error::Part { part: fellow.name.clone(), failure });
        let hangs = |fellow: &&Fellow| fellow.known.silence_ns(now) > ns(SILENCE_MAX);
        if let Some(fellow) = self.all.iter().find(hangs) {
            return failed(fellow, PartFailure::Silent { seconds: SILENCE_MAX.as_secs() });
        }
        let slowest = self.all.iter().max_by_key(|fellow| fellow.known.behind_ns(now));
        match slowest.filter(|fellow| fellow.known.behind_ns(now) > ns(SLOW_MAX)) {
            // one that says nothing at all is waited for a little longer, and is not called slow
            Some(fellow) if fellow.known.silence_ns(now) < ns(LIVES) => {
                failed(fellow, PartFailure::Slow { seconds: SLOW_MAX.as_secs() })
            }
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<Vec<(String, PartReport)>, Error> {
        let deadline = Moment::now().after(ns(FINISH_MAX));
        let mut reports = Vec::new();
        for fellow in &self.all {
            let left = Duration::from_nanos(deadline.since(Moment::now()));
            let failure = match fellow.finished.recv_timeout(left) {
                Ok(report) => {
                    let (clock, host) = (fellow.known.compared(), fellow.host.clone());
                    let report = PartReport { clock, host, ..report };
                    reports.push((fellow.name.clone(), report));
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => PartFailure::Endless,
                Err(RecvTimeoutError::Disconnected) => PartFailure::NoReport,
            };
            return Err(Error::Part { part: fellow.name.clone(), failure });
        }
        Ok(reports)
    }
}

#[cfg(test)]
mod crowd;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Expect, Piece, Statement, Step, Stream, Target, Transaction, Workload};
    use std::os::unix::net::UnixStream;

    /// A part that opens its connections, lives, and delivers no second.
    fn idle(there: UnixStream, connections: u32) {
        let mut from = there.try_clone().expect("a socket");
        let said = Mutex::new(there);
        let say = |said_by: &Said| frame::write(&mut *said.lock().expect("no panic"), said_by);
        frame::write(&mut *said.lock().expect("no panic"), &Hello::ours()).expect("a caller");
        thread::scope(|scope| {
            scope.spawn(|| {
                while say(&Said::Alive { at: Moment::now(), seen: None }).is_ok() {
                    thread::sleep(Duration::from_millis(200));
                }
            });
            while let Ok(Some(told)) = frame::read::<Told>(&mut from) {
                if let Told::Task(_) = told {
                    for _ in 0..connections {
                        let opened = Message::Opened { version: "1".to_owned() };
                        say(&Said::Of(opened)).expect("a caller");
                    }
                }
            }
        });
    }

    #[test]
    fn a_part_that_lives_and_does_not_keep_up_ends_the_load() {
        let target = Target::of_nobody();
        let (kind, pieces, keep) = ("one".to_owned(), vec![Piece::Sql("SELECT 1".to_owned())], Vec::new());
        let statement = Statement { kind, pieces, text_only: false, keep, expect: Expect::Row };
        let steps = vec![Step::Statement(statement)];
        let transactions = vec![Transaction { name: "only".to_owned(), weight: 1.0, steps }];
        let streams = vec![Stream::new("main", Workload::new("test", 1, transactions), 2)];
        let spec = Spec::new(target, streams, Duration::ZERO, Duration::from_secs(60));
        let parts = Parts::new(2, |of| {
            let link = |number| {
                let (here, there) = UnixStream::pair()?;
                thread::spawn(move || idle(there, 1));
                Ok(Link {
                    name: format!("part {number}"),
                    process: None,
                    from: Box::new(here.try_clone()?),
                    to: Box::new(here.try_clone()?),
                    end: Box::new(move || {
                        let _ = here.shutdown(std::net::Shutdown::Both);
                        String::new()
                    }),
                    host: None,
                })
            };
            (0..of).map(link).collect()
        });
        let error = parts.run(&spec, &Stop::default(), &mut |_| ()).expect_err("there is no result");
        let Error::Part { failure, .. } = &error else { panic!("{error}") };
        assert_eq!(*failure, PartFailure::Slow { seconds: SLOW_MAX.as_secs() }, "{error}");
    }
}
