//! The commands. What each takes stands with it, and what several take in [`super::flags`].

use super::{
    agent::AgentOptions,
    calibrate::CalibrateOptions,
    compare::CompareOptions,
    complete::Names,
    flags::StoreOptions,
    history::HistoryOptions,
    keep::{DeleteOptions, ExportOptions, ImportOptions, LabelOptions, NoteOptions},
    list::ListOptions,
    load::LoadOptions,
    prepare::{CleanupOptions, PrepareOptions},
    report::ReportOptions,
    run::{PlanOptions, RunOptions},
    serve::ServeOptions,
    server::ServerCommand,
    sketch::{DataCommand, WorkloadCommand},
};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Benchmarks database servers: one file says what to compare; Prony starts the servers, runs the load, and
/// reports the results with their uncertainty.
#[derive(Debug, Parser)]
#[command(
    name = "prony",
    version,
    max_term_width = 110,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Start with:  prony run quickstart\n\nExit codes:  0 done · 1 failed after it had started, \
                  or a load's figures are invalid · 2 could not start (arguments, study, server, limits) · 3 \
                  a claim is refuted, 4 a claim is open (both with --check) · 130 interrupted"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a study: a file, or the name of a built-in study
    Run(RunOptions),
    /// Show what a study would do and every mistake in it
    Plan(PlanOptions),
    /// Run one load against a running server and print the result
    Load(Box<LoadOptions>),
    /// Make this machine a load host, which carries out parts of loads that `--agents` elsewhere asks for
    Agent(AgentOptions),
    /// Measure how fast and how exact the load engine is on this machine
    Calibrate(CalibrateOptions),
    /// Run a sysbench test: same command line, scripts and output (`prony sysbench --help`)
    #[command(disable_help_flag = true)]
    Sysbench {
        /// Arguments of sysbench
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Run a mysqlslap load: same command line and output, without its dangers (`prony mysqlslap --help`)
    #[command(disable_help_flag = true)]
    Mysqlslap {
        /// Arguments of mysqlslap
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Create a workload's tables and rows on a running server
    Prepare(Box<PrepareOptions>),
    /// Drop the tables that `prony prepare` created
    Cleanup(Box<CleanupOptions>),
    /// Print the report of a stored run, or write it to a file
    Report(ReportOptions),
    /// Show all runs in a browser, follow them live, and start new ones
    Serve(ServeOptions),
    /// Show a study's results over time and find where they changed
    History(HistoryOptions),
    /// Label a run; a label can be used instead of its number
    Label(LabelOptions),
    /// Add a note to a run
    Note(NoteOptions),
    /// Delete runs
    Delete(DeleteOptions),
    /// Export a run to a file
    Export(ExportOptions),
    /// Import runs from files or other stores
    Import(ImportOptions),
    /// Compare two runs: ratios with intervals, verdicts, and other differences between them
    Compare(CompareOptions),
    /// List runs, studies, workloads, servers or settings
    List(ListOptions),
    /// Download, start and stop servers of any version
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Server {
        #[command(subcommand)]
        command: ServerCommand,
    },
    /// Describe the tables of an existing database, for a study
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
    /// Draw up a workload from what a server really does
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Workload {
        #[command(subcommand)]
        command: WorkloadCommand,
    },
    /// Check this machine for anything that would distort measurements, and say how to fix it
    #[command(after_help = "It changes nothing. The exit code is 0 whatever it finds.")]
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// A server without a database, for measuring the load engine itself
    #[command(hide = true)]
    NullServer {
        /// Port on 127.0.0.1
        #[arg(long, value_name = "PORT")]
        port: u16,
    },
    /// A relay between client and server that delays everything it forwards
    #[command(hide = true)]
    Relay {
        /// Address that it forwards to
        #[arg(long, value_name = "ADDRESS")]
        to: std::net::SocketAddr,
        /// Delay, ns
        #[arg(long, value_name = "NS")]
        one_way_ns: u64,
        /// Bytes per second in each direction
        #[arg(long, value_name = "N")]
        bytes_per_second: Option<u64>,
    },
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  prony completions bash > ~/.local/share/bash-completion/completions/prony"
    )]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print names for the completion of a shell
    #[command(hide = true)]
    Complete {
        /// Of what
        names: Names,
        #[command(flatten)]
        store: StoreOptions,
    },
    /// Print the manual page, or write one page for each command into a directory
    #[command(
        after_help = "Examples:\n  prony man | man -l -\n  prony man --directory ~/.local/share/man/man1"
    )]
    Man {
        /// Directory for prony.1, prony-run.1 and so on
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    /// The complaint about a flag's value; `None`: the value is valid.
    fn refusal(command: &clap::Command, flag: &str, value: &str) -> Option<String> {
        // what is missing beside it is looked at later
        let words = [command.get_name().to_owned(), format!("--{flag}={value}")];
        let told = command.clone().try_get_matches_from(words).err()?.to_string();
        told.contains("invalid value").then_some(told)
    }

    /// Every flag that takes a quantity, by the name of its value.
    fn flags(value_name: &str) -> Vec<(clap::Command, String)> {
        let command = Arguments::command();
        let all = command.get_subcommands().flat_map(|sub| {
            let of = sub.get_arguments().filter(|arg| {
                arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == value_name))
            });
            of.filter_map(|arg| Some((sub.clone(), arg.get_long()?.to_owned()))).collect::<Vec<_>>()
        });
        all.collect()
    }

    #[test]
    fn every_flag_reads_quantities_by_the_one_grammar() {
        let times = flags("TIME").into_iter().filter(|(command, _)| command.get_name() == "load");
        let times: Vec<_> = times.chain(flags("[exp:]TIME")).collect();
        assert!(times.len() >= 9, "{}", times.len());
        for (command, flag) in &times {
            assert_eq!(refusal(command, flag, "1m 30s"), None, "--{flag}");
            let told = refusal(command, flag, "10").unwrap_or_default();
            assert!(told.contains("`10` has no unit: write 10s, 500ms or 1m 30s"), "--{flag}: {told}");
        }
        let counts = flags("N").into_iter().filter(|(command, flag)| {
            let name = command.get_name();
            (name == "load" || name == "prepare") && !["seed", "open-rate"].contains(&flag.as_str())
        });
        let counts: Vec<_> = counts.collect();
        assert!(counts.len() >= 12, "{}", counts.len());
        for (command, flag) in &counts {
            // one that is beyond a limit is read all the same
            let told = refusal(command, flag, "1K");
            assert!(told.is_none_or(|told| told.contains("`1K` is not a number from")), "--{flag}");
            assert!(refusal(command, flag, "1.5x").is_some() || is_option(flag), "--{flag}");
        }
        let objective = flags("OBJECTIVE");
        let told = refusal(&objective[0].0, "objective", "p99 < 20").unwrap_or_default();
        assert!(told.contains("`20` has no unit: write 10s, 500ms or 1m 30s"), "{told}");
    }

    /// Options of workloads are read when all are known.
    fn is_option(flag: &str) -> bool {
        crate::workload::Options::table().iter().any(|info| {
            [Some(info.name), info.alias].into_iter().flatten().any(|name| name.replace('_', "-") == flag)
        })
    }
}
