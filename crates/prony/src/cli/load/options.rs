//! What `prony load` takes, and the engine's [`Spec`] that it means.

use crate::{
    arrival::{self, Parts},
    cli::{
        agent,
        failure::{Failure, chain},
        flags::{DurationFlag, ServerFlags, WorkloadFlags, Wrong, count},
        foresee,
    },
    layout::{
        DataSet,
        neighbours::{self, Neighbour},
    },
    plan::{Kubernetes, seed},
    search::Objectives,
    study::{self, Adjustments},
    sysbench, workload,
};
use clap::{Args, ValueEnum};
use load::{
    Spec,
    spec::{
        Arrival, ConnectionMode, Gaps, Limit, Protocol, Rate, Scheduling, Stream, Target, Think, Workload,
    },
};
use std::{
    collections::BTreeSet,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

/// Without `--duration`: long enough for a first impression, and for a limit so long that it does not matter.
const DURATION: Duration = Duration::from_secs(10);
const DURATION_WITH_LIMIT: Duration = Duration::from_secs(3600);
/// Without `--warm-up`. A limit counts what is measured, so that nothing would run before.
const WARM_UP: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony load oltp_point_select --url mysql://user@127.0.0.1:3306/test \
                        --connections 64 --duration 10s\n  prony load oltp_read_write --tables 4 --rows \
                        50000 --connections 256 --json > result.json\n  prony load oltp_point_select -c 64 \
                        --rate 5000               an open loop\n  prony load oltp_point_select -c 64 --rate \
                        '100..5000 over 60s' --report-interval 1s\n  prony load oltp_point_select -c 10000 \
                        --think exp:1s         mostly waiting, like human users\n  prony load \
                        oltp_point_select -c 4 --reconnect transaction    what a new connection costs\n  \
                        prony load my_mix --study my.toml -c 64                      defined in SQL in a \
                        study\n  prony load oltp_read_write -c 64 --find-rate --objective 'p99 < 20ms, \
                        errors < 0.1%'\n  PRONY_PASSWORD=... prony load oltp_read_only --url \
                        mysql://bench@db1/test?ssl-mode=required\n\nRates:  1000 · 1000:10s,2000:10s (steps) \
                        · 100..5000 over 60s (ramp) · 1000 +- 500 every 60s (sine) · 100 burst 5000 for 2s \
                        every 10s\n\nWith --rate and --pace the schedule is fixed beforehand, and response \
                        time counts from when a transaction was due, so a stall of the server counts for \
                        every transaction that had to wait.\n\nThe password comes from the URL, from \
                        PRONY_PASSWORD or MYSQL_PWD, or from ~/.my.cnf; only the last three hide it from \
                        other users of this machine.")]
pub(in crate::cli) struct LoadOptions {
    /// A built-in workload (`prony list workloads`), the file of a Lua script for sysbench (FILE.lua), or
    /// with --study a workload of one of its streams
    #[arg(value_name = "WORKLOAD")]
    pub(super) workload: String,
    /// Run a harmful neighbour beside the load: one of the workloads that `prony list workloads` calls
    /// neighbours, such as deadlocks or alter_copy; may be repeated. The load's own figures do not include it
    #[arg(long, value_name = "NAME", value_parser = neighbour)]
    neighbour: Vec<&'static Neighbour>,
    /// Take the workload from this study, for instance one defined there as [workload.NAME]
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// An option of a Lua script, such as `scale=10`; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    script_option: Vec<(String, String)>,
    /// How long to measure: 10s, 500ms, 2m [default: 10s; 1h if --transactions or --limit-rows ends it]
    #[arg(long, short = 't', visible_alias = "time", value_name = "TIME")]
    duration: Option<DurationFlag>,
    /// Load before the measurement, not counted [default: 1s; 0 if --transactions or --limit-rows ends it]
    #[arg(long, visible_alias = "warmup-time", value_name = "TIME")]
    warm_up: Option<DurationFlag>,
    /// Prepared statements, or queries as text
    #[arg(long, value_enum, default_value_t = ProtocolFlag::Prepared)]
    protocol: ProtocolFlag,
    /// Seed of everything random, to repeat a load. The same seed writes the same values into the same rows
    /// again, which changes nothing unless the rows were reloaded [default: a new seed each time, which is
    /// printed]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Threads of the load engine, in each of its processes [default: one, or more if a second of load before
    /// the warm-up shows that one is too busy; one per processor without a warm-up]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1, 1024))]
    workers: Option<u32>,
    /// Processes on this machine that share the load, each with its part of the connections and its own
    /// threads; their results are merged exactly
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>(1, 64))]
    pub(super) processes: u32,
    /// Load hosts that share the load, with `prony agent` running on each; their results are merged exactly
    #[arg(long, value_name = "HOST[:PORT]", value_delimiter = ',', value_parser = agent::address)]
    #[arg(conflicts_with = "processes")]
    pub(super) agents: Vec<String>,
    /// Directory with the certificates for them, as `prony agent init` created it [default:
    /// ~/.config/prony/agents]
    #[arg(long, value_name = "DIR", env = "PRONY_AGENTS_DIR")]
    pub(super) agents_dir: Option<PathBuf>,
    /// Pods of a Kubernetes cluster that share the load, as in `[load] kubernetes` of a study: 'replicas = 4,
    /// image = "registry.example.com/prony:0.1.0"'; they are removed at the end
    #[arg(long, value_name = "PODS", value_parser = pods, conflicts_with_all = ["processes", "agents"])]
    pub(super) kubernetes: Option<Kubernetes>,
    /// How the kernel schedules these threads: batch does not preempt a server on the same machine, normal
    /// keeps schedules better; auto means normal with --rate, --pace and --think, and for up to four
    /// connections per processor
    #[arg(long, value_enum, default_value_t = SchedulingFlag::Auto)]
    scheduling: SchedulingFlag,
    /// Print a line on stderr at this interval: throughput, latency, errors (as JSON with --json)
    #[arg(long, value_name = "TIME")]
    pub(super) report_interval: Option<DurationFlag>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(super) json: bool,
    /// Let the workload write to tables that Prony did not create
    #[arg(long)]
    pub(super) write_to_my_tables: bool,
    #[command(flatten)]
    pub(super) server: ServerFlags,
    #[command(flatten)]
    arrival: ArrivalFlags,
    #[command(flatten)]
    connection: ConnectionFlags,
    #[command(flatten)]
    pub(super) find: FindFlags,
    #[command(flatten)]
    pub(super) workload_options: WorkloadFlags,
}

