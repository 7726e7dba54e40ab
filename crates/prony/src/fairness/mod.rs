//! Whether the servers of a comparison run under the same conditions: compared by meaning, from what they
//! really run with or, before they have started, from what is known of their versions.
//!
//! A difference that the study itself makes, by giving servers different settings, is its purpose. Every
//! other one spoils the comparison, and is reported with the setting word that removes it. This module knows
//! plans and descriptions of servers, not how they are measured.

use crate::{
    dataset::Size,
    family,
    plan::{ServerPlan, ServerSource},
    provision::{self, Build, ServerDescription, translate},
    quantity::{show_size_rounded, size_or_bytes},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Series whose first years are further apart than this are of different ages.
const YEARS_APART_MAX: u32 = 2;
/// Sizes of the same data that differ by more than this factor are different: servers only estimate sizes.
const SIZE_FACTOR_MAX: f64 = 1.25;

/// One condition on every server of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Its key: `redo_capacity`, `data_size`.
    pub key: String,
    /// In words: `redo capacity`.
    pub title: String,
    /// Number of the data set that it is of, from 1, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_set: Option<usize>,
    /// By index of the plan's servers; `None`: not known, or it has no meaning there.
    pub values: Vec<Option<String>>,
    /// How they compare.
    pub verdict: Verdict,
    /// What makes it the same on all servers: `redo_capacity`.
    pub remedy: Option<String>,
}

/// How the values of a condition compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ConditionVerdict")]
pub enum Verdict {
    /// The same wherever it is known.
    Same,
    /// Different since the study asks for it.
    OnPurpose,
    /// Different, and the study does not say that it is to be.
    Different,
}

/// What is known of one server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// What it says of itself; `None`: it has not been asked.
    pub description: Option<&'a ServerDescription>,
    /// Product and version, where it has not been asked.
    pub build: Option<Build<'a>>,
    /// Sizes of its data sets, by their index in the plan.
    pub sizes: Option<&'a BTreeMap<usize, Size>>,
}

impl Condition {
    /// Each value with the servers that have it, where it is known.
    #[must_use]
    pub fn by_value<'a>(&'a self, names: &[&'a str]) -> Vec<(&'a str, Vec<&'a str>)> {
        let mut by_value: Vec<(&str, Vec<&str>)> = Vec::new();
        for (value, name) in self.values.iter().zip(names) {
            let Some(value) = value else { continue };
            match by_value.iter_mut().find(|(known, _)| known == value) {
                Some((_, names)) => names.push(name),
                None => by_value.push((value, vec![name])),
            }
        }
        by_value
    }

    /// `binlog: on with mysql-8.0; off with mysql-5.7, mariadb (say binlog in [settings] to make it the
    /// same)`.
    #[must_use]
    pub fn sentence(&self, names: &[&str]) -> String {
        let parts: Vec<_> = self
            .by_value(names)
            .iter()
            .map(|(value, names)| format!("{value} with {}", names.join(", ")))
            .collect();
        let remedy = self
            .remedy
            .as_ref()
            .map_or_else(String::new, |word| format!(" (set `{word}` in [settings] to make it the same)"));
        format!("{}: {}{remedy}", self.title, parts.join("; "))
    }
}

/// Every condition of the servers of a plan; `known` has an entry for each of them.
#[must_use]
pub fn conditions(servers: &[ServerPlan], known: &[Known<'_>]) -> Vec<Condition> {
    let variables: Vec<_> =
        servers.iter().zip(known).map(|(server, known)| variables(server, known)).collect();
    let mut conditions: Vec<_> = provision::conditions()
        .iter()
        .map(|one| {
            let value = |all: &Option<_>| family::spoken().condition(one.reader, &one.names, all.as_ref()?);
            let values: Vec<_> = variables.iter().map(value).collect();
            let asked: Vec<_> = servers.iter().map(|server| asked(server, one)).collect();
            let verdict = verdict(&values, &asked, |one, other| one == other);
            let remedy = one.is_word.then(|| one.key.to_owned());
            Condition {
                key: one.key.to_owned(),
                title: one.title.to_owned(),
                data_set: None,
                values,
                verdict,
                remedy,
            }
        })
        .collect();
    conditions.extend(sizes(servers, known));
    conditions.extend([age(servers, known), builder(known)]);
    conditions.retain(|condition| condition.values.iter().any(Option::is_some));
    conditions
}

/// Those that differ without a purpose.
#[must_use]
pub fn differences(conditions: &[Condition]) -> Vec<&Condition> {
    conditions.iter().filter(|condition| condition.verdict == Verdict::Different).collect()
}

/// What the server says, or what can be said before it has been asked.
fn variables(server: &ServerPlan, known: &Known<'_>) -> Option<BTreeMap<String, String>> {
    if let Some(description) = known.description {
        let variables = family::spoken().now(&description.variables, &description.status_before);
        // A server that says nothing of itself has no conditions.
        return (!variables.is_empty()).then_some(variables);
    }
    let build = known.build?;
    let mut variables = provision::defaults(build);
    for expected in translate(build, &server.settings).ok()?.expected {
        variables.insert(expected.variable, expected.value);
    }
    Some(variables)
}

/// What the study asks of a server as to one condition.
fn asked(server: &ServerPlan, condition: &provision::Condition) -> BTreeMap<String, String> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let of_condition = server.settings.iter().filter(|(name, _)| condition.is_set_by(&plain(name)));
    of_condition.map(|(name, value)| (plain(name), value.clone())).collect()
}

