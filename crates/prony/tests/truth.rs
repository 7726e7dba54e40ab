//! Whether verdicts are true on real servers: a server against itself is not called different, one that is
//! given more work is found, and two runs of the same are the same. The long tests print the rates that
//! docs/statistics.md has; run them on a machine that does nothing else.

use serde_json::Value;
use std::{
    path::Path,
    process::{Command, Output},
};

/// Two servers that are the same, twice as many trials as a hasty user would make, each as short as can be.
const STUDY: &str = r#"
title = "A server against itself"
[server.a]
product = "mariadb"
version = "10.11"
[server.b]
product = "mariadb"
version = "10.11"
[data]
rows = 5000
[[stream]]
workload = "oltp_point_select"
connections = 4
[measure]
warm_up = "500ms"
interval = "2s"
repeats = 4
"#;

/// Two servers, of which the second is farther away by a tenth of what a transaction takes: with 1 ms of
/// network a query takes about 1.1 ms.
const SLOWED: &str = r#"
title = "A server slowed on purpose"
[server.a]
product = "mariadb"
version = "10.11"
latency = "1ms"
[server.b]
product = "mariadb"
version = "10.11"
latency = "1.12ms"
[data]
rows = 5000
[[stream]]
workload = "oltp_point_select"
connections = 4
[measure]
warm_up = "500ms"
interval = "2s"
repeats = 4
"#;

fn prony(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_STATE_HOME", home.join("state"))
        .env("PRONY_STORE", home.join("runs.sqlite"))
        .current_dir(home)
        .output()
        .expect("prony starts")
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A run of the study, and its report.
fn report(home: &Path, study: &str, seed: u32) -> Value {
    let file = home.join("study.toml");
    std::fs::write(&file, study).expect("writable");
    let seed = format!("seed={seed}");
    let run = prony(home, &["run", "study.toml", "--set", &seed, "--json"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    json(&prony(home, &["report", "--format", "json"]))
}

fn verdict(one: &Value) -> &str {
    one["verdict"].as_str().expect("a verdict")
}

fn differs(one: &Value) -> bool {
    ["better", "worse"].contains(&verdict(one))
}

/// The comparison of throughput.
fn throughput(report: &Value) -> Value {
    let comparisons = report["comparisons"].as_array().expect("a list");
    comparisons.iter().find(|one| one["metric"] == "throughput").expect("one").clone()
}

fn told(one: &Value) -> String {
    let ratio = &one["ratio"];
    let detectable = &one["detectable"];
    format!(
        "ratio {} ({} to {}), {}; would have seen {detectable}",
        ratio["value"],
        ratio["low"],
        ratio["high"],
        verdict(one)
    )
}

#[test]
fn two_runs_of_the_same_are_compared_with_what_differs_between_them() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let short =
        STUDY.replace("interval = \"2s\"", "interval = \"500ms\"").replace("repeats = 4", "repeats = 2");
    report(home, &short, 1);
    report(home, &short.replace("rows = 5000", "rows = 6000"), 2);
    let compared = json(&prony(home, &["compare", "1", "2", "--format", "json"]));
    let comparisons = compared["comparisons"].as_array().expect("a list");
    assert_eq!(comparisons.len(), 2 * 3, "two servers, three metrics");
    for one in comparisons {
        assert_eq!(one["base_server"], one["server"]);
        assert!(one["ratio"]["value"].as_f64().expect("a ratio") > 0.0);
        assert!(one["ratio"]["low"].is_number(), "an interval from two repeats each: {one}");
    }
    let differences = compared["differences"].as_array().expect("a list");
    let rows = differences.iter().find(|one| one["what"].as_str().expect("text").ends_with(".rows"));
    let rows = rows.unwrap_or_else(|| panic!("{differences:?}"));
    assert_eq!(
        (rows["of"].as_str(), rows["base"].as_str(), rows["run"].as_str()),
        (Some("study"), Some("5000"), Some("6000"))
    );
    assert!(!differences.iter().any(|one| one["of"] == "machine"), "{differences:?}");
    let of_a_start = |one: &Value| one["run"].as_str().is_some_and(|value| value.contains("/instances/"));
    assert!(!differences.iter().any(of_a_start), "each start has a directory of its own: {differences:?}");

    let text = prony(home, &["compare", "1", "2"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("Throughput, transactions per second") && text.contains("rows"), "{text}");
    let markdown = prony(home, &["compare", "1", "2", "--format", "markdown", "--language", "zh"]);
    assert!(String::from_utf8_lossy(&markdown.stdout).contains("| 组合 |"));
    let itself = json(&prony(home, &["compare", "2", "2", "--check", "--format", "json"]));
    assert!(itself["comparisons"].as_array().expect("a list").iter().all(|one| one["ratio"]["value"] == 1.0));
    assert_eq!(itself["differences"].as_array().map(Vec::len), Some(0));
    let missing = prony(home, &["compare", "1", "9"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("prony list runs"), "{missing:?}");
}

#[test]
#[ignore = "long: 20 runs of a server against itself, 10 minutes; needs a machine that does nothing else"]
fn a_server_against_itself_is_not_called_different() {
    let home = tempfile::tempdir().expect("a directory");
    let (mut different_runs, mut different, mut all) = (0, 0, 0);
    for seed in 1..=20 {
        let report = report(home.path(), STUDY, seed);
        let comparisons = report["comparisons"].as_array().expect("a list");
        let throughput = throughput(&report);
        different_runs += u32::from(differs(&throughput));
        different += comparisons.iter().filter(|one| differs(one)).count();
        all += comparisons.len();
        println!("run {seed}: {}", told(&throughput));
    }
    println!(
        "A/A: throughput called different in {different_runs} of 20 runs; of all metrics {different} of \
         {all}"
    );
    assert!(different_runs <= 2, "{different_runs} of 20");
    assert!(different <= 6, "{different} of {all}");
}

#[test]
#[ignore = "long: 5 runs, 3 minutes; needs a machine that does nothing else"]
fn a_server_that_is_slowed_by_a_tenth_is_found() {
    let home = tempfile::tempdir().expect("a directory");
    let mut found = 0;
    for seed in 1..=5 {
        let throughput = throughput(&report(home.path(), SLOWED, seed));
        found += u32::from(verdict(&throughput) == "worse");
        println!("run {seed}: {}", told(&throughput));
    }
    println!("slowed by a tenth: found in {found} of 5 runs");
    assert!(found >= 4, "{found} of 5");
}
