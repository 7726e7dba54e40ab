//! Every key of a study, written once: name, what it takes, default, meaning. Checking, the nearest right name, the
//! JSON schema and the commented reference study are all made from these tables.

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Any text that is not empty.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number between these, both included.
    Count(u64, u64),
    /// A length of time between these milliseconds, both included: `"3s"`, `"500ms"`, `"2min"`.
    Duration(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
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

/// Longest time that a study may ask for: a day, in ms.
const DAY_MS: u64 = 24 * 3600 * 1000;
/// Highest number of connections of a stream; more than a machine has ports for one address.
const CONNECTIONS_MAX: u64 = 100_000;
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
        "The same seed gives the same order, data and load.",
    ),
    key("server", Kind::Section, None, "", "The servers, each `[server.NAME]`."),
    key(
        "settings",
        Kind::Section,
        None,
        "",
        "Settings for all servers that Prony starts, as their option file has them.",
    ),
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
    key("measure", Kind::Section, None, "", "How long and how often."),
    key(
        "scale",
        Kind::Section,
        None,
        "",
        "Named sets of overrides, each `[scale.NAME]`, for `--scale NAME`.",
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
        "url",
        Kind::Text,
        None,
        r#""mysql://user@127.0.0.1:3306/test""#,
        "A server that is running already; it is never started, stopped or configured.",
    ),
    key(
        "settings",
        Kind::Section,
        None,
        r#"{ thread_handling = "pool-of-threads" }"#,
        "Settings of this server alone; they win over `[settings]`.",
    ),
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
        Kind::Count(1, CONNECTIONS_MAX),
        None,
        "64",
        "Number of connections, open all the time.",
    ),
    key(
        "arrival",
        Kind::Word(&["closed"]),
        Some(r#""closed""#),
        "",
        "When a transaction starts: `closed`, as soon as the connection's last one has ended.",
    ),
    key(
        "protocol",
        Kind::Word(&["prepared", "text"]),
        Some(r#""prepared""#),
        "",
        "Prepared statements, or plain text.",
    ),
];

/// `[measure]`
pub(super) const MEASURE: &[Key] = &[
    key(
        "warm_up",
        Kind::Duration(0, DAY_MS),
        Some(r#""5s""#),
        "",
        "Load before each measurement, not counted.",
    ),
    key("interval", Kind::Duration(100, DAY_MS), Some(r#""30s""#), "", "Length of each measurement."),
    key(
        "repeats",
        Kind::Count(1, 1000),
        Some("3"),
        "",
        "Trials of each combination, in randomised blocks with the servers interleaved.",
    ),
];
