//! Texts for people: one table of templates for each language (`words/*.toml`). Filling in a template turns a
//! finding into a sentence. No other module of the report contains sentences.

mod advice;
mod facts;
mod ladder;
mod machine;
mod several;
mod told;

pub(super) use facts::{failed, left_out};
pub use machine::Examined;

use super::{number, packed::packed};
use crate::{
    analyse::{Axis, AxisKind, Finding, Findings, STREAM},
    language::Language,
    plan::Metric,
    provision::{Condition, conditions},
    run::{Doubt, Level, verdict},
};
use std::{collections::BTreeMap, sync::LazyLock};

/// Sections of sentences, whose places take names of servers or of what else is compared.
const SENTENCES: [&str; 4] = ["sentence", "several", "advice", "claim"];
const NAMES: [&str; 4] = ["server", "base", "one", "other"];

/// The most points that a sentence names; beyond that it gives their number. The tables mark them all.
const NAMED_MAX: usize = 4;

/// Sections, each with its templates by key.
pub(super) type Table = BTreeMap<String, BTreeMap<String, String>>;

static EN: LazyLock<String> = packed!("en.toml");
static ZH: LazyLock<String> = packed!("zh.toml");

static ENGLISH: LazyLock<Table> = LazyLock::new(|| {
    // a name with an underscore is that of a variable
    let title = |title: &str| if title.contains('_') { title.to_owned() } else { titled(title) };
    read(&EN, |one| title(one.title))
});

static CHINESE: LazyLock<Table> = LazyLock::new(|| read(&ZH, |one| one.title_zh.to_owned()));

/// A table with the conditions of a comparison, which come from the words of settings.
fn read(text: &str, title: impl Fn(&Condition) -> String) -> Table {
    let mut table: Table = toml::from_str(text).expect("the tables of words are tested");
    let of_settings = conditions().iter().map(|one| (one.key.to_owned(), title(one)));
    table.entry("condition".to_owned()).or_default().extend(of_settings);
    table
}

/// The texts of one language.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    table: &'static Table,
    language: Language,
}

/// English: for what a terminal shows outside reports.
impl Default for Words {
    fn default() -> Self {
        Self::of(Language::default())
    }
}

