//! The command as its user meets it: results, messages, exit codes, and what it leaves behind.

mod support {
    pub(crate) mod server;
}

use load::{
    null::NullServer,
    spec::{Address, Target},
};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};
use support::server::{mariadb, processes_of};

/// The target as a URL, with its password.
fn url(target: &Target, database: &str) -> String {
    let Address::Tcp { host, port } = &target.address else { panic!("{:?} is not TCP", target.address) };
    format!("mysql://{}:{}@{host}:{port}/{database}", target.user, target.password.reveal())
}

/// Prony with a home of its own but for the cache of servers.
fn prony(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command
        .args(arguments)
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_STATE_HOME", home.join("state"))
        .env_remove("PRONY_URL")
        .env_remove("PRONY_PASSWORD")
        .env_remove("PRONY_STORE")
        .current_dir(home);
    command
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn output(home: &Path, arguments: &[&str]) -> Output {
    prony(home, arguments).output().expect("prony starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// That the command fails before it begins, with one message that holds these words.
fn refused(arguments: &[&str], words: &[&str]) -> String {
    let home = home();
    let output = output(home.path(), arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{}", stdout(&output));
    for word in words {
        assert!(message.contains(word), "{arguments:?}: `{word}` is not in: {message}");
    }
    message
}

/// A study with workloads of its own.
const WRITTEN: &str = r#"
[server.mariadb]
product = "mariadb"
[data]
rows = 1000
[[stream]]
connections = 1
[workload.reads]
statements = ["SELECT c FROM sbtest{table} WHERE id = {id}"]
[[workload.reads_and_writes.transaction]]
name = "read"
statements = ["SELECT c FROM sbtest{table} WHERE id = {id}"]
[[workload.reads_and_writes.transaction]]
name = "write"
statements = ["UPDATE sbtest{table} SET k = k + 1 WHERE id = {id}"]
[vary]
"stream.workload" = ["reads", "reads_and_writes", "oltp_point_select"]
[measure]
interval = "1s"
"#;

/// The figures of a load; a busy machine may make them invalid, which the exit code says.
fn judged(output: &Output) -> Value {
    let figures: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)));
    let code = i32::from(figures["verdict"] == "invalid");
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    figures
}

const STUDY: &str = r#"
title = "Small"
[server.a]
product = "mariadb"
version = "10.11"
[server.b]
product = "mariadb"
version = "10.11"
settings = { thread_handling = "pool-of-threads" }
[data]
rows = 2000
[[stream]]
workload = "oltp_point_select"
[vary]
server = ["a", "b"]
"stream.connections" = [1, 4]
[measure]
warm_up = "100ms"
interval = "500ms"
repeats = 2
"#;

#[test]
fn a_load_on_a_server_that_knows_nothing_but_the_protocol_yields_one_json_object() {
    let server = NullServer::start(0).expect("a port");
    let url = format!("mysql://user@{}/test", server.address());
    let home = home();
    let arguments = [
        "load",
        "oltp_point_select",
        "--url",
        &url,
        "--connections",
        "8",
        "--duration",
        "1s",
        "--warm-up",
        "0s",
        "--json",
    ];
    let output = output(home.path(), &arguments);
    let figures = judged(&output);
    let number =
        |path: &str| figures.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}"));
    assert_eq!(number("/statements_per_second"), number("/statements") / number("/interval_s"));
    assert!(number("/transactions_per_second") > 100.0);
    assert_eq!(number("/streams/0/rows"), number("/statements"));
    assert_eq!(number("/errors"), 0.0);
    assert_eq!(number("/streams/0/connections_opened"), 8.0);
    for kind in ["response", "service"] {
        let of = |name: &str| number(&format!("/streams/0/latency/{kind}/{name}"));
        assert!(of("p50_ms") > 0.0 && of("p50_ms") <= of("p95_ms") && of("p95_ms") <= of("p99_ms"));
        assert!(
            of("p99_ms") <= of("p99.9_ms") && of("p99.9_ms") <= of("max_ms") && of("mean_ms") < of("max_ms")
        );
    }
    assert!(number("/client_cpu_s") > 0.0 && number("/client_memory_bytes_max") > 1e6);
    assert!(server.statements() as f64 >= number("/statements"));
}

/// The figures of a load on the null server with these flags.
fn figures(home: &Path, server: &NullServer, flags: &[&str]) -> Value {
    let url = format!("mysql://user@{}/test", server.address());
    let fixed = ["load", "oltp_point_select", "--url", &url, "--json", "--warm-up", "200ms"];
    judged(&output(home, &[&fixed, flags].concat()))
}

