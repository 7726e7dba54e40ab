//! Findings about processors, clocks and who else uses them.

use super::{Files, Finding, Observed, Reading};
use crate::telemetry::ControlGroup;
use std::collections::BTreeSet;

const CPUS: &str = "sys/devices/system/cpu";

/// The frequency governors of all processors.
pub(super) fn governor(files: &Files) -> Option<Finding> {
    let cpus: Vec<_> = files.names(CPUS).into_iter().filter(|name| is_cpu(name)).collect();
    let governors: Vec<_> =
        cpus.iter().filter_map(|cpu| files.text(&format!("{CPUS}/{cpu}/cpufreq/scaling_governor"))).collect();
    let of = governors.len();
    let slow: Vec<&str> =
        governors.iter().map(String::as_str).filter(|name| *name != "performance").collect();
    if slow.is_empty() {
        return Some(Finding::fine(Reading::Governor { of, slow: 0, names: String::new() }));
    }
    let names = BTreeSet::from_iter(slow.iter().copied());
    let names = Vec::from_iter(names).join(", ");
    let driver = files.text(&format!("{CPUS}/{}/cpufreq/scaling_driver", cpus[0]));
    let preference = files.text(&format!("{CPUS}/{}/cpufreq/energy_performance_preference", cpus[0]));
    let more: Vec<_> = [driver, preference].into_iter().flatten().collect();
    let names = if more.is_empty() { names } else { format!("{names} ({})", more.join(", ")) };
    Some(Finding::warning(Reading::Governor { of, slow: slow.len(), names }))
}

fn is_cpu(name: &str) -> bool {
    name.strip_prefix("cpu")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether processors may clock higher while few of them are busy.
pub(super) fn turbo(files: &Files) -> Option<Finding> {
    let intel = format!("{CPUS}/intel_pstate/no_turbo");
    let generic = format!("{CPUS}/cpufreq/boost");
    let (on, file, off) = match (files.number(&intel), files.number(&generic)) {
        (Some(value), _) => (Some(value == 0), intel, 1),
        (None, boost) => (boost.map(|boost| boost == 1), generic, 0),
    };
    Some(Finding::graded(Reading::Turbo { on, file, off }, false, on == Some(true)))
}

/// Processor time of a machine, in clock ticks: `/proc/stat`'s first line.
#[derive(Debug, Clone, Copy)]
struct Times {
    total: f64,
    idle: f64,
    steal: f64,
}

impl Times {
    fn in_stat(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<f64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest times are part of user and nice.
        let fields = fields.get(..8)?;
        Some(Self { total: fields.iter().sum(), idle: fields[3] + fields[4], steal: fields[7] })
    }

    fn of(observed: &Observed) -> Option<(Self, Self)> {
        let [before, after] = observed.stat.as_ref()?;
        Some((Self::in_stat(before)?, Self::in_stat(after)?))
    }
}

/// What other programs take of the processors now.
pub(super) fn other_load(observed: &Observed) -> Option<Finding> {
    /// Shares of the machine.
    const NOTED: f64 = 0.02;
    const HURTS: f64 = 0.05;
    let (before, after) = Times::of(observed)?;
    let total = (after.total - before.total).max(1.0);
    let steal = after.steal - before.steal;
    let share = ((total - (after.idle - before.idle) - steal) / total).clamp(0.0, 1.0);
    let reading = Reading::OtherLoad { share, busiest: observed.busiest.clone() };
    Some(Finding::graded(reading, share > HURTS, share > NOTED))
}

/// What the hypervisor takes of the processors for others.
pub(super) fn steal(observed: &Observed) -> Option<Finding> {
    const NOTED: f64 = 0.005;
    const HURTS: f64 = 0.02;
    let (before, after) = Times::of(observed)?;
    let now = (after.steal - before.steal) / (after.total - before.total).max(1.0);
    let ever = after.steal / after.total.max(1.0);
    Some(Finding::graded(Reading::Steal { now, ever }, now > HURTS, now > NOTED || ever > NOTED))
}

/// Whether client and server get in each other's way.
pub(super) fn processors(files: &Files) -> Option<Finding> {
    const ENOUGH: usize = 4;
    let text = files.text("proc/cpuinfo")?;
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    (count > 0).then(|| Finding::graded(Reading::Processors { count }, false, count < ENOUGH))
}

/// Limits of this process's cgroup.
pub(super) fn limits(files: &Files) -> Option<Finding> {
    let group = ControlGroup::below(files.root());
    let (cpus, memory) = (group.cpu_limit(), group.memory_limit_bytes());
    let reading = Reading::Limits { cpus, memory_mb: memory.map(|bytes| bytes / 1_000_000) };
    Some(Finding::graded(reading, cpus.is_some(), memory.is_some()))
}

/// What the time is read from.
pub(super) fn clock_source(files: &Files) -> Option<Finding> {
    const DIRECTORY: &str = "sys/devices/system/clocksource/clocksource0";
    const SLOW: [&str; 6] = ["hpet", "acpi_pm", "jiffies", "xen", "hyperv_clocksource_msr", "pit"];
    let current = files.text(&format!("{DIRECTORY}/current_clocksource"))?;
    let available = files.text(&format!("{DIRECTORY}/available_clocksource")).unwrap_or_default();
    let is_slow = SLOW.contains(&current.as_str());
    let tsc = available.split_whitespace().any(|name| name == "tsc");
    Some(Finding::graded(Reading::ClockSource { current, available, tsc }, is_slow, false))
}

/// Whether this is a physical machine.
pub(super) fn virtualisation(files: &Files) -> Option<Finding> {
    let cpuinfo = files.text("proc/cpuinfo")?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let virtual_machine = flags.split_whitespace().any(|flag| flag == "hypervisor");
    let product = files.text("sys/class/dmi/id/product_name").filter(|_| virtual_machine).unwrap_or_default();
    let groups = files.text("proc/1/cgroup").unwrap_or_default();
    let is_named = ["docker", "kubepods", "lxc", "containerd"].iter().any(|name| groups.contains(name));
    let container = is_named || files.has(".dockerenv") || files.has("run/.containerenv");
    let reading = Reading::Virtualisation { virtual_machine, product, container };
    Some(Finding::graded(reading, false, virtual_machine || container))
}
