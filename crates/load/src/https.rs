//! One request to a server of HTTP/1.1, mostly by TLS, and its answer: what asking the API of a cluster now
//! and then takes. It knows nothing of what is asked, keeps no connection, and follows no redirection.

use crate::tls;
use rustls::{ClientConfig, ClientConnection, StreamOwned, pki_types::ServerName};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    sync::Arc,
    time::Duration,
};

/// How long connecting to one address may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long a server may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Longest line of an answer's head, and most of them.
const LINE_MAX: u64 = 64 << 10;
const LINES_MAX: usize = 256;
/// Largest answer: a list of a thousand pods has some MB.
const BODY_MAX: u64 = 64 << 20;

/// Where requests go.
#[derive(Clone)]
pub struct Endpoint {
    host: String,
    port: u16,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its status: 200.
    pub status: u16,
    /// What came behind the head.
    pub body: Vec<u8>,
}

impl Endpoint {
    /// Without encryption.
    #[must_use]
    pub fn plain(host: &str, port: u16) -> Self {
        Self { host: host.to_owned(), port, tls: None }
    }

    /// By TLS; `name` is the one that the server's certificate must have, if not `host`.
    ///
    /// # Errors
    /// Where certificates or key cannot be used, or the name is none.
    pub fn tls(
        (host, port): (&str, u16),
        name: Option<&str>,
        trust: tls::Authorities<'_>,
        own: Option<(&[u8], &[u8])>,
    ) -> Result<Self, tls::Error> {
        let name = name.unwrap_or(host);
        let server = ServerName::try_from(name.to_owned()).map_err(|_| tls::Error::Name(name.to_owned()))?;
        let config = tls::client_of(trust, own)?;
        Ok(Self { host: host.to_owned(), port, tls: Some((config, server)) })
    }

    /// Sends a request and waits for its answer. `more` are lines of its head.
    ///
    /// # Errors
    /// Where there is none, or it is no HTTP.
    pub fn ask(&self, method: &str, path: &str, more: &[String], body: &[u8]) -> io::Result<Answer> {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.host,
            self.port,
            body.len()
        );
        for line in more {
            head.push_str(line);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        let request = [head.as_bytes(), body].concat();
        let socket = self.connect()?;
        match &self.tls {
            None => exchange(socket, &request),
            Some((config, name)) => {
                let tls =
                    ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
                exchange(StreamOwned::new(tls, socket), &request)
            }
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_MAX) {
                Ok(socket) => {
                    socket.set_read_timeout(Some(SILENCE_MAX))?;
                    socket.set_write_timeout(Some(SILENCE_MAX))?;
                    return Ok(socket);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn exchange(mut stream: impl Read + Write, request: &[u8]) -> io::Result<Answer> {
    stream.write_all(request)?;
    stream.flush()?;
    answer(&mut BufReader::new(stream))
}

fn strange(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer is no HTTP: {what}"))
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.by_ref().take(LINE_MAX).read_line(&mut line)?;
    let text = line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n'));
    text.map(str::to_owned).ok_or_else(|| strange("a line has no end"))
}

fn answer(from: &mut impl BufRead) -> io::Result<Answer> {
    let first = line(from)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or_else(|| strange("it has no status"))?;
    let (mut length, mut is_chunked) = (None, false);
    for count in 0.. {
        let line = line(from)?;
        if line.is_empty() {
            break;
        }
        if count == LINES_MAX {
            return Err(strange("its head does not end"));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| strange("a line has no name"))?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse::<u64>().ok(),
            "transfer-encoding" => is_chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    match length {
        _ if is_chunked => chunks(from, &mut body)?,
        Some(length) => piece(from, length, &mut body)?,
        None => {
            from.take(BODY_MAX).read_to_end(&mut body)?;
        }
    }
    Ok(Answer { status, body })
}

fn chunks(from: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let line = line(from)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = u64::from_str_radix(digits, 16).map_err(|_| strange("a chunk has no length"))?;
        if length == 0 {
            return Ok(());
        }
        piece(from, length, body)?;
        self::line(from)?;
    }
}

fn piece(from: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if (body.len() as u64).saturating_add(length) > BODY_MAX {
        return Err(strange("it is too long"));
    }
    let got = from.take(length).read_to_end(body)? as u64;
    if got == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<(u16, String)> {
        let answer = answer(&mut text.as_bytes())?;
        Ok((answer.status, String::from_utf8(answer.body).expect("text")))
    }

    #[test]
    fn an_answer_ends_where_its_head_says() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}more";
        assert_eq!(read(whole).expect("HTTP"), (200, "{}".to_owned()));
        let pieces = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=1\r\n\
                      0123456789\r\n0\r\n\r\n";
        assert_eq!(read(pieces).expect("HTTP"), (404, "abc0123456789".to_owned()));
        assert_eq!(read("HTTP/1.0 200\r\n\r\nall").expect("HTTP"), (200, "all".to_owned()));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for text in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno name\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\n{}", "a: b\r\n".repeat(LINES_MAX + 1));
        assert!(read(&endless).is_err());
    }

    #[test]
    fn a_request_says_what_is_asked_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a caller");
            let mut asked = vec![0; 4096];
            let length = socket.read(&mut asked).expect("a request");
            socket.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\ndone").expect("a caller");
            String::from_utf8_lossy(&asked[..length]).into_owned()
        });
        let lines = ["Accept: application/json".to_owned()];
        let answer =
            Endpoint::plain("127.0.0.1", port).ask("POST", "/a?b=c", &lines, b"{}").expect("an answer");
        assert_eq!((answer.status, &*answer.body), (201, &b"done"[..]));
        let asked = server.join().expect("no panic");
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        for part in [
            "POST /a?b=c HTTP/1.1\r\n",
            &host,
            "Accept: application/json\r\n",
            "Content-Length: 2\r\n",
            "\r\n\r\n{}",
        ] {
            assert!(asked.contains(part), "{asked}");
        }
    }
}
