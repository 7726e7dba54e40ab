//! Runs Lua scripts that were written for sysbench, on an event loop. Each connection has its own Lua state,
//! and a statement makes it yield until the reply is there, so a few threads serve thousands of connections.
//!
//! Knows scripts and what they count. It prints nothing (a [`Listener`] does), reads no command line and
//! keeps nothing. Sockets belong to [`load::hub`]. The API was written from sysbench's documented behaviour;
//! nothing of it is copied.

mod conduct;
mod core;
mod fiber;
mod library;
mod play;
mod state;
mod tally;
mod world;

pub use conduct::{Ended, Event, How, Stat, Watch};
pub use load::spec::script::Value;
pub use play::Player;
pub use tally::{Bins, Tally};
pub use world::{Ignored, Level, Listener, Options, Random, Settings};

use fiber::{Alone, Task};
use library::{Library, plain};
use mlua::{Function, Table};
use state::State;
use std::{path::PathBuf, sync::Arc};
use world::{World, lock};

/// Up to so many connections on one thread LuaJIT compiles what they do often; beyond, the memory that this
/// takes for each of them costs more than it gains.
const COMPILED_MAX: usize = 64;

/// Why a script cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The script's file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What the script says, with its file and line.
    #[error("{0}")]
    Script(String),
    /// LuaJIT has no memory left, or the like.
    #[error("Lua: {0}")]
    Lua(String),
    /// The system refuses sockets or threads.
    #[error("the operating system refused: {0}")]
    System(#[from] std::io::Error),
    /// The user asked for an end.
    #[error("interrupted")]
    Interrupted,
    /// A connection could not begin; why has been told.
    #[error("Thread initialization failed!")]
    NotBegun,
    /// A script failed while it ran; why has been told.
    #[error("the script failed")]
    Failed,
}

impl From<mlua::Error> for Error {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(told(&error))
    }
}

/// A script's text.
#[derive(Debug, Clone)]
pub struct Script {
    /// As messages and the script itself name it.
    pub name: String,
    text: Arc<Vec<u8>>,
    library: Library,
    /// Whether it is part of the program, and so are those that it requires.
    is_own: bool,
    compiled_max: usize,
}

impl Script {
    /// A script of this text; `modules` are what `require` finds where there is no file.
    #[must_use]
    pub fn new(name: String, text: Vec<u8>, modules: &'static [(&'static str, &'static str)]) -> Self {
        let (text, library) = (Arc::new(plain(text)), Library::new(modules, []));
        Self { name, text, library, is_own: false, compiled_max: COMPILED_MAX }
    }

    /// A script that is part of the program: what it requires is, too, whatever files are there.
    #[must_use]
    pub fn own(name: String, text: &str, modules: &'static [(&'static str, &'static str)]) -> Self {
        Self { is_own: true, ..Self::new(name, text.as_bytes().to_vec(), modules) }
    }

    /// A script of a load, with the others that it loads.
    #[must_use]
    pub fn told(script: &load::spec::Script, modules: &'static [(&'static str, &'static str)]) -> Self {
        let library = Library::new(modules, script.others.iter().cloned());
        Self { library, ..Self::new(script.file.clone(), script.text.clone().into_bytes(), modules) }
    }

    /// The other scripts that it has loaded from files so far, by the names by which it asked for them.
    #[must_use]
    pub fn others(&self) -> Vec<(String, String)> {
        self.library.noted()
    }

    fn prepare(&self, state: &State) -> Result<(), Error> {
        state.preload(&self.library, self.is_own)?;
        let globals = state.lua.globals();
        globals.set("test", self.name.as_str())?;
        let cmdline: Table = globals.get::<Table>("sysbench")?.get("cmdline")?;
        cmdline.set("script_path", self.name.as_str())?;
        Ok(())
    }

    fn chunk(&self, state: &State) -> mlua::Result<Function> {
        let name = format!("@{}", self.name);
        state.lua.load(self.text.as_slice()).set_name(name).into_function()
    }
}

/// An option that a script declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// Its name, with `_`.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Its default.
    pub default: Value,
    /// What it takes.
    pub kind: Kind,
}

/// What an option takes, as scripts number it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On or off.
    Bool,
    /// A whole number.
    Int,
    /// A number of bytes or rows, with K, M, G or T.
    Size,
    /// A number.
    Double,
    /// Text.
    Text,
    /// Texts.
    List,
    /// A path.
    File,
}

/// A script that was read, with the state in which what is done once is done.
pub struct Session {
    script: Script,
    world: Arc<World>,
    alone: Alone,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("script", &self.script.name).finish_non_exhaustive()
    }
}

impl Session {
    /// Reads a script.
    ///
    /// # Errors
    /// What the script says, or Lua of its text.
    pub fn open(
        script: Script,
        settings: Settings,
        options: Options,
        listener: Box<dyn Listener>,
    ) -> Result<Self, Error> {
        let world = World::new(settings, listener);
        *lock(&world.options) = options;
        let world = Arc::new(world);
        let mut alone = Alone::new(&script, &world)?;
        let chunk = script.chunk(&alone.state).map_err(|error| Error::Script(told(&error)))?;
        if let Some(message) = alone.call(&chunk, mlua::Value::Nil)? {
            return Err(Error::Script(message));
        }
        Ok(Self { script, world, alone })
    }

