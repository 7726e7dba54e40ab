//! Reads a data set once from end to end, so that it is in memory as far as it fits: tables through their
//! clustered index or in the order of their rows, then each secondary index by itself.

use super::{Error, Progress, session::Session, table, validate};
use crate::{family, plan::DataPlan};
use load::spec::Target;
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Instant,
};

/// Values of the key that one query reads: what an interruption waits for.
const RANGE: u64 = 250_000;

/// Reads all tables over one connection: two do not read faster from one disk, and the order of pages in
/// memory is then the same for every server. `progress` has rows as they are read, index entries included.
///
/// # Errors
/// No connection, a table is missing, or `stop` became true.
pub fn warm(
    target: &Target,
    plan: &DataPlan,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<(), Error> {
    validate(plan)?;
    let rows = table::rows(plan);
    let mut session = Session::open(target)?;
    let begun = Instant::now();
    let by_index = plan.create_secondary && !table::is_bulk(plan);
    let mut told = Progress {
        rows: 0,
        rows_total: u64::from(plan.tables) * rows * if by_index { 2 } else { 1 },
        rows_loaded: 0,
        tables: 0,
        tables_total: plan.tables,
        elapsed: begun.elapsed(),
    };
    for number in 1..=plan.tables {
        let name = table::name(number);
        let mut scans = vec![(plan.secondary.then(|| "xid".to_owned()), "id", " AND pad = ''")];
        if by_index {
            scans.push((Some(table::index(number)), "k", ""));
        }
        if table::is_bulk(plan) {
            scans.clear();
        }
        for (index, column, and) in scans {
            let by_index = family::spoken().by_index(index.as_deref());
            // Values of `k` lie between 1 and the number of rows, as those of `id` do; workloads may have
            // moved some.
            for first in (0..=rows).step_by(RANGE as usize) {
                if stop.load(Relaxed) {
                    return Err(Error::Interrupted);
                }
                let last = first + RANGE - 1;
                let select = format!(
                    "SELECT COUNT(*) FROM {name}{by_index} WHERE {column} BETWEEN {first} AND {last}{and}"
                );
                session.run("SELECT", &name, &select)?;
                told.rows = (told.rows + RANGE.min(rows)).min(told.rows_total);
                told.elapsed = begun.elapsed();
                progress(told);
            }
        }
        told.tables += 1;
    }
    Ok(())
}
