//! Who has created a Job: a process of this machine that can be told from a later one. Where it is gone, its
//! Job is of no use to anybody.

use procfs::process::Process;
use std::{fs, os::unix::fs::MetadataExt as _};

/// This process, as a Job says by whom it was created.
pub(super) fn this() -> String {
    i32::try_from(std::process::id()).ok().and_then(named).unwrap_or_default()
}

/// Whether it was a process that could be seen from here, and has ended.
pub(super) fn has_ended(creator: &str) -> bool {
    let Some((place, process)) = creator.rsplit_once('/') else { return false };
    let pid = process.split('-').next().and_then(|pid| pid.parse().ok());
    place == self::place() && pid.is_some_and(|pid| named(pid).as_deref() != Some(creator))
}

fn named(pid: i32) -> Option<String> {
    const ZOMBIE: char = 'Z';
    let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
    (stat.state != ZOMBIE).then(|| format!("{}/{pid}-{}", place(), stat.starttime))
}

/// This start of the machine, and the namespace in which processes have their numbers.
fn place() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |file| file.ino());
    format!("{}/{namespace}", boot.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_place_that_is_gone_has_ended() {
        let this = this();
        assert!(!has_ended(&this), "{this}");
        assert!(has_ended(&format!("{this}0")), "another one has its number now");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&format!("{}/{}-1", place(), child.id())));
        assert!(!has_ended("another-boot/1/5-1"), "it may live");
        assert!(!has_ended(""));
    }
}
