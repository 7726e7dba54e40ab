//! Looks for what would spoil a measurement on this machine, and says what to do about it.
//!
//! Each finding is made by a pure function from what was read: files of `/proc` and `/sys` below a root that
//! tests replace by recordings of other machines ([`Files`]), and what only watching and trying can tell
//! ([`Observed`]). Knows nothing of studies, servers or results; changes nothing on the machine.

mod disk;
mod files;
mod memory;
mod network;
mod observe;
mod processor;

pub use files::Files;
pub use observe::{Busy, Disk, Effort, Observed};

use schemars::JsonSchema;
use serde::Serialize;

/// How much something hurts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Fine,
    /// Worth knowing when results are read.
    Note,
    /// It distorts results: mend it before measuring.
    Warning,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable name: `governor`.
    pub id: &'static str,
    /// How much it hurts.
    pub level: Level,
    /// What was read, in words with its figures.
    pub read: String,
    /// What it does to a measurement; empty where it is fine.
    pub effect: String,
    /// What mends it, with the command; empty where it is fine.
    pub remedy: String,
}

impl Finding {
    fn fine(id: &'static str, read: impl Into<String>) -> Self {
        Self { id, level: Level::Fine, read: read.into(), effect: String::new(), remedy: String::new() }
    }

    fn note(id: &'static str, read: impl Into<String>, effect: &str, remedy: impl Into<String>) -> Self {
        Self { id, level: Level::Note, read: read.into(), effect: effect.to_owned(), remedy: remedy.into() }
    }

    fn warning(id: &'static str, read: impl Into<String>, effect: &str, remedy: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::note(id, read, effect, remedy) }
    }
}

/// Everything that can be said of a machine; what it does not tell is left out.
#[must_use]
pub fn examine(files: &Files, observed: &Observed) -> Vec<Finding> {
    let findings = [
        processor::governor(files),
        processor::turbo(files),
        processor::other_load(observed),
        processor::steal(observed),
        processor::processors(files),
        processor::limits(files),
        processor::clock_source(files),
        processor::virtualisation(files),
        memory::huge_pages(files),
        memory::swap(files),
        memory::nodes(files),
        network::open_files(files),
        network::ports(files),
        network::backlog(files),
        disk::space(observed),
        disk::file_system(files, observed),
        disk::sync_speed(observed),
        Some(build(observed)),
    ];
    findings.into_iter().flatten().collect()
}

fn build(observed: &Observed) -> Finding {
    if !observed.debug_build {
        return Finding::fine("build", "an optimised build of Prony");
    }
    Finding::warning(
        "build",
        "a debug build of Prony",
        "the load engine takes several times the processor time that it needs, and takes it away from a \
         server beside it",
        "use a release build: cargo build --release (or make build), then target/release/prony",
    )
}
