//! Findings about memory.

use super::{Files, Finding};

/// Transparent huge pages.
pub(super) fn huge_pages(files: &Files) -> Option<Finding> {
    const FILE: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    const ID: &str = "huge-pages";
    let text = files.text(FILE)?;
    // The one in brackets holds: `always [madvise] never`.
    let chosen = text.split('[').nth(1)?.split(']').next()?.to_owned();
    if chosen != "always" {
        return Some(Finding::fine(ID, format!("transparent huge pages: {chosen}")));
    }
    Some(Finding::warning(
        ID,
        "transparent huge pages: always",
        "the kernel gathers pages while the server works, which stalls it for milliseconds at times of its \
         own, and memory of servers with jemalloc or tcmalloc grows far beyond what they use",
        format!("echo madvise | sudo tee /{FILE}"),
    ))
}

/// Swap space and the kernel's readiness to use it.
pub(super) fn swap(files: &Files) -> Option<Finding> {
    /// Linux's own default is 60; at 10 or below it swaps only under need.
    const READY: u64 = 10;
    /// Less was put there long ago and is not missed.
    const USED_NOTED_KB: u64 = 100_000;
    const ID: &str = "swap";
    let memory = files.text("proc/meminfo")?;
    let kilobytes = |name: &str| -> Option<u64> {
        let line = memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let total = kilobytes("SwapTotal")?;
    if total == 0 {
        return Some(Finding::fine(ID, "no swap space"));
    }
    let used = total.saturating_sub(kilobytes("SwapFree").unwrap_or(total));
    let swappiness = files.number("proc/sys/vm/swappiness")?;
    let read =
        format!("{} of {} MB of swap space in use, vm.swappiness {swappiness}", used / 1000, total / 1000);
    let effect = "pages of a buffer pool that was not touched for a while are written to the disk in favour \
                  of the page cache, and read back in the middle of a trial";
    let remedy = "sudo sysctl -w vm.swappiness=1, or sudo swapoff -a where memory suffices";
    Some(if used >= USED_NOTED_KB && swappiness > READY {
        Finding::warning(ID, read, effect, remedy)
    } else if used >= USED_NOTED_KB || swappiness > READY {
        Finding::note(ID, read, effect, remedy)
    } else {
        Finding::fine(ID, read)
    })
}

/// Memory that is nearer to some processors than to others.
pub(super) fn nodes(files: &Files) -> Option<Finding> {
    const ID: &str = "numa";
    let nodes = members(&files.text("sys/devices/system/node/online")?);
    if nodes <= 1 {
        return Some(Finding::fine(ID, "one memory node"));
    }
    let balancing = files.number("proc/sys/kernel/numa_balancing").unwrap_or(0) > 0;
    let (moved, stop) = if balancing {
        (
            ", and the kernel moves pages between them while the server works",
            "sudo sysctl -w kernel.numa_balancing=0; then ",
        )
    } else {
        ("", "")
    };
    Some(Finding::warning(
        ID,
        format!("{nodes} memory nodes{moved}"),
        "memory of another node takes longer to reach; which part of a buffer pool lies where differs from \
         start to start, so repeats scatter",
        format!(
            "{stop}numactl --interleave=all prony run ... spreads memory evenly; numactl --cpunodebind=0 \
             --membind=0 prony run ... keeps all on one node"
        ),
    ))
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
