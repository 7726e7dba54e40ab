//! A TLS connection whose two directions belong to two threads. rustls keeps one state for both; each thread
//! holds it only while it encrypts or decrypts, never while it waits for the network, so neither waits for
//! the other.

use rustls::Connection;
use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Bytes that are read from the network at once.
const PIECE: usize = 16 << 10;

/// Both directions.
struct Sealed {
    socket: TcpStream,
    tls: Mutex<Connection>,
}

impl Sealed {
    fn tls(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shakes hands and gives both directions, and what closes them. The handshake, and each wait from then on,
/// has this time limit: before the handshake is over, the peer is unknown.
pub(crate) fn open(
    mut socket: TcpStream,
    mut tls: Connection,
    patience: Duration,
) -> io::Result<(Ear, Mouth, Closer)> {
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(patience))?;
    // an answer may be larger than what rustls would hold by itself
    tls.set_buffer_limit(None);
    let deadline = Instant::now() + patience;
    loop {
        while tls.wants_write() {
            tls.write_tls(&mut socket)?;
        }
        if !tls.is_handshaking() {
            break;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        if tls.read_tls(&mut socket)? == 0 {
            let text = "the other end closed the connection during the TLS handshake";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        if let Err(error) = tls.process_new_packets() {
            // the other end is told why, if it still listens
            let _ = tls.write_tls(&mut socket);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
    }
    socket.set_read_timeout(Some(patience))?;
    let sealed = Arc::new(Sealed { socket, tls: Mutex::new(tls) });
    let mut ear = Ear { sealed: Arc::clone(&sealed), plain: VecDeque::new(), is_over: false };
    // what came with the last piece of the handshake
    ear.take_plain()?;
    Ok((ear, Mouth(Arc::clone(&sealed)), Closer(sealed)))
}

/// What comes.
pub(crate) struct Ear {
    sealed: Arc<Sealed>,
    plain: VecDeque<u8>,
    is_over: bool,
}

impl Ear {
    /// Takes what has been opened.
    fn take_plain(&mut self) -> io::Result<()> {
        let mut tls = self.sealed.tls();
        let mut piece = [0; 4096];
        loop {
            match tls.reader().read(&mut piece) {
                Ok(0) => {
                    self.is_over = true;
                    return Ok(());
                }
                Ok(count) => self.plain.extend(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Time limit for reading; `None`: none.
    pub(crate) fn set_patience(&self, limit: Option<Duration>) -> io::Result<()> {
        self.sealed.socket.set_read_timeout(limit)
    }
}

impl Read for Ear {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut piece = [0; PIECE];
        while self.plain.is_empty() && !self.is_over {
            let count = (&self.sealed.socket).read(&mut piece)?;
            if count == 0 {
                self.is_over = true;
            }
            let mut sealed = &piece[..count];
            while !sealed.is_empty() {
                {
                    let mut tls = self.sealed.tls();
                    tls.read_tls(&mut sealed)?;
                    let opened = tls.process_new_packets();
                    opened.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                }
                self.take_plain()?;
            }
        }
        self.plain.read(buffer)
    }
}

/// The sending direction. Only one thread may have it, so pieces stay in order.
pub(crate) struct Mouth(Arc<Sealed>);

impl Write for Mouth {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sealed = Vec::new();
        {
            let mut tls = self.0.tls();
            tls.writer().write_all(bytes)?;
            while tls.wants_write() {
                tls.write_tls(&mut sealed)?;
            }
        }
        (&self.0.socket).write_all(&sealed)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Mouth {
    /// Says that nothing more comes.
    pub(crate) fn finish(&self) {
        // it is closed already where the other end is gone
        let _ = self.0.socket.shutdown(Shutdown::Write);
    }
}

/// Closes both directions, even while a thread waits for them.
#[derive(Clone)]
pub(crate) struct Closer(Arc<Sealed>);

impl Closer {
    pub(crate) fn close(&self) {
        // it is closed already where the other end is gone
        let _ = self.0.socket.shutdown(Shutdown::Both);
    }
}
