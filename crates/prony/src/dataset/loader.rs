//! Loads tables over several connections at once.

use super::{
    Error, Method, Progress, Report,
    insert::Inserter,
    marks,
    rows::Rows,
    session::{self, Session},
    table::{self, Kinship, State},
    work::{self, Task, Unit, Work},
};
use crate::{
    family::{self, Class, Found, Names},
    plan::DataPlan,
};
use load::{client, spec::Target};
use std::{
    collections::VecDeque,
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
const ATTEMPTS: u32 = 5;

/// What all connections share.
struct Shared<'a> {
    target: &'a Target,
    plan: &'a DataPlan,
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
    plan: &DataPlan,
    connections: u32,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let started = Instant::now();
    let mut control = Session::open(target)?;
    control.lock()?;
    control.wait_for_loaders(stop)?;
    let found = survey(&mut control, target, plan)?;
    let shared = Shared {
        target,
        plan,
        found,
        work: Work::new(plan.tables),
        rows_found: AtomicU64::new(0),
        rows_loaded: AtomicU64::new(0),
        tables_kept: AtomicU32::new(0),
        method: Mutex::new(None),
        stop,
        numbers: Mutex::new(Vec::new()),
    };
    let rows_total = u64::from(plan.tables) * table::rows(plan);
    let mut tell = || progress(shared.progress(rows_total, started.elapsed()));
    tell();
    let (ended, results) = mpsc::channel();
    // More connections than units, and tables to be opened, would find nothing to do.
    let useful = u64::from(plan.tables) * u64::from(work::units(table::rows(plan)).max(1));
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
    if stop.load(Relaxed) && shared.work.tables_done() < plan.tables {
        return Err(Error::Interrupted);
    }
    if let Some(error) = failure {
        return Err(error);
    }
    Ok(Report {
        tables: plan.tables,
        tables_kept: shared.tables_kept.into_inner(),
        rows: rows_total,
        rows_loaded: shared.rows_loaded.into_inner(),
        method: shared.method.into_inner().unwrap_or_else(PoisonError::into_inner),
        took: started.elapsed(),
    })
}

