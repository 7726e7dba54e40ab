//! What is kept: texts that are code elsewhere, two runs in one store, a store that cannot be, a full disk.

use crate::{
    program::{self, Home},
    support::{disk::Disk, stored::first_format},
};
use std::fs;

#[test]
fn a_note_that_is_code_is_text_in_every_report() {
    let home = Home::new();
    let store = first_format(home.path());
    let said = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("PRONY_STORE", &store);
        let ended = program::wait(program::start(&mut command));
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.said());
        String::from_utf8(ended.out).expect("text")
    };
    let code = "</script><script>alert(1)</script>\"'&<img src=x onerror=alert(2)>";
    said(&["note", "last", code]);
    let html = said(&["report", "--format", "html"]);
    for part in ["<script>alert", "<img src=x"] {
        assert!(!html.contains(part), "{part} is in the report as it is");
    }
    assert!(html.contains("alert(1)"), "the note is in the report");
    let label = home.prony(&["label", "last", "<script>"]);
    assert_eq!(label.code, Some(2), "{}", label.said());
}

const STUDY: &str = r#"
title = "Beside another"
[server.a]
product = "mariadb"
version = "10.11"
[data]
rows = 200
[[stream]]
workload = "oltp_point_select"
[vary]
"stream.connections" = [1, 2]
[measure]
warm_up = "0s"
interval = "INTERVAL"
repeats = REPEATS
repeat_invalid = 0
settle = "0s"
"#;

/// Two runs at the same time in one store, and what both of them said.
fn two_runs(interval: &str, repeats: &str) {
    let home = Home::new();
    let study = STUDY.replace("INTERVAL", interval).replace("REPEATS", repeats);
    let begin = |name: &str| {
        home.file(&format!("{name}.toml"), &study);
        let mut command =
            home.command(&["run", &format!("{name}.toml"), "--report", &format!("{name}.html")]);
        program::with_servers(&mut command);
        program::start(&mut command)
    };
    let both = [begin("one"), begin("two")];
    for ended in both.map(program::wait) {
        assert_eq!(ended.code, Some(0), "{}", ended.said());
    }
    let list = home.prony(&["list", "runs"]);
    assert_eq!(list.said().matches("complete").count(), 2, "{}", list.said());
    for run in ["1", "2"] {
        assert_eq!(home.prony(&["report", run]).code, Some(0));
    }
    let left: Vec<_> = fs::read_dir(home.path().join("DATA/prony"))
        .expect("a directory")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("-run-"))
        .collect();
    assert!(left.is_empty(), "leases stay: {left:?}");
    assert!(program::servers_in(home.path()).is_empty());
}

#[test]
fn two_runs_share_a_store() {
    two_runs("400ms", "2");
}

#[test]
#[ignore = "long: a minute"]
fn two_runs_share_a_store_for_long() {
    two_runs("1s", "30");
}

#[test]
fn a_home_that_cannot_be_written_is_named_before_anything_is_started() {
    let home = Home::new();
    // also root cannot make a directory below a file
    let file = home.file("file", "");
    home.file("study.toml", &STUDY.replace("INTERVAL", "1s").replace("REPEATS", "1"));
    for name in ["DATA", "STATE"] {
        let mut command = home.command(&["run", "study.toml"]);
        program::with_servers(&mut command);
        command.env(format!("XDG_{name}_HOME"), &file);
        let ended = program::wait(program::start(&mut command));
        assert_eq!(ended.code, Some(2), "{}", ended.said());
        assert!(ended.said().contains(&*file.to_string_lossy()), "{}", ended.said());
    }
}

#[test]
fn a_disk_that_is_full_before_the_first_trial_ends_a_run_that_began() {
    let home = Home::new();
    let Some(disk) = Disk::mounted(home.path().join("disk"), "2m") else { return };
    let path = disk.path();
    home.file("study.toml", &STUDY.replace("INTERVAL", "1s").replace("REPEATS", "1"));
    let mut command = home.command(&["run", "study.toml", "--output", &path.to_string_lossy()]);
    program::with_servers(&mut command);
    let running = program::start(&mut command);
    let begun = std::time::Instant::now();
    // the server comes up, so the run is in the store
    while program::servers_in(home.path()).is_empty() {
        assert!(begun.elapsed().as_secs() < 100, "no server is started");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // until not even a byte more fits
    let _ = fs::write(path.join("filler"), vec![1_u8; 4 << 20]);
    let ended = program::wait(running);
    fs::remove_file(path.join("filler")).expect("the filler");
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    for words in ["no space left for the store", "--resume"] {
        assert!(ended.said().contains(words), "{}", ended.said());
    }
    let mut command = home.command(&["run", "study.toml", "--resume", "--output", &path.to_string_lossy()]);
    program::with_servers(&mut command);
    let ended = program::wait(program::start(&mut command));
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    // beside the store, as --help says
    assert!(path.join("prony-study-1.html").is_file(), "{}", ended.said());
}
