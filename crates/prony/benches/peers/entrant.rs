//! Who takes part: how each program is called for the same load, and what it reports.

use crate::{process::measured, server::Site, tpcc};
use serde::Serialize;
use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// How long a program may take to open its connections and to end, besides the load itself.
const AROUND: Duration = Duration::from_secs(180);
/// sysbench's mix of reads and writes.
pub(crate) const READ_WRITE: &str = "oltp_read_write";
/// Bytes of the column that a point select returns; go-ycsb's field is made as long.
const FIELD_BYTES: u32 = 119;

/// A program that makes load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Prony,
    Raw,
    Sysbench,
    /// `prony sysbench`, with the same script.
    Script,
    MysqlSlap,
    GoYcsb,
    /// Prony, go-tpc and sysbench-tpcc: tables like those of TPC-C are loaded, each into a database of its
    /// own.
    TpccLoad,
    GoTpcLoad,
    SysbenchTpccLoad,
    /// The transactions on them, without waits; New-Order transactions are what is counted.
    Tpcc,
    GoTpc,
    /// Prony and sysbench with a script of the same statements, as text.
    TpccText,
    TpccScript,
    /// Prony and sysbench-tpcc, as text; transactions of all kinds are what is counted.
    TpccAll,
    SysbenchTpcc,
}

/// One participant of a heat.
#[derive(Debug, Clone)]
pub(crate) struct Entrant {
    pub(crate) label: String,
    pub(crate) tool: Tool,
    pub(crate) connections: u32,
    /// Processes that Prony's load comes from.
    pub(crate) processes: u32,
    /// Threads of Prony's engine, in each of its processes, and of the raw client.
    pub(crate) workers: Option<usize>,
    /// Load of Prony that is not counted, s.
    pub(crate) warm_up_s: u32,
    /// Prony does what mysqlslap can: text, and always the same row.
    pub(crate) like_slap: bool,
    /// Scheduling policy of Prony's workers, and starts per second of an open loop.
    pub(crate) policy: Option<(&'static str, Option<u32>)>,
}

/// What all of a heat have in common.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) site: Site,
    /// One of sysbench's workloads.
    pub(crate) workload: &'static str,
    pub(crate) seconds: u32,
    pub(crate) rows: u64,
    /// Threads that Prony had last; the raw client gets as many.
    pub(crate) workers: Option<usize>,
    /// The directory of sysbench-tpcc's scripts.
    pub(crate) sysbench_tpcc: PathBuf,
    /// Queries per second that were seen last; mysqlslap and go-ycsb want a number of queries instead of a
    /// time.
    pub(crate) expected_per_second: f64,
}

impl Job {
    /// For so many connections. Transactions of several statements take seconds where thousands of
    /// connections wait for the same server: sysbench, which counts from its start to the end of its last
    /// one, must have several behind it.
    pub(crate) fn at(&self, connections: u32) -> Self {
        const CONNECTIONS: u32 = 512;
        let longer = if self.workload == READ_WRITE { (connections / CONNECTIONS).clamp(1, 8) } else { 1 };
        Self { seconds: self.seconds * longer, ..self.clone() }
    }

    /// Queries that take about the time of a run, as many on each connection.
    fn queries(&self, connections: u32) -> u64 {
        let each = self.expected_per_second * f64::from(self.seconds) / f64::from(connections);
        each.ceil().max(1.0) as u64 * u64::from(connections)
    }
}

/// What a participant reached in one round.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Figures {
    /// Statements of all kinds that ended well. Not transactions: with thousands of connections one takes
    /// longer than a run.
    pub(crate) queries_per_second: f64,
    pub(crate) cpu_us_per_query: f64,
    pub(crate) memory_mb: f64,
    /// Threads of Prony's engine; `None`: another program.
    pub(crate) workers: Option<usize>,
    /// Where Prony keeps a schedule: median and 99 % of the response time, and of its own delay, ms.
    pub(crate) schedule_ms: Option<[f64; 4]>,
}

