//! The parts of a treatment, read from the tree: a server, a data set, the streams.

use super::{
    DataSet, Server, ServerSource,
    keys::{DATA, SERVER, STREAM},
    mistake::{Collector, Place},
    read::{Values, check},
    tree::{Node, Table, Value},
    written,
};
use crate::workload::{self, OptionKind, Options};
use load::spec::{Protocol, Stream};
use std::{collections::BTreeMap, path::PathBuf};

/// Settings that Prony itself must choose, so that servers neither meet nor outlive their run.
const OWN_SETTINGS: &[&str] =
    &["basedir", "bind_address", "datadir", "log_error", "pid_file", "port", "socket", "tmpdir", "user"];

/// Whether something that is missing is a mistake: not while the base is read, which levels may complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    /// Whatever is there must be right; more may come.
    Partial,
    /// All must be there.
    Whole,
}

/// The options that a stream takes for its workload, beside [`STREAM`]. What shapes the data set is not among them:
/// `[data]` says that once for all streams.
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

/// Reads `[server.NAME]`; `common` is `[settings]`.
pub(super) fn server(
    name: &str,
    node: &Node,
    common: Option<&Node>,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Option<Server> {
    let Some(table) = node.table() else {
        mistakes.at(&node.place, format!("server `{name}` is {}", node.value.kind()), "a table belongs here");
        return None;
    };
    let values = check(table, SERVER, &[], mistakes);
    let source = server_source(name, &values, node, completeness, mistakes)?;
    let mut merged = BTreeMap::new();
    let own = table.get("settings");
    if matches!(source, ServerSource::Url(_)) {
        if let Some(node) = own {
            let title = format!("server `{name}` is running already and takes no settings");
            mistakes.at(&node.place, title, "Prony never configures a server that it did not start");
        }
    } else {
        for node in [common, own].into_iter().flatten() {
            merged.extend(settings(node, mistakes));
        }
    }
    Some(Server { name: name.to_owned(), source, settings: merged })
}

fn server_source(
    name: &str,
    values: &Values<'_>,
    node: &Node,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Option<ServerSource> {
    let kinds: Vec<&Place> = ["product", "path", "url"].iter().filter_map(|key| values.place(key)).collect();
    if let [_, second, ..] = kinds.as_slice() {
        let title = format!("server `{name}` comes from two places");
        mistakes.at(second, title, "one of `product`, `path` and `url` is enough");
    } else if kinds.is_empty() && completeness == Completeness::Whole {
        mistakes.at(
            &node.place,
            format!("server `{name}` does not say what it is"),
            "`product = \"mariadb\"`, or a `path`, or a `url` belongs here",
        );
    }
    if let (Some(place), None) = (values.place("version"), values.place("product")) {
        let title = format!("server `{name}` has a version and no product");
        mistakes.at(place, title, "only a server named by `product` has a `version`");
    }
    if let Some(url) = values.text("url") {
        check_url(&url, values.place("url")?, mistakes);
        return Some(ServerSource::Url(url));
    }
    if let Some(path) = values.text("path") {
        return Some(ServerSource::Path(PathBuf::from(path)));
    }
    let product = values.text("product")?;
    Some(ServerSource::Product { product, version: values.text("version") })
}

fn check_url(url: &str, place: &Place, mistakes: &mut Collector) {
    match url::Url::parse(url) {
        Err(error) => {
            let label = "mysql://user@host:port/database belongs here";
            mistakes.at(place, format!("`url` is not an address: {error}"), label);
        }
        Ok(parsed) if parsed.password().is_some() => mistakes.at_with_help(
            place,
            "there is a password in the study",
            "leave the password out",
            "a study is stored with its results; give the password in the environment (MYSQL_PWD) or in an option file (~/.my.cnf)",
        ),
        Ok(parsed) if !["mysql", "mariadb"].contains(&parsed.scheme()) => {
            mistakes.unknown(place, "kind of address", parsed.scheme(), ["mysql", "mariadb"]);
        }
        Ok(_) => {}
    }
}

/// Reads a table of settings into what an option file takes; `-` and `_` are the same in names.
pub(super) fn settings(node: &Node, mistakes: &mut Collector) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let Some(table) = node.table() else {
        mistakes.at(&node.place, format!("`settings` is {}", node.value.kind()), "a table belongs here");
        return settings;
    };
    for entry in &table.0 {
        let name = entry.key.replace('-', "_");
        if OWN_SETTINGS.contains(&name.as_str()) {
            let title = format!("Prony itself chooses `{name}`");
            mistakes.at(&entry.key_place, title, "leave this setting out");
        }
        let value = match &entry.node.value {
            Value::Flag(true) => "ON".to_owned(),
            Value::Flag(false) => "OFF".to_owned(),
            Value::Text(_) | Value::Integer(_) | Value::Real(_) => entry.node.label(),
            other => {
                let title = format!("setting `{name}` is {}", other.kind());
                mistakes.at(&entry.node.place, title, "text, a number, true or false belongs here");
                continue;
            }
        };
        settings.insert(name, value);
    }
    settings
}

/// What `[data]` says: the options that it sets for every workload, and the layout where it names one.
pub(super) struct Data {
    options: Options,
    generator: Option<String>,
}

impl Data {
    /// What every workload starts from.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }
}

/// Reads `[data]`; what is missing has its default.
pub(super) fn data(node: Option<&Node>, mistakes: &mut Collector) -> Data {
    let empty = Table::default();
    let table = section(node, "data", &empty, mistakes);
    let values = check(table, DATA, &[], mistakes);
    let options = Options {
        tables: u32::try_from(values.count("tables")).unwrap_or(1),
        table_size: values.count("rows"),
        engine: values.text("engine").unwrap_or_default(),
        create_secondary: values.flag("create_secondary"),
        secondary: values.flag("secondary"),
        auto_inc: values.flag("auto_inc"),
        ..Options::default()
    };
    Data { options, generator: values.text("generator") }
}

/// The table of a section, or an empty one where there is none or something else stands there.
pub(super) fn section<'a>(
    node: Option<&'a Node>,
    name: &str,
    empty: &'a Table,
    mistakes: &mut Collector,
) -> &'a Table {
    let Some(node) = node else { return empty };
    node.table().unwrap_or_else(|| {
        mistakes.at(&node.place, format!("`{name}` is {}", node.value.kind()), "a table belongs here");
        empty
    })
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
    let mut read: Vec<(Stream, DataSet)> = Vec::new();
    for node in nodes {
        let Some((stream, data)) = stream(node, workloads, data, completeness, mistakes) else { continue };
        if read.iter().any(|(other, _)| other.name == stream.name) {
            let title = format!("there are two streams named `{}`", stream.name);
            mistakes.at(&node.place, title, "give each stream a `name` of its own");
        }
        read.push((stream, data));
    }
    read
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
    let stream = Stream { protocol, ..Stream::new(name, workload, connections) };
    Some((stream, data_set))
}

/// The options of a stream's workload: those of `[data]`, and those written in the stream.
fn options(table: &Table, known: &[&str], data: &Data, mistakes: &mut Collector) -> Options {
    let mut options = data.options.clone();
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
