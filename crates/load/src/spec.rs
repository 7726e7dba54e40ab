//! What is asked of the engine: the target, the streams and their workloads, how long. Plain values; nothing
//! here acts.

mod arrival;
mod distribution;
pub mod script;
mod target;

pub use arrival::{Arrival, Gaps, Rate, RateStep, Think, Waits};
pub use distribution::{Distribution, Distributions};
pub use script::Script;
pub use target::{Address, Secret, Target, Tls, TlsMode, Trust};

use serde::{Deserialize, Serialize};
use std::{net::IpAddr, time::Duration};

/// One load: which server, which streams, for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The server.
    pub target: Target,
    /// Further servers that belong to it, its replicas or the other nodes of its cluster, for streams that
    /// go [there](Stream::to).
    #[serde(default)]
    pub members: Vec<Target>,
    /// Another way to [`Spec::target`], as a client on its own machine has it, for streams that go
    /// [there](Destination::Local); `None`: they take the same way as others.
    #[serde(default)]
    pub local: Option<Target>,
    /// Groups of connections that run at the same time.
    pub streams: Vec<Stream>,
    /// Load before the measurement; its samples are marked [`crate::sample::Phase::WarmUp`].
    pub warm_up: Duration,
    /// The measurement interval. Where streams have a [`Stream::limit`] it is the longest: the load ends as
    /// soon as all of them have reached theirs, or their time limits.
    pub interval: Duration,
    /// Seed of everything random: connection `n` of stream `s` draws the same numbers on any thread.
    pub seed: u64,
    /// Worker threads of each process that carries the load out; `None` lets the engine choose.
    pub workers: Option<u32>,
    /// Which part of the load this is.
    #[serde(default)]
    pub part: Part,
    /// Source addresses to connect from, in turn: each gives as many ports as the kernel's port range has.
    /// Empty: the kernel chooses.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    /// Connections opened in a second before the load begins; `None`: as fast as the server takes them.
    #[serde(default)]
    pub open_rate: Option<f64>,
    /// How long opening one connection may take, from the first packet to the end of the login.
    #[serde(default = "connect_timeout")]
    pub connect_timeout: Duration,
    /// How long a reply may take before its connection is given up (error 2013) and opened again; `None`: any
    /// time.
    #[serde(default)]
    pub reply_timeout: Option<Duration>,
    /// How the workers are scheduled.
    #[serde(default)]
    pub scheduling: Scheduling,
}

/// Default of [`Spec::connect_timeout`].
fn connect_timeout() -> Duration {
    Duration::from_secs(10)
}

impl Spec {
    /// A load with the default for everything else.
    #[must_use]
    pub fn new(target: Target, streams: Vec<Stream>, warm_up: Duration, interval: Duration) -> Self {
        Self {
            target,
            members: Vec::new(),
            local: None,
            streams,
            warm_up,
            interval,
            seed: 0,
            workers: None,
            part: Part::default(),
            sources: Vec::new(),
            open_rate: None,
            connect_timeout: connect_timeout(),
            reply_timeout: None,
            scheduling: Scheduling::default(),
        }
    }

    /// Every way that a connection can take, as [`Destination::server_of`] numbers them.
    pub(crate) fn ways(&self) -> impl Iterator<Item = &Target> {
        let local = self.local.as_ref().unwrap_or(&self.target);
        [&self.target].into_iter().chain(&self.members).chain([local])
    }
}

/// A part of a load, as one of several processes carries it out; everything else in its [`Spec`] is about the
/// whole. Connections are numbered as in the whole, and each draws what it would draw there; schedules,
/// limits and numbers that count over all connections are shared out. So what the parts did together,
/// merged, is what the whole would have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are, 1 or more.
    pub of: u32,
}

impl Default for Part {
    fn default() -> Self {
        Self { number: 0, of: 1 }
    }
}