#[test]
fn every_kind_of_load_says_what_was_offered_and_what_came_of_it() {
    let server = NullServer::start(0).expect("a port");
    let home = home();
    let load = |flags: &str| figures(home.path(), &server, &flags.split(' ').collect::<Vec<_>>());
    let open = load("-c 8 -t 2s --rate 200 --gaps constant");
    let schedule = &open["streams"][0]["schedule"];
    assert_eq!(schedule["offered"], 400, "{schedule}");
    let count = |name: &str| schedule[name].as_u64().expect("a count");
    let due = count("backlog") + count("offered");
    assert_eq!(due, count("started") + count("skipped") + count("never_sent"));
    assert_eq!(open["streams"][0]["arrival"], "open loop at 200/s, constant gaps");
    assert!(open["timing"]["send_delay"].is_object() && open["timing"]["clock_ns"].as_u64() > Some(0));
    let paced = load("-c 4 -t 2s --pace 50ms");
    let offered = paced["streams"][0]["schedule"]["offered"].as_u64().expect("a count");
    assert!((156..=164).contains(&offered), "4 connections, 20 per second, 2 s: {offered}");
    // 20 connections with pauses of 10 s do not all come at once: 2 per second
    let thinking = load("-c 20 -t 2s --think 10s");
    assert!(thinking["streams"][0]["transactions"].as_u64() <= Some(6), "{thinking}");
    let limited = load("-c 3 --transactions 1000");
    assert_eq!(limited["streams"][0]["transactions"], 1000);
    assert_eq!(limited["streams"][0]["limit_reached"], true);
    let reconnecting = load("-c 2 -t 1s --reconnect transaction");
    let stream = &reconnecting["streams"][0];
    let opened = stream["reconnecting"]["opened"].as_u64().expect("a count");
    assert!(opened.abs_diff(stream["transactions"].as_u64().expect("a count")) <= 4, "{stream}");
    for part in ["total_ms", "tcp_ms", "login_ms", "first_reply_ms"] {
        assert!(stream["reconnecting"][part]["mean"].as_f64() > Some(0.0), "{part}");
    }
    assert_eq!(stream["reconnecting"]["tls_ms"], serde_json::json!({}));
    let idle = load("-c 2 --idle 30 -t 1s --think exp:5ms --source 127.0.0.1 --open-rate 1000");
    assert_eq!(idle["streams"][0]["opening"]["opened"], 32);
    assert_eq!(idle["streams"][0]["transactions_of_connection"]["starved"], 0);
}

#[test]
fn a_workload_written_in_a_study_can_be_offered_by_itself() {
    let server = NullServer::start(0).expect("a port");
    let url = format!("mysql://user@{}/test", server.address());
    let home = home();
    let study = home.path().join("study.toml");
    fs::write(&study, WRITTEN).expect("a file");
    let study = study.to_str().expect("UTF-8");
    let load = |name: &str, more: &[&str]| {
        let flags = ["--study", study, "--url", &url, "-t", "300ms", "--warm-up", "0", "--json"];
        output(home.path(), &[&["load", name], &flags[..], more].concat())
    };
    let mixed = load("reads_and_writes", &[]);
    let figures = judged(&mixed);
    let kinds = figures["streams"][0]["by_transaction"].as_array().expect("transactions");
    assert_eq!(kinds.iter().map(|kind| &kind["name"]).collect::<Vec<_>>(), ["read", "write"]);
    let unknown = stderr(&load("writes", &[]));
    assert!(
        unknown.contains("`writes`") && unknown.contains("oltp_point_select, reads, reads_and_writes"),
        "{unknown}"
    );
    let both = stderr(&load("reads", &["--rows", "5"]));
    assert!(both.contains("--rows cannot be used with --study"), "{both}");
}

#[test]
fn a_load_that_cannot_be_kept_up_is_marked_and_its_seconds_are_told() {
    // every reply takes 20 ms: 2 connections bear 100 per second
    let slow = |_: u64, _: load::null::Asked<'_>| {
        std::thread::sleep(Duration::from_millis(20));
        load::null::Answer::Row
    };
    let server = NullServer::with_script(0, Box::new(slow)).expect("a port");
    let url = format!("mysql://user@{}/test", server.address());
    let home = home();
    let flags = ["--rate", "300", "-c", "2", "-t", "3s", "--warm-up", "0", "--report-interval", "1s"];
    let output = output(home.path(), &[&["load", "oltp_point_select", "--url", &url], &flags[..]].concat());
    let (text, lines) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{lines}");
    assert!(lines.contains("error: these figures are invalid: overloaded"), "{lines}");
    assert!(text.contains("verdict       invalid") && text.contains("overloaded"), "{text}");
    assert!(text.contains("response time") && text.contains("service time"), "{text}");
    let told: Vec<&str> = lines.lines().filter(|line| line.contains("backlog")).collect();
    assert_eq!(told.len(), 3, "{lines}");
}

