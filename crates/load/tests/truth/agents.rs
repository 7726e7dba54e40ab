//! Agents: who may call them, what they refuse, what becomes of a load when one is lost, and what is known of
//! their clocks. That loads in parts at agents are those of one process is tested with the other parts.

use crate::{
    support::{ms, select, spec},
    threads::{Authority, Threads, agents, loader},
};
use load::{
    Error, Forbidden, Loader, PartFailure, Progress, Spec, Stop,
    agent::{Limits, Wants, hold},
    null::NullServer,
    spec::{Arrival, Gaps, Rate, Stream},
    tls::Identity,
};
use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Nothing here takes nearly as long, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn long(server: &NullServer) -> Spec {
    spec(server.address(), Stream::new("main", select(), 4), PATIENCE)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(ms(10));
    }
}

#[test]
fn clocks_are_compared_before_and_after_and_all_begin_together() {
    let server = NullServer::start(0).expect("a port");
    let spec = spec(server.address(), Stream::new("main", select(), 6), ms(1_500));
    let outcome = agents(3).run(&spec, &Stop::default(), &mut |_| ()).expect("the load begins");
    assert_eq!(outcome.client.parts.len(), 3);
    for part in &outcome.client.parts {
        let clock = part.clock.expect("an agent has a clock of its own");
        for offset in [clock.before, clock.after] {
            // in truth it is the same clock
            assert!(offset.ahead_ns.unsigned_abs() <= offset.uncertainty_ns, "{part:?}");
            assert!(offset.uncertainty_ns < 500_000_000, "{part:?}");
        }
        assert_eq!(clock.drift(), Duration::ZERO);
    }
}

#[test]
fn an_agent_is_one_runs_at_a_time_and_free_when_that_has_ended() {
    let (authority, server) = (Authority::new(), NullServer::start(0).expect("a port"));
    let agent = Threads::allowing(&["127.0.0.1:*"]);
    let address = agent.serve(authority.of_agent("127.0.0.1"));
    let identity = authority.of_coordinator();
    let spec = spec(server.address(), Stream::new("main", select(), 2), ms(200));
    let held = hold(&address, &identity, ("a test", 1), Wants::of(&spec, 1)).expect("it is free");
    assert_eq!((held.host.processors, held.is_lost()), (2, false));
    let refused = hold(&address, &identity, ("another", 1), Wants::default()).map(drop);
    assert_eq!(refused, Err(PartFailure::Busy { run: "a test".to_owned() }));
    // a run that has the same name is another one
    let refused = hold(&address, &identity, ("a test", 2), Wants::default()).map(drop);
    assert_eq!(refused, Err(PartFailure::Busy { run: "a test".to_owned() }));
    // its own loads follow one another
    let own = loader(vec![address.clone()], Arc::clone(&identity));
    for _ in 0..3 {
        own.run(&spec, &Stop::default(), &mut |_| ()).expect("it is the run's");
    }
    drop(held);
    wait_until("it is free", || hold(&address, &identity, ("another", 1), Wants::default()).is_ok());
    let told = agent.told.lock().expect("no panic").join("\n");
    assert_eq!(told.matches("Load {").count(), 3, "{told}");
}

