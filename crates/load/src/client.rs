//! A blocking client for the control plane: setting servers up, loading data, asking what they are. It knows
//! sockets and [`wire`], and nothing of measuring; the load itself has its own connections.

use crate::{
    secrets::{self, Credentials},
    socket::{Ended, Patience, Socket, Unconnected, ended},
    spec::{Target, TlsMode},
    stop::Stop,
    tls::{self, Connector},
};
use rustls::{ClientConnection, StreamOwned};
use std::{
    io::{self, Read, Write},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use wire::client::{Column, Handshake, Options, Progress, Reply, Row, Session, Sink, Step, Transport};

/// Bytes that are read at once.
const READ: usize = 64 << 10;
/// Capacity of the output that is kept between commands.
const OUTPUT_KEPT: usize = 1 << 20;
/// Bytes of a local file that are requested at once.
const FILE_PIECE: usize = 256 << 10;

/// How long a statement may take unless [`Connection::set_timeout`] says otherwise: questions about a server.
const STATEMENT_MAX: Duration = Duration::from_secs(300);
/// The same for work of unknown length: loading, building an index.
const WORK_MAX: Duration = Duration::from_secs(24 * 3600);
/// The same once the user has asked to stop: restoring and cleaning up take moments.
const CLEANUP_MAX: Duration = Duration::from_secs(10);
/// After so much silence a second connection finds out whether the server still lives.
const QUIET: Duration = Duration::from_secs(15);
/// How long that may take. A busy server answers nothing quickly, but it accepts a login within this time.
const SIGN_OF_LIFE_MAX: Duration = Duration::from_secs(10);
/// Most rows of all results of an answer, and most bytes that keeping it takes: a hundred times as much as
/// Prony's largest question needs, and small enough for any machine.
const ANSWER_ROWS_MAX: usize = 1 << 20;
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// What ends every wait for a server, see [`heed`].
static STOP: OnceLock<Stop> = OnceLock::new();

/// From now on, `stop` ends what connections of this process wait for ([`Error::Stopped`]). Statements that
/// are sent after it was pulled are cleaning up, and are awaited, but not for long. A program has one user
/// who can stop it, so this is called once; later calls change nothing.
pub fn heed(stop: &Stop) {
    // one that was said earlier stays
    let _ = STOP.set(stop.clone());
}

/// A connection that is logged in. Each call waits for its whole reply.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    /// Where it leads, for signs of life.
    target: Target,
    options: Arc<Options>,
    limit: Duration,
    quiet: Duration,
    session: Box<Session>,
    input: Input,
    output: Vec<u8>,
}

/// What a query answered: one result for each statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// In the order of the statements; a procedure call may have several.
    pub results: Vec<ResultSet>,
}

/// The result of one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Names of the columns; empty: it has no rows by its nature.
    pub columns: Vec<String>,
    /// Values as text; `None` is NULL; bytes that are no UTF-8 are replaced.
    pub rows: Vec<Vec<Option<String>>>,
    /// Affected rows.
    pub affected: u64,
    /// First id that AUTO_INCREMENT gave out; 0: none.
    pub last_insert_id: u64,
    /// Number of warnings.
    pub warnings: u16,
}

/// Why a connection could not be made, or a query not be answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host's name leads nowhere.
    #[error("{address}: the host name cannot be resolved")]
    Address {
        /// As it was given.
        address: String,
        /// What the resolver says.
        source: io::Error,
    },
    /// Nobody answers there.
    #[error("{address}: cannot connect; is the server running and listening there?")]
    Connect {
        /// Where it was tried last.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// The server refused the login or a statement. The connection survives a refused statement.
    #[error("{message} (error {code}, state {state})")]
    Server {
        /// The server's number, such as 1045 for a wrong password.
        code: u16,
        /// SQL state.
        state: String,
        /// The server's own words.
        message: String,
    },
    /// What the server sent makes no sense, or asks for something that Prony does not do.
    #[error(transparent)]
    Protocol(wire::Error),
    /// TLS failed.
    #[error(transparent)]
    Tls(#[from] tls::Error),
    /// A file with certificates or keys cannot be read.
    #[error(transparent)]
    File(#[from] secrets::Error),
    /// Nothing came in the time allowed.
    #[error("the server did not reply in time")]
    TimedOut,
    /// Neither this connection nor a second one gets an answer.
    #[error(
        "the server has not replied for {} s, not even on a second connection: it hangs",
        .after.as_secs()
    )]
    Hangs {
        /// How long.
        after: Duration,
    },
    /// An answer without an end, or nearly so.
    #[error(
        "the server's reply is larger than expected: more than {ANSWER_ROWS_MAX} rows or {} MiB; the rest \
         was not read",
        ANSWER_BYTES_MAX >> 20
    )]
    TooLarge,
    /// The user asked for an end.
    #[error("interrupted while waiting for a reply")]
    Stopped,
    /// The connection broke.
    #[error("the server closed the connection")]
    Closed,
}

