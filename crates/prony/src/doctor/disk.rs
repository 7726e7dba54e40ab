//! Findings about the disk that servers will have their data on.

use super::{Files, Finding, Observed};
use std::path::Path;

/// Whether there is room.
pub(super) fn space(observed: &Observed) -> Option<Finding> {
    const HURTS_BYTES: u64 = 2_000_000_000;
    const NOTED_BYTES: u64 = 10_000_000_000;
    const NOTED_PART: f64 = 0.05;
    const ID: &str = "disk-space";
    let disk = observed.disk.as_ref()?;
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let read = format!(
        "{:.1} of {:.1} GB free for {}",
        gigabytes(disk.available_bytes),
        gigabytes(disk.total_bytes),
        disk.directory.display()
    );
    let effect =
        "a server whose disk is full stops in the middle of a trial, and a nearly full disk writes slower";
    let remedy = "free some, or set XDG_STATE_HOME to a directory on a larger disk";
    let part = disk.available_bytes as f64 / disk.total_bytes.max(1) as f64;
    Some(if disk.available_bytes < HURTS_BYTES {
        Finding::warning(ID, read, effect, remedy)
    } else if disk.available_bytes < NOTED_BYTES || part < NOTED_PART {
        Finding::note(ID, read, effect, remedy)
    } else {
        Finding::fine(ID, read)
    })
}

/// What kind of file system it is.
pub(super) fn file_system(files: &Files, observed: &Observed) -> Option<Finding> {
    const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
    const OF_NETWORK: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "virtiofs"];
    const COPYING: [&str; 3] = ["overlay", "btrfs", "zfs"];
    const ID: &str = "file-system";
    let directory = &observed.disk.as_ref()?.directory;
    let kind = kind_of(&files.text("proc/self/mountinfo")?, directory)?;
    let read = format!("{kind} at {}", directory.display());
    let remedy = "set XDG_STATE_HOME to a directory on a local disk with ext4 or xfs";
    let kind = kind.as_str();
    Some(if IN_MEMORY.contains(&kind) {
        let effect = "data lies in memory: writes cost nothing and commits wait for nothing; results say \
                      nothing of a server on a disk";
        Finding::warning(ID, read, effect, remedy)
    } else if OF_NETWORK.contains(&kind) || kind.starts_with("fuse") {
        let effect =
            "every write crosses a network or another process; some of them confirm what is not yet durable";
        Finding::warning(ID, read, effect, remedy)
    } else if COPYING.contains(&kind) {
        let effect = "pages are written to new places instead of over the old ones: random writes behave \
                      otherwise than on ext4 or xfs";
        Finding::note(ID, read, effect, remedy)
    } else {
        Finding::fine(ID, read)
    })
}

/// The file system that `directory` lies on, from `/proc/self/mountinfo`: `ID PARENT DEV ROOT POINT OPTIONS
/// ... - KIND SOURCE ...`.
fn kind_of(mountinfo: &str, directory: &Path) -> Option<String> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        // Spaces in the name of a mount point are written so.
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        directory
            .starts_with(&point)
            .then(|| (point.len(), after.split(' ').next().unwrap_or_default().to_owned()))
    });
    // Of several at the same point the last one covers the others.
    mounts.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

/// How fast the disk confirms.
pub(super) fn sync_speed(observed: &Observed) -> Option<Finding> {
    /// A rotating disk turns 120 times a second.
    const SLOW: f64 = 200.0;
    /// Faster than any medium without a cache that outlives a loss of power.
    const TOO_FAST: f64 = 30_000.0;
    const ID: &str = "sync-speed";
    let rate = observed.disk.as_ref()?.syncs_per_second?;
    let read = format!("{rate:.0} writes per second, each confirmed by the disk before the next");
    Some(if rate < SLOW {
        Finding::warning(
            ID,
            read,
            "every durable commit waits for one: loads that write measure this disk, whatever the server",
            "use a disk with a protected write cache; where only relative speed matters, set \
             innodb_flush_log_at_trx_commit = 2 and sync_binlog = 0 for all servers alike",
        )
    } else if rate > TOO_FAST {
        Finding::note(
            ID,
            read,
            "so fast that the confirmation is hardly that of a medium: commits look cheaper than on a disk \
             that keeps its promise",
            "do not carry figures of durable writes over to other machines",
        )
    } else {
        Finding::fine(ID, read)
    })
}
