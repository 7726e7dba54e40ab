//! Loss of power: what a server wrote and did not sync is gone. Its data directory is on a file system in an
//! image, so that what reached the image is what reached the disk. When the power is lost, the image is
//! copied without a sync, and the copy takes its place: what was still in the page cache of the inner file
//! system is not in it. A device may keep more of what was not synced, never less of what was.
//!
//! It needs root, loop devices and `mkfs.ext4`; Prony finds out by trying. What a killed Prony leaves is
//! removed like the instances of servers.

use super::orphans::InstanceDirectory;
use crate::provision::process::trampoline;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Room of the image; it takes on the disk what is written into it.
const IMAGE_BYTES: u64 = 4 << 30;
/// Room of one that is only tried.
const TRIED_BYTES: u64 = 32 << 20;
/// Seconds between commits of the file system's journal that nobody asked for: far more than copying takes.
const COMMIT_S: u32 = 300;

/// A file system whose power can be lost; gone when dropped.
#[derive(Debug)]
pub struct ImageDisk {
    directory: InstanceDirectory,
    image: PathBuf,
    mounted: PathBuf,
    launcher: PathBuf,
}

/// Takes a file system out of sight, also where something of it is still open. `launcher` as in
/// [`trampoline::command`].
pub(super) fn unmount(launcher: &Path, mounted: &Path) -> io::Result<()> {
    trampoline::run(launcher, None, "umount", [OsStr::new("-l"), mounted.as_ref()])
}

impl ImageDisk {
    /// Makes one among the `instances` of servers, by programs that start through `launcher` as in
    /// [`trampoline::command`].
    ///
    /// # Errors
    /// What the machine does not allow, in its own words.
    pub fn new(instances: &Path, launcher: &Path) -> io::Result<Self> {
        Self::of(instances, launcher, IMAGE_BYTES)
    }

    /// Whether this machine allows it, found out by doing it.
    ///
    /// # Errors
    /// What it does not allow, in its own words.
    pub fn possible(instances: &Path, launcher: &Path) -> io::Result<()> {
        Self::of(instances, launcher, TRIED_BYTES).map(drop)
    }

    fn of(instances: &Path, launcher: &Path, bytes: u64) -> io::Result<Self> {
        let directory = InstanceDirectory::create(instances).map_err(io::Error::other)?;
        let (image, mounted) = (directory.path().join("image"), directory.path().join("disk"));
        directory.record_mount(&mounted).map_err(io::Error::other)?;
        let disk = Self { image, mounted, directory, launcher: launcher.to_owned() };
        fs::create_dir(&disk.mounted)?;
        File::create(&disk.image)?.set_len(bytes)?;
        disk.run("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), disk.image.as_ref()])?;
        disk.mount()?;
        Ok(disk)
    }

    /// Its root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.mounted
    }

    /// Writes everything to the image: what was there before is not in question.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        self.run("sync", &["-f".as_ref(), self.mounted.as_ref()])
    }

    /// Loses what was not synced. Who wrote to it must be dead.
    ///
    /// # Errors
    /// What the system says.
    pub fn lose_power(&mut self) -> io::Result<()> {
        let copy = self.directory.path().join("copy");
        self.run("cp", &["--sparse=always".as_ref(), self.image.as_ref(), copy.as_ref()])?;
        unmount(&self.launcher, &self.mounted)?;
        fs::rename(&copy, &self.image)?;
        self.mount()
    }

    fn mount(&self) -> io::Result<()> {
        let options = format!("loop,commit={COMMIT_S}");
        let words = ["-t", "ext4", "-o", &options].map(OsStr::new);
        self.run("mount", &[&words[..], &[self.image.as_ref(), self.mounted.as_ref()]].concat())
    }

    fn run(&self, program: &str, words: &[&OsStr]) -> io::Result<()> {
        trampoline::run(&self.launcher, None, program, words)
            .map_err(|error| io::Error::other(format!("{program}: {error}")))
    }
}

impl Drop for ImageDisk {
    fn drop(&mut self) {
        // where it could not be mounted nothing is; what stays behind is for the next sweep
        let _ = unmount(&self.launcher, &self.mounted);
        let _ = self.directory.remove();
    }
}
