//! One connection of a [`super::Hub`]: logs in, sends one command at a time, takes its reply.

use super::{rows::Rows, told::What};
use crate::{
    login::Login,
    transport::{Opening, Peer, Received, Transport},
};
use rustix::fd::OwnedFd;
use std::{io, sync::Arc, time::Instant};
use wire::{
    Value,
    client::{Handshake, Progress, Session, Statement, Step},
};

/// Why a connection was lost or could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum Loss {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("Lost connection to server during query")]
    Closed,
    #[error("{0}")]
    Wire(#[from] wire::Error),
    #[error("no login within 30 s")]
    OpeningTimeout,
    #[error("Can't connect to {kind} '{name}' ({number})")]
    Unreachable { kind: &'static str, name: String, number: i32 },
    #[error("the server asked for TLS, which is switched off")]
    TlsUnwanted,
}

impl Loss {
    /// The server's own code, or that of MySQL's client library.
    pub(super) fn code(&self) -> (u16, [u8; 5]) {
        match self {
            Self::Wire(wire::Error::Server { error, .. }) => (error.code, error.state),
            Self::Wire(_) => (2027, *b"HY000"),
            Self::Io(error) if of_tls(error).is_some() => (2026, *b"HY000"),
            Self::Io(_) | Self::Closed => (2013, *b"HY000"),
            Self::OpeningTimeout | Self::Unreachable { .. } => (2002, *b"HY000"),
            Self::TlsUnwanted => (2026, *b"HY000"),
        }
    }

    /// The server's words, or what MySQL's client library would say.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Wire(wire::Error::Server { message, .. }) => message.clone(),
            Self::Io(error) => match of_tls(error) {
                Some(error) => format!("SSL connection error: {error}"),
                None => Self::Closed.to_string(),
            },
            other => other.to_string(),
        }
    }
}

/// What TLS says of an error, if it is one of TLS.
fn of_tls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// What a connection is doing.
#[derive(Debug)]
pub(super) enum Stage {
    /// Not yet begun to connect, or waits in a line.
    Opening,
    Connecting,
    LoggingIn(Box<Handshake>),
    Idle,
    /// A reply is waited for.
    Asked,
    /// PREPARE was sent.
    Preparing,
    Down,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) owner: u32,
    pub(super) login: Arc<Login>,
    /// Place of its server in the hub's lines.
    pub(super) server: usize,
    pub(super) stage: Stage,
    pub(super) transport: Option<Transport>,
    session: Option<Box<Session>>,
    /// Beginning of a packet whose rest has not come yet.
    pending: Vec<u8>,
    pub(super) rows: Rows,
    statements: Vec<Option<Statement>>,
    last_prepared: Option<(u32, u16)>,
    /// Columns of the result that is waited for, where they were told beforehand.
    columns: u16,
    /// It was lost while nobody asked for anything.
    pub(super) broken: Option<Loss>,
    pub(super) attempt: u32,
    pub(super) began: Instant,
    /// Whether it counts among those that are being opened.
    pub(super) has_place: bool,
    pub(super) wants_write: bool,
    /// Whether something may be left to read of which epoll has told already.
    pub(super) is_to_be_rearmed: bool,
}

