//! Servers that are installed on the machine: their programs are used, their data and services are not
//! touched.

use super::{Software, libraries::Libraries};
use std::{
    collections::BTreeSet,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// Where distributions and people put servers, beside `PATH`.
const DIRECTORIES: [&str; 7] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/libexec",
    "/usr/lib/mysql",
];
/// Directories in which each server may have a directory of its own, `/opt/mariadb-11.4/bin/mariadbd`.
const HOMES: [&str; 3] = ["/usr/local", "/opt", "/opt/homebrew/opt"];

/// Every server program on this machine that runs, the ones of `PATH` first.
#[must_use]
pub fn installed() -> Vec<Software> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let homes = HOMES.iter().filter_map(|home| Path::new(home).read_dir().ok()).flatten().flatten();
    let own = homes.flat_map(|home| ["bin", "sbin", "libexec"].map(|name| home.path().join(name)));
    let directories = std::env::split_paths(&path).chain(DIRECTORIES.map(PathBuf::from)).chain(own);
    in_directories(directories)
}

fn in_directories(directories: impl Iterator<Item = PathBuf>) -> Vec<Software> {
    let candidates =
        directories.flat_map(|directory| ["mariadbd", "mysqld"].map(|name| directory.join(name)));
    let mut seen = BTreeSet::new();
    candidates
        .filter_map(|candidate| candidate.canonicalize().ok())
        .filter(|program| seen.insert(program.clone()) && is_program(program))
        .filter_map(|program| {
            let base = crate::provision::software::base_of(&program);
            let system = Libraries::default();
            let suffices = system.lacks(&program).is_ok_and(|lacks| lacks.nothing());
            let libraries = if suffices { system } else { Libraries::below(base, base) };
            Software::of_program(&program, libraries, &format!("installed: {}", program.display())).ok()
        })
        .collect()
}

/// Whether it is a program of machine code. A script of that name is a wrapper, which might start a server on
/// the system's data.
fn is_program(path: &Path) -> bool {
    const MAGIC: [u8; 4] = *b"\x7fELF";
    let mut beginning = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut beginning)).is_ok() && beginning == MAGIC
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn scripts_and_programs_that_are_no_servers_are_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let trace = home.path().join("was-run");
        let script = home.path().join("mysqld");
        fs::write(&script, format!("#!/bin/sh\ntouch {}\n", trace.display())).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy("/bin/true", home.path().join("mariadbd")).unwrap();
        assert_eq!(in_directories([home.path().to_owned()].into_iter()), []);
        assert!(!trace.exists());
    }
}