/// When transactions start, and what ends them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Arrival (by default, each connection runs one transaction after another)")]
struct ArrivalFlags {
    /// Start this many transactions per second over all connections, whether the server keeps up or not
    #[arg(long, value_name = "RATE", value_parser = arrival::rate, conflicts_with = "find_rate")]
    rate: Option<Rate>,
    /// Spacing of these starts: poisson (as independent clients arrive) or constant [default: poisson]
    #[arg(long, value_name = "poisson|constant", value_parser = arrival::gaps)]
    gaps: Option<Gaps>,
    /// Each connection starts one transaction at this interval: 10ms, 100us
    #[arg(long, value_name = "TIME", conflicts_with = "find_rate")]
    pace: Option<DurationFlag>,
    /// Pause of each connection after a transaction: 5ms, or exp:5ms for exponential pauses with this mean
    #[arg(long, value_name = "[exp:]TIME", value_parser = arrival::think, conflicts_with = "find_rate")]
    think: Option<Think>,
    /// Skip starts that are later than this (with --rate or --pace) [default: skip none]
    #[arg(long, value_name = "TIME")]
    lateness_max: Option<DurationFlag>,
    /// End after exactly this many transactions
    #[arg(
        long,
        visible_alias = "events",
        value_name = "N",
        value_parser = count::<u64>(1, u64::MAX),
    )]
    transactions: Option<u64>,
    /// End after this many rows, received and affected together
    #[arg(
        long,
        value_name = "N",
        value_parser = count::<u64>(1, u64::MAX),
        conflicts_with = "transactions",
    )]
    limit_rows: Option<u64>,
}

