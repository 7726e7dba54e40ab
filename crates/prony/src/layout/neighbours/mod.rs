//! Harmful neighbours: what a busy database has beside the load that is measured, as workloads that are laid
//! beside any other. Each is one entry of [`ALL`]: its workload, over how many connections and how often it
//! runs, what it counts as done, and the server's own counter of that.
//!
//! Those that need rows to lock, sort or delete have a separate table, which belongs to the data set
//! ([`Beside`]), so that a user's rows are only read. Only this folder knows its name.

mod workloads;

pub use workloads::workload;

use super::{Builtin, Column, Condition, DataSet, Effect, Layout, Routine, Rows, Scan, Sent, Table, Undrawn};
use crate::{
    family::{self, Kind, counter},
    language::{Language, say},
    quantity::show_count,
};
use load::{
    random::mix,
    sample::{StreamOutcome, Tally},
    spec::{Arrival, ConnectionMode, Destination, Distribution, Draw, Protocol, Stream, Think},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The table of those that need one.
pub const TABLE: &str = "prony_neighbour";
/// Its rows: some 7 MB, which a bulk delete takes at once.
const ROWS: u64 = 50_000;
/// What a row takes on disk, bytes, about.
const ROW_BYTES: u64 = 150;
/// Groups of 16 hexadecimal digits in the text of a row.
const GROUPS: u64 = 6;

/// What a neighbour counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Nothing ends: a transaction is open on each connection.
    Held,
    /// Statements of this kind that ended well.
    Ended(&'static str),
    /// The same with those that failed, as they are to.
    Sent(&'static str),
    /// Transactions that ended well.
    Transactions,
    /// Rows that statements of this kind changed.
    Changed(&'static str),
    /// Errors with this code.
    Failed(u16),
    /// Logins that were refused.
    Refused,
}

/// One neighbour.
#[derive(Debug)]
pub struct Neighbour {
    /// Name, what it does, what it leaves of the data.
    pub builtin: Builtin,
    /// Connections where nothing else is said.
    pub connections: u32,
    /// Pause of each after a transaction where nothing else is said; `None`: none.
    pause: Option<Duration>,
    /// What it counts.
    pub deed: Deed,
    /// The statement whose time is told.
    timed: Option<&'static str>,
    /// The server's counter of what it does, by its name in every family.
    pub counter: &'static str,
    /// Whether only tables of [`engine`] can be treated so.
    pub needs_row_locks: bool,
}

/// The storage engine that locks rows and keeps their versions.
#[must_use]
pub fn engine() -> &'static str {
    family::spoken().crash_safe_engine()
}

const ALTER: &str = "alter";
const KILL: &str = "kill";
const DELETE: &str = "delete";
const READ: &str = "read";
const SORT: &str = "sort";
/// "Deadlock found when trying to get lock".
const DEADLOCK: u16 = 1213;
/// Longer than any trial.
const FOR_EVER: Duration = Duration::from_secs(3600);

const fn builtin(name: &'static str, about: &'static str, effect: Effect) -> Builtin {
    Builtin { name, about, effect }
}

/// All of them.
pub static ALL: [Neighbour; 10] = [
    Neighbour {
        builtin: builtin(
            "idle_transactions",
            "neighbour: a transaction with a snapshot that stays open and idle, so that old row versions are \
             not purged",
            Effect::Reads,
        ),
        connections: 1,
        pause: Some(FOR_EVER),
        deed: Deed::Held,
        timed: None,
        counter: "history_length",
        needs_row_locks: false,
    },
    Neighbour {
        builtin: builtin(
            "long_read",
            "neighbour: reads the largest table again and again within one consistent snapshot",
            Effect::Reads,
        ),
        connections: 1,
        pause: None,
        deed: Deed::Ended(READ),
        timed: Some(READ),
        counter: "history_length",
        needs_row_locks: false,
    },
    Neighbour {
        builtin: builtin(
            "deadlocks",
            "neighbour: pairs of transactions that lock the same two rows in opposite order",
            Effect::Reads,
        ),
        connections: 4,
        pause: None,
        deed: Deed::Failed(DEADLOCK),
        timed: None,
        counter: "deadlocks",
        needs_row_locks: false,
    },
    Neighbour {
        builtin: builtin(
            "disk_tables",
            "neighbour: queries whose temporary tables do not fit into memory",
            Effect::Reads,
        ),
        connections: 1,
        pause: None,
        deed: Deed::Ended(SORT),
        timed: Some(SORT),
        counter: "temporary_tables_on_disk",
        needs_row_locks: false,
    },
    Neighbour {
        builtin: builtin(
            "killed_sessions",
            "neighbour: sessions that are killed in the middle of a transaction, which is rolled back",
            Effect::Changes,
        ),
        connections: 4,
        pause: Some(Duration::from_millis(100)),
        deed: Deed::Sent(KILL),
        timed: None,
        counter: "connections_aborted",
        needs_row_locks: false,
    },
    Neighbour {
        builtin: builtin(
            "failed_logins",
            "neighbour: logins of an unknown user, all of which are refused",
            Effect::Reads,
        ),
        connections: 4,
        pause: Some(Duration::from_millis(20)),
        deed: Deed::Refused,
        timed: None,
        counter: "logins_failed",
        needs_row_locks: false,
    },
    Neighbour {
        builtin: builtin(
            "alter_online",
            "neighbour: rebuilds the largest table in place, with writers going on (ALTER ... \
             ALGORITHM=INPLACE, LOCK=NONE)",
            Effect::Changes,
        ),
        connections: 1,
        pause: Some(Duration::from_millis(500)),
        deed: Deed::Ended(ALTER),
        timed: Some(ALTER),
        counter: "log_written_bytes",
        needs_row_locks: true,
    },
    Neighbour {
        builtin: builtin(
            "alter_copy",
            "neighbour: rebuilds the largest table by copying it, which blocks writers (ALTER ... \
             ALGORITHM=COPY)",
            Effect::Changes,
        ),
        connections: 1,
        pause: Some(Duration::from_millis(500)),
        deed: Deed::Ended(ALTER),
        timed: Some(ALTER),
        counter: "log_written_bytes",
        needs_row_locks: false,
    },
    Neighbour {
        builtin: builtin(
            "logical_backup",
            "neighbour: reads every row of every table within one snapshot, as mysqldump \
             --single-transaction does",
            Effect::Reads,
        ),
        connections: 1,
        pause: None,
        deed: Deed::Transactions,
        timed: Some(READ),
        counter: "bytes_sent",
        needs_row_locks: false,
    },
    Neighbour {
        builtin: builtin(
            "bulk_delete",
            "neighbour: fills a separate table and deletes 50,000 rows by one statement",
            Effect::Changes,
        ),
        connections: 1,
        pause: None,
        deed: Deed::Changed(DELETE),
        timed: Some(DELETE),
        counter: "rows_deleted",
        needs_row_locks: false,
    },
];

/// The neighbour of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Neighbour> {
    ALL.iter().find(|neighbour| neighbour.builtin.name == name)
}

/// Whether a stream is a neighbour, and no load that is measured.
#[must_use]
pub fn is_one(stream: &Stream) -> bool {
    find(&stream.workload.name).is_some()
}

/// What the number that a neighbour counts is of: `3 ALTERs`.
#[must_use]
pub fn counted(name: &str) -> &'static str {
    match find(name).map(|neighbour| neighbour.deed) {
        Some(Deed::Held) => "transactions held open",
        Some(Deed::Changed(_)) => "rows deleted",
        Some(Deed::Failed(_)) => "deadlocks provoked",
        Some(Deed::Refused) => "logins refused",
        Some(Deed::Sent(_)) => "sessions killed",
        Some(Deed::Transactions) => "complete backups",
        Some(Deed::Ended(ALTER)) => "rebuilds of the largest table",
        Some(Deed::Ended(READ)) => "full reads of the largest table",
        Some(Deed::Ended(_)) => "queries with a large temporary table",
        None => "",
    }
}

