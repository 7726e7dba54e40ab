//! The data cache: loaded data directories for later runs, in the user's cache: loading takes minutes where
//! copying takes seconds.
//!
//! An entry is found by everything that its files depend on: the server's program, its settings except those
//! known to leave no trace in files, and the data set. It is made beside its place and renamed when all of it
//! is on the disk. Its files are never written again, and their checksums are compared before each use. Users
//! of an entry share its lock; whoever makes or removes one holds it alone. So a killed Prony leaves nothing
//! but a directory that the next one sweeps.

use super::snapshot::{self, Snapshot};
use crate::{
    plan::DataPlan,
    provision::{
        Error, Places, Step, Work,
        disk::{
            files::{make_private, remove_if_there, write_private},
            lock::Lock,
            space,
        },
        settings::{plain_name, words},
        software::Software,
    },
    quantity,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Version of an entry's form.
const FORMAT: u32 = 1;
/// What all entries together may take where [`LIMIT_VARIABLE`] does not say otherwise, bytes.
const LIMIT_BYTES: u64 = 20 << 30;
/// Environment variable with another limit: `50G`.
const LIMIT_VARIABLE: &str = "PRONY_DATA_LIMIT";
/// Room that the cache must leave on the disk for everything else, bytes.
const FREE_BYTES_MIN: u64 = 2 << 30;

/// Settings that leave no trace in files, besides the words, whose own entries say it. A name that ends in
/// `_` stands for all that begin with it. Any other setting is assumed to matter: loading a data set once too
/// often costs time, but using a wrong one costs the result.
const TRACELESS: [&str; 26] = [
    "extra_max_connections",
    "extra_port",
    "general_log",
    "innodb_adaptive_",
    "innodb_buffer_pool_",
    "innodb_io_capacity_max",
    "innodb_lock_wait_timeout",
    "innodb_lru_scan_depth",
    "innodb_max_dirty_pages_",
    "innodb_page_cleaners",
    "innodb_spin_wait_",
    "innodb_sync_spin_loops",
    "innodb_thread_",
    "interactive_timeout",
    "join_buffer_size",
    "key_buffer_size",
    "long_query_time",
    "max_",
    "net_",
    "open_files_limit",
    "performance_schema_",
    "query_cache_",
    "skip_ssl",
    "slow_query_log",
    "table_open_cache_",
    "thread_",
];

/// What the files of an entry depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::provision) struct Key {
    product: String,
    version: String,
    program: PathBuf,
    program_bytes: u64,
    program_modified_s: i64,
    settings: BTreeMap<String, String>,
    data: DataPlan,
}

/// What an entry says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    format: u32,
    key: Key,
    /// Of Prony's account in it.
    password: String,
    /// By path.
    files: BTreeMap<String, Sum>,
    /// UTC.
    made: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Sum {
    bytes: u64,
    crc32: u32,
}

/// An entry that can be used.
pub(in crate::provision) struct Found {
    pub(in crate::provision) snapshot: Snapshot,
    pub(in crate::provision) password: String,
}

/// An entry, for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CachedData {
    /// Name by which it is removed.
    pub name: String,
    /// Of the server: `mariadb`.
    pub product: String,
    /// Of the server.
    pub version: String,
    /// Settings of the server that matter to its files.
    pub settings: BTreeMap<String, String>,
    /// The data set.
    pub data: DataPlan,
    /// On disk.
    pub bytes: u64,
    /// When it was made, UTC.
    pub made: String,
    /// When it was used last, UTC.
    pub used: String,
    /// Whether a run uses it now.
    pub in_use: bool,
}

impl Key {
    pub(in crate::provision) fn of(
        software: &Software,
        settings: &BTreeMap<String, String>,
        data: &DataPlan,
    ) -> Result<Self, Error> {
        let program = software.program.metadata().map_err(Error::file("read", &software.program))?;
        let lasting = settings
            .iter()
            .map(|(name, value)| (plain_name(name), value.clone()))
            .filter(|(name, _)| !is_traceless(name));
        Ok(Self {
            product: software.product.clone(),
            version: software.version.clone(),
            program: software.program.clone(),
            program_bytes: program.len(),
            program_modified_s: program.mtime(),
            settings: lasting.collect(),
            data: data.clone(),
        })
    }

    fn name(&self) -> String {
        let text = serde_json::to_string(&(FORMAT, self)).expect("a plain value");
        let digest = Sha256::digest(text.as_bytes());
        let digits: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() || ".-".contains(letter) { letter } else { '-' };
        format!("{}-{}-{digits}", self.product, self.version).chars().map(plain).collect()
    }
}