impl Shared<'_> {
    fn progress(&self, rows_total: u64, elapsed: Duration) -> Progress {
        let rows_loaded = self.rows_loaded.load(Relaxed);
        Progress {
            rows: self.rows_found.load(Relaxed) + rows_loaded,
            rows_total,
            rows_loaded,
            tables: self.work.tables_done(),
            tables_total: self.plan.tables,
            elapsed,
        }
    }

    /// Ends the statements that connections wait for: building an index can take long. One that has ended
    /// meanwhile is no loss, and a server that refuses leaves us waiting for its reply.
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
    inserter: Option<Inserter>,
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
                    self.finish(number(table))?;
                    self.shared.work.done(table);
                }
                Task::End | Task::Load(..) => return Ok(()),
            }
        }
    }

    /// Finds out what is missing of a table, and makes it if it is not there or not what is wanted.
    fn open_table(&mut self, index: usize) -> Result<(), Error> {
        let (number, shared) = (number(index), self.shared);
        let rows = table::rows(shared.plan);
        let found = shared.found[index].as_deref().map(|comment| table::kinship(comment, shared.plan));
        let missing = match found {
            Some(Kinship::Same(State::Complete)) if self.count(number)? == (rows, rows) => {
                shared.rows_found.fetch_add(rows, Relaxed);
                shared.tables_kept.fetch_add(1, Relaxed);
                shared.work.done(index);
                return Ok(());
            }
            Some(Kinship::Same(State::Loading)) => self.missing(number)?,
            _ => None,
        };
        let missing = match missing {
            Some(missing) => missing,
            None => {
                let name = table::name(number);
                if found.is_some() {
                    self.session.run("DROP TABLE", &name, &format!("DROP TABLE {name}"))?;
                }
                self.session.run("CREATE TABLE", &name, &table::create(shared.plan, number))?;
                (0..work::units(rows)).collect()
            }
        };
        shared.work.opened(index, missing);
        Ok(())
    }

    /// The units that a half-loaded table misses; `None`: it has rows that cannot be of this data set.
    fn missing(&mut self, number: u32) -> Result<Option<VecDeque<Unit>>, Error> {
        let (name, rows) = (table::name(number), table::rows(self.shared.plan));
        let answer = self.session.run("SELECT", &name, &work::survey(&name))?;
        let mut missing: Vec<bool> = vec![true; work::units(rows) as usize];
        let mut found = 0;
        for row in answer.rows() {
            let figure = |at: usize| row.get(at)?.as_deref()?.parse::<u64>().ok();
            let (Some(unit), Some(count)) = (figure(0), figure(1)) else { return Ok(None) };
            let Some(place) = missing.get_mut(unit as usize) else { return Ok(None) };
            let ids = work::ids(unit as Unit, rows);
            if count == ids.clone().count() as u64 {
                *place = false;
                found += count;
            } else {
                // Only an engine without transactions leaves a part of a unit.
                let (first, last) = (ids.start(), ids.end());
                let delete = format!("DELETE FROM {name} WHERE id BETWEEN {first} AND {last}");
                self.session.run("DELETE", &name, &delete)?;
            }
        }
        self.shared.rows_found.fetch_add(found, Relaxed);
        Ok(Some((0..work::units(rows)).filter(|unit| missing[*unit as usize]).collect()))
    }

    /// Loads a unit in one transaction. False: the caller wants to stop.
    fn load(&mut self, index: usize, unit: Unit) -> Result<bool, Error> {
        let ids = work::ids(unit, table::rows(self.shared.plan));
        let rows = ids.clone().count() as u64;
        for attempt in 1.. {
            match self.try_unit(number(index), ids.clone()) {
                Ok(true) => break,
                Err(Error::Statement { source, .. }) if is_conflict(&source) && attempt < ATTEMPTS => {
                    self.session.run("ROLLBACK", &table::name(number(index)), "ROLLBACK")?;
                }
                other => return other,
            }
        }
        self.shared.rows_loaded.fetch_add(rows, Relaxed);
        Ok(true)
    }

    fn try_unit(&mut self, number: u32, ids: std::ops::RangeInclusive<i32>) -> Result<bool, Error> {
        let (shared, session) = (self.shared, &mut self.session);
        if let Some(other) = self.inserter.take_if(|inserter| inserter.table() != number) {
            other.close(session)?;
        }
        let inserter = match &mut self.inserter {
            Some(inserter) => inserter,
            none => none.insert(Inserter::new(session, number, Rows::new(shared.plan, number))?),
        };
        *shared.method.lock().unwrap_or_else(PoisonError::into_inner) = Some(inserter.method());
        let name = table::name(number);
        session.run("BEGIN", &name, "BEGIN")?;
        let whole = inserter.insert(session, ids, &|| !shared.stop.load(Relaxed))?;
        session.run("COMMIT", &name, if whole { "COMMIT" } else { "ROLLBACK" })?;
        Ok(whole)
    }

    /// Makes the index, counts, and marks the table as complete.
    fn finish(&mut self, number: u32) -> Result<(), Error> {
        let (name, plan) = (table::name(number), self.shared.plan);
        if let Some(inserter) = self.inserter.take() {
            inserter.close(&mut self.session)?;
        }
        if plan.create_secondary && !table::is_bulk(plan) {
            let show = family::spoken().find_index(&name, &table::index(number));
            // It is there where a load broke off between making it and marking the table.
            if self.session.run("SHOW INDEX", &name, &show)?.rows().is_empty() {
                self.session.run("CREATE INDEX", &name, &table::create_index(number))?;
            }
        }
        let rows = table::rows(plan);
        let (found, last) = self.count(number)?;
        if (found, last) != (rows, rows) {
            let server = self.session.server().to_owned();
            return Err(Error::Incomplete { server, table: name, found, last, expected: rows });
        }
        self.session.run("ALTER TABLE", &name, &table::mark_complete(plan, number))?;
        Ok(())
    }

    /// Rows of a table, and the highest id.
    fn count(&mut self, number: u32) -> Result<(u64, u64), Error> {
        let name = table::name(number);
        let count = format!("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM {name}");
        let answer = self.session.run("SELECT", &name, &count)?;
        let figure = |at: usize| answer.rows().first()?.get(at)?.as_deref()?.parse().ok();
        Ok((figure(0).unwrap_or(0), figure(1).unwrap_or(0)))
    }
}

/// Whether the same again may succeed.
fn is_conflict(error: &client::Error) -> bool {
    error.code().and_then(|code| family::spoken().class(code)) == Some(Class::Conflict)
}

/// Number of the table at `index`.
fn number(index: usize) -> u32 {
    u32::try_from(index).expect("there are no more tables than the plan's u32 says") + 1
}

/// Every table of the schema that is called as a data set's.
pub(super) fn tables(session: &mut Session) -> Result<Vec<Found>, Error> {
    let mut tables = marks::find(session, None, Names::Beginning("sbtest"))?;
    tables.retain(|found| table::number(&found.name).is_some());
    tables.sort_by_key(|found| table::number(&found.name));
    Ok(tables)
}

/// Comments of the plan's tables that are there. A foreign one is an error.
pub(super) fn survey(
    session: &mut Session,
    target: &Target,
    plan: &DataPlan,
) -> Result<Vec<Option<String>>, Error> {
    let mut found = vec![None; plan.tables as usize];
    for table in tables(session)? {
        let Some(place) = table::number(&table.name).and_then(|number| found.get_mut(number as usize - 1))
        else {
            continue;
        };
        if !marks::is_own(&table) {
            let database = target.database.clone().unwrap_or_default();
            return Err(Error::Foreign { server: session.server().to_owned(), database, table: table.name });
        }
        *place = Some(table.comment);
    }
    Ok(found)
}
