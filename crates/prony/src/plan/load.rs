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
    let said = [
        one_of(clients.clone().map(transport)),
        one_of(clients.clone().map(encryption)),
        one_of(clients.clone().map(compression)),
        one_of(clients.clone().map(sources)),
        one_of(clients.clone().map(opening)),
        one_of(clients.clone().map(patience)),
        one_of(clients.clone().map(workers)),
        one_of(clients.clone().map(|client| client.latency.map_or_else(String::new, latency))),
        one_of(clients.map(pin)),
    ];
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
    let of = |say: fn(&Stream) -> String| one_of(there.iter().flatten().map(|stream| say(stream)));
    let starts = plan.treatments.iter().zip(&there).filter_map(|(treatment, stream)| {
        let goal = treatment.goal.as_ref().filter(|goal| goal.stream == name);
        stream.map(|stream| goal.map_or_else(|| start(stream), |goal| search(stream, goal)))
    });
    let numbers = there.iter().map(|stream| {
        stream.map_or_else(|| "no".to_owned(), |stream| show_count(u64::from(stream.connections)))
    });
    let connections = one_of(numbers);
    let is_primary = |stream: &&Stream| stream.to == Destination::Primary;
    let to =
        if there.iter().flatten().all(is_primary) { String::new() } else { format!(" {}", of(destination)) };
    let noun = if connections == "1" { "connection" } else { "connections" };
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

/// Different texts in their order: `a, b or c`. Where only some say something, what the others say is
/// `otherwise not`.
fn one_of(texts: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for text in texts {
        if !different.contains(&text) {
            different.push(text);
        }
    }
    let some_say_nothing = different.len() > 1 && different.iter().any(String::is_empty);
    different.retain(|text| !text.is_empty());
    if some_say_nothing {
        different.push("not at all".to_owned());
    }
    let words: Vec<Vec<&str>> = different.iter().map(|text| text.split(' ').collect()).collect();
    let shortest = words.iter().map(Vec::len).min().unwrap_or(0);
    let same =
        |at: &dyn Fn(&[&str]) -> usize| words.iter().all(|one| one[at(one)] == words[0][at(&words[0])]);
    let begin = (0..shortest).take_while(|&place| same(&|_| place)).count();
    if words.len() < 2 || begin < WORDS_SHARED {
        return listed(different);
    }
    // `every 10 or 1 ms`: what all say is said once
    let end = (0..shortest - begin).take_while(|&place| same(&|one| one.len() - 1 - place)).count();
    let middles: Vec<String> = words.iter().map(|one| one[begin..one.len() - end].join(" ")).collect();
    let comma = if middles.iter().all(|middle| middle.ends_with(',')) { "," } else { "" };
    let middles = middles.iter().map(|middle| middle.trim_end_matches(',').to_owned()).collect();
    let (before, after) = (words[0][..begin].join(" "), words[0][words[0].len() - end..].join(" "));
    format!("{before} {}{comma} {after}", listed(middles)).trim_end().to_owned()
}

/// Words that texts must begin with alike to be told as one.
const WORDS_SHARED: usize = 3;

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

fn workload(stream: &Stream) -> String {
    stream.workload.name.clone()
}

fn protocol(stream: &Stream) -> String {
    let words = match stream.protocol {
        Protocol::Prepared => "prepared statements",
        Protocol::Text => "plain text",
    };
    words.to_owned()
}

/// Where it goes.
fn destination(stream: &Stream) -> String {
    match stream.to {
        Destination::Primary => "to the primary",
        Destination::Members => "to the replicas or further nodes in turn",
        Destination::All => "to all servers that work together, in turn",
        Destination::Local => "by the Unix socket of the server",
    }
    .to_owned()
}

fn idle(stream: &Stream) -> String {
    match stream.idle {
        0 => String::new(),
        idle => format!("{} more that are open and idle", show_count(u64::from(idle))),
    }
}

