//! What a server may use and how far away it is: `[limits]`, and what `[server.NAME]` says of both.

use super::{
    Client, Limits, Server, ServerSource, Topology, Transport, forms,
    keys::{LIMITS, SERVER},
    mistake::{Collector, Place},
    parts::section,
    read::{Values, check},
    tree::{Node, Table},
};
use crate::quantity;
use std::{fmt, time::Duration};

/// Checks `[limits]`, and the limits of each server alone.
pub(super) fn check_all(root: &Table, mistakes: &mut Collector) {
    let empty = Table::default();
    check(section(root.get("limits"), "limits", &empty, mistakes), LIMITS, &[], mistakes);
    let servers = root.get("server").and_then(Node::table);
    for server in servers.map(|table| table.0.as_slice()).unwrap_or_default() {
        let limits = server.node.table().and_then(|table| table.get("limits"));
        check(section(limits, "limits", &empty, mistakes), LIMITS, &[], mistakes);
    }
}

/// Completes a server that was read from `node`: its limits, its distance.
pub(super) fn complete(server: &mut Server, node: &Node, root: &Table, mistakes: &mut Collector) {
    let Some(own) = node.table() else { return };
    // it has been checked already
    let values = check(own, SERVER, &[], &mut Collector::default());
    server.latency = values.duration_written("latency");
    server.latency_between = between(server, own, root, mistakes);
    let own = own.get("limits");
    if matches!(server.source, ServerSource::Url(_)) {
        if let Some(node) = own {
            let title = format!("server `{}` is running already and takes no limits", server.name);
            mistakes.at(&node.place, title, "Prony limits only what a server that it starts may use");
        }
        return;
    }
    let empty = Table::default();
    for node in [root.get("limits"), own].into_iter().flatten() {
        lay_upon(
            &mut server.limits,
            &check(section(Some(node), "limits", &empty, mistakes), LIMITS, &[], mistakes),
        );
    }
}

/// The latency between servers that work together; a topology has been checked already.
fn between(server: &Server, own: &Table, root: &Table, mistakes: &mut Collector) -> Duration {
    let said = [own.get("topology"), root.get("topology")].into_iter().flatten().find_map(|node| {
        let node = node.table()?.get("latency")?;
        Some((node, node.text().and_then(|text| quantity::duration(text).ok())?))
    });
    let Some((node, latency)) = said else { return Duration::ZERO };
    if matches!(server.topology, Topology::Galera { .. }) && !latency.is_zero() {
        mistakes.at(
            &node.place,
            format!("server `{}` is a cluster whose nodes Prony cannot put apart", server.name),
            "nodes of Galera tell each other where they are and then connect directly, past any network \
             that Prony makes",
        );
    }
    latency
}

fn lay_upon(limits: &mut Limits, values: &Values<'_>) {
    let count = |name: &str| values.place(name).map(|_| values.count(name));
    limits.memory_bytes = values.read("memory", forms::memory).or(limits.memory_bytes);
    limits.cpus = values.number("cpus").or(limits.cpus);
    limits.read_bytes_per_second = values.read("io_read", forms::bandwidth).or(limits.read_bytes_per_second);
    limits.write_bytes_per_second =
        values.read("io_write", forms::bandwidth).or(limits.write_bytes_per_second);
    limits.reads_per_second = count("io_read_ops").or(limits.reads_per_second);
    limits.writes_per_second = count("io_write_ops").or(limits.writes_per_second);
    if let Some(pin) = values.read("pin", forms::processors) {
        limits.pin = pin;
    }
}

/// A Unix socket has no network. `place` is where the treatment's distance is written.
pub(super) fn check_reach(server: &Server, client: &Client, root: &Table, mistakes: &mut Collector) {
    let through = server.latency.or(client.latency).filter(|latency| !latency.is_zero());
    if through.is_none() {
        return;
    }
    let place = |section: &str, key: &str| -> Option<&Place> {
        root.get(section).and_then(Node::table)?.get(key).map(|node| &node.place)
    };
    if client.transport == Some(Transport::Socket)
        && let Some(place) = place("client", "transport")
    {
        let title = "there is no network, and so no latency, on the way through a Unix socket";
        mistakes.at(place, title, "leave `latency` out, or set it to \"0ms\", where the socket is used");
    }
}

/// Whole GiB as such, else MiB.
fn memory(bytes: u64) -> String {
    let mebibytes = bytes >> 20;
    if mebibytes > 0 && mebibytes.is_multiple_of(1024) {
        format!("{} GiB", mebibytes / 1024)
    } else {
        format!("{mebibytes} MiB")
    }
}

/// In words, as far as there are any: `4096 MiB of memory, the time of 2 processors`.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |bytes: u64| format!("{} MB/s", bytes as f64 / 1e6);
        let numbers = self.pin.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let said = [
            self.memory_bytes.map(|bytes| format!("{} of memory", memory(bytes))),
            self.cpus.map(|cpus| {
                let cpus = (cpus * 1000.0).round() / 1000.0;
                format!("the time of {cpus} processor{}", if cpus == 1.0 { "" } else { "s" })
            }),
            (!self.pin.is_empty()).then(|| format!("processors {numbers}")),
            self.read_bytes_per_second.map(|bytes| format!("reading {}", rate(bytes))),
            self.write_bytes_per_second.map(|bytes| format!("writing {}", rate(bytes))),
            self.reads_per_second.map(|count| format!("{count} reads/s")),
            self.writes_per_second.map(|count| format!("{count} writes/s")),
        ];
        f.write_str(&said.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
