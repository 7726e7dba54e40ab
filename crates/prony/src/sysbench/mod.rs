//! `prony sysbench`: takes sysbench 1.0.20's command line, runs its tests and its users' Lua scripts, and
//! prints what it prints.
//!
//! Knows the command line, the tests and the form of reports; the crate `script` runs them. It keeps nothing
//! and ends no process: it says which exit code sysbench would have. Written from sysbench's documented and
//! observed behaviour; nothing is copied. What differs on purpose is in `docs/sysbench.md`.

mod catalogue;
mod line;
mod options;
mod report;
mod servers;
mod workload;

pub use line::Mistake;
pub use workload::{Refused, make, workload};

use catalogue::{Age, Found, Missing};
use line::Line;
use load::Stop;
use report::{Form, Style};
use script::{
    Declared, Error, Event, How, Ignored, Kind, Level, Listener, Options, Random, Session, Settings, Value,
    Watch,
};
use std::{
    collections::HashSet,
    io::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Plays scripts as streams of loads.
pub static PLAYER: script::Player = script::Player { modules: catalogue::SCRIPTS };

/// Success.
const WELL: u8 = 0;
/// Failure.
const FAILED: u8 = 1;
/// `--forced-shutdown` cut events off.
const FORCED: u8 = 2;
/// The user interrupted it (128 + SIGINT).
const INTERRUPTED: u8 = 130;
/// Most messages that are remembered, so that none is printed by each of thousands of connections.
const SAID_MAX: usize = 1000;

/// What the command line is connected to.
pub struct Outside<'a> {
    /// The standard output.
    pub out: Box<dyn Write + Send>,
    /// The standard error.
    pub err: &'a mut dyn Write,
    /// Ends a run.
    pub stop: &'a Stop,
    /// Seed of random sequences unless `--rand-seed` is given.
    pub seed: u64,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    /// sysbench's exit code.
    pub code: u8,
    /// The result to store, and where, if `--prony-store` asks for it.
    pub kept: Option<Kept>,
}

/// A result to store.
#[derive(Debug)]
pub struct Kept {
    /// The report, as sysbench prints it.
    pub text: String,
    /// The test's name.
    pub test: String,
    /// `on`, or the file of the store.
    pub store: String,
}

/// Carries out a command line: the words behind the program's name.
pub fn main(words: &[String], outside: Outside<'_>) -> Ended {
    let Outside { out, err, stop, seed } = outside;
    let console = Arc::new(Console { out: Mutex::new(out), ..Console::default() });
    let mut run = Run { console: Arc::clone(&console), err, stop, seed };
    let mut kept = None;
    let code = run.line(words, &mut kept).unwrap_or_else(|ending| {
        match ending {
            Ending::Script(Error::Interrupted) => return INTERRUPTED,
            // the reason has been printed
            Ending::Script(Error::Failed) => {}
            ending if ending.is_fatal() => console.log(0, &ending.to_string()),
            ending => run.aside(&ending.to_string()),
        }
        FAILED
    });
    Ended { code, kept }
}

