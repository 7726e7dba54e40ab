//! Reads a command line as sysbench does: options in any order, `-` and `_` alike, then the test and the
//! command. An option that is not in the table may belong to the script, which is known only later.

use super::options::{self, Kind, RENAMED};
use std::collections::BTreeMap;

/// A command line.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// Given values by name.
    given: BTreeMap<&'static str, String>,
    /// Options that are not in the table: as typed, the name with `_`, the value.
    pub(super) unknown: Vec<(String, String, Option<String>)>,
    pub(super) test: Option<String>,
    pub(super) command: Option<String>,
    /// `--test`, as scripts of 0.4 and 0.5 are started.
    pub(super) old_test: Option<String>,
    /// Warnings for stdout.
    pub(super) warnings: Vec<String>,
}

/// Why a command line cannot be used, in the words that sysbench has for it.
#[derive(Debug, thiserror::Error)]
pub enum Mistake {
    /// A word too many.
    #[error("Unrecognized command line argument: {0}")]
    Surplus(String),
    /// An option's value is of the wrong kind.
    #[error("Invalid value for the '{0}' option: '{1}'")]
    Value(String, String),
    /// The file of `--config-file`.
    #[error("cannot read the options in {0}: {1}")]
    File(String, std::io::Error),
    /// The test has no such option, or not with this value.
    #[error("invalid option: {0}")]
    Invalid(String),
    /// No connection, or more than there are ports.
    #[error("Invalid value for --threads: {0}.\n")]
    Threads(String),
    /// A value of the right kind, but out of range.
    #[error("Invalid value for --{0}: {1}")]
    Unusable(&'static str, String),
    /// `--rand-type`.
    #[error("Invalid random numbers distribution: {0}.")]
    Distribution(String),
    /// A server that cannot be connected to.
    #[error("unable to connect to MySQL server on {0}, aborting...\nFATAL: error 2005: {1}")]
    Server(String, load::hub::Error),
}

impl Mistake {
    /// Whether sysbench prints it as a fatal message on the standard output.
    pub(super) fn is_fatal(&self) -> bool {
        match self {
            Self::Surplus(_) | Self::Value(..) | Self::File(..) | Self::Invalid(_) => false,
            Self::Threads(_) | Self::Unusable(..) | Self::Distribution(_) | Self::Server(..) => true,
        }
    }
}

impl Line {
    /// Reads the words behind the program's name.
    pub(super) fn read(words: &[String]) -> Result<Self, Mistake> {
        let mut line = Self::default();
        for word in words {
            line.word(word)?;
        }
        if let Some(path) = line.given.get("config-file").cloned() {
            line.file(&path)?;
        }
        line.rename();
        line.check()?;
        Ok(line)
    }

    fn word(&mut self, word: &str) -> Result<(), Mistake> {
        if let Some(option) = word.strip_prefix("--") {
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            return self.option(word, name, value);
        }
        let by_option = self.old_test.is_some();
        match (&self.test, &self.command) {
            (None, _) if !by_option => self.test = Some(word.to_owned()),
            (_, None) => self.command = Some(word.to_owned()),
            _ => return Err(Mistake::Surplus(word.to_owned())),
        }
        Ok(())
    }

    fn option(&mut self, word: &str, name: &str, value: Option<String>) -> Result<(), Mistake> {
        let name = name.replace('_', "-");
        if name == "test" {
            // the word that was taken for the test is the command
            self.old_test = value;
            if self.command.is_none() {
                self.command = self.test.take();
            }
            return Ok(());
        }
        let Some(entry) = options::find(&name) else {
            self.unknown.push((word.to_owned(), name.replace('-', "_"), value));
            return Ok(());
        };
        let value = match (value, entry.kind) {
            (Some(value), _) => value,
            (None, Kind::Switch) => "on".to_owned(),
            // a switch in 1.0.20, a mode later
            (None, _) if name == "mysql-ssl" => "on".to_owned(),
            (None, _) => return Err(Mistake::Value(name, String::new())),
        };
        let fits = match entry.kind {
            Kind::Switch => switch(&value).is_some(),
            Kind::Number => value.parse::<u64>().is_ok(),
            Kind::Real => value.parse::<f64>().is_ok(),
            Kind::Size => size(&value).is_some(),
            Kind::Text | Kind::List | Kind::File => true,
        };
        if !fits {
            return Err(Mistake::Value(name, value));
        }
        self.given.insert(entry.name, value);
        Ok(())
    }

    /// Options of a file, one `name=value` per line; `#` and `[sections]` are skipped. The command line takes
    /// precedence.
    fn file(&mut self, path: &str) -> Result<(), Mistake> {
        let failed = |error: std::io::Error| Mistake::File(path.to_owned(), error);
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let before = std::mem::take(&mut self.given);
        for row in text.lines().map(str::trim) {
            if row.is_empty() || row.starts_with(['#', '[']) {
                continue;
            }
            let row = row.trim_start_matches("--");
            let (name, value) = match row.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
                None => (row, None),
            };
            self.option(&format!("--{row}"), name, value)?;
        }
        self.given.extend(before);
        Ok(())
    }

