//! A lock between processes that ends with its holder, however that ends (`flock`).

use crate::provision::{Error, Step, Work};
use rustix::fs::{FlockOperation, flock};
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// A file that one process at a time may hold locked.
#[derive(Debug)]
pub(in crate::provision) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Opens or makes the file, readable by its owner alone; does not lock it.
    pub(in crate::provision) fn open(path: &Path) -> Result<Self, Error> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let file = options.open(path).map_err(Error::file("open", path))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Takes the lock if nobody holds it.
    pub(in crate::provision) fn try_take(&self) -> Result<bool, Error> {
        self.attempt(FlockOperation::NonBlockingLockExclusive)
    }

    /// Holds the lock along with others that share it, instead of alone.
    pub(in crate::provision) fn downgrade(&self) -> Result<(), Error> {
        self.attempt(FlockOperation::LockShared).map(drop)
    }

    /// Holds the lock along with others that share it, waiting while another process has it alone.
    pub(in crate::provision) fn share(&self, work: &mut Work<'_>) -> Result<(), Error> {
        self.wait(FlockOperation::NonBlockingLockShared, work)
    }

    fn attempt(&self, operation: FlockOperation) -> Result<bool, Error> {
        match flock(&self.file, operation) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(Error::file("lock", &self.path)(error.into())),
        }
    }

    /// Takes the lock, waiting as long as the user does.
    pub(in crate::provision) fn take(&self, work: &mut Work<'_>) -> Result<(), Error> {
        self.wait(FlockOperation::NonBlockingLockExclusive, work)
    }

    fn wait(&self, operation: FlockOperation, work: &mut Work<'_>) -> Result<(), Error> {
        const POLL: Duration = Duration::from_millis(50);
        if self.attempt(operation)? {
            return Ok(());
        }
        work.say(Step::Waiting);
        while !self.attempt(operation)? {
            work.heed()?;
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Whether the file still has its name: it may have been removed after it was opened and before it was
    /// locked.
    pub(in crate::provision) fn is_in_place(&self) -> io::Result<bool> {
        let own = self.file.metadata()?;
        match self.path.symlink_metadata() {
            Ok(named) => Ok((named.dev(), named.ino()) == (own.dev(), own.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The open file, to be read and written by who holds the lock.
    pub(in crate::provision) fn file(&self) -> &File {
        &self.file
    }

    /// Its path.
    pub(in crate::provision) fn path(&self) -> &Path {
        &self.path
    }
}
