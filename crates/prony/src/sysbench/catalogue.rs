//! The tests that a command line can name: those of this program, scripts in files, those of sysbench 0.4 and
//! 0.5 by the paths that they had, and those that are none of ours.

use script::Script;
use std::path::{Path, PathBuf};

/// Scripts of 1.0, and what they and those of earlier versions `require`.
pub(super) const SCRIPTS: &[(&str, &str)] = &[
    ("bulk_insert", include_str!("scripts/bulk_insert.lua")),
    ("legacy_options", include_str!("scripts/legacy_options.lua")),
    ("oltp_common", include_str!("scripts/oltp_common.lua")),
    ("oltp_delete", include_str!("scripts/oltp_delete.lua")),
    ("oltp_insert", include_str!("scripts/oltp_insert.lua")),
    ("oltp_point_select", include_str!("scripts/oltp_point_select.lua")),
    ("oltp_read_only", include_str!("scripts/oltp_read_only.lua")),
    ("oltp_read_write", include_str!("scripts/oltp_read_write.lua")),
    ("oltp_update_index", include_str!("scripts/oltp_update_index.lua")),
    ("oltp_update_non_index", include_str!("scripts/oltp_update_non_index.lua")),
    ("oltp_write_only", include_str!("scripts/oltp_write_only.lua")),
    ("select_random_points", include_str!("scripts/select_random_points.lua")),
    ("select_random_ranges", include_str!("scripts/select_random_ranges.lua")),
];

/// What each test does, for help.
pub(super) const ABOUT: &[(&str, &str)] = &[
    ("bulk_insert", "INSERTs of many rows, one table per thread"),
    ("oltp_delete", "DELETE by primary key"),
    ("oltp_insert", "INSERT of single rows"),
    ("oltp_point_select", "SELECT by primary key"),
    ("oltp_read_only", "transactions of SELECTs by primary key and by range"),
    ("oltp_read_write", "the same, with UPDATE, DELETE and INSERT"),
    ("oltp_update_index", "UPDATE of an indexed column"),
    ("oltp_update_non_index", "UPDATE of a column without index"),
    ("oltp_write_only", "transactions of UPDATE, DELETE and INSERT"),
    ("select_random_points", "SELECT with an IN list over an index"),
    ("select_random_ranges", "SELECT of several ranges of an index"),
];

/// Tests of sysbench that need no database, and the program that runs them.
const NOT_OURS: &[(&str, &str)] = &[
    ("cpu", "sysbench cpu, or stress-ng --cpu"),
    ("fileio", "fio"),
    ("memory", "sysbench memory, or stress-ng --vm"),
    ("mutex", "sysbench mutex, or perf bench futex"),
    ("threads", "sysbench threads, or perf bench sched"),
];

/// Tests of 0.5.
const OF_05: &[&str] = &[
    "delete",
    "insert",
    "oltp",
    "oltp_new",
    "oltp_simple",
    "parallel_prepare",
    "select",
    "select_random_points",
    "select_random_ranges",
    "update_index",
    "update_non_index",
];

/// How old a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    Of10,
    Of05,
    Of04,
}

/// Why a name leads to no test.
#[derive(Debug, thiserror::Error)]
pub(super) enum Missing {
    #[error("Cannot find benchmark '{0}': no such built-in test, file or module")]
    Unknown(String),
    #[error(
        "the test '{name}' needs no database, and Prony measures database servers; use this program: \
         {program}"
    )]
    NotOurs { name: String, program: &'static str },
    #[error("cannot read {0}: {1}")]
    Unreadable(String, std::io::Error),
}

/// A test with its script, and a note about it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) script: Script,
    pub(super) age: Age,
    /// Name for lists: without directory and end.
    pub(super) name: String,
    pub(super) note: Option<String>,
}

impl Found {
    /// Where it looks for other scripts: first beside itself, then on the common path.
    pub(super) fn search_path(&self) -> Vec<String> {
        let beside = Path::new(&self.script.name).parent().map(|place| place.display().to_string());
        beside.into_iter().filter(|place| !place.is_empty()).chain(search_path()).collect()
    }
}

