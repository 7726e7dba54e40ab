//! `prony prepare` and `prony cleanup`: the data set alone.

use super::{
    arguments::{CleanupOptions, PrepareOptions},
    failure::{Failure, chain},
    interrupt,
    progress::DataProgress,
    report::print,
};
use crate::{dataset, provision, provision::target, report::number, workload};
use serde_json::json;

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), Failure> {
    let target = options.server.target()?;
    let mut plan = workload::data(&options.workload, &options.workload_options.options()?)
        .map_err(Failure::cannot_begin)?;
    plan.seed = options.seed;
    let stop = interrupt::stop_on_signals();
    let progress = DataProgress::new();
    let result = dataset::prepare(
        &target,
        &plan,
        options.threads,
        &mut |step| progress.show(step.rows, step.rows_total, step.rows_loaded),
        stop.flag(),
    );
    progress.clear();
    let done = result.map_err(|error| failure(&error))?;
    let checksum = if options.checksum {
        let checked = dataset::checksum(&target, &plan, options.threads, stop.flag());
        Some(checked.map_err(|error| failure(&error))?)
    } else {
        None
    };
    let seconds = done.took.as_secs_f64();
    let rate = if seconds > 0.0 { done.rows_loaded as f64 / seconds } else { 0.0 };
    if options.json {
        let object = json!({
            "format": 1, "server": target::shown(&target), "tables": done.tables,
            "tables_kept": done.tables_kept, "rows": done.rows, "rows_loaded": done.rows_loaded,
            "seconds": seconds, "rows_per_second": rate, "method": done.method, "checksum": checksum,
        });
        print(&format!("{}\n", serde_json::to_string_pretty(&object).expect("plain values")))?;
        return differing(checksum.as_ref());
    }
    let kept = match done.tables_kept {
        0 => String::new(),
        kept => format!("; {kept} of {} tables were complete already", done.tables),
    };
    print(&format!(
        "{}: {} with {} rows; {} loaded in {seconds:.1} s ({} rows/s){kept}\n",
        target::shown(&target),
        number::counted(u64::from(done.tables), "table"),
        number::count(done.rows),
        number::count(done.rows_loaded),
        number::count(rate as u64)
    ))?;
    if let Some(checksum) = &checksum {
        print(&format!("checksum {:016x}\n", checksum.found))?;
    }
    differing(checksum.as_ref())
}

/// An error where tables hold something else than was loaded.
fn differing(checksum: Option<&dataset::Checksum>) -> Result<(), Failure> {
    match checksum {
        Some(checksum) if !checksum.is_right() => Err(Failure::failed(format!(
            "the contents of {} are not what was loaded: a workload has changed them, or data was lost. \
             `prony cleanup`, then `prony prepare`, makes them anew",
            checksum.different.join(", ")
        ))),
        _ => Ok(()),
    }
}

pub(super) fn cleanup(options: &CleanupOptions) -> Result<(), Failure> {
    let target = options.server.target()?;
    if let Some(name) = &options.workload {
        workload::find(name).map_err(Failure::cannot_begin)?;
    }
    provision::log_in(&target).map_err(|error| Failure::cannot_begin(chain(&error)))?;
    let cleaned = dataset::cleanup(&target, options.tables).map_err(|error| failure(&error))?;
    let shown = target::shown(&target);
    if cleaned.dropped.is_empty() {
        print(&format!("{shown}: no table that Prony made\n"))?;
    } else {
        print(&format!("{shown}: dropped {}\n", cleaned.dropped.join(", ")))?;
    }
    if !cleaned.foreign.is_empty() {
        print(&format!(
            "{shown}: left alone, because Prony did not make them: {}\n",
            cleaned.foreign.join(", ")
        ))?;
    }
    if options.tables.is_some() {
        return Ok(());
    }
    match dataset::drop_database(&target).map_err(|error| failure(&error))? {
        dataset::Database::Foreign => {}
        dataset::Database::Dropped => {
            print(&format!("{shown}: dropped the database, which Prony had made\n"))?
        }
        dataset::Database::Unseen(rights) => {
            print(&format!(
                "{shown}: the database stays, though Prony made it: this account cannot see whether somebody \
                 else has routines or events in it. Grant it {} on the database and try again, or drop the \
                 database yourself\n",
                rights.join(" and ")
            ))?;
        }
        dataset::Database::InUse(others) => {
            print(&format!(
                "{shown}: the database stays, though Prony made it: it holds {}\n",
                others.join(", ")
            ))?;
        }
    }
    Ok(())
}

fn failure(error: &dataset::Error) -> Failure {
    match error {
        dataset::Error::Interrupted => Failure::interrupted(chain(error)),
        error if ::load::client::is_stop(error) => Failure::interrupted(chain(&dataset::Error::Interrupted)),
        error => Failure::cannot_begin(chain(error)),
    }
}
