//! Waits until a server has finished the work that earlier trials have left it: dirty pages are written, old
//! versions of rows are purged.
//!
//! Otherwise a trial pays for its predecessor, and which trials do depends on their order. On a server that
//! Prony started, writing is hurried by some of its variables; then all variables are restored, since setting
//! these moves others. Elsewhere nothing is changed, and Prony only waits for the purge.

use crate::{
    family::{self, Unfinished},
    provision::{Step, globals, put_back},
};
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

/// Whether what is not written does not matter.
fn is_written(now: &Unfinished) -> bool {
    now.dirty_pages <= (now.pages / DIRTY_SHARE).max(DIRTY_PAGES_MIN)
}

/// Waits for at most `limit`. `own`: the server is Prony's. `None`: it does not say what it has left.
///
/// # Errors
/// Where the connection breaks.
pub fn settle(
    connection: &mut Connection,
    own: bool,
    limit: Duration,
    stop: &Stop,
    tell: &mut dyn FnMut(Step),
) -> Result<Option<Settled>, Error> {
    let begun = Instant::now();
    let Some(first) = family::spoken().unfinished(connection)? else { return Ok(None) };
    let hurried = if own && !is_written(&first) {
        let before = globals(connection)?;
        family::spoken().hurry(connection, &before)?;
        Some(before)
    } else {
        None
    };
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
    tell: &mut dyn FnMut(Step),
) -> Result<Option<Settled>, Error> {
    let (mut shortest, mut told) = ((u64::MAX, begun), begun);
    loop {
        let Some(now) = family::spoken().unfinished(connection)? else { return Ok(None) };
        if now.history < shortest.0 {
            shortest = (now.history, Instant::now());
        }
        let purged = now.history <= HISTORY_MAX || shortest.1.elapsed() >= STILL;
        let done = purged && (!own || is_written(&now));
        let limit_reached = !done && begun.elapsed() >= limit;
        if done || limit_reached || stop.is_stopped() {
            let (dirty_pages, history) = (now.dirty_pages, now.history);
            return Ok(Some(Settled { took: begun.elapsed(), dirty_pages, history, limit_reached }));
        }
        if told.elapsed() >= TELL {
            told = Instant::now();
            tell(Step::Settling { dirty_pages: now.dirty_pages, transactions: now.history });
        }
        thread::sleep(POLL);
    }
}
