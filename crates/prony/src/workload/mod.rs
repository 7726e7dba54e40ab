//! Workloads as values: the built-in ones, equal to sysbench 1.0.20's in statements, order and random
//! choices, and those that a user writes in a study. Both are [`load::spec::Workload`]s, which the engine
//! interprets; nothing here talks to a server or knows when and by whom a workload is run.

mod options;
mod sql;
mod sysbench;
mod tables;
mod tokens;
mod writes;
mod written;

pub use options::{OptionInfo, OptionKind, Options, Random};
pub use tables::{foreign_written, needs_data};
pub use writes::{effect, written_by};
pub use written::{Entry, Mistake, Surroundings, Value, Written, written};

use crate::plan::DataPlan;
use load::spec::Workload;
use serde::Serialize;

/// A built-in workload, for lists and help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Builtin {
    /// Its name, as sysbench calls it.
    pub name: &'static str,
    /// What it does, one line.
    pub about: &'static str,
    /// What it leaves of its data.
    pub effect: Effect,
}

/// What a workload does to the rows that it finds; tells whether a second trial has the same data before it.
/// The later, the more it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It changes rows; their number and ids stay.
    Changes,
    /// It adds rows: the data grows from trial to trial.
    Adds,
    /// It removes rows: later trials find fewer.
    Removes,
}

/// Why a workload cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No built-in workload has this name.
    #[error("there is no workload `{name}`{}; `prony list workloads` shows all", suggestion(.nearest))]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// No option has this name.
    #[error("there is no workload option `{name}`{}; `prony list workloads` shows all", suggestion(.nearest))]
    UnknownOption {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// An option cannot have this value.
    #[error("the workload option `{option}` cannot be `{value}`: it takes {wanted}")]
    WrongValue {
        /// The option.
        option: String,
        /// Its value.
        value: String,
        /// What it takes.
        wanted: String,
    },
    /// The options leave nothing to do.
    #[error(
        "the workload `{name}` has no statement left: raise one of the options that count its statements"
    )]
    Nothing {
        /// The workload.
        name: String,
    },
}

/// All built-in workloads.
#[must_use]
pub fn list() -> &'static [Builtin] {
    &sysbench::BUILTINS
}

/// The entry of a built-in workload.
///
/// # Errors
/// [`Error::UnknownWorkload`].
pub fn find(name: &str) -> Result<&'static Builtin, Error> {
    list().iter().find(|builtin| builtin.name == name).ok_or_else(|| Error::UnknownWorkload {
        name: name.to_owned(),
        nearest: nearest(name, list().iter().map(|builtin| builtin.name)),
    })
}

/// A built-in workload with these options.
///
/// # Errors
/// Unknown name, or options that make no sense.
pub fn builtin(name: &str, options: &Options) -> Result<Workload, Error> {
    let builtin = find(name)?;
    options.check()?;
    sysbench::workload(builtin.name, options)
}

/// The data set that a built-in workload needs, with seed 0: the seed is the caller's to set.
///
/// # Errors
/// Unknown name, or options that make no sense.
pub fn data(name: &str, options: &Options) -> Result<DataPlan, Error> {
    let builtin = find(name)?;
    options.check()?;
    Ok(sysbench::data(builtin.name, options))
}

/// The name most like `name`, if one is like it.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    /// Below this Jaro-Winkler similarity a suggestion would puzzle rather than help.
    const SIMILAR: f64 = 0.8;
    names
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.to_owned())
}

/// `; did you mean ...?` or nothing.
fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}
