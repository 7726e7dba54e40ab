//! In which state a trial finds its server: how fresh the data are, what is written back beforehand, what is
//! in memory.

use super::read::Values;
use crate::workload::{self, Effect};
use load::spec::Stream;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, time::Duration};

/// In which state trials begin, as `[measure]` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// When data are put back as they were loaded.
    pub fresh: Fresh,
    /// Whether loaded data are kept for later runs.
    pub reuse: Reuse,
    /// How long a server may take before each trial to write dirty pages and to purge; zero: that is not
    /// waited for.
    pub settle: Duration,
    /// What is in the buffer pool after a start or a change of data.
    pub warm: Warm,
}

/// When data are put back as they were loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fresh {
    /// After each trial that wrote: from a snapshot where Prony started the server and there are so many rows
    /// that this is faster, else by loading anew.
    Auto,
    /// After each trial that wrote, from a snapshot where Prony started the server.
    Snapshot,
    /// Before each trial, from a snapshot where Prony started the server.
    Always,
    /// After each trial that wrote, by loading anew: needs no room for a snapshot.
    Reload,
    /// Trials find what those before them left.
    Never,
}

/// Whether loaded data are kept for later runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Where loading takes longer than putting back; kept ones are used in any case.
    Auto,
    /// Always.
    Always,
    /// Never; kept ones are not used either.
    Never,
}

/// What is in the buffer pool after a start or a change of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warm {
    /// What starting or loading left there.
    None,
    /// All tables and their indexes, as far as they fit: each is read once from end to end.
    Tables,
    /// The pages that were there before the server was stopped.
    Pages,
}

impl Default for State {
    fn default() -> Self {
        Self { fresh: Fresh::Auto, reuse: Reuse::Auto, settle: Duration::from_secs(60), warm: Warm::Tables }
    }
}

/// Whether these streams change data, so that whoever comes after them finds others.
#[must_use]
pub fn writes(streams: &[Stream]) -> bool {
    streams.iter().any(|stream| stream.connections > 0 && workload::effect(&stream.workload) != Effect::Reads)
}

/// What these streams write to that Prony did not make.
#[must_use]
pub fn foreign_written(streams: &[Stream]) -> BTreeSet<String> {
    let working = streams.iter().filter(|stream| stream.connections > 0);
    working.flat_map(|stream| workload::foreign_written(&stream.workload)).collect()
}

/// Reads the keys of `[measure]` that say it.
pub(super) fn read(measure: &Values<'_>) -> State {
    let is_at = |name: &str, word: &str| measure.text(name).as_deref() == Some(word);
    let fresh = [
        ("snapshot", Fresh::Snapshot),
        ("always", Fresh::Always),
        ("reload", Fresh::Reload),
        ("never", Fresh::Never),
    ];
    let reuse = [("always", Reuse::Always), ("never", Reuse::Never)];
    let warm = [("none", Warm::None), ("pages", Warm::Pages)];
    let default = State::default();
    State {
        fresh: fresh
            .into_iter()
            .find(|(word, _)| is_at("fresh", word))
            .map_or(default.fresh, |found| found.1),
        reuse: reuse
            .into_iter()
            .find(|(word, _)| is_at("reuse", word))
            .map_or(default.reuse, |found| found.1),
        settle: measure.duration("settle"),
        warm: warm.into_iter().find(|(word, _)| is_at("warm", word)).map_or(default.warm, |found| found.1),
    }
}
