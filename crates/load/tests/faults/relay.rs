//! A network between client and server that can be cut: forwards bytes, holds them back, loses them, or
//! resets.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How often the threads look at what the network is to be.
const LOOK_UP: Duration = Duration::from_millis(5);

const FORWARDS: u8 = 0;
const HOLDS: u8 = 1;
const RESETS: u8 = 2;

/// Ends when dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    server: SocketAddr,
    state: AtomicU8,
    /// Connections made before this count was raised are lost for good: their bytes vanish.
    era: AtomicU64,
    over: AtomicBool,
}

impl Relay {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket option");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            server,
            state: AtomicU8::new(FORWARDS),
            era: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || for_thread.accept(&listener));
        Self { address, shared, thread: Some(thread) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Nothing comes through, and nobody is told. What is sent meanwhile comes through after [`Relay::heal`],
    /// as TCP sends it again.
    pub(crate) fn hold(&self) {
        self.shared.state.store(HOLDS, Ordering::SeqCst);
    }

    /// As [`Relay::hold`], and the connections of now stay dead for ever, as when a firewall has forgotten
    /// them.
    pub(crate) fn lose(&self) {
        self.shared.era.fetch_add(1, Ordering::SeqCst);
        self.hold();
    }

    /// Every connection is reset, new ones too.
    pub(crate) fn reset(&self) {
        self.shared.state.store(RESETS, Ordering::SeqCst);
    }

    /// Forwards again.
    pub(crate) fn heal(&self) {
        self.shared.state.store(FORWARDS, Ordering::SeqCst);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // a thread that panicked has said so
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        while !self.is_over() {
            let Ok((client, _)) = listener.accept() else {
                thread::sleep(LOOK_UP);
                continue;
            };
            if self.state.load(Ordering::SeqCst) == RESETS {
                reset(&client);
                continue;
            }
            let Ok(server) = TcpStream::connect(self.server) else { continue };
            let era = self.era.load(Ordering::SeqCst);
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (from, to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
                let shared = Arc::clone(self);
                thread::spawn(move || shared.carry(era, from, to));
            }
        }
    }

    /// One direction of one connection, until it is over.
    fn carry(&self, era: u64, mut from: TcpStream, mut to: TcpStream) {
        from.set_nonblocking(false)
            .and_then(|()| from.set_read_timeout(Some(LOOK_UP)))
            .expect("a socket option");
        to.set_nodelay(true).expect("a socket option");
        let mut buffer = vec![0; 64 << 10];
        while !self.is_over() {
            match self.state.load(Ordering::SeqCst) {
                HOLDS => {
                    thread::sleep(LOOK_UP);
                    continue;
                }
                RESETS => {
                    reset(&from);
                    return;
                }
                _ => {}
            }
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    // what was read when the cut began goes no further either
                    while self.state.load(Ordering::SeqCst) == HOLDS && !self.is_over() {
                        thread::sleep(LOOK_UP);
                    }
                    let is_lost = self.era.load(Ordering::SeqCst) != era;
                    if !is_lost && to.write_all(&buffer[..count]).is_err() {
                        break;
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
            }
        }
        // the other side may be gone already
        let _ = to.shutdown(Shutdown::Write);
    }
}

/// Makes the close that follows a reset.
fn reset(socket: &TcpStream) {
    // a socket that is gone needs no reset
    let _ = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}
