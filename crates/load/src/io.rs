//! The system calls that have no safe wrapper, each as one small safe function. The only module of Prony with unsafe code.
#![expect(unsafe_code, reason = "libc calls without a safe wrapper elsewhere")]

use rustix::fd::{AsRawFd as _, BorrowedFd};
use std::{io, mem::MaybeUninit, time::Duration};

/// CPU time of the process or of the calling thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

/// What the whole process has used so far.
#[must_use]
pub fn process_usage() -> Usage {
    usage(libc::RUSAGE_SELF)
}

/// What the calling thread has used so far.
#[must_use]
pub fn thread_usage() -> Usage {
    usage(libc::RUSAGE_THREAD)
}

fn usage(who: libc::c_int) -> Usage {
    let mut raw = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live, writable rusage; all-zero is a valid value should the call fail.
    let raw = unsafe {
        libc::getrusage(who, raw.as_mut_ptr());
        raw.assume_init()
    };
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec as u64) + Duration::from_micros(value.tv_usec as u64)
    };
    Usage { user: time(raw.ru_utime), system: time(raw.ru_stime) }
}

/// Peak resident memory of this process, bytes; 0 where the kernel does not tell. Not `ru_maxrss`, which a process
/// inherits from the one that started it.
#[must_use]
pub fn memory_bytes_max() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// Puts the calling thread under SCHED_BATCH, which needs no privilege: being woken, it does not preempt the server's
/// threads that run on the same processor. Returns whether the kernel accepted.
pub fn be_a_batch_thread() -> bool {
    // SAFETY: sched_param has no invalid values, and 0 names the calling thread.
    unsafe {
        let parameter: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameter) == 0
    }
}

/// Lets a socket that is bound to an address without a port get its port when it connects: then the port need only be
/// free towards that one server, and thousands of connections fit on one address.
pub fn choose_port_when_connecting(socket: BorrowedFd<'_>) -> io::Result<()> {
    let yes: libc::c_int = 1;
    // SAFETY: the value is a live c_int of the stated size, the descriptor is borrowed and so open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const yes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_uses_time() {
        let before = thread_usage();
        let begun = std::time::Instant::now();
        let mut sum = 0u64;
        while begun.elapsed() < Duration::from_millis(60) {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        let after = thread_usage();
        assert!(after.user + after.system > before.user + before.system);
        assert!(memory_bytes_max() > 1 << 20);
    }

    #[test]
    fn batch_scheduling_is_granted_without_privilege() {
        assert!(std::thread::spawn(be_a_batch_thread).join().expect("no panic"));
    }
}
