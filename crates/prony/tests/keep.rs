//! What the commands that keep runs say: lists, labels, notes, histories, comparisons, runs that go from
//! store to store, and what they say to mistakes. Their words are recorded, so that a change of them is seen
//! and read.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the right answer")]

#[path = "support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic;

use prony::{run::Event, store::Store};
use std::{
    fmt::Write as _,
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::Command,
};

/// A directory with a store of two runs, of a few trials each, so that a test is quick.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut store = Store::open(&home.path().join("data/prony/prony.sqlite")).unwrap();
    for _ in 0..2 {
        let id = store.begin(&synthetic::plan(), &synthetic::machine()).unwrap();
        for event in synthetic::events().iter().filter(|event| belongs(event)) {
            store.record(id, event).unwrap();
        }
    }
    home
}

/// Whether an event is about no trial, or one of the first few.
fn belongs(event: &Event) -> bool {
    match event {
        Event::TrialStarted { trial }
        | Event::TrialSample { trial, .. }
        | Event::TrialReading { trial, .. }
        | Event::TrialFinished { trial, .. } => *trial < TRIALS,
        _ => true,
    }
}

/// Trials that each run has.
const TRIALS: u32 = 4;
/// Lines of what a command prints that are recorded: how tables look is others' to test.
const LINES_MAX: usize = 8;

/// Prony in a home of its own.
fn prony(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments).current_dir(home).stdin(std::process::Stdio::null());
    command.env("XDG_DATA_HOME", home.join("data")).env("XDG_STATE_HOME", home.join("state"));
    command.env_remove("PRONY_STORE").env("COLUMNS", "100");
    command
}

