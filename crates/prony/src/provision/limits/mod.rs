//! What a server may use of the machine: a cgroup with the limits that a study asks for, and the processors
//! that it may run on. Limits are read back from the kernel; one that it did not take is an error, so that no
//! run continues without a limit that its report would name.
//!
//! A cgroup exists before its server, which enters it before it becomes the server (see
//! [`crate::provision::trampoline`]), and is removed after it. If Prony is killed, the next sweep removes it.

mod container;
mod hierarchy;

use crate::{plan::Limits, provision::Error};
use hierarchy::{Controller, Parent};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// How often CPU time is handed out: a server that has used up its share waits no longer than this.
const PERIOD_US: u64 = 10_000;
/// The same for small shares, since the kernel gives out no less than 1 ms.
const PERIOD_LONG_US: u64 = 100_000;
/// How long a group is waited for whose processes are ending.
const REMOVE_ATTEMPTS: u32 = 200;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// What was put into force for a server, as the kernel says it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitsInForce {
    /// By what: `cgroup v1`, `cgroup v2`; empty: no group was needed.
    pub by: String,
    /// The limits, read back.
    pub limits: Limits,
    /// The disk whose use is limited, as the kernel numbers it: `254:0`.
    pub disk: Option<String>,
}

/// What a server used of its limits since it was started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Most memory that it had at a time, page cache of its files included, bytes.
    pub memory_bytes_max: Option<u64>,
    /// Processes that the kernel killed because the memory was used up.
    pub memory_kills: u64,
    /// How often it used up its CPU time, so that all of its threads had to wait.
    pub cpu_waits: u64,
    /// How long threads waited then, all together.
    pub cpu_waited: Duration,
}

/// The limits of one server. The group is removed when dropped.
#[derive(Debug, Default)]
pub(in crate::provision) struct Cgroup {
    wanted: Limits,
    groups: BTreeMap<Controller, Group>,
    disk: Option<String>,
    /// Whether Prony has made the groups.
    is_own: bool,
    /// Processes that the kernel had killed in them when the server was started.
    kills_before: u64,
}

/// A group for one controller; with version 2 several controllers have the same directory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    version: u8,
    directory: PathBuf,
}

impl Cgroup {
    /// Says where groups will be created for a server with these limits; `name` is unique. Creates nothing.
    ///
    /// # Errors
    /// [`Error::CannotLimit`]: the machine or the user's rights do not allow it.
    pub(in crate::provision) fn plan(limits: &Limits, name: &str) -> Result<Self, Error> {
        let mut groups = BTreeMap::new();
        let mut of_two = Vec::new();
        for controller in needed(limits) {
            let Some(parent) = hierarchy::parent(controller) else {
                return Err(cannot(controller.what(), "the kernel has no cgroup controller for it"));
            };
            match parent {
                Parent::One(parent) => {
                    writable(&parent, controller.what())?;
                    groups.insert(controller, Group { version: 1, directory: parent.join(name) });
                }
                Parent::Two { own, root } => of_two.push((controller, own, root)),
            }
        }
        if let Some((_, own, root)) = of_two.first() {
            let controllers: Vec<Controller> = of_two.iter().map(|(controller, ..)| *controller).collect();
            let parent = sharing_parent(own, root, &controllers)?;
            let group = Group { version: 2, directory: parent.join(name) };
            groups.extend(controllers.into_iter().map(|controller| (controller, group.clone())));
        }
        Ok(Self { wanted: limits.clone(), groups, disk: None, is_own: true, kills_before: 0 })
    }

    /// The limits of a server whose groups another program makes.
    pub(in crate::provision) fn of_others(limits: &Limits) -> Self {
        Self { wanted: limits.clone(), groups: BTreeMap::new(), disk: None, is_own: false, kills_before: 0 }
    }

    /// The directories of its groups, each once.
    pub(in crate::provision) fn directories(&self) -> Vec<PathBuf> {
        if !self.is_own {
            return Vec::new();
        }
        let mut directories: Vec<PathBuf> =
            self.groups.values().map(|group| group.directory.clone()).collect();
        directories.dedup();
        directories
    }

    /// The processors that the server may run on; empty: all.
    pub(in crate::provision) fn pin(&self) -> &[u32] {
        &self.wanted.pin
    }

