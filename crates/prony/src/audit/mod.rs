//! An audit of commits: writers note what the server acknowledged, the primary is killed under them, and the
//! server at which applications would go on is asked what it has. A commit that was acknowledged and is
//! missing there was lost; a row that nobody was told of may be there or not.
//!
//! Writers are blocking connections, for what counts here is not the rate: each writes rows with numbers that
//! count up by one, each its own commit, and stops at the first error.

use crate::{
    plan::{Audit, ServerPlan},
    provision::{self, Between, Provisioner},
};
use load::{
    Stop,
    client::{self, Connection},
    spec::Target,
};
use serde::{Deserialize, Serialize};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Opening a connection, and the answer to a statement of the count.
const LIMIT: Duration = Duration::from_secs(30);
/// How long writers may take to notice that their server is gone.
const NOTICE_LIMIT: Duration = Duration::from_secs(60);
/// How often the end of writing is looked for.
const POLL: Duration = Duration::from_millis(20);

const DATABASE: &str = "CREATE DATABASE prony_audit";
const TABLE: &str = "CREATE TABLE prony_audit.commits (writer INT NOT NULL, number BIGINT NOT NULL, PRIMARY \
                     KEY (writer, number))";

/// What one crash left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crash {
    /// Commits that were acknowledged before it.
    pub acknowledged: u64,
    /// Of these, those that are missing afterwards.
    pub lost: u64,
    /// Commits that were under way: sent, and not acknowledged.
    pub in_doubt: u64,
    /// Of these, those that are there.
    pub unacknowledged: u64,
    /// From the kill until the data could be read at the server at which applications would go on, s.
    pub recovery: f64,
}

/// Why an audit could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The servers do not come up, before or after the crash.
    #[error(transparent)]
    Provision(#[from] provision::Error),
    /// A statement failed before the crash, or while counting.
    #[error("while {doing}: {source}")]
    Client {
        /// What was being done.
        doing: &'static str,
        /// What the server or the network says.
        source: Box<client::Error>,
    },
    /// A writer ended before the server was killed.
    #[error("a writer stopped before the server was killed: {0}")]
    Writer(Box<client::Error>),
    /// Writers did not notice that their server was killed.
    #[error("{writers} writers still wait for a server that was killed {} s ago", NOTICE_LIMIT.as_secs())]
    Waiting {
        /// How many.
        writers: usize,
    },
    /// A server that Prony did not start is not killed.
    #[error("the server `{0}` was not started by Prony: it is not killed; leave it out of the audit")]
    NotOurs(String),
    /// It was asked to stop.
    #[error("interrupted")]
    Interrupted,
}

fn failed(doing: &'static str) -> impl FnOnce(client::Error) -> Error {
    move |source| Error::Client { doing, source: Box::new(source) }
}

/// Brings up a server of the plan with all that belongs to it, kills its primary under the writers of `audit`
/// and counts; nothing is left of it. `between` as in [`Provisioner::bring_up_group`].
///
/// # Errors
/// Why there is nothing to count.
pub fn crash(
    provisioner: &Provisioner,
    server: &ServerPlan,
    audit: &Audit,
    between: &mut Between<'_>,
    stop: &Stop,
    progress: &mut dyn FnMut(&str),
) -> Result<Crash, Error> {
    let mut group = provisioner.bring_up_group(server, 0, between, progress)?;
    let target = group.primary().target().clone();
    prepare(&target)?;
    // all that belong to it are to have the table
    group.wait_until_equal(LIMIT, stop)?;
    progress("writing");
    let writers = Writers::start(&target, audit.writers)?;
    let began = Instant::now();
    while began.elapsed() < audit.length {
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
        if writers.any_ended() {
            break; // its error is told below
        }
        thread::sleep(POLL);
    }
    let early = writers.any_ended();
    let killed = Instant::now();
    if !group.crash() {
        return Err(Error::NotOurs(server.name.clone()));
    }
    let ledgers = writers.join(early)?;
    let survivor = provisioner.survivor(&mut group, progress)?;
    let mut connection = Connection::open(&survivor, LIMIT).map_err(failed("connecting after the crash"))?;
    let mut crash = Crash { acknowledged: 0, lost: 0, in_doubt: 0, unacknowledged: 0, recovery: 0.0 };
    for (writer, ledger) in (0..).zip(&ledgers) {
        let (kept, beyond) = count(&mut connection, writer, ledger.acknowledged)?;
        crash.acknowledged += ledger.acknowledged;
        crash.lost += ledger.acknowledged.saturating_sub(kept);
        crash.in_doubt += ledger.sent - ledger.acknowledged;
        crash.unacknowledged += beyond;
    }
    crash.recovery = killed.elapsed().as_secs_f64();
    progress("stopping");
    group.stop()?;
    Ok(crash)
}

