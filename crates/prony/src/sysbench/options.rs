//! The options of sysbench's command line: one table, from which the line is read and `--help` is written.
//! Names, kinds and defaults are those of 1.0.20, and those of later versions where they have more; the
//! sentences are Prony's own.

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// On or off; the name alone is on.
    Switch,
    /// A whole number.
    Number,
    /// A number with fraction.
    Real,
    /// A number of bytes, with K, M, G or T.
    Size,
    Text,
    /// Texts with commas between them.
    List,
    /// A file with more options.
    File,
}

impl Kind {
    /// As help shows it, behind the name.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Switch => "[=on|off]",
            Self::Number | Self::Real => "=N",
            Self::Size => "=SIZE",
            Self::Text => "=STRING",
            Self::List => "=[LIST,...]",
            Self::File => "=FILENAME",
        }
    }
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) default: &'static str,
    pub(super) about: &'static str,
}

/// Options under one heading.
pub(super) struct Group {
    pub(super) heading: &'static str,
    pub(super) entries: &'static [Entry],
}

const fn entry(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Entry {
    Entry { name, kind, default, about }
}

use Kind::{File, List, Number, Real, Size, Switch, Text};

/// All options, in the order of `--help`.
pub(super) const GROUPS: &[Group] = &[
    Group {
        heading: "General options:",
        entries: &[
            entry("threads", Number, "1", "connections, each with its own script state"),
            entry("events", Number, "0", "end after this many events; 0: no limit"),
            entry("time", Number, "10", "end after this many seconds; 0: no limit"),
            entry("warmup-time", Number, "0", "run events for this many seconds before counting starts"),
            entry(
                "forced-shutdown",
                Text,
                "off",
                "seconds (or per cent of --time, as 10%) that events may take after the end of --time",
            ),
            entry("thread-stack-size", Size, "64K", "accepted; connections need no stack"),
            entry("thread-init-timeout", Number, "30", "accepted; each connection has 30 s to open"),
            entry("rate", Number, "0", "average events per second, in an open loop; 0: one after another"),
            entry("report-interval", Number, "0", "print figures at this interval in seconds; 0: never"),
            entry(
                "report-checkpoints",
                List,
                "",
                "seconds at which a full report is printed and counting restarts",
            ),
            entry("debug", Switch, "off", "more messages"),
            entry("validate", Switch, "off", "accepted; has no effect for tests of databases"),
            entry("help", Switch, "off", "print this text"),
            entry("version", Switch, "off", "print the version"),
            entry("config-file", File, "", "a file with options, one NAME=VALUE per line"),
            entry("tx-rate", Number, "0", "old name of --rate"),
            entry("max-requests", Number, "0", "old name of --events"),
            entry("max-time", Number, "0", "old name of --time"),
            entry("num-threads", Number, "1", "old name of --threads"),
        ],
    },
    Group {
        heading: "Pseudo-Random Numbers Generator options:",
        entries: &[
            entry(
                "rand-type",
                Text,
                "special",
                "distribution of ids: uniform, gaussian, special, pareto, zipfian",
            ),
            entry("rand-spec-iter", Number, "12", "uniform numbers that make one of gaussian and special"),
            entry("rand-spec-pct", Number, "1", "special: size of the hot set, per cent of the rows"),
            entry("rand-spec-res", Number, "75", "special: share of draws from the hot set, per cent"),
            entry("rand-seed", Number, "0", "seed of random sequences; 0: random"),
            entry(
                "rand-pareto-h",
                Real,
                "0.2",
                "pareto: a share 1-h of the draws hits the first h of the rows",
            ),
            entry("rand-zipfian-exp", Real, "0.8", "zipfian: exponent"),
        ],
    },
    Group {
        heading: "Log options:",
        entries: &[
            entry("verbosity", Number, "3", "messages: 0 only fatal ones, 5 all"),
            entry("percentile", Number, "95", "percentile of the latency, 1 to 100; 0: none"),
            entry("histogram", Switch, "off", "print a histogram of the latency"),
        ],
    },
    Group {
        heading: "General database options:",
        entries: &[
            entry("db-driver", Text, "mysql", "mysql is the only one"),
            entry("db-ps-mode", Text, "auto", "prepared statements: auto or disable"),
            entry("db-debug", Switch, "off", "accepted; has no effect"),
        ],
    },
    Group {
        heading: "mysql options:",
        entries: &[
            entry("mysql-host", List, "localhost", "hosts; connections take them in turn"),
            entry("mysql-port", List, "3306", "ports; connections take them in turn, before the next host"),
            entry("mysql-socket", List, "", "Unix sockets, instead of hosts and ports"),
            entry("mysql-user", Text, "sbtest", "account"),
            entry("mysql-password", Text, "", "its password"),
            entry("mysql-db", Text, "sbtest", "database"),
            entry(
                "mysql-ssl",
                Text,
                "off",
                "TLS: on, off, DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY",
            ),
            entry("mysql-ssl-key", Text, "", "key of the client certificate"),
            entry("mysql-ssl-cert", Text, "", "client certificate"),
            entry("mysql-ssl-ca", Text, "", "CA certificates to trust"),
            entry("mysql-ssl-cipher", Text, "", "accepted; TLS chooses the cipher"),
            entry("mysql-compression", Switch, "off", "compress the protocol"),
            entry("mysql-compression-algorithms", Text, "", "zlib, or uncompressed"),
            entry("mysql-debug", Switch, "off", "accepted; has no effect"),
            entry(
                "mysql-ignore-errors",
                List,
                "1213,1020,1205",
                "errors after which an event is restarted, or `all`",
            ),
            entry("mysql-dry-run", Switch, "off", "send nothing, and treat every statement as executed"),
        ],
    },
    Group {
        heading: "Beyond sysbench:",
        entries: &[
            entry(
                "prony-percentiles",
                List,
                "",
                "more percentiles, such as 50,99,99.9; exact, not rounded to sysbench's grid",
            ),
            entry("prony-json", Switch, "off", "print one JSON object instead of the report"),
            entry(
                "prony-store",
                Text,
                "",
                "save the result in this store (`on`: the default one) for `prony report`",
            ),
            entry(
                "prony-workers",
                Number,
                "0",
                "threads that share the connections; 0: chosen automatically",
            ),
            entry(
                "prony-get-server-public-key",
                Switch,
                "off",
                "accept the key for password encryption from an unverified server",
            ),
        ],
    },
];

/// The option of this name, with `-`.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    GROUPS.iter().flat_map(|group| group.entries).find(|entry| entry.name == name)
}

