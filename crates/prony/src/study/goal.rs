//! A stream whose rate is to be found: the highest at which an objective is kept. It is read beside the
//! streams themselves, since the load engine knows nothing about it.

use super::{
    forms,
    mistake::{Collector, Place},
    tree::{Node, Table, Value, stream_name},
};
use load::spec::{Begin, Stream};
use serde::{Deserialize, Serialize};

/// What a treatment searches the highest rate for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// Name of the stream whose rate is searched.
    pub stream: String,
    /// What is to be kept: `p99 < 20ms, errors < 0.1%`.
    pub objective: String,
}

/// The goal of a treatment with these streams, of which `nodes` is what the study says.
pub(super) fn goal<'a>(
    nodes: Option<&Node>,
    streams: impl Iterator<Item = &'a Stream> + Clone,
    mistakes: &mut Collector,
) -> Option<Goal> {
    let (mut goal, mut searching) = (None, 0);
    for (node, table) in tables(nodes) {
        let name = stream_name(node);
        let Some(stream) = streams.clone().find(|stream| stream.name == name) else { continue };
        let Some(place) = searched(table) else { continue };
        searching += 1;
        if searching > 1 {
            let title = "two streams search for their highest rate at the same time";
            mistakes.at(place, title, "expected a number, or another arrival: only one stream can search");
            continue;
        }
        let limited = streams.clone().find(|stream| stream.limit.is_some());
        if let Some(limited) = limited {
            let title = format!(
                "a stream searches for its rate, but stream `{}` has a `limit`, which ends the load",
                limited.name
            );
            mistakes.at(place, title, "a search needs loads that last: remove `limit`, or set a rate");
        }
        if stream.begin != Begin::Together {
            let title = format!("stream `{name}` searches for its rate, but begins later than the load");
            mistakes.at(place, title, "remove its `begin`, or set a rate");
        }
        if table.get("objective").is_none() {
            let title = "a search for a rate needs an `objective`";
            mistakes.at(place, title, "add an objective, such as `objective = \"p99 < 20ms\"`");
        }
        // what is wrong with an objective has been told, and a study with a mistake is never carried out
        let objective = table.get("objective").and_then(|node| forms::objective(node).ok());
        let objective = objective.map_or_else(String::new, |objective| objective.to_string());
        goal = Some(Goal { stream: name.to_owned(), objective });
    }
    goal
}

/// An objective that no combination of the study searches a rate for.
pub(super) fn check_unused(nodes: Option<&Node>, mistakes: &mut Collector) {
    for place in tables(nodes).filter_map(|(_, table)| table.get("objective")).map(|node| &node.place) {
        let title = "an `objective` has no effect without a search for a rate";
        mistakes.at(place, title, "add `rate = \"find\"`, or remove the objective");
    }
}

fn tables(nodes: Option<&Node>) -> impl Iterator<Item = (&Node, &Table)> {
    let nodes = match nodes.map(|node| &node.value) {
        Some(Value::Array(nodes)) => nodes.as_slice(),
        _ => &[],
    };
    nodes.iter().filter_map(|node| Some((node, node.table()?)))
}

/// Where a stream says that its rate is to be found.
fn searched(table: &Table) -> Option<&Place> {
    let said = |key: &str, find: &str| {
        let node = table.get(key)?;
        let words: Vec<&str> = node.text()?.split_whitespace().collect();
        (words.join(" ") == find).then_some(&node.place)
    };
    said("rate", forms::FIND).or_else(|| said("arrival", "rate find"))
}