/// Servers of which the same is asked must be alike.
fn verdict<A: PartialEq>(
    values: &[Option<String>],
    asked: &[A],
    alike: impl Fn(&str, &str) -> bool,
) -> Verdict {
    let known: Vec<_> =
        values.iter().zip(asked).filter_map(|(value, asked)| Some((value.as_deref()?, asked))).collect();
    let differ = |same_asked: bool| {
        known.iter().enumerate().any(|(place, (one, asked))| {
            known[place + 1..]
                .iter()
                .any(|(other, other_asked)| (asked == other_asked) == same_asked && !alike(one, other))
        })
    };
    if differ(true) {
        Verdict::Different
    } else if differ(false) {
        Verdict::OnPurpose
    } else {
        Verdict::Same
    }
}

/// The same data set must be of about the same size and form everywhere.
fn sizes(servers: &[ServerPlan], known: &[Known<'_>]) -> Vec<Condition> {
    let numbers: BTreeSet<usize> =
        known.iter().filter_map(|known| known.sizes).flat_map(BTreeMap::keys).copied().collect();
    let asked = vec![(); servers.len()];
    let mut conditions = Vec::new();
    for number in &numbers {
        // Only where there are several does a number tell them apart.
        let data_set = (numbers.len() > 1).then_some(number + 1);
        let suffix = data_set.map_or_else(String::new, |number| format!(" of data set {number}"));
        let values = |value: fn(&Size) -> String| -> Vec<Option<String>> {
            known.iter().map(|known| known.sizes?.get(number).map(value)).collect()
        };
        let mut add = |key: &str, title: &str, values: Vec<Option<String>>, alike: fn(&str, &str) -> bool| {
            let verdict = verdict(&values, &asked, alike);
            let title = format!("{title}{suffix}");
            conditions.push(Condition {
                key: key.to_owned(),
                title,
                data_set,
                values,
                verdict,
                remedy: None,
            });
        };
        add("data_form", "tables", values(|size| size.form.clone()), |one, other| {
            one.eq_ignore_ascii_case(other)
        });
        add("data_size", "size of rows", values(|size| show_size_rounded(size.data_bytes)), near);
        add(
            "index_size",
            "size of secondary indexes",
            values(|size| show_size_rounded(size.index_bytes)),
            near,
        );
    }
    conditions
}

fn near(one: &str, other: &str) -> bool {
    let bytes = |text: &str| size_or_bytes(text).unwrap_or(0) as f64;
    let (one, other) = (bytes(one), bytes(other));
    one.max(other) <= SIZE_FACTOR_MAX * one.min(other)
}

/// How old the servers are. A study that names the versions to compare does so on purpose.
fn age(servers: &[ServerPlan], known: &[Known<'_>]) -> Condition {
    let year = |known: &Known<'_>| {
        let (product, version) = match (known.description, known.build) {
            (Some(description), _) => (description.product.as_str(), description.version.as_str()),
            (None, Some(build)) => (build.product, build.version),
            (None, None) => return None,
        };
        Some(year_of(product, version)?.to_string())
    };
    let values: Vec<_> = known.iter().map(year).collect();
    let named = |server: &ServerPlan| {
        matches!(&server.source, ServerSource::Product { version: Some(_), .. } | ServerSource::Path(_))
    };
    // Each that is named stands for itself.
    let asked: Vec<_> =
        servers.iter().enumerate().map(|(place, server)| named(server).then_some(place)).collect();
    let near = |one: &str, other: &str| {
        let year = |text: &str| text.parse::<u32>().unwrap_or(0);
        year(one).abs_diff(year(other)) <= YEARS_APART_MAX
    };
    let verdict = verdict(&values, &asked, near);
    Condition {
        key: "version_age".to_owned(),
        title: "year of the series".to_owned(),
        data_set: None,
        values,
        verdict,
        remedy: None,
    }
}

/// Who built the servers: a distribution compiles with other options than the vendor. Builds of different
/// products are never the same.
fn builder(known: &[Known<'_>]) -> Condition {
    let told = |known: &Known<'_>| family::spoken().builder(&known.description?.variables);
    let values: Vec<_> = known.iter().map(told).collect();
    let asked: Vec<_> =
        known.iter().map(|known| known.description.map(|description| &description.product)).collect();
    let verdict = verdict(&values, &asked, |one, other| one == other);
    Condition {
        key: "build".to_owned(),
        title: "build".to_owned(),
        data_set: None,
        values,
        verdict,
        remedy: None,
    }
}

/// The year in which the series of a version was first fit for production; for an unknown series, that of the
/// newest known one that is not newer.
fn year_of(product: &str, version: &str) -> Option<u32> {
    let years = &family::spoken().series().iter().find(|series| series.product == product)?.years;
    let build = Build { product, version };
    let fitting = years.iter().filter(|(series, _)| build.is_between(None, Some(series), None));
    fitting.map(|(_, year)| *year).max()
}

#[cfg(test)]
mod tests;
