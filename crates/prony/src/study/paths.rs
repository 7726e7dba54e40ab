//! Names of keys from the root of a study (`stream.connections`): what can be varied, and what `--set` can
//! set.

use super::{
    keys::{self, Described, names},
    kubernetes::KUBERNETES,
    mistake::{Collector, Place, nearest},
    root::{ROOT, keys_of},
    server::SERVER,
    streams::{STREAM, option_names},
    tree::{Node, Table, Value, parse_value, stream_name},
};

/// Sections that hold for the whole study: any key of them can be varied, set, or be part of a level.
const SECTIONS: [&str; 5] = ["topology", "data", "client", "load", "limits"];
/// Sections that are the same for all trials.
const ALIKE: [&str; 4] = ["measure", "telemetry", "audit", "buy"];
/// Tables of a server with keys of their own.
const OF_SERVER: [&str; 2] = ["topology", "limits"];

/// A key of the study as a path from its root.
pub(super) type Segments = Vec<String>;

/// Whether a path is to be varied, or set once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A key of `[vary]`.
    Vary,
    /// What a level of `[factor.NAME]` sets.
    Level,
    /// A `--set`.
    Set,
}

/// Splits `name` into a path and checks that it leads to something that the study has; every mistake is
/// reported.
pub(super) fn resolve(
    name: &str,
    place: &Place,
    root: &Table,
    purpose: Purpose,
    mistakes: &mut Collector,
) -> Option<Segments> {
    let mut path: Segments = name.split('.').map(|part| part.trim().replace('-', "_")).collect();
    let as_written: Vec<&str> = name.split('.').map(str::trim).collect();
    if ["server", "stream", "table"].contains(&path[0].as_str()) && path.len() > 2 {
        path[1] = as_written[1].to_owned();
    }
    if path.len() == 2 && stream_names(root).contains(&as_written[0]) && !keys::has(ROOT, &path[0]) {
        // a stream's own name is enough: `background.pace`
        path = vec!["stream".to_owned(), as_written[0].to_owned(), path[1].clone()];
    }
    if purpose == Purpose::Set && path.len() == 1 {
        path = full_path(&path[0]).unwrap_or(path);
    }
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let known: Vec<String> = match parts.as_slice() {
        ["server"] if purpose != Purpose::Set || root.get("vary").is_some() => return Some(path),
        [_] if purpose != Purpose::Level && factor_names(root).contains(&as_written[0]) => {
            return Some(vec![as_written[0].to_owned()]);
        }
        ["settings", _] => return Some(path),
        [section, key] if SECTIONS.contains(section) && has(section, key) => return Some(path),
        ["load", "kubernetes", key] if keys::has(KUBERNETES, key) => return Some(path),
        ["table", table, "rows" | "size"] if table_names(root).contains(table) => return Some(path),
        ["stream", key] if has_stream_key(key) => return Some(path),
        ["stream", stream, key] if has_stream_key(key) && stream_names(root).contains(stream) => {
            return Some(path);
        }
        ["server", server, rest @ ..] if server_names(root).contains(server) && is_of_server(rest) => {
            return Some(path);
        }
        ["seed" | "title"] if purpose == Purpose::Set => return Some(path),
        [section, key] if ALIKE.contains(section) && purpose == Purpose::Set && has(section, key) => {
            return Some(path);
        }
        [section, ..] if ALIKE.contains(section) && purpose != Purpose::Set => {
            let title = format!("`{section}` cannot be varied");
            mistakes.at(place, title, "all trials of a study are measured the same way");
            return None;
        }
        ["server", _, ..] => server_names(root).iter().map(|server| format!("server.{server}")).collect(),
        _ => all_paths(root, purpose),
    };
    if let Some(setting) = setting_of_server(&parts, root) {
        mistakes.at(place, format!("the study has no `{name}`"), format!("write a setting as \"{setting}\""));
        return None;
    }
    let shown = match parts.as_slice() {
        ["server", server, ..] => format!("server.{server}"),
        _ => name.to_owned(),
    };
    let streams = stream_names(root);
    if let (2.., Some(stream)) = (parts.len(), nearest(as_written[0], streams.iter().copied()))
        && streams.len() > 1
        && !keys::has(ROOT, parts[0])
        && has_stream_key(parts[parts.len() - 1])
    {
        let label = format!("did you mean `{stream}.{}`?", parts[parts.len() - 1]);
        mistakes.at(place, format!("the study has no `{name}`"), label);
        return None;
    }
    tell_unknown(&parts, place, &shown, &known, mistakes);
    None
}

/// Reports an unknown path, with what was probably meant.
fn tell_unknown(parts: &[&str], place: &Place, shown: &str, known: &[String], mistakes: &mut Collector) {
    // The last part finds what was left out or misspelt: `conections` means `stream.connections`.
    let last = parts[parts.len() - 1];
    let lasts = known.iter().filter_map(|path| path.rsplit('.').next()).filter(|_| parts[0] != "server");
    match nearest(last, lasts).and_then(full_path) {
        Some(full) => {
            let label = format!("did you mean `{}`?", full.join("."));
            mistakes.at(place, format!("the study has no `{shown}`"), label);
        }
        // most settings of servers are unknown here, but none of them is a key of a study
        None if parts.len() == 1 && nearest(last, known.iter().map(String::as_str)).is_none() => {
            let title = format!("the study has no key `{shown}`");
            mistakes.at(place, title, format!("write a setting of the servers as \"settings.{shown}\""));
        }
        None => mistakes.unknown(place, "key", shown, known.iter().map(String::as_str)),
    }
}

