//! The server's side, as far as scripted fakes and a null server need it. It parses every command, encodes
//! every kind of reply and checks a native password on request; it knows no SQL.
//!
//! A reply to a command of one packet always begins with packet number 1. So a reply that is always the same
//! can be encoded once, by an [`Encoder`], and copied from then on.

mod login;
mod reply;
mod request;

pub use login::{Greeting, Login};
pub use reply::{ColumnDefinition, Encoder, Finish};
pub use request::{ChangeUser, Execute, Request};

use crate::{
    constants::capability,
    error::Error,
    packet::{HEADER, PAYLOAD_MAX, header},
};

/// Longest command, in bytes; also what can be held of one that is not complete.
pub const REQUEST_MAX: usize = 1 << 30;
/// Commands that were joined keep this much memory.
const JOINED_KEPT: usize = 64 << 10;

/// The server's end of one connection.
#[derive(Debug)]
pub struct Connection {
    encoder: Encoder,
    login: bool,
    offered: u64,
    expected: u8,
    joined: Vec<u8>,
    /// Whether the last packet of a command that is being joined has been seen.
    complete: bool,
}

impl Connection {
    /// Begins with the greeting, which is appended to `out`.
    pub fn new(greeting: &Greeting<'_>, out: &mut Vec<u8>) -> Self {
        let mut encoder = Encoder::new(greeting.capabilities);
        encoder.expect(0);
        encoder.packet(out, |out| greeting.put(out));
        Self {
            encoder,
            login: true,
            offered: greeting.capabilities,
            expected: 1,
            joined: Vec::new(),
            complete: false,
        }
    }

    /// The next thing that the client wants, and how many bytes of `input` are done with. `None`: bytes are
    /// missing; what was taken of them may still be more than 0. After anything but
    /// [`Request::has_reply`] false, encode an answer with [`Connection::reply`] before asking again.
    pub fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<(usize, Option<Request<'a>>), Error> {
        if self.complete {
            self.complete = false;
            self.joined.clear();
            self.joined.shrink_to(JOINED_KEPT);
        }
        let mut at = 0;
        loop {
            let Some((length, sequence)) = header(&input[at..]) else { return Ok((at, None)) };
            let Some(payload) = input.get(at + HEADER..at + HEADER + length) else { return Ok((at, None)) };
            if sequence != self.expected {
                return Err(Error::Sequence { expected: self.expected, seen: sequence });
            }
            at += HEADER + length;
            self.expected = sequence.wrapping_add(1);
            if length == PAYLOAD_MAX || !self.joined.is_empty() {
                if self.joined.len() + length > REQUEST_MAX {
                    let seen = (self.joined.len() + length) as u64;
                    return Err(Error::TooLarge { what: "a command", seen, limit: REQUEST_MAX as u64 });
                }
                self.joined.extend_from_slice(payload);
                if length == PAYLOAD_MAX {
                    continue;
                }
                self.complete = true;
            }
            self.encoder.expect(self.expected);
            if self.login {
                let Some(login) = Login::parse(payload)? else { return Ok((at, Some(Request::StartTls))) };
                self.login = false;
                self.expected = 0;
                self.encoder.capabilities = self.offered & login.capabilities;
                return Ok((at, Some(Request::Login(login))));
            }
            self.expected = 0;
            let payload = if self.complete { &self.joined[..] } else { payload };
            return Ok((at, Some(Request::parse(payload, self.encoder.capabilities)?)));
        }
    }

    /// Takes one packet that is no command: a piece of a local file (empty: its end) or an answer of an
    /// authentication plug-in. To be called instead of [`Connection::next`] after [`Encoder::local_file`] or
    /// [`Encoder::packet`].
    pub fn next_data<'a>(&mut self, input: &'a [u8]) -> Result<(usize, Option<&'a [u8]>), Error> {
        let Some((length, sequence)) = header(input) else { return Ok((0, None)) };
        let Some(payload) = input.get(HEADER..HEADER + length) else { return Ok((0, None)) };
        let expected = self.encoder.sequence();
        if sequence != expected {
            return Err(Error::Sequence { expected, seen: sequence });
        }
        self.encoder.expect(sequence.wrapping_add(1));
        Ok((HEADER + length, Some(payload)))
    }

    /// Encodes the answer to the last request.
    #[inline]
    pub fn reply(&mut self) -> &mut Encoder {
        &mut self.encoder
    }

    /// What both sides can do; before the login: what is offered.
    #[must_use]
    pub fn capabilities(&self) -> u64 {
        self.encoder.capabilities
    }
}

/// What [`Greeting::default`] offers: everything but TLS, compression and MariaDB's extension.
pub const CAPABILITIES: u64 = capability::LONG_PASSWORD
    | capability::FOUND_ROWS
    | capability::LONG_FLAG
    | capability::CONNECT_WITH_DB
    | capability::LOCAL_FILES
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_STATEMENTS
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::CONNECT_ATTRS
    | capability::PLUGIN_AUTH_LENENC
    | capability::DEPRECATE_EOF;