/// How connections are opened and kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
struct ConnectionFlags {
    /// Active connections
    #[arg(
        long,
        short = 'c',
        visible_alias = "threads",
        value_name = "N",
        default_value_t = 1,
        value_parser = count::<u32>(1, 1_000_000),
    )]
    connections: u32,
    /// Additional connections that are opened and stay idle
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = count::<u32>(0, 1_000_000),
    )]
    idle: u32,
    /// When a connection is closed and reopened: never, after each transaction or statement, or after N
    /// transactions
    #[arg(
        long,
        value_name = "never|transaction|statement|N",
        default_value = "never",
        value_parser = arrival::connection_mode,
    )]
    reconnect: ConnectionMode,
    /// Addresses of this machine to connect from, in turn; each has its own ports
    #[arg(long, value_name = "ADDRESS,...", value_delimiter = ',')]
    source: Vec<IpAddr>,
    /// Open at most this many connections per second before the load [default: as fast as the server accepts
    /// them]
    #[arg(long, value_name = "N", value_parser = positive)]
    open_rate: Option<f64>,
    /// Time limit for opening one connection, login included
    #[arg(long, value_name = "TIME", default_value = "10s")]
    connect_timeout: DurationFlag,
    /// Time limit for a reply, after which the connection is closed and reopened [default: no limit]
    #[arg(long, value_name = "TIME")]
    reply_timeout: Option<DurationFlag>,
}

/// The search for the highest rate.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(super) struct FindFlags {
    /// Find the highest rate that keeps the objective, confirm it, and show that a slightly higher rate does
    /// not; --duration is the length of each confirming load
    #[arg(long, requires = "objective")]
    pub(super) find_rate: bool,
    /// The objective: 'p99 < 20ms', 'p99 < 20ms, errors < 0.1%'; p50 p90 p95 p99 p99.9 mean max are response
    /// times from the intended start, 'service p99' counts from the actual start; may be repeated
    #[arg(long, value_name = "OBJECTIVE", requires = "find_rate", value_parser = Objectives::parse)]
    pub(super) objective: Vec<Objectives>,
    /// Time budget for the whole search: 5m; when it runs out, the result is the best rate confirmed so far
    /// [default: no limit]
    #[arg(long, value_name = "TIME", requires = "find_rate")]
    pub(super) budget: Option<DurationFlag>,
}

/// Prepared or text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProtocolFlag {
    /// Server-side prepared statements
    Prepared,
    /// Text queries
    Text,
}

/// [`Scheduling`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SchedulingFlag {
    /// Batch for closed loops with many connections, otherwise normal
    Auto,
    /// SCHED_BATCH
    Batch,
    /// SCHED_OTHER
    Normal,
}

fn neighbour(text: &str) -> Result<&'static Neighbour, Wrong> {
    neighbours::find(text).ok_or_else(|| Wrong::Neighbour { text: text.to_owned() })
}

