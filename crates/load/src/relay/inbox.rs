//! What the relay and its threads say to each other.

use crate::{Histogram, io::Usage};
use rustix::{
    event::{EventfdFlags, eventfd},
    fd::OwnedFd,
};
use std::{
    io,
    net::{SocketAddr, TcpStream},
    sync::{Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

/// What another thread has for a worker.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) wake: OwnedFd,
    pub(super) messages: Mutex<Vec<Message>>,
}

#[derive(Debug)]
pub(super) enum Message {
    /// A connection that was accepted at this time.
    Serve(TcpStream, SocketAddr, Instant),
    /// Somebody wants to know what was done.
    Tell(mpsc::Sender<Tally>),
    /// It is over.
    End,
}

/// What one worker did since it was last asked.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) connections: u64,
    pub(super) refused: u64,
    pub(super) pieces: u64,
    pub(super) bytes: u64,
    pub(super) late: Histogram,
    pub(super) interval: Duration,
    pub(super) used: Usage,
}

impl Inbox {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            messages: Mutex::default(),
        })
    }

    pub(super) fn put(&self, message: Message) {
        // nothing panics while it holds the queue
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        // the counter of an eventfd that is read after each write cannot be full
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(super) fn take(&self) -> Vec<Message> {
        // nothing to read means that it was read for an earlier message
        let _ = rustix::io::read(&self.wake, &mut [0u8; 8]);
        std::mem::take(&mut self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
