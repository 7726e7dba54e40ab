//! `prony agent` as users have it: load hosts that are processes of their own, called by the command and by a
//! study; who may call them, what they refuse, and that nothing of a load stays when one side goes.

mod support {
    pub(crate) mod processes;
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    pub(crate) mod sizes;
}

use load::{
    agent::{self as gate, Event, Host, Limits},
    null::NullServer,
};
use prony::{loader, network::Link};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, ChildStderr, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};
use support::{
    processes::{PATIENCE, is_alive, load_processes_of, wait_for, wait_until},
    require::{Need, program, require},
    sizes::{assert_alike, sizes},
};
use tempfile::TempDir;

const PRONY: &str = env!("CARGO_BIN_EXE_prony");
const PASSWORD: &str = "a-password-nobody-writes-down";

/// An agent; it is killed when this is dropped.
struct Agent {
    child: Child,
    address: String,
    said: Arc<Mutex<String>>,
}

impl Agent {
    /// Starts one by `command`, which ends with the program, and reads where it listens.
    fn start(mut command: Command, certificates: &Path, flags: &[&str]) -> Self {
        command.arg("agent").arg("--dir").arg(certificates.join("127.0.0.1"));
        command.args(["--listen", "127.0.0.1:0"]).args(flags).stderr(Stdio::piped());
        let mut child = command.spawn().expect("prony");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut first = String::new();
        lines.read_line(&mut first).expect("a line");
        let address = first.split(['t', ';']).find_map(|part| part.trim().strip_prefix("127.0.0.1:"));
        let address = format!("127.0.0.1:{}", address.unwrap_or_else(|| panic!("{first}")));
        let said = Arc::new(Mutex::new(first));
        keep_reading(lines, Arc::clone(&said));
        Self { child, address, said }
    }

    fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).expect("a process"), signal).expect("it lives");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keep_reading(lines: BufReader<ChildStderr>, said: Arc<Mutex<String>>) {
    thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            let mut said = said.lock().expect("no panic");
            said.push_str(&line);
            said.push('\n');
        }
    });
}

/// Certificates for agents at 127.0.0.1.
fn certificates() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let made =
        Command::new(PRONY).args(["agent", "init", "127.0.0.1", "--dir"]).arg(directory.path()).output();
    let made = made.expect("prony");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    directory
}

fn agents(count: usize, certificates: &Path, flags: &[&str]) -> Vec<Agent> {
    (0..count).map(|_| Agent::start(Command::new(PRONY), certificates, flags)).collect()
}

