//! Puts a run and its findings into words, tables and charts: for the terminal, as one HTML page, Markdown,
//! JSON, CSV.
//!
//! Everything is first put into one value, the [`Document`]; a format only writes it out. Knows the store's
//! records and the analysis; starts nothing and prints nothing.

mod around;
mod began;
mod build;
mod called;
mod claims;
mod conditions;
mod conduct;
mod course;
mod csv;
mod detail;
mod document;
mod fact;
mod flame;
mod following;
mod group;
pub mod history;
mod html;
mod json;
mod markdown;
pub(crate) mod number;
mod rates;
mod resources;
mod runs;
mod table;
mod terminal;
mod trials;
mod words;

pub use build::build;
pub use document::{Connects, Document, Doubt, Fairness, Outage, Schedule, schema};
pub use json::schema_of;
pub(crate) use json::written;
pub use runs::{ComparedPoint, ComparedRun, RunsDocument, RunsFormat, RunsReport, render_runs, runs_schema};
pub use words::{Language, Sentence, Words};

use crate::{analyse::Findings, escape, store::RunRecord};
use std::str::FromStr;

/// What a report is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text with tables, as wide as asked.
    Terminal,
    /// One self-contained page with charts.
    Html,
    /// For a ticket or a wiki.
    Markdown,
    /// Everything, for programs; see `schemas/report.json`.
    Json,
    /// One line for each point.
    Csv,
}

impl Format {
    /// Every format by its name.
    pub const ALL: [(&str, Self); 5] = [
        ("terminal", Self::Terminal),
        ("html", Self::Html),
        ("markdown", Self::Markdown),
        ("json", Self::Json),
        ("csv", Self::Csv),
    ];
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format).ok_or_else(|| Error::UnknownFormat(name.to_owned()))
    }
}

/// How a report is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Language of its text.
    pub language: Language,
    /// Columns of the terminal.
    pub width: u16,
    /// Whether the terminal shows colours.
    pub colour: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { language: Language::English, width: 100, colour: false }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such format.
    #[error("there is no report format '{0}'; there are terminal, html, markdown, json and csv")]
    UnknownFormat(String),
    /// There is no such language.
    #[error("there are no reports in '{0}'; there are en and zh")]
    UnknownLanguage(String),
    /// The page could not be made: a mistake in Prony's own template.
    #[error("the HTML report could not be made: {0}; this is a mistake in Prony, please report it")]
    Template(#[from] minijinja::Error),
}

/// The report of a run.
///
/// # Errors
/// [`Error::Template`] when Prony's own template is wrong.
pub fn render(
    record: &RunRecord,
    findings: &Findings,
    format: Format,
    options: &Options,
) -> Result<String, Error> {
    let words = Words::of(options.language);
    let document = build(record, findings, words);
    Ok(match format {
        Format::Terminal => terminal::shown(&terminal::render(&document, words, options), options),
        Format::Html => html::render(&document, words)?,
        Format::Markdown => markdown::render(&document, words),
        Format::Json => escape::plain(&written(&document)),
        Format::Csv => csv::render(&document),
    })
}
