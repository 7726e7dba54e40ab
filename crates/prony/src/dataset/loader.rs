//! Loads tables over several connections at once.

use super::{
    Error, Method, Progress, Report,
    insert::Inserter,
    marks,
    session::{self, Session},
    work::{self, Task, Unit, Work},
};
use crate::{
    family::{self, Class, Names},
    layout::{Kinship, State, Table, quoted},
};
use load::{client, spec::Target};
use std::{
    collections::{HashMap, VecDeque},
    ops::RangeInclusive,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// Between two calls of the progress callback, and how late an interruption is noticed at most.
const TICK: Duration = Duration::from_millis(100);
/// Attempts at a unit whose transaction the server rolled back (deadlock, lock wait of one that is being
/// undone).
pub(super) const ATTEMPTS: u32 = 5;

/// What all connections share.
struct Shared<'a> {
    target: &'a Target,
    tables: &'a [Table],
    /// Comments of the tables that are there, by index; `None`: it is not there.
    found: Vec<Option<String>>,
    work: Work,
    rows_found: AtomicU64,
    rows_loaded: AtomicU64,
    tables_kept: AtomicU32,
    method: Mutex<Option<Method>>,
    stop: &'a AtomicBool,
    /// Server's numbers of the connections, for KILL QUERY.
    numbers: Mutex<Vec<String>>,
}

/// See [`super::prepare`].
pub(super) fn load(
    target: &Target,
    tables: &[Table],
    connections: u32,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let started = Instant::now();
    let mut control = Session::open(target)?;
    control.lock()?;
    control.wait_for_loaders(stop)?;
    let found = survey(&mut control, target, tables)?;
    let shared = Shared {
        target,
        tables,
        found,
        work: Work::new(tables.len()),
        rows_found: AtomicU64::new(0),
        rows_loaded: AtomicU64::new(0),
        tables_kept: AtomicU32::new(0),
        method: Mutex::new(None),
        stop,
        numbers: Mutex::new(Vec::new()),
    };
    let rows_total = tables.iter().map(|table| table.rows).sum();
    let mut tell = || progress(shared.progress(rows_total, started.elapsed()));
    tell();
    let (ended, results) = mpsc::channel();
    // More connections than units, and tables to be opened, would find nothing to do.
    let useful: u64 = tables.iter().map(|table| u64::from(work::units(table.last()).max(1))).sum();
    let workers = useful.min(u64::from(connections)).min(session::LOADERS_MAX.into());
    let mut failure = None;
    thread::scope(|scope| {
        for worker in 0..workers as u32 {
            let (ended, shared) = (ended.clone(), &shared);
            scope.spawn(move || {
                let end = Worker::open(shared, worker).and_then(|mut worker| worker.work());
                if end.is_err() {
                    shared.work.give_up();
                }
                // The receiver outlives the scope.
                let _ = ended.send(end);
            });
        }
        let mut running = workers;
        while running > 0 {
            match results.recv_timeout(TICK) {
                Ok(end) => {
                    running -= 1;
                    failure = failure.take().or(end.err());
                }
                Err(_) if stop.load(Relaxed) => {
                    shared.work.give_up();
                    shared.kill(&mut control);
                }
                Err(_) => {}
            }
            tell();
        }
    });
    if stop.load(Relaxed) && shared.work.tables_done() < shared.tables_total() {
        return Err(Error::Interrupted);
    }
    if let Some(error) = failure {
        return Err(error);
    }
    Ok(Report {
        tables: shared.tables_total(),
        tables_kept: shared.tables_kept.into_inner(),
        rows: rows_total,
        rows_loaded: shared.rows_loaded.into_inner(),
        method: shared.method.into_inner().unwrap_or_else(PoisonError::into_inner),
        took: started.elapsed(),
    })
}

impl Shared<'_> {
    fn tables_total(&self) -> u32 {
        u32::try_from(self.tables.len()).unwrap_or(u32::MAX)
    }

    fn progress(&self, rows_total: u64, elapsed: Duration) -> Progress {
        let rows_loaded = self.rows_loaded.load(Relaxed);
        Progress {
            rows: self.rows_found.load(Relaxed) + rows_loaded,
            rows_total,
            rows_loaded,
            tables: self.work.tables_done(),
            tables_total: self.tables_total(),
            elapsed,
        }
    }

    /// Ends the statements that connections wait for: building an index can take long. If one has already
    /// ended, nothing is lost; if a server refuses, Prony waits for its reply.
    fn kill(&self, control: &mut Session) {
        for number in self.numbers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ =
                control.about("KILL QUERY", number, |family, control| family.end_statement(control, number));
        }
    }
}

