//! A server without a database: it speaks the protocol and answers at once. What an engine reaches against it
//! is the engine's own limit. In tests it plays whatever a real server cannot be made to do: fail, stall,
//! vanish, talk nonsense.
//!
//! What it says by itself is a [`Scenario`]. What happens to it from outside (a stall, an absence) is told to
//! the running [`NullServer`].

mod play;
mod remote;
mod serve;

pub use play::{Answer, Asked, ROW, Scenario, Script, Then, Welcome, plain};

use play::{Plain, Scripted};
use remote::{Command, Remote};
use rustix::event::{EventfdFlags, eventfd};
use serve::Loop;
use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// A running null server; ends when dropped.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    remote: Arc<Remote>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl NullServer {
    /// Answers every SELECT (and SHOW) with one row and everything else with OK, on this port of 127.0.0.1;
    /// 0: a free one.
    ///
    /// # Errors
    /// If the port is not available or the thread not started.
    pub fn start(port: u16) -> io::Result<Self> {
        Self::with_scenario(port, Box::new(Plain))
    }

    /// Answers as the script says.
    ///
    /// # Errors
    /// If the port is not available or the thread not started.
    pub fn with_script(port: u16, script: Box<Script>) -> io::Result<Self> {
        Self::with_scenario(port, Box::new(Scripted(script)))
    }

    /// Greets and answers as the scenario says.
    ///
    /// # Errors
    /// If the port is not available or the thread not started.
    pub fn with_scenario(port: u16, scenario: Box<dyn Scenario>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let address = listener.local_addr()?;
        let remote = Arc::new(Remote {
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            commands: Mutex::default(),
            statements: AtomicU64::new(0),
            connections: AtomicU64::new(0),
        });
        let mut server = Loop::new(listener, Arc::clone(&remote), scenario)?;
        let thread = thread::Builder::new().name("null-server".to_owned()).spawn(move || server.run())?;
        Ok(Self { address, remote, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Statements that it has seen so far.
    #[must_use]
    pub fn statements(&self) -> u64 {
        self.remote.statements.load(Ordering::Relaxed)
    }

    /// Connections that it has accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.remote.connections.load(Ordering::Relaxed)
    }

    /// Does nothing at all for this long, from now on. What arrives in the meantime is answered afterwards.
    pub fn stall(&self, time: Duration) {
        self.remote.tell(Command::Stall(time));
    }

    /// Resets every connection, listens no more, and comes back on the same port after this time.
    pub fn leave(&self, time: Duration) {
        self.remote.tell(Command::Leave(time));
    }

    /// Resets every connection; new ones are accepted.
    pub fn cut(&self) {
        self.remote.tell(Command::Cut);
    }

    /// Whether connections are accepted from the listener's queue, where the kernel lets them wait. At first
    /// they are.
    pub fn accept(&self, on: bool) {
        self.remote.tell(Command::Accept(on));
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    /// What ended it.
    pub fn join(mut self) -> io::Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the null server's thread panicked")),
            None => Ok(()),
        }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.remote.tell(Command::End);
        if let Some(thread) = self.thread.take() {
            // a scenario that panics has failed its test already
            let _ = thread.join();
        }
    }
}
