//! Conducts a run: starts the threads, lets all connections begin together, reads the counts at intervals,
//! and ends it.

use crate::{
    Error, Script,
    core::{Book, Local},
    fiber::{Alone, Crew, Task, Told},
    tally::Tally,
    world::{Counted, Settings, World, lock},
};
use load::{
    Stop,
    hub::{Hub, Waker, Way},
};
use mlua::{Function, Table, Value};
use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// How often it looks whether it is to stop.
const LOOK_UP: Duration = Duration::from_millis(50);
/// Connections for each thread of the machine before another one takes its share: where the server is on
/// another machine, and where it is on this one and loses time to each further thread.
const CONNECTIONS_EACH: u32 = 4;
const CONNECTIONS_EACH_LOCAL: u32 = 16;
/// Connections for each processor beyond which threads yield to a server on the same machine, which always
/// has something else to do then.
const YIELD_CONNECTIONS: u32 = 4;

/// When counts are told.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    /// Every so long; zero: never.
    pub interval: Duration,
    /// And in full after so long, after which counting begins again.
    pub checkpoints: Vec<Duration>,
    /// The percentile that scripts' reports show.
    pub percentile: f64,
}

/// What happens in a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// All connections begin.
    Started,
    /// An interval is over.
    Interval(&'a Stat),
    /// A checkpoint is reached; everything since the last one.
    Checkpoint(&'a Stat),
    /// Events still run after the time, and are cut off.
    Forced,
}

/// Counts of some time.
#[derive(Debug, Clone)]
pub struct Stat {
    /// What was counted.
    pub tally: Tally,
    /// Connections that have not ended.
    pub running: u32,
    /// How long the time was.
    pub length: Duration,
    /// How long the run is.
    pub total: Duration,
    /// Events of an open loop that wait.
    pub queued: u32,
    /// Connections in an event.
    pub busy: u32,
    /// Events of an open loop that were given up, in the whole run.
    pub dropped: u32,
}

/// The end of a run.
#[derive(Debug)]
pub struct Ended {
    /// Everything since the last checkpoint.
    pub stat: Stat,
    /// How it ended.
    pub how: How,
    /// Whether the script has told of it in a report of its own.
    pub is_told: bool,
}

/// See [`Ended`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// By its limit.
    Done,
    /// So many events were cut off after the time that was given to them.
    Forced(u32),
    /// By the user.
    Interrupted,
}

/// Calls a command on every connection.
pub(crate) fn all(script: &Script, world: &Arc<World>, task: Task, stop: &Stop) -> Result<(), Error> {
    thread::scope(|scope| {
        let Hired { inbox, handles, .. } = hire(scope, script, world, &task)?;
        let mut working = handles.len();
        while working > 0 {
            match inbox.recv_timeout(LOOK_UP) {
                Ok(Told::Ended) => working -= 1,
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(Told::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.is_stopped() {
                world.stop();
            }
        }
        join(handles)?;
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
        if world.failed.load(Ordering::Relaxed) { Err(Error::Failed) } else { Ok(()) }
    })
}

type Handles<'s> = Vec<thread::ScopedJoinHandle<'s, Result<(), Error>>>;

/// Threads at work: what they count, what they tell, how they end.
struct Hired<'s> {
    counted: Vec<Arc<Counted>>,
    inbox: Receiver<Told>,
    handles: Handles<'s>,
}

/// Starts the threads, each with its share of the connections in turn.
fn hire<'s>(
    scope: &'s thread::Scope<'s, '_>,
    script: &'s Script,
    world: &'s Arc<World>,
    task: &Task,
) -> Result<Hired<'s>, Error> {
    let Settings { threads, workers, rate, ref ways, .. } = world.settings;
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u32);
    // a command that makes data has more to do than its server
    let local = ways.iter().any(Way::is_local) && matches!(task, Task::Run);
    let crews = workers.unwrap_or_else(|| crews_for(threads, processors, local)).clamp(1, threads);
    let yields = rate == 0.0 && threads > processors.saturating_mul(YIELD_CONNECTIONS);
    let (tell, inbox) = mpsc::channel();
    let (mut counted, mut handles) = (Vec::new(), Vec::new());
    for crew in 0..crews {
        let mine: Vec<_> = (crew..threads).step_by(crews as usize).map(|thread| (thread, None)).collect();
        let counts = Arc::new(Counted::new(Tally::of(mine.len())));
        counted.push(Arc::clone(&counts));
        let (task, tell) = (task.clone(), tell.clone());
        let work = move || {
            if yields {
                load::io::be_a_batch_thread();
            }
            let local = Hub::new().map(|hub| Local::new(hub, Book::Tally(counts)));
            let crew = local
                .map_err(Error::from)
                .and_then(|local| Crew::new(script, world, &mine, local, (task, tell.clone())));
            let result = crew.and_then(Crew::work);
            if result.is_err() {
                world.failed.store(true, Ordering::Relaxed);
                world.stop();
                // the conductor may have gone already
                let _ = tell.send(Told::Ended);
            }
            result
        };
        handles.push(thread::Builder::new().name(format!("script-{crew}")).spawn_scoped(scope, work)?);
    }
    Ok(Hired { counted, inbox, handles })
}

