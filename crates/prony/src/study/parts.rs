//! The parts of a treatment, read from the tree: a server, a data set, how connections are made. Streams have
//! a file of their own.

use super::{
    Client, Repetition, Server, ServerSource, Transport, forms,
    keys::{CLIENT, DATA, SERVER},
    mistake::{Collector, Place},
    read::{Values, check},
    telemetry, topology,
    tree::{Node, Table, Value},
};
use crate::workload::Options;
use load::spec::TlsMode;
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

/// Reads `[server.NAME]` with what `root` says of all servers: `[settings]`, `[topology]`.
pub(super) fn server(
    name: &str,
    node: &Node,
    root: &Table,
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
    let apply_settings = values.flag("apply_settings");
    let runs_already = matches!(source, ServerSource::Url(_));
    if let (Some(place), true, false) = (values.place("apply_settings"), apply_settings, runs_already) {
        let title = format!("server `{name}` is started by Prony and has its settings from the beginning");
        mistakes.at(place, title, "only a server with a `url` is reconfigured while it runs");
    }
    let write_to_my_tables = values.flag("write_to_my_tables");
    if let (Some(place), true, false) = (values.place("write_to_my_tables"), write_to_my_tables, runs_already)
    {
        let title = format!("server `{name}` is started by Prony and has no tables of yours");
        mistakes.at(place, title, "leave it out: it is for servers with a `url`");
    }
    if runs_already && !apply_settings {
        if let Some(node) = own {
            mistakes.at_with_help(
                &node.place,
                format!("server `{name}` is running already and takes no settings"),
                "Prony does not configure a server that it did not start unless it is told to",
                "`apply_settings = true` sets them while the study runs and puts back what was there",
            );
        }
    } else {
        for node in [root.get("settings"), own].into_iter().flatten() {
            merged.extend(settings(node, mistakes));
        }
    }
    let node_exporter = telemetry::node_exporter(&values, mistakes);
    let topology = topology::topology((name, &source), root.get("topology"), table.get("topology"), mistakes);
    Some(Server {
        settings: merged,
        node_exporter,
        topology,
        apply_settings,
        write_to_my_tables,
        ..Server::new(name, source)
    })
}

fn server_source(
    name: &str,
    values: &Values<'_>,
    node: &Node,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Option<ServerSource> {
    let kinds: Vec<&Place> =
        ["product", "path", "image", "url"].iter().filter_map(|key| values.place(key)).collect();
    if let [_, second, ..] = kinds.as_slice() {
        let title = format!("server `{name}` comes from two places");
        mistakes.at(second, title, "one of `product`, `path`, `image` and `url` is enough");
    } else if kinds.is_empty() && completeness == Completeness::Whole {
        mistakes.at(
            &node.place,
            format!("server `{name}` does not say what it is"),
            "`product = \"mariadb\"`, or a `path`, an `image` or a `url` belongs here",
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
    if let Some(image) = values.text("image") {
        return Some(ServerSource::Image(image));
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
            "a study is stored with its results; give the password in the environment (MYSQL_PWD) or in an \
             option file (~/.my.cnf)",
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
    pub(super) generator: Option<String>,
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

/// Reads of `[measure]` how trials are repeated.
pub(super) fn repetition(measure: &Values<'_>, mistakes: &mut Collector) -> Repetition {
    let count = |name: &str| u32::try_from(measure.count(name)).unwrap_or(u32::MAX);
    if let (Some(place), None) = (measure.place("budget"), measure.place("precision")) {
        let label = "it bounds the repeats that a precision asks for: `precision = \"2%\"`";
        mistakes.at(place, "there is `budget` without `precision`", label);
    }
    Repetition {
        restarts: count("restarts"),
        precision: measure.read("precision", forms::share),
        repeats_max: count("repeats_max"),
        budget: measure.duration_written("budget"),
        repeat_invalid: count("repeat_invalid"),
    }
}

/// Reads `[client]`; `server` is the one that is connected to, where that is known.
pub(super) fn client(node: Option<&Node>, server: Option<&Server>, mistakes: &mut Collector) -> Client {
    let empty = Table::default();
    let values = check(section(node, "client", &empty, mistakes), CLIENT, &[], mistakes);
    if let (Some(place), Some(Server { name, source: ServerSource::Url(_), .. })) =
        (values.place("transport"), server)
    {
        let title = format!("server `{name}` is running already and reached as its `url` says");
        mistakes.at(
            place,
            title,
            "only servers that Prony starts have both; put `?socket=PATH` behind a url",
        );
    }
    let is_at = |name: &str, word: &str| values.text(name).as_deref() == Some(word);
    let modes =
        [("disabled", TlsMode::Disabled), ("preferred", TlsMode::Preferred), ("required", TlsMode::Required)];
    let transports = [("tcp", Transport::Tcp), ("socket", Transport::Socket)];
    Client {
        transport: transports.into_iter().find(|(word, _)| is_at("transport", word)).map(|(_, each)| each),
        tls: modes.into_iter().find(|(word, _)| is_at("tls", word)).map(|(_, mode)| mode),
        compress: values.place("compress").map(|_| values.flag("compress")),
        sources: values.read("sources", forms::addresses).unwrap_or_default(),
        open_rate: values.number("open_rate"),
        connect_timeout: values.duration("connect_timeout"),
        reply_timeout: values.duration_written("reply_timeout"),
        workers: values.place("workers").and_then(|_| u32::try_from(values.count("workers")).ok()),
        latency: values.duration_written("latency"),
        pin: values.read("pin", forms::processors).unwrap_or_default(),
    }
}
