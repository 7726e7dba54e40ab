//! What each neighbour sends. A table is taken by its size, not by its name: whatever the others work on.

use super::{ALTER, DELETE, KILL, READ, ROWS, SORT, TABLE};
use crate::layout::{DataSet, Layout as _, quoted};
use load::spec::{
    Comparison, Condition, Draw, Expect, Literal, Operand, Piece, SlotIndex, Statement, Step, Transaction,
    Workload,
};

/// How often one snapshot is read before the next one is taken: more often than a trial lasts.
const READS: i64 = 10_000;
/// How long a transaction holds its first lock before it asks for the second one, s: the other one gets its
/// first one meanwhile.
const HOLD_S: &str = "0.02";
/// Rows that a session has changed when it is killed.
const CHANGED: u64 = 500;
/// Rows that a temporary table is made of.
const SORTED: u64 = 5_000;
/// Temporary tables in memory have at most these bytes for whoever makes them on disk: the least that all
/// servers take.
const IN_MEMORY: u32 = 16_384;
/// Rows below are those that stay; what is deleted in bulk stands above, apart for each connection.
const ABOVE: u64 = 1_000_000;

/// The workload of this name beside a load on these tables; of one that is none of the neighbours', nothing.
#[must_use]
pub fn workload(name: &str, others: &DataSet) -> Workload {
    let steps = match name {
        "idle_transactions" => vec![snapshot(), sql("look", "SELECT 1")],
        "long_read" => long_read(others),
        "deadlocks" => deadlock(),
        "disk_tables" => disk_table(),
        "killed_sessions" => killed(),
        "failed_logins" => vec![sql("login", "DO 0")],
        "alter_online" => alter(others, "INPLACE, LOCK=NONE"),
        "alter_copy" => alter(others, "COPY"),
        "logical_backup" => backup(others),
        "bulk_delete" => bulk_delete(),
        _ => Vec::new(),
    };
    let tables = if name == "logical_backup" { others.numbered() } else { 1 };
    let transaction = Transaction { name: name.to_owned(), weight: 1.0, steps };
    Workload::new(name, tables.max(1), vec![transaction])
}

fn long_read(others: &DataSet) -> Vec<Step> {
    let times = Operand::Draw(constant(READS));
    let read = sql(READ, &read_all(&largest(others), others));
    vec![snapshot(), Step::Repeat { times, number: None, steps: vec![read] }, commit()]
}

/// A query that reads every row, and not only an index.
fn read_all(table: &str, others: &DataSet) -> String {
    let columns = others.columns(table).unwrap_or_else(|| vec!["body".to_owned()]);
    let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    format!("SELECT COUNT(*) FROM {} WHERE CONCAT_WS(',', {}) IS NULL", quoted(table), columns.join(", "))
}

/// The table with most bytes that the others work on; where nobody knows them, the neighbours' own.
fn largest(others: &DataSet) -> String {
    let of_files = |files: &crate::layout::files::Data| {
        files.made.iter().max_by_key(|table| table.rows).map(|table| table.name.clone())
    };
    let of_tables = || {
        let tables = others.tables().into_iter().filter(|table| others.columns(&table.name).is_some());
        tables.max_by_key(|table| table.rows * table.row_bytes).map(|table| table.name)
    };
    others.files().map_or_else(of_tables, of_files).unwrap_or_else(|| TABLE.to_owned())
}

/// Two transactions that are connections after each other meet in two rows, which both lock: the one from
/// the first to the second, the other the other way.
fn deadlock() -> Vec<Step> {
    const PLACE: SlotIndex = 0;
    const FIRST: SlotIndex = 1;
    const SECOND: SlotIndex = 2;
    let lock = |kind: &str, slot: SlotIndex| {
        let text = format!("SELECT id FROM {TABLE} WHERE id = ");
        let pieces = vec![
            Piece::Sql(text),
            Piece::Parameter(Operand::Slot(slot)),
            Piece::Sql(" FOR UPDATE".to_owned()),
        ];
        statement(kind, pieces)
    };
    let draw = |slot, draw| Step::Draw { slot, draw };
    let is_first =
        Condition { left: Operand::Slot(PLACE), is: Comparison::Equal, right: Operand::Draw(constant(1)) };
    let order = |first: i64| vec![draw(FIRST, constant(first)), draw(SECOND, constant(3 - first))];
    vec![
        draw(PLACE, Draw::OwnOf { min: 1, max: 2, each: 1 }),
        Step::If { condition: is_first, then: order(1), otherwise: order(2) },
        sql("begin", "BEGIN"),
        lock("lock", FIRST),
        sql("hold", &format!("DO SLEEP({HOLD_S})")),
        lock("cross", SECOND),
        commit(),
    ]
}