/// Finds the test by a word of the command line.
pub(super) fn find(word: &str) -> Result<Found, Missing> {
    if let Some((name, program)) = NOT_OURS.iter().find(|(name, _)| *name == word) {
        return Err(Missing::NotOurs { name: (*name).to_owned(), program });
    }
    let found = |script, name: &str| Found { script, age: Age::Of10, name: name.to_owned(), note: None };
    if word == "-" || word == "none" {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut text)
            .map_err(|error| Missing::Unreadable("stdin".to_owned(), error))?;
        return Ok(found(Script::new("(stdin)".to_owned(), text, SCRIPTS), "stdin"));
    }
    let plain = word.strip_suffix(".lua").unwrap_or(word);
    let mut places = vec![PathBuf::from(word)];
    if !word.contains('/') {
        places.extend(search_path().iter().map(|place| Path::new(place).join(format!("{plain}.lua"))));
    }
    // built-in scripts take precedence over installed ones of the same name
    let own = SCRIPTS.iter().find(|(name, _)| *name == plain && *name != "legacy_options");
    let local = places.iter().filter(|place| place.is_file());
    let mut local = local.filter(|place| own.is_none() || !place.starts_with("/usr") || word.contains('/'));
    if let Some(place) = local.next() {
        let text =
            std::fs::read(place).map_err(|error| Missing::Unreadable(place.display().to_string(), error))?;
        let shown = place.strip_prefix("./").unwrap_or(place).display().to_string();
        return Ok(found(Script::new(shown, text, SCRIPTS), base(plain)));
    }
    match own {
        Some((name, text)) => {
            let script = Script::own(format!("{name}.lua"), text, SCRIPTS);
            Ok(found(script, name))
        }
        None => Err(Missing::Unknown(word.to_owned())),
    }
}

/// The test that `--test` means: a script that is there, or else the test of sysbench 0.4 or 0.5 of that
/// name.
pub(super) fn find_old(word: &str) -> Result<Found, Missing> {
    let home = std::env::var("HOME").unwrap_or_default();
    let path = word.strip_prefix('~').map_or_else(|| word.to_owned(), |rest| format!("{home}{rest}"));
    if Path::new(&path).is_file() || NOT_OURS.iter().any(|(name, _)| *name == word) {
        return find(&path);
    }
    if word == "oltp" {
        let script = Script::own("oltp".to_owned(), include_str!("scripts/legacy04.lua"), SCRIPTS);
        return Ok(Found { script, age: Age::Of04, name: "oltp".to_owned(), note: None });
    }
    let name = base(word).trim_end_matches(".bak").trim_end_matches(".lua").to_owned();
    if !OF_05.contains(&name.as_str()) {
        return find(word);
    }
    let script = Script::own(word.to_owned(), include_str!("scripts/legacy05.lua"), SCRIPTS);
    let note =
        format!("note: {word} is not there: this is the test {} of sysbench 0.5: {}", name, does(&name));
    Ok(Found { script, age: Age::Of05, name, note: Some(note) })
}

/// Whether `--test` means a test of sysbench 0.4 or 0.5.
pub(super) fn is_old(word: &str) -> bool {
    find_old(word).is_ok_and(|found| found.age != Age::Of10)
}

/// What a test of 0.5 does.
fn does(name: &str) -> &'static str {
    match name {
        "oltp" | "oltp_new" => {
            "BEGIN, point SELECTs, four kinds of range SELECTs, two kinds of UPDATE, DELETE, INSERT, COMMIT, \
             each as often as its option says (default: 10 point SELECTs, 1 of each other)"
        }
        "oltp_simple" | "select" => "SELECT of one row by primary key",
        "update_index" => "UPDATE of the indexed column of one row",
        "update_non_index" => "UPDATE of a column without index of one row",
        "insert" => "INSERT of one row",
        "delete" => "DELETE of one row by primary key",
        "parallel_prepare" => "each thread makes its tables",
        "select_random_points" => "SELECT with an IN list over an index",
        _ => "SELECT of several ranges of an index",
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Where scripts are looked for.
pub(super) fn search_path() -> Vec<String> {
    let home = std::env::var("HOME").unwrap_or_default();
    vec![
        ".".to_owned(),
        format!("{home}/.luarocks/share/lua/5.1"),
        "/usr/local/share/lua/5.1".to_owned(),
        "/usr/share/lua/5.1".to_owned(),
        "/usr/local/share/sysbench".to_owned(),
        "/usr/share/sysbench".to_owned(),
    ]
}