fn is_traceless(name: &str) -> bool {
    words::is_traceless(name)
        || TRACELESS.iter().any(|known| {
            let begins = known.strip_suffix('_').is_some_and(|stem| name == stem || name.starts_with(known));
            begins || name == *known
        })
}

/// The entry of `key`, whole and verified; a damaged one is removed. `None`: there is none.
pub(in crate::provision) fn find(key: &Key, work: &mut Work<'_>) -> Result<Option<Found>, Error> {
    let directory = work.places().data().join(key.name());
    if !directory.is_dir() {
        return Ok(None);
    }
    let lock = Lock::open(&lock_of(&directory))?;
    lock.share(work)?;
    if !lock.is_in_place().map_err(Error::file("read", lock.path()))? || !directory.is_dir() {
        return Ok(None);
    }
    work.say(Step::CheckingData);
    let password = match read(&directory) {
        Some(entry) if entry.key == *key && sums(&directory.join("data"), work)? == entry.files => {
            entry.password
        }
        _ => {
            drop(lock);
            remove(&directory)?;
            return Ok(None);
        }
    };
    // Which one goes first when room is needed; a cache that cannot be written to can still be used.
    let _ = File::options()
        .append(true)
        .open(directory.join("entry.json"))
        .and_then(|file| file.set_modified(SystemTime::now()));
    Ok(Some(Found { snapshot: Snapshot::there(directory.join("data"), Some(lock))?, password }))
}

/// Makes the entry of `key` from the data directory of a server that has shut down cleanly, and holds it.
/// `None`: there is one already (another Prony made it in the meantime, with another password), or no room.
pub(in crate::provision) fn keep(
    key: &Key,
    data: &Path,
    password: &str,
    work: &mut Work<'_>,
) -> Result<Option<Snapshot>, Error> {
    let all = work.places().data();
    fs::create_dir_all(&all).map_err(Error::file("make the directory", &all))?;
    let directory = all.join(key.name());
    let lock = Lock::open(&lock_of(&directory))?;
    if !lock.try_take()?
        || !lock.is_in_place().map_err(Error::file("read", lock.path()))?
        || directory.is_dir()
    {
        return Ok(None);
    }
    let unfinished = all.join(format!(".{}.unfinished", key.name()));
    remove_if_there(&unfinished)?;
    let bytes = snapshot::bytes_in(data)?;
    let made = if make_room(&all, bytes)? { make(key, data, &unfinished, password, work) } else { Ok(None) };
    match made {
        Ok(Some(snapshot)) => {
            fs::rename(&unfinished, &directory).map_err(Error::file("move into place", &directory))?;
            sync(&all)?;
            lock.downgrade()?;
            Ok(Some(snapshot.moved(directory.join("data")).held(lock)))
        }
        made => {
            remove_if_there(&unfinished)?;
            // Not into anybody's way while it is locked.
            let _ = fs::remove_file(lock.path());
            made
        }
    }
}

fn make(
    key: &Key,
    data: &Path,
    unfinished: &Path,
    password: &str,
    work: &mut Work<'_>,
) -> Result<Option<Snapshot>, Error> {
    make_private(unfinished)?;
    let snapshot = Snapshot::take(data, &unfinished.join("data"), work)?;
    let entry = Entry {
        format: FORMAT,
        key: key.clone(),
        password: password.to_owned(),
        files: sums(&unfinished.join("data"), work)?,
        made: now(SystemTime::now()),
    };
    let file = unfinished.join("entry.json");
    write_private(&file, &serde_json::to_string_pretty(&entry).expect("a plain value"))?;
    sync(&file)?;
    sync(unfinished)?;
    Ok(Some(snapshot))
}

/// Removes entries that nobody uses, the least recently used first, until `bytes` more are within the limit.
/// False: that is impossible.
fn make_room(all: &Path, bytes: u64) -> Result<bool, Error> {
    let limit = limit_bytes()?;
    let mut entries = entries(all)?;
    entries.sort_by_cached_key(|directory| (used(directory), directory.clone()));
    let size = |directory: &PathBuf| snapshot::bytes_in(directory).unwrap_or(0);
    let mut taken: u64 = entries.iter().map(size).sum();
    let too_large = bytes > limit;
    for directory in entries {
        let fits = taken + bytes <= limit && space::available(all)? >= bytes + FREE_BYTES_MIN;
        if fits || too_large {
            break;
        }
        let bytes_there = size(&directory);
        if remove(&directory)? {
            taken -= bytes_there;
        }
    }
    Ok(taken + bytes <= limit && space::available(all)? >= bytes + FREE_BYTES_MIN)
}