/// Names that options had before, and which they have now.
pub(super) const RENAMED: [(&str, &str); 4] =
    [("num-threads", "threads"), ("max-requests", "events"), ("max-time", "time"), ("tx-rate", "rate")];

/// Lines of help: names in one column, as wide as the widest needs it.
pub(super) fn help<'a>(lines: impl Iterator<Item = (String, &'a str, String)> + Clone) -> String {
    let width = lines.clone().map(|(name, ..)| name.len()).max().unwrap_or_default();
    let line = |(name, about, default): (String, &str, String)| {
        let default = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        format!("  --{name:<width$} {about}{default}\n")
    };
    lines.map(line).collect()
}

/// What `--help` prints.
pub(super) fn usage(tests: &[(&str, &str)]) -> String {
    let mut text =
        "Usage:\n  sysbench [options]... [testname] [command]\n\nCommands implemented by most tests: \
                    prepare run cleanup help\n\n"
            .to_owned();
    for group in GROUPS {
        text.push_str(group.heading);
        text.push('\n');
        let lines = group.entries.iter().map(|entry| {
            let default = if entry.kind == File { String::new() } else { entry.default.to_owned() };
            (format!("{}{}", entry.name, entry.kind.shown()), entry.about, default)
        });
        text.push_str(&help(lines));
        text.push('\n');
    }
    text.push_str("Tests in this program:\n");
    for (name, about) in tests {
        text.push_str(&format!("  {name} - {about}\n"));
    }
    text.push_str("\nSee 'sysbench <testname> help' for a list of options for each test.\n\n");
    text
}
