//! `prony serve` over plain HTTP: who is let in, what a response says about itself, and a run that is
//! started, followed and stopped there.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the right answer")]

mod support {
    #[expect(dead_code, reason = "this program starts no server of its own")]
    pub(crate) mod server;
}
#[path = "support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic;

use prony::{
    run::Event,
    store::{RunState, Store},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::server::processes_of;

/// Nothing here takes nearly as long, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

const STUDY: &str = r#"
title = "Served"
[server.a]
product = "mariadb"
version = "10.11"
[data]
rows = 500
[[stream]]
workload = "oltp_point_select"
[vary]
"stream.connections" = [1, 2]
[measure]
warm_up = "1s"
interval = "4s"
repeats = 20
"#;

/// `prony serve` on a store of its own.
struct Served {
    home: tempfile::TempDir,
    process: Child,
    address: String,
    token: String,
}

/// A response: its status, its head in small letters, its body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {} {}", self.status, self.body))
    }

    fn refused(&self) -> String {
        self.json()["refused"].as_str().unwrap_or_default().to_owned()
    }
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("served.toml"), STUDY).unwrap();
    home
}

fn prony(home: &tempfile::TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(words).args(["--store"]).arg(home.path().join("prony.sqlite")).current_dir(home.path());
    command.env("XDG_STATE_HOME", home.path().join("state")).env_remove("PRONY_STORE").env("LANG", "C");
    command.stdin(Stdio::null());
    command
}

impl Served {
    fn of(home: tempfile::TempDir, words: &[&str]) -> Self {
        let mut command = prony(&home, &["serve"]);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().split_once("/#token=").expect("where it is, with the token");
        let address = address.strip_prefix("http://").unwrap().replace("0.0.0.0", "127.0.0.1");
        Self { home, process, address, token: token.to_owned() }
    }

    fn start() -> Self {
        Self::of(home(), &["--listen", "127.0.0.1:0"])
    }

    /// A request as it is, with what a browser says beside.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            text += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// As a page of this server asks that has the token.
    fn post(&self, path: &str, body: &Value) -> Answer {
        let port = self.address.rsplit(':').next().unwrap();
        let cookie = format!("prony-{port}={}", self.token);
        self.ask("POST", path, &[("origin", &self.origin()), ("cookie", &cookie)], &body.to_string())
    }

