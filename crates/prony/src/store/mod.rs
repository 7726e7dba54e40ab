//! Keeps runs in one SQLite file: plans, trials, server descriptions, per-second histograms, outcomes. The only module
//! that knows SQL storage.
//!
//! A trial is written in one transaction when it ends, so a process that is killed at any moment leaves every finished
//! trial behind and nothing of the unfinished one. Several processes may use one file (SQLite's write-ahead log).
//! No password is ever written: see `secrets`.

mod codec;
mod columns;
mod error;
mod record;
mod schema;
mod seconds;
mod secrets;

pub use error::Error;
pub use record::{RunRecord, RunSummary, ServerRecord, TrialRecord};
pub use schema::default_path;

use crate::{
    plan::{Plan, Trial},
    run::{Event, Note, TrialOutcome},
    telemetry::{Machine, Reading},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
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

impl Store {
    /// Opens a store, or makes it with its directory.
    ///
    /// # Errors
    /// When the file cannot be used: no rights, of another application, of a newer format, damaged.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let connection = schema::open(path)?;
        Ok(Self { connection, path: path.to_owned(), running: HashMap::new(), planned: HashMap::new() })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a run and returns its number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&mut self, plan: &Plan, machine: &Machine) -> Result<i64, Error> {
        let (plan_bytes, machine_bytes) = (codec::pack(plan), codec::pack(machine));
        let id = self.write(|transaction| {
            transaction.execute(
                "INSERT INTO run (name, title, started, prony_version, trials_planned, plan, machine)
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    codec::without_passwords(&plan.name),
                    codec::without_passwords(&plan.title),
                    Timestamp::now().to_string(),
                    env!("CARGO_PKG_VERSION"),
                    plan.trials.len() as i64,
                    plan_bytes,
                    machine_bytes
                ],
            )?;
            Ok(transaction.last_insert_rowid())
        })?;
        self.planned.insert(id, plan.trials.clone());
        Ok(id)
    }

    /// Goes on with run `id`, which was broken off: its trials may end from now on.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be written.
    pub fn resume(&mut self, id: i64) -> Result<(), Error> {
        let record = self.run(id)?;
        self.write(|transaction| {
            transaction.execute("UPDATE run SET finished = NULL WHERE id = ?", [id]).map(drop)
        })?;
        self.planned.insert(id, record.plan.trials);
        Ok(())
    }

    /// Keeps what an event of run `id` says. To be called before the event is shown to anyone.
    ///
    /// # Errors
    /// When it cannot be written; what was kept before is safe.
    ///
    /// # Panics
    /// When a trial ends that is not in the plan of a run begun or resumed with this store: a mistake of the caller.
    pub fn record(&mut self, id: i64, event: &Event) -> Result<(), Error> {
        match event {
            Event::RunStarted { .. }
            | Event::ServerStarting { .. }
            | Event::Remark { .. }
            | Event::DataLoading(_) => Ok(()),
            Event::TrialAdded { trial, .. } => {
                let planned = self.planned.entry(id).or_default();
                if planned.iter().all(|other| other.number != trial.number) {
                    planned.push(*trial);
                }
                Ok(())
            }
            Event::Noted(note) => self.put_note(id, note),
            Event::ServerReady { server, description } => {
                self.put_server(id, *server, "description", codec::pack(description))
            }
            Event::ServerStopped { server, status_after } => {
                self.put_server(id, *server, "status_after", codec::pack(status_after))
            }
            Event::DataReady { server, data, took } => self.put_data(id, *server, *data, *took),
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
            Event::RunFinished { .. } => self.write(|transaction| {
                transaction
                    .execute(
                        "UPDATE run SET finished = ? WHERE id = ?",
                        params![Timestamp::now().to_string(), id],
                    )
                    .map(drop)
            }),
        }
    }

    /// Reads a run back.
    ///
    /// # Errors
    /// When there is no such run, or the file is damaged.
    pub fn run(&self, id: i64) -> Result<RunRecord, Error> {
        let row = self
            .connection
            .query_row(
                "SELECT started, finished, prony_version, plan, machine FROM run WHERE id = ?",
                [id],
                |row| {
                    let blobs = (row.get::<_, Vec<u8>>(3)?, row.get::<_, Vec<u8>>(4)?);
                    Ok((timestamp(row, 0)?, optional_timestamp(row, 1)?, row.get(2)?, blobs))
                },
            )
            .optional()
            .map_err(|source| self.fault(source))?;
        let Some((started, finished, prony_version, (plan, machine))) = row else {
            return Err(Error::NoSuchRun { id, path: self.path.clone() });
        };
        let plan: Plan = self.read(id, "plan", codec::unpack(&plan))?;
        let trials = self.trials(id)?;
        Ok(RunRecord {
            id,
            started,
            finished,
            complete: trials.iter().filter(|trial| trial.trial.again_of.is_none()).count()
                >= plan.trials.len(),
            prony_version,
            machine: self.read(id, "machine", codec::unpack(&machine))?,
            plan,
            servers: self.servers(id)?,
            notes: self.notes(id)?,
            trials,
        })
    }

    /// Number of the run that began last; `None`: there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn latest(&self) -> Result<Option<i64>, Error> {
        self.connection
            .query_row("SELECT max(id) FROM run", [], |row| row.get(0))
            .map_err(|source| self.fault(source))
    }

    /// All runs, the last one first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self) -> Result<Vec<RunSummary>, Error> {
        let sql = "SELECT id, name, title, started, finished, trials_planned,
                          (SELECT count(*) FROM trial WHERE run = id AND state = 'measured'),
                          (SELECT count(*) FROM trial WHERE run = id AND state = 'failed')
                   FROM run ORDER BY id DESC";
        let summary = |row: &Row<'_>| {
            Ok(RunSummary {
                id: row.get(0)?,
                name: row.get(1)?,
                title: row.get(2)?,
                started: timestamp(row, 3)?,
                finished: optional_timestamp(row, 4)?,
                trials_planned: row.get(5)?,
                trials_measured: row.get(6)?,
                trials_failed: row.get(7)?,
            })
        };
        let mut statement = self.connection.prepare(sql).map_err(|source| self.fault(source))?;
        let rows = statement.query_map([], summary).map_err(|source| self.fault(source))?;
        rows.collect::<Result<_, _>>().map_err(|source| self.fault(source))
    }

    /// Removes a run and gives its space back.
    ///
    /// # Errors
    /// When there is no such run, or the file cannot be written.
    pub fn delete(&mut self, id: i64) -> Result<(), Error> {
        let removed = self.write(|transaction| transaction.execute("DELETE FROM run WHERE id = ?", [id]))?;
        if removed == 0 {
            return Err(Error::NoSuchRun { id, path: self.path.clone() });
        }
        // Each step of this pragma frees one page, so it is stepped to its end.
        let vacuum = |connection: &Connection| -> rusqlite::Result<()> {
            let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        vacuum(&self.connection).map_err(|source| self.fault(source))
    }

    fn put_note(&mut self, id: i64, note: &Note) -> Result<(), Error> {
        let text = codec::without_passwords(&serde_json::to_string(note).expect("plain values become JSON"));
        self.write(|transaction| {
            transaction.execute("INSERT INTO note (run, note) VALUES (?, ?)", params![id, text]).map(drop)
        })
    }

    fn notes(&self, id: i64) -> Result<Vec<Note>, Error> {
        let texts =
            self.rows("SELECT note FROM note WHERE run = ? ORDER BY id", id, |row| row.get::<_, String>(0))?;
        let note = |text: String| {
            self.read(id, "note", serde_json::from_str(&text).map_err(|error| error.to_string()))
        };
        texts.into_iter().map(note).collect()
    }

    fn put_server(&mut self, id: i64, server: usize, column: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let sql = format!(
            "INSERT INTO server (run, number, {column}) VALUES (?, ?, ?)
             ON CONFLICT DO UPDATE SET {column} = excluded.{column}"
        );
        self.write(|transaction| transaction.execute(&sql, params![id, server as i64, bytes]).map(drop))
    }

    fn put_data(&mut self, id: i64, server: usize, data: usize, took: Duration) -> Result<(), Error> {
        let took_ns = i64::try_from(took.as_nanos()).unwrap_or(i64::MAX);
        self.write(|transaction| {
            transaction
                .execute(
                    "INSERT OR REPLACE INTO data_set VALUES (?, ?, ?, ?)",
                    params![id, server as i64, data as i64, took_ns],
                )
                .map(drop)
        })
    }

    fn put_trial(&mut self, id: i64, number: u32, outcome: &TrialOutcome) -> Result<(), Error> {
        let planned = self.planned.get(&id).and_then(|trials| trials.iter().find(|t| t.number == number));
        let trial = *planned.expect("trials end only in runs that this store began or resumed, as planned");
        // A trial that failed before its load began has not been told as started.
        let running = self.running.remove(&id).filter(|running| running.trial == number);
        let Running { started, samples, readings, .. } = running.unwrap_or_else(|| Running::begin(number));
        let state = match outcome {
            TrialOutcome::Measured { .. } => "measured",
            TrialOutcome::Failed(_) => "failed",
        };
        let trial_json = serde_json::to_string(&trial).expect("plain values become JSON");
        let (outcome, samples, readings) =
            (codec::pack(outcome), samples.finish(), codec::pack_rows(&readings));
        self.write(|transaction| {
            transaction
                .execute(
                    "INSERT OR REPLACE INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    params![id, number, trial_json, started.to_string(), state, outcome, samples, readings],
                )
                .map(drop)
        })
    }

    fn servers(&self, id: i64) -> Result<BTreeMap<usize, ServerRecord>, Error> {
        let mut servers = BTreeMap::<usize, ServerRecord>::new();
        let sql = "SELECT number, description, status_after FROM server WHERE run = ?";
        let columns = |row: &Row<'_>| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<Vec<u8>>>(1)?, row.get::<_, Option<Vec<u8>>>(2)?))
        };
        for (number, description, status_after) in self.rows(sql, id, columns)? {
            let server = servers.entry(number as usize).or_default();
            if let Some(bytes) = description {
                server.description = self.read(id, "server", codec::unpack(&bytes))?;
            }
            if let Some(bytes) = status_after {
                server.status_after = self.read(id, "server", codec::unpack(&bytes))?;
            }
        }
        let sql = "SELECT server, number, took_ns FROM data_set WHERE run = ?";
        let columns =
            |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        for (number, data, took_ns) in self.rows(sql, id, columns)? {
            let took = Duration::from_nanos(took_ns.unsigned_abs());
            servers.entry(number as usize).or_default().data_took.insert(data as usize, took);
        }
        Ok(servers)
    }

    fn trials(&self, id: i64) -> Result<Vec<TrialRecord>, Error> {
        let sql =
            "SELECT trial, started, outcome, samples, readings FROM trial WHERE run = ? ORDER BY number";
        let columns = |row: &Row<'_>| {
            let blobs = (row.get::<_, Vec<u8>>(2)?, row.get::<_, Vec<u8>>(3)?, row.get::<_, Vec<u8>>(4)?);
            Ok((row.get::<_, String>(0)?, timestamp(row, 1)?, blobs))
        };
        let rows = self.rows(sql, id, columns)?;
        rows.into_iter()
            .map(|(trial, started, (outcome, samples, readings))| {
                let trial = serde_json::from_str(&trial).map_err(|error| error.to_string());
                Ok(TrialRecord {
                    trial: self.read(id, "trial", trial)?,
                    started,
                    outcome: self.read(id, "outcome", codec::unpack(&outcome))?,
                    samples: self.read(id, "samples", seconds::unpack_samples(&samples))?,
                    readings: self.read(id, "readings", codec::unpack_rows(&readings))?,
                })
            })
            .collect()
    }

    fn rows<T>(
        &self,
        sql: &str,
        id: i64,
        columns: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|source| self.fault(source))?;
        let rows = statement.query_map([id], columns).map_err(|source| self.fault(source))?;
        rows.collect::<Result<_, _>>().map_err(|source| self.fault(source))
    }

    /// One transaction that takes the write lock at once, so that it waits for other processes instead of failing.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        let done = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(
            |transaction| {
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            },
        );
        done.map_err(|source| Error::from_sqlite(&self.path, source))
    }

    fn fault(&self, source: rusqlite::Error) -> Error {
        Error::from_sqlite(&self.path, source)
    }

    fn read<T>(&self, id: i64, what: &str, value: Result<T, codec::Damage>) -> Result<T, Error> {
        value.map_err(|damage| Error::Damaged {
            path: self.path.clone(),
            what: format!("run {id}, {what}: {damage}"),
        })
    }
}

fn timestamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    let text: String = row.get(column)?;
    parse(column, &text)
}

fn optional_timestamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| parse(column, &text)).transpose()
}

fn parse(column: usize, text: &str) -> rusqlite::Result<Timestamp> {
    text.parse().map_err(|error: jiff::Error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
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
        store.connection.execute_batch("INSERT INTO run VALUES (1, '', '', '', '', '', 0, '', '')").unwrap();
        let pages: i64 = store.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        store.connection.pragma_update(None, "max_page_count", pages).unwrap();
        let error = store.record(1, &server()).unwrap_err();
        assert!(matches!(error, Error::Full { .. }), "{error}");
        assert!(error.to_string().contains("no space left"));
        store.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        store.record(1, &server()).unwrap();
    }
}