    fn rename(&mut self) {
        for (old, new) in RENAMED {
            if let Some(value) = self.given.remove(old) {
                if options::find(old).is_some_and(|entry| entry.default != value) {
                    self.warnings.push(format!("WARNING: --{old} is deprecated, use --{new} instead"));
                }
                self.given.entry(new).or_insert(value);
            }
        }
    }

    fn check(&self) -> Result<(), Mistake> {
        if self.number("threads") == 0 || self.number("threads") > u64::from(THREADS_MAX) {
            return Err(Mistake::Threads(self.text("threads")));
        }
        if self.number("percentile") > 100 {
            return Err(Mistake::Unusable("percentile", self.text("percentile")));
        }
        let types = ["uniform", "gaussian", "special", "pareto", "zipfian"];
        if !types.contains(&self.text("rand-type").as_str()) {
            return Err(Mistake::Distribution(self.text("rand-type")));
        }
        for (option, value) in self.numbers_of_lists() {
            if value.parse::<f64>().is_err() {
                return Err(Mistake::Value(option.to_owned(), value));
            }
        }
        Ok(())
    }

    fn numbers_of_lists(&self) -> Vec<(&'static str, String)> {
        let of = |option| self.list(option).into_iter().map(move |value| (option, value));
        of("report-checkpoints").chain(of("prony-percentiles")).chain(of("mysql-port")).collect()
    }

    /// Sets a default that only this test has.
    pub(super) fn set_default(&mut self, name: &'static str, value: &str) {
        self.given.entry(name).or_insert_with(|| value.to_owned());
    }

    /// What was given, or the default.
    pub(super) fn text(&self, name: &str) -> String {
        let default = || options::find(name).map_or("", |entry| entry.default);
        self.given.get(name).map_or_else(|| default().to_owned(), Clone::clone)
    }

    pub(super) fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    pub(super) fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or_default()
    }

    pub(super) fn real(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or_default()
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        switch(&self.text(name)).unwrap_or_default()
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        listed(&self.text(name))
    }

    /// Every option of the table with its value, for scripts.
    pub(super) fn all(&self) -> Vec<(String, script::Value)> {
        let entries = options::GROUPS.iter().flat_map(|group| group.entries);
        let shown = entries.filter(|entry| !entry.name.starts_with("prony-"));
        let value = |entry: &options::Entry| match entry.kind {
            Kind::Switch => script::Value::Bool(self.is_on(entry.name)),
            Kind::Number | Kind::Real => script::Value::Number(self.real(entry.name)),
            Kind::Size => script::Value::Number(size(&self.text(entry.name)).unwrap_or_default()),
            Kind::Text | Kind::File => script::Value::Text(self.text(entry.name)),
            Kind::List => script::Value::List(self.list(entry.name)),
        };
        shown.map(|entry| (entry.name.replace('-', "_"), value(entry))).collect()
    }
}

/// Most connections: as many as the kernel has ports for one address.
const THREADS_MAX: u32 = 65_535;

/// Texts between commas.
pub(super) fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// A switch as it is typed.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// A number with K, M, G or T, each 1024 times the one before.
pub(super) fn size(text: &str) -> Option<f64> {
    let factor = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => 1u64 << 10,
        b'M' => 1 << 20,
        b'G' => 1 << 30,
        b'T' => 1 << 40,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].parse::<f64>().ok().map(|number| number * factor as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Result<Line, Mistake> {
        Line::read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_anywhere_and_in_both_spellings() {
        let line =
            line(&["--threads=4", "oltp_read_only", "--mysql_db=x", "--foo_bar=3", "run", "--histogram"]);
        let line = line.expect("a line");
        assert_eq!((line.test.as_deref(), line.command.as_deref()), (Some("oltp_read_only"), Some("run")));
        assert_eq!((line.number("threads"), line.text("mysql-db")), (4, "x".to_owned()));
        assert!(line.is_on("histogram") && !line.is_on("debug"));
        assert_eq!(line.unknown, [("--foo_bar=3".to_owned(), "foo_bar".to_owned(), Some("3".to_owned()))]);
    }

    #[test]
    fn mistakes_have_the_words_that_scripts_look_for() {
        let said = |words: &[&str]| line(words).map(drop).map_err(|mistake| mistake.to_string());
        assert_eq!(said(&["--threads=abc"]), Err("Invalid value for the 'threads' option: 'abc'".to_owned()));
        assert_eq!(
            said(&["a", "run", "prepare"]),
            Err("Unrecognized command line argument: prepare".to_owned())
        );
        assert_eq!(said(&["--percentile=101"]), Err("Invalid value for --percentile: 101".to_owned()));
        assert_eq!(said(&["--rand-type=foo"]), Err("Invalid random numbers distribution: foo.".to_owned()));
    }

    #[test]
    fn old_names_are_taken_and_said() {
        let line = line(&["--test=oltp.lua", "--max-requests=5", "--num-threads=1", "run"]).expect("a line");
        assert_eq!((line.old_test.as_deref(), line.command.as_deref()), (Some("oltp.lua"), Some("run")));
        assert_eq!((line.number("events"), line.number("threads")), (5, 1));
        assert_eq!(line.warnings, ["WARNING: --max-requests is deprecated, use --events instead"]);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            (size("64K"), size("2m"), size("7"), size("x")),
            (Some(65_536.0), Some(2_097_152.0), Some(7.0), None)
        );
    }
}
