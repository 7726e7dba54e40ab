//! The words in which a study writes settings: what each is, how it is translated for each server, what
//! servers run with otherwise, and how it is compared and shown. Everything about a word is one entry of
//! `words.toml`.

use super::plain_name;
use crate::{family::Reader, provision::software::version::Build, quantity::size_or_bytes};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::OnceLock};

/// One setting in today's words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// As a study writes it.
    pub name: String,
    /// What it takes.
    pub form: Form,
    /// What it is, one sentence.
    pub about: String,
    /// What each server makes of it, the first that fits.
    #[serde(rename = "for")]
    cases: Vec<Case>,
    /// What servers run with where nobody sets it, as far as plans foresee that.
    #[serde(default, rename = "default")]
    defaults: Vec<Default>,
    /// What it is among the conditions of a comparison.
    #[serde(default)]
    condition: Option<Shown>,
    /// Whether it never leaves a trace in files, so that loaded data serve whatever its value.
    #[serde(default)]
    traceless: bool,
}

/// Why a server cannot have a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The value is of another form.
    #[error("it takes {}", .0.words())]
    Form(Form),
    /// The server does not know the setting.
    #[error("{server} does not know it")]
    Unknown {
        /// Product and version.
        server: String,
    },
    /// It is not available there, for a reason that the table of words has.
    #[error("{0}")]
    Never(String),
    /// The server's package lacks the plug-in.
    #[error("its package lacks this plug-in")]
    NoPlugin,
    /// A server that is running cannot be told.
    #[error("it has no variable of that name that can be set at run time")]
    NotAtRunTime,
}

/// What a word takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Bytes, with K, M, G or T behind them.
    Size,
    /// Bytes, or `off`.
    SizeOrOff,
    /// A whole number.
    Count,
    /// True or false.
    Flag,
    /// Any text.
    Text,
    /// One of these.
    OneOf(Vec<String>),
}

/// What one range of versions makes of a word.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    product: Option<String>,
    /// First version.
    from: Option<String>,
    /// First version that it is no longer true of.
    below: Option<String>,
    /// The only value that it is true of.
    value: Option<String>,
    options: Option<BTreeMap<String, String>>,
    expect: Option<BTreeMap<String, String>>,
    refuse: Option<String>,
}

/// What servers run with where nobody sets it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Default {
    product: Option<String>,
    from: Option<String>,
    below: Option<String>,
    variables: BTreeMap<String, String>,
}

/// How a condition is named and read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    /// The most important has the lowest number.
    place: u32,
    title: String,
    zh: String,
    /// `None`: as the word's form says.
    read: Option<Reader>,
    /// Other names of servers' own that set it.
    #[serde(default)]
    also: Vec<String>,
}

/// A condition that no word sets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wordless {
    key: String,
    variables: Vec<String>,
    #[serde(default, rename = "default")]
    defaults: Vec<Default>,
    shown: Shown,
}

/// One condition that servers of a comparison should share.
#[derive(Debug)]
pub struct Condition {
    /// Its key: that of the word that sets it, where there is one.
    pub key: &'static str,
    /// In words, English.
    pub title: &'static str,
    /// In words, Chinese.
    pub title_zh: &'static str,
    /// Whether a word of `[settings]` sets it.
    pub is_word: bool,
    /// How it is read.
    pub reader: Reader,
    /// Variables that tell of it, and settings of servers' own that change it.
    pub names: Vec<String>,
}

impl Condition {
    /// Whether a setting of this name, a word or one of a server's own, changes it.
    #[must_use]
    pub fn is_set_by(&self, name: &str) -> bool {
        (self.is_word && name == self.key) || self.names.iter().any(|one| one == name)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    same: Vec<Vec<String>>,
    word: Vec<Word>,
    condition: Vec<Wordless>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("words.toml")).expect("the words are part of the program and tested")
    })
}

/// All words.
#[must_use]
pub fn words() -> &'static [Word] {
    &table().word
}

/// Every name that means the same variable as `name`, itself included.
pub(in crate::provision) fn same(name: &str) -> Vec<String> {
    let group = table().same.iter().find(|group| group.iter().any(|one| one == name));
    group.cloned().unwrap_or_else(|| vec![name.to_owned()])
}

/// All conditions that servers of a comparison should share, the most important first.
#[must_use]
pub fn conditions() -> &'static [Condition] {
    static CONDITIONS: OnceLock<Vec<Condition>> = OnceLock::new();
    CONDITIONS.get_or_init(|| {
        let by_form = |form: &Form| match form {
            Form::Size => Reader::Size,
            Form::Flag => Reader::Switch,
            _ => Reader::Text,
        };
        let condition = |shown: &'static Shown, key: &'static str, form: Option<&Form>, names| {
            let reader = shown.read.unwrap_or_else(|| form.map_or(Reader::Text, by_form));
            let (title, title_zh) = (&*shown.title, &*shown.zh);
            (shown.place, Condition { key, title, title_zh, is_word: form.is_some(), reader, names })
        };
        let of_word = |word: &'static Word| {
            let shown = word.condition.as_ref()?;
            let names = word.variables().into_iter().chain(shown.also.iter().cloned()).collect();
            Some(condition(shown, &word.name, Some(&word.form), names))
        };
        let wordless = |one: &'static Wordless| condition(&one.shown, &one.key, None, one.variables.clone());
        let mut all: Vec<_> = words().iter().filter_map(of_word).collect();
        all.extend(table().condition.iter().map(wordless));
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, condition)| condition).collect()
    })
}

