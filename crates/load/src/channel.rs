//! What a connection has while it is open: the socket or TLS session, the protocol session over it, and the
//! beginning of a packet that is still incomplete. It knows no workload and no times.

use crate::{
    loss::Loss,
    transport::{Received, Transport},
};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::io;
use wire::client::Session;

/// An open connection's bytes; all is empty where it is not open.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    transport: Option<Transport>,
    session: Option<Box<Session>>,
    /// Beginning of a packet that is still incomplete.
    pending: Vec<u8>,
    /// Whether epoll was asked to tell when the socket takes bytes again.
    pub(crate) wants_write: bool,
    /// Whether something may be left to read that epoll has already reported.
    pub(crate) is_to_be_rearmed: bool,
    /// Status flags of the last reply without error.
    pub(crate) status: u16,
    /// Transactions since it was opened.
    pub(crate) uses: u32,
}

impl Channel {
    /// Takes a socket that connects, or has connected.
    pub(crate) fn begin(&mut self, transport: Transport) {
        self.transport = Some(transport);
    }

    /// Takes a socket that waited to be connected.
    pub(crate) fn begin_with(&mut self, socket: OwnedFd) {
        self.begin(Transport::of(socket));
    }

    /// The login has ended well.
    pub(crate) fn logged_in(&mut self, session: Box<Session>) {
        self.session = Some(session);
    }

    /// Whether it has a socket.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.transport.is_some()
    }

    /// Its socket, for epoll.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.transport.as_ref().map(|transport| transport.as_fd())
    }

    #[inline]
    pub(crate) fn transport(&mut self) -> Result<&mut Transport, Loss> {
        self.transport.as_mut().ok_or(Loss::Closed)
    }

    #[inline]
    pub(crate) fn session(&mut self) -> Result<&mut Session, Loss> {
        self.session.as_deref_mut().ok_or(Loss::Closed)
    }

    /// The server's version as its greeting has it.
    pub(crate) fn server_version(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.server_version())
    }

    /// The server's words to the last error.
    pub(crate) fn message(&self) -> &str {
        self.session.as_ref().map_or("", |session| session.message())
    }

    /// Sends all of `bytes`, now or as soon as the socket takes them.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Loss> {
        Ok(self.transport()?.send(bytes)?)
    }

    /// Reads into `input`.
    #[inline]
    pub(crate) fn receive(&mut self, input: &mut [u8]) -> io::Result<Received> {
        match &mut self.transport {
            Some(transport) => transport.receive(input),
            None => Ok(Received::Later),
        }
    }

    /// Whether there may be more to read than one call returned: the kernel reports more by itself, a TLS
    /// session does not.
    #[inline]
    pub(crate) fn may_hold_more(&self) -> bool {
        self.transport.as_ref().is_some_and(Transport::is_tls)
    }

    /// What was kept of an incomplete packet; empty in almost all cases.
    #[inline]
    pub(crate) fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Bytes that came after a reply and that nobody has looked at, besides those that the caller holds.
    #[inline]
    pub(crate) fn unread(&mut self) -> io::Result<usize> {
        let unpacked = self.session.as_ref().map_or(0, |session| session.unread());
        let deciphered = self.transport.as_mut().map_or(Ok(0), Transport::unread)?;
        Ok(unpacked + deciphered)
    }

    /// Whether bytes wait for the socket to take them.
    #[inline]
    pub(crate) fn is_blocked(&self) -> bool {
        self.transport.as_ref().is_some_and(Transport::is_blocked)
    }

    /// Says goodbye, so that the server does not count an aborted client.
    pub(crate) fn quit(&mut self, out: &mut Vec<u8>) {
        out.clear();
        if let (Some(session), Some(transport)) = (&mut self.session, &mut self.transport)
            && session.quit(out).is_ok()
        {
            // a server that is gone need not be told
            let _ = transport.send(out);
        }
    }
}
