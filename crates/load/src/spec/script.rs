//! A Lua script as a workload: its text, and everything that it finds when it runs, so that a load can be run
//! and repeated without any file.

use serde::{Deserialize, Serialize};

/// A script with everything that it needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// As messages name it.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Other scripts that it loads: by what name it asks for each, and the text.
    #[serde(default)]
    pub others: Vec<(String, String)>,
    /// Its options and those of sysbench, by name.
    pub options: Vec<(String, Value)>,
    /// What it finds as global variables, where it declares no options.
    #[serde(default)]
    pub globals: Vec<(String, String)>,
}

impl Script {
    /// What it finds under the name of an option.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&Value> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Sets an option.
    pub fn set_option(&mut self, name: &str, value: Value) {
        self.options.retain(|(known, _)| known != name);
        self.options.push((name.to_owned(), value));
    }
}

/// A value of an option, as scripts see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Nothing was given, and there is no default.
    Nil,
    /// On or off.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// Text.
    Text(String),
    /// Texts.
    List(Vec<String>),
}
