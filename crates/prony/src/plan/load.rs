//! The load of a plan in plain words: who does what on how many connections, when it starts, when it ends.

use super::{Audit, CrashKind, Goal, Plan, Treatment};
use crate::{
    arrival,
    quantity::{say_duration as time, show_count},
    study::{Phrase, client_words},
};
use ::load::spec::{Arrival, Begin, ConnectionMode, Destination, Gaps, Limit, Protocol, Stream, Think};
use std::time::Duration;

/// One line for each stream, and one on its connections where something is special about them.
pub(super) fn lines(plan: &Plan) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for stream in plan.treatments.iter().flat_map(|treatment| &treatment.streams) {
        if !names.contains(&stream.name.as_str()) {
            names.push(&stream.name);
        }
    }
    let mut lines: Vec<String> = names.iter().map(|name| stream_line(plan, name)).collect();
    let clients = plan.treatments.iter().map(|treatment| &treatment.client);
    let said = client_words().map(|words| one_of(clients.clone().map(words)));
    let said: Vec<String> = said.filter(|part| !part.is_empty()).collect();
    if !said.is_empty() {
        lines.push(format!("connections: {}", said.join("; ")));
    }
    lines.extend(load_hosts(plan));
    lines
}

/// How many of the connections each load host opens, where there are several.
fn load_hosts(plan: &Plan) -> Option<String> {
    let of = |treatment: &Treatment| {
        let all: u32 = treatment.streams.iter().map(|stream| stream.connections).sum();
        // none is asked for a part without connections
        let hosts = (treatment.client.agents.len() as u32).min(all);
        (hosts > 1).then(|| [hosts, all / hosts, all.div_ceil(hosts)])
    };
    let shares: Vec<[u32; 3]> = plan.treatments.iter().filter_map(of).collect();
    let range = |low: usize, high: usize| {
        let low = shares.iter().map(|share| share[low]).min()?;
        let high = shares.iter().map(|share| share[high]).max()?;
        let (low_text, high_text) = (show_count(low.into()), show_count(high.into()));
        Some(if low == high { low_text } else { format!("{low_text} to {high_text}") })
    };
    let (hosts, each) = (range(0, 0)?, range(1, 2)?);
    Some(format!("load hosts: {hosts} share each load; each opens {each} of its connections"))
}

