//! Which process it is: its number and its start time, since the kernel reuses numbers.

use procfs::process::Process;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

/// A process, told apart from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::provision) struct ProcessIdentity {
    pub(in crate::provision) pid: i32,
    /// Clock ticks after the machine's start.
    start_ticks: u64,
}

impl ProcessIdentity {
    /// The process that has this number now; a zombie has ended.
    pub(in crate::provision) fn of(pid: i32) -> Option<Self> {
        const ZOMBIE: char = 'Z';
        let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
        (stat.state != ZOMBIE).then_some(Self { pid, start_ticks: stat.starttime })
    }

    /// Whether it still runs, as that process and no other.
    pub(in crate::provision) fn runs(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Sends it a signal if it still runs.
    pub(in crate::provision) fn signal(self, signal: Signal) {
        if let (true, Some(pid)) = (self.runs(), Pid::from_raw(self.pid)) {
            // If it has ended in between there is nothing to do.
            let _ = kill_process(pid, signal);
        }
    }
}
