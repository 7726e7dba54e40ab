//! Processes that carry out parts of a load, and waiting for them.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// Nothing here takes nearly as long, on any machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Load processes whose parent this is.
pub(crate) fn load_processes_of(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let is_part = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{parent}"))
            && String::from_utf8_lossy(&line).contains(prony::loader::ARGUMENT)
    };
    numbers.filter(is_part).collect()
}

/// One that has ended and waits for its parent to notice is not alive.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

pub(crate) fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    wait_for(PATIENCE, what, is_so);
}

pub(crate) fn wait_for(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < limit, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}
