//! Logging in: greeting, TLS, authentication. The same state machine also changes the user.

use super::{BUFFER_MIN, Options, Session, TlsWish, Transport};
use crate::{
    auth::{Channel, Exchange, NONCE, Plugin},
    compression::Compression,
    constants::capability,
    error::{Error, ServerError, malformed},
    packet::{self, HEADER, Reader, put_lenenc, put_lenenc_bytes, put_nul_text},
};
use std::sync::Arc;

/// Bytes of a challenge that are looked at; ed25519's 32 and a NUL are the longest.
const CHALLENGE_MAX: usize = 64;
/// Largest packet that we offer to receive, as the login says; the server uses its own limit.
const PACKET_MAX: u32 = 1 << 30;
/// Bytes of all connection attributes together; servers cut at 64 KiB.
const ATTRIBUTES_MAX: usize = 4096;

/// A login in progress.
#[derive(Debug)]
pub struct Handshake {
    options: Arc<Options>,
    channel: Channel,
    sequence: u8,
    state: State,
    /// Only where the login is a change of user: a first login is never compressed.
    compression: Option<Box<Compression>>,
}

/// What the caller has to do next.
#[derive(Debug)]
pub enum Step {
    /// Send what is in the output, then come back with more input.
    NeedMore,
    /// Send what is in the output, then do a TLS handshake on the socket, then call [`Handshake::advance`]
    /// with empty input; its output goes through TLS, as everything from then on.
    StartTls,
    /// Logged in.
    Ready(Box<Session>),
}

#[derive(Debug)]
enum State {
    Greeting,
    Tls(Greeting),
    Auth(Greeting, Option<Exchange>),
    Over,
}

/// What the server said of itself, and what was agreed on.
#[derive(Debug, Clone)]
pub(super) struct Greeting {
    pub(super) version: Box<str>,
    pub(super) thread: u32,
    pub(super) capabilities: u64,
    pub(super) nonce: [u8; NONCE],
    plugin: Option<Plugin>,
    challenge: Vec<u8>,
}

impl Handshake {
    /// A login over a connection that has just been made.
    #[must_use]
    pub fn new(options: Arc<Options>, transport: Transport) -> Self {
        let channel = match transport {
            Transport::Tcp => Channel::Plain,
            Transport::Unix => Channel::Local,
        };
        Self { options, channel, sequence: 0, state: State::Greeting, compression: None }
    }

    /// Another account, and with it a fresh session instead of `session`, on a connection that is logged in.
    /// `out` receives the command. Capabilities stay as they are agreed; the character set is that of
    /// `options`.
    pub fn change_user(session: &Session, options: Arc<Options>, out: &mut Vec<u8>) -> Result<Self, Error> {
        super::change_user::begin(session, options, out)
    }

