//! The system calls that have no safe wrapper, each as one small safe function. The only module of Prony with
//! unsafe code.
#![expect(unsafe_code, reason = "libc calls without a safe wrapper elsewhere")]

use rustix::{
    event::epoll::EventFlags,
    fd::{AsRawFd as _, BorrowedFd},
};
use serde::{Deserialize, Serialize};
use std::{fs, io, mem::MaybeUninit, time::Duration};

/// CPU time of the process or of the calling thread.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Usage {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
    /// How long its cgroup was held back, since it had used up its CPU time; of a process only.
    pub throttled: Duration,
}

impl Usage {
    /// What was used since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            throttled: self.throttled.saturating_sub(earlier.throttled),
        }
    }
}

/// What the whole process has used so far.
#[must_use]
pub fn process_usage() -> Usage {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let found = statistics(&groups).into_iter().find_map(|path| fs::read_to_string(path).ok());
    Usage { throttled: found.map_or(Duration::ZERO, |text| throttled(&text)), ..usage(libc::RUSAGE_SELF) }
}

/// Where the kernel may count for the cgroup of a process (`/proc/PID/cgroup`), the likeliest first. Where a
/// container has cgroups of its own, its root is its group, whatever that is called outside.
fn statistics(groups: &str) -> Vec<String> {
    let hierarchy = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?.trim_end_matches('/').to_owned());
        let has_cpu = controllers.is_empty() || controllers.split(',').any(|name| name == "cpu");
        let directory = if controllers.is_empty() { String::new() } else { format!("/{controllers}") };
        has_cpu.then_some((directory, group))
    };
    let found: Vec<_> = groups.lines().filter_map(hierarchy).collect();
    let own = found.iter().map(|(directory, group)| format!("/sys/fs/cgroup{directory}{group}/cpu.stat"));
    let roots = found.iter().map(|(directory, _)| format!("/sys/fs/cgroup{directory}/cpu.stat"));
    own.chain(roots).collect()
}

/// From the counts of a cgroup (`cpu.stat`), version 2 or 1.
fn throttled(counts: &str) -> Duration {
    let count = |name: &str| {
        let line = counts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|count| count.trim().parse::<u64>().ok())
    };
    let by_version_1 = || count("throttled_time").map(Duration::from_nanos);
    count("throttled_usec").map(Duration::from_micros).or_else(by_version_1).unwrap_or_default()
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
    Usage { user: time(raw.ru_utime), system: time(raw.ru_stime), throttled: Duration::ZERO }
}

/// Peak resident memory of this process, bytes; 0 where the kernel does not tell. Not `ru_maxrss`, which a
/// process inherits from the one that started it.
#[must_use]
pub fn memory_bytes_max() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// Puts the calling thread under SCHED_BATCH, which needs no privilege: when it wakes up, it does not preempt
/// server threads on the same processor. Returns whether the kernel accepted.
pub fn be_a_batch_thread() -> bool {
    // SAFETY: sched_param has no invalid values, and 0 names the calling thread.
    unsafe {
        let parameter: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameter) == 0
    }
}

/// Lets the calling thread run as soon as it has something to do, before all ordinary threads, as a network
/// does: by a real-time policy, else by its nice value, else by the shortest time slice, which needs no
/// privilege and which kernels support from 6.12 on. Only for threads that sleep most of the time.
pub fn be_a_prompt_thread() {
    // SAFETY: sched_param has no invalid values, 0 names the calling thread, and sched_attr is as long as it
    // says.
    unsafe {
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = 1;
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        if libc::sched_setscheduler(0, policy, &raw const parameter) == 0
            || libc::setpriority(libc::PRIO_PROCESS, 0, -20) == 0
        {
            return;
        }
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        attributes.size = size_of::<libc::sched_attr>() as u32;
        attributes.sched_runtime = 100_000;
        // an older kernel ignores it or refuses
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0u32);
    }
}

/// Asks the kernel to note when data arrive at a socket, for [`read_with_age`].
///
/// # Errors
/// If the kernel cannot.
pub fn note_arrivals(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Reads what a socket holds, and how long ago the last of it arrived, where [`note_arrivals`] was asked for.
///
/// # Errors
/// As with any read.
pub fn read_with_age(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    /// Aligned as control messages must be.
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all pointers are to live values of the stated sizes; the control messages are walked as the C
    // library's own macros do, within what the kernel has written; a timespec may be read from any
    // aligned or unaligned place.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        let count = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(found) = header.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let at = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                let mut now: libc::timespec = std::mem::zeroed();
                libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now);
                let ns = (now.tv_sec - at.tv_sec) * 1_000_000_000 + (now.tv_nsec - at.tv_nsec);
                return Ok((count as usize, u64::try_from(ns).ok().map(Duration::from_nanos)));
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        Ok((count as usize, None))
    }
}

