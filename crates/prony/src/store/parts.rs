//! Everything that a run has is in one table of parts, each with a checksum. A run has the sum of its parts,
//! and the store has the sum of its runs. So a flipped bit and a vanished row are found when they are read,
//! whatever SQLite thinks of them.
//!
//! A new kind of part needs a variant of [`Kind`] and no change of the format.

use super::{damage::Damage, error::Error};
use flate2::Crc;
use rusqlite::{Connection, OptionalExtension, Transaction, params, types::ValueRef};
use std::path::Path;

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The plan, as JSON.
    Plan,
    /// The machine, as JSON.
    Machine,
    /// A server's description, as JSON; its number is the place in the plan.
    Server,
    /// A server's status at its end, as JSON.
    Status,
    /// The networks before a server and what of it was used, as JSON.
    Surroundings,
    /// How long loading data took, as JSON; the number is the server's, the place the data set's.
    DataSet,
    /// What a run noted, as JSON; numbers are in the order of the telling.
    Note,
    /// In which state a trial found its server, as JSON.
    Began,
    /// Which trial began when, as JSON; the place is 1 where it failed.
    Trial,
    /// What came of a trial, as JSON.
    Outcome,
    /// The seconds of a trial.
    Samples,
    /// The readings of a trial, by column.
    Readings,
}

impl Kind {
    /// Every kind.
    pub(super) const ALL: [Self; 12] = [
        Self::Plan,
        Self::Machine,
        Self::Server,
        Self::Status,
        Self::Surroundings,
        Self::DataSet,
        Self::Note,
        Self::Began,
        Self::Trial,
        Self::Outcome,
        Self::Samples,
        Self::Readings,
    ];

    /// As it is called in the file and in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Machine => "machine",
            Self::Server => "server",
            Self::Status => "status",
            Self::Surroundings => "surroundings",
            Self::DataSet => "data set",
            Self::Note => "note",
            Self::Began => "began",
            Self::Trial => "trial",
            Self::Outcome => "outcome",
            Self::Samples => "samples",
            Self::Readings => "readings",
        }
    }
}

/// One part of a run.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// Of what: the trial's number, the server's place in the plan.
    pub(super) number: i64,
    /// What else tells it from others of its kind and number.
    pub(super) place: i64,
    pub(super) bytes: Vec<u8>,
}

/// Where a failed trial differs from a measured one.
pub(super) const FAILED: i64 = 1;

/// Keeps a part, instead of the one that may be there.
pub(super) fn put(transaction: &Transaction<'_>, run: i64, part: &Part) -> rusqlite::Result<()> {
    let checksum = checksum(part.kind.name(), part.number, part.place, &part.bytes);
    let Part { kind, number, place, bytes } = part;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO part (run, kind, number, place, checksum, bytes) VALUES (?, ?, ?, ?, ?, \
             ?)",
        )?
        .execute(params![run, kind.name(), number, place, checksum, bytes])
        .map(drop)
}

/// Parts of one kind, by number and place.
pub(super) fn read(connection: &Connection, path: &Path, run: i64, kind: Kind) -> Result<Vec<Part>, Error> {
    select(connection, path, run, kind, "")
}

/// The part of a kind with this number.
pub(super) fn read_one(
    connection: &Connection,
    path: &Path,
    run: i64,
    kind: Kind,
    number: i64,
) -> Result<Option<Part>, Error> {
    Ok(select(connection, path, run, kind, &format!("AND number = {number}"))?.pop())
}

fn select(connection: &Connection, path: &Path, run: i64, kind: Kind, and: &str) -> Result<Vec<Part>, Error> {
    let read = || -> rusqlite::Result<Vec<(Part, i64)>> {
        let mut statement = connection.prepare_cached(&format!(
            "SELECT number, place, checksum, bytes FROM part WHERE run = ? AND kind = ? {and} ORDER BY \
             number, place",
        ))?;
        let part = |row: &rusqlite::Row<'_>| {
            let part = Part { kind, number: row.get(0)?, place: row.get(1)?, bytes: row.get(3)? };
            Ok((part, row.get(2)?))
        };
        statement.query_map(params![run, kind.name()], part)?.collect()
    };
    let found = read().map_err(|source| Error::from_sqlite(path, source))?;
    let checked = found.into_iter().map(|(part, checksum)| {
        if checksum == self::checksum(kind.name(), part.number, part.place, &part.bytes) {
            return Ok(part);
        }
        let what = format!("{} of {}", kind.name(), part.number);
        Err(damaged(path, Damage::Checksum.of_run(run, what)))
    });
    checked.collect()
}

fn checksum(kind: &str, number: i64, place: i64, bytes: &[u8]) -> i64 {
    let mut crc = Crc::new();
    crc.update(kind.as_bytes());
    crc.update(&number.to_le_bytes());
    crc.update(&place.to_le_bytes());
    crc.update(bytes);
    i64::from(crc.sum())
}

