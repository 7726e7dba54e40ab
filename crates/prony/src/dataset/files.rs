//! Loads files, statement by statement, as a client program does, and tells what was refused: file, line, the
//! server's words. Rows go over several connections where their order does not matter, and indexes that
//! nothing needs before are made when the rows are in.

use super::{
    Error,
    form::Warning,
    pool::{Job, Pool},
    session::Session,
};
use crate::layout::{
    Rows,
    files::{self, Data, Disguises, File, Inserts, Passed, Reader, Role, Statement, Table, Use},
};
use load::spec::Target;
use std::{
    borrow::Cow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// Between two calls of the progress callback.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// Bytes of a table's rows from which on its indexes are made afterwards: 28 MB with three indexes took
/// 16 s, and 42 s with the indexes from the start (MariaDB 10.11, buffer pool of 64 MB).
const LATER_BYTES_MIN: u64 = 8 << 20;
/// What rows of other forms need of a connection: text is UTF-8, times are UTC, a 0 is no request for a
/// number, and the order of tables does not matter.
const OF_ROWS: &str = "SET NAMES utf8mb4, time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 0, \
                       sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')";

/// Loads all files into the target's database, which is made if it is missing, over at most `connections`
/// beside the one that executes what has an order. `progress` is called with the bytes that are done. Returns
/// what the server had to say about statements that it took.
///
/// # Errors
/// [`Error::File`] with the line; no connection, or `stop` became true.
pub fn execute(
    target: &Target,
    data: &Data,
    connections: u32,
    progress: &mut dyn FnMut(u64),
    stop: &AtomicBool,
) -> Result<Vec<Warning>, Error> {
    let disguises = Disguises::new(data)?;
    let mut session = Session::open(target)?;
    session.lock()?;
    let pool = Pool::new(target, stop);
    let done = thread::scope(|scope| {
        for _ in 0..connections.max(1) {
            scope.spawn(|| pool.work());
        }
        let conductor = scope.spawn(|| {
            let (pool, disguises) = (&pool, &disguises);
            let later = Vec::new();
            let mut conductor = Conductor { data, disguises, pool, session, later, checks_references: true };
            let done = conductor.conduct();
            pool.end();
            done
        });
        while !conductor.is_finished() {
            thread::sleep(TICK);
            progress(pool.done());
        }
        conductor.join().expect("loading does not panic")
    });
    if let Some(failure) = pool.failure() {
        return Err(failure);
    }
    done.map(|()| pool.warnings())
}

/// Executes what has an order, and hands over what has none.
struct Conductor<'a> {
    data: &'a Data,
    disguises: &'a Disguises<'a>,
    pool: &'a Pool<'a>,
    session: Session,
    /// What makes indexes when the rows are in, with the file and line of the table.
    later: Vec<Job>,
    /// Whether the server checks foreign keys while rows are inserted.
    checks_references: bool,
}

