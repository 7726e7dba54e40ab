//! From the tree to every combination of levels, each complete and checked.

use super::{
    DataSet, Factor, Treatment,
    mistake::{Collector, Place},
    parts::{self, Completeness},
    paths::{Purpose, Segments, resolve, server_names, stream_names},
    streams,
    tree::{Entry, Node, Table, Value, stream_name},
};
use std::collections::BTreeMap;

/// More treatments than anyone will wait for; a study that asks for more has a slip in its `[vary]`.
const TREATMENTS_MAX: usize = 5_000;

/// A factor as written: what it varies, and the levels with their places.
#[derive(Debug, Clone)]
pub(super) struct Variation {
    pub(super) name: String,
    path: Segments,
    levels: Vec<Node>,
}

impl Variation {
    /// As it is shown.
    pub(super) fn factor(&self) -> Factor {
        Factor {
            name: self.name.clone(),
            levels: self.levels.iter().map(Node::label).collect(),
            numeric: self
                .levels
                .iter()
                .all(|level| matches!(level.value, Value::Integer(_) | Value::Real(_))),
        }
    }

    /// Whether its levels make different servers of one.
    fn changes_server(&self) -> bool {
        self.path.len() > 1 && ["server", "settings"].contains(&self.path[0].as_str())
    }
}

/// Reads `[vary]`. Where it does not say which servers take part, all do.
pub(super) fn variations(root: &Table, mistakes: &mut Collector) -> Vec<Variation> {
    let mut written: Vec<Entry> = Vec::new();
    if let Some(node) = root.get("vary") {
        match node.table() {
            Some(table) => flatten(table, "", &mut written),
            None => {
                mistakes.at(&node.place, format!("`vary` is {}", node.value.kind()), "a table belongs here")
            }
        }
    }
    let mut variations: Vec<Variation> = Vec::new();
    for entry in &written {
        let path = resolve(&entry.key, &entry.key_place, root, Purpose::Vary, mistakes);
        let Some(levels) = levels(entry, mistakes) else { continue };
        let Some(path) = path else { continue };
        if variations.iter().any(|other| other.path == path) {
            mistakes.at(
                &entry.key_place,
                format!("`{}` is varied twice", entry.key),
                "leave one of them out",
            );
            continue;
        }
        variations.push(Variation { name: short_name(&path, root), path, levels: levels.to_vec() });
    }
    let servers = server_names(root);
    if servers.len() > 1 && !variations.iter().any(|variation| variation.path == ["server"]) {
        variations.insert(0, all_servers(root));
    }
    name_apart(&mut variations);
    variations
}

/// The last part of a path; where there are several streams, with the stream that it belongs to.
fn short_name(path: &[String], root: &Table) -> String {
    let last = path.last().cloned().unwrap_or_default();
    match path {
        [section, stream, _] if section == "stream" && stream_names(root).len() > 1 => {
            format!("{stream}.{last}")
        }
        _ => last,
    }
}

fn all_servers(root: &Table) -> Variation {
    let entries =
        root.get("server").and_then(Node::table).map(|table| table.0.as_slice()).unwrap_or_default();
    let levels = entries
        .iter()
        .map(|entry| Node { value: Value::Text(entry.key.clone()), place: entry.key_place.clone() })
        .collect();
    Variation { name: "server".to_owned(), path: vec!["server".to_owned()], levels }
}

/// `"stream.connections" = [...]` and `stream.connections = [...]` mean the same.
fn flatten(table: &Table, prefix: &str, found: &mut Vec<Entry>) {
    for entry in &table.0 {
        let key = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
        match &entry.node.value {
            Value::Table(inner) => flatten(inner, &key, found),
            _ => found.push(Entry { key, ..entry.clone() }),
        }
    }
}

fn levels<'a>(entry: &'a Entry, mistakes: &mut Collector) -> Option<&'a [Node]> {
    let Value::Array(levels) = &entry.node.value else {
        let title =
            format!("`{}` in [vary] takes a list of levels, not {}", entry.key, entry.node.value.kind());
        mistakes.at(&entry.node.place, title, "put the levels into brackets: [ ... ]");
        return None;
    };
    if levels.is_empty() {
        let title = format!("`{}` in [vary] has no level", entry.key);
        mistakes.at(&entry.node.place, title, "one level or more belongs here");
        return None;
    }
    for (index, level) in levels.iter().enumerate() {
        if levels[..index].iter().any(|earlier| earlier.value == level.value) {
            let title = format!("`{}` has the level {} twice", entry.key, level.label());
            mistakes.at(
                &level.place,
                title,
                "leave it out; `repeats` in [measure] says how often all are measured",
            );
        }
    }
    Some(levels)
}

