//! One connection of a stream: logs in, runs transactions step by step, measures each reply, and comes back when it is
//! lost. A state machine without threads; whatever is large (buffers, histograms) belongs to the worker's [`Bench`].

use crate::{
    bench::Bench,
    execute::FirstRow,
    program::{Drawn, Program},
    random::Random,
    transport::{Peer, Received, Transport},
};
use std::{io, sync::Arc};
use thiserror::Error;
use wire::client::{Handshake, Progress, Session, Statement, Step};

/// Why a connection was lost or could not be opened.
#[derive(Debug, Error)]
pub(crate) enum Loss {
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server refused the login or broke the protocol.
    #[error("{0}")]
    Wire(#[from] wire::Error),
    /// Bytes came that nobody had asked for.
    #[error("the server sent {0} bytes that nothing had asked for")]
    Unasked(usize),
    /// TLS was to begin, but none is configured.
    #[error("the server asked for TLS, which is switched off")]
    TlsUnwanted,
}

impl Loss {
    /// The code under which it is counted: the server's own, or that of MySQL's client library.
    pub(crate) fn code(&self) -> (u16, [u8; 5]) {
        match self {
            Self::Wire(wire::Error::Server { error, .. }) => (error.code, error.state),
            Self::Wire(_) | Self::Unasked(_) => (2027, *b"HY000"), // CR_MALFORMED_PACKET
            Self::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => (2003, *b"HY000"),
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => (2002, *b"HY000"),
            Self::Io(_) | Self::Closed => (2013, *b"08S01"), // CR_SERVER_LOST
            Self::TlsUnwanted => (2026, *b"HY000"),          // CR_SSL_CONNECTION_ERROR
        }
    }
}

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum Stage {
    /// No socket.
    Down,
    /// TCP is not yet established.
    Connecting,
    LoggingIn(Box<Handshake>),
    /// Logged in; nothing is under way.
    Idle,
    /// Waits for the reply to PREPARE.
    Preparing(usize),
    /// Waits for the reply to a statement.
    Executing(usize),
    /// Waits for the reply to a bulk INSERT; the number is its statement kind.
    Inserting(usize),
    /// Waits for the reply to ROLLBACK.
    RollingBack,
}

/// What a connection has of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Prepared {
    /// Not yet prepared.
    Not,
    /// This server does not prepare it: sent as text.
    AsText,
    Ready(Statement),
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Index of its stream.
    pub(crate) stream: usize,
    /// Its number in the stream.
    pub(crate) number: u32,
    pub(crate) stage: Stage,
    pub(crate) transport: Option<Transport>,
    pub(crate) session: Option<Box<Session>>,
    /// Beginning of a packet whose rest has not come yet.
    pending: Vec<u8>,
    pub(crate) random: Random,
    pub(crate) slots: Box<[Drawn]>,
    /// Whether the statement under way has had its first row.
    pub(crate) kept: bool,
    /// Texts of `slots`.
    pub(crate) arena: Vec<u8>,
    /// Rows that wait to be sent by [`crate::program::Action::BulkRow`].
    pub(crate) bulk: Vec<u8>,
    /// Statement ids, by statement and table.
    pub(crate) prepared: Box<[Prepared]>,
    pub(crate) routine: usize,
    pub(crate) step: usize,
    /// When the current transaction's first byte was sent.
    pub(crate) began_ns: Option<u64>,
    pub(crate) sent_ns: u64,
    /// Status flags of the last reply without error.
    pub(crate) status: u16,
    opening_ns: u64,
    failures: u32,
    /// Transactions that ended well in the measurement interval.
    pub(crate) finished: u64,
    /// Whether epoll was asked to tell when the socket takes bytes again.
    pub(crate) wants_write: bool,
}

/// What the worker must do after a connection was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum After {
    /// Nothing.
    Carry,
    /// It has just logged in.
    LoggedIn,
}

