//! Holds the source to what `ARCHITECTURE.md` promises (who may know whom, what is found in one place only),
//! and to the width of its lines, where rustfmt does not look: comments, texts, macros.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/phrases.rs"]
mod phrases;
#[path = "tidy/walks.rs"]
mod walks;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Modules of the crate `prony` and those of its modules that each may use. Data flows down.
const MODULES: &[(&str, &[&str])] = &[
    ("escape", &[]),
    ("language", &[]),
    ("quantity", &[]),
    ("family", &["quantity"]),
    ("arrival", &["quantity"]),
    ("search", &["quantity"]),
    ("calibrate", &["arrival", "workload", "provision", "telemetry", "run"]),
    ("layout", &["family", "quantity", "language"]),
    ("workload", &["layout"]),
    ("sketch", &["family"]),
    ("study", &["layout", "workload", "sysbench", "arrival", "search", "quantity", "escape", "language"]),
    ("plan", &["family", "layout", "study", "arrival", "quantity", "escape", "language"]),
    ("published", &["plan", "study"]),
    ("provision", &["family", "plan", "quantity"]),
    ("network", &["provision"]),
    ("loader", &["plan", "provision", "sysbench", "telemetry"]),
    ("dataset", &["family", "layout", "plan"]),
    ("telemetry", &["family"]),
    ("doctor", &["telemetry"]),
    ("mysqlslap", &[]),
    ("sysbench", &[]),
    ("fairness", &["family", "plan", "provision", "dataset", "quantity"]),
    ("audit", &["plan", "provision", "network"]),
    (
        "run",
        &[
            "family",
            "layout",
            "network",
            "loader",
            "plan",
            "provision",
            "audit",
            "dataset",
            "sysbench",
            "fairness",
            "telemetry",
            "doctor",
            "search",
        ],
    ),
    ("live", &["plan", "provision", "run", "escape"]),
    ("store", &["network", "plan", "run", "provision", "dataset", "telemetry", "escape"]),
    ("foreign", &["plan", "run", "store", "study"]),
    ("export", &["plan", "run", "store", "escape"]),
    (
        "analyse",
        &[
            "layout",
            "store",
            "plan",
            "published",
            "audit",
            "run",
            "telemetry",
            "provision",
            "search",
            "fairness",
        ],
    ),
    (
        "report",
        &[
            "network",
            "store",
            "analyse",
            "published",
            "fairness",
            "plan",
            "run",
            "telemetry",
            "doctor",
            "provision",
            "quantity",
            "escape",
            "language",
        ],
    ),
    ("serve", &["escape", "plan", "provision", "run", "study", "store", "live", "analyse", "report"]),
    (
        "cli",
        &[
            "language",
            "escape",
            "quantity",
            "arrival",
            "search",
            "calibrate",
            "layout",
            "workload",
            "study",
            "plan",
            "provision",
            "network",
            "loader",
            "dataset",
            "telemetry",
            "doctor",
            "fairness",
            "run",
            "live",
            "store",
            "foreign",
            "export",
            "analyse",
            "report",
            "serve",
            "sketch",
            "mysqlslap",
            "sysbench",
        ],
    ),
];

/// Rooms of the module `provision`, a folder or a file each, and those above them that each may use: the way
/// is one-way here, too.
const ROOMS: &[(&str, &[&str])] = &[
    ("disk", &[]),
    ("process", &[]),
    ("limits", &[]),
    ("containers", &["process"]),
    ("login", &["process"]),
    ("software", &["disk", "process", "containers"]),
    ("settings", &["login", "software"]),
    ("launch", &["disk", "process", "limits", "containers", "login", "software", "settings"]),
    ("data", &["disk", "process", "software", "settings", "launch"]),
    (
        "instance",
        &["disk", "process", "limits", "containers", "login", "software", "settings", "launch", "data"],
    ),
    ("attach", &["disk", "login", "software", "settings"]),
    ("server", &["limits", "login", "software", "instance", "attach"]),
    ("provisioner", &["login", "software", "settings", "launch", "data", "instance", "attach", "server"]),
    ("group", &["disk", "login", "software", "launch", "instance", "server", "provisioner"]),
];

