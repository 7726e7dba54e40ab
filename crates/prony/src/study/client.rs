//! How connections are made, for all streams, and which processes make them: `[client]` and `[load]`.

use super::{
    Act, Server, forms,
    keys::{self, Key, Put, key, section},
    kinds::{Addresses, Count, DAY_US, Flag, LATENCY_MAX_US, Number, Time, Words},
    mistake::{Collector, Place},
    phrase::{Phrase, joined},
    server::through_network,
    tree::{Node, Table},
};
use crate::quantity::say_duration;
use load::spec::TlsMode;
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, time::Duration};

/// `[client]`
pub(super) const CLIENT: &[Key<Client>] = &[
    key(
        "transport",
        &Put(
            Words(&[("tcp", Transport::Tcp), ("socket", Transport::Socket)]),
            |client: &mut Client, value| client.transport = Some(value),
        ),
        None,
        r#""tcp""#,
        "How servers that Prony starts are reached: TCP, which is the default, or the Unix socket.",
    )
    .says(|client| {
        Phrase::plain(match client.transport {
            None => "",
            Some(Transport::Tcp) => "by TCP",
            Some(Transport::Socket) => "by the Unix socket",
        })
    }),
    key(
        "tls",
        &Put(
            Words(&[
                ("disabled", TlsMode::Disabled),
                ("preferred", TlsMode::Preferred),
                ("required", TlsMode::Required),
            ]),
            |client: &mut Client, value| client.tls = Some(value),
        ),
        None,
        r#""required""#,
        "Encryption of the connections; without it, what the server's `url` says, else none.",
    )
    .says(|client| {
        Phrase::plain(match client.tls {
            None => "",
            Some(TlsMode::Disabled) => "without TLS",
            Some(TlsMode::Preferred) => "TLS where the server has it",
            Some(_) => "TLS",
        })
    }),
    key(
        "compress",
        &Put(Flag, |client: &mut Client, value| client.compress = Some(value)),
        None,
        "true",
        "Compression of the connections; without it, what the server's `url` says, else none.",
    )
    .says(|client| {
        Phrase::plain(match client.compress {
            None => "",
            Some(false) => "uncompressed",
            Some(true) => "compressed",
        })
    }),
    key(
        "sources",
        &Put(Addresses, |client: &mut Client, value| client.sources = value),
        Some("[]"),
        "",
        "Addresses to connect from, in turn: each has as many ports as the kernel allows.",
    )
    .says(|client| Phrase::of("from ", joined(&client.sources, ", "), "")),
    key(
        "open_rate",
        &Put(Number(0.001, 1e6), |client: &mut Client, value| client.open_rate = Some(value)),
        None,
        "500",
        "Connections opened in a second before the load begins; without it, as fast as the server takes \
         them.",
    )
    .says(|client| Phrase::of("opened at ", client.open_rate, " a second")),
    key(
        "connect_timeout",
        &Put(Time(1_000, DAY_US), |client: &mut Client, value| client.connect_timeout = value),
        Some(r#""10s""#),
        "",
        "How long opening one connection may take.",
    )
    .says(|client| {
        let time = client.connect_timeout;
        let said = (time != Client::default().connect_timeout).then(|| say_duration(time));
        Phrase::of("given ", said, " to open")
    }),
    key(
        "reply_timeout",
        &Put(Time(1_000, DAY_US), |client: &mut Client, value| client.reply_timeout = Some(value)),
        None,
        r#""30s""#,
        "How long a reply may take before its connection is given up; without it, any time.",
    )
    .says(|client| Phrase::of("given up where a reply takes ", client.reply_timeout.map(say_duration), "")),
    key(
        "workers",
        &Put(Count(1, 1024), |client: &mut Client, value| client.workers = Some(value)),
        None,
        "2",
        "Threads of the load engine in each of its processes; without it, as many as the most demanding \
         load of the run needs, the same in all trials.",
    )
    .says(|client| match client.workers {
        Some(1) => Phrase::plain("1 thread of the load engine"),
        count => Phrase::of("", count, " threads of the load engine"),
    }),
    key(
        "latency",
        &Put(Time(0, LATENCY_MAX_US), |client: &mut Client, value| client.latency = Some(value)),
        None,
        r#""0.8ms""#,
        "Round trip of a network between client and servers, half of it each way, which is added to what \
         there is.",
    )
    .says(|client| client.latency.map_or_else(Phrase::nothing, through_network)),
    key(
        "pin",
        &Put(forms::PROCESSORS, |client: &mut Client, value| client.pin = value),
        None,
        r#""4-7""#,
        "The processors that the load engine and the network may run on; without it, all.",
    )
    .says(|client| Phrase::of("on processors ", joined(&client.pin, ", "), "")),
];

/// `[load]`
pub(super) const LOAD: &[Key<Client>] = &[key(
    "processes",
    &Put(Count(1, 64), |client: &mut Client, value| client.processes = value),
    Some("1"),
    "",
    "Processes on this machine that carry the load out together, each its share of the connections; their \
     results are merged exactly. One is Prony itself.",
)
.says(|client| {
    let several = Some(client.processes).filter(|&count| count > 1);
    Phrase::of("shared by ", several, " load processes")
})];

/// How connections are made, for all streams of a treatment, and where they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// How a server that Prony started is reached; `None`: by TCP.
    pub transport: Option<Transport>,
    /// Encryption; `None`: as the server's address says.
    pub tls: Option<TlsMode>,
    /// Compression; `None`: as the server's address says.
    pub compress: Option<bool>,
    /// Addresses to connect from, in turn; empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// Connections opened in a second before the load begins; `None`: as fast as the server takes them.
    pub open_rate: Option<f64>,
    /// How long opening one connection may take.
    pub connect_timeout: Duration,
    /// How long a reply may take; `None`: any time.
    pub reply_timeout: Option<Duration>,
    /// Threads of the load engine; `None`: as it finds best.
    pub workers: Option<u32>,
    /// Processes that carry the load out together; one is Prony's own.
    #[serde(default = "one")]
    pub processes: u32,
    /// Round trip of the network that is put between client and server; `None` and zero: none.
    #[serde(default)]
    pub latency: Option<Duration>,
    /// Numbers of the processors that the load engine may run on; empty: all.
    #[serde(default)]
    pub pin: Vec<u32>,
}

