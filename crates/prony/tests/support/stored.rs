//! Stores that earlier versions of Prony wrote, as they are committed.

use flate2::read::GzDecoder;
use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

/// A store of the first format, put into `directory`: trials 0 to 3 of `synthetic` without anything that came
/// later, and 0 and 1 of `synthetic_load`.
pub(crate) fn first_format(directory: &Path) -> PathBuf {
    unpacked(directory, include_bytes!("stores/format-1.sqlite.gz"))
}

/// A store of the second format as it was when reasons were sentences: trials 0 and 37 of `synthetic`,
/// of which the second failed, and why there is no profile.
pub(crate) fn second_format(directory: &Path) -> PathBuf {
    unpacked(directory, include_bytes!("stores/format-2.sqlite.gz"))
}

fn unpacked(directory: &Path, packed: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("a store");
    let path = directory.join("older.sqlite");
    fs::write(&path, bytes).expect("a file");
    path
}