fn name_and_value(text: &str) -> Result<(String, String), Wrong> {
    let (name, value) = text.split_once('=').ok_or_else(|| Wrong::NoValue(text.to_owned()))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn positive(text: &str) -> Result<f64, Wrong> {
    let number = crate::quantity::rate(text).filter(|number| *number > 0.0);
    number.ok_or_else(|| Wrong::NotPositive(text.to_owned()))
}

fn pods(text: &str) -> Result<Kubernetes, Wrong> {
    Ok(study::pods(text)?)
}

impl LoadOptions {
    /// Whether the load comes from other machines.
    pub(super) fn is_elsewhere(&self) -> bool {
        !self.agents.is_empty() || self.kubernetes.is_some()
    }

    /// The load that the flags describe.
    pub(super) fn spec(&self) -> Result<Spec, Failure> {
        let target = self.server.target()?;
        let limited = self.limit().is_some();
        let given = |flag: Option<DurationFlag>, otherwise| flag.map_or(otherwise, |flag| flag.0);
        let duration = given(self.duration, if limited { DURATION_WITH_LIMIT } else { DURATION });
        let warm_up = given(self.warm_up, if limited { Duration::ZERO } else { WARM_UP });
        let connection = &self.connection;
        Ok(Spec {
            seed: self.seed.unwrap_or_else(seed::drawn),
            workers: self.workers,
            sources: connection.source.clone(),
            open_rate: connection.open_rate,
            connect_timeout: connection.connect_timeout.0,
            reply_timeout: connection.reply_timeout.map(|flag| flag.0),
            scheduling: match self.scheduling {
                SchedulingFlag::Auto => Scheduling::Auto,
                SchedulingFlag::Batch => Scheduling::Batch,
                SchedulingFlag::Normal => Scheduling::Normal,
            },
            ..Spec::new(self.checked(target)?, self.streams()?, warm_up, duration)
        })
    }

    /// The load, and its neighbours.
    fn streams(&self) -> Result<Vec<Stream>, Failure> {
        let mut streams = vec![self.stream()?];
        let others = self.data_set()?;
        streams.extend(self.neighbour.iter().map(|neighbour| neighbour.stream(&others)));
        Ok(streams)
    }

    /// What the load works on, as far as it is known.
    fn data_set(&self) -> Result<DataSet, Failure> {
        if workload::find(&self.workload).is_ok() {
            let options = self.workload_options.options()?;
            return workload::data_set(&self.workload, &options).map_err(Failure::cannot_begin);
        }
        Ok(self.data_of_study().unwrap_or(DataSet::Neighbours(neighbours::Data::default())))
    }

    /// Checks flags that only some targets allow.
    fn checked(&self, target: Target) -> Result<Target, Failure> {
        let by_socket = matches!(target.address, load::spec::Address::Unix(_));
        if by_socket && !self.connection.source.is_empty() {
            return Err(Failure::cannot_begin("--source needs TCP: a Unix socket has no source address"));
        }
        Ok(target)
    }

    fn stream(&self) -> Result<Stream, Failure> {
        let workload = match &self.study {
            Some(study) => self.workload_of(study)?,
            None if self.workload.ends_with(".lua") => self.workload_of_script()?,
            None => workload::builtin(&self.workload, &self.workload_options.options()?)
                .map_err(Failure::cannot_begin)?,
        };
        let protocol = match self.protocol {
            ProtocolFlag::Prepared => Protocol::Prepared,
            ProtocolFlag::Text => Protocol::Text,
        };
        let parts = Parts {
            rate: self.arrival.rate.clone().or(self.find.find_rate.then_some(Rate::Constant(1.0))),
            gaps: self.arrival.gaps,
            pace: self.arrival.pace.map(|flag| flag.0),
            think: self.arrival.think,
            lateness_max: self.arrival.lateness_max.map(|flag| flag.0),
        };
        let arrival = parts.arrival().map_err(|error| Failure::cannot_begin(as_flags(&chain(&error))))?;
        let neighbour = neighbours::find(&workload.name);
        let own = workload::waits(&workload.name).map(Arrival::Waits).or(neighbour.map(Neighbour::arrival));
        let own = own.filter(|_| arrival == Arrival::Closed);
        let mut stream = Stream {
            idle: self.connection.idle,
            arrival: own.unwrap_or(arrival),
            connect: self.connection.reconnect,
            protocol,
            limit: self.limit(),
            ..Stream::new("main", workload, self.connection.connections)
        };
        if let Some(neighbour) = neighbour {
            neighbour.take_over(&mut stream, &self.data_set()?);
        }
        Ok(stream)
    }

    fn workload_of_script(&self) -> Result<Workload, Failure> {
        if let Some(flag) = self.workload_options.first() {
            return Err(Failure::cannot_begin(format!(
                "{flag} is an option of the built-in workloads; a script's are given as --script-option \
                 NAME=VALUE"
            )));
        }
        let path = Path::new(&self.workload);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let script = sysbench::workload(path, &self.workload, &self.script_option, false);
        let script =
            script.map_err(|error| Failure::cannot_begin(format!("{}: {}", self.workload, chain(&error))))?;
        Ok(Workload::of_script(name, script))
    }

    /// The workload of a stream of the study, with the study's tables and rows.
    fn workload_of(&self, study: &str) -> Result<Workload, Failure> {
        if let Some(flag) = self.workload_options.first() {
            return Err(Failure::cannot_begin(format!(
                "{flag} cannot be used with --study: the study sets it"
            )));
        }
        let study = foresee::open(study, &Adjustments::default())?;
        let streams = study.treatments.iter().flat_map(|treatment| &treatment.streams);
        let mut workloads: Vec<&Workload> = streams.map(|stream| &stream.workload).collect();
        workloads.dedup_by_key(|workload| &workload.name);
        let found = workloads.iter().find(|workload| workload.name == self.workload);
        found.map(|workload| (*workload).clone()).ok_or_else(|| {
            let names: BTreeSet<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
            let names: Vec<&str> = names.into_iter().collect();
            Failure::cannot_begin(format!(
                "no stream of the study {} has the workload `{}`; its workloads are {}",
                study.name,
                self.workload,
                names.join(", ")
            ))
        })
    }

    /// The data set of the study that the workload is from, if it defines tables.
    pub(super) fn data_of_study(&self) -> Option<DataSet> {
        let study = foresee::open(self.study.as_ref()?, &Adjustments::default()).ok()?;
        let treatments = study.treatments.into_iter();
        treatments.map(|treatment| treatment.data).find(|data| !data.is_empty())
    }

    /// The built-in workload whose tables are needed; workloads of a study use the same tables.
    pub(super) fn prepared_as(&self) -> &str {
        if workload::find(&self.workload).is_ok() { &self.workload } else { "oltp_read_write" }
    }

    fn limit(&self) -> Option<Limit> {
        let transactions = self.arrival.transactions.map(Limit::Transactions);
        transactions.or(self.arrival.limit_rows.map(Limit::Rows))
    }
}

/// Turns a message about `some_key` into one about `--some-key`.
fn as_flags(message: &str) -> String {
    let part = |(index, part): (usize, &str)| {
        if index % 2 == 1 { format!("--{}", part.replace('_', "-")) } else { part.to_owned() }
    };
    message.split('`').enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        options: LoadOptions,
    }

    fn spec(flags: &[&str]) -> Result<Spec, String> {
        let fixed = ["load", "oltp_point_select", "--url", "mysql://user@127.0.0.1:3306/test"];
        let command =
            Command::try_parse_from(fixed.iter().chain(flags)).map_err(|error| error.to_string())?;
        command.options.spec().map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn every_flag_reaches_the_engine() {
        let seconds = Duration::from_secs;
        let flags = "-c 8 --idle 92 --rate 100..200 --gaps constant";
        assert!(spec(&flags.split(' ').collect::<Vec<_>>()).is_err(), "a ramp needs its time");
        let asked = spec(&[
            "--connections=8",
            "--idle=92",
            "--rate=100..200 over 10s",
            "--gaps=constant",
            "--lateness-max=2s",
            "--reconnect=25",
            "--source=127.0.0.2,127.0.0.3",
            "--open-rate=500",
            "--connect-timeout=3s",
            "--reply-timeout=4s",
            "--scheduling=normal",
            "--workers=3",
            "--seed=7",
            "--duration=20s",
            "--warm-up=5s",
            "--protocol=text",
        ]);
        let asked = asked.expect("a load");
        let stream = &asked.streams[0];
        assert_eq!((stream.connections, stream.idle, stream.protocol), (8, 92, Protocol::Text));
        let rate = Rate::Ramp { from: 100.0, to: 200.0, over: seconds(10) };
        let lateness_max = Some(seconds(2));
        assert_eq!(stream.arrival, Arrival::Open { rate, gaps: Gaps::Constant, lateness_max });
        assert_eq!(stream.connect, ConnectionMode::Transactions(25));
        assert_eq!(
            asked.sources,
            ["127.0.0.2", "127.0.0.3"].map(|text| text.parse::<IpAddr>().expect("an address"))
        );
        assert_eq!((asked.open_rate, asked.workers, asked.seed), (Some(500.0), Some(3), 7));
        assert_eq!((asked.connect_timeout, asked.reply_timeout), (seconds(3), Some(seconds(4))));
        assert_eq!(asked.scheduling, Scheduling::Normal);
        assert_eq!((asked.warm_up, asked.interval), (seconds(5), seconds(20)));
    }

    #[test]
    fn without_flags_it_is_a_closed_loop_and_a_limit_changes_the_times() {
        let plain = spec(&[]).expect("a load");
        assert_ne!(plain.seed, spec(&[]).expect("a load").seed, "a second one writes other values");
        assert_eq!(plain.streams[0], Stream::new("main", plain.streams[0].workload.clone(), 1));
        assert_eq!((plain.warm_up, plain.interval), (WARM_UP, DURATION));
        let limited = spec(&["--events", "1000"]).expect("a load");
        assert_eq!(limited.streams[0].limit, Some(Limit::Transactions(1000)));
        assert_eq!((limited.warm_up, limited.interval), (Duration::ZERO, DURATION_WITH_LIMIT));
        let rows = spec(&["--limit-rows", "10", "--duration", "5s"]).expect("a load");
        assert_eq!((rows.streams[0].limit, rows.interval), (Some(Limit::Rows(10)), Duration::from_secs(5)));
        let paced = spec(&["--pace", "100us"]).expect("a load");
        let every = Duration::from_micros(100);
        assert_eq!(paced.streams[0].arrival, Arrival::Paced { every, lateness_max: None });
        let thinking = spec(&["--think", "exp:5ms"]).expect("a load");
        let mean = Duration::from_millis(5);
        assert_eq!(thinking.streams[0].arrival, Arrival::Think(Think::Exponential(mean)));
    }

    #[test]
    fn what_does_not_go_together_is_refused_by_the_flags_names() {
        for (flags, words) in [
            (&["--rate=5", "--pace=1s"][..], ["--rate", "--pace", "one kind of arrival"]),
            (&["--think=1s", "--pace=1s"], ["--pace", "--think", "cannot be combined"]),
            (&["--gaps=constant"], ["--gaps", "needs", "--rate"]),
            (&["--lateness-max=1s"], ["--lateness-max", "--rate", "--pace"]),
            (&["--transactions=5", "--limit-rows=5"], ["--transactions", "--limit-rows", "cannot be used"]),
            (&["--find-rate"], ["--objective", "required", "find"]),
            (&["--find-rate", "--objective=p99<1ms", "--rate=5"], ["--find-rate", "--rate", "cannot"]),
            (&["--objective=p99 < 1ms"], ["--find-rate", "required", "--"]),
            (&["--rate=fast"], ["fast", "1000:10s,2000:10s", "ramp"]),
            (&["--reconnect=often"], ["often", "transaction", "never"]),
            (&["--open-rate=0"], ["0", "above 0", "--open-rate"]),
            (&["--pace=0"], ["--pace", "above 0", "at once"]),
            (&["--source=localhost"], ["localhost", "--source", "invalid"]),
        ] {
            let message = spec(flags).expect_err("refused");
            for word in words {
                assert!(message.contains(word), "{flags:?}: `{word}` is not in: {message}");
            }
        }
    }
}
