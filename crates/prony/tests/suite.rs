//! Tests of the tests: none leaves itself out, what may be missing is a list that is stated, each long one
//! has its turn.

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
}

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use support::require::{Need, Outcome, TOLD_IN, judge, require};

#[test]
fn only_what_no_package_gives_is_excused() {
    let excused: Vec<Need> = Need::ALL.into_iter().filter(|need| need.excuse().is_some()).collect();
    let of_the_machine = [
        Need::SmallDisk,
        Need::LoopDevice,
        Need::Namespaces,
        Need::TimeNamespaces,
        Need::ControlGroups,
        Need::Kubernetes,
        Need::BlockDevice,
    ];
    assert_eq!(excused, of_the_machine);
    let names: BTreeSet<&str> = Need::ALL.into_iter().map(|need| need.text().0).collect();
    assert_eq!(names.len(), Need::ALL.len());
    assert_eq!(judge(true, false), Outcome::Fails);
    for (in_ci, is_excused) in [(true, true), (false, false), (false, true)] {
        assert_eq!(judge(in_ci, is_excused), Outcome::LeftOut);
    }
}

/// Not a test by itself: what the next one runs in other environments.
#[test]
#[ignore = "helper: a process that another test starts"]
fn helper_that_lacks_sysbench() {
    assert_eq!(require(Need::Sysbench, Ok(1)), Some(1));
    assert_eq!(require(Need::Sysbench, Err::<u8, _>("for a test".to_owned())), None);
}

#[test]
fn a_test_that_cannot_run_is_told_and_fails_in_a_pipeline() {
    let home = tempfile::tempdir().expect("a directory");
    let list = home.path().join("list");
    let mut told = 0;
    for (said, passes) in
        [(None, true), (Some("false"), true), (Some(""), true), (Some("1"), false), (Some("true"), false)]
    {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["helper_that_lacks_sysbench", "--exact", "--ignored"]);
        command.env_remove("CI").env(TOLD_IN, &list).envs(said.map(|said| ("CI", said)));
        let output = command.output().expect("this program");
        assert_eq!(output.status.success(), passes, "{said:?}: {output:?}");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = "NOT TESTED: helper_that_lacks_sysbench: needs sysbench (for a test): apt-get install";
        assert!(shown.contains(line), "{said:?}: {shown}");
        told += 1;
        let listed = fs::read_to_string(&list).expect("a list");
        assert_eq!(listed.matches(line).count(), told, "{listed}");
    }
}

/// All Rust sources below the crates.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// What calls `require` for a test, or does so itself.
const ASKING: [&str; 3] = ["require(", "limited(", "Disk::mounted("];

/// Lines at which a test of this source ends before its end, other than where what it needs was asked for.
fn early_ends(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for test in text.split("#[test]\n").skip(1) {
        let indent = test.len() - test.trim_start_matches(' ').len();
        let body = test.split(&format!("\n{}}}\n", " ".repeat(indent))).next().unwrap_or(test);
        if body.contains("#[ignore = \"helper:") {
            continue;
        }
        // the statement that may end it, from where it begins
        let mut statement = String::new();
        for line in body.lines() {
            if ["let ", "if ", "match "].iter().any(|word| line.trim_start().starts_with(word)) {
                statement.clear();
            }
            statement.push_str(line);
            // further in it is a closure's, or follows what was tested in a loop
            let depth = line.len() - line.trim_start().len();
            let ends = line.trim() == "return;" || line.ends_with("else { return };");
            let ends = ends && depth <= indent + 8;
            if ends && !ASKING.iter().any(|call| statement.contains(call)) {
                found.push(line.trim());
            }
        }
    }
    found
}

#[test]
fn a_test_that_leaves_itself_out_is_found() {
    let test = |body: &str| format!("#[test]\nfn a() {{\n{body}\n    assert!(x);\n}}\n");
    assert_eq!(early_ends(&test("    let Some(a) = b() else { return };\n")).len(), 1);
    assert_eq!(early_ends(&test("    if !has() {\n        println!();\n        return;\n    }")).len(), 1);
    let asked = "    let Some(a) =\n        require(Need::A, b())\n    else {\n        return;\n    };";
    assert_eq!(early_ends(&test(asked)).len(), 0);
    assert_eq!(early_ends(&(test(asked) + &test("    if a() {\n        return;\n    }"))).len(), 1);
}

