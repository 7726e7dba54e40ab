//! Reads a data set once from end to end, so that it is in memory as far as it fits: tables through their
//! clustered index or in the order of their rows, then each secondary index by itself.

use super::{Error, Progress, marks, session::Session};
use crate::{
    family,
    layout::{Layout, Scan, Table},
};
use load::spec::Target;
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Instant,
};

/// Rows that one query reads, about: what an interruption waits for.
const RANGE: u64 = 250_000;

/// Reads all tables over one connection: two do not read faster from one disk, and the order of pages in
/// memory is then the same for every server. `progress` has rows as they are read, index entries included.
///
/// # Errors
/// No connection, a table is missing, or `stop` became true.
pub fn warm(
    target: &Target,
    layout: &dyn Layout,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<(), Error> {
    let tables = layout.tables();
    let mut session = Session::open(target)?;
    let begun = Instant::now();
    let mut told = Progress {
        rows: 0,
        rows_total: tables.iter().map(|table| table.rows * table.scans.len() as u64).sum(),
        rows_loaded: 0,
        tables: 0,
        tables_total: u32::try_from(tables.len()).unwrap_or(u32::MAX),
        elapsed: begun.elapsed(),
    };
    for table in &tables {
        for scan in &table.scans {
            let parts = queries(table, scan);
            let rows = table.rows / parts.len() as u64;
            for select in parts {
                if stop.load(Relaxed) {
                    return Err(Error::Interrupted);
                }
                session.run("SELECT", &table.name, &select)?;
                told.rows = (told.rows + rows).min(told.rows_total);
                told.elapsed = begun.elapsed();
                progress(told);
            }
        }
        told.tables += 1;
    }
    if layout.has_unnamed() { warm_unnamed(&mut session, stop) } else { Ok(()) }
}

/// Reads the tables that a script has made. Nobody knows their keys, so each is read in one go.
fn warm_unnamed(session: &mut Session, stop: &AtomicBool) -> Result<(), Error> {
    for table in marks::unnamed(session)? {
        let reads = session.about("SELECT", &table, |family, control| family.whole_reads(control, &table))?;
        for select in reads {
            if stop.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            session.run("SELECT", &table, &select)?;
        }
    }
    Ok(())
}

/// What reads a table once: a query for each part of about so many rows.
fn queries(table: &Table, scan: &Scan) -> Vec<String> {
    let family = family::spoken();
    let (name, index) = (family.quoted(&table.name), scan.index.as_ref().map(|name| family.quoted(name)));
    let select = format!("SELECT COUNT(*) FROM {name}{}", family.by_index(index.as_deref()));
    let and = |range: String| {
        let both = [range.as_str(), scan.condition.as_str()];
        let all: Vec<&str> = both.into_iter().filter(|part| !part.is_empty()).collect();
        if all.is_empty() { select.clone() } else { format!("{select} WHERE {}", all.join(" AND ")) }
    };
    let Some((by, first, last)) = &scan.by else { return vec![and(String::new())] };
    let span = (i128::from(*last) - i128::from(*first) + 1).max(1);
    let parts = i128::from(table.rows.div_ceil(RANGE).max(1)).min(span);
    let border = |part: i128| i128::from(*first) + span * part / parts;
    (0..parts)
        .map(|part| and(format!("{by} BETWEEN {} AND {}", border(part), border(part + 1) - 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::sysbench;

    #[test]
    fn parts_of_a_scan_meet_and_leave_nothing_out() {
        let options = sysbench::Options { table_size: 1_000_000, ..Default::default() };
        let table = sysbench::data("oltp_read_only", &options).tables().remove(0);
        let queries = queries(&table, &table.scans[0]);
        let ends: Vec<(i64, i64)> = queries
            .iter()
            .map(|query| {
                let (_, range) = query.split_once("BETWEEN ").unwrap();
                let words: Vec<&str> = range.split(' ').collect();
                (words[0].parse().unwrap(), words[2].parse().unwrap())
            })
            .collect();
        assert_eq!((ends[0].0, ends[ends.len() - 1].1, ends.len()), (0, 1_000_000, 4));
        assert!(ends.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{ends:?}");
        assert!(queries[0].contains("FORCE INDEX (PRIMARY)"), "{}", queries[0]);
    }
}
