//! `prony server`: which servers are available, and servers that keep running.

mod data;
pub(super) mod document;

use super::{
    failure::{Failure, chain},
    interrupt,
    listing::{Listing, show},
    progress::StepProgress,
    terminal::{aside, print, print_json},
};
use crate::provision::{
    Error, Provisioner, Restoration, Software, Standing, StandingWish,
    catalogue::{self, Entry},
    fetch,
};
use clap::{Args, Subcommand};
use comfy_table::Cell;
use document::{List, Started, Status};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

#[derive(Debug, Subcommand)]
pub(super) enum ServerCommand {
    /// List the servers that can be downloaded and those on this machine (same as `prony list servers`)
    #[command(after_help = "Add your own servers in ~/.config/prony/servers.toml:\n  [[server]]\n  name = \
                            \"mysql-8.4-mine\"\n  product = \"mysql\"\n  version = \"8.4.2\"\n  from = { \
                            directory = \"/opt/mysql-8.4.2\" }\n  # or: from = { archive = { at = \"PATH OR \
                            URL\", sha256 = \"...\" } }\n  # or: from = { image = { name = \
                            \"docker.io/library/mysql:8.4\" } }, which podman or docker runs")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Download servers into the user's cache, without root; what is already there is kept
    #[command(after_help = "Example:\n  prony server fetch mysql-5.7 mariadb-11.4")]
    Fetch {
        /// A name from the list, or product and version: mysql-5.7 means the newest 5.7
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Start a server that runs until `prony server stop`
    Start(StartOptions),
    /// Stop servers that `prony server start` started
    Stop {
        /// Their names (`prony server status`)
        #[arg(value_name = "NAME", required_unless_present = "all")]
        names: Vec<String>,
        /// Stop all of them
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// Restore the settings that a killed run had changed on running servers (the next run also does this)
    Restore,
    /// List the servers that `prony server start` started, and how to connect
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the data cache (loaded data for later runs), or remove entries
    #[command(after_help = "Runs cache data that takes long to load (`reuse` in [measure]), up to 20 GiB; \
                            the least recently used goes first. PRONY_DATA_LIMIT=50G sets another limit, 0 \
                            disables the cache.")]
    Data {
        /// Entries to remove
        #[arg(long, value_name = "NAME", num_args = 1..)]
        remove: Vec<String>,
        /// Remove all entries that no run uses
        #[arg(long, conflicts_with = "remove")]
        remove_all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  prony server start mysql-5.7\n  prony server start mariadb-11.4 --port \
                        3307 --set thread_handling=pool-of-threads --data ~/data/mariadb-11.4\n\nIt listens \
                        only on 127.0.0.1 and accepts only Prony's own account; the password is in the \
                        option file that is printed."
)]
pub(super) struct StartOptions {
    /// A name from `prony server list`, or product and version: mysql-5.7 means the newest 5.7
    #[arg(value_name = "NAME")]
    server: String,
    /// Name of this instance [default: the name given]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// A setting: a word from `prony list settings`, or a name from the server's option file; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Keep its data in this directory and use it again next time [default: data is removed when the server
    /// stops]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn server(command: &ServerCommand) -> Result<(), Failure> {
    match command {
        ServerCommand::List { json } => show(servers()?, *json),
        ServerCommand::Fetch { names } => fetch_all(names),
        ServerCommand::Start(options) => start(options),
        ServerCommand::Stop { names, all } => stop(names, *all),
        ServerCommand::Restore => {
            let any = restore(&provisioner()?)?;
            if any { Ok(()) } else { print("no killed run left settings to restore\n") }
        }
        ServerCommand::Status { json } => status(*json),
        ServerCommand::Data { remove, remove_all, json } => {
            data::data(provisioner()?.places(), remove, *remove_all, *json)
        }
    }
}

/// Servers that can be downloaded and those on this machine: `prony server list`, and `prony list servers`.
pub(super) fn servers() -> Result<Listing, Failure> {
    let provisioner = provisioner()?;
    let entries = provisioner.catalogue()?;
    let size = |entry: &Entry, between| match entry.download_mb {
        0 => String::new(),
        megabytes => format!("{megabytes} MB{between}"),
    };
    let state = |entry: &Entry| {
        if fetch::place(entry, provisioner.places()).is_dir() {
            "here".to_owned()
        } else if let (false, Some(architecture)) = (entry.runs_here(), &entry.architecture) {
            format!("for {architecture} alone")
        } else if let Some((client, _)) = fetch::missing_client(entry) {
            format!("{}needs {client}", size(entry, ", "))
        } else {
            format!("{}to fetch", size(entry, " "))
        }
    };
    let installed = crate::provision::installed();
    let row = |name: &str, version: &str, state: &str, licence: &str, from: &str, remark: &str| {
        [name, version, state, licence, from, remark].map(Cell::new).to_vec()
    };
    let mut rows: Vec<_> = installed
        .iter()
        .map(|each| {
            row(&each.product, &each.version, "installed", "", &each.program.display().to_string(), "")
        })
        .collect();
    rows.extend(entries.iter().map(|entry| {
        row(&entry.name, &entry.version, &state(entry), &entry.licence, &entry.registry(), &entry.remark)
    }));
    let list = List::new(&installed, &entries, provisioner.places());
    let machine = serde_json::to_value(list).expect("plain values");
    Ok((vec!["SERVER", "VERSION", "STATE", "LICENCE", "FROM", "REMARK"], rows, machine))
}

fn fetch_all(names: &[String]) -> Result<(), Failure> {
    let provisioner = patient_provisioner()?;
    let found: Result<Vec<_>, _> = names.iter().map(|name| provisioner.named(name)).collect();
    let progress = StepProgress::new();
    for entry in found? {
        let fetched = provisioner.fetch(&entry, &mut |step| progress.show(&step));
        progress.clear();
        let software = fetched?;
        let place = fetch::place(&entry, provisioner.places());
        let (product, version) = (software.product, software.version);
        print(&format!("{}: {product} {version} in {}\n", entry.name, place.display()))?;
    }
    Ok(())
}

/// Restores what killed runs changed on servers that Prony did not start, and reports it; returns whether
/// there was anything.
pub(super) fn restore(provisioner: &Provisioner) -> Result<bool, Failure> {
    let restored = provisioner.restore_settings()?;
    for one in &restored {
        let server = &one.server;
        match &one.result {
            Ok(Restoration::Restarted) => {
                aside(format_args!(
                    "{server}: a killed run had changed settings; the server has been restarted since, which \
                     reset them"
                ));
            }
            Ok(Restoration::PutBack(changes)) if changes.is_empty() => {
                aside(format_args!(
                    "{server}: a killed run had changed settings; they have been changed again since and are \
                     left as they are"
                ));
            }
            Ok(Restoration::PutBack(changes)) => {
                aside(format_args!(
                    "{server}: restored the settings that a killed run had changed: {}",
                    changes.join(", ")
                ));
            }
            Err(error) => aside(format_args!(
                "{server}: a killed run changed its settings, and they cannot be restored yet: {}; `prony \
                 server restore` tries again",
                chain(error)
            )),
        }
    }
    Ok(!restored.is_empty())
}

fn start(options: &StartOptions) -> Result<(), Failure> {
    let settings = settings(&options.set)?;
    let provisioner = patient_provisioner()?;
    provisioner.sweep().map_err(|error| Failure::cannot_begin(chain(&error)))?;
    let progress = StepProgress::new();
    let started = software(&provisioner, &options.server, &progress).and_then(|(name, software)| {
        let wish = StandingWish {
            name: options.name.as_deref().unwrap_or(&name),
            software: &software,
            settings: &settings,
            port: options.port,
            directory: options.data.as_deref(),
        };
        provisioner.start_standing(&wish, &mut |step| progress.show(&step))
    });
    progress.clear();
    let standing = started?;
    if options.json {
        return print_json(&Started::new(&standing));
    }
    print(&words(&standing))
}

/// The server called `name`, in the catalogue or installed, and the default name of its instance.
fn software(
    provisioner: &Provisioner,
    name: &str,
    progress: &StepProgress,
) -> Result<(String, Software), Error> {
    let mut tell = |step| progress.show(&step);
    let entries = provisioner.catalogue()?;
    if let Some(entry) = entries.iter().find(|entry| entry.name == name) {
        return Ok((entry.name.clone(), provisioner.fetch(entry, &mut tell)?));
    }
    let (product, version) = catalogue::product_and_version(name);
    Ok((name.to_owned(), provisioner.software(product, version, &mut tell)?))
}

fn settings(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(Failure::cannot_begin(format!("--set {text}: write --set max_connections=500"))),
    };
    given.iter().map(pair).collect()
}

