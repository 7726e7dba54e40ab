//! The streams of a treatment, read from the tree: each with its workload, its arrival, its connections.

use super::{
    DataSet,
    data::{DATA, Data},
    forms,
    keys::{Key, Put, Seen, has, key, read_into},
    kinds::{Count, DAY_US, Text, Time, Words},
    mistake::{Collector, Place},
    order,
    server::Completeness,
    tree::{Node, Table, Value},
    written,
};
use crate::{
    arrival::{self, Parts},
    layout::{Layout as _, neighbours, tpcc},
    workload::{self, OptionKind, Options},
};
use load::spec::{Arrival, Begin, ConnectionMode, Destination, Gaps, Limit, Protocol, Stream};
use std::time::Duration;

/// Highest number of connections of a stream; more than a machine has ports for one address.
const CONNECTIONS_MAX: u32 = 100_000;

/// `[[stream]]`; beside these it takes the options of its workload.
pub(super) const STREAM: &[Key<Written>] = &[
    key(
        "name",
        &Put(Text, |stream: &mut Written, value| stream.name = value),
        Some(r#""main""#),
        "",
        "Its name in results; required if there are several streams.",
    ),
    key(
        "workload",
        &Put(Text, |stream: &mut Written, value| stream.workload = Some(value)),
        None,
        r#""oltp_read_only""#,
        "A built-in workload, or one of `[workload.NAME]`.",
    ),
    key(
        "connections",
        &Put(Count(0, CONNECTIONS_MAX), |stream: &mut Written, value| stream.connections = value),
        None,
        "64",
        "Number of active connections; 0 leaves the stream out.",
    ),
    key(
        "idle",
        &Put(Count(0, CONNECTIONS_MAX), |stream: &mut Written, value| stream.idle = value),
        Some("0"),
        "",
        "Additional connections that stay open and idle.",
    ),
    key(
        "to",
        &Put(Words(TO), |stream: &mut Written, value| stream.to = value),
        Some(r#""primary""#),
        "",
        "Where its connections go: to the primary, to the replicas (or other nodes) in turn, to all in turn; \
         or \"local\": to the primary over its Unix socket, like a client on the server's own machine, \
         bypassing any `latency`.",
    ),
    key(
        "arrival",
        &Put(forms::ARRIVAL, |stream: &mut Written, value| stream.whole = Some(value)),
        Some(r#""closed""#),
        "",
        "When a transaction starts: \"closed\": as soon as the connection's previous one has ended; or one \
         of the next three keys with its value, such as \"rate 1000\", so that a study can vary it.",
    ),
    key(
        "think",
        &Put(forms::THINK, |stream: &mut Written, value| stream.parts.think = Some(value)),
        None,
        r#""10ms""#,
        "Pause after each transaction: always \"10ms\", or \"exp:10ms\": exponentially distributed with this \
         mean.",
    ),
    key(
        "pace",
        &Put(Time(1, DAY_US), |stream: &mut Written, value| stream.parts.pace = Some(value)),
        None,
        r#""10ms""#,
        "Interval at which each connection starts a transaction, at times fixed beforehand.",
    ),
    key(
        "rate",
        &Put(forms::RATE, |stream: &mut Written, value| stream.parts.rate = Some(value)),
        None,
        "1000",
        "Starts per second over all connections, at times fixed beforehand: 1000; steps: \"1000:10s, \
         2000:10s, 500\"; a ramp: \"100..5000 over 60s\"; a sine: \"1000 +- 500 every 60s\"; bursts: \"100 \
         burst 5000 for 2s every 10s\"; or \"find\": each trial searches for the highest rate that keeps the \
         `objective`, and is then measured at that rate.",
    ),
    key(
        "objective",
        &Put(forms::OBJECTIVE, |_: &mut Written, _| ()),
        None,
        r#""p99 < 20ms, errors < 0.1%""#,
        "What a rate to be found must keep: percentiles, \"mean\" or \"max\" of the response time, \"service \
         p99\" and similar, \"errors\" (share); separated by commas.",
    ),
    key(
        "gaps",
        &Put(
            Words(&[("poisson", Gaps::Poisson), ("constant", Gaps::Constant)]),
            |stream: &mut Written, value| stream.parts.gaps = Some(value),
        ),
        None,
        r#""poisson""#,
        "Spacing of the starts of a `rate`: as independent clients arrive, the default, or even.",
    ),
    key(
        "lateness_max",
        &Put(Time(1, DAY_US), |stream: &mut Written, value| stream.parts.lateness_max = Some(value)),
        None,
        r#""1s""#,
        "Starts of a `rate` or `pace` that are later than this are skipped [default: none is skipped].",
    ),
    key(
        "reconnect",
        &Put(forms::RECONNECT, |stream: &mut Written, value| stream.reconnect = value),
        Some(r#""never""#),
        "",
        "When a connection is closed and reopened: \"never\", after each \"transaction\" or \
         \"statement\", or after a number of transactions.",
    ),
    key(
        "protocol",
        &Put(
            Words(&[("prepared", Protocol::Prepared), ("text", Protocol::Text)]),
            |stream: &mut Written, value| stream.protocol = value,
        ),
        Some(r#""prepared""#),
        "",
        "Prepared statements, or queries as text.",
    ),
    key(
        "begin",
        &Put(forms::BEGIN, |stream: &mut Written, value| stream.begin = value),
        Some(r#""together""#),
        "",
        "When it begins: \"together\" with the others, \"after 5s\" of the measurement, or \"after NAME\", \
         when the stream of that name has reached its limit.",
    ),
    key(
        "limit",
        &Put(forms::LIMIT, |stream: &mut Written, value| stream.limit = Some(value)),
        None,
        r#""100000 transactions""#,
        "What ends it before the interval does: a number of transactions or of rows. A trial ends when all \
         limits are reached.",
    ),
    key(
        "time_limit",
        &Put(Time(1_000, DAY_US), |stream: &mut Written, value| stream.time_limit = Some(value)),
        None,
        r#""30s""#,
        "Time after which a stream with a `limit` is stopped even if it has not reached it [default: the \
         whole interval]. What it would have taken is extrapolated and marked, and streams that wait for it \
         begin.",
    ),
];

/// The words of `to`.
const TO: &[(&str, Destination)] = &[
    ("primary", Destination::Primary),
    ("replicas", Destination::Members),
    ("all", Destination::All),
    ("local", Destination::Local),
];

/// The keys of a stream.
#[derive(Default)]
pub(super) struct Written {
    name: String,
    workload: Option<String>,
    connections: u32,
    idle: u32,
    to: Destination,
    whole: Option<Arrival>,
    parts: Parts,
    reconnect: ConnectionMode,
    protocol: Protocol,
    begin: Begin,
    limit: Option<Limit>,
    time_limit: Option<Duration>,
}

/// Keys that say which kind of arrival a stream has, beside `arrival` itself.
const ARRIVAL_PARTS: [&str; 3] = ["rate", "pace", "think"];

/// The options that a stream takes for its workload, beside [`STREAM`]. Options that shape the data set are
/// not among them: `[data]` sets those once for all streams.
pub(super) fn options_of_streams() -> Vec<workload::OptionInfo> {
    let of_data = |info: &workload::OptionInfo| {
        has(DATA, info.name) || info.alias.is_some_and(|alias| has(DATA, alias))
    };
    Options::table().into_iter().filter(|info| !of_data(info)).collect()
}

/// Their names.
pub(super) fn option_names() -> Vec<&'static str> {
    options_of_streams().iter().map(|info| info.name).collect()
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
                "the study has no stream, so nothing would load the servers",
                "add one:\n[[stream]]\nworkload = \"oltp_read_only\"\nconnections = 64",
            );
            return Vec::new();
        }
    };
    let mut read: Vec<(&Node, Stream, DataSet)> = Vec::new();
    for node in nodes {
        let Some((stream, data)) = stream(node, workloads, data, completeness, mistakes) else { continue };
        if read.iter().any(|(_, other, _)| other.name == stream.name) {
            let title = format!("there are two streams named `{}`", stream.name);
            mistakes.at(&node.place, title, "give each stream a different `name`");
        }
        read.push((node, stream, data));
    }
    lay_beside(&mut read, mistakes);
    if completeness == Completeness::Whole {
        order::check(&read, mistakes);
        if !read.is_empty() && read.iter().all(|(_, stream, _)| stream.connections == 0) {
            let title = "no stream has connections, so nothing would load the servers";
            mistakes.at(connections_place(read[0].0), title, "at least one stream needs connections");
        }
        read.retain(|(_, stream, _)| stream.connections > 0);
    }
    read.into_iter().map(|(_, stream, data)| (stream, data)).collect()
}

/// Lays the neighbours beside the other streams: they work on the others' tables, and one of their own. It is
/// there wherever a neighbour is written, also for levels without one, so that all have the same data.
fn lay_beside(read: &mut [(&Node, Stream, DataSet)], mistakes: &mut Collector) {
    if !read.iter().any(|(_, stream, _)| neighbours::is_one(stream)) {
        return;
    }
    let first = read.iter().find(|(_, stream, _)| !neighbours::is_one(stream)).or(read.first());
    let Some(others) = first.map(|(.., data)| data.clone()) else { return };
    let wanted = neighbours::engine();
    let locks_rows = others.engine().is_none_or(|engine| engine.eq_ignore_ascii_case(wanted));
    for (node, stream, data) in read {
        if let Some(neighbour) = neighbours::find(&stream.workload.name) {
            neighbour.take_over(stream, &others);
            if neighbour.needs_row_locks && !locks_rows {
                let title = format!("`{}` needs tables of {wanted}", stream.workload.name);
                let label = format!("other engines cannot do that: use `engine = \"{wanted}\"`");
                mistakes.at(&node.place, title, label);
            }
        }
        *data = others.clone().with_neighbours();
    }
}

fn connections_place(stream: &Node) -> &Place {
    let node = stream.table().and_then(|table| table.get("connections"));
    node.map_or(&stream.place, |node| &node.place)
}

fn stream(
    node: &Node,
    workloads: Option<&Node>,
    data: &Data,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Option<(Stream, DataSet)> {
    let Some(table) = node.table() else {
        mistakes.at(&node.place, format!("a stream is {}", node.value.kind()), "expected a table");
        return None;
    };
    let options_known = option_names();
    let mut written = Written::default();
    let seen = read_into(table, STREAM, &options_known, &mut written, mistakes);
    let options = options(table, &options_known, data, mistakes);
    for key in ["workload", "connections"] {
        let has_own = key == "connections"
            && written
                .workload
                .as_deref()
                .is_some_and(|name| workload::has_terminals(name) || neighbours::find(name).is_some());
        if completeness == Completeness::Whole && seen.place(key).is_none() && !has_own {
            let title = format!("a stream has no `{key}`");
            mistakes.at(&node.place, title, format!("add `{key}` here, or `stream.{key}` to [vary]"));
        }
    }
    if let (Completeness::Whole, Some(place), None) = (completeness, seen.place("time_limit"), written.limit)
    {
        let title = "a stream has `time_limit` without `limit`";
        mistakes.at(place, title, "it stops a stream that has not reached its `limit`; add one");
    }
    let name = written.workload.as_ref()?;
    let place = seen.place("workload").unwrap_or(&node.place);
    let (workload, data_set) = written::workload((name, place), node, workloads, (data, &options), mistakes)?;
    if seen.place("connections").is_none() && workload::has_terminals(&workload.name) {
        written.connections = options.warehouses * tpcc::DISTRICTS as u32;
    }
    let neighbour = neighbours::find(&workload.name);
    if let Some(neighbour) = neighbour.filter(|_| seen.place("connections").is_none()) {
        written.connections = neighbour.connections;
    }
    let is_said = ["arrival"].iter().chain(&ARRIVAL_PARTS).any(|key| seen.place(key).is_some());
    let waits = workload::waits(&workload.name);
    let waits = waits.or_else(|| written::waits(workloads, &workload.name, mistakes)).map(Arrival::Waits);
    let own = waits.or(neighbour.map(neighbours::Neighbour::arrival)).filter(|_| !is_said);
    let arrival = arrival(written.parts, written.whole, seen, completeness, mistakes);
    let stream = Stream {
        idle: written.idle,
        to: written.to,
        connect: written.reconnect,
        protocol: written.protocol,
        begin: written.begin,
        limit: written.limit,
        time_limit: written.time_limit,
        arrival: own.unwrap_or(arrival),
        ..Stream::new(written.name, workload, written.connections)
    };
    Some((stream, data_set))
}

/// The arrival that its keys make together. While the base is read, a level may still replace one of them.
fn arrival(
    mut parts: Parts,
    whole: Option<Arrival>,
    seen: Seen<'_>,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Arrival {
    let refuse = completeness == Completeness::Whole;
    // its default does not contradict the other keys
    if let (Some(whole), Some(_)) = (whole, seen.place("arrival")) {
        let beside = ARRIVAL_PARTS.iter().find(|key| seen.place(key).is_some());
        if let Some(place) = beside.and_then(|key| seen.place(key)).filter(|_| refuse) {
            let title = format!("a stream has both `arrival` and `{}`", beside.unwrap_or(&""));
            mistakes.at(place, title, "`arrival` covers both: remove one of them");
        }
        (parts.rate, parts.pace, parts.think) = (None, None, None);
        match whole {
            Arrival::Closed | Arrival::Waits(_) => {}
            Arrival::Think(think) => parts.think = Some(think),
            Arrival::Paced { every, .. } => parts.pace = Some(every),
            Arrival::Open { rate, .. } => parts.rate = Some(rate),
        }
    }
    parts.arrival().unwrap_or_else(|error| {
        let told = match error {
            arrival::Error::Conflict(first, second) => seen.place(second).map(|place| {
                let title = format!("a stream has both `{first}` and `{second}`");
                (place, title, "a stream has one kind of arrival: remove one of them".to_owned())
            }),
            arrival::Error::Missing(key, needed) => seen.place(key).map(|place| {
                let title = format!("a stream has `{key}` without `{needed}`");
                (place, title, format!("`{key}` applies to `{needed}`, which the stream does not have"))
            }),
            _ => None,
        };
        if let Some((place, title, label)) = told.filter(|_| refuse) {
            mistakes.at(place, title, label);
        }
        Arrival::Closed
    })
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
            mistakes.at(&entry.node.place, title, format!("expected {wanted}"));
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