fn load(server: &NullServer, agents: &[String], certificates: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(PRONY);
    let url = format!("mysql://somebody@127.0.0.1:{}/test", server.address().port());
    command.args(["load", "oltp_point_select", "--url", &url, "--json", "--workers", "1"]);
    command.args(["--agents", &agents.join(",")]).arg("--agents-dir").arg(certificates).args(flags);
    command.env("PRONY_PASSWORD", PASSWORD).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn addresses(agents: &[Agent]) -> Vec<String> {
    agents.iter().map(|agent| agent.address.clone()).collect()
}

fn figures(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A load of a minute at two agents, once it runs.
fn running(certificates: &Path) -> (NullServer, Vec<Agent>, Child) {
    let server = NullServer::start(0).expect("a port");
    let agents = agents(2, certificates, &["--allow", "127.0.0.1:*"]);
    let flags = ["--connections", "4", "--duration", "120s", "--warm-up", "0s"];
    let child = load(&server, &addresses(&agents), certificates, &flags).spawn().expect("prony");
    wait_until("the load runs", || server.statements() > 100);
    (server, agents, child)
}

#[test]
fn one_load_at_two_load_hosts_is_one_result() {
    let (server, certificates) = (NullServer::start(0).expect("a port"), certificates());
    let target = server.address().to_string();
    let agents = agents(2, certificates.path(), &["--allow", &target, "--memory-max", "1G"]);
    let flags = ["--connections", "5", "--duration", "1500ms", "--warm-up", "0s"];
    let mut child = load(&server, &addresses(&agents), certificates.path(), &flags).spawn().expect("prony");
    // meanwhile the password is in no command line and no environment, and neither are other secrets
    wait_until("the load runs", || server.statements() > 100);
    for pid in agents.iter().flat_map(|agent| load_processes_of(agent.child.id())) {
        for file in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&text).contains(PASSWORD), "{file}");
        }
    }
    child.wait().expect("prony");
    let output = child.wait_with_output().expect("prony");
    let figures = figures(&output);
    let parts = figures["client_processes"].as_array().expect("a list");
    let names: Vec<&str> = parts.iter().filter_map(|part| part["name"].as_str()).collect();
    let expected: Vec<String> = agents.iter().map(|agent| format!("agent {}", agent.address)).collect();
    assert_eq!(names, expected);
    let counted = figures["statements"].as_u64().expect("a number");
    let beside = server.statements() - counted;
    // what was under way at the end, and what the command asked before the load
    assert!(counted > 100 && beside < 30, "{counted} of {}", server.statements());
    for part in parts {
        let clock = &part["clock"];
        let (ahead, within) = (clock["ahead_ms"].as_f64(), clock["uncertainty_ms"].as_f64());
        let (ahead, within) = ahead.zip(within).expect("an agent has a clock");
        assert!(ahead.abs() <= within, "in truth it is the same clock: {clock}");
    }
    for agent in &agents {
        wait_until("its load process ends", || load_processes_of(agent.child.id()).is_empty());
        assert!(agent.said().contains("to 127.0.0.1:"), "{}", agent.said());
        assert!(!agent.said().contains(PASSWORD), "{}", agent.said());
    }
}

#[test]
fn what_load_hosts_saw_of_themselves_is_told_of_each() {
    let (server, certificates) = (NullServer::start(0).expect("a port"), certificates());
    let agents = agents(2, certificates.path(), &["--allow", "127.0.0.1:*"]);
    let flags = ["--connections", "4", "--duration", "3s", "--warm-up", "0s"];
    let output = load(&server, &addresses(&agents), certificates.path(), &flags).output().expect("prony");
    let figures = figures(&output);
    for part in figures["client_processes"].as_array().expect("a list") {
        let saw = |what: &str| part["host"]["saw"][what].as_f64().unwrap_or_else(|| panic!("{what}: {part}"));
        // it is one of two that keep busy, and both are on a machine that is busier than either
        let own = saw("client/cpu_user") + saw("client/cpu_system");
        let machine = saw("machine/cpu_user") + saw("machine/cpu_system");
        assert!(own > 0.01 && machine > own / 2.0, "{part}");
        // what the kernel counts for a process in the same time, by another way
        let used = part["cpu_s"].as_f64().expect("a time") / figures["interval_s"].as_f64().expect("a time");
        assert!((own - used).abs() < 0.3 * used + 0.1, "{own} and {used}: {part}");
        assert!(saw("machine/memory_available_bytes") > 1e6 && saw("client/memory_bytes") > 1e6, "{part}");
    }
    let mut command = load(&server, &addresses(&agents), certificates.path(), &flags);
    let program = command.get_program().to_owned();
    let text: Vec<_> = command.get_args().filter(|flag| *flag != "--json").map(ToOwned::to_owned).collect();
    command = Command::new(program);
    let output = command.args(text).env("PRONY_PASSWORD", PASSWORD).output().expect("prony");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.contains(&format!("agent {}: ", agents[1].address)));
    assert!(line.is_some_and(|line| line.contains("CPUs busy") && line.contains("for the load")), "{text}");
}

/// An agent that says that it is on another machine, and takes no load.
struct Elsewhere;

impl gate::Agent for Elsewhere {
    fn host(&self) -> Host {
        let limits = Limits { targets: vec!["127.0.0.1:*".to_owned()], ..Limits::default() };
        let machine = "another-machine".to_owned();
        Host { name: "elsewhere".to_owned(), processors: 2, machine, limits, ..Host::default() }
    }

