//! From the tree to every combination of levels, each complete and checked.

use super::{
    Treatment, client, data, goal,
    mistake::{Collector, Place},
    paths::server_names,
    select::Selection,
    server::{self, Completeness},
    streams, topology,
    tree::{Node, Table, Value, stream_name},
    vary::{Level, Variation},
};
use crate::workload;
use std::collections::BTreeMap;

/// Most treatments of a study: more than this is a slip in `[vary]`.
const TREATMENTS_MAX: usize = 5_000;
/// Most combinations, those that are excluded included.
const COMBINATIONS_MAX: usize = 100_000;

/// The level of each factor, in the order of the factors.
type Combination<'a> = Vec<(&'a Variation, &'a Level)>;

/// Every combination of levels that is not excluded, the last factor changing fastest.
pub(super) fn treatments(
    root: &Table,
    variations: &[Variation],
    excluded: &[(Place, Selection)],
    seed: u64,
    mistakes: &mut Collector,
) -> Vec<Treatment> {
    let Some(all) = combinations(variations, mistakes) else {
        mistakes.missing(
            format!("the factors give more than {COMBINATIONS_MAX} combinations"),
            "remove levels or factors",
        );
        return Vec::new();
    };
    let is_out = |levels: &Combination<'_>| {
        let levels = labels(levels);
        excluded.iter().any(|(_, selection)| selection.matches(&levels))
    };
    let kept: Vec<&Combination<'_>> = all.iter().filter(|levels| !is_out(levels)).collect();
    if let (true, Some((place, _))) = (kept.is_empty(), excluded.last()) {
        mistakes.at(place, "every combination is excluded: nothing would be measured", "select less");
    }
    if kept.len() > TREATMENTS_MAX {
        mistakes.missing(
            format!("[vary] gives more than {TREATMENTS_MAX} combinations"),
            "remove levels or factors, or exclude combinations with [[exclude]]",
        );
        return Vec::new();
    }
    kept.into_iter().filter_map(|levels| treatment(root, levels, seed, mistakes)).collect()
}

/// Every combination; a nested factor varies only under its levels. `None`: too many.
fn combinations<'a>(variations: &'a [Variation], mistakes: &mut Collector) -> Option<Vec<Combination<'a>>> {
    let mut all: Vec<Combination<'a>> = vec![Vec::new()];
    for variation in variations {
        let mut longer = Vec::with_capacity(all.len() * variation.levels.len());
        for chosen in all {
            let under = variation.under.as_ref();
            if !under.is_none_or(|under| under.matches(&labels(&chosen))) {
                longer.push(chosen);
                continue;
            }
            if let Some((_, level)) = chosen.iter().find(|(other, _)| other.name == variation.name) {
                let title = format!("`{}` is varied twice under the same levels", variation.name);
                mistakes.at(&level.node.place, title, "here, and in another [[nested]]");
                continue;
            }
            for level in &variation.levels {
                let mut next = chosen.clone();
                next.push((variation, level));
                longer.push(next);
            }
        }
        all = longer;
        if all.len() > COMBINATIONS_MAX {
            return None;
        }
    }
    Some(all)
}

fn labels(levels: &Combination<'_>) -> BTreeMap<String, String> {
    levels.iter().map(|(variation, level)| (variation.name.clone(), level.label())).collect()
}

fn treatment(
    base: &Table,
    levels: &Combination<'_>,
    seed: u64,
    mistakes: &mut Collector,
) -> Option<Treatment> {
    let mut root = base.clone();
    let mut server = None;
    let mut suffix = String::new();
    for (variation, level) in levels {
        for (path, node) in &level.sets {
            if path == &["server"] {
                server = Some(node);
                continue;
            }
            if path.last().is_some_and(|key| key == "arrival") {
                forget_arrival(&mut root, path, node);
            }
            root.put_at(path, &node.place, node.clone(), mistakes);
        }
        if variation.changes_server() {
            suffix.push_str(&format!(" {}={}", variation.name, level.label()));
        }
    }
    let mut data = data::data(&root, mistakes);
    // draws under a condition depend on what the rows hold
    if let Some(custom) = &mut data.custom {
        custom.seed = seed;
    }
    let streams =
        streams::streams(root.get("stream"), root.get("workload"), &data, Completeness::Whole, mistakes);
    let mut server = chosen_server(&root, server, mistakes)?;
    let client = client::client(&root, Some(&server), mistakes);
    topology::check_streams(&root, &server, &streams, mistakes);
    for (_, set) in &streams {
        data::check_members(&root, &server, set, mistakes);
    }
    client::check_reach(&server, &client, &root, mistakes);
    server.name.push_str(&suffix);
    mistakes.saw(&server);
    let goal = goal::goal(root.get("stream"), streams.iter().map(|(stream, _)| stream), mistakes);
    let mut data = streams.first()?.1.clone().with_seed(seed);
    // create nothing in a database, which may be a user's, that no statement needs
    if !streams.iter().any(|(stream, _)| workload::needs_data(&stream.workload, &data)) {
        data = data.without_tables();
    }
    let streams = streams.into_iter().map(|(stream, _)| stream).collect();
    Some(Treatment { levels: labels(levels), server, data, streams, client, goal })
}

/// A level of `arrival` says it in whole, so that what the stream itself says of its arrival holds for the
/// other levels only, as far as it does not go with this one.
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
                let title = format!("a server's name must be text, not {}", node.value.kind());
                mistakes.at(&node.place, title, "expected the name of a server in quotes");
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
    server::server(name, node, root, Completeness::Whole, mistakes)
}
