//! Findings about the disk that will hold the servers' data.

use super::{FileSystem, Files, Finding, Observed, Reading};
use std::path::Path;

/// Whether there is room.
pub(super) fn space(observed: &Observed) -> Option<Finding> {
    const HURTS_BYTES: u64 = 2_000_000_000;
    const NOTED_BYTES: u64 = 10_000_000_000;
    const NOTED_PART: f64 = 0.05;
    let disk = observed.disk.as_ref()?;
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let part = disk.available_bytes as f64 / disk.total_bytes.max(1) as f64;
    let reading = Reading::DiskSpace {
        available_gb: gigabytes(disk.available_bytes),
        total_gb: gigabytes(disk.total_bytes),
        directory: disk.directory.display().to_string(),
    };
    let is_scarce = disk.available_bytes < NOTED_BYTES || part < NOTED_PART;
    Some(Finding::graded(reading, disk.available_bytes < HURTS_BYTES, is_scarce))
}

/// What kind of file system it is.
pub(super) fn file_system(files: &Files, observed: &Observed) -> Option<Finding> {
    const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
    const OF_NETWORK: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "virtiofs"];
    const COPYING: [&str; 3] = ["overlay", "btrfs", "zfs"];
    let directory = &observed.disk.as_ref()?.directory;
    let name = kind_of(&files.text("proc/self/mountinfo")?, directory)?;
    let nature = match name.as_str() {
        name if IN_MEMORY.contains(&name) => FileSystem::Memory,
        name if OF_NETWORK.contains(&name) || name.starts_with("fuse") => FileSystem::Network,
        name if COPYING.contains(&name) => FileSystem::Copying,
        _ => FileSystem::Local,
    };
    let directory = directory.display().to_string();
    let is_other = matches!(nature, FileSystem::Memory | FileSystem::Network);
    let reading = Reading::FileSystem { name, nature, directory };
    Some(Finding::graded(reading, is_other, nature == FileSystem::Copying))
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
    let per_second = observed.disk.as_ref()?.syncs_per_second?;
    let too_fast = per_second > TOO_FAST;
    Some(Finding::graded(Reading::SyncSpeed { per_second, too_fast }, per_second < SLOW, too_fast))
}
