//! What the machine's kernel counts: processors, disks, networks, pressure. What the kernel does not tell is
//! absent.
//!
//! The files are those behind vmstat, iostat and `ip -s link`; proc(5) and the kernel's
//! `Documentation/admin-guide/iostats.rst` and `accounting/psi.rst` say what the columns are.

use super::counts::{Counts, Source};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

/// Most interfaces and disks that are reported: hosts of containers have hundreds of the former.
const NAMES_MAX: usize = 16;
/// Bytes of a sector in `/proc/diskstats`, whatever the disk's own are.
const SECTOR: f64 = 512.0;
/// Beginnings of names of block devices that have no disk behind them.
const NO_DISKS: [&str; 4] = ["loop", "ram", "zram", "sr"];

/// This machine.
#[derive(Debug)]
pub(super) struct Host {
    /// Below which `/proc` and `/sys` are: `/` but in tests.
    root: PathBuf,
    ticks_per_second: f64,
    /// Names of the disks behind the data; empty: all of them.
    disks: BTreeSet<String>,
}

impl Host {
    /// With the disks behind these directories, or all where one of them lies on none that is known.
    pub(super) fn new(directories: &[PathBuf]) -> Self {
        let host = Self::below(Path::new("/"));
        let found: Vec<Option<BTreeSet<String>>> =
            directories.iter().map(|directory| disks_behind(&host.root, directory)).collect();
        let disks = found.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default();
        Self { disks: disks.into_iter().flatten().collect(), ..host }
    }

    /// With no disks asked for, and its files below `root`.
    pub(super) fn below(root: &Path) -> Self {
        let ticks_per_second = procfs::ticks_per_second() as f64;
        Self { root: root.to_owned(), ticks_per_second, disks: BTreeSet::new() }
    }

    fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.root.join(file)).ok()
    }

    pub(super) fn processors(&self, counts: &mut Counts) {
        for line in self.text("proc/stat").unwrap_or_default().lines() {
            let mut words = line.split_ascii_whitespace();
            let name = words.next().unwrap_or_default();
            let mut number = || words.next().and_then(|word| word.parse::<f64>().ok());
            let path = match name {
                "cpu" => {
                    let ticks: Vec<f64> = std::iter::from_fn(number).collect();
                    processor_time(&ticks, self.ticks_per_second, counts);
                    continue;
                }
                "ctxt" => "machine/context_switches",
                "intr" => "machine/interrupts",
                "procs_running" | "procs_blocked" => {
                    // the sampler itself is running while it looks
                    let own = if name == "procs_running" { 1.0 } else { 0.0 };
                    let path = if own > 0.0 { "machine/run_queue" } else { "machine/blocked" };
                    if let Some(value) = number() {
                        counts.level(path, (value - own).max(0.0));
                    }
                    continue;
                }
                _ => continue,
            };
            if let Some(value) = number() {
                counts.count(path, value);
            }
        }
    }

    pub(super) fn memory(&self, counts: &mut Counts) {
        for line in self.text("proc/meminfo").unwrap_or_default().lines() {
            let mut words = line.split_ascii_whitespace();
            let path = match words.next() {
                Some("MemAvailable:") => "machine/memory_available_bytes",
                Some("Dirty:") => "machine/dirty_bytes",
                Some("SwapFree:") => "machine/swap_free_bytes",
                _ => continue,
            };
            if let Some(kilobytes) = words.next().and_then(|word| word.parse::<f64>().ok()) {
                counts.level(path, kilobytes * 1024.0);
            }
        }
    }

    fn disks(&self, counts: &mut Counts) {
        let text = self.text("proc/diskstats").unwrap_or_default();
        let mut told = 0;
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let Some(&name) = words.get(2) else { continue };
            let wanted = if self.disks.is_empty() { self.is_whole(name) } else { self.disks.contains(name) };
            let numbers: Vec<f64> = words.iter().skip(3).filter_map(|word| word.parse().ok()).collect();
            let [reads, _, sectors_read, read_ms, writes, _, sectors_written, write_ms, _, busy_ms, ..] =
                *numbers
            else {
                continue;
            };
            if !wanted || reads + writes == 0.0 || told == NAMES_MAX {
                continue;
            }
            told += 1;
            let mut count =
                |what: &str, value: f64| counts.count(format!("machine/disk/{name}/{what}"), value);
            count("reads", reads);
            count("read_bytes", sectors_read * SECTOR);
            count("read_seconds", read_ms / 1e3);
            count("writes", writes);
            count("written_bytes", sectors_written * SECTOR);
            count("write_seconds", write_ms / 1e3);
            count("busy", busy_ms / 1e3);
            if let (Some(flushes), Some(flush_ms)) = (numbers.get(15), numbers.get(16)) {
                count("flushes", *flushes);
                count("flush_seconds", flush_ms / 1e3);
            }
        }
    }

    /// Whether `name` is a disk itself: partitions, and what is stacked upon disks, would count twice.
    fn is_whole(&self, name: &str) -> bool {
        !NO_DISKS.iter().any(|kind| name.starts_with(kind))
            && self.root.join("sys/block").join(name.replace('/', "!")).join("device").exists()
    }

    fn networks(&self, counts: &mut Counts) {
        let text = self.text("proc/net/dev").unwrap_or_default();
        let mut told = 0;
        for (name, numbers) in text.lines().filter_map(|line| line.split_once(':')) {
            let numbers: Vec<f64> =
                numbers.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
            let [
                received,
                packets_in,
                errors_in,
                drops_in,
                ..,
                sent,
                packets_out,
                errors_out,
                drops_out,
                _,
                _,
                _,
                _,
            ] = *numbers
            else {
                continue;
            };
            if packets_in + packets_out == 0.0 || told == NAMES_MAX {
                continue;
            }
            told += 1;
            let name = name.trim();
            let mut count =
                |what: &str, value: f64| counts.count(format!("machine/network/{name}/{what}"), value);
            count("received_bytes", received);
            count("sent_bytes", sent);
            count("received_packets", packets_in);
            count("sent_packets", packets_out);
            count("lost_packets", errors_in + drops_in + errors_out + drops_out);
        }
    }

    fn pressure(&self, counts: &mut Counts) {
        for resource in ["cpu", "memory", "io"] {
            let text = self.text(&format!("proc/pressure/{resource}")).unwrap_or_default();
            for line in text.lines() {
                let kind = line.split(' ').next().unwrap_or_default();
                let total =
                    line.rsplit_once("total=").and_then(|(_, number)| number.trim().parse::<f64>().ok());
                if let Some(microseconds) = total {
                    counts.count(format!("machine/pressure/{resource}_{kind}"), microseconds / 1e6);
                }
            }
        }
    }
}

impl Source for Host {
    fn read(&mut self) -> Option<Counts> {
        let mut counts = Counts::new(0);
        self.processors(&mut counts);
        self.memory(&mut counts);
        self.disks(&mut counts);
        self.networks(&mut counts);
        self.pressure(&mut counts);
        Some(counts)
    }
}

/// Time of this machine's processors that a hypervisor gave to others, since the machine started; `None`: the
/// kernel does not say.
#[must_use]
pub fn stolen() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    // cpu user nice system idle iowait irq softirq steal
    let ticks: f64 = text.lines().next()?.split_ascii_whitespace().nth(8)?.parse().ok()?;
    Some(Duration::from_secs_f64(ticks / procfs::ticks_per_second() as f64))
}

/// The kernel counts a guest's time as user time too.
fn processor_time(ticks: &[f64], ticks_per_second: f64, counts: &mut Counts) {
    let at = |place: usize| ticks.get(place).copied().unwrap_or(0.0) / ticks_per_second;
    counts.count("machine/cpu_user", at(0) + at(1));
    counts.count("machine/cpu_system", at(2) + at(5) + at(6));
    counts.count("machine/cpu_idle", at(3));
    counts.count("machine/cpu_iowait", at(4));
    counts.count("machine/cpu_steal", at(7));
}

/// The whole disks behind a directory; `None`: unknown, as on a file system in memory, over a network or with
/// a device number of its own.
fn disks_behind(root: &Path, directory: &Path) -> Option<BTreeSet<String>> {
    let device = fs::metadata(directory).ok()?.dev();
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let place = fs::canonicalize(root.join("sys/dev/block").join(number)).ok()?;
    let mut disks = BTreeSet::new();
    whole_disks(&place, &mut disks);
    (!disks.is_empty()).then_some(disks)
}