impl Words {
    /// The texts of the language that the environment asks for: for what a terminal shows.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::of(Language::of_environment())
    }

    /// Its language.
    #[must_use]
    pub fn language(self) -> Language {
        self.language
    }

    /// The texts of `language`.
    #[must_use]
    pub fn of(language: Language) -> Self {
        match language {
            Language::English => Self { table: &ENGLISH, language },
            Language::Chinese => Self { table: &CHINESE, language },
        }
    }

    /// Codes of the languages, with the name of each in that language.
    pub(super) const LANGUAGES: [(&str, &str); 2] = [("en", "English"), ("zh-CN", "中文")];

    /// Code of the language for HTML and JSON: `en`, `zh-CN`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self.language {
            Language::English => "en",
            Language::Chinese => "zh-CN",
        }
    }

    /// A text of a study: in English or, where it is not empty, in Chinese.
    #[must_use]
    pub fn either<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        if self.language == Language::Chinese && !chinese.is_empty() { chinese } else { english }
    }

    /// A text without places.
    pub(super) fn get(self, section: &str, key: &str) -> &'static str {
        self.table.get(section).and_then(|texts| texts.get(key)).map_or("", String::as_str)
    }

    /// The word for a value of an enum.
    pub(super) fn named(self, section: &str, value: impl serde::Serialize) -> &'static str {
        let name = serde_json::to_value(value).ok();
        self.get(section, name.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default())
    }

    /// A text with its places filled in. In a sentence, a name made of several levels is put in quotation
    /// marks.
    pub(super) fn fill(self, section: &str, key: &str, places: &[(&str, &str)]) -> String {
        let value = |place: &str| places.iter().find(|(name, _)| *name == place);
        let marked = |(name, value): &(&str, &str)| {
            let is_name = SENTENCES.contains(&section) && NAMES.contains(name);
            if is_name { self.marked(value) } else { (*value).to_owned() }
        };
        filled(self.get(section, key), |place| value(place).map(marked))
    }

    /// Puts a name made of several levels in quotation marks.
    fn marked(self, name: &str) -> String {
        let is_list = [", ", self.get("sentence", "comma")].iter().any(|comma| name.contains(comma));
        if is_list && !name.starts_with('“') { format!("“{name}”") } else { name.to_owned() }
    }

    /// The sentence of a finding, and the levels that it is about, joined (`oltp_read_only`; empty: all).
    #[must_use]
    pub fn finding(self, finding: &Finding, all: &Findings) -> Sentence {
        let axis = &all.axis;
        match finding {
            Finding::Advantage { levels, .. } => Sentence::about(self, levels, self.advantage(finding, axis)),
            Finding::NotCompared { levels, servers, rungs } => {
                let key = if *rungs == 1 { "not_compared_one" } else { "not_compared" };
                let places = [("server", &*servers.0), ("base", &servers.1), ("rungs", &rungs.to_string())];
                Sentence::about(self, levels, self.fill("sentence", key, &places))
            }
            Finding::NoDifference { .. } => self.no_difference(finding, axis),
            Finding::Effect { levels, .. } => Sentence::about(self, levels, self.effect(finding, axis)),
            Finding::Peak { levels, server, at, throughput, last, throughput_last, enough } => {
                let key = if at.total_cmp(last).is_eq() { "peak_at_end" } else { "peak" };
                let loss = (1.0 - throughput_last.value / throughput.value).max(0.0) * 100.0;
                let text = self.fill(
                    "sentence",
                    key,
                    &[
                        ("server", server),
                        ("throughput", &number::rate(throughput.value)),
                        ("where", &self.stretch(axis, (*at, *at))),
                        ("where_last", &self.stretch(axis, (*last, *last))),
                        ("throughput_last", &number::rate(throughput_last.value)),
                        ("loss", &number::percent(loss)),
                    ],
                );
                let knee =
                    self.fill("sentence", "knee", &[("where", &self.stretch(axis, (*enough, *enough)))]);
                Sentence::about(self, levels, if enough < at { text + &knee } else { text })
            }
            Finding::Overloaded { levels, server, at, offered, throughput, trials } => {
                let key = if trials.0 < trials.1 { "overloaded_some" } else { "overloaded" };
                let places = [
                    ("count", &*trials.0.to_string()),
                    ("trials", &trials.1.to_string()),
                    ("server", server),
                    ("where", &self.stretch(axis, (*at, *at))),
                    ("offered", &number::rate(*offered)),
                    ("throughput", &number::rate(throughput.value)),
                ];
                Sentence::about(self, levels, self.fill("sentence", key, &places))
            }
            Finding::Doubtful { points, doubts } => self.doubtful(points, doubts, all),
        }
    }

    fn advantage(self, finding: &Finding, axis: &Axis) -> String {
        let Finding::Advantage { server, base, metric, stretch, ratio, at, .. } = finding else {
            return String::new();
        };
        let is_rate = *metric == Metric::Throughput;
        let key = match (is_rate, stretch.0.total_cmp(&stretch.1).is_eq()) {
            (true, false) => "advantage_throughput",
            (true, true) => "advantage_throughput_one",
            (false, false) => "advantage_latency",
            (false, true) => "advantage_latency_one",
        };
        let places = [
            ("server", &**server),
            ("base", base),
            ("stretch", &self.stretch(axis, *stretch)),
            ("metric", &self.metric(*metric)),
            ("where", &self.stretch(axis, (*at, *at))),
            ("change", &ladder::by(ratio.value, is_rate)),
            ("interval", &self.effect_interval(ratio, is_rate)),
        ];
        self.fill("sentence", key, &places)
    }

    fn doubtful(self, points: &[usize], doubts: &[Doubt], all: &Findings) -> Sentence {
        let axis = &all.axis;
        let several = all.points.iter().any(|point| point.server != all.points[0].server);
        // points that differ only in their place are named together
        let mut places: Vec<(String, &str, Vec<String>)> = Vec::new();
        for point in points.iter().filter_map(|&point| all.points.get(point)) {
            let mut levels = point.levels.clone();
            levels.retain(|factor, _| !axis.has(factor) && !axis.servers.factors.contains(factor));
            let about = self.subject(&levels);
            let at = axis.label(point).unwrap_or_else(|| number::level(axis.value(point)));
            match places.iter_mut().find(|(known, server, _)| *known == about && *server == point.server) {
                Some((_, _, values)) if values.contains(&at) => {}
                Some((_, _, values)) => values.push(at),
                None => places.push((about, &point.server, vec![at])),
            }
        }
        let name = |(about, server, at): &(String, &str, Vec<String>)| {
            let stretch = match axis.kind {
                AxisKind::Names => self.fill("sentence", "at_names", &[("first", &self.some_of(at))]),
                _ => self.places(axis, "at", &self.listed(at), ""),
            };
            let place = if several || about.is_empty() {
                {
                    let server = axis.servers.shown(server);
                    self.fill("sentence", "point", &[("server", server), ("stretch", &stretch)])
                }
            } else {
                stretch
            };
            match (about.is_empty(), several) {
                (true, _) => place,
                (false, true) => format!("{about}: {place}"),
                (false, false) => format!("{about} {place}"),
            }
        };
        let mut names: Vec<String> = places.iter().take(NAMED_MAX).map(name).collect();
        if places.len() > NAMED_MAX {
            let more = (places.len() - NAMED_MAX).to_string();
            names.push(self.fill("sentence", "more", &[("count", &more)]));
        }
        let key = if verdict(doubts) == Level::Invalid { "invalid" } else { "doubtful" };
        let reasons = self.doubts(doubts);
        let reasons: Vec<String> = reasons.iter().map(|doubt| capitalised(&doubt.text)).collect();
        let places =
            [("points", &*names.join(self.get("sentence", "semicolon"))), ("reason", &reasons.join(" "))];
        Sentence { about: String::new(), text: self.fill("sentence", key, &places) }
    }

    /// `8, 64 and 1,024`.
    pub(super) fn listed(self, texts: &[String]) -> String {
        match texts.split_last() {
            Some((last, before)) if !before.is_empty() => {
                let before: Vec<String> = before.iter().map(|text| self.marked(text)).collect();
                let before = before.join(self.get("sentence", "comma"));
                format!("{before}{}{}", self.get("sentence", "and"), self.marked(last))
            }
            _ => texts.concat(),
        }
    }

    /// The names, or only the first ones where there are many.
    fn some_of(self, names: &[String]) -> String {
        let mut shown = names[..names.len().min(NAMED_MAX)].join(" / ");
        if names.len() > NAMED_MAX {
            let more = (names.len() - NAMED_MAX).to_string();
            shown = format!("{shown} / {}", self.fill("sentence", "more", &[("count", &more)]));
        }
        shown
    }

    /// The title of the axis.
    pub(super) fn axis(self, axis: &Axis) -> String {
        match axis.kind {
            AxisKind::Rate => match axis.stream() {
                None => self.get("head", "offered_per_second").to_owned(),
                Some(stream) => self.fill("head", "offered_to_stream", &[("stream", stream)]),
            },
            AxisKind::Connections if axis.stream().is_none() => self.get("head", "connections").to_owned(),
            // where there are several streams, the connections of one vary, and the tables are about all of
            // them
            AxisKind::Connections | AxisKind::Number | AxisKind::Names => {
                titled(&axis.factors.iter().map(|factor| self.factor(factor)).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// A factor in words: `connections`, `readers connections`; its own name where there is no word for it.
    pub(super) fn factor(self, name: &str) -> String {
        let (stream, key) = name.rsplit_once('.').map_or(("", name), |(stream, key)| (stream, key));
        match self.get("factor", key) {
            "" => spoken(name),
            word if stream.is_empty() => word.to_owned(),
            word => format!("{} {word}", spoken(stream)),
        }
    }

    /// Levels without the server: what a separate table is about, stream and workload first. A number needs
    /// its factor's name beside it.
    pub(super) fn subject(self, levels: &BTreeMap<String, String>) -> String {
        let mut parts: Vec<String> =
            [STREAM, "workload"].iter().filter_map(|first| levels.get(*first).cloned()).collect();
        for (factor, level) in levels {
            if matches!(factor.as_str(), "server" | "workload" | STREAM) {
                continue;
            }
            let says_itself = level.starts_with(|c: char| c.is_alphabetic());
            parts.push(if says_itself { level.clone() } else { self.level(factor, level) });
        }
        parts.join(self.get("sentence", "comma"))
    }

    /// A level with its factor: `64 connections`, `size below`.
    pub(super) fn level(self, factor: &str, level: &str) -> String {
        match self.get("level_of", factor) {
            "" => format!("{} {level}", self.factor(factor)),
            _ => self.fill("level_of", factor, &[("level", level)]),
        }
    }

    /// A factor as a column head.
    pub(super) fn factor_head(self, name: &str) -> String {
        let factor = self.factor(name);
        if factor.contains('_') { factor } else { titled(&factor) }
    }

    fn stretch(self, axis: &Axis, (first, last): (f64, f64)) -> String {
        let key = if first.total_cmp(&last).is_eq() { "at" } else { "range" };
        self.places(axis, key, &number::level(first), &number::level(last))
    }

    /// `at` one place of the axis or several, or over a `range` of them.
    fn places(self, axis: &Axis, key: &str, first: &str, last: &str) -> String {
        let factor = axis.factors.first().map_or("", String::as_str);
        let unit = match (axis.kind, axis.stream()) {
            (AxisKind::Rate, None) => "rate",
            (AxisKind::Rate, Some(_)) => "stream_rate",
            (AxisKind::Connections, None) | (AxisKind::Names, _) => "connections",
            (AxisKind::Connections | AxisKind::Number, Some(_)) if factor.ends_with(".connections") => {
                "stream_connections"
            }
            (AxisKind::Connections | AxisKind::Number, _) => "number",
        };
        let stream = axis.stream().unwrap_or_default();
        let factor = spoken(factor);
        let one = if unit == "connections" && key == "at" && first == "1" { "_one" } else { "" };
        let places = [("first", first), ("last", last), ("factor", &factor), ("stream", stream)];
        self.fill("sentence", &format!("{key}_{unit}{one}"), &places)
    }

    /// Replaces the interval of a positive quantity that is so wide that its digits say nothing.
    pub(super) fn too_few(self, estimate: &stats::Estimate) -> String {
        match estimate.repeats_for(number::TELLING) {
            Some(repeats) => self.fill("sentence", "too_few", &[("repeats", &repeats.to_string())]),
            None => self.get("sentence", "too_few_by_far").to_owned(),
        }
    }

    /// The name of a metric; one that has no word goes by its key (`p99.9`).
    pub(super) fn metric(self, metric: Metric) -> String {
        let own = metric.to_string();
        let name = self.get("metric", &own);
        if name.is_empty() { own } else { name.to_owned() }
    }
}

/// A finding in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Levels that it is about, joined; empty: everything.
    pub about: String,
    /// The sentence.
    pub text: String,
}

impl Sentence {
    fn about(words: Words, levels: &BTreeMap<String, String>, text: String) -> Self {
        Self { about: words.subject(levels), text }
    }

    /// Both in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let colon = if self.text.ends_with('。') { "：" } else { ": " };
        let Self { about, text } = self;
        if about.is_empty() { text.clone() } else { format!("{about}{colon}{text}") }
    }
}

/// A factor's name as it is spoken: `background connections`. A key or a variable keeps its own spelling.
pub(super) fn spoken(factor: &str) -> String {
    factor.replace('.', " ")
}

/// A template with its `{places}` filled in; a place without a value stays as it is.
fn filled(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, (place, after))) =
        rest.split_once('{').and_then(|(before, from)| Some((before, from.split_once('}')?)))
    {
        text.push_str(before);
        match value(place) {
            Some(value) => text.push_str(&value),
            None => text.push_str(&format!("{{{place}}}")),
        }
        rest = after;
    }
    text + rest
}