fn limit_bytes() -> Result<u64, Error> {
    let Some(value) = std::env::var(LIMIT_VARIABLE).ok().filter(|value| !value.is_empty()) else {
        return Ok(LIMIT_BYTES);
    };
    quantity::size_or_bytes(&value).map_err(|_| Error::DataLimit { variable: LIMIT_VARIABLE, value })
}

/// Every entry, those used last at the end.
///
/// # Errors
/// [`Error::File`] where the cache cannot be read.
pub fn cached_data(places: &Places) -> Result<Vec<CachedData>, Error> {
    let mut found = Vec::new();
    for directory in entries(&places.data())? {
        let Some(entry) = read(&directory) else { continue };
        let Key { product, version, settings, data, .. } = entry.key;
        let used = used(&directory);
        let in_use = !Lock::open(&lock_of(&directory))?.try_take()?;
        let cached = CachedData {
            name: name_of(&directory),
            product,
            version,
            settings,
            data,
            bytes: entry.files.values().map(|sum| sum.bytes).sum(),
            made: entry.made,
            used: now(used),
            in_use,
        };
        found.push((used, cached));
    }
    found.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
    Ok(found.into_iter().map(|(_, cached)| cached).collect())
}

/// Removes the entry `name`. False: a run uses it.
///
/// # Errors
/// [`Error::NotCached`] where there is none.
pub fn remove_cached(places: &Places, name: &str) -> Result<bool, Error> {
    let directory = places.data().join(name);
    if name.is_empty() || name.starts_with('.') || name.contains('/') || !directory.is_dir() {
        return Err(Error::NotCached { name: name.to_owned() });
    }
    remove(&directory)
}

/// Removes what killed Pronys left half made.
pub(in crate::provision) fn sweep(places: &Places) -> Result<(), Error> {
    for path in read_directory(&places.data())? {
        let name = name_of(&path);
        let Some(name) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".unfinished")) else {
            continue;
        };
        let lock = Lock::open(&lock_of(&places.data().join(name)))?;
        if lock.try_take()? {
            remove_if_there(&path)?;
        }
    }
    Ok(())
}

/// Removes an entry that nobody uses, with its lock. False: it is in use.
fn remove(directory: &Path) -> Result<bool, Error> {
    let lock = Lock::open(&lock_of(directory))?;
    if !lock.try_take()? || !lock.is_in_place().map_err(Error::file("read", lock.path()))? {
        return Ok(false);
    }
    // Under a name that is nobody's entry: what a kill leaves of it is swept.
    let doomed = directory.with_file_name(format!(".{}.unfinished", name_of(directory)));
    remove_if_there(&doomed)?;
    match fs::rename(directory, &doomed) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::file("remove", directory)(error));
        }
        _ => remove_if_there(&doomed)?,
    }
    fs::remove_file(lock.path()).map_err(Error::file("remove", lock.path()))?;
    Ok(true)
}

fn entries(all: &Path) -> Result<Vec<PathBuf>, Error> {
    let paths = read_directory(all)?.into_iter();
    Ok(paths.filter(|path| path.is_dir() && !name_of(path).starts_with('.')).collect())
}

fn read_directory(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    match directory.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let entries = entries.map_err(Error::file("read", directory))?;
            Ok(entries.flatten().map(|entry| entry.path()).collect())
        }
    }
}

/// What an entry says about itself; `None`: nothing that this version of Prony understands.
fn read(directory: &Path) -> Option<Entry> {
    let entry: Entry = serde_json::from_str(&fs::read_to_string(directory.join("entry.json")).ok()?).ok()?;
    (entry.format == FORMAT).then_some(entry)
}

fn used(directory: &Path) -> SystemTime {
    let known = directory.join("entry.json").metadata().and_then(|known| known.modified());
    known.unwrap_or(SystemTime::UNIX_EPOCH)
}

fn now(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn lock_of(directory: &Path) -> PathBuf {
    directory.with_file_name(format!(".{}.lock", name_of(directory)))
}

fn sync(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|opened| opened.sync_all()).map_err(Error::file("sync", path))
}

