//! Readings as older versions stored them: every record stays readable.

use super::Reading;
use crate::family;
use serde::Deserialize;
use std::{collections::BTreeMap, time::Duration};

/// What servers count, which older versions stored under the names of one family, under those of all.
pub(super) fn renamed<T: Clone>(values: BTreeMap<String, T>) -> BTreeMap<String, T> {
    let mut nodes: BTreeMap<String, BTreeMap<String, T>> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for (path, value) in values {
        let node = path.strip_prefix("node/").and_then(|rest| rest.split_once('/'));
        if let Some((node, what)) = node {
            nodes.entry(node.to_owned()).or_default().insert(what.to_owned(), value);
        } else {
            all.insert(path, value);
        }
    }
    for (node, mut values) in nodes {
        family::rename(family::spoken().own_names(), &mut values);
        all.extend(values.into_iter().map(|(what, value)| (format!("node/{node}/{what}"), value)));
    }
    all
}

/// A stored reading: with `values`, or with the figures that the first version wrote, which did not tell user
/// and system apart for processes: both are user here. One type for both, since trying one after the other
/// takes longer than reading.
#[derive(Deserialize)]
pub(super) struct Stored {
    at: Duration,
    length: Duration,
    values: Option<BTreeMap<String, f64>>,
    cpu_user: Option<f64>,
    cpu_system: Option<f64>,
    cpu_iowait: Option<f64>,
    cpu_steal: Option<f64>,
    server_cpu: Option<f64>,
    server_memory_bytes: Option<f64>,
    server_threads: Option<f64>,
    server_read_bytes_per_second: Option<f64>,
    server_written_bytes_per_second: Option<f64>,
    client_cpu: Option<f64>,
    context_switches_per_second: Option<f64>,
}

impl From<Stored> for Reading {
    fn from(mut stored: Stored) -> Self {
        let (at, length) = (stored.at, stored.length);
        let values = stored.values.take().map_or_else(|| first(&stored), renamed);
        Self { at, length, values }
    }
}

/// The values of the first version.
fn first(stored: &Stored) -> BTreeMap<String, f64> {
    let values = [
        ("machine/cpu_user", stored.cpu_user),
        ("machine/cpu_system", stored.cpu_system),
        ("machine/cpu_iowait", stored.cpu_iowait),
        ("machine/cpu_steal", stored.cpu_steal),
        ("machine/context_switches", stored.context_switches_per_second),
        ("client/cpu_user", stored.client_cpu),
        ("client/cpu_system", stored.client_cpu.map(|_| 0.0)),
        ("node/server/process/cpu_user", stored.server_cpu),
        ("node/server/process/cpu_system", stored.server_cpu.map(|_| 0.0)),
        ("node/server/process/memory_bytes", stored.server_memory_bytes),
        ("node/server/process/threads", stored.server_threads),
        ("node/server/process/read_bytes", stored.server_read_bytes_per_second),
        ("node/server/process/written_bytes", stored.server_written_bytes_per_second),
    ];
    values.into_iter().filter_map(|(path, value)| Some((path.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_of_the_first_version_can_still_be_read() {
        let old = r#"{"at":{"secs":1,"nanos":0},"length":{"secs":1,"nanos":0},"cpu_user":1.0,"cpu_system":0.5,
            "cpu_iowait":0.0,"cpu_steal":0.0,"server_cpu":1.25,"server_memory_bytes":4096,
            "server_threads":null,"client_cpu":0.2,"context_switches_per_second":41000.0}"#;
        let reading: Reading = serde_json::from_str(old).unwrap();
        assert_eq!(reading.server_cpu(), Some(1.25));
        assert_eq!(reading.value("machine/context_switches"), Some(41000.0));
        assert_eq!(reading.value("node/server/process/threads"), None);
        let again: Reading = serde_json::from_str(&serde_json::to_string(&reading).unwrap()).unwrap();
        assert_eq!(again, reading);
    }
}
