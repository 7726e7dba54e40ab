//! One thread of the machine with its share of the connections. Each connection has a Lua state and a
//! coroutine, which continues as soon as what it waits for has come.

use crate::{
    Error, Script,
    core::{Book, Core, Local, Resumption},
    state::State,
    world::{Counted, World},
};
use load::hub::{Done, Hub, Waker, What};
use mlua::{Function, MultiValue, Thread, Value};
use std::{
    collections::VecDeque,
    rc::Rc,
    sync::{Arc, atomic::Ordering, mpsc::Sender},
    time::{Duration, Instant},
};

/// How often a thread looks whether it is to end, when nothing else happens.
const LOOK_UP: Duration = Duration::from_millis(50);
/// Events of an open loop that wait on one thread; more are dropped and counted.
const DUE_MAX: usize = 131_072;

/// What a thread tells.
#[derive(Debug)]
pub(crate) enum Told {
    /// Its connections are ready to begin.
    Ready(Waker),
    /// It has ended.
    Ended,
}

/// What is called in every state after the script itself was read.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    /// `thread_init`, then, when all are ready, `thread_run` and `thread_done`.
    Run,
    /// A command.
    Command(String),
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    Preparing,
    Ready,
    Running,
    Finishing,
    Over,
}

struct Fiber {
    state: State,
    coroutine: Option<Thread>,
    stage: Stage,
}

/// Connections of one thread of the machine.
pub(crate) struct Crew<'a> {
    script: &'a Script,
    world: Arc<World>,
    local: Rc<Local>,
    fibers: Vec<Fiber>,
    task: Task,
    tell: Sender<Told>,
    /// Ready or over.
    at_rest: usize,
    is_told: bool,
    has_begun: bool,
    arrivals: Option<Arrivals>,
}

/// When events of an open loop are due: with exponential gaps.
struct Arrivals {
    next: Instant,
    gap: Duration,
    random: load::random::Random,
}

impl<'a> Crew<'a> {
    /// Makes the states of the connections `threads`, each with the server that it goes to where that is
    /// fixed.
    pub(crate) fn new(
        script: &'a Script,
        world: &Arc<World>,
        threads: &[(u32, Option<usize>)],
        local: Local,
        (task, tell): (Task, Sender<Told>),
    ) -> Result<Self, Error> {
        let local = Rc::new(local);
        let mut fibers = Vec::with_capacity(threads.len());
        for (owner, (thread, way)) in (0..).zip(threads) {
            if world.is_stopped() {
                break;
            }
            let state = State::new(Rc::new(Core::new((owner, *thread), *way, world, &local)))?;
            script.prepare(&state)?;
            if threads.len() > script.compiled_max {
                state.lua.load("jit.off()").exec()?;
            }
            fibers.push(Fiber { state, coroutine: None, stage: Stage::Reading });
        }
        let world = Arc::clone(world);
        let (at_rest, is_told, has_begun, arrivals) = (0, false, false, None);
        Ok(Self { script, world, local, fibers, task, tell, at_rest, is_told, has_begun, arrivals })
    }

    /// Reads the script in every state.
    pub(crate) fn read(&mut self) {
        for owner in 0..self.fibers.len() {
            let chunk = self.script.chunk(&self.fibers[owner].state);
            match chunk {
                Ok(chunk) => self.call(owner, chunk, MultiValue::new()),
                Err(error) => self.fail(owner, "sysbench.cmdline.read", &error.to_string()),
            }
        }
    }

    /// Carries the task out.
    pub(crate) fn work(mut self) -> Result<(), Error> {
        self.read();
        while !self.is_done() {
            self.go_on_with_all();
            self.look_around();
            if self.is_done() {
                break;
            }
            let patience = self.patience();
            self.wait(patience)?;
        }
        // whoever waits for connections that never began hears of their end
        let _ = self.tell.send(Told::Ended);
        Ok(())
    }

    /// Resumes everybody for whom something has come.
    pub(crate) fn go_on_with_all(&mut self) {
        while let Some(Done { owner, what }) = self.next() {
            self.go_on(owner as usize, what);
        }
    }

    pub(crate) fn wait(&self, patience: Duration) -> std::io::Result<()> {
        self.local.hub.borrow_mut().wait(patience)
    }

    /// Where facts are noted, and who wants to begin an event.
    pub(crate) fn book(&self) -> &Book {
        &self.local.book
    }

    /// Connections that have got ready, ever, and the version of the server.
    pub(crate) fn ready(&self) -> (usize, String) {
        (self.at_rest, self.fibers.first().map_or_else(String::new, |fiber| fiber.state.core.version()))
    }

