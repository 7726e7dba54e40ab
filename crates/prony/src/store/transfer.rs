//! Runs from one store into another. A file with one run is a store with one run: it has the same format,
//! checksums and compression, and may be of any older format. A run keeps its global name, so none comes
//! twice.

use super::{
    Store, codec,
    damage::Damage,
    error::Error,
    parts::{self, FAILED, Kind, Part},
    record::Begun,
    schema,
    seconds::PackedSamples,
};
use crate::{
    plan::{Plan, Trial},
    run::TrialOutcome,
    telemetry::{Machine, Reading},
};
use jiff::Timestamp;
use load::Sample;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// What came of reading runs from another file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Number there and number here of each run that was taken.
    pub taken: Vec<(i64, i64)>,
    /// The same of those that were here before.
    pub known: Vec<(i64, i64)>,
}

/// A trial that another program measured.
#[derive(Debug, Clone)]
pub struct ForeignTrial {
    /// Which.
    pub trial: Trial,
    /// When it began, UTC.
    pub started: Timestamp,
    /// What came of it.
    pub outcome: TrialOutcome,
    /// As [`TrialRecord::told`](super::TrialRecord::told).
    pub told: BTreeMap<String, f64>,
    /// Its seconds.
    pub samples: Vec<Sample>,
}

impl Store {
    /// Writes run `id` to a new file.
    ///
    /// # Errors
    /// When there is no such run, the run is damaged, or the file is there or cannot be written.
    pub fn export(&self, id: i64, target: &Path) -> Result<(), Error> {
        if target.exists() {
            return Err(Error::Exists { path: target.to_owned() });
        }
        // read whole: what is damaged must not get a fresh checksum
        self.run(id)?;
        let unfinished = Temporary::beside(target);
        let mut store = Self::open(unfinished.path())?;
        store.copy(&self.path, &[id])?;
        let closed = store.connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()));
        closed.map_err(|source| Error::from_sqlite(target, source))?;
        drop(store);
        fs::rename(unfinished.path(), target)
            .map_err(|cause| Error::Open { path: target.to_owned(), reason: cause.to_string() })
    }

    /// Takes all runs of another file that are not here yet. The file stays as it is.
    ///
    /// # Errors
    /// When it does not belong to Prony, is damaged, or has a newer format, or this one cannot be written;
    /// then nothing was taken.
    pub fn take(&mut self, source: &Path) -> Result<Transfer, Error> {
        let copy = Temporary::beside(&self.path);
        snapshot(source, copy.path())?;
        let other = Self::open(copy.path())?;
        let of_source = |error| match error {
            Error::Damaged { what, .. } => Error::Damaged { path: source.to_owned(), what },
            other => other,
        };
        let mut runs = other.list().map_err(of_source)?;
        runs.reverse();
        let here = self.list()?;
        let mut transfer = Transfer::default();
        for run in runs {
            match here.iter().find(|known| known.uid == run.uid) {
                Some(known) => transfer.known.push((run.id, known.id)),
                None => {
                    other.refuse_bomb(run.id).map_err(of_source)?;
                    other.run(run.id).map_err(of_source)?;
                    transfer.taken.push((run.id, 0));
                }
            }
        }
        drop(other);
        let ids: Vec<i64> = transfer.taken.iter().map(|(there, _)| *there).collect();
        let copied = self.copy(copy.path(), &ids)?;
        for ((_, here), id) in transfer.taken.iter_mut().zip(copied) {
            *here = id;
        }
        Ok(transfer)
    }

    /// Stores a run that another program measured, at a time that only people know.
    ///
    /// # Errors
    /// When it cannot be written; then nothing of it is kept.
    pub fn add(
        &mut self,
        origin: &str,
        measured: Timestamp,
        plan: &Plan,
        trials: &[ForeignTrial],
    ) -> Result<i64, Error> {
        let id = self.begin_of(origin, measured, plan, &Machine::default())?;
        let mut parts = Vec::new();
        for trial in trials {
            let number = i64::from(trial.trial.number);
            let mut samples = PackedSamples::default();
            trial.samples.iter().for_each(|sample| samples.push(sample));
            let ForeignTrial { trial, started, outcome, told, .. } = trial;
            let begun = Begun { trial: *trial, started: *started, told: told.clone() };
            let state = if matches!(outcome, TrialOutcome::Failed(_)) { FAILED } else { 0 };
            parts.extend([
                Part { kind: Kind::Trial, number, place: state, bytes: codec::pack(&begun) },
                Part { kind: Kind::Outcome, number, place: 0, bytes: codec::pack(outcome) },
                Part { kind: Kind::Samples, number, place: 0, bytes: samples.finish() },
                Part { kind: Kind::Readings, number, place: 0, bytes: codec::pack_rows::<Reading>(&[]) },
            ]);
        }
        self.write_run(id, |transaction| {
            parts.iter().try_for_each(|part| parts::put(transaction, id, part))
        })?;
        self.finish(id, measured)?;
        Ok(id)
    }

    /// Reads nothing of a run that would fill the memory, though each of its parts may be read.
    fn refuse_bomb(&self, id: i64) -> Result<(), Error> {
        /// What is always allowed to a run.
        const RUN_LEAST: u64 = 512 << 20;
        let (mut packed, mut plain) = (0, 0);
        for kind in Kind::ALL {
            for part in parts::read(&self.connection, &self.path, id, kind)? {
                packed += part.bytes.len();
                plain += self.understood(id, kind.name(), codec::plain_bytes(&part.bytes))?;
            }
        }
        if plain <= codec::plain_max(packed, RUN_LEAST) {
            return Ok(());
        }
        self.understood(id, "run", Err(Damage::TooLarge { mebibytes: plain >> 20 }))
    }

    /// Copies runs of another file of the same format, and returns their numbers here.
    fn copy(&mut self, source: &Path, ids: &[i64]) -> Result<Vec<i64>, Error> {
        let name = source.to_string_lossy().into_owned();
        self.connection.execute("ATTACH DATABASE ? AS source", [name]).map_err(|error| self.fault(error))?;
        // Not one that takes locks at once: it would take the source's too, which others write to. The first
        // statement takes ours.
        let copied = self.transact(TransactionBehavior::Deferred, |transaction| {
            ids.iter().map(|&id| copy_run(transaction, id)).collect()
        });
        self.connection.execute("DETACH DATABASE source", []).map_err(|error| self.fault(error))?;
        copied
    }
}

