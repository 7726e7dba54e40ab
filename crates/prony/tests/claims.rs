//! What a study asks of its repeats and claims of its results, on a real server: exit codes, what is added,
//! what is said.

use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

const STUDY: &str = r#"
[server.mariadb]
product = "mariadb"
[settings]
innodb_buffer_pool_size = "32M"
[data]
rows = 200
[[stream]]
workload = "oltp_point_select"
[vary]
"stream.connections" = [1, 4]
[measure]
warm_up = "0s"
interval = "300ms"
"#;

fn prony(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments).current_dir(home);
    command.env("XDG_DATA_HOME", home.join("data")).env("XDG_STATE_HOME", home.join("state"));
    command.env_remove("PRONY_STORE").output().expect("prony starts")
}

fn study(home: &Path, more: &str) {
    fs::write(home.join("study.toml"), format!("{STUDY}{more}")).expect("the study is written");
}

fn json(output: &Output) -> Value {
    let shown = || String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", shown()))
}

#[test]
fn the_exit_code_follows_the_claims() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let holds = "[[claim]]\nsays = \"It does something.\"\nvalue = \"> 1\"\n[[claim]]\nsays = \"Nothing \
                 fails.\"\nmetric = \"errors\"\nvalue = \"< 50%\"\n";
    let open =
        "[[claim]]\nsays = \"About what is at another scale.\"\nof = { connections = 64 }\nvalue = \"> 1\"\n";
    let fails = "[[claim]]\nsays = \"It does wonders.\"\nof = { connections = \"highest\" }\nvalue = \">= \
                 1_000_000_000 /s\"\n";
    let more = "[scale.big]\nvary.\"stream.connections\" = [64]\n";

    study(home, &format!("repeats = 2\n{holds}{open}{more}"));
    let output = prony(home, &["run", "study.toml", "--check", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document = json(&output);
    assert_eq!(document["claims"][0]["verdict"], "supported");
    assert_eq!(document["claims"][0]["parts"].as_array().map(Vec::len), Some(2), "one for each combination");

    study(home, &format!("repeats = 2\n{open}{fails}{more}"));
    let output = prony(home, &["run", "study.toml", "--check"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(
        words.contains("2 claims: 0 supported, 1 refuted, 0 open, 1 not tested at this scale"),
        "{words}"
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("refuted: It does wonders."), "{text}");
    let report = prony(home, &["report", "--check", "--language", "zh"]);
    assert_eq!(report.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&report.stdout).contains("不成立"));

    // where nothing else is claimed, nothing was shown
    study(home, &format!("repeats = 1\n{open}{more}"));
    assert_eq!(prony(home, &["run", "study.toml", "--check"]).status.code(), Some(4));
    study(home, "");
    let output = prony(home, &["run", "study.toml", "--check"]);
    assert_eq!(output.status.code(), Some(2), "there is nothing to check");
}

#[test]
fn repeats_are_added_for_precision_and_servers_restarted_on_the_way() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    study(home, "repeats = 2\nrestarts = 2\nprecision = \"0.01%\"\nrepeats_max = 3\nrepeat_invalid = 0\n");
    let output = prony(home, &["run", "study.toml", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document = json(&output);
    let blocks: Vec<u64> =
        document["trials"].as_array().unwrap().iter().filter_map(|trial| trial["block"].as_u64()).collect();
    assert_eq!(blocks, [0, 0, 1, 1, 2, 2]);
    assert!(document["run"]["complete"].as_bool().unwrap());
    assert_eq!(document["run"]["trials_planned"], 6);
    let told = document["conduct"].to_string();
    assert!(told.contains("2 combinations: 3 repeats, the most allowed"), "{told}");
    let again = prony(home, &["run", "study.toml", "--resume"]);
    assert_eq!(again.status.code(), Some(2), "nothing is missing");
}

#[test]
fn an_invalid_trial_is_repeated_once_and_both_are_told() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let wrong = STUDY.replace("oltp_point_select", "wrong").replace("[1, 4]", "[1]");
    // the server prepares it, and finds out when it is executed that it has more than one row
    let wrong =
        format!("{wrong}repeats = 1\n[workload.wrong]\nstatements = [\"SELECT (SELECT id FROM sbtest1)\"]\n");
    fs::write(home.join("study.toml"), wrong).unwrap();
    let output = prony(home, &["run", "study.toml", "--json"]);
    let document = json(&output);
    assert_eq!(document["trials"].as_array().map(Vec::len), Some(2), "{}", document["trials"]);
    let told = document["conduct"].to_string();
    assert!(told.contains("Trial 1 failed or was invalid and was repeated as trial 2."), "{told}");
}

/// An objective that any server keeps until it is asked for more than it can do, so that a busy machine
/// changes the rate and nothing else.
const SEARCH: &str = r#"
[server.mariadb]
product = "mariadb"
[settings]
innodb_buffer_pool_size = "32M"
[data]
rows = 200
[[stream]]
workload = "oltp_point_select"
connections = 2
rate = "find"
objective = "mean < 2s"
[measure]
warm_up = "0s"
interval = "200ms"
repeats = 1
repeat_invalid = 0
[[claim]]
says = "It bears one per second."
metric = "rate"
value = ">= 1 /s"
"#;

#[test]
fn a_trial_searches_its_rate_and_keeps_how() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("study.toml"), SEARCH).expect("the study is written");
    let document = json(&prony(home, &["run", "study.toml", "--json"]));
    let rate = &document["rates"][0];
    assert_eq!(rate["objective"], "mean < 2s", "{document:#}");
    let found = rate["rate_per_second"]["value"].as_f64().expect("a rate");
    let loads = rate["searches"][0]["loads"].as_array().expect("loads");
    assert!(found >= 1.0 && loads.len() >= 3, "{rate:#}");
    assert!(loads.iter().all(|load| load["offered_per_second"].as_f64().is_some()));
    assert_eq!(document["trials"].as_array().map(Vec::len), Some(1), "loads of a search are no trials");
    assert_eq!(document["claims"][0]["metric"], "rate");
    let again = json(&prony(home, &["report", "last", "--format", "json"]));
    assert_eq!(again["rates"], document["rates"], "the store has all of it");
}