    /// The connection, which asked for it, may begin an event or not.
    pub(crate) fn answer(&mut self, owner: u32, may_begin: bool) {
        let owner = owner as usize;
        self.fibers[owner].state.core.answered();
        self.resume(owner, Value::Boolean(may_begin));
    }

    /// Lets all that are ready begin.
    pub(crate) fn begin(&mut self) {
        for owner in 0..self.fibers.len() {
            if self.fibers[owner].stage == Stage::Ready {
                self.fibers[owner].stage = Stage::Running;
                self.call_named(owner, "thread_run");
            }
        }
    }

    fn next(&self) -> Option<Done> {
        self.local.hub.borrow_mut().take_done()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.world.is_stopped() || self.fibers.iter().all(|fiber| fiber.stage == Stage::Over)
    }

    fn patience(&self) -> Duration {
        let due =
            self.arrivals.as_ref().map(|arrivals| arrivals.next.saturating_duration_since(Instant::now()));
        due.map_or(LOOK_UP, |due| due.min(LOOK_UP))
    }

    /// What does not come from a server: the start, events of an open loop, the end.
    fn look_around(&mut self) {
        if self.at_rest == self.fibers.len() && !self.is_told && matches!(self.task, Task::Run) {
            self.is_told = true;
            let waker = self.local.hub.borrow().waker();
            let _ = self.tell.send(Told::Ready(waker));
        }
        let Some(start) = self.world.start.get() else { return };
        if !std::mem::replace(&mut self.has_begun, true) {
            self.start(*start);
        }
        if self.arrivals.is_some() {
            self.let_arrive();
        }
    }

    fn start(&mut self, start: Instant) {
        if self.world.settings.rate > 0.0 {
            let share = self.fibers.len() as f64 / f64::from(self.world.settings.threads);
            let gap = Duration::from_secs_f64(1.0 / (self.world.settings.rate * share));
            let seed = self.world.settings.random.seed;
            let random = load::random::Random::for_connection(seed, 1, self.fibers[0].state.core.thread);
            self.arrivals = Some(Arrivals { next: start, gap, random });
        }
        self.begin();
    }

    /// Hands events that are due to connections that wait for some.
    fn let_arrive(&mut self) {
        let now = Instant::now();
        let is_over = self.world.is_over();
        if let Some(arrivals) = &mut self.arrivals
            && !is_over
        {
            let mut due = self.local.due.borrow_mut();
            while arrivals.next <= now {
                if due.len() < DUE_MAX {
                    due.push_back(arrivals.next);
                    self.world.queued.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.world.dropped.fetch_add(1, Ordering::Relaxed);
                }
                arrivals.next += arrivals.gap.mul_f64(-(1.0 - arrivals.random.unit()).ln());
            }
        }
        loop {
            let next = if is_over { None } else { self.local.due.borrow_mut().pop_front() };
            if next.is_none() && !is_over {
                return;
            }
            let idle = self.local.idle.borrow_mut().pop_front();
            let Some(owner) = idle else {
                if let Some(due) = next {
                    self.local.due.borrow_mut().push_front(due);
                }
                return;
            };
            let more = self.fibers[owner as usize].state.core.called(next);
            self.resume(owner as usize, Value::Boolean(more));
        }
    }

    fn go_on(&mut self, owner: usize, what: What) {
        let Some(fiber) = self.fibers.get(owner) else { return };
        if let Some((code, first, second)) = fiber.state.core.resumed(what) {
            self.resume_with(owner, (code, first, second));
        }
    }

    /// Calls a global function with the number of the connection; one that is not there is as good as done.
    fn call_named(&mut self, owner: usize, name: &str) {
        let state = &self.fibers[owner].state;
        let thread = Value::Number(state.core.thread.into());
        match state.lua.globals().get::<Value>(name) {
            Ok(Value::Function(function)) => self.call(owner, function, MultiValue::from_iter([thread])),
            _ => self.ended(owner, None),
        }
    }

    fn call(&mut self, owner: usize, function: Function, arguments: MultiValue) {
        let state = &self.fibers[owner].state;
        let coroutine = match state.lua.create_thread(state.call.clone()) {
            Ok(coroutine) => coroutine,
            Err(error) => return self.fail(owner, "coroutine", &error.to_string()),
        };
        let mut all = MultiValue::from_iter([Value::Function(function)]);
        all.extend(arguments);
        let result = coroutine.resume::<Value>(all);
        self.fibers[owner].coroutine = Some(coroutine);
        self.settle(owner, result);
    }

    #[inline]
    fn resume_with(&mut self, owner: usize, values: Resumption) {
        let Some(coroutine) = &self.fibers[owner].coroutine else { return };
        let result = coroutine.resume::<Value>(values);
        self.settle(owner, result);
    }

