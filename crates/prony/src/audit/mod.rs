//! An audit of commits: writers note what the server acknowledged, the primary crashes under them, and the
//! server at which applications would continue is asked what it has. A commit that was acknowledged and is
//! missing there was lost. A row whose commit was never acknowledged may be there or not.
//!
//! Writers are blocking connections, as the rate does not matter here: each writes rows numbered one after
//! another, each in a commit of its own, and stops at the first error.

use crate::{
    network::Link,
    plan::{Audit, CrashKind, ServerPlan, Topology},
    provision::{self, Between, Group, ImageDisk, Provisioner, Step},
};
use load::{
    Stop,
    client::{self, Connection},
    spec::{Address, Target},
};
use serde::{Deserialize, Serialize};
use std::{
    io,
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
pub const NOTICE_LIMIT: Duration = Duration::from_secs(60);
/// How often the end of writing is looked for.
const POLL: Duration = Duration::from_millis(20);

const DATABASE: &str = "CREATE DATABASE prony_audit";
const TABLE: &str = "CREATE TABLE prony_audit.commits (writer INT NOT NULL, number BIGINT NOT NULL, PRIMARY \
                     KEY (writer, number))";

/// What one crash left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crash {
    /// What happened to the primary.
    #[serde(default)]
    pub kind: CrashKind,
    /// Commits that were acknowledged before it.
    pub acknowledged: u64,
    /// Of these, those that are missing afterwards.
    pub lost: u64,
    /// Commits that were under way: sent, and not acknowledged.
    pub in_doubt: u64,
    /// Of these, those that are there.
    pub unacknowledged: u64,
    /// From the crash until the data could be read at the server at which applications would continue, s.
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
    #[error("{writers} writers are still waiting for a server that was killed {} s \
             ago", NOTICE_LIMIT.as_secs())]
    Waiting {
        /// How many.
        writers: usize,
    },
    /// A server that Prony did not start is not killed.
    #[error("Prony did not start the server `{0}` and does not kill it; leave it out of the audit")]
    NotOurs(String),
    /// There is no network that could be cut.
    #[error("the network in front of the servers cannot be created or cut: {0}")]
    Network(io::Error),
    /// There is no file system whose power could be lost.
    #[error(
        "a loss of power cannot be simulated here: it takes a file system on a loop device ({0}); run \
         as root on a machine that allows it, or leave \"power\" out of `kinds`"
    )]
    Power(io::Error),
    /// It was asked to stop.
    #[error("interrupted")]
    Interrupted,
}

fn failed(doing: &'static str) -> impl FnOnce(client::Error) -> Error {
    move |source| Error::Client { doing, source: Box::new(source) }
}

