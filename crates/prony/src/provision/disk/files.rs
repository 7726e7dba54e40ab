//! Files and directories as provisioning needs them: private to the user.

use crate::provision::Error;
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Writes a file that nobody else may read.
pub(in crate::provision) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let mut options = File::options();
    options.create(true).truncate(true).write(true).mode(0o600);
    let mut file = options.open(path).map_err(Error::file("write", path))?;
    file.write_all(text.as_bytes()).map_err(Error::file("write", path))
}

/// Makes a directory that nobody else may look into.
pub(in crate::provision) fn make_private(directory: &Path) -> Result<(), Error> {
    fs::DirBuilder::new().mode(0o700).create(directory).map_err(Error::file("make the directory", directory))
}

/// Removes a directory with all that is in it, if it is there.
pub(in crate::provision) fn remove_if_there(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove", directory)(error))
        }
        _ => Ok(()),
    }
}

/// Copies plain files and directories; the copy is private.
pub(in crate::provision) fn copy_directory(from: &Path, to: &Path) -> Result<(), Error> {
    make_private(to)?;
    for entry in from.read_dir().map_err(Error::file("read", from))? {
        let entry = entry.map_err(Error::file("read", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(Error::file("read", &source))?;
        if kind.is_dir() {
            copy_directory(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(Error::file("copy", &source))?;
        }
    }
    Ok(())
}
