//! A load that several processes share: what it measures, how it ends when one of them goes, and that none
//! outlives the one who started them.

mod support {
    pub(crate) mod processes;
}

use load::{
    Loader, Outcome, Progress, Spec, Stop,
    null::NullServer,
    sample::End,
    spec::{Address, Stream, Target, Tls, Trust},
};
use prony::{
    loader,
    study::{self, Adjustments},
    workload,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use support::processes::{PATIENCE, is_alive, load_processes_of, wait_until};

const LAUNCHER: &str = env!("CARGO_BIN_EXE_prony");

fn processes(count: u32) -> Box<dyn Loader> {
    loader::in_processes(count, &[], Path::new(LAUNCHER))
}

fn spec(server: &NullServer, connections: u32, interval: Duration) -> Spec {
    let target = Target {
        address: Address::Tcp { host: "127.0.0.1".to_owned(), port: server.address().port() },
        user: "somebody".to_owned(),
        password: load::spec::Secret::new("a-password"),
        database: None,
        tls: Tls::default(),
        trust: Trust::default(),
        compress: false,
    };
    let workload = workload::builtin("oltp_point_select", &workload::Options::default()).expect("built in");
    Spec::new(target, vec![Stream::new("main", workload, connections)], Duration::ZERO, interval)
}

/// Runs a load in two processes and does something to the second of them once it has begun.
fn disturbed(interval: Duration, act: impl Fn(Pid)) -> (Result<Outcome, load::Error>, Vec<u32>) {
    let server = NullServer::start(0).expect("a port");
    let (mut pids, mut is_done) = (Vec::new(), false);
    let result = processes(2).run(&spec(&server, 4, interval), &Stop::default(), &mut |event| match event {
        Progress::Processes(told) => pids = told,
        Progress::Sample(_) if !is_done => {
            is_done = true;
            act(Pid::from_raw(pids[1] as i32).expect("a process"));
        }
        _ => {}
    });
    (result, pids)
}

#[test]
fn processes_that_share_a_load_give_one_result() {
    let server = NullServer::start(0).expect("a port");
    let mut pids = Vec::new();
    let outcome =
        processes(3).run(&spec(&server, 7, Duration::from_millis(1_500)), &Stop::default(), &mut |event| {
            if let Progress::Processes(told) = event {
                // a password is in no command line and no environment
                for pid in &told {
                    for file in ["cmdline", "environ"] {
                        let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                        assert!(!String::from_utf8_lossy(&text).contains("a-password"), "{file}");
                    }
                }
                pids = told;
            }
        });
    let outcome = outcome.expect("the load begins");
    assert_eq!((pids.len(), &outcome.end), (3, &End::Completed));
    let main = &outcome.streams[0];
    assert_eq!(main.transactions_by_connection.len(), 7);
    assert!(main.transactions_by_connection.iter().all(|&count| count > 0), "{main:?}");
    assert_eq!(main.transactions.count, main.transactions_by_connection.iter().sum::<u64>());
    assert_eq!(main.transactions.count, main.transactions.service.count());
    let parts = &outcome.client.parts;
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["load process 1 of 3", "load process 2 of 3", "load process 3 of 3"]);
    let cpu: Duration = parts.iter().map(|part| part.cpu_user + part.cpu_system).sum();
    assert_eq!(cpu, outcome.client.cpu_user + outcome.client.cpu_system);
    assert!(cpu > Duration::from_millis(20), "{cpu:?}");
    assert!(outcome.client.start_skew() < Duration::from_secs(1), "{:?}", outcome.client.start_skew());
    assert!(!pids.into_iter().any(is_alive), "they end with the load");
}

#[test]
fn a_process_that_is_killed_is_an_error_that_names_it_and_ends_the_others() {
    let begun = Instant::now();
    let (result, pids) = disturbed(PATIENCE * 2, |pid| kill_process(pid, Signal::KILL).expect("it lives"));
    let error = result.expect_err("its part is missing").to_string();
    assert!(error.starts_with("load process 2 of 2: it is gone (signal: 9"), "{error}");
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    assert!(!pids.into_iter().any(is_alive));
}

