//! A copy of a data directory, from which it is restored.
//!
//! A snapshot is a full copy: of file system blocks where those can be shared (reflink, as in XFS and btrfs),
//! otherwise of bytes. It never uses hard links, as a server writes into its files. The server must have shut
//! down cleanly before one is taken. How it went down before a restore does not matter, since every file that
//! differs is replaced.
//!
//! A file counts as unchanged where its inode, size and both times (of contents and of inode, to the
//! nanosecond) are those that it had when it was last equal to its copy; only the kernel sets the second
//! time. Where a file system keeps whole seconds, everything is copied.

use crate::provision::{
    Error, Step, Work,
    disk::{files::make_private, lock::Lock},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// Files of one running server rather than of its data: its identity, and what its buffer pool held.
const OF_THE_SERVER: [&str; 2] = ["auto.cnf", BUFFER_POOL];
/// What `innodb_buffer_pool_dump_now` writes, and a start reads.
pub(in crate::provision) const BUFFER_POOL: &str = "ib_buffer_pool";
/// Bytes that are copied before the user's wish to stop is heeded and progress is reported.
const PORTION: u64 = 64 << 20;
/// Longer than the step of the clock that stamps files (10 ms at most), so that a later write leaves another
/// stamp.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// A copy of a data directory.
#[derive(Debug)]
pub struct Snapshot {
    directory: PathBuf,
    tree: Tree,
    /// Keeps others from removing it, where it is in the cache.
    _hold: Option<Lock>,
}

/// Bytes of all files below `directory` that a snapshot has.
pub(in crate::provision) fn bytes_in(directory: &Path) -> Result<u64, Error> {
    Ok(Tree::of(directory)?.bytes)
}

/// Paths of these files.
pub(in crate::provision) fn files_in(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    Ok(Tree::of(directory)?.files.into_keys().collect())
}

/// Copies what is in `from`, but for what is to be left out, to `to`, which is made. It is on the disk
/// afterwards.
pub(in crate::provision) fn copy(
    from: &Path,
    to: &Path,
    leaves_out: &dyn Fn(&Path) -> bool,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let mut tree = Tree::of(from)?;
    tree.files.retain(|file, _| !leaves_out(file));
    make_private(to)?;
    tree.make_directories(to)?;
    let mut copier = Copier::new(copying, tree.bytes, work);
    for file in tree.files.keys() {
        copier.copy(&from.join(file), &to.join(file))?;
    }
    tree.sync_directories(to)
}

/// What is below a directory, by path from there.
#[derive(Debug, Default)]
struct Tree {
    /// With the state of the original for which it equals its copy.
    files: BTreeMap<PathBuf, Option<Stamp>>,
    /// Those above others first; the directory itself is not among them.
    directories: BTreeSet<PathBuf>,
    bytes: u64,
}

/// By what a file is known to be unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// How much was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutBack {
    /// Files that were copied.
    pub files: usize,
    /// Bytes of these.
    pub bytes: u64,
}

impl Stamp {
    /// `None` where its times cannot be relied upon.
    fn of(file: &Path) -> Option<Self> {
        let known = file.symlink_metadata().ok()?;
        let stamp = Self {
            inode: known.ino(),
            bytes: known.len(),
            modified: (known.mtime(), known.mtime_nsec()),
            changed: (known.ctime(), known.ctime_nsec()),
        };
        (stamp.changed.1 != 0).then_some(stamp)
    }
}

impl Snapshot {
    /// Copies `data` to `directory`, which is made. Whatever was written is on the disk afterwards.
    pub(in crate::provision) fn take(
        data: &Path,
        directory: &Path,
        work: &mut Work<'_>,
    ) -> Result<Self, Error> {
        let tree = Tree::of(data)?;
        make_private(directory)?;
        tree.make_directories(directory)?;
        let mut copier = Copier::new(copying, tree.bytes, work);
        for file in tree.files.keys() {
            copier.copy(&data.join(file), &directory.join(file))?;
        }
        tree.sync_directories(directory)?;
        let mut snapshot = Self { directory: directory.to_owned(), tree, _hold: None };
        snapshot.stamp(data);
        Ok(snapshot)
    }

    /// The copy that is in `directory`, held as long as the lock is.
    pub(in crate::provision) fn there(directory: PathBuf, hold: Option<Lock>) -> Result<Self, Error> {
        let tree = Tree::of(&directory)?;
        Ok(Self { directory, tree, _hold: hold })
    }

