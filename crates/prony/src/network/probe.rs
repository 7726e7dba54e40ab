//! How long a round trip takes, and how much passes per second, measured over the same path as the load, with
//! statements that cost the server next to nothing.

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
/// Large replies of which the median tells how much goes through.
const REPLIES: usize = 3;
/// Bytes of such a reply at most: less than every server lets through in one packet.
const REPLY_MAX: u64 = 500_000;
/// How long one is to take.
const REPLY_TIME: Duration = Duration::from_millis(40);

/// What the path `through` adds to a round trip compared with `direct`: the difference of the medians,
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

/// Bytes of a large reply that come on the way `through` in a second, beside what a reply takes on the way
/// `direct`, where so many are stated. `None`: the server does not answer, or the difference is too small.
#[must_use]
pub fn bandwidth(direct: &Target, through: &Target, stated: u64) -> Option<u64> {
    let bytes = ((stated as f64 * REPLY_TIME.as_secs_f64()) as u64).clamp(1, REPLY_MAX);
    // of the same letter again and again compression would leave nothing
    let [direct, through] = [direct, through].map(|way| Target { compress: false, ..way.clone() });
    let taken = |way: &Target| {
        let mut connection = Connection::open(way, WAIT).ok()?;
        let [small, large] = [1, bytes].map(|bytes| {
            let statement = format!("SELECT REPEAT('x', {bytes})");
            let mut taken: Vec<Duration> = (0..REPLIES)
                .map(|_| {
                    let asked = Instant::now();
                    connection.query(&statement).map(|_| asked.elapsed())
                })
                .collect::<Result<_, _>>()
                .ok()?;
            taken.sort();
            Some(taken[REPLIES / 2])
        });
        Some(large?.saturating_sub(small?))
    };
    let longer = taken(&through)?.checked_sub(taken(&direct)?).filter(|longer| !longer.is_zero())?;
    Some(((bytes - 1) as f64 / longer.as_secs_f64()) as u64)
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