/// The directory of the crates.
fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/")
}

#[test]
fn no_test_leaves_itself_out() {
    let mut files = Vec::new();
    sources(crates(), &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source");
        wrong.extend(early_ends(&text).into_iter().map(|line| format!("{}: {line}", file.display())));
    }
    assert!(wrong.is_empty(), "use support::require: {wrong:#?}");
}

/// Names of the tests of a source that are ignored, with why.
fn ignored(text: &str) -> Vec<(&str, &str)> {
    let pieces = text.split("#[ignore = \"").skip(1);
    let named = pieces.filter_map(|piece| {
        let (why, after) = piece.split_once("\"]")?;
        let name = after.split_once("\n")?.1.trim_start().strip_prefix("fn ")?;
        Some((name.split('(').next()?, why))
    });
    named.filter(|(name, _)| !name.contains(' ')).collect()
}

/// Package, program and name of a test, as `cargo test` knows them.
fn address(file: &Path, test: &str) -> String {
    let inner = file.strip_prefix(crates()).expect("below crates/").with_extension("");
    let parts: Vec<&str> = inner.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        [package, "src", modules @ ..] => format!("{package} lib {}::{test}", modules.join("::")),
        [package, "tests", program] => format!("{package} {program} {test}"),
        [package, "tests", program, "main"] => format!("{package} {program} {test}"),
        [package, "tests", program, module] => format!("{package} {program} {module}::{test}"),
        other => panic!("{other:?} has tests"),
    }
}

#[test]
fn every_long_test_has_its_turn() {
    let mut files = Vec::new();
    sources(crates(), &mut files);
    let mut long = BTreeSet::new();
    for file in &files {
        let text = fs::read_to_string(file).expect("a source");
        for (test, why) in ignored(&text) {
            assert!(why.starts_with("long: ") || why.starts_with("helper: "), "{test}: {why}");
            if why.starts_with("long: ") {
                assert!(long.insert(address(file, test)), "{test} is there twice");
            }
        }
    }
    assert!(long.len() > 30, "they are found: {long:#?}");
    let list = fs::read_to_string(crates().parent().expect("the repository").join("scripts/long-tests.txt"));
    let list = list.expect("the list");
    let mut listed = BTreeSet::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let seconds: u32 = words[0].parse().expect("seconds");
        assert!((1..=720).contains(&seconds), "{line}: no part can hold it");
        assert!(listed.insert(words[1..4].join(" ")), "{line} is there twice");
    }
    let missing: Vec<&String> = long.difference(&listed).collect();
    let gone: Vec<&String> = listed.difference(&long).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "scripts/long-tests.txt lacks {missing:#?}, has {gone:#?}"
    );
}

/// What `scripts/tests.sh` would run of the long tests for this word.
fn planned(word: &str) -> Vec<String> {
    let script = crates().parent().expect("the repository").join("scripts/tests.sh");
    let output = Command::new(script).args(["plan", word]).output().expect("bash");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn parts_of_the_long_tests_are_all_of_them_and_take_about_as_long() {
    let all: BTreeSet<String> = planned("1/1").into_iter().collect();
    assert!(all.len() > 30);
    for parts in [2, 5, 8] {
        let mut seen = BTreeSet::new();
        let mut lengths = Vec::new();
        for part in 1..=parts {
            let lines = planned(&format!("{part}/{parts}"));
            let seconds = |line: &String| line.split(' ').next().and_then(|word| word.parse::<u32>().ok());
            lengths.push(lines.iter().map(|line| seconds(line).expect("seconds")).sum::<u32>());
            assert!(lines.into_iter().all(|line| seen.insert(line)), "a test is in two parts");
        }
        assert_eq!(seen, all);
        let (least, most) = (lengths.iter().min().expect("parts"), lengths.iter().max().expect("parts"));
        assert!(most - least <= 200, "{parts}: {lengths:?}");
    }
    let turn = planned("turn");
    let took = turn.iter().filter_map(|line| line.split(' ').next()?.parse::<u32>().ok()).sum::<u32>();
    assert!(!turn.is_empty() && turn.len() < all.len() && took <= 900, "{took} s: {turn:#?}");
}
