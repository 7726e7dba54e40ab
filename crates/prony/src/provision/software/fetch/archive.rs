//! Archives that have arrived: whether they are what the catalogue means, and unpacking them.

use super::{
    Error,
    client::{Client, Job},
};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

const UNZIP: Client = Client { name: "unzip", remedy: "install the package unzip" };
pub(super) const TAR: Client = Client { name: "tar", remedy: "install the packages tar, gzip and xz" };

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// The one file in `directory`, which a client was told to put there.
pub(super) fn only_file(job: &Job<'_, '_>, directory: &Path) -> Result<PathBuf, Error> {
    let entries = directory.read_dir().map_err(Error::file("read", directory))?;
    let files: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    match files.as_slice() {
        [file] => Ok(file.clone()),
        files => {
            let what = format!("one file was expected, but {} arrived", files.len());
            Err(Error::NotVerified { server: job.server.to_owned(), what })
        }
    }
}

/// Whether `file` has the checksum that the catalogue names.
pub(super) fn verify(job: &Job<'_, '_>, file: &Path, sha256: &str) -> Result<(), Error> {
    let mut hasher = Sha256::new();
    let mut reader = File::open(file).map_err(Error::file("open", file))?;
    let mut piece = vec![0; PIECE];
    loop {
        job.work.heed()?;
        match reader.read(&mut piece).map_err(Error::file("read", file))? {
            0 => break,
            length => hasher.update(&piece[..length]),
        }
    }
    let found: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found == sha256 {
        return Ok(());
    }
    let what = format!("its SHA-256 is {found}, not {sha256}");
    Err(Error::NotVerified { server: job.server.to_owned(), what })
}

/// Unpacks a zip or jar into `directory`; of its members only `member`, if one is named.
pub(super) fn unzip(
    job: &mut Job<'_, '_>,
    file: &Path,
    member: Option<&str>,
    directory: &Path,
) -> Result<(), Error> {
    let unpacked = job.run(&UNZIP, None, |command| {
        command.args(["-q", "-o"]).arg(file).args(member).arg("-d").arg(directory);
    });
    unpacked.map(drop)
}

/// Unpacks a compressed tar archive into `directory`.
pub(super) fn untar(job: &mut Job<'_, '_>, file: &Path, directory: &Path) -> Result<(), Error> {
    let unpacked = job.run(&TAR, None, |command| {
        command.arg("-xf").arg(file).arg("--no-same-owner").arg("-C").arg(directory);
    });
    unpacked.map(drop)
}

/// A directory below `directory` for what is only needed while fetching.
pub(super) fn scratch(directory: &Path) -> Result<PathBuf, Error> {
    let scratch = directory.join(".archives");
    fs::create_dir_all(&scratch).map_err(Error::file("make the directory", &scratch))?;
    Ok(scratch)
}