impl Error {
    /// The server's error code, if the server refused.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Server { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl From<wire::Error> for Error {
    fn from(error: wire::Error) -> Self {
        match error {
            wire::Error::Server { error, message } => {
                Self::Server { code: error.code, state: error.state_text(), message }
            }
            other => Self::Protocol(other),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match ended(&error) {
            Some(Ended::Stopped) => return Self::Stopped,
            Some(Ended::TimedOut | Ended::Quiet) => return Self::TimedOut,
            None => {}
        }
        match error.kind() {
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::InvalidData => match error.downcast::<rustls::Error>() {
                Ok(error) => Self::Tls(tls::Error::Handshake(error.into())),
                Err(_) => Self::Closed,
            },
            _ => Self::Closed,
        }
    }
}

/// Whether `error`, or what caused it, is the user's wish to stop.
#[must_use]
pub fn is_stop(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let boxed = error.downcast_ref::<Box<Error>>().map(|boxed| &**boxed);
        if matches!(error.downcast_ref::<Error>().or(boxed), Some(Error::Stopped)) {
            return true;
        }
        next = error.source();
    }
    false
}

/// How Prony introduces itself to `target`. The load engine introduces itself in the same way, with its own
/// options added.
pub(crate) fn options(target: &Target, credentials: &Credentials) -> Options {
    Options {
        user: target.user.clone(),
        password: credentials.password.clone(),
        database: target.database.clone(),
        attributes: attributes(),
        tls: tls::wish(target.tls.mode),
        trust: trust(target, credentials),
        compress: target.compress,
        ..Options::default()
    }
}

fn trust(target: &Target, credentials: &Credentials) -> wire::client::Trust {
    wire::client::Trust {
        verified: matches!(target.tls.mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity),
        cleartext: target.trust.cleartext_password,
        ask_key: target.trust.get_server_public_key,
        key: credentials.server_key.as_ref().map(|held| Arc::from(held.bytes.as_slice())),
    }
}

