//! `prony report`: what a run found, from the store alone.

use super::{
    failure::{Failure, OPEN, REFUTED},
    flags::StoreOptions,
    stored::{open_store, run_named},
    terminal,
};
use crate::{
    analyse::{self, ClaimVerdict, Findings, Judgement, Open},
    report::{self, Format, Language, number},
};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony report\n  prony report 12 --format html --write pool.html\n  \
                        prony report --format csv > results.csv")]
pub(super) struct ReportOptions {
    /// A number (`prony list runs`), `last`, a label or the name of a study [default: the latest run]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// What to make
    #[arg(long, default_value = "terminal", value_parser = formats())]
    format: Format,
    /// Language: en or zh
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    language: Language,
    /// Write to this file instead of stdout; charts of Markdown go beside it as SVG files
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Let the exit code follow the study's claims: 0 all are supported, 3 one is refuted, 4 one is open
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    store: StoreOptions,
}

/// The formats of a report by name, for completion and messages.
fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(|(name, _)| name)).try_map(|name| name.parse::<Format>())
}

pub(super) fn report(options: &ReportOptions) -> Result<(), Failure> {
    let store = open_store(&options.store)?;
    let id = run_named(&store, options.run.as_deref())?;
    let record = store.run(id)?;
    let findings = analyse::analyse(&record);
    let look = terminal::look(options.language, options.write.as_deref());
    let rendered = report::rendered(&record, &findings, options.format, &look)?;
    terminal::put(options.write.as_deref(), &rendered)?;
    if options.check { check(&findings) } else { Ok(()) }
}

/// Whether all claims are supported.
pub(super) fn check(findings: &Findings) -> Result<(), Failure> {
    // what the scale leaves out is no question of this run, as long as another one is
    let is_asked = |claim: &&Judgement| claim.open != Some(Open::OtherScale);
    let asked = findings.claims.iter().filter(is_asked).count();
    let elsewhere = if asked > 0 { findings.claims.len() - asked } else { 0 };
    let count = |verdict| findings.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let (refuted, open) = (count(ClaimVerdict::Refuted), count(ClaimVerdict::Open) - elsewhere);
    let mut words = format!(
        "of {} {} supported, {refuted} refuted, {open} open",
        number::counted(findings.claims.len() as u64, "claim"),
        count(ClaimVerdict::Supported)
    );
    if elsewhere > 0 {
        words.push_str(&format!(", {elsewhere} not asked at this scale"));
    }
    match (findings.claims.is_empty(), refuted, open) {
        (true, ..) => {
            Err(Failure::cannot_begin("the study claims nothing that could be checked: it has no [[claim]]"))
        }
        (_, 0, 0) => Ok(()),
        (_, 0, _) => Err(Failure::of_claims(OPEN, words)),
        _ => Err(Failure::of_claims(REFUTED, words)),
    }
}
