//! Finds the store and a run in it.

use super::{
    failure::{Failure, chain},
    flags::StoreOptions,
};
use crate::{
    escape,
    store::{self, Store},
};
use std::path::{Path, PathBuf};

/// A run that cannot be read is a failure to start.
impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::cannot_begin(chain(&error))
    }
}

/// Opens the store, which must exist: commands that only read create no file.
pub(super) fn open_store(options: &StoreOptions) -> Result<Store, Failure> {
    let path = store_path(options)?;
    if !path.exists() {
        return Err(no_run(&path));
    }
    Ok(Store::open(&path)?)
}

/// Opens the store, or creates it.
pub(super) fn make_store(options: &StoreOptions) -> Result<Store, Failure> {
    Ok(Store::open(&store_path(options)?)?)
}

/// Where the store is.
pub(super) fn store_path(options: &StoreOptions) -> Result<PathBuf, Failure> {
    let path = match (options.directory(), &options.store) {
        (Some(directory), _) => directory.join("prony.sqlite"),
        (None, Some(file)) => file.clone(),
        (None, None) => store::default_path()?,
    };
    let shown = path.display().to_string();
    if shown.contains('\n') {
        return Err(Failure::cannot_begin(format!(
            "the path of the store contains a line break, which lists and messages cannot show: `{}`; choose \
             another with --store",
            escape::line(&shown)
        )));
    }
    Ok(path)
}

/// The named run, or the last one.
pub(super) fn run_named(store: &Store, name: Option<&str>) -> Result<i64, Failure> {
    match name {
        Some(name) => Ok(store.find(name)?),
        None => store.latest()?.ok_or_else(|| no_run(store.path())),
    }
}

/// The message where nothing has been measured yet.
fn no_run(path: &Path) -> Failure {
    Failure::cannot_begin(format!(
        "there is no run in {} yet; `prony run quickstart` creates one",
        path.display()
    ))
}