#[test]
fn the_highest_rate_is_found_confirmed_and_shown_to_be_the_highest() {
    // one after the other, each 5 ms: no more than 200 per second
    let slow = |_: u64, _: load::null::Asked<'_>| {
        std::thread::sleep(Duration::from_millis(5));
        load::null::Answer::Row
    };
    let server = NullServer::with_script(0, Box::new(slow)).expect("a port");
    let url = format!("mysql://user@{}/test", server.address());
    let home = home();
    let flags = ["--find-rate", "--objective", "p50 < 200ms", "--gaps", "constant", "--json"];
    let times = ["-c", "16", "-t", "500ms", "--warm-up", "0"];
    let fixed = ["load", "oltp_point_select", "--url", &url];
    let output = output(home.path(), &[&fixed, &flags[..], &times].concat());
    let found: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let probes = found["probes"].as_array().expect("probes");
    assert!(probes.len() > 5 && probes.iter().any(|probe| probe["kept"] == false), "{found}");
    // how much depends on how busy this machine is, but not more than the server bears by far
    let rate = found["rate_per_second"].as_f64().expect("a rate");
    assert!((20.0..400.0).contains(&rate), "{found}");
    assert!(stderr(&output).contains("confirm"), "{}", stderr(&output));
}

#[test]
#[ignore = "long: a search down to the lowest rate whose loads say something, half a minute"]
fn a_rate_that_nothing_keeps_is_said_with_what_was_measured() {
    let slow = |_: u64, _: load::null::Asked<'_>| {
        std::thread::sleep(Duration::from_millis(5));
        load::null::Answer::Row
    };
    let server = NullServer::with_script(0, Box::new(slow)).expect("a port");
    let url = format!("mysql://user@{}/test", server.address());
    let home = home();
    let fixed = ["load", "oltp_point_select", "--url", &url];
    // evenly spaced, since a short load at the lowest rate must not have too few by chance
    let nothing = ["--find-rate", "--objective", "p95 < 1ms", "--gaps", "constant"];
    let nothing = [&nothing[..], &["-c", "1", "-t", "1500ms", "--warm-up", "0"]].concat();
    let refused = prony(home.path(), &[&fixed, &nothing[..]].concat()).output().expect("prony starts");
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(
        stdout(&refused).contains("none: even 4 transactions/s does not keep p95 < 1ms")
            && stdout(&refused).contains("make --duration longer"),
        "{}",
        stdout(&refused)
    );
}

#[test]
fn a_search_that_is_interrupted_or_out_of_time_prints_what_it_has() {
    let server = NullServer::start(0).expect("a port");
    let url = format!("mysql://user@{}/test", server.address());
    let home = home();
    let fixed = ["load", "oltp_point_select", "--url", &url, "--find-rate", "--objective", "p50 < 1s"];
    let times = ["--json", "-t", "2s", "--warm-up", "0"];
    let short = prony(home.path(), &[&fixed, &times[..], &["--budget", "100ms"]].concat());
    let short = { short }.output().expect("prony starts");
    assert_eq!(short.status.code(), Some(1), "{}", stderr(&short));
    let found: Value = serde_json::from_str(&stdout(&short)).expect("JSON");
    assert_eq!((&found["ending"], &found["rate_per_second"]), (&"out_of_time".into(), &Value::Null));
    assert!(stderr(&short).contains("a search takes about"), "{}", stderr(&short));
    let mut endless = prony(home.path(), &[&fixed, &times[..]].concat());
    let child = endless.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("prony starts");
    std::thread::sleep(Duration::from_secs(4));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let interrupted = child.wait_with_output().expect("it ends");
    assert_eq!(interrupted.status.code(), Some(130), "{}", stderr(&interrupted));
    let found: Value = serde_json::from_str(&stdout(&interrupted)).expect("JSON");
    assert_eq!(found["ending"], "interrupted");
}

#[test]
fn a_calibration_says_where_the_client_is_the_limit() {
    let home = home();
    let calibrated = output(home.path(), &["calibrate", "--seconds", "0.2", "--json"]);
    assert!(calibrated.status.success(), "{}", stderr(&calibrated));
    let calibration: Value = serde_json::from_str(&stdout(&calibrated)).expect("JSON");
    let points = calibration["throughput"].as_array().expect("points");
    // in a time so short a busy machine may not come to one or another
    assert!(
        points.len() >= 3 && points.iter().any(|point| point["statements_per_second"].as_f64() > Some(0.0))
    );
    assert!(calibration["statements_per_second_max"].as_f64() > Some(0.0), "{calibration}");
    assert_eq!(calibration["send_delay"].as_array().map(Vec::len), Some(3));
}