/// Factors are shown by the last part of their path; where two would share a name, by the whole.
fn name_apart(variations: &mut [Variation]) {
    let names: Vec<String> = variations.iter().map(|variation| variation.name.clone()).collect();
    for variation in variations.iter_mut() {
        if names.iter().filter(|name| **name == variation.name).count() > 1 {
            variation.name = variation.path.join(".");
        }
    }
}

/// Every combination of levels, the last factor changing fastest.
pub(super) fn treatments(
    root: &Table,
    variations: &[Variation],
    seed: u64,
    mistakes: &mut Collector,
) -> Vec<Treatment> {
    let count =
        variations.iter().map(|variation| variation.levels.len()).try_fold(1_usize, usize::checked_mul);
    let Some(count) = count.filter(|count| *count <= TREATMENTS_MAX) else {
        mistakes.missing(
            format!("[vary] makes more than {TREATMENTS_MAX} combinations"),
            "leave levels or factors out",
        );
        return Vec::new();
    };
    let mut treatments = Vec::with_capacity(count);
    for mut number in 0..count {
        let mut chosen = vec![0; variations.len()];
        for (index, variation) in variations.iter().enumerate().rev() {
            chosen[index] = number % variation.levels.len();
            number /= variation.levels.len();
        }
        let levels: Vec<(&Variation, &Node)> = variations
            .iter()
            .zip(&chosen)
            .map(|(variation, &index)| (variation, &variation.levels[index]))
            .collect();
        treatments.extend(treatment(root, &levels, seed, mistakes));
    }
    treatments
}

fn treatment(
    base: &Table,
    levels: &[(&Variation, &Node)],
    seed: u64,
    mistakes: &mut Collector,
) -> Option<Treatment> {
    let mut root = base.clone();
    let mut server = None;
    let mut suffix = String::new();
    for (variation, level) in levels {
        if variation.path == ["server"] {
            server = Some(*level);
            continue;
        }
        if variation.path.last().is_some_and(|key| key == "arrival") {
            forget_arrival(&mut root, &variation.path, level);
        }
        root.put_at(&variation.path, &level.place, (*level).clone(), mistakes);
        if variation.changes_server() {
            suffix.push_str(&format!(" {}={}", variation.name, level.label()));
        }
    }
    let data = parts::data(root.get("data"), mistakes);
    let streams =
        streams::streams(root.get("stream"), root.get("workload"), &data, Completeness::Whole, mistakes);
    let mut server = chosen_server(&root, server, mistakes)?;
    let client = parts::client(root.get("client"), Some(&server), mistakes);
    let data = DataSet { seed, ..streams.first()?.1.clone() };
    let streams = streams.into_iter().map(|(stream, _)| stream).collect();
    server.name.push_str(&suffix);
    let levels: BTreeMap<String, String> =
        levels.iter().map(|(variation, level)| (variation.name.clone(), level.label())).collect();
    Some(Treatment { levels, server, data, streams, client })
}

/// A level of `arrival` says it in whole, so that what the stream itself says of its arrival holds for the other levels
/// only, as far as it does not go with this one.
fn forget_arrival(root: &mut Table, path: &[String], level: &Node) {
    let kind = level.text().and_then(|text| text.split_whitespace().next()).unwrap_or_default();
    let kept: &[&str] = match kind {
        "rate" => &["gaps", "lateness_max"],
        "pace" => &["lateness_max"],
        _ => &[],
    };
    let Some(Node { value: Value::Array(streams), .. }) = root.get_mut("stream") else { return };
    let of_all = path.len() == 2;
    for stream in streams.iter_mut().filter(|stream| of_all || stream_name(stream) == path[1]) {
        let Value::Table(table) = &mut stream.value else { continue };
        for key in ["think", "pace", "rate", "gaps", "lateness_max"].iter().filter(|key| !kept.contains(key))
        {
            table.remove(key);
        }
    }
}

fn chosen_server(root: &Table, level: Option<&Node>, mistakes: &mut Collector) -> Option<super::Server> {
    let servers = root.get("server").and_then(Node::table)?;
    let name = match level {
        Some(node) => match node.text() {
            Some(name) => name,
            None => {
                let title = format!("a server's name is text, not {}", node.value.kind());
                mistakes.at(&node.place, title, "the name of a server belongs here, in quotes");
                return None;
            }
        },
        None => servers.0.first()?.key.as_str(),
    };
    let Some(node) = servers.get(name) else {
        let place: &Place = &level?.place;
        mistakes.unknown(place, "server", name, server_names(root));
        return None;
    };
    parts::server(name, node, root.get("settings"), Completeness::Whole, mistakes)
}
