//! Puts a study together: file, scale and `--set` into one tree, and the tree into a [`Study`].

use super::{
    Adjustments, Factor, Fairness, Network, RELEVANT, Study,
    claim::{Scope, claims},
    expand::treatments,
    forms, goal,
    keys::{MEASURE, ROOT},
    limits,
    mistake::{Collector, Place, Source, nearest},
    parts::{self, Completeness},
    paths::{Purpose, factor_names, resolve, server_names, set_value, stream_names},
    read::check,
    select::{self, Selection},
    state, streams, telemetry, topology,
    tree::{Entry, Node, Table, Value},
    vary, written,
};

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
    // What a level is called may be known at another scale only; mistakes of these are told where they are
    // read.
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
    Some(Study { scale: adjustments.scale.clone(), ..study })
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
            mistakes.at(&scale.node.place, title, "a table of overrides belongs here");
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
        None if names.is_empty() => "this study has no scales: leave `--scale` out".to_owned(),
        None => format!("known here: {}", names.join(", ")),
    };
    mistakes.missing(format!("the study has no scale `{wanted}`"), help);
}

/// Lays one `--set KEY=VALUE` upon the tree. A key that varies gets the value as its only level; a list
/// varies its key.
fn set(root: &mut Table, source: usize, text: &str, mistakes: &mut Collector) {
    let Some((name, value)) = text.split_once('=') else {
        let place = Place { source, span: 0..text.len() };
        mistakes.at(&place, format!("`{text}` sets nothing"), "KEY=VALUE belongs here");
        return;
    };
    let key_place = Place { source, span: 0..name.len() };
    let Some(path) = resolve(name.trim(), &key_place, root, Purpose::Set, mistakes) else { return };
    let key = path.join(".");
    let node = set_value(&path, value.trim(), source, text.len() - value.trim_start().len());
    let varied = root.get("vary").and_then(Node::table).is_some_and(|vary| vary.get(&key).is_some());
    let is_factor = path == ["server"] || factor_names(root).contains(&key.as_str());
    if !varied && !matches!(node.value, Value::Array(_)) && !is_factor {
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

/// Reads a whole tree; what is wrong in it is replaced by something, so that reading finds every mistake.
fn read(name: &str, root: &Table, elsewhere: &[Factor], mistakes: &mut Collector) -> Study {
    let values = check(root, ROOT, &[], mistakes);
    let seed = values.count("seed");
    read_base(root, mistakes);
    let empty = Table::default();
    let measure =
        check(parts::section(root.get("measure"), "measure", &empty, mistakes), MEASURE, &[], mistakes);
    let variations = vary::variations(root, elsewhere, mistakes);
    let factors = vary::factors(&variations);
    let known = vary::united(elsewhere.iter().chain(&factors).cloned());
    let excluded: Vec<(Place, Selection)> = select::tables(root, "exclude", mistakes)
        .into_iter()
        .filter_map(|node| Some((node.place.clone(), select::read(node, &factors, &known, mistakes)?)))
        .collect();
    let treatments = treatments(root, &variations, &excluded, seed, mistakes);
    if !treatments.is_empty()
        && treatments.iter().all(|treatment| treatment.goal.is_none())
        && mistakes.is_empty()
    {
        goal::check_unused(root.get("stream"), mistakes);
    }
    // what is not written is the default
    let warm_up =
        measure.read("warm_up", forms::warm_up).unwrap_or_else(|| Some(measure.duration("warm_up")));
    let scope = Scope::new(&factors, &known, stream_names(root), &treatments);
    let claims = claims(root, &scope, mistakes);
    Study {
        claims,
        name: name.to_owned(),
        title: values.text("title").unwrap_or_else(|| name.to_owned()),
        text: String::new(),
        scale: None,
        seed,
        factors,
        treatments,
        fairness: match values.text("fairness").as_deref() {
            Some("strict") => Fairness::Strict,
            Some("off") => Fairness::Off,
            _ => Fairness::Report,
        },
        network: match values.text("network").as_deref() {
            Some("netem") => Network::Netem,
            Some("relay") => Network::Relay,
            _ => Network::Auto,
        },
        warm_up: warm_up.unwrap_or_else(|| measure.duration("warm_up_max")),
        warm_up_auto: warm_up.is_none(),
        interval: measure.duration("interval"),
        repeats: u32::try_from(measure.count("repeats")).unwrap_or(1),
        repetition: parts::repetition(&measure, mistakes),
        telemetry: telemetry::telemetry(root.get("telemetry"), mistakes),
        state: state::read(&measure),
        relevant: measure.read("relevant", forms::share).unwrap_or(RELEVANT),
    }
}

/// What stands in the file before any level is put in: it must be right as far as it goes, also where a level
/// hides it.
fn read_base(root: &Table, mistakes: &mut Collector) {
    if let Some(node) = root.get("settings") {
        parts::settings(node, mistakes);
    }
    if let Some(node) = root.get("topology") {
        topology::check_section(node, mistakes);
    }
    if server_names(root).is_empty() {
        mistakes.missing("the study has no server", "add one:\n[server.mariadb]\nproduct = \"mariadb\"");
    }
    for entry in root.get("server").and_then(Node::table).map(|table| table.0.as_slice()).unwrap_or_default()
    {
        if !entry.key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            let title = format!("`{}` cannot be the name of a server", entry.key);
            mistakes.at(&entry.key_place, title, "letters, digits, `-`, `_` and `.` make a name");
        }
        parts::server(&entry.key, &entry.node, root, Completeness::Partial, mistakes);
    }
    limits::check_all(root, mistakes);
    let data = parts::data(root.get("data"), mistakes);
    let workloads = root.get("workload");
    if let Some(node) = workloads {
        written::check(node, data.options(), mistakes);
    }
    streams::streams(root.get("stream"), workloads, &data, Completeness::Partial, mistakes);
    parts::client(root.get("client"), None, mistakes);
}

/// The text with every password of an address in it replaced by as many stars: a study is shown and stored.
pub(super) fn mask_passwords(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        masked.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "\"'/".contains(c)).unwrap_or(after.len());
        let login = after[..end].rfind('@').unwrap_or(0);
        match after[..login].find(':') {
            Some(colon) => {
                masked.push_str(&after[..=colon]);
                masked.push_str(&"*".repeat(login - colon - 1));
                rest = &after[login..];
            }
            None => rest = after,
        }
    }
    masked.push_str(rest);
    masked
}
