//! What a run leaves on the disk while it lasts, and how a later run finds and removes what a killed one
//! could not.
//!
//! Beside each instance's directory `NAME` lies a file `NAME.owner` that the owner keeps locked. The kernel
//! releases the lock when the owner ends, however it ends. Whoever can take the lock may remove the
//! directory. The file exists before the directory and is removed after it.

use super::image::unmount;
use crate::provision::{
    Error, Places,
    containers::Container,
    disk::{
        files::{make_private, remove_if_there},
        lock::Lock,
    },
    launch::process::Process as ServerProcess,
    limits::remove_group,
    process::identity::ProcessIdentity,
};
use procfs::process::Process;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// Extension of the files that say whose a directory is.
const OWNER: &str = "owner";

/// The directory of one instance, owned by this process as long as this value lives.
#[derive(Debug)]
pub(in crate::provision) struct InstanceDirectory {
    path: PathBuf,
    owner: Lock,
    /// Cgroups that are made for the server.
    groups: Vec<PathBuf>,
}

/// What is known of an instance, should its owner be killed.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The server.
    server: Option<ProcessIdentity>,
    /// Its socket, where that is not in the directory.
    socket: Option<PathBuf>,
    /// Cgroups that were made for it.
    #[serde(default)]
    groups: Vec<PathBuf>,
    /// The container that it is in.
    #[serde(default)]
    container: Option<Container>,
    /// Where a file system is mounted that has further instances.
    #[serde(default)]
    mount: Option<PathBuf>,
}

impl InstanceDirectory {
    /// Makes a new one in `instances`.
    pub(in crate::provision) fn create(instances: &Path) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(instances).map_err(Error::file("make the directory", instances))?;
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = instances.join(format!("{}-{number}", std::process::id()));
            let owner = Lock::open(&path.with_extension(OWNER))?;
            let ours = owner.try_take()? && owner.is_in_place().map_err(Error::file("read", owner.path()))?;
            if ours && !path.exists() {
                make_private(&path)?;
                return Ok(Self { path, owner, groups: Vec::new() });
            }
        }
    }

    pub(in crate::provision) fn path(&self) -> &Path {
        &self.path
    }

    /// Records which process is the server and where its socket is, for [`sweep`].
    pub(in crate::provision) fn record(&self, server: &ServerProcess, socket: &Path) -> Result<(), Error> {
        self.record_as(server.pid(), server.container().cloned(), socket)
    }

    fn record_as(&self, pid: u32, container: Option<Container>, socket: &Path) -> Result<(), Error> {
        let server = i32::try_from(pid).ok().and_then(ProcessIdentity::of);
        let socket = (!socket.starts_with(&self.path)).then(|| socket.to_owned());
        self.write(&Record { server, socket, groups: self.groups.clone(), container, mount: None })
    }

    /// Records which cgroups are about to be created, so that [`sweep`] finds them.
    pub(in crate::provision) fn record_groups(&mut self, groups: Vec<PathBuf>) -> Result<(), Error> {
        self.groups = groups;
        self.write(&Record { groups: self.groups.clone(), ..Record::default() })
    }

    /// Writes down where a file system is about to be mounted, as the home of further instances.
    pub(super) fn record_mount(&self, mount: &Path) -> Result<(), Error> {
        self.write(&Record { mount: Some(mount.to_owned()), ..Record::default() })
    }

    fn write(&self, record: &Record) -> Result<(), Error> {
        let text = serde_json::to_string(record).expect("a plain value");
        let mut file = self.owner.file();
        file.rewind()
            .and_then(|()| file.set_len(0))
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(Error::file("write", self.owner.path()))
    }

    /// Removes it with all that is in it.
    pub(in crate::provision) fn remove(&self) -> Result<(), Error> {
        remove_if_there(&self.path)?;
        fs::remove_file(self.owner.path()).map_err(Error::file("remove", self.owner.path()))
    }
}

/// Removes what earlier runs left in `instances` because they were killed; servers of theirs that still run
/// are killed. Returns the directories that were removed. What runs of other, living processes have is left
/// alone. `launcher` is the path of the `prony` program.
///
/// # Errors
/// [`Error::File`] where something cannot be read or removed.
pub fn sweep(instances: &Path, launcher: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match instances.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::file("read", instances))?,
    };
    let mut removed = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == OWNER) {
            removed.extend(sweep_one(&path, launcher)?);
        }
    }
    Ok(removed)
}

fn sweep_one(owner: &Path, launcher: &Path) -> Result<Option<PathBuf>, Error> {
    let lock = Lock::open(owner)?;
    if !lock.try_take()? || !lock.is_in_place().map_err(Error::file("read", owner))? {
        return Ok(None);
    }
    let directory = owner.with_extension("");
    let mut text = String::new();
    lock.file().read_to_string(&mut text).map_err(Error::file("read", owner))?;
    // Empty or torn: its owner died before the server ran for long, and the kernel killed the server with it.
    let record: Record = serde_json::from_str(&text).unwrap_or_default();
    if let Some(mount) = record.mount {
        sweep(&mount.join(Places::INSTANCES), launcher)?;
        // its owner may have been killed before it was mounted
        let _ = unmount(launcher, &mount);
    }
    if let Some(container) = record.container {
        container.remove();
    }
    if let Some(server) = record.server {
        kill_leftover(server, &directory);
    }
    if let Some(socket) = record.socket {
        // It may be gone already; a socket that stays is only a name.
        let _ = fs::remove_file(socket);
    }
    for group in record.groups {
        remove_group(&group).map_err(Error::file("remove the cgroup", &group))?;
    }
    remove_if_there(&directory)?;
    fs::remove_file(owner).map_err(Error::file("remove", owner))?;
    Ok(Some(directory))
}

/// Kills `server` if it is still the process that was recorded, and works in `directory`.
fn kill_leftover(server: ProcessIdentity, directory: &Path) {
    let works_there = Process::new(server.pid)
        .and_then(|process| process.cwd())
        .is_ok_and(|cwd| cwd.starts_with(directory));
    if works_there {
        server.signal(Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_living_keep_their_directories_and_the_dead_lose_them() {
        let home = tempfile::tempdir().unwrap();
        let alive = InstanceDirectory::create(home.path()).unwrap();
        let dead = InstanceDirectory::create(home.path()).unwrap();
        fs::write(dead.path().join("ibdata1"), "data").unwrap();
        let gone = dead.path().to_owned();
        drop(dead);
        assert_eq!(sweep(home.path(), Path::new("prony")).unwrap(), std::slice::from_ref(&gone));
        assert!(!gone.exists() && alive.path().exists());
        alive.remove().unwrap();
        assert_eq!(home.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_process_that_only_has_the_number_of_a_server_is_left_alone() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let home = tempfile::tempdir().unwrap();
        let directory = InstanceDirectory::create(home.path()).unwrap();
        directory.record_as(child.id(), None, Path::new("/nowhere/sock")).unwrap();
        drop(directory);
        assert_eq!(sweep(home.path(), Path::new("prony")).unwrap().len(), 1);
        assert!(child.try_wait().unwrap().is_none(), "it does not work in the instance's directory");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
