//! What is computed from a password: the answers of the authentication plug-ins, without their conversation
//! ([`crate::auth`]). Hashes and numbers come from libraries; this module combines them as MySQL's and
//! MariaDB's documentation, RFC 8017 (RSA, OAEP) and RFC 8032 (Ed25519) say.

use crate::{
    error::{Error, malformed},
    packet::Reader,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use curve25519_dalek::{EdwardsPoint, Scalar, scalar::clamp_integer};
use num_bigint::BigUint;
use sha1::{Digest as _, Sha1};
use sha2::{Sha256, Sha512};

/// Bytes of a SHA-1 digest, which OAEP pads with.
const SHA1: usize = 20;
/// Bytes of the modulus that OAEP takes (RFC 8017, 7.1.1): two digests and two bytes.
const OAEP: usize = 2 * SHA1 + 2;
/// Smallest and largest RSA modulus in bits: smaller cannot hold a password, larger is no key but an attack.
const RSA_BITS: std::ops::RangeInclusive<u64> = 1024..=16_384;

fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// The answer of mysql_native_password: `SHA1(password) ^ SHA1(nonce + SHA1(SHA1(password)))`.
pub(crate) fn native(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let mask = Sha1::new().chain_update(nonce).chain_update(Sha1::digest(once)).finalize();
    xor(&once, &mask)
}

/// The first answer of caching_sha2_password: `SHA256(password) ^ SHA256(SHA256(SHA256(password)) + nonce)`.
pub(crate) fn sha256(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(nonce).finalize();
    xor(&once, &mask)
}

/// The answer of client_ed25519: the challenge, signed (RFC 8032, 5.1.6) with the password in place of the
/// private key, whatever its length.
pub(crate) fn ed25519(challenge: &[u8], password: &[u8]) -> [u8; 64] {
    let hash: [u8; 64] = Sha512::digest(password).into();
    let (mut secret, mut prefix) = ([0; 32], [0; 32]);
    secret.copy_from_slice(&hash[..32]);
    prefix.copy_from_slice(&hash[32..]);
    let number = |parts: [&[u8]; 3]| {
        let hash = parts.iter().fold(Sha512::new(), |hash, part| hash.chain_update(part));
        Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
    };
    let secret = Scalar::from_bytes_mod_order(clamp_integer(secret));
    let public = EdwardsPoint::mul_base(&secret).compress().to_bytes();
    let nonce = number([&prefix, challenge, &[]]);
    let point = EdwardsPoint::mul_base(&nonce).compress().to_bytes();
    let proof = nonce + number([&point, &public, challenge]) * secret;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&point);
    signature[32..].copy_from_slice(&proof.to_bytes());
    signature
}

/// Encrypts a text for the key's owner (RFC 8017, 7.1.1, with SHA-1 and no label).
pub(crate) fn encrypt(text: &[u8], pem: &[u8]) -> Result<Vec<u8>, Error> {
    let (modulus, exponent) = rsa_key(pem)?;
    let size = usize::try_from(modulus.bits().div_ceil(8)).map_err(|_| Error::RsaKey("it is too large"))?;
    if text.len() + OAEP > size {
        return Err(Error::RsaKey("the password is too long for it"));
    }
    let mut seed = [0; SHA1];
    getrandom::fill(&mut seed)
        .map_err(|_| Error::RsaKey("the system has no random numbers to use it with"))?;
    let padding = vec![0; size - text.len() - OAEP];
    let block = [&Sha1::digest([])[..], &padding, &[1], text].concat();
    let block = xor(&block, &mask(&seed, block.len()));
    let seed = xor(&seed, &mask(&block, SHA1));
    let message = BigUint::from_bytes_be(&[seed, block].concat());
    let sent = message.modpow(&exponent, &modulus).to_bytes_be();
    Ok([vec![0; size - sent.len()], sent].concat())
}

/// MGF1 of RFC 8017, B.2.1.
fn mask(seed: &[u8], length: usize) -> Vec<u8> {
    let blocks = (0_u32..).take(length.div_ceil(SHA1));
    let hashes =
        blocks.map(|block| Sha1::new().chain_update(seed).chain_update(block.to_be_bytes()).finalize());
    let mut mask = hashes.flatten().collect::<Vec<u8>>();
    mask.truncate(length);
    mask
}

