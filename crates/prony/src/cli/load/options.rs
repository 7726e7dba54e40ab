//! What `prony load` takes, and the engine's [`Spec`] that it means.

use super::super::{
    failure::{Failure, chain},
    flags::{DurationFlag, ServerFlags, WorkloadFlags, count},
    foresee,
};
use crate::{
    arrival::{self, Parts},
    plan::{DataPlan, seed},
    search::Objectives,
    study::Adjustments,
    workload,
};
use clap::{Args, ValueEnum};
use load::{
    Spec,
    spec::{ConnectionMode, Gaps, Limit, Protocol, Rate, Scheduling, Stream, Target, Think, Workload},
};
use std::{collections::BTreeSet, net::IpAddr, time::Duration};

/// Without `--duration`: long enough for a first impression, and for a limit so long that it does not matter.
const DURATION: Duration = Duration::from_secs(10);
const DURATION_WITH_LIMIT: Duration = Duration::from_secs(3600);
/// Without `--warm-up`. A limit counts what is measured, so that nothing would run before.
const WARM_UP: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony load oltp_point_select --url mysql://user@127.0.0.1:3306/test \
                        --connections 64 --duration 10s\n  prony load oltp_read_write --tables 4 --rows \
                        50000 --connections 256 --json > result.json\n  prony load oltp_point_select -c 64 \
                        --rate 5000               an open loop\n  prony load oltp_point_select -c 64 \
                        --rate '100..5000 over 60s' --report-interval 1s\n  prony load oltp_point_select \
                        -c 10000 --think exp:1s         mostly waiting, as people do\n  prony load \
                        oltp_point_select -c 4 --reconnect transaction    what a new connection costs\n  \
                        prony load my_mix --study my.toml -c 64                      written in SQL in a \
                        study\n  prony load oltp_read_write -c 64 --find-rate --objective 'p99 < 20ms, \
                        errors < 0.1%'\n  PRONY_PASSWORD=... prony load oltp_read_only --url \
                        mysql://bench@db1/test?ssl-mode=required\n\nRates:  1000 · 1000:10s,2000:10s \
                        (steps) · 100..5000 over 60s (ramp) · 1000 +- 500 every 60s (sine) · 100 burst \
                        5000 for 2s every 10s\n\nWith --rate and --pace the schedule is fixed beforehand, \
                        and response time counts from when a transaction was due: a server that stalls is \
                        charged for all who had to wait.\n\nThe password comes from the URL, from \
                        PRONY_PASSWORD or MYSQL_PWD, or from ~/.my.cnf; only the last three keep it from \
                        other users of this machine.")]
pub(in crate::cli) struct LoadOptions {
    /// A built-in workload (`prony list workloads`), or with --study one that a stream of that study has
    #[arg(value_name = "WORKLOAD")]
    pub(super) workload: String,
    /// Take the workload from this study, for instance one that is written there as [workload.NAME]
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// How long to measure: 10s, 500ms, 2m [default: 10s; 1h where --transactions or --limit-rows ends it]
    #[arg(long, short = 't', visible_alias = "time", value_name = "TIME")]
    duration: Option<DurationFlag>,
    /// Load before the measurement, not counted [default: 1s; 0 where --transactions or --limit-rows ends
    /// it]
    #[arg(long, visible_alias = "warmup-time", value_name = "TIME")]
    warm_up: Option<DurationFlag>,
    /// Prepared statements, or plain text
    #[arg(long, value_enum, default_value_t = ProtocolFlag::Prepared)]
    protocol: ProtocolFlag,
    /// Seed of everything random, to repeat a load: the same one writes the same values into the same rows
    /// again, which changes nothing unless these rows are new [default: another one each time, printed]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Threads of the load engine, in each of its processes [default: one, and more only where one is too
    /// busy, which a second of load before the warm-up shows; one for each processor where there is no
    /// warm-up]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1, 1024))]
    workers: Option<u32>,
    /// Processes on this machine that carry the load out together, each its share of the connections, with
    /// their own threads; their results are merged exactly
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>(1, 64))]
    pub(super) processes: u32,
    /// How the kernel schedules these threads: batch does not preempt a server on the same machine, normal
    /// keeps schedules better; auto is normal with --rate, --pace and --think, and up to four connections
    /// for each processor
    #[arg(long, value_enum, default_value_t = SchedulingFlag::Auto)]
    scheduling: SchedulingFlag,
    /// Print one line on stderr for each such time: throughput, latency, errors (as JSON with --json)
    #[arg(long, value_name = "TIME")]
    pub(super) report_interval: Option<DurationFlag>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(super) json: bool,
    /// Let the workload write into tables that Prony did not make
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
#[command(next_help_heading = "Arrival (without these: each connection runs one transaction after another)")]
struct ArrivalFlags {
    /// Start so many transactions in a second, all connections together, whether the server keeps up or not
    #[arg(long, value_name = "RATE", value_parser = arrival::rate, conflicts_with = "find_rate")]
    rate: Option<Rate>,
    /// How these starts lie in time: poisson (as independent customers come) or constant [default: poisson]
    #[arg(long, value_name = "poisson|constant", value_parser = arrival::gaps)]
    gaps: Option<Gaps>,
    /// Each connection starts one transaction every so often: 10ms, 100us
    #[arg(long, value_name = "TIME", conflicts_with = "find_rate")]
    pace: Option<DurationFlag>,
    /// Each connection pauses after a transaction: 5ms, or exp:5ms for exponential pauses with this mean
    #[arg(long, value_name = "[exp:]TIME", value_parser = arrival::think, conflicts_with = "find_rate")]
    think: Option<Think>,
    /// Skip starts that are later than this (with --rate or --pace) [default: none is skipped]
    #[arg(long, value_name = "TIME")]
    lateness_max: Option<DurationFlag>,
    /// End after exactly so many transactions
    #[arg(
        long,
        visible_alias = "events",
        value_name = "N",
        value_parser = count::<u64>(1, u64::MAX),
    )]
    transactions: Option<u64>,
    /// End after so many rows, received and affected together
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
    /// Connections that work
    #[arg(
        long,
        short = 'c',
        visible_alias = "threads",
        value_name = "N",
        default_value_t = 1,
        value_parser = count::<u32>(1, 1_000_000),
    )]
    connections: u32,
    /// Connections that are opened as well and do nothing
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = count::<u32>(0, 1_000_000),
    )]
    idle: u32,
    /// When a new connection takes the place of the old one: never, after each transaction or statement, or
    /// after N transactions
    #[arg(
        long,
        value_name = "never|transaction|statement|N",
        default_value = "never",
        value_parser = arrival::connection_mode,
    )]
    reconnect: ConnectionMode,
    /// Addresses of this machine to connect from, in turn; each has ports of its own
    #[arg(long, value_name = "ADDRESS,...", value_delimiter = ',')]
    source: Vec<IpAddr>,
    /// Open at most so many connections in a second before the load [default: as fast as the server takes
    /// them]
    #[arg(long, value_name = "N", value_parser = positive)]
    open_rate: Option<f64>,
    /// How long opening one connection may take, login included
    #[arg(long, value_name = "TIME", default_value = "10s")]
    connect_timeout: DurationFlag,
    /// How long a reply may take before its connection is given up and opened anew [default: any time]
    #[arg(long, value_name = "TIME")]
    reply_timeout: Option<DurationFlag>,
}