fn attributes() -> Vec<(String, String)> {
    let named = [
        ("_client_name", "prony"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("program_name", "prony"),
    ];
    named.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

impl Connection {
    /// Connects by TCP (every address of the host in turn) or Unix socket, starts TLS as the target wants it,
    /// and logs in, all of it within `timeout`. Later calls may take five minutes each, as long as the server
    /// lives; see [`Connection::set_timeout`].
    pub fn open(target: &Target, timeout: Duration) -> Result<Self, Error> {
        let credentials = Credentials::of(target)?;
        let options = options(target, &credentials);
        let options = Options { local_infile: true, multi_statements: true, ..options };
        Self::open_with(target, &credentials, options, Patience::new(timeout, STOP.get()))
    }

    /// The same with options of the caller's own.
    pub fn open_as(
        target: &Target,
        change: impl FnOnce(&mut Options),
        timeout: Duration,
    ) -> Result<Self, Error> {
        let credentials = Credentials::of(target)?;
        let mut options = options(target, &credentials);
        change(&mut options);
        Self::open_with(target, &credentials, options, Patience::new(timeout, STOP.get()))
    }

    /// The same with credentials that have been read, for as long as `stop` is not pulled.
    pub(crate) fn open_until(
        target: &Target,
        credentials: &Credentials,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let options = options(target, credentials);
        Self::open_with(target, credentials, options, Patience::new(timeout, Some(stop)))
    }

    fn open_with(
        target: &Target,
        credentials: &Credentials,
        options: Options,
        patience: Patience,
    ) -> Result<Self, Error> {
        let connector = Connector::new(target, credentials)?;
        match Self::log_in(target, Arc::new(options.clone()), connector.as_ref(), patience.clone()) {
            Err(Error::Tls(_) | Error::Closed) if target.tls.mode == TlsMode::Preferred => {
                let plain = Options { tls: wire::client::TlsWish::Never, ..options };
                Self::log_in(target, Arc::new(plain), None, patience)
            }
            other => other,
        }
    }

    fn log_in(
        target: &Target,
        options: Arc<Options>,
        connector: Option<&Connector>,
        patience: Patience,
    ) -> Result<Self, Error> {
        let socket =
            Socket::connect(&target.address, patience).map_err(|failure| unconnected(target, failure))?;
        let transport = if socket.is_local() { Transport::Unix } else { Transport::Tcp };
        let mut stream = Stream::Plain(socket);
        let (mut input, mut output) = (Input::default(), Vec::new());
        let mut handshake = Handshake::new(Arc::clone(&options), transport);
        let session = loop {
            let (used, step) = handshake.advance(input.unread(), &mut output)?;
            input.used(used);
            stream.write_all(&output)?;
            output.clear();
            match step {
                Step::NeedMore => input.fill(&mut stream)?,
                Step::StartTls => {
                    let connector = connector.ok_or(Error::Protocol(wire::Error::TlsNotOffered))?;
                    stream = stream.start_tls(connector)?;
                    // Nothing to read: the client speaks next.
                }
                Step::Ready(session) => break session,
            }
        };
        let (target, limit, quiet) = (target.clone(), STATEMENT_MAX, QUIET);
        Ok(Self { stream, target, options, limit, quiet, session, input, output })
    }

    /// Logs in again on the same connection, as somebody else; what belonged to the session is gone.
    pub fn change_user(&mut self, user: &str, password: &str, database: Option<&str>) -> Result<(), Error> {
        let options = Options {
            user: user.to_owned(),
            password: password.to_owned(),
            database: database.map(str::to_owned),
            attributes: attributes(),
            trust: self.options.trust.clone(),
            ..Options::default()
        };
        self.begin();
        self.output.clear();
        let mut handshake = Handshake::change_user(&self.session, Arc::new(options), &mut self.output)?;
        loop {
            self.stream.write_all(&self.output)?;
            self.output.clear();
            self.input.fill(&mut self.stream)?;
            let (used, step) = handshake.advance(self.input.unread(), &mut self.output)?;
            self.input.used(used);
            if let Step::Ready(session) = step {
                self.session = session;
                return Ok(());
            }
        }
    }

    /// The server's version as its greeting has it; MariaDB's begins with `5.5.5-` for old clients' sake.
    #[must_use]
    pub fn server_version(&self) -> &str {
        self.session.server_version()
    }

    /// The server's number of this connection, as in `KILL`.
    #[must_use]
    pub fn connection_id(&self) -> u32 {
        self.session.connection_id()
    }

    /// Whether bytes go through TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// How long each statement may take from now on; `None`: as long as the server lives, a day at most.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.limit = timeout.unwrap_or(WORK_MAX);
    }

    /// After how much silence a second connection checks whether the server still lives; 15 s at first.
    pub fn set_quiet(&mut self, quiet: Duration) {
        self.quiet = quiet;
    }

    /// A statement begins.
    fn begin(&mut self) {
        let stop = STOP.get();
        let is_cleanup = stop.is_some_and(|stop| stop.is_stopped());
        let limit = if is_cleanup { self.limit.min(CLEANUP_MAX) } else { self.limit };
        self.stream.socket().patience = Patience::new(limit, stop).asking_after(self.quiet);
    }

    /// Whether waiting may continue: after some silence, the server must show that it lives.
    fn bear(&self, error: io::Error) -> Result<(), Error> {
        if ended(&error) != Some(Ended::Quiet) {
            return Err(error.into());
        }
        let begun = Instant::now();
        match Self::sign_of_life(&self.target, self.quiet.min(SIGN_OF_LIFE_MAX)) {
            Err(Error::Stopped) => Err(Error::Stopped),
            Err(Error::TimedOut | Error::Closed | Error::Connect { .. }) => {
                Err(Error::Hangs { after: self.quiet + begun.elapsed() })
            }
            // one that refuses has answered
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn sign_of_life(target: &Target, limit: Duration) -> Result<(), Error> {
        let anywhere = Target { database: None, ..target.clone() };
        let mut other = Self::open_as(&anywhere, |_| (), limit)?;
        // its own limit comes before it would ask for a sign of its own
        other.set_timeout(Some(limit));
        other.set_quiet(WORK_MAX);
        // a ping would be answered by who executes nothing any more
        other.query("SELECT 1").map(drop)
    }

    /// Sends one or more statements, and waits for all their results. The first error ends it.
    pub fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        let mut answer = Collector::default();
        self.run(|session, out| session.query(sql.as_bytes(), out), &mut answer).map_err(
            |error| match error {
                Error::Protocol(wire::Error::TooLarge { .. }) => Error::TooLarge,
                other => other,
            },
        )?;
        Ok(answer.answer)
    }

    /// Sends `LOAD DATA LOCAL INFILE 'name' ...` and, when the server asks for that name, what `source`
    /// appends to the buffer, call by call, until it returns false. No file is opened.
    pub fn load_data(
        &mut self,
        sql: &str,
        source: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<Answer, Error> {
        let mut answer = Collector::default();
        let name = local_file_name(sql);
        self.exchange(
            |session, out| session.query_with_local_file(sql.as_bytes(), name, out),
            &mut answer,
            source,
        )?;
        Ok(answer.answer)
    }

    /// Sends any one command of [`Session`] and waits for its reply. An error of the statement is an error
    /// here.
    pub fn run<S: Sink>(
        &mut self,
        encode: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<(), wire::Error>,
        sink: &mut S,
    ) -> Result<Reply, Error> {
        self.exchange(encode, sink, &mut |_| false)
    }

    fn exchange<S: Sink>(
        &mut self,
        encode: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<(), wire::Error>,
        sink: &mut S,
        source: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<Reply, Error> {
        self.begin();
        encode(&mut self.session, &mut self.output)?;
        let mut sent = self.send();
        if self.session.is_idle() {
            return sent.map(|()| Reply::default());
        }
        loop {
            let (used, progress) = self.session.receive_with(self.input.unread(), sink)?;
            self.input.used(used);
            match progress {
                // A server that refuses a command may close before it has read it all; its reason may still
                // be there.
                Progress::NeedMore => {
                    self.fill().or_else(|error| std::mem::replace(&mut sent, Ok(())).and(Err(error)))?
                }
                Progress::LocalInfile { announced } => self.send_file(announced, source)?,
                Progress::Done(reply) => {
                    let Some(error) = reply.error else { return Ok(reply) };
                    let message = self.session.message().to_owned();
                    return Err(Error::Server { code: error.code, state: error.state_text(), message });
                }
            }
        }
    }

    fn send_file(
        &mut self,
        announced: bool,
        source: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<(), Error> {
        let mut piece = Vec::with_capacity(FILE_PIECE);
        let mut more = announced;
        while more {
            piece.clear();
            more = source(&mut piece);
            self.session.local_data(&piece, &mut self.output)?;
            self.send()?;
        }
        self.session.local_end(&mut self.output)?;
        self.send()
    }

    fn fill(&mut self) -> Result<(), Error> {
        loop {
            match self.input.fill(&mut self.stream) {
                Ok(()) => return Ok(()),
                Err(error) => self.bear(error)?,
            }
        }
    }

    fn send(&mut self) -> Result<(), Error> {
        let output = std::mem::take(&mut self.output);
        let sent = self.send_all(&output);
        self.output = output;
        self.output.clear();
        self.output.shrink_to(OUTPUT_KEPT);
        sent
    }

    fn send_all(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(Error::Closed),
                Ok(count) => bytes = &bytes[count..],
                Err(error) => self.bear(error)?,
            }
        }
        while let Err(error) = self.stream.flush() {
            self.bear(error)?;
        }
        Ok(())
    }
}

fn unconnected(target: &Target, failure: Unconnected) -> Error {
    let address = target.address.to_string();
    match failure {
        Unconnected::Name(source) if ended(&source).is_none() => Error::Address { address, source },
        Unconnected::Nobody(tried, source) if ended(&source).is_none() => {
            let tried = tried.map(|tried| tried.to_string()).filter(|tried| *tried != address);
            let address = tried.map_or(address.clone(), |tried| format!("{address} ({tried})"));
            Error::Connect { address, source }
        }
        Unconnected::Name(source) | Unconnected::Nobody(_, source) => source.into(),
    }
}

/// Says good-bye where that does not take long.
impl Drop for Connection {
    fn drop(&mut self) {
        if self.session.is_idle() && self.session.quit(&mut self.output).is_ok() {
            self.stream.socket().patience = Patience::new(Duration::from_millis(100), None);
            let _ = self.stream.write_all(&self.output);
        }
    }
}

impl Answer {
    /// The first column of the first row of the first result that has rows; `None` also where it is NULL.
    #[must_use]
    pub fn first_value(&self) -> Option<&str> {
        self.rows().first()?.first()?.as_deref()
    }

    /// Rows of the first result that has columns.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Option<String>>] {
        self.results.iter().find(|result| !result.columns.is_empty()).map_or(&[], |result| &result.rows)
    }

    /// Affected rows of all results.
    #[must_use]
    pub fn affected(&self) -> u64 {
        self.results.iter().map(|result| result.affected).sum()
    }
}

/// The name in `INFILE 'name'`; empty, which no server asks for, if there is none.
fn local_file_name(sql: &str) -> &str {
    let after = sql.to_ascii_uppercase().find("INFILE").map_or("", |at| &sql[at..]);
    let quote = after.find(['\'', '"']);
    let named = quote.map_or("", |at| &after[at + 1..]);
    named.find(['\'', '"']).map_or("", |end| &named[..end])
}

/// Puts an [`Answer`] together, as far as it is not larger than an answer may be.
#[derive(Default)]
struct Collector {
    answer: Answer,
    current: ResultSet,
    rows: usize,
    /// What it keeps so far.
    bytes: usize,
}

impl Sink for Collector {
    fn wants_columns(&self) -> bool {
        true
    }

    fn wants_rows(&self) -> bool {
        true
    }

    /// The room that is left, so that no row and no definition is built for which there is none.
    fn row_bytes_max(&self) -> usize {
        ANSWER_BYTES_MAX.saturating_sub(self.bytes)
    }

    fn column(&mut self, column: &Column<'_>) {
        let name = String::from_utf8_lossy(column.name).into_owned();
        self.bytes += name.len() + size_of::<String>();
        self.current.columns.push(name);
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), wire::Error> {
        let text = |value| match value {
            wire::Value::Null => None,
            value => Some(value.to_string()),
        };
        let row: Vec<_> = row.values().map(|value| value.map(text)).collect::<Result<_, _>>()?;
        self.rows += 1;
        self.bytes += size_of_val(&row) + size_of_val(&row[..]);
        self.bytes += row.iter().flatten().map(String::len).sum::<usize>();
        if self.rows > ANSWER_ROWS_MAX || self.bytes > ANSWER_BYTES_MAX {
            let (seen, limit) = (self.rows as u64, ANSWER_ROWS_MAX as u64);
            return Err(wire::Error::TooLarge { what: "a number of rows", seen, limit });
        }
        self.current.rows.push(row);
        Ok(())
    }

    fn end(&mut self, result: &Reply) {
        let mut done = std::mem::take(&mut self.current);
        done.affected = result.affected;
        done.last_insert_id = result.last_insert_id;
        done.warnings = result.warnings;
        self.answer.results.push(done);
    }
}

/// Bytes that have arrived and are not done with.
#[derive(Debug, Default)]
struct Input {
    bytes: Vec<u8>,
    start: usize,
}

impl Input {
    fn unread(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn used(&mut self, count: usize) {
        self.start += count;
    }

    fn fill(&mut self, stream: &mut Stream) -> io::Result<()> {
        self.bytes.drain(..self.start);
        self.start = 0;
        let before = self.bytes.len();
        self.bytes.resize(before + READ, 0);
        let read = stream.read(&mut self.bytes[before..]);
        self.bytes.truncate(before + *read.as_ref().unwrap_or(&0));
        if read? == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

#[derive(Debug)]
enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    fn start_tls(self, connector: &Connector) -> Result<Self, Error> {
        let Self::Plain(mut socket) = self else {
            return Err(Error::Protocol(wire::Error::OutOfTurn("TLS was started twice")));
        };
        let mut connection = connector.connect()?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).map_err(|error| match Error::from(error) {
                Error::Closed => Error::Tls(tls::Error::BrokenOff),
                other => other,
            })?;
        }
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, socket))))
    }

    fn socket(&mut self) -> &mut Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &mut stream.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(buffer),
            Self::Tls(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_is_read_from_the_statement() {
        assert_eq!(local_file_name("LOAD DATA LOCAL INFILE 'a b' INTO TABLE t"), "a b");
        assert_eq!(local_file_name("load data concurrent local infile \"x\" into table t (c)"), "x");
        assert_eq!(local_file_name("SELECT 'INFILE'"), "");
    }
}