impl Tool {
    /// Its version, or how to get it.
    ///
    /// # Errors
    /// The remedy.
    pub(crate) fn check(self) -> Result<String, String> {
        let (name, flag, remedy) = match self {
            Self::Prony
            | Self::Raw
            | Self::Script
            | Self::TpccLoad
            | Self::Tpcc
            | Self::TpccText
            | Self::TpccAll => {
                return Ok(env!("CARGO_PKG_VERSION").to_owned());
            }
            Self::Sysbench | Self::TpccScript | Self::SysbenchTpccLoad | Self::SysbenchTpcc => {
                ("sysbench", "--version", "Debian: apt install sysbench")
            }
            Self::MysqlSlap => ("mysqlslap", "--version", "Debian: apt install mariadb-client"),
            Self::GoTpc | Self::GoTpcLoad => {
                ("go-tpc", "--help", "build it from its source, github.com/pingcap/go-tpc")
            }
            Self::GoYcsb => ("go-ycsb", "--help", "build it from its source, github.com/pingcap/go-ycsb"),
        };
        let output = Command::new(name).arg(flag).stderr(Stdio::null()).output();
        let Ok(output) = output else { return Err(format!("{name} is not there ({remedy})")) };
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(match self {
            // they do not know their versions
            Self::GoYcsb | Self::GoTpc | Self::GoTpcLoad => name.to_owned(),
            _ => text.lines().next().unwrap_or(name).trim().to_owned(),
        })
    }
}

impl Entrant {
    pub(crate) fn new(tool: Tool, connections: u32) -> Self {
        let label = match tool {
            Tool::Prony => "Prony",
            Tool::Raw => "raw",
            Tool::Sysbench => "sysbench",
            Tool::Script => "prony sysbench",
            Tool::MysqlSlap => "mysqlslap",
            Tool::GoYcsb => "go-ycsb",
            Tool::TpccLoad | Tool::Tpcc | Tool::TpccText | Tool::TpccAll => "Prony",
            Tool::TpccScript => "sysbench",
            Tool::SysbenchTpccLoad | Tool::SysbenchTpcc => "sysbench-tpcc",
            Tool::GoTpcLoad | Tool::GoTpc => "go-tpc",
        };
        let label = label.to_owned();
        Self {
            label,
            tool,
            connections,
            processes: 1,
            workers: None,
            warm_up_s: 0,
            like_slap: false,
            policy: None,
        }
    }

