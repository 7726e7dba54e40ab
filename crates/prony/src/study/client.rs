//! How connections are made, for all streams, and which processes make them: `[client]` and `[load]`.

use super::{
    Act, Server, forms,
    keys::{self, Key, Put, Section, key, section},
    kinds::{Addresses, Count, DAY_US, Flag, LATENCY_MAX_US, LoadHosts, Number, Time, Words},
    kubernetes::{self, KUBERNETES, Kubernetes},
    mistake::{Collector, Place},
    phrase::{Phrase, joined},
    server::through_network,
    tree::{Node, Table},
};
use crate::{
    language::Language,
    quantity::{say_bits, say_duration},
};
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
        "How to connect to servers that Prony starts: over TCP, the default, or over the Unix socket.",
    )
    .says(|client, language| {
        Phrase::plain(match client.transport {
            None => "",
            Some(Transport::Tcp) => language.either("by TCP", "经 TCP"),
            Some(Transport::Socket) => language.either("by the Unix socket", "经 Unix 套接字"),
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
        "Encryption of the connections [default: as in the server's `url`, otherwise none].",
    )
    .says(|client, language| {
        Phrase::plain(match client.tls {
            None => "",
            Some(TlsMode::Disabled) => language.either("without TLS", "不用 TLS"),
            Some(TlsMode::Preferred) => {
                language.either("TLS where the server has it", "服务器支持时使用 TLS")
            }
            Some(_) => "TLS",
        })
    }),
    key(
        "compress",
        &Put(Flag, |client: &mut Client, value| client.compress = Some(value)),
        None,
        "true",
        "Compression of the connections [default: as in the server's `url`, otherwise none].",
    )
    .says(|client, language| {
        Phrase::plain(match client.compress {
            None => "",
            Some(false) => language.either("uncompressed", "不压缩"),
            Some(true) => language.either("compressed", "压缩"),
        })
    }),
    key(
        "authentication",
        &Put(Words(PLUGINS), |client: &mut Client, value| client.authentication = Some(value)),
        None,
        r#""caching_sha2_password""#,
        "Authentication plug-in of the account that the load logs in with, on servers that Prony starts \
         [default: the server's own].",
    )
    .says(|client, language| {
        let plugin = client.authentication.map(Authentication::name);
        Phrase::of(language.either("logged in by ", "登录认证插件为 "), plugin, "")
    }),
    key(
        "sources",
        &Put(Addresses, |client: &mut Client, value| client.sources = value),
        Some("[]"),
        "",
        "Source addresses to connect from, in turn: each has as many ports as the kernel allows.",
    )
    .says(|client, language| {
        Phrase::of(language.either("from ", "源地址为 "), joined(&client.sources, ", "), "")
    }),
    key(
        "open_rate",
        &Put(Number(0.001, 1e6), |client: &mut Client, value| client.open_rate = Some(value)),
        None,
        "500",
        "Connections opened per second before the load [default: as fast as the server accepts them].",
    )
    .says(|client, language| {
        let [before, after] = match language {
            Language::English => ["opened at ", " per second"],
            Language::Chinese => ["每秒建立 ", " 个"],
        };
        Phrase::of(before, client.open_rate, after)
    }),
    key(
        "connect_timeout",
        &Put(Time(1_000, DAY_US), |client: &mut Client, value| client.connect_timeout = value),
        Some(r#""10s""#),
        "",
        "Time limit for opening one connection.",
    )
    .says(|client, language| {
        let time = client.connect_timeout;
        let said = (time != Client::default().connect_timeout).then(|| say_duration(time));
        Phrase::of(language.either("given ", "建立时限为 "), said, language.either(" to open", ""))
    }),
    key(
        "reply_timeout",
        &Put(Time(1_000, DAY_US), |client: &mut Client, value| client.reply_timeout = Some(value)),
        None,
        r#""30s""#,
        "Time limit for a reply, after which the connection is closed and reopened [default: none].",
    )
    .says(|client, language| {
        let [before, after] = match language {
            Language::English => ["closed and reopened after a reply takes ", ""],
            Language::Chinese => ["应答超过 ", " 即关闭重连"],
        };
        Phrase::of(before, client.reply_timeout.map(say_duration), after)
    }),
    key(
        "workers",
        &Put(Count(1, 1024), |client: &mut Client, value| client.workers = Some(value)),
        None,
        "2",
        "Threads of the load engine in each of its processes [default: as many as the most demanding load of \
         the run needs, the same in all trials].",
    )
    .says(|client, language| match (client.workers, language) {
        (Some(1), Language::English) => Phrase::plain("1 thread of the load engine"),
        (count, Language::English) => Phrase::of("", count, " threads of the load engine"),
        (count, Language::Chinese) => Phrase::of("压测引擎 ", count, " 个线程"),
    }),
    key(
        "latency",
        &Put(Time(0, LATENCY_MAX_US), |client: &mut Client, value| client.latency = Some(value)),
        None,
        r#""0.8ms""#,
        "Round-trip latency to add between client and servers, half of it each way.",
    )
    .says(|client, language| {
        client.latency.map_or_else(Phrase::nothing, |latency| through_network(latency, language))
    }),
    key(
        "bandwidth",
        &Put(forms::BANDWIDTH, |client: &mut Client, value| client.bandwidth = Some(value)),
        None,
        r#""100 Mbit/s""#,
        "Bandwidth of the network between client and servers, in each direction, for all connections \
         together [default: unlimited].",
    )
    .says(|client, language| {
        let (before, after) =
            (language.either("at most ", "每个方向最多 "), language.either(" each way", ""));
        Phrase::of(before, client.bandwidth.map(say_bits), after)
    }),
    key(
        "pin",
        &Put(forms::PROCESSORS, |client: &mut Client, value| client.pin = value),
        None,
        r#""4-7""#,
        "The processors that the load engine and the network may run on [default: all].",
    )
    .says(|client, language| {
        Phrase::of(language.either("on processors ", "使用处理器 "), joined(&client.pin, ", "), "")
    }),
];

/// The words of `authentication`.
const PLUGINS: &[(&str, Authentication)] = &[
    ("mysql_native_password", Authentication::MysqlNativePassword),
    ("caching_sha2_password", Authentication::CachingSha2Password),
    ("sha256_password", Authentication::Sha256Password),
    ("ed25519", Authentication::Ed25519),
];

/// `[load]`
pub(super) const LOAD: &[Key<Client>] = &[
    key(
        "processes",
        &Put(Count(1, 64), |client: &mut Client, value| client.processes = value),
        Some("1"),
        "",
        "Processes on this machine that share the load, each with its part of the connections; their results \
         are merged exactly. One of them is Prony itself.",
    )
    .says(|client, language| {
        let several = Some(client.processes).filter(|&count| count > 1);
        let [before, after] = match language {
            Language::English => ["shared by ", " load processes"],
            Language::Chinese => ["由 ", " 个压测进程分担"],
        };
        Phrase::of(before, several, after)
    }),
    key(
        "agents",
        &Put(LoadHosts, |client: &mut Client, value| client.agents = value),
        None,
        r#"["a.example.com:7433", "b.example.com:7433"]"#,
        "Load hosts that share the load, with `prony agent` running on each, instead of this machine and its \
         `processes`; their results are merged exactly.",
    )
    .says(|client, language| {
        Phrase::of(language.either("from the load hosts ", "来自压测机 "), joined(&client.agents, ", "), "")
    }),
    key(
        "kubernetes",
        &Section(KUBERNETES),
        None,
        "",
        "Load hosts as pods of a Kubernetes cluster, which Prony creates before the run and removes after \
         it, instead of this machine.",
    )
    .says(|client, language| {
        let count = client.kubernetes.as_ref().map(|pods| pods.replicas);
        let before = language.either("from pods of a Kubernetes cluster: ", "来自 Kubernetes 集群的 Pod：");
        Phrase::of(before, count, "")
    }),
    key(
        "agents_wait",
        &Put(Time(0, DAY_US), |client: &mut Client, value| client.agents_wait = value),
        Some(r#""60s""#),
        "",
        "How long, before a trial, to wait for load hosts that were lost. Then the run ends with what is \
         finished; `--resume` runs the rest.",
    ),
];

/// How connections are opened, for all streams of a treatment, and which machine or process opens them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// How a server that Prony started is reached; `None`: by TCP.
    pub transport: Option<Transport>,
    /// Encryption; `None`: as the server's address says.
    pub tls: Option<TlsMode>,
    /// Compression; `None`: as the server's address says.
    pub compress: Option<bool>,
    /// Plug-in of the account that logs in; `None`: of the one that is there.
    #[serde(default)]
    pub authentication: Option<Authentication>,
    /// Addresses to connect from, in turn; empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// Connections opened per second before the load begins; `None`: as fast as the server takes them.
    pub open_rate: Option<f64>,
    /// Time limit for opening one connection.
    pub connect_timeout: Duration,
    /// How long a reply may take; `None`: any time.
    pub reply_timeout: Option<Duration>,
    /// Threads of the load engine; `None`: as it finds best.
    pub workers: Option<u32>,
    /// Processes that share the load; 1: Prony's own process alone.
    #[serde(default = "one")]
    pub processes: u32,
    /// Load hosts that share the load (`HOST:PORT`); empty: this machine alone.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Load hosts that are started for the run, as pods; `None`: none are.
    #[serde(default)]
    pub kubernetes: Option<Kubernetes>,
    /// How long those that were lost are waited for before a trial.
    #[serde(default = "minute")]
    pub agents_wait: Duration,
    /// Round-trip latency added between client and server; `None` and zero: none.
    #[serde(default)]
    pub latency: Option<Duration>,
    /// Bytes per second of that network in each direction; `None`: without a limit.
    #[serde(default)]
    pub bandwidth: Option<u64>,
    /// Numbers of the processors that the load engine may run on; empty: all.
    #[serde(default)]
    pub pin: Vec<u32>,
}

/// The default of [`Client::processes`], which plans of the first versions do not have.
fn one() -> u32 {
    1
}

/// The default of [`Client::agents_wait`].
fn minute() -> Duration {
    Duration::from_secs(60)
}

impl Default for Client {
    fn default() -> Self {
        Self {
            transport: None,
            tls: None,
            compress: None,
            authentication: None,
            sources: Vec::new(),
            open_rate: None,
            connect_timeout: Duration::from_secs(10),
            reply_timeout: None,
            workers: None,
            processes: one(),
            agents: Vec::new(),
            kubernetes: None,
            agents_wait: minute(),
            latency: None,
            bandwidth: None,
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

/// How an account's password is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authentication {
    /// SHA-1, in every server.
    MysqlNativePassword,
    /// SHA-256, with a cache of earlier logins in the server: MySQL 8.0 and later.
    CachingSha2Password,
    /// SHA-256 without a cache: MySQL.
    Sha256Password,
    /// Ed25519 signatures: MariaDB.
    Ed25519,
}

impl Authentication {
    /// As servers call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        PLUGINS.iter().find(|(_, plugin)| *plugin == self).map_or("", |(name, _)| name)
    }
}

/// What a plan can say of how connections are made, key by key.
pub fn client_words() -> impl Iterator<Item = fn(&Client, Language) -> Phrase> {
    keys::words(CLIENT).chain(keys::words(LOAD))
}

/// Reads `[client]` and `[load]`; `server` is the one to connect to, if known.
pub(super) fn client(root: &Table, server: Option<&Server>, mistakes: &mut Collector) -> Client {
    let empty = Table::default();
    let table = section(root.get("client"), "client", mistakes).unwrap_or(&empty);
    let (client, seen): (Client, _) = keys::read(table, CLIENT, mistakes);
    let table = section(root.get("load"), "load", mistakes).unwrap_or(&empty);
    let (load, _): (Client, _) = keys::read(table, LOAD, mistakes);
    let pods = kubernetes::kubernetes(table, mistakes);
    for (key, label) in [
        ("pin", "pin the agents themselves where they are started: taskset -c 4-7 prony agent ..."),
        ("sources", "load hosts have other addresses; remove this"),
    ] {
        if let (Some(place), false) = (seen.place(key), load.agents.is_empty()) {
            let title = format!("`{key}` is about this machine, and the load comes from load hosts");
            mistakes.at(place, title, label);
        }
    }
    if let Some((_, place)) = pods {
        check_pods(&load, server, &seen, place, mistakes);
    }
    let running = server.filter(|server| !server.may(Act::Start));
    let only_own = [
        ("transport", "only servers that Prony starts offer both; append `?socket=PATH` to a url"),
        ("authentication", "Prony makes accounts only on servers that it starts; the url has the account"),
    ];
    for (key, label) in only_own {
        if let (Some(place), Some(Server { name, .. })) = (seen.place(key), running) {
            let title = format!("server `{name}` is already running and is reached as its `url` says");
            mistakes.at(place, title, label);
        }
    }
    let kubernetes = pods.map(|(pods, _)| pods);
    // load hosts take the place of this machine's processes, however many those are at each level
    let is_here = load.agents.is_empty() && kubernetes.is_none();
    let processes = if is_here { load.processes } else { one() };
    Client { processes, agents: load.agents, agents_wait: load.agents_wait, kubernetes, ..client }
}

/// What does not go together with pods, which see nothing of this machine.
fn check_pods(
    load: &Client,
    server: Option<&Server>,
    client: &keys::Seen<'_>,
    place: &Place,
    mistakes: &mut Collector,
) {
    if !load.agents.is_empty() {
        let title = "the load comes from `agents` or from `kubernetes`, not from both";
        mistakes.at(place, title, "remove one of the two");
    }
    if let Some(server) = server.filter(|server| server.may(Act::Start) && !server.is_open()) {
        let title = format!("pods cannot reach server `{}`, which Prony starts on this machine", server.name);
        let label = "give the server `listen`, an address of this machine that pods reach, or a `url`";
        mistakes.at(place, title, label);
    }
    for key in ["latency", "bandwidth", "sources"] {
        if let Some(place) = client.place(key) {
            let title = format!("`{key}` is about this machine, which pods have nothing to do with");
            mistakes.at(place, title, "remove it where `[load] kubernetes` is set");
        }
    }
}

/// A Unix socket has no network latency, and a network that Prony makes ends on this machine.
pub(super) fn check_reach(server: &Server, client: &Client, root: &Table, mistakes: &mut Collector) {
    let through = server.latency.or(client.latency).filter(|latency| !latency.is_zero());
    if through.is_none() && client.bandwidth.is_none() {
        return;
    }
    let place = |section: &str, key: &str| -> Option<&Place> {
        root.get(section).and_then(Node::table)?.get(key).map(|node| &node.place)
    };
    if server.listen.is_some() {
        let own = [("client", "latency"), ("client", "bandwidth")];
        let own = own.into_iter().find_map(|(section, key)| place(section, key));
        let of_server = || place("server", &server.name);
        if let Some(place) = own.or_else(of_server) {
            let title = "a network with a `latency` or `bandwidth` is on this machine alone".to_owned();
            mistakes.at(place, title, "remove it, or the server's `listen`");
        }
    }
    if client.transport == Some(Transport::Socket)
        && let Some(place) = place("client", "transport")
    {
        let title = "a Unix socket bypasses the network with its latency and bandwidth";
        mistakes.at(
            place,
            title,
            "remove `latency` and `bandwidth`, or set `latency` to \"0ms\" where the socket is used",
        );
    }
}
