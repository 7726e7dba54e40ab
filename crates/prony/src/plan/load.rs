//! The load of a plan in words that one could read aloud: who does what on how many connections, when it
//! starts, when it ends.

use super::{Client, Goal, Plan, Transport};
use crate::{
    arrival,
    quantity::{show_count, show_duration},
};
use ::load::spec::{
    Arrival, Begin, ConnectionMode, Destination, Gaps, Limit, Protocol, Stream, Think, TlsMode,
};
use std::time::Duration;

/// What is said of one combination: words around the value that may be another one elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Phrase {
    before: &'static str,
    value: String,
    after: String,
}

impl Phrase {
    fn new(before: &'static str, value: impl Into<String>, after: impl Into<String>) -> Self {
        Self { before, value: value.into(), after: after.into() }
    }

    /// One that is said as it is.
    fn plain(text: impl Into<String>) -> Self {
        Self::new("", text, "")
    }

    fn nothing() -> Self {
        Self::plain("")
    }

    fn text(&self) -> String {
        format!("{}{}{}", self.before, self.value, self.after)
    }
}

/// One line for each stream, and one on its connections where something is special about them.
pub(super) fn lines(plan: &Plan) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for stream in plan.treatments.iter().flat_map(|treatment| &treatment.streams) {
        if !names.contains(&stream.name.as_str()) {
            names.push(&stream.name);
        }
    }
    let mut lines: Vec<String> = names.iter().map(|name| stream_line(plan, name)).collect();
    let said = [transport, encryption, compression, sources, opening, patience, workers, between, pin];
    let said = said.map(|say| one_of(plan.treatments.iter().map(|treatment| say(&treatment.client))));
    let said: Vec<String> = said.into_iter().filter(|part| !part.is_empty()).collect();
    if !said.is_empty() {
        lines.push(format!("connections: {}", said.join("; ")));
    }
    lines
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
        Destination::Members => "to the replicas or further nodes in turn",
        Destination::All => "to all servers that work together, in turn",
        Destination::Local => "by the Unix socket of the server",
    })
}

fn idle(stream: &Stream) -> Phrase {
    match stream.idle {
        0 => Phrase::nothing(),
        idle => Phrase::new("", show_count(u64::from(idle)), " more that are open and idle"),
    }
}

fn start(stream: &Stream) -> Phrase {
    let skip = |lateness_max: &Option<Duration>| {
        lateness_max.map_or_else(String::new, |most| format!(", skipped when {} late", time(most)))
    };
    match &stream.arrival {
        Arrival::Closed => Phrase::plain("each transaction as soon as the connection's last one has ended"),
        Arrival::Think(Think::Fixed(pause)) => {
            Phrase::new("each connection pauses ", time(*pause), " after a transaction")
        }
        Arrival::Think(Think::Exponential(mean)) => Phrase::new(
            "each connection pauses ",
            time(*mean),
            " on average after a transaction, exponentially",
        ),
        Arrival::Paced { every, lateness_max } => {
            Phrase::new("each connection starts a transaction every ", time(*every), skip(lateness_max))
        }
        Arrival::Open { rate, gaps, lateness_max } => {
            let gaps = if *gaps == Gaps::Poisson { "at random (Poisson)" } else { "evenly" };
            let after = format!(", {gaps}, whoever is free{}", skip(lateness_max));
            Phrase::new("transactions start at ", arrival::write_rate(rate), after)
        }
    }
}

fn search(stream: &Stream, goal: &Goal) -> Phrase {
    let evenly = matches!(stream.arrival, Arrival::Open { gaps: Gaps::Constant, .. });
    let after = format!(
        ", with transactions that start {}, whoever is free, and is then measured at it",
        if evenly { "evenly" } else { "at random (Poisson)" }
    );
    Phrase::new("each trial searches the highest rate that keeps ", goal.objective.clone(), after)
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
    match stream.limit {
        None => Phrase::nothing(),
        Some(Limit::Transactions(count)) => Phrase::new("ends after ", show_count(count), " transactions"),
        Some(Limit::Rows(count)) => Phrase::new("ends after ", show_count(count), " rows"),
    }
}

fn transport(client: &Client) -> Phrase {
    Phrase::plain(match client.transport {
        None => "",
        Some(Transport::Tcp) => "by TCP",
        Some(Transport::Socket) => "by the Unix socket",
    })
}

fn encryption(client: &Client) -> Phrase {
    Phrase::plain(match client.tls {
        None => "",
        Some(TlsMode::Disabled) => "without TLS",
        Some(TlsMode::Preferred) => "TLS where the server has it",
        Some(_) => "TLS",
    })
}

fn compression(client: &Client) -> Phrase {
    Phrase::plain(match client.compress {
        None => "",
        Some(false) => "uncompressed",
        Some(true) => "compressed",
    })
}

fn sources(client: &Client) -> Phrase {
    let addresses: Vec<String> = client.sources.iter().map(ToString::to_string).collect();
    if addresses.is_empty() { Phrase::nothing() } else { Phrase::new("from ", addresses.join(", "), "") }
}

fn opening(client: &Client) -> Phrase {
    let at = |rate: f64| Phrase::new("opened at ", rate.to_string(), " a second");
    client.open_rate.map_or_else(Phrase::nothing, at)
}

fn patience(client: &Client) -> Phrase {
    let mut parts = Vec::new();
    if client.connect_timeout != Client::default().connect_timeout {
        parts.push(format!("given {} to open", time(client.connect_timeout)));
    }
    parts.extend(client.reply_timeout.map(|most| format!("given up where a reply takes {}", time(most))));
    Phrase::plain(parts.join(", "))
}

fn workers(client: &Client) -> Phrase {
    match client.workers {
        None => Phrase::nothing(),
        Some(1) => Phrase::plain("1 thread of the load engine"),
        Some(count) => Phrase::new("", count.to_string(), " threads of the load engine"),
    }
}

/// What a network adds before a server.
fn between(client: &Client) -> Phrase {
    client.latency.map_or_else(Phrase::nothing, network)
}

fn network(round_trip: Duration) -> Phrase {
    match round_trip {
        Duration::ZERO => Phrase::plain("with no network between"),
        round_trip => Phrase::new("through a network that adds a round trip of ", time(round_trip), ""),
    }
}

/// The same, as it is said of servers.
pub(super) fn latency(round_trip: Duration) -> String {
    network(round_trip).text()
}

fn pin(client: &Client) -> Phrase {
    let numbers: Vec<String> = client.pin.iter().map(u32::to_string).collect();
    if numbers.is_empty() { Phrase::nothing() } else { Phrase::new("on processors ", numbers.join(", "), "") }
}

/// `10 ms`.
fn time(time: Duration) -> String {
    let us = time.as_micros();
    if us >= 100 && !us.is_multiple_of(1000) && time.subsec_nanos().is_multiple_of(1000) {
        return format!("{} ms", us as f64 / 1e3);
    }
    let text = show_duration(time);
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..at], &text[at..])
}
