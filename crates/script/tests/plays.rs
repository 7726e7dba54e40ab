//! Scripts as streams of loads, on the null server: what is due, measured, counted and told.

mod support;

use load::{
    Error, Here, Loader as _, Outcome, Spec, Stop, WarmUp,
    null::NullServer,
    sample::End,
    spec::{Arrival, ConnectionMode, Gaps, Limit, Rate, Script, Stream, Workload, script::Value},
};
use script::Player;
use std::time::Duration;
use support::target;

static PLAYER: Player = Player { modules: &[] };

fn stream(text: &str, connections: u32) -> Stream {
    let script = Script { file: "mine.lua".to_owned(), text: text.to_owned(), ..Script::default() };
    Stream::new("main", Workload::of_script("mine", script), connections)
}

fn spec(server: &NullServer, streams: Vec<Stream>) -> Spec {
    let mut spec = Spec::new(target(server), streams, Duration::ZERO, Duration::from_secs(1));
    spec.workers = Some(2);
    spec
}

fn run(spec: &Spec) -> Result<Outcome, Error> {
    let here = Here { interpreter: Some(&PLAYER), ..Here::default() };
    here.run_until_warm(spec, &Stop::default(), &mut |_| WarmUp::Goes)
}

const THREE: &str = "function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query('BEGIN')
  con:query('SELECT 1')
  con:query('COMMIT')
end";

fn count(outcome: &Outcome, kind: &str) -> u64 {
    let statements = &outcome.streams[0].statements;
    statements.iter().find(|tally| tally.name == kind).map_or(0, |tally| tally.count)
}

#[test]
fn events_are_the_transactions_and_statements_are_counted_by_their_verbs() {
    let server = NullServer::start(0).expect("a server");
    let limited = Stream { limit: Some(Limit::Transactions(3000)), ..stream(THREE, 40) };
    let spec = Spec { interval: Duration::from_secs(30), ..spec(&server, vec![limited]) };
    let outcome = run(&spec).expect("an outcome");
    let told = &outcome.streams[0];
    assert_eq!((outcome.end.clone(), told.limit_reached), (End::Completed, Some(true)));
    assert_eq!((told.transactions.count, told.by_transaction[0].name.as_str()), (3000, "mine"));
    for kind in ["begin", "select", "commit"] {
        assert_eq!(count(&outcome, kind), 3000, "{kind}");
    }
    assert_eq!(count(&outcome, "insert"), 0);
    assert_eq!(told.transactions_by_connection.iter().sum::<u64>(), 3000);
    assert_eq!(told.connections_opened, 40);
    let longest = |kind: &str| {
        told.statements.iter().find(|tally| tally.name == kind).map(|tally| tally.service.max_ns())
    };
    assert!(Some(told.transactions.service.max_ns()) >= longest("select"), "a part is not longer");
}

#[test]
fn a_script_and_a_program_run_side_by_side() {
    use load::spec::{Expect, Piece, Statement, Step, Transaction};
    let server = NullServer::start(0).expect("a server");
    let statement = Statement {
        kind: "select".to_owned(),
        pieces: vec![Piece::Sql("SELECT 1".to_owned())],
        text_only: true,
        keep: Vec::new(),
        expect: Expect::Anything,
    };
    let transaction =
        Transaction { name: "one".to_owned(), weight: 1.0, steps: vec![Step::Statement(statement)] };
    let program = Stream::new("beside", Workload::new("one", 1, vec![transaction]), 3);
    let outcome = run(&spec(&server, vec![stream(THREE, 4), program])).expect("an outcome");
    let [script, program] = &outcome.streams[..] else { panic!("two streams") };
    assert!(script.transactions.count > 100 && program.transactions.count > 100, "both work");
    assert!(script.transactions_by_connection.iter().all(|&count| count > 0), "each of its connections");
    assert_eq!(program.in_flight_at_end, 3, "closed loops always have one");
    // the interval may end just where a script's connection has ended one event and not begun the next
    assert!(script.in_flight_at_end <= 4, "{}", script.in_flight_at_end);
}

