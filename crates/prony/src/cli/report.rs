//! `prony report`: the report of a stored run.

use super::{
    failure::{Failure, OPEN, REFUTED},
    flags::StoreOptions,
    stored::{open_store, run_named},
    terminal,
};
use crate::{
    analyse::{self, ClaimTally, Findings, Judgement, Open},
    report::{self, Format, Language, Words},
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
    /// Output format
    #[arg(long, default_value = "terminal", value_parser = formats())]
    format: Format,
    /// Language of the report: en or zh [default: the environment's; of a page, the browser's]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,
    /// Write to this file instead of stdout; the charts of a Markdown report are written next to it as SVG
    /// files
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Set the exit code by the study's claims: 0 all supported, 3 one refuted, 4 one open
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
    if options.check { check(&findings, Words::of(look.language)) } else { Ok(()) }
}

/// Whether all claims are supported.
pub(super) fn check(findings: &Findings, words: Words) -> Result<(), Failure> {
    // what the scale leaves out is no question of this run, as long as another one is
    let is_asked = |claim: &&Judgement| claim.open != Some(Open::OtherScale);
    let asked = findings.claims.iter().filter(is_asked).count();
    let elsewhere = if asked > 0 { findings.claims.len() - asked } else { 0 };
    let ClaimTally { supported, refuted, open } = findings.answer.claims;
    let open = open - elsewhere;
    let [all, supported, refuted_text, open_text] =
        [findings.claims.len(), supported, refuted, open].map(|count| count.to_string());
    let places =
        [("all", &*all), ("supported", &supported), ("refuted", &refuted_text), ("open", &open_text)];
    let mut told = words.progress("checked", &places);
    if elsewhere > 0 {
        told += &words.counted("checked_elsewhere", elsewhere as u64, &[]);
    }
    match (findings.claims.is_empty(), refuted, open) {
        (true, ..) => Err(Failure::cannot_begin("the study has no [[claim]] to check")),
        (_, 0, 0) => Ok(()),
        (_, 0, _) => Err(Failure::of_claims(OPEN, told)),
        _ => Err(Failure::of_claims(REFUTED, told)),
    }
}