    /// Takes what has arrived, appends what is to be sent. Returns how many bytes of `input` are done with,
    /// and what comes next. An incomplete packet stays with the caller; it is at most [`BUFFER_MIN`]
    /// bytes.
    pub fn advance(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(usize, Step), Error> {
        if let State::Tls(_) = &self.state {
            let State::Tls(greeting) = std::mem::replace(&mut self.state, State::Over) else {
                return Err(Error::OutOfTurn("the login is over"));
            };
            self.channel = Channel::Tls;
            self.respond(greeting, output)?;
        }
        let Some(mut compression) = self.compression.take() else { return self.packets(input, output, true) };
        let start = output.len();
        let (used, step) = compression.receive(input, |plain| {
            let (used, step) = self.packets(plain, output, false)?;
            Ok((used, (!matches!(step, Step::NeedMore)).then_some(step)))
        })?;
        if output.len() > start {
            compression.wrap(output, start, false);
        }
        self.compression = Some(compression);
        Ok((used, step.unwrap_or(Step::NeedMore)))
    }

    /// `numbered`: packet numbers are checked; inside compressed packets those of the outer ones count.
    fn packets(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
        numbered: bool,
    ) -> Result<(usize, Step), Error> {
        let mut consumed = 0;
        while let Some((length, sequence)) = packet::header(&input[consumed..]) {
            if length + HEADER > BUFFER_MIN {
                let (seen, limit) = (length as u64, (BUFFER_MIN - HEADER) as u64);
                return Err(Error::TooLarge { what: "a packet of the login", seen, limit });
            }
            let Some(payload) = input.get(consumed + HEADER..consumed + HEADER + length) else { break };
            if numbered && sequence != self.sequence {
                return Err(Error::Sequence { expected: self.sequence, seen: sequence });
            }
            self.sequence = sequence.wrapping_add(1);
            consumed += HEADER + length;
            match self.packet(payload, output)? {
                Step::NeedMore => {}
                // Whatever follows the greeting in the clear was not sent by the server that TLS will verify.
                Step::StartTls if consumed < input.len() => {
                    return Err(malformed("bytes between greeting and TLS"));
                }
                step => return Ok((consumed, step)),
            }
        }
        Ok((consumed, Step::NeedMore))
    }

    fn packet(&mut self, payload: &[u8], output: &mut Vec<u8>) -> Result<Step, Error> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Greeting => {
                let greeting = Greeting::parse(payload)?;
                self.greeted(greeting, output)
            }
            State::Auth(greeting, exchange) => self.authenticate(greeting, exchange, payload, output),
            State::Tls(_) | State::Over => Err(Error::OutOfTurn("the login is over")),
        }
    }

    fn greeted(&mut self, mut greeting: Greeting, output: &mut Vec<u8>) -> Result<Step, Error> {
        let offered = greeting.capabilities;
        let tls = match self.options.tls {
            TlsWish::Never => false,
            TlsWish::IfOffered => offered & capability::SSL != 0,
            TlsWish::Require if offered & capability::SSL == 0 => return Err(Error::TlsNotOffered),
            TlsWish::Require => true,
        };
        greeting.capabilities = self.wanted(tls) & offered;
        if offered & capability::LONG_PASSWORD == 0 {
            // MariaDB clears the bit to announce its extension, and expects it to stay so.
            greeting.capabilities &= !capability::LONG_PASSWORD;
        }
        if tls {
            let start = packet::begin(output);
            self.put_head(&greeting, output);
            self.sequence = packet::end(output, start, self.sequence);
            self.state = State::Tls(greeting);
            return Ok(Step::StartTls);
        }
        self.respond(greeting, output)?;
        Ok(Step::NeedMore)
    }

    fn wanted(&self, tls: bool) -> u64 {
        let options = &self.options;
        let mut wanted = capability::LONG_PASSWORD
            | capability::LONG_FLAG
            | capability::PROTOCOL_41
            | capability::TRANSACTIONS
            | capability::SECURE_CONNECTION
            | capability::MULTI_RESULTS
            | capability::PS_MULTI_RESULTS
            | capability::PLUGIN_AUTH
            | capability::PLUGIN_AUTH_LENENC;
        let optional = [
            (tls, capability::SSL),
            (options.database.is_some(), capability::CONNECT_WITH_DB),
            (!options.attributes.is_empty(), capability::CONNECT_ATTRS),
            (options.compress, capability::COMPRESS),
            (options.local_infile, capability::LOCAL_FILES),
            (options.found_rows, capability::FOUND_ROWS),
            (options.multi_statements, capability::MULTI_STATEMENTS),
            (options.deprecate_eof, capability::DEPRECATE_EOF),
            (options.mariadb_extended, capability::MARIADB_CACHE_METADATA),
            (options.mariadb_extended, capability::MARIADB_STMT_BULK_OPERATIONS),
        ];
        for (wish, flag) in optional {
            if wish {
                wanted |= flag;
            }
        }
        wanted
    }

    /// The first 32 bytes of the login, which are also the request for TLS.
    fn put_head(&self, greeting: &Greeting, out: &mut Vec<u8>) {
        out.extend_from_slice(&(greeting.capabilities as u32).to_le_bytes());
        out.extend_from_slice(&PACKET_MAX.to_le_bytes());
        out.push(self.options.charset);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&((greeting.capabilities >> 32) as u32).to_le_bytes());
    }

    fn respond(&mut self, greeting: Greeting, output: &mut Vec<u8>) -> Result<(), Error> {
        // A default plug-in that is unknown here need not be the account's: the server will say.
        let mut plugin = greeting.plugin.unwrap_or(Plugin::Native);
        let (password, trust) = (self.options.password.as_bytes(), &self.options.trust);
        let mut begun = Exchange::start(plugin, &greeting.challenge, password, self.channel, trust);
        let untrusted = |error: &Error| {
            use Error::{InsecurePassword, UnknownKey, UnverifiedServer};
            matches!(error, InsecurePassword(_) | UnverifiedServer(_) | UnknownKey(_))
        };
        if begun.as_ref().is_err_and(untrusted) {
            // the account's plug-in may be another; where it is not, the server says so, and is refused then
            plugin = Plugin::Native;
            begun = Exchange::start(plugin, &greeting.challenge, password, self.channel, trust);
        }
        let (exchange, answer) = match begun {
            Ok((exchange, answer)) => (Some(exchange), answer),
            Err(Error::Malformed { .. }) => (None, vec![]),
            Err(error) => return Err(error),
        };
        let flags = greeting.capabilities;
        let start = packet::begin(output);
        self.put_head(&greeting, output);
        put_nul_text(output, &self.options.user);
        if flags & capability::PLUGIN_AUTH_LENENC != 0 {
            put_lenenc_bytes(output, &answer);
        } else {
            output.push(u8::try_from(answer.len()).map_err(|_| malformed("a challenge of an old server"))?);
            output.extend_from_slice(&answer);
        }
        if flags & capability::CONNECT_WITH_DB != 0 {
            put_nul_text(output, self.options.database.as_deref().unwrap_or_default());
        }
        if flags & capability::PLUGIN_AUTH != 0 {
            put_nul_text(output, plugin.name());
        }
        if flags & capability::CONNECT_ATTRS != 0 {
            put_attributes(output, &self.options.attributes);
        }
        self.sequence = packet::end(output, start, self.sequence);
        self.state = State::Auth(greeting, exchange);
        Ok(())
    }

    fn authenticate(
        &mut self,
        greeting: Greeting,
        mut exchange: Option<Exchange>,
        payload: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<Step, Error> {
        let (password, trust) = (self.options.password.as_bytes(), &self.options.trust);
        let mut reader = Reader(payload);
        let answer = match reader.u8("a packet of the login")? {
            0x00 => {
                return Ok(Step::Ready(Box::new(Session::new(greeting, self.channel))));
            }
            0xff => return Err(read_error(payload)),
            0xfe if reader.is_empty() => return Err(Error::Plugin("mysql_old_password".into())),
            0xfe => {
                let name = reader.nul_bytes("the name of an authentication plug-in")?;
                let plugin = Plugin::named(name).ok_or_else(|| unknown_plugin(name))?;
                let (begun, answer) = Exchange::start(plugin, reader.rest(), password, self.channel, trust)?;
                exchange = Some(begun);
                Some(answer)
            }
            0x01 => match &mut exchange {
                Some(exchange) => exchange.more(reader.rest(), password, self.channel, trust)?,
                None => return Err(malformed("more data of an authentication plug-in that was not begun")),
            },
            first => return Err(Error::Unexpected { first, expected: "a packet of the login" }),
        };
        if let Some(answer) = answer {
            let start = packet::begin(output);
            output.extend_from_slice(&answer);
            self.sequence = packet::end(output, start, self.sequence);
        }
        self.state = State::Auth(greeting, exchange);
        Ok(Step::NeedMore)
    }

    /// A login that goes on after a command whose answer is `exchange`'s.
    pub(super) fn resume(
        options: Arc<Options>,
        channel: Channel,
        sequence: u8,
        greeting: Greeting,
        exchange: Exchange,
        compression: Option<Box<Compression>>,
    ) -> Self {
        Self { options, channel, sequence, state: State::Auth(greeting, Some(exchange)), compression }
    }
}

