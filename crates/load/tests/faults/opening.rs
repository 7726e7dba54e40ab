//! Before a load begins: it begins when every connection is open at that time, not when there were enough
//! logins; and a server with which that never happens is given up.

use crate::ledger::{LOST, completed, load_of};
use crate::support::ms;
use load::{Progress, Stop, null::NullServer};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

#[test]
fn a_connection_that_was_lost_and_came_back_is_not_two() {
    const CONNECTIONS: u32 = 4;
    let server = NullServer::start(0).expect("a port");
    let mut spec = load_of(&server, CONNECTIONS, ms(300));
    spec.open_rate = Some(20.0);
    spec.workers = Some(2);
    let (mut is_cut, mut told, mut accepted_at_start) = (false, Vec::new(), 0);
    let outcome = load::run(&spec, &Stop::default(), &mut |event| match event {
        Progress::Opening { opened, .. } => {
            told.push(opened);
            if opened == 2 && !is_cut {
                is_cut = true;
                server.cut();
            }
        }
        Progress::Started => accepted_at_start = server.connections(),
        Progress::Sample(_) | Progress::Processes(_) | Progress::Seen(_) => {}
    });
    let outcome = outcome.expect("the load begins");
    // one to see whether anybody is there, two that were lost, and four that were open
    assert_eq!(accepted_at_start, 7, "{told:?}");
    assert_eq!(told.last(), Some(&CONNECTIONS), "{told:?}");
    let stream = completed(&outcome);
    assert!(stream.errors.is_empty() && stream.outages.is_empty(), "{:?}", stream.errors);
    assert_eq!((stream.opening.opened, stream.reconnecting.opened), (6, 0));
    assert!(stream.transactions_by_connection.iter().all(|&count| count > 0));
}

#[test]
fn a_server_at_which_nobody_stays_ends_in_an_error() {
    let server = NullServer::start(0).expect("a port");
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let mut spec = load_of(&server, 2, ms(300));
    (spec.open_rate, spec.workers) = (Some(5.0), Some(1));
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                server.cut();
                thread::sleep(ms(10));
            }
        });
        let result = load::run(&spec, &Stop::default(), &mut |_| ());
        over.store(true, Ordering::SeqCst);
        result
    });
    let Err(load::Error::Opening { wanted: 2, code: LOST, .. }) = result else { panic!("{result:?}") };
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
}