#[test]
fn mistakes_on_the_command_line_name_the_right_word_and_never_the_password() {
    refused(&["load", "oltp_pointselect", "--url", "mysql://u@127.0.0.1:1/d"], &["oltp_point_select"]);
    refused(&["load", "oltp_point_select", "--tabels", "3"], &["--tables"]);
    refused(
        &["load", "oltp_point_select", "--rows", "many", "--url", "mysql://u@127.0.0.1:1/d"],
        &["many", "whole number"],
    );
    refused(&["load", "oltp_point_select", "--duration", "soon"], &["soon", "10s"]);
    let load = ["load", "oltp_point_select", "--url", "mysql://u@127.0.0.1:1/d"];
    refused(
        &[&load, &["--rate", "5", "--pace", "1s"][..]].concat(),
        &["--rate", "--pace", "one kind of arrival"],
    );
    refused(&[&load, &["--rate", "fast"][..]].concat(), &["fast", "1000:10s,2000:10s"]);
    refused(&[&load, &["--find-rate"][..]].concat(), &["--objective"]);
    refused(&["report", "--format", "pdf"], &["pdf", "html"]);
    refused(&["run", "quikstart"], &["quickstart"]);
    refused(&["report"], &["prony run quickstart"]);
    let message = refused(
        &["load", "oltp_point_select", "--url", "mysql://u:geheim@127.0.0.1:1/d"],
        &["127.0.0.1:1", "u@"],
    );
    assert!(!message.contains("geheim"), "{message}");
}

#[test]
fn a_server_that_refuses_is_quoted_once_with_what_to_do() {
    let (_state, server) = mariadb(&[("max_connections", "20"), ("max_prepared_stmt_count", "30")]);
    let good = url(server.target(), "prony");
    let password = server.target().password.reveal();
    let wrong = good.replace(password, "falsch");
    let message =
        refused(&["load", "oltp_point_select", "--url", &wrong, "-c", "16"], &["Access denied", "1045"]);
    assert_eq!(message.matches("Access denied").count(), 1, "{message}");
    assert!(!message.contains("falsch"));
    let nowhere = url(server.target(), "nowhere");
    refused(&["load", "oltp_point_select", "--url", &nowhere], &["nowhere", "1049"]);
    refused(
        &["load", "oltp_point_select", "--url", &good, "--tables", "3", "-c", "2"],
        &["1146", "prony prepare oltp_point_select", "--tables 3"],
    );
    refused(
        &["load", "oltp_point_select", "--url", &good, "-c", "200"],
        &["max_connections", "20", "SET GLOBAL"],
    );
    refused(
        &["load", "oltp_read_write", "--url", &good, "-c", "15"],
        &["max_prepared_stmt_count", "30", "text"],
    );
}