fn start(stream: &Stream) -> String {
    let skip = |lateness_max: &Option<Duration>| {
        lateness_max.map_or_else(String::new, |most| format!(", skipped when {} late", time(most)))
    };
    match &stream.arrival {
        Arrival::Closed => "each transaction as soon as the connection's last one has ended".to_owned(),
        Arrival::Think(Think::Fixed(pause)) => {
            format!("each connection pauses {} after a transaction", time(*pause))
        }
        Arrival::Think(Think::Exponential(mean)) => {
            format!("each connection pauses {} on average after a transaction, exponentially", time(*mean))
        }
        Arrival::Paced { every, lateness_max } => {
            format!("each connection starts a transaction every {}{}", time(*every), skip(lateness_max))
        }
        Arrival::Open { rate, gaps, lateness_max } => {
            let gaps = if *gaps == Gaps::Poisson { "at random (Poisson)" } else { "evenly" };
            format!(
                "transactions start at {}, {gaps}, whoever is free{}",
                arrival::write_rate(rate),
                skip(lateness_max)
            )
        }
    }
}

fn search(stream: &Stream, goal: &Goal) -> String {
    let evenly = matches!(stream.arrival, Arrival::Open { gaps: Gaps::Constant, .. });
    format!(
        "each trial searches the highest rate that keeps {}, with transactions that start {}, whoever is \
         free, and is then measured at it",
        goal.objective,
        if evenly { "evenly" } else { "at random (Poisson)" }
    )
}

fn reconnect(stream: &Stream) -> String {
    match stream.connect {
        ConnectionMode::Long => "lasting connections".to_owned(),
        ConnectionMode::Statement => "a new connection for each statement".to_owned(),
        ConnectionMode::Transactions(1) => "a new connection for each transaction".to_owned(),
        ConnectionMode::Transactions(count) => format!("a new connection after {count} transactions"),
    }
}

fn begin(stream: &Stream) -> String {
    match &stream.begin {
        Begin::Together => String::new(),
        Begin::After(time_after) => format!("begins {} after the warm-up", time(*time_after)),
        Begin::WhenDone(other) => format!("begins when {other} is done"),
    }
}

fn limit(stream: &Stream) -> String {
    match stream.limit {
        None => String::new(),
        Some(Limit::Transactions(count)) => {
            format!("ends after {} transactions", show_count(count))
        }
        Some(Limit::Rows(count)) => format!("ends after {} rows", show_count(count)),
    }
}

fn transport(client: &Client) -> String {
    match client.transport {
        None => String::new(),
        Some(Transport::Tcp) => "by TCP".to_owned(),
        Some(Transport::Socket) => "by the Unix socket".to_owned(),
    }
}

fn encryption(client: &Client) -> String {
    match client.tls {
        None => String::new(),
        Some(TlsMode::Disabled) => "without TLS".to_owned(),
        Some(TlsMode::Preferred) => "TLS where the server has it".to_owned(),
        Some(_) => "TLS".to_owned(),
    }
}

fn compression(client: &Client) -> String {
    match client.compress {
        None => String::new(),
        Some(false) => "uncompressed".to_owned(),
        Some(true) => "compressed".to_owned(),
    }
}

fn sources(client: &Client) -> String {
    let addresses: Vec<String> = client.sources.iter().map(ToString::to_string).collect();
    if addresses.is_empty() { String::new() } else { format!("from {}", addresses.join(", ")) }
}

fn opening(client: &Client) -> String {
    client.open_rate.map_or_else(String::new, |rate| format!("opened at {rate} a second"))
}

fn patience(client: &Client) -> String {
    let mut parts = Vec::new();
    if client.connect_timeout != Client::default().connect_timeout {
        parts.push(format!("given {} to open", time(client.connect_timeout)));
    }
    parts.extend(client.reply_timeout.map(|most| format!("given up where a reply takes {}", time(most))));
    parts.join(", ")
}

fn workers(client: &Client) -> String {
    match client.workers {
        None => String::new(),
        Some(1) => "1 thread of the load engine".to_owned(),
        Some(count) => format!("{count} threads of the load engine"),
    }
}

/// What a network adds.
pub(super) fn latency(round_trip: Duration) -> String {
    match round_trip {
        Duration::ZERO => "with no network between".to_owned(),
        round_trip => format!("through a network that adds a round trip of {}", time(round_trip)),
    }
}

fn pin(client: &Client) -> String {
    let numbers: Vec<String> = client.pin.iter().map(u32::to_string).collect();
    if numbers.is_empty() { String::new() } else { format!("on processors {}", numbers.join(", ")) }
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