fn sums(data: &Path, work: &Work<'_>) -> Result<BTreeMap<String, Sum>, Error> {
    let mut sums = BTreeMap::new();
    let mut buffer = vec![0; 1 << 20];
    for name in snapshot::files_in(data)? {
        work.heed()?;
        let path = data.join(&name);
        let mut file = File::open(&path).map_err(Error::file("read", &path))?;
        let (mut crc, mut bytes) = (flate2::Crc::new(), 0);
        loop {
            let read = file.read(&mut buffer).map_err(Error::file("read", &path))?;
            if read == 0 {
                break;
            }
            crc.update(&buffer[..read]);
            bytes += read as u64;
        }
        sums.insert(name.to_string_lossy().into_owned(), Sum { bytes, crc32: crc.sum() });
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout as _;

    fn key(rows: u64) -> Key {
        Key {
            product: "mariadb".to_owned(),
            version: "10.11.6-test".to_owned(),
            program: PathBuf::from("/usr/sbin/mariadbd"),
            program_bytes: 1,
            program_modified_s: 2,
            settings: BTreeMap::new(),
            data: crate::workload::data(
                "oltp_read_only",
                &crate::workload::Options { table_size: rows, ..Default::default() },
            )
            .unwrap()
            .into(),
        }
    }

    fn places(home: &Path) -> Places {
        Work::in_test(home, |work| work.places().clone())
    }

    #[test]
    fn what_is_cached_is_found_again_whole_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let (places, data) = (places(home.path()), home.path().join("data"));
        let find = |rows| Work::in_test(home.path(), |work| super::find(&key(rows), work)).unwrap();
        let keep = |password: &str| {
            Work::in_test(home.path(), |work| super::keep(&key(1), &data, password, work)).unwrap()
        };
        fs::create_dir_all(data.join("prony")).unwrap();
        fs::write(data.join("prony/sbtest1.ibd"), "rows").unwrap();
        assert!(find(1).is_none());
        let mine = keep("secret").unwrap();
        assert!(keep("other").is_none(), "it is there");
        let found = find(1).unwrap();
        assert_eq!(found.password, "secret");
        assert!(find(2).is_none(), "another data set");

        let [listed] = <[_; 1]>::try_from(cached_data(&places).unwrap()).unwrap();
        assert!(listed.in_use && listed.bytes == 4 && listed.data.rows() == 1, "{listed:?}");
        assert!(!remove_cached(&places, &listed.name).unwrap(), "two use it");
        drop((mine, found));
        let file = places.data().join(&listed.name).join("data/prony/sbtest1.ibd");
        fs::write(&file, "rowz").unwrap();
        assert!(find(1).is_none(), "it has suffered");
        assert_eq!(cached_data(&places).unwrap(), []);
        assert!(matches!(remove_cached(&places, &listed.name), Err(Error::NotCached { .. })));
        assert!(matches!(remove_cached(&places, "../templates"), Err(Error::NotCached { .. })));
        drop(keep("secret").unwrap());
        assert!(remove_cached(&places, &listed.name).unwrap());
        assert_eq!(read_directory(&places.data()).unwrap(), <[PathBuf; 0]>::default());
    }

    #[test]
    fn what_a_killed_prony_left_half_made_is_swept() {
        let home = tempfile::tempdir().unwrap();
        let places = places(home.path());
        let torn = places.data().join(".mariadb-1.unfinished");
        fs::create_dir_all(torn.join("data")).unwrap();
        let lock = Lock::open(&places.data().join(".mariadb-1.lock")).unwrap();
        assert!(lock.try_take().unwrap());
        sweep(&places).unwrap();
        assert!(torn.is_dir(), "somebody is making it");
        drop(lock);
        sweep(&places).unwrap();
        assert!(!torn.exists());
    }

    #[test]
    fn settings_that_leave_a_trace_in_files_tell_entries_apart() {
        for name in [
            "max_connections",
            "innodb_buffer_pool_size",
            "performance_schema",
            "thread_pool_size",
            "net_retry_count",
        ] {
            assert!(is_traceless(name), "{name}");
        }
        for name in [
            "innodb_page_size",
            "innodb_file_format",
            "character_set_server",
            "innodb_encrypt_tables",
            "log_bin",
            "maxi",
        ] {
            assert!(!is_traceless(name), "{name}");
        }
        assert_ne!(
            key(1).name(),
            Key { settings: BTreeMap::from([("log_bin".to_owned(), "1".to_owned())]), ..key(1) }.name()
        );
    }
}
