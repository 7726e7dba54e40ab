//! No password that a study holds is anywhere in what Prony keeps, writes or says.

use crate::program::{self, Home};
use flate2::read::ZlibDecoder;
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// Every word here is a password.
const PASSWORDS: [&str; 6] = ["GEHEIM1", "GEHEIM2", "GEHEIM3", "GEHEIM4", "GEHEIM5", "GEHEIM6"];

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        if entry.file_type().expect("a kind").is_dir() {
            files(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

/// The bytes, and whatever in them can be decompressed.
fn unfolded(bytes: &[u8]) -> Vec<u8> {
    let mut all = bytes.to_vec();
    for begin in (0..bytes.len()).filter(|&begin| bytes[begin] == 0x78) {
        let mut plain = Vec::new();
        // as far as it goes: what is no stream ends at once
        let _ = ZlibDecoder::new(&bytes[begin..]).take(1 << 22).read_to_end(&mut plain);
        all.extend(plain);
    }
    all
}

#[test]
fn passwords_of_a_study_are_nowhere_in_what_is_kept_or_said() {
    let home = Home::new();
    home.file(
        "secret.toml",
        r#"
title = "Secrets" # report_password = "GEHEIM1"
[server]
own = { product = "mariadb", version = "10.11", settings = { "report_pass\u0077ord" = "GEHEIM2" } }
[data]
rows = 100
[[stream]]
workload = "mine"
connections = 1
[[workload.mine.transaction]]
name = "one"
statements = ["SELECT 1 -- password = 'GEHEIM3' mysql://u:GEHEIM4@h", """
SELECT 2 /* wsrep_sst_auth=u:GEHEIM5
IDENTIFIED BY 'GEHEIM6' */"""]
[measure]
warm_up = "0s"
interval = "300ms"
repeats = 1
"#,
    );
    let mut said = Vec::new();
    let mut done = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        program::with_servers(&mut command);
        let ended = program::wait(program::start(&mut command));
        assert!(matches!(ended.code, Some(0 | 1)), "{arguments:?}: {}", ended.said());
        said.extend([ended.out, ended.err].concat());
    };
    done(&["run", "secret.toml", "--report", "report.html"]);
    for format in ["terminal", "json", "html", "markdown", "csv"] {
        done(&["report", "--format", format]);
    }
    done(&["export", "last", "--format", "parquet", "--write", "data"]);
    done(&["export", "last", "--write", "run.sqlite"]);
    let mut all = Vec::new();
    files(home.path(), &mut all);
    assert!(all.iter().any(|file| file.ends_with("prony.sqlite")), "{all:?}");
    assert!(all.iter().any(|file| file.extension().is_some_and(|end| end == "parquet")), "{all:?}");
    let kept = all.iter().filter(|file| !file.ends_with("secret.toml"));
    let mut kept: Vec<(String, Vec<u8>)> =
        kept.map(|file| (file.display().to_string(), unfolded(&fs::read(file).expect("a file")))).collect();
    kept.push(("what was said".to_owned(), said));
    let has = |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    assert!(kept.iter().any(|(_, bytes)| has(bytes, "Secrets")), "the store can be read so");
    assert!(kept.iter().any(|(_, bytes)| has(bytes, "(hidden)")), "and has what is hidden");
    for (file, bytes) in &kept {
        for word in PASSWORDS {
            assert!(!has(bytes, word), "{word} is in {file}");
        }
    }
}
