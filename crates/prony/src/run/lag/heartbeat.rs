//! Rows with the time, written at the primary ten times per second and looked for at each member: the time in
//! between is how far the member is behind. One machine, one clock. The idea is that of Percona's
//! pt-heartbeat.
//!
//! Times of writing are fixed beforehand. If the primary blocks, the rows that were due in the meantime are
//! written afterwards with the times when they were due. So a standstill shows in as many rows as it lasted,
//! not in one.

use super::Member;
use crate::family;
use load::{
    Histogram, Stop,
    client::{self, Connection},
    spec::Target,
};
use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// From one heartbeat to the next: fine enough for percentiles of a short trial, and nothing beside a load.
const EVERY: Duration = Duration::from_millis(100);
/// Shortest and longest pause between two looks at a member for a row that is under way; between them a tenth
/// of its age.
const LOOK: [Duration; 2] = [Duration::from_micros(300), Duration::from_millis(20)];
/// How long a connection may take to open, and an answer to come before the member counts as lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rows that are written late at once; a standstill of more than a quarter of an hour is told by its first
/// part.
const LATE_ROWS_MAX: u64 = 10_000;
/// Seconds of which the lag is kept: a day.
const SECONDS_MAX: u64 = 86_400;

/// Makes the table at the primary, empty, in the schema of the account; its comment says whose it is.
pub(super) fn make_table(primary: &Target) -> Result<(), client::Error> {
    let mut connection = Connection::open(primary, PATIENCE)?;
    let family = family::spoken();
    let options = family.table_options(Some(family.crash_safe_engine()), "prony heartbeat 1");
    let make = format!(
        "CREATE TABLE IF NOT EXISTS prony_heartbeat (number BIGINT NOT NULL PRIMARY KEY, due_us BIGINT NOT \
         NULL){options}"
    );
    connection.query(&make)?;
    connection.query("DELETE FROM prony_heartbeat").map(drop)
}

/// Heartbeats of one trial.
pub(super) struct Heartbeat {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<Vec<(u64, u64)>>>,
    readers: Vec<JoinHandle<Seen>>,
}

/// What writer and readers share.
struct Shared {
    clock: Clock,
    /// The last number that was sent to the primary.
    sent: AtomicU64,
    /// The load is over: one more row, and then no more.
    ending: AtomicBool,
    /// The last row of all, once it is committed.
    last: Mutex<Option<u64>>,
    /// Nobody waits any longer.
    given_up: AtomicBool,
}

/// One clock for all: it does not jump, and shows the time of day.
#[derive(Clone, Copy)]
struct Clock {
    zero: Instant,
    zero_us: u64,
}

/// What a reader saw.
#[derive(Default)]
struct Seen {
    /// When each row was due and how late it was seen, us.
    lags: Vec<(u64, u64)>,
    /// When the last row of all was seen, us.
    last_us: Option<u64>,
}

impl Clock {
    fn new() -> Self {
        let zero_us = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        Self { zero: Instant::now(), zero_us }
    }

    fn now_us(self) -> u64 {
        self.at_us(Instant::now())
    }

    fn at_us(self, at: Instant) -> u64 {
        self.zero_us + at.saturating_duration_since(self.zero).as_micros() as u64
    }

    /// When a row is due.
    fn due_us(self, number: u64) -> u64 {
        self.zero_us + number * EVERY.as_micros() as u64
    }
}

impl Heartbeat {
    /// Begins to write at the first of `targets` and to read at the others.
    pub(super) fn begin(targets: &[Target]) -> Result<Self, client::Error> {
        let open = |target: &Target| {
            let mut connection = Connection::open(target, PATIENCE)?;
            connection.set_timeout(Some(PATIENCE));
            Ok(connection)
        };
        let mut connections =
            targets.iter().map(open).collect::<Result<Vec<_>, client::Error>>()?.into_iter();
        let shared = Arc::new(Shared {
            clock: Clock::new(),
            sent: AtomicU64::new(0),
            ending: AtomicBool::new(false),
            last: Mutex::new(None),
            given_up: AtomicBool::new(false),
        });
        let mut primary = connections.next().ok_or(client::Error::Closed)?;
        // where commits wait for replicas that are gone, it is the study's time-out that ends the wait
        primary.set_timeout(None);
        let of_writer = Arc::clone(&shared);
        let writer = thread::spawn(move || of_writer.write(&mut primary));
        let readers = connections.map(|mut member| {
            let of_reader = Arc::clone(&shared);
            thread::spawn(move || of_reader.read(&mut member))
        });
        Ok(Self { readers: readers.collect(), writer: Some(writer), shared })
    }

