//! A certificate for servers that have none, so that they can be reached by TLS, which many offer only with a
//! certificate. It is self-signed and for this machine alone: it proves nothing to anybody, but a measurement
//! does not need that.

use crate::provision::{
    Error, Places,
    disk::files,
    software::{Software, version::Version},
};
use std::{fs, path::PathBuf};

/// First version of MariaDB whose builds speak a version of TLS that is still in use.
const MARIADB_SPEAKS: Version = Version::new(10, 4, 0);
/// First version of MariaDB that makes a certificate by itself, at each start; MySQL does since 5.7, once.
const MARIADB_MAKES: Version = Version::new(11, 4, 0);

/// Whether a server makes a certificate at each start.
pub(in crate::provision) fn is_made(software: &Software) -> bool {
    software.is_mariadb() && software.numbers() >= MARIADB_MAKES
}

/// Whether a server has TLS only where it is given a certificate.
pub(in crate::provision) fn is_wanted(software: &Software) -> bool {
    let is_without = (MARIADB_SPEAKS..MARIADB_MAKES).contains(&software.numbers());
    // a server in a container sees no files but its own
    software.is_mariadb() && is_without && software.image.is_none()
}

/// The file that holds certificate and key, made where it is missing. One for all servers of a user: data
/// that are kept for later runs know it by its path.
///
/// # Errors
/// [`Error::File`].
pub(in crate::provision) fn file(places: &Places) -> Result<PathBuf, Error> {
    let path = places.state.join("certificate.pem");
    if path.is_file() {
        return Ok(path);
    }
    fs::create_dir_all(&places.state).map_err(Error::file("make", &places.state))?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| Error::file("make", &path)(std::io::Error::other(error)))?;
    // beside its place, then renamed: another process may be about to do the same
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    files::write_private(&beside, &format!("{}{}", made.cert.pem(), made.signing_key.serialize_pem()))?;
    fs::rename(&beside, &path).map_err(Error::file("write", &path))?;
    Ok(path)
}
