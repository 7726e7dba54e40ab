//! Puts a study together: file, scale and `--set` into one tree, and the tree into a [`Study`].

use super::{
    Adjustments, Factor, Server, Study, audit, buy,
    claim::{Scope, claims},
    client, data,
    expand::treatments,
    goal, keys, measure,
    mistake::{Collector, Place, Source, nearest},
    paths::{Purpose, check_stream_names, factor_names, resolve, server_names, set_value, stream_names},
    root::ROOT,
    select::{self, Selection},
    server::{self, Completeness},
    streams, topology,
    tree::{Entry, Node, Table, Value},
    vary, written,
};
use crate::escape::without_passwords;

/// The study that file, scale and `--set` make together; `None` only where mistakes were found. Its text is
/// left empty.
pub(super) fn study(
    name: &str,
    sources: &[Source],
    mut file: Table,
    adjustments: &Adjustments,
    mistakes: &mut Collector,
) -> Option<Study> {
    let scales = take_scales(&mut file, mistakes);
    file.flatten_at("vary");
    let scaled = scales.0.iter().filter_map(|scale| scale.node.table()).map(|over| {
        let mut root = file.clone();
        root.merge(over, mistakes);
        root
    });
    let scaled: Vec<Table> = scaled.collect();
    // A level's name may exist at another scale only; mistakes in those are reported where they are read.
    let of = |root| vary::factors(&vary::variations(root, &[], &mut Collector::default()));
    let elsewhere: Vec<Factor> = scaled.iter().chain([&file]).flat_map(of).collect();
    for root in &scaled {
        // Scales that are not asked for are read too: a mistake in them is better found now than on the big
        // machine.
        read(name, root, &elsewhere, mistakes);
    }
    let mut root = file;
    if let Some(wanted) = &adjustments.scale {
        apply_scale(&mut root, wanted, &scales, mistakes);
    }
    for (index, source) in sources.iter().enumerate().skip(1) {
        set(&mut root, index, &source.text, mistakes);
    }
    let study = read(name, &root, &elsewhere, mistakes);
    let set = adjustments.set.iter().map(|one| without_passwords(one)).collect();
    Some(Study { scale: adjustments.scale.clone(), set, ..study })
}

fn take_scales(file: &mut Table, mistakes: &mut Collector) -> Table {
    let Some(entry) = file.remove("scale") else { return Table::default() };
    let Value::Table(mut scales) = entry.node.value else {
        let title = format!("`scale` is {}", entry.node.value.kind());
        mistakes.at(&entry.node.place, title, "scales are written as `[scale.NAME]`");
        return Table::default();
    };
    for scale in &mut scales.0 {
        if let Value::Table(over) = &mut scale.node.value {
            over.flatten_at("vary");
        }
    }
    scales.0.retain(|scale| {
        let is_table = scale.node.table().is_some();
        if !is_table {
            let title = format!("scale `{}` is {}", scale.key, scale.node.value.kind());
            mistakes.at(&scale.node.place, title, "expected a table of overrides");
        }
        is_table
    });
    scales
}

fn apply_scale(root: &mut Table, wanted: &str, scales: &Table, mistakes: &mut Collector) {
    if let Some(over) = scales.get(wanted).and_then(Node::table) {
        return root.merge(over, mistakes);
    }
    let names: Vec<&str> = scales.0.iter().map(|entry| entry.key.as_str()).collect();
    let help = match nearest(wanted, names.iter().copied()) {
        Some(nearest) => format!("did you mean `--scale {nearest}`?"),
        None if names.is_empty() => "this study has no scales: remove `--scale`".to_owned(),
        None => format!("known: {}", names.join(", ")),
    };
    mistakes.missing(format!("the study has no scale `{wanted}`"), help);
}

/// Keys whose values are lists: only a list of lists varies them.
const LISTS: [[&str; 2]; 3] = [["buy", "rate"], ["load", "agents"], ["client", "sources"]];