/// How many threads share the connections, where the server is on this machine (`local`) and where it is not.
fn crews_for(threads: u32, processors: u32, local: bool) -> u32 {
    threads.div_ceil(if local { CONNECTIONS_EACH_LOCAL } else { CONNECTIONS_EACH }).min(processors)
}

fn join(handles: Handles<'_>) -> Result<(), Error> {
    let mut result = Ok(());
    for handle in handles {
        // a thread that panicked has said so
        let ended = handle.join().unwrap_or(Err(Error::Failed));
        result = result.and(ended);
    }
    result
}

/// Runs events until a limit is reached.
pub(crate) fn run(
    script: &Script,
    world: &Arc<World>,
    alone: &mut Alone,
    watch: &Watch,
    stop: &Stop,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, Error> {
    thread::scope(|scope| {
        let Hired { counted, inbox, handles } = hire(scope, script, world, &Task::Run)?;
        let wakers = match get_ready(&inbox, handles.len(), world, stop) {
            Ok(wakers) => wakers,
            Err(error) => {
                world.stop();
                join(handles)?;
                return Err(error);
            }
        };
        let mut conductor = Conductor::new(world, alone, &counted, watch);
        tell(Event::Started);
        conductor.begin(&wakers);
        conductor.warm_up(stop);
        let how = conductor.follow(&inbox, handles.len(), stop, tell);
        wakers.iter().for_each(Waker::wake);
        join(handles)?;
        world.go_on();
        if world.failed.load(Ordering::Relaxed) {
            return Err(Error::Failed);
        }
        let stat = conductor.cumulated();
        let is_told = conductor.hook("report_cumulative", &stat)?;
        Ok(Ended { stat, how: how?, is_told })
    })
}

/// Waits until all connections are ready.
fn get_ready(inbox: &Receiver<Told>, crews: usize, world: &World, stop: &Stop) -> Result<Vec<Waker>, Error> {
    let mut wakers = Vec::new();
    while wakers.len() < crews {
        match inbox.recv_timeout(LOOK_UP) {
            Ok(Told::Ready(waker)) => wakers.push(waker),
            Ok(Told::Ended) | Err(RecvTimeoutError::Disconnected) => return Err(Error::NotBegun),
            Err(RecvTimeoutError::Timeout) if world.is_stopped() => return Err(Error::NotBegun),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
    }
    Ok(wakers)
}

struct Conductor<'a> {
    world: &'a World,
    alone: &'a mut Alone,
    counted: &'a [Arc<Counted>],
    watch: &'a Watch,
    started: Instant,
    /// Since the last checkpoint.
    sum: Tally,
    /// Since the last interval.
    fresh: Tally,
    /// When the interval and the time since the last checkpoint began.
    since: (Instant, Instant),
}

impl<'a> Conductor<'a> {
    fn new(world: &'a World, alone: &'a mut Alone, counted: &'a [Arc<Counted>], watch: &'a Watch) -> Self {
        let now = Instant::now();
        let (sum, fresh) = (Tally::default(), Tally::default());
        Self { world, alone, counted, watch, started: now, sum, fresh, since: (now, now) }
    }

    fn begin(&mut self, wakers: &[Waker]) {
        // what was asked while connections got ready is none of the run's
        for counted in self.counted {
            let mut counted = lock(counted);
            *counted = Tally::of(counted.threads.len());
        }
        self.world.running.store(self.world.settings.threads, Ordering::Relaxed);
        self.started = *self.world.start.get_or_init(Instant::now);
        self.since = (self.started, self.started);
        wakers.iter().for_each(Waker::wake);
    }

    /// Lets events run that are not counted.
    fn warm_up(&mut self, stop: &Stop) {
        let until = self.started + self.world.settings.warm_up;
        while Instant::now() < until && !stop.is_stopped() && !self.world.is_stopped() {
            thread::sleep(LOOK_UP.min(until.saturating_duration_since(Instant::now())));
        }
        if !self.world.settings.warm_up.is_zero() {
            self.take();
            (self.sum, self.fresh) = (Tally::default(), Tally::default());
            self.started = Instant::now();
            self.since = (self.started, self.started);
        }
    }

    fn follow(
        &mut self,
        inbox: &Receiver<Told>,
        crews: usize,
        stop: &Stop,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<How, Error> {
        let mut ended = 0;
        let mut checkpoints = self.watch.checkpoints.clone();
        checkpoints.sort();
        let started = self.started;
        let mut checkpoints = checkpoints.into_iter().map(|after| started + after).peekable();
        let every = Some(self.watch.interval).filter(|interval| !interval.is_zero());
        let mut next = every.map(|interval| self.started + interval);
        let settings = &self.world.settings;
        let forced = settings.forced_shutdown.filter(|_| !settings.time.is_zero());
        let forced = forced.map(|patience| self.started + settings.time + patience);
        while ended < crews {
            let now = Instant::now();
            let soonest = [next, forced, checkpoints.peek().copied()].into_iter().flatten().min();
            let patience = soonest.map_or(LOOK_UP, |at| at.saturating_duration_since(now).min(LOOK_UP));
            match inbox.recv_timeout(patience) {
                Ok(Told::Ended) => ended += 1,
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(Told::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            if self.world.failed.load(Ordering::Relaxed) {
                continue;
            }
            let now = Instant::now();
            // the last interval may end with the run
            if let (Some(at), Some(interval)) = (next, every)
                && at <= now
            {
                next = Some(at + interval);
                self.interval(tell)?;
            }
            if ended == crews {
                continue;
            }
            if checkpoints.next_if(|at| *at <= now).is_some() {
                let stat = self.cumulated();
                if !self.hook("report_cumulative", &stat)? {
                    tell(Event::Checkpoint(&stat));
                }
            }
            if forced.is_some_and(|at| at <= now) {
                let unfinished = self.world.busy.load(Ordering::Relaxed);
                tell(Event::Forced);
                self.world.stop();
                return Ok(How::Forced(unfinished));
            }
            if stop.is_stopped() {
                self.world.stop();
                return Ok(How::Interrupted);
            }
        }
        Ok(How::Done)
    }

    /// Takes what the threads have counted.
    fn take(&mut self) {
        let mut place = 0;
        for counted in self.counted {
            let mut counted = lock(counted);
            let empty = Tally::of(counted.threads.len());
            let taken = std::mem::replace(&mut *counted, empty);
            drop(counted);
            self.sum.merge(&taken, place);
            self.fresh.merge(&taken, place);
            place += taken.threads.len();
        }
    }

    fn stat(&self, tally: Tally, since: Instant, now: Instant) -> Stat {
        let read = |count: &std::sync::atomic::AtomicU32| count.load(Ordering::Relaxed);
        Stat {
            tally,
            // an interval that ends with the run was one of all of them
            running: Some(read(&self.world.running))
                .filter(|&count| count > 0)
                .unwrap_or(self.world.settings.threads),
            length: now.duration_since(since),
            total: now.duration_since(self.started),
            queued: read(&self.world.queued),
            busy: read(&self.world.busy),
            dropped: read(&self.world.dropped),
        }
    }

    fn interval(&mut self, tell: &mut dyn FnMut(Event<'_>)) -> Result<(), Error> {
        self.take();
        let now = Instant::now();
        let tally = std::mem::take(&mut self.fresh);
        let stat = self.stat(tally, self.since.0, now);
        self.since.0 = now;
        if !self.hook("report_intermediate", &stat)? {
            tell(Event::Interval(&stat));
        }
        Ok(())
    }

    /// Everything since the last checkpoint; counting begins again.
    fn cumulated(&mut self) -> Stat {
        self.take();
        let now = Instant::now();
        let sum = std::mem::take(&mut self.sum);
        let stat = self.stat(sum, self.since.1, now);
        self.since.1 = now;
        stat
    }

    /// Calls a script's own report; whether there is one.
    fn hook(&mut self, name: &str, stat: &Stat) -> Result<bool, Error> {
        let lua = &self.alone.state.lua;
        let hooks: Table = lua.globals().get::<Table>("sysbench")?.get("hooks")?;
        let Some(hook) = hooks.get::<Option<Function>>(name)? else { return Ok(false) };
        let table = lua.create_table()?;
        let tally = &stat.tally;
        table.set("threads_running", stat.running)?;
        table.set("time_interval", stat.length.as_secs_f64())?;
        table.set("time_total", stat.total.as_secs_f64())?;
        table.set("latency_pct", tally.bins.percentile(self.watch.percentile) / 1e3)?;
        let counts = [
            ("events", tally.events()),
            ("reads", tally.reads()),
            ("writes", tally.writes()),
            ("other", tally.other()),
            ("errors", tally.errors()),
            ("reconnects", tally.reconnects()),
        ];
        for (name, count) in counts {
            table.set(name, count as f64)?;
        }
        if name == "report_cumulative" {
            let times = [
                ("latency_min", tally.min.as_secs_f64()),
                ("latency_max", tally.max.as_secs_f64()),
                ("latency_avg", tally.sum.as_secs_f64() / (tally.events().max(1)) as f64),
                ("latency_sum", tally.sum.as_secs_f64()),
            ];
            for (name, seconds) in times {
                table.set(name, seconds)?;
            }
        } else if self.world.settings.rate > 0.0 {
            table.set("queue_length", stat.queued)?;
            table.set("concurrency", stat.busy)?;
        }
        match self.alone.call(&hook, Value::Table(table))? {
            Some(message) => Err(Error::Script(message)),
            None => Ok(true),
        }
    }
}
