//! Settings in today's words, translated into what a product and version calls them, or refused with the
//! reason.
//!
//! The words are data (`words.toml`). A name that is no word is the server's own and passes through. It does
//! not know whether the server is Prony's: what comes out can be written into an option file, set on a
//! running server, and must be read back from it.

use super::plain_name;
use crate::{provision::software::version::Build, quantity::size_or_bytes};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, sync::OnceLock};

/// One setting in today's words.
#[derive(Debug, Clone, Deserialize, Serialize)]
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
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Case {
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    same: Vec<Vec<String>>,
    word: Vec<Word>,
}

/// What a server is to be told, and what it must say afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Translated {
    /// By name in an option file.
    pub options: BTreeMap<String, String>,
    /// What must be read back.
    pub expected: Vec<Expected>,
}

/// A variable that must have a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// As the study has it: `redo_capacity = 1G`.
    pub asked: String,
    /// Name in `SHOW GLOBAL VARIABLES`, or of an option that may have none there.
    pub variable: String,
    /// Its value, in any spelling.
    pub value: String,
}

/// A setting that a server cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// As the study has it: `query_cache = 64M`.
    pub asked: String,
    /// Why not.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.asked, self.reason)
    }
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

/// What `build` is to be told for `settings`, which are words or names of its own. The latter go before what
/// a word says.
///
/// # Errors
/// Every setting that it cannot have.
pub fn translate(build: Build<'_>, settings: &BTreeMap<String, String>) -> Result<Translated, Vec<Refusal>> {
    let (mut options, mut expected, mut refusals) =
        (BTreeMap::new(), BTreeMap::<String, Expected>::new(), Vec::new());
    let found = |name: &str| words().iter().find(|word| word.name == plain_name(name));
    for (name, value) in settings {
        let Some(word) = found(name) else { continue };
        let asked = asked(name, value);
        let refused = |reason| Refusal { asked: asked.clone(), reason };
        match word.form.read(value).and_then(|value| word.case(build, &value).map(|case| (case, value))) {
            Err(reason) => refusals.push(refused(reason)),
            Ok((case, value)) => {
                for (variable, value) in case.expected(&value) {
                    let entry = Expected { asked: asked.clone(), variable: variable.clone(), value };
                    expected.insert(variable, entry);
                }
                for (option, value) in case.options(&value) {
                    add(&mut options, option, value);
                }
            }
        }
    }
    for (name, value) in settings.iter().filter(|(name, _)| found(name).is_none()) {
        let (variable, asked) = (plain_name(name), asked(name, value));
        // The option may stand there already, in the spelling of the words.
        if !is_plugin(&variable) {
            options.retain(|option, _| plain_name(option) != variable);
            expected.insert(variable.clone(), Expected { asked, variable, value: value.clone() });
        }
        add(&mut options, name.clone(), value.clone());
    }
    if refusals.is_empty() {
        Ok(Translated { options, expected: expected.into_values().collect() })
    } else {
        Err(refusals)
    }
}

/// Whether a setting is a word of ours, and not an option of a server's own.
pub(in crate::provision) fn is_word(name: &str) -> bool {
    words().iter().any(|word| word.name == plain_name(name))
}

fn asked(name: &str, value: &str) -> String {
    if value.is_empty() { name.to_owned() } else { format!("{name} = {value}") }
}

/// Options that name libraries to load: several of them add up, and no variable tells of them.
pub(in crate::provision) fn is_plugin(option: &str) -> bool {
    ["plugin_load", "plugin_load_add"].contains(&plain_name(option).as_str())
}

fn add(options: &mut BTreeMap<String, String>, option: String, value: String) {
    let plugins = is_plugin(&option);
    let there = options.entry(option).or_default();
    if plugins && !there.is_empty() {
        if !there.split(';').any(|plugin| plugin == value) {
            *there = format!("{there};{value}");
        }
    } else {
        *there = value;
    }
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

    fn case(&self, build: Build<'_>, value: &str) -> Result<&Case, String> {
        match self.cases.iter().find(|case| case.fits(build, value)) {
            Some(Case { refuse: Some(reason), .. }) => Err(reason.clone()),
            Some(case) => Ok(case),
            None => Err(format!("{} {} does not know it", build.product, build.version)),
        }
    }
}

