//! Certificates of load hosts and of the coordinators of their loads: one authority, made by `prony agent
//! init`, signs all of them. Each is a directory with three files, whose name says for whom it is; an agent's
//! certificate can only be a server's, the coordinator's only a client's.

use load::tls::Identity;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The directory of the coordinator.
const COORDINATOR: &str = "coordinator";
/// The authority's certificate, one's own, and its key.
const FILES: [&str; 3] = ["ca.pem", "certificate.pem", "key.pem"];
/// What these files are called, and what is in them.
pub(super) type Files = [(&'static str, String); 3];
/// The authority's key, which only `init` needs.
const AUTHORITY_KEY: &str = "ca.key";

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// What was to be done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A certificate cannot be made.
    #[error("cannot create a certificate for `{name}`: {source}")]
    Make {
        /// For whom.
        name: String,
        /// Why.
        source: rcgen::Error,
    },
    /// There are none yet.
    #[error(
        "no certificates in {directory}: create them with `prony agent init`, or name their directory with \
         --agents-dir or PRONY_AGENTS_DIR"
    )]
    Missing {
        /// Where.
        directory: PathBuf,
    },
}

fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { what, path, source }
}

/// Reads an identity from the directory that [`init`] made.
///
/// # Errors
/// Where a file cannot be read.
pub fn identity(directory: &Path) -> Result<Identity, Error> {
    let read = |name: &str| {
        let path = directory.join(name);
        let bytes = fs::read(&path).map_err(file("read", &path))?;
        Ok((path, bytes))
    };
    let [authority, certificate, key] = FILES;
    Ok(Identity::new(read(authority)?, read(certificate)?, read(key)?))
}

/// That of whoever conducts loads.
pub(super) fn coordinator(directory: &Path) -> Result<Identity, Error> {
    let own = directory.join(COORDINATOR);
    if !own.is_dir() {
        return Err(Error::Missing { directory: directory.to_owned() });
    }
    identity(&own)
}

/// Makes, in `directory`, an authority and the coordinator's certificate, if they are not there yet, and a
/// certificate for each of these hosts: names or addresses by which they will be called. Returns the
/// directories of the hosts.
///
/// # Errors
/// Where a file cannot be written or read.
pub fn init(directory: &Path, hosts: &[String]) -> Result<Vec<PathBuf>, Error> {
    private_directory(directory)?;
    let key_path = directory.join(AUTHORITY_KEY);
    let authority_path = directory.join(FILES[0]);
    if !key_path.exists() {
        let name = "the authority";
        let key = KeyPair::generate().map_err(make(name))?;
        let certificate = authority().self_signed(&key).map_err(make(name))?;
        write(&key_path, &key.serialize_pem())?;
        write(&authority_path, &certificate.pem())?;
    }
    let pem = fs::read_to_string(&key_path).map_err(file("read", &key_path))?;
    let issuer = Issuer::new(authority(), KeyPair::from_pem(&pem).map_err(make("the authority"))?);
    let authority = fs::read_to_string(&authority_path).map_err(file("read", &authority_path))?;
    if !directory.join(COORDINATOR).is_dir() {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        sign(&directory.join(COORDINATOR), (COORDINATOR, usage), &issuer, &authority)?;
    }
    let host = |host: &String| {
        let own = directory.join(host);
        sign(&own, (host, ExtendedKeyUsagePurpose::ServerAuth), &issuer, &authority)?;
        Ok(own)
    };
    hosts.iter().map(host).collect()
}

fn authority() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.distinguished_name.push(DnType::CommonName, "Load hosts of Prony");
    params
}

/// The files of the coordinator and of its agents, which are called by `name`, of an authority that is
/// forgotten at once.
pub(super) fn pair(name: &str) -> Result<[Files; 2], Error> {
    let key = KeyPair::generate().map_err(make(name))?;
    let pem = authority().self_signed(&key).map_err(make(name))?.pem();
    let issuer = Issuer::new(authority(), key);
    let coordinator = signed((COORDINATOR, ExtendedKeyUsagePurpose::ClientAuth), &issuer, &pem)?;
    Ok([coordinator, signed((name, ExtendedKeyUsagePurpose::ServerAuth), &issuer, &pem)?])
}

/// Who one is, from files in memory.
pub(super) fn identity_of(files: &Files) -> Identity {
    let [authority, certificate, key] =
        files.each_ref().map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec()));
    Identity::new(authority, certificate, key)
}

/// Signs a certificate and puts it, with all that belongs to it, into a directory of its own.
fn sign(
    directory: &Path,
    of: (&str, ExtendedKeyUsagePurpose),
    issuer: &Issuer<'_, KeyPair>,
    authority: &str,
) -> Result<(), Error> {
    private_directory(directory)?;
    let files = signed(of, issuer, authority)?;
    files.iter().try_for_each(|(name, text)| write(&directory.join(name), text))
}

/// Signs a certificate; it comes with all that belongs to it.
fn signed(
    (name, usage): (&str, ExtendedKeyUsagePurpose),
    issuer: &Issuer<'_, KeyPair>,
    authority: &str,
) -> Result<Files, Error> {
    let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(make(name))?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(make(name))?;
    let certificate = params.signed_by(&key, issuer).map_err(make(name))?;
    let [ca, own, secret] = FILES;
    Ok([(ca, authority.to_owned()), (own, certificate.pem()), (secret, key.serialize_pem())])
}

fn make(name: &str) -> impl FnOnce(rcgen::Error) -> Error {
    let name = name.to_owned();
    move |source| Error::Make { name, source }
}

fn private_directory(path: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(file("create", path))
}

/// Writes a file that nobody else may read.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let opened = File::options().create(true).truncate(true).write(true).mode(0o600).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(file("write", path))
}
