//! Settings in today's words, translated into what a product and version calls them, or refused with the
//! reason.
//!
//! A name that is no word is the server's own and passes through. It does not know whether the server is
//! Prony's: what comes out can be written into an option file, set on a running server, and must be read back
//! from it.

use super::{
    plain_name,
    words::{Unfit, is_plugin, words},
};
use crate::provision::software::version::Build;
use std::{collections::BTreeMap, fmt};

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
    pub reason: Unfit,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.asked, self.reason)
    }
}

/// What to tell `build` for `settings`, which are words or its own names. The latter take precedence over the
/// words.
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

fn asked(name: &str, value: &str) -> String {
    if value.is_empty() { name.to_owned() } else { format!("{name} = {value}") }
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
