//! Looks for what would spoil a measurement on this machine.
//!
//! Each finding is made by a pure function from what was read: files of `/proc` and `/sys` below a root,
//! which tests replace by recordings of other machines ([`Files`]), and what only watching and trying can
//! tell ([`Observed`]). Findings are values; the report's words say what they do to a measurement, and how to
//! fix it. Knows nothing of studies, servers or results; changes nothing on the machine.

mod disk;
mod files;
mod memory;
mod network;
mod observe;
mod processor;
mod reading;

pub use files::Files;
pub use observe::{Busy, Disk, Effort, Observed};
pub use reading::{FileSystem, Reading};

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
    /// It distorts results: fix it before measuring.
    Warning,
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How much it hurts.
    pub level: Level,
    /// What was read.
    pub reading: Reading,
}

impl Finding {
    /// Stable name of the check: `governor`.
    #[must_use]
    pub fn id(&self) -> &str {
        self.reading.id()
    }

    /// One that hurts as much as the first of these that applies.
    fn graded(reading: Reading, warning: bool, note: bool) -> Self {
        let level = match (warning, note) {
            (true, _) => Level::Warning,
            (_, true) => Level::Note,
            _ => Level::Fine,
        };
        Self { level, reading }
    }

    fn fine(reading: Reading) -> Self {
        Self { level: Level::Fine, reading }
    }

    fn warning(reading: Reading) -> Self {
        Self { level: Level::Warning, reading }
    }
}

/// Every finding about a machine. What the machine does not tell is left out.
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
        Some(Finding::graded(Reading::Build { debug: observed.debug_build }, observed.debug_build, false)),
    ];
    findings.into_iter().flatten().collect()
}
