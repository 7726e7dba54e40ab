//! Which process carries a run out. A run belongs to one: two that go on with it at once would spoil each
//! other's trials.

use procfs::process::Process;
use serde::{Deserialize, Serialize};
use std::fs;

/// A process, told apart from a later one with the same number, and from those of other machines and starts
/// of this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) pid: i32,
    /// Clock ticks after the machine's start.
    start_ticks: u64,
    /// The kernel's name for this start of the machine.
    boot: String,
}

impl Owner {
    /// This process.
    pub(super) fn this() -> Option<Self> {
        Self::of(i32::try_from(std::process::id()).ok()?)
    }

    fn of(pid: i32) -> Option<Self> {
        const ZOMBIE: char = 'Z';
        let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
        (stat.state != ZOMBIE).then(|| Self { pid, start_ticks: stat.starttime, boot: boot() })
    }

    /// Whether it still runs, as that process and no other.
    pub(super) fn runs(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

/// The kernel's name for this start of the machine; empty where it has none.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
