//! Texts for people. One table of templates for each language (`words/*.toml`); a finding becomes a sentence by filling
//! one in. No other module of the report holds a sentence.

use super::number;
use crate::analyse::{Finding, Findings};
use std::{collections::BTreeMap, sync::LazyLock};

/// A language that reports are written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese, simplified.
    Chinese,
}

impl std::str::FromStr for Language {
    type Err = super::Error;

    /// Takes `en` and `zh`, with or without a region (`zh_CN.UTF-8`).
    fn from_str(code: &str) -> Result<Self, Self::Err> {
        match code.split(['-', '_', '.']).next().unwrap_or_default() {
            "en" => Ok(Self::English),
            "zh" => Ok(Self::Chinese),
            _ => Err(super::Error::UnknownLanguage(code.to_owned())),
        }
    }
}

/// Points that a sentence names; of more it gives the number. The tables mark them all.
const NAMED_MAX: usize = 4;

/// Sections, and in each the templates by key.
pub(super) type Table = BTreeMap<String, BTreeMap<String, String>>;

static ENGLISH: LazyLock<Table> = LazyLock::new(|| read(include_str!("words/en.toml")));

static CHINESE: LazyLock<Table> = LazyLock::new(|| read(include_str!("words/zh.toml")));

fn read(text: &str) -> Table {
    toml::from_str(text).expect("the tables of words are tested")
}

/// The texts of one language.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    table: &'static Table,
    language: Language,
}

impl Words {
    /// The texts of `language`.
    #[must_use]
    pub fn of(language: Language) -> Self {
        match language {
            Language::English => Self { table: &ENGLISH, language },
            Language::Chinese => Self { table: &CHINESE, language },
        }
    }