/// Where `server.NAME.SETTING` belongs, if it is neither a key nor nearly one.
fn setting_of_server(parts: &[&str], root: &Table) -> Option<String> {
    let ["server", server, setting] = parts else { return None };
    let is_setting = server_names(root).contains(server) && nearest(setting, names(SERVER)).is_none();
    is_setting.then(|| format!("server.{server}.settings.{setting}"))
}

/// Whether a path behind a server's name leads to one of its keys.
fn is_of_server(path: &[&str]) -> bool {
    match path {
        ["settings", _] => true,
        [section, key] if OF_SERVER.contains(section) => has(section, key),
        [key] => has("server", key),
        _ => false,
    }
}

/// The value of a `--set`: where the key takes text, `10.11` needs no quotes.
pub(super) fn set_value(path: &[String], text: &str, source: usize, start: usize) -> Node {
    let node = parse_value(text, source, start);
    match &node.value {
        Value::Integer(_) | Value::Real(_) | Value::Flag(_) | Value::Date if takes_text(path) => {
            Node { value: Value::Text(text.to_owned()), place: node.place }
        }
        _ => node,
    }
}

fn takes_text(path: &[String]) -> bool {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let (section, key) = match parts.as_slice() {
        ["settings", ..] | ["server", _, "settings", _] => return true,
        ["server", _, section, key] => (*section, *key),
        [section, .., key] => (*section, *key),
        _ => return parts == ["title"],
    };
    keys_of(section).iter().any(|known| known.name == key && known.shape.is_text())
}

/// Names of the servers, in the order of the file.
pub(super) fn server_names(root: &Table) -> Vec<&str> {
    let servers = root.get("server").and_then(Node::table);
    servers.map(|table| table.0.iter().map(|entry| entry.key.as_str()).collect()).unwrap_or_default()
}

/// Names of the streams, in the order of the file.
pub(super) fn stream_names(root: &Table) -> Vec<&str> {
    match root.get("stream").map(|node| &node.value) {
        Some(Value::Array(streams)) => streams.iter().map(stream_name).collect(),
        _ => Vec::new(),
    }
}

/// Names of the tables that the study writes, in the order of the file.
fn table_names(root: &Table) -> Vec<&str> {
    match root.get("table").map(|node| &node.value) {
        Some(Value::Array(tables)) => tables.iter().map(stream_name).collect(),
        _ => Vec::new(),
    }
}

/// Names of the factors of `[factor]`, in the order of the file.
pub(super) fn factor_names(root: &Table) -> Vec<&str> {
    let factors = root.get("factor").and_then(Node::table);
    factors.map(|table| table.0.iter().map(|entry| entry.key.as_str()).collect()).unwrap_or_default()
}

/// Whether a section has a key.
fn has(section: &str, name: &str) -> bool {
    keys_of(section).iter().any(|key| key.name == name)
}

fn has_stream_key(name: &str) -> bool {
    name != "name" && (keys::has(STREAM, name) || option_names().contains(&name))
}

/// The one full path that ends in `name`.
fn full_path(name: &str) -> Option<Segments> {
    let found = |sections: &[&'static str]| sections.iter().copied().find(|section| has(section, name));
    let section = match found(&SECTIONS) {
        Some("data") => "data",
        _ if has_stream_key(name) => "stream",
        shared => found(&ALIKE).or(shared)?,
    };
    Some(vec![section.to_owned(), name.to_owned()])
}

fn all_paths(root: &Table, purpose: Purpose) -> Vec<String> {
    let stream_keys = names(STREAM).filter(|name| *name != "name").chain(option_names());
    let mut paths: Vec<String> = vec!["server".to_owned(), "settings.NAME".to_owned()];
    let several = stream_names(root).len() > 1;
    let stream = if several { "NAME." } else { "" };
    paths.extend(stream_keys.map(|name| format!("stream.{stream}{name}")));
    let mut add = |section: &str| {
        paths.extend(keys_of(section).iter().map(|Described { name, .. }| format!("{section}.{name}")));
    };
    SECTIONS.iter().for_each(|section| add(section));
    if purpose == Purpose::Set {
        ALIKE.iter().for_each(|section| add(section));
        paths.extend(["seed".to_owned(), "title".to_owned()]);
    }
    paths.extend(names(KUBERNETES).map(|name| format!("load.kubernetes.{name}")));
    if purpose != Purpose::Level {
        paths.extend(factor_names(root).iter().map(|&name| name.to_owned()));
    }
    paths.extend(table_names(root).iter().map(|table| format!("table.{table}.rows")));
    paths.extend(server_names(root).iter().map(|server| format!("server.{server}.settings.NAME")));
    paths
}

/// `[vary]` and `begin` name streams, so a stream's name must not look like anything else there.
pub(super) fn check_stream_names(root: &Table, mistakes: &mut Collector) {
    let Some(Value::Array(streams)) = root.get("stream").map(|node| &node.value) else { return };
    for node in streams.iter().filter_map(|stream| stream.table()?.get("name")) {
        let Some(name) = node.text().filter(|name| !name.trim().is_empty()) else { continue };
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
            && name.starts_with(|first: char| first.is_ascii_alphabetic());
        let label = if !is_name {
            "use letters, digits, `-` and `_`, starting with a letter"
        } else if keys::has(ROOT, name) || has_stream_key(name) || name == "name" {
            "that is the name of a key; choose another one"
        } else {
            continue;
        };
        mistakes.at(&node.place, format!("`{name}` cannot be the name of a stream"), label);
    }
}
