//! What a layout says about the workloads that come with it, and why one cannot be built.

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

/// What a workload does to the rows that it finds, and so whether a second trial has the same data as the
/// first. The later, the more it changes.
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
    #[error("the workload option `{option}` cannot be `{value}`: use {wanted}")]
    WrongValue {
        /// The option.
        option: String,
        /// Its value.
        value: String,
        /// What it takes.
        wanted: Wanted,
    },
    /// The options leave nothing to do.
    #[error("the workload `{name}` has no statements: raise one of the options that set how many it has")]
    Nothing {
        /// The workload.
        name: String,
    },
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wanted {
    /// A whole number.
    #[error("a whole number, 0 or more")]
    Whole,
    /// A whole number with a limit.
    #[error("a whole number up to {0}")]
    WholeUpTo(u32),
    /// A number with fraction.
    #[error("a number")]
    Number,
    /// A switch.
    #[error("on or off")]
    Switch,
    /// One of these words.
    #[error("one of {}", .0.join(", "))]
    OneOf(&'static [&'static str]),
    /// A number that is not 0.
    #[error("1 or more")]
    AtLeastOne,
    /// A number from one to another.
    #[error("{0} to {1}")]
    Within(u64, u64),
    /// A scale factor of TPC-H.
    #[error("0.01 to 1000")]
    ScaleFactor,
    /// A share, neither nothing nor all.
    #[error("between 0 and 1")]
    Share,
    /// A number above 0.
    #[error("above 0")]
    AboveZero,
    /// A storage engine.
    #[error("a storage engine's name, as SHOW ENGINES lists them")]
    Engine,
}

/// The name most like `name`, if one is like it.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
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