    /// Makes the groups and sets their limits; those of the disk hold for the one that has `data`.
    ///
    /// # Errors
    /// [`Error::CannotLimit`].
    pub(in crate::provision) fn make(&mut self, data: &Path) -> Result<(), Error> {
        for (controller, group) in &self.groups {
            match fs::create_dir(&group.directory) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(cannot(controller.what(), format!("{}: {error}", group.directory.display())));
                }
                _ => {}
            }
        }
        if let (Some(bytes), Some(group)) = (self.wanted.memory_bytes, self.groups.get(&Controller::Memory)) {
            group.limit_memory(bytes)?;
        }
        if let (Some(cpus), Some(group)) = (self.wanted.cpus, self.groups.get(&Controller::Cpu)) {
            group.limit_cpu(cpus)?;
        }
        if let Some(group) = self.groups.get(&Controller::Io) {
            let disk = disk_of(data)?;
            group.limit_io(&disk, &self.wanted)?;
            self.disk = Some(disk);
        }
        Ok(())
    }

    /// What really holds for the server with this process number; `None`: no limit was requested.
    ///
    /// # Errors
    /// [`Error::CannotLimit`] where something is not as asked, or the server is not in its group.
    pub(in crate::provision) fn confirm(&self, pid: u32) -> Result<Option<LimitsInForce>, Error> {
        if self.wanted.is_empty() {
            return Ok(None);
        }
        let mut limits = Limits { pin: processors_of(pid), ..Limits::default() };
        for (controller, group) in &self.groups {
            if self.is_own && !group.read("cgroup.procs").lines().any(|line| line == pid.to_string()) {
                let reason = format!("the server is not in {}", group.directory.display());
                return Err(cannot(controller.what(), reason));
            }
            match controller {
                Controller::Memory => limits.memory_bytes = group.memory(),
                Controller::Cpu => limits.cpus = group.cpus(),
                Controller::Io => group.io(self.disk.as_deref().unwrap_or_default(), &mut limits),
            }
        }
        if self.wanted.pin.is_empty() {
            limits.pin = Vec::new();
        }
        let close = |wanted: Option<f64>, found: Option<f64>| match (wanted, found) {
            // memory is given out in pages, CPU time in microseconds
            (Some(wanted), Some(found)) => (wanted - found).abs() <= 0.01 * wanted,
            (wanted, found) => wanted == found,
        };
        let number = |value: Option<u64>| value.map(|value| value as f64);
        let (asked, is) = (&self.wanted, &limits);
        for (what, holds) in [
            ("memory", close(number(asked.memory_bytes), number(is.memory_bytes))),
            ("CPU time", close(asked.cpus, is.cpus)),
            ("reading", close(number(asked.read_bytes_per_second), number(is.read_bytes_per_second))),
            ("writing", close(number(asked.write_bytes_per_second), number(is.write_bytes_per_second))),
            ("reads", asked.reads_per_second == is.reads_per_second),
            ("writes", asked.writes_per_second == is.writes_per_second),
            ("processors", asked.pin == is.pin),
        ] {
            if !holds {
                let reason = format!("the kernel set {is:?} where {asked:?} was requested");
                return Err(cannot(what, reason));
            }
        }
        let versions: Vec<String> =
            self.groups.values().map(|group| format!("cgroup v{}", group.version)).collect();
        let by = versions.first().cloned().unwrap_or_default();
        Ok(Some(LimitsInForce { by, limits, disk: self.disk.clone() }))
    }

    /// What the server used; `None`: it has no group.
    pub(in crate::provision) fn usage(&self) -> Option<Usage> {
        let mut usage = Usage::default();
        for (controller, group) in &self.groups {
            match controller {
                Controller::Memory => {
                    let (peak, kills) = if group.version == 1 {
                        ("memory.max_usage_in_bytes", "memory.oom_control")
                    } else {
                        ("memory.peak", "memory.events")
                    };
                    usage.memory_bytes_max = group.read(peak).trim().parse().ok();
                    usage.memory_kills = group.field(kills, "oom_kill").unwrap_or(0);
                }
                Controller::Cpu => {
                    usage.cpu_waits = group.field("cpu.stat", "nr_throttled").unwrap_or(0);
                    let ns = group.field("cpu.stat", "throttled_time");
                    let us = group.field("cpu.stat", "throttled_usec").map(|us| us * 1000);
                    usage.cpu_waited = Duration::from_nanos(ns.or(us).unwrap_or(0));
                }
                Controller::Io => {}
            }
        }
        (!self.groups.is_empty()).then_some(usage)
    }

    /// The limit of memory that was asked for, bytes.
    pub(in crate::provision) fn memory_limit(&self) -> Option<u64> {
        self.wanted.memory_bytes
    }

    /// In words, where the kernel has killed the server for lack of memory.
    pub(in crate::provision) fn memory_death(&self) -> Option<u64> {
        self.wanted.memory_bytes.filter(|_| self.kills() > self.kills_before)
    }

    /// Marks everything that the kernel has killed by now as belonging to an earlier process.
    pub(in crate::provision) fn forget_kills(&mut self) {
        self.kills_before = self.kills();
    }

    fn kills(&self) -> u64 {
        self.usage().map_or(0, |usage| usage.memory_kills)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        for directory in self.directories() {
            // the next sweep tries again
            let _ = remove_group(&directory);
        }
    }
}

