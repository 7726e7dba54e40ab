//! Every key of a study, written once: name, what it takes, default, meaning. Checking, the nearest right
//! name, the JSON schema and the commented reference study are all made from these tables.

use super::forms::Form;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Any text that is not empty.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number between these, both included.
    Count(u64, u64),
    /// A number between these, both included.
    Number(f64, f64),
    /// A length of time between these microseconds, both included: `"3s"`, `"500ms"`, `"2min"`.
    Duration(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text or number of a form of its own.
    Form(Form),
    /// A table that has keys of its own or takes any; or a list of tables.
    Section,
}

/// One key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Key {
    /// As it is written.
    pub(super) name: &'static str,
    /// What it takes.
    pub(super) kind: Kind,
    /// What holds without it, as TOML; `None`: there is no default.
    pub(super) default: Option<&'static str>,
    /// What it is for, one sentence.
    pub(super) about: &'static str,
    /// A value to show where there is no default, as TOML.
    pub(super) example: &'static str,
}

const fn key(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    example: &'static str,
    about: &'static str,
) -> Key {
    Key { name, kind, default, about, example }
}

/// Longest time that a study may ask for: a day, in us.
const DAY_US: u64 = 24 * 3600 * 1_000_000;
/// Highest number of connections of a stream; more than a machine has ports for one address.
const CONNECTIONS_MAX: u64 = 100_000;
/// Most servers that work together on one machine: with more, the machine is what is measured.
const SERVERS_MAX: u64 = 9;
/// Longest round trip of a network: there and back with [`load::relay::ONE_WAY_MAX`], in us.
const LATENCY_MAX_US: u64 = 2 * load::relay::ONE_WAY_MAX.as_secs() * 1_000_000;
/// Operations of a disk in a second that no disk does.
const OPERATIONS_MAX: u64 = 1_000_000_000;
/// Highest number of rows: ids are INTEGER.
const ROWS_MAX: u64 = i32::MAX as u64;

