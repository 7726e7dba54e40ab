//! TLS: from a [`Target`] to what a connection needs. The only file that knows rustls's configuration; the
//! blocking client and the event loop both take a [`Connector`] from here.
//!
//! rustls speaks TLS 1.2 and 1.3 with elliptic curves. MySQL 5.5, 5.6 and the community builds of 5.7 were
//! built with yaSSL, which ends at TLS 1.1, and the first versions of 8.0 with an OpenSSL that has no curves
//! switched on (8.0.12 offers DHE and nothing else). Such a server says that it has TLS, and then the
//! handshake fails. [`TlsMode::Preferred`] continues without TLS there, on a new connection; every other mode
//! reports the failure.

use crate::{
    secrets::{Credentials, Held},
    spec::{Address, Target, TlsMode},
};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, ServerConfig,
    SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem, pem::PemObject},
    server::WebPkiClientVerifier,
};
use std::{path::PathBuf, sync::Arc};
use wire::client::TlsWish;

/// Everything that TLS connections to one target share.
#[derive(Debug, Clone)]
pub struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of certificates or keys cannot be used.
    #[error("{path}: cannot read {what} in PEM format from it")]
    File {
        /// Which file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// Something is to be verified, but no authority is trusted.
    #[error("the TLS modes verify_ca and verify_identity need a CA certificate: set `ssl-ca`")]
    NoAuthority,
    /// Only one of certificate and key is given.
    #[error("a client certificate needs both `ssl-cert` and `ssl-key`")]
    HalfCertificate,
    /// A certificate cannot contain this host name.
    #[error("`{0}` is not a host name or address that a certificate can be verified for")]
    Name(String),
    /// rustls does not accept what it is given.
    #[error("cannot set TLS up")]
    Setup(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The handshake failed.
    #[error("the TLS handshake with the server failed: {0}")]
    Handshake(Unagreed),
    /// The server went away in the middle of the handshake.
    #[error(
        "the server closed the connection during the TLS handshake; its error log may say why. If its TLS is \
         broken or too old, only `ssl-mode=disabled` connects"
    )]
    BrokenOff,
}

impl Connector {
    /// What `target` asks for; `None`: no TLS.
    pub fn new(target: &Target, credentials: &Credentials) -> Result<Option<Self>, Error> {
        let tls = &target.tls;
        let provider = Arc::new(ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match tls.mode {
            TlsMode::Disabled => return Ok(None),
            TlsMode::Preferred | TlsMode::Required => Arc::new(Anybody(Arc::clone(&provider))),
            TlsMode::VerifyCa => Arc::new(AnyName(authorities(credentials, &provider)?)),
            TlsMode::VerifyIdentity => authorities(credentials, &provider)?,
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(setup)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match (&credentials.certificate, &credentials.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                builder.with_client_auth_cert(certificates(certificate)?, private_key(key)?).map_err(setup)?
            }
            _ => return Err(Error::HalfCertificate),
        };
        let host = match &target.address {
            Address::Tcp { host, .. } => host.as_str(),
            Address::Unix(_) => "localhost",
        };
        let name = ServerName::try_from(host.to_owned()).map_err(|_| Error::Name(host.to_owned()))?;
        Ok(Some(Self { config: Arc::new(config), name }))
    }

    /// The client's side of one TLS connection, without a socket.
    pub fn connect(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
            .map_err(|error| Error::Handshake(error.into()))
    }
}

/// Who one is where both sides show a certificate of the same authority: that authority's certificate, one's
/// own, and its key. A certificate says whether it is for a client or for a server.
#[derive(Clone)]
pub struct Identity {
    authority: Held,
    certificate: Held,
    key: Held,
    /// What the other side's certificate is for; `None`: the address at which it is called.
    peer: Option<String>,
}

impl Identity {
    /// From files (PEM) with what they hold.
    #[must_use]
    pub fn new(
        authority: (PathBuf, Vec<u8>),
        certificate: (PathBuf, Vec<u8>),
        key: (PathBuf, Vec<u8>),
    ) -> Self {
        let held = |(path, bytes)| Held { path, bytes };
        Self { authority: held(authority), certificate: held(certificate), key: held(key), peer: None }
    }

    /// For others whose certificate has this name, at whatever address they are called.
    #[must_use]
    pub fn calling(self, peer: impl Into<String>) -> Self {
        Self { peer: Some(peer.into()), ..self }
    }

    /// The name that the certificate of one who is called at this host must have.
    pub(crate) fn name_of<'a>(&'a self, host: &'a str) -> &'a str {
        self.peer.as_deref().unwrap_or(host)
    }

    /// As a server that lets only clients of the same authority in.
    pub(crate) fn server(&self) -> Result<Arc<ServerConfig>, Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(self.roots()?), Arc::clone(&provider))
                .build()
                .map_err(setup)?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(setup)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(certificates(&self.certificate)?, private_key(&self.key)?)
            .map_err(setup)?;
        Ok(Arc::new(config))
    }

    /// As a client of servers of the same authority.
    pub(crate) fn client(&self) -> Result<Arc<ClientConfig>, Error> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(setup)?
            .with_root_certificates(self.roots()?)
            .with_client_auth_cert(certificates(&self.certificate)?, private_key(&self.key)?)
            .map_err(setup)?;
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.authority)? {
            roots.add(certificate).map_err(setup)?;
        }
        Ok(roots)
    }
}