/// The search for the highest rate.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(super) struct FindFlags {
    /// Find the highest rate that keeps the objective, confirm it, and show that a little more does not;
    /// --duration is the length of each confirming run
    #[arg(long, requires = "objective")]
    pub(super) find_rate: bool,
    /// What is to be kept: 'p99 < 20ms', 'p99 < 20ms, errors < 0.1%'; p50 p90 p95 p99 p99.9 mean max are
    /// response times from the intended start, 'service p99' is from the actual one; may be repeated
    #[arg(long, value_name = "OBJECTIVE", requires = "find_rate", value_parser = Objectives::parse)]
    pub(super) objective: Vec<Objectives>,
    /// Time for the whole search: 5m; when it is over, the best rate that is confirmed is the answer
    /// [default: as long as it takes]
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
    /// Batch where nothing has a time to keep, otherwise normal
    Auto,
    /// SCHED_BATCH
    Batch,
    /// SCHED_OTHER
    Normal,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = crate::quantity::rate(text).filter(|number| *number > 0.0);
    number.ok_or_else(|| format!("`{text}` is not a number above 0"))
}

impl LoadOptions {
    /// The load that is meant.
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
            ..Spec::new(self.checked(target)?, vec![self.stream()?], warm_up, duration)
        })
    }

    /// What goes together only with some targets.
    fn checked(&self, target: Target) -> Result<Target, Failure> {
        let by_socket = matches!(target.address, load::spec::Address::Unix(_));
        if by_socket && !self.connection.source.is_empty() {
            return Err(Failure::cannot_begin("--source is for TCP: a Unix socket has no source address"));
        }
        Ok(target)
    }

    fn stream(&self) -> Result<Stream, Failure> {
        let workload = match &self.study {
            Some(study) => self.workload_of(study)?,
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
        Ok(Stream {
            idle: self.connection.idle,
            arrival: parts.arrival().map_err(|error| Failure::cannot_begin(as_flags(&chain(&error))))?,
            connect: self.connection.reconnect,
            protocol,
            limit: self.limit(),
            ..Stream::new("main", workload, self.connection.connections)
        })
    }

    /// The workload as a stream of the study has it, with the study's tables and rows.
    fn workload_of(&self, study: &str) -> Result<Workload, Failure> {
        if let Some(flag) = self.workload_options.first() {
            return Err(Failure::cannot_begin(format!(
                "{flag} and --study exclude each other: the study says it"
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
                "no stream of the study {} has the workload `{}`; they have {}",
                study.name,
                self.workload,
                names.join(", ")
            ))
        })
    }

    /// The data set of the study that the workload is from, where it has tables.
    pub(super) fn data_of_study(&self) -> Option<DataPlan> {
        let study = foresee::open(self.study.as_ref()?, &Adjustments::default()).ok()?;
        let treatments = study.treatments.into_iter();
        treatments.map(|treatment| treatment.data).find(|data| !data.is_empty())
    }

    /// The built-in workload whose tables are needed: those that are written in a study work on the same.
    pub(super) fn prepared_as(&self) -> &str {
        if workload::find(&self.workload).is_ok() { &self.workload } else { "oltp_read_write" }
    }

    fn limit(&self) -> Option<Limit> {
        let transactions = self.arrival.transactions.map(Limit::Transactions);
        transactions.or(self.arrival.limit_rows.map(Limit::Rows))
    }
}

/// A message about `some_key` as one about `--some-key`.
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
    use load::spec::Arrival;

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
            (&["--think=1s", "--pace=1s"], ["--pace", "--think", "exclude"]),
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
