//! Where cgroups can be created on this machine: which version of them the kernel has for each resource, and
//! which part of the tree belongs to this process. It only looks.
//!
//! Cgroups are created below Prony's own one, so that limits on Prony hold for its servers as well. With
//! version 2, a cgroup with processes of its own cannot share its controllers with groups below it; then the
//! nearest one above that this user may write to is used.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What a group can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::provision) enum Controller {
    /// Memory.
    Memory,
    /// CPU time.
    Cpu,
    /// Reading and writing of disks.
    Io,
}

/// A directory in which a group can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::provision) enum Parent {
    /// Of version 1: one tree for each controller.
    One(PathBuf),
    /// Of version 2: the group that Prony itself is in, and the root of the tree that is seen here.
    Two {
        /// Prony's own group.
        own: PathBuf,
        /// The root.
        root: PathBuf,
    },
}

/// A group that a process is in.
pub(in crate::provision) struct Membership {
    /// Of groups: 1 or 2.
    pub(in crate::provision) version: u8,
    /// The group.
    pub(in crate::provision) directory: PathBuf,
    /// The root of the tree that is seen here; of version 1 the group itself.
    pub(in crate::provision) root: PathBuf,
}

impl Controller {
    /// As the kernel calls it.
    pub(in crate::provision) fn name(self, version: u8) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Io if version == 1 => "blkio",
            Self::Io => "io",
        }
    }

    /// In words.
    pub(in crate::provision) fn what(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "CPU time",
            Self::Io => "disk",
        }
    }
}

/// Where groups with this controller are made; `None`: the kernel has none.
pub(in crate::provision) fn parent(controller: Controller) -> Option<Parent> {
    parent_of(controller, "self")
}

/// The group with this controller that a process is in.
pub(in crate::provision) fn group_of(controller: Controller, pid: u32) -> Option<Membership> {
    Some(match parent_of(controller, &pid.to_string())? {
        Parent::One(directory) => Membership { version: 1, root: directory.clone(), directory },
        Parent::Two { own, root } => Membership { version: 2, directory: own, root },
    })
}

fn parent_of(controller: Controller, process: &str) -> Option<Parent> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    parent_in(controller, &read("/proc/self/mountinfo"), &read(&format!("/proc/{process}/cgroup")))
}

/// The same from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn parent_in(controller: Controller, mounts: &str, groups: &str) -> Option<Parent> {
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::of).collect();
    let name = controller.name(1);
    let one =
        mounts.iter().find(|mount| mount.kind == "cgroup" && mount.options.split(',').any(|it| it == name));
    if let Some(mount) = one {
        let own = groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers.split(',').any(|it| it == name).then_some(path)
        })?;
        return Some(Parent::One(mount.below(own)));
    }
    let mount = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Parent::Two { own: mount.below(own), root: mount.point.to_owned() })
}

/// One line of `/proc/self/mountinfo`.
struct Mount<'a> {
    /// What of the tree is mounted.
    root: &'a str,
    point: &'a Path,
    kind: &'a str,
    /// Of the file system.
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (first, last) = line.split_once(" - ")?;
        let mut first = first.split(' ').skip(3);
        let (root, point) = (first.next()?, first.next()?);
        let mut last = last.split(' ');
        let (kind, options) = (last.next()?, last.nth(1)?);
        Some(Self { root, point: Path::new(point), kind, options })
    }

    /// Where a group is visible here. In a container, whatever is above the mount is not visible, and the
    /// container's own group is the mount itself.
    fn below(&self, group: &str) -> PathBuf {
        let inner = Path::new(group).strip_prefix(self.root).unwrap_or(Path::new(""));
        let inner = inner.strip_prefix("/").unwrap_or(inner);
        if inner.as_os_str().is_empty() { self.point.to_owned() } else { self.point.join(inner) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_of_a_usual_machine() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let groups = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope\n";
        for controller in [Controller::Memory, Controller::Io] {
            let Some(Parent::Two { own, root }) = parent_in(controller, mounts, groups) else {
                panic!("version 2")
            };
            assert!(own.ends_with("user@1000.service/app.slice/run-r1.scope"), "{own:?}");
            assert_eq!(root, Path::new("/sys/fs/cgroup"));
        }
    }

    #[test]
    fn version_1_has_a_tree_for_each_and_version_2_what_is_left() {
        let mounts = "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 / /cg/memory rw - \
                      cgroup cgroup rw,memory\n41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/jobs/7\n2:cpu,cpuacct:/\n0::/\n";
        let found = |controller| parent_in(controller, mounts, groups);
        assert_eq!(found(Controller::Memory), Some(Parent::One("/cg/memory/jobs/7".into())));
        assert_eq!(found(Controller::Cpu), Some(Parent::One("/cg/cpu".into())));
        let unified = PathBuf::from("/cg/unified");
        assert_eq!(found(Controller::Io), Some(Parent::Two { own: unified.clone(), root: unified }));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let mounts = "35 31 0:32 /docker/1a /cg/memory ro - cgroup cgroup rw,memory\n";
        for groups in ["4:memory:/docker/1a\n", "4:memory:/\n"] {
            let found = parent_in(Controller::Memory, mounts, groups);
            assert_eq!(found, Some(Parent::One("/cg/memory".into())), "{groups}");
        }
        assert_eq!(parent_in(Controller::Cpu, mounts, "4:memory:/\n"), None);
    }
}
