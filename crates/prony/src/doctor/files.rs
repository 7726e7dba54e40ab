//! Files of the kernel below a root: `/`, or a recording of another machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The kernel's files.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// Of this machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self::below(Path::new("/"))
    }

    /// Those in `root/proc` and `root/sys`.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The text of a file without the line break at its end; `None`: it is not there, or may not be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok().map(|text| text.trim_end().to_owned())
    }

    /// A file that holds one number.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }

    /// Names in a directory, sorted.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = self.root.join(path).read_dir().into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }
}
