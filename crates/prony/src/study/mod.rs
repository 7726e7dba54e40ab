//! The study: one TOML file that says what to compare and under which load.
//!
//! Reading is parsing, not validating: a [`Study`] cannot exist in a wrong state. Everything that is wrong
//! with a file is found before anything is said, and shown in its own text with the nearest right name
//! ([`Mistakes`]). Whatever has a good default need not be written. Knows nothing of servers, plans or
//! results.

mod assemble;
mod builtin;
mod claim;
mod expand;
mod forms;
mod goal;
mod keys;
mod limits;
mod mistake;
mod order;
mod parts;
mod paths;
mod point;
mod read;
mod schema;
mod select;
mod state;
mod streams;
mod telemetry;
#[cfg(test)]
mod tests;
mod topology;
mod tree;
mod vary;
mod written;

pub use crate::workload::written_by as written;
pub use builtin::{Builtin, Error, builtin, open};
pub use claim::{Bound, Claim, Levels, Relation, Statement};
pub use goal::Goal;
pub use mistake::Mistakes;
pub use point::{Refused, settings_refused};
pub use schema::{reference, schema};
pub use state::{Fresh, Reuse, State, Warm, foreign_written, writes};
pub use topology::{Replication, Topology, WaitPoint};

use load::spec::{Distribution, Stream, TlsMode};
use mistake::{Collector, Source};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, time::Duration};

/// One study, read and complete: every combination of levels with all that it consists of.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Short name: the file's stem, or the built-in study's name.
    pub name: String,
    /// What is evaluated, as a headline.
    pub title: String,
    /// The file's text, passwords masked.
    pub text: String,
    /// Scale that was applied, if any.
    pub scale: Option<String>,
    /// Seed; everything random in a run derives from it.
    pub seed: u64,
    /// What varies, in the order of the file.
    pub factors: Vec<Factor>,
    /// Every combination of levels, the last factor changing fastest. Not empty.
    pub treatments: Vec<Treatment>,
    /// What becomes of differences between servers that the study does not make itself.
    pub fairness: Fairness,
    /// What makes networks with a latency.
    pub network: Network,
    /// Load before each measurement, not counted; where [`Study::warm_up_auto`] is set, the longest.
    pub warm_up: Duration,
    /// Whether it ends as soon as throughput is steady.
    pub warm_up_auto: bool,
    /// Length of each measurement, 100 ms or more.
    pub interval: Duration,
    /// Trials of each treatment, 1 or more.
    pub repeats: u32,
    /// How they are repeated beyond that.
    pub repetition: Repetition,
    /// What is sampled beside the load.
    pub telemetry: Telemetry,
    /// In which state they begin.
    pub state: State,
    /// Differences up to this share (0.03: 3 %) do not matter.
    pub relevant: f64,
    /// What it says will come out.
    pub claims: Vec<Claim>,
}

/// How trials are repeated beyond the number that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// How often each server is started, the repeats spread over its starts; 1 or more.
    pub restarts: u32,
    /// Half of the interval's width, as a share of the value, that is narrow enough; `None`: no more than
    /// the repeats.
    pub precision: Option<f64>,
    /// The most repeats where a precision is asked for.
    pub repeats_max: u32,
    /// No further repeats are begun that would not be over by then; `None`: as long as it takes.
    pub budget: Option<Duration>,
    /// How often a trial that failed or is invalid is repeated.
    pub repeat_invalid: u32,
}

impl Default for Repetition {
    fn default() -> Self {
        Self { restarts: 1, precision: None, repeats_max: 30, budget: None, repeat_invalid: 1 }
    }
}

/// What is sampled beside the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Time between readings.
    pub every: Duration,
    /// Everything that the servers count, instead of what is chosen.
    pub all: bool,
    /// Whether the server is profiled where it is at its limit.
    pub profile: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { every: Duration::from_secs(1), all: false, profile: false }
    }
}

/// Differences up to this share do not matter where a study says nothing of it: restarting a server alone
/// moves its throughput as much (Percona 2014).
pub(crate) const RELEVANT: f64 = 0.03;

/// Something that varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Short name: `server`, `workload`, `connections`.
    pub name: String,
    /// Its levels as they are shown.
    pub levels: Vec<String>,
    /// Whether the levels are numbers, so that a chart can have them on its axis.
    pub numeric: bool,
}

