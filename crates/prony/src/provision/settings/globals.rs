//! The global variables of a server: read as a whole, compared, and restored as a whole. Setting one can move
//! others (MariaDB raises `innodb_io_capacity_max` with `innodb_io_capacity`, MySQL lowers what is asked
//! for), so nothing less shows what a change has done.

use super::words::flag;
use crate::{
    provision::login::describe::{is_setting, pairs},
    quantity::size_or_bytes,
};
use load::client::{Connection, Error};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// Values by the variable's name, as `SHOW GLOBAL VARIABLES` has them.
pub type Globals = BTreeMap<String, String>;

/// Settings that servers change by themselves.
const RESTLESS: &[&str] = &[
    "gtid_binlog_state",
    "gtid_owned",
    "gtid_slave_pos",
    "innodb_thread_sleep_delay",
    "wsrep_start_position",
    "wsrep_last_committed",
];
/// Rounds in which values are restored: one may hold back another until it has moved itself.
const ROUNDS: usize = 4;

/// A variable that has another value than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Its name.
    pub variable: String,
    /// What it was.
    pub before: String,
    /// What it is.
    pub after: String,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &str| if value.is_empty() { "nothing".to_owned() } else { value.to_owned() };
        write!(f, "{} was {} and is {}", self.variable, shown(&self.before), shown(&self.after))
    }
}

/// All global variables. Empty where the server refuses.
///
/// # Errors
/// Where the connection breaks.
pub fn globals(connection: &mut Connection) -> Result<Globals, Error> {
    pairs(connection, "SHOW GLOBAL VARIABLES")
}

/// The settings that differ; none where one of the two is not known.
#[must_use]
pub fn moved(before: &Globals, after: &Globals) -> Vec<Moved> {
    different(before, after, &[])
}

fn different(before: &Globals, after: &Globals, also: &[&str]) -> Vec<Moved> {
    if before.is_empty() || after.is_empty() {
        return Vec::new();
    }
    let moved = |(variable, before): (&String, &String)| {
        let after = after.get(variable).filter(|after| *after != before)?;
        let (variable, before, after) = (variable.clone(), before.clone(), after.clone());
        Some(Moved { variable, before, after })
    };
    let counts = |(name, _): &(&String, &String)| {
        also.contains(&name.as_str()) || (is_setting(name) && !RESTLESS.contains(&name.as_str()))
    };
    before.iter().filter(counts).filter_map(moved).collect()
}

/// What could not be restored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// What is still different, as moved from what is wanted.
    pub moved: Vec<Moved>,
    /// What the server said about it; empty: it took each value and has another.
    pub said: String,
}

/// Sets every setting to its value in `wanted`, and the variables `also` in any case; reads them back.
///
/// # Errors
/// Where the connection breaks.
pub fn put_back(connection: &mut Connection, wanted: &Globals, also: &[&str]) -> Result<Left, Error> {
    let mut said = String::new();
    let mut rounds = 0;
    loop {
        let moved = different(wanted, &globals(connection)?, also);
        if moved.is_empty() || rounds == ROUNDS {
            return Ok(Left { moved, said });
        }
        rounds += 1;
        said.clear();
        for Moved { variable, before, .. } in &moved {
            match connection.query(&format!("SET GLOBAL {variable} = {}", literal(before))) {
                Err(refused @ Error::Server { .. }) => said = refused.to_string(),
                answer => drop(answer?),
            }
        }
    }
}

/// A value as SET takes it: numbers bare, flags as words, all else in quotes.
pub(in crate::provision) fn literal(value: &str) -> String {
    let is_number = value.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    match (size_or_bytes(value), flag(value)) {
        _ if is_number && value.parse::<f64>().is_ok() => value.to_owned(),
        (Ok(number), _) => number.to_string(),
        (_, Some(true)) => "ON".to_owned(),
        (_, Some(false)) => "OFF".to_owned(),
        _ => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globals(pairs: &[(&str, &str)]) -> Globals {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_settings_count_that_do_not_move_by_themselves() {
        let before = globals(&[("a", "1"), ("b", "x"), ("gtid_executed", "1"), ("gtid_slave_pos", "1")]);
        let after = globals(&[("a", "2"), ("b", "x"), ("gtid_executed", "2"), ("gtid_slave_pos", "2")]);
        let found = moved(&before, &after);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "a was 1 and is 2");
        assert_eq!(moved(&before, &before), []);
        assert_eq!(moved(&before, &Globals::new()), [], "a server that refuses to say has not changed");
    }
}
