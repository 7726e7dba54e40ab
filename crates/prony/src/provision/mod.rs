//! Brings servers up as a plan asks, says what they really are, and takes them down without a trace.
//!
//! A server comes from the machine ([`installed()`]), from a directory, or from a registry into the user's
//! cache ([`catalogue`], [`fetch`]); [`Instance`] runs one on a data directory of its own; [`trampoline`]
//! sees to it that it never outlives Prony, and [`sweep`] removes what a killed Prony could not. Nothing is
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
mod process;
mod provisioner;
mod settings;
mod software;
mod work;

pub use attach::{
    Running,
    in_use::changer,
    log_in, no_process,
    owner::{NoProcess, process_of},
    restore::{Applied, Paid, Settlement},
};
pub use data::{
    cache::{KeptData, kept_data, remove_kept},
    snapshot::{PutBack, Snapshot},
};
pub use disk::{
    places::Places,
    space::{SERVER_BYTES, available, check as check_space, check_snapshots},
};
pub use error::Error;
pub use group::{Between, Cluster, Fault, Group, Health, Part, SemiSync, Watch, directly};
pub use instance::{
    Instance, Wish,
    orphans::sweep,
    standing::{Standing, StandingWish},
};
pub use launch::SCHEMA;
pub use limits::{Confinement, Usage};
pub use login::{
    describe::{describe, is_setting, pairs, status},
    preflight::{Error as PreflightError, Remark, Wants, preflight},
    target,
};
pub use process::trampoline;
pub use provisioner::{Provisioner, Server};
pub use settings::{
    globals::{Globals, Left, Moved, globals, moved, put_back},
    read_back::{NotTaken, alike, not_taken},
    translate::{Build, Expected, Form, Refusal, Translated, Word, translate, words},
};
pub use software::{Software, catalogue, fetch, installed::installed, libraries::Libraries};
pub use work::Work;

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::Ipv4Addr, path::PathBuf};

/// A network namespace that a server is to be in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    /// The kernel's file of it.
    pub namespace: PathBuf,
    /// Where this machine then reaches the server.
    pub address: Ipv4Addr,
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
    #[serde(default)]
    pub confinement: Option<Confinement>,
    /// `SHOW GLOBAL VARIABLES`, all of them.
    pub variables: BTreeMap<String, String>,
    /// `SHOW GLOBAL STATUS` when it was ready.
    pub status_before: BTreeMap<String, String>,
}
