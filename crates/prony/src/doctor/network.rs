//! Findings about what many connections need.

use super::{Files, Finding, Reading};

/// The limit of open files of this process, and so of connections.
pub(super) fn open_files(files: &Files) -> Option<Finding> {
    const HURTS: u64 = 4096;
    const NOTED: u64 = 16_384;
    let limits = files.text("proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let hard = match line.split_whitespace().nth(1)? {
        "unlimited" => u64::MAX,
        number => number.parse().ok()?,
    };
    let reading = Reading::OpenFiles { limit: Some(hard).filter(|hard| *hard != u64::MAX) };
    Some(Finding::graded(reading, hard < HURTS, hard < NOTED))
}

/// Ports for outgoing connections, and how many wait to be free again.
pub(super) fn ports(files: &Files) -> Option<Finding> {
    /// Linux's own default is 28232.
    const FEW: u64 = 20_000;
    /// Part of the ports that may wait before connecting gets hard.
    const WAITING_HURTS: f64 = 0.5;
    let range = files.text("proc/sys/net/ipv4/ip_local_port_range")?;
    let mut ends = range.split_whitespace().map(|number| number.parse::<u64>().ok());
    let (low, high) = (ends.next()??, ends.next()??);
    let ports = high.checked_sub(low)? + 1;
    let sockets = files.text("proc/net/sockstat").unwrap_or_default();
    let waiting = sockets.lines().find_map(|line| line.strip_prefix("TCP:")).and_then(|line| {
        let mut words = line.split_whitespace();
        words.find(|word| *word == "tw")?;
        words.next()?.parse::<u64>().ok()
    });
    let waiting = waiting.unwrap_or(0);
    let hurts = waiting as f64 > WAITING_HURTS * ports as f64;
    Some(Finding::graded(Reading::Ports { ports, waiting }, hurts, ports < FEW))
}

/// Connections that may wait to be accepted.
pub(super) fn backlog(files: &Files) -> Option<Finding> {
    const ENOUGH: u64 = 1024;
    let limit = files.number("proc/sys/net/core/somaxconn")?;
    Some(Finding::graded(Reading::Backlog { limit }, false, limit < ENOUGH))
}
