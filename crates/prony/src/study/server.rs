//! Servers: `[server.NAME]`, `[settings]`, `[limits]`. What they are, and how they are read.

use super::{
    Act, Topology, forms,
    keys::{self, Elsewhere, Key, Put, Section, Seen, key, lay_upon, read_into, section},
    kinds::{Count, Flag, LATENCY_MAX_US, Number, OwnAddress, Text, Time, Words},
    mistake::{Collector, Place},
    phrase::{Phrase, joined},
    shapes,
    topology::{self, TOPOLOGY},
    tree::{Node, Table, Value},
};
use crate::{
    language::Language,
    quantity::{Price, say_duration},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, net::IpAddr, path::PathBuf, time::Duration};

/// Settings that Prony must choose itself, so that servers neither collide nor outlive their run.
const OWN_SETTINGS: &[&str] =
    &["basedir", "bind_address", "datadir", "log_error", "pid_file", "port", "socket", "tmpdir", "user"];

/// More operations per second than any disk does.
const OPERATIONS_MAX: u64 = 1_000_000_000;

/// `[server.NAME]`
pub(super) const SERVER: &[Key<Server>] = &[
    key(
        "product",
        &Put(Words(&[("mariadb", "mariadb"), ("mysql", "mysql")]), |server: &mut Server, name| {
            server.source = ServerSource::Product { product: name.to_owned(), version: None };
        }),
        None,
        r#""mariadb""#,
        "A product by name: the installed one, otherwise it is fetched.",
    ),
    key(
        "version",
        &Put(Text, |server: &mut Server, text| {
            if let ServerSource::Product { version, .. } = &mut server.source {
                *version = Some(text);
            }
        }),
        None,
        r#""10.11""#,
        "Its version or the beginning of it [default: the installed or preferred one].",
    ),
    key(
        "path",
        &Put(Text, |server: &mut Server, path| server.source = ServerSource::Path(path.into())),
        None,
        r#""/opt/mariadb-11.4""#,
        "A directory with an unpacked server, instead of a product.",
    ),
    key(
        "image",
        &Put(Text, |server: &mut Server, image| server.source = ServerSource::Image(image)),
        None,
        r#""docker.io/library/mariadb:11.8""#,
        "A container image with a server, run by podman or docker, instead of a product.",
    ),
    key(
        "url",
        &Put(Text, |server: &mut Server, url| server.source = ServerSource::Url(url)),
        None,
        r#""mysql://user@127.0.0.1:3306/test""#,
        "A server that is already running; it is never started or stopped.",
    ),
    key(
        "apply_settings",
        &Put(Flag, |server: &mut Server, value| server.apply_settings = value),
        Some("false"),
        "",
        "Apply the settings to a running server, and restore its own afterwards.",
    ),
    key(
        "write_to_my_tables",
        &Put(Flag, |server: &mut Server, value| server.write_to_my_tables = value),
        Some("false"),
        "",
        "Let workloads change your own tables on this server.",
    ),
    key(
        "node_exporter",
        &Put(forms::EXPORTER, |server: &mut Server, value| server.node_exporter = Some(value)),
        None,
        r#""http://db1:9100/metrics""#,
        "URL of a Prometheus node_exporter on the machine of a server that runs elsewhere.",
    ),
    key(
        "settings",
        &Elsewhere(shapes::settings),
        None,
        r#"{ thread_handling = "pool-of-threads" }"#,
        "Settings of this server; they take precedence over `[settings]`.",
    ),
    key(
        "topology",
        &Section(TOPOLOGY),
        None,
        r#"{ replicas = 1, replication = "after-sync" }"#,
        "Topology of this server; it takes precedence over `[topology]`.",
    )
    .says(|server, language| {
        let between = server.latency_between;
        let between = (!between.is_zero()).then(|| through_network(between, language).text());
        Phrase::of(language.either("replicas ", "与从库之间"), between, "")
    }),
    key(
        "limits",
        &Section(LIMITS),
        None,
        "",
        "Limits of this server; each takes precedence over the one in `[limits]`.",
    )
    .says(|server, language| {
        let limits: Vec<String> = said(LIMITS, &server.limits, language).collect();
        Phrase::of(language.either("limited to ", "限制："), joined(&limits, language.either(", ", "，")), "")
    }),
    key(
        "latency",
        &Put(Time(0, LATENCY_MAX_US), |server: &mut Server, value| server.latency = Some(value)),
        None,
        r#""0.8ms""#,
        "Round-trip latency to add between the client and this server; it takes precedence over the one in \
         `[client]`.",
    )
    .says(|server, language| {
        server.latency.map_or_else(Phrase::nothing, |latency| through_network(latency, language))
    }),
    key(
        "listen",
        &Put(OwnAddress, |server: &mut Server, value| server.listen = Some(value)),
        None,
        r#""192.0.2.10""#,
        "Address of this machine at which this server is reached, so that load hosts on other machines can \
         [default: 127.0.0.1].",
    )
    .says(|server, language| Phrase::of(language.either("listens at ", "监听地址 "), server.listen, "")),
    key(
        "price",
        &Put(forms::PRICE, |server: &mut Server, price| server.price = Some(price)),
        None,
        r#""0.42 EUR/h""#,
        "Price of this server per hour.",
    )
    .says(|server, language| Phrase::of(language.either("costs ", "价格 "), server.price.as_ref(), "")),
];

