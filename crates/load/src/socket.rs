//! A blocking socket whose every wait has a limit, and ends when the user asks to stop. It knows addresses,
//! but no protocol.
//!
//! It wakes up ten times a second to look at the clock and at the stop. That costs a control connection
//! nothing that could be measured.

use crate::{spec::Address, stop::Stop};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
        sockopt::{self, Timeout},
    },
};
use std::{
    fmt,
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs},
    os::unix::net::UnixStream,
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// How often a wait looks at the clock and the stop.
const TICK: Duration = Duration::from_millis(100);
/// How long a wait may still last once the user has asked to stop: most statements are done by then, and one
/// that is done leaves nothing half done.
const GRACE: Duration = Duration::from_secs(1);

/// How long to wait, and when to break off.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    /// No wait goes on beyond it.
    deadline: Instant,
    /// Pulled while something is waited for, it ends the wait after [`GRACE`].
    stop: Option<Stop>,
    /// When that will be, once it is pulled.
    stopped: Option<Instant>,
    /// How long nothing may come before whoever waits is asked ([`Ended::Quiet`]), and when that is next.
    quiet: Option<(Duration, Instant)>,
}

/// Why a wait ended without what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its time was over.
    TimedOut,
    /// The user asked for an end.
    Stopped,
    /// Nothing came for a while; it may be waited for again.
    Quiet,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "nothing came in time",
            Self::Stopped => "interrupted",
            Self::Quiet => "nothing came for a while",
        })
    }
}

impl std::error::Error for Ended {}

impl From<Ended> for io::Error {
    fn from(ended: Ended) -> Self {
        Self::other(ended)
    }
}

impl Patience {
    /// Waits at most this long, and not beyond the pulling of `stop`. A stop that was pulled before does not
    /// count: whoever starts waiting then is cleaning up.
    pub(crate) fn new(limit: Duration, stop: Option<&Stop>) -> Self {
        let stop = stop.filter(|stop| !stop.is_stopped()).cloned();
        Self { deadline: Instant::now() + limit, stop, stopped: None, quiet: None }
    }

    /// Reports each time in which nothing came for this long.
    pub(crate) fn asking_after(self, quiet: Duration) -> Self {
        Self { quiet: Some((quiet, Instant::now() + quiet)), ..self }
    }

    /// Whether to go on waiting.
    pub(crate) fn check(&mut self) -> Result<(), Ended> {
        let now = Instant::now();
        if self.stop.as_ref().is_some_and(|stop| stop.is_stopped())
            && now >= *self.stopped.get_or_insert(now + GRACE)
        {
            return Err(Ended::Stopped);
        }
        if now >= self.deadline {
            return Err(Ended::TimedOut);
        }
        match &mut self.quiet {
            Some((quiet, at)) if now >= *at => {
                *at = now + *quiet;
                Err(Ended::Quiet)
            }
            _ => Ok(()),
        }
    }

    fn heard(&mut self) {
        if let Some((quiet, at)) = &mut self.quiet {
            *at = Instant::now() + *quiet;
        }
    }
}

/// TCP or Unix.
#[derive(Debug)]
pub(crate) struct Socket {
    kind: Kind,
    /// For what is being waited for now.
    pub(crate) patience: Patience,
}

#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Unconnected {
    /// The host's name leads nowhere.
    Name(io::Error),
    /// Nobody answers; the last address that was tried, if it is not the requested one.
    Nobody(Option<SocketAddr>, io::Error),
}

impl Socket {
    /// Connects; every address of a name is tried in turn, and the last failure reported.
    pub(crate) fn connect(address: &Address, mut patience: Patience) -> Result<Self, Unconnected> {
        let kind = match address {
            Address::Unix(path) => connect_unix(path, &mut patience)
                .map(Kind::Unix)
                .map_err(|error| Unconnected::Nobody(None, error))?,
            Address::Tcp { host, port } => {
                let found = resolve(host, *port, &mut patience).map_err(Unconnected::Name)?;
                Kind::Tcp(first(&found, &mut patience, connect_tcp)?)
            }
        };
        let socket = Self { kind, patience };
        socket.tick().map_err(|error| Unconnected::Nobody(None, error))?;
        Ok(socket)
    }

    /// Whether it is a Unix socket.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.kind, Kind::Unix(_))
    }

    /// No wait in the kernel is longer than a tick.
    fn tick(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Tcp(socket) => {
                socket.set_nodelay(true)?;
                socket.set_read_timeout(Some(TICK))?;
                socket.set_write_timeout(Some(TICK))
            }
            Kind::Unix(socket) => {
                socket.set_read_timeout(Some(TICK))?;
                socket.set_write_timeout(Some(TICK))
            }
        }
    }

    fn wait(&mut self, mut act: impl FnMut(&mut Kind) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            // also where bytes keep coming, so that nobody is held by one now and then
            self.patience.check()?;
            match act(&mut self.kind) {
                Err(error) if is_tick(&error) => {}
                result => {
                    self.patience.heard();
                    return result;
                }
            }
        }
    }
}

