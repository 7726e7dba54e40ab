//! Keeps runs in one SQLite file: plans, trials, server descriptions, per-second histograms, outcomes. The
//! only module that knows SQL storage.
//!
//! A trial is written in one transaction when it ends, so a process that is killed at any moment leaves every
//! finished trial behind and nothing of the unfinished one. Several processes may use one file (SQLite's
//! write-ahead log); a run belongs to one of them. No password is ever written: see `secrets`. What comes
//! back is what went in, or an error: see `parts`.

mod codec;
mod columns;
mod damage;
mod error;
mod manage;
mod migrate;
mod owner;
mod parts;
mod query;
mod record;
mod schema;
mod seconds;
mod secrets;
mod transfer;

pub use damage::Damage;
pub use error::Error;
pub use record::{
    Counts, Difference, Of, Resumed, RunRecord, RunState, RunSummary, Second, ServerRecord, Starts,
    TrialRecord,
};
pub use schema::default_path;
pub use transfer::{ForeignTrial, Transfer};

use crate::{
    plan::{Plan, Trial},
    run::{Event, Note, TrialOutcome},
    telemetry::{Machine, Reading},
};
use jiff::Timestamp;
use owner::{Holder, Lease, Owner};
use parts::{FAILED, Kind, Part};
use record::{Begun, Took};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// One open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Trials that are running, by run. One run has one trial at a time.
    running: HashMap<i64, Running>,
    /// Trials of the plans of runs begun here.
    planned: HashMap<i64, Vec<Trial>>,
    /// Of runs that this process carries out.
    leases: HashMap<i64, Lease>,
    /// How long another process that writes is waited for.
    patience: Duration,
}

/// What a running trial has told so far.
#[derive(Debug)]
struct Running {
    trial: u32,
    started: Timestamp,
    samples: seconds::PackedSamples,
    readings: Vec<Reading>,
}

impl Running {
    fn begin(trial: u32) -> Self {
        let samples = seconds::PackedSamples::default();
        Self { trial, started: Timestamp::now(), samples, readings: Vec::new() }
    }
}

/// A value as the store returns it: without passwords, for comparing with one that was read from there.
#[must_use]
pub fn as_kept<T: Serialize + DeserializeOwned>(value: &T) -> T {
    codec::unpack(&codec::pack(value)).expect("what was written just now can be read")
}

