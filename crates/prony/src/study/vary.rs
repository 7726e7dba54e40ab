//! What varies, as it is written: `[vary]` for keys of the study, `[factor.NAME]` for levels that set several
//! keys at once, `[[nested]]` for what varies only where others have certain levels.

use super::{
    Factor,
    keys::read,
    mistake::Collector,
    paths::{Purpose, Segments, factor_names, resolve, server_names, stream_names},
    select::{self, NESTED, Selection},
    tree::{Entry, Node, Table, Value},
};

/// Sections whose keys, where they vary, make different servers of one.
const SERVER_SECTIONS: [&str; 4] = ["server", "settings", "topology", "limits"];

/// A factor with its levels.
#[derive(Debug, Clone)]
pub(super) struct Variation {
    /// As it is shown.
    pub(super) name: String,
    /// What it varies; for one of `[factor]`, its name.
    path: Segments,
    /// One or more.
    pub(super) levels: Vec<Level>,
    /// Levels of other factors under which alone it exists.
    pub(super) under: Option<Selection>,
}

/// One level of a factor.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// As it is shown, and where it is written.
    pub(super) node: Node,
    /// What it sets.
    pub(super) sets: Vec<(Segments, Node)>,
}

impl Level {
    /// As it is shown.
    pub(super) fn label(&self) -> String {
        self.node.label()
    }

    /// Its number, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match &self.node.value {
            Value::Integer(_) | Value::Real(_) => self.node.label().parse().ok(),
            _ => None,
        }
    }
}

impl Variation {
    /// Whether its levels make different servers of one.
    pub(super) fn changes_server(&self) -> bool {
        let of_server = |path: &Segments| path.len() > 1 && SERVER_SECTIONS.contains(&path[0].as_str());
        self.levels.iter().flat_map(|level| &level.sets).any(|(path, _)| of_server(path))
    }

    /// Whether it says which server takes part.
    fn chooses_server(&self) -> bool {
        self.levels.iter().flat_map(|level| &level.sets).any(|(path, _)| path == &["server"])
    }
}

/// The factors as they are shown: what is written in several `[[nested]]` is one of them.
pub(super) fn factors(variations: &[Variation]) -> Vec<Factor> {
    united(variations.iter().map(|variation| Factor {
        name: variation.name.clone(),
        levels: variation.levels.iter().map(Level::label).collect(),
        numeric: variation.levels.iter().all(|level| level.number().is_some()),
    }))
}

/// Factors of one name become one with the levels of all.
pub(super) fn united(factors: impl IntoIterator<Item = Factor>) -> Vec<Factor> {
    let mut different: Vec<Factor> = Vec::new();
    for factor in factors {
        match different.iter_mut().find(|other| other.name == factor.name) {
            Some(other) => {
                let new: Vec<String> =
                    factor.levels.into_iter().filter(|level| !other.levels.contains(level)).collect();
                other.levels.extend(new);
                other.numeric &= factor.numeric;
            }
            None => different.push(factor),
        }
    }
    different
}

/// Reads what varies. Where it is not said which servers take part, all do. `elsewhere` are the factors at
/// other scales.
pub(super) fn variations(root: &Table, elsewhere: &[Factor], mistakes: &mut Collector) -> Vec<Variation> {
    let mut variations = read_vary(root.get("vary"), root, mistakes);
    let named: Vec<String> = variations.iter().map(|variation| variation.path.join(".")).collect();
    for name in factor_names(root).into_iter().filter(|name| !named.iter().any(|other| other == name)) {
        let levels = levels_of_factor(name, None, root, mistakes);
        if !levels.is_empty() {
            let path = vec![name.to_owned()];
            variations.push(Variation { name: name.to_owned(), path, levels, under: None });
        }
    }
    if server_names(root).len() > 1 && !variations.iter().any(Variation::chooses_server) {
        variations.insert(0, all_servers(root));
    }
    name_apart(&mut variations);
    read_nested(root, elsewhere, &mut variations, mistakes);
    variations
}

fn read_vary(node: Option<&Node>, root: &Table, mistakes: &mut Collector) -> Vec<Variation> {
    let Some(node) = node else { return Vec::new() };
    let Some(table) = node.table() else {
        mistakes.at(&node.place, format!("`vary` is {}", node.value.kind()), "expected a table");
        return Vec::new();
    };
    let mut written: Vec<Entry> = Vec::new();
    table.flatten("", &mut written);
    let mut variations: Vec<Variation> = Vec::new();
    for entry in &written {
        let path = resolve(&entry.key, &entry.key_place, root, Purpose::Vary, mistakes);
        let Some(nodes) = levels(entry, mistakes) else { continue };
        let Some(path) = path else { continue };
        if variations.iter().any(|other| other.path == path) {
            let title = format!("`{}` is varied twice", entry.key);
            mistakes.at(&entry.key_place, title, "remove one of them");
            continue;
        }
        let levels = match path.as_slice() {
            [name] if name != "server" => levels_of_factor(name, Some(nodes), root, mistakes),
            _ => nodes
                .iter()
                .map(|node| Level { node: node.clone(), sets: vec![(path.clone(), node.clone())] })
                .collect(),
        };
        if !levels.is_empty() {
            variations.push(Variation { name: short_name(&path, root), path, levels, under: None });
        }
    }
    variations
}