/// Whom a client that is none of a database trusts.
#[derive(Debug, Clone, Copy)]
pub enum Authorities<'a> {
    /// Certificates (PEM).
    These(&'a [u8]),
    /// Whoever answers.
    Anybody,
}

/// What such a client needs; `own` is its certificate and its key (PEM).
pub(crate) fn client_of(
    trust: Authorities<'_>,
    own: Option<(&[u8], &[u8])>,
) -> Result<Arc<ClientConfig>, Error> {
    let held = |what: &str, bytes: &[u8]| Held { path: what.into(), bytes: bytes.to_vec() };
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Authorities::Anybody => Arc::new(Anybody(Arc::clone(&provider))),
        Authorities::These(pem) => {
            let held = Some(held("the authority's certificate", pem));
            authorities(&Credentials { authorities: held, ..Credentials::default() }, &provider)?
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(setup)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(&held("the client's certificate", certificate))?;
            builder
                .with_client_auth_cert(chain, private_key(&held("the client's key", key))?)
                .map_err(setup)?
        }
    };
    Ok(Arc::new(config))
}

/// The same wish in the protocol's terms.
#[must_use]
pub fn wish(mode: TlsMode) -> TlsWish {
    match mode {
        TlsMode::Disabled => TlsWish::Never,
        TlsMode::Preferred => TlsWish::IfOffered,
        TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyIdentity => TlsWish::Require,
    }
}

fn authorities(
    credentials: &Credentials,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let held = credentials.authorities.as_ref().ok_or(Error::NoAuthority)?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates(held)? {
        roots.add(certificate).map_err(setup)?;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().map_err(setup)
}

fn certificates(held: &Held) -> Result<Vec<CertificateDer<'static>>, Error> {
    let failed = |source| Error::File { path: held.path.clone(), what: "certificates", source };
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(&held.bytes).collect::<Result<_, _>>().map_err(failed)?;
    if found.is_empty() { Err(failed(pem::Error::NoItemsFound)) } else { Ok(found) }
}

fn private_key(held: &Held) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(&held.bytes).map_err(|source| Error::File {
        path: held.path.clone(),
        what: "a private key",
        source,
    })
}

fn setup(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Setup(Box::new(error))
}

/// Why a handshake failed, as far as it is known what to do about it. `reason` is in the words of rustls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Unagreed {
    #[error(
        "{reason}. TLS 1.2 with ECDHE is needed. Servers built with yaSSL (MySQL 5.5, 5.6, many 5.7) end at \
         TLS 1.1, early MySQL 8.0 has no ECDHE: use `ssl-mode=disabled` or `ssl-mode=preferred` for them"
    )]
    TooOld { reason: String },
    #[error(
        "the server's certificate, or its CA's, expired {days} days ago: renew it, unless this machine's \
         clock is wrong. {UNVERIFIED}"
    )]
    Expired { days: u64 },
    #[error(
        "the server's certificate, or its CA's, becomes valid only in {days} days: check the clock of this \
         machine and of the one that issued it. {UNVERIFIED}"
    )]
    NotYetValid { days: u64 },
    #[error(
        "no CA in `ssl-ca` has signed the server's certificate: set `ssl-ca` to the file of the CA that has, \
         or to the certificate itself if it is self-signed. {UNVERIFIED}"
    )]
    UnknownIssuer,
    #[error(
        "{reason}. The certificate must list the host in its subject alternative names (the common name does \
         not count); `ssl-mode=verify_ca` does not check the name"
    )]
    OtherName { reason: String },
    #[error(
        "the server's certificate is a CA certificate (CA:TRUE), which a server must not use: create one \
         with CA:FALSE. {UNVERIFIED}"
    )]
    IsAuthority,
    #[error("the server's certificate cannot be verified: {reason}. {UNVERIFIED}")]
    Unverified { reason: String },
    #[error("{reason}. The server's error log may say more; `ssl-mode=disabled` connects without TLS")]
    Other { reason: String },
}

const UNVERIFIED: &str = "`ssl-mode=required` encrypts without verifying anything";

impl From<rustls::Error> for Unagreed {
    fn from(error: rustls::Error) -> Self {
        match error {
            rustls::Error::PeerIncompatible(_)
            | rustls::Error::AlertReceived(
                rustls::AlertDescription::ProtocolVersion | rustls::AlertDescription::HandshakeFailure,
            )
            | rustls::Error::InvalidMessage(_) => Self::TooOld { reason: error.to_string() },
            rustls::Error::InvalidCertificate(reason) => reason.into(),
            _ => Self::Other { reason: error.to_string() },
        }
    }
}

impl From<CertificateError> for Unagreed {
    fn from(reason: CertificateError) -> Self {
        let days =
            |later: UnixTime, earlier: UnixTime| later.as_secs().saturating_sub(earlier.as_secs()) / 86400;
        match reason {
            CertificateError::ExpiredContext { time, not_after } => {
                Self::Expired { days: days(time, not_after) }
            }
            CertificateError::NotValidYetContext { time, not_before } => {
                Self::NotYetValid { days: days(not_before, time) }
            }
            CertificateError::UnknownIssuer => Self::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::OtherName { reason: reason.to_string() }
            }
            CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                Self::IsAuthority
            }
            _ => Self::Unverified { reason: reason.to_string() },
        }
    }
}

/// Verifies nothing, so it also accepts certificates that cannot be verified (X.509 version 1, as old servers
/// make).
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Verifies the chain and not the name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The name is looked at last, so that whoever fails by it has passed everything else.
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
