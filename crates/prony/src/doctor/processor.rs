//! Findings about processors, clocks and who else uses them.

use super::{Files, Finding, Observed};
use crate::telemetry::ControlGroup;
use std::collections::BTreeSet;

const CPUS: &str = "sys/devices/system/cpu";

/// The frequency governors of all processors.
pub(super) fn governor(files: &Files) -> Option<Finding> {
    const ID: &str = "governor";
    let cpus: Vec<_> = files.names(CPUS).into_iter().filter(|name| is_cpu(name)).collect();
    let governors: Vec<_> =
        cpus.iter().filter_map(|cpu| files.text(&format!("{CPUS}/{cpu}/cpufreq/scaling_governor"))).collect();
    if governors.is_empty() {
        return Some(Finding::fine(
            ID,
            "the frequency is not managed by this system (usual in virtual machines)",
        ));
    }
    let others: BTreeSet<_> = governors.iter().filter(|name| *name != "performance").collect();
    let total = governors.len();
    if others.is_empty() {
        return Some(Finding::fine(ID, format!("performance on all of {total} processors")));
    }
    let count = governors.iter().filter(|name| *name != "performance").count();
    let names: Vec<_> = others.iter().map(|name| name.as_str()).collect();
    let driver = files.text(&format!("{CPUS}/{}/cpufreq/scaling_driver", cpus[0]));
    let preference = files.text(&format!("{CPUS}/{}/cpufreq/energy_performance_preference", cpus[0]));
    let more: Vec<_> = [driver, preference].into_iter().flatten().collect();
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
    Some(Finding::warning(
        ID,
        format!("{}{more} on {count} of {total} processors", names.join(", ")),
        "the clock follows the load: few connections are measured on a slower machine than many, and the \
         first seconds of a trial on a slower one than the rest",
        "sudo cpupower frequency-set -g performance, or: echo performance | sudo tee \
         /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    ))
}

fn is_cpu(name: &str) -> bool {
    name.strip_prefix("cpu")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether processors may clock higher while few of them are busy.
pub(super) fn turbo(files: &Files) -> Option<Finding> {
    const ID: &str = "turbo";
    let intel = format!("{CPUS}/intel_pstate/no_turbo");
    let generic = format!("{CPUS}/cpufreq/boost");
    let (on, file, off) = if let Some(value) = files.number(&intel) {
        (value == 0, intel, 1)
    } else {
        let Some(boost) = files.number(&generic) else {
            return Some(Finding::fine(ID, "not managed by this system (usual in virtual machines)"));
        };
        (boost == 1, generic, 0)
    };
    if !on {
        return Some(Finding::fine(ID, "off: the clock is the same however many processors are busy"));
    }
    Some(Finding::note(
        ID,
        "on",
        "few busy processors clock higher than many, and a hot machine clocks lower: curves over \
         connections bend for reasons that are not the server's",
        format!("for curves that compare: echo {off} | sudo tee /{file}"),
    ))
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
    const ID: &str = "other-load";
    let (before, after) = Times::of(observed)?;
    let total = (after.total - before.total).max(1.0);
    let steal = after.steal - before.steal;
    let share = ((total - (after.idle - before.idle) - steal) / total).clamp(0.0, 1.0);
    let names: Vec<_> = observed
        .busiest
        .iter()
        .map(|busy| format!("{} (pid {}, {:.0} % of one processor)", busy.name, busy.pid, busy.cpus * 100.0))
        .collect();
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let read = format!("other programs take {:.0} % of the processors{names}", share * 100.0);
    let effect = "they take time from the server in some trials and not in others: throughput falls and \
                  tail latency grows by chance";
    let remedy = "stop them, or measure when they are done";
    Some(if share > HURTS {
        Finding::warning(ID, read, effect, remedy)
    } else if share > NOTED {
        Finding::note(ID, read, effect, remedy)
    } else {
        Finding::fine(ID, format!("other programs take {:.1} % of the processors", share * 100.0))
    })
}

/// What the hypervisor takes of the processors for others.
pub(super) fn steal(observed: &Observed) -> Option<Finding> {
    const NOTED: f64 = 0.005;
    const HURTS: f64 = 0.02;
    const ID: &str = "steal";
    let (before, after) = Times::of(observed)?;
    let now = (after.steal - before.steal) / (after.total - before.total).max(1.0);
    let ever = after.steal / after.total.max(1.0);
    let read = format!("{:.1} % now, {:.1} % since the machine started", now * 100.0, ever * 100.0);
    let effect = "the hypervisor gave that time to other machines: the server stood still meanwhile, which \
                  shows in tail latency first";
    let remedy = "use a machine with processors of its own (dedicated, not burstable), or more repeats at \
                  another time";
    Some(if now > HURTS {
        Finding::warning(ID, read, effect, remedy)
    } else if now > NOTED || ever > NOTED {
        Finding::note(ID, read, effect, remedy)
    } else {
        Finding::fine(ID, read)
    })
}

/// Whether client and server get in each other's way.
pub(super) fn processors(files: &Files) -> Option<Finding> {
    const ENOUGH: usize = 4;
    const ID: &str = "processors";
    let text = files.text("proc/cpuinfo")?;
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    if count == 0 || count >= ENOUGH {
        return (count > 0).then(|| Finding::fine(ID, format!("{count} processors")));
    }
    Some(Finding::note(
        ID,
        if count == 1 { "1 processor".to_owned() } else { format!("{count} processors") },
        "what the load engine takes, a server on the same machine does not get: absolute figures are lower \
         than the server's own, comparisons hold",
        "for absolute figures run the load from another machine: prony load ... --url \
         mysql://user@server/database",
    ))
}

/// Limits of this process's control group.
pub(super) fn limits(files: &Files) -> Option<Finding> {
    const ID: &str = "limits";
    let group = ControlGroup::below(files.root());
    let cpu = group.cpu_limit().map(|cpus| format!("{cpus:.2} processors"));
    let memory = group.memory_limit_bytes().map(|bytes| format!("{} MB of memory", bytes / 1_000_000));
    let all: Vec<_> = [cpu.clone(), memory].into_iter().flatten().collect();
    if all.is_empty() {
        return Some(Finding::fine(ID, "no limit of processors or memory (control groups)"));
    }
    let read = format!("at most {} for Prony and the servers that it starts", all.join(" and "));
    let remedy = "if it is not meant: raise it where it is set (docker run --cpus and --memory, systemd's \
                  CPUQuota and MemoryMax, a pod's limits)";
    Some(if cpu.is_some() {
        let effect = "once its share is used up, everything stands still until the next slice of 100 ms: \
                      latency has steps that are not the server's";
        Finding::warning(ID, read, effect, remedy)
    } else {
        let effect =
            "the page cache counts, too: reads that a whole machine would keep in memory go to the disk";
        Finding::note(ID, read, effect, remedy)
    })
}

/// What the time is read from.
pub(super) fn clock_source(files: &Files) -> Option<Finding> {
    const DIRECTORY: &str = "sys/devices/system/clocksource/clocksource0";
    const SLOW: [&str; 6] = ["hpet", "acpi_pm", "jiffies", "xen", "hyperv_clocksource_msr", "pit"];
    const ID: &str = "clock-source";
    let current = files.text(&format!("{DIRECTORY}/current_clocksource"))?;
    if !SLOW.contains(&current.as_str()) {
        return Some(Finding::fine(ID, current));
    }
    let available = files.text(&format!("{DIRECTORY}/available_clocksource")).unwrap_or_default();
    let remedy = if available.split_whitespace().any(|name| name == "tsc") {
        format!("echo tsc | sudo tee /{DIRECTORY}/current_clocksource")
    } else {
        "start the kernel with clocksource=tsc tsc=reliable, if the processors' counters run alike".to_owned()
    };
    Some(Finding::warning(
        ID,
        format!("{current} (available: {available})"),
        "each reading of the time is a system call of a microsecond or more; client and server read it \
         several times for each statement",
        remedy,
    ))
}

/// Whether this is a machine of its own.
pub(super) fn virtualisation(files: &Files) -> Option<Finding> {
    const ID: &str = "virtualisation";
    let cpuinfo = files.text("proc/cpuinfo")?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let mut found = Vec::new();
    if flags.split_whitespace().any(|flag| flag == "hypervisor") {
        let product = files.text("sys/class/dmi/id/product_name").unwrap_or_default();
        let shown = if product.is_empty() { String::new() } else { format!(" ({product})") };
        found.push(format!("a virtual machine{shown}"));
    }
    let groups = files.text("proc/1/cgroup").unwrap_or_default();
    let in_container = ["docker", "kubepods", "lxc", "containerd"].iter().any(|name| groups.contains(name));
    if in_container || files.has(".dockerenv") || files.has("run/.containerenv") {
        found.push("a container".to_owned());
    }
    if found.is_empty() {
        return Some(Finding::fine(ID, "none that shows"));
    }
    Some(Finding::note(
        ID,
        found.join(", and in it "),
        "neighbours share caches, memory bandwidth and disks unseen; a virtual disk may confirm writes that \
         are not yet durable",
        "compare only what one run measured; repeat at another time before a small difference is believed",
    ))
}