fn disk_table() -> Vec<Step> {
    vec![
        sql("set", &format!("SET SESSION tmp_table_size = {IN_MEMORY}, max_heap_table_size = {IN_MEMORY}")),
        sql(
            SORT,
            // MySQL 8.0 and later keep more than `tmp_table_size` in memory unless they are told; a hint
            // needs no privilege, and other servers pass over it
            &format!(
                "SELECT /*+ SET_VAR(big_tables=ON) */ COUNT(*) FROM (SELECT DISTINCT body FROM {TABLE} \
                 WHERE id <= {SORTED}) AS sorted"
            ),
        ),
    ]
}

fn killed() -> Vec<Step> {
    const OWN: SlotIndex = 0;
    let own = || Piece::Parameter(Operand::Slot(OWN));
    let text = |text: String| Piece::Sql(text);
    let pieces = vec![
        text(format!("UPDATE {TABLE} SET body = REVERSE(body) WHERE id BETWEEN 1000 + {CHANGED} * ")),
        own(),
        text(format!(" AND {} + {CHANGED} * ", 1000 + CHANGED - 1)),
        own(),
    ];
    vec![
        Step::Draw { slot: OWN, draw: Draw::Connection },
        sql("begin", "BEGIN"),
        statement("update", pieces),
        sql(KILL, "KILL CONNECTION_ID()"),
    ]
}

fn alter(others: &DataSet, how: &str) -> Vec<Step> {
    vec![sql(ALTER, &format!("ALTER TABLE {} FORCE, ALGORITHM={how}", quoted(&largest(others))))]
}

fn backup(others: &DataSet) -> Vec<Step> {
    const NUMBER: SlotIndex = 0;
    let read = |pieces| statement(READ, pieces);
    let names = others.table_names();
    let numbered = others.numbered();
    let prefix = names.first().and_then(|name| name.strip_suffix('1')).filter(|_| numbered > 1);
    let mut steps = vec![snapshot()];
    match prefix {
        Some(prefix) => steps.push(Step::Repeat {
            times: Operand::Draw(constant(i64::from(numbered))),
            number: Some(NUMBER),
            steps: vec![read(vec![Piece::Sql(format!("SELECT * FROM {prefix}")), Piece::Table(NUMBER)])],
        }),
        None if names.is_empty() => steps.push(sql(READ, &format!("SELECT * FROM {TABLE}"))),
        None => steps.extend(names.iter().map(|name| sql(READ, &format!("SELECT * FROM {}", quoted(name))))),
    }
    steps.push(commit());
    steps
}

fn bulk_delete() -> Vec<Step> {
    const OWN: SlotIndex = 0;
    let own = || Piece::Parameter(Operand::Slot(OWN));
    let text = |text: String| Piece::Sql(text);
    vec![
        Step::Draw { slot: OWN, draw: Draw::Connection },
        statement(
            "fill",
            vec![
                text(format!("INSERT IGNORE INTO {TABLE} (id, body) SELECT id + {ABOVE} * (1 + ")),
                own(),
                text(format!("), body FROM {TABLE} WHERE id <= {ROWS}")),
            ],
        ),
        statement(
            DELETE,
            vec![
                text(format!("DELETE FROM {TABLE} WHERE id BETWEEN {ABOVE} * (1 + ")),
                own(),
                text(format!(") AND {ROWS} + {ABOVE} * (1 + ")),
                own(),
                text(")".to_owned()),
            ],
        ),
    ]
}

fn constant(number: i64) -> Draw {
    Draw::Literal(Literal::Integer(number))
}

/// A transaction that sees the data as they are now.
fn snapshot() -> Step {
    sql("begin", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
}

fn commit() -> Step {
    sql("commit", "COMMIT")
}

fn sql(kind: &str, text: &str) -> Step {
    statement(kind, vec![Piece::Sql(text.to_owned())])
}

fn statement(kind: &str, pieces: Vec<Piece>) -> Step {
    let kind = kind.to_owned();
    Step::Statement(Statement { kind, pieces, text_only: true, keep: Vec::new(), expect: Expect::Anything })
}