impl Store {
    /// Opens a store, or makes it with its directory.
    ///
    /// # Errors
    /// When the file cannot be used: no rights, of another application, of a newer format, damaged.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let connection = schema::open(path)?;
        let (path, patience) = (path.to_owned(), schema::BUSY_TIMEOUT);
        let (running, planned, leases) = (HashMap::new(), HashMap::new(), HashMap::new());
        Ok(Self { connection, path, running, planned, leases, patience })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a run of Prony's own and returns its number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&mut self, plan: &Plan, machine: &Machine) -> Result<i64, Error> {
        let id = self.begin_of("prony", Timestamp::now(), plan, machine)?;
        self.wait_for(schema::BUSY_TIMEOUT_OF_RUN)?;
        self.planned.insert(id, plan.trials.clone());
        Ok(id)
    }

    fn begin_of(
        &mut self,
        origin: &str,
        started: Timestamp,
        plan: &Plan,
        machine: &Machine,
    ) -> Result<i64, Error> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let (now, process) = (Timestamp::now(), std::process::id());
        let unique = format!("{now}, {count} of {process} on {}", owner::boot());
        let uid = migrate::uid(&[unique.as_bytes()]);
        let parts = [(Kind::Plan, codec::pack(plan)), (Kind::Machine, codec::pack(machine))];
        let lease = Lease::take(Lease::path(&self.path, &uid));
        let owner = owner_text(&lease);
        let id = self.write(|transaction| {
            transaction.execute(
                "INSERT INTO run (uid, name, title, origin, started, prony_version, trials_planned, owner)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    uid,
                    codec::without_passwords(&plan.name),
                    codec::without_passwords(&plan.title),
                    origin,
                    started.to_string(),
                    env!("CARGO_PKG_VERSION"),
                    plan.trials.len() as i64,
                    owner,
                ],
            )?;
            let id = transaction.last_insert_rowid();
            for (kind, bytes) in parts {
                parts::put(transaction, id, &Part { kind, number: 0, place: 0, bytes })?;
            }
            parts::seal(transaction, id)?;
            Ok(id)
        })?;
        self.leases.extend(lease.map(|lease| (id, lease)));
        Ok(id)
    }

    /// The file in which run `id`, which this process carries out, tells others what it does; `None`:
    /// there is no such file here.
    #[must_use]
    pub fn telling(&self, id: i64) -> Option<File> {
        self.leases.get(&id).and_then(Lease::file)
    }

    /// Where a run that is carried out tells others what it does. The file is gone when the run is over.
    #[must_use]
    pub fn told_at(&self, run: &RunSummary) -> PathBuf {
        Lease::path(&self.path, &run.uid)
    }

    /// Resumes run `id`, which was interrupted: its trials may end from now on. `differences` says what is
    /// not as it was.
    ///
    /// # Errors
    /// When there is no such run, another process carries it out, or it cannot be written.
    pub fn resume(&mut self, id: i64, differences: Vec<Difference>) -> Result<(), Error> {
        let plan: Plan = self.plan(id)?;
        let mut resumed = self.resumed(id)?;
        resumed.push(Resumed {
            at: Timestamp::now(),
            prony_version: env!("CARGO_PKG_VERSION").to_owned(),
            differences,
        });
        let resumed = codec::without_passwords(&codec::text(&resumed));
        let store = self.path.clone();
        let (found, lease) = self.write_run(id, |transaction| {
            let (before, uid): (Option<String>, String) =
                transaction.query_row("SELECT owner, uid FROM run WHERE id = ?", [id], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            let path = Lease::path(&store, &uid);
            if let Some(other) = holder(before.as_deref(), &path) {
                return Ok((Some(other), None));
            }
            let lease = Lease::take(path);
            let owner = owner_text(&lease);
            transaction.execute(
                "UPDATE run SET finished = NULL, owner = ?, resumed = ? WHERE id = ?",
                params![owner, resumed, id],
            )?;
            Ok((None, lease))
        })?;
        if let Some(other) = found {
            return Err(Error::alive(id, other));
        }
        self.leases.extend(lease.map(|lease| (id, lease)));
        self.wait_for(schema::BUSY_TIMEOUT_OF_RUN)?;
        self.planned.insert(id, plan.trials);
        Ok(())
    }

    /// Adds to what was not as before when run `id` was resumed last.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn differs(&mut self, id: i64, differences: Vec<Difference>) -> Result<(), Error> {
        let mut resumed = self.resumed(id)?;
        if let Some(last) = resumed.last_mut() {
            last.differences.extend(differences);
        }
        let resumed = codec::without_passwords(&codec::text(&resumed));
        self.write_run(id, |transaction| {
            transaction.execute("UPDATE run SET resumed = ? WHERE id = ?", params![resumed, id]).map(drop)
        })
    }

    /// Stores what an event of run `id` says. Call it before the event is shown to anyone.
    ///
    /// # Errors
    /// When it cannot be written; what was kept before is safe.
    ///
    /// # Panics
    /// When a trial ends that is not in the plan of a run begun or resumed with this store: a mistake of the
    /// caller.
    pub fn record(&mut self, id: i64, event: &Event) -> Result<(), Error> {
        match event {
            Event::RunStarted { .. }
            | Event::ServerStarting { .. }
            | Event::Remark { .. }
            | Event::Unfair { .. }
            | Event::TrialSearching { .. }
            | Event::TrialProbed { .. }
            | Event::LoadHosts { .. }
            | Event::DataLoading(_) => Ok(()),
            Event::TrialAdded { trial, .. } => {
                let planned = self.planned.entry(id).or_default();
                if planned.iter().all(|other| other.number != trial.number) {
                    planned.push(*trial);
                }
                Ok(())
            }
            Event::Noted(note) => self.put_note(id, note),
            Event::Surroundings { server, surroundings } => {
                self.put(id, Kind::Surroundings, *server as i64, 0, codec::pack(surroundings))
            }
            Event::ServerReady { server, description } => {
                self.put(id, Kind::Server, *server as i64, 0, codec::pack(description))
            }
            Event::ServerStopped { server, status_after } => {
                self.put(id, Kind::Status, *server as i64, 0, codec::pack(status_after))
            }
            Event::DataReady { server, data, took, size, .. } => {
                let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
                let took = Took { took_ns, size: size.clone() };
                self.put(id, Kind::DataSet, *server as i64, *data as i64, codec::pack(&took))
            }
            Event::TrialPrepared { trial, began } => {
                self.put(id, Kind::Began, i64::from(*trial), 0, codec::pack(began))
            }
            Event::TrialStarted { trial } => {
                self.running.insert(id, Running::begin(*trial));
                Ok(())
            }
            Event::TrialSample { trial, sample } => {
                if let Some(running) = self.running.get_mut(&id).filter(|running| running.trial == *trial) {
                    running.samples.push(sample);
                }
                Ok(())
            }
            Event::TrialReading { trial, reading } => {
                if let Some(running) = self.running.get_mut(&id).filter(|running| running.trial == *trial) {
                    running.readings.push((**reading).clone());
                }
                Ok(())
            }
            Event::TrialFinished { trial, outcome } => self.put_trial(id, *trial, outcome),
            Event::RunFinished { .. } => self.finish(id, Timestamp::now()),
        }
    }

    fn finish(&mut self, id: i64, at: Timestamp) -> Result<(), Error> {
        self.write_run(id, |transaction| {
            transaction
                .execute(
                    "UPDATE run SET finished = ?, owner = NULL WHERE id = ?",
                    params![at.to_string(), id],
                )
                .map(drop)
        })?;
        self.leases.remove(&id);
        Ok(())
    }

    /// Keeps one part of a run.
    fn put(&mut self, id: i64, kind: Kind, number: i64, place: i64, bytes: Vec<u8>) -> Result<(), Error> {
        let part = Part { kind, number, place, bytes };
        self.write_run(id, |transaction| parts::put(transaction, id, &part))
    }

    fn put_note(&mut self, id: i64, note: &Note) -> Result<(), Error> {
        let bytes = codec::pack(note);
        self.write_run(id, |transaction| {
            let number = transaction.query_row(
                "SELECT coalesce(max(number), 0) + 1 FROM part WHERE run = ? AND kind = ?",
                params![id, Kind::Note.name()],
                |row| row.get(0),
            )?;
            parts::put(transaction, id, &Part { kind: Kind::Note, number, place: 0, bytes })
        })
    }

    fn put_trial(&mut self, id: i64, number: u32, outcome: &TrialOutcome) -> Result<(), Error> {
        let planned = self.planned.get(&id).and_then(|trials| trials.iter().find(|t| t.number == number));
        let trial = *planned.expect("trials end only in runs that this store began or resumed, as planned");
        // A trial that failed before its load began has not been told as started.
        let running = self.running.remove(&id).filter(|running| running.trial == number);
        let Running { started, samples, readings, .. } = running.unwrap_or_else(|| Running::begin(number));
        let state = match outcome {
            TrialOutcome::Measured { .. } => 0,
            TrialOutcome::Failed(_) => FAILED,
        };
        let number = i64::from(number);
        let parts = [
            (Kind::Trial, state, codec::pack(&Begun { trial, started, told: BTreeMap::new() })),
            (Kind::Outcome, 0, codec::pack(outcome)),
            (Kind::Samples, 0, samples.finish()),
            (Kind::Readings, 0, codec::pack_rows(&readings)),
        ];
        self.write_run(id, |transaction| {
            transaction.execute(
                "DELETE FROM part WHERE run = ? AND kind = ? AND number = ?",
                params![id, Kind::Trial.name(), number],
            )?;
            for (kind, place, bytes) in parts {
                parts::put(transaction, id, &Part { kind, number, place, bytes })?;
            }
            Ok(())
        })
    }

    fn resumed(&self, id: i64) -> Result<Vec<Resumed>, Error> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT resumed FROM run WHERE id = ?", [id], |row| row.get(0))
            .optional()
            .map_err(|source| self.fault(source))?;
        let text = text.ok_or_else(|| Error::NoSuchRun { id, path: self.path.clone() })?;
        self.understood(id, "resumed", serde_json::from_str(&text).map_err(Damage::from))
    }

    /// One transaction on what belongs to one run.
    fn write_run<T>(
        &mut self,
        id: i64,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        self.write(|transaction| {
            let value = work(transaction)?;
            parts::seal(transaction, id)?;
            Ok(value)
        })
    }

    /// One transaction that takes the write lock at once, so that it waits for other processes instead of
    /// failing.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        self.transact(TransactionBehavior::Immediate, work)
    }

    fn transact<T>(
        &mut self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let done = self.connection.transaction_with_behavior(behavior).and_then(|transaction| {
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        });
        done.map_err(|source| self.fault(source))
    }

    /// From now on, waits so long for another process that writes.
    fn wait_for(&mut self, patience: Duration) -> Result<(), Error> {
        self.connection.busy_timeout(patience).map_err(|source| self.fault(source))?;
        self.patience = patience;
        Ok(())
    }

    fn fault(&self, source: rusqlite::Error) -> Error {
        Error::from_sqlite(&self.path, source).after(self.patience)
    }

    /// A value that was read of a part, or what is wrong with it.
    fn understood<T>(&self, id: i64, what: &str, value: Result<T, Damage>) -> Result<T, Error> {
        value.map_err(|damage| parts::damaged(&self.path, damage.of_run(id, what)))
    }
}

