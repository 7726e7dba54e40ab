//! `prony compare`: one run compared with another, from the store alone.

use super::{
    failure::Failure,
    flags::StoreOptions,
    stored::{open_store, run_named},
    terminal,
};
use crate::report::{self, Language, RunsFormat};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony compare 11 12\n  prony compare 11 12 --format markdown --write \
                        change.md\n  prony compare 11 12 --check\n\nExit codes:  0 compared · 1 with \
                        --check: something is worse; with --confirm: a finding is \
                        contradicted · 2 no such run, or nothing to compare")]
pub(super) struct CompareOptions {
    /// The base run: a number (`prony list runs`), `last`, a label or the name of a study
    #[arg(value_name = "BASE")]
    base: String,
    /// The run to compare with it
    #[arg(value_name = "RUN")]
    run: String,
    /// Output format
    #[arg(long, default_value = "terminal", value_parser = runs_formats())]
    format: RunsFormat,
    /// Language of the report: en or zh [default: the environment's; of a page, the browser's]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Exit with code 1 if the run is worse in any comparison
    #[arg(long)]
    check: bool,
    /// Exit with code 1 if the run contradicts a finding of the base: a server that was better there is worse
    /// here, or a claim that was supported there is refuted here
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    store: StoreOptions,
}

/// The formats of a comparison.
fn runs_formats() -> impl TypedValueParser<Value = RunsFormat> {
    PossibleValuesParser::new(RunsFormat::ALL.map(|(name, _)| name))
        .try_map(|name| name.parse::<RunsFormat>())
}

pub(super) fn compare(options: &CompareOptions) -> Result<(), Failure> {
    let store = open_store(&options.store)?;
    let base = store.run(run_named(&store, Some(&options.base))?)?;
    let run = store.run(run_named(&store, Some(&options.run))?)?;
    let look = terminal::look(options.language, options.write.as_deref());
    let compared = report::render_runs(&base, &run, options.format, &look)?;
    if compared.compared == 0 {
        return Err(Failure::cannot_begin(format!(
            "runs {} and {} have no measured combination in common; `prony report RUN` shows the \
             combinations of each",
            options.base, options.run
        )));
    }
    terminal::put(options.write.as_deref(), &compared.rendered)?;
    if options.check && compared.worse > 0 {
        let noun = if compared.worse == 1 { "comparison" } else { "comparisons" };
        return Err(Failure::failed(format!(
            "run {} is worse than run {} in {} {noun}",
            options.run, options.base, compared.worse
        )));
    }
    if options.confirm && !compared.contradicted.is_empty() {
        return Err(Failure::failed(format!(
            "run {} contradicts run {}: {}",
            options.run,
            options.base,
            compared.contradicted.join("; ")
        )));
    }
    Ok(())
}