/// What every room of `provision` may name: errors, the user's directories, what goes along with long work,
/// values of the module's own.
const OF_ALL_ROOMS: &[&str] = &[
    "Error",
    "Places",
    "Home",
    "Work",
    "Step",
    "Namespace",
    "Site",
    "ServerDescription",
    "Remark",
    "Holder",
    "NoProcess",
];

/// Longest file, lines, tests not counted: what can be read in one sitting.
const LINES_MAX: usize = 750;

/// Text and the only files (ends of paths) in which it may stand.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("curve25519_dalek", &["wire/src/scramble.rs"]),
    ("rusqlite", &["prony/src/store/"]),
    ("parquet::errors", &["prony/src/export/", "prony/src/layout/files/columnar.rs"]),
    ("unsafe {", &["load/src/io.rs", "script/src/state.rs"]),
    // what may be done with a server is asked of the plan (`ServerPlan::may`), not seen from where it is from
    ("ServerSource::Url(_)", &["prony/src/provision/software/search.rs"]),
    ("process::exit", &["prony/src/cli/interrupt.rs"]),
    ("ServerCertVerifier", &["load/src/tls.rs"]),
    (".unwrap()", &[]),
    // The clock of dates, which may be set at any time: asked for dates and names (runs, trials, caches,
    // standing servers, containers), for the one zero that a heartbeat's monotonic times count from, and for
    // the age of bytes that the kernel has stamped, which the relay bounds. Every length of time is the
    // difference of two `Instant`s.
    (
        "Timestamp::now",
        &["prony/src/store/mod.rs", "prony/src/provision/instance/standing.rs", "prony/src/cli/keep.rs"],
    ),
    (
        "SystemTime::now",
        &[
            "prony/src/provision/data/cache.rs",
            "prony/src/provision/containers/mod.rs",
            "prony/src/run/lag/heartbeat.rs",
        ],
    ),
    ("CLOCK_REALTIME", &["load/src/io.rs"]),
    ("Zoned::now", &[]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/").to_owned()
}

/// Every source file below `crates/*/src` with its text, tests cut off.
fn sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for name in ["wire", "load", "script", "stats", "prony"] {
        collect(&crates().join(name).join("src"), &mut files);
    }
    assert!(files.len() > 60, "the sources are found");
    files
}

fn collect(directory: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).expect("a source directory").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).expect("source text");
            let ends = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\npub(super) mod tests {"];
            let end = ends.into_iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
            let text = text[..end].to_owned();
            files.push((path, text));
        }
    }
}

/// Every line of Rust of the repository, tests, benchmarks and fuzzers included, with its place.
fn lines_of_everything() -> Vec<(String, String)> {
    let root = crates().parent().expect("the repository").to_owned();
    let mut files = Vec::new();
    for directory in ["crates", "fuzz"] {
        rust_below(&root.join(directory), &mut files);
    }
    assert!(files.len() > 200, "the sources are found: {}", files.len());
    let mut lines = Vec::new();
    for file in files {
        let shown = file.strip_prefix(&root).expect("below the root").display().to_string();
        let text = fs::read_to_string(&file).expect("source text");
        lines.extend(
            text.lines().enumerate().map(|(at, line)| (format!("{shown}:{}", at + 1), line.to_owned())),
        );
    }
    lines
}

