//! A server that means no good: one scripted server with every fault that a real one cannot be asked for. A
//! new case is a [`Fault`] of it, or a closure ([`Fault::Answers`]) where only what it answers is new.

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use wire::{
    ColumnKind,
    constants::{capability, column_type},
    server::{CAPABILITIES, ColumnDefinition, Connection, Finish, Greeting, Request},
};

/// What a client puts up with before the server lets go of it: longer than any limit that is tested.
const GRIP: Duration = Duration::from_secs(300);
/// Rows that are sent at once where they never end.
const ROWS_AT_ONCE: usize = 1000;

/// What the server answers to a statement.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// OK.
    Done,
    /// Rows of text under these names; `None` is NULL.
    Rows(Vec<&'static str>, Vec<Vec<Option<String>>>),
    /// An error with these words.
    Error(u16, String),
    /// Nothing, ever.
    Silence,
    /// Rows without an end, each with a value of so many bytes.
    Endless(usize),
    /// One row that never ends: packets of the largest size, one after the other.
    EndlessRow,
    /// Results without rows, and another one after each.
    EndlessResults,
}

/// What is wrong with the server.
#[derive(Clone)]
pub(crate) enum Fault {
    /// It takes connections and says nothing.
    Mute,
    /// It sends its greeting a byte at a time, with a pause after each.
    Dribbles(Duration),
    /// These bytes instead of a greeting.
    Says(Vec<u8>),
    /// Instead of an answer to the login: the server asks for another plug-in, with this challenge after its
    /// name; what the client answers, it takes.
    Switches(&'static [u8], Vec<u8>),
    /// It lets everybody in, and answers each statement as the closure says.
    Answers(Arc<dyn Fn(&str) -> Answer + Send + Sync>),
    /// It offers TLS, lets everybody in, with and without, and answers each statement with an error of these
    /// words. From the handshake on it sends no more than so many bytes.
    Encrypts(Arc<ServerConfig>, &'static str, Option<Left>),
}

/// What a server that offers TLS still sends.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub(crate) bytes: usize,
    /// Whether it closes the connection then; else it says nothing more.
    pub(crate) closes: bool,
}

/// The server; what it runs ends with the test's process.
pub(crate) struct Hostile {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
    connections: Arc<AtomicU64>,
}

impl Hostile {
    pub(crate) fn new(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
        let connections: Arc<AtomicU64> = Arc::default();
        let (ears, count) = (Arc::clone(&heard), Arc::clone(&connections));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Relaxed);
                let (fault, heard) = (fault.clone(), Arc::clone(&ears));
                thread::spawn(move || {
                    let line = Line { stream, heard, left: None };
                    match fault {
                        Fault::Encrypts(config, words, left) => {
                            // the client may go away at any time
                            let _ = encrypt(line, config, words, left);
                        }
                        fault => serve(Client { stream: Box::new(line), input: Vec::new() }, fault),
                    }
                });
            }
        });
        Self { address, heard, connections }
    }

    /// One that lets everybody in and answers as `answer` says.
    pub(crate) fn answering(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::new(Fault::Answers(Arc::new(answer)))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("mysql://somebody@{}/test", self.address)
    }

    /// Everything that clients have sent.
    pub(crate) fn heard(&self) -> Vec<u8> {
        self.heard.lock().expect("nobody panics with it").clone()
    }

    /// How many connections it has taken.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }
}

/// An error packet as a server sends it instead of its greeting.
pub(crate) fn refusal(message: &[u8]) -> Vec<u8> {
    let mut packet = vec![(message.len() + 3) as u8, 0, 0, 0, 0xff, 0x15, 0x04];
    packet.extend_from_slice(message);
    packet
}

