//! Whether streams can begin after one another: the other stream exists, ends, and does not itself wait for
//! them.

use super::{
    DataSet,
    mistake::{Collector, Place},
    tree::Node,
};
use load::spec::{Begin, Stream};

/// Checks `begin` of all streams of a treatment.
pub(super) fn check(streams: &[(&Node, Stream, DataSet)], mistakes: &mut Collector) {
    for (node, stream, _) in streams {
        let Begin::WhenDone(name) = &stream.begin else { continue };
        let place = begin_place(node);
        let names =
            streams.iter().map(|(_, other, _)| other.name.as_str()).filter(|other| *other != stream.name);
        let Some((other_node, other, _)) = streams.iter().find(|(_, other, _)| other.name == *name) else {
            mistakes.unknown(place, "stream", name, names);
            continue;
        };
        if other.name == stream.name {
            let title = format!("stream `{name}` begins after itself");
            mistakes.at(place, title, "expected the name of another stream");
        } else if other.connections == 0 {
            let title = format!("stream `{}` would never start", stream.name);
            mistakes.at(place, title, format!("`{name}` has no connections and is left out"));
        } else if other_node.table().is_some_and(|table| table.get("limit").is_none()) {
            let title = format!("stream `{}` would never start", stream.name);
            mistakes.at(place, title, format!("`{name}` has no `limit` and lasts to the end"));
        } else if waits_for_itself(&stream.name, streams) {
            let title = format!("stream `{}` would never start", stream.name);
            mistakes.at(place, title, "these streams wait for each other");
        }
    }
}

fn begin_place(stream: &Node) -> &Place {
    let node = stream.table().and_then(|table| table.get("begin"));
    node.map_or(&stream.place, |node| &node.place)
}

/// Whether a stream waits for itself through others.
fn waits_for_itself(name: &str, streams: &[(&Node, Stream, DataSet)]) -> bool {
    let mut at = name;
    for _ in streams {
        let found = streams.iter().find(|(_, stream, _)| stream.name == at);
        let Some(Begin::WhenDone(next)) = found.map(|(_, stream, _)| &stream.begin) else { return false };
        if next == name {
            return true;
        }
        at = next;
    }
    false
}
