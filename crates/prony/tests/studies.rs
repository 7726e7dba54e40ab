//! The built-in studies that repeat published evaluations, carried out on real servers: two of them and one
//! in rotation as short as can be, each at its scale `quick` among the long tests. That all of them can be
//! planned at every scale is tested beside what reads them (`study::tests`, `keep`).

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
}

use prony::{
    published,
    study::{self, Adjustments},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};
use support::require::{Need, require};

/// Those that only some days run in `make test`; the others do so every time.
const ROTATION: [&str; 6] =
    ["connection-modes", "generations", "instance-sizes", "scan-and-index", "strong-sync", "threadpool"];

/// Each combination once, and for a moment.
const SHORT: [&str; 5] = [
    "measure.repeats=1",
    "measure.warm_up=100ms",
    "measure.interval=500ms",
    "measure.settle=0s",
    "measure.repeat_invalid=0",
];

/// The report of a study at its scale `quick`, with these keys set; an error: this machine has no cgroups,
/// which it needs.
fn carried_out(name: &str, set: &[&str]) -> Result<Value, String> {
    let home = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["run", name, "--scale", "quick", "--json"]).current_dir(home.path());
    command.args(set.iter().flat_map(|set| ["--set", set]));
    command.env("XDG_DATA_HOME", home.path().join("data")).env_remove("PRONY_STORE");
    let output = command.env("XDG_STATE_HOME", home.path().join("state")).output().expect("prony starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && told.contains("systemd-run") {
        return Err(told);
    }
    assert_eq!(output.status.code(), Some(0), "{name}: {told}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(document["run"]["complete"], true, "{name}: {told}");
    assert_eq!(document["run"]["trials_failed"], 0, "{name}: {told}");
    let measured = document["points"].as_array().expect("points").iter();
    assert!(measured.clone().all(|point| point["trials"].as_u64() > Some(0)), "{name}: {told}");
    Ok(document)
}

/// The number behind a path of keys.
fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {value:#}"))
}

#[test]
fn the_background_is_sampled_alone_and_a_task_that_is_stopped_is_extrapolated() {
    let document = carried_out("background-pressure", &SHORT).expect("no limits are asked for");
    for one in document["resources"].as_array().expect("resources") {
        let (alone, with) = (number(one, "/alone/cpu_idle"), number(one, "/sampled/cpu_idle"));
        assert!((0.0..=1.0).contains(&alone) && (0.0..=1.0).contains(&with), "{one:#}");
    }
    let tasks = document["points"].as_array().expect("points").iter();
    let stopped: Vec<&Value> =
        tasks.filter(|point| point["limit"]["extrapolated"].as_u64() > Some(0)).collect();
    assert!(!stopped.is_empty(), "half a second is too short for 20,000 rows beside 25 writers");
    for point in stopped {
        // so many rows in half a second, at the rate that was reached
        let (seconds, rate) = (number(point, "/limit/seconds/value"), number(point, "/rows_per_second"));
        assert!(seconds > 0.45 && (seconds * rate / 20_000.0 - 1.0).abs() < 0.01, "{point:#}");
    }
}

#[test]
fn operations_run_in_sequence_beside_one_reader_for_each_table() {
    let set = ["measure.repeats=1", "data.rows=2000", "measure.repeat_invalid=0"];
    let limits =
        ["insert", "select", "update", "delete"].map(|one| format!("stream.{one}.limit=2000 transactions"));
    let set: Vec<&str> = set.into_iter().chain(limits.iter().map(String::as_str)).collect();
    let document = carried_out("many-tables", &set).expect("no limits are asked for");
    for point in document["points"].as_array().expect("points") {
        if point["stream"] == "readers" {
            assert_eq!(point["connections"], 10);
            continue;
        }
        assert_eq!((&point["limit"]["reached"], &point["limit"]["extrapolated"]), (&1.into(), &0.into()));
        assert_eq!(number(point, "/error_share"), 0.0, "{point:#}");
    }
}

/// Which one's turn it is.
fn of_today() -> &'static str {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400);
    ROTATION[days as usize % ROTATION.len()]
}

#[test]
fn the_study_whose_turn_it_is_can_be_carried_out() {
    let name = of_today();
    let Some(document) = require(Need::ControlGroups, carried_out(name, &SHORT)) else { return };
    assert_eq!(document["run"]["name"], name);
    assert!(!document["claims"].as_array().expect("claims").is_empty());
}

