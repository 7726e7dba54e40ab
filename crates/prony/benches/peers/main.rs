//! The load engine against other programs: on the null server, against the limit of the machine (`raw`), and
//! on a real MariaDB. Interleaved rounds, medians, ratios with their spread, and whether they are what Prony
//! promises. `make bench` runs it; `make bench FLAGS="--output BENCHMARKS.md"` renews the committed page.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its result")]

mod entrant;
mod flags;
mod goals;
mod heat;
mod page;
mod process;
mod raw;
mod section;
mod server;
mod table;
mod tpcc;

use entrant::{Entrant, Job, READ_WRITE, Tool};
use flags::{Flags, Hidden, Part};
use heat::Heat;
use page::Page;
use section::{Comparison, Section};
use server::{MariaDb, Null, Site};
use std::process::ExitCode;

const POINT_SELECT: &str = "oltp_point_select";
/// Connections with which very many are compared.
const FEW: u32 = 512;
/// Connections and rates of open loops with which scheduling policies are compared.
const POLICY_CONNECTIONS: u32 = 16;
const POLICY_RATES: [u32; 2] = [500, 5000];
/// Numbers of workers that are compared.
const WORKERS: [usize; 4] = [1, 2, 3, 4];
/// Connections while workers are compared.
const WORKERS_CONNECTIONS: u32 = 64;
/// Numbers of processes that are compared, each with its share of so many threads and connections.
const PROCESSES: [u32; 4] = [1, 2, 4, 8];
const PROCESSES_THREADS: usize = 8;
const PROCESSES_CONNECTIONS: u32 = 64;
/// Rate of the open loop in which they are.
const PROCESSES_RATE: u32 = 5000;
/// Above so many connections opening them takes as long as a warm-up at the null server.
const NULL_WARM_CONNECTIONS: u32 = 4096;
/// sysbench starts a thread for each connection.
const SYSBENCH_CONNECTIONS_MAX: u32 = 4096;
/// Warm-up of Prony at MariaDB, s, so that each connection has prepared its statements as sysbench does
/// before it begins: at least this, and one more for so many connections.
const WARM_UP_S: u32 = 1;
const CONNECTIONS_A_WARM_UP_SECOND: u32 = 1000;

