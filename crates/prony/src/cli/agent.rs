//! `prony agent`: this machine as a load host for others, and the certificates for that.

use super::{
    failure::{Failure, chain},
    flags::{DurationFlag, Wrong, count},
    terminal::aside,
};
use crate::{loader, provision::Places, quantity};
use clap::{Args, Subcommand};
use load::agent::{self, Event, Limits, Wants};
use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  prony agent init --dir load-hosts a.example.com 10.0.0.7\n  scp -r \
                  load-hosts/a.example.com a.example.com:prony-agent\n  prony agent --dir prony-agent \
                  --allow db.example.com:3306           on a.example.com\n  prony load oltp_point_select \
                  --url mysql://bench@db.example.com/test --agents-dir load-hosts --agents \
                  a.example.com,10.0.0.7\n\nAn agent only runs loads against the targets that it allows, one \
                  at a time, for callers with a certificate from the same `init`. Passwords come with each \
                  load and are never stored. docs/load-hosts.md says more."
)]
pub(super) struct AgentOptions {
    #[command(subcommand)]
    command: Option<AgentCommand>,
    #[command(flatten)]
    serve: Option<ServeOptions>,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// Create certificates: one for each load host, and one for whoever runs the loads
    Init {
        /// Directory for them [default: ~/.config/prony/agents]
        #[arg(long, value_name = "DIR", env = "PRONY_AGENTS_DIR")]
        dir: Option<PathBuf>,
        /// Host names or addresses by which the agents will be called
        #[arg(value_name = "HOST", required = true, value_parser = host)]
        hosts: Vec<String>,
    },
}

#[derive(Debug, Args)]
struct ServeOptions {
    /// Directory with this host's certificate, as `prony agent init` created it
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Targets that loads may go to: HOST:PORT, HOST:* for all of its ports, or the path of a Unix socket
    #[arg(long, value_name = "TARGET", value_delimiter = ',', required = true)]
    allow: Vec<String>,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from(([0, 0, 0, 0], agent::PORT)))]
    listen: SocketAddr,
    /// Highest number of connections that a load may open on this host
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = count::<u32>(1, u32::MAX.into()))]
    connections_max: u32,
    /// Highest rate at which a load may start transactions on this host, per second; loads without a rate
    /// are then refused [default: any]
    #[arg(long, value_name = "N", value_parser = count::<u64>(1, u64::MAX))]
    rate_max: Option<u64>,
    /// Length of the longest load
    #[arg(long, value_name = "TIME", default_value = "24h")]
    time_max: DurationFlag,
    /// Memory limit of a load process, such as 2G [default: none]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    memory_max: Option<u64>,
    /// Exit when no run has used this agent for this long [default: never]
    #[arg(long, value_name = "TIME")]
    end_after: Option<DurationFlag>,
    /// Run Lua scripts as well; a script can do anything that this user can
    #[arg(long)]
    allow_scripts: bool,
}

/// A host without a port, which is also the name of its directory.
fn host(text: &str) -> Result<String, Wrong> {
    let is_name = |text: &str| {
        !text.is_empty()
            && !text.starts_with('.')
            && text.chars().all(|letter| letter.is_alphanumeric() || "-._:".contains(letter))
    };
    if !is_name(text) || text == "coordinator" {
        return Err(Wrong::Host(text.to_owned()));
    }
    match text.split_once(':') {
        Some((_, rest)) if !rest.contains(':') => Err(Wrong::HasPort(text.to_owned())),
        _ => Ok(text.to_owned()),
    }
}

/// The address of an agent; the port may be left out.
pub(super) fn address(text: &str) -> Result<String, Wrong> {
    agent::address(text).ok_or_else(|| Wrong::Address(text.to_owned()))
}

pub(super) fn agent(options: &AgentOptions) -> Result<(), Failure> {
    match (&options.command, &options.serve) {
        (Some(AgentCommand::Init { dir, hosts }), _) => init(dir.clone(), hosts),
        (None, Some(serve)) => self::serve(serve),
        (None, None) => Err(Failure::cannot_begin("--dir and --allow are missing")),
    }
}

/// The directory with all certificates.
pub(super) fn directory(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let default = || Places::of_user().map(|places| places.config.join("agents"));
    given.map_or_else(default, Ok).map_err(|error| Failure::cannot_begin(chain(&error)))
}

fn init(dir: Option<PathBuf>, hosts: &[String]) -> Result<(), Failure> {
    let directory = directory(dir)?;
    let made = loader::init(&directory, hosts).map_err(|error| Failure::cannot_begin(chain(&error)))?;
    aside(format_args!("certificates in {}", directory.display()));
    for (host, own) in hosts.iter().zip(made) {
        aside(format_args!(
            "copy {} to {host} and run there: prony agent --dir {host} --allow TARGET",
            own.display()
        ));
    }
    Ok(())
}

fn serve(options: &ServeOptions) -> Result<(), Failure> {
    let cannot = |error: &dyn std::error::Error| Failure::cannot_begin(chain(error));
    let identity = loader::identity(&options.dir).map_err(|error| cannot(&error))?;
    let program = std::env::current_exe().map_err(|error| cannot(&error))?;
    let limits = Limits {
        targets: options.allow.clone(),
        connections: Some(options.connections_max),
        rate: options.rate_max,
        time: Some(options.time_max.0),
        memory_bytes: options.memory_max,
        scripts: options.allow_scripts,
    };
    let failed = |error: std::io::Error| {
        Failure::cannot_begin(format!("cannot listen at {}: {error}", options.listen))
    };
    let listener = TcpListener::bind(options.listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    aside(format_args!("listening at {address}; targets: {}", options.allow.join(", ")));
    let (changes, heard) = mpsc::channel();
    let host = loader::LoadHost::new(program, limits, move |event| {
        aside(told(event));
        // nobody listens any more where this process is about to end
        let _ = match event {
            Event::Held { .. } => changes.send(true),
            Event::Freed { .. } => changes.send(false),
            _ => Ok(()),
        };
    });
    let serving = thread::spawn(move || agent::serve(&listener, &identity, host));
    let limit = options.end_after.map(|flag| flag.0);
    if await_end(&heard, limit) {
        return Ok(());
    }
    match serving.join() {
        Ok(Ok(never)) => match never {},
        Ok(Err(error)) => Err(Failure::failed(chain(&error))),
        Err(_) => Err(Failure::failed("the thread that listens panicked")),
    }
}

/// Waits until no run has used the agent for so long. `false`: it does not serve any more.
fn await_end(changes: &Receiver<bool>, limit: Option<Duration>) -> bool {
    let mut is_held = false;
    loop {
        let change = match limit.filter(|_| !is_held) {
            Some(limit) => changes.recv_timeout(limit),
            None => changes.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match change {
            Ok(held) => is_held = held,
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// One line for each event, without statements, accounts or secrets.
fn told(event: &Event<'_>) -> String {
    match event {
        Event::Held { run, from } => format!("{from}: {run} begins"),
        Event::Load { run, wants } => {
            let Wants { connections, targets, time, .. } = wants;
            let mut targets = targets.clone();
            targets.dedup();
            let time = quantity::show_duration(*time);
            format!("{run}: a load of {time} with {connections} connections to {}", targets.join(", "))
        }
        Event::Over { run } => format!("{run}: the load is over"),
        Event::Freed { run } => format!("{run} has ended"),
        Event::Refused { from, why } => format!("{from}: {why}"),
    }
}
