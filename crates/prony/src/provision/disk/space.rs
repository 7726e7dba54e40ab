//! Whether a disk has room for the data.

use crate::provision::Error;
use std::path::Path;

/// System tables, redo logs and temporary files of a server with default settings, bytes (MySQL 8.0: 200 MB).
pub const SERVER_BYTES: u64 = 300_000_000;

/// Whether the disk of `directory` has room for a server with `data_bytes` of data.
///
/// # Errors
/// [`Error::NoSpace`] with both numbers.
pub fn check(directory: &Path, data_bytes: u64) -> Result<(), Error> {
    let available = available(directory)?;
    let needed = data_bytes.saturating_add(SERVER_BYTES);
    if needed <= available {
        return Ok(());
    }
    let (needed_mb, available_mb) = (needed.div_ceil(1_000_000), available / 1_000_000);
    Err(Error::NoSpace { directory: directory.to_owned(), needed_mb, available_mb })
}

/// Whether the disk of `directory` has room for several servers at the same time: bytes of the data of each,
/// and of the snapshots that are taken of it.
///
/// # Errors
/// [`Error::NoSpaceForSnapshots`] where it is these that do not fit, else [`Error::NoSpace`].
pub fn check_snapshots(directory: &Path, servers: &[(u64, u64)]) -> Result<(), Error> {
    let data: u64 = servers.iter().map(|(data, _)| data + SERVER_BYTES).sum();
    let snapshots: u64 = servers.iter().map(|(_, snapshots)| snapshots).sum();
    let existing = directory.ancestors().find(|path| path.is_dir()).unwrap_or(directory);
    let available = available(existing)?;
    if data + snapshots <= available {
        return Ok(());
    }
    let directory = directory.to_owned();
    let (needed, available_mb) = ((data + snapshots).div_ceil(1_000_000), available / 1_000_000);
    if data > available || snapshots == 0 {
        return Err(Error::NoSpace { directory, needed_mb: data.div_ceil(1_000_000), available_mb });
    }
    let snapshots_mb = snapshots.div_ceil(1_000_000);
    Err(Error::NoSpaceForSnapshots { directory, needed_mb: needed, snapshots_mb, available_mb })
}

/// Bytes that are free for the user on the disk of `directory`.
///
/// # Errors
/// [`Error::File`] where that cannot be asked.
pub fn available(directory: &Path) -> Result<u64, Error> {
    let disk =
        rustix::fs::statvfs(directory).map_err(|error| Error::file("read", directory)(error.into()))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_data_is_refused_with_numbers() {
        let directory = tempfile::tempdir().unwrap();
        assert!(check(directory.path(), 0).is_ok());
        let error = check(directory.path(), 1 << 60).unwrap_err().to_string();
        assert!(error.contains("1152921504907 MB needed"), "{error}");
    }
}