/// One connection at work.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    session: Session,
    inserter: Option<Inserter<'a>>,
}

impl<'a> Worker<'a> {
    fn open(shared: &'a Shared<'a>, number: u32) -> Result<Self, Error> {
        let mut session = Session::open(shared.target)?;
        session.say_loading(number)?;
        let number =
            session.about("SET", "session variables", |family, control| family.begin_loading(control))?;
        shared.numbers.lock().unwrap_or_else(PoisonError::into_inner).extend(number);
        Ok(Self { shared, session, inserter: None })
    }

    fn work(&mut self) -> Result<(), Error> {
        let mut current = None;
        loop {
            let mut task = self.shared.work.next(current);
            if let Task::Load(table, unit) = task {
                current = Some(table);
                if !self.load(table, unit)? {
                    return Ok(());
                }
                match self.shared.work.loaded(table) {
                    Some(finish) => task = finish,
                    None => continue,
                }
            }
            match task {
                Task::Open(table) => {
                    current = Some(table);
                    self.open_table(table)?;
                }
                Task::Finish(table) => {
                    self.finish(table)?;
                    self.shared.work.done(table);
                }
                Task::End | Task::Load(..) => return Ok(()),
            }
        }
    }

    /// Finds out what is missing in a table, and creates it if it does not exist or is not what is wanted.
    fn open_table(&mut self, index: usize) -> Result<(), Error> {
        let shared = self.shared;
        let table = &shared.tables[index];
        let rows = table.rows;
        let found = shared.found[index].as_deref().map(|comment| table.kinship(comment));
        let missing = match found {
            Some(Kinship::Same(State::Complete)) if self.count(table)? == (rows, table.last()) => {
                shared.rows_found.fetch_add(rows, Relaxed);
                shared.tables_kept.fetch_add(1, Relaxed);
                shared.work.done(index);
                return Ok(());
            }
            Some(Kinship::Same(State::Loading)) => self.missing(table)?,
            _ => None,
        };
        let missing = match missing {
            Some(missing) => missing,
            None => {
                let name = &table.name;
                if found.is_some() {
                    self.session.run("DROP TABLE", name, &format!("DROP TABLE {}", quoted(name)))?;
                }
                self.session.run("CREATE TABLE", name, &table.create())?;
                (0..work::units(table.last())).collect()
            }
        };
        shared.work.opened(index, missing);
        Ok(())
    }

    /// The units that a half-loaded table misses; `None`: it has rows that cannot be of this data set.
    fn missing(&mut self, table: &Table) -> Result<Option<VecDeque<Unit>>, Error> {
        let Table { name, number, .. } = table;
        let units = work::units(table.last());
        let answer = self.session.run("SELECT", name, &work::survey(table))?;
        let mut missing: Vec<bool> = vec![true; units as usize];
        let mut found = 0;
        for row in answer.rows() {
            let figure = |at: usize| row.get(at)?.as_deref()?.parse::<u64>().ok();
            let (Some(unit), Some(count)) = (figure(0), figure(1)) else { return Ok(None) };
            let Some(place) = missing.get_mut(unit as usize) else { return Ok(None) };
            let numbers = work::numbers(unit as Unit, table.last());
            if count == table.contents.count(&numbers) {
                *place = false;
                found += count;
            } else {
                // Only an engine without transactions leaves a part of a unit.
                let (from, first, last) = (quoted(name), numbers.start(), numbers.end());
                let delete = format!("DELETE FROM {from} WHERE {number} BETWEEN {first} AND {last}");
                self.session.run("DELETE", name, &delete)?;
            }
        }
        self.shared.rows_found.fetch_add(found, Relaxed);
        Ok(Some((0..units).filter(|unit| missing[*unit as usize]).collect()))
    }