/// Removes a group whose processes have ended, or are about to.
pub(in crate::provision) fn remove_group(directory: &Path) -> io::Result<()> {
    let mut attempt = 0;
    loop {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if attempt < REMOVE_ATTEMPTS && error.kind() == io::ErrorKind::ResourceBusy => {
                attempt += 1;
                thread::sleep(REMOVE_PAUSE);
            }
            result => return result,
        }
    }
}

impl Group {
    fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_default()
    }

    /// The number behind a word: `nr_throttled 12`.
    fn field(&self, file: &str, name: &str) -> Option<u64> {
        let text = self.read(file);
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }

    fn write(&self, controller: Controller, file: &str, value: &str) -> Result<(), Error> {
        let path = self.path(file);
        fs::write(&path, value).map_err(|error| {
            let reason = format!("the kernel refuses {value} in {}: {error}", path.display());
            cannot(controller.what(), reason)
        })
    }

    fn limit_memory(&self, bytes: u64) -> Result<(), Error> {
        let (limit, with_swap) = if self.version == 1 {
            ("memory.limit_in_bytes", ("memory.memsw.limit_in_bytes", bytes.to_string()))
        } else {
            ("memory.max", ("memory.swap.max", "0".to_owned()))
        };
        self.write(Controller::Memory, limit, &bytes.to_string())?;
        // kernels without accounting of swap space do not have the file, and those that have none do not swap
        if self.path(with_swap.0).exists() {
            self.write(Controller::Memory, with_swap.0, &with_swap.1)?;
        }
        Ok(())
    }

    fn memory(&self) -> Option<u64> {
        let file = if self.version == 1 { "memory.limit_in_bytes" } else { "memory.max" };
        self.read(file).trim().parse().ok()
    }

    fn limit_cpu(&self, cpus: f64) -> Result<(), Error> {
        let (quota, period) = quota(cpus);
        if self.version == 1 {
            self.write(Controller::Cpu, "cpu.cfs_period_us", &period.to_string())?;
            return self.write(Controller::Cpu, "cpu.cfs_quota_us", &quota.to_string());
        }
        self.write(Controller::Cpu, "cpu.max", &format!("{quota} {period}"))
    }

    fn cpus(&self) -> Option<f64> {
        let text = if self.version == 1 {
            format!("{} {}", self.read("cpu.cfs_quota_us").trim(), self.read("cpu.cfs_period_us").trim())
        } else {
            self.read("cpu.max")
        };
        let (quota, period) = text.trim().split_once(' ')?;
        let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
        (quota > 0.0).then_some(quota / period)
    }

    fn limit_io(&self, disk: &str, limits: &Limits) -> Result<(), Error> {
        let mut all = Vec::new();
        for IoLimit { value, file, word } in io_limits(limits) {
            let Some(value) = value else { continue };
            if self.version == 1 {
                self.write(Controller::Io, file, &format!("{disk} {value}"))?;
            }
            all.push(format!("{word}={value}"));
        }
        if self.version == 2 {
            self.write(Controller::Io, "io.max", &format!("{disk} {}", all.join(" ")))?;
        }
        Ok(())
    }

    fn io(&self, disk: &str, limits: &mut Limits) {
        let of_disk = |file: &str| -> Option<String> {
            let text = self.read(file);
            text.lines().find_map(|line| line.strip_prefix(disk)?.strip_prefix(' ')).map(str::to_owned)
        };
        let two = of_disk("io.max").unwrap_or_default();
        let found = io_limits(limits).map(|IoLimit { file, word, .. }| {
            if self.version == 1 {
                return of_disk(file)?.trim().parse().ok();
            }
            let value = two.split_whitespace().find_map(|pair| pair.strip_prefix(word)?.strip_prefix('='));
            value?.parse().ok()
        });
        [
            limits.read_bytes_per_second,
            limits.write_bytes_per_second,
            limits.reads_per_second,
            limits.writes_per_second,
        ] = found;
    }
}