    /// Asks it to end, and says whether it did well.
    fn end(mut self) -> (tempfile::TempDir, bool) {
        let pid = rustix::process::Pid::from_raw(self.process.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let ended = self.process.wait().unwrap();
        let home = std::mem::replace(&mut self.home, tempfile::tempdir().unwrap());
        (home, ended.success())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn other_hosts_other_origins_and_whoever_has_no_token_are_refused() {
    let served = Served::start();
    let own = served.origin();
    let host = |host: &str| served.ask("GET", "/api/runs", &[("host", host)], "").status;
    assert_eq!(host(&served.address), 200);
    assert_eq!(host("localhost:8080"), 200, "a tunnel has another port here");
    for other in ["evil.example", "127.0.0.1.evil.example:7480", "localhost.evil.example"] {
        assert_eq!(host(other), 421, "{other}: a name that somebody else owns may lead here");
    }
    let from = |origin: &str| served.ask("GET", "/api/runs", &[("origin", origin)], "").status;
    assert_eq!((from(&own), from("http://evil.example"), from("null")), (200, 403, 403));
    let site = |site: &str, mode: &str| {
        served.ask("GET", "/", &[("sec-fetch-site", site), ("sec-fetch-mode", mode)], "").status
    };
    assert_eq!(site("cross-site", "no-cors"), 403);
    assert_eq!(site("same-site", "cors"), 403, "another port of this machine is another site");
    assert_eq!((site("cross-site", "navigate"), site("same-origin", "cors")), (200, 200));

    let study = json!({ "study": "served.toml" });
    for path in ["/api/start", "/api/plan", "/api/runs/1/stop"] {
        let body = study.to_string();
        let post = |headers: &[(&str, &str)]| served.ask("POST", path, headers, &body);
        let cookie = format!("prony-{}={}", served.address.rsplit(':').next().unwrap(), served.token);
        assert_eq!(post(&[("origin", &own)]).refused(), "token", "{path}");
        assert_eq!(post(&[("origin", &own), ("cookie", "prony-1=0123")]).refused(), "token", "{path}");
        assert_eq!(
            post(&[("cookie", &cookie)]).refused(),
            "origin",
            "{path}: a page always says where it is"
        );
        assert_eq!(post(&[("origin", "http://evil.example"), ("cookie", &cookie)]).refused(), "origin");
        let in_query =
            served.ask("POST", &format!("{path}?token={}", served.token), &[("origin", &own)], &body);
        assert_eq!(in_query.status, 401, "{path}: addresses are kept in histories and logs");
    }
    let login = |token: &str| {
        served.ask("POST", "/api/login", &[("origin", &own)], &json!({ "token": token }).to_string())
    };
    assert_eq!(login("0").status, 401);
    let good = login(&served.token);
    assert_eq!(good.status, 204);
    let cookie = good.head.lines().find(|line| line.starts_with("set-cookie:")).unwrap();
    for word in ["httponly", "samesite=strict", "path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let planned = served.post("/api/plan", &study);
    assert_eq!(planned.status, 200, "{}", planned.body);
    assert!(planned.json()["text"].as_str().unwrap().contains("40 trials"), "{}", planned.body);
    assert!(served.end().1);
}

#[test]
fn responses_say_what_a_page_may_do_and_pages_are_the_reports() {
    let home = home();
    let mut store = Store::open(&home.path().join("prony.sqlite")).unwrap();
    for _ in 0..3 {
        let id = store.begin(&synthetic::plan(), &synthetic::machine()).unwrap();
        let few = |event: &&Event| match event {
            Event::TrialStarted { trial }
            | Event::TrialSample { trial, .. }
            | Event::TrialReading { trial, .. }
            | Event::TrialFinished { trial, .. } => *trial < 4,
            _ => true,
        };
        for event in synthetic::events().iter().filter(few) {
            store.record(id, event).unwrap();
        }
    }
    let served = Served::of(home, &["--listen", "127.0.0.1:0"]);
    for path in ["/", "/api/runs", "/runs/1", "/runs/9", "/assets/serve.js", "/nowhere"] {
        let head = served.get(path).head;
        for header in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
        ] {
            assert!(head.contains(header), "{path} has {header}: {head}");
        }
        assert!(!head.contains("script-src 'unsafe-inline'"), "{path}: {head}");
    }
    let page = served.get("/runs/1");
    let written = prony(&served.home, &["report", "1", "--format", "html"]).output().unwrap();
    let written = String::from_utf8(written.stdout).unwrap();
    let link = page.body.lines().find(|line| line.contains("/history/quickstart")).expect("a way back");
    assert_eq!(page.body.replacen(&format!("{link}\n"), "", 1).trim_end(), written.trim_end());
    assert!(page.head.contains("script-src 'sha256-"), "{}", page.head);

    let runs = served.get("/api/runs").json();
    assert_eq!(runs.as_array().unwrap().len(), 3);
    assert_eq!(
        (&runs[0]["id"], &runs[0]["state"], &runs[0]["measured"]),
        (&json!(3), &json!("interrupted"), &json!(4))
    );
    let curves = served.get("/api/sparks?ids=1,3").json();
    let record = Store::open(&served.home.path().join("prony.sqlite")).unwrap().run(1).unwrap();
    let findings = prony::analyse::analyse(&record);
    let rates: Vec<f64> = curves["1"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|line| line.as_array().unwrap())
        .filter_map(Value::as_f64)
        .collect();
    let mut points: Vec<f64> =
        findings.points.iter().map(|point| point.throughput.value).filter(|rate| *rate > 0.0).collect();
    let mut found = rates.clone();
    points.sort_by(f64::total_cmp);
    found.sort_by(f64::total_cmp);
    assert_eq!(points.len(), 4);
    assert!(
        found.iter().zip(&points).all(|(one, other)| (one / other - 1.0).abs() < 1e-6),
        "{found:?} {points:?}"
    );

    let compared = served.get("/compare?runs=1,2,3");
    assert_eq!(compared.status, 200);
    assert!(compared.body.contains("Runs 2 and 3 against run 1"), "a title for all");
    assert!(compared.body.contains("id=\"summary-2\"") && compared.body.contains("id=\"summary-3\""));
    assert_eq!((served.get("/compare?runs=1").status, served.get("/compare?runs=x").status), (400, 400));
    let history = served.get("/history/quickstart");
    assert!(history.status == 200 && history.body.contains("3 runs"), "{}", history.status);
    assert_eq!(served.get("/history/none").status, 404);
    assert_eq!(served.get("/runs/9").status, 404);
}

#[test]
fn beyond_this_machine_it_is_served_when_that_is_said_and_then_reading_needs_the_token() {
    let refused = prony(&home(), &["serve", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("add --remote"));
    let served = Served::of(home(), &["--listen", "0.0.0.0:0", "--remote", "--name", "bench.example"]);
    for path in ["/api/runs", "/api/me", "/api/changes", "/api/sparks?ids=1"] {
        assert_eq!(served.get(path).refused(), "token", "{path}");
    }
    let page = served.get("/runs/1");
    assert_eq!(page.status, 401);
    assert!(page.body.contains("/assets/serve.js"), "which asks for the token");
    let port = served.address.rsplit(':').next().unwrap();
    let cookie = format!("prony-{port}={}", served.token);
    let asked =
        |host: &str| served.ask("GET", "/api/runs", &[("host", host), ("cookie", &cookie)], "").status;
    assert_eq!((asked("bench.example"), asked("other.example")), (200, 421));
}

/// Lines that a run tells, as they come, until one of them is wanted.
fn follow(served: &Served, run: i64, is_wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut stream = TcpStream::connect(&served.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /api/runs/{run}/events HTTP/1.1\r\nhost: {}\r\n\r\n", served.address).unwrap();
    let mut told = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let data: Value = serde_json::from_str(data).unwrap();
        told.extend(data.as_array().cloned().unwrap_or_else(|| vec![data]));
        if told.iter().any(&is_wanted) {
            return told;
        }
    }
    panic!("it never came: {told:?}");
}

#[test]
#[ignore = "long: a run on a MariaDB, 30 s"]
fn a_run_is_started_followed_by_several_and_stopped() {
    let served = Served::start();
    let study = json!({ "study": "served.toml", "scale": null, "set": ["measure.repeats=10"] });
    let wrong = served.post("/api/start", &json!({ "study": "served.toml", "set": ["measure.repeat=1"] }));
    assert_eq!((wrong.status, wrong.refused().as_str()), (422, "study"), "{}", wrong.body);
    assert!(wrong.json()["text"].as_str().unwrap().contains("measure.repeat"), "{}", wrong.body);
    assert_eq!(served.post("/api/start", &json!({ "study": "/etc/passwd" })).status, 404);

    let started = served.post("/api/start", &study);
    let run = started.json()["run"].as_i64().unwrap_or_else(|| panic!("{}", started.body));
    let second = served.post("/api/start", &study);
    assert_eq!((second.refused().as_str(), second.json()["run"].as_i64()), ("running", Some(run)));
    let is_second =
        |line: &Value| line["told"] == "second" && line["rate"].as_f64().is_some_and(|rate| rate > 0.0);
    let is_done = |line: &Value| line["told"] == "finished";
    thread::scope(|scope| {
        let other = scope.spawn(|| follow(&served, run, is_second));
        let told = follow(&served, run, is_done);
        let seconds = told.iter().filter(|line| is_second(line)).count();
        assert!(seconds >= 3, "each second is told: {told:?}");
        assert!(told.iter().any(|line| line["told"] == "trial" && line["total"] == 20 && line["place"] == 1));
        assert!(!other.join().unwrap().is_empty());
    });
    assert_eq!(served.get("/api/runs").json()[0]["state"], "running");
    assert_eq!(served.get(&format!("/runs/{run}")).status, 200, "the report of what there is so far");

    assert_eq!(served.post(&format!("/api/runs/{run}/stop"), &json!({})).status, 200);
    let told = follow(&served, run, |line| line["state"] == "interrupted");
    let finished: Vec<&Value> = told.iter().filter(|line| is_done(line)).collect();
    assert!(finished.is_empty() || finished[0]["figures"]["rate"].as_f64().is_some());
    let (home, ended_well) = served.end();
    assert!(ended_well);
    let runs = Store::open(&home.path().join("prony.sqlite")).unwrap().list().unwrap();
    assert_eq!(runs[0].state(), RunState::Interrupted);
    assert!(runs[0].trials_measured >= 1, "what was measured is kept");
    nothing_runs(home.path());
}

#[test]
#[ignore = "long: a run on a MariaDB, 20 s"]
fn a_run_of_another_process_is_followed_and_one_of_its_own_dies_with_it() {
    let home = home();
    let run = |home: &tempfile::TempDir| {
        let mut command = prony(home, &["run", "served.toml", "--write", "/dev/null"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut other = run(&home);
    let served = Served::of(home, &["--listen", "127.0.0.1:0"]);
    let begun = Instant::now();
    while served.get("/api/runs").json().as_array().is_none_or(Vec::is_empty) {
        assert!(begun.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(100));
    }
    follow(&served, 1, |line| line["told"] == "second");
    assert_eq!(served.post("/api/runs/1/stop", &json!({})).refused(), "not_ours");
    assert_eq!(served.post("/api/start", &json!({ "study": "served.toml" })).refused(), "running");
    other.kill().unwrap();
    other.wait().unwrap();
    follow(&served, 1, |line| line["state"] == "killed");

    let started = served.post("/api/start", &json!({ "study": "served.toml" }));
    let run = started.json()["run"].as_i64().unwrap_or_else(|| panic!("{}", started.body));
    follow(&served, run, |line| line["told"] == "second");
    let place = served.home.path().to_owned();
    let kept = prony_killed(served);
    nothing_runs(&place);
    drop(kept);
}

/// Kills the server at once, and gives back its home.
fn prony_killed(mut served: Served) -> tempfile::TempDir {
    served.process.kill().unwrap();
    served.process.wait().unwrap();
    std::mem::replace(&mut served.home, tempfile::tempdir().unwrap())
}

fn nothing_runs(directory: &Path) {
    let begun = Instant::now();
    loop {
        let left = processes_of(directory);
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{left:?}");
        thread::sleep(Duration::from_millis(50));
    }
}