/// Applies one `--set KEY=VALUE` to the tree. A key that varies gets the value as its only level; a list
/// varies its key.
fn set(root: &mut Table, source: usize, text: &str, mistakes: &mut Collector) {
    let Some((name, value)) = text.split_once('=') else {
        let place = Place { source, span: 0..text.len() };
        mistakes.at(&place, format!("`{text}` is not an override"), "expected KEY=VALUE");
        return;
    };
    let key_place = Place { source, span: 0..name.len() };
    let Some(path) = resolve(name.trim(), &key_place, root, Purpose::Set, mistakes) else { return };
    let key = path.join(".");
    let node = set_value(&path, value.trim(), source, text.len() - value.trim_start().len());
    let varied = root.get("vary").and_then(Node::table).is_some_and(|vary| vary.get(&key).is_some());
    let is_factor = path == ["server"] || factor_names(root).contains(&key.as_str());
    let takes_list = LISTS.iter().any(|list| path == *list);
    let is_level = |node: &Node| !takes_list || matches!(node.value, Value::Array(_));
    let is_list = matches!(&node.value, Value::Array(levels) if levels.iter().all(is_level));
    if !varied && !is_list && !is_factor {
        return root.put_at(&path, &key_place, node, mistakes);
    }
    let place = node.place.clone();
    let levels = match node.value {
        Value::Array(levels) => levels,
        value => vec![Node { value, place: place.clone() }],
    };
    let vary = Entry { key, key_place: key_place.clone(), node: Node { value: Value::Array(levels), place } };
    let vary = Node { value: Value::Table(Table(vec![vary])), place: key_place.clone() };
    root.merge(&Table(vec![Entry { key: "vary".to_owned(), key_place, node: vary }]), mistakes);
}

/// Reads a whole tree. A wrong value is replaced by a valid one, so that reading continues and finds every
/// mistake.
fn read(name: &str, root: &Table, elsewhere: &[Factor], mistakes: &mut Collector) -> Study {
    let (mut study, _): (Study, _) = keys::read(root, ROOT, mistakes);
    if study.title.is_empty() {
        name.clone_into(&mut study.title);
    }
    name.clone_into(&mut study.name);
    measure::read(root, &mut study, mistakes);
    audit::read(root, &mut study, mistakes);
    read_base(root, mistakes);
    let variations = vary::variations(root, elsewhere, mistakes);
    study.factors = vary::factors(&variations);
    let known = vary::united(elsewhere.iter().chain(&study.factors).cloned());
    let excluded: Vec<(Place, Selection)> = select::tables(root, "exclude", mistakes)
        .into_iter()
        .filter_map(|node| Some((node.place.clone(), select::read(node, &study.factors, &known, mistakes)?)))
        .collect();
    study.treatments = treatments(root, &variations, &excluded, study.seed, mistakes);
    buy::read(root, &mut study, mistakes);
    let searches = study.treatments.iter().any(|treatment| treatment.goal.is_some());
    if !study.treatments.is_empty() && !searches && mistakes.is_empty() {
        goal::check_unused(root.get("stream"), mistakes);
    }
    let has = (study.audit.is_some(), !study.alone.is_zero());
    let scope = Scope::new(&study.factors, &known, stream_names(root), &study.treatments, has);
    study.claims = claims(root, &scope, mistakes);
    study
}

/// Checks the file as it is before any level is applied: what it says must be right, even where every level
/// replaces it.
fn read_base(root: &Table, mistakes: &mut Collector) {
    if let Some(node) = root.get("settings") {
        server::settings(node, mistakes);
    }
    if server_names(root).is_empty() {
        mistakes.missing("the study has no server", "add one:\n[server.mariadb]\nproduct = \"mariadb\"");
    }
    for entry in root.get("server").and_then(Node::table).map(|table| table.0.as_slice()).unwrap_or_default()
    {
        if !entry.key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            let title = format!("`{}` cannot be the name of a server", entry.key);
            mistakes.at(&entry.key_place, title, "use letters, digits, `-`, `_` and `.`");
        }
        server::server(&entry.key, &entry.node, root, Completeness::Partial, mistakes);
    }
    let mut any = Server::default();
    server::limits(root.get("limits"), &mut any, mistakes);
    topology::read(&mut any, root.get("topology"), None, mistakes);
    let data = data::data(root, mistakes);
    let workloads = root.get("workload");
    if let Some(node) = workloads {
        written::check(node, &data, mistakes);
    }
    check_stream_names(root, mistakes);
    streams::streams(root.get("stream"), workloads, &data, Completeness::Partial, mistakes);
    client::client(root, None, mistakes);
}
