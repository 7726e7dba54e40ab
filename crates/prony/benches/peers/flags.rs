//! What can be asked of the bench.

use crate::raw::RawOptions;
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Compares Prony's load engine with other programs on the same servers, as ratios
#[derive(Debug, Parser)]
pub(crate) struct Flags {
    /// Rounds; in each, all programs run once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Length of one run, s
    #[arg(long, value_name = "S", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seconds: u32,
    /// Parts of it [default: all]
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub(crate) only: Vec<Part>,
    /// Connections at the null server
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,8,64,512,2048,10000")]
    pub(crate) null_connections: Vec<u32>,
    /// Connections at the null server whose memory and throughput are compared with those of 512
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) many_connections: u32,
    /// Connections at MariaDB
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,4,16,64,256,1024,4096")]
    pub(crate) connections: Vec<u32>,
    /// Connections at MariaDB with which numbers of workers are compared
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "64,256")]
    pub(crate) workers_connections: Vec<u32>,
    /// Connections at MariaDB of mysqlslap and go-ycsb
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,64,1024")]
    pub(crate) others_connections: Vec<u32>,
    /// Rows of the table at MariaDB; with few rows, thousands of connections that write wait for each
    /// other's row locks
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    pub(crate) rows: u64,
    /// Version of MariaDB
    #[arg(long, value_name = "VERSION", default_value = "10.11")]
    pub(crate) mariadb: String,
    /// A checkout of github.com/Percona-Lab/sysbench-tpcc, relative to the top of the repository: it takes
    /// part then, in tables of its own
    #[arg(long, value_name = "DIR")]
    pub(crate) sysbench_tpcc: Option<PathBuf>,
    /// About 4 minutes: 3 rounds of 1 s, fewer rungs
    #[arg(long)]
    pub(crate) quick: bool,
    /// The smallest possible run, seconds: whether everything works, not how fast
    #[arg(long)]
    pub(crate) smoke: bool,
    /// Write the page to this file, relative to the top of the repository
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write all figures as JSON to this file, relative to the top of the repository
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    pub(crate) hidden: Option<Hidden>,
}

/// Other processes of the bench.
#[derive(Debug, Subcommand)]
pub(crate) enum Hidden {
    #[command(hide = true)]
    Raw(RawOptions),
}

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// sysbench and the raw client on the null server
    Null,
    /// Very many connections on the null server
    Many,
    /// Cost of a query by number of workers, on the null server
    Workers,
    /// One process against 2 and 4 that share the load, on the null server
    Parts,
    /// The number of workers that Prony chooses against each fixed one, on MariaDB
    Choice,
    /// sysbench's point select on MariaDB
    PointSelect,
    /// sysbench's read-write mix on MariaDB
    ReadWrite,
    /// mysqlslap and go-ycsb on MariaDB
    Others,
    /// Tables and transactions like TPC-C's on MariaDB: go-tpc, sysbench, sysbench-tpcc
    Tpcc,
    /// Scheduling policies of Prony's workers on MariaDB
    Policy,
}

impl Flags {
    /// As typed, with what `--quick` and `--smoke` mean.
    pub(crate) fn of_the_command_line() -> Self {
        let mut flags = Self::parse();
        let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for path in [&mut flags.output, &mut flags.json, &mut flags.sysbench_tpcc].into_iter().flatten() {
            *path = top.join(&*path);
        }
        if flags.quick {
            (flags.rounds, flags.seconds) = (3, 1);
            flags.null_connections = vec![1, 64, 2048];
            flags.connections = vec![1, 16, 64, 1024];
            flags.workers_connections = vec![64];
            flags.others_connections = vec![16];
        }
        if flags.smoke {
            (flags.rounds, flags.seconds) = (1, 1);
            flags.null_connections = vec![8];
            flags.workers_connections = vec![8];
            flags.many_connections = 600;
            (flags.connections, flags.others_connections) = (vec![4], vec![4]);
            flags.rows = 1_000;
        }
        flags
    }

    pub(crate) fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}
