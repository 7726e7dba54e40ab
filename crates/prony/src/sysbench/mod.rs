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

use catalogue::{Age, Found};
use line::{Line, Mistake, listed, size, switch};
use load::{Stop, spec::Distribution};
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

/// It went well.
const WELL: u8 = 0;
/// It did not.
const FAILED: u8 = 1;
/// Events were cut off.
const FORCED: u8 = 2;
/// The user ended it (128 + SIGINT).
const INTERRUPTED: u8 = 130;
/// Messages that are remembered, so that none is said once for each of thousands of connections.
const SAID_MAX: usize = 1000;

/// What the command line is connected to.
pub struct Outside<'a> {
    /// The standard output.
    pub out: Box<dyn Write + Send>,
    /// The standard error.
    pub err: &'a mut dyn Write,
    /// Ends a run.
    pub stop: &'a Stop,
    /// Where random sequences begin unless `--rand-seed` says so.
    pub seed: u64,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    /// sysbench's exit code.
    pub code: u8,
    /// What is to be kept, and where, if that was asked for.
    pub kept: Option<Kept>,
}

/// A result to be kept.
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
            Ending::Aside(text) => run.aside(&text),
            Ending::Fatal(text) => console.log(0, &text),
            Ending::Script(Error::Interrupted) => return INTERRUPTED,
            // why has been told
            Ending::Script(Error::Failed) => {}
            Ending::Script(error) => console.log(0, &error.to_string()),
        }
        FAILED
    });
    Ended { code, kept }
}

/// Why a command line was not carried out to its end.
#[derive(Debug)]
enum Ending {
    /// Said on the standard error.
    Aside(String),
    /// Said as sysbench says what ends it.
    Fatal(String),
    Script(Error),
}

impl From<Error> for Ending {
    fn from(error: Error) -> Self {
        Self::Script(error)
    }
}

impl From<Mistake> for Ending {
    fn from(mistake: Mistake) -> Self {
        match mistake {
            Mistake::Fatal(text) => Self::Fatal(text),
            other => Self::Aside(other.to_string()),
        }
    }
}