impl Link {
    pub(super) fn new(owner: u32, login: Arc<Login>, server: usize) -> Self {
        Self {
            owner,
            login,
            server,
            stage: Stage::Opening,
            transport: None,
            session: None,
            pending: Vec::new(),
            rows: Rows::default(),
            statements: Vec::new(),
            last_prepared: None,
            columns: 0,
            broken: None,
            attempt: 0,
            began: Instant::now(),
            has_place: false,
            wants_write: false,
            is_to_be_rearmed: false,
        }
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.server_version())
    }

    pub(super) fn message(&self) -> &str {
        self.session.as_ref().map_or("", |session| session.message())
    }

    pub(super) fn last_prepared(&self) -> Option<(u32, u16)> {
        self.last_prepared
    }

    /// Whether its owner waits for something.
    pub(super) fn is_waiting(&self) -> bool {
        !matches!(self.stage, Stage::Idle | Stage::Down)
    }

    pub(super) fn is_blocked(&self) -> bool {
        matches!(self.stage, Stage::Connecting) || self.transport.as_ref().is_some_and(Transport::is_blocked)
    }

    /// Begins to connect. What is returned has to wait for a place in the server's backlog.
    pub(super) fn open(&mut self, attempt: u32, waits: bool) -> Result<Option<OwnedFd>, Loss> {
        self.began = Instant::now();
        self.attempt = attempt;
        self.stage = Stage::Opening;
        let sources = &self.login.sources;
        let source = sources.get(self.owner as usize % sources.len().max(1)).copied();
        let opening =
            Transport::open(&self.login.peer, source, waits).map_err(|error| self.unreachable(&error))?;
        match opening {
            Opening::Begun(transport) => {
                self.transport = Some(transport);
                self.stage = Stage::Connecting;
                Ok(None)
            }
            Opening::Full(socket) => Ok(Some(socket)),
        }
    }

    fn unreachable(&self, error: &io::Error) -> Loss {
        let number = error.raw_os_error().unwrap_or_default();
        match &self.login.peer {
            Peer::Tcp(address) => {
                Loss::Unreachable { kind: "server on", name: address.ip().to_string(), number }
            }
            Peer::Unix(path) => {
                let name = path.display().to_string();
                Loss::Unreachable { kind: "local server through socket", name, number }
            }
        }
    }

    pub(super) fn is_in_line(&self, attempt: u32) -> bool {
        matches!(self.stage, Stage::Opening) && self.transport.is_none() && self.attempt == attempt
    }

    pub(super) fn go_on_with(&mut self, socket: OwnedFd) {
        self.transport = Some(Transport::of(socket));
        self.stage = Stage::Connecting;
    }

    /// Forgets the socket and everything that was bound to it.
    pub(super) fn forget(&mut self) {
        self.transport = None;
        self.session = None;
        self.pending = Vec::new();
        self.rows.clear();
        self.statements.clear();
        self.last_prepared = None;
        self.wants_write = false;
        self.stage = Stage::Down;
        self.broken = None;
    }

    pub(super) fn quit(&mut self, out: &mut Vec<u8>) {
        out.clear();
        if let (Stage::Idle, Some(session), Some(transport)) =
            (&self.stage, &mut self.session, &mut self.transport)
            && session.quit(out).is_ok()
        {
            // a server that is gone need not be told
            let _ = transport.send(out);
        }
        self.forget();
    }

    pub(super) fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<(), Loss> {
        self.session()?.query(sql, out)?;
        self.send(Stage::Asked, out)
    }

    pub(super) fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<(), Loss> {
        self.session()?.prepare(sql, out)?;
        self.send(Stage::Preparing, out)
    }

    pub(super) fn execute(
        &mut self,
        statement: u32,
        values: &[Value<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Loss> {
        self.session()?;
        let (Some(session), Some(Some(statement))) =
            (&mut self.session, self.statements.get_mut(statement as usize))
        else {
            return Err(Loss::Closed);
        };
        self.columns = statement.prepared().columns;
        session.execute(statement, values, out)?;
        self.send(Stage::Asked, out)
    }

    pub(super) fn close_statement(&mut self, statement: u32, out: &mut Vec<u8>) -> Result<(), Loss> {
        let Some(slot) = self.statements.get_mut(statement as usize) else { return Ok(()) };
        let (Some(statement), Some(session), Some(transport), Stage::Idle) =
            (slot.take(), &mut self.session, &mut self.transport, &self.stage)
        else {
            return Ok(());
        };
        session.close(statement, out)?;
        Ok(transport.send(out)?)
    }

    fn session(&mut self) -> Result<&mut Session, Loss> {
        self.rows.clear();
        self.columns = 0;
        if let Some(loss) = self.broken.take() {
            // so that the owner, who is about to wait, hears of it
            self.stage = Stage::Asked;
            return Err(loss);
        }
        if self.session.is_none() {
            self.stage = Stage::Asked;
        }
        self.session.as_deref_mut().ok_or(Loss::Closed)
    }

    fn send(&mut self, stage: Stage, out: &[u8]) -> Result<(), Loss> {
        self.stage = stage;
        let transport = self.transport.as_mut().ok_or(Loss::Closed)?;
        Ok(transport.send(out)?)
    }

    /// The socket takes bytes again.
    pub(super) fn on_writable(&mut self) -> Result<(), Loss> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        if !matches!(self.stage, Stage::Connecting) {
            return Ok(transport.flush()?);
        }
        if let Err(error) = transport.finish_connecting() {
            return Err(self.unreachable(&error));
        }
        let kind = match self.login.peer {
            Peer::Tcp(_) => wire::client::Transport::Tcp,
            Peer::Unix(_) => wire::client::Transport::Unix,
        };
        self.stage = Stage::LoggingIn(Box::new(Handshake::new(Arc::clone(&self.login.options), kind)));
        Ok(())
    }

    /// The socket has something.
    pub(super) fn on_readable(&mut self, input: &mut [u8], out: &mut Vec<u8>) -> Result<Option<What>, Loss> {
        let mut told = None;
        loop {
            let Some(transport) = &mut self.transport else { return Ok(told) };
            let count = match transport.receive(input)? {
                Received::Bytes(count) => count,
                // a reply comes before the end that came with it, of which epoll tells again
                Received::Closed if told.is_none() => return Err(Loss::Closed),
                Received::Closed | Received::Later => return Ok(told),
            };
            self.is_to_be_rearmed |= count == input.len();
            if self.pending.is_empty() {
                let used = self.consume(&input[..count], out, &mut told)?;
                self.pending.extend_from_slice(&input[used..count]);
            } else {
                let mut bytes = std::mem::take(&mut self.pending);
                bytes.extend_from_slice(&input[..count]);
                let used = self.consume(&bytes, out, &mut told)?;
                bytes.drain(..used);
                self.pending = bytes;
            }
            if self.pending.is_empty() {
                self.pending.shrink_to(4096);
            }
            if self.transport.as_ref().is_none_or(|transport| !transport.is_tls()) {
                return Ok(told);
            }
        }
    }

    /// Takes whole packets. Returns how many bytes are done with.
    fn consume(&mut self, bytes: &[u8], out: &mut Vec<u8>, told: &mut Option<What>) -> Result<usize, Loss> {
        let mut at = 0;
        loop {
            match &mut self.stage {
                Stage::LoggingIn(_) => {
                    let (used, is_in) = self.log_in(&bytes[at..], out)?;
                    at += used;
                    if !is_in {
                        return Ok(at);
                    }
                    *told = Some(What::Opened);
                }
                Stage::Asked | Stage::Preparing => {
                    let session = self.session.as_mut().ok_or(Loss::Closed)?;
                    let (used, progress) = session.receive_with(&bytes[at..], &mut self.rows)?;
                    at += used;
                    match progress {
                        Progress::NeedMore => return Ok(at),
                        Progress::Done(reply) => *told = Some(self.replied(reply)),
                        Progress::LocalInfile { .. } => {
                            out.clear();
                            session.local_end(out)?;
                            self.transport.as_mut().ok_or(Loss::Closed)?.send(out)?;
                        }
                    }
                }
                // nothing was asked: the server ends the connection, and its words come with the end
                Stage::Idle | Stage::Down | Stage::Opening | Stage::Connecting => {
                    return if at == bytes.len() { Ok(at) } else { Err(Loss::Closed) };
                }
            }
        }
    }

    fn replied(&mut self, reply: wire::client::Reply) -> What {
        self.stage = Stage::Idle;
        if let Some(prepared) = reply.prepared {
            self.statements.push(Some(Statement::new(prepared)));
            self.last_prepared = Some((self.statements.len() as u32 - 1, prepared.parameters));
        } else if self.rows.columns() == 0 {
            self.rows.set_columns(self.columns.into());
        }
        if reply.error.is_some() {
            for statement in self.statements.iter_mut().flatten() {
                statement.forget_types();
            }
        }
        What::Reply(reply)
    }

    fn log_in(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(usize, bool), Loss> {
        let (Stage::LoggingIn(handshake), Some(transport)) = (&mut self.stage, &mut self.transport) else {
            return Ok((0, false));
        };
        out.clear();
        let (used, step) = handshake.advance(bytes, out)?;
        transport.send(out)?;
        match step {
            Step::NeedMore => Ok((used, false)),
            Step::StartTls => {
                let connector = self.login.tls.as_ref().ok_or(Loss::TlsUnwanted)?;
                transport.start_tls(connector.connect().map_err(io::Error::other)?)?;
                out.clear();
                handshake.advance(&[], out)?;
                transport.send(out)?;
                Ok((used, false))
            }
            Step::Ready(session) => {
                self.session = Some(session);
                self.stage = Stage::Idle;
                Ok((used, true))
            }
        }
    }
}