    /// Loads a unit in one transaction. False: the caller wants to stop.
    fn load(&mut self, index: usize, unit: Unit) -> Result<bool, Error> {
        let table = &self.shared.tables[index];
        let numbers = work::numbers(unit, table.last());
        for attempt in 1.. {
            match self.try_unit(table, numbers.clone()) {
                Ok(true) => break,
                Err(Error::Statement { source, .. }) if is_conflict(&source) && attempt < ATTEMPTS => {
                    self.session.run("ROLLBACK", &table.name, "ROLLBACK")?;
                }
                other => return other,
            }
        }
        self.shared.rows_loaded.fetch_add(table.contents.count(&numbers), Relaxed);
        Ok(true)
    }

    fn try_unit(&mut self, table: &'a Table, numbers: RangeInclusive<u64>) -> Result<bool, Error> {
        let (shared, session) = (self.shared, &mut self.session);
        if let Some(other) = self.inserter.take_if(|inserter| inserter.table().name != table.name) {
            other.close(session)?;
        }
        let inserter = match &mut self.inserter {
            Some(inserter) => inserter,
            none => none.insert(Inserter::new(session, table)?),
        };
        *shared.method.lock().unwrap_or_else(PoisonError::into_inner) = Some(inserter.method());
        let name = &table.name;
        session.run("BEGIN", name, "BEGIN")?;
        let whole = inserter.insert(session, numbers, &|| !shared.stop.load(Relaxed))?;
        session.run("COMMIT", name, if whole { "COMMIT" } else { "ROLLBACK" })?;
        Ok(whole)
    }

    /// Makes the indexes, counts, and marks the table as complete.
    fn finish(&mut self, index: usize) -> Result<(), Error> {
        let table = &self.shared.tables[index];
        let (name, rows) = (&table.name, table.rows);
        if let Some(inserter) = self.inserter.take() {
            inserter.close(&mut self.session)?;
        }
        for index in &table.indexes {
            let show = family::spoken().find_index(&quoted(name), &index.name);
            // It is there where a load broke off between making it and marking the table.
            if self.session.run("SHOW INDEX", name, &show)?.rows().is_empty() {
                self.session.run("CREATE INDEX", name, &index.create(name))?;
            }
        }
        let (found, last) = self.count(table)?;
        if (found, last) != (rows, table.last()) {
            let server = self.session.server().to_owned();
            return Err(Error::Incomplete { server, table: name.clone(), found, last, expected: rows });
        }
        self.session.run("ALTER TABLE", name, &table.mark_complete())?;
        if table.has_statistics {
            self.session.run("ANALYZE TABLE", name, &family::spoken().count_values(&quoted(name)))?;
        }
        Ok(())
    }

    /// Rows of a table, and the highest number.
    fn count(&mut self, table: &Table) -> Result<(u64, u64), Error> {
        let Table { name, number, .. } = table;
        let count = format!("SELECT COUNT(*), COALESCE(MAX({number}), 0) FROM {}", quoted(name));
        let answer = self.session.run("SELECT", name, &count)?;
        let figure = |at: usize| answer.rows().first()?.get(at)?.as_deref()?.parse().ok();
        Ok((figure(0).unwrap_or(0), figure(1).unwrap_or(0)))
    }
}

/// Whether the same again may succeed.
pub(super) fn is_conflict(error: &client::Error) -> bool {
    error.code().and_then(|code| family::spoken().class(code)) == Some(Class::Conflict)
}

/// Comments of those tables that are there. A foreign one is an error.
pub(super) fn survey(
    session: &mut Session,
    target: &Target,
    tables: &[Table],
) -> Result<Vec<Option<String>>, Error> {
    let places: HashMap<String, usize> =
        tables.iter().enumerate().map(|(place, table)| (table.name.to_lowercase(), place)).collect();
    let ignores_case = marks::ignores_case(session)?;
    let mut found = vec![None; tables.len()];
    for other in marks::find(session, None, Names::Any)? {
        let Some(&place) = places.get(&other.name.to_lowercase()) else { continue };
        if !ignores_case && other.name != tables[place].name {
            continue;
        }
        if !marks::is_own(&other) {
            let database = target.database.clone().unwrap_or_default();
            return Err(Error::Foreign { server: session.server().to_owned(), database, table: other.name });
        }
        found[place] = Some(other.comment);
    }
    Ok(found)
}
