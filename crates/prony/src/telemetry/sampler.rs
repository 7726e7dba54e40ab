//! Takes a [`Reading`] of machine and server once a second, on a thread of its own and on the run's clock.

use super::Reading;
use procfs::{CurrentSI, KernelStats, WithCurrentSystemInfo, process::Process};
use rustix::time::{ClockId, clock_gettime};
use std::{
    io,
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Time between readings.
const PERIOD: Duration = Duration::from_secs(1);

/// A running sampler; stops when dropped.
#[derive(Debug)]
pub struct Sampler {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Begins. Readings are taken at `zero` plus whole seconds and handed to `on_reading` on the sampler's thread; their
    /// [`Reading::at`] counts from `zero`, the instant zero of the load. `server` is the process number of a server on this
    /// machine.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        zero: Instant,
        server: Option<u32>,
        mut on_reading: impl FnMut(Reading) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::sync_channel(1);
        let run = move || {
            let server = server.and_then(|pid| Process::new(i32::try_from(pid).ok()?).ok());
            let mut last = Counters::read(server.as_ref());
            let mut seconds = zero.elapsed().as_secs() as u32;
            loop {
                seconds += 1;
                let wait = (zero + PERIOD * seconds).saturating_duration_since(Instant::now());
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let now = Counters::read(server.as_ref());
                on_reading(now.since(&last, zero));
                last = now;
                // After a pause of the whole machine the seconds that were missed are one long reading.
                seconds = seconds.max(zero.elapsed().as_secs() as u32);
            }
        };
        let thread = thread::Builder::new().name("telemetry".to_owned()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Ends at once; the second that has begun gives no reading.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It panics only if `on_reading` does, which that one's owner sees on its own side.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the kernel counts, at one instant.
struct Counters {
    at: Instant,
    machine: Option<MachineCounters>,
    server: Option<ServerCounters>,
    client_cpu: Duration,
}

/// In CPU seconds since the machine's start.
struct MachineCounters {
    user: f64,
    system: f64,
    iowait: f64,
    steal: f64,
    context_switches: f64,
}

struct ServerCounters {
    /// CPU seconds since its start.
    cpu: f64,
    memory_bytes: u64,
    threads: u32,
    /// Bytes read and written; `None` where this process may not know.
    disk: Option<(f64, f64)>,
}

impl Counters {
    fn read(server: Option<&Process>) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Self {
            at: Instant::now(),
            machine: MachineCounters::read(),
            server: server.and_then(ServerCounters::read),
            client_cpu: Duration::new(cpu.tv_sec.unsigned_abs(), cpu.tv_nsec as u32),
        }
    }

    fn since(&self, last: &Self, zero: Instant) -> Reading {
        let length = self.at - last.at;
        let seconds = length.as_secs_f64();
        // Some of the kernel's counters go back by a tick now and then.
        let rate = |now: f64, before: f64| ((now - before) / seconds).max(0.0);
        let mut reading = Reading {
            at: self.at.saturating_duration_since(zero),
            length,
            client_cpu: rate(self.client_cpu.as_secs_f64(), last.client_cpu.as_secs_f64()),
            ..Reading::default()
        };
        if let (Some(now), Some(before)) = (&self.machine, &last.machine) {
            reading.cpu_user = rate(now.user, before.user);
            reading.cpu_system = rate(now.system, before.system);
            reading.cpu_iowait = rate(now.iowait, before.iowait);
            reading.cpu_steal = rate(now.steal, before.steal);
            reading.context_switches_per_second = rate(now.context_switches, before.context_switches);
        }
        if let (Some(now), Some(before)) = (&self.server, &last.server) {
            reading.server_cpu = Some(rate(now.cpu, before.cpu));
            reading.server_memory_bytes = Some(now.memory_bytes);
            reading.server_threads = Some(now.threads);
            let disk = now.disk.zip(before.disk);
            reading.server_read_bytes_per_second = disk.map(|(now, before)| rate(now.0, before.0));
            reading.server_written_bytes_per_second = disk.map(|(now, before)| rate(now.1, before.1));
        }
        reading
    }
}

impl MachineCounters {
    fn read() -> Option<Self> {
        let stats = KernelStats::current().ok()?;
        let ticks_per_second = procfs::ticks_per_second() as f64;
        let seconds = |ticks: u64| ticks as f64 / ticks_per_second;
        let total = stats.total;
        Some(Self {
            user: seconds(total.user + total.nice),
            system: seconds(total.system + total.irq.unwrap_or(0) + total.softirq.unwrap_or(0)),
            iowait: seconds(total.iowait.unwrap_or(0)),
            steal: seconds(total.steal.unwrap_or(0)),
            context_switches: stats.ctxt as f64,
        })
    }
}

impl ServerCounters {
    fn read(process: &Process) -> Option<Self> {
        let stat = process.stat().ok()?;
        let disk = process.io().ok().map(|io| (io.read_bytes as f64, io.write_bytes as f64));
        Some(Self {
            cpu: (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64,
            memory_bytes: stat.rss_bytes().get(),
            threads: u32::try_from(stat.num_threads).unwrap_or(0),
            disk,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn readings_come_each_second_on_the_given_clock_and_see_work() {
        let (sender, readings) = mpsc::channel();
        let zero = Instant::now();
        let sampler = Sampler::start(zero, Some(std::process::id()), move |reading| {
            let _ = sender.send((reading, clock_gettime(ClockId::ThreadCPUTime)));
        })
        .unwrap();
        let mut sum = 0_u64;
        while zero.elapsed() < Duration::from_millis(2100) {
            sum = black_box(sum + 1);
        }
        let began = Instant::now();
        sampler.stop();
        assert!(began.elapsed() < Duration::from_millis(200), "stops at once");
        let readings: Vec<_> = readings.iter().collect();
        assert_eq!(readings.len(), 2);
        for (second, (reading, _)) in (1..).zip(&readings) {
            let late = reading.at.as_secs_f64() - f64::from(second);
            assert!((0.0..0.5).contains(&late), "{reading:?}");
            assert!(reading.client_cpu > 0.2, "this test keeps a CPU busy: {reading:?}");
            assert!(reading.server_cpu.is_some_and(|cpu| cpu > 0.2) && reading.cpu_user > 0.2, "{reading:?}");
            assert!(reading.server_threads.is_some_and(|threads| threads >= 2), "{reading:?}");
        }
        let own = readings[1].1;
        assert!(own.tv_sec == 0 && own.tv_nsec < 20_000_000, "below 1 % of a core: {own:?}");
    }
}