    fn start(&self) -> io::Result<load::Link> {
        panic!("no load gets so far")
    }

    fn tell(&self, _: &Event<'_>) {}
}

#[test]
fn load_hosts_on_other_machines_that_cannot_reach_a_server_are_refused_before_anything_starts() {
    let (server, certificates) = (NullServer::start(0).expect("a port"), certificates());
    let home = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let far = listener.local_addr().expect("an address").to_string();
    let identity = loader::identity(&certificates.path().join("127.0.0.1")).expect("a certificate");
    thread::spawn(move || gate::serve(&listener, &identity, Elsewhere));
    let near = Agent::start(Command::new(PRONY), certificates.path(), &["--allow", "127.0.0.1:*"]);
    let called = [near.address.clone(), far.clone()];
    let output = load(&server, &called, certificates.path(), &["--duration", "1s"]).output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let expected = format!("the load hosts {far} are not on this machine and cannot reach");
    assert!(said.contains(&expected) && said.contains("of this machine alone"), "{said}");
    let study = |server: &str, client: &str| {
        let text = format!(
            "{server}\n[[stream]]\nworkload = \"oltp_point_select\"\nconnections = 4\n[data]\ntables = 1\n\
             rows = 1000\n{client}\n[load]\nagents = [\"{far}\", \"{}\"]\n",
            near.address
        );
        let file = home.path().join("study.toml");
        fs::write(&file, text).expect("a file");
        let mut command = Command::new(PRONY);
        command.arg("run").arg(&file).arg("--store").arg(home.path().join("store.sqlite"));
        command.env("PRONY_AGENTS_DIR", certificates.path()).env("XDG_STATE_HOME", home.path());
        let output = command.current_dir(home.path()).output().expect("prony");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let url = format!("[server.a]\nurl = \"mysql://somebody@127.0.0.1:{}/test\"", server.address().port());
    for (server, client, why) in [
        ("[server.a]\nproduct = \"mariadb\"", "", "Prony starts it on this machine"),
        (&*url, "", "its address is one of this machine alone"),
        ("[server.a]\nurl = \"mysql://db.example.com/test\"", "[client]\nlatency = \"1ms\"", "a latency or"),
        ("[server.a]\nurl = \"mysql://u@localhost/test?socket=/run/db.sock\"", "", "a Unix socket"),
    ] {
        let said = study(server, client);
        assert!(said.contains(&expected) && said.contains(why), "{why}: {said}");
        assert!(!said.contains("starting"), "nothing was started: {said}");
    }
}

#[test]
fn what_is_wrong_with_each_agent_is_said_before_the_load() {
    let (server, certificates, foreign) =
        (NullServer::start(0).expect("a port"), certificates(), self::certificates());
    let ours = certificates.path();
    let elsewhere = Agent::start(Command::new(PRONY), ours, &["--allow", "db.example.com:3306"]);
    let stranger = Agent::start(Command::new(PRONY), foreign.path(), &["--allow", "127.0.0.1:*"]);
    let busy = Agent::start(Command::new(PRONY), ours, &["--allow", "127.0.0.1:*"]);
    let nobody = "127.0.0.1:1".to_owned();
    let one = std::slice::from_ref(&busy.address);
    let mut first = load(&server, one, ours, &["--duration", "60s"]).spawn().expect("prony");
    wait_until("it is busy", || busy.said().contains("begins"));
    let called = [&elsewhere.address, &stranger.address, &busy.address, &nobody].map(Clone::clone);
    let output = load(&server, &called, ours, &["--duration", "1s"]).output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("agent 127.0.0.1:")).collect();
    for (address, words) in called.iter().zip([
        ["does not allow the target", "--allow 127.0.0.1:"],
        ["the TLS handshake failed", "prony agent init"],
        ["busy with `prony load oltp_point_select`", "wait until that is over"],
        ["cannot reach it", "Is `prony agent` running there"],
    ]) {
        let line = lines.iter().find(|line| line.contains(&**address)).unwrap_or_else(|| panic!("{said}"));
        assert!(words.iter().all(|words| line.contains(words)), "{line}");
    }
    assert_eq!(lines.len(), 4, "one message each: {said}");
    let unmade = tempfile::tempdir().expect("a directory");
    let output = load(&server, &called, unmade.path(), &[]).output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("`prony agent init`"), "{said}");
    first.kill().expect("it runs");
    first.wait().expect("it ends");
}

