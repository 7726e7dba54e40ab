//! Words of others on the way to the terminal and into reports: nothing in them acts.

use crate::{
    program::{Ended, Home},
    server::{Answer, Fault, Hostile, refusal},
};
use std::fs;

/// Clears the screen, rings, ends a C string, moves the cursor (C1), turns the text around.
const WORDS: &str = "\u{1b}[2J\u{7}\0\u{9b}1;1H\u{202e}abc\u{7f}";
const SHOWN: &str = r"\u001b[2J\u0007\u0000\u009b1;1H\u202eabc\u007f";

/// Nothing that was said acts, and the words are shown.
fn check(ended: &Ended, shown: &str) {
    for bytes in [&ended.out, &ended.err] {
        let text = String::from_utf8_lossy(bytes);
        let acting = text.chars().find(|each| *each != '\n' && (each.is_control() || *each == '\u{202e}'));
        assert_eq!(acting, None, "{text:?}");
    }
    assert!(ended.said().contains(shown), "{}", ended.said());
}

#[test]
fn words_of_a_server_are_shown_and_do_not_act() {
    let home = Home::new();
    let load = |server: &Hostile| home.prony(&["load", "oltp_point_select", "--url", &server.url()]);
    check(&load(&Hostile::new(Fault::Says(refusal(WORDS.as_bytes())))), SHOWN);
    let refuses = Hostile::answering(|_| Answer::Error(1105, WORDS.to_owned()));
    check(&home.prony(&["prepare", "oltp_point_select", "--rows=10", "--url", &refuses.url()]), SHOWN);
    // the name of a plug-in ends with its NUL
    let name = WORDS.replace('\0', "");
    let plugin: &'static [u8] = name.leak().as_bytes();
    check(&load(&Hostile::new(Fault::Switches(plugin, Vec::new()))), &SHOWN.replace(r"\u0000", ""));
}

#[test]
fn words_of_a_study_and_of_file_names_are_shown_and_do_not_act() {
    let home = Home::new();
    let toml = WORDS.chars().map(|each| format!("\\u{:04x}", u32::from(each))).collect::<String>();
    let study = |title: &str, rest: &str| {
        format!(
            "title = \"{title}\"\n[server.a]\nproduct = \"mariadb\"\n[data]\nrows = 10\n[[stream]]\n\
             workload = \"oltp_point_select\"\nconnections = 1\n{rest}"
        )
    };
    home.file("study.toml", &study(&toml, ""));
    check(&home.prony(&["plan", "study.toml"]), SHOWN);
    let json = home.prony(&["plan", "study.toml", "--json"]);
    check(&json, SHOWN);
    let plan: serde_json::Value = serde_json::from_slice(&json.out).expect("still JSON");
    assert_eq!(plan["title"], WORDS, "JSON says what the study says");
    let name = "st\u{1b}[2Judy.toml";
    home.file(name, &study("t", "[measure]\nnonsense = 1\n"));
    let ended = home.prony(&["plan", name]);
    assert_eq!(ended.code, Some(2));
    check(&ended, "nonsense");
}

#[test]
fn what_a_damaged_store_holds_is_not_quoted_raw() {
    let home = Home::new();
    let store = home.path().join("st\u{1b}[2Jore.sqlite");
    fs::write(
        &store,
        [b"SQLite format 3\0".as_slice(), &[0x1b, b'[', b'2', b'J', 0xff, 7, 0].repeat(600)].concat(),
    )
    .expect("a file");
    let path = store.to_str().expect("text");
    for command in [vec!["import", path], vec!["report", "--output", path]] {
        let ended = home.prony(&command);
        assert_ne!(ended.code, Some(0));
        check(&ended, r"st\u001b[2Jore");
    }
}