/// This process, as a run names it.
fn owner_text(lease: &Option<Lease>) -> Option<String> {
    Owner::this(lease.is_some()).map(|owner| codec::text(&owner))
}

/// Who carries out a run that names this owner, where its lease would be at `lease`.
fn holder(owner: Option<&str>, lease: &Path) -> Option<Holder> {
    serde_json::from_str::<Owner>(owner?).ok()?.holder(lease)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_and_what_was_there_stays() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("prony.sqlite")).unwrap();
        let server = || Event::ServerStopped {
            server: 0,
            status_after: (0..4000_u64)
                .map(|n| (format!("{n}"), format!("{}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
                .collect(),
        };
        let run = "INSERT INTO run (id, uid, name, title, origin, started, prony_version, trials_planned)
                   VALUES (1, '', '', '', '', '', '', 0)";
        store.connection.execute_batch(run).unwrap();
        let pages: i64 = store.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        store.connection.pragma_update(None, "max_page_count", pages).unwrap();
        let error = store.record(1, &server()).unwrap_err();
        assert!(matches!(error, Error::Full { .. }), "{error}");
        assert!(error.to_string().contains("no space left"));
        store.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        store.record(1, &server()).unwrap();
    }

    #[test]
    fn who_reads_waits_for_nobody_and_who_writes_says_in_vain_for_whom() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("prony.sqlite");
        let mut store = Store::open(&path).unwrap();
        let run = "INSERT INTO run (id, uid, name, title, origin, started, prony_version, trials_planned)
                   VALUES (1, '', '', '', '', '2026-03-01T00:00:00Z', '', 0)";
        store.write_run(1, |transaction| transaction.execute(run, []).map(drop)).unwrap();
        let mut other = Store::open(&path).unwrap();
        other.wait_for(Duration::from_millis(1)).unwrap();

        let lock = store.connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        // one that is open, and one that is opened
        assert_eq!(other.list().unwrap().len(), 1);
        assert_eq!(Store::open(&path).unwrap().list().unwrap().len(), 1);
        let status = || Event::ServerStopped { server: 0, status_after: BTreeMap::new() };
        let error = other.record(1, &status()).unwrap_err();
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
        drop(lock);

        other.record(1, &status()).unwrap();
        assert_eq!(other.list().unwrap().len(), 1);
    }
}
