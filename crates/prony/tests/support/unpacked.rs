//! A server that was fetched, whatever the machine has installed.

use prony::provision::{Places, Provisioner, Software, fetch};
use std::path::PathBuf;

/// The newest MariaDB 10.11 of the catalogue that is available, and the directory into which it was unpacked.
pub(crate) fn mariadb() -> (Software, PathBuf) {
    let (provisioner, places) = (Provisioner::new().expect("a home"), Places::of_user().expect("a home"));
    let fetched = |name: &str| {
        let entry = provisioner.named(name).expect("an entry of the catalogue");
        let software = provisioner.fetch(&entry, &mut |_| ());
        software
            .map(|software| (software, fetch::place(&entry, &places).canonicalize().expect("a directory")))
    };
    // where there is no apt-get, as Maven has it
    fetched("mariadb-10.11-debian").or_else(|_| fetched("mariadb-10.11.5")).expect("a server")
}
