//! Compares what a server was asked to run with and what it says it runs with, by meaning: `1G` is
//! 1073741824, `ON` is 1.
//!
//! A setting that a server silently changed is found here, before any load runs: otherwise it would be
//! measured as something else.

use super::{
    translate::Expected,
    words::{flag, same},
};
use crate::quantity;
use std::{collections::BTreeMap, fmt, path::Path};

/// Sizes and counts that are nearer than this share are one: servers round them to pages and kilobytes.
const ROUNDING: f64 = 0.01;
/// Beginnings of options that say something of the rest of their name.
const PREFIXES: [(&str, &str); 3] = [("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")];

/// A setting that did not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTaken {
    /// As the study has it.
    pub asked: String,
    /// The variable.
    pub variable: String,
    /// What the server runs with.
    pub found: String,
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was requested, but it runs with {} = {}", self.asked, self.variable, shown(&self.found))
    }
}

/// The entries of `expected` that the server does not run with; `variables` is its `SHOW GLOBAL VARIABLES`.
/// An option without a variable is left out: the server accepted it, or it would not have started.
#[must_use]
pub fn not_taken(expected: &[Expected], variables: &BTreeMap<String, String>) -> Vec<NotTaken> {
    let different = |one: &Expected| {
        let (variable, wanted) = find(one, variables)?;
        let found = &variables[&variable];
        (!alike(&wanted, found)).then(|| NotTaken {
            asked: one.asked.clone(),
            variable,
            found: found.clone(),
        })
    };
    expected.iter().filter_map(different).collect()
}

/// The variable that tells of an option, and the value that it must have.
fn find(expected: &Expected, variables: &BTreeMap<String, String>) -> Option<(String, String)> {
    let there = |name: &str| same(name).into_iter().find(|one| variables.contains_key(one));
    if let Some(variable) = there(&expected.variable) {
        let value = if expected.value.is_empty() && flag(&variables[&variable]).is_some() {
            "ON"
        } else {
            &expected.value
        };
        return Some((variable, value.to_owned()));
    }
    PREFIXES.iter().find_map(|(prefix, value)| {
        let variable = there(expected.variable.strip_prefix(prefix)?)?;
        Some((variable, (*value).to_owned()))
    })
}

/// Whether two values mean the same.
#[must_use]
pub fn alike(wanted: &str, found: &str) -> bool {
    let (wanted, found) = (plain(wanted), plain(found));
    if wanted == found {
        return true;
    }
    if let (Some(wanted), Some(found)) = (number(&wanted), number(&found)) {
        return (wanted - found).abs() <= ROUNDING * wanted.abs().max(found.abs())
            && (wanted == 0.0) == (found == 0.0);
    }
    match (flag(&wanted), flag(&found)) {
        (Some(wanted), Some(found)) => return wanted == found,
        // A file's name turns something on: log_bin = binlog.
        (None, Some(found)) if !wanted.contains(',') => return found && !wanted.is_empty(),
        _ => {}
    }
    is_path_of(&wanted, &found) || is_part_of(&wanted, &found)
}

fn plain(text: &str) -> String {
    let text = text.trim().to_ascii_lowercase().replace('_', "-");
    // MySQL 8.0 and MariaDB 10.6 call by its length what was utf8 before.
    if text == "utf8" || text.starts_with("utf8-") { text.replacen("utf8", "utf8mb3", 1) } else { text }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| quantity::size_or_bytes(text).ok().map(|size| size as f64))
}

/// Servers add their own directory to a file's name, and a slash to a directory's.
fn is_path_of(wanted: &str, found: &str) -> bool {
    let wanted = Path::new(wanted.trim_start_matches("./"));
    !wanted.as_os_str().is_empty() && found.contains('/') && Path::new(found).ends_with(wanted)
}

/// `mrr=on` is one of many in `optimizer_switch`; the modes of `sql_mode` come in any order.
fn is_part_of(wanted: &str, found: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        // Galera's options have spaces around the equals sign, and semicolons between them.
        let parts = text.split([',', ';']).map(|part| part.split_whitespace().collect::<String>());
        parts.filter(|part| !part.is_empty()).collect()
    };
    let (wanted, found) = (parts(wanted), parts(found));
    found.len() > 1 && !wanted.is_empty() && wanted.iter().all(|part| found.contains(part))
}

/// A value for people: large numbers of bytes also in units.
fn shown(value: &str) -> String {
    match value.parse().ok().and_then(quantity::whole_unit) {
        Some(units) => format!("{value} ({units})"),
        None if value.is_empty() => "nothing".to_owned(),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_what_they_mean() {
        for (wanted, found) in [
            ("1G", "1073741824"),
            ("true", "ON"),
            ("OFF", "0"),
            ("2", "2.000000"),
            ("repeatable read", "REPEATABLE READ"),
            ("repeatable-read", "REPEATABLE-READ"),
            ("pool_of_threads", "pool-of-threads"),
            ("utf8", "utf8mb3"),
            ("utf8_general_ci", "utf8mb3_general_ci"),
            ("binlog", "ON"),
            ("slow.log", "/data/slow.log"),
            ("/data/tmp", "/data/tmp/"),
            ("mrr=on", "index_merge=on,mrr=on,mrr_cost_based=off"),
            ("NO_ZERO_DATE,ANSI_QUOTES", "ANSI_QUOTES,NO_ZERO_DATE"),
            (
                "base_port=4567;gcache.size=16M",
                "base_host = 127.0.0.1; base_port = 4567; gcache.size = 16M; ",
            ),
            ("1000000", "999424"),
        ] {
            assert!(alike(wanted, found), "{wanted} {found}");
        }
        for (wanted, found) in [
            ("100M", "134217728"),
            ("0", "1"),
            ("ON", "OFF"),
            ("4096", "214"),
            ("latin1", "utf8mb4"),
            ("mrr=on", "index_merge=on,mrr=off"),
            ("O_DIRECT", "fsync"),
            ("O_DIRECT", ""),
            ("fsync", "O_DIRECT"),
        ] {
            assert!(!alike(wanted, found), "{wanted} {found}");
        }
    }

    #[test]
    fn options_are_found_under_the_names_that_variables_have() {
        let variables = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let expected = |variable: &str, value: &str| Expected {
            asked: format!("{variable} = {value}"),
            variable: variable.to_owned(),
            value: value.to_owned(),
        };
        let old =
            variables(&[("tx_isolation", "READ-COMMITTED"), ("log_bin", "ON"), ("skip_networking", "OFF")]);
        let good = [
            expected("transaction_isolation", "read-committed"),
            expected("log_bin", "binlog"),
            expected("no_such_variable", "1"),
        ];
        assert_eq!(not_taken(&good, &old), []);
        let bad = [expected("skip_log_bin", ""), expected("skip_networking", "")];
        let found: Vec<_> = not_taken(&bad, &old).into_iter().map(|one| one.variable).collect();
        assert_eq!(found, ["log_bin", "skip_networking"]);
        let pool = variables(&[("innodb_buffer_pool_size", "134217728")]);
        let words = not_taken(&[expected("innodb_buffer_pool_size", "100M")], &pool)[0].to_string();
        assert_eq!(
            words,
            "innodb_buffer_pool_size = 100M was requested, but it runs with innodb_buffer_pool_size = \
             134217728 (128M)"
        );
    }
}