impl Neighbour {
    /// When its transactions start where nothing else is said.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        self.pause.map_or(Arrival::Closed, |pause| Arrival::Think(Think::Fixed(pause)))
    }

    /// Makes a stream its own, whatever the stream's keys say: it is told who it is, whom it disturbs, and
    /// how its connections are kept.
    pub fn take_over(&self, stream: &mut Stream, others: &DataSet) {
        stream.workload = workload(self.builtin.name, others);
        stream.protocol = Protocol::Text;
        if self.deed == Deed::Refused {
            stream.to = Destination::Stranger;
            stream.connect = ConnectionMode::Transactions(1);
        }
    }

    /// It as a stream of its name, beside a load on these tables.
    #[must_use]
    pub fn stream(&self, others: &DataSet) -> Stream {
        let name = self.builtin.name;
        let mut stream = Stream::new(name, workload(name, others), self.connections);
        stream.arrival = self.arrival();
        self.take_over(&mut stream, others);
        stream
    }

    /// How often it did what it is there for, in a trial's interval.
    #[must_use]
    pub fn count(&self, told: &StreamOutcome) -> u64 {
        let of = |kind: &str| told.statements.iter().find(|tally| tally.name == kind);
        let number = |kind: &str, read: fn(&Tally) -> u64| of(kind).map_or(0, read);
        match self.deed {
            Deed::Held => u64::from(told.connections),
            Deed::Ended(kind) => number(kind, |tally| tally.count),
            Deed::Sent(kind) => number(kind, |tally| tally.count + tally.errors),
            Deed::Transactions => told.transactions.count,
            Deed::Changed(kind) => number(kind, |tally| tally.affected),
            Deed::Failed(code) => {
                told.errors.iter().filter(|error| error.code == code).map(|error| error.count).sum()
            }
            Deed::Refused => told.reconnecting.failed,
        }
    }

    /// Whether the server's counter goes up and down.
    #[must_use]
    pub fn counts_a_level(&self) -> bool {
        counter(self.counter).is_some_and(|counter| counter.kind == Kind::Level)
    }

    /// Its statement whose time is told.
    #[must_use]
    pub fn timed<'a>(&self, told: &'a StreamOutcome) -> Option<&'a Tally> {
        told.statements.iter().find(|tally| Some(tally.name.as_str()) == self.timed)
    }
}