#[test]
fn a_coordinator_that_is_killed_frees_its_load_hosts_within_seconds() {
    let certificates = certificates();
    let (server, agents, mut child) = running(certificates.path());
    let parts: Vec<u32> = agents.iter().flat_map(|agent| load_processes_of(agent.child.id())).collect();
    assert_eq!(parts.len(), 2);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let begun = Instant::now();
    for agent in &agents {
        wait_until("the load process ends", || load_processes_of(agent.child.id()).is_empty());
        wait_until("the agent is free", || agent.said().contains("has ended"));
    }
    assert!(begun.elapsed() < PATIENCE / 3, "{:?}", begun.elapsed());
    let flags = ["--connections", "2", "--duration", "300ms", "--warm-up", "0s"];
    let output = load(&server, &addresses(&agents), certificates.path(), &flags).output().expect("prony");
    assert!(figures(&output)["statements"].as_u64() > Some(0), "they carry the next load out");
}

#[test]
fn a_load_host_that_is_killed_ends_the_load_with_its_name_and_leaves_no_process() {
    let certificates = certificates();
    let (_server, agents, child) = running(certificates.path());
    let parts = load_processes_of(agents[1].child.id());
    agents[1].signal(Signal::KILL);
    let output = child.wait_with_output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.contains(&format!("agent {}: it is gone", agents[1].address)),
        "{said}"
    );
    wait_until("what it started dies with it", || !parts.iter().any(|&pid| is_alive(pid)));
    wait_until("the other one is free", || agents[0].said().contains("has ended"));
}

/// What starts a program with a monotonic clock that is so many seconds ahead.
fn with_clock_ahead(seconds: u32) -> Result<Command, String> {
    let command = || {
        let mut command = Command::new("unshare");
        command.args(["--time", "--monotonic", &seconds.to_string(), "--fork", "--kill-child"]);
        command
    };
    program(command().arg("true"))?;
    let mut command = command();
    command.arg(PRONY);
    Ok(command)
}

#[test]
fn a_clock_that_is_hours_off_changes_nothing() {
    const AHEAD: u32 = 5_000;
    let Some(ahead) = require(Need::TimeNamespaces, with_clock_ahead(AHEAD)) else { return };
    let (server, certificates) = (NullServer::start(0).expect("a port"), certificates());
    let flags = ["--allow", "127.0.0.1:*"];
    let mut agents = agents(1, certificates.path(), &flags);
    agents.push(Agent::start(ahead, certificates.path(), &flags));
    let flags = ["-c4", "--rate", "200", "--gaps", "constant", "--duration", "2s", "--warm-up", "1s"];
    let output = load(&server, &addresses(&agents), certificates.path(), &flags).output().expect("prony");
    let figures = figures(&output);
    let clock =
        |part: usize, key: &str| figures["client_processes"][part]["clock"][key].as_f64().expect("a number");
    for (part, truth_ms) in [(0, 0.0), (1, f64::from(AHEAD) * 1e3)] {
        for (ahead, within) in [("ahead_ms", "uncertainty_ms"), ("ahead_at_end_ms", "uncertainty_at_end_ms")]
        {
            let (ahead, within) = (clock(part, ahead), clock(part, within));
            assert!((ahead - truth_ms).abs() <= within && within < 1e3, "{part}: {ahead} +- {within}");
        }
    }
    let stream = &figures["streams"][0];
    let offered = stream["schedule"]["offered"].as_u64().expect("a schedule");
    assert!(offered.abs_diff(400) <= 1, "{stream}");
    // an outage, or a transaction of hours, would be a clock taken for the other
    assert!(stream["latency"]["response"]["max_ms"].as_f64() < Some(60e3), "{stream}");
}

