//! Plays a script as a stream of a load: the load says when its events are due, and is told what its
//! connections do.

use crate::{
    Error, Ignored, Level, Listener, Options, Random, Script, Settings, Value,
    core::{Book, Local},
    fiber::{Alone, Crew, Task},
    world::{World, lock},
};
use load::play::{Desk, Failure, Interpreter, Next, Terms};
use mlua::Function;
use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

/// Plays scripts.
#[derive(Debug)]
pub struct Player {
    /// What `require` finds where there is no file.
    pub modules: &'static [(&'static str, &'static str)],
}

/// What scripts print while they are measured is for nobody, and why they fail is told by the world.
struct Deaf;

impl Listener for Deaf {
    fn out(&self, _: &str) {}

    fn log(&self, _: Level, _: &str) {}
}

impl Interpreter for Player {
    fn play(&self, script: &load::spec::Script, desk: &mut Desk<'_>) -> Result<(), Failure> {
        let source = Script::told(script, self.modules);
        let world = Arc::new(World::new(settings(script, desk.terms()), Box::new(Deaf)));
        *lock(&world.options) = options(script, desk.terms());
        play(&source, &world, desk).map_err(|error| match (world.failure(), error) {
            (Some(message), _) | (None, Error::Script(message)) => Failure(message),
            (None, error) => Failure(format!("{}: {error}", script.file)),
        })
    }
}

fn options(script: &load::spec::Script, terms: &Terms) -> Options {
    let mut script = script.clone();
    script.set_option("threads", Value::Number(terms.connections.into()));
    script.set_option("time", Value::Number(terms.interval.as_secs_f64()));
    script.set_option("events", Value::Number(0.0));
    Options { named: script.options, globals: script.globals }
}

fn settings(script: &load::spec::Script, terms: &Terms) -> Settings {
    Settings {
        threads: terms.connections,
        ways: terms.ways.clone(),
        places: Vec::new(),
        driver: "mysql".to_owned(),
        prepares: terms.prepares,
        dry_run: false,
        ignored: Ignored::of(&script.options),
        random: Random::of(&script.options, terms.seed),
        events: 0,
        time: Duration::ZERO,
        warm_up: Duration::ZERO,
        forced_shutdown: None,
        rate: 0.0,
        counting: terms.counting,
        workers: None,
        arguments: Vec::new(),
        command: Some("run".to_owned()),
        search_path: Vec::new(),
    }
}

fn play(script: &Script, world: &Arc<World>, desk: &mut Desk<'_>) -> Result<(), Error> {
    let mut alone = match desk.terms().is_first {
        true => Some(Alone::new(script, world)?),
        false => None,
    };
    if let Some(alone) = &mut alone {
        let chunk = script.chunk(&alone.state).map_err(|error| Error::Script(error.to_string()))?;
        say(alone.call(&chunk, mlua::Value::Nil)?)?;
        call(alone, "init")?;
    }
    let connections: Vec<_> =
        desk.connections().into_iter().map(|(number, way)| (number, Some(way))).collect();
    let book = Book::Facts { facts: Default::default(), asking: Default::default() };
    let local = Local::new(desk.hub()?, book);
    let (tell, _told) = mpsc::channel();
    let mut crew = Crew::new(script, world, &connections, local, (Task::Run, tell))?;
    crew.read();
    let result = Play { crew, world, desk, waits: vec![false; connections.len()], ready: 0 }.work();
    if let (Some(alone), Ok(())) = (&mut alone, &result) {
        call(alone, "done")?;
    }
    result
}

fn say(message: Option<String>) -> Result<(), Error> {
    message.map_or(Ok(()), |message| Err(Error::Script(message)))
}

/// Calls a global function that the script need not have.
fn call(alone: &mut Alone, name: &str) -> Result<(), Error> {
    match alone.state.lua.globals().get::<Option<Function>>(name) {
        Ok(Some(function)) => say(alone.call(&function, mlua::Value::Nil)?),
        _ => Ok(()),
    }
}

struct Play<'a, 'd> {
    crew: Crew<'a>,
    world: &'a World,
    desk: &'a mut Desk<'d>,
    /// Connections that wait for their next event.
    waits: Vec<bool>,
    /// Connections of which the desk knows that they are ready.
    ready: usize,
}

impl Play<'_, '_> {
    fn work(&mut self) -> Result<(), Error> {
        let mut is_ending = false;
        loop {
            self.crew.go_on_with_all();
            self.hand_over();
            self.tell_ready();
            if self.desk.look_up() {
                self.crew.begin();
            }
            if self.desk.is_over() && !is_ending {
                is_ending = true;
                self.release();
            }
            self.answer();
            while let Some(place) = self.desk.due() {
                self.reply(place);
            }
            self.hand_over();
            if self.world.failure().is_some() {
                return Err(Error::Failed);
            }
            if self.crew.is_done() || self.desk.is_closed() {
                // whoever is still under way is given up
                self.world.stop();
                return Ok(());
            }
            let patience = if self.is_asked() { Duration::ZERO } else { self.desk.patience() };
            self.crew.wait(patience)?;
        }
    }

    fn is_asked(&self) -> bool {
        matches!(self.crew.book(), Book::Facts { asking, .. } if !asking.borrow().is_empty())
    }

    fn tell_ready(&mut self) {
        let (ready, version) = self.crew.ready();
        while self.ready < ready {
            self.ready += 1;
            self.desk.ready(&version);
        }
    }

    /// Notes what was done since the last time.
    fn hand_over(&mut self) {
        let Book::Facts { facts, .. } = self.crew.book() else { return };
        for (place, fact) in facts.borrow_mut().drain(..) {
            self.desk.note(place, fact);
        }
    }

    /// Answers whoever asks for an event, once each.
    fn answer(&mut self) {
        let asking = match self.crew.book() {
            Book::Facts { asking, .. } => std::mem::take(&mut *asking.borrow_mut()),
            Book::Tally(_) => return,
        };
        for place in asking {
            self.reply(place);
        }
    }

    fn reply(&mut self, place: u32) {
        // an event that has ended is counted before the next one is due
        self.hand_over();
        let next = self.desk.next(place);
        self.waits[place as usize] = next == Next::Wait;
        if next != Next::Wait {
            self.crew.answer(place, next == Next::Go);
        }
    }

    /// Nothing will come for those that wait.
    fn release(&mut self) {
        for place in 0..self.waits.len() {
            if self.waits[place] {
                self.reply(place as u32);
            }
        }
    }
}
