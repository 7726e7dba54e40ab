//! The answers of the authentication plug-ins; `scramble` computes them.
//!
//! Nothing here waits or sends: [`crate::client::Handshake`] asks what to answer. Three plug-ins give the
//! server the password itself, so [`Trust`] says when they may: `mysql_clear_password` only through TLS that
//! verified the server; the full exchange of `caching_sha2_password` and `sha256_password` there, over a Unix
//! socket, or encrypted with a known key. An RSA key that the server sends keeps eavesdroppers out, but not
//! an attacker in the middle who sends a key of his own (MySQL's manual, `--get-server-public-key`); TLS
//! without verification is no better. Both need the caller's permission.

use crate::{
    client::Trust,
    error::{Error, malformed},
    scramble,
};

/// Bytes of the challenge of every plug-in but client_ed25519.
pub const NONCE: usize = 20;
/// Bytes of client_ed25519's challenge.
const NONCE_ED25519: usize = 32;

/// How bytes travel, as far as a password is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// TCP without TLS: anybody on the way can read.
    Plain,
    /// A Unix socket.
    Local,
    /// TLS, over whatever.
    Tls,
}

/// An authentication plug-in that we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// `mysql_native_password`: all servers before MySQL 9.
    Native,
    /// `caching_sha2_password`: MySQL from 8.0 on.
    CachingSha2,
    /// `sha256_password`: MySQL from 5.6 on.
    Sha256,
    /// `client_ed25519`: MariaDB.
    Ed25519,
    /// `mysql_clear_password`: PAM, LDAP.
    Clear,
}

impl Plugin {
    /// By the protocol's name.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"mysql_native_password" => Self::Native,
            b"caching_sha2_password" => Self::CachingSha2,
            b"sha256_password" => Self::Sha256,
            b"client_ed25519" => Self::Ed25519,
            b"mysql_clear_password" => Self::Clear,
            _ => return None,
        })
    }

    /// The protocol's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::Ed25519 => "client_ed25519",
            Self::Clear => "mysql_clear_password",
        }
    }
}

/// One conversation of one plug-in.
#[derive(Debug)]
pub struct Exchange {
    plugin: Plugin,
    nonce: [u8; NONCE],
    key_requested: bool,
}

impl Exchange {
    /// Begins: what to answer to the plug-in's challenge.
    pub fn start(
        plugin: Plugin,
        challenge: &[u8],
        password: &[u8],
        channel: Channel,
        trust: &Trust,
    ) -> Result<(Self, Vec<u8>), Error> {
        let mut exchange = Self { plugin, nonce: [0; NONCE], key_requested: false };
        // The challenge is followed by a NUL where it is text.
        let challenge = challenge.strip_suffix(b"\0").unwrap_or(challenge);
        if matches!(plugin, Plugin::Native | Plugin::CachingSha2 | Plugin::Sha256) {
            exchange.nonce =
                challenge.try_into().map_err(|_| malformed("the challenge of an authentication plug-in"))?;
        }
        let answer = match plugin {
            Plugin::Native => scramble::native(&exchange.nonce, password),
            Plugin::CachingSha2 => scramble::sha256(&exchange.nonce, password),
            Plugin::Ed25519 => sign_ed25519(challenge, password)?,
            // a socket's path is no proof of who listens there, and the reference client asks for a word
            // there too
            Plugin::Clear if trust.cleartext || (channel == Channel::Tls && trust.verified) => {
                with_nul(password)
            }
            Plugin::Clear => return Err(Error::InsecurePassword(plugin.name())),
            Plugin::Sha256 if password.is_empty() => vec![0],
            Plugin::Sha256 => exchange.full(password, channel, trust, 1)?,
        };
        Ok((exchange, answer))
    }

    /// Goes on: what to answer to more data, `None`: nothing, the server's verdict comes next.
    pub fn more(
        &mut self,
        data: &[u8],
        password: &[u8],
        channel: Channel,
        trust: &Trust,
    ) -> Result<Option<Vec<u8>>, Error> {
        if self.key_requested {
            self.key_requested = false;
            return encrypt(password, &self.nonce, data).map(Some);
        }
        match (self.plugin, data) {
            (Plugin::CachingSha2, [3]) => Ok(None),
            (Plugin::CachingSha2, [4]) => self.full(password, channel, trust, 2).map(Some),
            _ => Err(malformed("more data of an authentication plug-in")),
        }
    }