/// `[limits]`, also inside a server.
pub(super) const LIMITS: &[Key<Limits>] = &[
    key(
        "memory",
        &Put(forms::SIZE, |limits: &mut Limits, value| limits.memory_bytes = Some(value)),
        None,
        r#""4G""#,
        "Memory that the server may use, including the page cache of its files, without swap.",
    )
    .says(|limits, language| {
        let (before, after) = (language.either("", "内存 "), language.either(" of memory", ""));
        Phrase::of(before, limits.memory_bytes.map(memory), after)
    }),
    key(
        "cpus",
        &Put(Number(0.01, 1024.0), |limits: &mut Limits, value| limits.cpus = Some(value)),
        None,
        "2",
        "CPU time that it may use, in processors: 1.5 means 1.5 s per second.",
    )
    .says(|limits, language| match language {
        Language::English => Phrase::of("the time of ", limits.cpus.map(processors), ""),
        Language::Chinese => Phrase::of("", limits.cpus, " 个处理器的时间"),
    }),
    key(
        "pin",
        &Put(forms::PROCESSORS, |limits: &mut Limits, value| limits.pin = value),
        None,
        r#""0-3""#,
        "Numbers of the processors that it may run on: \"0-3,6\".",
    )
    .says(|limits, language| {
        Phrase::of(language.either("processors ", "处理器 "), joined(&limits.pin, ","), "")
    }),
    key(
        "io_read",
        &Put(forms::BANDWIDTH, |limits: &mut Limits, value| limits.read_bytes_per_second = Some(value)),
        None,
        r#""100MB/s""#,
        "Rate at which it may read from the disk of its data directory.",
    )
    .says(|limits, language| {
        let rate = limits.read_bytes_per_second.map(megabytes);
        Phrase::of(language.either("reading ", "读 "), rate, " MB/s")
    }),
    key(
        "io_write",
        &Put(forms::BANDWIDTH, |limits: &mut Limits, value| limits.write_bytes_per_second = Some(value)),
        None,
        r#""100MB/s""#,
        "Rate at which it may write to that disk.",
    )
    .says(|limits, language| {
        let rate = limits.write_bytes_per_second.map(megabytes);
        Phrase::of(language.either("writing ", "写 "), rate, " MB/s")
    }),
    key(
        "io_read_ops",
        &Put(Count(1, OPERATIONS_MAX), |limits: &mut Limits, value| limits.reads_per_second = Some(value)),
        None,
        "3000",
        "Reads per second.",
    )
    .says(|limits, language| Phrase::of("", limits.reads_per_second, language.either(" reads/s", " 次读/s"))),
    key(
        "io_write_ops",
        &Put(Count(1, OPERATIONS_MAX), |limits: &mut Limits, value| limits.writes_per_second = Some(value)),
        None,
        "3000",
        "Writes per second.",
    )
    .says(|limits, language| {
        Phrase::of("", limits.writes_per_second, language.either(" writes/s", " 次写/s"))
    }),
];

/// A server to be measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// The study's name for it, with the varied settings behind it where there are any.
    pub name: String,
    /// Where it comes from.
    pub source: ServerSource,
    /// Settings: words that are translated for each server (`redo_capacity` = `1G`), and options of the
    /// server's own.
    pub settings: BTreeMap<String, String>,
    /// Address of a node_exporter on its machine, if that is another one.
    #[serde(default)]
    pub node_exporter: Option<String>,
    /// Which servers work together as this one.
    #[serde(default)]
    pub topology: Topology,
    /// What it may use of the machine.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// Round-trip latency added between it and the client; `None`: that of `[client]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Address of this machine at which it is reached, if Prony starts it; `None`: one that other machines
    /// do not reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<IpAddr>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Whether settings are applied to a server that is already running, and restored afterwards.
    #[serde(default)]
    pub apply_settings: bool,
    /// Whether workloads may write to tables that Prony did not create on a server that is already running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub write_to_my_tables: bool,
    /// Round trip of the network between it and each of its replicas; zero: none.
    #[serde(default)]
    pub latency_between: Duration,
}

impl Server {
    /// One server without settings.
    #[must_use]
    pub fn new(name: impl Into<String>, source: ServerSource) -> Self {
        Self { name: name.into(), source, ..Self::default() }
    }