    /// The load is over: waits, within `limit`, until all members have what was committed. Returns how long
    /// the writes took and how the members followed; of the rows those count that were due in `measured`.
    /// The load began at `began`.
    pub(super) fn end(
        mut self,
        began: Instant,
        measured: (Instant, Instant),
        limit: Duration,
        stop: &Stop,
    ) -> (Histogram, Vec<Member>) {
        let shared = Arc::clone(&self.shared);
        let readers = std::mem::take(&mut self.readers);
        let ended = Instant::now();
        let end_us = shared.clock.at_us(ended);
        let [began_us, from_us, until_us] = [began, measured.0, measured.1].map(|at| shared.clock.at_us(at));
        shared.ending.store(true, Ordering::Release);
        while !readers.iter().all(JoinHandle::is_finished) {
            if ended.elapsed() > limit || stop.is_stopped() {
                break;
            }
            thread::sleep(LOOK[1]);
        }
        shared.given_up.store(true, Ordering::Release);
        let histogram = |pairs: &[(u64, u64)]| {
            let mut histogram = Histogram::new();
            for (_, us) in pairs.iter().filter(|(due_us, _)| (from_us..until_us).contains(due_us)) {
                histogram.record_ns(us * 1000);
            }
            histogram
        };
        // a thread that panicked has seen nothing
        let members = readers.into_iter().map(|reader| {
            let seen = reader.join().unwrap_or_default();
            let drain = seen.last_us.map(|at| Duration::from_micros(at.saturating_sub(end_us)));
            let seconds = by_second(&seen.lags, began_us, until_us);
            Member { lag: histogram(&seen.lags), lag_by_second_ms: seconds, drain }
        });
        let members = members.collect();
        // a primary that blocks for ever blocks nobody here: its thread ends with the connection
        let writer = self.writer.take().filter(JoinHandle::is_finished);
        let commits = writer.and_then(|writer| writer.join().ok()).unwrap_or_default();
        (histogram(&commits), members)
    }
}

impl Drop for Heartbeat {
    /// Where a trial breaks off, nobody asks for the end.
    fn drop(&mut self) {
        self.shared.given_up.store(true, Ordering::Release);
    }
}

impl Shared {
    /// Writes rows when they are due until the end; returns when each was due and how long its commit took,
    /// us.
    fn write(&self, primary: &mut Connection) -> Vec<(u64, u64)> {
        let mut commits = Vec::new();
        let mut number = 1;
        loop {
            let now_us = self.clock.now_us();
            let is_last = self.ending.load(Ordering::Acquire);
            if self.given_up.load(Ordering::Acquire) {
                return commits;
            }
            if self.clock.due_us(number) > now_us && !is_last {
                thread::sleep(Duration::from_micros(self.clock.due_us(number) - now_us).min(LOOK[1]));
                continue;
            }
            let mut rows = String::new();
            let until = number + LATE_ROWS_MAX;
            while number < until && self.clock.due_us(number) <= now_us {
                let _ = write!(rows, "{}({number},{})", comma(&rows), self.clock.due_us(number));
                number += 1;
            }
            if is_last {
                let _ = write!(rows, "{}({number},{now_us})", comma(&rows));
                number += 1;
            }
            self.sent.store(number - 1, Ordering::Release);
            let statement = format!("INSERT INTO prony_heartbeat (number, due_us) VALUES {rows}");
            if primary.query(&statement).is_err() {
                // its readers will find nothing more, and the load itself tells of a server that is gone
                return commits;
            }
            commits.push((now_us, self.clock.now_us() - now_us));
            if is_last {
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(number - 1);
                return commits;
            }
        }
    }

    /// Looks for rows at a member until it has the last of all.
    fn read(&self, member: &mut Connection) -> Seen {
        let mut seen = Seen::default();
        let mut newest = 0;
        while !self.given_up.load(Ordering::Acquire) {
            let statement =
                format!("SELECT number, due_us FROM prony_heartbeat WHERE number > {newest} ORDER BY number");
            let Ok(answer) = member.query(&statement) else { return seen };
            let now_us = self.clock.now_us();
            for row in answer.results.into_iter().flat_map(|result| result.rows) {
                let mut values = row.into_iter().flatten().filter_map(|text| text.parse::<u64>().ok());
                let (Some(number), Some(due_us)) = (values.next(), values.next()) else { continue };
                newest = number;
                seen.lags.push((due_us, now_us.saturating_sub(due_us)));
            }
            if *self.last.lock().unwrap_or_else(PoisonError::into_inner) == Some(newest) {
                seen.last_us = Some(now_us);
                return seen;
            }
            thread::sleep(self.pause(newest));
        }
        seen
    }

    /// How long to wait before the next look, with all rows up to `newest` seen.
    fn pause(&self, newest: u64) -> Duration {
        let (now_us, next_us) = (self.clock.now_us(), self.clock.due_us(newest + 1));
        let pause = if self.sent.load(Ordering::Acquire) > newest {
            Duration::from_micros(now_us.saturating_sub(next_us) / 10)
        } else {
            Duration::from_micros(next_us.saturating_sub(now_us))
        };
        pause.clamp(LOOK[0], LOOK[1])
    }
}

/// The longest lag, ms, of the rows that were due in each second between two times.
fn by_second(lags: &[(u64, u64)], from_us: u64, until_us: u64) -> Vec<Option<f64>> {
    let count = until_us.saturating_sub(from_us).div_ceil(1_000_000).min(SECONDS_MAX);
    let mut seconds = vec![None; count as usize];
    for (due_us, us) in lags.iter().filter(|(due_us, _)| (from_us..until_us).contains(due_us)) {
        let second = ((due_us - from_us) / 1_000_000) as usize;
        if let Some(longest) = seconds.get_mut(second) {
            *longest = Some((*us as f64 / 1e3).max(longest.unwrap_or(0.0)));
        }
    }
    seconds
}

fn comma(rows: &str) -> &'static str {
    if rows.is_empty() { "" } else { "," }
}
