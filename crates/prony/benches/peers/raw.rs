//! The limit: the same sockets, as many epoll threads as the engine has, the same scheduling; but the request
//! is always the same bytes (an execution of the point select, after a real login), and of the reply only the
//! bytes are counted. No values, no clock, no histogram. A process of its own: the bench starts itself again
//! under a hidden argument.

use rustix::{
    event::{Timespec, epoll},
    net::{RecvFlags, SendFlags, recv, send},
};
use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};
use wire::{
    Value,
    client::{Handshake, Options, Progress, Session, Statement, Step, Transport, Trust},
};

const SQL: &[u8] = b"SELECT c FROM sbtest1 WHERE id=?";
const INPUT_BYTES: usize = 64 * 1024;
/// As the engine.
const EVENTS_AT_ONCE: usize = 128;
/// How often the end is looked for when nothing comes.
const LOOK_UP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// What is asked of a raw client.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RawOptions {
    /// Where the server listens
    pub(crate) address: SocketAddr,
    /// Account; its password comes from PRONY_PASSWORD
    pub(crate) user: String,
    /// Connections
    pub(crate) connections: usize,
    /// Threads
    pub(crate) workers: usize,
    /// How long, s
    pub(crate) seconds: f64,
}

/// One connection: what it asks, and how many bytes of the reply are still missing.
struct Line {
    socket: TcpStream,
    request: Box<[u8]>,
    reply_bytes: usize,
    missing: usize,
}

/// Asks until the time is over; replies, and how long it took in seconds.
///
/// # Errors
/// Where a connection fails.
pub(crate) fn run(options: &RawOptions) -> io::Result<(u64, f64)> {
    let login = Arc::new(Options {
        user: options.user.clone(),
        password: std::env::var("PRONY_PASSWORD").unwrap_or_default(),
        database: Some("prony".to_owned()),
        // of a server that the benchmark has started
        trust: Trust { ask_key: true, ..Trust::default() },
        ..Options::default()
    });
    let workers = options.workers.clamp(1, options.connections);
    let ready = Barrier::new(workers);
    let length = Duration::from_secs_f64(options.seconds);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                let count = (options.connections + workers - 1 - worker) / workers;
                let (login, ready) = (&login, &ready);
                scope.spawn(move || {
                    let lines: io::Result<Vec<_>> =
                        (0..count).map(|_| Line::open(options.address, login)).collect();
                    ready.wait();
                    serve(lines?, length)
                })
            })
            .collect();
        let mut total = (0, 0.0_f64);
        for thread in threads {
            let (replies, seconds) =
                thread.join().map_err(|_| io::Error::other("a raw thread panicked"))??;
            total = (total.0 + replies, total.1.max(seconds));
        }
        Ok(total)
    })
}

fn serve(mut lines: Vec<Line>, length: Duration) -> io::Result<(u64, f64)> {
    load::io::be_a_batch_thread();
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut input = vec![0; INPUT_BYTES];
    let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
    let mut replies = 0;
    let begun = Instant::now();
    for (index, line) in lines.iter().enumerate() {
        epoll::add(&poll, &line.socket, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        send(&line.socket, &line.request, SendFlags::NOSIGNAL)?;
    }
    while begun.elapsed() < length {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&LOOK_UP))?;
        for event in &events {
            let line = &mut lines[event.data.u64() as usize];
            let (count, _) = recv(&line.socket, &mut input[..], RecvFlags::empty())?;
            if count == 0 {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            line.missing = line.missing.saturating_sub(count);
            if line.missing == 0 {
                replies += 1;
                line.missing = line.reply_bytes;
                send(&line.socket, &line.request, SendFlags::NOSIGNAL)?;
            }
        }
    }
    Ok((replies, begun.elapsed().as_secs_f64()))
}

impl Line {
    fn open(address: SocketAddr, login: &Arc<Options>) -> io::Result<Self> {
        let mut socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        let mut session = log_in(&mut socket, login)?;
        let mut out = Vec::new();
        session.prepare(SQL, &mut out).map_err(io::Error::other)?;
        let (_, prepared) = exchange(&mut socket, &mut session, &out)?;
        let mut statement = Statement::new(prepared.ok_or(io::ErrorKind::InvalidData)?);
        let mut reply_bytes = 0;
        // the first execution tells the parameter's type, and its reply the columns: the second is like all
        // that follow
        for _ in 0..2 {
            out.clear();
            session.execute(&mut statement, &[Value::Int(1)], &mut out).map_err(io::Error::other)?;
            (reply_bytes, _) = exchange(&mut socket, &mut session, &out)?;
        }
        socket.set_nonblocking(true)?;
        Ok(Self { socket, request: out.into(), reply_bytes, missing: reply_bytes })
    }
}

fn log_in(socket: &mut TcpStream, login: &Arc<Options>) -> io::Result<Box<Session>> {
    let mut handshake = Handshake::new(Arc::clone(login), Transport::Tcp);
    let (mut input, mut filled, mut out) = (vec![0; INPUT_BYTES], 0, Vec::new());
    loop {
        let count = socket.read(&mut input[filled..])?;
        if count == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        filled += count;
        out.clear();
        let (used, step) = handshake.advance(&input[..filled], &mut out).map_err(io::Error::other)?;
        input.copy_within(used..filled, 0);
        filled -= used;
        socket.write_all(&out)?;
        if let Step::Ready(session) = step {
            return Ok(session);
        }
    }
}

/// Sends a command and takes its whole reply: its bytes, and what it prepared.
fn exchange(
    socket: &mut TcpStream,
    session: &mut Session,
    out: &[u8],
) -> io::Result<(usize, Option<wire::client::Prepared>)> {
    socket.write_all(out)?;
    let (mut input, mut filled, mut bytes) = (vec![0; INPUT_BYTES], 0, 0);
    loop {
        let count = socket.read(&mut input[filled..])?;
        if count == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        filled += count;
        bytes += count;
        let (used, progress) = session.receive(&input[..filled]).map_err(io::Error::other)?;
        input.copy_within(used..filled, 0);
        filled -= used;
        match progress {
            Progress::Done(reply) if reply.error.is_none() => return Ok((bytes, reply.prepared)),
            Progress::Done(_) => return Err(io::Error::other(session.message().to_owned())),
            Progress::NeedMore | Progress::LocalInfile { .. } => {}
        }
    }
}