/// The table of the neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Its rows.
    pub neighbour_rows: u64,
    /// Seed of the contents.
    pub seed: u64,
}

impl Default for Data {
    fn default() -> Self {
        Self { neighbour_rows: ROWS, seed: 0 }
    }
}

/// The rows: a number, and a text of hexadecimal digits that is another in each.
#[derive(Debug)]
struct Contents(u64);

impl super::Contents for Contents {
    fn write(&self, number: u64, rows: &mut Rows) {
        rows.integer(number as i64);
        rows.text(|out| {
            for group in 0..GROUPS {
                let bits = mix(self.0 ^ mix(number * GROUPS + group));
                out.extend_from_slice(format!("{bits:016x}").as_bytes());
            }
        });
    }
}

impl Layout for Data {
    fn tables(&self) -> Vec<Table> {
        let Self { neighbour_rows, seed } = self;
        let column = |name: &str, sent| Column { name: name.to_owned(), sent };
        vec![Table {
            name: TABLE.to_owned(),
            rows: *neighbour_rows,
            columns: vec![column("id", Sent::Int), column("body", Sent::Text)],
            definition: "id INT NOT NULL, body VARCHAR(100) NOT NULL, PRIMARY KEY (id)".to_owned(),
            engine: Some(engine().to_owned()),
            number: "id".to_owned(),
            indexes: Vec::new(),
            has_statistics: false,
            scans: vec![Scan { index: None, by: None, condition: "body IS NULL".to_owned() }],
            identity: format!("neighbour table={TABLE} rows={neighbour_rows} seed={seed}"),
            charset: "latin1",
            row_bytes: ROW_BYTES,
            contents: Box::new(Contents(*seed)),
        }]
    }

    fn about(&self, language: Language) -> String {
        let rows = show_count(self.neighbour_rows);
        say!(language, "{rows} rows of the neighbours' own", "干扰负载自己的 {rows} 行")
    }

    fn has_table(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(TABLE)
    }

    fn table_names(&self) -> Vec<String> {
        vec![TABLE.to_owned()]
    }

    fn columns(&self, table: &str) -> Option<Vec<String>> {
        self.has_table(table).then(|| vec!["id".to_owned(), "body".to_owned()])
    }

    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        match (self.columns(table), column) {
            (None, _) => Err(Undrawn::NoTable),
            (_, "id") => Ok(Draw::Integer { min: 1, max: self.neighbour_rows as i64, distribution }),
            (_, "body") => Err(Undrawn::Contents),
            (Some(columns), _) => Err(Undrawn::NoColumn(columns)),
        }
    }

    fn rows(&self) -> u64 {
        self.neighbour_rows
    }

    fn size_bytes(&self) -> u64 {
        self.neighbour_rows * ROW_BYTES
    }
}

/// A data set with the neighbours' table beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// What the other streams work on.
    pub others: Box<DataSet>,
    /// The neighbours' own.
    pub neighbours: Data,
}

impl Layout for Beside {
    fn tables(&self) -> Vec<Table> {
        self.others.tables().into_iter().chain(self.neighbours.tables()).collect()
    }

    fn about(&self, language: Language) -> String {
        let (others, own) = (self.others.about(language), self.neighbours.about(language));
        say!(language, "{others}, and {own}", "{others}，以及{own}")
    }

    fn engine(&self) -> Option<&str> {
        self.others.engine()
    }

    fn has_table(&self, name: &str) -> bool {
        self.others.has_table(name) || self.neighbours.has_table(name)
    }

    fn table_names(&self) -> Vec<String> {
        self.others.table_names().into_iter().chain(self.neighbours.table_names()).collect()
    }

    fn columns(&self, table: &str) -> Option<Vec<String>> {
        self.others.columns(table).or_else(|| self.neighbours.columns(table))
    }

    fn named(&self, distribution: Distribution) -> Vec<(&'static str, Draw)> {
        self.others.named(distribution)
    }

    fn numbered(&self) -> u32 {
        self.others.numbered()
    }

    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        match self.others.draw(table, column, distribution) {
            Err(Undrawn::NoTable) => self.neighbours.draw(table, column, distribution),
            drawn => drawn,
        }
    }

    fn rows(&self) -> u64 {
        self.others.rows() + self.neighbours.rows()
    }

    fn size_bytes(&self) -> u64 {
        self.others.size_bytes() + self.neighbours.size_bytes()
    }

    fn has_unnamed(&self) -> bool {
        self.others.has_unnamed()
    }

    fn routines(&self) -> Vec<Routine> {
        self.others.routines()
    }

    fn conditions(&self) -> Vec<Condition> {
        self.others.conditions()
    }
}

#[cfg(test)]
mod tests;
