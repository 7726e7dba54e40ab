//! Readings as older versions stored them: a record is read for ever.

use super::Reading;
use serde::Deserialize;
use std::{collections::BTreeMap, time::Duration};

/// What a stored reading may be.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Stored {
    Now { at: Duration, length: Duration, values: BTreeMap<String, f64> },
    First(First),
}

impl From<Stored> for Reading {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Now { at, length, values } => Self { at, length, values },
            Stored::First(first) => first.into(),
        }
    }
}

/// A reading as the first version wrote it, which did not tell user and system apart for processes: both are user here.
#[derive(Deserialize)]
pub(super) struct First {
    at: Duration,
    length: Duration,
    cpu_user: f64,
    cpu_system: f64,
    cpu_iowait: f64,
    cpu_steal: f64,
    server_cpu: Option<f64>,
    server_memory_bytes: Option<f64>,
    server_threads: Option<f64>,
    #[serde(default)]
    server_read_bytes_per_second: Option<f64>,
    #[serde(default)]
    server_written_bytes_per_second: Option<f64>,
    client_cpu: f64,
    context_switches_per_second: f64,
}

impl From<First> for Reading {
    fn from(first: First) -> Self {
        let server = first.server_cpu;
        let values = [
            ("machine/cpu_user", Some(first.cpu_user)),
            ("machine/cpu_system", Some(first.cpu_system)),
            ("machine/cpu_iowait", Some(first.cpu_iowait)),
            ("machine/cpu_steal", Some(first.cpu_steal)),
            ("machine/context_switches", Some(first.context_switches_per_second)),
            ("client/cpu_user", Some(first.client_cpu)),
            ("client/cpu_system", Some(0.0)),
            ("node/server/process/cpu_user", server),
            ("node/server/process/cpu_system", server.map(|_| 0.0)),
            ("node/server/process/memory_bytes", first.server_memory_bytes),
            ("node/server/process/threads", first.server_threads),
            ("node/server/process/read_bytes", first.server_read_bytes_per_second),
            ("node/server/process/written_bytes", first.server_written_bytes_per_second),
        ];
        let known = values.into_iter().filter_map(|(path, value)| Some((path.to_owned(), value?)));
        Self { at: first.at, length: first.length, values: known.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_of_the_first_version_can_still_be_read() {
        let old = r#"{"at":{"secs":1,"nanos":0},"length":{"secs":1,"nanos":0},"cpu_user":1.0,"cpu_system":0.5,"cpu_iowait":0.0,
            "cpu_steal":0.0,"server_cpu":1.25,"server_memory_bytes":4096,"server_threads":null,"client_cpu":0.2,
            "context_switches_per_second":41000.0}"#;
        let reading: Reading = serde_json::from_str(old).unwrap();
        assert_eq!(reading.server_cpu(), Some(1.25));
        assert_eq!(reading.value("machine/context_switches"), Some(41000.0));
        assert_eq!(reading.value("node/server/process/threads"), None);
        let again: Reading = serde_json::from_str(&serde_json::to_string(&reading).unwrap()).unwrap();
        assert_eq!(again, reading);
    }
}