#[test]
fn an_open_loop_starts_events_when_they_are_due() {
    let server = NullServer::start(0).expect("a server");
    let rate = Arrival::Open { rate: Rate::Constant(400.0), gaps: Gaps::Constant, lateness_max: None };
    let open = Stream { arrival: rate, ..stream(THREE, 20) };
    let outcome = run(&spec(&server, vec![open])).expect("an outcome");
    let told = &outcome.streams[0];
    let schedule = told.schedule.as_ref().expect("a schedule");
    assert_eq!(
        schedule.backlog + schedule.offered,
        schedule.started + schedule.skipped + schedule.never_sent
    );
    assert_eq!(schedule.offered, 400);
    assert!(told.transactions.response().max_ns() >= told.transactions.service.max_ns());
    let think = Arrival::Think(load::spec::Think::Fixed(Duration::from_millis(100)));
    let outcome = run(&spec(&server, vec![Stream { arrival: think, ..stream(THREE, 10) }])).expect("one");
    let events = outcome.streams[0].transactions.count;
    assert!((50..=110).contains(&events), "10 connections, each 10 events in a second at most: {events}");
}

#[test]
fn an_error_of_the_script_ends_the_load_with_its_line_and_connection() {
    let server = NullServer::start(0).expect("a server");
    let text = "function event(tid)\n  if tid == 2 then\n    return nothing.at_all\n  end\n  \
                sysbench.sql.driver():connect():query('SELECT 1')\nend";
    let outcome = run(&spec(&server, vec![stream(text, 4)])).expect("an outcome");
    let End::Failed(broken) = outcome.end else { panic!("it failed") };
    let reason = broken.to_string();
    assert!(reason.starts_with("mine.lua:3: attempt to index global 'nothing'"), "{reason}");
    assert!(reason.ends_with("(connection 2)"), "{reason}");
    let before = run(&spec(&server, vec![stream("function thread_init()\n  error('no')\nend", 1)]));
    let message = before.expect_err("not begun").to_string();
    assert!(message.contains("mine.lua:2: no (connection 0)"), "{message}");
    let unread = run(&spec(&server, vec![stream("function event( end", 1)])).expect_err("no Lua").to_string();
    assert!(unread.contains("mine.lua:1:"), "{unread}");
}

#[test]
fn nobody_to_connect_to_is_said_as_of_any_load() {
    let server = NullServer::start(0).expect("a server");
    let mut spec = spec(&server, vec![stream(THREE, 3)]);
    drop(server);
    spec.connect_timeout = Duration::from_secs(1);
    let error = run(&spec).expect_err("nobody is there").to_string();
    assert!(error.contains("cannot reach") || error.contains("could be opened"), "{error}");
}

#[test]
fn what_a_script_does_itself_cannot_be_asked_of_the_load() {
    let server = NullServer::start(0).expect("a server");
    let short = Stream { connect: ConnectionMode::Transactions(1), ..stream(THREE, 1) };
    let error = run(&spec(&server, vec![short])).expect_err("refused").to_string();
    assert_eq!(
        error,
        "stream `main` runs a script, which does not allow `reconnect`: the script itself opens and closes \
         connections"
    );
    let nobody = load::run(&spec(&server, vec![stream(THREE, 1)]), &Stop::default(), &mut |_| ());
    assert_eq!(nobody.expect_err("refused").to_string(), "this program runs no scripts");
}

#[test]
fn scripts_find_their_options_other_scripts_and_numbers_that_no_other_connection_has() {
    let server = NullServer::start(0).expect("a server");
    let text = "local shared = require('shared')\ndofile('/nowhere/more.lua')\nlocal seen = {}\nfunction \
                event(tid)\n  assert(shared.answer == 42 and more == 'more')\n  assert(sysbench.opt.scale == \
                7 and sysbench.opt.threads == 2 and sysbench.opt.time == 1)\n  \
                sysbench.sql.driver():connect():disconnect()\nend";
    let script = Script {
        file: "mine.lua".to_owned(),
        text: text.to_owned(),
        others: vec![
            ("shared".to_owned(), "return { answer = 42 }".to_owned()),
            ("/nowhere/more.lua".to_owned(), "more = 'more'".to_owned()),
        ],
        options: vec![("scale".to_owned(), Value::Number(7.0))],
        globals: Vec::new(),
    };
    let stream = Stream::new("main", Workload::of_script("mine", script), 2);
    let outcome = run(&spec(&server, vec![stream])).expect("an outcome");
    assert_eq!(outcome.end, End::Completed);
    assert!(outcome.streams[0].transactions.count > 0);
}