    /// Whether other machines could reach it if Prony starts it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.listen.is_some_and(|address| !address.is_loopback())
    }
}

/// Where a server comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSource {
    /// By name: taken from the machine if that version is installed, else fetched into the user's cache.
    Product {
        /// `mariadb` or `mysql`.
        product: String,
        /// Version or its beginning (`10.11`); `None`: whatever is installed, else the catalogue's preferred
        /// one.
        version: Option<String>,
    },
    /// A directory with an unpacked server.
    Path(PathBuf),
    /// An image of a container, as podman or docker takes it.
    Image(String),
    /// A server that is already running, as a URL without password. Never started or stopped, and
    /// reconfigured only where the study says so.
    Url(String),
}

/// An unnamed product, which no study has.
impl Default for ServerSource {
    fn default() -> Self {
        Self::Product { product: String::new(), version: None }
    }
}

/// What a server may use of the machine; `None` and empty: all that there is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Memory, the page cache of its files included; it gets no swap space.
    pub memory_bytes: Option<u64>,
    /// CPU time, in processors: 1.5 is 1.5 s per second.
    pub cpus: Option<f64>,
    /// Numbers of the processors that it may run on.
    pub pin: Vec<u32>,
    /// Bytes that it may read from the data directory's disk per second.
    pub read_bytes_per_second: Option<u64>,
    /// Bytes that it may write there per second.
    pub write_bytes_per_second: Option<u64>,
    /// Reads per second.
    pub reads_per_second: Option<u64>,
    /// Writes per second.
    pub writes_per_second: Option<u64>,
}

impl Limits {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a plan says of a server, as sentences.
#[must_use]
pub fn server_words(server: &Server, language: Language) -> Vec<String> {
    said(SERVER, server, language).collect()
}

/// One sentence for each key of a table that has something to say, in their order.
fn said<T>(keys: &'static [Key<T>], of: &T, language: Language) -> impl Iterator<Item = String> {
    keys::words(keys).map(move |words| words(of, language).text()).filter(|text| !text.is_empty())
}

/// What a network adds.
pub(super) fn through_network(round_trip: Duration, language: Language) -> Phrase {
    match round_trip {
        Duration::ZERO => Phrase::plain(language.either("without a network in between", "不经网络")),
        round_trip => {
            let before =
                language.either("through a network that adds a round trip of ", "经网络，往返时延增加 ");
            Phrase::new(before, say_duration(round_trip), "")
        }
    }
}

/// `1.5 processors`.
fn processors(cpus: f64) -> String {
    let cpus = (cpus * 1000.0).round() / 1000.0;
    format!("{cpus} processor{}", if cpus == 1.0 { "" } else { "s" })
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Whole GiB as such, else MiB.
fn memory(bytes: u64) -> String {
    let mebibytes = bytes >> 20;
    if mebibytes > 0 && mebibytes.is_multiple_of(1024) {
        format!("{} GiB", mebibytes / 1024)
    } else {
        format!("{mebibytes} MiB")
    }
}

/// In words, as far as there are any: `4096 MiB of memory, the time of 2 processors`.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&said(LIMITS, self, Language::English).collect::<Vec<_>>().join(", "))
    }
}

/// Whether a missing key is a mistake: not while the base is read, which levels may complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    /// What is there must be right; the rest may follow.
    Partial,
    /// All must be there.
    Whole,
}

