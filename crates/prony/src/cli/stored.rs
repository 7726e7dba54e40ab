//! Which store is meant, and which run of it.

use super::{
    failure::{Failure, chain},
    flags::StoreOptions,
};
use crate::{
    escape,
    store::{self, Store},
};
use std::path::{Path, PathBuf};

/// Who asks for a run that cannot be read has not begun.
impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::cannot_begin(chain(&error))
    }
}

/// The store that is meant, which must be there: who only asks makes no file.
pub(super) fn open_store(options: &StoreOptions) -> Result<Store, Failure> {
    let path = store_path(options)?;
    if !path.exists() {
        return Err(no_run(&path));
    }
    Ok(Store::open(&path)?)
}

/// The store that is meant; one that is not there is made.
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
            "the path of the store has a line break in it, which lists and messages could not show: `{}`; \
             name another with --store",
            escape::line(&shown)
        )));
    }
    Ok(path)
}

/// The run that is meant; the last one where none is named.
pub(super) fn run_named(store: &Store, name: Option<&str>) -> Result<i64, Failure> {
    match name {
        Some(name) => Ok(store.find(name)?),
        None => store.latest()?.ok_or_else(|| no_run(store.path())),
    }
}

/// What is said where nothing was ever measured.
fn no_run(path: &Path) -> Failure {
    Failure::cannot_begin(format!(
        "there is no run in {} yet; `prony run quickstart` makes one",
        path.display()
    ))
}