/// Brings up a server of the plan with everything that belongs to it, lets its primary suffer `kind` under
/// the writers of `audit`, and counts. Nothing is left of it. `between` as in
/// [`Provisioner::bring_up_group`], where the network is not cut.
///
/// # Errors
/// Why there is nothing to count.
pub fn crash(
    provisioner: &Provisioner,
    server: &ServerPlan,
    (audit, kind): (&Audit, CrashKind),
    between: &mut Between<'_>,
    stop: &Stop,
    progress: &mut dyn FnMut(Step),
) -> Result<Crash, Error> {
    let (instances, launcher) = (provisioner.places().instances(), provisioner.launcher());
    let disk = || ImageDisk::new(&instances, launcher).map_err(Error::Power);
    let mut disk = (kind == CrashKind::Power).then(disk).transpose()?;
    let below = |disk: &ImageDisk| provisioner.clone().below(disk.root().to_owned());
    let own = disk.as_ref().map(below);
    let provisioner = own.as_ref().unwrap_or(provisioner);
    let mut links: Vec<Link> = Vec::new();
    let is_cut = kind == CrashKind::Network;
    // the nodes of a cluster find each other on one network, which they leave by themselves
    let is_linked = is_cut && matches!(server.topology, Topology::Replicas { .. });
    let mut way = |from: usize, to: usize, address: &Address| {
        if !is_linked {
            return between(from, to, address);
        }
        link(provisioner, address, server.latency_between, &mut links)
    };
    let mut group = provisioner.bring_up_group(server, 0, &mut way, progress)?;
    let mut target = group.primary().target().clone();
    prepare(&target)?;
    // all that belong to it are to have the table
    group.wait_until_equal(LIMIT, stop)?;
    if is_cut {
        let way = link(provisioner, &target.address, Duration::ZERO, &mut links);
        target.address = way.map_err(Error::Network)?;
    }
    disk.as_ref().map_or(Ok(()), ImageDisk::sync).map_err(Error::Power)?;
    progress(Step::Writing);
    let writers = Writers::start(&target, audit.writers)?;
    writers.write_for(audit.length, stop)?;
    let early = writers.any_ended();
    let struck = Instant::now();
    strike(kind, &mut group, &mut links, disk.as_mut(), server)?;
    let ledgers = writers.join(early)?;
    let survivor = provisioner.survivor(&mut group, progress)?;
    let mut crash = counted(kind, &survivor, &ledgers)?;
    crash.recovery = struck.elapsed().as_secs_f64();
    progress(Step::Ending);
    drop(links);
    group.stop()?;
    Ok(crash)
}

/// A way to a server on this machine that can be cut.
fn link(
    provisioner: &Provisioner,
    address: &Address,
    round_trip: Duration,
    links: &mut Vec<Link>,
) -> io::Result<Address> {
    let Address::Tcp { host, port } = address else {
        return Err(io::Error::other("servers are reached by TCP where their network is to be cut"));
    };
    let link = Link::start(provisioner.launcher(), host, *port, round_trip.into(), &[])?;
    let (host, port) = (link.address().ip().to_string(), link.address().port());
    links.push(link);
    Ok(Address::Tcp { host, port })
}

/// Lets it happen to the primary.
fn strike(
    kind: CrashKind,
    group: &mut Group,
    links: &mut Vec<Link>,
    disk: Option<&mut ImageDisk>,
    server: &ServerPlan,
) -> Result<(), Error> {
    if kind == CrashKind::Network {
        links.iter().try_for_each(Link::cut).map_err(Error::Network)?;
        group.isolate()?;
        // now that nothing can arrive any more, writers hear that they wait in vain
        drop(links.pop());
        return Ok(());
    }
    if !group.crash() {
        return Err(Error::NotOurs(server.name.clone()));
    }
    disk.map_or(Ok(()), ImageDisk::lose_power).map_err(Error::Power)
}

/// What the survivor has of what writers know.
fn counted(kind: CrashKind, survivor: &Target, ledgers: &[Ledger]) -> Result<Crash, Error> {
    let mut connection = Connection::open(survivor, LIMIT).map_err(failed("connecting after the crash"))?;
    let mut crash = Crash { kind, acknowledged: 0, lost: 0, in_doubt: 0, unacknowledged: 0, recovery: 0.0 };
    for (writer, ledger) in (0..).zip(ledgers) {
        let (kept, beyond) = count(&mut connection, writer, ledger.acknowledged)?;
        crash.acknowledged += ledger.acknowledged;
        crash.lost += ledger.acknowledged.saturating_sub(kept);
        crash.in_doubt += ledger.sent - ledger.acknowledged;
        crash.unacknowledged += beyond;
    }
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

    /// Lets them write until one ends too early, which [`Self::join`] reports.
    fn write_for(&self, length: Duration, stop: &Stop) -> Result<(), Error> {
        let began = Instant::now();
        while began.elapsed() < length && !self.any_ended() {
            if stop.is_stopped() {
                return Err(Error::Interrupted);
            }
            thread::sleep(POLL);
        }
        Ok(())
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
