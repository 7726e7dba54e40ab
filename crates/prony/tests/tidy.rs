//! Holds the source to what `ARCHITECTURE.md` promises: who may know whom, and what is found in one place
//! only.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Modules of the crate `prony` and those of its modules that each may use. Data flows down.
const MODULES: &[(&str, &[&str])] = &[
    ("arrival", &[]),
    ("search", &["arrival"]),
    ("calibrate", &["arrival", "workload", "provision", "telemetry", "run"]),
    ("workload", &["plan", "study"]),
    ("study", &["workload", "arrival", "search"]),
    ("plan", &["study", "arrival"]),
    ("provision", &["plan"]),
    ("network", &["provision"]),
    ("dataset", &["plan"]),
    ("telemetry", &[]),
    ("doctor", &["telemetry"]),
    ("fairness", &["plan", "provision", "dataset"]),
    ("run", &["network", "plan", "provision", "dataset", "fairness", "telemetry", "workload", "search"]),
    ("store", &["network", "plan", "run", "provision", "dataset", "telemetry"]),
    ("foreign", &["plan", "run", "store", "study"]),
    ("export", &["run", "store"]),
    ("analyse", &["store", "plan", "run", "telemetry", "provision"]),
    (
        "report",
        &["network", "store", "analyse", "fairness", "plan", "run", "telemetry", "provision", "arrival"],
    ),
    (
        "cli",
        &[
            "arrival",
            "search",
            "calibrate",
            "workload",
            "study",
            "plan",
            "provision",
            "network",
            "dataset",
            "telemetry",
            "doctor",
            "fairness",
            "run",
            "store",
            "foreign",
            "export",
            "analyse",
            "report",
        ],
    ),
];

/// Longest file, lines, tests not counted: what can be read in one sitting.
const LINES_MAX: usize = 750;

/// Text and the only files (ends of paths) in which it may stand.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("mysql_common", &["wire/src/auth.rs", "wire/src/lib.rs"]),
    ("rusqlite", &["prony/src/store/"]),
    ("parquet::errors", &["prony/src/export/"]),
    ("unsafe {", &["load/src/io.rs"]),
    ("process::exit", &["prony/src/cli/interrupt.rs"]),
    ("ServerCertVerifier", &["load/src/tls.rs"]),
    (".unwrap()", &[]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/").to_owned()
}

/// Every source file below `crates/*/src` with its text, tests cut off.
fn sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for name in ["wire", "load", "stats", "prony"] {
        collect(&crates().join(name).join("src"), &mut files);
    }
    assert!(files.len() > 60, "the sources are found");
    files
}

fn collect(directory: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).expect("a source directory").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).expect("source text");
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            files.push((path, text));
        }
    }
}

/// Names that follow `crate::` in code, `use crate::{a, b::c}` included.
fn uses(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut names = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        if let Some(group) = after.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            let mut fresh = true;
            for letter in group.chars() {
                match letter {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => fresh = true,
                    letter if depth == 0 && fresh && (letter.is_alphanumeric() || letter == '_') => {
                        word.push(letter)
                    }
                    _ if !word.is_empty() => {
                        names.insert(std::mem::take(&mut word));
                        fresh = false;
                    }
                    _ => {}
                }
                if fresh && letter == ',' && !word.is_empty() {
                    names.insert(std::mem::take(&mut word));
                }
            }
            if !word.is_empty() {
                names.insert(word);
            }
        } else {
            names.insert(
                after.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect(),
            );
        }
    }
    names
}

#[test]
fn modules_know_only_what_the_architecture_lets_them() {
    let root = crates().join("prony/src");
    let known: BTreeSet<&str> = MODULES.iter().map(|(name, _)| *name).collect();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Ok(inner) = path.strip_prefix(&root) else { continue };
        let module =
            inner.components().next().and_then(|first| first.as_os_str().to_str()).unwrap_or_default();
        let Some((_, allowed)) = MODULES.iter().find(|(name, _)| *name == module) else {
            assert!(["lib.rs", "main.rs"].contains(&module), "{module} is not in the table of modules");
            continue;
        };
        for used in uses(&text) {
            if known.contains(used.as_str()) && used != module && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{} uses {used}", inner.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_belongs_in_one_place_is_found_there_only() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let shown = path.display().to_string();
        for (what, places) in ONLY_IN {
            let said = text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(what));
            if said && !places.iter().any(|place| shown.contains(place)) {
                wrong.push(format!("{shown} has {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_file_says_what_it_is_for_and_can_be_read_in_one_sitting() {
    for (path, text) in sources() {
        assert!(text.starts_with("//!"), "{} does not say what it is for", path.display());
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", path.display());
    }
}

#[test]
fn uses_are_found_in_every_form() {
    let text = "use crate::{\n    plan::{self, Plan},\n    store,\n    telemetry::Machine,\n};\nfn f(x: \
                crate::run::Event) {}\n// crate::cli\n";
    let expected = ["plan", "run", "store", "telemetry"].map(str::to_owned);
    assert_eq!(uses(text), BTreeSet::from(expected));
}
