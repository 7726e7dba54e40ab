//! What the authentication plug-ins answer. The only module that knows `mysql_common`, which does the
//! cryptography.
//!
//! Nothing here waits or sends: [`crate::client::Handshake`] asks what to answer. Three plug-ins let the
//! server have the password itself, so [`Trust`] says when they may: `mysql_clear_password` only through TLS
//! that verified the server, the full exchange of `caching_sha2_password` and `sha256_password` there, over a
//! Unix socket, or encrypted with a key that is known. An RSA key that the server sends keeps readers out,
//! and not somebody who stands between and sends a key of his own (MySQL's manual,
//! `--get-server-public-key`); TLS without verification is no better. Both need the caller's word.

use crate::{
    client::Trust,
    error::{Error, malformed},
    packet::Reader,
};
use mysql_common::{
    auth::plugins::{
        ChallengeResponsePlugin, Context, caching_sha2_password::scramble_sha256,
        client_ed25519::ClientEd25519, mysql_native_password::scramble_native,
    },
    crypto::{
        der::{PubKeyFileType, pem_to_der},
        rsa::{GetRandom, Pkcs1OaepPadding, PublicKey},
    },
    num_bigint::BigUint,
};

/// Bytes of the challenge of every plug-in but client_ed25519.
pub const NONCE: usize = 20;
/// Bytes of client_ed25519's challenge.
const NONCE_ED25519: usize = 32;
/// Smallest and largest RSA modulus in bits: smaller cannot hold a password, larger is no key but an attack.
const RSA_BITS: std::ops::RangeInclusive<u64> = 1024..=16_384;

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
            Plugin::Native => native(&exchange.nonce, password),
            Plugin::CachingSha2 => scramble_sha256(&exchange.nonce, password).map_or(vec![], Vec::from),
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

/// The answer of mysql_native_password.
pub(crate) fn native(nonce: &[u8; NONCE], password: &[u8]) -> Vec<u8> {
    scramble_native(nonce, password).map_or(vec![], Vec::from)
}

fn with_nul(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

fn sign_ed25519(challenge: &[u8], password: &[u8]) -> Result<Vec<u8>, Error> {
    struct Password<'a>(&'a [u8]);
    impl Context for Password<'_> {
        fn pass(&self) -> &[u8] {
            self.0
        }
        fn is_ipc_transport(&self) -> bool {
            false
        }
        fn is_tls_transport(&self) -> bool {
            false
        }
        fn scramble(&self) -> &[u8] {
            &[]
        }
        fn server_key_pem(&self) -> Option<&[u8]> {
            None
        }
    }
    let wrong = || malformed("the challenge of client_ed25519");
    let challenge = challenge.get(..NONCE_ED25519).ok_or_else(wrong)?;
    let response = ClientEd25519::default().run(Password(password), challenge).map_err(|_| wrong())?;
    Ok(response.data().unwrap_or_default().to_vec())
}

/// Encrypts the password for the server's key, masked with the challenge so that it cannot be replayed.
fn encrypt(password: &[u8], nonce: &[u8; NONCE], pem: &[u8]) -> Result<Vec<u8>, Error> {
    let key = parse_key(pem)?;
    let mut masked = with_nul(password);
    for (byte, mask) in masked.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    // OAEP takes 42 bytes of the modulus.
    if masked.len() + 42 > key.num_octets() {
        return Err(Error::RsaKey("the password is too long for it"));
    }
    key.encrypt_block(masked, Pkcs1OaepPadding::new(GetRandom))
        .map_err(|_| Error::RsaKey("it does not encrypt the password"))
}

/// Reads a public key. Our own reading of DER, because that of `mysql_common` trusts the lengths in it.
fn parse_key(pem: &[u8]) -> Result<PublicKey, Error> {
    let broken = |_| Error::RsaKey("it is damaged");
    let (der, format) = pem_to_der(pem).map_err(|_| Error::RsaKey("it is not in PEM format"))?;
    let mut key = Reader(&der);
    if format == PubKeyFileType::Pkcs8 {
        let mut outer = Reader(der_value(&mut key, 0x30).map_err(broken)?);
        der_value(&mut outer, 0x30).map_err(broken)?;
        let bits = der_value(&mut outer, 0x03).map_err(broken)?;
        key = Reader(bits.strip_prefix(&[0]).ok_or(Error::RsaKey("it is damaged"))?);
    }
    let mut numbers = Reader(der_value(&mut key, 0x30).map_err(broken)?);
    let modulus = BigUint::from_bytes_be(der_value(&mut numbers, 0x02).map_err(broken)?);
    let exponent = BigUint::from_bytes_be(der_value(&mut numbers, 0x02).map_err(broken)?);
    if !RSA_BITS.contains(&modulus.bits()) || !modulus.bit(0) || exponent.bits() > 64 || exponent.bits() < 2 {
        return Err(Error::RsaKey("its numbers are not those of an RSA key of 1024 to 16384 bits"));
    }
    Ok(PublicKey::new(modulus, exponent))
}

fn der_value<'a>(reader: &mut Reader<'a>, tag: u8) -> Result<&'a [u8], Error> {
    const WHAT: &str = "the server's RSA key";
    if reader.u8(WHAT)? != tag {
        return Err(malformed(WHAT));
    }
    let length = match reader.u8(WHAT)? {
        short @ 0..=0x7f => usize::from(short),
        0x81 => usize::from(reader.u8(WHAT)?),
        0x82 => usize::from(u16::from_be_bytes(reader.array(WHAT)?)),
        _ => return Err(malformed(WHAT)),
    };
    reader.bytes(length, WHAT)
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

    #[test]
    fn a_sound_key_encrypts_and_a_damaged_one_is_refused() {
        assert_eq!(encrypt(b"secret", &[7; NONCE], KEY.as_bytes()).expect("sound key").len(), 256);
        for cut in 27..KEY.len() - 24 {
            let mut damaged = KEY.to_owned();
            damaged.remove(cut);
            // Never a panic; some damages (a changed bit of the modulus) cannot be seen.
            let _ = encrypt(b"secret", &[7; NONCE], damaged.as_bytes());
        }
        assert_eq!(
            encrypt(&[b'x'; 300], &[7; NONCE], KEY.as_bytes()),
            Err(Error::RsaKey("the password is too long for it"))
        );
    }

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