/// Scheduling policy of the worker threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// [`Scheduling::Batch`] where all streams are closed loops and there are more than four connections for
    /// each processor; otherwise [`Scheduling::Normal`].
    #[default]
    Auto,
    /// SCHED_BATCH: a worker that wakes up does not preempt the server thread that answers.
    Batch,
    /// SCHED_OTHER: a worker that wakes up may preempt whoever runs.
    Normal,
}

/// A group of connections with one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Its name in results; unique in a [`Spec`].
    pub name: String,
    /// What the connections do.
    pub workload: Workload,
    /// Number of connections that work, 1 or more.
    pub connections: u32,
    /// Connections that are opened as well and do nothing: they are numbered after the others.
    #[serde(default)]
    pub idle: u32,
    /// Which servers the connections go to.
    #[serde(default)]
    pub to: Destination,
    /// When the next transaction starts.
    pub arrival: Arrival,
    /// How long a connection is kept.
    #[serde(default)]
    pub connect: ConnectionMode,
    /// Whether statements are prepared on the server.
    pub protocol: Protocol,
    /// When it begins.
    #[serde(default)]
    pub begin: Begin,
    /// What ends it before the interval is over.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// How long it may take to reach its limit, from its begin: then it ends without having reached it, and
    /// those that wait for it begin. `None`: until the interval is over.
    #[serde(default)]
    pub time_limit: Option<Duration>,
}

impl Stream {
    /// A closed loop of prepared statements over lasting connections.
    #[must_use]
    pub fn new(name: impl Into<String>, workload: Workload, connections: u32) -> Self {
        Self {
            name: name.into(),
            workload,
            connections,
            idle: 0,
            to: Destination::Primary,
            arrival: Arrival::Closed,
            connect: ConnectionMode::Long,
            protocol: Protocol::Prepared,
            begin: Begin::Together,
            limit: None,
            time_limit: None,
        }
    }
}

/// Which servers the connections of a stream go to. Where there are several, connection `n` goes to number
/// `n` modulo their number, each time that it is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// [`Spec::target`].
    #[default]
    Primary,
    /// [`Spec::members`] in turn; where there are none, [`Spec::target`].
    Members,
    /// [`Spec::target`] and [`Spec::members`] in turn.
    All,
    /// [`Spec::target`] by the way of [`Spec::local`].
    Local,
    /// [`Spec::target`], as a user that it does not know: each transaction is a login that is refused. Such
    /// connections are not opened before the load begins.
    Stranger,
}

impl Destination {
    /// The server of connection `number` where there are `members` beside the first: 0 is [`Spec::target`], 1
    /// the first of [`Spec::members`], the one after the last of these [`Spec::local`], and the next
    /// [`Spec::target`] for strangers.
    #[must_use]
    pub fn server_of(self, number: u32, members: usize) -> usize {
        match self {
            Self::Members if members > 0 => 1 + number as usize % members,
            Self::All => number as usize % (members + 1),
            Self::Local => members + 1,
            Self::Stranger => members + 2,
            Self::Primary | Self::Members => 0,
        }
    }
}

/// Whether any connection of `streams` goes to the server of this number, as [`Destination::server_of`]
/// numbers them.
#[must_use]
pub fn is_used(streams: &[Stream], server: usize, members: usize) -> bool {
    let goes_there = |stream: &Stream| {
        let all = stream.connections + stream.idle;
        (0..all).any(|number| stream.to.server_of(number, members) == server)
    };
    streams.iter().any(goes_there)
}

/// How long a connection is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// For the whole load.
    #[default]
    Long,
    /// For so many transactions, 1 or more; then it is closed and a new one opened.
    Transactions(u32),
    /// For one statement. What a transaction keeps in the session (BEGIN, temporary tables) is lost in
    /// between.
    Statement,
}

/// When a stream begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    /// With the load; a stream with a [`Stream::limit`] when the warm-up is over, as its limit counts what is
    /// measured.
    #[default]
    Together,
    /// This long after the warm-up was over.
    After(Duration),
    /// When the stream of this name, which must have a [`Stream::limit`], has reached it or its time limit.
    WhenDone(String),
}

