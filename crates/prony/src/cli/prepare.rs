//! `prony prepare` and `prony cleanup`: the data set alone.

use super::{
    failure::{Failure, chain},
    flags::{ServerFlags, WorkloadFlags, count},
    interrupt,
    progress::DataProgress,
    terminal::print,
};
use crate::{dataset, layout::sysbench, provision, provision::target, report::number, workload};
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony prepare oltp_read_write --url mysql://user@127.0.0.1:3306/test \
                        --tables 4 --rows 50000\n  prony prepare oltp_read_only --rows 10000000 --threads \
                        8\n\nIt is safe to repeat: complete tables are recognised and kept. Tables that \
                        Prony did not create are never touched.")]
pub(super) struct PrepareOptions {
    /// A built-in workload (`prony list workloads`)
    #[arg(value_name = "WORKLOAD")]
    workload: String,
    #[command(flatten)]
    server: ServerFlags,
    /// Number of connections that load in parallel
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = count::<u32>(1, 256),
    )]
    threads: u32,
    /// Seed of the contents: the same seed gives the same rows on any server
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Afterwards, compute a checksum of every table
    #[arg(long)]
    checksum: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    workload_options: WorkloadFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony cleanup --url mysql://user@127.0.0.1:3306/test\n  prony cleanup \
                        oltp_read_write --url mysql://user@127.0.0.1:3306/test --tables 4\n\nOnly tables \
                        that Prony created are dropped; a mark in the table comment identifies them.")]
pub(super) struct CleanupOptions {
    /// The workload that the tables were created for; all built-in workloads share their tables
    #[arg(value_name = "WORKLOAD")]
    workload: Option<String>,
    #[command(flatten)]
    server: ServerFlags,
    /// Drop only the first N tables [default: all that Prony created in this database]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1, u64::from(u32::MAX)))]
    tables: Option<u32>,
}

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), Failure> {
    let target = options.server.target()?;
    let plan = workload::data_set(&options.workload, &options.workload_options.options()?)
        .map_err(Failure::cannot_begin)?
        .with_seed(options.seed);
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
        kept => format!("; {kept} of {} tables were already complete", done.tables),
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

/// An error if tables do not contain what was loaded.
fn differing(checksum: Option<&dataset::Checksum>) -> Result<(), Failure> {
    match checksum {
        Some(checksum) if !checksum.is_right() => Err(Failure::failed(format!(
            "the contents of {} differ from what was loaded: a workload changed them, or data was lost. \
             Recreate the tables with `prony cleanup` and `prony prepare`",
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
    let is_wanted = |name: &str| {
        options.tables.is_none_or(|last| sysbench::number(name).is_some_and(|number| number <= last))
    };
    let cleaned = dataset::cleanup(&target, &is_wanted).map_err(|error| failure(&error))?;
    let shown = target::shown(&target);
    if cleaned.dropped.is_empty() {
        print(&format!("{shown}: no table that Prony created\n"))?;
    } else {
        print(&format!("{shown}: dropped {}\n", cleaned.dropped.join(", ")))?;
    }
    if !cleaned.foreign.is_empty() {
        print(&format!(
            "{shown}: not touched, because Prony did not create them: {}\n",
            cleaned.foreign.join(", ")
        ))?;
    }
    if options.tables.is_some() {
        return Ok(());
    }
    match dataset::drop_database(&target).map_err(|error| failure(&error))? {
        dataset::Database::Foreign => {}
        dataset::Database::Dropped => {
            print(&format!("{shown}: dropped the database, which Prony had created\n"))?
        }
        dataset::Database::Unseen(rights) => {
            print(&format!(
                "{shown}: Prony created the database but does not drop it: this account cannot see whether \
                 others have routines or events in it. Grant it {} on the database and try again, or drop \
                 the database yourself\n",
                rights.join(" and ")
            ))?;
        }
        dataset::Database::InUse(others) => {
            print(&format!(
                "{shown}: Prony created the database but does not drop it: it holds {}\n",
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