impl Conductor<'_> {
    fn conduct(&mut self) -> Result<(), Error> {
        let files = &self.data.files;
        let (first, last): (Vec<&File>, Vec<&File>) = files.iter().partition(|file| file.use_as != Use::Last);
        for group in first.chunk_by(|one, other| one.use_as.is_beside() && other.use_as.is_beside()) {
            match group {
                [file] if !file.use_as.is_beside() => self.script(file)?,
                beside => self.beside(beside)?,
            }
        }
        let settings = self.pool.settings();
        for job in std::mem::take(&mut self.later) {
            self.pool.push(Job { settings, ..job })?;
        }
        self.pool.drain()?;
        last.into_iter().try_for_each(|file| self.script(file))
    }

    /// A file of statements in their order: rows go to the other connections where they have none.
    fn script(&mut self, file: &File) -> Result<(), Error> {
        let unreadable = |source| files::Error::Read { path: file.path.clone(), source };
        let mut statements = files::open(&file.path).map_err(unreadable)?;
        let mut filling: Option<String> = None;
        let mut progress = self.disguises.begin(&file.path);
        while let Some(Statement { line, mut text }) = statements.read().map_err(unreadable)? {
            let bytes = text.len() as u64;
            let role = files::role(&text);
            let is_frame = file.use_as == Use::Frame && files::names_database(&text);
            if role == Role::Lock || is_frame {
                self.pool.add_done(bytes);
                continue;
            }
            let other = match self.disguises.statement(&text, &mut progress) {
                Cow::Owned(other) => Some(other),
                Cow::Borrowed(_) => None,
            };
            text = other.unwrap_or(text);
            let table = match role {
                Role::Rows => self.data.filled(&text).filter(|table| !table.is_ordered),
                _ => None,
            };
            if let Some(table) = table {
                if filling.as_ref() != Some(&table.name) {
                    self.pool.drain()?;
                    filling = Some(table.name.clone());
                }
                let (file, settings) = (file.path.clone(), self.pool.settings());
                self.pool.push(Job { text, file, line, bytes, settings })?;
                continue;
            }
            // a setting that holds for what follows disturbs nobody
            if role == Role::Setting {
                self.pool.set(&text);
                self.checks_references &= !files::ignores_references(&text);
            } else {
                self.pool.drain()?;
                filling = None;
                self.put_off_indexes(&mut text, file, line);
            }
            self.pool.execute_in(&mut self.session, &text, &file.path, line)?;
            self.pool.add_done(bytes);
        }
        self.pool.drain()
    }

    /// Takes the indexes out of CREATE TABLE where making them afterwards is faster.
    fn put_off_indexes(&mut self, text: &mut Vec<u8>, file: &File, line: u64) {
        let made = self
            .data
            .made
            .iter()
            .find(|table| self.data.files[table.place.0].path == file.path && table.place.1 == line);
        // a table that others refer to may need an index for it
        let may = !self.checks_references || !self.data.made.iter().any(|table| table.refers);
        if made.is_none_or(|table| table.bytes < LATER_BYTES_MIN) || !may {
            return;
        }
        if let Some((kept, later)) = files::put_off_indexes(text) {
            *text = kept;
            let (file, text) = (file.path.clone(), later.into_bytes());
            self.later.push(Job { text, file, line, bytes: 0, settings: 0 });
        }
    }

    /// Files of rows, each read by itself.
    fn beside(&mut self, files: &[&File]) -> Result<(), Error> {
        if files.iter().any(|file| matches!(file.use_as, Use::Rows(_))) {
            self.pool.set(OF_ROWS.as_bytes());
        }
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let readers = thread::available_parallelism().map_or(1, usize::from).min(files.len());
        let (pool, data, disguises) = (self.pool, self.data, self.disguises);
        thread::scope(|scope| {
            for _ in 0..readers {
                scope.spawn(|| {
                    while let Some(file) = files.get(next.fetch_add(1, Relaxed)) {
                        let read = match &file.use_as {
                            Use::Rows(of) => rows(pool, data, disguises, (file, of)),
                            _ => part(pool, disguises, file),
                        };
                        if let Err(error) = read {
                            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                            next.store(files.len(), Relaxed);
                        }
                    }
                });
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => self.pool.drain(),
        }
    }
}

/// A part of a dump: its settings, then rows of one table. They are sent in the order of the file, since what
/// stands between them is not known to be without one.
fn part(pool: &Pool<'_>, disguises: &Disguises<'_>, file: &File) -> Result<(), Error> {
    let unreadable = |source| files::Error::Read { path: file.path.clone(), source };
    let mut statements = files::open(&file.path).map_err(unreadable)?;
    let mut progress = disguises.begin(&file.path);
    while let Some(Statement { line, text }) = statements.read().map_err(unreadable)? {
        let bytes = text.len() as u64;
        match files::role(&text) {
            Role::Setting => pool.set(&text),
            Role::Lock => pool.add_done(bytes),
            Role::Rows | Role::Other => {
                let text = disguises.statement(&text, &mut progress).into_owned();
                let (file, settings) = (file.path.clone(), pool.settings());
                pool.push(Job { text, file, line, bytes, settings })?;
            }
        }
    }
    Ok(())
}

/// Rows in another form.
fn rows(
    pool: &Pool<'_>,
    data: &Data,
    disguises: &Disguises<'_>,
    (file, of): (&File, &files::OfRows),
) -> Result<(), Error> {
    let none = Table::default();
    let table = data.made.iter().find(|table| table.name == of.table).unwrap_or(&none);
    let unreadable = |source| files::Error::Read { path: file.path.clone(), source };
    let mut reader = Reader::open(&file.path, of, &table.columns).map_err(unreadable)?;
    let mut inserts = Inserts::new(of, &table.columns);
    let (mut cells, mut first) = (Rows::default(), 1);
    let mut progress = disguises.begin(&file.path);
    loop {
        cells.clear();
        let line = reader.line();
        let more = reader.read(&mut cells);
        let more = more.map_err(|source| files::Error::Row { path: file.path.clone(), line, source })?;
        if more {
            let sent = disguises.cells(of, &cells, &mut progress);
            if !inserts.add(sent.iter().map(Passed::cell)) {
                continue;
            }
        }
        if let Some((text, count)) = inserts.take() {
            let bytes = (u128::from(file.bytes) * u128::from(count) / u128::from(file.rows.max(1))) as u64;
            let (file, settings) = (file.path.clone(), pool.settings());
            pool.push(Job { text, file, line: first, bytes, settings })?;
            if table.is_ordered {
                pool.drain()?;
            }
        }
        if !more {
            return Ok(());
        }
        first = reader.line() + 1;
    }
}

/// Drops the target's database with everything in it: only on a server that is Prony's own.
///
/// # Errors
/// No connection, or another Prony at work.
pub fn remove(target: &Target) -> Result<(), Error> {
    let Some(mut session) = Session::open_existing(target)? else { return Ok(()) };
    session.lock()?;
    session.drop_database()
}
