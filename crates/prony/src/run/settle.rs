//! Waits until a server has done what trials before have left it to do: dirty pages are written, old versions
//! of rows purged.
//!
//! Otherwise a trial pays for its predecessor, and which trials do depends on their order. At a server that
//! Prony started, the writing is hurried by some of its variables; then all variables are made what they
//! were, since setting these moves others. Elsewhere nothing is changed, and purge alone waited for.

use crate::provision::{Globals, globals, put_back};
use load::{
    Stop,
    client::{Connection, Error},
};
use serde::{Deserialize, Serialize};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Dirty pages that do not matter: statistics and the like are always being written. Of the pool, at least 32
/// pages.
const DIRTY_SHARE: u64 = 1000;
const DIRTY_PAGES_MIN: u64 = 32;
/// Entries of the history list that do not matter.
const HISTORY_MAX: u64 = 100;
/// A history list that has not changed for so long is purged as far as this server ever does: before 8.0 it
/// cuts the list only every 128 batches.
const STILL: Duration = Duration::from_millis(1500);
/// Between two looks.
const POLL: Duration = Duration::from_millis(100);
/// How often progress is told.
const TELL: Duration = Duration::from_secs(1);
/// What makes a server write its dirty pages, now and fast, in this order: MySQL takes no capacity above the
/// highest, and MariaDB raises that with the other.
const HURRY: [(&str, u64); 4] = [
    ("innodb_io_capacity_max", IO_CAPACITY),
    ("innodb_io_capacity", IO_CAPACITY),
    ("innodb_max_dirty_pages_pct_lwm", 0),
    ("innodb_max_dirty_pages_pct", 0),
];
/// Pages in a second: what a good disk writes. One that is set higher stays.
const IO_CAPACITY: u64 = 10_000;

/// What was waited for before a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// How long.
    pub took: Duration,
    /// Pages that were dirty at the end.
    pub dirty_pages: u64,
    /// Length of the history list at the end: transactions whose old versions are not purged.
    pub history: u64,
    /// Whether the limit ended it.
    pub limit_reached: bool,
}

impl Settled {
    /// Of two servers, one after the other.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            took: self.took + other.took,
            dirty_pages: self.dirty_pages + other.dirty_pages,
            history: self.history + other.history,
            limit_reached: self.limit_reached || other.limit_reached,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    dirty_pages: u64,
    pages: u64,
    history: u64,
}

impl Look {
    fn dirty_is_done(self) -> bool {
        self.dirty_pages <= (self.pages / DIRTY_SHARE).max(DIRTY_PAGES_MIN)
    }
}

/// Waits for at most `limit`. `own`: the server is Prony's. `None`: it has no InnoDB, or does not say.
///
/// # Errors
/// Where the connection breaks.
pub fn settle(
    connection: &mut Connection,
    own: bool,
    limit: Duration,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Option<Settled>, Error> {
    let begun = Instant::now();
    let Some(first) = look(connection)? else { return Ok(None) };
    let hurried = if own && !first.dirty_is_done() { Some(hurry(connection)?) } else { None };
    let settled = wait(connection, own, (begun, limit), stop, tell);
    if let Some(before) = hurried {
        // What is left different is found before the trial, and makes it invalid.
        put_back(connection, &before, &[])?;
    }
    settled
}

fn wait(
    connection: &mut Connection,
    own: bool,
    (begun, limit): (Instant, Duration),
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Option<Settled>, Error> {
    let (mut shortest, mut told) = ((u64::MAX, begun), begun);
    loop {
        let Some(now) = look(connection)? else { return Ok(None) };
        if now.history < shortest.0 {
            shortest = (now.history, Instant::now());
        }
        let purged = now.history <= HISTORY_MAX || shortest.1.elapsed() >= STILL;
        let done = purged && (!own || now.dirty_is_done());
        let limit_reached = !done && begun.elapsed() >= limit;
        if done || limit_reached || stop.is_stopped() {
            let (dirty_pages, history) = (now.dirty_pages, now.history);
            return Ok(Some(Settled { took: begun.elapsed(), dirty_pages, history, limit_reached }));
        }
        if told.elapsed() >= TELL {
            told = Instant::now();
            let (pages, history) = (now.dirty_pages, now.history);
            tell(&format!("settling: {pages} dirty pages, history of {history} transactions"));
        }
        thread::sleep(POLL);
    }
}

fn look(connection: &mut Connection) -> Result<Option<Look>, Error> {
    let Some(answer) = ask(connection, "SHOW GLOBAL STATUS LIKE 'Innodb\\_buffer\\_pool\\_pages\\_%'")?
        .filter(|rows| !rows.is_empty())
    else {
        return Ok(None);
    };
    let figure = |name: &str| {
        let row = answer.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name))?;
        row.get(1)?.as_deref()?.parse().ok()
    };
    let (Some(dirty_pages), Some(pages)) =
        (figure("Innodb_buffer_pool_pages_dirty"), figure("Innodb_buffer_pool_pages_total"))
    else {
        return Ok(None);
    };
    let status = ask(connection, "SHOW ENGINE INNODB STATUS")?.unwrap_or_default();
    let text = status.first().and_then(|row| row.get(2)?.as_deref()).unwrap_or_default();
    Ok(Some(Look { dirty_pages, pages, history: history_in(text).unwrap_or(0) }))
}

fn history_in(status: &str) -> Option<u64> {
    let (_, after) = status.split_once("History list length ")?;
    after.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Sets what makes the server write; returns all variables as they were.
fn hurry(connection: &mut Connection) -> Result<Globals, Error> {
    let before = globals(connection)?;
    for (name, value) in HURRY {
        let now = before.get(name).and_then(|now| now.parse::<f64>().ok());
        if now.is_some_and(|now| value == 0 || now < value as f64) {
            // One that refuses is slower.
            ask(connection, &format!("SET GLOBAL {name} = {value}"))?;
        }
    }
    Ok(before)
}

/// The rows; `None`: the server refuses.
fn ask(connection: &mut Connection, sql: &str) -> Result<Option<Vec<Vec<Option<String>>>>, Error> {
    match connection.query(sql) {
        Err(Error::Server { .. }) => Ok(None),
        answer => Ok(Some(answer?.rows().to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_found_in_what_every_generation_says() {
        let old = "TRANSACTIONS\n------------\nTrx id counter 4F2\nHistory list length 1034\nLIST OF";
        assert_eq!(history_in(old), Some(1034));
        assert_eq!(history_in("History list length 0"), Some(0));
        assert_eq!(history_in("nothing of it"), None);
    }
}