    /// Options that the script declares; `None`: it declares none, as scripts for 0.5.
    pub fn declared(&self) -> Result<Option<Vec<Declared>>, Error> {
        let cmdline: Table = self.alone.state.lua.globals().get::<Table>("sysbench")?.get("cmdline")?;
        let Some(options) = cmdline.get::<Option<Table>>("options")? else { return Ok(None) };
        let mut found = Vec::new();
        for pair in options.pairs::<String, Table>() {
            let (name, entry) = pair?;
            found.push(declared(name, &entry)?);
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Some(found))
    }

    /// Sets what the command line has said of the script's options.
    ///
    /// # Errors
    /// Those of Lua.
    pub fn set_options(&mut self, options: Options) -> Result<(), Error> {
        self.alone.state.set_options(&options.named, &options.globals)?;
        *lock(&self.world.options) = options;
        Ok(())
    }

    /// Whether the script has this command, or a global function of this name.
    pub fn has(&self, name: &str) -> Result<bool, Error> {
        Ok(self.alone.state.command.call::<(Option<Function>, bool, bool)>(name)?.0.is_some())
    }

    /// Whether the script declares this command; otherwise it is at most a global function.
    pub fn declares(&self, name: &str) -> Result<bool, Error> {
        Ok(self.alone.state.command.call::<(Option<Function>, bool, bool)>(name)?.2)
    }

    /// Whether a command of the script runs on every connection.
    pub fn is_parallel(&self, name: &str) -> Result<bool, Error> {
        Ok(self.alone.state.command.call::<(Option<Function>, bool, bool)>(name)?.1)
    }

    /// Calls a command, or a global function, once; without one of this name nothing happens.
    ///
    /// # Errors
    /// What the script says.
    pub fn call(&mut self, name: &str) -> Result<(), Error> {
        let found = self.alone.state.command.call::<(Option<Function>, bool, bool)>(name)?;
        let Some(function) = found.0 else { return Ok(()) };
        match self.alone.call(&function, mlua::Value::Nil)? {
            Some(message) => Err(Error::Script(message)),
            None => Ok(()),
        }
    }

    /// Calls a command on every connection.
    ///
    /// # Errors
    /// [`Error::Failed`]; why has been told.
    pub fn call_on_all(&mut self, name: &str, stop: &load::Stop) -> Result<(), Error> {
        conduct::all(&self.script, &self.world, Task::Command(name.to_owned()), stop)
    }

    /// Runs events on all connections.
    ///
    /// # Errors
    /// What went wrong before the first event, or the end of it by an error.
    pub fn run(
        &mut self,
        watch: &Watch,
        stop: &load::Stop,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, Error> {
        conduct::run(&self.script, &self.world, &mut self.alone, watch, stop, tell)
    }

    /// What a script wants to be printed at the very end.
    pub fn last_words(&self) -> String {
        self.world.take_at_end()
    }
}

/// Lua's own words, without the list of calls.
fn told(error: &mlua::Error) -> String {
    match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

fn declared(name: String, entry: &Table) -> Result<Declared, Error> {
    let about = entry.get::<Option<String>>(1)?.unwrap_or_default();
    let default = match entry.get::<mlua::Value>(2)? {
        mlua::Value::Boolean(on) => Value::Bool(on),
        mlua::Value::Integer(number) => Value::Number(number as f64),
        mlua::Value::Number(number) => Value::Number(number),
        mlua::Value::String(text) => Value::Text(text.to_string_lossy()),
        mlua::Value::Table(list) => {
            Value::List(list.sequence_values::<String>().filter_map(Result::ok).collect())
        }
        _ => Value::Nil,
    };
    let kind = match (entry.get::<Option<u8>>(3)?, &default) {
        (Some(1), _) | (None, Value::Bool(_)) => Kind::Bool,
        (Some(2), _) => Kind::Int,
        (Some(3), _) => Kind::Size,
        (Some(4), _) | (None, Value::Number(_)) => Kind::Double,
        (Some(6), _) | (None, Value::List(_)) => Kind::List,
        (Some(7), _) => Kind::File,
        _ => Kind::Text,
    };
    Ok(Declared { name, about, default, kind })
}

/// A histogram as sysbench prints it.
#[must_use]
pub fn histogram_text(bins: &Bins) -> String {
    const WIDTH: f64 = 40.0;
    let mut text = "       value  ------------- distribution ------------- count\n".to_owned();
    let most = bins.filled().map(|(_, count)| count).max().unwrap_or_default();
    for (value, count) in bins.filled() {
        let stars = (count as f64 / most as f64 * WIDTH + 0.5) as usize;
        text.push_str(&format!("{value:>12.3} |{:<40} {count}\n", "*".repeat(stars.min(WIDTH as usize))));
    }
    text
}