/// What all treatments say of a stream; where they differ, all of it.
fn stream_line(plan: &Plan, name: &str) -> String {
    let there: Vec<Option<&Stream>> = plan
        .treatments
        .iter()
        .map(|treatment| treatment.streams.iter().find(|stream| stream.name == name))
        .collect();
    let of = |say: fn(&Stream) -> Phrase| one_of(there.iter().flatten().map(|stream| say(stream)));
    let starts = plan.treatments.iter().zip(&there).filter_map(|(treatment, stream)| {
        let goal = treatment.goal.as_ref().filter(|goal| goal.stream == name);
        stream.map(|stream| goal.map_or_else(|| start(stream), |goal| search(stream, goal)))
    });
    let is_one = there.iter().all(|stream| stream.is_some_and(|stream| stream.connections == 1));
    let connections = one_of(there.iter().map(|stream| {
        let count = |stream: &Stream| show_count(u64::from(stream.connections));
        Phrase::plain(stream.map_or_else(|| "no".to_owned(), count))
    }));
    let is_primary = |stream: &&Stream| stream.to == Destination::Primary;
    let to =
        if there.iter().flatten().all(is_primary) { String::new() } else { format!(" {}", of(destination)) };
    let noun = if is_one { "connection" } else { "connections" };
    let parts = [
        format!("{} on {connections} {noun}{to}, {}", of(workload), of(protocol)),
        of(idle),
        one_of(starts),
        if there.iter().flatten().all(|stream| stream.connect == ConnectionMode::Long) {
            String::new()
        } else {
            of(reconnect)
        },
        of(begin),
        of(limit),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{name}: {}", parts.join("; "))
}

/// Different phrases in their order: `a, b or c`; of those that differ in their value alone the values
/// (`every 10 or 1 ms`). Where only some say something, what the others say is `not at all`.
fn one_of(phrases: impl Iterator<Item = Phrase>) -> String {
    let mut different: Vec<Phrase> = Vec::new();
    for phrase in phrases {
        if !different.contains(&phrase) {
            different.push(phrase);
        }
    }
    let all = different.len();
    different.retain(|phrase| *phrase != Phrase::nothing());
    let some_say_nothing = all > 1 && different.len() < all;
    if let [first, others @ ..] = &different[..]
        && !some_say_nothing
        && others.iter().all(|other| (other.before, &other.after) == (first.before, &first.after))
    {
        let values = different.iter().map(|phrase| phrase.value.clone()).collect();
        return format!("{}{}{}", first.before, listed(values), first.after);
    }
    let texts = different.iter().map(Phrase::text);
    listed(texts.chain(some_say_nothing.then(|| "not at all".to_owned())).collect())
}

/// `a, b or c`.
pub(super) fn listed(mut texts: Vec<String>) -> String {
    let last = texts.pop().unwrap_or_default();
    match texts.as_slice() {
        [] => last,
        before if before.iter().chain([&last]).any(|text| text.contains(", ")) => {
            format!("{}, or {last}", before.join(", or "))
        }
        before => format!("{} or {last}", before.join(", ")),
    }
}

/// What becomes of servers in an audit.
pub(super) fn struck(audit: &Audit) -> String {
    let word = |kind: &CrashKind| match kind {
        CrashKind::Kill => "the primary is killed",
        CrashKind::Network => "its network is cut (where it has replicas or further nodes)",
        CrashKind::Power => "its power is lost (where it is alone)",
    };
    audit.kinds.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn workload(stream: &Stream) -> Phrase {
    Phrase::plain(stream.workload.name.clone())
}

fn protocol(stream: &Stream) -> Phrase {
    Phrase::plain(match stream.protocol {
        Protocol::Prepared => "prepared statements",
        Protocol::Text => "plain text",
    })
}

/// Where it goes.
fn destination(stream: &Stream) -> Phrase {
    Phrase::plain(match stream.to {
        Destination::Primary => "to the primary",
        Destination::Members => "to the replicas or other nodes in turn",
        Destination::All => "to all members in turn",
        Destination::Local => "by the Unix socket of the server",
        Destination::Stranger => "to the primary as an unknown user",
    })
}

fn idle(stream: &Stream) -> Phrase {
    match stream.idle {
        0 => Phrase::nothing(),
        idle => Phrase::new("", show_count(u64::from(idle)), " more open and idle"),
    }
}

fn start(stream: &Stream) -> Phrase {
    let skip = |lateness_max: &Option<Duration>| {
        lateness_max.map_or_else(String::new, |most| format!(", skipped when {} late", time(most)))
    };
    match &stream.arrival {
        Arrival::Closed => Phrase::plain(
            "each transaction starts as soon as the connection's previous one \
                                          has ended",
        ),
        Arrival::Think(Think::Fixed(pause)) => {
            Phrase::new("each connection pauses ", time(*pause), " after a transaction")
        }
        Arrival::Think(Think::Exponential(mean)) => Phrase::new(
            "each connection pauses ",
            time(*mean),
            " on average after a transaction, exponentially",
        ),
        Arrival::Waits(_) => Phrase::new(
            "before and after a transaction, each connection waits as long as people at terminals do, ",
            time(stream.arrival.wait_mean(&stream.workload)),
            " on average",
        ),
        Arrival::Paced { every, lateness_max } => {
            Phrase::new("each connection starts a transaction every ", time(*every), skip(lateness_max))
        }
        Arrival::Open { rate, gaps, lateness_max } => {
            let gaps = if *gaps == Gaps::Poisson { "at random (Poisson)" } else { "evenly" };
            let after = format!(", {gaps}, on any free connection{}", skip(lateness_max));
            Phrase::new("transactions start at ", arrival::write_rate(rate), after)
        }
    }
}

fn search(stream: &Stream, goal: &Goal) -> Phrase {
    let evenly = matches!(stream.arrival, Arrival::Open { gaps: Gaps::Constant, .. });
    let after = format!(
        ", with transactions that start {} on any free connection, and is then measured at it",
        if evenly { "evenly" } else { "at random (Poisson)" }
    );
    Phrase::new("each trial searches for the highest rate that keeps ", goal.objective.clone(), after)
}

fn reconnect(stream: &Stream) -> Phrase {
    match stream.connect {
        ConnectionMode::Long => Phrase::plain("lasting connections"),
        ConnectionMode::Statement => Phrase::new("a new connection for each ", "statement", ""),
        ConnectionMode::Transactions(1) => Phrase::new("a new connection for each ", "transaction", ""),
        ConnectionMode::Transactions(count) => {
            Phrase::new("a new connection after ", count.to_string(), " transactions")
        }
    }
}

fn begin(stream: &Stream) -> Phrase {
    match &stream.begin {
        Begin::Together => Phrase::nothing(),
        Begin::After(time_after) => Phrase::new("begins ", time(*time_after), " after the warm-up"),
        Begin::WhenDone(other) => Phrase::new("begins when ", other.clone(), " is done"),
    }
}

fn limit(stream: &Stream) -> Phrase {
    let time =
        stream.time_limit.map_or_else(String::new, |limit| format!(", after {} at the latest", time(limit)));
    match stream.limit {
        None => Phrase::nothing(),
        Some(Limit::Transactions(count)) => {
            Phrase::new("ends after ", show_count(count), format!(" transactions{time}"))
        }
        Some(Limit::Rows(count)) => Phrase::new("ends after ", show_count(count), format!(" rows{time}")),
    }
}