fn main() -> ExitCode {
    let flags = Flags::of_the_command_line();
    let result = match &flags.hidden {
        Some(Hidden::Raw(options)) => raw::run(options)
            .map(|(replies, seconds)| println!("{replies} {seconds}"))
            .map_err(|error| error.to_string()),
        None => measure(&flags),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(flags: &Flags) -> Result<(), String> {
    let mut bench = Bench::new(flags);
    println!("{}", bench.page.head());
    let io = |error: std::io::Error| format!("the null server: {error}");
    if [Part::Null, Part::Many, Part::Workers, Part::Parts].into_iter().any(|part| flags.wants(part)) {
        let null = Null::start().map_err(io)?;
        bench.null_server(&null.site)?;
        bench.scripts(&null.site)?;
        bench.many_connections(&null.site)?;
        bench.workers(&null.site)?;
        bench.parts(&null.site)?;
    }
    if [Part::PointSelect, Part::ReadWrite, Part::Choice, Part::Others, Part::Tpcc, Part::Policy]
        .into_iter()
        .any(|part| flags.wants(part))
    {
        let rungs = flags.connections.iter().chain(&flags.others_connections);
        let most = rungs.chain(&flags.workers_connections).max().copied().unwrap_or(1);
        match MariaDb::start(&flags.mariadb, most, flags.rows) {
            Ok(server) => bench.mariadb(&server)?,
            Err(error) => bench.page.missing.push(format!("MariaDB {}: {error}", flags.mariadb)),
        }
    }
    bench.page.save().map_err(|error| format!("the result cannot be written: {error}"))?;
    println!("{}", bench.page.targets());
    for missing in &bench.page.missing {
        println!("left out: {missing}");
    }
    if flags.smoke && bench.page.sections.iter().any(Section::has_failures) {
        return Err("a program failed, see above".to_owned());
    }
    Ok(())
}

/// Measures part by part.
struct Bench<'a> {
    flags: &'a Flags,
    page: Page,
    has_sysbench: bool,
    /// Open files that a process may have.
    files: u64,
}

impl<'a> Bench<'a> {
    fn new(flags: &'a Flags) -> Self {
        let (mut versions, mut missing) = (Vec::new(), Vec::new());
        for tool in [Tool::Sysbench, Tool::MysqlSlap, Tool::GoYcsb, Tool::GoTpc] {
            match tool.check() {
                Ok(version) => versions.push(version),
                Err(remedy) => missing.push(remedy),
            }
        }
        let how = format!(
            "{} rounds of {} s. To reproduce: `make bench FLAGS=\"--output BENCHMARKS.md\"` on a machine \
             that does nothing else (`--help` lists the flags, `--quick` takes 4 minutes).",
            flags.rounds, flags.seconds
        );
        let mut page = Page::new(how, versions, flags.output.clone(), flags.json.clone());
        page.missing = missing;
        Self { flags, page, has_sysbench: Tool::Sysbench.check().is_ok(), files: raise_open_files() }
    }

    fn job(&self, site: &Site, workload: &'static str) -> Job {
        let Flags { seconds, rows, .. } = *self.flags;
        let (site, expected_per_second) = (site.clone(), 1000.0);
        let sysbench_tpcc = Default::default();
        Job { site, workload, seconds, rows, workers: None, sysbench_tpcc, expected_per_second }
    }

    /// Runs the heats of a section, saves after each, prints all in the end.
    fn section(&mut self, section: Section, heats: &[(u32, Vec<Entrant>)], job: &Job) -> Result<(), String> {
        eprintln!("{}:", section.title);
        let at = self.page.sections.len();
        self.page.sections.push(section);
        for (connections, entrants) in heats {
            eprint!("  {connections} connections");
            let heat = Heat::run(*connections, entrants, job, self.flags.rounds);
            for (index, results) in heat.results.iter().enumerate() {
                match heat.spread(index, |figures| figures.queries_per_second) {
                    Some(spread) => eprint!(", {} {:.0}", results.label, spread.median),
                    None => eprint!(", {} failed", results.label),
                }
            }
            eprintln!(" queries/s");
            self.page.sections[at].heats.push(heat);
            self.page.save().map_err(|error| format!("the result cannot be written: {error}"))?;
        }
        println!("{}", self.page.sections[at].markdown());
        Ok(())
    }

    fn null_server(&mut self, site: &Site) -> Result<(), String> {
        if !self.flags.wants(Part::Null) {
            return Ok(());
        }
        let has_sysbench = self.has_sysbench;
        let heats = self.heats(&self.flags.null_connections, |connections| {
            // Prony is the first of the first round, and says how many threads the raw client gets
            let warm_up_s = if connections > NULL_WARM_CONNECTIONS { 2 } else { WARM_UP_S };
            let mut entrants = vec![
                Entrant { warm_up_s, ..Entrant::new(Tool::Prony, connections) },
                Entrant::new(Tool::Raw, connections),
            ];
            if has_sysbench && connections <= SYSBENCH_CONNECTIONS_MAX {
                entrants.push(Entrant::new(Tool::Sysbench, connections));
            }
            entrants
        });
        let mut comparisons = vec![Comparison { ours: 0, theirs: 1, goals: goals::raw }];
        if has_sysbench {
            comparisons.push(Comparison { ours: 0, theirs: 2, goals: goals::null_server });
        }
        let section = Section {
            title: "Null server, point select, prepared".to_owned(),
            remarks: vec![
                "A server in another process that answers at once: what is measured is the client. `raw` is \
                 the measure: the same sockets, scheduling and number of threads (as Prony chose it) as \
                 Prony's engine, but always the same request, and of the reply only bytes are counted. \
                 Prony gets a warm-up, and its CPU time is that of the measurement interval. sysbench, a \
                 thread for each connection, takes part up to 4,096."
                    .to_owned(),
            ],
            heats: Vec::new(),
            comparisons,
        };
        let job = self.job(site, POINT_SELECT);
        self.section(section, &heats, &job)
    }

    /// Lua scripts on the event loop, against sysbench with the same ones.
    fn scripts(&mut self, site: &Site) -> Result<(), String> {
        if !self.flags.wants(Part::Null) || !self.has_sysbench {
            return Ok(());
        }
        let both: Vec<u32> =
            self.flags.null_connections.iter().copied().filter(|&n| n <= SYSBENCH_CONNECTIONS_MAX).collect();
        let heats = self.heats(&both, |connections| {
            vec![Entrant::new(Tool::Script, connections), Entrant::new(Tool::Sysbench, connections)]
        });
        let section = Section {
            title: "Null server, Lua script, point select, prepared".to_owned(),
            remarks: vec![
                "`prony sysbench` and sysbench run the same test as a Lua script, with a Lua state for each \
                 connection. sysbench has a thread for each, Prony a few for all."
                    .to_owned(),
            ],
            heats: Vec::new(),
            comparisons: vec![Comparison { ours: 0, theirs: 1, goals: goals::scripts }],
        };
        let job = self.job(site, POINT_SELECT);
        self.section(section, &heats, &job)
    }

    fn many_connections(&mut self, site: &Site) -> Result<(), String> {
        const WARM_UP_S: u32 = 2;
        if !self.flags.wants(Part::Many) {
            return Ok(());
        }
        let entrant = |connections: u32| Entrant {
            label: format!("{connections} connections"),
            warm_up_s: WARM_UP_S,
            ..Entrant::new(Tool::Prony, connections)
        };
        let heats = self
            .heats(&[self.flags.many_connections], |connections| vec![entrant(connections), entrant(FEW)]);
        let section = Section {
            title: "Null server, very many connections of Prony".to_owned(),
            remarks: vec!["CPU time is that of the measurement interval.".to_owned()],
            heats: Vec::new(),
            comparisons: vec![Comparison { ours: 0, theirs: 1, goals: goals::scale }],
        };
        let job = self.job(site, POINT_SELECT);
        self.section(section, &heats, &job)
    }

    fn workers(&mut self, site: &Site) -> Result<(), String> {
        if !self.flags.wants(Part::Workers) {
            return Ok(());
        }
        let heats = self.heats(&[WORKERS_CONNECTIONS], |connections| {
            let entrant = |workers: usize| Entrant {
                label: if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") },
                workers: Some(workers),
                ..Entrant::new(Tool::Prony, connections)
            };
            WORKERS.map(entrant).into()
        });
        let section = Section {
            title: "Null server, cost of a query by number of Prony's workers".to_owned(),
            remarks: vec![
                "64 connections. Workers share nothing, so the CPU time of a query should stay the same. \
                 Throughput can only grow where there are processors for more workers and for the server."
                    .to_owned(),
            ],
            heats: Vec::new(),
            comparisons: Vec::new(),
        };
        let job = self.job(site, POINT_SELECT);
        self.section(section, &heats, &job)
    }

    /// What sharing a load between processes costs, and whether it changes what is measured.
    fn parts(&mut self, site: &Site) -> Result<(), String> {
        if !self.flags.wants(Part::Parts) {
            return Ok(());
        }
        let kinds = [
            ("closed loop".to_owned(), None),
            (format!("open loop at {PROCESSES_RATE}/s (Poisson)"), Some(PROCESSES_RATE)),
        ];
        for (kind, rate) in kinds {
            let heats = self.heats(&[PROCESSES_CONNECTIONS], |connections| {
                let entrant = |processes: u32| Entrant {
                    label: if processes == 1 {
                        "1 process".to_owned()
                    } else {
                        format!("{processes} processes")
                    },
                    processes,
                    workers: Some(PROCESSES_THREADS / processes as usize),
                    policy: rate.map(|rate| ("normal", Some(rate))),
                    ..warmed(connections)
                };
                PROCESSES.map(entrant).into()
            });
            let several = [1, 2, 3].map(|ours| Comparison { ours, theirs: 0, goals: goals::split });
            let section = Section {
                title: format!(
                    "Null server, one process of Prony against several that share the load: {kind}"
                ),
                remarks: vec![format!(
                    "{PROCESSES_CONNECTIONS} connections and {PROCESSES_THREADS} threads in all. Seconds of \
                     the processes are merged by Prony itself; what that takes is not in the CPU time of a \
                     query, and takes part in the throughput where processors are full."
                )],
                heats: Vec::new(),
                // of an open loop times are what counts, and the rate is what was asked for
                comparisons: if rate.is_none() { several.into() } else { Vec::new() },
            };
            let job = self.job(site, POINT_SELECT);
            self.section(section, &heats, &job)?;
        }
        Ok(())
    }

    fn mariadb(&mut self, server: &MariaDb) -> Result<(), String> {
        self.page.note("server", format!("{}, {}, defaults otherwise", server.name, server.settings));
        for (part, workload) in [(Part::PointSelect, POINT_SELECT), (Part::ReadWrite, READ_WRITE)] {
            if self.flags.wants(part) && self.has_sysbench {
                self.against_sysbench(server, workload)?;
            }
        }
        if self.flags.wants(Part::Choice) {
            self.choice(server)?;
        }
        if self.flags.wants(Part::Others) {
            self.against_mysqlslap(server)?;
            self.against_go_ycsb(server)?;
        }
        if self.flags.wants(Part::Tpcc) {
            self.tpcc(server)?;
        }
        if self.flags.wants(Part::Policy) {
            self.policies(server)?;
        }
        Ok(())
    }

    /// How many workers Prony chooses, against each fixed number.
    fn choice(&mut self, server: &MariaDb) -> Result<(), String> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut fixed = vec![1, 2, 4, processors];
        fixed.retain(|&workers| workers <= processors.max(2));
        fixed.sort_unstable();
        fixed.dedup();
        for connections in self.flags.workers_connections.clone() {
            let entrant = |workers: Option<usize>| Entrant {
                label: match workers {
                    None => "as chosen".to_owned(),
                    Some(1) => "1 worker".to_owned(),
                    Some(count) => format!("{count} workers"),
                },
                workers,
                ..warmed(connections)
            };
            let entrants = [None].into_iter().chain(fixed.iter().copied().map(Some)).map(entrant).collect();
            let section = Section {
                title: format!("{}, point select, workers of Prony: {connections} connections", server.name),
                remarks: vec![
                    "Client and server share the machine's processors. A worker more only where one is \
                     busy for more than 60 % of the time, seen in a second of load before the warm-up."
                        .to_owned(),
                ],
                heats: Vec::new(),
                comparisons: Vec::new(),
            };
            let job = self.job(&server.site, POINT_SELECT);
            self.section(section, &[(connections, entrants)], &job)?;
        }
        Ok(())
    }

    /// What SCHED_BATCH does to a closed loop, and to an open one that has times to keep.
    fn policies(&mut self, server: &MariaDb) -> Result<(), String> {
        let kinds = [("closed loop".to_owned(), None)]
            .into_iter()
            .chain(POLICY_RATES.map(|rate| (format!("open loop at {rate}/s (Poisson)"), Some(rate))));
        for (kind, rate) in kinds {
            let entrant = |scheduling: &'static str, label: &str| Entrant {
                label: label.to_owned(),
                policy: Some((scheduling, rate)),
                ..warmed(POLICY_CONNECTIONS)
            };
            let section = Section {
                title: format!("{}, point select, scheduling of Prony's workers: {kind}", server.name),
                remarks: vec![format!(
                    "{POLICY_CONNECTIONS} connections. By default workers run under SCHED_BATCH in closed \
                     loops of more than four connections for each processor, else under SCHED_OTHER."
                )],
                heats: Vec::new(),
                comparisons: Vec::new(),
            };
            let entrants = vec![entrant("batch", "SCHED_BATCH"), entrant("normal", "SCHED_OTHER")];
            let job = self.job(&server.site, POINT_SELECT);
            self.section(section, &[(POLICY_CONNECTIONS, entrants)], &job)?;
        }
        Ok(())
    }

    fn against_sysbench(&mut self, server: &MariaDb, workload: &'static str) -> Result<(), String> {
        let heats = self.heats(&self.flags.connections, |connections| {
            vec![warmed(connections), Entrant::new(Tool::Sysbench, connections)]
        });
        let section = Section {
            title: format!("{}, {workload}, prepared", server.name),
            remarks: vec![format!(
                "One table of {} rows, uniform. sysbench has prepared its statements before it begins to \
                 measure, so Prony gets a warm-up; its CPU time is that of the measurement interval.",
                whole_rows(self.flags.rows)
            )],
            heats: Vec::new(),
            comparisons: vec![Comparison { ours: 0, theirs: 1, goals: goals::real_server }],
        };
        let job = self.job(&server.site, workload);
        self.section(section, &heats, &job)
    }

    fn against_mysqlslap(&mut self, server: &MariaDb) -> Result<(), String> {
        if Tool::MysqlSlap.check().is_err() {
            return Ok(());
        }
        let heats = self.heats(&self.flags.others_connections, |connections| {
            let ours = Entrant { label: "Prony (text)".to_owned(), like_slap: true, ..warmed(connections) };
            vec![ours, Entrant::new(Tool::MysqlSlap, connections)]
        });
        let section = Section {
            title: format!("{}, mysqlslap", server.name),
            remarks: vec![
                "mysqlslap cannot prepare and cannot draw: here both send the same text for always the same \
                 row. Not comparable: mysqlslap runs a number of queries in place of a time, the time to \
                 connect counts, and it measures no latency of single queries."
                    .to_owned(),
            ],
            heats: Vec::new(),
            comparisons: vec![Comparison { ours: 0, theirs: 1, goals: goals::none }],
        };
        let job = self.job(&server.site, POINT_SELECT);
        self.section(section, &heats, &job)
    }

    fn against_go_ycsb(&mut self, server: &MariaDb) -> Result<(), String> {
        let job = self.job(&server.site, POINT_SELECT);
        if Tool::GoYcsb.check().is_err() {
            return Ok(());
        }
        if let Err(words) = entrant::load_go_ycsb(&job) {
            self.page.missing.push(format!("go-ycsb, which could not make its table: {words}"));
            return Ok(());
        }
        let heats = self.heats(&self.flags.others_connections, |connections| {
            vec![warmed(connections), Entrant::new(Tool::GoYcsb, connections)]
        });
        let section = Section {
            title: format!("{}, go-ycsb", server.name),
            remarks: vec![
                "YCSB's workload C (only reads, uniform) with one field as long as sysbench's column: \
                 prepared point selects like sysbench's. Not comparable: go-ycsb's own table has a text of \
                 about 24 characters as its key in place of an integer."
                    .to_owned(),
            ],
            heats: Vec::new(),
            comparisons: vec![Comparison { ours: 0, theirs: 1, goals: goals::none }],
        };
        self.section(section, &heats, &job)
    }

    /// How fast tables like those of TPC-C are loaded, and what the transactions reach on them.
    fn tpcc(&mut self, server: &MariaDb) -> Result<(), String> {
        let scripts =
            self.flags.sysbench_tpcc.clone().filter(|directory| directory.join("tpcc.lua").is_file());
        match scripts {
            Some(_) => server.create_database(tpcc::SYSBENCH_TPCC)?,
            None => self.page.missing.push(
                "sysbench-tpcc is not there (--sysbench-tpcc DIR: a checkout of \
                 github.com/Percona-Lab/sysbench-tpcc)"
                    .to_owned(),
            ),
        }
        let is_there = |tool: &Tool| {
            let needs_scripts = matches!(tool, Tool::SysbenchTpcc | Tool::SysbenchTpccLoad);
            tool.check().is_ok() && (scripts.is_some() || !needs_scripts)
        };
        let job = self.job(&server.site, tpcc::WORKLOAD);
        let job = Job { sysbench_tpcc: scripts.clone().unwrap_or_default(), ..job };
        for part in tpcc::PARTS {
            let there = part.tools.iter().copied().filter(is_there);
            let entrants: Vec<Entrant> = there.map(|tool| Entrant::new(tool, tpcc::CONNECTIONS)).collect();
            // Prony's own tables are loaded in any case
            if entrants.len() < 2 && part.what != tpcc::PARTS[0].what {
                continue;
            }
            let with = |theirs| Comparison { ours: 0, theirs, goals: part.goals };
            let section = Section {
                title: format!("{}, TPC-C-like, {}", server.name, part.what),
                remarks: vec![part.remark.to_owned()],
                heats: Vec::new(),
                comparisons: (1..entrants.len()).map(with).collect(),
            };
            self.section(section, &[(tpcc::CONNECTIONS, entrants)], &job)?;
        }
        Ok(())
    }

    /// A heat for each number of connections for which there are open files enough.
    fn heats(&mut self, rungs: &[u32], entrants: impl Fn(u32) -> Vec<Entrant>) -> Vec<(u32, Vec<Entrant>)> {
        /// Files that a process has open besides its connections.
        const OTHER_FILES: u64 = 100;
        let mut heats = Vec::new();
        for &connections in rungs {
            let needed = u64::from(connections) + OTHER_FILES;
            if needed <= self.files {
                heats.push((connections, entrants(connections)));
            } else {
                self.page.missing.push(format!(
                    "{connections} connections: only {} files may be open (`ulimit -Hn {needed}` as root)",
                    self.files
                ));
            }
        }
        heats
    }
}

/// Prony at MariaDB.
fn warmed(connections: u32) -> Entrant {
    let warm_up_s = WARM_UP_S + connections / CONNECTIONS_A_WARM_UP_SECOND;
    Entrant { warm_up_s, ..Entrant::new(Tool::Prony, connections) }
}

fn whole_rows(rows: u64) -> String {
    table::whole(rows as f64)
}

/// Raises the limit of open files, which all programs inherit, as far as the system lets; returns it.
fn raise_open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // where it is refused, the old limit holds
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