#[test]
#[ignore = "long: a process counts as hung after 10 s"]
fn a_process_that_hangs_is_an_error_that_names_it() {
    let (result, pids) = disturbed(PATIENCE * 2, |pid| kill_process(pid, Signal::STOP).expect("it lives"));
    let error = result.expect_err("its part is missing").to_string();
    assert_eq!(error, "load process 2 of 2: it has not reported for 10 s: it hangs");
    assert!(!pids.into_iter().any(is_alive));
}

/// The load as a process that carries out a part of it gets it.
fn passed_on(spec: &Spec) -> Spec {
    let bytes = postcard::to_allocvec(spec).expect("memory");
    postcard::from_bytes(&bytes).unwrap_or_else(|error| panic!("{error}: {spec:?}"))
}

#[test]
fn every_load_of_every_built_in_study_reaches_another_process_as_it_is() {
    let server = NullServer::start(0).expect("a port");
    let mut spec = spec(&server, 1, Duration::from_secs(1));
    spec.target.password = load::spec::Secret::default(); // goes beside it
    let mut count = 0;
    for built_in in study::builtin() {
        for scale in [None, Some("quick"), Some("bench"), Some("published")] {
            let adjustments = Adjustments { scale: scale.map(str::to_owned), ..Adjustments::default() };
            let Ok(study) = study::parse(built_in.name, built_in.name, built_in.text, &adjustments) else {
                // not every study has every scale
                assert!(scale.is_some(), "{}", built_in.name);
                continue;
            };
            for treatment in study.treatments {
                spec.streams = treatment.streams;
                (spec.sources, spec.open_rate) = (treatment.client.sources, treatment.client.open_rate);
                spec.reply_timeout = treatment.client.reply_timeout;
                assert_eq!(passed_on(&spec), spec, "{} {scale:?}", built_in.name);
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
    for built_in in workload::list() {
        let workload = workload::builtin(built_in.name, &workload::Options::default()).expect("built in");
        spec.streams = vec![Stream::new("main", workload, 3)];
        assert_eq!(passed_on(&spec), spec, "{}", built_in.name);
    }
}

fn prony(server: &NullServer, flags: &[&str]) -> Command {
    let mut command = Command::new(LAUNCHER);
    let url = format!("mysql://somebody:a-password@127.0.0.1:{}/test", server.address().port());
    command.args(["load", "oltp_point_select", "--url", &url, "--connections", "8", "--json"]).args(flags);
    command
}

#[test]
fn the_command_says_which_processes_shared_its_load() {
    let server = NullServer::start(0).expect("a port");
    let flags = ["--processes", "4", "--duration", "1s", "--warm-up", "0s", "--workers", "1"];
    let output = prony(&server, &flags).output().expect("prony");
    let said = String::from_utf8_lossy(&output.stderr);
    let figures: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let shared = figures["client_processes"].as_array().expect("a list");
    assert_eq!(shared.len(), 4, "{figures}");
    assert!(shared.iter().all(|each| each["threads"] == 1 && each["memory_bytes_max"].as_u64() > Some(0)));
    assert!(figures["start_skew_ms"].as_f64().is_some_and(|skew| skew >= 0.0));
    assert_eq!(figures["client_threads_busy"].as_array().map(Vec::len), Some(4));
    assert!(figures["transactions"].as_u64() > Some(0));
}

#[test]
fn load_processes_die_with_prony_however_it_dies() {
    let server = NullServer::start(0).expect("a port");
    let mut command = prony(&server, &["--processes", "2", "--duration", "300s", "--warm-up", "0s"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("prony");
    let mut found = Vec::new();
    wait_until("two load processes", || {
        found = load_processes_of(child.id());
        found.len() == 2
    });
    child.kill().expect("it runs");
    child.wait().expect("it was started here");
    wait_until("their end", || !found.iter().any(|&pid| is_alive(pid)));
}