    /// The exchange after which the server knows the password; `request` is how this plug-in asks for its
    /// key.
    fn full(
        &mut self,
        password: &[u8],
        channel: Channel,
        trust: &Trust,
        request: u8,
    ) -> Result<Vec<u8>, Error> {
        let trusted = trust.ask_key || trust.cleartext;
        match (channel, &trust.key) {
            // through TLS both plug-ins expect it as it is
            (Channel::Tls, _) if trust.verified || trusted => Ok(with_nul(password)),
            (Channel::Tls, _) => Err(Error::UnverifiedServer(self.plugin.name())),
            (Channel::Local, _) if self.plugin == Plugin::CachingSha2 => Ok(with_nul(password)),
            (_, Some(key)) => encrypt(password, &self.nonce, key),
            (Channel::Plain, None) if !trusted => Err(Error::UnknownKey(self.plugin.name())),
            (_, None) => {
                self.key_requested = true;
                Ok(vec![request])
            }
        }
    }
}

fn with_nul(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

fn sign_ed25519(challenge: &[u8], password: &[u8]) -> Result<Vec<u8>, Error> {
    let wrong = || malformed("the challenge of client_ed25519");
    let challenge = challenge.get(..NONCE_ED25519).ok_or_else(wrong)?;
    Ok(scramble::ed25519(challenge, password).to_vec())
}

/// Encrypts the password for the server's key, masked with the challenge so that it cannot be replayed.
fn encrypt(password: &[u8], nonce: &[u8; NONCE], pem: &[u8]) -> Result<Vec<u8>, Error> {
    let mut masked = with_nul(password);
    for (byte, mask) in masked.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    scramble::encrypt(&masked, pem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----";

    fn full(plugin: Plugin, channel: Channel, trust: &Trust) -> Result<Vec<u8>, Error> {
        let (mut exchange, first) = Exchange::start(plugin, &[1; NONCE], b"secret", channel, trust)?;
        match plugin {
            Plugin::CachingSha2 => {
                Ok(exchange.more(&[4], b"secret", channel, trust)?.expect("the full exchange is answered"))
            }
            _ => Ok(first),
        }
    }

    #[test]
    fn the_password_itself_goes_only_to_a_server_that_is_trusted_with_it() {
        let nobody = Trust::default();
        let verified = Trust { verified: true, ..Trust::default() };
        let cleartext = Trust { cleartext: true, ..Trust::default() };
        let ask_key = Trust { ask_key: true, ..Trust::default() };
        let key = Trust { key: Some(KEY.as_bytes().into()), ..Trust::default() };
        let readable = Ok(b"secret\0".to_vec());
        for channel in [Channel::Plain, Channel::Local, Channel::Tls] {
            for trust in [&nobody, &verified, &cleartext, &ask_key, &key] {
                let allowed = trust.cleartext || (trust.verified && channel == Channel::Tls);
                let refused = Err(Error::InsecurePassword("mysql_clear_password"));
                let expected = if allowed { readable.clone() } else { refused };
                assert_eq!(full(Plugin::Clear, channel, trust), expected, "{channel:?} {trust:?}");
            }
        }
        for (plugin, request) in [(Plugin::CachingSha2, 2), (Plugin::Sha256, 1)] {
            let name = plugin.name();
            for trust in [&nobody, &key] {
                assert_eq!(full(plugin, Channel::Tls, trust), Err(Error::UnverifiedServer(name)));
            }
            for trust in [&verified, &cleartext, &ask_key] {
                assert_eq!(full(plugin, Channel::Tls, trust), readable);
            }
            // nothing is verified where there is no TLS
            for trust in [&nobody, &verified] {
                assert_eq!(full(plugin, Channel::Plain, trust), Err(Error::UnknownKey(name)));
            }
            for trust in [&cleartext, &ask_key] {
                assert_eq!(full(plugin, Channel::Plain, trust), Ok(vec![request]));
            }
            assert_eq!(full(plugin, Channel::Plain, &key).expect("encrypted").len(), 256);
        }
        assert_eq!(full(Plugin::CachingSha2, Channel::Local, &nobody), readable);
        assert_eq!(full(Plugin::Sha256, Channel::Local, &nobody), Ok(vec![1]));
    }

    #[test]
    fn a_key_that_was_asked_for_encrypts_the_password() {
        let trust = Trust { ask_key: true, ..Trust::default() };
        let (mut exchange, _) =
            Exchange::start(Plugin::CachingSha2, &[1; NONCE], b"secret", Channel::Plain, &trust).expect("it");
        exchange.more(&[4], b"secret", Channel::Plain, &trust).expect("full").expect("the request");
        let sent = exchange.more(KEY.as_bytes(), b"secret", Channel::Plain, &trust).expect("a key");
        let sent = sent.expect("the password");
        assert!(sent.len() == 256 && !sent.windows(6).any(|window| window == b"secret"));
    }
}
