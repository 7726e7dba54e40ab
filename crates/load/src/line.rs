//! The waiting line for a Unix socket whose backlog is full. There, a non-blocking socket is refused
//! (EAGAIN), while a blocking one waits in the kernel until the server has accepted another; epoll reports
//! nothing. So one thread per worker and server connects with blocking sockets, one connection after another,
//! in order: it is woken at once, and costs nothing while nobody waits. It is started when a backlog is full
//! for the first time.
//!
//! It does not know connections: it takes sockets with a ticket, and returns them connected.

use rustix::{
    event::{EventfdFlags, epoll, eventfd},
    fd::OwnedFd,
    io::{Errno, ioctl_fionbio},
    net::{
        SocketAddrUnix, connect,
        sockopt::{Timeout, set_socket_timeout},
    },
};
use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long one wait in the kernel may take, after which the thread looks whether it is still wanted.
const SLICE: Duration = Duration::from_millis(50);

/// Which connection a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) connection: u32,
    /// Number of its attempt, so that an attempt that was given up is not taken for the present one.
    pub(crate) attempt: u32,
}

/// A socket that waits to be connected; after `until`, nobody wants it any more.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) ticket: Ticket,
    pub(crate) socket: OwnedFd,
    pub(crate) until: Instant,
}

/// The lines of one worker, by server; most have none.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    of: Vec<Option<Line>>,
    /// Is written to when somebody has got through.
    wake: Option<Arc<OwnedFd>>,
}

impl Lines {
    /// Whether somebody waits for this server, so that newcomers go to the end of the line.
    pub(crate) fn waits(&self, server: usize) -> bool {
        self.line(server).is_some_and(|line| line.length > 0)
    }

    fn line(&self, server: usize) -> Option<&Line> {
        self.of.get(server)?.as_ref()
    }

    /// Puts a socket at the end of the line before `path`. From the first time on, `poll` reports under the
    /// token `wake` when a socket has got through.
    pub(crate) fn join(
        &mut self,
        (poll, wake): (&OwnedFd, u64),
        (server, path): (usize, &Path),
        waiting: Waiting,
    ) -> io::Result<()> {
        if self.wake.is_none() {
            let through = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            epoll::add(poll, &through, epoll::EventData::new_u64(wake), epoll::EventFlags::IN)?;
            self.wake = Some(Arc::new(through));
        }
        let Some(wake) = &self.wake else { return Ok(()) };
        if self.of.len() <= server {
            self.of.resize_with(server + 1, || None);
        }
        if self.of[server].is_none() {
            self.of[server] = Some(Line::start(path, Arc::clone(wake))?);
        }
        self.of[server].as_mut().map_or(Ok(()), |line| line.join(waiting))
    }

    /// Whoever has got through, or has failed.
    pub(crate) fn through(&mut self) -> Option<(Ticket, io::Result<OwnedFd>)> {
        if let Some(wake) = &self.wake {
            // nothing to read means that it was read with an earlier one
            let _ = rustix::io::read(wake, &mut [0u8; 8]);
        }
        self.of.iter_mut().flatten().find_map(Line::through)
    }
}

/// A line with its thread; both end when dropped.
#[derive(Debug)]
struct Line {
    waiting: Option<Sender<Waiting>>,
    connected: Receiver<(Ticket, io::Result<OwnedFd>)>,
    length: usize,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Line {
    /// A line before `path`, which writes to `wake` when a socket has got through.
    fn start(path: &Path, wake: Arc<OwnedFd>) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path)?;
        let (waiting, line) = mpsc::channel::<Waiting>();
        let (through, connected) = mpsc::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let is_over_there = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("load-connect".to_owned()).spawn(move || {
            for Waiting { ticket, socket, until } in line {
                let Some(result) = connect_blocking(&socket, &address, until, &is_over_there) else {
                    continue;
                };
                let whole = result.and_then(|()| Ok(ioctl_fionbio(&socket, true)?)).map(|()| socket);
                if through.send((ticket, whole)).is_err() {
                    return;
                }
                // the counter of an eventfd cannot be full after so few writes
                let _ = rustix::io::write(&*wake, &1u64.to_ne_bytes());
            }
        })?;
        Ok(Self { waiting: Some(waiting), connected, length: 0, is_over, thread: Some(thread) })
    }

    fn join(&mut self, waiting: Waiting) -> io::Result<()> {
        ioctl_fionbio(&waiting.socket, false)?;
        set_socket_timeout(&waiting.socket, Timeout::Send, Some(SLICE))?;
        let is_told = self.waiting.as_ref().is_some_and(|line| line.send(waiting).is_ok());
        self.length += usize::from(is_told);
        if is_told { Ok(()) } else { Err(io::Error::other("the thread that connects has ended")) }
    }

    fn through(&mut self) -> Option<(Ticket, io::Result<OwnedFd>)> {
        let found = self.connected.try_recv().ok()?;
        self.length = self.length.saturating_sub(1);
        Some(found)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.waiting = None;
        if let Some(thread) = self.thread.take() {
            // it never waits longer than a slice; a panic of it has been told already
            let _ = thread.join();
        }
    }
}

/// Connects; `None`: the line has ended.
fn connect_blocking(
    socket: &OwnedFd,
    address: &SocketAddrUnix,
    until: Instant,
    is_over: &AtomicBool,
) -> Option<io::Result<()>> {
    loop {
        if is_over.load(Ordering::Relaxed) {
            return None;
        }
        if Instant::now() >= until {
            return Some(Err(io::ErrorKind::TimedOut.into()));
        }
        match connect(socket, address) {
            Ok(()) => return Some(Ok(())),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Some(Err(error.into())),
        }
    }
}
