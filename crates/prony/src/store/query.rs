//! Reads runs back: one, all, or the one that has a name.

use super::{
    Store, codec,
    damage::Damage,
    error::Error,
    owner::{Holder, Lease},
    parts::{self, Kind, Part},
    record::{Begun, RunRecord, RunSummary, ServerRecord, Took, TrialRecord},
    seconds,
};
use crate::{
    plan::{Plan, Trial},
    run::{Began, Note, TrialOutcome},
};
use jiff::Timestamp;
use load::Sample;
use rusqlite::{OptionalExtension, Row};
use serde::de::DeserializeOwned;
use std::{collections::BTreeMap, path::Path, thread, time::Duration};

/// The word for the run that began last.
pub(super) const LAST: &str = "last";

/// Columns of a [`RunSummary`].
const SUMMARY: &str = "id, uid, name, title, origin, started, finished, prony_version, trials_planned,
                       trials_measured, trials_failed, labels, note, owner";

impl Store {
    /// Reads a run back.
    ///
    /// # Errors
    /// When there is no such run, or the file is damaged.
    pub fn run(&self, id: i64) -> Result<RunRecord, Error> {
        self.at_one_moment(|| self.read_run(id))
    }

    fn read_run(&self, id: i64) -> Result<RunRecord, Error> {
        let summary = self.summary(id)?;
        let plan = self.plan(id)?;
        let trials = self.trials(id)?;
        Ok(RunRecord {
            id,
            uid: summary.uid,
            origin: summary.origin,
            labels: summary.labels,
            note: summary.note,
            started: summary.started,
            finished: summary.finished,
            resumed: self.resumed(id)?,
            complete: trials.iter().filter(|trial| trial.trial.again_of.is_none()).count()
                >= plan.trials.len(),
            prony_version: summary.prony_version,
            machine: self.only(id, Kind::Machine)?,
            plan,
            servers: self.servers(id)?,
            notes: self.notes(id)?,
            began: self.began(id)?,
            trials,
        })
    }

    /// All that was kept of the seconds of a trial, the distributions of single statements too (rounded to 3
    /// %).
    ///
    /// # Errors
    /// As [`Store::run`]; also when the run has no such trial, or it has no outcome.
    pub fn samples(&self, id: i64, trial: u32) -> Result<Vec<Sample>, Error> {
        let part = parts::read_one(&self.connection, &self.path, id, Kind::Samples, trial.into())?;
        let samples = part.ok_or(Damage::Missing);
        let samples = samples.and_then(|part| seconds::unpack_samples(&part.bytes));
        self.understood(id, "trial", samples.map_err(|damage| damage.of_trial("samples", trial)))
    }

    /// What came of each trial of a run so far, without its seconds.
    ///
    /// # Errors
    /// As [`Store::run`].
    pub fn outcomes(&self, id: i64) -> Result<Vec<(Trial, TrialOutcome)>, Error> {
        self.at_one_moment(|| {
            self.summary(id)?;
            let of = |kind| parts::read(&self.connection, &self.path, id, kind);
            let mut outcomes: BTreeMap<i64, Vec<u8>> =
                of(Kind::Outcome)?.into_iter().map(|part| (part.number, part.bytes)).collect();
            let both = of(Kind::Trial)?.into_iter().map(|Part { number, bytes, .. }| {
                let Begun { trial, .. } = codec::unpack(&bytes)?;
                let outcome = outcomes.remove(&number).ok_or(Damage::Missing)?;
                Ok((trial, codec::unpack(&outcome)?))
            });
            self.understood(id, "trial", both.collect())
        })
    }

    /// What is known of a run without reading its parts.
    ///
    /// # Errors
    /// When there is no such run, or the file is damaged.
    pub fn summary(&self, id: i64) -> Result<RunSummary, Error> {
        let sql = format!("SELECT {SUMMARY} FROM run WHERE id = ?");
        self.at_one_moment(|| {
            let found = self.connection.query_row(&sql, [id], |row| summary(&self.path, row)).optional();
            let found = found.map_err(|source| self.fault(source))?;
            let found = found.ok_or_else(|| Error::NoSuchRun { id, path: self.path.clone() })?;
            parts::check_run(&self.connection, &self.path, id)?;
            Ok(found)
        })
    }

