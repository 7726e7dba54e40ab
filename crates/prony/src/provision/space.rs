//! Whether a disk has room for the data.

use super::Error;
use std::path::Path;

/// System tables, redo logs and temporary files of a server with default settings, bytes (MySQL 8.0: 200 MB).
const SERVER_BYTES: u64 = 300_000_000;

/// Whether the disk of `directory` has room for a server with `data_bytes` of data.
///
/// # Errors
/// [`Error::NoSpace`] with both numbers.
pub fn check(directory: &Path, data_bytes: u64) -> Result<(), Error> {
    let disk =
        rustix::fs::statvfs(directory).map_err(|error| Error::file("read", directory)(error.into()))?;
    let available = disk.f_bavail.saturating_mul(disk.f_frsize);
    let needed = data_bytes.saturating_add(SERVER_BYTES);
    if needed <= available {
        return Ok(());
    }
    let (needed_mb, available_mb) = (needed.div_ceil(1_000_000), available / 1_000_000);
    Err(Error::NoSpace { directory: directory.to_owned(), needed_mb, available_mb })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_data_is_refused_with_numbers() {
        let directory = tempfile::tempdir().unwrap();
        assert!(check(directory.path(), 0).is_ok());
        let error = check(directory.path(), 1 << 60).unwrap_err().to_string();
        assert!(error.contains("1152921504907 MB are needed"), "{error}");
    }
}