/// The standard output, as sysbench uses it: for messages, too.
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
        // that nobody reads on (`| head`) does not end what is going on
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
        // options of tests of that time have their own names
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
        let found = found.map_err(|missing| Ending::Fatal(missing.to_string()))?;
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
        let settings = settings(line, words, self.seed)?;
        let named = Options { named: line.all(), globals: Vec::new() };
        let ear = Box::new(Ear(Arc::clone(&self.console)));
        let mut session = Session::open(found.script.clone(), settings, named, ear)?;
        let declared = session.declared()?;
        let options = self.script_options(line, found, declared.as_deref())?;
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

    /// What the command line says of the script's options.
    fn script_options(
        &mut self,
        line: &Line,
        found: &Found,
        declared: Option<&[Declared]>,
    ) -> Result<Options, Ending> {
        let mut named = line.all();
        let Some(declared) = declared else {
            let mut globals: Vec<(String, String)> =
                named.iter().filter_map(|(name, value)| Some((name.clone(), global(value)?))).collect();
            globals.extend(
                line.unknown
                    .iter()
                    .map(|(_, name, value)| (name.clone(), value.clone().unwrap_or_else(|| "on".to_owned()))),
            );
            return Ok(Options { globals, named });
        };
        let mut given: Vec<(&str, Value)> = Vec::new();
        for (word, name, value) in &line.unknown {
            match declared.iter().find(|option| option.name == *name) {
                Some(option) => match value_of(option, value.as_deref()) {
                    Some(value) => given.push((name, value)),
                    None => return Err(Ending::Aside(format!("invalid option: {word}"))),
                },
                None if found.age != Age::Of10 => {
                    self.aside(&format!("note: this test has no option {word}; it is left out"));
                }
                None => return Err(Ending::Aside(format!("invalid option: {word}"))),
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
        Ok(Options { named, globals: Vec::new() })
    }

    fn help(&mut self, found: &Found, declared: Option<&[Declared]>) -> Result<u8, Ending> {
        let Some(declared) = declared else {
            return Err(Ending::Aside(format!(
                "'{}' test does not implement the 'help' command.",
                found.script.name
            )));
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
            let text = match command {
                "prepare" | "cleanup" => {
                    format!("'{}' test does not implement the '{command}' command.", found.script.name)
                }
                _ => format!("Unknown command: {command}"),
            };
            return Err(Ending::Aside(text));
        }
        if session.is_parallel(command)? && line.number("threads") > 1 {
            self.notice("Initializing worker threads...\n");
            session.call_on_all(command, self.stop)?;
            return Ok(WELL);
        }
        match session.call(command) {
            Err(Error::Script(message)) => {
                let function = "sysbench.cmdline.call_command";
                Err(Ending::Fatal(format!("`{function}' function failed: {message}")))
            }
            result => Ok(result.map(|()| WELL)?),
        }
    }

    fn run(
        &mut self,
        line: &Line,
        found: &Found,
        session: &mut Session,
        kept: &mut Option<Kept>,
    ) -> Result<u8, Ending> {
        if !session.has("event")? && !session.has("thread_run")? {
            let text = format!("cannot find the event() function in {}", found.script.name);
            return Err(Ending::Fatal(text));
        }
        session.call("init")?;
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
        let ended = session.run(&watch, self.stop, &mut tell)?;
        let unfinished = if let How::Forced(count) = ended.how { Some(count) } else { None };
        let words = style.full(&ended.stat, unfinished);
        text.push_str(&words);
        if ended.stat.dropped > 0 {
            let dropped = ended.stat.dropped;
            self.aside(&format!("note: {dropped} events of --rate found the queue full and were given up"));
        }
        if is_json {
            let total = style.figures(&ended.stat);
            let json = serde_json::json!({ "test": found.name, "intervals": figures, "total": total });
            let json = serde_json::to_string_pretty(&json).unwrap_or_default();
            self.console.out(&format!("{json}\n"));
        } else {
            self.console.log(3, words.trim_end_matches('\n'));
            self.notice("");
        }
        session.call("done")?;
        if !line.text("prony-store").is_empty() {
            *kept = Some(Kept { text, test: found.name.clone(), store: line.text("prony-store") });
        }
        Ok(match ended.how {
            How::Done => WELL,
            How::Forced(_) => FORCED,
            How::Interrupted => INTERRUPTED,
        })
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

fn settings(line: &Line, words: &[String], seed: u64) -> Result<Settings, Ending> {
    let servers = servers::of(line).map_err(Ending::Fatal)?;
    let ignored = line.list("mysql-ignore-errors");
    let threads = line.number("threads") as u32;
    let number = |name: &str| line.number(name) as u32;
    let (iterations, hot_percent, hot_draws) =
        (number("rand-spec-iter"), number("rand-spec-pct"), number("rand-spec-res"));
    let (h, exponent) = (line.real("rand-pareto-h"), line.real("rand-zipfian-exp"));
    let default = match line.text("rand-type").as_str() {
        "uniform" => Distribution::Uniform,
        "gaussian" => Distribution::Gaussian { iterations },
        "pareto" => Distribution::Pareto { h },
        "zipfian" => Distribution::Zipfian { exponent },
        _ => Distribution::Special { iterations, hot_set_percent: hot_percent, hot_draws_percent: hot_draws },
    };
    let given = line.number("rand-seed");
    let random = Random {
        default,
        iterations,
        hot_percent,
        hot_draws,
        h,
        exponent,
        seed: if given == 0 { seed } else { given },
    };
    Ok(Settings {
        threads,
        ways: servers.ways,
        places: servers.places,
        driver: line.text("db-driver"),
        prepares: line.text("db-ps-mode") != "disable",
        dry_run: line.is_on("mysql-dry-run"),
        ignored: match ignored.first().map(String::as_str) {
            Some("all") => Ignored::All,
            _ => Ignored::Codes(ignored.iter().filter_map(|code| code.parse().ok()).collect()),
        },
        random,
        events: line.number("events"),
        time: Duration::from_secs(line.number("time")),
        warm_up: Duration::from_secs(line.number("warmup-time")),
        forced_shutdown: forced_shutdown(line),
        rate: line.number("rate") as f64,
        workers: Some(number("prony-workers")).filter(|&workers| workers > 0),
        arguments: words.to_vec(),
        command: line.command.clone(),
        search_path: catalogue::search_path(),
    })
}

/// A script's option as it was typed; `None`: it cannot be that.
fn value_of(option: &Declared, text: Option<&str>) -> Option<Value> {
    Some(match (option.kind, text) {
        (Kind::Bool, None) => Value::Bool(true),
        (Kind::Bool, Some(text)) => Value::Bool(switch(text)?),
        (_, None) => return None,
        // as in sysbench, a number that is none is nil for the script
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