/// Largest error of the start of any part: its clock was taken to be off by so much, and it began so late.
fn start_errors_ms(figures: &Value) -> Vec<f64> {
    let parts = figures["client_processes"].as_array().expect("a list");
    let of = |part: &Value| {
        // in truth all clocks are the same
        let error = part["clock"]["ahead_ms"].as_f64().expect("a clock");
        part["start_delay_ms"].as_f64().expect("a delay") - error
    };
    parts.iter().map(of).collect()
}

#[test]
fn all_begin_within_2_ms_also_where_one_is_20_ms_away() {
    const ATTEMPTS: u32 = 4;
    let (server, certificates) = (NullServer::start(0).expect("a port"), certificates());
    let agents = agents(2, certificates.path(), &["--allow", "127.0.0.1:*"]);
    let (_, port) = agents[1].address.rsplit_once(':').expect("a port");
    let port = port.parse().expect("a port");
    let far = Link::start(Path::new(PRONY), "127.0.0.1", port, Duration::from_millis(20).into(), &[]);
    let far = far.expect("a relay");
    let called = [agents[0].address.clone(), far.address().to_string()];
    let flags = ["--connections", "4", "--rate", "100", "--duration", "1s", "--warm-up", "0s"];
    // a busy machine makes starts late; it is asked again, since that can only make them worse
    for attempt in 1.. {
        let output = load(&server, &called, certificates.path(), &flags).output().expect("prony");
        let figures = figures(&output);
        let within = figures["client_processes"][1]["clock"]["uncertainty_ms"].as_f64().expect("a clock");
        assert!(within >= 10.0, "half of what a round trip takes is not known: {within}");
        let errors = start_errors_ms(&figures);
        let skew =
            errors.iter().copied().fold(f64::MIN, f64::max) - errors.iter().copied().fold(f64::MAX, f64::min);
        if skew < 2.0 {
            break;
        }
        assert!(attempt < ATTEMPTS, "{skew} ms apart: {errors:?}");
    }
}

#[test]
#[ignore = "long: 64 load hosts"]
fn one_load_at_64_load_hosts_is_one_result() {
    const AGENTS: usize = 64;
    let (server, certificates) = (NullServer::start(0).expect("a port"), certificates());
    let agents = agents(AGENTS, certificates.path(), &["--allow", "127.0.0.1:*"]);
    let flags = [
        "--connections",
        "256",
        "--rate",
        "2000",
        "--gaps",
        "constant",
        "--duration",
        "4s",
        "--warm-up",
        "1s",
    ];
    let output = load(&server, &addresses(&agents), certificates.path(), &flags).output().expect("prony");
    let figures = figures(&output);
    assert_eq!(figures["client_processes"].as_array().map(Vec::len), Some(AGENTS));
    let stream = &figures["streams"][0];
    let offered = stream["schedule"]["offered"].as_u64().expect("a schedule");
    assert!(offered.abs_diff(8_000) <= 1, "{stream}");
    let histogram = stream["latency"]["response"]["count"].as_u64();
    assert_eq!(histogram, stream["transactions"].as_u64(), "every transaction is in the one histogram");
}