    /// Code of the language for HTML and JSON: `en`, `zh-CN`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self.language {
            Language::English => "en",
            Language::Chinese => "zh-CN",
        }
    }

    /// The whole table, for templates.
    pub(super) fn table(self) -> &'static Table {
        self.table
    }

    /// A text without places.
    pub(super) fn get(self, section: &str, key: &str) -> &'static str {
        self.table.get(section).and_then(|texts| texts.get(key)).map_or("", String::as_str)
    }

    /// A text with its places filled.
    pub(super) fn fill(self, section: &str, key: &str, places: &[(&str, &str)]) -> String {
        let mut text = self.get(section, key).to_owned();
        for (place, value) in places {
            text = text.replace(&format!("{{{place}}}"), value);
        }
        text
    }

    /// The sentence of a finding, and the levels that it is about, joined (`oltp_read_only`; empty: all).
    #[must_use]
    pub fn finding(self, finding: &Finding, all: &Findings) -> Sentence {
        match finding {
            Finding::Advantage { levels, .. } => Sentence::about(levels, self.advantage(finding)),
            Finding::NoDifference { levels, servers, metric, resolution } => {
                let known = resolution.is_finite() && *resolution < 1.0;
                let key = if known { "no_difference" } else { "no_difference_unknown" };
                let text = self.fill(
                    "sentence",
                    key,
                    &[
                        ("server", &servers.0),
                        ("base", &servers.1),
                        ("metric", &self.metric(metric)),
                        ("resolution", &number::percent(resolution * 100.0)),
                    ],
                );
                Sentence::about(levels, text)
            }
            Finding::Peak { levels, server, connections, throughput, connections_last, throughput_last } => {
                let key = if connections == connections_last { "peak_at_end" } else { "peak" };
                let loss = (1.0 - throughput_last.value / throughput.value).max(0.0) * 100.0;
                let text = self.fill(
                    "sentence",
                    key,
                    &[
                        ("server", server),
                        ("throughput", &number::rate(throughput.value)),
                        ("connections", &number::count(u64::from(*connections))),
                        ("last", &number::count(u64::from(*connections_last))),
                        ("throughput_last", &number::rate(throughput_last.value)),
                        ("loss", &number::percent(loss)),
                    ],
                );
                Sentence::about(levels, text)
            }
            Finding::Doubtful { points, reason } => self.doubtful(points, reason, all),
        }
    }

    fn advantage(self, finding: &Finding) -> String {
        let Finding::Advantage { server, base, metric, connections, ratio, at, .. } = finding else {
            return String::new();
        };
        let key = match (metric == "throughput", connections.0 == connections.1) {
            (true, false) => "advantage_throughput",
            (true, true) => "advantage_throughput_one",
            (false, false) => "advantage_latency",
            (false, true) => "advantage_latency_one",
        };
        let interval =
            if metric == "throughput" { self.interval(ratio) } else { self.interval_percent(ratio) };
        let places = [
            ("server", &**server),
            ("base", base),
            ("stretch", &self.stretch(*connections)),
            ("metric", &self.metric(metric)),
            ("at", &number::count(u64::from(*at))),
            ("ratio", &number::ratio(ratio.value)),
            ("percent", &number::percent(ratio.value * 100.0)),
            ("interval", &interval),
        ];
        self.fill("sentence", key, &places)
    }

    fn doubtful(self, points: &[usize], reason: &str, all: &Findings) -> Sentence {
        let mut names: Vec<String> = points
            .iter()
            .take(NAMED_MAX)
            .filter_map(|&point| all.points.get(point))
            .map(|point| {
                let stretch = self.stretch((point.connections, point.connections));
                let place =
                    self.fill("sentence", "point", &[("server", &point.server), ("stretch", &stretch)]);
                let about = subject(&point.levels);
                if about.is_empty() { place } else { format!("{about}: {place}") }
            })
            .collect();
        if points.len() > NAMED_MAX {
            let more = (points.len() - NAMED_MAX).to_string();
            names.push(self.fill("sentence", "more", &[("count", &more)]));
        }
        let text = self.fill(
            "sentence",
            "doubtful",
            &[("points", &names.join("; ")), ("reason", &capitalised(reason))],
        );
        Sentence { about: String::new(), text }
    }

    fn stretch(self, (first, last): (u32, u32)) -> String {
        let key = if first == last { "at_one" } else { "at_range" };
        let (first, last) = (number::count(u64::from(first)), number::count(u64::from(last)));
        self.fill("sentence", key, &[("first", &first), ("last", &last)])
    }

    fn interval(self, ratio: &stats::Estimate) -> String {
        self.interval_with(ratio, "interval", number::ratio)
    }

    fn interval_percent(self, ratio: &stats::Estimate) -> String {
        self.interval_with(ratio, "interval_percent", |value| number::percent(value * 100.0))
    }

    fn interval_with(self, ratio: &stats::Estimate, key: &str, text: impl Fn(f64) -> String) -> String {
        match (ratio.low, ratio.high) {
            (Some(low), Some(high)) => {
                self.fill("sentence", key, &[("low", &text(low)), ("high", &text(high))])
            }
            _ => self.get("sentence", "no_interval").to_owned(),
        }
    }

    /// A metric without a name of its own is its own name (`p99.9`).
    fn metric(self, metric: &str) -> String {
        let name = self.get("metric", metric);
        if name.is_empty() { metric.to_owned() } else { name.to_owned() }
    }
}

/// One thing that was found, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Levels that it is about, joined; empty: everything.
    pub about: String,
    /// The sentence.
    pub text: String,
}

impl Sentence {
    fn about(levels: &BTreeMap<String, String>, text: String) -> Self {
        Self { about: subject(levels), text }
    }

    /// Both in one line.
    #[must_use]
    pub fn line(&self) -> String {
        if self.about.is_empty() { self.text.clone() } else { format!("{}: {}", self.about, self.text) }
    }
}

/// Levels without server and connections: what a table of its own is about. A number needs its factor's name beside it.
pub(super) fn subject(levels: &BTreeMap<String, String>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (factor, level) in levels {
        if matches!(factor.as_str(), "server" | "connections") {
            continue;
        }
        let says_itself = factor == "workload" || level.starts_with(|c: char| c.is_alphabetic());
        parts.push(if says_itself { level.clone() } else { format!("{factor} {level}") });
    }
    parts.join(", ")
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn places(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect()
    }

    #[test]
    fn every_language_says_the_same() {
        let keys = |table: &'static Table| -> Vec<(&String, &String)> {
            table.iter().flat_map(|(section, texts)| texts.keys().map(move |key| (section, key))).collect()
        };
        assert_eq!(keys(&ENGLISH), keys(&CHINESE));
        for (section, key) in keys(&ENGLISH) {
            let (english, chinese) = (&ENGLISH[section][key], &CHINESE[section][key]);
            // English says "1 trial" where Chinese gives the number.
            let is_same = places(english) == places(chinese) || key == "failed_one";
            assert!(is_same, "{section}.{key} has other places: {chinese}");
        }
    }
}