/// Whether a wait in the kernel only ended in order to look around.
fn is_tick(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    // a connection that the kernel gave up is TimedOut, too, and that one does not come from us
    matches!(error.kind(), WouldBlock | Interrupted)
        || (error.kind() == TimedOut && error.raw_os_error().is_none())
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait(|kind| match kind {
            Kind::Tcp(socket) => socket.read(buffer),
            Kind::Unix(socket) => socket.read(buffer),
        })
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.wait(|kind| match kind {
            Kind::Tcp(socket) => socket.write(buffer),
            Kind::Unix(socket) => socket.write(buffer),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Addresses of a host. The resolver cannot be told to hurry, so it runs beside.
fn resolve(host: &str, port: u16, patience: &mut Patience) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, found) = mpsc::channel();
    let name = host.to_owned();
    thread::Builder::new().name("resolver".to_owned()).spawn(move || {
        let found = (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // whoever asked may have had enough
        let _ = sender.send(found);
    })?;
    loop {
        match found.recv_timeout(TICK) {
            Ok(found) => return found,
            Err(mpsc::RecvTimeoutError::Timeout) => patience.check()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The first address of a host that answers.
pub(crate) fn reach(host: &str, port: u16, mut patience: Patience) -> Result<SocketAddr, Unconnected> {
    let found = resolve(host, port, &mut patience).map_err(Unconnected::Name)?;
    first(&found, &mut patience, |address, patience| match connect_tcp(address, patience) {
        // who hangs up at once has answered
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error),
        Ok(_) | Err(_) => Ok(*address),
    })
}

/// What the first of these addresses that gave something gave.
fn first<T>(
    found: &[SocketAddr],
    patience: &mut Patience,
    connect: impl Fn(&SocketAddr, &mut Patience) -> io::Result<T>,
) -> Result<T, Unconnected> {
    let mut failure = Unconnected::Name(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    for address in found {
        match connect(address, patience) {
            Ok(connected) => return Ok(connected),
            Err(error) => {
                let is_over = ended(&error).is_some();
                failure = Unconnected::Nobody(Some(*address), error);
                if is_over {
                    break;
                }
            }
        }
    }
    Err(failure)
}

/// Why a wait ended, if that is what an error is about.
pub(crate) fn ended(error: &io::Error) -> Option<Ended> {
    error.get_ref()?.downcast_ref::<Ended>().copied()
}

fn connect_tcp(address: &SocketAddr, patience: &mut Patience) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
    loop {
        match poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&tick)) {
            Ok(0) | Err(Errno::INTR) => patience.check()?,
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
    }
    sockopt::socket_error(&socket)??;
    let socket = TcpStream::from(socket);
    socket.set_nonblocking(false)?;
    Ok(socket)
}

/// A socket whose queue is full makes the caller wait, which would have no limit.
fn connect_unix(path: &Path, patience: &mut Patience) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(TICK))?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => return Ok(socket.into()),
            Err(Errno::AGAIN | Errno::INTR) => patience.check()?,
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::TcpListener, os::unix::net::UnixListener};

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(300);

    fn tcp(listener: &TcpListener, patience: Patience) -> Socket {
        let address = listener.local_addr().unwrap();
        let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
        Socket::connect(&address, patience).unwrap()
    }

    #[test]
    fn the_addresses_of_a_name_are_tried_in_turn() {
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listening.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut patience = Patience::new(LONG, None);
        let socket = first(&[closed, open], &mut patience, connect_tcp).unwrap();
        assert_eq!(socket.peer_addr().unwrap(), open);
        let failure = first(&[closed], &mut patience, connect_tcp).unwrap_err();
        assert!(matches!(&failure, Unconnected::Nobody(Some(tried), _) if *tried == closed), "{failure:?}");
        assert!(matches!(first(&[], &mut patience, connect_tcp), Err(Unconnected::Name(_))));
    }

    #[test]
    fn a_peer_that_sends_a_byte_now_and_then_does_not_hold_whoever_waits() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = tcp(&listener, Patience::new(SHORT, None));
        let (mut peer, _) = listener.accept().unwrap();
        thread::spawn(move || {
            while peer.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(20))
            }
        });
        let begun = Instant::now();
        let error = loop {
            match socket.read(&mut [0; 16]) {
                Ok(count) => assert!(count > 0),
                Err(error) => break error,
            }
        };
        assert_eq!(ended(&error), Some(Ended::TimedOut));
        assert!(begun.elapsed() >= SHORT && begun.elapsed() < LONG, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_stop_ends_a_wait_that_is_under_way_and_not_one_that_begins_after_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stop = Stop::default();
        let mut socket = tcp(&listener, Patience::new(LONG, Some(&stop)));
        let pulled = stop.clone();
        thread::spawn(move || {
            thread::sleep(SHORT);
            pulled.stop();
        });
        let begun = Instant::now();
        assert_eq!(ended(&socket.read(&mut [0]).unwrap_err()), Some(Ended::Stopped));
        assert!(begun.elapsed() < LONG / 2);
        socket.patience = Patience::new(SHORT, Some(&stop));
        assert_eq!(ended(&socket.read(&mut [0]).unwrap_err()), Some(Ended::TimedOut));
    }

    #[test]
    fn silence_is_told_again_and_again_and_a_full_buffer_ends_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let quiet = Duration::from_millis(150);
        let mut socket = tcp(&listener, Patience::new(LONG, None).asking_after(quiet));
        for _ in 0..2 {
            assert_eq!(ended(&socket.read(&mut [0]).unwrap_err()), Some(Ended::Quiet));
        }
        socket.patience = Patience::new(SHORT, None);
        let error = socket.write_all(&vec![0; 64 << 20]).unwrap_err();
        assert_eq!(ended(&error), Some(Ended::TimedOut), "nobody reads it");
    }

    #[test]
    fn a_unix_socket_whose_queue_is_full_ends_in_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let (mut held, begun) = (Vec::new(), Instant::now());
        let error = loop {
            match connect_unix(&path, &mut Patience::new(SHORT, None)) {
                Ok(socket) => held.push(socket),
                Err(error) => break error,
            }
        };
        assert_eq!(ended(&error), Some(Ended::TimedOut), "after {} connections", held.len());
        assert!(begun.elapsed() < LONG);
    }
}
