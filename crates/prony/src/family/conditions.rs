//! The conditions under which servers run, as far as they decide what a comparison is worth, and what they
//! are where nobody asks for anything.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A server's variables by name.
pub type Variables = BTreeMap<String, String>;

/// One condition that servers of a comparison should share.
#[derive(Debug)]
pub struct Aspect {
    /// Its key.
    pub key: &'static str,
    /// In words.
    pub title: &'static str,
    /// The word of `[settings]` that sets it.
    pub word: Option<&'static str>,
    /// Names of the servers' own that set it.
    pub(super) names: &'static [&'static str],
    pub(super) read: fn(&Variables) -> Option<String>,
}

impl Aspect {
    /// What a server with these variables has; `None`: not known, or without a meaning there.
    #[must_use]
    pub fn value(&self, variables: &Variables) -> Option<String> {
        (self.read)(variables)
    }

    /// Whether a setting of this name changes it.
    #[must_use]
    pub fn is_set_by(&self, name: &str) -> bool {
        self.word == Some(name) || self.names.contains(&name)
    }
}

/// What servers of a family run with where nobody asks for anything, and how old they are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Later ones go before earlier ones.
    #[serde(rename = "default")]
    pub defaults: Vec<Default>,
    /// Series of versions with their years.
    pub series: Vec<Series>,
}

/// Variables of some versions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Default {
    /// Which product; `None`: all of the family.
    pub product: Option<String>,
    /// First version.
    pub from: Option<String>,
    /// First version after these.
    pub below: Option<String>,
    /// By name.
    pub variables: Variables,
}

/// The series of a product.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Which product.
    pub product: String,
    /// The year in which each series was first fit for production.
    pub years: BTreeMap<String, u32>,
}