/// What ends a stream before the interval is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// So many transactions have been started, exactly.
    Transactions(u64),
    /// So many rows, received and affected together, or just above.
    Rows(u64),
}

/// Text or prepared statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Server-side prepared statements, prepared when first needed on a connection. Statements that the
    /// server cannot prepare (error 1295) fall back to text.
    #[default]
    Prepared,
    /// Plain text queries, parameters written into the statement.
    Text,
}

/// What the connections of a stream do. Built-in and user-written workloads are both values of this type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredWorkload", into = "StoredWorkload")]
pub struct Workload {
    /// Name in results.
    pub name: String,
    /// Number of tables, 1 or more: a [`Draw::Table`] draws a number from 1 to this, and [`Piece::Table`]
    /// writes it.
    pub tables: u32,
    /// What is done.
    pub work: Work,
}

/// How it is said what is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// A mix of transactions made of steps; each start of one draws it by weight. Not empty.
    Program(Vec<Transaction>),
    /// Transactions made of steps, which each connection executes in this order, again and again. Not empty.
    Series(Vec<Transaction>),
    /// A Lua script, each of whose events is a transaction; what it sends is known only when it does.
    Script(Box<Script>),
}

/// A workload as it is written to plans and stores.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Workload", deny_unknown_fields)]
struct StoredWorkload {
    name: String,
    tables: u32,
    transactions: Vec<Transaction>,
    #[serde(default)]
    script: Option<Box<Script>>,
    /// Whether the transactions are executed in order.
    #[serde(default)]
    in_order: bool,
}

impl From<StoredWorkload> for Workload {
    fn from(StoredWorkload { name, tables, transactions, script, in_order }: StoredWorkload) -> Self {
        let work = match script {
            Some(script) => Work::Script(script),
            None if in_order => Work::Series(transactions),
            None => Work::Program(transactions),
        };
        Self { name, tables, work }
    }
}

impl From<Workload> for StoredWorkload {
    fn from(Workload { name, tables, work }: Workload) -> Self {
        let in_order = matches!(work, Work::Series(_));
        let (transactions, script) = match work {
            Work::Program(transactions) | Work::Series(transactions) => (transactions, None),
            Work::Script(script) => (Vec::new(), Some(script)),
        };
        Self { name, tables, transactions, script, in_order }
    }
}

impl Workload {
    /// A program of steps.
    #[must_use]
    pub fn new(name: impl Into<String>, tables: u32, transactions: Vec<Transaction>) -> Self {
        Self { name: name.into(), tables, work: Work::Program(transactions) }
    }

    /// Transactions that each connection executes in order.
    #[must_use]
    pub fn in_order(name: impl Into<String>, tables: u32, transactions: Vec<Transaction>) -> Self {
        Self { name: name.into(), tables, work: Work::Series(transactions) }
    }

    /// What a script does.
    #[must_use]
    pub fn of_script(name: impl Into<String>, script: Script) -> Self {
        Self { name: name.into(), tables: 1, work: Work::Script(Box::new(script)) }
    }

    /// The transactions of a program; none of a script, whose statements nobody knows beforehand.
    #[must_use]
    pub fn transactions(&self) -> &[Transaction] {
        match &self.work {
            Work::Program(transactions) | Work::Series(transactions) => transactions,
            Work::Script(_) => &[],
        }
    }

    /// The script, where it is one.
    #[must_use]
    pub fn script(&self) -> Option<&Script> {
        match &self.work {
            Work::Program(_) | Work::Series(_) => None,
            Work::Script(script) => Some(script),
        }
    }

    /// Every step of a program, those within others included.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.transactions().iter().flat_map(|transaction| every(&transaction.steps))
    }
}

/// These steps, each followed by those within it.
pub(crate) fn every(steps: &[Step]) -> Vec<&Step> {
    let mut all = Vec::new();
    for step in steps {
        all.push(step);
        match step {
            Step::Draw { .. } | Step::Statement(_) | Step::BulkRow { .. } => {}
            Step::Repeat { steps, .. } => all.extend(every(steps)),
            Step::If { then, otherwise, .. } => {
                all.extend(every(then));
                all.extend(every(otherwise));
            }
        }
    }
    all
}