/// Lets a socket that is bound to an address without a port get its port when it connects. Then the port need
/// only be free towards that one server, and thousands of connections fit on one address.
pub fn choose_port_when_connecting(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the value is a live c_int of the stated size, the descriptor is borrowed and so open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What epoll told of, and room for it.
pub struct Events {
    raw: Vec<libc::epoll_event>,
    /// The kernel cannot wait in nanoseconds (before Linux 5.11), or a sandbox forbids it.
    is_coarse: bool,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Events({})", self.raw.len())
    }
}

impl Events {
    /// Room for so many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self { raw: Vec::with_capacity(count), is_coarse: false }
    }

    /// Waits until something happens, but not longer than `limit`, to the nanosecond. On kernels that can
    /// only wait in milliseconds, it returns early rather than late. (rustix rounds up to milliseconds, which
    /// is why this exists.)
    ///
    /// # Errors
    /// If `poll` is no epoll descriptor.
    pub fn wait(&mut self, poll: BorrowedFd<'_>, limit: Option<Duration>) -> io::Result<()> {
        self.raw.clear();
        let count = match limit {
            Some(limit) if !self.is_coarse => self.wait_exactly(poll, limit),
            Some(limit) => self.wait_milliseconds(poll, limit.as_millis().min(1_000_000) as libc::c_int),
            None => self.wait_milliseconds(poll, -1),
        };
        if count >= 0 {
            // SAFETY: the kernel has written so many events, which is not more than there is room for.
            unsafe { self.raw.set_len(count as usize) };
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(()),
            Some(libc::ENOSYS | libc::EPERM) if !self.is_coarse => {
                self.is_coarse = true;
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn wait_exactly(&mut self, poll: BorrowedFd<'_>, limit: Duration) -> libc::c_long {
        let limit =
            libc::timespec { tv_sec: limit.as_secs() as libc::time_t, tv_nsec: limit.subsec_nanos().into() };
        let no_signals = std::ptr::null::<libc::sigset_t>();
        // SAFETY: the pointers are to live values, the capacity is that of the buffer. The C library's own
        // function would not link where that library is older than the kernel.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                poll.as_raw_fd(),
                self.raw.as_mut_ptr(),
                self.raw.capacity() as libc::c_int,
                &raw const limit,
                no_signals,
                0usize,
            )
        }
    }

    /// A `limit` below 0: none.
    fn wait_milliseconds(&mut self, poll: BorrowedFd<'_>, limit: libc::c_int) -> libc::c_long {
        // SAFETY: as above.
        let count = unsafe {
            libc::epoll_wait(
                poll.as_raw_fd(),
                self.raw.as_mut_ptr(),
                self.raw.capacity() as libc::c_int,
                limit,
            )
        };
        count.into()
    }

    /// Number of events of the last wait.
    #[must_use]
    pub fn count(&self) -> usize {
        self.raw.len()
    }

    /// Token and flags of an event of the last wait.
    #[must_use]
    pub fn at(&self, index: usize) -> (u64, EventFlags) {
        let event = self.raw[index];
        (event.u64, EventFlags::from_bits_retain(event.events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_cgroup_was_held_back_is_found_in_both_versions() {
        let two = statistics("0::/a/b\n");
        assert_eq!(two, ["/sys/fs/cgroup/a/b/cpu.stat", "/sys/fs/cgroup/cpu.stat"]);
        let one = statistics("9:name=systemd:/x\n4:memory:/x\n1:cpu,cpuacct:/x\n");
        assert_eq!(one, ["/sys/fs/cgroup/cpu,cpuacct/x/cpu.stat", "/sys/fs/cgroup/cpu,cpuacct/cpu.stat"]);
        assert_eq!(throttled("nr_throttled 3\nthrottled_usec 2500\n"), Duration::from_micros(2500));
        assert_eq!(throttled("nr_throttled 3\nthrottled_time 2500\n"), Duration::from_nanos(2500));
        assert_eq!(throttled("usage_usec 5\n"), Duration::ZERO);
    }

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
    fn waiting_is_exact_where_the_kernel_can_and_never_too_long_by_rounding() {
        use rustix::{event::epoll, fd::AsFd as _};
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a descriptor");
        for is_coarse in [false, true] {
            let mut events = Events { is_coarse, ..Events::with_capacity(4) };
            // a busy machine makes some waits long, but not all: the shortest shows what is asked of the
            // kernel
            let shortest = (0..50)
                .map(|_| {
                    let begun = std::time::Instant::now();
                    events.wait(poll.as_fd(), Some(Duration::from_micros(1_300))).expect("waits");
                    begun.elapsed()
                })
                .min()
                .expect("some");
            assert_eq!(events.count(), 0);
            let coarse = if events.is_coarse { 1_000 } else { 1_300 };
            assert!(
                shortest >= Duration::from_micros(coarse) && shortest < Duration::from_micros(2_000),
                "{shortest:?}"
            );
        }
    }

    #[test]
    fn batch_scheduling_is_granted_without_privilege() {
        assert!(std::thread::spawn(be_a_batch_thread).join().expect("no panic"));
    }
}
