//! What a null server's thread shares with its owner.

use rustix::fd::OwnedFd;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError, atomic::AtomicU64},
    time::Duration,
};

/// What the server's thread shares with the server's owner.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) wake: OwnedFd,
    pub(super) commands: Mutex<VecDeque<Command>>,
    pub(super) statements: AtomicU64,
    pub(super) connections: AtomicU64,
}

/// What is done to a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    End,
    Stall(Duration),
    Leave(Duration),
    Cut,
    Accept(bool),
}

impl Remote {
    pub(super) fn tell(&self, command: Command) {
        // nothing panics while it holds the queue
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push_back(command);
        // the counter of an eventfd that is read after each write cannot be full
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(super) fn next(&self) -> Option<Command> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(super) fn is_to_end(&self) -> bool {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).contains(&Command::End)
    }
}