    fn resume(&mut self, owner: usize, value: Value) {
        let Some(coroutine) = &self.fibers[owner].coroutine else { return };
        let result = coroutine.resume::<Value>(value);
        self.settle(owner, result);
    }

    /// A coroutine has stopped: it waits, or it has ended.
    #[inline]
    fn settle(&mut self, owner: usize, result: mlua::Result<Value>) {
        let Some(coroutine) = &self.fibers[owner].coroutine else { return };
        if result.is_ok() && coroutine.is_resumable() {
            return;
        }
        self.fibers[owner].coroutine = None;
        match result {
            Ok(Value::String(message)) => self.ended(owner, Some(message.to_string_lossy())),
            Ok(_) => self.ended(owner, None),
            Err(error) => self.ended(owner, Some(error.to_string())),
        }
    }

    /// What was called has ended, with this message if not well: what comes next.
    fn ended(&mut self, owner: usize, message: Option<String>) {
        let stage = self.fibers[owner].stage;
        if let Some(message) = message {
            let function = match (stage, &self.task) {
                (Stage::Reading, _) => return self.fail_reading(owner, &message),
                (Stage::Preparing, Task::Run) => "thread_init",
                (Stage::Finishing, Task::Run) => "thread_done",
                (_, Task::Run) => "thread_run",
                (_, Task::Command(_)) => "sysbench.cmdline.call_command",
            };
            // all events have been counted when a connection ends
            if function != "thread_done" {
                return self.fail(owner, function, &message);
            }
            self.world.say(function, &message, self.fibers[owner].state.core.thread);
        }
        match stage {
            Stage::Reading => match self.task.clone() {
                Task::Run => {
                    self.fibers[owner].stage = Stage::Preparing;
                    self.call_named(owner, "thread_init");
                }
                Task::Command(name) => {
                    self.fibers[owner].stage = Stage::Finishing;
                    self.command(owner, &name);
                }
            },
            Stage::Preparing => {
                self.fibers[owner].stage = Stage::Ready;
                self.at_rest += 1;
            }
            Stage::Running => {
                self.world.running.fetch_sub(1, Ordering::Relaxed);
                self.fibers[owner].stage = Stage::Finishing;
                self.call_named(owner, "thread_done");
            }
            Stage::Finishing | Stage::Ready | Stage::Over => self.fibers[owner].stage = Stage::Over,
        }
    }

    fn command(&mut self, owner: usize, name: &str) {
        let state = &self.fibers[owner].state;
        match state.command.call::<Option<Function>>(name) {
            Ok(Some(function)) => self.call(owner, function, MultiValue::new()),
            Ok(None) => self.ended(owner, None),
            Err(error) => self.fail(owner, "sysbench.cmdline.call_command", &error.to_string()),
        }
    }

    fn fail_reading(&mut self, owner: usize, message: &str) {
        self.fibers[owner].stage = Stage::Over;
        self.world.fail(None, message, self.fibers[owner].state.core.thread);
    }

    fn fail(&mut self, owner: usize, function: &str, message: &str) {
        self.fibers[owner].stage = Stage::Over;
        self.world.fail(Some(function), message, self.fibers[owner].state.core.thread);
    }
}

/// One state on the thread that conducts, for what is done once.
pub(crate) struct Alone {
    pub(crate) state: State,
    local: Rc<Local>,
    queue: VecDeque<Done>,
}

impl Alone {
    pub(crate) fn new(script: &Script, world: &Arc<World>) -> Result<Self, Error> {
        let local =
            Rc::new(Local::new(Hub::new()?, Book::Tally(Arc::new(Counted::new(crate::Tally::of(1))))));
        let state = State::new(Rc::new(Core::new((0, 0), None, world, &local)))?;
        script.prepare(&state)?;
        Ok(Self { state, local, queue: VecDeque::new() })
    }

    /// Calls a function and waits for its end; its message, if it did not end well.
    pub(crate) fn call(&mut self, function: &Function, argument: Value) -> Result<Option<String>, Error> {
        let coroutine = self.state.lua.create_thread(self.state.call.clone())?;
        let mut result = coroutine.resume::<Value>((function.clone(), argument));
        while result.is_ok() && coroutine.is_resumable() {
            if self.state.core.world.is_stopped() {
                return Err(Error::Interrupted);
            }
            self.local.hub.borrow_mut().wait(LOOK_UP)?;
            loop {
                let next = self.local.hub.borrow_mut().take_done();
                let Some(done) = next else { break };
                self.queue.push_back(done);
            }
            while let Some(done) = self.queue.pop_front() {
                if let Some(values) = self.state.core.resumed(done.what) {
                    result = coroutine.resume::<Value>(values);
                }
            }
        }
        Ok(match result {
            Ok(Value::String(message)) => Some(message.to_string_lossy()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        })
    }
}
