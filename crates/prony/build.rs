//! Compresses the long texts that the program carries, which makes it smaller by half a megabyte.
//! `report/packed.rs` unpacks them when they are needed.

use flate2::{Compression, write::DeflateEncoder};
use std::{env, fs, io::Write as _, path::PathBuf};

/// What is carried, from this crate's directory.
const TEXTS: [&str; 3] =
    ["../../viewer/dist/viewer.js", "src/report/words/en.toml", "src/report/words/zh.toml"];

fn main() {
    let to = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo says where"));
    println!("cargo::rerun-if-changed=build.rs");
    for path in TEXTS {
        println!("cargo::rerun-if-changed={path}");
        let text = fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&text).expect("memory");
        let (_, name) = path.rsplit_once('/').expect("all are in directories");
        let file = to.join(format!("{name}.deflate"));
        let written = fs::write(&file, packed.finish().expect("memory"));
        written.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}