pub(super) fn damaged(path: &Path, what: Damage) -> Error {
    Error::Damaged { path: path.to_owned(), what }
}

/// Updates the sums after something of a run was written, and counts its trials. Call it in every transaction
/// that writes. For a run that was removed, only the store's sum changes.
pub(super) fn seal(transaction: &Transaction<'_>, run: i64) -> rusqlite::Result<()> {
    transaction.execute(
        "UPDATE run SET
            contents = (SELECT coalesce(sum(checksum), 0) FROM part WHERE run = id),
            trials_measured = (SELECT count(*) FROM part WHERE run = id AND kind = 'trial' AND place = 0),
            trials_failed = (SELECT count(*) FROM part WHERE run = id AND kind = 'trial' AND place = 1)
         WHERE id = ?",
        [run],
    )?;
    if let Some(checksum) = of_run(transaction, run)? {
        transaction.execute("UPDATE run SET checksum = ? WHERE id = ?", params![checksum, run])?;
    }
    transaction.execute("DELETE FROM seal", [])?;
    transaction.execute("INSERT INTO seal SELECT count(*), coalesce(sum(checksum), 0) FROM run", []).map(drop)
}

/// Checksum of everything in a run's own row but the checksum; `None`: there is no such run.
fn of_run(connection: &Connection, run: i64) -> rusqlite::Result<Option<i64>> {
    let sum = |row: &rusqlite::Row<'_>| {
        let mut crc = Crc::new();
        for (column, name) in (0..).zip(row.as_ref().column_names()) {
            match row.get_ref(column)? {
                // numbers differ between stores that have the same run
                _ if matches!(name, "id" | "checksum") => {}
                ValueRef::Null => crc.update(&[0]),
                ValueRef::Integer(number) => crc.update(&number.to_le_bytes()),
                ValueRef::Real(number) => crc.update(&number.to_le_bytes()),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    crc.update(&(bytes.len() as u64).to_le_bytes());
                    crc.update(bytes);
                }
            }
        }
        Ok(i64::from(crc.sum()))
    };
    connection.prepare_cached("SELECT * FROM run WHERE id = ?")?.query_row([run], sum).optional()
}

/// Sum of the checksums of a run's parts, each found as [`read`] finds it, so that none counts that would not
/// be read. Kinds that this Prony does not know may be a newer one's, if they are whole; `None`: one is not.
fn sum_of_parts(connection: &Connection, run: i64) -> rusqlite::Result<Option<i64>> {
    let mut sum = 0;
    for kind in Kind::ALL {
        sum += connection
            .prepare_cached("SELECT coalesce(sum(checksum), 0) FROM part WHERE run = ? AND kind = ?")?
            .query_row(params![run, kind.name()], |row| row.get::<_, i64>(0))?;
    }
    let known = Kind::ALL.map(|kind| format!("'{}'", kind.name())).join(", ");
    let unknown = format!(
        "SELECT kind, number, place, checksum, bytes FROM part WHERE run = ? AND kind NOT IN ({known})"
    );
    let mut statement = connection.prepare_cached(&unknown)?;
    let mut rows = statement.query([run])?;
    while let Some(row) = rows.next()? {
        let (kind, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(4)?);
        let written: i64 = row.get(3)?;
        if checksum(&kind, row.get(1)?, row.get(2)?, &bytes) != written {
            return Ok(None);
        }
        sum += written;
    }
    Ok(Some(sum))
}

/// Whether a run's row is as it was written, and no part of it is missing.
pub(super) fn check_run(connection: &Connection, path: &Path, run: i64) -> Result<(), Error> {
    let check = || -> rusqlite::Result<bool> {
        let (checksum, contents): (i64, i64) = connection
            .prepare_cached("SELECT checksum, contents FROM run WHERE id = ?")?
            .query_row([run], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let parts = sum_of_parts(connection, run)?;
        Ok(of_run(connection, run)? == Some(checksum) && parts == Some(contents))
    };
    match check() {
        Ok(true) => Ok(()),
        Ok(false) => Err(damaged(path, Damage::Run(run))),
        Err(source) => Err(Error::from_sqlite(path, source)),
    }
}

/// Whether the list of runs is as it was written.
pub(super) fn check_list(connection: &Connection, path: &Path) -> Result<(), Error> {
    let check = || -> rusqlite::Result<bool> {
        let sealed: Option<(i64, i64)> = connection
            .query_row("SELECT runs, checksum FROM seal", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let found =
            connection.query_row("SELECT count(*), coalesce(sum(checksum), 0) FROM run", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        Ok(sealed.unwrap_or_default() == found)
    };
    match check() {
        Ok(true) => Ok(()),
        Ok(false) => Err(damaged(path, Damage::Runs)),
        Err(source) => Err(Error::from_sqlite(path, source)),
    }
}
