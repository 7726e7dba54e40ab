//! Whether a directory with a server's data is in use. A server that finds its files locked waits for them,
//! and says so only in its log.

use super::{Standing, pointed_to};
use crate::provision::{Error, Places, disk::lock::Lock};
use rustix::fs::{FlockOperation, fcntl_lock};
use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

/// The file that every server with InnoDB keeps locked.
const LOCKED: &str = "data/ibdata1";

/// Claims a directory for a server that is about to be started there, until the value is dropped.
///
/// # Errors
/// [`Error::DirectoryInUse`] with who uses it.
pub(super) fn begin(directory: &Path, places: &Places) -> Result<Lock, Error> {
    let name: String = directory
        .display()
        .to_string()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
        .collect();
    let end = name.len().saturating_sub(NAME_MAX);
    let lock = Lock::open(&places.standing().join(format!(".@{}.lock", &name[end..])))?;
    let in_use = |by: String| Error::DirectoryInUse { directory: directory.to_owned(), by: by.into() };
    if !lock.try_take()? {
        return Err(in_use("another `prony server start`".to_owned()));
    }
    let is_here = |other: &Standing| pointed_to(&other.directory).is_ok_and(|path| path == directory);
    let known = Standing::all(places)?.into_iter().find(|other| other.pid().is_some() && is_here(other));
    if let Some(other) = known {
        let pid = other.pid().unwrap_or_default();
        return Err(in_use(format!("the server {} (process {pid}, port {})", other.name, other.port)));
    }
    match holder(&directory.join(LOCKED)) {
        Some(by) => Err(in_use(by)),
        None => Ok(lock),
    }
}

/// Letters of a directory's path in the name of its lock: two that end alike wait for each other.
const NAME_MAX: usize = 150;

/// Who keeps a file locked, as servers do.
fn holder(file: &Path) -> Option<String> {
    let file = File::options().read(true).write(true).open(file).ok()?;
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {}
        // the lock goes with the file, at the end of this function
        _ => return None,
    }
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(5).is_some_and(|place| place.ends_with(&inode));
        fields.get(4).filter(|_| is_it)?.parse::<u32>().ok()
    });
    Some(match pid.filter(|pid| *pid > 0) {
        Some(pid) => {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({})", name.trim())
        }
        None => "a server in another container".to_owned(),
    })
}