/// The text with an initial capital.
pub(super) fn titled(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", characters.as_str())
}

/// The text as a sentence: with an initial capital and a full stop.
pub(super) fn capitalised(text: &str) -> String {
    let end = match text.chars().last() {
        Some('.' | '!' | '?' | '。') => "",
        Some(last) if last > '\u{2e7f}' => "。",
        _ => ".",
    };
    format!("{}{end}", titled(text))
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
        // Chinese nouns have no plural
        let is_plural = |section: &str, key: &str| {
            key.strip_suffix("_one").is_some_and(|many| ENGLISH[section].contains_key(many))
        };
        let chinese = keys(&CHINESE).into_iter();
        let english = || {
            let all = keys(&ENGLISH).into_iter();
            all.filter(|(section, key)| CHINESE[*section].contains_key(*key) || !is_plural(section, key))
        };
        assert_eq!(english().collect::<Vec<_>>(), chinese.collect::<Vec<_>>());
        for (section, key) in english() {
            let (english, chinese) = (&ENGLISH[section][key], &CHINESE[section][key]);
            // English says "1 trial" where Chinese gives the number
            let is_same = places(english) == places(chinese)
                || ["failed_one", "at_connections_one"].contains(&key.as_str());
            assert!(is_same, "{section}.{key} has other places: {chinese}");
        }
    }

    #[test]
    fn an_interval_that_says_nothing_is_not_told_in_digits() {
        let wide = stats::Estimate::between(1.3, 1e-9, 4_507_800_208.2, 0.95, 2);
        let narrow = stats::Estimate::between(1.3, 1.1, 1.5, 0.95, 2);
        for (language, few) in [(Language::English, "too few repeats"), (Language::Chinese, "重复次数太少")]
        {
            let words = Words::of(language);
            for is_rate in [true, false] {
                let text = words.effect_interval(&wide, is_rate);
                assert!(text.contains(few) && !text.contains("507") && !text.contains('{'), "{text}");
            }
            let text = words.effect_interval(&narrow, true);
            assert!(text.contains("1.10"), "{text}");
        }
        // two repeats tell very little about their spread; a third and a fourth tell much more
        let unsure = stats::Estimate::between(1.0, 0.05, 20.0, 0.95, 2);
        let repeats = unsure.repeats_for(number::TELLING).expect("a few");
        assert!((3..10).contains(&repeats), "{repeats}");
        let text = Words::of(Language::English).effect_interval(&unsure, true);
        assert!(text.contains(&format!("about {repeats} ")), "{text}");
    }
}
