//! The limits of a server in a container. Its client creates the cgroup and gets the limits; what holds is
//! read from the cgroup that the server's process is then in.

use super::{
    Cgroup, Controller, Group, cannot, disk_of, has_io,
    hierarchy::{self, Membership},
    io_limits, needed, quota,
};
use crate::provision::Error;
use std::{fs, path::Path};

impl Cgroup {
    /// What a client of containers is told, for a server whose data will be in `data`.
    ///
    /// # Errors
    /// [`Error::CannotLimit`] where the disk of the data cannot be limited.
    pub(in crate::provision) fn flags(&self, data: &Path) -> Result<Vec<String>, Error> {
        let wanted = &self.wanted;
        let mut flags = Vec::new();
        if let Some(bytes) = wanted.memory_bytes {
            // the same with swap space: none of it
            flags.push(format!("--memory={bytes}"));
            flags.push(format!("--memory-swap={bytes}"));
        }
        if let Some(cpus) = wanted.cpus {
            let (quota, period) = quota(cpus);
            flags.push(format!("--cpu-period={period}"));
            flags.push(format!("--cpu-quota={quota}"));
        }
        if !wanted.pin.is_empty() {
            let numbers: Vec<String> = wanted.pin.iter().map(u32::to_string).collect();
            flags.push(format!("--cpuset-cpus={}", numbers.join(",")));
        }
        if has_io(wanted) {
            let disk = disk_of(data)?;
            let device = device(&disk).ok_or_else(|| {
                cannot(Controller::Io.what(), format!("the kernel does not report the name of disk {disk}"))
            })?;
            let names = ["read-bps", "write-bps", "read-iops", "write-iops"];
            for (limit, name) in io_limits(wanted).into_iter().zip(names) {
                flags.extend(limit.value.map(|value| format!("--device-{name}={device}:{value}")));
            }
        }
        Ok(flags)
    }

    /// Takes the groups that the client has made for the server with this process number for its own, to read
    /// them.
    pub(in crate::provision) fn adopt(&mut self, pid: u32, data: &Path) {
        self.is_own = false;
        self.disk = has_io(&self.wanted).then(|| disk_of(data).ok()).flatten();
        self.groups = needed(&self.wanted)
            .filter_map(|controller| {
                let Membership { version, directory, root } = hierarchy::group_of(controller, pid)?;
                // with version 2 the process may be in a group below the one that has the limits
                let levels = directory.ancestors().take_while(|level| level.starts_with(&root));
                let groups: Vec<Group> =
                    levels.map(|level| Group { version, directory: level.to_owned() }).collect();
                let limits = groups.iter().find(|group| version == 1 || self.has_limit(group, controller));
                Some((controller, limits.or(groups.first())?.clone()))
            })
            .collect();
    }

    fn has_limit(&self, group: &Group, controller: Controller) -> bool {
        match controller {
            Controller::Memory => group.memory().is_some(),
            Controller::Cpu => group.cpus().is_some(),
            Controller::Io => {
                let mut found = self.wanted.clone();
                group.io(self.disk.as_deref().unwrap_or_default(), &mut found);
                has_io(&found)
            }
        }
    }
}

/// The file of a disk that the kernel numbers so.
fn device(disk: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/dev/block/{disk}/uevent")).ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    Some(format!("/dev/{name}"))
}
