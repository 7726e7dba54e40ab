//! Runs one program to its end and says what it cost: CPU time and memory as the kernel accounts them, seen
//! from outside, so that no program is trusted about itself.

use procfs::process::Process;
use std::{
    io::Read,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How often the kernel is asked. Peak memory is a high-water mark, so that only what grows in the last
/// moment is lost.
const PEEK: Duration = Duration::from_millis(20);

/// What a program said and cost.
pub(crate) struct Measured {
    /// Its standard output.
    pub(crate) text: String,
    /// CPU time of its whole life, user and system, seconds.
    pub(crate) cpu_s: f64,
    /// Peak resident memory, MB.
    pub(crate) memory_mb: f64,
}

/// Runs `command`, and ends it if that takes longer than `limit`.
///
/// # Errors
/// Its own words where it fails, or that it took too long.
pub(crate) fn measured(command: &mut Command, limit: Duration) -> Result<Measured, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let (output, complaints) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let (ticks, memory_kb, in_time) = watch(&child, Instant::now() + limit);
    if !in_time {
        // it may have ended in this very moment
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let text = output.join().unwrap_or_default();
    let complaints = complaints.join().unwrap_or_default();
    if !in_time {
        return Err(format!("did not end within {} s", limit.as_secs()));
    }
    // what Prony measured and doubts is printed, and is compared with what others measured without doubts
    let is_doubted = status.code() == Some(1) && text.trim_start().starts_with('{');
    if !status.success() && !is_doubted {
        return Err(reason(&complaints).or_else(|| reason(&text)).unwrap_or_else(|| status.to_string()));
    }
    let cpu_s = ticks as f64 / procfs::ticks_per_second() as f64;
    Ok(Measured { text, cpu_s, memory_mb: memory_kb as f64 * 1024.0 / 1e6 })
}

/// CPU ticks, peak memory in KiB, and whether the process ended before `end`.
fn watch(child: &Child, end: Instant) -> (u64, u64, bool) {
    let (mut ticks, mut memory_kb) = (0, 0);
    let Ok(process) = Process::new(child.id() as i32) else { return (0, 0, true) };
    while let Ok(stat) = process.stat() {
        ticks = stat.utime + stat.stime;
        memory_kb = memory_kb.max(process.status().ok().and_then(|status| status.vmhwm).unwrap_or(0));
        // a process that has ended and was not yet waited for still tells its CPU time
        if stat.state == 'Z' {
            break;
        }
        if Instant::now() >= end {
            return (ticks, memory_kb, false);
        }
        thread::sleep(PEEK);
    }
    (ticks, memory_kb, true)
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // what came before a broken pipe is still worth reading
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The line that says why, or the last one.
fn reason(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(|line| line.contains("FATAL") || line.contains("rror"));
    first.or_else(|| lines.next_back()).map(|line| line.chars().take(200).collect())
}