    /// One round.
    ///
    /// # Errors
    /// The program's own words.
    pub(crate) fn run(&self, job: &Job) -> Result<Figures, String> {
        let mut command = match self.tool {
            Tool::Prony => self.prony(job),
            Tool::Raw => self.raw(job)?,
            Tool::Sysbench => self.sysbench(Command::new("sysbench"), job),
            Tool::Script => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
                command.arg("sysbench");
                self.sysbench(command, job)
            }
            Tool::MysqlSlap => self.slap(job),
            Tool::GoYcsb => go_ycsb("run", job, self.connections),
            Tool::TpccLoad | Tool::GoTpcLoad | Tool::SysbenchTpccLoad => tpcc::load(self.tool, job),
            Tool::Tpcc => tpcc::prony("load", job, self.connections),
            Tool::GoTpc => tpcc::go_tpc("run", job, self.connections),
            Tool::TpccText | Tool::TpccAll => tpcc::prony_text(job, self.connections),
            Tool::SysbenchTpcc => tpcc::sysbench_tpcc("run", job, self.connections),
            Tool::TpccScript => tpcc::script(job, self.connections),
        };
        let began = Instant::now();
        let length = Duration::from_secs(u64::from(job.seconds + self.warm_up_s));
        let measured = measured(&mut command, length * 3 + AROUND)?;
        let read = match self.tool {
            Tool::Prony | Tool::TpccText => prony_figures(&measured.text, self.warm_up_s > 0),
            Tool::Raw => raw_figures(&measured.text),
            Tool::Sysbench | Tool::Script | Tool::TpccScript => sysbench_figures(&measured.text),
            Tool::MysqlSlap => slap_figures(&measured.text),
            Tool::GoYcsb => go_ycsb_figures(&measured.text),
            Tool::TpccLoad | Tool::GoTpcLoad | Tool::SysbenchTpccLoad => {
                Some(Said::plain(tpcc::ROWS, began.elapsed().as_secs_f64()))
            }
            Tool::Tpcc => tpcc::new_orders(&measured.text),
            Tool::TpccAll => tpcc::transactions(&measured.text),
            Tool::SysbenchTpcc => tpcc::transactions_of_sysbench(&measured.text),
            Tool::GoTpc => tpcc::new_orders_of_go_tpc(&measured.text, f64::from(job.seconds)),
        };
        let Some(read) = read.filter(|read| read.queries_per_second > 0.0) else {
            let said: Vec<_> = measured.text.lines().rev().take(3).collect();
            return Err(format!("said something else: {}", said.join(" / ")));
        };
        Ok(Figures {
            queries_per_second: read.queries_per_second,
            cpu_us_per_query: read.cpu_us_per_query.unwrap_or(measured.cpu_s * 1e6 / read.queries),
            memory_mb: measured.memory_mb,
            workers: read.workers,
            schedule_ms: read.schedule_ms,
        })
    }

    fn prony(&self, job: &Job) -> Command {
        let Job { site, .. } = job;
        let rows = if self.like_slap { 1 } else { job.rows };
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["load", job.workload, "--json"]).env("PRONY_PASSWORD", &site.password);
        command.args(["--url", &format!("mysql://{}@{}/prony", site.user, site.address)]);
        command.args(["--connections", &self.connections.to_string(), "--rows", &rows.to_string()]);
        command.args(["--warm-up", &format!("{}s", self.warm_up_s)]);
        command.args(["--duration", &format!("{}s", job.seconds)]);
        command.args(["--protocol", if self.like_slap { "text" } else { "prepared" }]);
        if let Some((scheduling, rate)) = self.policy {
            command.args(["--scheduling", scheduling]);
            command.args(rate.iter().flat_map(|rate| ["--rate".to_owned(), rate.to_string()]));
        }
        command.args(["--processes", &self.processes.to_string()]);
        command.args(self.workers.iter().flat_map(|workers| ["--workers".to_owned(), workers.to_string()]));
        command
    }

    fn raw(&self, job: &Job) -> Result<Command, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let workers = self.workers.or(job.workers);
        let mut command = Command::new(own);
        command.args(["raw", &job.site.address.to_string(), &job.site.user]);
        command.args(
            [self.connections as usize, workers.unwrap_or(1), job.seconds as usize].map(|n| n.to_string()),
        );
        command.env("PRONY_PASSWORD", &job.site.password);
        Ok(command)
    }

    fn sysbench(&self, mut command: Command, job: &Job) -> Command {
        let Job { site, workload, seconds, rows, .. } = job;
        command.args([
            *workload,
            &format!("--mysql-host={}", site.address.ip()),
            &format!("--mysql-port={}", site.address.port()),
            &format!("--mysql-user={}", site.user),
            &format!("--mysql-password={}", site.password),
            "--mysql-db=prony",
            &format!("--threads={}", self.connections),
            &format!("--time={seconds}"),
            &format!("--table-size={rows}"),
            "--rand-type=uniform",
            "run",
        ]);
        command
    }

    fn slap(&self, job: &Job) -> Command {
        let site = &job.site;
        let queries = job.queries(self.connections);
        let mut command = Command::new("mysqlslap");
        command.args([
            "--no-defaults",
            "--no-drop",
            "--create-schema=prony",
            "--query=SELECT c FROM sbtest1 WHERE id=1",
            &format!("--host={}", site.address.ip()),
            &format!("--port={}", site.address.port()),
            &format!("--user={}", site.user),
            &format!("--password={}", site.password),
            &format!("--concurrency={}", self.connections),
            &format!("--number-of-queries={queries}"),
        ]);
        command
    }
}

/// Makes go-ycsb's own table.
///
/// # Errors
/// Its own words.
pub(crate) fn load_go_ycsb(job: &Job) -> Result<(), String> {
    const THREADS: u32 = 16;
    let mut command = go_ycsb("load", job, THREADS);
    measured(&mut command, AROUND).map(|_| ())
}

