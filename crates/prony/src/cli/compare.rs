//! `prony compare`: one run held against another, from the store alone.

use super::{
    arguments::CompareOptions,
    failure::{Failure, chain},
    keep,
    report::{open_store, print, terminal_options, write},
};
use crate::{
    report::{self, Options},
    store,
};

pub(super) fn compare(options: &CompareOptions) -> Result<(), Failure> {
    let store = open_store(&options.store)?;
    let failed = |error: store::Error| Failure::cannot_begin(chain(&error));
    let base = store.run(keep::run_named(&store, Some(&options.base))?).map_err(failed)?;
    let run = store.run(keep::run_named(&store, Some(&options.run))?).map_err(failed)?;
    let look = match options.write {
        Some(_) => Options { language: options.language, ..Options::default() },
        None => terminal_options(options.language),
    };
    let compared = report::render_runs(&base, &run, options.format, &look);
    if compared.compared == 0 {
        return Err(Failure::cannot_begin(format!(
            "runs {} and {} have no combination in common that both measured; `prony report RUN` shows \
             the combinations of each",
            options.base, options.run
        )));
    }
    match &options.write {
        Some(path) => write(path, &compared.text),
        None => print(&compared.text),
    }?;
    if options.check && compared.worse > 0 {
        let noun = if compared.worse == 1 { "comparison" } else { "comparisons" };
        return Err(Failure::failed(format!(
            "run {} is worse than run {} in {} {noun}",
            options.run, options.base, compared.worse
        )));
    }
    Ok(())
}
