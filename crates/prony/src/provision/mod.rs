//! Brings servers up as a plan asks, says what they really are, and takes them down without a trace.
//!
//! A server comes from the machine ([`installed()`]), from a directory, or from a registry into the user's
//! cache ([`catalogue`], [`fetch`]). [`Instance`] runs one on its own data directory, [`trampoline`] makes
//! sure that it never outlives Prony, and [`sweep`] removes what a killed Prony could not. Nothing is
//! installed, and no server that was there before is touched.

mod attach;
pub mod containers;
mod data;
mod disk;
mod error;
mod group;
mod instance;
mod launch;
mod limits;
mod login;
mod places;
mod process;
mod provisioner;
mod remark;
mod server;
mod settings;
mod software;
mod step;
mod work;

pub use attach::{
    Running,
    in_use::changer,
    owner::process_of,
    restore::{Restoration, Restored},
};
pub use data::{
    cache::{CachedData, cached_data, remove_cached},
    snapshot::{PutBack, Snapshot},
};
pub use disk::space::{SERVER_BYTES, available, check as check_space, check_snapshots};
pub use error::Error;
pub use group::{Between, Cluster, Fault, Group, Health, Lag, SemiSync, Watch, directly};
pub use instance::{
    Instance, Part, Wish,
    image::ImageDisk,
    orphans::sweep,
    standing::{Standing, StandingWish},
};
pub use launch::{
    SCHEMA,
    account::{log_in_by, no_plugin},
};
pub use limits::{LimitsInForce, Usage};
pub use login::{
    describe::{describe, is_setting, pairs, status},
    log_in,
    preflight::{Error as PreflightError, Wants, preflight},
    target,
};
pub use places::Places;
pub use process::{death, trampoline};
pub use provisioner::Provisioner;
pub use remark::{Holder, NoProcess, Remark};
pub use server::Server;
pub use settings::{
    globals::{Globals, Left, Moved, globals, moved, put_back},
    read_back::{NotTaken, alike, not_taken},
    translate::{Expected, Refusal, Translated, translate},
    words::{Condition, Form, Unfit, Word, conditions, defaults, words},
};
pub use software::{Software, catalogue, fetch, installed::installed, libraries::Libraries, version::Build};
pub use step::Step;
use work::{Home, Work};

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

/// A network namespace that a server is to be in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// The kernel's file of it.
    pub file: PathBuf,
    /// Where this machine then reaches the server.
    pub address: Ipv4Addr,
}

/// Where a server that Prony starts listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// At an address of this machine.
    At(IpAddr),
    /// In a network namespace.
    Within(Namespace),
}

impl Default for Site {
    fn default() -> Self {
        Self::At(Ipv4Addr::LOCALHOST.into())
    }
}

impl Site {
    /// Where this machine reaches the server.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        match self {
            Self::At(address) => *address,
            Self::Within(namespace) => namespace.address.into(),
        }
    }
}

/// What a server really is, as it said itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ServerDescription {
    /// Name in the plan.
    pub name: String,
    /// `mariadb`, `mysql`, or what `version_comment` suggests.
    pub product: String,
    /// `SELECT VERSION()`.
    pub version: String,
    /// `@@version_comment`, `@@version_compile_machine`, `@@version_compile_os`.
    pub build: String,
    /// How it was obtained: installed, fetched, path or address, in words.
    pub origin: String,
    /// Path of the server program, where Prony started it.
    pub program: Option<String>,
    /// Process number, where Prony started it.
    pub pid: Option<u32>,
    /// The limits that hold for it, where the study asks for any.
    #[serde(default, rename = "confinement")]
    pub limits: Option<LimitsInForce>,
    /// `SHOW GLOBAL VARIABLES`, all of them.
    pub variables: BTreeMap<String, String>,
    /// `SHOW GLOBAL STATUS` when it was ready.
    pub status_before: BTreeMap<String, String>,
}