#[test]
fn an_agent_carries_out_only_what_its_start_allows() {
    let (authority, server) = (Authority::new(), NullServer::start(0).expect("a port"));
    let target = server.address().to_string();
    let limits = Limits {
        targets: vec![target.clone()],
        connections: Some(10),
        rate: Some(500),
        time: Some(Duration::from_secs(2)),
        ..Limits::default()
    };
    let agent = Threads { limits, ..Threads::allowing(&[]) };
    let address = agent.serve(authority.of_agent("127.0.0.1"));
    let identity = authority.of_coordinator();
    let own = loader(vec![address.clone()], Arc::clone(&identity));
    let open = |connections, rate| {
        let arrival = Arrival::Open { rate: Rate::Constant(rate), gaps: Gaps::Poisson, lateness_max: None };
        let stream = Stream { arrival, ..Stream::new("main", select(), connections) };
        spec(server.address(), stream, ms(300))
    };
    let other = NullServer::start(0).expect("a port");
    let mut elsewhere = open(4, 100.0);
    elsewhere.members.push(spec(other.address(), Stream::new("main", select(), 1), ms(1)).target);
    let longer = Spec { interval: Duration::from_secs(3), ..open(4, 100.0) };
    let closed = spec(server.address(), Stream::new("main", select(), 4), ms(300));
    let cases = [
        (elsewhere, Forbidden::Target { target: other.address().to_string(), allowed: target }),
        (open(11, 100.0), Forbidden::Connections { asked: 11, most: 10 }),
        (open(4, 501.0), Forbidden::Rate { asked: 501, most: 500 }),
        (closed, Forbidden::Unlimited { most: 500 }),
        (longer, Forbidden::Time { asked: 3, most: 2 }),
    ];
    for (spec, expected) in cases {
        let expected = PartFailure::Forbidden(expected);
        // it is refused when the agent is called, and again should the load be another one
        let refused = hold(&address, &identity, ("a test", 1), Wants::of(&spec, 1)).map(drop);
        assert_eq!(refused.as_ref(), Err(&expected));
        match own.run(&spec, &Stop::default(), &mut |_| ()) {
            Err(Error::Part { part, failure }) => {
                assert_eq!((part, failure), (format!("agent {address}"), expected));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(other.connections() + server.connections(), 0, "nothing was connected to");
    own.run(&open(10, 500.0), &Stop::default(), &mut |_| ()).expect("that is allowed");
}

#[test]
fn who_has_no_certificate_of_the_same_authority_is_turned_away_on_both_sides() {
    let (authority, foreign) = (Authority::new(), Authority::new());
    let agent = Threads::allowing(&["127.0.0.1:*"]);
    let call = |address: &str, identity: &Identity| {
        hold(address, identity, ("a test", 1), Wants::default()).map(drop)
    };
    let ours = agent.serve(authority.of_agent("127.0.0.1"));
    call(&ours, &authority.of_coordinator()).expect("both are ours");
    let cases = [
        (ours.clone(), foreign.of_coordinator(), "another authority's coordinator"),
        (ours, Arc::new(authority.of_agent("127.0.0.1")), "an agent that calls another"),
        (agent.serve(foreign.of_agent("127.0.0.1")), authority.of_coordinator(), "another authority's agent"),
        (agent.serve(authority.of_agent("10.9.8.7")), authority.of_coordinator(), "another host's agent"),
    ];
    for (address, identity, who) in cases {
        let refused = call(&address, &identity).expect_err(who);
        assert!(matches!(refused, PartFailure::Untrusted { .. }), "{who}: {refused:?}");
    }
}

#[test]
fn an_address_without_an_agent_is_told_from_one_that_is_busy() {
    let identity = Authority::new().of_coordinator();
    let call = |address: &str| hold(address, &identity, ("a test", 1), Wants::default()).map(drop);
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let refused = call(&free.to_string()).expect_err("nobody listens").to_string();
    assert!(refused.contains("cannot reach it") && refused.contains("prony agent"), "{refused}");
    let refused = call("no-such-host.invalid:7433").expect_err("no such name");
    assert!(matches!(refused, PartFailure::Unreachable { .. }), "{refused:?}");
    // something else listens there
    let server = NullServer::start(0).expect("a port");
    let refused = call(&server.address().to_string()).expect_err("a database server");
    assert!(matches!(refused, PartFailure::Untrusted { .. }), "{refused:?}");
}

/// What lies between a caller and an agent: hands on what both say until it is cut, or falls silent.
struct Wire {
    address: String,
    is_cut: Arc<AtomicBool>,
    is_silent: Arc<AtomicBool>,
}

impl Wire {
    fn to(agent: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (is_cut, is_silent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (cut, silent) = (Arc::clone(&is_cut), Arc::clone(&is_silent));
        thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                let called = TcpStream::connect(&agent).expect("the agent");
                for (mut from, mut to) in [
                    (caller.try_clone().expect("a socket"), called.try_clone().expect("a socket")),
                    (called, caller),
                ] {
                    let (cut, silent) = (Arc::clone(&cut), Arc::clone(&silent));
                    from.set_read_timeout(Some(ms(20))).expect("a socket");
                    thread::spawn(move || {
                        let mut bytes = [0; 4096];
                        while !cut.load(Ordering::Relaxed) {
                            match from.read(&mut bytes) {
                                Ok(0) => break,
                                Ok(_) if silent.load(Ordering::Relaxed) => {}
                                Ok(count) if to.write_all(&bytes[..count]).is_err() => break,
                                _ => {}
                            }
                        }
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        Self { address, is_cut, is_silent }
    }
}

/// Runs a load at two agents, to the second of which a wire leads, and does something to that as it goes on.
fn disturbed(spec: &Spec, act: impl Fn(&Progress, &Wire, &Threads)) -> (PartFailure, Threads) {
    let authority = Authority::new();
    let serve = |agent: &Threads| agent.serve(authority.of_agent("127.0.0.1"));
    let (first, second) = (Threads::allowing(&["127.0.0.1:*"]), Threads::allowing(&["127.0.0.1:*"]));
    let wire = Wire::to(serve(&second));
    let own = loader(vec![serve(&first), wire.address.clone()], authority.of_coordinator());
    let error = own.run(spec, &Stop::default(), &mut |progress| {
        act(&progress, &wire, &second);
    });
    let error = error.expect_err("its part is missing");
    let Error::Part { part, failure } = error else { panic!("{error}") };
    assert_eq!(part, format!("agent {}", wire.address), "the one that is lost is named");
    // nobody's load goes on
    for agent in [&first, &second] {
        let is_over = || agent.told.lock().expect("no panic").iter().any(|told| told.starts_with("Over"));
        wait_until("every agent's part ends", is_over);
    }
    (failure, second)
}

/// Whether a second has been told.
fn is_second(progress: &Progress, number: u32) -> bool {
    matches!(progress, Progress::Sample(sample) if sample.second == number)
}

#[test]
fn an_agent_that_is_lost_in_any_phase_is_named_and_ends_the_load_of_all() {
    let server = NullServer::start(0).expect("a port");
    let slow = Spec { open_rate: Some(4.0), ..long(&server) };
    let warm = Spec { warm_up: PATIENCE, ..long(&server) };
    type When = fn(&Progress) -> bool;
    let phases: [(&Spec, When); 3] = [
        (&slow, |progress| matches!(progress, Progress::Opening { opened: 1, .. })),
        (&warm, |progress| is_second(progress, 0)),
        (&long(&server), |progress| is_second(progress, 1)),
    ];
    for (spec, is_time) in phases {
        let begun = Instant::now();
        let (failure, _) = disturbed(spec, |progress, wire, _| {
            wire.is_cut.fetch_or(is_time(progress), Ordering::Relaxed);
        });
        let is_lost = matches!(failure, PartFailure::Gone { .. } | PartFailure::Cut { .. });
        assert!(is_lost && begun.elapsed() < PATIENCE / 2, "{failure} after {:?}", begun.elapsed());
    }
    // and at the end: all seconds are there, but not what is told last, since replies are waited for
    let short = Spec { interval: Duration::from_secs(2), ..long(&server) };
    let (failure, _) = disturbed(&short, |progress, wire, _| {
        if is_second(progress, 0) {
            server.stall(Duration::from_secs(8));
        }
        wire.is_cut.fetch_or(is_second(progress, 1), Ordering::Relaxed);
    });
    assert_eq!(failure, PartFailure::NoReport);
}

#[test]
fn a_load_process_that_is_lost_while_its_agent_lives_is_told_by_the_agent() {
    let server = NullServer::start(0).expect("a port");
    let (failure, _) = disturbed(&long(&server), |progress, _, agent| {
        if is_second(progress, 0) {
            for part in &*agent.running.lock().expect("no panic") {
                part.shutdown(Shutdown::Both).expect("it runs");
            }
        }
    });
    assert!(failure.to_string().contains("its socket was closed"), "{failure}");
}

#[test]
#[ignore = "long: an agent that cannot be heard counts as lost after 10 s, and gives up after 15 s"]
fn a_partition_is_noticed_on_both_sides() {
    let server = NullServer::start(0).expect("a port");
    let begun = Instant::now();
    let (failure, agent) = disturbed(&long(&server), |progress, wire, _| {
        wire.is_silent.fetch_or(is_second(progress, 0), Ordering::Relaxed);
    });
    assert!(matches!(failure, PartFailure::Silent { .. }), "{failure}");
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    let is_free = || agent.told.lock().expect("no panic").iter().any(|told| told.starts_with("Freed"));
    wait_until("the agent is free again", is_free);
}
