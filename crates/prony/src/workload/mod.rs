//! Workloads as values: the built-in ones, which come with the layouts of their data, and those that a user
//! writes in a study. Both are [`load::spec::Workload`]s, which the engine interprets; nothing here talks to
//! a server, or knows when and by whom a workload is run.

mod names;
mod sql;
mod tables;
mod tokens;
mod writes;
mod writing;
mod written;

pub use crate::layout::{
    Builtin, Effect, Error,
    sysbench::{OptionInfo, OptionKind, Options, Random},
};
pub use sql::is_name;
pub use tables::{foreign_written, needs_data};
pub use writes::{effect, makes_tables, only_reads, written_by};
pub use writing::{Name, Writes};
pub use written::{Context, Entry, Mistake, Value, Written, written};

use crate::layout::{DataSet, nearest, neighbours, sysbench, tpcc, tpch};
use load::spec::{Waits, Workload};
use std::sync::LazyLock;

static BUILTINS: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
    let neighbours = neighbours::ALL.iter().map(|neighbour| &neighbour.builtin);
    let others = tpcc::BUILTINS.iter().chain(&tpch::BUILTINS).chain(neighbours);
    sysbench::BUILTINS.iter().chain(others).copied().collect()
});

/// All built-in workloads.
#[must_use]
pub fn list() -> &'static [Builtin] {
    &BUILTINS
}

/// The entry of a built-in workload.
///
/// # Errors
/// [`Error::UnknownWorkload`].
pub fn find(name: &str) -> Result<&'static Builtin, Error> {
    list().iter().find(|builtin| builtin.name == name).ok_or_else(|| Error::UnknownWorkload {
        name: name.to_owned(),
        nearest: nearest(name, list().iter().map(|builtin| builtin.name)),
    })
}

/// A built-in workload with these options.
///
/// # Errors
/// Unknown name, or options that make no sense.
pub fn builtin(name: &str, options: &Options) -> Result<Workload, Error> {
    let builtin = find(name)?;
    options.check()?;
    if neighbours::find(name).is_some() {
        let others = neighbours::Data::default();
        return Ok(neighbours::workload(name, &DataSet::Neighbours(others)));
    }
    if is_tpcc(name) {
        return Ok(tpcc::workload(builtin.name, options.warehouses, options.procedures));
    }
    if is_tpch(name) {
        return Ok(tpch::workload(options.query_stream, options.scale_factor, options.query_limit));
    }
    sysbench::workload(builtin.name, options)
}

/// Whether a workload is the one like TPC-H's.
#[must_use]
pub fn is_tpch(name: &str) -> bool {
    name == tpch::NAME
}

/// Whether a workload is one of those like TPC-C's.
#[must_use]
pub fn is_tpcc(name: &str) -> bool {
    tpcc::BUILTINS.iter().any(|builtin| builtin.name == name)
}

/// Whether its connections are terminals, of which a warehouse has ten.
#[must_use]
pub fn has_terminals(name: &str) -> bool {
    name == tpcc::NAME
}

/// How long connections wait around each transaction of a built-in workload; `None`: not at all.
#[must_use]
pub fn waits(name: &str) -> Option<Vec<Waits>> {
    has_terminals(name).then(tpcc::waits)
}

/// The data set that a built-in workload needs, with seed 0: the seed is the caller's to set.
///
/// # Errors
/// Unknown name, or options that make no sense.
pub fn data_set(name: &str, options: &Options) -> Result<DataSet, Error> {
    if neighbours::find(name).is_some() {
        return Ok(DataSet::Neighbours(neighbours::Data::default()));
    }
    if !is_tpcc(name) && !is_tpch(name) {
        return Ok(data(name, options)?.into());
    }
    options.check()?;
    let (warehouses, engine) = (options.warehouses, Some(options.engine.clone()));
    if is_tpch(name) {
        return Ok(tpch::Data { scale_factor: options.scale_factor, engine }.into());
    }
    Ok(tpcc::Data { warehouses, engine, seed: 0, procedures: options.procedures }.into())
}

/// The same of a workload of sysbench's.
///
/// # Errors
/// Unknown name, or options that make no sense.
pub fn data(name: &str, options: &Options) -> Result<sysbench::Data, Error> {
    let builtin = find(name)?;
    options.check()?;
    Ok(sysbench::data(builtin.name, options))
}