/// Modulus and exponent of a public key: SubjectPublicKeyInfo or PKCS #1, whose lengths are not trusted.
fn rsa_key(pem: &[u8]) -> Result<(BigUint, BigUint), Error> {
    const DAMAGED: Error = Error::RsaKey("it is damaged");
    let broken = |_| DAMAGED;
    let text = std::str::from_utf8(pem).map_err(|_| Error::RsaKey("it is not in PEM format"))?;
    let of = |kind: &str| {
        let (_, body) = text.split_once(&format!("-----BEGIN {kind}-----"))?;
        Some(body.split_once(&format!("-----END {kind}-----"))?.0)
    };
    let (body, is_wrapped) = match (of("PUBLIC KEY"), of("RSA PUBLIC KEY")) {
        (Some(body), _) => (body, true),
        (None, Some(body)) => (body, false),
        (None, None) => return Err(Error::RsaKey("it is not in PEM format")),
    };
    let body: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let der = STANDARD.decode(body).map_err(|_| Error::RsaKey("it is not in PEM format"))?;
    let mut key = Reader(&der);
    if is_wrapped {
        let mut outer = Reader(der_value(&mut key, 0x30).map_err(broken)?);
        der_value(&mut outer, 0x30).map_err(broken)?;
        let bits = der_value(&mut outer, 0x03).map_err(broken)?;
        key = Reader(bits.strip_prefix(&[0]).ok_or(DAMAGED)?);
    }
    let mut numbers = Reader(der_value(&mut key, 0x30).map_err(broken)?);
    let modulus = BigUint::from_bytes_be(der_value(&mut numbers, 0x02).map_err(broken)?);
    let exponent = BigUint::from_bytes_be(der_value(&mut numbers, 0x02).map_err(broken)?);
    if !RSA_BITS.contains(&modulus.bits()) || !modulus.bit(0) || exponent.bits() > 64 || exponent.bits() < 2 {
        return Err(Error::RsaKey("its numbers are not those of an RSA key of 1024 to 16384 bits"));
    }
    Ok((modulus, exponent))
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

    /// One key, as `openssl rsa -pubout` and `-RSAPublicKey_out` write it.
    const KEYS: [&str; 2] = [
        "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCsvo55iqdGiA0mOLTTzeq3lL2p
YI3UmYgu7/NEW+O3oDPbnXiLMqXEvfbCkvHcUZ0kmfmCgnItQKVdqbjvKH8nJUSK
JqdRvD9xminXfusZCSxdxAsRQHMl9D6Wzj5oQdGZQ/lIjgWFMjz02BfaxQkd7Wj9
WbMN9HshvHG1c6zJ9QIDAQAB
-----END PUBLIC KEY-----",
        "-----BEGIN RSA PUBLIC KEY-----
MIGJAoGBAKy+jnmKp0aIDSY4tNPN6reUvalgjdSZiC7v80Rb47egM9udeIsypcS9
9sKS8dxRnSSZ+YKCci1ApV2puO8ofyclRIomp1G8P3GaKdd+6xkJLF3ECxFAcyX0
PpbOPmhB0ZlD+UiOBYUyPPTYF9rFCR3taP1Zsw30eyG8cbVzrMn1AgMBAAE=
-----END RSA PUBLIC KEY-----",
    ];
    /// Its private exponent, by `openssl rsa -text`.
    const PRIVATE: &str = "392c7cc57781b3d375deafa811ee36807a6767b7005a5c52798e8b8a958b420c70fd801a14a037c36d\
                           484dd00ae2ebd441f8006014c2ab7d98fdee1dba7241daec915d7c11de38e0322837f9d5ef17245a28\
                           13092eea0ce89194669ca0cb7ed03fa3a6cea0d025ac1d4a27b31ddf09cd863bff4089ca58f142daab\
                           2d076f42c1";

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// By Python's hashlib, and by the formulas of RFC 8032 on Python's integers.
    #[test]
    fn answers_are_those_of_an_independent_computation() {
        let nonce: Vec<u8> = (1..=20).collect();
        let expected = "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9";
        assert_eq!(hex(&sha256(&nonce, b"secret")), expected);
        let challenge: Vec<u8> = (0..32).collect();
        let expected = "546c3e9311d19ee389d1ae5d945821bfe459423910136f16b3bd2ae89fd7d63b\
                        449e689f4be812891a85b8f999076446d92adb83d0707215aaa60b5a23220907";
        assert_eq!(hex(&ed25519(&challenge, b"secret")), expected);
        assert!(native(&nonce, b"").is_empty() && sha256(&nonce, b"").is_empty());
    }

    /// Decrypts by the steps of RFC 8017, 7.1.2.
    #[test]
    fn who_has_the_private_key_reads_what_was_encrypted() {
        let private = BigUint::parse_bytes(PRIVATE.as_bytes(), 16).expect("a number");
        for key in KEYS {
            let (modulus, _) = rsa_key(key.as_bytes()).expect("a key");
            for text in [&b"secret\0"[..], &[7; 86]] {
                let sent = encrypt(text, key.as_bytes()).expect("encrypted");
                assert_eq!(sent.len(), 128);
                assert_ne!(sent, encrypt(text, key.as_bytes()).expect("encrypted"), "with another seed");
                let read = BigUint::from_bytes_be(&sent).modpow(&private, &modulus).to_bytes_be();
                let read = [vec![0; 128 - read.len()], read].concat();
                assert_eq!(read[0], 0);
                let seed = xor(&read[1..=SHA1], &mask(&read[SHA1 + 1..], SHA1));
                let block = xor(&read[SHA1 + 1..], &mask(&seed, 127 - SHA1));
                assert_eq!(block[..SHA1], Sha1::digest([])[..]);
                let rest: Vec<u8> = block[SHA1..].iter().copied().skip_while(|byte| *byte == 0).collect();
                assert_eq!(rest, [&[1], text].concat());
            }
            assert_eq!(
                encrypt(&[7; 87], key.as_bytes()),
                Err(Error::RsaKey("the password is too long for it"))
            );
            for cut in 27..key.len() - 24 {
                let mut damaged = key.to_owned();
                damaged.remove(cut);
                // Never a panic; some damages (a changed bit of the modulus) cannot be seen.
                let _ = encrypt(b"secret", damaged.as_bytes());
            }
        }
    }
}
