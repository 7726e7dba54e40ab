//! A load whose parts are carried out elsewhere, each at the other end of a [`Link`]: it conducts them as it
//! would workers of its own, and merges what they deliver. It does not know what the links are.
//!
//! All parts begin at one time of the monotonic clock, once each has said that its connections are open. One
//! that is gone, or says nothing for [`SILENCE_MAX`], ends the load with an error that names it: what it did
//! is not known, and figures without it would be those of another load.

use crate::{
    Outcome, Spec,
    check::check,
    clock::{Moment, ns},
    conduct::{Team, conduct},
    control::{Message, Order},
    deal,
    engine::{programs, secrets_of},
    error::Error,
    frame::{self, Hello, Said, Task},
    gather::PartReport,
    loader::{Loader, Progress, WarmUp},
    record::Batch,
    spec::Part,
    stop::Stop,
};
use std::{
    io::{self, Read, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How far ahead a time is set of which all parts are to hear before.
const AHEAD: Duration = Duration::from_millis(50);
/// A part that has said nothing for so long hangs: it speaks every second.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How long a part may take to end: its replies are waited for for two seconds.
const FINISH_MAX: Duration = Duration::from_secs(12);

/// What leads to a process that has been started to call [`crate::part::serve`].
pub struct Link {
    /// What it is called in messages: `load process 2 of 4`.
    pub name: String,
    /// Its number, where it is a process of this machine.
    pub process: Option<u32>,
    /// What it says.
    pub from: Box<dyn Read + Send>,
    /// What it hears.
    pub to: Box<dyn Write + Send>,
    /// Ends it if it has not ended, and says how it did.
    pub end: Box<dyn Fn() -> String + Send + Sync>,
}

/// Starts part number so many of so many.
type Start = dyn Fn(Part) -> Result<Link, Error> + Send + Sync;

/// Carries loads out in so many parts.
pub struct Parts {
    count: u32,
    start: Box<Start>,
}

impl Parts {
    /// In `count` parts, each of which `start` starts.
    pub fn new(count: u32, start: impl Fn(Part) -> Result<Link, Error> + Send + Sync + 'static) -> Self {
        Self { count: count.max(1), start: Box::new(start) }
    }

    /// How many parts a load has: none is without a connection.
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
        for number in 0..of {
            let part = Part { number, of };
            let task = Task { spec: Spec { part, ..spec.clone() }, secrets: secrets.clone() };
            fellows.push(Fellow::new((self.start)(part)?, task, messages.clone())?);
        }
        drop(messages);
        tell(Progress::Processes(fellows.iter().filter_map(|fellow| fellow.process).collect()));
        conduct((spec, &programs), Fellows(fellows), &inbox, stop, tell)
    }

    fn workers_max(&self, spec: &Spec) -> u32 {
        let of = self.count_of(spec);
        let part = Part { number: 0, of };
        deal::workers_max(&Spec { part, ..spec.clone() }, deal::processors().div_ceil(of))
    }
}

/// A part that has been started. It ends when this is dropped.
struct Fellow {
    name: String,
    process: Option<u32>,
    voice: Arc<Voice>,
    /// When it spoke last, ns of the monotonic clock.
    heard_ns: Arc<AtomicU64>,
    finished: Receiver<PartReport>,
    end: Arc<dyn Fn() -> String + Send + Sync>,
    listener: Option<JoinHandle<()>>,
}

impl Fellow {
    fn new(link: Link, task: Task, messages: Sender<Message>) -> io::Result<Self> {
        let Link { name, process, from, to, end } = link;
        let end: Arc<dyn Fn() -> String + Send + Sync> = end.into();
        let (finished_sender, finished) = mpsc::channel();
        let mut fellow = Self {
            name: name.clone(),
            process,
            voice: Arc::default(),
            heard_ns: Arc::new(AtomicU64::new(Moment::now().as_ns())),
            finished,
            end: Arc::clone(&end),
            listener: None,
        };
        let (voice, heard_ns) = (Arc::clone(&fellow.voice), Arc::clone(&fellow.heard_ns));
        let listener = move || {
            let mut ear = Ear { from, heard_ns, messages };
            if let Err(reason) = ear.listen((to, &voice), task, &finished_sender, &*end) {
                let _ = ear.messages.send(Message::Lost { part: name, reason });
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

/// What a part is told. One that is still being given its task gets no orders; dropping it ends it.
#[derive(Default)]
struct Voice(Mutex<Option<Box<dyn Write + Send>>>);

impl Voice {
    /// The part has its task.
    fn begin(&self, to: Box<dyn Write + Send>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
    }

    fn say(&self, order: Order) {
        if let Some(to) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // where it is gone, its listener says so
            let _ = frame::write(to, &order);
        }
    }

    /// It is told nothing more.
    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Hears what a part says.
struct Ear {
    from: Box<dyn Read + Send>,
    heard_ns: Arc<AtomicU64>,
    messages: Sender<Message>,
}

impl Ear {
    /// Gives the part its task, and hands on what it says until it has ended. The error says why it did not
    /// do its part.
    fn listen(
        &mut self,
        (mut to, voice): (Box<dyn Write + Send>, &Voice),
        task: Task,
        finished: &Sender<PartReport>,
        end: &(dyn Fn() -> String + Send + Sync),
    ) -> Result<(), String> {
        match frame::read::<Hello>(&mut self.from) {
            Ok(Some(hello)) if hello == Hello::ours() => {}
            Ok(None) => return Err(format!("it ended before it said anything ({})", end())),
            Ok(Some(_)) => return Err("it is of another version of Prony: update it".to_owned()),
            Err(error) => return Err(format!("what it says is not understood: {error}")),
        }
        let gone = |error: io::Error| format!("it is gone ({}; {error})", end());
        frame::write(&mut to, &task).map_err(gone)?;
        voice.begin(to);
        loop {
            let said = frame::read::<Said>(&mut self.from).map_err(gone)?;
            self.heard_ns.store(Moment::now().as_ns(), Ordering::Relaxed);
            match said {
                Some(Said::Alive) => {}
                // nobody listens any more where the load has been given up
                Some(Said::Of(message)) => drop(self.messages.send(message)),
                Some(Said::Refused(reason)) => return Err(reason),
                Some(Said::Finished(report)) => {
                    // from now on its silence means nothing
                    self.heard_ns.store(Moment::NEVER.as_ns(), Ordering::Relaxed);
                    let _ = finished.send(*report);
                    return Ok(());
                }
                None => return Err(format!("it is gone ({})", end())),
            }
        }
    }
}

/// All parts of a load.
struct Fellows(Vec<Fellow>);

impl Team for Fellows {
    fn members(&self) -> usize {
        self.0.len()
    }

    fn ahead(&self) -> Duration {
        AHEAD
    }

    fn order(&mut self, order: Order) {
        for fellow in &self.0 {
            fellow.voice.say(order);
        }
    }

    fn give_back(&mut self, _: Box<Batch>) {
        // it came as bytes
    }

    fn check(&self) -> Result<(), Error> {
        let now = Moment::now();
        let hangs = |fellow: &&Fellow| {
            now.since(Moment::of_ns(fellow.heard_ns.load(Ordering::Relaxed))) > ns(SILENCE_MAX)
        };
        match self.0.iter().find(hangs) {
            None => Ok(()),
            Some(fellow) => Err(Error::Part {
                part: fellow.name.clone(),
                reason: format!("it has said nothing for {} s: it hangs", SILENCE_MAX.as_secs()),
            }),
        }
    }

    fn finish(self) -> Result<Vec<(String, PartReport)>, Error> {
        let deadline = Moment::now().after(ns(FINISH_MAX));
        let mut reports = Vec::new();
        for fellow in &self.0 {
            let left = Duration::from_nanos(deadline.since(Moment::now()));
            let reason = match fellow.finished.recv_timeout(left) {
                Ok(report) => {
                    reports.push((fellow.name.clone(), report));
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => "it does not end",
                Err(RecvTimeoutError::Disconnected) => "it ended without a report",
            };
            return Err(Error::Part { part: fellow.name.clone(), reason: reason.to_owned() });
        }
        Ok(reports)
    }
}
