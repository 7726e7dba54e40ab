//! Directories with a line break in their name: what cannot be there is refused in one line, and nothing that
//! is printed breaks a line of its own accord.

use crate::program::{Ended, Home, start, wait, with_servers};
use std::{fs, process::Command};

const BROKEN: &str = "two\nlines";

fn ended(command: &mut Command) -> Ended {
    let ended = wait(start(command));
    assert!(!ended.said().contains(BROKEN), "{}", ended.said());
    ended
}

fn names(home: &Home) -> Vec<String> {
    let entries = home.path().read_dir().expect("a directory").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

const STUDY: &str = r#"
title = "Lines"
[server.a]
product = "mariadb"
version = "10.11"
[data]
rows = 200
[[stream]]
workload = "oltp_point_select"
connections = 1
[measure]
warm_up = "0s"
interval = "1s"
repeats = 1
settle = "0s"
"#;

#[test]
fn a_store_whose_path_has_a_line_break_is_refused_before_anything_begins() {
    let home = Home::new();
    home.file("study.toml", STUDY);
    for arguments in [&["run", "study.toml"][..], &["list", "runs"], &["report"], &["history", "lines"]] {
        for by_flag in [true, false] {
            let mut command = home.command(arguments);
            if by_flag {
                command.args(["--store", BROKEN]);
            } else {
                command.env("PRONY_STORE", format!("{BROKEN}.sqlite"));
            }
            let ended = ended(&mut command);
            let said = ended.said();
            assert_eq!(ended.code, Some(2), "{arguments:?}: {said}");
            let words = ["the path of the store contains a line break", r"two\nlines", "--store"];
            assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
        }
    }
    assert!(!names(&home).iter().any(|name| name.contains('\n')), "{:?}", names(&home));
}

#[test]
fn a_data_directory_whose_path_has_a_line_break_is_refused_and_not_made() {
    let home = Home::new();
    let below = home.path().join(BROKEN);
    fs::create_dir(&below).expect("a directory");
    // in its own name, in that of the directory above, and in that of Prony's own state
    for (data, state) in [(BROKEN, "state"), ("data", "state"), ("", BROKEN)] {
        let mut command = home.command(&["server", "start", "mariadb-10.11"]);
        with_servers(&mut command);
        command.env("XDG_STATE_HOME", home.path().join(state));
        if !data.is_empty() {
            command.args(["--data", data]);
            command.current_dir(if data == BROKEN { home.path() } else { &below });
        }
        if data == BROKEN {
            fs::remove_dir(&below).expect("an empty directory");
        }
        let ended = ended(&mut command);
        let said = ended.said();
        assert_eq!(ended.code, Some(2), "{data:?}: {said}");
        let words = ["the path contains a line break", r"two\nlines", "choose another directory"];
        assert!(words.iter().all(|word| said.contains(word)), "{data:?}: {said}");
        assert!(!below.join("data").exists() && (data != BROKEN || !below.exists()), "{data:?}");
        fs::create_dir_all(&below).expect("a directory");
    }
}

#[test]
fn a_run_in_a_directory_with_a_line_break_in_its_name_is_done() {
    let home = Home::new();
    let below = home.path().join(BROKEN);
    fs::create_dir(&below).expect("a directory");
    fs::write(below.join("study.toml"), STUDY).expect("a file");
    let mut command = home.command(&["run", "study.toml", "--store", "kept"]);
    with_servers(&mut command);
    let ended = ended(command.current_dir(&below));
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(ended.said().contains(r"two\nlines/kept/prony-study-1.html"), "{}", ended.said());
    assert!(below.join("kept/prony-study-1.html").is_file());
}