fn rust_below(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a source directory").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                rust_below(&path, files);
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// The width that rustfmt is told, in characters.
fn width_max() -> usize {
    let file = crates().parent().expect("the repository").join("rustfmt.toml");
    let text = fs::read_to_string(file).expect("rustfmt.toml");
    let value = text.lines().find_map(|line| line.strip_prefix("max_width = ")).expect("max_width");
    value.trim().parse().expect("a number")
}

/// Whether a line is too wide. The one excuse: it cannot be broken, since behind what opens it (`//`, `///`,
/// `//!`, a quotation mark) it is a single word, an address say.
fn is_too_wide(line: &str, width: usize) -> bool {
    let inner = line.trim_start().trim_start_matches(['/', '!', '"']).trim();
    line.chars().count() > width && inner.contains(' ')
}

/// Names that follow `crate::` in code, `use crate::{a, b::c}` included.
fn uses(text: &str) -> BTreeSet<String> {
    names_behind("crate::", text)
}

/// Names that follow `before` in code, those in braces included.
fn names_behind(before: &str, text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut names = BTreeSet::new();
    for after in code.split(before).skip(1) {
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

/// A table of modules, or of rooms, below `root`, as `ARCHITECTURE.md` shows it: what each is for (the first
/// sentence of its header), and what it may use.
fn table(root: &str, head: &str, entries: &[(&str, &[&str])]) -> String {
    let mut table = format!("| {head} | what it is for | may use |\n|---|---|---|\n");
    for (name, allowed) in entries {
        let root = crates().join(root);
        let header = fs::read_to_string(root.join(name).join("mod.rs"))
            .or_else(|_| fs::read_to_string(root.join(format!("{name}.rs"))))
            .expect("a module");
        let header: Vec<&str> = header.lines().map_while(|line| line.strip_prefix("//!")).collect();
        let paragraph = header.split(|line| line.trim().is_empty()).next().unwrap_or_default();
        let text = paragraph.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        let sentence = text.split_once(". ").map_or(&*text, |(first, _)| first).trim_end_matches(['.', ':']);
        let others = entries.iter().map(|(other, _)| *other);
        let others: Vec<&str> = others.filter(|other| other != name && !allowed.contains(other)).collect();
        let uses = match (allowed.len(), others.len()) {
            (0, _) => "–".to_owned(),
            (_, 0) => "all".to_owned(),
            (_, 1..=2) => format!("all but {}", others.join(" and ")),
            _ => allowed.join(", "),
        };
        table.push_str(&format!(
            "| `{name}` | {} | {uses} |\n",
            sentence.replace("[`", "`").replace("`]", "`")
        ));
    }
    table
}

#[test]
fn the_table_of_modules_in_the_architecture_is_the_one_that_is_enforced() {
    let modules = table("prony/src", "module", MODULES);
    let rooms = table("prony/src/provision", "room", ROOMS);
    let path = crates().join("../ARCHITECTURE.md");
    let mut text = fs::read_to_string(&path).expect("ARCHITECTURE.md");
    for (what, table) in [("modules", modules), ("rooms", rooms)] {
        let (begin, end) =
            (format!("<!-- {what}: written by the test `tidy` -->\n"), format!("<!-- end of {what} -->\n"));
        let (before, rest) = text.split_once(&begin).expect("where the table begins");
        let (found, after) = rest.split_once(&end).expect("where it ends");
        if std::env::var_os("PRONY_UPDATE").is_none() {
            assert_eq!(found, table, "`make schemas` writes the table anew");
        }
        text = format!("{before}{begin}{table}{end}{after}");
    }
    if std::env::var_os("PRONY_UPDATE").is_some() {
        fs::write(&path, text).expect("ARCHITECTURE.md, written");
    }
}

#[test]
fn no_module_may_use_more_than_it_does() {
    let root = crates().join("prony/src");
    let mut used = std::collections::BTreeMap::<String, BTreeSet<String>>::new();
    for (path, text) in sources() {
        let Ok(inner) = path.strip_prefix(&root) else { continue };
        let module = inner.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
        used.entry(module.unwrap_or_default()).or_default().extend(uses(&text));
    }
    for (name, allowed) in MODULES {
        let idle: Vec<_> = allowed.iter().filter(|other| !used[*name].contains(**other)).collect();
        assert!(idle.is_empty(), "{name} may use {idle:?} and does not: take them off the table");
    }
}

/// Every source file of `provision` by its room, which is a folder or a file; the module's own head has none.
fn rooms() -> Vec<(String, PathBuf, String)> {
    let root = crates().join("prony/src/provision");
    let in_room = |(path, text): (PathBuf, String)| {
        let inner = path.strip_prefix(&root).ok()?.to_owned();
        let first = inner.components().next()?.as_os_str().to_string_lossy();
        let room = first.trim_end_matches(".rs").to_owned();
        (!["mod", "error", "places", "remark", "step", "work"].contains(&&*room))
            .then_some((room, inner, text))
    };
    sources().into_iter().filter_map(in_room).collect()
}

#[test]
fn rooms_of_provision_know_only_those_above_them() {
    let mut used = std::collections::BTreeMap::<String, BTreeSet<String>>::new();
    let mut wrong = Vec::new();
    for (room, inner, text) in rooms() {
        let allowed = ROOMS.iter().find(|(name, _)| *name == room).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("{room} is not in the table of rooms"));
        let names = names_behind("provision::", &text);
        for name in names.iter().filter(|name| **name != room && !OF_ALL_ROOMS.contains(&name.as_str())) {
            if !allowed.contains(&name.as_str()) {
                wrong.push(format!("provision/{} uses {name}", inner.display()));
            }
        }
        // what would leave the room by another door
        let is_head = inner.ends_with("mod.rs") && inner.components().count() == 2;
        if text.contains("super::super::") || (is_head && !names_behind("super::", &text).is_empty()) {
            wrong
                .push(format!("provision/{}: say `crate::provision::` outside of the room", inner.display()));
        }
        used.entry(room).or_default().extend(names);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (place, (name, allowed)) in ROOMS.iter().enumerate() {
        let above: Vec<&str> = ROOMS[..place].iter().map(|(name, _)| *name).collect();
        let below: Vec<_> = allowed.iter().filter(|other| !above.contains(other)).collect();
        assert!(below.is_empty(), "{name} uses {below:?}, which stand below it in the table");
        let idle: Vec<_> = allowed.iter().filter(|other| !used[*name].contains(**other)).collect();
        assert!(idle.is_empty(), "{name} may use {idle:?} and does not: take them off the table");
    }
}

/// A signature with a tuple of three or more says nothing of what is what.
#[test]
fn provision_hands_no_tuples_of_three_around() {
    let mut wrong = Vec::new();
    for (_, inner, text) in rooms() {
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        wrong.extend(
            tuples(&code.join("\n")).into_iter().map(|tuple| format!("{}: {tuple}", inner.display())),
        );
    }
    assert!(wrong.is_empty(), "give them a name: {wrong:#?}");
}

/// Types that are tuples of three or more: behind `->`, `<`, `:` or `&`, not the arguments of a function.
fn tuples(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices('(') {
        let before = code[..at].trim_end_matches(['&', ' ', '\n']);
        let is_type = before.ends_with("->") || before.ends_with('<') || before.ends_with(':');
        let is_path = before.ends_with("::");
        let Some(inner) = code[at + 1..].split([')', '{', ';', '=']).next() else { continue };
        // values have literals, calls or fields in them
        let is_value = inner.contains(['.', '"', '(', '!', '|']);
        if is_type
            && !is_path
            && !is_value
            && inner.trim_end_matches([',', ' ', '\n']).matches(',').count() >= 2
        {
            found.push(format!("({inner})"));
        }
    }
    found
}

#[test]
fn tuples_of_three_are_found_in_types_alone() {
    assert_eq!(tuples("fn f(a: u8, b: u8, c: u8) -> (u8, String, u8) {}").len(), 1);
    assert_eq!(tuples("let all: Vec<(u8, String, PathBuf)> = Vec::new();").len(), 1);
    assert_eq!(tuples("fn f((a, b, c): (&str, &str, u32)) { g(1, 2, 3); Self::new(1, 2, 3) }").len(), 1);
    assert!(tuples("fn f(pair: (u8, u8), other: u8) -> Result<(), Error> {}").is_empty());
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

/// Values go from process to process by position (`frame`): a field that is sometimes left out, or that is
/// known by its name or its form, cannot be read there. What only records have says so.
#[test]
fn what_goes_to_other_processes_can_be_read_there() {
    const FORMS: [&str; 4] = ["skip_serializing_if", "serde(flatten", "serde(untagged", "serde(tag"];
    let load = crates().join("load/src");
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        // `Broken::from_store`, by which the end of a load is read, which only records have
        if path.starts_with(&load) && !path.ends_with("sample.rs") {
            wrong.extend(FORMS.iter().filter(|form| text.contains(**form)).map(|form| (path.clone(), form)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is MySQL's is said in `family` and `provision`, comments included. Texts that users read may name its
/// settings.
#[test]
fn what_is_of_one_family_is_said_in_its_own_rooms() {
    const WORDS: [&str; 6] = ["InnoDB", "Innodb_", "innodb_", "INNODB", "Com_", "Handler_"];
    const ROOMS: [&str; 2] = ["prony/src/family/", "prony/src/provision/"];
    const TEXTS: [&str; 3] =
        ["prony/src/doctor/disk.rs", "prony/src/study/data.rs", "prony/src/study/schema.rs"];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let shown = path.display().to_string();
        if ROOMS.iter().chain(&TEXTS).any(|place| shown.contains(place)) {
            continue;
        }
        let said = WORDS.iter().filter(|word| text.contains(**word));
        wrong.extend(said.map(|word| format!("{shown} says {word}: a name of every family belongs here")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The names of sysbench's tables and columns are its layout's alone, so that another layout is one folder;
/// beside it only what stands in for the program itself, with its defaults, knows them.
#[test]
fn only_sysbench_s_own_folder_knows_its_tables() {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let shown = path.display().to_string();
        if ["src/layout/sysbench/", "prony/src/sysbench/"].iter().any(|room| shown.contains(room)) {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            let names_one = (line.contains("DataSet::Sysbench") && !shown.contains("src/layout/"))
                || line.contains("sysbench::Generator")
                || lower.contains("sbtest")
                || lower.split(|letter| !is_part(letter)).any(|word| word == "pad")
                || ["`k`", "(id, k,", " set k =", "select c ", "select k "]
                    .iter()
                    .any(|name| lower.contains(name));
            if names_one {
                wrong.push(format!("{}:{}: {}", path.display(), at + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Modules in which facts are values; only `report::words` (and `cli`, which prints) makes sentences of them.
const OF_FACTS: &[&str] = &[
    "analyse",
    "calibrate",
    "export",
    "plan",
    "report",
    "run",
    "search",
    "store/query.rs",
    "store/record.rs",
];

/// Ways to look into a text.
const LOOKS: &[&str] = &[
    ".starts_with(",
    ".ends_with(",
    ".contains(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".split_once(",
    ".split(",
    ".find(",
    ".matches(",
    "== ",
    "!= ",
];

/// Whether a line decides by the words of a sentence: it looks for a text that has a space between words, or
/// that was made for it, or takes words apart; or it compares what an enum says as text.
fn decides_by_words(line: &str) -> bool {
    let is_sentence = |literal: &str| {
        let words = literal.split(' ').filter(|word| word.chars().any(char::is_alphabetic)).count();
        let own = ["trial", "invalid", "suspicious", "overloaded", "different"];
        words > 1 || literal.split([' ', ':']).any(|word| own.contains(&word))
    };
    let literal = |after: &str| after.strip_prefix('"')?.split('"').next().map(str::to_owned);
    LOOKS.iter().any(|look| {
        line.split(look).skip(1).any(|after| {
            after.starts_with("&format!")
                || after.starts_with("is_ascii_digit")
                || after.starts_with("|c: char| c.is_ascii_digit")
                || literal(after).is_some_and(|literal| is_sentence(&literal))
        })
    })
}

#[test]
fn facts_are_values_until_the_words_and_no_module_takes_its_own_sentences_apart() {
    let root = crates().join("prony/src");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (path, text) in sources() {
        let Ok(inner) = path.strip_prefix(&root) else { continue };
        let shown = inner.display().to_string();
        let is_of_facts = OF_FACTS.iter().any(|module| inner.starts_with(module));
        if !is_of_facts || shown.starts_with("report/words") {
            continue;
        }
        seen += 1;
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            if decides_by_words(line) || line.trim() == "Failed(String)," {
                wrong.push(format!("{shown}: {}", line.trim()));
            }
        }
    }
    assert!(seen > 60, "the modules are looked at: {seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Errors that hold a whole message, and whose words it is: nobody else's error says it better.
const TOLD: &[(&str, &str)] = &[
    ("load/src/play.rs: pub struct Failure(pub String);", "the interpreter's"),
    ("load/src/sample.rs: Told(String),", "an older version's, from a store"),
    ("prony/src/provision/settings/words.rs: Never(String),", "those of the table of settings"),
    ("prony/src/serve/refusal.rs: Study(String),", "those of the command line, which was started"),
    ("script/src/lib.rs: Script(String),", "the interpreter's"),
];

#[test]
fn errors_are_values() {
    let (mut wrong, mut told) = (Vec::new(), BTreeSet::new());
    for (path, text) in sources() {
        let shown = path.strip_prefix(crates()).expect("below crates").display().to_string();
        for line in messages(&text) {
            let line = format!("{shown}: {line}");
            match TOLD.iter().find(|(known, _)| *known == line) {
                Some((known, _)) => drop(told.insert(known)),
                None => wrong.push(line),
            }
        }
    }
    assert_eq!(told.len(), TOLD.len(), "all of the list are there: {told:?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Lines at which an error is a message and not a value: a result whose error is a text, a variant that says
/// so, and one whose message is nothing but the text in it.
fn messages(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_message = |(at, line): (usize, &&str)| {
        let is_only_text = at > 0 && lines[at - 1] == "#[error(\"{0}\")]" && line.contains("String)");
        has_text_error(line) || line.contains("Failed(String)") || is_only_text
    };
    lines.iter().enumerate().filter(|one| is_message(*one)).map(|(_, line)| *line).collect()
}

/// Whether a line names a result whose error is a text.
fn has_text_error(line: &str) -> bool {
    let is_last = |rest: &str| !rest.starts_with([',', '>']);
    line.split("Result<").skip(1).any(|result| result.split(", String>").skip(1).any(is_last))
}

#[test]
fn errors_that_are_texts_are_found() {
    assert!(has_text_error("fn read(words: &[String]) -> Result<Vec<String>, String> {"));
    assert!(has_text_error("type Read<T> = Result<T, String>;"));
    assert!(!has_text_error("fn pairs() -> Result<BTreeMap<String, String>, Error> {"));
    assert!(!has_text_error("fn fitted(to: &BTreeMap<String, String>) -> Result<(), Error> {"));
    let text = "enum Error {\n    #[error(\"{0}\")]\n    Request(String),\n    Failed(String),\n    \
                #[error(\"no {0}\")]\n    No(String),\n}";
    assert_eq!(messages(text), ["Request(String),", "Failed(String),"]);
}

#[test]
fn a_decision_by_words_is_found() {
    for line in [
        r#"left_out.any(|reason| reason.starts_with("trial 3:") && true)"#,
        r#"reason.contains("repeated as")"#,
        r#"reason.starts_with(&format!("trial {first}:"))"#,
        r#"one.split(|c: char| c.is_ascii_digit()).eq(other)"#,
        r#"if doubt.level == "invalid" {"#,
        r#"conditions.iter().filter(|one| one.verdict == "different")"#,
    ] {
        assert!(decides_by_words(line), "{line}");
    }
    for line in [
        r#"path.strip_suffix("/machine/cpu_idle")"#,
        r#"text.split(' ').count()"#,
        r#"factor == "server""#,
        r#"text.contains(", ")"#,
    ] {
        assert!(!decides_by_words(line), "{line}");
    }
}

/// Times of the clock of dates are kept and shown, and never reckoned with.
#[test]
fn no_length_of_time_is_the_difference_of_two_dates() {
    let ways = ["duration_since(", ".duration_until(", ".elapsed()", ".since(", ".until("];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        // what each such file knows of dates, beside clocks that are not set
        let dates = ["Timestamp", "SystemTime"].iter().any(|kind| text.contains(kind));
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in lines.filter(|line| dates && ways.iter().any(|way| line.contains(way))) {
            // the first makes a name or a zero, the others are of the type `Instant`
            let harmless =
                ["UNIX_EPOCH", "saturating_duration_since(self.zero)", "ended.elapsed()", "began.elapsed()"];
            if !harmless.iter().any(|word| line.contains(word)) {
                wrong.push(format!("{}: {}", path.display(), line.trim()));
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
fn no_line_is_wider_than_rustfmt_is_told() {
    let width = width_max();
    let wrong: Vec<String> = lines_of_everything()
        .into_iter()
        .filter(|(_, line)| is_too_wide(line, width))
        .map(|(place, line)| format!("{place} has {} characters, {width} are allowed", line.chars().count()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn width_is_counted_in_characters_and_only_what_cannot_be_broken_is_excused() {
    assert!(!is_too_wide(&"ä".repeat(10), 10));
    assert!(is_too_wide("    // one two", 10));
    assert!(is_too_wide("let a = \"long\";", 10));
    assert!(!is_too_wide("//! <https://example.org/a/long/way>", 10));
    assert!(is_too_wide("//! at <https://example.org/a/long/way>", 10));
}

#[test]
fn uses_are_found_in_every_form() {
    let text = "use crate::{\n    plan::{self, Plan},\n    store,\n    telemetry::Machine,\n};\nfn f(x: \
                crate::run::Event) {}\n// crate::cli\n";
    let expected = ["plan", "run", "store", "telemetry"].map(str::to_owned);
    assert_eq!(uses(text), BTreeSet::from(expected));
}

/// Words that the glossary forbids for what these entries mean: its last column.
fn forbidden_words(entries: &[&str]) -> Vec<String> {
    let glossary = fs::read_to_string(crates().join("../docs/glossary.md")).expect("the glossary");
    let mut words = Vec::new();
    for entry in entries {
        let row = glossary.lines().find(|line| line.starts_with(&format!("| {entry} |"))).expect(entry);
        let last = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        words.extend(last.split(',').map(|word| word.trim().to_owned()));
    }
    words
}

/// Whether a text has this word, in the singular or plural; a Chinese one anywhere. What stands in braces is
/// the name of a place; a point select is a kind of query, perf has samples; names of options and workloads
/// are what they are.
fn says(text: &str, word: &str) -> bool {
    let mut depth = 0;
    let mut is_shown = |letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth == 0
    };
    let shown: String = text.chars().filter(|&letter| is_shown(letter)).collect();
    let shown = shown.to_lowercase().replace("point select", "").replace("recorded no samples", "");
    if !word.is_ascii() {
        return shown.contains(word);
    }
    let is_part = |letter: char| letter.is_ascii_alphabetic() || letter == '-' || letter == '_';
    shown.split(|letter| !is_part(letter)).any(|one| one == word || one.strip_suffix('s') == Some(word))
}

/// `prony help`, and that of every command below.
fn helps(path: &[String]) -> Vec<(String, String)> {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_prony")).args(path).arg("--help").output();
    let text = String::from_utf8(run.expect("prony").stdout).expect("text");
    let commands = text.split("Commands:\n").nth(1).unwrap_or_default();
    let below: Vec<Vec<String>> = commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(|name| [path, &[name.to_owned()]].concat())
        .collect();
    let below = below.iter().flat_map(|path| helps(path)).collect::<Vec<_>>();
    [(format!("prony {} --help", path.join(" ")), text)].into_iter().chain(below).collect()
}

#[test]
fn users_meet_two_words_for_what_is_executed() {
    let forbidden = forbidden_words(&["trial", "combination", "factor, level"]);
    assert!(forbidden.len() > 8 && forbidden.contains(&"treatment".to_owned()), "{forbidden:?}");
    let mut texts = helps(&[]);
    assert!(texts.len() > 15, "every command is asked: {}", texts.len());
    for language in ["en", "zh"] {
        let file = format!("prony/src/report/words/{language}.toml");
        let table: toml::Table =
            toml::from_str(&fs::read_to_string(crates().join(&file)).expect("words")).expect("TOML");
        for (section, keys) in &table {
            let keys = keys.as_table().expect("a section").iter();
            texts.extend(keys.map(|(key, text)| {
                (format!("{file} {section}.{key}"), text.as_str().unwrap_or_default().to_owned())
            }));
        }
    }
    assert!(texts.len() > 700, "the tables are read: {}", texts.len());
    let mut wrong = Vec::new();
    for (place, text) in &texts {
        let said = forbidden.iter().filter(|word| says(text, word));
        wrong.extend(said.map(|word| format!("{place} says {word}: see docs/glossary.md")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names in code, in parts: `remove_group` and `InUse` are `remove`, `group`, `in`, `use`. What stands in
/// quotation marks is not one: files of earlier versions have the names that they have.
fn parts_of_names(code: &str) -> BTreeSet<String> {
    let mut parts = BTreeSet::new();
    let mut part = String::new();
    let mut is_text = false;
    for letter in code.chars() {
        is_text ^= letter == '"';
        let begins = letter.is_uppercase() && part.ends_with(char::is_lowercase);
        if is_text || !letter.is_alphanumeric() || begins {
            parts.insert(std::mem::take(&mut part).to_lowercase());
        }
        if !is_text && letter.is_alphanumeric() {
            part.push(letter);
        }
    }
    parts.insert(part.to_lowercase());
    parts
}

#[test]
fn servers_and_networks_are_named_in_the_words_of_the_field() {
    let forbidden = forbidden_words(&["settings restore", "orphan", "cgroup", "network namespace"]);
    assert_eq!(forbidden, ["debt", "remains", "confines", "apart"]);
    let roots = ["provision", "network"].map(|module| crates().join("prony/src").join(module));
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if !roots.iter().any(|root| path.starts_with(root)) {
            continue;
        }
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let parts = parts_of_names(&code.join("\n"));
        let said =
            forbidden.iter().filter(|word| parts.contains(*word) || parts.contains(&format!("{word}s")));
        wrong.extend(said.map(|word| format!("{} says {word}: see docs/glossary.md", path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let parts = parts_of_names("fn pay_debts(a: ServerApart) { \"kept apart\" }");
    assert!(parts.contains("debts") && parts.contains("apart") && !parts.contains("kept"), "{parts:?}");
}

#[test]
fn forbidden_words_are_found_as_words() {
    assert!(says("At any rung.", "rung") && says("Points, two", "point"));
    assert!(!says("wrung; {rungs} levels", "rung") && !says("pointless", "point"));
    assert!(!says("--random-points: point selects of oltp_point_select", "point"));
    assert!(says("每个测点上", "测点"));
}