/// The top of the file.
pub(super) const ROOT: &[Key] = &[
    key(
        "title",
        Kind::Text,
        None,
        r#""Thread pool under many connections""#,
        "What is evaluated, as a headline.",
    ),
    key(
        "seed",
        Kind::Count(0, i64::MAX as u64),
        Some("1"),
        "",
        "The same seed gives the same order, data and load; what is not put back between trials gets values \
         that no run has written before.",
    ),
    key(
        "fairness",
        Kind::Word(&["report", "strict", "off"]),
        Some(r#""report""#),
        "",
        "Differences between servers that the study does not make itself: told, refused, or not looked for.",
    ),
    key(
        "network",
        Kind::Word(&["auto", "netem", "relay"]),
        Some(r#""auto""#),
        "",
        "What makes a `latency`: netem in network namespaces (root and a kernel that has it), a relay, or \
         the first that is possible.",
    ),
    key("server", Kind::Section, None, "", "The servers, each `[server.NAME]`."),
    key(
        "settings",
        Kind::Section,
        None,
        "",
        "Settings for all servers: words that each gets in its own terms (`prony list settings`), and \
         options of the server's own.",
    ),
    key(
        "topology",
        Kind::Section,
        None,
        "",
        "Which servers work together as one, for all servers that Prony starts.",
    ),
    key("limits", Kind::Section, None, "", "What each server that Prony starts may use of the machine."),
    key("data", Kind::Section, None, "", "The data set."),
    key(
        "stream",
        Kind::Section,
        None,
        "",
        "Groups of connections that run at the same time, each `[[stream]]`.",
    ),
    key("workload", Kind::Section, None, "", "Workloads written in this file, each `[workload.NAME]`."),
    key("vary", Kind::Section, None, "", "What varies: a key of this file, and the list of its levels."),
    key(
        "factor",
        Kind::Section,
        None,
        "",
        "Factors whose levels set several keys together, each `[factor.NAME]`; all levels take part unless \
         [vary] names some.",
    ),
    key(
        "nested",
        Kind::Section,
        None,
        "",
        "What varies only under certain levels of others, each `[[nested]]`.",
    ),
    key("exclude", Kind::Section, None, "", "Combinations that are left out, each `[[exclude]]`."),
    key(
        "claim",
        Kind::Section,
        None,
        "",
        "What is expected to come out, each `[[claim]]`: the report says whether the run supports it, and \
         `prony run --check` makes the exit code follow.",
    ),
    key("client", Kind::Section, None, "", "How connections are made, for all streams."),
    key("measure", Kind::Section, None, "", "How long and how often."),
    key("telemetry", Kind::Section, None, "", "What is sampled beside the load."),
    key(
        "scale",
        Kind::Section,
        None,
        "",
        "Named sets of overrides, each `[scale.NAME]`, for `--scale NAME`.",
    ),
];

/// Sections that hold for the whole study: any key of them can be varied, set, or be part of a level.
pub(super) const SECTIONS: &[(&str, &[Key])] =
    &[("topology", TOPOLOGY), ("data", DATA), ("client", CLIENT), ("limits", LIMITS)];

/// Sections whose keys, where they vary, make different servers of one.
pub(super) const SERVER_SECTIONS: &[&str] = &["server", "settings", "topology", "limits"];

/// `[[claim]]`
pub(super) const CLAIM: &[Key] = &[
    key(
        "says",
        Kind::Text,
        None,
        r#""The pool doubles throughput at most connections.""#,
        "The claim in words, for the report.",
    ),
    key("conclusion", Kind::Text, None, r#""T2""#, "The published conclusion that it tests, by number."),
    key(
        "metric",
        Kind::Text,
        Some(r#""throughput""#),
        "",
        "What it is about: \"throughput\", \"statements\" (both per second), \"mean\", \"p95\", \"p99.9\" \
         (response time), \"active\" (what a limit takes), \"errors\" (share); \"rate\" (the highest that \
         was found); \"lag\" and \"lag_p99\" (of replicas); what a transaction of all streams costs: \
         \"cpu\" (time of the servers' processors) and \"client_cpu\", \"switches\", \"reads\", \"written\" \
         (to disks), \"log_syncs\".",
    ),
    key(
        "of",
        Kind::Section,
        None,
        r#"{ server = "a", connections = "highest" }"#,
        "Levels of the combinations that it is about, as in [[exclude]]; of several it must hold for each. \
         Of several streams it is about the first, unless `stream` names one.",
    ),
    key(
        "over",
        Kind::Section,
        None,
        r#"{ server = "b" }"#,
        "What each is held against: the combination that differs from it in these levels alone.",
    ),
    key("ratio", Kind::Form(Form::Bound), None, r#"">= 2""#, "The one divided by the other."),
    key("within", Kind::Form(Form::Share), None, r#""3%""#, "The two differ by no more than this."),
    key("value", Kind::Text, None, r#""< 20 ms""#, "The metric itself: \">= 1000\", \"< 20 ms\"."),
    key("order", Kind::Section, None, r#"["a", "b"]"#, "A ranking: levels of a factor, the best first."),
    key("by", Kind::Text, Some(r#""server""#), "", "The factor whose levels are ranked."),
    key(
        "slope",
        Kind::Form(Form::Bound),
        None,
        r#"">= 0.9""#,
        "Growth of the metric along a factor, on logarithms of both: 1 is in proportion to it, 0 is none.",
    ),
    key("along", Kind::Text, Some(r#""connections""#), "", "The factor that it grows along."),
];

/// `[[nested]]`
pub(super) const NESTED: &[Key] = &[
    key("under", Kind::Section, None, r#"{ server = "a" }"#, "Levels under which it exists."),
    key(
        "vary",
        Kind::Section,
        None,
        r#"{ "settings.thread_pool_size" = [2, 4] }"#,
        "What varies there, as in [vary].",
    ),
];

/// `[server.NAME]`
pub(super) const SERVER: &[Key] = &[
    key(
        "product",
        Kind::Word(&["mariadb", "mysql"]),
        None,
        r#""mariadb""#,
        "A product by name: the installed one, or fetched.",
    ),
    key(
        "version",
        Kind::Text,
        None,
        r#""10.11""#,
        "Its version, or the beginning of it; without it, the installed or preferred one.",
    ),
    key(
        "path",
        Kind::Text,
        None,
        r#""/opt/mariadb-11.4""#,
        "A directory with an unpacked server, in place of a product.",
    ),
    key(
        "image",
        Kind::Text,
        None,
        r#""docker.io/library/mariadb:11.8""#,
        "An image with a server, which podman or docker runs, in place of a product.",
    ),
    key(
        "url",
        Kind::Text,
        None,
        r#""mysql://user@127.0.0.1:3306/test""#,
        "A server that is running already; it is never started or stopped.",
    ),
    key(
        "apply_settings",
        Kind::Flag,
        Some("false"),
        "",
        "Set the settings on a server that is running already, and put back what was there afterwards.",
    ),
    key("write_to_my_tables", Kind::Flag, Some("false"), "", "Let workloads change your own tables there."),
    key(
        "node_exporter",
        Kind::Text,
        None,
        r#""http://db1:9100/metrics""#,
        "A Prometheus node_exporter on the machine of a server that runs elsewhere.",
    ),
    key(
        "settings",
        Kind::Section,
        None,
        r#"{ thread_handling = "pool-of-threads" }"#,
        "Settings of this server alone; they win over `[settings]`.",
    ),
    key(
        "topology",
        Kind::Section,
        None,
        r#"{ replicas = 1, replication = "after-sync" }"#,
        "Topology of this server alone; it wins over `[topology]`.",
    ),
    key(
        "limits",
        Kind::Section,
        None,
        "",
        "Limits of this server alone; each wins over the one in `[limits]`.",
    ),
    key(
        "latency",
        Kind::Duration(0, LATENCY_MAX_US),
        None,
        r#""0.8ms""#,
        "Round trip of a network between the client and this server alone; it wins over the one in \
         `[client]`.",
    ),
];

/// `[topology]`
pub(super) const TOPOLOGY: &[Key] = &[
    key(
        "replicas",
        Kind::Count(0, SERVERS_MAX),
        Some("0"),
        "",
        "Replicas of the server, which is then their primary: each with a data directory and settings like \
         it.",
    ),
    key(
        "replication",
        Kind::Word(&["async", "semi-sync", "after-sync", "after-commit"]),
        Some(r#""async""#),
        "",
        "What a commit waits for: nothing, or until replicas have received it: \"after-sync\", before it is \
         in the engine and others see it; \"after-commit\", later; \"semi-sync\", where the server does by \
         default.",
    ),
    key(
        "acknowledgements",
        Kind::Count(1, SERVERS_MAX),
        Some("1"),
        "",
        "Replicas that must have received a commit.",
    ),
    key(
        "timeout",
        Kind::Duration(1_000, DAY_US),
        Some(r#""10s""#),
        "",
        "After this a commit goes on without them, and replication is asynchronous until they have caught \
         up.",
    ),
    key(
        "latency",
        Kind::Duration(0, LATENCY_MAX_US),
        None,
        r#""0.8ms""#,
        "Round trip of a network between the primary and each replica.",
    ),
    key(
        "galera",
        Kind::Count(2, SERVERS_MAX),
        None,
        "2",
        "Nodes of a Galera cluster of MariaDB, in place of `replicas`.",
    ),
];

/// `[limits]`, and the limits of a server alone.
pub(super) const LIMITS: &[Key] = &[
    key(
        "memory",
        Kind::Form(Form::Memory),
        None,
        r#""4G""#,
        "Memory that the server may use, page cache of its files included, without swap space.",
    ),
    key(
        "cpus",
        Kind::Number(0.01, 1024.0),
        None,
        "2",
        "CPU time that it may use, in processors: 1.5 s in a second are 1.5.",
    ),
    key(
        "pin",
        Kind::Form(Form::Processors),
        None,
        r#""0-3""#,
        "The processors that it may run on, by number: \"0-3,6\".",
    ),
    key(
        "io_read",
        Kind::Form(Form::Bandwidth),
        None,
        r#""100MB/s""#,
        "How fast it may read from the disk of its data directory.",
    ),
    key("io_write", Kind::Form(Form::Bandwidth), None, r#""100MB/s""#, "How fast it may write there."),
    key("io_read_ops", Kind::Count(1, OPERATIONS_MAX), None, "3000", "Reads in a second."),
    key("io_write_ops", Kind::Count(1, OPERATIONS_MAX), None, "3000", "Writes in a second."),
];

/// `[data]`
pub(super) const DATA: &[Key] = &[
    key(
        "generator",
        Kind::Word(&["sysbench", "bulk_insert"]),
        None,
        r#""sysbench""#,
        "Layout and contents of the tables; without it, what the first stream's workload needs.",
    ),
    key("tables", Kind::Count(1, 10_000), Some("1"), "", "Number of tables."),
    key("rows", Kind::Count(1, ROWS_MAX), Some("10_000"), "", "Rows in each table."),
    key("engine", Kind::Text, Some(r#""InnoDB""#), "", "Storage engine of the tables."),
    key("secondary", Kind::Flag, Some("false"), "", "Make `id` a plain index in place of the primary key."),
    key("create_secondary", Kind::Flag, Some("true"), "", "Make the index on column `k`."),
    key("auto_inc", Kind::Flag, Some("true"), "", "Let `id` count by itself."),
];

/// `[[stream]]`; beside these it takes the options of its workload.
pub(super) const STREAM: &[Key] = &[
    key("name", Kind::Text, Some(r#""main""#), "", "Its name in results; needed where there are several."),
    key(
        "workload",
        Kind::Text,
        None,
        r#""oltp_read_only""#,
        "A built-in workload, or one of `[workload.NAME]`.",
    ),
    key(
        "connections",
        Kind::Count(0, CONNECTIONS_MAX),
        None,
        "64",
        "Number of connections that work; 0 leaves the stream out.",
    ),
    key(
        "idle",
        Kind::Count(0, CONNECTIONS_MAX),
        Some("0"),
        "",
        "Connections that are open beside them and do nothing.",
    ),
    key(
        "to",
        Kind::Word(&["primary", "replicas", "all", "local"]),
        Some(r#""primary""#),
        "",
        "Where its connections go: to the primary, to the replicas (or further nodes) in turn, to all in \
         turn; or \"local\": to the primary by its Unix socket, as a client on the server's own machine, \
         past any network that a `latency` makes.",
    ),
    key(
        "arrival",
        Kind::Form(Form::Arrival),
        Some(r#""closed""#),
        "",
        "When a transaction starts: \"closed\", as soon as the connection's last one has ended; or one of \
         the next three keys with its value, as \"rate 1000\", so that a study can vary it.",
    ),
    key(
        "think",
        Kind::Form(Form::Think),
        None,
        r#""10ms""#,
        "A pause after each transaction: always \"10ms\", or \"exp:10ms\", exponentially distributed with \
         this mean.",
    ),
    key(
        "pace",
        Kind::Duration(1, DAY_US),
        None,
        r#""10ms""#,
        "Each connection starts one transaction every so often, at times fixed beforehand.",
    ),
    key(
        "rate",
        Kind::Form(Form::Rate),
        None,
        "1000",
        "Starts in a second, all connections together, at times fixed beforehand: 1000; in steps \
         \"1000:10s, 2000:10s, 500\"; \"100..5000 over 60s\"; \"1000 +- 500 every 60s\", a sine; \"100 \
         burst 5000 for 2s every 10s\"; or \"find\": each trial searches the highest at which the \
         `objective` is kept, and is then measured at it.",
    ),
    key(
        "objective",
        Kind::Form(Form::Objective),
        None,
        r#""p99 < 20ms, errors < 0.1%""#,
        "What a rate that is to be found must keep: percentiles, \"mean\" or \"max\" of the response time, \
         \"service p99\" and its like, \"errors\" (share); several with commas.",
    ),
    key(
        "gaps",
        Kind::Word(&["poisson", "constant"]),
        None,
        r#""poisson""#,
        "How the starts of a `rate` lie in time: as independent customers come, which is the default, or \
         evenly.",
    ),
    key(
        "lateness_max",
        Kind::Duration(1, DAY_US),
        None,
        r#""1s""#,
        "A start of a `rate` or `pace` that is later than this is skipped; without it, none is.",
    ),
    key(
        "reconnect",
        Kind::Form(Form::Reconnect),
        Some(r#""never""#),
        "",
        "When a new connection takes the place of the old one: \"never\", \"transaction\", \"statement\", \
         or a number of transactions.",
    ),
    key(
        "protocol",
        Kind::Word(&["prepared", "text"]),
        Some(r#""prepared""#),
        "",
        "Prepared statements, or plain text.",
    ),
    key(
        "begin",
        Kind::Form(Form::Begin),
        Some(r#""together""#),
        "",
        "When it begins: \"together\" with the others, \"after 5s\" of the measurement, or \"after NAME\", \
         when the stream of that name has reached its limit.",
    ),
    key(
        "limit",
        Kind::Form(Form::Limit),
        None,
        r#""100000 transactions""#,
        "What ends it before the interval is over: a number of transactions, or of rows. A trial ends when \
         all limits are reached.",
    ),
];

/// `[client]`
pub(super) const CLIENT: &[Key] = &[
    key(
        "transport",
        Kind::Word(&["tcp", "socket"]),
        None,
        r#""tcp""#,
        "How servers that Prony starts are reached: TCP, which is the default, or the Unix socket.",
    ),
    key(
        "tls",
        Kind::Word(&["disabled", "preferred", "required"]),
        None,
        r#""required""#,
        "Encryption of the connections; without it, what the server's `url` says, else none.",
    ),
    key(
        "compress",
        Kind::Flag,
        None,
        "true",
        "Compression of the connections; without it, what the server's `url` says, else none.",
    ),
    key(
        "sources",
        Kind::Form(Form::Addresses),
        Some("[]"),
        "",
        "Addresses to connect from, in turn: each has as many ports as the kernel allows.",
    ),
    key(
        "open_rate",
        Kind::Number(0.001, 1e6),
        None,
        "500",
        "Connections opened in a second before the load begins; without it, as fast as the server takes \
         them.",
    ),
    key(
        "connect_timeout",
        Kind::Duration(1_000, DAY_US),
        Some(r#""10s""#),
        "",
        "How long opening one connection may take.",
    ),
    key(
        "reply_timeout",
        Kind::Duration(1_000, DAY_US),
        None,
        r#""30s""#,
        "How long a reply may take before its connection is given up; without it, any time.",
    ),
    key(
        "workers",
        Kind::Count(1, 1024),
        None,
        "2",
        "Threads of the load engine; without it, as many as the most demanding load of the run needs, the \
         same in all trials.",
    ),
    key(
        "latency",
        Kind::Duration(0, LATENCY_MAX_US),
        None,
        r#""0.8ms""#,
        "Round trip of a network between client and servers, half of it each way, which is added to what \
         there is.",
    ),
    key(
        "pin",
        Kind::Form(Form::Processors),
        None,
        r#""4-7""#,
        "The processors that the load engine and the network may run on; without it, all.",
    ),
];

/// `[telemetry]`
pub(super) const TELEMETRY: &[Key] = &[
    key(
        "every",
        Kind::Duration(100_000, DAY_US),
        Some(r#""1s""#),
        "",
        "Time between two readings of machine, client and servers.",
    ),
    key(
        "status",
        Kind::Word(&["chosen", "all"]),
        Some(r#""chosen""#),
        "",
        "Which of the servers' counters are kept.",
    ),
    key(
        "profile",
        Kind::Flag,
        Some("false"),
        "",
        "Show with perf what the server works at where its throughput is highest, in a trial of its own \
         that counts for nothing else.",
    ),
];

/// `[measure]`
pub(super) const MEASURE: &[Key] = &[
    key(
        "warm_up",
        Kind::Form(Form::WarmUp),
        Some(r#""5s""#),
        "",
        "Load before each measurement, not counted: a time, or \"auto\", until throughput is steady.",
    ),
    key(
        "warm_up_max",
        Kind::Duration(1_000_000, DAY_US),
        Some(r#""60s""#),
        "",
        "The longest that a warm-up \"auto\" takes.",
    ),
    key("interval", Kind::Duration(100_000, DAY_US), Some(r#""30s""#), "", "Length of each measurement."),
    key(
        "repeats",
        Kind::Count(1, 1000),
        Some("3"),
        "",
        "Trials of each combination, in randomised blocks with the servers interleaved; with a `precision`, \
         the fewest.",
    ),
    key(
        "precision",
        Kind::Form(Form::Share),
        None,
        r#""2%""#,
        "Repeat on, block by block, until the interval of each combination's throughput (of its mean \
         response time where a schedule says the throughput) reaches no further than this to either side.",
    ),
    key(
        "repeats_max",
        Kind::Count(2, 1000),
        Some("30"),
        "",
        "The most repeats that a `precision` may ask for.",
    ),
    key(
        "budget",
        Kind::Duration(1_000_000, 30 * DAY_US),
        None,
        r#""2h""#,
        "Time after which no repeat is begun for a `precision`; the first `repeats` are always made.",
    ),
    key(
        "restarts",
        Kind::Count(1, 1000),
        Some("1"),
        "",
        "How often each server is started, its repeats spread evenly over the starts, so that what a start \
         leaves to chance is part of the interval; at most once for each repeat.",
    ),
    key(
        "repeat_invalid",
        Kind::Count(0, 10),
        Some("1"),
        "",
        "How often a trial that failed or is invalid is repeated, at the end of its block, unless what is \
         wrong is wrong in every trial of its combination.",
    ),
    key(
        "fresh",
        Kind::Word(&["auto", "snapshot", "always", "reload", "never"]),
        Some(r#""auto""#),
        "",
        "When data are put back as they were loaded: \"snapshot\", after each trial that wrote, from a copy \
         of the data directory, with a restart, where Prony started the server; \"reload\", after each \
         trial that wrote, by loading anew; \"auto\", the faster of these; \"always\", before each trial, \
         from a copy; or \"never\".",
    ),
    key(
        "reuse",
        Kind::Word(&["auto", "always", "never"]),
        Some(r#""auto""#),
        "",
        "Whether loaded data are kept in the user's cache for later runs: \"auto\", what takes long to \
         load; `prony server data` lists and removes them.",
    ),
    key(
        "settle",
        Kind::Duration(0, DAY_US),
        Some(r#""60s""#),
        "",
        "How long a server may take before each trial to write its dirty pages and to purge old versions of \
         rows; \"0s\" does not wait for that.",
    ),
    key(
        "warm",
        Kind::Word(&["tables", "pages", "none"]),
        Some(r#""tables""#),
        "",
        "What is in the buffer pool after a start or a change of data: \"tables\", all tables and indexes, \
         read once from end to end; \"pages\", those that were there before the server was stopped; or \
         \"none\".",
    ),
    key(
        "relevant",
        Kind::Form(Form::Share),
        Some(r#""3%""#),
        "",
        "Differences up to this do not matter: they are never called better or worse.",
    ),
];
