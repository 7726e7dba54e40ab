//! A blocking client for the control plane: setting servers up, loading data, asking what they are. It knows
//! sockets and [`wire`], and nothing of measuring; the load itself has its own connections.

use crate::{
    spec::{Address, Target, TlsMode},
    tls::{self, Connector},
};
use rustls::{ClientConnection, StreamOwned};
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    os::unix::net::UnixStream,
    sync::Arc,
    time::{Duration, Instant},
};
use wire::client::{Column, Handshake, Options, Progress, Reply, Row, Session, Sink, Step, Transport};

/// Bytes that are read at once.
const READ: usize = 64 << 10;
/// Capacity of the output that is kept between commands.
const OUTPUT_KEPT: usize = 1 << 20;
/// Bytes of a local file that are asked for at once.
const FILE_PIECE: usize = 256 << 10;

/// A connection that is logged in. Each call waits for its whole reply.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
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
    /// The server said no, to the login or to a statement. The connection lives on after a statement.
    #[error("{message} (error {code}, state {state})")]
    Server {
        /// The server's number, such as 1045 for a wrong password.
        code: u16,
        /// SQL state.
        state: String,
        /// The server's own words.
        message: String,
    },
    /// What the server sent makes no sense, or it wants what we do not do.
    #[error(transparent)]
    Protocol(wire::Error),
    /// TLS failed.
    #[error(transparent)]
    Tls(#[from] tls::Error),
    /// Nothing came in the time allowed.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The connection broke.
    #[error("the server closed the connection")]
    Closed,
}

impl Error {
    /// The server's error code, if it is the server that said no.
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
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Self::TimedOut,
            io::ErrorKind::InvalidData => {
                if let Ok(error) = error.downcast::<rustls::Error>() {
                    return Self::Tls(tls::Error::Handshake(error));
                }
            }
            _ => {}
        }
        Self::Closed
    }
}

