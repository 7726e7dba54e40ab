//! A non-blocking byte stream to the server: TCP or a Unix socket, with or without TLS. Memory belongs to the
//! worker: a connection without TLS owns no buffer but for what the kernel would not take at once.

use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, recv,
        send, socket_with, sockopt,
    },
};
use rustls::ClientConnection;
use std::{
    io::{self, Read as _, Write as _},
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

/// How long sent bytes may stay unacknowledged before the kernel gives up the connection.
const UNACKNOWLEDGED_MAX_MS: u32 = 30_000;

/// Where to connect, after names were resolved.
#[derive(Debug, Clone)]
pub(crate) enum Peer {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A socket, or a TLS session over one.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: OwnedFd,
    tls: Option<Box<ClientConnection>>,
    /// Bytes that the kernel would not take yet (below TLS: already encrypted).
    unsent: Vec<u8>,
}

/// How connecting began.
#[derive(Debug)]
pub(crate) enum Opening {
    /// The socket becomes writable when done.
    Begun(Transport),
    /// The Unix socket's backlog is full: a blocking client would wait now.
    Full(OwnedFd),
}

/// What reading gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes.
    Bytes(usize),
    /// Nothing now.
    Later,
    /// The server closed the connection.
    Closed,
}

impl Transport {
    /// Begins to connect. A `source` is the address to connect from. With `waits`, others are already waiting
    /// before the Unix socket.
    pub(crate) fn open(peer: &Peer, source: Option<IpAddr>, waits: bool) -> io::Result<Opening> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = match peer {
            Peer::Tcp(address) => {
                let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let socket = socket_with(family, SocketType::STREAM, flags, None)?;
                sockopt::set_tcp_nodelay(&socket, true)?;
                // a network that was cut is noticed in this time instead of a quarter of an hour; a stopped
                // server is not meant, its kernel still acknowledges
                sockopt::set_tcp_user_timeout(&socket, UNACKNOWLEDGED_MAX_MS)?;
                if let Some(source) = source {
                    crate::io::choose_port_when_connecting(socket.as_fd())?;
                    bind(&socket, &SocketAddr::new(source, 0))?;
                }
                match connect(&socket, address) {
                    Ok(()) | Err(Errno::INPROGRESS) => socket,
                    Err(error) => return Err(error.into()),
                }
            }
            Peer::Unix(path) => {
                let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                if waits {
                    return Ok(Opening::Full(socket));
                }
                match connect(&socket, &SocketAddrUnix::new(path.as_path())?) {
                    Ok(()) => socket,
                    Err(Errno::AGAIN) => return Ok(Opening::Full(socket)),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        Ok(Opening::Begun(Self::of(socket)))
    }

    /// A socket that is connected and non-blocking already.
    pub(crate) fn of(socket: OwnedFd) -> Self {
        Self { socket, tls: None, unsent: Vec::new() }
    }

    /// After the socket became writable for the first time: whether it is connected.
    pub(crate) fn finish_connecting(&self) -> io::Result<()> {
        sockopt::socket_error(&self.socket)??;
        Ok(())
    }

    /// Speaks TLS from now on; the first bytes of the handshake are sent.
    pub(crate) fn start_tls(&mut self, session: ClientConnection) -> io::Result<()> {
        self.tls = Some(Box::new(session));
        self.send(&[])
    }

    /// Sends all of `bytes`, now or as soon as the socket takes them.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return push(&self.socket, &mut self.unsent, bytes);
        };
        let mut rest = bytes;
        loop {
            // rustls bounds its own buffer: hand over what it takes, move it on, and go on
            let taken = tls.writer().write(rest)?;
            rest = &rest[taken..];
            while tls.wants_write() {
                tls.write_tls(&mut Pushing { socket: &self.socket, unsent: &mut self.unsent })?;
            }
            if rest.is_empty() || taken == 0 {
                return if rest.is_empty() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) };
            }
        }
    }

    /// Whether TLS is spoken.
    #[inline]
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Bytes that TLS has decrypted and nobody has read.
    #[inline]
    pub(crate) fn unread(&mut self) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return Ok(0) };
        Ok(tls.process_new_packets().map_err(io::Error::other)?.plaintext_bytes_to_read())
    }

    /// Whether a TLS handshake is under way.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Whether bytes wait for the socket to become writable.
    #[inline]
    pub(crate) fn is_blocked(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends what waits, as far as the socket takes it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.unsent);
        push(&self.socket, &mut self.unsent, &waiting)
    }

    /// Reads into `buffer`. With TLS, call again until [`Received::Later`]: one record may hold more than a
    /// buffer.
    #[inline]
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        let Some(tls) = &mut self.tls else {
            return pull(&self.socket, buffer);
        };
        loop {
            match tls.reader().read(buffer) {
                Ok(0) => return Ok(Received::Closed),
                Ok(count) => return Ok(Received::Bytes(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            let mut socket = Pulling(&self.socket);
            match tls.read_tls(&mut socket) {
                Ok(0) => return Ok(Received::Closed),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Received::Later),
                Err(error) => return Err(error),
            }
            tls.process_new_packets().map_err(io::Error::other)?;
            while tls.wants_write() {
                tls.write_tls(&mut Pushing { socket: &self.socket, unsent: &mut self.unsent })?;
            }
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[inline]
fn pull(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Received> {
    loop {
        match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Ok(Received::Closed),
            Ok((count, _)) => return Ok(Received::Bytes(count)),
            Err(Errno::AGAIN) => return Ok(Received::Later),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[inline]
fn push(socket: &OwnedFd, unsent: &mut Vec<u8>, mut bytes: &[u8]) -> io::Result<()> {
    if !unsent.is_empty() {
        unsent.extend_from_slice(bytes);
        return Ok(());
    }
    while !bytes.is_empty() {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::AGAIN) => {
                unsent.extend_from_slice(bytes);
                break;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The socket as rustls wants to write to it.
struct Pushing<'a> {
    socket: &'a OwnedFd,
    unsent: &'a mut Vec<u8>,
}

impl io::Write for Pushing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        push(self.socket, self.unsent, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket as rustls wants to read from it.
struct Pulling<'a>(&'a OwnedFd);

impl io::Read for Pulling<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match pull(self.0, buffer)? {
            Received::Bytes(count) => Ok(count),
            Received::Later => Err(io::ErrorKind::WouldBlock.into()),
            Received::Closed => Ok(0),
        }
    }
}