    /// What was planned in a run.
    ///
    /// # Errors
    /// As [`Store::run`].
    pub fn plan(&self, id: i64) -> Result<Plan, Error> {
        self.at_one_moment(|| {
            self.summary(id)?;
            // older versions of Prony knew fewer places in which a password can stand
            Ok(super::as_kept(&self.only::<Plan>(id, Kind::Plan)?))
        })
    }

    /// Number of the run that began last; `None`: there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn latest(&self) -> Result<Option<i64>, Error> {
        Ok(self.list()?.first().map(|run| run.id))
    }

    /// All runs, the last one first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self) -> Result<Vec<RunSummary>, Error> {
        self.at_one_moment(|| self.read_list())
    }

    fn read_list(&self) -> Result<Vec<RunSummary>, Error> {
        parts::check_list(&self.connection, &self.path)?;
        let sql = format!("SELECT {SUMMARY} FROM run ORDER BY id DESC");
        let mut statement = self.connection.prepare(&sql).map_err(|source| self.fault(source))?;
        let rows =
            statement.query_map([], |row| summary(&self.path, row)).map_err(|source| self.fault(source))?;
        let runs: Vec<RunSummary> = rows.collect::<Result<_, _>>().map_err(|source| self.fault(source))?;
        for run in &runs {
            parts::check_run(&self.connection, &self.path, run.id)?;
        }
        Ok(runs)
    }

    /// The run that a name stands for: a number, `last`, a label or the name of a study; of several, the one
    /// that began last.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn find(&self, name: &str) -> Result<i64, Error> {
        let runs = self.list()?;
        if let Ok(id) = name.parse::<i64>() {
            let found = runs.iter().any(|run| run.id == id);
            return if found { Ok(id) } else { Err(Error::NoSuchRun { id, path: self.path.clone() }) };
        }
        let last = runs.first().filter(|_| name == LAST);
        let labelled = || runs.iter().find(|run| run.labels.iter().any(|label| label == name));
        let of_study = || runs.iter().find(|run| run.name == name);
        let found = last.or_else(labelled).or_else(of_study);
        found
            .map(|run| run.id)
            .ok_or_else(|| Error::NoRunNamed { name: name.to_owned(), path: self.path.clone() })
    }

    /// Names, products and versions of a run's servers, for looking runs up.
    ///
    /// # Errors
    /// As [`Store::run`].
    pub fn servers_of(&self, id: i64) -> Result<Vec<String>, Error> {
        let mut words: Vec<String> = self.plan(id)?.servers.into_iter().map(|server| server.name).collect();
        for ServerRecord { description, .. } in self.servers(id)?.into_values() {
            let name = format!("{}-{}", description.product, description.version);
            words.extend([name, description.product, description.version]);
        }
        Ok(words)
    }

    /// What several queries read, all of one moment, whatever other processes write meanwhile: their sums
    /// would not agree.
    fn at_one_moment<T>(&self, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        if !self.connection.is_autocommit() {
            return read();
        }
        let _moment = self.connection.unchecked_transaction().map_err(|source| self.fault(source))?;
        read()
    }

    /// The single part of a kind.
    fn only<T: DeserializeOwned>(&self, id: i64, kind: Kind) -> Result<T, Error> {
        let found = parts::read(&self.connection, &self.path, id, kind)?;
        let part = found.first().ok_or(Damage::Missing);
        self.understood(id, kind.name(), part.and_then(|part| codec::unpack(&part.bytes)))
    }

    fn servers(&self, id: i64) -> Result<BTreeMap<usize, ServerRecord>, Error> {
        let mut servers = BTreeMap::<usize, ServerRecord>::new();
        for part in parts::read(&self.connection, &self.path, id, Kind::Server)? {
            let description = self.understood(id, "server", codec::unpack(&part.bytes))?;
            servers.entry(part.number as usize).or_default().description = description;
        }
        for part in parts::read(&self.connection, &self.path, id, Kind::Status)? {
            let status = self.understood(id, "status", codec::unpack(&part.bytes))?;
            servers.entry(part.number as usize).or_default().status_after = status;
        }
        for part in parts::read(&self.connection, &self.path, id, Kind::Surroundings)? {
            let surroundings = self.understood(id, "surroundings", codec::unpack(&part.bytes))?;
            servers.entry(part.number as usize).or_default().surroundings = surroundings;
        }
        for part in parts::read(&self.connection, &self.path, id, Kind::DataSet)? {
            let Took { took_ns, size } = self.understood(id, "data set", codec::unpack(&part.bytes))?;
            let server = servers.entry(part.number as usize).or_default();
            server.data_took.insert(part.place as usize, Duration::from_nanos(took_ns));
            server.data_sizes.extend(size.map(|size| (part.place as usize, size)));
        }
        Ok(servers)
    }

    fn notes(&self, id: i64) -> Result<Vec<Note>, Error> {
        let parts = parts::read(&self.connection, &self.path, id, Kind::Note)?;
        let note = |part: Part| self.understood(id, "note", codec::unpack(&part.bytes));
        parts.into_iter().map(note).collect()
    }

    fn began(&self, id: i64) -> Result<BTreeMap<u32, Began>, Error> {
        let parts = parts::read(&self.connection, &self.path, id, Kind::Began)?;
        let began = |part: Part| {
            let began = self.understood(id, "began", codec::unpack(&part.bytes))?;
            Ok((u32::try_from(part.number).unwrap_or(u32::MAX), began))
        };
        parts.into_iter().map(began).collect()
    }

    fn trials(&self, id: i64) -> Result<Vec<TrialRecord>, Error> {
        let mut packed: BTreeMap<i64, Packed> = BTreeMap::new();
        for kind in [Kind::Trial, Kind::Outcome, Kind::Samples, Kind::Readings] {
            for Part { number, bytes, .. } in parts::read(&self.connection, &self.path, id, kind)? {
                let trial = packed.entry(number).or_default();
                match kind {
                    Kind::Trial => trial.begun = bytes,
                    Kind::Outcome => trial.outcome = bytes,
                    Kind::Samples => trial.samples = bytes,
                    _ => trial.readings = bytes,
                }
            }
        }
        let packed: Vec<Packed> = packed.into_values().collect();
        self.understood(id, "trial", unpacked(&packed))
    }
}

