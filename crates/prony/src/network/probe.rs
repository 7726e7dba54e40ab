//! How long a round trip takes: over the very way that the load takes, with a statement that costs the server
//! next to nothing.

use super::namespace::{Node, open_in};
use load::{
    client::{Connection, Error},
    spec::Target,
};
use std::time::{Duration, Instant};

/// Round trips that are measured each way. The median of so many is off by a few microseconds on a quiet
/// machine.
const ROUND_TRIPS: usize = 60;
/// Nobody waits longer for them all.
const LIMIT: Duration = Duration::from_secs(3);
/// How long opening a connection may take.
const WAIT: Duration = Duration::from_secs(30);
/// No table, no row.
const STATEMENT: &str = "DO 1";

/// What the way `through` adds to a round trip in comparison with `direct`: the difference of the medians,
/// measured in turns.
///
/// # Errors
/// Where the server does not answer on either way.
pub fn round_trip(direct: &Target, through: &Target) -> Result<Duration, Error> {
    compare([Connection::open(direct, WAIT)?, Connection::open(through, WAIT)?])
}

/// The same where the way `through` begins in the namespace of a node.
///
/// # Errors
/// As [`round_trip`].
pub fn round_trip_from(node: &Node, direct: &Target, through: &Target) -> Result<Duration, Error> {
    compare([Connection::open(direct, WAIT)?, open_in(node, through, WAIT)?])
}

fn compare(mut ways: [Connection; 2]) -> Result<Duration, Error> {
    let mut taken = [const { Vec::new() }; 2];
    let begun = Instant::now();
    while taken[1].len() < ROUND_TRIPS && (taken[1].len() < 3 || begun.elapsed() < LIMIT) {
        for (way, taken) in ways.iter_mut().zip(&mut taken) {
            let asked = Instant::now();
            way.query(STATEMENT)?;
            taken.push(asked.elapsed());
        }
    }
    let [direct, through] = taken.map(|mut taken| {
        taken.sort();
        taken[taken.len() / 2]
    });
    Ok(through.saturating_sub(direct))
}
