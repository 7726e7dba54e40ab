//! How a file of an older format becomes one of the next. What was released is never changed.

use super::{
    codec,
    parts::{self, FAILED, Kind, Part},
};
use rusqlite::{Row, Transaction, params};
use serde_json::json;
use sha2::{Digest, Sha256};

/// The first format: a table for each kind of thing, without checksums.
pub(super) fn first(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "
    CREATE TABLE run (
        id              INTEGER PRIMARY KEY AUTOINCREMENT,
        name            TEXT NOT NULL,
        title           TEXT NOT NULL,
        started         TEXT NOT NULL,            -- RFC 3339, UTC
        finished        TEXT,
        prony_version   TEXT NOT NULL,
        trials_planned  INTEGER NOT NULL,
        plan            BLOB NOT NULL,            -- JSON, zlib
        machine         BLOB NOT NULL             -- JSON, zlib
    );
    CREATE TABLE server (
        run             INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
        number          INTEGER NOT NULL,         -- place in the plan
        description     BLOB,                     -- JSON, zlib
        status_after    BLOB,                     -- JSON, zlib
        PRIMARY KEY (run, number)
    );
    CREATE TABLE data_set (
        run             INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
        server          INTEGER NOT NULL,
        number          INTEGER NOT NULL,         -- place in the plan
        took_ns         INTEGER NOT NULL,
        PRIMARY KEY (run, server, number)
    );
    CREATE TABLE trial (
        run             INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
        number          INTEGER NOT NULL,         -- place in the order of execution
        trial           TEXT NOT NULL,            -- JSON
        started         TEXT NOT NULL,            -- RFC 3339, UTC
        state           TEXT NOT NULL,            -- measured, failed
        outcome         BLOB NOT NULL,            -- JSON, zlib
        samples         BLOB NOT NULL,            -- see store/seconds.rs
        readings        BLOB NOT NULL,            -- JSON, zlib
        PRIMARY KEY (run, number)
    );
",
    )
}

/// The second format: one table of parts with checksums; runs have names that are the same in every store,
/// labels, a note, a process that they belong to.
pub(super) fn parts(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "
    ALTER TABLE run RENAME TO run_1;
    CREATE TABLE run (
        id              INTEGER PRIMARY KEY AUTOINCREMENT,
        uid             TEXT NOT NULL UNIQUE,     -- the same in every store that has this run
        name            TEXT NOT NULL,
        title           TEXT NOT NULL,
        origin          TEXT NOT NULL,            -- which program measured: prony, sysbench, ...
        started         TEXT NOT NULL,            -- RFC 3339, UTC
        finished        TEXT,
        prony_version   TEXT NOT NULL,
        trials_planned  INTEGER NOT NULL,
        trials_measured INTEGER NOT NULL DEFAULT 0,
        trials_failed   INTEGER NOT NULL DEFAULT 0,
        labels          TEXT NOT NULL DEFAULT '[]', -- JSON
        note            TEXT NOT NULL DEFAULT '',
        resumed         TEXT NOT NULL DEFAULT '[]', -- JSON
        owner           TEXT,                     -- JSON: the process that carries it out
        contents        INTEGER NOT NULL DEFAULT 0, -- sum of the checksums of its parts
        checksum        INTEGER NOT NULL DEFAULT 0  -- of all other columns but id
    );
    CREATE TABLE part (
        run             INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
        kind            TEXT NOT NULL,
        number          INTEGER NOT NULL,
        place           INTEGER NOT NULL,
        checksum        INTEGER NOT NULL,         -- CRC-32 of kind, number, place, bytes
        bytes           BLOB NOT NULL,
        PRIMARY KEY (run, kind, number, place)
    );
    CREATE TABLE seal (
        runs            INTEGER NOT NULL,
        checksum        INTEGER NOT NULL          -- sum of those of all runs
    );
",
    )?;
    move_runs(transaction)?;
    move_parts(transaction)?;
    let ids: Vec<i64> = transaction
        .prepare("SELECT id FROM run")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in ids {
        parts::seal(transaction, id)?;
    }
    // A number is never given twice, not even that of a run that was removed before.
    transaction.execute(
        "UPDATE sqlite_sequence SET seq = (SELECT max(seq) FROM sqlite_sequence WHERE name IN ('run', \
         'run_1'))
         WHERE name = 'run'",
        [],
    )?;
    transaction.execute_batch("DROP TABLE trial; DROP TABLE data_set; DROP TABLE server; DROP TABLE run_1;")
}

