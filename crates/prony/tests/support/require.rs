//! What a test needs that not every machine has. A test that has to do without says so where everybody sees
//! it, and fails where the environment has `CI`: what a pipeline cannot test it must install. Excused is only
//! what no package gives, each with an independent look at the machine, so that no mistake of Prony's can be
//! the excuse.

use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
};

/// File to which each line about what was not tested is added; `scripts/tests.sh` shows it at the end.
pub(crate) const TOLD_IN: &str = "PRONY_NOT_TESTED";

/// Something that not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The program sysbench.
    Sysbench,
    /// `python3 -m venv`, with pip in it.
    Python,
    /// Debian's tools for packages.
    Debian,
    /// The program that makes a root file system from Debian packages, as root.
    Mmdebstrap,
    /// The program that builds images from a Containerfile, as root.
    Buildah,
    /// A file system that is full after some megabytes.
    SmallDisk,
    /// A file system in an image, on a loop device.
    LoopDevice,
    /// Network namespaces, which servers are set apart in.
    Namespaces,
    /// Time namespaces, in which a process has a clock that is off.
    TimeNamespaces,
    /// Cgroups, which limit servers.
    ControlGroups,
    /// What a Kubernetes on this machine needs.
    Kubernetes,
    /// A block device below temporary files, which writing can be limited on.
    BlockDevice,
    /// The program that makes backups of MariaDB's servers.
    MariadbBackup,
}

impl Need {
    /// All of them.
    pub(crate) const ALL: [Self; 13] = [
        Self::Sysbench,
        Self::Python,
        Self::Debian,
        Self::Mmdebstrap,
        Self::Buildah,
        Self::SmallDisk,
        Self::LoopDevice,
        Self::Namespaces,
        Self::TimeNamespaces,
        Self::ControlGroups,
        Self::Kubernetes,
        Self::BlockDevice,
        Self::MariadbBackup,
    ];

    /// What it is called, and how a machine gets it.
    pub(crate) fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Sysbench => ("sysbench", "apt-get install sysbench"),
            Self::Python => ("Python's venv", "apt-get install python3-venv"),
            Self::Debian => ("Debian's dpkg-deb", "apt-get install dpkg"),
            Self::Mmdebstrap => ("mmdebstrap", "run it as root, with apt-get install mmdebstrap"),
            Self::Buildah => ("buildah", "run it as root, with apt-get install buildah"),
            Self::SmallDisk => ("a small disk", "run it as root, where mount is allowed"),
            Self::LoopDevice => ("a loop device", "run it as root, where mount is allowed, with e2fsprogs"),
            Self::Namespaces => ("network namespaces", "run it as root, with iproute2 and util-linux"),
            Self::TimeNamespaces => ("time namespaces", "run it as root, with util-linux"),
            Self::ControlGroups => ("control groups", "run it as root, where /sys/fs/cgroup can be written"),
            Self::Kubernetes => (
                "a Kubernetes of its own",
                "run it as root, with Go and apt-get install etcd-server containerd runc \
                 containernetworking-plugins iproute2 openssl",
            ),
            Self::MariadbBackup => ("mariadb-backup", "apt-get install mariadb-backup"),
            Self::BlockDevice => ("a disk that can be limited", "set TMPDIR to a directory on ext4 or XFS"),
        }
    }

    /// Why some machines cannot have it, whatever is installed there, and whether this is one of them.
    pub(crate) fn excuse(self) -> Option<Excuse> {
        let excuse = |reason, holds_here| Some(Excuse { reason, holds_here });
        match self {
            Self::Sysbench
            | Self::Python
            | Self::Debian
            | Self::Mmdebstrap
            | Self::Buildah
            | Self::MariadbBackup => None,
            Self::SmallDisk | Self::LoopDevice => {
                excuse("a container's root may have no right to mount", || !has_right(CAP_SYS_ADMIN))
            }
            Self::Namespaces => excuse("a kernel or a container may forbid them", || {
                !has_right(CAP_SYS_ADMIN) || !runs(Command::new("unshare").args(["--net", "true"]))
            }),
            Self::TimeNamespaces => excuse("a kernel or a container may forbid them", || {
                !has_right(CAP_SYS_ADMIN) || !runs(Command::new("unshare").args(["--time", "true"]))
            }),
            Self::ControlGroups => excuse("a container may see them without the right to write", || {
                !["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].into_iter().any(can_have_directory)
            }),
            Self::Kubernetes => excuse("a container's root may have no right to mount", || {
                !has_right(CAP_SYS_ADMIN) || !runs(Command::new("unshare").args(["--net", "true"]))
            }),
            Self::BlockDevice => excuse("overlayfs, tmpfs and btrfs have none of their own", || {
                let device = fs::metadata(env::temp_dir()).map_or(0, |found| found.dev());
                rustix::fs::major(device) == 0
            }),
        }
    }
}

/// Why a pipeline may go without something.
pub(crate) struct Excuse {
    /// In words.
    pub(crate) reason: &'static str,
    /// Looks whether this machine is one of those.
    pub(crate) holds_here: fn() -> bool,
}

/// What becomes of a test that lacks what it needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is left out, and that is told.
    LeftOut,
    /// It fails.
    Fails,
}

/// The rule: without a pipeline it is left out; in one it fails, unless this machine is excused.
pub(crate) fn judge(in_ci: bool, is_excused: bool) -> Outcome {
    if in_ci && !is_excused { Outcome::Fails } else { Outcome::LeftOut }
}

/// What was found; `None`: it is not here and the test is to be left out, which has been told.
///
/// # Panics
/// In a pipeline, unless a machine may be without it and this one is.
pub(crate) fn require<T>(need: Need, found: Result<T, String>) -> Option<T> {
    let why = match found {
        Ok(found) => return Some(found),
        Err(why) => why,
    };
    let (name, remedy) = need.text();
    let excuse = need.excuse().filter(|excuse| (excuse.holds_here)());
    let current = thread::current();
    let test = current.name().unwrap_or("a test");
    let line = match &excuse {
        Some(Excuse { reason, .. }) => format!("NOT TESTED: {test}: needs {name}; {reason} ({why})\n"),
        None => format!("NOT TESTED: {test}: needs {name} ({why}): {remedy}\n"),
    };
    tell(&line);
    assert!(judge(is_ci(), excuse.is_some()) == Outcome::LeftOut, "{line}");
    None
}

/// Whether a program can be run, as `require` wants to have it.
pub(crate) fn program(command: &mut Command) -> Result<(), String> {
    if runs(command) { Ok(()) } else { Err(format!("{command:?} does not work")) }
}

/// A pipeline says so in `CI`, with any word but one that means no.
fn is_ci() -> bool {
    env::var("CI").is_ok_and(|said| !["", "0", "false", "no"].contains(&said.as_str()))
}

/// To the process's own output, since what a test that passes prints is not shown.
fn tell(line: &str) {
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = env::var_os(TOLD_IN) {
        let file = fs::OpenOptions::new().create(true).append(true).open(file);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of what was not tested");
    }
}

/// Number of the right to mount, to make namespaces and much else.
const CAP_SYS_ADMIN: u32 = 21;

/// Whether the kernel gives this process that right (capabilities(7)).
fn has_right(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask >> number & 1 == 1)
}

fn runs(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether a directory can be made there (which is a group, where it is in their file system) and removed.
fn can_have_directory(parent: &str) -> bool {
    let directory = Path::new(parent).join(format!("prony-test-{}", std::process::id()));
    fs::create_dir(&directory).and_then(|()| fs::remove_dir(&directory)).is_ok()
}
