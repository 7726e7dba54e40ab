//! What the measurement runs on, as the kernel says.

use super::Machine;
use procfs::Current;
use std::{
    fs,
    path::{Path, PathBuf},
};

impl Machine {
    /// This machine. What the kernel does not tell stays empty or 0.
    #[must_use]
    pub fn of_this_host() -> Self {
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let control_group = ControlGroup::below(Path::new("/"));
        Self {
            cpu_model: cpu_model(&processor),
            cpus: cpus(),
            memory_bytes: procfs::Meminfo::current().map(|memory| memory.mem_total).unwrap_or(0),
            kernel: kernel(),
            distribution: fs::read_to_string("/etc/os-release")
                .map(|text| pretty_name(&text))
                .unwrap_or_default(),
            virtualisation: virtualisation(&processor),
            open_files_max: open_files_max(),
            cpu_limit: control_group.cpu_limit(),
            memory_limit_bytes: control_group.memory_limit_bytes(),
        }
    }
}

/// Processors that this process may use, at least 1.
fn cpus() -> u32 {
    let allowed = rustix::thread::sched_getaffinity(None).map(|set| set.count()).unwrap_or(0);
    if allowed > 0 { allowed } else { std::thread::available_parallelism().map_or(1, |n| n.get() as u32) }
}

fn kernel() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

fn open_files_max() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.maximum.unwrap_or(u64::MAX)
}

/// `model name` on x86; elsewhere the architecture is all that is said in words.
fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    match line.and_then(|line| line.split_once(':')) {
        Some((_, name)) => name.split_whitespace().collect::<Vec<_>>().join(" "),
        None => rustix::system::uname().machine().to_string_lossy().into_owned(),
    }
}

fn pretty_name(os_release: &str) -> String {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or_default().trim_matches('"').to_owned()
}

/// `virtual machine (KVM)`, `container (docker)`, both, or nothing.
fn virtualisation(cpuinfo: &str) -> String {
    let mut found = Vec::new();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    if flags.split_whitespace().any(|flag| flag == "hypervisor") {
        let product = fs::read_to_string("/sys/class/dmi/id/product_name").unwrap_or_default();
        let product = product.trim();
        found.push(if product.is_empty() {
            "virtual machine".to_owned()
        } else {
            format!("virtual machine ({product})")
        });
    }
    let groups = fs::read_to_string("/proc/1/cgroup").unwrap_or_default();
    let by_group = ["docker", "kubepods", "lxc", "containerd"].into_iter().find(|name| groups.contains(name));
    let by_file = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let by_file = by_file.into_iter().find(|(path, _)| Path::new(path).exists()).map(|(_, name)| name);
    if let Some(name) = by_group.or(by_file) {
        found.push(format!("container ({name})"));
    }
    found.join(", ")
}

/// The cgroups of this process, of version 2 or 1, as seen below `/sys/fs/cgroup`.
#[derive(Debug)]
pub struct ControlGroup {
    /// Directories from the process's own group up to the root: the tightest limit of all holds.
    unified: Vec<PathBuf>,
    cpu: Vec<PathBuf>,
    memory: Vec<PathBuf>,
}

impl ControlGroup {
    /// From the files of the kernel below `root`, which is `/` but in tests.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let root = &root.join("sys/fs/cgroup");
        let of = |controller: &str| path_of(&text, controller);
        Self {
            unified: up_to(root, of("")),
            cpu: up_to(&root.join("cpu"), of("cpu")),
            memory: up_to(&root.join("memory"), of("memory")),
        }
    }

    /// Processors that may be used; `None`: no limit.
    #[must_use]
    pub fn cpu_limit(&self) -> Option<f64> {
        let second = lowest(&self.unified, |group| parse_cpu_max(&read(group, "cpu.max")?));
        let first = lowest(&self.cpu, |group| {
            let quota: f64 = read(group, "cpu.cfs_quota_us")?.trim().parse().ok()?;
            let period: f64 = read(group, "cpu.cfs_period_us")?.trim().parse().ok()?;
            (quota > 0.0 && period > 0.0).then(|| quota / period)
        });
        second.or(first)
    }

    /// Memory that may be used, bytes; `None`: no limit.
    #[must_use]
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        /// Version 1 says "no limit" by a number near 2^63.
        const NO_LIMIT: f64 = 4e18;
        let number = |text: String| text.trim().parse::<f64>().ok().filter(|bytes| *bytes < NO_LIMIT);
        let second = lowest(&self.unified, |group| number(read(group, "memory.max")?));
        let first = lowest(&self.memory, |group| number(read(group, "memory.limit_in_bytes")?));
        second.or(first).map(|bytes| bytes as u64)
    }
}

fn read(group: &Path, file: &str) -> Option<String> {
    fs::read_to_string(group.join(file)).ok()
}

fn lowest(groups: &[PathBuf], limit: impl Fn(&Path) -> Option<f64>) -> Option<f64> {
    groups.iter().filter_map(|group| limit(group)).min_by(f64::total_cmp)
}

/// `max 100000` or `150000 100000`: microseconds of CPU in each period of so many microseconds.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then(|| quota / period)
}

/// The path of the group of `controller` (empty: version 2) in `/proc/PID/cgroup`: `4:cpu,cpuacct:/path`.
pub(super) fn path_of<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

fn up_to(root: &Path, path: Option<&str>) -> Vec<PathBuf> {
    let Some(path) = path else { return Vec::new() };
    let own = root.join(path.trim_start_matches('/'));
    own.ancestors().take_while(|directory| directory.starts_with(root)).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        let machine = Machine::of_this_host();
        assert!(
            machine.cpus >= 1 && machine.memory_bytes > 1 << 20 && machine.open_files_max > 0,
            "{machine:?}"
        );
        assert!(machine.kernel.starts_with("Linux ") && !machine.cpu_model.is_empty(), "{machine:?}");
    }

    #[test]
    fn limits_of_both_versions_of_control_groups_are_read() {
        assert_eq!(parse_cpu_max("150000 100000\n"), Some(1.5));
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        let text = "5:cpu,cpuacct:/one/two\n2:memory:/one\n0::/three\n";
        assert_eq!(path_of(text, "cpu"), Some("/one/two"));
        assert_eq!(path_of(text, ""), Some("/three"));
        let home = tempfile::tempdir().unwrap();
        let inner = home.path().join("one/two");
        fs::create_dir_all(&inner).unwrap();
        fs::write(home.path().join("one/cpu.max"), "200000 100000").unwrap();
        fs::write(inner.join("cpu.max"), "max 100000").unwrap();
        let groups =
            ControlGroup { unified: up_to(home.path(), Some("/one/two")), cpu: vec![], memory: vec![] };
        assert_eq!(groups.cpu_limit(), Some(2.0));
    }
}