fn stop(names: &[String], all: bool) -> Result<(), Failure> {
    let provisioner = patient_provisioner()?;
    let names = if all {
        let standing = Standing::all(provisioner.places())?;
        standing.into_iter().map(|each| each.name).collect()
    } else {
        names.to_vec()
    };
    if names.is_empty() {
        return print("no server was started with `prony server start`\n");
    }
    let progress = StepProgress::new();
    for name in names {
        let stopped = provisioner.stop_standing(&name, &mut |step| progress.show(&step));
        progress.clear();
        let standing = stopped?;
        let data = if standing.keeps_data {
            format!("its data stays in {}", standing.directory.display())
        } else {
            "its data is removed".to_owned()
        };
        print(&format!("{name}: stopped; {data}\n"))?;
    }
    Ok(())
}

fn status(json: bool) -> Result<(), Failure> {
    let standing = Standing::all(provisioner()?.places())?;
    if json {
        return print_json(&Status::new(&standing));
    }
    if standing.is_empty() {
        return print("no server was started with `prony server start`\n");
    }
    let texts: Vec<_> = standing.iter().map(words).collect();
    print(&texts.join("\n"))
}

fn words(standing: &Standing) -> String {
    let state = match standing.pid() {
        Some(pid) => format!("running since {}, pid {pid}", standing.started),
        None => format!("exited on its own; see {}", standing.log().display()),
    };
    let fate = if standing.keeps_data {
        "stays"
    } else {
        "removed when the server stops; --data DIR keeps \
                                                          it"
    };
    let client = standing.client_file();
    let client = client.display();
    format!(
        "{}: {} {}, {state}\n  port     127.0.0.1:{}\n  socket   {}\n  data     {} ({fate})\n  connect  \
         mysql --defaults-file={client}\n           prony load oltp_read_only --defaults-file {client}\n  \
         stop     prony server stop {}\n",
        standing.name,
        standing.product,
        standing.version,
        standing.port,
        standing.socket.display(),
        standing.data().display(),
        standing.name,
    )
}

fn provisioner() -> Result<Provisioner, Failure> {
    Ok(Provisioner::new()?)
}

/// For work that may take long, which Ctrl-C ends cleanly.
fn patient_provisioner() -> Result<Provisioner, Failure> {
    Ok(provisioner()?.heeding(Arc::clone(&interrupt::stop_on_signals())))
}
