//! What a login needs and nobody else may see: passwords, and the certificates and keys that a target names.
//! They travel apart from the load, as values: a [`Spec`] that is written down holds none of them, and a
//! process that runs the load elsewhere does not have the files.

use crate::spec::{Spec, Target, TlsMode};
use serde::{Deserialize, Serialize};
use std::{fmt, fs, io, path::PathBuf};

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: cannot read {what}")]
pub struct Error {
    /// Which.
    pub path: PathBuf,
    /// What it should hold.
    pub what: &'static str,
    /// What the system says.
    pub source: io::Error,
}

/// What a file held.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// For messages.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// What a login at one target needs. It can be serialised, for a process elsewhere that logs in; `Debug`
/// hides it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    pub(crate) password: String,
    /// Certificates of the authorities to trust (PEM).
    pub(crate) authorities: Option<Held>,
    /// Client certificate (PEM).
    pub(crate) certificate: Option<Held>,
    /// Key of the client certificate (PEM).
    pub(crate) key: Option<Held>,
    /// The server's RSA key (PEM).
    pub(crate) server_key: Option<Held>,
}

impl Credentials {
    /// Those of a target; reads the files that it names, as far as its TLS mode needs them.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub fn of(target: &Target) -> Result<Self, Error> {
        let tls = &target.tls;
        let (encrypts, verifies) = match tls.mode {
            TlsMode::Disabled => (false, false),
            TlsMode::Preferred | TlsMode::Required => (true, false),
            TlsMode::VerifyCa | TlsMode::VerifyIdentity => (true, true),
        };
        let certificates = "certificates in PEM format from it";
        Ok(Self {
            password: target.password.reveal().to_owned(),
            authorities: held(tls.ca.as_ref().filter(|_| verifies), certificates)?,
            certificate: held(tls.certificate.as_ref().filter(|_| encrypts), certificates)?,
            key: held(tls.key.as_ref().filter(|_| encrypts), "a private key in PEM format from it")?,
            server_key: held(target.trust.server_public_key.as_ref(), "the server's public key")?,
        })
    }
}

fn held(path: Option<&PathBuf>, what: &'static str) -> Result<Option<Held>, Error> {
    let Some(path) = path else { return Ok(None) };
    match fs::read(path) {
        Ok(bytes) => Ok(Some(Held { path: path.clone(), bytes })),
        Err(source) => Err(Error { path: path.clone(), what, source }),
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({}, hidden)", self.path.display())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(hidden)")
    }
}

/// The credentials of all targets of a load, in the order of their ways.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets(Vec<Credentials>);

impl Secrets {
    /// Those of a load; reads the files that its targets name.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub fn of(spec: &Spec) -> Result<Self, Error> {
        Ok(Self(spec.ways().map(Credentials::of).collect::<Result<_, _>>()?))
    }

    /// Those of one target.
    pub(crate) fn of_way(&self, number: usize) -> Credentials {
        self.0.get(number).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Address, Secret, Tls, Trust};
    use std::time::Duration;

    fn target(directory: &std::path::Path) -> Target {
        let file = |name: &str| {
            let path = directory.join(name);
            fs::write(&path, format!("held-in-{name}")).expect("a file");
            Some(path)
        };
        Target {
            address: Address::Unix("socket".into()),
            user: "somebody".to_owned(),
            password: Secret::new("a-password"),
            database: None,
            tls: Tls {
                mode: TlsMode::VerifyCa,
                ca: file("ca"),
                certificate: file("certificate"),
                key: file("key"),
            },
            trust: Trust { server_public_key: file("server-key"), ..Trust::default() },
            compress: false,
        }
    }

    #[test]
    fn a_load_that_is_written_down_holds_no_secret_and_its_secrets_hold_all_of_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = target(directory.path());
        let spec = Spec::new(target, Vec::new(), Duration::ZERO, Duration::from_secs(1));
        let secrets = Secrets::of(&spec).expect("files that are there");
        let hidden = ["a-password", "held-in-ca", "held-in-certificate", "held-in-key", "held-in-server-key"];
        let written = postcard::to_allocvec(&spec).expect("bytes");
        let shown = format!("{spec:?} {secrets:?}");
        let told = postcard::to_allocvec(&secrets).expect("bytes");
        let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        for secret in hidden {
            assert!(!has(&written, secret) && !has(shown.as_bytes(), secret), "{secret}");
            assert!(has(&told, secret), "{secret}");
        }
        let read: Secrets = postcard::from_bytes(&told).expect("own bytes");
        assert_eq!(read, secrets);
        let read: Spec = postcard::from_bytes(&written).expect("own bytes");
        assert_eq!(read.target.password, Secret::default());
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut target = target(directory.path());
        target.tls.key = Some("/nowhere/key.pem".into());
        let error = Credentials::of(&target).expect_err("no such file").to_string();
        assert_eq!(error, "/nowhere/key.pem: cannot read a private key in PEM format from it");
        target.tls.mode = TlsMode::Disabled;
        assert_eq!(Credentials::of(&target).expect("it is not used").key, None);
    }
}
