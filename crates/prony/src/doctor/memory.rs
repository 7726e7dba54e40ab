//! Findings about memory.

use super::{Files, Finding, Reading};

/// Transparent huge pages.
pub(super) fn huge_pages(files: &Files) -> Option<Finding> {
    const FILE: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    let text = files.text(FILE)?;
    // The one in brackets holds: `always [madvise] never`.
    let chosen = text.split('[').nth(1)?.split(']').next()?.to_owned();
    let hurts = chosen == "always";
    Some(Finding::graded(Reading::HugePages { chosen }, hurts, false))
}

/// Swap space and the kernel's readiness to use it.
pub(super) fn swap(files: &Files) -> Option<Finding> {
    /// Linux's own default is 60; at 10 or below it swaps only under need.
    const READY: u64 = 10;
    /// Less was put there long ago and is not missed.
    const USED_NOTED_KB: u64 = 100_000;
    let memory = files.text("proc/meminfo")?;
    let kilobytes = |name: &str| -> Option<u64> {
        let line = memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let total = kilobytes("SwapTotal")?;
    if total == 0 {
        return Some(Finding::fine(Reading::Swap { used_mb: 0, total_mb: 0, swappiness: 0 }));
    }
    let used = total.saturating_sub(kilobytes("SwapFree").unwrap_or(total));
    let swappiness = files.number("proc/sys/vm/swappiness")?;
    let reading = Reading::Swap { used_mb: used / 1000, total_mb: total / 1000, swappiness };
    let (is_used, is_ready) = (used >= USED_NOTED_KB, swappiness > READY);
    Some(Finding::graded(reading, is_used && is_ready, is_used || is_ready))
}

/// Memory that is nearer to some processors than to others.
pub(super) fn nodes(files: &Files) -> Option<Finding> {
    let nodes = members(&files.text("sys/devices/system/node/online")?);
    let balancing = files.number("proc/sys/kernel/numa_balancing").unwrap_or(0) > 0;
    Some(Finding::graded(Reading::Numa { nodes, balancing }, nodes > 1, false))
}

/// How many numbers a list like `0-1,4` has.
fn members(list: &str) -> u64 {
    let count = |part: &str| -> Option<u64> {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                Some(last.checked_sub(first)? + 1)
            }
            None => part.trim().parse::<u64>().ok().map(|_| 1),
        }
    };
    list.split(',').filter_map(count).sum()
}
