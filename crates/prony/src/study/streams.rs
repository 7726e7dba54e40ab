//! The streams of a treatment, read from the tree: each with its workload, its arrival, its connections.

use super::{
    DataSet, forms,
    keys::{DATA, ROOT, STREAM},
    mistake::{Collector, Place},
    order,
    parts::{Completeness, Data},
    read::{Values, check},
    topology,
    tree::{Node, Table, Value},
    written,
};
use crate::{
    arrival::{self, Parts},
    workload::{self, OptionKind, Options},
};
use load::spec::{Arrival, Protocol, Stream};

/// Keys that say which kind of arrival a stream has, beside `arrival` itself.
const ARRIVAL_PARTS: [&str; 3] = ["rate", "pace", "think"];

/// The options that a stream takes for its workload, beside [`STREAM`]. What shapes the data set is not among
/// them: `[data]` says that once for all streams.
pub(super) fn options_of_streams() -> Vec<workload::OptionInfo> {
    let of_data = |info: &workload::OptionInfo| {
        DATA.iter().any(|key| key.name == info.name || Some(key.name) == info.alias)
    };
    Options::table().into_iter().filter(|info| !of_data(info)).collect()
}

/// Their names.
pub(super) fn option_names() -> Vec<&'static str> {
    options_of_streams().iter().map(|info| info.name).collect()
}

