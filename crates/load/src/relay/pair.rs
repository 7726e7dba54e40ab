//! One connection through the relay: two sockets, and what is on its way to each.

use rustix::{
    event::epoll,
    fd::{AsFd as _, OwnedFd},
    net::{
        AddressFamily, SocketFlags, SocketType, bind, connect, socket_with,
        sockopt::{set_socket_linger, set_tcp_nodelay, socket_error},
    },
};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// Capacity of a buffer that is kept while nothing is on its way.
const CAPACITY_KEPT: usize = 16 << 10;

/// A side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Who connected to the relay.
    Client,
    /// Who the relay connected to.
    Server,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Pair {
    /// Its number, which no later one has.
    pub(super) number: u64,
    /// Where the client is.
    pub(super) from: SocketAddr,
    client: End,
    server: End,
}

/// One of its two sockets, and what is on its way there.
#[derive(Debug, Default)]
pub(super) struct End {
    /// `None`: not yet connected, or gone.
    pub(super) socket: Option<TcpStream>,
    /// It was asked to connect and has not answered.
    pub(super) connecting: bool,
    /// Nothing more comes from here.
    pub(super) read_over: bool,
    /// On its way here; the first `released` bytes have waited long enough.
    waiting: VecDeque<u8>,
    released: usize,
    /// The end of the stream has come after them.
    end_released: bool,
    /// The end of the stream was handed on.
    pub(super) end_sent: bool,
    /// When the last of what is on its way here is due; nothing overtakes it.
    last_due: Option<Instant>,
    /// What epoll was asked for.
    interest: epoll::EventFlags,
}

/// A socket failed: whoever holds the other end is to be told.
#[derive(Debug)]
pub(super) struct Broken;

impl Pair {
    pub(super) fn new(number: u64, socket: TcpStream, from: SocketAddr) -> Self {
        let client = End { socket: Some(socket), ..End::default() };
        Self { number, from, client, server: End::default() }
    }

    pub(super) fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Bytes on their way in both directions.
    pub(super) fn held(&self) -> usize {
        self.client.waiting.len() + self.server.waiting.len()
    }

    /// Whether both streams have ended.
    pub(super) fn is_done(&self) -> bool {
        self.client.end_sent && self.server.end_sent
    }

    /// Asks epoll for what this side waits for now. `limit` is how much may be on its way to the other one.
    pub(super) fn watch(&mut self, poll: &OwnedFd, side: Side, token: u64, limit: usize) -> io::Result<()> {
        // only when half is gone, lest it be switched on and off with each piece
        let was_full = !self.end(side).interest.contains(epoll::EventFlags::IN);
        let other_waiting = self.end(side.other()).waiting.len();
        let full = other_waiting >= if was_full { limit.div_ceil(2) } else { limit };
        let end = self.end(side);
        let mut wanted = epoll::EventFlags::empty();
        if end.connecting {
            wanted = epoll::EventFlags::OUT;
        } else {
            wanted.set(epoll::EventFlags::IN, !end.read_over && !full);
            wanted.set(epoll::EventFlags::OUT, end.released > 0);
        }
        end.ask(poll, token, wanted)
    }

    /// Resets what is left of it: each side learns that the connection broke.
    pub(super) fn reset(&self) {
        for socket in [&self.client.socket, &self.server.socket].into_iter().flatten() {
            // a socket that is gone needs no reset
            let _ = set_socket_linger(socket, Some(Duration::ZERO));
        }
    }
}

impl End {
    fn ask(&mut self, poll: &OwnedFd, token: u64, wanted: epoll::EventFlags) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        if wanted == self.interest {
            return Ok(());
        }
        let data = epoll::EventData::new_u64(token);
        // what waits for nothing is taken out, since hang-ups are told unasked, again and again
        match (self.interest.is_empty(), wanted.is_empty()) {
            (true, _) => epoll::add(poll, socket, data, wanted)?,
            (false, true) => epoll::delete(poll, socket)?,
            (false, false) => epoll::modify(poll, socket, data, wanted)?,
        }
        self.interest = wanted;
        Ok(())
    }

    /// Begins to connect.
    pub(super) fn connect(&mut self, to: SocketAddr, from: SocketAddr) -> io::Result<()> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        set_tcp_nodelay(&socket, true)?;
        if to.ip().is_loopback() && from.ip().is_loopback() && to.is_ipv4() == from.is_ipv4() {
            // the server sees the client's own address, and the ports of one address are not the limit
            crate::io::choose_port_when_connecting(socket.as_fd())?;
            bind(&socket, &SocketAddr::new(from.ip(), 0))?;
        }
        match connect(&socket, &to) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        // without the kernel's notes a piece counts from when it is read, which is a little later
        let _ = crate::io::note_arrivals(socket.as_fd());
        self.socket = Some(TcpStream::from(socket));
        self.connecting = true;
        Ok(())
    }

    /// The socket that was connecting is ready, or has failed.
    pub(super) fn connected(&mut self) -> Result<(), Broken> {
        self.connecting = false;
        match self.socket.as_ref().map(socket_error) {
            Some(Ok(Ok(()))) => Ok(()),
            _ => Err(Broken),
        }
    }

    /// Reads what there is, and how long ago it came if the kernel knows; `None`: nothing now, 0 bytes: the
    /// stream has ended.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<Option<(usize, Option<Duration>)>, Broken> {
        let Some(socket) = &self.socket else { return Ok(None) };
        match crate::io::read_with_age(socket.as_fd(), buffer) {
            Ok((count, age)) => {
                self.read_over = count == 0;
                Ok(Some((count, age)))
            }
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => Ok(None),
            Err(_) => Err(Broken),
        }
    }

    /// Takes bytes that are to be handed on here at this time, or no bytes if the stream ends; when it really
    /// will be.
    pub(super) fn hold(&mut self, bytes: &[u8], at: Instant) -> Instant {
        self.waiting.extend(bytes);
        let at = self.last_due.map_or(at, |last| last.max(at));
        self.last_due = Some(at);
        at
    }

    /// So many bytes have waited long enough.
    pub(super) fn release(&mut self, bytes: usize) {
        self.released += bytes;
    }

    /// The end of the stream has waited long enough.
    pub(super) fn release_end(&mut self) {
        self.end_released = true;
    }

    /// Hands on what has waited long enough, as far as the socket takes it.
    pub(super) fn send(&mut self) -> Result<(), Broken> {
        if self.connecting {
            return Ok(());
        }
        let Some(socket) = &mut self.socket else { return Ok(()) };
        while self.released > 0 {
            let (first, _) = self.waiting.as_slices();
            let piece = &first[..first.len().min(self.released)];
            match socket.write(piece) {
                Ok(count) => {
                    self.waiting.drain(..count);
                    self.released -= count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Broken),
            }
        }
        if self.waiting.is_empty() && self.waiting.capacity() > CAPACITY_KEPT {
            self.waiting = VecDeque::new();
        }
        if self.end_released && !self.end_sent {
            self.end_sent = true;
            // one that is gone already has ended, too
            let _ = socket.shutdown(Shutdown::Write);
        }
        Ok(())
    }

    /// It is gone: nothing comes from here, and what is on its way here is lost.
    pub(super) fn lose(&mut self) {
        *self = Self { read_over: true, ..Self::default() };
    }
}