impl Greeting {
    fn parse(payload: &[u8]) -> Result<Self, Error> {
        const WHAT: &str = "the server's greeting";
        let mut reader = Reader(payload);
        match reader.u8(WHAT)? {
            10 => {}
            0xff => return Err(read_error(payload)),
            other => return Err(Error::ProtocolVersion(other)),
        }
        let version = String::from_utf8_lossy(reader.nul_bytes(WHAT)?).into_owned();
        let thread = reader.u32(WHAT)?;
        let mut challenge = reader.bytes(8, WHAT)?.to_vec();
        reader.u8(WHAT)?;
        let mut capabilities = u64::from(reader.u16(WHAT)?);
        reader.bytes(3, WHAT)?;
        capabilities |= u64::from(reader.u16(WHAT)?) << 16;
        let stated = usize::from(reader.u8(WHAT)?);
        reader.bytes(6, WHAT)?;
        let extended = u64::from(reader.u32(WHAT)?);
        if capabilities & capability::LONG_PASSWORD == 0 {
            capabilities |= extended << 32;
        }
        if capabilities & capability::PROTOCOL_41 == 0 || capabilities & capability::SECURE_CONNECTION == 0 {
            return Err(Error::ProtocolVersion(10));
        }
        let rest = stated.saturating_sub(8).max(13).min(reader.0.len()).min(CHALLENGE_MAX);
        challenge.extend_from_slice(reader.bytes(rest, WHAT)?);
        // MySQL 5.5.7 to 5.5.9 forget the NUL after the plug-in's name.
        let name = reader.0.split(|&byte| byte == 0).next().unwrap_or_default();
        let plugin = if name.is_empty() { Some(Plugin::Native) } else { Plugin::named(name) };
        let mut nonce = [0; NONCE];
        let known = challenge.len().min(NONCE);
        nonce[..known].copy_from_slice(&challenge[..known]);
        Ok(Self { version: version.into(), thread, capabilities, nonce, plugin, challenge })
    }