/// How Prony introduces itself to `target`. The load engine uses the same, with its own wishes on top.
#[must_use]
pub fn options(target: &Target) -> Options {
    Options {
        user: target.user.clone(),
        password: target.password.reveal().to_owned(),
        database: target.database.clone(),
        attributes: attributes(),
        tls: tls::wish(target.tls.mode),
        compress: target.compress,
        ..Options::default()
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
    /// and logs in, all of it within `timeout`. Later calls wait without limit; see
    /// [`Connection::set_timeout`].
    pub fn open(target: &Target, timeout: Duration) -> Result<Self, Error> {
        let options = Options { local_infile: true, multi_statements: true, ..options(target) };
        Self::open_with(target, options, timeout)
    }

    /// The same with options of the caller's own.
    pub fn open_with(target: &Target, options: Options, timeout: Duration) -> Result<Self, Error> {
        let deadline = Instant::now() + timeout;
        let connector = Connector::new(target)?;
        match Self::log_in(target, Arc::new(options.clone()), connector.as_ref(), deadline) {
            Err(Error::Tls(_) | Error::Closed) if target.tls.mode == TlsMode::Preferred => {
                let plain = Options { tls: wire::client::TlsWish::Never, ..options };
                Self::log_in(target, Arc::new(plain), None, deadline)
            }
            other => other,
        }
    }

    fn log_in(
        target: &Target,
        options: Arc<Options>,
        connector: Option<&Connector>,
        deadline: Instant,
    ) -> Result<Self, Error> {
        let (socket, transport) = Socket::connect(&target.address, deadline)?;
        let mut stream = Stream::Plain(socket);
        let (mut input, mut output) = (Input::default(), Vec::new());
        let mut handshake = Handshake::new(options, transport);
        let session = loop {
            let (used, step) = handshake.advance(input.unread(), &mut output)?;
            input.used(used);
            stream.socket().wait_until(deadline)?;
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
        stream.socket().set_timeout(None)?;
        Ok(Self { stream, session, input, output })
    }

    /// Logs in anew on the same connection, as somebody else; what belonged to the session is gone.
    pub fn change_user(&mut self, user: &str, password: &str, database: Option<&str>) -> Result<(), Error> {
        let options = Options {
            user: user.to_owned(),
            password: password.to_owned(),
            database: database.map(str::to_owned),
            attributes: attributes(),
            ..Options::default()
        };
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

    /// How long a single wait for the server may last from now on; `None`: for ever.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        // A socket that refuses this is broken, as the next call will find.
        let _ = self.stream.socket().set_timeout(timeout);
    }

    /// Sends one or more statements, and waits for all their results. The first error ends it.
    pub fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        let mut answer = Collector::default();
        self.run(|session, out| session.query(sql.as_bytes(), out), &mut answer)?;
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

    /// What [`Session::message`] says: the text that [`Session::statistics`] asked for.
    #[must_use]
    pub fn message(&self) -> &str {
        self.session.message()
    }

    fn exchange<S: Sink>(
        &mut self,
        encode: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<(), wire::Error>,
        sink: &mut S,
        source: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<Reply, Error> {
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
                Progress::NeedMore => self
                    .input
                    .fill(&mut self.stream)
                    .or_else(|error| std::mem::replace(&mut sent, Ok(())).and(Err(error)))?,
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

    fn send(&mut self) -> Result<(), Error> {
        let sent = self.stream.write_all(&self.output).and_then(|()| self.stream.flush());
        self.output.clear();
        self.output.shrink_to(OUTPUT_KEPT);
        Ok(sent?)
    }
}

/// Says good-bye where that does not take long.
impl Drop for Connection {
    fn drop(&mut self) {
        if self.session.is_idle() && self.session.quit(&mut self.output).is_ok() {
            let _ = self.stream.socket().set_timeout(Some(Duration::from_millis(100)));
            let _ = self.send();
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

/// Puts an [`Answer`] together.
#[derive(Default)]
struct Collector {
    answer: Answer,
    current: ResultSet,
}

impl Sink for Collector {
    fn wants_columns(&self) -> bool {
        true
    }

    fn wants_rows(&self) -> bool {
        true
    }

    fn column(&mut self, column: &Column<'_>) {
        self.current.columns.push(String::from_utf8_lossy(column.name).into_owned());
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), wire::Error> {
        let text = |value| match value {
            wire::Value::Null => None,
            value => Some(value.to_string()),
        };
        self.current.rows.push(row.values().map(|value| value.map(text)).collect::<Result<_, _>>()?);
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

    fn fill(&mut self, stream: &mut Stream) -> Result<(), Error> {
        self.bytes.drain(..self.start);
        self.start = 0;
        let before = self.bytes.len();
        self.bytes.resize(before + READ, 0);
        let read = stream.read(&mut self.bytes[before..]);
        self.bytes.truncate(before + *read.as_ref().unwrap_or(&0));
        if read? == 0 { Err(Error::Closed) } else { Ok(()) }
    }
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn connect(address: &Address, deadline: Instant) -> Result<(Self, Transport), Error> {
        match address {
            Address::Unix(path) => match UnixStream::connect(path) {
                Ok(socket) => Ok((Self::Unix(socket), Transport::Unix)),
                Err(source) => Err(Error::Connect { address: address.to_string(), source }),
            },
            Address::Tcp { host, port } => {
                let unresolved = |source| Error::Address { address: address.to_string(), source };
                let found = (host.as_str(), *port).to_socket_addrs().map_err(unresolved)?;
                Ok((Self::Tcp(connect_any(address, found, deadline)?), Transport::Tcp))
            }
        }
    }

    fn wait_until(&self, deadline: Instant) -> Result<(), Error> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(Error::TimedOut) } else { Ok(self.set_timeout(Some(left))?) }
    }

    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        // Zero would mean for ever.
        let timeout = timeout.map(|timeout| timeout.max(Duration::from_millis(1)));
        match self {
            Self::Tcp(socket) => {
                socket.set_read_timeout(timeout)?;
                socket.set_write_timeout(timeout)
            }
            Self::Unix(socket) => {
                socket.set_read_timeout(timeout)?;
                socket.set_write_timeout(timeout)
            }
        }
    }
}

/// Tries one address after another, with what is left of the time; the last failure is reported.
fn connect_any(
    address: &Address,
    found: impl Iterator<Item = SocketAddr>,
    deadline: Instant,
) -> Result<TcpStream, Error> {
    let mut failure = Error::Address {
        address: address.to_string(),
        source: io::Error::new(io::ErrorKind::NotFound, "the name has no address"),
    };
    let name = address.to_string();
    for address in found {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::TimedOut);
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(source) => {
                let tried = address.to_string();
                let address = if tried == name { tried } else { format!("{name} ({tried})") };
                failure = Error::Connect { address, source };
            }
        }
    }
    Err(failure)
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(buffer),
            Self::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write(buffer),
            Self::Unix(socket) => socket.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
            connection.complete_io(&mut socket)?;
        }
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, socket))))
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
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
    use std::net::TcpListener;

    #[test]
    fn the_addresses_of_a_name_are_tried_in_turn() {
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listening.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let name = Address::Tcp { host: "two.example".into(), port: 1 };
        let deadline = Instant::now() + Duration::from_secs(5);
        let socket = connect_any(&name, [closed, open].into_iter(), deadline).unwrap();
        assert_eq!(socket.peer_addr().unwrap(), open);
        let error = connect_any(&name, [closed].into_iter(), deadline).unwrap_err();
        assert!(
            matches!(
                &error,
                Error::Connect { address, .. } if address.starts_with("two.example:1 (127.0.0.1:")
            ),
            "{error}"
        );
        assert!(matches!(connect_any(&name, [].into_iter(), deadline), Err(Error::Address { .. })));
    }

    #[test]
    fn the_file_name_is_read_from_the_statement() {
        assert_eq!(local_file_name("LOAD DATA LOCAL INFILE 'a b' INTO TABLE t"), "a b");
        assert_eq!(local_file_name("load data concurrent local infile \"x\" into table t (c)"), "x");
        assert_eq!(local_file_name("SELECT 'INFILE'"), "");
    }
}
