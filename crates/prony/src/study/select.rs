//! Selections: which combinations of levels `[[exclude]]`, `[[nested]]` and `[[claim]]` mean, by the names of
//! factors and their levels.

use super::{
    Factor,
    keys::{Elsewhere, Key, key},
    mistake::{Collector, nearest},
    shapes,
    tree::{Entry, Node, Table, Value},
};
use std::collections::BTreeMap;

/// `[[nested]]`
pub(super) const NESTED: &[Key<()>] = &[
    key("under", &Elsewhere(shapes::selection), None, r#"{ server = "a" }"#, "Levels under which it exists."),
    key(
        "vary",
        &Elsewhere(shapes::vary),
        None,
        r#"{ "settings.thread_pool_size" = [2, 4] }"#,
        "What varies there, as in [vary].",
    ),
];

/// The selected levels of each factor that it names. A combination is selected where it has one of them in
/// each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Selection(pub(super) BTreeMap<String, Vec<String>>);

impl Selection {
    /// Whether it selects a combination.
    pub(super) fn matches(&self, levels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(factor, wanted)| levels.get(factor).is_some_and(|level| wanted.contains(level)))
    }
}

/// The tables of `[[name]]`.
pub(super) fn tables<'a>(root: &'a Table, name: &str, mistakes: &mut Collector) -> Vec<&'a Node> {
    let Some(node) = root.get(name) else { return Vec::new() };
    let nodes = match &node.value {
        Value::Array(nodes) if nodes.iter().all(|node| node.table().is_some()) => nodes,
        other => {
            let title = format!("`{name}` is {}", other.kind());
            mistakes.at(&node.place, title, format!("it is written as `[[{name}]]`, with two brackets"));
            return Vec::new();
        }
    };
    nodes.iter().collect()
}

/// Reads a table of factors and levels: a level, a list of levels, for numbers also `">= 512"`, `"highest"`
/// and `"lowest"`. `known` are the factors with their levels at all scales: what only another scale has
/// selects nothing here. `None`: something in it is wrong, and the rest would select something else.
pub(super) fn read(
    node: &Node,
    factors: &[Factor],
    known: &[Factor],
    mistakes: &mut Collector,
) -> Option<Selection> {
    let Some(table) = node.table() else {
        let title = format!("a selection is {}", node.value.kind());
        mistakes.at(&node.place, title, "expected factors with their levels: `{ connections = 64 }`");
        return None;
    };
    let wrong_before = mistakes.count();
    let mut written: Vec<Entry> = Vec::new();
    table.flatten("", &mut written);
    let mut selection = Selection::default();
    for entry in &written {
        let Some(factor) = factor_named(&entry.key, known) else {
            let names = known.iter().map(|factor| factor.name.as_str());
            mistakes.unknown(&entry.key_place, "factor", &entry.key, names);
            continue;
        };
        let Factor { name, numeric, .. } = factor;
        let here = factors.iter().find(|factor| factor.name == *name);
        let labels: Vec<&str> = factor.levels.iter().map(String::as_str).collect();
        let nodes = match &entry.node.value {
            Value::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&entry.node),
        };
        let wanted = selection.0.entry(name.clone()).or_default();
        for node in nodes {
            let label = node.label();
            if labels.contains(&label.as_str()) {
                wanted.push(label);
            } else if let Some(found) = numeric.then(|| meant(&label, here)).flatten() {
                wanted.extend(found);
            } else {
                unknown_level(node, name, &labels, *numeric, mistakes);
            }
        }
    }
    (mistakes.count() == wrong_before).then_some(selection)
}

/// A factor by its name, or by the path of its key.
fn factor_named<'a>(written: &str, factors: &'a [Factor]) -> Option<&'a Factor> {
    let plain = written.replace('-', "_");
    let last = plain.rsplit('.').next().unwrap_or(&plain).to_owned();
    let mut by_end = None;
    for factor in factors {
        if factor.name == written || factor.name.replace('-', "_") == plain {
            return Some(factor);
        }
        if factor.name == last {
            by_end = Some(factor);
        }
    }
    by_end
}

/// Numbers by a bound, or the highest or lowest; `None`: the text is neither.
fn meant(text: &str, factor: Option<&Factor>) -> Option<Vec<String>> {
    let levels = factor.map(|factor| factor.levels.as_slice()).unwrap_or_default();
    let mut numbers: Vec<(f64, &String)> =
        levels.iter().filter_map(|level| Some((level.parse().ok()?, level))).collect();
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    match text.trim() {
        "highest" => return Some(numbers.last().map(|(_, level)| (*level).clone()).into_iter().collect()),
        "lowest" => return Some(numbers.first().map(|(_, level)| (*level).clone()).into_iter().collect()),
        _ => {}
    }
    let (compare, rest): (fn(f64, f64) -> bool, &str) = if let Some(rest) = text.strip_prefix(">=") {
        (|level, bound| level >= bound, rest)
    } else if let Some(rest) = text.strip_prefix("<=") {
        (|level, bound| level <= bound, rest)
    } else if let Some(rest) = text.strip_prefix('>') {
        (|level, bound| level > bound, rest)
    } else {
        (|level, bound| level < bound, text.strip_prefix('<')?)
    };
    let bound: f64 = rest.trim().replace('_', "").parse().ok()?;
    Some(
        numbers
            .into_iter()
            .filter(|(level, _)| compare(*level, bound))
            .map(|(_, level)| level.clone())
            .collect(),
    )
}

fn unknown_level(node: &Node, factor: &str, labels: &[&str], numeric: bool, mistakes: &mut Collector) {
    let label = node.label();
    let title = format!("`{factor}` has no level `{label}`");
    let words: &[&str] = if numeric { &["highest", "lowest"] } else { &[] };
    // one number is not a typo for another
    let likely = labels.iter().filter(|_| !numeric).chain(words).copied();
    match nearest(&label, likely) {
        Some(nearest) => mistakes.at(&node.place, title, format!("did you mean `{nearest}`?")),
        None => {
            let more = if numeric { "; or \">= 64\", \"highest\", \"lowest\"" } else { "" };
            let mut labels = labels.to_vec();
            labels.sort_by_cached_key(|label| (label.parse().unwrap_or(u64::MAX), (*label).to_owned()));
            let help = format!("known: {}{more}", labels.join(", "));
            mistakes.at_with_help(&node.place, title, "no such level", help);
        }
    }
}
