//! TLS: from a [`Target`] to what a connection needs. The only file that knows rustls's configuration; the
//! blocking client and the event loop both take a [`Connector`] from here.
//!
//! rustls speaks TLS 1.2 and 1.3 with elliptic curves. MySQL 5.5, 5.6 and the community builds of 5.7 were
//! made with yaSSL, which ends at 1.1, and the first versions of 8.0 with an OpenSSL that has no curves
//! switched on (8.0.12 offers DHE and nothing else): such a server says that it has TLS, and the handshake
//! then fails. [`TlsMode::Preferred`] goes on without TLS there, on a new connection; every other mode
//! reports it.

use crate::{
    secrets::{Credentials, Held},
    spec::{Address, Target, TlsMode},
};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem, pem::PemObject},
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
    /// Something is to be verified, and nobody is trusted.
    #[error("the TLS modes verify_ca and verify_identity need the certificate of an authority: set `ssl-ca`")]
    NoAuthority,
    /// Only one of certificate and key is given.
    #[error("a client certificate needs both `ssl-cert` and `ssl-key`")]
    HalfCertificate,
    /// The host's name is none that a certificate could have.
    #[error("`{0}` is not a host name or address that a certificate can be verified for")]
    Name(String),
    /// rustls does not accept what it is given.
    #[error("cannot set TLS up")]
    Setup(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The handshake failed.
    #[error("the TLS handshake with the server failed: {}", explained(.0))]
    Handshake(rustls::Error),
    /// The server went away in the middle of the handshake.
    #[error(
        "the server closed the connection during the TLS handshake; its error log may say why. Where its TLS \
         is broken or too old, only `ssl-mode=disabled` connects"
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
        ClientConnection::new(Arc::clone(&self.config), self.name.clone()).map_err(Error::Handshake)
    }
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

/// What went wrong in a handshake, and what to do about the failures that users meet.
fn explained(error: &rustls::Error) -> String {
    match error {
        rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(
            rustls::AlertDescription::ProtocolVersion | rustls::AlertDescription::HandshakeFailure,
        )
        | rustls::Error::InvalidMessage(_) => format!(
            "{error}. TLS 1.2 with ECDHE is needed. Servers built with yaSSL (MySQL 5.5, 5.6, many 5.7) end \
             at TLS 1.1, early MySQL 8.0 has no ECDHE: use `ssl-mode=disabled` or `ssl-mode=preferred` for \
             them"
        ),
        rustls::Error::InvalidCertificate(reason) => unverified(reason),
        _ => format!("{error}. The server's error log may say more; `ssl-mode=disabled` goes without TLS"),
    }
}

/// Why a certificate is not accepted, and what to do about it.
fn unverified(reason: &CertificateError) -> String {
    const UNVERIFIED: &str = "`ssl-mode=required` encrypts without verifying anything";
    let days = |later: UnixTime, earlier: UnixTime| later.as_secs().saturating_sub(earlier.as_secs()) / 86400;
    match reason {
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the server's certificate, or its authority's, expired {} days ago: renew it, unless this \
             machine's clock is wrong. {UNVERIFIED}",
            days(*time, *not_after)
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the server's certificate, or its authority's, is not valid yet, but in {} days: look whether \
             this machine's clock is right, and that of the one that made it. {UNVERIFIED}",
            days(*not_before, *time)
        ),
        CertificateError::UnknownIssuer => format!(
            "no authority in `ssl-ca` has signed the server's certificate: name the file of the one that \
             has, or the certificate itself if it signed itself. {UNVERIFIED}"
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => format!(
            "{reason}. The certificate must have the host in its alternative names (the common name does \
             not count); `ssl-mode=verify_ca` does not look at the name"
        ),
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => format!(
            "the server's certificate is that of an authority (CA:TRUE), which no server may use as its \
             own: make one with CA:FALSE. {UNVERIFIED}"
        ),
        _ => format!("the server's certificate cannot be verified: {reason}. {UNVERIFIED}"),
    }
}

/// Verifies nothing, so it also takes certificates that cannot be verified (X.509 version 1, as old servers
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
