//! The surroundings of a server, in words: the servers that it works together with, its limits and how much
//! of them it used, and its networks.

use super::{number, words::Words};
use crate::{
    network::{LinkRecord, Means},
    plan::{Act, Replication, Topology, Transport, WaitPoint},
    provision::LimitsInForce,
    quantity::say_bits,
    run::TrialOutcome,
    store::{RunRecord, ServerRecord},
};
use load::{Histogram, spec::Destination};
use std::{collections::BTreeMap, time::Duration};

/// The servers that act together as one server of the plan; `None`: it is a single server.
pub(super) fn topology(topology: Topology, words: Words) -> Option<String> {
    let fill = |key: &str, places: &[(&str, &str)]| Some(words.fill("sentence", key, places));
    match topology {
        Topology::Single => None,
        Topology::Galera { nodes } => fill("topology_galera", &[("nodes", &nodes.to_string())]),
        Topology::Replicas { count, replication: Replication::Asynchronous } => {
            fill("topology_asynchronous", &[("replicas", &count.to_string())])
        }
        Topology::Replicas {
            count,
            replication: Replication::SemiSynchronous { wait_point, acknowledgements, timeout },
        } => {
            let point = match wait_point {
                None => "semi-sync",
                Some(WaitPoint::AfterSync) => "after-sync",
                Some(WaitPoint::AfterCommit) => "after-commit",
            };
            let (replicas, acknowledgements) = (count.to_string(), acknowledgements.to_string());
            let timeout = timeout.as_secs_f64().to_string();
            let places = [("replicas", replicas.as_str()), ("point", point), ("timeout", &timeout)];
            fill("topology_semi_sync", &[&places[..], &[("acknowledgements", &acknowledgements)]].concat())
        }
    }
}

/// One text for each limit that the kernel reported.
pub(super) fn limits(known: &ServerRecord, words: Words) -> Vec<String> {
    let Some(LimitsInForce { by, limits, disk }) = &known.description.limits else { return Vec::new() };
    let usage = known.surroundings.usage.clone().unwrap_or_default();
    let fill = |key: &str, places: &[(&str, &str)]| words.fill("sentence", key, places);
    let mib = |bytes: u64| (bytes >> 20).to_string();
    let disk = disk.as_deref().unwrap_or_default();
    let rate = |key: &str, bytes: u64| {
        let rate = (bytes as f64 / 1e6).to_string();
        fill(key, &[("rate", &rate), ("disk", disk)])
    };
    let count = |key: &str, count: u64| fill(key, &[("rate", &count.to_string()), ("disk", disk)]);
    let said = [
        limits.memory_bytes.map(|bytes| {
            let used = usage.memory_bytes_max.map_or_else(|| "?".to_owned(), mib);
            let places = [("limit", mib(bytes)), ("used", used), ("by", by.clone())];
            fill("limit_memory", &places.each_ref().map(|(name, value)| (*name, value.as_str())))
        }),
        limits.cpus.map(|cpus| {
            let waited = format!("{:.1}", usage.cpu_waited.as_secs_f64());
            let cpus = ((cpus * 1000.0).round() / 1000.0).to_string();
            let waits = usage.cpu_waits.to_string();
            fill("limit_cpus", &[("limit", &cpus), ("waits", &waits), ("waited", &waited), ("by", by)])
        }),
        (!limits.pin.is_empty()).then(|| {
            let numbers = limits.pin.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            fill("limit_pin", &[("numbers", &numbers)])
        }),
        limits.read_bytes_per_second.map(|bytes| rate("limit_read", bytes)),
        limits.write_bytes_per_second.map(|bytes| rate("limit_write", bytes)),
        limits.reads_per_second.map(|reads| count("limit_reads", reads)),
        limits.writes_per_second.map(|writes| count("limit_writes", writes)),
    ];
    said.into_iter().flatten().collect()
}

/// One text for each way in which clients reached a server.
pub(super) fn reached(record: &RunRecord, server: usize, words: Words) -> Vec<String> {
    let mut ways: BTreeMap<&str, Histogram> = BTreeMap::new();
    for trial in &record.trials {
        let treatment = &record.plan.treatments[trial.trial.treatment];
        let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { continue };
        if treatment.server != server {
            continue;
        }
        for stream in &outcome.streams {
            let is_local = treatment
                .streams
                .iter()
                .any(|planned| planned.name == stream.name && planned.to == Destination::Local);
            let way = match (record.plan.servers[server].may(Act::Start), treatment.client.transport) {
                (false, _) => "reached_elsewhere",
                (_, Some(Transport::Socket)) => "reached_socket",
                _ if is_local => "reached_socket",
                _ => "reached_tcp",
            };
            ways.entry(way).or_default().merge(&stream.opening.tcp);
        }
    }
    let connected = ways.into_iter().filter(|(_, times)| !times.is_empty());
    let text = |(way, times): (&str, Histogram)| {
        let fastest = number::milliseconds(times.min_ns() as f64 / 1e6);
        words.fill("sentence", way, &[("fastest", &fastest)])
    };
    connected.map(text).collect()
}

/// One text for each network.
pub(super) fn networks(known: &ServerRecord, words: Words) -> Vec<String> {
    known.surroundings.links.iter().map(|link| network(link, words)).collect()
}

fn network(link: &LinkRecord, words: Words) -> String {
    let ms = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    let measured = |time: Option<Duration>| time.map_or_else(|| "?".to_owned(), ms);
    let (key, discipline) = match (&link.means, link.between.is_some()) {
        (Means::Relay, false) => ("network", ""),
        (Means::Relay, true) => ("network_between", ""),
        (Means::Netem(discipline), false) => ("network_apart", discipline.as_str()),
        (Means::Netem(discipline), true) => ("network_apart_between", discipline.as_str()),
    };
    let places = [
        ("stated", ms(link.stated)),
        ("before", measured(link.measured_before)),
        ("after", measured(link.measured_after)),
        ("between", link.between.clone().unwrap_or_default()),
        ("late", measured(link.late)),
        ("discipline", discipline.to_owned()),
        ("busy", format!("{:.0}", link.busy_max * 100.0)),
    ];
    let text = words.fill("sentence", key, &places.each_ref().map(|(name, value)| (*name, value.as_str())));
    let narrow = |bandwidth| {
        let measured = link.measured_bandwidth.map_or_else(|| "?".to_owned(), say_bits);
        let stated = say_bits(bandwidth);
        let places = [("network", text.as_str()), ("stated", &stated), ("measured", &measured)];
        words.fill("sentence", "network_narrow", &places)
    };
    let text = link.bandwidth.map_or_else(|| text.clone(), narrow);
    let text = if link.awake { words.fill("sentence", "network_awake", &[("network", &text)]) } else { text };
    let Some(why) = &link.why else { return text };
    let why = words.why_relay(why);
    words.fill("sentence", "network_because", &[("network", &text), ("why", &why)])
}