    /// Restores `data`: files that differ are copied, and files that were not there are removed, except the
    /// server's own.
    pub(in crate::provision) fn put_back(
        &mut self,
        data: &Path,
        work: &mut Work<'_>,
    ) -> Result<PutBack, Error> {
        if !data.is_dir() {
            make_private(data)?;
        }
        Tree::of(data)?.remove_all_but(&self.tree, data)?;
        self.tree.make_directories(data)?;
        let is_unchanged = |(file, stamp): &(&PathBuf, &Option<Stamp>)| {
            stamp.is_some() && Stamp::of(&data.join(file)) == **stamp
        };
        let differing: Vec<&PathBuf> =
            self.tree.files.iter().filter(|file| !is_unchanged(file)).map(|(file, _)| file).collect();
        let size = |file: &&PathBuf| self.directory.join(file).metadata().map_or(0, |known| known.len());
        let put_back = PutBack { files: differing.len(), bytes: differing.iter().map(size).sum() };
        let mut copier = Copier::new(restoring, put_back.bytes, work);
        for file in differing {
            copier.copy(&self.directory.join(file), &data.join(file))?;
        }
        self.tree.sync_directories(data)?;
        self.stamp(data);
        Ok(put_back)
    }

    /// Bytes of its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tree.bytes
    }

    /// Lets the lock of the cache go along with it.
    pub(in crate::provision) fn held(self, hold: Lock) -> Self {
        Self { _hold: Some(hold), ..self }
    }

    /// The same copy under another name.
    pub(in crate::provision) fn moved(self, directory: PathBuf) -> Self {
        Self { directory, ..self }
    }

    fn stamp(&mut self, data: &Path) {
        for (file, stamp) in &mut self.tree.files {
            *stamp = Stamp::of(&data.join(file));
        }
        thread::sleep(CLOCK_STEP);
    }
}

impl Tree {
    /// All that a snapshot has of `directory`, without stamps.
    fn of(directory: &Path) -> Result<Self, Error> {
        let mut tree = Self::default();
        let mut below = vec![PathBuf::new()];
        while let Some(inner) = below.pop() {
            let place = directory.join(&inner);
            for entry in place.read_dir().map_err(Error::file("read", &place))? {
                let entry = entry.map_err(Error::file("read", &place))?;
                let (path, name) = (entry.path(), inner.join(entry.file_name()));
                let known = path.symlink_metadata().map_err(Error::file("read", &path))?;
                if known.is_dir() {
                    below.push(name.clone());
                    tree.directories.insert(name);
                } else if known.is_symlink() {
                    return Err(Error::Elsewhere { path });
                } else if known.is_file() && !OF_THE_SERVER.iter().any(|own| name == Path::new(own)) {
                    tree.bytes += known.len();
                    tree.files.insert(name, None);
                }
            }
        }
        Ok(tree)
    }

    fn make_directories(&self, place: &Path) -> Result<(), Error> {
        let mut missing =
            self.directories.iter().map(|inner| place.join(inner)).filter(|path| !path.is_dir());
        missing.try_for_each(|path| make_private(&path))
    }

    /// Removes what is in this tree, which is that of `place`, and not in `other`.
    fn remove_all_but(&self, other: &Self, place: &Path) -> Result<(), Error> {
        for extra in self.files.keys().filter(|file| !other.files.contains_key(*file)) {
            let extra = place.join(extra);
            fs::remove_file(&extra).map_err(Error::file("remove", &extra))?;
        }
        for extra in self.directories.iter().rev().filter(|inner| !other.directories.contains(*inner)) {
            let extra = place.join(extra);
            fs::remove_dir(&extra).map_err(Error::file("remove", &extra))?;
        }
        Ok(())
    }

    /// Makes it durable that files were made or removed.
    fn sync_directories(&self, place: &Path) -> Result<(), Error> {
        let all = self.directories.iter().map(|inner| place.join(inner)).chain([place.to_owned()]);
        for path in all {
            File::open(&path).and_then(|opened| opened.sync_all()).map_err(Error::file("sync", &path))?;
        }
        Ok(())
    }
}

fn copying(done_mb: Option<u64>, all_mb: u64) -> Step {
    Step::Copying { done_mb, all_mb }
}

fn restoring(done_mb: Option<u64>, all_mb: u64) -> Step {
    Step::Restoring { done_mb, all_mb }
}

/// Copies one file after the other and tells how far it is.
struct Copier<'a, 'w> {
    step: fn(Option<u64>, u64) -> Step,
    bytes: u64,
    bytes_total: u64,
    /// Until the file system has refused it.
    may_share: bool,
    work: &'a mut Work<'w>,
}

impl<'a, 'w> Copier<'a, 'w> {
    fn new(step: fn(Option<u64>, u64) -> Step, bytes_total: u64, work: &'a mut Work<'w>) -> Self {
        work.say(step(None, bytes_total / 1_000_000));
        Self { step, bytes: 0, bytes_total, may_share: true, work }
    }