/// A command as it is typed, what it prints, what it tells and its exit code.
fn say(into: &mut String, home: &Path, arguments: &[&str]) {
    let output = prony(home, arguments).output().unwrap();
    let text = |bytes: &[u8]| masked(&String::from_utf8_lossy(bytes), home);
    let words: Vec<String> = arguments
        .iter()
        .map(|word| if word.contains(' ') { format!("'{word}'") } else { (*word).to_owned() })
        .collect();
    let _ = writeln!(into, "$ prony {}", words.join(" "));
    let printed = text(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    lines.iter().take(LINES_MAX).for_each(|line| into.push_str(&format!("{line}\n")));
    if lines.len() > LINES_MAX {
        let _ = writeln!(into, "({} lines more)", lines.len() - LINES_MAX);
    }
    into.push_str(&text(&output.stderr));
    if output.status.code() != Some(0) {
        let _ = writeln!(into, "(exit code {})", output.status.code().unwrap_or(-1));
    }
    into.push('\n');
}

/// Without what is different each time: the directory, dates and times of day, version.
fn masked(text: &str, home: &Path) -> String {
    let home = home.display().to_string();
    let text = text.replace(&home, "HOME").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let shape =
        |word: &str| word.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect::<String>();
    let mask = |word: &str| match shape(word).as_str() {
        "9999-99-99" => "YYYY-MM-DD".to_owned(),
        "99:99" => "HH:MM".to_owned(),
        "9999-99-99T99:99:99Z," => "DATE,".to_owned(),
        _ => word.to_owned(),
    };
    let lines = text.lines().map(|line| line.split(' ').map(mask).collect::<Vec<_>>().join(" ") + "\n");
    lines.collect()
}

#[test]
fn runs_are_listed_labelled_annotated_and_deleted() {
    let home = home();
    let home = home.path();
    let mut told = String::new();
    for arguments in [
        &["list", "runs"][..],
        &["label", "1", "baseline", "nightly"],
        &["label", "last", "nightly"],
        &["label", "1"],
        &["label", "1", "--remove", "nightly"],
        &["note", "baseline", "new kernel, mitigations off"],
        &["note", "baseline"],
        &["note", "2"],
        &["list", "runs"],
        &["list", "runs", "--label", "nightly"],
        &["list", "runs", "--study", "nothing"],
        &["delete", "2"],
        &["delete", "2", "--yes"],
        &["list", "runs"],
        &["report", "baseline", "--format", "csv", "--write", "points.csv"],
    ] {
        say(&mut told, home, arguments);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn runs_go_out_and_come_in() {
    let (home, other) = (home(), tempfile::tempdir().unwrap());
    let mut told = String::new();
    say(&mut told, home.path(), &["export", "1", "--write", "one.prony"]);
    say(&mut told, home.path(), &["export", "1", "--write", "one.prony"]);
    say(&mut told, home.path(), &["export", "last", "--format", "parquet", "--write", "tables"]);
    say(&mut told, home.path(), &["export", "last", "--format", "parquet", "--write", "tables"]);
    fs::copy(home.path().join("one.prony"), other.path().join("one.prony")).unwrap();
    let sysbench = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/foreign/sysbench-0.5.txt");
    fs::copy(sysbench, other.path().join("old.txt")).unwrap();
    let text = other.path().join("notes.txt");
    fs::write(&text, "nothing but words\n".repeat(100)).unwrap();
    for arguments in [
        &["import", "one.prony"][..],
        &["import", "one.prony"],
        &["list", "runs"],
        &["import", "notes.txt"],
        &["import", "gone.prony"],
        &["import", "sysbench"],
        &["import", "sysbench", "notes.txt"],
        &["import", "mysqlslap", "notes.txt", "--server", "a", "--server", "b"],
        &["import", "sysbench", "old.txt", "--measured", "yesterday"],
        &["import", "sysbench", "old.txt", "--measured", "2021-03-04"],
        &["list", "runs", "--until", "2022-01-01"],
    ] {
        say(&mut told, other.path(), arguments);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn runs_are_compared_and_followed() {
    let home = home();
    let mut told = String::new();
    for arguments in [
        &["compare", "1", "2"][..],
        &["history", "quickstart"],
        &["history", "quickstart", "--format", "markdown", "--metric", "throughput"],
        &["history", "nothing"],
        &["history", "quickstart", "--label", "nightly"],
        &["history", "quickstart", "--metric", "speed"],
    ] {
        say(&mut told, home.path(), arguments);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn charts_stand_as_pictures_beside_markdown() {
    let home = home();
    for (arguments, file) in [
        (&["report", "1"][..], "pool.md"),
        (&["history", "quickstart", "--metric", "throughput"], "nights.md"),
    ] {
        let arguments = [arguments, &["--format", "markdown", "--write", file]].concat();
        let output = prony(home.path(), &arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(home.path().join(file)).unwrap();
        let pictures: Vec<&str> =
            text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
        assert!(!pictures.is_empty(), "{text}");
        for picture in pictures {
            assert!(picture.starts_with(file.trim_end_matches("md").trim_end_matches('.')), "{picture}");
            let svg = fs::read_to_string(home.path().join(picture)).unwrap();
            assert!(svg.starts_with("<svg") && svg.contains("</text>"), "{picture}");
        }
    }
    let page = prony(home.path(), &["compare", "1", "2", "--format", "html"]).output().unwrap();
    // the heading has both languages
    let page = String::from_utf8_lossy(&page.stdout);
    let (_, heading) = page.split_once("<h1>").expect("a heading");
    let (heading, _) = heading.split_once("</h1>").expect("its end");
    assert!(heading.contains("Run 2 against run 1") && heading.contains("第 2 次运行"), "{heading}");
}

#[test]
fn mistakes_name_what_is_wrong_and_what_to_do() {
    let (home, empty) = (home(), tempfile::tempdir().unwrap());
    let mut told = String::new();
    for arguments in [&["report"][..], &["report", "last"], &["list", "runs"], &["history", "quickstart"]] {
        say(&mut told, empty.path(), arguments);
    }
    fs::write(home.path().join("words.txt"), "nothing but words\n".repeat(100)).unwrap();
    for arguments in [
        &["report", "7"][..],
        &["report", "nightly"],
        &["label", "7", "x"],
        &["label", "1", "12"],
        &["label", "1", "two words"],
        &["note", "nobody", "x"],
        &["delete", "1", "9", "--yes"],
        &["export", "9"],
        &["compare", "1", "9"],
        &["compare", "1"],
        &["report", "1", "--format", "pdf"],
        &["report", "1", "--language", "de"],
        &["report", "1", "--store", "words.txt"],
        &["list", "runs", "--store", "words.txt"],
        &["plan", "quickstrat"],
        &["plan", "quickstart", "--scale", "huge"],
        &["plan", "quickstart", "--set", "rowz=1000"],
        &["plan", "quickstart", "--set", "rows"],
        &["plan", "gone.toml"],
    ] {
        say(&mut told, home.path(), arguments);
    }
    insta::assert_snapshot!(told);
}

/// Holds the lock of a store that SQLite has for who writes, as another process would.
fn write_lock(home: &Path) -> rusqlite::Connection {
    let lock = rusqlite::Connection::open(home.join("data/prony/prony.sqlite")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    lock
}

#[test]
fn who_writes_waits_for_the_lock_of_another_process_and_who_reads_does_not() {
    let home = home();
    let lock = write_lock(home.path());
    let waiting = prony(home.path(), &["label", "1", "nightly"]).stdout(std::process::Stdio::piped()).spawn();
    for arguments in [&["list", "runs"][..], &["report", "1"], &["export", "1", "--write", "one.prony"]] {
        let output = prony(home.path(), arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    lock.execute_batch("ROLLBACK").unwrap();
    let output = waiting.unwrap().wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "run 1: nightly\n");
}

#[test]
#[ignore = "long: waits for 20 s in vain"]
fn a_store_that_stays_locked_is_named_and_nothing_is_lost() {
    let home = home();
    let lock = write_lock(home.path());
    let mut told = String::new();
    say(&mut told, home.path(), &["label", "1", "nightly"]);
    lock.execute_batch("ROLLBACK").unwrap();
    say(&mut told, home.path(), &["label", "1", "nightly"]);
    insta::assert_snapshot!(told);
}

#[test]
fn a_store_that_may_not_be_written_can_be_asked_and_its_runs_taken() {
    let (home, other) = (home(), tempfile::tempdir().unwrap());
    let directory = home.path().join("data/prony");
    let may = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let files = fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path());
    files.for_each(|file| may(&file, 0o444));
    may(home.path(), 0o755);
    may(&directory, 0o555);
    may(other.path(), 0o777);
    // nobody may do all that root may, and where programs are built only root may look
    let program = other.path().join("prony");
    fs::copy(env!("CARGO_BIN_EXE_prony"), &program).unwrap();
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.env_remove("XDG_DATA_HOME").env_remove("PRONY_STORE");
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        let output =
            command.args(arguments).current_dir(other.path()).env("HOME", other.path()).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), words + &String::from_utf8_lossy(&output.stdout))
    };
    let store = directory.join("prony.sqlite").display().to_string();
    for arguments in
        [&["list", "runs", "--store", &store][..], &["report", "1", "--store", &store], &["import", &store]]
    {
        let (code, words) = ask(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {words}");
    }
    let (code, words) = ask(&["label", "1", "nightly", "--store", &store]);
    assert!(code == Some(2) && words.contains("check its permissions"), "{code:?} {words}");
    // so that it can be removed by who is not root
    may(&directory, 0o755);
}

#[test]
fn who_only_asks_makes_no_store() {
    let empty = tempfile::tempdir().unwrap();
    for (arguments, code) in [
        (&["list", "runs"][..], 0),
        (&["report"], 2),
        (&["note", "last", "x"], 2),
        (&["history", "pool"], 2),
        (&["delete", "1", "--yes"], 2),
    ] {
        let output = prony(empty.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}

/// Every built-in study at each of its scales, as `prony plan` reads it out: each part is there, and nothing
/// is said twice or left empty.
#[test]
fn plans_of_the_built_in_studies_can_be_read_aloud() {
    let parts = [
        "\n\nServers",
        "\n\nData\n  ",
        "\n\nLoad\n  ",
        "\n\nTrials in order of execution\n  trial  \
        block",
    ];
    for study in prony::study::builtin() {
        for scale in ["quick", "bench", "published"] {
            let adjustments = prony::study::Adjustments {
                scale: Some(scale.to_owned()),
                ..prony::study::Adjustments::default()
            };
            let read = prony::study::parse(study.name, study.name, study.text, &adjustments);
            let read = read.unwrap_or_else(|mistakes| panic!("{mistakes}"));
            let text = prony::plan::render(
                &prony::plan::Plan::from_study(&read),
                prony::language::Language::English,
            );
            let name = format!("{} at {scale}", study.name);
            for part in parts {
                assert!(text.contains(part), "{name} has no {part:?}:\n{text}");
            }
            let lines: Vec<&str> = text.lines().collect();
            for (line, next) in lines.iter().zip(lines.iter().skip(1)) {
                assert!(line.is_empty() || line != next, "{name} says `{line}` twice");
                let is_head = line.ends_with(':');
                assert!(!is_head || next.starts_with("      "), "{name}: nothing follows `{line}`");
            }
            assert!(!text.contains(" 1 trials") && !text.contains(" 1 processors"), "{text}");
            assert!(text.lines().nth(4).is_some_and(|line| line.contains(" on disk, ")), "{text}");
        }
    }
}