/// Steps that are executed in order on one connection and measured together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// Name in results; unique in the workload.
    pub name: String,
    /// Relative frequency, above 0.
    pub weight: f64,
    /// What is done.
    pub steps: Vec<Step>,
}

/// A place for a value that lives as long as one execution of a transaction. Dense from 0.
pub type SlotIndex = u16;

/// One step of a transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Draws a value and keeps it in a slot.
    Draw {
        /// Where it is kept.
        slot: SlotIndex,
        /// What is drawn.
        draw: Draw,
    },
    /// Sends a statement and waits for its whole reply.
    Statement(Statement),
    /// Adds one row to the connection's INSERT buffer; the buffer is sent, and its reply waited for, once it
    /// holds `limit_bytes`, and never otherwise (sysbench's `bulk_insert`).
    BulkRow {
        /// Kind of the INSERT statement in results.
        kind: String,
        /// `INSERT INTO t VALUES`. Only [`Piece::Sql`], [`Piece::Table`] and [`Piece::Inline`] are allowed.
        head: Vec<Piece>,
        /// One row, `(1,2)`; same pieces.
        row: Vec<Piece>,
        /// Size at which the buffer is sent.
        limit_bytes: u32,
    },
    /// Does steps several times over; one of them must send something in any case.
    Repeat {
        /// How often: a whole number, at most [`REPEAT_MAX`]; what is none counts as 0.
        times: Operand,
        /// Where the number of the round is kept, from 1; `None`: nowhere.
        #[serde(default)]
        number: Option<SlotIndex>,
        /// What is done.
        steps: Vec<Step>,
    },
    /// Does one thing or another.
    If {
        /// On what that depends.
        condition: Condition,
        /// What is done if it holds.
        then: Vec<Step>,
        /// What is done if not; may be empty, as may `then`.
        otherwise: Vec<Step>,
    },
}

/// Most rounds of a [`Step::Repeat`]: a number that comes from a server must not hold a transaction for ever.
pub const REPEAT_MAX: i64 = 10_000;

/// A comparison of two values: as numbers if both are, else as texts. With NULL nothing holds but that two
/// are equal, or one of them not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The one.
    pub left: Operand,
    /// How they compare.
    pub is: Comparison,
    /// The other.
    pub right: Operand,
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// One SQL statement with the places of its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Name in results (`point_selects`); statements of one kind share a histogram.
    pub kind: String,
    /// The text in pieces.
    pub pieces: Vec<Piece>,
    /// Sent as text even where the stream's protocol is [`Protocol::Prepared`].
    pub text_only: bool,
    /// Slots that receive the columns of the first row of the result, in order. Without a row they become
    /// NULL.
    pub keep: Vec<SlotIndex>,
    /// What a right reply looks like; otherwise it is counted as `not found` or `unchanged`.
    pub expect: Expect,
}

/// A piece of a statement's text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Piece {
    /// Text as it is.
    Sql(String),
    /// A value: `?` and a parameter when prepared, a quoted literal as text.
    Parameter(Operand),
    /// The table number in this slot, written as digits. One prepared statement is kept for each table.
    Table(SlotIndex),
    /// A value written into the text without quotes; makes the statement [`Statement::text_only`].
    Inline(Operand),
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Operand {
    /// What a slot holds.
    Slot(SlotIndex),
    /// The integer that a slot holds, plus a number (`id + range_size - 1`).
    SlotPlus(SlotIndex, i64),
    /// Drawn again each time.
    Draw(Draw),
}

