//! `prony doctor`, and the remarks about the machine at the beginning of a run.

use super::{
    failure::{Failure, chain},
    server::document::Examination,
    terminal::{aside, colour, print, print_json},
};
use crate::{
    doctor::{self, Effort, Files, Finding, Level, Observed},
    escape::wrap::wrapped,
    provision::Places,
    report::{Examined, Words},
    run::Note,
};
use std::path::Path;

/// Columns before a finding's text.
const INDENT: usize = 26;
/// Width of the text if that of the terminal is unknown.
const WIDTH_DEFAULT: usize = 110;

pub(super) fn doctor(json: bool) -> Result<(), Failure> {
    let places = Places::of_user().map_err(|error| Failure::cannot_begin(chain(&error)))?;
    let directory = places.instances();
    let observed = Observed::of_this_machine(&directory, Effort::Full).map_err(|error| {
        Failure::cannot_begin(format!(
            "cannot check the disk of {}: {error}; set XDG_STATE_HOME to a writable directory",
            directory.display()
        ))
    })?;
    let mut findings = doctor::examine(&Files::of_this_machine(), &observed);
    if json {
        return print_json(&Examination::new(&findings));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    let width = terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0));
    let coloured = colour(&std::io::stdout());
    let text: String = findings.iter().map(|finding| words(finding, width, coloured)).collect();
    print(&(text + &summary(&findings)))
}

/// Before a run: reports what would distort measurements on this machine, and returns it to be stored with
/// the run.
pub(super) fn remark(directory: &Path, words: Words) -> Vec<Note> {
    // If the disk cannot be examined, the first server reports that better.
    let Ok(observed) = Observed::of_this_machine(directory, Effort::Short) else { return Vec::new() };
    let findings = doctor::examine(&Files::of_this_machine(), &observed);
    let warnings = findings.into_iter().filter(|finding| finding.level == Level::Warning);
    warnings
        .map(|Finding { level, reading }| {
            let Examined { read, effect, remedy } = words.examined(level, &reading);
            let places = [("id", reading.id()), ("read", &*read), ("effect", &effect), ("remedy", &remedy)];
            aside(words.progress("machine", &places));
            Note::Machine(reading)
        })
        .collect()
}

fn words(finding: &Finding, width: usize, coloured: bool) -> String {
    let (label, colour) = match finding.level {
        Level::Fine => ("fine", 32),
        Level::Note => ("note", 36),
        Level::Warning => ("warning", 33),
    };
    let label = if coloured { format!("\x1b[{colour}m{label:8}\x1b[0m") } else { format!("{label:8}") };
    let Examined { read, effect, remedy } = Words::default().examined(finding.level, &finding.reading);
    let mut text = format!("{label}{:18}", finding.id());
    let room = width.saturating_sub(INDENT).max(INDENT);
    let fix = if remedy.is_empty() { String::new() } else { format!("fix: {remedy}") };
    let parts = [read, effect, fix];
    let lines = parts.iter().filter(|part| !part.is_empty()).flat_map(|part| wrapped(part, "", room));
    let lines: Vec<_> = lines.collect();
    text.push_str(&lines.join(&format!("\n{}", " ".repeat(INDENT))));
    text + "\n"
}

fn summary(findings: &[Finding]) -> String {
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (warnings, notes, fine) = (count(Level::Warning), count(Level::Note), count(Level::Fine));
    format!("\n{} checks: {warnings} to fix, {notes} to know, {fine} fine\n", findings.len())
}
