//! Findings about what many connections need.

use super::{Files, Finding};

/// The limit of open files of this process, and so of connections.
pub(super) fn open_files(files: &Files) -> Option<Finding> {
    const HURTS: u64 = 4096;
    const NOTED: u64 = 16_384;
    const ID: &str = "open-files";
    let limits = files.text("proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let hard = match line.split_whitespace().nth(1)? {
        "unlimited" => u64::MAX,
        number => number.parse().ok()?,
    };
    if hard >= NOTED {
        let shown = if hard == u64::MAX { "no limit".to_owned() } else { format!("hard limit {hard}") };
        return Some(Finding::fine(ID, shown));
    }
    let read = format!("hard limit {hard} (Prony raises its own soft limit to it)");
    let effect = "each connection is an open file of the client and of the server, each table one more: \
                  many connections are refused, and a server lowers its max_connections and table cache by \
                  itself";
    let remedy = "sudo sh -c 'echo \"* - nofile 65536\" >> /etc/security/limits.conf' and log in again; in \
                  a service LimitNOFILE=65536, in a container --ulimit nofile=65536";
    Some(if hard < HURTS {
        Finding::warning(ID, read, effect, remedy)
    } else {
        Finding::note(ID, read, effect, remedy)
    })
}

/// Ports for outgoing connections, and how many wait to be free again.
pub(super) fn ports(files: &Files) -> Option<Finding> {
    /// Linux's own default is 28232.
    const FEW: u64 = 20_000;
    /// Part of the ports that may wait before connecting gets hard.
    const WAITING_HURTS: f64 = 0.5;
    const ID: &str = "ports";
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
    let read = format!(
        "{ports} ports for outgoing connections, {waiting} closed ones wait for a minute (TIME_WAIT)"
    );
    let effect =
        "a load that connects anew for each transaction runs out of ports: connecting gets slow, then fails";
    let remedy = "sudo sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\" net.ipv4.tcp_tw_reuse=1; wait \
                  a minute before the next run; or connect by Unix socket";
    Some(if waiting as f64 > WAITING_HURTS * ports as f64 {
        Finding::warning(ID, read, effect, remedy)
    } else if ports < FEW {
        Finding::note(ID, read, effect, remedy)
    } else {
        Finding::fine(ID, read)
    })
}

/// Connections that may wait to be accepted.
pub(super) fn backlog(files: &Files) -> Option<Finding> {
    const ENOUGH: u64 = 1024;
    const ID: &str = "backlog";
    let limit = files.number("proc/sys/net/core/somaxconn")?;
    let read = format!("net.core.somaxconn {limit}");
    if limit >= ENOUGH {
        return Some(Finding::fine(ID, read));
    }
    Some(Finding::note(
        ID,
        read,
        "a server's back_log is cut to it; where more connections come at once, the rest is dropped and \
         tries again after 1 s, which looks like a slow server",
        "sudo sysctl -w net.core.somaxconn=4096 net.ipv4.tcp_max_syn_backlog=4096, before the server starts",
    ))
}
