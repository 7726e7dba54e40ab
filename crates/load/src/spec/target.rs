//! A server as a load knows it: where it listens, who logs in, what may be sent to it.

use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf};

/// How to reach a server and log in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// Account.
    pub user: String,
    /// Its password; never serialised, never shown.
    #[serde(skip)]
    pub password: Secret,
    /// Schema to use at login.
    pub database: Option<String>,
    /// Encryption of the connection.
    pub tls: Tls,
    /// Where the password itself may go.
    #[serde(default)]
    pub trust: Trust,
    /// Protocol compression (zlib).
    pub compress: bool,
}

#[cfg(test)]
impl Target {
    /// A server that is not there.
    pub(crate) fn of_nobody() -> Self {
        Self {
            address: Address::Unix("socket".into()),
            user: String::new(),
            password: Secret::default(),
            database: None,
            tls: Tls::default(),
            trust: Trust::default(),
            compress: false,
        }
    }
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Address {
    /// Host name or IPv4/IPv6 address, and port.
    Tcp {
        /// Name or address, IPv6 without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// Path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Encryption of a connection, in MySQL's own terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Whether, and what is verified.
    pub mode: TlsMode,
    /// Certificates of the authorities to trust (PEM).
    pub ca: Option<PathBuf>,
    /// Client certificate (PEM).
    pub certificate: Option<PathBuf>,
    /// Key of the client certificate (PEM).
    pub key: Option<PathBuf>,
}

/// Where the password itself may go, besides to a server that TLS has verified. By default, an unverified
/// server learns only that the client knows the password.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// `mysql_clear_password` may send it readable.
    pub cleartext_password: bool,
    /// `caching_sha2_password` and `sha256_password` may encrypt it with a key that the server sends.
    pub get_server_public_key: bool,
    /// The server's RSA key (PEM), which those two use instead of one that it sends.
    pub server_public_key: Option<PathBuf>,
}

/// How much TLS is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TlsMode {
    /// No TLS.
    #[default]
    Disabled,
    /// TLS where the server offers it; nothing is verified.
    Preferred,
    /// TLS or an error; nothing is verified.
    Required,
    /// TLS with the certificate's chain verified against `ca`.
    VerifyCa,
    /// As `VerifyCa`, and the host name must match.
    VerifyIdentity,
}

/// A password. It has no `Serialize`, and `Debug` hides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    /// The password itself, for the handshake only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { "(hidden)" })
    }
}
