//! Long texts that the program carries compressed: `build.rs` lists them.

use flate2::read::DeflateDecoder;
use std::io::Read as _;

/// The text that `build.rs` packed from the file of this name, unpacked once.
macro_rules! packed {
    ($name:literal) => {
        std::sync::LazyLock::new(|| {
            $crate::report::packed::unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".deflate")))
        })
    };
}
pub(super) use packed;

pub(super) fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    DeflateDecoder::new(bytes).read_to_string(&mut text).expect("it is as the build packed it");
    text
}
