//! Brings servers up as a plan asks, says what they really are, and takes them down without a trace.
//!
//! A server comes from the machine ([`installed()`]), from a directory, or from a registry into the user's
//! cache ([`catalogue`], [`fetch`]); [`Instance`] runs one on a data directory of its own; [`trampoline`]
//! sees to it that it never outlives Prony, and [`sweep`] removes what a killed Prony could not. Nothing is
//! installed, and no server that was there before is touched.

mod account;
mod administration;
mod attach;
pub mod catalogue;
mod certificate;
mod confines;
pub mod container;
mod death;
mod debts;
mod describe;
mod error;
pub mod fetch;
mod files;
mod globals;
mod hierarchy;
mod identity;
mod in_use;
mod initialise;
mod installed;
mod instance;
mod kept;
mod launch;
mod libraries;
mod lock;
mod log;
mod option_file;
mod owner;
mod places;
mod preflight;
mod process;
mod provisioner;
mod read_back;
mod remains;
mod settings;
mod snapshot;
mod software;
mod space;
mod standing;
mod state;
pub mod target;
mod topology;
pub mod trampoline;
mod translate;
mod work;

pub use attach::{Running, log_in, no_process};
pub use confines::{Confinement, Usage};
pub use debts::{Applied, Paid, Settlement};
pub use describe::{describe, is_setting, pairs, status};
pub use error::Error;
pub use globals::{Globals, Left, Moved, globals, moved, put_back};
pub use in_use::changer;
pub use installed::installed;
pub use instance::{Instance, Wish};
pub use kept::{KeptData, kept_data, remove_kept};
pub use launch::SCHEMA;
pub use libraries::Libraries;
pub use owner::{NoProcess, process_of};
pub use places::Places;
pub use preflight::{Error as PreflightError, Remark, Wants, preflight};
pub use provisioner::{Provisioner, Server};
pub use read_back::{NotTaken, alike, not_taken};
pub use remains::sweep;
pub use snapshot::{PutBack, Snapshot};
pub use software::Software;
pub use space::{SERVER_BYTES, available, check as check_space, check_snapshots};
pub use standing::{Standing, StandingWish};
pub use topology::{Between, Cluster, Fault, Group, Health, Part, SemiSync, Watch, directly};
pub use translate::{Build, Expected, Form, Refusal, Translated, Word, translate, words};
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
