//! Scripts as workloads outside `prony sysbench`: a script that a study names becomes a value that no longer
//! needs its file.

use super::{
    PLAYER, SAID_MAX, catalogue,
    line::{Line, Mistake, listed, size, switch},
    lock, servers, settings, written,
};
use load::{
    Stop,
    spec::{Script, Target},
};
use script::{Declared, Error, Kind, Level, Listener, Options, Session, Settings, Value};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

/// Largest script, bytes: longer than any real one, and small enough to be stored with each run.
const TEXT_MAX: u64 = 1 << 20;

/// Why a script cannot be a workload.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Its file.
    #[error("the script cannot be read: {0}")]
    File(std::io::Error),
    /// No text, or too long.
    #[error("the script is not text, or longer than {} KiB", TEXT_MAX >> 10)]
    Text,
    /// What it says, with line.
    #[error("the script failed: {0}")]
    Script(#[from] Error),
    /// It lacks a function without which nothing can be measured.
    #[error("the script has no function `{0}`")]
    Lacks(&'static str),
    /// An option that it does not have.
    #[error("the script has no option `{name}`; it has {known}")]
    Option {
        /// Its name.
        name: String,
        /// Those that it has.
        known: String,
    },
    /// An option's value makes no sense.
    #[error(transparent)]
    Value(#[from] Mistake),
}

/// Collects fatal messages; other output of scripts is discarded.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Listener for Ear {
    fn out(&self, _: &str) {}

    fn log(&self, level: Level, text: &str) {
        let mut heard = lock(&self.0);
        if level == 0 && heard.len() < SAID_MAX && heard.iter().all(|said| said != text) {
            heard.push(text.to_owned());
        }
    }
}

/// The script in the file at `path`, with these of its options; `is_prepared`: its `prepare` command, too, is
/// to be called. The script is read by Lua, which runs what stands outside of its functions.
///
/// # Errors
/// See [`Refused`].
pub fn workload(
    path: &Path,
    shown: &str,
    given: &[(String, String)],
    is_prepared: bool,
) -> Result<Script, Refused> {
    let length = std::fs::metadata(path).map_err(Refused::File)?.len();
    let bytes = std::fs::read(path).map_err(Refused::File)?;
    let text = String::from_utf8(bytes).ok().filter(|_| length <= TEXT_MAX).ok_or(Refused::Text)?;
    let words: Vec<String> = given.iter().map(|(name, value)| format!("--{name}={value}")).collect();
    let line = Line::read(&words)?;
    let source = script::Script::new(shown.to_owned(), text.clone().into_bytes(), catalogue::SCRIPTS);
    let named = Options { named: line.all(), globals: Vec::new() };
    let directory = path.parent().unwrap_or(Path::new(".")).display().to_string();
    let settings = Settings {
        dry_run: true,
        command: Some("run".to_owned()),
        search_path: [directory].into_iter().chain(catalogue::search_path()).collect(),
        ..settings(&line, &[], servers::Servers::default(), 1)
    };
    let session = Session::open(source.clone(), settings, named, Box::new(Ear::default()))?;
    if !session.has("event")? && !session.has("thread_run")? {
        return Err(Refused::Lacks("event"));
    }
    if is_prepared && !session.has("prepare")? {
        return Err(Refused::Lacks("prepare"));
    }
    let declared = session.declared()?;
    let (options, unknown) = options(&line, declared.as_deref())?;
    if let Some(word) = unknown.first() {
        let name = word.trim_start_matches("--").split('=').next().unwrap_or_default().to_owned();
        let names = declared.iter().flatten().map(|option| option.name.as_str()).collect::<Vec<_>>();
        return Err(Refused::Option { name, known: names.join(", ") });
    }
    Ok(Script {
        file: shown.to_owned(),
        text,
        others: source.others(),
        options: options.named,
        globals: options.globals,
    })
}

/// Makes a script's tables: calls `cleanup`, where it has one, then `prepare`, on so many connections if it
/// is made for that.
///
/// # Errors
/// What the script says, with its line; an end that the user asked for.
pub fn make(
    script: &Script,
    target: &Target,
    (connections, seed): (u32, u64),
    stop: &Stop,
) -> Result<(), Error> {
    let mut script = script.clone();
    script.set_option("threads", Value::Number(connections.into()));
    let line = Line::default();
    let ear = Ear::default();
    let way = load::hub::Way::to(target).map_err(|error| Error::Script(error.to_string()))?;
    let servers = servers::Servers { ways: vec![way], places: vec![target.address.to_string()] };
    for command in ["cleanup", "prepare"] {
        let settings = Settings {
            threads: connections,
            command: Some(command.to_owned()),
            random: script::Random::of(&script.options, seed),
            ..settings(&line, &[], servers.clone(), seed)
        };
        let options = Options { named: script.options.clone(), globals: script.globals.clone() };
        let source = script::Script::told(&script, PLAYER.modules);
        let mut session = Session::open(source, settings, options, Box::new(ear.clone()))?;
        let result = match (session.has(command)?, session.is_parallel(command)?) {
            (false, _) => Ok(()),
            (true, true) => session.call_on_all(command, stop),
            (true, false) => session.call(command),
        };
        result.map_err(|error| match error {
            Error::Failed => Error::Script(lock(&ear.0).join("; ")),
            other => other,
        })?;
    }
    Ok(())
}

/// The script's options from a command line, and the words that are no option of it.
pub(super) fn options(line: &Line, declared: Option<&[Declared]>) -> Result<(Options, Vec<String>), Mistake> {
    let mut named = line.all();
    let mut unknown = Vec::new();
    let Some(declared) = declared else {
        let mut globals: Vec<(String, String)> =
            named.iter().filter_map(|(name, value)| Some((name.clone(), global(value)?))).collect();
        globals.extend(
            line.unknown
                .iter()
                .map(|(_, name, value)| (name.clone(), value.clone().unwrap_or_else(|| "on".to_owned()))),
        );
        return Ok((Options { globals, named }, unknown));
    };
    let mut given: Vec<(&str, Value)> = Vec::new();
    for (word, name, value) in &line.unknown {
        match declared.iter().find(|option| option.name == *name) {
            Some(option) => match value_of(option, value.as_deref()) {
                Some(value) => given.push((name, value)),
                None => return Err(Mistake::Invalid(word.clone())),
            },
            None => unknown.push(word.clone()),
        }
    }
    for option in declared {
        let given = given.iter().rev().find(|(name, _)| *name == option.name);
        // an option of the same name in the table of the program belongs to it
        if given.is_none() && named.iter().any(|(name, _)| *name == option.name) {
            continue;
        }
        let value = given.map_or_else(|| default_of(option), |(_, value)| value.clone());
        named.push((option.name.clone(), value));
    }
    Ok((Options { named, globals: Vec::new() }, unknown))
}

/// The value of a script's option; `None`: not a valid one.
fn value_of(option: &Declared, text: Option<&str>) -> Option<Value> {
    Some(match (option.kind, text) {
        (Kind::Bool, None) => Value::Bool(true),
        (Kind::Bool, Some(text)) => Value::Bool(switch(text)?),
        (_, None) => return None,
        // as in sysbench, an invalid number is nil for the script
        (Kind::Int, Some(text)) => {
            text.parse::<i64>().map_or(Value::Nil, |number| Value::Number(number as f64))
        }
        (Kind::Double, Some(text)) => text.parse().map_or(Value::Nil, Value::Number),
        (Kind::Size, Some(text)) => Value::Number(size(text)?),
        (Kind::List, Some(text)) => Value::List(listed(text)),
        (Kind::Text | Kind::File, Some(text)) => Value::Text(text.to_owned()),
    })
}

/// An option of the program as a global variable of an old script.
fn global(value: &Value) -> Option<String> {
    match value {
        Value::Nil => None,
        Value::Bool(_) | Value::Number(_) => Some(written(value)),
        Value::Text(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::List(_) => Some(written(value)).filter(|text| !text.is_empty()),
    }
}

fn default_of(option: &Declared) -> Value {
    match (&option.default, option.kind) {
        (Value::Nil, Kind::Int | Kind::Double | Kind::Size) => Value::Number(0.0),
        (Value::Nil, Kind::Bool) => Value::Bool(false),
        (Value::Nil, Kind::List) => Value::List(Vec::new()),
        (Value::Text(text), Kind::Size) => size(text).map_or(Value::Nil, Value::Number),
        (default, _) => default.clone(),
    }
}