impl Connection {
    pub(crate) fn new(stream: usize, number: u32, seed: u64, program: &Program) -> Self {
        let statements = if program.statements.iter().any(|each| each.prepared) {
            program.statements.len() * program.tables as usize
        } else {
            0
        };
        Self {
            stream,
            number,
            stage: Stage::Down,
            transport: None,
            session: None,
            pending: Vec::new(),
            random: Random::for_connection(seed, stream as u32, number),
            slots: vec![Drawn::Null; program.slots].into(),
            kept: false,
            arena: Vec::new(),
            bulk: Vec::new(),
            prepared: vec![Prepared::Not; statements].into(),
            routine: 0,
            step: 0,
            began_ns: None,
            sent_ns: 0,
            status: 0,
            opening_ns: 0,
            failures: 0,
            finished: 0,
            wants_write: false,
        }
    }

    pub(crate) fn transport(&self) -> Option<&Transport> {
        self.transport.as_ref()
    }

    /// The server's version as its greeting has it.
    pub(crate) fn server_version(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.server_version())
    }

    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Idle)
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.stage, Stage::Down)
    }

    /// Whether a login is on its way.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.stage, Stage::Connecting | Stage::LoggingIn(_))
    }

    /// When the transaction that is under way began; `None`: none is.
    pub(crate) fn busy_since_ns(&self) -> Option<u64> {
        self.began_ns
    }

    /// Failed attempts to connect since the last login.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Begins to connect.
    pub(crate) fn open(&mut self, bench: &Bench<'_>) -> Result<(), Loss> {
        self.opening_ns = bench.now_ns();
        self.stage = Stage::Connecting;
        self.wants_write = true;
        self.transport = Some(Transport::open(&bench.login.peer)?);
        Ok(())
    }

    /// Forgets the socket and everything that was bound to it.
    pub(crate) fn close(&mut self) {
        self.transport = None;
        self.session = None;
        self.stage = Stage::Down;
        self.pending = Vec::new();
        self.prepared.fill(Prepared::Not);
        self.bulk.clear();
        self.began_ns = None;
        self.status = 0;
        self.wants_write = false;
        self.failures = self.failures.saturating_add(1);
    }

    /// Says goodbye, so that the server does not count an aborted client.
    pub(crate) fn quit(&mut self, bench: &mut Bench<'_>) {
        bench.out.clear();
        if let (Stage::Idle, Some(session), Some(transport)) =
            (&self.stage, &mut self.session, &mut self.transport)
            && session.quit(&mut bench.out).is_ok()
        {
            // a server that is gone need not be told
            let _ = transport.send(&bench.out);
        }
        self.close();
    }

    /// The socket takes bytes again.
    pub(crate) fn on_writable(&mut self, bench: &Bench<'_>) -> Result<(), Loss> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        if matches!(self.stage, Stage::Connecting) {
            transport.finish_connecting()?;
            let kind = match bench.login.peer {
                Peer::Tcp(_) => wire::client::Transport::Tcp,
                Peer::Unix(_) => wire::client::Transport::Unix,
            };
            self.stage = Stage::LoggingIn(Box::new(Handshake::new(Arc::clone(&bench.login.options), kind)));
            return Ok(());
        }
        Ok(transport.flush()?)
    }

    /// Whether bytes wait for the socket to take them, so that the worker must watch for that.
    pub(crate) fn is_blocked(&self) -> bool {
        matches!(self.stage, Stage::Connecting) || self.transport.as_ref().is_some_and(Transport::is_blocked)
    }

    /// The socket has something. Reads it, and goes on with whatever that allows.
    pub(crate) fn on_readable(&mut self, bench: &mut Bench<'_>) -> Result<After, Loss> {
        // the buffer is taken out for the time, so that what is read can be looked at while `bench` is in use
        let mut input = std::mem::take(&mut bench.input);
        let result = self.receive(&mut input, bench);
        bench.input = input;
        result
    }

    fn receive(&mut self, input: &mut [u8], bench: &mut Bench<'_>) -> Result<After, Loss> {
        let mut after = After::Carry;
        loop {
            let Some(transport) = &mut self.transport else { return Ok(after) };
            let count = match transport.receive(input)? {
                Received::Bytes(count) => count,
                Received::Later => return Ok(after),
                Received::Closed => return Err(Loss::Closed),
            };
            let now_ns = bench.now_ns();
            if self.pending.is_empty() {
                let (used, done) = self.consume(&input[..count], now_ns, bench)?;
                self.pending.extend_from_slice(&input[used..count]);
                after = done.max(after);
            } else {
                let mut bytes = std::mem::take(&mut self.pending);
                bytes.extend_from_slice(&input[..count]);
                let (used, done) = self.consume(&bytes, now_ns, bench)?;
                bytes.drain(..used);
                self.pending = bytes;
                after = done.max(after);
            }
            // without TLS the kernel tells when there is more; a TLS session may hold more than it gave
            if self.transport.as_ref().is_none_or(|transport| !transport.is_tls()) {
                return Ok(after);
            }
        }
    }

    /// Takes whole packets. Returns how many bytes are done with.
    fn consume(&mut self, bytes: &[u8], now_ns: u64, bench: &mut Bench<'_>) -> Result<(usize, After), Loss> {
        let mut at = 0;
        let mut after = After::Carry;
        loop {
            match &mut self.stage {
                Stage::LoggingIn(_) => {
                    let (used, logged_in) = self.log_in(&bytes[at..], now_ns, bench)?;
                    at += used;
                    if !logged_in {
                        return Ok((at, after));
                    }
                    after = After::LoggedIn;
                }
                Stage::Idle | Stage::Down | Stage::Connecting => {
                    return if at == bytes.len() {
                        Ok((at, after))
                    } else {
                        Err(Loss::Unasked(bytes.len() - at))
                    };
                }
                _ => {
                    let (used, progress) = self.read_reply(&bytes[at..], bench)?;
                    at += used;
                    match progress {
                        Progress::NeedMore => return Ok((at, after)),
                        Progress::Done(reply) => self.on_reply(&reply, now_ns, bench)?,
                        Progress::LocalInfile { .. } => self.refuse_local_file(bench)?,
                    }
                }
            }
        }
    }

    fn log_in(&mut self, bytes: &[u8], now_ns: u64, bench: &mut Bench<'_>) -> Result<(usize, bool), Loss> {
        let (Stage::LoggingIn(handshake), Some(transport)) = (&mut self.stage, &mut self.transport) else {
            return Ok((0, false));
        };
        bench.out.clear();
        let (used, step) = handshake.advance(bytes, &mut bench.out)?;
        transport.send(&bench.out)?;
        match step {
            Step::NeedMore => Ok((used, false)),
            Step::StartTls => {
                let connector = bench.login.tls.as_ref().ok_or(Loss::TlsUnwanted)?;
                transport.start_tls(connector.connect().map_err(io::Error::other)?)?;
                bench.out.clear();
                handshake.advance(&[], &mut bench.out)?;
                transport.send(&bench.out)?;
                Ok((used, false))
            }
            Step::Ready(session) => {
                self.session = Some(session);
                self.stage = Stage::Idle;
                self.failures = 0;
                bench.connect[self.stream].record_ns(now_ns.saturating_sub(self.opening_ns));
                bench.opened[self.stream] += 1;
                Ok((used, true))
            }
        }
    }

    #[inline]
    fn read_reply(&mut self, bytes: &[u8], bench: &Bench<'_>) -> Result<(usize, Progress), Loss> {
        let session = self.session.as_mut().ok_or(Loss::Closed)?;
        if let Stage::Executing(statement) = self.stage {
            let keep = &bench.programs[self.stream].statements[statement].keep;
            if !keep.is_empty() {
                let mut sink =
                    FirstRow { keep, slots: &mut self.slots, arena: &mut self.arena, seen: &mut self.kept };
                return Ok(session.receive_with(bytes, &mut sink)?);
            }
        }
        Ok(session.receive(bytes)?)
    }

    /// No workload of the engine sends files: whoever asks gets an empty one, and an error is counted.
    fn refuse_local_file(&mut self, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.out.clear();
        let session = self.session.as_mut().ok_or(Loss::Closed)?;
        session.local_end(&mut bench.out)?;
        let transport = self.transport.as_mut().ok_or(Loss::Closed)?;
        Ok(transport.send(&bench.out)?)
    }
}
