//! A certificate for servers that have none: with it they can be reached by TLS, which many make possible only for who brings one.
//! Signed by itself and for this machine alone; what it proves to nobody is not the point of a measurement.

use super::{Error, Places, Software, files};
use std::{fs, path::PathBuf};

/// Versions of MariaDB from which on a server makes a certificate by itself; MySQL does since 5.7. Before 10.4 their builds
/// speak no version of TLS that is still in use.
const MARIADB: [(u32, u32, u32); 2] = [(10, 4, 0), (11, 4, 0)];

/// Whether a server has TLS only where it is given a certificate.
pub(super) fn is_wanted(software: &Software) -> bool {
    let [from, until] = MARIADB;
    // a server in a container sees no files but its own
    software.is_mariadb() && (from..until).contains(&software.numbers()) && software.image.is_none()
}

/// The file that holds certificate and key, made where it is missing. One for all servers of a user: data that are kept for later
/// runs know it by its path.
///
/// # Errors
/// [`Error::File`].
pub(super) fn file(places: &Places) -> Result<PathBuf, Error> {
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