impl Case {
    fn fits(&self, build: Build<'_>, value: &str) -> bool {
        build.is_between(self.product.as_deref(), self.from.as_deref(), self.below.as_deref())
            && self.value.as_deref().is_none_or(|wanted| wanted == value)
    }

    fn options(&self, value: &str) -> Vec<(String, String)> {
        let options = self.options.iter().flatten();
        options.filter_map(|(name, template)| Some((name.clone(), filled(template, value)?))).collect()
    }

    fn expected(&self, value: &str) -> Vec<(String, String)> {
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
    fn read(&self, value: &str) -> Result<String, String> {
        let wrong = || format!("it takes {}", self.words());
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

impl Serialize for Form {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(product: &str, version: &str, settings: &[(&str, &str)]) -> Result<String, String> {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let pairs = |options: BTreeMap<String, String>| {
            let pairs = options.iter().map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>().join(" ")
        };
        translate(Build { product, version }, &settings.collect())
            .map(|translated| pairs(translated.options))
            .map_err(|refusals| refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn one_word_is_what_each_generation_calls_it() {
        let redo = |product, version| told(product, version, &[("redo_capacity", "1G")]).unwrap();
        let halves = "innodb_log_file_size=536870912 innodb_log_files_in_group=2";
        assert_eq!(redo("mysql", "5.5.34"), halves);
        assert_eq!(redo("mysql", "8.0.15"), halves);
        assert_eq!(redo("mysql", "8.0.33"), "innodb_redo_log_capacity=1073741824");
        assert_eq!(redo("mysql", "9.7.4-2"), "innodb_redo_log_capacity=1073741824");
        assert_eq!(redo("mariadb", "10.1.23-MariaDB"), halves);
        assert_eq!(redo("mariadb", "10.11.19-MariaDB-0+deb12u1"), "innodb_log_file_size=1073741824");
        assert_eq!(told("mysql", "8.0.33", &[("binlog", "OFF")]).unwrap(), "disable_log_bin=");
        assert_eq!(told("mysql", "5.7.22", &[("binlog", "OFF")]).unwrap(), "");
        assert_eq!(told("mysql", "8.0.33", &[("query-cache", "off")]).unwrap(), "");
    }

    #[test]
    fn what_a_server_cannot_have_is_refused_with_the_reason_all_at_once() {
        let refused =
            told("mysql", "8.0.33", &[("query_cache", "64M"), ("thread_pool", "ON"), ("isolation", "none")]);
        let refused = refused.unwrap_err();
        for words in ["query_cache = 64M: MySQL has no query cache since 8.0", "9.7", "read-committed"] {
            assert!(refused.contains(words), "{refused}");
        }
        assert!(told("mariadb", "10.1.23", &[("query_cache", "64M"), ("thread_pool", "ON")]).is_ok());
    }

    #[test]
    fn a_name_of_the_servers_own_passes_through_and_goes_before_a_word() {
        let own = [("redo_capacity", "1G"), ("innodb-log-file-size", "64M"), ("some_new_option", "x")];
        assert_eq!(
            told("mariadb", "10.11", &own).unwrap(),
            "innodb-log-file-size=64M some_new_option=x",
            "its own, as it was written"
        );
        let plugins = [("semi_sync_source", "on"), ("semi_sync_replica", "on"), ("plugin_load_add", "x.so")];
        let told = told("mysql", "8.0.33", &plugins).unwrap();
        assert!(told.contains("plugin_load_add=semisync_replica.so;semisync_source.so;x.so"), "{told}");
    }

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
    fn a_buffer_pool_is_as_large_as_it_was_asked_for() {
        let of = |version, size| told("mysql", version, &[("buffer_pool", size)]).unwrap();
        let chunk = "innodb_buffer_pool_chunk_size";
        assert_eq!(of("5.6.24", "200M"), "innodb_buffer_pool_size=209715200");
        assert_eq!(of("5.7.19", "200M"), format!("{chunk}=8388608 innodb_buffer_pool_size=209715200"));
        // eight instances
        assert_eq!(of("8.0.33", "1536M"), format!("{chunk}=67108864 innodb_buffer_pool_size=1610612736"));
        for plain in ["128M", "1G", "30G"] {
            assert!(!of("8.0.33", plain).contains(chunk), "{plain}");
        }
        assert!(!told("mariadb", "10.11", &[("buffer_pool", "200M")]).unwrap().contains(chunk));
    }
}