/// One process: the default of [`Client::processes`], and all that the first plans had.
fn one() -> u32 {
    1
}

impl Default for Client {
    fn default() -> Self {
        Self {
            transport: None,
            tls: None,
            compress: None,
            sources: Vec::new(),
            open_rate: None,
            connect_timeout: Duration::from_secs(10),
            reply_timeout: None,
            workers: None,
            processes: one(),
            latency: None,
            pin: Vec::new(),
        }
    }
}

/// A way to a server on the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// The Unix socket.
    Socket,
}

/// What a plan can say of how connections are made, key by key.
pub fn client_words() -> impl Iterator<Item = fn(&Client) -> Phrase> {
    keys::words(CLIENT).chain(keys::words(LOAD))
}

/// Reads `[client]` and `[load]`; `server` is the one that is connected to, where that is known.
pub(super) fn client(root: &Table, server: Option<&Server>, mistakes: &mut Collector) -> Client {
    let empty = Table::default();
    let table = section(root.get("client"), "client", mistakes).unwrap_or(&empty);
    let (client, seen): (Client, _) = keys::read(table, CLIENT, mistakes);
    let table = section(root.get("load"), "load", mistakes).unwrap_or(&empty);
    let (load, _): (Client, _) = keys::read(table, LOAD, mistakes);
    let running = server.filter(|server| !server.may(Act::Start));
    if let (Some(place), Some(Server { name, .. })) = (seen.place("transport"), running) {
        let title = format!("server `{name}` is running already and reached as its `url` says");
        mistakes.at(
            place,
            title,
            "only servers that Prony starts have both; put `?socket=PATH` behind a url",
        );
    }
    Client { processes: load.processes, ..client }
}

/// A Unix socket has no network. `place` is where the treatment's distance is written.
pub(super) fn check_reach(server: &Server, client: &Client, root: &Table, mistakes: &mut Collector) {
    let through = server.latency.or(client.latency).filter(|latency| !latency.is_zero());
    if through.is_none() {
        return;
    }
    let place = |section: &str, key: &str| -> Option<&Place> {
        root.get(section).and_then(Node::table)?.get(key).map(|node| &node.place)
    };
    if client.transport == Some(Transport::Socket)
        && let Some(place) = place("client", "transport")
    {
        let title = "there is no network, and so no latency, on the way through a Unix socket";
        mistakes.at(place, title, "leave `latency` out, or set it to \"0ms\", where the socket is used");
    }
}