#[test]
fn every_published_evaluation_has_its_turn() {
    let mut all: Vec<&str> = published::studies().collect();
    all.retain(|name| !["background-pressure", "many-tables"].contains(name));
    all.sort_unstable();
    assert_eq!(all, ROTATION);
}

#[test]
#[ignore = "long: each study of another kind for a moment, its loads shared by two processes"]
fn studies_of_each_kind_can_be_carried_out_in_two_parts() {
    // closed and open loops, limits, streams that wait for others, a mix with think times, a user's tables
    for name in ["background-pressure", "many-tables", "scan-and-index", "threadpool", "tpcc", "own-schema"] {
        let mut set = SHORT.into_iter().chain(["load.processes=2"]).collect::<Vec<_>>();
        if name == "many-tables" {
            // one after another, its operations need a while
            set.retain(|set| !set.starts_with("measure.interval"));
        }
        let Some(document) = require(Need::ControlGroups, carried_out(name, &set)) else { continue };
        let points = document["points"].as_array().expect("points");
        let is_broken = |point: &&Value| number(point, "/error_share") > 0.5;
        assert!(!points.iter().any(|point| is_broken(&point)), "{name}: {points:?}");
        let conduct = document["conduct"].to_string();
        // where only one connection works, one process is enough
        let shared = ["produced the load (2)", "produced the load (1, 2)"];
        assert!(shared.iter().any(|words| conduct.contains(words)), "{name}: {conduct}");
    }
}

/// Whether programs or machines beside took so much of most points that an effect may drown in it, or a
/// server stood still for a second or more (MariaDB with a small pool does now and then), as the run itself
/// says.
fn is_disturbed(document: &Value) -> bool {
    let points = document["points"].as_array().expect("points");
    let with = |ids: &[&str]| {
        let has = |doubt: &Value| ids.iter().any(|id| doubt["id"] == *id);
        points
            .iter()
            .filter(|point| point["doubts"].as_array().is_some_and(|all| all.iter().any(has)))
            .count()
    };
    with(&["other_load", "steal"]) * 2 > points.len() || with(&["standstill"]) > 0
}

/// Carries a study out at `quick`, which must decide each of these conclusions even on two processors: one of
/// its claims at least is supported or refuted.
fn decides(name: &str, conclusions: &[&str]) {
    let Some(document) = require(Need::ControlGroups, carried_out(name, &[])) else { return };
    let text = study::builtin().iter().find(|study| study.name == name).expect("built in").text;
    let scale = Adjustments { scale: Some("quick".to_owned()), ..Adjustments::default() };
    let claims =
        study::parse(name, name, text, &scale).unwrap_or_else(|mistakes| panic!("{mistakes}")).claims;
    let mut verdicts = BTreeMap::<String, Vec<&str>>::new();
    for (claim, judged) in claims.iter().zip(document["claims"].as_array().expect("claims")) {
        assert_eq!(judged["says"], claim.says.as_str());
        let verdict = judged["verdict"].as_str().expect("a verdict");
        verdicts.entry(claim.conclusion.clone().unwrap_or_default()).or_default().push(verdict);
    }
    let is_disturbed = is_disturbed(&document);
    for conclusion in conclusions {
        let is_decided = verdicts[*conclusion].iter().any(|verdict| *verdict != "open");
        assert!(is_decided || is_disturbed, "{name}: {conclusion} is open: {}", document["claims"]);
    }
}

#[test]
#[ignore = "long: a study at its scale quick"]
fn background_pressure_decides() {
    decides("background-pressure", &["B1", "B2", "B6"]);
}

#[test]
#[ignore = "long: a study at its scale quick"]
fn connection_modes_decides() {
    decides("connection-modes", &["C1", "C2", "C3"]);
}

#[test]
#[ignore = "long: a study at its scale quick"]
fn generations_decides() {
    decides("generations", &["G4"]);
}

#[test]
#[ignore = "long: a study at its scale quick"]
fn instance_sizes_decides() {
    decides("instance-sizes", &["I1"]);
}

#[test]
#[ignore = "long: a study at its scale quick"]
fn many_tables_decides() {
    decides("many-tables", &["M4"]);
}

#[test]
#[ignore = "long: a study at its scale quick"]
fn scan_and_index_decides() {
    decides("scan-and-index", &["S2", "S6"]);
}

#[test]
#[ignore = "long: a study at its scale quick"]
fn strong_sync_decides() {
    decides("strong-sync", &["R1"]);
}

#[test]
#[ignore = "long: a study at its scale quick"]
fn threadpool_decides() {
    decides("threadpool", &["T1", "T4"]);
}