/// What goes over the network, heard as it is: encrypted where it is.
struct Line {
    stream: TcpStream,
    heard: Arc<Mutex<Vec<u8>>>,
    left: Option<Left>,
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.heard.lock().expect("nobody panics with it").extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(left) = &mut self.left else { return self.stream.write(bytes) };
        let count = bytes.len().min(left.bytes);
        self.stream.write_all(&bytes[..count])?;
        left.bytes -= count;
        if left.bytes == 0 && left.closes {
            self.stream.shutdown(Shutdown::Write)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

trait Talk: Read + Write + Send {}

impl<T: Read + Write + Send> Talk for T {}

struct Client {
    stream: Box<dyn Talk>,
    input: Vec<u8>,
}

impl Client {
    /// Waits for more; false: the client is gone.
    fn listen(&mut self) -> bool {
        let mut piece = [0; 4096];
        let Ok(count @ 1..) = self.stream.read(&mut piece) else { return false };
        self.input.extend_from_slice(&piece[..count]);
        true
    }

    /// Whether the client took it.
    fn say(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }
}

fn encrypt(
    mut line: Line,
    config: Arc<ServerConfig>,
    words: &'static str,
    left: Option<Left>,
) -> io::Result<()> {
    let mut out = Vec::new();
    let greeting = Greeting { capabilities: CAPABILITIES | capability::SSL, ..Greeting::default() };
    let mut server = Connection::new(&greeting, &mut out);
    line.write_all(&out)?;
    // the request for TLS, alone: what follows it is TLS's; or a whole login
    let mut packet = vec![0; 4];
    line.read_exact(&mut packet)?;
    packet.resize(4 + usize::from(packet[0]) + (usize::from(packet[1]) << 8), 0);
    line.read_exact(&mut packet[4..])?;
    let starts_tls = packet.len() == 36 && matches!(server.next(&packet), Ok((36, Some(Request::StartTls))));
    let mut client = if starts_tls {
        line.left = left;
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        Client { stream: Box::new(StreamOwned::new(tls, line)), input: Vec::new() }
    } else {
        Client { stream: Box::new(line), input: packet }
    };
    answer_all(&mut client, &mut server, &|_| Answer::Error(1105, words.to_owned()));
    Ok(())
}

fn serve(mut client: Client, fault: Fault) {
    let mut out = Vec::new();
    let mut server = Connection::new(&Greeting::default(), &mut out);
    match fault {
        Fault::Mute => thread::sleep(GRIP),
        Fault::Dribbles(pause) => {
            // a greeting without an end: its packet says that there is more than is ever sent
            let endless = [&[0, 0x0f, 0, 0, 10][..], &[b'8'; 3800]].concat();
            let mut bytes = endless.iter();
            while bytes.next().is_some_and(|byte| client.say(&[*byte])) {
                thread::sleep(pause);
            }
        }
        Fault::Says(bytes) => {
            client.say(&bytes);
            // what is closed with something unread is reset, which may overtake what was said
            while client.listen() {}
        }
        Fault::Switches(plugin, challenge) => {
            client.say(&out);
            switch(&mut client, &mut server, plugin, &challenge);
        }
        Fault::Answers(answer) => {
            client.say(&out);
            answer_all(&mut client, &mut server, &*answer);
        }
        Fault::Encrypts(..) => unreachable!("it has a way of its own"),
    }
}

/// The next packet that is no command.
fn next_data(client: &mut Client, server: &mut Connection) -> Option<Vec<u8>> {
    loop {
        let (used, data) = server.next_data(&client.input).ok()?;
        let data = data.map(<[u8]>::to_vec);
        client.input.drain(..used);
        match data {
            Some(data) => return Some(data),
            None if !client.listen() => return None,
            None => {}
        }
    }
}

fn switch(client: &mut Client, server: &mut Connection, plugin: &[u8], challenge: &[u8]) {
    while client.listen() {
        let Ok((used, request)) = server.next(&client.input) else { return };
        let is_login = request.is_some();
        client.input.drain(..used);
        if is_login {
            break;
        }
    }
    let mut out = Vec::new();
    server.reply().packet(&mut out, |out| {
        out.push(0xfe);
        out.extend_from_slice(plugin);
        out.push(0);
        out.extend_from_slice(challenge);
    });
    client.say(&out);
    let Some(first) = next_data(client, server) else { return };
    // of the plug-ins that know a full exchange: asked for, the client asks for a key or sends the password
    let mut out = Vec::new();
    if plugin == b"caching_sha2_password" && !first.is_empty() {
        server.reply().packet(&mut out, |out| out.extend_from_slice(&[1, 4]));
        client.say(&out);
        let _ = next_data(client, server);
    }
    let mut out = Vec::new();
    server.reply().packet(&mut out, |out| out.extend_from_slice(&[&[1][..], KEY.as_bytes()].concat()));
    client.say(&out);
    while client.listen() {}
}

fn answer_all(client: &mut Client, server: &mut Connection, answer: &dyn Fn(&str) -> Answer) {
    loop {
        let Ok((used, request)) = server.next(&client.input) else { return };
        let answer = match request {
            None => None,
            Some(Request::Query(sql)) => Some(answer(&String::from_utf8_lossy(sql))),
            Some(Request::Quit) => return,
            Some(request) if request.has_reply() => Some(Answer::Done),
            Some(_) => Some(Answer::Rows(Vec::new(), Vec::new())),
        };
        client.input.drain(..used);
        let goes_on = match answer {
            Some(answer) => give(client, server, answer),
            None => client.listen(),
        };
        if !goes_on {
            return;
        }
    }
}

/// Whether the client is still there.
fn give(client: &mut Client, server: &mut Connection, answer: Answer) -> bool {
    let mut out = Vec::new();
    let column =
        |name| ColumnDefinition { name, kind: ColumnKind { code: column_type::VAR_STRING, unsigned: false } };
    match answer {
        Answer::Done => server.reply().ok(&mut out, &Finish::default()),
        Answer::Rows(columns, _) if columns.is_empty() => {}
        Answer::Rows(columns, rows) => {
            let columns: Vec<_> = columns.into_iter().map(column).collect();
            server.reply().columns(&mut out, &columns);
            for row in rows {
                let row: Vec<_> = row.iter().map(|value| value.as_ref().map(String::as_bytes)).collect();
                server.reply().text_row(&mut out, &row);
            }
            server.reply().end_rows(&mut out, &Finish::default());
        }
        Answer::Error(code, message) => server.reply().error(&mut out, code, b"HY000", &message),
        Answer::Silence => {
            while client.listen() {}
            return false;
        }
        Answer::Endless(bytes) => {
            server.reply().columns(&mut out, &[column("c")]);
            let value = vec![b'x'; bytes];
            while client.say(&out) {
                out.clear();
                (0..ROWS_AT_ONCE).for_each(|_| server.reply().text_row(&mut out, &[Some(&value)]));
            }
        }
        Answer::EndlessRow => {
            server.reply().columns(&mut out, &[column("c")]);
            client.say(&out);
            // one packet says how many columns, one which; rows follow without an end in between
            let mut sequence: u8 = 3;
            let piece = vec![0xfe; wire::packet::PAYLOAD_MAX];
            loop {
                let header = [0xff, 0xff, 0xff, sequence];
                sequence = sequence.wrapping_add(1);
                if !client.say(&header) || !client.say(&piece) {
                    return false;
                }
            }
        }
        Answer::EndlessResults => loop {
            let more = Finish { status: wire::constants::status::MORE_RESULTS, ..Finish::default() };
            out.clear();
            (0..ROWS_AT_ONCE).for_each(|_| server.reply().ok(&mut out, &more));
            if !client.say(&out) {
                return false;
            }
        },
    }
    client.say(&out)
}

/// A key that nobody has the other half of.
const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----";