fn move_runs(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(
        "SELECT id, name, title, started, finished, prony_version, trials_planned, plan, machine FROM run_1",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, plan, machine): (i64, Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(7)?, row.get(8)?);
        let started: String = row.get(3)?;
        // The same run gets the same name wherever its store is brought to this format.
        let uid = uid(&[started.as_bytes(), &plan, &machine]);
        let text = |column: usize| row.get::<_, Option<String>>(column);
        transaction.execute(
            "INSERT INTO run (id, uid, origin, name, title, started, finished, prony_version, \
             trials_planned)
             VALUES (?, ?, 'prony', ?, ?, ?, ?, ?, ?)",
            params![id, uid, text(1)?, text(2)?, started, text(4)?, text(5)?, row.get::<_, i64>(6)?],
        )?;
        for (kind, bytes) in [(Kind::Plan, plan), (Kind::Machine, machine)] {
            parts::put(transaction, id, &Part { kind, number: 0, place: 0, bytes })?;
        }
    }
    Ok(())
}

/// A name that no other run has: 32 hexadecimal digits of a hash.
pub(super) fn uid(of: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    of.iter().for_each(|bytes| hash.update(bytes));
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn move_parts(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let of_servers = |row: &Row<'_>| {
        let place = (Kind::Server, Kind::Status);
        Ok(vec![(place.0, 0, row.get::<_, Option<Vec<u8>>>(2)?), (place.1, 0, row.get(3)?)])
    };
    move_table(transaction, "SELECT run, number, description, status_after FROM server", of_servers)?;
    let of_data = |row: &Row<'_>| {
        let took_ns = json!({ "took_ns": row.get::<_, i64>(2)? });
        Ok(vec![(Kind::DataSet, row.get::<_, i64>(3)?, Some(codec::pack(&took_ns)))])
    };
    move_table(transaction, "SELECT run, server, took_ns, number FROM data_set", of_data)?;
    let of_trials = |row: &Row<'_>| {
        let trial: String = row.get(2)?;
        let trial: serde_json::Value = serde_json::from_str(&trial).unwrap_or_default();
        let begun = json!({ "trial": trial, "started": row.get::<_, String>(3)? });
        let state = if row.get::<_, String>(4)? == "failed" { FAILED } else { 0 };
        Ok(vec![
            (Kind::Trial, state, Some(codec::pack(&begun))),
            (Kind::Outcome, 0, row.get(5)?),
            (Kind::Samples, 0, row.get(6)?),
            (Kind::Readings, 0, row.get(7)?),
        ])
    };
    move_table(
        transaction,
        "SELECT run, number, trial, started, state, outcome, samples, readings FROM trial",
        of_trials,
    )
}

/// Kind, place, bytes.
type Moved = (Kind, i64, Option<Vec<u8>>);

fn move_table(
    transaction: &Transaction<'_>,
    sql: &str,
    parts_of: impl Fn(&Row<'_>) -> rusqlite::Result<Vec<Moved>>,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (run, number): (i64, i64) = (row.get(0)?, row.get(1)?);
        for (kind, place, bytes) in parts_of(row)? {
            if let Some(bytes) = bytes {
                parts::put(transaction, run, &Part { kind, number, place, bytes })?;
            }
        }
    }
    Ok(())
}
