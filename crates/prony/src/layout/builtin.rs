//! What a layout says of the workloads that come with it, and why one cannot be made.

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