    /// Copies `from` over `to`. It is on the disk afterwards: writing it back must not happen during a
    /// measurement.
    fn copy(&mut self, from: &Path, to: &Path) -> Result<(), Error> {
        let mut source = File::open(from).map_err(Error::file("read", from))?;
        let bytes = source.metadata().map_err(Error::file("read", from))?.len();
        let mut options = File::options();
        options.create(true).truncate(true).write(true).mode(0o600);
        let mut copy = options.open(to).map_err(Error::file("write", to))?;
        if self.may_share && rustix::fs::ioctl_ficlone(&copy, &source).is_ok() {
            self.bytes += bytes;
        } else {
            self.may_share = false;
            while self.portion(&mut source, &mut copy).map_err(Error::file("write", to))? > 0 {
                self.work.heed()?;
                let (done, total) = (self.bytes / 1_000_000, self.bytes_total / 1_000_000);
                self.work.say((self.step)(Some(done), total));
            }
        }
        copy.sync_all().map_err(Error::file("sync", to))
    }

    fn portion(&mut self, source: &mut File, copy: &mut File) -> io::Result<u64> {
        let copied = io::copy(&mut source.by_ref().take(PORTION), copy)?;
        self.bytes += copied;
        Ok(copied)
    }
}

/// Settings with which a server keeps files of its data outside its data directory, where a snapshot does not
/// see them.
pub(in crate::provision) fn keeps_elsewhere<'a>(
    mut settings: impl Iterator<Item = (&'a String, &'a String)>,
) -> Option<&'a str> {
    const PLACES: [&str; 10] = [
        "innodb_data_home_dir",
        "innodb_data_file_path",
        "innodb_log_group_home_dir",
        "innodb_undo_directory",
        "innodb_directories",
        "innodb_doublewrite_dir",
        "aria_log_dir_path",
        "log_bin",
        "relay_log",
        "rocksdb_datadir",
    ];
    let is_place = |name: &str| PLACES.contains(&crate::provision::settings::plain_name(name).as_str());
    settings.find(|(name, value)| is_place(name) && value.contains('/')).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_back(snapshot: &mut Snapshot, data: &Path) -> PutBack {
        Work::in_test(data, |work| snapshot.put_back(data, work)).unwrap()
    }

    #[test]
    fn what_differs_is_copied_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let (data, copy) = (home.path().join("data"), home.path().join("copy"));
        fs::create_dir_all(data.join("prony")).unwrap();
        fs::write(data.join("prony/sbtest1.ibd"), "as loaded").unwrap();
        fs::write(data.join("ibdata1"), "system").unwrap();
        fs::write(data.join("auto.cnf"), "mine").unwrap();
        let mut snapshot = Work::in_test(home.path(), |work| Snapshot::take(&data, &copy, work)).unwrap();
        assert!(!copy.join("auto.cnf").exists(), "the server's own");
        assert_eq!(put_back(&mut snapshot, &data), PutBack { files: 0, bytes: 0 });

        // The same size, and the time of contents set back: only the kernel's own time tells.
        let before = data.join("ibdata1").metadata().unwrap().modified().unwrap();
        fs::write(data.join("ibdata1"), "SYSTEM").unwrap();
        File::options().append(true).open(data.join("ibdata1")).unwrap().set_modified(before).unwrap();
        fs::write(data.join("prony/new.ibd"), "of a trial").unwrap();
        fs::remove_file(data.join("prony/sbtest1.ibd")).unwrap();
        assert_eq!(put_back(&mut snapshot, &data), PutBack { files: 2, bytes: 15 });
        assert_eq!(fs::read_to_string(data.join("ibdata1")).unwrap(), "system");
        assert_eq!(fs::read_to_string(data.join("prony/sbtest1.ibd")).unwrap(), "as loaded");
        assert_eq!(fs::read_to_string(data.join("auto.cnf")).unwrap(), "mine");
        assert!(!data.join("prony/new.ibd").exists());

        // Another directory altogether, as a new server's.
        assert_eq!(put_back(&mut snapshot, &home.path().join("other")).files, 2);
    }

    #[test]
    fn a_link_out_of_the_directory_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        fs::create_dir(&data).unwrap();
        std::os::unix::fs::symlink("/elsewhere/t.ibd", data.join("t.ibd")).unwrap();
        let copy = home.path().join("copy");
        let taken = Work::in_test(home.path(), |work| Snapshot::take(&data, &copy, work));
        assert!(matches!(taken, Err(Error::Elsewhere { .. })), "{taken:?}");
    }
}