#[test]
fn data_is_made_used_and_removed_and_foreign_tables_stay() {
    let (_state, server) = mariadb(&[]);
    let url = url(server.target(), "prony");
    let home = home();
    let ok = |arguments: &[&str]| {
        let output = output(home.path(), arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };
    let flags = ["--url", &url, "--tables", "2", "--rows", "3000"];
    let made = ok(&[&["prepare", "oltp_read_write"], &flags[..]].concat());
    assert!(made.contains("2 tables with 6,000 rows"), "{made}");
    let again = ok(&[&["prepare", "oltp_read_write", "--checksum"], &flags[..]].concat());
    assert!(again.contains("already complete") && again.contains("checksum"), "{again}");
    let load = [&["load", "oltp_read_write", "-c", "4", "-t", "1s", "--warm-up", "0", "--json"], &flags[..]]
        .concat();
    let figures = judged(&output(home.path(), &load));
    let count = |kind: &str| {
        let kinds = figures["streams"][0]["by_statement"].as_array().expect("kinds");
        kinds
            .iter()
            .find(|each| each["name"] == kind)
            .and_then(|each| each["count"].as_u64())
            .unwrap_or_default()
    };
    let commits = count("commit");
    assert!(commits > 0);
    // 20 statements in a transaction; what was under way at the end makes the small difference
    assert!(
        count("point_selects").abs_diff(10 * commits) <= 10 * 8,
        "{} for {commits}",
        count("point_selects")
    );
    assert!(ok(&["cleanup", "--url", &url]).contains("sbtest1, sbtest2"));
    let mut connection =
        load::client::Connection::open(server.target(), Duration::from_secs(5)).expect("a login");
    connection.query("CREATE TABLE sbtest1 (id INT PRIMARY KEY)").expect("a table");
    let refused = output(home.path(), &[&["prepare", "oltp_read_write"], &flags[..]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("Prony did not create"), "{}", stderr(&refused));
    assert!(ok(&["cleanup", "--url", &url]).contains("not touched"));
    connection.query("SELECT * FROM sbtest1").expect("it is still there");
}

/// Starts a run of the small study in a process group of its own and waits until a trial has finished.
fn begun_run(home: &Path) -> std::process::Child {
    fs::write(home.join("small.toml"), STUDY).expect("written");
    let mut command = prony(home, &["run", "small.toml"]);
    let mut child =
        command.stderr(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().expect("prony starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let begun = Instant::now();
    let seen = lines.by_ref().map_while(Result::ok).find(|line| line.contains("1/8"));
    assert!(seen.is_some(), "a trial ends within {:?}", begun.elapsed());
    // the pipe is read on, so that Prony is not ended by a closed one
    std::thread::spawn(move || lines.for_each(drop));
    assert!(!processes_of(home).is_empty(), "servers run");
    child
}

fn wait_until_gone(home: &Path) {
    let begun = Instant::now();
    while !processes_of(home).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", processes_of(home));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_killed_run_leaves_no_server_and_goes_on_where_it_was() {
    let home = home();
    let mut child = begun_run(home.path());
    child.kill().expect("killed");
    child.wait().expect("ended");
    wait_until_gone(home.path());
    let resumed = output(home.path(), &["run", "small.toml", "--resume"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("already finished"), "{}", stderr(&resumed));
    let left: Vec<_> =
        fs::read_dir(home.path().join("state/prony/instances")).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let json = stdout(&output(home.path(), &["report", "--format", "json"]));
    let report: Value = serde_json::from_str(&json).expect("JSON");
    assert!(json.contains("oltp_point_select") && report.is_object());
    let again = output(home.path(), &["run", "small.toml", "--resume"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("complete"), "{}", stderr(&again));
    every_report_comes_from_the_store_alone(home.path());
}

fn every_report_comes_from_the_store_alone(home: &Path) {
    for (format, words) in [
        ("terminal", "Small"),
        ("markdown", "| "),
        ("csv", "throughput"),
        ("html", "</html>"),
        ("json", "\"format\""),
    ] {
        let output = output(home, &["report", "--format", format]);
        assert!(output.status.success(), "{format}: {}", stderr(&output));
        assert!(stdout(&output).contains(words), "{format} has no {words}");
    }
    let runs = stdout(&output(home, &["list", "runs"]));
    assert!(runs.contains("small") && runs.contains("8 of 8") && runs.contains("complete"), "{runs}");
}

#[test]
fn an_interrupted_run_ends_cleanly_and_keeps_what_has_finished() {
    let home = home();
    let mut child = begun_run(home.path());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
    let status = child.wait().expect("ended");
    assert_eq!(status.code(), Some(130));
    wait_until_gone(home.path());
    let left: Vec<_> =
        fs::read_dir(home.path().join("state/prony/instances")).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let csv = stdout(&output(home.path(), &["report", "--format", "csv"]));
    assert!(csv.lines().count() >= 2, "{csv}");
}

#[test]
fn a_server_that_will_not_start_shows_its_last_words_and_a_wrong_study_its_lines() {
    let home = home();
    let run = |text: &str| {
        fs::write(home.path().join("wrong.toml"), text).expect("written");
        let output = output(home.path(), &["run", "wrong.toml"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    };
    let message = run(&STUDY.replace("thread_handling = \"pool-of-threads\"", "no_such_setting = 1"));
    assert!(message.contains("no_such_setting"), "{message}");
    let message = run(&STUDY.replace("interval", "intervall").replace("rows = 2000", "rows = \"x\""));
    assert!(
        message.contains("intervall") && message.contains("interval") && message.contains("rows"),
        "{message}"
    );
    assert!(message.contains("wrong.toml:"), "{message}");
    wait_until_gone(home.path());
}

#[test]
fn a_setting_that_is_mistyped_or_cannot_be_is_pointed_at_before_anything_starts() {
    // brings the server into the cache, whose settings are known from then on
    drop(mariadb(&[]));
    let home = home();
    let study = STUDY
        .replace("[data]", "[settings]\ninodb_buffer_pool_size = \"1G\"\nredo_capacity = \"lots\"\n[data]");
    fs::write(home.path().join("wrong.toml"), study).expect("written");
    for command in ["plan", "run"] {
        let output = output(home.path(), &[command, "wrong.toml"]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("did you mean `innodb_buffer_pool_size`?"), "{message}");
        assert!(message.contains("a, b cannot have `redo_capacity = lots`"), "{message}");
        assert!(message.contains("2 mistakes in wrong.toml; nothing was started."), "{message}");
        assert!(output.stdout.is_empty(), "{}", stdout(&output));
    }
    // together with mistakes of another kind
    let study = fs::read_to_string(home.path().join("wrong.toml")).expect("a study");
    fs::write(home.path().join("wrong.toml"), study.replace("[data]", "[data]\nrowss = 5")).expect("written");
    let message = stderr(&output(home.path(), &["plan", "wrong.toml"]));
    for words in
        ["did you mean `innodb_buffer_pool_size`?", "redo_capacity = lots", "`rowss`", "3 mistakes in"]
    {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn a_server_without_a_certificate_gets_one_where_connections_are_by_tls() {
    let home = home();
    fs::write(
        home.path().join("tls.toml"),
        r#"
[server.mariadb]
product = "mariadb"
version = "10.11"
[data]
rows = 100
[[stream]]
workload = "oltp_point_select"
connections = 2
[vary]
"client.tls" = ["disabled", "required"]
[measure]
warm_up = "0s"
interval = "300ms"
repeats = 1
"#,
    )
    .expect("written");
    let output = output(home.path(), &["run", "tls.toml", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let points = report["points"].as_array().expect("a list");
    assert_eq!(points.len(), 2);
    for point in points {
        assert!(point["throughput"]["value"].as_f64().is_some_and(|rate| rate > 0.0), "{point}");
        let by_tls = point["levels"]["tls"] == "required";
        assert_eq!(point["opening"]["tls_ms"]["p50"].is_number(), by_tls, "{point}");
    }
}

#[test]
fn a_run_speaks_the_language_of_the_environment() {
    let home = home();
    let study = r#"
title = "Words"
title_zh = "文字"
[server.db]
product = "mariadb"
version = "10.11"
[data]
rows = 100
[[stream]]
workload = "oltp_point_select"
connections = 2
[measure]
warm_up = "0s"
interval = "300ms"
repeats = 1
[[claim]]
says = "Fast."
says_zh = "很快。"
value = "> 900_000_000/s"
"#;
    fs::write(home.path().join("words.toml"), study).expect("written");
    let mut run = prony(home.path(), &["run", "words.toml", "--check"]);
    let output = run.env_remove("LC_ALL").env("LANG", "zh_CN.UTF-8").output().expect("prony starts");
    let said = stderr(&output);
    assert!([Some(3), Some(4)].contains(&output.status.code()), "{said}");
    for words in ["文字", "1 次试验", "数据已装载并校验", "个事务   p95", "报告：", "1 条论断"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    for words in ["trial", "loaded", "transactions", "stored in", "report:", "claims"] {
        let lines = said.lines().filter(|line| !line.contains(".html") && !line.contains("prony.sqlite"));
        assert!(!lines.collect::<String>().contains(words), "{words}: {said}");
    }
    assert!(stdout(&output).contains("论断共 1 条"), "{}", stdout(&output));
}

#[test]
fn a_reader_that_has_seen_enough_of_a_plan_is_no_error() {
    let home = home();
    let mut child = prony(home.path(), &["plan", "generations", "--scale", "published"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("prony starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_study_on_a_running_server_leaves_it_running() {
    let (_state, server) = mariadb(&[]);
    let home = home();
    let target = server.target();
    let plain = url(target, "prony").replace(&format!(":{}", target.password.reveal()), "");
    let study = format!(
        "title = \"There\"\n[server.there]\nurl = \"{plain}\"\n[data]\nrows = 1000\n[[stream]]\nworkload = \
         \"oltp_read_only\"\nconnections = 2\n[measure]\nwarm_up = \"0s\"\ninterval = \"500ms\"\nrepeats = \
         1\n"
    );
    fs::write(home.path().join("there.toml"), study).expect("written");
    let run = prony(home.path(), &["run", "there.toml"])
        .env("PRONY_PASSWORD", target.password.reveal())
        .output()
        .expect("prony starts");
    assert!(run.status.success(), "{}", stderr(&run));
    load::client::Connection::open(target, Duration::from_secs(5)).expect("it still runs");
    let store = fs::read(home.path().join("data/prony/prony.sqlite")).expect("the store");
    let password = target.password.reveal().as_bytes();
    assert!(!store.windows(password.len()).any(|bytes| bytes == password), "the password is not stored");
}

#[test]
fn help_completions_and_manual_pages_cover_every_command() {
    let home = home();
    let help = stdout(&output(home.path(), &["--help"]));
    for command in
        ["run", "plan", "load", "calibrate", "prepare", "cleanup", "report", "list", "completions", "man"]
    {
        assert!(help.contains(command));
        let own = output(home.path(), &[command, "--help"]);
        assert!(own.status.success() && stdout(&own).contains("Example"), "{command} has examples");
    }
    assert!(stdout(&output(home.path(), &["completions", "bash"])).contains("_prony"));
    assert!(stdout(&output(home.path(), &["man"])).contains(".TH prony"));
    let pages = home.path().join("man");
    assert!(output(home.path(), &["man", "--directory", &pages.to_string_lossy()]).status.success());
    assert!(fs::read_to_string(pages.join("prony-load.1")).expect("a page").contains("table"));
    for listed in ["studies", "workloads", "servers", "runs"] {
        assert!(output(home.path(), &["list", listed]).status.success());
        let json = stdout(&output(home.path(), &["list", listed, "--json"]));
        serde_json::from_str::<Value>(&json).expect("JSON");
    }
}

/// What bash offers for a line that is typed so far.
fn offered(home: &Path, script: &Path, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let shell = format!(
        "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; COMP_LINE='{line}'; COMP_POINT={}; \
         _prony_with_names prony \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1,
        line.len(),
    );
    let program = Path::new(env!("CARGO_BIN_EXE_prony")).parent().expect("a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").expect("a path"));
    let output = Command::new("bash")
        .args(["--norc", "-c", &shell])
        .current_dir(home)
        .env("PATH", path)
        .env("XDG_DATA_HOME", home.join("data"))
        .env_remove("PRONY_STORE")
        .output()
        .expect("bash");
    assert_eq!(stderr(&output), "", "{line}");
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn a_real_bash_offers_names_of_studies_workloads_servers_and_runs() {
    let home = home();
    let script = home.path().join("prony.bash");
    fs::write(&script, stdout(&output(home.path(), &["completions", "bash"]))).expect("written");
    fs::write(home.path().join("quick.toml"), STUDY).expect("written");
    let slap = "Benchmark\n\tAverage number of seconds to run all queries: 0.5 seconds\n\tNumber of clients \
                running queries: 8\n\tAverage number of queries per client: 100\n";
    fs::write(home.path().join("slap.txt"), slap).expect("written");
    let imported = output(home.path(), &["import", "mysqlslap", "slap.txt", "--study", "mine"]);
    assert!(imported.status.success(), "{}", stderr(&imported));
    assert!(output(home.path(), &["label", "last", "nightly"]).status.success());
    let offers = |line: &str| offered(home.path(), &script, line);
    assert_eq!(offers("prony run quick"), ["quickstart", "quick.toml"]);
    assert_eq!(offers("prony load oltp_point"), ["oltp_point_select"]);
    assert!(offers("prony load my_mix --study thread").iter().all(|name| name.starts_with("thread")));
    let servers = offers("prony server start mysql-8.");
    assert!(!servers.is_empty() && servers.iter().all(|name| name.starts_with("mysql-8.")), "{servers:?}");
    assert_eq!(offers("prony report n"), ["nightly"]);
    for name in ["last", "nightly", "mine", "1"] {
        assert!(offers("prony compare ").contains(&name.to_owned()), "{name}");
    }
    // the rest is as it was
    assert!(offers("prony re").contains(&"report".to_owned()));
    assert!(offers("prony load --conn").contains(&"--connections".to_owned()));
    assert!(offers("prony report --sto").contains(&"--store".to_owned()));
    for (shell, words) in [("zsh", "_prony_names runs'"), ("fish", "prepare cleanup\" workloads")] {
        let text = stdout(&output(home.path(), &["completions", shell]));
        assert!(text.contains(words), "{shell}");
    }
}

/// What sysbench prints of a run of 10 s at 8 connections.
fn of_sysbench(transactions: u32, percentile: u32, time_ms: f64) -> String {
    format!(
        "sysbench 1.0.20 (using system LuaJIT)\nNumber of threads: 8\n  transactions: {transactions} (1 per \
         sec.)\n  total time: 10.0000s\n  total number of events: {transactions}\n  avg: {:.2}\n  max: \
         99.00\n  {percentile}th percentile: {time_ms:.2}\n",
        time_ms / 2.0
    )
}

#[test]
fn imports_of_sysbench_are_compared_by_the_percentile_that_it_states() {
    let home = home();
    let import = |name: &str, results: &[(u32, u32, f64)]| {
        let text: String = results.iter().map(|&(count, of, ms)| of_sysbench(count, of, ms)).collect();
        fs::write(home.path().join(name), text).expect("written");
        let imported = output(home.path(), &["import", "sysbench", name, "--study", name]);
        assert!(imported.status.success(), "{}", stderr(&imported));
    };
    import("one", &[(10_000, 95, 10.0)]);
    import("other", &[(10_000, 95, 40.0)]);
    import("many", &[(10_000, 95, 10.0), (10_100, 95, 10.2), (9_900, 95, 9.9)]);
    import("slow", &[(10_000, 95, 40.0), (10_100, 95, 41.0), (9_900, 95, 39.5)]);
    import("p90", &[(10_000, 90, 10.0), (10_100, 90, 10.2), (9_900, 90, 9.9)]);
    let compare = |base: &str, run: &str, format: &str| {
        let shown = output(home.path(), &["compare", base, run, "--format", format]);
        assert!(shown.status.success(), "{}", stderr(&shown));
        stdout(&shown)
    };
    let lone = compare("1", "2", "terminal");
    let flat = lone.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("95th percentile of response time, ms") && flat.contains("4.00 (no interval)"),
        "{lone}"
    );
    assert!(flat.contains("one trial per") && flat.contains("better in 0, worse in 0"), "{lone}");
    let json: serde_json::Value = serde_json::from_str(&compare("3", "4", "json")).expect("JSON");
    let all = json["comparisons"].as_array().expect("comparisons");
    let p95 = all.iter().find(|one| one["metric"] == "p95").expect("p95 is compared");
    assert_eq!((&p95["verdict"], &p95["is_stated"]), (&"worse".into(), &true.into()), "{p95}");
    assert!(p95["ratio"]["low"].as_f64() > Some(3.0) && p95["ratio"]["high"].as_f64() < Some(5.0), "{p95}");
    let many = compare("3", "4", "markdown");
    assert!(many.contains("geometric mean"), "{many}");
    let different = compare("3", "5", "markdown");
    assert!(different.contains("No response time was compared"), "{different}");
    let same = compare("5", "5", "terminal");
    assert!(same.contains("Percentile 90 of response time, ms"), "{same}");
    // several imported trials have a place in the history of their percentile
    let history = output(home.path(), &["history", "many", "--metric", "p95"]);
    assert!(stdout(&history).contains("10.0"), "{}", stdout(&history));
}

#[test]
fn what_a_machine_cannot_do_is_said_before_anything_starts() {
    let home = home();
    // the programs that make file systems and networks are not there
    let plan = prony(home.path(), &["plan", "durability"]).env("PATH", home.path()).output().expect("prony");
    let text = stdout(&plan);
    assert!(plan.status.success(), "{}", stderr(&plan));
    let lacks = text.find("a loss of power cannot be simulated here").expect(&text);
    assert!(text[lacks..].contains("leave \"power\" out of `kinds`"), "{text}");
    let left = fs::read_dir(home.path().join("state/prony/instances")).into_iter().flatten().count();
    assert_eq!(left, 0, "what was tried is removed");
    let plan = prony(home.path(), &["plan", "connection-modes"]).env("PATH", home.path()).output();
    let text = stdout(&plan.expect("prony"));
    assert!(text.contains("Networks: by a relay, because"), "{text}");
    let account = "client.authentication=caching_sha2_password";
    let plan = output(home.path(), &["plan", "quickstart", "--set", account]);
    assert_eq!(plan.status.code(), Some(2));
    let refusal = stderr(&plan);
    assert!(refusal.contains("mariadb does not have caching_sha2_password"), "{refusal}");
}

#[test]
fn the_old_names_of_options_go_on_working_with_a_note() {
    let home = home();
    let slap = "Benchmark\n\tAverage number of seconds to run all queries: 0.5 seconds\n\tNumber of clients \
                running queries: 8\n\tAverage number of queries per client: 100\n";
    fs::write(home.path().join("slap.txt"), slap).expect("written");
    let old = output(home.path(), &["import", "mysqlslap", "slap.txt", "--output", "mine.sqlite"]);
    assert!(old.status.success(), "{}", stderr(&old));
    assert!(stderr(&old).contains("note: --output is now called --store"), "{}", stderr(&old));
    let new = output(home.path(), &["list", "runs", "--store", "mine.sqlite"]);
    assert!(stdout(&new).contains("mysqlslap") && !stderr(&new).contains("note"), "{}", stderr(&new));
    for command in ["run", "report", "list", "export", "history"] {
        let help = stdout(&output(home.path(), &[command, "--help"]));
        assert!(help.contains("--store") && !help.contains("--output"), "{command}: {help}");
    }
}
