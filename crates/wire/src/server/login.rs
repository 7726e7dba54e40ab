//! Greeting a client and reading its login.

use crate::{
    auth::NONCE,
    constants::{CHARSET_UTF8MB4, capability, status},
    error::Error,
    packet::{Reader, put_nul_text},
};

/// How a server introduces itself.
#[derive(Debug, Clone)]
pub struct Greeting<'a> {
    /// Its version.
    pub version: &'a str,
    /// Number of the connection.
    pub thread: u32,
    /// What it offers, see [`capability`].
    pub capabilities: u64,
    /// The authentication plug-in that it names.
    pub plugin: &'a str,
    /// The challenge; without zeros.
    pub nonce: [u8; NONCE],
}

impl Default for Greeting<'_> {
    fn default() -> Self {
        Self {
            version: "8.0.0-prony",
            thread: 1,
            capabilities: super::CAPABILITIES,
            plugin: "mysql_native_password",
            nonce: *b"01234567890123456789",
        }
    }
}

impl Greeting<'_> {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let [a, b, c, d, ..] = self.capabilities.to_le_bytes();
        out.push(10);
        put_nul_text(out, self.version);
        out.extend_from_slice(&self.thread.to_le_bytes());
        out.extend_from_slice(&self.nonce[..8]);
        out.extend_from_slice(&[0, a, b, CHARSET_UTF8MB4]);
        out.extend_from_slice(&status::AUTOCOMMIT.to_le_bytes());
        out.extend_from_slice(&[c, d, NONCE as u8 + 1, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&((self.capabilities >> 32) as u32).to_le_bytes());
        out.extend_from_slice(&self.nonce[8..]);
        out.push(0);
        put_nul_text(out, self.plugin);
    }
}

/// What a client says to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    /// What it can do.
    pub capabilities: u64,
    /// Character set and collation, by number.
    pub charset: u8,
    /// Account.
    pub user: &'a [u8],
    /// Answer to the challenge.
    pub response: &'a [u8],
    /// Schema.
    pub database: Option<&'a [u8]>,
    /// The plug-in whose answer it is.
    pub plugin: &'a [u8],
    /// Attributes, still encoded.
    attributes: &'a [u8],
}

impl<'a> Login<'a> {
    /// `None`: it is the short form that asks for TLS first.
    pub(super) fn parse(payload: &'a [u8]) -> Result<Option<Self>, Error> {
        const WHAT: &str = "the client's login";
        let mut reader = Reader(payload);
        let mut capabilities = u64::from(reader.u32(WHAT)?);
        if capabilities & capability::PROTOCOL_41 == 0 {
            return Err(Error::ProtocolVersion(9));
        }
        reader.u32(WHAT)?;
        let charset = reader.u8(WHAT)?;
        reader.bytes(19, WHAT)?;
        capabilities |= u64::from(reader.u32(WHAT)?) << 32;
        let mut login = Self {
            capabilities,
            charset,
            user: &[],
            response: &[],
            database: None,
            plugin: &[],
            attributes: &[],
        };
        if reader.is_empty() && capabilities & capability::SSL != 0 {
            return Ok(None);
        }
        login.user = reader.nul_bytes(WHAT)?;
        login.response = if capabilities & capability::PLUGIN_AUTH_LENENC != 0 {
            reader.lenenc_bytes(WHAT)?
        } else {
            let length = reader.u8(WHAT)?;
            reader.bytes(usize::from(length), WHAT)?
        };
        if capabilities & capability::CONNECT_WITH_DB != 0 {
            login.database = Some(reader.nul_bytes(WHAT)?);
        }
        if capabilities & capability::PLUGIN_AUTH != 0 {
            login.plugin = reader.nul_bytes(WHAT)?;
        }
        if capabilities & capability::CONNECT_ATTRS != 0 {
            login.attributes = reader.lenenc_bytes(WHAT)?;
        }
        Ok(Some(login))
    }

    /// Names and values of the attributes; ends at the first that is damaged.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut reader = Reader(self.attributes);
        std::iter::from_fn(move || {
            let name = reader.lenenc_bytes("an attribute").ok()?;
            Some((name, reader.lenenc_bytes("an attribute").ok()?))
        })
    }
}
