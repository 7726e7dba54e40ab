//! Scripts on the null server: many connections on few threads, errors, limits, hooks.

mod support;

use load::{
    Stop,
    hub::Way,
    null::NullServer,
    spec::{Distribution, Distributions},
};
use script::{
    Ended, Error, How, Ignored, Level, Listener, Options, Random, Script, Session, Settings, Watch,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use support::target;

#[derive(Clone, Default)]
struct Ear(Arc<Mutex<String>>);

impl Listener for Ear {
    fn out(&self, text: &str) {
        self.0.lock().expect("a lock").push_str(text);
    }

    fn log(&self, level: Level, text: &str) {
        self.out(&format!("{level}: {text}\n"));
    }
}

fn settings(server: &NullServer, threads: u32) -> Settings {
    Settings {
        threads,
        ways: vec![Way::to(&target(server)).expect("a way")],
        places: vec!["the null server".to_owned()],
        driver: "mysql".to_owned(),
        prepares: true,
        dry_run: false,
        ignored: Ignored::Codes(vec![1213]),
        random: Random { default: Distribution::Uniform, distributions: Distributions::SYSBENCH, seed: 1 },
        events: 0,
        time: Duration::ZERO,
        warm_up: Duration::ZERO,
        forced_shutdown: None,
        rate: 0.0,
        counting: (0, 1),
        workers: Some(2),
        arguments: Vec::new(),
        command: Some("run".to_owned()),
        search_path: Vec::new(),
    }
}

fn run(text: &str, settings: Settings) -> (Result<Ended, Error>, String) {
    let ear = Ear::default();
    let script = Script::new("mine.lua".to_owned(), text.as_bytes().to_vec(), &[]);
    let result = Session::open(script, settings, Options::default(), Box::new(ear.clone()))
        .and_then(|mut session| session.run(&Watch::default(), &Stop::default(), &mut |_| ()));
    let said = ear.0.lock().expect("a lock").clone();
    (result, said)
}

const QUERIES: &str = "function thread_init() con = sysbench.sql.driver():connect() end\nfunction event() \
                       con:query('SELECT 1') end";

#[test]
fn every_event_of_many_connections_is_counted_once() {
    let server = NullServer::start(0).expect("a server");
    let (ended, said) = run(QUERIES, Settings { events: 3000, ..settings(&server, 300) });
    let ended = ended.unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!((ended.stat.tally.events(), ended.stat.tally.queries()), (3000, 3000));
    assert_eq!(ended.stat.tally.threads.len(), 300);
    assert_eq!(ended.stat.tally.threads.iter().map(|(events, _)| events).sum::<u64>(), 3000);
}

#[test]
fn connections_have_globals_of_their_own_and_wait_beside_each_other() {
    let server = NullServer::start(0).expect("a server");
    // each event sleeps: 20 connections on 2 threads would take 4 s one after another
    let text = "local ffi = require('ffi')\nffi.cdef('int usleep(unsigned int);')\nn = 0\nfunction \
                event(tid)\n  n = n + 1\n  assert(n == 1, 'globals are shared')\n  ffi.C.usleep(400000)\nend";
    let began = std::time::Instant::now();
    let (ended, said) = run(text, Settings { events: 20, ..settings(&server, 20) });
    assert!(ended.is_ok(), "{said}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn an_error_names_script_line_and_connection() {
    let server = NullServer::start(0).expect("a server");
    let (ended, said) = run("function event()\n  local x = nil\n  return x.y\nend", settings(&server, 1));
    assert!(matches!(ended, Err(Error::Failed)), "{said}");
    assert!(said.contains("`thread_run' function failed: mine.lua:3: attempt to index local 'x'"), "{said}");
    assert!(said.contains("(thread #0)"), "{said}");
}

#[test]
fn an_event_that_is_to_begin_anew_does_and_counts_once() {
    let server = NullServer::start(0).expect("a server");
    let text = "tries = 0\nsysbench.hooks.before_restart_event = function() print('again') end\nfunction \
                event()\n  tries = tries + 1\n  if tries < 3 then error({ errcode = \
                sysbench.error.RESTART_EVENT }) end\nend";
    let (ended, said) = run(text, Settings { events: 1, ..settings(&server, 1) });
    assert_eq!(ended.expect("a run").stat.tally.events(), 1);
    assert_eq!(said.matches("again").count(), 2, "{said}");
}

#[test]
fn a_script_may_wait_within_its_own_coroutines() {
    let server = NullServer::start(0).expect("a server");
    let text = "function event()\n  con = con or sysbench.sql.driver():connect()\n  local steps = \
                coroutine.wrap(function() for i = 1, 3 do con:query('SELECT 1') coroutine.yield(i) end \
                end)\n  assert(steps() + steps() + steps() == 6)\nend";
    let (ended, said) = run(text, Settings { events: 5, ..settings(&server, 1) });
    assert_eq!(ended.unwrap_or_else(|error| panic!("{error}: {said}")).stat.tally.queries(), 15);
}

#[test]
fn an_open_loop_keeps_its_rate_and_what_hangs_is_cut_off() {
    let server = NullServer::start(0).expect("a server");
    let time = Duration::from_secs(2);
    let (ended, said) = run(QUERIES, Settings { rate: 500.0, time, ..settings(&server, 8) });
    let events = ended.unwrap_or_else(|error| panic!("{error}: {said}")).stat.tally.events();
    // 1000 are due; the count of a Poisson process is within 5 standard deviations
    assert!((840..=1160).contains(&events), "{events}");
    let hangs = "function event() require('ffi').C.usleep(60000000) end";
    let settings = settings(&server, 3);
    let forced_shutdown = Some(Duration::from_millis(100));
    let time = Duration::from_secs(1);
    let (ended, said) = run(hangs, Settings { time, forced_shutdown, ..settings });
    assert_eq!(ended.unwrap_or_else(|error| panic!("{error}: {said}")).how, How::Forced(3));
}
