//! `prony data describe` and `prony workload from-...`: first sections of a study, from what exists.

use super::{
    failure::{Failure, chain},
    flags::{ServerFlags, Wrong, count},
    terminal::print,
};
use crate::{provision::target, sketch, workload::is_name};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `prony data ...`
#[derive(Debug, Subcommand)]
pub(super) enum DataCommand {
    /// Describe the tables of a database as `[[table]]` sections, by its statistics; nothing of its contents
    #[command(after_help = "Example:\n  prony data describe --url mysql://user@db1/shop > shop.toml\n\nThe \
                      database is only read. With --times 10, the tables have ten times the rows.")]
    Describe {
        #[command(flatten)]
        server: ServerFlags,
        /// Rows, as a multiple of those that there are
        #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = times)]
        times: f64,
    },
}

/// `prony workload ...`
#[derive(Debug, Subcommand)]
pub(super) enum WorkloadCommand {
    /// Draw up a workload from a server's statement digests (performance_schema)
    #[command(
        after_help = "Example:\n  prony workload from-digests --url mysql://user@db1/shop >> shop.toml"
    )]
    FromDigests {
        #[command(flatten)]
        server: ServerFlags,
        #[command(flatten)]
        shape: Shape,
    },
    /// Draw up a workload from a slow query log
    #[command(after_help = "Example:\n  prony workload from-slow-log /var/log/mysql/slow.log >> shop.toml")]
    FromSlowLog {
        /// The log
        #[arg(value_name = "FILE")]
        log: PathBuf,
        #[command(flatten)]
        shape: Shape,
    },
}

/// The form of the workload.
#[derive(Debug, Args)]
pub(super) struct Shape {
    /// Name of the workload
    #[arg(long, value_name = "NAME", default_value = "mine", value_parser = name)]
    name: String,
    /// Number of statements, the most frequent first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count::<u32>(1, 1_000))]
    most: u32,
}

fn times(text: &str) -> Result<f64, Wrong> {
    let number = text.parse().ok().filter(|number: &f64| (1e-6..=1e6).contains(number));
    number.ok_or_else(|| Wrong::NotPositive(text.to_owned()))
}

fn name(text: &str) -> Result<String, Wrong> {
    if is_name(text) { Ok(text.to_owned()) } else { Err(Wrong::Name) }
}

pub(super) fn data(command: &DataCommand) -> Result<(), Failure> {
    let DataCommand::Describe { server, times } = command;
    let target = server.target()?;
    let described = sketch::describe(&target).map_err(|error| Failure::cannot_begin(chain(&error)))?;
    print(&sketch::tables(&target::shown(&target), &described, *times))
}

pub(super) fn workload(command: &WorkloadCommand) -> Result<(), Failure> {
    let (of, seen, shape) = match command {
        WorkloadCommand::FromDigests { server, shape } => {
            let target = server.target()?;
            (target::shown(&target), sketch::digests(&target), shape)
        }
        WorkloadCommand::FromSlowLog { log, shape } => {
            (log.display().to_string(), sketch::slow_log(log), shape)
        }
    };
    let seen = seen.map_err(|error| Failure::cannot_begin(chain(&error)))?;
    print(&sketch::workload(&shape.name, &of, &seen, shape.most as usize))
}
