//! This machine as a load host for others: what `prony agent` gives to [`load::agent`].

use super::{Place, start};
use load::{
    Link,
    agent::{Agent, Event, Host, Limits},
};
use std::{fs, io, path::PathBuf, thread};

/// An agent on this machine.
pub struct LoadHost {
    launcher: PathBuf,
    host: Host,
    tell: Box<dyn Fn(&Event<'_>) + Send + Sync>,
}

impl LoadHost {
    /// A host with these limits, which reports events to `tell`. `launcher` is the `prony` program.
    pub fn new(launcher: PathBuf, limits: Limits, tell: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        let told = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let (machine, network) = place();
        let host = Host {
            name: told("/proc/sys/kernel/hostname"),
            processors: u32::try_from(processors).unwrap_or(u32::MAX),
            kernel: format!("Linux {}", told("/proc/sys/kernel/osrelease")),
            clock_source: told("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine,
            network,
            is_here: false,
            limits,
        };
        Self { launcher, host, tell: Box::new(tell) }
    }
}

/// What tells this machine, and this process's network on it, from others.
pub(super) fn place() -> (String, String) {
    let machine = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    (machine.trim().to_owned(), network.to_string_lossy().into_owned())
}

impl Agent for LoadHost {
    fn host(&self) -> Host {
        self.host.clone()
    }

    fn start(&self) -> io::Result<Link> {
        let memory_bytes = self.host.limits.memory_bytes;
        let place = Place { launcher: &self.launcher, processors: &[], memory_bytes, is_load_host: true };
        start("load process".to_owned(), &place).map_err(io::Error::other)
    }

    fn tell(&self, event: &Event<'_>) {
        (self.tell)(event);
    }
}