/// The parts of a trial.
#[derive(Default)]
struct Packed {
    begun: Vec<u8>,
    outcome: Vec<u8>,
    samples: Vec<u8>,
    readings: Vec<u8>,
}

impl Packed {
    fn unpacked(&self) -> Result<TrialRecord, Damage> {
        let Begun { trial, started, told } = codec::unpack(&self.begun)?;
        let number = trial.number;
        let within = |what: &'static str| move |damage: Damage| damage.of_trial(what, number);
        Ok(TrialRecord {
            trial,
            started,
            told,
            outcome: codec::unpack(&self.outcome).map_err(within("outcome"))?,
            seconds: seconds::unpack_seconds(&self.samples).map_err(within("samples"))?,
            readings: codec::unpack_readings(&self.readings).map_err(within("readings"))?,
        })
    }
}

/// On all processors: a large run has a hundred thousand seconds with eight histograms each.
fn unpacked(packed: &[Packed]) -> Result<Vec<TrialRecord>, Damage> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = packed.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let work = |part: &'_ [Packed]| part.iter().map(Packed::unpacked).collect::<Result<Vec<_>, _>>();
        let threads: Vec<_> = packed.chunks(share).map(|part| scope.spawn(move || work(part))).collect();
        let mut trials = Vec::with_capacity(packed.len());
        for thread in threads {
            trials.extend(thread.join().unwrap_or_else(|_| Err(Damage::Unreadable))?);
        }
        Ok(trials)
    })
}

fn summary(store: &Path, row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let labels: String = row.get(11)?;
    let (owner, uid): (Option<String>, String) = (row.get(13)?, row.get(1)?);
    let (process, lease) = match super::holder(owner.as_deref(), &Lease::path(store, &uid)) {
        Some(Holder::Here(pid)) => (Some(pid), None),
        Some(Holder::Elsewhere(pid, lease)) => (Some(pid), Some(lease)),
        None => (None, None),
    };
    Ok(RunSummary {
        id: row.get(0)?,
        uid: row.get(1)?,
        name: row.get(2)?,
        title: row.get(3)?,
        origin: row.get(4)?,
        started: timestamp(row, 5)?.unwrap_or_default(),
        finished: timestamp(row, 6)?,
        prony_version: row.get(7)?,
        trials_planned: row.get(8)?,
        trials_measured: row.get(9)?,
        trials_failed: row.get(10)?,
        labels: serde_json::from_str(&labels).map_err(|error| unreadable(11, error))?,
        note: row.get(12)?,
        process,
        lease,
    })
}

fn timestamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| text.parse().map_err(|error: jiff::Error| unreadable(column, error))).transpose()
}

fn unreadable(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
