//! How a process ended, with what the kernel knows about it: `signal: 9` alone does not say who sent it.

use rustix::fs::{Mode, OFlags, open};
use std::{fs, os::unix::process::ExitStatusExt as _, process::ExitStatus};

/// SIGKILL, which nobody sends by accident but the kernel's OOM killer.
const KILL: i32 = 9;
/// Bytes of one message of the kernel's, and messages that are read: its buffer holds no more.
const MESSAGE_MAX: usize = 8192;
const MESSAGES_MAX: usize = 100_000;

/// Processes that the kernel has killed for lack of memory since the machine started; `None`: it does not
/// say.
#[must_use]
pub fn memory_kills() -> Option<u64> {
    kills_in(&fs::read_to_string("/proc/vmstat").ok()?)
}

fn kills_in(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

/// The exit status of process `pid` in words; `kills_before` is [`memory_kills`] when it was started.
#[must_use]
pub fn how(status: ExitStatus, pid: u32, kills_before: Option<u64>) -> String {
    if status.signal() != Some(KILL) {
        return status.to_string();
    }
    let kills = memory_kills().zip(kills_before).map(|(now, before)| now.saturating_sub(before));
    format!("{status}, {}", killer(kernel_words(pid).as_deref(), kills))
}

/// Who killed it, as far as that can be known.
fn killer(words: Option<&str>, kills: Option<u64>) -> String {
    match (words, kills) {
        (Some(words), _) => format!("by the kernel because memory ran out: {words}"),
        (None, Some(0)) => "by somebody; the kernel did not kill it for lack of memory".to_owned(),
        (None, Some(1)) => {
            "probably by the kernel: it killed one process for lack of memory at that time".to_owned()
        }
        (None, Some(kills)) => {
            format!("probably by the kernel: it killed {kills} processes for lack of memory at that time")
        }
        (None, None) => "by somebody, or by the kernel for lack of memory".to_owned(),
    }
}

/// What the kernel's log says about killing a process, where it may be read.
fn kernel_words(pid: u32) -> Option<String> {
    let log = open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut message = [0; MESSAGE_MAX];
    let mut found = None;
    for _ in 0..MESSAGES_MAX {
        match rustix::io::read(&log, &mut message) {
            Ok(length) if length > 0 => {
                let text = String::from_utf8_lossy(&message[..length]);
                found = words_about(&text, pid).or(found);
            }
            // the oldest one was overwritten meanwhile: the next follows
            Err(rustix::io::Errno::PIPE) => {}
            _ => break,
        }
    }
    found
}

/// `6,1234,5678,-;Out of memory: Killed process 42 (mariadbd) ...`, where it is about this process.
fn words_about(message: &str, pid: u32) -> Option<String> {
    let (_, text) = message.split_once(';')?;
    let line = text.lines().next().unwrap_or_default();
    line.contains(&format!("Killed process {pid} ")).then(|| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_told_with_its_sender() {
        assert_eq!(how(ExitStatus::from_raw(256), 1, None), "exit status: 1");
        let segfault = how(ExitStatus::from_raw(11), 1, None);
        assert!(segfault.starts_with("signal: 11") && !segfault.contains("kernel"), "{segfault}");
        let killed = how(ExitStatus::from_raw(KILL), u32::MAX, memory_kills());
        assert!(killed.starts_with("signal: 9") && killed.contains("by somebody"), "{killed}");
        assert!(killer(None, Some(2)).contains("killed 2 processes"));
    }

    #[test]
    fn what_the_kernel_logs_is_found_by_the_process() {
        let message = "6,1,2,-;Out of memory: Killed process 42 (mariadbd) total-vm:1kB\n SUBSYSTEM=x";
        assert_eq!(
            words_about(message, 42).as_deref(),
            Some("Out of memory: Killed process 42 (mariadbd) total-vm:1kB")
        );
        assert_eq!(words_about(message, 4), None);
        assert_eq!(kills_in("nr_free 1\noom_kill 17\nx 2\n"), Some(17));
        assert_eq!(kills_in("nr_free 1\n"), None);
    }
}
