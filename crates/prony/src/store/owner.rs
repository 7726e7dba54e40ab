//! Which process carries a run out. A run belongs to one process: two that resumed it at the same time would
//! spoil each other's trials.
//!
//! A process is identified by its number in its namespace. Where that cannot be seen from here, in another
//! container or on another machine, its lease decides: a file beside the store that it keeps locked. The
//! kernel releases the lock when the process ends, however it ends.

use procfs::process::Process;
use rustix::fs::{FlockOperation, flock, fstatfs};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// Kinds of file systems that several machines may share (statfs(2)): NFS, SMB, SMB2, CIFS, 9p, FUSE, Ceph,
/// AFS, GFS2, OCFS2, Lustre. A lock need not be seen there by all of them.
const SHARED: [u32; 11] = [
    0x6969,
    0x517b,
    0xfe53_4d42,
    0xff53_4d42,
    0x0102_1997,
    0x6573_5546,
    0x00c3_6400,
    0x5346_414f,
    0x0116_1970,
    0x7461_636f,
    0x0bd0_0bd0,
];
/// Who looks whether a lease is held holds it for a moment.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// A process, told apart from a later one with the same number, from those of other machines and starts of
/// this one, and from those of other containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) pid: i32,
    /// Clock ticks after the machine's start.
    start_ticks: u64,
    /// The kernel's name for this start of the machine.
    boot: String,
    /// The namespace in which it has its number; `None`: an older version of Prony wrote this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid_namespace: Option<u64>,
    /// Whether it holds a [`Lease`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_lease: bool,
}

/// Who carries a run out now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holder {
    /// A process that can be seen from here.
    Here(i32),
    /// One in another container or on another machine, where it has this number; its lease.
    Elsewhere(i32, PathBuf),
}

impl Owner {
    /// This process.
    pub(super) fn this(has_lease: bool) -> Option<Self> {
        let this = Self::of(i32::try_from(std::process::id()).ok()?)?;
        Some(Self { has_lease, ..this })
    }

    fn of(pid: i32) -> Option<Self> {
        const ZOMBIE: char = 'Z';
        let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
        let owner = Self {
            pid,
            start_ticks: stat.starttime,
            boot: boot(),
            pid_namespace: namespace(),
            has_lease: false,
        };
        (stat.state != ZOMBIE).then_some(owner)
    }

    /// Who it is, if it still runs as that very process. `lease` is where its lease is.
    pub(super) fn holder(&self, lease: &Path) -> Option<Holder> {
        let is_visible = self.boot == boot() && self.pid_namespace.is_none_or(|own| Some(own) == namespace());
        let runs = is_visible && Self::of(self.pid).is_some_and(|now| now.start_ticks == self.start_ticks);
        if runs {
            return Some(Holder::Here(self.pid));
        }
        // a process of another user may be hidden from this one, but not its lock
        let runs = self.has_lease && is_held(lease, !is_visible);
        runs.then(|| Holder::Elsewhere(self.pid, lease.to_owned()))
    }
}

/// The kernel's name for this start of the machine; empty where it has none.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// The namespace in which processes of this one have their numbers.
fn namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|file| file.ino())
}

/// Whether somebody holds a lease. Where machines may share the file system, a file that exists says so: its
/// holder removes it at the end.
fn is_held(lease: &Path, is_elsewhere: bool) -> bool {
    match File::open(lease) {
        Err(error) => error.kind() != io::ErrorKind::NotFound,
        Ok(file) => {
            let is_free = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
            !is_free || (is_elsewhere && is_shared(&file))
        }
    }
}

/// Whether several machines may have this file.
fn is_shared(file: &File) -> bool {
    fstatfs(file).is_ok_and(|system| SHARED.iter().any(|kind| i128::from(*kind) == i128::from(system.f_type)))
}

/// A lock on a file beside the store, for as long as this process carries the run out. In it stands what the
/// run tells while it goes on.
#[derive(Debug)]
pub(super) struct Lease {
    file: File,
    path: PathBuf,
}

impl Lease {
    /// Where the lease of a run is: the store's name, and the beginning of the run's own.
    pub(super) fn path(store: &Path, uid: &str) -> PathBuf {
        const DIGITS: usize = 12;
        let mut name = store.as_os_str().to_owned();
        name.push(format!("-run-{}", uid.get(..DIGITS).unwrap_or(uid)));
        PathBuf::from(name)
    }

    /// Takes it; `None`: somebody holds it, or the file system has no locks.
    pub(super) fn take(path: PathBuf) -> Option<Self> {
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path).ok()?;
        let is_ours = (0..ATTEMPTS).any(|_| match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                thread::sleep(PAUSE);
                false
            }
            locked => locked.is_ok(),
        });
        is_ours.then_some(Self { file, path })
    }

    /// The file, to be written to; `None`: this process has no room for another open file.
    pub(super) fn file(&self) -> Option<File> {
        self.file.try_clone().ok()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // While it is locked: nobody else can have taken it. One that stays is taken by the next.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elsewhere(has_lease: bool) -> Owner {
        let this = Owner::this(has_lease).unwrap();
        Owner { pid_namespace: Some(1), ..this }
    }

    #[test]
    fn a_process_of_another_container_is_known_by_its_lease() {
        let home = tempfile::tempdir().unwrap();
        let path = Lease::path(&home.path().join("prony.sqlite"), "0123456789abcdef");
        assert!(path.ends_with("prony.sqlite-run-0123456789ab"));
        let owner = elsewhere(true);
        assert_eq!(owner.holder(&path), None, "it has removed its lease");
        let lease = Lease::take(path.clone()).unwrap();
        assert_eq!(owner.holder(&path), Some(Holder::Elsewhere(owner.pid, path.clone())));
        assert_eq!(Lease::take(path.clone()).map(|_| ()), None);
        drop(lease);
        assert_eq!(owner.holder(&path), None);
    }

    #[test]
    fn the_lease_of_a_process_that_was_killed_is_free() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lease");
        fs::write(&path, "").unwrap();
        assert_eq!(elsewhere(true).holder(&path), None);
        let rebooted = Owner { boot: "before".to_owned(), ..elsewhere(true) };
        assert_eq!(rebooted.holder(&path), None);
        drop(Lease::take(path.clone()).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn a_number_that_another_process_has_now_is_no_owner_and_older_stores_are_understood() {
        let nowhere = Path::new("/nowhere/lease");
        let this = Owner::this(false).unwrap();
        assert_eq!(this.holder(nowhere), Some(Holder::Here(this.pid)));
        let reused = Owner { start_ticks: this.start_ticks + 1, ..this.clone() };
        assert_eq!(reused.holder(nowhere), None);
        let text =
            format!(r#"{{"pid":{},"start_ticks":{},"boot":"{}"}}"#, this.pid, this.start_ticks, this.boot);
        let older: Owner = serde_json::from_str(&text).unwrap();
        assert_eq!(older.holder(nowhere), Some(Holder::Here(this.pid)));
        // another container has the same number for another process
        assert_eq!(elsewhere(false).holder(nowhere), None);
    }
}
