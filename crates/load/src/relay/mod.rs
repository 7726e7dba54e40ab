//! A network with a stated latency between a client and a server on one machine: a relay that passes
//! everything one side sends on to the other side a fixed time later.
//!
//! It runs in a process of its own, so that what it uses counts neither as the engine's nor as the server's.
//! It knows TCP and time, but not what the bytes mean. It does in user space, which takes no privileges, what
//! netem does in the kernel; the idea of a constant delay line is the same.
//!
//! * The time that counts is when the kernel noted that data arrived, not when a thread came to read them.
//!   Everything waits equally long, so pieces leave in the order in which they came: one queue per thread is
//!   all the bookkeeping, for any number of connections.
//! * A network does not wait for a processor. So the threads ask for precedence, wake up a little earlier
//!   than they must, and spin through the last microseconds. The usual cost of sending is part of the delay.
//! * Where the line has a limit, data wait until everything before them in their direction has been sent,
//!   with the headers that they would have as packets: the connections share the line as they would a cable.
//! * What piles up before a side that does not read is bounded ([`window`]): then the other side is not read
//!   either, as with TCP itself. The end of a stream and a reset travel as slowly as bytes do.
//! * The kernel accepts a connection here at once. To make opening one cost what it costs over the network,
//!   the relay connects to the server three one-way times later, when a network would have completed the
//!   handshake.

mod inbox;
mod line;
mod pair;
mod worker;

use crate::Histogram;
pub use line::Line;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};
pub use worker::window;

use inbox::{Inbox, Message};
use line::Used;
use worker::Worker;

/// Longest one-way time: what is longer is a mistake, and would hold much memory.
pub const ONE_WAY_MAX: Duration = Duration::from_secs(5);

/// Connections that may wait to be accepted; the kernel cuts it to its own limit (`net.core.somaxconn`).
const BACKLOG: i32 = 65_535;

/// A running relay; ends when dropped, and its connections with it.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    threads: Vec<(Arc<Inbox>, JoinHandle<io::Result<()>>)>,
}

/// What a relay did since it was last asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Since it was last asked, or began.
    pub interval: Duration,
    /// Connections that are open now.
    pub connections: u64,
    /// Connections that could not be made: the server refused, or there were no more open files.
    pub refused: u64,
    /// Pieces handed on.
    pub pieces: u64,
    /// Bytes handed on.
    pub bytes: u64,
    /// How much later than due pieces had been handed on, mean.
    pub late_mean: Duration,
    /// The same, 99th percentile.
    pub late_p99: Duration,
    /// CPU time in user mode, all threads.
    pub cpu_user: Duration,
    /// CPU time in the kernel, all threads.
    pub cpu_system: Duration,
    /// Share of a processor that its busiest thread used, 0 to 1.
    pub busy_max: f64,
}

impl Relay {
    /// Listens on a free port of this machine and hands on to `to` and back, each piece when it would have
    /// arrived over `line`. `threads` is how many share the connections; [`threads_for`] knows a good number.
    ///
    /// # Errors
    /// If there is no free port, or a thread cannot be started; a delay above [`ONE_WAY_MAX`].
    pub fn start(to: SocketAddr, line: impl Into<Line>, threads: usize) -> io::Result<Self> {
        let line = line.into();
        if line.one_way > ONE_WAY_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the delay is too long"));
        }
        let listener = TcpListener::bind((IpAddr::V4(Ipv4Addr::LOCALHOST), 0))?;
        rustix::net::listen(&listener, BACKLOG)?;
        let address = listener.local_addr()?;
        let inboxes: Vec<Arc<Inbox>> =
            (0..threads.max(1)).map(|_| Inbox::new().map(Arc::new)).collect::<Result<_, _>>()?;
        let mut listener = Some(listener);
        let line = Arc::new(Used::new(line));
        let mut relay = Self { address, threads: Vec::new() };
        for own in 0..inboxes.len() {
            let mut worker = Worker::new(to, Arc::clone(&line), inboxes.clone(), own, listener.take())?;
            let thread = thread::Builder::new().name(format!("relay-{own}")).spawn(move || worker.run())?;
            relay.threads.push((Arc::clone(&inboxes[own]), thread));
        }
        Ok(relay)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it did since this was last asked.
    ///
    /// # Errors
    /// If one of its threads has ended.
    pub fn figures(&self) -> io::Result<Figures> {
        let (sender, answers) = mpsc::channel();
        for (inbox, _) in &self.threads {
            inbox.put(Message::Tell(sender.clone()));
        }
        drop(sender);
        let mut figures = Figures::default();
        let mut late = Histogram::new();
        for _ in &self.threads {
            let tally = answers.recv().map_err(|_| io::Error::other("a thread of the relay has ended"))?;
            figures.interval = figures.interval.max(tally.interval);
            figures.connections += tally.connections;
            figures.refused += tally.refused;
            figures.pieces += tally.pieces;
            figures.bytes += tally.bytes;
            figures.cpu_user += tally.used.user;
            figures.cpu_system += tally.used.system;
            let used = (tally.used.user + tally.used.system).as_secs_f64();
            figures.busy_max = figures.busy_max.max(used / tally.interval.as_secs_f64().max(1e-9));
            late.merge(&tally.late);
        }
        if !late.is_empty() {
            figures.late_mean = Duration::from_nanos(late.mean_ns() as u64);
            figures.late_p99 = Duration::from_nanos(late.quantile_ns(0.99));
        }
        Ok(figures)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        for (inbox, _) in &self.threads {
            inbox.put(Message::End);
        }
        for (_, thread) in self.threads.drain(..) {
            // a thread that has failed has dropped its connections, which their owners see
            let _ = thread.join();
        }
    }
}

/// Keeps idle processors of this machine from sleeping deeply as long as what it returns is held: waking up
/// takes tens of microseconds, in virtual machines hundreds, which would be added to every delay. `None`: it
/// may not, or the kernel offers no choice. It is what tuned's profile for latency does; see the kernel's
/// `pm_qos_interface.rst`.
#[must_use]
pub fn keep_awake() -> Option<File> {
    const IDLE: &str = "/sys/devices/system/cpu";
    let read = |name: &str| fs::read_to_string(format!("{IDLE}/{name}")).unwrap_or_default();
    let us: i32 = match read("cpuidle/current_driver").trim() {
        "" | "none" => return None,
        // a guest that polls before it gives the processor back
        "haltpoll" => 0,
        // the lightest sleep: polling would take turbo, and time from the other thread of a core
        _ => read("cpu0/cpuidle/state1/latency").trim().parse().unwrap_or(0),
    };
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&us.to_ne_bytes()).ok()?;
    Some(file)
}

/// Threads for a machine with so many processors: a thread hands on tens of thousands of pieces in a second
/// each way, and most processors are the server's and the engine's.
#[must_use]
pub fn threads_for(processors: usize) -> usize {
    processors.div_ceil(4).clamp(1, 8)
}