/// What has to be limited.
fn needed(limits: &Limits) -> impl Iterator<Item = Controller> {
    let memory = limits.memory_bytes.map(|_| Controller::Memory);
    let cpu = limits.cpus.map(|_| Controller::Cpu);
    let io = has_io(limits).then_some(Controller::Io);
    [memory, cpu, io].into_iter().flatten()
}

/// CPU time in each period, and the period, us.
fn quota(cpus: f64) -> (u64, u64) {
    let period = if cpus < 0.1 { PERIOD_LONG_US } else { PERIOD_US };
    ((cpus * period as f64).round() as u64, period)
}

fn has_io(limits: &Limits) -> bool {
    io_limits(limits).iter().any(|limit| limit.value.is_some())
}

/// One limit of a disk.
struct IoLimit {
    value: Option<u64>,
    /// Its file of version 1.
    file: &'static str,
    /// Its name in `io.max` of version 2.
    word: &'static str,
}

/// Every limit that a disk can have.
fn io_limits(limits: &Limits) -> [IoLimit; 4] {
    let limit = |value, file, word| IoLimit { value, file, word };
    [
        limit(limits.read_bytes_per_second, "blkio.throttle.read_bps_device", "rbps"),
        limit(limits.write_bytes_per_second, "blkio.throttle.write_bps_device", "wbps"),
        limit(limits.reads_per_second, "blkio.throttle.read_iops_device", "riops"),
        limit(limits.writes_per_second, "blkio.throttle.write_iops_device", "wiops"),
    ]
}

fn cannot(what: &str, reason: impl Into<String>) -> Error {
    Error::CannotLimit { what: what.to_owned(), reason: reason.into() }
}

/// Whether Prony may write there, as limiting `what` takes.
fn writable(directory: &Path, what: &str) -> Result<(), Error> {
    access(directory, Access::WRITE_OK)
        .map_err(|error| cannot(what, format!("{}: {error}", directory.display())))
}

/// The group nearest to Prony's own one that can share its controllers out to groups below it.
fn sharing_parent(own: &Path, root: &Path, controllers: &[Controller]) -> Result<PathBuf, Error> {
    let what = controllers.iter().map(|controller| controller.what()).collect::<Vec<_>>().join(", ");
    let names: Vec<&str> = controllers.iter().map(|controller| controller.name(2)).collect();
    let mut reason = String::new();
    for directory in own.ancestors().take_while(|directory| directory.starts_with(root)) {
        let control = directory.join("cgroup.subtree_control");
        if let Err(error) = writable(directory, &what).and_then(|()| writable(&control, &what)) {
            return Err(if reason.is_empty() { error } else { cannot(&what, reason) });
        }
        let shares = || has_words(&control, &names);
        if shares() {
            return Ok(directory.to_owned());
        }
        let wish = names.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
        let refused = fs::write(&control, &wish).err();
        if shares() {
            return Ok(directory.to_owned());
        }
        if reason.is_empty() {
            reason = match refused {
                Some(error) => {
                    format!("{} cannot share {}: {error}", directory.display(), names.join(" and "))
                }
                None => format!("{} does not have {}", directory.display(), names.join(" and ")),
            };
        }
    }
    Err(cannot(&what, reason))
}

fn has_words(file: &Path, words: &[&str]) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    words.iter().all(|word| text.split_whitespace().any(|other| other == *word))
}

/// Number of the disk that has `path`, as the kernel limits it: that of the whole, not of a partition.
fn disk_of(path: &Path) -> Result<String, Error> {
    let cannot = |reason: String| cannot(Controller::Io.what(), reason);
    let device = fs::metadata(path).map_err(|error| cannot(format!("{}: {error}", path.display())))?.dev();
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let block = PathBuf::from("/sys/dev/block").join(&number);
    if !block.exists() {
        return Err(cannot(format!(
            "{} is on a file system that is not backed by a single disk (such as tmpfs, overlayfs, btrfs); \
             set XDG_STATE_HOME to a directory on ext4 or XFS",
            path.display()
        )));
    }
    if !block.join("partition").exists() {
        return Ok(number);
    }
    let whole = fs::canonicalize(&block).ok().and_then(|block| Some(block.parent()?.join("dev")));
    let whole = whole.and_then(|file| fs::read_to_string(file).ok());
    whole
        .map(|text| text.trim().to_owned())
        .ok_or_else(|| cannot(format!("the disk of partition {number} is unknown")))
}

/// The processors that a process may run on.
fn processors_of(pid: u32) -> Vec<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let mut processors = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            processors.extend(first..=last);
        }
    }
    processors
}
