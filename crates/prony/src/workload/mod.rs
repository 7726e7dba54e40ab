//! Workloads as values: the built-in ones, which come with the layouts of their data, and those that a user
//! writes in a study. Both are [`load::spec::Workload`]s, which the engine interprets; nothing here talks to
//! a server or knows when and by whom a workload is run.

mod names;
mod sql;
mod tables;
mod tokens;
mod writes;
mod writing;
mod written;

pub use crate::layout::{
    Builtin, Effect, Error,
    sysbench::{OptionInfo, OptionKind, Options, Random, distribution},
};
pub use sql::is_name;
pub use tables::{foreign_written, needs_data};
pub use writes::{effect, written_by};
pub use writing::{Name, Writes};
pub use written::{Entry, Mistake, Surroundings, Value, Written, written};

use crate::layout::{nearest, sysbench};
use load::spec::Workload;

/// All built-in workloads.
#[must_use]
pub fn list() -> &'static [Builtin] {
    &sysbench::BUILTINS
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
    sysbench::workload(builtin.name, options)
}

/// The data set that a built-in workload needs, with seed 0: the seed is the caller's to set.
///
/// # Errors
/// Unknown name, or options that make no sense.
pub fn data(name: &str, options: &Options) -> Result<sysbench::Data, Error> {
    let builtin = find(name)?;
    options.check()?;
    Ok(sysbench::data(builtin.name, options))
}