/// One combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Treatment {
    /// Level of each factor, by the factor's name.
    pub levels: BTreeMap<String, String>,
    /// The server with its settings.
    pub server: Server,
    /// The data in it.
    pub data: DataSet,
    /// Streams that run together; not empty.
    pub streams: Vec<Stream>,
    /// How their connections are made.
    pub client: Client,
    /// What the highest rate is searched for; `None`: rates are as they are written.
    pub goal: Option<Goal>,
}

/// How connections are made, for all streams of a treatment.
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
    /// Round trip of the network that is put between client and server; `None` and zero: none.
    #[serde(default)]
    pub latency: Option<Duration>,
    /// Numbers of the processors that the load engine may run on; empty: all.
    #[serde(default)]
    pub pin: Vec<u32>,
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

/// A server to be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Round trip of the network that is put between it and the client; `None`: what [`Client::latency`]
    /// says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Whether they are set on a server that runs already, and put back afterwards.
    #[serde(default)]
    pub apply_settings: bool,
    /// Whether workloads may write into tables of a server that runs already which Prony did not make.
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
        let (settings, topology, limits) = Default::default();
        Self {
            name: name.into(),
            source,
            settings,
            topology,
            node_exporter: None,
            limits,
            latency: None,
            apply_settings: false,
            write_to_my_tables: false,
            latency_between: Duration::ZERO,
        }
    }
}

/// What a server may use of the machine; `None` and empty: all that there is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Memory, the page cache of its files included; it gets no swap space.
    pub memory_bytes: Option<u64>,
    /// CPU time, in processors: 1.5 is 1.5 s in a second.
    pub cpus: Option<f64>,
    /// Numbers of the processors that it may run on.
    pub pin: Vec<u32>,
    /// Bytes that it may read from the data directory's disk in a second.
    pub read_bytes_per_second: Option<u64>,
    /// Bytes that it may write there in a second.
    pub write_bytes_per_second: Option<u64>,
    /// Reads in a second.
    pub reads_per_second: Option<u64>,
    /// Writes in a second.
    pub writes_per_second: Option<u64>,
}

impl Limits {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What makes networks with a latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// netem where that is possible, else the relay.
    #[default]
    Auto,
    /// netem, or there is no run.
    Netem,
    /// The relay.
    Relay,
}

/// What becomes of differences between servers that the study does not make itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fairness {
    /// They are told.
    #[default]
    Report,
    /// There is no run with them.
    Strict,
    /// Nobody looks.
    Off,
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
    /// A server that is running already, as a URL without password. Never started or stopped, and
    /// reconfigured only where the study says so.
    Url(String),
}

/// A data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSet {
    /// Number of tables; 0: the study needs none.
    pub tables: u32,
    /// Rows in each.
    pub rows: u64,
    /// Storage engine; `None`: the server's default.
    pub engine: Option<String>,
    /// Whether the secondary index on `k` is made.
    pub create_secondary: bool,
    /// Whether `id` is a plain index in place of the primary key.
    pub secondary: bool,
    /// Whether `id` counts by itself.
    pub auto_inc: bool,
    /// Seed of the contents.
    pub seed: u64,
    /// Layout: `sysbench`, or `bulk_insert` (its two-column tables).
    pub generator: String,
    /// How the values of `k` are distributed over 1 to `rows`.
    #[serde(default)]
    pub k: Distribution,
}

/// What the command line adds to a study's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adjustments {
    /// Name of the scale to apply.
    pub scale: Option<String>,
    /// `KEY=VALUE`, each laid over file and scale, in this order.
    pub set: Vec<String>,
}

/// Reads a study.
///
/// `name` is its short name, `path` how its file is called in messages.
///
/// # Errors
/// Everything that is wrong with it, at once.
pub fn parse(name: &str, path: &str, text: &str, adjustments: &Adjustments) -> Result<Study, Mistakes> {
    let mut sources = vec![Source { name: path.to_owned(), text: assemble::mask_passwords(text) }];
    sources.extend(
        adjustments
            .set
            .iter()
            .map(|text| Source { name: "--set".to_owned(), text: assemble::mask_passwords(text) }),
    );
    let mut mistakes = Collector::default();
    let study = tree::parse(&sources[0].text, 0, &mut mistakes)
        .and_then(|file| assemble::study(name, &sources, file, adjustments, &mut mistakes));
    let text = sources[0].text.clone();
    mistakes.finish(sources)?;
    let study = study.expect("without a mistake there is a study");
    Ok(Study { text, ..study })
}