/// Reads every `[[stream]]`, each with the data set that its workload needs; `workloads` is `[workload]`.
pub(super) fn streams(
    node: Option<&Node>,
    workloads: Option<&Node>,
    data: &Data,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Vec<(Stream, DataSet)> {
    let nodes = match node.map(|node| (&node.value, &node.place)) {
        Some((Value::Array(nodes), _)) if !nodes.is_empty() => nodes,
        Some((other, place)) => {
            let title = format!("`stream` is {}", other.kind());
            mistakes.at(place, title, "streams are written as `[[stream]]`, with two brackets");
            return Vec::new();
        }
        None => {
            mistakes.missing(
                "the study has no stream: nothing would load the servers",
                "add one:\n[[stream]]\nworkload = \"oltp_read_only\"\nconnections = 64",
            );
            return Vec::new();
        }
    };
    let mut read: Vec<(&Node, Stream, DataSet)> = Vec::new();
    for node in nodes {
        let Some((stream, data)) = stream(node, workloads, data, completeness, mistakes) else { continue };
        if read.iter().any(|(_, other, _)| other.name == stream.name) {
            let title = format!("there are two streams named `{}`", stream.name);
            mistakes.at(&node.place, title, "give each stream a `name` of its own");
        }
        read.push((node, stream, data));
    }
    if completeness == Completeness::Whole {
        order::check(&read, mistakes);
        if !read.is_empty() && read.iter().all(|(_, stream, _)| stream.connections == 0) {
            let title = "no stream has connections: nothing would load the servers";
            mistakes.at(connections_place(read[0].0), title, "one stream or more needs connections");
        }
        read.retain(|(_, stream, _)| stream.connections > 0);
    }
    read.into_iter().map(|(_, stream, data)| (stream, data)).collect()
}

fn connections_place(stream: &Node) -> &Place {
    let node = stream.table().and_then(|table| table.get("connections"));
    node.map_or(&stream.place, |node| &node.place)
}

fn stream(
    node: &Node,
    workloads: Option<&Node>,
    data: &Data,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Option<(Stream, DataSet)> {
    let Some(table) = node.table() else {
        mistakes.at(&node.place, format!("a stream is {}", node.value.kind()), "a table belongs here");
        return None;
    };
    let options_known = option_names();
    let values = check(table, STREAM, &options_known, mistakes);
    let options = options(table, &options_known, data, mistakes);
    for key in ["workload", "connections"] {
        if completeness == Completeness::Whole && values.place(key).is_none() {
            let title = format!("a stream has no `{key}`");
            mistakes.at(&node.place, title, format!("`{key}` belongs here, or `stream.{key}` into [vary]"));
        }
    }
    let name = values.text("workload")?;
    let place = values.place("workload").unwrap_or(&node.place);
    let (workload, mut data_set) = written::workload(&name, place, node, workloads, &options, mistakes)?;
    if let Some(generator) = &data.generator {
        data_set.generator.clone_from(generator);
    }
    let connections = u32::try_from(values.count("connections")).unwrap_or(u32::MAX);
    let protocol =
        if values.text("protocol").as_deref() == Some("text") { Protocol::Text } else { Protocol::Prepared };
    let name = values.text("name").unwrap_or_default();
    check_name(&name, values.place("name").unwrap_or(&node.place), mistakes);
    let stream = Stream {
        idle: u32::try_from(values.count("idle")).unwrap_or(u32::MAX),
        to: topology::destination(&values),
        arrival: arrival(&values, completeness, mistakes),
        connect: values.read("reconnect", forms::reconnect).unwrap_or_default(),
        protocol,
        begin: values.read("begin", forms::begin).unwrap_or_default(),
        limit: values.read("limit", forms::limit),
        ..Stream::new(name, workload, connections)
    };
    Some((stream, data_set))
}

/// A stream is named in `[vary]` and in `begin`, so that a name must not look like anything else there.
fn check_name(name: &str, place: &Place, mistakes: &mut Collector) {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && name.starts_with(|first: char| first.is_ascii_alphabetic());
    if !is_name {
        let title = format!("`{name}` cannot be the name of a stream");
        mistakes.at(place, title, "letters, digits, `-` and `_`, a letter first, make a name");
    } else if ROOT.iter().chain(STREAM).any(|key| key.name == name) || option_names().contains(&name) {
        let title = format!("`{name}` cannot be the name of a stream");
        mistakes.at(place, title, "that is the name of a key; choose another one");
    }
}

/// What its keys say of the arrival together. While the base is read, a level may still replace one of them.
fn arrival(values: &Values<'_>, completeness: Completeness, mistakes: &mut Collector) -> Arrival {
    let mut parts = Parts {
        rate: values.read("rate", forms::rate),
        gaps: values.text("gaps").and_then(|text| arrival::gaps(&text).ok()),
        pace: values.duration_written("pace").filter(|pace| !pace.is_zero()),
        think: values.read("think", forms::think),
        lateness_max: values.duration_written("lateness_max"),
    };
    let refuse = completeness == Completeness::Whole;
    if let Some(whole) = values.read("arrival", forms::arrival) {
        let beside = ARRIVAL_PARTS.iter().find(|key| values.place(key).is_some());
        if let Some(place) = beside.and_then(|key| values.place(key)).filter(|_| refuse) {
            let title = format!("a stream has both `arrival` and `{}`", beside.unwrap_or(&""));
            mistakes.at(place, title, "`arrival` says it in whole: leave one of them out");
        }
        (parts.rate, parts.pace, parts.think) = (None, None, None);
        match whole {
            Arrival::Closed => {}
            Arrival::Think(think) => parts.think = Some(think),
            Arrival::Paced { every, .. } => parts.pace = Some(every),
            Arrival::Open { rate, .. } => parts.rate = Some(rate),
        }
    }
    parts.arrival().unwrap_or_else(|error| {
        let told = match error {
            arrival::Error::Conflict(first, second) => values.place(second).map(|place| {
                let title = format!("a stream has both `{first}` and `{second}`");
                (place, title, "a stream has one kind of arrival: leave one of them out".to_owned())
            }),
            arrival::Error::Missing(key, needed) => values.place(key).map(|place| {
                let title = format!("a stream has `{key}` without `{needed}`");
                (
                    place,
                    title,
                    format!("`{key}` says something about `{needed}`, which the stream does not have"),
                )
            }),
            _ => None,
        };
        if let Some((place, title, label)) = told.filter(|_| refuse) {
            mistakes.at(place, title, label);
        }
        Arrival::Closed
    })
}

/// The options of a stream's workload: those of `[data]`, and those written in the stream.
fn options(table: &Table, known: &[&str], data: &Data, mistakes: &mut Collector) -> Options {
    let mut options = data.options().clone();
    let infos = Options::table();
    for entry in table.0.iter().filter(|entry| known.contains(&entry.key.as_str())) {
        let Some(info) = infos.iter().find(|info| info.name == entry.key) else { continue };
        let wanted = match (info.kind, &entry.node.value) {
            (OptionKind::Count, Value::Integer(_))
            | (OptionKind::Number, Value::Integer(_) | Value::Real(_))
            | (OptionKind::Switch, Value::Flag(_))
            | (OptionKind::Word, Value::Text(_)) => None,
            (OptionKind::Count, _) => Some("a whole number"),
            (OptionKind::Number, _) => Some("a number"),
            (OptionKind::Switch, _) => Some("true or false"),
            (OptionKind::Word, _) => Some("text in quotes"),
        };
        if let Some(wanted) = wanted {
            let title = format!("`{}` takes {wanted}, not {}", entry.key, entry.node.value.kind());
            mistakes.at(&entry.node.place, title, format!("{wanted} belongs here"));
            continue;
        }
        let text = entry.node.label();
        let one_of = info.kind == OptionKind::Word && !info.choices.is_empty();
        if one_of && !info.choices.contains(&text.as_str()) {
            mistakes.unknown(&entry.node.place, &entry.key, &text, info.choices.iter().copied());
            continue;
        }
        if let Err(error) = options.set(&entry.key, &text) {
            mistakes.at(&entry.node.place, error.to_string(), "");
        }
    }
    options
}
