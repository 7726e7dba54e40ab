//! Reads `[telemetry]`, and the address of a server's exporter.

use super::{
    Telemetry,
    keys::TELEMETRY,
    mistake::Collector,
    parts::section,
    read::{Values, check},
    tree::{Node, Table},
};

/// What is sampled beside the load.
pub(super) fn telemetry(node: Option<&Node>, mistakes: &mut Collector) -> Telemetry {
    let empty = Table::default();
    let values = check(section(node, "telemetry", &empty, mistakes), TELEMETRY, &[], mistakes);
    Telemetry {
        every: values.duration("every"),
        all: values.text("status").as_deref() == Some("all"),
        profile: values.flag("profile"),
    }
}

/// Address of a node_exporter, if one is written.
pub(super) fn node_exporter(values: &Values<'_>, mistakes: &mut Collector) -> Option<String> {
    let address = values.text("node_exporter")?;
    if let (Some(fault), Some(place)) = (fault(&address), values.place("node_exporter")) {
        mistakes.at(place, "`node_exporter` is no address of an exporter", fault);
    }
    Some(address)
}

fn fault(address: &str) -> Option<&'static str> {
    match url::Url::parse(address) {
        Ok(url) if url.scheme() == "https" => Some("exporters are asked over plain http"),
        Ok(url) if url.scheme() == "http" && url.host_str().is_some() => None,
        _ => Some("\"http://host:9100/metrics\" belongs here"),
    }
}