/// The levels of `[factor.NAME]`, or those of them that `[vary]` names.
fn levels_of_factor(
    name: &str,
    chosen: Option<&[Node]>,
    root: &Table,
    mistakes: &mut Collector,
) -> Vec<Level> {
    let factor = root.get("factor").and_then(Node::table).and_then(|table| table.entry(name));
    let Some(factor) = factor else { return Vec::new() };
    let Some(table) = factor.node.table() else {
        let title = format!("factor `{name}` is {}", factor.node.value.kind());
        mistakes.at(&factor.node.place, title, "expected levels: `small = { data.rows = 1000 }`");
        return Vec::new();
    };
    if table.0.is_empty() {
        mistakes.at(&factor.key_place, format!("factor `{name}` has no level"), "expected one level or more");
    }
    let levels: Vec<Level> =
        table.0.iter().filter_map(|entry| level_of_factor(name, entry, root, mistakes)).collect();
    let Some(chosen) = chosen else { return levels };
    let mut found = Vec::new();
    for node in chosen {
        match levels.iter().find(|level| level.label() == node.label()) {
            Some(level) => found.push(level.clone()),
            None => {
                let known: Vec<String> = table.0.iter().map(|entry| entry.key.clone()).collect();
                let what = format!("level of `{name}`");
                mistakes.unknown(&node.place, &what, &node.label(), known.iter().map(String::as_str));
            }
        }
    }
    found
}

fn level_of_factor(factor: &str, entry: &Entry, root: &Table, mistakes: &mut Collector) -> Option<Level> {
    let Some(table) = entry.node.table() else {
        let title = format!("level `{}` of factor `{factor}` is {}", entry.key, entry.node.value.kind());
        mistakes.at(&entry.node.place, title, "expected the keys that it sets: `{ data.rows = 1000 }`");
        return None;
    };
    let mut written: Vec<Entry> = Vec::new();
    table.flatten("", &mut written);
    let mut sets = Vec::new();
    for set in written {
        let path = resolve(&set.key, &set.key_place, root, Purpose::Level, mistakes);
        sets.extend(path.map(|path| (path, set.node)));
    }
    let value = match entry.key.parse::<i64>() {
        Ok(number) => Value::Integer(number),
        Err(_) => Value::Text(entry.key.clone()),
    };
    Some(Level { node: Node { value, place: entry.key_place.clone() }, sets })
}

/// Reads every `[[nested]]`. What it varies may be varied elsewhere only under other levels.
fn read_nested(
    root: &Table,
    elsewhere: &[Factor],
    variations: &mut Vec<Variation>,
    mistakes: &mut Collector,
) {
    for node in select::tables(root, "nested", mistakes) {
        let Some(table) = node.table() else { continue };
        let ((), values) = read(table, NESTED, mistakes);
        if values.place("under").is_none() || values.place("vary").is_none() {
            let label = "add `under = { FACTOR = LEVEL }` and `vary = { KEY = [LEVELS] }`";
            mistakes.at(&node.place, "a nested factor needs `under` and `vary`", label);
            continue;
        }
        let factors = factors(variations);
        let known = united(factors.iter().chain(elsewhere).cloned());
        // where it is wrong, that has been told: nothing more is to follow from it
        let under = table.get("under").and_then(|under| select::read(under, &factors, &known, mistakes));
        let under = Some(under.unwrap_or_default());
        for mut variation in read_vary(table.get("vary"), root, mistakes) {
            let everywhere = |other: &Variation| other.path == variation.path && other.under.is_none();
            if variations.iter().any(everywhere) {
                let title = format!("`{}` is already varied everywhere", variation.name);
                mistakes.at(&node.place, title, "remove it here, or in [vary]");
                continue;
            }
            variation.under.clone_from(&under);
            variations.push(variation);
        }
    }
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
    let path = vec!["server".to_owned()];
    let level = |entry: &Entry| {
        let node = Node { value: Value::Text(entry.key.clone()), place: entry.key_place.clone() };
        Level { node: node.clone(), sets: vec![(path.clone(), node)] }
    };
    let levels = entries.iter().map(level).collect();
    Variation { name: "server".to_owned(), path: path.clone(), levels, under: None }
}

fn levels<'a>(entry: &'a Entry, mistakes: &mut Collector) -> Option<&'a [Node]> {
    let Value::Array(levels) = &entry.node.value else {
        let title =
            format!("`{}` in [vary] takes a list of levels, not {}", entry.key, entry.node.value.kind());
        mistakes.at(&entry.node.place, title, "put the levels in brackets: [ ... ]");
        return None;
    };
    if levels.is_empty() {
        let title = format!("`{}` in [vary] has no level", entry.key);
        mistakes.at(&entry.node.place, title, "expected one level or more");
        return None;
    }
    for (index, level) in levels.iter().enumerate() {
        if levels[..index].iter().any(|earlier| earlier.value == level.value) {
            let title = format!("`{}` has the level {} twice", entry.key, level.label());
            mistakes.at(
                &level.place,
                title,
                "remove it; `repeats` in [measure] says how often all are measured",
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
