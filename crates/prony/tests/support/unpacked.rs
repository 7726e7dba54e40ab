//! A server that was fetched, whatever the machine has installed.

use prony::provision::{Places, Provisioner, Software, fetch};
use std::path::PathBuf;

/// The newest MariaDB 10.11 of the catalogue that is available, and the directory into which it was unpacked.
pub(crate) fn mariadb() -> (Software, PathBuf) {
    let places = Places::of_user().expect("a home");
    // the programs that fetch are started by Prony itself, not by the test
    let launcher = PathBuf::from(env!("CARGO_BIN_EXE_prony"));
    let provisioner = Provisioner::with(places.clone(), launcher);
    let fetched = |name: &str| {
        let entry = provisioner.named(name).expect("an entry of the catalogue");
        let software = provisioner.fetch(&entry, &mut |_| ());
        software
            .map(|software| (software, fetch::place(&entry, &places).canonicalize().expect("a directory")))
    };
    // where there is no apt-get, as Maven has it
    fetched("mariadb-10.11-debian").or_else(|_| fetched("mariadb-10.11.5")).expect("a server")
}
