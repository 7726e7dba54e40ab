//! What only watching and trying can tell: other load, steal, and how fast the disk confirms writes.

use procfs::process;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Before a run: half a second in all.
    Short,
    /// For who asks: about two seconds.
    Full,
}

impl Effort {
    fn watch(self) -> Duration {
        match self {
            Self::Short => Duration::from_millis(300),
            Self::Full => Duration::from_secs(1),
        }
    }

    fn sync(self) -> Duration {
        match self {
            Self::Short => Duration::from_millis(200),
            Self::Full => Duration::from_secs(1),
        }
    }
}

/// What was observed.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// `/proc/stat` before and after watching.
    pub stat: Option<[String; 2]>,
    /// The busiest processes meanwhile, the busiest first.
    pub busiest: Vec<Busy>,
    /// The disk that servers will use.
    pub disk: Option<Disk>,
    /// Whether this is a debug build.
    pub debug_build: bool,
}

/// A process and the processors that it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Busy {
    /// Its number.
    pub pid: i32,
    /// Its name.
    pub name: String,
    /// Processors (1.0: one full).
    pub cpus: f64,
}

/// A disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// A directory on it.
    pub directory: PathBuf,
    /// Bytes that a user may still write.
    pub available_bytes: u64,
    /// All bytes.
    pub total_bytes: u64,
    /// Writes of one block per second, each waited for (`fdatasync`), one after another.
    pub syncs_per_second: Option<f64>,
}

/// Processes that are named.
const NAMED: usize = 3;
/// Processors that a process must take to be named.
const NAMED_CPUS: f64 = 0.03;

impl Observed {
    /// Watches this machine; `directory` is where servers will have their data, made if it is missing.
    ///
    /// # Errors
    /// Where `directory` cannot be made or read.
    pub fn of_this_machine(directory: &Path, effort: Effort) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let stat = || fs::read_to_string("/proc/stat");
        let (before, busy_before, began) = (stat(), ticks(), Instant::now());
        thread::sleep(effort.watch());
        let (after, busy_after, elapsed) = (stat(), ticks(), began.elapsed());
        let known = rustix::fs::statvfs(directory)?;
        let disk = Disk {
            directory: directory.to_owned(),
            available_bytes: known.f_bavail.saturating_mul(known.f_frsize),
            total_bytes: known.f_blocks.saturating_mul(known.f_frsize),
            syncs_per_second: syncs_per_second(directory, effort.sync()).ok(),
        };
        Ok(Self {
            stat: before.and_then(|before| after.map(|after| [before, after])).ok(),
            busiest: busiest(&busy_before, &busy_after, elapsed),
            disk: Some(disk),
            debug_build: cfg!(debug_assertions),
        })
    }
}

/// Processor time of every process but this one so far, in clock ticks, with its name.
fn ticks() -> BTreeMap<i32, (String, u64)> {
    let own = std::process::id();
    let all = process::all_processes().into_iter().flatten().flatten();
    let stats =
        all.filter_map(|process| process.stat().ok()).filter(|stat| u32::try_from(stat.pid) != Ok(own));
    stats.map(|stat| (stat.pid, (stat.comm, stat.utime + stat.stime))).collect()
}

fn busiest(
    before: &BTreeMap<i32, (String, u64)>,
    after: &BTreeMap<i32, (String, u64)>,
    elapsed: Duration,
) -> Vec<Busy> {
    let per_second = procfs::ticks_per_second() as f64;
    let busy = |(pid, (name, now)): (&i32, &(String, u64))| {
        let earlier = before.get(pid).map_or(0, |(_, ticks)| *ticks);
        let cpus = now.saturating_sub(earlier) as f64 / per_second / elapsed.as_secs_f64();
        Busy { pid: *pid, name: name.clone(), cpus }
    };
    // One that began meanwhile has done all its work meanwhile.
    let mut all: Vec<_> = after.iter().map(busy).filter(|busy| busy.cpus >= NAMED_CPUS).collect();
    all.sort_by(|one, other| other.cpus.total_cmp(&one.cpus));
    all.truncate(NAMED);
    all
}

/// Writes blocks into a file that has its length already, as a redo log has, and waits for each.
fn syncs_per_second(directory: &Path, length: Duration) -> io::Result<f64> {
    const BLOCK: usize = 512;
    const BLOCKS: u64 = 2048;
    let path = directory.join(format!(".sync-{}", std::process::id()));
    let measure = || {
        let file = File::create(&path)?;
        file.write_all_at(&vec![0; BLOCK * BLOCKS as usize], 0)?;
        file.sync_all()?;
        let (began, mut count) = (Instant::now(), 0_u64);
        while began.elapsed() < length {
            file.write_all_at(&[count as u8; BLOCK], count % BLOCKS * BLOCK as u64)?;
            file.sync_data()?;
            count += 1;
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    };
    let result = measure();
    let _ = fs::remove_file(&path);
    result
}