    /// What a session remembers of it.
    pub(super) fn remembered(version: Box<str>, thread: u32, capabilities: u64, nonce: [u8; NONCE]) -> Self {
        Self { version, thread, capabilities, nonce, plugin: Some(Plugin::Native), challenge: nonce.to_vec() }
    }
}

/// An ERR packet, of the form before or after the protocol is agreed on.
pub(super) fn read_error(payload: &[u8]) -> Error {
    let mut reader = Reader(payload);
    let (Ok(_), Ok(code)) = (reader.u8(""), reader.u16("")) else { return malformed("an error packet") };
    let mut state = *b"HY000";
    if let [b'#', a, b, c, d, e, rest @ ..] = reader.0 {
        state = [*a, *b, *c, *d, *e];
        reader = Reader(rest);
    }
    let message = String::from_utf8_lossy(reader.rest()).into_owned();
    Error::Server { error: ServerError { code, state }, message }
}

fn unknown_plugin(name: &[u8]) -> Error {
    Error::Plugin(String::from_utf8_lossy(name).chars().take(100).collect())
}

pub(super) fn put_attributes(out: &mut Vec<u8>, attributes: &[(String, String)]) {
    let mut body = Vec::new();
    for (name, value) in attributes {
        if body.len() + name.len() + value.len() + 18 <= ATTRIBUTES_MAX {
            put_lenenc_bytes(&mut body, name.as_bytes());
            put_lenenc_bytes(&mut body, value.as_bytes());
        }
    }
    put_lenenc(out, body.len() as u64);
    out.extend_from_slice(&body);
}