#[test]
#[ignore = "long: a run with a server of its own, and a load host that goes and comes back"]
fn a_study_at_load_hosts_repeats_what_a_lost_one_spoiled() {
    let (home, certificates) = (tempfile::tempdir().expect("a directory"), certificates());
    let flags = ["--allow", "127.0.0.1:*"];
    let mut agents = agents(2, certificates.path(), &flags);
    let [one, two] = [&agents[0].address, &agents[1].address].map(Clone::clone);
    let study = format!(
        "[server.a]\nproduct = \"mariadb\"\n[[stream]]\nworkload = \"oltp_point_select\"\nconnections = 4\n\
         [data]\ntables = 1\nrows = 1000\n[measure]\nwarm_up = \"1s\"\ninterval = \"6s\"\nrepeats = 2\n\
         [vary]\n\"load.agents\" = [[\"{one}\"], [\"{one}\", \"{two}\"]]\n"
    );
    let file = home.path().join("study.toml");
    fs::write(&file, study).expect("a file");
    let mut command = Command::new(PRONY);
    command.arg("run").arg(&file).arg("--store").arg(home.path().join("store.sqlite")).arg("--json");
    command
        .current_dir(home.path())
        .env("PRONY_AGENTS_DIR", certificates.path())
        .env("XDG_STATE_HOME", home.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("prony");
    // the first part of a load of both, in its interval
    let is_measuring = || agents[1].said().contains("a load of 7s");
    wait_for(Duration::from_secs(240), "a trial at both", is_measuring);
    thread::sleep(Duration::from_secs(3));
    agents[1].signal(Signal::KILL);
    thread::sleep(Duration::from_secs(2));
    let mut again = Command::new(PRONY);
    again.arg("agent").arg("--dir").arg(certificates.path().join("127.0.0.1"));
    let again = again.args(["--listen", &two]).args(flags).stderr(Stdio::piped()).spawn().expect("prony");
    agents[1].child = again;
    let output = child.wait_with_output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(report.contains(&format!("load host {two} was lost")), "{report}");
    assert!(report.contains("was repeated as trial"), "{report}");
}

/// A study at these load hosts, in a home of its own.
fn study(home: &Path, certificates: &Path, text: &str) -> Command {
    let file = home.join("study.toml");
    fs::write(&file, text).expect("a file");
    let mut command = Command::new(PRONY);
    command.arg("run").arg(&file).arg("--store").arg(home.join("store.sqlite")).arg("--json");
    command.current_dir(home).env("PRONY_AGENTS_DIR", certificates).env("XDG_STATE_HOME", home);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
#[ignore = "long: a run with a server of its own, and a load host that does not come back in time"]
fn a_load_host_that_stays_away_ends_the_run_with_what_is_finished_and_the_rest_can_be_resumed() {
    let (home, certificates) = (tempfile::tempdir().expect("a directory"), certificates());
    let flags = ["--allow", "127.0.0.1:*"];
    let mut agents = agents(2, certificates.path(), &flags);
    let [one, two] = [&agents[0].address, &agents[1].address].map(Clone::clone);
    let text = format!(
        "[server.a]\nproduct = \"mariadb\"\n[[stream]]\nworkload = \"oltp_point_select\"\nconnections = 4\n\
         [data]\ntables = 1\nrows = 1000\n[measure]\nwarm_up = \"1s\"\ninterval = \"4s\"\nrepeats = 3\n\
         [load]\nagents = [\"{one}\", \"{two}\"]\nagents_wait = \"3s\"\n"
    );
    let child = study(home.path(), certificates.path(), &text).spawn().expect("prony");
    let loads = |agent: &Agent| agent.said().matches("a load of 5s").count();
    wait_for(Duration::from_secs(240), "the second trial", || loads(&agents[1]) == 2);
    agents[1].signal(Signal::KILL);
    let begun = Instant::now();
    let output = child.wait_with_output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains(&format!("load host {two}: cannot reach it")),
        "{said}"
    );
    assert!(begun.elapsed() < Duration::from_secs(40), "it waited for 3 s: {:?}", begun.elapsed());
    wait_until("the other one is free", || agents[0].said().contains("has ended"));
    let mut again = Command::new(PRONY);
    again.arg("agent").arg("--dir").arg(certificates.path().join("127.0.0.1"));
    let again = again.args(["--listen", &two]).args(flags).stderr(Stdio::piped()).spawn().expect("prony");
    agents[1].child = again;
    let mut resumed = study(home.path(), certificates.path(), &text);
    let output = resumed.arg("--resume").output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let report = figures(&output);
    assert_eq!(report["run"]["complete"], true, "{said}");
    assert_eq!(report["points"][0]["trials"], 3, "the lost one was repeated: {}", report["points"][0]);
}

#[test]
#[ignore = "long: a study at its scale quick, by one process and by six load hosts in turn"]
fn instance_sizes_at_six_load_hosts_is_what_one_process_measures() {
    const LOAD_HOSTS: usize = 6;
    let (home, certificates) = (tempfile::tempdir().expect("a directory"), certificates());
    let agents = agents(LOAD_HOSTS, certificates.path(), &["--allow", "127.0.0.1:*"]);
    let all = addresses(&agents).iter().map(|address| format!("{address:?}")).collect::<Vec<_>>().join(", ");
    let set = format!("load.agents=[[], [{all}]]");
    let mut command = Command::new(PRONY);
    command.args(["run", "instance-sizes", "--scale", "quick", "--set", &set, "--json"]);
    command.args(["--set", "measure.interval=2s", "--set", "measure.repeats=4"]).current_dir(home.path());
    command.env("XDG_DATA_HOME", home.path().join("data")).env("XDG_STATE_HOME", home.path().join("state"));
    command.env("PRONY_AGENTS_DIR", certificates.path()).env_remove("PRONY_STORE");
    let output = command.output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    let limited = if said.contains("systemd-run") { Err(said.to_string()) } else { Ok(()) };
    let Some(()) = require(Need::ControlGroups, limited) else { return };
    assert!(output.status.success(), "{said}");
    let report = figures(&output);
    let is_shared =
        |point: &Value| point["levels"]["agents"].as_str().unwrap_or_default().contains(&agents[0].address);
    assert_alike(&sizes(&report, is_shared), &sizes(&report, |point| !is_shared(point)));
    let html = report.to_string();
    assert!(
        agents.iter().all(|agent| html.contains(&format!("load_host/{}/client/cpu_user", agent.address)))
    );
}

/// CPU time (s) and resident memory (bytes) of a process.
fn used(pid: u32) -> (f64, f64) {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_ascii_whitespace().collect();
    let number = |place: usize| fields[place - 3].parse::<f64>().expect("a number");
    // a tick is 10 ms, and a page 4 kB, wherever tests run
    ((number(14) + number(15)) / 100.0, number(24) * 4096.0)
}

#[test]
#[ignore = "long: 200 load hosts, and what they cost the coordinator"]
fn what_200_load_hosts_cost_the_coordinator() {
    const SECONDS: f64 = 10.0;
    let (server, certificates) = (NullServer::start(0).expect("a port"), certificates());
    let mut costs = Vec::new();
    for count in [20, 200] {
        let agents = agents(count, certificates.path(), &["--allow", "127.0.0.1:*"]);
        let connections = (4 * count).to_string();
        let rate = (20 * count).to_string();
        let flags =
            ["--connections", &*connections, "--rate", &*rate, "--duration", "18s", "--warm-up", "0s"];
        let child = load(&server, &addresses(&agents), certificates.path(), &flags).spawn().expect("prony");
        let begun = server.statements();
        wait_until("the load runs", || server.statements() > begun + 2 * 20 * count as u64);
        let (before, _) = used(child.id());
        thread::sleep(Duration::from_secs_f64(SECONDS));
        let (after, memory) = used(child.id());
        let figures = figures(&child.wait_with_output().expect("prony"));
        assert_eq!(figures["client_processes"].as_array().map(Vec::len), Some(count));
        costs.push(((after - before) / SECONDS, memory));
        let (cpu, skew) = ((after - before) / SECONDS, &figures["start_skew_ms"]);
        eprintln!("{count} load hosts: {cpu} processors, {memory} bytes, begun within {skew} ms");
    }
    let [(few_cpu, few_memory), (many_cpu, many_memory)] = costs[..] else { panic!("{costs:?}") };
    let each = ((many_cpu - few_cpu) / 180.0, (many_memory - few_memory) / 180.0);
    eprintln!("for each load host: {:.3} ms of CPU per second, {:.0} kB", each.0 * 1e3, each.1 / 1e3);
    assert!(each.0 < 0.002 && each.1 < 1e6, "{each:?}");
}