/// Of a partition the disk; of a stack (LVM, RAID) what is below it.
fn whole_disks(place: &Path, disks: &mut BTreeSet<String>) {
    if place.join("partition").exists() {
        return place.parent().map_or((), |disk| whole_disks(disk, disks));
    }
    let below: Vec<PathBuf> = fs::read_dir(place.join("slaves"))
        .map(|entries| entries.flatten().filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect())
        .unwrap_or_default();
    if below.is_empty() {
        disks.extend(place.file_name().map(|name| name.to_string_lossy().replace('!', "/")));
    }
    below.iter().for_each(|each| whole_disks(each, disks));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_kernels_files_are_read_as_they_are_documented() {
        let home = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(
            "proc/stat",
            "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 1 1 1\nintr 12345 1 2 3\nctxt 999\nprocs_running \
             3\nprocs_blocked 2\n",
        );
        put(
            "proc/diskstats",
            "   8 0 sda 10 1 200 30 40 2 800 70 0 90 100 0 0 0 0 5 20\n   8 1 sda1 10 1 200 30 40 2 800 70 \
             0 90 100\n   7 0 loop0 1 0 8 1 0 0 0 0 0 1 1\n",
        );
        put("sys/block/sda/device/model", "");
        put(
            "proc/net/dev",
            "Inter-|\n face |\n    lo: 1000 10 1 2 0 0 0 0 3000 30 4 5 0 0 0 0\n  eth1: 0 0 0 0 0 0 0 0 0 0 \
             0 0 0 0 0 0\n",
        );
        put(
            "proc/pressure/io",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=1000000\n",
        );
        put("proc/meminfo", "MemTotal: 1 kB\nMemAvailable:    2048 kB\n");
        let mut host = Host { root: home.path().to_owned(), ticks_per_second: 100.0, disks: BTreeSet::new() };
        let counts = host.read().unwrap();
        let all: BTreeMap<String, f64> = counts.counters.into_iter().chain(counts.levels).collect();
        for (path, value) in [
            ("machine/cpu_user", 1.2),
            ("machine/cpu_system", 0.43),
            ("machine/cpu_idle", 40.0),
            ("machine/cpu_iowait", 0.5),
            ("machine/cpu_steal", 0.08),
            ("machine/run_queue", 2.0),
            ("machine/blocked", 2.0),
            ("machine/interrupts", 12345.0),
            ("machine/context_switches", 999.0),
            ("machine/disk/sda/read_bytes", 102_400.0),
            ("machine/disk/sda/write_seconds", 0.07),
            ("machine/disk/sda/busy", 0.09),
            ("machine/disk/sda/flushes", 5.0),
            ("machine/network/lo/sent_bytes", 3000.0),
            ("machine/network/lo/lost_packets", 12.0),
            ("machine/pressure/io_full", 1.0),
            ("machine/memory_available_bytes", 2_097_152.0),
        ] {
            assert!((all[path] - value).abs() < 1e-9, "{path}: {all:?}");
        }
        assert!(
            !all.keys().any(|path| path.contains("sda1") || path.contains("loop") || path.contains("eth1"))
        );
    }

    #[test]
    fn of_a_partition_and_of_a_stack_the_disk_below_is_told() {
        let home = tempfile::tempdir().unwrap();
        let devices = home.path().join("devices");
        fs::create_dir_all(devices.join("sda/sda1")).unwrap();
        fs::create_dir_all(devices.join("sda/slaves")).unwrap();
        fs::write(devices.join("sda/sda1/partition"), "1").unwrap();
        fs::create_dir_all(devices.join("dm-0/slaves")).unwrap();
        std::os::unix::fs::symlink(devices.join("sda/sda1"), devices.join("dm-0/slaves/sda1")).unwrap();
        let mut disks = BTreeSet::new();
        whole_disks(&devices.join("dm-0"), &mut disks);
        assert_eq!(disks, BTreeSet::from(["sda".to_owned()]));
    }
}
