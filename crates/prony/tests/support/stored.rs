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
    let packed: &[u8] = include_bytes!("stores/format-1.sqlite.gz");
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("a store");
    let path = directory.join("format-1.sqlite");
    fs::write(&path, bytes).expect("a file");
    path
}
