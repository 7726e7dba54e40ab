//! One thread of the machine with its share of the connections: each has a state and a coroutine, which go on
//! whenever what they wait for has come.

use crate::{
    Error, Script,
    core::{Core, Local, Resumption},
    state::State,
    world::{Counted, World},
};
use load::hub::{Done, Hub, Waker, What};
use mlua::{Function, MultiValue, Thread, Value};
use std::{
    cell::RefCell,
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
    arrivals: Option<Arrivals>,
}

/// When events of an open loop are due: with exponential gaps.
struct Arrivals {
    next: Instant,
    gap: Duration,
    random: load::random::Random,
}

impl<'a> Crew<'a> {
    /// Makes the states of the connections `threads`, of `crews` crews in all.
    pub(crate) fn new(
        script: &'a Script,
        world: &Arc<World>,
        threads: &[u32],
        counted: Arc<Counted>,
        (task, tell): (Task, Sender<Told>),
    ) -> Result<Self, Error> {
        let local = Rc::new(Local {
            hub: RefCell::new(Hub::new()?),
            counted,
            due: RefCell::default(),
            idle: RefCell::default(),
        });
        let mut fibers = Vec::with_capacity(threads.len());
        for (owner, thread) in (0..).zip(threads) {
            if world.is_stopped() {
                break;
            }
            let state = State::new(Rc::new(Core::new(owner, *thread, world, &local)))?;
            script.prepare(&state)?;
            if threads.len() > script.compiled_max {
                state.lua.load("jit.off()").exec()?;
            }
            fibers.push(Fiber { state, coroutine: None, stage: Stage::Reading });
        }
        let world = Arc::clone(world);
        Ok(Self { script, world, local, fibers, task, tell, at_rest: 0, is_told: false, arrivals: None })
    }

    /// Carries the task out.
    pub(crate) fn work(mut self) -> Result<(), Error> {
        for owner in 0..self.fibers.len() {
            let chunk = self.script.chunk(&self.fibers[owner].state);
            match chunk {
                Ok(chunk) => self.call(owner, chunk, MultiValue::new()),
                Err(error) => self.fail(owner, "sysbench.cmdline.read", &error.to_string()),
            }
        }
        while !self.is_done() {
            while let Some(Done { owner, what }) = self.next() {
                self.go_on(owner as usize, what);
            }
            self.look_around();
            if self.is_done() {
                break;
            }
            let patience = self.patience();
            self.local.hub.borrow_mut().wait(patience)?;
        }
        // whoever waits for connections that never began hears of their end
        let _ = self.tell.send(Told::Ended);
        Ok(())
    }

    fn next(&self) -> Option<Done> {
        self.local.hub.borrow_mut().take_done()
    }

    fn is_done(&self) -> bool {
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
        if self.fibers.iter().any(|fiber| fiber.stage == Stage::Ready) {
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
        for owner in 0..self.fibers.len() {
            if self.fibers[owner].stage == Stage::Ready {
                self.fibers[owner].stage = Stage::Running;
                self.call_named(owner, "thread_run");
            }
        }
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
                (Stage::Finishing, _) => "thread_done",
                (_, Task::Run) => "thread_run",
                (_, Task::Command(_)) => "sysbench.cmdline.call_command",
            };
            return self.fail(owner, function, &message);
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
        if !self.world.is_stopped() {
            self.world.listener.log(0, message);
        }
        self.world.failed.store(true, Ordering::Relaxed);
        self.world.stop();
    }

    fn fail(&mut self, owner: usize, function: &str, message: &str) {
        self.fibers[owner].stage = Stage::Over;
        let thread = self.fibers[owner].state.core.thread;
        self.world.fail(function, &format!("{message} (thread #{thread})"));
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
        let local = Rc::new(Local {
            hub: RefCell::new(Hub::new()?),
            counted: Arc::new(Counted::new(crate::Tally::of(1))),
            due: RefCell::default(),
            idle: RefCell::default(),
        });
        let state = State::new(Rc::new(Core::new(0, 0, world, &local)))?;
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