/// Reads `[server.NAME]` with what `root` says of all servers: `[settings]`, `[topology]`, `[limits]`.
pub(super) fn server(
    name: &str,
    node: &Node,
    root: &Table,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Option<Server> {
    let Some(table) = node.table() else {
        mistakes.at(&node.place, format!("server `{name}` is {}", node.value.kind()), "expected a table");
        return None;
    };
    let mut server = Server { name: name.to_owned(), ..Server::default() };
    let seen = read_into(table, SERVER, &[], &mut server, mistakes);
    check_source(&server, seen, node, completeness, mistakes)?;
    if !server.may(Act::Limit) {
        refuse_limits(name, seen, mistakes);
        refuse_listen(name, seen, mistakes);
    } else {
        refuse_of_running(&server, seen, mistakes);
        limits(root.get("limits"), &mut server, mistakes);
        limits(seen.get("limits"), &mut server, mistakes);
    }
    read_settings(&mut server, seen, root, mistakes);
    topology::read(&mut server, root.get("topology"), seen.get("topology"), mistakes);
    Some(server)
}

/// Applies limits to those that a server has.
pub(super) fn limits(node: Option<&Node>, server: &mut Server, mistakes: &mut Collector) {
    if let Some(table) = section(node, "limits", mistakes) {
        lay_upon(table, LIMITS, &mut server.limits, mistakes);
    }
}

/// Keys that only a server that is already running can have.
fn refuse_of_running(server: &Server, seen: Seen<'_>, mistakes: &mut Collector) {
    let name = &server.name;
    if let (Some(place), true) = (seen.place("apply_settings"), server.apply_settings) {
        let title = format!("Prony starts server `{name}` with its settings");
        mistakes.at(place, title, "only a server with a `url` is reconfigured at run time");
    }
    if let (Some(place), true) = (seen.place("write_to_my_tables"), server.write_to_my_tables) {
        let title = format!("Prony starts server `{name}`, which has no tables of yours");
        mistakes.at(place, title, "remove it: it is for servers with a `url`");
    }
}

fn refuse_limits(name: &str, seen: Seen<'_>, mistakes: &mut Collector) {
    if let Some(place) = seen.place("limits") {
        let title = format!("server `{name}` is already running and cannot be limited");
        mistakes.at(place, title, "Prony only limits servers that it starts");
    }
}

fn refuse_listen(name: &str, seen: Seen<'_>, mistakes: &mut Collector) {
    if let Some(place) = seen.place("listen") {
        let title = format!("server `{name}` is already running and listens where it does");
        mistakes.at(place, title, "remove it: it is for servers that Prony starts");
    }
}

fn read_settings(server: &mut Server, seen: Seen<'_>, root: &Table, mistakes: &mut Collector) {
    if !server.may(Act::ChangeSettings) {
        if let Some(place) = seen.place("settings") {
            mistakes.at_with_help(
                place,
                format!("server `{}` is already running and is not reconfigured", server.name),
                "Prony reconfigures a server that it did not start only on request",
                "`apply_settings = true` applies them during the run and restores the old values afterwards",
            );
        }
        return;
    }
    for node in [root.get("settings"), seen.get("settings")].into_iter().flatten() {
        server.settings.extend(settings(node, mistakes));
    }
}

/// Where it comes from; `None`: it does not say.
fn check_source(
    server: &Server,
    seen: Seen<'_>,
    node: &Node,
    completeness: Completeness,
    mistakes: &mut Collector,
) -> Option<()> {
    let name = &server.name;
    let places: Vec<&Place> =
        ["product", "path", "image", "url"].iter().filter_map(|key| seen.place(key)).collect();
    if let [_, second, ..] = places.as_slice() {
        let title = format!("server `{name}` has two sources");
        mistakes.at(second, title, "keep one of `product`, `path`, `image` and `url`");
    } else if places.is_empty() && completeness == Completeness::Whole {
        mistakes.at(
            &node.place,
            format!("server `{name}` has no source"),
            "add `product = \"mariadb\"`, or a `path`, an `image` or a `url`",
        );
    }
    if let (Some(place), None) = (seen.place("version"), seen.place("product")) {
        let title = format!("server `{name}` has a version but no product");
        mistakes.at(place, title, "only a server named by `product` has a `version`");
    }
    if let (ServerSource::Url(url), Some(place)) = (&server.source, seen.place("url")) {
        check_url(url, place, mistakes);
    }
    (!places.is_empty()).then_some(())
}

fn check_url(url: &str, place: &Place, mistakes: &mut Collector) {
    match url::Url::parse(url) {
        Err(error) => {
            let label = "expected mysql://user@host:port/database";
            mistakes.at(place, format!("`url` is not an address: {error}"), label);
        }
        Ok(parsed) if parsed.password().is_some() => mistakes.at_with_help(
            place,
            "there is a password in the study",
            "remove the password",
            "a study is stored with its results; put the password into the environment (MYSQL_PWD) or an \
             option file (~/.my.cnf)",
        ),
        Ok(parsed) if !["mysql", "mariadb"].contains(&parsed.scheme()) => {
            mistakes.unknown(place, "kind of address", parsed.scheme(), ["mysql", "mariadb"]);
        }
        Ok(_) => {}
    }
}

/// Reads a table of settings into what an option file takes; `-` and `_` are the same in names.
pub(super) fn settings(node: &Node, mistakes: &mut Collector) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let Some(table) = node.table() else {
        mistakes.at(&node.place, format!("`settings` is {}", node.value.kind()), "expected a table");
        return settings;
    };
    for entry in &table.0 {
        let name = entry.key.replace('-', "_");
        if OWN_SETTINGS.contains(&name.as_str()) {
            let title = format!("Prony sets `{name}` itself");
            mistakes.at(&entry.key_place, title, "remove this setting");
        }
        let value = match &entry.node.value {
            Value::Flag(true) => "ON".to_owned(),
            Value::Flag(false) => "OFF".to_owned(),
            Value::Text(_) | Value::Integer(_) | Value::Real(_) => entry.node.label(),
            other => {
                let title = format!("setting `{name}` is {}", other.kind());
                mistakes.at(&entry.node.place, title, "expected text, a number, true or false");
                continue;
            }
        };
        settings.insert(name, value);
    }
    settings
}
