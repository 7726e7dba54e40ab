//! Who loads what: the tables and their missing units, shared by all connections.
//!
//! A unit is a run of rows in one table, loaded in one transaction: it is there as a whole or not at all, so
//! loading can be resumed. A connection stays with its table while that has units left. Then it opens a table
//! that nobody has begun, and only after that helps with another one's. So tables fill side by side, and all
//! connections share a single big one.

use crate::layout::{Table, quoted};
use std::{
    collections::VecDeque,
    ops::RangeInclusive,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Rows of a unit: about 2 MB of data, some tens of commits per second at full speed.
const UNIT_ROWS: u64 = 10_000;

/// A unit: place in the table, from 0.
pub(super) type Unit = u32;

/// What a connection does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Look at table (index) and make it if necessary.
    Open(usize),
    /// Load a unit of table (index).
    Load(usize, Unit),
    /// All rows of table (index) are in: index, count, mark.
    Finish(usize),
    /// There is nothing left to do.
    End,
}

#[derive(Debug)]
enum Stage {
    Fresh,
    Opening,
    Loading { missing: VecDeque<Unit>, active: u32 },
    Finishing,
    Done,
}

/// The tables and what is left to do with each.
#[derive(Debug)]
pub(super) struct Work {
    tables: Mutex<Tables>,
    changed: Condvar,
}

#[derive(Debug)]
struct Tables {
    stages: Vec<Stage>,
    given_up: bool,
}

impl Work {
    /// Work on so many tables.
    pub(super) fn new(tables: usize) -> Self {
        let stages = (0..tables).map(|_| Stage::Fresh).collect();
        Self { tables: Mutex::new(Tables { stages, given_up: false }), changed: Condvar::new() }
    }

    /// The next task of a connection that last worked on table `current`. Waits while others may still find
    /// some.
    pub(super) fn next(&self, current: Option<usize>) -> Task {
        let mut tables = self.lock();
        loop {
            if tables.given_up {
                return Task::End;
            }
            if let Some(task) = tables.choose(current) {
                return task;
            }
            let waiting = tables.stages.iter().any(|stage| matches!(stage, Stage::Opening));
            if !waiting {
                return Task::End;
            }
            tables = self.changed.wait(tables).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// An opened table misses these units.
    pub(super) fn opened(&self, table: usize, missing: VecDeque<Unit>) {
        self.set(table, Stage::Loading { missing, active: 0 });
    }

    /// An opened table turned out complete, or a finished one is.
    pub(super) fn done(&self, table: usize) {
        self.set(table, Stage::Done);
    }

    /// A unit is in. [`Task::Finish`] if it was the last.
    pub(super) fn loaded(&self, table: usize) -> Option<Task> {
        let mut tables = self.lock();
        let Stage::Loading { missing, active } = &mut tables.stages[table] else { return None };
        *active -= 1;
        if *active > 0 || !missing.is_empty() {
            return None;
        }
        tables.stages[table] = Stage::Finishing;
        Some(Task::Finish(table))
    }

    /// Something failed, or the user wants to stop: nobody begins anything more.
    pub(super) fn give_up(&self) {
        self.lock().given_up = true;
        self.changed.notify_all();
    }

    /// Tables that are done.
    pub(super) fn tables_done(&self) -> u32 {
        self.lock().stages.iter().filter(|stage| matches!(stage, Stage::Done)).count() as u32
    }

    fn set(&self, table: usize, stage: Stage) {
        self.lock().stages[table] = stage;
        self.changed.notify_all();
    }

    /// A connection that panics takes nothing else down: the stages are consistent at any moment.
    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    fn choose(&mut self, current: Option<usize>) -> Option<Task> {
        if let Some(task) = current.and_then(|table| self.take(table)) {
            return Some(task);
        }
        if let Some(fresh) = self.stages.iter().position(|stage| matches!(stage, Stage::Fresh)) {
            self.stages[fresh] = Stage::Opening;
            return Some(Task::Open(fresh));
        }
        let crowd = |(table, stage): (usize, &Stage)| match stage {
            Stage::Loading { missing, active } if !missing.is_empty() || *active == 0 => {
                Some((*active, table))
            }
            _ => None,
        };
        let (_, quietest) = self.stages.iter().enumerate().filter_map(crowd).min()?;
        self.take(quietest)
    }

    fn take(&mut self, table: usize) -> Option<Task> {
        let Stage::Loading { missing, active } = &mut self.stages[table] else { return None };
        if let Some(unit) = missing.pop_front() {
            *active += 1;
            return Some(Task::Load(table, unit));
        }
        if *active > 0 {
            return None;
        }
        self.stages[table] = Stage::Finishing;
        Some(Task::Finish(table))
    }
}

/// Number of units of a table whose rows have numbers up to this.
pub(super) fn units(last: u64) -> Unit {
    Unit::try_from(last.div_ceil(UNIT_ROWS)).expect("nobody has a table of 40 thousand billion rows")
}

/// Numbers of the rows of a unit in a table with numbers up to this.
pub(super) fn numbers(unit: Unit, last: u64) -> RangeInclusive<u64> {
    let first = u64::from(unit) * UNIT_ROWS + 1;
    first..=(first + UNIT_ROWS - 1).min(last)
}

/// `SELECT` of unit and number of its rows.
pub(super) fn survey(table: &Table) -> String {
    let Table { name, number, .. } = table;
    format!("SELECT ({number} - 1) DIV {UNIT_ROWS} AS unit, COUNT(*) FROM {} GROUP BY unit", quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_cover_every_row_once() {
        for rows in [1, 9_999, 10_000, 10_001, 250_000] {
            let all: Vec<u64> = (0..units(rows)).flat_map(|unit| numbers(unit, rows)).collect();
            assert!(all.iter().copied().eq(1..=rows));
        }
        assert_eq!(units(0), 0);
        assert_eq!(numbers(units(5_000_000_001) - 1, 5_000_000_001), 5_000_000_001..=5_000_000_001);
    }

    #[test]
    fn connections_spread_over_tables_and_then_share_what_is_left() {
        let work = Work::new(2);
        assert_eq!(work.next(None), Task::Open(0));
        assert_eq!(work.next(None), Task::Open(1));
        work.opened(0, [0, 1, 2].into());
        work.opened(1, [0].into());
        assert_eq!(work.next(Some(0)), Task::Load(0, 0));
        assert_eq!(work.next(Some(1)), Task::Load(1, 0));
        assert_eq!(work.loaded(1), Some(Task::Finish(1)));
        work.done(1);
        assert_eq!(work.next(Some(1)), Task::Load(0, 1), "helps with the other table");
        assert_eq!(work.next(Some(0)), Task::Load(0, 2));
        assert_eq!(work.loaded(0), None, "two units are still under way");
        assert_eq!(work.loaded(0), None);
        assert_eq!(work.loaded(0), Some(Task::Finish(0)));
        assert_eq!(work.next(Some(0)), Task::End);
    }

    #[test]
    fn a_table_without_rows_or_with_all_of_them_is_finished_at_once() {
        let work = Work::new(1);
        assert_eq!(work.next(None), Task::Open(0));
        work.opened(0, VecDeque::new());
        assert_eq!(work.next(Some(0)), Task::Finish(0));
    }
}
