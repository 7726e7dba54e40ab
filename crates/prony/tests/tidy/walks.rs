//! Whether the walks of a newcomer in `ARCHITECTURE.md` lead somewhere.

use super::crates;
use std::{
    fs,
    path::{Path, PathBuf},
};

#[test]
fn walks_of_a_newcomer_lead_somewhere() {
    let root = crates().parent().expect("the repository").to_owned();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let walks = text.split("## Walks of a newcomer").nth(1).and_then(|rest| rest.split("\n## ").next());
    let mut files = Vec::new();
    for directory in ["crates/prony/src", "crates/load/src", "schemas"] {
        files_below(&root.join(directory), &mut files);
    }
    let (mut seen, mut wrong) = (0, Vec::new());
    for name in walks.expect("the walks").split('`').skip(1).step_by(2) {
        let leads = if let Some((module, last)) = name.split_once("::") {
            let last = last.rsplit("::").next().unwrap_or(last);
            let is_of = |path: &Path| {
                let inner = path.strip_prefix(root.join("crates")).unwrap_or(path);
                inner.starts_with(format!("prony/src/{module}")) || inner.starts_with(format!("{module}/src"))
            };
            let text = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
            files.iter().filter(|path| is_of(path)).any(|path| defines(&text(path), last))
        } else if name.ends_with(".rs") || name.ends_with(".toml") || name.ends_with(".json") {
            files.iter().any(|file| file.ends_with(name))
        } else if let Some((folder, "NAME")) = name.split_once('/') {
            root.join("crates/prony/src").join(folder).is_dir()
        } else {
            continue;
        };
        seen += 1;
        if !leads {
            wrong.push(name);
        }
    }
    assert!(seen > 30, "the walks are read: {seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

/// Whether a text defines this name.
fn defines(text: &str, name: &str) -> bool {
    ["fn", "struct", "enum", "trait", "mod"].iter().any(|kind| {
        text.split(&format!("{kind} {name}"))
            .skip(1)
            .any(|after| !after.starts_with(|c: char| c.is_alphanumeric()))
    })
}