/// A value drawn at random or by rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Draw {
    /// An integer from `min` to `max`, both included.
    Integer {
        /// Lowest.
        min: i64,
        /// Highest.
        max: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
    /// An integer from the connection's own share of `min` to `max`: connection `c` (from 0) of `n` draws
    /// from `min + (max - min) * c / n` to `min + (max - min) * (c + 1) / n`, both included and rounded
    /// down, so that neighbours share only the number at their border (sysbench's
    /// `select_random_points`).
    IntegerOfConnection {
        /// Lowest of the whole range.
        min: i64,
        /// Highest of the whole range.
        max: i64,
        /// How they are distributed within the share.
        distribution: Distribution,
    },
    /// A table number, uniform from 1 to [`Workload::tables`].
    Table,
    /// A fixed table number for each connection: connection `n` (from 0) has table `n % tables + 1`.
    TableOfConnection,
    /// A number in `min` to `max`, uniform, with fraction.
    Real {
        /// Lowest.
        min: f64,
        /// Highest, excluded.
        max: f64,
    },
    /// Text made from a pattern: `#` becomes a random digit, `@` a random letter a to z, all else stays.
    Pattern(String),
    /// Random letters and digits; the length is uniform from `min` to `max`.
    Text {
        /// Shortest.
        min: u32,
        /// Longest.
        max: u32,
    },
    /// One of these, each as likely as the others.
    Choice(Vec<Literal>),
    /// One of these, each by its weight, which is above 0.
    Weighted(Vec<(Literal, f64)>),
    /// A date as text, `2024-02-29`; days count from 1970-01-01.
    Date {
        /// Earliest.
        first: i64,
        /// Latest.
        last: i64,
        /// How they are distributed.
        distribution: Distribution,
    },
    /// Numbers that never repeat in one load, in an order that looks random, over all connections (a
    /// permutation of 32 bits), plus `offset`.
    Unique {
        /// Added to a number from 0 to 2^32 - 1.
        offset: i64,
    },
    /// Numbers that count up from `first`, over all connections. Of several parts of a load, number `p` of
    /// `n` has each `n`th of them, from the `p`th on.
    Sequence {
        /// The first.
        first: i64,
    },
    /// Number of the connection in its stream, from 0.
    Connection,
    /// The connection's own number of a range: connections `n` (from 0) to `n + each - 1` have the same, the
    /// next ones the next, and behind the last comes the first again.
    OwnOf {
        /// Lowest.
        min: i64,
        /// Highest.
        max: i64,
        /// How many connections in a row have the same, 1 or more.
        each: u32,
    },
    /// The number that a slot holds; but in so many of 100 draws any other of a range, uniform, where there
    /// is another.
    Near {
        /// The slot, filled by an earlier step.
        slot: SlotIndex,
        /// Lowest of the others.
        min: i64,
        /// Highest.
        max: i64,
        /// How often it is another, 0 to 100.
        other_percent: u32,
    },
    /// The number of a row of which a column holds what a slot holds; NULL where there is none. The draw
    /// belongs into a slot: [`Step::Draw`].
    RowWith {
        /// The slot, filled by an earlier step.
        slot: SlotIndex,
        /// The rows.
        rows: RowsWith,
    },
    /// One of the 1,000 last names of TPC-C (specification 5.11, 4.3.2.3), by its number from 0 to 999.
    LastName {
        /// How the numbers are distributed.
        distribution: Distribution,
    },
    /// A fixed value.
    Literal(Literal),
}

/// Rows of a table with what a column of them holds: a function of the rows' numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsWith {
    /// Of the column's generators: see [`crate::random::of_row`].
    pub key: u64,
    /// How many rows there are.
    pub count: u32,
    /// Number of the first one.
    pub first: i64,
    /// Share of the rows in which the column is NULL, which is drawn first.
    pub null: f64,
    /// Lowest value.
    pub min: i64,
    /// Highest value.
    pub max: i64,
    /// How the values are distributed.
    pub distribution: Distribution,
}

/// A fixed value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Literal {
    /// SQL NULL.
    Null,
    /// A signed integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text.
    Text(String),
}

/// What a right reply has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Anything that is not an error.
    #[default]
    Anything,
    /// At least one row; none is counted as `not_found`.
    Row,
    /// At least one affected row; none is counted as `unchanged`.
    Change,
}
