//! What will be done: every treatment and every trial in its order, decided before anything starts.
//!
//! A [`Plan`] is a plain value: it is stored with the run and is all that later stages know of the study.

use load::spec::{Arrival, Distribution, Protocol};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// Version of the stored form of [`Plan`].
pub const PLAN_FORMAT: u32 = 1;

/// One study, expanded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// Short name: the file's stem, or the built-in study's name.
    pub name: String,
    /// The study's title.
    pub title: String,
    /// The study's text, as read.
    pub study_text: String,
    /// Scale that was applied, if any.
    pub scale: Option<String>,
    /// Seed; everything random in the run derives from it.
    pub seed: u64,
    /// Factors in the order of the study, with their levels as labels, in the study's order.
    pub factors: Vec<Factor>,
    /// Every different server, settings included.
    pub servers: Vec<ServerPlan>,
    /// Every different data set.
    pub data_sets: Vec<DataPlan>,
    /// Every combination of levels.
    pub treatments: Vec<Treatment>,
    /// In the order of execution.
    pub trials: Vec<Trial>,
    /// Warm-up of each trial.
    pub warm_up: Duration,
    /// Measurement interval of each trial.
    pub interval: Duration,
    /// Trials of each treatment.
    pub repeats: u32,
}

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

/// A server to be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerPlan {
    /// Unique in the plan: the study's name, with the varied settings behind it where there are any.
    pub name: String,
    /// Where it comes from.
    pub source: ServerSource,
    /// Settings as the server's option file takes them: `innodb_buffer_pool_size` = `1G`.
    pub settings: BTreeMap<String, String>,
}

/// Where a server comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSource {
    /// By name: taken from the machine if that version is installed, else fetched into the user's cache.
    Product {
        /// `mariadb` or `mysql`.
        product: String,
        /// Version or its beginning (`10.11`); `None`: whatever is installed, else the catalogue's preferred one.
        version: Option<String>,
    },
    /// A directory with an unpacked server.
    Path(PathBuf),
    /// A server that is running already. Never started, stopped or reconfigured.
    Url(String),
}

/// A data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataPlan {
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
    /// Layout: `sysbench`, or `bulk_insert` (its two-column tables), `empty`.
    pub generator: String,
    /// How the values of `k` are distributed over 1 to `rows`.
    #[serde(default)]
    pub k: Distribution,
}

/// One combination of levels: what a trial of it consists of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Treatment {
    /// Level of each factor, by the factor's name.
    pub levels: BTreeMap<String, String>,
    /// Index in [`Plan::servers`].
    pub server: usize,
    /// Index in [`Plan::data_sets`].
    pub data: usize,
    /// Streams that run together.
    pub streams: Vec<StreamPlan>,
}

/// One stream of a treatment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamPlan {
    /// Its name; `main` where the study has only one.
    pub name: String,
    /// What it does, complete: the engine's own description.
    pub workload: load::spec::Workload,
    /// Number of connections.
    pub connections: u32,
    /// When transactions start.
    pub arrival: Arrival,
    /// Prepared or text.
    pub protocol: Protocol,
}

/// One execution of a treatment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Place in the order, from 0.
    pub number: u32,
    /// Index in [`Plan::treatments`].
    pub treatment: usize,
    /// Block (repeat) it belongs to, from 0.
    pub block: u32,
    /// Seed of its load.
    pub seed: u64,
}