/// Variables of conditions as `build` has them when nobody sets them. Later lines take precedence.
#[must_use]
pub fn defaults(build: Build<'_>) -> BTreeMap<String, String> {
    let of_words = words().iter().flat_map(|word| &word.defaults);
    let all = of_words.chain(table().condition.iter().flat_map(|one| &one.defaults));
    let fits =
        |one: &&Default| build.is_between(one.product.as_deref(), one.from.as_deref(), one.below.as_deref());
    all.filter(fits).flat_map(|one| one.variables.clone()).collect()
}

/// Whether a setting of a server's own is one that a word sets which leaves no trace in files.
pub(in crate::provision) fn is_traceless(name: &str) -> bool {
    let traceless = words().iter().filter(|word| word.traceless);
    traceless.flat_map(Word::variables).any(|variable| variable == name)
}

/// Whether a setting is one of Prony's words, and not a server's own option.
pub(in crate::provision) fn is_word(name: &str) -> bool {
    words().iter().any(|word| word.name == plain_name(name))
}

/// Options that name libraries to load: several of them add up, and no variable tells of them.
pub(in crate::provision) fn is_plugin(option: &str) -> bool {
    ["plugin_load", "plugin_load_add"].contains(&plain_name(option).as_str())
}

impl Word {
    /// The options that it has at one server or other, for lists: `innodb_redo_log_capacity`,
    /// `innodb_log_file_size`.
    #[must_use]
    pub fn option_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for name in self.cases.iter().flat_map(|case| case.options.iter().flat_map(BTreeMap::keys)) {
            if !is_plugin(name) && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Reasons for which some servers cannot have it.
    #[must_use]
    pub fn refusals(&self) -> Vec<&str> {
        let mut reasons: Vec<_> = self.cases.iter().filter_map(|case| case.refuse.as_deref()).collect();
        reasons.dedup();
        reasons
    }

    /// Variables that tell of it, at one server or other.
    fn variables(&self) -> Vec<String> {
        let told = self.cases.iter().flat_map(|case| case.expect.iter().chain(&case.options).take(1));
        let names = told.flat_map(BTreeMap::keys).filter(|name| !is_plugin(name));
        let mut variables = Vec::new();
        for name in names.flat_map(|name| same(name)) {
            if !variables.contains(&name) {
                variables.push(name);
            }
        }
        variables
    }

    pub(super) fn case(&self, build: Build<'_>, value: &str) -> Result<&Case, Unfit> {
        match self.cases.iter().find(|case| case.fits(build, value)) {
            Some(Case { refuse: Some(reason), .. }) => Err(Unfit::Never(reason.clone())),
            Some(case) => Ok(case),
            None => Err(Unfit::Unknown { server: format!("{} {}", build.product, build.version) }),
        }
    }
}

impl Case {
    fn fits(&self, build: Build<'_>, value: &str) -> bool {
        build.is_between(self.product.as_deref(), self.from.as_deref(), self.below.as_deref())
            && self.value.as_deref().is_none_or(|wanted| wanted == value)
    }

    pub(super) fn options(&self, value: &str) -> Vec<(String, String)> {
        let options = self.options.iter().flatten();
        options.filter_map(|(name, template)| Some((name.clone(), filled(template, value)?))).collect()
    }

