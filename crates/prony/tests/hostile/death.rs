//! Servers that are killed while a run goes on: the run goes on too.

use crate::program::{self, Home};
use prony::{
    plan::Plan,
    provision::{Places, Provisioner},
    report::Words,
    run::{self, Event, Note, TrialOutcome},
    study::{self, Adjustments},
    telemetry::Machine,
};
use rustix::process::{Pid, Signal, kill_process};
use std::{collections::BTreeMap, fs, path::PathBuf};

const STUDY: &str = r#"
title = "Deaths"
[server.a]
product = "mariadb"
version = "10.11"
[server.b]
product = "mariadb"
version = "10.11"
settings = { thread_handling = "pool-of-threads" }
[data]
rows = 500
[[stream]]
workload = "oltp_read_write"
connections = 2
[vary]
server = ["a", "b"]
[measure]
warm_up = "0s"
interval = "1200ms"
repeats = 2
settle = "0s"
"#;

/// What a run told, as far as it matters here.
#[derive(Debug, Default)]
struct Told {
    /// Name of the server, what was repeated, and why it failed.
    trials: Vec<(String, Option<u32>, Option<String>)>,
    /// Servers that died between trials, and why.
    deaths: Vec<(usize, String)>,
    complete: Option<bool>,
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("a server that runs");
}

/// Carries a study out; `meddle` hears each event with the processes of the servers as they were when they
/// were ready.
fn carry_out(
    home: &Home,
    text: &str,
    mut meddle: impl FnMut(&Event, &Plan, &BTreeMap<usize, u32>),
) -> (Told, Result<(), run::Error>) {
    let plan = study::parse("deaths", "deaths.toml", text, &Adjustments::default()).expect("a good study");
    let plan = Plan::from_study(&plan);
    let cache = Places::of_user().expect("a home").cache;
    let places =
        Places { cache, state: home.path().join("state/prony"), config: home.path().join("config/prony") };
    let provisioner = Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")));
    let (mut told, mut pids, mut known) = (Told::default(), BTreeMap::new(), plan.trials.clone());
    let stop = load::Stop::default();
    let result = run::carry_out(
        &plan,
        &Machine::of_this_host(),
        run::Done::default(),
        &provisioner,
        &stop,
        &mut |event| {
            match event {
                Event::ServerReady { server, description } => {
                    pids.insert(*server, description.pid.expect("a server of Prony's own"));
                }
                Event::TrialAdded { trial, .. } => known.push(*trial),
                Event::TrialFinished { trial, outcome } => {
                    let trial = known.iter().find(|each| each.number == *trial).expect("a known trial");
                    let name = plan.servers[plan.treatments[trial.treatment].server].name.clone();
                    let reason = match &**outcome {
                        TrialOutcome::Failed(failure) => Some(Words::default().failure(failure)),
                        TrialOutcome::Measured { .. } => None,
                    };
                    told.trials.push((name, trial.again_of, reason));
                }
                Event::Noted(Note::Died { server, reason }) => {
                    told.deaths.push((*server, Words::default().cause(reason)))
                }
                Event::RunFinished { complete } => told.complete = Some(*complete),
                _ => {}
            }
            meddle(event, &plan, &pids);
            Ok(())
        },
    );
    (told, result)
}