fn go_ycsb(verb: &str, job: &Job, threads: u32) -> Command {
    let site = &job.site;
    // its own table, which it loads row by row
    let rows = job.rows.min(10_000);
    let mut command = Command::new("go-ycsb");
    command.args([verb, "mysql"]);
    let operations = if verb == "run" { job.queries(threads) } else { rows };
    let properties = [
        "workload=core".to_owned(),
        "readproportion=1".to_owned(),
        "updateproportion=0".to_owned(),
        "requestdistribution=uniform".to_owned(),
        "fieldcount=1".to_owned(),
        format!("fieldlength={FIELD_BYTES}"),
        format!("recordcount={rows}"),
        format!("operationcount={operations}"),
        format!("threadcount={threads}"),
        format!("mysql.host={}", site.address.ip()),
        format!("mysql.port={}", site.address.port()),
        format!("mysql.user={}", site.user),
        format!("mysql.password={}", site.password),
        "mysql.db=prony".to_owned(),
    ];
    command.args(properties.iter().flat_map(|property| ["-p", property]));
    command
}

/// What a program says itself.
pub(crate) struct Said {
    queries_per_second: f64,
    queries: f64,
    /// Where the CPU time of the whole life is of no use because a warm-up is in it.
    cpu_us_per_query: Option<f64>,
    workers: Option<usize>,
    schedule_ms: Option<[f64; 4]>,
}

impl Said {
    /// So many in so many seconds.
    pub(crate) fn plain(queries: f64, seconds: f64) -> Self {
        let queries_per_second = queries / seconds;
        Self { queries_per_second, queries, cpu_us_per_query: None, workers: None, schedule_ms: None }
    }
}

fn prony_figures(text: &str, warmed_up: bool) -> Option<Said> {
    let figures: serde_json::Value = serde_json::from_str(text).ok()?;
    let number = |name: &str| figures.get(name)?.as_f64();
    let queries =
        figures["streams"].as_array()?.iter().filter_map(|stream| stream["statements"].as_f64()).sum();
    let schedule_ms = ["p50_ms", "p99_ms"].map(|quantile| {
        let response = &figures["streams"][0]["latency"]["response"][quantile];
        response.as_f64().zip(figures["timing"]["send_delay"][quantile].as_f64())
    });
    Some(Said {
        queries_per_second: queries / number("interval_s")?,
        queries,
        cpu_us_per_query: number("client_cpu_us_per_statement").filter(|_| warmed_up),
        workers: figures["client_threads_busy"].as_array().map(Vec::len),
        schedule_ms: match schedule_ms {
            [Some((response_p50, delay_p50)), Some((response_p99, delay_p99))] => {
                Some([response_p50, response_p99, delay_p50, delay_p99])
            }
            _ => None,
        },
    })
}

fn raw_figures(text: &str) -> Option<Said> {
    let (replies, seconds) = text.trim().split_once(' ')?;
    let (replies, seconds): (f64, f64) = (replies.parse().ok()?, seconds.parse().ok()?);
    Some(Said {
        queries_per_second: replies / seconds,
        queries: replies,
        cpu_us_per_query: None,
        workers: None,
        schedule_ms: None,
    })
}

fn sysbench_figures(text: &str) -> Option<Said> {
    let number = |label: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(label))?;
        line.trim_start().split([' ', 's']).next()?.parse::<f64>().ok()
    };
    let (queries, time_s) = (number("total:")?, number("total time:")?);
    Some(Said {
        queries_per_second: queries / time_s,
        queries,
        cpu_us_per_query: None,
        workers: None,
        schedule_ms: None,
    })
}

fn slap_figures(text: &str) -> Option<Said> {
    let number = |label: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(label))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let queries =
        number("Number of clients running queries:")? * number("Average number of queries per client:")?;
    let time_s = number("Average number of seconds to run all queries:")?;
    Some(Said {
        queries_per_second: queries / time_s,
        queries,
        cpu_us_per_query: None,
        workers: None,
        schedule_ms: None,
    })
}

/// `READ   - Takes(s): 3.0, Count: 150000, OPS: 50000.1, Avg(us): ...`; the last such line is about the whole
/// run.
fn go_ycsb_figures(text: &str) -> Option<Said> {
    let line = text.lines().rfind(|line| line.starts_with("READ "))?;
    let number = |label: &str| line.split_once(label)?.1.trim().split(',').next()?.parse::<f64>().ok();
    let queries = number("Count:")?;
    Some(Said {
        queries_per_second: number("OPS:")?,
        queries,
        cpu_us_per_query: None,
        workers: None,
        schedule_ms: None,
    })
}