fn copy_run(transaction: &Transaction<'_>, there: i64) -> rusqlite::Result<i64> {
    transaction.execute(
        "INSERT INTO main.run (uid, name, title, origin, started, finished, prony_version, trials_planned, \
         labels,
                               note, resumed)
         SELECT uid, name, title, origin, started, finished, prony_version, trials_planned, labels, note, \
         resumed
         FROM source.run WHERE id = ?",
        [there],
    )?;
    let here = transaction.last_insert_rowid();
    transaction.execute(
        "INSERT INTO main.part (run, kind, number, place, checksum, bytes)
         SELECT ?, kind, number, place, checksum, bytes FROM source.part WHERE run = ?",
        params![here, there],
    )?;
    parts::seal(transaction, here)?;
    Ok(here)
}

/// A copy of a store at one moment, which may be in use.
fn snapshot(source: &Path, target: &Path) -> Result<(), Error> {
    let fault = |error| Error::from_sqlite(source, error);
    let connection = schema::open_to_read(source)?;
    schema::check(&connection, source)?;
    let has_runs = connection
        .query_row("SELECT 1 FROM sqlite_master WHERE name = 'run'", [], |_| Ok(()))
        .optional()
        .map_err(fault)?;
    if has_runs.is_none() {
        return Err(Error::Foreign { path: source.to_owned() });
    }
    connection.execute("VACUUM INTO ?", [target.to_string_lossy().into_owned()]).map(drop).map_err(fault)
}

/// A database file that goes away, with what SQLite puts beside it.
struct Temporary(PathBuf);

impl Temporary {
    fn beside(path: &Path) -> Self {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".part-{}", std::process::id()));
        let temporary = Self(path.with_file_name(name));
        temporary.remove();
        temporary
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn remove(&self) {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut name = self.0.clone().into_os_string();
            name.push(end);
            // what is not there need not be removed
            let _ = fs::remove_file(name);
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write as _;

    #[test]
    fn a_run_whose_parts_come_to_more_than_any_run_has_is_not_taken() {
        const PIECE: usize = 20 << 20;
        let directory = tempfile::tempdir().unwrap();
        let (path, here) = (directory.path().join("bomb"), directory.path().join("here"));
        // spaces around nothing are JSON: each part alone may be read
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        (0..PIECE >> 20).for_each(|_| encoder.write_all(&[b' '; 1 << 20]).unwrap());
        encoder.write_all(b"null").unwrap();
        let packed = encoder.finish().unwrap();
        let count = (1_000 << 20) / PIECE as i64;
        let mut bomb = Store::open(&path).unwrap();
        let run = "INSERT INTO run (id, uid, name, title, origin, started, prony_version, trials_planned)
                   VALUES (1, 'x', '', '', '', '2026-03-01T00:00:00Z', '', 0)";
        bomb.write_run(1, |transaction| {
            transaction.execute(run, [])?;
            (0..count).try_for_each(|number| {
                let part = Part { kind: Kind::Note, number, place: 0, bytes: packed.clone() };
                parts::put(transaction, 1, &part)
            })
        })
        .unwrap();
        assert!(codec::plain_bytes(&packed).is_ok_and(|bytes| bytes > PIECE as u64));
        drop(bomb);
        let error = Store::open(&here).unwrap().take(&path).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("unpack to") && text.contains("bomb"), "{text}");
    }
}
