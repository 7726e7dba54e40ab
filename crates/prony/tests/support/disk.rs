//! A small file system that goes with the test.

use super::require::{Need, require};
use std::{fs, path::Path, path::PathBuf, process::Command};

/// It is mounted until this is dropped.
pub(crate) struct Disk(PathBuf);

impl Disk {
    /// One of this size (`8m`) at `path`; `None`: it is not available, and the test is to be left out.
    pub(crate) fn mounted(path: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir_all(&path).expect("a directory");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&path)
            .output();
        let done = mount.map_err(|error| error.to_string()).and_then(|output| {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if output.status.success() { Ok(Self(path)) } else { Err(said) }
        });
        require(Need::SmallDisk, done)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