#[test]
fn servers_that_are_killed_between_and_within_trials_are_started_again() {
    let home = Home::new();
    let mut first = None;
    let mut killed_within = false;
    let (told, result) = carry_out(&home, STUDY, |event, plan, pids| {
        let server_of = |trial: u32| plan.treatments[plan.trials[trial as usize].treatment].server;
        match event {
            // between trials: the server of the first one, which has another trial to do
            Event::TrialFinished { trial, .. } if first.is_none() => {
                first = Some(server_of(*trial));
                kill(pids[&server_of(*trial)]);
            }
            // within one: the other server
            Event::TrialSample { trial, .. }
                if !killed_within && *trial < 4 && first.is_some_and(|one| one != server_of(*trial)) =>
            {
                killed_within = true;
                kill(pids[&server_of(*trial)]);
            }
            _ => {}
        }
    });
    result.unwrap_or_else(|error| panic!("{error}: {told:?}"));
    let dead = first.expect("a trial ended");
    let (between, within) = if dead == 0 { ("a", "b") } else { ("b", "a") };
    assert!(killed_within && told.complete == Some(true), "{told:?}");
    // the death that no trial saw is told apart
    let [(server, reason)] = &told.deaths[..] else { panic!("{told:?}") };
    assert_eq!(*server, dead);
    for words in ["exited after", "signal: 9 (SIGKILL)"] {
        assert!(reason.contains(words), "{reason}");
    }
    assert!(!reason.contains("while it was starting"), "{reason}");
    let of = |name: &str| told.trials.iter().filter(|(server, ..)| server == name).collect::<Vec<_>>();
    let failed: Vec<_> = of(within).into_iter().filter(|(.., reason)| reason.is_some()).collect();
    let [(_, None, Some(reason))] = &failed[..] else { panic!("{told:?}") };
    assert!(reason.contains("exited after") && reason.contains("SIGKILL"), "{reason}");
    // the failed one is repeated, and well
    assert!(of(within).iter().any(|(_, again, reason)| again.is_some() && reason.is_none()), "{told:?}");
    assert!(of(between).iter().all(|(.., reason)| reason.is_none()), "{told:?}");
}

#[test]
fn a_server_that_cannot_be_started_again_costs_its_own_trials_only() {
    let home = Home::new();
    let mut gone = None;
    let (told, result) = carry_out(&home, STUDY, |event, plan, pids| {
        if let (Event::TrialFinished { trial, .. }, None) = (event, gone) {
            let server = plan.treatments[plan.trials[*trial as usize].treatment].server;
            gone = Some(server);
            let line = fs::read(format!("/proc/{}/cmdline", pids[&server])).expect("it runs");
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let file = line.split([' ', '=']).find(|word| word.ends_with("my.cnf")).expect("an option file");
            kill(pids[&server]);
            let data = PathBuf::from(file).with_file_name("data");
            fs::remove_dir_all(&data).expect("its data");
            fs::write(&data, "in the way").expect("a file");
        }
    });
    result.unwrap_or_else(|error| panic!("{error}: {told:?}"));
    let gone = ["a", "b"][gone.expect("a trial ended")];
    for (name, _, reason) in &told.trials {
        let first = told.trials.iter().find(|(server, ..)| server == name).expect("one");
        let is_first = std::ptr::eq(reason, &first.2);
        assert_eq!(reason.is_some(), name == gone && !is_first, "{told:?}");
    }
    // those that cannot be measured are not repeated
    assert_eq!(told.trials.len(), 4, "{told:?}");
    assert_eq!(told.complete, Some(true));
}

#[test]
fn a_resumed_run_measures_what_a_death_cost_and_is_no_failure() {
    let home = Home::new();
    let study = format!("{STUDY}repeat_invalid = 0\n")
        .replace("interval = \"1200ms\"", "interval = \"3s\"")
        .replace("connections = 2", "connections = 20");
    home.file("deaths.toml", &study.replace("repeats = 2", "repeats = 1"));
    let run = |more: &[&str]| {
        let arguments = [&["run", "deaths.toml", "--report", "report.html"], more].concat();
        let mut command = home.command(&arguments);
        program::with_servers(&mut command);
        program::start(&mut command)
    };
    let running = run(&[]);
    let begun = std::time::Instant::now();
    // the first trial runs on the server that has more connections than loading takes
    let busy = loop {
        assert!(begun.elapsed().as_secs() < 100, "no trial begins");
        std::thread::sleep(std::time::Duration::from_millis(50));
        let servers = program::servers_in(home.path());
        if let Some(pid) = servers.into_iter().find(|pid| program::connections_of(*pid) >= 15) {
            break pid;
        }
    };
    kill(busy);
    let ended = program::wait(running);
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(ended.said().contains("1 of 2 trials could not be measured"), "{}", ended.said());
    assert!(ended.said().contains("exited after"), "{}", ended.said());
    let ended = program::wait(run(&["--resume"]));
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let ended = program::wait(run(&["--resume"]));
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains("is complete"), "{}", ended.said());
}