    pub(super) fn expected(&self, value: &str) -> Vec<(String, String)> {
        let expected = self.expect.as_ref().or(self.options.as_ref());
        let readable = expected.into_iter().flatten().filter(|(name, _)| !is_plugin(name));
        readable.filter_map(|(name, template)| Some((name.clone(), filled(template, value)?))).collect()
    }
}

/// `None`: nothing need be said.
fn filled(template: &str, value: &str) -> Option<String> {
    let number = || value.parse::<u64>().ok();
    Some(match template {
        "{half}" => (number()? / 2).to_string(),
        // MySQL 5.5 takes `on` for some of its options and ignores it for others.
        "{flag}" => if value == "on" { "1" } else { "0" }.to_owned(),
        "{chunk}" => chunk(number()?).filter(|chunk| *chunk != CHUNK_MAX)?.to_string(),
        template => template.replace("{}", value),
    })
}

/// Pieces that a buffer pool is made of, unless the server is told otherwise.
const CHUNK_MAX: u64 = 128 << 20;

/// The largest piece that leaves a buffer pool of `size` bytes as large as it was asked for: servers make it
/// a multiple of the piece, and of eight of them from 1 GiB on, where there are eight instances. `None`:
/// there is none.
fn chunk(size: u64) -> Option<u64> {
    const EIGHT_FROM: u64 = 1 << 30;
    let instances = if size < EIGHT_FROM { 1 } else { 8 };
    // the largest power of two in it
    let largest = (1_u64 << size.trailing_zeros().min(62)) / instances;
    (largest >= 1 << 20).then_some(largest.min(CHUNK_MAX))
}

impl Form {
    /// In words, for lists and messages.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Size => "a size: 512M, 1G".to_owned(),
            Self::SizeOrOff => "a size (64M) or off".to_owned(),
            Self::Count => "a whole number".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Text => "a name".to_owned(),
            Self::OneOf(words) => words.join(", "),
        }
    }

    /// `value` in the one spelling in which the table has it.
    pub(super) fn read(&self, value: &str) -> Result<String, Unfit> {
        let wrong = || Unfit::Form(self.clone());
        match self {
            Self::Size => Ok(size_or_bytes(value).map_err(|_| wrong())?.to_string()),
            Self::SizeOrOff if flag(value) == Some(false) => Ok("off".to_owned()),
            Self::SizeOrOff => Ok(size_or_bytes(value).map_err(|_| wrong())?.to_string()),
            Self::Count => Ok(value.trim().parse::<u64>().map_err(|_| wrong())?.to_string()),
            Self::Flag => Ok(if flag(value).ok_or_else(wrong)? { "on" } else { "off" }.to_owned()),
            Self::Text => Ok(value.trim().to_owned()),
            Self::OneOf(words) => {
                let plain = value.trim().to_ascii_lowercase();
                let alike = |word: &&String| word.replace('_', "-") == plain.replace(['_', ' '], "-");
                words.iter().find(alike).cloned().ok_or_else(wrong)
            }
        }
    }
}

/// `true` and `false` in all spellings that servers take.
pub(in crate::provision) fn flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

impl<'de> Deserialize<'de> for Form {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        match toml::Value::deserialize(deserializer)? {
            toml::Value::Array(words) => {
                let words: Option<Vec<_>> =
                    words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                words.map(Self::OneOf).ok_or_else(|| D::Error::custom("a list of words"))
            }
            toml::Value::String(name) => match name.as_str() {
                "size" => Ok(Self::Size),
                "size_or_off" => Ok(Self::SizeOrOff),
                "count" => Ok(Self::Count),
                "flag" => Ok(Self::Flag),
                "text" => Ok(Self::Text),
                _ => Err(D::Error::custom("size, size_or_off, count, flag, text, or a list of words")),
            },
            _ => Err(D::Error::custom("a word or a list of words")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_says_what_becomes_of_it() {
        for word in words() {
            assert!(word.about.ends_with('.'), "{}", word.name);
            for case in &word.cases {
                assert_eq!(case.options.is_some(), case.refuse.is_none(), "{}", word.name);
            }
            let last = word.cases.last().expect("a case");
            assert!(last.value.is_none() || matches!(word.form, Form::OneOf(_)), "{}", word.name);
        }
    }

    #[test]
    fn every_condition_has_a_place_a_name_in_each_language_and_variables_that_tell_of_it() {
        let all = conditions();
        let places: BTreeSet<u32> =
            words().iter().filter_map(|word| word.condition.as_ref()).map(|shown| shown.place).collect();
        assert_eq!(places.len() + table().condition.len(), all.len(), "each has a place of its own");
        assert_eq!((all[0].key, all[0].reader), ("buffer_pool", Reader::Size));
        let isolation = all.iter().find(|one| one.key == "isolation").expect("a condition");
        assert_eq!(isolation.names, ["transaction_isolation", "tx_isolation"], "all names of one thing");
        let known: BTreeSet<&str> = all.iter().flat_map(|one| &one.names).map(String::as_str).collect();
        for one in all {
            assert!(!one.title.is_empty() && !one.title_zh.is_empty() && !one.names.is_empty(), "{one:?}");
        }
        // a default that nobody reads would be one that was mistyped
        for build in [("mysql", "5.5"), ("mysql", "9.7"), ("mariadb", "10.1"), ("mariadb", "11.8")] {
            let defaults = defaults(Build { product: build.0, version: build.1 });
            assert!(defaults.len() > 15, "{build:?}");
            let unread: Vec<_> = defaults.keys().filter(|name| !known.contains(name.as_str())).collect();
            assert!(unread.is_empty(), "{build:?}: {unread:?}");
        }
    }

    #[test]
    fn words_say_whether_they_leave_a_trace_in_files() {
        for name in ["innodb_write_io_threads", "back_log", "tx_isolation", "sync_binlog"] {
            assert!(is_traceless(name), "{name}");
        }
        assert!(!is_traceless("innodb_doublewrite") && !is_traceless("plugin_load_add"));
    }
}
