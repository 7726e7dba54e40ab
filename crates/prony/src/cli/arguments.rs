//! What can be typed. Every option is defined once, here or in the table of workload options.

use super::{
    complete::Names,
    flags::{ServerFlags, WorkloadFlags},
    history::HistoryOptions,
    keep::{DeleteOptions, ExportOptions, ImportOptions, LabelOptions, NoteOptions},
    load::LoadOptions,
};
use crate::report::{Format, Language, RunsFormat};
use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::path::{Path, PathBuf};

/// Puts database servers on a dynamometer: says what to compare in one file, brings the servers up, offers
/// the load, and reports what can be said with which certainty.
#[derive(Debug, Parser)]
#[command(
    name = "prony",
    version,
    max_term_width = 110,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Begin with:  prony run quickstart\n\nExit codes:  0 done · 1 it began and failed, or a \
                  load's figures are invalid · 2 it could not begin (arguments, study, server, limits) · \
                  3 a claim is refuted, 4 a claim is open (both with --check) · 130 interrupted"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Carry out a study: a file, or the name of a built-in one
    Run(RunOptions),
    /// Show what a study would do, and every mistake in it
    Plan(PlanOptions),
    /// Offer one load to a server that is running, and print what it did
    Load(Box<LoadOptions>),
    /// Measure how much this machine's load engine can do, and how exactly
    Calibrate(CalibrateOptions),
    /// Make a workload's tables and rows on a server that is running
    Prepare(Box<PrepareOptions>),
    /// Drop the tables that `prony prepare` made
    Cleanup(Box<CleanupOptions>),
    /// Print the report of a run that is in the store, or write it to a file
    Report(ReportOptions),
    /// Follow a study over its runs, and find where it changed
    History(HistoryOptions),
    /// Give a run labels, by which it can be named
    Label(LabelOptions),
    /// Write something down about a run
    Note(NoteOptions),
    /// Throw runs away
    Delete(DeleteOptions),
    /// Write a run to one file
    Export(ExportOptions),
    /// Take runs out of files or other stores
    Import(ImportOptions),
    /// Hold one run against another: ratios with intervals, verdicts, and what differs between them
    Compare(CompareOptions),
    /// List runs, studies, workloads, servers or settings
    List(ListOptions),
    /// Get servers of any version, start and stop them
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Server {
        #[command(subcommand)]
        command: ServerCommand,
    },
    /// Look for what would spoil measurements on this machine, and say what mends it
    #[command(after_help = "It changes nothing. Exit code 0, whatever it finds.")]
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
    /// A network between client and server, which hands everything on later
    #[command(hide = true)]
    Relay {
        /// Where it leads
        #[arg(long, value_name = "ADDRESS")]
        to: std::net::SocketAddr,
        /// How much later it hands on, ns
        #[arg(long, value_name = "NS")]
        one_way_ns: u64,
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

#[derive(Debug, Subcommand)]
pub(super) enum ServerCommand {
    /// List the servers that can be had, and which are here (`prony list servers` is the same)
    #[command(after_help = "Servers of your own are added in ~/.config/prony/servers.toml:\n  \
        [[server]]\n  name = \"mysql-8.4-mine\"\n  product = \"mysql\"\n  version = \"8.4.2\"\n  \
        from = { directory = \"/opt/mysql-8.4.2\" }\n  \
        # or: from = { archive = { at = \"PATH OR URL\", sha256 = \"...\" } }\n  \
        # or: from = { image = { name = \"docker.io/library/mysql:8.4\" } }, which podman or docker runs")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Get servers into the user's cache, without root; what is there already stays
    #[command(after_help = "Example:\n  prony server fetch mysql-5.7 mariadb-11.4")]
    Fetch {
        /// A name from the list, or product and version: mysql-5.7 is the newest 5.7
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Start a server that stays until `prony server stop`
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
    /// Put back the settings of servers elsewhere that a killed run had changed (the next run does so too)
    Restore,
    /// List the servers that `prony server start` started, and how to connect
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List loaded data that are kept for later runs, or remove some
    #[command(after_help = "Runs keep data that take long to load (`reuse` in [measure]), up to 20 GiB, \
                            those used last; PRONY_DATA_LIMIT=50G sets another limit, 0 keeps none.")]
    Data {
        /// Remove these
        #[arg(long, value_name = "NAME", num_args = 1..)]
        remove: Vec<String>,
        /// Remove all that no run uses
        #[arg(long, conflicts_with = "remove")]
        remove_all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony server start mysql-5.7\n  prony server start mariadb-11.4 \
                        --port 3307 --set thread_handling=pool-of-threads --data ~/data/mariadb-11.4\n\nIt \
                        listens on 127.0.0.1 alone, and only Prony's own account gets in; its password is \
                        in the option file that is printed.")]
pub(super) struct StartOptions {
    /// A name from `prony server list`, or product and version: mysql-5.7 is the newest 5.7
    #[arg(value_name = "NAME")]
    pub(super) server: String,
    /// The name that it goes by [default: the one given]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Port on 127.0.0.1 [default: any that is free]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: Option<u16>,
    /// A setting, a word of `prony list settings` or as its option file has it; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Keep its data in this directory, and use it again if it is there [default: data goes when the server
    /// is stopped]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct StudyOptions {
    /// The study's file, or the name of a built-in study (`prony list studies`)
    #[arg(value_name = "STUDY")]
    pub(super) study: String,
    /// Apply the study's section [scale.NAME]
    #[arg(long, value_name = "NAME")]
    pub(super) scale: Option<String>,
    /// Override one key of the study, as `measure.interval=5s`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct StoreOptions {
    /// Where results are kept: an SQLite file (FILE.sqlite), or a directory that gets prony.sqlite and the
    /// reports [default: prony.sqlite in the user's data directory]
    #[arg(long, alias = "output", value_name = "PATH", env = "PRONY_STORE")]
    pub(super) store: Option<PathBuf>,
}

impl StoreOptions {
    /// The directory that is named, if it is one: what exists as such, or has no extension of a database.
    pub(super) fn directory(&self) -> Option<&Path> {
        let path = self.store.as_deref()?;
        let is_database =
            path.extension().is_some_and(|end| ["sqlite", "sqlite3", "db"].iter().any(|each| end == *each));
        (path.is_dir() || !(is_database || path.is_file())).then_some(path)
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony run quickstart\n  prony run pool.toml --scale quick\n  prony \
                        run pool.toml --set measure.repeats=5 --write pool.html\n  prony run pool.toml \
                        --resume")]
pub(super) struct RunOptions {
    #[command(flatten)]
    pub(super) study: StudyOptions,
    #[command(flatten)]
    pub(super) store: StoreOptions,
    /// Go on with this study's last run, doing only the trials that are missing
    #[arg(long)]
    pub(super) resume: bool,
    /// Profile each server where its throughput is highest, with perf, and draw a flame graph (`--set
    /// telemetry.profile=true`)
    #[arg(long)]
    pub(super) profile: bool,
    /// With --resume: go on although the study's settings, a server or the machine changed; the run keeps
    /// what was different
    #[arg(long, requires = "resume")]
    pub(super) anyway: bool,
    /// Language of the report: en or zh
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub(super) language: Language,
    /// Where to write the HTML report [default: prony-STUDY-RUN.html here, or in the directory of --store]
    #[arg(long, alias = "report", value_name = "FILE")]
    pub(super) write: Option<PathBuf>,
    /// Print the findings as JSON instead of tables
    #[arg(long)]
    pub(super) json: bool,
    /// Let the exit code follow the study's claims: 0 all are supported, 3 one is refuted, 4 one is open
    #[arg(long)]
    pub(super) check: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony plan quickstart\n  prony plan pool.toml --scale published --json")]
pub(super) struct PlanOptions {
    #[command(flatten)]
    pub(super) study: StudyOptions,
    /// Print the plan as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony calibrate\n  prony calibrate --seconds 5 --json > \
                        calibration.json\n\nIt loads a server that answers at once, in a process of its \
                        own on this machine. Nothing else should run meanwhile.")]
pub(super) struct CalibrateOptions {
    /// How long each of the eight measurements takes, seconds
    #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = seconds)]
    pub(super) seconds: f64,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony prepare oltp_read_write --url mysql://user@127.0.0.1:3306/test \
                        --tables 4 --rows 50000\n  prony prepare oltp_read_only --rows 10000000 --threads \
                        8\n\nSafe to repeat: complete tables are recognised and kept. A table of that name \
                        that Prony did not make is never touched.")]
pub(super) struct PrepareOptions {
    /// A built-in workload (`prony list workloads`)
    #[arg(value_name = "WORKLOAD")]
    pub(super) workload: String,
    #[command(flatten)]
    pub(super) server: ServerFlags,
    /// Connections that load at the same time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=256),
    )]
    pub(super) threads: u32,
    /// Seed of the contents: the same seed gives the same rows on any server
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(super) seed: u64,
    /// Compute a checksum of every table afterwards
    #[arg(long)]
    pub(super) checksum: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) workload_options: WorkloadFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony cleanup --url mysql://user@127.0.0.1:3306/test\n  prony cleanup \
                        oltp_read_write --url mysql://user@127.0.0.1:3306/test --tables 4\n\nOnly tables \
                        that Prony made are dropped; it knows them by a mark in their comment.")]
pub(super) struct CleanupOptions {
    /// The workload that they were made for; all workloads share the tables sbtest1, sbtest2, ...
    #[arg(value_name = "WORKLOAD")]
    pub(super) workload: Option<String>,
    #[command(flatten)]
    pub(super) server: ServerFlags,
    /// Drop only sbtest1 to sbtestN [default: all that Prony made in this database]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) tables: Option<u32>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony report\n  prony report 12 --format html --write pool.html\n  \
                        prony report --format csv > results.csv")]
pub(super) struct ReportOptions {
    /// A number (`prony list runs`), `last`, a label or the name of a study [default: the latest run]
    #[arg(value_name = "RUN")]
    pub(super) run: Option<String>,
    /// What to make
    #[arg(long, default_value = "terminal", value_parser = formats())]
    pub(super) format: Format,
    /// Language: en or zh
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub(super) language: Language,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(super) write: Option<PathBuf>,
    /// Let the exit code follow the study's claims: 0 all are supported, 3 one is refuted, 4 one is open
    #[arg(long)]
    pub(super) check: bool,
    #[command(flatten)]
    pub(super) store: StoreOptions,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony compare 11 12\n  prony compare 11 12 --format markdown --write \
                        change.md\n  prony compare 11 12 --check\n\nExit codes:  0 compared · 1 with \
                        --check: something is worse · 2 no such run, or nothing in common")]
pub(super) struct CompareOptions {
    /// The run that is held against: a number (`prony list runs`), `last`, a label or the name of a study
    #[arg(value_name = "BASE")]
    pub(super) base: String,
    /// The run that is judged
    #[arg(value_name = "RUN")]
    pub(super) run: String,
    /// What to make
    #[arg(long, default_value = "terminal", value_parser = runs_formats())]
    pub(super) format: RunsFormat,
    /// Language: en or zh
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub(super) language: Language,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(super) write: Option<PathBuf>,
    /// End with exit code 1 if the run is worse in any comparison
    #[arg(long)]
    pub(super) check: bool,
    #[command(flatten)]
    pub(super) store: StoreOptions,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony list studies\n  prony list workloads\n  prony list runs --json")]
pub(super) struct ListOptions {
    /// What to list
    #[arg(value_enum)]
    pub(super) what: Listed,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Of runs: only those of this study
    #[arg(long, value_name = "NAME")]
    pub(super) study: Option<String>,
    /// Of runs: only those with this label
    #[arg(long, value_name = "LABEL")]
    pub(super) label: Option<String>,
    /// Of runs: only those with a server whose name, product or version begins like this
    #[arg(long, value_name = "TEXT")]
    pub(super) server: Option<String>,
    /// Of runs: only those that began at this time or later: 2026-11-21, or 2026-11-21T18:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) since: Option<jiff::Timestamp>,
    /// Of runs: only those that began before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) until: Option<jiff::Timestamp>,
    #[command(flatten)]
    pub(super) store: StoreOptions,
}

/// A day (its beginning, UTC) or a moment.
pub(super) fn time(text: &str) -> Result<jiff::Timestamp, String> {
    let moment = text.parse().or_else(|_| format!("{text}T00:00Z").parse());
    moment.map_err(|_| format!("`{text}` is no time; write 2026-11-21, or 2026-11-21T18:00Z"))
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Listed {
    /// Runs in the store
    Runs,
    /// Built-in studies
    Studies,
    /// Built-in workloads and their options
    Workloads,
    /// Servers that can be had, and which are here
    Servers,
    /// Settings in words that every server gets in its own terms
    Settings,
}

/// The formats of a report by name, for completion and messages.
fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(|(name, _)| name)).try_map(|name| name.parse::<Format>())
}

/// The formats of a comparison.
fn runs_formats() -> impl TypedValueParser<Value = RunsFormat> {
    PossibleValuesParser::new(RunsFormat::ALL.map(|(name, _)| name))
        .try_map(|name| name.parse::<RunsFormat>())
}

/// A length of measurement: below a tenth of a second there is nothing to see.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.ok_or_else(|| format!("`{text}` is not a number from 0.1 to 3600"))
}