/// Why a command line was not carried out to its end, in the words that sysbench has for it.
#[derive(Debug, thiserror::Error)]
enum Ending {
    #[error(transparent)]
    Line(#[from] Mistake),
    #[error(transparent)]
    Test(#[from] Missing),
    #[error("'{test}' test does not implement the '{command}' command.")]
    Lacks { test: String, command: String },
    #[error("Unknown command: {0}")]
    Unknown(String),
    #[error("cannot find the event() function in {0}")]
    NoEvent(String),
    #[error("`{function}' function failed: {message}")]
    Function { function: String, message: String },
    #[error(transparent)]
    Script(#[from] Error),
}

impl Ending {
    /// Whether sysbench prints it as a fatal message on the standard output, otherwise on the standard error.
    fn is_fatal(&self) -> bool {
        match self {
            Self::Line(mistake) => mistake.is_fatal(),
            Self::Lacks { .. } | Self::Unknown(_) => false,
            Self::Test(_) | Self::NoEvent(_) | Self::Function { .. } | Self::Script(_) => true,
        }
    }
}

/// The standard output, which sysbench uses for messages, too.
struct Console {
    out: Mutex<Box<dyn Write + Send>>,
    verbosity: Mutex<Level>,
    said: Mutex<HashSet<String>>,
}

impl Default for Console {
    fn default() -> Self {
        Self { out: Mutex::new(Box::new(std::io::sink())), verbosity: Mutex::new(3), said: Mutex::default() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Console {
    fn log(&self, level: Level, text: &str) {
        if level > *lock(&self.verbosity) {
            return;
        }
        let heading = ["FATAL: ", "ALERT: ", "WARNING: ", "", "", "DEBUG: "][usize::from(level.min(5))];
        if level < 3 {
            let mut said = lock(&self.said);
            if said.contains(text) || said.len() >= SAID_MAX {
                return;
            }
            said.insert(text.to_owned());
        }
        self.out(&format!("{heading}{text}\n"));
    }

    fn out(&self, text: &str) {
        let mut out = lock(&self.out);
        // a reader that is gone (`| head`) does not end the run
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// The console as scripts and runs reach it.
struct Ear(Arc<Console>);

impl Listener for Ear {
    fn out(&self, text: &str) {
        self.0.out(text);
    }

    fn log(&self, level: Level, text: &str) {
        self.0.log(level, text);
    }
}

struct Run<'a> {
    console: Arc<Console>,
    err: &'a mut dyn Write,
    stop: &'a Stop,
    seed: u64,
}

impl Run<'_> {
    fn aside(&mut self, text: &str) {
        // nobody may read it
        let _ = writeln!(self.err, "{text}");
    }

    fn notice(&self, text: &str) {
        self.console.log(3, text);
    }

    fn line(&mut self, words: &[String], kept: &mut Option<Kept>) -> Result<u8, Ending> {
        let mut line = Line::read(words)?;
        *lock(&self.console.verbosity) = line.number("verbosity").min(5) as Level;
        if line.is_on("version") {
            self.console.out("sysbench 1.0.20\n");
            return Ok(WELL);
        }
        if line.is_on("help") {
            self.console.out(&options::usage(catalogue::ABOUT));
            return Ok(WELL);
        }
        let is_old = line.old_test.as_deref().is_some_and(catalogue::is_old);
        // tests of old versions have other names for options
        if !is_old {
            line.warnings.iter().for_each(|warning| self.console.out(&format!("{warning}\n")));
        }
        let found = self.test(&line)?;
        let Some(found) = found else { return Ok(WELL) };
        if found.age != Age::Of10 {
            line.set_default("events", "10000");
            line.set_default("time", "0");
        }
        self.carry_out(&line, &found, words, kept)
    }

    /// The test of a command line, after the line that names the program.
    fn test(&mut self, line: &Line) -> Result<Option<Found>, Ending> {
        let version = env!("CARGO_PKG_VERSION");
        let heading = format!("sysbench 1.0.20 (Prony {version}, with its own LuaJIT 2.1)\n");
        let found = match (&line.old_test, &line.test) {
            (Some(word), _) => {
                let found = catalogue::find_old(word);
                if !matches!(&found, Ok(found) if found.age != Age::Of10) {
                    self.aside(
                        "WARNING: the --test option is deprecated. You can pass a script name or path on the \
                         command line without any options.",
                    );
                }
                found
            }
            (None, Some(word)) => catalogue::find(word),
            (None, None) => {
                self.notice(&heading);
                return Ok(None);
            }
        };
        self.notice(&heading);
        let found = found?;
        if let Some(note) = &found.note {
            self.aside(note);
        }
        Ok(Some(found))
    }

    fn carry_out(
        &mut self,
        line: &Line,
        found: &Found,
        words: &[String],
        kept: &mut Option<Kept>,
    ) -> Result<u8, Ending> {
        let servers = servers::of(line)?;
        let search_path = found.search_path();
        let settings = Settings { search_path, ..settings(line, words, servers, self.seed) };
        let named = Options { named: line.all(), globals: Vec::new() };
        let ear = Box::new(Ear(Arc::clone(&self.console)));
        let mut session = Session::open(found.script.clone(), settings, named, ear)?;
        let declared = session.declared()?;
        let (options, unknown) = workload::options(line, declared.as_deref())?;
        match unknown.first() {
            Some(word) if found.age == Age::Of10 => {
                return Err(Mistake::Invalid(word.clone()).into());
            }
            _ => {}
        }
        for word in unknown {
            self.aside(&format!("note: this test has no option {word}; it is ignored"));
        }
        session.set_options(options)?;
        let code = match line.command.as_deref() {
            None => WELL,
            Some("help") if !session.has("help")? => self.help(found, declared.as_deref())?,
            Some("run") => self.run(line, found, &mut session, kept)?,
            Some(command) => self.command(command, line, found, &mut session)?,
        };
        self.console.out(&session.last_words());
        Ok(code)
    }

    fn help(&mut self, found: &Found, declared: Option<&[Declared]>) -> Result<u8, Ending> {
        let Some(declared) = declared else {
            return Err(Ending::Lacks { test: found.script.name.clone(), command: "help".to_owned() });
        };
        self.console.out(&format!("{} options:\n", found.script.name.trim_end_matches(".lua")));
        let lines = declared.iter().map(|option| {
            let shown = match option.kind {
                Kind::Bool => "[=on|off]",
                Kind::Int | Kind::Double => "=N",
                Kind::Size => "=SIZE",
                Kind::Text => "=STRING",
                Kind::List => "=[LIST,...]",
                Kind::File => "=FILENAME",
            };
            (format!("{}{shown}", option.name), option.about.as_str(), written(&option.default))
        });
        self.console.out(&format!("{}\n", options::help(lines)));
        Ok(WELL)
    }

    fn command(
        &mut self,
        command: &str,
        line: &Line,
        found: &Found,
        session: &mut Session,
    ) -> Result<u8, Ending> {
        if !session.has(command)? {
            let (test, command) = (found.script.name.clone(), command.to_owned());
            return Err(match &*command {
                "prepare" | "cleanup" => Ending::Lacks { test, command },
                _ => Ending::Unknown(command),
            });
        }
        if session.is_parallel(command)? && line.number("threads") > 1 {
            self.notice("Initializing worker threads...\n");
            session.call_on_all(command, self.stop)?;
            return Ok(WELL);
        }
        let is_declared = session.declares(command)?;
        let function = if is_declared { "sysbench.cmdline.call_command" } else { command };
        call(session, command, function).map(|()| WELL)
    }

    fn run(
        &mut self,
        line: &Line,
        found: &Found,
        session: &mut Session,
        kept: &mut Option<Kept>,
    ) -> Result<u8, Ending> {
        if !session.has("event")? && !session.has("thread_run")? {
            return Err(Ending::NoEvent(found.script.name.clone()));
        }
        call(session, "init", "init")?;
        self.announce(line);
        let style = style(line, found.age);
        let is_json = line.is_on("prony-json");
        let mut text = self.conditions(line);
        let mut figures = Vec::new();
        let watch = watch(line);
        let console = Arc::clone(&self.console);
        let mut tell = |event: Event<'_>| {
            let words = match event {
                Event::Started => return console.log(3, "Threads started!\n"),
                Event::Interval(stat) => {
                    figures.push(style.figures(stat));
                    style.interval(stat)
                }
                Event::Checkpoint(stat) => {
                    let at = stat.total.as_secs_f64();
                    format!("[ {at:.0}s ] Checkpoint report:\n{}", style.full(stat, None))
                }
                Event::Forced => {
                    return console.log(0, "The --max-time limit has expired, forcing shutdown...");
                }
            };
            if !is_json {
                console.log(3, words.trim_end_matches('\n'));
            }
            text.push_str(&words);
        };
        let ended = session.run(&watch, self.stop, &mut tell);
        if matches!(ended, Err(Error::Failed)) {
            self.finish(session)?;
        }
        let ended = ended?;
        let unfinished = if let How::Forced(count) = ended.how { Some(count) } else { None };
        let words = style.full(&ended.stat, unfinished);
        text.push_str(&words);
        if ended.stat.dropped > 0 {
            let dropped = ended.stat.dropped;
            self.aside(&format!("note: {dropped} events of --rate were dropped because the queue was full"));
        }
        if is_json {
            let total = style.figures(&ended.stat);
            let json = serde_json::json!({ "test": found.name, "intervals": figures, "total": total });
            let json = serde_json::to_string_pretty(&json).unwrap_or_default();
            self.console.out(&format!("{json}\n"));
        } else if !ended.is_told {
            self.console.log(3, words.trim_end_matches('\n'));
            self.notice("");
        }
        self.finish(session)?;
        if !line.text("prony-store").is_empty() {
            *kept = Some(Kept { text, test: found.name.clone(), store: line.text("prony-store") });
        }
        Ok(match ended.how {
            How::Done => WELL,
            How::Forced(_) => FORCED,
            How::Interrupted => INTERRUPTED,
        })
    }

    /// Calls the script's `done`. A failure is printed and does not change the result.
    fn finish(&self, session: &mut Session) -> Result<(), Ending> {
        match call(session, "done", "done") {
            Err(failed @ Ending::Function { .. }) => {
                self.console.log(0, &failed.to_string());
                Ok(())
            }
            result => result,
        }
    }

    /// What is printed before connections are opened.
    fn announce(&self, line: &Line) {
        if line.number("events") == 0 && line.number("time") == 0 {
            self.console.out("WARNING: Both event and time limits are disabled, running an endless test\n");
        }
        if line.is_on("prony-json") {
            *lock(&self.console.verbosity) = 2.min(line.number("verbosity") as Level);
        }
        self.notice(self.conditions(line).trim_start_matches("sysbench 1.0.20\n\n").trim_end_matches('\n'));
        let forced = forced_shutdown(line).filter(|_| line.number("time") > 0);
        if let Some(patience) = forced {
            let all = line.number("time") + patience.as_secs();
            self.notice(&format!("\nForcing shutdown in {all} seconds"));
        } else {
            self.notice("");
        }
        self.notice("\nInitializing worker threads...\n");
    }

    fn conditions(&self, line: &Line) -> String {
        let mut text = "sysbench 1.0.20\n\nRunning the test with following options:\n".to_owned();
        text.push_str(&format!("Number of threads: {}\n", line.number("threads")));
        if line.number("rate") > 0 {
            text.push_str(&format!("Target transaction rate: {}/sec\n", line.number("rate")));
        }
        if line.number("report-interval") > 0 {
            let seconds = line.number("report-interval");
            text.push_str(&format!("Report intermediate results every {seconds} second(s)\n"));
        }
        if line.is_given("report-checkpoints") {
            let list = line.list("report-checkpoints").join(", ");
            text.push_str(&format!("Report checkpoint(s) at {list} seconds\n"));
        }
        text.push_str(&match line.number("rand-seed") {
            0 => "Initializing random number generator from current time\n\n".to_owned(),
            seed => format!("Initializing random number generator from seed ({seed}).\n\n"),
        });
        text
    }
}

/// Calls a function of the script, if it has one of this name; `function` is its name in messages.
fn call(session: &mut Session, name: &str, function: &str) -> Result<(), Ending> {
    session.call(name).map_err(|error| match error {
        Error::Script(message) => Ending::Function { function: function.to_owned(), message },
        other => other.into(),
    })
}

fn style(line: &Line, age: Age) -> Style {
    let percentiles = line.list("prony-percentiles");
    Style {
        form: if age == Age::Of10 { Form::Of10 } else { Form::Of05 },
        percentile: line.number("percentile"),
        percentiles: percentiles.iter().filter_map(|percent| percent.parse().ok()).collect(),
        histogram: line.is_on("histogram"),
        is_open: line.number("rate") > 0,
    }
}

fn watch(line: &Line) -> Watch {
    let checkpoints = line.list("report-checkpoints");
    Watch {
        interval: Duration::from_secs(line.number("report-interval")),
        checkpoints: checkpoints
            .iter()
            .filter_map(|at| at.parse().ok().and_then(|at| Duration::try_from_secs_f64(at).ok()))
            .collect(),
        percentile: line.number("percentile") as f64,
    }
}

fn forced_shutdown(line: &Line) -> Option<Duration> {
    let text = line.text("forced-shutdown");
    let seconds = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? * line.number("time") as f64 / 100.0,
        None if text == "on" => 0.0,
        None => text.parse::<f64>().ok()?,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn settings(line: &Line, words: &[String], servers: servers::Servers, seed: u64) -> Settings {
    let threads = line.number("threads") as u32;
    let options = line.all();
    let given = line.number("rand-seed");
    Settings {
        threads,
        ways: servers.ways,
        places: servers.places,
        driver: line.text("db-driver"),
        prepares: line.text("db-ps-mode") != "disable",
        dry_run: line.is_on("mysql-dry-run"),
        ignored: Ignored::of(&options),
        random: Random::of(&options, if given == 0 { seed } else { given }),
        events: line.number("events"),
        time: Duration::from_secs(line.number("time")),
        warm_up: Duration::from_secs(line.number("warmup-time")),
        forced_shutdown: forced_shutdown(line),
        rate: line.number("rate") as f64,
        counting: (0, 1),
        workers: Some(line.number("prony-workers") as u32).filter(|&workers| workers > 0),
        arguments: words.to_vec(),
        command: line.command.clone(),
        search_path: catalogue::search_path(),
    }
}

/// A value as help shows it.
fn written(value: &Value) -> String {
    match value {
        Value::Nil => String::new(),
        Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(list) => list.join(","),
    }
}