fn prepare(target: &Target) -> Result<(), Error> {
    let mut connection = Connection::open(target, LIMIT).map_err(failed("connecting"))?;
    for statement in [DATABASE, TABLE] {
        connection.query(statement).map_err(failed("making the table of the audit"))?;
    }
    Ok(())
}

/// Of a writer's rows, those up to `acknowledged`, and those beyond.
fn count(connection: &mut Connection, writer: u32, acknowledged: u64) -> Result<(u64, u64), Error> {
    let mut ask = |condition: &str| -> Result<u64, Error> {
        let statement = format!(
            "SELECT COUNT(*) FROM prony_audit.commits WHERE writer = {writer} AND number {condition} \
             {acknowledged}"
        );
        let answer = connection.query(&statement).map_err(failed("counting commits"))?;
        Ok(answer.first_value().and_then(|text| text.parse().ok()).unwrap_or(0))
    };
    Ok((ask("<=")?, ask(">")?))
}

/// What a writer knows.
#[derive(Debug)]
struct Ledger {
    /// Commits sent, which are numbered from 1.
    sent: u64,
    /// Those that were acknowledged: the first ones.
    acknowledged: u64,
    /// Why it stopped.
    error: client::Error,
}

/// Threads that write until their server is gone.
#[derive(Debug)]
struct Writers {
    threads: Vec<JoinHandle<Ledger>>,
    ended: Arc<AtomicBool>,
}

impl Writers {
    fn start(target: &Target, count: u32) -> Result<Self, Error> {
        let ended = Arc::new(AtomicBool::new(false));
        let connections = (0..count).map(|_| Connection::open(target, LIMIT));
        let connections: Result<Vec<_>, _> = connections.collect();
        let connections = connections.map_err(failed("connecting the writers"))?;
        let start = |(number, connection): (u32, Connection)| {
            let ended = Arc::clone(&ended);
            thread::spawn(move || {
                let ledger = write(connection, number);
                ended.store(true, Ordering::Relaxed);
                ledger
            })
        };
        Ok(Self { threads: (0..).zip(connections).map(start).collect(), ended })
    }

    fn any_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Waits until all have noticed that the server is gone. `early`: one ended before.
    fn join(self, early: bool) -> Result<Vec<Ledger>, Error> {
        let deadline = Instant::now() + NOTICE_LIMIT;
        while self.threads.iter().any(|thread| !thread.is_finished()) {
            if Instant::now() >= deadline {
                let writers = self.threads.iter().filter(|thread| !thread.is_finished()).count();
                return Err(Error::Waiting { writers });
            }
            thread::sleep(POLL);
        }
        let join = |thread: JoinHandle<Ledger>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let ledgers: Vec<Ledger> = self.threads.into_iter().map(join).collect();
        // an error that the server itself sent is none of its death
        let refused = ledgers.iter().position(|ledger| ledger.error.code().is_some());
        match refused.or(early.then_some(0)) {
            Some(index) => {
                let ledger = ledgers.into_iter().nth(index);
                Err(ledger.map_or(Error::Interrupted, |ledger| Error::Writer(Box::new(ledger.error))))
            }
            None => Ok(ledgers),
        }
    }
}

fn write(mut connection: Connection, writer: u32) -> Ledger {
    let (mut sent, mut acknowledged) = (0, 0);
    loop {
        sent += 1;
        match connection.query(&format!("INSERT INTO prony_audit.commits VALUES ({writer}, {sent})")) {
            Ok(_) => acknowledged = sent,
            Err(error) => return Ledger { sent, acknowledged, error },
        }
    }
}
