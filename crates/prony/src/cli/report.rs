//! `prony report`: what a run found, from the store alone.

use super::{
    arguments::{ReportOptions, StoreOptions},
    failure::{Failure, OPEN, REFUTED, chain},
    keep,
    run::colour,
};
use crate::{
    analyse::{self, ClaimVerdict, Findings, Judgement, Open},
    escape,
    report::{self, Format, Language, Options, number},
    store::{self, RunRecord, Store},
};
use std::{
    io,
    io::Write as _,
    path::{Path, PathBuf},
};

/// Columns where the width of the terminal is not known.
const WIDTH: u16 = 100;

pub(super) fn report(options: &ReportOptions) -> Result<(), Failure> {
    let store = open_store(&options.store)?;
    let failed = |error: store::Error| Failure::cannot_begin(chain(&error));
    let id = keep::run_named(&store, options.run.as_deref())?;
    let record = store.run(id).map_err(failed)?;
    let findings = analyse::analyse(&record);
    let look = match options.write {
        Some(_) => Options { language: options.language, ..Options::default() },
        None => terminal_options(options.language),
    };
    let text = rendered(&record, &findings, options.format, &look)?;
    match &options.write {
        Some(path) => write(path, &text)?,
        None => print(&text)?,
    }
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

/// The store that is meant, which must be there: who only asks makes no file.
pub(super) fn open_store(options: &StoreOptions) -> Result<Store, Failure> {
    let path = store_path(options)?;
    if !path.exists() {
        return Err(keep::no_run(&path));
    }
    Store::open(&path).map_err(|error| Failure::cannot_begin(chain(&error)))
}

/// The store that is meant; one that is not there is made.
pub(super) fn make_store(options: &StoreOptions) -> Result<Store, Failure> {
    Store::open(&store_path(options)?).map_err(|error| Failure::cannot_begin(chain(&error)))
}

/// Where the store is.
pub(super) fn store_path(options: &StoreOptions) -> Result<PathBuf, Failure> {
    let path = match (options.directory(), &options.store) {
        (Some(directory), _) => directory.join("prony.sqlite"),
        (None, Some(file)) => file.clone(),
        (None, None) => store::default_path().map_err(|error| Failure::cannot_begin(chain(&error)))?,
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

/// How text for this terminal is to look.
pub(super) fn terminal_options(language: Language) -> Options {
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0);
    Options { language, width, colour: colour(&io::stdout()) }
}

pub(super) fn rendered(
    record: &RunRecord,
    findings: &Findings,
    format: Format,
    options: &Options,
) -> Result<String, Failure> {
    report::render(record, findings, format, options).map_err(|error| Failure::failed(chain(&error)))
}

/// Writes a file, or says which one could not be written.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))
}

/// To stdout; a reader that has seen enough (`head`) is no error. Nothing that others wrote acts on the
/// terminal.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let text = shown(text, &io::stdout());
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// One line to stderr, beside the result. That nobody reads on (`2>&1 | head`) does not end what is going on.
pub(super) fn aside(text: impl std::fmt::Display) {
    let text = shown(&text.to_string(), &io::stderr());
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// As it may go to a stream: our own colours only where it shows colours.
fn shown(text: &str, stream: &impl io::IsTerminal) -> String {
    if colour(stream) { escape::styled(text) } else { escape::plain(text) }
}
